# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_differences.py: what fused functions still do differently from Awkward. Each test is expected
# to fail, and it fails the run when it passes. Then it moves to test_fuse.py.
import numpy as np
import pytest

ak = pytest.importorskip("awkward")

from fuse_checks import assert_alike, check, index, lists, named
from test_fuse import result_of
from upsweep.awkward._fuse import fuse

contents = ak.contents


@pytest.fixture
def x():
    return lists()


def expected_to_fail(reason):
    """Only a difference is expected: any other error fails the run."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


# ----------------------------------------------------------------------------------------------------------- subscripts


@expected_to_fail("Awkward refuses a subscript if the outer offsets do not begin at 0; plans do not")
def test_subscripts_of_lists_that_do_not_begin_at_0():
    inner = contents.ListOffsetArray(index(2, 3, 5, 5), contents.NumpyArray(np.arange(9.0)))
    array = ak.Array(contents.ListOffsetArray(index(1, 3, 3), inner))
    check(lambda x: x[ak.values_astype(ak.local_index(x), np.uint8)], array)


# --------------------------------------------------------------------------------------------------- views of arguments

VIEWS = {
    "zip": lambda x: ak.zip({"a": x, "b": x * 2}).a,
    "with_field": lambda x: ak.with_field(ak.zip({"a": x}), x * 2, "b").a,
    "mask": lambda x: ak.mask(x, ak.num(x) > 1),
    "mask of elements": lambda x: ak.mask(x, x > 1),
    "pad_none": lambda x: ak.pad_none(x, 2),
    "fill_none": lambda x: ak.fill_none(x, 0),
    "drop_none": lambda x: ak.drop_none(x),
    "firsts": lambda x: ak.firsts(x),
    "cut of events": lambda x: x[ak.num(x) > 1],
    "new axis": lambda x: x[:, np.newaxis],
    "values_astype": lambda x: ak.values_astype(x, np.float64),
    "broadcast_arrays": lambda x: ak.broadcast_arrays(x, x * 2)[0],
}


@expected_to_fail("the result is a copy of the argument, where Awkward returns a view")
@pytest.mark.parametrize("view", named(VIEWS))
def test_views_of_arguments(view):
    def changed_after_the_call(function):
        array = lists()
        result, _ = function(array)
        array.layout.content.data[:] = 9
        return result

    def function(x):
        return view(x), x * 2

    assert_alike(changed_after_the_call(function), changed_after_the_call(fuse(function)))


# -------------------------------------------------------------------------------------------------------- missing lists


def with_a_missing_list():
    """[[1, 2, 3], None, [4]], as Awkward makes it of Python's lists."""
    return ak.Array([[1.0, 2.0, 3.0], None, [4.0]])


PADDED = {
    "in the function": (lambda x: ak.pad_none(x * 2, 2, clip=True), lambda y: y),
    "in a sum": (lambda x: ak.pad_none(x, 2, clip=True) + ak.pad_none(x * 2, 2, clip=True), lambda y: y),
    "after the function": (lambda x: x * 2, lambda y: ak.pad_none(y, 2)),
    "where after the function": (lambda x: x * 2, lambda y: ak.where(y > 1, y, -y)),
}


@expected_to_fail("plans return ByteMaskedArray, with which Awkward's pad_none and where differ from IndexedOptionArray")
@pytest.mark.parametrize(("function", "then"), [pytest.param(*case, id=name) for name, case in PADDED.items()])
def test_missing_lists(function, then):
    array = with_a_missing_list()
    fused = fuse(function)
    assert_alike(result_of(lambda: then(function(array))), result_of(lambda: then(fused(array))))


@expected_to_fail("a missing list becomes the elements that its layout hides; Awkward returns an empty list")
def test_where_of_missing_lists():
    numbers = contents.IndexedOptionArray(index(4, -1, 2, -1, -5, 9, 8, 7, -1), contents.NumpyArray(np.arange(40.0)))
    inner = contents.ListOffsetArray(index(0, 2, 2, 5, 6, 9), numbers)
    array = ak.Array(contents.IndexedOptionArray(index(4, -1, 2, 0, 1), inner))
    check(lambda x: ak.where(ak.num(x) > 1, x, x * 2), array)


MASKED = {
    "fill_none": lambda x: ak.fill_none(x * 2, -1.0, axis=-1),
    "is_none": lambda x: ak.where(ak.is_none(x, axis=-1), 0, x * 2),
}


@expected_to_fail("Awkward and plans differ in what a byte of a mask means that is neither 0 nor 1")
@pytest.mark.parametrize("function", named(MASKED))
def test_masks_of_other_bytes_than_0_and_1(function):
    mask = ak.index.Index8(np.array([0, 1, 2], np.int8))
    masked = contents.ByteMaskedArray(mask, contents.NumpyArray(np.arange(3.0)), valid_when=False)
    check(function, ak.Array(contents.ListOffsetArray(index(0, 2, 3), masked)))


@expected_to_fail("the type is that of Awkward without data, which differs from Awkward's with data")
def test_type_of_unmasked_lists(x):
    check(lambda x: ak.sum(x * 1, axis=1), ak.Array(contents.UnmaskedArray(x.layout)))
