# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_carries.py: carries and projections: elements by position, with several threads and fewer steps.
import awkward as ak
import numpy as np

from upsweep.awkward._memory import memory
from upsweep.awkward._native import MANY, is_index, is_moved

SIZES = "awkward_RegularArray_getitem_next_range_spreadadvanced_64"
PARENTS = "awkward_ListOffsetArray64_reduce_local_nextparents_64"


def are_few(index):
    """Whether this is left to Awkward. The check must be fast: every step of operations on short arrays calls it."""
    return type(index) is not np.ndarray or len(index) < MANY


def hooks(native):
    contents = ak.contents
    numpy_backend = ak._backends.numpy.NumpyBackend.instance()
    numpy_like = type(numpy_backend.nplike)
    carry = "self carry allow_lazy"

    def taken(name, index, data):
        """The elements of `data` at these positions, for long arrays; None if the native function did not run."""
        if not (is_index(index) and is_moved(data)):
            return None
        out = memory.empty(len(index), data.dtype)
        return out if native.call(name, out, index, len(index), data, len(data), data.itemsize) else None

    def carry_numbers(theirs):
        def _carry(array, carry, allow_lazy):
            index = carry._data
            if are_few(index):
                return theirs(array, carry, allow_lazy)
            out = taken("awkward_upsweep_take_64", index, array._data)
            if out is None:
                return theirs(array, carry, allow_lazy)
            return contents.NumpyArray(out, parameters=array._parameters, backend=array._backend)

        return _carry

    def carry_records(theirs):
        """Records are not moved: only their positions are checked and copied."""

        def _carry(array, carry, allow_lazy):
            index, length = carry._data, array._length
            if are_few(index):
                return theirs(array, carry, allow_lazy)
            # Records that were read from Arrow without fields may have an unknown length.
            if not allow_lazy or array._backend is not numpy_backend or not isinstance(length, (int, np.integer)):
                return theirs(array, carry, allow_lazy)
            if not is_index(index):
                return theirs(array, carry, allow_lazy)
            positions = memory.empty(len(index), np.int64)
            if not native.call("awkward_upsweep_positions_64", positions, index, len(index), length):
                return theirs(array, carry, allow_lazy)
            return contents.IndexedArray(ak.index.Index64(positions), array, parameters=None)

        return _carry

    def carry_offsets(theirs):
        def _carry(array, carry, allow_lazy):
            index = carry._data
            if are_few(index):
                return theirs(array, carry, allow_lazy)
            offsets = array._offsets._data
            starts = taken("awkward_upsweep_take_64", index, offsets[:-1])
            stops = taken("awkward_upsweep_take_64", index, offsets[1:]) if starts is not None else None
            if stops is None:
                return theirs(array, carry, allow_lazy)
            index = ak.index.Index  # of the same type as the offsets
            return contents.ListArray(index(starts), index(stops), array._content, parameters=array._parameters)

        return _carry

    def project(theirs):
        """Numbers by an index, which is checked while they are taken."""

        def project(array, mask=None):
            numbers = array._content
            if mask is not None or type(numbers) is not contents.NumpyArray or array._parameters or are_few(array._index._data):
                return theirs(array, mask)
            out = taken("awkward_upsweep_project_64", array._index._data, numbers._data)
            if out is None:
                return theirs(array, mask)
            return contents.NumpyArray(out, parameters=numbers._parameters, backend=numbers._backend)

        return project

    def gather(theirs):
        """Lists of numbers, gathered without computing positions."""

        def _broadcast_tooffsets64(lists, offsets):
            starts, stops, ends, content = lists._starts._data, lists._stops._data, offsets._data, lists._content
            if (
                type(content) is not contents.NumpyArray
                or not (is_index(starts) and is_index(stops) and is_index(ends) and is_moved(content._data))
                or len(starts) < MANY
                or len(stops) < len(starts)
                or len(ends) != len(starts) + 1
                or ends[0] != 0
            ):
                return theirs(lists, offsets)
            data = content._data
            out = memory.empty(max(int(ends[-1]), 0), data.dtype)
            bounds = (ends, len(starts), starts, stops)
            if not native.call("awkward_upsweep_pack_64", out, *bounds, data, len(data), data.itemsize):
                return theirs(lists, offsets)
            packed = contents.NumpyArray(out, parameters=content._parameters, backend=content._backend)
            return contents.ListOffsetArray(offsets, packed, parameters=lists._parameters)

        return _broadcast_tooffsets64

    def spread(theirs):
        """Lists of one element, broadcast: each element of the target list gets this element."""

        def _broadcast_tooffsets64(lists, offsets):
            ends, content = offsets._data, lists._content
            if (
                lists._backend is not numpy_backend
                or lists._size != 1
                or not is_index(ends)
                or len(ends) <= MANY
                or len(ends) - 1 != lists._length
            ):
                return theirs(lists, offsets)
            n, elements = len(ends) - 1, int(ends[-1])
            if ends[0] != 0 or elements < 0:
                return theirs(lists, offsets)
            if type(content) is contents.NumpyArray and is_moved(content._data) and len(content._data) >= n:
                out = memory.empty(elements, content._data.dtype)
                if not native.call("awkward_upsweep_spread_64", out, content._data, ends, n, out.itemsize):
                    return theirs(lists, offsets)
                broadcast = contents.NumpyArray(out, parameters=content._parameters, backend=content._backend)
            else:
                parents = memory.empty(elements, np.int64)
                if not native.call(PARENTS, parents, ends, n, elements):
                    return theirs(lists, offsets)
                broadcast = content._carry(ak.index.Index64(parents), True)
            return contents.ListOffsetArray(offsets, broadcast, parameters=lists._parameters)

        return _broadcast_tooffsets64

    def repeat(theirs):
        def repeat(self, x, repeats, *, axis=None):
            if axis is not None or not isinstance(repeats, (int, np.integer)) or not is_index(x) or len(x) * repeats < MANY:
                return theirs(self, x, repeats, axis=axis)
            out = memory.empty(len(x) * int(repeats), np.int64)
            return out if native.call(SIZES, out, x, len(x), int(repeats)) else theirs(self, x, repeats, axis=axis)

        return repeat

    def nonzero(theirs):
        """The positions of true elements."""

        def nonzero(self, x):
            if not is_moved(x) or x.dtype != np.bool_ or len(x) < MANY:
                return theirs(self, x)
            out = memory.empty(int(np.count_nonzero(x)), np.int64)
            if not native.call("awkward_ByteMaskedArray_getitem_nextcarry_64", out, x, len(x), True):
                return theirs(self, x)
            return (out,)

        return nonzero

    def array_equal(theirs):
        """Offsets in the same memory are equal without reading them."""

        def array_equal(self, x1, x2, *, equal_nan=False):
            if not (is_index(x1) and is_index(x2)) or len(x1) != len(x2) or len(x1) < MANY:
                return theirs(self, x1, x2, equal_nan=equal_nan)
            return x1.ctypes.data == x2.ctypes.data or native.call("awkward_upsweep_equal", x1, x2, x1.nbytes)

        return array_equal

    return [
        (contents.NumpyArray, "_carry", carry_numbers, carry),
        (contents.RecordArray, "_carry", carry_records, carry),
        (contents.ListOffsetArray, "_carry", carry_offsets, carry),
        (contents.IndexedArray, "project", project, "self mask"),
        (contents.ListArray, "_broadcast_tooffsets64", gather, "self offsets"),
        (contents.RegularArray, "_broadcast_tooffsets64", spread, "self offsets"),
        (numpy_like, "repeat", repeat, "self x repeats axis"),
        (numpy_like, "nonzero", nonzero, "self x"),
        (numpy_like, "array_equal", array_equal, "self x1 x2 equal_nan"),
    ]
