# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_cuda_lists.py: Awkward's GPU kernels for lists, by upsweep's, under the same names and arguments.
from __future__ import annotations

from typing import Any

import numpy as np

from upsweep import _core
from upsweep._lists import UNKNOWN_LENGTH
from upsweep.awkward._cuda_place import Place, module_of

# ------------------------------------------------------------------------------------------------------------- reducers


def _reduce(op: str, result: Any, content: Any, offsets: Any, initial: Any = None) -> None:
    place = Place(result)
    _core.segmented_reduce(place.where, op, place(offsets), None, place(content), None, initial, place(result))


def _reducer(op: str) -> Any:
    def reduce(result: Any, input_data: Any, offsets_data: Any, outlength: int) -> None:
        _reduce(op, result, input_data, offsets_data[: outlength + 1])

    return reduce


def _fold(op: str) -> Any:
    """Sums and products, in the result's type."""

    def fold(result: Any, input_data: Any, offsets_data: Any, outlength: int) -> None:
        is_wider_sum = op == "add" and result.dtype.kind == input_data.dtype.kind and result.dtype.itemsize == 8
        if result.dtype.kind == "f" or not is_wider_sum:
            input_data = input_data.astype(result.dtype, copy=False)
        # Awkward's sums begin with 0.0; therefore the sum of -0.0 is 0.0.
        initial = np.zeros(1, result.dtype) if op == "add" else None
        _reduce(op, result, input_data, offsets_data[: outlength + 1], initial)

    return fold


def _has_nan(array: Any) -> bool:
    """Whether the array contains NaN: the maximum of floats is NaN if one of them is."""
    if array.dtype.kind != "f" or array.size == 0:
        return False
    place, greatest = Place(array), np.empty(1, array.dtype)
    _core.reduce(place.where, "max", None, place(array), greatest)
    return bool(np.isnan(greatest[0]))


def _without_nan(array: Any, value: Any) -> Any:
    xp = module_of(array)
    return xp.where(xp.isnan(array), array.dtype.type(value), array)


def _extremum(op: str) -> Any:
    """The minimum or maximum of each list and `identity`. Awkward ignores NaN, while upsweep's result would be NaN."""

    def extremum(result: Any, input_data: Any, offsets_data: Any, outlength: int, identity: Any) -> None:
        initial = np.array([identity], input_data.dtype)
        offsets = offsets_data[: outlength + 1]
        _reduce(op, result, input_data, offsets, initial)
        if _has_nan(result):
            _reduce(op, result, _without_nan(input_data, identity), offsets, initial)

    return extremum


def _extremum_at(op: str) -> Any:
    """The position, in the content, of each list's first minimum or maximum. If a list begins with NaN, it is the position of NaN."""

    def extremum_at(result: Any, input_data: Any, offsets_data: Any, starts: Any, outlength: int) -> None:
        offsets = offsets_data[: outlength + 1]
        xp = module_of(result)
        begins = offsets[:-1]
        if _has_nan(input_data):
            first_is_nan = xp.isnan(input_data[xp.minimum(begins, input_data.size - 1)])
            _reduce(op, result, _without_nan(input_data, np.inf if op == "argmin" else -np.inf), offsets)
            result[first_is_nan & (result > 0)] = 0
        else:
            _reduce(op, result, input_data, offsets)
        result += xp.where(result < 0, 0, begins)

    return extremum_at


def _counts(result: Any, offsets_data: Any, _outlength: int) -> None:
    module_of(result).subtract(offsets_data[1 : _outlength + 1], offsets_data[:_outlength], out=result)


def _adjust_starts(toptr: Any, outlength: int, offsets: Any, starts: Any) -> None:
    """Converts positions in the content to positions in lists; -1 is unchanged."""
    positions = toptr[:outlength]
    positions -= module_of(toptr).where(positions < 0, 0, starts[:outlength])


def _are_empty(toptr: Any, offsets: Any, outlength: int) -> None:
    toptr[:outlength] = offsets[1 : outlength + 1] <= offsets[:outlength]


# -------------------------------------------------------------------------------------------------- order and positions


def _sort(toptr: Any, fromptr: Any, length: int, offsets: Any, offsetslength: int, ascending: bool, stable: bool) -> None:
    place = Place(toptr)
    lists = place(offsets[:offsetslength])
    _core.segmented_sort(place.where, False, lists, None, place(fromptr), not ascending, True, place(toptr))


def _argsort(toptr: Any, fromptr: Any, length: int, offsets: Any, offsetslength: int, ascending: bool, stable: bool) -> None:
    place = Place(toptr)
    lists = place(offsets[:offsetslength])
    _core.segmented_sort(place.where, True, lists, None, place(fromptr), not ascending, True, place(toptr))


def _local_index(toindex: Any, offsets: Any, length: int) -> None:
    """Awkward's kernel writes where the offsets point, ours starts at 0: this is the same if the offsets begin with 0."""
    place = Place(toindex)
    if _core.local_index(place.where, place(offsets[: length + 1]), place(toindex)) != toindex.size:
        raise ValueError("offsets: they must begin with 0")


