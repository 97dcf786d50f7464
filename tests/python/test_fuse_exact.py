# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_exact.py: fuse(exact=True): results have the bits of Awkward on this machine.
import pickle

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

import fuse_analyses
import fuse_programs
from fuse_programs import differences
from test_fuse import FUSED_QUERIES, adl, result_of
from upsweep.awkward._fuse import fuse

UNARY = [np.cbrt, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos,
         np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.sqrt, np.reciprocal, np.deg2rad,
         np.rad2deg, np.square]  # fmt: skip
BINARY = [np.power, np.arctan2, np.hypot, np.remainder, np.fmod, np.floor_divide, np.copysign]


def bits_differ(expected, got):
    """Whether two arrays of lists of floats have other bits. The bits of NaN do not count."""
    x, y = (np.asarray(ak.flatten(array, axis=None)) for array in (expected, got))
    unsigned = {4: np.uint32, 8: np.uint64}[x.itemsize]
    return (
        str(expected.type) != str(got.type) or not ((x.view(unsigned) == y.view(unsigned)) | (np.isnan(x) & np.isnan(y))).all()
    )


def numbers(dtype):
    """Lists of numbers of all sizes, and of special ones."""
    rng = np.random.default_rng(4)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, 0.5, -0.5, 2.0, 3.0, np.pi]
    ordinary = [rng.normal(size=2500), rng.uniform(-1, 1, 2500), 10 ** rng.uniform(-30, 30, 1000)]
    with np.errstate(over="ignore", under="ignore"):
        flat = np.concatenate([special, *ordinary]).astype(dtype)
    rng.shuffle(flat)
    return ak.unflatten(flat, rng.multinomial(len(flat), np.full(900, 1 / 900)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", UNARY, ids=lambda function: function.__name__)
def test_functions_of_one_number(function, dtype):
    x = numbers(dtype)
    fused = fuse(lambda x: function(x), exact=True)
    with np.errstate(all="ignore"):
        assert not bits_differ(function(x), fused(x))
    assert fused.reason is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
def test_functions_of_two_numbers(function, dtype):
    x, a = numbers(dtype), 2.5
    y = x[:, ::-1]
    for of_arrays in (lambda x, y, a: function(x, y), lambda x, y, a: function(x, a), lambda x, y, a: function(3.0, y * a),
                      lambda x, y, a: function(x, 2), lambda x, y, a: function(x, ak.num(y))):  # fmt: skip
        fused = fuse(of_arrays, exact=True)
        with np.errstate(all="ignore"):
            assert not bits_differ(of_arrays(x, y, a), fused(x, y, a))
        assert fused.reason is None


def test_a_function_of_other_bits():
    """float_power and power have different loops in NumPy."""

    def analysis(x):
        return np.float_power(x, 2.5) + 1

    with np.errstate(all="ignore"):
        assert not bits_differ(analysis(numbers("float64")), fuse(analysis, exact=True)(numbers("float64")))


@pytest.mark.parametrize("query", FUSED_QUERIES)
def test_adl_queries(query):
    events = adl.made_events(3000)
    assert not differences(query(events), fuse(query, exact=True)(events), rtol=0)


def kinematics(p):
    x, y = p.pt * np.cos(p.phi), p.pt * np.sin(p.phi)
    a, b = ak.unzip(ak.combinations(p, 2))
    mass = np.sqrt(2 * a.pt * b.pt * (np.cosh(a.eta - b.eta) - np.cos(a.phi - b.phi)))
    return x, y, mass, ak.sum(np.exp(-p.pt / 50), axis=1), ak.mean(np.log1p(p.pt), axis=1), ak.std(np.tanh(p.eta), axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kinematics(dtype):
    p = ak.values_astype(adl.made_events(4000)["muons"][["pt", "eta", "phi"]], dtype)
    assert not differences(kinematics(p), fuse(kinematics, exact=True)(p), rtol=0)


def test_random_programs():
    for seed in range(12):
        program, events = fuse_programs.drawn(1000 + seed)

        def analysis(events, program=program):
            return fuse_programs.interpret(program, events)

        with np.errstate(all="ignore"):
            expected = result_of(analysis, events)
            assert not differences(expected, fuse(analysis, exact=True)(events), rtol=0), (seed, program)


def exponentials(e):
    return fuse_analyses.exponentials(e)


def test_exact_is_kept():
    fused = fuse(exponentials, exact=True)
    assert fuse(fused, exact=True) is fused and fuse(fused) is not fused
    assert fuse(exact=True)(exponentials)._exact
    assert pickle.loads(pickle.dumps(fused))._exact
