# SPDX-License-Identifier: Apache-2.0
# tests/python/test_analyses.py: the analyses of bench/analyses return what Awkward returns.
"""With upsweep's kernels the results have equal bits. As fused functions they are equal except for rounding."""

import contextlib
import copy
import sys
from pathlib import Path

import numpy as np
import pytest

ak = pytest.importorskip("awkward")
pytest.importorskip("correctionlib")

import upsweep.awkward
from fuse_programs import differences
from test_awkward_register import few
from upsweep.awkward import fuse

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import analyses
from analyses import hbb, jets_and_met, ttbar, wwz_four_leptons, zz_four_leptons
from analyses.results import bits, with_other_bits

COUNT, SEED = 300, 3  # some events are selected
# Fused functions round sines and sums differently. Differences of almost equal numbers amplify this.
ROUNDING = {"float32": 1e-2, "float64": 1e-6}


@pytest.fixture(autouse=True)
def without_warnings():
    with np.errstate(all="ignore"):
        yield


def events_of(analysis, count=COUNT):
    return analyses.made_events(count, analysis.COLLECTIONS, SEED)


def wide_events_of(analysis):
    """The same events with float64 instead of float32."""

    def wide(layout, **_kwargs):
        if layout.is_numpy and layout.dtype == np.float32:
            return ak.contents.NumpyArray(layout.data.astype(np.float64))
        return None

    return ak.transform(wide, events_of(analysis))


def copied(args):
    return [copy.copy(x) if isinstance(x, ak.Array) else x for x in args]


every_analysis = pytest.mark.parametrize("analysis", analyses.modules(), ids=analyses.NAMES)


def check_kernels(analysis, hooks):
    events = events_of(analysis)
    expected = analysis.run(copy.copy(events))
    assert any(np.any(x) for x in expected.values() if isinstance(x, np.ndarray)), "all histograms are empty"
    with hooks(), upsweep.awkward.kernels():
        results = analysis.run(copy.copy(events))
    assert not with_other_bits(expected, results)


@every_analysis
def test_kernels(analysis):
    check_kernels(analysis, contextlib.nullcontext)


@pytest.mark.parametrize("analysis", [hbb, jets_and_met])
def test_kernels_on_a_few_elements(analysis):
    check_kernels(analysis, few)


@pytest.mark.long
@pytest.mark.parametrize("analysis", [ttbar, zz_four_leptons, wwz_four_leptons])
def test_more_kernels_on_a_few_elements(analysis):
    check_kernels(analysis, few)


def test_results_with_other_bits_are_seen():
    x = np.array([1.0, 2.0])
    lists = ak.Array([[1.0, 2.0], []])
    expected = {"x": x, "lists": lists}
    assert not with_other_bits(expected, {"x": x.copy(), "lists": lists[:]})
    assert with_other_bits(expected, {"x": x * (1 + 1e-16), "lists": lists * (1 + 3e-16)}) == ["lists"]
    assert with_other_bits(expected, {"x": x.astype(np.float32), "lists": ak.values_astype(lists, np.float32)}) == [
        "x",
        "lists",
    ]
    assert bits(ak.Array([1, None])) != bits(ak.Array([1, 2]))


@every_analysis
def test_fused_as_a_whole(analysis):
    """The analyses need data between their calls. They run in steps. Awkward executes no call on its own."""
    fused = fuse(analysis.run)
    for seed in (SEED, SEED, SEED, SEED + 1):
        events = analyses.made_events(COUNT, analysis.COLLECTIONS, seed)
        expected, got = analysis.run(copy.copy(events)), fused(copy.copy(events))
        assert not differences(expected, got, rtol=ROUNDING["float32"])
    said = fused.explain(copy.copy(events_of(analysis)))
    assert said.startswith("in steps")
    assert " 0 executed by Awkward one by one" in said
    assert "a plan of" in said


