# SPDX-License-Identifier: Apache-2.0
# upsweep_report/sums.py: models of the rungs that find subset sums by filling a table or shifting bits.
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import combinations, pairwise
from typing import NamedTuple

from .machine import Cell, Machine, Trace, Worker, equal_shares


def table(items: list[int], target: int) -> Trace:
    """`cpu.table`: column j marks the sums that some of the first j items have; one thread fills the columns one after the other."""
    machine, columns = _columns(1, items, target)
    for before, column, item in zip(columns[:-1], columns[1:], items[1:], strict=True):
        with machine.step(
            f"one thread, sum by sum, with {item}: a sum is reachable if it was before, or if the sum {item} lower was"
        ):
            for total in range(target + 1):
                _fill(machine, 0, before, column, item, total)
    return machine.trace(columns[-1])


def table_in_turns(items: list[int], target: int, threads: int = 1) -> Trace:
    """`cpu.columns`: two columns alternate, as no other column is read again. With more threads `cpu.threads`: each has a share of the sums."""
    machine = Machine(threads, a=[0] * (target + 1), b=[0] * (target + 1))
    source, other = "a", "b"
    _first_column(machine, source, items[0], target)
    whose = "one thread, sum by sum" if threads == 1 else "every thread its share of the sums"
    for item in items[1:]:
        with machine.step(f"from {source} to {other}, {whose}, with {item}: if it was reachable before, or {item} lower"):
            for thread, share in enumerate(equal_shares(target + 1, threads)):
                for total in share:
                    _fill(machine, thread, source, other, item, total)
        source, other = other, source
    return machine.trace(source)


def table_by_operations(items: list[int], target: int) -> Trace:
    """`cuda.array_ops`: copies the last column, then ORs a shifted view of it into the copy: two launches per item."""
    machine, columns = _columns(target + 1, items, target)
    for before, column, item in zip(columns[:-1], columns[1:], items[1:], strict=True):
        with machine.step("a launch copies the column"):
            for total in range(target + 1):
                machine.copy(total, (column, total), (before, total))
        with machine.step(f"another ORs the sums that are {item} lower into it, which is read again"):
            for total in range(item, target + 1):
                machine.fold(total, (column, total), int.__or__, (column, total), (before, total - item))
    return machine.trace(columns[-1])


