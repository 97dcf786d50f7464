# SPDX-License-Identifier: Apache-2.0
# tests/python/fuse_checks.py: compares fused functions with functions, for the tests of what functions read and change.
import awkward as ak
import numpy as np
import pytest
from fuse_programs import differences
from test_fuse import result_of
from upsweep.awkward import fuse

contents = ak.contents


def index(*values):
    return ak.index.Index64(np.array(values))


def lists(dtype=np.float64):
    """[[1, 2], [], [3]], with buffers that no other array shares."""
    return ak.Array(contents.ListOffsetArray(index(0, 2, 2, 3), contents.NumpyArray(np.array([1, 2, 3], dtype))))


def named(cases):
    return [pytest.param(case, id=name) for name, case in cases.items()]


def assert_alike(expected, got):
    if isinstance(expected, Exception) or isinstance(got, Exception):
        assert (type(got), str(got)) == (type(expected), str(expected))
    else:
        assert type(got) is type(expected)
        assert not differences(expected, got)


def check(function, *args, recorded=None):
    """Compares a fused function with the function, after a call with the arguments `recorded`."""
    fused = fuse(function)
    with np.errstate(all="ignore"):
        if recorded is not None:
            result_of(fused, *recorded)
        assert_alike(result_of(function, *args), result_of(fused, *args))


def check_change(change, function, *args):
    """Compares a fused function with the function, before and after a change of what the function reads."""
    fused = fuse(function)
    before = function(*args)
    if differences(before, fused(*args)):
        raise ValueError("the results differ before the change")
    change()
    expected = function(*args)
    if not differences(before, expected):
        raise ValueError("the change does not change the result")
    assert_alike(expected, fused(*args))
