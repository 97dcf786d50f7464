# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_histograms.py: fused functions that fill histograms return what the functions return.
import concurrent.futures

import numpy as np
import pytest
import upsweep

ak = pytest.importorskip("awkward")
bh = pytest.importorskip("boost_histogram")
hist = pytest.importorskip("hist")

from test_fuse import result_of
from upsweep.awkward._fuse import fuse

THREADS = (1, 2, 5)
CALLS_OF_AWKWARD = " by Awkward:"  # in explain()
NOT_A_NUMBER, INFINITY = np.nan, np.inf


def made_events(count, seed=0):
    """Events with jets, whose values include those at edges of bins, NaN and infinities."""
    random = np.random.default_rng(seed)
    counts = random.poisson(2, count)
    n = int(counts.sum())
    x = random.normal(2, 3, n)
    special = [0.0, -0.0, 1.0, 4.0, np.nextafter(4, 0), np.nextafter(4, 5), -1e-320, NOT_A_NUMBER, INFINITY, -INFINITY, 1e308]
    chosen = random.random(n) < 0.3
    x[chosen] = random.choice(special, int(chosen.sum()))
    jets = ak.zip(
        {
            "x": x,
            "y": random.normal(0, 1, n).astype(np.float32),
            "n": random.integers(-3, 8, n),
            "k": random.integers(0, 9, n).astype(np.uint8),
            "flag": random.random(n) < 0.5,
            "w": random.integers(-4, 9, n) / 4,
            "real": random.exponential(1, n),
        }
    )
    return {
        "jets": ak.unflatten(jets, counts),
        "met": ak.Array(random.exponential(2, count)),
        "id": ak.Array(random.integers(-3, 8, count)),
        "w": ak.Array(random.integers(0, 9, count) / 8),
    }


EVENTS = made_events(9000)
FEW = made_events(20)
NONE = made_events(0)


def assert_equal(expected, got, tolerance=0.0):
    """`tolerance`: of sums, relative to those of the expected histogram."""
    assert type(got) is type(expected)
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        expected, got = list(expected.values()), list(got.values())
    if isinstance(expected, list | tuple):
        assert len(got) == len(expected)
        for x, y in zip(expected, got):
            assert_equal(x, y, tolerance)
    elif isinstance(expected, bh.Histogram):
        assert got.axes == expected.axes
        assert [vars(x) for x in got.axes] == [vars(x) for x in expected.axes]
        assert vars(got) == vars(expected)
        assert got.storage_type is expected.storage_type
        a, b = expected.view(flow=True), got.view(flow=True)
        assert a.dtype == b.dtype and a.shape == b.shape
        for name in a.dtype.names or [...]:
            np.testing.assert_allclose(b[name], a[name], rtol=tolerance, atol=0)
    elif isinstance(expected, ak.Array):
        assert ak.array_equal(expected, got, equal_nan=True)
    else:
        assert expected == got


def check(function, *args, counted=True, tolerance=0.0):
    """Compares a fused function with the function. `counted`: whether plans count all bins."""
    expected = function(*args)
    for threads in THREADS:
        fused = fuse(function, threads=threads)
        for _ in range(2):
            assert_equal(expected, fused(*args), tolerance)
            assert fused.reason is None
        text = fused.explain(*args)
        assert "bins of a histogram" in text or not counted, text
        assert CALLS_OF_AWKWARD not in text or not counted, text


def check_unfused(function, *args, reason):
    """The function runs as it is, with the same result or the same error."""
    fused = fuse(function)
    expected, got = result_of(function, *args), result_of(fused, *args)
    if isinstance(expected, Exception):
        assert (type(got), str(got)) == (type(expected), str(expected))
    else:
        assert_equal(expected, got)
    assert reason in (fused.reason or ""), fused.reason


# ---------------------------------------------------------------------------------------------------- axes and storages

AXES = {
    "regular": lambda: bh.axis.Regular(7, -1, 4),
    "regular without overflow": lambda: bh.axis.Regular(4, 0, 4, overflow=False),
    "regular without underflow": lambda: bh.axis.Regular(4, 0, 4, underflow=False),
    "regular, descending": lambda: bh.axis.Regular(3, 4, 0.3),
    "variable": lambda: bh.axis.Variable([-1, 0, 1 / 3, 4]),
    "variable without flow": lambda: bh.axis.Variable([0, 1, 4], underflow=False, overflow=False),
    "variable of many edges": lambda: bh.axis.Variable(np.linspace(-1, 4, 41)),
}
OF_INTEGERS = {
    "integer": lambda: bh.axis.Integer(-1, 5),
    "integer without flow": lambda: bh.axis.Integer(0, 4, underflow=False, overflow=False),
    "category": lambda: bh.axis.IntCategory([4, 0, -2]),
    "category without overflow": lambda: bh.axis.IntCategory([4, 0], overflow=False),
    "boolean": lambda: bh.axis.Boolean(),
    "regular of integers": lambda: bh.axis.Regular(3, 0, 5),
}
# Their bins are not those of a plan: boost-histogram is called with the arrays.
OTHERS = ["circular", "logarithms", "growing", "infinite edges", "growing variable"]
STORAGES = [bh.storage.Double, bh.storage.Int64, bh.storage.AtomicInt64, bh.storage.Weight]


