# SPDX-License-Identifier: Apache-2.0
# tests/python/test_histogram.py: histograms, compared bit by bit with those of boost-histogram, and with NumPy's.
import numpy as np
import pytest
import upsweep

bh = pytest.importorskip("boost_histogram")
pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
TYPES = [*INTEGERS, "float32", "float64"]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    0.1,
    0.3,
    0.7,
    0.9999999999999999,
    1.0000000000000002,
    np.inf,
    -np.inf,
    np.nan,
    1e308,
    -1e308,
    5e-324,
]

seeds = st.integers(0, 2**32)


def numbers(rng, dtype, n):
    """Numbers near the axes of any_axis, many of them at edges; small enough for boost-histogram's axes of int32."""
    if dtype == "bool":
        return rng.random(n) < 0.5
    if dtype in INTEGERS:
        return rng.integers(-12 if dtype.startswith("i") else 0, 120, n).astype(dtype)
    made = np.where(rng.random(n) < 0.5, rng.integers(-40, 80, n) / 4, rng.normal(2, 6, n))
    at = rng.random(n) < 0.2
    with np.errstate(over="ignore"):
        return np.where(at, rng.choice(SPECIAL, n), made).astype(dtype)


def any_axis(rng, is_integer):
    flows = {"underflow": bool(rng.integers(2)), "overflow": bool(rng.integers(2))}
    kind = rng.integers(6 if is_integer else 3)
    if kind == 0:
        return bh.axis.Regular(int(rng.integers(1, 60)), rng.integers(-9, 3), rng.integers(4, 30), **flows)
    if kind == 1:
        return bh.axis.Regular(int(rng.integers(1, 60)), rng.normal(), rng.normal() * 10 + 7, **flows)
    if kind == 2:
        steps = rng.integers(1, 9, int(rng.integers(2, rng.choice([9, 200])))) / 8
        return bh.axis.Variable(np.cumsum(steps) - 10, **flows)
    if kind == 3:
        return bh.axis.Integer(int(rng.integers(-9, 3)), int(rng.integers(4, 90)), **flows)
    if kind == 4:
        return bh.axis.IntCategory(rng.permutation(np.arange(-9, 60))[: rng.integers(1, 9)], overflow=flows["overflow"])
    return bh.axis.Boolean()


def expect_same(ours, theirs):
    a, b = ours.view(flow=True), theirs.view(flow=True)
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(seeds, st.sampled_from(TYPES), st.sampled_from(TYPES), st.sampled_from([0, 1, 100, 3000]), st.integers(1, 3))
def test_the_bins_of_boost_histogram(seed, first, second, n, dimensions):
    rng = np.random.default_rng(seed)
    types = [first, second, first][:dimensions]
    values = tuple(numbers(rng, each, n) for each in types)
    axes = [any_axis(rng, each in INTEGERS) for each in types]
    weights = rng.normal(size=n)  # one work unit adds them in the order of the elements, which determines the bits
    for storage in (bh.storage.Int64, bh.storage.AtomicInt64, bh.storage.Double, bh.storage.Weight):
        expected = bh.Histogram(*axes, storage=storage()).fill(*values)
        given = bh.Histogram(*axes, storage=storage())
        assert upsweep.histogram(values, given, threads=2) is given
        expect_same(given, expected)
    for storage in (bh.storage.Double, bh.storage.Weight):
        expected = bh.Histogram(*axes, storage=storage()).fill(*values, weight=weights)
        expect_same(upsweep.histogram(values, bh.Histogram(*axes, storage=storage()), weights=weights), expected)
    counts, edges = upsweep.histogram(values, axes, flow=True)
    assert np.array_equal(counts, bh.Histogram(*axes, storage=bh.storage.Int64()).fill(*values).view(flow=True))
    inner, _ = upsweep.histogram(values, axes)
    assert np.array_equal(inner, bh.Histogram(*axes, storage=bh.storage.Int64()).fill(*values).view(flow=False))
    assert all(np.array_equal(a, b.edges) for a, b in zip(edges, axes, strict=True))


