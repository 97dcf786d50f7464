# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse.py: functions that upsweep.awkward.fuse runs in one pass return what Awkward returns: the
# queries of bench/adl.py, random programs, and functions that cannot be fused. UPSWEEP_FUSE_PROGRAMS is the number of
# random programs.
import concurrent.futures
import dataclasses
import functools
import operator
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

import fuse_analyses
import fuse_programs
import plan_in_numpy
from fuse_programs import differences, made_events
from upsweep.awkward import _fuse
from upsweep.awkward._fuse import Fused, calls, layouts

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import adl

contents = ak.contents


@pytest.fixture(params=["plan", "numpy"])
def fuse(request):
    """upsweep.awkward.fuse, and the same with plans that NumPy executes."""
    if request.param == "plan":
        return _fuse.fuse
    return lambda function: Fused(function, None, new_builder=plan_in_numpy.Builder)


@pytest.fixture
def jets():
    return made_events(60)["jets"]


def result_of(function, *args, **kwargs):
    """Returns the result of a call, or the error that it raises."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return error


def check(fuse, function, *args, reason=None, **kwargs):
    """Compares a fused function with the function. `reason`: a part of why it runs in Awkward as a whole."""
    fused = fuse(function)
    expected = result_of(function, *args, **kwargs)
    for _ in range(2):  # the first call records
        got = result_of(fused, *args, **kwargs)
        if isinstance(expected, Exception):
            assert type(got) is type(expected)
            assert str(got) == str(expected)
        else:
            assert not differences(expected, got)
        if reason is None:
            assert fused.reason is None
        else:
            assert reason in fused.reason
    return fused


def stages_of(fused):
    """The stages of all recordings, in order."""
    found = []

    def over(stages):
        for stage in stages.values():
            found.append(stage)
            over(stage.next)

    for entry in fused._entries.values():
        over(entry.program.stages)
    return found


# ---------------------------------------------------------------------------------------------------------- ADL queries

FUSED_QUERIES = [query for query, _ in adl.QUERIES]


def reason_of(query):
    return None


@pytest.mark.parametrize("query", FUSED_QUERIES)
@pytest.mark.parametrize("count", [0, 1, 5, 1000, 3000])
def test_adl_queries(query, count, fuse):
    events = adl.made_events(count)
    fused = check(fuse, query, events, reason=reason_of(query))
    (stage,) = stages_of(fused)
    assert stage.plan is None or not stage.calls


def test_local_indices_are_not_checked(fuse, jets):
    """Positions that a plan has found itself are within their lists."""
    fused = check(fuse, adl.transverse_mass_of_third_lepton, adl.made_events(100))
    assert not any(stage.low.messages for stage in stages_of(fused))
    fused = check(fuse, lambda x: x.pt[ak.argsort(x.eta)[:, :2]] + 1, jets)
    assert not any(stage.low.messages for stage in stages_of(fused))


@pytest.mark.parametrize("query", FUSED_QUERIES)
@pytest.mark.parametrize("layout", fuse_programs.LAYOUTS)
def test_adl_queries_of_other_layouts(query, layout, fuse):
    events = {name: layout(array) for name, array in adl.made_events(300).items()}
    if isinstance(result_of(query, events), KeyError):
        pytest.skip("Awkward lacks a kernel for offsets of int32")
    check(fuse, query, events, reason=reason_of(query))


@pytest.mark.parametrize("query", FUSED_QUERIES)
def test_adl_queries_of_a_part_of_the_events(query, fuse):
    whole = adl.made_events(2000)
    fused = fuse(query)
    for first, last in [(0, 700), (700, 701), (701, 1990), (1990, 1990)]:
        events = {name: array[first:last] for name, array in whole.items()}
        assert not differences(query(events), fused(events))
    assert len(fused._entries) == 1


# ------------------------------------------------------------------------------------------------------ random programs

PROGRAMS = int(os.environ.get("UPSWEEP_FUSE_PROGRAMS", "40"))
PER_TEST = 20
REASONS = (
    "no call for which a plan is faster than Awkward",
    "depends on data",
    "do not begin at 0",
    "_nextcarry_outindex",  # Awkward's BitMaskedArray and its type tracer lack what some calls need
    "'astype'",
)


@pytest.mark.parametrize("first", range(0, PROGRAMS, PER_TEST))
def test_random_programs(first, fuse):
    for seed in range(first, min(first + PER_TEST, PROGRAMS)):
        program, events = fuse_programs.drawn(seed)

        def analysis(events, program=program):
            return fuse_programs.interpret(program, events)

        with np.errstate(all="ignore"):
            expected = result_of(analysis, events)
            fused = fuse(analysis)
            got = result_of(fused, events)
        if isinstance(expected, Exception):  # at a call whose result may not be needed
            assert not isinstance(got, Exception) or type(got) is type(expected), (seed, program, got)
            continue
        assert not isinstance(got, Exception), (seed, program, got)
        assert fused.reason is None or any(reason in fused.reason for reason in REASONS), (seed, program, fused.reason)
        if fuse_programs.is_valid(expected):
            assert not differences(expected, got, rtol=1e-9), (seed, program)


# ----------------------------------------------------------------------------------------- what cannot be recorded


def length(x):
    return x.pt * len(x)


def loop(x):
    return [float(ak.sum(each.pt)) for each in x]


def condition(x):
    if ak.any(x.pt > 1e9):
        return x.pt
    return x.eta + 1


def caught(x):
    try:
        if len(x) > 3:
            return x.pt * 2
    except TypeError:
        pass
    return x.pt


def to_numpy(x):
    return x.pt + np.asarray(ak.flatten(x.pt))[0]


def to_python(x):
    return x.pt * x.pt.to_list()[0][0] if x.pt.to_list()[0] else x.pt + 1


def layout_of(x):
    return x.pt + x.layout.length


def in_text(x):
    return {f"{x.pt}": x.pt * 2}


def element(x):
    return x.pt * x.pt[0, 0]


def own_array(x):
    return x.pt * ak.Array([1.0] * 60)


def reduced_with_numpy(x):
    return np.add.reduce([ak.num(x), ak.num(x)])


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (length, "length"),
        (loop, "iterated"),
        (condition, "truth"),
        (caught, "handles exceptions"),
        (to_numpy, "another library's"),
        (to_python, "Python objects"),
        (layout_of, "layout"),
        (in_text, "printed"),
        (own_array, "not an argument"),
        (reduced_with_numpy, "another library's"),
    ],
)
def test_functions_that_depend_on_data(function, reason, fuse, jets):
    jets = jets[ak.num(jets) > 0][:60]
    if function is own_array:
        jets = ak.concatenate([jets, jets])[:60]
    check(fuse, function, jets, reason=reason)


def test_elements_by_number(fuse, jets):
    result = result_of(fuse(element), jets[ak.num(jets) > 0])
    assert not differences(element(jets[ak.num(jets) > 0]), result)


def test_errors_are_awkwards(fuse, jets):
    check(fuse, lambda x: x.missing, jets, reason="missing")
    check(fuse, lambda x: x.pt[:, 20], jets, reason="index is out of range")
    check(fuse, lambda x, y: x.pt + y.pt, jets, made_events(60, 1)["jets"], reason="broadcast")
    check(fuse, lambda x, y: x.pt[y], jets, ak.Array([[7]] * 60), reason="index is out of range")
    check(fuse, lambda x, y: x.pt[y.pt > 1], jets, made_events(60, 1)["jets"], reason="mask of other lists")
    check(fuse, lambda x, y: x.pt + y.pt, jets, made_events(61)["jets"], reason="ValueError")


def test_a_check_that_holds(fuse, jets):
    index = ak.local_index(jets.pt)[:, ::-1]
    check(fuse, lambda x, y: x.pt[y] + x.eta, jets, index)
    check(fuse, lambda x, y: x.pt[-1 - y] * 2, jets, ak.local_index(jets.pt))
    same = ak.Array(contents.ListOffsetArray(ak.index.Index64(np.array(jets.layout.offsets.data)), jets.pt.layout.content))
    check(fuse, lambda x, y: x.pt * y, jets, same)


def test_unknown_functions_are_executed_by_awkward(fuse, jets):
    def analysis(x):
        runs = ak.run_lengths(ak.flatten(x.n * 2))  # plans have none
        return x.pt * ak.max(runs, axis=None), ak.sum(x.pt, axis=None), runs + 1

    fused = check(fuse, analysis, jets)
    assert len(stages_of(fused)) > 1
    assert any("run_lengths" in reason for stage in stages_of(fused) for reason in stage.reasons.values())


def test_every_fill_value_and_slice_of_events(fuse, jets):
    check(fuse, lambda x: (x.pt * 2)[3:10] + 1, jets)
    check(fuse, lambda x: x.pt[:, :2] * 2, jets)
    check(fuse, lambda x: x.pt[..., :2] * 2, jets)
    check(fuse, lambda x: x.pt[:, np.newaxis] * 2, jets)


# -------------------------------------------------------------------------------------------------------------- numbers


def test_numbers_are_parameters(fuse, jets):
    def analysis(x, least, factor=2):
        return x.pt[x.pt > least * 2] * factor

    fused = check(fuse, analysis, jets, 7.5)
    for least, factor in [(0.0, 1), (10.0, 3), (1e9, 3), (float("nan"), -1), (float("inf"), 0)]:
        assert not differences(analysis(jets, least, factor), fused(jets, least, factor))
    assert len(fused._entries) == 2  # with factor and without


def test_types_of_numbers(fuse):
    events = made_events(50)
    numbers = [3, -1, 2.5, True, np.float32(1.5), np.int8(3), np.uint64(7), np.float64(0.1)]

    def analysis(x, number):
        return [
            x.pt * number,
            x.eta + number,
            x.n - number,
            x.k * number,
            number / x.pt,
            x.n > number,
            ak.where(x.flag, x.eta, number),
        ]

    for number in numbers:
        expected = result_of(analysis, events["jets"], number)
        got = result_of(fuse(analysis), events["jets"], number)
        if isinstance(expected, Exception):
            assert type(got) is type(expected)
        else:
            assert not differences(expected, got), number


def test_numbers_that_do_not_fit(fuse, jets):
    check(fuse, lambda x, number: x.k + number, jets, 300, reason="")
    fused = fuse(lambda x, number: x.k + number)
    assert not differences(jets.k + 3, fused(jets, 3))
    with pytest.raises(OverflowError):
        fused(jets, 300)
    assert not differences(jets.k + 4, fused(jets, 4))


def test_numbers_that_the_function_looks_at(fuse, jets):
    def analysis(x, number):
        return x.pt * number if number > 3 else x.pt[:, : int(number)] - number

    fused = fuse(analysis)
    for number in (1.5, 5.0, 1.0, 4.0, 1.5):
        assert not differences(analysis(jets, number), fused(jets, number))
        assert fused.reason is None


def test_numbers_that_a_call_looks_at(fuse, jets):
    def analysis(x, axis):
        return ak.num(x.pt, axis=axis)

    fused = fuse(analysis)
    for axis in (1, -1, 1):
        assert not differences(analysis(jets, axis), fused(jets, axis))
        assert fused.reason is None


def test_flags_and_keywords(fuse, jets):
    def analysis(x, *, cut=3, heavy=True, names=("pt", "eta")):
        return {name: x[name] * cut for name in names} if heavy else [x.pt + 1, None, "text"]

    for keywords in ({}, {"heavy": False}, {"cut": 4, "names": ("n",)}, {"names": ["n", "k"]}):
        check(fuse, analysis, jets, **keywords)


def test_globals_and_closures_may_change(fuse, jets):
    cut = 1.0
    settings = {"factor": 2}

    @dataclasses.dataclass
    class Config:
        shift: float = 1.0

    config = Config()

    def helper(x):
        return x * settings["factor"] + config.shift

    def analysis(x):
        return helper(x.pt[x.pt > cut])

    fused = fuse(analysis)
    for change in (lambda: None, lambda: settings.update(factor=5), lambda: setattr(config, "shift", 7.0)):
        change()
        assert not differences(analysis(jets), fused(jets))
        assert fused.reason is None
    cut = 30.0
    assert not differences(analysis(jets), fused(jets))


def test_functions_that_are_recorded_too_often(fuse, jets):
    cut = 0

    def analysis(x):
        return x.pt[x.pt > cut] * 2

    fused = fuse(analysis)
    for cut in range(40):  # noqa: B007 - the function reads it
        assert not differences(analysis(jets), fused(jets))
    assert fused.reason == "cut changes between calls"

    fused = fuse(lambda x, number: x.pt * int(number))
    for number in range(80):
        assert not differences(jets.pt * number, fused(jets, float(number)))
    assert fused.reason == "there are 64 recordings of the function"
    assert not differences(jets.pt * 5, fused(jets, 5.0))
    assert fused.reason is None


class Selection:
    def __init__(self, cut):
        self.cut = cut

    def run(self, x):
        return x.pt[x.pt > self.cut]


def test_methods(fuse, jets):
    selection = Selection(20)
    fused = fuse(Selection.run)
    assert not differences(selection.run(jets), fused(selection, jets))
    selection.cut = 40
    assert not differences(selection.run(jets), fused(selection, jets))
    assert fused.reason is None
    bound = fuse(selection.run)
    assert not differences(selection.run(jets), bound(jets))
    assert bound.reason is None


# --------------------------------------------------------------------------------------------------------- side effects

counter = 0


def test_side_effects(fuse, jets):
    global counter
    counter = 0
    seen = []

    def appends(x):
        seen.append(1)
        return x.pt + 1

    def counts(x):
        global counter
        counter += 1
        return x.pt + counter

    fused = check(fuse, appends, jets, reason="changes seen")
    assert len(seen) == 3
    fused = fuse(counts)
    for expected in (1, 2, 3):
        assert not differences(jets.pt + expected, fused(jets))
    generator = np.random.default_rng(5)
    fused = fuse(lambda x: x.pt * generator.normal())
    other = np.random.default_rng(5)
    for _ in range(3):
        assert not differences(jets.pt * other.normal(), fused(jets))


def test_fields_that_the_function_sets(fuse, jets):
    def of_argument(x):
        x["twice"] = x.pt * 2
        x["one"] = 1
        del x["n"]
        return x, x.twice + 1

    def of_its_own(x):
        y = x[x.pt > 20]
        y["twice"] = y.pt * 2
        y["pt"] = y.twice - y.eta
        return y

    theirs, ours = ak.Array(jets), ak.Array(jets)
    expected = of_argument(theirs)
    fused = fuse(of_argument)
    got = fused(ours)
    assert fused.reason is None
    assert got[0] is ours
    assert not differences([theirs, *expected], [ours, *got])
    check(fuse, of_its_own, jets)

    def of_dict(events):
        events["new"] = events["jets"].pt * 2
        return events["new"] + 1

    theirs, ours = {"jets": jets}, {"jets": jets}
    assert not differences(of_dict(theirs), fuse(of_dict)(ours))
    assert not differences(theirs, ours)


def test_the_same_array_twice(fuse, jets):
    def analysis(x, y):
        return x is y, x.pt + y.pt

    check(fuse, analysis, jets, jets)
    check(fuse, analysis, jets, jets[:])


# ------------------------------------------------------------------------------------------------------------- analyses

# Steps that plans lack and Awkward executes, which must not make the whole function run in Awkward.
BY_AWKWARD = {"scaled_by_mean", "totals"}


@pytest.mark.parametrize("analysis", fuse_analyses.ANALYSES)
def test_analyses_of_records_of_lists(analysis, fuse):
    made = made_events(200)
    names = {"Jet": "jets", "Muon": "muons", "MET": "met", "run": "id", "o": "opt"}
    events = ak.zip({name: made[of] for name, of in names.items()}, depth_limit=1)
    theirs, ours = ak.Array(events), ak.Array(events)
    expected = analysis(theirs)
    fused = fuse(analysis)
    assert not differences(expected, fused(ours))
    assert not differences(theirs, ours)
    assert fused.reason is None
    reasons = [reason for stage in stages_of(fused) for node, reason in stage.reasons.items() if node in stage.calls]
    assert bool(reasons) == (analysis.__name__ in BY_AWKWARD)


# ------------------------------------------------------------------------------------------------------ kinds of arrays


@pytest.mark.parametrize("dtype", sorted(calls.TYPES))
def test_types_of_columns(dtype, fuse):
    random = np.random.default_rng(2)
    counts = random.poisson(2, 50)
    values = random.integers(0 if np.dtype(dtype).kind in "bu" else -9, 9, int(counts.sum())).astype(dtype)
    x = ak.Array(fuse_programs.lists(counts, contents.NumpyArray(values)))

    def analysis(x):
        made = [ak.sum(x, axis=1), ak.prod(x, axis=1), x == x * 1, x > 1, ak.count(x, axis=1), ak.any(x, axis=1), ak.mean(x if dtype != "bool" else x + 1, axis=1),
                ak.max(x, axis=1), ak.argmin(x, axis=1), x * 2, x / 2, ak.values_astype(x, np.float64) + 1, -x if dtype != "bool" else ~x,
                ak.concatenate([x, x], axis=1), ak.where(x > 1, x, x), ak.firsts(x), ak.fill_none(ak.firsts(x), 0), ak.sort(x if dtype != "bool" else x + 1),
                ak.to_packed(x) + x, abs(x)]  # fmt: skip
        return made

    check(fuse, analysis, x)


def test_missing_values(fuse):
    events = made_events(80)

    def analysis(events):
        x, opt, jets = events["optlist"], events["opt"], events["jets"]
        pt = jets.pt
        masked = pt.mask[pt > 30]
        return [ak.sum(x, axis=1), ak.max(x, axis=1), x + 1, ak.fill_none(x, 0), ak.is_none(x, axis=1), opt * 2, ak.fill_none(opt, 1),
                ak.drop_none(opt) + 1, masked, ak.argmax(masked, axis=1), ak.count(masked, axis=1), ak.flatten(masked) * 2,
                ak.mask(jets, opt > 0).pt * 2, jets[masked > 40].pt, ak.num(ak.mask(jets, ak.fill_none(opt, 0) > 0)) + 1,
                ak.singletons(opt) * 2, ak.pad_none(jets, 2).eta + 1,
                ak.firsts(ak.mask(jets, jets.flag)).pt]  # fmt: skip

    fused = check(fuse, analysis, events)
    assert stages_of(fused)
    assert not any(stage.reasons for stage in stages_of(fused))


def test_lists_of_a_fixed_length(fuse):
    events = made_events(80)

    def analysis(jets, opt, met):
        jets, pt = ak.pad_none(jets, 2, clip=True), ak.pad_none(jets.pt, 3, clip=True)
        return [jets[:, 0].pt + jets[:, 1].pt, pt[:, -1] * 2, ak.fill_none(pt, 0)[:, 2] * met, (pt * 2)[:, 1] + (pt + 1.5)[:, 0],
                ak.fill_none(jets.n[:, 1], -1) * opt]  # fmt: skip

    fused = check(fuse, analysis, events["jets"], events["opt"], events["met"].pt)
    assert not any(stage.calls for stage in stages_of(fused))
    check(fuse, lambda jets: ak.pad_none(jets.pt * 2, 2, clip=True), events["jets"])
    for function in (lambda jets: ak.fill_none(ak.pad_none(jets.pt, 3, clip=True), -1.0), lambda jets: ak.pad_none(jets, 2, clip=True),
                     lambda jets: ak.pad_none(jets.n[jets.pt > 20], 2, clip=True),
                     lambda jets: ak.fill_none(ak.pad_none(jets.pt * 2, 2, clip=True), 7) > 8):  # fmt: skip
        fused = check(fuse, function, events["jets"])
        assert not any(stage.calls for stage in stages_of(fused))
    # Without lists of variable length, Awkward broadcasts as NumPy does.
    check(fuse, lambda x, y: ak.max(x, axis=1, keepdims=True) + y, events["jets"].pt, events["met"].pt[:1])
    check(fuse, lambda x, y: ak.max(x, axis=1, keepdims=True) + y, events["jets"].pt[:5], events["met"].pt[:5])


def missing_lists(kind, content=None):
    """[[1, 2, 3], None, [4], [], None, [5, 6]] in a layout of this kind. The layouts hide different lists."""
    numbers = contents.NumpyArray(np.array([1.0, 2, 3, 4, 5, 6, 7, 8])) if content is None else content
    offsets = ak.index.Index64(np.array([0, 3, 4, 4, 4, 6, 8]))
    of_lists = contents.ListOffsetArray(offsets, numbers)
    if kind == "indexed":
        return ak.Array(contents.IndexedOptionArray(ak.index.Index64(np.array([0, -1, 1, 2, -5, 4])), of_lists))
    whole = contents.ListArray(*[ak.index.Index64(np.array(x)) for x in ([0, 6, 3, 4, 0, 4], [3, 8, 4, 4, 1, 6])], numbers)
    missing = np.array([0, 1, 0, 0, 1, 0], np.int8)
    if kind == "bits":
        return ak.Array(contents.BitMaskedArray(ak.index.IndexU8(np.packbits(missing)), whole, False, 6, False))
    if kind == "unmasked":
        return ak.Array(contents.UnmaskedArray(whole))
    valid_when = kind == "valid bytes"
    mask = ak.index.Index8(1 - missing if valid_when else missing)
    return ak.Array(contents.ByteMaskedArray(mask, whole, valid_when))


KINDS_OF_MISSING = ["indexed", "valid bytes", "missing bytes", "bits", "unmasked"]

OF_MISSING_LISTS = {
    "arithmetic": lambda x: x * 2,
    "comparison": lambda x: x > 2,
    "sum": lambda x: ak.sum(x * 2, axis=1),
    "max": lambda x: ak.max(x, axis=1),
    "argmax": lambda x: ak.argmax(x, axis=1),
    "slice": lambda x: x[:, :1],
    "filter": lambda x: x[x > 1],
    "events": lambda x: (x * 2)[np.array([True, True, False, True, True, True])],
    "selected events": lambda x: (x * 2)[ak.fill_none(ak.num(x), 0) < 3],
    "selected without the last": lambda x: (x * 2)[ak.fill_none(ak.num(x), 0) != 2],
    "selected and scaled": lambda x: x[ak.fill_none(ak.num(x), 0) < 3] * 2,
    "num": lambda x: ak.num(x) * 2,
    "firsts": lambda x: ak.firsts(x),
    "fill_none": lambda x: ak.fill_none(x * 2, 0),
    "is_none": lambda x: ak.is_none(x * 2),
    "is_none of elements": lambda x: ak.is_none(x * 2, axis=1),
    "drop_none": lambda x: ak.drop_none(x * 2, axis=0),
    "flatten": lambda x: ak.flatten(x * 2),
    "mask": lambda x: ak.mask(x, x > 1),
    "mask of lists": lambda x: ak.mask(x * 2, ak.fill_none(ak.num(x) > 1, False), valid_when=False),
    "where": lambda x: ak.where(x > 1, x, 0),
    "where of lists": lambda x: ak.where(ak.num(x) > 1, x, x * 2),
    "pad_none": lambda x: ak.pad_none(x * 2, 2),
    "pad_none and clip": lambda x: ak.pad_none(x * 2, 2, clip=True),
    "pad_none of the argument": lambda x: ak.pad_none(x, 2) * 2,
    "clip of the argument": lambda x: ak.pad_none(x, 2, clip=True)[:, 0],
    "sum of padded": lambda x: ak.pad_none(x, 2, clip=True) + ak.pad_none(x * 2, 2, clip=True),
    "sort": lambda x: ak.sort(x * 2),
    "combinations": lambda x: ak.combinations(x, 2),
    "zip": lambda x: ak.zip({"a": x, "b": x * 2}),
    "zip of events": lambda x: ak.zip({"a": x, "b": x * 2}, depth_limit=1),
    "with_field": lambda x: ak.with_field(ak.zip({"a": x}), x * 2, "b"),
    "astype": lambda x: ak.values_astype(x * 2, np.float32),
    "full_like": lambda x: ak.full_like(x, 3),
}

LATER = {
    "nothing": lambda x: x,
    "pad_none": lambda x: ak.pad_none(x, 2),
    "pad_none and clip": lambda x: ak.pad_none(x, 2, clip=True),
    "where": lambda x: ak.where(x > 1, x, -1 * x),
    "where of lists": lambda x: ak.where(ak.num(x) > 1, x, x * 2),
    "fill_none": lambda x: ak.fill_none(x, 7),
    "drop_none": lambda x: ak.drop_none(x),
    "is_none": lambda x: ak.is_none(x, axis=1),
    "concatenate": lambda x: ak.concatenate([x, x], axis=1),
    "concatenate of events": lambda x: ak.concatenate([x, x]),
}


@pytest.mark.parametrize("kind", [*KINDS_OF_MISSING, "indexed, of missing numbers", "valid bytes, of missing numbers"])
@pytest.mark.parametrize("function", [pytest.param(x, id=name) for name, x in OF_MISSING_LISTS.items()])
def test_missing_lists(function, kind):
    """Results have Awkward's classes, and hide what Awkward's hide: other functions treat them as they treat Awkward's."""
    kind, _, of_missing = kind.partition(", ")
    index = ak.index.Index64(np.array([3, -1, 1, 0, 2, -1, 4, 1]))
    content = contents.IndexedOptionArray(index, contents.NumpyArray(np.arange(5.0))) if of_missing else None
    array = missing_lists(kind, content)
    expected, got = result_of(function, array), result_of(_fuse.fuse(function), array)
    for name, later in LATER.items():
        theirs, ours = (x if isinstance(x, Exception) else result_of(later, x) for x in (expected, got))
        if isinstance(theirs, Exception):
            assert type(ours) is type(theirs), name
        elif ak.is_valid(theirs):  # Awkward's pad_none of a mask of what is valid may return an array that is not
            assert not differences(theirs, ours), name


