# SPDX-License-Identifier: Apache-2.0
# upsweep_report/list_scans.py: models of scans that restart with every list, on a few lists.
from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from .lists import by_columns, scan_element
from .machine import Cell, Machine, Move, Operator, Trace, Worker, equal_shares, passing_none
from .scans import lookahead


def scan_lists_one(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cpu.serial` of segmented-scan: the scan restarts with every list."""
    machine = Machine(1, x=x, out=[None] * len(x))
    for start, stop in pairwise(offsets):
        for i in range(start, stop):
            with machine.step("a list begins" if i == start else f"element {i} and the sum before it"):
                scan_element(machine, 0, i, start, op)
    return machine.trace("out")


def scan_lists_columns(
    offsets: list[int], x: list[Any], op: Operator, threads: int = 2, lanes: int = 4, depth: int = 2, most: int = 8
) -> Trace:
    """`cpu.columns` of segmented-scan: as `cpu.columns` of segmented-reduce; columns are stored back, up to the ends of their lists.

    Groups with a list of more than `most` elements are done by the loop; the rung splits the longest lists into blocks.
    """
    return by_columns(offsets, x, op, threads, lanes, depth, scans=True, most=most)


def scan_lists_threads(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.thread_per_list` of segmented-scan: a thread for each list."""
    lists = list(pairwise(offsets))
    machine = Machine(len(lists), x=x, out=[None] * len(x))
    for k in range(max((stop - start for start, stop in lists), default=0)):
        with machine.step(f"every thread continues with element {k} of its list, if there is one"):
            for thread, (start, stop) in enumerate(lists):
                if start + k < stop:
                    scan_element(machine, thread, start + k, start, op)
    return machine.trace("out")


def scan_lists_tiles(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.tiles` of segmented-scan: Hillis and Steele's rounds, with an operator that adds nothing across the beginning of a list."""
    n = len(x)
    heads = set(offsets)
    reach = [next(i - k for k in range(i + 1) if i - k in heads) for i in range(n)]  # where each element's list begins
    machine = Machine(n, a=x, b=[None] * n)
    source, target = "a", "b"
    stride = 1
    while stride < n:
        with machine.step(f"stride {stride}, from {source} to {target}: a sum that has reached its list's beginning is copied"):
            for i in range(n):
                if i - stride < reach[i]:
                    machine.copy(i, (target, i), (source, i))
                else:
                    machine.fold(i, (target, i), op, (source, i - stride), (source, i))
        source, target = target, source
        stride *= 2
    return machine.trace(source)


def scan_lists_blocks(offsets: list[int], x: list[Any], op: Operator, warps: int = 2, lanes: int = 2) -> Trace:
    """`cuda.block_per_list` of segmented-scan: a block per list, an element per thread at a time."""
    lists, size = len(offsets) - 1, warps * lanes
    op = passing_none(op)
    none = [None] * (lists * size)
    registers: dict[str, list[Any]] = {"register": none, "shared": [None] * (lists * warps), "own before": none, "before": none}
    machine = Machine(lists * size, offsets=offsets, x=x, **registers, out=[None] * len(x))

    def work(i: int, start: int, stop: int) -> Iterator[str | None]:
        cells = range(i * size, (i + 1) * size)
        for base in range(start, stop, size):
            for at, cell in enumerate(cells, base):
                machine.write(cell, ("register", cell), x[at] if at < stop else None, *([("x", at)] if at < stop else []))
            yield "every thread of a block reads an element, if there is one"
            stride = 1
            while stride < lanes:
                for cell in (cell for cell in cells if cell % lanes >= stride):
                    machine.shuffle(cell, ("register", cell), op, ("register", cell - stride), ("register", cell))
                yield f"every warp scans: each lane reads the register {stride} to its left"
                stride *= 2
            shared = [("shared", i * warps + warp) for warp in range(warps)]
            for warp in range(warps):
                last = cells[(warp + 1) * lanes - 1]
                machine.copy(last, shared[warp], ("register", last))
            yield "the last lane of each warp writes its total to shared memory"
            for cell in cells:
                _add_totals(machine, op, cell, "own before", shared[: (cell - cells.start) // lanes])
                _add_totals(machine, op, cell, "before", shared)
            yield "every thread adds the totals of the warps before its own, and all totals for the next round"
            for at, cell in enumerate(cells, base):
                if at < stop:
                    machine.fold(cell, ("out", at), op, ("own before", cell), ("register", cell))
            yield "the total of what precedes it is added to each element"

    bounds = enumerate(pairwise(offsets))
    machine.run(Worker(tuple(range(i * size, (i + 1) * size)), work(i, *list_)) for i, list_ in bounds)
    return machine.trace("out")


def _add_totals(machine: Machine, op: Operator, thread: int, target: str, totals: list[Cell]) -> None:
    """Computes a thread's cell ← the fold of its list before this round, and some totals."""
    before = ("before", thread)
    value = machine[before]
    for total in totals:
        value = op(value, machine[total])
    machine.write(thread, (target, thread), value, before, *totals)


class _SinceHead(NamedTuple):
    """A fold that starts at the last element that begins a list, if there is one."""

    value: Any
    has_head: bool

    def __str__(self) -> str:
        return f"|{self.value}" if self.has_head else str(self.value)


def scan_lists_lookahead(offsets: list[int], x: list[Any], op: Operator, tile: int = 2, blocks: int = 2) -> Trace:
    """`cuda.lookahead` of segmented-scan: a bit per beginning of a list; then scan's look-ahead, with folds that restart there."""
    if len(x) == 0:
        return Trace({"offsets": offsets, "out": []}, [], 1, "out")
    heads = {start for start, stop in pairwise(offsets) if start < stop}

    def join(left: _SinceHead, right: _SinceHead) -> _SinceHead:
        return right if right.has_head else _SinceHead(op(left.value, right.value), left.has_head)

    inner = lookahead([_SinceHead(value, i in heads) for i, value in enumerate(x)], join, tile, blocks)
    marks = Machine(inner.threads, offsets=offsets, heads=[0] * len(x))
    with marks.step("every thread reads a few lists, and sets a bit where a list with elements begins"):
        for thread, own in enumerate(equal_shares(len(offsets) - 1, inner.threads)):
            for i in (i for i in own if offsets[i] < offsets[i + 1]):
                marks.write(thread, ("heads", offsets[i]), 1, ("offsets", i), ("offsets", i + 1))
    marked = marks.trace("heads")

    def shown(arrays: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Elements and results are shown as values. A carry in which a list begins is shown with a bar in front."""
        return {
            name: [value if value is None else value.value for value in values] if name in ("x", "out") else values
            for name, values in arrays.items()
        }

    def with_heads(move: Move) -> Move:
        """An element is read with its bit; if the bit is set, nothing before the element is read."""
        read = [("heads", at) for array, at in move.sources if array == "x"]
        kept = [cell for cell in move.sources if cell[0] == "x"] if any(at in heads for _, at in read) else move.sources
        return move._replace(sources=(*read, *kept))

    first = marked.steps[0]._replace(arrays={**marked.steps[0].arrays, **shown(inner.arrays)})
    steps = [
        step._replace(
            text=step.text + "; a bar: a list begins in it",
            moves=tuple(with_heads(move) for move in step.moves),
            arrays={**marked.steps[0].arrays, **shown(step.arrays)},
        )
        for step in inner.steps
    ]
    return Trace({**marked.arrays, **shown(inner.arrays)}, [first, *steps], inner.threads, "out")
