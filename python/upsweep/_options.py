# SPDX-License-Identifier: Apache-2.0
# upsweep/_options.py: how calls run: threads, rung and overflow, of a block of code or of one call.

from __future__ import annotations

import contextvars
import functools
import operator
from types import EllipsisType
from typing import Any, NamedTuple, Self

from . import _core
from ._arrays import word


class Settings(NamedTuple):
    threads: int = 0
    rung: str = ""
    overflow: str | None = None
    blocks: tuple[options, ...] = ()  # that have been entered, the outermost first


_PLAIN = Settings()
_current: contextvars.ContextVar[Settings] = contextvars.ContextVar("upsweep_options", default=_PLAIN)

OVERFLOWS = ("checked", "wrap")
_MOST_THREADS = 2**31 - 1


def check_overflow(overflow: str | None) -> str | None:
    """The word itself; ValueError for any other."""
    return None if overflow is None else word(overflow, "overflow", OVERFLOWS)


def _check_threads(threads: Any) -> int:
    if threads is None:
        return _PLAIN.threads
    try:
        number = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads: an integer is needed, not {threads!r}") from None
    if not 0 <= number <= _MOST_THREADS:
        raise ValueError(f"threads: 0 (every core) to {_MOST_THREADS}, not {number}")
    return number


def _check_rung(rung: Any) -> str:
    if rung is None:
        return _PLAIN.rung
    if not isinstance(rung, str):
        raise TypeError(f"rung: the name of a rung is needed, not {rung!r}")
    if rung and rung not in _rungs():
        raise ValueError(f"rung: no problem has a rung '{rung}'; there are: {', '.join(_rungs())}")
    return rung


@functools.cache
def _rungs() -> tuple[str, ...]:
    """The names of all problems' rungs, and of what runs queries, which have no ladder."""
    ladders = {rung["rung"] for problem in _core.problems() for rung in problem["rungs"]}
    return tuple(sorted(ladders | {"cpu.blocks", "cuda.generated"}))


_CHECKS = {"threads": _check_threads, "rung": _check_rung, "overflow": check_overflow}
NAMES = tuple(_CHECKS)


class options:
    """How the calls in a block run.

    Parameters
    ----------
    threads : int, optional
        At most so many threads; 0: every core that the process may use.
    rung : str, optional
        This rung of the ladder, or an error where it cannot do what is asked (see `ladder`).
    overflow : {"checked", "wrap"}, optional
        What sums of integers that do not fit their type do: an OverflowError, or modulo 2**bits. Products of integers are modulo
        2**bits either way.

    Blocks nest: what an inner one leaves out is the outer one's, and None is as outside of all blocks. Each thread and asyncio
    task has its own.

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
            raise RuntimeError("options: this thread or task has not entered the block that it leaves")
        _set_blocks(blocks[:last] + blocks[last + 1 :])


def _set_blocks(blocks: tuple[options, ...]) -> None:
    settings = _PLAIN
    for block in blocks:
        settings = settings._replace(**block._changes)
    _current.set(settings._replace(blocks=blocks) if blocks else _PLAIN)


def current() -> Settings:
    """What the blocks that this code runs in say."""
    return _current.get()


def checks(device: int, overflow: str | None) -> bool:
    """Whether sums that do not fit are errors: on a GPU, whose calls do not wait, only where it is asked for."""
    mode = check_overflow(overflow) or current().overflow or ("wrap" if device >= 0 else "checked")
    return mode == "checked"


def place(device: int = -1, stream: int = 0, overflow: str | None = None, *, rung: str | None = None) -> _core.Place:
    """Where and how a call runs; `rung` takes the place of the options' one."""
    settings = current()
    return _core.Place(settings.threads, settings.rung if rung is None else rung, checks(device, overflow), device, stream)
