# SPDX-License-Identifier: Apache-2.0
# tests/python/fuse_analyses.py: steps of analyses on events that are records of lists, for the tests of
# upsweep.awkward.fuse.
import awkward as ak
import numpy as np


def selected_events(e):
    j = e.Jet[(e.Jet.pt > 25) & (abs(e.Jet.eta) < 2.4)]
    e2 = e[ak.num(j) >= 2]
    return e2.MET.pt * 2, e2.Jet.pt * 1.1, e2.run + 1


def set_fields(e):
    e["nj"] = ak.num(e.Jet.pt)
    e["Jet", "pt2"] = e.Jet.pt * 2
    return e.nj, e.Jet.pt2 + 1


def padded_and_clipped(e):
    p = ak.pad_none(e.Jet, 2, clip=True)
    return p[:, 0].pt + p[:, 1].pt


def padded(e):
    p = ak.pad_none(e.Jet, 3)
    return ak.fill_none(p.pt, -1) * 2


def spreads(e):
    return ak.std(e.Jet.pt, axis=1), ak.var(e.Jet.pt, axis=-1), ak.ptp(e.Jet.pt, axis=1)


def broadcast(e):
    a, b = ak.broadcast_arrays(e.MET.pt, e.Jet.pt)
    return a * b


def leading(e):
    j = e.Jet[ak.argsort(e.Jet.pt, ascending=False)]
    return ak.firsts(j).pt * 2, ak.firsts(j[:, 1:]).eta * 1


def flat_weights(e):
    return ak.flatten(e.Jet.pt * e.MET.pt), ak.flatten(ak.ones_like(e.Jet.pt) * e.MET.pt)


def where_of_numpy(e):
    return np.where(e.MET.pt > 20, e.MET.pt * 2, 0.0)


def where_of_types(e):
    return ak.where(e.MET.pt > 20, e.MET.pt, e.run) * 1.5


def isolated(e):
    c = ak.cartesian({"j": e.Jet, "m": e.Muon}, nested=True)
    d = (c.j.eta - c.m.eta) ** 2
    return e.Jet[ak.all(d > 0.1, axis=-1)].pt * 2, ak.min(d, axis=-1)


def best_pair(e):
    jj = ak.combinations(e.Jet, 2, fields=["a", "b"])
    m = jj.a.pt * jj.b.pt
    best = ak.argmax(m, axis=1, keepdims=True)
    b = jj[best]
    return b.a.pt * 1, ak.fill_none(ak.firsts(b.b.eta), 0.0) * 1


def leptons(e):
    l = ak.concatenate([ak.with_field(e.Jet, 0, "fl"), ak.with_field(e.Muon, 1, "fl")], axis=1)
    l = l[ak.argsort(l.pt, axis=1, ascending=False)]
    return l.fl * 1, l.pt * 1


def different_fields(e):
    l = ak.concatenate([e.Jet[["pt", "eta"]], e.Muon[["pt", "eta", "n"]]], axis=1)
    return l.pt * 2


def masked(e):
    j = ak.mask(e.Jet, e.Jet.pt > 40)
    return ak.sum(j.pt, axis=1), ak.num(j, axis=1) * 2


def masked_events(e):
    j = ak.mask(e.Jet, ak.num(e.Jet) >= 2)
    return j.pt[:, :1] * 2, ak.sum(j.pt, axis=1)


def masked_and_indexed(e):
    j = ak.mask(e.Jet, ak.num(e.Jet) >= 2)
    return j[:, 0].pt + j[:, 1].pt


def mask_with_missing(e):
    return e.MET.pt[ak.fill_none(e.o > 0, False)] * 2


def scaled_by_mean(e):
    return e.MET.pt / ak.mean(e.MET.pt, axis=None)


def totals(e):
    return {"s": ak.sum(e.Jet.pt * 2, axis=None), "c": ak.count(e.Jet.pt[e.Jet.pt > 30], axis=None), "n": ak.num(e, axis=0)}


def unflattened(e):
    f = ak.flatten(e.Jet.pt)
    f2 = f * f
    return ak.unflatten(f2, ak.num(e.Jet.pt))


def new_axis(e):
    return e.Jet.pt[:, np.newaxis] * 2


def zipped(e):
    return ak.zip({"x": e.Jet.pt * 2, "y": e.MET.pt}), ak.zip({"a": e.MET.pt * 2, "j": e.Jet.pt}, depth_limit=1)


def flags_and_integers(e):
    return ak.sum(e.Jet.flag, axis=1) * 2, ak.any(e.Jet.n, axis=1)


def one_of_values(e):
    return (e.Jet.n == 1) | (e.Jet.n == 2) | ((e.Jet.k & 3) == 1)


def nearest_to_center(e):
    i = ak.argmin(abs(e.Jet.eta), axis=1)
    return e.Jet.pt[ak.singletons(i)] * 2


def first_of_each(e):
    return e.Jet.pt[:, 0:1] * 2, ak.local_index(e.Jet.pt) * 2


def sorted_pt(e):
    return ak.sort(e.Jet.pt, ascending=False)[:, :2] * 1.5


def exponentials(e):
    return np.exp(e.Jet.pt - ak.max(e.Jet.pt, axis=1, keepdims=True))


def logical(e):
    return np.logical_and(e.MET.pt > 3, e.run > 0) & ~(e.run == 2)


def without_missing(e):
    return ak.drop_none(ak.firsts(e.Jet).pt) * 2


def index_pairs(e):
    return ak.argcartesian([e.Jet, e.Muon])["0"] * 2


def without_nan(e):
    return ak.nansum(e.Jet.w, axis=1), ak.nanmax(e.Jet.w, axis=1)


def close(e):
    return ak.isclose(e.Jet.pt, e.Jet.pt + 1e-9)


def filled(e):
    return ak.fill_none(ak.max(e.Jet.pt, axis=1), 0) * 2, ak.fill_none(ak.firsts(e.Jet).n, 0) + 1


def fields_by_name(e):
    return e.Jet["pt"] * 2, e["MET", "pt"] + 1, e[["MET", "run"]].run * 2


ANALYSES = [
    selected_events,
    set_fields,
    padded_and_clipped,
    padded,
    spreads,
    broadcast,
    leading,
    flat_weights,
    where_of_numpy,
    where_of_types,
    isolated,
    best_pair,
    leptons,
    different_fields,
    masked,
    masked_events,
    masked_and_indexed,
    mask_with_missing,
    scaled_by_mean,
    totals,
    unflattened,
    new_axis,
    zipped,
    flags_and_integers,
    one_of_values,
    nearest_to_center,
    first_of_each,
    sorted_pt,
    exponentials,
    logical,
    without_missing,
    index_pairs,
    without_nan,
    close,
    filled,
    fields_by_name,
]
