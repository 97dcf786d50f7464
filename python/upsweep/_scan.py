# SPDX-License-Identifier: Apache-2.0
# upsweep/_scan.py: scans and reductions along an axis, and offsets.

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core, _options
from ._arrays import (
    NUMPY,
    Array,
    dtype_name,
    flag,
    flat,
    number_type,
    require_numbers,
    result_type,
    take_in,
    take_in_numbers,
    take_out,
    whole,
)
from ._lists import take_in_pair
from ._plain import plain
from ._times import take_times

OPERATORS: tuple[str, ...] = _core.OPERATORS


def _hint(word: str) -> str:
    return str(_core.operator_hint(word)) if word.isascii() else ""  # other strings may not be valid UTF-8


def operator_name(op: Any, others: Iterable[str] = ()) -> str:
    """Returns the name of an operator, or one of `others`. Raises TypeError if it is not a string, ValueError for an unknown name."""
    names = (*OPERATORS, *others)
    if not isinstance(op, str):
        called = str(getattr(op, "__name__", ""))
        hint = f': write op="{called}"' if called in names else _hint(called)
        raise TypeError(f"op: the name of an operator is needed, one of {', '.join(names)}, not {op!r}{hint}")
    if op not in names:
        raise ValueError(f"op: one of {', '.join(names)}, not {op!r}{_hint(op)}")
    return op


def _axis(axis: int | None, ndim: int, name: str) -> int:
    if axis is None:
        if ndim == 1:
            return 0
        raise ValueError(f"{name}: x has {ndim} dimensions: pass axis=")
    axis = whole(axis, "axis")
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis: {axis} is out of range for an array of {ndim} dimensions")
    return axis % ndim


def default_type(dtype: str, op: str) -> str:
    """The default type of a result: for sums and products the widest type of its kind, otherwise the elements' type."""
    if op not in ("add", "mul"):
        return dtype
    if dtype.startswith("float"):
        return dtype
    return "uint64" if dtype.startswith("uint") else "int64"


def type_of_result(x: Array, op: str, dtype: Any, out: Array | None, overflow: str | None) -> str:
    """The type of a result: `dtype` if given, otherwise `out`'s type, otherwise the default.

    Raises NotImplementedError if products are to be checked. Booleans that are folded into signed integers become int8. To
    upsweep._core they are uint8, which int8 cannot represent, and which a GPU sums only in uint64.
    """
    usual = default_type(x.dtype, op)
    if dtype is not None:
        wanted = usual if dtype_name(dtype) == usual else result_type(dtype)
        if out is not None and out.dtype != wanted:
            raise TypeError(f"out: dtype is {wanted}, but out's is {out.dtype}")
    else:
        wanted = number_type(out, "out") if out is not None else usual
    if wanted == "bool" and usual != "bool":
        raise TypeError(f"out: {x.dtype} elements folded by {op} are not bool")
    if x.dtype.startswith("float") and not wanted.startswith("float"):
        raise TypeError(
            f"{'out' if dtype is None else 'dtype'}: {x.dtype} elements are not folded into {wanted}: convert them first"
        )
    if op == "mul" and _options.check_overflow(overflow) == "checked" and not wanted.startswith("float"):
        raise NotImplementedError('overflow: products of integers always wrap (modulo 2**bits): pass overflow="wrap"')
    if x.dtype == "bool" and wanted.startswith("int"):
        x.data = x.xp.view_as(x.data, "int8")
    return wanted


def beginning(initial: Any, op: str, dtype: str) -> np.ndarray | None:
    """The initial value of a fold. Booleans, which are bytes to the core, need their own identity."""
    if initial is None and dtype == "bool" and op in ("min", "and"):
        initial = True
    return one(initial, dtype, "initial")