def named(cases):
    return [pytest.param(case, id=name) for name, case in cases.items()]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("axis", named(AXES))
@pytest.mark.parametrize("name", ["x", "y", "flag", "k", "n"])
def test_axes_of_numbers(axis, storage, name):
    edges = axis()
    kind = storage()

    def function(jets):
        h = bh.Histogram(edges, storage=kind)
        h.fill(ak.flatten(jets[name]))
        return h

    check(function, FEW["jets"])
    if storage is bh.storage.Double:
        check(function, EVENTS["jets"])
        check(function, NONE["jets"])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("axis", named(OF_INTEGERS))
@pytest.mark.parametrize("name", ["n", "k", "flag"])
def test_axes_of_integers(axis, storage, name):
    bins = axis()
    kind = storage()

    def function(jets):
        return bh.Histogram(bins, storage=kind).fill(ak.ravel(jets[name]))

    check(function, FEW["jets"])
    if storage is bh.storage.Weight:
        check(function, EVENTS["jets"])


@pytest.mark.parametrize("kind", OTHERS)
def test_axes_that_plans_do_not_have(kind):
    if kind == "circular":

        def function(jets):
            return bh.Histogram(bh.axis.Regular(4, 0, 4, circular=True)).fill(ak.flatten(jets.x * 2))

    elif kind == "logarithms":

        def function(jets):
            h = bh.Histogram(bh.axis.Regular(4, 0.1, 4, transform=bh.axis.transform.log))
            return h.fill(ak.flatten(jets.x * 2))

    elif kind == "growing":

        def function(jets):
            h = bh.Histogram(bh.axis.Regular(4, 0, 4, growth=True))
            h.fill(ak.flatten(jets.k * 2))
            return h.fill(ak.flatten(jets.n * 3), weight=ak.flatten(jets.w))

    elif kind == "infinite edges":

        def function(jets):
            return bh.Histogram(bh.axis.Variable([0, 1, float("inf")])).fill(ak.flatten(jets.x * 2))

    else:

        def function(jets):
            return bh.Histogram(bh.axis.Variable([0, 1, 2], growth=True)).fill(ak.flatten(jets.k * 2))

    check(function, EVENTS["jets"], counted=False)
    text = fuse(function).explain(EVENTS["jets"])
    assert CALLS_OF_AWKWARD in text, text


@pytest.mark.parametrize("storage", [bh.storage.Unlimited, bh.storage.Mean, bh.storage.WeightedMean])
def test_storages_that_plans_do_not_have(storage):
    kind = storage()

    def function(jets):
        h = bh.Histogram(bh.axis.Regular(4, 0, 4), storage=kind)
        x = ak.flatten(jets.n * 2)
        return h.fill(x, sample=x * 3) if "Mean" in name else h.fill(x)

    name = storage.__name__
    check(function, EVENTS["jets"], counted=False)


# -------------------------------------------------------------------------------------------------------------- weights


def weighted(storage):
    def per_element(jets, w):
        h = bh.Histogram(bh.axis.Regular(7, -1, 4), storage=storage())
        return h.fill(ak.flatten(jets.x), weight=ak.flatten(jets.w))

    def per_event(jets, w):
        h = bh.Histogram(bh.axis.Regular(7, -1, 4), storage=storage())
        h.fill(ak.flatten(jets.x), weight=ak.flatten(ak.broadcast_arrays(w, jets.x)[0]))
        return h

    def both(jets, w):
        chosen = jets[jets.y > 0]
        h = bh.Histogram(bh.axis.Regular(7, -1, 4), storage=storage())
        return h.fill(ak.flatten(chosen.x), weight=ak.flatten(chosen.w * w))

    def of_integers(jets, w):
        return bh.Histogram(bh.axis.Regular(7, -1, 4), storage=storage()).fill(ak.flatten(jets.x), weight=ak.flatten(jets.n))

    def of_booleans(jets, w):
        return bh.Histogram(bh.axis.Regular(7, -1, 4), storage=storage()).fill(ak.flatten(jets.x), weight=ak.flatten(jets.flag))

    def of_a_number(jets, w):
        h = bh.Histogram(bh.axis.Regular(7, -1, 4), storage=storage())
        return h.fill(ak.flatten(jets.x), weight=0.25).fill(ak.flatten(jets.y), weight=3)

    def of_an_infinite_number(jets, w):
        return bh.Histogram(bh.axis.Regular(200, -1, 4), storage=storage()).fill(ak.flatten(jets.x), weight=float("inf"))

    def of_infinities(jets, w):
        h = bh.Histogram(bh.axis.Regular(60, -1, 4), storage=storage())
        return h.fill(ak.flatten(jets.x), weight=ak.flatten(jets.w / jets.flag))

    return [of_infinities, per_element, per_event, both, of_integers, of_booleans, of_a_number, of_an_infinite_number]


