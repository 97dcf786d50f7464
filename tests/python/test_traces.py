# SPDX-License-Identifier: Apache-2.0
# tests/python/test_traces.py: the models of algorithms that drawings are made of: they are correct, in order, and free
# of races.
import itertools
from typing import NamedTuple

import pytest

pytest.importorskip("upsweep_report")

from upsweep_report import (
    aggregates,
    folds,
    groups,
    list_scans,
    lists,
    machine,
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

LETTERS = "abcdefghijklmnopqrst"
SCANS = [getattr(scans, name) for name in (
    "serial", "turn_taking", "hillis_steele_in_place", "hillis_steele", "hillis_steele_blocks", "blelloch", "shuffle", "two_passes", "chained",
    "lookback", "lookahead", "vectors")]  # fmt: skip


def join(a, b):
    """An associative operator that is not commutative; raises an error for values that do not exist yet."""
    return a + b


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17])
def test_scans_are_right(scan, n):
    x = list(LETTERS[:n])
    trace = scan(x, join)
    assert trace.final[:n] == list(itertools.accumulate(x))
    for step in trace.steps:
        assert step.text and all(0 <= move.thread < trace.threads for move in step.moves)
    assert x == list(LETTERS[:n]), "the input must not be written"


def test_depth_and_work_are_those_of_the_algorithms():
    x = list(range(16))
    steps = {scan.__name__: len(scan(x, int.__add__).steps) for scan in SCANS}
    work = {
        scan.__name__: sum(len(move.sources) > 1 for step in scan(x, int.__add__).steps for move in step.moves)
        for scan in SCANS
    }
    assert steps["serial"] == steps["turn_taking"] == 16 and work["serial"] == 15
    assert steps["hillis_steele"] == 4 and work["hillis_steele"] == 15 + 14 + 12 + 8
    assert steps["hillis_steele_in_place"] == 8 and work["hillis_steele_in_place"] == work["hillis_steele"]
    assert steps["blelloch"] == 7 and work["blelloch"] == 15 + 11
    assert work["two_passes"] == 12 + 3 + 12, "separate scans, the totals, and all parts except the first again"


@pytest.mark.parametrize(
    "model",
    [
        offsets.serial,
        offsets.turn_taking,
        offsets.hillis_steele,
        offsets.hillis_steele_blocks,
        offsets.two_passes,
        offsets.lookahead,
    ],
)
@pytest.mark.parametrize("lengths", [[], [0], [4], [0, 0, 0], [3, 0, 4, 1, 0], [1] * 8, list(range(11))])
def test_offsets_are_right(model, lengths):
    starts = [100 - 7 * i for i in range(len(lengths))]  # lists in any order
    trace = model(starts, [start + length for start, length in zip(starts, lengths, strict=True)])
    assert trace.final == [0, *itertools.accumulate(lengths)]


def test_offsets_take_a_step_for_each_list_or_for_each_stride():
    starts, stops = [0] * 16, [1] * 16
    assert len(offsets.serial(starts, stops).steps) == len(offsets.turn_taking(starts, stops).steps) == 16
    assert len(offsets.hillis_steele(starts, stops).steps) == 1 + 4 + 1


def test_races_are_found():
    model = machine.Machine(2, x=[1, 2])
    with pytest.raises(machine.Race, match="written twice"), model.step("both"):
        model.copy(0, ("x", 0), ("x", 1))
        model.copy(1, ("x", 0), ("x", 1))
    model = machine.Machine(2, x=[1, 2, 3])
    with pytest.raises(machine.Race, match="thread 1 reads"), model.step("one writes what the other reads"):
        model.copy(0, ("x", 0), ("x", 2))
        model.copy(1, ("x", 1), ("x", 0))
    with model.step("lanes of a warp may"):
        model.shuffle(0, ("x", 0), int.__add__, ("x", 1), ("x", 0))
        model.shuffle(1, ("x", 1), int.__add__, ("x", 0), ("x", 1))
    with pytest.raises(IndexError, match="no thread"), model.step("nobody"):
        model.copy(2, ("x", 0), ("x", 1))
    with pytest.raises(IndexError, match="no position"), model.step("nowhere"):
        model.copy(0, ("x", 3), ("x", 1))


def test_waiting_threads_are_said_to_wait():
    trace = scans.chained(list(range(16)), int.__add__)
    assert [step.waiting for step in trace.steps if step.waiting] == [(1, 2, 3), (2, 3), (3,)]
    assert not any(step.waiting for step in scans.lookahead(list(range(16)), int.__add__).steps)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17])
def test_folds_are_right(n):
    x = list(LETTERS[:n])
    for fold in (folds.interleaved, folds.shuffle_rows):
        assert fold(x, join).final[0] == LETTERS[:n], fold
    for fold in (folds.sequential, folds.unrolled, folds.shuffle_strides):  # in another order
        assert sorted(fold(x, join).final[0]) == x, fold
    for threads in (1, 2, 3, 4, 8, 12):
        sums = folds.two_loads(x, join, threads).final
        expected = [LETTERS[first : min(first + 2 * threads, n)] for first in range(0, n, 2 * threads)]
        assert ["".join(sorted(each)) for each in sums] == expected, threads
        assert sorted(aggregates.reduce_again(x, join, threads).final[0]) == x, threads
    for places, registers in ((8, 48), (6, 40), (12, 200), (6, 18)):
        assert sorted(aggregates.occupancy(x, join, places, registers).final[0]) == x, (places, registers)


