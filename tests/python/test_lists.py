# SPDX-License-Identifier: Apache-2.0
# tests/python/test_lists.py: operations on ragged arrays from Python, compared with loops over lists.
import datetime
import itertools

import numpy as np
import pytest
import upsweep
from upsweep import _core

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

BOUNDS = ["int32", "uint32", "int64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def ragged(lengths, dtype="float64", bounds="int64", first=0, seed=1):
    """Returns content, offsets that begin at `first`, and the lists themselves."""
    offsets = (np.concatenate([[0], np.cumsum(lengths)]) + first).astype(bounds)
    content = np.random.default_rng(seed).integers(0, 9, int(offsets[-1]) + 2).astype(dtype)
    return content, offsets, [content[a:b] for a, b in itertools.pairwise(offsets)]


lengths_of_lists = st.lists(st.integers(0, 12), max_size=60)


@given(lengths_of_lists, st.sampled_from(NUMBERS), st.sampled_from(BOUNDS), st.integers(0, 3))
def test_reductions(lengths, dtype, bounds, first):
    content, offsets, lists = ragged(lengths, dtype, bounds, first)
    sums = upsweep.segmented_reduce(content, offsets)
    assert np.array_equal(sums, np.array([each.sum() for each in lists], sums.dtype))
    greatest = upsweep.segmented_reduce(content, offsets, op="max", initial=3)
    assert np.array_equal(greatest, np.array([each.max(initial=3) for each in lists], dtype))
    assert np.array_equal(upsweep.segmented_reduce(content, offsets, op="count"), [len(each) for each in lists])
    assert np.array_equal(upsweep.segmented_reduce(content, offsets, op="any"), [bool(each.any()) for each in lists])
    assert np.array_equal(upsweep.segmented_reduce(content, offsets, op="all"), [bool(each.all()) for each in lists])
    assert np.array_equal(
        upsweep.segmented_reduce(content, offsets, op="argmax"), [each.argmax() if len(each) else -1 for each in lists]
    )
    assert np.array_equal(
        upsweep.segmented_reduce(content, offsets, op="count_nonzero"), [np.count_nonzero(each) for each in lists]
    )


@given(lengths_of_lists, st.sampled_from(NUMBERS), st.booleans())
def test_scans_and_sorts(lengths, dtype, descending):
    content, offsets, lists = ragged(lengths, dtype, first=2)
    scanned = upsweep.segmented_scan(content, offsets)
    sorted_ = upsweep.segmented_sort(content, offsets, descending=descending)
    positions = upsweep.segmented_argsort(content, offsets, descending=descending)
    for each, a, b in zip(lists, offsets, offsets[1:]):
        assert np.array_equal(scanned[a:b], np.cumsum(each))
        in_order = np.sort(each)
        assert np.array_equal(sorted_[a:b], in_order[::-1] if descending else in_order)
        assert np.array_equal(each[positions[a:b]], sorted_[a:b])
    assert not scanned[:2].any() and np.array_equal(sorted_[:2], content[:2])


@given(lengths_of_lists, st.sampled_from([*NUMBERS, "complex128", "M8[s]", "bool"]), st.randoms(use_true_random=False))
def test_selections_and_packs(lengths, dtype, random):
    content, offsets, lists = ragged(lengths)
    content = content.astype("int64").astype(dtype)
    mask = np.array([random.random() < 0.5 for _ in content], bool)
    new, kept = upsweep.select(mask, content, lists=offsets)
    expected = [content[a:b][mask[a:b]] for a, b in itertools.pairwise(offsets)]
    assert [list(kept[a:b]) for a, b in itertools.pairwise(new)] == [list(each) for each in expected]
    assert np.array_equal(upsweep.select(mask, content), content[mask])
    count, parted = upsweep.partition(mask, content)
    assert count == mask.sum() and np.array_equal(parted, np.concatenate([content[mask], content[~mask]]))
    order = list(range(len(lists)))
    random.shuffle(order)
    order = np.array(order, np.int64)
    packed_offsets, packed = upsweep.pack((offsets[:-1][order], offsets[1:][order]), content)
    assert packed.dtype == content.dtype
    for i, list_ in enumerate(order):
        assert np.array_equal(packed[packed_offsets[i] : packed_offsets[i + 1]], content[offsets[list_] : offsets[list_ + 1]])


@given(lengths_of_lists)
def test_positions_and_combinations(lengths):
    _, offsets, _ = ragged(lengths)
    assert np.array_equal(upsweep.lengths_to_offsets(np.array(lengths, np.int64)), offsets)
    parents = upsweep.offsets_to_parents(offsets)
    assert np.array_equal(parents, np.repeat(np.arange(len(lengths)), lengths))
    assert np.array_equal(upsweep.parents_to_offsets(parents, len(lengths)), offsets)
    assert np.array_equal(upsweep.local_index(offsets), np.arange(len(parents)) - offsets[:-1][parents])
    assert np.array_equal(upsweep.broadcast(np.arange(len(lengths)) * 1.5, offsets), parents * 1.5)
    for replacement, function in ((False, itertools.combinations), (True, itertools.combinations_with_replacement)):
        pairs, left, right = upsweep.combinations(offsets, 2, replacement=replacement)
        expected = [list(function(range(a, b), 2)) for a, b in itertools.pairwise(offsets)]
        assert [list(zip(left[a:b], right[a:b])) for a, b in itertools.pairwise(pairs)] == expected
    products, left, right = upsweep.cartesian(offsets, offsets)
    expected = [list(itertools.product(range(a, b), range(a, b))) for a, b in itertools.pairwise(offsets)]
    assert [list(zip(left[a:b], right[a:b])) for a, b in itertools.pairwise(products)] == expected


def test_lists_of_one_size_and_by_starts_and_stops():
    x = np.arange(12.0)
    assert np.array_equal(upsweep.segmented_reduce(x, 3), x.reshape(4, 3).sum(1))
    assert np.array_equal(upsweep.segmented_reduce(x, (np.array([9, 0]), np.array([12, 2])), op="max"), [11, 1])
    with pytest.raises(ValueError, match="whole number"):
        upsweep.segmented_reduce(x, 5)
    with pytest.raises(ValueError, match="size"):
        upsweep.segmented_reduce(x, 0)


def test_nulls_are_skipped():
    x = np.array([1.0, 5.0, 2.0])
    valid = np.array([True, False, True])
    assert np.array_equal(upsweep.segmented_reduce(x, np.array([0, 2, 3]), op="max", valid=valid), [1, 2])
    assert np.array_equal(upsweep.segmented_reduce(x, np.array([0, 2, 3]), op="count", valid=valid), [1, 1])


def test_nulls_of_arrow_arrays():
    pa = pytest.importorskip("pyarrow")
    for dtype in ("int8", "uint64", "float32", "float64"):
        lists = pa.array([[2, None], [], None, [7]], pa.list_(pa.type_for_alias(dtype)))
        assert upsweep.segmented_reduce(lists).to_pylist() == [2, 0, 0, 7]
        assert upsweep.segmented_reduce(lists[1:], op="count").to_pylist() == [0, 0, 1]
    assert upsweep.segmented_reduce(pa.array([[True, None], [False]]), op="any").to_pylist() == [True, False]
    for order in (upsweep.segmented_sort, upsweep.segmented_argsort):
        with pytest.raises(ValueError, match="nulls"):
            order(pa.array([[3, None, 1]]))
        assert order(pa.array([[3, 3], None])).to_pylist() in ([3, 3], [0, 1])
    dates = [datetime.date(2020, 1, 1), None]
    for value, dtype in ((["text", None], "string"), ([None], "null"), (dates, "add is not defined")):
        with pytest.raises(TypeError, match=dtype):
            upsweep.segmented_reduce(pa.array([value]))


def test_takes():
    x = np.array([10, 20, 30, 40])
    assert np.array_equal(upsweep.take(np.array([2, -1], "int32"), x), [30, 40])
    with pytest.raises(IndexError) as raised:
        upsweep.take(np.array([0, 4]), x)
    assert raised.value.index == 1
    offsets, taken = upsweep.take(np.array([-1, 0, 1]), x, lists=np.array([0, 2, 4]), index_lists=np.array([0, 1, 3]))
    assert np.array_equal(offsets, [0, 1, 3]) and np.array_equal(taken, [20, 30, 40])


def test_runs_of_equal_keys():
    keys, values = np.array([2, 2, 5, 5, 5, 2]), np.arange(6)
    unique, sums = upsweep.reduce_by_key(keys, values)
    assert np.array_equal(unique, [2, 5, 2]) and np.array_equal(sums, [1, 9, 5])
    assert np.array_equal(upsweep.scan_by_key(keys, values, op="max", exclusive=True, initial=-1), [-1, 0, -1, 2, 3, -1])
    with pytest.raises(ValueError, match="shape"):
        upsweep.reduce_by_key(keys, values[:-1])


@pytest.mark.parametrize(
    "lists, error, index",
    [
        (np.array([0, 3, 2]), ValueError, 1),
        (np.array([0, 2, 9]), ValueError, 1),
        ((np.array([0, -1]), np.array([1, 1])), ValueError, 1),
        (np.array([0.0, 1.0]), TypeError, None),
        (np.array([[0, 1]]), ValueError, None),
        ((np.array([0]), np.array([1, 2])), ValueError, None),
        (np.empty(0, np.int64), ValueError, None),
    ],
)
def test_bad_lists(lists, error, index):
    with pytest.raises(error) as raised:
        upsweep.segmented_reduce(np.arange(4.0), lists)
    if index is not None:
        assert raised.value.index == index


def test_outputs():
    x, offsets = np.arange(6.0), np.array([0, 2, 2, 6])
    out = np.empty(3)
    assert upsweep.segmented_reduce(x, offsets, out=out) is out and np.array_equal(out, [1, 0, 14])
    strided = np.empty(6)[::2]
    assert upsweep.segmented_reduce(x, offsets, out=strided) is strided and np.array_equal(strided, [1, 0, 14])
    assert upsweep.segmented_sort(x, offsets, descending=True, out=x) is x and np.array_equal(x, [1, 0, 5, 4, 3, 2])
    buffer = np.empty(6)
    kept = upsweep.select(x > 1, x, out=buffer)
    assert np.shares_memory(kept, buffer) and np.array_equal(kept, [5, 4, 3, 2])
    exact = np.empty(4)
    assert upsweep.select(x > 1, x, out=exact) is exact
    with pytest.raises(ValueError, match="elements are needed"):
        upsweep.select(x > 1, x, out=np.empty(3))
    with pytest.raises(ValueError, match="overlap"):
        upsweep.select(x > 1, x, out=x)
    with pytest.raises(TypeError, match="float64"):
        upsweep.segmented_reduce(x, offsets, out=np.empty(3, "float32"), dtype="float64")
    index = np.empty(6, np.int64)
    assert upsweep.local_index(offsets, out=index) is index


def test_subset_sums():
    found = upsweep.subset_sum([3, 34, 4, 12, 5, 2], 9)
    assert found.reachable and found.sum == 9 and sum([3, 34, 4, 12, 5, 2][i] for i in found.indices) == 9
    assert not upsweep.subset_sum([2, 4], 5).reachable
    assert [list(way) for way in upsweep.subset_sum([3, 34, 4, 12, 5, 2], 9, ways=5)] == [[0, 2, 5], [2, 4]]
    for wrong, error, message in (
        ({"ways": 1, "below": 1}, ValueError, "omit below and above"),
        ({"ways": 1, "device": 0}, NotImplementedError, "omit device"),
        ({"device": -7}, ValueError, "device: 0 or more"),
        ({"ways": 1.5}, TypeError, "ways: an integer"),
        ({"witness": "no"}, TypeError, "witness: True or False"),
    ):
        with pytest.raises(error, match=message):
            upsweep.subset_sum([5, 7], 8, **wrong)
    for target, error in ((2.5, TypeError), (None, TypeError), (2**63, OverflowError), (-1, ValueError)):
        with pytest.raises(error, match="target"):
            upsweep.subset_sum([5, 7], target)
    with pytest.raises(ValueError) as raised:
        upsweep.subset_sum([1, 0], 1)
    assert raised.value.index == 1


def test_ladders():
    names = {record["problem"] for record in upsweep.ladder()}
    assert {"scan", "segmented-reduce", "select", "subset-sum"} <= names
    records = upsweep.ladder("segmented-reduce", sizes=[1000], types=["float64"], settings={"lists": "fixed3"})
    assert {record["status"] for record in records} <= {"verified", "skipped"} and records[0]["seconds"] > 0
    assert "cpu.serial" in repr(records) and "<table>" in records._repr_html_()
    same = upsweep.ladder("segmented_reduce", sizes=[1000], types=["float64"], settings={"lists": "fixed3"})
    assert [record["rung"] for record in same] == [record["rung"] for record in records]
    with pytest.raises(ValueError, match="settings|setting"):
        upsweep.ladder("scan", settings={"lists": "fixed3"})
    with pytest.raises(ValueError):
        upsweep.ladder("nonsense")


# --------------------------------------------------------------------------------------------- memory layouts and types


@pytest.mark.parametrize("bounds", INTEGERS)
@pytest.mark.parametrize("step", [1, 2])
def test_bounds_of_any_integers(bounds, step):
    def given(*values):
        return np.repeat(np.array(values, bounds), step)[::step]

    content, parents = np.array([5.0, 1.0, 2.0, 7.0]), np.array([0, 0, 2, 2])
    offsets = given(0, 2, 2, 4)
    assert upsweep.segmented_reduce(content, offsets).tolist() == [6, 0, 9]
    assert upsweep.segmented_scan(content, offsets).tolist() == [5, 6, 2, 9]
    assert upsweep.segmented_sort(content, offsets).tolist() == [1, 5, 2, 7]
    assert upsweep.offsets_to_parents(offsets).tolist() == parents.tolist()
    assert upsweep.parents_to_offsets(given(*parents), 3).tolist() == [0, 2, 2, 4]
    assert upsweep.lengths_to_offsets(given(2, 0, 2)).tolist() == [0, 2, 2, 4]
    assert upsweep.local_index(offsets).tolist() == [0, 1, 0, 1]
    assert upsweep.broadcast(np.array([7, 8, 9]), offsets).tolist() == [7, 7, 9, 9]
    assert upsweep.take(given(3, 0), content).tolist() == [7, 5]
    assert upsweep.flatten(given(0, 1, 3), offsets).tolist() == [0, 2, 4]
    assert [each.tolist() for each in upsweep.combinations(offsets)] == [[0, 1, 1, 2], [0, 2], [1, 3]]
    offsets, kept = upsweep.select(np.array([True, False, True, True]), content, lists=offsets)
    assert offsets.tolist() == [0, 1, 1, 3] and kept.tolist() == [5, 2, 7]


@pytest.mark.parametrize("first, last", itertools.product(INTEGERS, repeat=2))
def test_starts_and_stops_of_any_two_types(first, last):
    starts, stops = np.array([2, 0], first), np.array([4, 1], last)
    assert upsweep.segmented_reduce(np.array([1, 2, 4, 8]), (starts, stops)).tolist() == [12, 1]
    assert upsweep.offsets(starts, stops).tolist() == [0, 2, 3]


@pytest.mark.parametrize("call", [lambda x: upsweep.segmented_reduce(np.ones(9), x), lambda x: upsweep.take(x, np.ones(9))])
def test_bounds_that_no_int64_is(call):
    with pytest.raises(OverflowError, match=f": element 2 is {2**63 + 5}, ") as caught:
        call(np.array([0, 1, 2**63 + 5, 2**64 - 1], np.uint64))
    assert caught.value.index == 2 and caught.value.code == "overflow"
    for wrong in (np.array([0.0, 1.0]), np.array([False, True]), np.array([0, 1], "datetime64[D]")):
        with pytest.raises(TypeError, match=f": integers are needed, not {wrong.dtype}".replace("[", r"\[")):
            call(wrong)


def test_outputs_that_overlap_an_input():
    inner, outer = np.array([1, 3, 5, 7, 9]), np.array([0, 0, 1, 2, 4])
    assert upsweep.flatten(outer, inner, out=inner) is inner and inner.tolist() == [1, 1, 3, 5, 9]
    n = 3000
    bounds = np.r_[0, np.full(n - 1, n // 2), n]
    expected = upsweep.broadcast(np.arange(n), bounds.copy())
    assert np.array_equal(upsweep.broadcast(np.arange(n), bounds, out=bounds[:n]), expected)
    bounds = np.array([1, 2, 9])
    with pytest.raises(ValueError, match="list 1"):
        upsweep.segmented_scan(np.array([1, 1]), bounds, out=bounds[:2])
    assert bounds.tolist() == [1, 2, 9], "the output must not overwrite the lists before they are read"
    m = 15_000
    bounds = np.minimum(np.arange(m + 1) * 3, m)
    content = np.arange(m)[::-1] + 2**45
    expected = upsweep.segmented_sort(content, bounds.copy())
    assert np.array_equal(upsweep.segmented_sort(content, bounds, out=bounds[:m]), expected)


def test_list_views_of_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    for kind in (pyarrow.list_view(pyarrow.int64()), pyarrow.large_list_view(pyarrow.int64())):
        lists = pyarrow.array([[1, 2], [3], None, [4, 5, 6]], kind)
        assert upsweep.segmented_reduce(lists).to_pylist() == [3, 3, 0, 15]
        assert upsweep.segmented_reduce(lists[1:]).to_pylist() == [3, 0, 15]


def test_valid_joins_the_nulls_of_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    content = pyarrow.array([9, 7, None, 9, 1])[1:]
    offsets, valid = np.array([0, 2, 4]), np.array([True, True, False, True])
    assert upsweep.segmented_reduce(content, offsets, valid=valid).to_pylist() == [7, 1]
    assert upsweep.segmented_reduce(content, offsets, op="count", valid=valid).to_pylist() == [1, 1]
    with pytest.raises(ValueError, match="valid: 3 booleans"):
        upsweep.segmented_reduce(content, offsets, valid=valid[:3])


def test_reducers_have_types_of_their_own_and_no_beginning():
    x, offsets = np.array([1, 0, 3]), np.array([0, 1, 3])
    for dtype in ("int64", np.int64, "i8", np.dtype("int64")):
        assert upsweep.segmented_reduce(x, offsets, op="count", dtype=dtype).tolist() == [1, 2]
    assert upsweep.segmented_reduce(x, offsets, op="any", dtype=bool).tolist() == [True, True]
    for op, initial in (("count", 10), ("any", True), ("argmin", 0)):
        with pytest.raises(TypeError, match="initial"):
            upsweep.segmented_reduce(x, offsets, op=op, initial=initial)


def test_no_lists_given_as_python_lists():
    assert upsweep.lengths_to_offsets([]).tolist() == [0]
    assert upsweep.offsets([], []).tolist() == [0]
    assert upsweep.take([], np.array([1, 2])).tolist() == []
    assert upsweep.parents_to_offsets([], 2).tolist() == [0, 0, 0]
    with pytest.raises(MemoryError):
        upsweep.offsets_to_parents([0, 2**62])
    for wrong in (True, "2", 1.5, None):
        with pytest.raises(TypeError, match="lists"):
            upsweep.parents_to_offsets([0], wrong)
    with pytest.raises(ValueError, match="lists: 0 or more"):
        upsweep.parents_to_offsets([0], -5)
    with pytest.raises(TypeError, match="n: an integer"):
        upsweep.combinations(np.array([0, 2]), 2.0)


def test_moved_dates_keep_their_type():
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for kind in (pyarrow.timestamp("s", "Europe/Paris"), pyarrow.date64(), pyarrow.timestamp("us"), pyarrow.duration("ms")):
        dates = pyarrow.array([0, 86_400_000], pyarrow.int64()).cast(kind)
        taken = upsweep.take(np.array([1]), dates)
        assert taken.type == kind and taken.to_pylist() == dates[1:].to_pylist()
    series = polars.Series("t", [0, 10**6]).cast(polars.Datetime("us", "Europe/Paris"))
    taken = upsweep.take(np.array([1]), series)
    assert taken.dtype == series.dtype and taken.to_list() == series[1:].to_list()
    for text in (pyarrow.array(["a"]), polars.Series(["a"])):
        with pytest.raises(TypeError, match="(?i)str.* is not supported"):
            upsweep.cumulative_sum(text)


def test_outputs_of_moves_are_the_callers_memory():
    mask, x = np.array([True] * 3), np.array([1, 2, 3])
    with pytest.raises(TypeError, match="byte-swapped"):
        upsweep.select(mask, x, out=np.zeros(3, ">i8"))
    with pytest.raises(TypeError, match="not list"):
        upsweep.take(x - 1, x, out=[[0, 0, 0]])


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"sizes": [-1]}, ValueError, "^sizes: .* -1"),
        ({"sizes": [2**63]}, OverflowError, "^sizes: "),
        ({"sizes": [1.5]}, TypeError, "^sizes: .* 1.5"),
        ({"sizes": 5}, TypeError, "^sizes: .* 5"),
        ({"sizes": "12"}, TypeError, "^sizes: "),
        ({"types": "int32"}, TypeError, "^types: .*int32"),
        ({"types": np.int32}, TypeError, "^types: "),
        ({"types": ["complex64"]}, TypeError, "^types: complex64"),
        ({"max_seconds": "x"}, TypeError, "^max_seconds: .*'x'"),
        ({"max_seconds": float("nan")}, ValueError, "^max_seconds: "),
        ({"max_seconds": -1}, ValueError, "^max_seconds: "),
        ({"settings": {1: "x"}}, TypeError, "^settings: .* 1"),
        ({"settings": 5}, TypeError, "^settings: "),
        ({"settings": {"lists": 2.5}}, TypeError, "^settings: lists: .* 2.5"),
        ({"settings": {"lists": 2**70}}, OverflowError, "^settings: lists: "),
        ({"settings": {"lists": 3}}, ValueError, "lists"),
        ({"device": "tpu"}, ValueError, "^device: "),
    ],
)
def test_what_a_ladder_refuses(given, error, message):
    with pytest.raises(error, match=message):
        upsweep.ladder("segmented-reduce", **{"sizes": [1000], "types": ["int32"], **given})


