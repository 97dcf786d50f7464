# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/__init__.py: upsweep's kernels for Awkward Array, which replace Awkward's kernels.
"""Awkward Array runs upsweep's kernels where they exist, without changes to your code:

>>> import upsweep.awkward
>>> upsweep.awkward.register()

or only for some lines:

>>> with upsweep.awkward.kernels():
...     ak.sum(array, axis=1)

Results, their types and errors are the same as Awkward's. Sums of long lists of floats may differ in their last bits;
upsweep/awkward.h describes for which lists. If upsweep has no kernel for an operation, Awkward runs its own.

With CuPy, `register()` also replaces kernels for arrays on a GPU (backend="cuda"). upsweep's GPU kernels are already compiled,
while Awkward compiles most of its kernels at their first run, seconds each. The replaced kernels are those of reducers (except
for complex numbers), sort, combinations, jagged and range slices, masks and missing values. Those of padding, unions, where and
concatenate are also replaced. Some of these are a few CuPy operations, which CuPy compiles once and caches on disk. Sums and
products of floats are computed in a different order. Therefore their last bits differ, and long products may overflow or
underflow at a different element. For invalid input Awkward's own kernel runs, and raises its usual error. Awkward's remaining
kernels, such as reductions over outer axes and strings, need cuda.compute (cuda-cccl).

The functions of this module with Awkward's names, and `select` and `pack`, accept and return Awkward Arrays, whether `register()`
was called or not. For lists of numbers, they read the elements once, while Awkward runs one kernel after another. For any other
input, they call Awkward's function.

>>> upsweep.awkward.max(array, axis=1)

`fuse` runs a whole function of Awkward Arrays in one pass, whether `register()` was called or not:

>>> @upsweep.awkward.fuse
... def pt_of_jets(events, least):
...     return ak.sum(events.jets.pt[events.jets.pt > least], axis=1)
"""

from upsweep.awkward._functions import (
    all,
    any,
    argmax,
    argmin,
    argsort,
    cartesian,
    combinations,
    concatenate,
    count,
    count_nonzero,
    flatten,
    local_index,
    max,
    min,
    pack,
    prod,
    select,
    sort,
    sum,
)
from upsweep.awkward._fuse import fuse
from upsweep.awkward._table import kernels, register, registered, unregister

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "cartesian",
    "combinations",
    "concatenate",
    "count",
    "count_nonzero",
    "flatten",
    "fuse",
    "kernels",
    "local_index",
    "max",
    "min",
    "pack",
    "prod",
    "register",
    "registered",
    "select",
    "sort",
    "sum",
    "unregister",
]
