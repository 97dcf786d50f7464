# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_attributes.py: results of fused functions have the attributes (`attrs`) of Awkward's results.
import numpy as np
import pytest

ak = pytest.importorskip("awkward")

from fuse_checks import assert_alike
from fuse_programs import made_events
from test_fuse import result_of
from test_fuse_steps import eager_calls, session_of
from upsweep.awkward._fuse import fuse


def jets_of(count, seed=0, behavior=None, **attrs):
    return ak.Array(made_events(count, seed)["jets"].layout, behavior=behavior, attrs=attrs or None)


def attributes_in(x):
    """The names and values of all arrays in a result, in order."""
    if isinstance(x, ak.Array):
        return [(name, id(value)) for name, value in x.attrs.items()]
    return [attributes_in(y) for y in x] if isinstance(x, tuple) else None


def check(function, *calls, steps=False):
    """Compares a fused function, as a whole or in steps, with the function, three times for each tuple of arguments."""
    fused = fuse(function)
    for _ in range(3):
        for args in calls:
            mine, theirs = [tuple(ak.Array(x.layout, behavior=x.behavior, attrs=x._attrs) for x in args) for _ in range(2)]
            expected, got = result_of(function, *mine), result_of(fused, *theirs)
            assert_alike(expected, got)
            assert attributes_in(expected) == attributes_in(got)
            for a, b in zip(mine, theirs):  # what the function sets in its arguments
                assert_alike(a, b)
                assert attributes_in(a) == attributes_in(b)
            assert (fused.reason is not None) == steps
    if steps:
        session = session_of(fused, *calls[0])
        assert session.steps
        assert session.by_awkward == 0
        assert not eager_calls(fused)
    return fused


def in_steps(function):
    return lambda *args: (len(args[0]), function(*args))


def calls_of_one():
    return [(jets_of(count, count, file=[count], at=object()),) for count in (40, 7, 0, 90)]


def calls_of_two():
    return [(jets_of(n, n, file=[n], first=n), jets_of(n, n + 1, second=str(n), file=n / 2)) for n in (40, 7, 90)]


def of_one(x):
    heavy = x[x.pt > 20]
    a, b = ak.unzip(ak.combinations(heavy, 2))
    return heavy.pt * 2, heavy, ak.num(x), a.pt + b.pt, ak.zip({"pt": x.pt, "n": x.n}), ak.run_lengths(ak.flatten(x.n))


def of_two(x, y):
    return x.pt + ak.num(y), ak.num(y) + x.pt, ak.concatenate([y.pt, x.pt], axis=1), ak.num(x) + ak.num(y), y.eta


def of_own_fields(x):
    x["twice"] = x.pt * 2
    copied = x[["pt", "eta"]]
    del copied["eta"]
    return x.twice + 1, copied


@pytest.mark.parametrize("steps", [False, True])
def test_results_have_the_attributes_of_each_call(steps):
    for function, calls in [(of_one, calls_of_one()), (of_two, calls_of_two()), (of_own_fields, calls_of_one())]:
        check(in_steps(function) if steps else function, *calls, steps=steps)


def test_some_arrays_have_none():
    check(of_two, *[(x, jets_of(len(x), 3)) for x, _ in calls_of_two()])
    check(in_steps(of_two), *[(jets_of(len(x), 3), x) for x, _ in calls_of_two()], steps=True)
    fused = fuse(of_one)
    for attrs in ({}, {"a": 1}, {"b": 2, "a": 1}, {}, {"a": 3, "b": 2}):
        assert attributes_in(fused(jets_of(30, **attrs))) == attributes_in(of_one(jets_of(30, **attrs)))
    assert len(fused._entries) == 4


def test_fields_of_arrays_with_other_attributes():
    def sets(x, y):
        x["other"] = ak.num(y)
        copied = x[["pt"]]
        copied["n"] = ak.num(y)
        return x.other + 1, copied, copied.n

    check(sets, *calls_of_two(), steps=True)


def test_attributes_that_the_function_uses():
    def reads(x):
        return x.pt * x.attrs["scale"], x.eta * 2

    def writes(x):
        before = x.pt * 2
        x.attrs["scale"] = 7.0
        return before, x.eta * 2, ak.num(x)

    for function in (reads, writes):
        fused = fuse(function)
        for scale in (2.0, 3.0, 2.0, 5.0):
            mine, theirs = jets_of(30, scale=scale), jets_of(30, scale=scale)
            expected, got = function(mine), fused(theirs)
            assert_alike(expected, got)
            assert [x.attrs for x in (*expected, mine)] == [x.attrs for x in (*got, theirs)]


def test_overloads_that_use_attributes():
    class Scaled(ak.Array):
        pass

    def add(x, y):
        return ak.zip({"pt": x.pt + y.pt * (2 if x.attrs.get("scale") == 2 else 3)}, with_name="Scaled", behavior=x.behavior)

    behavior = {("*", "Scaled"): Scaled, (np.add, "Scaled", "Scaled"): add}
    for function in (lambda x: x + x, lambda x: (len(x), x + x)):
        fused = fuse(function)
        for scale in (2, 5, 2, 4):
            x = ak.with_name(jets_of(30, behavior=behavior, scale=scale)[["pt"]], "Scaled")
            assert_alike(function(x), fused(x))


def test_named_axes_run_in_awkward():
    x = ak.Array(jets_of(30).pt, named_axis=("event", "jet"))
    fused = fuse(lambda x: (ak.sum(x, axis="jet"), x * 2))
    assert_alike(fused._function(x), fused(x))
    assert "named axes" in fused.reason


@pytest.mark.parametrize("attrs", [{}, {"file": 1}])
def test_fields_that_are_set_before_attributes_are_read(attrs):
    def analysis(x):
        before = x.pt * 2
        x["pt"] = x.pt + 100
        x.attrs.get("file")
        return before, x.pt, len(x)

    fused = fuse(analysis)
    for _ in range(3):
        mine, theirs = jets_of(30, **attrs), jets_of(30, **attrs)
        assert_alike((*analysis(mine), mine), (*fused(theirs), theirs))


def test_classes_of_mixins_run_in_steps():
    """Python adds names to each class that derives from ak.Array. They do not override anything."""
    behavior = {}

    @ak.mixin_class(behavior)
    class Jet:
        def heavy(self, least):
            return self[self.pt > least]

    def analysis(x):
        return len(x), x.heavy(20).pt * 2, ak.num(x.heavy(30))

    check(analysis, *[(ak.with_name(jets_of(n, n, behavior=behavior), "Jet"),) for n in (40, 7, 90)], steps=True)
