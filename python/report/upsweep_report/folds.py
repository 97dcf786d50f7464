# SPDX-License-Identifier: Apache-2.0
# upsweep_report/folds.py: models of reductions of an array, on threads, in vectors and in shared memory.
from __future__ import annotations

from typing import Any

from .machine import Machine, Operator, Trace, equal_shares, passing_none

# ------------------------------------------------------------------------------------------------------------- on a CPU


def fold_one(x: list[Any], op: Operator) -> Trace:
    """`cpu.serial` of reduce: one running value."""
    machine = Machine(1, x=x, total=[None])
    with machine.step("the first element is the total so far"):
        machine.copy(0, ("total", 0), ("x", 0))
    for i in range(1, len(x)):
        with machine.step(f"element {i} is added, once the previous addition has ended"):
            machine.fold(0, ("total", 0), op, ("total", 0), ("x", i))
    return machine.trace("total")


def fold_threads(x: list[Any], op: Operator, threads: int = 4) -> Trace:
    """`cpu.threads` of reduce: a block for each thread; the blocks' totals are folded in order."""
    shares = [share for share in equal_shares(len(x), threads) if share]
    machine = Machine(threads, x=x, total=[None] * len(shares))
    for k in range(max(len(share) for share in shares)):
        with machine.step("every thread folds its block"):
            for thread, share in enumerate(shares):
                if k == 0:
                    machine.copy(thread, ("total", thread), ("x", share[0]))
                elif k < len(share):
                    machine.fold(thread, ("total", thread), op, ("total", thread), ("x", share[k]))
    for number in range(1, len(shares)):
        with machine.step("one thread folds the totals, in order"):
            machine.fold(0, ("total", 0), op, ("total", 0), ("total", number))
    return machine.trace("total")


def fold_vectors(x: list[Any], op: Operator, threads: int = 1, lanes: int = 4, vectors: int = 4) -> Trace:
    """`cpu.simd` of reduce, with more threads `cpu.simd_threads`: one total per lane of a vector; no lane waits for another.

    Threads take one block of `vectors` vectors after the other; the rung keeps four vectors of totals. The operator must commute.
    """
    n, length = len(x), lanes * vectors
    blocks = [range(begin, min(begin + length, n)) for begin in range(0, n, length)]
    machine = Machine(threads, x=x, lanes=[None] * (threads * lanes), total=[None] * len(blocks))
    for first in range(0, len(blocks), threads):
        _fold_blocks_by_vectors(machine, op, list(enumerate(blocks[first : first + threads])), lanes)
        with machine.step("a block's total is in the last lane"):
            for thread, block in enumerate(blocks[first : first + threads]):
                last = thread * lanes + min(lanes, len(block)) - 1
                machine.copy(thread, ("total", first + thread), ("lanes", last))
    for number in range(1, len(blocks)):
        with machine.step("one thread folds the blocks' totals, in order"):
            machine.fold(0, ("total", 0), op, ("total", 0), ("total", number))
    return machine.trace("total")


def _fold_blocks_by_vectors(machine: Machine, op: Operator, blocks: list[tuple[int, range]], lanes: int) -> None:
    """Folds one block per thread into the last of the thread's lanes that has a value."""
    for k in range(0, max(len(block) for _, block in blocks), lanes):
        with machine.step("the next vector is added: an addition for each lane, all at once" if k else "a vector is loaded"):
            for thread, block in blocks:
                for lane, i in enumerate(block[k : k + lanes]):
                    total = ("lanes", thread * lanes + lane)
                    if k == 0:
                        machine.copy(thread, total, ("x", i))
                    else:
                        machine.fold(thread, total, op, total, ("x", i))
    stride = 1
    while stride < lanes:
        with machine.step(f"at the end of a block the lanes are joined: moved up by {stride}, and added"):
            for thread, block in blocks:
                for lane in range(stride, min(lanes, len(block))):
                    cell = thread * lanes + lane
                    machine.fold(thread, ("lanes", cell), op, ("lanes", cell - stride), ("lanes", cell))
        stride *= 2


# ------------------------------------------------------------------------------------------------------------- on a GPU


def interleaved(x: list[Any], op: Operator) -> Trace:
    """`cuda.interleaved`: pairs at distance 1, 2, 4, …, by adjacent threads, whose words are further and further apart."""
    n = len(x)
    machine = Machine(n, shared=x)
    stride = 1
    while stride < n:
        with machine.step(f"thread t adds values {2 * stride}t and {2 * stride}t + {stride}"):
            for thread, left in enumerate(range(0, n - stride, 2 * stride)):
                machine.fold(thread, ("shared", left), op, ("shared", left), ("shared", left + stride))
        stride *= 2
    return machine.trace("shared")


def sequential(x: list[Any], op: Operator) -> Trace:
    """`cuda.sequential`: thread t adds value t + half: adjacent words; the operator must commute."""
    machine = Machine(len(x), shared=x)
    _halves(machine, op, [range(len(x))], 1)
    return machine.trace("shared")