def test_numbers_may_be_written_as_floats():
    """Integers that are often large are also accepted as 1e6, but not as 1.5."""
    rows = upsweep.ladder("filtered-sum", sizes=[1e3, np.float32(2e3)], settings={"z": 5e3}, max_seconds=1.0)
    assert {row["n"] for row in rows} == {1000, 2000} and {row["status"] for row in rows} == {"verified"}
    assert upsweep.subset_sum([500, 700], 1e3, below=5e2).sum == 700
    assert len(upsweep.subset_sum([5, 7], 12, ways=1e1)) == 1
    assert list(upsweep.parents_to_offsets([0, 2], 3.0)) == [0, 1, 1, 2]
    assert list(upsweep.segmented_reduce(np.arange(4), 2.0)) == [1, 5]
    assert list(upsweep.histogram([0.5, 1.5], 2e0, range=(0, 2))[0]) == [1, 1]
    assert upsweep.query("SELECT SUM(x) FROM t", t={"x": [1, 2]}, memory=1e9).rows() == [(3,)]
    calls = {
        "sizes": lambda wrong: upsweep.ladder("scan", sizes=[wrong]),
        "settings: z": lambda wrong: upsweep.ladder("filtered-sum", settings={"z": wrong}),
        "target": lambda wrong: upsweep.subset_sum([5, 7], wrong),
        "below": lambda wrong: upsweep.subset_sum([5, 7], 8, below=wrong),
        "lists": lambda wrong: upsweep.parents_to_offsets([0, 2], wrong),
        "size of lists": lambda wrong: upsweep.segmented_reduce(np.arange(4), wrong),
        "bins": lambda wrong: upsweep.histogram([0.5, 1.5], wrong),
        "memory": lambda wrong: upsweep.query("SELECT SUM(x) FROM t", t={"x": [1, 2]}, memory=wrong),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"^{name}: an integer is needed, not 1.5$"):
            call(1.5)
        with pytest.raises((OverflowError, ValueError), match=f"^{name}: "):
            call(1e300)


