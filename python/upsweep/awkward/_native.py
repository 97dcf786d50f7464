# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_native.py: the C functions that hooks call, and the checks of their arguments.
import ctypes

import numpy as np


class Failure(ctypes.Structure):
    _fields_ = [("str", ctypes.c_char_p), ("filename", ctypes.c_char_p), ("id", ctypes.c_int64), ("attempt", ctypes.c_int64)]


_pointer, _int64 = ctypes.c_void_p, ctypes.c_int64
ARGUMENTS = {
    "awkward_upsweep_take_64": [_pointer, _pointer, _int64, _pointer, _int64, _int64],
    "awkward_upsweep_project_64": [_pointer, _pointer, _int64, _pointer, _int64, _int64],
    "awkward_upsweep_positions_64": [_pointer, _pointer, _int64, _int64],
    "awkward_upsweep_equal": [_pointer, _pointer, _int64],
    "awkward_upsweep_spread_64": [_pointer, _pointer, _pointer, _int64, _int64],
    "awkward_upsweep_pack_64": [_pointer, _pointer, _int64, _pointer, _pointer, _pointer, _int64, _int64],
    "awkward_upsweep_concatenate_64": [_pointer, _pointer, _pointer, _pointer, _pointer, _int64, _int64, _int64],
    "awkward_upsweep_choose_64": [_pointer, _pointer, _pointer, _int64, _pointer, _pointer, _int64, _int64],
    "awkward_upsweep_mean_64": [_pointer, _pointer, _int64],
    "awkward_upsweep_valid_together_64": [_pointer, _pointer, _pointer, _pointer, _int64, _int64],
    "awkward_IndexedArray_fill_to64_from64": [_pointer, _int64, _pointer, _int64, _int64],
    "awkward_ByteMaskedArray_numnull": [_pointer, _pointer, _int64, ctypes.c_bool],
    "awkward_ByteMaskedArray_getitem_nextcarry_64": [_pointer, _pointer, _int64, ctypes.c_bool],
    "awkward_ListOffsetArray64_reduce_local_nextparents_64": [_pointer, _pointer, _int64, _int64],
    "awkward_RegularArray_getitem_next_range_spreadadvanced_64": [_pointer, _pointer, _int64, _int64],
}
ELEMENT_SIZES = (1, 2, 4, 8, 16)

# For fewer elements Awkward's own code is as fast.
MANY = 16 * 1024


class Native:
    """The library's functions for hooks, by name. `call` returns whether the function succeeded; otherwise Awkward's own code runs
    and reports any error."""

    def __init__(self, library):
        self.functions = {}
        for name, arguments in ARGUMENTS.items():
            self.functions[name] = ctypes.CFUNCTYPE(Failure, *arguments)((name, library))

    def call(self, name, *arguments):
        return self.functions[name](*(address_of(each) for each in arguments)).str is None


def address_of(argument):
    return argument.ctypes.data if type(argument) is np.ndarray else argument


def addresses(arrays):
    """An array of pointers to arrays, which must outlive it."""
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def is_moved(array):
    """Whether a NumPy array is contiguous, with elements of a size that our functions move."""
    return type(array) is np.ndarray and array.ndim == 1 and array.flags.c_contiguous and array.itemsize in ELEMENT_SIZES


def is_index(array):
    """Whether an array contains positions or offsets in the form that our functions accept."""
    return type(array) is np.ndarray and array.ndim == 1 and array.dtype == np.int64 and array.flags.c_contiguous


def are_same(offsets, others):
    """Whether two arrays of offsets are equal: results computed from a list have the list's own offsets."""
    if type(offsets) is not np.ndarray or len(offsets) != len(others):
        return False
    same_memory = offsets.dtype == others.dtype and offsets.ctypes.data == others.ctypes.data
    return same_memory or np.array_equal(offsets, others)
