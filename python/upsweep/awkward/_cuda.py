# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_cuda.py: Awkward Array's operations on CuPy's arrays by upsweep's GPU kernels, under the names and arguments of
# Awkward's own kernels. They are compiled already: Awkward compiles its own when they first run.
from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import upsweep
from upsweep import _core, _options
from upsweep._arrays import MOVED_SIZES, NUMBERS, NUMPY, _Cupy
from upsweep._lists import UNKNOWN_LENGTH

# Below so many elements CuPy's take, which does not wait, is as fast.
CARRY_FROM = 1024 * 1024

# What upsweep's functions raise at arguments that are not theirs, or wrong: Awkward's own kernel is run then, or says what is wrong.
REFUSED = (IndexError, MemoryError, NotImplementedError, OverflowError, TypeError, ValueError)


class Place:
    """The library and the device of an array, and where a call on it runs."""

    __slots__ = ("where", "xp")

    def __init__(self, array: Any):
        self.xp = NUMPY if type(array) is np.ndarray else _Cupy(array)
        self.where = _options.place(self.xp.device, self.xp.stream, "wrap")

    def __call__(self, array: Any) -> Any:
        """The array as upsweep._core takes it."""
        if array.ndim != 1 or not array.flags.c_contiguous or array.dtype.name not in (*NUMBERS, "bool"):
            raise TypeError(f"an array of {array.dtype} of {array.ndim} dimensions")
        return self.xp.elements(array)

    def bounds(self, starts: Any, stops: Any, length: int) -> tuple[Any, Any]:
        return self(starts[:length]), self(stops[:length])


# ------------------------------------------------------------------------------------------------------------- reducers


def _reduce(op: str, result: Any, content: Any, offsets: Any, initial: Any = None) -> None:
    place = Place(result)
    _core.segmented_reduce(place.where, op, place(offsets), None, place(content), None, initial, place(result))


def _reducer(op: str) -> Any:
    def reduce(result: Any, input_data: Any, offsets_data: Any, outlength: int) -> None:
        _reduce(op, result, input_data, offsets_data[: outlength + 1])

    return reduce


def _fold(op: str) -> Any:
    """Sums and products, in the result's type."""

    def fold(result: Any, input_data: Any, offsets_data: Any, outlength: int) -> None:
        is_wider_sum = op == "add" and result.dtype.kind == input_data.dtype.kind and result.dtype.itemsize == 8
        if result.dtype.kind == "f" or not is_wider_sum:
            input_data = input_data.astype(result.dtype, copy=False)
        _reduce(op, result, input_data, offsets_data[: outlength + 1])

    return fold


def _has_nan(array: Any) -> bool:
    """Maxima of floats are NaN where there is one."""
    if array.dtype.kind != "f" or array.size == 0:
        return False
    place, greatest = Place(array), np.empty(1, array.dtype)
    _core.reduce(place.where, "max", None, place(array), greatest)
    return bool(np.isnan(greatest[0]))


def _without_nan(array: Any, value: Any) -> Any:
    xp = Place(array).xp.module
    return xp.where(xp.isnan(array), array.dtype.type(value), array)


def _extremum(op: str) -> Any:
    """The minimum or maximum of each list and `identity`. Awkward passes over NaN, which upsweep's results would be."""

    def extremum(result: Any, input_data: Any, offsets_data: Any, outlength: int, identity: Any) -> None:
        initial = np.array([identity], input_data.dtype)
        offsets = offsets_data[: outlength + 1]
        _reduce(op, result, input_data, offsets, initial)
        if _has_nan(result):
            _reduce(op, result, _without_nan(input_data, identity), offsets, initial)

    return extremum


def _extremum_at(op: str) -> Any:
    """Where in the content, not in its list, each list's first minimum or maximum is. Of a list that begins with NaN, that is it."""

    def extremum_at(result: Any, input_data: Any, offsets_data: Any, starts: Any, outlength: int) -> None:
        offsets = offsets_data[: outlength + 1]
        xp = Place(result).xp.module
        begins = offsets[:-1]
        if _has_nan(input_data):
            first_is_nan = xp.isnan(input_data[xp.minimum(begins, input_data.size - 1)])
            _reduce(op, result, _without_nan(input_data, np.inf if op == "argmin" else -np.inf), offsets)
            result[first_is_nan & (result > 0)] = 0
        else:
            _reduce(op, result, input_data, offsets)
        result += xp.where(result < 0, 0, begins)

    return extremum_at


def _counts(result: Any, offsets_data: Any, _outlength: int) -> None:
    Place(result).xp.module.subtract(offsets_data[1 : _outlength + 1], offsets_data[:_outlength], out=result)


