# SPDX-License-Identifier: Apache-2.0
# upsweep_report/peers/bench.py: verifies and times every problem in every library, and writes results files.
from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import upsweep
from upsweep import _core

from .calls import CALLS, CPU, CUDA, OUR_CALLS, OURS, Call, plain, right_answer
from .cases import PROBLEMS, Case, Problem, Study
from .clocks import Gpu, Host, median, time_in_turn

SCHEMA = 1
_QUICK_SIZES = (1 << 12, 1 << 20)
_PROBE = 1 << 18
_FIRST = "the first rung"


class Request(NamedTuple):
    problems: Sequence[str] = ()  # all by default
    sizes: Sequence[int] = ()  # each study's own by default
    device: str = "auto"
    quick: bool = False
    max_seconds: float = 5.0

    @property
    def most_seconds(self) -> float:
        """The time limit in seconds. A call whose estimated time is longer is skipped."""
        return min(self.max_seconds, 0.5) if self.quick else self.max_seconds

    @property
    def budget(self) -> float:
        """Seconds for the rounds of a call, if it can use them."""
        return 0.01 if self.quick else 0.3


class Refused(ValueError):
    """The error for a request that cannot be measured here."""


class Skip(Exception):
    """The reason why something is not measured."""


class Cell(NamedTuple):
    problem: Problem
    study: Study
    type: str
    n: int

    @property
    def name(self) -> str:
        names = [self.problem.name, self.study.name, self.type]
        if self.study.name == "lists":
            names.insert(2, f"lists={self.study.pattern}")
        return "/".join([*names, str(self.n)])

    def cases(self, n: int) -> Iterator[Case]:
        return self.problem.cases(self.type, n, self.study.pattern)


def cells_of(request: Request) -> list[Cell]:
    cells = []
    for problem in PROBLEMS.values():
        if request.problems and problem.name not in request.problems:
            continue
        for study in problem.studies[: 1 if request.quick else None]:
            sizes = study.sizes
            if len(sizes) > 1 and request.quick:
                sizes = _QUICK_SIZES
            if request.sizes and study.name != "aubanel2021":
                sizes = tuple(request.sizes)
            types = study.types[: 1 if request.quick else None]
            cells += [Cell(problem, study, dtype, n) for dtype in types for n in sizes]
    return cells


def usable_clocks(device: str) -> list[Any]:
    """Returns the clocks of the devices to measure. Raises Refused if the requested GPU cannot be used."""
    gpu = None
    if any(not each["error"] for each in upsweep.devices()[:1]):
        gpu = next((library for library in ("cupy", "torch") if _sees_gpu(library)), None)
    if device == CUDA and gpu is None:
        raise Refused("--device cuda: there is no GPU here that upsweep and CuPy or PyTorch can use")
    clocks: list[Any] = [] if device == CUDA else [Host()]
    return [*clocks, Gpu(gpu)] if gpu and device != CPU else clocks


def _sees_gpu(library: str) -> bool:
    if importlib.util.find_spec(library) is None:
        return False
    try:
        module = importlib.import_module(library)
        return bool(module.cuda.is_available())
    except Exception:  # noqa: BLE001 - a broken installation may raise anything
        return False


def machine() -> dict[str, Any]:
    """Describes the machine in the form that `upsweep bench` writes."""
    here = _core.machine()
    gpus = [
        {
            "name": each["name"],
            "compute_capability": ".".join(map(str, each["compute_capability"])),
            "multiprocessors": each["multiprocessors"],
            "l2_bytes": each["l2_bytes"],
            "memory_bytes": each["memory_bytes"],
        }
        for each in upsweep.devices()
    ]
    return {**here, "gpus": gpus} if gpus else here


def _versions() -> dict[str, str]:
    names = sorted({call.library for call in CALLS if call.library != "python"})
    found = {name: sys.modules[name] for name in names if name in sys.modules}
    return {"python": sys.version.split()[0], **{name: getattr(module, "__version__", "") for name, module in found.items()}}


