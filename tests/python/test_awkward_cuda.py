# SPDX-License-Identifier: Apache-2.0
# tests/python/test_awkward_cuda.py: the replacements for Awkward's GPU kernels, tested with NumPy's arrays instead of
# CuPy's: the same code then calls upsweep's CPU rungs. Awkward's files are read to check that its kernels have these
# arguments.
import collections
import inspect
import warnings

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

import upsweep.awkward
from awkward._backends.numpy import NumpyBackend
from awkward_operations import COUNTS, NUMBERS, OPERATIONS, assert_same, kernels_of, made
from upsweep.awkward import _cuda


@pytest.fixture
def calls(monkeypatch):
    """Replaces Awkward's CPU kernels by ours; counts how often each was called and did the work."""
    calls = collections.Counter()

    def counting(name, ours):
        def call(*arguments):
            result = ours(*arguments)
            calls[name] += result is not None or name.startswith("awkward")
            return result

        return call

    table = {name: counting(name, ours) for name, ours in _cuda.KERNELS.items()}
    monkeypatch.setattr(_cuda, "kernels", lambda: table)
    monkeypatch.setattr(_cuda, "is_cupys", lambda array: type(array) is np.ndarray)
    monkeypatch.setattr(_cuda, "pack", counting("pack", _cuda.pack))
    monkeypatch.setattr(NumpyBackend, "__getitem__", _cuda.getitem_of_backend(NumpyBackend.__getitem__))
    ours = _cuda.broadcast_of_lists(ak.contents.ListArray._broadcast_tooffsets64)
    monkeypatch.setattr(ak.contents.ListArray, "_broadcast_tooffsets64", ours)
    return calls


def test_awkward_has_these_arguments():
    theirs = _cuda.awkwards_arguments()
    for name, ours in _cuda.KERNELS.items():
        assert theirs.get(name) == list(inspect.signature(ours).parameters), name


def test_kernels_that_changed_stay_awkwards(monkeypatch):
    theirs = _cuda.awkwards_arguments()
    theirs["awkward_sort"] = [*theirs["awkward_sort"], "another"]
    del theirs["awkward_localindex"]
    monkeypatch.setattr(_cuda, "awkwards_arguments", lambda: theirs)
    monkeypatch.setattr(_cuda, "has_gpu", lambda: True)
    with pytest.warns(RuntimeWarning, match=r"2 of Awkward's GPU kernels have changed.*awkward_sort, awkward_localindex"):
        ours = _cuda.kernels.__wrapped__()
    assert set(ours) == set(_cuda.KERNELS) - {"awkward_sort", "awkward_localindex"}


def test_without_a_gpu_there_are_none(monkeypatch):
    monkeypatch.setattr(_cuda, "has_gpu", lambda: False)
    assert _cuda.kernels.__wrapped__() == {}


