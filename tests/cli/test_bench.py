# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_bench.py: `upsweep bench`: what it measures, writes, resumes and refuses; never how fast it is.
import contextlib
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import time

import pytest
from conftest import COMMAND

SMALL = ("--quick", "--sizes", "100,3000", "--threads", "1,2")


def bench(upsweep, *args):
    return upsweep.ok("bench", *args, *SMALL, "-o", "results.json", timeout=3600)


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
    upsweep.ok("bench", "reduce", "--sizes", "200000", "--threads", "1,2", "-o", "r.json", timeout=3600)
    found = results(upsweep, "r.json")
    by_study = {row["study"]: set() for row in found["rows"]}
    for row in found["rows"]:
        if row["rung"] != "cpu.std_par":  # this rung runs on every core, whatever number is requested
            by_study[row["study"]].add(row["threads"])
    assert by_study["threads"] == {1, 2} and {"sizes", "types"} <= set(by_study)


def test_json_is_what_the_file_says(upsweep):
    printed = upsweep.json("bench", "partition", *SMALL, "-o", "r.json", timeout=3600)
    assert printed == results(upsweep, "r.json")


def test_it_goes_on_where_it_was_stopped(upsweep):
    bench(upsweep, "scan")
    whole = results(upsweep)
    begun = dict(whole, cells=whole["cells"][:1], rows=[row for row in whole["rows"] if row["n"] == 100])
    begun["groups"] = [group for group in whole["groups"] if group["n"] == 100]
    upsweep.write("results.json.partial", json.dumps(begun))
    text = bench(upsweep, "scan").decode()
    assert "1 of 2 cells are from an earlier run" in text
    again = results(upsweep)
    assert again["cells"] == whole["cells"] and len(again["rows"]) == len(whole["rows"])
    assert [row for row in again["rows"] if row["n"] == 100] == begun["rows"]
    assert [row for row in again["rows"] if row["n"] == 3000] != [row for row in whole["rows"] if row["n"] == 3000]
    assert not (upsweep.folder / "results.json.partial").exists()


def test_what_was_measured_survives_a_kill(upsweep):
    arguments = ["bench", "scan", "--sizes", "100,200,300,400", "--threads", "1", "-o", "results.json"]
    partial = upsweep.folder / "results.json.partial"

    def is_killed():
        process = subprocess.Popen([COMMAND, *arguments], cwd=upsweep.folder, stdout=subprocess.DEVNULL)
        while process.poll() is None and not (partial.exists() and json.loads(partial.read_text())["cells"]):
            time.sleep(0.01)
        process.kill()
        return process.wait() != 0

    while not is_killed():  # the command had ended before this process was scheduled again
        (upsweep.folder / "results.json").unlink()
    before = json.loads(partial.read_text())
    assert before["cells"] and not (upsweep.folder / "results.json").exists()
    assert "from an earlier run" in upsweep.text(*arguments, timeout=3600)
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


def test_other_problems_are_another_method(upsweep):
    bench(upsweep, "partition")
    (upsweep.folder / "results.json").rename(upsweep.folder / "results.json.partial")
    error = upsweep.fails("invalid_argument", "bench", "scan", *SMALL, "-o", "results.json")
    assert "another method (problems)" in error["message"]


def test_former_names_of_problems_are_gone_on_with(upsweep):
    bench(upsweep, "offsets")
    whole = results(upsweep)
    begun = json.loads(json.dumps(whole).replace('"offsets/', '"ragged/').replace('"offsets"', '"ragged"'))
    assert begun["cells"] != whole["cells"] and begun["method"] != whole["method"] and begun["rows"] != whole["rows"]
    upsweep.write("results.json.partial", json.dumps(begun))
    assert "2 of 2 cells are from an earlier run" in bench(upsweep, "offsets").decode()
    assert results(upsweep) == whole


