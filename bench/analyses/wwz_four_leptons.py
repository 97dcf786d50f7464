# SPDX-License-Identifier: Apache-2.0
# bench/analyses/wwz_four_leptons.py: WWZ in four leptons, as in ewkcoffea (cmstas).
"""Finds the pair of leptons that is nearest to the Z. Fills variables in two regions, for three corrections of jets."""

import awkward as ak
import numpy as np

from .corrections import Selection, Table, Weights, table
from .kinematics import add, cosine_of_helicity, delta_phi, delta_r, pair_mass, transverse_mass

COLLECTIONS = {"Jet": 1.8, "Muon": 2.8, "Electron": 2.8, "MET": 1, "HLT": 1, "Flag": 1, "Pileup": 1,
               "PSWeight": 4, "LHEScaleWeight": 9}  # fmt: skip
Z_MASS = 91.2
LOOSE, MEDIUM = 0.25, 0.6  # working points of the tag
MUON_SF = [table(31 + i, 0.98, 0.01, [0, 0.9, 1.2, 2.1, 2.4], [15, 20, 25, 30, 40, 60, 200]) for i in range(3)]
ELECTRON_SF = [table(34 + i, 0.97, 0.01, [-2.5, -1.5, 0, 1.5, 2.5], [10, 20, 35, 50, 100]) for i in range(3)]
TAG_SF = [table(37 + i, 0.95, 0.02, [0, 4, 5, 6], [20, 50, 100, 300]) for i in range(3)]
TAG_EFFICIENCY = Table([[0.1, 0.08, 0.09], [0.3, 0.35, 0.3], [0.8, 0.85, 0.8]], [0, 4, 5, 6], [20, 50, 100, 300])
PILEUP = [table(40 + i, 1, 0.1, np.arange(0, 101, 5)) for i in range(3)]
VETO_MAP = Table((np.random.default_rng(43).random((10, 10)) < 0.01) * 1, np.linspace(-5, 5, 11), np.linspace(-3.2, 3.2, 11))
TRIGGERS = {
    "m_m": ("DoubleMu", 20, 10),
    "e_e": ("DoubleEle", 25, 15),
    "m_e": ("MuonEle", 25, 15),
    "e_m": ("MuonEle", 25, 10),
}
VARIABLES = {
    "met": (0, 300), "ptl4": (0, 300), "scalarptsum_lep": (0, 600), "scalarptsum_lepmetjet": (0, 1000), "mllll": (0, 600),
    "j0pt": (0, 300), "mll_zl0_zl1": (0, 200), "mll_wl0_wl1": (0, 300), "pt_zl0_zl1": (0, 300), "dr_wl0_wl1": (0, 6),
    "dr_wleps_zleps": (0, 6), "dr_wl0_j_min": (0, 6), "mt_4l_met": (0, 600), "mt_wleps_met": (0, 300),
    "absdphi_z_ww": (0, np.pi), "absdphi_4l_met": (0, np.pi), "cos_helicity_x": (0, 1), "mlb_min": (0, 300),
    "mll_min_afos": (0, 200), "absdphi_min_sfos": (0, np.pi), "njets": (0, 10), "nbtagsl": (0, 5), "score_bin": (0, 8),
}  # fmt: skip


def selected_electrons(ele):
    mask = (ele.pt > 10) & (abs(ele.eta) < 2.5) & (abs(ele.dxy) < 0.05) & (abs(ele.dz) < 0.1) & (abs(ele.sip3d) < 8)
    ele["is_tight"] = mask & (ele.lostHits <= 1) & (ele.tightCharge == 2) & ele.convVeto & ele.mvaIso_WP90
    ele = ele[ele.is_tight]
    for name, factor in zip(("nom", "hi", "lo"), ELECTRON_SF):
        ele[f"sf_{name}_elec"] = factor(ele.eta + ele.deltaEtaSC, ele.pt)
        ele[f"sf_{name}_muon"] = ak.ones_like(ele.pt)
    return ele


