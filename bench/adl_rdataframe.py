# SPDX-License-Identifier: Apache-2.0
# bench/adl_rdataframe.py: times ADL queries 4 to 8 in Awkward Array, with upsweep, and in ROOT's RDataFrame.
"""Runs queries 4 to 8 of adl.py in several ways, in turn, and compares the histograms as adl.py does:

awkward      the query in Awkward Array, on one thread
fused        the query as a fused function
rdataframe   the query in RDataFrame, with ROOT's implicit multithreading
fused1       fused on one thread, where the others have several
rdataframe1  the query in RDataFrame without multithreading

--threads restricts the process to the first N cores that it may use. adl_rdataframe.cpp contains the queries as one
would write them for speed:

- The types of all columns are in the code. ROOT compiles it once, by ACLiC with the C++ compiler at -O3 for this CPU.
  With --cling ROOT's interpreter compiles it instead, at -O2.
- A data source reads the arrays in memory without copies. No file is read.
- They skip events that cannot pass, and compute momenta only in events that need them.
- `Take` returns the selected values, as the other ways do.

Queries 1 to 3 return columns or all elements of lists. RDataFrame has no action that returns elements as one array.

Prints medians in ms of wall and CPU time of later calls. The CPU time is that of all threads. Two times are separate:
ROOT's compilation of adl_rdataframe.cpp, and "first ms", the first call in each way, with 1,000 events.

`--output` writes JSON. Needs Linux, awkward 2.14.0, upsweep, ROOT 6.40 (`ROOT` on PyPI) and a C++ compiler.
"""

import contextlib
import functools
import json
import os
import tempfile
from pathlib import Path

import adl
import awkward as ak
import interleaved
import numpy as np
import upsweep.awkward

SOURCE = Path(__file__).with_suffix(".cpp")
NUMBERS = [4, 5, 6, 7, 8]


def compiled(in_cling):
    """Returns the module ROOT, which contains adl_rdataframe.cpp as `adl`."""
    os.environ["EXTRA_CLING_ARGS"] = "-O2"  # ROOT reads it when it is imported; its default is -O1
    import ROOT

    if in_cling:
        assert ROOT.gInterpreter.Declare(f'#include "{SOURCE}"'), f"ROOT cannot compile {SOURCE}"
        return ROOT
    ROOT.gSystem.SetFlagsOpt("-O3 -march=native")
    with tempfile.TemporaryDirectory() as folder:
        assert ROOT.gSystem.CompileMacro(str(SOURCE), "fOs", "adl_rdataframe", folder), f"ROOT cannot compile {SOURCE}"
    return ROOT


def frame_of(root, events):
    """A dataframe of events. It reads the arrays of `events`, which must be kept."""
    source = root.std.make_unique["adl::Source"](len(events["met"]))
    for name in ("pt", "phi"):
        source.add(f"met_{name}", np.asarray(events["met"][name]))
    for kind in ("jet", "muon", "electron"):
        layout = events[f"{kind}s"].layout
        for name in layout.content.fields:
            source.add(f"{kind}_{name}", layout.offsets.data, layout.content.content(name).data)
    return root.adl.frame_of(root.std.move(source))


@contextlib.contextmanager
def multithreading(root, threads):
    """ROOT's implicit multithreading. A dataframe runs only with the number of threads with which it was made."""
    root.EnableImplicitMT(threads)
    yield
    root.DisableImplicitMT()


def with_frames(root, events, threads):
    """Returns events, and their dataframes by the number of threads."""
    frames = {1: frame_of(root, events)}
    if threads > 1:
        with multithreading(root, threads):
            frames[threads] = frame_of(root, events)
    assert all(frame.GetNSlots() == count for count, frame in frames.items()), f"ROOT has no {threads} threads"
    return events, frames


