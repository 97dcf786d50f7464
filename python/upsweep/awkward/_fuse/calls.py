# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/calls.py: Awkward's functions as values and domains of a plan.
"""CALLS maps a function of Awkward to the function that lowers it: `lower(low, node, *args, **kwargs)` has Awkward's arguments,
of which arrays are lowered arrays and numbers are Scalars. It raises Unsupported for what plans do not have. The caller compares
the result with the type that Awkward's type tracer has computed.
"""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np

from upsweep.awkward._fuse import corrections, numbers
from upsweep.awkward._fuse.arrays import (
    ARRAYS,
    Column,
    Fixed,
    Foreign,
    Lists,
    Option,
    Record,
    Scalar,
    Single,
    Union,
    Unsupported,
    Val,
    has_lists,
)
from upsweep.awkward._fuse.layouts import TYPES
from upsweep.awkward._fuse.lowering import Lowering

CALLS: dict[Any, Any] = {}


def lowers(*functions: Any) -> Any:
    def register(lower: Any) -> Any:
        for function in functions:
            CALLS[function] = lower
        return lower

    return register


def needs_array(x: Any) -> None:
    if isinstance(x, Foreign):
        raise Unsupported(x.reason)
    if not isinstance(x, ARRAYS):
        raise Unsupported(f"an argument of type {type(x).__name__}")


def depth(x: Any) -> int:
    """The number of dimensions, the events included, as far as the first record."""
    if isinstance(x, Lists | Single):
        return 1 + depth(x.content)
    if isinstance(x, Fixed):
        return 1 + depth(x.contents[0])
    return depth(x.content) if isinstance(x, Option) else 1


