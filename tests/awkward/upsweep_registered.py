# SPDX-License-Identifier: Apache-2.0
# tests/awkward/upsweep_registered.py: a pytest plugin: tests run with upsweep's kernels in Awkward Array's table.
import collections

import awkward_cpp.cpu_kernels
import upsweep.awkward
from upsweep.awkward import _table

calls = collections.Counter()  # by kernel of ours


class Counted:
    """A kernel of ours, whose calls are counted."""

    def __init__(self, name, kernel):
        self.name = name
        self.kernel = kernel
        self.argtypes = kernel.argtypes

    def __call__(self, *args):
        calls[self.name] += 1
        return self.kernel(*args)


table = awkward_cpp.cpu_kernels.kernel
theirs = dict(table)
upsweep.awkward.register()
for key, kernel in table.items():
    if kernel is not theirs[key]:
        table[key] = Counted(kernel.__name__, kernel)
hooks = _table._registration._hooks.functions
for name, function in hooks.items():
    hooks[name] = Counted(name, function)


def pytest_sessionfinish(session):
    # A worker of pytest-xdist sends its counts to the process that prints them.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["upsweep_calls"] = dict(calls)


def pytest_testnodedown(node, error):
    calls.update(getattr(node, "workeroutput", {}).get("upsweep_calls", {}))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"{sum(calls.values())} calls of {len(calls)} kernels of upsweep")
