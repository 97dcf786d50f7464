# SPDX-License-Identifier: Apache-2.0
# upsweep/_histogram.py: histograms of one or several arrays, with the bins of boost-histogram, as one plan.

from __future__ import annotations

import atexit
import functools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _device_plans, _options
from ._arrays import flag, flat, is_number, library_of, take_in_numbers, whole, whole_number

_INTEGERS = "integers are needed for an integer or category axis, not {}; for floats use an axis with edges"


class _Axis:
    """An axis as upsweep._plans accepts it, and the edges to return."""

    __slots__ = ("edges", "flows", "is_boolean", "is_discrete", "spec")

    def __init__(self, kind: str, numbers: tuple[Any, ...], flows: tuple[bool, bool], edges: np.ndarray):
        self.spec = (kind, *numbers, *flows)
        self.flows = flows
        self.edges = edges
        self.is_discrete = kind in ("integer", "category")
        self.is_boolean = False


def histogram(
    values: Any,
    /,
    bins: Any = 10,
    *,
    range: Any = None,
    weights: Any = None,
    flow: bool = False,
    threads: int | None = None,
) -> Any:
    """Counts the elements of arrays by bins, on all cores or on a GPU.

    Parameters
    ----------
    values : array of numbers or booleans, or a tuple of such arrays
        The values. A tuple has one array for each axis, and element i of all arrays is one entry. Arrays of several dimensions
        are flattened. Awkward Arrays are broadcast to each other and to the weights, and then flattened. Arrays on a GPU are
        counted there; this needs CuPy.
    bins : int, (int, float, float), array of edges, axis or histogram; for a tuple of values a sequence of axes
        The axes.

        - An integer n: n bins of one width over `range`, which is by default from the minimum to the maximum.
        - (n, low, high): n bins of one width.
        - An array of at least two ascending edges.
        - An axis of boost-histogram or hist: Regular, Variable, Integer, IntCategory or Boolean, without growth, and neither
          circular nor transformed.

        A histogram of boost-histogram or hist is filled and returned, in place of all axes.
    range : (float, float), optional
        Low and high for `bins` that are an integer; for a tuple of values one pair for each axis.
    weights : array of numbers, of the length of the values, optional
        Each bin adds up weights as float64, instead of counting.
    flow : bool
        If true, the result also has a bin for values below each axis and one for values above it, which includes NaN. If false,
        these values are ignored, and the last bin of axes given by numbers contains its upper edge. An axis object keeps its own
        rules; `flow` says whether its flow bins are returned.
    threads : int, optional
        The maximum number of threads, by default that of `upsweep.options`; 0 means all cores.

    Returns
    -------
    (counts, edges), or the histogram that was given
        `counts` is an array of int64, with weights of float64. It has one dimension for each axis. `edges` is an array of float64
        with one more element than bins without flow; for a tuple of values a tuple of such arrays. Both are NumPy's.

    Raises
    ------
    TypeError
        The values are not numbers. They are floats for an axis of integers. Only some of the arrays are on a GPU.
    ValueError
        Lengths differ. An axis is malformed. The minimum or maximum is needed and not finite.
    NotImplementedError
        An axis or a storage is of a kind that is not supported. All axes have more than 2**25 bins.

    Notes
    -----
    A value x is in bin floor((x - low) / (high - low) * n), as in boost-histogram. NumPy rounds otherwise: a value that is within
    rounding of an edge may be in the bin next to it. A value that equals the last edge is above the axis with `flow`, as in
    boost-histogram. Without `flow` it is in the last bin, as in NumPy.

    Counts are exact. On a GPU, sums of weights are exact and then rounded. On the CPU they have the same bits for any number of threads. For fewer than 8,192 values they are added in
    order. For the variances of bins, fill a histogram with Weight storage, or pass the squares of the weights.

    Examples
    --------
    >>> import numpy, upsweep
    >>> counts, edges = upsweep.histogram(numpy.array([0.5, 1.5, 1.75, 3.0, -2.0]), (3, 0.0, 3.0))
    >>> counts
    array([1, 2, 1])
    >>> upsweep.histogram(numpy.array([0.5, 1.5, 1.75, 3.0, -2.0]), [0, 1, 3], flow=True)[0]
    array([1, 1, 2, 1])
    """
    several = isinstance(values, tuple)
    flow = flag(flow, "flow")
    if _options.current().rung:
        raise ValueError("histogram: it has no rungs: omit rung from upsweep.options")
    threads = _options.current().threads if threads is None else whole(threads, "threads", 0, 2**31 - 1)
    arrays, weight = _arrays(values if several else (values,), weights)
    if _is_histogram(bins):
        return _filled(bins, arrays, weight, threads)
    axes = _axes(arrays, bins if several else (bins,), range if several or range is None else (range,), flow)
    counts = _run(arrays, axes, weight, threads)
    if weight is not None:
        counts = np.ascontiguousarray(counts[..., 0])
    if not flow:
        counts = np.ascontiguousarray(counts[tuple(_inner(axis) for axis in axes)])
    edges = tuple(axis.edges for axis in axes)
    return counts, edges if several else edges[0]


