# SPDX-License-Identifier: Apache-2.0
# bench/query_peers_gpu.py: times the queries of query_bench on generated columns in GPU memory: plain CuPy, fused CuPy.
"""Prints one JSON object per query and method: median seconds by CUDA events over rotating copies of the columns."""

import argparse
import json

import cupy as cp
import cupyx
import numpy as np


def made(rows, random):
    """Generates columns with TPC-H's ranges and types, like bench/query_bench.cpp."""
    return {
        "suppkey": random.integers(1, 10_001, rows, dtype=np.uint32),
        "quantity": random.integers(1, 51, rows, dtype=np.int64) * 100,
        "price": random.integers(90_100, 10_494_951, rows, dtype=np.int64),
        "discount": random.integers(0, 11, rows, dtype=np.int64),
        "tax": random.integers(0, 9, rows, dtype=np.int64),
        "day": random.integers(8_036, 10_562, rows, dtype=np.int32),
        "flag": random.integers(0, 3, rows, dtype=np.int32),
        "status": random.integers(0, 2, rows, dtype=np.int32),
    }


def filtered_sum(t, z, xp):
    keep = t["suppkey"] < z
    return (t["quantity"][keep] * t["price"][keep]).sum()


def q6(t, xp):
    day, discount = t["day"], t["discount"]
    keep = (day >= 8_766) & (day < 9_131) & (discount >= 5) & (discount <= 7) & (t["quantity"] < 2_400)
    return (t["price"][keep] * discount[keep]).sum()


def q1(t, xp):
    add = np.add.at if xp is np else cupyx.scatter_add
    keep = t["day"] <= 10_471
    group = (t["flag"] * 2 + t["status"])[keep]
    price, discount, quantity = t["price"][keep], t["discount"][keep], t["quantity"][keep]
    discounted = price * (100 - discount)
    sums = []
    for values in (quantity, price, discounted, discounted * (100 + t["tax"][keep]), discount, xp.ones_like(price)):
        out = xp.zeros(6, dtype=np.int64 if xp is np else np.uint64)
        add(out, group, values.astype(out.dtype))
        sums.append(out.astype(np.int64))
    return xp.stack(sums)


FUSED_SUM = cp.ReductionKernel(
    "uint32 key, int64 q, int64 p, uint32 z", "int64 y", "key < z ? q * p : 0", "a + b", "y = a", "0", "filtered_sum"
)
FUSED_Q6 = cp.ReductionKernel(
    "int32 day, int64 d, int64 q, int64 p", "int64 y",
    "day >= 8766 && day < 9131 && d >= 5 && d <= 7 && q < 2400 ? p * d : 0", "a + b", "y = a", "0", "q6",
)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=6_001_215)
    arguments.add_argument("--copies", type=int, default=10)
    arguments.add_argument("--rounds", type=int, default=30)
    options = arguments.parse_args()
    here = made(options.rows, np.random.default_rng(1))
    there = [{name: cp.asarray(column) for name, column in here.items()} for _ in range(options.copies)]
    ways = []
    for z in (30, 5_000, 10_001):
        ways.append((f"filtered sum, Z = {z}", "cupy", lambda t, xp, z=z: filtered_sum(t, z, xp)))
        ways.append((f"filtered sum, Z = {z}", "cupy.ReductionKernel",
                     lambda t, xp, z=z: filtered_sum(t, z, xp) if xp is np else FUSED_SUM(t["suppkey"], t["quantity"], t["price"], z)))
    ways.append(("TPC-H Q6", "cupy", q6))
    ways.append(("TPC-H Q6", "cupy.ReductionKernel",
                 lambda t, xp: q6(t, xp) if xp is np else FUSED_Q6(t["day"], t["discount"], t["quantity"], t["price"])))
    ways.append(("TPC-H Q1", "cupy", q1))
    for query, way, run in ways:
        assert np.array_equal(cp.asnumpy(run(there[0], cp)), run(here, np)), (query, way)
        times = []
        for turn in range(options.rounds):
            begin, end = cp.cuda.Event(), cp.cuda.Event()
            begin.record()
            run(there[turn % options.copies], cp)
            end.record()
            end.synchronize()
            times.append(cp.cuda.get_elapsed_time(begin, end) * 1e-3)
        print(json.dumps({"query": query, "rung": way, "rows": options.rows, "copies": options.copies, "seconds": float(np.median(times))}), flush=True)


if __name__ == "__main__":
    main()
