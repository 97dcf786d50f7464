# SPDX-License-Identifier: Apache-2.0
# tests/python/test_scan.py: scans, reductions and offsets from Python, compared with NumPy's.
import array

import numpy as np
import pytest
import upsweep

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
LENGTHS = [0, 1, 2, 3, 63, 64, 65, 1000, 4095, 4096, 4097, 100_003]


def made(dtype, shape, seed=1):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("n", LENGTHS)
def test_cumulative_sum_of_every_type_and_length(dtype, n):
    x = made(dtype, n)
    result = upsweep.cumulative_sum(x)
    expected = np.cumulative_sum(x)
    assert result.dtype == expected.dtype
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("include_initial", [False, True])
def test_along_any_axis(axis, include_initial):
    x = made("int32", (5, 7, 11))
    for view in (x, x[::2, ::-1, 1:], x.transpose(2, 0, 1), np.asfortranarray(x)):
        expected = np.cumulative_sum(view, axis=axis, include_initial=include_initial)
        assert np.array_equal(upsweep.cumulative_sum(view, axis=axis, include_initial=include_initial), expected)
        out = np.empty(expected.shape, "int64")[..., ::-1]
        assert upsweep.cumulative_sum(view, axis=axis, include_initial=include_initial, out=out) is out
        assert np.array_equal(out, expected)


def test_products_minima_and_maxima():
    x = np.array([1.5, 2.0, -3.0, 4.0])
    assert np.array_equal(upsweep.cumulative_prod(x), np.cumprod(x))
    assert np.array_equal(upsweep.scan(x, op="min"), np.minimum.accumulate(x))
    assert np.array_equal(upsweep.scan(x, op="max", exclusive=True), [-np.inf, 1.5, 2.0, 2.0])
    assert np.array_equal(upsweep.scan(np.array([6, 3, 5]), op="xor"), [6, 5, 0])


def test_booleans_are_counted():
    x = np.array([True, False, True])
    assert np.array_equal(upsweep.cumulative_sum(x), [1, 1, 2])
    assert upsweep.cumulative_sum(x).dtype == np.int64
    assert upsweep.reduce(x) == 2


def test_in_place_and_overlapping_outputs():
    x = np.arange(10_000)
    expected = np.cumsum(x)
    shifted = np.arange(10_001)
    assert upsweep.cumulative_sum(shifted[:-1], out=shifted[1:]) is not None
    assert np.array_equal(shifted[1:], expected)
    assert upsweep.cumulative_sum(x, out=x) is x
    assert np.array_equal(x, expected)


def test_an_overflow_has_its_index():
    x = np.array([2**62, 2**62, 1])
    with pytest.raises(OverflowError, match="element 1") as raised:
        upsweep.cumulative_sum(x)
    assert raised.value.index == 1
    assert raised.value.code == "overflow"
    assert np.array_equal(upsweep.cumulative_sum(x, overflow="wrap"), np.cumsum(x))
    with pytest.raises(OverflowError):
        upsweep.reduce(x)
    with pytest.raises(OverflowError):
        upsweep.cumulative_sum(np.array([100, 100], "int8"), dtype="int8")
    with pytest.raises(ValueError, match="overflow"):
        upsweep.cumulative_sum(x, overflow="ignore")


