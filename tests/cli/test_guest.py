# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_guest.py: `upsweep ladder --with`: solutions of the exercises pass; for each mutant it reports what is
# wrong and where.
import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(os.environ.get("UPSWEEP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
STUBS = ROOT / "docs" / "exercises"
SOLUTIONS = ROOT / "tests" / "guests"
COMPILERS = {".c": os.environ.get("CC") or "cc", ".cpp": os.environ.get("CXX") or "c++"}

if not SOLUTIONS.is_dir():
    pytest.skip("the sources of guests are not here", allow_module_level=True)
if not all(shutil.which(one) for one in COMPILERS.values()):
    pytest.skip("no compiler for the guests", allow_module_level=True)

PROBLEMS = {
    "scan_loop": ("scan", "int32,int64,float32,float64"),
    "scan_threads": ("scan", "int64"),
    "scan_simd": ("scan", "int32"),
    "reduce_accumulators": ("reduce", "float64"),
    "offsets_loop": ("offsets", "int64"),
    "segmented_reduce_skewed": ("segmented-reduce", "float64"),
    "filtered_sum_branchless": ("filtered-sum", ""),
    "subset_sum_bits": ("subset-sum", ""),
}


def source_of(folder, name):
    return next(path for path in folder.iterdir() if path.stem == name)


def sources_of_cpu(folder):
    return [path for path in folder.iterdir() if path.suffix in COMPILERS]


@pytest.fixture
def build(tmp_path):
    """Compiles a source to a shared library, as the exercises say, and returns its path."""

    def make(text, suffix, name="my_rung"):
        (tmp_path / (name + suffix)).write_text(text)
        standard = {".c": "-std=c11", ".cpp": "-std=c++20"}[suffix]
        command = [COMPILERS[suffix], standard, "-O2", "-pthread", "-fPIC", "-shared", f"-I{ROOT / 'include'}"]
        done = subprocess.run(
            [*command, "-Wall", "-Wextra", "-o", name + ".so", name + suffix],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return f"./{name}.so"

    return make


def options_of(name, sizes="1,1000"):
    problem, types = PROBLEMS[name]
    args = ["ladder", problem, "--sizes", "10" if problem == "subset-sum" else sizes]
    return args + (["--types", types] if types else []) + (["--largest", "1000"] if problem == "subset-sum" else [])


def guests(upsweep, *args):
    """Returns the guest's rows of a ladder, which may be refused."""
    done = upsweep.run(*args, "--json")
    assert done.returncode in (0, 1) and done.stderr == b"", done
    rows = json.loads(done.stdout)["rows"]
    found = [row for row in rows if row["rung"].startswith("guest.")]
    assert found and all(row["kind"] == "guest" for row in found)
    assert all(row["status"] != "failed" for row in rows if row not in found)
    assert (done.returncode == 1) == any(row["status"] == "failed" for row in found)
    return found


# ----------------------------------------------------------------------------------------------------- the exercises


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_solution_passes(upsweep, build, name):
    source = source_of(SOLUTIONS, name)
    library = build(source.read_text(), source.suffix)
    for row in guests(upsweep, *options_of(name), "--with", library):
        assert (row["status"], row["reason"]) == ("verified", None), row
        assert row["median_s"] > 0 and row["samples_s"] and row["speedup"] > 0
        assert row["rung"] == ("guest.sixteen" if name == "reduce_accumulators" else "guest.my_rung")


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_stub_is_refused_or_right(upsweep, build, name):
    source = source_of(STUBS, name)
    library = build(source.read_text(), source.suffix)
    refused = {
        "scan_loop": "scan of 1 int64, with 1 thread: wrong from index 0: -1 expected, nothing written",
        "scan_threads": "scan of 2 int64, with 2 threads: wrong from index 1: 5 expected, 6 found",
        "offsets_loop": "offsets of 0 lists, bounds int64, with 1 thread: wrong from index 0: 0 expected, nothing written",
    }
    problem, types = PROBLEMS[name]
    args = options_of(name)
    if name == "scan_loop":
        args[args.index(types)] = "int64"
    for row in guests(upsweep, *args, "--with", library):
        assert row["reason"] == refused.get(name), row


def test_every_exercise_is_described():
    text = (ROOT / "docs" / "guide" / "exercises.md").read_text()
    for folder in (STUBS, SOLUTIONS):
        assert {path.stem for path in sources_of_cpu(folder)} == set(PROBLEMS)
    for name in PROBLEMS:
        assert source_of(STUBS, name).name in text


# ---------------------------------------------------------------------------------------------------------- mutants

MUTANTS = [
    # the exercise, the code that is replaced, the new code, and the expected message
    ("scan_loop", "uint64_t sum = 0;", "uint64_t sum = n > 1;", r"of 2 int64.*from index 0: -1 expected, 0 found"),
    ("scan_loop", "uint32_t sum = 0;\n  for (int64_t i = 0; i < n;", "uint32_t sum = 0;\n  for (int64_t i = 0; i + 1 < n;",
     r"of 1 int32, with 1 thread: wrong from index 0: -?\d expected, nothing written"),
    ("scan_loop", "double sum = 0;\n  for (int64_t i = 0; i < n;", "double sum = 0;\n  for (int64_t i = 0; i <= n;",
     r"of 0 float64, with 1 thread: reads or writes past the end of `(in|out)`"),
    ("scan_loop", "double sum = 0;", "float sum = 0;", r"float64.*wrong from index 0: 0\.\d{9,} expected, 0\.\d+ found"),
    ("scan_loop", "float* x, int64_t n, float* sums) {\n", "float* x, int64_t n, float* sums) {\n  if (n > 8) ((float*)x)[0] += 1;\n",
     r"of 9 float32, with 1 thread: writes into its input `in`"),
    ("scan_threads", "carries[w] += carries[w - 1];", "carries[w] += w == 3 ? 0 : carries[w - 1];",
     r"of \d+ int64, with 7 threads: wrong from index"),
    ("scan_threads", "w < carries.size()", "w + 2 < carries.size()", r"of 2 int64, with 7 threads: wrong from index 1"),
    ("scan_simd", "    v += carry;\n", "", r"of 16 int32, with 1 thread: wrong from index 8: -?\d+ expected, -?\d+ found"),
    ("scan_simd", "i + 8 <= n", "i < n", r"of 1 int32, with 1 thread: reads or writes past the end of `(in|out)`"),
    ("scan_simd", "carry[0]; i < n", "carry[0]; i + 1 < n", r"nothing written"),
    ("reduce_accumulators", "for (; i < n; ++i) total += x[i];", "", r"of 1 float64.*: wrong value: 0\.\d+ expected, 0 found"),
    ("reduce_accumulators", "i + kTotals <= n", "i < n", r"of 1 float64, with 1 thread: reads or writes past the end of `in`"),
    ("reduce_accumulators", "k < kTotals; ++k) total +=", "k < kTotals - 1; ++k) total +=", r"of 16 float64.*: wrong value: .* expected"),
    ("offsets_loop", "  offsets[0] = 0;\n", "", r"of 0 lists.*: wrong from index 0: 0 expected, nothing written"),
    ("offsets_loop", "offset += to[i] - from[i]", "offset = (int16_t)(offset + to[i] - from[i])", r"wrong from index \d+: 32\d+ expected, -32\d+ found"),
    ("offsets_loop", "i < n", "i <= n", r"of \d lists.*: reads or writes past the end of `(starts|stops|offsets)`"),
    ("segmented_reduce_skewed", "for (int64_t i = first; i < last; ++i) out", "for (int64_t i = first; i < last; ++i) if (offsets[i] < offsets[i + 1]) out",
     r"lists: empty.*: wrong from index 0: 0 expected, nothing written"),
    ("segmented_reduce_skewed", "part.list >= 0", "part.list >= lists", r"with 2 threads: wrong from index"),
    ("segmented_reduce_skewed", "std::min(end, offsets[i + 1])", "offsets[i + 1]", r"with 2 threads: wrong from index"),
    ("filtered_sum_branchless", "key[i] < limit", "key[i] <= limit", r"wrong value: \d+ expected, \d+ found"),
    ("subset_sum_bits", "w = last; w >= words; --w", "w = words; w <= last; ++w", r"wrong from sum \d+: 0 expected, 1 found"),
    ("subset_sum_bits", "if (bits > 0 && w > words)", "if (w > words)", r"wrong from sum \d+: 0 expected, 1 found"),
    ("subset_sum_bits", "if (target % 64 != 63)", "if (target < 0)", r"wrong from sum \d+: 0 expected, 1 found"),
    ("subset_sum_bits", "last + 1", "last + 2", r"writes past the end of `sums`"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "said"), MUTANTS, ids=[f"{m[0]}-{i}" for i, m in enumerate(MUTANTS)])
def test_a_mutant_is_refused(upsweep, build, name, old, new, said):
    source = source_of(SOLUTIONS, name)
    text = source.read_text()
    assert text.count(old) == 1
    library = build(text.replace(old, new), source.suffix)
    reasons = {row["reason"] for row in guests(upsweep, *options_of(name), "--with", library) if row["reason"]}
    assert len(reasons) == 1 and re.search(said, reasons.pop()), reasons


RACE = """
#include <upsweep/rung.h>
#include <chrono>
#include <thread>
#include <vector>
int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }
int upsweep_rung_reduce(upsweep_type type, const void* in, int64_t n, void* sum, int threads) {
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  const auto* x = static_cast<const int64_t*>(in);
  volatile int64_t total = 0;
  std::vector<std::thread> workers;
  for (int w = 0; w < threads; ++w) {
    workers.emplace_back([=, &total] {
      int64_t part = total;
      for (int64_t i = n * w / threads; i < n * (w + 1) / threads; ++i) part += x[i];
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      total = part;
    });
  }
  for (auto& worker : workers) worker.join();
  *static_cast<int64_t*>(sum) = total;
  return 0;
}
"""


def test_a_race_is_refused(upsweep, build):
    rows = guests(upsweep, "ladder", "reduce", "--sizes", "1000", "--types", "int64", "--with", build(RACE, ".cpp"))
    assert re.search(r"with [27] threads: wrong value: -?\d+ expected, -?\d+ found", rows[0]["reason"]), rows


# ------------------------------------------------------------------------------------------------- what else goes wrong

VERSION = "#include <upsweep/rung.h>\nint upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }\n"
SCAN = "int upsweep_rung_scan(upsweep_type t, const void* in, int64_t n, void* out, int threads) {\n"
SCAN += "  (void)t, (void)in, (void)n, (void)out, (void)threads;\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 5; }", "scan of 0 int32, with 1 thread: returns error 5"),
        ("*(volatile int*)8 = 1; return 0; }", "scan of 0 int32, with 1 thread: crashes (segmentation fault)"),
        ("__builtin_trap(); }", "scan of 0 int32, with 1 thread: crashes ("),
        ("_Exit(3); }", "scan of 0 int32, with 1 thread: ends the process with status 3"),
    ],
)
def test_what_fails_there_is_told(upsweep, build, body, said):
    library = build("#include <stdlib.h>\n" + VERSION + SCAN + body, ".c")
    rows = guests(upsweep, "ladder", "scan", "--sizes", "9", "--types", "int32", "--with", library)
    assert rows[0]["status"] == "failed" and rows[0]["reason"].startswith(said), rows


