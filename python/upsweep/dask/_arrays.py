# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/_arrays.py: scans, reductions and selections of Dask arrays: chunks are folded, and carries scanned.

from __future__ import annotations

import itertools
import math
from typing import Any

import dask
import dask.array
import numpy as np
from dask.highlevelgraph import HighLevelGraph

import upsweep
from upsweep import _options, _scan
from upsweep._arrays import flag, number_type, take_in
from upsweep.dask import _awkward
from upsweep.dask._tasks import how, in_order, moved, new_name, tree


def array_of(x: Any, name: str, is_counted: bool = True) -> Any:
    """Checks that `x` is a Dask array with NumPy chunks, of known sizes if `is_counted`; otherwise raises TypeError or ValueError."""
    if _awkward.is_lists(x):
        raise TypeError(
            f"{name}: a dask-awkward collection: convert its numbers to a Dask array with dask_awkward.to_dask_array()"
        )
    if not isinstance(x, dask.array.Array):
        raise TypeError(f"{name}: a Dask array is needed, not {type(x).__name__}")
    if type(x._meta) is not np.ndarray:
        raise TypeError(f"{name}: a Dask array of NumPy chunks is needed, not of {type(x._meta).__name__}")
    if is_counted and any(math.isnan(size) for sizes in x.chunks for size in sizes):
        raise ValueError(f"{name}: the sizes of its chunks are unknown: {name}.compute_chunk_sizes() finds them in one pass")
    return x


def one_dimension(x: Any, name: str) -> Any:
    if x.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {x.ndim}")
    return x


def type_of(x: Any, name: str, op: str, dtype: Any, overflow: str | None) -> str:
    """The type of a result, by the rules of upsweep.scan."""
    like = take_in(x._meta, name)
    number_type(like, name)
    return _scan.type_of_result(like, op, dtype, None, overflow)


def is_checked(op: str, dtype: str, overflow: str | None) -> bool:
    """Whether sums may raise errors; validates `overflow` in any case."""
    return _options.checks(-1, overflow) and op == "add" and not dtype.startswith("float")


def array(graph: dict, name: str, inputs: list, chunks: Any, dtype: Any) -> Any:
    layers = HighLevelGraph.from_collections(name, graph, dependencies=inputs)
    return dask.array.Array(layers, name, chunks, dtype=np.dtype(dtype))


def combined(op: str, a: Any, b: Any) -> Any:
    """Combines two folds to one, modulo 2**bits; None is the fold of no elements."""
    if a is None or b is None:
        return b if a is None else a
    pair = np.stack(np.broadcast_arrays(a, b))
    with upsweep.options(rung="", threads=1):  # the requested rung may be one of another function
        return upsweep.reduce(pair, op=op, axis=0, dtype=pair.dtype, overflow="wrap")


# ------------------------------------------------------------------------------------------------------------- scans


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False, overflow: str | None = None
) -> Any:
    """Computes the sum of each element and all elements before it, along an axis.

    Parameters
    ----------
    x, axis, dtype, overflow
        As for `scan`.
    include_initial : bool
        If true, the result starts with 0. It has one more element along the axis.

    Returns
    -------
    dask.array.Array, or dask_awkward.Array
        An array with x's shape and chunks. `include_initial` adds a chunk of size 1 before the first chunk; lists do not support it.

    Raises
    ------
    OverflowError, TypeError, ValueError
        As for `scan`. With `include_initial`, the `index` of an OverflowError also counts the 0.

    Examples
    --------
    >>> import dask.array, upsweep.dask
    >>> x = dask.array.arange(6, chunks=2)
    >>> upsweep.dask.cumulative_sum(x).compute()
    array([ 0,  1,  3,  6, 10, 15])
    """
    if not flag(include_initial, "include_initial"):
        if _awkward.is_lists(x):
            return _awkward.scan(x, axis, "add", False, None, dtype, overflow)
        return _scanned(x, "add", False, None, axis, dtype, overflow, "cumulative_sum")
    if _awkward.is_lists(x):
        raise NotImplementedError("include_initial: not supported for lists, which have no element before their first one")
    sums = _scanned(x, "add", False, None, axis, dtype, overflow, "cumulative_sum", shift=1)
    along = _scan._axis(axis, sums.ndim, "cumulative_sum")
    chunks = list(sums.chunks)
    chunks[along] = (1,)
    zeros = dask.array.zeros([sum(each) for each in chunks], chunks=chunks, dtype=sums.dtype)
    return dask.array.concatenate([zeros, sums], axis=along)


