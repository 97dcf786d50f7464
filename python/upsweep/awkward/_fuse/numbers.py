# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/numbers.py: NumPy's ufuncs as element-wise operations of a plan. NumPy itself says the types.
from __future__ import annotations

from typing import Any

import numpy as np

from upsweep.awkward._fuse.arrays import Column, Record, Scalar, Unsupported, Val
from upsweep.awkward._fuse.layouts import TYPES
from upsweep.awkward._fuse.lowering import Lowering

# ufuncs whose operands and result have one type, with the plan's names. Those of the same name are not listed.
_RENAMED = {
    "true_divide": "divide",
    "bitwise_and": "bit_and",
    "bitwise_or": "bit_or",
    "bitwise_xor": "bit_xor",
    "not_equal": "unequal",
    "fabs": "absolute",
    "float_power": "power",
    "isnan": "is_nan",
    "isinf": "is_infinite",
    "isfinite": "is_finite",
    "signbit": "sign_bit",
}
_OF_BOOLEANS = {"add": "bit_or", "multiply": "bit_and", "maximum": "bit_or", "minimum": "bit_and", "logical_and": "bit_and",
                "logical_or": "bit_or", "logical_xor": "bit_xor", "logical_not": "invert", "fmax": "bit_or",
                "fmin": "bit_and"}  # fmt: skip
_COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_OF_INTEGERS_IDENTITY = {"floor", "ceil", "trunc", "rint", "positive", "conjugate"}


def kind_of(x: Any) -> Any:
    """The type of an operand as NumPy's promotion takes it: Python's int and float are weak."""
    if isinstance(x, Column):
        return np.dtype(x.value.dtype)
    number = x.number
    if isinstance(number, np.generic):
        return number.dtype
    return np.dtype(bool) if isinstance(number, bool) else type(number)


def ufunc(low: Lowering, function: Any, args: list[Any]) -> Any:
    """A ufunc of arrays and numbers, broadcast as Awkward broadcasts."""
    if function.nout != 1:
        raise Unsupported(f"{function.__name__}, which has several results")
    if low.exact and function is np.float_power:
        raise Unsupported("float_power, whose bits differ from those of power")
    return low.broadcast(args, lambda leaves: of_columns(low, function, leaves))


def of_columns(low: Lowering, function: Any, args: list[Any]) -> Column:
    if any(isinstance(x, Record) for x in args):
        raise Unsupported(f"{function.__name__} of records")
    domain = low.one_domain(args)
    try:
        resolved = function.resolve_dtypes((*map(kind_of, args), *[None] * function.nout))
    except (TypeError, np.exceptions.DTypePromotionError) as error:
        raise Unsupported(f"{function.__name__}: {error}") from error
    values = [x.value if isinstance(x, Column) else x for x in args]
    return Column(_operation(low, function.__name__, values, resolved, domain), domain)


def expression(low: Lowering, x: Any, leaves: list[Column]) -> Any:
    """The value of an expression of callbacks.Traced."""
    if isinstance(x, int):
        return leaves[x]
    if not isinstance(x, tuple):
        return None if x.number is None else Scalar(x.number)
    function, operands = x
    args = [expression(low, y, leaves) for y in operands]
    return nan_to_num(low, *args) if function == "nan_to_num" else of_columns(low, function, args)


def nan_to_num(low: Lowering, x: Column, nan: Any, posinf: Any, neginf: Any) -> Column:
    value = x.value
    if not value.dtype.startswith("f"):
        return x
    info = np.finfo(value.dtype)
    given = (nan or Scalar(0.0), posinf or Scalar(float(info.max)), neginf or Scalar(float(info.min)))
    if not all(isinstance(y, Scalar | Column) for y in given):
        raise Unsupported("nan_to_num by other than numbers")
    of_nan, high, least = (operand(low, y.value if isinstance(y, Column) else y, value.dtype) for y in given)
    infinite = low.map("where", low.map("less", value, low.constant(0, value.dtype)), least, high)
    made = low.map("where", low.map("is_infinite", value), infinite, value)
    return Column(low.map("where", low.map("is_nan", value), of_nan, made), x.domain)