def selected_muons(mu):
    mask = (mu.pt > 10) & (abs(mu.eta) < 2.4) & (abs(mu.dxy) < 0.05) & (abs(mu.dz) < 0.1) & (abs(mu.sip3d) < 8)
    mu["is_tight"] = mask & mu.mediumId & (mu.pfIsoId >= 1)
    mu = mu[mu.is_tight]
    counts = ak.num(mu.pt)
    abseta, pt = ak.flatten(abs(mu.eta)), ak.flatten(mu.pt)
    pt = ak.where(pt > 199.9, 199.9, pt)
    pt = ak.where(pt < 15.0, 15.0, pt)
    for name, factor in zip(("nom", "hi", "lo"), MUON_SF):
        mu[f"sf_{name}_muon"] = ak.unflatten(factor(abseta, pt), counts)
        mu[f"sf_{name}_elec"] = ak.ones_like(mu.pt)
    return mu


def cleaned(jets, leptons):
    """The jets that are not near to a lepton."""
    pairs = ak.cartesian({"j": jets, "l": leptons}, nested=True)
    return jets[ak.fill_none(ak.min(delta_r(pairs.j, pairs.l), axis=-1) > 0.4, True)]


def z_candidate_mask(leptons):
    """Which leptons are of the pair of one flavor and opposite charge that is nearest to the Z."""
    leptons["idx"] = ak.local_index(leptons, axis=1)
    pairs = ak.combinations(leptons, 2, fields=["l0", "l1"])
    index = ak.argcombinations(leptons, 2, fields=["l0", "l1"])
    distance = abs(pair_mass(pairs.l0, pairs.l1) - Z_MASS)
    distance = ak.mask(distance, pairs.l0.pdgId == -pairs.l1.pdgId)
    nearest = ak.argmin(distance, axis=-1, keepdims=True)
    mask = leptons.idx == ak.flatten(index.l0[nearest])
    mask = mask | (leptons.idx == ak.flatten(index.l1[nearest]))
    return ak.fill_none(mask, False)


def z_and_w_leptons(leptons):
    mask = z_candidate_mask(leptons)
    from_z, from_w = leptons[mask], leptons[~mask]
    if ak.any(from_z.pt) & ak.any(from_w.pt):
        from_z = from_z[ak.argsort(from_z.pt, axis=-1, ascending=False)]
        from_w = from_w[ak.argsort(from_w.pt, axis=-1, ascending=False)]
    return from_z, from_w


def preselection(leptons, from_z, from_w):
    """Masks of events, for W leptons of one flavor and of different flavors."""
    pt = (leptons[:, 0].pt > 25) & (leptons[:, 1].pt > 15)
    opposite = ak.any(from_w[:, 0:1].pdgId * from_w[:, 1:2].pdgId < 0, axis=1)
    same = ak.fill_none(ak.any(abs(from_w[:, 0:1].pdgId) == abs(from_w[:, 1:2].pdgId), axis=1), False)
    near_z = ak.any(abs(pair_mass(from_z[:, 0:1], from_z[:, 1:2]) - Z_MASS) < 10, axis=1)
    quality = ak.all(from_z.sip3d < 4, axis=1) & ak.all(from_w.sip3d < 4, axis=1)
    for each in (from_z, from_w):
        electrons = each[abs(each.pdgId) == 11]
        quality = quality & ak.all(electrons.pfRelIso03_all < 0.2, axis=1)
    mask = ak.fill_none(pt & opposite & near_z & quality, False)
    return mask & same, mask & ~same


def trigger_mask(events, leptons):
    """The events with a trigger whose thresholds the leptons pass."""
    el = leptons[abs(leptons.pdgId) == 11]
    el = ak.pad_none(el[ak.argsort(el.pt, axis=-1, ascending=False)], 2)
    mu = leptons[abs(leptons.pdgId) == 13]
    mu = ak.pad_none(mu[ak.argsort(mu.pt, axis=-1, ascending=False)], 2)
    passes = ak.zeros_like(np.array(events.event), dtype=bool)
    nothing = ak.zeros_like(np.array(events.event), dtype=bool)
    pairs = {
        "m_m": (mu[:, 0], mu[:, 1]),
        "e_e": (el[:, 0], el[:, 1]),
        "m_e": (mu[:, 0], el[:, 0]),
        "e_m": (el[:, 0], mu[:, 0]),
    }
    for name, (path, high, low) in TRIGGERS.items():
        first, second = pairs[name]
        offline = ak.fill_none((first.pt > high) & (second.pt > low), False)
        passes = passes | ak.where(events.HLT[path], offline, nothing)
    return passes


