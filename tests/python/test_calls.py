# SPDX-License-Identifier: Apache-2.0
# tests/python/test_calls.py: calls from several threads, calls that a signal ends, the modules that importing the
# package imports, arguments of every wrong kind, and the docstrings' examples.
import ast
import doctest
import inspect
import operator
import pathlib
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import upsweep


def test_calls_of_several_threads_at_the_same_time():
    arrays = [np.random.default_rng(seed).integers(1, 100, 300_000) for seed in range(6)]
    offsets = np.arange(0, 300_001, 3)

    def work(x):
        rows = x.reshape(-1, 3)
        keys, counts = np.unique(x, return_counts=True)
        large = x[x > 50]
        for _ in range(10):
            assert np.array_equal(upsweep.cumulative_sum(x), np.cumsum(x))
            assert np.array_equal(upsweep.segmented_reduce(x, offsets), rows.sum(1))
            assert np.array_equal(upsweep.segmented_sort(x, offsets), np.sort(rows).reshape(-1))
            assert np.array_equal(upsweep.select(x > 50, x), large)
            assert np.array_equal(np.sort(upsweep.group_by(x, x)[1]), np.sort(keys * counts))
            assert upsweep.subset_sum(x[:50], int(x[:7].sum())).reachable
            answer = upsweep.query("SELECT SUM(x), COUNT(*) FROM t WHERE x > 50", t={"x": x})
            assert answer.rows() == [(large.sum(), len(large))]

    with ThreadPoolExecutor(len(arrays)) as pool:
        assert len(list(pool.map(work, arrays))) == len(arrays)  # raises the error of a thread


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded")
def test_calls_without_the_interpreters_lock():
    program = """
import sys, threading, numpy, upsweep
barrier, right = threading.Barrier(8), []
def work(seed):
    x = numpy.random.default_rng(seed).integers(1, 9, 100)
    barrier.wait()
    for turn in range(300):
        with upsweep.options(threads=1, rung=(None, "cpu.serial")[turn % 2], overflow=("checked", "wrap")[turn % 2]):
            assert numpy.array_equal(upsweep.cumulative_sum(x), x.cumsum())
            assert upsweep.segmented_reduce(x, 10).tolist() == x.reshape(-1, 10).sum(1).tolist()
        assert numpy.array_equal(upsweep.cumulative_sum(x), x.cumsum())
        assert upsweep.query("SELECT SUM(x) FROM t", t={"x": x}).rows() == [(x.sum(),)]
        try:
            upsweep.cumulative_sum(x * 2**60)
        except OverflowError as error:
            assert error.index < 8
    right.append(seed)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(right), sys._is_gil_enabled())
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["8", "False"], done.stderr  # a module that needs the lock would enable it


def test_options_of_one_thread_are_not_another_ones():
    entered, done = threading.Event(), threading.Event()

    def other():
        with upsweep.options(overflow="wrap"):
            entered.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(10)
    with pytest.raises(OverflowError):
        upsweep.cumulative_sum(np.array([2**62, 2**62]))
    done.set()
    thread.join()


def test_other_threads_run_meanwhile():
    x = np.ones(1 << 29, np.int8)
    steps = 0
    running = True

    def count():
        nonlocal steps
        while running:
            steps += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(10)  # no thread takes the lock: the call must release it
    try:
        thread.start()
        time.sleep(0.01)
        before = steps
        with upsweep.options(threads=1):
            upsweep.reduce(x)
        during = steps - before
    finally:
        running = False
        sys.setswitchinterval(switch)
        thread.join()
    assert during > 0


class Stopped(Exception):
    pass


@pytest.fixture
def alarm():
    def stop(*_):
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def stop_once_begun(alarm, out, call):
    """Runs the call on one thread, and raises Stopped in it as soon as the first element of `out` is written. Before,
    `out` contains sevens."""

    def once_begun():
        while out[0] == 7:
            pass
        alarm(1e-6)

    thread = threading.Thread(target=once_begun)
    thread.start()
    with upsweep.options(threads=1), pytest.raises(Stopped):
        call()
    thread.join()


def test_a_signal_ends_a_scan(alarm):
    x = np.ones(1 << 29, np.uint8)
    out = np.full(1 << 29, 7, np.uint8)
    stop_once_begun(alarm, out, lambda: upsweep.cumulative_sum(x, dtype="uint8", overflow="wrap", out=out))
    assert out[0] == 1 and out[-1] == 7  # started, and not finished


@pytest.mark.parametrize("axis, shape", [(0, (1 << 24, 2)), (1, (4, 1 << 22, 2))])
def test_a_signal_ends_a_scan_along_an_axis(alarm, axis, shape):
    x = np.ones(shape)
    out = np.full(shape, 7.0)
    stop_once_begun(alarm, out.reshape(-1), lambda: upsweep.cumulative_sum(x, axis=axis, out=out))
    assert out.flat[0] == 1 and out.flat[-1] == 7  # started, and not finished


def test_a_signal_ends_what_is_done_to_runs(alarm):
    keys = np.arange(1 << 25, dtype=np.int32)
    out = np.full(1 << 25, 7, np.int32), np.full(1 << 25, 7, np.int32)
    stop_once_begun(alarm, out[1], lambda: upsweep.reduce_by_key(keys, keys, dtype="int32", out=out))
    assert out[1][0] == 0 and out[1][-1] == 7  # started, and not finished
    out[1][0] = 7
    stop_once_begun(alarm, out[1], lambda: upsweep.scan_by_key(keys, keys, dtype="int32", out=out[1]))
    assert out[1][0] == 0 and out[1][-1] == 7


@pytest.mark.parametrize("rung", ["", "cpu.serial"])
def test_a_signal_ends_what_is_done_to_groups(alarm, rung):
    keys = np.random.default_rng(1).integers(0, 1 << 40, 1 << 23)
    alarm(0.1)
    with upsweep.options(rung=rung, threads=1), pytest.raises(Stopped):
        upsweep.group_by(keys, keys)


@pytest.mark.parametrize("run", [1, 3, 5_000_000, 30_000_000])
def test_runs_in_pieces_are_all_runs(run):
    keys = np.arange(10_000_000, dtype=np.uint32) // run
    values = np.ones(len(keys), np.int8)
    firsts, counts = upsweep.reduce_by_key(keys, values)
    assert np.array_equal(firsts, np.arange(firsts[-1] + 1)) and np.array_equal(counts, np.bincount(keys))
    assert np.array_equal(upsweep.scan_by_key(keys, values, exclusive=True), np.arange(len(keys)) % run)
    values[-1] = 127
    if 1 < run < 10:
        with pytest.raises(OverflowError) as caught:
            upsweep.reduce_by_key(keys, np.roll(values, -1), dtype="int8")
        assert caught.value.index == (len(keys) - 2) // run


MANY = np.arange(0, (1 << 27) + 1, 64)  # the offsets of two million lists


@pytest.mark.parametrize(
    "call, output",
    [
        (lambda x, out: upsweep.segmented_reduce(x, MANY, out=out), (len(MANY) - 1, np.uint64)),
        (lambda x, out: upsweep.segmented_reduce(x, MANY, op="argmax", out=out), (len(MANY) - 1, np.int64)),
        (lambda x, out: upsweep.segmented_sort(x, MANY, out=out), (1 << 27, np.uint8)),
    ],
)
def test_a_signal_ends_what_is_done_to_lists(alarm, call, output):
    x = np.ones(1 << 27, np.uint8)
    out = np.full(*output[:1], 7, output[1])
    stop_once_begun(alarm, out, lambda: call(x, out))
    assert out[0] != 7 and out[-1] == 7  # started, and not finished


def test_lists_in_pieces_are_all_lists():
    x = np.arange(1 << 26, dtype=np.uint64).astype(np.uint8)
    offsets = np.arange(0, len(x) + 1, 16, dtype=np.uint32)
    valid = np.arange(len(x)) % 3 > 0
    sums = upsweep.segmented_reduce(x, offsets, valid=valid)
    assert np.array_equal(sums, (x * valid).reshape(-1, 16).sum(1, dtype=np.uint64))
    assert np.array_equal(upsweep.segmented_argsort(x[::-1].copy(), offsets), np.tile(np.arange(16)[::-1], len(sums)))
    bad = len(sums) - 5
    offsets[bad + 1] = 3
    with pytest.raises(ValueError, match=f"list {bad} ") as caught:
        upsweep.segmented_reduce(x, offsets)
    assert caught.value.index == bad


def test_a_signal_ends_a_search(alarm):
    items = np.random.default_rng(1).integers(10**16, 10**17, 60)  # none of their 2^60 sums is likely to be the target
    alarm(0.05)
    with pytest.raises(Stopped):
        upsweep.subset_sum(items, int(items.sum() // 2))


def test_what_is_imported():
    code = "import numpy, sys; before = set(sys.modules); import upsweep; print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pyarrow", "awkward", "pandas", "polars", "torch", "cupy", "ctypes.util"} & set(output)


def imported_from(folder, *modules):
    """Returns the last line that importing the package from this folder prints, with only these compiled modules."""
    folder.mkdir()
    for file in pathlib.Path(upsweep.__file__).parent.glob("*.py"):
        (folder / file.name).symlink_to(file.resolve())
    for name in modules:
        (folder / name).touch()
    done = subprocess.run(
        [sys.executable, "-c", "import upsweep"],
        check=False,
        cwd=folder.parent,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ""},
    )
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_a_package_for_another_python_says_for_which(tmp_path):
    this = rf"and this is CPython {sys.version_info[0]}\.{sys.version_info[1]}\."
    other = imported_from(tmp_path / "upsweep", "_core.cpython-399-x86_64-linux-gnu.so")
    assert re.fullmatch(
        rf"ImportError: upsweep was built for CPython 3\.99, {this}\d+\S*: install upsweep for this Python", other
    )
    package = pathlib.Path(upsweep.__file__).resolve().parent
    for name in ("__init__.py", "_libraries.py"):  # the files that other Python versions also run
        tree = ast.parse((package / name).read_text(), feature_version=(3, 6))
        assert not any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) for node in ast.walk(tree)), name
    tmp_path = tmp_path / "without"
    tmp_path.mkdir()
    assert "there is no compiled module next to " in imported_from(tmp_path / "upsweep")


def test_a_python_without_numpy_says_so():
    package = pathlib.Path(upsweep.__file__).parent
    program = f"import sys; sys.path.insert(0, {str(package.parent)!r}); sys.modules['numpy'] = None; import upsweep"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert re.match(
        r"ImportError: upsweep needs NumPy, which cannot be imported \(.*\): pip install numpy", done.stderr.splitlines()[-1]
    )


def test_overflow_is_told_in_words_of_python():
    big = np.array([100, 100], np.int8)
    offsets = np.array([0, 2])
    calls = [
        lambda: upsweep.segmented_reduce(big, offsets, dtype="int8"),
        lambda: upsweep.segmented_scan(big, offsets, dtype="int8"),
        lambda: upsweep.reduce_by_key(np.array([1, 1]), big, dtype="int8"),
        lambda: upsweep.group_by(np.array([1, 1]), big, dtype="int8"),
        lambda: upsweep.reduce(np.stack([big, big]), axis=0, dtype="int8"),
        lambda: upsweep.reduce(big, dtype="int8"),
        lambda: upsweep.cumulative_sum(big, dtype="int8"),
    ]
    for call in calls:
        with pytest.raises(OverflowError, match='or overflow="wrap"|or pass overflow="wrap"'):
            call()


# Positional arguments that make the rest of a call correct.
RIGHT = {
    "broadcast": ([1, 2], [0, 1, 2]),
    "cartesian": ([0, 2], [0, 2]),
    "combinations": ([0, 2], 2),
    "offsets": ([0], [1]),
    "flatten": ([0, 1], [0, 2]),
    "group_by": ([1], [1]),
    "ladder": ("scan",),
    "local_index": ([0, 2],),
    "offsets_to_parents": ([0, 2],),
    "options": (),
    "pack": ([0, 2], [1, 2]),
    "parents_to_offsets": ([0, 1], 3),
    "partition": ([True], [1]),
    "query": ("SELECT SUM(x) FROM t", {"t": {"x": [1]}}),
    "reduce_by_key": ([1], [1]),
    "scan_by_key": ([1], [1]),
    "segmented_argsort": ([1, 2], [0, 2]),
    "segmented_reduce": ([1, 2], [0, 2]),
    "segmented_scan": ([1, 2], [0, 2]),
    "segmented_sort": ([1, 2], [0, 2]),
    "select": ([True], [1]),
    "subset_sum": ([1, 2], 3),
    "take": ([0], [1]),
}
WRONG = [None, object(), "text", "\ud800", b"x", 1.5, float("nan"), -1, 2**80, [], {}, (), [None], ["a"], [[1], [2, 3]], [1, 2, 3],
         np.array(3), np.array("a"), np.array([1, None]), np.array([[1]]), np.array([1.5]), True, len, int, ("a", "b"), (1, 2, 3),
         np.datetime64("2020"), range(3), slice(1), 1j, ..., np.add, {"a": 1}]  # fmt: skip
# Words from messages of Python, NumPy and the binding, which do not say what is wrong with an argument.
INSIDE = re.compile(
    r"incompatible function arguments|nanobind|std::|_core|_queries|\.hpp|operand|has no attribute|is not (iterable|subscriptable|callable)"
    r"|has no len|unhashable|unpack|unable to convert|not supported between|ambiguous",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", [name for name in upsweep.__all__ if name not in ("__version__", "devices")])
def test_wrong_arguments_are_refused_in_words_of_their_own(name):
    function, right = getattr(upsweep, name), RIGHT.get(name, ([1, 2],))
    quick = {"sizes": [10], "types": ["int32"], "max_seconds": 0} if name == "ladder" else {}
    calls = [((*right[:i], wrong, *right[i + 1 :]), quick) for i in range(len(right)) for wrong in WRONG]
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            calls += [(right, {**quick, parameter.name: wrong}) for wrong in WRONG]
    for given, named in calls:
        try:
            function(*given, **named)
        except (TypeError, ValueError, LookupError, ArithmeticError, NotImplementedError, MemoryError, OSError) as error:
            assert not INSIDE.search(str(error)) and not isinstance(error, UnicodeError), (given, named, error)


def test_operators_are_given_by_name():
    for call in (
        upsweep.scan,
        upsweep.reduce,
        lambda x, op: upsweep.segmented_reduce(x, [0, 2], op=op),
        lambda x, op: upsweep.group_by(x, x, op=op),
    ):
        with pytest.raises(TypeError, match='^op: the name of an operator is needed, .*: write op="add"'):
            call([1, 2], op=np.add)
        with pytest.raises(TypeError, match='^op: the name of an operator is needed, .*: write op="max"'):
            call([1, 2], op=max)
        with pytest.raises(ValueError, match="^op: one of add, mul, .*, not 'nonsense'"):
            call([1, 2], op="nonsense")


def test_names():
    assert all(hasattr(upsweep, name) for name in upsweep.__all__)
    assert upsweep.__version__.count(".") == 2


@pytest.mark.parametrize("name", [name for name in upsweep.__all__ if name != "__version__"])
def test_examples_of_docstrings(name):
    example = doctest.DocTestParser().get_doctest(getattr(upsweep, name).__doc__, {}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize(
    ("op", "hint"),
    [
        ("sum", 'write op="add"'),
        ("SUM", 'write op="add"'),
        (sum, 'write op="add"'),
        (np.multiply, 'write op="mul"'),
        (np.maximum, 'write op="max"'),
        ("logical_and", 'write op="and"'),
        (operator.or_, 'write op="or"'),
        ("^", 'write op="xor"'),
        ("mean", "a mean is the sum (add) divided by the number of elements"),
        (np.cumsum, "this is a scan with the operator add"),
        ("np.add", 'write op="add"'),
        ("numpy.minimum", 'write op="min"'),
        ("sum()", 'write op="add"'),
    ],
)
def test_words_of_others_for_an_operator(op, hint):
    x = np.arange(4)
    for call in (upsweep.reduce, upsweep.scan, lambda x, op: upsweep.segmented_reduce(x, [0, 4], op=op)):
        with pytest.raises((TypeError, ValueError), match=f": {re.escape(hint)}$"):
            call(x, op=op)
    for reducer in ("count", "argmax"):
        for call in (upsweep.reduce, upsweep.scan, lambda x, op: upsweep.group_by(x, x, op=op)):
            with pytest.raises(ValueError, match="this is only for lists: use segmented_reduce or upsweep segment$"):
                call(x, op=reducer)
    for unknown in ("", ".", "()", "sum of", "nosuch", "\ud800", "é"):
        with pytest.raises(ValueError, match=f"not {re.escape(repr(unknown))}$"):
            upsweep.reduce(x, op=unknown)


def test_lengths_in_place_of_offsets():
    x = np.arange(10.0)
    for call in (upsweep.segmented_reduce, upsweep.segmented_scan, upsweep.segmented_sort):
        for dtype in ("int64", "int32"):
            with pytest.raises(ValueError, match="lengths_to_offsets makes offsets of lengths") as raised:
                call(x, np.array([3, 0, 5, 2], dtype))
            assert raised.value.index == 0
        others = [[3, 0, 5, 3], [5, -1, 6]]
        if call is not upsweep.segmented_scan:  # this function does not support starts and stops
            others.append(([3, 0], [0, 7]))
        for offsets in others:
            with pytest.raises(ValueError, match=r"stop \(-?\d+\) < start") as raised:
                call(x, offsets if isinstance(offsets, tuple) else np.array(offsets))
            assert "lengths" not in str(raised.value)


def test_rungs_of_other_ladders():
    two = np.arange(4).reshape(2, 2)
    for rung, call, what in (
        ("cpu.lookahead", lambda: upsweep.cumulative_sum(two, axis=0),
         "rung 'cpu.lookahead' belongs to scan and offsets, not to segmented-scan, which runs this call; available: cpu.serial, "),
        ("cpu.simd_threads", lambda: upsweep.reduce(two, axis=0),
         "rung 'cpu.simd_threads' belongs to scan and reduce, not to segmented-reduce, which runs this call; available: cpu.serial, "),
        ("cpu.blocks", lambda: upsweep.reduce(two),
         "rung 'cpu.blocks' belongs to query, not to reduce, which runs this call; available: cpu.serial, "),
        ("cpu.serial", lambda: upsweep.parents_to_offsets([0], 1),
         "rung 'cpu.serial' belongs to scan, reduce, offsets and others, not to this operation, which has no ladder: leave the rung out"),
    ):  # fmt: skip
        with upsweep.options(rung=rung), pytest.raises(NotImplementedError, match=f"^{re.escape(what)}") as raised:
            call()
        assert raised.value.code == "unsupported"


def python(*arguments, cwd=None):
    return subprocess.run([sys.executable, *arguments], check=False, capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize("command, module", [("report", "upsweep_report"), ("bench-peers", "upsweep_report.peers")])
def test_commands_of_another_package_say_which(command, module):
    absent = "import sys; sys.modules['upsweep_report'] = None; from upsweep.__main__ import main; "
    done = python("-c", f"{absent} sys.exit(main([{command!r}, 'x.json']))")
    assert done.returncode == 2
    assert "pip install upsweep-report" in done.stderr and f"python -m {module} " in done.stderr
    assert f"python -m {module}\n" in python("-m", "upsweep").stderr


def test_commands_of_another_package_run_there(tmp_path):
    pytest.importorskip("upsweep_report")
    done = python("-m", "upsweep", "report", "none.json", cwd=tmp_path)
    assert done.returncode == 3 and done.stderr == "upsweep-report: none.json: No such file or directory\n"
