# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_differences.py: what fused functions still do differently from Awkward. Each test is expected
# to fail, and it fails the run when it passes. Then it moves to test_fuse.py.
import collections
import functools
import itertools
import logging
import os
import random
import sys
import time
import types
import warnings

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

from fuse_programs import differences
from test_fuse import result_of
from upsweep.awkward._fuse import fuse

contents = ak.contents


def index(*values):
    return ak.index.Index64(np.array(values))


def lists(dtype=np.float64):
    """[[1, 2], [], [3]], with buffers that no other array shares."""
    return ak.Array(contents.ListOffsetArray(index(0, 2, 2, 3), contents.NumpyArray(np.array([1, 2, 3], dtype))))


@pytest.fixture
def x():
    return lists()


def expected_to_fail(reason):
    """Only a difference is expected: any other error fails the run."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


def named(cases):
    return [pytest.param(case, id=name) for name, case in cases.items()]


def assert_alike(expected, got):
    if isinstance(expected, Exception) or isinstance(got, Exception):
        assert (type(got), str(got)) == (type(expected), str(expected))
    else:
        assert type(got) is type(expected)
        assert not differences(expected, got)


def check(function, *args, recorded=None):
    """Compares a fused function with the function, after a call with the arguments `recorded`."""
    fused = fuse(function)
    with np.errstate(all="ignore"):
        if recorded is not None:
            result_of(fused, *recorded)
        assert_alike(result_of(function, *args), result_of(fused, *args))


def check_change(change, function, *args):
    """Compares a fused function with the function, before and after a change of what the function reads."""
    fused = fuse(function)
    before = function(*args)
    if differences(before, fused(*args)):
        raise ValueError("the results differ before the change")
    change()
    expected = function(*args)
    if not differences(before, expected):
        raise ValueError("the change does not change the result")
    assert_alike(expected, fused(*args))


# --------------------------------------------------------------------------------------- state of objects that is baked

factor = 2.0  # the tests change it to 5, as they change Settings.factor


class Settings:
    shared = 2.0

    def __init__(self):
        self.factor = 2.0

    def scale(self, x):
        return x * self.factor

    def __call__(self, x):
        return x * self.factor

    def __getitem__(self, key):
        return self.factor

    def __float__(self):
        return self.factor

    def __enter__(self):
        return self.factor

    def __exit__(self, *error):
        pass

    @property
    def twice(self):
        return self.factor * 2

    @classmethod
    def of_class(cls):
        return cls.shared


def in_a_with_statement(settings):
    def function(x):
        with settings as number:
            return x * number

    return function


def as_a_default(settings):
    def function(x, default=settings):
        return x * default.factor

    return function


READ_FROM_AN_OBJECT = {
    "method": lambda settings: lambda x: settings.scale(x),
    "property": lambda settings: lambda x: x * settings.twice,
    "call": lambda settings: lambda x: settings(x),
    "subscript": lambda settings: lambda x: x * settings[0],
    "conversion": lambda settings: lambda x: x * float(settings),
    "with": in_a_with_statement,
    "default": as_a_default,
    "getattr": lambda settings: lambda x: x * getattr(settings, "factor"),  # noqa: B009
    "vars": lambda settings: lambda x: x * vars(settings)["factor"],
    "fused bound method": lambda settings: settings.scale,
    "fused object": lambda settings: settings,
}


@expected_to_fail("the recording does not notice that an object's attribute has changed")
@pytest.mark.parametrize("made", named(READ_FROM_AN_OBJECT))
def test_attributes_of_objects(made, x):
    settings = Settings()
    check_change(lambda: setattr(settings, "factor", 5.0), made(settings), x)


@expected_to_fail("the recording does not notice that an attribute of a class or a function has changed")
@pytest.mark.parametrize("kind", ["class", "function"])
def test_attributes_of_classes_and_functions(kind, x):
    class Changed(Settings):
        pass

    def function(x):
        return x * function.factor

    function.factor = 2.0
    if kind == "class":
        check_change(lambda: setattr(Changed, "shared", 5.0), lambda x: x * Changed.of_class(), x)
    else:
        check_change(lambda: setattr(function, "factor", 5.0), function, x)


def scaled(x, by=1.0):
    return x * factor * by


def by_a_default(x, function=scaled):
    return function(x)


HELPERS = {"a": {"b": scaled}}
READ_FROM_GLOBALS = {
    "default": by_a_default,
    "partial": functools.partial(scaled, by=3.0),
    "dict of dicts": lambda x: HELPERS["a"]["b"](x),
    "globals()": lambda x: x * globals()["factor"],
    "eval": lambda x: eval("x * factor", globals(), {"x": x}),
}


@expected_to_fail("the recording does not notice that a global has changed")
@pytest.mark.parametrize("function", named(READ_FROM_GLOBALS))
def test_globals(function, x, monkeypatch):
    check_change(lambda: monkeypatch.setitem(globals(), "factor", 5.0), function, x)


class Calibrated(ak.Array):
    @property
    def calibrated(self):
        return self.pt * factor


@expected_to_fail("the recording does not notice changes that the class of a behavior reads")
@pytest.mark.parametrize("changed", ["global", "class"])
def test_behaviors(changed, x, monkeypatch):
    points = ak.Array(ak.zip({"pt": x}), with_name="point", behavior={("*", "point"): Calibrated})

    def change():
        if changed == "global":
            monkeypatch.setitem(globals(), "factor", 5.0)
        else:
            monkeypatch.setattr(Calibrated, "calibrated", property(lambda self: self.pt * 5))

    check_change(change, lambda points: points.calibrated + 0, points)


def of_imported_module(x):
    import upsweep_test_settings

    return x * upsweep_test_settings.factor


def of_imported_name(x):
    from upsweep_test_settings import factor

    return x * factor


@expected_to_fail("the recording does not follow imports")
@pytest.mark.parametrize("function", [of_imported_module, of_imported_name])
def test_imports(function, x, monkeypatch):
    module = types.ModuleType("upsweep_test_settings")
    module.factor = 2.0
    monkeypatch.setitem(sys.modules, "upsweep_test_settings", module)
    check_change(lambda: setattr(module, "factor", 5.0), function, x)


def of_ndarray():
    numbers = np.array([2.0, 3.0])
    return numbers, lambda x: x * numbers[0]


def of_sum_of_ndarray():
    numbers = np.array([2.0, 3.0])
    return numbers, lambda x: x * numbers.sum()


def of_awkward_array():
    numbers = np.array([2.0, 3.0])
    array = ak.Array(contents.NumpyArray(numbers))
    return numbers, lambda x: x * array[0]


def of_list_in_tuple():
    numbers = [2.0]
    outer = (numbers,)
    return numbers, lambda x: x * outer[0][0]


def of_deque():
    numbers = collections.deque([2.0])
    return numbers, lambda x: x * numbers[0]


@expected_to_fail("the recording does not notice that a container was changed in place")
@pytest.mark.parametrize("made", [of_ndarray, of_sum_of_ndarray, of_awkward_array, of_list_in_tuple, of_deque])
def test_containers(made, x):
    numbers, function = made()
    check_change(lambda: numbers.__setitem__(0, 5.0), function, x)


ARGUMENTS = {
    "property": (Settings, lambda x, y: x * y.twice, lambda y: setattr(y, "factor", 5.0)),
    "ndarray of an object": (
        lambda: types.SimpleNamespace(numbers=np.array([2.0])),
        lambda x, y: x * y.numbers[0],
        lambda y: y.numbers.__setitem__(0, 5.0),
    ),
    "subclass of dict": (
        lambda: collections.OrderedDict(number=2.0),
        lambda x, y: x * y["number"],
        lambda y: y.__setitem__("number", 5.0),
    ),
}


@expected_to_fail("the recording does not notice that an object has changed that is an argument")
@pytest.mark.parametrize(("made", "function", "change"), [pytest.param(*x, id=name) for name, x in ARGUMENTS.items()])
def test_objects_that_are_arguments(made, function, change, x):
    argument = made()
    check_change(lambda: change(argument), function, x, argument)


@expected_to_fail("the recording does not notice that the environment or a file has changed")
@pytest.mark.parametrize("source", ["environment", "file"])
def test_what_is_outside_of_the_process(source, x, tmp_path, monkeypatch):
    path = tmp_path / "number"

    def write(number):
        monkeypatch.setenv("UPSWEEP_TEST_NUMBER", number)
        path.write_text(number)

    write("2")
    if source == "environment":
        check_change(lambda: write("5"), lambda x: x * float(os.environ["UPSWEEP_TEST_NUMBER"]), x)
    else:
        check_change(lambda: write("5"), lambda x: x * float(path.read_text()), x)


# ----------------------------------------------------------------------------------------------- random numbers, clocks


class Smearing:
    def __init__(self):
        self.generator = np.random.default_rng(1)

    def run(self, x):
        return x * 0 + self.generator.normal()


def of_random_state():
    state = np.random.RandomState(1)
    return lambda x: x * 0 + state.normal()


def of_generator_in_dict():
    generators = {"a": np.random.default_rng(1)}
    return lambda x: x * 0 + generators["a"].normal()


def of_method():
    smearing = Smearing()
    return lambda x: smearing.run(x)


def of_iterator():
    numbers = itertools.count()
    return lambda x: x * 0 + next(numbers)


CHANGING = {
    "new generator": lambda: lambda x: x * 0 + np.random.default_rng().normal(),
    "RandomState": of_random_state,
    "generator in a dict": of_generator_in_dict,
    "generator of an object": of_method,
    "generator of a fused bound method": lambda: Smearing().run,
    "SystemRandom": lambda: lambda x: x * 0 + random.SystemRandom().random(),
    "iterator": of_iterator,
    "clock": lambda: lambda x: x * 0 + time.perf_counter_ns(),
}


@expected_to_fail("a number that differs from call to call is recorded as a constant")
@pytest.mark.parametrize("made", named(CHANGING))
def test_numbers_that_change_with_each_call(made, x):
    fused = fuse(made())
    assert len({fused(x)[0, 0] for _ in range(3)}) == 3


# -------------------------------------------------------------------------------------------------- errors and branches


def unused(x):
    x[:, 1]
    return x * 2


def caught(x):
    try:
        x[:, 1]
        return x * 2
    except IndexError:
        return x


def floats_that_raise(x):
    try:
        with np.errstate(divide="raise"):
            return 1 / (x - 1)
    except FloatingPointError:
        return x


def warnings_that_raise(x):
    try:
        with np.errstate(divide="warn"), warnings.catch_warnings():
            warnings.simplefilter("error")
            return 1 / (x - 1)
    except RuntimeWarning:
        return x


def error_of_a_copy(x):
    copy = ak.Array(x)
    try:
        count = len(copy)
    except Exception:  # noqa: BLE001
        return x * 2
    return x * count


@expected_to_fail("errors are not raised where the function raises them")
@pytest.mark.parametrize("function", [unused, caught, floats_that_raise, warnings_that_raise, error_of_a_copy])
def test_errors_and_branches(function, x):
    check(function, x)


# --------------------------------------------------------------------------------------------------------- side effects


def prints(x):
    print("called")
    return x * 2


def prints_before_it_is_refused(x):
    print("called")
    return x * len(x)


@expected_to_fail("a recording does not print, and a recording that is refused prints as well")
@pytest.mark.parametrize("function", [prints, prints_before_it_is_refused])
def test_prints(function, x, capsys):
    fused = fuse(function)
    for _ in range(3):
        fused(x)
    assert capsys.readouterr().out.count("called") == 3


def logs(x):
    logging.getLogger("upsweep.test").warning("called")
    return x * 2


@expected_to_fail("a recording does not log")
def test_logs(x, caplog):
    fused = fuse(logs)
    for _ in range(3):
        fused(x)
    assert len(caplog.records) == 3


def warns(x):
    warnings.warn("called", stacklevel=2)
    return x * 2


@expected_to_fail("a recording does not warn")
def test_warnings(x):
    fused = fuse(warns)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            fused(x)
    assert len(seen) == 3


class Kept:
    """Keeps arrays, and counts its calls."""

    def __init__(self):
        self.calls = 0
        self.items = []

    def keep(self, x):
        self.item = x * 2
        return x * 3

    def append(self, x):
        self.items.append(x)

    def count(self, x):
        self.calls += 1
        return x * 3


@expected_to_fail("an array without data stays in the object")
def test_arrays_that_an_object_keeps(x):
    kept = Kept()
    fuse(kept.keep)(x)
    assert type(kept.item) is ak.Array


@expected_to_fail("an array without data stays in the global")
def test_new_globals(x, monkeypatch):
    def function(x):
        global new_global
        new_global = x * 2
        return x * 3

    monkeypatch.setitem(globals(), "new_global", None)
    monkeypatch.delitem(globals(), "new_global")
    fuse(function)(x)
    assert type(globals().pop("new_global")) is ak.Array


@expected_to_fail("a method changes its object once for all calls")
def test_counts_of_an_object(x):
    kept = Kept()
    fused = fuse(kept.count)
    for _ in range(3):
        fused(x)
    assert kept.calls == 3


@expected_to_fail("an ndarray is changed once for all calls")
def test_counts_in_an_ndarray(x):
    counts = np.zeros(1)

    def function(x):
        counts[0] += 1
        return x * 2

    fused = fuse(function)
    for _ in range(3):
        fused(x)
    assert counts[0] == 3


def into_an_object():
    kept = Kept()
    return kept.items, lambda x: (kept.append(x * 2), x * 3)[1]


def into_a_defaultdict():
    kept = collections.defaultdict(list)
    return kept["a"], lambda x: (kept["a"].append(x * 2), x * 3)[1]


@expected_to_fail("arrays are appended once for all calls, and the first of them is without data")
@pytest.mark.parametrize("made", [into_an_object, into_a_defaultdict])
def test_arrays_that_are_appended(made, x):
    items, function = made()
    fused = fuse(function)
    for _ in range(3):
        fused(x)
    assert [type(item) for item in items] == [ak.Array] * 3


# -------------------------------------------------------------------------------------------------------------- results


class Value:
    def __init__(self, value):
        self.value = value

    def __call__(self):
        return self.value


CALLABLES = {
    "closure": lambda x: (x * 2, lambda: x * 3),
    "partial": lambda x: (x * 2, functools.partial(abs, x * 3)),
    "object": lambda x: (x * 2, Value(x * 3)),
}


@expected_to_fail("a function in the result contains an array without data")
@pytest.mark.parametrize("function", named(CALLABLES))
def test_functions_in_the_result(function, x):
    assert_alike(result_of(function(x)[1]), result_of(fuse(function)(x)[1]))


@expected_to_fail("attributes that the function sets are lost")
def test_attributes_of_the_result(x):
    def function(x):
        y = x * 2
        y.attrs["name"] = 1
        return y

    assert dict(fuse(function)(x).attrs) == dict(function(x).attrs)


@expected_to_fail("the behavior that the function sets is lost")
def test_behavior_of_the_result(x):
    def function(x):
        y = x * 2
        y.behavior = {"name": int}
        return y

    assert fuse(function)(x).behavior == function(x).behavior


@expected_to_fail("a list that the function returns is copied")
def test_identity_of_a_list_in_the_result(x):
    returned = []
    assert fuse(lambda x: (x * 2, returned))(x)[1] is returned


# ---------------------------------------------------------------------------------------------------- numbers and types


NUMBERS = {
    "type": (lambda x, a, b: x * a if type(a) is float else x - a, 2.0),
    "types": (lambda x, a, b: x * a if type(a) in (int, float) else x - a, 2.0),
    "name of the type": (lambda x, a, b: x * a if type(a).__name__ == "float" else x - a, 2.0),
    "identity": (lambda x, a, b: x * 2 if a is b else x + 1, 1e9),
}


@expected_to_fail("the function sees the recording's objects in place of its numbers")
@pytest.mark.parametrize(("function", "number"), [pytest.param(*case, id=name) for name, case in NUMBERS.items()])
def test_types_and_identity_of_numbers(function, number, x):
    check(function, x, number, number)


LARGE_NUMBERS = {
    "multiply": lambda x, number: x * number,
    "greater": lambda x, number: x > number,
    "full_like": lambda x, number: ak.full_like(x, number) + x,
}


@expected_to_fail("a number that does not fit int64 is not treated as Awkward treats it")
@pytest.mark.parametrize("function", named(LARGE_NUMBERS))
def test_integers_above_int64(function, x):
    check(function, x, 2**63, recorded=(x, 3))


class TenTimes(ak.Array):
    def __getitem__(self, where):
        result = super().__getitem__(where)
        return result * 10 if isinstance(where, str) and where == "pt" else result


@expected_to_fail("the recorder's __getitem__ precedes that of the behavior's class")
def test_behaviors_with_their_own_getitem(x):
    points = ak.Array(ak.zip({"pt": x}), with_name="point", behavior={("*", "point"): TenTimes})
    check(lambda points: points["pt"] + 0, points)


@expected_to_fail(
    "Awkward copies the lists in lists to a ListArray only if those are not in order; the recording does not know"
)
def test_classes_of_lists_in_lists():
    inner = contents.ListOffsetArray(index(0, 2, 4, 6), contents.NumpyArray(np.arange(6.0)))
    array = ak.Array(contents.ListArray(index(0, 2), index(2, 3), inner))

    def function(x):
        return ak.zip({"a": x, "b": x * 2}, depth_limit=2)

    assert_alike(ak.pad_none(function(array).a, 1, axis=2), ak.pad_none(fuse(function)(array).a, 1, axis=2))


@expected_to_fail(
    "where a list is missing, ak.where returns the last one of the content, also if it is of no event that is kept"
)
def test_lists_of_events_that_are_not_kept():
    inner = contents.ListOffsetArray(index(0, 1, 2, 3, 6), contents.NumpyArray(np.arange(6.0)))
    array = ak.Array(contents.ListOffsetArray(index(0, 2, 3, 4), inner))

    def function(x):
        return x[ak.sum(ak.num(x, axis=2), axis=1) < 3]

    padded = [ak.pad_none(f(array), 2) for f in (function, fuse(function))]
    assert_alike(*(ak.where(ak.num(x, axis=2) > 0, x, x) for x in padded))
