# SPDX-License-Identifier: Apache-2.0
# bench/awkward_kernels.py: times kernels of Awkward Array and libupsweep-awkward, on Poisson(3) lists, verified.
"""Runs both in turn. Prints a table: the best wall times in ms, their ratio, and the CPU time of both. The CPU time is that of all threads.
It is still meaningful if other processes use the cores and disturb the wall times. `other bits` marks outputs that differ.

Needs awkward-cpp 57 and NumPy (pip install awkward-cpp==57 numpy).
"""

import argparse
import ctypes
import time

import awkward_cpp.cpu_kernels
import numpy as np


class Failure(ctypes.Structure):
    _fields_ = [("str", ctypes.c_char_p), ("filename", ctypes.c_char_p), ("id", ctypes.c_int64), ("attempt", ctypes.c_int64)]


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def int64(value):
    return ctypes.c_int64(value)


def cases(events):
    """Yields the name, the outputs' lengths and types, and the arguments for such outputs."""
    random = np.random.default_rng(1)
    counts = random.poisson(3, events)
    offsets = np.zeros(events + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    n = int(offsets[-1])
    starts, stops = pointer(offsets), pointer(offsets[1:])
    lists, elements = int64(events), int64(n)
    x = random.exponential(30, n)
    content = {"float64": x, "float32": x.astype(np.float32), "int64": x.astype(np.int64), "bool": x > 30}

    order = random.permutation(events)
    permuted = [offsets[:-1][order].copy(), offsets[1:][order].copy()]
    packed = np.zeros(events + 1, np.int64)
    np.cumsum(permuted[1] - permuted[0], out=packed[1:])

    kept = (np.arange(n) - np.repeat(offsets[:-1], counts))[content["bool"]]  # the indices that a mask becomes
    kept_offsets = np.zeros(events + 1, np.int64)
    np.cumsum(np.bincount(np.repeat(np.arange(events), counts)[content["bool"]], minlength=events), out=kept_offsets[1:])
    values = np.arange(events, dtype=np.int64)
    outer = np.sort(random.integers(0, events, events // 2 + 1))
    pairs = int((counts * (counts - 1) // 2).sum())
    index = np.dtype(np.int64)

    yield "ListArray64_compact_offsets_64", [(events + 1, index)], lambda out: (
        out, pointer(permuted[0]), pointer(permuted[1]), lists)  # fmt: skip
    yield "ListOffsetArray64_flatten_offsets_64", [(len(outer), index)], lambda out: (
        out, pointer(outer), int64(len(outer)), starts)  # fmt: skip
    yield "ListArray64_localindex_64", [(n, index)], lambda out: (out, starts, lists)
    yield "RegularArray_localindex_64", [(n // 3 * 3, index)], lambda out: (out, int64(3), int64(n // 3))
    yield "localindex_64", [(n, index)], lambda out: (out, elements)
    yield "ListArray64_getitem_next_range_spreadadvanced_64", [(n, index)], lambda out: (
        out, pointer(values), starts, lists)  # fmt: skip
    yield "ListOffsetArray64_reduce_local_nextparents_64", [(n, index)], lambda out: (out, starts, lists, elements)
    yield "ListArray64_broadcast_tooffsets_64", [(n, index)], lambda out: (
        out, pointer(packed), int64(events + 1), pointer(permuted[0]), pointer(permuted[1]), elements)  # fmt: skip
    yield "ListArray64_getitem_jagged_apply_64", [(events + 1, index), (len(kept), index)], lambda out, carry: (
        out, carry, pointer(kept_offsets), pointer(kept_offsets[1:]), lists, pointer(kept), int64(len(kept)), starts,
        stops, elements)  # fmt: skip
    yield "ByteMaskedArray_numnull", [(1, index)], lambda out: (
        out, pointer(content["bool"]), elements, ctypes.c_bool(True))  # fmt: skip
    places = np.arange(n, dtype=np.int64)
    some_missing = np.where(content["bool"], places, -1)
    yield "IndexedArray64_simplify64_to64", [(n, index)], lambda out: (
        out, pointer(some_missing), elements, pointer(places), elements)  # fmt: skip
    yield "IndexedArray_fill_to64_from64", [(n, index)], lambda out: (out, int64(0), pointer(some_missing), elements, int64(1))
    yield "IndexedArray_fill_to64_count", [(n, index)], lambda out: (out, int64(0), elements, int64(1))
    yield "IndexedArray64_overlay_mask8_to64", [(n, index)], lambda out: (
        out, pointer(content["bool"]), pointer(places), elements)  # fmt: skip
    yield "ListArray64_combinations_length_64", [(1, index), (events + 1, index)], lambda total, out: (
        total, out, int64(2), ctypes.c_bool(False), starts, stops, lists)  # fmt: skip
    yield "ListArray64_combinations_64", [(pairs, index), (pairs, index)], lambda left, right: (
        (ctypes.c_void_p * 2)(left.value, right.value), (ctypes.c_int64 * 2)(), (ctypes.c_int64 * 2)(), int64(2), ctypes.c_bool(False),
        starts, stops, lists)  # fmt: skip
    order = (ctypes.c_bool(True), ctypes.c_bool(True))
    for name in ("float64", "int64"):
        sorted_of = (pointer(content[name]), elements, starts, int64(events + 1), *order)
        yield f"sort_{name}", [(n, content[name].dtype)], lambda out, rest=sorted_of: (out, *rest)
        yield f"argsort_{name}_int64", [(n, index)], lambda out, rest=sorted_of: (out, *rest)
    for reducer, result, name in (
        ("sum_float64", "float64", "float64"), ("sum_float32", "float32", "float32"), ("sum_int64", "int64", "int64"),
        ("sum_float64", "float64", "int64"), ("sum_int32", "int32", "bool"), ("sum_int64", "int64", "bool"),
        ("prod_float64", "float64", "float64"), ("prod_int64", "int64", "int64"), ("sum_bool", "bool", "bool"),
        ("sum_bool", "bool", "float64"), ("prod_bool", "bool", "bool"), ("countnonzero", "int64", "bool"),
        ("countnonzero", "int64", "float64"),
    ):  # fmt: skip
        rest = (pointer(content[name]), starts, lists)
        yield f"reduce_{reducer}_{name}_64", [(events, np.dtype(result))], lambda out, rest=rest: (out, *rest)
    for name, least in (("float64", ctypes.c_double(-np.inf)), ("int64", int64(-(2**63)))):
        rest = (pointer(content[name]), starts, lists, least)
        yield f"reduce_max_{name}_{name}_64", [(events, content[name].dtype)], lambda out, rest=rest: (out, *rest)
    for name in ("float64", "float32", "int64"):
        rest = (pointer(content[name]), starts, starts, lists)
        yield f"reduce_argmax_{name}_64", [(events, index)], lambda out, rest=rest: (out, *rest)


def run(kernel, arguments):
    """Returns wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    failure = kernel(*arguments)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    if failure.str:
        raise RuntimeError(failure.str.decode())
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="load this libupsweep-awkward.so")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="run only kernels whose names contain this text")
    options = parser.parse_args()

    libraries = [ctypes.CDLL(awkward_cpp.cpu_kernels.lib._name), ctypes.CDLL(options.library)]
    print(f"{'kernel':50} {'awkward':>8} {'upsweep':>8} {'ratio':>6}   {'CPU':>8} {'CPU':>8}")
    for name, outputs, arguments in cases(options.events):
        if options.only not in name:
            continue
        kernels = [getattr(library, f"awkward_{name}") for library in libraries]
        results = [[np.ones(length, dtype) for length, dtype in outputs] for _ in kernels]
        best = [(np.inf, np.inf)] * 2
        for _ in range(options.rounds):
            for which, kernel in enumerate(kernels):
                kernel.restype = Failure
                seconds = run(kernel, arguments(*map(pointer, results[which])))
                best[which] = tuple(map(min, best[which], seconds))
        same = all(np.array_equal(a.view(np.uint8), b.view(np.uint8)) for a, b in zip(*results, strict=True))
        (wall, cpu), (our_wall, our_cpu) = best
        print(
            f"{name:50} {wall * 1e3:8.1f} {our_wall * 1e3:8.1f} {wall / our_wall:6.2f}   "
            f"{cpu * 1e3:8.1f} {our_cpu * 1e3:8.1f}"
            + ("" if same else "  other bits"),
            flush=True,
        )


if __name__ == "__main__":
    main()