def test_lists_of_events_that_are_not_kept(fuse):
    """Where a list is missing, ak.where returns the last one of the content, also if it is of no event that is kept."""
    inner = contents.ListOffsetArray(ak.index.Index64(np.array([0, 1, 2, 3, 6])), contents.NumpyArray(np.arange(6.0)))
    array = ak.Array(contents.ListOffsetArray(ak.index.Index64(np.array([0, 2, 3, 4])), inner))

    def function(x):
        return x[ak.sum(ak.num(x, axis=2), axis=1) < 3]

    padded = [ak.pad_none(f(array), 2) for f in (function, fuse(function))]
    assert not differences(*(ak.where(ak.num(x, axis=2) > 0, x, x) for x in padded))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: ak.sum(x * 1, axis=1),
        lambda x: x[:, :1] + x[:, :1] * 2,
        lambda x: ak.sort(x),
        lambda x: ak.combinations(x, 2),
    ],
)
def test_missing_lists_are_fused(function, fuse):
    fused = check(fuse, function, missing_lists("indexed"))
    assert not any(stage.calls for stage in stages_of(fused))


def optional_numbers(count, seed):
    values = np.random.default_rng(seed)
    return ak.Array([None if values.random() < 0.3 else float(values.integers(-3, 4)) for _ in range(count)])


