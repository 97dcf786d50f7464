# SPDX-License-Identifier: Apache-2.0
# upsweep_report/sorts.py: models of the rungs that sort the elements of lists, on a few elements.
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from .machine import Cell, Machine, Trace, Worker, equal_shares

_NETWORK = ([(0, 1), (2, 3)], [(0, 2), (1, 3)], [(1, 2)])  # sorts four


def sort_networks(x: list[Any]) -> Trace:
    """`cpu.networks`: one list of four elements per lane; all lanes compare and exchange the same two places, without a branch."""
    lists = len(x) // 4
    machine = Machine(lists, x=x)
    for pairs in _NETWORK:
        with machine.step("every lane orders " + " and ".join(f"places {a} and {b}" for a, b in pairs) + " of its list"):
            for lane in range(lists):
                for a, b in pairs:
                    low, high = ("x", 4 * lane + a), ("x", 4 * lane + b)
                    values = sorted((machine[low], machine[high]))
                    machine.write(lane, low, values[0], low, high)
                    machine.write(lane, high, values[1], low, high)
    return machine.trace("x")


# ------------------------------------------------------------------------------------------------------------ insertion


def sort_one(x: list[Any]) -> Trace:
    """`cpu.serial` of segmented-sort, for one list: every element moves down to its place."""
    machine = Machine(1, x=x)
    for i in range(1, len(x)):
        place = _place_of(machine, 0, i)
        with machine.step(f"element {i} moves down to place {place}; those above it move up"):
            _insert(machine, 0, place, i)
    return machine.trace("x")


def sort_lists_threads(offsets: list[int], x: list[Any], threads: int = 4) -> Trace:
    """`cpu.threads` of segmented-sort: the same number of lists for each thread, one after the other; short lists by insertion."""
    machine = Machine(threads, offsets=offsets, x=x)
    ranges = equal_shares(len(offsets) - 1, threads)
    work = [[(offsets[i], j) for i in own for j in range(offsets[i] + 1, offsets[i + 1])] for own in ranges]
    for k in range(max(len(own) for own in work)):
        done = tuple(thread for thread, own in enumerate(work) if k >= len(own))
        with machine.step("every thread inserts the next element into the sorted elements of its list", done):
            for thread, own in enumerate(work):
                if k < len(own):
                    start, i = own[k]
                    _insert(machine, thread, _place_of(machine, start, i), i)
    return machine.trace("x")


def _place_of(machine: Machine, start: int, i: int) -> int:
    """The place of element i among the sorted elements that begin at `start`."""
    return start + bisect_right([machine["x", j] for j in range(start, i)], machine["x", i])


def _insert(machine: Machine, thread: int, place: int, i: int) -> None:
    for k in range(place, i + 1):
        machine.copy(thread, ("x", k), ("x", i if k == place else k - 1))


def sort_by_threads(offsets: list[int], x: list[Any]) -> Trace:
    """`cuda.thread_per_list`: a thread inserts the elements of its list, and moves one of the earlier elements in each step."""
    lists = len(offsets) - 1
    machine = Machine(lists, offsets=offsets, x=x, register=[None] * lists, out=[None] * len(x))

    def work(i: int, start: int, stop: int) -> Iterator[str | None]:
        register = ("register", i)
        for j in range(start, stop):
            machine.copy(i, register, ("x", j))
            yield "every thread reads the next element of its list"
            at = j
            while at > start and machine[register] < machine["out", at - 1]:
                machine.write(i, ("out", at), machine["out", at - 1], register, ("out", at - 1))
                yield "a greater element moves up by one place"
                at -= 1
            machine.copy(i, ("out", at), register)
            yield "it is written where no earlier element is greater"

    machine.run(Worker((i,), work(i, *bounds)) for i, bounds in enumerate(pairwise(offsets)))
    return machine.trace("out")


# ------------------------------------------------------------------------------------------------------------- counting


