# SPDX-License-Identifier: Apache-2.0
# upsweep/_report/moves.py: how elements are kept, taken, packed, numbered and paired, as models on a few of them.
from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, combinations, pairwise
from typing import Any

from .machine import Machine, Operator, Trace, equal_shares

WORD = 4  # booleans in a word; a machine has 64, a warp 32


# ------------------------------------------------------------------------------------------- elements that a mask keeps


def select_one(mask: list[int], x: list[Any]) -> Trace:
    """`cpu.serial`: if it is kept, it goes to the next place."""
    machine = Machine(1, mask=mask, x=x, out=[None] * sum(mask))
    kept = 0
    for i, keeps in enumerate(mask):
        with machine.step(
            f"element {i} " + (f"is kept, in place {kept}" if keeps else "is not kept; the branch was mispredicted, maybe")
        ):
            if keeps:
                machine.write(0, ("out", kept), x[i], ("mask", i), ("x", i))
        kept += keeps
    return machine.trace("out")


def select_always(mask: list[int], x: list[Any]) -> Trace:
    """`cpu.branchless`: every element is stored, and the place advances by the mask: the next one overwrites what is not kept."""
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
    """`cpu.threads`: each thread counts what its share keeps; a scan of the counts says where its output begins."""
    shares = equal_shares(len(x), threads)
    machine = Machine(threads, mask=mask, x=x, count=[0] * threads, out=[None] * sum(mask))
    for k in range(max(len(share) for share in shares)):
        with machine.step("every thread counts what its share keeps"):
            for thread, share in enumerate(shares):
                if k < len(share):
                    machine.fold(thread, ("count", thread), int.__add__, ("count", thread), ("mask", share[k]))
    for thread in range(1, threads):
        with machine.step("one thread adds up the counts: where each share's output ends"):
            machine.fold(0, ("count", thread), int.__add__, ("count", thread - 1), ("count", thread))
    next_place = [0, *accumulate(sum(mask[i] for i in share) for share in shares)]
    for k in range(max(len(share) for share in shares)):
        with machine.step("every thread fills from where the share before it ends"):
            for thread, share in enumerate(shares):
                if k < len(share) and mask[share[k]]:
                    machine.copy(thread, ("out", next_place[thread]), ("x", share[k]))
                    next_place[thread] += 1
    return machine.trace("out")


