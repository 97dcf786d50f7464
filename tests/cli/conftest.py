# SPDX-License-Identifier: Apache-2.0
# tests/cli/conftest.py: runs the command in a separate folder, and checks the properties that every success and every
# failure must have.
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Callable
from typing import NamedTuple

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed")

COMMAND = os.environ.get("UPSWEEP_COMMAND", "")
STATUS = {
    "overflow": 1,
    "stop_before_start": 1,
    "negative_start": 1,
    "stop_past_end": 1,
    "unequal_lengths": 1,
    "null_value": 1,
    "empty": 1,
    "malformed": 1,
    "unsupported_type": 1,
    "division_by_zero": 1,
    "not_positive": 1,
    "invalid_argument": 2,
    "unknown_rung": 2,
    "unknown_column": 2,
    "unknown_table": 2,
    "bad_sql": 2,
    "unsupported_sql": 2,
    "unsupported": 2,
    "not_built": 2,
    "no_device": 4,
    "not_found": 3,
    "unreadable": 3,
    "is_directory": 3,
    "disk_full": 3,
    "unwritable": 3,
    "out_of_memory": 3,
    "communication": 3,
    "interrupted": 130,
}


class Operator(NamedTuple):
    """An operator's NumPy function, and its identity for integers of a type and for floats."""

    ufunc: np.ufunc
    identity: Callable[[np.iinfo], int]
    of_floats: float | None  # None: it is for integers only


OPERATORS = {
    "add": Operator(np.add, lambda limits: 0, 0),
    "mul": Operator(np.multiply, lambda limits: 1, 1),
    "min": Operator(np.minimum, lambda limits: limits.max, np.inf),
    "max": Operator(np.maximum, lambda limits: limits.min, -np.inf),
    "and": Operator(np.bitwise_and, lambda limits: limits.max if limits.min == 0 else -1, None),
    "or": Operator(np.bitwise_or, lambda limits: 0, None),
    "xor": Operator(np.bitwise_xor, lambda limits: 0, None),
}


def identity(op, dtype):
    dtype = np.dtype(dtype)
    return OPERATORS[op].of_floats if dtype.kind == "f" else OPERATORS[op].identity(np.iinfo(dtype))


def pytest_configure(config):
    if not COMMAND:
        pytest.exit("UPSWEEP_COMMAND is not set: name the built command in it", returncode=4)


