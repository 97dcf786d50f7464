# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_threads.py: the command if threads cannot be created: with fewer threads the result is the same, or the
# command reports why it fails.
import os
import resource

import numpy as np
import pytest

N = 999_999
FEW = os.environ.get("UPSWEEP_FEW_THREADS", "")  # tests/few_threads.cpp, built


@pytest.fixture
def few(upsweep):
    """Runs the command with at most N threads in addition to its first thread."""
    if not FEW:
        pytest.skip("UPSWEEP_FEW_THREADS is not set")

    def run(threads, *args, asked=None):
        env = {**os.environ, "LD_PRELOAD": FEW, "THREADS_AT_MOST": str(threads)}
        return upsweep.run(*args, env=env if asked is None else {**env, "THREADS_ASKED": str(asked)})

    return run


def made(upsweep):
    values = np.random.default_rng(1).standard_normal(N)
    upsweep.save("x.npy", values)
    upsweep.save("i.npy", np.arange(N))
    return values


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_scan_and_reduce_with_few_threads(upsweep, few, threads):
    made(upsweep)
    upsweep.ok("scan", "x.npy", "-o", "all.npy")
    whole = upsweep.text("reduce", "x.npy")
    for rung in ("cpu.lookahead", "cpu.chained", "cpu.threads", "cpu.simd_threads"):
        upsweep.ok("scan", "x.npy", "-o", "all.npy", "--rung", rung)
        done = few(threads, "scan", "x.npy", "-o", "few.npy", "--rung", rung, "--threads", "8")
        assert done.returncode == 0, done
        assert upsweep.load("few.npy").tobytes() == upsweep.load("all.npy").tobytes(), rung
    done = few(threads, "reduce", "x.npy", "--threads", "8")
    assert (done.returncode, done.stdout.decode()) == (0, whole), done


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_the_standard_library_with_few_threads(upsweep, few, threads):
    made(upsweep)
    done = few(threads, "reduce", "i.npy", "--op", "max", "--rung", "cpu.std_par")
    assert (done.returncode, done.stdout) == (0, b"%d\n" % (N - 1)), done
    done = few(threads, "scan", "i.npy", "-o", "few.npy", "--op", "max", "--rung", "cpu.std_par")
    assert done.returncode == 0, done
    assert (upsweep.load("few.npy") == np.arange(N)).all()


@pytest.mark.parametrize("threads", [0, 1, 2, 6])
def test_the_other_commands_with_few_threads(upsweep, few, threads):
    starts = np.arange(N)
    upsweep.save("starts.npy", starts)
    upsweep.save("stops.npy", starts + 3)
    done = few(threads, "offsets", "starts.npy", "stops.npy", "-o", "few.npy")
    assert done.returncode == 0, done
    assert (upsweep.load("few.npy") == 3 * np.arange(N + 1)).all()
    done = few(threads, "ladder", "subset-sum", "--sizes", "24")
    assert done.returncode == 0, done


@pytest.mark.parametrize("file", ["t.parquet", "t.arrow", "t.csv"])
@pytest.mark.parametrize("threads", [0, 2, 3, 4, 5])
def test_files_with_few_threads(upsweep, few, arrow, file, threads):
    n = 300_000
    upsweep.table(file, {"x": np.arange(n), "k": np.arange(n) % 3})
    sql = f"SELECT k, sum(x) FROM '{file}' GROUP BY k"
    for args in (("scan", f"{file}:x", "-o", "few.npy"), ("query", sql), ("reduce", f"{file}:x")):
        done = few(threads, *args)
        assert done.returncode == 0, done
        if args[0] == "reduce":
            assert done.stdout == b"%d\n" % (n * (n - 1) // 2)


def test_list_views_take_as_many_threads_as_they_may(upsweep, few, arrow):
    """Lists that are adjacent are not packed: the other threads that are requested are Arrow's."""
    if not hasattr(arrow, "ListViewArray"):
        pytest.skip("this pyarrow has no list views")
    content = arrow.array(np.arange(N))
    offsets = arrow.array(np.arange(0, N + 1, 3), arrow.int32())
    sizes = arrow.array(np.full(N // 3, 3), arrow.int32())
    upsweep.table("views.arrow", {"x": arrow.ListViewArray.from_arrays(offsets[:-1], sizes, content)})
    upsweep.table("lists.arrow", {"x": arrow.ListArray.from_arrays(offsets, content)})

    def asked(file, threads):
        upsweep.write("asked", b"")
        done = few(100, "segment", f"{file}:x", "--threads", threads, asked=upsweep.folder / "asked")
        assert done.returncode == 0, done
        return (upsweep.folder / "asked").stat().st_size

    assert asked("views.arrow", 1) == asked("lists.arrow", 1)
    assert asked("views.arrow", 4) > asked("views.arrow", 1)


@pytest.mark.parametrize("megabytes", [80, 100, 120, 140, 200, 300, 600, 2000])
def test_little_address_space(upsweep, megabytes):
    made(upsweep)
    whole = upsweep.text("reduce", "x.npy")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    std_par = ("reduce", "i.npy", "--op", "max", "--rung", "cpu.std_par")
    for args in (("reduce", "x.npy"), ("scan", "x.npy", "-o", "few.npy"), std_par):
        done = upsweep.run(*args, preexec_fn=limit)
        if done.returncode == 127:
            pytest.skip("too few threads to load the libraries")
        assert done.returncode in (0, 3), done
        # Arrow's allocator may print a message first.
        assert done.returncode == 0 or done.stderr.splitlines()[-1].startswith(b"upsweep: "), done
        if args == ("reduce", "x.npy") and done.returncode == 0:
            assert done.stdout.decode() == whole
