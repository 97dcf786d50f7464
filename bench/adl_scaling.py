# SPDX-License-Identifier: Apache-2.0
# bench/adl_scaling.py: compares N threads of one fused ADL query with N processes that run it on one thread each.
"""Runs each query of adl.py as a fused function on N cores in two ways, in turn:

threads      one process calls the function on N threads
processes    N processes call it on one thread each, at the same time

Each process has `--events` events, including the one with N threads. So each thread has 1 / N of the work of a process.
N is 1, 2, 4, … and the number of cores that the process may use, or what `--cores` names. Each way runs for `--seconds`
in each round. Query 1 only returns a column: its rates are those of calls.

Prints medians of million events per second and their ratio. At a ratio of 1, threads use the cores as well as processes
do. `--output` writes JSON. Needs awkward 2.14.0 and upsweep (installed, or in PYTHONPATH).
"""

import functools
import json
import multiprocessing
import os
import statistics
import time

import adl
import awkward as ak
import numpy as np
from upsweep.awkward import fuse


@functools.cache
def fused(number, threads):
    return fuse(adl.QUERIES[number - 1][0], threads=threads)


def warm(number, threads, events):
    """Records and compiles, and allocates pages."""
    for _ in range(2):
        fused(number, threads)(events)
    assert fused(number, threads).reason is None, f"query {number} is not fused: {fused(number, threads).reason}"


def rate(number, threads, events, start, seconds):
    """Events per second of calls from a time of perf_counter() on."""
    function, count = fused(number, threads), len(events["met"])
    time.sleep(max(0, start - time.perf_counter()))
    begin, calls = time.perf_counter(), 0
    while (now := time.perf_counter()) < start + seconds or calls == 0:
        function(events)
        calls += 1
    return calls * count / (now - begin)


def work(connection, count):
    """Executes the commands of the parent process until there are no more."""
    events = adl.made_events(count)
    while (command := connection.recv()) is not None:
        number, start, seconds = command
        if start is None:
            connection.send(warm(number, 1, events))
        else:
            connection.send(rate(number, 1, events, start, seconds))


class Processes:
    """Processes that wait for commands. Each has its own events."""

    def __init__(self, most, count):
        context = multiprocessing.get_context("spawn")  # a forked process would lack the threads of upsweep's pool
        self._processes = []
        self._connections = []
        for _ in range(most):
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, count), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._connections.append(ours)

    def tell(self, n, *command):
        """The answers of the first n processes to a command."""
        for connection in self._connections[:n]:
            connection.send(command)
        return [connection.recv() for connection in self._connections[:n]]

    def stop(self):
        for process, connection in zip(self._processes, self._connections):
            connection.send(None)
            process.join()


# Time in seconds until all processes have received a command.
NOTICE = 0.1


def measure(number, n, events, processes, rounds, seconds):
    """Returns the median rates of both ways on n cores."""
    warm(number, n, events)
    processes.tell(n, number, None, None)
    rates = ([], [])
    for _ in range(rounds):
        rates[0].append(rate(number, n, events, time.perf_counter(), seconds))
        rates[1].append(sum(processes.tell(n, number, time.perf_counter() + NOTICE, seconds)))
    return [statistics.median(each) for each in rates]


def steps_to(cores):
    """1, 2, 4, … and the number of cores."""
    return sorted({cores, *(2**i for i in range(cores.bit_length()))})


def main():
    parser = adl.parser_of(__doc__)
    parser.add_argument("--cores", type=int, nargs="*", help="the numbers of cores")
    parser.add_argument("--seconds", type=float, default=0.5, help="the minimum time of each way in each round [0.5]")
    options = parser.parse_args()

    steps = options.cores or steps_to(len(os.sched_getaffinity(0)))
    processes = Processes(max(steps), options.events)
    events = adl.made_events(options.events)
    records = []
    print(f"{'query':36} {'cores':>5} {'threads':>9} {'processes':>9} {'ratio':>6}  (million events per second)")
    for number, (query, _) in enumerate(adl.QUERIES, 1):
        if options.only and number not in options.only:
            continue
        for n in steps:
            threads, separate = measure(number, n, events, processes, options.rounds, options.seconds)
            name = f"{number} {query.__name__.replace('_', ' ')}"
            print(f"{name:36} {n:5} {threads / 1e6:9.2f} {separate / 1e6:9.2f} {threads / separate:6.2f}", flush=True)
            rates = {"threads_per_s": threads, "processes_per_s": separate}
            records.append({"query": number, "name": query.__name__, "cores": n, **rates})
    processes.stop()
    if options.output:
        versions = {"awkward": ak.__version__, "numpy": np.__version__}
        whole = {"events": options.events, "seconds": options.seconds, **versions, "queries": records}
        options.output.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