def scan(
    x: Any,
    /,
    *,
    op: str = "add",
    exclusive: bool = False,
    initial: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    overflow: str | None = None,
) -> Any:
    """Computes every prefix of an array, folded by an associative operator. The computation is lazy.

    Each chunk is folded to a carry, and the carries are scanned along the axis. Then each chunk is scanned, starting from its
    carry. Therefore x is read twice.

    Parameters
    ----------
    x : dask.array.Array, or dask_awkward.Array
        A Dask array of NumPy chunks of known sizes, of any shape, with the element types of `upsweep.scan`. Or dask-awkward lists
        of such numbers: each list is scanned separately, as in `upsweep.segmented_scan`.
    op, exclusive, initial, axis, dtype, overflow
        As for `upsweep.scan`. A checked sum of integers is returned only after all earlier chunks along the axis have been
        checked.

    Returns
    -------
    dask.array.Array, or dask_awkward.Array
        An array with x's shape and chunks.

    Raises
    ------
    TypeError
        x is neither a Dask array nor lists of dask-awkward, or its elements have an unsupported type.
    ValueError
        An unknown operator or axis; chunks of unknown sizes, which x.compute_chunk_sizes() finds in one pass.
    OverflowError
        A sum does not fit in its type, when the graph is computed. `index` is the first such sum along the axis in the whole array. For
        dask-awkward lists it is the position in the partition.

    Notes
    -----
    The result has the same bits on every run and on any workers. Sums of floats are rounded at chunk boundaries, so the last bits
    may differ if x has other chunks.

    Examples
    --------
    >>> import dask.array, numpy, upsweep.dask
    >>> x = dask.array.from_array(numpy.array([3, 1, 4, 1, 5]), chunks=2)
    >>> upsweep.dask.scan(x, op="max").compute()
    array([3, 3, 4, 4, 5])
    >>> upsweep.dask.scan(x, exclusive=True, initial=10).compute()
    array([10, 13, 14, 18, 19])
    """
    op, exclusive = _scan.operator_name(op), flag(exclusive, "exclusive")
    if _awkward.is_lists(x):
        return _awkward.scan(x, axis, op, exclusive, initial, dtype, overflow)
    return _scanned(x, op, exclusive, initial, axis, dtype, overflow, "scan")


def _scanned(
    x: Any, op: str, exclusive: bool, initial: Any, axis: Any, dtype: Any, overflow: Any, called: str, shift: int = 0
) -> Any:
    x = array_of(x, "x")
    if x.ndim == 0:
        raise ValueError(f"{called}: an array without dimensions: at least one is needed")
    along = _scan._axis(axis, x.ndim, called)
    wanted = type_of(x, "x", op, dtype, overflow)
    checked = is_checked(op, wanted, overflow)
    first = _scan.beginning(initial, op, wanted)
    if x.ndim > 1 and checked and not np.can_cast(x.dtype, wanted):
        raise NotImplementedError(
            f"dtype: {x.dtype} in several dimensions cannot be scanned into {wanted}: convert it first with astype"
        )
    start = None if first is None else first.reshape((1,) * x.ndim)
    name, totals, carries = new_name("scan"), new_name("total"), new_name("carry")
    blocks, options = name if not checked else new_name("scanned"), how()
    graph: dict = {}
    for column in itertools.product(*(range(1 if i == along else len(sizes)) for i, sizes in enumerate(x.chunks))):
        keys = [(*column[:along], k, *column[along + 1 :]) for k in range(len(x.chunks[along]))]
        before: Any = start
        for key in keys:
            last = key[along] + 1 == len(keys)
            # The last chunk of an exclusive scan does not fold its last element, because that sum is in no result.
            ends = exclusive and not any(x.chunks[along][key[along] + 1 :])
            place = _Place(key, x.chunks, along, shift)
            graph[(blocks, *key)] = (_scan_block, (x.name, *key), before, op, exclusive, ends, wanted, checked, place, options)
            if not last:
                graph[(totals, *key)] = (_total, (x.name, *key), op, along, wanted, options)
                graph[(carries, *key)] = (combined, op, before, (totals, *key))
                before = (carries, *key)
        if checked:
            in_order(graph, name, [(blocks, *key) for key in keys])
    return array(graph, name, [x], x.chunks, wanted)


