# SPDX-License-Identifier: Apache-2.0
# tests/python/test_dask.py: Dask's files, partitions and blocks, compared with the functions of one process; a worker
# that dies.
import datetime
import doctest
import inspect
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest
import upsweep

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import upsweep.dask
from upsweep.dask import _tasks

FUNCTIONS = [getattr(upsweep.dask, name) for name in upsweep.dask.__all__]


@pytest.fixture(autouse=True)
def one_thread():
    """Runs tasks one after the other, except in tests with a cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


def outcome(function, *arguments, **named):
    """Returns the result of a call, or its error with all of its attributes."""
    try:
        return function(*arguments, **named)
    except (ArithmeticError, LookupError, NotImplementedError, OSError, TypeError, ValueError) as error:
        return type(error), str(error), getattr(error, "index", None), getattr(error, "code", None)


def computed(function, *arguments, **named):
    """Returns the outcome of a call whose result Dask computes."""
    return outcome(lambda: dask.compute(function(*arguments, **named))[0])


def assert_same(found, expected, what=""):
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and found == expected, (what, found, expected)
        return
    expected = np.asarray(expected)
    assert isinstance(found, np.ndarray) and found.dtype == expected.dtype, (what, found, expected)
    assert np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f"), (what, found, expected)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_examples(function):
    finder = doctest.DocTestParser()
    examples = finder.get_doctest(inspect.getdoc(function), {"upsweep": upsweep}, function.__name__, None, 0)
    assert examples.examples
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples).failed == 0


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_signatures(function):
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(each.annotation is not inspect.Parameter.empty for each in signature.parameters.values())


def test_without_dask():
    code = "import sys; sys.modules['dask'] = None; import upsweep; import upsweep.dask"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: upsweep.dask needs Dask, which is not installed: pip install 'upsweep[dask]'" in run.stderr


def test_upsweep_does_not_import_dask():
    code = "import sys, upsweep; upsweep.reduce([1]); sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tasks_have_one_thread_where_nothing_is_said():
    assert _tasks.how() == {"threads": 1, "rung": ""}
    with upsweep.options(threads=3, rung="cpu.serial"):
        assert _tasks.how() == {"threads": 3, "rung": "cpu.serial"}


# ------------------------------------------------------------------------------------------------------------ queries

SQL = (
    "SELECT shop, SUM(amount) AS amount, SUM(price) AS price, COUNT(*) AS rows, COUNT(shop) AS shops, MIN(day) AS first, "
    "MAX(weight) AS heaviest, AVG(price) AS mean FROM sales WHERE amount <> 3 GROUP BY shop ORDER BY shop"
)


def piece(rows, seed):
    random = np.random.default_rng(seed)
    shops = np.array(["Lyon", "Oslo", "Turku", None, f"only in {seed}"])
    return pa.table(
        {
            "shop": pa.array(shops[random.integers(0, len(shops), rows)], pa.string()),
            "amount": pa.array(random.integers(-9, 9, rows), mask=random.random(rows) < 0.1),
            "price": pa.array(random.integers(-(10**6), 10**6, rows)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(24, 2)),
            "day": pa.array(random.integers(0, 20_000, rows).astype("i4"), pa.date32()),
            "weight": random.random(rows),
        }
    )


@pytest.fixture(scope="module")
def tables():
    """Enough tables for several merging tasks, on more than one level; two tables have no rows."""
    return [piece(0 if i in (0, 11) else 50 + 37 * i, i) for i in range(70)]


@pytest.fixture(scope="module")
def folder(tables, tmp_path_factory):
    to = tmp_path_factory.mktemp("sales")
    for i, table in enumerate(tables):
        pyarrow.parquet.write_table(table, to / f"{i:02}.parquet", row_group_size=1000)
    return to


def test_files_are_queried_as_one_table(folder, tables):
    files = sorted(folder.iterdir())
    expected = upsweep.query(SQL, sales=files)
    assert len(expected) > 70
    for sales in (files, str(folder / "*.parquet"), folder / "*.parquet"):
        answer = upsweep.dask.query(SQL, sales=sales)
        assert answer.rows() == expected.rows()
        assert answer.columns == expected.columns
        assert answer.seconds > 0
        assert pa.table(answer).equals(pa.table(expected))
    path = SQL.replace("sales", f"'{folder}/*.parquet'")
    assert upsweep.dask.query(path).rows() == expected.rows()
    assert upsweep.dask.query(SQL, sales=files[1]).rows() == upsweep.query(SQL, sales=files[1]).rows()


def test_relative_paths(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert (
        upsweep.dask.query("SELECT COUNT(*) AS n FROM '0*.parquet'")["n"]
        == upsweep.query("SELECT COUNT(*) AS n FROM '0*'")["n"]
    )


def test_options_of_csv(tmp_path):
    (tmp_path / "a.csv").write_text("code;price\n007;1,5\n008;2,5\n")
    (tmp_path / "b.csv").write_text("code;price\n007;10\n")
    sql = "SELECT code, SUM(price) AS total FROM t GROUP BY code ORDER BY code"
    options = {"delimiter": ";", "decimal": ",", "types": {"code": "string"}}
    answer = upsweep.dask.query(sql, t=str(tmp_path / "*.csv"), **options)
    assert answer.rows() == upsweep.query(sql, t=str(tmp_path / "*.csv"), **options).rows()
    assert [(code, float(total)) for code, total in answer.rows()] == [("007", 11.5), ("008", 2.5)]
    with pytest.raises(TypeError, match="did you mean|neither an option"):
        upsweep.dask.query(sql, t=str(tmp_path / "*.csv"), delimeter=";")
    frame = dd.from_pandas(pd.DataFrame({"code": ["a"], "price": [1]}), npartitions=1)
    with pytest.raises(TypeError, match="'delimiter' says how CSV files are written"):
        upsweep.dask.query(sql, t=frame, delimiter=";")


def test_without_groups_and_without_rows(folder):
    for sql in ("SELECT COUNT(*), SUM(price), MIN(shop) FROM sales", "SELECT SUM(amount) FROM sales WHERE amount > 100"):
        for sales in (sorted(folder.iterdir()), folder / "00.parquet"):
            assert upsweep.dask.query(sql, sales=sales).rows() == upsweep.query(sql, sales=sales).rows()


@pytest.mark.parametrize("suffix", ["csv", "arrow", "stream.arrow"])
def test_other_files(tmp_path, suffix):
    """The error names the row within its file, as with upsweep.query."""
    rows = pa.table({"x": [1, 2, 3], "y": [1, 1, 1]})
    bad = pa.table({"x": [1, 2, 3], "y": [1, 0, 1]})
    for i, table in enumerate([rows, rows, bad, bad]):
        path = tmp_path / f"{i}.{suffix}"
        if suffix == "csv":
            pyarrow.csv.write_csv(table, path)
            continue
        writer = pa.ipc.new_stream if "stream" in suffix else pa.ipc.new_file
        with writer(path, table.schema) as file:
            file.write_table(table)
    files = sorted(tmp_path.iterdir())
    assert upsweep.dask.query("SELECT SUM(x) AS x, COUNT(*) FROM t", t=files).rows() == [(24, 12)]
    found = outcome(lambda: upsweep.dask.query("SELECT SUM(x / y) FROM t", t=files))
    assert found == outcome(lambda: upsweep.query("SELECT SUM(x / y) FROM t", t=files))
    assert found[0] is ZeroDivisionError
    assert found[2] == 1 and f"2.{suffix}: " in found[1]


@pytest.mark.parametrize("bad", [2, 9, 64])
def test_the_first_bad_row_is_named_in_its_file(tmp_path, bad):
    """Several files have bad rows, at distant places of the task tree."""
    for i in range(70):
        y = np.ones(i + 1, np.int64)
        y[i // 2] = 0 if i >= bad else 1
        pyarrow.parquet.write_table(pa.table({"x": np.full(i + 1, 2**62), "y": y}), tmp_path / f"{i:02}.parquet")
    files = sorted(tmp_path.iterdir())
    found = outcome(lambda: upsweep.dask.query("SELECT SUM(x / y) FROM t", t=files))
    assert found == outcome(lambda: upsweep.query("SELECT SUM(x / y) FROM t", t=files))
    assert found[2] == bad // 2 and f"{bad:02}.parquet: row {bad // 2}: " in found[1]
    found = outcome(lambda: upsweep.dask.query("SELECT SUM(x * 4) FROM t WHERE y = 0", t=files))
    assert found == outcome(lambda: upsweep.query("SELECT SUM(x * 4) FROM t WHERE y = 0", t=files))
    assert found[0] is OverflowError


def test_sums_of_floats_have_the_same_bits_on_every_run(folder):
    sql = "SELECT shop, SUM(weight) AS w FROM sales GROUP BY shop ORDER BY shop"
    files = sorted(folder.iterdir())
    expected = upsweep.dask.query(sql, sales=files)["w"]
    with dask.config.set(scheduler="threads", num_workers=4):
        for _ in range(5):
            assert upsweep.dask.query(sql, sales=files)["w"].tobytes() == expected.tobytes()
    np.testing.assert_allclose(expected, upsweep.query(sql, sales=files)["w"], rtol=1e-14)


def test_a_data_frame(tables, folder):
    expected = upsweep.query(SQL, sales=pa.concat_tables(tables))
    for frame in (
        dd.read_parquet(folder),
        dd.from_map(lambda table: table.to_pandas(types_mapper=pd.ArrowDtype), tables),
        dd.from_pandas(pa.concat_tables(tables).to_pandas(types_mapper=pd.ArrowDtype), npartitions=9),
    ):
        assert upsweep.dask.query(SQL, sales=frame).rows() == expected.rows()
    count = "SELECT COUNT(*) AS n FROM sales"
    assert upsweep.dask.query(count, sales=dd.read_parquet(folder)).rows() == [(sum(map(len, tables)),)]


def test_columns_of_pandas():
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["a", "b", None, "a"]),
            "o": np.array(["x", None, "y", "x"], object),
            "i": pd.array([1, None, 3, 4], "Int32"),
            "day": [datetime.date(2020, 1, 1)] * 4,
            "b": [True, False, True, True],
        }
    ).astype({"day": "date32[pyarrow]"})
    sql = "SELECT c, o, MIN(day) AS day, SUM(i) AS i, COUNT(*) FROM t WHERE b GROUP BY c, o ORDER BY c, o"
    expected = upsweep.query(sql, t=frame).rows()
    many = dd.from_pandas(frame, npartitions=3)
    assert upsweep.dask.query(sql, t=many).rows() == expected
    unknown = many.assign(c=many["c"].astype("object").astype("category"))  # categories known only to partitions
    assert upsweep.dask.query(sql, t=unknown).rows() == expected


def test_columns_that_are_not_named_are_not_computed():
    def part(i):
        assert i < 0, "all columns are computed"

    frame = dd.from_pandas(pd.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]}), npartitions=2)
    frame["y"] = frame["y"].map(part, meta=("y", "int64"))
    assert upsweep.dask.query("SELECT SUM(x) FROM t", t=frame).rows() == [(6,)]
    with pytest.raises(AssertionError, match="all columns"):
        upsweep.dask.query("SELECT SUM(y) FROM t", t=frame)


def nothing_is_computed(*_, **__):
    raise AssertionError("a task was run")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT FROM sales",
        "SELECT SUM(nothing) FROM sales",
        "SELECT MEDIAN(amount) FROM sales",
        "SELECT SUM(shop) FROM sales",
        "SELECT SUM(amount) FROM others",
        "SELECT a.amount FROM sales a, sales b",
    ],
)
def test_errors_of_sql_come_before_any_task(sql, folder):
    files = sorted(folder.iterdir())
    expected = outcome(upsweep.query, sql, sales=files)
    with dask.config.set(scheduler=nothing_is_computed):
        assert outcome(upsweep.dask.query, sql, sales=files) == expected
        found = outcome(lambda: upsweep.dask.query(sql, sales=dd.read_parquet(folder)))
    assert found == expected
    assert issubclass(found[0], (ValueError, TypeError, NotImplementedError))


def test_queries_of_rows_are_refused_before_any_task(folder):
    with dask.config.set(scheduler=nothing_is_computed):
        for sales in (sorted(folder.iterdir()), dd.read_parquet(folder)):
            with pytest.raises(NotImplementedError, match="returns rows.*use upsweep.query"):
                upsweep.dask.query("SELECT * FROM sales WHERE amount > 3", sales=sales)


@pytest.mark.parametrize(
    ("tables", "error", "message"),
    [
        ({"t": []}, ValueError, "t: the list of files is empty: at least one is needed"),
        ({"t": "none*.parquet"}, FileNotFoundError, "none*.parquet: no file matches this pattern"),
        ({"t": {"x": np.array([1])}}, TypeError, "t: paths or a Dask DataFrame are needed, not dict: use upsweep.query"),
        ({"t": pa.table({"x": [1]})}, TypeError, "t: paths or a Dask DataFrame are needed, not Table"),
        (
            {"t": dd.from_pandas(pd.DataFrame({"x": [1]}))["x"]},
            TypeError,
            "t: paths or a Dask DataFrame are needed, not Series",
        ),
        ({"t": dd.from_pandas(pd.DataFrame({1: [1]}))}, TypeError, "t: the names of columns must be text, unlike those in [1]"),
        ({}, ValueError, "no table 't': pass it by its name"),
    ],
)
def test_bad_tables(tables, error, message):
    with dask.config.set(scheduler=nothing_is_computed), pytest.raises(error) as caught:
        upsweep.dask.query("SELECT SUM(x) FROM t", **tables)
    assert str(caught.value).startswith(message)


def test_upsweep_query_says_where_collections_of_dask_go():
    with pytest.raises(TypeError, match="t: a Dask collection: use upsweep.dask.query"):
        upsweep.query("SELECT SUM(x) FROM t", t=dd.from_pandas(pd.DataFrame({"x": [1]})))


def test_a_missing_file(folder):
    files = [folder / "01.parquet", folder / "none.parquet", folder / "02.parquet"]
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        upsweep.dask.query(SQL, sales=files)


@pytest.mark.parametrize(
    "other",
    [
        {"y": [2], "X": [1]},
        {"x": [1.5], "y": [4]},
        {"y": [7], "z": ["text"]},
        {"x": pa.array([1], pa.int32()), "y": pa.array([None], pa.null())},
        {"x": pa.array([2**63], pa.uint64())},
        {"x": ["text"], "y": [3]},
    ],
)
def test_files_of_other_columns_are_joined_as_elsewhere(tmp_path, other):
    for i, columns in enumerate([{"x": [1]}, {"x": [2]}, other, {"x": [3], "y": [5]}]):
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
    for sql in ["SELECT COUNT(*), SUM(y) FROM t", "SELECT SUM(x), MAX(x), COUNT(x), COUNT(y) FROM t", "SELECT MIN(z) FROM t"]:
        expected = outcome(lambda sql=sql: upsweep.query(sql, t=tmp_path / "*.parquet").rows())
        assert outcome(lambda sql=sql: upsweep.dask.query(sql, t=tmp_path / "*.parquet").rows()) == expected


@pytest.mark.parametrize("words", ["", "NA", '""'])
@pytest.mark.parametrize("value", ["5", "2.50", "2001-12-31", "true", "word"])
def test_columns_of_words_for_null_are_joined_as_elsewhere(tmp_path, words, value):
    for i, cell in enumerate([words, words, value, words]):
        (tmp_path / f"{i}.csv").write_text(f"x,y\n{cell},1\n")
    sql = "SELECT x, COUNT(x) AS n FROM t GROUP BY x ORDER BY n, x"
    expected = upsweep.query(sql, t=tmp_path / "*.csv").rows()
    assert [n for x, n in expected if x is not None] == ([1, 3] if (words, value) == ("NA", "word") else [1])
    assert upsweep.dask.query(sql, t=tmp_path / "*.csv").rows() == expected


@pytest.mark.parametrize(
    "cells", [("02134", "99999"), ("7", "8", "word"), ("$5", "€6"), ("12%", "0.12"), ("2024-01-02", "2024-01-02 03:04:05")]
)
def test_csv_files_that_differ_are_joined_as_elsewhere(tmp_path, cells):
    for i, cell in enumerate(cells):
        (tmp_path / f"{i}.csv").write_text(f"x,y\n{cell},1\n")
    sql = "SELECT x, COUNT(*) FROM t GROUP BY x ORDER BY x"
    expected = upsweep.query(sql, t=tmp_path / "*.csv").rows()
    assert len(expected) == len(cells)
    assert upsweep.dask.query(sql, t=tmp_path / "*.csv").rows() == expected


def test_a_file_without_a_column_of_the_others(tmp_path):
    for i, columns in enumerate([{"x": [1]}, {"z": [2]}]):
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet: shares no column with .*0\.parquet"):
        upsweep.dask.query("SELECT COUNT(*) FROM t", t=tmp_path / "*.parquet")


@pytest.mark.parametrize("values", [["text"], [1.5], [[1]]])
def test_partitions_of_other_types(values):
    parts = [pd.DataFrame({"x": [1]}), pd.DataFrame({"x": values})]
    frame = dd.from_map(lambda part: part, parts, meta=parts[0], enforce_metadata=False)
    with pytest.raises(ValueError, match="partition 1: its columns do not match those of the DataFrame"):
        upsweep.dask.query("SELECT SUM(x) FROM t", t=frame)


# ------------------------------------------------------------------------------------------------------------- arrays


def cut(random, length):
    """Returns random chunk lengths, some of them 0."""
    ends = np.sort(random.integers(0, length + 1, int(random.integers(0, 6))))
    return tuple(np.diff([0, *ends, length]).tolist())


def numbers(random, length):
    kind = str(random.choice(["i8", "i1", "u8", "f8", "f4", "?"]))
    values = random.integers(0 if kind == "u8" else -100, 100, length).astype(kind)
    if kind in ("i8", "u8") and random.random() < 0.5:
        values = values * values.dtype.type(2**55)
    if kind == "f8" and length and random.random() < 0.2:
        values[random.integers(0, length)] = np.nan
    return values


def calls(random, values):
    """Returns an operator and options that are valid for the numbers."""
    floats = values.dtype.kind == "f"
    named = {"op": str(random.choice(["add", "min", "max"] if floats else ["add", "add", "mul", "min", "max", "or", "xor"]))}
    if random.random() < 0.4:
        named["initial"] = 1
    if values.dtype == np.int8 and named["op"] == "add" and random.random() < 0.5:
        named["dtype"] = "int8"
    if random.random() < 0.3:
        named["overflow"] = "wrap"
    return named


@pytest.mark.parametrize("seed", range(25))
def test_scans_and_reductions(seed):
    random = np.random.default_rng(seed)
    values = numbers(random, int(random.integers(0, 40)))
    x = da.from_array(values, chunks=(cut(random, len(values)),))
    named = calls(random, values)
    for exclusive in (False, True):
        expected = outcome(upsweep.scan, values, exclusive=exclusive, **named)
        assert_same(computed(upsweep.dask.scan, x, exclusive=exclusive, **named), expected, (values, named))
    expected = outcome(upsweep.reduce, values, **named)
    assert_same(computed(upsweep.dask.reduce, x, **named), expected, (values, named))
    for include_initial in (False, True):
        how = {"include_initial": include_initial, "overflow": named.get("overflow")}
        expected = outcome(upsweep.cumulative_sum, values, **how)
        assert_same(computed(upsweep.dask.cumulative_sum, x, **how), expected, (values, how))


@pytest.mark.parametrize("seed", range(25))
def test_lists(seed):
    random = np.random.default_rng(100 + seed)
    values = numbers(random, int(random.integers(0, 40)))
    x = da.from_array(values, chunks=(cut(random, len(values)),))
    offsets = np.sort(random.integers(0, len(values) + 1, int(random.integers(1, 14))))
    if seed % 5 == 0:
        offsets[random.integers(0, len(offsets))] = random.integers(-1, len(values) + 3)
    of_dask = da.from_array(offsets, chunks=(cut(random, len(offsets)),))
    for named in (calls(random, values), *({"op": op} for op in ("any", "all", "count", "count_nonzero", "argmin", "argmax"))):
        expected = outcome(upsweep.segmented_reduce, values, offsets, **named)
        for lists in (offsets, of_dask):
            found = computed(upsweep.dask.segmented_reduce, x, lists, **named)
            assert_same(found, expected, (values, x.chunks, offsets, of_dask.chunks, named))
    mask = random.random(len(values)) < 0.5
    masks = da.from_array(mask, chunks=5)
    assert_same(upsweep.dask.select(masks, x).compute(), upsweep.select(mask, values))
    expected = outcome(upsweep.select, mask, values, lists=offsets)
    for lists in (offsets, of_dask):
        found = computed(upsweep.dask.select, masks, x, lists=lists)
        if isinstance(expected[0], type):
            assert found == expected
        else:
            for one, other in zip(found, expected, strict=True):
                assert_same(one, other)


@pytest.mark.parametrize("seed", range(12))
def test_scans_along_an_axis(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 7, 3).tolist())
    values = numbers(random, int(np.prod(shape))).reshape(shape)
    named = calls(random, values) | {"dtype": None}
    x = da.from_array(values, chunks=tuple(cut(random, size) for size in shape))
    for axis in (0, 1, -1):
        for exclusive in (False, True):
            how = named | {"axis": axis, "exclusive": exclusive}
            expected, found = (
                outcome(upsweep.scan, values, **how),
                computed(upsweep.dask.scan, x, **how),
            )
            if isinstance(expected, tuple):  # the error of another column may be found first
                assert found[0] is expected[0]
            else:
                assert_same(found, expected, (values, how))
            whole = x.rechunk({i: -1 for i in range(3) if i != axis % 3})
            assert_same(computed(upsweep.dask.scan, whole, **how), expected, (values, how))


def test_sums_that_fit_though_blocks_do_not():
    values = np.array([-(2**63), 2**62, 2**62, 2**62, -(2**62), 2**61], np.int64)
    x = da.from_array(values, chunks=((1, 3, 2),))
    assert_same(upsweep.dask.cumulative_sum(x).compute(), upsweep.cumulative_sum(values))
    assert int(upsweep.dask.reduce(x).compute()) == int(values.astype(object).sum())
    assert upsweep.dask.segmented_reduce(x, np.array([0, 6])).compute().tolist() == [int(values.astype(object).sum())]


def test_the_first_overflow_is_raised_by_all_that_comes_after_it():
    """Blocks after the first one that overflows are scanned from a carry that has wrapped modulo 2^64."""
    values = np.full(20, 2**60, np.int64)
    x = da.from_array(values, chunks=3)
    sums = upsweep.dask.cumulative_sum(x)
    assert_same(sums[:6].compute(), np.cumsum(values[:6]))
    for part in (sums[6:9], sums[19:], sums):
        with dask.config.set(scheduler="threads", num_workers=4), pytest.raises(OverflowError, match="element 7 of") as caught:
            part.compute()
        assert (caught.value.index, caught.value.code) == (7, "overflow")


def test_nothing_is_computed_too_early():
    lazy = da.map_blocks(nothing_is_computed, chunks=((3, 3),), dtype=np.int64, meta=np.empty(0, np.int64))
    upsweep.dask.cumulative_sum(lazy, include_initial=True)
    upsweep.dask.reduce(lazy)
    upsweep.dask.select(lazy > 0, lazy)
    upsweep.dask.select(lazy > 0, lazy, lists=np.array([0, 4]))
    lists = upsweep.dask.segmented_reduce(lazy, np.array([0, 2, 4, 6]))
    assert lists.chunks == ((2, 1),)
    with pytest.raises(AssertionError, match="a task was run"):
        lists.compute()


def test_results_are_arrays_that_dask_goes_on_with():
    x = da.arange(1000, chunks=100)
    kept = upsweep.dask.select(x % 7 == 0, x)
    assert np.isnan(kept.shape[0])
    assert int(kept.sum().compute()) == sum(range(0, 1000, 7))
    kept.compute_chunk_sizes()
    sums = upsweep.dask.cumulative_sum(kept)
    assert sums.chunks == kept.chunks
    assert_same((sums[10:20] * 2).compute(), np.cumsum(np.arange(0, 1000, 7))[10:20] * 2)
    unknown = x[x > 500]
    assert_same(upsweep.dask.select(unknown % 2 == 0, unknown).compute(), np.arange(502, 1000, 2))


ONE = da.ones(4, chunks=2)
UNKNOWN = ONE[ONE > 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: upsweep.dask.scan(np.ones(3)), TypeError, "x: a Dask array is needed, not ndarray"),
        (lambda: upsweep.dask.segmented_reduce(ONE), TypeError, "lists: the offsets of the lists"),
        (lambda: upsweep.dask.cumulative_sum(UNKNOWN), ValueError, "x: the sizes of its chunks are unknown: x.compute_chunk"),
        (lambda: upsweep.dask.scan(ONE, op="median"), ValueError, "op: one of add, "),
        (lambda: upsweep.dask.scan(ONE, axis=1), ValueError, "axis: 1 is out of range"),
        (lambda: upsweep.dask.scan(da.ones((2, 2))), ValueError, "scan: x has 2 dimensions"),
        (lambda: upsweep.dask.scan(ONE.sum()), ValueError, "scan: an array without dimensions"),
        (lambda: upsweep.dask.scan(ONE.astype("f2")), TypeError, "x: float16 is not supported"),
        (lambda: upsweep.dask.scan(ONE, overflow="no"), ValueError, 'overflow: "checked" or "wrap"'),
        (lambda: upsweep.dask.scan(ONE.astype(int), op="mul", overflow="checked"), NotImplementedError, "overflow: products"),
        (lambda: upsweep.dask.scan(da.ones((2, 2), dtype=int), axis=0, dtype="int8"), NotImplementedError, "dtype: int64 in several"),
        (lambda: upsweep.dask.reduce(ONE[:0], op="min").compute(), ValueError, "x: the minimum of no elements"),
        (lambda: upsweep.dask.reduce(ONE[:0] > 0, op="min").compute(), ValueError, "x: the minimum of no elements"),
        (lambda: upsweep.dask.reduce(ONE[:0] > 0, op="max").compute(), ValueError, "x: the maximum of no elements"),
        (lambda: upsweep.dask.segmented_reduce(da.ones((2, 2)), [0]), ValueError, "content: one dimension is needed, not 2"),
        (lambda: upsweep.dask.segmented_reduce(ONE, [0.5]), TypeError, "offsets: integers are needed, not float64"),
        (lambda: upsweep.dask.segmented_reduce(ONE, da.ones(2)), TypeError, "offsets: integers are needed, not float64"),
        (lambda: upsweep.dask.segmented_reduce(ONE, []), ValueError, "offsets: the array is empty"),
        (lambda: upsweep.dask.segmented_reduce(ONE, [0], op="sort"), ValueError, "op: one of add"),
        (lambda: upsweep.dask.segmented_reduce(ONE, [0], op="any", initial=1), TypeError, "initial: any has no initial value"),
        (lambda: upsweep.dask.segmented_reduce(UNKNOWN, [0]), ValueError, "content: the sizes of its chunks are unknown"),
        (lambda: upsweep.dask.select(ONE, ONE), TypeError, "mask: booleans are needed, not float64"),
        (lambda: upsweep.dask.select(ONE > 0), TypeError, "select: at least one content is needed"),
        (lambda: upsweep.dask.select(ONE > 0, da.ones(3)), ValueError, "mask: 4 elements, but the content has 3"),
        (lambda: upsweep.dask.select(UNKNOWN > 0, da.ones(3)), ValueError, "mask: 2 chunks of unknown sizes, but the content has 1"),
    ],
)  # fmt: skip
def test_bad_arguments(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(message)


# ----------------------------------------------------------------------------------------- processes, one of which dies


@pytest.fixture
def client():
    """Starts a cluster of two processes; a busy machine may start them slowly."""
    distributed = pytest.importorskip("distributed")
    waits = {"distributed.comm.timeouts.connect": "3600s", "distributed.comm.timeouts.tcp": "3600s", "scheduler": None}
    with (
        dask.config.set(waits),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=3600) as client,
    ):
        yield client


def one_dies(client, tmp_path, prefix):
    """Kills a worker after its third task with this name. Returns a function that checks that it was killed during the
    computation."""
    from distributed.diagnostics.plugin import WorkerPlugin

    class Killer(WorkerPlugin):  # local, so that it is pickled by value
        name = "killer"

        def __init__(self, prefix, marker):
            self.prefix, self.marker, self.done = prefix, marker, 0

        def transition(self, key, start, finish, **_):
            if finish != "memory" or not str(key).startswith(f"('{self.prefix}"):
                return
            self.done += 1
            if self.done == 3:
                try:
                    os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    return
                os.kill(os.getpid(), signal.SIGKILL)

    before = set(client.run(os.getpid).values())
    assert len(before) == 2
    client.register_plugin(Killer(prefix, str(tmp_path / "killed")))

    def was_killed():
        client.wait_for_workers(2, timeout=3600)
        assert (tmp_path / "killed").exists()
        assert len(before & set(client.run(os.getpid).values())) == 1

    return was_killed


@pytest.mark.long
@pytest.mark.parametrize("prefix", ["upsweep-fold", "upsweep-merge"])
def test_a_query_whose_worker_dies(client, folder, tmp_path, prefix):
    files = sorted(folder.iterdir())
    floats = "SELECT shop, SUM(weight) AS w, AVG(weight) AS mean FROM sales GROUP BY shop ORDER BY shop"
    expected = upsweep.dask.query(floats, sales=files, client="synchronous")
    assert upsweep.dask.query(SQL, sales=files, client=client).rows() == upsweep.query(SQL, sales=files).rows()
    was_killed = one_dies(client, tmp_path, prefix)
    answer = upsweep.dask.query(floats, sales=files, client=client)
    was_killed()
    for column in ("w", "mean"):
        assert answer[column].tobytes() == expected[column].tobytes()
    assert upsweep.dask.query(SQL, sales=files).rows() == upsweep.query(SQL, sales=files).rows()  # the latest client


@pytest.mark.long
def test_a_frame_whose_worker_dies(client, folder, tmp_path):
    expected = upsweep.query(SQL, sales=sorted(folder.iterdir())).rows()
    was_killed = one_dies(client, tmp_path, "upsweep-fold")
    assert upsweep.dask.query(SQL, sales=dd.read_parquet(folder), client=client).rows() == expected
    was_killed()


@pytest.mark.long
@pytest.mark.parametrize("prefix", ["upsweep-total", "upsweep-carry", "upsweep-scan"])
def test_a_scan_whose_worker_dies(client, tmp_path, prefix):
    values = np.random.default_rng(1).random(200_000) - 0.5
    x = da.from_array(values, chunks=7_001)
    expected = upsweep.dask.cumulative_sum(x).compute(scheduler="synchronous")
    was_killed = one_dies(client, tmp_path, prefix)
    found = upsweep.dask.cumulative_sum(x).compute(scheduler=client)
    was_killed()
    assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(found, np.cumsum(values), atol=1e-9)


@pytest.mark.long
def test_lists_whose_worker_dies(client, tmp_path):
    random = np.random.default_rng(2)
    values = random.random(100_000)
    offsets = np.sort(random.integers(0, len(values), 3_001))
    x, lists = da.from_array(values, chunks=5_003), da.from_array(offsets, chunks=301)
    mask = x > 0.5
    expected = dask.compute(
        upsweep.dask.segmented_reduce(x, lists), *upsweep.dask.select(mask, x, lists=lists), scheduler="sync"
    )
    was_killed = one_dies(client, tmp_path, "upsweep-partial")
    found = client.compute([upsweep.dask.segmented_reduce(x, lists), *upsweep.dask.select(mask, x, lists=lists)], sync=True)
    was_killed()
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.long
def test_errors_of_workers(client, folder, tmp_path):
    """Errors arrive unchanged, with the first bad row, element or file."""
    values = np.full(20, 2**60, np.int64)
    sums = upsweep.dask.cumulative_sum(da.from_array(values, chunks=3))
    expected = outcome(upsweep.cumulative_sum, values)
    assert outcome(lambda: sums.compute(scheduler=client)) == expected
    files = sorted(folder.iterdir())
    sql = "SELECT SUM(1 / amount) FROM sales"
    assert outcome(upsweep.dask.query, sql, sales=files, client=client) == outcome(lambda: upsweep.query(sql, sales=files))
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        upsweep.dask.query(SQL, sales=[*files, folder / "none.parquet"], client=client)
    other = pathlib.Path(tmp_path / "other.parquet")
    pyarrow.parquet.write_table(pa.table({"other": ["Lyon"]}), other)
    with pytest.raises(ValueError, match=r"other\.parquet: shares no column with"):
        upsweep.dask.query(SQL, sales=[*files, other], client=client)


@pytest.mark.parametrize("rung", ["", "cpu.serial", "cpu.threads", "cpu.simd"])
@pytest.mark.parametrize(
    "op, first", [("add", 0), ("mul", 1), ("min", 2**63 - 1), ("max", -(2**63)), ("and", -1), ("or", 0), ("xor", 0)]
)
def test_exclusive_scans_begin_with_the_identity_by_every_rung(rung, op, first):
    x = np.array([5, 7, 9, 2, 4])
    fold = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
    expected = fold.get(op, np.bitwise_xor).accumulate(np.concatenate([[first], x]))[:-1]
    with upsweep.options(rung=rung):
        lazy = upsweep.dask.scan(da.from_array(x, chunks=2), op=op, exclusive=True, overflow="wrap")
        assert lazy.compute(scheduler="synchronous").tolist() == expected.tolist()
    table = da.from_array(np.stack([x, x], axis=1), chunks=(2, 1))
    lazy = upsweep.dask.scan(table, op=op, exclusive=True, axis=0, overflow="wrap")
    assert lazy.compute(scheduler="synchronous").T.tolist() == [expected.tolist()] * 2
