# SPDX-License-Identifier: Apache-2.0
# bench/scaling_model.py: predicts the times of calls on numbers of GPUs, cores and ranks that were not measured.
"""Every time is a sum of terms, such as the bytes that each GPU moves and the hand-offs from GPU to GPU. The measurements are fitted
to the terms by least squares of relative errors. One measurement is excluded from each fit, to check it. tools/figures.py shows the fits.
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
    """A measurement: the amount of each term, and the seconds of all."""

    terms: list[float]
    seconds: float


class Fit(NamedTuple):
    what: str
    seconds_of: list[float]  # the seconds of one unit of each term
    held: Point  # the excluded measurement

    def predict(self, terms):
        return sum(amount * each for amount, each in zip(terms, self.seconds_of))

    @property
    def error(self):
        return self.predict(self.held.terms) / self.held.seconds - 1


def solve(matrix, right):
    """Solves linear equations by elimination."""
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
    """Returns the seconds of one unit of each term that minimize the squares of relative errors."""
    terms_of = [[amount / point.seconds for amount in point.terms] for point in points]
    terms = range(len(terms_of[0]))
    matrix = [[sum(row[i] * row[j] for row in terms_of) for j in terms] for i in terms]
    return solve(matrix, [sum(row[i] for row in terms_of) for i in terms])


def fit(what, points, held):
    """Fits all points except `held`; `points` maps a key to each."""
    return Fit(what, fitted([point for key, point in points.items() if key != held]), points[held])


# ---- the measurements

# Bytes that each of several GPUs moves for each byte of its shard: a scan reads it twice and writes it once.
GPU_PASSES = {"scan": 3, "reduce": 1}


def gpu_terms(problem, gpus, shard_bytes):
    """Returns the bytes of each GPU, the hand-offs from each GPU to the next, and the start of a call."""
    return [GPU_PASSES[problem] * shard_bytes, gpus - 1, 1]


HELD_SHARDS = (4, 2**30)  # GPUs, and bytes of each shard


def gpu_fits():
    """Fits shards on 2 and 4 GPUs, except the excluded ones."""
    fits = []
    for problem, kind in dict.fromkeys((r["problem"], r["type"]) for r in lines("h200x4-shards") if r["problem"] in GPU_PASSES):
        points = {}
        for r in lines("h200x4-shards"):
            if (r["problem"], r["type"]) == (problem, kind) and r["gpus"] > 1:
                shard = r["elements_each"] * BYTES[kind]
                points[r["gpus"], shard] = Point(gpu_terms(problem, r["gpus"], shard), r["seconds"])
        fits.append(fit(f"{problem}, {kind}", points, HELD_SHARDS))
    return fits


# The file of each measurement, the number of elements, and the bytes that each element takes to be read and written.
ON_CORES = {
    **{f"scan, {kind}": ("xeon64-scan", {"type": kind}, 2**28, 2 * BYTES[kind]) for kind in ("int32", "float64")},
    "offsets, int32": ("xeon64-ragged", {"type": "int32", "input": None}, 2 * 10**8, 2 * BYTES["int32"] + 8),
    **{f"reduce, {kind}": ("xeon64-reduce", {"type": kind}, 5 * 10**8, BYTES[kind]) for kind in ("int32", "float64")},
    **{f"filtered_sum, {kept}": (f"xeon64-aggregate-{z}", {}, 6 * 10**7, 20) for kept, z in (("half of the rows", "z5000"), ("all rows", "z10001"))},
}
HELD_CORES = 16


def core_terms(threads, size):
    """Returns the bytes of each core, the bytes of all through one memory, and the contention, which grows with the threads."""
    return [size / threads, size, size * threads]


def on_cores(what):
    """Returns the seconds by the number of threads."""
    name, wanted, _, _ = ON_CORES[what]
    found = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    found = [r for r in found if r["status"] == "verified" and all(r[key] == value for key, value in wanted.items())]
    return {r["threads"]: r["median_s"] for r in found}


def core_fits(held=HELD_CORES):
    """Fits 1 to 64 cores of one machine, except the excluded number."""
    fits = []
    for what, (_, _, n, size) in ON_CORES.items():
        fits.append(fit(what, {t: Point(core_terms(t, n * size), s) for t, s in on_cores(what).items()}, held))
    return fits


RANK_CORES = 2


def rank_fits():
    """Fits 2, 4 and 8 ranks on two cores, which do all of the work for any number of ranks. 8 ranks are excluded."""
    found = [r for r in lines("epyc-mpi") if r["n"] == 2**26 and r["ranks"] >= RANK_CORES]
    fits = []
    for call in dict.fromkeys(r["call"] for r in found):
        points = {r["ranks"]: Point([r["n"]], r["least_s"]) for r in found if r["call"] == call}
        fits.append(fit(call, points, max(points)))
    return fits


# The number of collectives in a call. Each takes rounds of messages.
COLLECTIVES = 3


def round_fits():
    """Fits calls on empty shares and a single collective. Scans are excluded."""
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


# ---- calls over ranks, each a host like the one with 64 cores

# Assumed like MESSAGE_S, not measured: the rate at which a host receives messages, in bytes per second.
NETWORK = 12.5e9
HOST_CORES = 64
ELEMENTS = 2**40  # of all hosts


def work(*whats):
    """Returns the seconds of an element on one host, summed over all passes."""
    return sum(on_cores(what)[HOST_CORES] / ON_CORES[what][2] for what in whats)


class Call(NamedTuple):
    seconds_each: float  # per element
    carry: int  # bytes that each rank sends to the others


# As listed in docs/scaling.md: each call takes two all-reductions and one all-gather.
CALLS = {
    "inclusive_scan": Call(work("reduce, int32", "scan, int32"), 32),
    "reduce": Call(work("reduce, int32"), 24),
    "offsets": Call(work("offsets, int32", "offsets, int32"), 24),
    "filtered_sum": Call(work("filtered_sum, all rows"), 8),
}


def merge_seconds():
    """Returns the seconds to merge one carry while half of the cores merge."""
    (found,) = [r for r in lines("xeon64-mpi") if r["call"].startswith("merging") and r["ranks"] == HOST_CORES // 2]
    return found["least_s"] / found["n"]


class CallTimes(NamedTuple):
    """The seconds of a call."""

    work: float
    rounds: float  # of messages, each waiting for the previous one
    carries: float  # of all ranks, which each rank receives and merges

    @property
    def all(self):
        return sum(self)


def call_seconds(call, n, ranks):
    rounds = COLLECTIVES * math.ceil(math.log2(ranks)) * MESSAGE_S
    carries = (ranks - 1) * (call.carry / NETWORK + merge_seconds())
    return CallTimes(n * call.seconds_each / ranks, rounds, carries)


def half_efficient(call, n):
    """Returns the maximum number of ranks, a power of two, that spend at least half of the time on work."""
    ranks = 1
    while (times := call_seconds(call, n, 2 * ranks)).work >= times.all / 2:
        ranks *= 2
    return ranks
