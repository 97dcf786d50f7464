# SPDX-License-Identifier: Apache-2.0
# upsweep/_segmented.py: reductions, scans and sorts of every list of a ragged array, and of every run of equal keys.

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core, _options
from ._arrays import (
    COMPUTED,
    INTEGERS,
    Array,
    dtype_name,
    flag,
    output_in,
    require_numbers,
    take_in,
    take_in_numbers,
    take_out,
    tuple_of,
    written_to,
)
from ._keys import Key, are_several, key_of, of_integers, together
from ._lists import Ragged, take_in_ragged
from ._plain import plain
from ._scan import beginning, checked_out, operator_name, type_of_result
from ._times import take_times

REDUCERS = {"any": "bool", "all": "bool", "count": "int64", "count_nonzero": "int64", "argmin": "int64", "argmax": "int64"}


def _result(like: Array, shape: tuple[int, ...], dtype: str, out: Any, inputs: Sequence[Any]) -> tuple[Any, Array | None]:
    """Where a call writes its result: into `out` if it is contiguous and does not overlap the inputs, otherwise a new array."""
    given = checked_out(out, like, shape)
    if given is not None:
        if given.dtype != dtype:
            raise TypeError(f"out: {dtype} is needed, not {given.dtype}")
        if like.xp.is_contiguous(given.data) and not any(like.xp.overlap(given.data, array) for array in inputs):
            return given.data, given
    return like.xp.like(like.data, shape) if dtype == like.dtype else like.xp.empty(shape, dtype), given


def _give(like: Array, result: Any, given: Array | None, out: Any, beside: bool = False) -> Any:
    if given is None:
        return like.give(result, beside=beside)
    if given.data is not result:
        given.data[...] = result
    return out


def _where(ragged: Ragged, overflow: str | None = None) -> _core.Place:
    return _options.place(ragged.content.xp.device, ragged.content.xp.stream, overflow)


def _elements(ragged: Ragged) -> Any:
    xp = ragged.content.xp
    return xp.elements(xp.contiguous(ragged.content.data))


def _reduced_type(content: Array, op: str, initial: Any, dtype: Any, out: Any, overflow: str | None) -> str:
    if operator_name(op, REDUCERS) in REDUCERS:
        if dtype is not None and dtype_name(dtype) != REDUCERS[op]:
            raise TypeError(f"dtype: results of {op} are {REDUCERS[op]}")
        if initial is not None:
            raise TypeError(f"initial: {op} has no initial value")
        return REDUCERS[op]
    return type_of_result(content, op, dtype, take_out(out) if out is not None else None, overflow)


