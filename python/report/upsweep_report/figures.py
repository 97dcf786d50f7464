# SPDX-License-Identifier: Apache-2.0
# upsweep_report/figures.py: a problem's charts for plotly: time, fraction of limit, speed-up, scaling, roofline.
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from .problems import PROBLEMS, operations
from .results import Row

# Colors that people with any color vision can distinguish (Okabe and Ito). Further rungs repeat them with dashed lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B8860B")
DASHES = ("solid", "dash", "dot")
_SYMBOLS = ("circle", "diamond", "square")  # the same for points

# An axis of seconds, whose ticks are "10ms", "1µs".
TIME = {"title": {"text": "time"}, "exponentformat": "SI", "minexponent": 0, "ticksuffix": "s"}


# An axis of fractions of the limit, at which a line is drawn.
OF_LIMIT = {"title": {"text": "of the limit"}, "rangemode": "tozero"}

Value = Callable[[Row], float | None]


class Chart(NamedTuple):
    """The available choices, and plotly's figure for each choice."""

    title: str
    text: str
    choices: dict[str, dict[str, Any]]


def charts(rows: list[Row]) -> list[Chart]:
    """All charts of a problem that have data."""
    base = _times_of_first_rungs(rows)

    def gain(row: Row) -> float | None:
        first = base.get(_case(row))
        return first / row.seconds if first and row.seconds else None

    values = _values(rows[0].problem, gain) if rows else []
    draw = _over_sizes if any(row.study == "sizes" for row in rows) else _by_rung
    made = [*(draw(rows, *each) for each in values), _over_threads(rows), _roofline(rows)]
    return [chart for chart in made if chart.choices]


# The limits with which rungs are compared, where this is not a copy of the same number of bytes.
_LIMITS = {
    "filtered-sum": "a read of the same size",
    "subset-sum": "a copy of the bitmap for each item, which upper rungs do not make,",
}


def _seconds(row: Row) -> float | None:
    return row.seconds


def _values(problem: str, gain: Value) -> list[tuple[str, str, Value, dict[str, Any]]]:
    """The values that are drawn for each rung: title, description, value and axis."""
    return [
        (
            "Time",
            "The run time of each rung; the axis is logarithmic. A band is from the lower to the upper quartile.",
            _seconds,
            {**TIME, "type": "log"},
        ),
        (
            "Fraction of the limit",
            f"Bytes that must be moved, by the rate of {_LIMITS.get(problem, 'a copy of the same size')} in the same rounds. "
            + "Short inputs are in a cache, where more than 1 is possible.",
            lambda row: row.of_limit,
            OF_LIMIT,
        ),
        (
            "Speed-up",
            "The speed-up over the first rung of the ladder, at the lengths at which that rung was timed. It is skipped if it would take too long.",
            gain,
            {"title": {"text": "times"}, "type": "log", "nticks": 4},
        ),
    ]


def limit_line(axis: str) -> dict[str, Any]:
    """A dashed line across a chart at 1 on an axis of fractions of the limit."""
    across = "x" if axis == "y" else "y"
    ends = {f"{axis}0": 1, f"{axis}1": 1, f"{across}0": 0, f"{across}1": 1, f"{across}ref": "paper"}
    return {"type": "line", **ends, "line": {"color": _ROOF, "width": 2, "dash": "dash"}}


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "dash": DASHES[number // len(COLOURS) % len(DASHES)],
    }


def _by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Groups rows by a key, in the order of the keys' first rows."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _place(row: Row) -> str:
    names = [row.place, row.type, *([row.input] if row.input else [])]
    return ", ".join(names)


def _case(row: Row) -> tuple[str, str, str, int]:
    return row.problem, row.study, _place(row), row.n


def _times_of_first_rungs(rows: list[Row]) -> dict[tuple[str, str, str, int], float]:
    """For each case, the time of the lowest step of all steps at its place. Rows are in the order of the ladder."""
    steps = [row for row in rows if row.kind == "step"]
    firsts: dict[tuple[str, str], str] = {}
    for row in steps:
        firsts.setdefault((row.problem, row.place), row.rung)
    return {_case(row): row.seconds for row in steps if row.seconds and row.rung == firsts[row.problem, row.place]}


def _layout(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    return {
        "xaxis": {"automargin": True, **x, "title": {"standoff": 4, **x.get("title", {})}},
        "yaxis": {"automargin": True, **y, "title": {"standoff": 8, **y.get("title", {})}},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},  # below all labels
        "margin": {"l": 50, "r": 10, "t": 34, "b": 10},
        "hovermode": "closest",
    }


