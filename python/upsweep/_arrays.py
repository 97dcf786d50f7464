# SPDX-License-Identifier: Apache-2.0
# upsweep/_arrays.py: views of other libraries' arrays without a copy, and results as arrays of the same library.
#
# Arrays in host memory become NumPy arrays. Arrays on a GPU become CuPy or PyTorch arrays. Each of these three
# libraries has a Namespace with the few functions that upsweep needs. `take_in` finds the Namespace, and how to convert
# a result back.

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import _core

NUMBERS: tuple[str, ...] = _core.NUMBERS
BOUNDS = ("int32", "uint32", "int64")
MOVED_SIZES: tuple[int, ...] = _core.MOVED_SIZES


def _listed(words: Sequence[str], last: str = "and") -> str:
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _number_words(*others: str) -> str:
    """The element types, and `others`, as messages list them."""
    bits = sorted({int(name.removeprefix("u").removeprefix("int")) for name in NUMBERS if "int" in name})
    floats = [name for name in NUMBERS if "int" not in name]
    return _listed([f"integers of {bits[0]} to {bits[-1]} bits", *floats, *others])


# The messages for elements of an unsupported type, by what the call does with the elements.
COMPUTED = f"{{}} is not supported: {_number_words('bool')} are"
MOVED = (
    f"{{}} cannot be moved: elements must be {_listed([str(size) for size in MOVED_SIZES], 'or')} bytes, such as numbers, booleans, "
    "dates, times and most decimals; for other types, move positions: numpy.arange(len(x))"
)
BOOLEANS = "booleans are needed, not {}"
INTEGERS = "integers are needed, not {}"


@functools.lru_cache(256)
def _name(dtype: np.dtype) -> str:
    """Returns the name of a dtype from a cache: NumPy builds the name on each access, which takes a microsecond."""
    return dtype.name


class Namespace:
    """The functions that upsweep needs of an array library; here those of NumPy, by names that CuPy also has."""

    device = -1
    stream = 0

    def __init__(self, module: Any = np):
        self.module = module

    def dtype(self, array: Any) -> str:
        return _name(array.dtype)

    def itemsize(self, array: Any) -> int:
        return array.dtype.itemsize

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """A new array. Raises MemoryError also if the library cannot represent the number of elements."""
        try:
            return self.module.empty(shape, dtype)
        except (ValueError, OverflowError):
            raise MemoryError(f"an array of shape {shape} of {dtype} needs more memory than is available") from None

    def like(self, array: Any, shape: int | tuple[int, ...]) -> Any:
        """A new array with the element type of `array`."""
        return self.empty(shape, array.dtype)

    def count_up(self, n: int) -> Any:
        """0, 1, … n - 1 as int64."""
        return self.module.arange(n, dtype="int64")

    def astype(self, array: Any, dtype: str) -> Any:
        return array.astype(dtype, copy=False)

    def view_as(self, array: Any, dtype: str) -> Any:
        """A view of the same memory as elements of another type of the same size."""
        return array.view(dtype)

    def contiguous(self, array: Any) -> Any:
        array = self.module.ascontiguousarray(array)
        return array if self.is_contiguous(array) else array.copy()

    def is_contiguous(self, array: Any) -> bool:
        """Whether the elements are contiguous, and aligned as upsweep._core needs them."""
        if not (array.flags.c_contiguous and array.flags.aligned):
            return False
        return array.dtype.kind in "iufb" or array.ctypes.data % _raw(array.dtype).alignment == 0

    def strides(self, array: Any) -> tuple[int, ...]:
        """The strides in bytes."""
        return array.strides

    def truths(self, array: Any) -> Any:
        """Booleans as bytes of 0 and 1. Other libraries may store any nonzero byte as true."""
        is_plain = array.size == 0 or array.view(np.uint8).max() <= 1
        return array if is_plain else array.view(np.uint8) != 0

    def to_host(self, array: Any) -> np.ndarray:
        return array

    def is_writable(self, array: Any) -> bool:
        return array.flags.writeable

    def moveaxis(self, array: Any, source: int, to: int) -> Any:
        return self.module.moveaxis(array, source, to)

    def overlap(self, a: Any, b: Any) -> bool:
        return np.may_share_memory(a, b)

    def same_memory(self, a: Any, b: Any) -> bool:
        return a.ctypes.data == b.ctypes.data and a.nbytes == b.nbytes

    def elements(self, array: Any) -> Any:
        """The array in the form that upsweep._core accepts: one dimension, contiguous."""
        if array.dtype.kind in "iufb":
            return array
        return array.view(_raw(array.dtype))

    def scalar(self, value: np.ndarray) -> Any:
        """A zero-dimensional array of the only element of a NumPy array."""
        return value[0]


