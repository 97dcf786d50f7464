# SPDX-License-Identifier: Apache-2.0
# bench/analyses/results.py: comparisons of two results of an analysis.
import awkward as ak
import numpy as np

# Values at the edges of bins may be in another bin if functions round differently: at most one in this number.
MOVED_OF = 10_000
# Fused functions round differently. Differences of almost equal numbers amplify this.
ROUNDING = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-4}


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


def with_other_values(expected, results):
    """Returns the names of the results that differ by more than rounding."""
    assert list(expected) == list(results)
    return [name for name, x in expected.items() if not close(x, results[name])]


def close(x, y):
    if isinstance(x, np.ndarray):
        # A value that moves changes two bins.
        return x.shape == y.shape and np.abs(x - y).sum() / 2 * MOVED_OF <= np.abs(x).sum()
    if x.type != y.type:
        return False
    numbers = [list(ak.to_buffers(ak.to_packed(each))[2].values()) for each in (x, y)]
    return all(close_numbers(*each) for each in zip(*numbers, strict=True))


def close_numbers(x, y):
    """Whether integers are equal, and at most one float in a thousand, or one, differs by more than rounding."""
    if x.dtype not in ROUNDING:
        return np.array_equal(x, y)
    return x.shape == y.shape and np.sum(~np.isclose(x, y, ROUNDING[x.dtype], 0, True)) <= 1 + len(x) // 1000