@pytest.mark.parametrize("function", weighted(bh.storage.Double) + weighted(bh.storage.Weight), ids=lambda f: f.__name__)
def test_weights(function):
    """The weights are multiples of 1/32. Their sums and those of their squares are exact in any order."""
    with np.errstate(all="ignore"):
        for events in (EVENTS, FEW, NONE):
            check(function, events["jets"], events["w"])


def real_weights(jets):
    h = bh.Histogram(bh.axis.Regular(3, -1, 4), bh.axis.Boolean(), storage=bh.storage.Weight())
    h.fill(ak.flatten(jets.x), ak.flatten(jets.flag), weight=ak.flatten(jets.real))
    h.fill(ak.flatten(jets.y), True, weight=0.1)
    return h


def test_sums_of_any_weights():
    """Sums in another order: of n weights of one sign they differ by at most n rounding errors of the sum."""
    events = made_events(60_000)["jets"]
    check(real_weights, events, tolerance=ak.count(events.x) * 2.0**-53)
    # The same bits for any number of threads.
    results = [fuse(real_weights, threads=threads)(events).view(flow=True) for threads in (1, 2, 3, 8)]
    assert all(np.array_equal(results[0], x) for x in results[1:])


def test_sums_of_few_events_have_the_same_bits():
    def function(jets):
        h = bh.Histogram(bh.axis.Regular(3, -1, 4), storage=bh.storage.Weight())
        return h.fill(ak.flatten(jets.x), weight=ak.flatten(jets.real))

    check(function, EVENTS["jets"][:4000])


def test_weights_of_counts():
    """boost-histogram converts weights to int64 one by one."""

    def function(jets):
        h = bh.Histogram(bh.axis.Regular(3, -1, 4), storage=bh.storage.Int64())
        return h.fill(ak.flatten(jets.x * 1), weight=ak.flatten(jets.n * 1))

    check(function, EVENTS["jets"], counted=False)


def test_numbers_are_arguments():
    def function(jets, scale, category):
        h = hist.Hist(hist.axis.Regular(7, -1, 4), hist.axis.Integer(0, 3), storage=hist.storage.Weight())
        return h.fill(ak.flatten(jets.x * scale), category, weight=scale)

    fused = fuse(function)
    for scale, category in ((1.0, 0), (0.5, 2), (2.0, 7), (0.0, -1), (np.inf, 1)):
        assert_equal(function(FEW["jets"], scale, category), fused(FEW["jets"], scale, category))
        assert fused.reason is None
    assert len(fused._entries) == 1
    for category in (2**40, 0.5):
        expected, got = result_of(function, FEW["jets"], 1.0, category), result_of(fused, FEW["jets"], 1.0, category)
        assert isinstance(expected, Exception)
        assert (type(got), str(got)) == (type(expected), str(expected))


@pytest.mark.parametrize("storage", [bh.storage.Double, bh.storage.Weight])
def test_fills_of_numbers_alone(storage):
    """boost-histogram fills them into the histogram of the recording."""
    kind = storage()

    def function(x, number, weight):
        h = bh.Histogram(bh.axis.Regular(10, 0, 200), bh.axis.Integer(0, 3, growth=True), storage=kind)
        h.fill(x, 1)
        h.fill(number, 2, weight=weight)
        h.fill(ak.sum(x), 0)
        return h.fill(number, 5)

    fused = fuse(function)
    for number, weight in ((150.0, 2.0), (10.0, 0.5), (70.0, 3.0)):
        assert_equal(function(FEW["met"], number, weight), fused(FEW["met"], number, weight))
        assert fused.reason is None


# ----------------------------------------------------------------------------------------- several axes, fills, results


def quick_construction(jets, met):
    h = hist.Hist.new.Reg(7, -1, 4, name="x", label="$x$").Var([-1, 0, 0.5], name="y").Int(0, 4, name="n").Weight()
    chosen = jets[jets.n > 1]
    h.fill(y=ak.flatten(chosen.y), x=ak.flatten(chosen.x), n=ak.flatten(chosen.n), weight=ak.flatten(chosen.w))
    return h


