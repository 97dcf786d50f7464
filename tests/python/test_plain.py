# SPDX-License-Identifier: Apache-2.0
# tests/python/test_plain.py: calls that C++ handles completely must give the same results and errors as the functions
# in Python.
import copy
import inspect
import pickle
import random
import sys
import weakref

import numpy as np
import pytest
import upsweep
from upsweep import _core

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
OPERATORS = list(_core.OPERATORS)
REDUCERS = ["any", "all", "count", "count_nonzero", "argmin", "argmax"]
PLAIN = [getattr(upsweep, name) for name in upsweep.__all__ if hasattr(getattr(upsweep, name), "__wrapped__")]
LENGTHS = [0, 1, 2, 10, 63, 1000, 5000]


def in_python(*arguments, **named):
    raise AssertionError("this call is plain")


def alone(function):
    """Returns the function's plain case, without the general case after it."""

    def general(*arguments, **named):
        return in_python(*arguments, **named)

    general.__name__ = function.__name__
    return _core.plain(general)


def outcome(function, arguments, named):
    """Returns the result, or the error, in a form that can be compared."""
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments, **named)
    except (ValueError, TypeError, OverflowError, IndexError, NotImplementedError, MemoryError) as error:
        return type(error), str(error), getattr(error, "index", None)
    results = result if isinstance(result, tuple) else (result,)
    return [(type(each), np.asarray(each).dtype, np.asarray(each).tobytes()) for each in results]


def require_same(function, *arguments, is_plain=True, **named):
    expected = outcome(function.__wrapped__, arguments, named)
    assert outcome(function, arguments, named) == expected, (function.__name__, arguments, named)
    if is_plain:
        assert outcome(alone(function), arguments, named) == expected


def numbers(dtype, n, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n).astype(dtype)


def bounds(n, dtype="int64"):
    return np.sort(np.random.default_rng(2).integers(0, n + 1, 9)).astype(dtype)


def covering(n, dtype="int64"):
    return np.concatenate([[0], bounds(n, dtype), [n]]).astype(dtype)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_folds(dtype, n):
    x, keys = numbers(dtype, n), np.sort(numbers(dtype, n, 2))
    names = OPERATORS if dtype[0] != "f" else OPERATORS[:4]
    for function in (upsweep.cumulative_sum, upsweep.cumulative_prod):
        require_same(function, x)
    for op in names:
        for shape in ((n,), (n, 1), (1, n, 1)):
            require_same(upsweep.reduce, x.reshape(shape), op=op, is_plain=n > 0)
        require_same(upsweep.segmented_reduce, x, covering(n), op=op)
        require_same(upsweep.reduce_by_key, keys, x, op=op)
        require_same(upsweep.group_by, keys, x, op=op, is_plain=dtype[0] != "f")
        for exclusive in (False, True):
            require_same(upsweep.scan, x, op=op, exclusive=exclusive)
            require_same(upsweep.segmented_scan, x, covering(n), op=op, exclusive=exclusive)
            require_same(upsweep.scan_by_key, keys, x, op=op, exclusive=exclusive)
    for op in REDUCERS:
        require_same(upsweep.segmented_reduce, x, bounds(n), op=op)
    for function in (upsweep.segmented_sort, upsweep.segmented_argsort):
        require_same(function, x, covering(n))
        require_same(function, x, bounds(n))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool", "complex128", "M8[s]", "float16"])
def test_moves(dtype, n):
    x, more = numbers("int64", n).astype(dtype), numbers("int8", n)
    mask = numbers("int64", n) > 1
    starts, stops = bounds(n)[:-1], bounds(n)[1:]
    at = np.arange(n)[::-1].astype("int32")
    for contents in ((x,), (x, more)):
        for each in (mask, mask.view(np.uint8), mask.view(np.int8)):
            require_same(upsweep.select, each, *contents)
            require_same(upsweep.partition, each, *contents)
        require_same(upsweep.select, mask, *contents, lists=covering(n))
        require_same(upsweep.select, mask, *contents, lists=(starts, stops))
        require_same(upsweep.take, at, *contents)
        require_same(upsweep.pack, (starts, stops), *contents)
        require_same(upsweep.pack, covering(n), *contents)
    require_same(upsweep.broadcast, numbers("int64", 8).astype(dtype), bounds(n))


