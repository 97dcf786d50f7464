# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_terminal.py: what a terminal gets: no binary data, tables of its width, and one line after Ctrl-C.
import fcntl
import json
import os
import pathlib
import pty
import random
import select
import signal
import struct
import subprocess
import termios
import time

import conftest
import numpy as np
import pytest

CHUNK = 1 << 21


def shown(upsweep, *args, columns=80, status=0, **options):
    """Runs the command with a terminal as standard output and standard error, and returns the text there."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had: {error}")
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [conftest.COMMAND, *map(str, args)],
        **{"cwd": upsweep.folder, "stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs, **options},
    )
    os.close(theirs)
    output = b""
    while True:
        if not select.select([ours], [], [], 600)[0]:
            break
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # how a terminal ends
            break
        if not block:
            break
        output += block
    os.close(ours)
    assert process.wait(600) == status, output
    return output.decode().replace("\r\n", "\n")


# ------------------------------------------------------------------------------------------------------------- binary


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/tty"])
@pytest.mark.parametrize(
    "args",
    [
        ["scan", "x.npy"],
        ["offsets", "x.npy", "x.npy"],
        ["segment", "--op", "sort", "--offsets", "offsets.npy", "x.npy"],
        ["select", "--mask", "mask.npy", "x.npy"],
        ["pack", "offsets.npy", "offsets.npy", "x.npy"],
    ],
)
def test_nothing_binary_is_written_to_a_terminal(upsweep, args, name):
    upsweep.save("x.npy", [1, 2, 3])
    upsweep.save("offsets.npy", [0, 3])
    upsweep.save("mask.npy", [True, False, True])
    options = {"start_new_session": True} if name != "/dev/tty" else {}
    if name == "/dev/tty":
        options["preexec_fn"] = lambda: (os.setsid(), fcntl.ioctl(1, termios.TIOCSCTTY, 0))
    text = shown(upsweep, *args, "-o", name, "--format", "npy", status=2, **options)
    said = "-" if name == "/dev/stdout" else name
    assert text.startswith(f"upsweep: -o {said} would write binary data to a terminal: name a file, such as -o OUT.npy")
    assert text.count("\n") == 1
    assert (", or redirect standard output" in text) == (said == "-")


# ------------------------------------------------------------------------------------------------------------- Ctrl-C


def heeding():
    """Whoever runs the tests in the background may have them ignore Ctrl-C, and what they start as well."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def writing(upsweep, *options, **streams):
    """A scan that has opened its output, and waits for the rest of its input."""
    content = (upsweep.folder / upsweep.save("in.npy", np.ones(3 * CHUNK, "int64"))).read_bytes()
    command = [conftest.COMMAND, "scan", "-", *options]
    process = subprocess.Popen(
        command, cwd=upsweep.folder, stdin=subprocess.PIPE, preexec_fn=streams.pop("preexec_fn", heeding), **streams
    )
    process.stdin.write(content[: 17 * CHUNK])  # the first chunk, and a part of the second
    process.stdin.flush()
    return process


def wait_for_output(process, folder):
    end = time.monotonic() + 600
    while time.monotonic() < end and process.poll() is None:
        for file in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                if f"{folder}/" in os.readlink(file) and os.stat(file).st_size > 0:
                    return
            except FileNotFoundError:  # it has just been closed
                pass
        time.sleep(0.01)
    raise AssertionError("it wrote nothing")


@pytest.mark.parametrize("existing", [False, True])
def test_ctrl_c_ends_with_one_line_and_no_file(upsweep, existing):
    if existing:
        upsweep.write("out.npy", b"was here before")
    process = writing(upsweep, "-o", "out.npy", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_output(process, upsweep.folder)
    process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=600)
    assert (process.returncode, output, said) == (-signal.SIGINT, b"", b"upsweep: interrupted\n")
    assert set(upsweep.files()) == {"in.npy"} | ({"out.npy"} if existing else set())
    assert not existing or (upsweep.folder / "out.npy").read_bytes() == b"was here before"


