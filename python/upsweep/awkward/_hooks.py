# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_hooks.py: operations of Awkward Array that spend their time between its kernels, in one call each: array[mask]
# of lists, and the carry.
import ctypes
import inspect

import numpy as np

from upsweep.awkward import _cuda

# Below so many elements NumPy's take is as fast.
CARRY_FROM = 16 * 1024
ELEMENT_SIZES = (1, 2, 4, 8, 16)


class Failure(ctypes.Structure):
    _fields_ = [("str", ctypes.c_char_p), ("filename", ctypes.c_char_p), ("id", ctypes.c_int64), ("attempt", ctypes.c_int64)]


_pointer, _int64 = ctypes.c_void_p, ctypes.c_int64
ARGUMENTS = {
    "awkward_upsweep_select_64": [_pointer, _pointer, _int64, _pointer, _int64, _pointer, _pointer, _int64],
    "awkward_upsweep_take_64": [_pointer, _pointer, _int64, _pointer, _int64, _int64],
    "awkward_ByteMaskedArray_numnull": [_pointer, _pointer, _int64, ctypes.c_bool],
    "awkward_ByteMaskedArray_getitem_nextcarry_64": [_pointer, _pointer, _int64, ctypes.c_bool],
}


def is_moved(array):
    """Whether a NumPy array has its elements one after the other, of a size that ours move."""
    return type(array) is np.ndarray and array.ndim == 1 and array.flags.c_contiguous and array.itemsize in ELEMENT_SIZES


class Hooks:
    """Methods of Awkward's classes, and what takes their place."""

    def __init__(self, library):
        import awkward
        from awkward._backends.numpy import NumpyBackend

        self._awkward = awkward
        self._cpu = NumpyBackend.instance()
        self.functions = {}
        for name, arguments in ARGUMENTS.items():
            self.functions[name] = ctypes.CFUNCTYPE(Failure, *arguments)((name, library))
        contents = awkward.contents
        self._methods = [
            (contents.ListOffsetArray, "_getitem", self._getitem, ["self", "where", "named_axis"]),
            (contents.NumpyArray, "_carry", self._carry, ["self", "carry", "allow_lazy"]),
        ]
        if _cuda.is_there():
            self._methods += _cuda.methods()
        self.changed = [
            f"{kind.__name__}.{name}" for kind, name, _, arguments in self._methods if not takes(kind, name, arguments)
        ]
        self._undo = []

    def put(self):
        if self._undo or self.changed:
            return
        for kind, name, make, _ in self._methods:
            self._undo.append((kind, name, kind.__dict__.get(name)))
            setattr(kind, name, make(getattr(kind, name)))

    def take_back(self):
        for kind, name, theirs in self._undo:
            if theirs is None:
                delattr(kind, name)  # it was inherited
            else:
                setattr(kind, name, theirs)
        self._undo = []

    def _call(self, name, *arguments):
        """Whether our function has done it; where it has not, Awkward's own code finds out what is wrong."""
        return self.functions[name](*arguments).str is None

    def _getitem(self, theirs):
        """array[mask]: for both with the same offsets."""
        contents = self._awkward.contents
        high_level = self._awkward.highlevel.Array
        select, cpu = self._select, self._cpu

        def _getitem(lists, where, *args, **named):
            mask = where._layout if isinstance(where, high_level) else where
            if type(mask) is contents.ListOffsetArray and type(mask._content) is contents.NumpyArray:
                selected = select(lists, mask) if lists._backend is cpu else _cuda.select(lists, mask)
                if selected is not None:
                    return selected
            return theirs(lists, where, *args, **named)

        return _getitem

    def _select(self, lists, mask):
        booleans = mask._content._data
        offsets = mask._offsets._data
        if (
            mask._backend is not self._cpu
            or type(booleans) is not np.ndarray
            or booleans.dtype != np.bool_
            or lists._parameters
            or not (is_moved(booleans) and is_moved(offsets))
            or offsets.dtype != np.int64
            or not are_same(lists._offsets._data, offsets)
        ):
            return None
        elements = int(offsets[-1])
        # Lists that begin later are rare: what lies before them would have to be left out.
        if offsets[0] != 0 or not 0 < elements <= min(len(booleans), lists._content.length):
            return None
        kept = np.empty(1, np.int64)
        new_offsets = np.empty(len(offsets), np.int64)
        if not self._call("awkward_ByteMaskedArray_numnull", kept.ctypes.data, booleans.ctypes.data, elements, False):
            return None
        content = self._selected_content(lists._content, booleans, offsets, elements, int(kept[0]), new_offsets)
        if content is None:
            return None
        index = self._awkward.index.Index64
        return self._awkward.contents.ListOffsetArray(index(new_offsets), content, parameters=None)

    def _selected_content(self, content, booleans, offsets, elements, kept, new_offsets):
        """What is kept of the content, and the new offsets."""
        contents = self._awkward.contents
        data = content._data if type(content) is contents.NumpyArray else None
        n = len(offsets) - 1
        bounds = (offsets.ctypes.data, n, booleans.ctypes.data)
        if data is not None and is_moved(data):
            out = np.empty(kept, data.dtype)
            arguments = (new_offsets.ctypes.data, out.ctypes.data, kept, *bounds, data.ctypes.data, data.itemsize)
            if not self._call("awkward_upsweep_select_64", *arguments):
                return None
            return contents.NumpyArray(out, parameters=content._parameters, backend=content._backend)
        if not self._call("awkward_upsweep_select_64", new_offsets.ctypes.data, None, 0, *bounds, None, 0):
            return None
        positions = np.empty(kept, np.int64)
        if not self._call(
            "awkward_ByteMaskedArray_getitem_nextcarry_64", positions.ctypes.data, booleans.ctypes.data, elements, True
        ):
            return None
        return content._carry(self._awkward.index.Index64(positions), True)

    def _carry(self, theirs):
        """NumPy's take, by several threads."""
        numpy_array = self._awkward.contents.NumpyArray

        def _carry(array, carry, allow_lazy):
            index, data = carry._data, array._data
            if type(index) is not np.ndarray:
                taken = _cuda.take(data, index)
                if taken is None:
                    return theirs(array, carry, allow_lazy)
                return numpy_array(taken, parameters=array._parameters, backend=array._backend)
            if len(index) < CARRY_FROM or index.dtype != np.int64 or not (is_moved(data) and is_moved(index)):
                return theirs(array, carry, allow_lazy)
            out = np.empty(len(index), data.dtype)
            arguments = (out.ctypes.data, index.ctypes.data, len(index), data.ctypes.data, len(data), data.itemsize)
            if not self._call("awkward_upsweep_take_64", *arguments):
                return theirs(array, carry, allow_lazy)
            return numpy_array(out, parameters=array._parameters, backend=array._backend)

        return _carry


def takes(kind, name, arguments):
    method = getattr(kind, name, None)
    return method is not None and list(inspect.signature(method).parameters) == arguments


def are_same(offsets, others):
    """Whether two arrays of offsets are equal: those of what was computed from a list are the list's own."""
    if type(offsets) is not np.ndarray or len(offsets) != len(others):
        return False
    same_memory = offsets.dtype == others.dtype and offsets.ctypes.data == others.ctypes.data
    return same_memory or np.array_equal(offsets, others)
