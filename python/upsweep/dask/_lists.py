# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/_lists.py: reductions of lists whose content is a Dask array. Each chunk folds its lists. A list that
# extends over several chunks is folded from its ranges in these chunks.

from __future__ import annotations

import bisect
import itertools
from typing import Any

import dask
import numpy as np

import upsweep
from upsweep import _core, _options, _scan
from upsweep._lists import take_in_bounds
from upsweep._segmented import REDUCERS
from upsweep.dask import _awkward
from upsweep.dask._arrays import (
    added,
    array,
    array_of,
    combined,
    exact_sum,
    fitting,
    folded,
    is_checked,
    one_dimension,
)
from upsweep.dask._tasks import how, in_order, moved, new_name


def segmented_reduce(
    content: Any,
    lists: Any = None,
    /,
    *,
    op: str = "add",
    initial: Any = None,
    dtype: Any = None,
    overflow: str | None = None,
) -> Any:
    """Folds the elements of every list to one value. The computation of the content is lazy.

    Parameters
    ----------
    content : dask.array.Array of shape (m,), or dask_awkward.Array
        The elements of all lists, in NumPy chunks of known sizes. Or lists of numbers, which need no `lists`.
    lists : array, or dask.array.Array, of shape (n + 1,)
        The offsets of the lists in the content, as integers. Lists may extend over several chunks. Offsets in a Dask array are read
        once at the call, to determine which chunks belong together.
    op, initial, dtype, overflow
        As for `upsweep.segmented_reduce`.

    Returns
    -------
    dask.array.Array of shape (n,), or dask_awkward.Array
        If `lists` is a Dask array, the result has the chunks of `lists`. Otherwise the result has one chunk per chunk of the
        content, for the lists that begin in that chunk. For dask-awkward lists the result has the partitions of the content.

    Raises
    ------
    ValueError
        At the call: a list stops before it starts, or ends past the content; `index` is the first such list. Also an unknown
        operator, or chunks of unknown sizes, which content.compute_chunk_sizes() finds in one pass.
    OverflowError
        The sum of a list does not fit in its type, when the graph is computed. `index` is the first such list. For dask-awkward lists it counts
        within the partition.
    TypeError
        As for `upsweep.dask.scan`.

    Examples
    --------
    >>> import dask.array, numpy, upsweep.dask
    >>> pt = dask.array.from_array(numpy.array([30.0, 20.0, 50.0]), chunks=1)
    >>> upsweep.dask.segmented_reduce(pt, numpy.array([0, 2, 2, 3])).compute()
    array([50.,  0., 50.])
    """
    if _awkward.is_lists(content):
        if lists is not None:
            raise TypeError("lists: dask-awkward lists already contain their offsets: omit lists")
        return _awkward.segmented_reduce(content, op, initial, dtype, overflow)
    content = one_dimension(array_of(content, "content"), "content")
    if lists is None:
        raise TypeError("lists: the offsets of the lists in the content are needed")
    wanted, first = _type(content, op, initial, dtype, overflow)
    checked = is_checked(op, wanted, overflow)
    return reduced(content, Lists(lists, content.chunks[0]), op, first, wanted, checked)


def _type(content: Any, op: str, initial: Any, dtype: Any, overflow: str | None) -> tuple[str, Any]:
    """The type of the results and the initial value of each fold, with the rules and errors of upsweep.segmented_reduce."""
    empty = np.empty(0, content.dtype)
    result = upsweep.segmented_reduce(empty, np.zeros(1, np.int64), op=op, initial=initial, dtype=dtype, overflow=overflow)
    return result.dtype.name, None if op in REDUCERS else _scan.beginning(initial, op, result.dtype.name)