def _inner(axis: _Axis) -> slice:
    return slice(int(axis.flows[0]), -1 if axis.flows[1] else None)


# --------------------------------------------------------------------------------------------------------------- values


def _arrays(values: tuple[Any, ...], weights: Any) -> tuple[list[np.ndarray], np.ndarray | None]:
    """The values of each axis and the weights, flat and of one length."""
    if not values:
        raise ValueError("values: the tuple is empty: pass an array for each axis")
    names = ["values"] if len(values) == 1 else [f"values[{i}]" for i, _ in enumerate(values)]
    given = list(values)
    if weights is not None:
        names.append("weights")
        given.append(weights)
    if any(library_of(each) == "awkward" for each in given):
        given = _flat_awkward(given, names)
    arrays = [_numbers(each, name) for each, name in zip(given, names)]
    places = [getattr(getattr(array, "device", None), "id", -1) for array in arrays]
    for place, name in zip(places, names):
        if place != places[0]:
            where = "host memory" if place < 0 else f"the memory of GPU {place}"
            raise TypeError(f"{name}: the array is in {where}, but {names[0]} is not: pass all arrays in one memory")
    for array, name in zip(arrays, names):
        if array.size != arrays[0].size:
            raise ValueError(f"{name}: {array.size} elements, but {names[0]} has {arrays[0].size}")
    return (arrays, None) if weights is None else (arrays[:-1], arrays[-1])


def _numbers(value: Any, name: str) -> np.ndarray:
    array = take_in_numbers(value, name)
    if array.xp.device < 0:
        return flat(array)
    try:
        import cupy
    except ImportError:
        raise TypeError(f"{name}: an array on a GPU is counted by way of CuPy, which is not installed") from None
    return cupy.ascontiguousarray(cupy.asarray(array.data)).reshape(-1)


def _flat_awkward(given: list[Any], names: list[str]) -> list[np.ndarray]:
    import awkward

    made = []
    for array, name in zip(awkward.broadcast_arrays(*given), names):
        try:
            flat_array = awkward.ravel(array)
            if awkward.backend(flat_array) == "cuda":
                made.append(awkward.to_cupy(flat_array))
            else:
                made.append(awkward.to_numpy(flat_array, allow_missing=False))
        except ValueError as error:
            raise ValueError(f"{name}: cannot be flattened to numbers without missing values: {error}") from error
    return made


# ----------------------------------------------------------------------------------------------------------------- axes


