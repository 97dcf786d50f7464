# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_functions.py: Awkward's functions on lists of numbers, each in one pass; the rest is Awkward's.
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import awkward as ak
import numpy as np

import upsweep
from upsweep.awkward import _choices
from upsweep.awkward._layouts import Lists, array_of, contents, is_inner, list_array, lists_of

# Some functions have the names of Python built-ins, which this module therefore does not call: see _layouts.py.


def select(array: Any, mask: Any) -> Any:
    """Selects the elements of every list whose mask is true: `array[mask]`.

    It is fused for lists of numbers, or of records of numbers, and a mask of lists of the same lengths.

    >>> import awkward as ak, upsweep.awkward
    >>> pt = ak.Array([[31.0, 20.0], [], [52.0]])
    >>> upsweep.awkward.select(pt, pt > 30)
    <Array [[31], [], [52]] type='3 * var * float64'>
    """
    lists, masks = lists_of(array), lists_of(mask)
    if lists is None or masks is None or not (_is_mask(masks) and _are_ragged(lists, masks)):
        return array[mask]
    lists, masks = lists.packed(), masks.packed()
    if not _are_equal(lists.bounds, masks.bounds):
        return array[mask]
    offsets, *kept = upsweep.select(masks.columns[0], *lists.columns, lists=lists.bounds)
    return array_of(list_array(offsets, lists.content(kept)), array)


def _is_mask(masks: Lists) -> bool:
    return masks.record is None and masks.columns[0].dtype == np.bool_


def _are_ragged(*arrays: Lists) -> bool:
    for lists in arrays:
        if lists.size:
            return False
    return True


def _are_equal(offsets: np.ndarray, others: np.ndarray) -> bool:
    same_memory = offsets.dtype == others.dtype and offsets.ctypes.data == others.ctypes.data
    return len(offsets) == len(others) and (same_memory or np.array_equal(offsets, others))


def pack(array: Any) -> Any:
    """Packs the lists one after the other, without elements that are in no list: `ak.to_packed`.

    It is fused for lists of numbers, or of records of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> pt = ak.Array([[31.0, 20.0], [], [52.0]])[[2, 1, 0]]
    >>> upsweep.awkward.pack(pt)
    <Array [[52], [], [31, 20]] type='3 * var * float64'>
    """
    lists = lists_of(array)
    if lists is None or not isinstance(lists.bounds, tuple):
        return ak.to_packed(array)
    lists = lists.packed()
    return array_of(list_array(lists.bounds, lists.content(lists.columns)), array)


def flatten(array: Any, axis: Any = 1, **others: Any) -> Any:
    """Computes the elements of all lists: `ak.flatten`. It is fused along the axis of lists of numbers, or of records of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.flatten(ak.Array([[31.0, 20.0], [], [52.0]])[[2, 1, 0]])
    <Array [52, 31, 20] type='3 * float64'>
    """
    lists = lists_of(array) if is_inner(axis) and not others else None
    if lists is None or not isinstance(lists.bounds, tuple):
        return ak.flatten(array, axis=axis, **others)
    return array_of(lists.content(lists.packed().columns), array)


# ---------------------------------------------------------------------------------------------------------- reductions


def _reduce(name: str, op: str, array: Any, axis: Any, keepdims: bool, mask_identity: bool, others: dict) -> Any:
    lists = lists_of(array) if is_inner(axis) and not others else None
    if lists is None or not lists.are_numbers:
        theirs = getattr(ak, name)
        return theirs(array, axis=axis, keepdims=keepdims, mask_identity=mask_identity, **others)
    result = _folded(op, lists)
    if result is None:
        return getattr(ak, name)(array, axis=axis, keepdims=keepdims, mask_identity=mask_identity)
    layout = contents.NumpyArray(result)
    if mask_identity:
        is_empty = ak.index.Index8(lists.are_empty().view(np.int8))
        layout = contents.ByteMaskedArray(is_empty, layout, False)
    if keepdims:
        layout = contents.RegularArray(layout, 1, lists.count)
    return array_of(layout, array)


def _folded(op: str, lists: Lists) -> np.ndarray | None:
    """The fold of each list; None if NaN would determine the minimum or maximum, because Awkward ignores NaN."""
    if op == "count":
        return lists.lengths()
    content = lists.columns[0]
    if (
        op in ("argmin", "argmax")
        and content.dtype.kind == "f"
        and len(content)
        and np.isnan(upsweep.reduce(content, op="max"))
    ):
        return None
    initial = 0 if op == "add" else None  # Awkward's sums begin with 0.0; therefore the sum of -0.0 is 0.0
    result = upsweep.segmented_reduce(content, lists.bounds, op=op, initial=initial, overflow="wrap")
    if op not in ("min", "max"):
        return result
    if content.dtype == np.bool_:
        return result != 0
    if result.dtype.kind == "f" and len(result) and np.isnan(np.max(result)):
        return None
    return result


