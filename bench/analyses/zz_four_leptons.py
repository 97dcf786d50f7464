# SPDX-License-Identifier: Apache-2.0
# bench/analyses/zz_four_leptons.py: ZZ candidates of four leptons, as in higgscharm (ua-cms).
"""Adds photons of final-state radiation to leptons, and chooses the best pair of Z candidates."""

import awkward as ak
import numpy as np

from .kinematics import add, delta_r, metric_table, pair_mass

COLLECTIONS = {"Jet": 3.5, "Muon": 2.0, "Electron": 1.8, "FsrPhoton": 0.5, "HLT": 1, "PV": 1}
Z_MASS = 91.1876
HISTOGRAMS = {
    "zz_mass": np.linspace(70, 500, 87),
    "zz_pt": np.linspace(0, 300, 61),
    "z1_mass": np.linspace(40, 120, 41),
    "z2_mass": np.linspace(12, 120, 55),
    "z1_lepton1_pt": np.linspace(5, 300, 51),
    "z1_lepton1_eta": np.linspace(-2.5, 2.5, 51),
}


def mask_of(objects, *cuts):
    mask = ak.ones_like(objects.pt, dtype=bool)
    for cut in cuts:
        mask = np.logical_and(mask, cut)
    return mask


def selected_muons(muons):
    muons["is_loose"] = mask_of(
        muons, muons.pt > 5, np.abs(muons.eta) < 2.4, np.abs(muons.dxy) < 0.5, np.abs(muons.dz) < 1,
        muons.isGlobal | muons.isTracker,
    )  # fmt: skip
    muons["is_relaxed"] = mask_of(muons, muons.is_loose, np.abs(muons.sip3d) < 4)
    muons["is_tight"] = mask_of(muons, muons.is_relaxed, muons.isPFcand | ((muons.highPtId > 0) & (muons.pt > 200)))
    return muons


def selected_electrons(electrons, muons):
    electrons["is_loose"] = mask_of(
        electrons, electrons.pt > 7, np.abs(electrons.eta) < 2.5, np.abs(electrons.dxy) < 0.5, np.abs(electrons.dz) < 1
    )
    electrons["is_relaxed"] = mask_of(electrons, electrons.is_loose, np.abs(electrons.sip3d) < 4)
    electrons["is_tight"] = mask_of(electrons, electrons.is_relaxed, electrons.mvaIso_WP90)
    return electrons[ak.all(metric_table(electrons, muons) > 0.05, axis=-1)]


def closest_lepton(photons, leptons):
    """For each photon the closest relaxed lepton, and the distance over the square of its energy."""
    a, b = ak.unzip(ak.cartesian([photons, leptons], nested=True))
    distance = ak.where(b.is_relaxed, delta_r(a, b), np.inf)
    closest = ak.argmin(distance, axis=2, keepdims=True)
    lepton = ak.firsts(b[closest], axis=2)
    dr = ak.firsts(distance[closest], axis=2)
    dr_et2 = dr / photons.pt**2
    return ak.mask(lepton, (dr < 0.5) & (dr > 0.001) & (dr_et2 < 0.012)), dr_et2


def matched_photons(photons, leptons):
    """Photons with the index of their lepton, or -1. Each lepton keeps the photon with the smallest distance."""
    photons["mass"] = 0
    photons["charge"] = 0
    photons["idx"] = ak.local_index(photons, axis=1)
    lepton, dr_et2 = closest_lepton(photons, leptons)
    photons["lepton_idx"] = ak.fill_none(lepton.idx, -1)
    pairs = ak.cartesian({"fsr1": photons, "fsr2": photons}, nested=True, axis=1)
    is_duplicate = ak.sum(pairs.fsr1.lepton_idx == pairs.fsr2.lepton_idx, axis=-1) > 1
    least = ak.argmin(dr_et2.mask[is_duplicate], axis=-1, keepdims=True)
    is_least = ak.fill_none(ak.flatten(least[:, None] == photons.idx, axis=-1), False)
    photons["lepton_idx"] = ak.where(~is_duplicate | (is_duplicate & is_least), photons.lepton_idx, -1)
    return photons


