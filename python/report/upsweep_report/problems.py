# SPDX-License-Identifier: Apache-2.0
# upsweep_report/problems.py: each problem's properties that are not in results: operations, and models of rungs.
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from . import (
    aggregates,
    folds,
    groups,
    list_scans,
    lists,
    moves,
    offsets,
    pipeline,
    scans,
    selections,
    sorts,
    sum_lists,
    sums,
    two_lists,
)
from .machine import Trace
from .results import Row


class Work(NamedTuple):
    """The number of operations that a problem needs by its definition, without any extra work of a rung."""

    what: str  # is counted
    count: Callable[[Row], float]  # raises KeyError if a row lacks a value
    for_each_byte: str  # as in the guide; for float64 unless it names another type


class Problem(NamedTuple):
    work: Work
    # By rung, or by several equivalent rungs, separated by blanks. Rungs of libraries have no model.
    models: dict[str, Callable[[], Trace]]

    def model(self, rung: str) -> Callable[[], Trace] | None:
        return next((model for rungs, model in self.models.items() if rung in rungs.split()), None)


NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]
_OFFSETS = [0, 9, 10, 11, 12]
_SHORT_LISTS = [0, 4, 5, 6, 8, 8, 10, 11, 12]
_UNSORTED_LISTS = [0, 5, 6, 8, 9, 11, 14, 15, 16]
_MIXED_LISTS = [0, 6, 7, 7, 12]
_LONGER_LISTS = [0, 1, 4, 9, 16]
_STARTS, _STOPS = [0, 3, 3, 7, 8, 12, 14, 14], [3, 3, 7, 8, 12, 14, 14, 19]
_MORE_ITEMS = [3, 5, 2, 6, 9, 4, 8, 7]
_ITEMS, _TARGET = [3, 5, 2, 6], 15
_MASK = [1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1]
_POSITIONS = [7, 2, 2, 0, 9, 4, 11, 5]
_INDICES = [7, 2, -2, 0, 9, -12, 11, 5, 2, 2]
_STAGED, _STAGED_ENDS = [6, 0, 9, 3, 11, 1], [9, 2, 9, 6, 12, 4]
_APART, _APART_ENDS = [6, 0, 9, 3], [9, 2, 9, 6]
_KEYS = [2, 2, 5, 5, 5, 7, 8, 8, 8, 8, 9, 9]
_ANYWHERE = [7, 2, 7, 4, 2, 7, 7, 4, 2, 9, 6, 7]
_FEW = [7, 2, 7, 4, 2, 7, 7, 2, 4, 7, 2, 4, 7, 4, 7, 7]
_SUPPLIERS = [4, 31, 7, 90, 12, 55, 29, 30]
_ROW_KEYS = [4, 31, 77, 90, 12, 55, 29, 30, 88, 3, 64, 41, 9, 2, 17, 60]
_PRICES = [2, 4, 5, 3, 7, 2, 6, 4, 3, 8, 2, 5, 4, 6, 3, 2]


def add(left: int, right: int) -> int:
    return left + right


def _rows(n: int) -> aggregates.Rows:
    return aggregates.Rows(_ROW_KEYS[:n], NUMBERS[:n], _PRICES[:n], limit=30)


def _one_each(row: Row) -> float:
    return row.n


def _two_each(row: Row) -> float:
    return 2.0 * row.n


def _comparisons(row: Row) -> float:
    """A lower bound: log2 is concave and x·log2 x convex, so lists of unequal lengths need more."""
    length = row.n / max(row.details["lists"], 1)
    return row.n * max(math.log2(length), 1.0)