class _Cupy(Namespace):
    def __init__(self, array: Any):
        import cupy

        super().__init__(cupy)
        self.device = array.device.id
        self.stream = cupy.cuda.get_current_stream(self.device).ptr

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        with self.module.cuda.Device(self.device):
            return super().empty(shape, dtype)

    def count_up(self, n: int) -> Any:
        with self.module.cuda.Device(self.device):
            return super().count_up(n)

    def is_contiguous(self, array: Any) -> bool:
        return array.flags.c_contiguous

    def truths(self, array: Any) -> Any:
        return array.view(np.uint8) != 0  # checking the bytes first would wait for the GPU

    def to_host(self, array: Any) -> np.ndarray:
        return self.module.asnumpy(array)

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

    def count_up(self, n: int) -> Any:
        return self.module.arange(n, device=f"cuda:{self.device}")

    def astype(self, array: Any, dtype: str) -> Any:
        return array.to(self._named(dtype))

    def view_as(self, array: Any, dtype: str) -> Any:
        return array.view(self._named(dtype))

    def contiguous(self, array: Any) -> Any:
        return array.contiguous()

    def is_contiguous(self, array: Any) -> bool:
        return array.is_contiguous()

    def strides(self, array: Any) -> tuple[int, ...]:
        return tuple(stride * array.element_size() for stride in array.stride())

    def truths(self, array: Any) -> Any:
        return array.view(self.module.uint8) != 0

    def to_host(self, array: Any) -> np.ndarray:
        return array.cpu().numpy()

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
    """The type as which upsweep moves elements that are neither numbers nor booleans."""
    size = dtype.itemsize
    return np.dtype(f"u{size}") if size <= 8 else np.dtype(np.complex128)


class Array:
    """An argument: an array of one of the three libraries, its namespace, and a function that converts a result back.

    Elements of types that NumPy does not have are `opaque`: bytes of one size under the original type's name.
    They are only moved, never computed with.
    """

    __slots__ = ("back", "data", "labels", "opaque", "xp", "zoned")

    def __init__(
        self,
        data: Any,
        xp: Namespace,
        back: Callable[[Any], Any] | None = None,
        labels: Any = None,
        opaque: str | None = None,
        zoned: bool = False,
    ):
        self.data = data
        self.xp = xp
        self.back = back
        self.labels = labels  # the index of a pandas Series
        self.opaque = opaque
        self.zoned = zoned  # whether these are timestamps with a time zone

    @property
    def dtype(self) -> str:
        return self.opaque or self.xp.dtype(self.data)

    def give(self, result: Any, *, beside: bool = False) -> Any:
        """A result as an array of the argument's own library; `beside`: result and argument correspond element by element."""
        if self.back is None:
            return result
        given = self.back(result)
        return given.set_axis(self.labels) if beside and self.labels is not None else given


_LIBRARIES = ("awkward", "cupy", "jax", "jaxlib", "pandas", "polars", "pyarrow", "torch", "xarray")


def library_of(value: Any) -> str:
    """The library that defines a value's class or one of its base classes."""
    for kind in type(value).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in _LIBRARIES:
            return library
    return type(value).__module__.partition(".")[0]


class _OfAnotherType(Exception):
    """Elements of a type that no array of upsweep has; the text names the type."""


def take_in(value: Any, name: str, refusal: str = COMPUTED) -> Array:
    """Converts `value` to an Array. Raises TypeError if `value` is not an array, or if the conversion would lose information.
    For elements of an unsupported type the message is `refusal`."""
    try:
        return _take_in(value, name)
    except _OfAnotherType as error:
        raise TypeError(f"{name}: {refusal.format(error)}") from None


