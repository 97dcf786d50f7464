# SPDX-License-Identifier: Apache-2.0
# upsweep_report/lists.py: models of the rungs that fold each list to a value, on a few lists.
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from .machine import Cell, Machine, Operator, Trace, Worker, equal_shares, passing_none


def lists_by_one(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cpu.serial`: one thread, one list after the other."""
    machine = Machine(1, offsets=offsets, x=x, out=[None] * (len(offsets) - 1))
    for i, (start, stop) in enumerate(pairwise(offsets)):
        for j in range(start, stop):
            with machine.step(f"list {i}, element {j - start}"):
                _add_element(machine, 0, op, ("out", i), ("x", j), j == start)
    return machine.trace("out")


def lists_by_threads(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.thread_per_list`: a thread per list; all threads wait for the longest list."""
    lists = len(offsets) - 1
    machine = Machine(lists, offsets=offsets, x=x, out=[None] * lists)
    for k in range(max((offsets[i + 1] - offsets[i] for i in range(lists)), default=0)):
        done = tuple(i for i in range(lists) if offsets[i] + k >= offsets[i + 1])
        with machine.step("every thread folds its list", done):
            for i in range(lists):
                if i not in done:
                    _add_element(machine, i, op, ("out", i), ("x", offsets[i] + k), k == 0)
    return machine.trace("out")


def lists_by_counts(offsets: list[int], x: list[Any], op: Operator, threads: int = 4) -> Trace:
    """`cpu.threads`: the same number of lists for each thread, which need not be the same amount of work."""
    machine = Machine(threads, offsets=offsets, x=x, out=[None] * (len(offsets) - 1))
    return _lists_in_ranges(machine, op, equal_shares(len(offsets) - 1, threads), "every thread has the same number of lists")


def lists_by_ranges(offsets: list[int], x: list[Any], op: Operator, threads: int = 4, weight: int = 2) -> Trace:
    """`cpu.shares`: the work of a list is its elements plus `weight`; the beginning of each thread's share is found by a search.

    The rung splits lists that are longer than a share; here they are not split.
    """
    lists = len(offsets) - 1
    share = (offsets[-1] + weight * lists) // threads + 1
    begins = [bisect_left(range(lists), thread * share, key=lambda i: offsets[i] + weight * i) for thread in range(threads)]
    ranges = [range(begin, end) for begin, end in pairwise([*begins, lists])]
    machine = Machine(threads, offsets=offsets, x=x, out=[None] * lists)
    found = ", ".join(str(own.start) for own in ranges if own)
    return _lists_in_ranges(machine, op, ranges, f"shares begin at lists {found}; every thread folds its lists")


def _lists_in_ranges(machine: Machine, op: Operator, ranges: list[range], text: str) -> Trace:
    """Folds a range of lists per thread, element after element."""
    bounds = [[(i, machine["offsets", i], machine["offsets", i + 1]) for i in own] for own in ranges]
    work = [[(i, j, j == start) for i, start, stop in own for j in range(start, stop)] for own in bounds]
    for k in range(max((len(own) for own in work), default=0)):
        done = tuple(thread for thread, own in enumerate(work) if k >= len(own))
        with machine.step(f"{text}, one after the other", done):
            for thread, own in enumerate(work):
                if k < len(own):
                    i, j, is_first = own[k]
                    _add_element(machine, thread, op, ("out", i), ("x", j), is_first)
    return machine.trace("out")


def _add_element(machine: Machine, thread: int, op: Operator, total: Cell, element: Cell, is_first: bool) -> None:
    """Computes total ← total ⊕ element, or total ← element for the first one."""
    if is_first:
        machine.copy(thread, total, element)
    else:
        machine.fold(thread, total, op, total, element)


def lists_by_columns(offsets: list[int], x: list[Any], op: Operator, threads: int = 2, lanes: int = 4, depth: int = 2) -> Trace:
    """`cpu.columns`: one list per SIMD lane; `depth` elements of each list are loaded, for any lengths.

    The rung lets long lists wait for others of about their length, and splits the longest into blocks, one block per lane.
    """
    return by_columns(offsets, x, op, threads, lanes, depth, scans=False)


def by_columns(
    offsets: list[int],
    x: list[Any],
    op: Operator,
    threads: int,
    lanes: int,
    depth: int,
    scans: bool,
    most: int | None = None,
) -> Trace:
    lists = len(offsets) - 1
    columns = {f"column {j}": [None] * (threads * lanes) for j in range(depth)}
    out = [None] * (offsets[-1] if scans else lists)
    machine = Machine(threads, offsets=offsets, x=x, **columns, total=[None] * (threads * lanes), out=out)

    def work(thread: int, own: range) -> Iterator[str | None]:
        for first in range(own.start, own.stop, lanes):
            group = range(first, min(first + lanes, own.stop))
            longest = max(offsets[i + 1] - offsets[i] for i in group)
            is_readable = len(group) == lanes and max(offsets[i] for i in group) + longest + depth - 1 <= len(x)
            if is_readable and (most is None or longest <= most):
                yield from _per_lane(machine, op, thread, group, depth, scans)
            else:
                yield from _one_by_one(machine, op, thread, group, scans)

    machine.run(Worker((thread,), work(thread, own)) for thread, own in enumerate(equal_shares(lists, threads)))
    return machine.trace("out")


def scan_element(machine: Machine, thread: int, i: int, start: int, op: Operator) -> None:
    """Computes out[i] ← the element, or the previous result in the list ⊕ the element."""
    if i == start:
        machine.copy(thread, ("out", i), ("x", i))
    else:
        machine.fold(thread, ("out", i), op, ("out", i - 1), ("x", i))


def _per_lane(machine: Machine, op: Operator, thread: int, group: range, depth: int, scans: bool) -> Iterator[str | None]:
    """Folds the lists of a group, one per lane."""
    starts = [machine["offsets", i] for i in group]
    lengths = [machine["offsets", i + 1] - machine["offsets", i] for i in group]
    lanes = range(thread * len(group), (thread + 1) * len(group))
    for first in range(0, max(lengths), depth):
        for lane, start in zip(lanes, starts, strict=True):
            for j in range(depth):
                machine.copy(thread, (f"column {j}", lane), ("x", start + first + j))
            if first == 0:
                machine.write(thread, ("total", lane), None)
        yield f"{depth} elements of each of {len(group)} lists are loaded, for any lengths, and transposed"
        for j in range(min(depth, max(lengths) - first)):
            for lane, length in zip(lanes, lengths, strict=True):
                if first + j < length:
                    _add_element(machine, thread, op, ("total", lane), (f"column {j}", lane), first + j == 0)
            yield "a column is added to the totals, lane by lane; a lane stops where its list ends"
            if scans:
                for lane in lanes:
                    machine.copy(thread, (f"column {j}", lane), ("total", lane))
                yield "the totals so far are stored in the column"
        for lane, start, length in zip(lanes, starts, lengths, strict=True) if scans else ():
            for j in range(min(depth, max(length - first, 0))):
                machine.copy(thread, ("out", start + first + j), (f"column {j}", lane))
        if scans:
            yield "columns are transposed back, and stored up to the ends of their lists"
    if not scans and max(lengths) > 0:
        for lane, i in zip(lanes, group, strict=True):
            machine.copy(thread, ("out", i), ("total", lane))
        yield "the totals are stored, all at once"


def _one_by_one(machine: Machine, op: Operator, thread: int, group: range, scans: bool) -> Iterator[str | None]:
    for i in group:
        start, stop = machine["offsets", i], machine["offsets", i + 1]
        for j in range(start, stop):
            if scans:
                scan_element(machine, thread, j, start, op)
            else:
                _add_element(machine, thread, op, ("out", i), ("x", j), j == start)
            yield "lists that are too few, too long or too close to the end of the content are done by the loop"


# ------------------------------------------------------------------------------------- folds by warps, blocks and lanes


_SPREAD = "lanes read adjacent elements of a list, each adds its own"
_SHUFFLE = "shuffles: every lane adds the register of lane l xor {}"


def _spread(
    machine: Machine, op: Operator, cells: range, array: str, elements: range, text: str = _SPREAD
) -> Iterator[str | None]:
    """Computes the registers of some threads ← elements of an array. The stride is the number of threads."""
    for first in range(0, max(len(elements), 1), len(cells)):
        for lane, cell in enumerate(cells):
            register, j = ("register", cell), first + lane
            if j < len(elements):
                _add_element(machine, cell, passing_none(op), register, (array, elements[j]), first == 0)
            elif first == 0:
                machine.write(cell, register, None)
        yield text


def _fold_xor(machine: Machine, op: Operator, cells: range) -> Iterator[str | None]:
    """Computes the registers of the lanes of a warp, or of a group of lanes ← the fold of all of them, in any order."""
    stride = 1
    while stride < len(cells):
        for lane, cell in enumerate(cells):
            other = cells.start + (lane ^ stride)
            machine.shuffle(cell, ("register", cell), passing_none(op), ("register", cell), ("register", other))
        yield _SHUFFLE.format(stride)
        stride *= 2


def lists_by_warps(offsets: list[int], x: list[Any], op: Operator, lanes: int = 4) -> Trace:
    """`cuda.warp_per_list`: the lanes of a warp read adjacent elements of a list, and fold by shuffles. The operator must commute."""
    return _by_groups(offsets, x, op, 1, lanes)


def lists_by_blocks(offsets: list[int], x: list[Any], op: Operator, warps: int = 2, lanes: int = 2) -> Trace:
    """`cuda.block_per_list`: all threads of a block read a list; the warps exchange their totals in shared memory."""
    return _by_groups(offsets, x, op, warps, lanes)


def _by_groups(offsets: list[int], x: list[Any], op: Operator, warps: int, lanes: int) -> Trace:
    """Folds a list by each group of `warps` warps, with `lanes` lanes each."""
    lists, size = len(offsets) - 1, warps * lanes
    shared: dict[str, list[Any]] = {"shared": [None] * (lists * warps)} if warps > 1 else {}
    machine = Machine(lists * size, offsets=offsets, x=x, register=[None] * (lists * size), **shared, out=[None] * lists)

    def work(i: int, start: int, stop: int) -> Iterator[str | None]:
        cells = range(i * size, (i + 1) * size)
        yield from _spread(machine, op, cells, "x", range(start, stop))
        yield from _together(_fold_xor(machine, op, cells[first : first + lanes]) for first in range(0, size, lanes))
        if warps > 1:
            for warp in range(warps):
                machine.copy(cells[warp * lanes], ("shared", i * warps + warp), ("register", cells[warp * lanes]))
            yield "lane 0 of each warp writes its total to shared memory"
            first_warp = cells[:lanes]
            text = "after a barrier the first warp reads all totals"
            yield from _spread(machine, op, first_warp, "shared", range(i * warps, (i + 1) * warps), text)
            yield from _fold_xor(machine, op, first_warp)
        machine.copy(cells[0], ("out", i), ("register", cells[0]))
        yield "the list's first lane writes the result"

    bounds = enumerate(pairwise(offsets))
    machine.run(Worker(tuple(range(i * size, (i + 1) * size)), work(i, *list_)) for i, list_ in bounds)
    return machine.trace("out")


def _together(workers: Iterable[Iterator[str | None]]) -> Iterator[str | None]:
    """Combines workers with the same number of steps: their moves are made in the same steps."""
    for texts in zip(*workers, strict=True):
        yield texts[0]


class _Lanes:
    """`cuda.lanes`: the length of a list determines what folds it: a lane, a few lanes, a warp, or blocks of a second launch."""

    def __init__(
        self, machine: Machine, op: Operator, offsets: list[int], lanes: int, group: int, limits: tuple[int, int, int]
    ):
        self.machine, self.op, self.lanes, self.group, self.limits = machine, op, lanes, group, limits
        self.lists = [range(*bounds) for bounds in pairwise(offsets)]
        self.noted = 0  # work units so far

    def of_length(self, own: range, least: int, most: int) -> list[int]:
        return [i for i in own if least < len(self.lists[i]) <= most]

    def warp(self, own: range, work_units: list[list[range]]) -> Iterator[str | None]:
        """Folds the lists of a warp. Lists and threads have the same numbers: each thread has its own list."""
        by_lane, by_group, by_warp = self.limits
        short = self.of_length(own, 0, by_lane)
        for k in range(max((len(self.lists[i]) for i in short), default=0)):
            for i in short:
                if k < len(self.lists[i]):
                    _add_element(self.machine, i, self.op, ("value", i), ("x", self.lists[i][k]), k == 0)
            yield f"lists of up to {by_lane} elements: each lane folds its own"
        for first in range(own.start, own.stop, self.lanes // self.group):
            row = range(first, min(first + self.lanes // self.group, own.stop))
            yield from self._row(own.start, row, self.of_length(row, by_lane, by_group))
        every = range(own.start, own.start + self.lanes)
        for i in self.of_length(own, by_group, by_warp):
            text = f"lists of up to {by_warp}: the whole warp, one after the other"
            yield from _spread(self.machine, self.op, every, "x", self.lists[i], text)
            yield from _fold_xor(self.machine, self.op, every)
            self.machine.copy(i, ("value", i), ("register", i))
            yield "the list's own lane stores the result"
        for i in (i for i in own if len(self.lists[i]) > by_warp):
            for number in range(len(work_units[i])):
                at = ("work units", self.noted + number)
                self.machine.write(own.start + number % self.lanes, at, f"{i}.{number}", ("offsets", i), ("offsets", i + 1))
            self.noted += len(work_units[i])
            yield "longer lists are noted, in work units, for the blocks of a second launch"
        done = [i for i in own if len(self.lists[i]) <= by_warp]
        for i in done:
            self.machine.copy(i, ("out", i), ("value", i))
        if done:
            yield "every lane writes its list's result"

    def _row(self, first: int, row: range, there: list[int]) -> Iterator[str | None]:
        """Folds one list per group of lanes of a warp; `there` are the lists whose length is for a group."""
        if not there:
            return
        cells = {i: range(first + (i - row.start) * self.group, first + (i - row.start + 1) * self.group) for i in there}
        text = f"lists of up to {self.limits[1]}: {self.group} lanes each, {self.lanes // self.group} lists at a time"
        left = [_spread(self.machine, self.op, cells[i], "x", self.lists[i], text) for i in there]
        while left := [each for each in left if next(each, None)]:
            yield text
        yield from _together(_fold_xor(self.machine, self.op, cells[i]) for i in there)
        for i in there:
            self.machine.copy(i, ("value", i), ("register", cells[i].start))
        yield "the list's own lane receives the result from the first of these lanes"

    def block(self, threads: range, work: list[tuple[int, int, range, range]]) -> Iterator[str | None]:
        """Folds work units, each given as its list, slot, elements, and the slots of all work units of the list."""
        for i, slot, elements, slots in work:
            text = "second launch: a block folds a work unit"
            yield from _spread(self.machine, self.op, threads, "x", elements, text)
            yield from _fold_xor(self.machine, self.op, threads)
            arrived = ("arrived", slots.start)
            while self.machine.is_written(arrived):
                yield None
            count = self.machine[arrived] + 1
            self.machine.copy(threads[0], ("slots", slot), ("register", threads[0]))
            self.machine.write(threads[0], arrived, count, arrived)
            yield "it writes the fold to the work unit's slot, and increments the count of finished work units"
            if count == len(slots):
                yield from _spread(
                    self.machine, self.op, threads, "slots", slots, "the last of a list's work units reads all folds"
                )
                yield from _fold_xor(self.machine, self.op, threads)
                self.machine.copy(threads[0], ("out", i), ("register", threads[0]))
                yield "and writes the list's result"


def lists_by_lanes(
    offsets: list[int],
    x: list[Any],
    op: Operator,
    lanes: int = 4,
    group: int = 2,
    limits: tuple[int, int, int] = (2, 4, 6),
    work_unit: int = 4,
    blocks: int = 2,
) -> Trace:
    """`cuda.lanes`: the number of lanes for a list depends on its number of elements; the operator must commute.

    A block of the second launch is a warp here, and a list of one work unit also has a slot.
    """
    lists = len(offsets) - 1
    warps = -(-lists // lanes)
    split = [
        [range(first, min(first + work_unit, stop)) for first in range(start, stop, work_unit)]
        for start, stop in pairwise(offsets)
    ]
    long = [i for i in range(lists) if offsets[i + 1] - offsets[i] > limits[2]]
    noted = [(i, number) for i in long for number in range(len(split[i]))]
    threads = max(warps, min(blocks, len(noted))) * lanes
    none = [None] * len(noted)
    notes: dict[str, list[Any]] = {"work units": none, "slots": none, "arrived": [0] * len(noted)} if noted else {}
    machine = Machine(
        threads, offsets=offsets, x=x, register=[None] * threads, value=[None] * lists, **notes, out=[None] * lists
    )
    model = _Lanes(machine, op, offsets, lanes, group, limits)
    own = [range(first, min(first + lanes, lists)) for first in range(0, lists, lanes)]
    machine.run(Worker(tuple(range(warp.start, warp.start + lanes)), model.warp(warp, split)) for warp in own)
    slots = {i: range(noted.index((i, 0)), noted.index((i, 0)) + len(split[i])) for i in long}
    work = [(i, slot, split[i][number], slots[i]) for slot, (i, number) in enumerate(noted)]
    of_blocks = [range(block * lanes, (block + 1) * lanes) for block in range(min(blocks, len(noted)))]
    machine.run(Worker(tuple(of), model.block(of, work[block::blocks])) for block, of in enumerate(of_blocks))
    return machine.trace("out")


# ------------------------------------------------------------------------------------------------------ folds by shares


def merge_path(offsets: list[int], at: int) -> tuple[int, int]:
    """The position on the path of lists and elements after `at` steps: (lists ended, elements taken)."""
    ended = bisect_left(range(len(offsets) - 1), True, key=lambda i: offsets[i + 1] + i + 1 > at)
    return ended, at - ended


def lists_by_shares(offsets: list[int], x: list[Any], op: Operator, threads: int = 4) -> Trace:
    """`cuda.shares`: each thread has the same number of lists and elements together; split lists are joined."""
    lists = len(offsets) - 1
    total = lists + offsets[-1]
    length = max(-(-total // threads), 1)
    machine = Machine(threads, offsets=offsets, x=x, out=[None] * lists, rest=[None] * threads)
    at = [merge_path(offsets, min(t * length, total)) for t in range(threads + 1)]
    place = list(at[:-1])
    held = [False] * threads  # whether the thread has folded an element of its list so far
    for _ in range(length):
        with machine.step("every thread follows its share: it folds an element, or a list ends"):
            for t in range(threads):
                i, j = place[t]
                if (i, j) == at[t + 1]:
                    continue
                if i < lists and j == offsets[i + 1]:
                    if held[t]:
                        machine.copy(t, ("out", i), ("rest", t))
                    held[t] = False
                    place[t] = (i + 1, j)
                else:
                    if held[t]:
                        machine.fold(t, ("rest", t), op, ("rest", t), ("x", j))
                    else:
                        machine.copy(t, ("rest", t), ("x", j))
                    held[t] = True
                    place[t] = (i, j + 1)
    for t in reversed(range(threads)):
        i = place[t][0]
        if not held[t]:
            continue
        with machine.step("a list that was split is joined: the fold of the earlier elements is the left operand"):
            if machine["out", i] is None:
                machine.copy(0, ("out", i), ("rest", t))
            else:
                machine.fold(0, ("out", i), op, ("rest", t), ("out", i))
    return machine.trace("out")
