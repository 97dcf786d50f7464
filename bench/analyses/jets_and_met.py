# SPDX-License-Identifier: Apache-2.0
# bench/analyses/jets_and_met.py: corrections of jets and of the missing momentum, as in coffea's jetmet_tools.
"""Corrects the energy scale and the resolution. Each of nine shifts has its own selection."""

import awkward as ak
import numpy as np

from .corrections import table
from .kinematics import delta_phi, transverse_mass

COLLECTIONS = {"Jet": 5.0, "GenJet": 4.5, "Muon": 0.9, "MET": 1}
LEAST_ENERGY = np.float32(1e-2)
SOURCES = ["AbsoluteScale", "FlavorQCD"]
ETA = [-5, -3, -2.5, -1.3, 0, 1.3, 2.5, 3, 5]
PT = [0, 20, 30, 50, 80, 120, 200, 500]

SCALE = table(1, 1.05, 0.02, ETA, PT)  # of the energy
RESOLUTION = table(2, 0.12, 0.02, ETA, [0, 20, 40, 80, 160])
RESOLUTION_FACTORS = [table(3 + i, mean, 0.02, ETA) for i, mean in enumerate((1.15, 1.25, 1.05))]  # nominal, up, down
UNCERTAINTIES = {source: table(6 + i, 0.02, 0.008, ETA, PT) for i, source in enumerate(SOURCES)}


def random_normal(x):
    """Normal random numbers in the lists of x. Its first and last values are the seed."""
    seeds = ak.to_numpy(x)[[0, -1]].astype(np.float64).view(np.uint32)
    return np.random.default_rng(seeds).normal(size=len(x)).astype(np.float32)


def smearing(jets, which):
    """The factor of a jet: its distance from the generated jet is scaled, or there is none and the factor is random."""
    factor = RESOLUTION_FACTORS[which](jets.eta)
    relative = (jets.pt - jets.pt_gen) / jets.pt
    is_matched = (jets.pt_gen > 0) & (np.abs(relative) < 3 * jets.resolution)
    scaled = 1 + (factor - 1) * relative
    stochastic = 1 + np.sqrt(np.maximum(factor**2 - 1, 0)) * jets.resolution * jets.random
    smeared = ak.where(is_matched, scaled, stochastic)
    least = LEAST_ENERGY / np.cosh(jets.eta)
    return ak.where(smeared * jets.pt < least, least / jets.pt, smeared)


def scaled(jets, factor):
    jets = ak.with_field(jets, jets.pt * factor, "pt")
    return ak.with_field(jets, jets.mass * factor, "mass")


def with_inputs(events):
    """Jets with what corrections need: values before any correction, the generated jet, and the density of the event."""
    jets = events.Jet
    jets["pt_raw"] = (1 - jets.rawFactor) * jets.pt
    jets["mass_raw"] = (1 - jets.rawFactor) * jets.mass
    index = ak.values_astype(jets.genJetIdx, np.int64)
    exists = (index >= 0) & (index < ak.num(events.GenJet))
    matched = events.GenJet[ak.mask(index, exists)]
    jets["pt_gen"] = ak.values_astype(ak.fill_none(matched.pt, 0), np.float32)
    jets["event_rho"] = ak.broadcast_arrays(events.fixedGridRhoFastjetAll, jets.pt)[0]
    return jets


