# SPDX-License-Identifier: Apache-2.0
# bench/gpu_times.py: the times of an operation of Awkward Array on a GPU, alone and with upsweep registered.
import statistics
import textwrap
import time

import upsweep.awkward

# Later calls go on for so long, or for so many.
SECONDS = 1.0
CALLS = 60
# Calls of one kind, before those of the other have their turn.
TURN = 5


def timed(operation):
    """Wall time in ms until the GPU is done, and the result."""
    import cupy

    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    result = operation()
    cupy.cuda.Device().synchronize()
    return (time.perf_counter() - begin) * 1e3, result


class Times:
    """Of one kind: the first call in ms, which may have to compile, and later ones."""

    def __init__(self, switch, operation):
        self._switch = switch
        self._operation = operation
        self._later = []
        self.error = ""
        try:
            switch()
            self.first, self.result = timed(operation)
        except (AssertionError, ImportError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            self.error = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"

    def turn(self):
        """The first call of a turn is not counted: what the other kind left in the caches is none of its business."""
        self._switch()
        self._operation()
        for _ in range(TURN):
            ms, self.result = timed(self._operation)
            self._later.append(ms)

    @property
    def is_done(self):
        return bool(self.error) or len(self._later) >= CALLS

    @property
    def later(self):
        return statistics.median(self._later)


def alone_and_registered(operation):
    """Times of Awkward alone, and with upsweep.

    upsweep's first call is before the other: it compiles nothing of its own, but has to wait for what CuPy compiles for both. Later
    calls take turns.
    """
    ours = Times(upsweep.awkward.register, operation)
    theirs = Times(upsweep.awkward.unregister, operation)
    end = time.perf_counter() + 2 * SECONDS
    tried = [each for each in (ours, theirs) if not each.error]
    while True:
        for each in tried:
            each.turn()
        if time.perf_counter() >= end or all(each.is_done for each in tried):
            break
    upsweep.awkward.unregister()
    return theirs, ours


# Of tables whose names have so many columns.
NAMES = 33
HEADER = f"{'':{NAMES}} {'Awkward alone':>18} {'upsweep':>18}\n{'ms':{NAMES}} {'first':>8} {'later':>9} {'first':>8} {'later':>9} {'ratio':>6}"


def line(name, theirs, ours):
    """A line of the table under HEADER, and beneath it why there are no times."""
    cells = [f"{'-':>8} {'-':>9}" if each.error else f"{each.first:8.1f} {each.later:9.3f}" for each in (theirs, ours)]
    ratio = float("nan") if theirs.error or ours.error else theirs.later / ours.later
    reasons = [
        "\n" + textwrap.fill(f"{who}: {each.error}", 80, initial_indent="    ", subsequent_indent="    ")
        for who, each in (("awkward", theirs), ("upsweep", ours))
        if each.error
    ]
    return f"{name:{NAMES}} {cells[0]} {cells[1]} {ratio:6.2f}" + "".join(reasons)
