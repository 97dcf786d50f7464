# SPDX-License-Identifier: Apache-2.0
# tests/python/awkward_operations.py: operations of Awkward Array, the arrays that they are tried on, and which kernels on a GPU each
# has to have called.
import numpy as np

import awkward as ak

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
COUNTS = {
    "poisson": lambda random: random.poisson(3, 1000),
    "mostly_empty": lambda random: random.poisson(0.1, 1000),
    "all_empty": lambda random: np.zeros(50, np.int64),
    "fixed": lambda random: np.full(500, 4),
    "long": lambda random: np.array([0, 6000, 1, 5000, 0]),
    "no_lists": lambda random: np.zeros(0, np.int64),
}


def lists(counts, content):
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(content)))


def made(pattern, dtype, seed=1):
    """Lists, a mask of theirs, and the lists in another order, also of records."""
    random = np.random.default_rng(seed)
    counts = COUNTS[pattern](random)
    values = random.integers(0, 100, counts.sum())
    x = lists(counts, (values % 2).astype(bool) if dtype == "bool" else values.astype(dtype))
    mask = lists(counts, values > 40)
    order = random.permutation(len(counts))
    return {"x": x, "mask": mask, "permuted": x[order], "records": ak.zip({"x": x, "y": x})[order]}


def reducer(name, kernel, **options):
    return lambda a: getattr(ak, name)(a["x"], axis=1, **options), {kernel}


POSITION = "awkward_NumpyArray_reduce_adjust_starts_64"
MASKED = "awkward_NumpyArray_reduce_mask_ByteMaskedArray_64"
OFFSETS = "awkward_ListArray_compact_offsets"
CHOSEN = {"awkward_ListArray_combinations_length", "awkward_ListArray_combinations"}

# Name → operation on such arrays, and the kernels.
OPERATIONS = {
    "sum": reducer("sum", "awkward_reduce_sum"),
    "sum_keepdims": reducer("sum", "awkward_reduce_sum", keepdims=True),
    "prod": reducer("prod", "awkward_reduce_prod"),
    "any": reducer("any", "awkward_reduce_sum_bool"),
    "all": reducer("all", "awkward_reduce_prod_bool"),
    "count": reducer("count", "awkward_reduce_count_64"),
    "count_nonzero": reducer("count_nonzero", "awkward_reduce_countnonzero"),
    "min": (lambda a: ak.min(a["x"], axis=1), {"awkward_reduce_min", MASKED}),
    "max": (lambda a: ak.max(a["x"], axis=1), {"awkward_reduce_max", MASKED}),
    "max_initial": reducer("max", "awkward_reduce_max", initial=50, mask_identity=False),
    "argmin": (lambda a: ak.argmin(a["x"], axis=1), {"awkward_reduce_argmin", POSITION, MASKED}),
    "argmax": (lambda a: ak.argmax(a["x"], axis=1), {"awkward_reduce_argmax", POSITION, MASKED}),
    "sort": (lambda a: ak.sort(a["x"], axis=1), {"awkward_sort"}),
    "sort_descending": (lambda a: ak.sort(a["x"], axis=1, ascending=False), {"awkward_sort"}),
    "argsort": (lambda a: ak.argsort(a["x"], axis=1), {"awkward_argsort"}),
    "argsort_descending": (lambda a: ak.argsort(a["x"], axis=1, ascending=False), {"awkward_argsort"}),
    "local_index": (lambda a: ak.local_index(a["x"]), {"awkward_ListArray_localindex"}),
    "local_index_of_events": (lambda a: ak.local_index(a["x"], axis=0), {"awkward_localindex"}),
    "to_packed": (lambda a: ak.to_packed(a["permuted"]), {OFFSETS, "pack"}),
    "flatten": (lambda a: ak.flatten(a["permuted"]), {OFFSETS, "pack"}),
    "flatten_records": (lambda a: ak.flatten(a["records"]).x, {OFFSETS, "awkward_ListArray_broadcast_tooffsets"}),
    "select": (lambda a: a["x"][a["mask"]], {"select"}),
    "select_of_records": (lambda a: ak.zip({"x": a["x"], "y": a["x"]})[a["mask"]].y, {"select"}),
    "by_argsort": (lambda a: a["x"][ak.argsort(a["x"], axis=1)], {"awkward_ListArray_getitem_jagged_apply"}),
    "combinations": (lambda a: ak.combinations(a["x"][:, :20], 2), CHOSEN),
    "combinations_of_three": (lambda a: ak.combinations(a["x"][:, :12], 3, replacement=True), CHOSEN),
    "drop_none": (lambda a: ak.drop_none(ak.mask(a["x"], a["mask"]), axis=1), {"awkward_ByteMaskedArray_getitem_nextcarry"}),
}
# Booleans have kernels of their own, whose extrema are whether all or any are true.
OF_BOOLEANS = {
    "sum": {"awkward_reduce_sum_int64_bool_64"},
    "sum_keepdims": {"awkward_reduce_sum_int64_bool_64"},
    "prod": {"awkward_reduce_prod_bool"},
    "min": {"awkward_reduce_prod_bool", MASKED},
    "max": {"awkward_reduce_sum_bool", MASKED},
    "max_initial": {"awkward_reduce_sum_bool"},
}


def kernels_of(name, pattern, dtype):
    if pattern in ("no_lists", "all_empty") and name in ("to_packed", "flatten", "flatten_records"):
        return set()  # there is nothing to do
    return OF_BOOLEANS.get(name, OPERATIONS[name][1]) if dtype == "bool" else OPERATIONS[name][1]


def assert_same(result, expected, name):
    """Equal, of the same type; products of floats but for rounding: they are multiplied in another order."""
    assert str(ak.type(result)) == str(ak.type(expected))
    if name == "prod":
        np.testing.assert_allclose(ak.to_numpy(result), ak.to_numpy(expected), rtol=1e-5)
    else:
        assert repr(result.to_list()) == repr(expected.to_list()), name  # NaN are NaN