def module_construction(jets, met):
    return hist.new.Reg(7, -1, 4).Double().fill(ak.to_numpy(met))


def named_axes(jets, met):
    return (
        hist.NamedHist.new.Reg(7, -1, 4, name="x")
        .Bool(name="flag")
        .Int64()
        .fill(x=ak.flatten(jets.x), flag=ak.flatten(jets.flag))
    )


def flattened(jets, met):
    h = hist.Hist.new.Reg(7, -1, 4, name="x").Int(0, 4, name="n").Double()
    h.fill_flattened(jets.x, jets.n)
    h.fill_flattened(x=jets.x * 2, n=jets.n, weight=met > 1)
    return h.fill_flattened(jets[["n", "x"]])


def methods_of_arrays(jets, met):
    return hist.Hist.new.Reg(7, -1, 4).Double().fill(met.to_numpy())


def string_categories(jets, met):
    h = hist.Hist(hist.axis.StrCategory(["signal", "background"], name="kind"), hist.axis.Regular(7, -1, 4, name="x"))
    h.fill("signal", ak.flatten(jets.x[jets.y > 0]))
    h.fill(kind="background", x=ak.flatten(jets.x[jets.y < 0]), weight=2)
    h.fill("other", ak.flatten(jets.x))
    return h


def strings_without_overflow(jets, met):
    h = bh.Histogram(bh.axis.Regular(7, -1, 4), bh.axis.StrCategory(["a", "b"], overflow=False))
    return h.fill(met, "c").fill(met, "b")


def numbers_among_values(jets, met):
    h = bh.Histogram(
        bh.axis.Regular(7, -1, 4), bh.axis.Integer(0, 3), bh.axis.Variable([0.0, 1, 2]), storage=bh.storage.Int64()
    )
    return h.fill(ak.flatten(jets.x), 7, 1.5).fill(-2.0, ak.flatten(jets.n), float("nan"))


def several_histograms(jets, met):
    first, second = bh.Histogram(bh.axis.Regular(7, -1, 4)), bh.Histogram(bh.axis.Regular(3, 0, 1))
    empty = bh.Histogram(bh.axis.Regular(3, 0, 1))
    for each in (jets.x, jets.y, jets.real):
        first.fill(ak.flatten(each))
    second.fill(met)
    constant = bh.Histogram(bh.axis.Regular(3, 0, 1)).fill([0.1, 0.5, 0.5, 7.0])
    mixed = bh.Histogram(bh.axis.Regular(3, 0, 1)).fill(0.5, weight=3).fill(met)
    return {"first": [first, (second, empty)], "mass": jets.x * 2, "text": "x", 3: (constant, mixed)}


def of_lists_of_equal_lengths(jets, met):
    h = bh.Histogram(bh.axis.Regular(7, -1, 4), bh.axis.Regular(7, -1, 4))
    good = ak.nan_to_num(jets.x)
    return h.fill(ak.flatten(jets.x[good > 1]), ak.flatten(jets.y[good >= np.nextafter(1, 2)]))


def with_remainders(jets, met):
    """The operator % may format a string, and calls __repr__ of anything."""
    return bh.Histogram(bh.axis.Regular(7, -1, 4)).fill(met % 3)


def with_metadata(jets, met):
    axis = hist.axis.Regular(3, 0, 1, name="x", metadata="of the axis")
    return hist.Hist(axis, name="h", label="histogram", metadata="of the histogram").fill(x=met)


def reads_axes(jets, met):
    h = hist.Hist.new.Reg(7, -1, 4, name="x").Double()
    h.fill(x=met)
    return h.fill(met * h.axes[0].widths[0] * h.ndim)


FILLED = [quick_construction, module_construction, named_axes, flattened, methods_of_arrays, string_categories,
          strings_without_overflow, numbers_among_values, several_histograms, of_lists_of_equal_lengths,
          with_remainders, with_metadata, reads_axes]  # fmt: skip


@pytest.mark.parametrize("function", FILLED, ids=lambda f: f.__name__)
def test_fills(function):
    for events in (EVENTS, FEW, NONE):
        check(function, events["jets"], events["met"])


def test_plans_do_not_write_the_values():
    text = fuse(quick_construction).explain(EVENTS["jets"], EVENTS["met"])
    assert "  histogram 0" in text and "output" not in text, text


def test_strings_of_an_array():
    def function(kinds, x):
        h = hist.Hist(hist.axis.StrCategory([], growth=True), hist.axis.Regular(4, 0, 4))
        return h.fill(kinds, x * 2)

    check(function, ak.Array(["a", "b", "a", "c"]), ak.Array([1.0, 0.5, 0.7, 0.1]), counted=False)


