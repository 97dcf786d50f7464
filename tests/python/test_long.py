# SPDX-License-Identifier: Apache-2.0
# tests/python/test_long.py: tests that take seconds: threads that call continuously, memory after many calls, lengths
# above 2^31, the error of long sums. Only make test-python runs them.
import gc
import math
import threading
import time

import numpy as np
import pytest
import upsweep

pytestmark = pytest.mark.long

SECONDS = 5


# -------------------------------------------------------------------------------------------------------------- threads


def run_for_a_while(calls, threads=8):
    """Threads make their calls again and again for some seconds. Raises their errors; returns the number of calls of
    each thread."""
    failures, counts = [], [0] * threads
    end = time.monotonic() + SECONDS

    def work(i):
        try:
            while time.monotonic() < end and not failures:
                calls[i % len(calls)]()
                counts[i] += 1
        except BaseException as error:
            failures.append(error)
            raise

    running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures
    assert min(counts) > 0
    return counts


def checked(function, *arguments, **named):
    """Returns a call that must always give its first result."""
    expected = function(*arguments, **named)

    def call():
        result = function(*arguments, **named)
        for one, other in zip(parts(result), parts(expected), strict=True):
            assert np.array_equal(one, other)

    return call


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("length", [1_000, 300_000])  # with and without the interpreter lock
def test_threads_that_call_one_function(length):
    x = np.random.default_rng(1).integers(0, 100, length)
    assert min(run_for_a_while([checked(upsweep.cumulative_sum, x)])) > 10


def test_threads_that_call_all_functions():
    random = np.random.default_rng(2)
    x = random.integers(0, 100, 100_000)
    lengths = random.poisson(3, 20_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = random.random(int(offsets[-1]))
    keys = np.sort(random.integers(0, 500, len(x)))
    run_for_a_while(
        [
            checked(upsweep.scan, x, op="max"),
            checked(upsweep.reduce, x),
            checked(upsweep.segmented_reduce, content, offsets),
            checked(upsweep.segmented_sort, content, offsets),
            checked(upsweep.select, content > 0.5, content, lists=offsets),
            checked(upsweep.pack, (offsets[:-1][::-1], offsets[1:][::-1]), content),
            checked(upsweep.combinations, offsets, 2),
            checked(upsweep.reduce_by_key, keys, x),
            checked(upsweep.take, x % 1000, content),
            lambda: pytest.raises(OverflowError, upsweep.cumulative_sum, np.full(10_000, 2**61)),
        ],
        threads=10,
    )


def test_threads_that_use_awkward():
    ak = pytest.importorskip("awkward")
    import upsweep.awkward

    array = ak.unflatten(np.random.default_rng(3).random(90_000), np.full(30_000, 3))
    operations = [
        lambda: ak.sum(array, axis=1),
        lambda: array[array > 0.5],
        lambda: ak.sort(array, axis=1),
        lambda: ak.combinations(array, 2),
    ]
    expected = [ak.to_buffers(ak.to_packed(operation()))[2] for operation in operations]

    def check(operation, before):
        now = ak.to_buffers(ak.to_packed(operation()))[2]
        assert all(np.array_equal(now[name], before[name]) for name in before)

    with upsweep.awkward.kernels():
        run_for_a_while([lambda o=o, e=e: check(o, e) for o, e in zip(operations, expected)])


# --------------------------------------------------------------------------------------------------------------- memory


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_calls_leave_no_memory_behind():
    x = np.arange(100)
    offsets = np.array([0, 10, 10, 100])
    out = np.empty(100, np.int64)
    bad = np.full(3, 2**62)

    def calls():
        for _ in range(20_000):
            upsweep.cumulative_sum(x)
            upsweep.cumulative_sum(x, out=out)
            upsweep.segmented_reduce(x, offsets)
            upsweep.select(x > 50, x, lists=offsets)
            try:
                upsweep.cumulative_sum(bad)
            except OverflowError:
                pass
        gc.collect()

    calls()
    before = resident_bytes()
    calls()
    calls()
    assert resident_bytes() - before < 8 << 20  # 100 bytes per call would be 20 MB


# -------------------------------------------------------------------------------------------------------------- lengths


def test_lengths_past_two_to_the_31():
    n = 2**31 + 5
    x = np.ones(n, np.int8)
    x[-1] = 7
    assert upsweep.reduce(x) == n + 6
    offsets = np.array([0, 3, n - 2, n])
    assert np.array_equal(upsweep.segmented_reduce(x, offsets), [3, n - 5, 8])
    assert np.array_equal(upsweep.segmented_reduce(x, offsets, op="argmax"), [0, 0, 1])
    assert upsweep.cumulative_sum(x, dtype="int8", overflow="wrap", out=x) is x
    assert x[-2] == np.int64(n - 1).astype(np.int8) and x[-1] == np.int64(n + 6).astype(np.int8)
    x[:] = 0
    x[-3:] = 100
    with pytest.raises(OverflowError) as raised:
        upsweep.cumulative_sum(x, dtype="int8", out=x)
    assert raised.value.index == n - 2


# ----------------------------------------------------------------------------------------------------------------- sums


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_error_of_long_sums(dtype):
    """Compares with the exact sum. The error is that of the elements of one vector lane in a block, whatever the
    array's length."""
    n = 2**25
    bound = 1100 * np.finfo(dtype).eps  # about the bound that the rungs state; a plain loop has 10,000 times this error
    for x in (np.ones(n, dtype), np.full(n, 0.1, dtype), np.random.default_rng(4).random(n).astype(dtype)):
        exact = math.fsum(x)
        assert abs(float(upsweep.reduce(x)) - exact) <= bound * exact
        sums = upsweep.cumulative_sum(x)
        assert abs(float(sums[-1]) - exact) <= bound * exact
        assert np.all(np.diff(sums[:: 2**10]) > 0)  # no sum stops growing
    assert upsweep.reduce(np.ones(n, dtype)) == n
