# SPDX-License-Identifier: Apache-2.0
# upsweep_report/machine.py: a machine that runs small models of parallel algorithms, step by step, and notes what moves where.
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

Cell = tuple[str, int]  # an array and a position in it
Operator = Callable[[Any, Any], Any]


class Race(Exception):
    """Two threads meet in a cell within one step, at least one of which writes it: what happens depends on chance."""


class Move(NamedTuple):
    """What a thread does in a step: it reads cells, and writes one."""

    thread: int
    sources: tuple[Cell, ...]
    target: Cell


class Step(NamedTuple):
    """Between two barriers: what every thread does, and what the arrays hold after it."""

    text: str
    moves: tuple[Move, ...]
    waiting: tuple[int, ...]  # threads that could not do anything
    arrays: dict[str, list[Any]]


class Trace(NamedTuple):
    """A run: the arrays at first, every step, and how many threads there are."""

    arrays: dict[str, list[Any]]
    steps: list[Step]
    threads: int
    result: str  # the array that holds it in the end

    @property
    def final(self) -> list[Any]:
        return (self.steps[-1].arrays if self.steps else self.arrays)[self.result]


class Worker(NamedTuple):
    """Threads that go on at a pace of their own: the moves of a step, then what they are, or None where these threads wait."""

    threads: tuple[int, ...]
    moves: Iterator[str | None]


class Machine:
    """Threads over arrays. Within a step all reads come before all writes, as if the threads moved at one time.

    A step in which a thread reads a cell that another one writes, or two write the same, raises Race: the models are held to what a
    GPU or CPU guarantees between two barriers.
    """

    def __init__(self, threads: int, **arrays: list[Any]):
        self.threads = threads
        self._arrays = {name: list(values) for name, values in arrays.items()}
        self._first = self._copy()
        self._steps: list[Step] = []
        self._moves: list[tuple[Move, Any]] = []
        self._in_lockstep: set[int] = set()  # of the moves, by number

    def __getitem__(self, cell: Cell) -> Any:
        array, position = cell
        if not 0 <= position < len(self._arrays[array]):
            raise IndexError(f"{array} has no position {position}")
        return self._arrays[array][position]

    def cells(self, array: str) -> list[Any]:
        """What an array holds now."""
        return list(self._arrays[array])

    def write(self, thread: int, target: Cell, value: Any, *sources: Cell) -> None:
        """Thread `thread` reads `sources` and writes what it made of them."""
        self[target]  # is there
        for source in sources:
            self[source]
        self._moves.append((Move(thread, sources, target), value))

    def copy(self, thread: int, target: Cell, source: Cell) -> None:
        self.write(thread, target, self[source], source)

    def fold(self, thread: int, target: Cell, op: Operator, left: Cell, right: Cell) -> None:
        """target ← left ⊕ right, in that order: the operator need not be commutative."""
        self.write(thread, target, op(self[left], self[right]), left, right)

    def shuffle(self, lane: int, target: Cell, op: Operator, left: Cell, right: Cell) -> None:
        """As fold(), by a lane of a warp that reads other lanes' registers: all of them have read before one writes."""
        self._in_lockstep.add(len(self._moves))
        self.fold(lane, target, op, left, right)

    def is_written(self, cell: Cell) -> bool:
        """Whether a thread has written it in this step: who would change it too has to wait."""
        return any(move.target == cell for move, _ in self._moves)

    @contextmanager
    def step(self, text: str, waiting: tuple[int, ...] = ()) -> Iterator[None]:
        self._begin()
        yield
        self._end(text, waiting)

    def run(self, workers: Iterable[Worker], text: str = "") -> None:
        """Steps until all workers are done, each at its own pace; a step says what some of them do, each thing once, after `text`."""
        left = list(workers)
        while left:
            self._begin()
            said: dict[str, None] = {}
            waiting: list[int] = []
            going = []
            for worker in left:
                try:
                    does = next(worker.moves)
                except StopIteration:
                    continue
                going.append(worker)
                if does is None:
                    waiting.extend(worker.threads)
                elif does:
                    said[does] = None
            left = going
            if left:
                self._end(text + "; ".join(said), tuple(waiting))

    def _begin(self) -> None:
        self._moves = []
        self._in_lockstep = set()

    def _end(self, text: str, waiting: tuple[int, ...]) -> None:
        self._require_no_race()
        for move, value in self._moves:
            array, position = move.target
            self._arrays[array][position] = value
        moves = tuple(move for move, _ in self._moves)
        self._steps.append(Step(text, moves, waiting, self._copy()))

    def trace(self, result: str) -> Trace:
        return Trace(self._first, self._steps, self.threads, result)

    def _copy(self) -> dict[str, list[Any]]:
        return {name: list(values) for name, values in self._arrays.items()}

    def _require_no_race(self) -> None:
        writer: dict[Cell, int] = {}
        for move, _ in self._moves:
            if not 0 <= move.thread < self.threads:
                raise IndexError(f"there is no thread {move.thread}")
            if move.target in writer:
                raise Race(f"{move.target} is written twice in a step")
            writer[move.target] = move.thread
        for number, (move, _) in enumerate(self._moves):
            for source in move.sources if number not in self._in_lockstep else ():
                if writer.get(source, move.thread) != move.thread:
                    raise Race(f"thread {move.thread} reads {source}, which thread {writer[source]} writes in the same step")


def equal_shares(n: int, threads: int) -> list[range]:
    """Equal shares of n, one after the other; where they cannot be, the first ones have one more."""
    begins = [n // threads * thread + min(thread, n % threads) for thread in range(threads + 1)]
    return [range(*share) for share in pairwise(begins)]


def passing_none(op: Operator) -> Operator:
    """The operator with None as its identity: what a thread has that got no element."""
    return lambda left, right: right if left is None else left if right is None else op(left, right)


def bank_conflicts(step: Step, array: str, banks: int) -> int:
    """How many turns the slowest bank of shared memory takes in a step: 1 is without conflicts.

    Cells whose positions are the same modulo `banks` lie in one bank, which serves one of them at a time. Each operand is an access of
    its own, as each is an instruction of its own.
    """
    turns = 1
    operands = max((len(move.sources) for move in step.moves), default=0)
    for operand in range(operands):
        cells = {move.sources[operand] for move in step.moves if len(move.sources) > operand}
        wanted = Counter(position % banks for name, position in cells if name == array)
        turns = max([turns, *wanted.values()])
    return turns


def idle(step: Step, threads: int) -> list[int]:
    """The threads that do nothing in a step, or wait."""
    working = {move.thread for move in step.moves}
    return [thread for thread in range(threads) if thread not in working]