@pytest.mark.parametrize("storage", STORAGES)
def test_categories_that_grow(storage):
    kind = storage()

    def function(x):
        h = hist.Hist(
            hist.axis.StrCategory([], growth=True, name="kind"),
            hist.axis.Regular(4, 0, 4, name="x"),
            hist.axis.IntCategory([7], growth=True, name="run"),
            storage=kind,
        )
        h.fill(kind="b", x=x * 2, run=3)
        h.fill(kind="a", x=x[x > 1] * 3, run=7)
        h.fill(kind="empty", x=x[x < -1], run=12)
        return h.fill(kind="b", x=x, run=-2)

    for events in (EVENTS, FEW, NONE):
        check(function, events["met"])


@pytest.mark.parametrize("storage", [bh.storage.Double, bh.storage.Weight])
def test_categories_that_grow_with_weights(storage):
    kind = storage()

    def function(x, w):
        h = hist.Hist(hist.axis.Regular(4, 0, 4), hist.axis.StrCategory([], growth=True), storage=kind)
        h.fill(x, "some", weight=w)
        h.fill(x, "of weight 0", weight=w * 0)
        return h.fill(x[x > 1e9], "none", weight=w[x > 1e9]).fill(x, "number", weight=2)

    for events in (EVENTS, FEW, NONE):
        check(function, events["met"], events["w"])


def test_regular_axes_that_grow():
    def function(x):
        h = bh.Histogram(bh.axis.Regular(4, 0, 4, growth=True), bh.axis.Regular(4, 0, 4), bh.axis.Integer(0, 1, growth=True))
        return h.fill(9.5, x, 3).fill(-2, x * 2, 0).fill(float("nan"), x, 1)

    check(function, FEW["met"])


def test_calls_that_plans_do_not_have():
    """They are executed between plans."""

    def function(jets):
        runs = ak.run_lengths(ak.flatten(jets.n))
        h, g = bh.Histogram(bh.axis.Regular(4, 0, 4)), bh.Histogram(bh.axis.Regular(4, 0, 4))
        return h.fill(runs), g.fill(ak.flatten(jets.x)).fill(runs * 2)

    check(function, EVENTS["jets"], counted=False)


def test_fills_before_arguments_change():
    def function(events):
        h = bh.Histogram(bh.axis.Integer(0, 4, growth=True))
        h.fill(events.n * 1)
        events["m"] = events.n * 2
        return h

    good, bad = ak.Array({"n": [1, 2, 3]}), ak.Array({"n": [1, 2, 2**40]})
    fused = fuse(function)
    assert_equal(function(good), fused(good))
    assert fused.reason is None
    assert good.m.to_list() == [2, 4, 6]
    with pytest.raises(ValueError, match="32-bit"):
        fused(bad)
    assert bad.fields == ["n"]


# -------------------------------------------------------------------------------------------------- no sharing of state


def test_each_call_returns_new_histograms():
    def function(met):
        h = hist.Hist.new.Reg(4, 0, 4, name="x").Double().fill(met)
        return {"a": h, "b": h, "c": hist.Hist.new.Reg(4, 0, 4).Double()}

    fused = fuse(function)
    expected = function(EVENTS["met"])
    first = fused(EVENTS["met"])
    assert fused.reason is None
    assert first["a"] is first["b"]
    assert_equal(expected, first)
    first["a"].fill([1.0, 2.0])
    first["a"].axes[0].label = "changed"
    first["c"].fill(1.0)
    second = fused(EVENTS["met"])
    assert_equal(expected, second)
    assert second["a"].fill(1.0).sum(flow=True) == expected["a"].sum(flow=True) + 1


GLOBAL = bh.Histogram(bh.axis.Regular(4, 0, 4))
AXIS = hist.axis.Regular(4, 0, 4, name="x")
STORAGE = bh.storage.Weight()


class Holder:
    def __init__(self):
        self.histogram = bh.Histogram(bh.axis.Regular(4, 0, 4))

    def fill(self, met):
        self.histogram.fill(met)
        return met * 2


def fills_a_global(met):
    GLOBAL.fill(met)
    return met * 2


def fills_a_default(met, h=GLOBAL):
    h.fill(met)
    return met * 2


def fills_its_argument(met, h):
    h.fill(met)
    return met * 2


def test_histograms_from_outside_are_filled_once():
    holder, argument = Holder(), bh.Histogram(bh.axis.Regular(4, 0, 4))
    enclosed = bh.Histogram(bh.axis.Regular(4, 0, 4))

    def closure(met):
        enclosed.fill(met)
        return met * 2

    cases = [(fills_a_global, (), GLOBAL), (fills_a_default, (), GLOBAL), (fills_its_argument, (argument,), argument),
             (closure, (), enclosed), (holder.fill, (), holder.histogram)]  # fmt: skip
    for function, more, h in cases:
        fused = fuse(function)
        for _ in range(3):
            h.reset()
            assert ak.array_equal(fused(EVENTS["met"], *more), EVENTS["met"] * 2)
            assert h.sum(flow=True) == len(EVENTS["met"])
            assert fused.reason is not None