class Lists:
    """Lists in a content, in chunks: each chunk is (number of lists, first offset, last offset, source of all its offsets)."""

    def __init__(self, lists: Any, sizes: tuple[int, ...]):
        self.ends = list(itertools.accumulate(sizes))  # the ends of the content's chunks
        self.chunks: list[tuple[int, int, int, Any]] = []
        self.inputs: list = []
        if isinstance(lists, dask.array.Array):
            self._of_array(one_dimension(array_of(lists, "lists"), "lists"))
        else:
            self._of_offsets(take_in_bounds(lists, "offsets").data)
        self.range = (self.chunks[0][1], self.chunks[-1][2])

    def _of_offsets(self, offsets: np.ndarray) -> None:
        if len(offsets) == 0:
            raise ValueError("offsets: the array is empty: it must contain one more offset than there are lists")
        _, _, bad = _survey(offsets, self.ends[-1])
        if bad is not None:
            raise bad
        borders = [0, *np.searchsorted(offsets[:-1], self.ends[:-1]).tolist(), len(offsets) - 1]
        for begin, end in itertools.pairwise(borders):
            chunk = offsets[begin : end + 1].astype(np.int64, copy=False)
            self.chunks.append((end - begin, int(chunk[0]), int(chunk[-1]), chunk))

    def _of_array(self, offsets: Any) -> None:
        sizes = offsets.chunks[0]
        if sum(sizes) == 0:
            raise ValueError("offsets: the array is empty: it must contain one more offset than there are lists")
        take_in_bounds(offsets._meta, "offsets")
        surveys = dask.compute(*(dask.delayed(_survey)(block, self.ends[-1]) for block in offsets.to_delayed()))
        filled = [i for i, size in enumerate(sizes) if size]
        before = 0
        for i, last in zip(filled, [None, *filled]):
            first, _, bad = surveys[i]
            if last is not None:  # the list that extends from one chunk to the next
                between = _survey(np.array([surveys[last][1], first]), self.ends[-1])[2]
                if between is not None:
                    raise moved(between, before - 1)
            if bad is not None:
                raise moved(bad, before)
            before += sizes[i]
        for i, after in itertools.zip_longest(filled, filled[1:]):
            following = None if after is None else surveys[after][0]
            count, end = (sizes[i] - 1, surveys[i][1]) if after is None else (sizes[i], following)
            self.chunks.append((count, surveys[i][0], end, (_with_next, (offsets.name, i), following)))
        self.inputs = [offsets]

    def blocks(self, begin: int, end: int) -> range:
        """The content's chunks that contain elements of that range."""
        if begin == end:
            return range(0)
        return range(bisect.bisect_right(self.ends, begin), bisect.bisect_left(self.ends, end) + 1)


def _survey(offsets: np.ndarray, length: int) -> tuple[int, int, Any]:
    """The first and the last offset, and the error of the first list that is invalid in a content of that length, or None."""
    if len(offsets) == 0:
        return 0, 0, None
    offsets = take_in_bounds(offsets, "offsets").data  # it comes from another process and may be unaligned
    try:
        _core.pack_offsets(_options.place(), offsets, None, length, np.empty(len(offsets), np.int64))
    except ValueError as error:
        return int(offsets[0]), int(offsets[-1]), moved(error, 0)
    return int(offsets[0]), int(offsets[-1]), None


def _with_next(offsets: np.ndarray, after: int | None) -> np.ndarray:
    """The offsets of a chunk, followed by the next offset."""
    return offsets.astype(np.int64, copy=False) if after is None else np.append(offsets, after).astype(np.int64, copy=False)


def reduced(content: Any, lists: Lists, op: str, initial: Any, dtype: str, checked: bool) -> Any:
    """Returns a Dask array with one chunk for each chunk of the lists."""
    name, chunks, partials = new_name("lists"), new_name("chunk"), new_name("partial")
    results, options = name if not checked else new_name("joined"), how()
    graph: dict = {}
    before = 0
    for i, (count, begin, end, offsets) in enumerate(lists.chunks):
        graph[(chunks, i)] = offsets
        keys = []
        for block in lists.blocks(begin, end):
            keys.append((partials, i, block))
            start = lists.ends[block] - content.chunks[0][block]
            graph[keys[-1]] = (_reduce_block, (content.name, block), (chunks, i), start, op, initial, dtype, checked, options)
        graph[(results, i)] = (_joined, keys, count, before, op, initial, dtype, checked, content.dtype)
        before += count
    if checked:
        in_order(graph, name, [(results, i) for i in range(len(lists.chunks))])
    sizes = tuple(count for count, *_ in lists.chunks)
    return array(graph, name, [content, *lists.inputs], (sizes,), dtype)


