# SPDX-License-Identifier: Apache-2.0
# bench/awkward_peers.py: times operations of Awkward Array without and with upsweep, in turn, on Poisson(3) lists.
"""Prints a table of the best wall times in ms, and their ratio. Needs awkward 2.14.0 and upsweep (installed, or in PYTHONPATH).

With --gpu the arrays are CuPy's. The times are the first calls, which compile what they need, and medians of later calls.
Without upsweep, Awkward needs cuda.compute there (cuda-cccl).
"""

import argparse
import time

import awkward as ak
import gpu_times
import numpy as np
import upsweep.awkward


def lists(offsets, content):
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(content)))


def offsets_of(counts):
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def operations(events, backend):
    """Returns the operations by name, on arrays of that backend."""
    random = np.random.default_rng(1)
    counts = random.poisson(3, events)
    offsets = offsets_of(counts)
    elements = int(offsets[-1])
    pt = lists(offsets, random.exponential(30, elements))
    eta = lists(offsets, random.normal(size=elements))
    other = lists(offsets_of(random.permutation(counts)), random.normal(size=elements))
    permuted = pt[random.permutation(events)]
    with upsweep.awkward.kernels():
        mask = pt > 30
        order = ak.argsort(pt, axis=1)
        first = ak.argmax(pt, axis=1, keepdims=True)
        missing = ak.mask(pt, mask)
        records = ak.zip({"pt": pt, "eta": eta})
        several = ak.Array(counts > 2)
        arrays = (pt, eta, other, permuted, mask, order, first, missing, records, several)
        pt, eta, other, permuted, mask, order, first, missing, records, several = (
            ak.to_backend(array, backend) for array in arrays
        )
    return {
        "pt[pt > 30]": lambda: pt[pt > 30],
        "records[mask].pt": lambda: records[mask].pt,
        "sum": lambda: ak.sum(pt, axis=1),
        "prod": lambda: ak.prod(pt, axis=1),
        "max": lambda: ak.max(pt, axis=1),
        "argmax": lambda: ak.argmax(pt, axis=1),
        "any": lambda: ak.any(mask, axis=1),
        "count": lambda: ak.count(pt, axis=1),
        "mean": lambda: ak.mean(pt, axis=1),
        "var": lambda: ak.var(pt, axis=1),
        "sum with missing": lambda: ak.sum(missing, axis=1),
        "sum(axis=0)": lambda: ak.sum(pt, axis=0),
        "local_index": lambda: ak.local_index(pt),
        "combinations(2)": lambda: ak.combinations(pt, 2),
        "argcombinations(2)": lambda: ak.argcombinations(pt, 2),
        "cartesian": lambda: ak.cartesian([pt, other]),
        "sort": lambda: ak.sort(pt, axis=1),
        "argsort": lambda: ak.argsort(pt, axis=1),
        "pt[argsort]": lambda: pt[order],
        "pt[argmax(keepdims)]": lambda: pt[first],
        "pt[mask with missing]": lambda: pt[ak.mask(mask, eta > 0)],
        "pt[:, :1]": lambda: pt[:, :1],
        "pt[:, ::-1]": lambda: pt[:, ::-1],
        "pt[events]": lambda: pt[several],
        "to_packed, permuted": lambda: ak.to_packed(permuted),
        "flatten, permuted": lambda: ak.flatten(permuted),
        "permuted + permuted": lambda: permuted + permuted,
        "concatenate(axis=1)": lambda: ak.concatenate([pt, other], axis=1),
        "concatenate(axis=0)": lambda: ak.concatenate([pt, other]),
        "where": lambda: ak.where(mask, pt, eta),
        "pad_none(2)": lambda: ak.pad_none(pt, 2),
        "pad_none(2, clip)": lambda: ak.pad_none(pt, 2, clip=True),
        "fill_none": lambda: ak.fill_none(missing, 0.0),
        "drop_none": lambda: ak.drop_none(missing),
        "firsts": lambda: ak.firsts(pt),
        "num": lambda: ak.num(pt),
    }


def seconds(operation, times):
    begin = time.perf_counter()
    for _ in range(times):
        operation()
    return (time.perf_counter() - begin) / times


def print_gpu_times(events, only):
    print(gpu_times.HEADER)
    for name, operation in operations(events, "cuda").items():
        if not only or name in only:
            print(gpu_times.line(name, *gpu_times.alone_and_registered(operation)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="run only these operations")
    parser.add_argument("--gpu", action="store_true", help="run on a GPU")
    options = parser.parse_args()

    if options.gpu:
        print_gpu_times(options.events, options.only)
        return
    print(f"{'operation':24} {'awkward':>10} {'upsweep':>10} {'ratio':>6}")
    for name, operation in operations(options.events, "cpu").items():
        if options.only and name not in options.only:
            continue
        times = max(1, int(0.02 / seconds(operation, 1)))
        best = [np.inf, np.inf]
        for _ in range(options.rounds):
            for which, switch in enumerate((upsweep.awkward.unregister, upsweep.awkward.register)):
                switch()
                operation()  # brings what the switch has changed into the caches, and allocates pages
                best[which] = min(best[which], seconds(operation, times))
        upsweep.awkward.unregister()
        print(f"{name:24} {best[0] * 1e3:10.3f} {best[1] * 1e3:10.3f} {best[0] / best[1]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