def optional_records(count, seed):
    x, y = optional_numbers(count, seed), optional_numbers(count, seed + 10)
    records = ak.zip({"a": x, "b": ak.zip({"c": y})}, depth_limit=1)
    return ak.mask(records, ak.is_none(optional_numbers(count, seed + 20)), valid_when=False)


@pytest.mark.parametrize("sizes", [None, [4, 0, 5, 1, 30]])
def test_choices_among_missing_values(sizes, fuse):
    """A missing value on the side that is not chosen does not count."""
    c, x, y = (optional_numbers(40, i) for i in range(3))
    r, s = optional_records(40, 3), optional_records(40, 5)
    arrays = [c, x, y, ak.fill_none(x, 0.0), r, s]
    if sizes is not None:
        arrays = [ak.unflatten(each, sizes) for each in arrays]

    def analysis(c, x, y, z, r, s):
        return [ak.where(c > 0, x, y), ak.where(c > 0, x, z), ak.where(c > 0, 1.5, y), ak.where(z > 0, x, y), ak.where(c > 0, z, 2),
                ak.where(c > 0, r, s), ak.where(c > 0, r, s).b.c, ak.where(z > 0, r, s).a]  # fmt: skip

    fused = check(fuse, analysis, *arrays)
    if sizes is None:
        assert not any(stage.calls for stage in stages_of(fused))


