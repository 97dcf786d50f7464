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
from test_fuse_steps import eager_calls, session_of
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
    if found or not isinstance(expected, ak.Array):
        return found
    flat = [np.asarray(ak.drop_none(ak.flatten(x, axis=None))) for x in (expected, got)]
    return [] if np.array_equal(*[np.signbit(x) | np.isnan(x) for x in flat]) else ["the sign of zero"]


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


def compare(fused, function, *args, in_one_pass=True):
    """Compares a fused function with the function. Returns whether the function raises an error."""
    expected = result_of(function, *args)
    for _ in range(2):
        got = result_of(fused, *args)
        assert not in_one_pass or isinstance(expected, Exception) or fused.reason is None
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
        failures += compare(fused, function, events, SYSTEMATICS[seed % 3], in_one_pass=not steps)
    return fused, failures


def reasons_of(fused):
    """Why calls of `evaluate` are not part of a plan."""
    nodes = {}
    for stage in stages_of(fused):
        nodes |= {node: why for node, why in stage.reasons.items() if node.name == "evaluate"}
    return list(nodes.values())


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("first", [0, 20, 40, 60])
def test_random_corrections(first, uniform, fuse):
    """In one recording. The number of errors shows that the generator makes both kinds."""
    failed = lowered = 0
    for seed in range(first, first + 20):
        fused, failures = check_random(seed, uniform, fuse, steps=False)
        failed += failures
        assert all("more than 16 formulas" in why for why in reasons_of(fused))
        lowered += any(node.name == "evaluate" for stage in stages_of(fused) for node in stage.shapes)
    assert lowered > 14
    assert 0 < failed < 60


@pytest.mark.parametrize("uniform", [False, True])
def test_random_corrections_in_steps(uniform):
    for seed in range(200, 230):
        check_random(seed, uniform, _fuse.fuse, steps=True)


# ---------------------------------------------------------------------------------------------- which calls are lowered

SCALE = node("binning", input="x", edges=[0.0, 1.0, 2.5], content=[0.1, 0.7], flow="clamp")
SHIFT = node("binning", input="x", edges=[0.0, 1.0, 2.5], content=[0.3, 0.9], flow="clamp")
SCALES = set_of(correction(SCALE, "scale", ["x"]), correction(SHIFT, "shift", ["x"]))
scale = SCALES["scale"]


@pytest.fixture
def jets():
    return events_of(5)


def assert_lowered(fused, *args, stages=1):
    """All calls of a recording are in plans."""
    text = fused.explain(*args)
    assert " by Awkward:" not in text and f"in {stages} stage" in text and "search right" in text, text


def test_a_recording(jets, fuse):
    def function(events):
        return scale.evaluate(events["x"]), ak.sum(SCALES["shift"].evaluate(events["x"]), axis=1)

    fused = fuse(function)
    assert not compare(fused, function, jets)
    assert len(fused._entries) == 1
    if fuse is _fuse.fuse:
        assert_lowered(fused, jets)


def test_steps(jets):
    def function(events):
        many = [x for x in (1, 2) if len(events["x"]) > x]
        first = scale.evaluate(events["x"])
        return first + SCALES["shift"].evaluate(first) * len(many)

    fused = _fuse.fuse(function)
    for _ in range(3):
        assert not compare(fused, function, jets, in_one_pass=False)
    session = session_of(fused, jets)
    assert not eager_calls(fused)
    assert session.by_awkward == 0
    assert [len(step.stages_run) for step in session.steps] == [1]


def test_a_correction_that_data_choose(jets):
    def function(events):
        which = "shift" if ak.any(events["x"] > 2.9) else "scale"
        return SCALES[which].evaluate(events["x"])

    small = {"x": ak.Array([[0.5, 1.5], [], [0.2]])}
    fused = _fuse.fuse(function)
    for events in (jets, small, jets, small, jets):
        assert not compare(fused, function, events, in_one_pass=False)
    assert session_of(fused, small).by_awkward == 0