@plain
def segmented_reduce(
    content: Any,
    lists: Any = None,
    /,
    *,
    op: str = "add",
    initial: Any = None,
    dtype: Any = None,
    valid: Any = None,
    overflow: str | None = None,
    out: Any = None,
) -> Any:
    """Folds the elements of every list to one value.

    Parameters
    ----------
    content : array of shape (m,)
        The elements of all lists, or a list array of pyarrow or Polars, which needs no `lists`.
    lists : array, tuple of arrays, or int
        The positions of the lists in the content, as integers. Lists are given by n + 1 offsets, by (starts, stops), or by the
        size of every list. Lists by (starts, stops) may be in any order, overlap, or have gaps.
    op : str
        The name of an operator, as for `scan`. Also "any", "all", "count", "count_nonzero", "argmin", "argmax".
    initial : scalar, optional
        The value that an operator's fold of every list starts with.
    dtype : optional
        The type of the results, as for `scan`. For "any" and "all" it is bool, for counts and positions int64.
    valid : array of bool, of shape (m,), optional
        An element with False is null and is skipped. Nulls of Arrow arrays are always skipped, and null lists are empty.
    overflow : {"checked", "wrap"}, optional
        As for `scan`, except that "checked" is also possible on a GPU.
    out : array of shape (n,), optional
        The array to write the results to. The function returns this array.

    Returns
    -------
    array of shape (n,)
        The result of an empty list is `initial`, or the operator's identity. The identity is 0 or 1, for "min" the maximum value
        of the type, and for "max" the minimum value; of dates and times both are NaT, of times of day NULL. For "argmin" and
        "argmax" the result of an empty list is -1. Positions count from the start of the list. NaN is both minimum and maximum of a list that contains NaN.

    Raises
    ------
    ValueError
        A list stops before it starts, or ends past the content; `index` is the first such list. Also an unknown operator.
    OverflowError
        The sum of a list does not fit; `index` is the first such list.
    TypeError
        The elements have an unsupported type.

    Notes
    -----
    Floats of lists of up to 4,096 elements are added one after the other. Longer lists are added in blocks of 4,096 elements.

    Examples
    --------
    >>> import numpy, upsweep
    >>> pt = numpy.array([30.0, 20.0, 50.0])
    >>> offsets = numpy.array([0, 2, 2, 3])
    >>> upsweep.segmented_reduce(pt, offsets)
    array([50.,  0., 50.])
    >>> upsweep.segmented_reduce(pt, offsets, op="argmax")
    array([ 0, -1,  0])
    """
    ragged = take_in_ragged(content, lists, valid)
    times, initial, target = take_times(ragged.content, "content", op, dtype, initial, out, tuple(REDUCERS))
    require_numbers(ragged.content, "content")
    wanted = _reduced_type(ragged.content, op, initial, dtype, target, overflow)
    first = None if op in REDUCERS else beginning(initial, op, wanted)
    result, given = _result(ragged.content, (ragged.lists.count,), wanted, target, ragged.inputs)
    _core.segmented_reduce(
        _where(ragged, overflow), op, ragged.lists.bounds, ragged.lists.valid, _elements(ragged), ragged.valid,
        first, ragged.content.xp.elements(result),
    )  # fmt: skip
    if times is not None:
        times.require_sums(result, _options.checks(-1, overflow), "the sum of list {}")
        times.mark_empty(result, lambda: _counts(ragged))
    return _give(ragged.content, result, given, out)


def _counts(ragged: Ragged) -> np.ndarray:
    """The number of elements of each list in host memory, without null elements."""
    counts = np.empty(ragged.lists.count, np.int64)
    where = _options.place(-1, 0, rung="")
    _core.segmented_reduce(
        where, "count", ragged.lists.bounds, ragged.lists.valid, _elements(ragged), ragged.valid, None, counts
    )
    return counts


@plain
def segmented_scan(
    content: Any,
    lists: Any = None,
    /,
    *,
    op: str = "add",
    exclusive: bool = False,
    initial: Any = None,
    dtype: Any = None,
    valid: Any = None,
    overflow: str | None = None,
    out: Any = None,
) -> Any:
    """Computes every prefix of every list, folded by an associative operator.

    Parameters are the same as for `segmented_reduce` and `scan`. The lists must be adjacent: by offsets, or of one size.

    Returns
    -------
    array of shape (m,)
        At each element of a list, the fold of that list up to the element. Elements that are in no list are 0.

    Raises
    ------
    NotImplementedError
        Lists by (starts, stops), which may overlap. `pack` them first.
    ValueError, OverflowError, TypeError
        As for `segmented_reduce`.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.segmented_scan(numpy.array([1, 2, 3, 4]), numpy.array([0, 2, 2, 4]))
    array([1, 3, 3, 7])
    """
    ragged = take_in_ragged(content, lists, valid)
    require_numbers(ragged.content, "content")
    if lists is None and len(ragged.lists.arrays) == 2:
        raise NotImplementedError(
            "content: the lists of a list view may overlap, and then their scans would overlap: pack them first, by offsets, content = "
            "upsweep.pack((x.offsets, pyarrow.compute.add(x.offsets, x.sizes)), x.values)"
        )
    operator_name(op)
    wanted = type_of_result(ragged.content, op, dtype, take_out(out) if out is not None else None, overflow)
    result, given = _result(ragged.content, ragged.content.data.shape, wanted, out, ragged.inputs)
    if not _covers_content(ragged):
        result[...] = 0
    _core.segmented_scan(
        _where(ragged, overflow), op, flag(exclusive, "exclusive"), ragged.lists.bounds, ragged.lists.valid, _elements(ragged),
        ragged.valid, beginning(initial, op, wanted), ragged.content.xp.elements(result),
    )  # fmt: skip
    return _give(ragged.content, result, given, out, beside=True)