def _take_in(value: Any, name: str) -> Array:
    if type(value) is np.ndarray:
        return Array(_native(value, name), NUMPY)
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError(f"{name}: a masked array: fill it first (x.filled(0)), or compress it (x.compressed())")
        return Array(_native(value.view(np.ndarray), name), NUMPY)
    library = library_of(value)
    if library == "cupy":
        return Array(value, _Cupy(value))
    if library == "torch":
        return _from_torch(value, name)
    if library in ("pyarrow", "polars", "pandas"):
        return _from_columns(value, name, library)
    if library == "awkward":
        raise awkward_error(name)
    if library == "xarray":
        return _from_xarray(value, name)
    if library in ("jax", "jaxlib"):
        return _from_jax(value, name)
    if hasattr(value, "__cuda_array_interface__"):
        return _through_cupy(value, library, name)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, library, name)
    if has_capsules(value):
        return _take_in(_numbers_of(value, name), name)
    if hasattr(value, "__arrow_c_stream__"):
        return _take_in(_chunked(value, name), name)
    if isinstance(value, (bytes, bytearray)) or hasattr(value, "_b_base_") or type(value).__module__ == "mmap":
        return _take_in(np.asarray(memoryview(value)), name)  # a buffer
    is_sequence = isinstance(value, (Sequence, int, float)) and not isinstance(value, str)
    if is_sequence or hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return Array(_native(_of_numpy(value, name), name), NUMPY)
    raise TypeError(f"{name}: an array is needed, not {type(value).__name__}")


def _of_numpy(value: Any, name: str) -> np.ndarray:
    """Converts a sequence or an object of another library with NumPy; integers stay integers."""
    try:
        array = np.asarray(value)
    except (
        TypeError,
        ValueError,
        RuntimeError,
        AttributeError,
    ) as error:  # lists of several lengths; or any exception of __array__()
        raise TypeError(f"{name}: cannot convert this {_full_name(value)} to an array: {error}") from error
    if array.dtype.kind not in "fO" or not isinstance(value, (Sequence, int)):
        return array
    each = np.asarray(value, object)
    if each.size == 0 or not all(isinstance(number, (int, np.integer)) for number in each.flat):
        return array
    least, greatest = min(each.flat), max(each.flat)
    if least < 0 or greatest >= 2**64:
        raise OverflowError(f"{name}: integers from {least} to {greatest} fit neither int64 nor uint64")
    return each.astype(np.uint64)


def _full_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")


def awkward_error(name: str) -> TypeError:
    """The error for an Awkward Array, which has its own functions."""
    return TypeError(
        f"{name}: an Awkward Array is not supported: see upsweep.awkward, or pass its .layout's offsets and content"
    )


def take_in_numbers(value: Any, name: str, refusal: str = COMPUTED) -> Array:
    """Converts `value` to an Array of a type that upsweep computes with."""
    array = take_in(value, name, refusal)
    require_numbers(array, name, refusal)
    return array


def require_numbers(array: Array, name: str, refusal: str = COMPUTED) -> None:
    """Raises TypeError for elements that upsweep does not compute with. Converts booleans to bytes of 0 and 1."""
    if number_type(array, name, refusal) == "bool":
        array.data = array.xp.truths(array.data)


def take_out(out: Any, name: str = "out") -> Array:
    """Converts `out` to an Array of the same memory. Raises TypeError if that memory cannot be written, and ValueError if two
    elements share memory."""
    library = library_of(out)
    if isinstance(out, np.ndarray):
        if not out.dtype.isnative:
            raise TypeError(f"{name}: cannot write to a byte-swapped array: pass one in native byte order")
    elif library in ("pyarrow", "polars", "pandas", "xarray"):
        raise TypeError(f"{name}: cannot write to an array of {library}: pass a NumPy array")
    elif library == "torch":
        if out.is_neg() or out.is_conj():
            raise TypeError(f"{name}: cannot write to a view that PyTorch negates or conjugates when it is read: pass a tensor")
    elif not (library == "cupy" or hasattr(out, "__cuda_array_interface__") or hasattr(out, "__dlpack__")):
        try:
            out = np.asarray(memoryview(out))
        except TypeError:
            raise TypeError(f"{name}: a writable array is needed, not {type(out).__name__}") from None
    taken = take_in(out, name)
    if not _lie_apart(taken):
        raise ValueError(f"{name}: its elements overlap in memory, as in an expanded array: pass an array without overlap")
    return taken


