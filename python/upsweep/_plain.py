# SPDX-License-Identifier: Apache-2.0
# upsweep/_plain.py: functions whose calls with plain arrays of NumPy are done in C++, which short calls are ten times faster by.

import functools
from collections.abc import Callable
from typing import TypeVar

from . import _core

F = TypeVar("F", bound=Callable)


def plain(function: F) -> F:
    """The function behind its plain case: calls that upsweep._core recognizes are done there, all others by the function itself.

    Both give the same results and errors.
    """
    return functools.update_wrapper(_core.plain(function), function)  # type: ignore[return-value]