def _covers_content(ragged: Ragged) -> bool:
    """Whether it is certain that each element of the content is in a list that is not null."""
    bounds, content = ragged.lists.bounds, ragged.content
    if ragged.lists.valid is not None:
        return False
    if isinstance(bounds, tuple):
        return isinstance(bounds[0], int)
    return content.xp.device < 0 and bounds[0] == 0 and bounds[-1] == content.data.shape[0]


def _sorted(ragged: Ragged, positions: bool, descending: bool, nan_first: bool, out: Any) -> Any:
    content, lists = ragged.content, ragged.lists
    require_numbers(content, "content")
    if ragged.valid is not None:
        raise ValueError("content: nulls cannot be sorted: fill them first")
    how = flag(descending, "descending"), flag(nan_first, "nan_first")
    wanted, xp = "int64" if positions else content.dtype, content.xp
    result, given = _result(content, content.data.shape, wanted, out, ragged.inputs)
    where, elements = _where(ragged), _elements(ragged)
    if xp.device >= 0 and not _covers_content(ragged):
        result[...] = 0 if positions else content.data
    if xp.device < 0 or not isinstance(lists.bounds, tuple) or isinstance(lists.bounds[0], int):
        _core.segmented_sort(where, positions, lists.bounds, lists.valid, elements, *how, xp.elements(result))
    else:
        offsets, elements, places = _packed(ragged, where)
        packed = xp.empty(places.shape, wanted)
        _core.segmented_sort(where, positions, offsets, None, elements, *how, xp.elements(packed))
        result[places] = packed
    return _give(content, result, given, out)


def _packed(ragged: Ragged, where: _core.Place) -> tuple[Any, Any, Any]:
    """Packs lists on a GPU one after the other: returns their offsets, their elements, and each element's position in the content.
    Raises ValueError for lists that overlap."""
    content, lists, xp = ragged.content, ragged.lists, ragged.content.xp
    length = content.data.shape[0]
    offsets = xp.empty(lists.count + 1, "int64")
    total = _core.pack_offsets(where, lists.bounds, lists.valid, length, xp.elements(offsets))
    if total > length:
        _refuse_overlap(ragged, offsets)
    packed, places = xp.like(content.data, (total,)), xp.empty(total, "int64")
    columns = [(xp.contiguous(content.data), packed), (xp.count_up(length), places)]
    _core.pack_content(
        where, lists.bounds, lists.valid, xp.elements(offsets), [tuple(map(xp.elements, each)) for each in columns]
    )
    is_sorted = xp.empty(length, "uint8")
    is_sorted[...] = 0
    is_sorted[places] = 1
    if int(is_sorted.sum()) < total:
        _refuse_overlap(ragged, offsets)
    return xp.elements(offsets), xp.elements(packed), places


def _refuse_overlap(ragged: Ragged, offsets: Any) -> None:
    """Raises ValueError for the first list that overlaps an earlier list. `offsets`: of the lists' lengths; null lists are empty."""
    xp = ragged.content.xp
    starts = np.asarray(xp.to_host(ragged.lists.arrays[0]), np.int64)
    _core.require_apart((starts, starts + np.diff(xp.to_host(offsets))), ragged.content.data.shape[0])


