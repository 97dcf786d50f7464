# SPDX-License-Identifier: Apache-2.0
# bench/adl.py: times eight analysis queries of particle physics (ADL) in Awkward Array, without and with upsweep.
"""Runs each query on generated events in three ways, in turn: without upsweep, with upsweep registered, and as a fused function.
Asserts equal histograms. One value in 10,000 of a fused function may be in another bin, since sines and sums may be rounded
differently.

Prints a table of medians in ms and their ratios; `--output` writes JSON. The timed work is what the query selects or
computes. The histograms are filled outside of it. Needs awkward 2.14.0 and upsweep (installed, or in PYTHONPATH).

With --gpu the events are CuPy's. The times are the first calls, which compile what they need, and medians of later calls.
The histograms are those of the CPU, except for values at the edges of bins: GPUs round sines and sums differently.
Without upsweep, Awkward needs cuda.compute there (cuda-cccl).
"""

import argparse
import contextlib
import json
import os
from pathlib import Path

import awkward as ak
import gpu_times
import interleaved
import numpy as np
import upsweep.awkward


def particles(random, events, mean, **fields):
    """Records in lists of Poisson lengths."""
    counts = random.poisson(mean, events)
    offsets = np.zeros(events + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    n = int(offsets[-1])
    columns = {
        "pt": 10 + random.exponential(30, n),
        "eta": random.normal(0, 1.5, n),
        "phi": random.uniform(-np.pi, np.pi, n),
        **{name: make(n) for name, make in fields.items()},
    }
    records = ak.contents.RecordArray([ak.contents.NumpyArray(column) for column in columns.values()], list(columns))
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), records))


def made_events(count):
    random = np.random.default_rng(8)

    def charge(n):
        return random.choice(np.array([-1, 1], np.int32), n)

    return {
        "met": ak.Array({"pt": random.exponential(30, count), "phi": random.uniform(-np.pi, np.pi, count)}),
        "jets": particles(random, count, 3.2, mass=lambda n: random.exponential(8, n), btag=lambda n: random.uniform(0, 1, n)),
        "muons": particles(random, count, 1.6, mass=lambda n: np.full(n, 0.106), charge=charge),
        "electrons": particles(random, count, 0.7, mass=lambda n: np.full(n, 0.000511), charge=charge),
    }


# ----------------------------------------------------------------------------------------------------------- kinematics


def cartesian_momenta(p):
    """px, py, pz, e of particles. The caller adds other fields."""
    px, py, pz = p.pt * np.cos(p.phi), p.pt * np.sin(p.phi), p.pt * np.sinh(p.eta)
    return {"px": px, "py": py, "pz": pz, "e": np.sqrt(px * px + py * py + pz * pz + p.mass * p.mass)}


def mass_of(px, py, pz, e):
    return np.sqrt(np.maximum(e * e - px * px - py * py - pz * pz, 0))


def pair_mass(a, b):
    return mass_of(a.px + b.px, a.py + b.py, a.pz + b.pz, a.e + b.e)


def delta_phi(a, b):
    return (a - b + np.pi) % (2 * np.pi) - np.pi


# -------------------------------------------------------------------------------------------------------------- queries


def met(events):
    return [events["met"].pt]


def jet_pt(events):
    return [ak.flatten(events["jets"].pt)]


def central_jet_pt(events):
    jets = events["jets"]
    return [ak.flatten(jets.pt[abs(jets.eta) < 1])]


def met_with_two_jets(events):
    return [events["met"].pt[ak.sum(events["jets"].pt > 40, axis=1) >= 2]]


def met_with_a_muon_pair(events):
    muons = events["muons"]
    pairs = ak.combinations(ak.zip({**cartesian_momenta(muons), "charge": muons.charge}), 2, fields=["a", "b"])
    opposite = pairs[pairs.a.charge != pairs.b.charge]
    mass = pair_mass(opposite.a, opposite.b)
    return [events["met"].pt[ak.any((mass > 60) & (mass < 120), axis=1)]]


