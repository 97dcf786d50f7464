# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_correctionlib.py: fused functions that evaluate corrections of correctionlib.
import json
import random

import numpy as np
import pytest

ak = pytest.importorskip("awkward")
correctionlib = pytest.importorskip("correctionlib")

from fuse_programs import differences
from test_fuse import fuse as _fuse_fixture
from test_fuse import result_of, stages_of
from test_fuse_steps import session_of
from upsweep.awkward import _fuse

fuse = _fuse_fixture  # this fixture also runs plans in NumPy
INPUTS = {"x": "real", "y": "real", "n": "int", "k": "int", "s": "string"}
SYSTEMATICS = ("nominal", "up", "down")
NOT_A_NUMBER, INFINITY = np.nan, np.inf
EDGES = [-2.5, -1.0, -0.1, 0.0, 0.1, 0.3, 1.0, 2.0, 3.5]


def correction(data, name="c", inputs=("x", "y", "n", "k", "s"), **more):
    variables = [{"name": x, "type": INPUTS.get(x, "real")} for x in inputs]
    return {"name": name, "version": 1, "inputs": variables, "output": {"name": "o", "type": "real"}, "data": data, **more}


def set_of(*corrections, **more):
    return correctionlib.CorrectionSet.from_string(json.dumps({"schema_version": 2, "corrections": corrections, **more}))


def node(kind, **parts):
    return {"nodetype": kind, **parts}


def formula(expression, variables=("x", "y"), parameters=(), kind="formula"):
    return node(kind, expression=expression, parser="TFormula", variables=list(variables), parameters=list(parameters))


def bits_differ(expected, got):
    """Differences of trees of arrays, also of the last bits and of the sign of zero."""
    if isinstance(expected, tuple):
        return [x for pair in zip(expected, got, strict=True) for x in bits_differ(*pair)]
    found = differences(expected, got, rtol=0)
    flat = [np.asarray(ak.drop_none(ak.flatten(x, axis=None))) for x in (expected, got)]
    same = not found and np.array_equal(*[np.signbit(x) | np.isnan(x) for x in flat])
    return found or ([] if same else ["the sign of zero"])


# ------------------------------------------------------------------------------------------------------- random schemas


class Schema:
    """Random trees. `uniform`: with uniform binnings, in which correctionlib reads other memory for NaN."""

    def __init__(self, seed, uniform):
        self.random = random.Random(seed)
        self.uniform = uniform

    def number(self):
        # correctionlib rounds numbers with many digits in its own way.
        return self.random.choice([self.random.uniform(-2, 2), self.random.gauss(1, 0.01), self.random.random() * 1e-7, 1.0, 2])

    def edges(self):
        pick = self.random
        if self.uniform and pick.random() < 0.6:
            low = pick.choice([-2.0, 0.0, 0.1, pick.uniform(-2, 1)])
            return {"n": pick.randint(1, 7), "low": low, "high": low + pick.choice([1.0, 0.3, pick.uniform(0.1, 4)])}
        made = sorted(pick.sample([*EDGES, *(pick.uniform(-3, 3) for _ in range(3))], pick.randint(2, 6)))
        if pick.random() < 0.3:
            made[0] = "-inf"
        if pick.random() < 0.3:
            made[-1] = pick.choice(["inf", "+inf"])
        return made

    def flow(self, depth, edges):
        pick = self.random.random()
        if pick < 0.08 and not any(isinstance(x, str) for each in edges for x in each if isinstance(each, list)):
            return "wrap"
        return "clamp" if pick < 0.6 else "error" if pick < 0.68 else self.content(depth - 1)

    def content(self, depth):
        pick = self.random
        kind = pick.choice(["binning", "binning", "multibinning", "category", "category", "number", "formula", "transform"])
        if depth <= 0 or kind == "number":
            return self.number() if pick.random() < 0.8 else self.formula()
        if kind == "binning":
            edges = self.edges()
            contents = [self.content(depth - 1) for _ in range(edges["n"] if isinstance(edges, dict) else len(edges) - 1)]
            return node(kind, input=pick.choice("xyn"), edges=edges, content=contents, flow=self.flow(depth, [edges]))
        if kind == "multibinning":
            inputs = pick.sample("xynk", pick.randint(1, 3))
            edges = [self.edges() for _ in inputs]
            count = np.prod([x["n"] if isinstance(x, dict) else len(x) - 1 for x in edges])
            contents = [self.content(depth - 2) for _ in range(count)]
            return node(kind, inputs=inputs, edges=edges, content=contents, flow=self.flow(depth, edges))
        if kind == "category":
            name = pick.choice("nks")
            keys = SYSTEMATICS if name == "s" else pick.sample(range(-3, 6), pick.randint(1, 6))
            contents = [{"key": key, "value": self.content(depth - 1)} for key in keys]
            return node(kind, input=name, content=contents, default=None if pick.random() < 0.1 else self.content(depth - 1))
        if kind == "formula":
            return self.formula()
        return node(kind, input=pick.choice("xn"), rule=self.content(depth - 2), content=self.content(depth - 1))

    def formula(self):
        expression = self.random.choice(
            ["x*[0]+y", "max(x,y)-min([0],y)*[1]", "(x>=y)*[0]+(x==0.1)||(y<-[1])", "-abs(x)/(y+[0])", "sqrt(x*x)+[0]*-1.5e-3"]
        )
        parameters = [self.number() for _ in range(2)]
        if self.random.random() < 0.3:
            return node("formularef", index=0, parameters=parameters)
        return formula(expression, self.random.sample(["x", "y"], 2), parameters)

    def correction(self, depth):
        return correction(self.content(depth), generic_formulas=[formula("x*[1]-y/[0]")])