def _adjust_starts(toptr: Any, outlength: int, offsets: Any, starts: Any) -> None:
    """Positions in the content become those in lists; -1 stays."""
    positions = toptr[:outlength]
    positions -= Place(toptr).xp.module.where(positions < 0, 0, starts[:outlength])


def _are_empty(toptr: Any, offsets: Any, outlength: int) -> None:
    toptr[:outlength] = offsets[1 : outlength + 1] <= offsets[:outlength]


# ----------------------------------------------------------------------------------------------------- order and positions


def _sort(toptr: Any, fromptr: Any, length: int, offsets: Any, offsetslength: int, ascending: bool, stable: bool) -> None:
    place = Place(toptr)
    lists = place(offsets[:offsetslength])
    _core.segmented_sort(place.where, False, lists, None, place(fromptr), not ascending, True, place(toptr))


def _argsort(toptr: Any, fromptr: Any, length: int, offsets: Any, offsetslength: int, ascending: bool, stable: bool) -> None:
    place = Place(toptr)
    lists = place(offsets[:offsetslength])
    _core.segmented_sort(place.where, True, lists, None, place(fromptr), not ascending, True, place(toptr))


def _local_index(toindex: Any, offsets: Any, length: int) -> None:
    """The kernel writes to where offsets say, ours from the front on: the same where they begin with 0."""
    place = Place(toindex)
    if _core.local_index(place.where, place(offsets[: length + 1]), place(toindex)) != toindex.size:
        raise ValueError("offsets: they begin later")


def _local_index_of_sized(toindex: Any, size: int, length: int) -> None:
    place = Place(toindex)
    _core.local_index(place.where, (int(length), int(size)), place(toindex))


def _positions(toindex: Any, length: int) -> None:
    _local_index_of_sized(toindex, length, 1)


def _broadcast_to_offsets(
    tocarry: Any, fromoffsets: Any, offsetslength: int, fromstarts: Any, fromstops: Any, lencontent: int
) -> None:
    place = Place(tocarry)
    lists = place.bounds(fromstarts, fromstops, offsetslength - 1)
    _core.broadcast_to_offsets(place.where, lists, place(fromoffsets[:offsetslength]), int(lencontent), place(tocarry))


def _compact_offsets(tooffsets: Any, fromstarts: Any, fromstops: Any, length: int) -> None:
    place = Place(tooffsets)
    _core.compact_offsets(place.where, *place.bounds(fromstarts, fromstops, length), place(tooffsets), False)


# --------------------------------------------------------------------------------------------------- choices and selections


def _count_choices(totallen: Any, tooffsets: Any, n: int, replacement: bool, starts: Any, stops: Any, length: int) -> None:
    place = Place(tooffsets)
    lists = place.bounds(starts, stops, length)
    _core.combinations(place.where, lists, UNKNOWN_LENGTH, n, replacement, place(tooffsets), [])
    totallen[:] = tooffsets[-1:]


def _choose(
    tocarry_ptrs: Any, toindex: Any, fromindex: Any, n: int, replacement: bool, starts: Any, stops: Any, length: int
) -> None:
    """The kernel is given the addresses of the outputs: they have room for as many as there are."""
    place = Place(toindex)
    lists = place.bounds(starts, stops, length)
    offsets = place(place.xp.empty(length + 1, "int64"))
    total = _core.combinations(place.where, lists, UNKNOWN_LENGTH, n, replacement, offsets, [])
    places = [_core.Elements.at(address, total, "int64", 8, toindex) for address in tocarry_ptrs[:n].tolist()]
    if total > 0:
        _core.combinations(place.where, lists, UNKNOWN_LENGTH, n, replacement, None, places)
    toindex[:n] = total


def _take_of_lists(
    tooffsets: Any, tocarry: Any, slicestarts: Any, slicestops: Any, sliceouterlen: int, sliceindex: Any,
    sliceinnerlen: int, fromstarts: Any, fromstops: Any, contentlen: int,
) -> None:  # fmt: skip
    place = Place(tooffsets)
    lists = place.bounds(fromstarts, fromstops, sliceouterlen)
    of_indices = place.bounds(slicestarts, slicestops, sliceouterlen)
    indices = place(sliceindex[:sliceinnerlen])
    _core.take_positions(
        place.where, lists, int(contentlen), of_indices, indices, place(tooffsets), place(tocarry)
    )  # fmt: skip


def _which_are(mask: Any, length: int, validwhen: bool) -> Any:
    """Which of the booleans are `validwhen`, as booleans or bytes that are not 0."""
    return mask[:length] if validwhen else mask[:length] == 0


def _count_missing(numnull: Any, mask: Any, length: int, validwhen: bool) -> None:
    place = Place(mask)
    numnull[0] = length - _core.select(place.where, None, None, place(_which_are(mask, length, validwhen)), None, [])