def test_no_warning_with_the_awkward_that_it_is_for(monkeypatch):
    monkeypatch.setattr(_cuda, "has_gpu", lambda: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(_cuda.kernels.__wrapped__()) == set(_cuda.KERNELS)


def tried(name, arrays, needed, calls, monkeypatch):
    """Checks that our result on NumPy's arrays equals that of Awkward's kernels."""
    operation, _ = OPERATIONS[name]
    result = operation(arrays)
    called = set(calls)
    with monkeypatch.context() as patch:
        patch.setattr(_cuda, "kernels", dict)
        expected = operation(arrays)
    assert_same(result, expected, name)
    assert needed - {"select"} <= called  # select has a separate test


@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_is_left_to_awkward(name, monkeypatch):
    """Awkward's kernels would have to be compiled."""
    left = []

    def theirs(backend, index):
        left.append(index[0])
        return numpys(backend, index)

    arrays = made("poisson", "float64")
    numpys = NumpyBackend.__getitem__
    monkeypatch.setattr(_cuda, "kernels", lambda: _cuda.KERNELS)
    monkeypatch.setattr(NumpyBackend, "__getitem__", _cuda.getitem_of_backend(theirs))
    OPERATIONS[name][0](arrays)
    assert not left


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("pattern", COUNTS)
def test_patterns(name, pattern, calls, monkeypatch):
    tried(name, made(pattern, "float64"), kernels_of(name, pattern, "float64"), calls, monkeypatch)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_types(name, dtype, calls, monkeypatch):
    tried(name, made("poisson", dtype), kernels_of(name, "poisson", dtype), calls, monkeypatch)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "sort", "argsort"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan(name, dtype, calls, monkeypatch):
    nan, inf = np.nan, np.inf
    content = np.array([nan, 1, 2, 1, nan, 3, nan, nan, -inf, nan, inf, 5, 4, nan, 6], dtype)
    x = ak.unflatten(content, [3, 3, 0, 1, 4, 4])
    tried(name, {"x": x}, OPERATIONS[name][1], calls, monkeypatch)


@pytest.mark.parametrize("bounds", [np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("name", ["to_packed", "flatten", "combinations"])
def test_bounds(name, bounds, calls, monkeypatch):
    arrays = made("poisson", "int32")
    layout = arrays["permuted"].layout
    index = {np.int32: ak.index.Index32, np.uint32: ak.index.IndexU32, np.int64: ak.index.Index64}[bounds]
    starts, stops = (index(np.asarray(each.data, bounds)) for each in (layout.starts, layout.stops))
    permuted = ak.Array(ak.contents.ListArray(starts, stops, layout.content))
    tried(name, {"permuted": permuted, "x": permuted}, OPERATIONS[name][1], calls, monkeypatch)


def test_select_and_take(calls, monkeypatch):
    arrays = made("poisson", "float32")
    x, mask = arrays["x"].layout, arrays["mask"].layout
    assert _cuda.select(x, mask).to_list() == arrays["x"][arrays["mask"]].to_list()
    later = ak.contents.ListOffsetArray(x.offsets[3:], x.content)
    later_mask = ak.contents.ListOffsetArray(x.offsets[3:], mask.content)
    assert _cuda.select(later, later_mask).to_list() == arrays["x"][3:][arrays["mask"][3:]].to_list()
    others = ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 1])), mask.content)
    assert _cuda.select(x, others) is None
    monkeypatch.setattr(_cuda, "CARRY_FROM", 1)
    data = np.arange(5.0)
    assert _cuda.take(data, np.array([4, 0, -1])).tolist() == [4.0, 0.0, 4.0]
    assert _cuda.take(data, np.array([5])) is None  # Awkward's own code reports the error
    assert _cuda.take(data.reshape(5, 1), np.array([0])) is None


def test_offsets_that_begin_later_are_awkwards_to_do(calls):
    later = np.array([1, 3, 4])
    with pytest.raises(ValueError, match="must begin with 0"):
        _cuda.KERNELS["awkward_ListArray_localindex"](np.empty(4, np.int64), later, 2)
    starts, stops = (ak.index.Index64(each) for each in (np.array([2, 0]), np.array([4, 1])))
    lists = ak.contents.ListArray(starts, stops, ak.contents.NumpyArray(np.arange(5)))
    assert _cuda.pack(lists, ak.index.Index64(later)) is None
    assert _cuda.pack(lists, ak.index.Index64(later - 1)).to_list() == [[2, 3], [0]]
    assert _cuda.pack(lists, ak.index.Index64(np.array([0, 1, 3]))) is None  # of other lengths


