# SPDX-License-Identifier: Apache-2.0
# upsweep/_ladder.py: the ladders: every rung of a problem verified and timed on this machine, as a table; and the GPUs.

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _core, _options
from ._arrays import result_type

_COLUMNS = ("rung", "type", "n", "threads", "status", "seconds", "bytes_per_second", "of_limit", "speedup")


class Records(Sequence[dict[str, Any]]):
    """Rows of a table: a sequence of dictionaries, shown as a table in a notebook, and exported to Arrow.

    `pyarrow.table(records)`, `polars.DataFrame(list(records))` and `pandas.DataFrame(list(records))` take it.
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
    """Every rung of a problem, from the naive loop up, verified and timed on this machine.

    Parameters
    ----------
    problem : str, optional
        "scan", "reduce", "segmented", …; without it all problems and their rungs are listed, and nothing is timed.
    sizes, types : sequences, optional
        Lengths and element types of the generated data; by default the problem's usual ones.
    device : {"cpu", "cuda"}
        Whose rungs.
    max_seconds : float
        A rung that is estimated to take longer is skipped.
    settings : mapping, optional
        What the problem has besides, such as {"lists": "fixed3"}: the options of `upsweep ladder`.

    Threads and a single rung are those of `options`.

    Returns
    -------
    Records
        A dictionary for each rung: its `rung` and `idea`, `status` ("verified", "failed", "skipped") and `reason`, the median
        `seconds`, the rate, and what fraction of a copy's or read's rate in the same run that is.

    Raises
    ------
    ValueError
        No such problem, rung or setting.

    Examples
    --------
    >>> import upsweep
    >>> [record["rung"] for record in upsweep.ladder() if record["problem"] == "scan"][0]
    'cpu.serial'
    >>> upsweep.ladder("scan", sizes=[1000], types=["int32"])[0]["status"]
    'verified'
    """
    if problem is None:
        return Records(
            [{"problem": each["name"], **rung} for each in _core.problems() for rung in each["rungs"]],
            ("problem", "rung", "idea", "needs"),
        )
    if device not in ("cpu", "cuda"):
        raise ValueError(f'device: "cpu" or "cuda", not {device!r}')
    current = _options.current()
    rows = _core.climb(
        problem,
        list(sizes),
        [result_type(each) for each in types],
        dict(settings or {}),
        current.rung,
        max_seconds,
        device == "cpu",
        device == "cuda",
        [current.threads],
    )
    return Records(rows, _COLUMNS)


def devices() -> list[dict[str, Any]]:
    """The GPUs of this machine, by their ordinals; none where there is no driver, or upsweep was built without CUDA.

    Each is a dictionary with `name`, `compute_capability`, `multiprocessors`, `memory_bytes`, `l2_bytes`, and `error`: why it
    cannot be used, or "".

    Examples
    --------
    >>> import upsweep
    >>> usable = [device["name"] for device in upsweep.devices() if not device["error"]]
    """
    return _core.devices()
