# SPDX-License-Identifier: Apache-2.0
# upsweep/_plain.py: functions whose calls with plain NumPy arrays run in C++, which makes short calls ten times faster.

import functools
from collections.abc import Callable
from typing import TypeVar

from . import _core

F = TypeVar("F", bound=Callable)


def plain(function: F) -> F:
    """Wraps a function with its plain case: upsweep._core runs the calls that it recognizes, and the function runs all others.

    Results and errors are the same in both cases.
    """
    return functools.update_wrapper(_core.plain(function), function)  # type: ignore[return-value]
