# SPDX-License-Identifier: Apache-2.0
# upsweep_report/findings.py: makes sentences from measurements: one for each problem, and three for the page.
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .figures import COLOURS, OF_LIMIT, Chart, layout_of, limit_line
from .results import Results, Row

# A rung is "at the limit" from this fraction on.
AT_THE_LIMIT = 0.8

# It is "above the limit" from this fraction on. Two medians of a copy differ by less.
ABOVE = 1.05

# A cache may contain this number of bytes.
SHORT = 64e6

# Problems that have no limit by memory: an upper rung of subset-sum moves far fewer bytes than the table has.
WITHOUT_LIMIT = ("subset-sum",)


class Finding(NamedTuple):
    """The best rung of a problem at its longest input on one processor, next to the first rung."""

    problem: str
    best: Row
    first: Row | None  # None: it was not timed at that length
    limited_by: str  # as the rung's row in the ladder states it

    @property
    def of_limit(self) -> float | None:
        return None if self.problem in WITHOUT_LIMIT else self.best.of_limit

    @property
    def first_of_limit(self) -> float | None:
        return self.first.of_limit if self.first and self.of_limit else None

    @property
    def gain(self) -> float | None:
        return self.first.seconds / self.best.seconds if self.first and self.first.seconds and self.best.seconds else None

    @property
    def limit(self) -> str:
        """The rate that it is compared with."""
        return "read" if self.best.details.get("fraction_of_read") else "copy"

    @property
    def text(self) -> str:
        """The sentence on it, after the name of the rung."""
        lowest = "the loop" if self.best.device == "cpu" else "the first rung"
        gain = f"{times(self.gain)} {lowest}" if self.gain else f"{lowest} was not timed"
        if self.best is self.first:
            gain = f"it is {lowest}"
        if self.of_limit is None:
            return f"takes {seconds_text(self.best.seconds)}; {gain}."
        words = f"{self.of_limit:.0%} of a {self.limit}'s rate with {size_text(self.best.bytes)}; {gain}."
        if self.of_limit >= ABOVE:
            return f"is above the limit: {words} {self._why_above()}"
        if self.of_limit >= AT_THE_LIMIT:
            return f"is at the limit: {words}"
        return f"reaches {words}{self._why_below()}"

    def _why_below(self) -> str:
        """Names the limits of the rung. Memory is left out, as the rung is far from that limit."""
        reasons = [reason for reason in self.limited_by.split("; ") if reason != "the memory"]
        return f" Its limit: {'; '.join(reasons)}." if reasons and reasons[0] else ""

    def _why_above(self) -> str:
        if self.best.bytes < SHORT:
            return "Its data fit in a cache: measure a longer input."
        return "Causes: a cache, reads without writes, or a copy that other load delayed."


class Board(NamedTuple):
    """The findings of one processor."""

    place: str
    recorded: bool
    findings: list[Finding]

    @property
    def label(self) -> str:
        return f"{self.place}, recorded" if self.recorded else self.place

    @property
    def chart(self) -> Chart:
        return headline(self)


def boards(results: Sequence[Results], ladders: Sequence[dict[str, Any]]) -> list[Board]:
    """The findings of each processor and GPU, with this machine's first. Problems are in the order of `ladders`."""
    of_places: dict[str, tuple[bool, list[Row]]] = {}
    for each in sorted(results, key=lambda each: each.recorded):
        for row in each.rows:
            of_places.setdefault(row.place, (each.recorded, []))[1].append(row)
    made = [Board(place, recorded, findings(rows, ladders)) for place, (recorded, rows) in of_places.items()]
    return [board for board in made if board.findings]


def findings(rows: Sequence[Row], ladders: Sequence[dict[str, Any]]) -> list[Finding]:
    """A finding for each problem. `rows` are of one processor."""
    found = []
    for problem in dict.fromkeys(rung["problem"] for rung in ladders):
        limits = {rung["rung"]: rung.get("limit", "") for rung in ladders if rung["problem"] == problem}
        timed = [row for row in rows if row.problem == problem and row.rung in limits and row.seconds and _is_compared(row)]
        if timed:
            found.append(_finding(problem, timed, limits))
    return found


def _is_compared(row: Row) -> bool:
    """Whether it ran on all threads with its data in place."""
    return row.study != "threads" and "transfer" not in row.details


def _finding(problem: str, rows: list[Row], limits: dict[str, str]) -> Finding:
    order = list(limits)
    first = min((row.rung for row in rows), key=order.index)
    if not any(row.study == "sizes" for row in rows):  # instances of unequal kinds: the first rung needs to be there
        rows = [row for row in rows if any(_case(row) == _case(other) and other.rung == first for other in rows)]
    case = _case(max(rows, key=lambda row: row.n))  # of several of this length the first
    there = {row.rung: row for row in rows if _case(row) == case}  # the last measurement of each rung
    best = min(there.values(), key=lambda row: row.seconds or 0.0)
    return Finding(problem, best, there.get(first), limits[best.rung])