def test_ctrl_c_as_json(upsweep):
    process = writing(upsweep, "-o", "out.npy", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_output(process, upsweep.folder)
    process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=600)
    error = {"code": "interrupted", "message": "interrupted", "index": None}
    assert (process.returncode, said, conftest.only_object(output)) == (-signal.SIGINT, b"", {"error": error})


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_ignored_stays_ignored(upsweep, sent):
    """Shells do that with Ctrl-C for commands in the background, and nohup with SIGHUP."""
    ignoring = {"preexec_fn": lambda: signal.signal(sent, signal.SIG_IGN)}
    process = writing(upsweep, "-o", "out.npy", stdout=subprocess.PIPE, stderr=subprocess.PIPE, **ignoring)
    wait_for_output(process, upsweep.folder)
    process.send_signal(sent)
    process.communicate((upsweep.folder / "in.npy").read_bytes()[17 * CHUNK :], timeout=600)
    assert process.returncode == 0 and upsweep.load("out.npy")[-1] == 3 * CHUNK


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_without_a_line(upsweep, sent):
    process = writing(upsweep, "-o", "out.npy", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_output(process, upsweep.folder)
    process.send_signal(sent)
    output, said = process.communicate(timeout=600)
    assert (process.returncode, output, said) == (-sent, b"", b"")
    assert set(upsweep.files()) == {"in.npy"}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_where_files_need_a_name(upsweep, sent):
    """Without /proc, as without O_TMPFILE, temporary files have a name. LD_ORIGIN_PATH replaces what /proc says of libraries."""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    script = f"""
        mount -t tmpfs -o size=1k tmpfs /proc 2>/dev/null || exit 99
        mkfifo in; trap '' INT
        (trap - INT; exec env LD_ORIGIN_PATH="$(dirname "$U")" "$U" scan - -o out.npy < in) & child=$!
        exec 3> in; head -c 35000000 in.npy >&3
        for i in $(seq 600); do ls -A | grep -q upsweep- && break; sleep 0.1; done
        ls -A | grep -c 'upsweep-'; kill -{int(sent)} $child; wait $child; echo "status $?"; ls -A
    """
    upsweep.save("in.npy", np.ones(3 * CHUNK, "int64"))
    done = upsweep.run_other([*unshare, "bash", "-c", script], preexec_fn=heeding)
    if done.returncode == 99 or b"unshare failed" in done.stderr:
        pytest.skip("no file system may be mounted here")
    assert done.stdout.decode().split("\n")[:2] == ["1", f"status {128 + sent}"], done
    assert sorted(done.stdout.decode().split()[3:]) == ["in", "in.npy"], done


@pytest.mark.parametrize("command", ["scan -", "subset-sum long.txt --target 1000000003"])
def test_ctrl_c_ends_a_loop_of_a_shell(upsweep, command):
    """A shell ends its loop only if the command died by the signal."""
    upsweep.write("long.txt", "".join(f"{one}\n" for one in [*random.Random(12).sample(range(4, 800_000, 4), 20_000), 1]))
    ours, theirs = pty.openpty()
    script = f'for i in 1 2 3; do echo "run $i"; "$U" {command}; echo "status $?"; done'
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=upsweep.folder,
        env={**os.environ, "U": conftest.COMMAND},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: (heeding(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
    )
    os.close(theirs)
    time.sleep(3)
    os.write(ours, b"\x03")
    text = b""
    while select.select([ours], [], [], 20)[0]:
        try:
            text += os.read(ours, 1 << 16)
        except OSError:  # how a terminal ends
            break
    shell.kill()
    os.close(ours)
    assert shell.wait(600) == -signal.SIGINT, text
    assert text.count(b"run ") == 1 and b"status" not in text and text.count(b"upsweep: interrupted") == 1, text


def test_ctrl_c_in_a_measurement_says_how_to_resume(upsweep):
    args = [conftest.COMMAND, "bench", "scan", "-o", "results.json", "--sizes", "2^24", "--quiet"]
    process = subprocess.Popen(args, cwd=upsweep.folder, stderr=subprocess.PIPE, preexec_fn=heeding)
    end = time.monotonic() + 600
    while "results.json.partial" not in upsweep.files() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=600)[1]
    assert (process.returncode, said) == (-signal.SIGINT, b"upsweep: interrupted; run the same command again to resume\n")
    assert "results.json" not in upsweep.files()


def test_ctrl_c_on_a_terminal_erases_the_progress(upsweep):
    ours, theirs = pty.openpty()
    process = writing(upsweep, "-o", "out.npy", stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    wait_for_output(process, upsweep.folder)
    process.send_signal(signal.SIGINT)
    assert process.wait(600) == -signal.SIGINT
    process.stdin.close()
    assert os.read(ours, 4096).endswith(b"\r\x1b[Kupsweep: interrupted\r\n")
    os.close(ours)


# ------------------------------------------------------------------------------------- the first and the last values


def rows_of(text):
    """The table below the summary of a scan: its header, and its lines."""
    header, *lines = text.split("\n\n")[1].rstrip("\n").split("\n")
    assert len({len(line) for line in [header, *lines]}) == 1, text  # aligned
    return header.split(maxsplit=1), [line.split() for line in lines]


def test_a_scan_shows_the_first_and_the_last_values(upsweep):
    n = 2 * CHUNK + 17
    upsweep.save("x.npy", np.arange(n), "int64")
    text = shown(upsweep, "scan", "x.npy", "--quiet")
    header, lines = rows_of(text)
    assert header == ["row", "running sum"]
    running = np.cumsum(np.arange(n))
    expected = [[f"{i:,}", str(running[i])] for i in (*range(4), *range(n - 4, n))]
    assert lines == [*expected[:4], ["...", "..."], *expected[4:]]
    assert "\nfirst  " not in text and "\nlast   " not in text


@pytest.mark.parametrize("n", range(11))
def test_short_scans_show_every_value_once(upsweep, n):
    upsweep.save("x.npy", np.ones(n), "int32")
    text = shown(upsweep, "scan", "x.npy", "--op", "mul", "--quiet")
    if n == 0:
        assert "\n\n" not in text
        return
    header, lines = rows_of(text)
    assert header == ["row", "running mul"]
    assert (
        [line[0] for line in lines] == [*map(str, range(n))]
        if n <= 8
        else ["0", "1", "2", "3", "...", *map(str, range(n - 4, n))]
    )


def test_the_table_of_decimals_and_nulls(upsweep, arrow):
    import decimal

    values = [decimal.Decimal("1.50"), None, decimal.Decimal("-12.25")]
    upsweep.table("t.parquet", {"x": arrow.array(values, arrow.decimal128(9, 2))})
    text = shown(upsweep, "scan", "t.parquet:x", "--nulls", "skip", "--quiet")
    assert rows_of(text)[1] == [["0", "1.50"], ["1", "1.50"], ["2", "-10.75"]]
    assert "\nnulls  1\n" in text


def test_other_outputs_have_no_table(upsweep):
    upsweep.save("x.npy", [1, 2, 3])
    assert "row" not in shown(upsweep, "scan", "x.npy", "-o", "out.npy", "--quiet")
    assert json.loads(shown(upsweep, "scan", "x.npy", "--json"))["last"] == 6
    plain = upsweep.text("scan", "x.npy")
    assert "row" not in plain and "\nfirst  1\nlast   6\n" in plain


# -------------------------------------------------------------------------------- tables and their width


@pytest.fixture
def long_texts(upsweep, arrow):
    names = [f"a name of {n} letters ".ljust(n, "é") for n in (30, 90, 60)]
    upsweep.table("t.parquet", {"who": names, "price": [1.5, 2.25, 12345678.125], "n": [1, 2, 3]})
    return names


SQL = "SELECT who, SUM(price) AS total, MAX(price * n) AS the_highest_product_of_both FROM 't.parquet' GROUP BY 1 ORDER BY 2"


@pytest.mark.parametrize("columns", [40, 60, 80, 132])
def test_a_query_fits_the_terminal(upsweep, long_texts, columns):
    text = shown(upsweep, "query", SQL, "--quiet", columns=columns)
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns, text
    assert len(lines) == 4
    for number in ("1.5", "2.25", "12345678.125", "37037034.375"):
        assert number in text  # numbers are never shortened
    assert lines[1].startswith("a name of 30"[:11])
    assert "…" in text


def test_a_query_on_a_wide_terminal_or_a_pipe_is_whole(upsweep, long_texts):
    whole = upsweep.text("query", SQL)
    assert all(name in whole for name in long_texts) and "the_highest_product_of_both" in whole and "…" not in whole
    assert shown(upsweep, "query", SQL, "--quiet", columns=400) == whole
    assert shown(upsweep, "query", SQL, "--quiet", columns=0) == shown(upsweep, "query", SQL, "--quiet", columns=80)
    assert "names and texts are shortened to fit the terminal; --json prints them whole\n" in shown(upsweep, "query", SQL)


@pytest.mark.parametrize("columns", [30, 80])
def test_rows_that_do_not_fit_are_blocks(upsweep, arrow, columns):
    upsweep.table("t.parquet", {"k": ["p" * 40, "q"], **{f"x{i}": [10**15 + i, i] for i in range(12)}})
    sums = ", ".join(f"SUM(x{i}) AS sum_of_x{i}" for i in range(12))
    text = shown(upsweep, "query", f"SELECT k, {sums} FROM 't.parquet' GROUP BY k ORDER BY k", "--quiet", columns=columns)
    assert max(map(len, text.splitlines())) <= columns, text
    first, second = text.split("\n\n")
    assert first.startswith("row 1\nk ") and second.startswith("row 2\nk ")
    assert [line.split() for line in first.splitlines()[-12:]] == [[f"sum_of_x{i}", str(10**15 + i)] for i in range(12)]
    assert first.count("p") == 40  # nothing is shortened
    one = shown(upsweep, "query", f"SELECT {sums} FROM 't.parquet'", "--quiet", columns=columns)
    assert one.startswith("sum_of_x0 ") and "row" not in one


def test_a_query_without_rows(upsweep, arrow):
    upsweep.table("t.parquet", {"k": ["a"], "x": [1]})
    text = shown(upsweep, "query", "SELECT k, SUM(x) AS s FROM 't.parquet' WHERE x > 5 GROUP BY k", "--quiet", columns=30)
    assert text == "k  s\n"


@pytest.mark.parametrize("columns", [40, 50, 60, 70, 80, 100])
def test_ladders_fit_the_terminal(upsweep, columns):
    for args in (["ladder"], ["ladder", "scan", "--sizes", "2^10"], ["ladder", "offsets", "--sizes", "2^10"], ["devices"]):
        text = (
            shown(upsweep, *args, "--quiet", columns=columns) if args != ["ladder"] else shown(upsweep, *args, columns=columns)
        )
        assert max(map(len, text.splitlines())) <= columns, text


@pytest.mark.parametrize(
    "columns, heads",
    [
        (30, ["rung", "time"]),
        (40, ["rung", "time", "speedup"]),
        (50, ["rung", "time", "of copy", "speedup"]),
        (60, ["rung", "time", "of copy", "speedup", "verified"]),
        (70, ["rung", "time", "moved", "of copy", "speedup", "verified"]),
        (80, ["rung", "time", "moved", "of copy", "speedup", "checked", "verified"]),
    ],
)
def test_a_narrow_ladder_has_fewer_figures(upsweep, columns, heads):
    args = ["ladder", "scan", "--sizes", "2^10", "--types", "int32"]
    text = shown(upsweep, *args, "--threads", "1", "--quiet", columns=columns)
    assert max(map(len, text.splitlines())) <= columns, text
    known = ["rung", "time", "moved", "of copy", "speedup", "checked", "verified"]
    assert [head for head in known if head in text] == heads, text
    ids = {row["rung"] for row in upsweep.json(*args, "--threads", "1", "--quiet")["rows"]}
    rows = [line.split() for line in text.splitlines() if line.startswith("  cpu.")]
    assert {row[0] for row in rows} == ids, text  # no name is shortened
    assert all(row[2] in ("ns", "us", "ms", "s") for row in rows), text
    assert ("figures are omitted" in shown(upsweep, *args, columns=columns)) == (columns < 80)


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_other_tables_of_rungs_fit_the_terminal(upsweep, columns):
    upsweep.write("items.txt", "".join(f"{one}\n" for one in random.Random(5).sample(range(10**6), 40)))
    search = ["subset-sum", "items.txt", "--target", "7654321", "--explain"]
    for args in (search, ["ladder", "scan", "--sizes", "2^10", "--types", "int32", "--threads", "1,2"]):
        text = shown(upsweep, *args, "--quiet", columns=columns)
        assert max(map(len, text.splitlines())) <= columns, text
    lists = shown(upsweep, "ladder", columns=columns)
    assert all(f"  {rung['rung']}" in lists for rung in upsweep.json("ladder")["ladders"]["scan"]), lists


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_comparisons_fit_the_terminal(upsweep, columns):
    upsweep.ok("bench", "scan", "--sizes", "2^10,2^11,2^12,2^13", "--threads", "1", "-o", "before.json", "--quiet")
    results = json.loads((upsweep.folder / "before.json").read_text())
    for row in results["rows"]:
        row["rung"] += "_with_a_long_name_that_does_not_fit"
    upsweep.write("before.json", json.dumps(results))
    for row in results["rows"]:
        row["samples_s"] = [10 * one for one in row["samples_s"]]
    upsweep.write("after.json", json.dumps(results))
    text = shown(upsweep, "bench", "--compare", "before.json", "after.json", columns=columns)
    assert "…" in text and "slower" in text
    assert max(map(len, text.splitlines())) <= columns, text
    whole = upsweep.text("bench", "--compare", "before.json", "after.json")
    assert "…" not in whole and "_with_a_long_name_that_does_not_fit " in whole


@pytest.mark.parametrize("threads", ["1", "1,2"])
def test_ladders_on_a_pipe_are_whole(upsweep, threads):
    text = upsweep.text("ladder", "subset-sum", "--sizes", "2^5", "--threads", threads, "--quiet")
    ids = {row["rung"] for row in upsweep.json("ladder", "subset-sum", "--sizes", "2^5", "--quiet")["rows"]}
    assert "…" not in text and ids <= set(text.split()), text


def test_labels_of_items_fit_the_terminal(upsweep, arrow):
    upsweep.table("t.parquet", {"price": [3, 5, 9], "who": ["x" * 100, "y", "z"]})
    args = ["subset-sum", "t.parquet:price", "--target", "8", "--id", "who"]
    text = shown(upsweep, *args, "--quiet", columns=60)
    assert max(map(len, text.splitlines())) <= 60 and "xxx…" in text, text
    assert "x" * 100 in upsweep.text(*args)


# ------------------------------------------------------------------------------------------- progress of a known total


QUICK = os.environ.get("UPSWEEP_QUICK_CLOCK", "")  # tests/quick_clock.cpp, built


def progress_of(upsweep, *args, columns=80):
    """The progress lines of a command whose clock runs fast, because the first line appears after half a second."""
    if not QUICK:
        pytest.skip("UPSWEEP_QUICK_CLOCK is not set")
    text = shown(upsweep, *args, "--threads", "1", columns=columns, env={**os.environ, "LD_PRELOAD": QUICK})
    return [line for line in text.replace("\x1b[K", "").split("\r") if line.strip()]


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("command", ["scan", "reduce", "query"])
def test_progress_of_csv_has_a_total(upsweep, arrow, command, files):
    """Its rows are counted when it is opened."""
    rows = 6_000_000 // files
    for i in range(files):
        upsweep.write(f"t{i}.csv", "x\n" + "1234.5\n" * rows)
    args = ["query", "SELECT SUM(x) AS s FROM 't*.csv'"] if command == "query" else [command, "t*.csv:x"]
    lines = progress_of(upsweep, *args)
    what = {"scan": "scanning", "reduce": "reducing", "query": "reading rows"}[command]
    counted = [line for line in lines if line.startswith(what)]
    assert counted and all(line.split("\n")[0].rstrip().endswith("%") for line in counted), lines


def test_progress_of_a_ladder_numbers_the_rungs(upsweep):
    lines = progress_of(upsweep, "ladder", "scan", "--sizes", "2^21", "--types", "int64")
    assert any("verifying cpu." in line and " of " in line for line in lines), lines


def test_progress_fits_a_narrow_terminal(upsweep):
    """A line that the terminal wraps would not be erased."""
    lines = progress_of(upsweep, "ladder", "scan", "--sizes", "2^21", "--types", "int64", columns=30)
    progress = [line for line in lines if line.startswith("verifying cpu.")]
    assert progress and all(len(line.split("\n")[0]) < 30 for line in progress[:-1]), progress
