# SPDX-License-Identifier: Apache-2.0
# bench/adl_histograms.py: times the ADL queries with histograms: unfused, fused, and fused with histograms.
"""Runs each query of adl.py in three ways, in turn, and asserts equal bins:

unfused      the query in Awkward Array, and `fill` of boost-histogram
arrays       the fused query, whose arrays are filled into the histograms outside of it
histograms   a fused function that contains the query and `fill`

Prints medians in ms of wall and CPU time. Then runs each way alone in a new process, and prints the MiB by which its peak
memory exceeds the memory before it. `--output` writes JSON. Needs Linux, awkward 2.14.0, boost-histogram and upsweep.
"""

import contextlib
import json

import adl
import awkward as ak
import boost_histogram as bh
import interleaved
import memory
import numpy as np
from upsweep.awkward import fuse

WAYS = ("unfused", "arrays", "histograms")


def fill_all(query, ranges, events):
    made = []
    for column, (low, high) in zip(query(events), ranges):
        histogram = bh.Histogram(bh.axis.Regular(100, low, high))
        histogram.fill(column)
        made.append(histogram)
    return made


def run_of(way, query, ranges, events):
    """A function without arguments that returns the histograms."""
    if way == "unfused":
        return lambda: fill_all(query, ranges, events)
    if way == "arrays":
        fused = fuse(query)
        return lambda: fill_all(fused, ranges, events)
    fused = fuse(lambda events: fill_all(query, ranges, events))

    def run():
        made = fused(events)
        assert fused.reason is None, fused.reason
        return made

    return run


def assert_equal(made, query):
    for theirs, ours in zip(made[0], made[1]):
        assert theirs.sum() > 0, f"{query.__name__}: an empty histogram"
        assert np.array_equal(theirs.view(flow=True), ours.view(flow=True)), f"{query.__name__}: the histograms differ"


def added_memory(number, way, count):
    """Returns the MiB that two calls add to the memory of this process."""
    query, ranges = adl.QUERIES[number - 1]
    events = adl.made_events(count)
    few = {name: array[:1000] for name, array in events.items()}
    run_of(way, query, ranges, few)()  # imports, and allocates what does not depend on the number of events
    return memory.added(run_of(way, query, ranges, events))


def main():
    parser = adl.parser_of(__doc__)
    parser.add_argument("--memory", nargs=2, metavar=("QUERY", "WAY"), help="print the memory of one query in one way as JSON")
    options = parser.parse_args()
    if options.memory:
        number, way = options.memory
        print(json.dumps(added_memory(int(number), way, options.events)))
        return

    events = adl.made_events(options.events)
    records = []
    head = "".join(f" {way:>10}" for way in WAYS)
    print(f"{'':36} {'wall ms':<33} {'CPU ms':<33} {'MiB':<33}\n{'query':36}{3 * head}")
    for number, (query, ranges) in enumerate(adl.QUERIES, 1):
        if options.only and number not in options.only:
            continue
        runs = [(contextlib.nullcontext, run_of(way, query, ranges, events)) for way in WAYS]
        measured = interleaved.medians(runs, options.rounds)
        for _, made in measured[1:]:
            assert_equal((measured[0][1], made), query)
        wall, cpu = [times.wall for times, _ in measured], [times.cpu for times, _ in measured]
        added = [memory.in_new_process(__file__, "--events", options.events, "--memory", number, way) for way in WAYS]
        name = f"{number} {query.__name__.replace('_', ' ')}"
        print(f"{name:36}" + "".join(f" {x:10.2f}" for x in (*wall, *cpu, *added)), flush=True)
        record = {"query": number, "name": query.__name__}
        for i, way in enumerate(WAYS):
            record |= {f"{way}_ms": wall[i], f"{way}_cpu_ms": cpu[i], f"{way}_added_mib": added[i]}
        records.append(record)
    if options.output:
        versions = {"awkward": ak.__version__, "numpy": np.__version__, "boost_histogram": bh.__version__}
        options.output.write_text(json.dumps({"events": options.events, **versions, "queries": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
