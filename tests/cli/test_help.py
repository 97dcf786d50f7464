# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_help.py: the help, and its examples, which run on small files with the names and columns of the tour's.
import os
import pathlib
import re
import shlex
import shutil
import signal
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
        assert shlex.split(example)
        assert f"upsweep {command}" in example or example == "upsweep --version", example
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


def test_commands_of_the_tour_can_be_pasted(upsweep):
    script = ROOT / "tools" / "tour.sh"
    if not script.exists():
        pytest.skip("the tour is not here")
    run = re.search(r"^run\(\) {\n.*?^}\n", script.read_text(), re.MULTILINE | re.DOTALL)[0]
    words = ["2^12,a.b/c:d", "", "a b", "it's", "SELECT 'x'\n  FROM t (3)", 'say "hi"', "$x", "a\\b", "c!d", "`x`", "a*", "~"]
    lines = upsweep.shell(f"{run}run printf '<%s>' {shlex.join(words)}").stdout.decode()
    shown, _, printed = lines.removeprefix("$ ").rpartition("\n<2^12,")
    assert shown.startswith('printf "<%s>" 2^12,a.b/c:d "" "a b" "it\'s" "SELECT \'x\'\n  FROM t (3)" \'say '), shown
    assert upsweep.shell(shown).stdout.decode() == "<2^12," + printed == "".join(f"<{word}>" for word in words)


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
        assert done.stdout or command == "completion", example
        written = re.search(r" -o (\S+)", example)
        if written:
            parts = list(tour.folder.glob(written[1].replace(".npy", "*.npy")))
            assert parts, f"{example} wrote no file"


# -------------------------------------------------------------------------------------- completion and the manual page


def test_every_exit_status_is_documented(upsweep):
    """In the manual page and on both pages of docs/ that list them."""
    manual = upsweep.text("man").split(".SH EXIT STATUS")[1].replace("\\fR", "").replace("\\fB", "")
    found = [re.findall(r"\d+", line) for line in re.findall(r"^\.B (.*)$", manual, re.MULTILINE)]
    listed = [{int(status) for each in found for status in each}]
    for page in ("command.md", "reference/errors.md"):
        table = re.search(r"^\| status \| meaning \|$(.*?)^$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)[1]
        cells = re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
        listed.append({int(status) for cell in cells for status in cell.split(",")})
    signals = {128 + int(each) for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)}
    assert all(each == {0, *conftest.STATUS.values(), *signals} for each in listed), listed


def complete_in_bash(upsweep, line):
    """The words that bash offers at the end of the line."""
    script = """
        source <(./upsweep completion bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        compopt() { echo "compopt $*" >> options; }
        _upsweep
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = upsweep.run_other(["bash", "-c", script, "bash", *line])
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode().split()


def complete_in_fish(upsweep, line):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    words = " ".join(word or "" for word in line)
    script = f"./upsweep completion fish | source; complete -C '{words}'"
    done = upsweep.run_other(["fish", "--no-config", "-c", script])
    assert (done.returncode, done.stderr) == (0, b""), done
    return [one.split("\t")[0] for one in done.stdout.decode().splitlines()]


def complete_in_zsh(upsweep, line):
    """The words that zsh lists on a terminal after the line and two tabs."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    upsweep.write("_upsweep", upsweep.text("completion", "zsh"))
    upsweep.write(
        "complete.zsh",
        """
        zmodload zsh/zpty
        shell() { zpty -w z "$1"; }
        zpty z zsh -f -i
        shell 'PS1= RPS1= ; stty columns 200 rows 500; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; path=($PWD $path)'
        shell "zstyle ':completion:*' list-prompt ''; zstyle ':completion:*' format ''; setopt list_rows_first no_auto_menu; LISTMAX=1000"
        shell 'echo re''ady'
        zpty -r z output '*ready*'
        zpty -w -n z "$1"$'\\t\\t'
        sleep 2
        shown=
        while zpty -r -t z output; do shown+=$output; done
        print -r -- "$shown"
        zpty -d z
        """,
    )
    done = upsweep.run_other(["zsh", "-f", "complete.zsh", " ".join(line)])
    assert done.returncode == 0, done
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", " ", done.stdout.decode()).replace("\r", " ").split()