def test_corrections_with_the_same_name(jets):
    """The function uses two sets, one after the other."""
    space = {"corrections": SCALES}

    def function(events):
        return space["corrections"]["scale"].evaluate(events["x"])

    def in_steps(events):
        return len(events["x"]), function(events)[0:]

    for each in (function, in_steps):
        fused = _fuse.fuse(each)
        results = []
        for data in (SCALE, SHIFT, SCALE, SCALE):
            space["corrections"] = set_of(correction(data, "scale", ["x"]))
            results.append(fused(jets))
            assert not compare(fused, each, jets, in_one_pass=each is function)
        assert bits_differ(*[x if each is function else x[1] for x in results[:2]])


def test_corrections_as_arguments(jets):
    def function(events, one, many, by_name):
        return one.evaluate(events["x"]) + many["scale"].evaluate(events["x"]) * by_name["a"].evaluate(events["x"])

    fused = _fuse.fuse(function)
    other = set_of(correction(SHIFT, "scale", ["x"]))
    for corrections in (SCALES, SCALES, other):
        args = (jets, corrections["scale"], corrections, {"a": corrections["scale"]})
        assert not compare(fused, function, *args)
    assert len(fused._entries) == 2  # a subscript of a set makes an object each time


def test_a_file_that_the_function_reads(jets, tmp_path):
    path = tmp_path / "corrections.json"

    def function(events):
        return correctionlib.CorrectionSet.from_file(str(path))["scale"].evaluate(events["x"])

    fused = _fuse.fuse(function)
    for data in (SCALE, SCALE, SHIFT, SCALE):
        path.write_text(set_of(correction(data, "scale", ["x"]))._data)
        assert not compare(fused, function, jets, in_one_pass=False)
    assert session_of(fused, jets).by_awkward == 0


def test_an_object_of_another_set(jets):
    """Correction() of an object of one set and of another set."""
    mixed = type(scale)(SHIFT_ONLY["scale"]._base, SCALES)

    def function(events):
        return mixed.evaluate(events["x"])

    fused = _fuse.fuse(function)
    for _ in range(3):
        assert not compare(fused, function, jets, in_one_pass=False)


SHIFT_ONLY = set_of(correction(SHIFT, "scale", ["x"]))


def test_kinds_of_arguments(jets):
    def function(events, number, ndarray):
        mean = ak.Array(ndarray) + 0.5
        one = both.evaluate(events["x"], number, 2)
        two = both.evaluate(np.float64(0.4), events["flat"], np.int64(3))
        return one, two, both.evaluate(0.4, mean, events["n"])

    data = node("multibinning", inputs=["x", "y", "n"], edges=[[0.0, 1.0], [-1.0, 0.5, 1.0], [0.0, 2.0, 3.0]],
                content=[1.0, 2.0, 3.0, 4.0], flow=9.0)  # fmt: skip
    both = set_of(correction(data, "both", ["x", "y", "n"]))["both"]
    fused = _fuse.fuse(function)
    for number in (0.7, 0.2, 0.7, -0.0):
        assert not compare(fused, function, jets, number, np.linspace(-1, 1, 120), in_one_pass=False)


def test_numbers_among_the_arguments(jets, fuse):
    data = node(
        "binning", input="x", edges=[0.0, 1.0], content=[SCALE], flow=node("category", input="n", content=[], default=2.0)
    )
    one = set_of(correction(data, "c", ["x", "n", "s"]))["c"]

    def function(events, number, whole):
        return one.evaluate(number, events["n"], "up"), one.evaluate(events["x"], whole, "up")

    fused = fuse(function)
    for number in (0.7, NOT_A_NUMBER, 0.7, -0.0):
        assert not compare(fused, function, jets, number, 3)