class _Place:
    """The position of a chunk in its array, for the index of an error."""

    def __init__(self, key: tuple[int, ...], chunks: tuple, along: int, shift: int):
        self.along = along
        self.origin = [sum(sizes[:k]) for k, sizes in zip(key, chunks)]
        self.origin[along] += shift
        self.shape = [sum(sizes) for sizes in chunks]
        self.shape[along] += shift

    def found(self, error: OverflowError, shape: tuple[int, ...], before: int) -> Any:
        """The error with its index in the array. `error.index` counts in `shape`, which has `before` extra rows before the chunk."""
        inside = [int(i) for i in np.unravel_index(error.index, shape)]
        inside[self.along] -= before
        index = np.ravel_multi_index([a + b for a, b in zip(self.origin, inside)], self.shape)
        return moved(error, int(index) - error.index)


def _total(block: np.ndarray, op: str, along: int, dtype: str, options: dict) -> np.ndarray | None:
    """The fold of a chunk along the axis, which is kept with size 1; None for no elements."""
    if block.shape[along] == 0:
        return None
    axis = None if block.ndim == 1 else along
    with upsweep.options(**options):
        return np.expand_dims(upsweep.reduce(block, op=op, axis=axis, dtype=dtype, overflow="wrap"), along)


def _scan_block(
    block: np.ndarray, carry: Any, op: str, exclusive: bool, ends: bool, dtype: str, checked: bool, place: _Place, options: dict
) -> Any:
    """The result of one chunk, or its first error. `ends`: no later elements would start from this chunk's fold."""
    how = {"op": op, "dtype": dtype, "overflow": "checked" if checked else "wrap"}
    with upsweep.options(**options):
        if block.ndim == 1:
            return _scan_elements(block, carry, exclusive, checked and not ends, place, how)
        if carry is None and (not exclusive or dtype.startswith("float")):
            return _scan_within(block, place, 0, {**how, "exclusive": exclusive})
        extended = _extended(block, carry, exclusive and ends, place.along, how)
        result = _scan_within(extended, place, 0 if exclusive else 1, how)
        return result if isinstance(result, Exception) else _rows(result, block.shape[place.along], exclusive, place.along)


def _scan_elements(block: np.ndarray, carry: Any, exclusive: bool, goes_on: bool, place: _Place, how: dict) -> Any:
    try:
        result = upsweep.scan(block, exclusive=exclusive, initial=carry, **how)
    except OverflowError as error:
        return place.found(error, block.shape, 0)
    if exclusive and goes_on and len(block):  # check the sum that is the next element's result
        try:
            upsweep.scan(block[-1:], initial=result[-1], **how)
        except OverflowError as error:
            return place.found(error, (1,), -len(block))
    return result


def _scan_within(rows: np.ndarray, place: _Place, before: int, how: dict) -> Any:
    try:
        return upsweep.scan(rows, axis=place.along, **how)
    except OverflowError as error:
        return place.found(error, rows.shape, before)


def _extended(block: np.ndarray, carry: Any, leave_last: bool, along: int, how: dict) -> np.ndarray:
    """A chunk of several dimensions, preceded by its initial row: the carry from before it, or the operator's identity."""
    if carry is None:
        carry = upsweep.scan(np.zeros(1, how["dtype"]), exclusive=True, **how).reshape((1,) * block.ndim)
    shape = list(block.shape)
    shape[along] = 1
    rows = _rows(block, block.shape[along] - leave_last, True, along)
    return np.concatenate([np.broadcast_to(carry, shape), rows.astype(how["dtype"], copy=False)], axis=along)