def _lie_apart(array: Array) -> bool:
    """Whether no two elements share memory: along any axis, one step passes all elements of the axes with shorter steps."""
    shape = tuple(array.data.shape)
    if 0 in shape:
        return True
    end = array.xp.itemsize(array.data)
    for step, length in sorted((abs(step), length) for step, length in zip(array.xp.strides(array.data), shape) if length > 1):
        if step < end:
            return False
        end += step * (length - 1)
    return True


def tuple_of(out: Any, count: int, what: str) -> Any:
    """Returns `out` as a sequence of `count` arrays."""
    given = out if isinstance(out, (tuple, list)) else (out,)
    if len(given) != count:
        raise ValueError(f"out: {count} arrays are needed, {what}, not {len(given)}")
    return given


def output_in(out: Any, dtype: str, length: int | None, inputs: Iterable[Any], new: Callable[[], Any]) -> Any:
    """Returns the array that a result of `length` elements is written to. If the first elements of `out` are contiguous, it is
    these; otherwise it is a new array. If `length` is None, the length is not yet known, and `out` may be longer than the result."""
    taken = take_out(out)
    if taken.dtype != dtype or taken.data.ndim != 1:
        raise TypeError(f"out: an array of {dtype} of one dimension is needed")
    length = taken.data.shape[0] if length is None else length
    if taken.data.shape[0] < length:
        raise ValueError(f"out: {length} elements are needed, but it has {taken.data.shape[0]}")
    if not taken.xp.is_writable(taken.data):
        raise ValueError("out: the array is read-only")
    if any(taken.xp.overlap(taken.data, other) for other in inputs):
        raise ValueError("out: it must not overlap the input")
    if not taken.xp.is_contiguous(taken.data):
        return new()
    return taken.data if taken.data.shape[0] == length else taken.data[:length]


def written_to(given: Any, output: Any) -> Any:
    """Returns `given`, or its first elements. If the call wrote to another array `output`, first copies it to `given`."""
    taken = take_out(given)
    first = taken.data[: len(output)]
    if not taken.xp.is_contiguous(taken.data):
        first[...] = output
    if len(given) == len(output):
        return given
    is_sliced = isinstance(given, np.ndarray) or library_of(given) in ("cupy", "torch")
    return given[: len(output)] if is_sliced else taken.give(first)


def has_capsules(value: Any) -> bool:
    """Whether `value` exports Arrow PyCapsules."""
    return hasattr(value, "__arrow_c_device_array__") or hasattr(value, "__arrow_c_array__")


def _numbers_of(value: Any, name: str) -> Any:
    from ._capsules import from_capsules

    array = from_capsules(value, name)
    if isinstance(array, tuple):
        raise TypeError(f"{name}: an array of numbers is needed, not of lists")
    return array


