# SPDX-License-Identifier: Apache-2.0
# bench/python_peers.py: times upsweep's Python functions and those of NumPy, CuPy and PyTorch, in turn, verified.
"""Prints a table of medians, the rate of a copy in the same run, and ratios; --output writes every sample as JSON.

--gpu measures arrays of CuPy and PyTorch by CUDA events instead of NumPy's by the clock.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import upsweep

SAMPLES = 9


class Host:
    """Times calls by the host's clock; times several short calls together."""

    def time(self, call: Callable[[], object]) -> float:
        repeats = 1
        while True:
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            elapsed = time.perf_counter() - begin
            if elapsed > 2e-3:
                return elapsed / repeats
            repeats *= 4


class Gpu:
    """Times work in the current stream, by events."""

    def __init__(self):
        import torch

        self.torch = torch

    def time(self, call: Callable[[], object]) -> float:
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        call()
        self.torch.cuda.synchronize()
        begin.record()
        for _ in range(5):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / 5


def measure(clock, calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Times every call in turn, round after round."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(SAMPLES):
        for name, call in calls.items():
            samples[name].append(clock.time(call))
    return samples


def shown(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.2g} ns"


def report(title: str, clock, calls: dict[str, Callable[[], object]], results: list[dict]) -> None:
    samples = measure(clock, calls)
    medians = {name: statistics.median(values) for name, values in samples.items()}
    ours = medians["upsweep"]
    others = "  ".join(
        f"{name} {shown(median)} ({median / ours:.2f}x)" for name, median in medians.items() if name != "upsweep"
    )
    print(f"{title:34}  upsweep {shown(ours):9}  {others}", flush=True)
    results.append({"case": title, "seconds": samples})


def same(a, b) -> None:
    assert np.allclose(a, b), "upsweep and the other library differ"


def host_sums(results: list[dict], n: int) -> None:
    for dtype in ("float64", "float32", "int64", "int32"):
        x, out, copy = np.ones(n, dtype), np.empty(n, np.cumsum(np.ones(1, dtype)).dtype), np.empty(n, dtype)
        same(upsweep.cumulative_sum(x), np.cumulative_sum(x)) if dtype != "float32" else None
        calls = {
            "upsweep": lambda x=x, out=out: upsweep.cumulative_sum(x, out=out),
            "numpy": lambda x=x, out=out: np.add.accumulate(x, out=out),
            "copy": lambda x=x, copy=copy: np.copyto(copy, x),
            "new": lambda x=x: upsweep.cumulative_sum(x),
        }
        report(f"cumulative_sum {n:.0e} {dtype}, out=", Host(), calls, results)
    for length in (10, 100):
        x, out = np.ones(length), np.empty(length)
        calls = {
            "upsweep": lambda x=x, out=out: upsweep.cumulative_sum(x, out=out),
            "accumulate": lambda x=x, out=out: np.add.accumulate(x, out=out),
        }
        report(f"cumulative_sum {length} float64, out=", Host(), calls, results)
        calls = {"upsweep": lambda x=x: upsweep.cumulative_sum(x), "cumsum": lambda x=x: np.cumsum(x)}
        report(f"cumulative_sum {length} float64", Host(), calls, results)


def host_axes(results: list[dict], n: int) -> None:
    for shape, axis in (((n // 1000, 1000), 1), ((n // 1000, 1000), 0), ((n // 3, 3), 1)):
        x = np.ones(shape)
        same(upsweep.cumulative_sum(x, axis=axis), np.cumsum(x, axis=axis))
        calls = {
            "upsweep": lambda x=x, axis=axis: upsweep.cumulative_sum(x, axis=axis),
            "numpy": lambda x=x, axis=axis: np.cumsum(x, axis=axis),
        }
        report(f"cumulative_sum {shape} axis={axis}", Host(), calls, results)


def host_lists(results: list[dict], lists: int) -> None:
    lengths = np.random.default_rng(1).poisson(3, lists)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = np.random.default_rng(2).random(offsets[-1])
    parents = np.repeat(np.arange(lists), lengths)
    same(upsweep.segmented_reduce(content, offsets), np.bincount(parents, content, lists))
    filled = np.flatnonzero(lengths)

    def reduceat() -> np.ndarray:
        result = np.zeros(lists)
        result[filled] = np.add.reduceat(content, offsets[:-1][filled])
        return result

    calls = {
        "upsweep": lambda: upsweep.segmented_reduce(content, offsets),
        "reduceat": reduceat,
        "bincount": lambda: np.bincount(parents, content, lists),
    }
    report(f"sums of {lists:.0e} lists", Host(), calls, results)
    mask = content > 0.5
    calls = {"upsweep": lambda: upsweep.select(mask, content), "numpy": lambda: content[mask]}
    report("select, half of them", Host(), calls, results)
    starts, stops = offsets[:-1].copy(), offsets[1:].copy()
    calls = {
        "upsweep": lambda: upsweep.offsets(starts, stops),
        "numpy": lambda: np.concatenate([[0], np.cumsum(stops - starts)]),
    }
    report("offsets", Host(), calls, results)


def gpu_sums(results: list[dict], n: int) -> None:
    import cupy
    import torch

    for dtype in ("int64", "int32", "float32", "float64"):
        x = torch.ones(n, dtype=getattr(torch, dtype), device="cuda")
        out = torch.empty(n, dtype=torch.cumsum(x[:1], 0).dtype, device="cuda")
        copy = torch.empty_like(x)
        there, cupy_out = cupy.asarray(x), cupy.asarray(out)
        same(upsweep.cumulative_sum(x).cpu()[-1], n) if dtype != "float32" else None
        calls = {
            "upsweep": lambda x=x, out=out: upsweep.cumulative_sum(x, out=out),
            "torch": lambda x=x, out=out: torch.cumsum(x, 0, out=out),
            "cupy": lambda there=there, cupy_out=cupy_out: cupy.cumsum(there, out=cupy_out),
            "copy": lambda x=x, copy=copy: copy.copy_(x),
        }
        report(f"cumulative_sum {n:.0e} {dtype}", Gpu(), calls, results)
    for length in (32, 1000, 10**6):
        x = torch.ones((n // length, length), dtype=torch.float32, device="cuda")
        there = cupy.asarray(x)
        assert bool((upsweep.cumulative_sum(x, axis=1) == torch.cumsum(x, 1)).all())
        calls = {
            "upsweep": lambda x=x: upsweep.cumulative_sum(x, axis=1),
            "torch": lambda x=x: torch.cumsum(x, 1),
            "cupy": lambda there=there: cupy.cumsum(there, axis=1),
        }
        report(f"float32 along rows of {length}", Gpu(), calls, results)


def gpu_lists(results: list[dict], n: int) -> None:
    import torch

    starts = torch.arange(n, device="cuda") * 3
    stops = starts + 3
    out = torch.empty(n + 1, dtype=torch.int64, device="cuda")
    calls = {
        "upsweep": lambda: upsweep.offsets(starts, stops, out=out),
        "torch": lambda: torch.cumsum(stops - starts, 0, out=out[1:]),
    }
    report(f"offsets {n:.0e}", Gpu(), calls, results)
    del starts, stops, out
    content = torch.rand(n, device="cuda")
    mask = content > 0.5
    calls = {"upsweep": lambda: upsweep.select(mask, content), "torch": lambda: content[mask]}
    report(f"select {n:.0e} float32, half", Gpu(), calls, results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("-n", type=float, default=1e8, help="use this number of elements")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    n = int(arguments.n)
    results: list[dict] = []
    if arguments.gpu:
        gpu_sums(results, n)
        gpu_lists(results, n)
    else:
        host_sums(results, n)
        host_axes(results, n // 10)
        host_lists(results, n // 10)
    if arguments.output:
        with open(arguments.output, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
