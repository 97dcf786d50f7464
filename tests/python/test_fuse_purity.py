# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_purity.py: fused functions that read state, change something, or return something else in each
# call do what the functions do.
import abc
import array
import collections
import collections.abc
import contextvars
import dataclasses
import datetime
import enum
import functools
import itertools
import logging
import os
import random
import sys
import threading
import time
import types
import uuid
import warnings
import weakref

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

from fuse_checks import assert_alike, check, check_change, lists, named
from test_fuse import result_of
from upsweep.awkward._fuse import fuse

contents = ak.contents


@pytest.fixture
def x():
    return lists()


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


@pytest.mark.parametrize("made", named(READ_FROM_AN_OBJECT))
def test_attributes_of_objects(made, x):
    settings = Settings()
    check_change(lambda: setattr(settings, "factor", 5.0), made(settings), x)


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


@pytest.mark.parametrize("function", named(READ_FROM_GLOBALS))
def test_globals(function, x, monkeypatch):
    check_change(lambda: monkeypatch.setitem(globals(), "factor", 5.0), function, x)


class Calibrated(ak.Array):
    @property
    def calibrated(self):
        return self.pt * factor


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


@pytest.mark.parametrize(("made", "function", "change"), [pytest.param(*x, id=name) for name, x in ARGUMENTS.items()])
def test_objects_that_are_arguments(made, function, change, x):
    argument = made()
    check_change(lambda: change(argument), function, x, argument)


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


def caught_by_all(x):
    try:
        x[:, 1]
        return x * 2
    except:  # noqa: E722
        return x


def suppressed(x):
    try:
        x[:, 1]
        return x * 2
    finally:
        return x * 3  # noqa: B012, SIM107


def unused_before_a_call_of_awkward(x):
    x[:, 1]
    return ak.run_lengths(ak.flatten(x)) * 2


@pytest.mark.parametrize(
    "function",
    [
        unused,
        unused_before_a_call_of_awkward,
        caught,
        caught_by_all,
        suppressed,
        floats_that_raise,
        warnings_that_raise,
        error_of_a_copy,
    ],
)
def test_errors_and_branches(function, x):
    check(function, x)


# --------------------------------------------------------------------------------------------------------- side effects


def prints(x):
    print("called")
    return x * 2


def prints_before_it_is_refused(x):
    print("called")
    return x * len(x)


@pytest.mark.parametrize("function", [prints, prints_before_it_is_refused])
def test_prints(function, x, capsys):
    fused = fuse(function)
    for _ in range(3):
        fused(x)
    assert capsys.readouterr().out.count("called") == 3


def logs(x):
    logging.getLogger("upsweep.test").warning("called")
    return x * 2


def test_logs(x, caplog):
    fused = fuse(logs)
    for _ in range(3):
        fused(x)
    assert len(caplog.records) == 3


def warns(x):
    warnings.warn("called", stacklevel=2)
    return x * 2


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


def test_arrays_that_an_object_keeps(x):
    kept = Kept()
    fuse(kept.keep)(x)
    assert type(kept.item) is ak.Array


def test_new_globals(x, monkeypatch):
    def function(x):
        global new_global
        new_global = x * 2
        return x * 3

    monkeypatch.setitem(globals(), "new_global", None)
    monkeypatch.delitem(globals(), "new_global")
    fuse(function)(x)
    assert type(globals().pop("new_global")) is ak.Array


def test_counts_of_an_object(x):
    kept = Kept()
    fused = fuse(kept.count)
    for _ in range(3):
        fused(x)
    assert kept.calls == 3


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


@pytest.mark.parametrize("function", named(CALLABLES))
def test_functions_in_the_result(function, x):
    assert_alike(result_of(function(x)[1]), result_of(fuse(function)(x)[1]))


def test_attributes_of_the_result(x):
    def function(x):
        y = x * 2
        y.attrs["name"] = 1
        return y

    assert dict(fuse(function)(x).attrs) == dict(function(x).attrs)


def test_behavior_of_the_result(x):
    def function(x):
        y = x * 2
        y.behavior = {"name": int}
        return y

    assert fuse(function)(x).behavior == function(x).behavior


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


@pytest.mark.parametrize(("function", "number"), [pytest.param(*case, id=name) for name, case in NUMBERS.items()])
def test_types_and_identity_of_numbers(function, number, x):
    check(function, x, number, number)


