# SPDX-License-Identifier: Apache-2.0
# tests/python/test_awkward_gpu.py: Awkward Array on CuPy's arrays with upsweep registered: the results must be those of
# the CPU, and upsweep's kernels must have been called.
import collections

import numpy as np
import pytest
import upsweep

ak = pytest.importorskip("awkward")
cupy = pytest.importorskip("cupy")
if not any(not device["error"] for device in upsweep.devices()):
    pytest.skip("no GPU, or upsweep was built without CUDA", allow_module_level=True)

import awkward._connect.cuda
import upsweep.awkward
from awkward_operations import COUNTS, NUMBERS, OPERATIONS, assert_same, kernels_of, lists, made
from upsweep.awkward import _cuda


@pytest.fixture
def calls(monkeypatch):
    """Registers upsweep, and counts how often each of our kernels was called and did the work."""
    calls = collections.Counter()

    def counting(name, ours):
        def call(*arguments):
            result = ours(*arguments)
            calls[name] += result is not None or name.startswith("awkward")
            return result

        return call

    table = {name: counting(name, ours) for name, ours in _cuda.kernels().items()}
    monkeypatch.setattr(_cuda, "kernels", lambda: table)
    monkeypatch.setattr(_cuda, "select", counting("select", _cuda.select))
    monkeypatch.setattr(_cuda, "take", counting("take", _cuda.take))
    monkeypatch.setattr(_cuda, "pack", counting("pack", _cuda.pack))
    with upsweep.awkward.kernels():
        yield calls


def there(arrays):
    return {name: ak.to_backend(array, "cuda") for name, array in arrays.items()}


def run(operation, arrays):
    try:
        return operation(arrays)
    except ImportError as error:
        pytest.skip(f"Awkward's other kernels need cuda.compute: {error}")


def tried(name, arrays, needed, calls):
    operation, _ = OPERATIONS[name]
    result = run(operation, there(arrays))
    assert ak.backend(result) == "cuda"
    assert needed <= set(calls)
    assert_same(ak.to_backend(result, "cpu"), operation(arrays), name)


def test_all_of_ours_are_awkwards():
    assert set(_cuda.kernels()) == set(_cuda.KERNELS)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("pattern", COUNTS)
def test_patterns(name, pattern, calls):
    if (name, pattern) == ("cartesian", "no_lists"):
        pytest.skip("Awkward 2.14 allocates the offsets of an empty array of nested lists in host memory, and fails")
    needed = kernels_of(name, pattern, "float64") - ({"select"} if pattern in ("all_empty", "no_lists") else set())
    tried(name, made(pattern, "float64"), needed, calls)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_types(name, dtype, calls):
    tried(name, made("poisson", dtype), kernels_of(name, "poisson", dtype), calls)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "sort", "argsort"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan(name, dtype, calls):
    nan, inf = np.nan, np.inf
    content = np.array([nan, 1, 2, 1, nan, 3, nan, nan, -inf, nan, inf, 5, 4, nan, 6], dtype)
    tried(name, {"x": ak.unflatten(content, [3, 3, 0, 1, 4, 4])}, OPERATIONS[name][1], calls)


@pytest.mark.parametrize("name", ["sum", "max", "argmax", "sort", "argsort", "select", "to_packed", "combinations"])
def test_many_lists(name, calls, monkeypatch):
    """More elements than one block processes, and enough that our carry is used."""
    monkeypatch.setitem(COUNTS, "many", lambda random: random.poisson(3, 300_000))
    monkeypatch.setattr(_cuda, "CARRY_FROM", 1)
    arrays = made("many", "float64")
    operation, needed = OPERATIONS[name]
    result = run(operation, there(arrays))
    assert needed <= set(calls)
    if name == "combinations":
        ak.to_packed(result)  # elements are only moved when they are requested
        assert calls["take"] > 0
    assert ak.array_equal(ak.to_backend(result, "cpu"), operation(arrays))


def test_sums_of_floats(calls):
    random = np.random.default_rng(7)
    counts = random.poisson(100, 1000)
    x = lists(counts, random.normal(size=counts.sum()))
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-11)):
        each = ak.values_astype(x, dtype)
        result = ak.to_numpy(ak.to_backend(ak.sum(ak.to_backend(each, "cuda"), axis=1), "cpu"))
        np.testing.assert_allclose(result, ak.to_numpy(ak.sum(each, axis=1)), rtol=0, atol=tolerance)
    assert calls["awkward_reduce_sum"] >= 2


def test_on_another_stream(calls):
    arrays = made("poisson", "float32")
    on_gpu = there(arrays)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        result = ak.sum(on_gpu["x"], axis=1)
        awkward._connect.cuda.synchronize_cuda(stream)
    assert calls["awkward_reduce_sum"] == 1
    assert_same(ak.to_backend(result, "cpu"), ak.sum(arrays["x"], axis=1), "sum")


def test_offsets_in_the_same_memory_are_not_compared(calls, monkeypatch):
    x = there(made("poisson", "float32"))["x"]
    with monkeypatch.context() as patch:
        patch.setattr(cupy, "array_equal", None)
        twice = x + x
    assert ak.array_equal(ak.to_backend(twice, "cpu"), ak.to_backend(x, "cpu") * 2)


def test_what_is_wrong(calls):
    starts, stops = (ak.index.Index64(np.array(each)) for each in ([2, 0], [1, 2]))
    bad = ak.Array(ak.contents.ListArray(starts, stops, ak.contents.NumpyArray(np.arange(3))))
    with pytest.raises(ValueError, match="stop"):
        ak.to_packed(ak.to_backend(bad, "cuda"))
    assert calls["awkward_ListArray_compact_offsets"] == 0


def test_unregistered_is_awkwards_own():
    from awkward._backends.cupy import CupyBackend

    ours = CupyBackend.__getitem__
    with upsweep.awkward.kernels():
        assert CupyBackend.__getitem__ is not ours
        assert isinstance(CupyBackend.instance()["awkward_localindex", np.int64], _cuda.Kernel)
    assert CupyBackend.__getitem__ is ours
