# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/overloads.py: functions of behaviors that overload ufuncs and ak.sum for records.
"""Awkward calls such a function where it meets the records, below all lists. A recording calls it with the whole arrays. The functions
broadcast and compute element by element, or list by list. The results are therefore equal if the types are equal.
"""

from __future__ import annotations

from typing import Any

import awkward as ak
from awkward._behavior import behavior_of, find_record_reducer, find_ufunc
from awkward._reducers import Sum

from upsweep.awkward._fuse import attributes


def of_ufunc(ufunc: Any, inputs: Any) -> Any:
    """The overload of a ufunc for these arrays and numbers, or None."""
    names = [x._layout.purelist_parameter("__record__") if isinstance(x, ak.Array) else None for x in inputs]
    if not any(names):
        return None
    return find_ufunc(behavior_of(*inputs), (ufunc, *[name or type(x) for name, x in zip(names, inputs)]))


def of_sum(array: Any, axis: Any = None, **kwargs: Any) -> Any:
    """The overload of ak.sum for an array whose events are lists of records, or None. Its arguments: the array, False."""
    if type(axis) is not int or axis not in (1, -1) or any(x is not False for x in kwargs.values()):
        return None
    if not kwargs.keys() <= {"keepdims", "mask_identity"} or not isinstance(array, ak.Array) or not array._layout.is_list:
        return None
    records = array._layout._content
    if records.is_indexed and not records.is_option:
        records = records._content
    return find_record_reducer(Sum(), records, array._behavior) if records.is_record else None


def of_missing(custom: Any, meta: Any) -> Any:
    """The overload of a ufunc for records of which some are missing. Awkward calls it with those that are there. With all records
    it returns records of missing numbers, which become missing records. `meta` is the result of Awkward's function."""
    name = meta._layout.purelist_parameter("__record__") if isinstance(meta, ak.Array) else None

    def function(*args: Any) -> Any:
        made = custom(*args)
        if name is None:
            return made
        return ak.zip({field: made[field] for field in made.fields}, with_name=name, optiontype_outside_record=True)

    return function


def used(custom: Any, args: Any, meta: Any) -> tuple[Any, Any] | None:
    """The overload of a ufunc, or that for missing records, whose result is passed on; and this result."""
    for each in (custom, of_missing(custom, meta)):
        made = each(*args)
        if passed_on(made, meta):
            return each, made
    return None


def passed_on(made: Any, meta: Any) -> bool:
    """Whether an overload's result has the type, the behavior and the attributes of the result of Awkward's function."""
    return (
        isinstance(made, ak.Array)
        and isinstance(meta, ak.Array)
        and made._layout.form.type == meta._layout.form.type
        and made._behavior == meta._behavior
        and attributes.alike(made, meta)
    )
