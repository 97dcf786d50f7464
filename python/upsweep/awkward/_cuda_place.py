# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_cuda_place.py: the memory of a kernel's arrays, and their form for upsweep._core.
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from upsweep import _core, _options
from upsweep._arrays import NUMBERS, NUMPY, _Cupy

# The names of element types in upsweep._core.
TYPES = {np.dtype(name): name for name in NUMBERS} | {np.dtype(np.bool_): "uint8"}


def module_of(array: Any) -> Any:
    """The array's module: NumPy or CuPy."""
    return np if type(array) is np.ndarray else sys.modules["cupy"]


def are_in_the_same_memory(a: Any, b: Any) -> bool:
    """Whether both are the same elements of one type. They are then equal, except for NaN."""
    if a.dtype != b.dtype or a.shape != b.shape or a.strides != b.strides:
        return False
    return a.ctypes.data == b.ctypes.data if type(a) is np.ndarray else a.data.ptr == b.data.ptr


class Place:
    """The library and the device of an array, and where a call on it runs."""

    __slots__ = ("where", "xp")

    def __init__(self, array: Any):
        self.xp = NUMPY if type(array) is np.ndarray else _Cupy(array)
        self.where = _options.place(self.xp.device, self.xp.stream, "wrap")

    def __call__(self, array: Any) -> Any:
        """The array in the form that upsweep._core accepts."""
        name = TYPES.get(array.dtype)
        if name is None or array.ndim != 1 or not array.flags.c_contiguous:
            raise TypeError(f"an array of {array.dtype} of {array.ndim} dimensions")
        if self.xp is NUMPY:
            return array
        return _core.Elements.at(array.data.ptr, array.size, name, array.dtype.itemsize, array)

    def bounds(self, starts: Any, stops: Any, length: int) -> tuple[Any, Any]:
        return self(starts[:length]), self(stops[:length])

    def offsets_of(self, lengths: Any, offsets: Any) -> int:
        """Writes the offsets of lists of these lengths, and returns the last offset."""
        return _core.lengths_to_offsets(self.where, self(lengths), None, self(offsets))

    def keep(self, mask: Any, *columns: tuple[Any, Any]) -> int:
        """Selects elements of pairs (array, output) by the mask; returns the number of selected elements."""
        pairs = [(self(array), self(output)) for array, output in columns]
        return _core.select(self.where, None, None, self(mask), None, pairs)
