# SPDX-License-Identifier: Apache-2.0
# tests/python/test_options.py: blocks of options: where they apply, how they end, what they refuse. Cumulative sums as
# functions: pickled, inspected, called in every way.
import asyncio
import contextvars
import copy
import inspect
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import upsweep
from upsweep import _options

FULL = np.array([2**62, 2**62])  # their sum does not fit int64
CUMULATIVE = [upsweep.cumulative_sum, upsweep.cumulative_prod]


def wraps():
    """Whether calls run with overflow="wrap", tested with two functions."""
    results = []
    for function in (upsweep.cumulative_sum, upsweep.scan):
        try:
            function(FULL)
        except OverflowError:
            results.append(False)
        else:
            results.append(True)
    assert results[0] == results[1]
    return results[0]


@pytest.mark.parametrize("function", [*CUMULATIVE, upsweep.scan, upsweep.reduce])
def test_a_context_that_was_copied_in_a_block_keeps_its_options(function):
    with upsweep.options(rung="cpu.columns"):  # a rung of other problems
        context = contextvars.copy_context()
    with pytest.raises(NotImplementedError, match="cpu.columns"):
        context.run(function, np.array([1, 2]))
    assert np.array_equal(upsweep.cumulative_sum(np.array([1, 2])), [1, 3])


def test_tasks_that_outlive_the_block_they_were_made_in():
    async def work():
        await asyncio.sleep(0)
        return wraps()

    async def main():
        with upsweep.options(overflow="wrap"):
            task = asyncio.ensure_future(work())
        assert not wraps()
        return await task

    assert asyncio.run(main())
    assert not wraps()


def test_one_object_in_several_tasks():
    shared = upsweep.options(overflow="wrap")

    async def work(turns):
        before = wraps()
        with shared:
            for _ in range(turns):
                await asyncio.sleep(0)
            inside = wraps()
        return before, inside, wraps()

    async def main():
        return await asyncio.gather(*(work(turns) for turns in (3, 1, 2)))

    assert asyncio.run(main()) == [(False, True, False)] * 3