# Studies of one rung after the other on inputs of one length or of many. One length is drawn as bars.
_OF_INPUTS = ("sizes", "lists", "types", "groups")


def _over_sizes(rows: list[Row], title: str, text: str, value: Value, axis: dict[str, Any]) -> Chart:
    """Lines by length; times with a band."""
    choices = {}
    timed = [row for row in rows if row.study in _OF_INPUTS and value(row) is not None]
    for place, there in _by(timed, _place).items():
        if len({row.n for row in there}) < 2:
            choices |= _bar_choice(place, there, value, axis)
            continue
        traces = []
        for number, (rung, of_rung) in enumerate(_by(there, lambda row: row.rung).items()):
            points = sorted({row.n: row for row in of_rung}.values(), key=lambda row: row.n)
            traces.append(_line(rung, [p.n for p in points], [value(p) for p in points], number))
            if value is _seconds and all(p.spread for p in points):
                traces.append(_band(rung, points, number))
        layout = _layout({"title": {"text": "elements"}, "type": "log"}, axis)
        choices[place] = {"data": traces, "layout": layout | ({"shapes": [limit_line("y")]} if axis is OF_LIMIT else {})}
    return Chart(title, text, choices)


def _by_rung(rows: list[Row], title: str, text: str, value: Value, axis: dict[str, Any]) -> Chart:
    """Bars with a choice for each instance, for a problem whose instances have more parameters than a length."""
    choices = {}
    timed = [row for row in rows if row.study != "threads" and value(row) is not None]
    for (place, _), there in _by(timed, lambda row: (_place(row), row.n)).items():
        choices |= _bar_choice(place, there, value, axis)
    return Chart(title, text, choices)


def _bar_choice(place: str, rows: list[Row], value: Value, axis: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Bars of one instance, with the last measurement of each rung."""
    last = {row.rung: value(row) for row in rows}
    bar = _bars_of(list(last.items()))
    return {f"{place}, {rows[0].n:,}": {"data": [bar], "layout": _layout(axis, {"autorange": "reversed"})}}


def _bars_of(values: list[tuple[str, float | None]]) -> dict[str, Any]:
    """A horizontal bar for each name, each in a different color."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": [value for _, value in values],
        "y": [name for name, _ in values],
        "marker": {"color": [_style(number)["color"] for number in range(len(values))]},
    }


def _line(name: str, x: list[Any], y: list[Any], number: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "legendgroup": name,
        "x": x,
        "y": y,
        "line": {**_style(number), "width": 2},
        "marker": {"size": 5},
    }


def _band(name: str, points: list[Row], number: int) -> dict[str, Any]:
    spreads = [point.spread or (0, 0) for point in points]
    sizes = [point.n for point in points]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "legendgroup": name,
        "showlegend": False,
        "hoverinfo": "skip",
        "x": sizes + sizes[::-1],
        "y": [low for low, _ in spreads] + [high for _, high in reversed(spreads)],
        "fill": "toself",
        "opacity": 0.25,
        "line": {"width": 0, "color": _style(number)["color"]},
    }


def _over_threads(rows: list[Row]) -> Chart:
    choices = {}
    timed = [row for row in rows if row.study == "threads" and row.seconds and row.threads]
    for (place, n), there in _by(timed, lambda row: (_place(row), row.n)).items():
        traces = []
        for number, (rung, of_rung) in enumerate(_by(there, lambda row: row.rung).items()):
            points = sorted({row.threads: row for row in of_rung}.values(), key=lambda row: row.threads)
            if len(points) > 1:
                traces.append(_line(rung, [p.threads for p in points], [points[0].seconds / p.seconds for p in points], number))
        if traces:
            counts = sorted({row.threads for row in there})
            ideal = [count / counts[0] for count in counts]
            traces.append({**_line("proportional to threads", counts, ideal, 6), "mode": "lines", "opacity": 0.5})
            choices[f"{place}, {n:,}"] = {
                "data": traces,
                "layout": _layout(
                    {"title": {"text": "threads"}, "type": "log", "dtick": 0.30103},
                    {"title": {"text": "times"}, "type": "log", "nticks": 4},
                ),
            }
    text = f"The speed-up with more threads, over the smallest measured number of threads. {_ONE_GPU}"
    return Chart("Scaling", text, choices)


