# SPDX-License-Identifier: Apache-2.0
# upsweep_report/selections.py: models of the rungs that move the elements that a mask keeps, on a few elements.
from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

from .machine import Cell, Machine, Trace, Worker, equal_shares

WORD = 4  # booleans in a word; a machine has 64, a warp 32


def select_one(mask: list[int], x: list[Any]) -> Trace:
    """`cpu.serial`: a kept element is written to the next place."""
    machine = Machine(1, mask=mask, x=x, out=[None] * sum(mask))
    kept = 0
    for i, keeps in enumerate(mask):
        with machine.step(
            f"element {i} " + (f"is kept, in place {kept}" if keeps else "is not kept; the branch may be mispredicted")
        ):
            if keeps:
                machine.write(0, ("out", kept), x[i], ("mask", i), ("x", i))
        kept += keeps
    return machine.trace("out")


def select_always(mask: list[int], x: list[Any]) -> Trace:
    """`cpu.branchless`: every element is stored, and the place advances by the mask: the next element overwrites one that is not kept."""
    count = sum(mask)
    machine = Machine(1, mask=mask, x=x, out=[None] * count)
    kept = 0
    for i, keeps in enumerate(mask):
        if kept == count:
            break
        with machine.step(f"element {i} is stored in place {kept}; the place advances by {keeps}"):
            machine.write(0, ("out", kept), x[i], ("mask", i), ("x", i))
        kept += keeps
    return machine.trace("out")


def select_threads(mask: list[int], x: list[Any], threads: int = 4) -> Trace:
    """`cpu.threads`: each thread counts the kept elements of its share; a scan of the counts determines where its output begins."""
    shares = equal_shares(len(x), threads)
    machine = Machine(threads, mask=mask, x=x, count=[0] * threads, out=[None] * sum(mask))
    for k in range(max(len(share) for share in shares)):
        with machine.step("every thread counts the kept elements of its share"):
            for thread, share in enumerate(shares):
                if k < len(share):
                    machine.fold(thread, ("count", thread), int.__add__, ("count", thread), ("mask", share[k]))
    for thread in range(1, threads):
        with machine.step("one thread adds up the counts: the ends of the shares' outputs"):
            machine.fold(0, ("count", thread), int.__add__, ("count", thread - 1), ("count", thread))
    next_place = [0, *accumulate(sum(mask[i] for i in share) for share in shares)]
    for k in range(max(len(share) for share in shares)):
        with machine.step("every thread writes its elements, beginning where the previous share ends"):
            for thread, share in enumerate(shares):
                if k < len(share) and mask[share[k]]:
                    machine.copy(thread, ("out", next_place[thread]), ("x", share[k]))
                    next_place[thread] += 1
    return machine.trace("out")


