# SPDX-License-Identifier: Apache-2.0
# upsweep_report/scans.py: models of the rungs of scan, on a few elements.
from __future__ import annotations

from typing import Any

from .machine import Machine, Operator, Trace


def serial(x: list[Any], op: Operator) -> Trace:
    """`cpu.serial`, `cuda.one_thread`: one thread, one element after the other."""
    machine = Machine(1, x=x, out=[None] * len(x))
    with machine.step("the first element is the first prefix"):
        machine.copy(0, ("out", 0), ("x", 0))
    for i in range(1, len(x)):
        with machine.step(f"prefix {i} is prefix {i - 1} and element {i}: it must wait for that prefix"):
            machine.fold(0, ("out", i), op, ("out", i - 1), ("x", i))
    return machine.trace("out")


def turn_taking(x: list[Any], op: Operator) -> Trace:
    """`cuda.turn_taking`: a thread per element, each in its turn, and a barrier after each."""
    machine = Machine(len(x), x=x, out=[None] * len(x))
    with machine.step("thread 0 copies; all others wait at the barrier"):
        machine.copy(0, ("out", 0), ("x", 0))
    for i in range(1, len(x)):
        with machine.step(f"thread {i} has its turn; all others wait at the barrier"):
            machine.fold(i, ("out", i), op, ("out", i - 1), ("x", i))
    return machine.trace("out")


def hillis_steele_in_place(x: list[Any], op: Operator) -> Trace:
    """One array: every round needs a barrier between its reads and its writes, and keeps the values that it read in registers."""
    n = len(x)
    machine = Machine(n, out=x, register=[None] * n)
    stride = 1
    while stride < n:
        with machine.step(f"stride {stride}: each thread reads the element {stride} to its left, into a register"):
            for i in range(stride, n):
                machine.copy(i, ("register", i), ("out", i - stride))
        with machine.step("after a barrier each adds it to its own"):
            for i in range(stride, n):
                machine.fold(i, ("out", i), op, ("register", i), ("out", i))
        stride *= 2
    return machine.trace("out")


def hillis_steele(x: list[Any], op: Operator) -> Trace:
    """`cuda.hillis_steele`: two arrays alternate, so that a round reads the results of the previous round."""
    n = len(x)
    machine = Machine(n, a=x, b=[None] * n)
    source, target = "a", "b"
    stride = 1
    while stride < n:
        with machine.step(f"stride {stride}: from {source} to {target}; the first {stride} are done, and copied"):
            for i in range(n):
                if i < stride:
                    machine.copy(i, (target, i), (source, i))
                else:
                    machine.fold(i, (target, i), op, (source, i - stride), (source, i))
        source, target = target, source
        stride *= 2
    return machine.trace(source)


def _rounds(machine: Machine, op: Operator, arrays: tuple[str, str], tiles: list[range], text: str) -> str:
    """Hillis and Steele's rounds in all tiles at once, between two arrays; returns the name of the last array that was written."""
    source, target = arrays
    stride = 1
    while stride < max(len(tile) for tile in tiles):
        with machine.step(f"{text}: stride {stride}, from {source} to {target}"):
            for tile in tiles:
                for i in tile:
                    if i - stride < tile.start:
                        machine.copy(i, (target, i), (source, i))
                    else:
                        machine.fold(i, (target, i), op, (source, i - stride), (source, i))
        source, target = target, source
        stride *= 2
    return source


