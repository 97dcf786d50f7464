# SPDX-License-Identifier: Apache-2.0
# upsweep/_times.py: folds of dates, times and durations, which are computed as integers in the unit of their type.

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import NUMPY, Array
from ._query import python_value

_SELECTING = ("min", "max")  # operators whose result is one of the elements
_NAT = np.iinfo(np.int64).min
# Arrow's and Polars' times of day, which NumPy holds only as bytes: the digits after the second.
_OF_DAY = {"time32[s]": 0, "time32[ms]": 3, "time64[us]": 6, "time64[ns]": 9, "Time": 9}


class Times:
    """Elements of datetime64 or timedelta64 that have become integers, and how their results become times again.

    The minimum of no elements is NaT, not the identity of integers: an element may be equal to this identity. The maximum of no
    elements is NaT, because its identity is the smallest integer.
    """

    def __init__(self, kind: np.dtype, op: str, has_initial: bool):
        self.kind = kind
        self._names_none = op == "min" and not has_initial
        self._is_sum = op == "add"

    def mark_first(self, result: np.ndarray, along: int) -> None:
        """Replaces the first results of an exclusive scan, which are folds of no elements, by NaT."""
        if self._names_none:
            np.moveaxis(result, along, 0)[:1] = _NAT

    def mark_empty(self, result: np.ndarray, counts: Callable[[], np.ndarray]) -> None:
        """Replaces the results of lists without elements by NaT. `counts`: returns the number of elements of each list."""
        if self._names_none and result.dtype == np.int64:
            found = result == np.iinfo(np.int64).max
            if found.any():
                result[found & (counts() == 0)] = _NAT

    def require_sums(self, result: Any, checks: bool, what: str = "element {} of the result") -> None:
        """Raises OverflowError for a sum of -2^63, which fits int64, but is NaT as a duration."""
        if not (self._is_sum and checks):
            return
        found = np.reshape(result, -1) == _NAT
        if found.any():
            first = int(found.argmax())
            error = OverflowError(f"{what.format(first)} does not fit {self.kind}: its integer, -2^63, is NaT")
            error.index, error.code = first if np.ndim(result) else None, "overflow"  # type: ignore[attr-defined]
            raise error

    def scalar(self, result: int) -> Any:
        return np.int64(result).view(self.kind)


class TimesOfDay(Times):
    """Times of day that have become integers. Folds of no elements become NULL."""

    def __init__(self, digits: int):
        super().__init__(np.dtype(np.int64), "", False)
        self._digits = digits

    def scalar(self, result: int) -> Any:
        return python_value("time", self._digits, None, int(result))


def take_times(
    array: Array, name: str, op: str, dtype: Any, initial: Any, out: Any, others: tuple[str, ...] = ()
) -> tuple[Times | None, Any, Any]:
    """Makes the array's dates, times or durations integers. Returns how to treat the results, and the initial value and `out`
    as integers. Returns None and the arguments for any other array. `others`: operations whose results are numbers."""
    if array.xp is NUMPY and array.opaque in _OF_DAY:
        return _take_times_of_day(array, name, op, dtype, initial, out, others)
    if array.xp is not NUMPY or array.opaque is not None or array.data.dtype.kind not in "mM":
        return None, initial, out
    kind = array.data.dtype
    allowed = (*_SELECTING, "add") if kind.kind == "m" else _SELECTING
    if op not in (*allowed, *others):
        raise TypeError(f"{name}: {op} is not defined for {kind}; use {' or '.join(allowed)}")
    if dtype is not None:
        raise TypeError(f"dtype: {kind} elements have results of the same type: convert the elements first")
    missing = int(np.isnat(array.data).sum())
    if missing:
        raise ValueError(f"{name}: has {missing} NaT: remove them first, as x[~numpy.isnat(x)]")
    back = array.back
    array.data = array.data.view(np.int64)
    if op not in others:
        array.back = lambda result: back(result.view(kind)) if back else result.view(kind)
    times = Times(kind, op, initial is not None)
    return times, _integer(initial, kind, array.zoned), _integers(out, kind)


def _take_times_of_day(
    array: Array, name: str, op: str, dtype: Any, initial: Any, out: Any, others: tuple[str, ...]
) -> tuple[TimesOfDay, Any, Any]:
    kind, back, size = array.opaque, array.back, array.data.dtype.itemsize
    digits = _OF_DAY[kind]
    if op not in (*_SELECTING, *others):
        raise TypeError(f"{name}: {op} is not defined for {kind}; use {' or '.join(_SELECTING)}")
    if dtype is not None or out is not None:
        raise TypeError(
            f"{'dtype' if dtype is not None else 'out'}: {kind} elements have results of the same type, in new arrays"
        )
    array.data = array.data.view(f"i{size}").astype(np.int64)
    array.opaque = None
    if op not in others:
        array.back = lambda result: back(_bytes_of_day(result, size))
    times = TimesOfDay(digits)
    if initial is None:
        return times, None, None
    if not isinstance(initial, datetime.time) or initial.tzinfo is not None:
        raise TypeError(f"initial: a datetime.time is needed, not {initial!r}")
    count = ((initial.hour * 60 + initial.minute) * 60 + initial.second) * 10**6 + initial.microsecond
    if digits < 6 and count % 10 ** (6 - digits):
        raise ValueError(f"initial: {initial!r} has a finer unit than {kind}")
    return times, count * 10**digits // 10**6, None


def _bytes_of_day(result: np.ndarray, size: int) -> np.ndarray:
    """Integers as the bytes of times of day. The identities of integers, which no time of day has, are masked."""
    limits = np.iinfo(np.int64)
    missing = (result == limits.min) | (result == limits.max)
    stored = result.astype(f"i{size}").view(f"V{size}")
    return np.ma.MaskedArray(stored, missing) if missing.any() else stored


def _integer(initial: Any, kind: np.dtype, zoned: bool) -> Any:
    if initial is None:
        return None
    given = np.asarray(_of_python(initial, kind, zoned))
    if given.dtype.kind != kind.kind or given.size != 1 or np.isnat(given).any():
        raise TypeError(f"initial: one value of {kind} is needed, not {initial!r}")
    converted = given.astype(kind)
    if converted.astype(given.dtype) != given:
        raise ValueError(f"initial: {initial!r} has a finer unit than {kind}, or it does not fit")
    return int(converted.view(np.int64).reshape(())[()])


def _of_python(initial: Any, kind: np.dtype, zoned: bool) -> Any:
    """Dates, times and durations of Python and pandas as NumPy has them, those with a time zone in UTC; any other value itself."""
    if isinstance(initial, datetime.timedelta):
        return initial.to_timedelta64() if hasattr(initial, "to_timedelta64") else np.timedelta64(initial, "us")
    if not isinstance(initial, datetime.date) or kind.kind != "M":
        return initial
    zone = getattr(initial, "tzinfo", None)
    if (zone is not None) != zoned:
        raise TypeError(f"initial: a time {'with' if zoned else 'without'} a time zone is needed, not {initial!r}")
    if hasattr(initial, "to_datetime64"):
        return initial.to_datetime64()
    if not isinstance(initial, datetime.datetime):
        return np.datetime64(initial, "D")
    return np.datetime64(initial.astimezone(datetime.UTC).replace(tzinfo=None) if zoned else initial, "us")


def _integers(out: Any, kind: np.dtype) -> Any:
    if out is None:
        return None
    if not isinstance(out, np.ndarray) or out.dtype != kind:
        raise TypeError(f"out: a NumPy array of {kind} is needed")
    return out.view(np.int64)
