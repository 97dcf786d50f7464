# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/__init__.py: upsweep's kernels for Awkward Array, in the place of its own.
"""Awkward Array runs a faster kernel where upsweep has one, without a changed line:

>>> import upsweep.awkward
>>> upsweep.awkward.register()

or for some lines alone:

>>> with upsweep.awkward.kernels():
...     ak.sum(array, axis=1)

Results, their types and errors are Awkward's; upsweep/awkward.h says where sums of long lists of floats differ in their last
bits. Whatever upsweep has no kernel for is Awkward's own.

With CuPy the same goes for arrays on a GPU (backend="cuda"). There upsweep's kernels are compiled already, where most of Awkward's
are compiled when they first run, seconds each: those of reducers (but for complex numbers), sort, combinations, jagged and range
slices, masks and missing values, padding, unions, where and concatenate are taken over. Some of these are a few operations of CuPy,
which it compiles once and keeps on disk. Sums and products of floats are computed in another order, so that their last bits differ,
and long products may overflow or underflow elsewhere. Where something is wrong Awkward's own kernel runs, and says so as it does
alone. What is left to Awkward, reductions over outer axes and strings among it, needs cuda.compute (cuda-cccl).

Its functions of Awkward's names, and `select` and `pack`, take and return Awkward Arrays, registered or not: on lists of
numbers they go over the elements once, where Awkward goes from kernel to kernel; all else they hand to Awkward.

>>> upsweep.awkward.max(array, axis=1)
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
