# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_steps.py: fused functions that need data between their calls return what Awkward returns.
"""Such a function runs in steps: its calls are collected until a step needs data. Each test calls the fused function several
times, because the first call of a path of calls runs in Awkward, and later ones with plans."""

import copy
import functools
import pickle
import threading
import types

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

from fuse_checks import assert_alike
from fuse_programs import made_events
from test_fuse import result_of
from upsweep.awkward._fuse import fuse, recorder, steps


@pytest.fixture(autouse=True)
def without_warnings():
    with np.errstate(all="ignore"):
        yield


def jets_of(count=60, seed=0):
    return made_events(count, seed)["jets"]


def session_of(fused, *args, **kwargs):
    """The session of a call. The function runs in steps."""
    assert steps.notices(fused._function) is None
    _, session = fused._run("", args, kwargs)
    return session


def eager_calls(fused):
    """The functions whose calls are not traced."""
    nodes = [node for tree in fused._steps.trees.values() for node in tree.graph.nodes]
    return [key[0] for node in nodes for key, made in node.edges.items() if made is steps.EAGER]


def check(function, *calls, plans=True):
    """Compares a fused function with the function, for each tuple of arguments, three times."""
    fused = fuse(function)
    for _ in range(3):
        for args in calls:
            assert_alike(result_of(function, *copied(args)), result_of(fused, *copied(args)))
            assert fused.reason is not None
    if plans:
        session = session_of(fused, *copied(calls[0]))
        assert session.steps
        assert session.by_awkward == 0
    return fused


def copied(args):
    return tuple(copy.copy(x) if isinstance(x, ak.Array) else x for x in args)


# ---------------------------------------------------------------------------------------------------------- decisions


def by_any(x, least):
    if ak.any(x.pt * 1 > least):
        return x.pt + 1
    return x.eta * 2


def by_length(x):
    heavy = x[x.pt * 2 > 80]
    return ak.sum(heavy.pt, axis=1) / len(heavy), len(x.pt * 2)


def by_float(x):
    total = float(ak.sum(x.pt * 2))
    return x.pt / total, int(ak.max(ak.num(x))), ak.sum(x.eta + 1).item()


def by_length_of_selection(x):
    first = x[ak.num(x) > 2]
    total = ak.sum(first.pt, axis=1)
    return total / len(first), len(first[:, :2]), len(total), len(first.pt)


def by_elements(x):
    sums = ak.sum(x.pt * 2, axis=1)
    return [float(y) for y in sums[:3]], sums[0] + 1, (x.pt * 2)[3].to_list(), [ak.sum(y.pt) for y in x[:3]]


def by_contents(x):
    return 3 in ak.num(x), bool(ak.num(x)[:1] == 0), str(x.pt * 2), (x.pt * 2).to_list()[:2], repr(x.pt.type)


@pytest.mark.parametrize(
    "function",
    [by_length, by_float, by_length_of_selection, by_elements, by_contents],
)
def test_data_are_never_assumed(function):
    check(function, (jets_of(),), (jets_of(61, 1),), (jets_of(70, 2),))


def test_each_branch_is_its_own_path():
    fused = check(by_any, (jets_of(), 1), (jets_of(), 1e9), (jets_of(50, 3), 20), plans=False)
    jets = jets_of()
    for least in (1, 1e9, 1, 1e9):
        assert_alike(by_any(jets, least), fused(jets, least))


def test_many_values_of_one_number():
    """Numbers that differ in each call make new paths, up to a limit. Then Awkward runs the rest."""

    def scaled(x, number):
        return ak.sum(x.pt * number, axis=1) + len(x)

    fused = fuse(scaled)
    jets = jets_of()
    for number in range(3 * steps._MOST_EDGES):
        assert_alike(scaled(jets, number + 0.5), fused(jets, number + 0.5))
    (tree,) = fused._steps.trees.values()
    assert len(tree.graph.nodes) < 200