@pytest.mark.parametrize("valid_when", [False, True])
def test_missing_lists_of_other_lengths(valid_when, fuse):
    """The numbers of elements are equal, except where lists are missing: these do not count."""
    random = np.random.default_rng(3)
    counts = random.integers(0, 4, 80)
    hidden = np.where(random.random(80) < 0.3, random.integers(0, 4, 80), counts)

    def lists_of(counts):
        return ak.Array(fuse_programs.lists(counts, contents.NumpyArray(random.normal(0, 2, counts.sum()))))

    x, other = lists_of(counts), lists_of(hidden)
    masked = ak.mask(other, (hidden == counts) == valid_when, valid_when=valid_when)
    indexed = ak.Array(
        contents.IndexedOptionArray(ak.index.Index64(np.where(hidden == counts, np.arange(80), -1)), other.layout)
    )
    nested = ak.Array(fuse_programs.lists(np.array([50, 0, 30]), x.layout))
    inside = ak.Array(fuse_programs.lists(np.array([50, 0, 30]), masked.layout))

    def analysis(x, y, nested, inside):
        index = ak.argmax(y, axis=1, keepdims=True)
        lists = [x * y, x[y > 0], y[x > 0], x[index], x[ak.local_index(y)], ak.zip({"x": x, "y": y}).x]
        of_lists = [nested[inside > 0], nested + inside]
        return [ak.sum(each, axis=1) for each in lists], [ak.sum(each, axis=2) for each in of_lists]

    for y in (masked, indexed):
        fused = check(fuse, analysis, x, y, nested, inside)
        assert all(stage.plan is not None for stage in stages_of(fused))
    wrong = ak.mask(other, hidden >= 0)
    assert isinstance(result_of(lambda x, y: x * y, x, wrong), ValueError)
    check(fuse, lambda x, y: x * y, x, wrong, reason="lists of different lengths are broadcast")


def test_elements_of_lists_in_lists_by_position(fuse):
    events = made_events(60)

    def analysis(jets, muons, nested):
        pairs = ak.cartesian({"a": jets, "b": muons}, nested=True)
        closest = ak.argmin(abs(pairs.a.eta - pairs.b.eta), axis=2, keepdims=True)
        least = ak.argmin(jets.pt, axis=1, keepdims=True)
        most = ak.argmax(nested, axis=2, keepdims=True)
        is_least = ak.flatten(least[:, np.newaxis] == ak.local_index(jets), axis=-1)
        return ak.firsts(pairs.b[closest], axis=2).pt * 2, ak.flatten(closest, axis=-1), nested[most], is_least

    fused = check(fuse, analysis, events["jets"], events["muons"], events["nested"])
    assert not any(stage.calls for stage in stages_of(fused))


def test_positions_of_flags(fuse):
    flags = ak.Array([[False, True, True], [], [True, False], [False, False], [True, True, False]])

    def analysis(x):
        return [f(y, axis=1, keepdims=k) for f in (ak.argmax, ak.argmin) for k in (False, True) for y in (x, ~x)]

    fused = check(fuse, analysis, flags)
    assert not any(stage.calls for stage in stages_of(fused))


@pytest.mark.parametrize("axis", [-1, -2])
def test_axes_of_records_from_the_inside(axis, fuse):
    events = made_events(60)
    pairs = ak.cartesian([events["jets"], events["muons"]], nested=True)["0"]

    def analysis(jets, nested):
        return [f(x, axis=axis) for f in (ak.num, ak.local_index, ak.firsts, ak.is_none) for x in (jets[["pt", "n"]], nested)]

    fused = check(fuse, analysis, events["jets"], pairs)
    assert any(stage.plan is not None for stage in stages_of(fused))
    # Fields of several depths have no common innermost axis.
    lists = ak.unflatten(ak.zip({"x": events["met"].pt, "y": events["jets"].pt}, depth_limit=1), [20, 0, 40])
    check(fuse, lambda x: (ak.num(x, axis=axis), x.x + 1), lists, reason="AxisError")


@pytest.mark.parametrize("least", [0, 2])
def test_types_that_depend_on_data(least, fuse):
    """pad_none of a ListArray returns it as it is if no list is short."""
    events = made_events(60)
    kept = events["jets"][ak.num(events["jets"]) > least]
    assert isinstance(kept.layout, contents.ListArray)
    reason = "depends on data" if least else None
    check(fuse, lambda x: ak.fill_none(ak.pad_none(x.pt * 2, 1)[:, 0], 0) + 1, kept)
    check(fuse, lambda x: ak.pad_none(x.pt, 1) * 2, kept, reason=reason)
    masked = ak.mask(events["jets"].pt, ak.num(events["jets"]) <= least, valid_when=False)
    check(fuse, lambda x: ak.pad_none(x, 1) * 2, masked, reason=reason)


@pytest.mark.parametrize("valid_when", [False, True])
def test_masks_of_other_bytes_than_0_and_1(valid_when, fuse):
    mask = ak.index.Index8(np.array([0, 1, 2], np.int8))
    masked = contents.ByteMaskedArray(mask, contents.NumpyArray(np.arange(3.0)), valid_when)
    array = ak.Array(contents.ListOffsetArray(ak.index.Index64(np.array([0, 2, 3])), masked))
    for function in (lambda x: ak.fill_none(x * 2, -1.0, axis=-1), lambda x: ak.where(ak.is_none(x, axis=-1), 0, x * 2)):
        check(fuse, function, array, reason="other than 0 and 1")


def test_one_recording_for_each_class_of_missing_values(fuse):
    def analysis(x):
        return ak.mask(x * 1, x > 1), ak.pad_none(x[:, :1], 2, clip=True), x[ak.fill_none(ak.num(x), 0) < 3]

    fused = fuse(analysis)
    for kind in KINDS_OF_MISSING * 2:
        array = missing_lists(kind)
        expected = result_of(fused._function, array)
        if not isinstance(expected, Exception):
            assert not differences(expected, fused(array)), kind


def test_subscripts_of_lists_that_do_not_begin_at_0(fuse):
    def index(*numbers):
        return ak.index.Index64(np.array(numbers))

    inner = contents.ListOffsetArray(index(2, 3, 5, 5), contents.NumpyArray(np.arange(9.0)))
    array = ak.Array(contents.ListOffsetArray(index(1, 3, 3), inner))
    reason = "do not begin at 0"
    check(fuse, lambda x: x[ak.values_astype(ak.local_index(x), np.uint8)], array, reason=reason)
    check(fuse, lambda x: x[x > 3] * 2, array, reason=reason)
    fused = check(fuse, lambda x: x[x > 3] * 2, ak.to_packed(array))
    assert not any(stage.calls for stage in stages_of(fused))


