# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_vector.py: analyses with vector's records are fused, and return what Awkward returns.
import numpy as np
import pytest

ak = pytest.importorskip("awkward")
vector = pytest.importorskip("vector")

from test_fuse import adl, differences, stages_of
from test_fuse_steps import eager_calls, session_of
from upsweep.awkward import _fuse

vector.register_awkward()


@pytest.fixture(autouse=True)
def without_warnings():
    with np.errstate(all="ignore"):
        yield


def events_of(count, first=0):
    """Muons and jets as records that vector has methods for."""
    made = adl.made_events(first + count)
    return {
        name: ak.zip({field: made[name][first:][field] for field in fields}, with_name="Momentum4D")
        for name, fields in {
            "muons": ("pt", "eta", "phi", "mass", "charge"),
            "jets": ("pt", "eta", "phi", "mass", "btag"),
        }.items()
    }


def sums_of_three(events):
    """The three jets of an event whose sum is closest to the top quark, as analyses of top quarks write it."""
    jets = events["jets"][events["jets"].pt > 30]
    trijet = ak.combinations(jets, 3, fields=["a", "b", "c"])
    trijet["p4"] = trijet.a + trijet.b + trijet.c
    trijet["tag"] = np.maximum(trijet.a.btag, np.maximum(trijet.b.btag, trijet.c.btag))
    best = trijet[ak.argmax(trijet.p4.pt, axis=1, keepdims=True)]
    return best.p4.mass, ak.firsts(best.tag), ak.sum(jets, axis=1).pt


def nearest(events):
    jets, muons = ak.unzip(ak.cartesian([events["jets"], events["muons"]], nested=True))
    distance = jets.deltaR(muons)
    closest = ak.firsts(muons[ak.argmin(distance, axis=2, keepdims=True)], axis=2)
    return events["jets"][~ak.any(distance < 0.4, axis=2)].pt, closest.charge, closest.deltaphi(events["jets"])


def boosts(events):
    pairs = ak.combinations(events["muons"], 2, fields=["a", "b"])
    both = pairs.a + pairs.b
    at_rest = pairs.a.boostCM_of(both)
    return (
        np.cos(at_rest.theta),
        pairs.b.boost(-both.to_beta3()).energy,
        both.unit().px,
        (both - pairs.a).eta,
        (2 * both).mass,
        (-both).rapidity,
    )


def transverse_mass(events):
    muons, jets = events["muons"], events["jets"]
    leading = ak.firsts(muons[ak.argsort(muons.pt, axis=1, ascending=False)])
    missing = ak.zip({"px": -ak.sum(jets.px, axis=1), "py": -ak.sum(jets.py, axis=1)}, with_name="Momentum2D")
    return np.sqrt(2 * leading.pt * missing.pt * (1 - np.cos(leading.deltaphi(missing)))), (leading + jets[:, :1]).px


def missing_records(events):
    """Sums of records of which some are missing: their fields are not missing, but the records."""
    muons, jets = events["muons"], events["jets"]
    two = ak.pad_none(muons, 2, clip=True)
    leading, heavy = ak.firsts(jets), ak.mask(jets, jets.pt > 30)
    return two[:, 0] + two[:, 1], (leading - two[:, 0]).mass, -leading, heavy + two[:, 1], (ak.firsts(muons) + jets).pt


@pytest.mark.parametrize("analysis", [sums_of_three, nearest, boosts, transverse_mass])
def test_analyses(analysis):
    fused = _fuse.fuse(analysis, exact=True)
    for count, first in [(300, 0), (70, 300), (0, 5), (1500, 7)]:
        events = events_of(count, first)
        expected, got = analysis(dict(events)), fused(dict(events))
        assert not differences(expected, got)
        assert fused.reason is None
        for a, b in zip(expected, got):
            assert type(a) is type(b)
            values = [ak.to_numpy(ak.flatten(x, axis=None)) for x in (ak.fill_none(a, -1), ak.fill_none(b, -1))]
            assert values[0].tobytes() == values[1].tobytes()
    by_awkward = {node.function for stage in stages_of(fused) for node in stage.calls}
    assert stages_of(fused)
    assert not by_awkward & {ak.transform, ak.sum}


def in_steps(analysis, *more):
    """Compares a function that asks for data with the same function in steps."""
    fused = _fuse.fuse(lambda events, *args: (len(events["muons"]), analysis(events, *args)), exact=True)
    for _ in range(3):
        for count in (200, 90):
            for args in more or [()]:
                expected, (length, got) = analysis(events_of(count), *args), fused(events_of(count), *args)
                assert length == count
                assert not differences(expected, got)
                assert fused.reason is not None
    session = session_of(fused, events_of(200), *(more[0] if more else ()))
    assert session.steps
    return fused, session


def test_missing_records():
    fused = _fuse.fuse(missing_records, exact=True)
    for count in (300, 0, 70):
        expected, got = missing_records(events_of(count)), fused(events_of(count))
        assert not differences(expected, got)
        assert fused.reason is None
        assert [type(x) for x in expected] == [type(x) for x in got]
    assert not {node.kind for stage in stages_of(fused) for node in stage.calls} & {"ufunc", "call"}


@pytest.mark.parametrize("analysis", [sums_of_three, boosts, transverse_mass, missing_records])
def test_steps(analysis):
    fused, session = in_steps(analysis)
    assert session.by_awkward == 0
    overloaded = eager_calls(fused)
    assert not overloaded
    assert any(x.function is ak.transform for x in session.path)
    assert not any(x.function is ak.transform for step in session.steps for stage in step.stages_run for x in stage.calls)


def test_numbers_of_transformations_differ():
    def turned(events, angle):
        muons = events["muons"]
        return muons.rotateZ(angle).px, muons.scale(angle).pt, (muons * angle).E, muons.rotateX(angle).eta

    in_steps(turned, (0.5,), (1.5,), (-2,), (np.float32(0.25),))


def test_vectors_with_data_and_without():
    """Arrays that are not arguments have data. vector compares the libraries of both."""
    fixed = ak.zip({"pt": 3.0, "eta": ak.Array([0.5]), "phi": 1.0, "mass": 0.0}, with_name="Momentum4D")

    def mixed(events):
        other = fixed[[0] * len(events["muons"])]
        return (events["muons"] + other).pt, other.deltaR(events["muons"]), events["muons"].deltaR(other)

    in_steps(mixed)


def test_functions_of_users_for_vector():
    """vector calls them from its own code, and they may change."""
    factor = [1.0]

    @vector.awkward_transform
    def scaled(x):
        return x * factor[0]

    def analysis(events):
        return scaled(events["muons"].pt * 2)

    fused = _fuse.fuse(lambda events: (len(events["muons"]), analysis(events)))
    for number in (1.0, 2.0, 2.0, 3.0):
        factor[0] = number
        assert not differences(analysis(events_of(50)), fused(events_of(50))[1])
