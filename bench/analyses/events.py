# SPDX-License-Identifier: Apache-2.0
# bench/analyses/events.py: generated events with branches of NanoAOD, for the analyses of this folder.
"""The branches have names, types and ranges of CMS's NanoAOD. Floats are float32, flags are bool, and small integers
are uint8 or int16. Each collection has its own random numbers. It is therefore the same whichever other collections
are generated.
"""

import zlib

import awkward as ak
import numpy as np

contents = ak.contents

TRIGGERS = ["IsoMu24", "Ele32", "DoubleMu", "DoubleEle", "MuonEle", "PFHT1050", "PFJet500"]
FILTERS = ["goodVertices", "globalSuperTightHalo2016Filter", "EcalDeadCellTriggerPrimitiveFilter", "BadPFMuonFilter",
           "BadPFMuonDzFilter", "eeBadScFilter", "ecalBadCalibFilter"]  # fmt: skip


class Generator:
    """Columns of n random values."""

    def __init__(self, random, n):
        self.random = random
        self.n = n

    def normal(self, mean, sigma):
        return self.random.normal(mean, sigma, self.n).astype(np.float32)

    def uniform(self, low, high):
        return self.random.uniform(low, high, self.n).astype(np.float32)

    def falling(self, least, mean):
        return (least + self.random.exponential(mean, self.n)).astype(np.float32)

    def flag(self, probability):
        return self.random.random(self.n) < probability

    def choice(self, values, dtype, p=None):
        return self.random.choice(np.array(values, dtype), self.n, p=p)

    def four_momentum(self, least, mean, mass):
        return {
            "pt": self.falling(least, mean),
            "eta": self.normal(0, 1.4).clip(-4.7, 4.7),
            "phi": self.uniform(-np.pi, np.pi),
            "mass": mass,
        }


def records(columns):
    """The columns are arrays of NumPy or layouts."""
    layouts = [contents.NumpyArray(x) if isinstance(x, np.ndarray) else x for x in columns.values()]
    return contents.RecordArray(layouts, list(columns))


def lists(counts, content):
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return contents.ListOffsetArray(ak.index.Index64(offsets), content)


# ---------------------------------------------------------------------------------------------------------- collections


def jets(g):
    flavor = g.choice([0, 4, 5], np.uint8, [0.7, 0.1, 0.2])
    tag = np.where(flavor == 5, g.random.beta(4, 1.5, g.n), g.random.beta(1, 6, g.n)).astype(np.float32)
    return {
        **g.four_momentum(15, 40, g.falling(2, 8)),
        "area": g.normal(0.5, 0.02),
        "rawFactor": g.normal(0.05, 0.03),
        "btagCSVV2": tag,
        "btagDeepFlavB": np.sqrt(tag),
        "qgl": g.uniform(0, 1),
        "chEmEF": g.uniform(0, 0.5),
        "neEmEF": g.uniform(0, 0.5),
        "jetId": g.choice([0, 2, 6], np.int32, [0.03, 0.07, 0.9]),
        "puId": g.choice([0, 4, 6, 7], np.int32, [0.05, 0.05, 0.1, 0.8]),
        "hadronFlavour": flavor,
        "genJetIdx": g.choice(np.arange(-1, 10), np.int16),
    }


def gen_jets(g):
    return g.four_momentum(10, 40, g.falling(2, 8))


def fat_jets(g):
    """Fat jets contain lists of up to two subjets."""
    counts = g.choice([0, 1, 2], np.int64, [0.02, 0.08, 0.9])
    s = Generator(g.random, int(counts.sum()))
    subjets = {**s.four_momentum(100, 90, s.falling(5, 25)), "rawFactor": s.normal(0.05, 0.02)}
    return {
        **g.four_momentum(200, 200, g.falling(20, 50)),
        "msoftdrop": g.falling(10, 50),
        "n2b1": g.uniform(0.1, 0.4),
        "btagDDBvLV2": g.random.beta(0.6, 0.8, g.n).astype(np.float32),
        "jetId": g.choice([0, 2, 6], np.int32, [0.03, 0.07, 0.9]),
        "rawFactor": g.normal(0.05, 0.03),
        "subjets": lists(counts, records(subjets)),
    }


def leptons(g, least, mass, number):
    charge = g.choice([-1, 1], np.int32)
    return {
        **g.four_momentum(least, 30, mass),
        "charge": charge,
        "pdgId": -number * charge,
        "dxy": g.normal(0, 0.02),
        "dz": g.normal(0, 0.04),
        "sip3d": g.falling(0, 1.0),
        "pfRelIso03_all": g.falling(0, 0.05),
        "miniPFRelIso_all": g.falling(0, 0.05),
        "genPartFlav": g.choice([0, 1, 15], np.uint8, [0.1, 0.8, 0.1]),
        "jetIdx": g.choice(np.arange(-1, 6), np.int16),
    }


