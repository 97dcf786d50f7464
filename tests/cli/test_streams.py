# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_streams.py: long columns in bounded memory, the same bits by any route, and outputs that cannot be
# written.
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time

import conftest
import numpy as np
import pytest

CHUNK = 1 << 21
RUNGS = ["cpu.serial", "cpu.threads", "cpu.simd", "cpu.simd_threads", "cpu.chained", "cpu.lookahead"]
MB = 1 << 20
LIMIT = 512 * MB  # of address space; the files are longer
BIG = 800 * MB


def has_open(process, folder):
    for file in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if folder in os.readlink(file):
                return True
        except FileNotFoundError:  # it was closed just now
            pass
    return False


def limited(kind, limit, environment):
    """Options that limit the memory of the command to LIMIT and run it on two cores: the number of cores must not
    matter."""

    def limit_child():
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
        resource.setrlimit(kind, (limit, limit))

    # MALLOC_ARENA_MAX: the limit also counts the memory that the C library reserves for each thread.
    return {"preexec_fn": limit_child, "env": {**os.environ, "MALLOC_ARENA_MAX": "2", **environment}}


def address_space(limit=LIMIT):
    """Options that limit the command's memory, including mapped files."""
    return limited(resource.RLIMIT_AS, limit, {})


def heap(limit):
    """Options that limit the command's memory without mapped files: the system may drop their pages at any time."""
    # This limit counts writable memory before it is touched. Arrow's allocator, mimalloc, reserves 1 GiB of it at once.
    # If that is refused, mimalloc 3 (Arrow 25) reserves 128 MiB. With this setting, reserved memory is not writable
    # until it is needed.
    return limited(resource.RLIMIT_DATA, limit, {"MIMALLOC_ARENA_EAGER_COMMIT": "0"})


# ----------------------------------------------------------------------------------------------------- bounded memory