def test_results_share_the_memory_that_awkwards_share(fuse):
    events = made_events(60)
    x = ak.zip({"met": events["met"].pt, "jets": events["jets"]}, depth_limit=1)
    functions = [lambda x: x[x.met > 20], lambda x: x[x.met > 20].jets, lambda x: x.jets[x.met > 20], lambda x: x.met[x.met > 20],
                 lambda x: x[x.met > 20].jets.pt, lambda x: x.jets[x.jets.pt > 20], lambda x: x.jets.pt[x.jets.pt > 20],
                 lambda x: x.jets[x.jets.pt > 20][ak.num(x.jets) > 2], lambda x: x[x.met > 20][ak.num(x.jets[x.met > 20]) > 2],
                 lambda x: x.jets[ak.argsort(x.jets.eta)], lambda x: ak.combinations(x.jets, 2), lambda x: ak.firsts(x.jets),
                 lambda x: ak.cartesian([x.jets, x.jets]), lambda x: ak.firsts(x.jets.pt), lambda x: ak.pad_none(x.jets.pt, 2),
                 lambda x: ak.pad_none(x.jets, 2), lambda x: ak.mask(x.jets, x.jets.pt > 20), lambda x: x.jets[["pt", "n"]],
                 lambda x: ak.with_field(x.jets, x.jets.pt * 2, "pt"), lambda x: ak.zip({"pt": x.jets.pt, "met": x.met}),
                 lambda x: ak.flatten(x.jets), lambda x: ak.flatten(x.jets.pt), lambda x: ak.with_name(x.jets, "Jet"),
                 lambda x: x.jets.pt * 2, lambda x: x.jets[ak.argmax(x.jets.pt, axis=1, keepdims=True)],
                 lambda x: x.jets[:, :2], lambda x: ak.to_packed(x),
                 lambda x: ak.broadcast_arrays(x.met, x.jets.pt)[0]]  # fmt: skip

    def columns_of(array):
        return [x for name, x in ak.to_buffers(array)[2].items() if name.endswith("-data")]

    def shared(made):
        return [any(np.shares_memory(a, b) for b in columns_of(made)) for a in columns_of(x)]

    for number, function in enumerate(functions):
        fused = fuse(function)
        assert shared(fused(x)) == shared(function(x)), number
        assert not any(stage.calls for stage in stages_of(fused)), number


def test_layouts_of_arguments_that_are_shared(fuse):
    """Contents that are longer than the lists, offsets of int32 and offsets that do not begin at 0."""
    jets = made_events(60)["jets"].layout
    records = contents.RecordArray([x[:-1] if i else x for i, x in enumerate(jets.content.contents)], jets.content.fields)
    for offsets in (
        jets.offsets.data[5:40],
        jets.offsets.data[:9].astype(np.int32),
        jets.offsets.data[:1],
        np.zeros(4, np.int64),
    ):
        lists = contents.ListOffsetArray(ak.index.Index(offsets), records)
        met = contents.NumpyArray(np.arange(len(offsets) + 5.0))
        x = ak.Array(contents.RecordArray([met, lists], ["met", "jets"], length=len(offsets) - 1))
        for function in (lambda x: (x.jets, x.met, x.met * 2), lambda x: ak.flatten(x.jets.pt),
                         lambda x: x[x.met > 3], lambda x: x[x.met > 3].jets[x.met[x.met > 3] > 5],
                         lambda x: ak.zip({"pt": x.jets.pt, "met": x.met}), lambda x: ak.combinations(x.jets, 2),
                         lambda x: ak.firsts(x.jets[x.jets.pt > 20]), lambda x: ak.to_packed(x)):  # fmt: skip
            check(fuse, function, x)
            check(fuse, function, ak.Array(x.layout[3:]))
            check(fuse, function, x[::-1])


def test_layouts_of_results_are_used_in_place(fuse):
    """Lists and records of the classes that Awkward has made are read in place when they are arguments again."""
    events = made_events(60)
    jets = ak.zip({"pt": events["jets"].pt, "eta": events["jets"].eta})
    kept = fuse(lambda x: ak.with_field(x, x.pt * 2, "pt")[ak.num(x) > 1])(jets)
    assert isinstance(kept.layout, contents.ListArray)
    chosen = fuse(lambda x: ak.with_field(x, x.pt * 2, "pt")[x.pt > 20])(jets)
    assert isinstance(chosen.layout.content, contents.IndexedArray)
    for array in (kept, chosen):
        buffers = layouts.Buffers()
        buffers.add(array)
        assert all(type(x) is np.ndarray for x in buffers.columns)
        check(fuse, lambda x: (x.pt * 2, x[x.eta > 0].pt + 1), array)
    other = contents.ListArray(kept.layout.starts, ak.index.Index64(kept.layout.starts.data + 1), kept.layout.content)
    check(fuse, lambda x: x.pt * 2, ak.Array(other))
    check(fuse, lambda x: x.pt * 2, ak.Array(kept.layout[3:9]))


def test_masks_with_missing_values(fuse):
    events = made_events(80)

    def analysis(jets, opt, met):
        return jets[opt > 1].pt * 2, met[opt > 0] * 1.5, ak.num(jets[opt < 3]) + 1

    fused = check(fuse, analysis, events["jets"], events["opt"], events["met"].pt)
    assert not any(stage.calls for stage in stages_of(fused))


def test_regular_lists(fuse):
    numbers = np.random.default_rng(3)
    events = made_events(60)

    def regular(size):
        return contents.RegularArray(contents.NumpyArray(numbers.normal(0, 5, 60 * size)), size, 60)

    three, one, block = ak.Array(regular(3)), ak.Array(regular(1)), ak.Array(numbers.normal(0, 5, (60, 3)))

    def analysis(x, one, block, jets, met):
        return [x * 2, x + x, x + one, x > 0, x + block, block * 2, ak.sum(block, axis=1), x[:, 0], x[:, -1] * met, ak.max(x, axis=1),
                x[ak.argmax(x, axis=1, keepdims=True)], x[met > 20] * 2, ak.sum(x[met > 20], axis=1), ak.mask(x, x > 0), ak.num(x) + 1,
                ak.flatten(x * 2), one * 2, one * jets.pt, one + jets.eta, ak.sort(x), ak.where(x > 0, x, 0), ak.zip({"x": x, "y": x * 2}),
                ak.firsts(x), ak.values_astype(x, np.float32), jets.pt[:, :3] * 2]  # fmt: skip

    fused = check(fuse, analysis, three, one, block, events["jets"], events["met"].pt)
    assert not any(stage.calls for stage in stages_of(fused))
    for part in (slice(0, 20), slice(20, 60), slice(5, 5)):
        arguments = [x[part] for x in (three, one, block, events["jets"], events["met"].pt)]
        assert not differences(analysis(*arguments), fused(*arguments))
    fused = check(fuse, lambda x: (x[:, 1:] * 2, ak.combinations(x * 2, 2), x[:, 1:] + x[:, :2]), three)
    assert not any(stage.calls for stage in stages_of(fused))
    # Plans lack these, or Awkward refuses them.
    check(fuse, lambda x, y: (x[:, 1:] + y, y * 2), three, events["met"].pt, reason="cannot broadcast")
    check(fuse, lambda x, y: (x[:, 2:] + x, x[:, 3:] * 2, x[:, 2:] * y), three, events["jets"].pt)
    check(fuse, lambda x, y, z: (x, y * 2 + y, z * 2), three[:20], three, events["met"].pt)
    check(fuse, lambda x: ak.fill_none(ak.mask(x, x > 0), 0) + ak.fill_none(x * 2, 0), block)
    check(fuse, lambda x, y: x + y, three, events["met"].pt, reason="no call for which")
    check(fuse, lambda x, y: x + y, three, ak.Array(regular(2)), reason="cannot broadcast")
    check(fuse, lambda x, y: (x + y, y * 2), three, events["jets"].pt, reason="lists of different lengths")
    lists = ak.Array(fuse_programs.lists(np.full(60, 3), contents.NumpyArray(np.arange(180))))
    fused = check(fuse, lambda x, y, z: (x + y, y + x + z, x + y + z, x + y + one_of(z)), three, lists, events["met"].pt)
    assert not any(stage.calls for stage in stages_of(fused))
    indexed = ak.Array(contents.IndexedArray(ak.index.Index64(np.arange(59, -1, -1)), regular(3)))
    check(fuse, lambda x: (x * 2, ak.sum(x, axis=1)), indexed)
    nested = ak.Array(fuse_programs.lists(np.array([10, 0, 50]), regular(3)))
    z = ak.Array(fuse_programs.lists(np.array([10, 0, 50]), contents.NumpyArray(np.arange(60))))
    check(
        fuse,
        lambda x, y, z: (x * 2, ak.sum(x, axis=2), x[y > 1] + z[y > 1], x[y > 1] + y[y > 1]),
        nested,
        ak.Array([1, 2, 3]),
        z,
    )
    nested = ak.Array(fuse_programs.lists(np.array([10, 0, 50]), contents.NumpyArray(np.asarray(block))))
    check(fuse, lambda x: (x * 2, ak.sum(x, axis=2), x[:, :, 0] + 1), nested)


def one_of(x):
    return x[:, np.newaxis]


