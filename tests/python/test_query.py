# SPDX-License-Identifier: Apache-2.0
# tests/python/test_query.py: SQL from Python over tables of every kind, compared with DuckDB's answers and NumPy's.
import datetime
import decimal
import doctest
import importlib.util
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import upsweep
import upsweep._query

pa = pytest.importorskip("pyarrow")
D = decimal.Decimal

ROWS = 200_003  # several batches of 65,536 rows


def made(rows=ROWS, seed=1):
    """A table with a column of every supported type; nearly all columns have NULLs."""
    random = np.random.default_rng(seed)

    def null(values, type=None):
        return pa.array(values, type, mask=random.random(rows) < 0.1)

    words = np.array(["", "a", "bb", "ä", "a text of more than twelve bytes", "another text of more than twelve bytes"])
    columns = {"key": pa.array(np.arange(rows)), "whole": pa.array(random.integers(-50, 50, rows))}
    for bits in (8, 16, 32, 64):
        columns[f"i{bits}"] = null(random.integers(-100, 100, rows).astype(f"i{bits // 8}"))
        columns[f"u{bits}"] = null(random.integers(0, 200, rows).astype(f"u{bits // 8}"))
    columns["f16"] = null(random.integers(-100, 100, rows).astype("f2") / 4)
    columns["f32"] = null(random.integers(-1000, 1000, rows).astype("f4") / 8)
    columns["f64"] = null(random.integers(-1000, 1000, rows) / 8)
    columns["flag"] = null(random.random(rows) < 0.3)
    cents = pa.array(random.integers(-(10**6), 10**6, rows)).cast(pa.decimal128(19, 0))
    for name, type in [
        ("d32", pa.decimal32(9, 2)),
        ("d64", pa.decimal64(18, 2)),
        ("d128", pa.decimal128(15, 2)),
        ("d128w", pa.decimal128(38, 4)),
        ("d256", pa.decimal256(15, 2)),
        ("d256w", pa.decimal256(38, 3)),
    ]:
        columns[name] = pa.chunked_array([cents]).cast(pa.decimal128(30, 2)).cast(type).combine_chunks()
    days = random.integers(0, 20_000, rows).astype("i4")
    columns["day"] = null(days, pa.date32())
    columns["day64"] = null(days.astype("i8") * 86_400_000, pa.date64())
    for name, type in [("text", pa.string()), ("large", pa.large_string()), ("view", pa.string_view())]:
        columns[name] = null(words[random.integers(0, len(words), rows)].astype(object), type)
    columns["coded"] = columns["text"].dictionary_encode()
    columns["coded8"] = pa.DictionaryArray.from_arrays(null(random.integers(0, 3, rows).astype("i1")), ["x", None, "x"])
    columns["coded_number"] = columns["i64"].dictionary_encode()
    columns["nothing"] = pa.nulls(rows)
    columns["stamp"] = pa.array(np.arange(rows), pa.timestamp("us"))
    columns["list"] = pa.array([[1]] * rows)
    return pa.table(columns)


@pytest.fixture(scope="module")
def table():
    return made()


def duck(sql, table):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("t", table)
        return connection.execute(sql).fetchall()


NUMBERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "d32", "d64", "d128", "d128w", "d256w"]


def number_queries(column):
    return [
        f"SELECT SUM({column}), COUNT({column}), MIN({column}), MAX({column}), AVG({column}) FROM t",
        f"SELECT flag, SUM({column}) AS s FROM t WHERE {column} > 3 GROUP BY flag ORDER BY flag NULLS FIRST",
        f"SELECT COUNT(*) FROM t WHERE {column} IS NULL OR {column} = 5",
    ]


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            if isinstance(a, float) and b is not None:
                assert float(b) == pytest.approx(a, rel=1e-9)
            else:
                assert a == b


def copied(table):
    """Copies the rows to separate memory, starting at the first bit."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def chunked(table, sizes):
    """Copies the table's rows in chunks of these sizes, in turn; no two chunks are adjacent in memory."""
    chunks, at, turn = [], 0, 0
    while at < len(table):
        size = sizes[turn % len(sizes)]
        chunks.append(copied(table.slice(at, size)))
        at, turn = at + size, turn + 1
    return pa.concat_tables(chunks)


@pytest.mark.parametrize(
    "make", [lambda: {"s": [None, None]}, lambda: {"s": []}, lambda: {"s": pa.nulls(2)}, lambda: pa.table({"s": pa.nulls(2)})]
)
def test_columns_without_values_are_null_of_any_type(make):
    for condition in ("s = 'a'", "s > DATE '2020-01-01'", "s", "s > 1.5", "s IN ('a', 'b', 'c', 'd', 'e')"):
        assert upsweep.query(f"SELECT COUNT(*) FROM t WHERE {condition}", t=make()).rows() == [(0,)], condition
    n = len(make()["s"])
    assert upsweep.query("SELECT COUNT(*), SUM(s), MIN(s) FROM t WHERE s IS NULL", t=make()).rows() == [(n, None, None)]


def test_keywords_that_mean_nothing_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    from_path = f"SELECT SUM(x) FROM '{path}'"
    from_name = "SELECT SUM(x) FROM t"
    table = {"x": [1]}
    for call, words in (
        (
            lambda: upsweep.query(from_path, devise="cuda"),
            "'devise' is neither an option nor the table .*: did you mean 'device'",
        ),
        (lambda: upsweep.query(from_path, threads=1), r"'threads' is neither .* upsweep.options\(threads=...\)"),
        (lambda: upsweep.query(from_path, t=table), "'t' is neither"),
        (lambda: upsweep.query(from_name, t=table, spil_dir="."), "did you mean 'spill_dir'"),
        (lambda: upsweep.query(from_name, {"t": table}, u=table), "'u' is neither"),
    ):
        with pytest.raises(TypeError, match=words):
            call()
    assert upsweep.query(from_name, {"t": table, "u": table}).rows() == [(1,)]
    assert upsweep.query("SELECT SUM(x) FROM T", t=table).rows() == [(1,)]


@pytest.mark.parametrize("column", NUMBERS)
def test_numbers_of_every_type(table, column):
    other = table.select(["flag", column])
    if column in ("d32", "d64", "d256w"):  # DuckDB does not read this column
        other = other.set_column(1, column, other[column].cast(pa.decimal128(38, other[column].type.scale)))
    for sql in number_queries(column):
        same(upsweep.query(sql, t=table).rows(), duck(sql, other))


def test_half_floats_days_and_what_duckdb_does_not_read(table):
    f16 = table["f16"].to_numpy()
    f16 = f16[~np.isnan(f16.astype("f8"))].astype("f8")
    rows = upsweep.query("SELECT SUM(f16), MIN(f16), MAX(f16), COUNT(f16), COUNT(*) FROM t", t=table).rows()
    assert rows == [(f16.sum(), f16.min(), f16.max(), len(f16), len(table))]
    special = pa.table({"x": pa.array(np.array([np.inf, -0.0, 6e-8, 65504, -1], "f2"))})
    assert upsweep.query("SELECT MAX(x), MIN(x) FROM t", t=special).rows() == [(np.inf, -1.0)]
    assert upsweep.query("SELECT SUM(x) FROM t WHERE x < 1 AND x > 0", t=special).rows() == [(float(np.float16(6e-8)),)]
    assert upsweep.query("SELECT SUM(d256) FROM t", t=table).rows() == upsweep.query("SELECT SUM(d128) FROM t", t=table).rows()
    for column in ("day", "day64"):
        days = table[column].drop_null().cast(pa.date32()).to_numpy()
        sql = (
            f"SELECT MIN({column}) AS least, MAX({column}) AS most, COUNT({column}) AS n FROM t WHERE {column} >= '1980-01-01'"
        )
        answer = upsweep.query(sql, t=table)
        kept = days[days >= np.datetime64("1980-01-01")]
        assert answer.rows() == [(kept.min().item(), kept.max().item(), len(kept))]
        assert answer["least"].dtype == np.dtype("M8[D]")
    assert upsweep.query("SELECT COUNT(nothing), SUM(nothing), COUNT(*) FROM t", t=table).rows() == [(0, None, len(table))]


@pytest.mark.parametrize("column", ["text", "large", "view", "coded", "coded8", "flag", "coded_number", "i8", "day", "d128"])
def test_groups_of_every_type(table, column):
    few = f"WHERE {column} < '1970-02-01'" if column == "day" else f"WHERE {column} < 100" if column == "d128" else ""
    sql = f"SELECT {column}, COUNT(*) AS n, SUM(whole) AS s FROM t {few} GROUP BY {column} ORDER BY {column} NULLS FIRST"
    other = table.select([column, "whole"])
    if column == "coded8":
        other = other.set_column(0, column, other[column].cast(pa.string()))
    ours = upsweep.query(sql, t=table).rows()
    assert len(ours) > 1
    same(ours, duck(sql, other))


