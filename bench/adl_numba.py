# SPDX-License-Identifier: Apache-2.0
# bench/adl_numba.py: times ADL queries 5 to 8 in Awkward Array, with upsweep, and as loops in Numba.
"""Runs queries 5 to 8 of adl.py in several ways, in turn, and compares the histograms as adl.py does:

awkward      the query in Awkward Array, on one thread
kernels      the query within upsweep.awkward.kernels()
fused        the query as a fused function
numba        loops over events, compiled by Numba: prange for several threads
fused1       fused on one thread, where the others have several
numba1       the same loops without prange's threads

--threads restricts the process to the first N cores that it may use. The loops are written as one would by hand:

- They read the columns of the arrays and write results without gaps.
- They skip events that cannot pass, and compute momenta only in events that need them.

Prints medians in ms of wall and CPU time, without compilation. The CPU time is that of all threads. With --alone each way
also runs alone in a new process, which adds two columns:

first ms     the time of the first call, which compiles, with 1,000 events
MiB          the peak memory of two calls above the memory before them

`--output` writes JSON. Needs Linux, awkward 2.14.0, numba and upsweep.
"""

import contextlib
import functools
import json
import math

import adl
import awkward as ak
import interleaved
import memory
import numba
import numpy as np
import upsweep.awkward

# ----------------------------------------------------------------------------------------------------------- kinematics


@numba.njit
def longest(offsets, first, last):
    """The maximum number of elements of the lists first to last - 1."""
    most = 0
    for i in range(first, last):
        most = max(most, offsets[i + 1] - offsets[i])
    return most


@numba.njit
def write_momentum(p, pt, eta, phi, mass):
    """Writes px, py, pz and e."""
    p[0], p[1], p[2] = pt * math.cos(phi), pt * math.sin(phi), pt * math.sinh(eta)
    p[3] = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + mass * mass)


@numba.njit
def mass_of(px, py, pz, e):
    return math.sqrt(max(e * e - px * px - py * py - pz * pz, 0.0))


