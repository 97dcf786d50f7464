# SPDX-License-Identifier: Apache-2.0
# tests/awkward/awkward_plugin.py: a pytest plugin that runs Awkward's own tests with upsweep's kernels. It counts the
# calls of each kernel, and compares the outcome of every test with a run without upsweep.
import collections
import ctypes
import json
import warnings

import pytest
import upsweep.awkward
from upsweep._libraries import library_path
from upsweep.awkward import _carries, _joins, _memory, _missing, _native, _table, _ufuncs

TESTS_PER_DOT = 100
calls = collections.Counter()  # number of calls of each of our functions


def pytest_addoption(parser):
    group = parser.getgroup("upsweep")
    group.addoption(
        "--upsweep", choices=["library", "register"], help="in the place of awkward_cpp's library, or by register()"
    )
    group.addoption("--outcomes", help="a file for what became of every test")
    group.addoption("--same-as", help="such a file of a run without upsweep; what differs is an error")


def pytest_configure(config):
    way = config.getoption("--upsweep")
    if way == "library":
        replace_library()
    elif way == "register":
        register()
    config.pluginmanager.register(Report(config), "upsweep-report")


def counted(name, function):
    def call(*arguments):
        calls[name] += 1
        return function(*arguments)

    call.argtypes = function.argtypes
    return call


class Library:
    """Replaces awkward_cpp's library: uses each function that upsweep has, registered or not, and Awkward's for all
    others."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs = ours, theirs

    def __getattr__(self, name):
        like = getattr(self.theirs, name)
        function = getattr(self.ours, name, None)
        if function is None:
            return like
        function.argtypes, function.restype = like.argtypes, like.restype
        return counted(name, function)


def replace_library():
    from awkward_cpp import cpu_kernels

    cpu_kernels.lib = Library(ctypes.CDLL(str(library_path("upsweep-awkward"))), cpu_kernels.lib)


def register():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it warns if the kernels are made for another Awkward
        upsweep.awkward.register()
    registration = _table._registration
    # Nearly all arrays in Awkward's tests are small.
    _carries.MANY = _joins.MANY = _missing.MANY = _ufuncs.LARGE = _ufuncs.WORTH = _memory.LEAST = 0
    _ufuncs.LEAST, _ufuncs.PAGE = 1, 16
    for key, function in registration._ours.items():
        registration._table[key] = counted(function.__name__, function)
    functions = registration._hooks.functions
    for name, function in functions.items():
        functions[name] = counted(name, function)


def never_called(way):
    """Returns our functions that the tests must call but never called, so that no function is tested only by chance."""
    if way == "library":
        return [] if calls else ["any kernel"]
    return [name for name in _native.ARGUMENTS if not calls[name]] if way else []


class Report:
    def __init__(self, config):
        self.config = config
        self.way = config.getoption("--upsweep")
        self.outcomes = {}
        self.problems = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        calls.update(getattr(node, "workeroutput", {}).get("upsweep_calls", {}))

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = "xfailed" if hasattr(report, "wasxfail") else report.outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report):
        if hasattr(report, "wasxfail") or report.failed or (report.passed and report.when != "call"):
            return None
        return report.outcome, "." if len(self.outcomes) % TESTS_PER_DOT == 0 else "", report.outcome.upper()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        # A worker of pytest-xdist sends its counts to the process that prints them.
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["upsweep_calls"] = dict(calls)
            return
        self.problems = [f"never called: {name}" for name in never_called(self.way)]
        if path := self.config.getoption("--outcomes"):
            with open(path, "w") as file:
                json.dump(self.outcomes, file)
        path = self.config.getoption("--same-as")
        if path:
            with open(path) as file:
                self.compare(json.load(file))
        ended = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if ended and self.problems:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif ended and path:
            session.exitstatus = pytest.ExitCode.OK  # a test that fails without upsweep may also fail with it

    def compare(self, others):
        for test in sorted(others.keys() | self.outcomes.keys()):
            without, now = others.get(test, "not run"), self.outcomes.get(test, "not run")
            if now != without:
                self.problems.append(f"{test}: {now}, without upsweep {without}")

    def pytest_terminal_summary(self, terminalreporter):
        if self.way:
            terminalreporter.write_line(f"{calls.total():,} calls of {len(calls)} functions of upsweep")
        for problem in self.problems:
            terminalreporter.write_line(problem, red=True)