def select_ranks(mask: list[int], x: list[Any], rest: bool = False) -> Trace:
    """`cpu.compress`, `cuda.ranks`: booleans as bits of words, how many are set before each word, and so any position's rank.

    With `rest` those that are not kept follow, as in a partition.
    """
    n = len(x)
    words = [mask[first : first + WORD] for first in range(0, n, WORD)]
    total = sum(mask)
    machine = Machine(
        n, mask=mask, bits=[None] * len(words), before=[None] * len(words), x=x, out=[None] * (n if rest else total)
    )
    with machine.step(f"a vote turns {WORD} booleans into the bits of a word, the first at its right"):
        for number, word in enumerate(words):
            sources = [("mask", number * WORD + k) for k in range(len(word))]
            machine.write(number * WORD, ("bits", number), "".join(map(str, reversed(word))), *sources)
    before = [0, *accumulate(sum(word) for word in words)]
    with machine.step("how many bits are set before each word: a scan of their counts"):
        for number in range(len(words)):
            machine.write(number * WORD, ("before", number), before[number], *(("bits", other) for other in range(number)))
    with machine.step("every element that is kept knows its place: what is before its word, and the bits before its own"):
        for i, keeps in enumerate(mask):
            rank = before[i // WORD] + sum(words[i // WORD][: i % WORD])
            if keeps or rest:
                place = rank if keeps else total + i - rank
                machine.write(i, ("out", place), x[i], ("before", i // WORD), ("bits", i // WORD), ("x", i))
    return machine.trace("out")


def partition_one(mask: list[int], x: list[Any]) -> Trace:
    """`cpu.serial` of partition: the kept from the front on, the others after all of those."""
    total = sum(mask)
    machine = Machine(1, mask=mask, x=x, out=[None] * len(x))
    places = {1: 0, 0: total}
    for i, keeps in enumerate(mask):
        with machine.step(f"element {i} {'is kept' if keeps else 'is one of the others'}: place {places[keeps]}"):
            machine.write(0, ("out", places[keeps]), x[i], ("mask", i), ("x", i))
        places[keeps] += 1
    return machine.trace("out")


# ------------------------------------------------------------------------------------------------ by positions, and packed


def take_one(positions: list[int], x: list[Any]) -> Trace:
    """`cpu.serial` of take: check, move, one after the other."""
    machine = Machine(1, positions=positions, x=x, out=[None] * len(positions))
    for i, position in enumerate(positions):
        with machine.step(f"position {position} is within the content: its element moves"):
            machine.write(0, ("out", i), x[position], ("positions", i), ("x", position))
    return machine.trace("out")


def take_many(positions: list[int], x: list[Any], each: int = 2) -> Trace:
    """`cuda.tiles` of take: a thread for several results, whose loads are all in flight before the first is stored."""
    threads = -(-len(positions) // each)
    machine = Machine(threads, positions=positions, x=x, register=[None] * len(positions), out=[None] * len(positions))
    with machine.step(f"every thread reads {each} positions, and asks for all {each} elements at once"):
        for i, position in enumerate(positions):
            machine.write(i % threads, ("register", i), x[position], ("positions", i), ("x", position))
    with machine.step("then it stores them, side by side with its neighbours"):
        for i in range(len(positions)):
            machine.copy(i % threads, ("out", i), ("register", i))
    return machine.trace("out")


def _packed(starts: list[int], stops: list[int], x: list[Any], threads: int) -> tuple[Machine, list[int]]:
    offsets = [0, *accumulate(stop - start for start, stop in zip(starts, stops, strict=True))]
    machine = Machine(threads, starts=starts, stops=stops, offsets=offsets, x=x, out=[None] * offsets[-1])
    return machine, offsets


def pack_one(starts: list[int], stops: list[int], x: list[Any]) -> Trace:
    """`cpu.serial` of pack: list after list, element after element."""
    machine, offsets = _packed(starts, stops, x, 1)
    for number, start in enumerate(starts):
        for k in range(stops[number] - start):
            with machine.step(f"element {k} of list {number}"):
                machine.copy(0, ("out", offsets[number] + k), ("x", start + k))
    return machine.trace("out")


def pack_lists(starts: list[int], stops: list[int], x: list[Any]) -> Trace:
    """`cpu.threads`, `cuda.thread_per_list` of pack: a thread for each list; the longest decides when all are done."""
    machine, offsets = _packed(starts, stops, x, len(starts))
    for k in range(max((stop - start for start, stop in zip(starts, stops, strict=True)), default=0)):
        with machine.step(f"every thread moves element {k} of its list, where there is one"):
            for number, start in enumerate(starts):
                if k < stops[number] - start:
                    machine.copy(number, ("out", offsets[number] + k), ("x", start + k))
    return machine.trace("out")


def pack_shares(starts: list[int], stops: list[int], x: list[Any], threads: int = 4) -> Trace:
    """`cpu.shares`, `cuda.tiles` of pack: equal shares of the output; a search of the offsets says which list a place is of."""
    machine, offsets = _packed(starts, stops, x, threads)
    shares = equal_shares(offsets[-1], threads)
    for k in range(max((len(share) for share in shares), default=0)):
        text = "every thread searches the offsets for its first place's list" if k == 0 else "it goes on, into the next list"
        with machine.step(text):
            for thread, share in enumerate(shares):
                if k < len(share):
                    number = bisect_right(offsets, share[k]) - 1
                    source = starts[number] + share[k] - offsets[number]
                    machine.write(thread, ("out", share[k]), x[source], ("offsets", number), ("starts", number), ("x", source))
    return machine.trace("out")


def positions_one(offsets: list[int]) -> Trace:
    """`cpu.serial` of positions: each element's place in its list."""
    machine = Machine(1, offsets=offsets, out=[None] * offsets[-1])
    for number, (start, stop) in enumerate(pairwise(offsets)):
        for i in range(start, stop):
            with machine.step(f"list {number} begins at {start}: element {i} is its number {i - start}"):
                machine.write(0, ("out", i), i - start, ("offsets", number))
    return machine.trace("out")


def positions_path(offsets: list[int], threads: int = 4) -> Trace:
    """`cuda.merge_path` of positions: lists and elements in one order are a path; every thread goes over as much of it."""
    ends = [("list", number) for number in range(len(offsets) - 1)]
    path: list[tuple[str, int]] = []
    for number, end in enumerate(offsets[1:]):
        path += [("element", i) for i in range(offsets[number], end)] + [ends[number]]
    machine = Machine(threads, offsets=offsets, out=[None] * offsets[-1])
    shares = equal_shares(len(path), threads)
    for k in range(max(len(share) for share in shares)):
        with machine.step("every thread takes a step on its share of the path: an element, or the end of a list"):
            for thread, share in enumerate(shares):
                if k < len(share) and path[share[k]][0] == "element":
                    i = path[share[k]][1]
                    number = bisect_right(offsets, i) - 1
                    machine.write(thread, ("out", i), i - offsets[number], ("offsets", number))
    return machine.trace("out")


# ------------------------------------------------------------------------------------------------------ keys, and tuples


def keys_one(keys: list[Any], x: list[Any], op: Operator) -> Trace:
    """`cpu.serial` of by-key: a run ends where the next key is another one."""
    runs = _runs(keys)
    machine = Machine(1, keys=keys, x=x, sums=[None] * len(runs))
    for number, (start, stop) in enumerate(runs):
        for i in range(start, stop):
            with machine.step(f"key {keys[i]} " + ("begins a run" if i == start else "again: its value is added")):
                if i == start:
                    machine.copy(0, ("sums", number), ("x", i))
                else:
                    machine.fold(0, ("sums", number), op, ("sums", number), ("x", i))
    return machine.trace("sums")


def keys_runs(keys: list[Any], x: list[Any], op: Operator) -> Trace:
    """`cpu.runs`, `cuda.runs`: a bit for each key that differs from the one before; where bits are set, lists begin."""
    n = len(keys)
    runs = _runs(keys)
    machine = Machine(n, keys=keys, begins=[None] * n, offsets=[None] * (len(runs) + 1), x=x, sums=[None] * len(runs))
    with machine.step("every thread compares its key with the one before"):
        for i in range(n):
            sources = [("keys", i - 1), ("keys", i)] if i > 0 else [("keys", i)]
            machine.write(i, ("begins", i), int(i == 0 or keys[i] != keys[i - 1]), *sources)
    with machine.step("ranks of the bits say where each run's offset goes"):
        for number, (start, _) in enumerate(runs):
            machine.write(start, ("offsets", number), start, ("begins", start))
        machine.write(n - 1, ("offsets", len(runs)), n)
    for k in range(max(stop - start for start, stop in runs)):
        with machine.step("the runs are lists, and are summed as such"):
            for number, (start, stop) in enumerate(runs):
                if k == 0:
                    machine.copy(number, ("sums", number), ("x", start))
                elif start + k < stop:
                    machine.fold(number, ("sums", number), op, ("sums", number), ("x", start + k))
    return machine.trace("sums")


def _runs(keys: list[Any]) -> list[tuple[int, int]]:
    begins = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    return list(pairwise([*begins, len(keys)]))


def _pairs(offsets: list[int]) -> list[tuple[int, int]]:
    return [pair for start, stop in pairwise(offsets) for pair in combinations(range(start, stop), 2)]


def pairs_one(offsets: list[int], x: list[Any]) -> Trace:
    """`cpu.serial` of combinations: nested loops over every list."""
    pairs = _pairs(offsets)
    machine = Machine(1, x=x, left=[None] * len(pairs), right=[None] * len(pairs))
    for number, (a, b) in enumerate(pairs):
        with machine.step(f"tuple {number}: elements {a} and {b}"):
            _pair(machine, 0, number, a, b)
    return machine.trace("right")


def pairs_shares(offsets: list[int], x: list[Any], threads: int = 4) -> Trace:
    """`cpu.shares`, `cuda.merge_path` of combinations: equal shares of the tuples; from its number a thread finds its first one."""
    pairs = _pairs(offsets)
    machine = Machine(threads, x=x, left=[None] * len(pairs), right=[None] * len(pairs))
    shares = equal_shares(len(pairs), threads)
    for k in range(max((len(share) for share in shares), default=0)):
        with machine.step("every thread finds the tuple of its first number" if k == 0 else "and goes on to the next one"):
            for thread, share in enumerate(shares):
                if k < len(share):
                    _pair(machine, thread, share[k], *pairs[share[k]])
    return machine.trace("right")


def _pair(machine: Machine, thread: int, number: int, a: int, b: int) -> None:
    machine.copy(thread, ("left", number), ("x", a))
    machine.copy(thread, ("right", number), ("x", b))