def _local_index_of_sized(toindex: Any, size: int, length: int) -> None:
    place = Place(toindex)
    _core.local_index(place.where, (int(length), int(size)), place(toindex))


def _positions(toindex: Any, length: int) -> None:
    _local_index_of_sized(toindex, length, 1)


def _broadcast_to_offsets(
    tocarry: Any, fromoffsets: Any, offsetslength: int, fromstarts: Any, fromstops: Any, lencontent: int
) -> None:
    place = Place(tocarry)
    lists = place.bounds(fromstarts, fromstops, offsetslength - 1)
    _core.broadcast_to_offsets(place.where, lists, place(fromoffsets[:offsetslength]), int(lencontent), place(tocarry))


def _offsets(tooffsets: Any, fromstarts: Any, fromstops: Any, length: int) -> None:
    place = Place(tooffsets)
    _core.offsets(place.where, *place.bounds(fromstarts, fromstops, length), place(tooffsets), False)


# ----------------------------------------------------------------------------------------------- choices and selections


def _count_choices(totallen: Any, tooffsets: Any, n: int, replacement: bool, starts: Any, stops: Any, length: int) -> None:
    place = Place(tooffsets)
    lists = place.bounds(starts, stops, length)
    _core.combinations(place.where, lists, UNKNOWN_LENGTH, n, replacement, place(tooffsets), [])
    totallen[:] = tooffsets[-1:]


def _choose(
    tocarry_ptrs: Any, toindex: Any, fromindex: Any, n: int, replacement: bool, starts: Any, stops: Any, length: int
) -> None:
    """Awkward's kernel receives the addresses of the outputs, which hold all elements."""
    place = Place(toindex)
    lists = place.bounds(starts, stops, length)
    offsets = place(place.xp.empty(length + 1, "int64"))
    total = _core.combinations(place.where, lists, UNKNOWN_LENGTH, n, replacement, offsets, [])
    places = [_core.Elements.at(address, total, "int64", 8, toindex) for address in tocarry_ptrs[:n].tolist()]
    if total > 0:
        _core.combinations(place.where, lists, UNKNOWN_LENGTH, n, replacement, None, places)
    toindex[:n] = total


def _take_of_lists(
    tooffsets: Any, tocarry: Any, slicestarts: Any, slicestops: Any, sliceouterlen: int, sliceindex: Any,
    sliceinnerlen: int, fromstarts: Any, fromstops: Any, contentlen: int,
) -> None:  # fmt: skip
    place = Place(tooffsets)
    lists = place.bounds(fromstarts, fromstops, sliceouterlen)
    of_indices = place.bounds(slicestarts, slicestops, sliceouterlen)
    indices = place(sliceindex[:sliceinnerlen])
    _core.take_positions(
        place.where, lists, int(contentlen), of_indices, indices, place(tooffsets), place(tocarry)
    )  # fmt: skip


def _which_are(mask: Any, length: int, validwhen: bool) -> Any:
    """Marks the booleans that are equal to `validwhen`, as booleans or as bytes that are not 0."""
    return mask[:length] if validwhen else mask[:length] == 0


def _count_missing(numnull: Any, mask: Any, length: int, validwhen: bool) -> None:
    place = Place(mask)
    numnull[0] = length - _core.select(place.where, None, None, place(_which_are(mask, length, validwhen)), None, [])


def _positions_of_valid(tocarry: Any, mask: Any, length: int, validwhen: bool) -> None:
    place = Place(tocarry)
    positions = place.xp.module.arange(length)
    kept = place(_which_are(mask, length, validwhen))
    _core.select(place.where, None, None, kept, None, [(place(positions), place(tocarry))])


KERNELS = {
    "awkward_reduce_sum": _fold("add"),
    "awkward_reduce_prod": _fold("mul"),
    "awkward_reduce_sum_bool": _reducer("any"),
    "awkward_reduce_prod_bool": _reducer("all"),
    "awkward_reduce_sum_int64_bool_64": _reducer("count_nonzero"),
    "awkward_reduce_countnonzero": _reducer("count_nonzero"),
    "awkward_reduce_min": _extremum("min"),
    "awkward_reduce_max": _extremum("max"),
    "awkward_reduce_argmin": _extremum_at("argmin"),
    "awkward_reduce_argmax": _extremum_at("argmax"),
    "awkward_reduce_count_64": _counts,
    "awkward_NumpyArray_reduce_adjust_starts_64": _adjust_starts,
    "awkward_NumpyArray_reduce_mask_ByteMaskedArray_64": _are_empty,
    "awkward_sort": _sort,
    "awkward_argsort": _argsort,
    "awkward_ListArray_localindex": _local_index,
    "awkward_RegularArray_localindex": _local_index_of_sized,
    "awkward_localindex": _positions,
    "awkward_ListArray_broadcast_tooffsets": _broadcast_to_offsets,
    "awkward_ListArray_compact_offsets": _offsets,
    "awkward_ListArray_combinations_length": _count_choices,
    "awkward_ListArray_combinations": _choose,
    "awkward_ListArray_getitem_jagged_apply": _take_of_lists,
    "awkward_ByteMaskedArray_numnull": _count_missing,
    "awkward_ByteMaskedArray_getitem_nextcarry": _positions_of_valid,
}