def test_problems_of_a_ladder_are_words():
    with pytest.raises(TypeError, match="^problem: .* 5"):
        upsweep.ladder(5)
    with pytest.raises(TypeError, match="^settings: z: .* 1.5"):
        upsweep.ladder("filtered-sum", sizes=[1000], settings={"z": 1.5})
    sizes = upsweep.ladder("scan", sizes=np.array([10, 20]), types=(np.int32,), max_seconds=np.float32(1))
    assert {(row["n"], row["type"]) for row in sizes} == {(10, "int32"), (20, "int32")}


@pytest.mark.parametrize("rung", ["", "cpu.serial", "cpu.runs"])
def test_runs_of_equal_keys_by_the_rungs_of_their_ladder(rung):
    keys, values = np.array([2, 2, 5, 5, 2], np.int32), np.array([1, 2, 3, 4, 5])
    with upsweep.options(rung=rung):
        firsts, sums = upsweep.reduce_by_key(keys, values, initial=10)
        scanned = upsweep.scan_by_key(keys[::-1], values[::-1], exclusive=True)
    assert np.array_equal(firsts, [2, 5, 2])
    assert np.array_equal(sums, [13, 17, 15])
    assert np.array_equal(scanned, [0, 0, 4, 0, 2])
    out = values.copy()
    assert upsweep.scan_by_key(keys, out, out=out) is out
    assert np.array_equal(out, [1, 3, 3, 7, 5])
    with upsweep.options(rung="cpu.columns"), pytest.raises(NotImplementedError, match="cpu.runs"):
        upsweep.reduce_by_key(keys, values)
    assert np.array_equal(upsweep.reduce_by_key(keys, values, op="count")[1], [2, 2, 1])
    with pytest.raises(OverflowError) as caught:
        upsweep.reduce_by_key(keys, np.array([1, 2, 2**62, 2**62, 5]))
    assert caught.value.index == 1


