# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_spill.py: `upsweep query --memory`: groups that are written to a temporary file, the message about it,
# and each way to fail.
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import COMMAND

ROWS = 600_000
KEYS = np.random.default_rng(3).permutation(ROWS)
VALUES = np.random.default_rng(4).integers(-(10**12), 10**12, ROWS)
FLOATS = np.random.default_rng(5).random(ROWS)

# Groups of many aggregates, of which the answer contains only a few: the groups do not fit where the answer does.
TOP = "SELECT k, SUM(v) AS s, SUM(f) AS t, MIN(v), MAX(v), MIN(f), MAX(f), COUNT(*) FROM 't.parquet' GROUP BY k ORDER BY s DESC, k LIMIT 20"


@pytest.fixture
def table(upsweep, arrow):
    upsweep.table("t.parquet", {"k": KEYS, "v": VALUES, "f": FLOATS}, row_group_size=100_000)
    (upsweep.folder / "spill").mkdir()
    return upsweep


def test_the_answer_is_the_same(table):
    expected = table.json("query", TOP)
    assert expected["bytes_spilled"] == 0
    order = np.lexsort((KEYS, -VALUES))[:20]
    assert [row[:3] for row in expected["rows"]] == [[int(KEYS[i]), int(VALUES[i]), float(FLOATS[i])] for i in order]
    for threads in (1, 2, 5):
        answer = table.json("query", TOP, "--memory", "1MB", "--threads", threads)
        assert answer["rows"] == expected["rows"]
        assert ROWS * 20 < answer["bytes_spilled"] < ROWS * 150
    some = table.json("query", TOP, "--memory", "150MB", "--threads", 2)
    assert some["rows"] == expected["rows"]
    assert 0 < some["bytes_spilled"] < answer["bytes_spilled"] / 2
    assert table.json("query", TOP, "--memory", "4GB")["bytes_spilled"] == 0


def test_all_groups_of_an_answer_that_fits(table):
    # One output that needs many aggregate states.
    sums = " + ".join(f"SUM(v + {i})" for i in range(12))
    sql = f"SELECT k / 4, {sums} FROM 't.parquet' GROUP BY k / 4"
    expected = table.json("query", sql)
    answer = table.json("query", sql, "--memory", "70MB")
    assert answer["bytes_spilled"] > 0 == expected["bytes_spilled"]
    assert answer["rows"] == expected["rows"]


def test_what_was_written_is_said(table):
    done = table.run("query", TOP, "--memory", "1MB", "--spill-dir", "spill")
    said = done.stderr.decode()
    assert done.returncode == 0
    assert "MB of groups did not fit in 1 MB of memory and were written to a temporary file in spill" in said or not said
    assert list((table.folder / "spill").iterdir()) == []
    # A terminal shows more messages.
    if shutil.which("script"):
        shown = table.shell(f"script -qec \"$U query \\\"{TOP}\\\" --memory 1MB\" /dev/null").stdout.decode()
        assert "of groups did not fit in 1 MB of memory and were written to a temporary file" in shown, shown


@pytest.mark.parametrize("size", ["0", "-5", "4", "lots", "4XB", "1e3GB"])
def test_sizes(table, size):
    if size == "4":  # bytes: a small size, but valid
        assert table.json("query", TOP, "--memory", size)["bytes_spilled"] > 0
    else:
        error = table.fails("invalid_argument", "query", TOP, f"--memory={size}")
        assert "4GB" in error["message"]


def test_an_answer_that_does_not_fit(table):
    error = table.fails("out_of_memory", "query", "SELECT k, SUM(v) FROM 't.parquet' GROUP BY k", "--memory", "20MB")
    assert "LIMIT" in error["message"] and "--memory" in error["message"]


def test_folders(table):
    for folder in ("missing", "t.parquet"):
        error = table.fails("not_found", "query", TOP, "--memory", "1MB", "--spill-dir", folder)
        assert error["message"].startswith(f"{folder}: ") and "--spill-dir" in error["message"]
    error = table.fails("unwritable", "query", TOP, "--memory", "1MB", "--spill-dir", "/sys")
    assert "--spill-dir" in error["message"]
    environment = {**os.environ, "TMPDIR": "/nowhere"}
    assert "/nowhere: " in table.fails("not_found", "query", TOP, "--memory", "1MB", env=environment)["message"]
    assert table.json("query", TOP, "--memory", "1MB", "--spill-dir", "spill", env=environment)["bytes_spilled"] > 0


def require_disk_full(error, folder):
    assert error["message"].startswith(f"{folder}: ")
    for part in ("were written to a temporary file", "free disk space", "--spill-dir", "--memory"):
        assert part in error["message"]


def test_a_file_that_may_not_grow(table):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    error = table.fails("disk_full", "query", TOP, "--memory", "1MB", "--spill-dir", "spill", preexec_fn=limit)
    require_disk_full(error, "spill")
    assert list((table.folder / "spill").iterdir()) == []


def test_a_disk_that_is_full(table):
    """Mounts a separate small file system, if the user may do so."""
    script = (
        "mount -t tmpfs -o size=4m tmpfs spill || exit 77; "
        f"$U query \"{TOP}\" --memory 1MB --spill-dir spill --json; status=$?; ls -A spill; exit $status"
    )
    done = table.run_other(["unshare", "-m", "bash", "-c", script])
    if done.returncode not in (0, 3):
        pytest.skip("no file system may be mounted here")
    assert done.returncode == 3, done
    assert done.stdout.count(b"\n") == 1, done  # the folder is empty
    import json

    require_disk_full(json.loads(done.stdout)["error"], "spill")


def spilling(table, name):
    """Starts a query that spills for a long time, and waits until its temporary file is not empty."""
    sql = f"SELECT k, SUM(v) AS s FROM '{name}' GROUP BY k ORDER BY s LIMIT 3"
    child = subprocess.Popen(
        [COMMAND, "query", sql, "--memory", "1MB", "--spill-dir", "spill", "--threads", "1"],
        cwd=table.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background may have them ignore Ctrl-C, and what they start as well.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 3600
    while time.monotonic() < until and child.poll() is None:
        with contextlib.suppress(OSError):
            for link in os.listdir(f"/proc/{child.pid}/fd"):
                path = f"/proc/{child.pid}/fd/{link}"
                if "/spill/" in os.readlink(path) and os.stat(path).st_size > 0:
                    return child
    return child


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_a_signal_leaves_nothing(table, arrow, sent):
    rows = 4_000_000
    table.table("large.parquet", {"k": np.arange(rows) * 7919 % rows, "v": np.zeros(rows, np.int64)})
    child = spilling(table, "large.parquet")
    assert child.poll() is None, "it ended before it wrote a byte"
    child.send_signal(sent)
    child.communicate(timeout=3600)
    assert child.returncode == -sent
    assert list((table.folder / "spill").iterdir()) == []
