# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_gpu.py: fused functions and histograms of CuPy's arrays: the results must be those of the CPU.
"""With UPSWEEP_EMULATED_CUPY=1, as test_fuse_without_gpu.py runs it, a module in host memory stands for CuPy."""

import json
import os

import numpy as np
import pytest
import upsweep

ak = pytest.importorskip("awkward")
IS_EMULATED = os.environ.get("UPSWEEP_EMULATED_CUPY") == "1"
if IS_EMULATED:
    import emulated_cupy

    emulated_cupy.install()
cupy = pytest.importorskip("cupy")
if not IS_EMULATED and not any(not device["error"] for device in upsweep.devices()):
    pytest.skip("no GPU, or upsweep was built without CUDA", allow_module_level=True)

from upsweep.awkward import fuse


def events(count, seed=3):
    random = np.random.default_rng(seed)
    counts = random.poisson(2.5, count)
    n = int(counts.sum())
    jets = ak.zip(
        {
            "pt": random.exponential(30, n),
            "eta": random.normal(0, 2, n),
            "phi": random.uniform(-3, 3, n),
            "flavor": random.integers(-3, 4, n).astype(np.int32),
        }
    )
    return ak.Array({"met": random.exponential(40, count).astype(np.float32), "jets": ak.unflatten(jets, counts)})


def there(x):
    return ak.to_backend(x, "cuda")


def assert_same(got, expected, exactly=True):
    assert ak.backend(got) == "cuda"
    got = ak.to_backend(got, "cpu")
    assert got.type == expected.type
    if exactly:
        assert ak.array_equal(got, expected, equal_nan=True)
    else:
        assert ak.almost_equal(got, expected, rtol=1e-12, atol=1e-12)


def chosen(x, least):
    return x.jets[(x.jets.pt > least) & (abs(x.jets.eta) < 2.4)]


def pairs(x):
    a, b = ak.unzip(ak.combinations(x.jets, 2))
    return a.pt + b.pt


def leading(x):
    return ak.firsts(x.jets[ak.argsort(x.jets.pt, ascending=False)].pt)


def kept(x):
    return x[ak.num(x.jets) >= 2].met


def with_missing(x):
    return ak.fill_none(ak.max(x.jets.pt, axis=1), -1.0), ak.pad_none(x.jets.pt, 3, clip=True)


def nearest(x):
    one, other = ak.unzip(ak.cartesian([x.jets.eta, x.jets.phi], nested=True))
    return ak.min(abs(one - other), axis=-1)


@pytest.mark.parametrize("count", [0, 1, 63, 5000])
@pytest.mark.parametrize("function", [pairs, leading, kept, with_missing, nearest])
def test_results_are_those_of_the_cpu(function, count):
    x = events(count)
    expected, fused = function(x), fuse(function)
    for _ in range(2):
        got = fused(there(x))
        assert fused.reason is None
        for a, b in zip(*((y if isinstance(y, tuple) else (y,)) for y in (got, expected)), strict=True):
            assert_same(a, b)


def test_records_stay_on_the_gpu_and_numbers_are_not_baked():
    x, fused = events(4000), fuse(chosen)
    for least in (10.0, 60.0, 1e9):
        assert_same(fused(there(x), least), chosen(x, least))
        assert fused.reason is None


def test_one_function_runs_on_both():
    x, fused = events(500), fuse(pairs)
    for _ in range(2):
        assert ak.array_equal(fused(x), pairs(x))
        assert_same(fused(there(x)), pairs(x))


def test_elementary_functions():
    def mass(x):
        a, b = ak.unzip(ak.combinations(x.jets, 2))
        return np.sqrt(2 * a.pt * b.pt * (np.cosh(a.eta - b.eta) - np.cos(a.phi - b.phi)))

    x, fused = events(3000), fuse(mass)
    assert_same(fused(there(x)), mass(x), exactly=False)
    assert fused.reason is None


def test_layouts():
    x = events(300)
    jets = x.jets[np.arange(300)[::-1]]  # lists out of order
    missing = ak.mask(x.jets.pt, x.jets.pt > 20)

    def of(lists, options, sizes):
        return ak.sum(lists.pt, axis=1) + ak.sum(ak.fill_none(options, 0.5), axis=1) + sizes[:, 0] * ak.sum(sizes, axis=1)

    sizes = ak.Array(np.arange(900.0).reshape(300, 3))
    fused = fuse(of)
    arguments = there(jets), there(missing), there(sizes)
    assert_same(fused(*arguments), of(jets, missing, sizes), exactly=False)
    assert fused.reason is None
    assert "by Awkward:" not in fused.explain(*arguments)


def test_sums_of_all_elements():
    def total(x):
        return ak.sum(x.jets.flavor[x.jets.pt > 20])

    x = events(2000)
    ours, theirs = fuse(total)(there(x)), total(there(x))
    assert type(ours) is type(theirs)
    assert int(ours) == total(x)


