# SPDX-License-Identifier: Apache-2.0
# bench/group_peers_gpu.py: times sums by key in GPU memory: the command's rungs, CuPy, PyTorch and, if installed, cuDF.
"""Prints one JSON object per method and number of groups, with median seconds. The command's times are those of verified rungs."""

import argparse
import json
import statistics
import subprocess
import time

import cupy as cp


def timed(operation, rounds, synchronize):
    """Returns the median seconds of a call that waits, after one warm-up call; None if it does not fit in memory."""
    seconds = []
    try:
        for _ in range(rounds + 1):
            synchronize()
            begin = time.perf_counter()
            operation()
            synchronize()
            seconds.append(time.perf_counter() - begin)
    except (cp.cuda.memory.OutOfMemoryError, RuntimeError, MemoryError) as error:
        return None, type(error).__name__
    return statistics.median(seconds[1:]), None


def scattered(numbers):
    """Returns a different 64-bit key for each number."""
    keys = numbers.astype(cp.uint64) * cp.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> cp.uint64(32))) * cp.uint64(0xD6E8FEB86659FD93)
    return (keys ^ (keys >> cp.uint64(32))).view(cp.int64)


def of_cupy(keys, values):
    found, places = cp.unique(keys, return_inverse=True)
    return found, cp.bincount(places, weights=values, minlength=len(found))


def of_torch(torch, keys, values):
    found, places = torch.unique(keys, return_inverse=True)
    return found, torch.zeros(len(found), dtype=values.dtype, device=values.device).index_add_(0, places, values)


def ways(keys, values):
    """Returns the calls by name; each produces keys and sums."""
    found = {}
    if values.dtype == cp.float64:
        found["cupy unique, bincount"] = lambda: of_cupy(keys, values)
    try:
        import torch

        ours = torch.from_dlpack(keys), torch.from_dlpack(values)
        found["torch unique, index_add_"] = lambda: of_torch(torch, *ours)
    except ImportError:
        pass
    try:
        import cudf

        frame = cudf.DataFrame({"k": keys, "v": values})
        found["cudf groupby sum"] = lambda: frame.groupby("k", sort=False).sum()
    except ImportError:
        pass
    return found


def of_command(command, rows, groups, dtype, seconds):
    call = [command, "ladder", "group-by", "--device", "cuda", "--sizes", str(rows), "--groups", str(groups), "--types", dtype]
    out = subprocess.run([*call, "--max-seconds", str(seconds), "--json", "--quiet"], check=True, capture_output=True)
    return json.loads(out.stdout)["rows"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--command", default="build/bin/upsweep", help="time the rungs of this command; empty: only Python libraries")
    arguments.add_argument("--rows", type=int, default=100_000_000)
    arguments.add_argument("--groups", default="100,100000,10000000")
    arguments.add_argument("--types", default="float64,int64")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--max-seconds", type=float, default=0.3)
    options = arguments.parse_args()
    for groups in map(int, options.groups.split(",")):
        for dtype in options.types.split(","):
            case = {"rows": options.rows, "groups": groups, "type": dtype}
            rows = of_command(options.command, options.rows, groups, dtype, options.max_seconds) if options.command else []
            for row in rows:
                what = {name: row.get(name) for name in ("rung", "status", "reason", "median_s", "fraction_of_copy")}
                print(json.dumps({**case, **what}), flush=True)
            random = cp.random.default_rng(1)
            keys = scattered(random.integers(0, groups, options.rows))
            values = random.integers(0, 100, options.rows).astype(dtype)
            for name, operation in ways(keys, values).items():
                seconds, failure = timed(operation, options.rounds, cp.cuda.runtime.deviceSynchronize)
                print(json.dumps({**case, "rung": name, "median_s": seconds, "reason": failure}), flush=True)
            del keys, values
            cp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
