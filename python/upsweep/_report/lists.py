# SPDX-License-Identifier: Apache-2.0
# upsweep/_report/lists.py: how lists are folded, each to a value, and scanned, as models on a few of them.
from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

from .machine import Machine, Operator, Trace

# ---------------------------------------------------------------------------------------------------------------- folds


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


# ---------------------------------------------------------------------------------------------------------------- scans


def scan_lists_one(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cpu.serial` of segmented-scan: every list begins anew."""
    machine = Machine(1, x=x, out=[None] * len(x))
    for start, stop in pairwise(offsets):
        for i in range(start, stop):
            with machine.step("a list begins" if i == start else f"element {i} and the sum before it"):
                _scan_element(machine, 0, i, start, op)
    return machine.trace("out")


def scan_lists_threads(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.thread_per_list` of segmented-scan: a thread for each list."""
    lists = list(pairwise(offsets))
    machine = Machine(len(lists), x=x, out=[None] * len(x))
    for k in range(max((stop - start for start, stop in lists), default=0)):
        with machine.step(f"every thread goes on to element {k} of its list, where there is one"):
            for thread, (start, stop) in enumerate(lists):
                if start + k < stop:
                    _scan_element(machine, thread, start + k, start, op)
    return machine.trace("out")


def _scan_element(machine: Machine, thread: int, i: int, start: int, op: Operator) -> None:
    if i == start:
        machine.copy(thread, ("out", i), ("x", i))
    else:
        machine.fold(thread, ("out", i), op, ("out", i - 1), ("x", i))


def scan_lists_tiles(offsets: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.tiles` of segmented-scan: Hillis and Steele's rounds, by an operator that adds nothing over the beginning of a list."""
    n = len(x)
    heads = set(offsets)
    reach = [next(i - k for k in range(i + 1) if i - k in heads) for i in range(n)]  # where each element's list begins
    machine = Machine(n, a=x, b=[None] * n)
    source, target = "a", "b"
    stride = 1
    while stride < n:
        with machine.step(f"stride {stride}, from {source} to {target}: a sum that has reached its list's beginning is copied"):
            for i in range(n):
                if i - stride < reach[i]:
                    machine.copy(i, (target, i), (source, i))
                else:
                    machine.fold(i, (target, i), op, (source, i - stride), (source, i))
        source, target = target, source
        stride *= 2
    return machine.trace(source)
