# SPDX-License-Identifier: Apache-2.0
# bench/analyses/ttbar.py: one lepton and four jets, as in the Analysis Grand Challenge (iris-hep).
"""Fills the mass of the top quark and features of the best assignment of jets, for each systematic variation."""

import itertools

import awkward as ak
import numpy as np

from .corrections import Selection
from .kinematics import add, pair_mass

COLLECTIONS = {"Jet": 5.5, "Muon": 0.6, "Electron": 0.6}
B_TAG = 0.5
MOST_JETS = 6
OBSERVABLE = np.linspace(50, 550, 26)
FEATURES = {
    "deltar_leptonbtoplep": (0, 6),
    "deltar_w1w2": (0, 6),
    "deltar_w1btophad": (0, 6),
    "mass_leptonbtoplep": (0, 400),
    "mass_w1w2": (0, 400),
    "mass_w1w2btophad": (0, 600),
    "pt_w1w2btophad": (0, 500),
    "btag_btophad": (0, 1),
    "btag_btoplep": (0, 1),
    "qgl_w1": (0, 1),
}
KINEMATIC = ["pt_scale_up", "pt_res_up"]
OF_WEIGHTS = [f"btag_var_{i}" for i in range(4)]


def permutations_of(most):
    """For 4, 5, … jets: the positions of two jets of a W, and of the b jets of the hadronic and the leptonic top."""
    tables = [[p for p in itertools.permutations(range(n), 4) if p[0] < p[1]] for n in range(4, most + 1)]
    return ak.from_regular(ak.Array([[list(p) for p in table] for table in tables]), axis=None)


PERMUTATIONS = permutations_of(MOST_JETS)


def jet_pt_resolution(pt):
    """A random factor for each jet."""
    counts = ak.num(pt)
    flat = ak.flatten(pt)
    return ak.unflatten(np.random.default_rng(5).normal(np.ones_like(flat), 0.05), counts)


def btag_weight(direction, pt):
    return 1 + {"up": 1, "down": -1}[direction] * 0.075 * pt / 50


def distance(a, b):
    return np.sqrt((a.eta - b.eta) ** 2 + (a.phi - b.phi) ** 2)


def features_of(jets, electrons, muons):
    """The features of each assignment of jets, and the number of assignments of each event."""
    count = ak.num(jets).to_numpy()
    count[count > MOST_JETS] = MOST_JETS
    perms = PERMUTATIONS[count - 4]
    perm_counts = ak.num(perms)
    w1, w2, hadronic, leptonic = (jets[perms[..., i]] for i in range(4))
    fields = ["pt", "eta", "phi", "mass"]
    lepton = ak.flatten(ak.concatenate((electrons[fields], muons[fields]), axis=1), axis=-1)

    top = add(w1, w2, hadronic)
    features = np.zeros((ak.sum(perm_counts), len(FEATURES)))
    columns = [distance(lepton, leptonic), distance(w1, w2), distance(w1, hadronic), pair_mass(lepton, leptonic),
               pair_mass(w1, w2), top.mass, top.pt, hadronic.btagCSVV2, leptonic.btagCSVV2, w1.qgl]  # fmt: skip
    for i, column in enumerate(columns):
        features[:, i] = ak.flatten(column).to_numpy()
    return features, perm_counts


def score(features, is_even):
    """In place of two trained models, for even and odd events."""
    results = np.zeros(len(features))
    for which, w_mass in ((is_even, 80.4), (np.invert(is_even), 80.0)):
        f = features[which]
        results[which] = f[:, 7] + f[:, 8] - abs(f[:, 4] - w_mass) / 40 - abs(f[:, 5] - 172.5) / 60 - f[:, 0] / 10
    return results


def best_assignment(jets, electrons, muons, is_even):
    features, perm_counts = features_of(jets, electrons, muons)
    results = ak.unflatten(score(features, np.repeat(is_even, perm_counts)), perm_counts)
    best = ak.from_regular(ak.argmax(results, axis=1)[:, np.newaxis])
    return ak.flatten(ak.unflatten(features, perm_counts)[best])


def top_mass(jets):
    """The mass of the three jets with a tag whose sum has the largest pt."""
    trijet = ak.combinations(jets, 3, fields=["j1", "j2", "j3"])
    trijet["p4"] = add(trijet.j1, trijet.j2, trijet.j3)
    trijet["max_btag"] = np.maximum(trijet.j1.btagCSVV2, np.maximum(trijet.j2.btagCSVV2, trijet.j3.btagCSVV2))
    trijet = trijet[trijet.max_btag > B_TAG]
    return ak.flatten(trijet["p4"][ak.argmax(trijet.p4.pt, axis=1, keepdims=True)].mass)


def run(events):
    events["pt_scale_up"] = 1.03
    events["pt_res_up"] = jet_pt_resolution(events.Jet.pt)
    histograms = {}

    for systematic in ["nominal", *KINEMATIC, *OF_WEIGHTS]:
        elecs = events.Electron
        muons = events.Muon
        jets = events.Jet
        if systematic in KINEMATIC:
            jets["pt"] = jets.pt * events[systematic]

        electron_reqs = (elecs.pt > 30) & (np.abs(elecs.eta) < 2.1) & (elecs.cutBased == 4) & (elecs.sip3d < 4)
        muon_reqs = (
            (muons.pt > 30) & (np.abs(muons.eta) < 2.1) & muons.tightId & (muons.sip3d < 4) & (muons.pfRelIso04_all < 0.15)
        )
        jet_reqs = (jets.pt > 30) & (np.abs(jets.eta) < 2.4) & ((jets.jetId & 4) != 0)
        elecs = elecs[electron_reqs]
        muons = muons[muon_reqs]
        jets = jets[jet_reqs]
        even = events.event % 2 == 0

        selection = Selection()
        selection["exactly_1l"] = (ak.num(elecs) + ak.num(muons)) == 1
        selection["atleast_4j"] = ak.num(jets) >= 4
        selection["exactly_1b"] = ak.sum(jets.btagCSVV2 > B_TAG, axis=1) == 1
        selection["atleast_2b"] = ak.sum(jets.btagCSVV2 > B_TAG, axis=1) >= 2
        regions = {
            "4j1b": selection.all("exactly_1l", "atleast_4j", "exactly_1b"),
            "4j2b": selection.all("exactly_1l", "atleast_4j", "atleast_2b"),
        }

        for region, mask in regions.items():
            region_jets = jets[mask]
            weights = np.ones(len(region_jets)) * 3378 / len(events)
            columns = {}
            if region == "4j1b":
                columns["observable"] = (ak.sum(region_jets.pt, axis=-1), OBSERVABLE)
            else:
                if not ak.any(mask):
                    continue
                columns["observable"] = (top_mass(region_jets), OBSERVABLE)
                features = best_assignment(region_jets, elecs[mask], muons[mask], even[mask])
                for i, (name, limits) in enumerate(FEATURES.items()):
                    columns[name] = (features[..., i], np.linspace(*limits, 26))
            if systematic in OF_WEIGHTS:
                pt = region_jets.pt[:, int(systematic.rsplit("_", 1)[-1])]
                variations = {f"{systematic}_{way}": weights * btag_weight(way, pt) for way in ("up", "down")}
            else:
                variations = {systematic: weights}
            for variation, weight in variations.items():
                for name, (column, bins) in columns.items():
                    histograms[f"{region} {name} {variation}"] = np.histogram(
                        ak.to_numpy(column), bins, weights=ak.to_numpy(weight)
                    )[0]
    return histograms
