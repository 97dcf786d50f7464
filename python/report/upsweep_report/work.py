# SPDX-License-Identifier: Apache-2.0
# upsweep_report/work.py: how many operations a problem takes by its definition, whatever a rung does besides.
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .results import Row


class Work(NamedTuple):
    what: str  # is counted
    count: Callable[[Row], float]  # KeyError where a row does not say what is needed


def _one_each(row: Row) -> float:
    return row.n


def _two_each(row: Row) -> float:
    return 2.0 * row.n


def _comparisons(row: Row) -> float:
    """log2 is concave, x·log2 x convex: lists of unequal lengths need more."""
    length = row.n / max(row.details["lists"], 1)
    return row.n * max(math.log2(length), 1.0)


# By problem. Bytes are counted the same way: those of the problem, not of a rung.
WORK = {
    "scan": Work("an addition for each element", _one_each),
    "reduce": Work("an addition for each element", _one_each),
    "offsets": Work("a subtraction and an addition for each list", _two_each),
    "segmented-reduce": Work("an addition for each element", _one_each),
    "segmented-scan": Work("an addition for each element", _one_each),
    "by-key": Work("a comparison of keys and an addition for each row", _two_each),
    "group-by": Work("a look-up of the key and an addition for each row", _two_each),
    "segmented-sort": Work(
        "for each element as many comparisons as the logarithm (base 2) of the lists' mean length, and at least one",
        _comparisons,
    ),
    "select": Work("a test of the mask for each element", _one_each),
    "partition": Work("a test of the mask for each element", _one_each),
    "take": Work("an element picked for each index", _one_each),
    "pack": Work("a move for each element", _one_each),
    "broadcast": Work("a number for each element", _one_each),
    "combinations": Work("a pair made for each pair", lambda row: row.details["pairs"]),
    "filtered-sum": Work(
        "a comparison for each row, a multiplication and an addition for each that is kept",
        lambda row: row.n + 2.0 * row.details["kept"],
    ),
    "subset-sum": Work("an OR for each item and sum", lambda row: row.n * (row.details["target"] + 1.0)),
}


def operations(row: Row) -> float | None:
    """Those of a row's problem; None where it is unknown, or the row does not say enough."""
    work = WORK.get(row.problem)
    try:
        return work.count(row) if work else None
    except (KeyError, TypeError):
        return None