def _chunked(value: Any, name: str) -> Any:
    """Reads a stream of arrays with pyarrow."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{name}: an Arrow stream is read with pyarrow, which is not installed") from None
    try:
        return pyarrow.chunked_array(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: its __arrow_c_stream__() does not return an Arrow array: {error}") from error


def _native(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind == "T":
        raise _OfAnotherType("text")
    if array.dtype.hasobject:
        kinds = sorted({type(each).__name__ for each in array.flat[:1000]}) if array.dtype.kind == "O" else []
        raise _OfAnotherType("an array of Python objects" + (f" ({', '.join(kinds)})" if kinds else ""))
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    return array


def _opaque(elements: np.ndarray, dtype: str, back: Callable[[Any], Any], own: Callable[[np.ndarray], Any]) -> Array:
    """Elements that NumPy can hold only as bytes: `own` converts bytes back to the original type, `back` any other result."""
    return Array(elements, NUMPY, lambda result: own(result) if result.dtype.kind == "V" else back(result), opaque=dtype)


def _from_torch(tensor: Any, name: str) -> Array:
    import torch
    from torch.autograd import forward_ad

    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name}: an array is needed, not {_full_name(tensor)}")
    if tensor.requires_grad:
        raise TypeError(f"{name}: a tensor that requires a gradient, which upsweep does not compute: call .detach() first")
    if tensor.is_nested:
        raise nested_error(name)
    if tensor.is_quantized:
        raise TypeError(f"{name}: a quantized tensor: pass its integers, x.int_repr(), or its values, x.dequantize()")
    if torch._is_functional_tensor(tensor):  # its memory belongs to another tensor
        raise TypeError(f"{name}: a tensor inside torch.func.functionalize: call upsweep outside of it")
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name}: a {tensor.layout} tensor: a strided one is needed")
    if not tensor.is_cuda and tensor.device.type != "cpu":
        raise TypeError(f"{name}: a tensor on {tensor.device}: the CPU or an NVIDIA GPU is needed")
    try:
        if forward_ad.unpack_dual(tensor).tangent is not None:
            raise TypeError(f"{name}: a tensor with a forward gradient, which upsweep does not compute: pass only its .primal")
        tensor = tensor.resolve_conj().resolve_neg()
        return Array(tensor, _Torch(tensor)) if tensor.is_cuda else _of_tensor(tensor, torch)
    except (RuntimeError, NotImplementedError) as error:  # inside torch.vmap, torch.func.grad and similar functions
        raise TypeError(
            f"{name}: the memory of this {_full_name(tensor)} of {tensor.dtype} is not accessible: {error}"
        ) from error


def nested_error(name: str) -> TypeError:
    """The error for a nested PyTorch tensor."""
    return TypeError(
        f"{name}: a nested tensor: pass its content and offsets, x.values() and x.offsets(), of the layout torch.jagged"
    )


def _of_tensor(tensor: Any, torch: Any) -> Array:
    """Converts a tensor on the CPU."""
    try:
        return Array(tensor.numpy(), NUMPY, torch.from_numpy)
    except TypeError:  # bfloat16 and other types that NumPy does not have
        size = tensor.element_size()
        elements = tensor.view(getattr(torch, f"int{8 * size}")).numpy().view(f"V{size}")
    dtype = tensor.dtype
    return _opaque(
        elements,
        str(dtype).removeprefix("torch."),
        torch.from_numpy,
        lambda result: torch.from_numpy(result.view(f"i{size}")).view(dtype),
    )


def _nulls(count: int) -> str:
    return f"has {count} null{'s' if count > 1 else ''}: fill nulls first"


def require_column(value: Any, name: str, library: str) -> None:
    """Raises TypeError for a table of pyarrow, Polars or pandas, and for other objects of theirs that are not arrays."""
    if not (hasattr(value, "to_numpy") and hasattr(value, "dtype" if library != "pyarrow" else "null_count")):
        raise TypeError(
            f"{name}: {library}'s {type(value).__name__} is not an array: pass a column (upsweep.query accepts tables)"
        )


def _from_columns(value: Any, name: str, library: str) -> Array:
    require_column(value, name, library)
    module = sys.modules[library]
    if library == "pandas":
        return _from_pandas(value, name, module)
    nulls = value.null_count if hasattr(value, "null_count") and not callable(value.null_count) else value.null_count()
    if nulls:
        raise ValueError(
            f"{name}: {_nulls(nulls)}; only segmented_reduce and segmented_scan skip nulls, and only in their content"
        )
    return _from_polars(value, name, module) if library == "polars" else _from_pyarrow(value, name, module)


def _from_pyarrow(value: Any, name: str, pyarrow: Any) -> Array:
    if isinstance(value, pyarrow.ChunkedArray):
        value = value.combine_chunks()
    kind = value.type
    stored = value.storage if isinstance(value, pyarrow.ExtensionArray) else value
    if _is_moved_as_bytes(stored.type, pyarrow.types):
        return _bytes_of_pyarrow(stored, kind, pyarrow)
    try:
        elements = value.to_numpy(zero_copy_only=False)
    except (pyarrow.ArrowException, NotImplementedError, ValueError, TypeError):
        raise _OfAnotherType(kind) from None
    elements = _of_numbers(elements, name, kind)
    own = stored.type.value_type if pyarrow.types.is_dictionary(stored.type) else kind
    zoned = pyarrow.types.is_timestamp(own) and own.tz is not None
    return Array(
        elements, NUMPY, lambda result: pyarrow.array(result, own if _is_time(result, elements) else None), zoned=zoned
    )


def _is_moved_as_bytes(kind: Any, types: Any) -> bool:
    """Whether it is a fixed-size type that NumPy does not have, of a size that upsweep moves."""
    is_fixed = types.is_decimal(kind) or types.is_time(kind) or types.is_interval(kind) or types.is_fixed_size_binary(kind)
    return is_fixed and kind.bit_width // 8 in MOVED_SIZES


def _bytes_of_pyarrow(stored: Any, kind: Any, pyarrow: Any) -> Array:
    size, first, end = stored.type.bit_width // 8, stored.offset, stored.offset + len(stored)
    memory = stored.buffers()[1]
    elements = np.empty(0, f"V{size}") if len(stored) == 0 else np.frombuffer(memory, f"V{size}", end)[first:]

    def own(result: np.ndarray) -> Any:  # the masked elements of a result are NULL
        missing = np.ma.getmask(result)
        valid = None if missing is np.ma.nomask else pyarrow.py_buffer(np.packbits(~missing, bitorder="little"))
        made = pyarrow.Array.from_buffers(stored.type, len(result), [valid, pyarrow.py_buffer(np.ma.getdata(result))])
        return made if kind == stored.type else pyarrow.ExtensionArray.from_storage(kind, made)

    return _opaque(elements, str(kind), pyarrow.array, own)


def _of_numbers(elements: np.ndarray, name: str, kind: Any) -> np.ndarray:
    """Returns the elements. Refuses types that NumPy holds only as objects or text, by the original type's name."""
    if elements.dtype.kind in "OSUT":
        raise _OfAnotherType(kind)
    return _native(elements, name)


