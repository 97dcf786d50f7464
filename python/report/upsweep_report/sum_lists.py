# SPDX-License-Identifier: Apache-2.0
# upsweep_report/sum_lists.py: models of the rungs that find subset sums with lists of the sums of some items.
from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .machine import Cell, Machine, Trace, Worker
from .sums import bits_text, layout_text

# ------------------------------------------------------------------------------------------------------------- on a CPU


def enumerate_subsets(items: list[int], target: int, word: int = 4) -> Trace:
    """`cpu.enumerate`: the sums of the first half of the items are a list; every sum of the other items is added to all of it."""
    items = [item for item in items if item <= target]
    half = (len(items) + 1) // 2
    others = items[half:]
    bitmap = [bits_text(0, word)] * (target // word + 1)
    machine = Machine(1, list=[0] + [None] * ((1 << half) - 1), base=[0], sums=bitmap)
    for j, item in enumerate(items[:half]):
        with machine.step(f"the list doubles: each sum plus {item} is appended"):
            for i in range(1 << j):
                machine.write(0, ("list", (1 << j) + i), machine["list", i] + item, ("list", i))
    for k in range(1 << len(others)):
        if k > 0:
            changed = [others[j] for j in range(len(others)) if (k ^ (k - 1)) >> j & 1]
            base = machine["base", 0] + changed[-1] - sum(changed[:-1])
            leaves = "leave" if len(changed) > 2 else "leaves"
            leave = f"{' and '.join(map(str, changed[:-1]))} {leaves}, and " if len(changed) > 1 else ""
            with machine.step(f"the next subset of the others: {leave}{changed[-1]} comes"):
                machine.write(0, ("base", 0), base, ("base", 0))
        _add_base(machine, target, word)
    return machine.trace("sums")


def _add_base(machine: Machine, target: int, word: int) -> None:
    """Adds the base to all sums of the list, and sets the sums' bits."""
    bits: dict[int, int] = {}
    read: dict[int, list[Cell]] = {}
    base = machine["base", 0]
    for i, sum_ in enumerate(machine.cells("list")):
        if base + sum_ <= target:
            at = (base + sum_) // word
            bits[at] = bits.get(at, int(machine["sums", at], 2)) | 1 << (base + sum_) % word
            read.setdefault(at, []).append(("list", i))
    if not bits:
        return
    with machine.step(f"{base} is added to every sum of the list, and their bits are set ({layout_text(word)})"):
        for at, value in bits.items():
            machine.write(0, ("sums", at), bits_text(value, word), ("base", 0), *read[at])


def meet_in_the_middle(items: list[int], target: int) -> Trace:
    """`cpu.meet_in_the_middle`: sorted sums of each half; one list is read upward, the other downward, until two sums add up."""
    half = len(items) // 2
    lower, upper = _sums(items[:half]), _sums(items[half:])
    machine = Machine(1, lower=lower, upper=upper, found=[None, None])
    i, j = 0, len(upper) - 1
    while i < len(lower) and j >= 0:
        total = lower[i] + upper[j]
        what = (
            "found" if total == target else "too small: up in the first" if total < target else "too large: down in the second"
        )
        with machine.step(f"{lower[i]} + {upper[j]} = {total}: {what}"):
            machine.copy(0, ("found", 0), ("lower", i))
            machine.copy(0, ("found", 1), ("upper", j))
        if total == target:
            break
        if total < target:
            i += 1
        else:
            j -= 1
    return machine.trace("found")


def _sums(items: list[int]) -> list[int]:
    sums = [0]
    for item in items:
        sums = sorted([*sums, *(total + item for total in sums)])
    return sums


_FILTER = 8  # bits of a filter; a sum is looked up by its remainder modulo this number


class _Quarters:
    """`cpu.schroeppel_shamir`: the sums of each quarter of the items, by their remainders."""

    def __init__(self, items: list[int], target: int, threads: int):
        half = len(items) // 2
        borders = [0, half // 2, half, half + (len(items) - half) // 2, len(items)]
        self.target, self.modulus = target, _prime_from(1 << ((len(items) + 2) // 4))
        self.sums = [sorted(set(_sums(items[a:b])), key=lambda s: (s % self.modulus, s)) for a, b in pairwise(borders)]
        self.next_class = 0
        self.found: dict[int, int] = {}  # class: the thread that found a solution
        classes = range(self.modulus)
        capacity = max([len(self.pairs(which, c)) for which in (0, 2) for c in classes], default=0)
        quarters = {f"quarter {k}": sums for k, sums in enumerate(self.sums)}
        none = [None] * (threads * capacity)
        self.capacity = capacity
        self.machine = Machine(
            threads,
            **quarters,
            lefts=none,
            filter=[0] * (threads * _FILTER),
            lacks=none,
            left=[None] * threads,
            found=[None] * 2,
        )

    def pairs(self, which: int, c: int) -> list[tuple[int, Cell, Cell]]:
        """Sums of two quarters with a given remainder, and the cells that they are computed from."""
        found = []
        for i, a in enumerate(self.sums[which]):
            for j, b in enumerate(self.sums[which + 1]):
                if (a + b) % self.modulus == c:
                    found.append((a + b, (f"quarter {which}", i), (f"quarter {which + 1}", j)))
        return found

    def work(self, thread: int) -> Iterator[str | None]:
        while self.next_class < self.modulus:
            c = self.next_class
            if any(found < c for found in self.found):
                return
            self.next_class += 1
            yield from self.match(thread, c)

    def match(self, thread: int, c: int) -> Iterator[str | None]:
        first = thread * self.capacity
        lefts = self.pairs(0, c)
        for k, (value, *cells) in enumerate(lefts):
            self.machine.write(thread, ("lefts", first + k), value, *cells)
        if not lefts:
            return
        yield f"a thread takes a remainder: the pairs of the first two quarters that have it, modulo {self.modulus}"
        self.fill_filter(thread, [("lefts", first + k) for k in range(len(lefts))])
        yield f"their bits, modulo {_FILTER}, make a filter"
        lacks = []
        for value, *cells in self.pairs(2, (self.target - c) % self.modulus):
            lack = self.target - value
            if lack >= 0 and self.machine["filter", thread * _FILTER + lack % _FILTER]:
                self.machine.write(thread, ("lacks", first + len(lacks)), lack, *cells)
                lacks.append(lack)
        if not lacks:
            return
        yield "for the pairs of the other two with the matching remainder: their differences to the target, if these pass the filter"
        self.fill_filter(thread, [("lacks", first + k) for k in range(len(lacks))])
        yield "the bits of the differences make the next filter"
        kept = [k for k, (value, *_) in enumerate(lefts) if self.machine["filter", thread * _FILTER + value % _FILTER]]
        for to, k in enumerate(kept):
            self.machine.copy(thread, ("lefts", first + to), ("lefts", first + k))
        yield "the sums of the first two quarters must pass this filter"
        solutions = {lefts[k][0] for k in kept} & set(lacks)
        if solutions and self.machine["left", thread] is None:
            least = min(solutions)
            self.machine.write(thread, ("left", thread), least, ("lacks", first + lacks.index(least)))
            self.found[c] = thread
            yield "the remaining values are looked up by binary search: one is equal"

    def fill_filter(self, thread: int, cells: list[Cell]) -> None:
        bits = {self.machine[cell] % _FILTER: cell for cell in cells}
        for bit in range(_FILTER):
            read = [bits[bit]] if bit in bits else []
            self.machine.write(thread, ("filter", thread * _FILTER + bit), int(bit in bits), *read)


def _prime_from(least: int) -> int:
    while least < 2 or any(least % d == 0 for d in range(2, least)):
        least += 1
    return least


def meet_by_remainders(items: list[int], target: int, threads: int = 2) -> Trace:
    """`cpu.schroeppel_shamir`: for each remainder, one after the other, the pairs of quarters with it are matched on both sides."""
    quarters = _Quarters(items, target, threads)
    quarters.machine.run(Worker((thread,), quarters.work(thread)) for thread in range(threads))
    if quarters.found:
        left = ("left", quarters.found[min(quarters.found)])
        with quarters.machine.step("the solution of the smallest remainder is used, on any number of threads"):
            quarters.machine.copy(0, ("found", 0), left)
            quarters.machine.write(0, ("found", 1), target - quarters.machine[left], left)
    return quarters.machine.trace("found")


# ------------------------------------------------------------------------------------------------------------- on a GPU


def sorted_sums(machine: Machine, threads: range, lists: tuple[Cell, Cell], items: list[int]) -> Iterator[str | None]:
    """A block doubles a list of sums for each item. The place of a sum in the next list is its own place plus the number of other sums
    before it.

    Two cells are the beginnings of two alternating lists. The final list begins at the first cell for an even number of items.
    """
    array, first = lists[0]
    machine.write(threads[0], (array, first), 0)
    yield "thread 0 begins the list with the sum 0"
    for done, item in enumerate(items):
        (source, first), (other, to) = lists[done % 2], lists[1 - done % 2]
        sums = [machine[source, first + i] for i in range(1 << done)]
        for start in range(0, len(sums), len(threads)):
            for thread, place in zip(threads, range(start, len(sums))):
                sum_ = sums[place]
                before = sum(other_one + item < sum_ for other_one in sums)
                up_to = sum(other_one <= sum_ + item for other_one in sums)
                machine.write(thread, (other, to + place + before), sum_, (source, first + place))
                machine.write(thread, (other, to + place + up_to), sum_ + item, (source, first + place))
            yield f"the list is merged with itself plus {item}: a sum's place is its own plus the number of other sums before it"


def fill_tiles(items: list[int], target: int, first: int = 2, tile_words: int = 2, word: int = 4) -> Trace:
    """`cuda.tiles`: each block has a tile of the bitmap in shared memory, each thread a subset of the first items and fitting sums.

    The sums of the other items are sorted, so that the sums that move a thread's sum into the tile are adjacent.
    """
    items = [item for item in items if item <= target]
    words = target // word + 1
    blocks = -(-words // tile_words)
    threads, listed = 1 << first, 1 << max(len(items) - first, 0)
    lists = [None] * (blocks * listed)
    machine = Machine(
        blocks * threads,
        list=lists,
        **{"in turn": lists},
        sum=[None] * (blocks * threads),
        tile=[None] * (blocks * tile_words),
        sums=[None] * words,
    )
    in_order = ("list", "in turn")[max(len(items) - first, 0) % 2]

    def prepare(block: int) -> Iterator[str | None]:
        own = range(block * threads, (block + 1) * threads)
        for start in range(0, tile_words, threads):
            for thread, at in zip(own, range(start, tile_words)):
                machine.write(thread, ("tile", block * tile_words + at), bits_text(0, word))
            yield "the threads of a block clear its tile"
        yield from sorted_sums(machine, own, (("list", block * listed), ("in turn", block * listed)), items[first:])

    def find(block: int, thread: int) -> Iterator[str | None]:
        if thread >> len(items):
            return  # it has no subset
        least = block * tile_words * word
        most = min(least + tile_words * word - 1, target)
        cell = ("sum", block * threads + thread)
        own = sum(item for j, item in enumerate(items[:first]) if thread >> j & 1)
        machine.write(cell[1], cell, own)
        yield "a thread adds up its subset of the first items"
        for i in range(listed):
            other = machine[in_order, block * listed + i]
            if not least <= own + other <= most:
                continue
            at = ("tile", (own + other) // word)
            while machine.is_written(at):
                yield None
            bits = int(machine[at], 2) | 1 << (own + other) % word
            machine.write(cell[1], at, bits_text(bits, word), at, cell, (in_order, block * listed + i))
            yield f"it adds the list's sums that move it into the tile, by atomics ({layout_text(word)})"

    machine.run(Worker(tuple(range(b * threads, (b + 1) * threads)), prepare(b)) for b in range(blocks))
    machine.run(Worker((b * threads + t,), find(b, t)) for b in range(blocks) for t in range(threads))
    with machine.step("every tile is written once, for any number of items"):
        for at in range(words):
            machine.copy(at // tile_words * threads + at % tile_words % threads, ("sums", at), ("tile", at))
    return machine.trace("sums")