LARGE_NUMBERS = {
    "multiply": lambda x, number: x * number,
    "greater": lambda x, number: x > number,
    "full_like": lambda x, number: ak.full_like(x, number) + x,
}


@pytest.mark.parametrize("function", named(LARGE_NUMBERS))
def test_integers_above_int64(function, x):
    check(function, x, 2**63, recorded=(x, 3))


class TenTimes(ak.Array):
    def __getitem__(self, where):
        result = super().__getitem__(where)
        return result * 10 if isinstance(where, str) and where == "pt" else result


def test_behaviors_with_their_own_getitem(x):
    points = ak.Array(ak.zip({"pt": x}), with_name="point", behavior={("*", "point"): TenTimes})
    check(lambda points: points["pt"] + 0, points)


# ------------------------------------------------------------------------------------------------------- hostile state
#
# Each function returns (function, change). The change is one that the function's result depends on.


class Holder:
    factor = 2.0

    def __init__(self, factor=2.0):
        self.own = factor


class Descriptor:
    def __init__(self, value):
        self.value = value

    def __get__(self, instance, owner):
        return self.value


def of_descriptor():
    descriptor = Descriptor(2.0)
    described = type("Described", (), {"factor": descriptor})()
    return lambda x: x * described.factor, lambda: setattr(descriptor, "value", 5.0)


class Dynamic:
    def __init__(self):
        self.values = {"factor": 2.0}

    def __getattr__(self, name):
        return self.values[name]


def of_getattr_method():
    dynamic = Dynamic()
    return lambda x: x * dynamic.factor, lambda: dynamic.values.update(factor=5.0)


def of_shadowed_attribute():
    holder = Holder()
    return lambda x: x * holder.factor, lambda: setattr(holder, "factor", 5.0)


def of_default_of_getattr():
    holder = Holder()
    return lambda x: x * getattr(holder, "scale", 2.0), lambda: setattr(holder, "scale", 5.0)


def of_hasattr():
    holder = Holder()
    return lambda x: x * 5 if hasattr(holder, "scale") else x * 2, lambda: setattr(holder, "scale", 5.0)


def of_computed_name():
    holder = Holder()
    name = "own"
    return lambda x: x * getattr(holder, name), lambda: setattr(holder, "own", 5.0)


class Meta(type):
    @property
    def factor(cls):
        return cls.value


def of_metaclass():
    made = Meta("Made", (), {"value": 2.0})
    return lambda x: x * made.factor, lambda: setattr(made, "value", 5.0)


def of_class_attribute():
    class Own(Holder):
        pass

    own = Own()
    return lambda x: x * own.factor, lambda: setattr(Own, "factor", 5.0)


def of_operator_that_is_added():
    class Own(Holder):
        def __eq__(self, other):
            return False

    class Derived(Own):
        pass

    own = Derived()
    return lambda x: x * 5 if own == 1 else x * 2, lambda: setattr(Derived, "__eq__", lambda a, b: True)


def of_decorator():
    def scaled_by(numbers):
        def decorate(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args) * numbers[0]

            return wrapper

        return decorate

    numbers = [2.0]
    return scaled_by(numbers)(lambda x: x + 0), lambda: numbers.__setitem__(0, 5.0)


def of_lru_cache():
    numbers = [2.0]

    @functools.lru_cache
    def cached():
        return numbers[0]

    cached()

    def change():
        numbers[0] = 5.0
        cached.cache_clear()

    return lambda x: x * cached(), change


def of_stale_cache():
    numbers = [2.0]
    cached = functools.lru_cache(lambda: numbers[0])
    cached()
    numbers[0] = 5.0
    return lambda x: x * cached(), cached.cache_clear


def of_context_variable():
    variable = contextvars.ContextVar("factor", default=2.0)
    return lambda x: x * variable.get(), lambda: variable.set(5.0)


def of_thread_local():
    local = threading.local()
    local.factor = 2.0
    return lambda x: x * local.factor, lambda: setattr(local, "factor", 5.0)


def of_thread_local_subclass():
    class Local(threading.local):
        factor = 2.0

    local = Local()
    return lambda x: x * local.factor, lambda: setattr(local, "factor", 5.0)


def of_replaced_code():
    def helper(x):
        return x * 2

    return lambda x: helper(x) + 0, lambda: setattr(helper, "__code__", (lambda x: x * 5).__code__)


