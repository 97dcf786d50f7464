# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/_arrays.py: scans, reductions and selections of Dask's arrays: blocks are folded, carries scanned, blocks scanned on.

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
    """An array of Dask's whose blocks are NumPy's, of known sizes where they have to be; its TypeError or ValueError says why not."""
    if _awkward.is_lists(x):
        raise TypeError(
            f"{name}: a collection of dask-awkward: dask_awkward.to_dask_array() makes an array of Dask of its numbers"
        )
    if not isinstance(x, dask.array.Array):
        raise TypeError(f"{name}: an array of Dask is needed, not {type(x).__name__}")
    if type(x._meta) is not np.ndarray:
        raise TypeError(f"{name}: an array of blocks of NumPy's is needed, not of {type(x._meta).__name__}")
    if is_counted and any(math.isnan(size) for sizes in x.chunks for size in sizes):
        raise ValueError(f"{name}: the sizes of its chunks are not known: {name}.compute_chunk_sizes() finds them in a pass")
    return x


def one_dimension(x: Any, name: str) -> Any:
    if x.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {x.ndim}")
    return x


def type_of(x: Any, name: str, op: str, dtype: Any, overflow: str | None) -> str:
    """The type of a result, as upsweep.scan has it."""
    like = take_in(x._meta, name)
    number_type(like, name)
    return _scan.type_of_result(like, op, dtype, None, overflow)


def is_checked(op: str, dtype: str, overflow: str | None) -> bool:
    """Whether sums may be errors; looks at `overflow` in any case."""
    return _options.checks(-1, overflow) and op == "add" and not dtype.startswith("float")


def array(graph: dict, name: str, inputs: list, chunks: Any, dtype: Any) -> Any:
    layers = HighLevelGraph.from_collections(name, graph, dependencies=inputs)
    return dask.array.Array(layers, name, chunks, dtype=np.dtype(dtype))


def combined(op: str, a: Any, b: Any) -> Any:
    """Two folds as one, modulo 2**bits; None is that of nothing."""
    if a is None or b is None:
        return b if a is None else a
    pair = np.stack(np.broadcast_arrays(a, b))
    with upsweep.options(rung="", threads=1):  # the rung that was asked for may be another function's
        return upsweep.reduce(pair, op=op, axis=0, dtype=pair.dtype, overflow="wrap")


# ------------------------------------------------------------------------------------------------------------- scans


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False, overflow: str | None = None
) -> Any:
    """The sums of an array's elements up to each of them, along an axis.

    Parameters
    ----------
    x, axis, dtype, overflow
        As `scan` has them.
    include_initial : bool
        Begin with a 0: the result is longer by one.

    Returns
    -------
    dask.array.Array, or dask_awkward.Array
        Of x's shape and chunks; with `include_initial`, which lists do not have, a chunk of size 1 comes before.

    Raises
    ------
    OverflowError, TypeError, ValueError
        As `scan`; the `index` of an OverflowError counts the 0 too.

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
        raise NotImplementedError("include_initial: lists have no element before their first one")
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
    """Every prefix of an array, folded by an associative operator. Nothing is computed before the result is.

    Blocks are folded, the carries that come of it are scanned along the axis, and each block is scanned from its carry on: x is
    read twice.

    Parameters
    ----------
    x : dask.array.Array, or dask_awkward.Array
        Of NumPy's blocks of known sizes, any shape, and numbers as `upsweep.scan` has them; or of lists of such numbers, each of
        which is scanned alone, as `upsweep.segmented_scan` does.
    op, exclusive, initial, axis, dtype, overflow
        As `upsweep.scan` has them. A checked sum of integers is given out once all blocks before it along the axis are known to
        fit.

    Returns
    -------
    dask.array.Array, or dask_awkward.Array
        Of x's shape and chunks.

    Raises
    ------
    TypeError
        What is no array of Dask's and no lists of dask-awkward's, or has elements that upsweep does not compute with.
    ValueError
        No such operator or axis; chunks of unknown sizes, which x.compute_chunk_sizes() finds in a pass.
    OverflowError
        Once computed: a sum that does not fit, with the `index` in the whole array of the first one along the axis; of lists of
        dask-awkward in its block.

    Notes
    -----
    The same bits on every run and on any workers. Sums of floats are rounded where blocks meet: with other chunks their last bits
    may differ.

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
            f"dtype: {x.dtype} in several dimensions is not scanned into {wanted}: convert it first, by astype"
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
            # An exclusive scan's last block does not fold its last element, whose sum is in no result.
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
    """Where a block lies in its array, for the index of an error."""

    def __init__(self, key: tuple[int, ...], chunks: tuple, along: int, shift: int):
        self.along = along
        self.origin = [sum(sizes[:k]) for k, sizes in zip(key, chunks)]
        self.origin[along] += shift
        self.shape = [sum(sizes) for sizes in chunks]
        self.shape[along] += shift

    def found(self, error: OverflowError, shape: tuple[int, ...], before: int) -> Any:
        """The error with its index in the array: it counts in that shape, of the block with so many rows before its own."""
        inside = [int(i) for i in np.unravel_index(error.index, shape)]
        inside[self.along] -= before
        index = np.ravel_multi_index([a + b for a, b in zip(self.origin, inside)], self.shape)
        return moved(error, int(index) - error.index)


