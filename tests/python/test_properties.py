# SPDX-License-Identifier: Apache-2.0
# tests/python/test_properties.py: arrays of any shape, strides, byte order and alignment: results must equal NumPy's.
import numpy as np
import pytest
import upsweep

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
FUNCTIONS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
IDENTITIES = {"add": 0, "mul": 1}


def laid_out(draw, shape, dtype):
    """Makes an uninitialized array of this shape and type, in one of many memory layouts."""
    steps = draw(st.tuples(*[st.sampled_from([1, 1, 2, -1, -3]) for _ in shape]))
    order = draw(st.permutations(range(len(shape))))
    extents = [n * abs(step) for n, step in zip(shape, steps)]
    size = int(np.prod(extents)) * np.dtype(dtype).itemsize
    shift = draw(st.sampled_from([0, 0, 1, 8]))  # 1: not aligned
    memory = np.zeros(size + shift, np.uint8)[shift:].view(dtype)
    inner = memory.reshape([extents[axis] for axis in order]).transpose(np.argsort(order))
    return inner[tuple(slice(None, None, step) for step in steps)]


@st.composite
def arrays(draw, dtypes=(*NUMBERS, "bool")):
    shape = draw(st.lists(st.integers(0, 7), max_size=2))
    shape.insert(draw(st.integers(0, len(shape))), draw(st.integers(0, 300)))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    x = laid_out(draw, tuple(shape), dtype.newbyteorder(draw(st.sampled_from("=>"))))
    values = draw(st.sampled_from([(0, 1, 2, 3), (1, 2)]))  # sums and products of floats are exact
    x[...] = np.random.default_rng(draw(st.integers(0, 99))).choice(values, x.shape)
    x.flags.writeable = draw(st.booleans())
    return x


def native(x):
    return x.astype(x.dtype.newbyteorder("="))


def equal(result, expected):
    assert type(result) is np.ndarray and result.dtype == expected.dtype and result.shape == expected.shape
    assert np.array_equal(result, expected)


@given(arrays(), st.sampled_from([upsweep.cumulative_sum, upsweep.cumulative_prod]), st.booleans(), st.data())
def test_cumulative_sums_and_products(x, function, include_initial, data):
    expected_of = np.cumulative_sum if function is upsweep.cumulative_sum else np.cumulative_prod
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    with np.errstate(over="ignore"):
        expected = expected_of(native(x), axis=axis, include_initial=include_initial)
    equal(function(x, axis=axis, include_initial=include_initial, overflow="wrap"), expected)
    out = laid_out(data.draw, expected.shape, expected.dtype)
    assert function(x, axis=axis, include_initial=include_initial, overflow="wrap", out=out) is out
    equal(out, expected)


@given(arrays(NUMBERS), st.sampled_from(list(FUNCTIONS)), st.data())
def test_scans_and_reductions(x, op, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    function, values = FUNCTIONS[op], native(x)
    dtype = upsweep._scan.default_type(values.dtype.name, op)
    with np.errstate(over="ignore"):
        inclusive = function.accumulate(values, axis=axis, dtype=dtype)
        equal(upsweep.scan(x, op=op, axis=axis, overflow="wrap"), inclusive)
        initial = data.draw(st.sampled_from([0, 1, 3]))
        folded = function.reduce(values, axis=axis, dtype=dtype, initial=initial)
        equal(upsweep.reduce(x, op=op, axis=axis, initial=initial, overflow="wrap"), np.asarray(folded))
        rows = np.moveaxis(values, axis, 0).astype(dtype)
        first = np.full((1, *rows.shape[1:]), initial, dtype)
        begun = function.accumulate(np.concatenate([first, rows]), dtype=dtype)
        before = np.moveaxis(begun[:-1], 0, axis)
    equal(upsweep.scan(x, op=op, axis=axis, exclusive=True, initial=initial, overflow="wrap"), before)


@given(arrays(["int64", "float64"]), st.integers(-3, 3), st.data())
def test_outputs_that_overlap_the_input(x, shift, data):
    """The input is an earlier or later part of the memory that the result is written to."""
    length = x.size
    memory = np.zeros(length + 6, x.dtype.newbyteorder("="))
    source, out = memory[3 : 3 + length], memory[3 + shift : 3 + shift + length]
    source[...] = x.reshape(-1)
    if data.draw(st.booleans()):
        source, out = source[::-1], out[::-1]
    expected = np.cumsum(source)
    assert upsweep.cumulative_sum(source, out=out) is out
    equal(out, expected)


@given(arrays(["int8", "uint16", "int64"]), st.data())
def test_an_overflow_is_found_where_it_is(x, data):
    dtype = data.draw(st.sampled_from(["int8", "uint8"]))
    flat = np.abs(native(x).reshape(-1).astype("int64"))
    sums = np.cumsum(flat)
    beyond = np.flatnonzero(sums > np.iinfo(dtype).max)
    if len(beyond) == 0:
        equal(upsweep.cumulative_sum(flat.astype(dtype), dtype=dtype), sums.astype(dtype))
        return
    with pytest.raises(OverflowError) as raised:
        upsweep.cumulative_sum(flat.astype(dtype), dtype=dtype)
    assert raised.value.index == beyond[0]