def level(x: Any, axis: Any) -> int:
    """The axis counted from the outside."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise Unsupported(f"axis={axis!r}")
    if axis < 0:
        if not of_one_depth(x):
            raise Unsupported(f"axis={axis} of records with lists")
        axis += depth(x)
    if axis < 0:
        raise Unsupported("an axis that does not exist")
    return axis


def of_one_depth(x: Any) -> bool:
    """Whether all numbers are as deep as depth() says."""
    if isinstance(x, Record):
        return bool(x.fields) and type(x) is Record and all(depth(y) == 1 and of_one_depth(y) for y in x.fields.values())
    if isinstance(x, Fixed):
        return all(map(of_one_depth, x.contents))
    return isinstance(x, Column) or (isinstance(x, Lists | Single | Option) and of_one_depth(x.content))


def at_lists(low: Lowering, x: Any, axis: int, f: Any) -> Any:
    """f(lists) at the lists whose elements are counted by this axis, 1 or more."""
    needs_array(x)
    if isinstance(x, Option):
        return low.option(x.valid, at_lists(low, x.content, axis, f), "nothing" if axis == 1 else None)
    if isinstance(x, Single) and axis == 1:
        x = low.as_lists(x)
    if isinstance(x, Lists) and axis >= 1:
        return f(x) if axis == 1 else Lists(x.lists, at_lists(low, x.content, axis - 1, f), x.domain)
    if isinstance(x, Single) and axis > 1:
        return Single(at_lists(low, x.content, axis - 1, f), x.regular)
    raise Unsupported("this axis")


def leaf_type(layout: Any) -> str:
    """The type of the numbers of a result."""
    while not layout.is_numpy:
        if layout.is_record or layout.is_union or layout.is_unknown:
            raise Unsupported("a result that is not of numbers")
        layout = layout._content
    if layout.dtype.name not in TYPES:
        raise Unsupported(f"a result of type {layout.dtype}")
    return layout.dtype.name


def is_true(x: Any) -> bool:
    if not isinstance(x, bool | np.bool_):
        raise Unsupported("a flag that is not a constant")
    return bool(x)


# ------------------------------------------------------------------------------------------------------ types and names


@lowers(ak.with_name, ak.with_parameter, ak.without_parameters)
def unchanged(low: Lowering, node: Any, array: Any, *_args: Any, **_kwargs: Any) -> Any:
    needs_array(array)
    return array


@lowers(ak.to_packed)
def to_packed(low: Lowering, node: Any, array: Any, **_kwargs: Any) -> Any:
    """The array without its origin: a layout of an argument need not be packed."""

    def over(x: Any) -> Any:
        return x if isinstance(x, Column) else _inside(low, x, over)

    return over(array)


@lowers(ak.values_astype)
def values_astype(low: Lowering, node: Any, array: Any, to: Any, **_kwargs: Any) -> Any:
    def over(x: Any) -> Any:
        if isinstance(x, Column):
            name = np.dtype(to).name
            if name not in TYPES or (x.value.dtype.startswith("f") and name not in ("float32", "float64", "bool", "int64")):
                raise Unsupported(f"{x.value.dtype} as {name}")
            return Column(low.convert(x.value, name), x.domain)
        return _inside(low, x, over)

    return over(array)


@lowers(ak.nan_to_none)
def nan_to_none(low: Lowering, node: Any, array: Any, **_kwargs: Any) -> Any:
    def over(x: Any) -> Any:
        if isinstance(x, Column):
            if not x.value.dtype.startswith("f"):
                return x
            return low.option(low.invert(low.map("is_nan", x.value)), x, "content")
        return _inside(low, x, over)

    return over(array)


def _without_nan(of: Any) -> Any:
    """A reduction for which NaN is a missing value."""

    def lower(low: Lowering, node: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("mask_identity", of is not fold)
        return of(low, node, nan_to_none(low, node, array), *args, **kwargs)

    return lower


def _inside(low: Lowering, x: Any, f: Any) -> Any:
    """The array with f(content) at each place where it has content."""
    if isinstance(x, Lists):
        return Lists(x.lists, f(x.content), x.domain)
    if isinstance(x, Option):
        return low.option(x.valid, f(x.content), x.hides)
    if isinstance(x, Single):
        return Single(f(x.content), x.regular)
    if isinstance(x, Record):
        return Record({name: f(y) for name, y in x.fields.items()}, x.domain)
    if isinstance(x, Fixed):
        return Fixed([f(y) for y in x.contents])
    raise Unsupported(x.reason if isinstance(x, Foreign) else f"{type(x).__name__}")


@lowers(ak.full_like, ak.ones_like, ak.zeros_like)
def full_like(low: Lowering, node: Any, array: Any, fill_value: Any = None, **_kwargs: Any) -> Any:
    needs_array(array)
    number = {ak.ones_like: Scalar(1), ak.zeros_like: Scalar(0)}.get(node.function, fill_value)
    dtype = leaf_type(node.meta._layout)
    if not isinstance(number, Scalar):
        raise Unsupported("a fill value that is not a number")
    value = _number_as(low, number, dtype)

    def over(x: Any) -> Any:
        return Column(value, x.domain) if isinstance(x, Column) else _inside(low, x, over)

    return over(array)


def _number_as(low: Lowering, number: Scalar, dtype: str) -> Val:
    """A number that NumPy converts to `dtype`."""
    if number.node is None and dtype == "bool":
        return low.constant(bool(number.number), "bool")
    if number.node is None and np.dtype(dtype).kind in "iu" and isinstance(number.number, float):
        raise Unsupported("a float among integers")
    return low.scalar(number, dtype)


# -------------------------------------------------------------------------------------------------------------- records


@lowers(ak.zip)
def zip_(low: Lowering, node: Any, arrays: Any, depth_limit: Any = None, *, right_broadcast: Any = False,
         optiontype_outside_record: Any = False, **_kwargs: Any) -> Any:  # fmt: skip
    if is_true(right_broadcast):
        raise Unsupported("zip with right_broadcast")
    outside = is_true(optiontype_outside_record)
    parts = list(arrays.values()) if isinstance(arrays, dict) else list(arrays)
    names = list(arrays) if isinstance(arrays, dict) else [str(i) for i in range(len(parts))]
    if not any(isinstance(x, ARRAYS) for x in parts):
        raise Unsupported("zip of numbers")

    def record(leaves: list) -> Any:
        domain = low.one_domain(leaves)
        return Record({name: _as_array(low, x, domain) for name, x in zip(names, leaves)}, domain)

    def deepest(args: list) -> int:
        return max(1 if isinstance(x, Scalar) else depth(x) for x in args)

    whole = deepest(parts)

    def stop(args: list) -> bool:
        if outside and any(isinstance(x, Option) for x in args):
            return False
        return deepest(args) == 1 or depth_limit == 1 + whole - deepest(args)

    return low.broadcast(parts, record, stop)


def _as_array(low: Lowering, x: Any, domain: int) -> Any:
    """A number as a column, as Awkward makes one of it."""
    if not isinstance(x, Scalar):
        return x
    number = x.number
    if isinstance(number, np.generic):
        dtype = number.dtype.name
    else:
        dtype = "bool" if isinstance(number, bool) else "int64" if isinstance(number, int) else "float64"
    if dtype not in TYPES:
        raise Unsupported(f"a number of type {dtype}")
    return Column(low.scalar(x, dtype), domain)


@lowers(ak.unzip)
def unzip(low: Lowering, node: Any, array: Any, **_kwargs: Any) -> tuple:
    needs_array(array)
    x = array
    while isinstance(x, Lists | Option | Single):
        x = x.content
    if isinstance(x, Union):
        raise Unsupported("fields of records of different kinds")
    if not isinstance(x, Record):
        return (array,)
    return tuple(low.field(array, name) for name in x.fields)


@lowers(ak.with_field)
def with_field(low: Lowering, node: Any, array: Any, what: Any, where: Any = None, **_kwargs: Any) -> Any:
    path = [where] if isinstance(where, str) else list(where or [])
    if not path or not all(isinstance(name, str) for name in path):
        raise Unsupported("a field without a name")
    if what is None:
        raise Unsupported("a field of missing values")
    if isinstance(what, str | bytes):
        raise Unsupported("a field of strings")

    def stop(args: list) -> bool:
        return isinstance(args[0], Record)

    def over(args: list, name: str) -> Any:
        def leaf(leaves: list) -> Record:
            if not stop(leaves):
                raise Unsupported("a field of an array without records")
            record, value = leaves
            domain = low.one_domain(leaves)
            return type(record)({**record.fields, name: _as_array(low, value, domain)}, domain)

        return low.broadcast(args, leaf, stop)

    made = what
    for i in reversed(range(len(path))):
        base = array
        for name in path[:i]:
            base = low.field(base, name)
        made = over([base, made], path[i])
    return made


@lowers(ak.without_field)
def without_field(low: Lowering, node: Any, array: Any, where: Any, **_kwargs: Any) -> Any:
    if not isinstance(where, str):
        raise Unsupported("several fields are removed")

    def over(x: Any) -> Any:
        if isinstance(x, Record):
            return type(x)({name: y for name, y in x.fields.items() if name != where}, x.domain)
        return _inside(low, x, over)

    return over(array)


# ----------------------------------------------------------------------------------------------------- lists and counts


@lowers(ak.num)
def num(low: Lowering, node: Any, array: Any, axis: Any = 1, **_kwargs: Any) -> Any:
    return at_lists(low, array, level(array, axis), lambda x: Column(low.convert(low.counts(x.lists), "int64"), x.domain))


@lowers(ak.local_index)
def local_index(low: Lowering, node: Any, array: Any, axis: Any = -1, **_kwargs: Any) -> Any:
    def of(x: Lists) -> Any:
        return Lists(x.lists, Column(low.local_index(x.lists, low.positions(x.lists), x.lists), x.lists), x.domain)

    return at_lists(low, array, level(array, axis), of)


@lowers(ak.flatten)
def flatten(low: Lowering, node: Any, array: Any, axis: Any = 1, **_kwargs: Any) -> Any:
    needs_array(array)
    if axis is None:
        x = array
        while not isinstance(x, Column):
            if isinstance(x, Option):
                x = drop_none(low, node, x, 0)
            elif isinstance(x, Lists | Single):
                x = x.content
            else:
                raise Unsupported(f"flatten of {type(x).__name__}")
        return x
    axis = level(array, axis)

    def over(x: Any, axis: int) -> Any:
        if isinstance(x, Single):
            x = low.as_lists(x)
        if isinstance(x, Option):
            if isinstance(x.content, Lists) and axis == 1:  # missing lists have no elements
                inner = x.content
                there = low.take(x.valid, low.parents(inner.lists))
                return low.filtered(inner.content, low.builder.filter(inner.lists, there.handle))
            raise Unsupported("flatten of missing lists")
        if not isinstance(x, Lists):
            raise Unsupported("flatten of this axis")
        if axis == 1:
            return x.content
        inner = x.content
        if axis == 2 and isinstance(inner, Lists):
            return Lists(low.builder.flatten(inner.lists), inner.content, x.domain)
        if axis == 2 and isinstance(inner, Single):
            return Lists(x.lists, inner.content, x.domain)
        if axis == 2:
            raise Unsupported("flatten of this axis")
        return Lists(x.lists, over(inner, axis - 1), x.domain)

    return over(array, axis)


@lowers(ak.ravel)
def ravel(low: Lowering, node: Any, array: Any, **_kwargs: Any) -> Any:
    needs_array(array)
    x = array
    while isinstance(x, Lists | Single):
        x = x.content
    if not (isinstance(x, Column) or (isinstance(x, Option) and isinstance(x.content, Column))):
        raise Unsupported(f"ravel of {type(x).__name__}")
    return x


@lowers(ak.unflatten)
def unflatten(low: Lowering, node: Any, array: Any, counts: Any, axis: Any = 0, **_kwargs: Any) -> Any:
    """Only of the elements of lists, by the numbers of elements of the same lists."""
    needs_array(array)
    value = counts.value if isinstance(counts, Column) else None
    if value is not None and value.op == "convert":
        value = value.args[0]
    lists = low.lists_of_counts.get(value.handle) if value is not None else None
    if axis != 0 or lists is None or not low.same(array.domain, lists):
        raise Unsupported("unflatten by other counts than those of the elements' own lists")
    return low.lists(lists, array)


@lowers(ak.firsts)
def firsts(low: Lowering, node: Any, array: Any, axis: Any = 1, **_kwargs: Any) -> Any:
    needs_array(array)
    axis = level(array, axis)

    def over(x: Any, axis: int) -> Any:
        if isinstance(x, Single) and axis == 1:
            return x.content
        return at_lists(low, x, axis, of)

    def of(x: Lists) -> Any:
        return low.element(x, 0)

    if isinstance(array, Option):
        return low.option(array.valid, over(array.content, axis))
    return over(array, axis)


@lowers(ak.singletons)
def singletons(low: Lowering, node: Any, array: Any, axis: Any = 0, **_kwargs: Any) -> Any:
    if axis != 0 or not isinstance(array, Option):
        raise Unsupported("singletons")
    whole = low.as_lists(Single(array))
    kept = low.builder.filter(whole.lists, whole.content.valid.handle)
    return low.lists(kept, low.filtered(whole.content.content, kept))


def mistakes_masks(layout: Any, axis: int) -> bool:
    """Whether Awkward's pad_none takes the lists that exist for missing ones, and the other way round."""
    while axis >= 1 and not layout.is_record and not layout.is_union and hasattr(layout, "_content"):
        if isinstance(layout, ak.contents.ByteMaskedArray | ak.contents.BitMaskedArray) and axis == 1 and layout._valid_when:
            return True
        axis -= layout.is_list
        layout = layout._content
    return False


