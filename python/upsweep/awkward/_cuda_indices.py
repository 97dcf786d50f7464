# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_cuda_indices.py: Awkward's GPU kernels for indices, masks, offsets and slices, under the same names
# and arguments. Scans and selections are upsweep's, and the rest is a few CuPy expressions. Awkward compiles most of
# its kernels with cuda.compute at their first run, seconds each, or waits in them.
from __future__ import annotations

from typing import Any

import numpy as np
from awkward._util import kSliceNone

from upsweep import _core
from upsweep.awkward._cuda_place import Place, module_of

# -------------------------------------------------------------------------------------------------------------- indices


def _greatest(index: Any, dtype: np.dtype) -> int:
    """The maximum of the indices, read as that type."""
    place, greatest = Place(index), np.empty(1, dtype)
    _core.reduce(place.where, "max", None, place(index.view(dtype)), greatest)
    return int(greatest[0])


def _require_below(index: Any, length: int) -> None:
    """Requires all indices to be less than `length`. Negative indices represent missing values."""
    if index.size and _greatest(index, index.dtype) >= length:
        raise IndexError(f"an index is not less than {length}")


def _require_all_within(index: Any, length: int) -> None:
    """Refuses also negative indices: as unsigned numbers they are greater than any length."""
    if index.size and _greatest(index, np.dtype(f"u{index.itemsize}")) >= length:
        raise IndexError(f"an index is not less than {length}")


def _ranks(place: Place, mask: Any) -> Any:
    """For each boolean the number of true ones before it, and as last element their total number."""
    ranks = place.xp.empty(mask.size + 1, "int64")
    place.offsets_of(mask.astype(np.int32), ranks)
    return ranks


def _rank_or_minus_one(ranks: Any, mask: Any) -> Any:
    return module_of(ranks).where(mask, ranks[:-1], -1)


def _carry_all(tocarry: Any, fromindex: Any, lenindex: int, lencontent: int) -> None:
    index = fromindex[:lenindex]
    _require_all_within(index, lencontent)
    tocarry[:lenindex] = index


def _carry_valid(tocarry: Any, fromindex: Any, lenindex: int, lencontent: int) -> None:
    index = fromindex[:lenindex]
    _require_below(index, lencontent)
    Place(index).keep(index >= 0, (index.astype(tocarry.dtype, copy=False), tocarry))


def _carry_valid_and_say_where(tocarry: Any, toindex: Any, fromindex: Any, lenindex: int, lencontent: int) -> None:
    _carry_valid(tocarry, fromindex, lenindex, lencontent)
    is_valid = fromindex[:lenindex] >= 0
    toindex[:lenindex] = _rank_or_minus_one(_ranks(Place(fromindex), is_valid), is_valid)


def _index_of_index(toindex: Any, outerindex: Any, outerlength: int, innerindex: Any, innerlength: int) -> None:
    outer = outerindex[:outerlength]
    _require_below(outer, innerlength)
    if innerlength == 0:
        toindex[:outerlength] = -1
        return
    inner = innerindex[outer].astype(np.int64, copy=False)
    toindex[:outerlength] = module_of(outer).where(outer < 0, -1, inner)


def _count_negative(numnull: Any, fromindex: Any, lenindex: int) -> None:
    numnull[0] = Place(fromindex).keep(fromindex[:lenindex] < 0)


def _fill_missing_with_first(toindex: Any, fromindex: Any, length: int) -> None:
    toindex[:length] = module_of(toindex).maximum(fromindex[:length], 0)


# ---------------------------------------------------------------------------------------------------------------- masks


def _are_valid(mask: Any, length: int, validwhen: bool) -> Any:
    """Which bytes of the mask mean valid. Bytes that are not 0 are true."""
    return mask[:length] != 0 if validwhen else mask[:length] == 0


def _mask_to_index(toindex: Any, mask: Any, length: int, validwhen: bool) -> None:
    xp = module_of(toindex)
    toindex[:length] = xp.where(_are_valid(mask, length, validwhen), xp.arange(length), -1)


def _overlay(tomask: Any, theirmask: Any, mymask: Any, length: int, validwhen: bool) -> None:
    tomask[:length] = theirmask[:length] | ~_are_valid(mymask, length, validwhen)


