# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_pages.py: the shell sessions on pages of docs/: their commands print what the pages show.
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND
from test_mpi import ENVIRONMENT, MPIEXEC

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Measured values differ from run to run: times, rates, and fractions of a rate.
MEASURED = re.compile(r"[\d.]+ (?:ns|us|ms|s|GB/s)\b|\b\d\.\d\d(?:x|\b)")


def is_whole(line):
    """Whether all quotes of a command are closed."""
    try:
        return bool(shlex.split(line))
    except ValueError:
        return False


def sessions(page):
    """Yields the commands of a page, each with the lines that it prints."""
    for block in re.findall(r"^```(?:console)?\n(\$ .*?)^```$", page, re.DOTALL | re.MULTILINE):
        command, shown = "", []
        for line in block.splitlines():
            if command and not is_whole(command):
                command += "\n" + line
            elif line.startswith("$ "):
                if command:
                    yield command, shown
                command, shown = line[2:], []
            else:
                shown.append(line)
        yield command, shown


def on_terminal(script, folder, env):
    """Runs a bash script with a terminal as its output, as a reader does; returns its output and exit status."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal is available: {error}")
    process = subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the terminal was closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return shown.decode().replace("\r\n", "\n"), process.wait()


def plain(lines):
    """Returns lines without measured values, and without the width of columns, which depends on these."""
    return [" ".join(MEASURED.sub("#", line).split()) for line in lines if line.strip()]


def rungs(lines):
    return re.findall(r"^ +(cpu\.\w+) ", "\n".join(lines), re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "commands"),
    [("start/shell.md", 13), ("start/python.md", 1), ("start/cpp.md", 1), ("how-to/debugging.md", 3), ("how-to/mpi.md", 3)],
)
def test_commands_print_what_the_page_shows(upsweep, arrow, page, commands):
    if not DOCS.is_dir():
        pytest.skip("the docs are not next to the tests")
    if page == "how-to/mpi.md" and not MPIEXEC:
        pytest.skip("this build has no MPI")
    folders = [str(Path(program).parent) for program in (COMMAND, sys.executable, MPIEXEC) if program]
    environment = {**os.environ, **ENVIRONMENT, "PATH": ":".join([*folders, os.environ["PATH"]])}
    run, status = 0, 0
    for command, shown in sessions((DOCS / page).read_text()):
        if re.search(r"\./|\bmpicxx|\bg\+\+", command):  # tests/consume/programs.py compiles and runs programs
            continue
        command = command.replace("build/bin/", "").replace(".venv/bin/", "")
        is_long = re.search(r"--sizes \S+", command)
        if is_long:
            command = command.replace(is_long[0], "--sizes 1e3")
        script = f"(exit {status}); {command}"
        if page == "how-to/mpi.md":  # mpirun passes its processes' output on
            done = upsweep.run_other(["bash", "-c", script], env=environment)
            text, status = (done.stdout + done.stderr).decode(), done.returncode
        else:
            text, status = on_terminal(script, upsweep.folder, environment)
        printed = text.splitlines()
        if is_long:  # a measurement, shown without some of its rungs
            assert rungs(shown) and set(rungs(shown)) <= set(rungs(printed)), (command, printed)
        else:
            assert plain(printed) == plain(shown), command
        run += 1
    assert run == commands