def _total(block: np.ndarray, op: str, along: int, dtype: str, options: dict) -> np.ndarray | None:
    """The fold of a block along the axis, which stays, of size 1; None of no elements."""
    if block.shape[along] == 0:
        return None
    axis = None if block.ndim == 1 else along
    with upsweep.options(**options):
        return np.expand_dims(upsweep.reduce(block, op=op, axis=axis, dtype=dtype, overflow="wrap"), along)


def _scan_block(
    block: np.ndarray, carry: Any, op: str, exclusive: bool, ends: bool, dtype: str, checked: bool, place: _Place, options: dict
) -> Any:
    """The block's share of the result, or its first error. `ends`: no elements come after it, which would begin with its fold."""
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
    if exclusive and goes_on and len(block):  # the sum that the next element's result is
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
    """A block of several dimensions after the row that it is scanned from: what came before it, or the operator's identity."""
    if carry is None:
        carry = upsweep.scan(np.zeros(1, how["dtype"]), exclusive=True, **how).reshape((1,) * block.ndim)
    shape = list(block.shape)
    shape[along] = 1
    rows = _rows(block, block.shape[along] - leave_last, True, along)
    return np.concatenate([np.broadcast_to(carry, shape), rows.astype(how["dtype"], copy=False)], axis=along)


def _rows(block: np.ndarray, count: int, from_first: bool, along: int) -> np.ndarray:
    """So many rows, from the first or the second one on."""
    begin = 0 if from_first else 1
    return block[(slice(None),) * along + (slice(begin, begin + max(count, 0)),)]


# --------------------------------------------------------------------------------------------------------- reductions


def reduce(x: Any, /, *, op: str = "add", initial: Any = None, dtype: Any = None, overflow: str | None = None) -> Any:
    """All elements of an array, folded by an associative operator to one. Nothing is computed before the result is.

    Parameters
    ----------
    x, op, initial, dtype, overflow
        As `scan` has them. Only the whole sum has to fit, as with `upsweep.reduce`.

    Returns
    -------
    dask.array.Array
        Without dimensions.

    Raises
    ------
    TypeError
        As `scan`.
    ValueError
        No such operator; once computed, the minimum or maximum of no elements without an `initial`.
    OverflowError
        Once computed: the sum does not fit.

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
    """The fold of a block's elements, modulo 2**bits; None of no elements."""
    if block.size == 0:
        return None
    with upsweep.options(**options):
        return np.array(upsweep.reduce(block, op=op, dtype=dtype, overflow="wrap"))


