# SPDX-License-Identifier: Apache-2.0
# bench/awkward_analyses.py: times whole analyses of particle physics in Awkward Array, without and with upsweep.
"""Runs each analysis of analyses/ in three ways, in turn, and compares the results:

- `awkward`: Awkward Array without upsweep.
- `kernels`: within `upsweep.awkward.kernels()`. The results must have equal bits.
- `fuse`: as a fused function. The results must be equal except for rounding.

Prints medians of wall and CPU time in ms. The CPU time is that of all threads. The fused function is called twice before, because
its first call runs in Awkward and the second one makes plans. `--threads` is the number of its threads.

With --alone each way also runs in a new process. This adds the memory in MiB: the peak of a call above the memory before it, after
two calls with a tenth of the events.

`--output` writes JSON. Needs Linux, awkward 2.14.0, correctionlib and upsweep (installed, or in PYTHONPATH).
"""

import argparse
import contextlib
import copy
import functools
import json
from pathlib import Path

import analyses
import awkward as ak
import memory
import numpy as np
import upsweep.awkward
from analyses.results import with_other_bits, with_other_values
from interleaved import medians
from upsweep.awkward import fuse


def ways_of(analysis, threads):
    """Returns contexts, and functions of events, by name."""

    def of_copy(function):
        return lambda events: function(copy.copy(events))  # the analyses set fields of their events

    return {
        "awkward": (contextlib.nullcontext, of_copy(analysis.run)),
        "kernels": (upsweep.awkward.kernels, of_copy(analysis.run)),
        "fuse": (contextlib.nullcontext, of_copy(fuse(analysis.run, threads=threads))),
    }


def added_memory(analysis, way, count, threads):
    """Returns the MiB that a call adds to the memory of this process."""
    context, function = ways_of(analysis, threads)[way]
    few, events = (analyses.made_events(n, analysis.COLLECTIONS) for n in (count // 10, count))
    with context(), np.errstate(all="ignore"):
        for _ in range(2):
            function(few)
        return memory.added(lambda: function(events), calls=1)


def measure(analysis, events, rounds, threads):
    """Returns the record of one analysis."""
    ways = ways_of(analysis, threads)
    name = analysis.__name__.rpartition(".")[2]
    for _ in range(2):
        ways["fuse"][1](events)
    runs = [(context, functools.partial(function, events)) for context, function in ways.values()]
    measured = dict(zip(ways, medians(runs, rounds)))
    expected = measured["awkward"][1]
    assert any(x.sum() for x in expected.values() if isinstance(x, np.ndarray)), f"{name}: all histograms are empty"
    for way, compare in (("kernels", with_other_bits), ("fuse", with_other_values)):
        other = compare(expected, measured[way][1])
        assert not other, f"{name}: {way}: other results: {', '.join(other)}"
    times = {f"{way}_{kind}_ms": getattr(each, kind) for way, (each, _) in measured.items() for kind in ("wall", "cpu")}
    return {"name": name, **times}


WAYS = ("awkward", "kernels", "fuse")


def header(columns):
    names = " ".join([f"{'wall':>9} {'CPU':>9} {'ratio':>5}" + f" {'MiB':>6}" * (columns - 3)] * 3)
    width = len(names) // 3
    return f"{'':18} " + " ".join(f"{way:<{width}}" for way in WAYS).rstrip() + f"\n{'analysis':18} {names}"


def line(record):
    def cells(way):
        wall, cpu = record[f"{way}_wall_ms"], record[f"{way}_cpu_ms"]
        added = f" {record[f'{way}_added_mib']:6.0f}" if f"{way}_added_mib" in record else ""
        return f"{wall:9.1f} {cpu:9.1f} {record['awkward_wall_ms'] / wall:5.2f}{added}"

    return f"{record['name']:18} {' '.join(map(cells, WAYS))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="the maximum number of threads of the fused function")
    parser.add_argument("--only", nargs="*", choices=analyses.NAMES, help="run only these analyses")
    parser.add_argument("--alone", action="store_true", help="also run each way in a new process: memory")
    parser.add_argument("--way", choices=WAYS, help="print the memory of one analysis in one way as JSON")
    parser.add_argument("--output", type=Path, help="write the results to this file as JSON")
    options = parser.parse_args()

    chosen = [x for x in analyses.modules() if not options.only or x.__name__.rpartition(".")[2] in options.only]
    if options.way:
        print(json.dumps(added_memory(chosen[0], options.way, options.events, options.threads)))
        return
    print(header(4 if options.alone else 3))
    records = []
    for analysis in chosen:
        events = analyses.made_events(options.events, analysis.COLLECTIONS)
        with np.errstate(all="ignore"):
            record = measure(analysis, events, options.rounds, options.threads)
        if options.alone:
            settings = ["--events", options.events, "--only", record["name"]]
            settings += ["--threads", options.threads] if options.threads else []
            record |= {f"{way}_added_mib": memory.in_new_process(__file__, *settings, "--way", way) for way in WAYS}
        records.append(record)
        print(line(records[-1]), flush=True)
    if options.output:
        versions = {"awkward": ak.__version__, "numpy": np.__version__}
        options.output.write_text(json.dumps({"events": options.events, **versions, "analyses": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