def of_replaced_default():
    def helper(x, by=2.0):
        return x * by

    return lambda x: helper(x), lambda: setattr(helper, "__defaults__", (5.0,))


def of_replaced_keyword_default():
    def helper(x, *, by=2.0):
        return x * by

    return lambda x: helper(x), lambda: helper.__kwdefaults__.update(by=5.0)


def of_mutable_default():
    def function(x, numbers=[2.0]):  # noqa: B006
        return x * numbers[0]

    return function, lambda: function.__defaults__[0].__setitem__(0, 5.0)


def of_nested_closures():
    factor = 2.0

    def outer(x):
        def inner():
            return sum([x * y for y in (factor,)])

        return inner()

    def change():
        nonlocal factor
        factor = 5.0

    return outer, change


def of_constant_object():
    numbers = [2.0]
    template = lambda x: x * min("numbers")
    constants = tuple(numbers if c == "numbers" else c for c in template.__code__.co_consts)
    code = template.__code__.replace(co_consts=constants)
    return types.FunctionType(code, {"min": min}), lambda: numbers.__setitem__(0, 5.0)


def of_generator_expression():
    numbers = [2.0, 3.0]
    return lambda x: x * sum(y for y in numbers), lambda: numbers.__setitem__(0, 5.0)


def of_comprehension():
    numbers = {"a": 2.0}
    return lambda x: x * max([y for y in numbers.values()]), lambda: numbers.update(a=5.0)


def of_walrus():
    numbers = [2.0]
    return lambda x: x * y if (y := numbers[0]) else x, lambda: numbers.__setitem__(0, 5.0)


def of_star_arguments():
    numbers = [2.0]

    def scale(x, *factors, **more):
        return x * factors[0]

    return lambda x: scale(x, *numbers), lambda: numbers.__setitem__(0, 5.0)


def of_star_star_arguments():
    numbers = {"by": 2.0}
    scale = lambda x, by: x * by
    return lambda x: scale(x, **numbers), lambda: numbers.update(by=5.0)


def of_match():
    mode = {"kind": "a"}

    def function(x):
        match mode:
            case {"kind": "a"}:
                return x * 2
            case _:
                return x * 5

    return function, lambda: mode.update(kind="b")


def of_view_through_its_base():
    base = np.array([1.0, 2.0])
    view = base[1:]
    return lambda x: x * view[0], lambda: base.__setitem__(1, 5.0)


def of_large_ndarray():
    numbers = np.full(100_000, 2.0)
    return lambda x: x * numbers[7], lambda: numbers.__setitem__(7, 5.0)


def of_objects_in_ndarray():
    numbers = np.array([[2.0], None], dtype=object)
    return lambda x: x * numbers[0][0], lambda: numbers[0].__setitem__(0, 5.0)


def of_structured_scalar():
    number = np.zeros(1, [("a", float)])[0]
    number["a"] = 2.0
    return lambda x: x * number["a"], lambda: number.__setitem__("a", 5.0)


def of_dataclass():
    @dataclasses.dataclass
    class Config:
        cut: float = 2.0

        @property
        def twice(self):
            return self.cut * 2

    config = Config()
    return lambda x: x * config.twice, lambda: setattr(config, "cut", 5.0)


def of_frozen_dataclass():
    @dataclasses.dataclass(frozen=True)
    class Config:
        cut: float = 2.0

    config = Config()
    return lambda x: x * config.cut, lambda: object.__setattr__(config, "cut", 5.0)


def of_text_of_a_dataclass():
    @dataclasses.dataclass
    class Config:
        cut: float = 2.0

    config = Config()
    return lambda x: x * (2 if "2.0" in f"{config}" else 5), lambda: setattr(config, "cut", 5.0)


class Text:
    def __init__(self):
        self.cut = 2.0

    def __str__(self):
        return str(self.cut)


def of_text():
    text = Text()
    return lambda x: x * (2 if str(text) == "2.0" else 5), lambda: setattr(text, "cut", 5.0)


def of_format():
    holder = Holder()
    return lambda x: x * float(f"{holder.own}"), lambda: setattr(holder, "own", 5.0)


def of_percent_format():
    text = Text()
    return lambda x: x * float("%s" % text), lambda: setattr(text, "cut", 5.0)  # noqa: UP031


