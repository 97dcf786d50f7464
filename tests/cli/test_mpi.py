# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_mpi.py: scan, reduce and query --mpi: the distribution of files to ranks, and how a run ends.
import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

MPIEXEC = os.environ.get("UPSWEEP_MPIEXEC", "")
RANKS = [1, 2, 3, 8]
# Settings that Open MPI requires if the user is root and has fewer cores than ranks; other MPI libraries ignore them.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
with_mpi = pytest.mark.skipif(not MPIEXEC, reason="this build has no MPI")


def start(upsweep, ranks, *args):
    return subprocess.Popen(
        [MPIEXEC, "-n", str(ranks), os.environ["UPSWEEP_COMMAND"], *map(str, args)],
        cwd=upsweep.folder,
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(upsweep, ranks, *args):
    process = start(upsweep, ranks, *args)
    out, err = process.communicate(timeout=3600)
    return process.returncode, out, err


def ok(upsweep, ranks, *args):
    status, out, err = run(upsweep, ranks, *args)
    assert (status, err) == (0, ""), (args, out, err)
    return out


def fails(upsweep, ranks, status, message, *args):
    """Ends with this status, reports it once, and does not change the folder."""
    before = upsweep.files()
    found, out, err = run(upsweep, ranks, *args)
    said = [line for line in err.splitlines() if line.startswith("upsweep: ")]
    assert (found, out) == (status, ""), (found, out, err)
    assert said == [f"upsweep: {message}"], err
    assert upsweep.files() == before


@pytest.fixture
def parts(upsweep):
    """A column in five files, one of them without elements."""
    random = np.random.default_rng(7)
    arrays = [random.integers(-1000, 1000, n, dtype=np.int32) for n in (10, 0, 300_000, 7, 50_000)]
    return [upsweep.save(f"x{i}.npy", array) for i, array in enumerate(arrays)], np.concatenate(arrays)


def outputs(upsweep, ranks, stem="out"):
    return np.concatenate([upsweep.load(f"{stem}.{rank}.npy") for rank in range(ranks)])


@with_mpi
@pytest.mark.parametrize("ranks", RANKS)
def test_a_scan_goes_on_from_file_to_file(upsweep, parts, ranks):
    files, all_of_them = parts
    result = json.loads(ok(upsweep, ranks, "scan", "--mpi", *files, "-o", "out.npy", "--json"))
    running = np.cumsum(all_of_them, dtype=np.int64)
    assert np.array_equal(outputs(upsweep, ranks), running)
    assert (result["count"], result["last"], result["output"]) == (len(running), running[-1], "out.*.npy")
    ok(upsweep, ranks, "scan", "--mpi", *files, "--op", "max", "--exclusive", "--init", "-5", "-o", "max.npy", "--quiet")
    before = np.concatenate([[-5], np.maximum.accumulate(np.maximum(all_of_them, -5))[:-1]])
    assert np.array_equal(outputs(upsweep, ranks, "max"), before)


@with_mpi
@pytest.mark.parametrize("ranks", RANKS)
def test_a_reduction_is_of_all_files(upsweep, parts, ranks):
    files, all_of_them = parts
    assert ok(upsweep, ranks, "reduce", "--mpi", *files) == f"{all_of_them.sum()}\n"
    assert ok(upsweep, ranks, "reduce", "--mpi", *files, "--op", "min") == f"{all_of_them.min()}\n"
    result = json.loads(ok(upsweep, ranks, "reduce", "--mpi", *files, "--json"))
    assert (result["value"], result["count"]) == (all_of_them.sum(), len(all_of_them))


@with_mpi
@pytest.mark.parametrize("ranks", RANKS)
def test_decimals_are_exact_over_ranks(upsweep, ranks):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    values = [Decimal("99999999999999.99"), Decimal("0.01"), Decimal("-5.50")] * 40
    files = [
        upsweep.table(f"d{i}.parquet", {"d": pa.array(values[30 * i : 30 * i + 30], pa.decimal128(16, 2))}) for i in range(4)
    ]
    assert ok(upsweep, ranks, "reduce", "--mpi", *files) == f"{sum(values)}\n"
    ok(upsweep, ranks, "scan", "--mpi", *files, "--dtype", "float64", "-o", "out.npy", "--quiet")
    exact, running = Decimal(0), []
    for value in values:
        exact += value
        running.append(float(exact))
    assert np.array_equal(outputs(upsweep, ranks), running)


@with_mpi
@pytest.mark.parametrize("ranks", RANKS)
def test_a_query_is_of_all_files(upsweep, ranks):
    pa = pytest.importorskip("pyarrow")
    random = np.random.default_rng(8)
    tables = []
    for i, n in enumerate((10, 0, 70_000, 7, 1)):
        x = random.integers(0, 1000, n)
        tables.append(pa.table({"k": pa.array([f"g{v % 7}" for v in x], pa.string()), "x": x}))
        upsweep.table(f"t{i}.parquet", tables[-1])
    upsweep.table("all.parquet", pa.concat_tables(tables))
    sql = "SELECT k, SUM(x), COUNT(*), MAX(x) FROM {} WHERE x > 10 GROUP BY k ORDER BY k"
    files = [f"t{i}.parquet" for i in range(5)]
    alone = upsweep.json("query", sql.format("'all.parquet'"))
    found = json.loads(ok(upsweep, ranks, "query", sql.format("t"), "--mpi", *files, "--json"))
    assert (found["columns"], found["rows"]) == (alone["columns"], alone["rows"])


@with_mpi
def test_a_query_of_rows_is_refused(upsweep, parts):
    files, _ = parts
    message = (
        "rank 0: a query of rows has no carry that could be merged: it has neither aggregates nor GROUP BY; run it on the whole table in "
        "one process, or on each part, and concatenate the rows"
    )
    fails(upsweep, 2, 2, message, "query", "SELECT x0 FROM t", "--mpi", *files)


@with_mpi
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_columns_of_files_are_joined_by_name(upsweep, ranks):
    pa = pytest.importorskip("pyarrow")
    upsweep.table("a.parquet", pa.table({"k": ["x", "y"], "v": pa.array([1, 2], pa.int32())}))
    upsweep.table("b.parquet", pa.table({"V": [2**40], "K": ["x"]}))
    upsweep.write("c.csv", "v,w\n2.25,\n1,7\n")
    upsweep.table("d.parquet", pa.table({"k": ["y"], "v": pa.array([2**64 - 1], pa.uint64())}))
    sql = "SELECT k, SUM(v), COUNT(*), SUM(w) FROM {} GROUP BY k ORDER BY k"
    files = [f"{name}.parquet" for name in "abd"]
    found = json.loads(ok(upsweep, ranks, "query", sql.format("t"), "--mpi", "a.parquet", "c.csv", *files[1:], "--json"))
    assert found["rows"] == [
        ["x", "1099511627777.00", 2, None],
        ["y", "18446744073709551617.00", 2, None],
        [None, "3.25", 2, 7],
    ]
    plain = upsweep.json("query", "SELECT k, SUM(v) FROM '*.parquet' GROUP BY k ORDER BY k")
    found = json.loads(
        ok(upsweep, ranks, "query", "SELECT k, SUM(v) FROM t GROUP BY k ORDER BY k", "--mpi", "*.parquet", "--json")
    )
    assert (found["columns"], found["types"], found["rows"]) == (plain["columns"], plain["types"], plain["rows"])
    upsweep.write("n1.csv", "v,k\n,x\n")  # the first columns have no values
    upsweep.write("n2.csv", "v,k\nNA,NA\n")
    upsweep.write("n3.csv", "v,k\n5,x\n")
    sql = "SELECT SUM(v), COUNT(v), COUNT(k) FROM t"
    found = json.loads(ok(upsweep, ranks, "query", sql, "--mpi", "n*.csv", "--json"))
    assert found["rows"] == upsweep.json("query", sql.replace(" t", " 'n*.csv'"))["rows"] == [[5, 1, 3]]
    upsweep.write("t1.csv", "v,k\n02134,1\n")  # text and integers: text
    upsweep.write("t2.csv", "k,v\n1,99999\n")
    found = json.loads(ok(upsweep, ranks, "query", "SELECT MIN(v), MAX(v) FROM t", "--mpi", "t?.csv", "--json"))
    assert found["rows"] == [["02134", "99999"]]
    assert found["remarks"] == ["column 'v' is read as text: it contains text in t1.csv and int64 in t2.csv"]
    upsweep.write("m1.csv", "v,k\n$5,1\n")  # two currencies: text
    upsweep.write("m2.csv", "k,v\n1,€6\n")
    found = json.loads(ok(upsweep, ranks, "query", "SELECT MIN(v), MAX(v) FROM t", "--mpi", "m?.csv", "--json"))
    assert found["rows"] == [["$5", "€6"]]
    upsweep.table("e.parquet", pa.table({"k": [1]}))
    message = "rank 0: t: column 'k' has an unsupported type"
    status, _, err = run(upsweep, ranks, "query", "SELECT COUNT(k) FROM t", "--mpi", *files, "e.parquet")
    assert status == 1 and "text in a.parquet and int64 in e.parquet" in err, (err, message)


@with_mpi
def test_what_fails_on_one_rank_ends_all_with_one_message(upsweep, parts):
    files, all_of_them = parts
    missing = "nope.npy: no such file; check the path"
    fails(upsweep, 3, 3, f"rank 2: {missing}", "scan", "--mpi", *files[:4], "nope.npy", "-o", "out.npy")
    upsweep.save("float.npy", [1.5])
    fails(
        upsweep, 2, 1, "rank 1: float.npy is float64, but x0.npy is int32: all files must be of one type",
        "reduce", "--mpi", files[0], "float.npy",
    )  # fmt: skip
    first = int(np.argmax(np.abs(np.cumsum(all_of_them, dtype=np.int64)) > 32767))
    rank, file = (1, "x2.npy") if first >= 10 else (0, "x0.npy")
    message = f"rank {rank}: {file}: output {first} does not fit int16: choose a wider --dtype or --overflow wrap"
    fails(upsweep, 3, 1, message, "scan", "--mpi", *files, "--dtype", "int16", "-o", "out.npy")
    fails(
        upsweep, 2, 1, "rank 0: x1.npy: no elements, but max needs at least one", "reduce", "--mpi", "x1.npy", "x1.npy", "--op", "max"
    )
    fails(
        upsweep,
        2,
        2,
        "rank 0: --mpi: the ranks write files, so -o needs the name of a file",
        "scan",
        "--mpi",
        *files,
        "-o",
        "-",
    )


@with_mpi
def test_an_output_that_one_rank_cannot_name_is_no_ranks(upsweep, parts):
    files, _ = parts
    upsweep.write("out.0.npy", "what stood there before")
    (upsweep.folder / "out.1.npy").mkdir()
    status, _, err = run(upsweep, 2, "scan", "--mpi", *files, "-o", "out.npy")
    assert status == 3 and "rank 1: out.1.npy" in err
    assert (upsweep.folder / "out.0.npy").read_text() == "what stood there before"


@with_mpi
@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_write_their_parts_of_one_file(upsweep, parts, ranks):
    files, all_of_them = parts
    result = json.loads(ok(upsweep, ranks, "scan", "--mpi", *files, "--one-file", "-o", "out.npy", "--json"))
    running = np.cumsum(all_of_them, dtype=np.int64)
    assert np.array_equal(upsweep.load("out.npy"), running)
    assert (upsweep.folder / "out.npy").stat().st_size == 128 + running.nbytes
    assert (result["count"], result["output"]) == (len(running), "out.npy")
    # The order of the files, and with it the borders between the parts, differ.
    backward = np.concatenate([upsweep.load(file) for file in files[::-1]])
    ok(upsweep, ranks, "scan", "--mpi", *files[::-1], "--one-file", "--dtype", "float32", "-o", "back.npy", "--quiet")
    assert np.array_equal(upsweep.load("back.npy"), np.cumsum(backward, dtype=np.int64).astype(np.float32))
    ok(upsweep, ranks, "scan", "--mpi", files[1], "--one-file", "-o", "none.npy", "--quiet")
    assert len(upsweep.load("none.npy")) == 0
    assert sorted(p.name for p in upsweep.folder.iterdir()) == sorted([*files, "out.npy", "back.npy", "none.npy"])


@with_mpi
def test_one_file_of_which_a_part_fails_is_none(upsweep, parts):
    files, _ = parts
    files = files[:4]
    upsweep.write("out.npy", "what stood there before")
    message = "rank 2: nope.npy: no such file; check the path"
    fails(upsweep, 3, 3, message, "scan", "--mpi", *files, "nope.npy", "--one-file", "-o", "out.npy")
    # The error occurs while the other ranks are already writing.
    upsweep.save("large.npy", np.full(100_000, 2**30, dtype=np.int32))
    running = np.cumsum(np.concatenate([upsweep.load(file) for file in [*files, "large.npy"]]), dtype=np.int64)
    bad = int(np.argmax(running > 2**31 - 1))
    message = f"rank 2: large.npy: output {bad} does not fit int32: choose a wider --dtype or --overflow wrap"
    fails(upsweep, 3, 1, message, "scan", "--mpi", *files, "large.npy", "--dtype", "int32", "--one-file", "-o", "out.npy")


@with_mpi
def test_where_one_file_cannot_be(upsweep, parts):
    files, _ = parts
    message = "rank 0: --one-file: out.parquet must be written front to back; several ranks can only write .npy"
    fails(upsweep, 2, 2, message, "scan", "--mpi", *files, "--one-file", "-o", "out.parquet")
    message = "rank 0: /dev/null: is not a regular file, so several processes cannot write it"
    fails(upsweep, 2, 3, message, "scan", "--mpi", *files, "--one-file", "-o", "/dev/null")
    message = "rank 0: none/out.npy: no such folder to write it in; create the folder first"
    fails(upsweep, 2, 3, message, "scan", "--mpi", *files, "--one-file", "-o", "none/out.npy")


@with_mpi
def test_ranks_with_other_command_lines(upsweep, parts):
    command = os.environ["UPSWEEP_COMMAND"]
    one, other = ["-n", "1", command, "reduce", "--mpi", "x0.npy"], ["-n", "1", command, "reduce", "--mpi", "x2.npy"]
    done = subprocess.run(
        [MPIEXEC, *one, ":", *other],
        check=False,
        cwd=upsweep.folder,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    message = "upsweep: the ranks do not make the same call: rank 0 and rank 1 upsweep --mpi with different command lines"
    assert done.returncode == 2 and message in done.stderr.splitlines(), done


def process_of(rank, folder):
    """Returns the process id of this rank of the run in this folder, as soon as it exists."""
    deadline = time.monotonic() + 3600
    while time.monotonic() < deadline:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
                is_command = os.readlink(process / "exe") == os.path.realpath(os.environ["UPSWEEP_COMMAND"])
                if is_command and os.readlink(process / "cwd") == str(folder):
                    names = {b"OMPI_COMM_WORLD_RANK=%d" % rank, b"PMI_RANK=%d" % rank}
                    if names & set(environment):
                        return int(process.name)
            except OSError:
                continue
        time.sleep(0.05)
    raise AssertionError(f"rank {rank} did not come")


def writer_to(pipe):
    """Opens a named pipe as soon as it has a reader. A rank opens it after MPI was initialized; before that, mpiexec
    may wait for a rank that died."""
    for _ in range(20 * 60 * 10):
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        time.sleep(0.05)
    raise AssertionError(f"nobody reads {pipe}")


@with_mpi
def test_a_rank_that_dies_ends_the_run(upsweep, parts):
    files, _ = parts
    os.mkfifo(upsweep.folder / "never.npy")  # rank 1 waits for a writer
    process = start(upsweep, 2, "scan", "--mpi", files[0], "never.npy", "-o", "out.npy")
    writer = writer_to(upsweep.folder / "never.npy")
    os.kill(process_of(1, upsweep.folder), signal.SIGKILL)
    out, err = process.communicate(timeout=3600)
    os.close(writer)
    assert process.returncode != 0 and out == ""
    assert "rank 1" in err, err
    assert not list(upsweep.folder.glob("out*"))


@with_mpi
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_mpiexec_ends_all_ranks(upsweep, parts, sign):
    files, _ = parts
    os.mkfifo(upsweep.folder / "never.npy")  # rank 1 waits for a writer, and rank 0 for rank 1
    process = start(upsweep, 2, "scan", "--mpi", files[0], "never.npy", "-o", "out.npy")
    writer = writer_to(upsweep.folder / "never.npy")
    ranks = [process_of(rank, upsweep.folder) for rank in (0, 1)]
    process.send_signal(sign)
    assert process.wait(3600) != 0
    wait_for_end(ranks)
    os.close(writer)
    assert not list(upsweep.folder.glob("out*"))


def descendants_of(pid):
    """The process, its children, their children, and so on."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in descendants_of(int(child)))]


def wait_for_end(pids):
    def is_running(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    deadline = time.monotonic() + 600
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline, [pid for pid in pids if is_running(pid)]
        time.sleep(0.05)


@with_mpi
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_emulated_hosts(upsweep, sign):
    """tests/mpi_hosts.sh leaves no process behind."""
    upsweep.write("wait.sh", "touch rank$OMPI_COMM_WORLD_RANK; exec sleep 1000")
    script = Path(__file__).resolve().parents[1] / "mpi_hosts.sh"
    process = subprocess.Popen(
        ["bash", script, MPIEXEC, "2", "bash", "wait.sh"],
        cwd=upsweep.folder,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 600
    while not {"rank0", "rank1"} <= set(upsweep.files()) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if process.poll() == 77:
        pytest.skip(process.communicate()[0])
    pids = descendants_of(process.pid)
    assert len(pids) > 6
    process.send_signal(sign)
    assert process.wait(600) != 0
    wait_for_end(pids[1:])


def test_a_build_without_mpi_says_so(upsweep, parts):
    if MPIEXEC:
        pytest.skip("this build has MPI")
    files, _ = parts
    upsweep.fails("not_built", "scan", "--mpi", *files)
    upsweep.fails("not_built", "reduce", "--mpi", *files)
    upsweep.fails("not_built", "query", "SELECT SUM(x) FROM t", "--mpi", *files)