def tag_weight(jets, factor):
    efficiency = TAG_EFFICIENCY(jets.hadronFlavour, jets.pt)
    scale = factor(jets.hadronFlavour, jets.pt)
    is_tagged = jets.btagDeepFlavB > LOOSE
    simulated = ak.prod(efficiency[is_tagged], axis=-1) * ak.prod(1 - efficiency[~is_tagged], axis=-1)
    data = ak.prod(scale[is_tagged] * efficiency[is_tagged], axis=-1) * ak.prod(1 - (scale * efficiency)[~is_tagged], axis=-1)
    return data / simulated


def base_weights(events, leptons):
    weights = Weights(len(events))
    nominal = ak.ones_like(events.MET.pt)
    weights.add("norm", events.genWeight * 0.01)
    weights.add("ps_isr", nominal, events.PSWeight[:, 0], events.PSWeight[:, 2])
    weights.add("ps_fsr", nominal, events.PSWeight[:, 1], events.PSWeight[:, 3])
    weights.add("renormalization", nominal, events.LHEScaleWeight[:, 7], events.LHEScaleWeight[:, 1])
    weights.add("factorization", nominal, events.LHEScaleWeight[:, 5], events.LHEScaleWeight[:, 3])
    weights.add("pileup", *(correction(events.Pileup.nTrueInt) for correction in PILEUP))
    for kind in ("muon", "elec"):
        factors = [leptons[f"sf_{name}_{kind}"] for name in ("nom", "hi", "lo")]
        weights.add(f"eff_{kind}", *(sf[:, 0] * sf[:, 1] * sf[:, 2] * sf[:, 3] for sf in factors))
    return weights


def score_bin(values):
    """A bin by two scores of the variables, in place of a trained model."""
    wwz = 1 / (1 + np.exp(-(values["met"] / 60 + values["mt_wleps_met"] / 90 - values["dr_wl0_wl1"] / 2)))
    zh = 1 / (1 + np.exp(values["mll_wl0_wl1"] / 40 - values["absdphi_z_ww"]))
    wwz, zh = ak.fill_none(wwz, -9999), ak.fill_none(zh, -9999)
    bins = ak.full_like(wwz, -999)
    for i, (low, high) in enumerate([(0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.01)]):
        bins = ak.where((wwz >= low) & (wwz < high) & (wwz > zh), i, bins)
        bins = ak.where((zh >= low) & (zh < high) & (wwz <= zh), i + 4, bins)
    return bins


def variables_of(leptons, from_z, from_w, jets, met, all_leptons):
    l0, l1, l2, l3 = (leptons[:, i] for i in range(4))
    z0, z1, w0, w1 = from_z[:, 0], from_z[:, 1], from_w[:, 0], from_w[:, 1]
    zz, ww, llll = add(z0, z1), add(w0, w1), add(l0, l1, l2, l3)
    invisible = ak.zip({"pt": met.pt, "eta": 0, "phi": met.phi, "mass": 0})
    is_tagged = jets.btagDeepFlavB > LOOSE
    lb = ak.cartesian({"l": all_leptons, "j": jets[is_tagged]})
    mass_lb = pair_mass(lb["l"], lb["j"])
    ll = ak.combinations(all_leptons, 2, fields=["l0", "l1"])
    opposite, same = ll.l0.pdgId * ll.l1.pdgId < 0, ll.l0.pdgId == -ll.l1.pdgId
    scalar = l0.pt + l1.pt + l2.pt + l3.pt
    njets = ak.num(jets)
    values = {
        "met": met.pt,
        "ptl4": llll.pt,
        "scalarptsum_lep": scalar,
        "scalarptsum_lepmetjet": scalar + met.pt + ak.sum(jets.pt, axis=-1),
        "mllll": llll.mass,
        "j0pt": ak.flatten(jets[ak.argmax(jets.pt, axis=-1, keepdims=True)].pt),
        "mll_zl0_zl1": zz.mass,
        "mll_wl0_wl1": ww.mass,
        "pt_zl0_zl1": zz.pt,
        "dr_wl0_wl1": delta_r(w0, w1),
        "dr_wleps_zleps": delta_r(ww, zz),
        "dr_wl0_j_min": ak.where(njets > 0, ak.min(delta_r(w0, jets), axis=-1), 0),
        "mt_4l_met": transverse_mass(llll, met),
        "mt_wleps_met": transverse_mass(ww, met),
        "absdphi_z_ww": abs(delta_phi(zz, add(w0, w1, invisible))),
        "absdphi_4l_met": abs(delta_phi(llll, met)),
        "cos_helicity_x": cosine_of_helicity(w0, w1),
        "mlb_min": ak.min(mass_lb, axis=-1),
        "mll_min_afos": ak.min(pair_mass(ll.l0, ll.l1)[opposite], axis=-1),
        "absdphi_min_sfos": ak.min(abs(delta_phi(ll.l0, ll.l1))[same], axis=-1),
        "njets": njets,
        "nbtagsl": ak.num(jets[is_tagged]),
    }
    return {**values, "score_bin": score_bin(values)}


