# SPDX-License-Identifier: Apache-2.0
# tests/python/test_report.py: the report: what it refuses, its contents, and how a browser shows it.
import html.parser
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import upsweep

upsweep_report = pytest.importorskip("upsweep_report")
pytest.importorskip("plotly")
pytest.importorskip("jinja2")

from upsweep_report import documents, drawings, figures, findings, machine, page, problems, results, tables
from upsweep_report.__main__ import main

ROOT = Path(__file__).parents[2]
SIZES = (1024, 16384, 262144)
SEVEN = "Figure 7: parallel on the GPU, and the CPU"
SPAN = '{"what": "send", "stream": 0, "begin_s": 2, "end_s": 1}'
PUBLISHED = 14  # figures of documents, without those that need results of a GPU


def made_row(problem, rung, n, threads=2, study="sizes", **other):
    seconds = n * (3e-9 if rung == "cpu.serial" else 1e-9) / threads
    return {
        "problem": problem, "study": study, "rung": rung, "idea": "", "kind": "step", "type": "int32", "n": n,
        "threads": threads, "device": "cpu", "input": None, "host_resident": False, "status": "verified", "reason": None,
        "median_s": seconds, "samples_s": [seconds * f for f in (0.9, 1, 1.1)], "bytes": 8.0 * n,
        "gbps": 8 * n / seconds / 1e9, "fraction_of_copy": 0.5, "fraction_of_read": None, "speedup": 3.0, **other,
    }  # fmt: skip


def made_group(problem, n, study="sizes"):
    return {
        "problem": problem, "study": study, "type": "int32", "n": n, "threads": 2, "device": "cpu", "input": None,
        "host_resident": False, "copy_gbps": 20.0, "read_gbps": 0.0, "copy_samples_s": [1e-6], "read_samples_s": [],
    }  # fmt: skip


@pytest.fixture
def made():
    rows = [made_row(p, r, n) for p in ("scan", "segmented-reduce") for r in ("cpu.serial", "cpu.chained") for n in SIZES]
    rows += [made_row("scan", "cpu.chained", 1 << 20, threads, "threads") for threads in (1, 2, 4)]
    rows.append(made_row("scan", "cpu.simd", 1024, status="skipped", reason="estimated 71 s", median_s=None))
    rows.append(made_row("scan", "cpu.threads", 1024, status="failed", reason="wrong from index <7> & on", median_s=None))
    return {
        "schema": 1, "upsweep": "0.1.0", "machine": {"cpu": "A <fast>  CPU", "threads": 4, "simd": "avx2"},
        "method": {"rounds": "in turn"}, "cells": ["scan/sizes"], "rows": rows,
        "groups": [made_group(p, n) for p in ("scan", "segmented-reduce") for n in SIZES],
        "failures": [{"cell": "take/sizes", "problem": "take", "study": "sizes", "code": "out_of_memory", "message": "no <memory>"}],
    }  # fmt: skip


@pytest.fixture
def report(made, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(made))
    out = tmp_path / "report.html"
    assert main([str(tmp_path / "results.json"), "-o", str(out)]) == 0
    return out


# ------------------------------------------------------------------------------------------------------------ results


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda text: text[:-500], "truncated"),
        (lambda text: "[]", "not a results file"),
        (lambda text: '{"schema": 1, "rows": []}', "it has no rows"),
        (lambda text: '{"schema": 1, "machine": {}, "problem": "scan", "rows": [], "groups": []}', "of `upsweep ladder`"),
        (lambda text: text.replace('"problem": "segmented-reduce"', '"problem": "<sorting>"'), "unknown problem '<sorting>'"),
        (lambda text: text.replace('"schema": 1', '"schema": 2', 1), "schema 2"),
        (lambda text: text.replace('"rung"', '"ladder"'), "lacks required fields"),
        (lambda text: text.replace('"machine"', '"maschine"'), "lacks required fields"),
        (lambda text: text.replace('"speedup": 3.0', '"speedup": NaN', 1), "NaN is not a number"),
        (lambda text: text.replace('"bytes": 8192.0', '"bytes": Infinity', 1), "Infinity is not a number"),
        (lambda text: text.replace('"speedup": 3.0', '"speedup": 1e400', 1), "1e400 is not a number"),
        (lambda text: text.replace('"speedup": 3.0', '"speedup": 3.0, "timeline": [{"what": "send"}]', 1), "stream"),
        (lambda text: text.replace('"schema": 1', '"schema": 1, "links": [{"allocation_s": 1}]', 1), "to_device_pageable_s"),
        (lambda text: text.replace('"copy_gbps": 20.0', '"copy_gbps": 1' + "0" * 400, 1), "too large"),
        (lambda text: text.replace('"n": 1024', '"n": null', 1), "n is null"),
        (lambda text: text.replace('"n": 1024', '"n": "many"', 1), 'n is "many"'),
        (lambda text: text.replace('"study": "sizes"', '"study": []', 1), "study is []"),
        (lambda text: text.replace('"status": "verified"', '"status": "fine"', 1), 'status is "fine"'),
        (lambda text: re.sub(r'"samples_s": \[[^]]*\]', '"samples_s": ["1"]', text, count=1), "samples_s is"),
        (lambda text: re.sub(r'"samples_s": \[[^]]*\]', '"samples_s": null', text, count=1), "samples_s is null"),
        (lambda text: text.replace('"simd": "avx2"', '"sind": "avx2"'), "simd"),
        (lambda text: text.replace('"rounds": "in turn"', '"rounded": 1'), "rounds"),
        (lambda text: text.replace('"cell": "take/sizes"', '"sell": 1'), "cell"),
        (lambda text: text.replace('"copy_gbps": 20.0', '"copy_gbps": "fast"', 1), "copy_gbps"),
        (lambda text: text.replace('"bytes": 8192.0', '"bytes": 8192.0, "kernels": [{"name": "fold"}]', 1), "launches"),
        (lambda text: text.replace('"bytes": 8192.0', '"bytes": 8192.0, "kernels": 0', 1), "kernels is 0"),
        (lambda text: text.replace('"bytes": 8192.0', '"bytes": 8192.0, "timeline": [' + SPAN + "]", 1), "from 2 to 1"),
        (lambda text: text.replace('"simd": "avx2"', '"simd": "avx2", "gpus": [{}]'), "name"),
        (lambda text: "[" * 100000, "not valid JSON"),
        (lambda text: '{"schema": ' + "1" * 5000 + "}", "not valid JSON"),
    ],
)
def test_what_are_no_results_is_refused(made, tmp_path, capsys, spoil, message):
    path = tmp_path / "results.json"
    path.write_text(spoil(json.dumps(made)))
    assert main([str(path), "-o", str(tmp_path / "report.html")]) == 1
    said = capsys.readouterr().err
    assert message in said and "results.json" in said and said.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"], "no incomplete file may be left"


def test_files_that_cannot_be_read_or_written(made, tmp_path, capsys):
    assert main([str(tmp_path / "none.json")]) == 3
    assert "none.json" in capsys.readouterr().err
    (tmp_path / "results.json").write_text(json.dumps(made))
    assert main([str(tmp_path / "results.json"), "-o", str(tmp_path / "nowhere" / "r.html")]) == 3
    assert capsys.readouterr().err.startswith("upsweep-report: ")