def test_arrays_in_the_same_memory_are_not_compared(monkeypatch):
    def never(nplike, x1, x2, *, equal_nan=False):
        raise AssertionError("compared")

    monkeypatch.setattr(_cuda, "is_cupys", lambda array: type(array) is np.ndarray)
    offsets = np.array([0, 2, 4])
    array_equal = _cuda.array_equal_of_library(never)
    assert array_equal(None, offsets, offsets[:])
    assert array_equal(None, offsets[:-1][1:], offsets[1:][:-1])
    for a, b in (
        (offsets, offsets.copy()),
        (offsets, offsets[:2]),
        (offsets[:2], offsets[::2]),
        (offsets, offsets.view(np.uint64)),
        (offsets.astype(float),) * 2,
    ):
        with pytest.raises(AssertionError, match="compared"):
            array_equal(None, a, b)


def test_slices_that_begin_later():
    missing = np.array([0, 1, -1, 3, 4, -1, 6])
    results = []
    for kernel in (
        NumpyBackend.instance()["awkward_ListArray_getitem_jagged_shrink", *(np.int64,) * 6],
        _cuda.KERNELS["awkward_ListArray_getitem_jagged_shrink"],
    ):
        carry, small, large = np.zeros(3, np.int64), np.empty(4, np.int64), np.empty(4, np.int64)
        kernel(carry, small, large, np.array([2, 4, 4]), np.array([4, 4, 7]), 3, missing)
        results.append((carry.tolist(), small.tolist(), large.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("awkward_IndexedArray_getitem_nextcarry", (np.empty(2, int), np.array([0, 3]), 2, 3)),
        ("awkward_IndexedArray_getitem_nextcarry", (np.empty(2, int), np.array([0, -1]), 2, 3)),
        ("awkward_IndexedArray_flatten_nextcarry", (np.empty(2, int), np.array([-1, 3]), 2, 3)),
        ("awkward_IndexedArray_simplify", (np.empty(2, int), np.array([-1, 3]), 2, np.arange(3), 3)),
        ("awkward_RegularArray_getitem_next_at", (np.empty(2, int), -3, 2, 2)),
        ("awkward_ListOffsetArray_flatten_offsets", (np.empty(2, int), np.array([0, 3]), 2, np.arange(3))),
        ("awkward_ListArray_getitem_jagged_numvalid", (np.empty(1, int), np.array([0]), np.array([4]), 1, np.arange(3), 3)),
        ("awkward_ListArray_getitem_jagged_numvalid", (np.empty(1, int), np.array([2]), np.array([1]), 1, np.arange(3), 3)),
        ("awkward_ListOffsetArray_rpad_axis1", (np.empty(4, int), np.array([1, 3]), 1, 4)),
    ],
)
def test_what_is_wrong_is_refused(name, arguments):
    with pytest.raises((IndexError, ValueError)):
        _cuda.KERNELS[name](*arguments)


def test_what_is_wrong_is_said_by_awkward(calls):
    starts, stops = (ak.index.Index64(np.array(each)) for each in ([2, 0], [1, 2]))
    bad = ak.Array(ak.contents.ListArray(starts, stops, ak.contents.NumpyArray(np.arange(3))))
    with pytest.raises(ValueError, match=r"stops\[i\] < starts\[i\]"):
        ak.to_packed(bad)
    assert not calls


def test_without_awkwards_compiler_the_error_is_ours():
    def none(*_):
        raise ImportError("cuda.compute")

    def ours(*_):
        raise ValueError("list 3 stops before it starts")

    with pytest.raises(ValueError, match="list 3"):
        _cuda.Kernel(ours, none)()


def test_is_registered_where_cupy_is(monkeypatch):
    from awkward._backends.cupy import CupyBackend
    from upsweep.awkward import _table

    theirs = CupyBackend.__getitem__
    for is_there in (False, True):
        monkeypatch.setattr(_cuda, "is_there", lambda is_there=is_there: is_there)
        registration = _table.Registration()
        registration.register()
        try:
            assert (CupyBackend.__getitem__ is not theirs) == is_there
        finally:
            registration.unregister()
        assert CupyBackend.__getitem__ is theirs
    assert not upsweep.awkward.registered()