class Results:
    """The measurements: written next to their file after every cell, and under its name when they are complete."""

    def __init__(self, path: Path, request: Request):
        self._path = path
        self.all: dict[str, Any] = {
            "schema": SCHEMA,
            "upsweep": upsweep.__version__,
            "machine": machine(),
            "method": {
                "device": request.device,
                "quick": request.quick,
                "sizes": ",".join(map(str, request.sizes)),
                "max_seconds": request.max_seconds,
                "clock": "perf_counter; events on a GPU",
                "rounds": "upsweep, all libraries and a copy in turn, after one that is not counted; the median of up to 31",
                "libraries": {},
            },
            "cells": [],
            "rows": [],
            "groups": [],
            "failures": [],
        }
        self._write()

    @property
    def _partial(self) -> Path:
        return self._path.with_name(self._path.name + ".partial")

    def _write(self) -> None:
        self._partial.write_text(json.dumps(self.all, indent=1) + "\n", encoding="utf-8")

    def finish(self, cell: Cell) -> None:
        self.all["cells"].append(cell.name)
        self.all["method"]["libraries"] = _versions()
        self._write()

    def add_failure(self, cell: Cell, code: str, message: str) -> None:
        self.all["failures"].append(
            {"cell": cell.name, "problem": cell.problem.name, "study": cell.study.name, "code": code, "message": message}
        )

    def close(self) -> None:
        self._write()
        os.replace(self._partial, self._path)


# --------------------------------------------------------------------------------------------------------- verification


def made(call: Call, case: Case, clock: Any) -> Callable[[], Any] | None:
    """Returns the call to time; None if the library has no such function. Skip is raised with the reason if it is missing."""
    module = _module(call.library)
    return call.make(SimpleNamespace(**clock.arrays(call.library, case.arrays)), module)


def _module(library: str) -> Any:
    if library == "python":
        return None
    if importlib.util.find_spec(library) is None:
        raise Skip("not installed")
    return importlib.import_module(library)


