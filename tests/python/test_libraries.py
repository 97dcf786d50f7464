# SPDX-License-Identifier: Apache-2.0
# tests/python/test_libraries.py: arrays of other libraries: inputs are not copied, and results are arrays of the same
# library.
import ctypes

import numpy as np
import pytest
import upsweep
from upsweep import _arrays


def seen(value):
    """Returns the address at which upsweep finds the elements."""
    return _arrays.take_in(value, "x").data.ctypes.data


def test_sequences_and_scalars():
    assert np.array_equal(upsweep.cumulative_sum([1, 2, 3]), [1, 3, 6])
    assert np.array_equal(upsweep.cumulative_sum((1.5, 2.5)), [1.5, 4.0])
    assert np.array_equal(upsweep.cumulative_sum(range(4)), [0, 1, 3, 6])
    assert np.array_equal(upsweep.cumulative_sum(np.arange(4).view(np.recarray)), [0, 1, 3, 6])


def test_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    x = pyarrow.array([1, 2, 3])
    assert seen(x) == x.buffers()[1].address
    result = upsweep.cumulative_sum(x)
    assert isinstance(result, pyarrow.Array) and result.to_pylist() == [1, 3, 6]
    assert upsweep.cumulative_sum(x[1:]).to_pylist() == [2, 5]
    assert upsweep.cumulative_sum(pyarrow.chunked_array([[1, 2], [3]])).to_pylist() == [1, 3, 6]
    with pytest.raises(ValueError, match="has 1 null: fill nulls first"):
        upsweep.cumulative_sum(pyarrow.array([1, None]))


class Capsules:
    """An array of a library that upsweep does not support."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self.array.__arrow_c_device_array__(requested_schema, **kwargs)


def test_capsules_of_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    x = pyarrow.array([1, 2, 3])
    assert seen(Capsules(x)) == x.buffers()[1].address
    assert upsweep.cumulative_sum(Capsules(x[1:])).to_pylist() == [2, 5]
    assert upsweep.segmented_reduce(Capsules(pyarrow.array([[1.5], None, [2.0, None]]))).to_pylist() == [1.5, 0.0, 2.0]
    with pytest.raises(ValueError, match="has 1 null: fill nulls first"):
        upsweep.cumulative_sum(Capsules(pyarrow.array([1, None])))
    with pytest.raises(TypeError):
        upsweep.cumulative_sum(Capsules(pyarrow.array([[1]])))


def test_list_arrays_of_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    lists = pyarrow.array([[1.0, None, 5.0], [], None, [2.0]])
    assert upsweep.segmented_reduce(lists).to_pylist() == [6.0, 0.0, 0.0, 2.0]
    assert upsweep.segmented_reduce(lists, op="count").to_pylist() == [2, 0, 0, 1]
    assert upsweep.segmented_reduce(lists[1:], op="count").to_pylist() == [0, 0, 1]
    for kind in (pyarrow.large_list(pyarrow.int32()), pyarrow.list_(pyarrow.int32(), 2)):
        pairs = pyarrow.array([[1, 2], [3, 4]], kind)
        assert upsweep.segmented_reduce(pairs).to_pylist() == [3, 7]
        assert upsweep.segmented_reduce(pairs[1:]).to_pylist() == [7]
    chunked = pyarrow.chunked_array([pyarrow.array([[1], [2, 3]]), pyarrow.array([[4]])])
    assert upsweep.segmented_reduce(chunked).to_pylist() == [1, 5, 4]
    with pytest.raises(TypeError, match="the positions of the lists are missing"):
        upsweep.segmented_reduce(np.arange(3.0))


def test_polars():
    polars = pytest.importorskip("polars")
    x = polars.Series("pt", [1, 2, 3])
    result = upsweep.cumulative_sum(x)
    assert isinstance(result, polars.Series) and result.name == "pt" and result.to_list() == [1, 3, 6]
    assert seen(x) == x.to_numpy(allow_copy=False).ctypes.data
    assert upsweep.segmented_reduce(polars.Series([[1, 2], [3]])).to_pylist() == [3, 3]
    with pytest.raises(ValueError, match="nulls"):
        upsweep.cumulative_sum(polars.Series([1, None]))


def test_pandas():
    pandas = pytest.importorskip("pandas")
    x = pandas.Series([1, 2, 3], index=[5, 6, 7], name="pt")
    result = upsweep.cumulative_sum(x)
    assert isinstance(result, pandas.Series) and list(result.index) == [5, 6, 7] and list(result) == [1, 3, 6]
    assert result.name == "pt" and seen(x) == x.to_numpy().ctypes.data
    assert list(upsweep.segmented_scan(x, np.array([0, 2, 3])).index) == [5, 6, 7]
    assert list(upsweep.cumulative_sum(pandas.Series([1, 2, 3], dtype="Int64"))) == [1, 3, 6]
    assert upsweep.cumulative_sum(pandas.Series([1.0, np.nan])).isna().tolist() == [False, True]
    assert list(upsweep.cumulative_sum(pandas.array([1, 2]))) == [1, 3] == list(upsweep.cumulative_sum(pandas.Index([1, 2])))


def test_series_of_pandas_in_another_order_have_no_labels():
    pandas = pytest.importorskip("pandas")
    x = pandas.Series([3, 1, 2], index=[5, 6, 7], name="pt")
    offsets = np.array([0, 1, 3, 3])
    for result in (
        upsweep.segmented_sort(x, offsets),
        upsweep.segmented_reduce(x, offsets),
        upsweep.partition(x < 3, x)[1],
        upsweep.take(np.array([2, 1, 0]), x),
        upsweep.pack((np.array([1, 0]), np.array([3, 1])), x)[1],
    ):
        assert list(result.index) == [0, 1, 2] and result.name == "pt"


def test_nulls_and_tables_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas")
    for dtype in ("Int64", "Float32", "boolean"):
        with pytest.raises(ValueError, match="has 1 null: fill nulls first"):
            upsweep.cumulative_sum(pandas.Series([1, None], dtype=dtype))
    with pytest.raises(TypeError, match="pandas's DataFrame is not an array: pass a column"):
        upsweep.cumulative_sum(pandas.DataFrame({"x": [1, 2]}), axis=0)


def test_tables_of_arrow_and_polars_are_refused():
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for table in (pyarrow.table({"x": [1]}), polars.DataFrame({"x": [1]}), polars.LazyFrame({"x": [1]}), pyarrow.scalar(1)):
        with pytest.raises(TypeError, match="is not an array: pass a column"):
            upsweep.cumulative_sum(table)


class OnDlpack:
    """An array that only supports DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(OnDlpack):
    def __dlpack_device__(self):
        return (8, 0)  # Metal