@pytest.mark.skipif(not IS_EMULATED, reason="it looks at what a plan is given")
def test_a_plan_is_given_contiguous_and_aligned_columns():
    given = []

    class Plan:
        histograms = 0

        @staticmethod
        def run_on_gpu(*arguments):
            given.append(arguments)
            return "message", 3

    numbers = np.arange(10.0)
    strided = cupy.asarray(np.repeat(numbers, 2))[::2]
    misaligned = cupy.asarray(np.frombuffer(b"\0" + numbers.tobytes(), np.uint8))[1:].view(np.float64)
    plain = cupy.asarray(numbers)
    columns = [strided, None, misaligned, plain]
    assert emulated_cupy.run_on_gpu(Plan, [0, 2, 3], columns, [(1, "int64")], 10) == ("message", 3)
    ((places, parameters, count, device, stream),) = given
    assert (parameters, count, device, stream) == ([(1, "int64")], 10, 0, 7)
    assert places[1] is None
    assert places[3] == (plain.data.ptr, 10)
    for address, size in (places[0], places[2]):
        assert size == 10
        assert address % 8 == 0
        assert address not in (strided.data.ptr, misaligned.data.ptr)


def test_it_runs_in_the_current_stream():
    x = there(events(2000))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        got = fuse(pairs)(x)
        stream.synchronize()
    assert_same(got, pairs(ak.to_backend(x, "cpu")))


def test_what_is_not_fused_runs_in_awkward():
    x = events(100)
    fused = fuse(pairs, exact=True)
    assert_same(fused(there(x)), pairs(x))
    assert "exact=True" in fused.reason

    def both(a, b):
        return a.met + ak.to_backend(b, ak.backend(a)).met

    mixed = fuse(both)
    assert_same(mixed(there(x), x), both(x, x))
    assert "two backends" in mixed.reason


def test_histograms_of_a_function():
    bh = pytest.importorskip("boost_histogram")

    def filled(x):
        histogram = bh.Histogram(bh.axis.Regular(40, 0, 200), storage=bh.storage.Weight())
        histogram.fill(ak.flatten(x.jets.pt), weight=ak.flatten(x.jets.flavor))
        counts = bh.Histogram(bh.axis.Regular(40, 0, 200), bh.axis.Integer(-3, 4))
        counts.fill(ak.flatten(x.jets.pt), ak.flatten(x.jets.flavor))
        return histogram, counts

    x = events(20_000)
    for ours, theirs in zip(fuse(filled)(there(x)), filled(x)):
        assert np.array_equal(ours.view(flow=True), theirs.view(flow=True))  # the sums of integers are exact


@pytest.mark.skipif(IS_EMULATED, reason="upsweep takes the emulation's arrays for NumPy's")
def test_histogram_counts_on_the_gpu():
    random = np.random.default_rng(1)
    x, y = random.normal(0, 1, 100_000), random.integers(0, 50, 100_000)
    on_gpu = cupy.asarray(x), cupy.asarray(y)
    for arguments in (
        {"bins": (100, -4.0, 4.0)},
        {"bins": 30},
        {"bins": [-2.0, -1.0, 0.5, 9.0], "flow": True},
        {"bins": cupy.asarray([-2.0, -1.0, 0.5, 9.0])},
        {"bins": (10, -1.0, 1.0), "weights": True},
    ):
        weighted = {**arguments}
        expected_weights = weighted.pop("weights", None) and {"weights": y}
        got_weights = expected_weights and {"weights": on_gpu[1]}
        expected, edges = upsweep.histogram(x, **weighted, **(expected_weights or {}))
        got, got_edges = upsweep.histogram(on_gpu[0], **weighted, **(got_weights or {}))
        assert isinstance(got, np.ndarray)
        assert np.array_equal(got, expected)
        assert np.array_equal(got_edges, edges)
    expected = upsweep.histogram((x, y), ((20, -3.0, 3.0), (10, 0.0, 50.0)))[0]
    assert np.array_equal(upsweep.histogram(on_gpu, ((20, -3.0, 3.0), (10, 0.0, 50.0)))[0], expected)
    jagged = ak.unflatten(ak.Array(x), 10)
    assert np.array_equal(upsweep.histogram(there(jagged), (20, -3.0, 3.0))[0], upsweep.histogram(x, (20, -3.0, 3.0))[0])
    with pytest.raises(TypeError, match=r"values\[1\]: the array is in host memory"):
        upsweep.histogram((on_gpu[0], y), ((20, -3.0, 3.0), (10, 0.0, 50.0)))


def test_corrections_are_evaluated_as_without_fuse():
    """correctionlib copies the array to host memory."""
    correctionlib = pytest.importorskip("correctionlib")
    variables = [{"name": "x", "type": "real"}]
    bins = {"nodetype": "binning", "input": "x", "edges": [0.0, 20.0, 90.0], "content": [0.7, 1.1], "flow": "clamp"}
    one = {"name": "c", "version": 1, "inputs": variables, "output": {"name": "y", "type": "real"}, "data": bins}
    corrections = correctionlib.CorrectionSet.from_string(json.dumps({"schema_version": 2, "corrections": [one]}))

    def weights(x):
        return corrections["c"].evaluate(x.met) * 2

    x = events(200)
    fused = fuse(weights)
    for _ in range(2):
        got = fused(there(x))
        assert ak.backend(got) == ak.backend(weights(there(x)))
        assert ak.array_equal(ak.to_backend(got, "cpu"), weights(x))
    assert "evaluate: the correction 'c': arrays on a GPU" in fused.explain(there(x))