@plain
def segmented_sort(
    content: Any, lists: Any = None, /, *, descending: bool = False, nan_first: bool = False, out: Any = None
) -> Any:
    """Sorts the elements of every list.

    Parameters
    ----------
    content, lists
        As for `segmented_reduce`. Lists must not overlap.
    descending : bool
        If true, the maximum element is first.
    nan_first : bool
        If true, NaN are first in either order. By default they are last.
    out : array of shape (m,), optional
        The array to write the result to. The function returns this array.

    Returns
    -------
    array of shape (m,)
        The lists have the same positions as in the content. Elements in no list are unchanged. Equal elements keep their order.

    Raises
    ------
    ValueError, TypeError
        As for `segmented_reduce`. Null elements also raise ValueError.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.segmented_sort(numpy.array([2, 1, 9, 8, 7]), numpy.array([0, 2, 5]))
    array([1, 2, 7, 8, 9])
    """
    return _sorted(take_in_ragged(content, lists), False, descending, nan_first, out)


@plain
def segmented_argsort(
    content: Any, lists: Any = None, /, *, descending: bool = False, nan_first: bool = False, out: Any = None
) -> Any:
    """Computes the positions, within each list, that sort the elements of the list.

    Parameters and errors are the same as for `segmented_sort`.

    Returns
    -------
    array of int64, of shape (m,)

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.segmented_argsort(numpy.array([2, 1, 9, 8, 7]), numpy.array([0, 2, 5]))
    array([1, 0, 2, 1, 0])
    """
    return _sorted(take_in_ragged(content, lists), True, descending, nan_first, out)


# --------------------------------------------------------------------------------------------------- runs of equal keys


def _keys(keys: Any, refusal: str = COMPUTED) -> Array:
    taken = take_in_numbers(keys, "keys", refusal)
    if taken.data.ndim != 1:
        raise ValueError(f"keys: one dimension is needed, not {taken.data.ndim}")
    taken.data = taken.xp.contiguous(taken.data)
    return taken


def _offsets_of_runs(keys: Array, count: int) -> Any:
    offsets = keys.xp.empty(count + 1, "int64")
    where = _options.place(keys.xp.device, keys.xp.stream)
    _core.key_offsets(where, keys.xp.elements(keys.data), keys.xp.elements(offsets))
    return offsets


def _require_as_many(keys: Array, values: Array) -> None:
    """Raises an error for values that cannot belong to the keys, and makes the values contiguous."""
    if tuple(values.data.shape) != tuple(keys.data.shape):
        raise ValueError(f"values: shape {tuple(values.data.shape)}, but that of the keys is {tuple(keys.data.shape)}")
    require_numbers(values, "values")
    if values.xp.device != keys.xp.device:
        raise ValueError("values: they must be on the same device as the keys")
    values.data = values.xp.contiguous(values.data)


def _give_first(like: Array, result: Any, out: Any) -> Any:
    """Returns a result; if `out` is given, the result was written into its first elements."""
    return like.give(result) if out is None else written_to(out, result)


