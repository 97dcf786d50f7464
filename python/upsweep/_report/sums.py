# SPDX-License-Identifier: Apache-2.0
# upsweep/_report/sums.py: how subset sums are found, as models: a table that fills, bits that shift, two lists that meet.
from __future__ import annotations

from .machine import Machine, Trace


def table(items: list[int], target: int) -> Trace:
    """`cpu.table`: column j says which sums some of the first j items have; one thread fills one column after the other."""
    machine, columns = _columns(1, items, target)
    for before, column, item in zip(columns[:-1], columns[1:], items[1:], strict=True):
        with machine.step(
            f"one thread, sum by sum, with {item}: it can be had if it could be before, or if it could {item} lower"
        ):
            for total in range(target + 1):
                _fill(machine, 0, before, column, item, total)
    return machine.trace(columns[-1])


def table_by_operations(items: list[int], target: int) -> Trace:
    """`cuda.array_ops`: the last column is copied; then a shifted view of it is or'ed into the copy: two launches for each item."""
    machine, columns = _columns(target + 1, items, target)
    for before, column, item in zip(columns[:-1], columns[1:], items[1:], strict=True):
        with machine.step("a launch copies the column"):
            for total in range(target + 1):
                machine.copy(total, (column, total), (before, total))
        with machine.step(f"another ors the sums that are {item} lower into it, which is read again"):
            for total in range(item, target + 1):
                machine.fold(total, (column, total), int.__or__, (column, total), (before, total - item))
    return machine.trace(columns[-1])


def table_by_threads(items: list[int], target: int, each: int = 1) -> Trace:
    """`cuda.column`: a launch for each column, a thread for each sum. `cuda.agglomerated`: a thread for several, a stride apart."""
    threads = -(-(target + 1) // each)
    machine, columns = _columns(threads, items, target)
    for before, column, item in zip(columns[:-1], columns[1:], items[1:], strict=True):
        for first in range(0, target + 1, threads):
            text = (
                f"a launch, with {item}: every thread has a sum"
                if first == 0
                else f"the same launch: the sum {first} further up"
            )
            with machine.step(f"{text}; it can be had if it could be before, or if it could {item} lower"):
                for total in range(first, min(first + threads, target + 1)):
                    _fill(machine, total - first, before, column, item, total)
    return machine.trace(columns[-1])


def _columns(threads: int, items: list[int], target: int) -> tuple[Machine, list[str]]:
    """A column of zeros for each item, of which the first one is filled: with no item or the first."""
    columns = [f"to {item}" for item in _named(items)]
    machine = Machine(threads, **{column: [0] * (target + 1) for column in columns})
    with machine.step(f"the first column: 0 and {items[0]} can be had"):
        for total in sorted({0, items[0]}):
            if total <= target:
                machine.write(0, (columns[0], total), 1)
    return machine, columns


def _fill(machine: Machine, thread: int, before: str, column: str, item: int, total: int) -> None:
    if total >= item:
        machine.fold(thread, (column, total), int.__or__, (before, total), (before, total - item))
    else:
        machine.copy(thread, (column, total), (before, total))


def bits(items: list[int], target: int, word: int = 4) -> Trace:
    """`cpu.bits`: the sums are the bits of words, and an item moves all bits of a word up at once; from the top word down."""
    words = target // word + 1
    machine = Machine(1, sums=[_bits(int(at == 0), word) for at in range(words)])
    for item in items:
        for at in reversed(range(item // word, words)):
            with machine.step(f"{item} more: word {at} takes the bits that are {item} places lower ({_layout(word)})"):
                _shift(machine, 0, "sums", "sums", at, item, word)
    return machine.trace("sums")


def bits_by_threads(items: list[int], target: int, word: int = 4) -> Trace:
    """`cuda.bits`: a thread for each word, from one bitmap into the other, as blocks do not wait for each other.

    Words above the sum of the items so far have no thread yet.
    """
    words = target // word + 1
    none = _bits(0, word)
    machine = Machine(words, a=[_bits(int(at == 0), word) for at in range(words)], b=[none] * words)
    source, other = "a", "b"
    largest = 0
    for item in items:
        largest = min(largest + item, target)
        with machine.step(f"a launch, {item} more: every word takes the bits that are {item} places lower ({_layout(word)})"):
            for at in range(largest // word + 1):
                _shift(machine, at, source, other, at, item, word)
        source, other = other, source
    return machine.trace(source)


def _shift(machine: Machine, thread: int, source: str, target: str, at: int, item: int, word: int) -> None:
    """Word `at` of the target ← that of the source, or the source moved up by an item."""
    whole, part = divmod(item, word)
    value = int(machine[source, at], 2)
    read = [(source, at)]
    for lower, by in ((at - whole, part), (at - whole - 1, part - word)):
        if lower < 0 or by == -word:
            continue
        moved = int(machine[source, lower], 2)
        value |= moved << by if by >= 0 else moved >> -by
        read.append((source, lower))
    machine.write(thread, (target, at), _bits(value & ((1 << word) - 1), word), *read)


def _bits(value: int, word: int) -> str:
    return f"{value:0{word}b}"


def _layout(word: int) -> str:
    return f"{word} sums in a word, the least at its right"


def meet_in_the_middle(items: list[int], target: int) -> Trace:
    """`cpu.meet_in_the_middle`: the sums of each half in order; one is walked upward, the other downward, until two add up."""
    half = len(items) // 2
    lower, upper = _sums(items[:half]), _sums(items[half:])
    machine = Machine(1, lower=lower, upper=upper, found=[None, None])
    i, j = 0, len(upper) - 1
    while i < len(lower) and j >= 0:
        total = lower[i] + upper[j]
        what = (
            "that is it"
            if total == target
            else "too little: up in the first"
            if total < target
            else "too much: down in the second"
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


def _named(items: list[int]) -> list[str]:
    """Items by their values; equal ones by their number too."""
    return [f"{item}" if items.count(item) == 1 else f"{item} (item {k})" for k, item in enumerate(items)]