def has_axis(layout: Any, axis: int) -> bool:
    return layout.purelist_depth > axis


def of_list_array(layout: Any, axis: int) -> bool:
    """Whether a ListArray has the elements that this axis counts."""
    while not layout.is_record and not layout.is_union and hasattr(layout, "_content"):
        if layout.is_indexed or layout.is_option:  # Awkward projects it, to ListArray
            return has_axis(layout._content, axis)
        if layout.is_list:
            axis -= 1
            if axis == 0:
                return type(layout) is ak.contents.ListArray
        layout = layout._content
    return False


@lowers(ak.pad_none)
def pad_none(low: Lowering, node: Any, array: Any, target: Any, axis: Any = 1, *, clip: Any = False, **_kwargs: Any) -> Any:
    if isinstance(target, bool) or not isinstance(target, int) or target < 0 or (is_true(clip) and not 1 <= target <= 16):
        raise Unsupported(f"pad_none to {target} elements")
    if not is_true(clip) and of_list_array(node.args[0].meta._layout, level(array, axis)):
        raise Unsupported("pad_none of a layout of class ListArray, whose result has no missing values if no list is short")
    if mistakes_masks(node.args[0].meta._layout, level(array, axis)):
        raise Unsupported("pad_none of missing lists by a mask of what is valid, which Awkward confuses")

    def of(x: Lists) -> Any:
        if clip:
            return Fixed([low.element(x, i) for i in range(target)])
        padded = low.builder.pad(x.lists, target)
        source = low.source(padded, 0, True)
        there = low.map("greater_equal", source, low.constant(0, "int32"))
        return low.lists(padded, low.option(there, low.moved(x.content, source)))

    return at_lists(low, array, level(array, axis), of)