def _positions_and_where(tocarry: Any, outindex: Any, mask: Any, length: int, validwhen: bool) -> None:
    place, is_valid = Place(mask), _are_valid(mask, length, validwhen)
    place.keep(is_valid, (place.xp.module.arange(length, dtype=tocarry.dtype), tocarry))
    outindex[:length] = _rank_or_minus_one(_ranks(place, is_valid), is_valid)


def _without_missing(
    nextcarry: Any, nextoffsets: Any, outindex: Any, values: Any, is_valid: Any, offsets: Any
) -> None:  # fmt: skip
    """Selects the valid elements of lists: the positions of their values, the new offsets, and the output position of each element."""
    place = Place(offsets)
    ranks = _ranks(place, is_valid)
    place.keep(is_valid, (values.astype(nextcarry.dtype, copy=False), nextcarry))
    outindex[: is_valid.size] = _rank_or_minus_one(ranks, is_valid)
    nextoffsets[: offsets.size] = ranks[offsets]


def _total_of(offsets: Any, elements: int) -> int:
    """The number of elements of the lists, whose offsets must begin with 0."""
    first, total = offsets[:: offsets.size - 1].tolist()
    if first != 0 or not 0 <= total <= elements:
        raise ValueError(f"offsets from {first} to {total}, of {elements} elements")
    return total


def _reduce_next_of_index(
    nextcarry: Any, nextoffsets: Any, outindex: Any, index: Any, offsets: Any, outlength: int
) -> None:  # fmt: skip
    if outlength == 0:
        nextoffsets[:1] = 0
        return
    of = offsets[: outlength + 1]
    values = index[: _total_of(of, index.size)]
    _without_missing(nextcarry, nextoffsets, outindex, values, values >= 0, of)


def _reduce_next_of_mask(
    nextcarry: Any, nextoffsets: Any, outindex: Any, mask: Any, offsets: Any, outlength: int, validwhen: bool
) -> None:
    if outlength == 0:
        nextoffsets[:1] = 0
        return
    of = offsets[: outlength + 1]
    total = _total_of(of, mask.size)
    positions = module_of(mask).arange(total, dtype=nextcarry.dtype)
    _without_missing(nextcarry, nextoffsets, outindex, positions, _are_valid(mask, total, validwhen), of)


def _end_offsets(outoffsets: Any, starts: Any, startslength: int, outindexlength: int) -> None:
    outoffsets[:startslength] = starts[:startslength]
    outoffsets[startslength] = outindexlength


def _drop_missing(tooffsets: Any, noneindexes: Any, fromoffsets: Any, length_offsets: int, length_indexes: int) -> None:
    offsets = fromoffsets[:length_offsets]
    _require_all_within(offsets, length_indexes + 1)
    missing_before = _ranks(Place(offsets), noneindexes[:length_indexes] < 0)
    tooffsets[:length_offsets] = offsets - missing_before[offsets]


# ------------------------------------------------------------------------------------------------ slices that are lists


def _expand(multistarts: Any, multistops: Any, singleoffsets: Any, regularsize: int, regularlength: int) -> None:
    if regularlength and regularsize:
        multistarts.reshape(regularlength, regularsize)[:] = singleoffsets[:regularsize]
        multistops.reshape(regularlength, regularsize)[:] = singleoffsets[1 : regularsize + 1]


def _count_of_slices(carrylen: Any, slicestarts: Any, slicestops: Any, sliceouterlen: int) -> None:
    carrylen[0] = (slicestops[:sliceouterlen] - slicestarts[:sliceouterlen]).sum()


def _count_valid(
    numvalid: Any, slicestarts: Any, slicestops: Any, length: int, missing: Any, missinglength: int
) -> None:  # fmt: skip
    place = Place(missing)
    lists = place.bounds(slicestarts, slicestops, length)
    numvalid[0] = _core.select(place.where, lists, None, place(missing[:missinglength] >= 0), None, [])