def _rows(block: np.ndarray, count: int, from_first: bool, along: int) -> np.ndarray:
    """Returns `count` rows, starting with the first or the second row."""
    begin = 0 if from_first else 1
    return block[(slice(None),) * along + (slice(begin, begin + max(count, 0)),)]


# --------------------------------------------------------------------------------------------------------- reductions


def reduce(x: Any, /, *, op: str = "add", initial: Any = None, dtype: Any = None, overflow: str | None = None) -> Any:
    """Folds all elements of an array by an associative operator to one value. The computation is lazy.

    Parameters
    ----------
    x, op, initial, dtype, overflow
        As for `scan`, except that only the total must fit, as for `upsweep.reduce`.

    Returns
    -------
    dask.array.Array
        A zero-dimensional array.

    Raises
    ------
    TypeError
        As for `scan`.
    ValueError
        The operator is unknown, when the graph is made. An array without elements has no minimum or maximum unless there is an
        `initial`, when the graph is computed.
    OverflowError
        The sum does not fit in its type, when the graph is computed.

    Examples
    --------
    >>> import dask.array, upsweep.dask
    >>> int(upsweep.dask.reduce(dask.array.arange(10, chunks=4), op="max").compute())
    9
    """
    x = array_of(x, "x", is_counted=False)
    wanted = type_of(x, "x", _scan.operator_name(op), dtype, overflow)
    checked = is_checked(op, wanted, overflow)
    first = _scan.one(initial, wanted, "initial")
    name, totals = new_name("reduce"), new_name("total")
    fold = exact_sum if checked else folded
    keys = [(totals, *key) for key in itertools.product(*map(range, x.numblocks))]
    graph: dict = {key: (fold, (x.name, *key[1:]), op, wanted, how()) for key in keys}
    last = tree(graph, keys, new_name("merge"), _folded_blocks, op)
    graph[(name,)] = (_finished, op, first, last, wanted)
    return array(graph, name, [x], (), wanted)


def folded(block: np.ndarray, op: str, dtype: str, options: dict) -> Any:
    """The fold of a chunk's elements, modulo 2**bits; None for no elements."""
    if block.size == 0:
        return None
    with upsweep.options(**options):
        return np.array(upsweep.reduce(block, op=op, dtype=dtype, overflow="wrap"))


def exact_sum(block: np.ndarray, op: str, dtype: str, options: dict) -> int:
    """The exact sum of a chunk of integers, as a Python int: the total may fit even if this chunk's sum does not."""
    with upsweep.options(**options):
        try:
            return int(upsweep.reduce(block, op=op, overflow="checked"))
        except OverflowError:
            low = upsweep.reduce(block & 0xFFFFFFFF, overflow="checked")
            return (int(upsweep.reduce(block >> 32, overflow="checked")) << 32) + int(low)


def fitting(total: int, dtype: str) -> np.ndarray | None:
    """Converts an exact sum to a zero-dimensional array; returns None if it does not fit."""
    limits = np.iinfo(dtype)
    return np.array(total, dtype) if limits.min <= total <= limits.max else None


def added(op: str, a: Any, b: Any) -> Any:
    """Combines two folds as `combined` does; Python integers are added exactly."""
    return a + b if isinstance(a, int) and isinstance(b, int) else combined(op, a, b)


def _folded_blocks(op: str, blocks: list) -> Any:
    total = None
    for block in blocks:
        total = added(op, total, block)
    return total


def _finished(op: str, initial: np.ndarray | None, total: Any, dtype: str) -> np.ndarray:
    if isinstance(total, int):
        result = fitting(total + (0 if initial is None else int(initial[0])), dtype)
        if result is None:  # raise the same message as for any other sum
            upsweep.reduce(np.array([np.iinfo(dtype).max, 1], dtype), dtype=dtype, overflow="checked")
        return result
    total = combined(op, None if initial is None else initial.reshape(()), total)
    return np.array(upsweep.reduce(np.empty(0, dtype), op=op, dtype=dtype) if total is None else total, dtype)


# --------------------------------------------------------------------------------------------------------- selections


