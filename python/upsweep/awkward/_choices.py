# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_choices.py: the elements of all choices from lists, in batches whose positions stay in the caches.
from __future__ import annotations

from typing import Any

import numpy as np

import upsweep
from upsweep import _core, _options
from upsweep.awkward._layouts import Lists

# Number of choices per batch: the positions for two elements per choice are 4 MiB.
AT_ONCE = 256 * 1024


def combinations(lists: Lists, n: int, replacement: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    """The offsets of every list's choices of n elements, and the elements for each of the n places."""
    column = lists.columns[0]

    def fill(bounds: list, offsets: Any, places: list) -> int:
        return _core.combinations(_options.place(-1, 0), bounds[0], len(column), n, replacement, offsets, places)

    return _elements(fill, [lists.bounds], [column] * n, lists.count)


def cartesian(of: list[Lists]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The offsets of every choice of one element of each array's list, and the elements for each array."""

    def fill(bounds: list, offsets: Any, places: list) -> int:
        inputs = [(each, len(lists.columns[0])) for each, lists in zip(bounds, of)]
        return _core.cartesian(_options.place(-1, 0), inputs, offsets, places)

    return _elements(fill, [lists.bounds for lists in of], [lists.columns[0] for lists in of], of[0].count)


def _elements(fill: Any, bounds: list, columns: list[np.ndarray], count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Gathers the elements of choices, batch by batch. `fill` writes the offsets of choices, and with places their positions."""
    offsets = np.empty(count + 1, np.int64)
    total = fill(bounds, offsets, [])
    results = [np.empty(total, column.dtype) for column in columns]
    ends = _ends(offsets, total)
    if len(ends) == 0:
        return offsets, results
    begins = np.concatenate([[0], ends[:-1]])
    longest = int(np.max(offsets[ends] - offsets[begins]))
    places = [np.empty(longest, np.int64) for _ in columns]
    scratch = np.empty(int(np.max(ends - begins)) + 1, np.int64)
    for begin, end in zip(begins.tolist(), ends.tolist()):
        first, last = int(offsets[begin]), int(offsets[end])
        choices = [place[: last - first] for place in places]
        fill([_between(each, begin, end) for each in bounds], scratch[: end - begin + 1], choices)
        for choice, column, result in zip(choices, columns, results):
            upsweep.take(choice, column, out=result[first:last])
    return offsets, results


def _ends(offsets: np.ndarray, total: int) -> np.ndarray:
    """The ends of the batches, as numbers of lists: each batch has about AT_ONCE choices and at least one list."""
    if total == 0:
        return np.empty(0, np.int64)
    wanted = np.arange(AT_ONCE, total + AT_ONCE, AT_ONCE)
    return np.unique(np.searchsorted(offsets, np.minimum(wanted, total)))


def _between(bounds: Any, begin: int, end: int) -> Any:
    if isinstance(bounds, tuple):
        return bounds[0][begin:end], bounds[1][begin:end]
    return bounds[begin : end + 1]
