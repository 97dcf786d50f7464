# SPDX-License-Identifier: Apache-2.0
# bench/fuse_functions.py: times small functions in Awkward Array: without upsweep, with its kernels, and fused.
"""Times functions of one or a few calls at several numbers of events, in turn:

- `awkward`: without upsweep
- `kernels`: with upsweep.awkward.kernels()
- `fuse`: as a fused function. The results must be equal.

Prints medians of CPU time per call in us, on one core. `not fused` marks functions that the fused function passes to Awkward as a
whole. `--output` writes JSON. Needs awkward 2.14.0 and upsweep (installed, or in PYTHONPATH).
"""

import argparse
import contextlib
import json
import os
import statistics
import time
from pathlib import Path

import adl
import awkward as ak
import numpy as np
import upsweep.awkward
from upsweep.awkward import fuse

# Repetitions last at least this long, so that the clock's resolution does not matter.
SECONDS = 0.005


def made_events(count):
    columns = adl.made_events(count)
    random = np.random.default_rng(9)
    fields = {
        "run": random.integers(0, 100, count),
        "met": columns["met"].pt,
        "met_phi": columns["met"].phi,
        "weight": random.normal(1, 0.1, count),
        "is_good": random.random(count) < 0.95,
    }
    return ak.zip({**fields, "jets": columns["jets"], "muons": columns["muons"]}, depth_limit=1)


def mass_of_pairs(x):
    pairs = ak.combinations(x.muons, 2, fields=["a", "b"])
    a, b = ak.unzip(pairs)
    return np.sqrt(2 * a.pt * b.pt * (np.cosh(a.eta - b.eta) - np.cos(a.phi - b.phi)))


def cut_flow(x):
    x = x[x.is_good]
    x = x[x.met > 20]
    return x[ak.num(x.jets) >= 2]


FUNCTIONS = {
    "filter of events": lambda x: x[x.met > 50],
    "filter of events, one column": lambda x: x.met[x.met > 50],
    "filter of events, lists": lambda x: x.jets[x.met > 50],
    "filter of jets": lambda x: x.jets[x.jets.pt > 30],
    "filter of jets, one column": lambda x: x.jets.pt[abs(x.jets.eta) < 1],
    "filter of both": lambda x: x.jets[x.jets.pt > 30][ak.num(x.muons) >= 2],
    "cut flow": cut_flow,
    "fields": lambda x: (x.met, x[["met", "weight"]], x.jets.pt),
    "one product": lambda x: x.met * 2,
    "one product of jets": lambda x: x.jets.pt * 2,
    "a new field": lambda x: ak.with_field(x.jets, x.jets.pt * 1.1, "pt"),
    "zip": lambda x: ak.zip({"pt": x.jets.pt, "eta": x.jets.eta, "weight": x.weight}),
    "flatten": lambda x: ak.flatten(x.jets.pt),
    "flatten of filtered jets": lambda x: ak.flatten(x.jets.pt[x.jets.pt > 30]),
    "sort": lambda x: ak.sort(x.jets.btag, axis=1),
    "argsort": lambda x: ak.argsort(x.jets.btag, axis=1),
    "jets by btag": lambda x: x.jets[ak.argsort(x.jets.btag, axis=1, ascending=False)],
    "combinations": lambda x: ak.combinations(x.jets, 2, fields=["a", "b"]),
    "combinations of a column": lambda x: ak.combinations(x.jets.pt, 2),
    "cartesian": lambda x: ak.cartesian({"jet": x.jets, "muon": x.muons}),
    "number of jets": lambda x: ak.num(x.jets),
    "sum": lambda x: ak.sum(x.jets.pt, axis=1),
    "max": lambda x: ak.max(x.jets.pt, axis=1),
    "mean": lambda x: ak.mean(x.jets.pt, axis=1),
    "any": lambda x: ak.any(x.jets.pt > 50, axis=1),
    "leading jet": lambda x: x.jets[ak.argmax(x.jets.pt, axis=1, keepdims=True)],
    "firsts": lambda x: ak.firsts(x.jets),
    "firsts of a column": lambda x: ak.firsts(x.jets.pt),
    "two jets, filled": lambda x: ak.fill_none(ak.pad_none(x.jets.pt, 2, clip=True), -1.0),
    "padded": lambda x: ak.pad_none(x.jets.pt, 2),
    "where": lambda x: ak.where(x.jets.pt > 30, x.jets.pt, 0.0),
    "mask": lambda x: ak.mask(x.jets, x.jets.pt > 30),
    "concatenate": lambda x: ak.concatenate([x.jets.pt, x.muons.pt], axis=1),
    "first two": lambda x: x.jets[:, :2],
    "mass of pairs": mass_of_pairs,
    "broadcast": lambda x: x.jets.pt * x.weight,
    "local index": lambda x: ak.local_index(x.jets, axis=1),
}


def same(ours, theirs):
    if isinstance(theirs, tuple):
        return all(map(same, ours, theirs))
    return ak.array_equal(ours, theirs, equal_nan=True) or (
        ak.almost_equal(ours, theirs, rtol=1e-12) and str(ours.layout.form.type) == str(theirs.layout.form.type)
    )


def medians(ways, rounds):
    """CPU times per call in us of functions, which are called in turn."""
    counts = {}
    for name, (context, function) in ways.items():
        with context():
            function()
            begin = time.process_time()
            function()
            counts[name] = max(1, int(SECONDS / max(time.process_time() - begin, 1e-5)))
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (context, function) in ways.items():
            with context():
                function()
                begin = time.process_time()
                for _ in range(counts[name]):
                    function()
                times[name].append((time.process_time() - begin) / counts[name] * 1e6)
    return {name: statistics.median(each) for name, each in times.items()}


def measure(function, events, rounds):
    fused = fuse(function, threads=1)
    plain = contextlib.nullcontext
    assert same(fused(events), function(events)), "the results differ"
    ways = {
        "awkward": (plain, lambda: function(events)),
        "kernels": (upsweep.awkward.kernels, lambda: function(events)),
        "fuse": (plain, lambda: fused(events)),
    }
    return medians(ways, rounds), fused.reason


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="*", default=[10, 2_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="run only functions whose names contain one of these words")
    parser.add_argument("--output", type=Path, help="write the results to this file as JSON")
    options = parser.parse_args()

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    records = []
    for count in options.events:
        events = made_events(count)
        print(f"{count} events\n{'':30} {'awkward us':>11} {'kernels us':>11} {'fuse us':>11} {'ratio':>6}")
        for name, function in FUNCTIONS.items():
            if options.only and not any(word in name for word in options.only):
                continue
            times, reason = measure(function, events, options.rounds)
            ratio = times["awkward"] / times["fuse"]
            print(
                f"{name:30} {times['awkward']:11.1f} {times['kernels']:11.1f} {times['fuse']:11.1f} {ratio:6.2f}"
                + ("" if reason is None else " not fused"),
                flush=True,
            )
            records.append({"events": count, "name": name, "reason": reason, **times})
    if options.output:
        options.output.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
