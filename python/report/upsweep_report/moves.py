# SPDX-License-Identifier: Apache-2.0
# upsweep_report/moves.py: models of the rungs that take, pack, number and pair elements, on a few elements.
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, combinations, pairwise
from typing import Any, NamedTuple

from .machine import Cell, Machine, Operator, Trace, Worker, equal_shares


def take_one(positions: list[int], x: list[Any]) -> Trace:
    """`cpu.serial` of take: check, move, one after the other."""
    machine = Machine(1, positions=positions, x=x, out=[None] * len(positions))
    for i, position in enumerate(positions):
        with machine.step(f"position {position} is within the content: its element moves"):
            machine.write(0, ("out", i), x[position], ("positions", i), ("x", position))
    return machine.trace("out")


def take_many(positions: list[int], x: list[Any], each: int = 2) -> Trace:
    """`cuda.tiles` of take: a thread gathers several results, and starts all loads before it stores the first result."""
    threads = -(-len(positions) // each)
    machine = Machine(threads, positions=positions, x=x, register=[None] * len(positions), out=[None] * len(positions))
    with machine.step(f"every thread reads {each} positions, and requests all {each} elements at once"):
        for i, position in enumerate(positions):
            machine.write(i % threads, ("register", i), x[position], ("positions", i), ("x", position))
    with machine.step("then it stores them, next to those of adjacent threads"):
        for i in range(len(positions)):
            machine.copy(i % threads, ("out", i), ("register", i))
    return machine.trace("out")


def take_batches(indices: list[int], x: list[Any], y: list[Any], threads: int = 2, batch: int = 4) -> Trace:
    """`cpu.gather` of take: a batch of indices is converted to positions by vectors; then every column, here two, is gathered."""
    n = len(indices)
    machine = Machine(
        threads,
        indices=indices,
        positions=[None] * (threads * batch),
        x=x,
        y=y,
        **{"out x": [None] * n, "out y": [None] * n},
    )

    def work(thread: int, own: range) -> Iterator[str | None]:
        for first in range(own.start, own.stop, batch):
            taken = list(enumerate(range(first, min(first + batch, own.stop)), thread * batch))
            for at, i in taken:
                position = indices[i] if indices[i] >= 0 else indices[i] + len(x)
                machine.write(thread, ("positions", at), position, ("indices", i))
            yield "a vector of indices is checked, and converted to positions: negative ones count from the end"
            for column in ("x", "y"):
                for at, i in taken:
                    position = machine["positions", at]
                    value = machine[column, position]
                    machine.write(thread, (f"out {column}", i), value, ("positions", at), (column, position))
                yield f"{column} is gathered by these positions: no branch between two elements, so no miss waits for another"

    machine.run(Worker((thread,), work(thread, own)) for thread, own in enumerate(equal_shares(n, threads)))
    return machine.trace("out x")


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


def pack_lists(starts: list[int], stops: list[int], x: list[Any], size: int = 1) -> Trace:
    """`cpu.threads`, `cuda.thread_per_list` of pack: a thread per list; the longest list determines the run time.

    With `size` threads per list it is `cuda.warp_per_list`, `cuda.block_per_list`: the threads take the list's elements in turn.
    """
    machine, offsets = _packed(starts, stops, x, len(starts) * size)
    longest = max((stop - start for start, stop in zip(starts, stops, strict=True)), default=0)
    for first in range(0, longest, size):
        what = f"element {first}" if size == 1 else f"elements {first} to {first + size - 1}"
        whose = "every thread moves" if size == 1 else f"the {size} threads of each list move"
        with machine.step(f"{whose} {what} of its list, where there {'is one' if size == 1 else 'are any'}"):
            for number, start in enumerate(starts):
                for k in range(first, min(first + size, stops[number] - start)):
                    machine.copy(number * size + k - first, ("out", offsets[number] + k), ("x", start + k))
    return machine.trace("out")


def pack_shares(starts: list[int], stops: list[int], x: list[Any], threads: int = 4) -> Trace:
    """`cpu.shares`, `cuda.tiles` of pack: equal shares of the output; a search of the offsets finds the list of a position."""
    machine, offsets = _packed(starts, stops, x, threads)
    shares = equal_shares(offsets[-1], threads)
    for k in range(max((len(share) for share in shares), default=0)):
        text = "every thread searches the offsets for its first place's list" if k == 0 else "it continues, into the next list"
        with machine.step(text):
            for thread, share in enumerate(shares):
                if k < len(share):
                    number = bisect_right(offsets, share[k]) - 1
                    source = starts[number] + share[k] - offsets[number]
                    machine.write(thread, ("out", share[k]), x[source], ("offsets", number), ("starts", number), ("x", source))
    return machine.trace("out")


class _Element(NamedTuple):
    value: Any
    sources: tuple[Cell, ...]


class _Stage:
    """The elements of an output share that a thread wrote last: whole cache lines leave it, vectors that are too long stay in it."""

    def __init__(self, machine: Machine, thread: int, out: int, line: int):
        self.machine, self.thread, self.line = machine, thread, line
        self.first = thread * 3 * line  # of its cells. They are two lines, and a vector that begins in the second.
        self.out = out // line * line  # The output position of its first cell.
        self.own = self.at = out % line  # Earlier cells are not of this share; `at` is the next element.

    def put(self, elements: list[_Element], length: int) -> Iterator[str | None]:
        """Adds a list of `length` elements. A short list is written with the elements after it if there are enough of them."""
        if length <= self.line <= len(elements):
            self._write(elements[: self.line])
            self.at += length
            yield "a short list is written by a whole vector; the next list overwrites the extra elements"
            yield from self._flush()
            return
        first = 0
        while first < length:
            count = min(2 * self.line - self.at, length - first)
            self._write(elements[first : first + count])
            self.at += count
            first += count
            yield "a list that is long, or is at the end of the content, is written up to its last element"
            yield from self._flush()

    def _write(self, elements: list[_Element]) -> None:
        for k, element in enumerate(elements):
            self.machine.write(self.thread, ("stage", self.first + self.at + k), element.value, *element.sources)

    def _flush(self) -> Iterator[str | None]:
        whole = self.at // self.line * self.line
        if self.at < 2 * self.line:
            return
        self._leave(whole)
        for k in range(self.line):
            self.machine.copy(self.thread, ("stage", self.first + k), ("stage", self.first + whole + k))
        self.own, self.at, self.out = 0, self.at - whole, self.out + whole
        yield "whole cache lines leave the stage, past the caches; the remaining elements move to its front"

    def finish(self) -> Iterator[str | None]:
        if self.at > self.own:
            self._leave(self.at)
            yield "the rest of the share leaves the stage, and nothing beyond it"

    def _leave(self, end: int) -> None:
        for k in range(self.own, end):
            self.machine.copy(self.thread, ("out", self.out + k), ("stage", self.first + k))


def _stages(threads: int, line: int) -> list[None]:
    return [None] * (threads * 3 * line)


def _places_of(offsets: list[int], share: range) -> Iterator[tuple[int, range]]:
    """The lists that have elements in a share, and for each the range of these elements."""
    for number, (start, stop) in enumerate(pairwise(offsets)):
        inside = range(max(start, share.start) - start, min(stop, share.stop) - start)
        if inside or start == stop in share:
            yield number, inside


def pack_staged(starts: list[int], stops: list[int], x: list[Any], threads: int = 2, line: int = 3) -> Trace:
    """`cpu.staged` of pack: each short list is written by one vector into a stage in the L1 cache.

    Shares have equal numbers of elements; the rung also counts lists. A vector is a line, and a list is short up to that length.
    """
    offsets = [0, *accumulate(stop - start for start, stop in zip(starts, stops, strict=True))]
    machine = Machine(
        threads, starts=starts, stops=stops, offsets=offsets, x=x, stage=_stages(threads, line), out=[None] * offsets[-1]
    )

    def work(thread: int, share: range) -> Iterator[str | None]:
        stage = _Stage(machine, thread, share.start, line)
        for number, inside in _places_of(offsets, share):
            begin = starts[number] + inside.start
            content = range(begin, min(begin + max(len(inside), line), len(x)))
            yield from stage.put([_Element(x[i], (("starts", number), ("x", i))) for i in content], len(inside))
        yield from stage.finish()

    machine.run(Worker((thread,), work(thread, share)) for thread, share in enumerate(equal_shares(offsets[-1], threads)))
    return machine.trace("out")


def positions_staged(offsets: list[int], threads: int = 2, line: int = 3) -> Trace:
    """`cpu.staged` of positions: as `cpu.staged` of pack, with vectors of numbers, which need not be read."""
    machine = Machine(threads, offsets=offsets, stage=_stages(threads, line), out=[None] * offsets[-1])

    def work(thread: int, share: range) -> Iterator[str | None]:
        stage = _Stage(machine, thread, share.start, line)
        for number, inside in _places_of(offsets, share):
            places = range(inside.start, inside.start + max(len(inside), line))
            yield from stage.put([_Element(place, (("offsets", number),)) for place in places], len(inside))
        yield from stage.finish()

    machine.run(Worker((thread,), work(thread, share)) for thread, share in enumerate(equal_shares(offsets[-1], threads)))
    return machine.trace("out")


def positions_one(offsets: list[int]) -> Trace:
    """`cpu.serial` of positions: each element's position in its list."""
    machine = Machine(1, offsets=offsets, out=[None] * offsets[-1])
    for number, (start, stop) in enumerate(pairwise(offsets)):
        for i in range(start, stop):
            with machine.step(f"list {number} begins at {start}: element {i} is its number {i - start}"):
                machine.write(0, ("out", i), i - start, ("offsets", number))
    return machine.trace("out")


def positions_path(offsets: list[int], threads: int = 4) -> Trace:
    """`cuda.merge_path` of positions: lists and elements in one order are a path; every thread follows an equal share of it."""
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


# ----------------------------------------------------------------------------------------------------- keys, and tuples


def keys_one(keys: list[Any], x: list[Any], op: Operator) -> Trace:
    """`cpu.serial` of by-key: a run ends where the next key differs."""
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
    """`cpu.runs`, `cuda.runs`: a bit for each key that differs from the previous key; lists begin at the set bits."""
    n = len(keys)
    runs = _runs(keys)
    machine = Machine(n, keys=keys, begins=[None] * n, offsets=[None] * (len(runs) + 1), x=x, sums=[None] * len(runs))
    with machine.step("every thread compares its key with the previous key"):
        for i in range(n):
            sources = [("keys", i - 1), ("keys", i)] if i > 0 else [("keys", i)]
            machine.write(i, ("begins", i), int(i == 0 or keys[i] != keys[i - 1]), *sources)
    with machine.step("the rank of a bit is the position of its run's offset"):
        for number, (start, _) in enumerate(runs):
            machine.write(start, ("offsets", number), start, ("begins", start))
        machine.write(n - 1, ("offsets", len(runs)), n)
    for k in range(max(stop - start for start, stop in runs)):
        with machine.step("the runs are lists, and are summed as lists"):
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
    """`cpu.shares`, `cuda.merge_path` of combinations: equal shares of the tuples; a thread computes its first tuple from its number."""
    pairs = _pairs(offsets)
    machine = Machine(threads, x=x, left=[None] * len(pairs), right=[None] * len(pairs))
    shares = equal_shares(len(pairs), threads)
    for k in range(max((len(share) for share in shares), default=0)):
        with machine.step("every thread finds the tuple of its first number" if k == 0 else "and continues with the next one"):
            for thread, share in enumerate(shares):
                if k < len(share):
                    _pair(machine, thread, share[k], *pairs[share[k]])
    return machine.trace("right")


def _pair(machine: Machine, thread: int, number: int, a: int, b: int) -> None:
    machine.copy(thread, ("left", number), ("x", a))
    machine.copy(thread, ("right", number), ("x", b))