SPECIAL = [*EDGES, -0.0, 1e-320, 1e300, -1e300, *np.nextafter(EDGES, 9), *np.nextafter(EDGES, -9)]


def numbers(pick, count, special):
    made = pick.normal(0.5, 1.5, count)
    chosen = pick.random(count) < 0.4
    made[chosen] = pick.choice(special, int(chosen.sum()))
    return made


def events_of(seed, count=120, not_finite=False):
    """Jets of several types and depths."""
    pick = np.random.default_rng(seed)
    counts = pick.poisson(1.5, count)
    size = int(counts.sum())
    special = [*SPECIAL, NOT_A_NUMBER, INFINITY, -INFINITY] if not_finite else SPECIAL
    x = ak.unflatten(numbers(pick, size, special), counts)
    n = ak.unflatten(pick.integers(-3, 6, size), counts)
    return {
        "x": x,
        "y": ak.mask(ak.Array(numbers(pick, count, special)), pick.random(count) < 0.8),
        "n": n,
        "k": ak.unflatten(ak.unflatten(pick.integers(-3, 6, 3 * size).astype(np.int32), np.full(size, 3)), counts),
        "x32": ak.values_astype(x, np.float32),
        "flat": ak.Array(numbers(pick, count, special)),
        "missing": ak.mask(n, n > 2),
        "lists": ak.mask(x, pick.random(count) < 0.7),
        "bytes": ak.unflatten(pick.integers(0, 4, size).astype(np.uint8), counts),
    }


ARGUMENTS = [
    ("x", "y", "n", "k"),
    ("flat", "y", "n", "n"),
    ("x32", "x", "missing", "bytes"),
    ("lists", "flat", "x32", "n"),  # floats for an input of integers
    ("n", 0.3, 2, "missing"),  # integers for a float
    (0.1, "y", -1, 4),
    (np.float64(1.0), 2.0, "bytes", True),
]


def evaluate(corrections, events, arguments, systematic, name="c"):
    return corrections[name].evaluate(*[events[x] if isinstance(x, str) else x for x in arguments], systematic)


class Failures:
    """Counts what random schemas have covered."""

    def __init__(self):
        self.errors = self.values = self.missing = 0


def compare(fused, function, *args):
    """Returns whether the function raises an error."""
    expected = result_of(function, *args)
    for _ in range(2):
        got = result_of(fused, *args)
        if isinstance(expected, Exception):
            assert type(got) is type(expected), got
            assert str(got).partition("\n")[0] == str(expected).partition("\n")[0]
        else:
            assert not isinstance(got, Exception), repr(got)
            assert not bits_differ(expected, got)
    return isinstance(expected, Exception)


def check_random(seed, uniform, fuse, steps):
    corrections = set_of(Schema(seed, uniform).correction(4))
    arguments = ARGUMENTS[seed % len(ARGUMENTS)]

    def function(events, systematic):
        if steps and len(events["x"]) < 0:
            return None
        weight = evaluate(corrections, events, arguments, systematic)
        return weight, ak.fill_none(weight, 1.0, axis=None) + 1

    fused = fuse(function)
    failures = 0
    for which, count in enumerate((120, 30, 1, 0)):
        events = events_of(seed + which, count, not uniform)
        failures += compare(fused, function, events, SYSTEMATICS[seed % 3])
    return fused, failures


def reasons_of(fused):
    """Why calls of `evaluate` are not part of a plan."""
    nodes = {}
    for stage in stages_of(fused):
        nodes |= {node: why for node, why in stage.reasons.items() if node.name == "evaluate"}
    return list(nodes.values())


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_corrections(first, uniform, fuse):
    """In one recording. The number of errors shows that the generator makes both kinds."""
    failed = lowered = 0
    for seed in range(first, first + 20):
        fused, failures = check_random(seed, uniform, fuse, steps=False)
        failed += failures
        assert all("more than 16 formulas" in why for why in reasons_of(fused))
        lowered += any(node.name == "evaluate" for stage in stages_of(fused) for node in stage.shapes)
    assert lowered > 16
    assert 0 < failed < 60


@pytest.mark.parametrize("uniform", [False, True])
def test_random_corrections_in_steps(uniform):
    for seed in range(200, 230):
        check_random(seed, uniform, _fuse.fuse, steps=True)