@lowers(ak.concatenate)
def concatenate(low: Lowering, node: Any, arrays: Any, axis: Any = 0, **_kwargs: Any) -> Any:
    if axis != 1 or len(arrays) < 2 or not all(isinstance(x, Lists) for x in arrays):
        raise Unsupported("concatenate of this axis, or of other than lists")
    if not all(low.same(x.domain, arrays[0].domain) for x in arrays):
        raise Unsupported("arrays of different lengths")
    domain = low.builder.concatenation([x.lists for x in arrays])
    return low.lists(domain, _joined(low, [x.content for x in arrays], domain))


def _joined(low: Lowering, parts: list, domain: int) -> Any:
    if any(isinstance(x, Option) for x in parts):
        valid = [x.valid if isinstance(x, Option) else low.constant(True, "bool") for x in parts]
        inner = _joined(low, [x.content if isinstance(x, Option) else x for x in parts], domain)
        return low.option(_joined_values(low, valid, domain), inner)
    if all(isinstance(x, Record) for x in parts):
        names = list(parts[0].fields)
        if any(set(x.fields) != set(names) for x in parts):
            return _joined_kinds(low, parts, domain)
        return Record({name: _joined(low, [x.fields[name] for x in parts], domain) for name in names}, domain)
    if all(isinstance(x, Column) for x in parts):
        types = {x.value.dtype for x in parts}
        if "bool" in types and len(types) > 1:
            raise Unsupported("concatenate of booleans and numbers")
        dtype = np.result_type(*types).name
        return Column(_joined_values(low, [low.convert(x.value, dtype) for x in parts], domain), domain)
    raise Unsupported("concatenate of these types")


def _joined_kinds(low: Lowering, parts: list, domain: int) -> Union:
    """Joins the fields that all parts have."""
    fields = {}
    for name in parts[0].fields:
        if all(name in x.fields for x in parts):
            try:
                fields[name] = _joined(low, [x.fields[name] for x in parts], domain)
            except Unsupported:
                continue
    return Union(fields, domain)


def _joined_values(low: Lowering, parts: list[Val], domain: int) -> Val:
    """x, then y, …: of the same element-wise operation it is that operation of the joined operands."""
    first = parts[0]
    if all(x is first for x in parts) and first.domain is None:
        return low.everywhere(first, domain)
    if all(x.op == first.op and len(x.args) == len(first.args) for x in parts):
        if low.builder.is_op(first.op) and all(x.dtype == first.dtype for x in parts):
            columns = list(zip(*(x.args for x in parts)))
            if all(len({x.dtype for x in column}) == 1 for column in columns):
                return low.map(first.op, *[_joined_operands(low, list(column), domain) for column in columns])
        if first.op == "convert" and len({x.args[0].dtype for x in parts}) == 1:
            return low.convert(_joined_values(low, [x.args[0] for x in parts], domain), first.dtype)
    return low.val(low.builder.concatenate(domain, [x.handle for x in parts]), "concatenate", tuple(parts))


def _joined_operands(low: Lowering, parts: list[Val], domain: int) -> Val:
    first = parts[0]
    return first if first.domain is None and all(x is first for x in parts) else _joined_values(low, parts, domain)


# --------------------------------------------------------------------------------------------------------- combinations


def _combined(low: Lowering, array: Any, n: Any, replacement: Any, axis: Any, fields: Any, index: bool) -> Any:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 8:
        raise Unsupported(f"combinations of {n} elements")
    names = [str(i) for i in range(n)] if fields is None else list(fields)

    def of(x: Lists) -> Any:
        domain = low.builder.combinations(x.lists, n, is_true(replacement))
        made = {}
        for which, name in enumerate(names):
            source = low.source(domain, which)
            if index:
                made[name] = Column(low.local_index(x.lists, source, domain), domain)
            else:
                made[name] = low.moved(x.content, source)
        return low.lists(domain, Record(made, domain))

    return at_lists(low, array, level(array, axis), of)


@lowers(ak.combinations)
def combinations(low: Lowering, node: Any, array: Any, n: Any, *, replacement: Any = False, axis: Any = 1, fields: Any = None,
                 **_kwargs: Any) -> Any:  # fmt: skip
    return _combined(low, array, n, replacement, axis, fields, False)


@lowers(ak.argcombinations)
def argcombinations(low: Lowering, node: Any, array: Any, n: Any, *, replacement: Any = False, axis: Any = 1, fields: Any = None,
                    **_kwargs: Any) -> Any:  # fmt: skip
    return _combined(low, array, n, replacement, axis, fields, True)


def _product(low: Lowering, arrays: Any, axis: Any, nested: Any, index: bool) -> Any:
    parts = list(arrays.values()) if isinstance(arrays, dict) else list(arrays)
    names = list(arrays) if isinstance(arrays, dict) else [str(i) for i in range(len(parts))]
    if axis != 1 or not all(isinstance(x, Lists) for x in parts) or len(parts) < 2:
        raise Unsupported("cartesian of this axis, or of other than lists")
    if not all(low.same(x.domain, parts[0].domain) for x in parts):
        raise Unsupported("arrays of different lengths")
    contents = [
        Column(low.local_index(x.lists, low.positions(x.lists), x.lists), x.lists) if index else x.content for x in parts
    ]
    if nested is None or nested is False:
        lists, made = parts[0].lists, [contents[0]]
        for x, content in zip(parts[1:], contents[1:]):
            domain = low.builder.product(lists, x.lists, False)
            made = [low.moved(y, low.source(domain, 0)) for y in made] + [low.moved(content, low.source(domain, 1))]
            lists = domain
        return low.lists(lists, Record(dict(zip(names, made)), lists))
    if len(parts) != 2 or not (nested is True or nested in ([0], ["0"], [names[0]])):
        raise Unsupported("cartesian that is nested in this way")
    domain = low.builder.product(parts[0].lists, parts[1].lists, True)
    made = [low.moved(y, low.source(domain, which)) for which, y in enumerate(contents)]
    inner = low.lists(domain, Record(dict(zip(names, made)), domain))
    return Lists(parts[0].lists, inner, parts[0].domain)