# Excludes rows that are not limited by memory: those of the link, and comparisons of several numbers of threads.
def _is_roofed(row: Row) -> bool:
    moves = row.study != "threads" and "transfer" not in row.details
    return bool(moves and row.rate and row.limit and operations(row))


_ONE_GPU = "Rungs run on one GPU; docs/scaling.md describes several GPUs."


class NotDrawn(NamedTuple):
    why: str
    command: str  # that measures it


def scaling_not_drawn(rows: list[Row]) -> NotDrawn | None:
    """The reason why a measured processor has no chart of scaling; None if each has one."""
    scaled = {machine for machine, own in _by(rows, lambda row: row.machine).items() if _over_threads(own).choices}
    missing = [row.machine for row in rows if row.device == "cpu" and row.machine not in scaled]
    if scaled and not missing:
        return None
    where = "; ".join(dict.fromkeys(missing)) or "any processor"
    problem = rows[0].problem
    return NotDrawn(
        f"There is no chart of scaling of {where}: its study of threads was not run, which a quick run omits, or it ran on only one number of "
        f"threads. {_ONE_GPU} On a machine of several threads this command runs it:",
        f"upsweep bench {problem} -o {problem}.json",
    )


def _roofline(rows: list[Row]) -> Chart:
    """Operations per second against operations per byte: for each rung the longest of every input, below the memory bandwidth."""
    choices = {}
    for place, there in _by(filter(_is_roofed, rows), lambda row: row.place).items():
        of_rungs = _by(there, lambda row: row.rung)
        points = {rung: _longest(own, lambda row: (row.type, row.input)) for rung, own in of_rungs.items()}
        choices[place] = _under_roofs(points, lambda row: _place(row).removeprefix(f"{row.place}, "))
    counted = ", ".join(
        PROBLEMS[problem].work.what for problem in dict.fromkeys(row.problem for row in rows) if problem in PROBLEMS
    )
    text = (
        f"The x axis is the number of operations for each byte that must be moved, and the y axis operations per second. Operations: {counted}. "
        f"For each rung there is the longest case of every input. {_SLOPES}"
    )
    return Chart("Roofline", text, choices)


_SLOPES = (
    "The slopes are the memory bandwidth: the rate of a copy, and of a read if one was measured, in the same rounds as the longest "
    "input. If that input is in a cache, so are they. A point on a slope is at that limit. A point above it has data in a cache, or a rung "
    "that moves fewer bytes than are counted. There is no flat roof, because no pure rate of arithmetic was measured."
)


def roofline_of_all(rows: list[Row]) -> Chart:
    """The roofline of each machine and GPU with all problems, each by the rung that is fastest at its longest input."""
    choices = {}
    for place, there in _by(filter(_is_roofed, rows), lambda row: row.place).items():
        by_problem = _by(there, lambda row: row.problem)
        points = {problem: [min(own, key=lambda row: (-row.n, row.seconds))] for problem, own in by_problem.items()}
        choices[place] = _under_roofs(points, lambda row: f"{row.rung}, {_place(row).removeprefix(f'{row.place}, ')}")
    text = (
        "Each problem at its longest input, by the rung that was fastest there. Its x position is a property of the problem: the operations that "
        f"it needs for each byte that it must move, counted as in its own roofline. Its maximum height is a property of the machine. {_SLOPES}"
    )
    return Chart("All problems under one roof", text, choices)


def _longest(rows: list[Row], key: Callable[[Row], Any]) -> list[Row]:
    """The longest row for each key; of several the last that was measured."""
    return [max(reversed(same), key=lambda row: row.n) for same in _by(rows, key).values()]


_ROOF = "#7F7F7F"  # visible on a light and on a dark background


def _under_roofs(points: dict[str, list[Row]], said: Callable[[Row], str]) -> dict[str, Any]:
    """Points by name, below the memory bandwidth that was measured with the point that moves the most bytes."""
    rows = [row for own in points.values() for row in own]
    intensities = [_intensity(row) for row in rows]
    ends = [min(intensities) / 4, max(intensities) * 4]
    traces = [_slope(what, rate, ends) for what, rate in max(rows, key=_copied).roofs.items()]
    traces += [_points(name, own, number, said) for number, (name, own) in enumerate(points.items())]
    x = {"title": {"text": "operations for each byte"}, "type": "log", "dtick": "D2", "exponentformat": "none"}
    y = {"title": {"text": "operations in a second"}, "type": "log", "nticks": 4, "exponentformat": "SI"}
    return {"data": traces, "layout": _layout(x, y)}