def with_photon_index(leptons, photons):
    leptons["fsr_idx"] = ak.full_like(leptons.pt, -1, dtype=np.int64)
    is_same = leptons.idx[:, :, None] == photons.lepton_idx[:, None, :]
    position = ak.argmax(is_same, axis=2)
    found = photons.idx[position]
    return ak.with_field(leptons, ak.where(ak.any(is_same, axis=2), found, leptons.fsr_idx), "fsr_idx")


def selected_leptons(muons, electrons, photons):
    muons["lostHits"] = ak.zeros_like(muons.pt)
    names = ["pt", "eta", "phi", "mass", "charge", "pdgId", "is_loose", "is_relaxed", "is_tight", "lostHits"]
    helpers = ak.concatenate([muons, electrons], axis=1)
    helpers["idx"] = ak.local_index(helpers, axis=1)
    helpers = ak.zip({name: helpers[name] for name in [*names, "idx"]})
    photons = matched_photons(photons, helpers)
    helpers = with_photon_index(helpers, photons)

    # Selected photons do not count for the isolation of muons.
    matched = photons[photons.lepton_idx > -1]
    pairs = ak.cartesian({"muon": muons, "fsr": matched}, nested=True, axis=1)
    muon, photon = pairs.muon, pairs.fsr
    distance = delta_r(muon, photon)
    in_cone = (distance > 0.01) & (distance < 0.4)
    corrected = muons.pfRelIso03_all - ak.sum(photon.mask[in_cone].pt, axis=-1) / muons.pt
    muons["pfRelIso03_all"] = ak.where(corrected > 0, corrected, 0.0)
    muons["is_tight"] = muons.is_tight & (muons.pfRelIso03_all < 0.35)
    electrons["pfRelIso03_all"] = ak.zeros_like(electrons.pt)

    leptons = ak.concatenate([muons, electrons], axis=1)
    leptons = ak.zip(
        {**{name: leptons[name] for name in [*names, "pfRelIso03_all"]}, "idx": helpers.idx, "fsr_idx": helpers.fsr_idx}
    )
    leptons = leptons[ak.argsort(leptons.pt, axis=1, ascending=False)]
    has_photon = leptons.fsr_idx > -1
    photon = photons[ak.mask(leptons.fsr_idx, has_photon)]
    dressed = add(leptons, photon)
    momentum = {name: ak.where(has_photon, ak.fill_none(dressed[name], 0), leptons[name]) for name in dressed.fields}
    leptons["p4"] = ak.zip({**momentum, "charge": leptons.charge})
    leptons["idx"] = ak.local_index(leptons, axis=1)
    return leptons


def z_candidates(leptons):
    z = ak.combinations(leptons, 2, fields=["l1", "l2"])
    z = z[z.l1.is_loose & z.l2.is_loose]
    z["p4"] = add(z.l1.p4, z.l2.p4)
    z["is_sr"] = (z.l1.pdgId == -z.l2.pdgId) & z.l1.is_tight & z.l2.is_tight
    return z[(z.p4.mass > 12) & (z.p4.mass < 120)]


def candidate(z1, z2):
    names = ["l1", "l2", "p4", "is_sr"]
    return ak.zip({key: ak.zip({name: z[name] for name in names}) for key, z in (("z1", z1), ("z2", z2))})


def heavy_enough(a, b):
    """Pairs of opposite charge must not come from a light resonance."""
    return (a.charge + b.charge != 0) | (pair_mass(a, b) > 4)


