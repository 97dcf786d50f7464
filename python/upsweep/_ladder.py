# SPDX-License-Identifier: Apache-2.0
# upsweep/_ladder.py: verifies and times every rung of a problem on this machine, as a table; and lists the GPUs.

from __future__ import annotations

import html
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _core, _options
from ._arrays import result_type, text, whole_number, word

_COLUMNS = ("rung", "type", "n", "threads", "status", "seconds", "bytes_per_second", "of_limit", "speedup")


class Records(Sequence[dict[str, Any]]):
    """Rows of a table: a sequence of dictionaries, displayed as a table in a notebook, and exported to Arrow.

    `pyarrow.table(records)`, `polars.DataFrame(list(records))` and `pandas.DataFrame(list(records))` accept it.
    """

    def __init__(self, rows: list[dict[str, Any]], columns: tuple[str, ...]):
        self._rows = rows
        self._columns = columns

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return Records(self._rows[index], self._columns) if isinstance(index, slice) else self._rows[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow

        return pyarrow.Table.from_pylist(self._rows).__arrow_c_stream__(requested_schema)

    def _cells(self) -> list[list[str]]:
        return [[_shown(name, row.get(name)) for name in self._columns] for row in self._rows]

    def __repr__(self) -> str:
        table = [list(self._columns), *self._cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(self._columns))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "seconds":
        for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
            if value >= scale:
                return f"{value / scale:.3g} {unit}"
        return f"{value / 1e-9:.3g} ns"
    if name == "bytes_per_second":
        return f"{value / 1e9:.3g} GB/s"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def ladder(
    problem: str | None = None,
    /,
    *,
    sizes: Sequence[int] = (),
    types: Sequence[Any] = (),
    device: str = "cpu",
    max_seconds: float = 5.0,
    settings: Mapping[str, int | str] | None = None,
) -> Records:
    """Verifies and times every rung of a problem on this machine, starting with the naive loop.

    Parameters
    ----------
    problem : str, optional
        The name of a problem: "scan", "reduce", … "segmented_reduce" is "segmented-reduce". Without a problem, the
        function lists all problems and their rungs, and times nothing.
    sizes, types : sequences, optional
        Lengths and element types of the generated data. The default is the problem's usual ones. A length of a million may be
        written as 1e6.
    device : {"cpu", "cuda"}
        The device whose rungs are timed.
    max_seconds : float
        The time limit per rung in seconds. A rung whose estimated time is longer is skipped.
    settings : mapping, optional
        Other settings of the problem, such as {"lists": "fixed3"}. They are the options of `upsweep ladder`.

    `options` specifies the number of threads, and can select a single rung.

    Returns
    -------
    Records
        A dictionary for each rung. It contains `rung`, `idea`, `status` ("verified", "failed", "skipped") and `reason`, the
        median `seconds`, and the rate of the rung. It also contains this rate divided by the rate of a copy, or of a read, in
        the same run.

    Raises
    ------
    ValueError
        An unknown problem, rung or setting.
    OverflowError
        A length or setting exceeds 2**63 - 1.

    Examples
    --------
    >>> import upsweep
    >>> [record["rung"] for record in upsweep.ladder() if record["problem"] == "scan"][0]
    'cpu.serial'
    >>> upsweep.ladder("scan", sizes=[1000], types=["int32"])[0]["status"]
    'verified'
    """
    if problem is not None and not isinstance(problem, str):
        raise TypeError(f'problem: a name such as "scan" is needed, not {problem!r}')
    if problem is None:
        return Records(
            [{"problem": each["name"], **rung} for each in _core.problems() for rung in each["rungs"]],
            ("problem", "rung", "idea", "needs"),
        )
    word(device, "device", ("cpu", "cuda"))
    current = _options.current()
    rows = _core.climb(
        text(problem, "problem").replace("_", "-"),
        [whole_number(each, "sizes", 0) for each in _several(sizes, "sizes")],
        [_element_type(each) for each in _several(types, "types")],
        _settings(settings),
        current.rung,
        _seconds(max_seconds),
        device == "cpu",
        device == "cuda",
        [current.threads],
    )
    return Records(rows, _COLUMNS)


def _several(values: Any, name: str) -> Iterable[Any]:
    if isinstance(values, (str, bytes, type)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: a sequence is needed, not {values!r}")
    return values


def _element_type(dtype: Any) -> str:
    try:
        return result_type(dtype)
    except TypeError as error:
        raise TypeError(f"types: {str(error).removeprefix('dtype: ')}") from None


def _settings(settings: Any) -> dict[str, int | str]:
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings: a mapping from names to values is needed, not {settings!r}")
    checked: dict[str, int | str] = {}
    for name, value in (settings or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"settings: the name of a setting must be a string, not {name!r}")
        text(name, "settings")
        checked[name] = text(value, f"settings: {name}") if isinstance(value, str) else whole_number(value, f"settings: {name}")
    return checked


def _seconds(seconds: Any) -> float:
    if not isinstance(seconds, numbers.Real):
        raise TypeError(f"max_seconds: a number is needed, not {seconds!r}")
    if math.isnan(seconds) or seconds < 0:
        raise ValueError(f"max_seconds: 0 or more is needed, not {seconds!r}")
    return float(seconds)


def devices() -> list[dict[str, Any]]:
    """Lists the GPUs of this machine by ordinal. The list is empty without a driver, or if upsweep was built without CUDA.

    Each GPU is a dictionary with `name`, `compute_capability`, `multiprocessors`, `memory_bytes`, `l2_bytes`, and `error`. `error`
    is the reason why the GPU cannot be used, or "".

    Examples
    --------
    >>> import upsweep
    >>> usable = [device["name"] for device in upsweep.devices() if not device["error"]]
    """
    return _core.devices()