def test_the_page_is_anybodys_file(made, tmp_path, capsys):
    path, out, link = tmp_path / "results.json", tmp_path / "report.html", tmp_path / "link.html"
    path.write_text(json.dumps(made))
    mask = os.umask(0o022)
    try:
        assert main([str(path), "-o", str(out)]) == 0
    finally:
        os.umask(mask)
    assert out.stat().st_mode & 0o777 == 0o644
    out.chmod(0o664)
    link.symlink_to(out)
    assert main([str(path), "-o", str(link)]) == 0
    assert link.is_symlink() and out.stat().st_mode & 0o777 == 0o664
    assert main([str(path), "-o", str(tmp_path)]) == 3
    assert f"{tmp_path}: is a folder" in capsys.readouterr().err
    assert main([str(path), "-o", str(tmp_path / "nowhere" / "r.html")]) == 3
    assert f"upsweep-report: {tmp_path / 'nowhere' / 'r.html'}: No such file" in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.html", "report.html", "results.json"]


def test_a_report_that_is_stopped_leaves_the_old_page(made, tmp_path, capsys, monkeypatch):
    path, out = tmp_path / "results.json", tmp_path / "report.html"
    path.write_text(json.dumps(made))
    out.write_text("the old page")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    assert main([str(path), "-o", str(out)]) == 130
    assert out.read_text() == "the old page" and "stopped" in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["report.html", "results.json"]


def test_rows_say_what_they_are_worth(made, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(made))
    rows = results.load(tmp_path / "results.json").rows
    first = rows[0]
    assert first.rate == pytest.approx(8 * first.n / first.seconds) and first.of_limit == pytest.approx(0.5)
    assert first.spread[0] < first.seconds < first.spread[1]
    skipped = next(row for row in rows if row.status == "skipped")
    assert (skipped.seconds, skipped.rate, skipped.of_limit, skipped.spread) == (None, None, None, None)


def test_an_h200_is_beside_what_has_no_gpu(made, tmp_path):
    kept = results.recorded()
    assert kept and all(row.status != "failed" for each in kept for row in each.rows)
    assert any(row.details.get("kernels") for each in kept for row in each.rows)
    path, out = tmp_path / "results.json", tmp_path / "report.html"
    path.write_text(json.dumps(made))
    assert main([str(path), "-o", str(out)]) == 0 and "recorded h200_scan" in out.read_text()
    assert "recorded xeon32_threads" in out.read_text()
    path.write_text(json.dumps({**made, "rows": [{**row, "device": "Some GPU"} for row in made["rows"]]}))
    assert main([str(path), "-o", str(out)]) == 0 and "recorded h200_scan" not in out.read_text()


# ------------------------------------------------------------------------------------------------------------- figures


def test_charts_have_every_rung_that_was_timed(made, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(made))
    rows = [row for row in results.load(tmp_path / "results.json").rows if row.problem == "scan"]
    charts = {chart.title: chart for chart in figures.charts(rows)}
    assert list(charts) == ["Time", "Fraction of the limit", "Speed-up", "Scaling", "Roofline"]
    (place,) = charts["Time"].choices
    lines = [line for line in charts["Time"].choices[place]["data"] if line["mode"] == "lines+markers"]
    assert [line["name"] for line in lines] == ["cpu.serial", "cpu.chained"]
    assert lines[0]["x"] == list(SIZES) and lines[0]["y"] == [row.seconds for row in rows if row.rung == "cpu.serial"]
    (scaling,) = charts["Scaling"].choices.values()
    assert scaling["data"][0]["x"] == [1, 2, 4] and scaling["data"][0]["y"] == pytest.approx([1, 2, 4])


# ----------------------------------------------------------------------------------------------------------- documents


def results_of(tmp_path, made, rows=(), **other):
    (tmp_path / "documents.json").write_text(json.dumps({**made, "rows": list(rows), "groups": [], **other}))
    return results.load(tmp_path / "documents.json")


def test_what_was_published_is_drawn_where_nothing_was_measured():
    charts = {chart.title: chart.choices for chart in documents.charts([])}
    for title, length in (("Figure 5: one thread, threads in turn, and the CPU", 600), ("Scans by length", 8)):
        (figure,) = charts[title].values()
        assert [len(line["x"]) for line in figure["data"]] == [length] * len(figure["data"]), title
    (sums,) = charts["Subset sums"].values()
    assert dict(zip(sums["data"][0]["y"], sums["data"][0]["x"], strict=True))["sequential"] == pytest.approx(0.274534)
    assert "Timeline of one stream and of several" not in charts


def test_documents_are_beside_what_was_measured(made, tmp_path):
    rows = [made_row("offsets", rung, n, study="das2020", device="A GPU") | {"median_s": seconds, "samples_s": [seconds]}
            for rung, factor in (("cuda.thrust", 2e-9), ("cuda.hillis_steele_blocks", 3e-9))
            for n in (10, 25010) for seconds in [factor * n]]  # fmt: skip
    span = {"what": "send", "stream": 3, "begin_s": 0.001, "end_s": 0.003}
    rows.append(made_row("filtered-sum", "cuda.occupancy", 6001215, study="balkesen2012-streams", transfer="streams",
                         transfer_s=0.5, kernel_s=0.25, timeline=[span]))  # fmt: skip
    link = dict.fromkeys(
        ("allocation_s", "to_device_pageable_s", "to_device_pinned_s", "to_host_pageable_s", "to_host_pinned_s"), 0.01
    )
    machine = {**made["machine"], "gpus": [{"name": "A GPU"}]}
    measured = results_of(tmp_path, made, rows, links=[link], machine=machine)
    charts = {chart.title: chart for chart in documents.charts([measured])}
    eight = charts["Figure 8: Thrust, and Hillis–Steele by hand"]
    assert (
        "between 0.05 and 3.97 times." in eight.text
        and "Up to 20,010 lists the scan by hand takes 1.30 times" in eight.text
        and "1.50 times Thrust's time." in eight.text
    )
    assert "above 242,010, 8.7 times less at 599,010. For 10 lists it takes 237 times as long" in charts[SEVEN].text
    assert "0.3 times at 1,000,000, 2.2 times at 10,000,000, 1.5 times at 100,000,000" in charts["Scans by length"].text
    (figure,) = eight.choices.values()
    assert [line["name"] for line in figure["data"] if line["name"].endswith("here")] == [
        "cuda.thrust, here",
        "cuda.hillis_steele_blocks, here",
    ]
    (copies,) = charts["SELECT SUM, the copies"].choices.values()
    assert copies["data"][-1]["name"] == "columns sent: streams, here" and copies["data"][-1]["x"] == [0.5]
    (timeline,) = charts["Timeline of one stream and of several"].choices.values()
    assert (timeline["data"][0]["y"], timeline["data"][0]["base"], timeline["data"][0]["x"]) == (["stream 4"], [1.0], [2.0])
    (link,) = charts["Bandwidth test"].choices.values()
    assert [bar["name"] for bar in link["data"]] == ["published", "pageable memory, here", "pinned memory, here"]


def table_of(title, measured=()):
    return next(table for table in tables.tables(list(measured)) if table.title == title)


def column_of(table, name, place):
    (column,) = [column for column in table.columns if (column.name, column.place) == (name, place)]
    return column.values


def test_tables_have_what_was_published():
    scans = table_of("Scans by length")
    assert column_of(scans, "elements", "")[-1] == 10**8 and len(scans.lines) == 8
    assert column_of(scans, "on the GPU", "GTX 1080, published")[-1] == pytest.approx(0.152966336)
    sums = table_of("Subset sums")
    assert column_of(sums, "speed-up", "published")[5] == pytest.approx(274.534 / 2.933)
    assert column_of(sums, "published on", "")[:2] == ["Xeon Platinum 8260M", "Tesla V100-SXM2"]
    selected = table_of("SELECT SUM")
    copies = column_of(selected, "copies", "GeForce 9500 GT, i5-750, published")
    assert copies[:3] == [None, pytest.approx(0.046335), pytest.approx(0.02408)], "unpublished values are missing, not 0"
    counters = table_of("Counters")
    assert column_of(counters, "figure", "GeForce 9500 GT, i5-750, published")[:2] == [6223004, 993635]
    assert column_of(counters, "ncu count", "NVIDIA H200")[:4] == [3919517, 34270, 16144963, 10448314]
    assert [column.place for column in table_of("Predicted and measured speed-ups").columns] == ["", "", "predicted"]


