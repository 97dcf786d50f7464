# SPDX-License-Identifier: Apache-2.0
# upsweep/_keys.py: keys of any type, and several keys, as one integer for each row.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import NUMPY, Array, library_of, require_column, take_in
from ._objects import Unsupported, are_numbers
from ._query import arrow_of

KEYS = "numbers, booleans, dates, times or text are needed, not {}"
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
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and value.ndim == 1:
        if value.dtype.kind in "SU":
            return _of_fixed_text(value.view(np.ndarray), name)
        if value.dtype.kind in "OT":
            return _of_objects(value, value, name)
    if isinstance(value, list) and not are_numbers(value):
        return _of_objects(value, _objects(value), name)
    try:
        array = take_in(value, name, KEYS)
    except (TypeError, ValueError):  # of text, of decimals, or with nulls
        found = _of_objects(value, _objects(value), name) if isinstance(value, list) else _of_library(value, name)
        if found is None:
            raise
        return found
    if array.xp is not NUMPY:
        return None
    if array.opaque is not None:
        return _of_library(value, name)
    if array.data.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {array.data.ndim}")
    kind = array.data.dtype.kind
    if kind in "iub":
        return None
    if kind in "fmM" and array.data.dtype.itemsize <= 8:
        return _of_numbers(array)
    raise TypeError(f"{name}: {KEYS.format(array.dtype)}")


def _of_numbers(array: Array) -> Key:
    """Keys of floats: -0.0 is 0.0, and every NaN is the same. Keys of times: every NaT is the same."""
    data = _unique_floats(array.data) if array.data.dtype.kind == "f" else array.data
    return Key(_bits(data), lambda rows: array.give(data[rows]))


def _unique_floats(data: np.ndarray) -> np.ndarray:
    """The floats, with one zero and one NaN."""
    return np.where(np.isnan(data), np.array(np.nan, data.dtype), data + data.dtype.type(0))


def _bits(data: np.ndarray) -> np.ndarray:
    return NUMPY.contiguous(data).view(f"i{data.dtype.itemsize}").astype(np.int64)


def _of_fixed_text(text: np.ndarray, name: str) -> Key:
    """Keys of NumPy's text of a fixed length, which are numbered by their bytes."""
    try:
        import pyarrow
    except ImportError:
        raise _without_pyarrow(name) from None
    memory = pyarrow.py_buffer(np.ascontiguousarray(text).view(np.uint8))
    cells = pyarrow.Array.from_buffers(pyarrow.binary(text.dtype.itemsize), len(text), [None, memory])
    return Key(_numbers_of(cells), lambda rows: text[rows])


def _of_objects(value: Any, objects: np.ndarray, name: str) -> Key:
    """Keys that are Python objects, or NumPy's text of any length."""
    given = objects.tolist() if objects.dtype.kind == "T" else objects
    return _of_arrow(value, name, lambda rows: _positive_objects(objects[rows]), given)


def _objects(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, object, len(values))


def _of_library(value: Any, name: str) -> Key | None:
    """Keys that NumPy does not hold: those of an array of pyarrow, Polars or pandas."""
    library = library_of(value)
    if library not in ("pandas", "polars", "pyarrow"):
        return None
    require_column(value, name, library)
    if library == "pyarrow":
        import pyarrow

        if value.type == pyarrow.string_view():  # views have no take()
            strings = value.cast(pyarrow.large_string())
            return _of_arrow(value, name, lambda rows: strings.take(pyarrow.array(rows)).cast(value.type), strings)
        return _of_arrow(value, name, lambda rows: _positive(value.take(pyarrow.array(rows))), value)
    if library == "polars":
        return _of_arrow(value, name, lambda rows: _positive_of_polars(value.gather(rows)), value)

    elements = value.array if hasattr(value, "iloc") else value
    return _of_arrow(value, name, lambda rows: _positive_of_pandas(elements[rows], value), value)


