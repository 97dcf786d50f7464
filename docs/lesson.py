# SPDX-License-Identifier: Apache-2.0
# docs/lesson.py: shows measurements and drawings in the guide's chapters: tables of ladders, gains of rungs.
"""A Sphinx extension with three directives:

    ```{ladder} scan           all rungs of a ladder, from results of `upsweep bench`; :device: cpu or gpu
    ```{gain} scan cpu.simd    the time of one rung, compared with the fastest step below it
    ```{drawing} scan cpu.simd how a rung moves data: the report's stepping drawing

Each rung is shown at the longest length at which it was timed, or at the length :n:. The input is the ladder's usual input, or the
next one that the rung supports. A rung that does not exist is a warning. So is a rung without measurements, if other rungs of its
ladder have some.
"""

import functools
import html
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import upsweep
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from upsweep_report import drawings
from upsweep_report import results as results_files
from upsweep_report.results import Results, Row

RESULTS = Path(__file__).parent / "results"
OTHER_STUDIES = ("threads", "types", "lists", "groups")  # neither studies of lengths nor those of the documents
UNITS = {"subset-sum": "items", "filtered-sum": "rows"}  # for problems whose n is not a number of elements

logger = logging.getLogger(__name__)


class Measured(NamedTuple):
    """The rows of one ladder on one device, for one type."""

    results: Results
    device: str
    rows: dict[str, Row]  # each rung at its longest length, also if skipped
    all: tuple[Row, ...]

    @property
    def where(self) -> str:
        if self.device != "cpu":
            return self.device
        threads = max(row.threads or 1 for row in self.rows.values())
        return f"{self.results.machine['cpu']}, {threads} threads"

    @property
    def type(self) -> str:
        return next(iter(self.rows.values())).type

    @property
    def input(self) -> str:
        made = next(iter(self.rows.values())).input
        return f", {made}" if made else ""


@functools.cache
def recorded() -> list[Results]:
    """The report's recorded results of an H200, and the results of other machines in docs/results."""
    return results_files.recorded() + [results_files.load(path) for path in sorted(RESULTS.glob("*.json"))]


@functools.cache
def rungs(problem: str) -> dict[str, Any]:
    return {rung["rung"]: rung for rung in upsweep.ladder() if rung["problem"] == problem}


def kind_of(device: str) -> str:
    return "cpu" if device == "cpu" else "gpu"


def kind_of_rung(rung: str) -> str:
    return "cpu" if rung.startswith("cpu.") else "gpu"


@functools.cache
def measured(problem: str, kind: str, n: int | None) -> list[Measured]:
    """The measurements of a problem: one entry per results file and device, at any length or at length n."""
    found = []
    for results in recorded():
        own = [row for row in results.rows if row.rung in rungs(problem) and row.problem == problem]
        own = [row for row in own if row.study not in OTHER_STUDIES]
        own = [row for row in own if n in (None, row.n) and kind_of(row.device) == kind]
        for device in dict.fromkeys(row.device for row in own):
            there = [row for row in own if row.device == device]
            first = next((row for row in there if row.study == "sizes"), there[0])
            alike = [row for row in there if (row.study, row.type) == (first.study, first.type)]
            inputs = dict.fromkeys([first.input, *(row.input for row in alike)])
            found.append(Measured(results, device, longest(alike, inputs), tuple(alike)))
    return found


def longest(rows: list[Row], inputs: Iterable[str | None]) -> dict[str, Row]:
    """The row of each rung at the longest length at which it was timed, on the first input on which it was timed."""
    best: dict[str, Row] = {}
    for made in inputs:
        for row in (row for row in rows if row.input == made):
            last = best.get(row.rung)
            is_later = last is not None and last.input != made  # the input comes after the input of `last`
            if last is None or (row.seconds is not None, not is_later and row.n) > (last.seconds is not None, not is_later and last.n):
                best[row.rung] = row
    return best


def seconds_text(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g}\N{NO-BREAK SPACE}{unit}"
    return f"{seconds / 1e-9:.3g}\N{NO-BREAK SPACE}ns"