def test_one_object_in_several_threads():
    shared, barrier, seen = upsweep.options(overflow="wrap"), threading.Barrier(4), []

    def work():
        with shared:
            barrier.wait(10)
            inside = wraps()
            barrier.wait(10)
        seen.append((inside, wraps()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(True, False)] * 4


def test_one_object_within_itself():
    shared = upsweep.options(overflow="wrap")
    with shared:
        with upsweep.options(overflow="checked"):
            assert not wraps()
            with shared:
                assert wraps()
            assert not wraps()
        assert wraps()
    assert not wraps()


def test_blocks_that_are_left_in_another_order():
    outer, inner = upsweep.options(overflow="wrap"), upsweep.options(threads=1)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert not wraps()
    inner.__exit__(None, None, None)
    assert not wraps()


def test_leaving_what_was_not_entered():
    with upsweep.options(overflow="wrap"):
        with pytest.raises(RuntimeError, match="not entered"):
            upsweep.options().__exit__(None, None, None)
        assert wraps()
    with pytest.raises(RuntimeError, match="not entered"):
        upsweep.options().__exit__(None, None, None)
    assert not wraps()
    with upsweep.options(rung="cpu.columns"), pytest.raises(NotImplementedError, match="cpu.columns"):
        upsweep.cumulative_sum(FULL)


@pytest.mark.parametrize(
    "given, error",
    [
        ({"threads": 2.5}, TypeError),
        ({"threads": "2"}, TypeError),
        ({"threads": 10**12}, ValueError),
        ({"threads": -1}, ValueError),
        ({"rung": 5}, TypeError),
        ({"rung": b"cpu.serial"}, TypeError),
        ({"rung": "cpu.nonsense"}, ValueError),
        ({"overflow": 5}, ValueError),
    ],
)
def test_what_options_refuse(given, error):
    (name,) = given
    with pytest.raises(error, match=f"^{name}: "):
        upsweep.options(**given)


def test_rungs_that_no_problem_has():
    with pytest.raises(ValueError, match="no problem has a rung 'cpu.seriel'; there are: .*cpu.serial, .*cuda.lookback"):
        upsweep.options(rung="cpu.seriel")
    for record in upsweep.ladder():
        upsweep.options(rung=record["rung"])


@pytest.mark.skipif(upsweep._core.has_cuda(), reason="this build has CUDA")
def test_rungs_on_a_gpu_of_a_build_without_cuda():
    with pytest.raises(NotImplementedError, match="^rung 'cuda.seriel': this build of upsweep has no CUDA; build it with nvcc"):
        upsweep.options(rung="cuda.seriel")
    with upsweep.options(rung="cuda.lookback"):
        for call in (lambda: upsweep.cumulative_sum(np.ones(2)), lambda: upsweep.ladder("scan", sizes=[10])):
            with pytest.raises(NotImplementedError, match="^rung 'cuda.lookback': this build of upsweep has no CUDA"):
                call()


def test_none_is_as_outside_of_all_blocks():
    x = np.array([2**62, 2**62])
    with upsweep.options(threads=1, rung="cpu.columns", overflow="wrap"):
        with upsweep.options(threads=2), pytest.raises(NotImplementedError, match="cpu.columns"):
            upsweep.cumulative_sum(x)
        with upsweep.options(rung=None):
            assert wraps()
            with upsweep.options(overflow=None):
                assert not wraps()
            with upsweep.options(threads=None):
                assert wraps() and _options.current().threads == 0
        with pytest.raises(NotImplementedError, match="cpu.columns"):
            upsweep.cumulative_sum(x)


def test_integers_of_numpy():
    with upsweep.options(threads=np.int32(1), rung=np.str_("cpu.serial")):
        assert np.array_equal(upsweep.scan(np.array([1, 2])), [1, 3])


# -------------------------------------------------------------------------------------------- cumulative sums, products


@pytest.mark.parametrize("function", CUMULATIVE)
def test_cumulative_functions_are_functions_of_the_package(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    parameters = inspect.signature(function).parameters
    assert list(parameters) == ["x", "axis", "dtype", "include_initial", "out", "overflow"]
    assert parameters["x"].kind is inspect.Parameter.POSITIONAL_ONLY
    assert parameters["axis"].kind is inspect.Parameter.KEYWORD_ONLY


def test_cumulative_sums_in_another_process():
    work = "import pickle, sys; function, x = pickle.load(sys.stdin.buffer); print(*function(x))"
    given = pickle.dumps((upsweep.cumulative_sum, np.array([1, 2, 3])))
    done = subprocess.run([sys.executable, "-c", work], check=True, input=given, capture_output=True)
    assert done.stdout.split() == [b"1", b"3", b"6"]


@pytest.mark.parametrize("function", CUMULATIVE)
def test_what_cumulative_functions_refuse(function):
    x = np.array([1, 2])
    for call in (lambda: function(x=x), lambda: function(x, 0), lambda: function(), lambda: function(x, along=0)):
        with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) "):
            call()
    with pytest.raises(TypeError, match="^x: "):
        function(None)
    for no_truth in (np.array([True, False]), "no", 2, 1.0):
        with pytest.raises(TypeError, match="^include_initial: True or False is needed"):
            function(x, include_initial=no_truth)


@pytest.mark.parametrize("truth", [True, np.True_, 1, False, np.False_, 0])
def test_whatever_is_true_or_false(truth):
    x = np.array([3, 4])
    assert np.array_equal(upsweep.cumulative_sum(x, include_initial=truth), [0, 3, 7] if truth else [3, 7])
    assert np.array_equal(upsweep.scan(x, exclusive=truth), [0, 3] if truth else [3, 7])
    assert np.array_equal(upsweep.segmented_scan(x, np.array([0, 2]), exclusive=truth), [0, 3] if truth else [3, 7])
    assert np.array_equal(upsweep.segmented_sort(x, np.array([0, 2]), descending=truth), [4, 3] if truth else [3, 4])