def muons(g):
    return {
        **leptons(g, 3, np.full(g.n, 0.10566, np.float32), 13),
        "pfRelIso04_all": g.falling(0, 0.06),
        "looseId": g.flag(0.97),
        "mediumId": g.flag(0.93),
        "tightId": g.flag(0.9),
        "isGlobal": g.flag(0.9),
        "isTracker": g.flag(0.9),
        "isPFcand": g.flag(0.95),
        "highPtId": g.choice([0, 1, 2], np.uint8, [0.2, 0.1, 0.7]),
        "pfIsoId": g.choice(np.arange(7), np.uint8),
    }


def electrons(g):
    return {
        **leptons(g, 5, np.full(g.n, 0.000511, np.float32), 11),
        "deltaEtaSC": g.normal(0, 0.02),
        "cutBased": g.choice([0, 1, 2, 3, 4], np.int32, [0.1, 0.1, 0.1, 0.2, 0.5]),
        "tightCharge": g.choice([0, 1, 2], np.int32, [0.05, 0.1, 0.85]),
        "lostHits": g.choice([0, 1, 2], np.uint8, [0.85, 0.1, 0.05]),
        "convVeto": g.flag(0.95),
        "mvaIso_WP90": g.flag(0.9),
    }


def taus(g):
    return {
        **g.four_momentum(18, 25, g.falling(0.2, 0.5)),
        "rawIso": g.falling(0, 4),
        "idDecayMode": g.flag(0.9),
        "idDeepTau2017v2p1VSjet": g.choice([0, 1, 3, 7, 15, 31], np.uint8),
    }


def fsr_photons(g):
    return {
        "pt": g.falling(2, 8),
        "eta": g.normal(0, 1.3),
        "phi": g.uniform(-np.pi, np.pi),
        "relIso03": g.falling(0, 1),
    }


def generated_particles(g):
    """Particles of the generator contain the list of their children."""
    counts = g.choice([0, 1, 2], np.int64, [0.4, 0.2, 0.4])
    c = Generator(g.random, int(counts.sum()))
    children = {"pdgId": c.choice([1, -2, 3, 4, -4, 5, -5, 11, 13], np.int32), "pt": c.falling(1, 40)}
    return {
        **g.four_momentum(1, 120, g.falling(0, 40)),
        "pdgId": g.choice([21, 23, 24, -24, 25, 5, -5, 11, -13], np.int32),
        "statusFlags": g.choice([0x0081, 0x2101, 0x2181, 0x0101], np.uint16),
        "children": lists(counts, records(children)),
    }


COLLECTIONS = {
    "Jet": jets,
    "GenJet": gen_jets,
    "FatJet": fat_jets,
    "Muon": muons,
    "Electron": electrons,
    "Tau": taus,
    "FsrPhoton": fsr_photons,
    "GenPart": generated_particles,
}
EVENT = {
    "MET": lambda g: {
        "pt": g.falling(0, 40),
        "phi": g.uniform(-np.pi, np.pi),
        "MetUnclustEnUpDeltaX": g.normal(0, 5),
        "MetUnclustEnUpDeltaY": g.normal(0, 5),
    },
    "HLT": lambda g: {name: g.flag(0.7) for name in TRIGGERS},
    "Flag": lambda g: {name: g.flag(0.995) for name in FILTERS},
    "PV": lambda g: {"npvsGood": g.random.poisson(25, g.n).astype(np.int32)},
    "Pileup": lambda g: {"nPU": g.random.poisson(30, g.n).astype(np.int32), "nTrueInt": g.normal(30, 8).clip(1, 90)},
}
WEIGHTS = {"PSWeight", "LHEScaleWeight", "LHEPdfWeight"}


def made_events(count, collections, seed=0):
    """Returns an array of `count` events with these collections. All events have numbers and a generator's weight.

    `collections` maps the name to the mean number of objects in an event, or to the number of weights.
    """

    def random(name):
        return np.random.default_rng([seed, zlib.crc32(name.encode())])

    g = Generator(random("event"), count)
    columns = {
        "run": np.full(count, 1, np.uint32),
        "luminosityBlock": (np.arange(count) // 500).astype(np.uint32),
        "event": g.random.permutation(count).astype(np.uint64),
        "genWeight": g.normal(1, 0.1) * g.choice([-1, 1], np.float32, [0.1, 0.9]),
        "fixedGridRhoFastjetAll": g.falling(5, 12),
    }
    for name, number in collections.items():
        if name in COLLECTIONS:
            counts = random(f"number of {name}").poisson(number, count)
            of_objects = COLLECTIONS[name](Generator(random(name), int(counts.sum())))
            columns[name] = lists(counts, by_pt(counts, records(of_objects)))
        elif name in WEIGHTS:
            columns[name] = lists(
                np.full(count, number), contents.NumpyArray(Generator(random(name), number * count).normal(1, 0.1))
            )
        else:
            columns[name] = records(EVENT[name](Generator(random(name), count)))
    return ak.Array(records(columns))


def by_pt(counts, content):
    """Orders the objects of each event by descending pt, as NanoAOD does."""
    event = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-content["pt"].data, event))
    return ak.to_packed(content[order], highlevel=False)