def _positive(found: Any) -> Any:
    """The floats of a pyarrow array, in which -0.0 is 0.0; any other array itself."""
    import pyarrow

    is_encoded = pyarrow.types.is_dictionary(found.type)
    if not pyarrow.types.is_floating(found.type.value_type if is_encoded else found.type):
        return found
    floats = found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found
    if is_encoded:
        return pyarrow.DictionaryArray.from_arrays(floats.indices, _positive(floats.dictionary), ordered=found.type.ordered)
    values = floats.to_numpy(zero_copy_only=False)
    return pyarrow.array(values + values.dtype.type(0), found.type, mask=np.asarray(floats.is_null()))


def _positive_of_polars(found: Any) -> Any:
    import polars

    return polars.Series(found.name, _positive(found.to_arrow()), dtype=found.dtype) if found.dtype.is_float() else found


def _positive_of_pandas(found: Any, like: Any) -> Any:
    """Elements of an array of pandas, in which -0.0 is 0.0; as a Series of the same name if `like` is a Series."""
    import pandas

    kind = found.dtype
    if isinstance(found, pandas.arrays.NumpyExtensionArray):  # of Python objects
        found = pandas.array(_positive_objects(found.to_numpy()), dtype=kind)
    elif isinstance(kind, pandas.ArrowDtype) and kind.kind == "f":
        found = kind.__from_arrow__(_positive(found.__arrow_array__()))
    elif pandas.api.types.is_float_dtype(kind):
        found[(found == 0).fillna(False)] = 0.0
    return pandas.Series(found, dtype=like.dtype, name=like.name) if hasattr(like, "iloc") else found


def _positive_objects(found: np.ndarray) -> np.ndarray:
    if any(issubclass(each, (float, np.floating)) for each in set(map(type, found))):
        for place, each in enumerate(found):
            if isinstance(each, (float, np.floating)) and each == 0:
                found[place] = abs(each)
    return found


def _without_pyarrow(name: str) -> ImportError:
    return ImportError(f"{name}: keys of this type are numbered with pyarrow, which is not installed")


def _of_arrow(value: Any, name: str, rows: Callable[[np.ndarray], Any], values: Any) -> Key:
    """Keys that pyarrow numbers. NULL is a separate key."""
    try:
        import pyarrow
    except ImportError:
        raise _without_pyarrow(name) from None
    try:
        array = arrow_of(values, name)
        if isinstance(array, pyarrow.ChunkedArray):
            array = pyarrow.concat_arrays(array.chunks) if array.num_chunks else pyarrow.array([], array.type)
        if pyarrow.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pyarrow.types.is_floating(array.type):
            return Key(_bits_of_floats(array), rows)
        if array.type == pyarrow.string_view():  # of Polars
            array = array.cast(pyarrow.large_string())
        elif pyarrow.types.is_decimal(array.type) and array.type.bit_width < 128:
            array = array.cast(pyarrow.decimal128(array.type.precision, array.type.scale))
        return Key(_numbers_of(array), rows)
    except (pyarrow.ArrowException, NotImplementedError, TypeError) as error:
        kind = getattr(value, "type", None) or getattr(value, "dtype", None) or type(value).__name__
        if isinstance(error.__cause__, Unsupported):
            kind = error.__cause__
        raise TypeError(f"{name}: {KEYS.format(kind)}") from None


def _numbers_of(array: Any) -> np.ndarray:
    """A number for each element of a pyarrow array, which is equal where the elements are; -1 for NULL."""
    return np.asarray(array.dictionary_encode().indices.fill_null(-1)).astype(np.int64)


def _bits_of_floats(array: Any) -> np.ndarray:
    """The bits of the floats, which are equal where the keys are. Those of NULL are a NaN that no other key has."""
    codes = _bits(_unique_floats(array.to_numpy(zero_copy_only=False)))
    codes[np.asarray(array.is_null())] = -1
    return codes


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