@lowers(ak.cartesian)
def cartesian(low: Lowering, node: Any, arrays: Any, axis: Any = 1, *, nested: Any = None, **_kwargs: Any) -> Any:
    return _product(low, arrays, axis, nested, False)


@lowers(ak.argcartesian)
def argcartesian(low: Lowering, node: Any, arrays: Any, axis: Any = 1, *, nested: Any = None, **_kwargs: Any) -> Any:
    return _product(low, arrays, axis, nested, True)


# ------------------------------------------------------------------------------------------------------- missing values


@lowers(ak.is_none)
def is_none(low: Lowering, node: Any, array: Any, axis: Any = 0, **_kwargs: Any) -> Any:
    needs_array(array)

    def over(x: Any, axis: int) -> Any:
        if axis == 0:
            missing = low.invert(x.valid) if isinstance(x, Option) else low.constant(False, "bool")
            return Column(missing, x.domain)
        if isinstance(x, Option):
            return low.option(x.valid, over(x.content, axis), x.hides)
        if isinstance(x, Lists):
            return Lists(x.lists, over(x.content, axis - 1), x.domain)
        raise Unsupported("is_none of this axis")

    return over(array, level(array, axis))


@lowers(ak.drop_none)
def drop_none(low: Lowering, node: Any, array: Any, axis: Any = None, **_kwargs: Any) -> Any:
    """Missing values of one axis, or of all."""
    needs_array(array)

    def over(x: Any, axis: int | None) -> Any:
        if isinstance(x, Option):
            if axis is not None and axis > 0:
                return low.option(x.valid, over(x.content, axis))
            kept = low.builder.filter(x.domain, low.everywhere(x.valid, x.domain).handle)
            return over(low.filtered(x.content, kept), axis)
        if isinstance(x, Lists) and (axis is None or axis > 0):
            inner = x.content
            if isinstance(inner, Option) and (axis is None or axis == 1):
                kept = low.builder.filter(x.lists, low.everywhere(inner.valid, x.lists).handle)
                x, inner = low.lists(kept, None), low.filtered(inner.content, kept)
            return Lists(x.lists, over(inner, None if axis is None else axis - 1), x.domain)
        if isinstance(x, Column) or (isinstance(x, Record | Lists) and axis == 0):
            return x
        if isinstance(x, Record) and axis is None and all(isinstance(y, Column) for y in x.fields.values()):
            return x
        raise Unsupported(f"drop_none of {type(x).__name__}")

    return over(array, None if axis is None else level(array, axis))


@lowers(ak.fill_none)
def fill_none(low: Lowering, node: Any, array: Any, value: Any, axis: Any = -1, **_kwargs: Any) -> Any:
    needs_array(array)
    if not isinstance(value, Scalar):
        raise Unsupported("fill_none by other than a number")

    def over(x: Any, axis: int | None, layout: Any) -> Any:
        while layout.is_indexed and not layout.is_option:
            layout = layout._content
        if layout.is_numpy:
            layout = layout.to_RegularArray()
        if isinstance(x, Option) and (axis is None or axis == 0):
            if not isinstance(x.content, Column):
                raise Unsupported(f"fill_none of {type(x.content).__name__}")
            dtype = leaf_type(layout)
            number = _number_as(low, value, dtype)
            return Column(low.map("where", x.valid, low.convert(x.content.value, dtype), number), x.domain)
        if isinstance(x, Option):
            return low.option(x.valid, over(x.content, axis, layout._content), x.hides)
        if isinstance(x, Lists):
            return Lists(x.lists, over(x.content, None if axis is None else axis - 1, layout._content), x.domain)
        if isinstance(x, Fixed):
            return Fixed([over(y, None if axis is None else axis - 1, layout._content) for y in x.contents])
        if isinstance(x, Column) and (axis is None or axis == 0):
            return x
        raise Unsupported(f"fill_none of {type(x).__name__}")

    return over(array, None if axis is None else level(array, axis), node.meta._layout)


@lowers(ak.mask)
def mask(low: Lowering, node: Any, array: Any, mask: Any, *, valid_when: Any = True, **_kwargs: Any) -> Any:
    needs_array(array)
    keeps = is_true(valid_when)

    def leaf(args: list) -> Any:
        x, m = args
        low.one_domain(args)
        return low.option(m.value if keeps else low.invert(m.value), x, "content")

    def stop(args: list) -> bool:
        return isinstance(args[1], Column)

    if isinstance(mask, Column) and mask.value.dtype != "bool":
        raise Unsupported("a mask that is not of booleans")
    return low.broadcast([array, mask], leaf, stop)