@every_analysis
def test_fused_as_a_whole_with_the_bits_of_numpy(analysis):
    fused = fuse(analysis.run, exact=True)
    events = wide_events_of(analysis)
    expected = analysis.run(copy.copy(events))
    for _ in range(2):
        got = fused(copy.copy(events))
    assert not differences(expected, got, rtol=1e-9)


# ------------------------------------------------------------------------------------------------ parts of the analyses


def of_zz(events_of):
    return zz_four_leptons.objects_of, events_of(zz_four_leptons)


def best_zz(events_of):
    cand, _ = zz_four_leptons.objects_of(events_of(zz_four_leptons))
    return zz_four_leptons.best, cand


def top_mass(events_of):
    events = events_of(ttbar)
    return lambda e: ttbar.top_mass(e.Jet[(e.Jet.pt > 30) & ((e.Jet.jetId & 4) != 0)]), events


def inputs_of_jets(events_of):
    return lambda e: [jets_and_met.with_inputs(e)[name] for name in ("pt_raw", "pt_gen", "event_rho")], events_of(jets_and_met)


def shifted_met_and_selection(events_of):
    events = events_of(jets_and_met)
    jets = jets_and_met.corrected_jets(jets_and_met.with_inputs(copy.copy(events)))

    def shifts(jets, met, muons):
        return {name: jets_and_met.selected(*both, muons) for name, *both in jets_and_met.shifts_of(jets, met)}

    return shifts, jets, events.MET, events.Muon


def masses_of_subjets(events_of):
    return lambda e: hbb.corrected_msoftdrop(e.FatJet), events_of(hbb)


def flavor_of_bosons(events_of):
    return lambda e: hbb.flavor_of(hbb.closest_boson(ak.firsts(e.FatJet), hbb.bosons_of(e.GenPart))), events_of(hbb)


def four_leptons(events_of):
    events = events_of(wwz_four_leptons)
    ele, mu = wwz_four_leptons.selected_electrons(events.Electron), wwz_four_leptons.selected_muons(events.Muon)
    leptons = ak.concatenate([ele, mu], axis=1)
    return events, leptons[ak.argsort(leptons.pt, axis=-1, ascending=False)]


def z_candidates_of_wwz(events_of):
    _, leptons = four_leptons(events_of)
    return wwz_four_leptons.z_candidate_mask, ak.pad_none(leptons, 4)[:, 0:4]


def variables_of_wwz(events_of):
    events, leptons = four_leptons(events_of)
    padded = ak.pad_none(leptons, 4)
    from_z, from_w = wwz_four_leptons.z_and_w_leptons(padded[:, 0:4])

    def variables(events, leptons, padded, from_z, from_w):
        jets = wwz_four_leptons.cleaned_jets(events, leptons, 1.0)
        return wwz_four_leptons.variables_of(padded, from_z, from_w, jets[jets.is_good], events.MET, leptons)

    return variables, events, leptons, padded, from_z, from_w


PARTS = [
    of_zz,
    best_zz,
    top_mass,
    inputs_of_jets,
    shifted_met_and_selection,
    masses_of_subjets,
    flavor_of_bosons,
    z_candidates_of_wwz,
    variables_of_wwz,
]


def check_part(part, events_of, rounding):
    """Parts need no values while they are recorded."""
    function, *args = part(events_of)
    fused = fuse(function)
    expected = function(*copied(args))
    for _ in range(2):
        assert not differences(expected, fused(*copied(args)), rtol=rounding)
        assert fused.reason is None


# Not the masses of single subjets, which float32 cannot compute from large energies.
@pytest.mark.parametrize("part", [part for part in PARTS if part is not masses_of_subjets])
def test_fused_parts(part):
    check_part(part, events_of, ROUNDING["float32"])


@pytest.mark.parametrize("part", PARTS)
def test_fused_parts_of_float64(part):
    check_part(part, wide_events_of, ROUNDING["float64"])