@pytest.mark.parametrize("sizes", [[1, 0, 7, 1000], [65_536], [100_000, 3], [16_384, 16_383], [70_000, 500, 500, 20_000]])
def test_chunks_of_any_length_give_the_same_answer(table, sizes):
    some = ["key", "whole", "i8", "f64", "flag", "d128", "d64", "day64", "text", "view", "coded", "coded8", "coded_number"]
    whole = table.select(some).slice(0, 150_000)
    pieces = chunked(whole, [size for size in sizes if size] if 0 in sizes else sizes)
    if 0 in sizes:
        pieces = pa.concat_tables([pieces, whole.slice(0, 0)])
    for sql in [
        "SELECT SUM(key), SUM(whole), SUM(i8), SUM(d128), SUM(d64), MAX(day64), COUNT(coded_number), SUM(coded_number) FROM t",
        "SELECT text, flag, COUNT(*) AS n, SUM(f64) AS s FROM t GROUP BY text, flag ORDER BY text, flag",
        "SELECT view, coded8, SUM(key) AS n FROM t WHERE flag GROUP BY view, coded8 ORDER BY view, coded8",
        "SELECT coded, SUM(d128) AS n FROM t WHERE coded <> 'a' GROUP BY coded ORDER BY coded",
    ]:
        expected = upsweep.query(sql, t=whole).rows()
        assert upsweep.query(sql, t=pieces).rows() == expected
        assert upsweep.query(sql, t=pieces.to_reader()).rows() == expected
        assert upsweep.query(sql, t=pa.table(pieces).to_reader(max_chunksize=999)).rows() == expected


@pytest.mark.parametrize("words, grow", [(30, 0), (3_000, 2_000), (3_000, 20_000), (30, 400_000)])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pass_by", [lambda table: table, lambda table: table.to_reader()])
def test_texts_that_become_more(words, grow, threads, pass_by):
    """Few strings, of which only some batches add new ones, or too many to be kept from batch to batch. Some are empty,
    and some are NULL."""
    random = np.random.default_rng(words + grow)
    number = random.integers(0, words + grow * np.arange(ROWS) // ROWS)
    keys = [None if n % 29 == 3 else "" if n == 5 else f"a text, number {n}" for n in number.tolist()]
    expected = {}
    for i, key in enumerate(keys):
        expected[key] = expected.get(key, 0) + i
    table = pa.table(
        {"k": pa.chunked_array([keys[:70_000], keys[70_000:150_000], keys[150_000:]], pa.string()), "x": np.arange(ROWS)}
    )
    with upsweep.options(threads=threads):
        answer = upsweep.query("SELECT k, SUM(x) FROM t GROUP BY k", t=pass_by(table))
        same = upsweep.query("SELECT COUNT(*) FROM t WHERE k = 'a text, number 7'", t=pass_by(table))
    found = pa.table(answer)
    assert found.column(0).to_pylist() == list(expected)  # in the order of the groups' first rows
    assert [int(x) for x in found.column(1).to_pylist()] == list(expected.values())
    assert pa.table(same).column(0).to_pylist() == [int((number == 7).sum())]


@pytest.mark.parametrize("first", [1, 7, 64, 65_537])
def test_slices(table, first):
    part = table.slice(first, 100_001)
    batch = table.combine_chunks().to_batches()[0].slice(first, 100_001)
    for sql in [
        "SELECT SUM(key), SUM(i8), SUM(f32), SUM(d128), SUM(d128w), MIN(day), COUNT(flag) FROM t WHERE flag",
        "SELECT text, COUNT(*) AS n FROM t GROUP BY text ORDER BY text",
        "SELECT coded, SUM(key) AS n FROM t GROUP BY coded ORDER BY coded",
        "SELECT view, COUNT(coded_number) AS n FROM t GROUP BY view ORDER BY view",
    ]:
        expected = upsweep.query(sql, t=copied(part)).rows()
        assert upsweep.query(sql, t=part).rows() == expected
        assert upsweep.query(sql, t=batch).rows() == expected
    assert upsweep.query("SELECT MIN(key), MAX(key) FROM t", t=part).rows() == [(first, first + 100_000)]


def test_offsets_of_the_struct_itself_count():
    structs = pa.StructArray.from_arrays([pa.array(np.arange(10)), pa.array([f"w{i}" for i in range(10)])], ["x", "w"])
    part = structs.slice(4, 3)

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.chunked_array([part]).__arrow_c_stream__(requested_schema)

    assert upsweep.query("SELECT SUM(x), MIN(w), MAX(w) FROM t", t=Stream()).rows() == [(4 + 5 + 6, "w4", "w6")]
    with_nulls = pa.StructArray.from_arrays([pa.array([1, 2])], ["x"], mask=pa.array([False, True]))

    class Nulls:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.chunked_array([with_nulls]).__arrow_c_stream__(requested_schema)

    with pytest.raises(ValueError, match="NULL as a whole"):
        upsweep.query("SELECT SUM(x) FROM t", t=Nulls())


def test_empty_tables(table):
    none = table.slice(0, 0)
    for empty in (none, pa.table({"whole": pa.chunked_array([], pa.int64()), "text": pa.chunked_array([], pa.string())})):
        for given in (empty, empty.to_reader()):
            assert upsweep.query("SELECT SUM(whole), COUNT(*), MIN(text) FROM t", t=given).rows() == [(None, 0, None)]
        answer = upsweep.query("SELECT text, COUNT(*) AS n FROM t GROUP BY text", t=empty)
        assert len(answer) == 0 and answer.rows() == []
        assert pa.table(answer).to_pydict() == {"text": [], "n": []}
        assert answer["n"].tolist() == [] and answer["text"].tolist() == []
    assert upsweep.query("SELECT COUNT(*) FROM t", t={}).rows() == [(0,)]
    assert upsweep.query("SELECT COUNT(*), SUM(x) FROM t", t={"x": []}).rows() == [(0, None)]


def test_answers_as_arrow():
    table = pa.table(
        {
            "k": pa.array([1, 1, 2, None]),
            "d": pa.array([D("1.25"), None, D("-3.50"), D("0.00")], pa.decimal128(20, 2)),
            "day": pa.array([datetime.date(1969, 12, 31), None, datetime.date(2024, 2, 29), None]),
            "w": ["ä", None, "", "z"],
            "b": [True, None, False, False],
            "f": [0.1, None, float("inf"), -0.0],
        }
    )
    sql = """SELECT k, SUM(d) AS d, MAX(day) AS day, MIN(w) AS w, SUM(f) AS f, COUNT(*) AS n, SUM(k) IS NULL AS b
             FROM t GROUP BY k"""
    answer = upsweep.query(sql, t=table)
    arrow = pa.table(answer)
    arrow.validate(full=True)
    assert [str(field.type) for field in arrow.schema] == [
        "int64", "decimal128(38, 2)", "date32[day]", "string", "double", "int64", "bool",
    ]  # fmt: skip
    assert arrow.to_pydict() == answer.to_dict()
    assert answer.to_dict() == {
        "k": [1, 2, None],
        "d": [D("1.25"), D("-3.50"), D("0.00")],
        "day": [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), None],
        "w": ["ä", "", "z"],
        "f": [0.1, float("inf"), -0.0],
        "n": [2, 1, 1],
        "b": [False, False, True],
    }
    assert pa.table(answer) == arrow  # a second time
    assert answer["n"].dtype == np.int64 and answer["b"].dtype == np.bool_ and answer["f"].dtype == np.float64
    assert answer["k"].tolist() == [1, 2, None] and np.isnat(answer["day"][2])
    assert answer["d"].tolist() == answer.to_dict()["d"]
    assert answer[0].tolist() == answer[-7].tolist() == answer["k"].tolist()
    assert list(answer) == answer.rows() and len(answer) == 3
    stream = answer.__arrow_c_stream__()
    del answer  # the stream does not need it
    assert pa.RecordBatchReader._import_from_c_capsule(stream).read_all() == arrow
    del stream
    upsweep.query(sql, t=table).__arrow_c_stream__()  # the stream is never read


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, 2**64 - 1])
def test_sums_of_more_than_64_bits(value):
    table = {"x": np.full(10, value, np.uint64)}
    answer = upsweep.query("SELECT SUM(x) AS s, MAX(x) AS m, SUM(x * 1000000000000) AS big FROM t", t=table)
    assert answer.rows() == [(10 * value, value, 10 * value * 10**12)]
    assert answer["s"][0] == 10 * value
    arrow = pa.table(answer)
    assert [int(cell) for cell in arrow.to_pylist()[0].values()] == [10 * value, value, 10 * value * 10**12]
    assert arrow.schema.field("m").type == (pa.uint64() if value >= 2**63 else pa.int64())
    assert arrow.schema.field("s").type == pa.decimal128(38, 0)
    negative = upsweep.query("SELECT SUM(-x) AS s FROM t", t={"x": np.full(3, 2**62)})
    assert pa.table(negative)["s"].to_pylist() == [D(-3 * 2**62)]