@given(seeds, st.sampled_from(TYPES), st.booleans())
def test_axes_of_numbers(seed, dtype, flow):
    rng = np.random.default_rng(seed)
    x = numbers(rng, dtype, 500)
    flows = {"underflow": flow, "overflow": flow}
    n, low, high = int(rng.integers(1, 50)), float(rng.normal()), float(rng.normal() + 9)
    expected = bh.Histogram(bh.axis.Regular(n, low, high, **flows), storage=bh.storage.Int64()).fill(x).view(flow=True)
    for counts, edges in (
        upsweep.histogram(x, (n, low, high), flow=flow),
        upsweep.histogram(x, bins=n, range=(low, high), flow=flow),
        upsweep.histogram((x,), [n], range=[(low, high)], flow=flow),
    ):
        assert counts.dtype == np.int64 and np.array_equal(counts, expected)
        assert np.array_equal(edges[0] if isinstance(edges, tuple) else edges, np.linspace(low, high, n + 1))
    edges = np.sort(rng.choice(np.arange(-40, 80), 20, replace=False)) / 4
    expected = bh.Histogram(bh.axis.Variable(edges, **flows), storage=bh.storage.Int64()).fill(x).view(flow=True)
    counts, given = upsweep.histogram(x, edges, flow=flow)
    assert np.array_equal(counts, expected) and np.array_equal(given, edges)


@given(seeds, st.sampled_from(["float64", "float32", "int16"]))
def test_numpy(seed, dtype):
    rng = np.random.default_rng(seed)
    x, y, w = (
        np.where(rng.random(400) < 0.5, rng.integers(-40, 40, 400) / 4, rng.normal(0, 6, 400)).astype(dtype) for _ in range(3)
    )
    for bins, limits in ((16, (-8, 8)), ([-3, -2, 0, 5], None)):
        counts, edges = upsweep.histogram(x, bins, range=limits)
        expected, expected_edges = np.histogram(x, bins, limits)
        assert np.array_equal(counts, expected) and np.array_equal(edges, expected_edges)
        weighted, _ = upsweep.histogram(x, bins, range=limits, weights=w)
        assert np.allclose(weighted, np.histogram(x, bins, limits, weights=w.astype(float))[0])
    counts, edges = upsweep.histogram((x, y), (8, [0, 1, 5]), range=((0, 8), None))
    expected, _ = np.histogramdd((x, y), (np.arange(9), [0, 1, 5]))
    assert np.array_equal(counts, expected)
    assert len(edges) == 2


def test_the_range_is_numpys():
    x = np.array([3.0, 4.5, 11.0])
    for values in (x, x[:1], x[:0], [True, False, True]):
        counts, edges = upsweep.histogram(values)
        expected, expected_edges = np.histogram(np.asarray(values, float))
        assert np.array_equal(counts, expected) and np.array_equal(edges, expected_edges)
    with pytest.raises(ValueError, match="minimum and maximum are nan"):
        upsweep.histogram([1.0, np.nan])


def test_the_last_edge():
    # The last bin contains it, as in NumPy; with flow bins it is above the axis, as in boost-histogram.
    x = np.array([0.0, 1.0, 2.0])
    assert upsweep.histogram(x, (2, 0, 2))[0].tolist() == np.histogram(x, 2, (0, 2))[0].tolist() == [1, 2]
    assert upsweep.histogram(x, (2, 0, 2), flow=True)[0].tolist() == [0, 1, 1, 1]
    assert upsweep.histogram(x, [0, 1, 2])[0].tolist() == [1, 2]
    assert upsweep.histogram(x, [0, 1, 2], flow=True)[0].tolist() == [0, 1, 1, 1]
    # Values within rounding of an edge: NumPy compares them with its edges again, boost-histogram does not.
    edges = np.linspace(0, 1, 50)
    ours, numpys = upsweep.histogram(edges, (49, 0, 1))[0], np.histogram(edges, 49, (0, 1))[0]
    axis = bh.axis.Regular(49, 0, 1, underflow=False, overflow=False)
    assert np.array_equal(ours, bh.Histogram(axis).fill(edges).view())
    assert not np.array_equal(ours, numpys) and ours.sum() == numpys.sum()


