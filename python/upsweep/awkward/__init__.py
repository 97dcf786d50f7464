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
"""

from upsweep.awkward._table import kernels, register, registered, unregister

__all__ = ["kernels", "register", "registered", "unregister"]
