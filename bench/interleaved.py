# SPDX-License-Identifier: Apache-2.0
# bench/interleaved.py: times functions in turn, so that a machine that becomes slower changes all of them.
import statistics
import time


class Times:
    """The times of one function in ms."""

    def __init__(self, wall, cpu):
        self.wall = statistics.median(wall)
        self.cpu = statistics.median(cpu)


def timed(function):
    """Wall and CPU time in ms, and the result. The CPU time is that of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3, result


def medians(runs, rounds):
    """Runs each of `runs` in turn. Returns a list of (medians of its times, its last result).

    A run is a function that returns a context manager, and a function that is timed within that context.
    """
    times = [([], []) for _ in runs]
    results = [None] * len(runs)
    for _ in range(rounds):
        for i, (context, function) in enumerate(runs):
            with context():
                function()  # allocates pages: the first run after a switch gets new ones from the system
                wall, cpu, results[i] = timed(function)
            times[i][0].append(wall)
            times[i][1].append(cpu)
    return [(Times(*each), result) for each, result in zip(times, results)]