@pytest.mark.parametrize("n", [8191, 400_000])
def test_threads_do_not_change_bits(n):
    rng = np.random.default_rng(n)
    x, y, w = rng.random(n) * 1.2, rng.random(n), rng.normal(size=n)
    results = [
        [
            upsweep.histogram(x, (100, 0, 1), weights=w, flow=True, threads=threads)[0].tobytes(),
            upsweep.histogram((x, y), [(50, 0, 1), (70, 0, 1)], weights=w, threads=threads)[0].tobytes(),
            upsweep.histogram((x, y), [(300, 0, 1), (300, 0, 1)], threads=threads)[0].tobytes(),
        ]
        for threads in (1, 2, 3, 4, None)
    ]
    assert all(each == results[0] for each in results)
    with upsweep.options(threads=1):
        assert upsweep.histogram(x, (100, 0, 1), weights=w, flow=True)[0].tobytes() == results[0][0]
    expected = bh.Histogram(bh.axis.Regular(100, 0, 1)).fill(x, weight=w).view(flow=True)
    assert np.allclose(np.frombuffer(results[0][0]), expected)


def test_a_histogram_is_filled_again():
    histogram = bh.Histogram(bh.axis.Integer(0, 3), storage=bh.storage.Weight())
    for _ in range(2):
        upsweep.histogram(np.array([0, 1, 1, 7]), histogram, weights=[1.0, 2.0, 3.0, 4.0])
    assert histogram.view(flow=True)["value"].tolist() == [0, 2, 10, 0, 8]
    assert histogram.view(flow=True)["variance"].tolist() == [0, 2, 26, 0, 32]


def test_integers_beyond_int32():
    # boost-histogram converts them to int32 first.
    large = np.array([0, 2**32, 2**63, 2**64 - 1], np.uint64)
    assert upsweep.histogram(large, bh.axis.Integer(0, 2), flow=True)[0].tolist() == [0, 1, 0, 3]
    assert upsweep.histogram(large, bh.axis.IntCategory([0, -1]), flow=True)[0].tolist() == [1, 0, 3]
    assert upsweep.histogram(np.array([-(2**63), -(2**32)]), bh.axis.Integer(0, 2), flow=True)[0].tolist() == [2, 0, 0, 0]


def test_arrays_of_other_kinds():
    expected = [1, 2, 0, 1]
    axis = (4, 0, 4)
    for values in ([0, 1, 1, 3], range(4), np.array([[0, 1], [1, 3]]), np.array([0, 9, 1, 9, 1, 9, 3, 9])[::2]):
        want = [1, 1, 1, 1] if isinstance(values, range) else expected
        assert upsweep.histogram(values, axis)[0].tolist() == want
    big_endian = np.array([0, 1, 1, 3], ">f8")
    assert upsweep.histogram(big_endian, axis, weights=big_endian)[0].tolist() == [0, 2, 0, 3]


def test_awkward_arrays_are_flattened():
    ak = pytest.importorskip("awkward")
    lists = ak.Array([[0.5, 1.5], [], [1.25]])
    assert upsweep.histogram(lists, [0, 1, 2])[0].tolist() == [1, 2]
    per_event = np.array([10.0, 20.0, 30.0])
    assert upsweep.histogram(lists, [0, 1, 2], weights=per_event)[0].tolist() == [10, 40]
    assert upsweep.histogram((lists, per_event), [[0, 1, 2], [0, 25, 50]])[0].tolist() == [[1, 0], [1, 1]]
    with pytest.raises(ValueError, match="values: cannot be flattened to numbers without missing values"):
        upsweep.histogram(ak.Array([1.5, None]), [0, 1, 2])
    with pytest.raises(ValueError, match="broadcast"):
        upsweep.histogram(lists, [0, 1, 2], weights=ak.Array([[1.0], [], [2.0]]))


