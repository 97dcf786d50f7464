# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_layouts.py: lists of numbers as Awkward Arrays hold them: seen without a copy, and put together again.
from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np

import upsweep
from upsweep._arrays import BOUNDS, MOVED_SIZES, NUMBERS

contents = ak.contents


class Lists:
    """An array of lists, one level deep, of elements or of records of such: where the lists lie, and the columns."""

    __slots__ = ("bounds", "columns", "count", "record", "size")

    def __init__(self, bounds: Any, count: int, size: int, columns: list[np.ndarray], record: Any):
        self.bounds = bounds  # offsets from 0; (starts, stops); or the size of every list
        self.count = count
        self.size = size  # of every list of a RegularArray, else 0
        self.columns = columns
        self.record = record  # the RecordArray whose fields the columns are, or None

    @property
    def are_numbers(self) -> bool:
        return self.record is None and self.columns[0].dtype.name in (*NUMBERS, "bool")

    def packed(self) -> Lists:
        """Lists by offsets from 0, one after the other."""
        if self.size:
            offsets = np.arange(0, (self.count + 1) * self.size, self.size, dtype=np.int64)
            return Lists(offsets, self.count, 0, self.columns, self.record)
        if not isinstance(self.bounds, tuple):
            return self
        offsets, *columns = upsweep.pack(self.bounds, *self.columns)
        return Lists(offsets, self.count, 0, columns, self.record)

    def starts_and_stops(self) -> tuple[np.ndarray, np.ndarray]:
        return self.bounds if isinstance(self.bounds, tuple) else (self.bounds[:-1], self.bounds[1:])

    def lengths(self) -> np.ndarray:
        if self.size:
            return np.full(self.count, self.size, np.int64)
        starts, stops = self.starts_and_stops()
        return np.subtract(stops, starts, dtype=np.int64)

    def are_empty(self) -> np.ndarray:
        if self.size:
            return np.zeros(self.count, np.bool_)
        starts, stops = self.starts_and_stops()
        return starts == stops

    def content(self, columns: list[np.ndarray]) -> Any:
        """Awkward's content of such columns in the place of these."""
        arrays = [contents.NumpyArray(column) for column in columns]
        if self.record is None:
            return arrays[0]
        fields, parameters = self.record._fields, self.record._parameters
        return contents.RecordArray(arrays, fields, length=len(columns[0]), parameters=parameters)


def lists_of(array: Any) -> Lists | None:
    """What an Awkward Array holds, if it is such lists in the host's memory, of Awkward's own behaviour; else None."""
    if not isinstance(array, ak.Array) or array._attrs:
        return None
    layout = array._layout
    kind = type(layout)
    if kind not in (contents.ListOffsetArray, contents.ListArray, contents.RegularArray) or layout._parameters:
        return None
    seen = _columns(layout._content)
    if seen is None:
        return None
    columns, record = seen
    if kind is contents.RegularArray:
        size, count = layout._size, layout._length
        return Lists(size, count, size, [c[: size * count] for c in columns], record) if size > 0 else None
    if kind is contents.ListArray:
        starts = layout._starts._data
        stops = layout._stops._data[: len(starts)]
        if not (_are_bounds(starts) and _are_bounds(stops)):
            return None
        return Lists((np.ascontiguousarray(starts), np.ascontiguousarray(stops)), len(starts), 0, columns, record)
    offsets = layout._offsets._data
    return _between(np.ascontiguousarray(offsets), columns, record) if _are_bounds(offsets) else None


def _between(offsets: np.ndarray, columns: list[np.ndarray], record: Any) -> Lists | None:
    first, last = int(offsets[0]), int(offsets[-1])
    if not 0 <= first <= last <= len(columns[0]):
        return None
    if first > 0:
        offsets = offsets - offsets.dtype.type(first)
    return Lists(offsets, len(offsets) - 1, 0, [column[first:last] for column in columns], record)


def _are_bounds(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype.name in BOUNDS


def _columns(content: Any) -> tuple[list[np.ndarray], Any] | None:
    """The content's elements, and the RecordArray that has them as its fields, if it is one."""
    if type(content) is contents.NumpyArray:
        return ([content._data], None) if _is_column(content) else None
    if type(content) is not contents.RecordArray or not content._contents:
        return None
    fields = content._contents
    if not all(type(field) is contents.NumpyArray and _is_column(field) for field in fields):
        return None
    return [field._data[: content._length] for field in fields], content


def _is_column(array: Any) -> bool:
    data = array._data
    return type(data) is np.ndarray and data.ndim == 1 and not array._parameters and data.dtype.itemsize in MOVED_SIZES


def is_inner(axis: Any) -> bool:
    """Whether an axis is the one within the lists, of lists one level deep."""
    return type(axis) is int and axis in (1, -1)


def array_of(layout: Any, like: Any) -> ak.Array:
    return ak.Array(layout, behavior=like._behavior)


def list_array(offsets: np.ndarray, content: Any) -> Any:
    if offsets.dtype != np.int64:
        offsets = offsets.astype(np.int64)
    return contents.ListOffsetArray(ak.index.Index64(offsets), content)