def _shrink(
    tocarry: Any, tosmalloffsets: Any, tolargeoffsets: Any, slicestarts: Any, slicestops: Any, length: int, missing: Any
) -> None:  # fmt: skip
    """Computes both offsets, which begin where the first slice begins."""
    if length == 0:
        tosmalloffsets[:1] = 0
        tolargeoffsets[:1] = 0
        return
    place = Place(tocarry)
    lists = place.bounds(slicestarts, slicestops, length)
    positions = place.xp.module.arange(missing.size)
    small, large = tosmalloffsets[: length + 1], tolargeoffsets[: length + 1]
    _core.select(place.where, lists, None, place(missing >= 0), place(small), [(place(positions), place(tocarry))])
    _core.offsets(place.where, *lists, place(large), False)
    small += slicestarts[:1]
    large += slicestarts[:1]


def _slices_of_missing(index_in: Any, offsets_in: Any, mask_out: Any, starts_out: Any, stops_out: Any, length: int) -> None:
    is_there = index_in[:length] >= 0
    place = Place(index_in)
    bounds = offsets_in[_ranks(place, is_there)]
    starts_out[:length] = bounds[:-1]
    stops_out[:length] = bounds[1:]
    _mask_to_index(mask_out, is_there, length, True)


def _slices_of_valid(index: Any, starts_in: Any, stops_in: Any, starts_out: Any, stops_out: Any, length: int) -> None:
    columns = ((starts_in[:length], starts_out), (stops_in[:length], stops_out))
    Place(index).keep(index[:length] >= 0, *columns)


# ------------------------------------------------------------------------------------------------------------- ranges


def _bound(bound: int, lengths: Any, least: int, greatest: Any) -> Any:
    """A slice's bound within lists of these lengths; negative bounds count from the ends."""
    xp = module_of(lengths)
    return xp.minimum(greatest, bound) if bound >= 0 else xp.maximum(lengths + bound, least)


def _range_of_lists(fromstarts: Any, fromstops: Any, length: int, start: int, stop: int, step: int) -> tuple[Any, Any]:
    """For each list's slice the position of its first element within the list, and the number of its elements."""
    lengths = (fromstops[:length] - fromstarts[:length]).astype(np.int64, copy=False)
    if step > 0:
        first = 0 if start == kSliceNone else _bound(start, lengths, 0, lengths)
        last = lengths if stop == kSliceNone else _bound(stop, lengths, 0, lengths)
        counts = (last - first + (step - 1)) // step
    else:
        first = lengths - 1 if start == kSliceNone else _bound(start, lengths, -1, lengths - 1)
        last = -1 if stop == kSliceNone else _bound(stop, lengths, -1, lengths - 1)
        counts = (first - last - (step + 1)) // -step
    return first, module_of(counts).maximum(counts, 0)


def _count_of_range(
    carrylength: Any, fromstarts: Any, fromstops: Any, lenstarts: int, start: int, stop: int, step: int
) -> None:
    _, counts = _range_of_lists(fromstarts, fromstops, lenstarts, start, stop, step)
    carrylength[0] = counts.sum()


def _range(
    tooffsets: Any, tocarry: Any, fromstarts: Any, fromstops: Any, lenstarts: int, start: int, stop: int, step: int
) -> None:
    """Writes carry[k] = step * k + a value of k's list. These values are computed per list and broadcast to its elements."""
    place = Place(tocarry)
    first, counts = _range_of_lists(fromstarts, fromstops, lenstarts, start, stop, step)
    offsets = place.xp.empty(lenstarts + 1, "int64")
    total = place.offsets_of(counts, offsets)
    tooffsets[: lenstarts + 1] = offsets
    if total:
        carry = tocarry[:total]
        values = fromstarts[:lenstarts] + first - step * offsets[:-1]
        _core.broadcast(place.where, place(offsets), place(values), place(carry))
        carry += step * place.xp.module.arange(total)


def _at(tocarry: Any, at: int, length: int, size: int) -> None:
    position = int(at) + size if at < 0 else int(at)
    if not 0 <= position < size:
        raise IndexError(f"no element {at} in lists of {size}")
    xp = module_of(tocarry)
    tocarry[:length] = xp.arange(position, position + length * size, size, dtype=tocarry.dtype)


def _range_of_sized(tocarry: Any, regular_start: int, step: int, length: int, size: int, nextsize: int) -> None:
    xp = module_of(tocarry)
    begins = xp.arange(length, dtype=tocarry.dtype) * size + regular_start
    _outer_sum(tocarry, begins, step * xp.arange(nextsize, dtype=tocarry.dtype))


