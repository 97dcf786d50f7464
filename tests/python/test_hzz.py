# SPDX-License-Identifier: Apache-2.0
# tests/python/test_hzz.py: a real analysis, Higgs to ZZ to four leptons: the same histogram with and without upsweep in
# Awkward.
"""Needs uproot, and uproot-HZZ-uncompressed.root of uproot's tests: at UPSWEEP_HZZ, or in ../shared/data next to the
project."""

import os
from pathlib import Path

import numpy as np
import pytest

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

import upsweep.awkward

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "uproot-HZZ-uncompressed.root"
FILE = Path(os.environ.get("UPSWEEP_HZZ", BESIDE))
FIELDS = {"px": "Muon_Px", "py": "Muon_Py", "pz": "Muon_Pz", "e": "Muon_E", "charge": "Muon_Charge"}

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"{FILE} does not exist; set UPSWEEP_HZZ to its path")


@pytest.fixture(scope="module")
def muons():
    with uproot.open(FILE) as file:
        events = file["events"].arrays(list(FIELDS.values()))
    return ak.zip({name: events[branch] for name, branch in FIELDS.items()})


def pair_masses(muons):
    """Returns the masses of all pairs of muons with opposite charge and more than 10 GeV of transverse momentum."""
    muons = muons[np.sqrt(muons.px**2 + muons.py**2) > 10]
    first, second = ak.unzip(ak.combinations(muons, 2))
    opposite = first.charge != second.charge
    px, py, pz, e = ((first[name] + second[name])[opposite] for name in ("px", "py", "pz", "e"))
    return np.sqrt(np.maximum(e**2 - px**2 - py**2 - pz**2, 0))


def results(muons):
    """Returns the masses by event, the one nearest to the Z's, their mean and number, and a histogram of all."""
    masses = pair_masses(muons)
    nearest = masses[ak.argmin(abs(masses - 91.1876), axis=1, keepdims=True)]
    histogram = np.histogram(ak.to_numpy(ak.flatten(masses)), 60, (60, 120))[0]
    return masses, ak.firsts(nearest), ak.mean(masses, axis=1), ak.num(masses), ak.Array(histogram)


def bits(array):
    form, length, buffers = ak.to_buffers(ak.to_packed(array))
    return form, length, {name: buffer.tobytes() for name, buffer in buffers.items()}


@pytest.mark.parametrize("times", [1, 40])  # with 40 times the events there is enough work for several threads
def test_masses_of_muon_pairs(muons, times):
    many = ak.concatenate([muons] * times)
    theirs = results(many)
    with upsweep.awkward.kernels():
        ours = results(many)
    assert len(theirs[0]) == 2421 * times
    assert [bits(each) for each in ours] == [bits(each) for each in theirs]
    histogram = ours[-1].to_numpy()
    assert 25 <= np.argmax(histogram) <= 35, "the Z is at 91 GeV"
    assert histogram.sum() > 1000 * times