def trijet_nearest_to_top(events):
    jets = events["jets"]
    triples = ak.combinations(ak.zip({**cartesian_momenta(jets), "btag": jets.btag}), 3, fields=["a", "b", "c"])
    a, b, c = ak.unzip(triples)
    px, py, pz, e = (a[name] + b[name] + c[name] for name in ("px", "py", "pz", "e"))
    distance = abs(mass_of(px, py, pz, e) - 172.5)
    nearest = ak.argmin(distance, axis=1, keepdims=True)
    btag = np.maximum(np.maximum(a.btag, b.btag), c.btag)
    pt = np.sqrt(px * px + py * py)
    return [ak.drop_none(ak.firsts(pt[nearest])), ak.drop_none(ak.firsts(btag[nearest]))]


def pt_of_jets_without_leptons(events):
    jets = events["jets"][events["jets"].pt > 30]
    leptons = ak.concatenate([kind[["pt", "eta", "phi"]] for kind in (events["muons"], events["electrons"])], axis=1)
    leptons = leptons[leptons.pt > 10]
    jet, lepton = ak.unzip(ak.cartesian([jets, leptons], nested=True))
    d_eta, d_phi = jet.eta - lepton.eta, delta_phi(jet.phi, lepton.phi)
    is_alone = ak.all(d_eta * d_eta + d_phi * d_phi > 0.16, axis=2)
    sums = ak.sum(jets.pt[is_alone], axis=1)
    return [sums[sums > 0]]


def transverse_mass_of_third_lepton(events):
    kinds = []
    for flavour, kind in enumerate((events["muons"], events["electrons"])):
        own = {**cartesian_momenta(kind), "pt": kind.pt, "phi": kind.phi, "charge": kind.charge}
        kinds.append(ak.zip({**own, "flavour": ak.full_like(kind.charge, flavour)}))
    leptons = ak.concatenate(kinds, axis=1)
    several = ak.num(leptons) >= 3
    leptons, met = leptons[several], events["met"][several]
    i, j = ak.unzip(ak.argcombinations(leptons, 2))
    a, b = leptons[i], leptons[j]
    fits = (a.flavour == b.flavour) & (a.charge != b.charge)
    distance = abs(pair_mass(a, b) - 91.2)[fits]
    nearest = ak.argmin(distance, axis=1, keepdims=True)
    first, second = ak.firsts(i[fits][nearest]), ak.firsts(j[fits][nearest])
    has_pair = ~ak.is_none(first)
    leptons, met, first, second = leptons[has_pair], met[has_pair], first[has_pair], second[has_pair]
    position = ak.local_index(leptons, axis=1)
    others = leptons[(position != first) & (position != second)]
    leading = ak.firsts(others[ak.argmax(others.pt, axis=1, keepdims=True)])
    squared = 2 * leading.pt * met.pt * (1 - np.cos(delta_phi(leading.phi, met.phi)))
    return [ak.drop_none(np.sqrt(squared))]


QUERIES = [
    (met, [(0, 200)]),
    (jet_pt, [(15, 60)]),
    (central_jet_pt, [(15, 60)]),
    (met_with_two_jets, [(0, 200)]),
    (met_with_a_muon_pair, [(0, 200)]),
    (trijet_nearest_to_top, [(15, 200), (0, 1)]),
    (pt_of_jets_without_leptons, [(15, 200)]),
    (transverse_mass_of_third_lepton, [(15, 250)]),
]


def histograms(columns, ranges):
    there = [ak.to_numpy(ak.to_backend(column, "cpu")) for column in columns]
    return [np.histogram(column, 100, limits)[0] for column, limits in zip(there, ranges)]


# ---------------------------------------------------------------------------------------------------------------- times


def measure(query, ranges, events, rounds):
    """Returns the medians in ms, without upsweep, with it, and fused."""
    fused = upsweep.awkward.fuse(query)
    plain = contextlib.nullcontext
    runs = [(plain, lambda: query(events)), (upsweep.awkward.kernels, lambda: query(events)), (plain, lambda: fused(events))]
    measured = interleaved.medians(runs, rounds)
    theirs, ours, of_fused = (histograms(columns, ranges) for _, columns in measured)
    assert all(each.sum() > 0 for each in theirs), f"{query.__name__}: an empty histogram"
    assert all(map(np.array_equal, theirs, ours)), f"{query.__name__}: the histograms differ"
    assert_in_bins(f"{query.__name__}: fused", of_fused, theirs)
    return [times.wall for times, _ in measured]


# At most one of this number of values may be in another bin.
MOVED_OF = 10_000