@pytest.mark.parametrize("every", [1, 700, 10_000, 150_000])
def test_decimals_of_more_than_64_bits_among_others(every):
    random = np.random.default_rng(every)
    values = [int(value) for value in random.integers(-(10**9), 10**9, 200_000)]
    values[::every] = [value * 10**20 for value in values[::every]]
    keys = random.integers(0, 3, len(values))
    cells = [None if i % 11 == 3 else D(value).scaleb(-2) for i, value in enumerate(values)]
    table = pa.table({"k": keys, "d": pa.array(cells, pa.decimal128(36, 2)), "e": pa.array(cells, pa.decimal256(36, 2))})
    context = decimal.Context(prec=60)

    def expected(kept):
        of_key = [
            [cell for cell, key in zip(cells, keys, strict=True) if cell is not None and key == k and kept(cell)]
            for k in range(3)
        ]
        sums = [D(sum(int(cell.scaleb(2, context)) for cell in of)).scaleb(-2, context) for of in of_key]
        return [(k, sums[k], min(of), max(of), len(of)) for k, of in enumerate(of_key)]

    for where, kept in [
        ("", lambda cell: True),
        ("WHERE d > 3.5", lambda cell: cell > D("3.5")),
        ("WHERE d < -9000000", lambda cell: cell < -9_000_000),
    ]:
        for column in "de":
            sql = f"SELECT k, SUM({column}) AS s, MIN({column}), MAX({column}), COUNT({column}) FROM t {where} GROUP BY k ORDER BY k"
            assert upsweep.query(sql, t=table).rows() == expected(kept)
    few = [
        (cell, sum(1 for other in cells[:2000] if other == cell)) for cell in sorted({c for c in cells[:2000] if c is not None})
    ]
    assert (
        upsweep.query("SELECT d, COUNT(*) FROM t WHERE d IS NOT NULL GROUP BY d ORDER BY d", t=table.slice(0, 2000)).rows()
        == few
    )


def test_shown_as_a_table():
    table = {"k": np.arange(100), "w": ["<b>"] * 100}
    answer = upsweep.query("SELECT k, COUNT(*) AS n FROM t GROUP BY k", t=table)
    lines = repr(answer).splitlines()
    assert lines[0].split() == ["k", "n"] and lines[1].split() == ["0", "1"]
    assert len(lines) == 22 and lines[-1] == "… 100 rows in all"
    html = upsweep.query('SELECT MIN(w) AS "a&b" FROM t', t=table)._repr_html_()
    assert "&lt;b&gt;" in html and "a&amp;b" in html and html.count("<tr>") == 2


def test_dicts_of_arrays():
    x = np.arange(200_000)
    columns = {
        "x": x[::-2],
        "f": np.linspace(0, 1, 100_000, dtype="f4"),
        "h": np.full(100_000, 0.5, "f2"),
        "swapped": np.arange(100_000, dtype=">i4"),
        "b": np.arange(100_000) % 3 == 0,
        "day": np.datetime64("1970-01-01") + np.arange(100_000) % 1000,
        "z": np.zeros(100_000, complex),
    }
    columns["day"][7] = np.datetime64("NaT")
    sql = "SELECT SUM(x), SUM(h), SUM(swapped), COUNT(day), MAX(day), COUNT(*) FROM t WHERE b"
    assert upsweep.query(sql, t=columns).rows() == [
        (x[::-2][::3].sum(), 33_334 / 2, np.arange(0, 100_000, 3).sum(), 33_334, datetime.date(1972, 9, 26), 33_334)
    ]
    assert upsweep.query("SELECT COUNT(day) FROM t", t=columns).rows() == [(99_999,)]
    assert upsweep.query("SELECT SUM(f) FROM t", t=columns)[0][0] == pytest.approx(50_000, rel=1e-6)
    with pytest.raises(TypeError, match="'z' has unsupported type complex128"):
        upsweep.query("SELECT SUM(z) FROM t", t=columns)
    with pytest.raises(ValueError, match="no column 'y'"):
        upsweep.query("SELECT SUM(y) FROM t", t=columns)


def test_dicts_of_other_columns():
    mixed = {
        "n": [1, None, 3],
        "w": np.array(["a", "b", "a"]),
        "o": np.array(["a", None, "a"], object),
        "c": pa.chunked_array([[1.5], [2.5, None]]),
        "d": [D("1.5"), D("2.25"), None],
        "t": (datetime.date(2000, 1, 1),) * 3,
        "i": np.arange(3, dtype="u1"),
    }
    sql = "SELECT w, SUM(n) AS n, COUNT(o) AS o, SUM(c) AS c, SUM(d) AS d, MAX(t) AS t, SUM(i) AS i FROM T GROUP BY w"
    assert upsweep.query(sql, t=mixed).rows() == [
        ("a", 4, 2, 1.5, D("1.50"), datetime.date(2000, 1, 1), 2),
        ("b", None, 0, 2.5, D("2.25"), datetime.date(2000, 1, 1), 1),
    ]
    with pytest.raises(ValueError, match="'y' has 2 rows"):
        upsweep.query("SELECT SUM(x) FROM t", t={"x": [1, 2, 3], "y": [1, 2]})
    with pytest.raises(TypeError, match="masked"):
        upsweep.query("SELECT SUM(x) FROM t", t={"x": np.ma.array([1, 2])})
    with pytest.raises(ValueError, match="one dimension"):
        upsweep.query("SELECT SUM(x) FROM t", t={"x": np.ones((2, 2))})
    with pytest.raises(TypeError, match="names of columns"):
        upsweep.query("SELECT SUM(x) FROM t", t={1: [1]})


def test_nothing_is_copied_and_nothing_kept():
    x = np.arange(1_000_000)
    references = sys.getrefcount(x)
    assert upsweep.query("SELECT SUM(x) FROM t", t={"x": x}).rows() == [(499_999_500_000,)]
    assert sys.getrefcount(x) == references
    pool = pa.default_memory_pool()
    table = pa.table({"x": pa.array(np.arange(1_000_000), pa.int64()).take(pa.array(np.arange(1_000_000)))})
    before = pool.bytes_allocated()
    upsweep.query("SELECT SUM(x) FROM t", t=table)
    assert pool.bytes_allocated() == before


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table):
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    pytest.importorskip("upsweep._files")
    where = tmp_path_factory.mktemp("files")
    some = table.select(["key", "whole", "d128", "text"])
    for number, first in enumerate(range(0, ROWS, 70_000)):
        pyarrow.parquet.write_table(some.slice(first, 70_000), where / f"part-{number}.parquet", row_group_size=30_000)
    pyarrow.feather.write_feather(some, where / "all.arrow", compression="uncompressed")
    pyarrow.csv.write_csv(some.select(["key", "whole"]), where / "all.csv")
    np.save(where / "whole.npy", some["whole"].to_numpy())
    return where


def test_paths_and_globs(folder, table):
    expected = [(sum(range(ROWS)), table["whole"].to_numpy().sum(), ROWS)]
    sql = "SELECT SUM(key), SUM(whole), COUNT(*) FROM t"
    for path in ("part-*.parquet", "part-[012].parquet", "**/part-?.parquet", "all.arrow", "all.csv"):
        for given in (folder / path, str(folder / path)):
            assert upsweep.query(sql, t=given).rows() == expected
        assert upsweep.query(sql.replace("FROM t", f"FROM '{folder / path}'")).rows() == expected
    assert upsweep.query("SELECT SUM(whole) FROM t", t=folder / "whole.npy").rows() == [(expected[0][1],)]
    groups = "SELECT text, SUM(d128) AS d FROM t GROUP BY text ORDER BY text"
    assert upsweep.query(groups, t=folder / "part-*.parquet").rows() == upsweep.query(groups, t=table).rows()
    for paths in ([folder / "part-0.parquet", str(folder / "part-[12].parquet")], tuple(sorted(folder.glob("part-*")))):
        assert upsweep.query(sql, t=paths).rows() == expected
    with pytest.raises(TypeError, match="a path or a list of paths is needed, not an empty list"):
        upsweep.query(sql, t=[])
    with pytest.raises(FileNotFoundError):
        upsweep.query(sql, t=[folder / "part-0.parquet", folder / "none-*.parquet"])
    with pytest.raises(FileNotFoundError):
        upsweep.query(sql, t=folder / "none-*.parquet")
    with pytest.raises(FileNotFoundError) as raised:
        upsweep.query(sql, t=folder / "none.parquet")
    assert raised.value.code == "not_found"
    with pytest.raises(IsADirectoryError):
        upsweep.query(sql, t=folder)
    twice = [(2 * expected[0][0], 2 * expected[0][1], 2 * ROWS)]
    assert upsweep.query(sql, t=folder / "*l*.[ac]*").rows() == twice  # all.arrow, and all.csv with some of its columns
    with pytest.raises(OverflowError) as raised:
        upsweep.query(
            f"SELECT SUM(CASE WHEN key = {ROWS - 1} THEN 9223372036854775807 + key ELSE 0 END) FROM t", t=folder / "part-*"
        )
    error = raised.value  # the last row of the third file
    assert (error.index, os.path.basename(error.file), error.line) == (60_002, "part-2.parquet", None)


