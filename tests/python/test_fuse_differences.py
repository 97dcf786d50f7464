# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_differences.py: what fused functions still do differently from Awkward. Each test is expected
# to fail, and it fails the run when it passes. Then it moves to test_fuse.py.
import numpy as np
import pytest

ak = pytest.importorskip("awkward")

from fuse_checks import assert_alike, index
from upsweep.awkward._fuse import fuse

contents = ak.contents


def expected_to_fail(reason):
    """Only a difference is expected: any other error fails the run."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


@expected_to_fail(
    "Awkward copies the lists in lists to a ListArray only if those are not in order; the recording does not know"
)
def test_classes_of_lists_in_lists():
    inner = contents.ListOffsetArray(index(0, 2, 4, 6), contents.NumpyArray(np.arange(6.0)))
    array = ak.Array(contents.ListArray(index(0, 2), index(2, 3), inner))

    def function(x):
        return ak.zip({"a": x, "b": x * 2}, depth_limit=2)

    assert_alike(ak.pad_none(function(array).a, 1, axis=2), ak.pad_none(fuse(function)(array).a, 1, axis=2))


@expected_to_fail("Awkward carries records that stay in their order without an index; the recording does not know")
def test_classes_of_records_in_pairs():
    records = ak.Array([[{"a": 1.0}], [{"a": 2.0}]])

    def function(x, y):
        return ak.cartesian({"x": x, "y": y})

    assert_alike(function(records.a, records), fuse(function)(records.a, records))


@expected_to_fail("Awkward carries the elements of a ListArray only if its lists have gaps; the recording does not know")
def test_classes_of_records_in_lists_in_order():
    records = contents.UnmaskedArray(contents.RecordArray([contents.NumpyArray(np.arange(3.0))], ["a"]))
    array = ak.Array(contents.ListArray(index(0, 2), index(2, 3), records))

    def function(x):
        return ak.with_field(x, 1, "new")

    assert_alike(function(array), fuse(function)(array))
