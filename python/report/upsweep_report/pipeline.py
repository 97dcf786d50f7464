# SPDX-License-Identifier: Apache-2.0
# upsweep_report/pipeline.py: a model of lists that are folded in equal shares, with a role for each thread of a block.
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from .machine import Cell, Machine, Operator, Trace, Worker, passing_none

_CONSUMERS = 2  # threads of a block that fold
_ROLES = 3 + _CONSUMERS
_STAGES = 2  # of shared memory, in which a share is loaded while another is folded


class _Share(NamedTuple):
    """Elements, and the lists that contain them: those before `ends` end here."""

    elements: range
    lists: range
    ends: int


class _Partial(NamedTuple):
    """The fold of a share's elements of a list that extends over several shares: it ends here, or continues in the next share."""

    share: int
    list: int
    ends: bool


def shares_of(offsets: list[int], size: int, snap: int) -> list[_Share]:
    """Equal shares of the work, where an element or a list is one unit; a list of up to `snap` elements is not split."""
    lists = len(offsets) - 1
    positions = [start + i for i, start in enumerate(offsets)]  # the work before each list

    def border(at: int) -> tuple[int, int]:
        """The list and the element with which a share begins."""
        if at >= positions[-1]:
            return lists, offsets[-1]
        i = bisect_right(positions, at) - 1
        start, stop = offsets[i], offsets[i + 1]
        element = start + at - positions[i] if stop - start > snap else start
        return (i + 1, stop) if element >= stop > start else (i, element)

    borders = [border(at) for at in range(0, positions[-1], size)] + [(lists, offsets[-1])]
    found = []
    for (i, first), (end, last) in pairwise(borders):
        is_split = end < lists and last > offsets[end]
        found.append(_Share(range(first, last), range(i, end + is_split), end))
    return found


class _Block:
    """A block: the data that its roles exchange, and their moves."""

    def __init__(self, model: _Model, number: int):
        self.model, self.machine, self.number = model, model.machine, number
        self.found: list[tuple[int, int]] = []  # shares whose borders were found, with the slot of each
        self.loaded: list[tuple[int, int]] = []  # shares that are in a stage
        self.mail: list[_Partial] = []
        self.taken = self.freed = 0  # shares that were loaded; stages that were folded
        self.is_found = self.is_loaded = self.is_folded = False  # all of them

    def thread(self, role: int) -> int:
        return self.number * _ROLES + role

    def workers(self) -> Iterator[Worker]:
        """The workers of all roles. A write is visible in the next step, so readers come first."""
        consumers = tuple(self.thread(2 + c) for c in range(_CONSUMERS))
        yield Worker((self.thread(2 + _CONSUMERS),), self.publish())
        yield Worker(consumers, self.consume())
        yield Worker((self.thread(1),), self.load())
        yield Worker((self.thread(0),), self.search())

    def search(self) -> Iterator[str | None]:
        for slot, number in enumerate(range(self.number, len(self.model.shares), self.model.blocks)):
            while slot - self.taken >= 2:
                yield None
            share = self.model.shares[number]
            read = [("offsets", i) for i in sorted({share.lists.start, share.ends})]
            cell = ("share", self.number * 2 + slot % 2)
            self.machine.write(self.thread(0), cell, f"{share.elements.start}-{share.elements.stop}", *read)
            self.found.append((number, slot))
            yield "thread 0 of a block searches the borders of its next share"
        self.is_found = True

    def load(self) -> Iterator[str | None]:
        while self.found or not self.is_found:
            if not self.found or self.found[0][1] - self.freed >= _STAGES:
                yield None
                continue
            number, slot = self.found.pop(0)
            for k, element in enumerate(self.model.shares[number].elements):
                self.machine.copy(self.thread(1), self.stage(slot, k), ("x", element))
            self.taken += 1
            self.loaded.append((number, slot))
            yield "thread 1 starts a bulk copy of a share into a stage"
        self.is_loaded = True

    def stage(self, slot: int, k: int) -> Cell:
        return "stage", (self.number * _STAGES + slot % _STAGES) * self.model.capacity + k

    def consume(self) -> Iterator[str | None]:
        while self.loaded or not self.is_loaded:
            if not self.loaded:
                yield None
                continue
            number, slot = self.loaded.pop(0)
            share = self.model.shares[number]
            whole = [i for i in share.lists if self.model.is_whole(i, share)]
            for first in range(0, len(whole), _CONSUMERS):
                yield from self.fold_lists(share, slot, whole[first : first + _CONSUMERS])
            for i in (i for i in share.lists if i not in whole):
                yield from self.fold_range(share, slot, i)
                yield from self.send(_Partial(number, i, i < share.ends))
            self.freed += 1
        self.is_folded = True

    def fold_lists(self, share: _Share, slot: int, lists: list[int]) -> Iterator[str | None]:
        """Folds lists that are within the share, one per consumer."""
        lengths = [self.model.offsets[i + 1] - self.model.offsets[i] for i in lists]
        for k in range(max(lengths)):
            for c, i in enumerate(lists):
                if k < lengths[c]:
                    self.add(c, self.stage(slot, self.model.offsets[i] + k - share.elements.start), k == 0)
            yield "threads 2 and 3 fold lists that are completely in the share, one each"
        for c, i in enumerate(lists):
            if lengths[c] == 0:
                self.machine.write(self.thread(2 + c), ("out", i), None, ("offsets", i))
            else:
                self.machine.copy(self.thread(2 + c), ("out", i), self.register(c))
        yield "their results are written"

    def fold_range(self, share: _Share, slot: int, i: int) -> Iterator[str | None]:
        """Folds the share's elements of a list with all consumers, which take elements in turn."""
        elements = self.model.range_in(i, share)
        for first in range(0, len(elements), _CONSUMERS):
            for c, element in enumerate(elements[first : first + _CONSUMERS]):
                self.add(c, self.stage(slot, element - share.elements.start), first == 0)
            yield "threads 2 and 3 fold a range of a list together"

    def send(self, partial: _Partial) -> Iterator[str | None]:
        while self.mail:
            yield None
        held = min(len(self.model.range_in(partial.list, self.model.shares[partial.share])), _CONSUMERS)
        registers = [self.register(c) for c in range(held)]
        value = None
        for register in registers:
            value = self.model.op(value, self.machine[register])
        self.machine.write(self.thread(2), ("mail", self.number), value, *registers)
        self.mail.append(partial)
        yield "their folds of it are joined, and passed to thread 4"

    def register(self, c: int) -> Cell:
        return "register", self.number * _CONSUMERS + c

    def add(self, c: int, element: Cell, is_first: bool) -> None:
        if is_first:
            self.machine.copy(self.thread(2 + c), self.register(c), element)
        else:
            self.machine.fold(self.thread(2 + c), self.register(c), self.model.op, self.register(c), element)

    def publish(self) -> Iterator[str | None]:
        thread = self.thread(2 + _CONSUMERS)
        while self.mail or not self.is_folded:
            if not self.mail:
                yield None
                continue
            partial = self.mail[0]
            first = self.model.first_share(partial.list)
            missing = ("missing", first)
            while self.machine.is_written(missing):
                yield None
            change = partial.share - first if partial.ends else -1
            count = self.machine[missing] + change
            self.machine.copy(thread, ("ends" if partial.ends else "goes on", partial.share), ("mail", self.number))
            self.machine.write(thread, missing, count, missing)
            yield "thread 4 stores a partial fold at its share, and counts the missing ones"
            self.mail.pop(0)
            if count == 0:
                last = self.model.last_share(partial.list)
                cells: list[Cell] = [*(("goes on", s) for s in range(first, last)), ("ends", last)]
                value = None
                for cell in cells:
                    value = self.model.op(value, self.machine[cell])
                self.machine.write(thread, ("out", partial.list), value, *cells)
                yield "none is missing: the last thread folds the list's partial folds, in order"