def test_dlpack():
    array = np.arange(5)
    assert seen(OnDlpack(array)) == array.ctypes.data
    assert np.array_equal(upsweep.cumulative_sum(OnDlpack(array)), np.cumsum(array))
    with pytest.raises(TypeError, match="kind 8"):
        upsweep.cumulative_sum(Elsewhere(array))


def with_method(name, call):
    """An object whose class has this method."""
    return type("Broken", (), {name: call, "__dlpack_device__": lambda self: (1, 0)})()


def test_what_libraries_do_wrong_is_theirs_by_name():
    pytest.importorskip("pyarrow")
    boom = RuntimeError("boom")

    def fails(self, **arguments):
        raise boom

    with pytest.raises(TypeError, match=r"x: its __dlpack__\(\) does not return an array: boom") as raised:
        upsweep.cumulative_sum(with_method("__dlpack__", fails))
    assert raised.value.__cause__ is boom
    for method in ("__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_stream__"):
        for result in (None, (None, None), 7):
            broken = with_method(method, lambda self, requested_schema=None, result=result: result)
            with pytest.raises(TypeError, match=rf"x: its {method}\(\) does not return an Arrow array") as raised:
                upsweep.cumulative_sum(broken)
            assert raised.value.__cause__ is not None


def test_text_is_called_text():
    for text, size in ((np.array([b"abc"]), 3), (np.array(["abc"]), 12)):
        with pytest.raises(
            TypeError, match=f"^content: text of {size} bytes cannot be moved: elements must be 1, 2, 4, 8 or 16 bytes"
        ):
            upsweep.select(np.array([True]), text)
        with pytest.raises(TypeError, match="indices: .* not text"):
            upsweep.take(text, np.arange(3))
        with pytest.raises(TypeError, match="booleans are needed, not text"):
            upsweep.select(text, np.arange(1))


