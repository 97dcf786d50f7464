# SPDX-License-Identifier: Apache-2.0
# upsweep_report/two_lists.py: a model of two sorted lists of subset sums that grow and are searched by merges.
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .machine import Cell, Machine, Trace, Worker
from .sum_lists import sorted_sums


class _Side(NamedTuple):
    """One side of a merge: cells of an array in ascending order, and the value that each represents."""

    array: str
    count: int
    item: int = 0  # is added to each sum
    target: int | None = None  # if given, values are the target minus the sums, in reverse order

    def cell(self, i: int) -> Cell:
        return self.array, i if self.target is None else self.count - 1 - i

    def value(self, machine: Machine, i: int) -> int:
        held = machine[self.cell(i)]
        return held + self.item if self.target is None else self.target - held


class _TwoLists:
    """`cuda.two_list`: merges of two sides, split into tiles of equal length, one per block in shared memory."""

    def __init__(self, items: list[int], target: int, seeded: int, threads: int, each: int):
        items = [item for item in items if item <= target]
        half = len(items) // 2
        self.halves, self.target, self.seeded = (items[:half], items[half:]), target, seeded
        self.threads, self.tile = threads, threads * each
        sizes = [1 << len(own) for own in self.halves]
        self.tiles = -(-sum(sizes) // self.tile)  # of the longest merge
        blocks = max(2 * -(-max(sizes) // self.tile), self.tiles, 2)
        self.ends = max(-(-max(sizes) // self.tile), self.tiles)
        cells = [None] * max(blocks * self.tile, 4 << seeded)
        lists = {
            name: [None] * max(size >> turn, 1)
            for own, size in zip(("left", "right"), sizes)
            for turn, name in enumerate((own, f"{own} old"))
        }
        self.machine = Machine(blocks * threads, **lists, ends=[None] * (2 * self.ends), tile=cells, run=cells, found=[None])
        self.counts = [0, 0]
        self.tiles_of_left = 0  # in a round

    def array(self, half: int, done: int) -> str:
        """The array of the list of `done` items: two arrays alternate, so that the complete list is in the first."""
        name = ("left", "right")[half]
        return name if (len(self.halves[half]) - done) % 2 == 0 else f"{name} old"

    def seed(self, half: int) -> Iterator[str | None]:
        """Computes the sums of the first items, by one block in shared memory."""
        own = range(half * self.threads, (half + 1) * self.threads)
        items = self.halves[half][: self.seeded]
        lists = (("tile", (2 * half) << self.seeded), ("tile", (2 * half + 1) << self.seeded))
        yield from sorted_sums(self.machine, own, lists, items)
        _, first = lists[len(items) % 2]
        sums = [self.machine["tile", first + i] for i in range(1 << len(items))]
        self.counts[half] = sum(sum_ <= self.target for sum_ in sums)
        for i in range(self.counts[half]):
            self.machine.copy(own[i % self.threads], (self.array(half, len(items)), i), ("tile", first + i))
        yield "a block for each half has computed the list of its first items"

    def split(self, which: int, sides: tuple[_Side, _Side], first_thread: int) -> Iterator[str | None]:
        """Computes ends ← the number of elements of the left side before the end of each tile of the merge."""
        left, right = sides
        for tile in range(-(-(left.count + right.count) // self.tile)):
            diagonal = min((tile + 1) * self.tile, left.count + right.count)
            split, read = self.left_share(left, right, diagonal)
            self.machine.write(first_thread + tile, ("ends", which * self.ends + tile), split, *read)
        yield "a thread for each tile of the merge searches for the tile's end in the list"

    def left_share(self, left: _Side, right: _Side, diagonal: int) -> tuple[int, list[Cell]]:
        """The number of the left side's elements among the first `diagonal` of the merge, and the cells that were read."""
        low, high = max(0, diagonal - right.count), min(diagonal, left.count)
        read: dict[Cell, None] = {}
        while low < high:
            middle = (low + high) // 2
            read |= {left.cell(middle): None, right.cell(diagonal - 1 - middle): None}
            if left.value(self.machine, middle) <= right.value(self.machine, diagonal - 1 - middle):
                low = middle + 1
            else:
                high = middle
        return low, list(read)

    def tile_of(self, which: int, number: int, sides: tuple[_Side, _Side]) -> tuple[range, range]:
        """The elements of either side that a tile contains."""
        ends = [self.machine["ends", which * self.ends + at] if at >= 0 else 0 for at in (number - 1, number)]
        total = min((number + 1) * self.tile, sides[0].count + sides[1].count)
        return range(*ends), range(number * self.tile - ends[0], total - ends[1])

    def merged(self, block: int, own: tuple[range, range]) -> list[int]:
        """The cells of a block's tile in the order of the merge."""
        cells = range(block * self.tile, block * self.tile + len(own[0]) + len(own[1]))
        sides = (cells[: len(own[0])], cells[len(own[0]) :])
        return sorted(cells, key=lambda cell: (self.machine["tile", cell], cell in sides[1]))

    def load(self, block: int, which: int, number: int, sides: tuple[_Side, _Side]) -> Iterator[str | None]:
        own = self.tile_of(which, number, sides)
        elements = [(side, i) for side, of_side in zip(sides, own) for i in of_side]
        for k, (side, i) in enumerate(elements):
            thread, cell = block * self.threads + k % self.threads, ("tile", block * self.tile + k)
            self.machine.write(thread, cell, side.value(self.machine, i), side.cell(i), ("ends", which * self.ends + number))
        yield "every block loads the elements of its tile from both sides"

    def merge(self, half: int, number: int, done: int, sides: tuple[_Side, _Side]) -> Iterator[str | None]:
        """Merges a tile of the list of `done` items with the same list plus the next item, up to the target."""
        block = number + (self.tiles_of_left if half == 1 else 0)
        yield from self.load(block, half, number, sides)
        order = self.merged(block, self.tile_of(half, number, sides))
        each = self.tile // self.threads
        for to, source in enumerate(order):
            thread = block * self.threads + to // each
            self.machine.copy(thread, ("run", block * self.tile + to), ("tile", source))
        yield "every thread searches for the beginning of its run in the tile, and merges it"
        for to in range(len(order)):
            cell = block * self.tile + to
            self.machine.copy(block * self.threads + to // each, ("tile", cell), ("run", cell))
        yield "after a barrier it writes the run back"
        target = self.array(half, done + 1)
        for to in range(len(order)):
            cell = ("tile", block * self.tile + to)
            if self.machine[cell] <= self.target:
                self.machine.copy(block * self.threads + to % self.threads, (target, number * self.tile + to), cell)
        yield "the tile is written, up to the last sum that does not exceed the target"

    def round(self, done: int) -> None:
        """Adds the next item to both halves."""
        halves = [half for half in (0, 1) if done < len(self.halves[half])]
        sides = {}
        for half in halves:
            array, count = self.array(half, done), self.counts[half]
            sides[half] = (_Side(array, count), _Side(array, count, self.halves[half][done]))
        tiles = {half: -(-2 * self.counts[half] // self.tile) for half in halves}
        self.tiles_of_left = tiles.get(0, 0)
        text = f"item {done + 1} of each half: "
        self.machine.run((Worker((), self.split(half, sides[half], half * self.tiles_of_left)) for half in halves), text)
        own = [(half, number) for half in halves for number in range(tiles[half])]
        self.machine.run((Worker((), self.merge(half, number, done, sides[half])) for half, number in own), text)
        for half in halves:
            left, right = sides[half]
            values = [side.value(self.machine, i) for side in (left, right) for i in range(side.count)]
            self.counts[half] = sum(value <= self.target for value in values)

    def search(self) -> None:
        """Searches the merge of the first half's sums and the second half's differences to the target: equal values are adjacent."""
        arrays = [self.array(half, len(self.halves[half])) for half in (0, 1)]
        sides = (_Side(arrays[0], self.counts[0]), _Side(arrays[1], self.counts[1], target=self.target))
        text = "the first half's sums, and the differences of the second half's sums to the target: "
        self.machine.run([Worker((), self.split(0, sides, 0))], text)
        tiles = range(-(-(self.counts[0] + self.counts[1]) // self.tile))
        self.machine.run((Worker((), self.load(tile, 0, tile, sides)) for tile in tiles), text)
        self.machine.run(
            (
                Worker((tile * self.threads + thread,), self.compare(tile, thread, sides))
                for tile in tiles
                for thread in range(self.threads)
            ),
            text,
        )

    def compare(self, tile: int, thread: int, sides: tuple[_Side, _Side]) -> Iterator[str | None]:
        own = self.tile_of(0, tile, sides)
        order = self.merged(tile, own)
        each, right_cells = self.tile // self.threads, tile * self.tile + len(own[0])
        number = tile * self.threads + thread
        for k in range(thread * each, min((thread + 1) * each, len(order))):
            cell = ("tile", order[k])
            is_left = order[k] < right_cells
            before = sum(at < right_cells for at in order[:k])  # elements of the left side
            if is_left or (before == 0 and own[0].start == 0):
                last = None
            else:
                last = ("tile", tile * self.tile + before - 1) if before else sides[0].cell(own[0].start - 1)
            is_found = last is not None and self.machine[last] == self.machine[cell]
            while is_found and self.machine.is_written(("found", 0)):
                yield None
            self.machine.copy(number, ("run", tile * self.tile + k), cell)
            if is_found:
                known = self.machine["found", 0]
                least = self.machine[cell] if known is None else min(known, self.machine[cell])
                self.machine.write(number, ("found", 0), least, *([last] if last else []), cell)
            yield "every thread searches its run of the merge for a value that is equal to the sum before it"


def merge_two_lists(items: list[int], target: int, seeded: int = 2, threads: int = 2, each: int = 2) -> Trace:
    """`cuda.two_list`: the sorted sums of both halves, by merges with tiles of equal length; the search is also such a merge."""
    model = _TwoLists(items, target, seeded, threads, each)
    model.machine.run(Worker((), model.seed(half)) for half in (0, 1))
    for done in range(seeded, max(map(len, model.halves))):
        model.round(done)
    model.search()
    return model.machine.trace("found")