def _slope(what: str, rate: float, ends: list[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{what}, {rate / 1e9:,.4g} GB/s",
        "x": ends,
        "y": [rate * end for end in ends],
        "line": {"color": _ROOF, "width": 2, "dash": "dash" if what == "copy" else "dot"},
        "hoverinfo": "name",
    }


def _points(name: str, rows: list[Row], number: int, said: Callable[[Row], str]) -> dict[str, Any]:
    symbol = _SYMBOLS[number // len(COLOURS) % len(_SYMBOLS)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [_intensity(row) for row in rows],
        "y": [operations(row) / row.seconds for row in rows],
        "marker": {"size": 9, "symbol": symbol, "color": _style(number)["color"]},
        "text": [f"{said(row)}, {row.n:,}: {row.rate / 1e9:.3g} GB/s, {row.of_limit:.0%} of the limit" for row in rows],
        "hovertemplate": "%{fullData.name}<br>%{text}<extra></extra>",
    }


def _copied(row: Row) -> float:
    """The bytes of the copy that was timed with a row: for subset-sum one bitmap, whatever the number of items."""
    return row.bytes / row.n if row.problem == "subset-sum" else row.bytes


def _intensity(row: Row) -> float:
    return operations(row) / row.bytes


def plain_line(name: str, x: list[Any], y: list[Any], number: int, dash: str = "solid") -> dict[str, Any]:
    """A line among others; the same number has the same color."""
    line = _line(name, x, y, number)
    return {**line, "line": {**line["line"], "dash": dash}, "marker": {"size": 5 if dash == "solid" else 3}}


def bars(series: list[tuple[str, list[tuple[str, float]]]], title: str, log: bool, order: Sequence[str] = ()) -> dict[str, Any]:
    """Bars of each name and value of each series, the first name at the top; `order`: all names, if not every series has them."""
    broken = [
        (name, [(what.replace(", ", ",<br>"), value) for what, value in values]) for name, values in series
    ]  # narrower labels
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": [value for _, value in values],
            "y": [what for what, _ in values],
            "marker": {"color": _style(number)["color"]},
        }
        for number, (name, values) in enumerate(broken)
    ]
    layout = layout_of(title, "", x_type="log" if log else "linear")
    there = list(dict.fromkeys(what for _, values in broken for what, _ in values))
    names = [what for what in order if what in there] or there  # other names would leave gaps
    layout["xaxis"]["nticks"] = 6
    layout["yaxis"] |= {"categoryorder": "array", "categoryarray": names, "range": [len(names) - 0.5, -0.5]}
    return {"data": data, "layout": {**layout, "height": 200 + 20 * len(series) + 9 * len(names) * len(series)}}


def spans(lanes: list[tuple[str, str, float, float]]) -> dict[str, Any]:
    """Spans of time (begin and end in seconds) by lane, the first lane at the top."""
    data = []
    for number, what in enumerate(dict.fromkeys(what for _, what, _, _ in lanes)):
        own = [(lane, begin, end) for lane, kind, begin, end in lanes if kind == what]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": what,
                "y": [lane for lane, _, _ in own],
                "base": [begin * 1e3 for _, begin, _ in own],
                "x": [(end - begin) * 1e3 for _, begin, end in own],
                "marker": {"color": _style(number)["color"]},
            }
        )
    layout = layout_of("milliseconds", "")
    layout["yaxis"]["autorange"] = "reversed"
    return {"data": data, "layout": {**layout, "barmode": "overlay"}}


def layout_of(x: str, y: str, x_type: str | None = None, y_type: str | None = None) -> dict[str, Any]:
    """Axes by their titles; "time" is an axis of seconds."""

    def axis(title: str, kind: str | None) -> dict[str, Any]:
        named = TIME if title == TIME["title"]["text"] else {"title": {"text": title}}
        return {**named, **({"type": kind} if kind else {})}

    return _layout(axis(x, x_type), axis(y, y_type))


def groups_of(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Groups the rows of a table by the place where they were measured, in the order of the places' first rows."""
    places = list(dict.fromkeys(row.place for row in rows))
    ordered = sorted(rows, key=lambda row: (places.index(row.place), _place(row), row.n))
    return [(place, list(there)) for place, there in groupby(ordered, _place)]
