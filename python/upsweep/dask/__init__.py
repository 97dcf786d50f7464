# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/__init__.py: upsweep's functions for the collections of Dask.
"""The functions of `upsweep` for data in chunks that Dask's workers hold, on one machine or many:

>>> import upsweep.dask
>>> upsweep.dask.query("SELECT shop, SUM(price) FROM 'sales/*.parquet' GROUP BY shop")

Every task folds one chunk to a carry, a few bytes. Carries are merged in the order of the chunks. Therefore answers have the same
bits on every run, with any number of workers, even if a worker dies and Dask repeats its tasks. Each task runs on one thread, as
Dask intends. To change this, make the call inside `with upsweep.options(threads=...)`.
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