def _carry_of_sized(tocarry: Any, fromcarry: Any, lencarry: int, size: int) -> None:
    _outer_sum(tocarry, fromcarry[:lencarry] * size, module_of(tocarry).arange(size, dtype=tocarry.dtype))


def _outer_sum(out: Any, rows: Any, columns: Any) -> None:
    out[: rows.size * columns.size].reshape(rows.size, columns.size)[:] = rows[:, None] + columns


# -------------------------------------------------------------------------------------------------------------- padding


def _offsets_of_padded(tooffsets: Any, fromoffsets: Any, fromlength: int, target: int, tolength: Any) -> None:
    place = Place(tooffsets)
    lengths = fromoffsets[1 : fromlength + 1] - fromoffsets[:fromlength]
    tolength[0] = place.offsets_of(place.xp.module.maximum(lengths, target), tooffsets[: fromlength + 1])


def _pad(toindex: Any, fromoffsets: Any, fromlength: int, target: int) -> None:
    """Marks everything as missing except the elements, which go to the new beginnings of their lists."""
    toindex[:] = -1
    if fromlength == 0:
        return
    place, from_lists = Place(toindex), fromoffsets[: fromlength + 1]
    elements = _total_of(from_lists, toindex.size)
    if elements == 0:
        return
    lengths = from_lists[1:] - from_lists[:-1]
    offsets = place.xp.empty(fromlength + 1, "int64")
    place.offsets_of(place.xp.module.maximum(lengths, target), offsets)
    positions = place.xp.empty(elements, "int64")
    lists = (place(offsets[:-1]), place(offsets[:-1] + lengths))
    _core.broadcast_to_offsets(place.where, lists, place(from_lists), toindex.size, place(positions))
    toindex[positions] = place.xp.module.arange(elements, dtype=toindex.dtype)


def _pad_and_clip(toindex: Any, fromoffsets: Any, length: int, target: int) -> None:
    xp = module_of(toindex)
    starts, stops = fromoffsets[:length, None], fromoffsets[1 : length + 1, None]
    positions = starts + xp.arange(target)
    toindex[: length * target].reshape(length, target)[:] = xp.where(positions < stops, positions, -1)


def _bounds_of_clipped(tostarts: Any, tostops: Any, target: int, length: int) -> None:
    starts = module_of(tostarts).arange(length, dtype=tostarts.dtype) * target
    tostarts[:length] = starts
    tostops[:length] = starts + target


# --------------------------------------------------------------------------------------- unions, and lists side by side


def _retag(
    totags: Any, toindex: Any, fromtags: Any, fromindex: Any, towhich: int, fromwhich: int, length: int, base: int
) -> None:
    xp, tags, index = module_of(totags), totags[:length], toindex[:length]
    is_it = fromtags[:length] == fromwhich
    tags[:] = xp.where(is_it, totags.dtype.type(towhich), tags)
    index[:] = xp.where(is_it, fromindex[:length].astype(toindex.dtype, copy=False) + base, index)


def _tag_lists(totags: Any, toindex: Any, tmpstarts: Any, tag: int, fromcounts: Any, length: int) -> None:
    """Writes the lists' elements, one after the other, to the positions in `tmpstarts`, and advances these."""
    place, starts, counts = Place(toindex), tmpstarts[:length], fromcounts[:length]
    offsets = place.xp.empty(length + 1, "int64")
    total = place.offsets_of(counts, offsets)
    stops = (starts + counts).astype(starts.dtype, copy=False)
    if total:
        positions = place.xp.empty(total, "int64")
        lists = place.bounds(starts, stops, length)
        _core.broadcast_to_offsets(place.where, lists, place(offsets), toindex.size, place(positions))
        totags[positions] = tag
        toindex[positions] = place.xp.module.arange(total, dtype=toindex.dtype)
    starts[:] = stops


def _append_lists(
    tostarts: Any, tostartsoffset: int, tostops: Any, tostopsoffset: int, fromstarts: Any, fromstops: Any, length: int, base: int
) -> None:  # fmt: skip
    tostarts[tostartsoffset : tostartsoffset + length] = fromstarts[:length] + base
    tostops[tostopsoffset : tostopsoffset + length] = fromstops[:length] + base