@pytest.fixture
def parted(tmp_path):
    """Returns a function that writes texts to CSV files, and returns their paths."""
    pytest.importorskip("upsweep._files")

    def write(*texts):
        paths = [str(tmp_path / f"{number}.csv") for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            with open(path, "w") as file:
                file.write(text)
        return paths

    return write


@pytest.mark.parametrize(
    ("texts", "sql", "expected"),
    [
        (("x,y\n1,1\n", "y,x\n5,7\n"), "SELECT SUM(x), SUM(y) FROM t", [(8, 6)]),
        (("x,y\n1,1\n", "X,y\n5,7\n"), "SELECT SUM(x), MAX(X) FROM t", [(6, 5)]),
        (("x,y\n1,1\n", "y\n7\n"), "SELECT SUM(x), COUNT(x), COUNT(*) FROM t", [(1, 1, 2)]),
        (("x,y\n2.50,7\n", "x,y\n"), "SELECT SUM(x), COUNT(*) FROM t", [(D("2.50"), 1)]),
        (("x,y\n", "x,y\nhello,7\n"), "SELECT x, COUNT(*) FROM t GROUP BY x", [("hello", 1)]),
        (("x,y\nhello,7\n", "x,y\n,7\n"), "SELECT x, SUM(y) FROM t GROUP BY x", [("hello", 7), (None, 7)]),
        (("x,y\n,7\n", "x,y\nhello,7\n"), "SELECT COUNT(*) FROM t WHERE x IS NULL", [(1,)]),
        (("x,y\n1,1\n", "x,y\n1.5,2\n", "x,y\n1.125,2\n"), "SELECT SUM(x), MIN(x) FROM t", [(D("3.625"), D("1.000"))]),
        (("x,y\n3,1\n", "x,y\n1.5e0,2\n"), "SELECT SUM(x), MAX(x) FROM t WHERE x > 1", [(4.5, 3.0)]),
        (("x,y\n3,1\n", "x,y\nno,2\n"), "SELECT SUM(y), COUNT(*) FROM t", [(3, 2)]),
    ],
)
def test_files_that_differ(parted, texts, sql, expected):
    assert upsweep.query(sql, t=parted(*texts)).rows() == expected


def test_files_that_cannot_be_joined(parted):
    files = parted("x,y\n3,1\n", "x,y\nno,2\n", "a,b\n1,2\n")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"x": ["no"]}), f"{files[0]}.parquet")
    with pytest.raises(TypeError) as caught:
        upsweep.query("SELECT COUNT(x) FROM t", t=[files[0], f"{files[0]}.parquet"])
    assert f"int64 in {files[0]} and text in {files[0]}.parquet (--types x=string" in str(caught.value)
    assert upsweep.query("SELECT x FROM t", t=files[:2]).rows() == [("3",), ("no",)]
    table = upsweep.read(files[:2])
    assert table["x"].to_pylist() == ["3", "no"] and b"'x' is read as text" in table.schema.metadata[b"upsweep.remarks"]
    with pytest.raises(ValueError, match="shares no column with"):
        upsweep.query("SELECT COUNT(*) FROM t", t=[files[0], files[2]])
    wide = pa.table({"x": [0.5]}), pa.table({"x": [1, 2**53 + 1]})
    pytest.importorskip("pyarrow.feather")
    for number, table in enumerate(wide):
        pa.feather.write_feather(table, f"{files[number]}.arrow", compression="uncompressed")
    with pytest.raises(
        ValueError, match="1.csv.arrow:x: row 1 has a value of type int64 that changes when converted to float64"
    ):
        upsweep.query("SELECT SUM(x) FROM t", t=[f"{files[0]}.arrow", f"{files[1]}.arrow"])


def test_datasets(folder):
    dataset = pytest.importorskip("pyarrow.dataset")
    files = dataset.dataset([str(path) for path in sorted(folder.glob("part-*"))])
    assert upsweep.query("SELECT SUM(key), COUNT(*) FROM t", t=files).rows() == [(sum(range(ROWS)), ROWS)]
    assert upsweep.query("SELECT COUNT(*) FROM t", t=files.scanner(columns=["text"])).rows() == [(ROWS,)]


def test_duckdb_relations(table):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT i AS x, i % 7 AS k, CAST(i % 3 AS VARCHAR) AS w FROM range(300000) r(i)")
        assert (
            upsweep.query("SELECT SUM(x), COUNT(*), MAX(w) FROM t WHERE k = 3", t=relation).rows()
            == relation.filter("k = 3").aggregate("SUM(x), COUNT(*), MAX(w)").fetchall()
        )
    answer = upsweep.query("SELECT flag, SUM(d128) AS d FROM t GROUP BY flag ORDER BY flag", t=table)
    assert duckdb.sql("SELECT * FROM answer").fetchall() == answer.rows()


def test_polars(table):
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(table.select(["key", "i8", "f64", "flag", "day", "text", "coded", "d128"]))
    sql = "SELECT coded, MIN(text) AS w, SUM(i8) AS a, SUM(f64) AS f, MAX(day) AS t, SUM(d128) AS d, COUNT(flag) AS n FROM t "
    sql += "GROUP BY coded ORDER BY coded"
    answer = upsweep.query(sql, t=frame)
    assert answer.rows() == upsweep.query(sql, t=table).rows()
    assert polars.DataFrame(answer).rows() == polars.from_arrow(pa.table(answer)).rows() == answer.rows()
    assert upsweep.query("SELECT SUM(key) FROM t", t=frame[100:]).rows() == [(sum(range(100, ROWS)),)]
    assert upsweep.query("SELECT SUM(a) FROM t", t={"a": polars.Series([1, 2, None])}).rows() == [(3,)]
    with pytest.raises(TypeError, match="collect"):
        upsweep.query(sql, t=frame.lazy())
    with pytest.raises(TypeError, match="single column"):
        upsweep.query(sql, t=frame["key"])
    with pytest.raises(ValueError, match="'flag', 'day'"):
        upsweep.query("SELECT SUM(nokey) FROM t", t=frame)


def test_pandas(table):
    pandas = pytest.importorskip("pandas")
    frame = table.select(["key", "whole", "f64", "text"]).to_pandas()
    frame["odd"] = [object()] * len(frame)  # Arrow has no type for it
    frame.index = frame.index * 2
    sql = "SELECT text, SUM(key) AS s, SUM(f64) AS f, COUNT(f64) AS n FROM t GROUP BY text ORDER BY text"
    answer = upsweep.query(sql, t=frame)
    assert answer.rows() == upsweep.query(sql, t=table).rows()
    assert upsweep.query("SELECT SUM(a) FROM t", t={"a": pandas.Series([1.5, 2.0])}).rows() == [(3.5,)]
    frame = pandas.DataFrame(answer)
    assert list(frame.columns) == answer.columns and frame["s"].tolist() == answer["s"].tolist()
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(answer)["s"].tolist() == answer["s"].tolist()


def test_what_is_no_table():
    for nothing in (None, 5, object()):
        with pytest.raises(TypeError, match="t: a table"):
            upsweep.query("SELECT SUM(x) FROM t", t=nothing)
    with pytest.raises(TypeError, match="single column"):
        upsweep.query("SELECT SUM(x) FROM t", t=pa.chunked_array([[1, 2]]))


