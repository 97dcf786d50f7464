# SPDX-License-Identifier: Apache-2.0
# upsweep/_lists.py: ragged arrays as functions take them: content, where its lists lie, and what of them is null.

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import (
    BOOLEANS,
    BOUNDS,
    COMPUTED,
    INTEGERS,
    NUMBERS,
    NUMPY,
    Array,
    Namespace,
    arrow_of_polars,
    awkward_error,
    has_capsules,
    library_of,
    nested_error,
    require_column,
    shown,
    take_in,
    whole,
)

# More than any content has: where nobody says how long it is, lists may end anywhere before.
UNKNOWN_LENGTH = 1 << 62


class Lists:
    """Lists as upsweep._core takes them: by offsets, by starts and stops, or all of one size."""

    __slots__ = ("arrays", "bounds", "count", "give", "valid", "xp")

    def __init__(self, bounds: Any, count: int, xp: Namespace, give: Any, arrays: tuple[Any, ...] = ()):
        self.bounds = bounds
        self.arrays = arrays  # that the bounds are in, as their library has them
        self.count = count
        self.xp = xp
        self.give = give
        self.valid: Any = None


class Ragged:
    """Content and its lists; `valid` says which elements are not null, where some are."""

    __slots__ = ("content", "lists", "valid")

    def __init__(self, content: Array, lists: Lists, valid: Any):
        self.content = content
        self.lists = lists
        self.valid = valid

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The arrays that a call reads."""
        valid = (self.valid,) if isinstance(self.valid, np.ndarray) else ()
        return (self.content.data, *self.lists.arrays, *valid)


def take_in_lists(lists: Any, length: int | None = None) -> Lists:
    """Offsets; a tuple (starts, stops); or an integer, the size of every list of a content of that length."""
    if isinstance(lists, Lists):
        return lists
    if isinstance(lists, tuple):
        if len(lists) != 2:
            raise ValueError(f"lists: a tuple of starts and stops is needed, not of {len(lists)} arrays")
        first, last = take_in_pair(*lists)
        pair = (first.xp.elements(first.data), last.xp.elements(last.data))
        return Lists(pair, first.data.shape[0], first.xp, first.give, (first.data, last.data))
    if isinstance(lists, (int, np.integer)):
        return _of_size(whole(lists, "size of lists", 1), length)
    offsets = take_in_bounds(lists, "offsets")
    count = offsets.data.shape[0] - 1
    if count < 0:
        raise ValueError("offsets: at least one is needed, and one more than there are lists")
    return Lists(offsets.xp.elements(offsets.data), count, offsets.xp, offsets.give, (offsets.data,))


def take_in_bounds(value: Any, name: str) -> Array:
    """An array of integers as bounds of lists are, its elements side by side."""
    array = take_in(value, name, INTEGERS)
    if array.data.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {array.data.ndim}")
    if array.data.shape[0] == 0 and isinstance(value, (list, tuple)):  # NumPy makes an empty list one of floats
        return Array(np.empty(0, np.int64), NUMPY)
    return Array(array.xp.contiguous(_as_bounds(array, name)), array.xp, array.back)


def take_in_pair(starts: Any, stops: Any) -> tuple[Array, Array]:
    """Starts and stops of lists, in one place and of one type: if need be, copies of int64."""
    pair = take_in_bounds(starts, "starts"), take_in_bounds(stops, "stops")
    if pair[0].xp.device != pair[1].xp.device:
        raise ValueError("stops: they must be where the starts are, on the same device")
    if pair[0].dtype != pair[1].dtype:
        for each in pair:
            each.data = each.xp.astype(each.data, "int64")
    return pair


def _as_bounds(array: Array, name: str) -> Any:
    """The array's integers in one of the types that upsweep._core takes as bounds: those of 8 and 16 bits as a copy."""
    if array.dtype in BOUNDS:
        return array.data
    if array.dtype == "uint64":
        return _without_large(array, name)
    if array.dtype in NUMBERS and "int" in array.dtype:
        return array.xp.astype(array.data, "int32")
    raise TypeError(f"{name}: {INTEGERS.format(shown(array.dtype))}")


def _without_large(array: Array, name: str) -> Any:
    """uint64 seen as int64. OverflowError where one does not fit, with its index."""
    signed = array.xp.view_as(array.data, "int64")
    if signed.shape[0] and int(signed.min()) < 0:
        first = int(array.xp.astype(signed < 0, "uint8").argmax())
        error = OverflowError(f"{name}: element {first} is {int(signed[first]) + 2**64}, which exceeds {2**63 - 1}")
        error.index, error.code = first, "overflow"
        raise error
    return signed