def select(mask: Any, /, *contents: Any, lists: Any = None) -> Any:
    """Selects the elements whose mask is true, of an array or of every list. The computation is lazy, except for `lists`.

    Parameters
    ----------
    mask : dask.array.Array of bool, of shape (m,), or dask_awkward.Array
    *contents : dask.array.Array of shape (m,), or dask_awkward.Array
        Arrays with elements of 1, 2, 4, 8 or 16 bytes. Without `lists` the chunks may have unknown sizes if all arrays have the
        same chunks. The contents may also be dask-awkward lists of numbers or records. The mask then consists of lists of
        the same lengths.
    lists : optional
        The positions of lists in the content, as for `upsweep.dask.segmented_reduce`.

    Returns
    -------
    dask.array.Array, or tuple of them
        The selected elements, as one array per content. The sizes of the chunks are unknown; `.compute_chunk_sizes()` computes
        them. With `lists` the new offsets (int64, of shape (n + 1,)) come first. For dask-awkward lists the result is lists of
        the selected elements.

    Raises
    ------
    TypeError
        As for `scan`. The mask is not of booleans. The size of an element is not 1, 2, 4, 8 or 16 bytes.
    ValueError
        The mask and the content have different lengths. Also the errors of `upsweep.dask.segmented_reduce` for `lists`.

    Examples
    --------
    >>> import dask.array, numpy, upsweep.dask
    >>> pt = dask.array.from_array(numpy.array([31.0, 20.0, 52.0]), chunks=2)
    >>> upsweep.dask.select(pt > 30, pt).compute()
    array([31., 52.])
    >>> offsets, kept = upsweep.dask.select(pt > 30, pt, lists=numpy.array([0, 2, 2, 3]))
    >>> offsets.compute(), kept.compute()
    (array([0, 1, 1, 2]), array([31., 52.]))
    """
    from upsweep.dask._lists import Lists, reduced

    if _awkward.is_lists(mask):
        if lists is not None:
            raise TypeError("lists: dask-awkward lists already contain their offsets: omit lists")
        return _awkward.select(mask, contents)
    is_counted = lists is not None
    arrays = [one_dimension(array_of(each, "mask" if i == 0 else "content", is_counted), "mask" if i == 0 else "content")
              for i, each in enumerate((mask, *contents))]  # fmt: skip
    if arrays[0].dtype != np.bool_:
        raise TypeError(f"mask: booleans are needed, not {arrays[0].dtype}")
    if lists is None:
        if not contents:
            raise TypeError("select: at least one content is needed, or lists")
        kept = _kept(*arrays)
        return kept if len(contents) > 1 else kept[0]
    of = Lists(lists, arrays[0].chunks[0])
    counts = reduced(arrays[0], of, "count_nonzero", None, "int64", False)
    begin, end = of.range
    return (cumulative_sum(counts, include_initial=True), *_kept(*(each[begin:end] for each in arrays)))


def _kept(mask: Any, *contents: Any) -> tuple:
    """The selected elements of each content."""
    return tuple(_kept_of(mask, content) for content in contents)


def _kept_of(mask: Any, content: Any) -> Any:
    if not math.isnan(mask.shape[0] + content.shape[0]):
        if mask.shape != content.shape:
            raise ValueError(f"mask: {mask.shape[0]} elements, but the content has {content.shape[0]}")
        mask = mask.rechunk(content.chunks)
        if content.shape[0] == 0:  # rechunk leaves empty arrays unchanged
            mask, content = mask.blocks[:1], content.blocks[:1]
    if mask.numblocks != content.numblocks:
        raise ValueError(f"mask: {mask.numblocks[0]} chunks of unknown sizes, but the content has {content.numblocks[0]}")
    name, options = new_name("select"), how()
    upsweep.select(np.empty(0, np.bool_), np.empty(0, content.dtype))  # may raise its error
    graph = {(name, i): (_select, (mask.name, i), (content.name, i), options) for i in range(content.numblocks[0])}
    return array(graph, name, [mask, content], ((np.nan,) * content.numblocks[0],), content.dtype)


def _select(mask: np.ndarray, content: np.ndarray, options: dict) -> Any:
    with upsweep.options(**options):
        return upsweep.select(mask, content)