def _offsets_at_offsets(tooffsets: Any, outeroffsets: Any, outeroffsetslen: int, inneroffsets: Any) -> None:
    outer = outeroffsets[:outeroffsetslen]
    _require_all_within(outer, inneroffsets.size)
    tooffsets[:outeroffsetslen] = inneroffsets[outer]


# ----------------------------------------------------------------------------------------------------- sums of squares


def _sum_of(result: Any, values: Any, offsets: Any) -> None:
    place = Place(result)
    _core.segmented_reduce(place.where, "add", place(offsets), None, place(values), None, None, place(result))


def _sum_of_squares(result: Any, input_data: Any, offsets_data: Any, outlength: int) -> None:
    values = input_data.astype(result.dtype, copy=False)
    _sum_of(result[:outlength], values * values, offsets_data[: outlength + 1])


def _sum_of_centered_squares(result: Any, input_data: Any, offsets_data: Any, outlength: int, means: Any) -> None:
    if outlength == 0:
        return
    place, offsets = Place(result), offsets_data[: outlength + 1]
    elements = _total_of(offsets, input_data.size)
    deviations = place.xp.empty(elements, result.dtype)
    own_means = means[:outlength].astype(result.dtype, copy=False)
    _core.broadcast(place.where, place(offsets), place(own_means), place(deviations))
    deviations -= input_data[:elements]
    deviations *= deviations
    _sum_of(result[:outlength], deviations, offsets)


KERNELS = {
    "awkward_IndexedArray_getitem_nextcarry": _carry_all,
    "awkward_IndexedArray_flatten_nextcarry": _carry_valid,
    "awkward_IndexedArray_getitem_nextcarry_outindex": _carry_valid_and_say_where,
    "awkward_IndexedArray_simplify": _index_of_index,
    "awkward_IndexedArray_numnull": _count_negative,
    "awkward_UnionArray_fillna": _fill_missing_with_first,
    "awkward_ByteMaskedArray_toIndexedOptionArray": _mask_to_index,
    "awkward_ByteMaskedArray_overlay_mask": _overlay,
    "awkward_ByteMaskedArray_getitem_nextcarry_outindex": _positions_and_where,
    "awkward_IndexedArray_reduce_next_64": _reduce_next_of_index,
    "awkward_ByteMaskedArray_reduce_next_64": _reduce_next_of_mask,
    "awkward_IndexedArray_reduce_next_fix_offsets_64": _end_offsets,
    "awkward_ListOffsetArray_drop_none_indexes": _drop_missing,
    "awkward_RegularArray_getitem_jagged_expand": _expand,
    "awkward_ListArray_getitem_jagged_carrylen": _count_of_slices,
    "awkward_ListArray_getitem_jagged_numvalid": _count_valid,
    "awkward_ListArray_getitem_jagged_shrink": _shrink,
    "awkward_Content_getitem_next_missing_jagged_getmaskstartstop": _slices_of_missing,
    "awkward_MaskedArray_getitem_next_jagged_project": _slices_of_valid,
    "awkward_ListArray_getitem_next_range_carrylength": _count_of_range,
    "awkward_ListArray_getitem_next_range": _range,
    "awkward_RegularArray_getitem_next_at": _at,
    "awkward_RegularArray_getitem_next_range": _range_of_sized,
    "awkward_RegularArray_getitem_carry": _carry_of_sized,
    "awkward_ListOffsetArray_rpad_length_axis1": _offsets_of_padded,
    "awkward_ListOffsetArray_rpad_axis1": _pad,
    "awkward_ListOffsetArray_rpad_and_clip_axis1": _pad_and_clip,
    "awkward_index_rpad_and_clip_axis1": _bounds_of_clipped,
    "awkward_UnionArray_simplify_one": _retag,
    "awkward_UnionArray_nestedfill_tags_index": _tag_lists,
    "awkward_ListArray_fill": _append_lists,
    "awkward_ListOffsetArray_flatten_offsets": _offsets_at_offsets,
    "awkward_reduce_sumofsquares": _sum_of_squares,
    "awkward_reduce_centered_sumofsquares": _sum_of_centered_squares,
}
