# SPDX-License-Identifier: Apache-2.0
# upsweep_report/documents.py: the figures of the documents that upsweep is based on, with measurements.
from __future__ import annotations

import csv
import statistics
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple

from .drawings import DOCUMENTS
from .figures import Chart, bars, layout_of, plain_line, spans
from .results import Results, Row, machine_label


class Document(NamedTuple):
    """A document that upsweep grew from, its hardware, and the study of `upsweep bench` that measures the same."""

    study: str
    author: str
    year: str
    name: str
    published: str  # where
    hardware: str
    problem: str
    contents: str

    @property
    def title(self) -> str:
        """ "Anish Biswas (2020), scanCUDA"; the name only if it states neither author nor year."""
        return f"{self.author} ({self.year}), {self.name}" if self.author else self.name

    @property
    def source(self) -> str:
        return f"{self.title}; published: {self.hardware}."


BALKESEN = Document(
    study="balkesen2012",
    author="Cagri Balkesen",
    year="2012",
    name="Data Processing on Modern Hardware, exercise session 12",
    published="ETH Zurich, slides of 13 December 2012",
    hardware="GeForce 9500 GT, i5-750",
    problem="filtered-sum",
    contents="One SQL query on a GPU, a kernel improved step by step.",
)
DAS = Document(
    study="das2020",
    author="Pratyush Das",
    year="2020",
    name="Evaluation task for Awkward Array GSoC project",
    published="report, Institute of Engineering & Management, Kolkata",
    hardware="GeForce GTX 1070 Max-Q, i7-8750H",
    problem="offsets",
    contents="Awkward Array's compact_offsets on a GPU: one thread, threads in turn, Thrust, and a scan by hand.",
)
BISWAS = Document(
    study="biswas2020",
    author="Anish Biswas",
    year="2020",
    name="scanCUDA: GSoC 2020 CERN evaluation task",
    published="README of its repository",
    hardware="GTX 1080, i7-6900K; without transfers",
    problem="scan",
    contents="The same task by a Hillis–Steele scan, in one array and in two.",
)
AUBANEL = Document(
    study="aubanel2021",
    author="Eric Aubanel",
    year="2021",
    name="Notes on GPU Programming with Julia",
    published="notes of January 2021",
    hardware="Tesla V100-SXM2, Xeon Platinum 8260M",
    problem="subset-sum",
    contents="Subset sums by dynamic programming, a table column after column.",
)
TUTORIAL = Document(
    study="",
    author="",
    year="",
    name="Parallel Prefix Scan",
    published="a tutorial for Julia that names no author and no year",
    hardware="",
    problem="scan",
    contents="Scans by threads, vectors, Hillis–Steele and Blelloch, and what p processors should gain.",
)
DOCUMENTS_OF_UPSWEEP = (BALKESEN, DAS, BISWAS, AUBANEL, TUTORIAL)

Series = tuple[tuple[str, str, str], ...]

_CLAIM = (
    "The document says that its scan by hand is as fast as Thrust's, if not faster. Its plot used the minimum of adjacent points, "
    "with Thrust's times among those of the scan by hand. Therefore the two lines always meet. Its own numbers, drawn here, do not "
    "meet. Up to {border:,} lists the scan by hand takes {below:.2f} times Thrust's time in the median, beyond that {above:.2f} times, and "
    "single lengths between {least:.2f} and {most:.2f} times."
)
_BORDER = 20_010  # lists: one of the two scans is faster for fewer lists, the other for more

_PARALLEL = (
    "The document says that the parallel algorithm is much faster than the CPU. Without copies this is true for long inputs. Thrust takes less "
    "time at all lengths above {always:,}, {last:.1f} times less at {length:,}. For 10 lists it takes {short:.0f} times as long."
)

