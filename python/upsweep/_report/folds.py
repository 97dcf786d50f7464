# SPDX-License-Identifier: Apache-2.0
# upsweep/_report/folds.py: how reductions move data, of an array in shared memory and of lists by equal shares, as models.
from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

from .machine import Machine, Operator, Trace


def interleaved(x: list[Any], op: Operator) -> Trace:
    """`cuda.interleaved`: pairs at distance 1, 2, 4, …, by neighbouring threads, whose words are ever further apart."""
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
    """`cuda.sequential`: thread t adds value t + half: neighbouring words; the operator must commute."""
    machine = Machine(len(x), shared=x)
    _halves(machine, op, len(x), 1)
    return machine.trace("shared")


def unrolled(x: list[Any], op: Operator) -> Trace:
    """`cuda.unrolled`: halves, until what is left is two values for each lane of a warp; that warp needs no barrier."""
    machine = Machine(len(x), shared=x)
    _halves_unrolled(machine, op, len(x))
    return machine.trace("shared")


def two_loads(x: list[Any], op: Operator) -> Trace:
    """`cuda.two_loads`: every thread adds two elements as it loads them, so that none is idle then; the operator must commute."""
    threads = len(x) // 2
    machine = Machine(threads, x=x, shared=[None] * threads)
    with machine.step(f"thread t loads elements t and t + {threads}, and adds them"):
        for thread in range(threads):
            machine.fold(thread, ("shared", thread), op, ("x", thread), ("x", thread + threads))
    _halves_unrolled(machine, op, threads)
    return machine.trace("shared")


