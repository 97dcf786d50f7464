# SPDX-License-Identifier: Apache-2.0
# upsweep/_lists.py: conversion of ragged-array arguments to content, positions of the lists, and nulls.

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
    is_number,
    library_of,
    nested_error,
    require_column,
    shown,
    take_in,
    whole_number,
)

# More elements than any content has, for content of unknown length: lists may then end anywhere.
UNKNOWN_LENGTH = 1 << 62


class Lists:
    """Lists in the form that upsweep._core accepts: offsets, starts and stops, or one size for all lists."""

    __slots__ = ("arrays", "bounds", "count", "give", "valid", "xp")

    def __init__(self, bounds: Any, count: int, xp: Namespace, give: Any, arrays: tuple[Any, ...] = ()):
        self.bounds = bounds
        self.arrays = arrays  # the arrays that contain the bounds, as their library stores them
        self.count = count
        self.xp = xp
        self.give = give
        self.valid: Any = None


class Ragged:
    """Content and its lists; `valid` marks the elements that are not null, if there are nulls."""

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
    """Converts offsets, a tuple (starts, stops), or an integer. An integer is the size of every list of a content of `length`."""
    if isinstance(lists, Lists):
        return lists
    if isinstance(lists, tuple):
        if len(lists) != 2:
            raise ValueError(f"lists: a tuple of starts and stops is needed, not of {len(lists)} arrays")
        first, last = take_in_pair(*lists)
        pair = (first.xp.elements(first.data), last.xp.elements(last.data))
        return Lists(pair, first.data.shape[0], first.xp, first.give, (first.data, last.data))
    if is_number(lists):
        return _of_size(whole_number(lists, "size of lists", 1), length)
    offsets = take_in_bounds(lists, "offsets")
    count = offsets.data.shape[0] - 1
    if count < 0:
        raise ValueError("offsets: the array is empty: it must contain one more offset than there are lists")
    return Lists(offsets.xp.elements(offsets.data), count, offsets.xp, offsets.give, (offsets.data,))


def take_in_bounds(value: Any, name: str) -> Array:
    """Converts an array of integers to bounds of lists: a contiguous array of a supported type."""
    array = take_in(value, name, INTEGERS)
    if array.data.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {array.data.ndim}")
    if array.data.shape[0] == 0 and isinstance(value, (list, tuple)):  # NumPy converts an empty list to floats
        return Array(np.empty(0, np.int64), NUMPY)
    return Array(array.xp.contiguous(_as_bounds(array, name)), array.xp, array.back)


def take_in_pair(starts: Any, stops: Any) -> tuple[Array, Array]:
    """Converts starts and stops of lists to arrays on one device and of one type; if necessary, copies them to int64."""
    pair = take_in_bounds(starts, "starts"), take_in_bounds(stops, "stops")
    if pair[0].xp.device != pair[1].xp.device:
        raise ValueError("stops: they must be on the same device as the starts")
    if pair[0].dtype != pair[1].dtype:
        for each in pair:
            each.data = each.xp.astype(each.data, "int64")
    return pair


def _as_bounds(array: Array, name: str) -> Any:
    """The array's integers in one of the bound types of upsweep._core; integers of 8 and 16 bits are copied."""
    if array.dtype in BOUNDS:
        return array.data
    if array.dtype == "uint64":
        return _without_large(array, name)
    if array.dtype in NUMBERS and "int" in array.dtype:
        return array.xp.astype(array.data, "int32")
    raise TypeError(f"{name}: {INTEGERS.format(shown(array.dtype))}")


def _without_large(array: Array, name: str) -> Any:
    """A view of uint64 as int64. Raises OverflowError if an element does not fit, with its index."""
    signed = array.xp.view_as(array.data, "int64")
    if signed.shape[0] and int(signed.min()) < 0:
        first = int(array.xp.astype(signed < 0, "uint8").argmax())
        error = OverflowError(f"{name}: element {first} is {int(signed[first]) + 2**64}, which exceeds {2**63 - 1}")
        error.index, error.code = first, "overflow"
        raise error
    return signed