def operand(low: Lowering, x: Val | Scalar, dtype: str) -> Val:
    return low.scalar(x, dtype) if isinstance(x, Scalar) else low.convert(x, dtype)


def _operation(low: Lowering, name: str, values: list[Any], resolved: tuple, domain: int) -> Val:
    *types, result = resolved
    if name.startswith("logical_"):
        booleans = [low.convert(operand(low, x, _own(x)), "bool") for x in values]
        return low.map(_OF_BOOLEANS[name], *booleans)
    for dtype in resolved:
        if dtype.name not in TYPES:
            raise Unsupported(f"{name} with numbers of type {dtype}")
    if name in _COMPARISONS and types[0] != types[1]:
        return _of_mixed_signs(low, name, values, types)
    of = types[0].name
    kind = types[0].kind
    args = [operand(low, x, dtype.name) for x, dtype in zip(values, types)]
    if kind == "b" and name in _OF_BOOLEANS:
        return low.map(_OF_BOOLEANS[name], *args)
    if name in ("positive", "conjugate") or (kind in "biu" and name in _OF_INTEGERS_IDENTITY and result == types[0]):
        return args[0]
    if kind in "bu" and name in ("absolute", "fabs") and result == types[0]:
        return args[0]
    if kind in "biu" and name in ("isnan", "isinf", "isfinite"):
        return low.everywhere(low.constant(name == "isfinite", "bool"), domain)
    if name == "square":
        return low.map("multiply", args[0], args[0])
    if name == "reciprocal" and kind == "f":
        return low.map("divide", low.constant(1, of), args[0])
    if name in ("deg2rad", "radians", "rad2deg", "degrees"):
        pi, half_turn = types[0].type(np.pi), types[0].type(180)  # NumPy divides numbers of this type
        factor = pi / half_turn if name in ("deg2rad", "radians") else half_turn / pi
        return low.map("multiply", args[0], low.constant(factor, of))
    if name == "power":
        return _power(low, args, values[1], kind)
    if name in ("left_shift", "right_shift"):
        distance = values[1]
        if not isinstance(distance, Scalar) or distance.node is not None or not 0 <= distance.number < 8 * types[0].itemsize:
            raise Unsupported(f"{name} by other than a small constant")
        return low.map("shift_" + name.split("_")[0], *args)
    op = _RENAMED.get(name, name)
    if not low.builder.is_op(op):
        raise Unsupported(name)
    return low.map(op, *args)


def _own(x: Val | Scalar) -> str:
    """The type of an operand that is not converted."""
    if isinstance(x, Val):
        return x.dtype
    number = x.number
    if isinstance(number, np.generic):
        return number.dtype.name
    return "bool" if isinstance(number, bool) else "int64" if isinstance(number, int) else "float64"


def _power(low: Lowering, args: list[Val], exponent: Any, kind: str) -> Val:
    is_literal = isinstance(exponent, Scalar) and exponent.node is None
    if is_literal and exponent.number == 2:
        return low.map("multiply", args[0], args[0])
    if kind == "i" and not (is_literal and exponent.number >= 0):
        if args[1].domain is None:
            raise Unsupported("a power of integers by a number that is not a constant")
        low.check(low.map("greater_equal", args[1], low.constant(0, args[1].dtype)), "integers to negative integer powers")
    return low.map("power", *args)


def _of_mixed_signs(low: Lowering, name: str, values: list[Any], types: list) -> Val:
    """Comparisons of int64 with uint64, whose common type would be float64."""
    if {x.name for x in types} != {"int64", "uint64"}:
        raise Unsupported(f"{name} of {types[0]} and {types[1]}")
    swapped = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
    op = _RENAMED.get(name, name)
    signed, unsigned = (operand(low, x, dtype.name) for x, dtype in zip(values, types))
    if types[0].name == "uint64":
        op, signed, unsigned = swapped.get(op, op), unsigned, signed
    negative = low.map("less", signed, low.constant(0, "int64"))
    compared = low.map(op, low.convert(signed, "uint64"), unsigned)
    if op in ("less", "less_equal", "unequal"):  # true if the signed number is negative
        return low.map("bit_or", negative, compared)
    return low.both(low.invert(negative), compared)
