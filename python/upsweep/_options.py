# SPDX-License-Identifier: Apache-2.0
# upsweep/_options.py: how calls run: threads, rung and overflow, of a block of code or of one call.

from __future__ import annotations

import contextvars
from typing import NamedTuple, Self

from . import _core


class Settings(NamedTuple):
    threads: int = 0
    rung: str = ""
    overflow: str | None = None


_current: contextvars.ContextVar[Settings] = contextvars.ContextVar("upsweep_options", default=Settings())

OVERFLOWS = ("checked", "wrap")


def check_overflow(overflow: str | None) -> str | None:
    """The word itself; ValueError for any other."""
    if overflow is not None and overflow not in OVERFLOWS:
        raise ValueError(f'overflow: "checked" or "wrap", not {overflow!r}')
    return overflow


class options:
    """How the calls in a block run.

    Parameters
    ----------
    threads : int, optional
        At most so many threads; 0: every core that the process may use.
    rung : str, optional
        This rung of the ladder, or an error where it cannot do what is asked (see `ladder`).
    overflow : {"checked", "wrap"}, optional
        What sums of integers that do not fit their type do: an OverflowError, or modulo 2**bits.

    Blocks nest: what an inner one leaves out is the outer one's. Each thread and asyncio task has its own.

    Examples
    --------
    >>> import numpy, upsweep
    >>> with upsweep.options(threads=1, overflow="wrap"):
    ...     upsweep.cumulative_sum(numpy.array([100, 100], dtype=numpy.int8), dtype="int8")
    array([100, -56], dtype=int8)
    """

    def __init__(self, *, threads: int | None = None, rung: str | None = None, overflow: str | None = None):
        if threads is not None and threads < 0:
            raise ValueError(f"threads: 0 (every core) or more, not {threads}")
        self._changes = {
            name: value
            for name, value in (("threads", threads), ("rung", rung), ("overflow", check_overflow(overflow)))
            if value is not None
        }
        self._tokens: list[contextvars.Token[Settings]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_current.set(_current.get()._replace(**self._changes)))
        _core.count_options(1)
        return self

    def __exit__(self, *_: object) -> None:
        _core.count_options(-1)
        _current.reset(self._tokens.pop())


def current() -> Settings:
    """What the blocks that this code runs in say."""
    return _current.get()


def place(device: int = -1, stream: int = 0, overflow: str | None = None) -> _core.Place:
    """Where and how a call runs: on a GPU, whose calls do not wait, sums wrap around unless it is asked for otherwise."""
    settings = current()
    mode = check_overflow(overflow) or settings.overflow or ("wrap" if device >= 0 else "checked")
    return _core.Place(settings.threads, settings.rung, mode == "checked", device, stream)