def test_errors(table):
    def raised(error, sql, **given):
        with pytest.raises(error) as caught:
            upsweep.query(sql, **(given or {"t": table}))
        return caught.value

    error = raised(ValueError, "SELECT SUM(x FROM t")
    assert error.code == "bad_sql" and error.index == 13 and "^" in str(error)
    error = raised(ValueError, "SELECT SUM(none) FROM t")
    assert error.code == "unknown_column" and "'key', 'whole', 'i8'" in str(error)
    error = raised(ValueError, "SELECT SUM(key) FROM other")
    assert error.code == "unknown_table" and "available: t" in str(error)
    assert "pass it by its name" in str(pytest.raises(ValueError, upsweep.query, "SELECT SUM(key) FROM other").value)
    assert '"Tt" or "TT"' in str(raised(ValueError, "SELECT SUM(key) FROM tT", Tt=table, TT=table))
    assert (
        upsweep.query("SELECT COUNT(*) FROM Tt", {"Tt": table, "TT": {}}).rows()
        == upsweep.query('SELECT COUNT(*) FROM "Tt"', Tt=table).rows()
    )
    assert raised(ValueError, 'SELECT COUNT(*) FROM "TT"', Tt=table).code == "unknown_table"
    assert "FROM 'a.csv'" in str(raised(ValueError, 'SELECT COUNT(*) FROM "a.csv"', t=table))
    assert 'write "key"' in str(raised(ValueError, 'SELECT SUM("Key") FROM t'))
    for column, type in (("list", "list"),):
        error = raised(TypeError, f"SELECT COUNT({column}) FROM t")
        assert error.code == "unsupported_type" and f"'{column}'" in str(error) and type in str(error)
    assert raised(NotImplementedError, "SELECT key FROM t JOIN u ON 1").code == "unsupported_sql"
    error = raised(ZeroDivisionError, "SELECT SUM(10 / (key - 70000)) FROM t")
    assert error.code == "division_by_zero" and error.index == 70_000
    assert raised(OverflowError, "SELECT SUM(key + 9223372036854775807) FROM t").index == 1
    with pytest.raises(TypeError):
        upsweep.query(5)
    with pytest.raises(ValueError, match="device"):
        upsweep.query("SELECT SUM(key) FROM t", t=table, device="tpu")
    answer = upsweep.query("SELECT SUM(key), SUM(whole) FROM t", t=table)
    with pytest.raises(KeyError, match="2 columns"):
        answer["sum"]
    with pytest.raises(KeyError, match="2 columns"):
        answer.to_dict()
    with pytest.raises(KeyError, match="no column"):
        answer["none"]
    with pytest.raises(IndexError):
        answer[2]


def test_days_and_decimals_that_do_not_fit():
    halves = pa.table({"d": pa.array([86_400_000, 1], pa.int64()).view(pa.date64())})
    with pytest.raises(ValueError, match="d: row 1 is not a whole day") as raised:
        upsweep.query("SELECT MIN(d) FROM t", t=halves)
    assert raised.value.index == 1
    outside = pa.DictionaryArray.from_arrays(pa.array([0, 5]), ["a"], safe=False)
    with pytest.raises(ValueError, match="row 1 points past its dictionary"):
        upsweep.query("SELECT MIN(w) FROM t", t=pa.table({"w": outside}))
    assert upsweep.query("SELECT MAX(d) FROM t", t={"d": np.array(["0001-01-01", "20000-01-01"], "M8[D]")}).rows() == [
        (np.datetime64("20000-01-01"),)
    ]


def test_a_stream_that_fails():
    def batches():
        yield pa.record_batch({"x": [1, 2]})
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches())
    with pytest.raises(OSError, match="the disk is gone"):
        upsweep.query("SELECT SUM(x) FROM t", t=reader)
    table = pa.table({"x": [1, 2]})
    capsule = table.__arrow_c_stream__()

    class Once:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    assert upsweep.query("SELECT SUM(x) FROM t", t=Once()).rows() == [(3,)]
    with pytest.raises(ValueError, match="has been read"):
        upsweep.query("SELECT SUM(x) FROM t", t=Once())


def test_a_reader_is_read_once():
    batch = pa.record_batch({"x": [1, 2]})
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    with pytest.raises(ValueError, match="no column 'y'"):
        upsweep.query("SELECT SUM(y) FROM t", t=reader)  # this query reads nothing
    assert upsweep.query("SELECT SUM(x) FROM t", t=reader).rows() == [(3,)]
    with pytest.raises(ValueError, match="t: a query has read this reader, which can be read only once"):
        upsweep.query("SELECT SUM(x) FROM t", t=reader)


class Claimed:
    """Arrays under a schema that may not match them."""

    def __init__(self, type, array):
        batch = pa.record_batch({"x": array})
        self.reader = pa.RecordBatchReader.from_batches(pa.schema({"x": type}), iter([batch]))

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__()


CODED = pa.array(["a", "b"]).dictionary_encode()


@pytest.mark.parametrize(
    ("type", "array", "what"),
    [
        (pa.int64(), pa.nulls(100_000), "0 buffers, and its type has 2"),
        (pa.int64(), pa.array(["a", "b"]), "3 buffers, and its type has 2"),
        (pa.int64(), CODED, "a dictionary, and its type has none"),
        (pa.int64(), pa.array([[1]]), "children, and its type has none"),
        (pa.int64(), pa.array([{"a": 1}]), "1 buffers, and its type has 2"),
        (pa.string(), pa.array([1, 2]), "2 buffers, and its type has 3"),
        (pa.string(), pa.array(["a text of more than twelve bytes"], pa.string_view()), "4 buffers, and its type has 3"),
        (pa.string_view(), pa.array([1, 2]), "2 buffers, and its type has 3"),
        (pa.null(), pa.array([1, 2]), "2 buffers, and its type has 0"),
        (CODED.type, pa.array([1, 2], pa.int32()), "no dictionary, and its type has one"),
        (CODED.type, pa.array([1.5]).dictionary_encode(), "a dictionary that has 2 buffers, and its type has 3"),
    ],
)
def test_batches_that_are_not_of_their_schema(type, array, what):
    with pytest.raises(ValueError, match=f"t: a chunk of it does not match its schema: column 'x' has {what}"):
        upsweep.query("SELECT COUNT(x) FROM t", t=Claimed(type, array))
    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": type}), iter([pa.record_batch({"x": array})]))
    with pytest.raises(OSError, match="batch 0 of the reader does not match its schema") as caught:
        upsweep.query("SELECT COUNT(x) FROM t", t=reader)
    assert "Traceback" not in str(caught.value)


def test_batches_of_another_type_of_the_same_layout():
    """Arrow's C interface cannot show this error: 13 bytes are not 100 integers."""
    batches = iter([pa.record_batch({"x": pa.array([True] * 100)})])
    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches)
    with pytest.raises(OSError, match=r"\[x: bool\], not \[x: int64\]"):
        upsweep.query("SELECT SUM(x) FROM t", t=reader)


def bytes_as_text(*texts):
    ends = np.cumsum([0, *map(len, texts)]).astype("i4")
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(texts))])


def test_text_that_is_not_utf8(tmp_path):
    latin = bytes_as_text(b"Lyon", "Köln".encode(), "Köln".encode("latin-1"))
    plain = pa.table({"s": latin, "v": [1, 2, 3]})
    coded = pa.table({"s": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), latin), "v": [1, 2, 3]})
    many = pa.table({"s": pa.concat_arrays([pa.array([f"text {i}" for i in range(100_000)]), latin])})
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(plain, tmp_path / "coded.parquet")
    parquet.write_table(plain, tmp_path / "plain.parquet", use_dictionary=False)
    parquet.write_table(many, tmp_path / "many.parquet", use_dictionary=False)
    with pa.ipc.new_file(tmp_path / "plain.arrow", plain.schema) as file:
        file.write_table(plain)
    with pa.ipc.new_stream(tmp_path / "coded.arrow", coded.schema) as file:
        file.write_table(coded)
    files = {name: str(tmp_path / name) for name in os.listdir(tmp_path)}
    for table, name, row in [
        (plain, "t.s", 2),
        (coded, "t.s", 2),
        (many, "t.s", 100_002),
        *((path, f"{path}:s", 100_002 if name.startswith("many") else 2) for name, path in files.items()),
    ]:
        for sql in ("SELECT s, COUNT(*) FROM t GROUP BY s", "SELECT COUNT(*) FROM t WHERE s = 'x'", "SELECT MAX(s) FROM t"):
            with pytest.raises(ValueError, match=f"row {row} is text that is not UTF-8") as caught:
                upsweep.query(sql, t=table)
            assert str(caught.value).startswith(name), caught.value
    assert upsweep.query("SELECT SUM(v) FROM t", t=files["plain.parquet"]).rows() == [(6,)]
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int32()), latin)
    assert upsweep.query("SELECT COUNT(s) FROM t", t=pa.table({"s": unused})).rows() == [(3,)]
    assert upsweep.query("SELECT MAX(s) FROM t", t=pa.table({"s": unused})).rows() == [("Lyon",)]


def test_python_text_that_is_not_utf8():
    """Halves of UTF-16 pairs, which str may contain: the error names table, column and row."""
    values = ["a", None, "\ud800"]
    tables = [{"s": values}, {"s": np.array(values, object)}, {"s": np.array(["a", "b", "\ud800"])}]
    if importlib.util.find_spec("pandas"):
        import pandas

        column = pandas.Series(values, dtype=object)
        tables += [pandas.DataFrame({"x": [1, 2, 3], "s": column}), {"s": column}]
    for table in tables:
        with pytest.raises(
            ValueError, match=r"^t\.s: row 2 is text that is not UTF-8; convert the column to UTF-8 or leave it out$"
        ):
            upsweep.query("SELECT MAX(s) FROM t", t=table)


