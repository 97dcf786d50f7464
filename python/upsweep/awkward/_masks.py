# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_masks.py: array[mask] of lists, in one call instead of several steps between kernels.
import awkward as ak
import numpy as np

from upsweep import _core
from upsweep.awkward._memory import memory
from upsweep.awkward._native import are_same, is_moved

# Calls of Awkward's functions ignore upsweep.options.
PLACE = _core.Place()


def hooks(native):
    from awkward._namedaxis import NamedAxis

    def make(theirs):
        list_array, numpy_array, high_level = ak.contents.ListOffsetArray, ak.contents.NumpyArray, ak.highlevel.Array

        def _getitem(lists, where, named_axis=NamedAxis):
            # isinstance() of a class that is an ABC takes as long as the rest of this function.
            mask = getattr(where, "_layout", where)
            if (
                type(mask) is list_array
                and type(mask._content) is numpy_array
                and (mask is where or isinstance(where, high_level))
            ):
                selected = select(native, lists, mask)
                if selected is not None:
                    return selected
            return theirs(lists, where, named_axis)

        return _getitem

    return [(ak.contents.ListOffsetArray, "_getitem", make, "self where named_axis")]


def select(native, lists, mask):
    """Selects from lists with the same offsets as the mask; returns None if Awkward's own code must do it."""
    booleans = mask._content._data
    offsets = mask._offsets._data
    if (
        type(booleans) is not np.ndarray
        or booleans.dtype != np.bool_
        or lists._parameters
        or not (is_moved(booleans) and is_moved(offsets))
        or offsets.dtype != np.int64
        or not are_same(lists._offsets._data, offsets)
    ):
        return None
    elements = int(offsets[-1])
    # Lists that begin later are rare: the elements before them would have to be left out.
    if offsets[0] != 0 or not 0 < elements <= min(len(booleans), lists._content.length):
        return None
    new_offsets = memory.empty(len(offsets), np.int64)
    try:
        content = selected_content(native, lists._content, booleans[:elements], offsets, new_offsets)
    except (MemoryError, TypeError, ValueError):
        return None
    if content is None:
        return None
    return ak.contents.ListOffsetArray(ak.index.Index64(new_offsets), content, parameters=None)


def selected_content(native, content, booleans, offsets, new_offsets):
    """The selected elements of the content, and the new offsets."""
    data = content._data if type(content) is ak.contents.NumpyArray else None
    if data is not None and is_moved(data):
        (out,) = selected(booleans, offsets, new_offsets, data[: len(booleans)])
        return ak.contents.NumpyArray(out, parameters=content._parameters, backend=content._backend)
    selected(booleans, offsets, new_offsets)
    positions = memory.empty(int(new_offsets[-1]), np.int64)
    if not native.call("awkward_ByteMaskedArray_getitem_nextcarry_64", positions, booleans, len(booleans), True):
        return None
    return content._carry(ak.index.Index64(positions), True)


def selected(booleans, offsets, new_offsets, *columns):
    """Writes the new offsets, and returns the selected elements of each column, in memory of freed arrays."""
    outputs = []

    def make(length):
        outputs.extend(memory.empty(length, column.dtype) for column in columns)
        return outputs

    _core.select(PLACE, offsets, None, booleans, new_offsets, [(column, None) for column in columns], make)
    return outputs