@numba.njit
def pair_mass(a, b):
    return mass_of(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


@numba.njit
def delta_phi(a, b):
    return (a - b + math.pi) % (2 * math.pi) - math.pi


# ---------------------------------------------------------------------------------------------------------------- loops
#
# Each loop writes the results of the events of block i to the columns of `out`, from position bounds[i] on.
# counts[i] is their number.


@numba.njit
def has_pair(p, first, last, pt, eta, phi, mass, charge):
    for i in range(first, last):
        write_momentum(p[i - first], pt[i], eta[i], phi[i], mass[i])
    for i in range(first, last):
        for j in range(i + 1, last):
            if charge[i] != charge[j] and 60 < pair_mass(p[i - first], p[j - first]) < 120:
                return True
    return False


def met_with_a_muon_pair(bounds, counts, out, met, offsets, pt, eta, phi, mass, charge):
    for block in numba.prange(len(counts)):
        p = np.empty((longest(offsets, bounds[block], bounds[block + 1]), 4))
        n = bounds[block]
        for event in range(bounds[block], bounds[block + 1]):
            first, last = offsets[event], offsets[event + 1]
            if last - first > 1 and has_pair(p, first, last, pt, eta, phi, mass, charge):
                out[0, n] = met[event]
                n += 1
        counts[block] = n - bounds[block]


def trijet_nearest_to_top(bounds, counts, out, offsets, pt, eta, phi, mass, btag):
    for block in numba.prange(len(counts)):
        p = np.empty((longest(offsets, bounds[block], bounds[block + 1]), 4))
        n = bounds[block]
        for event in range(bounds[block], bounds[block + 1]):
            first, jets = offsets[event], offsets[event + 1] - offsets[event]
            if jets < 3:
                continue
            for i in range(jets):
                write_momentum(p[i], pt[first + i], eta[first + i], phi[first + i], mass[first + i])
            nearest = np.inf
            for i in range(jets):
                for j in range(i + 1, jets):
                    for k in range(j + 1, jets):
                        px, py = p[i, 0] + p[j, 0] + p[k, 0], p[i, 1] + p[j, 1] + p[k, 1]
                        pz, e = p[i, 2] + p[j, 2] + p[k, 2], p[i, 3] + p[j, 3] + p[k, 3]
                        distance = abs(mass_of(px, py, pz, e) - 172.5)
                        if distance < nearest:
                            nearest = distance
                            out[0, n] = math.sqrt(px * px + py * py)
                            out[1, n] = max(btag[first + i], btag[first + j], btag[first + k])
            n += 1
        counts[block] = n - bounds[block]


@numba.njit
def is_alone(jet_eta, jet_phi, first, last, pt, eta, phi):
    for i in range(first, last):
        if pt[i] > 10:
            d_eta, d_phi = jet_eta - eta[i], delta_phi(jet_phi, phi[i])
            if d_eta * d_eta + d_phi * d_phi <= 0.16:
                return False
    return True


def pt_of_jets_without_leptons(
    bounds, counts, out, offsets, pt, eta, phi, muons, muon_pt, muon_eta, muon_phi,
    electrons, electron_pt, electron_eta, electron_phi
):  # fmt: skip
    for block in numba.prange(len(counts)):
        n = bounds[block]
        for event in range(bounds[block], bounds[block + 1]):
            total = 0.0
            for i in range(offsets[event], offsets[event + 1]):
                if (
                    pt[i] > 30
                    and is_alone(eta[i], phi[i], muons[event], muons[event + 1], muon_pt, muon_eta, muon_phi)
                    and is_alone(
                        eta[i], phi[i], electrons[event], electrons[event + 1], electron_pt, electron_eta, electron_phi
                    )
                ):
                    total += pt[i]
            if total > 0:
                out[0, n] = total
                n += 1
        counts[block] = n - bounds[block]


@numba.njit
def write_leptons(leptons, first, last, pt, eta, phi, mass, charge):
    """Writes px, py, pz, e, pt, phi and charge of each."""
    for i in range(first, last):
        one = leptons[i - first]
        write_momentum(one, pt[i], eta[i], phi[i], mass[i])
        one[4], one[5], one[6] = pt[i], phi[i], charge[i]


@numba.njit
def position_of_third(leptons, muons, count):
    """The position of the lepton with the highest pt outside of the pair nearest to Z, or -1 if there is no pair."""
    nearest, first, second = np.inf, -1, -1
    for i in range(count):
        for j in range(i + 1, count):
            if (i < muons) == (j < muons) and leptons[i, 6] != leptons[j, 6]:
                distance = abs(pair_mass(leptons[i], leptons[j]) - 91.2)
                if distance < nearest:
                    nearest, first, second = distance, i, j
    third = -1
    if first >= 0:
        for i in range(count):
            if i != first and i != second and (third < 0 or leptons[i, 4] > leptons[third, 4]):
                third = i
    return third


def transverse_mass_of_third_lepton(
    bounds, counts, out, met_pt, met_phi, muons, muon_pt, muon_eta, muon_phi, muon_mass, muon_charge,
    electrons, electron_pt, electron_eta, electron_phi, electron_mass, electron_charge
):  # fmt: skip
    for block in numba.prange(len(counts)):
        begin, end = bounds[block], bounds[block + 1]
        leptons = np.empty((longest(muons, begin, end) + longest(electrons, begin, end), 7))
        n = begin
        for event in range(begin, end):
            of_muons = muons[event + 1] - muons[event]
            count = of_muons + electrons[event + 1] - electrons[event]
            if count < 3:
                continue
            write_leptons(leptons, muons[event], muons[event + 1], muon_pt, muon_eta, muon_phi, muon_mass, muon_charge)
            write_leptons(
                leptons[of_muons:], electrons[event], electrons[event + 1], electron_pt, electron_eta, electron_phi,
                electron_mass, electron_charge
            )  # fmt: skip
            third = position_of_third(leptons, of_muons, count)
            if third >= 0:
                angle = delta_phi(leptons[third, 5], met_phi[event])
                out[0, n] = math.sqrt(2 * leptons[third, 4] * met_pt[event] * (1 - math.cos(angle)))
                n += 1
        counts[block] = n - begin


# ---------------------------------------------------------------------------------------------------------------- calls


def columns_of(particles, *names):
    """The offsets, and the columns of these names, without copies."""
    layout = particles.layout
    return (layout.offsets.data, *(layout.content.content(name).data for name in names))


KINEMATICS = ("pt", "eta", "phi", "mass")

# The loop of each query by number, its arguments and the number of its columns.
LOOPS = {
    5: (met_with_a_muon_pair, lambda e: (np.asarray(e["met"].pt), *columns_of(e["muons"], *KINEMATICS, "charge")), 1),
    6: (trijet_nearest_to_top, lambda e: columns_of(e["jets"], *KINEMATICS, "btag"), 2),
    7: (
        pt_of_jets_without_leptons,
        lambda e: [x for kind in ("jets", "muons", "electrons") for x in columns_of(e[kind], *KINEMATICS[:3])],
        1,
    ),
    8: (
        transverse_mass_of_third_lepton,
        lambda e: [
            *(np.asarray(e["met"][name]) for name in ("pt", "phi")),
            *(x for kind in ("muons", "electrons") for x in columns_of(e[kind], *KINEMATICS, "charge")),
        ],
        1,
    ),
}

# Blocks for each thread. Threads take them one at a time, so that a thread that is held up delays the others little.
BLOCKS = 8


def in_numba(number, threads):
    """Returns query `number` of adl.py as a function that runs a loop on this number of threads."""
    loop, arguments, width = LOOPS[number]
    compiled = numba.njit(parallel=threads > 1)(loop)

    def query(events):
        count = len(events["met"])
        blocks = threads * BLOCKS if threads > 1 else 1
        bounds = np.linspace(0, count, blocks + 1).astype(np.int64)
        counts = np.empty(blocks, np.int64)
        out = np.empty((width, count))
        numba.set_num_threads(threads)
        with numba.parallel_chunksize(1):
            compiled(bounds, counts, out, *arguments(events))
        if blocks == 1:
            return list(out[:, : counts[0]])
        parts = [slice(first, first + n) for first, n in zip(bounds, counts)]
        return [np.concatenate([column[part] for part in parts]) for column in out]

    return query


def ways_of(number, threads):
    """Returns a context and the query by the name of the way."""
    query, _ = adl.QUERIES[number - 1]
    plain = contextlib.nullcontext
    ways = {
        "awkward": (plain, query),
        "kernels": (upsweep.awkward.kernels, query),
        "fused": (plain, upsweep.awkward.fuse(query, threads=threads)),
        "numba": (plain, in_numba(number, threads)),
    }
    if threads > 1:
        ways |= {"fused1": (plain, upsweep.awkward.fuse(query, threads=1)), "numba1": (plain, in_numba(number, 1))}
    return ways


def measure(number, events, rounds, threads):
    """Returns the times by the name of the way, after a comparison of the results."""
    _, ranges = adl.QUERIES[number - 1]
    ways = ways_of(number, threads)
    measured = interleaved.medians(
        [(context, functools.partial(function, events)) for context, function in ways.values()], rounds
    )
    results = {way: result for way, (_, result) in zip(ways, measured)}
    filled = {way: adl.histograms(columns, ranges) for way, columns in results.items()}
    expected = filled["awkward"]
    assert all(each.sum() > 0 for each in expected), f"query {number}: an empty histogram"
    assert all(map(np.array_equal, expected, filled["kernels"])), f"query {number}: the histograms differ"
    for way in ways:
        adl.assert_in_bins(f"query {number}: {way}", filled[way], expected)
    if "numba1" in ways:
        assert all(map(np.array_equal, results["numba"], results["numba1"])), f"query {number}: loops differ by threads"
    return {way: times for way, (times, _) in zip(ways, measured)}


def alone(number, way, count, threads):
    """Returns the time of the first call in ms, and the MiB that two calls add to the memory of this process."""
    events = adl.made_events(count)
    few = {name: array[:1000] for name, array in events.items()}
    context, function = ways_of(number, threads)[way]
    with context():
        first, _, _ = interleaved.timed(lambda: function(few))
        return {"first_ms": first, "added_mib": memory.added(lambda: function(events))}


def main():
    parser = adl.parser_of(__doc__)
    parser.add_argument("--threads", type=int, help="run on this number of cores; by default all")
    parser.add_argument("--alone", action="store_true", help="also run each way in a new process: first call, memory")
    parser.add_argument("--way", help="print the first call's time and the memory of one query in one way as JSON")
    options = parser.parse_args()

    threads, numbers = adl.chosen(parser, options, LOOPS, "loops in Numba")
    if options.way:
        print(json.dumps(alone(numbers[0], options.way, options.events, threads)))
        return

    events = adl.made_events(options.events)
    records = []
    print(f"{threads} threads\n{'query':45} {'wall ms':>9} {'CPU ms':>9} {'ratio':>6} {'first ms':>9} {'MiB':>9}")
    for number in numbers:
        name = adl.QUERIES[number - 1][0].__name__
        record = {"query": number, "name": name}
        times = measure(number, events, options.rounds, threads)
        for way, each in times.items():
            record[way] = {"wall_ms": each.wall, "cpu_ms": each.cpu}
            ratio = times["awkward"].wall / each.wall
            line = f"{number} {name.replace('_', ' '):34} {way:8} {each.wall:9.3f} {each.cpu:9.3f} {ratio:6.2f}"
            if options.alone:
                settings = ("--events", options.events, "--threads", threads, "--only", number, "--way", way)
                record[way] |= memory.in_new_process(__file__, *settings)
                line += f" {record[way]['first_ms']:9.1f} {record[way]['added_mib']:9.1f}"
            print(line, flush=True)
        records.append(record)
    if options.output:
        versions = {"awkward": ak.__version__, "numpy": np.__version__, "numba": numba.__version__}
        whole = {"events": options.events, "threads": threads, **versions, "queries": records}
        options.output.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
