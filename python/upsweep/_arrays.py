# SPDX-License-Identifier: Apache-2.0
# upsweep/_arrays.py: the arrays of other libraries, seen without a copy, and results in arrays of the same library.
#
# Arrays in the host's memory become NumPy's, those of a GPU CuPy's or PyTorch's: a Namespace for each of these three has the few
# things that upsweep asks of a library. `take_in` finds it, and how a result goes back.

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import _core

NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
BOUNDS = ("int32", "uint32", "int64")
MOVED_SIZES = (1, 2, 4, 8, 16)


class Namespace:
    """What is asked of an array library: here NumPy, by functions that CuPy has too."""

    device = -1
    stream = 0

    def __init__(self, module: Any = np):
        self.module = module

    def dtype(self, array: Any) -> str:
        return array.dtype.name

    def itemsize(self, array: Any) -> int:
        return array.dtype.itemsize

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        return self.module.empty(shape, dtype)

    def like(self, array: Any, shape: int | tuple[int, ...]) -> Any:
        """A new array of another's elements."""
        return self.module.empty(shape, array.dtype)

    def astype(self, array: Any, dtype: str) -> Any:
        return array.astype(dtype, copy=False)

    def view_as(self, array: Any, dtype: str) -> Any:
        """The same memory as elements of another type of the same size."""
        return array.view(dtype)

    def contiguous(self, array: Any) -> Any:
        array = self.module.ascontiguousarray(array)
        return array if self.is_contiguous(array) else array.copy()

    def is_contiguous(self, array: Any) -> bool:
        """Side by side, each at a multiple of its size; CuPy's arrays always are."""
        return array.flags.c_contiguous and getattr(array.flags, "aligned", True)

    def is_writable(self, array: Any) -> bool:
        return array.flags.writeable

    def moveaxis(self, array: Any, source: int, to: int) -> Any:
        return self.module.moveaxis(array, source, to)

    def overlap(self, a: Any, b: Any) -> bool:
        return np.may_share_memory(a, b)

    def same_memory(self, a: Any, b: Any) -> bool:
        return a.ctypes.data == b.ctypes.data and a.nbytes == b.nbytes

    def elements(self, array: Any) -> Any:
        """The array as upsweep._core takes it: of one dimension, contiguous."""
        if array.dtype.kind in "iufb":
            return array
        return array.view(_raw(array.dtype))

    def scalar(self, value: np.ndarray) -> Any:
        """An array without dimensions of the one element of a NumPy array."""
        return value[0]


class _Cupy(Namespace):
    def __init__(self, array: Any):
        import cupy

        super().__init__(cupy)
        self.device = array.device.id
        self.stream = cupy.cuda.get_current_stream(self.device).ptr

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        with self.module.cuda.Device(self.device):
            return self.module.empty(shape, dtype)

    def like(self, array: Any, shape: int | tuple[int, ...]) -> Any:
        return self.empty(shape, array.dtype)

    def is_writable(self, array: Any) -> bool:
        return True

    def overlap(self, a: Any, b: Any) -> bool:
        return self.module.may_share_memory(a, b)

    def same_memory(self, a: Any, b: Any) -> bool:
        return a.data.ptr == b.data.ptr and a.nbytes == b.nbytes

    def elements(self, array: Any) -> Any:
        return _core.Elements.at(array.data.ptr, array.size, _type_name(array.dtype.name), array.dtype.itemsize, array)

    def scalar(self, value: np.ndarray) -> Any:
        with self.module.cuda.Device(self.device):
            return self.module.asarray(value)[0]


class _Torch(Namespace):
    def __init__(self, array: Any):
        import torch

        super().__init__(torch)
        self.device = array.device.index
        self.stream = torch.cuda.current_stream(array.device).cuda_stream

    def dtype(self, array: Any) -> str:
        return str(array.dtype).removeprefix("torch.")

    def itemsize(self, array: Any) -> int:
        return array.element_size()

    def _named(self, dtype: Any) -> Any:
        return getattr(self.module, str(np.dtype(dtype)))

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        return self.module.empty(shape, dtype=self._named(dtype), device=f"cuda:{self.device}")

    def like(self, array: Any, shape: int | tuple[int, ...]) -> Any:
        return self.module.empty(shape, dtype=array.dtype, device=array.device)

    def astype(self, array: Any, dtype: str) -> Any:
        return array.to(self._named(dtype))

    def view_as(self, array: Any, dtype: str) -> Any:
        return array.view(self._named(dtype))

    def contiguous(self, array: Any) -> Any:
        return array.contiguous()

    def is_contiguous(self, array: Any) -> bool:
        return array.is_contiguous()

    def is_writable(self, array: Any) -> bool:
        return True

    def overlap(self, a: Any, b: Any) -> bool:
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()

    def same_memory(self, a: Any, b: Any) -> bool:
        return a.data_ptr() == b.data_ptr() and a.nbytes == b.nbytes

    def elements(self, array: Any) -> Any:
        return _core.Elements.at(array.data_ptr(), array.numel(), _type_name(self.dtype(array)), array.element_size(), array)

    def scalar(self, value: np.ndarray) -> Any:
        return self.module.from_numpy(value).to(f"cuda:{self.device}")[0]