def test_integers_that_a_transformation_rounds(jets):
    """Halves are rounded away from zero."""
    rule = formula("x+0.5*(x>0)", ["x"])
    keys = [{"key": key, "value": float(key)} for key in range(-9, 10)]
    data = node("transform", input="n", rule=rule, content=node("category", input="n", content=keys, default=100.0))
    one = set_of(correction(data, "c", ["x", "n"]))["c"]
    fused = _fuse.fuse(lambda x: one.evaluate(x, 3))
    x = np.arange(-12, 13) / 2
    x = ak.Array([*x, *np.nextafter(x, 9), *np.nextafter(x, -9), NOT_A_NUMBER, INFINITY, 1e300, -1e300])
    assert not bits_differ(one.evaluate(x, 3), fused(x))
    assert fused.reason is None


def test_numbers_as_correctionlib_reads_them():
    """Its parser of numbers rounds numbers with 17 digits differently from Python."""
    pick = np.random.default_rng(3)
    contents, edges = pick.random(400).tolist(), np.sort(pick.random(401)).tolist()
    data = node("binning", input="x", edges=edges, content=contents, flow=0.1234567890123456789)
    one = set_of(correction(data, "c", ["x"]))["c"]
    near = np.concatenate([np.nextafter(edges, side) for side in (0, 1)])
    values = ak.Array(np.concatenate([edges, near, np.nextafter(near, 1), np.nextafter(near, 0)]))
    expected = one.evaluate(values)
    assert set(expected.to_list()) - {*contents, data["flow"]}  # so this is tested
    fused = _fuse.fuse(lambda x: one.evaluate(x))
    assert not bits_differ(expected, fused(values))
    assert fused.reason is None


@pytest.mark.parametrize(
    "n, low, high", [(3, 0.0, 1.0), (10, 0.1, 0.7), (7, -1e-300, 1e300), (49, -2.5, 1e-17), (1000, 0.3, 9.1)]
)
@pytest.mark.parametrize("flow", ["clamp", "wrap", 5.5])
@pytest.mark.parametrize("kind", ["binning", "multibinning"])
def test_edges_of_uniform_bins(kind, flow, n, low, high):
    data = node("binning", input="x", edges={"n": n, "low": low, "high": high}, content=np.arange(n) * 1.0, flow=flow)
    if kind == "multibinning":
        data |= {"nodetype": kind, "inputs": [data.pop("input")], "edges": [data["edges"]]}
    data["content"] = data["content"].tolist()
    one = set_of(correction(data, "c", ["x"]))["c"]
    edges = low + (high - low) * np.arange(-n, 2 * n + 1) / n
    found = [edges]
    for side in (-np.inf, np.inf):
        x = edges
        for _ in range(6):
            x = np.nextafter(x, side)
            found.append(x)
    values = ak.Array(np.concatenate([*found, np.random.default_rng(1).uniform(low - 1, low + 1, 1000), [-0.0]]))
    fused = _fuse.fuse(lambda x: one.evaluate(x))
    assert not bits_differ(one.evaluate(values), fused(values))
    assert fused.reason is None


def test_nan_in_uniform_bins(jets):
    """correctionlib converts NaN to an integer. Here that is an error."""
    data = node("multibinning", inputs=["x"], edges=[{"n": 3, "low": 0.0, "high": 1.0}], content=[1.0, 2.0, 3.0], flow="clamp")
    one = set_of(correction(data, "c", ["x"]))["c"]

    def function(x):
        return one.evaluate(x)

    fused = _fuse.fuse(function)
    assert not compare(fused, function, ak.Array([0.1, 0.9]))
    assert compare(fused, function, ak.Array([0.1, NOT_A_NUMBER]))
    assert not compare(fused, function, ak.Array([0.1, None]))


# -------------------------------------------------------------------------------------------- errors and missing values