def test_python_values_without_a_column():
    """Values that Arrow cannot store in a column are refused with the name of their type, and a remedy."""
    cases = [
        ({"s": [1j, 2]}, "Python objects of type complex and int; make all of them numbers, dates or text"),
        ({"s": [1, "a", None, 2.5]}, "Python objects of type int and str and float; make all"),
        ({"s": [object()]}, "Python objects of type object; make all"),
    ]
    if importlib.util.find_spec("pandas"):
        import pandas

        complex_column = pandas.Series([1j, 2])
        for table in ({"s": complex_column}, pandas.DataFrame({"x": [1, 2], "s": complex_column})):
            cases.append((table, "has unsupported type complex128; convert it to numbers"))
        cases.append((pandas.DataFrame({"s": [1, "a"]}), "Python objects of type int and str; make all"))
        cases.append((pandas.DataFrame({"s": pandas.arrays.SparseArray([0, 1])}), r"has unsupported type Sparse\[int64, 0\];"))
        big = pandas.Series([2**70, -1])
        for table in ({"s": big}, pandas.DataFrame({"s": big})):
            assert upsweep.query("SELECT MAX(s) FROM t", t=table).rows() == [(2**70,)]
    for table, expected in cases:
        with pytest.raises(TypeError, match=rf"^t\.s: (has |){expected}"):
            upsweep.query("SELECT MAX(s) FROM t", t=table)


def test_types_are_named_as_their_library_names_them():
    cases = []
    if importlib.util.find_spec("polars"):
        import polars

        for dtype in (polars.Int128, polars.UInt128):
            wide = polars.Series("s", [2**100, 1], dtype=dtype)
            for table in ({"s": wide}, wide.to_frame()):
                assert upsweep.query("SELECT MAX(s), SUM(s) FROM t", t=table).rows() == [(2**100, 2**100 + 1)]
        wide = polars.Series("s", [2**127], dtype=polars.UInt128)
        with pytest.raises(OverflowError, match=r"^t\.s: UInt128 with integers of more than 38 digits"):
            upsweep.query("SELECT MAX(s) FROM t", t=wide.to_frame())
        for column, name in [
            (polars.Series("s", [object()], dtype=polars.Object), "Object"),
            (polars.Series("s", [["a"]]), r"List\(String\)"),
        ]:
            cases += [({"s": column}, name), (column.to_frame(), name)]
    if importlib.util.find_spec("duckdb"):
        import duckdb

        cases.append((duckdb.sql("SELECT '101'::BIT AS s"), "BIT"))
    for table, name in cases:
        with pytest.raises(TypeError, match=rf"^column 's' has unsupported type {name}; convert it to numbers"):
            upsweep.query("SELECT MAX(s) FROM t", t=table)


def test_enums_of_duckdb_are_ordered_categories():
    duckdb = pytest.importorskip("duckdb")
    enums = "SELECT unnest(['b', 'a', 'c'])::ENUM('b', 'a', 'c') AS x"
    for sql in (
        "SELECT MIN(x) FROM t",
        "SELECT COUNT(*) FROM t WHERE x < 'b'",
        "SELECT x, COUNT(*) FROM t GROUP BY x ORDER BY x",
    ):
        with pytest.raises(TypeError, match="column 'x' has ordered categories"):
            upsweep.query(sql, t=duckdb.sql(enums))
    assert upsweep.query("SELECT COUNT(*) FROM t WHERE x = 'b'", t=duckdb.sql(enums)).rows() == [(1,)]
    assert upsweep.query("SELECT MIN(x) FROM t", t=duckdb.sql(f"SELECT x::VARCHAR AS x FROM ({enums})")).rows() == [("a",)]


def test_lists_that_are_no_lists_of_paths():
    with pytest.raises(TypeError, match="a list of paths is needed, not an empty list"):
        upsweep.query("SELECT COUNT(*) FROM t", t=[])
    with pytest.raises(TypeError, match="a list of paths is needed, not a list of int"):
        upsweep.query("SELECT COUNT(*) FROM t", t=["a.csv", 1])


@pytest.mark.parametrize("use_dictionary", [False, True])
@pytest.mark.parametrize("nulls", [False, True])
def test_text_of_parquet_that_is_cut_off(tmp_path, use_dictionary, nulls):
    """In a page, a string is followed by the length of the next one. These bytes may look like the rest of its last
    letter."""
    parquet = pytest.importorskip("pyarrow.parquet")
    whole = [b"Oslo", "Köln".encode() * 20, "東京".encode() * 60, b"", "Ö".encode() * 64, b"x" * 127, b"y" * 128]
    cuts = ["é".encode()[:1], "東".encode()[:2], "😀".encode()[:3], b"\xe6" + b"a" * 200, b"z" * 130 + b"\xf0"]
    for length in (1, 0x80, 0xA9, 0xBF, 0xBFBF):
        for cut in cuts:
            texts = [*whole, cut, b"n" * length, *whole]
            column = bytes_as_text(*texts)
            if nulls:
                column = pa.concat_arrays([column, pa.nulls(3, pa.string())])
            parquet.write_table(pa.table({"s": column}), tmp_path / "t.parquet", use_dictionary=use_dictionary)
            with pytest.raises(ValueError, match=f"row {len(whole)} is text that is not UTF-8"):
                upsweep.query("SELECT MAX(s) FROM t", t=tmp_path / "t.parquet")
    parquet.write_table(pa.table({"s": bytes_as_text(*whole)}), tmp_path / "t.parquet", use_dictionary=use_dictionary)
    assert upsweep.query("SELECT MAX(s), COUNT(s) FROM t", t=tmp_path / "t.parquet").rows() == [("東京" * 60, len(whole))]


def test_names_that_are_not_utf8(tmp_path):
    schema = pa.schema([pa.field("x", pa.int64()), pa.field("cafes", pa.int64())])
    with pa.ipc.new_file(tmp_path / "t.arrow", schema) as file:
        file.write_table(pa.table({"x": [1], "cafes": [2]}, schema=schema))
    data = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "t.arrow").write_bytes(data.replace(b"cafes", b"caf\xe9s"))
    with pytest.raises(ValueError, match=r"the name of column 1, 'caf\\xe9s', is not UTF-8"):
        upsweep.query("SELECT SUM(x) FROM t", t=str(tmp_path / "t.arrow"))


def test_types_are_named_as_arrow_names_them(tmp_path):
    for type, value, name in [
        (pa.decimal256(50, 2), D(1), "decimal256(50,2)"),
        (pa.large_binary(), b"a", "large_binary"),
        (pa.list_view(pa.int8()), [1], "list_view"),
    ]:
        with pytest.raises(TypeError) as caught:
            upsweep.query("SELECT SUM(x) FROM t", t=pa.table({"x": pa.array([value], type)}))
        assert f"column 'x' has unsupported type {name}" in str(caught.value)
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    ends = pa.RunEndEncodedArray.from_arrays([1], [2])
    for array, name in [
        (union, "sparse_union"),
        (ends, "run_end_encoded"),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())), "extension<arrow.bool8>"),
    ]:
        with pytest.raises(TypeError) as caught:
            upsweep.query("SELECT SUM(x) FROM t", t=pa.table({"x": array}))
        assert f"column 'x' has unsupported type {name}" in str(caught.value)
    # An extension type that Arrow does not know must not be read as its storage type, in memory and in files.
    unknown = pa.schema([pa.field("x", pa.int64(), metadata={"ARROW:extension:name": "of.others"}), ("y", pa.int64())])
    table = pa.table({"x": [1], "y": [2]}, schema=unknown)
    with pa.ipc.new_file(tmp_path / "t.arrow", unknown) as file:
        file.write_table(table)
    for source in (table, str(tmp_path / "t.arrow")):
        with pytest.raises(TypeError, match="column 'x' has unsupported type extension<of.others>"):
            upsweep.query("SELECT SUM(x) FROM t", t=source)
        assert upsweep.query("SELECT SUM(y) FROM t", t=source).rows() == [(2,)]


def test_ordered_categories(tmp_path):
    type = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int8()), ["low", "high"], ordered=True)
    table = pa.table({"c": coded, "x": [1, 2, 3]})
    assert table.schema.field("c").type == type
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    for source in (table, str(tmp_path / "t.arrow")):
        for sql in (
            "SELECT MIN(c) FROM t",
            "SELECT MAX(c) FROM t",
            "SELECT c, SUM(x) FROM t GROUP BY c ORDER BY c",
            "SELECT c, SUM(x) FROM t GROUP BY c ORDER BY 1 DESC",
            "SELECT SUM(x) FROM t WHERE c >= 'low'",
            "SELECT SUM(x) FROM t WHERE 'low' < c",
            "SELECT SUM(x) FROM t WHERE c NOT BETWEEN 'high' AND 'low'",
        ):
            with pytest.raises(TypeError, match="column 'c' has ordered categories"):
                upsweep.query(sql, t=source)
        assert upsweep.query("SELECT c, SUM(x) FROM t GROUP BY c ORDER BY 2", t=source).rows() == [("low", 1), ("high", 5)]
        assert upsweep.query("SELECT SUM(x) FROM t WHERE c <> 'low' OR c IN ('x')", t=source).rows() == [(5,)]