def sum(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = False, **others: Any) -> Any:
    """Computes the sum of every list: `ak.sum`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.sum(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [51, 0, 52] type='3 * float64'>
    """
    return _reduce("sum", "add", array, axis, keepdims, mask_identity, others)


def prod(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = False, **others: Any) -> Any:
    """Computes the product of every list: `ak.prod`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.prod(ak.Array([[3, 2], [], [5]]), axis=1)
    <Array [6, 1, 5] type='3 * int64'>
    """
    return _reduce("prod", "mul", array, axis, keepdims, mask_identity, others)


def min(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = True, **others: Any) -> Any:
    """Computes the minimum of every list: `ak.min`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.min(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [20, None, 52] type='3 * ?float64'>
    """
    return _reduce("min", "min", array, axis, keepdims, mask_identity, others)


def max(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = True, **others: Any) -> Any:
    """Computes the maximum of every list: `ak.max`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.max(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [31, None, 52] type='3 * ?float64'>
    """
    return _reduce("max", "max", array, axis, keepdims, mask_identity, others)


def any(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = False, **others: Any) -> Any:
    """Tests whether any element of the list is nonzero: `ak.any`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.any(ak.Array([[True, False], [], [False]]), axis=1)
    <Array [True, False, False] type='3 * bool'>
    """
    return _reduce("any", "any", array, axis, keepdims, mask_identity, others)


def all(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = False, **others: Any) -> Any:
    """Tests whether all elements of the list are nonzero: `ak.all`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.all(ak.Array([[True, False], [], [True]]), axis=1)
    <Array [False, True, True] type='3 * bool'>
    """
    return _reduce("all", "all", array, axis, keepdims, mask_identity, others)


def count(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = False, **others: Any) -> Any:
    """Counts the elements of every list: `ak.count`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.count(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [2, 0, 1] type='3 * int64'>
    """
    return _reduce("count", "count", array, axis, keepdims, mask_identity, others)


def count_nonzero(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = False, **others: Any) -> Any:
    """Counts the nonzero elements of every list: `ak.count_nonzero`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.count_nonzero(ak.Array([[3, 0], [], [5]]), axis=1)
    <Array [1, 0, 1] type='3 * int64'>
    """
    return _reduce("count_nonzero", "count_nonzero", array, axis, keepdims, mask_identity, others)


def argmin(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = True, **others: Any) -> Any:
    """Computes the position of the minimum of every list: `ak.argmin`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.argmin(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [1, None, 0] type='3 * ?int64'>
    """
    return _reduce("argmin", "argmin", array, axis, keepdims, mask_identity, others)


def argmax(array: Any, axis: Any = None, *, keepdims: bool = False, mask_identity: bool = True, **others: Any) -> Any:
    """Computes the position of the maximum of every list: `ak.argmax`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.argmax(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [0, None, 0] type='3 * ?int64'>
    """
    return _reduce("argmax", "argmax", array, axis, keepdims, mask_identity, others)


# -------------------------------------------------------------------------------------------------- order and positions


def _sorted(name: str, ours: Any, array: Any, axis: Any, ascending: bool, stable: bool, others: dict) -> Any:
    lists = lists_of(array) if is_inner(axis) and not others else None
    if lists is None or not lists.are_numbers:
        return getattr(ak, name)(array, axis=axis, ascending=ascending, stable=stable, **others)
    lists = lists.packed()
    content = contents.NumpyArray(ours(lists.columns[0], lists.bounds, descending=not ascending, nan_first=True))
    return array_of(list_array(lists.bounds, content), array)


def sort(array: Any, axis: Any = -1, *, ascending: bool = True, stable: bool = True, **others: Any) -> Any:
    """Sorts the elements of every list: `ak.sort`. It is fused along the axis of lists of numbers, and always stable.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.sort(ak.Array([[31.0, 20.0], [], [52.0]]))
    <Array [[20, 31], [], [52]] type='3 * var * float64'>
    """
    return _sorted("sort", upsweep.segmented_sort, array, axis, ascending, stable, others)


def argsort(array: Any, axis: Any = -1, *, ascending: bool = True, stable: bool = True, **others: Any) -> Any:
    """Computes the positions that sort every list: `ak.argsort`. It is fused along the axis of lists of numbers, and always stable.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.argsort(ak.Array([[31.0, 20.0], [], [52.0]]))
    <Array [[1, 0], [], [0]] type='3 * var * int64'>
    """
    return _sorted("argsort", upsweep.segmented_argsort, array, axis, ascending, stable, others)


