# SPDX-License-Identifier: Apache-2.0
# upsweep_report/machine.py: a machine that runs small models of parallel algorithms in steps, and records all moves.
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

Cell = tuple[str, int]  # an array and a position in it
Operator = Callable[[Any, Any], Any]


class Race(Exception):
    """Two threads access a cell within one step, and at least one writes it: the result depends on chance."""


class Move(NamedTuple):
    """The action of a thread in a step: it reads cells, and writes one."""

    thread: int
    sources: tuple[Cell, ...]
    target: Cell


class Step(NamedTuple):
    """The part of a run between two barriers: the moves of all threads, and the arrays after them."""

    text: str
    moves: tuple[Move, ...]
    waiting: tuple[int, ...]  # threads that had to wait
    arrays: dict[str, list[Any]]


class Trace(NamedTuple):
    """A run: the initial arrays, every step, and the number of threads."""

    arrays: dict[str, list[Any]]
    steps: list[Step]
    threads: int
    result: str  # the array that contains the result at the end

    @property
    def final(self) -> list[Any]:
        return (self.steps[-1].arrays if self.steps else self.arrays)[self.result]


class Worker(NamedTuple):
    """Threads with their own pace. `moves` makes the moves of a step and then yields its text, or None if these threads wait."""

    threads: tuple[int, ...]
    moves: Iterator[str | None]


class Machine:
    """Threads that work on arrays. Within a step all reads come before all writes, as if the threads moved at the same time.

    A step raises Race if a thread reads a cell that another one writes, or if two threads write the same cell. So the models only
    rely on what a GPU or CPU guarantees between two barriers.
    """

    def __init__(self, threads: int, **arrays: list[Any]):
        self.threads = threads
        self._arrays = {name: list(values) for name, values in arrays.items()}
        self._first = self._copy()
        self._steps: list[Step] = []
        self._moves: list[tuple[Move, Any]] = []
        self._in_lockstep: set[int] = set()  # numbers of moves

    def __getitem__(self, cell: Cell) -> Any:
        array, position = cell
        if not 0 <= position < len(self._arrays[array]):
            raise IndexError(f"{array} has no position {position}")
        return self._arrays[array][position]

    def cells(self, array: str) -> list[Any]:
        """The current contents of an array."""
        return list(self._arrays[array])

    def write(self, thread: int, target: Cell, value: Any, *sources: Cell) -> None:
        """Thread `thread` reads `sources` and writes a value that it computed from them."""
        self[target]  # raises IndexError if it does not exist
        for source in sources:
            self[source]
        self._moves.append((Move(thread, sources, target), value))

    def copy(self, thread: int, target: Cell, source: Cell) -> None:
        self.write(thread, target, self[source], source)

    def fold(self, thread: int, target: Cell, op: Operator, left: Cell, right: Cell) -> None:
        """Computes target ← left ⊕ right, in that order: the operator need not be commutative."""
        self.write(thread, target, op(self[left], self[right]), left, right)

    def shuffle(self, lane: int, target: Cell, op: Operator, left: Cell, right: Cell) -> None:
        """Does the same as fold() for a lane of a warp that reads other lanes' registers: all lanes read before any lane writes."""
        self._in_lockstep.add(len(self._moves))
        self.fold(lane, target, op, left, right)

    def is_written(self, cell: Cell) -> bool:
        """Whether a thread has written the cell in this step. Another thread that changes the cell must then wait."""
        return any(move.target == cell for move, _ in self._moves)

    @contextmanager
    def step(self, text: str, waiting: tuple[int, ...] = ()) -> Iterator[None]:
        self._begin()
        yield
        self._end(text, waiting)

    def run(self, workers: Iterable[Worker], text: str = "") -> None:
        """Runs steps until all workers are done, each at its own pace. The text of a step is `text` and the workers' distinct texts."""
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
    """Equal shares of n, one after the other. If n is not divisible, the first shares have one more."""
    begins = [n // threads * thread + min(thread, n % threads) for thread in range(threads + 1)]
    return [range(*share) for share in pairwise(begins)]


def passing_none(op: Operator) -> Operator:
    """The operator with None as its identity: None is the value of a thread without elements."""
    return lambda left, right: right if left is None else left if right is None else op(left, right)


def bank_conflicts(step: Step, array: str, banks: int) -> int:
    """The number of turns that the slowest bank of shared memory needs in a step: 1 means no conflicts.

    Cells whose positions are equal modulo `banks` are in one bank, which serves one cell at a time. Each operand is a separate access,
    because each is a separate instruction.
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
