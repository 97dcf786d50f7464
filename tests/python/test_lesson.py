# SPDX-License-Identifier: Apache-2.0
# tests/python/test_lesson.py: the guide's directives on a page of a few lines: what they show, their warnings, and how
# the page fits its width.
import html
import importlib
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytest.importorskip("upsweep_report")

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[2] / "docs"
if not (DOCS / "lesson.py").is_file():
    pytest.skip("the guide is not here", allow_module_level=True)


def made_row(rung, n, seconds, device="NVIDIA H200", **other):
    return {
        "problem": "scan", "study": "sizes", "rung": rung, "kind": "step", "type": "int32", "n": n, "threads": None,
        "device": device, "input": None, "host_resident": False, "status": "verified", "reason": None, "median_s": seconds,
        "samples_s": [seconds] if seconds else [], "bytes": 8.0 * n, "fraction_of_copy": 0.25, "fraction_of_read": None, "speedup": 2.0, **other,
    }  # fmt: skip


@pytest.fixture
def build(tmp_path, monkeypatch):
    """build(text, rows): returns the page of a Markdown text, and the warnings. Other arguments are Sphinx settings."""
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    lesson = importlib.import_module("lesson")

    def build(text, rows, **settings):
        results = tmp_path / "results"
        results.mkdir()
        recorded = {
            "schema": 1,
            "machine": {"cpu": "A CPU", "threads": 2, "simd": "avx2"},
            "method": {"rounds": "in turn"},
            "cells": [],
            "rows": rows,
            "groups": [],
            "failures": [],
        }
        (results / "made.json").write_text(json.dumps(recorded))
        monkeypatch.setattr(lesson, "RESULTS", results)
        monkeypatch.setattr(lesson.results_files, "recorded", list)
        for cached in (lesson.recorded, lesson.rungs, lesson.measured):
            cached.cache_clear()
        source = tmp_path / "source"
        source.mkdir()
        (source / "index.md").write_text(f"# Page\n\n{text}\n")
        warnings = io.StringIO()
        # If one process builds several times, Sphinx warns that its own components are already registered.
        usual = {"extensions": ["myst_parser", "lesson"], "html_theme": "basic", "suppress_warnings": ["app"]}
        out = tmp_path / "html"
        app = Sphinx(source, None, out, tmp_path / "trees", "html", usual | settings, status=None, warning=warnings)
        app.build()
        page = (out / "index.html").read_text()
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)), warnings.getvalue(), out

    yield build
    for cached in (lesson.recorded, lesson.rungs, lesson.measured):
        cached.cache_clear()


def test_a_gain_is_over_the_fastest_step_below_at_the_same_length(build):
    rows = [
        made_row("cuda.blelloch", 4096, 9e-3), made_row("cuda.blelloch", 1024, 4e-3), made_row("cuda.shuffle", 1024, 2e-3),
        made_row("cuda.thrust", 4096, 1e-3, kind="library"), made_row("cuda.lookback", 4096, 3e-3),
    ]  # fmt: skip
    page, warnings, _ = build("```{gain} scan cuda.lookback\n```\n", rows)
    assert warnings == ""
    assert "(NVIDIA H200)" in page
    assert "3 ms for 4,096 int32, 0.0 GB/s, 0.25 of a copy; 3.00 times the speed of cuda.blelloch" in page


def test_a_gain_is_of_the_longest_length_of_both_and_of_the_same_place(build):
    rows = [
        made_row("cuda.one_thread", 1024, 8e-3), made_row("cuda.turn_taking", 1024, 9e-3), made_row("cuda.turn_taking", 64, 1e-3),
        made_row("cuda.hillis_steele", 1024, 1e-3), made_row("cuda.hillis_steele", 4096, 5e-3), made_row("cuda.blelloch", 4096, 9e-3),
        made_row("cuda.turn_taking", 4096, 1e-9, host_resident=True),
    ]  # fmt: skip
    page, warnings, _ = build("```{gain} scan cuda.hillis_steele\n```\n", rows)
    assert warnings == ""
    assert "5 ms for 4,096 int32, 0.0 GB/s, 0.25 of a copy; 8.00 times the speed of cuda.one_thread , at 1,024" in page


def test_a_rung_that_takes_another_input_is_shown_on_that(build):
    rows = [
        made_row("cuda.one_thread", 1024, 8e-3), made_row("cuda.blelloch", 4096, None, status="skipped", reason="no", input=None),
        made_row("cuda.one_thread", 1024, 4e-3, input="apart"), made_row("cuda.blelloch", 1024, 1e-3, input="apart"),
    ]  # fmt: skip
    page, warnings, _ = build("```{gain} scan cuda.blelloch\n```\n", rows)
    assert warnings == ""
    assert "1 ms for 1,024 int32 (apart), 0.0 GB/s, 0.25 of a copy; 4.00 times the speed of cuda.one_thread" in page


