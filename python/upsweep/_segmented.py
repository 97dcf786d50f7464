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
from ._lists import Ragged, take_in_ragged
from ._plain import plain
from ._scan import beginning, checked_out, operator_name, type_of_result

REDUCERS = {"any": "bool", "all": "bool", "count": "int64", "count_nonzero": "int64", "argmin": "int64", "argmax": "int64"}


def _result(like: Array, shape: tuple[int, ...], dtype: str, out: Any, inputs: Sequence[Any]) -> tuple[Any, Array | None]:
    """Where a call writes: into `out` where it lies side by side and apart from the inputs, else into a new array."""
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
            raise TypeError(f"initial: {op} begins with nothing")
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
    """The elements of every list, folded to one value.

    Parameters
    ----------
    content : array of shape (m,)
        The elements of all lists; or a list array of pyarrow or Polars, which needs no `lists`.
    lists : array, tuple of arrays, or int
        Where the lists lie in it: n + 1 offsets; (starts, stops), of lists in any order, overlapping or with gaps; or the size of
        every list. Of integers.
    op : str
        The name of an operator, as `scan` has it; or "any", "all", "count", "count_nonzero", "argmin", "argmax".
    initial : scalar, optional
        What the fold of every list by an operator begins with.
    dtype : optional
        The type of the results, as `scan` has it; of "any" and "all" bool, of counts and positions int64.
    valid : array of bool, of shape (m,), optional
        False where an element is null: it is skipped. Nulls of Arrow arrays are skipped anyway, null lists are empty.
    overflow : {"checked", "wrap"}, optional
        As `scan` has it, but that "checked" is possible on a GPU too.
    out : array of shape (n,), optional
        Where the results go. It is returned.

    Returns
    -------
    array of shape (n,)
        Of empty lists `initial`, or the operator's identity: 0, 1, for "min" the greatest value and for "max" the least one; of
        "argmin" and "argmax" -1. Positions are within the list. A list with NaN has NaN as its least and its
        greatest element.

    Raises
    ------
    ValueError
        A list that stops before it starts, or ends past the content, with the first such list's `index`; no such operator.
    OverflowError
        A list whose sum does not fit, with its `index`.
    TypeError
        Elements that upsweep does not compute with.

    Notes
    -----
    Floats of lists of up to 4,096 elements are added one after the other; longer ones in blocks of so many.

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
    require_numbers(ragged.content, "content")
    wanted = _reduced_type(ragged.content, op, initial, dtype, out, overflow)
    first = None if op in REDUCERS else beginning(initial, op, wanted)
    result, given = _result(ragged.content, (ragged.lists.count,), wanted, out, ragged.inputs)
    _core.segmented_reduce(
        _where(ragged, overflow), op, ragged.lists.bounds, ragged.lists.valid, _elements(ragged), ragged.valid,
        first, ragged.content.xp.elements(result),
    )  # fmt: skip
    return _give(ragged.content, result, given, out)


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
    """Every prefix of every list, folded by an associative operator.

    Parameters are those of `segmented_reduce` and `scan`; lists lie one after the other: offsets, or one size.

    Returns
    -------
    array of shape (m,)
        At each element of a list the fold of that list up to it; elements in no list are 0.

    Raises
    ------
    NotImplementedError
        Lists by (starts, stops), which may overlap: `pack` them first.
    ValueError, OverflowError, TypeError
        As `segmented_reduce`.

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
            "content: the lists of a list view may overlap, and their scans with them: pack them first, by offsets, content = "
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
        raise ValueError("content: nulls have no place in an order: fill them first")
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
    """Lists on a GPU that lie anywhere, one after the other: their offsets, their elements, and the place of each in the content.
    ValueError of lists that overlap."""
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
    """ValueError of the first list that overlaps one before it. `offsets`: of the lists' lengths, null ones being empty."""
    xp = ragged.content.xp
    starts = np.asarray(xp.to_host(ragged.lists.arrays[0]), np.int64)
    _core.require_apart((starts, starts + np.diff(xp.to_host(offsets))), ragged.content.data.shape[0])


@plain
def segmented_sort(
    content: Any, lists: Any = None, /, *, descending: bool = False, nan_first: bool = False, out: Any = None
) -> Any:
    """The elements of every list in order.

    Parameters
    ----------
    content, lists
        As `segmented_reduce` has them; lists must not overlap.
    descending : bool
        The greatest element first.
    nan_first : bool
        NaN come first, and not last, whichever the order.
    out : array of shape (m,), optional
        Where the result goes. It is returned.

    Returns
    -------
    array of shape (m,)
        The lists lie where they lay; elements in no list stay as they are. Equal elements keep their order.

    Raises
    ------
    ValueError, TypeError
        As `segmented_reduce`; and null elements.

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
    """The positions, within its list, that put the elements of every list in order.

    Parameters and errors are those of `segmented_sort`.

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