SUMS = "int64_t sum = 0;\n  for (int64_t i = 0; i < n; ++i) ((int64_t*)out)[i] = sum += ((const int64_t*)in)[i];\n"
LOOP = SUMS + "  return 0;\n}\n"


def test_a_call_without_end_is_told_whatever_it_does_to_signals(upsweep, build):
    body = "sigset_t all;\n  sigfillset(&all);\n  sigprocmask(SIG_BLOCK, &all, 0);\n  for (;;) pause();\n}"
    library = build("#define _GNU_SOURCE\n#include <signal.h>\n#include <unistd.h>\n" + VERSION + SCAN + body, ".c")
    rows = guests(upsweep, "ladder", "scan", "--sizes", "9", "--types", "int64", "--with", library)
    assert rows[0]["reason"] == "scan of 0 int64, with 1 thread: takes more than 20 s", rows


@pytest.mark.parametrize(
    ("thrown", "said"),
    [
        ('if (n == 0) throw std::runtime_error("so\\ndone\\nit is")', "scan of 0 int64, with 1 thread: throws an exception: so done it is"),
        ("if (n == 0) throw 3", "scan of 0 int64, with 1 thread: throws an exception"),
        ('if (n == 1000000) throw std::runtime_error("so")', "scan of 1,000,000 int64, with 1 thread: throws an exception: so"),
        ("if (n == 1000000) throw 3", "scan of 1,000,000 int64, with 1 thread: throws an exception"),
    ],
)  # fmt: skip
def test_an_exception_fails_the_rung_alone(upsweep, build, thrown, said):
    text = VERSION.replace("(void)", "()") + SCAN + f"  {thrown};\n  " + LOOP
    library = build("#include <stdexcept>\n" + text, ".cpp")
    rows = guests(upsweep, "ladder", "scan", "--sizes", "1e6", "--types", "int64", "--threads", "1", "--with", library)
    assert [(row["status"], row["reason"]) for row in rows] == [("failed", said)]


