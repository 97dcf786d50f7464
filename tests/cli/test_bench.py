# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_bench.py: `upsweep bench`: what it measures and writes down, goes on with, and refuses; never how fast.
import json
import statistics
import subprocess
import time

import pytest
from conftest import COMMAND

SMALL = ("--quick", "--sizes", "100,3000", "--threads", "1,2")


def bench(upsweep, *args):
    return upsweep.ok("bench", *args, *SMALL, "-o", "results.json", timeout=120)


def results(upsweep, name="results.json"):
    return json.loads((upsweep.folder / name).read_text())


def test_every_rung_is_there_with_every_sample(upsweep):
    text = bench(upsweep, "scan", "select").decode()
    assert text.startswith("results.json: ") and " 0 wrong" in text
    found = results(upsweep)
    assert found["schema"] == 1 and found["machine"]["threads"] >= 1 and found["failures"] == []
    assert found["method"]["quick"] is True and found["method"]["threads"] == [1, 2]
    assert found["cells"] == [
        f"{study}/{n}" for study in ("scan/sizes/int32", "select/sizes/float64") for n in (100, 3000)
    ]
    ladders = upsweep.json("ladder")["ladders"]
    for problem in ("scan", "select"):
        rungs = {each["rung"] for each in ladders[problem] if each["rung"].startswith("cpu.")}
        rows = [row for row in found["rows"] if row["problem"] == problem]
        assert {row["rung"] for row in rows} >= rungs
        assert {row["n"] for row in rows} == {100, 3000} and {row["study"] for row in rows} == {"sizes"}
    for row in found["rows"]:
        assert row["status"] == "verified", row
        samples = row["samples_s"]
        assert len(samples) >= 3 and min(samples) > 0
        assert sorted(samples)[len(samples) // 2] == row["median_s"]
    for group in found["groups"]:
        assert len(group["copy_samples_s"]) >= 3
        assert statistics.median(group["copy_samples_s"]) > 0
    assert sorted(path.name for path in upsweep.folder.iterdir()) == ["results.json"]


def test_threads_are_measured_where_it_matters(upsweep):
    upsweep.ok("bench", "reduce", "--sizes", "200000", "--threads", "1,2", "-o", "r.json", timeout=120)
    found = results(upsweep, "r.json")
    by_study = {row["study"]: set() for row in found["rows"]}
    for row in found["rows"]:
        by_study[row["study"]].add(row["threads"])
    assert by_study["threads"] == {1, 2} and {"sizes", "types"} <= set(by_study)


def test_json_is_what_the_file_says(upsweep):
    printed = upsweep.json("bench", "partition", *SMALL, "-o", "r.json", timeout=120)
    assert printed == results(upsweep, "r.json")


def test_it_goes_on_where_it_was_stopped(upsweep):
    bench(upsweep, "scan")
    whole = results(upsweep)
    begun = dict(whole, cells=whole["cells"][:1], rows=[row for row in whole["rows"] if row["n"] == 100])
    begun["groups"] = [group for group in whole["groups"] if group["n"] == 100]
    upsweep.write("results.json.partial", json.dumps(begun))
    text = bench(upsweep, "scan").decode()
    assert "1 of 2 cells were there from before" in text
    again = results(upsweep)
    assert again["cells"] == whole["cells"] and len(again["rows"]) == len(whole["rows"])
    assert [row for row in again["rows"] if row["n"] == 100] == begun["rows"]
    assert [row for row in again["rows"] if row["n"] == 3000] != [row for row in whole["rows"] if row["n"] == 3000]
    assert not (upsweep.folder / "results.json.partial").exists()


def test_what_was_measured_survives_a_kill(upsweep):
    arguments = ["bench", "scan", "--sizes", "100,200,300,400", "--threads", "1", "-o", "results.json"]
    process = subprocess.Popen([COMMAND, *arguments], cwd=upsweep.folder, stdout=subprocess.DEVNULL)
    partial = upsweep.folder / "results.json.partial"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if partial.exists() and json.loads(partial.read_text())["cells"]:
            break
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = json.loads(partial.read_text())
    assert before["cells"] and not (upsweep.folder / "results.json").exists()
    assert "from before" in upsweep.text(*arguments, timeout=120)
    found = results(upsweep)
    assert found["rows"][: len(before["rows"])] == before["rows"]


@pytest.mark.parametrize("part", ["machine", "method", "upsweep"])
def test_results_of_another_run_are_not_gone_on_with(upsweep, part):
    bench(upsweep, "partition")
    begun = results(upsweep)
    begun[part] = "another"
    upsweep.write("results.json.partial", json.dumps(begun))
    error = upsweep.fails("invalid_argument", "bench", "partition", *SMALL, "-o", "results.json")
    assert part in error["message"] and "results.json.partial" in error["message"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"rows": []}', '{"schema": 1, "cells": 3}'])
def test_results_that_are_none_are_not_gone_on_with(upsweep, content):
    upsweep.write("results.json.partial", content)
    error = upsweep.fails("malformed", "bench", "scan", *SMALL, "-o", "results.json")
    assert "results.json.partial" in error["message"]


def test_bad_requests(upsweep):
    upsweep.fails("invalid_argument", "bench")
    upsweep.fails("invalid_argument", "bench", "nothing", "-o", "r.json")
    upsweep.fails("invalid_argument", "bench", "scan", "--sizes", "0", "-o", "r.json")
    upsweep.fails("invalid_argument", "bench", "scan", "--threads", "x", "-o", "r.json")
    upsweep.fails("invalid_argument", "bench", "scan", "--rung", "cpu.serial", "-o", "r.json")
    upsweep.fails("invalid_argument", "bench", "scan", "-o", "-")
    upsweep.fails("not_found", "bench", "scan", "-o", "nowhere/r.json")
    upsweep.fails("is_directory", "bench", "scan", "-o", ".")