def of_vectorize():
    numbers = [2.0]
    vectorized = np.vectorize(lambda y: y * numbers[0])
    return lambda x: x * float(vectorized(1.0)), lambda: numbers.__setitem__(0, 5.0)


def of_own_ufunc():
    numbers = [2.0]
    ufunc = np.frompyfunc(lambda y: y * numbers[0], 1, 1)
    return lambda x: x * float(ufunc(1.0)), lambda: numbers.__setitem__(0, 5.0)


def of_weak_reference():
    holder = Holder()
    reference = weakref.ref(holder)
    return lambda x: x * reference().own, lambda: setattr(holder, "own", 5.0)


def of_proxy():
    numbers = {"a": 2.0}
    proxy = types.MappingProxyType(numbers)
    return lambda x: x * proxy["a"], lambda: numbers.update(a=5.0)


def of_chain_map():
    numbers = {"a": 2.0}
    chained = collections.ChainMap({}, numbers)
    return lambda x: x * chained["a"], lambda: numbers.update(a=5.0)


def of_memory_view():
    numbers = np.array([2.0])
    view = memoryview(numbers)
    return lambda x: x * view[0], lambda: numbers.__setitem__(0, 5.0)


def of_order_of_a_dict():
    numbers = {"a": 2.0, "b": 5.0}
    return lambda x: x * next(iter(numbers.values())), lambda: numbers.update(a=numbers.pop("a"))


def of_keys():
    numbers = {2: "a"}

    def change():
        numbers.clear()
        numbers[2.5] = "a"

    return lambda x: x * max(list(numbers)), change


def of_set():
    numbers = {2.0}

    def change():
        numbers.clear()
        numbers.add(5.0)

    return lambda x: x * min(numbers), change


def of_sign_of_zero():
    numbers = [0.0]
    return lambda x: x * np.copysign(1.0, numbers[0]), lambda: numbers.__setitem__(0, -0.0)


def of_type_of_a_number():
    numbers = [1]
    return lambda x: x * (2 if isinstance(numbers[0], bool) else 5), lambda: numbers.__setitem__(0, True)


def of_module():
    module = types.ModuleType("upsweep_test_module")
    module.numbers = [2.0]
    module.inner = types.ModuleType("upsweep_test_module.inner")
    module.inner.factor = 2.0
    return lambda x: x * module.inner.factor, lambda: setattr(module.inner, "factor", 5.0)


def of_module_with_getattr():
    module = types.ModuleType("upsweep_test_module")
    numbers = [2.0]
    module.__getattr__ = lambda name: numbers[0]
    return lambda x: x * module.factor, lambda: numbers.__setitem__(0, 5.0)


def of_module_in_a_local():
    module = types.ModuleType("upsweep_test_module")
    module.factor = 2.0

    def function(x):
        local = module
        return x * local.factor

    return function, lambda: setattr(module, "factor", 5.0)


def of_replaced_helper():
    module = types.ModuleType("upsweep_test_module")
    module.helper = lambda x: x * 2
    return lambda x: module.helper(x) + 0, lambda: setattr(module, "helper", lambda x: x * 5)


def of_partial_keywords():
    partial = functools.partial(lambda x, by: x * by, by=2.0)
    return lambda x: partial(x), lambda: partial.keywords.update(by=5.0)


def of_bound_method_of_a_container():
    numbers = {"a": 2.0}
    get = numbers.get
    return lambda x: x * get("a"), lambda: numbers.update(a=5.0)


def of_slots():
    class Slotted:
        __slots__ = ("factor",)

    slotted = Slotted()
    slotted.factor = 2.0
    return lambda x: x * slotted.factor, lambda: setattr(slotted, "factor", 5.0)


def of_subclass_of_list():
    class Numbers(list):
        pass

    numbers = Numbers([2.0])
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 5.0)


def of_static_and_class_methods():
    class Own:
        numbers = [2.0]  # noqa: RUF012

        @staticmethod
        def helper():
            return Own.numbers[0]

        @classmethod
        def both(cls):
            return cls.helper() + cls.numbers[0]

    return lambda x: x * Own.both(), lambda: Own.numbers.__setitem__(0, 5.0)


def of_new_objects():
    class Own:
        def __init__(self, by):
            self.by = by * Own.factor

    Own.factor = 2.0
    return lambda x: x * Own(3.0).by, lambda: setattr(Own, "factor", 5.0)