def test_what_it_prints_is_no_part_of_the_output(upsweep, build):
    text = VERSION + SCAN + '  puts("from the rung");\n  fflush(n % 2 ? stdout : 0);\n  ' + LOOP
    text += '__attribute__((destructor)) static void end(void) { puts("the end"); }\n'
    library = build("#include <stdio.h>\n" + text, ".c")
    done = upsweep.run("ladder", "scan", "--sizes", "9", "--types", "int64", "--with", library, "--json")
    assert done.returncode == 0 and b"from the rung" in done.stderr, done
    assert json.loads(done.stdout)["rows"][-1]["status"] == "verified"


def test_it_may_change_how_its_floats_are_rounded(upsweep, build):
    # The rung is tried on many lengths, then verified with each thread count. When timed, it may find the rounding mode
    # that it set itself.
    body = "  static int calls;\n  if ((++calls <= 2 || n != 5) && fegetround() != FE_TONEAREST) return 9;\n  fesetround(FE_UPWARD);\n  "
    library = build("#include <fenv.h>\n" + VERSION + SCAN + body + LOOP, ".c")
    rows = guests(upsweep, "ladder", "scan", "--sizes", "5", "--types", "int64", "--threads", "1,2", "--with", library)
    assert [row["status"] for row in rows] == ["verified"] * 2, rows