def test_new_axes(fuse):
    events = made_events(60)

    def analysis(jets, muons, met):
        distance = np.abs(jets.eta[:, :, np.newaxis] - muons.eta[:, np.newaxis])
        return [distance, ak.min(distance, axis=2), ak.any(distance < 0.4, axis=-1), met[:, np.newaxis] * jets.pt,
                jets.pt[:, np.newaxis] * 2, jets.pt[:, :, np.newaxis] * 2, met[:, np.newaxis] * 2]  # fmt: skip

    fused = check(fuse, analysis, events["jets"], events["muons"], events["met"].pt)
    assert not any(stage.calls for stage in stages_of(fused))


def test_records_of_missing_values(fuse):
    events = made_events(60)
    optional = [ak.mask(events["met"], events["met"].pt > 20), events["optmet"], ak.firsts(events["jets"])]
    masked = ak.mask(events["jets"], ak.num(events["jets"]) > 1)

    def analysis(x, y, opt, jets):
        return [ak.with_field(x, y * 2, "new"), ak.with_field(x, opt, "new"), ak.with_field(x, 1, "new"), ak.with_field(x, y, "pt").pt * 2,
                ak.with_field(jets, jets.pt * 2, "new"), ak.with_field(jets, y, "new").new, ak.zip({"a": jets.pt, "b": y}),
                ak.zip({"a": jets.pt, "b": opt}), ak.zip({"a": x.pt, "b": opt}), ak.zip({"a": jets.pt, "b": jets.eta}).a * 2,
                ak.where(y > 20, x, x).pt * 2]  # fmt: skip

    nested = events["nested"]
    fused = check(fuse, lambda x, y: ak.zip({"a": x, "b": x * 2, "c": y}, depth_limit=2), nested, events["met"].pt)
    assert not any(stage.calls for stage in stages_of(fused))
    for each in optional:
        fused = check(fuse, analysis, each, events["met"].pt, events["opt"], masked)
        assert not any(stage.calls for stage in stages_of(fused))


def test_not_a_number_as_a_missing_value(fuse):
    events = made_events(60)
    functions = [ak.nansum, ak.nanprod, ak.nanmin, ak.nanmax, ak.nanmean, ak.nanvar, ak.nanstd]

    def analysis(jets, x, opt):
        made = [ak.nan_to_none(jets.w * 2), ak.nan_to_none(jets), ak.nan_to_none(opt * 2)]
        for function in functions:
            made += [function(jets.w * 2, axis=1), function(jets.n, axis=-1), function(x, axis=1), function(jets.w, axis=1, keepdims=True),
                     function(jets.w, axis=1, mask_identity=True), function(jets.w, axis=1,
                     mask_identity=False)]  # fmt: skip
        return made

    fused = check(fuse, analysis, events["jets"], events["optlist"], events["opt"])
    assert not any(stage.calls for stage in stages_of(fused))


@pytest.mark.parametrize("keywords", [{}, {"equal_nan": True}, {"rtol": 1e-9}, {"atol": 1}])
def test_isclose(keywords, fuse):
    x = ak.Array([[1.0, np.nan, np.inf, -np.inf], [], [2.0, 3.0, np.inf, 5.0, np.nan]])
    y = ak.Array([[1.0, np.nan, np.inf, np.inf], [], [2.0, 3.0000001, 1.0, 5.9, 1.0]])

    def analysis(x, y, jets):
        return [ak.isclose(x * 1, y, **keywords), ak.isclose(y, x, **keywords), ak.isclose(jets.eta, jets.pt, **keywords),
                ak.isclose(jets.n, jets.k, **keywords), ak.isclose(jets.pt, jets.n, **keywords), ak.isclose(jets.flag, jets.n, **keywords),
                np.isclose(jets.w, jets.w, **keywords)]  # fmt: skip

    for arguments in ((x, y), (x[:2], y[:2])):
        fused = check(fuse, analysis, *arguments, made_events(len(arguments[0]))["jets"])
        assert not any(stage.calls for stage in stages_of(fused))


def test_selections_as_users_write_them(fuse):
    events = made_events(60)

    def analysis(jets, muons, nested, missing):
        both = functools.reduce(operator.and_, [jets.pt > 20, jets.eta < 1, jets.flag])
        pairs = ak.cartesian({"j": jets, "m": muons})
        triples = ak.cartesian({"a": jets, "b": muons, "c": jets.n})
        best = ak.argmax(jets.pt, axis=1, keepdims=True)
        nearest = ak.argmin(ak.mask(np.abs(jets.eta), jets.flag), axis=1, keepdims=True)
        return [jets[both].pt * 2, pairs.j.pt * pairs.m.eta, triples.c * triples.a.pt, jets[best].eta * 2, jets[best], jets[nearest].n,
                ak.unflatten(ak.flatten(jets.pt) * 2, ak.num(jets)), ak.unflatten(ak.flatten(jets.pt * 2), ak.num(jets.eta)),
                ak.where(jets.pt > 20, jets, jets).eta, ak.mask(nested * 2, nested > 0), ak.sum(ak.mask(nested, ak.num(nested, axis=2) > 1), axis=2),
                ak.fill_none(missing * 2, 0, axis=1), ak.fill_none(missing, 1.5, axis=-1),
                ak.fill_none(missing * 2, 0, axis=None)]  # fmt: skip

    fused = check(fuse, analysis, events["jets"], events["muons"], events["nested"], events["optlist"])
    assert not any(stage.calls for stage in stages_of(fused))


def in_place(x):
    kept = x.pt > 20
    kept &= x.eta < 1
    return x[kept].pt


def in_place_with_number(x):
    pt = x.pt * 1
    pt += 1
    return pt


def test_errors_of_operators_in_place(fuse, jets):
    """Awkward refuses them."""
    check(fuse, in_place, jets, reason="keywords")
    check(fuse, in_place_with_number, jets, reason="keywords")
    check(fuse, lambda x: x[np.logical_and.reduce([x.pt > 20, x.flag])].pt, jets, reason="another library's")


@pytest.mark.parametrize("function", [ak.sum, ak.prod, ak.min, ak.max, ak.any, ak.all, ak.count, ak.count_nonzero, ak.mean, ak.std, ak.ptp,
                                      ak.argmax])  # fmt: skip
def test_reductions_to_a_number(function, fuse):
    """Awkward reduces what the plan has computed."""
    events = made_events(60)

    def analysis(jets, met, opt):
        number = function(met, axis=None)
        return [
            function(jets.pt * 2, axis=None),
            function(jets.n, axis=None),
            function(opt * 2, axis=None),
            number,
            met * number,
        ]

    check(fuse, analysis, events["jets"], events["met"].pt, events["opt"])


def test_records_with_different_fields(fuse):
    events = made_events(60)

    def analysis(jets, muons):
        both = ak.concatenate([jets[["pt", "eta"]], muons[["pt", "n"]]], axis=1)
        return both.pt * 2, jets.pt * 2, ak.num(both) + 1

    fused = check(fuse, analysis, events["jets"], events["muons"])
    assert not any(stage.reasons for stage in stages_of(fused))

    def whole(jets, muons):
        both = ak.concatenate([jets[["pt", "eta"]], muons[["pt", "n"]]], axis=1)
        return both, both.pt * 2

    fused = check(fuse, whole, events["jets"], events["muons"])
    assert any("a union" in reason for stage in stages_of(fused) for reason in stage.reasons.values())


def test_offsets_of_several_levels(fuse):
    """One buffer is the offsets of lists, and of lists in them."""
    offsets = ak.index.Index64(np.array([0, 2, 3, 3, 4]))
    inner = contents.ListOffsetArray(offsets, contents.NumpyArray(np.arange(4.0)))
    x = ak.Array(contents.ListOffsetArray(offsets, inner))
    y = ak.Array(contents.ListOffsetArray(offsets, contents.NumpyArray(np.arange(4))))
    check(fuse, lambda x, y: (ak.sum(x, axis=2) + y, x * y), x, y)


def test_strings_and_unions_pass_through(fuse, jets):
    names = ak.Array(["ab" * (i % 3) for i in range(60)])
    union = ak.Array([1, "x"] * 30)

    def analysis(x, names, union):
        return ak.zip({"pt": x.pt * 2, "eta": x.eta}), names, union, names[ak.num(x) > 1]

    check(fuse, analysis, jets, names, union)


