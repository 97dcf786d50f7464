# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_layouts.py: lists of numbers in Awkward Arrays: views without a copy, and construction of results.
from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np

import upsweep
from upsweep._arrays import BOUNDS, MOVED_SIZES, NUMBERS

contents = ak.contents


class Lists:
    """An array of lists, one level deep, of elements or of records of elements: the lists' bounds, and the columns."""

    __slots__ = ("bounds", "columns", "count", "record", "size")

    def __init__(self, bounds: Any, count: int, size: int, columns: list[np.ndarray], record: Any):
        self.bounds = bounds  # offsets from 0; (starts, stops); or the size of every list
        self.count = count
        self.size = size  # of every list of a RegularArray, otherwise 0
        self.columns = columns
        self.record = record  # the RecordArray that has the columns as fields, or None

    @property
    def are_numbers(self) -> bool:
        return self.record is None and self.columns[0].dtype.name in (*NUMBERS, "bool")

    def packed(self) -> Lists:
        """The lists by offsets from 0, packed one after the other."""
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
        """Awkward's content with these columns instead of the original ones."""
        arrays = [contents.NumpyArray(column) for column in columns]
        if self.record is None:
            return arrays[0]
        fields, parameters = self.record._fields, self.record._parameters
        return contents.RecordArray(arrays, fields, length=len(columns[0]), parameters=parameters)


def lists_of(array: Any) -> Lists | None:
    """The lists of an Awkward Array, if it is such lists in host memory with Awkward's default behavior; otherwise None."""
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
    """The content's columns; and the content itself if it is a RecordArray, whose fields are the columns."""
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
    """Whether an axis is the one within the lists, for lists one level deep."""
    return type(axis) is int and axis in (1, -1)


def array_of(layout: Any, like: Any) -> ak.Array:
    return ak.Array(layout, behavior=like._behavior)


def list_array(offsets: np.ndarray, content: Any) -> Any:
    if offsets.dtype != np.int64:
        offsets = offsets.astype(np.int64)
    return contents.ListOffsetArray(ak.index.Index64(offsets), content)