@pytest.mark.parametrize("rung", ["", "cpu.serial", "cpu.partitioned"])
def test_groups_by_the_rungs_of_their_ladder(rung):
    keys, values = np.array([2, 5, 2, 5, 5, -3], np.int32), np.array([1, 2, 3, 4, 5, 6])
    with upsweep.options(rung=rung):
        firsts, sums, counts = upsweep.group_by(keys, values, counts=True)
    assert firsts.dtype == np.int32
    assert np.array_equal(firsts, [2, 5, -3])
    assert np.array_equal(sums, [4, 11, 6])
    assert np.array_equal(counts, [2, 3, 1])
    firsts, most = upsweep.group_by(keys, values.astype("float32"), op="max")
    assert most.dtype == np.float32
    assert np.array_equal(most, [3, 5, 6])
    with pytest.raises(OverflowError, match="key 5") as caught:
        upsweep.group_by(keys, np.array([1, 2**62, 2, 2**62, 5, 0]))
    assert caught.value.index == 1
    with pytest.raises(ValueError, match="op"):
        upsweep.group_by(keys, values, op="count")
    with pytest.raises(ValueError, match="shape"):
        upsweep.group_by(keys, values[:-1])
    with upsweep.options(rung="cpu.runs"), pytest.raises(NotImplementedError, match="cpu.adaptive"):
        upsweep.group_by(keys, values)
    assert [len(of) for of in upsweep.group_by(keys[:0], values[:0])] == [0, 0]