def select_ranks(mask: list[int], x: list[Any], rest: bool = False) -> Trace:
    """`cpu.compress`, `cuda.ranks`: booleans as bits of words, and the number of set bits before each word: they give any position's rank.

    With `rest` the elements that are not kept follow, as in a partition.
    """
    n = len(x)
    words = [mask[first : first + WORD] for first in range(0, n, WORD)]
    total = sum(mask)
    machine = Machine(
        n, mask=mask, bits=[None] * len(words), before=[None] * len(words), x=x, out=[None] * (n if rest else total)
    )
    with machine.step(f"a vote converts {WORD} booleans to the bits of a word, the first at its right"):
        for number, word in enumerate(words):
            sources = [("mask", number * WORD + k) for k in range(len(word))]
            machine.write(number * WORD, ("bits", number), "".join(map(str, reversed(word))), *sources)
    before = [0, *accumulate(sum(word) for word in words)]
    with machine.step("the number of set bits before each word: a scan of their counts"):
        for number in range(len(words)):
            machine.write(number * WORD, ("before", number), before[number], *(("bits", other) for other in range(number)))
    with machine.step("the place of every kept element is the number before its word plus the set bits before its own"):
        for i, keeps in enumerate(mask):
            rank = before[i // WORD] + sum(words[i // WORD][: i % WORD])
            if keeps or rest:
                place = rank if keeps else total + i - rank
                machine.write(i, ("out", place), x[i], ("before", i // WORD), ("bits", i // WORD), ("x", i))
    return machine.trace("out")


def select_lists(offsets: list[int], mask: list[int], x: list[Any], warps: int = 1, lanes: int = 1) -> Trace:
    """The rungs of select with a thread, warp or block per list: count the kept elements of each list, scan the counts, move.

    They are `cuda.thread_per_list`, `cuda.warp_per_list` and `cuda.block_per_list`. One thread, the lanes of a warp, or several warps
    process a list. Without lists, ranges of the array are lists.
    """
    lists = len(offsets) - 1
    none = [None] * (lists * warps)
    votes: dict[str, list[Any]] = {"votes": none} if lanes > 1 else {}
    sums: dict[str, list[Any]] = {"shared": none} if warps > 1 else {}
    machine = Machine(
        lists * warps * lanes,
        offsets=offsets,
        mask=mask,
        x=x,
        **votes,
        **sums,
        count=[0] * lists,
        **{"new offs.": [0] + [None] * lists},
        out=[None] * sum(mask[: offsets[-1]]),
    )
    size = warps * lanes
    threads = [tuple(range(i * size, (i + 1) * size)) for i in range(lists)]
    machine.run(
        Worker(threads[i], _count_list(machine, i, range(*list_), warps, lanes)) for i, list_ in enumerate(pairwise(offsets))
    )
    counts = [("count", i) for i in range(lists)]
    if lists > 0:
        with machine.step("a scan of the counts determines where each list's output begins"):
            for i in range(lists):
                total = sum(machine[count] for count in counts[: i + 1])
                machine.write(i * size, ("new offs.", i + 1), total, *counts[: i + 1])
    machine.run(
        Worker(threads[i], _move_list(machine, i, range(*list_), warps, lanes)) for i, list_ in enumerate(pairwise(offsets))
    )
    return machine.trace("out")


def _count_list(machine: Machine, i: int, elements: range, warps: int, lanes: int) -> Iterator[str | None]:
    for first in range(0, len(elements), warps * lanes):
        own = elements[first : first + warps * lanes]
        yield from _vote(machine, i, own, warps, lanes)
        read = _kept_by(machine, i, own, warps, lanes)
        kept = sum(machine["mask", at] for at in own)
        machine.write(i * warps * lanes, ("count", i), machine["count", i] + kept, ("count", i), *read)
        yield "the first launch counts the kept elements of each list"


def _move_list(machine: Machine, i: int, elements: range, warps: int, lanes: int) -> Iterator[str | None]:
    size = warps * lanes
    to = machine["new offs.", i]
    for first in range(0, len(elements), size):
        own = elements[first : first + size]
        yield from _vote(machine, i, own, warps, lanes)
        for thread, at in enumerate(own, i * size):
            if machine["mask", at]:
                read = _kept_by(machine, i, own, warps, lanes) if lanes > 1 else []
                machine.write(thread, ("out", to), machine["x", at], ("mask", at), ("x", at), ("new offs.", i), *read)
                to += 1
        yield "the second moves them: each kept element goes after those that are kept before it"


def _vote(machine: Machine, i: int, own: range, warps: int, lanes: int) -> Iterator[str | None]:
    """The lanes of each warp vote whether they keep their elements; warps write the counts to shared memory."""
    if lanes == 1:
        return
    for warp in range(warps):
        elements = own[warp * lanes : (warp + 1) * lanes]
        bits = "".join(str(machine["mask", at]) for at in reversed(elements)).rjust(lanes, "0")
        read = [("mask", at) for at in elements]
        machine.write((i * warps + warp) * lanes, ("votes", i * warps + warp), bits, *read)
    yield "the lanes of a warp vote: a bit for each lane that keeps its element, the first lane's at its right"
    if warps > 1:
        for warp in range(i * warps, (i + 1) * warps):
            machine.write(warp * lanes, ("shared", warp), machine["votes", warp].count("1"), ("votes", warp))
        yield "lane 0 of each warp writes the count to shared memory; then a barrier"


def _kept_by(machine: Machine, i: int, own: range, warps: int, lanes: int) -> list[Cell]:
    """The cells from which a thread reads how many elements of a round are kept."""
    if lanes == 1:
        return [("mask", own.start)]
    return [("shared" if warps > 1 else "votes", warp) for warp in range(i * warps, (i + 1) * warps)]


def partition_one(mask: list[int], x: list[Any]) -> Trace:
    """`cpu.serial` of partition: kept elements from the front, the others after all of them."""
    total = sum(mask)
    machine = Machine(1, mask=mask, x=x, out=[None] * len(x))
    places = {1: 0, 0: total}
    for i, keeps in enumerate(mask):
        with machine.step(f"element {i} {'is kept' if keeps else 'is one of the others'}: place {places[keeps]}"):
            machine.write(0, ("out", places[keeps]), x[i], ("mask", i), ("x", i))
        places[keeps] += 1
    return machine.trace("out")