def of_partly_changed_array():
    numbers = np.array([[2.0, 3.0]])
    return lambda x: x * numbers.T[0][0], lambda: numbers.__setitem__((0, 0), 5.0)


def of_replaced_class():
    class Other(Holder):
        factor = 5.0

    holder = Holder()
    return lambda x: x * holder.factor, lambda: setattr(holder, "__class__", Other)


def of_replaced_bases():
    class One:
        factor = 2.0

    class Other:
        factor = 5.0

    class Own(One):
        pass

    return lambda x: x * Own.factor, lambda: setattr(Own, "__bases__", (Other,))


def of_list_in_a_named_tuple():
    numbers = Range([2.0], 0)
    return lambda x: x * numbers.low[0], lambda: numbers.low.__setitem__(0, 5.0)


def of_cached_property():
    class Own:
        factor = 2.0

        @functools.cached_property
        def cached(self):
            return self.factor

    own = Own()
    return lambda x: x * own.cached, lambda: vars(own).update(cached=5.0)


def of_missing_key():
    class Numbers(dict):
        def __missing__(self, key):
            return self.default

    numbers = Numbers()
    numbers.default = 2.0
    return lambda x: x * numbers["a"], lambda: setattr(numbers, "default", 5.0)


def of_class_subscript():
    class Own:
        numbers = (2.0,)

        def __class_getitem__(cls, key):
            return cls.numbers[key]

    return lambda x: x * Own[0], lambda: setattr(Own, "numbers", (5.0,))


def of_single_dispatch():
    numbers = [2.0]

    @functools.singledispatch
    def scale(number):
        return 0

    scale.register(int)(lambda number: number * numbers[0])
    return lambda x: x * scale(1), lambda: numbers.__setitem__(0, 5.0)


def of_ufunc_of_an_object():
    holder = Holder()
    holder.sqrt = lambda: holder.own
    return lambda x: x * np.sqrt(holder), lambda: setattr(holder, "own", 5.0)


def of_computed_name_of_a_module():
    module = types.ModuleType("upsweep_test_module")
    module.factor = 2.0
    return lambda x: x * getattr(module, "fac" + f"{'tor'}"), lambda: setattr(module, "factor", 5.0)


def of_computed_name_of_a_function():
    def helper(x):
        return x

    helper.factor = 2.0
    name = "factor"
    return lambda x: helper(x) * getattr(helper, name), lambda: setattr(helper, "factor", 5.0)


def of_alias_of_getattr():
    holder = Holder()
    get = getattr
    return lambda x: x * get(holder, "ow" + "n"), lambda: setattr(holder, "own", 5.0)


def of_bytearray():
    data = bytearray(b"\x02")
    return lambda x: x * data[0], lambda: data.__setitem__(0, 5)


def of_array_module():
    numbers = array.array("d", [2.0])
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 5.0)


def of_mapping():
    class Numbers(collections.abc.Mapping):
        def __init__(self):
            self.inner = {"a": 2.0}

        def __getitem__(self, key):
            return self.inner[key]

        def __iter__(self):
            return iter(self.inner)

        def __len__(self):
            return len(self.inner)

    numbers = Numbers()
    return lambda x: x * numbers.get("a"), lambda: numbers.inner.update(a=5.0)


def of_virtual_subclass():
    class Base(abc.ABC):  # noqa: B024
        pass

    class Own:
        pass

    own = Own()
    return lambda x: x * 5 if isinstance(own, Base) else x * 2, lambda: Base.register(Own)


def of_builtin_that_is_hidden():
    space = {}
    function = types.FunctionType((lambda x: x * max(2.0, 1.0)).__code__, space)
    return function, lambda: space.update(max=min)


def of_library_function_that_is_replaced():
    module = types.ModuleType("upsweep_test_module")
    module.sqrt = np.sqrt
    return lambda x: module.sqrt(x) + 0, lambda: setattr(module, "sqrt", np.square)


def of_attribute_of_a_member():
    class Kind(enum.Enum):
        A = 1

    Kind.A.factor = 2.0
    return lambda x: x * Kind.A.factor, lambda: setattr(Kind.A, "factor", 5.0)


