# SPDX-License-Identifier: Apache-2.0
# upsweep_report/tables.py: the tables of the documents, with columns of measured values next to the published ones.
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .documents import (
    AUBANEL,
    BALKESEN,
    BISWAS,
    COUNTED_ON,
    COUNTERS,
    SELECT_SUM,
    SUBSET_SUM_RUNGS,
    TUTORIAL,
    Here,
    counted,
    counted_of,
    filtered_sum,
    machines,
    published_details,
    read,
    scans_by_threads,
    subset_sums,
)
from .results import Results, Row

Value = str | float | None  # None: not published, or not measured


class Column(NamedTuple):
    name: str
    place: str  # "GTX 1080, published", or the machine here
    unit: str  # "s", "GB/s", "times", "" of counts, "text"
    values: Sequence[Value]  # one per line


class Table(NamedTuple):
    title: str
    text: str
    columns: list[Column]  # the first names the lines

    @property
    def lines(self) -> list[list[tuple[Value, str]]]:
        """For each line, every value with its unit."""
        return [[(column.values[at], column.unit) for column in self.columns] for at in range(len(self.columns[0].values))]


def tables(results: list[Results]) -> list[Table]:
    here = machines(results)
    return [
        _scans(here),
        _subset_sums(here),
        _filtered_sum(here),
        _bandwidth(here),
        _counters(here),
        _kernels(),
        _predictions(here),
    ]


def _with(first: list[Column], measured: Iterable[Column]) -> list[Column]:
    """All columns, except empty ones, and except the processor's second columns if a machine has two GPUs."""
    there = {(column.name, column.place): column for column in measured if any(value is not None for value in column.values)}
    return [*first, *there.values()]


def _labels(name: str, values: Sequence[Value], unit: str = "text") -> Column:
    return Column(name, "", unit, values)


def _numbers(lines: list[dict[str, str]], key: str, scale: float = 1) -> list[Value]:
    return [float(line[key]) * scale if line[key] else None for line in lines]


def _place(here: Here, rung: str) -> str:
    """The place of a rung: the processor or the GPU."""
    gpus = sorted({row.device for row in here.rows} - {"cpu"})
    return gpus[0] if gpus and rung.startswith("cuda.") else here.rows[0].machine


# --------------------------------------------------------------------------------------------------- scans, subset sums


def _scans(here: list[Here]) -> Table:
    lines = read("biswas2020_scan.csv")
    lengths = [int(line["length"]) for line in lines]
    columns = [
        _labels("elements", lengths, ""),
        Column("on the GPU", "GTX 1080, published", "s", _numbers(lines, "gtx1080_ms", 1e-3)),
        Column("on the CPU", "i7-6900K, published", "s", _numbers(lines, "i7_6900k_sequential_ms", 1e-3)),
    ]
    measured = []
    for one in here:
        for rung in ("cuda.hillis_steele_global", "cpu.serial", "cpu.lookahead", "cuda.lookahead"):
            seconds = {row.n: row.seconds for row in one.of(BISWAS.study, rung)}
            measured.append(Column(rung, _place(one, rung), "s", [seconds.get(n) for n in lengths]))
    text = f"{BISWAS.title}: its table of sizes. cuda.hillis_steele_global is its second approach, cuda.lookahead the top rung."
    return Table("Scans by length", text, _with(columns, measured))


def _subset_sums(here: list[Here]) -> Table:
    lines = read("aubanel2021_subset_sum.csv")
    variants = [line["variant"] for line in lines]
    published = _numbers(lines, "ms", 1e-3)
    columns = [
        _labels("variant", variants),
        _labels("rung here", [SUBSET_SUM_RUNGS.get(variant) for variant in variants]),
        _labels("published on", [line["device"] for line in lines]),
        Column("time", "published", "s", published),
        Column("speed-up", "published", "times", _gains(published)),
    ]
    measured = []
    for one in here:
        times = subset_sums(one)
        seconds = [times.get(variant) for variant in variants]
        measured += [Column("time", one.label, "s", seconds), Column("speed-up", one.label, "times", _gains(seconds))]
    text = f"{AUBANEL.title}: ten integers up to 10^7, every sum up to 25,000,000. Speed-ups are over the sequential loop."
    return Table("Subset sums", text, _with(columns, measured))


