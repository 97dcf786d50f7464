# SPDX-License-Identifier: Apache-2.0
# bench/scaling_model.py: how long calls take on numbers of GPUs, cores and ranks that were not measured.
"""Every time is a sum of terms, such as the bytes that each GPU moves and the hand-offs from GPU to GPU, with what was measured fitted to
them by least squares of relative errors. One measurement is kept out of each fit, to check it. tools/figures.py shows all of it.
"""
import json
import math
import pathlib
from typing import NamedTuple

from late_ranks import MESSAGE_S

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
BYTES = {"int32": 4, "float32": 4, "int64": 8, "float64": 8}


def lines(name):
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]


# ---- fits


class Point(NamedTuple):
    """A measurement: how much there is of each term, and the seconds of all."""

    terms: list[float]
    seconds: float


class Fit(NamedTuple):
    what: str
    seconds_of: list[float]  # one of each term
    held: Point  # what was kept out

    def predict(self, terms):
        return sum(amount * each for amount, each in zip(terms, self.seconds_of))

    @property
    def error(self):
        return self.predict(self.held.terms) / self.held.seconds - 1


def solve(matrix, right):
    """The solution of linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i])]
    return [row[-1] for row in rows]


def fitted(points):
    """Seconds of one of each term, so that relative errors are least in squares."""
    terms_of = [[amount / point.seconds for amount in point.terms] for point in points]
    terms = range(len(terms_of[0]))
    matrix = [[sum(row[i] * row[j] for row in terms_of) for j in terms] for i in terms]
    return solve(matrix, [sum(row[i] for row in terms_of) for i in terms])


def fit(what, points, held):
    """Of points by some key: all are fitted but the one that is held back."""
    return Fit(what, fitted([point for key, point in points.items() if key != held]), points[held])


# ---- what was measured

# Bytes that a GPU moves for a byte of its shard, where there are several: a scan reads it twice and writes it.
GPU_PASSES = {"scan": 3, "reduce": 1}


def gpu_terms(problem, gpus, shard_bytes):
    """Bytes of each, hand-offs from each GPU to the next, and a call's start."""
    return [GPU_PASSES[problem] * shard_bytes, gpus - 1, 1]


HELD_SHARDS = (4, 2**30)  # GPUs, and bytes of each shard


def gpu_fits():
    """Shards on 2 and 4 GPUs, but those held back."""
    fits = []
    for problem, kind in dict.fromkeys((r["problem"], r["type"]) for r in lines("h200x4-shards") if r["problem"] in GPU_PASSES):
        points = {}
        for r in lines("h200x4-shards"):
            if (r["problem"], r["type"]) == (problem, kind) and r["gpus"] > 1:
                shard = r["elements_each"] * BYTES[kind]
                points[r["gpus"], shard] = Point(gpu_terms(problem, r["gpus"], shard), r["seconds"])
        fits.append(fit(f"{problem}, {kind}", points, HELD_SHARDS))
    return fits


# What stands in which file, how many elements there are, and how many bytes each takes to be read and written.
ON_CORES = {
    **{f"scan, {kind}": ("xeon64-scan", {"type": kind}, 2**28, 2 * BYTES[kind]) for kind in ("int32", "float64")},
    "offsets, int32": ("xeon64-ragged", {"type": "int32", "input": None}, 2 * 10**8, 2 * BYTES["int32"] + 8),
    **{f"reduce, {kind}": ("xeon64-reduce", {"type": kind}, 5 * 10**8, BYTES[kind]) for kind in ("int32", "float64")},
    **{f"filtered_sum, {kept}": (f"xeon64-aggregate-{z}", {}, 6 * 10**7, 20) for kept, z in (("half of the rows", "z5000"), ("all rows", "z10001"))},
}
HELD_CORES = 16


def core_terms(threads, size):
    """Bytes of each core; bytes of all, through one memory; and what threads take from each other, the more there are."""
    return [size / threads, size, size * threads]