def corrected_jets(jets):
    """The jets with corrected pt and mass, and for each uncertainty the jets of both of its directions."""
    counts = ak.num(jets)
    flat = ak.flatten(jets)
    fields = {name: flat[name] for name in ak.fields(flat)}
    fields["pt_orig"], fields["mass_orig"] = fields["pt"], fields["mass"]
    offset = np.maximum(1 - flat.event_rho * flat.area / np.maximum(flat.pt_raw, 1), 0.5)
    correction = offset * SCALE(flat.eta, flat.pt_raw)
    fields["pt"] = correction * fields["pt_raw"]
    fields["mass"] = correction * fields["mass_raw"]
    fields["resolution"] = RESOLUTION(flat.eta, fields["pt"])
    fields["random"] = ak.Array(random_normal(fields["pt_orig"]))
    jec = ak.zip(fields, depth_limit=1)
    nominal, up, down = (scaled(jec, smearing(jec, which)) for which in range(3))

    out = {name: nominal[name] for name in ak.fields(nominal)}
    out["JER"] = ak.zip({"up": up, "down": down}, depth_limit=1)
    for source, uncertainty in UNCERTAINTIES.items():
        delta = uncertainty(nominal.eta, nominal.pt)
        out[f"JES_{source}"] = ak.zip({"up": scaled(nominal, 1 + delta), "down": scaled(nominal, 1 - delta)}, depth_limit=1)
    return ak.unflatten(ak.zip(out, depth_limit=1), counts)


def corrected_met(met, jets, dx=0, dy=0):
    """The missing momentum, to which the change of each jet is added."""
    difference = jets.pt - jets.pt_raw
    x = met.pt * np.cos(met.phi) + ak.sum(difference * np.cos(jets.phi), axis=1) + dx
    y = met.pt * np.sin(met.phi) + ak.sum(difference * np.sin(jets.phi), axis=1) + dy
    return ak.with_field(ak.with_field(met, np.hypot(x, y), "pt"), np.arctan2(y, x), "phi")


def shifts_of(jets, met):
    nominal = corrected_met(met, jets)
    yield "nominal", jets, nominal
    for name in ["JER", *(f"JES_{source}" for source in SOURCES)]:
        for direction in ("up", "down"):
            shifted = jets[name][direction]
            yield f"{name}_{direction}", shifted, corrected_met(met, shifted)
    dx, dy = met.MetUnclustEnUpDeltaX, met.MetUnclustEnUpDeltaY
    yield "MET_UnclusteredEnergy_up", jets, corrected_met(met, jets, dx, dy)
    yield "MET_UnclusteredEnergy_down", jets, corrected_met(met, jets, -dx, -dy)


def selected(jets, met, muons):
    """The observables of events with two jets and one muon."""
    jets = jets[(jets.pt > 30) & (abs(jets.eta) < 2.5) & (jets.jetId >= 2)]
    jets = jets[ak.argsort(jets.pt, axis=1, ascending=False)]
    is_selected = (ak.num(jets) >= 2) & (ak.num(muons) == 1) & (met.pt > 20)
    jets, met, muon = jets[is_selected], met[is_selected], muons[is_selected][:, 0]
    return {
        "ht": ak.sum(jets.pt, axis=1),
        "met": met.pt,
        "mt": transverse_mass(muon, met),
        "leading_pt": jets[:, 0].pt,
        "least_dphi": ak.min(abs(delta_phi(jets[:, :3], met)), axis=1),
        "njets": ak.num(jets),
    }


BINS = {
    "ht": np.linspace(60, 800, 38),
    "met": np.linspace(20, 220, 41),
    "mt": np.linspace(0, 200, 41),
    "leading_pt": np.linspace(30, 330, 31),
    "least_dphi": np.linspace(0, np.pi, 33),
    "njets": np.arange(2, 12),
}


def run(events):
    jets = corrected_jets(with_inputs(events))
    muons = events.Muon
    muons = muons[(muons.pt > 25) & (abs(muons.eta) < 2.4) & muons.tightId & (muons.pfRelIso04_all < 0.15)]
    histograms = {}
    for name, shifted, met in shifts_of(jets, events.MET):
        for observable, values in selected(shifted, met, muons).items():
            histograms[f"{observable} {name}"] = np.histogram(ak.to_numpy(ak.fill_none(values, -1)), BINS[observable])[0]
    return {**histograms, "pt": jets.pt, "pt_jer": jets.JER.up.pt, "mass": jets.JES_FlavorQCD.down.mass}
