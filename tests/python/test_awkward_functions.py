# SPDX-License-Identifier: Apache-2.0
# tests/python/test_awkward_functions.py: upsweep's functions on Awkward Arrays return the same values and types as
# Awkward's functions.
import doctest

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

import upsweep.awkward
from upsweep.awkward import _functions

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
REDUCERS = ["sum", "prod", "min", "max", "any", "all", "count", "count_nonzero", "argmin", "argmax"]
LENGTHS = [3, 0, 1, 7, 0, 0, 2, 12, 4, 0]


def content_of(length, dtype="float64", seed=1):
    random = np.random.default_rng(seed)
    return ak.contents.NumpyArray(random.integers(0, 5, length).astype(dtype))


def by_offsets(lengths=LENGTHS, first=0, index=ak.index.Index64, dtype="float64", seed=1):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64) + first
    content = content_of(int(offsets[-1]) + 2, dtype, seed)
    return ak.Array(ak.contents.ListOffsetArray(index(offsets), content))


def permuted(array, seed=2):
    layout = array[np.random.default_rng(seed).permutation(len(array))].layout
    assert isinstance(layout, ak.contents.ListArray)
    return ak.Array(layout)


def regular(size, count, dtype="float64"):
    return ak.Array(ak.contents.RegularArray(content_of(size * count, dtype), size, count))


def records(offsets=None):
    offsets = np.array([1, 3, 3, 6]) if offsets is None else offsets
    fields = [content_of(8), content_of(7, "int32", 3)]
    record = ak.contents.RecordArray(fields, ["pt", "charge"], length=7, parameters={"__record__": "Muon"})
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), record))


def overlapping():
    bounds = [ak.index.Index64(np.array(b)) for b in ([4, 0, 2, 9], [9, 3, 2, 10, 99])]
    return ak.Array(ak.contents.ListArray(*bounds, content_of(12)))


def with_nan():
    data = np.array([np.nan, 1, 3, np.nan, 2, np.nan, np.nan, 5.0, -0.0, 0.0, np.inf, 3, np.nan, 1, 4])
    return ak.Array(
        ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 3, 3, 5, 7, 11, 15])), ak.contents.NumpyArray(data))
    )


FUSED = {
    "offsets": by_offsets(),
    "offsets that begin later": by_offsets(first=2),
    "offsets of 32 bits": by_offsets(index=ak.index.Index32, first=1),
    "offsets of unsigned 32 bits": by_offsets(index=ak.index.IndexU32),
    "permuted": permuted(by_offsets()),
    "permuted, of 32 bits": permuted(by_offsets(index=ak.index.Index32, first=1)),
    "overlapping": overlapping(),
    "no lists": by_offsets([]),
    "no lists, by starts": by_offsets()[np.empty(0, np.int64)],
    "empty lists": by_offsets([0, 0, 0]),
    "regular": regular(3, 5),
    "regular, no lists": regular(3, 0),
    "NaN": with_nan(),
    "NaN, permuted": permuted(with_nan()),
    **{f"of {dtype}": by_offsets(dtype=dtype) for dtype in NUMBERS},
    **{f"of {dtype}, permuted": permuted(by_offsets(dtype=dtype)) for dtype in NUMBERS},
    **{f"of {dtype}, regular": regular(4, 5, dtype) for dtype in NUMBERS},
}
OTHERS = {
    "regular of no elements": ak.Array(ak.contents.RegularArray(ak.contents.NumpyArray(np.empty(0)), 0, 3)),
    "two dimensions": ak.Array(np.arange(12.0).reshape(4, 3)),
    "deeper": ak.Array([[[1, 2], []], [], [[3]]]),
    "missing elements": ak.Array([[1.0, None], [], [3.0]]),
    "missing lists": ak.Array([[1.0], None, [3.0, 2.0]]),
    "unions": ak.Array([[1.0, True], [], [3.0]])[[0, 2]],
    "masked": ak.mask(by_offsets(), by_offsets() > 2),
    "strided": ak.Array(
        ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 2, 5])), ak.contents.NumpyArray(np.arange(12.0)[::2]))
    ),
    "named axis": ak.with_named_axis(by_offsets(), ("events", "jets")),
}


def outcome(function, *arguments, **named):
    try:
        return function(*arguments, **named)
    except (
        ValueError,
        TypeError,
        LookupError,
        AssertionError,
        NotImplementedError,
    ) as error:  # if Awkward raises an error, these functions must raise it too
        return type(error)


def assert_same(name, *arguments, theirs=None, **named):
    expected = outcome(theirs or getattr(ak, name), *arguments, **named)
    if expected is KeyError:
        return  # Awkward has no kernel for such lists
    result = outcome(getattr(upsweep.awkward, name), *arguments, **named)
    if not isinstance(expected, ak.Array):
        assert result is expected or np.array_equal(result, expected, equal_nan=True)
        return
    assert type(result) is type(expected)
    assert result.type == expected.type
    assert ak.array_equal(result, expected, equal_nan=True, dtype_exact=True, same_content_types=False)
    assert ak.is_valid(result)


def names_and_arrays(*groups):
    return [pytest.param(array, id=name) for group in groups for name, array in group.items()]


every_array = pytest.mark.parametrize("array", names_and_arrays(FUSED, OTHERS, {"records": records()}))