def test_time_without_end_can_be_gone_on_with(upsweep):
    arguments = ("bench", "partition", *SMALL, "--max-seconds", "inf", "-o", "results.json")
    upsweep.ok(*arguments, timeout=3600)
    (upsweep.folder / "results.json").rename(upsweep.folder / "results.json.partial")
    assert b"2 of 2 cells are from an earlier run" in upsweep.ok(*arguments, timeout=3600)


def holds_a_lock(process):
    for file in pathlib.Path(f"/proc/{process.pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):  # the file was closed in the meantime
            if b"FLOCK" in file.read_bytes():
                return True
    return False


def test_two_calls_do_not_write_one_file(upsweep):
    arguments = ["bench", "scan", "--sizes", "100,200,300,400,500,600", "--threads", "1", "-o", "results.json"]
    first = subprocess.Popen([COMMAND, *arguments], cwd=upsweep.folder, stdout=subprocess.DEVNULL)
    while not holds_a_lock(first):
        assert first.poll() is None
        time.sleep(0.01)
    first.send_signal(signal.SIGSTOP)  # it must not end while the other one starts
    second = upsweep.run(*arguments)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2 and b"another upsweep bench is writing it" in second.stderr, second
    assert first.wait(timeout=3600) == 0
    assert [path.name for path in upsweep.folder.iterdir()] == ["results.json"]


def test_a_length_that_is_given_twice_is_measured_once(upsweep):
    upsweep.ok("bench", "partition", "--quick", "--sizes", "1024,2^10", "--threads", "1", "-o", "r.json", timeout=3600)
    assert len(results(upsweep, "r.json")["cells"]) == 1


def test_what_does_not_fit_memory_is_a_failure_and_the_rest_is_measured(upsweep):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    sizes = (memory // 8, 2**40, 100)  # of int32: half of the memory for each array, far too large, and tiny
    arguments = ["bench", "scan", "--quick", "--sizes", ",".join(map(str, sizes)), "--threads", "1", "-o", "r.json"]
    done = upsweep.run(*arguments, timeout=3600)
    assert done.returncode == 1 and done.stderr == b"", done
    assert max(map(len, done.stdout.decode().splitlines())) <= 80, done.stdout
    found = results(upsweep, "r.json")
    assert {row["n"] for row in found["rows"]} == {100} and len(found["cells"]) == 3
    assert [failure["code"] for failure in found["failures"]] == ["out_of_memory"] * 2
    assert [failure["cell"].split("/")[-1] for failure in found["failures"]] == [str(n) for n in sizes[:2]]


ROWS = '{"schema": 1, "cells": [], "groups": [], "failures": [], "rows": [3]}'


@pytest.mark.parametrize("content", ["", "{", "[]", '{"rows": []}', '{"schema": 1, "cells": 3}', ROWS])
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


# ----------------------------------------------------------------------------------------------------------- comparing

# The same build measured three times, on two cores that also ran a compiler; every third sample.
RECORDED = pathlib.Path(__file__).parent / "recorded"
REPEATS = [json.loads((RECORDED / f"{i}.json").read_text()) for i in (1, 2, 3)]
PAIRS = list(itertools.permutations(range(3), 2))


def compared(upsweep, before, after):
    for name, part in (("before.json", before), ("after.json", after)):
        upsweep.write(name, json.dumps(part))
    found = upsweep.json("bench", "--compare", "before.json", "after.json")
    text = upsweep.text("bench", "--compare", "before.json", "after.json")
    assert all(len(line) <= 80 for line in text.splitlines()), text
    return [each for each in found["changes"] if each["verdict"] != "same"], text


def times(repeat, factor, wanted):
    rows = [
        dict(row, samples_s=[factor * sample for sample in row["samples_s"]]) if wanted(row) else row for row in repeat["rows"]
    ]
    return dict(repeat, rows=rows)


def test_older_names_of_problems_are_understood(upsweep):
    older = {"segmented-reduce": "segmented", "offsets": "ragged", "filtered-sum": "aggregate"}

    def named(rows):
        return [dict(row, problem=older.get(row["problem"], row["problem"])) for row in rows]

    before = dict(REPEATS[0], rows=named(REPEATS[0]["rows"]), groups=named(REPEATS[0]["groups"]))
    assert before != REPEATS[0]
    assert compared(upsweep, before, REPEATS[1]) == compared(upsweep, REPEATS[0], REPEATS[1])


@pytest.mark.parametrize("before, after", PAIRS)
def test_repeats_of_a_build_are_the_same(upsweep, before, after):
    changes, text = compared(upsweep, REPEATS[before], REPEATS[after])
    assert changes == [] and text.startswith("no rung is faster or slower beyond the noise\n")


@pytest.mark.parametrize("before, after", [(0, 1), (1, 2), (2, 0)])
def test_every_rung_that_is_slower_by_a_tenth_is_found(upsweep, before, after):
    rungs = {(row["problem"], row["rung"]) for row in REPEATS[0]["rows"]}
    assert len(rungs) == 12
    for problem, rung in sorted(rungs):
        slower = times(REPEATS[after], 1.1, lambda row: (row["problem"], row["rung"]) == (problem, rung))  # noqa: B023
        changes, text = compared(upsweep, REPEATS[before], slower)
        assert [(each["problem"], each["rung"], each["verdict"]) for each in changes] == [(problem, rung, "slower")], changes
        assert changes[0]["n"] is None and 1.05 < changes[0]["ratio"] < 1.15 and "% slower" in text


def test_a_rung_too_noisy_to_judge_is_said_to_be(upsweep):
    scattered = REPEATS[1]
    for i, n in enumerate(sorted({row["n"] for row in scattered["rows"]})):
        factor = (0.6, 1, 1.6)[i % 3]
        scattered = times(scattered, factor, lambda row: row["rung"] == "cpu.columns" and row["n"] == n)  # noqa: B023
    changes, text = compared(upsweep, REPEATS[0], scattered)
    assert [each for each in changes if each["n"] is None] == []
    assert "too noisy to detect a change of a tenth:\n  segmented-reduce cpu.columns " in text


def test_few_measurements_are_not_judged(upsweep):
    """One measurement does not show how much the times vary."""
    once = [dict(repeat, rows=[row for row in repeat["rows"] if row["n"] == 16384][:2]) for repeat in REPEATS[:2]]
    slower = times(once[1], 4, lambda row: row["rung"] == once[1]["rows"][0]["rung"])
    for name, part in (("before.json", once[0]), ("after.json", slower)):
        upsweep.write(name, json.dumps(part))
    found = upsweep.json("bench", "--compare", "before.json", "after.json")
    assert {each["verdict"] for each in found["changes"]} == {"unknown"}
    text = upsweep.text("bench", "--compare", "before.json", "after.json")
    assert text.startswith("no rung can be judged\n")
    assert "fewer than 3 measurements, too few to judge: " in text and "% slower" not in text


def test_what_has_become_wrong_is_reported(upsweep):
    def fail(row):
        return dict(row, status="failed", reason="wrong from index 3: 6 expected, 5 found", samples_s=[])

    rows = [fail(row) if row["rung"] == "cpu.lookahead" else row for row in REPEATS[1]["rows"]]
    lost = sum(row["rung"] == "cpu.lookahead" and row["status"] == "verified" for row in REPEATS[0]["rows"])
    failure = {"cell": "segmented-reduce/lists/7", "code": "out_of_memory", "message": "not enough memory"}
    upsweep.write("before.json", json.dumps(REPEATS[0]))
    upsweep.write("after.json", json.dumps(dict(REPEATS[1], rows=rows, failures=[failure])))
    done = upsweep.run("bench", "--compare", "before.json", "after.json")
    assert done.returncode == 1
    text = done.stdout.decode()
    assert all(len(line) <= 80 for line in text.splitlines()), text
    words = " ".join(text.split())
    assert f"scan cpu.lookahead fails now, at {lost} sizes: wrong from index 3: 6 expected, 5 found" in words
    assert "segmented-reduce/lists/7 fails now: not enough memory" in words
    done = upsweep.run("bench", "--compare", "before.json", "after.json", "--json")
    assert done.returncode == 1
    assert [each["what"] for each in json.loads(done.stdout)["broken"]] == ["scan cpu.lookahead", "segmented-reduce/lists/7"]


def test_a_rung_that_is_faster_is_found(upsweep):
    faster = times(REPEATS[1], 0.8, lambda row: row["rung"] == "cpu.lookahead")
    changes, text = compared(upsweep, REPEATS[0], faster)
    assert [(each["rung"], each["verdict"]) for each in changes] == [("cpu.lookahead", "faster")]
    assert "% faster" in text


def test_one_size_that_is_slower_is_found(upsweep):
    slower = times(REPEATS[1], 1.3, lambda row: row["rung"] == "cpu.simd" and row["n"] == 16384)
    changes, _ = compared(upsweep, REPEATS[0], slower)
    assert [(each["rung"], each["n"], each["verdict"]) for each in changes] == [("cpu.simd", 16384, "slower")]


def test_a_machine_that_is_slower_hides_what_is_no_more_than_that(upsweep):
    slower = times(REPEATS[1], 1.15, lambda row: True)
    groups = [
        {**group, **{key: [1.15 * s for s in group[key]] for key in ("copy_samples_s", "read_samples_s")}}
        for group in slower["groups"]
    ]
    changes, text = compared(upsweep, REPEATS[0], dict(slower, groups=groups))
    assert changes == [] and "copies: 1.15 times as long" in text.replace("1.14", "1.15")


def test_measurements_without_their_like_are_counted(upsweep):
    fewer = dict(REPEATS[1], rows=[row for row in REPEATS[1]["rows"] if row["problem"] == "scan"])
    _, text = compared(upsweep, REPEATS[0], fewer)
    lost = sum(row["problem"] == "segmented-reduce" for row in REPEATS[0]["rows"])
    assert f"measurements only before: {lost}, only after: 1" in text and "segmented-reduce" not in text
    none = dict(REPEATS[1], rows=[])
    upsweep.write("none.json", json.dumps(none))
    upsweep.fails("invalid_argument", "bench", "--compare", "before.json", "none.json")


def test_results_that_cannot_be_compared(upsweep):
    good = upsweep.write("good.json", json.dumps(REPEATS[0]))
    for name, content, code, says in (
        ("cut.json", json.dumps(REPEATS[0])[:-1000], "malformed", "truncated"),
        ("newer.json", json.dumps(dict(REPEATS[0], schema=2)), "malformed", "schema 2"),
        ("list.json", "[]", "malformed", "not a result"),
        ("ladder.json", '{"schema": 1, "rows": []}', "malformed", "not a result"),
        ("rows.json", json.dumps(dict(REPEATS[0], rows=[{"rung": 3}])), "malformed", "to compare are missing"),
        ("groups.json", json.dumps(dict(REPEATS[0], groups=[3])), "malformed", "to compare are missing"),
        ("zero.json", json.dumps(times(REPEATS[0], 0, lambda row: True)), "malformed", "to compare are missing"),
        ("other.json", json.dumps(dict(REPEATS[0], machine={"cpu": "Z80", "threads": 1})), "invalid_argument", "Z80, 1 threads"),
    ):
        upsweep.write(name, content)
        for pair in ((good, name), (name, good)):
            error = upsweep.fails(code, "bench", "--compare", *pair)
            assert says in error["message"], error
    for files in ((good, "nowhere.json"), ("nowhere.json", good), ("nowhere.json", "neither.json")):
        message = upsweep.fails("not_found", "bench", "--compare", *files)["message"]
        assert message == "nowhere.json: no such file; check the path"
    assert upsweep.fails("is_directory", "bench", "--compare", good, ".")["message"].startswith(".")
    assert "needs two files" in upsweep.fails("invalid_argument", "bench", "--compare", good)["message"]
    upsweep.fails("invalid_argument", "bench", "--compare", good, good, "-o", "r.json")
    upsweep.fails("invalid_argument", "bench", "--compare", good, good, "--quick")