def _case(row: Row) -> tuple[Any, ...]:
    return row.n, row.type, row.input


# --------------------------------------------------------------------------------------------------- the first screen


def introduction(results: Sequence[Results], found: Sequence[Board]) -> list[str]:
    """Returns three sentences: what was run, what the best rung reached, where to look next. This machine is first."""
    own = [each for each in results if not each.recorded] or list(results)
    rows = [row for each in own for row in each.rows]
    ways = len({(row.problem, row.rung) for row in rows if row.seconds})
    problems = len({row.problem for row in rows if row.seconds})
    places = list(dict.fromkeys(row.place for row in rows if row.seconds))
    if not places:
        return ["Nothing was measured."]
    said = [f"{plural(ways, 'rung')} of {plural(problems, 'problem')} were verified, then timed on {' and on '.join(places)}."]
    shared = [each for board in found[:1] for each in board.findings if each.of_limit is not None]
    if not shared:
        return said
    under = [each for each in shared if each.of_limit < ABOVE] or shared
    best = max(under, key=lambda each: each.of_limit)
    at_limit = sum(each.of_limit >= AT_THE_LIMIT for each in shared)
    the_best = f"On {found[0].place} the best rung" if len(places) > 1 else "The best rung"
    said.append(
        f"{the_best}, {best.best.rung} of {best.problem}, reached {best.of_limit:.0%} of the rate of a {best.limit} of "
        f"{size_text(best.best.bytes)}; {at_limit} of {plural(len(shared), 'problem')} with such a limit reached {AT_THE_LIMIT:.0%}."
    )
    worst = min(shared, key=lambda each: each.of_limit)
    what = "compare its rungs" if worst.best.kind == "library" else f"step through the drawing of {worst.best.rung}"
    said.append(f"Look next at {worst.problem}, {worst.of_limit:.0%} of its limit, and {what}.")
    return said


def headline(board: Board) -> Chart:
    """For each problem the first rung and the best one, as fractions of the limit."""
    shared = [each for each in board.findings if each.of_limit is not None]
    if not shared:
        return Chart("From the first rung to the limit", "", {})
    layout = layout_of("", "")
    layout["xaxis"] |= {**OF_LIMIT, "tickformat": ".0%", "nticks": 7}
    names = [each.problem for each in shared]
    layout["yaxis"] |= {
        "categoryorder": "array",
        "categoryarray": names,
        "range": [len(names) - 0.4, -0.6],
        "tickfont": {"size": 12},
    }
    layout["height"] = 120 + 22 * len(names)
    ways = [each for each in shared if each.first_of_limit]
    steps = {
        "type": "scatter",
        "mode": "lines",
        "showlegend": False,
        "hoverinfo": "skip",
        "x": [x for each in ways for x in (each.first_of_limit, each.of_limit, None)],
        "y": [y for each in ways for y in (each.problem, each.problem, None)],
        "line": {"color": COLOURS[6], "width": 2},
    }
    first = _marks("the first rung", ways, [each.first_of_limit for each in ways], [each.first for each in ways])
    best = _marks("the best rung", shared, [each.of_limit for each in shared], [each.best for each in shared])
    first["marker"] = {"size": 9, "color": COLOURS[1], "symbol": "circle-open", "line": {"width": 2}}
    best["marker"] = {"size": 11, "color": COLOURS[0]}
    text = "Dashed: the limit, the rate of a copy of the problem's bytes, or of a read for filtered-sum. Longest input of each problem."
    figure = {"data": [steps, first, best], "layout": {**layout, "shapes": [limit_line("x")]}}
    return Chart("From the first rung to the limit", text, {board.label: figure})


def _marks(name: str, shared: Iterable[Finding], values: list[float | None], rows: list[Row | None]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": values,
        "y": [each.problem for each in shared],
        "text": [f"{row.rung}, {row.n:,}: {seconds_text(row.seconds)}" if row else "" for row in rows],
        "hovertemplate": "%{y}: %{x:.0%}<br>%{text}<extra></extra>",
    }


# ------------------------------------------------------------------------------------------------------------ numbers


def plural(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def times(gain: float | None) -> str:
    """ "1.8×", "120×"."""
    return "" if gain is None else f"{gain:,.1f}×" if gain < 10 else f"{gain:,.0f}×"


def size_text(count: float) -> str:
    """ "512 MB"."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} bytes"


def seconds_text(seconds: float | None) -> str:
    """ "12.3 ms"."""
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
