# SPDX-License-Identifier: Apache-2.0
# bench/analyses/corrections.py: tables of corrections, masks by name, and event weights, as in coffea.
import awkward as ak
import numpy as np


class Table:
    """Values in bins of one or more variables. Variables outside of the edges are in the first or last bin."""

    def __init__(self, values, *edges):
        self.values = np.asarray(values)
        self.edges = [np.asarray(each, np.float64) for each in edges]

    def __call__(self, *variables):
        """The values for arrays of numbers, or of lists of numbers."""
        first = variables[0]
        if first.ndim == 1:
            return self.of_numbers(*variables)
        return ak.unflatten(self.of_numbers(*(ak.flatten(x) for x in variables)), ak.num(first))

    def of_numbers(self, *variables):
        bins = [
            np.clip(np.searchsorted(edges, np.asarray(x), side="right") - 1, 0, len(edges) - 2)
            for edges, x in zip(self.edges, variables)
        ]
        return self.values[tuple(bins)]


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