def spread_text(row: Row) -> str:
    """The quartiles, if they are more than a tenth apart."""
    if row.spread is None or row.spread[1] - row.spread[0] < 0.1 * row.seconds:
        return ""
    low, high = row.spread
    return f" ({seconds_text(low)} to {seconds_text(high)})"


def why_untimed(row: Row) -> str:
    return f"{row.status}: {row.reason}" if row.reason else row.status


def limit_of(row: Row) -> str:
    return "a read" if row.details.get("fraction_of_read") else "a copy"


def gain_over_steps(there: Measured, problem: str, row: Row) -> tuple[Row, Row] | None:
    """The rung and the fastest step below it, at the longest length at which both were timed on the same data in the same memory."""
    names = list(rungs(problem))
    below = [name for name in names[: names.index(row.rung)] if not rungs(problem)[name]["library"]]

    def case(one: Row) -> tuple[int, str | None, bool]:
        return one.n, one.input, one.details.get("host_resident", False)

    timed = [other for other in there.all if other.seconds]
    own = [other for other in timed if other.rung == row.rung and other.input == row.input]
    for mine in sorted(own, key=lambda other: -other.n):
        others = [other for other in timed if other.rung in below and case(other) == case(mine)]
        if others:
            return mine, min(others, key=lambda other: other.seconds)
    return None


class LessonDirective(SphinxDirective):
    def complain(self, message: str) -> None:
        logger.warning(message, location=self.get_location(), type="lesson")

    def note_results(self) -> None:
        for path in RESULTS.glob("*.json"):
            self.env.note_dependency(str(path))

    def text(self, source: str) -> list[nodes.Node]:
        """Parses a paragraph of Markdown."""
        return self.parse_text_to_nodes(source)

    def known(self, problem: str, rung: str) -> bool:
        if rung in rungs(problem):
            return True
        self.complain(f"the ladder {problem!r} has no rung {rung!r}")
        return False