def _reduce_block(
    block: np.ndarray, offsets: np.ndarray, start: int, op: str, initial: Any, dtype: str, checked: bool, options: dict
) -> tuple[int, Any, list]:
    """Folds the lists of one chunk. `start` is the position of the chunk's first element in the content.

    Returns the number of the first list that is entirely in the chunk, and the results of all such lists or their first error. Lists
    that begin before the chunk or end after it follow: the number of each, and the fold of its elements that are in the chunk."""
    bounds = offsets - start
    first = int(np.searchsorted(bounds, 0, "left"))
    last = max(int(np.searchsorted(bounds, len(block), "right")) - 1, first)
    with upsweep.options(**options):
        try:
            within = upsweep.segmented_reduce(
                block, bounds[first : last + 1], op=op, initial=None if initial is None else initial[0], 
                dtype=dtype, overflow="checked" if checked else "wrap",
            )  # fmt: skip
        except OverflowError as error:
            within = moved(error, first)
    partials = []
    for number in sorted({first - 1, last} & set(range(len(bounds) - 1))):
        begin, end = max(int(bounds[number]), 0), min(int(bounds[number + 1]), len(block))
        if begin < end:
            elements = block[begin:end]
            partials.append((number, _fold_range(elements, begin - int(bounds[number]), op, dtype, checked, options)))
    return first, within, partials


def _fold_range(elements: np.ndarray, position: int, op: str, dtype: str, checked: bool, options: dict) -> Any:
    """The fold of a range of a list; `position` is the start of the range within the list."""
    if op not in REDUCERS:
        return exact_sum(elements, op, dtype, options) if checked else folded(elements, op, dtype, options)
    with upsweep.options(**options):
        value = upsweep.segmented_reduce(elements, np.array([0, len(elements)]), op=op)[0]
    return (position + int(value), elements[value]) if op in ("argmin", "argmax") else value


def _join_ranges(op: str, a: Any, b: Any) -> Any:
    """Combines the folds of two consecutive ranges of a list."""
    if op in ("argmin", "argmax"):
        is_first = a[1] != a[1] or not (b[1] != b[1] or (b[1] < a[1] if op == "argmin" else b[1] > a[1]))  # NaN first
        return a if is_first else b
    if op in REDUCERS:
        return {"any": np.logical_or, "all": np.logical_and, "count": np.add, "count_nonzero": np.add}[op](a, b)
    return added(op, a, b)


def _joined(
    partials: list, count: int, before: int, op: str, initial: Any, dtype: str, checked: bool, content: np.dtype
) -> Any:
    """The results of a chunk's lists, or the first error; `first` is the number of its first list."""
    nothing = np.zeros(count + 1, np.int64)
    start = None if initial is None else initial[0]
    result = upsweep.segmented_reduce(np.empty(0, content), nothing, op=op, initial=start, dtype=dtype)
    errors, split = [], {}
    for first, within, folds in partials:
        if isinstance(within, Exception):
            errors.append(within)
        else:
            result[first : first + len(within)] = within
        for number, fold in folds:
            split[number] = _join_ranges(op, split[number], fold) if number in split else fold
    for number, fold in split.items():
        value = _result(fold, op, initial, dtype, checked)
        if value is None:
            errors.append(_sum_of_list(number, dtype))
        else:
            result[number] = value
    return moved(min(errors, key=lambda error: error.index), before) if errors else result


def _result(fold: Any, op: str, initial: Any, dtype: str, checked: bool) -> Any:
    """The result from the fold of a whole list; None if it does not fit."""
    if op in ("argmin", "argmax"):
        return fold[0]
    if op in REDUCERS:
        return fold
    if checked:
        return fitting(fold + (0 if initial is None else int(initial[0])), dtype)
    return fold if initial is None else combined(op, initial[0:1], fold)[0]


def _sum_of_list(number: int, dtype: str) -> Any:
    """The error of that list, with upsweep's own message."""
    try:
        upsweep.segmented_reduce(np.array([np.iinfo(dtype).max, 1], dtype), np.array([0, 2]), dtype=dtype, overflow="checked")
    except OverflowError as error:
        return moved(error, number)
    raise AssertionError(dtype)