def _gains(seconds: Sequence[Value]) -> list[Value]:
    return [seconds[0] / each if seconds[0] and each else None for each in seconds]


# ----------------------------------------------------------------------------------------------------------- SELECT SUM

_STEPS: tuple[tuple[str, str, Callable[[Row], float | None]], ...] = (
    ("in all", "total_ms", lambda row: row.seconds),
    ("copies", "memcpy_ms", lambda row: row.details.get("transfer_s")),
    ("kernel and host's sum", "kernel_and_cpu_sum_ms", lambda row: row.details.get("kernel_s")),
)


def _filtered_sum(here: list[Here]) -> Table:
    lines = read("balkesen2012_select_sum.csv")
    variants = [line["variant"] for line in lines]
    hardware = f"{BALKESEN.hardware}, published"
    columns = [
        _labels("variant", variants),
        _labels("rung here", [SELECT_SUM.get(variant, SELECT_SUM["occupancy"]) for variant in variants]),
        *(Column(name, hardware, "s", _numbers(lines, key, 1e-3)) for name, key, _ in _STEPS),
    ]
    measured = []
    for one in here:
        for transfer in ("pageable", "pinned", "streams"):
            for name, _, seconds in _STEPS:
                times = dict(filtered_sum(one, f"{BALKESEN.study}-{transfer}", seconds))
                measured.append(Column(f"{name}, {_SENT[transfer]}", one.label, "s", [times.get(each) for each in variants]))
        times = dict(filtered_sum(one, BALKESEN.study, lambda row: row.seconds))
        measured.append(Column("in all, columns in place", one.label, "s", [times.get(each) for each in variants]))
    text = f"{BALKESEN.title}: 6,001,215 rows, suppkey < 30. Columns in place are not copied."
    return Table("SELECT SUM", text, _with(columns, measured))


_SENT = {"pageable": "from pageable memory", "pinned": "from pinned memory", "streams": "in streams"}


def _bandwidth(here: list[Here]) -> Table:
    published = published_details()
    hardware = f"{BALKESEN.hardware}, published"
    calls = ("cudaMalloc of", "cudaMemcpy host to device", "cudaMemcpy device to host")
    rates = [None, published["host to device throughput"], published["device to host throughput"]]
    columns = [
        _labels("48 MB", ["allocation", "copy to the GPU", "copy from the GPU"]),
        Column("time", hardware, "s", [published[f"{call} 48 MB"] / 1e3 for call in calls]),
        Column("rate", hardware, "GB/s", rates),
    ]
    measured = []
    for one in here:
        for link in list(one.links.values())[:1]:
            for memory in ("pageable", "pinned"):
                copies = [link[f"to_device_{memory}_s"], link[f"to_host_{memory}_s"]]
                times = [link["allocation_s"] if memory == "pageable" else None, *copies]
                measured.append(Column(f"time, {memory} memory", one.label, "s", times))
                rates = [None, *(link["bytes"] / seconds / 1e9 if "bytes" in link and seconds else None for seconds in copies)]
                measured.append(Column(f"rate, {memory} memory", one.label, "GB/s", rates))
    text = f"{BALKESEN.title}: its bandwidth test, a column of eight bytes for each row. Its memory was pageable."
    return Table("Bandwidth test", text, _with(columns, measured))


# ------------------------------------------------------------------------------------------------------------- counters


Read = Callable[[Row], float | None]


def _kernel(what: str) -> Read:
    """Reads a property of the first kernel that a rung launches, as the runtime reports it."""
    return lambda row: next((kernel[what] for kernel in row.details.get("kernels", ())), None)


def _fetched_ms(row: Row) -> float | None:
    times = [span["end_s"] - span["begin_s"] for span in row.details.get("timeline", ()) if span["what"] == "fetch"]
    return sum(times) * 1e3 if times else None