class LadderDirective(LessonDirective):
    required_arguments = 1
    option_spec = {"device": lambda given: directives.choice(given, ("cpu", "gpu")), "n": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        self.note_results()
        problem = self.arguments[0]
        if not rungs(problem):
            self.complain(f"there is no ladder {problem!r}")
            return []
        kinds = [self.options["device"]] if "device" in self.options else ["cpu", "gpu"]
        n = self.options.get("n")
        return [node for kind in kinds for there in measured(problem, kind, n) for node in self.table(problem, kind, there)]

    def table(self, problem: str, kind: str, there: Measured) -> list[nodes.Node]:
        first = next(iter(there.rows.values()))
        lines = [
            f"Measured on {there.where}, {there.type}{there.input}:",
            "",
            f"| rung | {UNITS.get(problem, 'elements')} | time | GB/s | of the limit | speed-up |",
            "|:--|--:|--:|--:|--:|--:|",
        ]
        for name in (name for name in rungs(problem) if kind_of_rung(name) == kind):
            if name not in there.rows:
                self.complain(f"{there.results.path} has no row of {problem}'s {name}")
                continue
            lines.append(self.line(there.rows[name], first.input))
        return self.text("\n".join(lines))

    @staticmethod
    def line(row: Row, usual: str | None) -> str:
        name = f"`{row.rung}`" + (f" ({row.input})" if row.input != usual else "")
        if row.seconds is None:
            return f"| {name} | {row.n:,} | {why_untimed(row)} | | | |"
        rate = f"{row.rate / 1e9:.1f}" if row.rate else ""
        fraction = f"{row.of_limit:.2f}" if row.of_limit else ""
        speedup = f"{row.speedup:.2f}" if row.speedup else ""
        return f"| {name} | {row.n:,} | {seconds_text(row.seconds)} | {rate} | {fraction} | {speedup} |"


class GainDirective(LessonDirective):
    required_arguments = 2
    option_spec = {"n": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        self.note_results()
        problem, rung = self.arguments
        if not self.known(problem, rung):
            return []
        all_there = measured(problem, kind_of_rung(rung), self.options.get("n"))
        lines = [self.line(problem, rung, there) for there in all_there if rung in there.rows]
        if all_there and not lines:
            self.complain(f"no results have a row of {problem}'s {rung}")
        return [node for line in lines for node in self.text(line)]

    @staticmethod
    def line(problem: str, rung: str, there: Measured) -> str:
        row = there.rows[rung]
        if row.seconds is None:
            return f"**Here** ({there.where}): {why_untimed(row)}."
        unit = UNITS.get(problem, row.type)
        parts = [f"{seconds_text(row.seconds)}{spread_text(row)} for {row.n:,} {unit}" + (f" ({row.input})" if row.input else "")]
        if row.rate:
            parts.append(f"{row.rate / 1e9:.1f} GB/s")
        if row.of_limit:
            parts.append(f"{row.of_limit:.2f} of {limit_of(row)}")
        gain = ""
        if pair := gain_over_steps(there, problem, row):
            mine, below = pair
            where = f", at {mine.n:,}" if mine.n != row.n else ""
            gain = f"; {below.seconds / mine.seconds:.2f} times the speed of `{below.rung}`{where}"
        return f"**Here** ({there.where}): {', '.join(parts)}{gain}."


class DrawingDirective(LessonDirective):
    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        problem, rung = self.arguments
        if not self.known(problem, rung):
            return []
        drawing = drawings.drawing(problem, rung)
        if drawing is None:
            self.complain(f"{problem}'s {rung} has no drawing")
            return []
        self.env.metadata[self.env.docname]["drawings"] = True
        name = html.escape(rung)
        box = (
            f'<div class="drawing" data-problem="{html.escape(problem)}" data-rung="{name}">'
            '<div class="controls"><button type="button" aria-label="play">▶</button>'
            f'<input type="range" min="0" max="{len(drawing["steps"])}" value="0" aria-label="step"><output></output></div>'
            f'<p class="step" aria-live="polite"></p><svg role="img" aria-label="how {name} moves data"></svg></div>'
        )
        return [nodes.raw("", box, format="html")]


# ---- The report's script and style for drawings.

# The report's names of colors, mapped to those of the theme.
COLOURS = """.drawing { --text: var(--color-foreground-primary); --muted: var(--color-foreground-muted);
  --ground: var(--color-background-primary); --panel: var(--color-background-secondary);
  --line: var(--color-foreground-border); --work: #0072b2; --wait: #b35900 }
body[data-theme="dark"] .drawing { --work: #56b4e9; --wait: #e69f00 }
@media (prefers-color-scheme: dark) { body:not([data-theme="light"]) .drawing { --work: #56b4e9; --wait: #e69f00 } }
"""


def part_of(file: str, begin: str) -> str:
    """The text of one of the report's files from the line `begin` to its end."""
    text = resources.files("upsweep_report").joinpath(file).read_text(encoding="utf-8")
    before, found, after = text.partition(begin)
    if not found:
        raise ExtensionError(f"{file} of the report has no line {begin!r}, which must begin its code for drawings")
    return found + after


def write_static(app: Sphinx) -> None:
    folder = Path(app.doctreedir) / "lesson"
    folder.mkdir(parents=True, exist_ok=True)
    data: dict[str, dict[str, Any]] = {}
    for problem, rung in drawings.drawn():
        data.setdefault(problem, {"drawings": {}})["drawings"][rung] = drawings.drawing(problem, rung)
    script = f'"use strict";\nconst data = {json.dumps(data)};\n{part_of("page.js", "// ---- drawings")}'
    (folder / "drawings.js").write_text(script, encoding="utf-8")
    (folder / "drawings.css").write_text(COLOURS + part_of("page.css", "/* ---- drawings"), encoding="utf-8")
    app.config.html_static_path.append(str(folder))


def add_static(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    if app.env.metadata.get(page, {}).get("drawings"):
        app.add_js_file("drawings.js", loading_method="defer")
        app.add_css_file("drawings.css")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("ladder", LadderDirective)
    app.add_directive("gain", GainDirective)
    app.add_directive("drawing", DrawingDirective)
    app.connect("builder-inited", write_static)
    app.connect("html-page-context", add_static)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