def test_axes_and_storages_from_outside():
    def function(met):
        return hist.Hist(AXIS, storage=STORAGE).fill(x=met)

    fused = fuse(function)
    assert_equal(function(EVENTS["met"]), fused(EVENTS["met"]))
    AXIS.label = "changed"
    try:
        expected = function(EVENTS["met"])
        assert expected.axes[0].label == "changed"
        assert_equal(expected, fused(EVENTS["met"]))
        assert fused.reason is None
    finally:
        AXIS.label = "x"


def filled(met):
    h = hist.Hist.new.Reg(4, 0, 4).Double()
    h.fill(met)
    return h


READS = {
    "values": lambda met: filled(met).values().tolist(),
    "view": lambda met: filled(met).view(flow=True).tolist(),
    "variances": lambda met: filled(met).variances().tolist(),
    "sum": lambda met: filled(met).sum(),
    "scaled": lambda met: filled(met) * 2,
    "added": lambda met: filled(met) + filled(met),
    "in place": lambda met: filled(met).__init__(filled(met)),
    "subscript": lambda met: filled(met)[1],
    "part": lambda met: filled(met)[1:3],
    "projection": lambda met: filled(met).project(0),
    "copy": lambda met: filled(met).copy(),
    "converted": lambda met: bh.Histogram(filled(met)),
    "as an array": lambda met: np.asarray(filled(met)).tolist(),
    "comparison": lambda met: filled(met) == filled(met),
    "as text": lambda met: str(filled(met)),
    "reset": lambda met: filled(met).reset(),
    "scaling an array": lambda met: met / filled(met).sum(),
    "constants later": lambda met: filled(met).fill(0.5),
    "empty": lambda met: filled(met).empty(),
}


@pytest.mark.parametrize("function", named(READS))
def test_bins_that_the_function_reads(function):
    check_unfused(function, EVENTS["met"], reason="")
    fused = fuse(function)
    fused(EVENTS["met"])
    assert fused.reason is not None


def test_views_of_bins():
    def before(met):
        h = bh.Histogram(bh.axis.Regular(4, 0, 4))
        view = h.view()
        h.fill(met)
        return met / view.sum()

    def by_conversion(met):
        h = bh.Histogram(bh.axis.Regular(4, 0, 4))
        g = hist.Hist(h)
        h.fill(met)
        return g

    check_unfused(before, EVENTS["met"], reason="bins are used before")
    check_unfused(by_conversion, EVENTS["met"], reason="bins are used before")