def test_numbers_of_equal_hash_differ():
    def scaled(x, number):
        return len(x), x.charge * number

    fused = fuse(scaled)
    jets = jets_of()
    jets["charge"] = ak.values_astype(jets.pt > 20, np.int32)
    for number in (1, 1.0, True, np.int64(1), np.float32(1), 0.0, -0.0, np.float64(-0.0), 0, False) * 2:
        got, expected = fused(jets, number), scaled(jets, number)
        assert_alike(expected, got)
        signs = [np.signbit(ak.to_numpy(ak.flatten(ak.values_astype(x[1], np.float64)))) for x in (expected, got)]
        assert np.array_equal(*signs)


def test_units_of_times_differ():
    def later(x, step):
        return len(x), x + step

    times = ak.Array(np.array(["2020-01-01", "2021-02-03"], "M8[s]"))
    fused = fuse(later)
    for _ in range(2):
        for unit in ("s", "m", "h", "D"):
            step = np.timedelta64(1, unit)
            assert later(times, step)[1].to_list() == fused(times, step)[1].to_list()
    assert session_of(fused, times, np.timedelta64(1, "s"))


# -------------------------------------------------------------------------------------------------- NumPy and objects

OFFSETS = np.array([0.5, 1.5])
CORRECTIONS = ak.Array([[1.0, 2.0], [3.0]])


class Table:
    def __init__(self, values):
        self.values = np.asarray(values)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        flat = np.asarray(ak.flatten(x))
        return ak.unflatten(self.values[np.clip((flat / 20).astype(int), 0, len(self.values) - 1)], ak.num(x))


def of_numpy(x):
    total = np.asarray(ak.sum(x.pt * 2, axis=1))
    return ak.sum(x.pt + total, axis=1), total, np.histogram(ak.to_numpy(ak.flatten(x.pt * 2)), 5, (0, 100))[0]


def with_global_arrays(x):
    index = ak.num(x) % 2
    return OFFSETS[index] + ak.sum(x.pt * 2, axis=1), ak.sum(CORRECTIONS[index], axis=1) * ak.num(x)


def with_random_numbers(x):
    random = np.random.default_rng(7)
    smeared = x.pt * ak.unflatten(random.normal(1, 0.1, ak.sum(ak.num(x))), ak.num(x))
    return ak.sum(smeared, axis=1) + random.random()


def with_an_object(x):
    seen = types.SimpleNamespace(sums=[], total=0)
    for shift in (0.9, 1.1):
        seen.last = x.pt * shift
        seen.sums.append(ak.sum(seen.last, axis=1))
        seen.total += ak.sum(seen.last)
    return seen.sums, seen.last, seen.total


def writes_to_copies(x):
    counts = ak.num(x).to_numpy()
    counts = counts.copy()
    before = ak.sum(x.pt, axis=1) * counts
    counts[counts > 2] = 2
    after = ak.sum(x.pt, axis=1) * counts
    counts[:] = 0
    return before, after, counts


def writes_to_its_result(x):
    counts = np.asarray(ak.num(x) * 2)
    counts[counts > 2] = 2
    return counts, ak.sum(x.pt, axis=1) / counts


def in_place(x):
    passes = np.zeros(len(x), bool)
    passes |= np.asarray(ak.any(x.pt * 2 > 80, axis=1))
    passes |= np.asarray(ak.num(x) > 3)
    passes &= ~np.asarray(ak.num(x) == 5)
    return x[passes].pt * 2


@pytest.mark.parametrize(
    "function",
    [
        of_numpy,
        with_global_arrays,
        with_random_numbers,
        with_an_object,
        writes_to_copies,
        writes_to_its_result,
        in_place,
    ],
)
def test_numpy_and_objects(function):
    check(function, (jets_of(),), (jets_of(61, 1),))


def test_objects_are_called_as_often():
    table, other = Table([1.0, 2.0, 3.0, 4.0]), Table([1.0, 2.0, 3.0, 4.0])

    def corrected(x, by):
        return x.pt * by(x.pt) + len(x), by

    fused = fuse(corrected)
    for count in (60, 61, 62, 63):
        jets = jets_of(count, count)
        assert_alike(corrected(jets, other)[0], fused(jets, table)[0])
        assert table.calls == other.calls
    table.values[1] = other.values[1] = 30
    assert_alike(corrected(jets, other)[0], fused(jets, table)[0])


