# SPDX-License-Identifier: Apache-2.0
# bench/gpu_times.py: times an operation of Awkward Array on a GPU, without and with upsweep registered.
import statistics
import textwrap
import time

import upsweep.awkward

# The limits of later calls: this time, or this number of calls.
SECONDS = 1.0
CALLS = 60
# The number of calls of one kind before the calls of the other kind.
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
    """The times of one kind in ms: of the first call, which may have to compile, and of later calls."""

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
        """Makes one turn of calls. Its first call is not counted, because the other kind has filled the caches."""
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


def in_turn(kinds):
    """Returns the times of operations with their switches. The first calls are in this order, and later calls take turns."""
    made = [Times(switch, operation) for switch, operation in kinds]
    end = time.perf_counter() + len(made) * SECONDS
    tried = [each for each in made if not each.error]
    while True:
        for each in tried:
            each.turn()
        if time.perf_counter() >= end or all(each.is_done for each in tried):
            break
    upsweep.awkward.unregister()
    return made


def alone_and_registered(operation):
    """Returns the times of Awkward without and with upsweep.

    upsweep's first call comes first. It compiles no code of upsweep, but waits for the code that CuPy compiles for both.
    """
    ours, theirs = in_turn([(upsweep.awkward.register, operation), (upsweep.awkward.unregister, operation)])
    return theirs, ours


def cell(times):
    return f"{'-':>8} {'-':>9}" if times.error else f"{times.first:8.1f} {times.later:9.3f}"


def reasons(kinds):
    """Returns why there are no times of some of the kinds, by their names."""
    return "".join(
        "\n" + textwrap.fill(f"{who}: {times.error}", 80, initial_indent="    ", subsequent_indent="    ")
        for who, times in kinds.items()
        if times.error
    )


# The width of the names in a table.
NAMES = 33
HEADER = f"{'':{NAMES}} {'Awkward alone':>18} {'upsweep':>18}\n{'ms':{NAMES}} {'first':>8} {'later':>9} {'first':>8} {'later':>9} {'ratio':>6}"


def line(name, theirs, ours):
    """Returns a line of the table under HEADER, and below it the reason if there are no times."""
    ratio = float("nan") if theirs.error or ours.error else theirs.later / ours.later
    return f"{name:{NAMES}} {cell(theirs)} {cell(ours)} {ratio:6.2f}" + reasons({"awkward": theirs, "upsweep": ours})
