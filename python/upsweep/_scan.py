# SPDX-License-Identifier: Apache-2.0
# upsweep/_scan.py: scans and reductions along an axis, and offsets.

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core, _options
from ._arrays import NUMPY, Array, dtype_name, flag, flat, number_type, result_type, take_in_numbers, take_out, whole
from ._lists import take_in_pair
from ._plain import plain

OPERATORS: tuple[str, ...] = _core.OPERATORS


def _hint(word: str) -> str:
    return str(_core.operator_hint(word)) if word.isascii() else ""  # other words may be no text


def operator_name(op: Any, others: Iterable[str] = ()) -> str:
    """The name of an operator, or one of the others. TypeError for what is no name, ValueError for another name."""
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
        raise ValueError(f"{name}: x has {ndim} dimensions: say along which axis=")
    axis = whole(axis, "axis")
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis: {axis} is out of range for an array of {ndim} dimensions")
    return axis % ndim


def default_type(dtype: str, op: str) -> str:
    """The type of a result: of sums and products the widest of its kind, else the elements' own."""
    if op not in ("add", "mul"):
        return dtype
    if dtype.startswith("float"):
        return dtype
    return "uint64" if dtype.startswith("uint") else "int64"


def type_of_result(x: Array, op: str, dtype: Any, out: Array | None, overflow: str | None) -> str:
    """What is asked for, else `out`'s type, else the default. NotImplementedError where products are to be checked.

    Booleans that are folded into signed integers are int8 afterwards. To upsweep._core they are uint8, which int8 does not hold, and
    which a GPU sums in uint64 only.
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
        raise NotImplementedError('overflow: products of integers wrap around, and are never checked: pass overflow="wrap"')
    if x.dtype == "bool" and wanted.startswith("int"):
        x.data = x.xp.view_as(x.data, "int8")
    return wanted


def beginning(initial: Any, op: str, dtype: str) -> np.ndarray | None:
    """What a fold begins with; of booleans, which the core takes for bytes, their own identity."""
    if initial is None and dtype == "bool" and op in ("min", "and"):
        initial = True
    return one(initial, dtype, "initial")


def one(value: Any, dtype: str, name: str) -> np.ndarray | None:
    """A value as an array of one element of that type, in the host's memory. Errors where it does not fit."""
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
    """`out` as an Array where it can take a result of that shape, in memory of the input's kind."""
    if out is None:
        return None
    given = take_out(out)
    if given.xp.device != like.xp.device:
        raise ValueError("out: it must be where the input is, on the same device")
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
    """Every prefix of an array, folded by an associative operator.

    Parameters
    ----------
    x : array
        Of integers of 8 to 64 bits, float32, float64 or bool; any shape and strides. Of NumPy, CuPy, PyTorch, JAX, pyarrow,
        Polars or pandas: the result is the same library's, in the same memory.
    op : str
        The name of an operator, such as "add", "min" or "xor"; the error for another name lists all. Bitwise ones are for integers.
    exclusive : bool
        Leave the element itself out: the first result is `initial`, or the operator's identity.
    initial : scalar, optional
        What every prefix begins with.
    axis : int, optional
        Along which axis; an array of one dimension needs none.
    dtype : optional
        The type of the result, and the one that is computed in: of sums and products by default int64, uint64 or the float type
        itself, else x's.
    overflow : {"checked", "wrap"}, optional
        Sums of integers that do not fit: OverflowError with the first such `index` (the default in the host's memory), or modulo
        2**bits (on a GPU, where "checked" is not possible). Products of integers are modulo 2**bits.
    out : array, optional
        Where the result goes, of its shape; may be x. It is returned.

    Returns
    -------
    array
        Of x's shape.

    Raises
    ------
    TypeError
        Elements that upsweep does not compute with; masked arrays.
    ValueError
        No such operator, axis or rung; an out of another shape.
    OverflowError
        A sum that does not fit, where it is checked.
    NotImplementedError
        overflow="checked" of products of integers, and on a GPU.

    Notes
    -----
    float32 is added in float32, in blocks: past some 65,536 elements the error hardly grows any more. The same bits on every run,
    with any number of threads.

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
    """The sum of each element and all before it, as the Array API has it.

    Parameters
    ----------
    x : array
        Of integers of 8 to 64 bits, float32, float64 or bool; any shape and strides.
    axis : int, optional
        Along which axis; an array of one dimension needs none.
    dtype : optional
        The type of the result, and the one that is computed in: by default int64, uint64 or the float type itself.
    include_initial : bool
        Begin with 0: one element more along the axis.
    out : array, optional
        Where the result goes, of its shape; may be x. It is returned.
    overflow : {"checked", "wrap"}, optional
        Sums of integers that do not fit: OverflowError with the first such `index` (the default in the host's memory), or modulo
        2**bits (on a GPU, where "checked" is not possible).

    Returns
    -------
    array
        Of x's shape and library, in the same memory. See `scan` for the libraries, the errors and how floats are added.

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
    """The product of each element and all before it, as the Array API has it.

    Parameters and errors are those of `cumulative_sum`; products of integers are modulo 2**bits, overflow="checked" of them is a
    NotImplementedError, and the initial element is 1.

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
    x = take_in_numbers(value, "x")
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
        # Rows that were overwritten could not be gone through again for the element that does not fit.
        is_lost = direct and x.data.ndim > 1 and xp.same_memory(x.data, given.data) and _options.checks(xp.device, overflow)
        direct = direct and ends and not is_lost
        source = xp.contiguous(x.data if ends else xp.moveaxis(x.data, along, -1))
        target = given.data if direct else xp.empty(source.shape, wanted)
        try:
            _scan_last(xp, source, target, op, exclusive, first, overflow)
        except OverflowError:
            if not ends:  # the first of the elements in their own order is another one's index than that of the first row's
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
    """The error of `what`, whose index counts something else, as that of an element of the whole result."""
    found = re.sub(rf"^.*{what} {error.index} (of the result )?", f"element {index} of the result ", str(error), count=1)
    raised = OverflowError(found)
    raised.index, raised.code = index, error.code
    return raised


def _goes_by_columns(xp: Any, data: Any, along: int) -> bool:
    """Whether rows are folded into rows: on the host, along an axis whose elements do not lie side by side."""
    if xp is not NUMPY or along == data.ndim - 1 or _options.current().rung:
        return False
    return not xp.is_contiguous(xp.moveaxis(data, along, -1))


def _outer_length_inner(shape: tuple[int, ...], along: int) -> tuple[int, int, int]:
    return math.prod(shape[:along]), shape[along], math.prod(shape[along + 1 :])


def _scan_columns(data: Any, target: Any, along: int, op: str, exclusive: bool, initial: Any, overflow: Any) -> None:
    where = _options.place(-1, 0, overflow, rung="")  # which has no rungs
    flat_in, flat_out = NUMPY.contiguous(data).reshape(-1), target.reshape(-1)
    _core.scan_along(where, op, exclusive, initial, _outer_length_inner(data.shape, along), flat_in, flat_out)


def _scan_last(xp: Any, source: Any, target: Any, op: str, exclusive: bool, initial: Any, overflow: Any) -> None:
    """Along the last axis of contiguous arrays: one scan, or one for each row."""
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
        try:  # once more, to find the element
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
    """An array folded by an associative operator, all of it or along an axis.

    Parameters
    ----------
    x, op, initial, dtype, overflow
        As `scan` has them.
    axis : int, optional
        Fold each row along this axis; by default all elements, in their order, to one.
    out : array, optional
        Where the result goes: of x's shape without that axis. It is returned.

    Returns
    -------
    array or scalar
        Of x's library; of all elements a scalar of NumPy's, or an array without dimensions on a GPU.

    Raises
    ------
    ValueError
        The minimum or maximum of no elements without an `initial`, and what `scan` raises.
    OverflowError
        A sum that does not fit, where it is checked.

    Examples
    --------
    >>> import numpy, upsweep
    >>> int(upsweep.reduce(numpy.array([3, 1, 4, 1, 5])))
    14
    >>> upsweep.reduce(numpy.array([[3, 1], [4, 1]]), op="max", axis=0)
    array([4, 1])
    """
    operator_name(op)
    given_x = take_in_numbers(x, "x")
    xp, of = given_x.xp, tuple(given_x.data.shape)
    along = None if axis is None else _axis(axis, len(of), "reduce")
    shape = () if along is None else (*of[:along], *of[along + 1 :])
    given = checked_out(out, given_x, shape)
    wanted = type_of_result(given_x, op, dtype, given, overflow)
    data = given_x.data
    if op in ("min", "max") and initial is None and 0 in (of if along is None else of[along : along + 1]):
        raise ValueError(f"x: the {op}imum of no elements: give initial=")
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
    """The offsets of lists, packed one after the other, from where each starts and stops.

    Parameters
    ----------
    starts, stops : array of integers, of shape (n,)
        List i is content[starts[i]:stops[i]].
    strict : bool
        Refuse negative starts too.
    out : array of int64, of shape (n + 1,), optional
        Where the offsets go. It is returned.

    Returns
    -------
    array of int64, of shape (n + 1,)
        offsets[0] = 0, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]).

    Raises
    ------
    ValueError
        A list that stops before it starts, or a negative start under `strict`, with the first such list's `index`; starts and
        stops of different lengths.
    OverflowError
        Offsets that leave int64, with the list's `index`.

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