@pytest.mark.parametrize(
    "data",
    [
        node("binning", input="x", edges=[0.0, 1.0], content=[1.0], flow="error"),
        node(
            "multibinning",
            inputs=["n", "x"],
            edges=[{"n": 2, "low": 0.0, "high": 9.0}, [0.0, 1.0]],
            content=[1.0, 2.0],
            flow="error",
        ),
        node("category", input="n", content=[{"key": 1, "value": 1.0}, {"key": 7, "value": 2.0}]),
        node("category", input="s", content=[{"key": "up", "value": 1.0}]),
        node("binning", input="x", edges=[0.0, 1.0], content=[1.0], flow=node("category", input="s", content=[])),
    ],
)
@pytest.mark.parametrize("in_steps", [False, True])
def test_values_out_of_range(data, in_steps):
    one = set_of(correction(data, "c", ["x", "n", "s"]))["c"]

    def function(x, n):
        if in_steps and len(x) < 0:
            return None
        return one.evaluate(x, n, "up" if n.ndim < 2 else "down")

    fused = _fuse.fuse(function)
    fine = ak.Array([0.0, 0.5, None])
    n = ak.Array([1, 7, 1])
    failed = [
        compare(fused, function, *args, in_one_pass=not in_steps)
        for args in [
            (fine, n),
            (ak.Array([0.0, 1.0, None]), n),
            (ak.Array([0.0, -1e-320, None]), n),
            (ak.Array([0.0, NOT_A_NUMBER, None]), n) if "multi" not in data["nodetype"] else (fine, n),
            (fine, ak.Array([1, 2, 1])),
            (fine, ak.Array([1, 1, -5])),  # the value is missing where n is out of range
            (ak.Array([[0.1], [5.0]])[:, :1], ak.Array([[1], [2]])),
            (ak.Array([[0.1], [5.0]])[:, :0], ak.Array([[1], [2]])[:, :0]),
        ]
    ]
    assert True in failed
    assert False in failed


def test_an_error_keeps_earlier_calls(jets):
    """As without fuse, the first call that fails raises its error."""
    strict = set_of(correction({**SCALE, "flow": "error"}, "strict", ["x"]))["strict"]

    def function(events):
        return ak.sum(scale.evaluate(events["x"])) + strict.evaluate(events["x"]) + SCALES["shift"].evaluate(events["y"][:3])

    fused = _fuse.fuse(function)
    assert compare(fused, function, jets)


# ------------------------------------------------------------------------------------------------------------ compounds


@pytest.mark.parametrize("input_op", ["+", "*", "/"])
@pytest.mark.parametrize("output_op", ["+", "*", "/", "last"])
def test_compound_corrections(input_op, output_op, jets, fuse):
    stack = [
        correction({**SCALE, "content": [1.3, 0.2]}, "a", ["x"]),
        correction(formula("x*[0]+y*1.5", parameters=[0.3]), "b", ["y", "x"]),
        correction(node("category", input="s", content=[{"key": "up", "value": SCALE}], default=2.5), "c", ["s", "x"]),
    ]
    whole = {
        "name": "all",
        "inputs": correction(1.0)["inputs"],
        "output": correction(1.0)["output"],
        "inputs_update": ["x"],
        "input_op": input_op,
        "output_op": output_op,
        "stack": ["a", "b", "c"],
    }
    corrections = set_of(*stack, compound_corrections=[whole])

    def function(events, name):
        return (
            corrections.compound["all"].evaluate(events["x"], events["y"], events["n"], 1, name),
            corrections.compound["all"].evaluate(0.4, events["y"], events["n"], 1, name),
        )

    fused = fuse(function)
    for name in ("up", "down"):
        assert not compare(fused, function, jets, name)
    if fuse is _fuse.fuse:
        assert_lowered(fused, jets, "up")


# -------------------------------------------------------------------------------------------------- what remains a call