@plain
def reduce_by_key(
    keys: Any,
    values: Any,
    /,
    *,
    op: str = "add",
    initial: Any = None,
    dtype: Any = None,
    overflow: str | None = None,
    out: Any = None,
) -> tuple[Any, Any]:
    """Folds the values of each run of equal, adjacent keys, as in sorted keys, to one value.

    Parameters
    ----------
    keys : array of shape (m,)
        Numbers; all NaN are one key. A key that occurs again after other keys starts a separate run. Sort the keys first to
        get one run per key.
    values : array of shape (m,)
    op, initial, dtype, overflow
        As for `segmented_reduce`.
    out : tuple of two arrays, optional
        The arrays to write the keys and the folds to. An array may be longer than its result. Its first elements are then
        written and returned.

    Returns
    -------
    tuple of two arrays, of shape (runs,)
        The key of each run, and the fold of its values.

    Raises
    ------
    ValueError
        The number of values differs from the number of keys.
    OverflowError
        The sum of a run does not fit; `index` is the first such run.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.reduce_by_key(numpy.array([2, 2, 5]), numpy.array([10, 20, 30]))
    (array([2, 5]), array([30, 30]))
    """
    taken = _keys(keys)
    given = take_in(values, "values")
    _require_as_many(taken, given)
    xp = taken.xp
    wanted = _reduced_type(given, op, initial, dtype, None, overflow)
    where = _options.place(xp.device, xp.stream, overflow)
    count = _core.count_key_runs(where, xp.elements(taken.data))
    places = (None, None) if out is None else tuple_of(out, 2, "of keys and of values")
    inputs = (taken.data, given.data)

    def allocate(place: Any, dtype: str, new: Callable[[], Any]) -> Any:
        return new() if place is None else output_in(place, dtype, count, inputs, new)

    firsts = allocate(places[0], taken.dtype, lambda: xp.like(taken.data, (count,)))
    folded = allocate(places[1], wanted, lambda: given.xp.empty((count,), wanted))
    if op in REDUCERS:  # the reducers exist only for lists: the rungs "runs" treat runs as lists
        offsets = _offsets_of_runs(taken, count)
        as_lists = _options.current().rung in ("cpu.runs", "cuda.runs")
        with _options.options(rung=None) if as_lists else contextlib.nullcontext():
            where = _options.place(xp.device, xp.stream, overflow)
            _core.take(where, xp.elements(offsets[:-1]), [(xp.elements(taken.data), xp.elements(firsts))])
            segmented_reduce(given.data, offsets, op=op, initial=initial, dtype=dtype, overflow=overflow, out=folded)
        return _give_first(taken, firsts, places[0]), _give_first(given, folded, places[1])
    _core.reduce_by_key(
        where, op, xp.elements(taken.data), xp.elements(given.data), beginning(initial, op, wanted), xp.elements(firsts),
        xp.elements(folded),
    )  # fmt: skip
    return _give_first(taken, firsts, places[0]), _give_first(given, folded, places[1])


@plain
def scan_by_key(
    keys: Any,
    values: Any,
    /,
    *,
    op: str = "add",
    exclusive: bool = False,
    initial: Any = None,
    dtype: Any = None,
    overflow: str | None = None,
    out: Any = None,
) -> Any:
    """Computes every prefix of the values of each run of equal, adjacent keys, folded by an associative operator.

    `keys` and `values` are as for `reduce_by_key`. All other parameters are as for `segmented_scan`.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.scan_by_key(numpy.array([2, 2, 5]), numpy.array([10, 20, 30]))
    array([10, 30, 30])
    """
    taken = _keys(keys)
    given = take_in(values, "values")
    _require_as_many(taken, given)
    operator_name(op)
    wanted = type_of_result(given, op, dtype, take_out(out) if out is not None else None, overflow)
    result, place = _result(given, given.data.shape, wanted, out, [taken.data, given.data])
    where = _options.place(taken.xp.device, taken.xp.stream, overflow)
    _core.scan_by_key(
        where, op, flag(exclusive, "exclusive"), taken.xp.elements(taken.data), given.xp.elements(given.data), beginning(initial, op, wanted),
        given.xp.elements(result),
    )  # fmt: skip
    return _give(given, result, place, out, beside=True)


# --------------------------------------------------------------------------------------------------------------- groups


def _values_for(values: Array, op: str, dtype: str) -> Any:
    """The values, converted to `dtype` if groups cannot be folded from their type to `dtype` but it can represent all of them."""
    own = values.dtype
    is_sum = op == "add" and dtype in ("int64", "uint64") and dtype[0] == own[0]
    if dtype == own or is_sum or not np.can_cast(own, dtype):
        return values.data
    return values.xp.astype(values.data, dtype)


def _several_keys(keys: Any) -> list[Key]:
    if len(keys) == 0:
        raise ValueError("keys: at least one is needed")
    return [key_of(key, f"key {i}") or of_integers(key, f"key {i}") for i, key in enumerate(keys)]