def test_tables_have_what_was_measured_beside_it(made, tmp_path):
    machine = {**made["machine"], "gpus": [{"name": "A GPU"}, {"name": "B GPU"}]}
    kernels = [{"name": "fold", "launches": 1, "registers": 24, "shared_bytes": 2048, "occupancy": 0.5}]
    fetched = [{"what": "fetch", "stream": stream, "begin_s": 1, "end_s": 1.001} for stream in (0, 1)]
    rows = [
        made_row("scan", "cpu.serial", 1000, study="biswas2020", median_s=0.25),
        made_row("subset-sum", "cuda.column", 10, study="aubanel2021", device="A GPU", median_s=0.5),
        made_row("subset-sum", "cpu.table", 10, study="aubanel2021", median_s=5.0),
        made_row("filtered-sum", "cuda.two_loads", 6001215, study="balkesen2012", device="A GPU", kernels=kernels),
        made_row("filtered-sum", "cuda.select", 6001215, study="balkesen2012-pageable", device="B GPU", transfer="pageable",
                 transfer_s=0.5, kernel_s=0.25, timeline=fetched),
        made_row("scan", "cpu.threads", 1 << 20, 2, "threads", median_s=0.5),
        made_row("scan", "cpu.serial", 1 << 20, 1, "threads", median_s=1.0),
    ]  # fmt: skip
    links = [dict.fromkeys(results._LINK, seconds) | {"bytes": 48e6} for seconds in (0.01, 0.02)]
    measured = [results_of(tmp_path, made, rows, machine=machine, links=links)]
    cpu, a, b = "A <fast>  CPU, 4 threads", "A <fast>  CPU, 4 threads, A GPU", "A <fast>  CPU, 4 threads, B GPU"
    scans = table_of("Scans by length", [measured[0]._replace(rows=measured[0].rows[:1])])
    assert column_of(scans, "cpu.serial", cpu) == [None, None, 0.25, None, None, None, None, None]
    sums = table_of("Subset sums", measured)
    assert column_of(sums, "time", a)[:3] == [5.0, None, 0.5] and column_of(sums, "speed-up", a)[2] == 10
    selected = table_of("SELECT SUM", measured)
    assert column_of(selected, "copies, from pageable memory", b)[:2] == [None, 0.5]
    bandwidth = table_of("Bandwidth test", measured)
    assert column_of(bandwidth, "time, pinned memory", a) == [None, 0.01, 0.01]
    assert column_of(bandwidth, "rate, pinned memory", b)[1:] == pytest.approx([2.4, 2.4]), "each GPU has its own link"
    counters = table_of("Counters", measured)
    assert column_of(counters, "measured", a)[4:7] == [24, 2048, 0.5]
    assert column_of(counters, "measured", b)[8] == pytest.approx(2)
    assert column_of(table_of("Predicted and measured speed-ups", measured[:1]), "speed-up", cpu)[0] == pytest.approx(2)


def test_a_document_s_lists_are_not_known_to_be_adjacent(made, tmp_path):
    rows = [made_row("offsets", "cuda.thrust", 10, study="das2020", device="A GPU", median_s=seconds, input=lists)
            for seconds, lists in ((0.5, None), (0.25, "adjacent lists"))]  # fmt: skip
    seven = next(chart for chart in documents.charts([results_of(tmp_path, made, rows)]) if chart.title == SEVEN)
    (figure,) = seven.choices.values()
    assert [line["y"] for line in figure["data"] if line["name"] == "cuda.thrust, here"] == [[0.5]]


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (None, "s", "–"),
        (0.0123, "s", "12.3 ms"),
        (1234567, "", "1,234,567"),
        (0.6667, "", "0.667"),
        (1.33333, "times", "1.33"),
        (5.37, "GB/s", "5.37 GB/s"),
        ("cpu.table", "text", "cpu.table"),
    ],
)
def test_cells_are_written_for_people(value, unit, text):
    assert page.value_text(value, unit) == text


def test_two_gpus_of_a_machine_are_two_machines(made, tmp_path):
    rows = [made_row("offsets", "cuda.thrust", 10, study="das2020", device=gpu) | {"median_s": seconds}
            for gpu, seconds in (("A GPU", 0.25), ("B GPU", 0.5))]  # fmt: skip
    rows.append(made_row("offsets", "cpu.serial", 10, study="das2020"))
    seven = next(chart for chart in documents.charts([results_of(tmp_path, made, rows)]) if chart.title == SEVEN)
    assert [place.rpartition(", ")[2] for place in seven.choices] == ["A GPU", "B GPU"]
    here = [[line["y"] for line in each["data"] if line["name"] == "cuda.thrust, here"] for each in seven.choices.values()]
    assert here == [[[0.25]], [[0.5]]]
    assert all("cpu.serial, here" in [line["name"] for line in each["data"]] for each in seven.choices.values())


def test_pinned_memory_is_the_last_variant(made, tmp_path):
    rows = [
        made_row("filtered-sum", "cuda.occupancy", 6001215, study=f"balkesen2012-{kind}") for kind in ("pageable", "pinned")
    ]
    charts = {chart.title: chart for chart in documents.charts([results_of(tmp_path, made, rows)])}
    (total,) = charts["SELECT SUM, in all"].choices.values()
    assert [bar["y"] for bar in total["data"][1:]] == [["occupancy"], ["occupancy", "pinned"]]


def test_speedup_is_over_the_first_rung_or_not_drawn(made, tmp_path):
    """At 2^18 the first rung was skipped: there, bench compares with a later rung."""
    rows = [made_row("scan", rung, n) for n in SIZES for rung in ("cpu.serial", "cpu.chained")]
    rows[-2].update(status="skipped", reason="estimated 71 s", median_s=None)
    peers = [made_row("scan", "numpy.cumsum", n, kind="library") for n in SIZES]
    charts = {chart.title: chart for chart in figures.charts(results_of(tmp_path, made, peers + rows).rows)}
    (lines,) = charts["Speed-up"].choices.values()
    assert {line["name"]: (line["x"], pytest.approx(line["y"])) for line in lines["data"]} == {
        "numpy.cumsum": (list(SIZES[:2]), [3, 3]),
        "cpu.serial": (list(SIZES[:2]), [1, 1]),
        "cpu.chained": (list(SIZES[:2]), [3, 3]),
    }


def test_a_problem_without_a_study_of_lengths_has_bars_for_each_instance(made, tmp_path):
    rows = [made_row("subset-sum", rung, n, study="aubanel2021") for n in (10, 56) for rung in ("cpu.table", "cpu.bits")]
    rows[0]["median_s"] *= 3
    rows[2].update(status="skipped", reason="estimated 71 s", median_s=None)
    charts = {chart.title: chart for chart in figures.charts(results_of(tmp_path, made, rows).rows)}
    assert list(charts) == ["Time", "Fraction of the limit", "Speed-up"], "a row that states no target has no roofline"
    ten, more = charts["Time"].choices.values()
    assert (ten["data"][0]["y"], ten["data"][0]["x"]) == (["cpu.table", "cpu.bits"], [row["median_s"] for row in rows[:2]])
    assert more["data"][0]["y"] == ["cpu.bits"]
    (gains,) = charts["Speed-up"].choices.values()
    assert gains["data"][0]["x"] == pytest.approx([1, 3])


