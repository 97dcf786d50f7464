# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_help.py: the help, and its examples, which run on small files with the names and columns of the tour's.
import os
import pathlib
import re
import shlex
import sys
import textwrap

import conftest
import pytest
from test_messages import COMMANDS

ROOT = pathlib.Path(__file__).resolve().parents[2]

# ------------------------------------------------------------------------------------------------------------ the texts


def test_the_command_alone_prints_a_short_help(upsweep):
    text = upsweep.text()
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w", text, re.MULTILINE), command
    lines = text.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80, "it must fit a terminal"
    assert "upsweep COMMAND --help" in text
    assert upsweep.run("--json").returncode == 2  # the short help is for people


def examples(upsweep, command):
    """The examples of a command's help: the lines after each comment."""
    text = upsweep.text(command, "--help")
    heading = "\nExamples, on files that make tour leaves in build/tour:\n"
    assert text.count(heading) == 1, text
    shown = textwrap.dedent(text.split(heading)[1])
    assert shown.startswith("# "), shown
    return [one.split("\n", 1)[1].strip() for one in re.split(r"^# ", shown, flags=re.MULTILINE)[1:]]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_ends_with_two_examples(upsweep, command):
    both = examples(upsweep, command)
    assert len(both) == 2
    for example in both:
        words = shlex.split(example.replace("\\\n", " "))
        assert words[0] == "upsweep" and (words[1] == command or words[1:] == ["--version"]), example
    assert max(map(len, upsweep.text(command, "--help").splitlines())) <= 80


# --------------------------------------------------------------------------------------------------------- the examples

SMALL_DATA = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import tour_data
tour_data.ROWS, tour_data.ORDERS = 40_007, 10_000
tour_data.tpchgen = lambda folder: False
getattr(tour_data, sys.argv[2])(pathlib.Path(sys.argv[3]))
"""

TOUR = """
set -euo pipefail
upsweep=$U data=build/tour python=make_data total=0
mkdir -p build/tour
make_data() { case $1 in tools/tour_data.py) "$PYTHON" small_data.py "$TOOLS" "${@:2}" ;; esac }
say() { :; }
ask() { run $upsweep query "$1"; }
run() {
  case $2 in
    ladder | devices) ;;
    bench) $upsweep bench scan --sizes 2^10 --threads 1 -o "${@: -1}" ;;
    -m) ;;
    *) "$@" ;;
  esac
}
"""


@pytest.fixture(scope="module")
def tour(tmp_path_factory, arrow_reason):
    """A folder where tools/tour.sh ran, on small tables and without its ladders."""
    script = ROOT / "tools" / "tour.sh"
    if arrow_reason or not script.exists():
        pytest.skip(arrow_reason or "the tour is not here")
    there = conftest.Upsweep(tmp_path_factory.mktemp("tour"))
    there.write("small_data.py", SMALL_DATA)
    steps = script.read_text().split('\nsay "Data: ', 1)[1]
    environment = {**os.environ, "PYTHON": sys.executable, "TOOLS": str(ROOT / "tools")}
    done = there.run_other(["bash", "-c", TOUR + '\nsay "Data: ' + steps], env=environment)
    assert done.returncode == 0, done
    os.symlink(conftest.COMMAND, there.folder / "upsweep")
    return there


def shortened(example):
    """Ladders and measurements take a minute; a few short lengths show as well that the options are right."""
    if example.startswith("upsweep bench --quick"):
        return example.replace("--quick", "scan --sizes 2^10 --threads 1")
    return example.replace("--sizes 2^20", "--sizes 2^10")


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run_on_the_files_of_the_tour(tour, command):
    for example in examples(tour, command):
        for path in re.findall(r"build/tour/[\w.]+", example):
            assert (tour.folder / path).exists(), f"{example}: the tour does not make {path}"
        done = tour.run_other(["bash", "-c", f'PATH=".:$PATH"\n{shortened(example)}'])
        assert (done.returncode, done.stderr) == (0, b""), (example, done)
        assert done.stdout, example
        written = re.search(r" -o (\S+)", example)
        if written:
            parts = list(tour.folder.glob(written[1].replace(".npy", "*.npy")))
            assert parts, f"{example} wrote no file"