def _of_size(size: int, length: int | None) -> Lists:
    if length is None:
        raise ValueError("lists: a size does not determine the number of lists: pass offsets")
    if length % size:
        raise ValueError(f"lists: {length} elements are not a whole number of lists of {size}")
    return Lists((length // size, size), length // size, NUMPY, lambda result: result)


def take_in_ragged(content: Any, lists: Any, valid: Any = None) -> Ragged:
    """Converts content with its lists. Without `lists`, converts a list array of pyarrow or Polars with its nulls."""
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
    """The lists of that content, which must be on the same device."""
    taken = take_in_lists(lists, content.data.shape[0])
    if not is_number(lists) and taken.xp.device != content.xp.device:
        raise ValueError("lists: they must be on the same device as the content")
    taken.xp = content.xp
    if lists_valid is not None:
        taken.valid = lists_valid
    return taken


def _of_list_array(value: Any) -> tuple[Any, Any, Any]:
    """Content, lists and validity of an Arrow list array."""
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
        raise TypeError(f"lists: the positions of the lists are missing, and {what} is not an Arrow list array")
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
    """The kind of a pyarrow list array, or None for anything else."""
    if library_of(value) != "pyarrow":
        return None
    from pyarrow import types

    if types.is_list_view(value.type) or types.is_large_list_view(value.type):
        return "view"
    if types.is_fixed_size_list(value.type):
        return "fixed"
    return "offsets" if types.is_list(value.type) or types.is_large_list(value.type) else None


class Nulls:
    """The elements of an Arrow array that are not null, for an array with nulls."""

    def __init__(self, array: Any):
        self._bitmap = np.frombuffer(array.buffers()[0], np.uint8)
        self._first, self._length = array.offset, len(array)

    def bits(self) -> _core.Bits:
        return _core.Bits(self._bitmap, self._length, self._first)

    def valid_and(self, valid: np.ndarray) -> np.ndarray:
        """The elements that are not null and are true in `valid`."""
        if len(valid) != self._length:
            raise ValueError(f"valid: {len(valid)} booleans, but the content has {self._length} elements")
        own = np.unpackbits(self._bitmap, count=self._first + self._length, bitorder="little")[self._first :]
        return own.view(np.bool_) & valid.astype(np.bool_, copy=False)


def take_in_nullable(value: Any, name: str) -> tuple[Array, Nulls | None]:
    """Converts an array of pyarrow or Polars with nulls: returns an Array, and which of its elements are not null."""
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
    if pyarrow.types.is_temporal(value.type) and not pyarrow.types.is_interval(value.type):
        stored = pyarrow.int32() if value.type.bit_width == 32 else pyarrow.int64()
        return take_in(value.fill_null(pyarrow.array([0], stored).cast(value.type)[0]), name), Nulls(value)
    if not (pyarrow.types.is_integer(value.type) or pyarrow.types.is_floating(value.type)):
        raise TypeError(f"{name}: {COMPUTED.format(value.type)}")
    kind = pyarrow.array([], value.type).to_numpy().dtype  # to_pandas_dtype() needs pandas
    elements = np.frombuffer(value.buffers()[1], kind)[value.offset : value.offset + len(value)]
    return Array(elements, NUMPY, pyarrow.array), Nulls(value)


def mask(value: Any, like: Array, name: str) -> Any:
    """Converts booleans to the form that upsweep._core accepts; they must be on the same device as `like`."""
    array = take_in(value, name, BOOLEANS)
    if array.data.size == 0 and isinstance(value, (list, tuple)):  # NumPy converts an empty list to floats
        return np.empty(0, np.bool_)
    if array.dtype not in ("bool", "uint8", "int8"):
        raise TypeError(f"{name}: {BOOLEANS.format(shown(array.dtype))}")
    if array.data.ndim != 1:
        raise ValueError(f"{name}: one dimension is needed, not {array.data.ndim}")
    if array.xp.device != like.xp.device:
        raise ValueError(f"{name}: it must be on the same device as the content")
    return array.xp.elements(array.xp.contiguous(array.data))