def test_what_is_moved_is_said_by_what_moves():
    """Returns the element types that an operation supports, and not those of similar operations."""
    pa = pytest.importorskip("pyarrow")
    mask, x = np.array([True, False]), np.arange(2)
    moved = (
        "cannot be moved: elements must be 1, 2, 4, 8 or 16 bytes, such as numbers, booleans, dates, times and most decimals"
    )
    computed = "is not supported: integers of 8 to 64 bits, float32, float64 and bool are"
    strings = {"string": pa.array(["a", "b"]), "text": np.array(["a", "b"], np.dtypes.StringDType())}
    lists = {r"list<item: int64>": pa.array([[1], [2]]), r"decimal256\(40, 2\)": pa.array([1, 2]).cast(pa.decimal256(40, 2))}
    objects = {r"an array of Python objects \(int, str\)": np.array([1, "a"], object)}
    moves = (
        lambda x: upsweep.select(mask, x), lambda x: upsweep.partition(mask, x), lambda x: upsweep.take([0], x),
        lambda x: upsweep.pack(([0], [1]), x),
    )  # fmt: skip
    computes = {
        "x": upsweep.cumulative_sum, "keys": lambda keys: upsweep.reduce_by_key(keys, x),
        "values": lambda values: upsweep.group_by(x, values),
    }  # fmt: skip
    counts = {
        "lengths": upsweep.lengths_to_offsets,
        "items": lambda items: upsweep.subset_sum(items, 3),
    }  # fmt: skip
    for kind, value in {**strings, **lists, **objects}.items():
        for call in moves:
            with pytest.raises(TypeError, match=f"^content: {kind} {moved}"):
                call(value)
        with pytest.raises(TypeError, match=f"^content 1: {kind} {moved}"):
            upsweep.select(mask, x, value)
        for name, call in computes.items():
            with pytest.raises(TypeError, match=f"^{name}: {kind} {computed}$"):
                call(value)
        for name, call in counts.items():
            with pytest.raises(TypeError, match=f"^{name}: integers are needed, not {kind}"):
                call(value)
        if kind.startswith(("list", "an array")):
            with pytest.raises(
                TypeError, match="^keys: numbers, booleans, dates, times or text are needed, not (list|Python objects)"
            ):
                upsweep.group_by(value, x)
        with pytest.raises(TypeError, match=f"^mask: booleans are needed, not {kind}$"):
            upsweep.select(value, x)
    for made in (np.array([1, 2], "M8[s]"), np.array([1, 2], np.complex64), pa.array([1, 2]).cast(pa.decimal128(22, 2))):
        assert len(upsweep.select(mask, made)) == 1
    with pytest.raises(ValueError, match="^content: one dimension is needed, not 2"):
        upsweep.select(mask, np.ones((2, 2)))


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.arange(5)
    assert seen(x) == x.data_ptr()
    result = upsweep.cumulative_sum(x)
    assert isinstance(result, torch.Tensor) and result.tolist() == [0, 1, 3, 6, 10]
    out = torch.empty(5, dtype=torch.int64)
    assert upsweep.cumulative_sum(x, out=out) is out and out.tolist() == [0, 1, 3, 6, 10]
    with pytest.raises(TypeError, match="gradient"):
        upsweep.cumulative_sum(torch.ones(3, requires_grad=True))
    with pytest.raises(TypeError, match="bfloat16"):
        upsweep.cumulative_sum(torch.ones(3, dtype=torch.bfloat16))


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.device_put(jax.numpy.arange(5, dtype="int32"), jax.devices("cpu")[0])
    result = upsweep.cumulative_sum(x, dtype="int32")
    assert isinstance(result, jax.Array) and result.tolist() == [0, 1, 3, 6, 10]
    if not jax.config.jax_enable_x64:
        with pytest.raises(OverflowError, match="jax_enable_x64"):
            upsweep.cumulative_sum(jax.device_put(jax.numpy.full(3, 2**30, dtype="int32"), jax.devices("cpu")[0]))


def test_awkward_arrays_are_pointed_elsewhere():
    awkward = pytest.importorskip("awkward")
    lists = awkward.Array([[1, 2], [3]])
    for call in (upsweep.cumulative_sum, upsweep.segmented_reduce, upsweep.segmented_sort):
        with pytest.raises(TypeError, match="upsweep.awkward"):
            call(lists)