def _is_time(result: np.ndarray, elements: np.ndarray) -> bool:
    """Whether these are the elements' own dates or times. Their type may have a time zone, which NumPy's type lacks."""
    return result.dtype == elements.dtype and elements.dtype.kind in "mM"


def _from_polars(value: Any, name: str, polars: Any) -> Array:
    kind = value.dtype
    if kind == polars.Struct:
        raise TypeError(f"{name}: {kind} is not an array of numbers: pass a field, such as x.struct.field({kind.fields[0].name!r})"
                        if kind.fields else f"{name}: {kind} is not an array of numbers")  # fmt: skip
    if kind == polars.Array:
        _refuse_nulls_inside(value, name, polars)
    if kind in (polars.Decimal, polars.Time):
        arrow = _take_in(arrow_of_polars(value, name), name)
        return Array(arrow.data, NUMPY, lambda result: polars.Series(value.name, arrow.give(result)), opaque=str(kind))
    try:
        elements = value.to_numpy(allow_copy=True)
    except polars.exceptions.PolarsError as error:
        raise _OfAnotherType(f"{kind} ({error})") from None
    elements = _of_numbers(elements, name, kind)

    zone = getattr(kind, "time_zone", None)

    def back(result: np.ndarray) -> Any:
        series = polars.Series(value.name, result)
        if zone is None or not _is_time(result, elements):
            return series
        return series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)

    return Array(elements, NUMPY, back, zoned=zone is not None)


def arrow_of_polars(value: Any, name: str) -> Any:
    """A Series as a pyarrow array. Raises TypeError for types that only Polars has."""
    try:
        return value.to_arrow()
    except ImportError:
        raise
    except Exception as error:  # an exception of Arrow, or a panic of Polars
        raise TypeError(f"{name}: {value.dtype} is not supported: {error}") from error