# Bytes are counted in the same way as operations: those of the problem, not of a rung.
PROBLEMS = {
    "scan": Problem(
        Work("an addition for each element", _one_each, "1/16"),
        {
            "cpu.simd": lambda: scans.vectors(NUMBERS, add),
            "cpu.serial cuda.one_thread": lambda: scans.serial(NUMBERS, add),
            "cpu.threads cpu.simd_threads": lambda: scans.two_passes(NUMBERS, add),
            "cpu.chained": lambda: scans.chained(NUMBERS, add),
            "cpu.lookahead cuda.lookahead": lambda: scans.lookahead(NUMBERS, add),
            "cuda.turn_taking": lambda: scans.turn_taking(NUMBERS, add),
            "cuda.hillis_steele cuda.hillis_steele_global": lambda: scans.hillis_steele(NUMBERS, add),
            "cuda.hillis_steele_blocks": lambda: scans.hillis_steele_blocks(NUMBERS, add),
            "cuda.blelloch": lambda: scans.blelloch(NUMBERS, add),
            "cuda.shuffle": lambda: scans.shuffle(NUMBERS, add),
            "cuda.lookback": lambda: scans.lookback(NUMBERS, add),
        },
    ),
    "reduce": Problem(
        Work("an addition for each element", _one_each, "1/8"),
        {
            "cuda.shuffle": lambda: folds.shuffle_rows(NUMBERS, add),
            "cpu.serial": lambda: folds.fold_one(NUMBERS, add),
            "cpu.threads": lambda: folds.fold_threads(NUMBERS, add),
            "cpu.simd": lambda: folds.fold_vectors(NUMBERS, add),
            "cpu.simd_threads": lambda: folds.fold_vectors(NUMBERS, add, threads=2, lanes=2, vectors=2),
            "cuda.one_kernel": lambda: folds.one_kernel(NUMBERS, add),
        },
    ),
    "offsets": Problem(
        Work("a subtraction and an addition for each list", _two_each, "2/24, of int64"),
        {
            "cpu.threads": lambda: offsets.two_passes(_STARTS, _STOPS),
            "cpu.lookahead cuda.lookahead": lambda: offsets.lookahead(_STARTS, _STOPS),
            "cpu.adjacent cuda.adjacent": lambda: offsets.adjacent(_STARTS, _STOPS),
            "cpu.serial cuda.one_thread": lambda: offsets.serial(_STARTS, _STOPS),
            "cuda.turn_taking": lambda: offsets.turn_taking(_STARTS, _STOPS),
            "cuda.hillis_steele_global": lambda: offsets.hillis_steele(_STARTS, _STOPS),
            "cuda.hillis_steele_blocks": lambda: offsets.hillis_steele_blocks(_STARTS, _STOPS),
        },
    ),
    "segmented-reduce": Problem(
        Work("an addition for each element", _one_each, "1/8 of long lists, less of short ones"),
        {
            "cpu.serial": lambda: lists.lists_by_one(_OFFSETS, NUMBERS[:12], add),
            "cpu.threads": lambda: lists.lists_by_counts(_SHORT_LISTS, NUMBERS[:12], add),
            "cpu.shares": lambda: lists.lists_by_ranges(_SHORT_LISTS, NUMBERS[:12], add),
            "cpu.columns": lambda: lists.lists_by_columns(_SHORT_LISTS, NUMBERS, add),
            "cuda.thread_per_list": lambda: lists.lists_by_threads(_OFFSETS, NUMBERS[:12], add),
            "cuda.warp_per_list": lambda: lists.lists_by_warps(_OFFSETS, NUMBERS[:12], add),
            "cuda.block_per_list": lambda: lists.lists_by_blocks(_OFFSETS, NUMBERS[:12], add),
            "cuda.shares": lambda: lists.lists_by_shares(_OFFSETS, NUMBERS[:12], add),
            "cuda.lanes": lambda: lists.lists_by_lanes(_LONGER_LISTS, NUMBERS, add),
            "cuda.pipeline": lambda: pipeline.lists_by_roles(_OFFSETS, NUMBERS[:12], add),
        },
    ),
    "segmented-scan": Problem(
        Work("an addition for each element", _one_each, "1/16 of long lists"),
        {
            "cpu.serial": lambda: list_scans.scan_lists_one(_SHORT_LISTS, NUMBERS[:12], add),
            "cpu.columns": lambda: list_scans.scan_lists_columns(_SHORT_LISTS, NUMBERS, add),
            "cuda.thread_per_list": lambda: list_scans.scan_lists_threads(_SHORT_LISTS, NUMBERS[:12], add),
            "cuda.block_per_list": lambda: list_scans.scan_lists_blocks(_OFFSETS, NUMBERS[:12], add),
            "cuda.tiles": lambda: list_scans.scan_lists_tiles(_SHORT_LISTS, NUMBERS[:12], add),
            "cuda.lookahead": lambda: list_scans.scan_lists_lookahead(_SHORT_LISTS, NUMBERS[:12], add),
        },
    ),
    "by-key": Problem(
        Work("a comparison of keys and an addition for each row", _two_each, "2/16 of long runs"),
        {
            "cpu.serial": lambda: moves.keys_one(_KEYS, NUMBERS[:12], add),
            "cpu.runs cuda.runs": lambda: moves.keys_runs(_KEYS, NUMBERS[:12], add),
        },
    ),
    "group-by": Problem(
        Work("a look-up of the key and an addition for each row", _two_each, "2/16 of few groups"),
        {
            "cpu.serial": lambda: groups.map_one(_ANYWHERE, NUMBERS[:12], add),
            "cpu.thread_maps": lambda: groups.map_stretches(_ANYWHERE, NUMBERS[:12], add),
            "cpu.partitioned": lambda: groups.partition_rows(_ANYWHERE, NUMBERS[:12], add),
            "cpu.sorted": lambda: groups.sort_positions(_ANYWHERE, NUMBERS[:12], add),
            "cpu.direct": lambda: groups.by_places(_ANYWHERE, NUMBERS[:12], add),
            "cpu.adaptive": lambda: groups.fold_then_partition(_ANYWHERE, NUMBERS[:12], add),
            "cuda.hash": lambda: groups.add_by_atomics(_ANYWHERE, NUMBERS[:12], add),
            "cuda.shared": lambda: groups.add_in_blocks(_ANYWHERE, NUMBERS[:12], add),
            "cuda.partitioned": lambda: groups.add_partitions_in_blocks(_ANYWHERE, NUMBERS[:12], add),
            "cuda.sort": lambda: groups.sort_by_digits(_ANYWHERE, NUMBERS[:12], add),
            "cuda.adaptive": lambda: groups.vote_and_take_turns(_FEW, NUMBERS, add),
        },
    ),
    "segmented-sort": Problem(
        Work(
            "for each element the logarithm (base 2) of the lists' mean length, in comparisons, and at least one",
            _comparisons,
            "10/16 of lists of 1,024",
        ),
        {
            "cpu.serial": lambda: sorts.sort_one(NUMBERS[:8]),
            "cpu.threads": lambda: sorts.sort_lists_threads(_UNSORTED_LISTS, NUMBERS),
            "cpu.networks": lambda: sorts.sort_networks(NUMBERS),
            "cuda.thread_per_list": lambda: sorts.sort_by_threads(_SHORT_LISTS, NUMBERS[4:16]),
            "cuda.warp_per_list": lambda: sorts.sort_by_warps([0, 5, 6, 8, 12], NUMBERS[4:16]),
            "cuda.block_per_list": lambda: sorts.sort_by_blocks([0, 8, 11], NUMBERS[5:16]),
            "cuda.tiles": lambda: sorts.sort_by_tiles([0, 4, 5, 8, 8, 10, 11, 12], NUMBERS[4:16]),
        },
    ),
    "select": Problem(
        Work("a test of the mask for each element", _one_each, "1/13 without lists, half of the elements kept"),
        {
            "cpu.serial": lambda: selections.select_one(_MASK, NUMBERS),
            "cpu.branchless": lambda: selections.select_always(_MASK, NUMBERS),
            "cpu.threads": lambda: selections.select_threads(_MASK, NUMBERS),
            "cpu.compress cuda.ranks": lambda: selections.select_ranks(_MASK, NUMBERS),
            "cuda.thread_per_list": lambda: selections.select_lists(_MIXED_LISTS, _MASK[:12], NUMBERS[:12]),
            "cuda.warp_per_list": lambda: selections.select_lists(_MIXED_LISTS, _MASK[:12], NUMBERS[:12], lanes=4),
            "cuda.block_per_list": lambda: selections.select_lists(_MIXED_LISTS, _MASK[:12], NUMBERS[:12], warps=2, lanes=2),
        },
    ),
    "partition": Problem(
        Work("a test of the mask for each element", _one_each, "1/17"),
        {
            "cpu.serial": lambda: selections.partition_one(_MASK, NUMBERS),
            "cpu.compress cuda.ranks": lambda: selections.select_ranks(_MASK, NUMBERS, rest=True),
        },
    ),
    "take": Problem(
        Work("an element picked for each index", _one_each, "1/24 without lists"),
        {
            "cpu.serial": lambda: moves.take_one(_POSITIONS, NUMBERS[:12]),
            "cpu.gather": lambda: moves.take_batches(_INDICES, NUMBERS[:12], _SUPPLIERS + _SUPPLIERS[:4]),
            "cuda.tiles": lambda: moves.take_many(_POSITIONS, NUMBERS[:12]),
        },
    ),
    "pack": Problem(
        Work("a move for each element", _one_each, "1/16 of long lists"),
        {
            "cpu.serial": lambda: moves.pack_one(_APART, _APART_ENDS, NUMBERS[:10]),
            "cpu.threads cuda.thread_per_list": lambda: moves.pack_lists(_APART, _APART_ENDS, NUMBERS[:10]),
            "cpu.shares cuda.tiles": lambda: moves.pack_shares(_APART, _APART_ENDS, NUMBERS[:10]),
            "cpu.staged": lambda: moves.pack_staged(_STAGED, _STAGED_ENDS, NUMBERS),
            "cuda.warp_per_list": lambda: moves.pack_lists(_APART, _APART_ENDS, NUMBERS[:10], size=4),
            "cuda.block_per_list": lambda: moves.pack_lists([6, 0], [16, 3], NUMBERS, size=8),
        },
    ),
    "broadcast": Problem(
        Work("a number for each element", _one_each, "1/8 of long lists"),
        {
            "cpu.serial": lambda: moves.positions_one(_SHORT_LISTS),
            "cpu.staged": lambda: moves.positions_staged([0, 3, 4, 6, 6, 8, 11, 12]),
            "cuda.merge_path": lambda: moves.positions_path(_SHORT_LISTS),
        },
    ),
    "combinations": Problem(
        Work("a pair made for each pair", lambda row: row.details["pairs"], "1/16 of many pairs"),
        {
            "cpu.serial": lambda: moves.pairs_one([0, 3, 3, 5, 8], NUMBERS[:8]),
            "cpu.shares cuda.merge_path": lambda: moves.pairs_shares([0, 3, 3, 5, 8], NUMBERS[:8]),
        },
    ),
    "filtered-sum": Problem(
        Work(
            "a comparison for each row, a multiplication and an addition for each that is kept",
            lambda row: row.n + 2.0 * row.details["kept"],
            "nearly 1/4 where few rows are kept",
        ),
        {
            "cpu.serial": lambda: aggregates.rows_one(_rows(8)),
            "cpu.threads": lambda: aggregates.rows_threads(_rows(12)),
            "cpu.predicate_first": lambda: aggregates.rows_noted(_rows(16)),
            "cuda.select": lambda: aggregates.products(_SUPPLIERS, NUMBERS[:8], 30, lambda value: 2 * value),
            "cuda.interleaved": lambda: folds.interleaved(NUMBERS, add),
            "cuda.sequential": lambda: folds.sequential(NUMBERS, add),
            "cuda.unrolled": lambda: folds.unrolled(NUMBERS, add),
            "cuda.two_loads": lambda: folds.two_loads(NUMBERS, add),
            "cuda.reduce_again": lambda: aggregates.reduce_again(NUMBERS, add),
            "cuda.occupancy": lambda: aggregates.occupancy(NUMBERS, add),
            "cuda.shuffle": lambda: folds.shuffle_strides(NUMBERS, add),
            "cuda.zero_copy": lambda: aggregates.fused(_rows(16), over_link=True),
            "cuda.fused": lambda: aggregates.fused(_rows(16)),
        },
    ),
    "subset-sum": Problem(
        Work("an OR for each item and sum", lambda row: row.n * (row.details["target"] + 1.0), "4, of a bitmap"),
        {
            "cpu.table": lambda: sums.table(_ITEMS, _TARGET),
            "cpu.columns": lambda: sums.table_in_turns(_ITEMS, _TARGET),
            "cpu.threads": lambda: sums.table_in_turns(_ITEMS, _TARGET, threads=4),
            "cpu.bits": lambda: sums.bits(_ITEMS, _TARGET),
            "cpu.bits_simd": lambda: sums.bits_by_work_units([2, 2, 3, 3, 3, 3], 19),
            "cpu.enumerate": lambda: sum_lists.enumerate_subsets(_ITEMS, _TARGET),
            "cpu.meet_in_the_middle": lambda: sum_lists.meet_in_the_middle(_ITEMS, _TARGET),
            "cpu.schroeppel_shamir": lambda: sum_lists.meet_by_remainders(_MORE_ITEMS, 32),
            "cuda.array_ops": lambda: sums.table_by_operations(_ITEMS, _TARGET),
            "cuda.column": lambda: sums.table_by_threads(_ITEMS, _TARGET),
            "cuda.agglomerated": lambda: sums.table_by_threads(_ITEMS, _TARGET, each=4),
            "cuda.bits": lambda: sums.bits_by_threads(_ITEMS, _TARGET),
            "cuda.bits_fused": lambda: sums.bits_two_items([1, 2, 3, 4, 5, 6], 21),
            "cuda.slices": lambda: sum_lists.fill_tiles(_ITEMS, _TARGET),
            "cuda.two_list": lambda: two_lists.merge_two_lists([3, 5, 2, 6, 4, 9], 17),
        },
    ),
}


def operations(row: Row) -> float | None:
    """The operations of a row's problem; None if the problem is unknown, or the row lacks a value that is needed."""
    problem = PROBLEMS.get(row.problem)
    try:
        return problem.work.count(row) if problem else None
    except (KeyError, TypeError):
        return None