# For each series its label, its column in the file, and the equivalent rung.
_DAS_FIGURES = (
    (
        "Figure 5: one thread, threads in turn, and the CPU",
        "das2020_compact_offsets.csv",
        (
            ("one GPU thread", "gpu_one_thread_ns", "cuda.one_thread"),
            ("GPU threads in turn", "gpu_turn_taking_ns", "cuda.turn_taking"),
            ("CPU", "cpu_sequential_ns", "cpu.serial"),
        ),
        "",
    ),
    (
        "Figure 6: sequential and parallel on the GPU",
        "das2020_compact_offsets.csv",
        (
            ("one GPU thread", "gpu_one_thread_ns", "cuda.one_thread"),
            ("GPU threads in turn", "gpu_turn_taking_ns", "cuda.turn_taking"),
            ("Thrust", "gpu_thrust_ns", "cuda.thrust"),
        ),
        "",
    ),
    (
        "Figure 7: parallel on the GPU, and the CPU",
        "das2020_compact_offsets.csv",
        (("Thrust", "gpu_thrust_ns", "cuda.thrust"), ("CPU", "cpu_sequential_ns", "cpu.serial")),
        _PARALLEL,
    ),
    (
        "Figure 8: Thrust, and Hillis–Steele by hand",
        "das2020_thrust_vs_hillis_steele.csv",
        (
            ("Thrust", "gpu_thrust_ns", "cuda.thrust"),
            ("Hillis–Steele", "gpu_hillis_steele_ns", "cuda.hillis_steele_blocks"),
        ),
        _CLAIM,
    ),
)


# The drawings of threads in Das's report, by the equivalent rungs, and the two approaches of scanCUDA.
DRAWINGS = (
    ("Figure 1: the loop on the CPU", "offsets", "cpu.serial"),
    ("Figure 2: one thread of a GPU", "offsets", "cuda.one_thread"),
    ("Figure 3: threads of a GPU in turn", "offsets", "cuda.turn_taking"),
    ("Figure 4: all threads of a GPU at the same time", "offsets", "cuda.hillis_steele_blocks"),
    (
        "scanCUDA's first approach: Hillis–Steele in one array, two barriers a round",
        DOCUMENTS,
        "hillis_steele_in_place",
    ),
    (
        "scanCUDA's second approach: Hillis–Steele in two arrays in turn, one barrier a round",
        "offsets",
        "cuda.hillis_steele_global",
    ),
)