def _axes(arrays: list[np.ndarray], bins: Any, ranges: Any, flow: bool) -> list[_Axis]:
    if is_number(bins):
        bins = [bins] * len(arrays)
    if not isinstance(bins, Sequence):
        raise TypeError(f"bins: a sequence of {len(arrays)} axes is needed for a tuple of values, not {type(bins).__name__}")
    if len(bins) != len(arrays):
        raise ValueError(f"bins: {len(bins)} axes, but values has {len(arrays)} arrays")
    if ranges is None:
        ranges = [None] * len(arrays)
    elif len(ranges) != len(arrays):
        raise ValueError(f"range: {len(ranges)} pairs, but values has {len(arrays)} arrays")
    names = ["bins"] if len(arrays) == 1 else [f"bins[{i}]" for i, _ in enumerate(arrays)]
    return [_axis(*each, flow) for each in zip(bins, names, ranges, arrays)]


def _axis(given: Any, name: str, limits: Any, values: np.ndarray, flow: bool) -> _Axis:
    if is_number(given):
        low, high = _limits(values) if limits is None else _pair(limits)
        return _regular(whole_number(given, name, 1), low, high, name, flow)
    if limits is not None:
        raise ValueError(f"range: it is for a number of bins only: omit it for {name}")
    axis = _of_boost(given, name)
    if axis is not None:
        return axis
    if isinstance(given, tuple) and len(given) == 3 and isinstance(given[0], (int, np.integer)):
        return _regular(whole(given[0], name, 1), _real(given[1], name), _real(given[2], name), name, flow)
    numbers = _numbers(given, name)
    edges = np.asarray(numbers if isinstance(numbers, np.ndarray) else numbers.get(), np.float64)
    return _Axis("variable", (tuple(edges.tolist()),), (flow, flow), edges)


def _regular(bins: int, low: float, high: float, name: str, flow: bool) -> _Axis:
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"{name}: low ({low}) must be less than high ({high}), and both finite")
    if bins > 2**25:
        raise NotImplementedError(f"{name}: {bins} bins: at most 2**25 are supported")
    return _Axis("regular", (bins, low, high), (flow, flow), np.linspace(low, high, bins + 1))


def _real(number: Any, name: str) -> float:
    try:
        return float(number)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: a number is needed, not {number!r}") from None


def _pair(limits: Any) -> tuple[float, float]:
    if not isinstance(limits, (Sequence, np.ndarray)) or len(limits) != 2:
        raise TypeError(f"range: low and high are needed, not {limits!r}")
    return _real(limits[0], "range"), _real(limits[1], "range")


def _limits(values: np.ndarray) -> tuple[float, float]:
    """The minimum and maximum. Like NumPy, widens them if they are equal, and takes 0 and 1 without elements."""
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"values: the minimum and maximum are {low} and {high}: pass a range, or (bins, low, high)")
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _boost() -> Any:
    """The module boost_histogram if it is imported. Without that import no argument can be one of its objects."""
    return sys.modules.get("boost_histogram")


def _of_boost(given: Any, name: str) -> _Axis | None:
    """The axis of boost-histogram; None if it is something else."""
    boost = _boost()
    if boost is None or not isinstance(given, boost.axis.Axis):
        return None
    kinds = boost.axis
    traits = given.traits
    transform = getattr(given, "transform", None)
    what = "growth" if traits.growth else "a circular range" if traits.circular else "a transform" if transform else ""
    if what:
        raise NotImplementedError(f"{name}: an axis with {what} is not supported: fill it with boost-histogram")
    flows = bool(traits.underflow), bool(traits.overflow)
    edges = np.asarray(given.edges)
    if isinstance(given, kinds.Regular):
        # The state has the width as it divides by it. The last edge is rounded once more.
        bins, low, width = (given._ax.__getstate__()[i] for i in (2, 4, 5))
        return _Axis("regular", (bins, low, _high(low, width)), flows, edges)
    if isinstance(given, kinds.Variable):
        return _Axis("variable", (tuple(edges.tolist()),), flows, edges)
    if isinstance(given, kinds.Boolean):
        axis = _Axis("integer", (0, 2), flows, edges)
        axis.is_boolean = True
        return axis
    if isinstance(given, kinds.Integer):
        return _Axis("integer", (int(edges[0]), int(edges[-1])), flows, edges)
    if isinstance(given, kinds.IntCategory):
        return _Axis("category", (tuple(map(int, given)),), flows, edges)
    raise NotImplementedError(f"{name}: an axis {type(given).__name__} is not supported: fill it with boost-histogram")


