# SPDX-License-Identifier: Apache-2.0
# upsweep_report/peers/clocks.py: times calls in turn, by the host's clock or by GPU events, and a copy.
from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from upsweep import _core, devices

_ROUNDS = 31
_SHORTEST = 200e-6  # seconds of a sample; shorter calls are repeated
_MOST_REPEATS = 20_000


class Host:
    """Calls on arrays in host memory."""

    name = "cpu"

    def arrays(self, library: str, arrays: dict[str, Any]) -> dict[str, Any]:
        if library != "torch":
            return arrays
        import torch

        return {name: torch.from_numpy(each) if isinstance(each, np.ndarray) else each for name, each in arrays.items()}

    def seconds_of(self, call: Callable[[], Any], repeats: int = 1) -> float:
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - begin) / repeats

    def limits(self, size: int, reads_only: bool) -> dict[str, Callable[[], Any]]:
        """The calls that are the limit of any call on `size` bytes."""
        source, to = np.ones(max(size // 2, 1), np.uint8), np.ones(max(size // 2, 1), np.uint8)
        limits = {"copy": lambda: _core.copy_bytes(to, source)}
        if reads_only:
            whole = np.ones(max(size, 1), np.uint8)
            limits["read"] = lambda: _core.read_bytes(whole)
        return limits

    def release(self) -> None:
        pass


class Gpu:
    """Calls in the current stream of the first GPU, by the events of a library."""

    def __init__(self, library: str):
        self._library = library
        self.name = devices()[0]["name"]

    def arrays(self, library: str, arrays: dict[str, Any]) -> dict[str, Any]:
        if library == "torch":
            import torch

            def send(array: Any) -> Any:
                return torch.from_numpy(array).cuda()
        else:
            import cupy

            send = cupy.asarray
        return {name: send(each) if isinstance(each, np.ndarray) else each for name, each in arrays.items()}

    def seconds_of(self, call: Callable[[], Any], repeats: int = 1) -> float:
        if self._library == "torch":
            import torch

            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(repeats):
                call()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) * 1e-3 / repeats
        import cupy

        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(repeats):
            call()
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) * 1e-3 / repeats

    def limits(self, size: int, reads_only: bool) -> dict[str, Callable[[], Any]]:
        source = self.arrays(self._library, {"source": np.ones(max(size // 2, 1), np.uint8)})["source"]
        if self._library == "torch":
            to = source.clone()
            return {"copy": lambda: to.copy_(source)}
        import cupy

        to = source.copy()
        return {"copy": lambda: cupy.copyto(to, source)}

    def release(self) -> None:
        """Releases the memory that the libraries keep."""
        if "torch" in sys.modules:
            sys.modules["torch"].cuda.empty_cache()
        if "cupy" in sys.modules:
            sys.modules["cupy"].get_default_memory_pool().free_all_blocks()


def time_in_turn(clock: Any, calls: dict[str, Callable[[], Any]], budget: float) -> dict[str, list[float]]:
    """Samples of every call: in every round each call has its turn, until its time is used up."""
    repeats = {}
    for name, call in calls.items():
        clock.seconds_of(call)  # the first call runs with cold caches
        once = clock.seconds_of(call)
        repeats[name] = min(max(int(_SHORTEST / max(once, 1e-9)), 1), _MOST_REPEATS)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    used = dict.fromkeys(calls, 0.0)
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            if used[name] > budget and len(samples[name]) >= (3 if used[name] > 4 * budget else 5):
                continue
            seconds = clock.seconds_of(call, repeats[name])
            samples[name].append(seconds)
            used[name] += seconds * repeats[name]
    return samples


def median(samples: list[float]) -> float:
    return statistics.median(samples)