def hillis_steele_blocks(x: list[Any], op: Operator, tile: int = 4) -> Trace:
    """`cuda.hillis_steele_blocks`: every block scans a tile; the tiles' totals are scanned in the same way, and added back."""
    n = len(x)
    tiles = [range(begin, min(begin + tile, n)) for begin in range(0, n, tile)]
    none = [None] * len(tiles)
    machine = Machine(n, a=x, b=[None] * n, total=none, other=none)
    out = _rounds(machine, op, ("a", "b"), tiles, "in every block")
    if len(tiles) == 1:
        return machine.trace(out)
    with machine.step("the last thread of each block writes its tile's total"):
        for block, own in enumerate(tiles):
            machine.copy(own[-1], ("total", block), (out, own[-1]))
    totals = _rounds(machine, op, ("total", "other"), [range(len(tiles))], "a launch scans the totals")
    with machine.step("another launch adds the total before each tile to all of its elements"):
        for block, own in enumerate(tiles[1:], 1):
            for i in own:
                machine.fold(i, (out, i), op, (totals, block - 1), (out, i))
    return machine.trace(out)


def blelloch(x: list[Any], op: Operator) -> Trace:
    """`cuda.blelloch`: up a tree, then down, in place: two operations per element, and fewer and fewer threads towards the root."""
    n = len(x)
    machine = Machine(max(n // 2, 1), out=x)
    stride = 1
    while stride < n:
        with machine.step(f"up: totals of {2 * stride}"):
            for thread, right in enumerate(range(2 * stride - 1, n, 2 * stride)):
                machine.fold(thread, ("out", right), op, ("out", right - stride), ("out", right))
        stride *= 2
    stride //= 2
    while stride >= 1:
        rights = range(3 * stride - 1, n, 2 * stride)
        if rights:
            with machine.step(f"down: the total before the middle of each subtree of {2 * stride} is added there"):
                for thread, right in enumerate(rights):
                    machine.fold(thread, ("out", right), op, ("out", right - stride), ("out", right))
        stride //= 2
    return machine.trace("out")


def shuffle(x: list[Any], op: Operator, lanes: int = 4) -> Trace:
    """`cuda.shuffle`: the lanes of a warp read each other's registers; one warp scans the warps' totals."""
    n = len(x)
    warps = -(-n // lanes)
    machine = Machine(n, register=x, total=[None] * warps)
    stride = 1
    while stride < lanes:
        with machine.step(f"every warp: each lane reads the register {stride} to its left"):
            for i in range(n):
                if i % lanes >= stride:
                    machine.shuffle(i, ("register", i), op, ("register", i - stride), ("register", i))
        stride *= 2
    with machine.step("the last lane of each warp writes its total to shared memory"):
        for warp in range(warps):
            last = min((warp + 1) * lanes, n) - 1
            machine.copy(last, ("total", warp), ("register", last))
    stride = 1
    while stride < warps:
        with machine.step(f"after a barrier the first warp scans the totals: stride {stride}"):
            for warp in range(stride, warps):
                machine.shuffle(warp, ("total", warp), op, ("total", warp - stride), ("total", warp))
        stride *= 2
    if warps > 1:
        with machine.step("after another barrier each lane adds the total of the warps before its own"):
            for i in range(lanes, n):
                machine.fold(i, ("register", i), op, ("total", i // lanes - 1), ("register", i))
    return machine.trace("register")


def vectors(x: list[Any], op: Operator, lanes: int = 4) -> Trace:
    """`cpu.simd`: one thread, a vector at a time: log2 steps within the vector, and a carry from the previous vector."""
    n = len(x)
    machine = Machine(1, x=x, vector=[None] * min(lanes, n), carry=[None], out=[None] * n)
    for first in range(0, n, lanes):
        width = min(lanes, n - first)
        with machine.step("a vector is loaded"):
            for lane in range(width):
                machine.copy(0, ("vector", lane), ("x", first + lane))
        stride = 1
        while stride < width:
            with machine.step(f"all lanes at once: moved up by {stride}, and combined"):
                for lane in range(stride, width):
                    machine.fold(0, ("vector", lane), op, ("vector", lane - stride), ("vector", lane))
            stride *= 2
        if first > 0:
            with machine.step("the carry is combined into all lanes: only this step waits for the previous vector"):
                for lane in range(width):
                    machine.fold(0, ("vector", lane), op, ("carry", 0), ("vector", lane))
        with machine.step("it is stored; its last lane is the next carry"):
            for lane in range(width):
                machine.copy(0, ("out", first + lane), ("vector", lane))
            machine.copy(0, ("carry", 0), ("vector", width - 1))
    return machine.trace("out")


def two_passes(x: list[Any], op: Operator, threads: int = 4) -> Trace:
    """`cpu.threads`, `cpu.simd_threads`: every block is scanned separately; the totals are scanned, and combined into the blocks."""
    n = len(x)
    length = -(-n // threads)
    blocks = [range(begin, min(begin + length, n)) for begin in range(0, n, length)]
    machine = Machine(len(blocks), x=x, out=[None] * n, total=[None] * len(blocks))
    for k in range(length):
        with machine.step("first pass: every thread scans its block, as if nothing preceded it"):
            for thread, block in enumerate(blocks):
                if k == 0:
                    machine.copy(thread, ("out", block[0]), ("x", block[0]))
                elif k < len(block):
                    machine.fold(thread, ("out", block[k]), op, ("out", block[k] - 1), ("x", block[k]))
    with machine.step("the last value of each block is its total"):
        for thread, block in enumerate(blocks):
            machine.copy(thread, ("total", thread), ("out", block[-1]))
    for thread in range(1, len(blocks)):
        with machine.step("the totals are scanned by one thread"):
            machine.fold(0, ("total", thread), op, ("total", thread - 1), ("total", thread))
    for k in range(length if len(blocks) > 1 else 0):
        with machine.step("second pass: the total before a block is combined into all of it; nothing precedes the first"):
            for thread, block in enumerate(blocks[1:], 1):
                if k < len(block):
                    machine.fold(thread, ("out", block[k]), op, ("total", thread - 1), ("out", block[k]))
    return machine.trace("out")


class _Tiles:
    """Tiles of an array, with a thread or block for each, and the steps that process all of them at a time."""

    def __init__(self, x: list[Any], op: Operator, length: int, workers: int = 0):
        n = len(x)
        self.op = op
        self.tiles = [range(begin, min(begin + length, n)) for begin in range(0, n, length)]
        self.count = len(self.tiles)
        self.workers = workers or self.count
        none = [None] * self.count
        self.machine = Machine(self.workers, x=x, total=none, before=none, carry=none, out=[None] * n)

    def fold(self, tiles: list[int], text: str) -> None:
        for k in range(max(len(self.tiles[tile]) for tile in tiles)):
            with self.machine.step(text):
                for tile in tiles:
                    elements = self.tiles[tile]
                    if k == 0:
                        self.machine.copy(tile % self.workers, ("total", tile), ("x", elements[0]))
                    elif k < len(elements):
                        total = ("total", tile)
                        self.machine.fold(tile % self.workers, total, self.op, total, ("x", elements[k]))

    def scan(self, tiles: list[int], text: str, before: str) -> None:
        """Scans, starting from what precedes each tile: cell `tile` of the array `before`. Nothing precedes tile 0."""
        for k in range(max(len(self.tiles[tile]) for tile in tiles)):
            with self.machine.step(text):
                for tile in tiles:
                    if k >= len(self.tiles[tile]):
                        continue
                    thread, i = tile % self.workers, self.tiles[tile][k]
                    if i == 0:
                        self.machine.copy(thread, ("out", 0), ("x", 0))
                    else:
                        left = (before, tile) if k == 0 else ("out", i - 1)
                        self.machine.fold(thread, ("out", i), self.op, left, ("x", i))

    def joined(self, thread: int, target: tuple[str, int], *cells: tuple[str, int]) -> None:
        """Computes target ← the cells folded in order; empty cells are skipped."""
        known = [cell for cell in cells if self.machine[cell] is not None]
        value = self.machine[known[0]]
        for cell in known[1:]:
            value = self.op(value, self.machine[cell])
        self.machine.write(thread, target, value, *known)


def chained(x: list[Any], op: Operator, tile: int = 4) -> Trace:
    """`cpu.chained`: a thread per tile folds it, waits for the carry of the previous tile, publishes its own, and scans."""
    tiles = _Tiles(x, op, tile)
    everyone = list(range(tiles.count))
    tiles.fold(everyone, "every thread folds its tile, which loads it into the cache")
    for thread in everyone:
        text = (
            f"tile {thread} reads the carry of the previous tile, and publishes its own"
            if thread
            else "tile 0 publishes its carry"
        )
        with tiles.machine.step(text, tuple(everyone[thread + 1 :])):
            if thread > 0:
                tiles.machine.copy(thread, ("before", thread), ("carry", thread - 1))
            tiles.joined(thread, ("carry", thread), *([("carry", thread - 1)] if thread else []), ("total", thread))
    tiles.scan(everyone, "every thread scans its tile, from the carry before it", "before")
    return tiles.machine.trace("out")


def lookback(x: list[Any], op: Operator, tile: int = 4) -> Trace:
    """`cuda.lookback`: a block walks back over the totals before its tile, until it finds a published prefix.

    It reads one tile at a time; a block of the rung reads 32, one for each lane of a warp.
    """
    tiles = _Tiles(x, op, tile)
    machine, everyone = tiles.machine, list(range(tiles.count))
    tiles.fold(everyone, "every block folds its tile, and publishes the total")
    with machine.step("what precedes tile 0 is known: it publishes its prefix"):
        machine.copy(0, ("carry", 0), ("total", 0))
    seen = {block: block - 1 for block in everyone[1:]}  # the tile that each block reads
    while seen:
        ends = [block for block, at in seen.items() if machine["carry", at] is not None]
        with machine.step(
            "a block that finds a prefix stops; one that finds a total adds it, and reads the tile before (a warp: 32 tiles at a time)"
        ):
            for block, at in seen.items():
                met = ("carry", at) if block in ends else ("total", at)
                tiles.joined(block, ("before", block), met, ("before", block))
        with machine.step("prefixes are published"):
            for block in ends:
                machine.fold(block, ("carry", block), op, ("before", block), ("total", block))
        seen = {block: at - 1 for block, at in seen.items() if block not in ends}
    tiles.scan(everyone, "every block scans its tile, from the prefix before it", "before")
    return machine.trace("out")


def lookahead(x: list[Any], op: Operator, tile: int = 2, blocks: int = 2) -> Trace:
    """`cpu.lookahead`, `cuda.lookahead`: tiles are folded before they are needed; each block adds up all totals itself."""
    tiles = _Tiles(x, op, tile, min(blocks, -(-len(x) // tile)))
    machine = tiles.machine
    rounds = [list(range(first, min(first + tiles.workers, tiles.count))) for first in range(0, tiles.count, tiles.workers)]
    tiles.fold(rounds[0], "every block folds its first tile, and publishes the total")
    merged = dict.fromkeys(range(tiles.workers), 0)  # the number of totals that each block has added
    for number, own in enumerate(rounds):
        if number + 1 < len(rounds):
            tiles.fold(rounds[number + 1], "ahead: every block folds its next tile, and publishes the total")
        while any(merged[at % tiles.workers] < at for at in own):
            with machine.step("no block waits: every block adds up the totals before its tile, in order"):
                for at in own:
                    block = at % tiles.workers
                    if merged[block] < at:
                        tiles.joined(block, ("carry", block), ("carry", block), ("total", merged[block]))
                        merged[block] += 1
        with machine.step("the total before each tile is complete"):
            for at in own:
                if at > 0:
                    machine.copy(at % tiles.workers, ("before", at), ("carry", at % tiles.workers))
        tiles.scan(own, "every block scans its tile", "before")
    return machine.trace("out")
