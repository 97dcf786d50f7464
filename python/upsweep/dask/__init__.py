# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/__init__.py: upsweep's functions over the collections of Dask.
"""The functions of `upsweep` for data in blocks that Dask's workers hold, on this machine or many:

>>> import upsweep.dask
>>> upsweep.dask.query("SELECT shop, SUM(price) FROM 'sales/*.parquet' GROUP BY shop")

Every task folds one block to a carry, a few bytes, and carries are merged in the order of the blocks. So answers have the same bits
on every run, with any number of workers, also where a worker dies and Dask does its tasks again. Tasks run on one thread each, as
Dask means them to; `upsweep.options` around a call says otherwise.
"""

try:
    import dask as _dask  # noqa: F401
except ImportError:
    raise ImportError("upsweep.dask needs Dask, which is not installed: pip install 'upsweep[dask]'") from None

from upsweep.dask._arrays import cumulative_sum, reduce, scan, select
from upsweep.dask._lists import segmented_reduce
from upsweep.dask._query import query

for _function in (cumulative_sum, query, reduce, scan, segmented_reduce, select):
    _function.__module__ = __name__
del _function

__all__ = ["cumulative_sum", "query", "reduce", "scan", "segmented_reduce", "select"]
