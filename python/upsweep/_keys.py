# SPDX-License-Identifier: Apache-2.0
# upsweep/_keys.py: keys of any type, and several keys, as one integer for each row.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import NUMPY, Array, library_of, take_in

KEYS = "{}: numbers, booleans, dates, times or text are needed, not {}"
_MOST = 2**63


class Key:
    """The integers that are equal where the keys are, and a function that returns the keys of some rows in their own library."""

    def __init__(self, codes: np.ndarray, rows: Callable[[np.ndarray], Any]):
        self.codes = codes
        self.rows = rows


def are_several(keys: Any) -> bool:
    """Whether the argument is a tuple or list of arrays, not an array."""
    return isinstance(keys, tuple) or (
        isinstance(keys, list) and len(keys) > 0 and hasattr(keys[0], "__len__") and not isinstance(keys[0], (str, bytes))
    )


def key_of(value: Any, name: str) -> Key | None:
    """One key; None for integers and booleans, which the core takes, and for arrays on a GPU."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "SU":
        return _of_fixed_text(value.view(np.ndarray), name)
    text = _text_of_python(value)
    if text is not None:
        return _of_arrow(value, name, lambda rows: text[rows], text)
    try:
        array = take_in(value, name)
    except (TypeError, ValueError):  # of text, of decimals, or with nulls
        return _of_library(value, name)
    if array.xp is not NUMPY:
        return None
    if array.opaque is not None:
        return _of_library(value, name)
    if array.data.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {array.data.ndim}")
    kind = array.data.dtype.kind
    if kind in "iub":
        return None
    if kind in "fmM":
        return _of_numbers(array)
    raise TypeError(KEYS.format(name, array.dtype))


def _text_of_python(value: Any) -> np.ndarray | None:
    """A list of strings, or a NumPy array of them, as an array; None for anything else."""
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return np.array(value, object)
    is_text = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "T"
    is_text = is_text or (isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1)
    return value if is_text else None


def _of_numbers(array: Array) -> Key:
    """Keys of floats: -0.0 is 0.0, and every NaN is the same. Keys of times: every NaT is the same."""
    data = array.data
    if data.dtype.kind == "f":
        data = np.where(np.isnan(data), np.array(np.nan, data.dtype), data + data.dtype.type(0))
    codes = NUMPY.contiguous(data).view(f"i{data.dtype.itemsize}").astype(np.int64)
    return Key(codes, lambda rows: array.give(data[rows]))


def _of_fixed_text(text: np.ndarray, name: str) -> Key:
    """Keys of NumPy's text of a fixed length, which are numbered by their bytes."""
    try:
        import pyarrow
    except ImportError:
        raise _without_pyarrow(name) from None
    memory = pyarrow.py_buffer(np.ascontiguousarray(text).view(np.uint8))
    cells = pyarrow.Array.from_buffers(pyarrow.binary(text.dtype.itemsize), len(text), [None, memory])
    return Key(_numbers_of(cells), lambda rows: text[rows])


def _of_library(value: Any, name: str) -> Key | None:
    """Keys that NumPy does not hold: those of an array of pyarrow, Polars or pandas."""
    library = library_of(value)
    if library == "pyarrow":
        import pyarrow

        if value.type == pyarrow.string_view():  # views have no take()
            strings = value.cast(pyarrow.large_string())
            return _of_arrow(value, name, lambda rows: strings.take(pyarrow.array(rows)).cast(value.type), strings)
        return _of_arrow(value, name, lambda rows: value.take(pyarrow.array(rows)), value)
    if library == "polars":
        return _of_arrow(value, name, lambda rows: value.gather(rows), value.to_arrow())
    if library == "pandas":
        taken = getattr(value, "iloc", value)
        return _of_arrow(
            value, name, lambda rows: taken[rows].reset_index(drop=True) if hasattr(value, "iloc") else taken[rows], value
        )
    return None


def _without_pyarrow(name: str) -> ImportError:
    return ImportError(f"{name}: keys of this type are numbered with pyarrow, which is not installed")


def _of_arrow(value: Any, name: str, rows: Callable[[np.ndarray], Any], values: Any) -> Key:
    """Keys that pyarrow numbers. NULL is a separate key."""
    try:
        import pyarrow
    except ImportError:
        raise _without_pyarrow(name) from None
    try:
        array = values if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)) else pyarrow.array(values)
        if isinstance(array, pyarrow.ChunkedArray):
            array = pyarrow.concat_arrays(array.chunks) if array.num_chunks else pyarrow.array([], array.type)
        if pyarrow.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if array.type == pyarrow.string_view():  # of Polars
            array = array.cast(pyarrow.large_string())
        elif array.type == pyarrow.float16():
            array = array.cast(pyarrow.float32())
        elif pyarrow.types.is_decimal(array.type) and array.type.bit_width < 128:
            array = array.cast(pyarrow.decimal128(array.type.precision, array.type.scale))
        return Key(_numbers_of(array), rows)
    except (pyarrow.ArrowException, NotImplementedError, TypeError):
        kind = getattr(value, "type", None) or getattr(value, "dtype", None) or type(value).__name__
        raise TypeError(KEYS.format(name, kind)) from None


def _numbers_of(array: Any) -> np.ndarray:
    """A number for each element of a pyarrow array, which is equal where the elements are; -1 for NULL."""
    return np.asarray(array.dictionary_encode().indices.fill_null(-1)).astype(np.int64)


def of_integers(value: Any, name: str) -> Key:
    """Integers or booleans as one of several keys."""
    array = take_in(value, name)
    if array.xp is not NUMPY:
        raise TypeError(f"{name}: several keys must be in host memory")
    if array.data.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {array.data.ndim}")
    data = NUMPY.contiguous(NUMPY.truths(array.data) if array.dtype == "bool" else array.data)
    codes = data.view(np.int64) if data.dtype == np.uint64 else data.astype(np.int64)
    return Key(codes, lambda rows: array.give(array.data[rows]))


def together(keys: list[Key]) -> np.ndarray:
    """One integer for each row, which is equal where all keys are."""
    codes = keys[0].codes
    for number, key in enumerate(keys[1:], 1):
        if len(key.codes) != len(codes):
            raise ValueError(f"keys: key {number} has {len(key.codes)} rows, but key 0 has {len(codes)}")
        codes = _pair(codes, key.codes)
    return codes


def _pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if len(first) == 0:
        return first
    a, of_a = _from_zero(first)
    b, of_b = _from_zero(second)
    if of_a * of_b >= _MOST:
        a, of_a = _numbered(first)
        b, of_b = _numbered(second)
    return a * of_b + b


def _from_zero(codes: np.ndarray) -> tuple[np.ndarray, int]:
    least, count = int(codes.min()), int(codes.max()) - int(codes.min()) + 1
    return _numbered(codes) if count >= _MOST else (codes - least, count)


def _numbered(codes: np.ndarray) -> tuple[np.ndarray, int]:
    values, numbers = np.unique(codes, return_inverse=True)
    return numbers.astype(np.int64), len(values)