HOSTILE = {
    name[3:]: made for name, made in list(globals().items()) if name.startswith("of_") and made.__code__.co_argcount == 0
}
del HOSTILE["ndarray"], HOSTILE["sum_of_ndarray"], HOSTILE["awkward_array"], HOSTILE["list_in_tuple"], HOSTILE["deque"]
del HOSTILE["random_state"], HOSTILE["generator_in_dict"], HOSTILE["method"], HOSTILE["iterator"]


@pytest.mark.parametrize("made", named(HOSTILE))
def test_changes_of_what_a_function_reads(made, x):
    function, change = made()
    check_change(change, function, x)


class Numbered:
    def __init__(self):
        self.numbers = itertools.count()

    def __iter__(self):
        return self.numbers


class Counting:
    calls = 0

    @classmethod
    def count(cls):
        cls.calls += 1
        return cls.calls


def with_nonlocal():
    calls = 0

    def function(x):
        nonlocal calls
        calls += 1
        return x * 0 + calls

    return function


def with_attribute_of_a_function():
    def function(x):
        function.calls += 1
        return x * 0 + function.calls

    function.calls = 0
    return function


def with_default():
    return lambda x, seen=[]: x * 0 + (seen.append(1) or len(seen))


def with_dict():
    seen = {}
    return lambda x: x * 0 + (seen.setdefault(len(seen), 1) and len(seen))


def with_set():
    seen = set()
    return lambda x: x * 0 + (seen.add(len(seen)) or len(seen))


def with_ndarray_method():
    counts = np.zeros(1)
    return lambda x: x * 0 + (counts.__setitem__(0, counts[0] + 1) or counts[0])


def with_output():
    counts = np.zeros(1)
    return lambda x: x * 0 + float(np.add(counts, 1, out=counts)[0])


def with_pop():
    numbers = [1, 2, 3, 4, 5, 6]
    return lambda x: x * 0 + numbers.pop()


def with_iterator_of_an_object():
    numbered = Numbered()
    return lambda x: x * 0 + next(iter(numbered))


def with_object_setattr():
    holder = Holder(0)
    return lambda x: x * 0 + (object.__setattr__(holder, "own", holder.own + 1) or holder.own)


def with_unbound_method():
    class Own:
        def set(self, value):
            self.own = value

    holder = Holder(0)
    return lambda x: x * 0 + (Own.set(holder, holder.own + 1) or holder.own)


def with_init():
    holder = Holder(0)
    return lambda x: x * 0 + (holder.__init__(holder.own + 1) or holder.own)


def random_of_name(library, name="ran"):
    return getattr(library, name + "dom").normal()


def random_of(library):
    return library.random.normal()


def with_cached_generator():
    def numbers():
        n = 0
        while True:
            n += 1
            yield n

    generator = numbers()
    return lambda x: x * 0 + next(generator)


EACH_CALL = {
    "nonlocal": with_nonlocal,
    "class method": lambda: lambda x: x * 0 + Counting.count(),
    "attribute of a function": with_attribute_of_a_function,
    "default": with_default,
    "dict": with_dict,
    "set": with_set,
    "method of an ndarray": with_ndarray_method,
    "output of a ufunc": with_output,
    "pop": with_pop,
    "iterator of an object": with_iterator_of_an_object,
    "object.__setattr__": with_object_setattr,
    "unbound method": with_unbound_method,
    "__init__": with_init,
    "generator": with_cached_generator,
    "uuid": lambda: lambda x: x * 0 + float(uuid.uuid4().int % 10**9),
    "datetime": lambda: lambda x: x * 0 + datetime.datetime.now().timestamp(),
    "urandom": lambda: lambda x: x * 0 + float(int.from_bytes(os.urandom(4), "little")),
    "import": lambda: lambda x: x * 0 + float(__import__("time").perf_counter_ns()),
    "numpy's global generator": lambda: lambda x: x * 0 + np.random.normal(),
    "computed name of a module": lambda: lambda x: x * 0 + random_of_name(np),
    "module in a local": lambda: lambda x: x * 0 + random_of(np),
}


@pytest.mark.parametrize("made", named(EACH_CALL))
def test_functions_that_differ_in_each_call(made, x):
    fused = fuse(made())
    assert len({float(fused(x)[0, 0]) for _ in range(4)}) == 4
    assert fused.reason is not None


# ---------------------------------------------------------------------------------------------- what must stay recorded