def on_cores(what):
    """Seconds by threads."""
    name, wanted, _, _ = ON_CORES[what]
    found = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    found = [r for r in found if r["status"] == "verified" and all(r[key] == value for key, value in wanted.items())]
    return {r["threads"]: r["median_s"] for r in found}


def core_fits(held=HELD_CORES):
    """1 to 64 cores of one machine, but those held back."""
    fits = []
    for what, (_, _, n, size) in ON_CORES.items():
        fits.append(fit(what, {t: Point(core_terms(t, n * size), s) for t, s in on_cores(what).items()}, held))
    return fits


RANK_CORES = 2


def rank_fits():
    """2, 4 and 8 ranks on two cores, which do all of it whatever the ranks; held back are 8."""
    found = [r for r in lines("epyc-mpi") if r["n"] == 2**26 and r["ranks"] >= RANK_CORES]
    fits = []
    for call in dict.fromkeys(r["call"] for r in found):
        points = {r["ranks"]: Point([r["n"]], r["least_s"]) for r in found if r["call"] == call}
        fits.append(fit(call, points, max(points)))
    return fits


# Collectives of a call, each of which takes rounds of messages.
COLLECTIVES = 3


def round_fits():
    """Calls on empty shares and a collective alone; held back are scans."""
    fits = []
    for name, ranks, what in (
        ("xeon64-mpi", 2, "2 ranks, shared memory"),
        ("xeon64-mpi", 4, "4 ranks"),
        ("xeon64-mpi", 8, "8 ranks"),
        ("xeon64-mpi", 16, "16 ranks"),
        ("xeon64-mpi", 32, "32 ranks"),
        ("xeon64-mpi", 64, "64 ranks"),
        ("epyc-mpi-hosts", 2, "2 hosts, TCP"),
        ("epyc-mpi-hosts", 3, "3 hosts, TCP, on two cores"),
    ):
        found = {r["call"]: r["least_s"] for r in lines(name) if (r["ranks"], r["n"]) == (ranks, 0)}
        points = {call: Point([1 if call.startswith("MPI_") else COLLECTIVES], s) for call, s in found.items()}
        fits.append(fit(what, points, "inclusive_scan of int32"))
    return fits


# ---- calls over ranks, each a host as the one with 64 cores

# Assumed as MESSAGE_S is, not measured: how fast a host's messages come, in bytes a second.
NETWORK = 12.5e9
HOST_CORES = 64
ELEMENTS = 2**40  # of all hosts


def work(*whats):
    """Seconds of an element on one host, of all passes over it."""
    return sum(on_cores(what)[HOST_CORES] / ON_CORES[what][2] for what in whats)


class Call(NamedTuple):
    seconds_each: float  # of an element
    carry: int  # bytes that each rank gives the others


# As docs/scaling.md lists them: each takes two all-reductions and one all-gather.
CALLS = {
    "inclusive_scan": Call(work("reduce, int32", "scan, int32"), 32),
    "reduce": Call(work("reduce, int32"), 24),
    "offsets": Call(work("offsets, int32", "offsets, int32"), 24),
    "filtered_sum": Call(work("filtered_sum, all rows"), 8),
}


def merge_seconds():
    """Of one carry, while half of the cores do so."""
    (found,) = [r for r in lines("xeon64-mpi") if r["call"].startswith("merging") and r["ranks"] == HOST_CORES // 2]
    return found["least_s"] / found["n"]


class CallTimes(NamedTuple):
    """Seconds of a call."""

    work: float
    rounds: float  # of messages, one waiting for the other
    carries: float  # of all ranks, that come to each and are merged there

    @property
    def all(self):
        return sum(self)


def call_seconds(call, n, ranks):
    rounds = COLLECTIVES * math.ceil(math.log2(ranks)) * MESSAGE_S
    carries = (ranks - 1) * (call.carry / NETWORK + merge_seconds())
    return CallTimes(n * call.seconds_each / ranks, rounds, carries)


def half_efficient(call, n):
    """The most ranks, by powers of two, of whose time half and more is work."""
    ranks = 1
    while (times := call_seconds(call, n, 2 * ranks)).work >= times.all / 2:
        ranks *= 2
    return ranks
