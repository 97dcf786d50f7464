# SPDX-License-Identifier: Apache-2.0
# tests/awkward/upsweep_kernels.py: a pytest plugin: awkward-cpp's kernels are looked for in libupsweep-awkward first.
import collections
import ctypes
import os

import awkward_cpp.cpu_kernels as cpu_kernels

theirs = cpu_kernels.lib
ours = ctypes.CDLL(os.environ["UPSWEEP_AWKWARD_LIBRARY"])
calls = collections.Counter()  # by kernel of ours


class Kernels:
    """Takes the place of awkward_cpp.cpu_kernels.lib."""

    def __getattr__(self, name):
        like = getattr(theirs, name)
        try:
            found = getattr(ours, name)
        except AttributeError:
            return like
        found.argtypes, found.restype, found.dir = like.argtypes, like.restype, like.dir

        def call(*args):
            calls[name] += 1
            return found(*args)

        return call


cpu_kernels.lib = Kernels()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"{sum(calls.values())} calls of {len(calls)} kernels of upsweep")