@pytest.fixture
def shell_folder(upsweep):
    os.symlink(conftest.COMMAND, upsweep.folder / "upsweep")
    upsweep.write("table.csv", "x\n1\n")
    return upsweep


@pytest.mark.parametrize("complete", [complete_in_bash, complete_in_zsh, complete_in_fish])
def test_completion(shell_folder, complete):
    def offered(*line):
        return set(complete(shell_folder, ["upsweep", *line]))

    assert offered("") >= set(COMMANDS)
    assert offered("scan", "--op", "") >= {"add", "mul", "min", "max", "and", "or", "xor"}
    assert "argmax" not in offered("scan", "--op", "") and "argmax" in offered("segment", "--op", "")
    assert offered("scan", "in.npy", "--nulls", "") >= {"skip", "refuse"}
    assert offered("scan", "--dev") >= {"--device", "--device-memory"}
    problems = {"pack", "broadcast", "filtered-sum"}  # zsh also shows the help of options, which names other problems
    assert offered("ladder", "") >= problems
    assert offered("ladder", "--threads", "1", "") >= problems
    assert not offered("ladder", "scan", "") & problems  # it takes one problem
    assert offered("bench", "scan", "") >= problems  # it takes several
    assert offered("completion", "") >= {"bash", "zsh", "fish"}
    assert not offered("completion", "bash", "") & {"zsh", "fish"}
    assert offered("help", "") >= set(COMMANDS) and not offered("help", "scan", "") & set(COMMANDS) - {"scan", "help"}


@pytest.mark.parametrize("complete", [complete_in_zsh, complete_in_fish])
def test_completion_of_files(shell_folder, complete):
    """bash completes names of files by itself where the script has no answer."""
    shown = " ".join(complete(shell_folder, ["upsweep", "reduce", "tab"]))
    assert "table.csv" in shown or "le.csv" in shown
    assert complete_in_bash(shell_folder, ["upsweep", "reduce", "tab"]) == []
    assert not (shell_folder.folder / "options").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_is_completed(upsweep, shell):
    script = upsweep.text("completion", shell)
    for command in COMMANDS:
        for option in re.findall(r"^  (?:-\w,)?--([\w-]+)", upsweep.text(command, "--help"), re.MULTILINE):
            assert (f"-l {option} " if shell == "fish" else f"--{option}") in script, (command, option)


def test_other_shells(upsweep):
    done = upsweep.run("completion", "ksh")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"upsweep: unknown shell 'ksh'; available: bash, zsh, fish\n"


def test_the_manual_page(upsweep):
    page = upsweep.write("upsweep.1", upsweep.text("man"))
    source = (upsweep.folder / page).read_text()
    assert source.isascii()
    if shutil.which("mandoc"):
        done = upsweep.run_other(["mandoc", "-T", "lint", "-W", "warning", page])
        faults = [line for line in done.stdout.decode().splitlines() if "missing date" not in line]
        assert not faults, faults
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    done = upsweep.run_other(["man", "-l", "--warnings", page], env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    assert done.stderr == b"", done
    text = done.stdout.decode()
    assert "-V, --version" in text and "The GPU that --device cuda, or a rung" in text
    assert "upsweep bench [PROBLEM ...]" in text and "upsweep ladder [PROBLEM]\n" in text
    assert "--mpi FILE ...\n" in text and "--compare FILE FILE\n" in text and "--op VALUE\n" in text
    for command in COMMANDS:
        assert f"upsweep {command}" in text
        for option in re.findall(r"^  ((?:-\w,)?--[\w-]+)", upsweep.text(command, "--help"), re.MULTILINE):
            assert option.replace(",", ", ") in text, (command, option)
    assert "FROM 'build/tour/lineitem.parquet' WHERE l_shipdate < date '1995-01-01'\"" in text  # examples can be copied