def _refuse_nulls_inside(value: Any, name: str, polars: Any) -> None:
    """Refuses Polars Array rows that are not null but contain null elements: NumPy would not see these nulls."""
    shape, inner = (len(value), *value.dtype.shape), value
    while inner.dtype == polars.Array:
        inner = inner.explode()
    if inner.null_count() and 0 not in shape:
        row, *inside = (int(i) for i in np.unravel_index(inner.is_null().arg_max(), shape))
        raise ValueError(f"{name}: element {', '.join(map(str, inside))} of row {row} is null: fill nulls first")


def _from_pandas(value: Any, name: str, pandas: Any) -> Array:
    kind, label, labels = value.dtype, getattr(value, "name", None), getattr(value, "index", None)
    nulls = 0 if isinstance(kind, np.dtype) else int(value.isna().sum())
    if nulls:  # NumPy would store them as NaN, and integers would become floats
        raise ValueError(f"{name}: {_nulls(nulls)}")

    arrow = _take_in(sys.modules["pyarrow"].array(value), name) if isinstance(kind, pandas.ArrowDtype) else None
    zone = kind.tz if isinstance(kind, pandas.DatetimeTZDtype) else None
    if arrow is not None:
        elements = arrow.data
    elif zone is not None:
        elements = value.to_numpy(f"M8[{kind.unit}]")
    else:
        elements = _of_numbers(value.to_numpy(copy=False), name, kind)

    def back(result: np.ndarray) -> Any:
        if arrow is not None:
            made = arrow.give(result)
            return pandas.Series(made, dtype=pandas.ArrowDtype(made.type), name=label)
        series = pandas.Series(result, name=label)
        return series if zone is None or result.dtype != elements.dtype else series.dt.tz_localize("UTC").dt.tz_convert(zone)

    opaque, zoned = (None, zone is not None) if arrow is None else (arrow.opaque, arrow.zoned)
    return Array(elements, NUMPY, back, labels, opaque, zoned)


def _from_xarray(value: Any, name: str) -> Array:
    """Converts the array inside a DataArray or a Variable; the result is an array of that inner kind."""
    if not hasattr(value, "data") or not hasattr(value, "dims"):
        raise TypeError(
            f"{name}: xarray's {type(value).__name__} is not an array: pass one of its variables, such as x['name']"
        )
    return _take_in(value.data, name)


def _from_jax(value: Any, name: str) -> Array:
    import jax

    if isinstance(value, jax.core.Tracer):
        raise TypeError(
            f"{name}: an array that JAX is tracing has no elements yet: call upsweep outside of jax.jit, jax.grad and jax.vmap, or "
            "inside with jax.pure_callback"
        )
    if not isinstance(value, jax.Array):
        raise TypeError(f"{name}: an array is needed, not {_full_name(value)}")
    try:
        dtype = np.dtype(value.dtype)
    except TypeError:  # random number keys
        raise _OfAnotherType(value.dtype) from None
    if dtype.kind != "V" or any(device.platform != "cpu" for device in value.devices()):
        return _from_dlpack(value, "jax", name)
    size = dtype.itemsize  # bfloat16 and other types that DLPack cannot pass to NumPy
    elements = np.asarray(value).view(f"V{size}")
    return _opaque(elements, dtype.name, _to_jax, lambda result: jax.numpy.asarray(result.view(dtype)))