def test_the_limit_bites(upsweep, big):
    path = big("big.npy", "int64", BIG // 8)
    script = "import mmap, sys; f = open(sys.argv[1], 'rb'); mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)"
    python = [sys.executable, "-c", script, path]
    assert subprocess.run(python, check=False).returncode == 0
    done = subprocess.run(python, check=False, capture_output=True, **address_space())
    assert done.returncode == 1 and b"Cannot allocate memory" in done.stderr


def test_a_long_npy_file(upsweep, big):
    n = BIG // 8
    path = big("big.npy", "int64", n)
    with path.open("r+b") as file:  # not only zeros: one 1 at each end of the file
        for position in (128, 128 + 8 * (n - 1)):
            file.seek(position)
            file.write((1).to_bytes(8, "little"))
    threads = ["--threads", "2"]
    result = upsweep.json("scan", "big.npy", "-o", "/dev/null", *threads, **address_space())
    assert (result["count"], result["last"]) == (n, 2)
    assert upsweep.text("reduce", "big.npy", *threads, **address_space()) == "2\n"
    result = upsweep.json("offsets", "big.npy", "big.npy", "-o", "/dev/null", *threads, **address_space())
    assert (result["count"], result["last"]) == (n + 1, 0)
    options = ["--stops-offset", "1", "--length", n - 1, *threads]
    upsweep.fails("stop_before_start", "offsets", "big.npy", "big.npy", *options, index=0, **address_space())
    done = upsweep.shell('ulimit -v 512000; export MALLOC_ARENA_MAX=2; cat big.npy | "$U" reduce - --threads 2')
    assert (done.returncode, done.stdout) == (0, b"2\n"), done


def test_long_output_to_a_file(upsweep, big):
    n = 50_000_000  # 50 MB in, 400 MB out
    big("big.npy", "int8", n)
    big.keep_track("out.npy")
    limit = 380 * MB
    result = upsweep.json("scan", "big.npy", "--init", "3", "-o", "out.npy", "--threads", "2", **address_space(limit))
    assert (result["count"], result["last"]) == (n, 3)
    out = np.load(upsweep.folder / "out.npy", mmap_mode="r")
    assert out.shape == (n,) and out[0] == out[-1] == 3
    assert set(upsweep.files()) == {"big.npy", "out.npy"}


def test_a_long_parquet_file(upsweep, arrow):
    import pyarrow.parquet

    rows, groups = 1_000_000, 80  # 640 MB as int64
    group = arrow.table({"x": arrow.array(np.ones(rows, dtype="int64"))})
    with pyarrow.parquet.ParquetWriter(upsweep.folder / "t.parquet", group.schema) as writer:
        for _ in range(groups):
            writer.write_table(group)
    threads = ["--threads", "2"]
    result = upsweep.json("scan", "t.parquet:x", "-o", "/dev/null", *threads, **address_space())
    assert (result["count"], result["last"]) == (rows * groups, rows * groups)
    assert upsweep.text("reduce", "t.parquet:x", *threads, **address_space()) == f"{rows * groups}\n"
    result = upsweep.json("offsets", "t.parquet:x", "t.parquet:x", "-o", "/dev/null", *threads, **address_space())
    assert (result["count"], result["last"]) == (rows * groups + 1, 0)


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows"])
def test_a_long_ipc_file(upsweep, arrow, big, name):
    rows, batches = 1_000_000, 30  # 240 MB
    batch = arrow.record_batch({"x": np.ones(rows, dtype="int64")})
    new = arrow.ipc.new_stream if name.endswith("arrows") else arrow.ipc.new_file
    big.keep_track(name)
    with new(str(upsweep.folder / name), batch.schema) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    result = upsweep.json("scan", f"{name}:x", "-o", "/dev/null", "--threads", "2", **heap(160 * MB))
    assert result["last"] == rows * batches
    assert upsweep.text("reduce", f"{name}:x", "--threads", "2", **heap(160 * MB)) == f"{rows * batches}\n"


def test_a_long_csv_file(upsweep, arrow, big):
    rows = 24_000_000  # 192 MB as int64
    big.keep_track("t.csv")
    with (upsweep.folder / "t.csv").open("wb") as file:
        file.write(b"x\n")
        for _ in range(40):
            file.write(b"1\n" * (rows // 40))
    result = upsweep.json("scan", "t.csv:x", "-o", "/dev/null", "--threads", "2", **heap(160 * MB))
    assert result["last"] == rows


def test_many_groups_of_a_long_csv_file(upsweep, arrow, big):
    """Every part of the file contains all of the groups: they must be stored once, not once for each part."""
    groups, times = 100_000, 240
    big.keep_track("t.csv")
    with (upsweep.folder / "t.csv").open("wb") as file:
        file.write(b"g,v\n")
        for _ in range(times):
            file.write(b"".join(b"%d,1\n" % g for g in range(groups)))
    sql = "SELECT g, sum(v) FROM 't.csv' GROUP BY g ORDER BY 1 LIMIT 2"
    result = upsweep.json("query", sql, "--threads", "2", **heap(250 * MB))
    assert result["rows"] == [[0, times], [1, times]]


def test_many_groups_in_row_groups_after_a_long_one(upsweep, arrow, big):
    """Later parts wait for the first one's total. Waiting threads work on it before they allocate much memory."""
    import pyarrow.parquet

    groups, times, others = 50_000, 120, 60
    big.keep_track("t.parquet")
    table = arrow.table({"g": np.arange(groups), "v": np.ones(groups, "int64")})
    long = arrow.concat_tables([table] * times).combine_chunks()
    with pyarrow.parquet.ParquetWriter(upsweep.folder / "t.parquet", table.schema, use_dictionary=False) as file:
        file.write_table(long, row_group_size=len(long))
        for _ in range(others):
            file.write_table(table, row_group_size=groups)
    sql = "SELECT g, sum(v) FROM 't.parquet' GROUP BY g ORDER BY 1 LIMIT 2"
    result = upsweep.json("query", sql, "--threads", "4", **heap(220 * MB))
    assert result["rows"] == [[0, times + others], [1, times + others]]


# -------------------------------------------------------------------------------------------------------- the same bits


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_bits(upsweep, dtype, rung):
    n = 2 * CHUNK + 123_457
    values = np.random.default_rng(9).standard_normal(n).astype(dtype)
    upsweep.save("in.npy", values)
    outputs = set()
    for threads in ("1", "2", "3"):
        upsweep.ok("scan", "in.npy", "--rung", rung, "--threads", threads, "-o", "out.npy", "--quiet")
        outputs.add((upsweep.folder / "out.npy").read_bytes())
    # Elements that are not aligned in the file, and elements from a pipe.
    whole = (upsweep.folder / "in.npy").read_bytes()
    header = b"{'descr': '%s', 'fortran_order': False, 'shape': (%d,)} \n" % (values.dtype.str.encode(), n)
    header += b" " * (1 - len(header) % 2)
    upsweep.write("odd.npy", whole[:8] + len(header).to_bytes(2, "little") + header + values.tobytes())
    assert (10 + len(header)) % 2 == 1
    outputs.add(upsweep.ok("scan", "odd.npy", "--rung", rung, "--format", "npy"))
    outputs.add(upsweep.ok("scan", "-", "--rung", rung, "--format", "npy", input=whole))
    assert len(outputs) == 1
    got = upsweep.load("out.npy").astype("float64")
    error = np.abs(got - np.cumsum(values.astype("longdouble")).astype("float64"))
    assert error.max() <= n * np.finfo(dtype).eps * np.abs(values.astype("float64")).sum()
    if rung == "cpu.serial":
        np.testing.assert_array_equal(upsweep.load("out.npy"), np.cumsum(values))


def test_tables_give_the_bits_of_npy(upsweep, arrow):
    values = np.random.default_rng(10).standard_normal(CHUNK + 54_321)
    upsweep.save("in.npy", values)
    expected = upsweep.ok("scan", "in.npy", "--format", "npy")
    for name, options in (("t.parquet", {"row_group_size": 70_001}), ("t.arrow", {"max_chunksize": 33_333})):
        upsweep.table(name, {"x": values}, **options)
        assert upsweep.ok("scan", f"{name}:x", "--format", "npy") == expected
    assert upsweep.json("reduce", "t.parquet:x")["value"] == upsweep.json("reduce", "in.npy")["value"]


# ------------------------------------------------------------------------------------------- outputs that are refused


ARGS = {"scan": ["scan", "in.npy"], "offsets": ["offsets", "in.npy", "in.npy"]}


@pytest.fixture(params=ARGS)
def args(request, upsweep):
    upsweep.save("in.npy", np.zeros(100_000, dtype="int32"))
    return ARGS[request.param]


def test_a_full_device(upsweep, args):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    upsweep.fails("disk_full", *args, "-o", "/dev/full")
    upsweep.fails("disk_full", "scan", "-", "-o", "/dev/full", input=(upsweep.folder / "in.npy").read_bytes())
    for more in ([], ["--json"], ["--format", "npy"]):
        with open("/dev/full", "wb") as full:
            done = upsweep.run(*args, *more, stdout=full)
        assert done.returncode == 3, done
        conftest.check_message(done.stderr)
    for other in (["reduce", "in.npy"], ["reduce", "in.npy", "--json"], ["--help"], ["ladder"], ["scan", "--json"]):
        with open("/dev/full", "wb") as full:
            done = upsweep.run(*other, stdout=full)
        assert done.returncode == 3, done
        conftest.check_message(done.stderr)


def test_no_output_where_its_summary_is_lost(upsweep, args):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        done = upsweep.run(*args, "-o", "out.npy", stdout=full)
    if done.returncode != 0:  # an error leaves no file
        assert set(upsweep.files()) == {"in.npy"}, done


def test_a_table_of_unknown_length_to_a_full_device(upsweep, arrow):
    upsweep.write("t.csv", "x\n" + "1\n" * 100_000)
    assert upsweep.npy("scan", "t.csv").shape == (100_000,)  # through a temporary file
    upsweep.fails("disk_full", "scan", "t.csv", "-o", "/dev/full")
    with open("/dev/full", "wb") as full:
        assert upsweep.run("scan", "t.csv", "--format", "npy", stdout=full).returncode == 3
    missing = {**os.environ, "TMPDIR": str(upsweep.folder / "missing")}
    done = upsweep.run("scan", "t.csv", "--format", "npy", env=missing)
    assert done.returncode == 3 and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("count", [100_000, 3 * CHUNK])
def test_a_full_file_system(upsweep, count):
    upsweep.save("in.npy", np.zeros(count, dtype="int8"))
    (upsweep.folder / "small").mkdir()
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    mount = "mount -t tmpfs -o size=64k tmpfs small"
    if shutil.which("unshare") is None or upsweep.run_other([*unshare, "sh", "-c", mount]).returncode != 0:
        pytest.skip("no file system may be mounted here")
    script = f"""
        {mount} && echo kept > small/old.npy || exit 99
        for args in "scan in.npy" "offsets in32.npy in32.npy"; do
          for out in small/new.npy small/old.npy; do
            "$U" $args -o $out; echo "status $?"
            "$U" $args -o $out --json; echo "status $?"
          done
        done
        ls -A small; cat small/old.npy
    """
    upsweep.save("in32.npy", np.zeros(count, dtype="int32"))
    done = upsweep.run_other([*unshare, "bash", "-c", script])
    lines = done.stdout.decode().splitlines()
    assert lines.count("status 3") == 8, done
    assert lines[-2:] == ["old.npy", "kept"], done  # no other file exists, and nothing was changed
    errors = [json.loads(line)["error"]["code"] for line in lines if line.startswith("{")]
    assert errors == ["disk_full"] * 4
    messages = done.stderr.decode().splitlines()
    assert len(messages) == 4 and all(line.startswith("upsweep: ") for line in messages), done


def test_a_file_that_may_not_grow(upsweep, args):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    upsweep.write("old.npy", b"kept")
    for output in ("new.npy", "old.npy"):
        upsweep.fails(("disk_full", "unwritable"), *args, "-o", output, preexec_fn=limit, restore_signals=False)


def test_places_that_take_no_file(upsweep, args):
    (upsweep.folder / "folder").mkdir()
    for output in ("missing/out.npy", "missing/", "in.npy/out.npy", "n" * 300 + ".npy"):
        upsweep.fails(("not_found", "unwritable", "is_directory"), *args, "-o", output)
    for output in ("folder", "folder/", ".", "/"):
        upsweep.fails("is_directory", *args, "-o", output)


@pytest.mark.parametrize("where", ["folder/out.npy", "out.npy"])
def test_errors_leave_nothing_and_touch_nothing(upsweep, where):
    (upsweep.folder / "folder").mkdir()
    values = np.zeros(3 * CHUNK, dtype="int64")
    values[-2:] = 2**63 - 1  # an overflow after two chunks were written
    upsweep.save("late.npy", values)
    values[:] = 0
    upsweep.save("starts.npy", values)
    values[-1] = -1
    upsweep.save("stops.npy", values)
    for existing in (False, True):
        if existing:
            upsweep.write(where, b"was here before")
        upsweep.fails("overflow", "scan", "late.npy", "-o", where, index=len(values) - 1)
        options = ["-o", where]
        upsweep.fails("stop_before_start", "offsets", "starts.npy", "stops.npy", *options, index=len(values) - 1)
        upsweep.fails("not_found", "scan", "missing.npy", "-o", where)
        upsweep.fails("unknown_rung", "scan", "late.npy", "--rung", "nope", "-o", where)
        assert (upsweep.folder / where).exists() == existing


@pytest.mark.parametrize("name", ["y.txt", "y", "y.csv.gz", "y.jsonl", "y.npy.bak", "y.npz", ".npyx", "folder/y.feather"])
def test_names_that_say_no_format_are_refused(upsweep, name):
    """This holds for every command; an existing file with this name is not changed."""
    (upsweep.folder / "folder").mkdir()
    upsweep.save("x.npy", [1, 2, 3])
    upsweep.save("offsets.npy", [0, 3])
    upsweep.save("mask.npy", [True, False, True])
    upsweep.write(name, "was here before")
    lists = ["--offsets", "offsets.npy", "x.npy"]
    for args in (
        ["scan", "x.npy"],
        ["offsets", "x.npy", "x.npy"],
        ["segment", *lists],
        ["segment", "--op", "sort", *lists],
        ["pack", "offsets.npy", "offsets.npy", "x.npy"],
        ["select", "--mask", "mask.npy", "x.npy"],
    ):
        error = upsweep.fails("invalid_argument", *args, "-o", name)
        assert error["message"].startswith(f"{name}: the name of an output file must end in .csv, .parquet, .arrow, .json or .npy"), error
    assert (upsweep.folder / name).read_text() == "was here before"


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("name", ["out.npy", "out.parquet"])
def test_a_name_that_is_taken_meanwhile_is_all_that_is_said(request, upsweep, existing, name):
    if name == "out.parquet":
        request.getfixturevalue("arrow")
    content = (upsweep.folder / upsweep.save("in.npy", np.arange(1 << 16))).read_bytes()
    if existing:
        upsweep.write(name, b"was here before")
    process = subprocess.Popen(
        [conftest.COMMAND, "scan", "-", "-o", name, "--json"],
        cwd=upsweep.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(content[:256])
    process.stdin.flush()
    while not has_open(process, f"{upsweep.folder}/"):
        assert process.poll() is None  # it has not opened its output yet
        time.sleep(0.01)
    if existing:
        (upsweep.folder / name).unlink()
    (upsweep.folder / name).mkdir()
    before = upsweep.files()
    output = process.communicate(content[256:], timeout=3600)[0]
    assert process.returncode == 3
    assert conftest.only_object(output)["error"]["code"] == "is_directory"
    assert upsweep.files() == before


def test_a_killed_command_leaves_no_output(upsweep, big):
    big("big.npy", "int64", BIG // 8)
    upsweep.write("out.npy", b"was here before")
    for sign in (signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen([conftest.COMMAND, "scan", "big.npy", "-o", "out.npy"], cwd=upsweep.folder)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
        process.send_signal(sign)
        assert process.wait(3600) == -sign
        assert (upsweep.folder / "out.npy").read_bytes() == b"was here before"


def test_a_mapped_file_that_shrinks_is_an_error(upsweep, arrow):
    upsweep.table("t.arrow", {"x": np.arange(2 * CHUNK)})  # one batch, mapped, scanned in several chunks
    scan = [conftest.COMMAND, "scan", "t.arrow:x", "--format", "npy"]
    process = subprocess.Popen(scan, cwd=upsweep.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)  # the first chunk was scanned, and waits for its reader
    os.truncate(upsweep.folder / "t.arrow", 4096)
    message = process.communicate(timeout=3600)[1]
    shrank = b"upsweep: a file became shorter while it was read; try again\n"
    changed = b"upsweep: t.arrow: was changed or replaced while it was read; try again\n"  # if it was checked in time
    assert (process.returncode, message) in [(3, shrank), (1, changed)]

    upsweep.table("t.arrow", {"x": np.arange(2 * CHUNK)})
    process = subprocess.Popen(scan, cwd=upsweep.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)
    process.send_signal(signal.SIGBUS)  # the signal for touching such a page
    assert (process.communicate(timeout=3600)[1], process.returncode) == (shrank, 3)


def test_links_and_modes_stay(upsweep, args):
    upsweep.write("real.npy", b"old")
    (upsweep.folder / "real.npy").chmod(0o640)
    (upsweep.folder / "link.npy").symlink_to("real.npy")
    upsweep.ok(*args, "-o", "link.npy")
    assert (upsweep.folder / "link.npy").is_symlink()
    assert (upsweep.folder / "real.npy").stat().st_mode & 0o777 == 0o640
    assert upsweep.load("real.npy")[-1] == 0
    upsweep.ok(*args, "-o", "new.npy", preexec_fn=lambda: os.umask(0o027))
    assert (upsweep.folder / "new.npy").stat().st_mode & 0o777 == 0o640


def test_named_pipes_as_output(upsweep, args):
    os.mkfifo(upsweep.folder / "fifo")
    done = upsweep.shell(f'cat fifo > copy.npy & "$U" {" ".join(args)} -o fifo && wait')
    assert done.returncode == 0, done
    assert upsweep.load("copy.npy")[-1] == 0
    assert (upsweep.folder / "fifo").is_fifo()


# --------------------------------------------------------------------------------------------------------- closed pipes


def closed_pipe(upsweep, *args, **options):
    """Runs with a standard output that has no reader."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return upsweep.run(*args, stdout=writing, **options)
    finally:
        os.close(writing)


def test_head_ends_the_command_silently(upsweep):
    upsweep.save("big.npy", np.ones(3 * CHUNK, dtype="int32"))
    done = upsweep.shell('"$U" scan big.npy --format npy | head -c 100 > /dev/null; echo ${PIPESTATUS[0]}')
    assert (done.stdout, done.stderr) == (b"141\n", b"")
    done = upsweep.shell('"$U" offsets big.npy big.npy --format npy | head -c 100 > /dev/null; echo ${PIPESTATUS[0]}')
    assert (done.stdout, done.stderr) == (b"141\n", b"")


@pytest.mark.parametrize(
    "args",
    [
        ["scan", "in.npy", "--format", "npy"],
        ["scan", "in.npy"],
        ["scan", "in.npy", "--json"],
        ["scan", "in.npy", "--json", "--rung", "nope"],  # the error object
        ["offsets", "in.npy", "in.npy", "--json"],
        ["offsets", "in.npy", "in.npy", "--format", "npy"],
        ["reduce", "in.npy"],
        ["reduce", "in.npy", "--json"],
        ["ladder"],
        ["ladder", "--json"],
        ["--help"],
        ["--version"],
    ],
)
def test_nobody_reads(upsweep, args):
    upsweep.save("in.npy", np.ones(1000, dtype="int32"))
    for sigpipe in (signal.SIG_DFL, signal.SIG_IGN):
        done = closed_pipe(
            upsweep, *args, restore_signals=False, preexec_fn=lambda sign=sigpipe: signal.signal(signal.SIGPIPE, sign)
        )
        assert done.returncode in (141, -signal.SIGPIPE), done  # a shell returns 141 for both
        assert done.stderr == b""


def test_nobody_reads_a_table_of_unknown_length(upsweep, arrow):
    upsweep.write("t.csv", "x\n" + "1\n" * 100_000)
    done = closed_pipe(upsweep, "scan", "t.csv", "--format", "npy")
    assert (done.returncode, done.stderr) == (141, b"")


def test_nobody_reads_a_named_pipe(upsweep):
    upsweep.save("big.npy", np.ones(CHUNK, dtype="int32"))
    os.mkfifo(upsweep.folder / "fifo")
    done = upsweep.shell('head -c 10 fifo > /dev/null & "$U" scan big.npy -o fifo; echo $?')
    assert (done.stdout, done.stderr) == (b"141\n", b"")


def test_no_standard_output_at_all(upsweep):
    upsweep.save("in.npy", np.ones(1000, dtype="int32"))
    before = (upsweep.folder / "in.npy").read_bytes()
    for command in ("scan in.npy", "scan in.npy -o -", "reduce in.npy", "reduce in.npy --json", "scan - < in.npy"):
        done = upsweep.shell(f'"$U" {command} >&-')
        assert done.returncode == 3, (command, done)
        conftest.check_message(done.stderr)
    for command, size in (("scan in.npy -o out.npy", 1000), ("offsets in.npy in.npy -o out.npy", 1001)):
        for closed in ("2>&-", "<&- >&-", "<&- >&- 2>&-"):
            done = upsweep.shell(f'"$U" {command} {closed}')
            assert done.returncode in (0, 3), (command, closed, done)
            if done.returncode == 0 or "out.npy" in upsweep.files():
                width = upsweep.load("out.npy").itemsize
                written = (upsweep.folder / "out.npy").stat().st_size
                assert written == 128 + width * size  # it contains no message
            (upsweep.folder / "out.npy").unlink(missing_ok=True)
    assert (upsweep.folder / "in.npy").read_bytes() == before


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_the_status_needs_no_standard_error(upsweep, closed):
    upsweep.save("in.npy", [2**63 - 1, 1], "int64")
    for command, status in (("scan missing.npy", 3), ("scan in.npy", 1), ("scan in.npy --rung nope", 2), ("scam", 2),
                            ("scan in.npy -o missing/out.npy", 3)):  # fmt: skip
        done = upsweep.shell(f'"$U" {command} {closed}')
        assert done.returncode == status, (command, done)


# ------------------------------------------------------------------------------------------------------------- progress


def slowly(pieces, args, folder, **options):
    """Runs the command on a standard input that arrives in chunks with pauses between them."""
    process = subprocess.Popen([conftest.COMMAND, *args], cwd=folder, stdin=subprocess.PIPE, **options)
    with process.stdin:
        for piece in pieces:
            process.stdin.write(piece)
            process.stdin.flush()
            time.sleep(0.6)  # short work shows no progress
    return process


def pieces():
    values = np.ones(3 * CHUNK, dtype="int8")
    header = b"{'descr': '|i1', 'fortran_order': False, 'shape': (%d,)}\n" % len(values)
    head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    return [head + values[: 2 * CHUNK].tobytes(), values[2 * CHUNK :].tobytes()]


def on_terminal(upsweep, *args, env=None):
    """Returns what a slow command prints if only its standard error is a terminal."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal is available: {error}")
    process = slowly(
        pieces(), args, upsweep.folder, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, **(env or {})}
    )
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the terminal was closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(60) == 0, shown
    return shown


@pytest.mark.parametrize("args", [["scan", "-", "-o", "/dev/null"], ["reduce", "-"]])
def test_progress_is_for_terminals(upsweep, args):
    shown = on_terminal(upsweep, *args)
    assert b"\r" in shown and b"%" in shown
    for line in shown.replace(b"\x1b[K", b"").replace(b"\n", b"\r").split(b"\r"):
        assert len(line) <= 80, shown
    assert b"%" not in shown.replace(b"\x1b[K", b"\n").rsplit(b"\n", 1)[1]  # it erases its own progress line
    plain = on_terminal(upsweep, *args, env={"NO_COLOR": "1"})
    assert not re.search(rb"\x1b\[[0-9;]*m", plain), plain
    assert on_terminal(upsweep, *args, "--quiet") == b""


@pytest.mark.parametrize("args", [["scan", "-"], ["scan", "-", "--json"], ["reduce", "-"], ["scan", "-", "--format", "npy"]])
def test_no_progress_on_pipes(upsweep, args):
    process = slowly(pieces(), args, upsweep.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


def test_no_escape_codes_on_a_pipe(upsweep):
    upsweep.save("in.npy", np.ones(100_000), "float64")
    colours = {**os.environ, "TERM": "xterm-256color", "CLICOLOR_FORCE": "1", "FORCE_COLOR": "1"}
    for args in (["scan", "in.npy"], ["reduce", "in.npy"], ["ladder"], ["--help"]):
        assert b"\x1b" not in upsweep.ok(*args, env=colours)
    done = upsweep.run("scan", "missing.npy", env=colours)
    assert b"\x1b" not in done.stderr + done.stdout


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_an_output_that_is_standard_output_gets_no_summary(upsweep, name):
    upsweep.save("in.npy", [1, 2, 3], "int64")
    done = upsweep.shell(f'"$U" scan in.npy -o {name} --format npy')
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == upsweep.shell('"$U" scan in.npy --format npy').stdout
    done = upsweep.shell(f'"$U" offsets in.npy in.npy -o {name} --format npy | wc -c')
    assert int(done.stdout) == 128 + 4 * 8
    assert upsweep.shell(f'"$U" scan in.npy -o {name} --json').returncode == 2
    done = upsweep.shell('"$U" scan in.npy -o out.npy > out.npy')
    assert done.returncode == 0
    assert upsweep.load("out.npy").tolist() == [1, 3, 6]