@plain
def group_by(
    keys: Any,
    values: Any,
    /,
    *,
    op: str = "add",
    dtype: Any = None,
    overflow: str | None = None,
    counts: bool = False,
    out: Any = None,
) -> tuple[Any, ...]:
    """Folds the values of equal keys, at any positions, to one value: GROUP BY.

    Parameters
    ----------
    keys : array of shape (m,), or tuple of such arrays
        Integers, floats, booleans, dates, times or text, also as Python objects of one kind. The float -0.0 is the key 0.0, and every NaN is one key. NULL is a
        separate key. A tuple contains several keys: rows are in one group if all their keys are equal. Keys other than
        integers must be in host memory.
    values : array of shape (m,)
    op : str
        The name of an operator, as for `scan`.
    dtype : optional
        The type of the folds and of the computation. It must be able to represent the values, as float64 can represent float32.
        The default for sums and products of integers is the 64-bit type of the same signedness. For other calls it is the type
        of the values.
    overflow : str, optional
        As for `segmented_reduce`.
    counts : bool
        If true, the number of rows of each group is also returned.
    out : tuple of two arrays, or three, optional
        The arrays to write the keys, the folds and the counts to, for one key of integers. An array may be longer than its
        result. Its first elements are then written and returned.

    Returns
    -------
    tuple of two arrays, or three, of shape (groups,)
        The key of each group, the fold of its values, and their count. Groups are in the order of their first rows. With several
        keys, the first element is a tuple of arrays.

    Raises
    ------
    ValueError
        The number of values differs from the number of keys. An `out` has too few elements for the groups.
    OverflowError
        The sum of a group does not fit; `index` is the first such group.
    NotImplementedError
        The type of the folds cannot represent the values. On a GPU: keys of less than 4 bytes.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.group_by(numpy.array([5, 2, 5]), numpy.array([10, 20, 30]))
    (array([5, 2]), array([40, 20]))
    >>> upsweep.group_by((numpy.array([5, 2, 5]), ["a", "b", "a"]), numpy.array([10, 20, 30]))
    ((array([5, 2]), array(['a', 'b'], dtype=object)), array([40, 20]))
    """
    operator_name(op)
    several = are_several(keys)
    found = _several_keys(keys) if several else key_of(keys, "keys")
    if found is not None:
        if out is not None:
            raise TypeError("out: it is for one key of integers")
        all_keys = found if isinstance(found, list) else [found]
        codes = together(all_keys)
        _, *results = group_by(codes, values, op=op, dtype=dtype, overflow=overflow, counts=counts)
        _, firsts = group_by(codes, np.arange(len(codes)), op="min")
        given_keys = tuple(key.rows(firsts) for key in all_keys)
        return (given_keys if several else given_keys[0], *results)
    taken = _keys(keys, INTEGERS)
    given = take_in(values, "values")
    times, *_ = take_times(given, "values", op, dtype, None, None)
    _require_as_many(taken, given)
    wanted = type_of_result(given, op, dtype, None, overflow)
    given.data = _values_for(given, op, wanted)
    results = [(taken, taken.dtype), (given, wanted)]
    if flag(counts, "counts"):
        results.append((taken, "int64"))
    places = [None] * len(results) if out is None else tuple_of(out, len(results), "of keys, of values, and of counts")
    inputs = (taken.data, given.data)
    rows = taken.data.shape[0]

    def allocate(like: Array, dtype: str, place: Any) -> Any:
        if place is None:
            return like.xp.empty(rows, dtype)
        return output_in(place, dtype, None, inputs, lambda: like.xp.empty(len(place), dtype))

    outputs = [allocate(*result, place) for result, place in zip(results, places)]
    where = _options.place(taken.xp.device, taken.xp.stream, overflow)
    elements = [like.xp.elements(output) for (like, _), output in zip(results, outputs)]
    firsts, folded, counted = elements if len(elements) == 3 else (*elements, None)
    groups = _core.group_by(
        where, op, taken.xp.elements(taken.data), given.xp.elements(given.data), firsts, folded, counted
    )  # fmt: skip
    if times is not None:
        times.require_sums(outputs[1][:groups], _options.checks(-1, overflow), "the sum of group {}")
    return tuple(_give_first(like, output[:groups], place) for (like, _), output, place in zip(results, outputs, places))