def test_samples_that_scatter_are_shown(build):
    page, _, _ = build(
        "```{gain} scan cuda.blelloch\n```\n", [made_row("cuda.blelloch", 1024, 4e-3, samples_s=[1e-3, 4e-3, 9e-3])]
    )
    assert "4 ms (2.5 ms to 6.5 ms) for 1,024 int32" in page


def test_nothing_is_said_of_a_device_that_was_not_measured(build):
    page, warnings, _ = build("```{gain} scan cpu.simd\n```\n\n```{ladder} scan\n:device: cpu\n```\n", [])
    assert warnings == ""
    assert "Here" not in page
    assert "Measured" not in page


def test_rungs_without_a_row_are_complained_of(build):
    text = "```{ladder} scan\n```\n\n```{gain} scan cuda.shuffle\n```\n"
    page, warnings, _ = build(text, [made_row("cuda.blelloch", 1024, 4e-3)])
    assert "made.json has no row of scan's cuda.one_thread" in warnings
    assert "no results have a row of scan's cuda.shuffle" in warnings
    assert "cuda.blelloch 1,024" in page


def test_rungs_that_do_not_exist_are_complained_of(build):
    text = "".join(f"```{{{name}}} scan cuda.fast\n```\n\n" for name in ("gain", "drawing")) + "```{ladder} sorting\n```\n"
    _, warnings, _ = build(text, [])
    assert warnings.count("the ladder 'scan' has no rung 'cuda.fast'") == 2
    assert "there is no ladder 'sorting'" in warnings


def test_a_drawing_brings_the_report_s_script(build):
    text = "```{drawing} scan cuda.blelloch\n```\n\n```{drawing} scan cuda.cub\n```\n"
    _, warnings, out = build(text, [])
    assert "scan's cuda.cub has no drawing" in warnings
    page = (out / "index.html").read_text()
    assert 'data-rung="cuda.blelloch"' in page
    assert "drawings.js" in page
    assert "class Drawing" in (out / "_static/drawings.js").read_text()
    assert ".drawing svg" in (out / "_static/drawings.css").read_text()


def test_a_rung_that_was_not_timed_says_why(build):
    rows = [made_row("cuda.blelloch", 1024, None, status="skipped", reason="estimated 71 s", fraction_of_copy=None)]
    page, _, _ = build("```{gain} scan cuda.blelloch\n```\n", rows)
    assert "skipped: estimated 71 s" in page


def test_a_table_says_what_is_counted(build):
    rows = [{**made_row("cuda.column", 10, 2e-3), "problem": "subset-sum"}]
    page, _, _ = build("```{ladder} subset-sum\n:device: gpu\n```\n", rows)
    assert "rung items time" in page and "elements" not in page


# A window of each width, which is searched for text that extends beyond it. Code and tables are wider, but have their
# own scroll bars.
FRAMES = """<!doctype html><script>
const said = {};
const widths = [390, 1020, 1150, 1280];
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.src = "index.html";
  frame.style = `border: 0; height: 900px; width: ${width}px`;
  frame.onload = () => {
    const texts = [...frame.contentDocument.querySelectorAll("article p, article .highlight")];
    said[width] = texts.map(each => each.getBoundingClientRect()).map(box => box.width > 0 && box.right <= width);
    if (Object.keys(said).length === widths.length) document.body.dataset.said = JSON.stringify(said);
  };
  document.documentElement.append(frame);
}
</script><body></body>"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_text_ends_within_its_window(build):
    pytest.importorskip("furo")
    text = f"{'word ' * 200}\n\n```python\n{'x' * 128}\n```\n\n{'word ' * 200}"
    style = {"html_theme": "furo", "html_static_path": [str(DOCS / "_static")], "html_css_files": ["guide.css"]}
    _, warnings, out = build(text, [], **style)
    assert warnings == ""
    (out / "frames.html").write_text(FRAMES)
    done = subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--window-size=1400,4000",
         "--virtual-time-budget=20000", f"--user-data-dir={out.parent / 'chromium'}", "--dump-dom", (out / "frames.html").as_uri()],
        capture_output=True, text=True, timeout=3600, check=False,
    )  # fmt: skip
    said = re.search(r'data-said="([^"]*)"', done.stdout)
    assert said, done.stderr[-2000:]
    assert json.loads(html.unescape(said[1])) == {width: [True] * 3 for width in ("390", "1020", "1150", "1280")}
