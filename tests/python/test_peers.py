# SPDX-License-Identifier: Apache-2.0
# tests/python/test_peers.py: `python -m upsweep_report.peers`: what it measures, what it refuses, and wrong answers.
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import upsweep

upsweep_report = pytest.importorskip("upsweep_report")

from upsweep_report import results
from upsweep_report.__main__ import main as make_page
from upsweep_report.peers import bench, calls, cases, clocks
from upsweep_report.peers.__main__ import main

LISTS = [name for name, problem in cases.PROBLEMS.items() if problem.studies[0].pattern]


def run(tmp_path, *arguments):
    out = tmp_path / "peers.json"
    code = main([*arguments, "-o", str(out), "--device", "cpu", "--quick"])
    return code, (json.loads(out.read_text()) if out.exists() else None)


def without(monkeypatch, *libraries):
    """Makes these libraries appear not to be installed."""
    find = bench.importlib.util.find_spec
    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: None if name in libraries else find(name))


def with_peer(monkeypatch, problem, make):
    """Adds another peer, of numpy."""
    extra = calls.Call(problem, "numpy", "numpy.other", "", ("cpu",), False, make, calls.plain)
    monkeypatch.setattr(bench, "CALLS", [*bench.CALLS, extra])


# ----------------------------------------------------------------------------------------------------- what is measured


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measures every problem on few elements."""
    folder = tmp_path_factory.mktemp("peers")
    code, found = run(folder, "--sizes", "1,700")
    assert code == 0
    return folder / "peers.json", found


@pytest.mark.long
def test_every_call_is_verified_or_says_why_not(measured):
    path, found = measured
    read = results.load(path)
    assert {row.problem for row in read.rows} == set(cases.PROBLEMS) and not read.failures
    for row in read.rows:
        if row.status == "skipped":
            assert row.reason and row.seconds is None
            continue
        assert (row.status, row.reason) == ("verified", None), (row.problem, row.rung)
        assert row.seconds > 0 and len(row.samples) >= 3 and row.limit > 0
        fills_no_bitmap = (row.problem, row.rung) == ("subset-sum", "upsweep")
        assert row.of_limit is None if fills_no_bitmap else row.of_limit > 0
    assert not [each for each in path.parent.iterdir() if each != path], "no other file may be left"
    for row in found["rows"]:
        assert row["kind"] == ("api" if row["rung"] == "upsweep" else "library") and row["idea"]
    numpy = {row.problem for row in read.rows if row.rung.startswith("numpy.")}
    assert set(cases.PROBLEMS) - numpy == {"combinations"}


@pytest.mark.long
def test_every_problem_has_upsweep_s_own_row_beside_the_others(measured):
    """In each place where a peer was timed, so that no chart contains only other libraries."""
    rows = [row for row in results.load(measured[0]).rows if row.seconds]
    peers = {(row.problem, row.study, row.type, row.input, row.n) for row in rows if row.kind == "library"}
    own = {(row.problem, row.study, row.type, row.input, row.n) for row in rows if row.kind == "api"}
    assert peers and peers <= own, peers - own
    has_awkward = importlib.util.find_spec("awkward") is not None
    assert {problem for problem, *_ in peers} == set(cases.PROBLEMS) - (set() if has_awkward else {"combinations"})


@pytest.mark.parametrize("problem", cases.PROBLEMS.values(), ids=lambda problem: problem.name)
def test_inputs_are_called_as_the_ladder_calls_them(problem):
    """Otherwise peers would be in separate charts."""
    kept = {row.input for each in results.recorded() for row in each.rows if row.problem == problem.name and row.kind != "api"}
    study = problem.studies[0]
    n = study.sizes[0] if problem.name == "subset-sum" else 1000
    assert {case.input for case in problem.cases(study.types[0], n, study.pattern)} <= kept


@pytest.mark.long
def test_every_place_has_a_copy_in_the_same_rounds(measured):
    _, found = measured
    assert found["groups"] and all(group["copy_gbps"] > 0 and len(group["copy_samples_s"]) >= 3 for group in found["groups"])
    places = {tuple(group[key] for key in ("problem", "study", "type", "n", "input")) for group in found["groups"]}
    assert {tuple(row[key] for key in ("problem", "study", "type", "n", "input")) for row in found["rows"]} == places
    (read,) = {group["problem"] for group in found["groups"] if group["read_gbps"]}
    assert read == "filtered-sum"


@pytest.mark.long
def test_the_machine_is_that_of_the_command(measured):
    machine = measured[1]["machine"]
    assert list(machine)[:6] == ["cpu", "threads", "simd", "l2_bytes", "l3_bytes", "memory_bytes"]
    assert machine["threads"] >= 1 and machine["simd"] in ("baseline", "avx2", "avx512")
    assert ("gpus" in machine) == bool(upsweep.devices())


@pytest.mark.long
def test_the_report_draws_them_with_other_results(measured, tmp_path):
    pytest.importorskip("plotly")
    pytest.importorskip("jinja2")
    path, found = measured
    ladder = json.loads(json.dumps(found))
    ladder["rows"] = [{**row, "rung": "cpu.serial", "kind": "step"} for row in found["rows"] if row["rung"] == "upsweep"]
    (tmp_path / "ladder.json").write_text(json.dumps(ladder))
    out = tmp_path / "report.html"
    assert make_page([str(tmp_path / "ladder.json"), str(path), "-o", str(out)]) == 0
    text = out.read_text()
    for rung in ("cpu.serial", "numpy.cumsum", "numpy.add.reduceat", ">upsweep<"):
        assert rung in text


# -------------------------------------------------------------------------------------------------------- what is wrong


def test_a_wrong_answer_is_a_failure_and_not_timed(tmp_path, monkeypatch, capsys):
    def make(a, xp):
        answer = np.cumsum(a.x, dtype=a.x.dtype)
        answer[37] += 1
        return lambda: answer

    with_peer(monkeypatch, "scan", make)
    code, found = run(tmp_path, "scan", "--sizes", "100")
    assert code == 1 and "1 wrong" in capsys.readouterr().out
    rows = {row["rung"]: row for row in found["rows"]}
    wrong = rows["numpy.other"]
    assert (wrong["status"], wrong["reason"]) == ("failed", "differs from upsweep's at index 37")
    assert wrong["median_s"] is None and wrong["samples_s"] == [] and wrong["gbps"] is None
    assert rows["numpy.cumsum"]["status"] == "verified"
    assert next(row for row in results.load(tmp_path / "peers.json").rows if row.rung == "numpy.other").seconds is None


def test_the_first_rung_is_what_upsweep_is_compared_to(tmp_path, monkeypatch):
    monkeypatch.setitem(bench.OURS, "reduce", lambda a, xp: lambda: upsweep.reduce(a.x) + (not upsweep._options.current().rung))
    code, found = run(tmp_path, "reduce", "--sizes", "100")
    rows = {row["rung"]: row["status"] for row in found["rows"]}
    assert code == 1 and rows["upsweep"] == "failed" and rows["numpy.sum"] == "verified"


@pytest.mark.parametrize(
    "error, status",
    [
        (RuntimeError("it is broken"), "failed"),
        (MemoryError("no memory"), "skipped"),
        (NotImplementedError("not this"), "skipped"),
    ],
)
def test_what_a_library_raises_is_said_in_its_row(tmp_path, monkeypatch, error, status):
    def make(a, xp):
        raise error

    with_peer(monkeypatch, "scan", make)
    code, found = run(tmp_path, "scan", "--sizes", "100")
    row = next(row for row in found["rows"] if row["rung"] == "numpy.other")
    assert row["status"] == status and str(error) in row["reason"] and code == (status == "failed")


def test_libraries_that_are_not_there(tmp_path, monkeypatch, capsys):
    without(monkeypatch, "polars", "pyarrow", "pandas", "torch")
    code, found = run(tmp_path, "scan", "--sizes", "100")
    rows = {row["rung"]: (row["status"], row["reason"]) for row in found["rows"]}
    assert code == 0 and rows["numpy.cumsum"] == ("verified", None)
    for name in ("polars.cum_sum", "pyarrow.cumulative_sum", "pandas.cumsum", "torch.cumsum"):
        assert rows[name] == ("skipped", "not installed")
    assert "not installed: torch, polars, pyarrow, pandas" in capsys.readouterr().out


def test_what_would_take_too_long_is_not_begun(tmp_path, monkeypatch):
    begun = []

    def make(a, xp):
        def call():
            begun.append(len(a.x))
            time.sleep(len(a.x) * 1e-6)
            return np.cumsum(a.x, dtype=a.x.dtype)

        return call

    monkeypatch.setattr(bench, "_PROBE", 1000)
    with_peer(monkeypatch, "scan", make)
    code, found = run(tmp_path, "scan", "--sizes", "100000", "--max-seconds", "0.05")
    row = next(row for row in found["rows"] if row["rung"] == "numpy.other")
    assert code == 0 and row["status"] == "skipped" and set(begun) == {1000}
    assert float(row["reason"].removeprefix("estimated ").split()[0]) >= 0.1  # more if other processes use the cores


def test_a_case_that_does_not_fit_is_a_failure_of_its_cell(tmp_path, capsys):
    code, found = run(tmp_path, "scan", "--sizes", "1e11,100")
    assert code == 1 and [failure["code"] for failure in found["failures"]] == ["out_of_memory"]
    assert found["failures"][0]["cell"] == "scan/sizes/int32/100000000000" and "available" in capsys.readouterr().out
    assert {row["n"] for row in found["rows"]} == {100}


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["scann"], "unknown problem 'scann'"),
        (["--sizes", "0"], "lengths such as"),
        (["--sizes", "2^x"], "lengths such as"),
        (["--sizes", "1.5"], "lengths such as"),
        (["--max-seconds", "nan"], "0 or more"),
    ],
)
def test_what_cannot_be_measured_is_refused(tmp_path, capsys, arguments, said):
    try:
        code, _ = run(tmp_path, *arguments)
    except SystemExit as stopped:  # from argparse
        code = stopped.code
    assert code == 2 and said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_gpu_that_is_not_there_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(upsweep, "devices", list)
    assert main(["-o", str(tmp_path / "p.json"), "--device", "cuda"]) == 2
    assert "--device cuda" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_known_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench.Bench, "measure", lambda self, cell: pytest.fail("measured"))
    assert main(["-o", str(tmp_path / "nowhere" / "p.json"), "--device", "cpu"]) == 3
    assert "nowhere" in capsys.readouterr().err


def test_numpy_alone_is_enough():
    """Other libraries are not imported before they are measured."""
    code = "import sys, upsweep_report.peers.bench; print([n for n in ('polars', 'torch', 'duckdb', 'awkward', 'pandas') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# ------------------------------------------------------------------------------------------------------------- on a GPU


class Event:
    """Replaces CuPy's event, with the host's clock."""

    def record(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass


@pytest.fixture
def stand_in(monkeypatch):
    """NumPy replaces CuPy, and upsweep reports a GPU."""
    cupy = ModuleType("cupy")
    cupy.__dict__.update({name: getattr(np, name) for name in np.__all__ if not name.startswith("__")})
    cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    cupy.cuda = SimpleNamespace(
        Event=Event, get_elapsed_time=lambda begin, end: (end.at - begin.at) * 1e3, is_available=lambda: True
    )
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    gpu = {
        "name": "A GPU",
        "compute_capability": (9, 0),
        "multiprocessors": 132,
        "memory_bytes": 1,
        "l2_bytes": 2,
        "error": "",
    }
    for module in (upsweep, clocks):
        monkeypatch.setattr(module, "devices", lambda: [gpu])
    without(monkeypatch, "torch")
    return cupy


def test_calls_on_a_gpu(tmp_path, stand_in):
    out = tmp_path / "peers.json"
    assert main(["-o", str(out), "--device", "cuda", "--quick", "--sizes", "600"]) == 0
    found = json.loads(out.read_text())
    assert found["machine"]["gpus"][0]["compute_capability"] == "9.0"
    rows = results.load(out).rows
    assert {row.device for row in rows} == {"A GPU"} and {row.threads for row in rows} == {None}
    assert {row.rung.partition(".")[0] for row in rows} == {"upsweep", "cupy", "torch"}
    assert {(row.status, row.reason) for row in rows} == {("verified", None), ("skipped", "not installed")}
    of_cupy = {row.problem for row in rows if row.rung.startswith("cupy.") and row.seconds}
    assert of_cupy == set(cases.PROBLEMS) - {"by-key", "combinations", "group-by", "subset-sum"}


def test_on_a_cpu_and_a_gpu(tmp_path, stand_in):
    out = tmp_path / "peers.json"
    assert main(["scan", "-o", str(out), "--quick", "--sizes", "600"]) == 0
    places = {(row.device, row.rung) for row in results.load(out).rows}
    assert {("cpu", "numpy.cumsum"), ("A GPU", "cupy.cumsum"), ("cpu", "upsweep"), ("A GPU", "upsweep")} <= places


# ----------------------------------------------------------------------------------------------------- data and samples


@pytest.mark.parametrize("pattern", ["poisson", *cases.PATTERNS])
@pytest.mark.parametrize("elements", [1, 2, 999, 5000])
def test_lists_hold_all_elements(pattern, elements):
    offsets = cases.lists_of(pattern, elements)
    assert offsets[0] == 0 and offsets[-1] == elements and (np.diff(offsets) >= 0).all() and offsets[-2] < elements
    if pattern.startswith("fixed"):
        assert set(np.diff(offsets)[:-1].tolist()) <= {int(pattern[5:])}


@pytest.mark.parametrize("problem", LISTS)
def test_bytes_are_those_of_the_ladder(problem):
    """Uses the same lists as the ladder: three elements each."""
    (case, *_) = cases.PROBLEMS[problem].cases(
        "int64" if problem in ("broadcast", "combinations") else "float64", 3000, "fixed3"
    )
    types = [] if problem in ("broadcast", "combinations") else ["float64"]
    rows = upsweep.ladder(problem, sizes=[3000], types=types, settings={"lists": "fixed3"}, max_seconds=0.1)
    if problem == "select":  # the kept half differs
        assert case.bytes == pytest.approx(rows[0]["bytes"], rel=0.02)
    else:
        assert case.bytes == rows[0]["bytes"]


def test_calls_take_turns():
    order = []
    clock = SimpleNamespace(seconds_of=lambda call, repeats=1: call() or 1.0)
    named = {name: (lambda name=name: order.append(name)) for name in "ab"}
    samples = clocks.time_in_turn(clock, named, budget=2.5)
    assert {name: len(each) for name, each in samples.items()} == {"a": 5, "b": 5}
    assert order[4:] == list("ab") * 5


def test_python_files_are_in_the_package():
    assert (Path(upsweep_report.__file__).parent / "peers" / "cases.py").exists()
    assert not list(Path(upsweep.__file__).parent.rglob("cases.py"))