def test_a_rung_that_was_measured_twice_has_one_bar(made, tmp_path):
    """Two bars with the same name would be drawn on top of each other, with their lengths added."""
    rows = [made_row("subset-sum", "cpu.bits", 10, study="aubanel2021", median_s=seconds) for seconds in (0.5, 0.25)]
    (figure,) = figures.charts(results_of(tmp_path, made, rows).rows)[0].choices.values()
    assert (figure["data"][0]["y"], figure["data"][0]["x"]) == (["cpu.bits"], [0.25])


def test_types_and_lists_of_one_length_are_bars(made, tmp_path):
    rows = [made_row("reduce", "cpu.serial", n) for n in SIZES]
    rows += [made_row("reduce", rung, SIZES[-1], study="types", type="float32") for rung in ("cpu.serial", "cpu.simd")]
    (chart, *_) = figures.charts(results_of(tmp_path, made, rows).rows)
    lines, bars = chart.choices.values()
    assert lines["data"][0]["type"] == "scatter" and len(lines["data"][0]["x"]) == len(SIZES)
    assert bars["data"][0]["type"] == "bar" and bars["data"][0]["y"] == ["cpu.serial", "cpu.simd"]


def test_keys_of_one_length_are_bars(made, tmp_path):
    rows = [made_row("group-by", "cpu.serial", n, input="keys: uniform, 1,000 groups") for n in SIZES]
    rows += [made_row("group-by", "cpu.serial", SIZES[-1], study="groups", input=keys)
             for keys in ("keys: uniform, 100,000 groups", "keys: all")]  # fmt: skip
    (chart, *_) = figures.charts(results_of(tmp_path, made, rows).rows)
    assert [choice.partition("int32, ")[2] for choice in chart.choices] == [
        "keys: uniform, 1,000 groups",
        "keys: uniform, 100,000 groups, 262,144",
        "keys: all, 262,144",
    ]


def kept_results():
    """Results of ladders that are stored: with the package, and with the guide."""
    return [*results.recorded(), *(results.load(path) for path in sorted((ROOT / "docs/results").glob("*.json")))]


@pytest.mark.parametrize("kept", kept_results(), ids=lambda kept: Path(kept.path).stem)
def test_every_study_is_drawn(kept):
    """Without its rows the figures differ."""

    def drawn(rows, problem):
        own = figures.charts([row for row in rows if row.problem == problem])
        return own + documents.charts([kept._replace(rows=rows)])

    for problem, study in dict.fromkeys((row.problem, row.study) for row in kept.rows):
        if study == "threads" and len({row.threads for row in kept.rows if row.study == study}) < 3:
            continue  # one thread for rungs with one thread, and all threads for the others: nothing scales
        others = [row for row in kept.rows if (row.problem, row.study) != (problem, study)]
        assert drawn(kept.rows, problem) != drawn(others, problem), (problem, study)


def test_every_rung_has_a_card_and_code():
    cards = json.loads((Path(upsweep_report.__file__).parent / "cards.json").read_text())
    rungs = {(each["problem"], each["rung"]) for each in upsweep.ladder()}
    assert rungs == {(problem, rung) for problem, own in cards.items() for rung in own}
    for problem, own in cards.items():
        for rung, card in own.items():
            assert all(card[paragraph] for paragraph in ("Idea", "Cost", "Needs", "Limit", "From")), (problem, rung)
            assert card["code"].strip(), (problem, rung)
    assert cards["scan"]["cpu.simd"]["Idea"] != cards["scan"]["cpu.serial"]["Idea"]


@pytest.mark.skipif(not (ROOT / "python/report/cards.py").exists(), reason="cards.py is not next to the tests")
def test_a_card_that_lacks_a_paragraph_ends_the_build(tmp_path):
    rung = tmp_path / "src/problems/dense/scan/cpu_trial.cpp"
    rung.parent.mkdir(parents=True)
    paragraphs = [f"// {name:6} Words.\n" for name in ("Idea", "Cost", "Needs", "Limit", "From")]
    for without in range(len(paragraphs) + 1):
        card = "".join(paragraphs[:without] + paragraphs[without + 1 :])
        rung.write_text(f"// SPDX\n// cpu_trial.cpp: a trial.\n//\n{card}extern const Rung cpu_trial{{}};\n")
        done = subprocess.run(
            [sys.executable, ROOT / "python/report/cards.py", tmp_path / "src", tmp_path / "cards.json"],
            capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode == 0) == (without == len(paragraphs)), done
        if without < len(paragraphs):
            assert f"the card of cpu.trial lacks {paragraphs[without].split()[1]};" in done.stderr, done


def test_documents_are_drawn_of_machines_that_measured_them(made, tmp_path):
    """A machine with other measurements is not a choice. Without any measurements, the published results are shown."""
    rows = [made_row("offsets", "cuda.thrust", 10, study="das2020", device="A GPU"), made_row("reduce", "cpu.serial", 1024)]
    charts = {chart.title: chart for chart in documents.charts([results_of(tmp_path, made, rows[1:])])}
    assert list(charts[SEVEN].choices) == ["what was published"]
    other = {**made["machine"], "threads": 64}
    both = [results_of(tmp_path, made, rows[1:], machine=other), results_of(tmp_path, made, rows)]
    charts = {chart.title: chart for chart in documents.charts(both)}
    assert [place.rpartition(", ")[2] for place in charts[SEVEN].choices] == ["A GPU"]


def test_predictions_are_beside_the_longest_scans_where_threads_were_not_studied(made, tmp_path):
    rows = [made_row("scan", rung, n, threads=threads)
            for n in SIZES for rung, threads in (("cpu.serial", 1), ("cpu.threads", 4), ("cpu.simd", 1))]  # fmt: skip
    charts = {chart.title: chart for chart in documents.charts([results_of(tmp_path, made, rows)])}
    (figure,) = charts["Predicted and measured speed-ups"].choices.values()
    here = {line["name"]: (line["x"], line["y"]) for line in figure["data"] if line["name"].endswith("here")}
    assert here == {"cpu.threads, here": ([4], [pytest.approx(12)]), "cpu.simd, here": ([1], [pytest.approx(3)])}


def one_row(tmp_path, made, problem, n, **other):
    (row,) = results_of(tmp_path, made, [made_row(problem, "cpu.serial", n, **other)]).rows
    return row


@pytest.mark.parametrize(
    "problem, facts, count",
    [
        ("scan", {}, 1024),
        ("offsets", {}, 2 * 1024),
        ("segmented-sort", {"lists": 4}, 1024 * 8),
        ("segmented-sort", {"lists": 1024}, 1024),
        ("segmented-sort", {}, None),
        ("combinations", {"pairs": 77}, 77),
        ("filtered-sum", {"kept": 10}, 1024 + 20),
        ("filtered-sum", {}, None),
        ("subset-sum", {"target": 99}, 1024 * 100),
        ("of tomorrow", {}, None),
    ],
)
def test_operations_are_those_of_the_definition(made, tmp_path, problem, facts, count):
    assert problems.operations(one_row(tmp_path, made, problem, 1024, **facts)) == count


def test_every_problem_says_what_is_counted():
    assert set(problems.PROBLEMS) == {rung["problem"] for rung in upsweep.ladder()}


def test_the_guide_counts_the_same():
    guide = (ROOT / "docs/guide/roofline.md").read_text(encoding="utf-8")
    for name, problem in problems.PROBLEMS.items():
        assert f"| `{name}` | {problem.work.what} | {problem.work.for_each_byte} |\n" in guide, name


