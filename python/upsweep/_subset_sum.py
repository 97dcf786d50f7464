# SPDX-License-Identifier: Apache-2.0
# upsweep/_subset_sum.py: which of some positive integers add up to a target.

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core, _options
from ._arrays import INTEGERS, flag, shown, take_in, whole
from ._plain import plain


class SubsetSum(NamedTuple):
    """Whether some items add up to the target; then their sum and their positions, ascending. `rung` is what ran."""

    reachable: bool
    sum: int
    indices: np.ndarray
    rung: str


_core.set_subset_sum_class(SubsetSum)


def _items(items: Any) -> np.ndarray:
    array = take_in(items, "items", INTEGERS + ": scale decimals first")
    if array.xp.device >= 0:
        raise TypeError("items: they are the host's, also for a search on a GPU")
    if array.data.ndim != 1:
        raise ValueError(f"items: one dimension is needed, not {array.data.ndim}")
    if array.data.size == 0:
        return np.empty(0, np.int64)
    if array.data.dtype.kind not in "iu":
        raise TypeError(f"items: {INTEGERS.format(shown(array.dtype))}: scale decimals first")
    if array.dtype == "uint64" and array.data.max(initial=0) > np.iinfo(np.int64).max:
        raise OverflowError("items: one of them exceeds the largest int64")
    return array.xp.contiguous(array.data.astype(np.int64, copy=False))


@plain
def subset_sum(
    items: Any,
    target: int,
    /,
    *,
    witness: bool = True,
    below: int = 0,
    above: int = 0,
    ways: int | None = None,
    device: int | None = None,
) -> SubsetSum | list[np.ndarray]:
    """Which of these positive integers add up to a target.

    Parameters
    ----------
    items : array of integers, of shape (n,), each at least 1
        In the host's memory.
    target : int
        0 to 2**63 - 1.
    witness : bool
        Which items, not only whether there are any.
    below, above : int
        A sum from target - below to target + above will do: the nearest one.
    ways : int, optional
        As many different ways, or all where there are fewer, each as ascending positions.
    device : int, optional
        Search on this GPU.

    Returns
    -------
    SubsetSum, or a list of arrays of int64 with `ways`
        Of a SubsetSum `reachable`, `sum`, `indices` (positions of items that add up to it, ascending; none without `witness`) and
        `rung`: what found it, or "none" where none was needed.

    Raises
    ------
    ValueError
        An item less than 1, with its `index`; a negative target; `ways` with `below` or `above`.
    NotImplementedError
        `ways` on a GPU.
    TypeError
        Items that are no integers: scale decimals first.
    OverflowError
        The items up to the target add up to more than 2^63 - 1.
    MemoryError
        More memory than there is would be needed; nothing has been begun then.

    Examples
    --------
    >>> import upsweep
    >>> found = upsweep.subset_sum([3, 34, 4, 12, 5, 2], 9)
    >>> found.reachable, found.indices
    (True, array([2, 4]))
    >>> upsweep.subset_sum([3, 34, 4, 12, 5, 2], 9, ways=2)
    [array([0, 2, 5]), array([2, 4])]
    """
    values = _items(items)
    where = _options.place(-1 if device is None else whole(device, "device", 0))
    target, below, above = whole(target, "target", 0), whole(below, "below", 0), whole(above, "above", 0)
    if ways is not None:
        if below or above:
            raise ValueError("ways: of sums equal to the target: leave below and above out")
        if device is not None:
            raise NotImplementedError("ways: several are found on the CPU only: leave device out")
        found, _ = _core.find_subsets(where, values, target, whole(ways, "ways", 1))
        return [np.array(each, np.int64) for each in found]
    reachable, total, indices, rung = _core.find_subset(where, values, target, flag(witness, "witness"), below, above)
    return SubsetSum(reachable, total, np.array(indices, np.int64), rung)
