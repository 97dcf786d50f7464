# SPDX-License-Identifier: Apache-2.0
# tests/python/test_gpu.py: arrays of CuPy and PyTorch on a GPU: results are arrays of the same library on the same
# device, and equal NumPy's.
import ctypes

import numpy as np
import pytest
import upsweep
from upsweep import _capsules

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


def test_sorts_of_lists_that_lie_anywhere(library):
    x, starts, stops = np.array([9, 3, 1, 8, 5, 7]), np.array([3, 1]), np.array([5, 3])
    content, lists = library.there(x), (library.there(starts), library.there(stops))
    assert library.back(upsweep.segmented_sort(content, lists)).tolist() == [9, 1, 3, 5, 8, 7]
    assert library.back(upsweep.segmented_argsort(content, lists)).tolist() == [0, 1, 0, 1, 0, 0]
    assert library.back(upsweep.segmented_sort(content, library.there(np.array([1, 3, 5])))).tolist() == [9, 1, 3, 5, 8, 7]
    assert upsweep.segmented_sort(content, lists, out=content) is content
    assert library.back(content).tolist() == [9, 1, 3, 5, 8, 7]
    with pytest.raises(ValueError, match="^list 1 overlaps a list before it") as caught:
        upsweep.segmented_sort(content, (library.there(np.array([0, 1])), library.there(np.array([2, 3]))))
    assert caught.value.index == 1


def test_any_byte_that_is_not_0_is_true(library):
    odd = library.there(np.array([1, 0, 2], np.uint8))
    odd = odd.view(library.module.bool if library.module.__name__ == "torch" else np.bool_)
    assert library.back(upsweep.cumulative_sum(odd)).tolist() == [1, 1, 2] and int(upsweep.reduce(odd)) == 2
    keys, sums = upsweep.reduce_by_key(odd, library.there(np.array([10, 20, 30])))
    assert library.back(keys).tolist() == [True, False, True] and library.back(sums).tolist() == [10, 20, 30]


def test_elements_of_out_that_overlap(library):
    x, one = library.there(np.arange(3)), library.there(np.zeros(1, np.int64))
    out = one.expand(3) if library.module.__name__ == "torch" else library.module.broadcast_to(one, 3)
    with pytest.raises(ValueError, match="^out: its elements overlap"):
        upsweep.cumulative_sum(x, out=out)


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
    packed = upsweep.offsets(library.there(starts), library.there(stops))
    assert np.array_equal(library.back(packed), upsweep.offsets(starts, stops))
    assert np.array_equal(library.back(upsweep.broadcast(library.there(order), at)), np.repeat(order, lengths))


def test_errors(library):
    with pytest.raises(ValueError) as raised:
        upsweep.offsets(library.there([0, 3, 9]), library.there([1, 2, 3]))
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


class DeviceCapsules:
    """The capsules of a library with arrays on a GPU: `lists` are offsets, the content is their child."""

    def __init__(self, content, lists=None, offset=0, nulls=0):
        self.kept = (content, lists)
        self.structs = []
        array, schema = (
            self._array(content, len(content) - offset, offset, nulls),
            _capsules.ArrowSchema(format=self._format(content)),
        )
        if lists is not None:
            child, child_schema = array, schema
            array = self._array(lists, len(lists) - 1, 0, 0)
            array.n_children, array.children = 1, ctypes.pointer(ctypes.pointer(child))
            children = ctypes.pointer(ctypes.pointer(child_schema))
            schema = _capsules.ArrowSchema(format=b"+l" if lists.itemsize == 4 else b"+L", n_children=1, children=children)
        self.array = _capsules.ArrowDeviceArray(array=array, device_id=content.device.id, device_type=2)
        self.schema = schema
        self.structs += [array, schema]

    def _format(self, content):
        return next(key for key, name in _capsules._NUMBERS.items() if name == content.dtype.name).encode()

    def _array(self, data, length, offset, nulls):
        buffers = (ctypes.c_void_p * 2)(None, data.data.ptr)
        self.structs.append(buffers)
        return _capsules.ArrowArray(
            length=length,
            null_count=nulls,
            offset=offset,
            n_buffers=2,
            buffers=ctypes.cast(buffers, ctypes.POINTER(ctypes.c_void_p)),
        )

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        schema = new(ctypes.addressof(self.schema), b"arrow_schema", None)
        return schema, new(ctypes.addressof(self.array), b"arrow_device_array", None)


def test_capsules_of_arrow():
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(1000, dtype="int32")
    result = upsweep.cumulative_sum(DeviceCapsules(x, offset=3))
    assert isinstance(result, cupy.ndarray) and np.array_equal(result.get(), np.cumsum(np.arange(3, 1000)))
    for dtype in ("int32", "int64"):
        offsets = cupy.asarray(np.array([0, 400, 400, 1000], dtype))
        assert upsweep.segmented_reduce(DeviceCapsules(x, offsets)).get().tolist() == [79800, 0, 419700]
    with pytest.raises(ValueError, match="nulls"):
        upsweep.cumulative_sum(DeviceCapsules(x, nulls=1))
    with pytest.raises(TypeError, match="lists"):
        upsweep.cumulative_sum(DeviceCapsules(x, offsets))