def one(value: Any, dtype: str, name: str) -> np.ndarray | None:
    """Converts a value to a one-element array of that type in host memory. Raises an error if the value does not fit."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError(f"{name}: one value is needed, not {array.size}")
    number = array.reshape(()).item()
    if not isinstance(number, (bool, int, float)):
        raise TypeError(f"{name}: {value!r} is not a number")
    if dtype.startswith("float"):
        return _one_float(number, dtype, name)
    if isinstance(number, float):
        raise TypeError(f"{name}: {value!r} is not of the result's type, {dtype}")
    least, most = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not least <= number <= most:
        raise OverflowError(f"{name}: {value!r} does not fit {dtype}")
    return np.array([number], dtype)


def _one_float(number: float, dtype: str, name: str) -> np.ndarray:
    try:
        with np.errstate(over="raise"):
            return np.array([float(number)]).astype(dtype)
    except (OverflowError, FloatingPointError):
        raise OverflowError(f"{name}: {number!r} does not fit {dtype}") from None


def checked_out(out: Any, like: Array, shape: tuple[int, ...]) -> Array | None:
    """Converts `out` to an Array. It must have that shape, be writable, and be on the same device as the input."""
    if out is None:
        return None
    given = take_out(out)
    if given.xp.device != like.xp.device:
        raise ValueError("out: it must be on the same device as the input")
    if tuple(given.data.shape) != tuple(shape):
        raise ValueError(f"out: shape {tuple(given.data.shape)}, but the result's is {tuple(shape)}")
    if not given.xp.is_writable(given.data):
        raise ValueError("out: the array is read-only")
    return given


@plain
def scan(
    x: Any,
    /,
    *,
    op: str = "add",
    exclusive: bool = False,
    initial: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    overflow: str | None = None,
    out: Any = None,
) -> Any:
    """Computes every prefix of an array, folded by an associative operator.

    Parameters
    ----------
    x : array
        Elements are integers of 8 to 64 bits, float32, float64 or bool; any shape and strides. The array may be of NumPy, CuPy,
        PyTorch, JAX, pyarrow, Polars or pandas. The result belongs to the same library, in the same memory. Dates, times and
        durations (datetime64, timedelta64) have a minimum and a maximum, and durations a sum, of the same type.
    op : str
        The name of an operator, such as "add", "min" or "xor". The error for an unknown name lists all. Bitwise operators need
        integers.
    exclusive : bool
        If true, the prefix of an element excludes the element. The first result is then `initial`, or the operator's identity.
    initial : scalar, optional
        The value that every prefix starts with.
    axis : int, optional
        The axis to scan along. It may be omitted for one-dimensional arrays.
    dtype : optional
        The type of the result and of the computation. The default for sums and products is int64, uint64 or the float type
        itself. For other operators it is x's type. A GPU refuses products of another integer type than x's, also the default.
    overflow : {"checked", "wrap"}, optional
        The handling of integer sums that do not fit. "checked" raises OverflowError with the `index` of the first such sum; it
        is the default in host memory. "wrap" computes modulo 2**bits; it is the default on a GPU, where "checked" is not
        possible. Products of integers are always modulo 2**bits.
    out : array, optional
        The array to write the result to, of the result's shape. It may be x. The function returns this array.

    Returns
    -------
    array
        An array of x's shape.

    Raises
    ------
    TypeError
        The elements have an unsupported type. x is a masked array.
    ValueError
        The operator, axis or rung is unknown. The shape of `out` is not that of the result.
    OverflowError
        A sum does not fit, and sums are checked.
    NotImplementedError
        overflow="checked" for products of integers, or on a GPU. A result type that a GPU does not compute.

    Notes
    -----
    float32 is added in float32, in blocks. Beyond about 65,536 elements, the error therefore barely grows with the length. The
    result has the same bits on every run, with any number of threads.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.scan(numpy.array([3, 1, 4, 1, 5]), op="max")
    array([3, 3, 4, 4, 5])
    >>> upsweep.scan(numpy.array([3, 1, 4, 1, 5]), exclusive=True, initial=10)
    array([10, 13, 14, 18, 19])
    """
    return _scan(x, operator_name(op), flag(exclusive, "exclusive"), initial, axis, dtype, overflow, out, "scan")


@plain
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
    out: Any = None,
    overflow: str | None = None,
) -> Any:
    """Computes the sum of each element and all elements before it, as in the Array API.

    Parameters
    ----------
    x : array
        Elements are integers of 8 to 64 bits, float32, float64 or bool. It may have any shape and strides.
    axis : int, optional
        The axis to sum along. It may be omitted for one-dimensional arrays.
    dtype : optional
        The type of the result and of the computation. The default is int64, uint64 or the float type itself.
    include_initial : bool
        If true, the result starts with 0. It has one more element along the axis.
    out : array, optional
        The array to write the result to, of the result's shape. It may be x. The function returns this array.
    overflow : {"checked", "wrap"}, optional
        The handling of integer sums that do not fit. "checked" raises OverflowError with the `index` of the first such sum; it
        is the default in host memory. "wrap" computes modulo 2**bits; it is the default on a GPU, where "checked" is not
        possible.

    Returns
    -------
    array
        An array of x's shape and library, in the same memory. `scan` describes the libraries, the errors and the addition of
        floats.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.cumulative_sum(numpy.array([3, 1, 4, 1, 5]))
    array([ 3,  4,  8,  9, 14])
    >>> upsweep.cumulative_sum(numpy.array([3, 1, 4]), include_initial=True)
    array([0, 3, 4, 8])
    """
    return _cumulative("add", x, axis, dtype, include_initial, out, overflow)


@plain
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
    out: Any = None,
    overflow: str | None = None,
) -> Any:
    """Computes the product of each element and all elements before it, as in the Array API.

    Parameters and errors are the same as for `cumulative_sum`. Products of integers are modulo 2**bits: overflow="checked"
    raises NotImplementedError. The initial element is 1. On a GPU, integers of less than 64 bits, and bool, need `dtype`: their own
    type, for bool "int8". The default type raises NotImplementedError there.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.cumulative_prod(numpy.array([3, 1, 4, 1, 5]))
    array([ 3,  3, 12, 12, 60])
    """
    return _cumulative("mul", x, axis, dtype, include_initial, out, overflow)


def _cumulative(op: str, x: Any, axis: Any, dtype: Any, include_initial: bool, out: Any, overflow: Any) -> Any:
    name = "cumulative_sum" if op == "add" else "cumulative_prod"
    if not flag(include_initial, "include_initial"):
        return _scan(x, op, False, None, axis, dtype, overflow, out, name)
    return _with_initial(take_in_numbers(x, "x"), op, axis, dtype, overflow, out, name)


def _with_initial(x: Array, op: str, axis: int | None, dtype: Any, overflow: str | None, out: Any, name: str) -> Any:
    along = _axis(axis, x.data.ndim, name)
    shape = list(x.data.shape)
    shape[along] += 1
    given = checked_out(out, x, tuple(shape))
    wanted = type_of_result(x, op, dtype, given, overflow)
    result = given.data if given is not None else x.xp.empty(tuple(shape), wanted)
    moved = x.xp.moveaxis(result, along, 0)
    source = x.data
    if given is not None and x.xp.overlap(source, result):
        source = x.xp.contiguous(source) + 0  # the first prefix would overwrite the first element
    moved[0] = 0 if op == "add" else 1
    try:
        _scan(source, op, False, None, along, wanted, overflow, x.xp.moveaxis(moved[1:], 0, along), name)
    except OverflowError as error:
        place = list(np.unravel_index(error.index, source.shape))
        place[along] += 1
        raise _at(int(np.ravel_multi_index(place, shape)), error) from None
    return out if out is not None else x.give(result)


def _scan(value: Any, op: str, exclusive: bool, initial: Any, axis: Any, dtype: Any, overflow: Any, out: Any, name: str) -> Any:
    x = take_in(value, "x")
    times, initial, target = take_times(x, "x", op, dtype, initial, out)
    if times is not None:
        result = _scan(x.data, op, exclusive, initial, axis, None, overflow, target, name)
        times.require_sums(result, _options.checks(-1, overflow))
        if exclusive:
            times.mark_first(result, _axis(axis, result.ndim, name))
        return out if out is not None else x.give(result, beside=True)
    require_numbers(x, "x")
    if x.data.ndim == 0:
        raise ValueError(f"{name}: an array without dimensions: at least one is needed")
    along = _axis(axis, x.data.ndim, name)
    given = checked_out(out, x, x.data.shape)
    wanted = type_of_result(x, op, dtype, given, overflow)
    xp = x.xp
    direct = given is not None and xp.is_contiguous(given.data)
    if direct and xp.overlap(x.data, given.data) and not xp.same_memory(x.data, given.data):
        direct = False
    first = beginning(initial, op, wanted)
    if _goes_by_columns(xp, x.data, along):
        target = given.data if direct else xp.empty(x.data.shape, wanted)
        _scan_columns(x.data, target, along, op, exclusive, first, overflow)
        result = target
    else:
        ends = along == x.data.ndim - 1
        # Rows that were overwritten could not be scanned again to find the element that does not fit.
        is_lost = direct and x.data.ndim > 1 and xp.same_memory(x.data, given.data) and _options.checks(xp.device, overflow)
        direct = direct and ends and not is_lost
        source = xp.contiguous(x.data if ends else xp.moveaxis(x.data, along, -1))
        target = given.data if direct else xp.empty(source.shape, wanted)
        try:
            _scan_last(xp, source, target, op, exclusive, first, overflow)
        except OverflowError:
            if not ends:  # scan again: in x's order another element may be the first that does not fit
                _scan_columns(x.data, np.empty(x.data.shape, wanted), along, op, exclusive, first, overflow)
            raise
        result = target if ends else xp.moveaxis(target, -1, along)
    if direct:
        return out
    if given is not None:
        given.data[...] = result
        return out
    return x.give(result, beside=True)


def _at(index: int, error: OverflowError, what: str = "element") -> OverflowError:
    """The same error with the index of an element of the whole result; `what` names the unit that the error's index counts."""
    found = re.sub(rf"^.*{what} {error.index} (of the result )?", f"element {index} of the result ", str(error), count=1)
    raised = OverflowError(found)
    raised.index, raised.code = index, error.code
    return raised