def unrolled(x: list[Any], op: Operator) -> Trace:
    """`cuda.unrolled`: halves, until two values per lane of a warp are left; that warp needs no barrier."""
    machine = Machine(len(x), shared=x)
    _halves_unrolled(machine, op, [range(len(x))])
    return machine.trace("shared")


def two_loads(x: list[Any], op: Operator, threads: int = 8) -> Trace:
    """`cuda.two_loads`: every thread adds two elements as it loads them, so that no thread is idle then; the operator must commute."""
    blocks = -(-len(x) // (2 * threads))
    machine = Machine(blocks * threads, x=x, shared=[None] * (blocks * threads), sums=[None] * blocks)
    sum_blocks(machine, op, ("x", "sums"), list(range(blocks)), threads)
    return machine.trace("sums")


def sum_blocks(
    machine: Machine, op: Operator, arrays: tuple[str, str], blocks: list[int], threads: int, text: str = ""
) -> None:
    """The kernel of `cuda.two_loads`: folds one array into a sum for each of some blocks, which run at the same time."""
    op = passing_none(op)
    source, sums = arrays
    own = [range(place * threads, (place + 1) * threads) for place in range(len(blocks))]
    with machine.step(f"{text}thread t of a block loads elements t and t + {threads} of its {2 * threads}, and adds them"):
        for block, cells in zip(blocks, own, strict=True):
            for cell, first in zip(cells, range(block * 2 * threads, len(machine.cells(source)))):
                right = first + threads
                if right < len(machine.cells(source)):
                    machine.fold(cell, ("shared", cell), op, (source, first), (source, right))
                else:
                    machine.copy(cell, ("shared", cell), (source, first))
            for cell in cells[max(len(machine.cells(source)) - block * 2 * threads, 0) :]:
                machine.write(cell, ("shared", cell), None)
    _halves_unrolled(machine, op, own)
    with machine.step("thread 0 of each block writes its sum"):
        for block, cells in zip(blocks, own, strict=True):
            machine.copy(cells[0], (sums, block), ("shared", cells[0]))


def _halves(machine: Machine, op: Operator, blocks: list[range], last: int) -> None:
    """Folds the values of some blocks in shared memory, the same number per block, until `last` are left of each."""
    length = len(blocks[0])
    while length > last:
        half = -(-length // 2)
        with machine.step(f"thread t adds value t + {half}; a barrier for all"):
            for block in blocks:
                for cell in block[: length - half]:
                    machine.fold(cell, ("shared", cell), op, ("shared", cell), ("shared", cell + half))
        length = half


def _halves_unrolled(machine: Machine, op: Operator, blocks: list[range], lanes: int = 4) -> None:
    """All lanes of the last warp add, because there is no branch. Values beyond a power of two are added first."""
    length = len(blocks[0])
    power = 1 << (length.bit_length() - 1)
    if power < length:
        with machine.step(f"values beyond {power}, a power of two, are added first"):
            for block in blocks:
                for cell in block[: length - power]:
                    machine.fold(cell, ("shared", cell), op, ("shared", cell), ("shared", cell + power))
    _halves(machine, op, [block[:power] for block in blocks], 2 * lanes)
    half = min(lanes, power // 2)
    warp = half
    while half >= 1:
        with machine.step(
            f"the first warp, without a barrier for all: lane l adds value l + {half}; only lanes below {half} matter"
        ):
            for block in blocks:
                for cell in block[:warp]:
                    machine.shuffle(cell, ("shared", cell), op, ("shared", cell), ("shared", cell + half))
        half //= 2


def _fold_lanes(
    machine: Machine, op: Operator, array: str, warps: list[range], text: str, own: list[int] | None = None
) -> None:
    """Computes lane 0 ← all lanes in order, for every warp. Every lane adds if there is a lane `stride` further up, even if its sum is not
    needed.

    `own`: the thread of each warp's first cell, if that is not the cell's number.
    """
    stride = 1
    while stride < max(len(warp) for warp in warps):
        with machine.step(f"{text}: lane l adds the register of lane l + {stride}"):
            for number, warp in enumerate(warps):
                first = warp.start if own is None else own[number]
                for lane, i in enumerate(warp[: max(len(warp) - stride, 0)]):
                    machine.shuffle(first + lane, (array, i), op, (array, i), (array, i + stride))
        stride *= 2


def _fold_warps(machine: Machine, op: Operator, array: str, warps: list[range], blocks: int = 1) -> None:
    """Folds the warps' totals, each in its lane 0, into the first of each block's cells of the array `total`."""
    with machine.step("lane 0 of each warp writes its total to shared memory"):
        for number, warp in enumerate(warps):
            machine.copy(warp[0], ("total", number), (array, warp[0]))
    each = -(-len(warps) // blocks)
    cells = [range(first, min(first + each, len(warps))) for first in range(0, len(warps), each)]
    whose = [warps[own.start].start for own in cells]
    which = "the first warp folds" if blocks == 1 else "the first warp of each block folds"
    _fold_lanes(machine, op, "total", cells, f"after the only barrier {which} the totals", whose)


def shuffle_rows(x: list[Any], op: Operator, warps: int = 2, lanes: int = 4) -> Trace:
    """`reduce`'s `cuda.shuffle`: a warp folds one row of adjacent elements after the other, in order: it need not commute."""
    n = len(x)
    share = -(-n // (warps * lanes)) * lanes
    shares = [range(begin, min(begin + share, n)) for begin in range(0, n, share)]
    machine = Machine(warps * lanes, x=x, row=[None] * (warps * lanes), sofar=[None] * (warps * lanes), total=[None] * warps)
    for first in range(0, share, lanes):
        rows = [own[first : first + lanes] for own in shares]
        with machine.step("every warp reads a row of adjacent elements, one for each lane"):
            for warp, row in enumerate(rows):
                for lane, i in enumerate(row):
                    machine.copy(warp * lanes + lane, ("row", warp * lanes + lane), ("x", i))
        held = [range(warp * lanes, warp * lanes + len(row)) for warp, row in enumerate(rows)]
        _fold_lanes(machine, op, "row", held, "every warp folds its row")
        with machine.step("lane 0 adds the row to its total"):
            for warp, row in enumerate(rows):
                cell = warp * lanes
                if first == 0:
                    machine.copy(cell, ("sofar", cell), ("row", cell))
                elif row:
                    machine.fold(cell, ("sofar", cell), op, ("sofar", cell), ("row", cell))
    _fold_warps(machine, op, "sofar", [range(warp * lanes, (warp + 1) * lanes) for warp in range(len(shares))])
    return machine.trace("total")


def shuffle_strides(x: list[Any], op: Operator, threads: int = 8, lanes: int = 4) -> Trace:
    """`filtered-sum`'s `cuda.shuffle`: a thread adds elements at a stride of all threads, then shuffles once. The operator must commute."""
    n = len(x)
    threads = min(threads, n)
    machine = Machine(threads, x=x, register=[None] * threads, total=[None] * -(-threads // lanes))
    for first in range(0, n, threads):
        with machine.step(
            f"every thread adds element t + {first} to its own register" if first else "every thread reads element t"
        ):
            for thread in range(min(threads, n - first)):
                register = ("register", thread)
                if first == 0:
                    machine.copy(thread, register, ("x", thread))
                else:
                    machine.fold(thread, register, op, register, ("x", first + thread))
    warps = [range(begin, min(begin + lanes, threads)) for begin in range(0, threads, lanes)]
    _fold_lanes(machine, op, "register", warps, "every warp")
    _fold_warps(machine, op, "register", warps)
    return machine.trace("total")


def one_kernel(x: list[Any], op: Operator, blocks: int = 2, warps: int = 2, lanes: int = 2) -> Trace:
    """`cuda.one_kernel` of reduce: long shares by warps, shuffles once, and the last block to finish folds all sums. It must commute.

    A lane of the rung reads 16 bytes at a time, with four such loads in flight.
    """
    n = len(x)
    rows = -(-n // lanes)
    blocks = max(1, min(rows // warps, blocks))
    shares = [range(own.start * lanes, min(own.stop * lanes, n)) for own in equal_shares(rows, blocks * warps)]
    threads = blocks * warps * lanes
    totals: dict[str, list[Any]] = {"total": [None] * (blocks * warps), "sums": [None] * blocks, "done": [0], "out": [None]}
    machine = Machine(threads, x=x, register=[None] * threads, **totals)
    for k in range(0, max(len(share) for share in shares), lanes):
        what = "adds one to its register" if k else "reads one"
        with machine.step(f"every warp reads a row of its share, adjacent elements: each lane {what}"):
            for warp, share in enumerate(shares):
                for lane, i in enumerate(share[k : k + lanes]):
                    register = ("register", warp * lanes + lane)
                    if k == 0:
                        machine.copy(register[1], register, ("x", i))
                    else:
                        machine.fold(register[1], register, op, register, ("x", i))
    held = [range(warp * lanes, warp * lanes + min(len(share), lanes)) for warp, share in enumerate(shares) if share]
    _fold_lanes(machine, op, "register", held, "once, at the end of its share, every warp folds")
    _fold_warps(machine, op, "register", held, blocks)
    if blocks == 1:
        with machine.step("the only block has the result"):
            machine.copy(0, ("out", 0), ("total", 0))
        return machine.trace("out")
    for block in range(blocks):
        with machine.step(
            "a block writes its sum, and increments a counter" + (": the last one" if block == blocks - 1 else "")
        ):
            machine.copy(block * warps * lanes, ("sums", block), ("total", block * warps))
            machine.write(block * warps * lanes, ("done", 0), machine["done", 0] + 1, ("done", 0))
    first = (blocks - 1) * warps * lanes
    with machine.step("the threads of the last block read all sums"):
        for block in range(blocks):
            machine.copy(first + block, ("register", first + block), ("sums", block))
    _fold_lanes(machine, op, "register", [range(first, first + blocks)], "they fold them in order")
    with machine.step("no second launch was needed"):
        machine.copy(first, ("out", 0), ("register", first))
    return machine.trace("out")