def test_globals_are_read_in_each_call():
    jets = jets_of()
    fused = fuse(with_global_arrays)
    for _ in range(3):
        fused(jets)
    try:
        OFFSETS[0] = 7
        assert_alike(with_global_arrays(jets), fused(jets))
    finally:
        OFFSETS[0] = 0.5
    assert_alike(with_global_arrays(jets), fused(jets))


# ------------------------------------------------------------------------------------------- arguments and side effects

SEEN = []


def test_arguments_that_the_function_sets():
    def sets(x):
        x["double"] = x.pt * 2
        x["count"] = len(x)
        del x["eta"]
        jets = x[:]
        jets["pt"] = jets.pt + 1
        return x, (x, jets.pt), {"x": [x]}

    fused = fuse(sets)
    for _ in range(3):
        jets, other = jets_of(), jets_of()
        expected, got = sets(jets), fused(other)
        assert got[0] is other and got[1][0] is other and got[2]["x"][0] is other
        assert_alike(jets, other)
        assert_alike(expected[1][1], got[1][1])


def test_fields_that_are_set_before_an_error():
    def sets(x):
        x["double"] = x.pt * 2
        raise KeyError(len(x))

    fused = fuse(sets)
    for _ in range(3):
        jets, other = jets_of(), jets_of()
        assert_alike(result_of(sets, jets), result_of(fused, other))
        assert_alike(jets, other)


def test_deep_copies_have_their_own_memory():
    def first(x):
        return copy.deepcopy(x)

    def second(x):
        return len(x), copy.deepcopy([x.pt])[0], copy.deepcopy(x).pt * 2

    for function in (first, second):
        fused = fuse(function)
        for _ in range(3):
            jets, other = jets_of(), jets_of()
            expected, got = function(jets), fused(other)
            assert_alike(expected, got)
            assert_alike(jets, other)
            made = got.pt if function is first else got[1]
            np.asarray(ak.flatten(made))[:] = -1
            assert np.all(made == -1)
            assert_alike(jets, other)

    with pytest.raises(recorder.NotRecorded, match="an array is copied"):
        copy.deepcopy(recorder.array_input(recorder.Graph(), 0, jets_of()))


def test_containers_among_the_arguments():
    def changes(arrays, named):
        arrays.append(arrays[0].pt * len(arrays[0]))
        named["sum"] = ak.sum(named["x"].pt, axis=1)
        named["again"] = named["x"]
        return arrays, named

    fused = fuse(changes)
    for _ in range(3):
        jets = jets_of()
        lists, others = ([jets], {"x": jets}), ([jets], {"x": jets})
        changes(*lists)
        got = fused(*others)
        assert got[0] is others[0] and got[1] is others[1]
        assert others[0][0] is jets and others[1]["again"] is jets
        assert_alike(lists, others)
        assert type(others[0][1]) is ak.Array


def test_arrays_that_are_kept_become_ordinary():
    def keeps(x):
        SEEN.append(x.pt * 2)
        SEEN.append(x)
        return len(x)

    fused = fuse(keeps)
    for _ in range(3):
        SEEN.clear()
        jets = jets_of()
        assert fused(jets) == 60
        assert len(SEEN) == 2
        assert [type(x) for x in SEEN] == [ak.Array, ak.Array]
        assert_alike(jets.pt * 2, SEEN[0])
        assert_alike(jets, SEEN[1])
    SEEN.clear()


def test_attributes_and_behaviors():
    def sets(x):
        made = x.pt * len(x)
        made.attrs["name"] = 1
        other = x.pt * 2
        other.behavior = {"name": int}
        return made, other, made + 1

    fused = fuse(sets)
    for _ in range(3):
        got, expected = fused(jets_of()), sets(jets_of())
        assert [dict(x.attrs) for x in got] == [dict(x.attrs) for x in expected]
        assert [x.behavior for x in got] == [x.behavior for x in expected]
        assert_alike(expected, got)


def test_ndarrays_that_change_in_place():
    """An ndarray shares its memory with the arrays that it is a part of."""

    def field(x):
        weights = np.ones(len(x))
        x["weight"] = weights
        scaled = x.pt * x.weight
        weights *= 3
        return ak.sum(x.weight), scaled

    def zipped(x):
        made = np.zeros(len(x))
        y = ak.zip({"y": ak.Array(made), "z": ak.num(x)}).y
        made[:] = 7
        return y

    for function in (field, zipped):
        fused = fuse(function)
        for _ in range(3):
            jets, other = jets_of(), jets_of()
            assert_alike(function(jets), fused(other))
            assert_alike(jets, other)
        assert "changes ndarrays in place" in fused.reason


