# SPDX-License-Identifier: Apache-2.0
# tests/python/test_dask_awkward.py: lists of dask-awkward in blocks, compared with upsweep's functions on the whole
# array.
import numpy as np
import pytest
import upsweep

dask = pytest.importorskip("dask")
ak = pytest.importorskip("awkward")
dak = pytest.importorskip("dask_awkward")  # its newest release needs a Dask before 2025.4: a separate environment
import upsweep.awkward
import upsweep.dask

PARTITIONS = (1, 3, 7)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def jets(count=1000):
    """Lists of records, a tenth of them empty, the same on every run."""
    random = np.random.default_rng(3)
    lengths = random.integers(0, 10, count)
    total = int(lengths.sum())
    records = ak.zip({"pt": random.random(total) * 100, "n": random.integers(-50, 50, total)}, depth_limit=1)
    return ak.unflatten(records, lengths)


def offsets_and(array):
    return np.asarray(ak.flatten(array)), np.append(0, np.cumsum(np.asarray(ak.num(array))))


@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("op", ["add", "mul", "max", "min", "argmax", "count", "any"])
def test_reductions_of_lists(op, partitions):
    array = jets()
    for field in ("pt", "n"):
        found = upsweep.dask.segmented_reduce(dak.from_awkward(array, npartitions=partitions)[field], op=op)
        expected = upsweep.segmented_reduce(*offsets_and(array[field]), op=op)
        computed = np.asarray(found.compute())
        assert computed.dtype == expected.dtype
        assert computed.tolist() == expected.tolist()
        assert str(found.form) == str(found.compute().layout.form)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_scans_of_lists(partitions):
    array = jets()
    x = dak.from_awkward(array, npartitions=partitions)
    sums = upsweep.dask.cumulative_sum(x.n)
    expected = upsweep.segmented_scan(*offsets_and(array.n))
    assert np.asarray(ak.flatten(sums.compute())).tolist() == expected.tolist()
    assert ak.num(sums.compute()).to_list() == ak.num(array).to_list()
    products = upsweep.dask.scan(x.n, op="mul", axis=1)
    expected = upsweep.segmented_scan(*offsets_and(array.n), op="mul")
    assert np.asarray(ak.flatten(products.compute())).tolist() == expected.tolist()
    greatest = upsweep.dask.scan(x.pt, op="max", exclusive=True, initial=20.0, axis=1)
    expected = upsweep.segmented_scan(*offsets_and(array.pt), op="max", exclusive=True, initial=20.0)
    assert np.asarray(ak.flatten(greatest.compute())).tolist() == expected.tolist()
    assert str(greatest.form) == str(greatest.compute().layout.form)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_selections_of_lists(partitions):
    array = jets()
    x = dak.from_awkward(array, npartitions=partitions)
    kept = upsweep.dask.select(x.pt > 30, x)
    assert kept.compute().to_list() == array[array.pt > 30].to_list()
    pt, n = upsweep.dask.select(x.n < 0, x.pt, x.n)
    for same in (pt, upsweep.dask.cumulative_sum(x.n), upsweep.dask.segmented_reduce(x.n)):
        assert same.divisions == x.divisions
    assert pt.compute().to_list() == array.pt[array.n < 0].to_list()
    assert n.compute().to_list() == array.n[array.n < 0].to_list()
    events = upsweep.dask.select(dak.num(x, axis=1) > 5, x.pt)  # a mask of lists, not of their elements
    assert events.compute().to_list() == array.pt[ak.num(array) > 5].to_list()
    assert not events.known_divisions


def test_results_go_on_as_collections():
    array = jets()
    x = dak.from_awkward(array, npartitions=3)
    largest = upsweep.dask.segmented_reduce(upsweep.dask.select(x.n > 0, x).pt, op="max", initial=0.0)
    assert float(dak.max(largest, axis=0).compute()) == ak.max(array.pt[array.n > 0])


def test_only_the_columns_that_are_used_are_read(tmp_path):
    pytest.importorskip("pyarrow")
    ak.to_parquet(jets(), str(tmp_path / "jets.parquet"))
    x = dak.from_parquet(str(tmp_path / "jets.parquet"))
    sums = upsweep.dask.segmented_reduce(x.n)
    (columns,) = dak.report_necessary_columns(sums).values()
    assert columns == frozenset({"n"})
    assert sums.compute().to_list() == ak.sum(jets().n, axis=1).to_list()
    array = ak.with_field(jets(), jets().pt + 1, "eta")
    ak.to_parquet(array, str(tmp_path / "three.parquet"))
    x = dak.from_parquet(str(tmp_path / "three.parquet"))
    sums = upsweep.dask.segmented_reduce(upsweep.dask.select(x.n > 1, x).pt)
    (columns,) = dak.report_necessary_columns(sums).values()
    assert columns == frozenset({"n", "pt"})
    assert np.allclose(sums.compute(), ak.sum(array.pt[array.n > 1], axis=1))


def test_slices_and_regular_lists():
    array = jets()
    x = dak.from_awkward(array, npartitions=3)
    assert upsweep.dask.segmented_reduce(x.n[:, :2]).compute().to_list() == ak.sum(array.n[:, :2], axis=1).to_list()
    square = dak.from_awkward(ak.from_numpy(np.arange(12).reshape(6, 2), regulararray=True), npartitions=2)
    assert upsweep.dask.segmented_reduce(square).compute().to_list() == [1, 5, 9, 13, 17, 21]
    assert upsweep.dask.cumulative_sum(square).compute().to_list() == np.arange(12).reshape(6, 2).cumsum(axis=1).tolist()