def test_which_threads_rest_and_which_words_collide():
    x = list(range(16))

    def conflicts(fold):
        return [machine.bank_conflicts(step, "shared", 8) for step in fold(x, int.__add__).steps]

    assert conflicts(folds.interleaved) == [2, 2, 2, 1]
    assert conflicts(folds.sequential) == [1, 1, 1, 1]
    for fold in (folds.interleaved, folds.sequential):
        idle = [machine.idle(step, 16) for step in fold(x, int.__add__).steps]
        assert idle == [list(range(working, 16)) for working in (8, 4, 2, 1)], "half of the threads never work"
    last = folds.two_loads(x, int.__add__)
    assert machine.idle(last.steps[0], last.threads) == []


def test_lanes_of_a_warp_work_whether_it_is_of_use_or_not():
    unrolled = folds.unrolled(list(range(16)), int.__add__)
    working = [{move.thread for move in step.moves} for step in unrolled.steps]
    assert working == [set(range(8)), {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}]
    assert ["barrier for all" in step.text and "without" not in step.text for step in unrolled.steps] == [
        True,
        False,
        False,
        False,
    ]
    rows = folds.shuffle_rows(list(range(16)), int.__add__)
    assert [len(step.moves) for step in rows.steps] == [8, 6, 4, 2] * 2 + [2, 1]
    strides = folds.shuffle_strides(list(range(16)), int.__add__)
    assert [len(step.moves) for step in strides.steps] == [8, 8, 6, 4, 2, 1], "shuffles once"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 15, 16, 17])
def test_one_kernel_folds_parts_and_then_the_sums_of_blocks(n):
    x = list(LETTERS[:n])
    for blocks, warps, lanes in ((2, 2, 2), (1, 2, 4), (4, 1, 4), (3, 2, 4)):
        assert sorted(folds.one_kernel(x, join, blocks, warps, lanes).final[0]) == x, (blocks, warps, lanes)
    assert folds.one_kernel(x[:8], join, 2, 2, 4).final == ["".join(x[:8])], "a row for each warp, in order"


def test_shuffles_come_once_however_long_the_parts_are():
    def shuffles(n):
        steps = folds.one_kernel(list(range(n)), int.__add__).steps
        return sum("lane l adds" in step.text for step in steps), len(steps)

    assert shuffles(16) == (1 + 1 + 1, 2 + 1 + 2 + 2 + 3)
    assert shuffles(64) == (1 + 1 + 1, 8 + 1 + 2 + 2 + 3)
    last = folds.one_kernel(list(range(16)), int.__add__).steps[-3:]
    assert all({move.thread for move in step.moves} <= {4, 5} for step in last), "threads of the last block"


def test_lanes_of_vectors_take_log_steps_to_join():
    steps = folds.fold_vectors(list(range(16)), int.__add__).steps
    assert len(steps) == 4 + 2 + 1 and all({move.thread for move in step.moves} == {0} for step in steps)
    both = folds.fold_vectors(list(range(16)), int.__add__, 2, 2, 2).steps
    assert [len({move.thread for move in step.moves}) for step in both] == [2] * 8 + [1] * 3


