# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_masks.py: array[mask] of lists, in one call instead of steps between kernels.
import awkward as ak
import numpy as np

from upsweep.awkward._memory import memory
from upsweep.awkward._native import are_same, is_moved


def hooks(native):
    from awkward._namedaxis import NamedAxis

    def make(theirs):
        list_array, numpy_array, high_level = ak.contents.ListOffsetArray, ak.contents.NumpyArray, ak.highlevel.Array

        def _getitem(lists, where, named_axis=NamedAxis):
            # isinstance() of a class that is an ABC takes as long as all else here.
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
    """Lists of the same offsets as the mask's; None where Awkward's own code has to do it."""
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
    # Lists that begin later are rare: what lies before them would have to be left out.
    if offsets[0] != 0 or not 0 < elements <= min(len(booleans), lists._content.length):
        return None
    kept = memory.empty(1, np.int64)
    new_offsets = memory.empty(len(offsets), np.int64)
    if not native.call("awkward_ByteMaskedArray_numnull", kept, booleans, elements, False):
        return None
    content = selected_content(native, lists._content, booleans, offsets, int(kept[0]), new_offsets)
    if content is None:
        return None
    return ak.contents.ListOffsetArray(ak.index.Index64(new_offsets), content, parameters=None)


def selected_content(native, content, booleans, offsets, kept, new_offsets):
    """What is kept of the content, and the new offsets."""
    data = content._data if type(content) is ak.contents.NumpyArray else None
    bounds = (offsets, len(offsets) - 1, booleans)
    if data is not None and is_moved(data):
        out = memory.empty(kept, data.dtype)
        if not native.call("awkward_upsweep_select_64", new_offsets, out, kept, *bounds, data, data.itemsize):
            return None
        return ak.contents.NumpyArray(out, parameters=content._parameters, backend=content._backend)
    if not native.call("awkward_upsweep_select_64", new_offsets, None, 0, *bounds, None, 0):
        return None
    positions = memory.empty(kept, np.int64)
    elements = int(offsets[-1])
    if not native.call("awkward_ByteMaskedArray_getitem_nextcarry_64", positions, booleans, elements, True):
        return None
    return content._carry(ak.index.Index64(positions), True)