def test_large_integers():
    pandas = pytest.importorskip("pandas")
    large = [2**70, -1]
    for table in (
        {"x": large},
        {"x": np.array(large, object)},
        {"x": [*large, None]},
        pandas.DataFrame({"x": pandas.Series(large, dtype=object), "y": ["a", "b"]}),
        pandas.DataFrame({"x": pandas.Series([*large, None], dtype=object)}),
    ):
        assert upsweep.query("SELECT SUM(x), MIN(x), COUNT(x) FROM t", t=table).rows() == [(D(2**70 - 1), D(-1), 2)]
    for table in ({"x": [10**38, 1]}, pandas.DataFrame({"x": pandas.Series([10**38, 1], dtype=object)})):
        with pytest.raises(OverflowError, match="t.x: integers of more than 38 digits"):
            upsweep.query("SELECT SUM(x) FROM t", t=table)


def test_pandas_columns_that_are_not_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2, 3]], columns=["a", "a", "b"])
    assert upsweep.query("SELECT SUM(b), COUNT(*) FROM t", t=frame).rows() == [(3, 1)]
    assert upsweep.query("SELECT COUNT(*) FROM t", t=frame).rows() == [(1,)]
    with pytest.raises(ValueError, match="2 columns are called 'a'"):
        upsweep.query("SELECT SUM(a) FROM t", t=frame)
    with pytest.raises(ValueError, match="no column 'c'; its columns are: 'a', 'a', 'b'"):
        upsweep.query("SELECT SUM(c) FROM t", t=frame)
    unnamed = pandas.DataFrame([[1, 2, 3]], columns=[None, None, "b"])
    assert upsweep.query("SELECT SUM(b) FROM t", t=unnamed).rows() == [(3,)]
    numbered = pandas.DataFrame(np.arange(6).reshape(3, 2))
    assert upsweep.query('SELECT SUM("1") FROM t', t=numbered).rows() == [(9,)]
    periods = pandas.DataFrame({"p": pandas.period_range("2024-01", periods=2, freq="M"), "x": [1, 2]})
    with pytest.raises(TypeError, match=r"column 'p' has unsupported type period\[M\];"):
        upsweep.query("SELECT MIN(p) FROM t", t=periods)
    assert upsweep.query("SELECT SUM(x) FROM t", t=periods).rows() == [(3,)]


@pytest.mark.parametrize("result", [None, 7, (1, 2)])
def test_what_is_no_stream_and_no_batch(result):
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return result

    class Batch:
        def __arrow_c_array__(self, requested_schema=None):
            return result

    with pytest.raises(
        TypeError, match=rf"t: its __arrow_c_stream__\(\) does not return an Arrow stream, but {type(result).__name__}"
    ):
        upsweep.query("SELECT SUM(x) FROM t", t=Stream())
    with pytest.raises(TypeError, match=r"t: its __arrow_c_array__\(\) does not return a record batch"):
        upsweep.query("SELECT SUM(x) FROM t", t=Batch())


def test_options(table):
    sql = "SELECT SUM(f64 / 3), SUM(f32) FROM t"
    expected = upsweep.query(sql, t=table).rows()
    for threads in (1, 2, 3):
        with upsweep.options(threads=threads, rung="cpu.blocks"):
            answer = upsweep.query(sql, t=table)
        assert answer.rows() == expected and answer.rung == "cpu.blocks"
    with upsweep.options(rung="cpu.serial"), pytest.raises(NotImplementedError, match="cpu.serial"):
        upsweep.query(sql, t=table)
    if not upsweep.devices():
        with pytest.raises((RuntimeError, NotImplementedError)):
            upsweep.query(sql, t=table, device="cuda")
        assert upsweep.query(sql, t=table, device="auto").rows() == expected


def test_queries_at_the_same_time(table):
    sql = (
        "SELECT coded, text, SUM(f64 / 3) AS f, SUM(d128) AS d FROM t WHERE key >= {} GROUP BY coded, text ORDER BY coded, text"
    )
    expected = [upsweep.query(sql.format(first), t=table).rows() for first in range(4)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: upsweep.query(sql.format(i % 4), t=table).rows(), range(64)))
    assert answers == expected * 16


def test_other_threads_run_meanwhile():
    def batches():
        for _ in range(3):
            assert reached.wait(60)  # another thread must set it in the meantime
            yield pa.record_batch({"x": [1, 2]})

    reached = threading.Event()
    threading.Timer(0.05, reached.set).start()
    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches())
    assert upsweep.query("SELECT SUM(x) FROM t", t=reader).rows() == [(9,)]


MANY = 400_000
TOP = "SELECT k, SUM(x) AS s, SUM(f) AS t, MIN(x), MAX(x), MIN(f), MAX(f) FROM t GROUP BY k ORDER BY s DESC, k LIMIT 20"


def many_groups():
    random = np.random.default_rng(8)
    return {"k": random.permutation(MANY), "x": random.integers(0, 10**9, MANY), "f": random.random(MANY)}


@pytest.mark.parametrize("threads", [1, 2])
def test_groups_that_do_not_fit_go_to_a_file(tmp_path, threads):
    t = many_groups()
    expected = upsweep.query(TOP, t=t)
    assert expected.bytes_spilled == 0
    with upsweep.options(threads=threads):
        for memory in (1 << 20, "1MB", np.int32(1 << 20)):
            answer = upsweep.query(TOP, t=t, memory=memory, spill_dir=tmp_path)
            assert answer.bytes_spilled > MANY * 10
            assert answer.rows() == expected.rows()
    assert upsweep.query(TOP, t=t, memory="8GB").bytes_spilled == 0
    assert list(tmp_path.iterdir()) == []


def test_memory_that_does_not_suffice(tmp_path):
    t = many_groups()
    with pytest.raises(MemoryError, match=r"\(LIMIT\) or allow more memory \(memory=\)"):
        upsweep.query("SELECT k, SUM(x) FROM t GROUP BY k", t=t, memory="10MB")
    with pytest.raises(FileNotFoundError, match=r"missing.*\(spill_dir=, TMPDIR\).*\(memory=\)"):
        upsweep.query(TOP, t=t, memory="1MB", spill_dir=tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="missing"):  # also if no group would be written there
        upsweep.query("SELECT COUNT(*) FROM t", t=t, spill_dir=tmp_path / "missing")
    with pytest.raises(OSError, match="/sys"):
        upsweep.query(TOP, t=t, memory="1MB", spill_dir="/sys")
    for memory in ("lots", "", 0, -1, 2**63):
        with pytest.raises(ValueError, match="memory"):
            upsweep.query(TOP, t=t, memory=memory)
    for memory in (1.5, b"4GB"):
        with pytest.raises(TypeError, match="memory"):
            upsweep.query(TOP, t=t, memory=memory)
    for option in ("device", "memory", "spill_dir"):
        with pytest.raises(ValueError, match=f"'{option}' is an option"):
            upsweep.query(f"SELECT COUNT(*) FROM {option}", t=t)


def test_tables_of_any_name():
    t = {"x": np.array([1, 2, 4])}
    for name in ("memory", "device", "spill_dir", "sql", "tables", '"other table"'):
        sql = f"SELECT SUM(x) FROM {name}"
        assert upsweep.query(sql, {name.strip('"'): t, "t": {"x": [9]}}, memory="1GB").rows() == [(7,)]
    for name in ("sql", "tables"):
        assert upsweep.query(f"SELECT SUM(x) FROM {name}", {"t": t}, **{name: t}).rows() == [(7,)]
    assert upsweep.query("SELECT SUM(x) FROM t", {}, t=t).rows() == [(7,)]
    with pytest.raises(TypeError, match="^tables: t is also given as a keyword argument"):
        upsweep.query("SELECT SUM(x) FROM t", {"t": t}, t=t)
    for wrong in (pa.table(t), [t], {1: t}):
        with pytest.raises(TypeError, match="^tables: "):
            upsweep.query("SELECT SUM(x) FROM t", wrong)


