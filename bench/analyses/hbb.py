# SPDX-License-Identifier: Apache-2.0
# bench/analyses/hbb.py: a Higgs boson that decays to two b quarks in one fat jet, as in hbb-coffea (jennetd).
"""Computes masses of subjets, matches generated bosons, and fills three regions with all variations of the weights."""

import awkward as ak
import numpy as np

from .corrections import Selection, Table, Weights, table
from .kinematics import delta_phi, delta_r, metric_table, pair_mass, sum_in_lists

COLLECTIONS = {"Jet": 4.5, "FatJet": 1.8, "Muon": 0.5, "Electron": 0.2, "Tau": 0.2, "MET": 1, "HLT": 1, "Flag": 1, "Pileup": 1,
               "GenPart": 9.0, "PSWeight": 4, "LHEScaleWeight": 9, "LHEPdfWeight": 33}  # fmt: skip
B_TAG = 0.4941
IS_LAST_COPY, FROM_HARD_PROCESS = 1 << 13, 1 << 8
REGIONS = {
    "signal-ggf": ["trigger", "metfilter", "minjetkin", "jetid", "n2ddt", "antiak4btag", "met", "noleptons", "notvbf"],
    "signal-vbf": ["trigger", "metfilter", "minjetkin", "jetid", "n2ddt", "antiak4btag", "met", "noleptons", "isvbf"],
    "muoncontrol": ["muontrigger", "metfilter", "minjetkin", "jetid", "n2ddt", "onemuon", "muonkin"],
}
PT_BINS = np.array([200, 300, 400, 450, 500, 550, 600, 675, 800, 1200])
MSD_BINS = np.linspace(10, 201, 24)

N2_SHIFT = table(11, 0.28, 0.01, np.linspace(-8, -0.5, 16), PT_BINS)
PILEUP = [table(12 + i, 1, 0.1, np.arange(0, 101, 5)) for i in range(3)]  # nominal, up, down
EFFICIENCY = Table([[[0.05, 0.04], [0.06, 0.05]], [[0.2, 0.15], [0.25, 0.2]], [[0.6, 0.5], [0.7, 0.6]]],
                   [0, 4, 5, 6], [20, 70, 1000], [0, 1.4, 2.5])  # fmt: skip
SCALE_FACTORS = [table(15 + i, 0.95 + 0.05 * i, 0.01, [0, 4, 5, 6], [0, 1.4, 2.5], [20, 70, 200, 1000]) for i in range(3)]
TRIGGER = [table(18 + i, 0.97, 0.01, PT_BINS, MSD_BINS) for i in range(3)]
MUON_ID = table(21, 0.98, 0.01, [0, 0.9, 1.2, 2.1, 2.4], [10, 25, 60, 200])
BOSON = table(22, 1.0, 0.1, np.linspace(0, 1000, 21))


def corrected_msoftdrop(fatjets):
    """The mass of the sum of the subjets before corrections, times a correction by pt and eta."""
    generated = 1.00626 - 1.06161 * np.power(np.maximum(fatjets.pt, 1) * 0.08, -1.20454)
    reconstructed = ak.where(abs(fatjets.eta) < 1.3, 1.093 - 1.5e-4 * fatjets.pt, 1.272 - 5.7e-4 * fatjets.pt)
    subjets = fatjets.subjets
    raw = 1 - subjets.rawFactor
    subjets["pt"] = subjets.pt * raw
    subjets["mass"] = subjets.mass * raw
    return sum_in_lists(subjets, axis=2).mass * np.maximum(1e-5, generated * reconstructed)


def bosons_of(particles):
    number = abs(particles.pdgId)
    wanted = IS_LAST_COPY | FROM_HARD_PROCESS
    return particles[(number >= 22) & (number <= 25) & ((particles.statusFlags & wanted) == wanted)]


def flavor_of(bosons):
    child = abs(bosons.children.pdgId)
    flavor = ak.any(child == 5, axis=-1) * 3 + ak.any(child == 4, axis=-1) * 2 + ak.all(child < 4, axis=-1) * 1
    return ak.fill_none(flavor, 0)


