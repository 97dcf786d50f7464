# SPDX-License-Identifier: Apache-2.0
# upsweep/_options.py: how calls run (threads, rung and overflow), for a block of code or for one call.

from __future__ import annotations

import contextvars
import functools
import operator
from types import EllipsisType
from typing import Any, NamedTuple, Self

from . import _core
from ._arrays import text, word


class Settings(NamedTuple):
    threads: int = 0
    rung: str = ""
    overflow: str | None = None
    blocks: tuple[options, ...] = ()  # the blocks that were entered, the outermost first


_PLAIN = Settings()
_current: contextvars.ContextVar[Settings] = contextvars.ContextVar("upsweep_options", default=_PLAIN)

OVERFLOWS = ("checked", "wrap")
_MOST_THREADS = 2**31 - 1


def check_overflow(overflow: str | None) -> str | None:
    """Returns `overflow` if it is a valid choice; otherwise raises ValueError."""
    return None if overflow is None else word(overflow, "overflow", OVERFLOWS)


def _check_threads(threads: Any) -> int:
    if threads is None:
        return _PLAIN.threads
    try:
        number = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads: an integer is needed, not {threads!r}") from None
    if not 0 <= number <= _MOST_THREADS:
        raise ValueError(f"threads: 0 (all cores) to {_MOST_THREADS} is needed, not {number}")
    return number


def _check_rung(rung: Any) -> str:
    if rung is None:
        return _PLAIN.rung
    if not isinstance(rung, str):
        raise TypeError(f"rung: the name of a rung is needed, not {rung!r}")
    if rung and rung not in _rungs():
        _core.require_built(text(rung, "rung"))
        raise ValueError(f"rung: no problem has a rung '{rung}'; there are: {', '.join(_rungs())}")
    return rung


@functools.cache
def _rungs() -> tuple[str, ...]:
    """The names of the rungs of all problems, and of the rungs that run queries, which have no ladder."""
    ladders = {rung["rung"] for problem in _core.problems() for rung in problem["rungs"]}
    return tuple(sorted(ladders | {"cpu.blocks", "cuda.generated"}))


_CHECKS = {"threads": _check_threads, "rung": _check_rung, "overflow": check_overflow}
NAMES = tuple(_CHECKS)


class options:
    """Sets how the calls in a block of code run.

    Parameters
    ----------
    threads : int, optional
        The maximum number of threads; 0 means all cores that the process may use.
    rung : str, optional
        The rung of the ladder to run (see `ladder`). A call raises an error if this rung does not support it.
    overflow : {"checked", "wrap"}, optional
        The handling of integer sums that do not fit their type. "checked" raises OverflowError, "wrap" computes modulo 2**bits.
        Products of integers are modulo 2**bits in both cases.

    Blocks nest: an option that an inner block omits keeps the value of the outer block. `None` resets an option to its value
    outside of all blocks. Each thread and asyncio task has separate options.

    Raises
    ------
    ValueError
        No problem has such a rung.

    Examples
    --------
    >>> import numpy, upsweep
    >>> with upsweep.options(threads=1, overflow="wrap"):
    ...     upsweep.cumulative_sum(numpy.array([100, 100], dtype=numpy.int8), dtype="int8")
    array([100, -56], dtype=int8)
    """

    def __init__(
        self,
        *,
        threads: int | None | EllipsisType = ...,
        rung: str | None | EllipsisType = ...,
        overflow: str | None | EllipsisType = ...,
    ):
        given = {"threads": threads, "rung": rung, "overflow": overflow}
        self._changes = {name: _CHECKS[name](value) for name, value in given.items() if value is not ...}

    def __enter__(self) -> Self:
        _core.look_at_options(_current.get)
        _set_blocks((*_current.get().blocks, self))
        return self

    def __exit__(self, *_: object) -> None:
        blocks = _current.get().blocks
        last = max((i for i, block in enumerate(blocks) if block is self), default=None)
        if last is None:
            raise RuntimeError("options: this thread or task leaves a block that it has not entered")
        _set_blocks(blocks[:last] + blocks[last + 1 :])


def _set_blocks(blocks: tuple[options, ...]) -> None:
    settings = _PLAIN
    for block in blocks:
        settings = settings._replace(**block._changes)
    _current.set(settings._replace(blocks=blocks) if blocks else _PLAIN)


def current() -> Settings:
    """Returns the settings of the blocks that contain this code."""
    return _current.get()


def checks(device: int, overflow: str | None) -> bool:
    """Whether sums that do not fit are errors. On a GPU, whose calls do not wait, they are errors only on request."""
    mode = check_overflow(overflow) or current().overflow or ("wrap" if device >= 0 else "checked")
    return mode == "checked"


def place(device: int = -1, stream: int = 0, overflow: str | None = None, *, rung: str | None = None) -> _core.Place:
    """Returns where and how a call runs; `rung` replaces the rung of the options."""
    settings = current()
    return _core.Place(settings.threads, settings.rung if rung is None else rung, checks(device, overflow), device, stream)
