# SPDX-License-Identifier: Apache-2.0
# upsweep/_device_plans.py: runs a plan on a GPU, over CuPy's arrays.
from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

import numpy as np


def run(plan: Any, read: Collection[int], columns: list[Any], parameters: list[tuple], events: int) -> Any:
    """As Plan.run(), in CuPy's current stream: arrays of CuPy, followed by the histograms in host memory."""
    cupy: Any = sys.modules["cupy"]
    device = cupy.cuda.Device(next((columns[i].device.id for i in read), None))  # None: the current one
    with device:
        kept = {i: _plain(cupy, columns[i]) for i in read}
        given = [(kept[i].data.ptr, kept[i].size) if i in kept else None for i in range(len(columns))]
        stream = cupy.cuda.get_current_stream().ptr
        made = plan.run_on_gpu(given, parameters, events, device.id, stream)
        if isinstance(made, tuple):
            return made
        outputs = [_output(cupy, made, i) for i in range(made.outputs)]
    return outputs + [made.bins(plan, i) for i in range(plan.histograms)]


def _plain(cupy: Any, column: Any) -> Any:
    """The column, or a copy if it is not contiguous or not aligned: a GPU cannot load numbers from other addresses."""
    plain = cupy.ascontiguousarray(column)
    return plain if plain.data.ptr % plain.itemsize == 0 else plain.copy()


def _output(cupy: Any, made: Any, i: int) -> Any:
    """An output in CuPy's own memory: that of the result must be freed before the stream ends."""
    array = cupy.empty(made.size(i), np.dtype(made.type(i)))
    made.copy(i, array.data.ptr)
    return array