def _positions_of_valid(tocarry: Any, mask: Any, length: int, validwhen: bool) -> None:
    place = Place(tocarry)
    positions = place.xp.module.arange(length)
    kept = place(_which_are(mask, length, validwhen))
    _core.select(place.where, None, None, kept, None, [(place(positions), place(tocarry))])


KERNELS = {
    "awkward_reduce_sum": _fold("add"),
    "awkward_reduce_prod": _fold("mul"),
    "awkward_reduce_sum_bool": _reducer("any"),
    "awkward_reduce_prod_bool": _reducer("all"),
    "awkward_reduce_sum_int64_bool_64": _reducer("count_nonzero"),
    "awkward_reduce_countnonzero": _reducer("count_nonzero"),
    "awkward_reduce_min": _extremum("min"),
    "awkward_reduce_max": _extremum("max"),
    "awkward_reduce_argmin": _extremum_at("argmin"),
    "awkward_reduce_argmax": _extremum_at("argmax"),
    "awkward_reduce_count_64": _counts,
    "awkward_NumpyArray_reduce_adjust_starts_64": _adjust_starts,
    "awkward_NumpyArray_reduce_mask_ByteMaskedArray_64": _are_empty,
    "awkward_sort": _sort,
    "awkward_argsort": _argsort,
    "awkward_ListArray_localindex": _local_index,
    "awkward_RegularArray_localindex": _local_index_of_sized,
    "awkward_localindex": _positions,
    "awkward_ListArray_broadcast_tooffsets": _broadcast_to_offsets,
    "awkward_ListArray_compact_offsets": _compact_offsets,
    "awkward_ListArray_combinations_length": _count_choices,
    "awkward_ListArray_combinations": _choose,
    "awkward_ListArray_getitem_jagged_apply": _take_of_lists,
    "awkward_ByteMaskedArray_numnull": _count_missing,
    "awkward_ByteMaskedArray_getitem_nextcarry": _positions_of_valid,
}

# --------------------------------------------------------------------------------------------------------- Awkward's side

# What Awkward calls the functions of two kernels.
NAMES_OF_FUNCTIONS = {"awkward_sort": "segmented_sort", "awkward_argsort": "segmented_argsort"}


def awkwards_arguments() -> dict[str, list[str]]:
    """The arguments of Awkward's own kernels, read from its files: to import them takes what they are compiled with."""
    import awkward

    folder = Path(awkward.__file__).parent / "_connect" / "cuda"
    module = ast.parse((folder / "_compute.py").read_text(encoding="utf-8"))
    functions = {each.name: each for each in module.body if isinstance(each, ast.FunctionDef)}
    arguments = {}
    for name in KERNELS:
        function = functions.get(NAMES_OF_FUNCTIONS.get(name, name))
        source = folder / "cuda_kernels" / f"{name}.cu"
        if function is not None:
            arguments[name] = [argument.arg for argument in function.args.args]
        elif source.exists():
            found = re.search(r"\(([\w, ]+), invocation_index, err_code\) = args", source.read_text(encoding="utf-8"))
            arguments[name] = found[1].split(", ") if found else []
    return arguments


def is_there() -> bool:
    """Whether Awkward can have arrays on a GPU."""
    return importlib.util.find_spec("cupy") is not None


def has_gpu() -> bool:
    """Whether upsweep has kernels for this machine's GPU."""
    return any(not device["error"] for device in _core.devices())


@functools.cache
def kernels() -> dict[str, Any]:
    """Ours by their names, but for those that Awkward calls with other arguments, of which it warns: when first a kernel runs."""
    if not has_gpu():
        return {}
    theirs = awkwards_arguments()
    changed = [name for name, ours in KERNELS.items() if theirs.get(name) != list(inspect.signature(ours).parameters)]
    if changed:
        names = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        text = f"upsweep: {len(changed)} of Awkward's kernels on GPUs have changed, and stay Awkward's ({names})"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return {name: ours for name, ours in KERNELS.items() if name not in changed}


class Kernel:
    """A kernel of ours, and what finds Awkward's own."""

    __slots__ = ("_ours", "_theirs")

    def __init__(self, ours: Any, theirs: Any):
        self._ours = ours
        self._theirs = theirs

    def __call__(self, *arguments: Any) -> Any:
        from awkward._nplikes.array_like import maybe_materialize

        arguments = maybe_materialize(*arguments)
        try:
            self._ours(*arguments)
        except REFUSED as refused:
            try:
                theirs = self._theirs()
            except ImportError:  # its kernels cannot be compiled here
                raise refused from None
            return theirs(*arguments)
        _note_stream()
        return None