class Upsweep:
    """The command, run in a folder that contains only the files of the test."""

    def __init__(self, folder):
        self.folder = folder

    def save(self, name, array, dtype=None):
        np.save(self.folder / name, np.asarray(array, dtype=dtype))
        return name

    def load(self, name):
        return np.load(self.folder / name, allow_pickle=False)

    def write(self, name, content):
        (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def table(self, name, columns, **options):
        """Writes columns to a .parquet, .arrow (IPC file), .arrows (IPC stream) or .csv file, according to the name's
        suffix."""
        import pyarrow as pa

        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        path = str(self.folder / name)
        if name.endswith(".parquet"):
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, path, **options)
        elif name.endswith(".csv"):
            import pyarrow.csv

            pyarrow.csv.write_csv(table, path)
        else:
            new = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
            with new(path, table.schema) as writer:
                writer.write_table(table, **options)
        return name

    def run(self, *args, timeout=3600, **options):
        options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.folder)
        if options["stdin"] is None:
            del options["stdin"]
        return subprocess.run([COMMAND, *map(str, args)], timeout=timeout, check=False, **options)

    def ok(self, *args, **options):
        """Runs to success, with nothing on standard error (which is a pipe); returns the bytes of standard output."""
        done = self.run(*args, **options)
        assert (done.returncode, done.stderr) == (0, b""), f"{args}: {done}"
        return done.stdout

    def text(self, *args, **options):
        return self.ok(*args, **options).decode()

    def json(self, *args, **options):
        return only_object(self.ok(*args, "--json", **options))

    def npy(self, *args, **options):
        """Returns the array that `--format npy` writes."""
        stream = io.BytesIO(self.ok(*args, "--format", "npy", **options))
        array = np.load(stream, allow_pickle=False)
        assert stream.read() == b""
        return array

    def shell(self, script):
        """Runs a bash script with pipefail, where $U is the command."""
        return self.run_other(["bash", "-o", "pipefail", "-c", script])

    def run_other(self, args, timeout=3600, env=None, **options):
        """Runs another program, where $U is the command."""
        return subprocess.run(
            args,
            cwd=self.folder,
            env={**(env or os.environ), "U": COMMAND},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout,
            check=False,
            **options,
        )

    def files(self):
        """Returns the contents of the folder; equal before and after if nothing was changed."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            status = path.lstat()
            found[str(path.relative_to(self.folder))] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    def fails(self, word, *args, index="any", **options):
        """Fails with this error code (or one of several), as text and as JSON, and does not change the folder."""
        words = (word,) if isinstance(word, str) else word
        before = self.files()

        plain = self.run(*args, **options)
        assert plain.returncode in {STATUS[one] for one in words}, f"{args}: {plain}"
        assert plain.stdout == b"", f"{args}: {plain}"
        check_message(plain.stderr)

        if tuple(args[-2:]) == ("--format", "npy"):  # it cannot be combined with --json
            error = None
        else:
            done = self.run(*args, "--json", **options)
            assert done.returncode == plain.returncode, f"{args}: {done}"
            result = only_object(done.stdout)
            assert list(result) in (["error"], ["error", "remarks"]), result
            error = result["error"]
            assert {"code", "message", "index"} <= set(error) <= {"code", "message", "index", "file", "line"}, error
            assert "line" not in error or "file" in error, error
            assert error["code"] in words, f"{args}: {error}"
            assert done.returncode == STATUS[error["code"]], f"{args}: {done}"
            assert isinstance(error["message"], str) and error["message"].strip(), error
            assert b"\x1b" not in done.stderr
            if index != "any":
                assert error["index"] == index, f"{args}: {error}"

        assert self.files() == before, f"{args} changed the folder"
        return error


def only_object(output):
    """Parses standard output, which must be exactly one JSON object. NaN and Infinity are not JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    assert output.endswith(b"\n") and output.count(b"\n") == 1, output
    result = json.loads(output, parse_constant=refuse)
    assert isinstance(result, dict)
    return result


def check_message(stderr):
    """The message is one line that begins with the program's name; errors in SQL have two more lines that show the
    place."""
    text = stderr.decode(errors="replace")
    assert text.startswith("upsweep: ") and text.endswith("\n") and text.count("\n") in (1, 3), stderr
    if text.count("\n") == 3:
        excerpt, caret = text.split("\n")[1:3]
        assert excerpt.startswith("  ") and re.fullmatch(" {2,}\\^", caret), stderr
        assert max(len(excerpt), len(caret)) <= 80, stderr
    assert len(text) > len("upsweep: \n") and not {"\x1b", "\r"} & set(text), stderr


@pytest.fixture(autouse=True)
def devices(request, monkeypatch):
    """Hides GPUs from all tests except those of `--device cuda`: the results that the others expect must not depend on
    the machine."""
    if request.module.__name__ not in ("test_device", "test_guest_cuda"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def upsweep(tmp_path):
    return Upsweep(tmp_path)


@pytest.fixture(scope="session")
def arrow_reason(tmp_path_factory):
    """Returns why columns of tables cannot be tested, or an empty string."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return "pyarrow is not installed"
    there = Upsweep(tmp_path_factory.mktemp("arrow"))
    there.table("t.parquet", {"x": [1]})
    done = there.run("reduce", "t.parquet:x", "--json")
    with contextlib.suppress(ValueError, KeyError):
        if json.loads(done.stdout)["error"]["code"] == "not_built":
            assert done.returncode == 2, done
            return "this build of upsweep has no Arrow"
    return ""


@pytest.fixture
def arrow(arrow_reason):
    """Returns pyarrow; skips the test if the build cannot read Parquet, Arrow IPC and CSV."""
    if arrow_reason:
        pytest.skip(arrow_reason)
    import pyarrow

    return pyarrow


@pytest.fixture
def big(tmp_path):
    """Makes large sparse files by `big(name, bytes)`. Deletes them after the test, even if pytest keeps its folders."""
    made = []

    def make(name, dtype, count):
        path = pathlib.Path(tmp_path) / name
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (count,)}
            )
            file.truncate(file.tell() + count * np.dtype(dtype).itemsize)
        made.append(path)
        return path

    make.keep_track = lambda name: made.append(tmp_path / name) or name
    yield make
    for path in made:
        path.unlink(missing_ok=True)