def _goes_by_columns(xp: Any, data: Any, along: int) -> bool:
    """Whether whole rows are folded into rows: in host memory, along an axis whose elements are not contiguous."""
    if xp is not NUMPY or along == data.ndim - 1 or _options.current().rung:
        return False
    return not xp.is_contiguous(xp.moveaxis(data, along, -1))


def _outer_length_inner(shape: tuple[int, ...], along: int) -> tuple[int, int, int]:
    return math.prod(shape[:along]), shape[along], math.prod(shape[along + 1 :])


def _scan_columns(data: Any, target: Any, along: int, op: str, exclusive: bool, initial: Any, overflow: Any) -> None:
    where = _options.place(-1, 0, overflow, rung="")  # scan_along has no rungs
    flat_in, flat_out = NUMPY.contiguous(data).reshape(-1), target.reshape(-1)
    _core.scan_along(where, op, exclusive, initial, _outer_length_inner(data.shape, along), flat_in, flat_out)


def _scan_last(xp: Any, source: Any, target: Any, op: str, exclusive: bool, initial: Any, overflow: Any) -> None:
    """Scans along the last axis of contiguous arrays: one scan, or one scan per row."""
    where = _options.place(xp.device, xp.stream, overflow)
    length = source.shape[-1]
    flat_in, flat_out = xp.elements(source.reshape(-1)), xp.elements(target.reshape(-1))
    if length == 0 or 0 in source.shape:
        return
    rows = math.prod(source.shape[:-1])
    if rows == 1 and (initial is None or xp.device < 0):
        _core.scan(where, op, exclusive, initial, flat_in, flat_out)
        return
    try:
        _core.segmented_scan(where, op, exclusive, (rows, length), None, flat_in, None, initial, flat_out)
    except OverflowError as error:
        if xp is not NUMPY:
            raise
        begin = error.index * length
        row = slice(begin, begin + length)
        try:  # scan this row again, to find the element
            _core.scan(where, op, exclusive, initial, flat_in[row], flat_out[row])
        except OverflowError as found:
            raise _at(begin + found.index, found) from None
        raise