def roofline_of(tmp_path, made, rows):
    charts = {chart.title: chart for chart in figures.charts(results_of(tmp_path, made, rows).rows)}
    (figure,) = charts["Roofline"].choices.values()
    return figure


def test_a_rung_is_on_the_roofline_at_its_intensity(made, tmp_path):
    rows = [made_row("scan", "cpu.chained", n) for n in SIZES]
    rows.append(made_row("scan", "cpu.chained", 1024, type="float64", bytes=16.0 * 1024))
    rows.append(made_row("scan", "cpu.chained", 1 << 30, 4, "threads"))
    figure = roofline_of(tmp_path, made, rows)
    roof, points = figure["data"]
    assert points["x"] == [1 / 8, 1 / 16], "only the longest input of each type, and no study of threads"
    assert points["y"] == pytest.approx([SIZES[-1] / rows[2]["median_s"], 1024 / rows[3]["median_s"]])
    rate = rows[2]["bytes"] / rows[2]["median_s"] / 0.5
    assert roof["y"] == pytest.approx([rate * x for x in roof["x"]]) and roof["x"][0] < 1 / 16 < 1 / 8 < roof["x"][1]
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "log"
    assert points["text"][0].endswith("262,144: 16 GB/s, 50% of the limit")


def test_of_two_measurements_the_last_is_on_the_roofline(made, tmp_path):
    rows = [made_row("scan", "cpu.serial", 1024, median_s=seconds) for seconds in (0.5, 0.25)]
    (*_, points) = roofline_of(tmp_path, made, rows)["data"]
    assert points["y"] == [1024 / 0.25]


def test_the_roof_is_that_of_the_longest_input(made, tmp_path):
    rows = [
        made_row("scan", "cpu.serial", 1024, fraction_of_copy=0.01),
        made_row("scan", "cpu.chained", 1 << 28, fraction_of_copy=0.5),
        made_row("scan", "cpu.serial", 512),
    ]
    longest = rows[1]["bytes"] / rows[1]["median_s"] / 0.5
    (roof, *_) = roofline_of(tmp_path, made, rows)["data"]
    assert roof["y"][0] / roof["x"][0] == pytest.approx(longest) and roof["name"] == "copy, 32 GB/s"


def test_a_roof_of_reading_is_beside_that_of_copying(made, tmp_path):
    row = made_row("filtered-sum", "cpu.serial", 1 << 20, fraction_of_read=0.25, kept=5)
    copy, read, _ = roofline_of(tmp_path, made, [row])["data"]
    assert (copy["name"], read["name"]) == ("copy, 10.67 GB/s", "read, 21.33 GB/s")


def test_what_was_sent_over_the_link_is_on_no_roofline(made, tmp_path):
    row = made_row("filtered-sum", "cuda.occupancy", 1 << 20, kept=5, transfer="pinned")
    assert "Roofline" not in [chart.title for chart in figures.charts(results_of(tmp_path, made, [row]).rows)]


def test_the_fastest_of_each_problem_is_under_one_roof(made, tmp_path):
    """A subset sum's bytes are those of all its items. It is compared with a copy of one bitmap, in a cache."""
    rows = [
        made_row(problem, rung, n) for problem in ("scan", "reduce") for rung in ("cpu.serial", "cpu.chained") for n in SIZES
    ]
    rows.append(made_row("subset-sum", "cpu.bits", 1000, target=10**6, bytes=1e9, fraction_of_copy=1e-6))
    chart = figures.roofline_of_all(results_of(tmp_path, made, rows).rows)
    ((roof, *points),) = [figure["data"] for figure in chart.choices.values()]
    assert [point["name"] for point in points] == ["scan", "reduce", "subset-sum"]
    assert all(point["text"][0].startswith("cpu.chained") for point in points[:2])
    assert roof["name"] == "copy, 32 GB/s"


def test_every_recorded_problem_is_under_the_roof():
    """The rows' own data must be sufficient."""
    rows = [row for each in results.recorded() for row in each.rows]
    drawn = {point["name"] for figure in figures.roofline_of_all(rows).choices.values() for point in figure["data"]}
    assert {row.problem for row in rows} <= drawn


def test_a_page_says_why_it_has_no_chart_of_scaling(made, tmp_path):
    quick = results_of(tmp_path, made, [made_row("scan", "cpu.serial", n) for n in SIZES])
    said = figures.scaling_not_drawn(quick.rows)
    assert "of A <fast>  CPU, 4 threads: its study of threads was not run" in said.why
    assert said.command == "upsweep bench scan -o scan.json" and said.command in page.page([quick], list(upsweep.ladder()))
    one = results_of(tmp_path, made, [made_row("scan", "cpu.serial", 1024, 1, "threads")])
    assert figures.scaling_not_drawn(one.rows)
    both = results_of(tmp_path, made, [made_row("scan", "cpu.chained", 1024, threads, "threads") for threads in (1, 2)])
    assert figures.scaling_not_drawn(both.rows) is None
    other = results_of(tmp_path, made, [made_row("scan", "cpu.serial", 1024)], machine={**made["machine"], "threads": 64})
    assert "scaling of A <fast>  CPU, 64 threads: " in figures.scaling_not_drawn(both.rows + other.rows).why
    gpu = results_of(tmp_path, made, [made_row("scan", "cuda.cub", 1024, device="A GPU")])
    assert "of any processor" in figures.scaling_not_drawn(gpu.rows).why


def test_many_threads_are_kept():
    """A machine with two threads also shows how a ladder scales on a larger machine."""
    rows = [
        row
        for each in results.recorded()
        for row in each.rows
        if row.problem in ("scan", "reduce", "filtered-sum", "subset-sum")
    ]
    for problem in dict.fromkeys(row.problem for row in rows):
        own = next(
            chart for chart in figures.charts([row for row in rows if row.problem == problem]) if chart.title == "Scaling"
        )
        assert any(line["x"] == [1, 2, 4, 8, 16, 32] for figure in own.choices.values() for line in figure["data"]), problem


def test_predictions_are_beside_rungs_that_do_what_they_predict(made, tmp_path):
    rows = [made_row("scan", rung, 1024, threads, "threads") for rung in ("cpu.serial", "cpu.chained") for threads in (1, 32)]
    charts = {chart.title: chart for chart in documents.charts([results_of(tmp_path, made, rows)])}
    assert list(charts["Predicted and measured speed-ups"].choices) == ["what was published"]


def test_the_tutorial_s_plot_says_how_long_its_scans_are(made, tmp_path):
    def said(sizes):
        rows = [made_row("scan", "cpu.serial", n) for n in sizes]
        charts = {chart.title: chart for chart in documents.charts([results_of(tmp_path, made, rows)])}
        return charts["The tutorial's plot"].text

    assert said((1 << 12, 1 << 16, 1 << 20)).endswith(": 2^12 to 2^20 int32.")
    assert said((1000, 1 << 20)).endswith(": 1,000 to 2^20 int32.")


def test_variants_are_in_the_document_s_order(made, tmp_path):
    """For the first variant nothing was published in the chart of kernels."""
    rows = [made_row("filtered-sum", rung, 6001215, study="balkesen2012") for rung in ("cpu.serial", "cuda.select")]
    charts = {chart.title: chart for chart in documents.charts([results_of(tmp_path, made, rows)])}
    (kernel,) = charts["SELECT SUM, kernel and host's sum"].choices.values()
    assert kernel["data"][0]["y"][0] == "simpleselect" and kernel["data"][1]["y"] == ["cpu_only", "simpleselect"]
    order = kernel["layout"]["yaxis"]["categoryarray"]
    assert order[:2] == ["cpu_only", "simpleselect"] and "pinned" not in order, "variants that were not measured leave no gap"