def test_outputs_that_do_not_lie_side_by_side():
    """Strided outputs are also the caller's memory, and the elements between them must not change."""
    x = np.arange(6)
    for call in (
        lambda out: upsweep.select(x > 1, x, out=out),
        lambda out: upsweep.take([2, 3, 4, 5], x, out=out),
    ):
        buffer = np.full(8, -1)
        out = buffer[::-2]
        assert call(out) is out
        assert buffer.tolist() == [-1, 5, -1, 4, -1, 3, -1, 2]
    buffer = np.full(12, -1)
    assert upsweep.select(x > 3, x, out=buffer[::2]).tolist() == [4, 5]  # the output is longer
    assert buffer.tolist() == [4, -1, 5] + [-1] * 9


def test_a_selection_reads_its_mask_once():
    """The call keeps its copy of the mask while Python makes the outputs, because the mask may have changed by then."""
    x, mask = np.arange(100_000), np.arange(100_000) % 3 == 0
    for lists in (None, np.arange(0, 100_001, 10)):
        given, offsets, made = mask.copy(), np.empty(10_001, np.int64), []

        def make(length, given=given, made=made):
            given[:] = False
            made.append(np.empty(length, x.dtype))
            return made

        count = _core.select(_core.Place(), lists, None, given, None if lists is None else offsets, [(x, None)], make)
        assert count == len(made[0]) and np.array_equal(made[0], x[mask])
    assert np.array_equal(offsets, np.append(0, np.cumsum(mask.reshape(-1, 10).sum(axis=1))))


