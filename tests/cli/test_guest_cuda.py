# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_guest_cuda.py: `upsweep ladder --device cuda --with`: solutions of the GPU exercises pass, and mutants
# are refused. Skipped without a GPU.
#
# A machine with a GPU may have no nvcc. Elsewhere `python3 tests/cli/test_guest_cuda.py FOLDER` compiles every library
# into FOLDER, and UPSWEEP_CUDA_GUESTS=FOLDER lets the tests use it.
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("UPSWEEP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
STUBS = ROOT / "docs" / "exercises"
SOLUTIONS = ROOT / "tests" / "guests"
NVCC = ["nvcc", "-std=c++17", "-O2", "-arch=native", "-Xcompiler=-fPIC", "-shared", f"-I{ROOT / 'include'}"]

TYPES = {
    "scan_hillis_steele": "int64",
    "scan_blelloch": "int32",
    "scan_shuffle": "int32",
    "scan_lookback": "int32",
}

if not SOLUTIONS.is_dir():
    pytest.skip("the sources of guests are not here", allow_module_level=True)

# ------------------------------------------------------------------------------------------------------------ libraries

MUTANTS = [
    # the exercise, the code that is replaced, the new code, and the expected message
    ("scan_hillis_steele", "if (i < n) out[i] = x", "out[i] = x",
     r"of 1 int64, with aligned arrays: writes past the end of `out`, at index 1$"),
    ("scan_hillis_steele", "x[1 - from][thread] = x[from][thread] +", "x[1 - from][thread] = x[1 - from][thread] +",
     r"of 1 int64, with aligned arrays: wrong from index 0: -1 expected, "),
    ("scan_hillis_steele", "sums[tile - 1]", "sums[tile]", r"of 1,023 int64, with aligned arrays: wrong from index 512: "),
    ("scan_blelloch", "    x[place(kTile - 1)] = 0;\n", "", r"of 1 int32, with aligned arrays: wrong from index 0: -1 expected, "),
    ("scan_blelloch", "x[place(right)] += left;", "x[place(right)] = left;", "of 7 int32, with aligned arrays: wrong from index 3: "),
    ("scan_blelloch", "i < kTile && first + i < n; i += kThreads) out[first + i] = x", "i < kTile; i += kThreads) out[first + i] = x",
     r"of 1 int32, with aligned arrays: writes past the end of `out`, at index 1$"),
    ("scan_blelloch", "+ in[first + i];", ";", r"of 1 int32, with aligned arrays: wrong from index 0: -1 expected, 0 found$"),
    ("scan_shuffle", "lane >= stride", "lane > stride", r"of 2 int32, with aligned arrays: wrong from index 1: -?\d+ expected, -?\d+ found$"),
    ("scan_shuffle", "  if (warp > 0) sum += warps[warp - 1];\n", "",
     r"of 33 int32, with aligned arrays: wrong from index 32: -?\d+ expected, -?\d+ found$"),
    ("scan_shuffle", "tiles - 1, kTile, 0, stream", "tiles - 1, kTile + 1024, 0, stream",
     r"of 1,023 int32, with aligned arrays: returns error 9 \(invalid configuration argument\)$"),
    ("scan_lookback", "if (lane == kWarps - 1) prefix = look_back(words + 1, tile, all)",
     "if (lane == kWarps - 2) prefix = look_back(words + 1, tile, all)", r"of 4,095 int32, with aligned arrays: wrong from index 3840: "),
    ("scan_lookback", "  if (tiles == 0) return 0;\n", "",
     r"of 0 int32, with aligned arrays: returns error 9 \(invalid configuration argument\)$"),
    ("scan_lookback", "+ through - sum;", "+ through;", r"of 1 int32, with aligned arrays: wrong from index 0: -1 expected, -2 found$"),
    ("scan_lookback", "i < kTile && first + i < n; i += kThreads) out", "i < kTile; i += kThreads) out",
     r"of 1 int32, with aligned arrays: writes past the end of `out`, at index 1$"),
]  # fmt: skip

# A rung in one thread, for mistakes that do not depend on an algorithm.
LOOP = """
#include <upsweep/rung.h>
__global__ void scan(int64_t* in, int64_t n, int64_t* out, int64_t step) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) out[i] = sum += in[i] * step;
  KERNEL
}
int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }
int upsweep_rung_cuda_scan(upsweep_type type, const void* input, int64_t n, void* output, upsweep_rung_stream stream) {
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  auto* in = (int64_t*)input;
  auto* out = (int64_t*)output;
  BEFORE
  scan<<<1, 1, 0, STREAM>>>(in, n, out, 1);
  return 0;
}
"""


def loop(kernel="", before="", stream="stream"):
    return LOOP.replace("KERNEL", kernel).replace("BEFORE", before).replace("STREAM", stream)


PAIRS = "if (n >= 2) { longlong2 two = *(longlong2*)in; if (two.x == 12345) out[0] = two.y; }"
ALONE = "scan of {} int64, with aligned arrays: "
MISTAKES = {
    # the code, and the whole message
    "right": (loop(), None),
    "writes_its_input": (loop("if (n > 8) in[3] += 1;"), ALONE.format(9) + "writes into its input `in`"),
    "writes_before": (loop("out[-2] = 7;"), ALONE.format(0) + "writes before the beginning of `out`, at index -2"),
    "writes_far_past": (loop("if (n > 8) out[n + 1000] = 7;"), ALONE.format(9) + "writes past the end of `out`, at index 1009"),
    "writes_past_its_input": (loop("if (n > 8) in[n] = 7;"), ALONE.format(9) + "writes past the end of `in`, at index 9"),
    "its_own_stream": (
        loop(stream="0"),
        "scan of 1,025 int64, with earlier work in its stream: not all of its work is in the given stream: "
        + "wrong from index 0: -1 expected, nothing written",
    ),
    "no_launch": (
        loop(before="if (n > 8) scan<<<1, 2048, 0, stream>>>(in, n, out, 1);"),
        ALONE.format(9) + "returns 0 after a CUDA error: invalid configuration argument",
    ),
    "an_error": (loop(before="if (n > 8) return 98;"), ALONE.format(9) + "returns error 98 (invalid device function)"),
    "an_error_of_its_own": (loop(before="if (n > 8) return 12345;"), ALONE.format(9) + "returns error 12345"),
    "illegal_address": (
        loop("if (n > 8) *(volatile int*)8 = 1;"),
        ALONE.format(9) + "its work on the GPU fails: an illegal memory access was encountered",
    ),
    "illegal_address_when_timed": (
        loop("if (n == 500000) *(volatile int*)8 = 1;"),
        ALONE.format("500,000") + "its work on the GPU fails: an illegal memory access was encountered",
    ),
    "pairs": (loop(PAIRS), "scan of 2 int64, with misaligned arrays: its work on the GPU fails: misaligned address"),
    "reads_on_the_cpu": (loop(before="if (n > 8) return in[0] == 77;"), ALONE.format(9) + "crashes (segmentation fault)"),
    "ends": (loop(before="if (n > 8) _Exit(3);").replace("#include", "#include <cstdlib>\n#include", 1), ALONE.format(9) + "ends the process with status 3"),
    # The first call of all has no elements, and nothing to remember.
    "remembers": (
        loop(before="static int64_t last; if (n == last) return 0; last = n;"),
        "scan of 1 int64, with misaligned arrays: wrong from index 0: -1 expected, nothing written",
    ),
    "never_ends": (loop("while (n > 8 && *(volatile int64_t*)in != 7) {}"), ALONE.format(9) + "takes more than 60 s"),
}  # fmt: skip


def text_of(folder, name):
    return (folder / f"{name}.cu").read_text()


def mutant(name, old, new):
    text = text_of(SOLUTIONS, name)
    assert text.count(old) == 1, (name, old)
    return text.replace(old, new)


def libraries():
    """Returns the source of every library by its name."""
    texts = {f"solution_{name}": text_of(SOLUTIONS, name) for name in TYPES}
    texts |= {f"stub_{name}": text_of(STUBS, name) for name in TYPES}
    texts |= {f"mutant_{i}": mutant(*one[:3]) for i, one in enumerate(MUTANTS)}
    return texts | {f"mistake_{name}": text for name, (text, _) in MISTAKES.items()}


def compile_into(folder, name, text):
    (folder / f"{name}.cu").write_text(text)
    command = [*NVCC, "-o", f"{name}.so", f"{name}.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def library(tmp_path):
    """Returns the path of a library, which is compiled as the exercises say."""

    def make(name):
        if "UPSWEEP_CUDA_GUESTS" in os.environ:
            shutil.copy(pathlib.Path(os.environ["UPSWEEP_CUDA_GUESTS"]) / f"{name}.so", tmp_path / "my_rung.so")
        elif shutil.which("nvcc"):
            compile_into(tmp_path, "my_rung", libraries()[name])
        else:
            pytest.skip("no nvcc, and no UPSWEEP_CUDA_GUESTS")
        return "./my_rung.so"

    return make


@pytest.fixture
def gpu(upsweep):
    done = upsweep.run("ladder", "reduce", "--sizes", "1", "--types", "int64", "--rung", "cuda.one_kernel", "--json")
    if json.loads(done.stdout).get("error", {}).get("code") in ("no_device", "not_built"):
        pytest.skip("skipped: no device")
    assert done.returncode == 0, done


def guests(upsweep, *args):
    """Returns the guest's rows of a ladder, which may be refused. No other rung may suffer."""
    done = upsweep.run("ladder", "scan", "--device", "cuda", *args, "--json")
    assert done.returncode in (0, 1), done
    rows = json.loads(done.stdout)["rows"]
    found = [row for row in rows if row["rung"].startswith("guest.")]
    assert found and all(row["kind"] == "guest" and row["device"] != "cpu" for row in found)
    assert all(row["status"] != "failed" for row in rows if row not in found), rows
    assert (done.returncode == 1) == any(row["status"] == "failed" for row in found)
    return found


def reason_of(upsweep, path, dtype, size="1000"):
    (row,) = guests(upsweep, "--types", dtype, "--sizes", size, "--with", path)
    assert (row["status"] == "verified") == (row["reason"] is None), row
    # The version of CUDA decides which of two errors a launch with too many threads, or with no blocks, gives.
    return row["reason"] and re.sub(r"\b(1 \()?invalid argument", any_launch_error, row["reason"])


def any_launch_error(found):
    return ("9 (" if found[1] else "") + "invalid configuration argument"


# ------------------------------------------------------------------------------------------------------- without a GPU


def test_every_exercise_is_described():
    text = (ROOT / "docs" / "guide" / "exercises.md").read_text()
    for folder in (STUBS, SOLUTIONS):
        assert {path.stem for path in folder.glob("*.cu")} == set(TYPES)
    assert all(f"{name}.cu" in text for name in TYPES)


def test_every_mutant_differs():
    assert len(set(libraries().values())) == len(libraries())


@pytest.mark.parametrize("name", [*(f"solution_{one}" for one in TYPES), *(f"stub_{one}" for one in TYPES)])
def test_it_compiles_and_is_a_rung_of_the_gpu_only(upsweep, library, name):
    message = upsweep.fails("invalid_argument", "ladder", "scan", "--device", "cpu", "--with", library(name))["message"]
    assert message == (
        "--with: ./my_rung.so has a rung of scan for a GPU, none for the CPU (upsweep_rung_scan): add --device cuda"
    )


# ---------------------------------------------------------------------------------------------------------- with a GPU


@pytest.mark.parametrize("name", TYPES)
def test_a_solution_passes(upsweep, gpu, library, name):
    alone = ["--with", library(f"solution_{name}"), "--rung", "guest.my_rung"]  # other rungs take a minute
    for row in guests(upsweep, "--types", TYPES[name], "--sizes", "1,1000,1e6,5e7", *alone):
        assert (row["status"], row["reason"], row["rung"]) == ("verified", None, "guest.my_rung"), row
        assert row["median_s"] > 0 and row["samples_s"] and row["speedup"] > 0
        assert row["graph_s"] is None and row["threads"] is None


@pytest.mark.parametrize("name", TYPES)
def test_a_stub_is_refused_or_right(upsweep, gpu, library, name):
    reason = reason_of(upsweep, library(f"stub_{name}"), TYPES[name])
    if name == "scan_hillis_steele":
        said = r"scan of 1,023 int64, with aligned arrays: wrong from index 512: -?\d+ expected, -?\d+ found"
        assert re.fullmatch(said, reason)
    else:
        assert reason is None


@pytest.mark.parametrize("number", range(len(MUTANTS)), ids=[f"{m[0]}-{i}" for i, m in enumerate(MUTANTS)])
def test_a_mutant_is_refused(upsweep, gpu, library, number):
    name, _, _, said = MUTANTS[number]
    reason = reason_of(upsweep, library(f"mutant_{number}"), TYPES[name])
    assert reason is not None and re.search(said, reason), reason


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(upsweep, gpu, library, mistake):
    # The other rungs are timed after it: also an illegal address must not affect them.
    assert reason_of(upsweep, library(f"mistake_{mistake}"), "int64", "500000") == MISTAKES[mistake][1]


def test_one_rung_alone_and_a_type_that_it_does_not_take(upsweep, gpu, library):
    path = library("solution_scan_shuffle")
    rows = guests(upsweep, "--types", "int32,int8", "--sizes", "1000", "--with", path, "--rung", "guest.my_rung")
    assert [(row["type"], row["status"], row["reason"]) for row in rows] == [
        ("int32", "verified", None),
        ("int8", "skipped", "does not support this type"),
    ]


def test_text_fits_80_columns(upsweep, gpu, library):
    args = ["ladder", "scan", "--device", "cuda", "--sizes", "1e5", "--types", "int64", "--with"]
    done = upsweep.run(*args, library("stub_scan_hillis_steele"))
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1 and max(map(len, lines)) <= 80, lines
    assert any(line.startswith("  guest.my_rung") for line in lines), lines


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for one, text in libraries().items():
        print(one, flush=True)
        compile_into(target, one, text)
