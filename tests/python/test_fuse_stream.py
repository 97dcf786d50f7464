# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_stream.py: Fused.stream() returns what the function returns on all events at once.
import io
import os
import sys
import threading

import numpy as np
import pytest

ak = pytest.importorskip("awkward")
pq = pytest.importorskip("pyarrow.parquet")
bh = pytest.importorskip("boost_histogram")

from upsweep.awkward._fuse import fuse, stream


def events(count, seed=0):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, count)
    jets = ak.zip({"pt": random.exponential(30, counts.sum()), "eta": random.normal(0, 1, counts.sum())})
    return ak.zip({"met": random.exponential(20, count), "jets": ak.unflatten(jets, counts)}, depth_limit=1)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Three files with row groups of 100 rows, which are batches of at least 250, and all events."""
    monkeypatch.setattr(stream, "_ROWS", 250)
    parts = [events(count, seed) for seed, count in enumerate([1000, 1, 370])]
    for i, part in enumerate(parts):
        ak.to_parquet(part, tmp_path / f"{i}.parquet", row_group_size=100)
    return tmp_path, ak.concatenate(parts)


def results(events, least):
    good = events.jets[events.jets.pt > least]
    sums = ak.sum(good.pt, axis=1)
    histogram = bh.Histogram(bh.axis.Regular(20, 0, 200))
    histogram.fill(ak.to_numpy(sums))
    return {"sums": sums, "both": (ak.sum(ak.num(good)), histogram), "name": "pt", "none": None}


@pytest.mark.parametrize("pattern", [True, False])
def test_sum_of_batches(files, pattern):
    folder, whole = files
    expected = results(whole, 25)
    paths = folder / "*.parquet" if pattern else [folder / "0.parquet", str(folder / "1.parquet"), folder / "2.parquet"]
    found = fuse(results).stream(paths, 25)
    assert found["sums"].to_list() == expected["sums"].to_list()
    assert type(found["both"]) is tuple
    assert found["both"][0] == expected["both"][0]
    assert found["both"][1] == expected["both"][1]
    assert found["both"][1].sum(flow=True) == 1371
    assert (found["name"], found["none"]) == ("pt", None)


def test_batches_are_row_groups(files):
    lengths, columns = [], []

    def function(events, *, least):
        lengths.append(len(events))
        columns.append(events.fields)
        return ak.sum(events.jets.pt > least)

    whole = files[1]
    found = fuse(function).stream(str(files[0] / "*"), columns=["jets.pt"], least=3)
    assert found == ak.sum(whole.jets.pt > 3)
    assert lengths == [300, 300, 300, 100, 1, 300, 70]
    assert all(fields == ["jets"] for fields in columns)
    assert fuse(lambda events: ak.sum(events.met)).stream(files[0] / "0.parquet", columns="met") > 0


def test_at_most_two_batches_are_in_memory(files, monkeypatch):
    begun, most = [], []
    of_parquet = stream._of_parquet

    def counted(file, columns):
        def read(batch):
            begun.append(batch)
            return batch.read()

        return [batch._replace(read=lambda batch=batch: read(batch)) for batch in of_parquet(file, columns)]

    def function(events):
        most.append(len(begun) - len(most))
        return len(events)

    monkeypatch.setattr(stream, "_of_parquet", counted)
    assert fuse(function).stream(files[0] / "*") == 1371
    assert max(most) <= 2
    assert len(most) == len(begun) == 7


def test_numbers_of_small_types_do_not_overflow(files):
    found = fuse(lambda events: (np.int8(100), np.uint16(60000), 2**62)).stream(files[0] / "*")
    assert found == (700, 420000, 7 * 2**62)


def test_files_without_rows(tmp_path):
    ak.to_parquet(events(10)[:0], tmp_path / "empty.parquet")
    ak.to_parquet(events(10), tmp_path / "full.parquet")
    found = fuse(results).stream(tmp_path / "empty.parquet", 25)
    assert len(found["sums"]) == 0
    assert found["both"][1] == bh.Histogram(bh.axis.Regular(20, 0, 200))
    assert len(fuse(results).stream([tmp_path / "empty.parquet", tmp_path / "full.parquet"], 25)["sums"]) == 10


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (
            lambda x: np.histogram(np.asarray(x.met)),
            TypeError,
            r"the result\[0\] is of type ndarray, which is neither added nor concatenated",
        ),
        (lambda x: {"is": True}, TypeError, r"the result\['is'\] is of type bool"),
        (lambda x: x[0], TypeError, "the result is of type Record"),
        (lambda x: {1, 2}, TypeError, "the result is of type set"),
        (lambda x: len(x) if len(x) < 300 else None, TypeError, "of type int in one batch, and NoneType in another"),
        (lambda x: [1] * len(x), ValueError, r"only some batches have the result\["),
        (lambda x: str(len(x)), ValueError, "the result is '100' in one batch, and '300' in another"),
    ],
)
def test_results_that_cannot_be_combined(files, made, error, message):
    with pytest.raises(error, match=message) as raised:
        fuse(made).stream(files[0] / "0.parquet")
    assert "0.parquet, row group" in raised.value.__notes__[0]


def test_a_histogram_that_all_batches_share(files):
    shared = bh.Histogram(bh.axis.Regular(20, 0, 200))

    def function(events):
        shared.fill(ak.to_numpy(events.met))
        return shared

    with pytest.raises(ValueError, match="the result is the same Histogram in two batches"):
        fuse(function).stream(files[0] / "0.parquet")


def test_errors_name_the_rows(files, tmp_path):
    def function(events):
        return ak.sum(events.jets.nothing)

    with pytest.raises(AttributeError, match="no field named 'nothing'") as raised:
        fuse(function).stream(files[0] / "*")
    assert raised.value.__notes__ == [f"stream: in {files[0]}/0.parquet, row group 0 to 2, after 0 events"]
    damaged = tmp_path / "damaged.parquet"
    content = bytearray((files[0] / "0.parquet").read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    damaged.write_bytes(content)
    with pytest.raises(Exception) as raised:
        fuse(results).stream([files[0] / "2.parquet", damaged], 25)
    assert f"stream: in {damaged}, row group 0 to 2, after 370 events" in raised.value.__notes__


def test_files_that_cannot_be_read(files, tmp_path):
    fused = fuse(results)
    with pytest.raises(FileNotFoundError, match=r"no file '.*nothing\*', and no file matches it"):
        fused.stream(tmp_path / "nothing*", 25)
    with pytest.raises(ValueError, match="paths is empty"):
        fused.stream([], 25)
    with pytest.raises(TypeError, match="paths must be a path or a list of paths, not int"):
        fused.stream(5, 25)
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"x\.csv is neither a Parquet file nor a ROOT file"):
        fused.stream(tmp_path / "x.csv", 25)
    with pytest.raises(ValueError, match=r"no column 'jet'\. Its columns are met, jets\.pt, jets\.eta"):
        fused.stream(files[0] / "*.parquet", 25, columns=["met", "jet"])
    with pytest.raises(ValueError, match="is a Parquet file, which has no tree 'events'"):
        fused.stream(f"{files[0]}/0.parquet:events", 25)


def test_progress(files, monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    fuse(results).stream(files[0] / "*", 25)
    assert written.getvalue() == ""  # it is not a terminal
    fuse(results).stream(files[0] / "*", 25, progress=True)
    assert written.getvalue().startswith("\r0 of 7 batches, 0 of 1,371 events")
    assert written.getvalue().endswith("\r\x1b[K")


def test_interrupted(files):
    calls = []

    def function(events):
        calls.append(len(events))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return len(events)

    with pytest.raises(KeyboardInterrupt) as raised:
        fuse(function).stream(files[0] / "*")
    assert calls == [300, 300]
    assert "after 300 events" in raised.value.__notes__[0]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("upsweep-stream")]


@pytest.fixture
def root(tmp_path, monkeypatch):
    uproot = pytest.importorskip("uproot")
    monkeypatch.setattr(stream, "_BYTES", 4000)
    whole = events(700)
    with uproot.recreate(tmp_path / "x.root") as file:
        file["events"] = {"met": whole.met, "pt": whole.jets.pt}
    return tmp_path / "x.root", whole


def test_root_files(root):
    lengths = []

    def function(events):
        lengths.append(len(events))
        return ak.sum(events.pt[events.pt > 20], axis=1), max(events.fields)

    file, whole = root
    expected = ak.sum(whole.jets.pt[whole.jets.pt > 20], axis=1)
    for path in (file, f"{file}:events"):
        lengths.clear()
        found, last = fuse(function).stream(path, columns=["pt"])
        assert found.to_list() == expected.to_list()
        assert last == "pt"
        assert sum(lengths) == 700
        assert len(lengths) > 2
    with pytest.raises(ValueError, match="has no tree 'event'. Its trees are events"):
        fuse(function).stream(f"{file}:event")
    with pytest.raises(ValueError, match="no column 'x'"):
        fuse(function).stream(file, columns=["x"])


def test_a_file_with_several_trees(tmp_path):
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(tmp_path / "x.root") as file:
        file["runs"] = {"x": np.arange(3.0)}
        file["events"] = {"x": np.arange(5.0)}
    with pytest.raises(
        ValueError, match=r"say which tree of .*x\.root to read, as in '.*x\.root:events'\. Its trees are runs, events"
    ):
        fuse(results).stream(tmp_path / "x.root")
    assert fuse(lambda events: ak.sum(events.x)).stream(os.path.join(tmp_path, "x.root:runs")) == 3
