# SPDX-License-Identifier: Apache-2.0
# tests/python/test_guide_chapters.py: the guide's chapters: one per ladder, with every step, and without rungs that do
# not exist.
import re
from pathlib import Path

import pytest
import upsweep

pytest.importorskip("upsweep_report")

from upsweep_report import drawings, results

ROOT = Path(__file__).parents[2]
CHAPTERS = ROOT / "docs/guide/problems"
RUNG = re.compile(r"\bc(?:pu|uda)\.[a-z]\w*\b")
if not CHAPTERS.is_dir():
    pytest.skip("the guide is not here", allow_module_level=True)
LADDERS = upsweep.ladder()
PROBLEMS = list(dict.fromkeys(rung["problem"] for rung in LADDERS))


def chapter(problem):
    return (CHAPTERS / f"{problem.replace('-', '_')}.md").read_text(encoding="utf-8")


def rungs(problem):
    return {rung["rung"]: rung for rung in LADDERS if rung["problem"] == problem}


def directives(text):
    """Returns each directive's name and arguments."""
    return [(found[1], found[2].split()) for found in re.finditer(r"^```\{(\w+)\} (.*)$", text, re.MULTILINE)]


def excerpts():
    """Returns the files and options of all code that chapters show."""
    for path in sorted(CHAPTERS.glob("*.md")):
        for found in re.finditer(
            r"^```\{literalinclude\} (/\S+)\n((?::.*\n)*)```", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            options = dict(re.findall(r"^:([\w-]+): ?(.*)$", found[2], re.MULTILINE))
            yield pytest.param(found[1], options, id=f"{path.stem}-{found[1].rpartition('/')[2]}")


def test_each_ladder_has_a_chapter():
    assert sorted(path.stem for path in CHAPTERS.glob("*.md")) == sorted(name.replace("-", "_") for name in PROBLEMS)


def test_a_problem_whose_folder_is_missing_is_named(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import rung_tables

    assert rung_tables.folder_of("scan") == ROOT / "src/problems/dense/scan"
    with pytest.raises(SystemExit, match="the problem nothing needs one folder of its name under src/problems/: there is none"):
        rung_tables.folder_of("nothing")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_each_rung_that_a_chapter_names_exists(problem):
    known = {rung["rung"] for rung in LADDERS}
    assert set(RUNG.findall(chapter(problem))) <= known
    for name, arguments in directives(chapter(problem)):
        if name in ("ladder", "gain", "drawing"):
            assert arguments[0] == problem
        if name in ("gain", "drawing"):
            assert arguments[1] in rungs(problem)
        if name == "drawing":
            assert drawings.drawing(*arguments) is not None


@pytest.mark.parametrize("problem", PROBLEMS)
def test_each_step_is_climbed(problem):
    text = chapter(problem)
    steps = [name for name, rung in rungs(problem).items() if not rung["library"]]
    assert [name for name in steps if f"`{name}`" not in text] == []
    gains = [arguments[1] for name, arguments in directives(text) if name == "gain"]
    assert [name for name in steps if name not in gains] == []


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_chapter_shows_every_step_that_has_a_drawing_and_describes_it_at_length(problem):
    headings = set(re.findall(r"^## .*$", chapter(problem), re.MULTILINE))
    shown = {arguments[1] for name, arguments in directives(chapter(problem)) if name == "drawing"}
    drawn = {rung for which, rung in drawings.drawn() if which == problem}
    missing = [rung for rung in drawn - shown if any(heading.startswith(f"## `{rung}`:") for heading in headings)]
    # It extends cpu.threads, whose drawing is directly before it.
    assert missing == (["cpu.simd_threads"] if problem == "scan" else [])


@pytest.mark.parametrize(("file", "options"), excerpts())
def test_code_that_is_shown_is_there(file, options):
    lines = (ROOT / file.lstrip("/")).read_text(encoding="utf-8").splitlines()
    texts = {key: options[key].strip().strip("'\"").replace("''", "'") for key in options if key.startswith(("start", "end"))}
    assert len(texts) == 2
    first, last = texts.values()
    begin = next(i for i, line in enumerate(lines) if first in line)
    length = next(i for i, line in enumerate(lines[begin + 1 :]) if last in line) + ("end-at" in options)
    assert 1 <= length <= 45


def test_recorded_results_can_be_read():
    found = [results.load(path) for path in (ROOT / "docs/results").glob("*.json")]
    assert found
    assert {row.problem for each in found for row in each.rows} >= set(PROBLEMS)