def test_memory_of_other_objects():
    buffer = (ctypes.c_double * 3)(1.0, 2.0, 3.0)
    view = np.ctypeslib.as_array(buffer)
    assert np.array_equal(upsweep.cumulative_sum(view, out=view), [1, 3, 6]) and buffer[2] == 6.0


def test_buffers_and_streams_of_arrow():
    assert upsweep.cumulative_sum(b"\x01\x02").tolist() == [1, 3]
    assert upsweep.cumulative_sum(bytearray(b"\x01\x02")).tolist() == [1, 3]
    assert upsweep.cumulative_sum((ctypes.c_int32 * 3)(1, 2, 3)).tolist() == [1, 3, 6]
    pa = pytest.importorskip("pyarrow")

    class Stream:
        def __init__(self, made):
            self.made = made

        def __arrow_c_stream__(self, requested_schema=None):
            return self.made.__arrow_c_stream__(requested_schema)

    assert upsweep.cumulative_sum(Stream(pa.chunked_array([[1], [2]]))).to_pylist() == [1, 3]
    with pytest.raises(TypeError, match="x: struct<a: int64> is not supported"):
        upsweep.cumulative_sum(Stream(pa.table({"a": [1]}).to_reader()))


# --------------------------------------------------------------------------- what is moved, and what is refused by name

MASK = np.array([True, False, True])


def moved(array):
    """Checks that the first and the last of three elements, selected, taken and packed, also in lists, are the same."""
    kept = upsweep.select(MASK, array)
    others = [
        upsweep.take(np.array([0, 2]), array),
        upsweep.partition(MASK, array)[1][:2],
        upsweep.pack((np.array([0, 2]), np.array([1, 3])), array)[1],
        upsweep.select(MASK, array, lists=np.array([0, 1, 3]))[1],
        upsweep.broadcast(kept, np.array([0, 1, 2])),
    ]
    assert all(type(each) is type(kept) and list(each) == list(kept) for each in others)
    assert list(upsweep.select(MASK, array, lists=np.array([0, 1, 3]))[0]) in ([0, 1, 2], [int_of(array, i) for i in range(3)])
    return kept


def int_of(array, i):
    """Offsets are returned in an array of the content's library, whose elements may be its own objects."""
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.scalar(i)


def test_types_of_arrow_that_numpy_does_not_have_are_moved():
    pyarrow = pytest.importorskip("pyarrow")
    from decimal import Decimal

    binary = pyarrow.array([b"a" * 16, b"b" * 16, b"c" * 16], pyarrow.binary(16))
    for array in (
        pyarrow.array([Decimal("1.5"), Decimal("-2.5"), Decimal("3.5")]),
        pyarrow.array([1, 2, 3], pyarrow.time32("s")),
        pyarrow.array([1000, 2000, 3000], pyarrow.time64("ns")),  # whole microseconds: Python supports no other times
        pyarrow.array([1, 2, 3], pyarrow.date32()),
        pyarrow.array([1, 2, 3], pyarrow.timestamp("us", "Europe/Paris")),
        pyarrow.array([(1, 2, 3), (4, 5, 6), (7, 8, 9)], pyarrow.month_day_nano_interval()),
        binary,
        pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), binary),
    ):
        longer = pyarrow.concat_arrays([array, array])[2:5]  # with an offset
        for given in (array, pyarrow.chunked_array([array[:1], array[1:]]), Capsules(array)):
            kept = moved(given)
            assert kept.type == array.type and kept.to_pylist() == [array[0].as_py(), array[2].as_py()]
        assert moved(longer).to_pylist() == [array[2].as_py(), array[1].as_py()]
        with pytest.raises(TypeError, match="^x: .* is not (supported|defined)"):
            upsweep.cumulative_sum(array)


def test_types_of_arrow_that_are_refused_by_name():
    pyarrow = pytest.importorskip("pyarrow")
    union = pyarrow.UnionArray.from_sparse(pyarrow.array([0], pyarrow.int8()), [pyarrow.array([1])])
    for array in (
        union,
        pyarrow.array([[1]]),
        pyarrow.array([{"a": 1}]),
        pyarrow.array(["a"], pyarrow.string_view()),
        pyarrow.array([1], pyarrow.decimal256(50, 2)),
        pyarrow.array(["a"]).dictionary_encode(),
    ):
        for call in (upsweep.cumulative_sum, lambda array: upsweep.select(np.array([True]), array)):
            with pytest.raises(
                TypeError,
                match=r"^(x|content): (sparse_union|list|struct|string_view|decimal256|dictionary)<?.* (is not|cannot be moved)",
            ):
                call(array)
    for array in (union, pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([2], pyarrow.int32()), pyarrow.array([5]))):
        with pytest.raises(
            TypeError, match="^lists: the positions of the lists are missing, and an array of .* is not an Arrow list array"
        ):
            upsweep.segmented_reduce(array)


