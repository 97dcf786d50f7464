# SPDX-License-Identifier: Apache-2.0
# upsweep/_report/sorts.py: how the elements of lists are sorted, as models on a few of them.
from __future__ import annotations

from bisect import bisect_right
from typing import Any

from .machine import Machine, Trace

_NETWORK = ([(0, 1), (2, 3)], [(0, 2), (1, 3)], [(1, 2)])  # sorts four


def sort_networks(x: list[Any]) -> Trace:
    """`cpu.networks`: lists of four, one in each lane; all lanes compare and exchange the same two places, without a branch."""
    lists = len(x) // 4
    machine = Machine(lists, x=x)
    for pairs in _NETWORK:
        with machine.step("every lane orders " + " and ".join(f"places {a} and {b}" for a, b in pairs) + " of its list"):
            for lane in range(lists):
                for a, b in pairs:
                    low, high = ("x", 4 * lane + a), ("x", 4 * lane + b)
                    values = sorted((machine[low], machine[high]))
                    machine.write(lane, low, values[0], low, high)
                    machine.write(lane, high, values[1], low, high)
    return machine.trace("x")


def sort_one(x: list[Any]) -> Trace:
    """`cpu.serial` of segmented-sort, one list: every element moves down to where it belongs."""
    machine = Machine(1, x=x)
    for i in range(1, len(x)):
        place = bisect_right(sorted(x[:i]), x[i])
        with machine.step(f"element {i} moves down to place {place}; those above it move up"):
            for k in range(place, i + 1):
                value = machine["x", i] if k == place else machine["x", k - 1]
                machine.write(0, ("x", k), value, ("x", i if k == place else k - 1))
    return machine.trace("x")
