# SPDX-License-Identifier: Apache-2.0
# upsweep/_objects.py: Python objects as Arrow arrays, without loss. pyarrow itself drops time zones, the nanoseconds of
# pandas, and the hours of datetimes among dates. It makes dates of numbers among dates.

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

_KINDS: tuple[tuple[str, Any], ...] = (
    ("timestamp", datetime.datetime),
    ("date", datetime.date),
    ("time", datetime.time),
    ("duration", datetime.timedelta),
    ("datetime64", np.datetime64),
    ("timedelta64", np.timedelta64),
    ("text", str),
    ("bytes", (bytes, bytearray, memoryview)),
    ("number", (numbers.Number, np.bool_)),
)
_OF_NUMPY = ("datetime64", "timedelta64")
_MOST_IN_FLOATS = 2**53
_MISSING = ("NaTType", "NAType")  # of pandas


class Unsupported(TypeError):
    """Objects that are not values of one type; the text names them."""


def of_objects(values: Any, nan_is_null: bool = False) -> Any:
    """Converts Python objects to a pyarrow array. Raises Unsupported for objects of several kinds, and for times that no type of a
    table has. `nan_is_null`: NaN is NULL, as in a pandas Series."""
    import pyarrow

    kinds = _kinds(values)
    try:
        if len(kinds) == 1 and kinds.isdisjoint((*_TYPES, *_OF_NUMPY, "missing")):
            return pyarrow.array(values, from_pandas=nan_is_null)
        present = [None if _is_missing(value, nan_is_null) else value for value in values]
        kinds = _kinds(present)
        if len(kinds) > 1:
            raise Unsupported(_type_names(present))
        kind = next(iter(kinds), "")
        if kind in _OF_NUMPY:
            return pyarrow.array(_array_of_numpy(present))
        return pyarrow.array(present, _TYPES[kind](present, pyarrow) if kind in _TYPES else None, from_pandas=True)
    except (Unsupported, UnicodeEncodeError):
        raise
    except OverflowError:
        if "number" in kinds:
            raise
        raise Unsupported("times outside of the range of 64 bits, in nanoseconds the years 1678 to 2261") from None
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise Unsupported(_type_names(values)) from error


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether NumPy converts these Python objects without loss: numbers, or NumPy's own dates, times or durations."""
    types = set(map(type, values))
    kinds = {_kind(each) for each in types}
    if kinds != {"number"}:
        return not kinds or (len(kinds) == 1 and not kinds.isdisjoint(_OF_NUMPY))
    integers = (int, np.integer)
    if all(issubclass(each, integers) for each in types) or not any(issubclass(each, integers) for each in types):
        return True
    return all(-_MOST_IN_FLOATS <= value <= _MOST_IN_FLOATS for value in values if isinstance(value, integers))


def _kinds(values: Any) -> set[str]:
    return {_kind(each) for each in set(map(type, values))} - {""}


def _kind(of: type) -> str:
    if of is type(None):
        return ""
    if of.__name__ in _MISSING and of.__module__.startswith("pandas"):
        return "missing"
    return next((kind for kind, types in _KINDS if issubclass(of, types)), "other")


def _type_names(values: Any) -> str:
    names = list(dict.fromkeys(type(value).__name__ for value in values if value is not None))
    return f"Python objects of type {' and '.join(names[:3])}"


def _is_missing(value: Any, nan_is_null: bool) -> bool:
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return _kind(type(value)) == "missing" or (nan_is_null and isinstance(value, float) and math.isnan(value))


def _array_of_numpy(values: Sequence[Any]) -> np.ndarray:
    """NumPy's dates, times or durations of one unit; None is NaT."""
    types = {value.dtype for value in values if value is not None}
    if len(types) > 1:
        raise Unsupported("times of several units")
    kind = types.pop()
    missing = np.array("NaT", kind)[()]
    return np.array([missing if value is None else value for value in values], kind)


def _timestamp(values: Sequence[Any], pyarrow: Any) -> Any:
    present = [value for value in values if value is not None]
    zones = [value.tzinfo for value in present if value.utcoffset() is not None]
    if zones and len(zones) < len(present):
        raise Unsupported("times with and without a time zone")
    unit = "ns" if any(getattr(value, "nanosecond", 0) for value in present) else "us"
    return pyarrow.timestamp(unit, zones[0] if zones else None)


def _duration(values: Sequence[Any], pyarrow: Any) -> Any:
    return pyarrow.duration("ns" if any(getattr(value, "nanoseconds", 0) for value in values) else "us")


def _time_of_day(values: Sequence[Any], pyarrow: Any) -> Any:
    if any(value is not None and value.tzinfo is not None for value in values):
        raise Unsupported("times of day with a time zone")
    return pyarrow.time64("us")


_TYPES = {"timestamp": _timestamp, "duration": _duration, "time": _time_of_day}