def test_tables_where_content_is_needed():
    pyarrow, polars, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    for table in (pyarrow.table({"a": [1]}), polars.DataFrame({"a": [1]}), pandas.DataFrame({"a": [1]})):
        for call in (upsweep.segmented_reduce, upsweep.segmented_scan, upsweep.segmented_sort):
            with pytest.raises(TypeError, match="^content: .* is not an array: pass a column"):
                call(table, [0, 1])
    for table in (pyarrow.table({"a": [[1]]}), polars.DataFrame({"a": [[1]]})):
        with pytest.raises(TypeError, match="^content: .* is not an array: pass a column"):
            upsweep.segmented_reduce(table)


def test_lists_of_one_size_are_scanned():
    pyarrow = pytest.importorskip("pyarrow")
    pairs = pyarrow.array([[1, 2], None, [3, 4]], pyarrow.list_(pyarrow.int64(), 2))
    assert upsweep.segmented_scan(pairs).to_pylist() == [1, 3, 0, 0, 3, 7]
    assert upsweep.segmented_scan(pairs[2:]).to_pylist() == [3, 7]
    assert upsweep.segmented_sort(pairs[2:], descending=True).to_pylist() == [4, 3]
    assert upsweep.segmented_reduce(pairs).to_pylist() == [3, 0, 7]
    nothing = pyarrow.array([[], []], pyarrow.list_(pyarrow.int64(), 0))
    assert upsweep.segmented_reduce(nothing).to_pylist() == [0, 0]
    polars = pytest.importorskip("polars")
    arrays = polars.Series([[1, 2], [3, None]], dtype=polars.Array(polars.Int64, 2))
    assert upsweep.segmented_scan(arrays).to_pylist() == [1, 3, 3, 3]


def test_list_views_are_scanned_as_lists():
    pyarrow = pytest.importorskip("pyarrow")
    indices = pyarrow.array([2, 0], pyarrow.int32()), pyarrow.array([2, 2], pyarrow.int32())
    view = pyarrow.ListViewArray.from_arrays(*indices, pyarrow.array([1, 2, 3, 4]))
    with pytest.raises(
        NotImplementedError, match="^content: the lists of a list view may overlap, .* pack them first"
    ) as caught:
        upsweep.segmented_scan(view)
    import pyarrow.compute

    names = {"upsweep": upsweep, "pyarrow": pyarrow, "x": view}
    offsets, content = eval(str(caught.value).split("content = ")[1], names)  # as the message says
    assert upsweep.segmented_scan(content, offsets).to_pylist() == [3, 7, 1, 3]


def test_types_of_polars():
    polars = pytest.importorskip("polars")
    import datetime
    from decimal import Decimal

    for values in ([Decimal("1.5"), Decimal("2.5"), Decimal("3.5")], [datetime.time(1), datetime.time(2), datetime.time(3)]):
        series = polars.Series("s", values)
        kept = moved(series)
        assert kept.dtype == series.dtype and kept.name == "s" and kept.to_list() == [values[0], values[2]]
        with pytest.raises(TypeError, match="^x: (Decimal.* is not supported|add is not defined for Time)"):
            upsweep.cumulative_sum(series)
    arrays = polars.Series([[[1, 2], [3, 4]], [[5, 6], [7, None]]], dtype=polars.Array(polars.Int64, (2, 2)))
    with pytest.raises(ValueError, match="^x: element 1, 1 of row 1 is null"):
        upsweep.cumulative_sum(arrays, axis=0)
    assert upsweep.cumulative_sum(arrays[:1], axis=1).to_list() == [[[1, 2], [4, 6]]]
    with pytest.raises(
        TypeError, match=r"^x: Struct.* is not an array of numbers: pass a field, such as x.struct.field\('a'\)"
    ):
        upsweep.reduce(polars.Series([{"a": 1, "b": 10}]))
    for series in (
        polars.Series([1], dtype=polars.Int128),
        polars.Series(["a"], dtype=polars.Categorical),
        polars.Series([object()]),
    ):
        with pytest.raises(TypeError, match="^x: (Int128|Categorical|Object).* is not supported"):
            upsweep.reduce(series)
    with pytest.raises(TypeError, match="^content: Int128 is not supported"):
        upsweep.segmented_reduce(polars.Series([1, None], dtype=polars.Int128), 1)