def test_behaviors(fuse):
    class Point(ak.Record):
        pass

    class Points(ak.Array):
        @property
        def norm(self):
            return np.sqrt(self.x**2 + self.y**2)

        def shifted(self, by):
            return ak.zip({"x": self.x + by, "y": self.y + by}, with_name="point", behavior=self.behavior)

    def add(a, b):
        return ak.zip({"x": a.x + b.x, "y": a.y + b.y}, with_name="point", behavior=a.behavior)

    behavior = {"point": Point, ("*", "point"): Points, (np.add, "point", "point"): add}
    random = np.random.default_rng(0)
    counts = random.poisson(3, 50)
    fields = [contents.NumpyArray(random.normal(0, 1, int(counts.sum()))) for _ in range(2)]
    layout = fuse_programs.lists(counts, contents.RecordArray(fields, ["x", "y"], parameters={"__record__": "point"}))
    points = ak.Array(layout, behavior=behavior)

    def analysis(points):
        a, b = ak.unzip(ak.combinations(points, 2))
        both = a + b
        return both.norm, both[both.norm > 1].shifted(2.0).x, points.shifted(1)

    fused = check(fuse, analysis, points)
    assert type(fused(points)[2]) is type(points)
    assert not any(stage.calls for stage in stages_of(fused))


def test_transformations(fuse, jets):
    def of_numbers(layouts, **kwargs):
        if all(x.is_numpy for x in layouts):
            x, y = (layout.data for layout in layouts)
            return contents.NumpyArray(np.sqrt(x * x + y) / 2), contents.NumpyArray(x > y)

    def of_lists(layout, **kwargs):
        return layout.content[:0] if layout.is_list and layout.content.is_numpy else None

    def analysis(x, y):
        return ak.transform(of_numbers, x.pt, y), ak.transform(of_numbers, x.eta * 2, x.n)

    fused = check(fuse, analysis, jets, made_events(60)["met"].pt)
    assert not any(stage.calls for stage in stages_of(fused))
    same = check(fuse, lambda x: (x.pt + 1, ak.transform(lambda y, **kwargs: y if y.is_numpy else None, x.pt * 2)), jets)
    assert stages_of(same)


def test_vectors(fuse):
    vector = pytest.importorskip("vector")
    vector.register_awkward()

    def analysis(muons):
        p = ak.zip({name: muons[name] for name in ("pt", "eta", "phi", "mass", "charge")}, with_name="Momentum4D")
        a, b = ak.unzip(ak.combinations(p, 2))
        opposite = a.charge != b.charge
        return (a + b).mass[opposite], a.deltaR(b), (a + b).pt, p.px, p.rapidity

    fused = check(fuse, analysis, adl.made_events(500)["muons"])
    assert not any(stage.calls for stage in stages_of(fused))


# ---------------------------------------------------------------------------------------------------------------- calls


def test_type_tracers_reach_the_function(fuse, jets):
    tracer = ak.Array(jets.layout.to_typetracer(forget_length=True))
    made = fuse(lambda x: x.pt * 2)(tracer)
    assert ak.backend(made) == "typetracer"


def test_arguments_that_are_refused(fuse, jets):
    check(fuse, lambda x, y: x.pt * y[0], jets, np.ones(3), reason="an argument of type ndarray")
    check(fuse, lambda x, y: x.pt * next(y), jets, iter([2] * 5), reason="an argument of type list_iterator")
    check(fuse, lambda x, y: x.pt * y.pt, jets, jets[ak.num(jets) > 0][0][0], reason="an argument of type Record")


def test_ndarrays_of_arrays_are_named(fuse, jets):
    check(fuse, lambda x: ak.to_numpy(ak.num(x)), jets, reason="the function returns an ndarray")
    check(fuse, lambda x: x.pt * ak.to_numpy(ak.num(x)), jets, reason="an ndarray in a call")


def test_threads_record_and_run_at_once(jets):
    events = [made_events(500, seed) for seed in range(4)]
    programs = [[3 * i + 37 * j for j in range(8)] for i in range(8)]
    functions = [_fuse.fuse(lambda e, program=program: fuse_programs.interpret(program, e)) for program in programs]
    barrier = threading.Barrier(8)

    def work(worker):
        barrier.wait()
        with np.errstate(all="ignore"):
            return [(i, k, functions[i](events[k])) for i in range(8) for k in range(4) if (i + k + worker) % 2]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(work, range(8)))
    with np.errstate(all="ignore"):
        expected = {(i, k): fuse_programs.interpret(programs[i], events[k]) for i in range(8) for k in range(4)}
    assert all(not differences(expected[i, k], got) for each in made for i, k, got in each)


def arrays_of_two_lengths():
    jets = made_events(60)["jets"]
    return jets, ak.num(jets) > 2, ak.sum(jets.pt[ak.num(jets) > 2], axis=1) / 7


def test_arrays_of_another_length_have_a_stage_of_their_own(fuse):
    """The chosen jets are as long as the weights."""

    def analysis(jets, mask, weights):
        chosen = jets[mask & (ak.any(jets.eta * 2 > 0, axis=1) | True)]
        scaled = weights * 2 + np.sqrt(weights)
        return chosen.pt * scaled, scaled, jets.pt * 3

    fused = check(fuse, analysis, *arrays_of_two_lengths())
    stages = stages_of(fused)
    assert not any(stage.calls for stage in stages)
    assert [len(stage.shapes) for stage in stages] == [2, 2]


def test_arrays_of_two_lengths_in_one_call(fuse):
    """Awkward executes it, or raises its error. The calls before and after are parts of plans."""
    jets, _, weights = arrays_of_two_lengths()

    def analysis(jets, single):
        return ak.sum(ak.broadcast_arrays(jets.pt * 2, single)[0], axis=1) + 1

    stages = stages_of(check(fuse, analysis, jets, ak.Array([2.0])))
    assert [[node.name for node in stage.calls] for stage in stages] == [[], ["broadcast_arrays", "getitem"], []]
    check(fuse, lambda x, y: x.pt * 2 + y * 3, jets, weights, reason="cannot broadcast")


def test_means_of_empty_lists_have_the_sign_of_nan(fuse, jets):
    def analysis(x):
        none = x.pt[x.pt < 0]
        return [np.copysign(1.0, f(none, axis=1)) for f in (ak.mean, ak.var, ak.std)]

    check(fuse, analysis, jets)


def test_explain(fuse, jets):
    def analysis(x, cut):
        kept = x[x.pt > cut]
        return kept.pt * 2, ak.run_lengths(ak.flatten(kept.n))

    text = fuse(analysis).explain(jets, 20.0)
    assert "a plan of" in text
    assert "run_lengths: plans have no run_lengths" in text
    reason = "in steps, because it cannot be recorded as a whole: the length of an array"
    assert fuse(length).explain(jets).startswith(reason)
    assert fuse(caught).explain(jets).startswith("not fused: the function caught handles exceptions")


inner_cut = 20.0


@_fuse.fuse
def inner(x, cut):
    return x.pt[(x.pt > cut) & (x.pt > inner_cut)]


def test_fused_functions_in_fused_functions(fuse, jets):
    global inner_cut

    def outer(x, cut):
        return inner(x, cut * 2) + 1, inner(x, 40.0) * 2

    fused = check(fuse, outer, jets, 15.0)
    inner_cut = 35.0
    assert not differences(outer(jets, 10.0), fused(jets, 10.0))
    inner_cut = 20.0
    (stage,) = stages_of(fused)
    assert not stage.calls


def test_fused_functions_are_pickled(jets):
    assert pickle.loads(pickle.dumps(inner)) is inner
    bound = pickle.loads(pickle.dumps(_fuse.fuse(length, threads=1)))
    assert not differences(length(jets), bound(jets))


def test_errors_of_fuse():
    with pytest.raises(TypeError, match="a function is needed, not int"):
        _fuse.fuse(3)
    fused = _fuse.fuse(threads=2)(length)
    assert fused.__name__ == "length"
    assert _fuse.fuse(fused, threads=2) is fused