def _from_dlpack(value: Any, library: str, name: str) -> Array:
    try:
        kind = int(value.__dlpack_device__()[0])
    except (BufferError, RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        raise TypeError(f"{name}: its __dlpack_device__() does not return a device: {error}") from error
    if kind in (2, 13):  # kDLCUDA, kDLCUDAManaged
        return _through_cupy(value, library, name)
    if kind not in (1, 3):  # kDLCPU, kDLCUDAHost
        raise TypeError(
            f"{name}: an array of {library} on a device of DLPack's kind {kind}: the CPU or an NVIDIA GPU is needed"
        )
    try:
        array = np.from_dlpack(value)
    except (BufferError, RuntimeError, ValueError, TypeError) as error:
        raise TypeError(f"{name}: its __dlpack__() does not return an array: {error}") from error
    return Array(_native(array, name), NUMPY, _way_back(library))


def _through_cupy(value: Any, library: str, name: str) -> Array:
    """Converts an array on a GPU of a library that upsweep does not support itself. Input and result pass through CuPy."""
    try:
        import cupy
    except ImportError:
        raise TypeError(f"{name}: arrays of {library} on a GPU are read with CuPy, which is not installed") from None
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
    """Converts a result to JAX. Unless jax_enable_x64 is set, JAX silently narrows 64-bit integers to 32 bits."""
    import jax

    if not jax.config.jax_enable_x64 and result.dtype.name in ("int64", "uint64") and result.size:
        info = np.iinfo(f"{result.dtype.kind}4")
        if int(result.min()) < info.min or int(result.max()) > info.max:
            raise OverflowError(f"a result of {result.dtype} does not fit JAX's {info.dtype}: set jax_enable_x64")
    return jax.dlpack.from_dlpack(result)


def number_type(array: Array, name: str, refusal: str = COMPUTED) -> str:
    """The array's element type, which must be one that upsweep computes with; otherwise raises TypeError."""
    dtype = array.dtype
    if dtype not in NUMBERS and dtype != "bool":
        raise TypeError(f"{name}: {refusal.format(shown(dtype))}")
    return dtype


def shown(dtype: str) -> str:
    """A type's name for messages: NumPy's own names of text types contain a number of bits."""
    return "text" if dtype.startswith(("str", "bytes")) else dtype


def flat(array: Array) -> Any:
    """All elements, contiguous, in the form that upsweep._core accepts."""
    return array.xp.elements(array.xp.contiguous(array.data).reshape(-1))


# Type names of libraries that differ from NumPy's. In NumPy "float" is float64.
_OTHER_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64", "boolean": "bool"}


def dtype_name(dtype: Any) -> str:
    """The name of a dtype, given as a dtype of NumPy or of another library, or as a string."""
    library = dtype.__module__.partition(".")[0] if isinstance(dtype, type) else library_of(dtype)
    if library in ("pandas", "polars", "pyarrow", "torch"):
        name = str(dtype).removeprefix("torch.").lower().partition("[")[0]
        return _OTHER_NAMES.get(name, name)
    try:
        return np.dtype(dtype).name
    except (TypeError, ValueError):
        return str(dtype)


def result_type(dtype: Any) -> str:
    """The name of a dtype of numbers. Raises TypeError for any other dtype."""
    name = dtype_name(dtype)
    if name not in NUMBERS:
        raise TypeError(f"dtype: {name} is not supported: {_number_words()} are")
    return name


def word(value: Any, name: str, choices: Sequence[str]) -> str:
    """Returns `value` if it is one of the choices; otherwise raises ValueError."""
    if isinstance(value, str) and value in choices:
        return value
    *others, last = (f'"{choice}"' for choice in choices)
    raise ValueError(f"{name}: {', '.join(others)} or {last}, not {value!r}")


def text(value: Any, name: str) -> str:
    """Returns a string that UTF-8 can encode. Raises TypeError for other types, and ValueError for an unpaired surrogate."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: a string is needed, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: character {error.start} is an unpaired surrogate, {value[error.start]!r}, which UTF-8 cannot encode"
        ) from None
    return value


def flag(value: Any, name: str) -> bool:
    """Returns True or False, also from a NumPy boolean or the integers 0 and 1."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name}: True or False is needed, not {value!r}")


def whole(value: Any, name: str, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    """Returns an integer of that range. Raises TypeError for other types, ValueError below it, OverflowError above it."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: an integer is needed, not {value!r}")
    number = operator.index(value)
    if number > most:
        raise OverflowError(f"{name}: {number} exceeds {most}")
    if number < least:
        raise ValueError(f"{name}: {least} or more is needed, not {number}")
    return number


def is_number(value: Any) -> bool:
    """Whether the value is a single integer or float, also one of NumPy's."""
    return isinstance(value, (int, float, np.integer, np.floating))


def whole_number(value: Any, name: str, least: int = -(2**63)) -> int:
    """Returns an integer like whole(), also from a float without a fraction: a million may be written as 1e6."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return whole(value, name, least)