def test_what_the_limit_is_said_to_be():
    """Only for filtered-sum, the limit is a read."""
    compared = {row.problem for each in results.recorded() for row in each.rows if row.details.get("fraction_of_read")}
    copied = {row.problem for each in results.recorded() for row in each.rows if row.details.get("fraction_of_copy")}
    assert compared == {"filtered-sum"} and "reduce" in copied


def test_documents_name_rungs_that_there_are():
    rungs = {each["rung"] for each in upsweep.ladder()}
    text = Path(documents.__file__).read_text(encoding="utf-8")
    named = set(re.findall(r'"(c(?:pu|uda)\.\w+)"', text))
    assert named and named <= rungs, named - rungs


def test_the_ladder_comes_before_other_libraries(made, tmp_path):
    first = [made_row("scan", "numpy.cumsum", n, kind="library") for n in SIZES]
    peers = results_of(tmp_path, made, first)
    ours = results_of(tmp_path, made, [made_row("scan", rung, n) for rung in ("cpu.serial", "cpu.chained") for n in SIZES])
    (problem,) = [page._problem("scan", peers.rows + ours.rows, list(upsweep.ladder()), {})]
    (figure,) = problem["charts"][0].choices.values()
    names = [line["name"] for line in figure["data"] if line.get("mode") == "lines+markers"]
    assert names == ["cpu.serial", "cpu.chained", "numpy.cumsum"]


def test_machines_are_apart(made, tmp_path):
    first = results_of(tmp_path, made, [made_row("scan", "cpu.serial", n) for n in SIZES])
    other = results_of(
        tmp_path, made, [made_row("scan", "cpu.serial", n) for n in SIZES], machine={**made["machine"], "threads": 64}
    )
    times = next(chart for chart in figures.charts(first.rows + other.rows) if chart.title == "Time")
    assert list(times.choices) == ["A <fast>  CPU, 4 threads, int32", "A <fast>  CPU, 64 threads, int32"]


# ------------------------------------------------------------------------------------------------------------ findings

LADDER = [
    {"problem": problem, "rung": rung, "limit": limit}
    for problem in ("scan", "reduce", "subset-sum")
    for rung, limit in (("cpu.serial", "one thread"), ("cpu.chained", "the memory; on many cores the chain"))
]


def board_of(tmp_path, made, *rows):
    (board,) = findings.boards([results_of(tmp_path, made, rows)], LADDER)
    return board


def finding_of(tmp_path, made, fraction, n=1 << 24, **other):
    board = board_of(
        tmp_path, made, made_row("scan", "cpu.serial", n, fraction_of_copy=fraction / 3),
        made_row("scan", "cpu.chained", n, fraction_of_copy=fraction, **other))  # fmt: skip
    return board.findings[0]


@pytest.mark.parametrize(
    "fraction, other, text",
    [
        (0.95, {}, "is at the limit: 95% of a copy's rate with 134 MB; 3.0× the loop."),
        (0.4, {}, "reaches 40% of a copy's rate with 134 MB; 3.0× the loop. Its limit: on many cores the chain."),
        (1.5, {}, "is above the limit: 150% of a copy's rate with 134 MB; 3.0× the loop. Causes: a cache, reads without writes, or a copy that other load delayed."),
        (1.5, {"n": 1024, "bytes": 8192.0}, "is above the limit: 150% of a copy's rate with 8.19 kB; 3.0× the loop. Its data fit in a cache: measure a longer input."),
        (0.9, {"fraction_of_read": 0.9}, "is at the limit: 90% of a read's rate with 134 MB; 3.0× the loop."),
    ],
)  # fmt: skip
def test_a_finding_says_how_near_the_limit_the_best_rung_is(tmp_path, made, fraction, other, text):
    finding = finding_of(tmp_path, made, fraction, **other)
    assert (finding.problem, finding.best.rung, finding.text) == ("scan", "cpu.chained", text)


def test_a_finding_is_of_the_longest_input(tmp_path, made):
    """Rows of threads do not count. Rows of transfers do not count either."""
    rows = [made_row("scan", rung, n) for n in SIZES for rung in ("cpu.serial", "cpu.chained")]
    rows.append(made_row("scan", "cpu.chained", 1 << 30, 4, "threads"))
    rows.append(made_row("scan", "cpu.chained", 1 << 30, transfer="pinned"))
    rows.append(made_row("scan", "numpy.cumsum", SIZES[-1], kind="library", median_s=1e-9))
    (finding,) = board_of(tmp_path, made, *rows).findings
    assert (finding.best.rung, finding.best.n, finding.first.rung) == ("cpu.chained", SIZES[-1], "cpu.serial")
    rows[4].update(status="skipped", reason="estimated 71 s", median_s=None)
    (finding,) = board_of(tmp_path, made, *rows).findings
    assert finding.text.endswith("; the loop was not timed. Its limit: on many cores the chain.")
    (finding,) = board_of(tmp_path, made, rows[0]).findings
    assert finding.text.endswith("; it is the loop. Its limit: one thread.")
    (finding,) = board_of(tmp_path, made, {**rows[0], "device": "A GPU"}).findings
    assert finding.text.endswith("; it is the first rung. Its limit: one thread."), "a GPU has no loop"


def test_subset_sums_have_no_limit_of_memory(tmp_path, made):
    """Instances are of unequal kinds. The first rung can compute this one."""
    rows = [made_row("subset-sum", rung, 10, study="aubanel2021") for rung in ("cpu.serial", "cpu.chained")]
    rows.append(made_row("subset-sum", "cpu.chained", 1000, study="aubanel2021"))
    board = board_of(tmp_path, made, *rows)
    assert board.findings[0].text == "takes 5 ns; 3.0× the loop." and board.chart.choices == {}
    assert len(findings.introduction([results_of(tmp_path, made, rows)], [board])) == 1


def test_three_sentences_introduce_the_page(tmp_path, made):
    fractions = {"scan": (0.3, 0.96), "reduce": (0.1, 0.2)}
    rows = [
        made_row(problem, rung, 1 << 24, fraction_of_copy=fraction, fraction_of_read=None)
        for problem, both in fractions.items()
        for rung, fraction in zip(("cpu.serial", "cpu.chained"), both, strict=True)
    ]
    own = results_of(tmp_path, made, rows)
    board = board_of(tmp_path, made, *rows)
    assert findings.introduction([own], [board]) == [
        "4 rungs of 2 problems were verified, then timed on A <fast>  CPU, 4 threads.",
        "The best rung, cpu.chained of scan, reached 96% of the rate of a copy of 134 MB; 1 of 2 problems with such a limit reached 80%.",
        "Look next at reduce, 20% of its limit, and step through the drawing of cpu.chained.",
    ]
    assert findings.introduction([own._replace(rows=[])], []) == ["Nothing was measured."]
    both = [*rows, {**rows[0], "device": "A GPU"}]
    _, best, _ = findings.introduction([results_of(tmp_path, made, both)], [board])
    assert best.startswith("On A <fast>  CPU, 4 threads the best rung, cpu.chained of scan"), "of two processors, it names one"
    rows[-1]["kind"] = "library"
    *_, look = findings.introduction([own], [board_of(tmp_path, made, *rows)])
    assert look == "Look next at reduce, 20% of its limit, and compare its rungs.", "a library's rung has no drawing"
    (figure,) = board.chart.choices.values()
    _, first, best = figure["data"]
    assert first["y"] == best["y"] == ["scan", "reduce"]
    assert (first["x"], best["x"]) == (pytest.approx([0.3, 0.1]), pytest.approx([0.96, 0.2]))
    assert figure["layout"]["shapes"][0]["x0"] == 1, "the limit is drawn"