CUTS = {"pt": 1.0, "eta": [2.4, 2.5]}
TABLE = np.linspace(0, 1, 20)
Range = collections.namedtuple("Range", ["low", "high"])
RANGE = Range(1.0, 9.0)


class Year(enum.Enum):
    FIRST = 2016
    LAST = 2018


class WithMethods:
    def __init__(self, by):
        self.by = by
        self.seen = []

    def add(self, y):
        self.by += 1
        self.seen.append(y)
        return y * self.by


def in_a_match(x, mode="a"):
    match mode:
        case "a" | "b":
            return x * 2
    return x


@dataclasses.dataclass(frozen=True)
class Config:
    cut: float = 1.0
    years: tuple = (Year.FIRST, Year.LAST)

    @property
    def twice(self):
        return 2 * self.cut


CONFIG = Config()


def with_errstate(x):
    with np.errstate(all="ignore"):
        return np.log(x - 1)


@np.errstate(divide="ignore")
def decorated_with_errstate(x):
    return np.log(x - 1)


def with_import(x):
    import math

    return x * math.pi


def with_generator(x):
    return sum(x * factor for factor in (1, 2, 3))


def with_getattr(x):
    points = ak.zip({"pt": x})
    return getattr(points, "pt") * getattr(CONFIG, "missing", 2)  # noqa: B009


def with_names_of_fields(x, names=("pt", "eta")):
    points = ak.zip({"pt": x, "eta": x * 2})
    return [getattr(points, name) * 3 for name in names if hasattr(points, name + "")]


RECORDED = {
    "names of fields": with_names_of_fields,
    "dict and list": lambda x: x[x > CUTS["pt"]] * CUTS["eta"][0],
    "ndarray": lambda x: x * TABLE[3] + TABLE.sum(),
    "named tuple": lambda x: x[(x > RANGE.low) & (x < RANGE.high)] * 2,
    "enumeration": lambda x: x * (2 if Year.FIRST.value == 2016 else 3),
    "frozen dataclass": lambda x: x[x > CONFIG.twice] * CONFIG.cut,
    "members of a dataclass": lambda x: x * CONFIG.years[0].value,
    "new named tuple": lambda x: x * Range(2, 3).high,
    "new object": lambda x: WithMethods(2.0).add(x),
    "match": in_a_match,
    "errstate": with_errstate,
    "decorator": decorated_with_errstate,
    "import": with_import,
    "generator": with_generator,
    "partial": functools.partial(lambda x, by: x * by, by=2.0),
    "getattr": with_getattr,
    "isinstance": lambda x: x * 2 if isinstance(x, ak.Array) else x,
    "functions in a dict": lambda x: {"a": np.sqrt, "b": np.exp}["a"](x) * 2,
    "f-string": lambda x: ak.zip({f"p{i}": x * i for i in range(2)}).p1 + 0,
    "format": lambda x: ak.zip({"p{}".format(i): x * i for i in range(2)}).p1 + 0,  # noqa: UP032
    "None": lambda x, cut=None: x * 2 if cut is None else x[x > cut],
    "sorted": lambda x: sum(x * y for y in sorted({3, 1, 2}, key=lambda z: -z)),
}


@pytest.mark.parametrize("function", named(RECORDED))
def test_functions_that_are_recorded(function, x):
    fused = fuse(function)
    with np.errstate(all="ignore"):
        assert_alike(function(x), fused(x))
        assert_alike(function(x), fused(x))
    assert fused.reason is None


def test_helpers_in_another_module_are_recorded(x, tmp_path, monkeypatch):
    (tmp_path / "upsweep_test_helpers.py").write_text("FACTOR = 2.0\n\n\ndef helper(x):\n    return x * FACTOR\n")
    monkeypatch.syspath_prepend(tmp_path)
    import upsweep_test_helpers

    fused = fuse(lambda x: upsweep_test_helpers.helper(x) + 0)
    fused(x)
    assert fused.reason is None
    monkeypatch.setattr(upsweep_test_helpers, "FACTOR", 5.0)
    assert_alike(x * 5 + 0, fused(x))
    assert fused.reason is None


@pytest.mark.parametrize("function", [unused, unused_before_a_call_of_awkward])
def test_unused_calls_without_errors(function, x):
    twice = ak.concatenate([x, x, x], axis=1)[[0, 2]]
    fused = fuse(function)
    assert_alike(function(twice), fused(twice))
    assert fused.reason is None
    assert_alike(result_of(function, x), result_of(fused, x))


