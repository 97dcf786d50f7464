# SPDX-License-Identifier: Apache-2.0
# upsweep_report/page.py: one self-contained page of all results.
from __future__ import annotations

import json
from importlib import resources
from typing import Any

from . import documents
from .drawings import drawing
from .figures import Chart, charts, groups_of, roofline_of_all, scaling_not_drawn
from .findings import boards, introduction, seconds_text
from .results import Results, Row, require_known
from .tables import Value, tables


def page(results: list[Results], ladders: list[dict[str, Any]]) -> str:
    """Returns the report as HTML. `ladders` is the result of `upsweep.ladder()`. Raises ResultsError for an unknown problem."""
    import jinja2
    import plotly.offline

    known = list(dict.fromkeys(rung["problem"] for rung in ladders))
    for each in results:
        require_known(each, known)
    files = resources.files(__package__)
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["seconds"] = seconds_text
    environment.filters["value"] = value_text
    template = environment.from_string(files.joinpath("page.html.j2").read_text(encoding="utf-8"))
    # This machine comes first, and what was recorded elsewhere after it.
    results = sorted(results, key=lambda each: each.recorded)
    rows = [row for each in results for row in each.rows]
    cards = json.loads(files.joinpath("cards.json").read_text(encoding="utf-8"))
    here = {row.problem for each in results for row in each.rows if not each.recorded}
    measured = {row.problem for row in rows}
    found = boards(results, ladders)
    problems = [
        _problem(name, rows, ladders, cards.get(name, {}))
        | {"findings": [(board, each) for board in found for each in board.findings if each.problem == name]}
        for name in sorted(known, key=lambda name: name not in here)
        if name in measured
    ]
    headlines = [board.chart for board in found]
    overview = [chart for chart in [roofline_of_all(rows)] if chart.choices]
    published = documents.charts(results)
    threads_at_work = {title: drawing(problem, rung) for title, problem, rung in documents.DRAWINGS}
    data = (
        {"all": {"charts": [chart.choices for chart in [*headlines, *overview]]}}
        | {"documents": {"charts": [chart.choices for chart in published], "drawings": threads_at_work}}
        | {
            problem["name"]: {
                "charts": [chart.choices for chart in problem["charts"]],
                "drawings": {rung["id"]: rung["drawing"] for rung in problem["rungs"] if rung["drawing"]},
            }
            for problem in problems
        }
    )
    own = {row.place for each in results for row in each.rows if not each.recorded}
    elsewhere = {row.place for each in results for row in each.rows if each.recorded} - own
    environment.globals["grouped"] = lambda chart: _grouped(chart, elsewhere)
    return template.render(
        results=results,
        introduction=introduction(results, found),
        boards=list(zip(found, headlines, strict=True)),
        problems=problems,
        overview=overview,
        tables=tables(results),
        documents=documents.DOCUMENTS_OF_UPSWEEP,
        published=published,
        threads_at_work=threads_at_work,
        failures=[{"path": each.path, **failure} for each in results for failure in each.failures],
        wrong=[(each.path, row) for each in results for row in each.rows if row.status == "failed"],
        data=_in_script(data),
        style=files.joinpath("page.css").read_text(encoding="utf-8"),
        script=files.joinpath("page.js").read_text(encoding="utf-8"),
        plotly=plotly.offline.get_plotlyjs(),
    )


def _grouped(chart: Chart, elsewhere: set[str]) -> list[tuple[str, list[str]]]:
    """A chart's choices: of this machine, and recorded elsewhere. A choice begins with the name of its place."""

    def is_elsewhere(choice: str) -> bool:
        return any(choice == place or choice.startswith((f"{place}, ",)) for place in elsewhere)

    groups = [
        ("this machine", [choice for choice in chart.choices if not is_elsewhere(choice)]),
        ("recorded elsewhere", [choice for choice in chart.choices if is_elsewhere(choice)]),
    ]
    return [(name, choices) for name, choices in groups if choices]


def _in_script(data: Any) -> str:
    """JSON that neither ends nor opens a script element: `<!--<script>` in a name would hide the end of this one."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def _problem(name: str, rows: list[Row], ladders: list[dict[str, Any]], cards: dict[str, dict[str, str]]) -> dict[str, Any]:
    rungs = [rung for rung in ladders if rung["problem"] == name]
    ids = {rung["rung"] for rung in rungs}
    # The ladder's own rungs come first: their colors are then the same with and without other libraries.
    own = sorted((row for row in rows if row.problem == name), key=lambda row: row.rung not in ids)
    return {
        "name": name,
        "charts": charts(own),
        "not_drawn": scaling_not_drawn(own),
        "tables": groups_of(own),
        "rungs": [
            {**rung, "id": rung["rung"], "card": cards.get(rung["rung"], {}), "drawing": drawing(name, rung["rung"])}
            for rung in rungs
        ],
    }


def value_text(value: Value, unit: str) -> str:
    """A cell of a document's table."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if unit == "s":
        return seconds_text(value)
    if unit == "":
        return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"
    return f"{value:.2f} {unit}" if unit == "GB/s" else f"{value:.2f}"