def closest_boson(jet, bosons):
    """One boson for each jet, of which there is at most one in an event."""
    distance = delta_r(bosons, jet)
    closest = ak.argmin(distance, axis=1, keepdims=True)
    return ak.mask(ak.firsts(bosons[closest]), ak.fill_none(ak.firsts(distance[closest]) < 0.8, False))


def add_theory_weights(weights, events):
    nominal = np.ones(len(events))
    if len(events.PSWeight[0]) == 4:
        ps = events.PSWeight
        weights.add("UEPS_ISR", nominal, ps[:, 0], ps[:, 2])
        weights.add("UEPS_FSR", nominal, ps[:, 1], ps[:, 3])
    scale = events.LHEScaleWeight
    variations = [scale[:, i] for i in (0, 1, 3, 5, 7, 8)]
    weights.add("scalevar_7pt", nominal, np.maximum.reduce(variations), np.minimum.reduce(variations))
    weights.add("scalevar_3pt", nominal, np.maximum(scale[:, 0], scale[:, 8]), np.minimum(scale[:, 0], scale[:, 8]))
    pdf = events.LHEPdfWeight
    difference = pdf[:, 1:-2] - np.ones((len(events), 30))
    uncertainty = np.sqrt(ak.sum(np.square(difference), axis=1) / 29)
    weights.add("PDF_weight", nominal, uncertainty + nominal)
    weights.add("aS_weight", nominal, 0.5 * (pdf[:, 32] - pdf[:, 31]) + nominal)


def add_btag_weight(weights, jets):
    abseta = abs(jets.eta)
    passes = jets.btagDeepFlavB > B_TAG
    efficiency = EFFICIENCY(jets.hadronFlavour, jets.pt, abseta)

    def combined(factor):
        tagged = ak.prod(factor[passes], axis=-1)
        untagged = ak.prod(((1 - factor * efficiency) / (1 - efficiency))[~passes], axis=-1)
        return ak.fill_none(tagged * untagged, 1.0)

    down, nominal, up = (combined(factors(jets.hadronFlavour, abseta, jets.pt)) for factors in SCALE_FACTORS)
    weights.add("btagWeight", nominal, up, down)
    return nominal


def first_or_zero(x):
    return np.array(ak.fill_none(x, 0.0))