def ways_of(root, number, threads):
    """Returns a context and the query, a function of events and their dataframes, by the name of the way."""
    query, _ = adl.QUERIES[number - 1]
    plain = contextlib.nullcontext
    several = functools.partial(multithreading, root, threads)
    in_root = getattr(root.adl, query.__name__)

    def fused(count):
        function = upsweep.awkward.fuse(query, threads=count)
        return lambda events, frames: function(events)

    def rdataframe(count):
        return lambda events, frames: in_root(frames[count])

    ways = {
        "awkward": (plain, lambda events, frames: query(events)),
        "fused": (plain, fused(threads)),
    }
    if threads == 1:
        return ways | {"rdataframe": (plain, rdataframe(1))}
    return ways | {
        "rdataframe": (several, rdataframe(threads)),
        "fused1": (plain, fused(1)),
        "rdataframe1": (plain, rdataframe(1)),
    }


def measure(root, number, few, many, rounds, threads):
    """Returns the times and the first time by the name of the way, after a comparison of the results.

    `few` and `many` are events and their dataframes.
    """
    _, ranges = adl.QUERIES[number - 1]
    ways = ways_of(root, number, threads)
    first = {}
    for way, (context, function) in ways.items():
        with context():
            first[way], _, _ = interleaved.timed(functools.partial(function, *few))
    runs = [(context, functools.partial(function, *many)) for context, function in ways.values()]
    measured = dict(zip(ways, interleaved.medians(runs, rounds)))
    results = {way: [np.asarray(column) for column in result] for way, (_, result) in measured.items()}
    filled = {way: adl.histograms(columns, ranges) for way, columns in results.items()}
    expected = filled["awkward"]
    assert all(each.sum() > 0 for each in expected), f"query {number}: an empty histogram"
    for way in ways:
        adl.assert_in_bins(f"query {number}: {way}", filled[way], expected)
    if "rdataframe1" in ways:  # threads append their values in any order
        ours, alone = ([np.sort(column) for column in results[way]] for way in ("rdataframe", "rdataframe1"))
        assert all(map(np.array_equal, ours, alone)), f"query {number}: RDataFrame's values differ by threads"
    return {way: (times, first[way]) for way, (times, _) in measured.items()}


def main():
    parser = adl.parser_of(__doc__)
    parser.add_argument("--threads", type=int, help="run on this number of cores; by default all")
    parser.add_argument("--cling", action="store_true", help="compile the queries by ROOT's interpreter")
    options = parser.parse_args()

    threads, numbers = adl.chosen(parser, options, NUMBERS, "written for RDataFrame")

    compile_ms, _, root = interleaved.timed(lambda: compiled(options.cling))
    few, many = (with_frames(root, adl.made_events(count), threads) for count in (1000, options.events))

    records = []
    compiler = "cling -O2" if options.cling else "ACLiC -O3"
    print(f"{threads} threads; {compiler} took {compile_ms:.0f} ms, with the import of ROOT")
    print(f"{'query':48} {'wall ms':>9} {'CPU ms':>9} {'ratio':>6} {'first ms':>9}")
    for number in numbers:
        name = adl.QUERIES[number - 1][0].__name__
        record = {"query": number, "name": name}
        measured = measure(root, number, few, many, options.rounds, threads)
        awkward = measured["awkward"][0].wall
        for way, (times, first) in measured.items():
            record[way] = {"wall_ms": times.wall, "cpu_ms": times.cpu, "first_ms": first}
            line = f"{number} {name.replace('_', ' '):34} {way:11} {times.wall:9.3f} {times.cpu:9.3f}"
            print(f"{line} {awkward / times.wall:6.2f} {first:9.1f}", flush=True)
        records.append(record)
    if options.output:
        versions = {"awkward": ak.__version__, "numpy": np.__version__, "root": root.__version__}
        whole = {"events": options.events, "threads": threads, **versions, "compiler": compiler, "compile_ms": compile_ms}
        options.output.write_text(json.dumps({**whole, "queries": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
