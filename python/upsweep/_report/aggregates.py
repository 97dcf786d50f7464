# SPDX-License-Identifier: Apache-2.0
# upsweep/_report/aggregates.py: how a filtered sum of products reads its columns, as models on a few rows.
from __future__ import annotations

from collections.abc import Callable

from .machine import Machine, Trace


def products(keys: list[int], values: list[int], limit: int, of: Callable[[int], int]) -> Trace:
    """`cuda.select` of aggregate: a thread for each row, a product for each row that is kept; the host adds up all of them."""
    n = len(keys)
    machine = Machine(n, key=keys, value=values, product=[None] * n, sum=[0])
    with machine.step(f"every thread writes its row's product, 0 where its key is not less than {limit}"):
        for i in range(n):
            machine.write(i, ("product", i), of(values[i]) if keys[i] < limit else 0, ("key", i), ("value", i))
    for i in range(n):
        with machine.step("the host adds up the products, one after the other"):
            machine.fold(0, ("sum", 0), int.__add__, ("sum", 0), ("product", i))
    return machine.trace("sum")