class _Model:
    """The data that all blocks share."""

    def __init__(self, offsets: list[int], x: list[Any], op: Operator, blocks: int, size: int, snap: int):
        self.offsets, self.op, self.blocks = offsets, passing_none(op), blocks
        self.shares = shares_of(offsets, size, snap)
        self.capacity = max((len(share.elements) for share in self.shares), default=0)
        shares = [None] * len(self.shares)
        self.machine = Machine(
            blocks * _ROLES,
            offsets=offsets,
            x=x,
            share=[None] * (2 * blocks),
            stage=[None] * (blocks * _STAGES * self.capacity),
            register=[None] * (blocks * _CONSUMERS),
            mail=[None] * blocks,
            **{"goes on": shares, "ends": shares},
            missing=[0] * len(self.shares),
            out=[None] * (len(offsets) - 1),
        )

    def range_in(self, i: int, share: _Share) -> range:
        return range(max(self.offsets[i], share.elements.start), min(self.offsets[i + 1], share.elements.stop))

    def is_whole(self, i: int, share: _Share) -> bool:
        return len(self.range_in(i, share)) == self.offsets[i + 1] - self.offsets[i]

    def first_share(self, i: int) -> int:
        return next(s for s, share in enumerate(self.shares) if len(self.range_in(i, share)) > 0)

    def last_share(self, i: int) -> int:
        return max(s for s, share in enumerate(self.shares) if len(self.range_in(i, share)) > 0)


def lists_by_roles(offsets: list[int], x: list[Any], op: Operator, blocks: int = 2, size: int = 4, snap: int = 2) -> Trace:
    """`cuda.pipeline`: equal shares of elements and lists, each searched, loaded, folded and published by separate threads.

    Blocks take shares in turn; in the rung they take tickets. A role is a thread here and a warp in the rung. A stage holds a whole
    share, which the rung splits into tiles. The operator must commute.
    """
    model = _Model(offsets, x, op, blocks, size, snap)
    model.machine.run(worker for number in range(blocks) for worker in _Block(model, number).workers())
    return model.machine.trace("out")