NUMPY = Namespace()


def _type_name(dtype: str) -> str:
    return "uint8" if dtype == "bool" else dtype


def _raw(dtype: np.dtype) -> Any:
    """A type that NumPy's other elements are moved as."""
    size = dtype.itemsize
    return np.dtype(f"u{size}") if size <= 8 else np.dtype(np.complex128)


class Array:
    """An argument: an array of one of three libraries, that library's namespace, and the way back to the argument's own."""

    __slots__ = ("back", "data", "labels", "xp")

    def __init__(self, data: Any, xp: Namespace, back: Callable[[Any], Any] | None = None, labels: Any = None):
        self.data = data
        self.xp = xp
        self.back = back
        self.labels = labels  # the index of a Series of pandas

    @property
    def dtype(self) -> str:
        return self.xp.dtype(self.data)

    def give(self, result: Any, *, beside: bool = False) -> Any:
        """A result in an array of the argument's own library; `beside`: its elements belong to the argument's, one to one."""
        if self.back is None:
            return result
        given = self.back(result)
        return given.set_axis(self.labels) if beside and self.labels is not None else given


def take_in(value: Any, name: str) -> Array:
    """`value` as an Array. TypeError for what is none, or cannot be seen as one without a loss."""
    if type(value) is np.ndarray:
        return Array(_native(value, name), NUMPY)
    library = type(value).__module__.partition(".")[0]
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError(f"{name}: a masked array: fill it first (x.filled(0)), or compress it (x.compressed())")
        return Array(_native(value.view(np.ndarray), name), NUMPY)
    if library == "cupy":
        return Array(value, _Cupy(value))
    if library == "torch":
        return _from_torch(value, name)
    if library in ("pyarrow", "polars", "pandas"):
        return _from_columns(value, name, library)
    if library == "awkward":
        raise awkward_error(name)
    if hasattr(value, "__cuda_array_interface__"):
        return _through_cupy(value, library, name)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, library, name)
    if has_capsules(value):
        return take_in(_numbers_of(value, name), name)
    if hasattr(value, "__arrow_c_stream__"):
        return take_in(_chunked(value, name), name)
    if isinstance(value, (bytes, bytearray)) or hasattr(value, "_b_base_") or type(value).__module__ == "mmap":
        return take_in(np.asarray(memoryview(value)), name)  # a buffer
    is_sequence = isinstance(value, (Sequence, int, float)) and not isinstance(value, str)
    if is_sequence or hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        try:
            array = np.asarray(value)
        except ValueError as error:  # lists of several lengths
            raise TypeError(f"{name}: no array: {error}") from None
        return Array(_native(array, name), NUMPY)
    raise TypeError(f"{name}: an array is needed, not {type(value).__name__}")


def awkward_error(name: str) -> TypeError:
    """The error of an Awkward Array, which functions of its own take."""
    return TypeError(f"{name}: an Awkward Array: see upsweep.awkward, or give its .layout's offsets and content")


def take_out(out: Any, name: str = "out") -> Array:
    """`out` as an Array of its own memory. TypeError for what has none that could be written."""
    library = type(out).__module__.partition(".")[0]
    if isinstance(out, np.ndarray):
        if not out.dtype.isnative:
            raise TypeError(f"{name}: byte-swapped arrays are not written: give one in native byte order")
    elif library in ("pyarrow", "polars", "pandas"):
        raise TypeError(f"{name}: {library}'s arrays are not written: give an array of NumPy's")
    elif not (library in ("cupy", "torch") or hasattr(out, "__cuda_array_interface__") or hasattr(out, "__dlpack__")):
        try:
            out = np.asarray(memoryview(out))
        except TypeError:
            raise TypeError(f"{name}: an array that can be written is needed, not {type(out).__name__}") from None
    return take_in(out, name)


def tuple_of(out: Any, count: int, what: str) -> Any:
    """`out` as so many arrays."""
    given = out if isinstance(out, (tuple, list)) else (out,)
    if len(given) != count:
        raise ValueError(f"out: {count} arrays are needed, {what}, not {len(given)}")
    return given


