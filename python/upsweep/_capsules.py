# SPDX-License-Identifier: Apache-2.0
# upsweep/_capsules.py: arrays of unknown libraries through Arrow's PyCapsules, in host memory and on a GPU.

from __future__ import annotations

import ctypes
from typing import Any

_NUMBERS = {
    "c": "int8",
    "C": "uint8",
    "s": "int16",
    "S": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "f": "float32",
    "g": "float64",
}
_OFFSETS = {"+l": "int32", "+L": "int64"}
_HOST, _GPUS = (1, 3), (2, 13)  # ARROW_DEVICE_CPU and _CUDA_HOST; _CUDA and _CUDA_MANAGED


class ArrowSchema(ctypes.Structure):
    """The ArrowSchema struct of Arrow's C data interface, whose documentation describes each member."""


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class ArrowArray(ctypes.Structure):
    """The ArrowArray struct of Arrow's C data interface."""


ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class ArrowDeviceArray(ctypes.Structure):
    """The ArrowDeviceArray struct of Arrow's C device data interface."""

    _fields_ = [
        ("array", ArrowArray),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    ]


def from_capsules(value: Any, name: str) -> Any:
    """Converts an object with Arrow PyCapsules to an array.

    Arrays in host memory become pyarrow arrays. Numbers on a GPU become a CuPy array, and lists on a GPU a pair
    (content, offsets) of CuPy arrays. Raises TypeError for other objects, and ValueError for nulls on a GPU.
    """
    if hasattr(value, "__arrow_c_device_array__"):
        try:
            schema_capsule, capsule = value.__arrow_c_device_array__()
            device_array = _struct(capsule, b"arrow_device_array", ArrowDeviceArray)
        except (TypeError, ValueError) as error:
            raise _no_array(name, "__arrow_c_device_array__", error) from error
        if device_array.device_type in _GPUS:
            return _on_gpu(_struct(schema_capsule, b"arrow_schema", ArrowSchema), device_array, capsule, name)
        if device_array.device_type not in _HOST:
            raise TypeError(
                f"{name}: an array on Arrow's device {device_array.device_type}: the CPU or an NVIDIA GPU is needed"
            )
    try:
        import pyarrow
    except ImportError:
        raise TypeError(f"{name}: arrays of {_library(value)} are read with pyarrow, which is not installed") from None
    try:
        return pyarrow.array(value)
    except (TypeError, ValueError) as error:
        raise _no_array(name, "__arrow_c_array__", error) from error


def _no_array(name: str, method: str, error: Exception) -> TypeError:
    return TypeError(f"{name}: its {method}() does not return an Arrow array: {error}")


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _struct(capsule: Any, name: bytes, kind: Any) -> Any:
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return kind.from_address(pointer_of(capsule, name))


def _on_gpu(schema: ArrowSchema, device_array: ArrowDeviceArray, capsule: Any, name: str) -> Any:
    try:
        import cupy
    except ImportError:
        raise TypeError(f"{name}: Arrow arrays on a GPU are read with CuPy, which is not installed") from None
    device = device_array.device_id
    if device_array.sync_event:
        event = ctypes.c_void_p.from_address(device_array.sync_event).value
        cupy.cuda.runtime.streamWaitEvent(cupy.cuda.get_current_stream(device).ptr, event or 0, 0)

    def numbers(address: int | None, first: int, count: int, dtype: str) -> Any:
        if count == 0:
            with cupy.cuda.Device(device):
                return cupy.empty(0, dtype)
        size = cupy.dtype(dtype).itemsize
        memory = cupy.cuda.UnownedMemory(address, (first + count) * size, capsule, device)  # `capsule` owns it
        return cupy.ndarray(count, dtype, cupy.cuda.MemoryPointer(memory, first * size))

    def column(array: ArrowArray, kind: str) -> Any:
        if kind not in _NUMBERS:
            raise TypeError(f"{name}: Arrow's format {kind!r} on a GPU: numbers, and lists of numbers, are supported")
        _refuse_nulls(array, name)
        return numbers(array.buffers[1], array.offset, array.length, _NUMBERS[kind])

    kind = schema.format.decode()
    array = device_array.array
    if kind not in _OFFSETS:
        return column(array, kind)
    _refuse_nulls(array, name)
    offsets = numbers(array.buffers[1], array.offset, array.length + 1, _OFFSETS[kind])
    return column(array.children[0].contents, schema.children[0].contents.format.decode()), offsets


def _refuse_nulls(array: ArrowArray, name: str) -> None:
    if array.null_count > 0 or (array.null_count < 0 and array.buffers[0]):  # -1: the nulls were not counted
        raise ValueError(f"{name}: nulls on a GPU: fill them first")