def read(name: str, folder: str = "published") -> list[dict[str, str]]:
    """The lines of a file of published figures, or of recorded ones."""
    text = resources.files(__package__).joinpath(folder, name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


class Here(NamedTuple):
    """The measurements of one machine."""

    rows: list[Row]
    links: dict[str, dict[str, float]]  # the bandwidth test of each of its GPUs

    def of(self, study: str, rung: str) -> list[Row]:
        """The timed rows of a rung in a study, by length; without rows of lists known to be adjacent, which no document has."""
        timed = [row for row in self.rows if (row.study, row.rung, row.input) == (study, rung, None) and row.seconds]
        own = {row.n: row for row in timed}
        return [own[n] for n in sorted(own)]

    def by_gpu(self) -> list[Here]:
        """The same machine once per GPU, each with the processor's rows: two GPUs count as two machines."""
        gpus = sorted({row.device for row in self.rows} - {"cpu"})
        if len(gpus) < 2:
            return [self]
        own = {gpu: [row for row in self.rows if row.device in ("cpu", gpu)] for gpu in gpus}
        return [Here(rows, {gpu: self.links[gpu]} if gpu in self.links else {}) for gpu, rows in own.items()]

    @property
    def label(self) -> str:
        gpus = {row.device for row in self.rows} - {"cpu"}
        return ", ".join([self.rows[0].machine, *sorted(gpus)])


class Drawn(NamedTuple):
    """A figure of a document: the published data, with the measurements of one machine."""

    title: str
    text: str
    figure: dict[str, Any]
    here: str = ""  # the text about this machine
    alone: str = "what was published"  # the label of the figure without any machine


def machines(results: list[Results]) -> list[Here]:
    """Every machine with measurements; a machine with several GPUs appears once per GPU."""
    found: dict[str, Here] = {}
    for each in results:
        if each.rows:
            known = found.setdefault(machine_label(each.machine), Here([], {}))
            links = {gpu["name"]: link for gpu, link in zip(each.machine.get("gpus") or (), each.links, strict=False)}
            found[machine_label(each.machine)] = Here(known.rows + each.rows, links | known.links)
    return [one for here in found.values() for one in here.by_gpu()]


def charts(results: list[Results]) -> list[Chart]:
    """The documents' figures for every measured machine; if there is none, only the published data."""
    apart = machines(results)
    places = [here.label for here in apart]
    made = [_chart(alone, places, each) for alone, *each in zip(_drawn(Here([], {})), *map(_drawn, apart), strict=True)]
    return [chart for chart in made if chart.choices]


def _chart(alone: Drawn, places: list[str], figures: list[Drawn]) -> Chart:
    """A chart with a choice for each machine that has measurements for it; if there is none, only the published data."""
    own = {place: each for place, each in zip(places, figures, strict=True) if each.figure != alone.figure}
    choices = {place: each.figure for place, each in own.items()}
    if not choices and alone.figure["data"]:
        choices = {alone.alone: alone.figure}
    said = [f"{place}: {each.here}" for place, each in own.items() if each.here]
    return Chart(alone.title, " ".join([alone.text, *said]), choices)


def _drawn(here: Here) -> list[Drawn]:
    return [
        *_das(here),
        _biswas(here),
        _aubanel(here),
        *_balkesen(here),
        _bandwidth(here),
        _profiler(here),
        _counters(here),
        _timeline(here),
        _tutorial(here),
        _predictions(here),
    ]


# --------------------------------------------------------------------------------------------- offsets, and scans


def _das(here: Here) -> list[Drawn]:
    found = []
    for title, file, series, claim in _DAS_FIGURES:
        lines = read(file)
        lengths = [int(line["length"]) for line in lines]
        traces = []
        for number, (name, column, rung) in enumerate(series):
            seconds = [float(line[column]) / 1e9 for line in lines]
            traces.append(plain_line(f"{name}, published", lengths, seconds, number, "dot"))
            traces += _own_line(here, DAS.study, rung, number)
        figure = {"data": traces, "layout": layout_of("lists", "time", x_type="log", y_type="log")}
        text = DAS.source
        if claim:
            text += " " + claim.format(**_published_ratios(lines, series))
        found.append(Drawn(title, text, figure, _ratio_here(here, series) if claim is _CLAIM else ""))
    return found


def _own_line(here: Here, study: str, rung: str, number: int) -> list[dict[str, Any]]:
    own = here.of(study, rung)
    return [plain_line(f"{rung}, here", [row.n for row in own], [row.seconds for row in own], number)] if own else []


def _published_ratios(lines: list[dict[str, str]], series: Series) -> dict[str, float]:
    """The times of the second of two series as multiples of the first."""
    (_, below, _), (_, above, _) = series
    ratios = {int(line["length"]): float(line[above]) / float(line[below]) for line in lines}
    return {
        "border": _BORDER,
        "below": statistics.median(ratio for length, ratio in ratios.items() if length <= _BORDER),
        "above": statistics.median(ratio for length, ratio in ratios.items() if length > _BORDER),
        "least": min(ratios.values()),
        "most": max(ratios.values()),
        "always": max((length for length, ratio in ratios.items() if ratio <= 1), default=0),
        "length": max(ratios),
        "last": ratios[max(ratios)],
        "short": 1 / ratios[min(ratios)],
    }


def _ratio_here(here: Here, series: Series) -> str:
    """How the second of two rungs compares with the first, at the lengths at which both were measured."""
    (_, _, below), (_, _, above) = series
    seconds = {row.n: row.seconds for row in here.of(DAS.study, below)}
    ratios = [row.seconds / seconds[row.n] for row in here.of(DAS.study, above) if row.n in seconds]
    return f"{statistics.median(ratios):.2f} times Thrust's time." if ratios else ""


def _biswas(here: Here) -> Drawn:
    lines = read("biswas2020_scan.csv")
    lengths = [int(line["length"]) for line in lines]
    traces = []
    for number, (name, column) in enumerate((("GTX 1080", "gtx1080_ms"), ("i7-6900K", "i7_6900k_sequential_ms"))):
        seconds = [float(line[column]) / 1e3 for line in lines]
        traces.append(plain_line(f"{name}, published", lengths, seconds, number, "dot"))
    for number, rung in enumerate(("cuda.hillis_steele_global", "cpu.serial", "cpu.lookahead", "cuda.lookahead")):
        traces += _own_line(here, BISWAS.study, rung, number)
    figure = {"data": traces, "layout": layout_of("elements", "time", x_type="log", y_type="log")}
    gpu, cpu = ([float(line[column]) for line in lines] for column in ("gtx1080_ms", "i7_6900k_sequential_ms"))
    gains = ", ".join(f"{c / g:.1f} times at {n:,}" for n, g, c in list(zip(lengths, gpu, cpu, strict=True))[-3:])
    text = f"{BISWAS.source} It says that its GPU is almost twice as fast at larger sizes. Its figures: {gains}."
    return Drawn("Scans by length", text, figure)


# ---------------------------------------------------------------------------------------------------------- subset sums


SUBSET_SUM_RUNGS = {
    "sequential": "cpu.table",
    "CuArrays": "cuda.array_ops",
    "CUDAnative kernel": "cuda.column",
    "agglomerated chunk 8": "cuda.agglomerated",
}


def subset_sums(here: Here) -> dict[str, float]:
    """Seconds for the document's ten items, by its variants."""
    return {
        variant: row.seconds
        for variant, rung in SUBSET_SUM_RUNGS.items()
        for row in here.of(AUBANEL.study, rung)
        if row.n == 10
    }


def _aubanel(here: Here) -> Drawn:
    lines = read("aubanel2021_subset_sum.csv")
    series = [("published", [(line["variant"], float(line["ms"]) / 1e3) for line in lines])]
    times = subset_sums(here)
    if times:
        series.append(("here", list(times.items())))
    published = dict(series[0][1])
    gains = f"published: {published['sequential'] / published['agglomerated chunk 8']:.0f} times from the loop to eight sums per thread"
    text = f"{AUBANEL.source} Ten integers of up to 10^7, a table of 25,000,000 sums; {gains}."
    said = ""
    if {"sequential", "agglomerated chunk 8"} <= times.keys():
        said = f"{times['sequential'] / times['agglomerated chunk 8']:.0f} times."
    return Drawn("Subset sums", text, bars(series, "time", log=True), said)


# ----------------------------------------------------------------------------------------------------------- SELECT SUM

SELECT_SUM = {
    "cpu_only": "cpu.serial",
    "simpleselect": "cuda.select",
    "selectandsum": "cuda.interleaved",
    "selectandsumopt1": "cuda.sequential",
    "selectandsumopt2": "cuda.unrolled",
    "selectandsumopt3": "cuda.two_loads",
    "reduce": "cuda.reduce_again",
    "occupancy": "cuda.occupancy",
}


def _balkesen(here: Here) -> list[Drawn]:
    """The total time, the copies, and the kernel with the sum on the host."""
    lines = read("balkesen2012_select_sum.csv")
    variants = [line["variant"] for line in lines]
    steps = (
        ("SELECT SUM, in all", "total_ms", lambda row: row.seconds),
        ("SELECT SUM, the copies", "memcpy_ms", lambda row: row.details.get("transfer_s")),
        ("SELECT SUM, kernel and host's sum", "kernel_and_cpu_sum_ms", lambda row: row.details.get("kernel_s")),
    )
    drawn = []
    for title, column, seconds in steps:
        published = [(line["variant"], float(line[column]) / 1e3) for line in lines if line[column]]
        series = [("published", published)]
        for transfer in ("pageable", "pinned", "streams"):
            own = filtered_sum(here, f"{BALKESEN.study}-{transfer}", seconds)
            if own:
                series.append((f"columns sent: {transfer}, here", own))
        if column != "memcpy_ms":
            own = filtered_sum(here, BALKESEN.study, lambda row: row.seconds)
            series += [("columns in place, here", own)] if own else []
        text = f"{BALKESEN.source} 6,001,215 rows, suppkey < 30."
        drawn.append(Drawn(title, text, bars(series, "time", log=True, order=variants)))
    return drawn


def filtered_sum(here: Here, study: str, seconds: Callable[[Row], float | None]) -> list[tuple[str, float]]:
    """Seconds by the document's variants."""
    # The last variant is the previous one with pinned memory.
    rungs = SELECT_SUM | ({"pinned": SELECT_SUM["occupancy"]} if study.endswith("-pinned") else {})
    found = [(variant, seconds(row)) for variant, rung in rungs.items() for row in here.of(study, rung)]
    return [(variant, value) for variant, value in found if value]


def published_details() -> dict[str, float]:
    return {line["measure"]: float(line["value"]) for line in read("balkesen2012_details.csv")}


def _bandwidth(here: Here) -> Drawn:
    """48 MB, a column of eight bytes: allocated, sent and fetched."""
    published = published_details()
    steps = (
        ("cudaMalloc", "cudaMalloc of 48 MB", "allocation_s", None),
        ("to the GPU", "cudaMemcpy host to device 48 MB", "to_device_pageable_s", "to_device_pinned_s"),
        ("from the GPU", "cudaMemcpy device to host 48 MB", "to_host_pageable_s", "to_host_pinned_s"),
    )
    series = [("published", [(name, published[measure] / 1e3) for name, measure, _, _ in steps])]
    for link in list(here.links.values())[:1]:
        series.append(("pageable memory, here", [(name, link[pageable]) for name, _, pageable, _ in steps]))
        series.append(("pinned memory, here", [(name, link[pinned]) for name, _, _, pinned in steps if pinned]))
    text = f"{BALKESEN.source} Its bandwidth test: 48 MB allocated and copied."
    return Drawn("Bandwidth test", text, bars(series, "time", log=True))


def _counters(here: Here) -> Drawn:
    """A kernel's properties, as the document's profiler reported them and as the runtime reports them here."""
    published = published_details()
    series = [
        (
            "selectandsumopt3, published",
            [
                ("registers per thread", published["registers per thread, opt3"]),
                ("shared memory of a block, bytes", published["shared memory per block, opt3"]),
                ("occupancy, %", 100 * published["occupancy opt3"]),
            ],
        )
    ]
    for rung in ("cuda.two_loads", "cuda.fused"):
        kernels = [row.details["kernels"] for row in here.of(BALKESEN.study, rung) if "kernels" in row.details]
        for kernel in kernels[0][:1] if kernels else ():
            series.append(
                (
                    f"{rung}, here",
                    [
                        ("registers per thread", kernel["registers"]),
                        ("shared memory of a block, bytes", kernel["shared_bytes"]),
                        ("occupancy, %", 100 * kernel["occupancy"]),
                    ],
                )
            )
    text = f"{BALKESEN.source} Registers and shared memory of its kernel with two loads, as compiled, and its occupancy."
    return Drawn("Registers, shared memory and occupancy", text, bars(series, "", log=True))


COUNTED_ON = "NVIDIA H200"

# The counts of the document's profiler: label, name in the file, the equivalent rung, and its counter in ncu.
COUNTERS = (
    ("serialized accesses, adjacent values added", "selectandsum warp serialize", "cuda.interleaved", "shared_bank_conflicts"),
    ("serialized accesses, halves added", "selectandsumopt1 warp serialize", "cuda.sequential", "shared_bank_conflicts"),
    ("instructions, the tree a loop", "instructions before opt2", "cuda.sequential", "warp_instructions"),
    ("instructions, the last warp unrolled", "instructions after opt2", "cuda.unrolled", "warp_instructions"),
)


def counted() -> list[dict[str, str]]:
    """The counts of ncu on an H200, one kernel per line."""
    return read("h200_aggregate_counters.csv", "recorded")


def counted_of(rung: str, counter: str) -> float:
    """The count of the rung's first kernel."""
    return next(float(line[counter]) for line in counted() if line["rung"] == rung)


def _profiler(_: Here) -> Drawn:
    """The counts of the document's profiler, and of ncu on an H200. `upsweep bench` counts nothing, so no other machine has counts."""
    published = published_details()
    series = [
        ("published", [(what, published[name]) for what, name, _, _ in COUNTERS]),
        (f"{COUNTED_ON}, ncu", [(what, counted_of(rung, counter)) for what, _, rung, counter in COUNTERS]),
    ]
    gains = [" and ".join(f"{values[a][1] / values[a + 1][1]:.1f}" for _, values in series) for a in (0, 2)]
    text = (
        f"{BALKESEN.source} Its profiler, and ncu for cuda.interleaved, cuda.sequential and cuda.unrolled on an {COUNTED_ON}: {gains[0]} "
        f"times fewer serialized accesses once the tree adds halves, {gains[1]} times fewer instructions once its last warp is unrolled. "
        "Two profilers do not count the same way: compare a step with the one before it. The step-by-step drawings of cuda.interleaved and "
        "cuda.sequential show the bank conflicts."
    )
    alone = f"what was published, and ncu on an {COUNTED_ON}"
    return Drawn("Profiler counters", text, bars(series, "", log=True), alone=alone)


def _timeline(here: Here) -> Drawn:
    """When each stream copies and computes: one after the other, and at the same time."""
    rung = "cuda.occupancy"
    lanes: list[tuple[str, str, float, float]] = []
    for study, name in (("pinned", "one stream"), ("streams", "stream")):
        for row in here.of(f"{BALKESEN.study}-{study}", rung)[:1]:
            for span in row.details.get("timeline", ()):
                lane = name if study == "pinned" else f"{name} {span['stream'] + 1}"
                lanes.append((lane, span["what"], span["begin_s"], span["end_s"]))
    text = (
        f"{BALKESEN.source} It draws how copies and kernels overlap in several streams, and contains no figures. Here are the steps of one run of "
        f"{rung} from pinned memory, in one stream and in four. The link sends one chunk at a time, and kernels run while it sends the next."
    )
    one, several = (here.of(f"{BALKESEN.study}-{study}", rung)[:1] for study in ("pinned", "streams"))
    said = ""
    if one and several:
        said = f"{one[0].seconds * 1e3:.2f} ms in one stream, {several[0].seconds * 1e3:.2f} ms in several."
    return Drawn("Timeline of one stream and of several", text, spans(lanes), said)


# ---------------------------------------------------------------------------------------------------- the scan tutorial


def _tutorial(here: Here) -> Drawn:
    """The tutorial's plot: time by length. Its text contains no figures to draw next to the measurements."""
    rungs = (
        "cpu.serial", "cpu.threads", "cpu.simd", "cpu.simd_threads", "cuda.hillis_steele_global", "cuda.blelloch",
        "cuda.shuffle", "cuda.thrust", "cuda.lookahead",
    )  # fmt: skip
    int32 = Here([row for row in here.rows if row.problem == "scan" and row.type == "int32"], here.links)
    lines = [line for number, rung in enumerate(rungs) for line in _own_line(int32, "sizes", rung, number)]
    traces = [line for line in lines if len(line["x"]) > 1]
    figure = {"data": traces, "layout": layout_of("elements", "time", x_type="log", y_type="log")}
    lengths = [n for line in traces for n in line["x"]]
    said = f"{_length(min(lengths))} to {_length(max(lengths))} int32." if lengths else ""
    text = f"{TUTORIAL.title}, a tutorial: its plot of scans by length, whose values it does not print."
    return Drawn("The tutorial's plot", text, figure, said)


def _length(n: int) -> str:
    """ "2^20", or all digits of a number that is not a power of two."""
    return f"2^{n.bit_length() - 1}" if n.bit_count() == 1 else f"{n:,}"


def _predictions(here: Here) -> Drawn:
    """The gain of threads, vectors and both over the loop: the tutorial's predictions and the measurements."""
    cases = [(line["case"], float(line["predicted_speedup"])) for line in read("scan_tutorial_predictions.csv")]
    vectors = next(value for case, value in cases if case.startswith("SIMD") and "threads" not in case)
    own = scans_by_threads(here)
    loop = next((row.seconds for row in own if row.rung == "cpu.serial"), None)
    drawn = [row for row in own if row.seconds and row.rung in ("cpu.threads", "cpu.simd_threads", "cpu.simd")] if loop else []
    counts = sorted({1, 2, 6, *(row.threads for row in drawn)})
    gains = [two_passes(count) for count in counts]
    traces = [
        plain_line("threads, predicted", counts, gains, 0, "dot"),
        plain_line("vectors and threads, predicted", counts, [vectors * gain for gain in gains], 1, "dot"),
        plain_line("vectors, predicted", [1], [vectors], 2, "dot"),
    ]
    for number, rung in enumerate(("cpu.threads", "cpu.simd_threads", "cpu.simd")):
        times = {row.threads: loop / row.seconds for row in drawn if row.rung == rung}
        if times:
            traces.append(plain_line(f"{rung}, here", sorted(times), [times[count] for count in sorted(times)], number))
    text = (
        f"{TUTORIAL.title}, a tutorial: p threads scan a block each and then add the total of the blocks before it. This gains p²/(2p − 1), "
        f"{two_passes(2):.2f} for two and {two_passes(6):.2f} for six. Vectors gain {vectors:g}, and both together the product. The tutorial counts "
        "additions. From memory both passes read and write every element, so memory is the limit, however fast additions are."
    )
    figure = {"data": traces, "layout": layout_of("threads", "times the loop", y_type="log")}
    return Drawn("Predicted and measured speed-ups", text, figure)


def scans_by_threads(here: Here) -> list[Row]:
    """Scans of int32 of one length: from the study of threads, otherwise the longest, on one thread and on all."""
    timed = [row for row in here.rows if (row.problem, row.type, row.device) == ("scan", "int32", "cpu") and row.seconds]
    own = [row for row in timed if row.study == "threads"] or [row for row in timed if row.study == "sizes"]
    longest = max((row.n for row in own), default=0)
    return [row for row in own if row.n == longest and row.threads]


def two_passes(threads: int) -> float:
    """The speed-up of two passes: one by all threads, and one by all but the first."""
    return threads * threads / (2 * threads - 1)