def sort_by_warps(offsets: list[int], x: list[Any], lanes: int = 4) -> Trace:
    """`cuda.warp_per_list`: every lane counts the list's elements that come before its own; each element moves once, to its place."""
    lists = len(offsets) - 1
    machine = Machine(lists * lanes, offsets=offsets, x=x, rank=[None] * (lists * lanes), out=[None] * len(x))

    def work(i: int, start: int, stop: int) -> Iterator[str | None]:
        for first in range(start, stop, lanes):
            own = list(enumerate(range(first, min(first + lanes, stop)), i * lanes))
            for k in range(start, stop):
                for thread, j in own:
                    other, own_one = machine["x", k], machine["x", j]
                    comes_before = other < own_one or (k < j and not own_one < other)
                    rank = machine["rank", thread] if k > start else 0
                    machine.write(thread, ("rank", thread), rank + comes_before, ("x", j), ("x", k))
                yield "the lanes of a warp read one element: a lane counts it if its own is greater, or is equal and comes after it"
            for thread, j in own:
                place = start + machine["rank", thread]
                machine.write(thread, ("out", place), machine["x", j], ("rank", thread), ("x", j))
            yield "the rank of an element is its place"

    bounds = enumerate(pairwise(offsets))
    machine.run(Worker(tuple(range(i * lanes, (i + 1) * lanes)), work(i, *list_)) for i, list_ in bounds)
    return machine.trace("out")


# --------------------------------------------------------------------------------------------------------------- merges