def zz_candidates(z):
    pairs = ak.combinations(z, 2, fields=["z1", "z2"])
    cand = candidate(pairs.z1, pairs.z2)
    a, b = cand.z1, cand.z2
    shared = (a.l1.idx == b.l1.idx) | (a.l1.idx == b.l2.idx) | (a.l2.idx == b.l1.idx) | (a.l2.idx == b.l2.idx)
    cand = cand[~shared]

    distance1, distance2 = np.abs(cand.z1.p4.mass - Z_MASS), np.abs(cand.z2.p4.mass - Z_MASS)
    cand = candidate(ak.where(distance1 > distance2, cand.z2, cand.z1), ak.where(distance1 > distance2, cand.z1, cand.z2))
    a, b = cand.z1, cand.z2
    leptons = [a.l1, a.l2, b.l1, b.l2]
    good = a.p4.mass > 40
    leading = ak.zeros_like(good)
    for i, first in enumerate(leptons):
        for j, second in enumerate(leptons):
            if i < j:
                good = good & (delta_r(first, second) > 0.02) & heavy_enough(first, second)
            if i != j:
                leading = leading | ((first.p4.pt > 20) & (second.p4.pt > 10))
    cand = cand[ak.fill_none(good & leading, False)]

    # The other pairing of four leptons of one flavor must not look more like a Z.
    of_one = cand.mask[np.abs(cand.z1.l1.pdgId) == np.abs(cand.z2.l1.pdgId)]
    crossed = of_one.z1.l1.pdgId == -of_one.z2.l1.pdgId
    l1, l2, l3, l4 = of_one.z1.l1.p4, of_one.z1.l2.p4, of_one.z2.l1.p4, of_one.z2.l2.p4
    za0 = ak.where(crossed, add(l1, l3).mass, add(l1, l4).mass)
    zb0 = ak.where(crossed, add(l2, l4).mass, add(l2, l3).mass)
    is_first = np.abs(za0 - Z_MASS) < np.abs(zb0 - Z_MASS)
    za, zb = ak.where(is_first, za0, zb0), ak.where(is_first, zb0, za0)
    passes = ~((np.abs(za - Z_MASS) < np.abs(cand.z1.p4.mass - Z_MASS)) & (zb < 12))
    cand = cand[ak.fill_none(passes, True)]
    cand["p4"] = add(cand.z1.p4, cand.z2.p4)
    return cand[cand.z1.is_sr & cand.z2.is_sr & (cand.p4.mass > 70)]


def best(cand):
    distance = np.abs(cand.z1.p4.mass - Z_MASS)
    is_closest = distance == ak.min(distance, axis=1)
    pt_sum = cand.z2.l1.p4.pt + cand.z2.l2.p4.pt
    return cand[is_closest & (pt_sum == ak.max(pt_sum[is_closest], axis=1))]


def objects_of(events):
    """The ZZ candidates, and the jets that are not near to a lepton."""
    muons = selected_muons(events.Muon)
    electrons = selected_electrons(events.Electron, muons)
    photons = events.FsrPhoton
    photons = photons[(photons.pt > 2) & (np.abs(photons.eta) < 2.4) & (photons.relIso03 < 1.8)]
    leptons = selected_leptons(muons, electrons, photons)
    jets = events.Jet
    jets = jets[
        (jets.pt > 20) & (np.abs(jets.eta) < 2.5) & (jets.jetId >= 6) & ak.all(metric_table(jets, leptons) > 0.4, axis=-1)
    ]
    return zz_candidates(z_candidates(leptons)), jets


def run(events):
    cand, jets = objects_of(events)
    trigger = np.zeros(len(events), dtype=bool)
    for path in ("IsoMu24", "DoubleMu", "Ele32", "DoubleEle", "MuonEle"):
        trigger |= np.asarray(events.HLT[path])
    passes = trigger & (events.PV.npvsGood > 0) & (ak.num(cand) >= 1)
    zz = best(cand[passes])
    columns = {
        "zz_mass": zz.p4.mass,
        "zz_pt": zz.p4.pt,
        "z1_mass": zz.z1.p4.mass,
        "z2_mass": zz.z2.p4.mass,
        "z1_lepton1_pt": zz.z1.l1.pt,
        "z1_lepton1_eta": zz.z1.l1.eta,
    }
    histograms = {name: np.histogram(ak.to_numpy(ak.flatten(x)), HISTOGRAMS[name])[0] for name, x in columns.items()}
    return {**histograms, "candidates": zz, "jets": ak.num(jets[passes])}