@every_array
@pytest.mark.parametrize("name", REDUCERS)
def test_reductions(name, array):
    for axis in (1, -1, 0, None):
        assert_same(name, array, axis=axis)
    assert_same(name, array, axis=1, keepdims=True)
    assert_same(name, array, axis=-1, mask_identity=True)
    assert_same(name, array, axis=-1, mask_identity=False, keepdims=True)


@every_array
def test_orders(array):
    for name in ("sort", "argsort"):
        assert_same(name, array)
        assert_same(name, array, axis=1, ascending=False)
        assert_same(name, array, axis=0)


@every_array
def test_moves(array):
    assert_same("pack", array, theirs=ak.to_packed)
    for axis in (1, -1, 0, None):
        assert_same("flatten", array, axis=axis)
        if axis is not None:
            assert_same("local_index", array, axis=axis)
    assert upsweep.awkward.pack(array).layout.form == ak.to_packed(array).layout.form


@every_array
def test_choices(array):
    for n in (1, 2, 3):
        for replacement in (False, True):
            assert_same("combinations", array, n, replacement=replacement)
    assert_same("combinations", array, 2, fields=["a", "b"], with_name="Pair")
    assert_same("combinations", array, 2, axis=0)
    other = by_offsets(([1, 3, 0, 2] * 10)[: len(array)], dtype="int32", seed=4)
    assert_same("cartesian", [array, other])
    assert_same("cartesian", {"a": array, "b": other, "c": array}, with_name="Three")
    assert_same("cartesian", [array, other], nested=True)
    assert_same("cartesian", [array, by_offsets([1])])


@every_array
def test_concatenations(array):
    other = by_offsets(([1, 3, 0, 2] * 10)[: len(array)], seed=4)
    assert_same("concatenate", [array, other], axis=1)
    assert_same(
        "concatenate", [array, array, permuted(array) if isinstance(array.layout, ak.contents.ListArray) else array], axis=-1
    )
    assert_same("concatenate", [array, other])
    assert_same("concatenate", [array, by_offsets([1])], axis=1)


@every_array
def test_selections(array):
    try:
        mask = array > 2
    except TypeError:  # records
        mask = array.pt > 2
    assert_same("select", array, mask, theirs=lambda a, m: a[m])
    assert_same("select", array, np.arange(len(array)) % 2 == 0, theirs=lambda a, m: a[m])
    assert_same("select", array, [[True]], theirs=lambda a, m: a[m])


def test_choices_in_several_parts(monkeypatch):
    from upsweep.awkward import _choices

    monkeypatch.setattr(_choices, "AT_ONCE", 7)
    random = np.random.default_rng(5)
    array, other = by_offsets(random.poisson(3, 200), first=1), by_offsets(random.poisson(2, 200), seed=9)
    for lists in (array, permuted(array)):
        assert_same("combinations", lists, 2)
        assert_same("combinations", lists, 3, replacement=True)
        assert_same("cartesian", [lists, other, lists])


def test_arrays_are_packed_and_selected_with_their_names():
    muons = records()
    kept = upsweep.awkward.select(muons[[2, 0, 1]], muons[[2, 0, 1]].pt > 1)
    assert ak.parameters(kept.layout.content) == {"__record__": "Muon"}

    class Muons(ak.Array):
        pass

    special = ak.Array(muons[[2, 0, 1]], behavior={("*", "Muon"): Muons})
    assert type(upsweep.awkward.pack(special)) is Muons
    assert type(upsweep.awkward.select(special, special.pt > 1)) is Muons


def test_lists_of_numbers_do_not_reach_awkward(monkeypatch):
    for name in (
        *REDUCERS,
        "to_packed",
        "flatten",
        "sort",
        "argsort",
        "local_index",
        "combinations",
        "cartesian",
        "concatenate",
    ):
        monkeypatch.setattr(ak, name, None)
    for array in (FUSED["offsets"], FUSED["permuted"], FUSED["regular"]):
        for name in REDUCERS:
            getattr(upsweep.awkward, name)(array, axis=1)
        upsweep.awkward.sort(array)
        upsweep.awkward.argsort(array)
    for array in (FUSED["offsets"], FUSED["permuted"]):
        upsweep.awkward.flatten(permuted(array) if array is FUSED["offsets"] else array)
        upsweep.awkward.local_index(array)
        upsweep.awkward.combinations(array, 2)
        upsweep.awkward.cartesian([array, array])
        upsweep.awkward.concatenate([array, array], axis=1)
    upsweep.awkward.pack(FUSED["permuted"])


@pytest.mark.parametrize("starts, stops", [([0, 3], [2, 1]), ([0, 9], [2, 12]), ([-1, 0], [1, 1])])
def test_bad_lists(starts, stops):
    bounds = [ak.index.Index64(np.array(b)) for b in (starts, stops)]
    layout = ak.contents.ListArray(*[ak.index.Index64(np.array([0, 0])) for _ in bounds], content_of(10))
    layout._starts, layout._stops = bounds
    with pytest.raises(ValueError):
        upsweep.awkward.sum(ak.Array(layout), axis=1)


def test_examples():
    assert doctest.testmod(_functions).attempted >= 40
    assert doctest.testmod(_functions).failed == 0