def _high(low: float, width: float) -> float:
    """Returns the number whose distance from `low`, rounded, is `width`."""
    high = low + width
    for candidate in (high, math.nextafter(high, math.inf), math.nextafter(high, -math.inf)):
        if candidate - low == width:
            return candidate
    raise NotImplementedError(f"bins: no high has the distance {width} from {low}: fill the axis with boost-histogram")


# -------------------------------------------------------------------------------------------------------------- filling


def _is_histogram(bins: Any) -> bool:
    boost = _boost()
    return boost is not None and isinstance(bins, boost.Histogram)


def _filled(histogram: Any, arrays: list[np.ndarray], weight: np.ndarray | None, threads: int) -> Any:
    """Adds the entries to a histogram of boost-histogram."""
    storages = _boost().storage
    storage = histogram.storage_type
    is_integer = issubclass(storage, (storages.Int64, storages.AtomicInt64))
    if not is_integer and not issubclass(storage, (storages.Double, storages.Weight)):
        raise NotImplementedError(
            f"bins: the storage {storage.__name__} is not supported: Int64, AtomicInt64, Double and Weight are"
        )
    if is_integer and weight is not None:
        raise TypeError(f"weights: a histogram with the storage {storage.__name__} counts: use the storage Double or Weight")
    axes = _axes(arrays, tuple(histogram.axes), None, True)
    counts = _run(arrays, axes, weight, threads)
    view = histogram.view(flow=True)
    if issubclass(storage, storages.Weight):
        view["value"] += counts if weight is None else counts[..., 0]
        view["variance"] += counts if weight is None else counts[..., 1]
    else:
        view += counts if weight is None else counts[..., 0]
    return histogram


def _run(arrays: list[np.ndarray], axes: list[_Axis], weight: np.ndarray | None, threads: int) -> np.ndarray:
    """The bins of all axes with their flow bins; with weights also a last dimension of sums and sums of squares."""
    names = ["values"] if len(arrays) == 1 else [f"values[{i}]" for i, _ in enumerate(arrays)]
    for i, (axis, name) in enumerate(zip(axes, names)):
        if axis.is_boolean and arrays[i].dtype != np.bool_:
            arrays[i] = arrays[i] != 0
        if axis.is_discrete and arrays[i].dtype.kind == "f":
            raise TypeError(f"{name}: {_INTEGERS.format(arrays[i].dtype)}")
    inputs = arrays if weight is None else [*arrays, weight]
    plan = _plan(tuple(each.dtype.name for each in inputs), tuple(axis.spec for axis in axes))
    if isinstance(arrays[0], np.ndarray):
        return plan.run(inputs, [], arrays[0].size, threads)[0]
    return _device_plans.run(plan, range(len(inputs)), inputs, [], arrays[0].size)[0]


@functools.lru_cache(16)
def _plan(types: tuple[str, ...], axes: tuple[tuple[Any, ...], ...]) -> Any:
    """The compiled plan; one more type than axes is that of the weights."""
    from . import _plans

    builder = _plans.Builder()
    events = builder.events()
    columns = [builder.column(i, kind, events) for i, kind in enumerate(types)]
    weight = columns[len(axes)] if len(columns) > len(axes) else None
    try:
        builder.histogram(columns[: len(axes)], list(axes), weight)
    except (ValueError, NotImplementedError) as error:
        raise type(error)("bins: " + str(error).removeprefix("plan::Builder::histogram: ")) from None
    return builder.compile()


atexit.register(_plan.cache_clear)  # nanobind reports objects that outlive the interpreter
