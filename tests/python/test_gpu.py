# SPDX-License-Identifier: Apache-2.0
# tests/python/test_gpu.py: arrays of CuPy and PyTorch on a GPU: results are theirs, there, and NumPy's.
import numpy as np
import pytest
import upsweep

if not any(not device["error"] for device in upsweep.devices()):
    pytest.skip("no GPU, or upsweep was built without CUDA", allow_module_level=True)

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


class Cupy:
    def __init__(self):
        self.module = pytest.importorskip("cupy")

    def there(self, array):
        return self.module.asarray(array)

    def back(self, array):
        assert isinstance(array, self.module.ndarray)
        return self.module.asnumpy(array)


class Torch:
    def __init__(self):
        self.module = pytest.importorskip("torch")

    def there(self, array):
        return self.module.from_numpy(np.array(array)).cuda()

    def back(self, array):
        assert isinstance(array, self.module.Tensor) and array.is_cuda
        return array.cpu().numpy()


@pytest.fixture(params=[Cupy, Torch], ids=["cupy", "torch"])
def library(request):
    return request.param()


def made(dtype, shape, seed=1):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [each for each in NUMBERS if each not in ("uint16", "uint32", "uint64")])
@pytest.mark.parametrize("n", [0, 1, 1000, 100_003])
def test_cumulative_sum(library, dtype, n):
    x = made(dtype, n)
    result = library.back(upsweep.cumulative_sum(library.there(x)))
    expected = np.cumulative_sum(x)
    assert result.dtype == expected.dtype
    assert np.allclose(result, expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_any_axis(library, axis):
    x = made("int64", (5, 7, 130))
    there = library.there(x)
    assert np.array_equal(library.back(upsweep.cumulative_sum(there, axis=axis)), np.cumsum(x, axis))
    out = library.there(np.zeros_like(x))
    assert upsweep.cumulative_sum(there, axis=axis, out=out) is out
    assert np.array_equal(library.back(out), np.cumsum(x, axis))
    expected = np.cumulative_sum(x, axis=axis, include_initial=True)
    assert np.array_equal(library.back(upsweep.cumulative_sum(there, axis=axis, include_initial=True)), expected)


def test_in_place(library):
    x = library.there(np.arange(100_000))
    assert upsweep.cumulative_sum(x, out=x) is x
    assert np.array_equal(library.back(x), np.cumsum(np.arange(100_000)))


def test_reductions(library):
    x = made("float64", (300, 70))
    there = library.there(x)
    assert float(upsweep.reduce(there)) == x.sum()
    assert np.array_equal(library.back(upsweep.reduce(there, axis=1, op="max")), x.max(1))
    assert np.array_equal(library.back(upsweep.reduce(there, axis=0)), x.sum(0))


def test_lists(library):
    lengths = np.random.default_rng(3).poisson(3, 10_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = np.random.default_rng(4).integers(0, 100, offsets[-1]).astype("float64")
    at, of = library.there(offsets), library.there(content)
    host = {op: upsweep.segmented_reduce(content, offsets, op=op) for op in ("add", "max", "argmax", "count", "any")}
    for op, expected in host.items():
        assert np.array_equal(library.back(upsweep.segmented_reduce(of, at, op=op)), expected), op
    assert np.array_equal(
        library.back(upsweep.segmented_scan(of, at, exclusive=True)), upsweep.segmented_scan(content, offsets, exclusive=True)
    )
    assert np.array_equal(library.back(upsweep.segmented_sort(of, at)), upsweep.segmented_sort(content, offsets))
    assert np.array_equal(library.back(upsweep.segmented_argsort(of, at)), upsweep.segmented_argsort(content, offsets))
    assert np.array_equal(library.back(upsweep.local_index(at)), upsweep.local_index(offsets))
    assert np.array_equal(library.back(upsweep.offsets_to_parents(at)), upsweep.offsets_to_parents(offsets))


def same(library, there, here):
    for result, expected in zip(there, here):
        assert np.array_equal(library.back(result), expected)


def test_moves(library):
    lengths = np.random.default_rng(3).poisson(3, 10_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = np.random.default_rng(4).integers(0, 100, offsets[-1]).astype("float32")
    order = np.random.default_rng(5).permutation(10_000)
    starts, stops = offsets[:-1][order], offsets[1:][order]
    at, of = library.there(offsets), library.there(content)
    mask = content > 50
    there = library.there(mask)
    same(library, upsweep.select(there, of, lists=at), upsweep.select(mask, content, lists=offsets))
    assert np.array_equal(library.back(upsweep.select(there, of)), content[mask])
    same(library, upsweep.pack((library.there(starts), library.there(stops)), of), upsweep.pack((starts, stops), content))
    assert np.array_equal(library.back(upsweep.take(library.there(order), of)), content[order])
    same(library, upsweep.combinations(at), upsweep.combinations(offsets))
    same(library, upsweep.cartesian(at, at), upsweep.cartesian(offsets, offsets))
    same(library, upsweep.reduce_by_key(at, at), upsweep.reduce_by_key(offsets, offsets))
    packed = upsweep.compact_offsets(library.there(starts), library.there(stops))
    assert np.array_equal(library.back(packed), upsweep.compact_offsets(starts, stops))
    assert np.array_equal(library.back(upsweep.broadcast(library.there(order), at)), np.repeat(order, lengths))


def test_errors(library):
    with pytest.raises(ValueError) as raised:
        upsweep.compact_offsets(library.there([0, 3, 9]), library.there([1, 2, 3]))
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="device"):
        upsweep.segmented_reduce(library.there(np.arange(4)), np.array([0, 4]))
    with pytest.raises(NotImplementedError):
        upsweep.cumulative_sum(library.there(np.arange(4)), overflow="checked")


def test_calls_are_in_the_current_stream(library):
    if isinstance(library, Cupy):
        stream = library.module.cuda.Stream(non_blocking=True)
        with stream:
            x = library.module.arange(1 << 22)
            result = upsweep.cumulative_sum(x)
        stream.synchronize()
    else:
        stream = library.module.cuda.Stream()
        with library.module.cuda.stream(stream):
            x = library.module.arange(1 << 22, device="cuda")
            result = upsweep.cumulative_sum(x)
        stream.synchronize()
    assert np.array_equal(library.back(result), np.cumsum(np.arange(1 << 22)))


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones(1_000_000, dtype="float32")
    if next(iter(x.devices())).platform != "gpu":
        pytest.skip("JAX has no GPU here")
    result = upsweep.cumulative_sum(x * 2) * 2  # JAX's own stream before and after
    assert isinstance(result, jax.Array) and result.devices() == x.devices()
    assert np.array_equal(np.asarray(result), np.arange(4, 4_000_001, 4, dtype="float32"))
    assert upsweep.cumulative_sum(jax.numpy.ones(10, dtype="int32"))[-1] == 10
