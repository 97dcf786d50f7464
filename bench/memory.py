# SPDX-License-Identifier: Apache-2.0
# bench/memory.py: measures the memory that calls add to the process, and runs such a measurement in a new process.
import ctypes
import json
import subprocess
import sys
from pathlib import Path


def added(run, calls=2):
    """Returns the MiB by which the peak memory of calls exceeds the memory before them. Needs Linux."""
    ctypes.CDLL(None).malloc_trim(0)  # pages that the setup has freed
    before = of_process("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    for _ in range(calls):
        run()
    return of_process("VmHWM") - before


def of_process(name):
    """Returns a line of /proc/self/status, in MiB."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(name))
    return int(line.split()[1]) / 1024


def in_new_process(script, *arguments):
    """Runs a script of Python, and returns the JSON that it prints."""
    command = [sys.executable, script, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