def assert_in_bins(who, ours, theirs):
    """Asserts that at most one of MOVED_OF values is in another bin."""
    count = sum(int(np.abs(a - b).sum() + 1) // 2 for a, b in zip(ours, theirs))
    total = sum(int(each.sum()) for each in theirs)
    assert count * MOVED_OF <= total, f"{who}: {count} of {total} values are in other bins"


HEADER = f"{'query':36} {'awkward ms':>10} {'upsweep ms':>10} {'ratio':>6} {'fused ms':>9} {'ratio':>6}"


def measure_on_gpu(query, ranges, events, on_gpu):
    """Returns the times of gpu_times by ways, after comparing the histograms with those of the CPU."""
    fused = upsweep.awkward.fuse(query)
    alone = upsweep.awkward.unregister
    ways = {
        "fused": (alone, lambda: fused(on_gpu)),
        "upsweep": (upsweep.awkward.register, lambda: query(on_gpu)),
        "awkward": (alone, lambda: query(on_gpu)),
    }
    measured = dict(zip(ways, gpu_times.in_turn(ways.values())))
    expected = histograms(upsweep.awkward.fuse(query)(events), ranges)
    for who, times in measured.items():
        if not times.error:
            assert_in_bins(f"{query.__name__}: {who}", histograms(times.result, ranges), expected)
    return measured


GPU_HEADER = f"""{"":{gpu_times.NAMES}} {"Awkward alone":>18} {"registered":>18} {"fused":>18}
{"ms":{gpu_times.NAMES}} {"first":>8} {"later":>9} {"first":>8} {"later":>9} {"first":>8} {"later":>9} {"ratio":>6}"""


def gpu_line(name, measured):
    """Returns a line under GPU_HEADER, and below it why times are missing."""
    awkward, registered, fused = (measured[who] for who in ("awkward", "upsweep", "fused"))
    ratio = float("nan") if awkward.error or fused.error else awkward.later / fused.later
    cells = " ".join(map(gpu_times.cell, (awkward, registered, fused)))
    return f"{name:{gpu_times.NAMES}} {cells} {ratio:6.1f}" + gpu_times.reasons(measured)


def record_of(measured):
    record = {}
    for who, times in measured.items():
        record |= {f"{who}_error": times.error} if times.error else {f"{who}_first_ms": times.first, f"{who}_ms": times.later}
    return record


def parser_of(description):
    """The options of every benchmark of the queries."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", type=int, nargs="*", help="run only queries with these numbers")
    parser.add_argument("--output", type=Path, help="write the results to this file as JSON")
    return parser


def chosen(parser, options, numbers, what):
    """Restricts the process to the first options.threads of its cores, or to all. Returns the number of threads, and the queries
    to run: options.only, or all of `numbers`, which `what` says."""
    cores = sorted(os.sched_getaffinity(0))
    threads = options.threads or len(cores)
    if not 1 <= threads <= len(cores):
        parser.error(f"--threads: 1 to {len(cores)} is needed, not {threads}")
    os.sched_setaffinity(0, cores[:threads])
    only = options.only or list(numbers)
    if not set(only) <= set(numbers):
        parser.error(f"--only: only queries {', '.join(map(str, numbers))} are {what}")
    return threads, only


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--gpu", action="store_true", help="run on a GPU")
    options = parser.parse_args()

    events = made_events(options.events)
    on_gpu = {name: ak.to_backend(array, "cuda") for name, array in events.items()} if options.gpu else None
    records = []
    print(GPU_HEADER if options.gpu else HEADER)
    for number, (query, ranges) in enumerate(QUERIES, 1):
        if options.only and number not in options.only:
            continue
        name = f"{number} {query.__name__.replace('_', ' ')}"
        if options.gpu:
            measured = measure_on_gpu(query, ranges, events, on_gpu)
            print(gpu_line(name, measured), flush=True)
            records.append({"query": number, "name": query.__name__, **record_of(measured)})
            continue
        theirs, ours, fused = measure(query, ranges, events, options.rounds)
        print(f"{name:36} {theirs:10.3f} {ours:10.3f} {theirs / ours:6.2f} {fused:9.3f} {theirs / fused:6.2f}", flush=True)
        times = {"awkward_ms": theirs, "upsweep_ms": ours, "fused_ms": fused}
        records.append({"query": number, "name": query.__name__, **times})
    if options.output:
        versions = {"awkward": ak.__version__, "numpy": np.__version__}
        options.output.write_text(json.dumps({"events": options.events, **versions, "queries": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