def test_types_of_pandas():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    from decimal import Decimal

    times = pandas.Series(pandas.date_range("2020", periods=3, tz="Europe/Paris"), name="t")
    decimals = pandas.Series(
        [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")], dtype=pandas.ArrowDtype(pyarrow.decimal128(5, 2))
    )
    for series in (times, decimals):
        kept = moved(series)
        assert kept.dtype == series.dtype and list(kept) == [series[0], series[2]]
        with pytest.raises(TypeError, match="^x: .* is not (supported|defined)"):
            upsweep.cumulative_sum(series)


def test_types_of_results_by_their_own_names():
    single = np.ones(2, np.float32)
    for dtype in ("float32", np.float32, np.dtype(np.float32), np.dtype(">f4")):
        assert upsweep.reduce(single, dtype=dtype).dtype == np.float32
    for dtype in (float, "float", np.float64):
        assert upsweep.reduce(single, dtype=dtype).dtype == np.float64
    for library, names in (("pyarrow", ("float32", "float64")), ("polars", ("Float32", "Float64"))):
        module = pytest.importorskip(library)
        for name, right in zip(names, (np.float32, np.float64)):
            dtype = getattr(module, name)
            assert upsweep.reduce(single, dtype=dtype() if library == "pyarrow" else dtype).dtype == right
    pandas = pytest.importorskip("pandas")
    assert upsweep.reduce(np.ones(2, np.int8), dtype=pandas.Int32Dtype()).dtype == np.int32
    for dtype in ({}, 5, object(), "x,y", bool, np.complex128):
        with pytest.raises(TypeError, match="^dtype: .* is not supported"):
            upsweep.reduce(single, dtype=dtype)


def test_any_byte_that_is_not_0_is_true():
    odd = np.array([1, 2, 0, 255], np.uint8).view(np.bool_)
    x = np.arange(4)
    assert upsweep.cumulative_sum(odd).tolist() == [1, 2, 2, 3] and upsweep.reduce(odd) == 3
    assert upsweep.reduce(odd[:2], op="and") == np.True_ and upsweep.scan(odd, op="xor").tolist() == [True, False, False, True]
    assert upsweep.cumulative_sum(odd.reshape(2, 2), axis=0).tolist() == [[1, 1], [1, 2]]
    assert upsweep.cumulative_sum(odd, include_initial=True).tolist() == [0, 1, 2, 2, 3]
    assert upsweep.segmented_reduce(odd, [0, 4]).tolist() == [3] and upsweep.segmented_scan(odd, [0, 4]).tolist() == [
        1,
        2,
        2,
        3,
    ]
    assert upsweep.segmented_sort(odd, [0, 4]).view(np.uint8).tolist() == [0, 1, 1, 1]
    for keys, values in (upsweep.reduce_by_key(odd[:2], x[:2]), upsweep.group_by(odd[:2], x[:2])):
        assert keys.tolist() == [True] and values.tolist() == [1]
    assert upsweep.scan_by_key(odd[:2], odd[:2]).tolist() == [1, 2]
    assert upsweep.select(odd, x).tolist() == [0, 1, 3] and upsweep.segmented_reduce(x, [0, 4], valid=odd).tolist() == [4]
    assert upsweep.select(x < 2, odd[:4]).view(np.uint8).tolist() == [1, 2]  # it is passed on unchanged
    pyarrow = pytest.importorskip("pyarrow")
    bytes_ = pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), pyarrow.array([1, 0, 2], pyarrow.int8()))
    assert upsweep.cumulative_sum(bytes_).to_pylist() == [1, 1, 2]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64"])