def test_selections_are_lists_again():
    array = jets()
    x = dak.from_awkward(array, npartitions=3)
    found = upsweep.dask.segmented_reduce(x[x.n > 0].pt, op="count")
    assert found.compute().to_list() == ak.num(array[array.n > 0].pt).to_list()
    events = x[dak.num(x, axis=1) > 5]
    assert upsweep.dask.segmented_reduce(events.n).compute().to_list() == ak.sum(array[ak.num(array) > 5].n, axis=1).to_list()
    backwards = upsweep.dask.cumulative_sum(x[:, ::-1].n)
    assert ak.all(ak.flatten(backwards.compute() == [np.cumsum(each).tolist() for each in array[:, ::-1].n], axis=None))


def test_blocks_without_elements_do_not_know_their_type():
    x = dak.from_lists([[[1.5, 2.0], []], [[], []], []])
    assert upsweep.dask.segmented_reduce(x).compute().to_list() == [3.5, 0, 0, 0]
    assert upsweep.dask.cumulative_sum(x).compute().to_list() == [[1.5, 3.5], [], [], []]
    assert upsweep.dask.select(x > 1.7, x).compute().to_list() == [[2.0], [], [], []]


def test_a_mask_has_the_blocks_of_its_content():
    array = jets(100)
    one, two, other = (dak.from_awkward(array, npartitions=n) for n in (1, 2, 3))
    for mask, content in ((one, two), (two, one), (two, other)):
        with pytest.raises(ValueError, match="partitions do not match those of the content"):
            upsweep.dask.select(mask.n > 0, content.n)
    shorter = dak.from_map(lambda length: array[:length], [7, 9], meta=two._meta)
    with pytest.raises(IndexError, match="cannot fit"):
        upsweep.dask.select(shorter.n > 0, two.n).compute()  # their lengths are not known in advance


class Jet(ak.Record):
    pass


class Jets(ak.Array):
    @property
    def twice(self):
        return self.pt * 2


def test_selections_keep_their_behavior():
    behavior = {"jet": Jet, ("*", "jet"): Jets}
    array = ak.with_name(jets(), "jet", behavior=behavior)
    x = dak.from_awkward(array, npartitions=3)
    kept = upsweep.dask.select(x.n > 0, x)
    assert kept.twice.compute().to_list() == (array.pt[array.n > 0] * 2).to_list()
    attrs = ak.Array(jets().layout, attrs={"a": 1})
    assert (
        upsweep.dask.segmented_reduce(dak.from_awkward(attrs, npartitions=2).n).compute().to_list()
        == ak.sum(attrs.n, axis=1).to_list()
    )


def test_options_hold_where_the_call_is():
    large = dak.from_awkward(ak.Array([[1], [2**62, 2**62]]), npartitions=1)
    with upsweep.options(overflow="wrap"):
        sums = upsweep.dask.segmented_reduce(large)
    assert sums.compute(scheduler="threads").to_list() == [1, -(2**63)]


def test_a_sum_that_does_not_fit_is_an_error_once_it_is_computed():
    large = dak.from_awkward(ak.Array([[1], [2**62, 2**62]]), npartitions=1)
    sums = upsweep.dask.segmented_reduce(large)
    with pytest.raises(OverflowError, match="list 1"):
        sums.compute()
    assert upsweep.dask.segmented_reduce(large, overflow="wrap").compute().to_list() == [1, -(2**63)]


def test_what_is_refused_when_it_is_called():
    x = dak.from_awkward(jets(), npartitions=3)
    deep = dak.from_awkward(ak.Array([[[1], [2, 3]]]), npartitions=1)
    words = dak.from_awkward(ak.Array(["a", "b"]), npartitions=1)
    missing = dak.from_awkward(ak.Array([[1, None], [2]]), npartitions=1)
    for call, error, text in (
        (lambda: upsweep.dask.segmented_reduce(x), TypeError, "content: lists of numbers, one level deep"),
        (lambda: upsweep.dask.segmented_reduce(deep), TypeError, "content: lists of numbers, one level deep"),
        (
            lambda: upsweep.dask.cumulative_sum(missing),
            TypeError,
            "x: lists of numbers, one level deep and without missing values",
        ),
        (
            lambda: upsweep.dask.segmented_reduce(x.n, [0, 1]),
            TypeError,
            "lists: dask-awkward lists already contain their offsets",
        ),
        (lambda: upsweep.dask.segmented_reduce(x.n, op="sum"), ValueError, "op: one of add"),
        (lambda: upsweep.dask.scan(x.n, axis=0), ValueError, "axis: 1 is needed for lists"),
        (lambda: upsweep.dask.scan(x.n, op="mul", axis=1, overflow="checked"), NotImplementedError, "products of integers"),
        (lambda: upsweep.dask.segmented_reduce(x.n, op="mul", overflow="checked"), NotImplementedError, "products of integers"),
        (
            lambda: upsweep.dask.cumulative_sum(x.n, include_initial=True),
            NotImplementedError,
            "include_initial: not supported for lists",
        ),
        (lambda: upsweep.dask.select(x.pt, x), TypeError, "mask: booleans are needed, not var . float64"),
        (lambda: upsweep.dask.select(x.pt > 1), TypeError, "at least one content"),
        (
            lambda: upsweep.dask.select(x.pt > 1, np.arange(3)),
            TypeError,
            "the mask is of dask-awkward, but the content is ndarray",
        ),
        (lambda: upsweep.dask.select(words, words), TypeError, "mask: booleans are needed, not string"),
        (lambda: upsweep.dask.reduce(dak.sum(x.pt, axis=None)), TypeError, "x: a Dask array is needed, not Scalar"),
        (
            lambda: upsweep.dask.reduce(x.pt),
            TypeError,
            "x: a dask-awkward collection: convert its numbers to a Dask array with dask_awkward.to_dask_array",
        ),
    ):
        with pytest.raises(error, match=text):
            call()
