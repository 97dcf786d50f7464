# SPDX-License-Identifier: Apache-2.0
# upsweep_report/results.py: reads and checks results of `upsweep bench`.
from __future__ import annotations

import gzip
import json
import math
import os
import statistics
from collections.abc import Sequence
from importlib import resources
from typing import Any, NamedTuple

SCHEMA = 1
# Problems that have another name in older files.
RENAMED = {
    "ragged": "offsets",
    "segmented": "segmented-reduce",
    "group": "group-by",
    "positions": "broadcast",
    "aggregate": "filtered-sum",
}


class ResultsError(ValueError):
    """The error for a file that does not contain results of `upsweep bench`, or not of this version."""


class Row(NamedTuple):
    """A rung at one size, type and number of threads; values that were not measured are None."""

    problem: str
    study: str
    rung: str
    kind: str  # "step" or "library"
    device: str  # "cpu", or a GPU's name
    machine: str  # "AMD EPYC 9554, 64 threads"
    type: str
    n: int
    threads: int | None
    input: str | None
    status: str  # "verified", "failed" or "skipped"
    reason: str | None
    samples: Sequence[float]
    seconds: float | None  # the median
    bytes: float
    limit: float | None  # bytes per second of a copy, or of a read (filtered-sum), in the same rounds
    speedup: float | None  # over the first rung of the ladder
    details: dict[str, Any]

    @property
    def place(self) -> str:
        """The processor of the machine, or the GPU that ran it."""
        return self.machine if self.device == "cpu" else self.device

    @property
    def rate(self) -> float | None:
        return self.bytes / self.seconds if self.seconds and self.bytes else None

    @property
    def of_limit(self) -> float | None:
        return self.rate / self.limit if self.rate and self.limit else None

    @property
    def roofs(self) -> dict[str, float]:
        """The memory bandwidth in the same rounds, in bytes per second: of a copy, and of a read if one was measured."""
        fractions = {what: self.details.get(f"fraction_of_{what}") for what in ("copy", "read")}
        found = {what: self.rate / fraction for what, fraction in fractions.items() if self.rate and fraction}
        return found or ({"copy": self.limit} if self.limit else {})

    @property
    def spread(self) -> tuple[float, float] | None:
        """The quartiles of the samples."""
        if len(self.samples) < 2:
            return None
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return low, high


class Results(NamedTuple):
    path: str
    machine: dict[str, Any]
    method: dict[str, Any]
    links: list[dict[str, float]]  # of each GPU: 48 MB allocated, sent and fetched
    rows: list[Row]
    failures: list[dict[str, Any]]
    recorded: bool = False  # elsewhere, and part of this package

    @property
    def problems(self) -> list[str]:
        return list(dict.fromkeys(row.problem for row in self.rows))


def load(path: str | os.PathLike[str]) -> Results:
    """Reads the results in a file. Raises ResultsError for invalid contents, and OSError if the file cannot be read."""
    with open(path, "rb") as file:
        return _parsed(os.fspath(path), file.read())


def require_known(results: Results, problems: Sequence[str]) -> None:
    """Raises ResultsError for results of an unknown problem: the meaning of its measurements would be a guess."""
    for name in results.problems:
        if name not in problems:
            raise ResultsError(f"{results.path}: unknown problem '{name}' in this upsweep; available: {', '.join(problems)}")


def recorded() -> list[Results]:
    """The results of an H200 and of many threads, for pages of machines without a GPU."""
    files = resources.files(__package__).joinpath("recorded").iterdir()
    packed = sorted((file for file in files if file.name.endswith(".json.gz")), key=lambda file: file.name)
    named = [(f"recorded {file.name.removesuffix('.json.gz')}", gzip.decompress(file.read_bytes())) for file in packed]
    return [_parsed(name, text)._replace(recorded=True) for name, text in named]