def wrong(got: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> str:
    """ "" or how the answer differs from upsweep's."""
    if len(got) != len(right):
        return f"{len(got)} arrays, but upsweep has {len(right)}"
    for ours, theirs in zip(right, got):
        if ours.shape != theirs.shape:
            return f"of shape {theirs.shape}, but upsweep's is {ours.shape}"
        if not np.array_equal(ours, theirs):
            first = int(np.flatnonzero(np.ravel(ours != theirs))[0])
            return f"differs from upsweep's at index {first}"
    return ""


def _reason(error: Exception) -> tuple[str, str]:
    """The status and the reason of an error. A missing function or missing memory of a library is not a failure."""
    said = " ".join(str(error).split())[:200]
    if isinstance(error, Skip):
        return "skipped", said
    no_memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    status = "skipped" if no_memory or isinstance(error, (NotImplementedError, AttributeError, ImportError)) else "failed"
    return status, f"{type(error).__name__}: {said}"


class Bench:
    """Measures cells, one after the other."""

    def __init__(self, request: Request, results: Results, clocks: Sequence[Any], say: Callable[[str], None]):
        self._request = request
        self._results = results
        self._clocks = clocks
        self._say = say
        self._first = {}  # problem, "cpu" or "cuda" → the first rung of the ladder
        for rung in upsweep.ladder():
            self._first.setdefault((rung["problem"], rung["rung"].partition(".")[0]), rung["rung"])
        self._probed: dict[tuple[str, ...], dict[str, float]] = {}

    def measure(self, cell: Cell) -> None:
        try:
            _require_memory(cell)
            for case in cell.cases(cell.n):
                right = right_answer(cell.problem.name, case.arrays, self._first[cell.problem.name, CPU])
                for clock in self._clocks:
                    self._measure(cell, case, clock, right)
                    gc.collect()
                    clock.release()
        except MemoryError as error:
            self._results.add_failure(cell, "out_of_memory", str(error))
        except Exception as error:  # noqa: BLE001 - the other cells can still be measured
            code = getattr(error, "code", "") or type(error).__name__
            self._results.add_failure(cell, str(code), " ".join(str(error).split()))
        self._results.finish(cell)

    def _calls(self, cell: Cell, clock: Any) -> list[Call]:
        """upsweep's call, with the library whose arrays are on the clock's device, and the calls of its peers."""
        device = CPU if clock.name == CPU else CUDA
        calls = [call for call in CALLS if call.problem == cell.problem.name and device in call.devices]
        name = cell.problem.name
        if name in OURS:
            library = "numpy" if device == CPU else ("cupy" if _sees_gpu("cupy") else "torch")
            own = Call(name, library, "upsweep", OUR_CALLS[name], (device,), True, OURS[name], plain)
            calls.insert(0, own)
        return calls

    def _measure(self, cell: Cell, case: Case, clock: Any, right: Sequence[np.ndarray]) -> None:
        ready: dict[str, Callable[[], Any]] = {}
        rows = []
        for call in self._calls(cell, clock):
            self._say(f"{cell.name}: verifying {call.rung}")
            status, reason, run = self._verified(call, cell, case, clock, right)
            if not status:
                continue
            rows.append((call, status, reason))
            if run is not None:
                ready[call.rung] = run
        if "upsweep" in ready:
            ready |= self._first_rung(cell, ready["upsweep"], clock)
        self._say(f"{cell.name}: timing {len(ready)}")
        timed = time_in_turn(clock, {**clock.limits(int(case.bytes), case.reads_only), **ready}, self._request.budget)
        place = {
            "problem": cell.problem.name, "study": cell.study.name, "type": case.type, "n": case.n,
            "device": clock.name, "input": case.input, "host_resident": False,
        }  # fmt: skip
        group = _group(place, case, timed, _threads(clock, True))
        self._results.all["groups"].append(group)
        first = median(timed[_FIRST]) if _FIRST in timed else None
        for call, status, reason in rows:
            samples = timed.get(call.rung, [])
            self._results.all["rows"].append(
                _row({**place, "threads": _threads(clock, call.threads)}, call, case, status, reason, samples, group, first)
            )

    def _verified(
        self, call: Call, cell: Cell, case: Case, clock: Any, right: Sequence[np.ndarray]
    ) -> tuple[str, str | None, Callable[[], Any] | None]:
        """The status, "" if there is nothing to measure; the reason; and the call, if it is to be timed."""
        try:
            estimate = self._estimate(call, cell, case, clock)
            if estimate > self._request.most_seconds:
                raise Skip(f"estimated {estimate:.2g} s")
            run = made(call, case, clock)
            if run is None:
                return "", None, None
            found = wrong(call.values(run()), right)
            return ("failed", found, None) if found else ("verified", None, run)
        except Exception as error:  # noqa: BLE001 - any error of another library belongs in its row
            return (*_reason(error), None)

    def _estimate(self, call: Call, cell: Cell, case: Case, clock: Any) -> float:
        """The estimated seconds of the call, from its time on fewer elements; 0 if the case is not larger than that."""
        if case.n <= _PROBE:
            return 0
        key = (cell.problem.name, cell.study.pattern, case.type, clock.name)
        if key not in self._probed:
            self._probed[key] = {
                f"{other.rung} {each.input}": _probe_seconds(other, each, clock)
                for each in cell.cases(_PROBE)
                for other in self._calls(cell, clock)
            }
        return self._probed[key].get(f"{call.rung} {case.input}", 0) * case.n / _PROBE

    def _first_rung(self, cell: Cell, run: Callable[[], Any], clock: Any) -> dict[str, Callable[[], Any]]:
        """upsweep's call by the first rung of the ladder, the base of speed-ups, if it supports the call in time."""
        rung = self._first.get((cell.problem.name, CPU if clock.name == CPU else CUDA))
        if rung is None or cell.problem.name in ("filtered-sum", "subset-sum"):  # a query; a table per value
            return {}

        def first() -> Any:
            with upsweep.options(rung=rung):
                return run()

        try:
            return {_FIRST: first} if clock.seconds_of(first) <= self._request.most_seconds else {}
        except (NotImplementedError, ValueError, MemoryError):
            return {}


def _probe_seconds(call: Call, case: Case, clock: Any) -> float:
    try:
        run = made(call, case, clock)
        if run is None:
            return 0
        run()
        return clock.seconds_of(run)
    except Exception:  # noqa: BLE001 - the case itself reports the error
        return 0


def _require_memory(cell: Cell) -> None:
    """Raises MemoryError if the memory does not suffice: each library has a copy of the case, and an answer."""
    calls = sum(call.problem == cell.problem.name for call in CALLS)
    needed = cell.n * 16 * (calls + 3) if cell.problem.name != "subset-sum" else 0
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
    if needed > available:
        raise MemoryError(f"all libraries together need {needed / 1e9:.0f} GB; {available / 1e9:.0f} GB are available")


def _threads(clock: Any, several: bool) -> int | None:
    if clock.name != CPU:
        return None
    return _core.machine()["threads"] if several else 1


def _group(place: dict[str, Any], case: Case, timed: dict[str, list[float]], threads: int | None) -> dict[str, Any]:
    def gbps(name: str) -> float:
        return case.bytes / median(timed[name]) / 1e9 if name in timed else 0

    return {
        **place, "threads": threads, "copy_gbps": gbps("copy"), "read_gbps": gbps("read"),
        "copy_samples_s": timed["copy"], "read_samples_s": timed.get("read", []),
        "inlined_s": 0, "api_s": median(timed["upsweep"]) if "upsweep" in timed else 0, "api_rung": "", **case.facts,
    }  # fmt: skip


def _row(
    place: dict[str, Any], call: Call, case: Case, status: str, reason: str | None, samples: list[float],
    group: dict[str, Any], first: float | None,
) -> dict[str, Any]:  # fmt: skip
    seconds = median(samples) if samples else None
    # As for the ladder's rungs: a search without a bitmap is not compared with a copy of one.
    moved = 0.0 if (place["problem"], call.rung) == ("subset-sum", "upsweep") else case.bytes
    gbps = moved / seconds / 1e9 if seconds and moved else None

    def fraction(limit: str) -> float | None:
        return gbps / group[limit] if gbps and group[limit] else None

    return {
        **place, "rung": call.rung, "idea": call.idea, "kind": "api" if call.rung == "upsweep" else "library",
        "status": status, "reason": reason, "median_s": seconds, "samples_s": samples, "bytes": moved, "gbps": gbps,
        "fraction_of_copy": fraction("copy_gbps"), "fraction_of_read": fraction("read_gbps"),
        "speedup": first / seconds if first and seconds else None, **case.facts,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- the command


class Progress:
    """A line that is overwritten, only on a terminal."""

    def __init__(self, total: int):
        self._total = total
        self._begin = time.monotonic()
        self._is_shown = sys.stderr.isatty()
        self.done = 0

    def say(self, text: str) -> None:
        if not self._is_shown:
            return
        left = ""
        if self.done:
            seconds = int((time.monotonic() - self._begin) / self.done * (self._total - self.done))
            left = f", {seconds // 60}:{seconds % 60:02} left at this pace"
        print(f"\r\x1b[K{self.done}/{self._total}{left}, {text}"[:200], end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def measure(path: Path, request: Request) -> dict[str, Any]:
    """Measures, writes the results to the path, and returns them. Raises Refused, OSError."""
    unknown = [name for name in request.problems if name not in PROBLEMS]
    if unknown:
        raise Refused(f"unknown problem '{unknown[0]}' for other libraries; available: {', '.join(PROBLEMS)}")
    clocks = usable_clocks(request.device)
    cells = cells_of(request)
    results = Results(path, request)
    progress = Progress(len(cells))
    bench = Bench(request, results, clocks, progress.say)
    try:
        for cell in cells:
            bench.measure(cell)
            progress.done += 1
    finally:
        progress.clear()
    results.close()
    return results.all


def summary(all_results: dict[str, Any], path: Path) -> str:
    """A summary of the file: its counts, and the errors."""
    rows = all_results["rows"]
    counts = {status: sum(row["status"] == status for row in rows) for status in ("verified", "skipped", "failed")}
    lines = [f"{path}: {counts['verified']} measurements, {counts['skipped']} skipped, {counts['failed']} wrong"]
    missing = dict.fromkeys(row["rung"].partition(".")[0] for row in rows if row["reason"] == "not installed")
    if missing:
        lines.append(f"  not installed: {', '.join(missing)}")
    lines += [f"  {row['problem']} {row['rung']}, {row['n']:,}: {row['reason']}" for row in rows if row["status"] == "failed"]
    lines += [f"  {failure['cell']} failed: {failure['message']}" for failure in all_results["failures"]]
    return "\n".join(lines)