def _of_size(size: int, length: int | None) -> Lists:
    if length is None:
        raise ValueError("lists: a size alone does not say how many lists there are: give offsets")
    if length % size:
        raise ValueError(f"lists: {length} elements are not a whole number of lists of {size}")
    return Lists((length // size, size), length // size, NUMPY, lambda result: result)


def take_in_ragged(content: Any, lists: Any, valid: Any = None) -> Ragged:
    """Content with its lists, or without `lists` a list array of pyarrow or Polars, with its nulls."""
    lists_valid = None
    if lists is None:
        content, lists, lists_valid = _of_list_array(content)
    elements, nulls = take_in_nullable(content, "content")
    if elements.data.ndim != 1:
        raise ValueError(f"content: one dimension is needed, not {elements.data.ndim}")
    element_valid = nulls.bits() if nulls is not None else None
    if valid is not None:
        element_valid = mask(valid, elements, "valid")
        if nulls is not None:
            element_valid = nulls.valid_and(element_valid)
    return Ragged(elements, in_place_of(elements, lists, lists_valid), element_valid)


def in_place_of(content: Array, lists: Any, lists_valid: Any = None) -> Lists:
    """The lists of that content, which must be where it is."""
    taken = take_in_lists(lists, content.data.shape[0])
    if not isinstance(lists, (int, np.integer)) and taken.xp.device != content.xp.device:
        raise ValueError("lists: they must be where the content is, on the same device")
    taken.xp = content.xp
    if lists_valid is not None:
        taken.valid = lists_valid
    return taken


def _of_list_array(value: Any) -> tuple[Any, Any, Any]:
    """Content, lists and validity of a list array of Arrow."""
    library = library_of(value)
    if library == "awkward":
        raise awkward_error("content")
    if getattr(value, "is_nested", False) is True:
        raise nested_error("content")
    if library in ("pyarrow", "polars"):
        require_column(value, "content", library)
    if library == "polars":
        value = arrow_of_polars(value, "content")
    elif library != "pyarrow" and has_capsules(value):
        from ._capsules import from_capsules

        value = from_capsules(value, "content")
        if isinstance(value, tuple):
            return (*value, None)
    if hasattr(value, "combine_chunks"):
        value = value.combine_chunks()
    kind = _kind_of_lists(value)
    if kind is None:
        what = f"an array of {value.type}" if library_of(value) == "pyarrow" else type(value).__name__
        raise TypeError(f"lists: where the lists lie is missing, and {what} is no list array of Arrow")
    valid = Nulls(value).bits() if value.null_count else None
    if kind == "view":  # lists in any order
        starts = value.offsets.to_numpy()
        return value.values, (starts, starts + value.sizes.to_numpy()), valid
    if kind == "fixed":
        size, count = value.type.list_size, len(value)
        content = value.values.slice(value.offset * size, count * size)
        return content, size or np.zeros(count + 1, np.int64), valid
    return value.values, value.offsets, valid


def _kind_of_lists(value: Any) -> str | None:
    """Which kind of a list array of pyarrow it is, or None for anything else."""
    if library_of(value) != "pyarrow":
        return None
    from pyarrow import types

    if types.is_list_view(value.type) or types.is_large_list_view(value.type):
        return "view"
    if types.is_fixed_size_list(value.type):
        return "fixed"
    return "offsets" if types.is_list(value.type) or types.is_large_list(value.type) else None


class Nulls:
    """Which elements of an array of Arrow are not null, where some are."""

    def __init__(self, array: Any):
        self._bitmap = np.frombuffer(array.buffers()[0], np.uint8)
        self._first, self._length = array.offset, len(array)

    def bits(self) -> _core.Bits:
        return _core.Bits(self._bitmap, self._length, self._first)

    def valid_and(self, valid: np.ndarray) -> np.ndarray:
        """The elements that are not null, and valid by these booleans too."""
        if len(valid) != self._length:
            raise ValueError(f"valid: {len(valid)} booleans, but the content has {self._length} elements")
        own = np.unpackbits(self._bitmap, count=self._first + self._length, bitorder="little")[self._first :]
        return own.view(np.bool_) & valid.astype(np.bool_, copy=False)


def take_in_nullable(value: Any, name: str) -> tuple[Array, Nulls | None]:
    """An Array, and which of its elements are not null: an array of pyarrow or Polars may have such."""
    library = library_of(value)
    if library in ("polars", "pyarrow"):
        require_column(value, name, library)
    if library == "polars" and value.null_count():
        value, library = arrow_of_polars(value, name), "pyarrow"
    if library != "pyarrow" or not value.null_count:
        return take_in(value, name), None
    import pyarrow

    if isinstance(value, pyarrow.ChunkedArray):
        value = value.combine_chunks()

    if pyarrow.types.is_boolean(value.type):
        return take_in(value.fill_null(False), name), Nulls(value)
    if not (pyarrow.types.is_integer(value.type) or pyarrow.types.is_floating(value.type)):
        raise TypeError(f"{name}: {COMPUTED.format(value.type)}")
    kind = pyarrow.array([], value.type).to_numpy().dtype  # to_pandas_dtype() needs pandas
    elements = np.frombuffer(value.buffers()[1], kind)[value.offset : value.offset + len(value)]
    return Array(elements, NUMPY, pyarrow.array), Nulls(value)


def mask(value: Any, like: Array, name: str) -> Any:
    """Booleans as upsweep._core takes them, where `like` is."""
    array = take_in(value, name, BOOLEANS)
    if array.data.size == 0 and isinstance(value, (list, tuple)):  # NumPy makes an empty list one of floats
        return np.empty(0, np.bool_)
    if array.dtype not in ("bool", "uint8", "int8"):
        raise TypeError(f"{name}: {BOOLEANS.format(shown(array.dtype))}")
    if array.data.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {array.data.ndim}")
    if array.xp.device != like.xp.device:
        raise ValueError(f"{name}: it must be where the content is, on the same device")
    return array.xp.elements(array.xp.contiguous(array.data))