@lowers(ak.where)
def where(low: Lowering, node: Any, *args: Any, **_kwargs: Any) -> Any:
    if len(args) != 3:
        raise Unsupported("where with one argument")
    condition, x, y = args
    needs_array(condition)

    def stop(args: list) -> bool:
        return isinstance(args[0], Column) or any(isinstance(z, Option) for z in args)

    def leaf(args: list) -> Any:
        condition, *sides = args
        domain = low.one_domain(args)
        sides = [_as_array(low, side, domain) for side in sides]
        if isinstance(condition, Column):
            return over(low.convert(condition.value, "bool"), *sides, domain)
        # Awkward chooses among the contents, and masks the numbers of the result.
        inside, *contents = [z.content if isinstance(z, Option) else z for z in (condition, *sides)]
        if not isinstance(inside, Column) or any(map(has_lists, contents)):
            raise Unsupported("where of missing lists")
        test = low.convert(inside.value, "bool")
        valid = low.map("where", test, *map(valid_of, sides))
        return masked(over(test, *contents, domain), low.both(valid_of(condition), low.everywhere(valid, domain)))

    def valid_of(x: Any) -> Val:
        return x.valid if isinstance(x, Option) else low.constant(True, "bool")

    def masked(x: Any, valid: Val) -> Any:
        if isinstance(x, Record):
            return Record({name: masked(y, valid) for name, y in x.fields.items()}, x.domain)
        if isinstance(x, Option):
            return low.option(x.valid, masked(x.content, valid))
        if isinstance(x, Column):
            return low.option(valid, x, "content")
        raise Unsupported(f"where of missing {type(x).__name__}")

    def over(test: Val, x: Any, y: Any, domain: int) -> Any:
        if isinstance(x, Option) or isinstance(y, Option):
            inner = over(test, *[z.content if isinstance(z, Option) else z for z in (x, y)], domain)
            return low.option(low.map("where", test, *map(valid_of, (x, y))), inner)
        if isinstance(x, Record) and isinstance(y, Record) and list(x.fields) == list(y.fields):
            return Record({name: over(test, x.fields[name], y.fields[name], domain) for name in x.fields}, domain)
        if not isinstance(x, Column) or not isinstance(y, Column):
            raise Unsupported("where of these types")
        types = {x.value.dtype, y.value.dtype}
        if "bool" in types and len(types) > 1:
            raise Unsupported("where of booleans and numbers")
        dtype = np.result_type(*types).name
        return Column(low.map("where", test, low.convert(x.value, dtype), low.convert(y.value, dtype)), domain)

    return low.broadcast([condition, x, y], leaf, stop)


@lowers(ak.broadcast_arrays)
def broadcast_arrays(low: Lowering, node: Any, *arrays: Any, **kwargs: Any) -> list:
    if kwargs:
        raise Unsupported("broadcast_arrays with keywords")

    def of(which: int) -> Any:
        def leaf(leaves: list) -> Any:
            if any(isinstance(x, Record) for x in leaves):
                raise Unsupported("broadcast_arrays of records")
            return _as_array(low, leaves[which], low.one_domain(leaves))

        return low.broadcast(list(arrays), leaf)

    return [of(which) for which in range(len(arrays))]


@lowers(ak.nan_to_num)
def nan_to_num(low: Lowering, node: Any, array: Any, copy: Any = True, nan: Any = None, posinf: Any = None,
               neginf: Any = None, **_kwargs: Any) -> Any:  # fmt: skip
    def over(x: Any) -> Any:
        return numbers.nan_to_num(low, x, nan, posinf, neginf) if isinstance(x, Column) else _inside(low, x, over)

    return over(array)


@lowers(ak.isclose)
def isclose(low: Lowering, node: Any, a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False,
            **_kwargs: Any) -> Any:  # fmt: skip
    """As NumPy: |a - b| <= atol + rtol * |b|, and infinities of one sign are close."""
    if not all(type(x) in (int, float) for x in (rtol, atol)):
        raise Unsupported("isclose with tolerances that are not numbers")

    def leaf(leaves: list) -> Column:
        x, y = leaves
        if not isinstance(x, Column) or not isinstance(y, Column):
            raise Unsupported("isclose of other than numbers")

        def of(function: Any, *args: Any) -> Any:
            return numbers.of_columns(low, function, list(args))

        if not y.value.dtype.startswith("f"):
            y = Column(low.convert(y.value, "float64"), y.domain)
        bound = of(np.add, Scalar(atol), of(np.multiply, Scalar(rtol), of(np.absolute, y)))
        near = of(np.less_equal, of(np.absolute, of(np.subtract, x, y)), bound)
        made = of(np.bitwise_or, of(np.bitwise_and, near, of(np.isfinite, y)), of(np.equal, x, y))
        if is_true(equal_nan):
            made = of(np.bitwise_or, made, of(np.bitwise_and, of(np.isnan, x), of(np.isnan, y)))
        return made

    return low.broadcast([a, b], leaf)


# ------------------------------------------------------------------------------------------------------------ callbacks


@lowers(ak.transform)
def transform(low: Lowering, node: Any, callback: Any, *arrays: Any, **kwargs: Any) -> Any:
    """Only of functions that apply ufuncs to the numbers, such as vector's."""
    expressions = getattr(callback, "expressions", None)
    if expressions is None or kwargs:
        raise Unsupported("a transformation that does more than ufuncs")

    def of(expression: Any) -> Any:
        return low.broadcast(list(arrays), lambda leaves: numbers.expression(low, expression, leaves))

    made = tuple(map(of, expressions))
    return made if len(made) > 1 else made[0]


# ----------------------------------------------------------------------------------------------------------- reductions


def _reduced(low: Lowering, array: Any, axis: Any, keepdims: Any, of: Any) -> Any:
    """of(value, lists, domain) of the lists whose elements this axis counts. Missing elements do not take part."""
    needs_array(array)
    if axis is None:
        raise Unsupported("a reduction to one number")
    axis = level(array, axis)
    if axis < 1 or depth(array) != axis + 1:
        raise Unsupported("a reduction that is not over the innermost lists")

    def over(x: Any, axis: int) -> Any:
        if isinstance(x, Option):
            return low.option(x.valid, over(x.content, axis), "nothing")
        if isinstance(x, Single):
            x = low.as_lists(x)
        if not isinstance(x, Lists):
            raise Unsupported(f"a reduction of {type(x).__name__}")
        if axis > 1:
            return Lists(x.lists, over(x.content, axis - 1), x.domain)
        origin, content = x.lists, x.content
        lists = origin
        if isinstance(content, Option):
            lists = low.builder.filter(origin, low.everywhere(content.valid, origin).handle)
            content = low.filtered(content.content, lists)
        if not isinstance(content, Column):
            raise Unsupported(f"a reduction of {type(content).__name__}")
        made = of(content.value, lists, origin, x.domain)
        return Single(made) if is_true(keepdims) else made

    return over(array, axis)