def test_booleans_fit_every_integer_type(dtype):
    x, keys = np.array([True, False]), np.array([1, 1])
    for op in ("min", "max"):
        right = int(op == "max")
        one = {"op": op, "dtype": dtype}
        for result in (
            upsweep.reduce(x, **one),
            upsweep.reduce(x.reshape(2, 1), axis=0, **one),
            upsweep.segmented_reduce(x, [0, 2], **one),
            upsweep.scan(x, **one)[1:],
            upsweep.scan(x.reshape(2, 1), axis=0, **one)[1:],
            upsweep.segmented_scan(x, [0, 2], **one)[1:],
            upsweep.reduce_by_key(keys, x, **one)[1],
            upsweep.scan_by_key(keys, x, **one)[1:],
            upsweep.group_by(keys, x, **one)[1],
        ):
            assert result.dtype == dtype and result == right


def test_integers_of_lists_stay_integers():
    for value in ([2**63, 1], (2**63, 1), [[2**63], [1]], [True, 2**63], [np.uint64(2**63), 1], 2**63, range(2**63, 2**63 + 1)):
        assert upsweep.reduce(value, overflow="wrap").dtype == np.uint64
    assert upsweep.cumulative_sum([2**63, 1]).tolist() == [2**63, 2**63 + 1]
    assert upsweep.reduce([2**63, 1.5]).dtype == np.float64  # one of them is a float
    for value in ([2**64, 1], [-1, 2**63], 2**64, [[-(2**70)]]):
        with pytest.raises(OverflowError, match="^x: integers from .* fit neither int64 nor uint64"):
            upsweep.reduce(value)


def test_objects_that_are_no_numbers():
    from decimal import Decimal

    with pytest.raises(TypeError, match=r"^x: an array of Python objects \(Decimal\) is not supported"):
        upsweep.reduce([Decimal("0.1")])

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("ragged")

    with pytest.raises(TypeError, match=r"^x: cannot convert this test_libraries\.\S*Broken to an array: ragged"):
        upsweep.reduce(Broken())
    assert upsweep.select([], []).tolist() == []
    assert upsweep.segmented_reduce([], [0, 0], valid=[]).tolist() == [0]


def test_elements_of_out_that_overlap():
    strided = np.lib.stride_tricks.as_strided
    x = np.arange(3)
    for out in (strided(np.zeros(1, np.int64), (3,), (0,)), strided(np.zeros(3, np.int64), (3,), (4,))):
        for function, given in (
            (upsweep.cumulative_sum, (x,)),
            (upsweep.segmented_scan, (x, [0, 3])),
            (upsweep.select, (x < 5, x)),
            (upsweep.lengths_to_offsets, (x[:2],)),
        ):
            with pytest.raises(ValueError, match="^out: its elements overlap"):
                function(*given, out=out)
    square = strided(np.zeros(9, np.int64), (3, 2), (8, 8))
    with pytest.raises(ValueError, match="^out: its elements overlap"):
        upsweep.cumulative_sum(np.ones((3, 2), np.int64), axis=0, out=square)
    out = np.zeros((4, 6), np.int64).T[::-1, ::2]  # strided, and not overlapping
    assert upsweep.cumulative_sum(np.ones((6, 2), np.int64), axis=0, out=out) is out and out[5, 1] == 6


def test_results_shorter_than_out_are_of_its_library():
    x = np.arange(3)
    for out in (np.zeros(5, np.int64), np.zeros(10, np.int64)[::2]):
        kept = upsweep.select(MASK, x, out=out)
        assert kept.tolist() == [0, 2] == out[:2].tolist() and np.shares_memory(kept, out)
    assert upsweep.select(MASK, x.astype(np.uint8), out=bytearray(5)).tolist() == [0, 2]
    torch = pytest.importorskip("torch")
    for out in (torch.zeros(5, dtype=torch.int64), torch.zeros(10, dtype=torch.int64)[::2]):
        for kept in (
            upsweep.select(MASK, torch.arange(3), out=out),
            upsweep.group_by([0, 0, 2], torch.arange(3), out=(None, out))[1],
        ):
            assert isinstance(kept, torch.Tensor) and len(kept) == 2 and kept.data_ptr() == out.data_ptr()