def test_products_of_integers_are_never_checked():
    x = np.array([2**40, 2**40])
    calls = [
        upsweep.cumulative_prod,
        lambda x, **given: upsweep.cumulative_prod(x, include_initial=True, **given)[1:],
        lambda x, **given: upsweep.scan(x, op="mul", **given),
        lambda x, **given: upsweep.reduce(x, op="mul", **given),
        lambda x, **given: upsweep.reduce(x.reshape(1, 2), op="mul", axis=1, **given),
        lambda x, **given: upsweep.reduce(np.stack([x, x], 1), op="mul", axis=0, **given),
        lambda x, **given: upsweep.cumulative_prod(np.stack([x, x], 1), axis=0, **given),
        lambda x, **given: upsweep.segmented_reduce(x, 2, op="mul", **given),
        lambda x, **given: upsweep.segmented_scan(x, 2, op="mul", **given),
        lambda x, **given: upsweep.reduce_by_key(np.array([7, 7]), x, op="mul", **given)[1],
        lambda x, **given: upsweep.scan_by_key(np.array([7, 7]), x, op="mul", **given),
        lambda x, **given: upsweep.group_by(np.array([7, 7]), x, op="mul", **given)[1],
    ]
    for call in calls:
        with pytest.raises(NotImplementedError, match="products of integers always wrap"):
            call(x, overflow="checked")
        assert np.ravel(call(x))[-1] == 0
        with upsweep.options(overflow="checked"):
            assert np.ravel(call(x, overflow="wrap"))[-1] == np.ravel(call(x))[-1] == 0
        assert np.ravel(call(x.astype(np.float64), overflow="checked"))[-1] == 2.0**80


def test_options_nest():
    x = np.array([2**62, 2**62])
    with upsweep.options(overflow="wrap"):
        assert upsweep.cumulative_sum(x)[1] == -(2**63)
        with upsweep.options(threads=1):
            assert upsweep.cumulative_sum(x)[1] == -(2**63)
        with upsweep.options(overflow="checked"), pytest.raises(OverflowError):
            upsweep.cumulative_sum(x)
    with pytest.raises(OverflowError):
        upsweep.cumulative_sum(x)
    with upsweep.options(rung="cpu.columns"), pytest.raises(NotImplementedError, match="cpu.columns"):  # not of scan
        upsweep.cumulative_sum(x)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes_of_large_arrays(axis, order):
    x = np.asarray(np.random.default_rng(3).integers(-9, 9, (37, 61, 130)), order=order)
    before = x.copy()
    assert np.array_equal(upsweep.cumulative_sum(x, axis=axis), np.cumsum(x, axis))
    assert np.array_equal(upsweep.scan(x, op="max", axis=axis), np.maximum.accumulate(x, axis))
    assert np.array_equal(upsweep.reduce(x, axis=axis), x.sum(axis))
    assert np.array_equal(upsweep.reduce(x[::-2, :, ::3], op="min", axis=axis), x[::-2, :, ::3].min(axis))
    assert upsweep.cumulative_sum(x, axis=axis, out=x) is x
    assert np.array_equal(x, np.cumsum(before, axis))
    transposed = np.ascontiguousarray(before[:, :37, 0])
    assert upsweep.cumulative_sum(transposed.T, axis=0, out=transposed) is transposed  # the input is also the output
    assert np.array_equal(transposed, np.cumsum(before[:, :37, 0].T, 0))


def test_overflow_along_an_axis_names_the_element():
    x = np.ones((10, 20), np.int8)
    x[6, 4] = 127
    with pytest.raises(OverflowError, match="element 124 .* int8") as caught:
        upsweep.cumulative_sum(x, axis=0, dtype="int8")
    assert caught.value.index == 124
    with pytest.raises(OverflowError):
        upsweep.reduce(x, axis=0, dtype="int8")


@pytest.mark.parametrize("op, function", [("add", np.add), ("mul", np.multiply), ("min", np.minimum), ("max", np.maximum)])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_reductions(op, function, axis):
    x = made("int64", (40, 30)) + 1
    assert np.array_equal(upsweep.reduce(x % 3, op=op, axis=axis, overflow="wrap"), function.reduce(x % 3, axis=axis))


def test_float32_sums_are_added_in_blocks():
    ones = np.ones(2**25, np.float32)
    assert upsweep.cumulative_sum(ones)[-1] == 2**25  # adding one by one would stop at 2**24
    assert upsweep.reduce(ones) == 2**25
    x = np.random.default_rng(2).random(1_000_003, np.float32)
    exact = np.cumsum(x.astype(np.float64))
    error = np.abs(upsweep.cumulative_sum(x) - exact).max() / exact[-1]
    assert error < 2e-6