def test_blocks_scan_their_tiles_before_they_know_of_each_other():
    trace = scans.hillis_steele_blocks(list(range(16)), int.__add__)
    assert len(trace.steps) == 2 + 1 + 2 + 1
    for step in trace.steps[:2]:
        for move in step.moves:
            assert {position // 4 for _, position in move.sources} == {move.target[1] // 4}


LENGTHS = [[3], [0, 0], [1, 0, 5, 2], [9, 1, 1], [0, 12, 0], [2] * 6, [], [1, 3, 5, 7], [4, 1, 1, 2, 0, 2, 1, 1], [7, 8]]


def in_any_order(folds_of_lists):
    return [fold and "".join(sorted(fold)) for fold in folds_of_lists]


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_lists_are_folded_right(lengths, threads):
    offsets = [0, *itertools.accumulate(lengths)]
    x = list(LETTERS[: offsets[-1]])
    expected = ["".join(x[a:b]) or None for a, b in itertools.pairwise(offsets)]
    assert lists.lists_by_shares(offsets, x, join, threads).final == expected
    assert lists.lists_by_ranges(offsets, x, join, threads).final == expected
    assert lists.lists_by_one(offsets, x, join).final == expected
    assert lists.lists_by_threads(offsets, x, join).final == expected
    assert lists.lists_by_counts(offsets, x, join, threads).final == expected
    for lanes, depth, more in itertools.product((1, 2, 4), (1, 2, 3), ([], list("?" * 8))):
        assert lists.lists_by_columns(offsets, x + more, join, threads, lanes, depth).final == expected


@pytest.mark.parametrize("lengths", LENGTHS)
def test_lists_are_folded_right_by_several_threads_each(lengths):
    offsets = [0, *itertools.accumulate(lengths)]
    x = list(LETTERS[: offsets[-1]])
    expected = ["".join(x[a:b]) or None for a, b in itertools.pairwise(offsets)]
    for lanes in (1, 2, 4):
        assert in_any_order(lists.lists_by_warps(offsets, x, join, lanes).final) == expected
        assert in_any_order(lists.lists_by_blocks(offsets, x, join, 2, lanes).final) == expected
    for lanes, group, limits, piece in ((4, 2, (2, 4, 6), 4), (4, 2, (1, 2, 3), 2), (2, 1, (0, 2, 4), 6), (8, 2, (1, 4, 8), 3)):
        for blocks in (1, 2, 3):
            assert in_any_order(lists.lists_by_lanes(offsets, x, join, lanes, group, limits, piece, blocks).final) == expected
    for blocks, size, snap in itertools.product((1, 2, 3), (1, 3, 4, 7), (0, 1, 2, 3)):
        trace = pipeline.lists_by_roles(offsets, x, join, blocks, size, snap)
        assert in_any_order(trace.final) == expected, (blocks, size, snap)
        assert not any(trace.steps[-1].arrays["missing"] if trace.steps else []), "no part is missing in the end"


def test_columns_have_no_loop_over_a_list():
    """A group has one step per column of its longest list, whatever the others. Loads may read elements of the next
    list."""
    trace = lists.lists_by_columns([0, 4, 5, 6, 8], list(range(16)), int.__add__, threads=1)
    assert len(trace.steps) == 2 * (1 + 2) + 1
    assert [len(step.moves) for step in trace.steps] == [8 + 4, 4, 2, 8, 1, 1, 4]
    at_the_end = lists.lists_by_columns([0, 4, 5, 6, 8], list(range(8)), int.__add__, threads=1)
    assert len(at_the_end.steps) == 8, "by the loop, because columns would be read past the content"


def test_who_folds_a_list_depends_on_its_length():
    trace = lists.lists_by_lanes([0, 1, 4, 9, 16], list(range(16)), int.__add__)
    readers = {}
    for step in trace.steps:
        for move in step.moves:
            for array, at in move.sources:
                if array == "x":
                    readers.setdefault(at, set()).add(move.thread)
    assert [readers[i] for i in (0, 1, 2, 3)] == [{0}, {2}, {3}, {2}], "one lane, and then two"
    assert [readers[i] for i in range(4, 9)] == [{0}, {1}, {2}, {3}, {0}], "a warp"
    assert [readers[i] for i in range(9, 16)] == [{0}, {1}, {2}, {3}, {4}, {5}, {6}], "two blocks"
    alone = lists.lists_by_warps([0, 3, 6], list(range(6)), int.__add__, 4)
    assert machine.idle(alone.steps[0], alone.threads) == [] and machine.idle(alone.steps[-1], 8) == [1, 2, 3, 5, 6, 7]


def test_roles_of_a_block_work_at_the_same_time():
    trace = pipeline.lists_by_roles([0, 9, 10, 11, 12], list(range(12)), int.__add__)
    at_work = [{move.thread % 5 for move in step.moves} for step in trace.steps]
    assert at_work[:3] == [{0}, {0, 1}, {1, 2, 3}], "the next work unit is searched and loaded while one is folded"
    loads = [move for step in trace.steps for move in step.moves if move.target[0] == "stage"]
    assert sorted(move.sources[0][1] for move in loads) == list(range(12)), "every element is read once"
    alone = pipeline.lists_by_roles([0, 40], list(range(40)), int.__add__, blocks=1, size=8)
    ahead = [sum(move.target[0] == "share" for move in step.moves) for step in alone.steps]
    loaded = [any(move.target[0] == "stage" for move in step.moves) for step in alone.steps]
    assert max(a - b for a, b in zip(itertools.accumulate(ahead), itertools.accumulate(loaded), strict=True)) == 2
    shares = pipeline.shares_of([0, 9, 10, 11, 12], 4, 2)
    assert [len(share.elements) for share in shares] == [4, 4, 2, 2]


def test_shares_are_equal():
    trace = lists.lists_by_shares([0, 9, 10, 11, 12], list(range(12)), int.__add__, 4)
    assert len(lists.lists_by_threads([0, 9, 10, 11, 12], list(range(12)), int.__add__).steps) == 9
    assert sum("share" in step.text for step in trace.steps) == 4


def reachable(items, target):
    return {sum(some) for k in range(len(items) + 1) for some in itertools.combinations(items, k) if sum(some) <= target}


@pytest.mark.parametrize(
    "items, target",
    [
        ([3, 5, 2], 10),
        ([1], 1),
        ([4, 4, 7], 15),
        ([9, 1, 8, 3], 21),
        ([2, 3], 4),
        ([7], 5),
        ([3, 5, 2, 6, 9, 4, 8, 7], 33),
        ([2, 4, 6, 8, 10, 12], 31),
        ([1] * 7, 9),
    ],
)
def test_subset_sums_are_right(items, target):
    expected = reachable(items, target)
    for table in (
        sums.table,
        sums.table_by_operations,
        sums.table_by_threads,
        sums.table_in_turns,
        lambda *of: sums.table_by_threads(*of, each=4),
        lambda *of: sums.table_in_turns(*of, threads=3),
    ):
        assert {total for total, possible in enumerate(table(items, target).final) if possible} == expected

    def found(trace, word):
        words = [int(text, 2) for text in trace.final]
        return {word * at + bit for at, value in enumerate(words) for bit in range(word) if value >> bit & 1}

    for word in (2, 4, 8):
        assert {total for total in found(sums.bits_by_threads(items, target, word), word) if total <= target} == expected
        assert found(sums.bits(items, target, word), word) == expected, "and no sum above the target"
        assert found(sum_lists.enumerate_subsets(items, target, word), word) == expected
        for threads, block, together in itertools.product((1, 2, 3), (1, 2, 3), (1, 2, 4)):
            assert found(sums.bits_by_work_units(items, target, threads, word, block, together), word) == expected
        for threads in (1, 2, 5):
            assert found(sums.bits_two_items(items, target, threads, word), word) == expected
        for first, tile_words in ((2, 2), (0, 1), (3, 2), (4, 3)):
            assert found(sum_lists.fill_tiles(items, target, first, tile_words, word), word) == expected
    a, b = sum_lists.meet_in_the_middle(items, target).final
    assert (a + b == target) == (target in expected)


@pytest.mark.parametrize(
    "items", [[3, 5, 2, 6, 9, 4], [7, 1, 8, 2, 9, 3, 5], [4, 4, 8], [5], [2, 3, 5, 7, 11, 13, 17, 19], [6] * 6]
)
def test_decisions_are_right_whatever_the_target(items):
    for target in range(1, sum(items) + 2):
        lefts = reachable(items[: len(items) // 2], target)
        answers = set()
        for threads in (1, 2, 3):
            left, right = sum_lists.meet_by_remainders(items, target, threads).final
            assert (left is not None) == (target in reachable(items, target))
            assert left is None or (left in lefts and left + right == target)
            answers.add(left)
        assert len(answers) == 1, "the same on any number of threads"
        fit = [item for item in items if item <= target]
        both = [reachable(half, target) for half in (fit[: len(fit) // 2], fit[len(fit) // 2 :])]
        least = min((left for left in both[0] if target - left in both[1]), default=None)
        for seeded, threads, each in ((2, 2, 2), (1, 2, 3), (3, 4, 1), (0, 1, 3)):
            assert two_lists.merge_two_lists(items, target, seeded, threads, each).final == [least]


def moves_to(trace, array):
    return [move for step in trace.steps for move in step.moves if move.target[0] == array]


def test_full_words_are_left_alone():
    simd = sums.bits_by_work_units([2, 2, 3, 3, 3, 3], 19)
    last_pass = [step for step in simd.steps if step.text.startswith("a pass of 3 and 3")][4:]
    assert {move.target[1] for step in last_pass for move in step.moves if move.target[0] == "sums"} == {0, 2, 3, 4}
    assert [{move.thread for move in step.moves} for step in last_pass] == [{0, 1}] * 4, "one work unit for each thread"
    assert len(moves_to(simd, "halo")) > 2, "a halo is copied, and is then advanced with the items"
    assert all(move.thread == 1 for move in moves_to(simd, "halo"))
    fused = sums.bits_two_items([1, 2, 3, 4, 5, 6], 21)
    of_word_0 = [move for step in fused.steps for move in step.moves if move.target in (("sums", 0), ("other", 0))]
    assert [move.sources for move in of_word_0] == [(), (("state", 0),)], "the third pass does not access it"
    bits = sums.bits([1, 2, 3, 4, 5, 6], 21)
    assert len(moves_to(fused, "sums")) + len(moves_to(fused, "other")) < len(moves_to(bits, "sums")) / 2


def test_sums_are_looked_for_and_not_filled():
    tiles = sum_lists.fill_tiles([3, 5, 2, 6], 15)
    found = [move for move in moves_to(tiles, "tile") if move.sources]
    assert len(found) == 15, "every subset's sum in one tile, except 16, which is above the target"
    assert len(moves_to(tiles, "sums")) == 4, "every word once"
    assert any(step.waiting for step in tiles.steps), "for a word that another thread changes"
    few = sum_lists.meet_by_remainders([3, 5, 2, 6, 9, 4, 8, 7], 33)
    pairs = [move for array in ("lefts", "lacks") for move in moves_to(few, array) if len(move.sources) == 2]
    assert 0 < len(pairs) < 16, "pairs of two remainders, not of all five"


def test_who_fills_the_table():
    items, target = [3, 5, 2, 6], 15
    working = {
        name: [{move.thread for move in step.moves} for step in trace.steps[1:]]
        for name, trace in (
            ("table", sums.table(items, target)),
            ("column", sums.table_by_threads(items, target)),
            ("agglomerated", sums.table_by_threads(items, target, each=4)),
        )
    }
    assert working["table"] == [{0}] * 3
    assert working["column"] == [set(range(16))] * 3
    assert working["agglomerated"] == [{0, 1, 2, 3}] * 12
    bits = sums.bits_by_threads([3, 2, 6], 15)
    assert [len(step.moves) for step in bits.steps] == [1, 2, 3], "words without sums are not processed"


def test_offsets_of_lists_that_follow_each_other_need_one_step():
    trace = offsets.adjacent([5, 8, 8, 12], [8, 8, 12, 13])
    assert trace.final == [0, 3, 3, 7, 8] and len(trace.steps) == 1


MASKS = [[1, 0, 0, 1, 1, 0, 1, 1, 0, 1], [0, 0, 0, 1], [1, 1, 1], [0, 0], [1]]


@pytest.mark.parametrize("mask", MASKS)
def test_selections_are_right(mask):
    x = list(LETTERS[: len(mask)])
    kept = [value for value, keeps in zip(x, mask, strict=True) if keeps]
    others = [value for value, keeps in zip(x, mask, strict=True) if not keeps]
    for model in (selections.select_one, selections.select_always, selections.select_threads, selections.select_ranks):
        assert model(mask, x).final == kept, model
    assert selections.select_ranks(mask, x, rest=True).final == selections.partition_one(mask, x).final == kept + others
    assert len(selections.select_ranks(mask, x).steps) == 3, "for any number of elements"


@pytest.mark.parametrize("lengths", LENGTHS)
def test_selections_of_lists_are_right(lengths):
    offsets = [0, *itertools.accumulate(lengths)]
    x = list(LETTERS[: offsets[-1]])
    for mask in ([i * 5 % 3 % 2 for i in range(len(x))], [1] * len(x), [0] * len(x)):
        kept = [value for value, keeps in zip(x, mask, strict=True) if keeps]
        counts = [sum(mask[a:b]) for a, b in itertools.pairwise(offsets)]
        for warps, lanes in ((1, 1), (1, 2), (1, 4), (2, 2), (3, 4)):
            trace = selections.select_lists(offsets, mask, x, warps, lanes)
            assert trace.final == kept, (warps, lanes)
            arrays = trace.steps[-1].arrays if trace.steps else trace.arrays
            assert arrays["count"] == counts and arrays["new offs."] == [0, *itertools.accumulate(counts)]


def test_several_threads_of_a_list_vote():
    mask = [1, 0, 1, 1, 0, 1]
    one, warp, block = (selections.select_lists([0, 6], mask, list("abcdef"), *size) for size in ((1, 1), (1, 4), (2, 4)))
    assert len(one.steps) == 6 + 1 + 6 and len(warp.steps) == 2 * 2 + 1 + 2 * 2 and len(block.steps) == 3 + 1 + 3
    assert (
        warp.steps[0].arrays["votes"] == ["1101"]
        and warp.steps[2].arrays["votes"] == ["0010"]
        and block.steps[1].arrays["shared"] == [3, 1]
    )


def test_gathers_are_right():
    indices, x, y = [7, -1, 0, 0, -12, 11, 3], list(LETTERS[:12]), list(range(12))
    for threads, batch in ((1, 1), (1, 4), (2, 4), (3, 2)):
        last = moves.take_batches(indices, x, y, threads, batch).steps[-1].arrays
        assert last["out x"] == [x[i] for i in indices] and last["out y"] == [y[i] for i in indices]
    assert moves.take_batches([], x, y).final == []
    steps = moves.take_batches(indices[:4], x, y, threads=1).steps
    assert [len(step.moves) for step in steps] == [4, 4, 4], "positions are computed once, for any number of columns"


@pytest.mark.parametrize("lengths", LENGTHS)
def test_stages_are_right(lengths):
    starts = [(5 * i) % 9 for i in range(len(lengths))]  # lists overlap
    stops = [start + length for start, length in zip(starts, lengths, strict=True)]
    x = list(range(100, 120))[: max(stops, default=0)]
    expected = [value for a, b in zip(starts, stops, strict=True) for value in x[a:b]]
    offsets = [0, *itertools.accumulate(lengths)]
    for threads, line, more in itertools.product((1, 2, 3), (1, 2, 3, 4), (0, 4)):
        assert moves.pack_staged(starts, stops, x + [7] * more, threads, line).final == expected
        places = [place for length in lengths for place in range(length)]
        assert moves.positions_staged(offsets, threads, line).final == places
    for size in (1, 2, 4, 8):
        assert moves.pack_lists(starts, stops, x, size).final == expected


def test_short_lists_are_a_vector_each_and_lines_leave_the_stage_whole():
    trace = moves.positions_staged([0, 1, 2, 5, 6, 7], threads=1, line=3)
    assert [(step.moves[0].target[0], len(step.moves)) for step in trace.steps] == [
        *[("stage", 3)] * 4,
        ("out", 6 + 3),
        ("stage", 3),
        ("out", 1),
    ]
    exact = moves.pack_staged([0, 3], [2, 5], list("abcde"), threads=1, line=3)
    assert [len(step.moves) for step in exact.steps] == [3, 2, 4], "nothing is read past the content"


def test_takes_and_packs_are_right():
    x = list(LETTERS[:12])
    positions = [7, 2, 2, 0, 9, 4, 11, 5, 1]
    for model in (moves.take_one, moves.take_many):
        assert model(positions, x).final == [x[i] for i in positions], model
    starts, stops = [6, 0, 9, 3], [9, 2, 9, 8]
    expected = [value for a, b in zip(starts, stops, strict=True) for value in x[a:b]]
    for model in (moves.pack_one, moves.pack_lists, moves.pack_shares):
        assert model(starts, stops, x).final == expected, model
    assert len(moves.pack_lists(starts, stops, x).steps) == 5, "the longest list"
    assert len(moves.pack_shares(starts, stops, x).steps) == 3, "a quarter of ten elements"


@pytest.mark.parametrize("lengths", LENGTHS)
def test_what_is_done_within_lists_is_right(lengths):
    offsets = [0, *itertools.accumulate(lengths)]
    x = list(LETTERS[: offsets[-1]])
    places = [i for length in lengths for i in range(length)]
    assert moves.positions_one(offsets).final == moves.positions_path(offsets).final == places
    sums = [value for a, b in itertools.pairwise(offsets) for value in itertools.accumulate(x[a:b])]
    scan_models = (
        list_scans.scan_lists_one,
        list_scans.scan_lists_threads,
        list_scans.scan_lists_tiles,
        list_scans.scan_lists_blocks,
        list_scans.scan_lists_columns,
    )
    for model in scan_models:
        assert model(offsets, x, join).final[: len(x)] == sums, model
    for threads, depth, most in itertools.product((1, 2), (1, 2, 3), (1, 4, 20)):
        assert list_scans.scan_lists_columns(offsets, x + ["?"] * 9, join, threads, 2, depth, most).final == sums
    for warps, lanes in ((1, 4), (2, 2), (3, 1), (2, 4)):
        assert list_scans.scan_lists_blocks(offsets, x, join, warps, lanes).final == sums
    for tile, blocks in ((1, 2), (2, 2), (3, 1), (2, 4), (16, 2)):
        trace = list_scans.scan_lists_lookahead(offsets, x, join, tile, blocks)
        assert [value for value in trace.final if value is not None] == sums
    pairs = [pair for a, b in itertools.pairwise(offsets) for pair in itertools.combinations(x[a:b], 2)]
    for model in (moves.pairs_one, moves.pairs_shares):
        trace = model(offsets, x)
        last = trace.steps[-1].arrays if trace.steps else trace.arrays
        assert list(zip(last["left"], last["right"], strict=True)) == pairs, model


def test_elements_that_begin_a_list_are_scanned_without_what_is_before():
    trace = list_scans.scan_lists_lookahead([0, 3, 3, 5, 6], list("abcdef"), join)
    assert trace.steps[0].arrays["heads"] == [1, 0, 0, 1, 0, 1], "an empty list has none"
    of_head = [move for step in trace.steps for move in step.moves if move.target == ("out", 3)]
    assert [move.sources for move in of_head] == [(("heads", 3), ("x", 3))]
    assert str(trace.steps[-1].arrays["total"][1]) == "|d", "in the second tile: the total of its last list"
    rounds = list_scans.scan_lists_blocks([0, 9, 10], list(range(10)), int.__add__)
    assert len(rounds.steps) == 3 * 5, "four elements a round"


def test_sorts_are_right():
    x = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    assert sorts.sort_one(x).final == sorted(x)
    networks = sorts.sort_networks(x)
    assert networks.final == [value for first in range(0, 12, 4) for value in sorted(x[first : first + 4])]
    assert len(networks.steps) == 3 and all({move.thread for move in step.moves} == {0, 1, 2} for step in networks.steps)
    for permutation in itertools.permutations(range(4)):
        assert sorts.sort_networks(list(permutation)).final == [0, 1, 2, 3]


class Sortable(NamedTuple):
    """Only compared by its key."""

    key: int
    number: int

    def __lt__(self, other):
        return self.key < other.key


@pytest.mark.parametrize("lengths", LENGTHS)
def test_lists_are_sorted_right_and_equal_elements_stay_in_order(lengths):
    offsets = [0, *itertools.accumulate(lengths)]
    x = [Sortable(7 * i % 5, i) for i in range(offsets[-1])]
    expected = [value for a, b in itertools.pairwise(offsets) for value in sorted(x[a:b])]
    for threads in (1, 2, 4):
        assert sorts.sort_lists_threads(offsets, x, threads).final == expected
    assert sorts.sort_by_threads(offsets, x).final == expected
    for lanes in (1, 2, 4):
        assert sorts.sort_by_warps(offsets, x, lanes).final == expected
    for items in (1, 2, 3, 4):
        assert sorts.sort_by_blocks(offsets, x, items).final == expected
        for nominal in (1, 3, 6, 20):
            assert sorts.sort_by_tiles(offsets, x, nominal, items).final == expected


def test_which_elements_are_compared_and_merged():
    inserted = sorts.sort_by_threads([0, 4, 5], [4, 3, 2, 1, 9])
    assert len(inserted.steps) == 4 * 2 + 6, "each element passes all before it"
    counted = sorts.sort_by_warps([0, 4, 6], [4, 3, 2, 1, 9, 8])
    assert len(counted.steps) == 4 + 1 and all(len(step.moves) == 6 for step in counted.steps[:2])
    merged = sorts.sort_by_blocks([0, 8], [8, 7, 6, 5, 4, 3, 2, 1])
    assert [len(step.moves) for step in merged.steps] == [8, 8, 8, 8, 8, 8, 8], "both widths of all elements"
    tiles = sorts.sort_by_tiles([0, 2, 3, 5, 6], [2, 1, 1, 2, 1, 3], nominal=6)
    assert [len(step.moves) for step in tiles.steps] == [4, 6, 2, 2, 2, 6], "only the list that crosses two runs is merged"


@pytest.mark.parametrize("keys", [[2, 2, 5, 5, 5, 7], [1], [1, 2, 3], [4, 4, 4], [1, 2, 1]])
def test_runs_of_keys_are_right(keys):
    x = list(LETTERS[: len(keys)])
    expected = [
        "".join(value for _, value in run) for _, run in itertools.groupby(zip(keys, x, strict=True), lambda pair: pair[0])
    ]
    assert moves.keys_one(keys, x, join).final == moves.keys_runs(keys, x, join).final == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 16, 17])
def test_folds_on_a_cpu_are_right(n):
    x = list(LETTERS[:n])
    assert folds.fold_one(x, join).final == [LETTERS[:n]]
    assert folds.fold_threads(x, join).final[0] == LETTERS[:n]
    for threads, lanes, vectors in ((1, 4, 4), (2, 2, 2), (3, 4, 1), (2, 8, 3)):
        assert sorted(folds.fold_vectors(x, join, threads, lanes, vectors).final[0]) == x, "in another order"
    assert folds.fold_vectors(x, join, 2, 1, 1).final[0] == LETTERS[:n], "blocks' totals are folded in order"
    keys = [k % 3 for k in range(n)]
    assert aggregates.products(keys, list(range(n)), 2, lambda value: 2 * value).final == [
        2 * sum(v for k, v in zip(keys, range(n), strict=True) if k < 2)
    ]


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 12, 15, 16, 17, 20])
@pytest.mark.parametrize("limit", [0, 1, 3, 10])
def test_filtered_sums_are_right(n, limit):
    """Sums of no row, of few, of some, and of all rows."""
    key, quantity, price = [7 * i % 10 for i in range(n)], list(range(1, n + 1)), [3 + i % 4 for i in range(n)]
    rows = aggregates.Rows(key, quantity, price, limit)
    expected = [sum(quantity[i] * price[i] for i in range(n) if key[i] < limit)]
    assert aggregates.rows_one(rows).final == expected
    for threads, block in ((1, 4), (2, 3), (3, 5)):
        assert aggregates.rows_threads(rows, threads, block).final == expected
        for chunk, many in ((4, 2), (2, 1), (5, 0), (3, 3)):
            assert aggregates.rows_noted(rows, threads, block, chunk, many).final == expected
    for blocks, lanes, each, many in ((2, 2, 2, 3), (1, 2, 2, 3), (3, 2, 1, 2), (2, 4, 1, 3), (2, 1, 2, 2)):
        assert aggregates.fused(rows, blocks, lanes, each, many).final == expected, (blocks, lanes, each, many)
    assert aggregates.fused(rows, over_link=True).final == expected


def payload_reads(trace):
    return {cell for step in trace.steps for move in step.moves for cell in move.sources if cell[0] in ("quantity", "price")}


def test_payload_is_read_of_rows_that_are_kept():
    key = [4, 31, 77, 90, 12, 55, 29, 30, 88, 3, 64, 41, 9, 2, 17, 60]
    rows = aggregates.Rows(key, key, key, 30)
    kept = {(column, i) for i in range(16) if key[i] < 30 for column in ("quantity", "price")}
    assert payload_reads(aggregates.rows_one(rows)) == payload_reads(aggregates.rows_threads(rows)) == kept
    assert payload_reads(aggregates.fused(rows)) == kept
    in_order = {(column, i) for i in range(12, 16) for column in ("quantity", "price")}
    assert payload_reads(aggregates.rows_noted(rows)) == kept | in_order, "only the last block is read in order"


def test_what_was_kept_of_the_last_rows_says_how_the_next_are_read():
    key = [1, 1, 1, 1, 9, 9, 9, 1, 9, 9, 1, 9]
    trace = aggregates.rows_noted(aggregates.Rows(key, key, key, 5), threads=1, block=12)
    noted = [move.target[1] for step in trace.steps for move in step.moves if move.target[0] == "noted"]
    assert len(noted) == 1, "only for the third block: in the second, one row was kept, and that is read in order"
    assert payload_reads(trace) == {(column, i) for i in (*range(8), 10) for column in ("quantity", "price")}


def test_a_payload_is_added_a_step_after_it_was_asked_for():
    rows = aggregates.Rows([1] * 2 + [9] * 2 + [1] * 2 + [9] * 2, list(range(8)), list(range(8)), 5)
    trace = aggregates.fused(rows, blocks=1)
    taken = [at for at, step in enumerate(trace.steps) if any(move.target[0] == "payload" for move in step.moves)]
    assert len(taken) == 2
    first, second = (trace.steps[at].arrays for at in taken)
    assert first["sum"] == [0, 0] and [tuple(each) for each in first["payload"]] == [(0, 0), (1, 1)]
    assert second["sum"] == [0, 1] and trace.final == [0 + 1 + 16 + 25]
    loads = [at for at, step in enumerate(trace.steps) if any(move.target[0] == "keys" for move in step.moves)]
    assert loads == [0, 1], "the second tile's keys are requested before the first tile's keys are tested"


def test_the_block_that_is_launched_is_the_first_that_fills_most():
    fit = aggregates.occupancy(list(range(16)), int.__add__).steps[0].arrays["fit"]
    assert fit == [4, 8, 6, 8, 6, 6]
    waves = aggregates.occupancy(list(range(32)), int.__add__, places=8)
    assert sum("had no place" in step.text for step in waves.steps) == 1
    again = aggregates.reduce_again(list(range(16)), int.__add__)
    assert [len(step.moves) for step in again.steps] == [8, 4, 4, 2, 1, 1, 1]


ATOMIC = (groups.add_by_atomics, groups.add_in_blocks, groups.add_partitions_in_blocks)
IN_ORDER = (
    groups.map_one,
    groups.map_stretches,
    groups.partition_rows,
    groups.fold_then_partition,
    groups.by_places,
    groups.sort_positions,
    groups.sort_by_digits,
)
ROWS_OF_KEYS = [
    [7, 2, 7, 4, 2, 7, 7, 4, 2, 9, 6, 7],
    [3],
    [5, 5, 5, 5, 5],
    [0, 1, 2, 3, 4, 5, 6, 7],
    [9, 0, 9, 4, 1, 4, 1, 15],
    [8, 6, 4, 2] * 4,
]


@pytest.mark.parametrize("keys", ROWS_OF_KEYS)
def test_groups_are_right(keys):
    x = list(LETTERS[: len(keys)])
    expected = [(key, "".join(value for k, value in zip(keys, x, strict=True) if k == key)) for key in dict.fromkeys(keys)]
    for model in (*IN_ORDER, *ATOMIC, groups.vote_and_take_turns):
        trace = model(keys, x, join)
        # With atomics the order depends on timing. Totals of warps are added after all rows.
        is_in_order = model in IN_ORDER and model is not groups.fold_then_partition
        found = [(key, total if is_in_order else "".join(sorted(total))) for key, total in trace.final]
        assert found == expected, model
        assert all(step.text for step in trace.steps), model
        assert x == list(LETTERS[: len(keys)]), "the input must not be written"


def test_what_a_table_does_not_take_is_added_after_its_totals():
    keys = [7, 2, 7, 4, 2, 7, 7, 4, 2, 9, 6, 7]
    trace = groups.fold_then_partition(keys, list(LETTERS[:12]), join)
    assert trace.final == [(7, "acfgl"), (2, "bei"), (4, "dh"), (9, "j"), (6, "k")]
    moved = [step for step in trace.steps if any(move.target[0] == "entries" for move in step.moves)]
    assert sum(len(step.moves) for step in moved) == 8, "two totals of each work unit, and one and three rows"
    everything = groups.partition_rows(keys, list(LETTERS[:12]), join)
    assert sum(move.target[0] == "entries" for step in everything.steps for move in step.moves) == 12


def test_partitions_need_no_merge_and_tables_of_stretches_do():
    keys = [7, 2, 7, 4, 2, 7, 7, 4, 2, 9, 6, 7]
    merges = [step for step in groups.map_stretches(keys, keys, int.__add__).steps if "merges" in step.text]
    assert len(merges) == 10 and all({move.thread for move in step.moves} == {0} for step in merges)
    for step in groups.partition_rows(keys, keys, int.__add__).steps:
        tables = [move.target[1] for move in step.moves if move.target[0] == "tables"]
        assert len(tables) == len(set(tables))


def test_rows_of_one_key_wait_for_each_other():
    one, many = (groups.add_by_atomics(keys, keys, int.__add__) for keys in ([5] * 8, list(range(8))))
    assert [len(step.waiting) for step in one.steps] == [0, 7, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0]
    assert not any(step.waiting for step in many.steps)
    assert any(move.target[0] == "slots" and move.thread == 7 for step in one.steps for move in step.moves), "the last is first"


def test_blocks_change_the_table_of_all_once_for_each_key():
    """Except for rows that do not fit in the block's own table."""

    def adds(model, keys):
        return sum(move.target[0] == "totals" for step in model(keys, keys, int.__add__).steps for move in step.moves)

    few = [7, 2, 7, 2, 7, 2] * 2
    assert (adds(groups.add_by_atomics, few), adds(groups.add_in_blocks, few)) == (12, 4)
    more = [7, 2, 7, 4, 2, 7, 7, 4, 2, 9, 6, 7]
    assert adds(groups.add_in_blocks, more) == 3 + 3 + 2
    assert adds(groups.add_partitions_in_blocks, more) == 3 + 2, "each key belongs to one block"


def test_lanes_with_one_key_take_turns():
    keys = [7, 2, 7, 4, 7, 7, 7, 7]
    trace = groups.vote_and_take_turns(keys, list(LETTERS[:8]), join)
    votes = next(step.arrays["votes"] for step in trace.steps if "votes" in {move.target[0] for move in step.moves})
    assert votes == ["0101", "0010", "1000", "1111", "0000", "0000"], "votes of two warps, for 7, 2 and 4"
    turns = [step for step in trace.steps if "turns" in step.text]
    assert [step.waiting for step in turns] == [(2, 5, 6, 7), (6, 7), (7,), ()]
    assert trace.final == [(7, "acefgh"), (2, "b"), (4, "d")]
    two_rounds = groups.vote_and_take_turns([7, 7, 7, 7, 7, 7, 7, 7, 7], list(LETTERS[:9]), join)
    assert two_rounds.final == [(7, "abcdiefgh")], "a warp's rows in their order, then the next warp's"
