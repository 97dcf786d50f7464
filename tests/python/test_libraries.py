# SPDX-License-Identifier: Apache-2.0
# tests/python/test_libraries.py: arrays of other libraries, without a copy on the way in, and of the same library on the way out.
import ctypes

import numpy as np
import pytest
import upsweep
from upsweep import _arrays


def seen(value):
    """Where upsweep finds the elements."""
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
    with pytest.raises(ValueError, match="1 nulls"):
        upsweep.cumulative_sum(pyarrow.array([1, None]))


class Capsules:
    """An array of a library that upsweep does not know."""

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
    with pytest.raises(ValueError, match="1 nulls"):
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
    with pytest.raises(TypeError, match="where the lists lie"):
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
        with pytest.raises(ValueError, match="1 nulls"):
            upsweep.cumulative_sum(pandas.Series([1, None], dtype=dtype))
    with pytest.raises(TypeError, match="pandas's DataFrame is no array: give a column"):
        upsweep.cumulative_sum(pandas.DataFrame({"x": [1, 2]}), axis=0)


def test_tables_of_arrow_and_polars_are_refused():
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for table in (pyarrow.table({"x": [1]}), polars.DataFrame({"x": [1]}), polars.LazyFrame({"x": [1]}), pyarrow.scalar(1)):
        with pytest.raises(TypeError, match="is no array: give a column"):
            upsweep.cumulative_sum(table)


class OnDlpack:
    """An array known by DLPack alone."""

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

    with pytest.raises(TypeError, match=r"x: its __dlpack__\(\) gives no array: boom") as raised:
        upsweep.cumulative_sum(with_method("__dlpack__", fails))
    assert raised.value.__cause__ is boom
    for method in ("__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_stream__"):
        for result in (None, (None, None), 7):
            broken = with_method(method, lambda self, requested_schema=None, result=result: result)
            with pytest.raises(TypeError, match=rf"x: its {method}\(\) gives no array of Arrow's") as raised:
                upsweep.cumulative_sum(broken)
            assert raised.value.__cause__ is not None


def test_text_is_called_text():
    for text, size in ((np.array([b"abc"]), 3), (np.array(["abc"]), 12)):
        with pytest.raises(TypeError, match=f"16 bytes are moved, not text of {size} bytes"):
            upsweep.select(np.array([True]), text)
        with pytest.raises(TypeError, match="indices: .* not text"):
            upsweep.take(text, np.arange(3))
        with pytest.raises(TypeError, match="booleans are needed, not text"):
            upsweep.select(text, np.arange(1))


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