def test_tensors_of_types_that_numpy_does_not_have():
    torch = pytest.importorskip("torch")
    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.complex32, torch.float16):
        x = torch.tensor([1.0, 2.0, 4.0]).to(dtype)
        kept = upsweep.select(MASK, x)
        assert kept.dtype == dtype and torch.equal(kept.float().real, torch.tensor([1.0, 4.0]))
        offsets, kept = upsweep.select(MASK, x, lists=torch.tensor([0, 1, 3]))
        assert offsets.tolist() == [0, 1, 2] and kept.dtype == dtype
        out = torch.zeros(3).to(dtype)
        assert upsweep.take(torch.tensor([2, 0, 1]), x, out=out) is out and out.float().real.tolist() == [4.0, 1.0, 2.0]
        assert upsweep.broadcast(x, torch.tensor([0, 1, 1, 2]), out=x[:2]).float().real.tolist() == [1.0, 4.0]
        with pytest.raises(TypeError, match=f"^x: {str(dtype)[6:]} is not supported"):
            upsweep.cumulative_sum(x)


def test_tensors_that_are_more_than_their_memory():
    torch = pytest.importorskip("torch")
    from torch.autograd import forward_ad
    from torch.func import functionalize, grad, jvp

    class Sub(torch.Tensor):
        pass

    x = torch.ones(3)
    assert isinstance(upsweep.cumulative_sum(x.as_subclass(Sub)), torch.Tensor)
    assert upsweep.cumulative_sum(torch.tensor([1 + 2j, 3 + 4j]).conj().imag).tolist() == [-2.0, -6.0]
    with forward_ad.dual_level(), pytest.raises(TypeError, match="forward gradient"):
        upsweep.cumulative_sum(forward_ad.make_dual(x, x))
    for call in (
        lambda: jvp(upsweep.cumulative_sum, (x,), (x,)),
        lambda: grad(upsweep.reduce)(x),
        lambda: functionalize(upsweep.cumulative_sum)(x),
        lambda: torch.vmap(upsweep.cumulative_sum)(torch.ones(2, 3)),
        lambda: upsweep.cumulative_sum(torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)),
        lambda: upsweep.cumulative_sum(torch.nested.nested_tensor([x, x])),
        lambda: upsweep.cumulative_sum(x, out=torch.tensor([1 + 2j] * 3, dtype=torch.complex64).conj().imag),
        lambda: upsweep.cumulative_sum(torch.float32),
    ):
        with pytest.raises(TypeError, match="^(x|out): "):
            call()
    with pytest.raises(ValueError, match="^out: its elements overlap"):
        upsweep.cumulative_sum(x, out=torch.zeros(1).expand(3))


def test_jax_while_it_traces_and_types_of_its_own():
    jax = pytest.importorskip("jax")
    for call in (jax.jit(upsweep.reduce), jax.grad(upsweep.reduce), jax.vmap(lambda x: upsweep.select(MASK, x))):
        with pytest.raises(TypeError, match="^(x|content): an array that JAX is tracing .* outside of jax.jit"):
            call(jax.numpy.ones((3,) if call is not None else 3) if "vmap" not in repr(call) else jax.numpy.ones((2, 3)))
    for dtype in (jax.numpy.bfloat16, jax.numpy.float8_e4m3fn):
        kept = upsweep.select(MASK, jax.numpy.array([1, 2, 4], dtype))
        assert isinstance(kept, jax.Array) and kept.dtype == dtype and kept.astype("float32").tolist() == [1.0, 4.0]
        with pytest.raises(TypeError, match="^x: (bfloat16|float8_e4m3fn) is not supported"):
            upsweep.reduce(jax.numpy.ones(3, dtype))
    with pytest.raises(TypeError, match="^x: key<.*> is not supported"):
        upsweep.reduce(jax.random.key(0))


def test_xarray():
    xarray = pytest.importorskip("xarray")
    assert upsweep.reduce(xarray.DataArray(np.ones(3), name="q")) == 3.0
    assert upsweep.cumulative_sum(xarray.DataArray(np.ones((2, 3))), axis=1).tolist() == [[1.0, 2.0, 3.0]] * 2
    with pytest.raises(TypeError, match="^x: xarray's Dataset is not an array: pass one of its variables"):
        upsweep.reduce(xarray.Dataset({"a": ("t", np.ones(3))}))


def test_more_elements_than_memory():
    for lists in (2**45, 2**62, 2**63 - 1):
        for parents in ([0], np.array([0])):
            with pytest.raises(MemoryError):
                upsweep.parents_to_offsets(parents, lists)
