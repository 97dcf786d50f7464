# SPDX-License-Identifier: Apache-2.0
# upsweep_report/drawings.py: which model of an algorithm is drawn beside which rung, run on a few elements.
from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from .machine import Trace, bank_conflicts, idle

BANKS = 8  # of the shared memory that is drawn; a GPU has 32

_NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]
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


def _add(left: int, right: int) -> int:
    return left + right


def _rows(n: int) -> aggregates.Rows:
    return aggregates.Rows(_ROW_KEYS[:n], _NUMBERS[:n], _PRICES[:n], limit=30)


DOCUMENTS = "documents"  # stands for a problem where a document's algorithm is no rung

# By problem and rung. Rungs of libraries have none: what they do inside is theirs.
_MODELS: dict[str, dict[str, Callable[[], Trace]]] = {
    DOCUMENTS: {"hillis_steele_in_place": lambda: scans.hillis_steele_in_place(_NUMBERS[:8], _add)},
    "scan": {
        "cpu.simd": lambda: scans.vectors(_NUMBERS, _add),
        "cpu.serial": lambda: scans.serial(_NUMBERS, _add),
        "cpu.threads": lambda: scans.two_passes(_NUMBERS, _add),
        "cpu.simd_threads": lambda: scans.two_passes(_NUMBERS, _add),
        "cpu.chained": lambda: scans.chained(_NUMBERS, _add),
        "cpu.lookahead": lambda: scans.lookahead(_NUMBERS, _add),
        "cuda.one_thread": lambda: scans.serial(_NUMBERS, _add),
        "cuda.turn_taking": lambda: scans.turn_taking(_NUMBERS, _add),
        "cuda.hillis_steele": lambda: scans.hillis_steele(_NUMBERS, _add),
        "cuda.hillis_steele_global": lambda: scans.hillis_steele(_NUMBERS, _add),
        "cuda.hillis_steele_blocks": lambda: scans.hillis_steele_blocks(_NUMBERS, _add),
        "cuda.blelloch": lambda: scans.blelloch(_NUMBERS, _add),
        "cuda.shuffle": lambda: scans.shuffle(_NUMBERS, _add),
        "cuda.lookback": lambda: scans.lookback(_NUMBERS, _add),
        "cuda.lookahead": lambda: scans.lookahead(_NUMBERS, _add),
    },
    "reduce": {
        "cuda.shuffle": lambda: folds.shuffle_rows(_NUMBERS, _add),
        "cpu.serial": lambda: folds.fold_one(_NUMBERS, _add),
        "cpu.threads": lambda: folds.fold_threads(_NUMBERS, _add),
        "cpu.simd": lambda: folds.fold_vectors(_NUMBERS, _add),
        "cpu.simd_threads": lambda: folds.fold_vectors(_NUMBERS, _add, threads=2, lanes=2, vectors=2),
        "cuda.one_kernel": lambda: folds.one_kernel(_NUMBERS, _add),
    },
    "filtered-sum": {
        "cpu.serial": lambda: aggregates.rows_one(_rows(8)),
        "cpu.threads": lambda: aggregates.rows_threads(_rows(12)),
        "cpu.predicate_first": lambda: aggregates.rows_noted(_rows(16)),
        "cuda.select": lambda: aggregates.products(_SUPPLIERS, _NUMBERS[:8], 30, lambda value: 2 * value),
        "cuda.interleaved": lambda: folds.interleaved(_NUMBERS, _add),
        "cuda.sequential": lambda: folds.sequential(_NUMBERS, _add),
        "cuda.unrolled": lambda: folds.unrolled(_NUMBERS, _add),
        "cuda.two_loads": lambda: folds.two_loads(_NUMBERS, _add),
        "cuda.reduce_again": lambda: aggregates.reduce_again(_NUMBERS, _add),
        "cuda.occupancy": lambda: aggregates.occupancy(_NUMBERS, _add),
        "cuda.shuffle": lambda: folds.shuffle_strides(_NUMBERS, _add),
        "cuda.zero_copy": lambda: aggregates.fused(_rows(16), over_link=True),
        "cuda.fused": lambda: aggregates.fused(_rows(16)),
    },
    "offsets": {
        "cpu.threads": lambda: offsets.two_passes(_STARTS, _STOPS),
        "cpu.lookahead": lambda: offsets.lookahead(_STARTS, _STOPS),
        "cuda.lookahead": lambda: offsets.lookahead(_STARTS, _STOPS),
        "cpu.adjacent": lambda: offsets.adjacent(_STARTS, _STOPS),
        "cuda.adjacent": lambda: offsets.adjacent(_STARTS, _STOPS),
        "cpu.serial": lambda: offsets.serial(_STARTS, _STOPS),
        "cuda.one_thread": lambda: offsets.serial(_STARTS, _STOPS),
        "cuda.turn_taking": lambda: offsets.turn_taking(_STARTS, _STOPS),
        "cuda.hillis_steele_global": lambda: offsets.hillis_steele(_STARTS, _STOPS),
        "cuda.hillis_steele_blocks": lambda: offsets.hillis_steele_blocks(_STARTS, _STOPS),
    },
    "segmented-reduce": {
        "cpu.serial": lambda: lists.lists_by_one(_OFFSETS, _NUMBERS[:12], _add),
        "cpu.threads": lambda: lists.lists_by_counts(_SHORT_LISTS, _NUMBERS[:12], _add),
        "cpu.shares": lambda: lists.lists_by_ranges(_SHORT_LISTS, _NUMBERS[:12], _add),
        "cpu.columns": lambda: lists.lists_by_columns(_SHORT_LISTS, _NUMBERS, _add),
        "cuda.thread_per_list": lambda: lists.lists_by_threads(_OFFSETS, _NUMBERS[:12], _add),
        "cuda.warp_per_list": lambda: lists.lists_by_warps(_OFFSETS, _NUMBERS[:12], _add),
        "cuda.block_per_list": lambda: lists.lists_by_blocks(_OFFSETS, _NUMBERS[:12], _add),
        "cuda.shares": lambda: lists.lists_by_shares(_OFFSETS, _NUMBERS[:12], _add),
        "cuda.lanes": lambda: lists.lists_by_lanes(_LONGER_LISTS, _NUMBERS, _add),
        "cuda.pipeline": lambda: pipeline.lists_by_roles(_OFFSETS, _NUMBERS[:12], _add),
    },
    "segmented-scan": {
        "cpu.serial": lambda: list_scans.scan_lists_one(_SHORT_LISTS, _NUMBERS[:12], _add),
        "cpu.columns": lambda: list_scans.scan_lists_columns(_SHORT_LISTS, _NUMBERS, _add),
        "cuda.thread_per_list": lambda: list_scans.scan_lists_threads(_SHORT_LISTS, _NUMBERS[:12], _add),
        "cuda.block_per_list": lambda: list_scans.scan_lists_blocks(_OFFSETS, _NUMBERS[:12], _add),
        "cuda.tiles": lambda: list_scans.scan_lists_tiles(_SHORT_LISTS, _NUMBERS[:12], _add),
        "cuda.lookahead": lambda: list_scans.scan_lists_lookahead(_SHORT_LISTS, _NUMBERS[:12], _add),
    },
    "by-key": {
        "cpu.serial": lambda: moves.keys_one(_KEYS, _NUMBERS[:12], _add),
        "cpu.runs": lambda: moves.keys_runs(_KEYS, _NUMBERS[:12], _add),
        "cuda.runs": lambda: moves.keys_runs(_KEYS, _NUMBERS[:12], _add),
    },
    "group-by": {
        "cpu.serial": lambda: groups.map_one(_ANYWHERE, _NUMBERS[:12], _add),
        "cpu.thread_maps": lambda: groups.map_stretches(_ANYWHERE, _NUMBERS[:12], _add),
        "cpu.partitioned": lambda: groups.partition_rows(_ANYWHERE, _NUMBERS[:12], _add),
        "cpu.sorted": lambda: groups.sort_positions(_ANYWHERE, _NUMBERS[:12], _add),
        "cpu.direct": lambda: groups.by_places(_ANYWHERE, _NUMBERS[:12], _add),
        "cpu.adaptive": lambda: groups.fold_then_partition(_ANYWHERE, _NUMBERS[:12], _add),
        "cuda.hash": lambda: groups.add_by_atomics(_ANYWHERE, _NUMBERS[:12], _add),
        "cuda.shared": lambda: groups.add_in_blocks(_ANYWHERE, _NUMBERS[:12], _add),
        "cuda.partitioned": lambda: groups.add_partitions_in_blocks(_ANYWHERE, _NUMBERS[:12], _add),
        "cuda.sort": lambda: groups.sort_by_digits(_ANYWHERE, _NUMBERS[:12], _add),
        "cuda.adaptive": lambda: groups.vote_and_take_turns(_FEW, _NUMBERS, _add),
    },
    "segmented-sort": {
        "cpu.serial": lambda: sorts.sort_one(_NUMBERS[:8]),
        "cpu.threads": lambda: sorts.sort_lists_threads(_UNSORTED_LISTS, _NUMBERS),
        "cpu.networks": lambda: sorts.sort_networks(_NUMBERS),
        "cuda.thread_per_list": lambda: sorts.sort_by_threads(_SHORT_LISTS, _NUMBERS[4:16]),
        "cuda.warp_per_list": lambda: sorts.sort_by_warps([0, 5, 6, 8, 12], _NUMBERS[4:16]),
        "cuda.block_per_list": lambda: sorts.sort_by_blocks([0, 8, 11], _NUMBERS[5:16]),
        "cuda.tiles": lambda: sorts.sort_by_tiles([0, 4, 5, 8, 8, 10, 11, 12], _NUMBERS[4:16]),
    },
    "select": {
        "cpu.serial": lambda: selections.select_one(_MASK, _NUMBERS),
        "cpu.branchless": lambda: selections.select_always(_MASK, _NUMBERS),
        "cpu.threads": lambda: selections.select_threads(_MASK, _NUMBERS),
        "cpu.compress": lambda: selections.select_ranks(_MASK, _NUMBERS),
        "cuda.thread_per_list": lambda: selections.select_lists(_MIXED_LISTS, _MASK[:12], _NUMBERS[:12]),
        "cuda.warp_per_list": lambda: selections.select_lists(_MIXED_LISTS, _MASK[:12], _NUMBERS[:12], lanes=4),
        "cuda.block_per_list": lambda: selections.select_lists(_MIXED_LISTS, _MASK[:12], _NUMBERS[:12], warps=2, lanes=2),
        "cuda.ranks": lambda: selections.select_ranks(_MASK, _NUMBERS),
    },
    "partition": {
        "cpu.serial": lambda: selections.partition_one(_MASK, _NUMBERS),
        "cpu.compress": lambda: selections.select_ranks(_MASK, _NUMBERS, rest=True),
        "cuda.ranks": lambda: selections.select_ranks(_MASK, _NUMBERS, rest=True),
    },
    "take": {
        "cpu.serial": lambda: moves.take_one(_POSITIONS, _NUMBERS[:12]),
        "cpu.gather": lambda: moves.take_batches(_INDICES, _NUMBERS[:12], _SUPPLIERS + _SUPPLIERS[:4]),
        "cuda.tiles": lambda: moves.take_many(_POSITIONS, _NUMBERS[:12]),
    },
    "pack": {
        "cpu.serial": lambda: moves.pack_one(_APART, _APART_ENDS, _NUMBERS[:10]),
        "cpu.threads": lambda: moves.pack_lists(_APART, _APART_ENDS, _NUMBERS[:10]),
        "cpu.shares": lambda: moves.pack_shares(_APART, _APART_ENDS, _NUMBERS[:10]),
        "cpu.staged": lambda: moves.pack_staged(_STAGED, _STAGED_ENDS, _NUMBERS),
        "cuda.thread_per_list": lambda: moves.pack_lists(_APART, _APART_ENDS, _NUMBERS[:10]),
        "cuda.warp_per_list": lambda: moves.pack_lists(_APART, _APART_ENDS, _NUMBERS[:10], size=4),
        "cuda.block_per_list": lambda: moves.pack_lists([6, 0], [16, 3], _NUMBERS, size=8),
        "cuda.tiles": lambda: moves.pack_shares(_APART, _APART_ENDS, _NUMBERS[:10]),
    },
    "broadcast": {
        "cpu.serial": lambda: moves.positions_one(_SHORT_LISTS),
        "cpu.staged": lambda: moves.positions_staged([0, 3, 4, 6, 6, 8, 11, 12]),
        "cuda.merge_path": lambda: moves.positions_path(_SHORT_LISTS),
    },
    "combinations": {
        "cpu.serial": lambda: moves.pairs_one([0, 3, 3, 5, 8], _NUMBERS[:8]),
        "cpu.shares": lambda: moves.pairs_shares([0, 3, 3, 5, 8], _NUMBERS[:8]),
        "cuda.merge_path": lambda: moves.pairs_shares([0, 3, 3, 5, 8], _NUMBERS[:8]),
    },
    "subset-sum": {
        "cpu.table": lambda: sums.table(_ITEMS, _TARGET),
        "cpu.columns": lambda: sums.table_in_turns(_ITEMS, _TARGET),
        "cpu.threads": lambda: sums.table_in_turns(_ITEMS, _TARGET, threads=4),
        "cpu.bits": lambda: sums.bits(_ITEMS, _TARGET),
        "cpu.bits_simd": lambda: sums.bits_by_slices([2, 2, 3, 3, 3, 3], 19),
        "cpu.enumerate": lambda: sum_lists.enumerate_subsets(_ITEMS, _TARGET),
        "cpu.meet_in_the_middle": lambda: sum_lists.meet_in_the_middle(_ITEMS, _TARGET),
        "cpu.schroeppel_shamir": lambda: sum_lists.meet_by_remainders(_MORE_ITEMS, 32),
        "cuda.array_ops": lambda: sums.table_by_operations(_ITEMS, _TARGET),
        "cuda.column": lambda: sums.table_by_threads(_ITEMS, _TARGET),
        "cuda.agglomerated": lambda: sums.table_by_threads(_ITEMS, _TARGET, each=4),
        "cuda.bits": lambda: sums.bits_by_threads(_ITEMS, _TARGET),
        "cuda.bits_fused": lambda: sums.bits_two_items([1, 2, 3, 4, 5, 6], 21),
        "cuda.slices": lambda: sum_lists.fill_slices(_ITEMS, _TARGET),
        "cuda.two_list": lambda: two_lists.merge_two_lists([3, 5, 2, 6, 4, 9], 17),
    },
}


def drawing(problem: str, rung: str) -> dict[str, Any] | None:
    """What the page steps through: the arrays at first, and for each step its moves, who rests, and the arrays after it."""
    model = _MODELS.get(problem, {}).get(rung)
    if model is None:
        return None
    trace = model()
    return {
        "threads": trace.threads,
        "arrays": _shown(trace.arrays),
        "result": trace.result,
        "steps": [
            {
                "text": step.text,
                "moves": [[move.thread, move.sources, move.target] for move in step.moves],
                "idle": idle(step, trace.threads),
                "waiting": step.waiting,
                "turns": bank_conflicts(step, "shared", BANKS) if "shared" in trace.arrays else None,
                "arrays": _shown(step.arrays),
            }
            for step in trace.steps
        ],
    }


def _shown(arrays: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Cells as they are drawn: those that hold several values as their text."""
    return {name: [str(value) if isinstance(value, tuple) else value for value in values] for name, values in arrays.items()}


def drawn() -> list[tuple[str, str]]:
    """The rungs that have a drawing."""
    return [(problem, rung) for problem, rungs in _MODELS.items() if problem != DOCUMENTS for rung in rungs]