def cleaned_jets(events, leptons, factor):
    """Jets with corrected pt that are not near to a lepton."""
    jets = cleaned(events.Jet, leptons)
    jets["pt_raw"] = (1 - jets.rawFactor) * jets.pt
    jets["rho"] = ak.broadcast_arrays(events.fixedGridRhoFastjetAll, jets.pt)[0]
    jets["pt"] = jets.pt_raw * (1.06 - 0.0005 * jets.rho) * factor
    jets["is_good"] = (jets.pt > 20) & (abs(jets.eta) < 2.4) & (jets.jetId >= 2)
    return jets


def run(events):
    met = events.MET
    ele, mu = selected_electrons(events.Electron), selected_muons(events.Muon)
    leptons = ak.concatenate([ele, mu], axis=1)
    leptons = leptons[ak.argsort(leptons.pt, axis=-1, ascending=False)]
    events["l_wwz_t"] = leptons
    padded = ak.pad_none(leptons, 4)
    four = padded[:, 0:4]
    filters = np.logical_and.reduce([np.asarray(events.Flag[flag]) for flag in events.Flag.fields])
    from_z, from_w = z_and_w_leptons(four)
    one_flavor, two_flavors = preselection(four, from_z, from_w)
    weights = base_weights(events, padded)
    trigger = trigger_mask(events, leptons)

    results = {}
    for systematic, factor in (("nominal", 1.0), ("scale_j_up", 1.03), ("scale_j_down", 0.97)):
        jets = cleaned_jets(events, leptons, factor)
        veto = ak.sum(VETO_MAP(jets.eta, jets.phi), axis=-1)
        good = jets[jets.is_good]
        values = variables_of(padded, from_z, from_w, good, met, leptons)

        varied = Weights(len(events))
        varied.nominal, varied.variations = weights.nominal, dict(weights.variations)
        varied.add("btag", *(tag_weight(good, each) for each in TAG_SF))

        selection = Selection()
        selection["4l"] = filters & np.asarray((ak.num(leptons) == 4) & (veto == 0) & trigger)
        selection["cleanup"] = ak.fill_none(values["mll_min_afos"] > 12, False)
        selection["0b"] = ak.num(good[good.btagDeepFlavB > MEDIUM]) == 0
        selection["sf"] = one_flavor & ak.fill_none(abs(values["mll_wl0_wl1"] - Z_MASS) > 10, False)
        selection["of"] = two_flavors
        for region in ("sf", "of"):
            mask = selection.all("4l", "cleanup", "0b", region)
            for name, limits in VARIABLES.items():
                column = ak.to_numpy(ak.fill_none(values[name][mask], -9999))
                for variation in [None, *varied.variations] if systematic == "nominal" and name == "met" else [None]:
                    results[f"{name} {region} {systematic} {variation}"] = np.histogram(
                        column, 40, limits, weights=varied.weight(variation)[mask]
                    )[0]
    return {**results, "leptons": leptons[mask], "w_mass": values["mll_wl0_wl1"]}