def _nonempty(low: Lowering, lists: int) -> Val:
    return low.map("greater", low.counts(lists), low.constant(0, "int32"))


def _reduce(low: Lowering, name: str, value: Val, lists: int) -> Val:
    value = low.everywhere(value, lists)
    return low.val(low.builder.reduce(name, value.handle, lists), "reduce")


def _with_identity(low: Lowering, made: Val, lists: int, domain: int, mask_identity: Any) -> Any:
    column = Column(made, domain)
    return low.option(_nonempty(low, lists), column) if is_true(mask_identity) else column


_NAMES = {ak.sum: "sum", ak.prod: "product", ak.any: "any", ak.all: "all", ak.nansum: "sum", ak.nanprod: "product"}


@lowers(ak.sum, ak.prod, ak.any, ak.all)
def fold(low: Lowering, node: Any, array: Any, axis: Any = None, *, keepdims: Any = False, mask_identity: Any = False,
         **_kwargs: Any) -> Any:  # fmt: skip
    def of(value: Val, lists: int, _origin: int, domain: int) -> Any:
        return _with_identity(low, _reduce(low, _NAMES[node.function], value, lists), lists, domain, mask_identity)

    return _reduced(low, array, axis, keepdims, of)


@lowers(ak.count)
def count(low: Lowering, node: Any, array: Any, axis: Any = None, *, keepdims: Any = False, mask_identity: Any = False,
          **_kwargs: Any) -> Any:  # fmt: skip
    def of(_value: Val, lists: int, _origin: int, domain: int) -> Any:
        return _with_identity(low, low.convert(low.counts(lists), "int64"), lists, domain, mask_identity)

    return _reduced(low, array, axis, keepdims, of)


@lowers(ak.count_nonzero)
def count_nonzero(low: Lowering, node: Any, array: Any, axis: Any = None, *, keepdims: Any = False, mask_identity: Any = False,
                  **_kwargs: Any) -> Any:  # fmt: skip
    def of(value: Val, lists: int, _origin: int, domain: int) -> Any:
        made = _reduce(low, "sum", low.convert(value, "bool"), lists)
        return _with_identity(low, made, lists, domain, mask_identity)

    return _reduced(low, array, axis, keepdims, of)


@lowers(ak.min, ak.max)
def extremum(low: Lowering, node: Any, array: Any, axis: Any = None, *, keepdims: Any = False, initial: Any = None,
             mask_identity: Any = True, **_kwargs: Any) -> Any:  # fmt: skip
    if initial is not None:
        raise Unsupported("an initial value")
    name = "minimum" if node.function in (ak.min, ak.nanmin) else "maximum"

    def of(value: Val, lists: int, _origin: int, domain: int) -> Any:
        if value.dtype == "bool":
            raise Unsupported(f"{name} of booleans")
        return _with_identity(low, _reduce(low, name, value, lists), lists, domain, mask_identity)

    return _reduced(low, array, axis, keepdims, of)


@lowers(ak.argmin, ak.argmax)
def position_of(low: Lowering, node: Any, array: Any, axis: Any = None, *, keepdims: Any = False, mask_identity: Any = True,
                **_kwargs: Any) -> Any:  # fmt: skip
    name = "argmin" if node.function is ak.argmin else "argmax"
    if not is_true(mask_identity):
        raise Unsupported("mask_identity=False")

    def of(value: Val, lists: int, origin: int, domain: int) -> Any:
        if value.dtype == "bool":
            value = low.convert(value, "int8")
        place = _reduce(low, name, value, lists)
        place.chooses = True
        if lists != origin:  # without missing elements: Awkward counts them
            place = low.take(low.source(lists, 0, True), place)
            place.chooses = True
        return low.option(_nonempty(low, lists), Column(low.local_index(origin, place, None), domain))

    return _reduced(low, array, axis, keepdims, of)


def _nan_where_empty(low: Lowering, value: Val, lists: int) -> Val:
    """NumPy's NaN, whose sign differs from that of 0 / 0 on x86: copysign and signbit show it."""
    return low.map("where", _nonempty(low, lists), value, low.constant(np.nan, "float64"))


@lowers(ak.mean)
def mean(low: Lowering, node: Any, x: Any, weight: Any = None, axis: Any = None, *, keepdims: Any = False,
         mask_identity: Any = False, **_kwargs: Any) -> Any:  # fmt: skip
    if weight is not None:
        raise Unsupported("a mean with weights")

    def of(value: Val, lists: int, _origin: int, domain: int) -> Any:
        total = _reduce(low, "sum", low.convert(value, "float64"), lists)
        made = low.map("divide", total, low.convert(low.counts(lists), "float64"))
        return _with_identity(low, _nan_where_empty(low, made, lists), lists, domain, mask_identity)

    return _reduced(low, x, axis, keepdims, of)