@plain
def reduce(
    x: Any,
    /,
    *,
    op: str = "add",
    initial: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    overflow: str | None = None,
    out: Any = None,
) -> Any:
    """Folds an array by an associative operator, either all elements or along an axis.

    Parameters
    ----------
    x, op, initial, dtype, overflow
        As for `scan`.
    axis : int, optional
        Fold each row along this axis. By default all elements are folded to one value, in order.
    out : array, optional
        The array to write the result to, of x's shape without that axis. The function returns this array.

    Returns
    -------
    array or scalar
        An array of x's library. The fold of all elements is a NumPy scalar, or a zero-dimensional array on a GPU.

    Raises
    ------
    ValueError
        The minimum or maximum of no elements, without an `initial`. Also the errors of `scan`.
    OverflowError
        A sum does not fit, and sums are checked.

    Examples
    --------
    >>> import numpy, upsweep
    >>> int(upsweep.reduce(numpy.array([3, 1, 4, 1, 5])))
    14
    >>> upsweep.reduce(numpy.array([[3, 1], [4, 1]]), op="max", axis=0)
    array([4, 1])
    """
    operator_name(op)
    given_x = take_in(x, "x")
    times, initial, target = take_times(given_x, "x", op, dtype, initial, out)
    if times is not None:
        result = reduce(given_x.data, op=op, initial=initial, axis=axis, overflow=overflow, out=target)
        times.require_sums(result, _options.checks(-1, overflow), "the sum" if axis is None else "element {} of the result")
        if out is not None:
            return out
        return times.scalar(result) if axis is None else given_x.give(result)
    require_numbers(given_x, "x")
    xp, of = given_x.xp, tuple(given_x.data.shape)
    along = None if axis is None else _axis(axis, len(of), "reduce")
    shape = () if along is None else (*of[:along], *of[along + 1 :])
    given = checked_out(out, given_x, shape)
    wanted = type_of_result(given_x, op, dtype, given, overflow)
    data = given_x.data
    if op in ("min", "max") and initial is None and 0 in (of if along is None else of[along : along + 1]):
        raise ValueError(f"x: the {op}imum of no elements is undefined: pass initial=")
    first = beginning(initial, op, wanted)
    where = _options.place(xp.device, xp.stream, overflow)
    if along is None:
        value = np.empty(1, wanted)
        _core.reduce(where, op, first, xp.elements(xp.contiguous(data).reshape(-1)), value)
        if given is None:
            return xp.scalar(value)
        given.data[...] = xp.scalar(value)
        return out
    result = xp.empty(shape, wanted)
    if 0 not in shape:
        _reduce_along(xp, where, op, first, data, along, xp.elements(result.reshape(-1)))
    if given is None:
        return given_x.give(result)
    given.data[...] = result
    return out