def test_ndarrays_that_change_after_ufuncs():
    """A result of a ufunc has its own memory."""

    def scaled(x):
        weights = np.ones(len(x))
        y = x.pt * weights
        weights *= 3
        return y, x.pt * weights

    check(scaled, (jets_of(),), (jets_of(61, 1),))


def test_ndarrays_of_several_dimensions():
    """Their sizes are part of the type."""

    def spread(lists):
        table = np.arange(3.0 * len(lists)).reshape(len(lists), 3)
        scaled = lists * table[:, ::-1]
        table *= 2
        return ak.sum(np.square(lists - table), axis=1), scaled

    def lists(*shape):
        return ak.from_regular(ak.Array(np.random.default_rng(1).normal(size=shape)))

    check(spread, (lists(60, 3),), (lists(61, 3),), (lists(0, 3),))
    two, three = (lists(60, 2), np.ones((60, 2))), (lists(60, 3), np.ones((60, 3)))
    check(lambda x, y: x * y + len(x), two, three)
    check(lambda x, y: (ak.mask(y, ak.num(x) > 0), len(x)), two, three)


def test_values_that_nobody_needs_are_forgotten(monkeypatch):
    """In other calls on the same path the function keeps some of them."""
    monkeypatch.setattr(steps, "_COLLECTED", -1)

    def rounds(x, keeps):
        kept, total = [], 0
        for i in range(4):
            y = x.pt * (i + 1) + total
            sums = np.asarray(ak.sum(y, axis=1))
            total = total + y / sums
            if i in keeps:
                kept += [y, sums]
        return total, kept

    fused = check(rounds, (jets_of(), []), (jets_of(61), [0, 2]), (jets_of(), [1]))
    session = session_of(fused, jets_of(), [])
    assert {"input", "call"} <= {x.kind for x in session.dropped}
    computed = [step.stages_run for step in session.steps]
    assert len({id(stage) for stages in computed for stage in stages}) == len(session.steps) == 5  # nothing twice


def test_arrays_whose_fields_are_set_are_computed_only_if_needed():
    def function(x):
        y = x[x.pt > 1]
        y["pt"] = y.pt * len(x)
        y["more"] = y.pt + 1
        return ak.sum(y.more, axis=1)

    fused = fuse(function)
    for _ in range(3):
        assert_alike(function(jets_of()), fused(jets_of()))
    said = fused.explain(jets_of())
    assert "a plan of" in said
    assert "with_field" not in said


def test_ndarrays_that_change_in_later_calls_only():
    def sometimes(x, change):
        weights = np.ones(len(x))
        y = ak.zip({"weight": weights, "count": ak.num(x)})
        if change:
            weights *= 3
        return y

    fused = fuse(sometimes)
    for _ in range(2):
        assert_alike(sometimes(jets_of(), []), fused(jets_of(), []))
    with pytest.raises(RuntimeError, match="changed an ndarray in place after it became part of an Awkward Array"):
        fused(jets_of(), [1])
    assert_alike(sometimes(jets_of(), [1]), fused(jets_of(), [1]))


def test_names_of_classes_are_awkwards():
    def texts(x):
        made = x.pt * 2
        return len(x), repr(x), f"{made!r}", str(made), pickle.loads(pickle.dumps(made))

    def fails(x):
        return len(x), repr(x.pt * 2), np.asarray((x.pt * 2)[:, 20])

    check(texts, (jets_of(),), (jets_of(61, 1),))
    fused = fuse(fails)
    for _ in range(3):
        expected, got = result_of(fails, jets_of()), result_of(fused, jets_of())
        assert (str(got), getattr(got, "__notes__", None)) == (str(expected), getattr(expected, "__notes__", None))
        assert "Pending" not in str(got)


def test_libraries_that_look_at_the_name_of_a_class():
    """correctionlib asks whether str(type(x)) begins with "<class 'awkward."."""

    class Jet(ak.Array):
        pass

    for theirs in (ak.Array, Jet):
        assert str(steps.pending_class(theirs)) == str(theirs)
        assert steps.pending_class(theirs) is not theirs