@pytest.mark.parametrize("function", [upsweep.segmented_sort, upsweep.segmented_argsort])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_sorts_of_lists_anywhere(dtype, n, function):
    x = numbers(dtype, n)
    kind = dtype if dtype in ("int32", "uint32") else "int64"
    starts = np.array([n // 2, n, n // 8, n // 4, 0], kind)
    stops = np.array([n - n // 8, n, n // 4, n // 4, 0], kind)
    for named in ({}, {"descending": True}, {"nan_first": True}):
        require_same(function, x, (starts, stops), **named)
    require_same(function, x > 1, (starts, stops))
    require_same(function, x[:0], (starts[:0], stops[:0]))
    if n >= 10:
        require_same(function, x, (starts, stops + (stops < n).astype(kind)), is_plain=False)
        require_same(function, x, (stops, starts), is_plain=False)
        require_same(function, x, (starts, stops + n), is_plain=False)
        require_same(function, x.copy(), (starts, stops), out=x, is_plain=function is upsweep.segmented_sort)


def test_subset_sums():
    items, plain = np.array([3, 34, 4, 12, 5, 2, 9, 7, 8, 1]), alone(upsweep.subset_sum)
    for target in (0, 1, 9, 40, 85, 86, 1000, 10**6, 2**63 - 1):
        for named in ({}, {"witness": False}, {"witness": True, "below": 3}, {"above": 5}, {"ways": None}):
            require_same(upsweep.subset_sum, items, target, **named)
        require_same(upsweep.subset_sum, items.astype("uint8"), target)
        require_same(upsweep.subset_sum, items.tolist(), target)
        require_same(upsweep.subset_sum, np.arange(1, 5001, dtype="int32"), target)
    assert type(plain(items, 9)) is type(upsweep.subset_sum.__wrapped__(items, 9)) is type(upsweep.subset_sum(items, 9))
    for ways in (1, 3, 100):
        expected = upsweep.subset_sum.__wrapped__(items, 20, ways=ways)
        for found in (plain(items, 20, ways=ways), upsweep.subset_sum(items, 20, ways=ways)):
            assert [(each.dtype, each.tolist()) for each in found] == [(each.dtype, each.tolist()) for each in expected]
    for given in ([], items * 0.5, items > 3, items.astype("uint64"), items - 1, np.full(3, 2**62), items.reshape(2, 5), "x"):
        require_same(upsweep.subset_sum, given, 2**63 - 1, is_plain=False)
    for target in (-1, 2**63, 1.5, True, None, "x"):
        require_same(upsweep.subset_sum, items, target, is_plain=False)
    for named in ({"ways": 0}, {"ways": 2, "below": 1}, {"below": -1}, {"above": 2**63}, {"witness": "no"}, {"device": -1}):
        require_same(upsweep.subset_sum, items, 9, is_plain=False, **named)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_bounds(dtype, n):
    offsets = bounds(n, dtype)
    require_same(upsweep.offsets, offsets[:-1].copy(), offsets[1:].copy())
    require_same(upsweep.lengths_to_offsets, np.diff(offsets))
    require_same(upsweep.offsets_to_parents, offsets)
    require_same(upsweep.local_index, offsets)
    require_same(upsweep.parents_to_offsets, np.sort(numbers(dtype, n)), 4)
    require_same(upsweep.flatten, np.array([0, 3, 8], dtype), offsets)
    require_same(upsweep.segmented_reduce, np.ones(n), offsets)


@pytest.mark.parametrize("n", LENGTHS)
def test_booleans(n):
    require_same(upsweep.reduce, np.array(True))
    x = numbers("int8", n) > 1
    require_same(upsweep.cumulative_sum, x)
    require_same(upsweep.reduce, x, is_plain=n > 0)
    for op in ["add", *REDUCERS]:
        require_same(upsweep.segmented_reduce, x, bounds(n), op=op)
    for exclusive in (False, True):
        require_same(upsweep.scan, x, exclusive=exclusive)
        require_same(upsweep.segmented_scan, x, covering(n), exclusive=exclusive)
    for op in OPERATORS[1:]:
        require_same(upsweep.reduce, x, op=op, is_plain=n > 0)
        require_same(upsweep.scan, x, op=op)
        require_same(upsweep.scan, x, op=op, exclusive=True)
        require_same(upsweep.scan, x, op=op, initial=True)
        require_same(upsweep.segmented_reduce, x, bounds(n), op=op)
        require_same(upsweep.segmented_scan, x, covering(n), op=op, exclusive=True)
        require_same(upsweep.scan_by_key, x, x, op=op)
        require_same(upsweep.reduce_by_key, x, x, op=op)
        require_same(upsweep.group_by, x, x, op=op)
    require_same(upsweep.scan, x[:100], dtype="int8")
    require_same(upsweep.segmented_sort, x, covering(n))
    require_same(upsweep.cumulative_sum, (x * np.uint8(2)).view(np.bool_), is_plain=False)


@pytest.mark.parametrize("size", [1, 2, 5, 10, -1, 0, 3, 2**70, True])
def test_lists_of_one_size(size):
    x, mask, is_plain = np.arange(10.0), np.arange(10) % 3 == 0, size in (1, 2, 5, 10) and size is not True
    for function in (upsweep.segmented_reduce, upsweep.segmented_scan, upsweep.segmented_sort, upsweep.segmented_argsort):
        require_same(function, x, size, is_plain=is_plain)
    require_same(upsweep.select, mask, x, lists=size, is_plain=is_plain)
    require_same(upsweep.pack, size, x, is_plain=is_plain)


def test_errors():
    """Errors come from the functions in Python, which are called again."""
    x, full = np.arange(10), np.full(3, 2**62)
    back, keys, two = np.array([0, 5, 3]), np.array([1, 2, 2]), np.array([0, 1, 3])

    def require_error(function, *arguments, **named):
        assert isinstance(outcome(function, arguments, named), tuple)
        require_same(function, *arguments, is_plain=False, **named)

    for function in (upsweep.cumulative_sum, upsweep.scan, upsweep.reduce):
        require_error(function, full)
        require_error(function, np.stack([x[:3], full]), axis=1)
        require_error(function, np.stack([full, full, full]), axis=0)
    require_error(upsweep.cumulative_sum, full, include_initial=True)
    require_error(upsweep.segmented_reduce, full, two)
    require_error(upsweep.segmented_scan, full, two)
    for function in (upsweep.reduce_by_key, upsweep.scan_by_key, upsweep.group_by):
        require_error(function, keys, full)
        require_error(function, keys, full[:2])
    for function in (upsweep.segmented_reduce, upsweep.segmented_scan, upsweep.segmented_sort, upsweep.segmented_argsort):
        require_error(function, x, back)
        require_error(function, x, np.array([0, 11]))
    require_error(upsweep.segmented_scan, x, (back, back))
    require_error(upsweep.select, x > 3, x[:5])
    require_error(upsweep.select, x > 3, x, lists=back)
    require_error(upsweep.select, x > 3, x, out=np.empty(5, np.int64))
    require_error(upsweep.partition, x > 3, x[:5])
    require_error(upsweep.take, np.array([3, 10]), x)
    require_error(upsweep.take, np.array([1]), x, lists=np.array([0, 1]), index_lists=np.array([0, 1]))
    require_error(upsweep.pack, back, x)
    require_error(upsweep.offsets, np.array([0, 5]), np.array([2, 3]))
    require_error(upsweep.offsets, np.array([-1]), np.array([2]), strict=True)
    require_error(upsweep.lengths_to_offsets, np.array([2, -1]))
    require_error(upsweep.broadcast, x, np.array([0, 3]))
    require_error(upsweep.parents_to_offsets, np.array([0, 5]), 3)
    require_error(upsweep.flatten, np.array([0, 9]), np.array([0, 3]))
    require_error(upsweep.combinations, back)
    require_error(upsweep.combinations, two, 0)
    require_error(upsweep.cartesian, two, back[:2])
    for op in ("and", "or", "xor"):
        require_error(upsweep.reduce, np.ones(3), op=op)
        require_error(upsweep.scan, np.ones(3), op=op)
    for named in (
        {"initial": 2.5}, {"initial": 2**63}, {"initial": "x"}, {"initial": [1, 2]}, {"dtype": "float16"}, {"dtype": "int3"},
        {"axis": 1}, {"axis": -2}, {"axis": True}, {"axis": 0.0}, {"overflow": "no"}, {"overflow": "checked", "op": "mul"},
        {"op": "nonsense"}, {"op": None}, {"op": 5}, {"nonsense": 1}, {"out": x[:5]}, {"out": x[::2]}, {"out": x.astype(bool)},
    ):  # fmt: skip
        require_error(upsweep.scan, x, **named)
        require_error(upsweep.reduce, x, **named)
    require_error(upsweep.scan, x, exclusive="yes")
    require_error(upsweep.scan, x * 0.5, dtype="int64")
    require_error(upsweep.scan, x * 0.5, out=np.empty(10, np.int64))
    require_error(upsweep.scan, np.ones(3, np.float32), initial=1e300)


def read_only(array):
    array.flags.writeable = False
    return array


def test_what_is_overwritten_is_not_done_again():
    full = np.full(3, 2**62)
    with pytest.raises(OverflowError, match="element 1 of the result does not fit int64: pass dtype=") as caught:
        upsweep.scan(full, out=full)
    assert caught.value.index == 1


def test_calls_that_are_not_plain():
    x = np.arange(6)
    for given in (np.ma.array(x), x.astype("float16"), None, "x", 5, 2.5, iter(x), [1, None], [[1], [1, 2]], [2**63, 1]):
        for function in (upsweep.cumulative_sum, upsweep.scan, upsweep.reduce):
            require_same(function, given, is_plain=False)
        require_same(upsweep.segmented_reduce, given, np.array([0, 1, 3]), is_plain=False)
        if not isinstance(given, np.ndarray):
            require_same(upsweep.select, np.ones(3, bool), given, is_plain=False)
            require_same(upsweep.take, np.array([0, 2]), given, is_plain=False)
    texts = np.array([b"a", b"b"])
    objects = np.array([1, None])
    for moved in (texts, objects):
        require_same(upsweep.select, np.array([True, False]), moved, is_plain=False)
    require_same(upsweep.reduce, np.empty(0), op="min", is_plain=False)
    require_same(upsweep.scan, is_plain=False)
    require_same(upsweep.scan, x, x, is_plain=False)
    out = np.empty(3, np.int64)
    for given in (
        read_only(out.copy()),
        np.ma.array(out),
        np.empty(6, np.int64)[::2],
        out.astype(">i8"),
        np.broadcast_to(out, (1, 3))[0],
    ):
        require_same(upsweep.scan, x[:3], out=given, is_plain=False)
    for first in (1, 2):
        shared = np.arange(8)
        expected = upsweep.scan(shared[:6].copy())
        assert np.array_equal(upsweep.scan(shared[:6], out=shared[first : first + 6]), expected)


def layouts(x):
    """The same elements in other memory layouts, and whether functions read them in place."""
    wide = np.repeat(x, 2)
    odd = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype)
    odd[...] = x
    return [
        wide[::2],
        x[::-1].copy()[::-1],
        x.astype(x.dtype.newbyteorder()),
        odd,
        read_only(x.copy()),
        x.tolist(),
        tuple(x.tolist()),
    ]


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool"])
def test_layouts(dtype):
    x, mask, offsets = numbers("int64", 10).astype(dtype), np.arange(10) % 3 > 0, np.array([0, 3, 3, 10])
    for each in layouts(x):
        for function in (upsweep.scan, upsweep.cumulative_sum, upsweep.reduce):
            require_same(function, each)
        for function in (upsweep.segmented_reduce, upsweep.segmented_scan, upsweep.segmented_sort, upsweep.segmented_argsort):
            require_same(function, each, offsets)
        require_same(upsweep.select, mask, each, each)
        require_same(upsweep.take, [3, 1], each)
        require_same(upsweep.pack, offsets, each)
        require_same(upsweep.broadcast, each, np.arange(11))
        require_same(upsweep.reduce_by_key, x, each)
    for each in layouts(offsets)[:-1]:  # a tuple is starts and stops
        require_same(upsweep.segmented_reduce, x, each)
        require_same(upsweep.local_index, each)
        require_same(upsweep.segmented_reduce, x, (offsets[:-1][::1], each[1:]))
        require_same(upsweep.offsets, each[:-1], each[1:])
    for each in layouts(mask):
        require_same(upsweep.select, each, x)
        require_same(upsweep.segmented_reduce, x, offsets, valid=each)


@pytest.mark.parametrize("shape", [(2, 5), (1, 10), (10, 1), (2, 3, 4), (1, 1, 3), (3, 0), (0, 3), (2, 1, 5)])
@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_axes(dtype, shape):
    x = numbers("int64", int(np.prod(shape))).reshape(shape).astype(dtype)
    for axis in (*range(len(shape)), -1):
        kept = tuple(np.delete(shape, axis))
        for named in ({}, {"op": "max"}, {"initial": 1}, {"dtype": "float64"}, {"overflow": "wrap"}):
            require_same(upsweep.scan, x, axis=axis, **named)
            require_same(upsweep.scan, x, axis=axis, exclusive=True, **named)
            require_same(upsweep.reduce, x, axis=axis, is_plain=x.size > 0, **named)
        require_same(upsweep.cumulative_sum, x, axis=axis)
        require_same(upsweep.cumulative_prod, x, axis=axis, dtype=np.float64)
        out, rows = np.empty(shape), np.empty(kept)
        require_same(upsweep.scan, x, axis=axis, out=out)
        require_same(upsweep.reduce, x, axis=axis, out=rows, is_plain=x.size > 0)
        assert upsweep.scan(x, axis=axis, out=out) is out and upsweep.reduce(x, axis=axis, out=rows) is rows
        require_same(upsweep.reduce, np.asfortranarray(x), axis=axis, is_plain=False)
        require_same(upsweep.scan, x.T, axis=axis, is_plain=False)


def test_named_arguments():
    x, f, offsets = np.arange(10), np.arange(10, dtype=np.float32) - 3, np.array([0, 3, 3, 10])
    keys, mask = np.array([1, 1, 2, 2, 2, 3, 4, 4, 5, 5]), np.arange(10) % 3 > 0
    for dtype in ("float64", np.float64, np.dtype("f8"), "f8", np.dtype(">f8"), None):
        for function, *given in ((upsweep.scan, f), (upsweep.reduce, f), (upsweep.segmented_reduce, f, offsets),
                                 (upsweep.segmented_scan, f, offsets), (upsweep.reduce_by_key, keys, f),
                                 (upsweep.scan_by_key, keys, f), (upsweep.group_by, keys, f)):  # fmt: skip
            require_same(function, *given, dtype=dtype)
    for initial in (3, 3.5, True, -0.0, float("inf"), np.float64(2.5), None, 2**70):
        for op in ("add", "max"):
            for exclusive in (True, False):
                require_same(upsweep.scan, f, initial=initial, op=op, exclusive=exclusive)
                require_same(upsweep.segmented_scan, f, offsets, initial=initial, op=op, exclusive=exclusive)
            require_same(upsweep.reduce, f, initial=initial, op=op)
            require_same(upsweep.segmented_reduce, f, offsets, initial=initial, op=op)
            require_same(upsweep.reduce_by_key, keys, f, initial=initial, op=op)
    require_same(upsweep.scan, x.astype(np.uint64), initial=2**63 + 1)
    for valid in (mask, mask.view(np.uint8), mask.tolist()):
        for op in ("add", "min", "count", "argmax"):
            require_same(upsweep.segmented_reduce, f, offsets, valid=valid, op=op)
        require_same(upsweep.segmented_scan, f, offsets, valid=valid)
    for overflow in ("wrap", "checked", None):
        require_same(upsweep.scan, x, overflow=overflow)
        require_same(upsweep.group_by, keys, x, overflow=overflow)
    require_same(upsweep.scan, np.full(3, 2**62), overflow="wrap")
    require_same(upsweep.scan, f, op="mul", overflow="checked")
    require_same(upsweep.cumulative_sum, x, include_initial=True)
    require_same(upsweep.cumulative_prod, f, include_initial=True)
    require_same(upsweep.cumulative_sum, np.empty(0), include_initial=True)
    for descending in (True, False):
        require_same(upsweep.segmented_sort, f, offsets, descending=descending, nan_first=True)
        require_same(upsweep.segmented_argsort, f, np.array([1, 5]), descending=descending)
    require_same(upsweep.offsets, offsets[:-1], offsets[1:], strict=True)
    require_same(upsweep.group_by, keys, x, counts=True)
    require_same(upsweep.select, mask, lists=offsets)
    for op in REDUCERS:
        require_same(upsweep.reduce_by_key, keys, f, op=op)
        require_same(upsweep.reduce_by_key, keys > 2, mask, op=op)
    for dtype in ("uint64", "int8", "uint16"):
        require_same(upsweep.segmented_reduce, f, offsets.astype(dtype))
        require_same(upsweep.take, np.array([3, 1], dtype), f)
    require_same(upsweep.segmented_reduce, f, np.array([0, 2**63], np.uint64), is_plain=False)
    require_same(upsweep.take, [-1, -1], f, lists=[0, 3, 10], index_lists=[0, 1, 2])
    for replacement in (True, False):
        for n in (1, 2, 3):
            require_same(upsweep.combinations, offsets, n, replacement=replacement)
            require_same(upsweep.combinations, (offsets[:-1], offsets[1:]), n, replacement=replacement)
    require_same(upsweep.cartesian, offsets, offsets)
    require_same(upsweep.cartesian, offsets, (offsets[:-1], offsets[1:]), offsets.astype(np.int32))


def outs(function, *given, **named):
    """Tests the call with new results, and with output arrays: of the right length, and longer ones if these are
    shortened."""
    expected = function.__wrapped__(*given, **named)
    is_tuple = isinstance(expected, tuple)
    for more in (0, 3):
        made = [np.empty(len(each) + more, each.dtype) for each in (expected if is_tuple else (expected,))]
        results = alone(function)(*given, **named, out=tuple(made) if is_tuple else made[0])
        for result, out, right in zip(results if is_tuple else (results,), made, expected if is_tuple else (expected,)):
            assert (result is out) if more == 0 else (result.base is out)
            assert np.array_equal(result, right) and np.array_equal(out[: len(right)], right)


def test_out():
    x, f, offsets = np.arange(10), np.arange(10.0), np.array([0, 3, 3, 10])
    keys, mask = np.array([1, 1, 2, 2, 2, 3, 4, 4, 5, 5]), np.arange(10) % 3 > 0
    outs(upsweep.select, mask, x)
    outs(upsweep.select, mask, x, f)
    outs(upsweep.take, np.array([2, 5]), f)
    outs(upsweep.reduce_by_key, keys, f)
    outs(upsweep.group_by, keys, f)
    outs(upsweep.group_by, keys, f, counts=True)
    outs(upsweep.combinations, offsets, 2)
    outs(upsweep.cartesian, offsets, offsets)
    count, moved = alone(upsweep.partition)(mask, x, out=x.copy())
    assert count == 6 and moved.tolist() == [1, 2, 4, 5, 7, 8, 0, 3, 6, 9]
    for function, *given in (
        (upsweep.scan, x), (upsweep.cumulative_sum, x), (upsweep.segmented_reduce, f, offsets), (upsweep.segmented_scan, f, offsets),
        (upsweep.segmented_sort, f, offsets), (upsweep.segmented_argsort, f, offsets), (upsweep.scan_by_key, keys, f),
        (upsweep.offsets, offsets[:-1], offsets[1:]), (upsweep.lengths_to_offsets, x), (upsweep.local_index, offsets),
        (upsweep.offsets_to_parents, offsets), (upsweep.broadcast, x[:3], offsets), (upsweep.flatten, [0, 1, 3], offsets),
        (upsweep.parents_to_offsets, np.array([0, 0, 2]), 3),
    ):  # fmt: skip
        expected = function.__wrapped__(*given)
        out = np.empty_like(expected)
        assert alone(function)(*given, out=out) is out and np.array_equal(out, expected)
        require_same(function, *given, out=np.empty(len(expected) + 1, expected.dtype), is_plain=False)
        require_same(function, *given, out=np.empty(len(expected), np.complex64), is_plain=False)
    out = np.array(0)
    assert alone(upsweep.reduce)(x, out=out) is out and out == 45


def test_references():
    """Calls keep no references to their arguments, and results only to their own memory."""
    x, out, initial, lists = np.arange(10), np.empty(10, np.int64), 2.5e10, [0, 3, 10]
    calls = [
        lambda: upsweep.scan(x, out=out), lambda: upsweep.scan(x[::2], axis=0, dtype="float64", initial=initial),
        lambda: upsweep.reduce(x.tolist()), lambda: upsweep.segmented_reduce(x, lists), lambda: upsweep.select(x > 3, x, out=out),
        lambda: upsweep.group_by(x, x, counts=True), lambda: upsweep.combinations(lists, 2), lambda: upsweep.take([11], x),
        lambda: upsweep.scan(x, initial="x"),
    ]  # fmt: skip
    for call in calls:
        before = [sys.getrefcount(each) for each in (x, out, initial, lists)]
        for _ in range(20):
            outcome(call, (), {})
        assert [sys.getrefcount(each) for each in (x, out, initial, lists)] == before
    assert upsweep.scan(x).base is None


def any_array(made):
    """Sorted or not, of any type and layout; sometimes with negative or huge elements."""
    n = made.choice([0, 1, 2, 3, 5, 8, 8, 8, 64])
    array = np.array([made.randint(0, 8) for _ in range(n)]) * made.choice([1] * 20 + [2**60]) - made.choice([0] * 10 + [3])
    array = np.sort(array) if made.random() < 0.5 else array
    with np.errstate(all="ignore"):
        array = array.astype(made.choice([*NUMBERS, *NUMBERS, "bool", "float16", "complex64", "M8[s]", "S3", "O", ">i4"]))
    layouts = [lambda a: a] * 8 + [lambda a: a[::2], lambda a: a.reshape(1, -1), lambda a: a.tolist()]
    return made.choice(layouts)(array)


def any_argument(made):
    others = [
        lambda: (any_array(made), any_array(made)),
        lambda: made.randint(-1, 9),
        lambda: made.choice([None, "x", 1.5, [], {}]),
    ]
    return any_array(made) if made.random() < 0.85 else made.choice(others)()


NAMED = {
    "op": [*OPERATORS, *OPERATORS, *REDUCERS, "nonsense", None, 3],
    "exclusive": [True, False, None, 1],
    "initial": [None, 1, -3, 2.5, True, 300, np.int64(2), np.float64(0.5)],
    "dtype": [None, "float64", "int8", np.uint16, np.dtype(">i4"), float, "bool"],
    "overflow": [None, "wrap", "checked"],
    "axis": [None, 0, -1, 1],
    "strict": [True, False, None, 1],
    "include_initial": [True, False, None],
    "descending": [True, False, 1],
    "nan_first": [True, False],
    "counts": [True, False, None],
    "replacement": [True, False],
}


@pytest.mark.parametrize("seed", range(5))
def test_random_calls(seed):
    made = random.Random(seed)
    for _ in range(400):
        function = made.choice(PLAIN)
        parameters = inspect.signature(function).parameters
        contents = [made.choice([0, 1, 1, 2]) for each in parameters.values() if each.kind is each.VAR_POSITIONAL]
        count = sum(each.kind is each.POSITIONAL_ONLY for each in parameters.values()) + sum(contents)
        named = {name: made.choice(values) for name, values in NAMED.items() if name in parameters and made.random() < 0.3}
        named |= {
            name: any_argument(made)
            for name in ("lists", "index_lists", "out", "valid")
            if name in parameters and made.random() < 0.2
        }
        given = [any_argument(made) for _ in range(count)]
        expected = outcome(function.__wrapped__, copy.deepcopy(given), copy.deepcopy(named))
        assert outcome(function, given, named) == expected, (function.__name__, given, named)


def test_options_are_kept():
    full = np.full(3, 2**62)
    with upsweep.options(overflow="wrap", threads=1):
        assert upsweep.scan(full)[1] == -(2**63)
        assert alone(upsweep.scan)(full)[1] == -(2**63)
        with pytest.raises(OverflowError):
            upsweep.scan(full, overflow="checked")
    with upsweep.options(rung="cpu.serial"), pytest.raises(AssertionError):
        alone(upsweep.scan)(full)
    with upsweep.options(overflow="checked"):
        require_same(upsweep.cumulative_prod, full)
    with pytest.raises(OverflowError):
        upsweep.scan(full)


def test_results_go_where_out_says():
    x, out = np.arange(5), np.empty(5, np.int64)
    for function in (upsweep.cumulative_sum, upsweep.scan):
        assert function(x, out=out) is out and np.array_equal(out, np.cumsum(x))
        require_same(function, x, out=np.empty(4, np.int64), is_plain=False)
        require_same(function, x, out=np.empty(5, np.float64), is_plain=False)


@pytest.mark.parametrize("function", PLAIN, ids=lambda function: function.__name__)
def test_they_are_functions(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    assert inspect.signature(function) == inspect.signature(function.__wrapped__)
    assert inspect.getdoc(function) == inspect.getdoc(function.__wrapped__) and inspect.isroutine(function)
    assert repr(function) == f"<function upsweep.{function.__name__}>"
    assert weakref.ref(function)() is function
    assert type("Holder", (), {"call": function})().call is function


def test_a_function_without_a_plain_case():
    with pytest.raises(ValueError, match="no plain case"):
        _core.plain(in_python)