def test_a_name_is_never_empty(upsweep, build):
    rung = VERSION + SCAN + "  " + LOOP
    for library, name in (
        (build(rung, ".c", "lib"), "guest.lib"),
        (build(rung + 'const char* upsweep_rung_name(void) { return ""; }', ".c", "libmine"), "guest.mine"),
    ):
        rows = guests(upsweep, "ladder", "scan", "--sizes", "9", "--types", "int64", "--with", library)
        assert rows[0]["rung"] == name


def test_a_type_that_it_does_not_take_is_skipped(upsweep, build):
    source = source_of(SOLUTIONS, "scan_simd")
    library = build(source.read_text(), source.suffix)
    rows = guests(upsweep, "ladder", "scan", "--sizes", "9", "--types", "int32,int8", "--with", library)
    assert [(row["type"], row["status"], row["reason"]) for row in rows] == [
        ("int32", "verified", None),
        ("int8", "skipped", "does not support this type"),
    ]


def test_what_is_no_guest(upsweep, build):
    def said(word, *args):
        return upsweep.fails(word, "ladder", *args)["message"]

    upsweep.write("text.so", "no library")
    assert "there is no file ./none.so" in said("invalid_argument", "scan", "--with", "./none.so")
    assert "not a shared library that can be loaded" in said("invalid_argument", "scan", "--with", "text.so")
    assert "not a shared library that can be loaded" in said("invalid_argument", "scan", "--with", ".")
    no_version = build("int nothing;\n", ".c", "no_version")
    assert "has no upsweep_rung_version()" in said("invalid_argument", "scan", "--with", no_version)
    other = build(VERSION.replace("return UPSWEEP_RUNG_VERSION", "return 7"), ".c", "other")
    assert "is for version 7 of upsweep/rung.h, this is version 1" in said("invalid_argument", "scan", "--with", other)
    scan = bytearray((upsweep.folder / build(VERSION, ".c", "other_cpu")).read_bytes())
    scan[18:20] = (0xF3 if scan[18] != 0xF3 else 0x3E).to_bytes(2, "little")  # e_machine
    (upsweep.folder / "other_cpu.so").write_bytes(scan)
    assert "made for another processor" in said("invalid_argument", "scan", "--with", "./other_cpu.so")
    variable = build("extern const int upsweep_rung_version;\nconst int upsweep_rung_version = 1;\n", ".c", "variable")
    assert "variable.so crashes (" in said("invalid_argument", "scan", "--with", variable)
    ends = build("#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { _Exit(0); }\n", ".c", "ends")
    assert "ends the process with status 0 while it is loaded" in said("invalid_argument", "scan", "--with", ends)
    empty = build(VERSION, ".c", "empty")
    assert "has no rung: there is no function upsweep_rung_scan" in said("invalid_argument", "scan", "--with", empty)
    scan = build(VERSION + SCAN + "return 0; }", ".c", "scan")
    assert "has a rung of scan, none of reduce" in said("invalid_argument", "reduce", "--with", scan)
    assert (
        "the select ladder does not support custom rungs; these do: scan, reduce, offsets, segmented-reduce, filtered-sum, subset-sum"
        in said("invalid_argument", "select", "--with", scan)
    )
    assert "excludes the rung of --with, which is guest.scan" in said(
        "invalid_argument", "scan", "--rung", "cpu.serial", "--with", scan
    )
    assert "--with needs the PROBLEM" in said("invalid_argument", "--with", scan)
    assert "--with: its value is empty" in said("invalid_argument", "scan", "--with", "")