class _Tile:
    """The elements that a block sorts in shared memory: some items per thread, with lists that begin at `heads`."""

    def __init__(self, machine: Machine, block: int, threads: int, items: int, count: int, heads: list[int]):
        self.machine, self.items, self.count, self.heads = machine, items, count, heads
        self.first_thread, self.first_cell = block * threads, block * threads * items
        self.threads = threads

    def cell(self, i: int, array: str = "tile") -> Cell:
        return array, self.first_cell + i

    def load(self, first: int, more: list[Cell]) -> None:
        """Loads the elements that begin at `first`, by adjacent threads; `more` are other arrays to read at each position."""
        for i in range(self.count):
            read = [("x", first + i), *((array, at + i) for array, at in more)]
            thread = self.first_thread + i % self.threads
            self.machine.write(thread, self.cell(i), self.machine["x", first + i], *read)

    def store(self, first: int) -> None:
        for i in range(self.count):
            self.machine.copy(self.first_thread + i % self.threads, ("out", first + i), self.cell(i))

    def sort(self) -> Iterator[str | None]:
        yield from self._sort_own()
        borders = [middle for middle in range(self.items, self.count, self.items) if middle not in self.heads]
        spans = {middle: (self._start(middle), self._end(middle)) for middle in borders}
        if all(middle - low <= self.items and high - middle <= self.items for middle, (low, high) in spans.items()):
            yield from self._merge(list(spans.items()))
            return
        width = self.items
        while width < self.count:
            merges = []
            for middle, (low, high) in spans.items():
                if middle % (2 * width) == width:
                    merges.append((middle, (max(low, middle - width), min(high, middle + width))))
            yield from self._merge(merges)
            width *= 2

    def _start(self, i: int) -> int:
        return max(head for head in self.heads if head <= i)

    def _end(self, i: int) -> int:
        return min([head for head in self.heads if head > i], default=self.count)

    def _sort_own(self) -> Iterator[str | None]:
        """Sorts by odd-even transposition: adjacent elements are swapped, but never across the beginning of a list."""
        for turn in range(self.items):
            pairs = [
                (first // self.items, first + v)
                for first in range(0, self.count, self.items)
                for v in range(turn % 2, self.items - 1, 2)
                if first + v + 1 < self.count and first + v + 1 not in self.heads
            ]
            for thread, i in pairs:
                low, high = self.cell(i), self.cell(i + 1)
                values = sorted((self.machine[low], self.machine[high]))
                self.machine.write(self.first_thread + thread, low, values[0], low, high)
                self.machine.write(self.first_thread + thread, high, values[1], low, high)
            if pairs:
                yield "every thread orders adjacent elements in its registers; never across the beginning of a list"

    def _merge(self, merges: list[tuple[int, tuple[int, int]]]) -> Iterator[str | None]:
        """Merges two sorted runs: from `low` to `middle`, and from there to `high`."""
        moved = []
        for _, (low, high) in merges:
            order = sorted(range(low, high), key=lambda i: self.machine[self.cell(i)])  # a stable sort
            moved += list(enumerate(order, low))
        if not moved:
            return
        for to, source in moved:
            self.machine.copy(self.first_thread + to // self.items, self.cell(to, "register"), self.cell(source))
        yield "every thread searches for the beginning of its share of a merge in both runs, and merges it into registers"
        for to, _ in moved:
            self.machine.copy(self.first_thread + to // self.items, self.cell(to), self.cell(to, "register"))
        yield "after a barrier it writes them back"


def sort_by_blocks(offsets: list[int], x: list[Any], items: int = 2) -> Trace:
    """`cuda.block_per_list`: a block per list: each thread sorts a few elements, then runs are merged in pairs.

    Lists that do not fit shared memory are omitted; for these the rung merges such runs in global memory.
    """
    lists = list(pairwise(offsets))
    threads = -(-max((stop - start for start, stop in lists), default=0) // items)
    cells = [None] * (len(lists) * threads * items)
    machine = Machine(len(lists) * threads, offsets=offsets, x=x, tile=cells, register=cells, out=[None] * len(x))

    def work(i: int, start: int, stop: int) -> Iterator[str | None]:
        tile = _Tile(machine, i, threads, items, stop - start, [0])
        tile.load(start, [])
        yield "a block reads its list into shared memory"
        yield from tile.sort()
        tile.store(start)
        yield "the list is written"

    blocks = [(i, bounds) for i, bounds in enumerate(lists) if bounds[0] < bounds[1]]
    machine.run(Worker(tuple(range(i * threads, (i + 1) * threads)), work(i, *bounds)) for i, bounds in blocks)
    return machine.trace("out")


def sort_by_tiles(offsets: list[int], x: list[Any], nominal: int = 6, items: int = 2) -> Trace:
    """`cuda.tiles`: a bit where a list begins, and blocks that sort at once all lists that begin in a tile of the content.

    A block has the number of threads here that the longest tile needs; the rung sorts lists that are too long by runs and merges.
    """
    n, lists = len(x), list(pairwise(offsets))
    heads = sorted({start for start, stop in lists if start < stop})
    tiles = []
    for base in range(0, n, nominal):
        own = [head for head in heads if base <= head < base + nominal]
        if own:
            tiles.append((own, min([head for head in heads if head >= base + nominal], default=n)))
    threads = -(-max((end - own[0] for own, end in tiles), default=0) // items)
    cells = [None] * (len(tiles) * threads * items)
    out = [None] * n
    machine = Machine(
        max(len(tiles) * threads, len(lists)), offsets=offsets, x=x, heads=[0] * n, tile=cells, register=cells, out=out
    )
    if heads:
        with machine.step("a thread for each list sets a bit where it begins; an empty list has none"):
            for i, (start, stop) in enumerate(lists):
                if start < stop:
                    machine.write(i, ("heads", start), 1, ("offsets", i), ("offsets", i + 1))

    def work(block: int, own: list[int], end: int) -> Iterator[str | None]:
        tile = _Tile(machine, block, threads, items, end - own[0], [head - own[0] for head in own])
        tile.load(own[0], [("heads", own[0])])
        yield f"a block reads the lists that begin in its {nominal} elements, and the bits"
        yield from tile.sort()
        tile.store(own[0])
        yield "the tile is written"

    of_blocks = enumerate(tiles)
    machine.run(Worker(tuple(range(b * threads, (b + 1) * threads)), work(b, *tile)) for b, tile in of_blocks)
    return machine.trace("out")
