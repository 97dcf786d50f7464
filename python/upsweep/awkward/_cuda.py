# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_cuda.py: Awkward Array's operations on CuPy arrays, by upsweep's GPU kernels. These have the names
# and arguments of Awkward's kernels. They are already compiled, while Awkward compiles its kernels at their first run.
from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import upsweep
from upsweep import _core
from upsweep._arrays import MOVED_SIZES
from upsweep.awkward import _cuda_indices, _cuda_lists
from upsweep.awkward._cuda_place import Place, are_in_the_same_memory, module_of

# For fewer elements CuPy's take, which does not wait, is as fast.
CARRY_FROM = 4 * 1024 * 1024

# The errors of upsweep's functions for unsupported or invalid arguments. Awkward's own kernel then runs, or reports the
# error.
REFUSED = (IndexError, MemoryError, NotImplementedError, OverflowError, TypeError, ValueError)

KERNELS = {**_cuda_lists.KERNELS, **_cuda_indices.KERNELS}

# ------------------------------------------------------------------------------------------------------- Awkward's side

# The names of the functions of two kernels in Awkward.
NAMES_OF_FUNCTIONS = {"awkward_sort": "segmented_sort", "awkward_argsort": "segmented_argsort"}


def awkwards_arguments() -> dict[str, list[str]]:
    """The arguments of Awkward's kernels, read from its source files: importing them would need the packages that compile them."""
    import awkward

    folder = Path(awkward.__file__).parent / "_connect" / "cuda"
    source = (folder / "_compute.py").read_text(encoding="utf-8")
    functions = dict(re.findall(r"^def (\w+)\(([^)]*)\)", source, re.MULTILINE))
    arguments = {}
    for name in KERNELS:
        function = functions.get(NAMES_OF_FUNCTIONS.get(name, name))
        file = folder / "cuda_kernels" / f"{name}.cu"
        if function is not None:
            arguments[name] = re.findall(r"(\w+)(?:\s*[:=][^,]*)?(?:,|\s*$)", function)
        elif file.exists():
            found = re.search(r"\(([\w, ]+), invocation_index, err_code\) = args", file.read_text(encoding="utf-8"))
            arguments[name] = found[1].split(", ") if found else []
    return arguments


def is_there() -> bool:
    """Whether Awkward supports arrays on a GPU here."""
    return importlib.util.find_spec("cupy") is not None


def has_gpu() -> bool:
    """Whether upsweep has kernels for this machine's GPU."""
    return any(not device["error"] for device in _core.devices())


@functools.cache
def kernels() -> dict[str, Any]:
    """upsweep's kernels by name, except those that Awkward calls with other arguments. Warns about these when a kernel first runs."""
    if not has_gpu():
        return {}
    theirs = awkwards_arguments()
    changed = [name for name, ours in KERNELS.items() if theirs.get(name) != list(inspect.signature(ours).parameters)]
    if changed:
        names = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        text = f"upsweep: {len(changed)} of Awkward's GPU kernels have changed and are not replaced ({names})"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return {name: ours for name, ours in KERNELS.items() if name not in changed}


class Kernel:
    """A kernel of upsweep, and a function that finds Awkward's kernel."""

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
            except ImportError:  # Awkward's kernels cannot be compiled here
                raise refused from None
            return theirs(*arguments)
        _note_stream()
        return None


def _note_stream() -> None:
    """Registers the stream as Awkward's kernels do: its synchronize_cuda() checks the stream for errors."""
    from awkward._connect import cuda

    if cuda.cupy is not None:
        stream = cuda.cupy.cuda.get_current_stream().ptr
        if stream not in cuda.cuda_streamptr_to_contexts:
            cuda.cuda_streamptr_to_contexts[stream] = (cuda.cupy.array(cuda.NO_ERROR), [])


def getitem_of_backend(theirs: Any) -> Any:
    """The method that looks up kernels: upsweep's kernels come first."""

    def __getitem__(backend, index):
        ours = kernels().get(index[0])
        return theirs(backend, index) if ours is None else Kernel(ours, functools.partial(theirs, backend, index))

    return __getitem__