def test_this_machine_is_before_what_was_recorded(made, tmp_path, capsys):
    path, out = tmp_path / "results.json", tmp_path / "report.html"
    path.write_text(json.dumps({**made, "failures": []}))
    assert main([str(path), "-o", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("5 rungs of 2 problems") or said[0].startswith("4 rungs of 2 problems"), said
    assert said[2].startswith("Look next at ") and said[3].startswith(str(out))
    text, *_ = out.read_text().partition('<script type="application/json"')
    for sentence in said[:2]:
        assert html.escape(sentence) in text
    order = [
        text.index(each)
        for each in (
            'id="here"',
            'id="scan"',
            'id="segmented-reduce"',
            'id="reduce"',
            'id="recorded"',
            'id="documents"',
            'id="files"',
        )
    ]
    assert order == sorted(order), "what was measured here is first, files are last"
    groups = re.findall(r'<optgroup label="([^"]*)">', text)
    assert set(groups) == {"this machine", "recorded elsewhere"} and groups[0] == "this machine"
    assert "NVIDIA H200, recorded:" in text[text.index('id="scan"') :]
    assert "recorded h200_scan" not in text[: text.index('id="files"')], "files are named at the end"
    assert text.index(str(path)) < text.index("recorded h200_scan")
    places = re.findall(r"<summary>(.*?), int32: \d+</summary>", text[text.index('id="scan"') :])
    assert places[0] == "A &lt;fast&gt;  CPU, 4 threads" and "NVIDIA H200" in places, "tables are in the same order"


def test_recorded_results_are_not_this_machine_s():
    assert all(each.recorded for each in results.recorded())
    boards = findings.boards(results.recorded(), upsweep.ladder())
    assert "NVIDIA H200, recorded" in [board.label for board in boards]
    h200 = next(board for board in boards if board.place == "NVIDIA H200")
    assert {each.problem for each in h200.findings} == {each["problem"] for each in upsweep.ladder()}


def test_documents_are_named_by_author_year_and_title(report):
    text = html.unescape(report.read_text())
    for document in documents.DOCUMENTS_OF_UPSWEEP:
        assert f"<cite>{document.name}</cite>" in text
        assert document is documents.TUTORIAL or f"{document.author} ({document.year}). " in text
        assert document.problem in problems.PROBLEMS
    assert len(documents.DOCUMENTS_OF_UPSWEEP) == 5


# ------------------------------------------------------------------------------------------------------------ drawings


def trace_of(*steps):
    """Steps with the given numbers of combining moves."""
    made = machine.Machine(8, x=list(range(8)), y=list(range(8)))
    for number, count in enumerate(steps):
        with made.step(f"step {number}"):
            for thread in range(count):
                made.fold(thread, ("y", thread), problems.add, ("y", thread), ("x", thread))
            made.copy(7, ("x", 7), ("x", 6))
    return made.trace("y")


@pytest.mark.parametrize(
    "counts, step",
    [
        ((1, 4, 1, 1, 1), 2),
        ((4, 4, 4, 4, 4), 3),
        ((7, 1, 3, 1, 7), 3),
        ((0, 0, 0, 0, 0), 3),
        ((1, 2, 3), 2),
        ((1,), 1),
        ((), 0),
    ],
)
def test_a_drawing_opens_at_a_telling_step(counts, step):
    assert drawings.telling_step(trace_of(*counts)) == step


def test_every_drawing_opens_at_a_step_that_moves_something():
    for problem, rung in drawings.drawn():
        drawn = drawings.drawing(problem, rung)
        assert drawn["steps"][drawn["shown"] - 1]["moves"], (problem, rung)
        assert len(drawn["steps"]) <= 3 or 1 < drawn["shown"] < len(drawn["steps"]), (problem, rung)


def test_every_rung_that_is_not_a_library_s_has_a_drawing():
    steps = [(each["problem"], each["rung"]) for each in upsweep.ladder() if not each["library"]]
    assert sorted(drawings.drawn()) == sorted(steps)
    for problem, rung in drawings.drawn():
        drawn = drawings.drawing(problem, rung)
        assert drawn["steps"] and json.loads(json.dumps(drawn))["threads"] == drawn["threads"]
    assert drawings.drawing("scan", "cpu.std_par") is None, "a library's internal steps are not drawn"
    for title, problem, rung in documents.DRAWINGS:
        assert drawings.drawing(problem, rung)["steps"], title


def test_no_two_rungs_share_a_drawing_but_those_that_are_named_together():
    """A model's steps are those of one algorithm: rungs with the same steps must be one entry."""
    for name, problem in problems.PROBLEMS.items():
        seen = {}
        for rungs in problem.models:
            seen.setdefault(json.dumps(drawings.drawing(name, rungs.split()[0])["steps"]), []).append(rungs)
        assert [rungs for rungs in seen.values() if len(rungs) > 1] == [], name


# ---------------------------------------------------------------------------------------------------------------- page


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_the_page_needs_nothing_beside_itself(report):
    text = report.read_text()
    tags = Tags()
    tags.feed(text)
    for tag, attrs in tags.seen:
        for name in ("src", "href"):
            assert not attrs.get(name) or attrs[name].startswith("#"), (tag, attrs)
    assert "A &lt;fast&gt;  CPU" in text and "no &lt;memory&gt;" in text and "index &lt;7&gt; &amp; on" in text
    assert "estimated 71 s" in text and 'class="failed"' in text


def test_names_in_results_are_text_and_nothing_else(made, tmp_path):
    """In a script, `<!--<script>` would hide its end, and with it the page."""
    bad = "<!--<script>\"'><img src=x onerror=alert(1)></script>"
    for row in made["rows"]:
        row.update(type=bad, input=bad, reason=bad, device=bad)
    made["rows"][0]["kernels"] = [{"name": bad, "launches": 2, "registers": 8, "shared_bytes": 0, "occupancy": 1}]
    (tmp_path / "results.json").write_text(json.dumps(made))
    assert main([str(tmp_path / "results.json"), "-o", str(tmp_path / "r.html")]) == 0
    text = (tmp_path / "r.html").read_text()
    before, _, after = text.partition('<script type="application/json" id="data">')
    assert "<!--" not in before and "<img" not in before and "&lt;!--&lt;script&gt;" in before
    assert "<" not in after[: after.index("</script>")]


def contrast(a, b):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_in_light_and_dark():
    from importlib import resources

    css = resources.files("upsweep_report").joinpath("page.css").read_text()
    schemes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{([^}]*)\}", css)]
    assert len(schemes) == 2
    for scheme in schemes:
        for text, ground in itertools.product(("text", "muted", "accent", "bad"), ("ground", "panel")):
            assert contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground, scheme)
        assert all(contrast(colour, scheme["panel"]) >= 2 for colour in figures.COLOURS)
        assert contrast(figures._ROOF, scheme["panel"]) >= 3