X = np.arange(4.0)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: upsweep.histogram(X, 0), ValueError, "bins: 1 or more is needed, not 0"),
        (lambda: upsweep.histogram(X, (3, 1, 1)), ValueError, r"bins: low \(1.0\) must be less than high \(1.0\)"),
        (lambda: upsweep.histogram(X, (3, 0, np.inf)), ValueError, "both finite"),
        (lambda: upsweep.histogram(X, (3, "a", 1)), TypeError, "bins: a number is needed, not 'a'"),
        (lambda: upsweep.histogram(X, [1, 2, 2]), ValueError, r"bins: axis 0: edge 2 \(2\) is not greater than the edge before"),
        (lambda: upsweep.histogram(X, [1.0]), ValueError, "bins: axis 0: needs at least two edges, not 1"),
        (lambda: upsweep.histogram(X, [0, 1], range=(0, 1)), ValueError, "range: it is for a number of bins only"),
        (lambda: upsweep.histogram(X, 3, range=4), TypeError, "range: low and high are needed, not 4"),
        (lambda: upsweep.histogram(X, 2**25 + 1), NotImplementedError, r"at most 2\*\*25"),
        (lambda: upsweep.histogram((X, X), [(5791, 0, 1), (5792, 0, 1)]), NotImplementedError, r"bins: .*more than 2\^25 bins"),
        (lambda: upsweep.histogram((X, X), [3]), ValueError, "bins: 1 axes, but values has 2 arrays"),
        (lambda: upsweep.histogram((X, X), [3, 3], range=[(0, 1)]), ValueError, "range: 1 pairs, but values has 2 arrays"),
        (lambda: upsweep.histogram((X, X), X), TypeError, "bins: a sequence of 2 axes is needed"),
        (lambda: upsweep.histogram((X, X[:3]), [3, 3]), ValueError, r"values\[1\]: 3 elements, but values\[0\] has 4"),
        (lambda: upsweep.histogram(X, 3, weights=X[:2]), ValueError, "weights: 2 elements, but values has 4"),
        (lambda: upsweep.histogram(()), ValueError, "values: the tuple is empty"),
        (lambda: upsweep.histogram(["a"]), TypeError, "values: text is not supported"),
        (lambda: upsweep.histogram(X, 3, flow=2), TypeError, "flow: True or False is needed"),
        (lambda: upsweep.histogram(X, 3, threads=-1), ValueError, "threads: 0 or more is needed"),
        (lambda: upsweep.histogram(X, bh.axis.Integer(0, 3)), TypeError, "values: integers are needed for an integer or category"),
        (lambda: upsweep.histogram(X, bh.axis.IntCategory([3])), TypeError, "values: integers are needed"),
        (lambda: upsweep.histogram(X, bh.axis.StrCategory(["a"])), NotImplementedError, "bins: an axis StrCategory"),
        (lambda: upsweep.histogram(X, bh.axis.Integer(0, 3, growth=True)), NotImplementedError, "bins: an axis with growth"),
        (lambda: upsweep.histogram(X, bh.axis.Regular(3, 0, 1, circular=True)), NotImplementedError, "a circular range"),
        (lambda: upsweep.histogram(X, bh.axis.Regular(3, 1, 2, transform=bh.axis.transform.log)), NotImplementedError, "a transform"),
        (
            lambda: upsweep.histogram(X, bh.Histogram(bh.axis.Regular(3, 0, 1), storage=bh.storage.Mean())),
            NotImplementedError,
            "bins: the storage Mean is not supported",
        ),
        (
            lambda: upsweep.histogram(X, bh.Histogram(bh.axis.Regular(3, 0, 1), storage=bh.storage.Int64()), weights=X),
            TypeError,
            "weights: a histogram with the storage Int64 counts",
        ),
        (lambda: upsweep.histogram((X, X), bh.Histogram(bh.axis.Regular(3, 0, 1))), ValueError, "bins: 1 axes, but values has 2"),
    ],
)  # fmt: skip
def test_errors(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_options_with_a_rung():
    with upsweep.options(rung="cpu.serial"), pytest.raises(ValueError, match="histogram: it has no rungs"):
        upsweep.histogram(X)