# -------------------------------------------------------------------------------------------------- between the kernels


def is_cupys(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "cupy"


def _is_moved(array: Any) -> bool:
    return is_cupys(array) and array.ndim == 1 and array.flags.c_contiguous and array.itemsize in MOVED_SIZES


def _are_same(offsets: Any, others: Any) -> bool:
    if not is_cupys(offsets) or len(offsets) != len(others):
        return False
    return are_in_the_same_memory(offsets, others) or bool(module_of(others).array_equal(offsets, others))


def select(lists: Any, mask: Any) -> Any:
    """Computes lists[mask] for a ListOffsetArray and a mask with the same offsets; returns None if Awkward must do it."""
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
    source = data[:elements] if are_moved else module_of(offsets).arange(elements)
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
    """Packs the numbers of a ListArray one after the other, as the offsets specify; returns None if Awkward must do it."""
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
    """The method of a ListArray that moves its lists to the positions that offsets specify."""

    def _broadcast_tooffsets64(lists, offsets):
        packed = pack(lists, offsets)
        return theirs(lists, offsets) if packed is None else packed

    return _broadcast_tooffsets64


def take(data: Any, index: Any) -> Any:
    """Computes data[index]; returns None if Awkward must do it."""
    if not is_cupys(index) or len(index) < CARRY_FROM or not (_is_moved(data) and _is_moved(index)) or not kernels():
        return None
    try:
        return upsweep.take(index, data)
    except REFUSED:
        return None


def array_equal_of_library(theirs: Any) -> Any:
    """The method that compares arrays. Awkward compares the offsets of all lists that an operation uses, on the GPU, and waits for the
    result. Most of these offsets are the same memory."""

    def array_equal(nplike, x1, x2, *, equal_nan=False):
        if is_cupys(x1) and is_cupys(x2) and x1.dtype.kind in "iu" and are_in_the_same_memory(x1, x2):
            return True
        return theirs(nplike, x1, x2, equal_nan=equal_nan)

    return array_equal


def getitem_of_lists(theirs: Any) -> Any:
    """Computes array[mask] if both have the same offsets."""
    from awkward._namedaxis import NamedAxis
    from awkward.contents import ListOffsetArray, NumpyArray
    from awkward.highlevel import Array

    def _getitem(lists, where, named_axis=NamedAxis):
        # isinstance() of a class that is an ABC takes as long as the rest of this function.
        mask = getattr(where, "_layout", where)
        if type(mask) is ListOffsetArray and type(mask._content) is NumpyArray and (mask is where or isinstance(where, Array)):
            selected = select(lists, mask)
            if selected is not None:
                return selected
        return theirs(lists, where, named_axis)

    return _getitem


def carry_of_numbers(theirs: Any) -> Any:
    from awkward.contents import NumpyArray

    def _carry(array, carry, allow_lazy):
        taken = take(array._data, carry._data)
        if taken is None:
            return theirs(array, carry, allow_lazy)
        return NumpyArray(taken, parameters=array._parameters, backend=array._backend)

    return _carry


def hooks(native: Any) -> list[tuple[Any, str, Any, str]]:
    """The hooks for CuPy arrays, if CuPy is installed, in the same form as in the other modules."""
    if not is_there():
        return []
    from awkward._backends.cupy import CupyBackend
    from awkward._nplikes.cupy import Cupy
    from awkward.contents import ListArray, ListOffsetArray, NumpyArray

    return [
        (CupyBackend, "__getitem__", getitem_of_backend, "self index"),
        (Cupy, "array_equal", array_equal_of_library, "self x1 x2 equal_nan"),
        (ListArray, "_broadcast_tooffsets64", broadcast_of_lists, "self offsets"),
        (ListOffsetArray, "_getitem", getitem_of_lists, "self where named_axis"),
        (NumpyArray, "_carry", carry_of_numbers, "self carry allow_lazy"),
    ]