def run(events):
    selection = Selection()
    weights = Weights(len(events))
    trigger = np.zeros(len(events), dtype=bool)
    for path in ("PFHT1050", "PFJet500"):
        trigger |= np.array(events.HLT[path])
    selection["trigger"] = trigger
    selection["muontrigger"] = events.HLT.IsoMu24
    metfilter = np.ones(len(events), dtype=bool)
    for flag in events.Flag.fields:
        metfilter &= np.array(events.Flag[flag])
    selection["metfilter"] = metfilter

    fatjets = events.FatJet
    fatjets["msdcorr"] = corrected_msoftdrop(fatjets)
    fatjets["qcdrho"] = 2 * np.log(np.maximum(fatjets.msdcorr, 1e-3) / fatjets.pt)
    fatjets["n2ddt"] = fatjets.n2b1 - N2_SHIFT(fatjets.qcdrho, fatjets.pt)
    candidate = fatjets[(fatjets.pt > 200) & (abs(fatjets.eta) < 2.5) & ((fatjets.jetId & 2) > 0)][:, :2]
    candidate = ak.firsts(candidate[ak.argmax(candidate.btagDDBvLV2, axis=1, keepdims=True)])
    selection["minjetkin"] = ak.fill_none(
        (candidate.pt >= 250) & (candidate.pt < 1200) & (candidate.msdcorr >= 10) & (candidate.msdcorr < 201), False
    )
    selection["jetid"] = ak.fill_none((candidate.jetId & 2) > 0, False)
    selection["n2ddt"] = ak.fill_none(candidate.n2ddt < 0, False)

    jets = events.Jet
    jets = jets[(jets.pt > 30) & (abs(jets.eta) < 5) & ((jets.jetId & 2) > 0) & (jets.puId > 0)]
    jets = jets[(jets.pt > 50) | (abs(jets.eta) < 2.65) | (abs(jets.eta) > 3.139)][:, :4]
    dphi = abs(delta_phi(jets, candidate))
    opposite = ak.max(jets[dphi > np.pi / 2].btagDeepFlavB, axis=1, mask_identity=False)
    selection["antiak4btag"] = ak.fill_none(opposite < B_TAG, False)
    selection["met"] = events.MET.pt < 140
    away = jets[delta_r(jets, candidate) > 0.8]
    jet1, jet2 = ak.firsts(away[:, 0:1]), ak.firsts(away[:, 1:2])
    mjj = pair_mass(jet1, jet2)
    isvbf = ak.fill_none((abs(jet1.eta - jet2.eta) > 2.5) & (mjj > 300), False)
    selection["isvbf"] = isvbf
    selection["notvbf"] = ~isvbf

    muons, electrons, taus = events.Muon, events.Electron, events.Tau
    goodmuon = (muons.pt > 10) & (abs(muons.eta) < 2.4) & (muons.pfRelIso04_all < 0.25) & muons.looseId
    goodelectron = (electrons.pt > 10) & (abs(electrons.eta) < 2.5) & (electrons.cutBased >= 2)
    nmuons, nelectrons = ak.sum(goodmuon, axis=1), ak.sum(goodelectron, axis=1)
    ntaus = ak.sum(
        (taus.pt > 20)
        & (abs(taus.eta) < 2.3)
        & taus.idDecayMode
        & (taus.rawIso < 5)
        & ((taus.idDeepTau2017v2p1VSjet & 4) > 0)
        & ak.all(metric_table(taus, muons[goodmuon]) > 0.4, axis=2)
        & ak.all(metric_table(taus, electrons[goodelectron]) > 0.4, axis=2),
        axis=1,
    )
    muon = ak.firsts(muons[goodmuon])
    selection["noleptons"] = (nmuons == 0) & (nelectrons == 0) & (ntaus == 0)
    selection["onemuon"] = (nmuons == 1) & (nelectrons == 0) & (ntaus == 0)
    selection["muonkin"] = ak.fill_none(
        (muon.pt > 25) & (abs(muon.eta) < 2.1) & (abs(delta_phi(muon, candidate)) > 2 * np.pi / 3), False
    )

    weights.add("genweight", events.genWeight)
    add_theory_weights(weights, events)
    weights.add("pileup_weight", *(correction(events.Pileup.nPU) for correction in PILEUP))
    bosons = bosons_of(events.GenPart)
    genflavor = flavor_of(closest_boson(candidate, bosons))
    weights.add("vjets_nominal", BOSON(first_or_zero(ak.firsts(bosons.pt))))
    btag = add_btag_weight(weights, away[abs(away.eta) < 2.5])
    leading = ak.firsts(fatjets)
    pt, msd = first_or_zero(leading.pt), first_or_zero(leading.msoftdrop)
    has_muon = selection.all("onemuon")
    weights.add("jet_trigger", *(np.where(has_muon, 1.0, correction(pt, msd)) for correction in TRIGGER))
    muon_id = MUON_ID(first_or_zero(abs(muon.eta)), first_or_zero(muon.pt))
    weights.add("mu_idweight", np.where(has_muon, muon_id, 1.0))

    histograms = {"btag": np.histogram(ak.to_numpy(btag), 50, (0, 3))[0]}
    msd_matched = candidate.msdcorr * 0.987 * (genflavor > 0) + candidate.msdcorr * (genflavor == 0)
    for region, names in REGIONS.items():
        cut = selection.all(*names)
        columns = [ak.to_numpy(ak.fill_none(x[cut], np.nan)) for x in (candidate.pt, msd_matched)]
        for variation in [None, *weights.variations]:
            weight = weights.weight(variation)[cut]
            histograms[f"{region} {variation}"] = np.histogram2d(*columns, [PT_BINS, MSD_BINS], weights=weight)[0]
    return {**histograms, "genflavor": genflavor, "candidate": candidate[["pt", "msdcorr", "n2ddt"]]}