def test_methods_that_draw(capsys):
    def function(met):
        h = hist.Hist.new.Reg(4, 0, 4).Double()
        h.show()
        return h.fill(met)

    fused = fuse(function)
    for _ in range(2):
        assert_equal(function(EVENTS["met"]), fused(EVENTS["met"]))
    assert fused.reason == "the function uses show of a histogram"
    text = capsys.readouterr().out
    assert text[: len(text) // 4] * 4 == text


def test_other_versions(monkeypatch):
    monkeypatch.setattr(bh, "__version__", "1.9.0")
    check_unfused(filled, EVENTS["met"], reason="not with 1.9.0")


def test_metadata_that_is_an_object():
    marker = [1]

    def function(met):
        return bh.Histogram(bh.axis.Regular(4, 0, 4, metadata=marker)).fill(met)

    fused = fuse(function)
    assert fused(EVENTS["met"]).axes[0].metadata is marker
    assert "metadata" in fused.reason


# --------------------------------------------------------------------------------------------------------------- errors


def check_error(function, *args):
    expected, fused = result_of(function, *args), fuse(function)
    assert isinstance(expected, Exception)
    for _ in range(2):
        got = result_of(fused, *args)
        assert (type(got), str(got)) == (type(expected), str(expected))


def fill_of_lists(jets):
    return bh.Histogram(bh.axis.Regular(4, 0, 4)).fill(jets.x)


def floats_among_integers(jets):
    return bh.Histogram(bh.axis.Integer(0, 4)).fill(ak.flatten(jets.x))


def large_integers(jets):
    return bh.Histogram(bh.axis.Integer(0, 4)).fill(ak.flatten(jets.n) << 31)


def large_unsigned_integers(jets):
    return bh.Histogram(bh.axis.IntCategory([1, 2])).fill(ak.values_astype(ak.flatten(jets.k), "uint64") << 31)


def different_lengths(jets):
    h = bh.Histogram(bh.axis.Regular(4, 0, 4), bh.axis.Regular(4, 0, 4))
    return h.fill(ak.flatten(jets.x[jets.flag]), ak.flatten(jets.x))


def weights_of_events(jets):
    return bh.Histogram(bh.axis.Regular(4, 0, 4)).fill(ak.flatten(jets.x), weight=ak.num(jets))


def too_few_axes(jets):
    return bh.Histogram(bh.axis.Regular(4, 0, 4), bh.axis.Regular(4, 0, 4)).fill(ak.flatten(jets.x))


def unknown_name(jets):
    return hist.Hist.new.Reg(4, 0, 4, name="x").Double().fill(z=ak.flatten(jets.x))


def missing_values(jets):
    return bh.Histogram(bh.axis.Regular(4, 0, 4)).fill(ak.firsts(jets.x))


def only_weights(jets):
    return bh.Histogram(bh.axis.Regular(4, 0, 4)).fill(1.0, weight=ak.flatten(jets.w * 2))


ERRORS = [fill_of_lists, floats_among_integers, large_integers, large_unsigned_integers, different_lengths,
          weights_of_events, too_few_axes, unknown_name, missing_values, only_weights]  # fmt: skip


@pytest.mark.parametrize("function", ERRORS, ids=lambda f: f.__name__)
def test_errors_are_those_of_boost_histogram(function):
    check_error(function, EVENTS["jets"])


def test_missing_values_that_do_not_exist():
    jets = EVENTS["jets"][ak.num(EVENTS["jets"]) > 0]
    check(missing_values, jets)

    def masked(jets):
        return bh.Histogram(bh.axis.Regular(4, 0, 4)).fill(ak.to_numpy(ak.firsts(jets.x)))

    check_unfused(masked, EVENTS["jets"], reason="another library")


def test_numbers_of_arrays():
    def sums(jets):
        h = bh.Histogram(bh.axis.Regular(4, 0, 4), bh.axis.Integer(0, 9), storage=bh.storage.Weight())
        return h.fill(ak.flatten(jets.y), ak.sum(jets.flag) % 9, weight=ak.sum(jets.w))

    def maxima(jets):
        return bh.Histogram(bh.axis.Regular(4, 0, 4)).fill(ak.flatten(jets.y), weight=ak.max(jets.n))

    for events in (EVENTS, FEW, NONE):
        check(sums, events["jets"], counted=False)
    check_unfused(maxima, EVENTS["jets"], reason="may be missing")


def test_lists_of_other_lengths_with_as_many_elements():
    def function(a, b):
        h = bh.Histogram(bh.axis.Regular(4, 0, 4), bh.axis.Regular(4, 0, 4))
        return h.fill(ak.flatten(a), ak.flatten(b))

    a = ak.Array([[1.0, 2.0], [], [3.0]])
    check_unfused(function, a, ak.Array([[0.0], [1.0, 3.0], []]), reason="different lengths")
    check(function, a, ak.Array([[0.0, 1.0], [], [3.0]]))


RAVELED = {
    "lists": ak.Array([[1.0, 2.0], [], [3.0]]),
    "lists of lists": ak.Array([[[1], [2, 3]], [], [[4]]]),
    "missing numbers": ak.Array([[1, None], [], [None, 4]]),
    "missing lists": ak.Array([[1, 2], None, [4]]),
    "numbers": ak.Array([1, 2, 3]),
    "regular": ak.to_regular(ak.Array([[1, 2], [3, 4]])),
    "records": ak.Array([[{"x": 1}], [{"x": 2}]]),
}


@pytest.mark.parametrize("array", named(RAVELED))
def test_ravel(array):
    expected, got = result_of(lambda x: ak.ravel(x) * 2, array), result_of(fuse(lambda x: ak.ravel(x) * 2), array)
    if isinstance(expected, Exception):
        assert (type(got), str(got)) == (type(expected), str(expected))
    else:
        assert got.type == expected.type and got.to_list() == expected.to_list()


def test_ravel_of_lists_of_one_element():
    def function(jets):
        return bh.Histogram(bh.axis.Regular(4, 0, 4)).fill(ak.ravel(ak.sum(jets.w, axis=1, keepdims=True)))

    check(function, EVENTS["jets"])


def test_threads_of_boost_histogram():
    def function(met):
        return bh.Histogram(bh.axis.Regular(7, -1, 4)).fill(met, threads=2)

    check_unfused(function, EVENTS["met"], reason="by threads")


def test_numbers_and_axes_that_ignore_values():
    """boost-histogram 1.8.1 ignores entries if the first one belongs to no bin. Fused functions do so as well."""

    def function(x, y):
        h = bh.Histogram(bh.axis.Regular(2, 0, 1, overflow=False), bh.axis.Integer(0, 3), bh.axis.Regular(2, 0, 1))
        return h.fill(x * 2, 1, y)

    y = ak.Array([0.1, 0.2, 0.9])
    check(function, ak.Array([9.0, 0.2, 0.4]), y, counted=False)
    check(function, ak.Array([0.1, 9.0, 0.4]), y, counted=False)


def test_other_histograms():
    def of_numpy(met):
        return np.histogram(met, 5, (0, 4))[0].tolist()

    def of_upsweep(met):
        return upsweep.histogram(met, (5, 0, 4))[0].tolist()

    def of_boost_histogram(met):
        return bh.numpy.histogram(met, 5, (0, 4))[0].tolist()

    for function in (of_numpy, of_upsweep, of_boost_histogram):
        check_unfused(function, EVENTS["met"], reason="")


def test_other_uses_of_numpy_arrays():
    check_unfused(lambda met: ak.to_numpy(met).tolist(), EVENTS["met"], reason="another library")
    check_unfused(lambda met: ak.Array(ak.to_numpy(met) * 2), EVENTS["met"], reason="")
    check(lambda met: met * 2 if isinstance(ak.to_numpy(met), np.ndarray) else met, EVENTS["met"], counted=False)
    check_unfused(lambda met: ak.Array(np.sqrt(ak.to_numpy(met))), EVENTS["met"], reason="")


# -------------------------------------------------------------------------------------------------------------- threads


def test_calls_from_several_threads():
    fused = fuse(quick_construction, threads=2)
    events = [made_events(count, count) for count in (0, 1, 100, 3000, 9000)]
    expected = [quick_construction(x["jets"], x["met"]) for x in events]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: fused(events[i % 5]["jets"], events[i % 5]["met"]), range(60)))
    for i, got in enumerate(results):
        assert_equal(expected[i % 5], got)


