# SPDX-License-Identifier: Apache-2.0
# bench/awkward_analyses.py: times whole analyses of particle physics in Awkward Array, without and with upsweep.
"""Runs each analysis of analyses/ in three ways, in turn, and compares the results:

- `awkward`: Awkward Array without upsweep.
- `kernels`: within `upsweep.awkward.kernels()`. The results must have equal bits.
- `fuse`: as a fused function. The results must be equal except for rounding.

Prints medians of wall and CPU time in ms. The CPU time is that of all threads. The fused function is called twice before, because
its first call runs in Awkward and the second one makes plans. `--threads` is the number of its threads. `--output` writes JSON. Needs awkward 2.14.0 and upsweep (installed, or in PYTHONPATH).
"""

import argparse
import contextlib
import copy
import json
from pathlib import Path

import analyses
import awkward as ak
import numpy as np
import upsweep.awkward
from analyses.results import with_other_bits, with_other_values
from interleaved import medians
from upsweep.awkward import fuse


def ways_of(analysis, events, threads):
    """Returns the runs by name."""

    def run(function):
        return lambda: function(copy.copy(events))  # the analyses set fields of their events

    fused = run(fuse(analysis.run, threads=threads))
    for _ in range(2):
        fused()
    return {
        "awkward": (contextlib.nullcontext, run(analysis.run)),
        "kernels": (upsweep.awkward.kernels, run(analysis.run)),
        "fuse": (contextlib.nullcontext, fused),
    }


def measure(analysis, events, rounds, threads):
    """Returns the record of one analysis."""
    runs = ways_of(analysis, events, threads)
    name = analysis.__name__.rpartition(".")[2]
    measured = dict(zip(runs, medians(list(runs.values()), rounds)))
    expected = measured["awkward"][1]
    assert any(x.sum() for x in expected.values() if isinstance(x, np.ndarray)), f"{name}: all histograms are empty"
    for way, compare in (("kernels", with_other_bits), ("fuse", with_other_values)):
        other = compare(expected, measured[way][1])
        assert not other, f"{name}: {way}: other results: {', '.join(other)}"
    times = {f"{way}_{kind}_ms": getattr(each, kind) for way, (each, _) in measured.items() for kind in ("wall", "cpu")}
    return {"name": name, **times}


COLUMNS = " ".join([f"{'wall':>9} {'CPU':>9} {'ratio':>5}"] * 3)
HEADER = f"{'':18} {'awkward':<25} {'kernels':<25} fuse\n{'analysis':18} {COLUMNS}"


def line(record):
    def cells(way):
        wall, cpu = record[f"{way}_wall_ms"], record[f"{way}_cpu_ms"]
        return f"{wall:9.1f} {cpu:9.1f} {record['awkward_wall_ms'] / wall:5.2f}"

    return f"{record['name']:18} {' '.join(cells(way) for way in ('awkward', 'kernels', 'fuse'))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="the maximum number of threads of the fused function")
    parser.add_argument("--only", nargs="*", choices=analyses.NAMES, help="run only these analyses")
    parser.add_argument("--output", type=Path, help="write the results to this file as JSON")
    options = parser.parse_args()

    print(HEADER)
    records = []
    for analysis in analyses.modules():
        if options.only and analysis.__name__.rpartition(".")[2] not in options.only:
            continue
        events = analyses.made_events(options.events, analysis.COLLECTIONS)
        with np.errstate(all="ignore"):
            records.append(measure(analysis, events, options.rounds, options.threads))
        print(line(records[-1]), flush=True)
    if options.output:
        versions = {"awkward": ak.__version__, "numpy": np.__version__}
        options.output.write_text(json.dumps({"events": options.events, **versions, "analyses": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
