# SPDX-License-Identifier: Apache-2.0
# bench/analyses/kinematics.py: formulas of four-momenta, as analyses call them.
"""The arguments are arrays of records with pt, eta, phi and mass. They broadcast, and values may be missing."""

import awkward as ak
import numpy as np


def delta_phi(a, b):
    return (a.phi - b.phi + np.pi) % (2 * np.pi) - np.pi


def delta_r(a, b):
    return np.hypot(a.eta - b.eta, delta_phi(a, b))


def components(p):
    px, py, pz = p.pt * np.cos(p.phi), p.pt * np.sin(p.phi), p.pt * np.sinh(p.eta)
    return px, py, pz, np.sqrt(px**2 + py**2 + pz**2 + p.mass**2)


def momentum(px, py, pz, energy):
    """The record of components."""
    pt = np.hypot(px, py)
    mass = np.sqrt(np.maximum(energy**2 - pt**2 - pz**2, 0))
    return ak.zip({"pt": pt, "eta": np.arcsinh(pz / np.maximum(pt, 1e-6)), "phi": np.arctan2(py, px), "mass": mass})


def add(*particles):
    """The sum of four-momenta."""
    total = components(particles[0])
    for particle in particles[1:]:
        total = [x + y for x, y in zip(total, components(particle))]
    return momentum(*total)


def pair_mass(a, b):
    return add(a, b).mass


def sum_in_lists(particles, axis):
    """The sum of the four-momenta of each list."""
    return momentum(*(ak.sum(x, axis=axis) for x in components(particles)))


def transverse_mass(a, b):
    return np.sqrt(2 * a.pt * b.pt * (1 - np.cos(delta_phi(a, b))))


def metric_table(a, b):
    """The distance of each a from each b of its event: lists in lists."""
    pairs = ak.cartesian({"a": a, "b": b}, nested=True)
    return delta_r(pairs.a, pairs.b)


def nearest(a, b, threshold):
    """For each a the nearest b of its event, which is missing if there is none within the threshold."""
    pairs = ak.cartesian({"a": a, "b": b}, nested=True)
    distance = delta_r(pairs.a, pairs.b)
    index = ak.argmin(distance, axis=2, keepdims=True)
    found = ak.firsts(pairs.b[index], axis=2)
    return ak.mask(found, ak.firsts(distance[index], axis=2) < threshold)


def cosine_of_helicity(a, b):
    """The cosine of the angle of a, in the rest frame of a + b, to the direction of a + b."""
    ax, ay, az, ae = components(a)
    bx, by, bz, be = components(b)
    bx, by, bz, energy = ax + bx, ay + by, az + bz, ae + be
    momentum2 = bx**2 + by**2 + bz**2
    gamma = energy / np.sqrt(np.maximum(energy**2 - momentum2, 1e-6))
    along = (ax * bx + ay * by + az * bz) / np.sqrt(momentum2)
    boosted = gamma * (along - np.sqrt(momentum2) / energy * ae)
    across2 = np.maximum(ax**2 + ay**2 + az**2 - along**2, 0)
    return abs(boosted) / np.sqrt(boosted**2 + across2)