def local_index(array: Any, axis: Any = -1, **others: Any) -> Any:
    """Computes the position of every element in its list: `ak.local_index`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.local_index(ak.Array([[31.0, 20.0], [], [52.0]]))
    <Array [[0, 1], [], [0]] type='3 * var * int64'>
    """
    lists = lists_of(array) if is_inner(axis) and not others else None
    if lists is None or lists.record is not None or lists.size:
        return ak.local_index(array, axis, **others)
    offsets = lists.bounds
    if isinstance(offsets, tuple):
        offsets = upsweep.offsets(*offsets)
    return array_of(list_array(offsets, contents.NumpyArray(upsweep.local_index(offsets))), array)


# ------------------------------------------------------------------------------------------------------------- choices


def combinations(
    array: Any,
    n: int,
    *,
    replacement: bool = False,
    axis: Any = 1,
    fields: Any = None,
    with_name: str | None = None,
    **others: Any,
) -> Any:
    """Computes every choice of n elements of each list: `ak.combinations`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.combinations(ak.Array([[1, 2], [], [4]]), 2)
    <Array [[(1, 2)], [], []] type='3 * var * (int64, int64)'>
    """
    lists = lists_of(array) if is_inner(axis) and not others and type(n) is int and n > 0 else None
    if lists is None or not lists.are_numbers or lists.size or not _are_names(fields, n):
        return ak.combinations(array, n, replacement=replacement, axis=axis, fields=fields, with_name=with_name, **others)
    offsets, columns = _choices.combinations(lists, n, replacement)
    return array_of(list_array(offsets, _records(columns, fields, with_name)), array)


def _are_names(fields: Any, n: int) -> bool:
    return fields is None or (isinstance(fields, (list, tuple)) and len(fields) == n and {type(f) for f in fields} == {str})


def _records(columns: list[np.ndarray], fields: Any, with_name: str | None) -> Any:
    arrays = [contents.NumpyArray(column) for column in columns]
    names = None if fields is None else list(fields)
    parameters = None if with_name is None else {"__record__": with_name}
    return contents.RecordArray(arrays, names, length=len(columns[0]), parameters=parameters)


def cartesian(arrays: Any, axis: Any = 1, *, nested: Any = None, with_name: str | None = None, **others: Any) -> Any:
    """Computes every choice of one element of each array's list: `ak.cartesian`. It is fused along the axis of lists of numbers.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.cartesian([ak.Array([[1, 2], []]), ak.Array([[5], [6]])])
    <Array [[(1, 5), (2, 5)], []] type='2 * var * (int64, int64)'>
    """
    of = _alike(arrays) if is_inner(axis) and not nested and not others else None
    if of is None:
        return ak.cartesian(arrays, axis, nested=nested, with_name=with_name, **others)
    named = isinstance(arrays, Mapping)
    offsets, columns = _choices.cartesian(of)
    first = next(iter(arrays.values() if named else arrays))
    return array_of(list_array(offsets, _records(columns, list(arrays) if named else None, with_name)), first)


def _alike(arrays: Any) -> list[Lists] | None:
    """Ragged arrays of numbers with the same number of lists and Awkward's default behavior; otherwise None."""
    if not isinstance(arrays, (list, tuple, Mapping)) or len(arrays) == 0:
        return None
    of = []
    for array in arrays.values() if isinstance(arrays, Mapping) else arrays:
        lists = lists_of(array)
        if lists is None or not lists.are_numbers or lists.size or array._behavior is not None:
            return None
        of.append(lists)
    return of if len({lists.count for lists in of}) == 1 else None


def concatenate(arrays: Any, axis: Any = 0, **others: Any) -> Any:
    """Concatenates the lists of several arrays: `ak.concatenate`. It is fused for axis=1 of lists of numbers of one type.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.concatenate([ak.Array([[1, 2], []]), ak.Array([[3], [4]])], axis=1)
    <Array [[1, 2, 3], [4]] type='2 * var * int64'>
    """
    of = _alike(arrays) if is_inner(axis) and not others and not isinstance(arrays, Mapping) else None
    if of is None or len({lists.columns[0].dtype for lists in of}) != 1:
        return ak.concatenate(arrays, axis, **others)
    offsets, content = upsweep.pack(_in_turn(of), np.concatenate([lists.columns[0] for lists in of]))
    return array_of(list_array(offsets[:: len(of)], contents.NumpyArray(content)), arrays[0])


def _in_turn(of: list[Lists]) -> tuple[np.ndarray, np.ndarray]:
    """The starts and stops of the first list of each array, then of the second; the contents are stored one after the other."""
    starts, stops = np.empty((of[0].count, len(of)), np.int64), np.empty((of[0].count, len(of)), np.int64)
    first = 0
    for i, lists in enumerate(of):
        first_of_each, last_of_each = lists.starts_and_stops()
        np.add(first_of_each, first, out=starts[:, i])
        np.add(last_of_each, first, out=stops[:, i])
        first += len(lists.columns[0])
    return starts.reshape(-1), stops.reshape(-1)