PROBE = """<script>
addEventListener("load", () => setTimeout(() => {
  const said = {seen: document.querySelectorAll(".plot .main-svg").length, figures: document.querySelectorAll("figure").length};
  dispatchEvent(new Event("beforeprint"));
  said.opened = [...document.querySelectorAll(".drawing output")].map(output => output.textContent);
  said.steps = [...document.querySelectorAll(".drawing")].map(box => {
    const slider = box.querySelector("input");
    const moved = to => {
      slider.value = to;
      slider.dispatchEvent(new Event("input"));
    };
    moved(0);
    const before = box.querySelector("svg").innerHTML;
    moved(slider.max);
    return before !== box.querySelector("svg").innerHTML && box.querySelector("output").textContent;
  });
  const sorted = (heading, press) => {
    press(heading);
    return [...heading.closest("table").tBodies[0].rows].map(row => row.cells[heading.cellIndex].dataset.value);
  };
  const heading = document.querySelector("th.number");
  said.ascending = sorted(heading, each => each.click()).map(Number);
  said.descending = sorted(heading, each => each.click()).map(Number);
  const published = document.querySelector("section.table:nth-of-type(3) th:nth-child(4)");
  const enter = each => each.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  said.missing = [sorted(published, enter), sorted(published, enter)];
  let copied;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => { copied = text; } } });
  const copy = document.querySelector("section.table .copy");
  copy.click();
  said.copied = copied.split("\\n").slice(0, 2);
  said.undrawn = [...document.querySelectorAll("figure")].filter(figure => !figure.querySelector(".main-svg")).length;
  said.uploads = document.querySelectorAll("[data-title^='Share']").length;
  said.colour = getComputedStyle(document.body).color;
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  said.covered = [...document.querySelectorAll(".plot")].flatMap(plot => {
    const legend = plot.querySelector(".legend .bg");
    const labels = [...plot.querySelectorAll(".xtick text, .ytick text, .g-xtitle text, .g-ytitle text")];
    const box = legend && legend.getBoundingClientRect();
    return box ? labels.filter(label => !apart(label.getBoundingClientRect(), box)).map(label => label.textContent) : [];
  });
  const bottom = selector => document.querySelector(selector).getBoundingClientRect().bottom;
  said.screens = bottom("main") / 800;
  said.first = [bottom("header"), bottom("#here figure")];
  const opened = [...document.querySelectorAll("details")].map(each => each.open);
  said.folded = opened.every(open => !open);
  document.querySelectorAll("details").forEach(each => { each.open = true; });
  setTimeout(() => {
  const drawn = [...document.querySelectorAll(".drawing")];
  said.letters = drawn.map(box => box.querySelector("svg rect").getBoundingClientRect().height);
  const outside = (box, cell) => cell.getBoundingClientRect().right > box.getBoundingClientRect().right + 1;
  said.cut = drawn.filter(box => [...box.querySelectorAll("rect, circle")].some(cell => outside(box, cell))).map(box => box.dataset.rung);
  const fits = text => !text.previousSibling || text.previousSibling.tagName !== "rect" || text.getComputedTextLength() <= text.previousSibling.width.baseVal.value;
  said.tight = drawn.filter(box => ![...box.querySelectorAll("text")].every(fits)).map(box => box.dataset.rung);
  said.scrolled = drawn.filter(box => box.scrollWidth > box.clientWidth + 1).length;
  said.keys = [...document.querySelectorAll(".drawing .key")].map(key => key.textContent);
  const button = document.querySelector(".drawing button");
  said.button = [button, button, button].map(each => { each.click(); return each.getAttribute("aria-label"); });
  said.wider = [...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .drawing, pre, svg, .plot")).map(e => e.outerHTML.slice(0, 120));
  said.wide = document.documentElement.scrollWidth > innerWidth;
  said.width = innerWidth;
  parent.postMessage(JSON.stringify(said), "*");
  }, 1500);
}, 3000));
</script></body>"""


FRAME = """<!doctype html><iframe src="report.html" style="border: 0; width: {width}px; height: 29000px"></iframe>
<script>addEventListener("message", event => {{ document.body.dataset.said = event.data; }});</script>"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_a_browser_shows_it(report, width, scheme):
    text = report.read_text()
    figures_in_it = text.count("<figure ")
    report.write_text(text.replace("</body>", PROBE))
    frame = report.with_name("frame.html")  # a window has a width of at least 500
    frame.write_text(FRAME.format(width=width))
    done = subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
         f"--blink-settings=preferredColorScheme={1 if scheme == 'light' else 0}", "--window-size=1400,30000", "--enable-logging=stderr",
         "--virtual-time-budget=20000", f"--user-data-dir={report.parent / 'chromium'}", "--dump-dom", frame.as_uri()],
        capture_output=True, text=True, timeout=3600, check=False,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    said = re.search(r'data-said="([^"]*)"', done.stdout)
    assert said, done.stderr[-2000:]
    found = json.loads(html.unescape(said[1]))
    assert found["figures"] == figures_in_it >= 9 + PUBLISHED and found["seen"] > 0 and found["undrawn"] == 0, found
    assert found["opened"] and not any(step.startswith("0 of") for step in found["opened"]), "drawings open at a step"
    assert found["steps"] and all(re.fullmatch(r"(\d+) of \1", str(step)) for step in found["steps"]), found
    assert found["ascending"] == sorted(found["ascending"]) and found["descending"] == sorted(found["ascending"], reverse=True)
    assert found["uploads"] == 0, "the page must not send data"
    for values in found["missing"]:
        assert [value != "" for value in values] == [True] * 3 + [False] * 6, "missing values are last, in either order"
    numbers = [[float(value) for value in values if value] for values in found["missing"]]
    assert numbers[0] == sorted(numbers[0]) == numbers[1][::-1], "also sorted by a key"
    assert found["copied"][0].split("\t")[:2] == ["elements", "on the GPU, GTX 1080, published (s)"]
    assert [float(value) for value in found["copied"][1].split("\t")[:2]] == [1, pytest.approx(1.37e-6)]
    assert (found["colour"] == "rgb(230, 237, 243)") == (scheme == "dark")
    assert found["covered"] == [], "a legend must not cover a label"
    assert len(found["keys"]) == len(found["steps"]) and any("Ring" in key for key in found["keys"])
    assert all(15 <= height <= 40 for height in found["letters"]), "cells of 30, neither tiny nor huge"
    assert found["cut"] == found["tight"] == [] and found["scrolled"] == 0, "drawings are whole"
    assert found["folded"]
    if width == 1280:
        assert found["screens"] <= 20 and max(found["first"]) <= 800, found
    assert found["button"] == ["pause", "play", "pause"]
    assert found["width"] == width
    assert found["wider"] == []
    assert not found["wide"], "the page fits its window"


@pytest.mark.skipif(not (ROOT / "tools/tour_check.py").exists(), reason="tools/ is missing")
def test_the_tour_names_inputs_that_fit_the_last_cache(made, tmp_path):
    path = tmp_path / "results.json"

    def said(rows):
        path.write_text(json.dumps({**made, "rows": rows}))
        command = [sys.executable, ROOT / "tools/tour_check.py", "lengths", "1000000", path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    rows = [made_row("scan", "cpu.serial", n) for n in (1024, 1 << 20)] + [made_row("subset-sum", "cpu.table", 10)]
    assert said(rows) == "the longest input of each problem is at least 8.4 times the last cache: 8 MB of scan\n"
    short = made_row("reduce", "cpu.serial", 1024)
    longer = made_row("reduce", "cpu.chained", 1 << 20, status="skipped", reason="estimated 71 s", median_s=None)
    assert said([*rows, short, longer]).endswith("perhaps above the limit: reduce (0 MB)\n")


def test_without_plotly_it_says_what_to_install(tmp_path, made):
    (tmp_path / "results.json").write_text(json.dumps(made))
    code = "import sys; sys.modules['plotly'] = None; sys.modules['plotly.offline'] = None; from upsweep_report.__main__ import main; sys.exit(main(['results.json']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "pip install plotly" in done.stderr
    assert page.seconds_text(1.5e-7) == "150 ns"