def test_an_interrupt_ends_a_query_that_spills(tmp_path):
    program = f"""
import signal, threading, time, numpy, upsweep
t = {{"k": numpy.arange(8_000_000) * 7919, "x": numpy.ones(8_000_000)}}
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
at = []
try:
    threading.Timer(0.7, lambda: (at.append(time.process_time()), signal.raise_signal(signal.SIGINT))).start()
    with upsweep.options(threads=1):
        upsweep.query("SELECT k, SUM(x) AS s FROM t GROUP BY k ORDER BY s LIMIT 3", t=t, memory="1MB", spill_dir={str(tmp_path)!r})
except KeyboardInterrupt:
    print("interrupted", time.process_time() - at[0] < 5)  # CPU time: other work on the machine does not count
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=3600)
    assert done.stdout.strip() == "interrupted True", done.stderr
    assert list(tmp_path.iterdir()) == []


ENDLESS = "pyarrow.RecordBatchReader.from_batches(batch.schema, itertools.repeat(batch))"
LONG = "pyarrow.Table.from_batches([batch] * 20_000)"
IN_PYTHON = "pyarrow.RecordBatchReader.from_batches(batch.schema, (batch for _ in itertools.count()))"


@pytest.mark.parametrize("table", [ENDLESS, LONG, IN_PYTHON])
@pytest.mark.parametrize("threads", [1, 0])
def test_an_interrupt_ends_a_query(table, threads):
    program = f"""
import itertools, signal, threading, time, numpy, pyarrow, upsweep
upsweep.query("SELECT SUM(x) FROM t", t={{"x": numpy.arange(3)}})
batch = pyarrow.record_batch({{"x": numpy.arange(1_000_000)}})
table = {table}
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
at = []
try:
    threading.Timer(0.3, lambda: (at.append(time.process_time()), signal.raise_signal(signal.SIGINT))).start()
    with upsweep.options(threads={threads}):
        upsweep.query("SELECT SUM(x / 3) FROM t", t=table)
except KeyboardInterrupt:
    print("interrupted", time.process_time() - at[0] < {5 * (threads or os.cpu_count())})  # CPU time: other work does not count
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=3600)
    assert done.stdout.strip() == "interrupted True", done.stderr


def test_an_interrupt_ends_a_query_that_keeps_no_row(tmp_path):
    """Statistics of these files do not show that no row is kept."""
    pytest.importorskip("upsweep._files")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": np.zeros(20_000_000), "y": np.zeros(20_000_000)})
    parquet.write_table(table, tmp_path / "0.parquet", row_group_size=20_000_000)
    for i in range(1, 400):
        os.link(tmp_path / "0.parquet", tmp_path / f"{i}.parquet")
    program = f"""
import signal, threading, time, upsweep
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
at = []
try:
    threading.Timer(0.5, lambda: (at.append(time.process_time()), signal.raise_signal(signal.SIGINT))).start()
    with upsweep.options(threads=1):
        upsweep.query("SELECT SUM(y) FROM '{tmp_path}/*.parquet' WHERE x * 0.5 < -1")
except KeyboardInterrupt:
    print("interrupted", time.process_time() - at[0] < 5)  # CPU time: other work on the machine does not count
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=3600)
    assert done.stdout.strip() == "interrupted True", done.stderr


def test_a_package_without_files_says_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="upsweep was built without Arrow and cannot read files"):
        upsweep.query("SELECT COUNT(*) FROM 'x.csv'")


def test_only_what_is_needed_is_imported():
    program = "import sys, upsweep; print([m for m in ('pyarrow', 'upsweep._queries', 'upsweep._files') if m in sys.modules]);"
    program += "upsweep.query('SELECT SUM(x) FROM t', t={'x': [1, 2]}); print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=3600)
    assert done.stdout.split("\n")[:2] == ["[]", "False"], done.stderr
    missing = "import sys; sys.modules['pyarrow'] = None; import upsweep\n"
    for table in ("'x.parquet'", "{'x': ['a']}"):
        program = missing + f"try: upsweep.query('SELECT COUNT(x) FROM t', t={table})\nexcept ImportError as e: print(e)"
        done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=3600)
        assert "pyarrow, which is not installed" in done.stdout, done.stderr


def test_docstrings():
    results = doctest.testmod(upsweep._query)
    assert results.attempted >= 3 and results.failed == 0


# ------------------------------------------------------------------------------------- tables that are not quite tables


def test_columns_are_named_where_they_are_wrong():
    class Table:  # like those of pandas, Polars and pyarrow
        columns = ("a",)

        def __len__(self):
            return 1

    for column, error, message in (
        (5, TypeError, "t.x: an array or list is needed, not int"),
        (None, TypeError, "t.x: .* not NoneType"),
        ("abc", TypeError, "t.x: .* not str"),
        (Table(), TypeError, r"t.x: a column is needed, not a table \(Table\)"),
        ([1, "a"], TypeError, "t.x: has Python objects of type int and str"),
        ([10**38, -1], OverflowError, "t.x: integers of more than 38 digits"),
    ):
        with pytest.raises(error, match=message):
            upsweep.query("SELECT SUM(x) FROM t", t={"x": column})
    assert upsweep.query("SELECT SUM(x) AS s FROM t", t={"x": [2**63, 1]}).rows() == [(2**63 + 1,)]
    with pytest.raises(TypeError, match="sql: a string is needed, not NoneType"):
        upsweep.query(None)
    with pytest.raises(ValueError, match="option of query"):
        upsweep.query("SELECT SUM(x) FROM device")


def test_unknown_columns_are_told_with_all_that_there_are(tmp_path):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    dataset, parquet = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.parquet")

    frame = pandas.DataFrame({"x": [1], "g": [2]}, index=pandas.Index([5], name="i"))
    table = pyarrow.table({"x": [1], "g": [2]})
    parquet.write_table(table, tmp_path / "t.parquet")
    for source in (frame, table, dataset.dataset(tmp_path / "t.parquet")):
        for unknown in ("i", "zz"):
            with pytest.raises(ValueError, match=rf"no column '{unknown}'; its columns are: 'x', 'g'"):
                upsweep.query(f"SELECT SUM({unknown}) FROM t", t=source)


def test_columns_of_one_name():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table([[1], [2], [3]], names=["x", "x", "y"])
    with pytest.raises(ValueError, match="2 columns are called 'x'"):
        upsweep.query("SELECT SUM(x) FROM t", t=table)
    assert upsweep.query("SELECT SUM(y) AS s FROM t", t=table).rows() == [(3,)]


def test_columns_that_are_not_named_are_not_looked_at():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    mixed = pd.DataFrame({"y": [1, "a"], "x": [1, 2]})
    assert upsweep.query("SELECT COUNT(*) AS n FROM t", t=mixed).to_dict() == {"n": [2]}
    masked = {"y": np.ma.array([1, 2]), "x": [1, 2]}
    assert upsweep.query("SELECT COUNT(*) AS n FROM t", t=masked).to_dict() == {"n": [2]}
    twice = pa.table([[1], [2]], names=["x", "x"])
    assert upsweep.query("SELECT COUNT(*) AS n FROM t", t=twice).to_dict() == {"n": [1]}
    with pytest.raises(TypeError, match=r"^t\.y: has Python objects of type int and str"):
        upsweep.query("SELECT SUM(y) FROM t", t=mixed)


def test_paths_that_are_bytes(tmp_path):
    pytest.importorskip("pyarrow")
    np.save(tmp_path / "x.npy", np.arange(4))

    class Path:
        def __fspath__(self):
            return bytes(tmp_path / "x.npy")

    assert upsweep.query("SELECT COUNT(*) AS n FROM t", t=Path()).to_dict() == {"n": [4]}


def test_files_whose_names_are_not_utf8(tmp_path):
    name = os.path.join(os.fsencode(tmp_path), b"caf\xe9.csv")
    with open(name, "wb") as file:
        file.write(b"x\n1\n2\n")
    path = os.fsdecode(name)
    for given in (path, [path, path], os.path.join(tmp_path, "caf*.csv")):
        assert upsweep.query("SELECT SUM(x) FROM t", t=given).rows() == [(6 if isinstance(given, list) else 3,)]
    missing = path.replace("caf", "tea")
    with pytest.raises(FileNotFoundError) as caught:
        upsweep.query("SELECT SUM(x) FROM t", t=missing)
    assert missing in str(caught.value)
    for none in ("\ud800", "a\0b"):
        with pytest.raises(ValueError, match="^a file's name: not a valid file name:"):
            upsweep.query("SELECT SUM(x) FROM t", t=none)
        with pytest.raises(ValueError, match="^spill_dir: not a valid file name:"):
            upsweep.query("SELECT SUM(x) FROM t", t={"x": [1]}, spill_dir=none)
    for call in (
        lambda: upsweep.query("SELECT SUM(x) FROM '\ud800'"),
        lambda: upsweep.query("SELECT SUM(x) FROM t", t={"x": [1], "\ud800": [2]}),
        lambda: upsweep.query("SELECT SUM(x) FROM t", {"t": {"x": [1]}}, memory="\ud800"),
        lambda: upsweep.ladder("\ud800"),
    ):
        with pytest.raises(ValueError, match="is an unpaired surrogate"):
            call()
