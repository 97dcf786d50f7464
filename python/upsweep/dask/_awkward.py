# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/_awkward.py: scans, reductions and selections of dask-awkward's lists: each block is one of its own.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import upsweep
from upsweep.dask._tasks import how


def is_lists(x: Any) -> bool:
    """Whether it is a collection of dask-awkward's: its blocks have whole lists."""
    return type(x).__module__.partition(".")[0] == "dask_awkward"


def segmented_reduce(content: Any, **asked: Any) -> Any:
    """The elements of every list, folded to one value."""
    return _by_block("segmented_reduce", _reduced, [content], asked)


def scan(x: Any, axis: int | None, **asked: Any) -> Any:
    """Every prefix of every list."""
    if axis not in (None, 1, -1):
        raise ValueError(f"axis: 1 of lists, along which they are scanned, not {axis}")
    return _by_block("scan", _scanned, [x], asked)


def select(mask: Any, contents: tuple[Any, ...]) -> Any:
    """The elements whose mask is true, of each content."""
    import awkward as ak

    if not contents:
        raise TypeError("select: at least one content is needed")
    flat = ak.flatten(_of_none(mask), axis=None)
    if flat.layout.dtype != np.bool_:
        raise TypeError(f"mask: booleans are needed, not {flat.layout.dtype}")
    kept = tuple(_by_block("select", _selected, [mask, content], {}) for content in contents)
    return kept if len(kept) > 1 else kept[0]


def _by_block(what: str, function: Callable[..., Any], arrays: list[Any], asked: dict[str, Any]) -> Any:
    import dask_awkward

    for each in arrays:
        if not is_lists(each):
            raise TypeError(f"{what}: a collection of dask-awkward and {type(each).__name__} together")
    block = _Block(function, asked, how())
    meta = block.result_of_none(*arrays)  # with the errors of what cannot be computed
    return dask_awkward.map_partitions(block, *arrays, label=f"upsweep-{what}", meta=meta)


def _of_none(array: Any) -> Any:
    """An Awkward Array of that form, without elements."""
    import awkward as ak

    form = array.layout.form if isinstance(array, ak.Array) else array.form
    return ak.Array(form.length_zero_array(highlevel=False))


class _Block:
    """A function of blocks as a task has it."""

    def __init__(self, function: Callable[..., Any], asked: dict[str, Any], options: dict[str, Any]):
        self.function, self.asked, self.options = function, asked, options

    def __call__(self, *blocks: Any) -> Any:
        import awkward as ak

        if any(ak.backend(block) == "typetracer" for block in blocks):  # dask-awkward asks which columns are needed
            for block in blocks:
                ak.typetracer.touch_data(block)
            return self.result_of_none(*blocks)
        with upsweep.options(**self.options):
            return self.function(*blocks, **self.asked)

    def result_of_none(self, *arrays: Any) -> Any:
        """The type of the results, as dask-awkward has it: an array without elements or length."""
        import awkward as ak

        empty = self.function(*map(_of_none, arrays), **self.asked)
        return ak.Array(empty.layout.to_typetracer(forget_length=True))


def _numbers(block: Any, name: str) -> Any:
    from upsweep.awkward._layouts import lists_of

    lists = lists_of(block)
    if lists is None or not lists.are_numbers:
        raise TypeError(f"{name}: lists of numbers, one level deep and none of them missing, are needed, not {block.type.content}")
    return lists.packed()


def _reduced(block: Any, **asked: Any) -> Any:
    import awkward as ak

    lists = _numbers(block, "content")
    return ak.Array(ak.contents.NumpyArray(upsweep.segmented_reduce(lists.columns[0], lists.bounds, **asked)))


def _scanned(block: Any, **asked: Any) -> Any:
    import awkward as ak

    from upsweep.awkward._layouts import list_array

    lists = _numbers(block, "x")
    begin, end = int(lists.bounds[0]), int(lists.bounds[-1])
    offsets = lists.bounds - begin if begin else lists.bounds
    sums = upsweep.segmented_scan(lists.columns[0][begin:end], offsets, **asked)
    return ak.Array(list_array(offsets, ak.contents.NumpyArray(sums)))


def _selected(mask: Any, content: Any) -> Any:
    import upsweep.awkward

    return upsweep.awkward.select(content, mask)
