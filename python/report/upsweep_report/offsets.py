# SPDX-License-Identifier: Apache-2.0
# upsweep_report/offsets.py: models of the rungs of offsets, from starts and stops, on a few lists.
from __future__ import annotations

from collections.abc import Callable

from . import scans
from .machine import Machine, Move, Operator, Step, Trace


def serial(starts: list[int], stops: list[int]) -> Trace:
    """`cpu.serial`, `cuda.one_thread`: each offset needs the one before it."""
    machine = _machine(1, starts, stops)
    for i in range(len(starts)):
        with machine.step(f"offset {i + 1} is offset {i} and the length of list {i}"):
            _next_offset(machine, 0, i)
    return machine.trace("offsets")


def turn_taking(starts: list[int], stops: list[int]) -> Trace:
    """`cuda.turn_taking`: a thread per list, each in its turn, and a barrier after each."""
    machine = _machine(max(len(starts), 1), starts, stops)
    for i in range(len(starts)):
        with machine.step(f"thread {i} has its turn; all others wait at the barrier"):
            _next_offset(machine, i, i)
    return machine.trace("offsets")


def hillis_steele(starts: list[int], stops: list[int]) -> Trace:
    """`cuda.hillis_steele_global`: all lengths at once, then a scan of them with increasing strides, in two alternating arrays."""
    return _scanned(starts, stops, scans.hillis_steele)


def hillis_steele_blocks(starts: list[int], stops: list[int]) -> Trace:
    """`cuda.hillis_steele_blocks`: strides within tiles; the tiles' totals are scanned and added back."""
    return _scanned(starts, stops, scans.hillis_steele_blocks)


def two_passes(starts: list[int], stops: list[int]) -> Trace:
    """`cpu.threads`: lengths are summed in separate blocks, and the total before each block is added in a second pass."""
    return _scanned(starts, stops, scans.two_passes)


def lookahead(starts: list[int], stops: list[int]) -> Trace:
    """`cpu.lookahead`, `cuda.lookahead`: one pass, with totals that are ready before they are needed."""
    return _scanned(starts, stops, scans.lookahead)


def adjacent(starts: list[int], stops: list[int]) -> Trace:
    """`cpu.adjacent`, `cuda.adjacent`: adjacent lists have their offsets already, except for the start of the first list."""
    n = len(starts)
    machine = _machine(max(n, 1), starts, stops)
    with machine.step(
        "every thread subtracts the first start from its stop, and checks that its list begins where the previous list ends"
    ):
        for i in range(n):
            sources = [("stops", i), ("starts", 0), *([("stops", i - 1), ("starts", i)] if i > 0 else [])]
            machine.write(i, ("offsets", i + 1), stops[i] - starts[0], *sources)
    return machine.trace("offsets")


def _scanned(starts: list[int], stops: list[int], scan: Callable[[list[int], Operator], Trace]) -> Trace:
    """A scan of the lengths, between a step that computes them and a step that writes the offsets."""
    n = len(starts)
    lengths = [stop - start for start, stop in zip(starts, stops, strict=True)]
    if n == 0:
        return Trace({"offsets": [0]}, [], 1, "offsets")
    inner = scan(lengths, int.__add__)
    around = {"starts": starts, "stops": stops}
    none = {name: [None] * len(values) for name, values in inner.arrays.items()}
    offsets = [0, *[None] * n]
    first = Step(
        "every thread computes the length of its list",
        tuple(Move(i, (("starts", i), ("stops", i)), ("a", i)) for i in range(n)),
        (),
        {**around, **inner.arrays, "offsets": offsets},
    )
    steps = [step._replace(arrays={**around, **step.arrays, "offsets": offsets}) for step in inner.steps]
    last = Step(
        "the sums are the offsets after the first, which is 0",
        tuple(Move(i, ((inner.result, i),), ("offsets", i + 1)) for i in range(n)),
        (),
        {**(steps[-1] if steps else first).arrays, "offsets": [0, *inner.final]},
    )
    return Trace({**around, **none, "offsets": offsets}, [first, *steps, last], inner.threads, "offsets")


def _machine(threads: int, starts: list[int], stops: list[int], **arrays: list[None]) -> Machine:
    return Machine(threads, starts=starts, stops=stops, **arrays, offsets=[0] + [None] * len(starts))


def _next_offset(machine: Machine, thread: int, i: int) -> None:
    length = machine["stops", i] - machine["starts", i]
    machine.write(thread, ("offsets", i + 1), machine["offsets", i] + length, ("offsets", i), ("starts", i), ("stops", i))