@lowers(ak.var, ak.std)
def variance(low: Lowering, node: Any, x: Any, weight: Any = None, ddof: Any = 0, axis: Any = None, *, keepdims: Any = False,
             mask_identity: Any = False, **_kwargs: Any) -> Any:  # fmt: skip
    """The mean of the squared distances from the mean."""
    if weight is not None or ddof != 0:
        raise Unsupported(f"{node.name} with weights or ddof")

    def of(value: Val, lists: int, _origin: int, domain: int) -> Any:
        value = low.everywhere(low.convert(value, "float64"), lists)
        count = low.convert(low.counts(lists), "float64")
        center = low.map("divide", _reduce(low, "sum", value, lists), count)
        distance = low.map("subtract", value, low.take(center, low.parents(lists)))
        made = low.map("divide", _reduce(low, "sum", low.map("multiply", distance, distance), lists), count)
        if node.function in (ak.std, ak.nanstd):
            made = low.map("sqrt", made)
        return _with_identity(low, _nan_where_empty(low, made, lists), lists, domain, mask_identity)

    return _reduced(low, x, axis, keepdims, of)


@lowers(ak.ptp)
def range_of_values(low: Lowering, node: Any, array: Any, axis: Any = None, *, keepdims: Any = False, mask_identity: Any = True,
                    **_kwargs: Any) -> Any:  # fmt: skip
    if not is_true(mask_identity):
        raise Unsupported("mask_identity=False")

    def of(value: Val, lists: int, _origin: int, domain: int) -> Any:
        if value.dtype == "bool":
            raise Unsupported("ptp of booleans")
        made = low.map("subtract", _reduce(low, "maximum", value, lists), _reduce(low, "minimum", value, lists))
        return _with_identity(low, made, lists, domain, True)

    return _reduced(low, array, axis, keepdims, of)


for _function, _of in {
    ak.nansum: fold,
    ak.nanprod: fold,
    ak.nanmin: extremum,
    ak.nanmax: extremum,
    ak.nanmean: mean,
    ak.nanvar: variance,
    ak.nanstd: variance,
}.items():
    CALLS[_function] = _without_nan(_of)


# -------------------------------------------------------------------------------------------------------------- sorting


def _order(low: Lowering, x: Lists, ascending: Any) -> tuple[Val, Val]:
    if not isinstance(x.content, Column):
        raise Unsupported(f"a sort of {type(x.content).__name__}")
    value = low.everywhere(x.content.value, x.lists)
    if value.dtype == "bool":
        raise Unsupported("a sort of booleans")
    return value, low.val(low.builder.argsort(value.handle, x.lists, is_true(ascending)), "argsort")


def _innermost(array: Any, axis: Any) -> int:
    axis = level(array, axis)
    if axis < 1 or depth(array) != axis + 1:
        raise Unsupported("a sort that is not of the innermost lists")
    return axis


@lowers(ak.sort)
def sort(low: Lowering, node: Any, array: Any, axis: Any = -1, *, ascending: Any = True, **_kwargs: Any) -> Any:
    def of(x: Lists) -> Any:
        value, order = _order(low, x, ascending)
        return Lists(x.lists, Column(low.take(value, order), x.lists), x.domain)

    return at_lists(low, array, _innermost(array, axis), of)


@lowers(ak.argsort)
def argsort(low: Lowering, node: Any, array: Any, axis: Any = -1, *, ascending: Any = True, **_kwargs: Any) -> Any:
    def of(x: Lists) -> Any:
        _, order = _order(low, x, ascending)
        return Lists(x.lists, Column(low.local_index(x.lists, order, x.lists), x.lists), x.domain)

    return at_lists(low, array, _innermost(array, axis), of)


# ---------------------------------------------------------------------------------------------------------------- nodes


# Functions with arguments that are numbers in the place of arrays.
_OF_NUMBERS = {ak.broadcast_arrays, ak.where, ak.fill_none, ak.with_field, ak.full_like, ak.zip, ak.nan_to_num}


def _as_scalar(x: Any) -> Any:
    """A literal number as a Scalar, also in a container of arrays."""
    if isinstance(x, dict):
        return {name: _as_scalar(y) for name, y in x.items()}
    if isinstance(x, list | tuple):
        return [_as_scalar(y) for y in x]
    return Scalar(x) if isinstance(x, bool | int | float | np.number | np.bool_) else x


def _without_ellipsis(x: Any, where: Any) -> Any:
    """A subscript with a slice for each dimension that `...` stands for."""
    if not isinstance(where, tuple) or not any(y is Ellipsis for y in where):
        return where
    needs_array(x)
    at = next(i for i, y in enumerate(where) if y is Ellipsis)
    others = [*where[:at], *where[at + 1 :]]
    is_plain = all(isinstance(y, int | slice) for y in others)
    if not is_plain or not of_one_depth(x) or depth(x) < len(others):
        raise Unsupported("a subscript with ...")
    return (*where[:at], *[slice(None)] * (depth(x) - len(others)), *where[at + 1 :])


def lowered(low: Lowering, node: Any, args: list, kwargs: dict) -> Any:
    """The lowered result of a node: an array, or a tuple of arrays."""
    if node.kind == "ufunc":
        return numbers.ufunc(low, node.function, [_as_scalar(x) for x in args])
    if node.kind == "part":
        return args[0][args[1].number if isinstance(args[1], Scalar) else args[1]]
    if node.kind == "field":
        return low.field(*args)
    if node.kind == "item":
        return low.item(args[0], _without_ellipsis(*args))
    if type(node.function) is corrections.Evaluation:
        return corrections.lowered(low, node.function, *args)
    function = CALLS.get(node.function)
    if function is None:
        raise Unsupported(f"plans have no {node.name}")
    if kwargs.get("highlevel", True) is not True:
        raise Unsupported("highlevel=False")
    kwargs = {name: x for name, x in kwargs.items() if name != "highlevel"}
    if node.function in _OF_NUMBERS:
        args = [_as_scalar(x) for x in args]
        kwargs = {
            name: _as_scalar(x) if name in ("x", "y", "value", "fill_value", "what", "nan") else x for name, x in kwargs.items()
        }
    return function(low, node, *args, **kwargs)
