# SPDX-License-Identifier: Apache-2.0
# upsweep/__init__.py: the names of the package.
"""upsweep: scans, ragged arrays, fused filtered aggregates and subset sums at the speed of memory, on CPUs and NVIDIA GPUs."""

try:
    from ._core import __version__
except ImportError as error:
    from ._libraries import import_error

    raise import_error(error) from None
from ._histogram import histogram
from ._ladder import devices, ladder
from ._moves import (
    broadcast,
    cartesian,
    combinations,
    flatten,
    lengths_to_offsets,
    local_index,
    offsets_to_parents,
    pack,
    parents_to_offsets,
    partition,
    select,
    take,
)
from ._options import options
from ._query import query
from ._read import read, schema
from ._scan import cumulative_prod, cumulative_sum, offsets, reduce, scan
from ._segmented import (
    group_by,
    reduce_by_key,
    scan_by_key,
    segmented_argsort,
    segmented_reduce,
    segmented_scan,
    segmented_sort,
)
from ._subset_sum import subset_sum

__all__ = [
    "__version__",
    "broadcast",
    "cartesian",
    "combinations",
    "cumulative_prod",
    "cumulative_sum",
    "devices",
    "flatten",
    "group_by",
    "histogram",
    "ladder",
    "lengths_to_offsets",
    "local_index",
    "offsets",
    "offsets_to_parents",
    "options",
    "pack",
    "parents_to_offsets",
    "partition",
    "query",
    "read",
    "reduce",
    "reduce_by_key",
    "scan",
    "scan_by_key",
    "schema",
    "segmented_argsort",
    "segmented_reduce",
    "segmented_scan",
    "segmented_sort",
    "select",
    "subset_sum",
    "take",
]