def _note_stream() -> None:
    """As Awkward's kernels do: its synchronize_cuda() looks for the errors of the stream."""
    from awkward._connect import cuda

    if cuda.cupy is not None:
        stream = cuda.cupy.cuda.get_current_stream().ptr
        if stream not in cuda.cuda_streamptr_to_contexts:
            cuda.cuda_streamptr_to_contexts[stream] = (cuda.cupy.array(cuda.NO_ERROR), [])


def getitem_of_backend(theirs: Any) -> Any:
    """The method that looks up kernels: ours come first."""

    def __getitem__(backend, index):
        ours = kernels().get(index[0])
        return theirs(backend, index) if ours is None else Kernel(ours, functools.partial(theirs, backend, index))

    return __getitem__


# ------------------------------------------------------------------------------------------------------- between the kernels


def is_cupys(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "cupy"


def _is_moved(array: Any) -> bool:
    return is_cupys(array) and array.ndim == 1 and array.flags.c_contiguous and array.itemsize in MOVED_SIZES


def _are_same(offsets: Any, others: Any) -> bool:
    if not is_cupys(offsets) or len(offsets) != len(others):
        return False
    place = Place(others)
    same_memory = offsets.dtype == others.dtype and place.xp.same_memory(offsets, others)
    return same_memory or bool(place.xp.module.array_equal(offsets, others))


def select(lists: Any, mask: Any) -> Any:
    """lists[mask], of a ListOffsetArray and a mask with the same offsets; None where it is Awkward's to do."""
    booleans, offsets = mask._content._data, mask._offsets._data
    if (
        lists._parameters
        or not (_is_moved(booleans) and _is_moved(offsets))
        or booleans.dtype != np.bool_
        or not kernels()
        or not _are_same(lists._offsets._data, offsets)
    ):
        return None
    from awkward.contents import ListOffsetArray, NumpyArray
    from awkward.index import Index64

    content = lists._content
    data = content._data if type(content) is NumpyArray else None
    elements = min(len(booleans), content.length)
    if elements == 0:
        return None
    are_moved = data is not None and _is_moved(data)
    source = data[:elements] if are_moved else Place(offsets).xp.module.arange(elements)
    try:
        new_offsets, kept = upsweep.select(booleans[:elements], source, lists=offsets)
    except REFUSED:
        return None
    if are_moved:
        selected = NumpyArray(kept, parameters=content._parameters, backend=content._backend)
    else:
        selected = content._carry(Index64(kept), True)
    return ListOffsetArray(Index64(new_offsets), selected, parameters=None)


def pack(lists: Any, offsets: Any) -> Any:
    """The numbers of a ListArray one after the other, as offsets have it; None where it is Awkward's to do."""
    from awkward.contents import ListOffsetArray, NumpyArray

    content, starts, at = lists._content, lists._starts._data, offsets._data
    if type(content) is not NumpyArray or not (_is_moved(content._data) and _is_moved(starts) and _is_moved(at)):
        return None
    if len(starts) == 0 or len(at) != len(starts) + 1 or not kernels():
        return None
    first, total = at[:: len(starts)].tolist()
    if first != 0:
        return None
    place, data = Place(at), content._data
    out = place.xp.like(data, (total,))
    try:
        bounds = place.bounds(starts, lists._stops._data, len(starts))
        columns = [(place.xp.elements(data), place.xp.elements(out))]
        _core.pack_content(place.where, bounds, None, place(at), columns)
    except REFUSED:
        return None
    packed = NumpyArray(out, parameters=content._parameters, backend=content._backend)
    return ListOffsetArray(offsets, packed, parameters=lists._parameters)


def broadcast_of_lists(theirs: Any) -> Any:
    """The method of a ListArray that puts its lists where offsets say."""

    def _broadcast_tooffsets64(lists, offsets):
        packed = pack(lists, offsets)
        return theirs(lists, offsets) if packed is None else packed

    return _broadcast_tooffsets64


def take(data: Any, index: Any) -> Any:
    """data[index]; None where it is Awkward's to do."""
    if not is_cupys(index) or len(index) < CARRY_FROM or not (_is_moved(data) and _is_moved(index)) or not kernels():
        return None
    try:
        return upsweep.take(index, data)
    except REFUSED:
        return None


def methods() -> list[tuple[Any, str, Any, list[str]]]:
    """Awkward's methods that have to do with GPUs alone: class, name, what makes ours of theirs, and their arguments."""
    from awkward._backends.cupy import CupyBackend
    from awkward.contents import ListArray

    return [
        (CupyBackend, "__getitem__", getitem_of_backend, ["self", "index"]),
        (ListArray, "_broadcast_tooffsets64", broadcast_of_lists, ["self", "offsets"]),
    ]