def test_unused_errors_after_calls_of_awkward(x):
    def function(x, number):
        runs = ak.run_lengths(ak.flatten(x))
        runs[number + 0 : 2][5]
        1 / number
        return x * 2

    check(function, x, 1)
    check(function, x, 0, recorded=(x, 1))


# ------------------------------------------------------------------------------------------- behaviors, results, errors


def points_with(behavior):
    return ak.Array(ak.zip({"pt": lists()}), with_name="upsweep_point", behavior=behavior)


def test_overloads_that_read_globals(x, monkeypatch):
    def add(a, b):
        return ak.zip({"pt": a.pt + b.pt * factor}, with_name="upsweep_point", behavior=a.behavior)

    points = points_with({(np.add, "upsweep_point", "upsweep_point"): add})
    check_change(lambda: monkeypatch.setitem(globals(), "factor", 5.0), lambda points: (points + points).pt, points)


def test_behaviors_that_are_registered_later(x, monkeypatch):
    class Tripled(ak.Array):
        @property
        def tripled(self):
            return self.pt * 3

    def function(x):
        points = ak.zip({"pt": x * 2}, with_name="upsweep_point")
        return points.tripled if hasattr(points, "tripled") else points.pt

    check_change(lambda: monkeypatch.setitem(ak.behavior, ("*", "upsweep_point"), Tripled), function, x)


def test_behaviors_of_records_that_the_function_names(x, monkeypatch):
    monkeypatch.setitem(ak.behavior, ("*", "upsweep_point"), Calibrated)

    def function(x):
        return ak.zip({"pt": x * 2}, with_name="upsweep_" + "point").calibrated

    name = "upsweep_"
    check_change(lambda: monkeypatch.setitem(globals(), "factor", 5.0), function, x)
    check_change(
        lambda: monkeypatch.setitem(globals(), "factor", 7.0),
        lambda x: ak.zip({"pt": x * 2}, with_name=name + "point").calibrated,
        x,
    )


def returns_its_argument(x, numbers):
    return x * 2, numbers


def returns_a_list_twice(x):
    made = [x * 2]
    return made, made


def test_identity_of_containers_in_the_result(x):
    numbers = [1.0]
    assert fuse(returns_its_argument)(x, numbers)[1] is numbers
    first, second = fuse(returns_a_list_twice)(x)
    assert first is second


def test_keys_of_dicts_that_are_arguments(x):
    fused = fuse(lambda x, numbers: x * next(iter(numbers)))
    fused(x, {1: 0})
    assert_alike(x * 1.5, fused(x, {1.5: 0}))
    assert_alike(ak.type(x * True), ak.type(fused(x, {True: 0})))


def test_classes_of_numbers_from_arrays(x):
    def function(x):
        return x * 2 if isinstance(ak.sum(x, axis=None), float) else x * 5

    check(function, x)


def warns_through_a_variable(x, how="raise"):
    with np.errstate(divide=how):
        return 1 / (x - 1)


@pytest.mark.parametrize("how", ["raise", "print", "ignore"])
def test_error_states_that_are_not_constant(how, x):
    check(warns_through_a_variable, x, how)


def test_a_refused_function_leaves_nothing_behind(x):
    kept = {"items": [], "count": np.zeros(2)}

    def function(x):
        kept["items"].append(x)
        kept["new"] = x * 2
        kept["count"][1] += 1
        return x * 2

    fused = fuse(function)
    for calls in (1, 2, 3):
        fused(x)
        assert "changes" in fused.reason or calls > 1
        assert [type(y) for y in kept["items"]] == [ak.Array] * calls
        assert type(kept["new"]) is ak.Array
        assert kept["count"][1] == calls


def test_error_states_of_calls_that_awkward_executes(x):
    def function(x):
        with np.errstate(divide="ignore"):
            runs = ak.run_lengths(ak.flatten(x * 2))
            y = 1.0 / ak.sum(x * 0, axis=None)
        return runs * y + 1, x * 3

    fused = fuse(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fused(x)
        fused(x)
    assert fused.reason is None


def test_results_without_calls(x):
    for function in (lambda x: x, lambda x: {1: x, "a": 3}, lambda x: None):
        fused = fuse(function)
        assert_alike(function(x), fused(x))
        assert fused.reason == "no call for which a plan is faster than Awkward"