CUDA_SCAN = SCAN.replace("upsweep_rung_scan", "upsweep_rung_cuda_scan").replace("int threads", "upsweep_rung_stream threads")


def test_a_rung_for_the_other_place(upsweep, build):
    """Libraries in C: whether a GPU is here does not matter, except for the last."""
    on_cpu = build(VERSION + SCAN + LOOP, ".c", "on_cpu")
    on_gpu = build(VERSION + CUDA_SCAN + "return 1; }", ".c", "on_gpu")

    def said(*args):
        return upsweep.fails("invalid_argument", "ladder", *args)["message"]

    assert said("scan", "--with", on_cpu, "--device", "cuda") == (
        "--with: ./on_cpu.so has a rung of scan for the CPU, none for a GPU (upsweep_rung_cuda_scan): omit --device cuda"
    )
    for device in ("auto", "cpu"):
        assert said("scan", "--with", on_gpu, "--device", device) == (
            "--with: ./on_gpu.so has a rung of scan for a GPU, none for the CPU (upsweep_rung_scan): add --device cuda"
        )
    assert said("reduce", "--with", on_gpu, "--device", "cuda") == (
        "--with: ./on_gpu.so has a rung of scan for a GPU, none of reduce: there is no function upsweep_rung_cuda_reduce"
    )
    assert said("reduce", "--with", on_gpu) == (
        "--with: ./on_gpu.so has a rung of scan for a GPU, none of reduce: there is no function upsweep_rung_reduce"
    )
    for problem in ("subset-sum", "filtered-sum", "select"):
        assert said(problem, "--with", on_gpu, "--device", "cuda") == (
            f"--with: the {problem} ladder does not support custom rungs on a GPU; "
            "these do: scan, reduce, offsets, segmented-reduce"
        )
    assert "excludes the rung of --with" in said("scan", "--with", on_gpu, "--device", "cuda", "--rung", "cuda.lookback")
    assert "has no upsweep_rung_version()" in said(
        "scan",
        "--device",
        "cuda",
        "--with",
        build(CUDA_SCAN.join(("#include <upsweep/rung.h>\n", "return 1; }")), ".c", "bare"),
    )
    assert "--with needs the PROBLEM" in said("--with", on_gpu, "--device", "cuda")
    if upsweep.run("ladder", "scan", "--sizes", "1", "--rung", "cuda.lookback").returncode != 0:
        upsweep.fails(("not_built", "no_device"), "ladder", "scan", "--with", on_gpu, "--device", "cuda")