def exact_sum(block: np.ndarray, op: str, dtype: str, options: dict) -> int:
    """The sum of a block of integers, whatever its size: the sum of all blocks may fit where this one's does not."""
    with upsweep.options(**options):
        try:
            return int(upsweep.reduce(block, op=op, overflow="checked"))
        except OverflowError:
            low = upsweep.reduce(block & 0xFFFFFFFF, overflow="checked")
            return (int(upsweep.reduce(block >> 32, overflow="checked")) << 32) + int(low)


def fitting(total: int, dtype: str) -> np.ndarray | None:
    """An exact sum as an array without dimensions; None where it does not fit."""
    limits = np.iinfo(dtype)
    return np.array(total, dtype) if limits.min <= total <= limits.max else None


def added(op: str, a: Any, b: Any) -> Any:
    """As `combined`, and exactly where these are Python's integers."""
    return a + b if isinstance(a, int) and isinstance(b, int) else combined(op, a, b)


def _folded_blocks(op: str, blocks: list) -> Any:
    total = None
    for block in blocks:
        total = added(op, total, block)
    return total


def _finished(op: str, initial: np.ndarray | None, total: Any, dtype: str) -> np.ndarray:
    if isinstance(total, int):
        result = fitting(total + (0 if initial is None else int(initial[0])), dtype)
        if result is None:  # the same words as of any other sum
            upsweep.reduce(np.array([np.iinfo(dtype).max, 1], dtype), dtype=dtype, overflow="checked")
        return result
    total = combined(op, None if initial is None else initial.reshape(()), total)
    return np.array(upsweep.reduce(np.empty(0, dtype), op=op, dtype=dtype) if total is None else total, dtype)


# --------------------------------------------------------------------------------------------------------- selections


def select(mask: Any, /, *contents: Any, lists: Any = None) -> Any:
    """The elements whose mask is true, of an array or of every list. Nothing is computed before the results are, but for `lists`.

    Parameters
    ----------
    mask : dask.array.Array of bool, of shape (m,), or dask_awkward.Array
    *contents : dask.array.Array of shape (m,), or dask_awkward.Array
        Of any elements of 1, 2, 4, 8 or 16 bytes. Their chunks may be of unknown sizes where all of them have the same, and there
        are no `lists`. Or lists of dask-awkward, of records too, and a mask of lists of the same lengths.
    lists : optional
        Where lists lie in the content, as `upsweep.dask.segmented_reduce` has it.

    Returns
    -------
    dask.array.Array, or tuple of them
        What is kept of the content, or of each of several, in chunks whose sizes are not known before they are computed:
        `.compute_chunk_sizes()` does so. With `lists` the new offsets (int64, of shape (n + 1,)) come first. Of lists of
        dask-awkward lists of what is kept.

    Raises
    ------
    TypeError
        As `scan`; a mask that is not of booleans; elements of another size.
    ValueError
        A mask of another length than the content; what is raised of `lists` by `upsweep.dask.segmented_reduce`.

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
            raise TypeError("lists: those of dask-awkward need none")
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
    """What is kept of each content."""
    return tuple(_kept_of(mask, content) for content in contents)


def _kept_of(mask: Any, content: Any) -> Any:
    if not math.isnan(mask.shape[0] + content.shape[0]):
        if mask.shape != content.shape:
            raise ValueError(f"mask: {mask.shape[0]} elements, but the content has {content.shape[0]}")
        mask = mask.rechunk(content.chunks)
        if content.shape[0] == 0:  # which is not rechunked
            mask, content = mask.blocks[:1], content.blocks[:1]
    if mask.numblocks != content.numblocks:
        raise ValueError(f"mask: {mask.numblocks[0]} chunks of unknown sizes, but the content has {content.numblocks[0]}")
    name, options = new_name("select"), how()
    upsweep.select(np.empty(0, np.bool_), np.empty(0, content.dtype))  # its error of elements that are not moved
    graph = {(name, i): (_select, (mask.name, i), (content.name, i), options) for i in range(content.numblocks[0])}
    return array(graph, name, [mask, content], ((np.nan,) * content.numblocks[0],), content.dtype)


def _select(mask: np.ndarray, content: np.ndarray, options: dict) -> Any:
    with upsweep.options(**options):
        return upsweep.select(mask, content)
