# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/_awkward.py: scans, reductions and selections of dask-awkward lists, each partition separately.

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import upsweep
from upsweep import _options
from upsweep.dask._tasks import how


def is_lists(x: Any) -> bool:
    """Whether it is a dask-awkward array, whose partitions contain whole lists."""
    module = sys.modules.get("dask_awkward")  # the creator of such an array has imported it
    return module is not None and isinstance(x, module.Array)


def segmented_reduce(content: Any, op: str, initial: Any, dtype: Any, overflow: str | None) -> Any:
    """Folds the elements of every list to one value."""
    asked = {"op": op, "initial": initial, "dtype": dtype, "overflow": _overflow(op, overflow)}
    return _by_block("segmented_reduce", _Numbers("content", _reduced, asked, how()), content)


def scan(x: Any, axis: int | None, op: str, exclusive: bool, initial: Any, dtype: Any, overflow: str | None) -> Any:
    """Computes every prefix of every list."""
    if axis not in (None, 1, -1):
        raise ValueError(f"axis: 1 is needed for lists, which are scanned along it, not {axis}")
    asked = {"op": op, "exclusive": exclusive, "initial": initial, "dtype": dtype, "overflow": _overflow(op, overflow)}
    return _by_block("scan", _Numbers("x", _scanned, asked, how()), x)


def select(mask: Any, contents: tuple[Any, ...]) -> Any:
    """Selects the elements whose mask is true, of each content."""
    if not contents:
        raise TypeError("select: at least one content is needed")
    _require_mask(mask)
    kept = []
    for content in contents:
        _require_same_blocks(mask, content)
        kept.append(_by_block("select", _Selection(how()), mask, content, like=content, as_long=mask.ndim > 1))
    return tuple(kept) if len(kept) > 1 else kept[0]


def _overflow(op: str, overflow: str | None) -> str | None:
    """The overflow mode at the call, because tasks run elsewhere. By default only sums are checked; other requests are refused."""
    if overflow is not None:
        return _options.check_overflow(overflow)
    return "checked" if op == "add" and _options.checks(-1, None) else "wrap"


def _require_mask(mask: Any) -> None:
    import awkward as ak

    dtype = getattr(ak.flatten(_of_none(mask), axis=None).layout, "dtype", None)
    if dtype != np.bool_:
        raise TypeError(f"mask: booleans are needed, not {_of_none(mask).type.content}")


def _require_same_blocks(mask: Any, content: Any) -> None:
    import dask_awkward

    if not is_lists(content):
        raise TypeError(f"select: the mask is of dask-awkward, but the content is {type(content).__name__}")
    same = dask_awkward.partition_compatibility(mask, content) != dask_awkward.PartitionCompatibility.NO
    if not same or mask.npartitions != content.npartitions:
        raise ValueError(
            f"mask: its {mask.npartitions} partitions do not match those of the content, which has {content.npartitions}; divisions "
            f"{mask.divisions} and {content.divisions}"
        )


def _by_block(what: str, function: Any, *arrays: Any, like: Any = None, as_long: bool = True) -> Any:
    """A collection of function(partition of each array), with the behavior of `like`. `as_long`: partitions keep their lengths."""
    import dask_awkward

    meta = function.result_of_none(*map(_of_none, arrays))  # raises the errors for unsupported input
    meta.behavior = None if like is None else like.behavior
    divisions = 1 if as_long else None
    return dask_awkward.map_partitions(function, *arrays, label=f"upsweep-{what}", meta=meta, output_divisions=divisions)


def _of_none(array: Any) -> Any:
    """An empty Awkward Array of that form."""
    import awkward as ak

    form = array.layout.form if isinstance(array, ak.Array) else array.form
    return ak.Array(form.length_zero_array(highlevel=False))


def _type_of(result: Any) -> Any:
    """A result in the form that dask-awkward requests: an array without elements or length."""
    import awkward as ak

    return ak.Array(result.layout.to_typetracer(forget_length=True))


def _is_asked_for_columns(block: Any) -> bool:
    """Whether dask-awkward traces which columns are needed: it then passes blocks without data."""
    import awkward as ak

    return ak.backend(block) == "typetracer"


class _Numbers:
    """A function of lists of numbers in the form that a task runs."""

    def __init__(self, name: str, function: Callable[..., Any], asked: dict[str, Any], options: dict[str, Any]):
        self.name, self.function, self.asked, self.options = name, function, asked, options
        self.dtype: Any = None  # of the numbers: a block without elements may not have it

    def result_of_none(self, block: Any) -> Any:
        self.dtype = _lists_of(block, self.name, None).columns[0].dtype
        return _type_of(self(block))

    def __call__(self, block: Any) -> Any:
        import awkward as ak

        if _is_asked_for_columns(block):
            ak.typetracer.touch_data(block)
            return _type_of(self(_of_none(block)))
        with upsweep.options(**self.options):
            return self.function(_lists_of(block, self.name, self.dtype), **self.asked)


class _Selection:
    """The selection of elements by a mask, in the form that a task runs."""

    def __init__(self, options: dict[str, Any]):
        self.options = options

    def result_of_none(self, mask: Any, content: Any) -> Any:
        return _type_of(self(mask, content))

    def __call__(self, mask: Any, content: Any) -> Any:
        import upsweep.awkward

        if _is_asked_for_columns(content):
            return content[mask]
        with upsweep.options(**self.options):
            return upsweep.awkward.select(content, mask)


def _lists_of(block: Any, name: str, dtype: Any) -> Any:
    """The lists of a partition, packed. `dtype`: None if it is not yet known."""
    import awkward as ak

    from upsweep.awkward._layouts import Lists, lists_of

    array = ak.Array(block.layout)  # ignore its behavior
    lists = lists_of(array)
    if lists is None:  # after packing, a selection of lists or elements consists of lists again
        lists = lists_of(ak.to_packed(array))
    if lists is not None and lists.are_numbers:
        return lists.packed()
    if dtype is not None and ak.count(array, axis=None) == 0:
        return Lists(np.zeros(len(array) + 1, np.int64), len(array), 0, [np.empty(0, dtype)], None)
    raise TypeError(
        f"{name}: lists of numbers, one level deep and without missing values, are needed, not {array.type.content}"
    )


def _reduced(lists: Any, **asked: Any) -> Any:
    import awkward as ak

    return ak.Array(ak.contents.NumpyArray(upsweep.segmented_reduce(lists.columns[0], lists.bounds, **asked)))


def _scanned(lists: Any, **asked: Any) -> Any:
    import awkward as ak

    from upsweep.awkward._layouts import list_array

    begin, end = int(lists.bounds[0]), int(lists.bounds[-1])
    offsets = lists.bounds - begin
    sums = upsweep.segmented_scan(lists.columns[0][begin:end], offsets, **asked)
    return ak.Array(list_array(offsets, ak.contents.NumpyArray(sums)))