def test_arguments_that_are_not_recorded():
    check(lambda x, y: x.pt * y[0] + len(x), (jets_of(), np.ones(3)), (jets_of(61), np.zeros(3)))
    check(lambda x, y: x.pt * next(y) + len(x), (jets_of(), iter([2] * 50)), plans=False)
    check(lambda x, y: x[y].pt * 2 + len(x), (jets_of(), np.arange(60) % 2 == 0))


def test_fused_functions_in_fused_functions():
    inner = fuse(lambda x: x.pt * 2)

    def outer(x):
        return inner(x) + len(x)

    check(outer, (jets_of(),), (jets_of(61),))


# ------------------------------------------------------------------------------------------------------------- errors


def error_of_a_step(x, y):
    bad = x.pt[y]
    return np.asarray(ak.sum(bad * 2, axis=1))


def error_that_nobody_asks_for(x, y):
    x.pt[y]
    return len(x), x.pt * 2


def first_of_two_errors(x, y):
    bad = x.pt[y]
    unused = x.pt + y[:0]
    raise KeyError(len(x), bad, unused)


def error_after_a_decision(x, y):
    if len(x) > 60:
        return x.pt[y]
    return x.pt * 2


def error_of_a_field(x, y):
    return x.missing + len(y)


@pytest.mark.parametrize(
    "function",
    [error_of_a_step, error_that_nobody_asks_for, first_of_two_errors, error_after_a_decision, error_of_a_field],
)
def test_errors_are_awkwards(function):
    """Also with paths that were seen before without an error."""
    good, bad = ak.Array([[0]] * 60), ak.Array([[7]] * 60)
    jets = jets_of()
    jets = ak.concatenate([jets[ak.num(jets) > 0]] * 3)[:60]
    longer = ak.concatenate([jets, jets])[:61]
    calls = [(jets, good), (jets, bad), (longer, ak.concatenate([good, good])[:61]), (longer, ak.concatenate([bad, bad])[:61])]
    check(function, *calls, plans=False)
    check(function, *calls[::-1], plans=False)


def takes_missing(x, y):
    return np.asarray(x.pt[y] * 2)


def needs_missing(x, y):
    return ak.to_numpy(x.pt[y] * 2)


def imposes_other_counts(x, y):
    return len(x), ak.unflatten(x.pt, ak.num(y) * 2)


@pytest.mark.parametrize("fails", [takes_missing, needs_missing, imposes_other_counts])
def test_the_error_names_the_call_that_fails_once(fails):
    jets = jets_of()
    fused = fuse(fails)
    for _ in range(3):
        expected, got = (result_of(f, jets, ak.Array([[7]] * 60)) for f in (fails, fused))
        assert isinstance(expected, Exception)
        assert getattr(got, "__notes__", None) == getattr(expected, "__notes__", None)


class Store:
    pass


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit, None])
def test_what_happened_before_an_error_remains(error):
    """Also if a call fails whose result is needed at the end (x has an empty list)."""

    def sets(x, out, store):
        count = len(x)
        x["before"] = x.pt * 2
        del x["eta"]
        out.append(count)
        store.kept = x.pt * 3
        out.append(x.pt * 4)
        if error is not None:
            raise error(count)
        lead = x[:, 0]
        x["after"] = x.pt * 5
        return ak.sum(lead.pt)

    def run(function, jets):
        jets, out, store = copy.copy(jets), [jets_of(3)], Store()
        try:
            made = function(jets, out, store)
        except BaseException as of_error:  # noqa: BLE001
            made = type(of_error)
        return made, out, jets, type(jets), store.kept, type(store.kept), [type(x) for x in out]

    fused = fuse(sets)
    jets = jets_of()
    jets, full = jets[ak.num(jets) >= 0], jets[ak.num(jets) > 0]  # of the same classes
    for x in (full, full, jets, full, jets):
        expected, got = run(sets, x), run(fused, x)
        assert got[2].fields == expected[2].fields
        assert_alike(expected, got)