UNSUPPORTED = {
    "a node of type hashprng": node("hashprng", inputs=["x", "n"], distribution="normal"),
    "a formula with erf": formula("erf(x)+y"),
    "more than 1048576 cells": node(
        "multibinning",
        inputs=["x", "y", "n"],
        edges=[{"n": 120, "low": 0.0, "high": 1.0}] * 3,
        content=np.arange(120**3).astype(float).tolist(),
        flow="clamp",
    ),
}


@pytest.mark.parametrize("reason", UNSUPPORTED)
def test_unsupported_nodes(reason, jets):
    one = set_of(correction(UNSUPPORTED[reason]), correction(1.0, "other"))["c"]

    def function(events):
        weight = ak.values_astype(events["x32"] * 2, np.float64)
        return scale.evaluate(one.evaluate(weight, events["y"], events["n"], 1, "up") + 1), scale.evaluate(weight)

    fused = _fuse.fuse(function)
    assert not compare(fused, function, jets)
    text = fused.explain(jets)
    assert f"evaluate: the correction 'c': {reason}" in text
    assert "search right" in text
    assert "in 2 stages" in text


@pytest.mark.parametrize(
    "args, reason",
    [
        ((1, "n", "up"), "an argument of type int for the real input 'x'"),
        (("x", 1.5, "up"), "an argument of type float for the int input 'n'"),
        (("x", 1 << 70, "up"), "an argument of type int for the int input 'n'"),
        (("x", "n", 3), "an argument of type int for the string input 's'"),
    ],
)
def test_arguments_of_wrong_types(args, reason, jets):
    one = set_of(correction(SCALE, "c", ["x", "n", "s"]))["c"]

    def function(events):
        return one.evaluate(*[events[x] if x in ("x", "n") else x for x in args])

    fused = _fuse.fuse(function)
    failed = compare(fused, function, jets)
    compare(fused, function, events_of(1, 0))
    assert failed
    assert all(reason in why for why in reasons_of(fused))


def test_elementary_functions(jets):
    one = set_of(correction(formula("exp(-x*x)+log10(abs(y)+1)^[0]-tan(atan2(x,y))", parameters=[0.3])))["c"]

    def function(events):
        return one.evaluate(events["x32"], events["x32"] + 1, 1, 1, "up")

    fused = _fuse.fuse(function)
    assert not differences(function(jets), fused(jets), rtol=1e-14)
    assert " by Awkward:" not in fused.explain(jets)
    exact = _fuse.fuse(function, exact=True)
    assert not bits_differ(function(jets), exact(jets))
    assert "whose bits are not NumPy's, with exact=True" in exact.explain(jets)


def test_other_versions(jets, monkeypatch):
    monkeypatch.setattr(_fuse.corrections, "TESTED", ("0.9.", "1."))

    def function(events):
        return scale.evaluate(events["x"]) + 1

    fused = _fuse.fuse(function)
    for _ in range(3):
        assert not compare(fused, function, jets, in_one_pass=False)
    assert "fuse was tested with correctionlib 0.9.x, 1.x, not with 2." in fused.reason


def test_json_that_python_does_not_read(jets):
    text = SCALES._data.replace("0.1", "Inf")
    one = correctionlib.CorrectionSet.from_string(text)["scale"]

    def function(events):
        return one.evaluate(events["x"])

    fused = _fuse.fuse(function)
    assert not compare(fused, function, jets, in_one_pass=False)
    assert "Python does not read its JSON" in fused.explain(jets)


def test_of_equal_keys_the_first_counts(jets):
    text = SCALES._data.replace('"flow": "clamp"', '"flow": "clamp", "flow": 7.5')
    assert text != SCALES._data
    one = correctionlib.CorrectionSet.from_string(text)["scale"]
    keys = node("category", input="n", content=[{"key": key, "value": i + 0.5} for i, key in enumerate((1, 2, 1))], default=9)
    two = set_of(correction(keys, "c", ["n"]))["c"]

    def function(events):
        return one.evaluate(events["x"]), two.evaluate(events["n"])

    assert not compare(_fuse.fuse(function), function, jets)