def _halves(machine: Machine, op: Operator, length: int, last: int) -> None:
    """Of `length` values in shared memory, as many as `last` are left."""
    while length > last:
        half = -(-length // 2)
        with machine.step(f"thread t adds value t + {half}; a barrier for all"):
            for thread in range(length - half):
                machine.fold(thread, ("shared", thread), op, ("shared", thread), ("shared", thread + half))
        length = half


def _halves_unrolled(machine: Machine, op: Operator, length: int, lanes: int = 4) -> None:
    """`length` values, a power of two; all lanes of the last warp add, as no branch says which need not."""
    _halves(machine, op, length, 2 * lanes)
    half = min(lanes, length // 2)
    warp = half
    while half >= 1:
        with machine.step(
            f"the first warp, without a barrier for all: lane l adds value l + {half}; only lanes below {half} matter"
        ):
            for lane in range(warp):
                machine.shuffle(lane, ("shared", lane), op, ("shared", lane), ("shared", lane + half))
        half //= 2


def _fold_lanes(machine: Machine, op: Operator, array: str, warps: list[range], text: str) -> None:
    """Of every warp lane 0 ← all lanes in order. All lanes add that have one `stride` further up, whether it is of use or not."""
    stride = 1
    while stride < max(len(warp) for warp in warps):
        with machine.step(f"{text}: lane l adds the register of lane l + {stride}"):
            for warp in warps:
                for i in warp[: max(len(warp) - stride, 0)]:
                    machine.shuffle(i, (array, i), op, (array, i), (array, i + stride))
        stride *= 2


def _fold_warps(machine: Machine, op: Operator, array: str, warps: list[range]) -> None:
    """Warps' totals, each in its lane 0, to cell 0 of the array `total`."""
    with machine.step("lane 0 of each warp puts its total into shared memory"):
        for number, warp in enumerate(warps):
            machine.copy(warp[0], ("total", number), (array, warp[0]))
    _fold_lanes(machine, op, "total", [range(len(warps))], "after the only barrier the first warp folds the totals")


def shuffle_rows(x: list[Any], op: Operator, warps: int = 2, lanes: int = 4) -> Trace:
    """`reduce`'s `cuda.shuffle`: a warp folds one row of neighbouring elements after the other, in order: no need to commute."""
    n = len(x)
    share = -(-n // (warps * lanes)) * lanes
    shares = [range(begin, min(begin + share, n)) for begin in range(0, n, share)]
    machine = Machine(warps * lanes, x=x, row=[None] * (warps * lanes), sofar=[None] * (warps * lanes), total=[None] * warps)
    for first in range(0, share, lanes):
        rows = [own[first : first + lanes] for own in shares]
        with machine.step("every warp reads a row of neighbouring elements, one for each lane"):
            for warp, row in enumerate(rows):
                for lane, i in enumerate(row):
                    machine.copy(warp * lanes + lane, ("row", warp * lanes + lane), ("x", i))
        held = [range(warp * lanes, warp * lanes + len(row)) for warp, row in enumerate(rows)]
        _fold_lanes(machine, op, "row", held, "every warp folds its row")
        with machine.step("lane 0 adds the row to what it has"):
            for warp, row in enumerate(rows):
                cell = warp * lanes
                if first == 0:
                    machine.copy(cell, ("sofar", cell), ("row", cell))
                elif row:
                    machine.fold(cell, ("sofar", cell), op, ("sofar", cell), ("row", cell))
    _fold_warps(machine, op, "sofar", [range(warp * lanes, (warp + 1) * lanes) for warp in range(len(shares))])
    return machine.trace("total")


def shuffle_strides(x: list[Any], op: Operator, threads: int = 8, lanes: int = 4) -> Trace:
    """`aggregate`'s `cuda.shuffle`: a thread adds elements a stride of all threads apart; shuffles once, at the end. It must commute."""
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


def lists_by_one(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cpu.serial`: one thread, one list after the other."""
    machine = Machine(1, offsets=offsets, x=x, out=[None] * (len(offsets) - 1))
    for i, (start, stop) in enumerate(pairwise(offsets)):
        for j in range(start, stop):
            with machine.step(f"list {i}, element {j - start}"):
                if j == start:
                    machine.copy(0, ("out", i), ("x", j))
                else:
                    machine.fold(0, ("out", i), op, ("out", i), ("x", j))
    return machine.trace("out")


def lists_by_threads(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.thread_per_list`: a thread per list: the longest one keeps all others waiting."""
    lists = len(offsets) - 1
    machine = Machine(lists, offsets=offsets, x=x, out=[None] * lists)
    for k in range(max((offsets[i + 1] - offsets[i] for i in range(lists)), default=0)):
        done = tuple(i for i in range(lists) if offsets[i] + k >= offsets[i + 1])
        with machine.step("every thread folds its list", done):
            for i in range(lists):
                if i in done:
                    continue
                element = ("x", offsets[i] + k)
                if k == 0:
                    machine.copy(i, ("out", i), element)
                else:
                    machine.fold(i, ("out", i), op, ("out", i), element)
    return machine.trace("out")


def lists_by_ranges(offsets: list[int], x: list[Any], op: Operator, threads: int = 4, weight: int = 2) -> Trace:
    """`cpu.shares`: a list is as much work as its elements and `weight` more; where each thread's share of it begins is searched for.

    The rung cuts lists that are longer than a share; here they stay whole.
    """
    lists = len(offsets) - 1
    share = (offsets[-1] + weight * lists) // threads + 1
    begins = [bisect_left(range(lists), thread * share, key=lambda i: offsets[i] + weight * i) for thread in range(threads)]
    ranges = [range(begin, end) for begin, end in pairwise([*begins, lists])]
    machine = Machine(threads, offsets=offsets, x=x, out=[None] * lists)
    work = [[(i, j) for i in own for j in range(offsets[i], offsets[i + 1])] for own in ranges]
    found = ", ".join(str(own.start) for own in ranges if own)
    for k in range(max((len(own) for own in work), default=0)):
        done = tuple(thread for thread, own in enumerate(work) if k >= len(own))
        with machine.step(f"shares begin at lists {found}; every thread folds its lists, one after the other", done):
            for thread, own in enumerate(work):
                if k >= len(own):
                    continue
                i, j = own[k]
                if j == offsets[i]:
                    machine.copy(thread, ("out", i), ("x", j))
                else:
                    machine.fold(thread, ("out", i), op, ("out", i), ("x", j))
    return machine.trace("out")


def merge_path(offsets: list[int], at: int) -> tuple[int, int]:
    """Where the path of lists and elements is after `at` steps: (lists ended, elements taken)."""
    ended = bisect_left(range(len(offsets) - 1), True, key=lambda i: offsets[i + 1] + i + 1 > at)
    return ended, at - ended


def lists_by_shares(offsets: list[int], x: list[Any], op: Operator, threads: int = 4) -> Trace:
    """`cuda.shares`: each thread gets as many lists and elements together as the others; cut lists are joined."""
    lists = len(offsets) - 1
    total = lists + offsets[-1]
    length = max(-(-total // threads), 1)
    machine = Machine(threads, offsets=offsets, x=x, out=[None] * lists, rest=[None] * threads)
    at = [merge_path(offsets, min(t * length, total)) for t in range(threads + 1)]
    place = list(at[:-1])
    held = [False] * threads  # whether the thread has folded something of its list so far
    for _ in range(length):
        with machine.step("every thread goes along its share: an element is folded, or a list ends"):
            for t in range(threads):
                i, j = place[t]
                if (i, j) == at[t + 1]:
                    continue
                if i < lists and j == offsets[i + 1]:
                    if held[t]:
                        machine.copy(t, ("out", i), ("rest", t))
                    held[t] = False
                    place[t] = (i + 1, j)
                else:
                    if held[t]:
                        machine.fold(t, ("rest", t), op, ("rest", t), ("x", j))
                    else:
                        machine.copy(t, ("rest", t), ("x", j))
                    held[t] = True
                    place[t] = (i, j + 1)
    for t in reversed(range(threads)):
        i = place[t][0]
        if not held[t]:
            continue
        with machine.step("a list that was cut is joined: what came before goes in front"):
            if machine["out", i] is None:
                machine.copy(0, ("out", i), ("rest", t))
            else:
                machine.fold(0, ("out", i), op, ("rest", t), ("out", i))
    return machine.trace("out")