def room_in(out: Any, dtype: str, length: int | None, inputs: Iterable[Any], new: Callable[[], Any]) -> Any:
    """Where a result of that length is written: the first elements of `out`, or a new array where those do not lie side by side.
    None: nobody knows its length yet, and all of `out` is room for it."""
    taken = take_out(out)
    if taken.dtype != dtype or taken.data.ndim != 1:
        raise TypeError(f"out: an array of {dtype} of one dimension is needed")
    length = taken.data.shape[0] if length is None else length
    if taken.data.shape[0] < length:
        raise ValueError(f"out: room for {length} elements is needed, not for {taken.data.shape[0]}")
    if not taken.xp.is_writable(taken.data):
        raise ValueError("out: the array is read-only")
    if any(taken.xp.overlap(taken.data, other) for other in inputs):
        raise ValueError("out: it must not overlap the input")
    if not taken.xp.is_contiguous(taken.data):
        return new()
    return taken.data if taken.data.shape[0] == length else taken.data[:length]


def written_to(given: Any, output: Any) -> Any:
    """`given`, or its first elements, with what has been written there or is to be copied there."""
    taken = take_out(given)
    if not taken.xp.is_contiguous(taken.data):
        taken.data[: len(output)] = output
        output = taken.data[: len(output)]
    return given if len(given) == len(output) else output


def has_capsules(value: Any) -> bool:
    """Whether `value` gives Arrow's PyCapsules."""
    return hasattr(value, "__arrow_c_device_array__") or hasattr(value, "__arrow_c_array__")


def _numbers_of(value: Any, name: str) -> Any:
    from ._capsules import from_capsules

    array = from_capsules(value, name)
    if isinstance(array, tuple):
        raise TypeError(f"{name}: an array of numbers is needed, not of lists")
    return array


def _chunked(value: Any, name: str) -> Any:
    """What a stream of arrays gives, by pyarrow."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{name}: a stream of Arrow's is read with pyarrow, which is not installed") from None
    try:
        return pyarrow.chunked_array(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: its __arrow_c_stream__() gives no array of Arrow's: {error}") from error


def _native(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.hasobject:
        raise TypeError(f"{name}: an array of Python objects is not supported: one of numbers is needed, without None")
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    return array


def _from_torch(tensor: Any, name: str) -> Array:
    import torch

    if tensor.requires_grad:
        raise TypeError(f"{name}: a tensor that requires a gradient, which upsweep does not compute: call .detach() first")
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name}: a {tensor.layout} tensor: a strided one is needed")
    if tensor.is_cuda:
        return Array(tensor, _Torch(tensor))
    if tensor.device.type != "cpu":
        raise TypeError(f"{name}: a tensor on {tensor.device}: the CPU or an NVIDIA GPU is needed")
    if tensor.dtype is torch.bfloat16:
        raise TypeError(f"{name}: bfloat16 is not supported: float32 or float64 are")
    return Array(tensor.numpy(), NUMPY, torch.from_numpy)


def _from_columns(value: Any, name: str, library: str) -> Array:
    module = sys.modules[library]
    if not (hasattr(value, "to_numpy") and hasattr(value, "dtype" if library != "pyarrow" else "null_count")):
        raise TypeError(f"{name}: {library}'s {type(value).__name__} is no array: give a column (upsweep.query takes tables)")
    if library == "pandas":
        return _from_pandas(value, name, module)
    nulls = value.null_count if hasattr(value, "null_count") and not callable(value.null_count) else value.null_count()
    if nulls:
        raise ValueError(f"{name}: {nulls} nulls: fill them first, as only segmented_reduce and segmented_scan skip them")
    if library == "polars":
        return _from_polars(value, name, module)
    if isinstance(value, module.ChunkedArray):
        value = value.combine_chunks()
    elements = _of_numbers(value.to_numpy(zero_copy_only=False), name, value.type)
    return Array(elements, NUMPY, lambda result: module.array(result, value.type if _is_time(result, elements) else None))


def _of_numbers(elements: np.ndarray, name: str, kind: Any) -> np.ndarray:
    """The elements, unless NumPy has them as objects or text only: they are refused by the name of their own type."""
    if elements.dtype.kind in "OSUT":
        raise TypeError(f"{name}: {kind} is not supported: integers of 8 to 64 bits, float32, float64 and bool are")
    return _native(elements, name)


def _is_time(result: np.ndarray, elements: np.ndarray) -> bool:
    """Whether these are the elements' own dates or times, whose type says more than NumPy's: a time zone."""
    return result.dtype == elements.dtype and elements.dtype.kind in "mM"


def _from_polars(value: Any, name: str, polars: Any) -> Array:
    try:
        elements = value.to_numpy(allow_copy=True)
    except polars.exceptions.PolarsError as error:
        raise TypeError(f"{name}: {value.dtype} is not supported: {error}") from None
    elements = _of_numbers(elements, name, value.dtype)

    def back(result: np.ndarray) -> Any:
        series = polars.Series(value.name, result)
        zone = getattr(value.dtype, "time_zone", None)
        if zone is None or not _is_time(result, elements):
            return series
        return series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)

    return Array(elements, NUMPY, back)


def _from_pandas(value: Any, name: str, pandas: Any) -> Array:
    nulls = 0 if isinstance(value.dtype, np.dtype) else int(value.isna().sum())
    if nulls:  # as NaN, integers would become floats
        raise ValueError(f"{name}: {nulls} nulls: fill them first")
    elements, label = _of_numbers(value.to_numpy(copy=False), name, value.dtype), getattr(value, "name", None)
    return Array(elements, NUMPY, lambda result: pandas.Series(result, name=label), getattr(value, "index", None))


def _from_dlpack(value: Any, library: str, name: str) -> Array:
    kind, _ = value.__dlpack_device__()
    if int(kind) in (2, 13):  # kDLCUDA, kDLCUDAManaged
        return _through_cupy(value, library, name)
    if int(kind) not in (1, 3):  # kDLCPU, kDLCUDAHost
        raise TypeError(
            f"{name}: an array of {library} on a device of DLPack's kind {int(kind)}: the CPU or an NVIDIA GPU is needed"
        )
    try:
        array = np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"{name}: its __dlpack__() gives no array: {error}") from error
    return Array(_native(array, name), NUMPY, _way_back(library))


def _through_cupy(value: Any, library: str, name: str) -> Array:
    """Arrays on a GPU of libraries that upsweep does not know come and go as CuPy's."""
    try:
        import cupy
    except ImportError:
        raise TypeError(f"{name}: arrays of {library} on a GPU come by way of CuPy, which is not installed") from None
    array = cupy.from_dlpack(value) if hasattr(value, "__dlpack__") else cupy.asarray(value)
    return Array(array, _Cupy(array), _way_back(library))


