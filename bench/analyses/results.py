# SPDX-License-Identifier: Apache-2.0
# bench/analyses/results.py: comparisons of two results of an analysis.
import awkward as ak
import numpy as np

# Values at the edges of bins may be in another bin if functions round differently: at most one in this number.
MOVED_OF = 10_000


def bits(x):
    """The layout, the type and the bytes of an array. They are equal if and only if the arrays have equal bits."""
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.tobytes()
    form, length, buffers = ak.to_buffers(ak.to_packed(x))
    return x.layout.form, form, length, {name: (buffer.dtype, buffer.tobytes()) for name, buffer in buffers.items()}


def with_other_bits(expected, results):
    """Returns the names of the results that differ in a bit, in their type or in their layout."""
    assert list(expected) == list(results)
    return [name for name, x in expected.items() if type(x) is not type(results[name]) or bits(x) != bits(results[name])]


def with_other_values(expected, results, rtol=1e-9):
    """Returns the names of the results that differ by more than rounding."""
    assert list(expected) == list(results)
    return [name for name, x in expected.items() if not close(x, results[name], rtol)]


def close(x, y, rtol):
    if isinstance(x, np.ndarray):
        return x.shape == y.shape and np.abs(x - y).sum() * MOVED_OF <= np.abs(x).sum()
    if x.type != y.type:
        return False
    buffers = [[numbers for _, numbers in ak.to_buffers(ak.to_packed(each))[2].items()] for each in (x, y)]
    return all(close_numbers(*each, rtol) for each in zip(*buffers, strict=True))


def close_numbers(x, y, rtol):
    """Integers are equal. Differences of almost equal numbers may have lost more digits: at most one in MOVED_OF."""
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    rtol = max(rtol, 1e3 * np.finfo(x.dtype).eps)
    return x.shape == y.shape and np.sum(~np.isclose(x, y, rtol=rtol, atol=0, equal_nan=True)) * MOVED_OF <= len(x)