def test_code_that_gets_data_runs_after_all_earlier_calls():
    """A call that fails prevents what the function does next, once that needs data."""

    def sets(x, log):
        lead = x[:, 0]
        log.append(np.asarray(ak.num(x)).tolist())
        factors = np.array(log[-1])
        return ak.sum(lead.pt * factors), ak.sum(lead.eta)

    fused = fuse(sets)
    jets = jets_of()
    jets, full = jets[ak.num(jets) >= 0], jets[ak.num(jets) > 0]  # of the same classes
    for x in (full, full, jets, full, jets, jets, jets, jets, full):
        expected, got = [], []
        assert_alike(result_of(sets, x, expected), result_of(fused, x, got))
        assert got == expected


def test_an_error_that_a_library_catches():
    """The function returns nevertheless. Its arguments are ordinary arrays afterwards."""

    def catches(x, y):
        x["double"] = x.pt * 2
        return hasattr(Asked(x.pt[y]), "value"), len(x)

    fused = fuse(catches)
    good, bad = ak.Array([[0]] * 60), ak.Array([[7]] * 60)
    jets = jets_of()
    jets = ak.concatenate([jets[ak.num(jets) > 0]] * 3)[:60]
    for y in (good, good, bad):
        x = copy.copy(jets)
        result_of(fused, x, y)
        assert type(x) is ak.Array
        assert x.fields[-1] == "double"


class Asked:
    def __init__(self, x):
        self.x = x

    @property
    def value(self):
        return float(ak.sum(self.x))


def test_a_step_may_compute_what_nobody_asks_for():
    """The path of earlier calls fails for other data, but the function takes another path."""

    def chooses(x, y):
        total = ak.sum(x.pt * 2)
        if total > 0:
            return np.asarray(ak.num(x)), x.pt[y] * 2
        return np.asarray(ak.num(x)), x.pt * 2

    jets = jets_of()
    jets = ak.concatenate([jets[ak.num(jets) > 0]] * 3)[:60]
    negative = ak.with_field(jets, -jets.pt, "pt")
    good, bad = ak.Array([[0]] * 60), ak.Array([[7]] * 60)
    fused = fuse(chooses)
    for args in [(jets, good)] * 3 + [(negative, bad)] * 3 + [(jets, bad)] * 2 + [(jets, good)]:
        assert_alike(result_of(chooses, *args), result_of(fused, *args))


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def test_functions_that_would_notice():
    def handles(x):
        try:
            return len(x), x.pt[:, 20]
        except ValueError:
            return x.pt * 2

    def quiet(x):
        with Quiet():
            return len(x), x.pt[:, 20]
        return x.pt * 2

    def asks(x):
        return len(x), type(x.pt * 2) is ak.Array

    for function in (handles, quiet, asks):
        fused = fuse(function)
        for _ in range(3):
            assert_alike(result_of(function, jets_of()), result_of(fused, jets_of()))
        assert steps.notices(fused._function) is not None
        assert fused.explain(jets_of()).startswith("not fused: ")


# ------------------------------------------------------------------------------------------------------------ the rest


class Selection:
    calls = 0

    def first(self, x):
        try:
            return x.pt[:, 0]
        except IndexError:
            return x.pt * 2

    def process(self, x):
        self.calls += len(x)
        return ak.sum(self.first(x))


class Holder:
    __slots__ = ("inner",)

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x):
        return (self.inner["x"][0] if isinstance(self.inner, dict) else self.inner)(x)


class Plain:
    def __init__(self, inner):
        self.inner = inner

    def process(self, x):
        return len(x), ak.sum(self.inner(x))


def first_or_none(x):
    try:
        return x.pt[:, 0]
    except IndexError:
        return x.pt * 2