def _way_back(library: str) -> Callable[[Any], Any] | None:
    if library in ("jax", "jaxlib"):
        return _to_jax
    if library == "numba":
        import numba.cuda

        return numba.cuda.as_cuda_array
    return None


def _to_jax(result: Any) -> Any:
    """JAX cuts integers of 64 bits down to 32 without a word unless jax_enable_x64 is set."""
    import jax

    if not jax.config.jax_enable_x64 and result.dtype.name in ("int64", "uint64") and result.size:
        info = np.iinfo(f"{result.dtype.kind}4")
        if int(result.min()) < info.min or int(result.max()) > info.max:
            raise OverflowError(f"a result of {result.dtype} does not fit JAX's {info.dtype}: set jax_enable_x64")
    return jax.dlpack.from_dlpack(result)


def number_type(array: Array, name: str) -> str:
    """The array's type, one that upsweep computes with; TypeError for any other."""
    dtype = array.dtype
    if dtype not in NUMBERS and dtype != "bool":
        raise TypeError(f"{name}: {shown(dtype)} is not supported: integers of 8 to 64 bits, float32, float64 and bool are")
    return dtype


def shown(dtype: str) -> str:
    """A type's name in messages: NumPy's names of text count bits."""
    return "text" if dtype.startswith(("str", "bytes")) else dtype


def flat(array: Array) -> Any:
    """All elements, side by side, as upsweep._core takes them."""
    return array.xp.elements(array.xp.contiguous(array.data).reshape(-1))


def dtype_name(dtype: Any) -> str:
    """The name of a dtype given as NumPy's, a library's or a string."""
    name = str(dtype).removeprefix("torch.") if not isinstance(dtype, type) else np.dtype(dtype).name
    try:
        return np.dtype(name).name
    except TypeError:
        return name


def result_type(dtype: Any) -> str:
    """The name of a dtype. TypeError where there is no such number."""
    name = dtype_name(dtype)
    if name not in NUMBERS:
        raise TypeError(f"dtype: {name} is not supported: integers of 8 to 64 bits, float32 and float64 are")
    return name


def flag(value: Any, name: str) -> bool:
    """True or False, NumPy's too."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name}: True or False is needed, not {value!r}")


def whole(value: Any, name: str, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    """An integer of that range. TypeError for anything else, ValueError and OverflowError for one outside."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: an integer is needed, not {value!r}")
    number = operator.index(value)
    if number > most:
        raise OverflowError(f"{name}: {number} exceeds {most}")
    if number < least:
        raise ValueError(f"{name}: {least} or more is needed, not {number}")
    return number
