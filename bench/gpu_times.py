# SPDX-License-Identifier: Apache-2.0
# bench/gpu_times.py: the times of an operation of Awkward Array on a GPU, alone and with upsweep registered.
import statistics
import time

import upsweep.awkward

# Later calls go on for so long, or for so many.
SECONDS = 0.5
CALLS = 50


def timed(operation):
    """Wall time in ms until the GPU is done, and the result."""
    import cupy

    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    result = operation()
    cupy.cuda.Device().synchronize()
    return (time.perf_counter() - begin) * 1e3, result


def first_and_later(operation):
    """The first call in ms, which may have to compile, the median of later ones, and the last result."""
    first, result = timed(operation)
    later = []
    end = time.perf_counter() + SECONDS
    while len(later) < 3 or (len(later) < CALLS and time.perf_counter() < end):
        ms, result = timed(operation)
        later.append(ms)
    return first, statistics.median(later), result


def alone_and_registered(operation):
    """(first, later, result) of Awkward alone, and with upsweep. Where Awkward's cannot be run: what it says.

    upsweep is first: it compiles nothing of its own, but has to wait for what CuPy compiles for both.
    """
    answers = []
    for switch in (upsweep.awkward.register, upsweep.awkward.unregister):
        switch()
        try:
            answers.append(first_and_later(operation))
        except (AssertionError, ImportError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            answers.append(f"{type(error).__name__}: {' '.join(str(error).split())[:160]}")
    upsweep.awkward.unregister()
    ours, theirs = answers
    return theirs, ours


HEADER = f"{'awkward first':>14} {'later ms':>10} {'upsweep first':>14} {'later ms':>10} {'ratio':>6}"


def line(theirs, ours):
    """A line of the table under HEADER, and beneath it why there are no times."""
    cells = [
        f"{'-':>14} {'-':>10}" if isinstance(each, str) else f"{each[0]:14.1f} {each[1]:10.3f}" for each in (theirs, ours)
    ]
    both = not isinstance(theirs, str) and not isinstance(ours, str)
    reasons = [
        f"\n    {who}: {each}" for who, each in (("awkward", theirs), ("upsweep", ours)) if isinstance(each, str)
    ]
    return f"{cells[0]} {cells[1]} {theirs[1] / ours[1] if both else float('nan'):6.2f}" + "".join(reasons)