def test_arguments_that_would_notice():
    def calls(x, f):
        return len(x), ak.sum(f(x))

    def enters(x, context):
        made = len(x)
        with context:
            made += ak.sum(x.pt[:, 0])
        return made

    def method(x, y):
        return y.process(x)

    def closure(f):
        return lambda x: f(x)

    jets = jets_of()
    jets, full = jets[ak.num(jets) >= 0], jets[ak.num(jets) > 0]  # of the same classes
    cases = [
        (calls, first_or_none),
        (calls, closure(first_or_none)),
        (calls, functools.partial(first_or_none)),
        (calls, Selection().first),
        (calls, Holder(first_or_none)),
        (calls, Holder({"x": [first_or_none]})),
        (method, Selection()),
        (method, Plain(first_or_none)),
        (method, Plain(Holder(first_or_none))),
        (enters, Quiet()),
    ]
    for function, argument in cases:
        fused = fuse(function)
        for x in (full, full, jets, full, jets):
            assert_alike(result_of(function, x, argument), result_of(fused, x, argument))
        assert steps.notices(fused._function) is None
        assert ("defines __exit__" if function is enters else "handles exceptions") in fused.reason

    fused = fuse(method)
    for inner in (ak.num, first_or_none, ak.num, first_or_none):  # objects of one type
        assert_alike(result_of(method, jets, Plain(inner)), result_of(fused, jets, Plain(inner)))
    assert session_of(fused, jets, Plain(ak.num)).steps


def test_behaviors_that_would_notice():
    class Jets(ak.Array):
        def first(self):
            try:
                return self.pt[:, 0]
            except IndexError:
                return self.pt * 2

    def first(x):
        return len(x), ak.sum(ak.with_name(x, "noticing").first())

    jets = jets_of()
    jets, full = jets[ak.num(jets) >= 0], jets[ak.num(jets) > 0]  # of the same classes
    fused = fuse(first)
    ak.behavior["*", "noticing"] = Jets
    try:
        for x in (full, full, jets, full, jets):
            assert_alike(result_of(first, x), result_of(fused, x))
        assert "a behavior handles exceptions" in fused.reason
        assert "a behavior handles exceptions" in fused.explain(full)
    finally:
        del ak.behavior["*", "noticing"]


def test_caches_by_identity():
    cache = {}

    def cached(x):
        if id(x) not in cache:
            cache[id(x)] = ak.sum(x.pt) * len(x)
        return cache[id(x)]

    fused = fuse(cached)
    kept = [jets_of(seed=i) for i in range(20)]
    got = [fused(x) for x in kept]
    assert got == [ak.sum(x.pt) * len(x) for x in kept]
    assert steps.notices(fused._function) == "uses id"


def test_joined_records_of_different_kinds():
    events = made_events(60)
    jets = events["jets"]
    other = ak.zip({"eta": jets.eta, "pt": jets.pt + 1, "more": jets.pt > 3})

    def joined(x, y):
        both = ak.concatenate([x, y], axis=1)
        both = both[ak.argsort(both.pt, axis=1)]
        both["index"] = ak.local_index(both, axis=1)
        padded = ak.pad_none(both[both.eta > -1], 3)
        pairs = ak.combinations(both, 2, fields=["a", "b"])
        return padded[:, 0].pt + len(x), ak.sum(pairs.a.pt * pairs.b.eta, axis=1), both[:, :1], padded[:, :2].index

    check(joined, (jets, other), (jets_of(60, 4), other))


def test_threads():
    """Threads share the paths. Each has its own data."""
    fused = fuse(by_any)
    wrong = []

    def run(seed):
        for i in range(6):
            jets, least = jets_of(40 + seed, seed), (1, 1e9)[(seed + i) % 2]
            try:
                assert_alike(by_any(jets, least), fused(jets, least))
            except Exception as error:  # noqa: BLE001
                wrong.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_states_of_errors_are_part_of_the_path():
    def divides(x):
        with np.errstate(divide="raise"):
            length = len(x)
            return x.pt / (ak.num(x) * 0) + length

    check(divides, (jets_of(),), plans=False)


def test_behaviors_that_change():
    """A class or an overload that is registered between calls is used."""

    class Doubled(ak.Array):
        @property
        def value(self):
            return self.x * 2

    class Tripled(ak.Array):
        @property
        def value(self):
            return self.x * 3

    def uses(points):
        return points.value + len(points), (points + points).x

    fused = fuse(uses)
    try:
        for cls, factor in ((Doubled, 1), (Tripled, 10), (Doubled, 1)):
            ak.behavior["*", "step_point"] = cls
            ak.behavior[np.add, "step_point", "step_point"] = lambda a, b, factor=factor: ak.zip({"x": (a.x + b.x) * factor})
            points = ak.Array([[{"x": 1.5, "y": 1}], [], [{"x": 2, "y": 3}]], with_name="step_point")
            for _ in range(3):
                assert_alike(uses(points), fused(points))
    finally:
        del ak.behavior["*", "step_point"]
        del ak.behavior[np.add, "step_point", "step_point"]