def _parsed(name: str, text: bytes) -> Results:
    try:
        found = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{name}: not valid JSON, or truncated: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(found.get(field), list) for field in ("rows", "groups", "cells")):
        of_ladder = isinstance(found, dict) and "problem" in found and "rows" in found
        what = "it is of `upsweep ladder`; a page needs the results of `upsweep bench`" if of_ladder else "it has no rows"
        raise ResultsError(f"{name}: not a results file of upsweep bench: {what}")
    if found.get("schema") != SCHEMA:
        raise ResultsError(f"{name}: results of schema {found.get('schema')}; this upsweep reads schema {SCHEMA}")
    try:
        machine, method = found["machine"], found["method"]
        _require(machine, cpu=str, threads=int, simd=str)
        _require(method, rounds=str)
        for gpu in machine.get("gpus") or ():
            _require(gpu, name=str)
        for group in found["groups"]:
            _require(group, copy_gbps=_NUMBER, read_gbps=_NUMBER)
        for failure in found["failures"]:
            _require(failure, cell=str, message=str)
        links = found.get("links") or []
        for link in links:
            _require(link, **dict.fromkeys(_LINK, (int, float)))
        for one in (*found["groups"], *found["rows"]):
            one["problem"] = RENAMED.get(one["problem"], one["problem"])
        limits = {_cell(group): _limit(group) for group in found["groups"]}
        rows = [_row(row, machine_label(machine), limits) for row in found["rows"]]
        return Results(name, machine, method, links, rows, found["failures"])
    except (KeyError, TypeError, OverflowError) as error:
        raise ResultsError(f"{name}: a row or group lacks required fields: {error}") from None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


_NUMBER = (int, float, type(None))  # null: not measured
_LINK = ("allocation_s", "to_device_pageable_s", "to_device_pinned_s", "to_host_pageable_s", "to_host_pinned_s")
_TEXT = (str, type(None))


def _require(found: dict[str, Any], **kinds: type | tuple[type, ...]) -> None:
    for key, kind in kinds.items():
        value = found[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"{key} is {json.dumps(value)[:40]}")


def _require_row(row: dict[str, Any]) -> None:
    _require(
        row, problem=str, study=str, rung=str, kind=str, device=str, type=str, n=int, status=str, input=_TEXT, reason=_TEXT
    )
    _require(row, threads=(int, type(None)), median_s=_NUMBER, bytes=_NUMBER, speedup=_NUMBER)
    if row["status"] not in ("verified", "failed", "skipped"):
        raise TypeError(f"status is {json.dumps(row['status'])[:40]}")
    samples = row["samples_s"]
    if not isinstance(samples, list) or not all(isinstance(sample, (int, float)) for sample in samples):
        raise TypeError(f"samples_s is {json.dumps(samples)[:40]}")
    for span in _list_in(row, "timeline"):
        _require(span, what=str, stream=int, begin_s=(int, float), end_s=(int, float))
        if span["end_s"] < span["begin_s"]:
            raise TypeError(f"a timeline has a span from {span['begin_s']} to {span['end_s']}")
    for kernel in _list_in(row, "kernels"):
        _require(kernel, name=str, launches=int, registers=int, shared_bytes=int, occupancy=(int, float))


def _list_in(row: dict[str, Any], key: str) -> list[Any]:
    found = row.get(key, [])
    if not isinstance(found, list):
        raise TypeError(f"{key} is {json.dumps(found)[:40]}")
    return found


def machine_label(machine: dict[str, Any]) -> str:
    """ "AMD EPYC 9554, 64 threads"."""
    return f"{machine['cpu']}, {machine['threads']} threads"


def _cell(one: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(one[key] for key in ("problem", "study", "type", "n", "device", "input", "host_resident"))


def _limit(group: dict[str, Any]) -> float | None:
    gbps = group["copy_gbps"] or group["read_gbps"]
    return gbps * 1e9 if gbps else None


def _row(row: dict[str, Any], machine: str, limits: dict[tuple[Any, ...], float | None]) -> Row:
    known = (
        "problem", "study", "rung", "kind", "device", "type", "n", "threads", "input", "status", "reason", "bytes", "speedup",
    )  # fmt: skip
    _require_row(row)
    timed = row["status"] == "verified" and row["median_s"]
    fraction = row.get("fraction_of_read") or row.get("fraction_of_copy")
    limit = row["bytes"] / row["median_s"] / fraction if timed and fraction and row["bytes"] else limits.get(_cell(row))
    return Row(
        **{key: row[key] for key in known},
        machine=machine,
        samples=row["samples_s"] if timed else (),
        seconds=row["median_s"] if timed else None,
        limit=limit,
        details={key: value for key, value in row.items() if key not in known and value is not None},
    )