# ---------------------------------------------------------------------------------------------------- runs of equal keys


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


def _require_as_many(keys: Array, values: Any) -> Array:
    taken = take_in(values, "values")
    if tuple(taken.data.shape) != tuple(keys.data.shape):
        raise ValueError(f"values: shape {tuple(taken.data.shape)}, but that of the keys is {tuple(keys.data.shape)}")
    require_numbers(taken, "values")
    if taken.xp.device != keys.xp.device:
        raise ValueError("values: they must be where the keys are, on the same device")
    taken.data = taken.xp.contiguous(taken.data)
    return taken


def _give_first(like: Array, result: Any, out: Any) -> Any:
    """A result that has been written into the first elements of `out`, where that is given."""
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
    """The values of equal keys that stand side by side, as those of sorted keys do, folded to one.

    Parameters
    ----------
    keys : array of shape (m,)
        Numbers; all NaN are one key. Keys that come again after others are a run of their own: sort first to have one of each.
    values : array of shape (m,)
    op, initial, dtype, overflow
        As `segmented_reduce` has them.
    out : tuple of two arrays, optional
        Where the keys and the folds go, into their first elements; those that they fill are returned themselves.

    Returns
    -------
    tuple of two arrays, of shape (runs,)
        The key of each run, and the fold of its values.

    Raises
    ------
    ValueError
        Not as many values as keys.
    OverflowError
        A run whose sum does not fit, with its `index`.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.reduce_by_key(numpy.array([2, 2, 5]), numpy.array([10, 20, 30]))
    (array([2, 5]), array([30, 30]))
    """
    taken = _keys(keys)
    given = _require_as_many(taken, values)
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
    if op in REDUCERS:  # which are those of lists: what the rungs of runs as lists do
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
    """Every prefix of the values of equal keys that stand side by side, folded by an associative operator.

    `keys` and `values` are those of `reduce_by_key`, all else is as `segmented_scan` has it.

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
    given = _require_as_many(taken, values)
    operator_name(op)
    wanted = type_of_result(given, op, dtype, take_out(out) if out is not None else None, overflow)
    result, place = _result(given, given.data.shape, wanted, out, [taken.data, given.data])
    where = _options.place(taken.xp.device, taken.xp.stream, overflow)
    _core.scan_by_key(
        where, op, flag(exclusive, "exclusive"), taken.xp.elements(taken.data), given.xp.elements(given.data), beginning(initial, op, wanted),
        given.xp.elements(result),
    )  # fmt: skip
    return _give(given, result, place, out, beside=True)


# ---------------------------------------------------------------------------------------------------------------- groups


def _values_for(values: Array, op: str, dtype: str) -> Any:
    """The values, converted where groups are not folded from their type to that one, but it holds all of them."""
    own = values.dtype
    is_sum = op == "add" and dtype in ("int64", "uint64") and dtype[0] == own[0]
    if dtype == own or is_sum or not np.can_cast(own, dtype):
        return values.data
    return values.xp.astype(values.data, dtype)


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
    """The values of equal keys, wherever these stand, folded to one: GROUP BY.

    Parameters
    ----------
    keys : array of shape (m,)
        Integers.
    values : array of shape (m,)
    op : str
        The name of an operator, as `scan` has it.
    dtype : optional
        Of the folds, and what is computed in: one that holds the values, as float64 does those of float32. By default of sums and
        products of integers the 64 bits of their sign, else that of the values.
    overflow : str, optional
        As `segmented_reduce` has it.
    counts : bool
        How many rows each group has is returned too.
    out : tuple of two arrays, or three, optional
        Where the keys, the folds and the counts go, into their first elements; those that they fill are returned themselves.

    Returns
    -------
    tuple of two arrays, or three, of shape (groups,)
        The key of each group, the fold of its values, and their count. Groups come in the order of their first rows.

    Raises
    ------
    ValueError
        Not as many values as keys; an `out` with too few elements for the groups.
    OverflowError
        A group whose sum does not fit, with its `index`.
    NotImplementedError
        Folds of a type that does not hold the values; on a GPU keys of less than 4 bytes.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.group_by(numpy.array([5, 2, 5]), numpy.array([10, 20, 30]))
    (array([5, 2]), array([40, 20]))
    """
    taken = _keys(keys, INTEGERS)
    given = _require_as_many(taken, values)
    operator_name(op)
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
    return tuple(_give_first(like, output[:groups], place) for (like, _), output, place in zip(results, outputs, places))
