# SPDX-License-Identifier: Apache-2.0
# tests/python/test_plain.py: calls that C++ does alone, against the functions in Python: the same results, and the same errors.
import copy
import inspect
import pickle
import random
import weakref

import numpy as np
import pytest
import upsweep
from upsweep import _core

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
OPERATORS = ["add", "mul", "min", "max", "and", "or", "xor"]
REDUCERS = ["any", "all", "count", "count_nonzero", "argmin", "argmax"]
PLAIN = [getattr(upsweep, name) for name in upsweep.__all__ if hasattr(getattr(upsweep, name), "__wrapped__")]
LENGTHS = [0, 1, 2, 10, 63, 1000, 5000]


def in_python(*arguments, **named):
    raise AssertionError("this call is plain")


def alone(function):
    """The function's plain case, with nothing behind it."""

    def general(*arguments, **named):
        return in_python(*arguments, **named)

    general.__name__ = function.__name__
    return _core.plain(general)


def outcome(function, arguments, named):
    """The result, or the error, as something that is compared."""
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
        is_converted = op == "mul" and x.itemsize < 8
        require_same(upsweep.group_by, keys, x, op=op, is_plain=dtype[0] != "f" and not is_converted)
        for exclusive in (False, True):
            require_same(upsweep.scan, x, op=op, exclusive=exclusive)
            require_same(upsweep.segmented_scan, x, covering(n), op=op, exclusive=exclusive)
            require_same(upsweep.scan_by_key, keys, x, op=op, exclusive=exclusive)
    for op in REDUCERS:
        require_same(upsweep.segmented_reduce, x, bounds(n), op=op)
    for function in (upsweep.segmented_sort, upsweep.segmented_argsort):
        require_same(function, x, covering(n))
        require_same(function, x, bounds(n), is_plain=False)


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


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_bounds(dtype, n):
    offsets = bounds(n, dtype)
    require_same(upsweep.compact_offsets, offsets[:-1].copy(), offsets[1:].copy())
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
        require_same(upsweep.reduce, x, op=op, is_plain=False)
        require_same(upsweep.scan, x, op=op, is_plain=False)
        require_same(upsweep.scan, x, op=op, exclusive=True, is_plain=False)
        require_same(upsweep.segmented_reduce, x, bounds(n), op=op, is_plain=False)
        require_same(upsweep.segmented_scan, x, covering(n), op=op, is_plain=False)
    require_same(upsweep.segmented_sort, x, covering(n), is_plain=False)
    require_same(upsweep.cumulative_sum, (x * np.uint8(2)).view(np.bool_), is_plain=False)


@pytest.mark.parametrize("size", [1, 2, 5, 10, -1, 0, 3, 2**70, True])
def test_lists_of_one_size(size):
    x, mask, is_plain = np.arange(10.0), np.arange(10) % 3 == 0, size in (1, 2, 5, 10) and size is not True
    for function in (upsweep.segmented_reduce, upsweep.segmented_scan, upsweep.segmented_sort, upsweep.segmented_argsort):
        require_same(function, x, size, is_plain=is_plain)
    require_same(upsweep.select, mask, x, lists=size, is_plain=is_plain)
    require_same(upsweep.pack, size, x, is_plain=is_plain)


def test_errors():
    x, full = np.arange(10), np.full(3, 2**62)
    back = np.array([0, 5, 3])
    require_same(upsweep.cumulative_sum, full)
    require_same(upsweep.scan, full)
    require_same(upsweep.reduce, full)
    require_same(upsweep.segmented_reduce, full, np.array([0, 1, 3]))
    require_same(upsweep.segmented_scan, full, np.array([0, 1, 3]))
    require_same(upsweep.reduce_by_key, np.array([1, 2, 2]), full)
    require_same(upsweep.scan_by_key, np.array([1, 2, 2]), full)
    require_same(upsweep.group_by, np.array([1, 2, 2]), full)
    for function in (upsweep.segmented_reduce, upsweep.segmented_scan, upsweep.segmented_sort, upsweep.segmented_argsort):
        require_same(function, x, back, is_plain=False)
        require_same(function, x, np.array([0, 11]), is_plain=False)
    require_same(upsweep.select, x > 3, x[:5])
    require_same(upsweep.select, x > 3, x, lists=back)
    require_same(upsweep.partition, x > 3, x[:5])
    require_same(upsweep.take, np.array([3, 10]), x)
    require_same(upsweep.pack, back, x)
    require_same(upsweep.compact_offsets, np.array([0, 5]), np.array([2, 3]))
    require_same(upsweep.lengths_to_offsets, np.array([2, -1]))
    require_same(upsweep.broadcast, x, np.array([0, 3]))
    require_same(upsweep.parents_to_offsets, np.array([0, 5]), 3)
    require_same(upsweep.flatten, np.array([0, 9]), np.array([0, 3]))
    for op in ("and", "or", "xor"):
        require_same(upsweep.reduce, np.ones(3), op=op, is_plain=False)
        require_same(upsweep.scan, np.ones(3), op=op)


def test_calls_that_are_not_plain():
    x = np.arange(6)
    for given in (x[::2], x.reshape(2, 3), list(x), x.astype(">i8"), np.ma.array(x), x.astype("float16"), None, "x"):
        for function in (upsweep.cumulative_sum, upsweep.scan, upsweep.reduce):
            require_same(function, given, is_plain=False)
        require_same(upsweep.segmented_reduce, given, np.array([0, 1, 3]), is_plain=False)
        require_same(upsweep.select, np.ones(3, bool), given, is_plain=False)
        require_same(upsweep.take, np.array([0, 2]), given, is_plain=False)
    require_same(upsweep.reduce, x.reshape(2, 3).T, is_plain=False)
    texts = np.array([b"a", b"b"])
    objects = np.array([1, None])
    for moved in (texts, objects):
        require_same(upsweep.select, np.array([True, False]), moved, is_plain=False)
    require_same(upsweep.reduce, np.empty(0), op="min", is_plain=False)
    for named in ({"op": "nonsense"}, {"op": None}, {"op": 5}, {"exclusive": "yes"}, {"dtype": "float64"}, {"nonsense": 1}):
        require_same(upsweep.scan, x, is_plain=False, **named)
    require_same(upsweep.scan, is_plain=False)
    require_same(upsweep.scan, x, x, is_plain=False)


def any_array(made):
    """Sorted or not, of any type and layout; at times with negative or huge elements."""
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
    "initial": [None, 1],
    "dtype": [None, "float64", "int8"],
    "overflow": [None, "wrap", "checked"],
    "axis": [None, 0],
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
        named |= {name: any_argument(made) for name in ("lists", "out", "valid") if name in parameters and made.random() < 0.2}
        given = [any_argument(made) for _ in range(count)]
        expected = outcome(function.__wrapped__, copy.deepcopy(given), copy.deepcopy(named))
        assert outcome(function, given, named) == expected, (function.__name__, given, named)


def test_options_are_kept():
    full = np.full(3, 2**62)
    with upsweep.options(overflow="wrap"):
        assert upsweep.scan(full)[1] == -(2**63)
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