def _reduce_along(xp: Any, where: Any, op: str, initial: Any, data: Any, along: int, result: Any) -> None:
    if _goes_by_columns(xp, data, along):
        shape = _outer_length_inner(data.shape, along)
        _core.reduce_along(where, op, initial, shape, NUMPY.contiguous(data).reshape(-1), result)
        return
    rows = xp.contiguous(xp.moveaxis(data, along, -1))
    lists = (math.prod(rows.shape[:-1]), rows.shape[-1])
    try:
        _core.segmented_reduce(where, op, lists, None, xp.elements(rows.reshape(-1)), None, initial, result)
    except OverflowError as error:
        raise _at(error.index, error, "the sum of list") from None


@plain
def offsets(starts: Any, stops: Any, /, *, strict: bool = False, out: Any = None) -> Any:
    """Computes the offsets of lists, packed one after the other, from their starts and stops.

    Parameters
    ----------
    starts, stops : array of integers, of shape (n,)
        List i is content[starts[i]:stops[i]].
    strict : bool
        If true, negative starts are also errors.
    out : array of int64, of shape (n + 1,), optional
        The array to write the offsets to. The function returns this array.

    Returns
    -------
    array of int64, of shape (n + 1,)
        offsets[0] = 0, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]).

    Raises
    ------
    ValueError
        A list stops before it starts, or, with `strict`, has a negative start; `index` is the first such list. The numbers of
        starts and stops differ.
    OverflowError
        An offset does not fit int64; `index` is the list whose end does not fit.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.offsets(numpy.array([0, 5, 7]), numpy.array([2, 5, 10]))
    array([0, 2, 2, 5])
    """
    first, last = take_in_pair(starts, stops)
    xp = first.xp
    given = checked_out(out, first, (first.data.shape[0] + 1,))
    if given is not None and given.dtype != "int64":
        raise TypeError(f"out: offsets are int64, not {given.dtype}")
    direct = given is not None and xp.is_contiguous(given.data)
    result = given.data if direct else xp.empty(first.data.shape[0] + 1, "int64")
    where = _options.place(xp.device, xp.stream)
    _core.offsets(where, flat(first), flat(last), xp.elements(result), flag(strict, "strict"))
    if given is None:
        return first.give(result)
    if not direct:
        given.data[...] = result
    return out
