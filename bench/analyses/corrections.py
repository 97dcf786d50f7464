# SPDX-License-Identifier: Apache-2.0
# bench/analyses/corrections.py: tables of correctionlib, masks by name, and event weights, as in coffea.
import json

import awkward as ak
import correctionlib
import numpy as np


class Table:
    """A correction of correctionlib: values in bins of one or more variables. Variables outside of the edges are in the first or
    last bin."""

    def __init__(self, values, *edges):
        names = [f"x{i}" for i in range(len(edges))]
        data = {"nodetype": "multibinning", "inputs": names, "edges": [np.asarray(each, float).tolist() for each in edges],
                "content": np.asarray(values, float).ravel().tolist(), "flow": "clamp"}  # fmt: skip
        inputs = [{"name": name, "type": "real"} for name in names]
        correction = {"name": "table", "version": 1, "inputs": inputs, "output": {"name": "value", "type": "real"}, "data": data}
        whole = {"schema_version": 2, "corrections": [correction]}
        self.correction = correctionlib.CorrectionSet.from_string(json.dumps(whole))["table"]

    def __call__(self, *variables):
        """The values for arrays of numbers, or of lists of numbers."""
        return self.correction.evaluate(*variables)


def table(seed, mean, sigma, *edges):
    """A table of random values, which are positive."""
    random = np.random.default_rng(seed)
    return Table(abs(random.normal(mean, sigma, [len(each) - 1 for each in edges])), *edges)


class Selection(dict):
    """Masks of events by name."""

    def all(self, *names):
        return np.logical_and.reduce([np.asarray(self[name]) for name in names])


class Weights:
    """Products of weights, and factors for their variations."""

    def __init__(self, count):
        self.nominal = np.ones(count)
        self.variations = {}

    def add(self, name, weight, up=None, down=None):
        weight = np.asarray(ak.fill_none(weight, 1.0))
        self.nominal = self.nominal * weight
        for direction, varied in (("Up", up), ("Down", down)):
            if varied is not None:
                factor = np.array(ak.fill_none(varied, 1.0), np.float64)
                factor[weight != 0] /= weight[weight != 0]
                self.variations[name + direction] = factor

    def weight(self, variation=None):
        return self.nominal if variation is None else self.nominal * self.variations[variation]