def test_outputs_that_cannot_be_made_end_a_call():
    x, mask = np.arange(100_000), np.ones(100_000, bool)

    def fail(length):
        raise MemoryError(f"{length} elements")

    with pytest.raises(MemoryError, match="^100000 elements$"):
        _core.select(_core.Place(), None, None, mask, None, [(x, None)], fail)
    for outputs in ([], [np.empty(99_999, np.int64)], [np.empty(100_000, np.int32)]):
        with pytest.raises((TypeError, ValueError)):
            _core.select(_core.Place(), None, None, mask, None, [(x, None)], lambda length, outputs=outputs: outputs)
    short = np.empty(10, np.int64)
    for call in (
        lambda: upsweep.select(mask, x, out=short),
        lambda: upsweep.select(mask, x, lists=[0, 100_000], out=short),
        lambda: upsweep.take(x, x, lists=[0, 100_000], index_lists=[0, 100_000], out=short),
    ):
        with pytest.raises(ValueError, match="100000"):
            call()
    with pytest.raises(ValueError, match="list 1"):  # the list is invalid, whatever the outputs are
        upsweep.select(mask, x, lists=np.array([0, 100_000, 5]), out=short)


def test_a_mask_that_is_written_over_is_read_first():
    valid = np.ones(6, bool)
    out = upsweep.segmented_scan(
        np.arange(6, dtype=np.uint8), np.array([1, 3, 5]), op="max", valid=valid, out=valid.view(np.uint8)
    )
    assert out.tolist() == [0, 1, 2, 3, 4, 0]