def test_one_library_for_both_places(upsweep, build):
    both = build(VERSION + SCAN + LOOP + CUDA_SCAN + "return 1; }", ".c")
    rows = guests(upsweep, "ladder", "scan", "--sizes", "9", "--types", "int64", "--with", both)
    assert [(row["status"], row["device"]) for row in rows] == [("verified", "cpu")]


LARGE = {
    "ends the process": ("if (n > 400000) _Exit(0);", "ends the process with status 0"),
    "crashes": ("if (n > 400000) *(volatile int*)0 = 1;", "crashes"),
    "writes past the end": ("if (n > 400000) ((int64_t*)out)[n] = 1;", "writes past the end of `out`"),
}


@pytest.mark.parametrize("mistake", LARGE)
def test_mistakes_on_the_lengths_that_are_timed(upsweep, build, mistake):
    what, said = LARGE[mistake]
    library = build("#include <stdlib.h>\n" + VERSION + SCAN + SUMS + what + " return 0; }", ".c")
    done = upsweep.run("ladder", "scan", "--sizes", "1e6", "--types", "int64", "--with", library, "--json")
    assert done.returncode == 1 and done.stderr == b"", done
    (row,) = [row for row in json.loads(done.stdout)["rows"] if row["rung"] == "guest.my_rung"]
    assert row["status"] == "failed" and said.split()[0] in row["reason"] and "1,000,000 int64" in row["reason"], row


def test_a_rung_that_computes_once_and_remembers(upsweep, build):
    once = "static const void* last; if (in == last) { for (int64_t i = 0; i < n; ++i) ((int64_t*)out)[i] = 0; return 0; } last = in;"
    library = build(VERSION + SCAN + once + LOOP, ".c")
    done = upsweep.run("ladder", "scan", "--sizes", "1000", "--types", "int64", "--with", library, "--json")
    assert done.returncode == 1
    (row,) = [row for row in json.loads(done.stdout)["rows"] if row["rung"] == "guest.my_rung"]
    assert row["status"] == "failed" and row["median_s"] is None, row


def test_text_fits_80_columns(upsweep, build):
    source = source_of(SOLUTIONS, "scan_threads")
    text = source.read_text()
    right = build(text, source.suffix, "a_name_that_is_long")
    wrong = build(text.replace("carries[w] += carries[w - 1];", ""), source.suffix, "wrong")
    for library, status in ((right, 0), (wrong, 1)):
        for threads in ([], ["--threads", "1,2"]):
            done = upsweep.run("ladder", "scan", "--sizes", "1e5", "--types", "int64", "--with", library, *threads)
            assert (done.returncode, done.stderr) == (status, b""), done
            lines = done.stdout.decode().splitlines()
            assert max(map(len, lines)) <= 80, lines
            assert any(line.startswith("  guest.") for line in lines), lines
            assert any(line.endswith("  guest") for line in lines) == (status == 0), lines


def test_columns_and_one_rung_alone(upsweep, build):
    source = source_of(SOLUTIONS, "scan_loop")
    library = build(source.read_text(), source.suffix)
    column = upsweep.save("x.npy", np.arange(1000, dtype=np.float64) / 7)
    rows = upsweep.json("ladder", "scan", "--input", column, "--with", library, "--rung", "guest.my_rung")["rows"]
    assert [(row["rung"], row["status"], row["type"], row["n"]) for row in rows] == [
        ("guest.my_rung", "verified", "float64", 1000)
    ]