# Facts that do not come from a profiler. Each has a label, its name in the file, the equivalent rung, the study that
# measures it, and a function that reads it.
_FACTS: tuple[tuple[str, str, str, str, Read], ...] = (
    ("registers of a thread", "registers per thread, opt3", "cuda.two_loads", "", _kernel("registers")),
    ("shared memory of a block, bytes", "shared memory per block, opt3", "cuda.two_loads", "", _kernel("shared_bytes")),
    ("occupancy", "occupancy opt3", "cuda.two_loads", "", _kernel("occupancy")),
    ("occupancy, fewer registers", "occupancy with maxrregcount 10", "cuda.occupancy", "", _kernel("occupancy")),
    ("products copied to the host, ms", "device to host copy before selectandsum", "cuda.select", "-pageable", _fetched_ms),
    (
        "sums of blocks copied to the host, ms",
        "device to host copy after selectandsum",
        "cuda.interleaved",
        "-pageable",
        _fetched_ms,
    ),
)


def _counters(here: list[Here]) -> Table:
    published = published_details()
    nothing: list[Value] = [None] * len(_FACTS)
    columns = [
        _labels("what", [what for what, *_ in COUNTERS] + [what for what, *_ in _FACTS]),
        _labels("rung here", [rung for _, _, rung, _ in COUNTERS] + [rung for _, _, rung, *_ in _FACTS]),
        Column("figure", f"{BALKESEN.hardware}, published", "", [published[name] for _, name, *_ in (*COUNTERS, *_FACTS)]),
        Column("ncu count", COUNTED_ON, "", [counted_of(rung, counter) for *_, rung, counter in COUNTERS] + nothing),
    ]
    measured = []
    for one in here:
        found = [next(map(read, one.of(BALKESEN.study + study, rung)), None) for _, _, rung, study, read in _FACTS]
        measured.append(Column("measured", one.label, "", [None] * len(COUNTERS) + found))
    text = (
        f"{BALKESEN.title}: its profiler's counts, and its copies to the host. Two profilers do not count the same way: compare a step with "
        "the one before it."
    )
    return Table("Counters", text, _with(columns, measured))


def _kernels() -> Table:
    lines = counted()
    counts = (
        ("threads of a block", "block_threads"),
        ("registers", "registers"),
        ("bank conflicts", "shared_bank_conflicts"),
        ("instructions of warps", "warp_instructions"),
    )
    columns = [
        _labels("kernel", [line["kernel"] for line in lines]),
        _labels("rung", [line["rung"] for line in lines]),
        *(Column(name, "", "", _numbers(lines, key)) for name, key in counts),
        Column("time", "", "s", _numbers(lines, "us", 1e-6)),
    ]
    text = f"Every kernel of the ladder of filtered-sum, counted by ncu on an {COUNTED_ON}: 6,001,215 rows, key < 30, caches empty before each."
    return Table("Counters of every kernel here", text, columns)


# ---------------------------------------------------------------------------------------------------------- predictions


def _predictions(here: list[Here]) -> Table:
    # The document's cases, each with the equivalent rung and number of threads.
    cases = {
        "2 processors": ("cpu.threads", 2),
        "6 processors": ("cpu.threads", 6),
        "SIMD int32 AVX-2": ("cpu.simd", 1),
        "SIMD and 6 threads": ("cpu.simd_threads", 6),
    }
    lines = read("scan_tutorial_predictions.csv")
    columns = [
        _labels("case", [line["case"] for line in lines]),
        _labels("rung here", [f"{rung}, threads: {threads}" for rung, threads in (cases[line["case"]] for line in lines)]),
        Column("speed-up", "predicted", "times", _numbers(lines, "predicted_speedup")),
    ]
    measured = []
    for one in here:
        rows = scans_by_threads(one)
        loop = next((row.seconds for row in rows if row.rung == "cpu.serial"), None)
        gains = {(row.rung, row.threads): loop / row.seconds for row in rows if loop and row.seconds}
        measured.append(Column("speed-up", one.rows[0].machine, "times", [gains.get(cases[line["case"]]) for line in lines]))
    text = (
        f"{TUTORIAL.title}, a tutorial: the speed-up over the loop, as predicted from numbers of additions, and as measured for the "
        "longest scan of int32. The chart has other numbers of threads."
    )
    return Table("Predicted and measured speed-ups", text, _with(columns, measured))
