# SPDX-License-Identifier: Apache-2.0
# tests/python/awkward_operations.py: operations of Awkward Array, the arrays that they are tested with, and the GPU
# kernels that each of them must call.
import awkward as ak
import numpy as np

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
    """Makes lists, a mask for them, the lists in another order (also as records), and lists of other lengths. Also
    factors, whose products are neither too large nor too small in any order."""
    random = np.random.default_rng(seed)
    counts = COUNTS[pattern](random)
    values = random.integers(0, 100, counts.sum())
    x = lists(counts, (values % 2).astype(bool) if dtype == "bool" else values.astype(dtype))
    mask = lists(counts, values > 40)
    order = random.permutation(len(counts))
    factors = x if dtype == "bool" else lists(counts, np.exp2(random.normal(size=len(values))).astype(dtype))
    other = lists(random.permutation(counts), x.layout.content.data[::-1].copy())
    records = ak.zip({"x": x, "y": x})[order]
    return {"x": x, "mask": mask, "permuted": x[order], "records": records, "factors": factors, "other": other}


def reducer(name, kernel, **options):
    return lambda a: getattr(ak, name)(a["x"], axis=1, **options), {kernel}


POSITION = "awkward_NumpyArray_reduce_adjust_starts_64"
MASKED = "awkward_NumpyArray_reduce_mask_ByteMaskedArray_64"
OFFSETS = "awkward_ListArray_compact_offsets"
CHOSEN = {"awkward_ListArray_combinations_length", "awkward_ListArray_combinations"}

SLICE = "awkward_ListArray_getitem_jagged"
RANGE = {"awkward_ListArray_getitem_next_range", "awkward_ListArray_getitem_next_range_carrylength"}
RANGES = [
    slice(None, 1), slice(1, None), slice(None, None, -1), slice(None, None, 2), slice(-2, None), slice(None, -2),
    slice(5, 1, -2), slice(-1, -4, -1), slice(1, 3), slice(3, 1), slice(-100, 100, 3), slice(100, -100, -3),
]  # fmt: skip


def missing(arrays):
    return ak.mask(arrays["x"], arrays["mask"])


def indexed(arrays):
    """Missing elements, represented by an index."""
    return ak.drop_none(ak.pad_none(missing(arrays), 3), axis=0)


def firsts_by_argmax(arrays):
    return ak.drop_none(ak.firsts(arrays["x"][ak.argmax(arrays["x"], axis=1, keepdims=True)]))


def of_lists_or_none(arrays):
    lists = ak.mask(arrays["x"], ak.num(arrays["x"]) != 2)
    return lists[ak.argmax(lists, axis=1, keepdims=True)]


def by_lists_or_none(arrays):
    """Lists of positions, which are missing for empty lists."""
    lists = arrays["x"]
    positions = ak.local_index(lists)[ak.num(lists) > 0]
    return lists[ak.num(lists) > 0][ak.mask(positions, ak.num(positions) > 2)]


# Maps a name to the operation on such arrays, and to the kernels.
OPERATIONS = {
    "sum": reducer("sum", "awkward_reduce_sum"),
    "sum_keepdims": reducer("sum", "awkward_reduce_sum", keepdims=True),
    "prod": (lambda a: ak.prod(a["factors"], axis=1), {"awkward_reduce_prod"}),
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
    "fill_none": (lambda a: ak.fill_none(missing(a), 1), {"awkward_UnionArray_fillna", "awkward_UnionArray_simplify_one"}),
    "sum_of_missing": (lambda a: ak.sum(missing(a), axis=1), {"awkward_ByteMaskedArray_reduce_next_64"}),
    "sum_of_indexed": (lambda a: ak.sum(indexed(a), axis=1), {"awkward_IndexedArray_reduce_next_64"}),
    "drop_all_none": (lambda a: ak.drop_none(missing(a)), {"awkward_ListOffsetArray_drop_none_indexes"}),
    "by_argmax": (lambda a: a["x"][ak.argmax(a["x"], axis=1, keepdims=True)], {f"{SLICE}_numvalid", f"{SLICE}_shrink"}),
    "by_missing": (lambda a: a["x"][ak.mask(a["mask"], a["x"] > 20)], {f"{SLICE}_numvalid", f"{SLICE}_shrink"}),
    "by_lists_or_none": (by_lists_or_none, {"awkward_Content_getitem_next_missing_jagged_getmaskstartstop"}),
    "firsts_by_argmax": (firsts_by_argmax, {"awkward_IndexedArray_numnull", "awkward_IndexedArray_flatten_nextcarry"}),
    "of_lists_or_none": (of_lists_or_none, {"awkward_MaskedArray_getitem_next_jagged_project"}),
    "where": (lambda a: ak.where(a["mask"], a["x"], a["x"] * 2), {"awkward_UnionArray_simplify_one"}),
    "concatenate": (lambda a: ak.concatenate([a["x"], a["other"]], axis=1), {"awkward_UnionArray_nestedfill_tags_index"}),
    "concatenate_events": (lambda a: ak.concatenate([a["permuted"], a["permuted"]]), {"awkward_ListArray_fill"}),
    "cartesian": (lambda a: ak.cartesian([a["x"][:, :9], a["other"][:, :9]]), {"awkward_ListOffsetArray_flatten_offsets"}),
    "pad_none": (lambda a: ak.pad_none(a["x"], 3), {"awkward_ListOffsetArray_rpad_axis1"}),
    "pad_none_clip": (lambda a: ak.pad_none(a["x"], 3, clip=True), {"awkward_ListOffsetArray_rpad_and_clip_axis1"}),
    "mean": (lambda a: ak.mean(a["x"], axis=1), {"awkward_ByteMaskedArray_overlay_mask"}),
    "var": (lambda a: ak.var(a["x"], axis=1), {"awkward_reduce_centered_sumofsquares"}),
    **{f"range_{i}": (lambda a, r=r: a["x"][:, r], RANGE) for i, r in enumerate(RANGES)},
    **{f"range_{i}_permuted": (lambda a, r=r: a["permuted"][:, r], RANGE) for i, r in enumerate(RANGES)},
}
# Booleans have separate kernels. Their extrema are whether all or any elements are true.
OF_BOOLEANS = {
    "sum": {"awkward_reduce_sum_int64_bool_64"},
    "sum_keepdims": {"awkward_reduce_sum_int64_bool_64"},
    "prod": {"awkward_reduce_prod_bool"},
    "min": {"awkward_reduce_prod_bool", MASKED},
    "max": {"awkward_reduce_sum_bool", MASKED},
    "max_initial": {"awkward_reduce_sum_bool"},
}


def kernels_of(name, pattern, dtype):
    if pattern in ("no_lists", "all_empty") and name in ("to_packed", "flatten", "flatten_records", "cartesian"):
        return set()  # no work, so no kernel is called
    return OF_BOOLEANS.get(name, OPERATIONS[name][1]) if dtype == "bool" else OPERATIONS[name][1]


ROUNDED = {"prod", "mean", "var"}


def assert_same(result, expected, name):
    """Checks that values and types are equal. Products and means of floats may differ by rounding, because they are
    computed in another order."""
    assert str(ak.type(result)) == str(ak.type(expected))
    if name in ROUNDED:
        np.testing.assert_allclose(ak.to_numpy(result), ak.to_numpy(expected), rtol=1e-5)
    else:
        assert repr(result.to_list()) == repr(expected.to_list()), name  # NaN equals NaN