def test_tuples_and_runs_go_where_they_are_wanted():
    offsets = np.array([0, 3, 3, 5])
    expected = upsweep.combinations(offsets)
    buffer = tuple(np.full(6, -1) for _ in range(3))
    found = upsweep.combinations(offsets, out=buffer)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert all(np.shares_memory(each, place) for each, place in zip(found, buffer))
    assert buffer[1].tolist() == [0, 0, 1, 3, -1, -1]
    exact = tuple(np.empty(4, np.int64) for _ in range(3))
    assert all(each is place for each, place in zip(upsweep.combinations(offsets, out=exact), exact))
    buffer = tuple(np.full(9, -1)[::-2] for _ in range(3))
    expected = upsweep.cartesian(np.array([0, 2, 3]), np.array([0, 1, 3]))
    found = upsweep.cartesian(np.array([0, 2, 3]), np.array([0, 1, 3]), out=buffer)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert buffer[2].tolist() == [0, 0, 1, 2, -1]
    keys, sums = np.full(4, -1), np.full(4, -1)
    for op, values in (("add", [30, 30]), ("count", [2, 1])):
        found = upsweep.reduce_by_key(np.array([2, 2, 5]), np.array([10, 20, 30]), op=op, out=(keys, sums))
        assert [each.tolist() for each in found] == [[2, 5], values]
        assert keys.tolist() == [2, 5, -1, -1] and sums.tolist() == [*values, -1, -1]
    with pytest.raises(ValueError, match="out: 3 arrays are needed, the offsets and one for each place, not 1"):
        upsweep.combinations(offsets, out=np.empty(9, np.int64))
    with pytest.raises(ValueError, match="4 elements are needed, but it has 3"):
        upsweep.combinations(offsets, out=(np.empty(4, np.int64), np.empty(3, np.int64), np.empty(4, np.int64)))
    with pytest.raises(TypeError, match="out: an array of int64"):
        upsweep.reduce_by_key(np.array([2, 2, 5]), np.array([10, 20, 30]), out=(keys, sums.astype("int32")))
    with pytest.raises(ValueError, match="overlap"):
        upsweep.combinations(offsets, out=(offsets, sums, keys))


def test_groups_go_where_they_are_wanted():
    keys, values = np.array([2, 5, 2, 7], np.int32), np.array([10, 20, 30, 40])
    exact = np.empty(3, np.int32), np.empty(3, np.int64), np.empty(3, np.int64)
    found = upsweep.group_by(keys, values, counts=True, out=exact)
    assert all(each is place for each, place in zip(found, exact))
    assert [each.tolist() for each in found] == [[2, 5, 7], [40, 20, 40], [2, 1, 1]]
    longer = np.full(5, -1, np.int32), np.full(9, -1)[::-2]
    found = upsweep.group_by(keys, values, op="max", out=longer)
    assert [each.tolist() for each in found] == [[2, 5, 7], [30, 20, 40]]
    assert all(np.shares_memory(each, place) for each, place in zip(found, longer))
    assert longer[0].tolist() == [2, 5, 7, -1, -1] and longer[1].tolist() == [30, 20, 40, -1, -1]
    for short in ((exact[0][:2], exact[1]), (exact[0], longer[1][:2])):
        with pytest.raises(ValueError, match="needs 3 elements, has 2"):
            upsweep.group_by(keys, values, out=short)
    with pytest.raises(ValueError, match="out: 3 arrays are needed, .* not 2"):
        upsweep.group_by(keys, values, counts=True, out=exact[:2])
    with pytest.raises(TypeError, match="out: an array of int64"):
        upsweep.group_by(keys, values, out=(exact[0], exact[1].astype("int32")))
    with pytest.raises(ValueError, match="overlap"):
        upsweep.group_by(keys, values, out=(keys, exact[1]))


@pytest.mark.parametrize(
    "values, given, folds",
    [
        (np.array([2**24, 1, 1], np.float32), {"dtype": "float64"}, np.array([2**24 + 2.0])),
        (np.array([1, 2, 4], np.int32), {"dtype": np.float64}, np.array([7.0])),
        (np.array([2**31, 1, 2], np.uint32), {"dtype": "int64"}, np.array([2**31 + 3])),
        (np.array([100, 100, 3], np.int8), {"op": "mul"}, np.array([30000])),
        (np.array([True, False, True]), {}, np.array([2])),
    ],
)
def test_groups_are_folded_in_a_type_that_holds_the_values(values, given, folds):
    found = upsweep.group_by(np.array([3, 3, 3]), values, **given)[1]
    assert found.dtype == folds.dtype and found.tolist() == folds.tolist()
    with pytest.raises(NotImplementedError, match="the same type"):
        upsweep.group_by(np.array([3, 3, 3]), values.astype("int64"), dtype="int16")


# ------------------------------------------------------------------------------------------ sorts of lists in any order


