# SPDX-License-Identifier: Apache-2.0
# upsweep/_subset_sum.py: finds positive integers that add up to a target.

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core, _options
from ._arrays import INTEGERS, flag, shown, take_in, whole, whole_number
from ._plain import plain


class SubsetSum(NamedTuple):
    """Whether some items add up to the target. If so, also their sum and their ascending positions. `rung` is the rung that ran."""

    reachable: bool
    sum: int
    indices: np.ndarray
    rung: str


_core.set_subset_sum_class(SubsetSum)


def _items(items: Any) -> np.ndarray:
    array = take_in(items, "items", INTEGERS + ": scale decimals first")
    if array.xp.device >= 0:
        raise TypeError("items: they must be in host memory, also for a search on a GPU")
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
    """Finds which of these positive integers add up to a target.

    Parameters
    ----------
    items : array of integers, of shape (n,), each at least 1
        The items, in host memory.
    target : int
        The target sum, from 0 to 2**63 - 1.
    witness : bool
        If true, the result contains the items, not only whether a solution exists.
    below, above : int
        The tolerance of the sum. Sums from target - below to target + above are accepted, and the sum nearest to the target is
        returned.
    ways : int, optional
        The number of different solutions to return, each as ascending positions. If there are fewer solutions, all are returned.
    device : int, optional
        The GPU that runs the search. By default the CPU runs it.

    Returns
    -------
    SubsetSum, or a list of arrays of int64 with `ways`
        A SubsetSum contains `reachable`, `sum`, `indices` and `rung`. `indices` are the ascending positions of items that add up
        to the sum; `indices` is empty without `witness`. `rung` is the rung that found the solution, or "none" if no search was
        necessary.

    Raises
    ------
    ValueError
        An item is less than 1; `index` is the position of the item. The target is negative. `ways` is combined with `below` or
        `above`.
    NotImplementedError
        `ways` on a GPU.
    TypeError
        The items are not integers. Scale decimals first.
    OverflowError
        The sum of the items up to the target exceeds 2^63 - 1.
    MemoryError
        The search would need more memory than is available, so it was not started.

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
    target, below, above = whole_number(target, "target", 0), whole_number(below, "below", 0), whole_number(above, "above", 0)
    if ways is not None:
        if below or above:
            raise ValueError("ways: solutions must be equal to the target: omit below and above")
        if device is not None:
            raise NotImplementedError("ways: several solutions are found only on the CPU: omit device")
        found, _ = _core.find_subsets(where, values, target, whole_number(ways, "ways", 1))
        return [np.array(each, np.int64) for each in found]
    reachable, total, indices, rung = _core.find_subset(where, values, target, flag(witness, "witness"), below, above)
    return SubsetSum(reachable, total, np.array(indices, np.int64), rung)