# ------------------------------------------------------------------------------------------------------ random programs


def random_axis(random):
    """An axis with the names of values that it takes."""
    flows = {"underflow": bool(random.random() < 0.7), "overflow": bool(random.random() < 0.7)}
    numbers, integers = ["x", "y", "w", "n", "k", "flag"], ["n", "k", "flag"]
    kind = random.integers(0, 5)
    if kind == 0:
        low = random.normal()
        return bh.axis.Regular(int(random.integers(1, 9)), low, low + random.exponential(3), **flows), numbers
    if kind == 1:
        return bh.axis.Variable(np.sort(random.normal(1, 2, random.integers(2, 12))).tolist(), **flows), numbers
    if kind == 2:
        return bh.axis.Integer(-1, int(random.integers(0, 6)), **flows), integers
    if kind == 3:
        return bh.axis.IntCategory(random.permutation(6)[: random.integers(1, 5)].tolist()), integers
    return bh.axis.Boolean(), integers


def random_program(seed):
    random = np.random.default_rng(seed)
    made = [random_axis(random) for _ in range(random.integers(1, 4))]
    axes = [axis for axis, _ in made]
    storage = random.choice(STORAGES)()
    may_weigh = isinstance(storage, bh.storage.Double | bh.storage.Weight)
    fills = []
    for _ in range(random.integers(1, 4)):
        names = [str(random.choice(names)) for _, names in made]
        constants = [random.random() < 0.15 for _ in made]
        if all(constants):
            constants[0] = False
        numbers = [int(random.integers(-2, 5)) if constant else None for constant in constants]
        weight = str(random.choice(["none", "w", "event", "n", "2"])) if may_weigh else "none"
        fills.append((names, numbers, weight, float(random.normal())))

    def function(jets, w):
        h = bh.Histogram(*axes, storage=storage)
        for names, numbers, weight, cut in fills:
            chosen = jets[jets.y > cut]
            values = [ak.flatten(chosen[name]) if number is None else number for name, number in zip(names, numbers)]
            if weight == "none":
                h.fill(*values)
            elif weight == "event":
                h.fill(*values, weight=ak.flatten(ak.broadcast_arrays(w, chosen.x)[0]))
            elif weight == "2":
                h.fill(*values, weight=2)
            else:
                h.fill(*values, weight=ak.flatten(chosen[weight]))
        return h

    return function


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_random_programs(first):
    plans = 0
    for seed in range(first, first + 20):
        function = random_program(seed)
        for events in (EVENTS, FEW):
            expected = result_of(function, events["jets"], events["w"])
            fused = fuse(function, threads=THREADS[seed % 3])
            got = result_of(fused, events["jets"], events["w"])
            if isinstance(expected, Exception):
                assert (type(got), str(got)) == (type(expected), str(expected)), seed
            else:
                assert_equal(expected, got)
                counted = "bins of a histogram" in fused.explain(events["jets"], events["w"])
                assert fused.reason is None or not counted, (seed, fused.reason)
                plans += counted
    assert plans >= 20