@given(
    lengths_of_lists, st.sampled_from(["int8", "int64", "float32", "uint16"]), st.randoms(use_true_random=False), st.booleans()
)
def test_sorts_of_lists_by_starts_and_stops(lengths, dtype, random, descending):
    content, offsets, _ = ragged(lengths, dtype, first=3)
    content = np.concatenate([content, content[:2]])  # not in any list
    order = np.array(random.sample(range(len(lengths)), len(lengths)), np.int64)
    lists = (offsets[:-1][order], offsets[1:][order])
    expected, positions = content.copy(), np.zeros(len(content), np.int64)
    for start, stop in zip(*lists):
        each = content[start:stop]
        expected[start:stop] = np.sort(each)[::-1] if descending else np.sort(each)
        at = np.argsort(-each.astype(np.float64) if descending else each, kind="stable")
        positions[start:stop] = at
    assert np.array_equal(upsweep.segmented_sort(content, lists, descending=descending), expected)
    assert np.array_equal(upsweep.segmented_argsort(content, lists, descending=descending), positions)
    pair = (offsets[:-1], offsets[1:])  # which are offsets in memory
    assert np.array_equal(upsweep.segmented_sort(content, pair, descending=descending), expected)
    out = np.full_like(content, 77)
    assert upsweep.segmented_sort(content, lists, descending=descending, out=out) is out and np.array_equal(out, expected)
    assert upsweep.segmented_sort(content, lists, descending=descending, out=content) is content
    assert np.array_equal(content, expected)


def test_elements_outside_of_lists_stay_as_they_are():
    x = np.array([9, 3, 1, 8, 5, 7])
    for lists in (np.array([1, 3, 3, 5]), (np.array([3, 1]), np.array([5, 3]))):
        assert upsweep.segmented_sort(x, lists).tolist() == [9, 1, 3, 5, 8, 7]
        assert upsweep.segmented_argsort(x, lists).tolist() == [0, 1, 0, 1, 0, 0]
        mine = x.copy()
        assert upsweep.segmented_sort(mine, lists, out=mine) is mine and mine.tolist() == [9, 1, 3, 5, 8, 7]
    pyarrow = pytest.importorskip("pyarrow")
    lists = pyarrow.ListArray.from_arrays(
        pyarrow.array([0, 2, 4, 6]), pyarrow.array(x), mask=pyarrow.array([False, True, False])
    )
    assert upsweep.segmented_sort(lists).to_pylist() == [3, 9, 1, 8, 5, 7]
    view = pyarrow.ListViewArray.from_arrays(
        pyarrow.array([4, 2], pyarrow.int32()), pyarrow.array([2, 2], pyarrow.int32()), pyarrow.array(x)
    )
    assert upsweep.segmented_sort(view, descending=True).to_pylist() == [9, 3, 8, 1, 7, 5]
    view = pyarrow.ListViewArray.from_arrays(  # a null list may have any position
        pyarrow.array([4, 1, 2], pyarrow.int32()), pyarrow.array([2, 5, 2], pyarrow.int32()), pyarrow.array(x),
        mask=pyarrow.array([False, True, False]),
    )  # fmt: skip
    assert upsweep.segmented_sort(view, descending=True).to_pylist() == [9, 3, 8, 1, 7, 5]
    assert upsweep.segmented_argsort(view).to_pylist() == [0, 0, 0, 1, 0, 1]


@pytest.mark.parametrize("function", [upsweep.segmented_sort, upsweep.segmented_argsort])
def test_lists_that_overlap_are_not_sorted(function):
    x = np.arange(6)
    for starts, stops, index in (
        ([0, 1], [2, 3], 1),
        ([1, 0], [3, 2], 1),
        ([0, 4, 2, 3], [2, 6, 4, 5], 3),
        ([0, 3, 3, 0], [6, 3, 3, 1], 3),
        ([0, 0, 0], [6, 6, 6], 1),
        ([2, 2], [4, 4], 1),
    ):
        with pytest.raises(ValueError, match=f"^list {index} overlaps a list before it") as caught:
            function(x, (np.array(starts), np.array(stops)))
        assert caught.value.index == index and caught.value.code == "invalid_argument"
    assert len(function(x, (np.array([0, 3, 3, 3]), np.array([3, 3, 6, 3])))) == 6  # empty lists may have any position
    bounds = np.arange(0, 1001, 100)
    for starts, stops in ((bounds[:-1] + 63, bounds[1:] + 64), (bounds[:-1], bounds[1:] - 99)):
        starts, stops = np.append(starts[::-1], 0), np.append(np.minimum(stops, 1000)[::-1], 64)
        with pytest.raises(ValueError, match="overlaps a list before it") as caught:
            function(np.arange(1000), (starts, stops))
        before = [set(range(start, stop)) for start, stop in zip(starts, stops)]
        assert caught.value.index == next(i for i, each in enumerate(before) if each & set().union(*before[:i]))
    for stop in (3, 7):
        with pytest.raises(ValueError, match="^list 1") as caught:
            function(x, (np.array([0, 4]), np.array([2, stop])))
        assert caught.value.index == 1


def test_reducers_of_runs_by_the_rungs_of_runs():
    keys, values = np.array([1, 1, 2]), np.array([3, 7, 5])
    for rung in ("", "cpu.serial", "cpu.runs"):
        with upsweep.options(rung=rung):
            firsts, positions = upsweep.reduce_by_key(keys, values, op="argmax")
        assert firsts.tolist() == [1, 2] and positions.tolist() == [1, 0]