@pytest.mark.parametrize(
    "value, message",
    [
        (np.ma.array([1, 2]), "masked"),
        (np.array([1, 2], object), "objects"),
        (np.array([1j]), "complex128"),
        (np.array([1], "float16"), "float16"),
        (np.array(["a"]), "text"),
        (np.array(["2026-01-01"], "M8[D]"), "datetime64"),
        ("text", "str"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_name(value, message):
    with pytest.raises(TypeError, match=message):
        upsweep.cumulative_sum(value)


def test_arrays_that_are_not_aligned():
    x = np.zeros(41, np.uint8)[1:].view("int64")
    assert not x.flags.aligned
    x[:] = [3, 1, 4, 1, 5]
    assert np.array_equal(upsweep.cumulative_sum(x), [3, 4, 8, 9, 14])
    assert upsweep.reduce(x) == 14
    assert np.array_equal(upsweep.segmented_reduce(x, np.array([0, 2, 5])), [4, 10])
    assert np.array_equal(upsweep.select(x > 2, x), [3, 4, 5])
    columns = x[:4].reshape(2, 2)
    assert np.array_equal(upsweep.cumulative_sum(columns, axis=0), [[3, 1], [7, 2]])
    assert np.array_equal(upsweep.reduce(columns, axis=0), [7, 2])
    assert upsweep.subset_sum(x, 10).reachable
    assert upsweep.query("SELECT SUM(x) AS sum FROM t WHERE x > 2", t={"x": x}).to_dict() == {"sum": [12]}
    assert upsweep.cumulative_sum(x, out=x) is x
    assert np.array_equal(x, [3, 4, 8, 9, 14])


def test_byte_swapped_and_read_only_arrays():
    x = np.arange(5, dtype=">i4")
    assert np.array_equal(upsweep.cumulative_sum(x), np.cumsum(x))
    frozen = np.arange(5)
    frozen.flags.writeable = False
    assert np.array_equal(upsweep.cumulative_sum(frozen), np.cumsum(frozen))
    with pytest.raises(ValueError, match="read-only"):
        upsweep.cumulative_sum(np.arange(5), out=frozen)
    with pytest.raises(ValueError, match="shape"):
        upsweep.cumulative_sum(np.arange(5), out=np.empty(4, "int64"))
    with pytest.raises(ValueError, match="dimension"):
        upsweep.cumulative_sum(np.array(5))
    with pytest.raises(ValueError, match="axis"):
        upsweep.cumulative_sum(np.ones((2, 2)))


def test_offsets():
    starts, stops = np.array([0, 5, 7], "int32"), np.array([2, 5, 10], "int32")
    out = np.empty(4, "int64")
    assert upsweep.offsets(starts, stops, out=out) is out
    assert np.array_equal(out, [0, 2, 2, 5])
    with pytest.raises(ValueError) as raised:
        upsweep.offsets([0, 3, 9], [1, 2, 3])
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="length|elements"):
        upsweep.offsets([0, 1], [1])


# ----------------------------------------------------------------------------------------- what may be written, and how


@pytest.mark.parametrize(
    "out, message",
    [
        ([0, 0, 0], "not list"),
        (0, "not int"),
        (np.zeros(3, ">i8"), "byte-swapped"),
        (np.zeros(3, bool), "bool"),
        (b"12345678" * 3, "read-only|shape"),
    ],
)
def test_what_cannot_be_written_is_refused(out, message):
    for function in (upsweep.scan, upsweep.cumulative_sum):
        with pytest.raises((TypeError, ValueError), match=message):
            function([1, 2, 3], out=out)


def test_buffers_are_written():
    out = array.array("q", [0, 0, 0])
    assert upsweep.scan([1, 2, 3], out=out) is out
    assert list(out) == [1, 3, 6]


def test_folds_of_booleans():
    x = np.array([[True, False], [True, True]])
    assert np.array_equal(upsweep.scan(x, op="min", axis=0), np.logical_and.accumulate(x, axis=0))
    assert upsweep.scan(x, op="or", axis=1).dtype == np.bool_
    exclusive = upsweep.scan(x[0], op="and", exclusive=True)
    assert exclusive.dtype == np.bool_ and exclusive.view("u1").tolist() == [1, 1]
    assert upsweep.reduce(x, op="and") is np.False_ and upsweep.reduce(x, op="max") is np.True_
    least = upsweep.segmented_reduce(x[0], np.array([0, 0, 2]), op="min")
    assert least.dtype == np.bool_ and least.view("u1").tolist() == [1, 0]
    out = np.zeros(2, bool)
    assert upsweep.reduce(x, op="or", axis=0, out=out) is out and out.tolist() == [True, True]
    assert upsweep.reduce(x, op="and", initial=False) is np.False_
    with pytest.raises(OverflowError, match="initial"):
        upsweep.reduce(x, op="or", initial=2)
    for wrong in (np.array([5, 6]), np.array([0.5])):
        with pytest.raises(TypeError, match="out: .* not bool"):
            upsweep.reduce(wrong, op="max", out=np.array(False))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_index_of_an_overflow_is_that_of_the_result(axis, order):
    x = np.zeros((3, 4, 5), np.int64, order=order)
    x[1, :, :], x[2, 2, 3] = 2**61, 2**62
    sums = np.cumsum(x.astype(object), axis=axis)
    bad = [i for i, value in enumerate(sums.ravel()) if value >= 2**63]
    if bad:
        with pytest.raises(OverflowError, match="of the result") as raised:
            upsweep.scan(x, axis=axis)
        assert raised.value.index in bad and f"element {raised.value.index} " in str(raised.value)
    with_zero = np.concatenate([np.zeros_like(sums.take([0], axis)), sums], axis)
    bad = [i for i, value in enumerate(with_zero.ravel()) if value >= 2**63]
    if bad:
        with pytest.raises(OverflowError) as raised:
            upsweep.cumulative_sum(x, axis=axis, include_initial=True)
        assert raised.value.index in bad
    totals = x.astype(object).sum(axis)
    bad = [i for i, value in enumerate(totals.ravel()) if value >= 2**63]
    if bad:
        with pytest.raises(OverflowError, match=f"element {bad[0]} of the result does not fit") as raised:
            upsweep.reduce(x, axis=axis)
        assert raised.value.index == bad[0]


@pytest.mark.parametrize("n", [3, 100, 3000, 40_000])
def test_the_index_of_an_overflow_in_place(n):
    for at in (0, n // 2, n - 1):
        x = np.full((3, n), 1000)
        x[1, at] = 2**63 - 1000 * min(n - 1, at + n // 3)  # the sum there is 2**63
        bad = [i for i, value in enumerate(np.cumsum(x[1].astype(object))) if value >= 2**63]
        for axis, values in ((1, x), (0, np.ascontiguousarray(x.T))):
            expected = n + bad[0] if axis else bad[0] * 3 + 1
            with pytest.raises(OverflowError) as raised:
                upsweep.scan(values, axis=axis, out=values)
            assert raised.value.index == expected
        wrapped = x.copy()
        assert upsweep.scan(wrapped, axis=1, overflow="wrap", out=wrapped) is wrapped
        assert np.array_equal(wrapped, np.cumsum(x, axis=1))


def test_what_a_fold_begins_with():
    assert upsweep.scan(np.array([1.5]), initial=2**64).tolist() == [2.0**64 + 1.5]
    with pytest.raises(OverflowError, match="initial"):
        upsweep.scan(np.array([1], "f4"), initial=1e300)
    with pytest.raises(OverflowError, match="initial"):
        upsweep.scan(np.array([1]), initial=2**64)
    assert upsweep.scan(np.array([1], "f4"), initial=np.inf).tolist() == [np.inf]
    with pytest.raises(TypeError, match="initial: 'a' is not a number"):
        upsweep.scan(np.array([1]), initial="a")


@pytest.mark.parametrize("rung", ["serial", "threads", "simd", "simd_threads", "std_par", "chained", "lookahead"])
def test_exclusive_scans_by_every_rung_begin_with_the_identity(rung):
    x = np.array([5, 7, 9])
    with upsweep.options(rung=f"cpu.{rung}", overflow="wrap"):
        for op, expected in (("add", [0, 5, 12]), ("mul", [1, 5, 35]), ("max", [np.iinfo("int64").min, 5, 7])):
            assert upsweep.scan(x, op=op, exclusive=True).tolist() == expected
            assert upsweep.scan(x, op=op, exclusive=True, out=np.full(3, -1)).tolist() == expected


def test_sums_of_negative_zeros():
    z, offsets, keys = np.full(5, -0.0), np.array([0, 0, 5]), np.ones(5, int)
    for x in (z, z.astype("float32")):
        for sums in (
            upsweep.cumulative_sum(x),
            upsweep.scan(x),
            upsweep.reduce(x),
            upsweep.segmented_reduce(x, offsets)[1:],
            upsweep.segmented_scan(x, offsets),
            upsweep.segmented_scan(x, offsets, exclusive=True)[1:],
            upsweep.scan(x, exclusive=True)[1:],
            upsweep.reduce_by_key(keys, x)[1],
            upsweep.scan_by_key(keys, x),
            upsweep.group_by(keys, x)[1],
            upsweep.reduce(np.stack([x, x]), axis=0),
            upsweep.scan(np.stack([x, x]), axis=0, exclusive=True)[1],
            np.array([row[0] for row in upsweep.query("SELECT SUM(x) FROM t", t={"x": x}).rows()]),
        ):
            assert np.signbit(sums).all() and not np.any(sums)
        for empty in (
            upsweep.reduce(x[:0]),
            upsweep.segmented_reduce(x, offsets)[0],
            upsweep.scan(x, exclusive=True)[0],
            upsweep.segmented_scan(x, offsets, exclusive=True)[0],
            upsweep.reduce(x, initial=0.0),
            upsweep.segmented_reduce(x, offsets, initial=0.0),
            upsweep.segmented_scan(x, offsets, initial=0.0),
        ):
            assert not np.signbit(empty).any() and not np.any(empty)


def test_arguments_are_named_where_they_are_wrong():
    x = np.array([[1.5, 2.0], [3.0, 4.0]])
    for wrong, message in (
        (lambda: upsweep.scan(x, axis=1.0), "axis: an integer"),
        (lambda: upsweep.scan(x, axis=(0, 1)), "axis: an integer"),
        (lambda: upsweep.scan(x, axis=0, exclusive="yes"), "exclusive: True or False"),
        (lambda: upsweep.scan(x, axis=0, dtype="int64"), "dtype: float64 elements"),
        (lambda: upsweep.reduce(x, dtype="int64"), "dtype: float64 elements"),
        (lambda: upsweep.segmented_reduce(x[0], 1, dtype="int64"), "dtype: float64 elements"),
        (lambda: upsweep.offsets([1], [2], strict="no"), "strict"),
        (lambda: upsweep.scan([[1], [2, 3]]), "x: cannot convert this list to an array"),
        (lambda: upsweep.scan([1, None]), "x: an array of Python objects"),
    ):
        with pytest.raises(TypeError, match=message):
            wrong()
    assert upsweep.scan(x[0], exclusive=np.True_).tolist() == [0, 1.5]


@pytest.mark.parametrize("to", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("of", ["int8", "int16", "int32", "int64"])
def test_negative_sums_along_an_axis_do_not_fit_unsigned_types(of, to):
    x = np.array([[3, 4, -5], [-4, 0, 9], [5, -5, 1]], of)

    def index(call, **options):
        with pytest.raises(OverflowError, match=f"does not fit {to}") as caught:
            call(x, axis=0, dtype=to, **options)
        return caught.value.index

    assert index(upsweep.scan) == 2
    assert index(upsweep.scan, initial=4) == 2
    assert index(upsweep.scan, exclusive=True) == 3 + 2
    assert index(upsweep.reduce, op="add") == 1
    assert np.array_equal(upsweep.scan(x, axis=0, dtype=to, initial=9), np.cumsum(x, 0) + 9)
    assert np.array_equal(upsweep.scan(abs(x), axis=0, dtype=to), np.cumsum(abs(x), 0))


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 4), (5, 1, 3)])
def test_the_index_of_an_overflow_is_that_of_the_first_element_in_every_layout(shape):
    random = np.random.default_rng(5)
    for _ in range(20):
        x = random.integers(2**59, 2**62, shape)
        for axis in range(len(shape)):
            exact = np.cumsum(x.astype(object), axis=axis)
            bad = np.flatnonzero(exact > 2**63 - 1)
            longer = np.flatnonzero(np.insert(exact, 0, 0, axis=axis) > 2**63 - 1)
            for layout in (x, np.asfortranarray(x), x[::-1].copy()[::-1], np.swapaxes(np.swapaxes(x, 0, 1).copy(), 0, 1)):
                for named, expected in (
                    ({}, bad),
                    ({"out": np.empty(shape, np.int64, order="F")}, bad),
                    ({"include_initial": True}, longer),
                ):
                    if len(expected) == 0:
                        upsweep.cumulative_sum(layout, axis=axis, **named)
                        continue
                    with pytest.raises(OverflowError, match=f"^element {expected[0]} of the result") as caught:
                        upsweep.cumulative_sum(layout, axis=axis, **named)
                    assert caught.value.index == expected[0]


@pytest.mark.parametrize("dtype", ["int8", "int64"])
@pytest.mark.parametrize(
    "rung", [record["rung"] for record in upsweep.ladder() if record["problem"] == "scan" and record["rung"][:4] == "cpu."]
)
def test_exclusive_scans_write_their_first_result_by_every_rung(rung, dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    identities = {"add": 0, "mul": 1, "min": most, "max": least, "and": -1, "or": 0, "xor": 0}
    folds = {
        "add": np.add,
        "mul": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
    }
    with upsweep.options(rung=rung, overflow="wrap"):
        for n in (1, 2, 3, 64, 1000, 100_003):
            x = np.random.default_rng(n).integers(-9, 9, n).astype(dtype)
            for op, identity in identities.items():
                fold = folds.get(op, np.bitwise_xor)
                for initial in (None, 5):
                    first = np.array([identity if initial is None else initial], dtype)
                    expected = fold.accumulate(np.concatenate([first, x]), dtype=dtype)
                    for exclusive, right in ((True, expected[:-1]), (False, expected[1:])):
                        out = np.full(n, 77, dtype)
                        try:
                            upsweep.scan(x, op=op, exclusive=exclusive, initial=initial, dtype=dtype, out=out)
                        except NotImplementedError:
                            continue  # the rung refuses this
                        assert np.array_equal(out, right), (rung, n, op, initial, exclusive)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "rung", [record["rung"] for record in upsweep.ladder() if record["problem"] == "scan" and record["rung"][:4] == "cpu."]
)
def test_exclusive_scans_of_floats_by_every_rung(rung, dtype):
    identities = {"add": 0, "mul": 1, "min": np.inf, "max": -np.inf}
    with upsweep.options(rung=rung):
        for op, identity in identities.items():
            x, out = np.full(1000, 1, dtype), np.full(1000, 77, dtype)
            try:
                upsweep.scan(x, op=op, exclusive=True, out=out)
            except NotImplementedError:
                continue  # the rung refuses this
            assert out[0] == identity and out[1] == 1, (rung, op)