def table_by_threads(items: list[int], target: int, each: int = 1) -> Trace:
    """`cuda.column`: a launch per column, a thread per sum. `cuda.agglomerated`: a thread for several sums, a stride apart."""
    threads = -(-(target + 1) // each)
    machine, columns = _columns(threads, items, target)
    for before, column, item in zip(columns[:-1], columns[1:], items[1:], strict=True):
        for first in range(0, target + 1, threads):
            text = (
                f"a launch, with {item}: every thread has a sum"
                if first == 0
                else f"the same launch: the sum {first} further up"
            )
            with machine.step(f"{text}; it is reachable if it was before, or if the sum {item} lower was"):
                for total in range(first, min(first + threads, target + 1)):
                    _fill(machine, total - first, before, column, item, total)
    return machine.trace(columns[-1])


def _columns(threads: int, items: list[int], target: int) -> tuple[Machine, list[str]]:
    """Creates a column of zeros for each item, and fills the first column: the sums with no item or the first."""
    columns = [f"to {item}" for item in _named(items)]
    machine = Machine(threads, **{column: [0] * (target + 1) for column in columns})
    _first_column(machine, columns[0], items[0], target)
    return machine, columns


def _first_column(machine: Machine, column: str, item: int, target: int) -> None:
    with machine.step(f"the first column: 0 and {item} are reachable"):
        for total in sorted({0, item}):
            if total <= target:
                machine.write(0, (column, total), 1)


def _fill(machine: Machine, thread: int, before: str, column: str, item: int, total: int) -> None:
    if total >= item:
        machine.fold(thread, (column, total), int.__or__, (before, total), (before, total - item))
    else:
        machine.copy(thread, (column, total), (before, total))


def bits(items: list[int], target: int, word: int = 4) -> Trace:
    """`cpu.bits`: the sums are the bits of words; an item moves all bits of a word up at once, from the top word down."""
    words = target // word + 1
    machine = Machine(1, sums=[bits_text(int(at == 0), word) for at in range(words)])
    for item in items:
        for at in reversed(range(item // word, words)):
            with machine.step(f"{item} more: word {at} reads the bits that are {item} places lower ({layout_text(word)})"):
                _shift(machine, 0, lambda at: ("sums", at), at, item, word)
    _clear_past(machine, target, word)
    return machine.trace("sums")


class _Pass(NamedTuple):
    """Items that pass through the words below `top`, one after the other."""

    items: list[int]
    low: int
    top: int
    word: int

    def reach(self, item: int) -> int:
        """The number of words from a sum's own down to the lowest word that it is computed from."""
        return item // self.word + 1

    @property
    def halo(self) -> int:
        """The number of words below a work unit that it reads."""
        return sum(self.reach(item) for item in self.items)


class _WorkUnit:
    """The words of a thread in a pass, and a copy of the words below that it reads, to which it also adds the items."""

    def __init__(self, machine: Machine, number: int, words: range, of: _Pass, open_words: list[int], block: int):
        self.machine, self.number, self.words, self.of, self.open, self.block = machine, number, words, of, open_words, block
        capacity = len(machine.cells("halo")) // max(machine.threads - 1, 1)
        self.halo_cell = (number - 1) * capacity - (words.start - of.halo)  # of word 0, if it were in the halo

    def cell(self, at: int) -> Cell:
        return ("sums", at) if self.number == 0 or at >= self.words.start else ("halo", self.halo_cell + at)

    def copy_halo(self) -> None:
        for at in range(self.words.start - self.of.halo, self.words.start) if self.number > 0 else ():
            self.machine.copy(self.number, self.cell(at), ("sums", at))

    def work(self) -> Iterator[str | None]:
        """Works from the top down by blocks. The first item comes before the next, which stays above it by the words that it reads."""
        followers = []  # each item, its distance above the first one, and the lowest word that it is added to
        lag, below = 0, self.of.halo
        for j, item in enumerate(self.of.items):
            lag += self.of.reach(item) if j > 0 else 0
            below -= self.of.reach(item)
            lowest = self.words.start - (below if self.number > 0 else 0)
            followers.append((item, lag, max(lowest, self.of.low, item // self.of.word)))
        front = self.words.stop
        while (front := self.next_front(front, followers)) is not None:
            for j, (item, lag, least) in enumerate(followers):
                wanted = range(max(front + lag - self.block, least), min(front + lag, self.words.stop))
                own = [at for at in self.open if at in wanted]
                for at in reversed(own):
                    _shift(self.machine, self.number, self.cell, at, item, self.of.word)
                if own:
                    yield (
                        f"{item} goes down through a block"
                        if j == 0
                        else f"{item} follows, at the distance that it reads below"
                    )
            front -= self.block

    def next_front(self, front: int, followers: list[tuple[int, int, int]]) -> int | None:
        """Where the first item ends its next block: as high as any item still has a word to process."""
        ends = []
        for _, lag, least in followers:
            last = max((at + 1 for at in self.open if at < min(front + lag, self.words.stop)), default=0)
            if last > least:
                ends.append(last - lag)
        return max(ends, default=None)


def bits_by_work_units(
    items: list[int], target: int, threads: int = 2, word: int = 4, block: int = 2, together: int = 2
) -> Trace:
    """`cpu.bits_simd`: several items pass through a block of words, which is read only once; each thread has a work unit of the words.

    Full words are skipped, and also words that no sum reaches yet. A step is a block of words, which vectors process at once.
    """
    items = sorted(item for item in items if item <= target)
    words = target // word + 1
    most = max((sum(item // word + 1 for item in items[j : j + together]) for j in range(len(items))), default=0)
    bitmap = [bits_text(int(at == 0), word) for at in range(words)]
    machine = Machine(threads, sums=bitmap, halo=[None] * ((threads - 1) * most))
    full: set[int] = set()
    reached = 0
    for j in range(0, len(items), together):
        taken = items[j : j + together]
        reached = min(target, reached + sum(taken))
        of = _Pass(taken, min(taken) // word, reached // word + 1, word)
        open_words = [at for at in range(of.low, of.top) if at not in full]
        work_units = [
            _WorkUnit(machine, number, own, of, [at for at in range(of.top) if at not in full], block)
            for number, own in enumerate(_work_units_of(open_words, of, threads))
        ]
        if len(work_units) > 1:
            with machine.step("each work unit except the lowest copies the words below that it will read, before they change"):
                for each in work_units:
                    each.copy_halo()
        said = " and ".join(map(str, taken))
        machine.run((Worker((each.number,), each.work()) for each in work_units), f"a pass of {said} ({layout_text(word)}): ")
        full |= {at for at in open_words if "0" not in machine["sums", at]}
    _clear_past(machine, target, word)
    return machine.trace("sums")


def _work_units_of(open_words: list[int], of: _Pass, threads: int) -> list[range]:
    """The same number of open words for each thread, but at least the size of a halo."""
    count = max(1, min(len(open_words) // of.halo, threads))
    begins = [of.low, *(open_words[len(open_words) * number // count] for number in range(1, count))]
    return [range(*own) for own in pairwise([*begins, of.top])]


def _clear_past(machine: Machine, target: int, word: int) -> None:
    last = ("sums", target // word)
    kept = int(machine[last], 2) & ((2 << target % word) - 1)
    if machine[last] != bits_text(kept, word):
        with machine.step("sums greater than the target are cleared"):
            machine.write(0, last, bits_text(kept, word), last)


class _FusedPass(NamedTuple):
    """A pass from one bitmap into the other: a new word is the OR of the old words at several shifts."""

    source: str
    other: str
    shifts: list[int]
    held: int  # number of words of the source that contain sums; 0 if only the sum 0 is known
    written: int
    target: int
    word: int

    def new_word(self, machine: Machine, at: int) -> tuple[int, list[Cell]]:
        """The new word, and the cells that it is computed from."""
        read = {at - shift // self.word - below for shift in self.shifts for below in (0, 1)}
        cells = [(self.source, w) for w in sorted(read) if 0 <= w < self.held]
        old = sum(int(machine[cell], 2) << (cell[1] * self.word) for cell in cells) if self.held > 0 else 1
        value = reduce(int.__or__, (old << shift for shift in self.shifts)) >> (at * self.word) & ((1 << self.word) - 1)
        is_last = at == self.target // self.word
        return (value & ((2 << self.target % self.word) - 1) if is_last else value), cells

    def work(self, machine: Machine, thread: int) -> Iterator[str | None]:
        ones = (1 << self.word) - 1
        for at in range(thread, self.written, machine.threads):
            state = ("state", at)
            if machine[state] == "both":
                continue
            if machine[state] == "full":
                machine.write(thread, (self.other, at), bits_text(ones, self.word), state)
                machine.write(thread, state, "both", state)
                yield "a tile that was full before is set full in both bitmaps without a read, and is skipped from now on"
                continue
            value, cells = self.new_word(machine, at)
            machine.write(thread, (self.other, at), bits_text(value, self.word), *cells)
            if value == ones:
                machine.write(thread, state, "full")
            yield "a word is the OR of the old words at all shifts"


def bits_two_items(items: list[int], target: int, threads: int = 2, word: int = 4) -> Trace:
    """`cuda.bits_fused`: two items per pass, which are four shifts, and all passes in one kernel, with a barrier between them.

    A thread has the same tiles in every pass, of a word each; a tile that is full in both bitmaps is not accessed again.
    """
    items = sorted(item for item in items if item <= target)
    words = target // word + 1
    none = [bits_text(0, word)] * words
    machine = Machine(threads, sums=none, other=none, state=[""] * words)
    passes = max(-(-len(items) // 2), 1)
    reached = 0
    for number in range(passes):
        taken = items[2 * number : 2 * number + 2]
        shifts = [sum(some) for k in range(len(taken) + 1) for some in combinations(taken, k)]
        held = reached // word + 1 if number > 0 else 0
        reached = min(reached + sum(taken), target)
        written = words if number == passes - 1 else reached // word + 1
        source, other = ("other", "sums") if (passes - number) % 2 == 1 else ("sums", "other")
        fused = _FusedPass(source, other, shifts, held, written, target, word)
        said = ", ".join(map(str, shifts))
        workers = [Worker((thread,), fused.work(machine, thread)) for thread in range(threads)]
        machine.run(workers, f"pass {number + 1}, shifts by {said}, from {source} to {other}: ")
    return machine.trace("sums")


def bits_by_threads(items: list[int], target: int, word: int = 4) -> Trace:
    """`cuda.bits`: a thread per word, from one bitmap into the other, because blocks do not wait for each other.

    Words above the sum of the items so far have no thread yet.
    """
    words = target // word + 1
    none = bits_text(0, word)
    machine = Machine(words, a=[bits_text(int(at == 0), word) for at in range(words)], b=[none] * words)
    source, other = "a", "b"
    largest = 0
    for item in items:
        largest = min(largest + item, target)
        with machine.step(
            f"a launch, {item} more: every word reads the bits that are {item} places lower ({layout_text(word)})"
        ):
            for at in range(largest // word + 1):
                _shift(machine, at, lambda at, source=source: (source, at), at, item, word, other)
        source, other = other, source
    return machine.trace(source)


def _shift(machine: Machine, thread: int, cell: Callable[[int], Cell], at: int, item: int, word: int, other: str = "") -> None:
    """Computes word `at` ← itself OR the words moved up by an item; writes into another array if it is named."""
    whole, rest = divmod(item, word)
    value = int(machine[cell(at)], 2)
    read = [cell(at)]
    for lower, by in ((at - whole, rest), (at - whole - 1, rest - word)):
        if lower < 0 or by == -word:
            continue
        moved = int(machine[cell(lower)], 2)
        value |= moved << by if by >= 0 else moved >> -by
        read.append(cell(lower))
    machine.write(thread, (other, at) if other else cell(at), bits_text(value & ((1 << word) - 1), word), *read)


def bits_text(value: int, word: int) -> str:
    return f"{value:0{word}b}"


def layout_text(word: int) -> str:
    return f"{word} sums in a word, the smallest at its right"


def _named(items: list[int]) -> list[str]:
    """Items by their values; equal items also by their number."""
    return [f"{item}" if items.count(item) == 1 else f"{item} (item {k})" for k, item in enumerate(items)]