def test_another_version_of_awkward(jets):
    program = """
import warnings
import awkward
awkward.__version__ = "2.99.0"
from upsweep.awkward import _fuse
with warnings.catch_warnings(record=True) as seen:
    fused = _fuse.fuse(lambda x: x + 1)
assert "was tested with awkward" in str(seen[0].message), seen
assert fused(awkward.Array([1, 2])).to_list() == [2, 3]
assert fused.explain(awkward.Array([1])).startswith("not fused: upsweep.awkward.fuse was tested"), fused.explain(awkward.Array([1]))
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_floats_that_raise(fuse, jets):
    with np.errstate(all="raise"):
        check(fuse, lambda x: np.sqrt(x.pt) * 2, jets, reason="NumPy raises or reports errors of floats")


# ------------------------------------------------------------------------------------------------------- repeated calls


def other_arguments():
    """Calls that differ from the recorded one in a single thing: the arguments of `function` in the test."""
    jets, met = made_events(60)["jets"], made_events(60)["met"].pt

    def given(x=jets, y=met, scale=2.0, **kwargs):
        return ({"x": x, "y": y}, [scale, "pt"], True), kwargs

    def with_parameter(x, value="other"):
        return ak.with_parameter(x, "note", value)

    behavior = {"other": None}
    records = jets.layout.content
    return {
        "the same": given(),
        "other numbers": given(scale=3.0),
        "another type of a number": given(scale=3),
        "a large integer": given(scale=1 << 70),
        "another type of column": given(y=ak.values_astype(met, np.float32)),
        "fewer events": given(jets[:10], met[:10]),
        "arrays of different lengths": given(jets[:10]),
        "no events": given(jets[:0], met[:0]),
        "parameters": given(with_parameter(jets)),
        "other parameters": given(with_parameter(jets, "another")),
        "parameters of numbers": given(y=with_parameter(met)),
        "a behavior": given(ak.Array(jets.layout, behavior=behavior)),
        "another order of fields": given(jets[["eta", "pt", "w", "n", "k", "flag"]]),
        "fewer fields": given(jets[["pt", "eta"]]),
        "a tuple": given(ak.Array(contents.ListOffsetArray(jets.layout.offsets, contents.RecordArray(records.contents, None)))),
        "another class": given(ak.Array(contents.ListArray(jets.layout.starts, jets.layout.stops, records))),
        "strided columns": given(y=ak.Array(np.repeat(np.asarray(met), 2)[::2])),
        "two dimensions": given(y=ak.Array(np.ones((60, 2)))),
        "the same array twice": given(met, met),
        "equal arrays": given(met, ak.Array(met.layout)),
        "a whole number": given(scale=2),
        "another string": (({"x": jets, "y": met}, [2.0, "eta"], True), {}),
        "another flag": (({"x": jets, "y": met}, [2.0, "pt"], False), {}),
        "another order of names": (({"y": met, "x": jets}, [2.0, "pt"], True), {}),
        "a tuple of arguments": (({"x": jets, "y": met}, (2.0, "pt"), True), {}),
        "keywords": given(cut=20.0),
        "by keyword": (({"x": jets, "y": met},), {"settings": [2.0, "pt"], "flag": True}),
    }


OTHER_ARGUMENTS = other_arguments()


@pytest.mark.parametrize("first", ["the same", "keywords", "fewer fields", "by keyword"])
def test_calls_with_other_arguments(first, fuse):
    def function(arrays, settings, flag, cut=None):
        x, y = arrays["x"], arrays["y"]
        scale, name = settings
        x = x[x.pt > 20 if cut is None else x.pt > cut] if "pt" in ak.fields(x) else x
        return x, y * scale, [x[name] * (1 if flag else 2)] if name in ak.fields(x) else None

    fused = fuse(function)
    for name, (args, kwargs) in OTHER_ARGUMENTS.items():
        for _ in range(2):  # the second call is found by the compiled comparison
            fused(*OTHER_ARGUMENTS[first][0], **OTHER_ARGUMENTS[first][1])
        expected, got = result_of(function, *args, **kwargs), result_of(fused, *args, **kwargs)
        if isinstance(expected, Exception):
            assert (type(got), str(got)) == (type(expected), str(expected)), name
        else:
            assert str(differences(expected, got)) == "[]", name


def test_the_compiled_comparison():
    """It finds arguments only if their key is that of the recording."""

    def key_of(args, kwargs):
        try:
            arguments = _fuse.Arguments(args, kwargs, set())
        except _fuse._Refused:
            return None
        return arguments, (*arguments.key, *arguments.buffers.key)

    for first, (args, kwargs) in OTHER_ARGUMENTS.items():
        match, own = _fuse.matcher(args, kwargs, set()), key_of(args, kwargs)
        assert (match is None) == (first in ("another class", "two dimensions", "a large integer")) or own is None, first
        if match is None or own is None:
            continue
        assert match(args, kwargs) is not None, first
        for other, (args, kwargs) in OTHER_ARGUMENTS.items():
            found, known = match(args, kwargs), key_of(args, kwargs)
            if found is not None:
                assert known is not None and known[1] == own[1], (first, other)
                assert all(map(operator.is_, found.columns, known[0].buffers.columns))
                assert found.lengths == known[0].buffers.lengths
                assert all(map(operator.is_, found.values, known[0].values))


def test_lists_that_are_shared_or_not(fuse):
    """Lists with the same offsets need no check; the next call may have others."""
    offsets = ak.index.Index64(np.array([0, 2, 2, 3]))

    def lists(offsets):
        return ak.Array(contents.ListOffsetArray(offsets, contents.NumpyArray(np.arange(3.0))))

    x, y, other = lists(offsets), lists(offsets), lists(ak.index.Index64(np.array([0, 1, 2, 3])))
    fused = fuse(operator.add)
    for args in [(x, y), (x, y), (x, x), (x, other), (x, y), (x, other), (other, other)]:
        expected, got = result_of(operator.add, *args), result_of(fused, *args)
        if isinstance(expected, Exception):
            assert str(got) == str(expected)
        else:
            assert not differences(expected, got)


def test_layouts_have_awkwards_attributes(fuse, jets):
    """Results are made without Awkward's constructors."""

    def attributes(x):
        there = {
            name: attributes(y)
            for name, y in vars(x).items()
            if name in ("_content", "_index", "_offsets", "_starts", "_stops")
        }
        if isinstance(x, contents.RecordArray):
            there["_contents"] = [attributes(y) for y in x._contents]
        return type(x), sorted(name for name in vars(x) if name.startswith("_")), there

    def function(x):
        return x[x.pt > 20], ak.zip({"a": x.pt * 2, "b": x.eta}), ak.combinations(x, 2), x[ak.num(x) > 1]

    fused = fuse(function)
    for expected, got in zip(function(jets), fused(jets)):
        assert attributes(got.layout) == attributes(expected.layout)
        assert got.layout.backend is expected.layout.backend
        assert ak.is_valid(got)


def test_columns_that_are_not_aligned(fuse):
    unaligned = np.frombuffer(bytes(1) + np.arange(5.0).tobytes(), np.uint8)[1:].view(np.float64)
    assert not unaligned.flags.aligned
    fused = fuse(lambda x: (x.a * 2, x.b[x.a > 1]))
    for a in (np.arange(5.0), unaligned, np.arange(10.0)[::2], np.arange(5.0)):
        array = ak.Array(contents.RecordArray([contents.NumpyArray(a), contents.NumpyArray(unaligned)], ["a", "b"]))
        doubled, kept = fused(array)
        assert doubled.to_list() == (2 * a).tolist()
        assert kept.to_list() == unaligned[a > 1].tolist()
        assert fused.reason is None


def test_fields_of_strings(fuse):
    def function(x):
        return ak.with_field(x, "abc", "s"), x.a * 2

    fused = fuse(function)
    for _ in range(2):
        named, doubled = fused(ak.Array([{"a": 1.0}, {"a": 2.0}]))
        assert named.s.to_list() == ["abc", "abc"]
        assert doubled.to_list() == [2.0, 4.0]
        assert fused.reason is None


def test_values_that_are_used_twice_at_each_step(fuse):
    """Chosen elements of such a value are followed once, not once for each of the 2**40 paths to the column."""

    def function(x):
        value = x.pt
        for _ in range(40):
            value = value / 2 + value * 0.25
        return value[x.pt > 20]

    check(fuse, function, made_events(60)["jets"])


SUBSCRIPTS_WITH_ELLIPSIS = {
    "first": lambda x: x.pt[..., :2] * 2,
    "inner": lambda x: x[:, :, np.newaxis].pt[:, ..., 0] * 2,
    "records": lambda x: x[..., :1].pt * 2,
    "nested": lambda x: ak.cartesian([x.pt, x.eta], nested=True)["1"][..., :2] * 2,
    "nested last": lambda x: ak.cartesian([x.pt, x.eta], nested=True)["1"][..., 0] * 2,
    "records of lists": lambda x: ak.zip({"a": x.pt, "b": x}, depth_limit=1)[..., 0].a * 2,
}


@pytest.mark.parametrize("name", SUBSCRIPTS_WITH_ELLIPSIS)
def test_subscripts_with_ellipsis(fuse, jets, name):
    jets = jets[ak.num(jets) > 0]
    fused = check(fuse, SUBSCRIPTS_WITH_ELLIPSIS[name], jets)
    refused = any("a subscript with ..." in stage.reasons.values() for stage in stages_of(fused))
    assert refused == (name == "records of lists")
    check(fuse, lambda x: x.pt[:, :, ..., :1] * 2, jets, reason="IndexError")


ZIPS_OF_MISSING_RECORDS = [
    lambda x: {"a": ak.firsts(x.pt) * 2, "b": ak.num(x)},
    lambda x: {"a": ak.mask(x.pt, x.pt > 30) * 2, "b": ak.mask(x.eta, x.eta > 0), "c": ak.firsts(x.pt)},
    lambda x: {"a": ak.mask(x, ak.num(x) > 1).pt * 2, "b": ak.num(x)},
    lambda x: {"a": x.pt * 2, "b": ak.num(x)},
]


@pytest.mark.parametrize("fields", ZIPS_OF_MISSING_RECORDS)
def test_zip_with_options_outside_of_records(fuse, jets, fields):
    fused = check(fuse, lambda x: ak.zip(fields(x), optiontype_outside_record=True), jets)
    assert not any(node.function is ak.zip for stage in stages_of(fused) for node in stage.reasons)