def test_the_length_of_one_element_that_is_broadcast():
    one = ak.Array([{"x": 1}])

    def broadcast(x, y):
        made = ak.with_field(x, y * 2, "y")
        return len(made), made.y + 1

    check(broadcast, (one, ak.Array([1, 2, 3])), (one, ak.Array([1])), plans=False)


def test_explain_says_what_runs_in_steps():
    fused = fuse(by_length)
    for _ in range(2):
        fused(jets_of())
    said = fused.explain(jets_of())
    assert said.startswith("in steps, because it cannot be recorded as a whole: the length of an array")
    assert " 0 executed by Awkward" in said
    assert "a plan of" in said


def added(x, y):
    return ak.zip({"pt": x.pt + y.pt}, with_name="Jet", behavior=x.behavior)


def test_records_with_overloads_are_moved_by_plans():
    """The user's function for `add` is executed by Awkward. Functions that do not add are traced."""
    behavior = {(np.add, "Jet", "Jet"): added}

    def analysis(x):
        first, second = ak.unzip(ak.combinations(x, 2))
        return len(x), ak.num(first), (first.pt - second.pt), ak.cartesian([x, x])["0"].eta, (x + x).pt * 2

    fused = fuse(analysis)
    for count in (40, 9, 40, 70):
        x = ak.Array(ak.with_name(jets_of(count), "Jet"), behavior=behavior)
        assert_alike(analysis(x), fused(x))
    assert eager_calls(fused) == [np.add]


def test_behaviors_that_awkward_merges_in_each_call():
    one, other = {(np.add, "Jet", "Jet"): added}, {("*", "Other"): ak.Array}

    def analysis(x, y):
        return len(x), (x + y).pt * x.eta

    fused = fuse(analysis)
    sizes, results = [], []
    for count in (40, 9, 40, 70, 3):
        x = ak.Array(ak.with_name(jets_of(count), "Jet"), behavior=one)
        y = ak.Array(ak.with_name(jets_of(count), "Jet"), behavior=other)
        results.append(fused(x, y))  # their behaviors remain different objects
        assert_alike(analysis(x, y), results[-1])
        (tree,) = fused._steps.trees.values()
        sizes.append(len(tree.graph.nodes))
    assert sizes[1:] == sizes[:1] * 4


def test_behaviors_that_calls_name():
    """The result has the dict itself. Calls with another one are other calls."""

    class Scaled(ak.Array):
        factor = 2

        def scaled(self):
            return self.pt * self.factor

    class Tripled(Scaled):
        factor = 3

    behaviors = [{("*", "Jet"): Scaled}, {("*", "Jet"): Tripled}]

    def scaled(x, which):
        named = ak.with_name(x[x.pt > len(x) / 10], "Jet", behavior=behaviors[which])
        both = ak.zip({"pt": named.pt * 2}, with_name="Jet", behavior=behaviors[which])
        return named, named.scaled(), both.scaled()

    fused = check(scaled, (jets_of(), 0), (jets_of(), 1), plans=False)
    for which in (0, 1):
        assert fused(jets_of(), which)[0].behavior is behaviors[which]
    assert session_of(fused, jets_of(), 0).by_awkward == 0
    assert not {ak.with_name, ak.zip} & set(eager_calls(fused))
    behaviors[0]["*", "Jet"] = Tripled
    assert_alike(scaled(jets_of(), 0), fused(jets_of(), 0))


def test_arrays_whose_length_is_asked_for_are_not_computed():
    def analysis(x):
        many = x[ak.num(x) > 2]
        few = x[ak.num(x) < 2]
        return len(many), ak.sum(x.pt * 2, axis=1), len(few.pt), ak.sum(x.eta * 2, axis=1)

    fused = check(analysis, (jets_of(),), (jets_of(7, 1),), (jets_of(0, 2),))
    (step,) = session_of(fused, jets_of()).steps
    assert {x.name for x in step.outputs} == {"greater", "less", "sum"}
