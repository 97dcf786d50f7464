# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_rows.py: `upsweep query` without aggregates and GROUP BY: rows, *, ORDER BY, LIMIT and OFFSET.
import datetime
import decimal
import math

import numpy as np
import pytest
from test_query import PATH, refused, rows
from test_terminal import shown

D = decimal.Decimal
DAY = datetime.date
BATCH = 1 << 16


@pytest.fixture
def few(upsweep, arrow):
    """Some rows of every kind, with NULLs."""
    upsweep.table(
        "t.parquet",
        {
            "k": arrow.array([1, 2, 1, 3, 2, 1], arrow.int8()),
            "u": arrow.array([2**64 - 1, 0, None, 7, 8, 9], arrow.uint64()),
            "p": arrow.array([D("0.50"), D("-1.25"), None, None, D("3.00"), D("0.01")], arrow.decimal128(9, 2)),
            "f": arrow.array([0.5, math.nan, None, -0.0, -math.inf, 4.0]),
            "d": arrow.array([DAY(2000, 1, 1), None, DAY(1999, 12, 31), None, DAY(1970, 1, 1), DAY(1960, 1, 1)]),
            "b": arrow.array([True, None, False, None, True, False]),
            "s": arrow.array(["a", "b", None, "é", "b", ""]).dictionary_encode(),
        },
        row_group_size=4,
    )
    return upsweep


WHOLE = [
    [1, 2**64 - 1, "0.50", 0.5, "2000-01-01", True, "a"],
    [2, 0, "-1.25", "NaN", None, None, "b"],
    [1, None, None, None, "1999-12-31", False, None],
    [3, 7, None, -0.0, None, None, "é"],
    [2, 8, "3.00", "-Infinity", "1970-01-01", True, "b"],
    [1, 9, "0.01", 4.0, "1960-01-01", False, ""],
]


def column(*places):
    return [[row[place] for place in places] for row in WHOLE]


def test_columns_and_expressions(few):
    answer = few.json("query", f"SELECT * FROM {PATH}")
    assert answer["columns"] == ["k", "u", "p", "f", "d", "b", "s"]
    assert answer["types"] == ["integer", "integer", "decimal", "real", "date", "boolean", "text"]
    assert answer["rows"] == WHOLE
    assert rows(few, f"SELECT s, k FROM {PATH}") == column(6, 0)
    assert rows(few, f"SELECT s FROM {PATH} WHERE k = 1 AND s IS NOT NULL") == [["a"], [""]]
    found = few.json(
        "query", f"SELECT t.k * 2 AS twice, p + 1, NOT b, d + 1 AS next, 5, NULL FROM {PATH} t WHERE k < 3 LIMIT 2"
    )
    assert found["columns"] == ["twice", "?column?", "?column?", "next", "?column?", "?column?"]
    assert found["rows"] == [[2, "1.50", False, "2000-01-02", 5, None], [4, "-0.25", None, None, 5, None]]
    assert rows(few, f"SELECT 1 FROM {PATH}") == [[1]] * 6
    assert rows(few, f"SELECT k FROM {PATH} WHERE k > 5") == []
    assert few.text("query", f"SELECT k, s FROM {PATH} WHERE k = 3") == "k  s\n3  é\n"


def test_star(few):
    assert few.json("query", f"SELECT *, k * 2 AS twice FROM {PATH}")["columns"] == [*"kupfdbs", "twice"]
    assert rows(few, f"SELECT k + 1, t.*, T.k FROM {PATH} AS t") == [[row[0] + 1, *row, row[0]] for row in WHOLE]
    assert rows(few, "SELECT t.* FROM t", "--table", "t=t.parquet") == WHOLE
    assert "no table 'x'" in refused(few, "unknown_column", f"SELECT x.* FROM {PATH}", at="x.*")["message"]
    assert "'k' is a column" in refused(few, "unknown_column", f"SELECT k.* FROM {PATH}", at="k.*")["message"]
    for sql in ("SELECT *, COUNT(*) FROM {}", "SELECT * FROM {} GROUP BY k", "SELECT *, COUNT(*) AS c FROM {} GROUP BY c"):
        assert "name the columns" in refused(few, "bad_sql", sql.format(PATH), at="*")["message"]
    assert rows(few, f"SELECT COUNT(*) FROM {PATH}") == [[6]]


def test_times_are_passed_through(upsweep, arrow):
    stamps = [datetime.datetime(2024, 5, 6, 7, 8, 9, 500_000), None, datetime.datetime(1969, 12, 31, 23, 59, 59)]
    columns = {
        "t": arrow.array(stamps, arrow.timestamp("us")),
        "z": arrow.array(stamps, arrow.timestamp("ms", "UTC")),
        "w": arrow.array([datetime.timedelta(days=3, seconds=4), None, datetime.timedelta(seconds=-1)]),
        "c": arrow.array([datetime.time(1, 2, 3), None, datetime.time(23)], arrow.time32("s")),
    }
    upsweep.table("t.parquet", columns)
    answer = upsweep.json("query", f"SELECT * FROM {PATH}")
    assert answer["types"] == ["timestamp", "timestamp", "duration", "time"]
    texts = upsweep.json("query", f"SELECT MAX(t), MAX(z), MAX(w), MIN(c) FROM {PATH}")["rows"][0]
    assert answer["rows"][0] == texts and answer["rows"][1] == [None] * 4
    assert rows(upsweep, f"SELECT z, t FROM {PATH} WHERE t IS NOT NULL ORDER BY z") == [
        [row[1], row[0]] for row in (answer["rows"][2], answer["rows"][0])
    ]


def test_star_names_columns_that_it_cannot_return(upsweep, arrow):
    upsweep.table("t.parquet", {"i": [1], "x": [[1.5]], "m": [{"a": 1}]})
    message = refused(upsweep, "unsupported_type", f"SELECT * FROM {PATH}", at="*")["message"]
    assert "'x' (" in message and "'m' (struct" in message and "'i'" not in message
    assert "omit them from the query" in message
    assert "contains lists" in refused(upsweep, "unsupported_type", f"SELECT x FROM {PATH}", at="x")["message"]
    assert rows(upsweep, f"SELECT i, list_sum(x), x[1], x[2] FROM {PATH}") == [[1, 1.5, 1.5, None]]


def test_order(few):
    assert rows(few, f"SELECT k FROM {PATH} ORDER BY f") == [[2], [3], [1], [1], [2], [1]]
    assert rows(few, f"SELECT f FROM {PATH} ORDER BY 1") == [["-Infinity"], [-0.0], [0.5], [4.0], ["NaN"], [None]]
    assert rows(few, f"SELECT f FROM {PATH} ORDER BY 1 DESC LIMIT 2") == [[None], ["NaN"]]
    assert rows(few, f"SELECT s FROM {PATH} ORDER BY s NULLS FIRST") == [[None], [""], ["a"], ["b"], ["b"], ["é"]]
    assert rows(few, f"SELECT *, -u FROM {PATH} WHERE u > 0 ORDER BY u DESC LIMIT 1 OFFSET 1") == [[*WHOLE[5], -9]]
    ties = sorted(WHOLE, key=lambda row: row[0])
    for tail in ("", "LIMIT 100", "LIMIT 5 OFFSET 1", "OFFSET 4"):
        left = {"": ties, "LIMIT 100": ties, "LIMIT 5 OFFSET 1": ties[1:], "OFFSET 4": ties[4:]}[tail]
        assert rows(few, f"SELECT * FROM {PATH} ORDER BY k {tail}") == left
    assert rows(few, f"SELECT k AS f FROM {PATH} ORDER BY f, s") == [[1], [1], [1], [2], [2], [3]]
    assert rows(few, f"SELECT k FROM {PATH} ORDER BY k * u, d") == [[2], [1], [2], [3], [1], [1]]
    for sql, at in ((f"SELECT k FROM {PATH} ORDER BY 2", "2"), (f"SELECT k FROM {PATH} ORDER BY 'a'", "'a'")):
        refused(few, "bad_sql", sql, at=at)


def test_limit_and_offset(few):
    for limit in (None, 0, 1, 4, 5, 100):
        for offset in (None, 0, 1, 4, 6, 2**70):
            tail = ("" if limit is None else f" LIMIT {limit}") + ("" if offset is None else f" OFFSET {offset}")
            left = column(0)[offset or 0 :][: 100 if limit is None else limit]
            assert rows(few, f"SELECT k FROM {PATH}{tail}") == left, tail
            groups = [["a"], ["b"], [None], ["é"], [""]][offset or 0 :][: 100 if limit is None else limit]
            assert rows(few, f"SELECT s FROM {PATH} GROUP BY s{tail}") == groups, tail
            first = [[1, 3], [2, 2], [3, 1]][offset or 0 :][: 100 if limit is None else limit]
            assert rows(few, f"SELECT k, COUNT(*) FROM {PATH} GROUP BY k ORDER BY k{tail}") == first, tail
            one = [[6]][offset or 0 :][: 100 if limit is None else limit]
            assert rows(few, f"SELECT COUNT(*) FROM {PATH}{tail}") == one, tail
    assert rows(few, f"SELECT k FROM {PATH} OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY") == [[2], [1]]
    assert rows(few, f"SELECT k FROM {PATH} LIMIT ALL OFFSET NULL") == column(0)
    assert "OFFSET must not be negative" in refused(few, "bad_sql", f"SELECT k FROM {PATH} OFFSET -1", at="-1")["message"]
    assert "OFFSET must be" in refused(few, "unsupported_sql", f"SELECT k FROM {PATH} OFFSET k", at="k")["message"]


def test_groups_are_ordered_by_what_is_not_selected(few):
    assert rows(few, f"SELECT k FROM {PATH} GROUP BY k ORDER BY COUNT(*)") == [[3], [2], [1]]
    assert rows(few, f"SELECT COUNT(*) AS n FROM {PATH} GROUP BY k ORDER BY k DESC LIMIT 2") == [[1], [2]]
    assert rows(few, f"SELECT MAX(f) FROM {PATH} GROUP BY k ORDER BY MIN(d) DESC, k") == [[-0.0], ["NaN"], [4.0]]
    assert few.json("query", f"SELECT k FROM {PATH} GROUP BY k ORDER BY SUM(k), COUNT(*)")["columns"] == ["k"]


def test_what_is_refused(few):
    for sql, word in (
        (f"SELECT DISTINCT ON (k) k FROM {PATH}", "DISTINCT ON is not supported"),
        (f"SELECT a.k FROM {PATH} a JOIN {PATH} b ON a.k = b.k", "JOIN is not supported"),
        (f"SELECT k, row_number() OVER () FROM {PATH}", "window functions"),
        (f"SELECT k, (SELECT 1) FROM {PATH}", "subqueries are not supported"),
        (f"SELECT k FROM (SELECT * FROM {PATH}) x", "subqueries are not supported"),
        (f"SELECT 'a' FROM {PATH}", "a string cannot be selected"),
    ):
        assert word in refused(few, "unsupported_sql", sql)["message"]
    assert "must appear in GROUP BY" in refused(few, "bad_sql", f"SELECT k, COUNT(*) FROM {PATH}")["message"]
    assert "must appear in GROUP BY" in refused(few, "bad_sql", f"SELECT k FROM {PATH} ORDER BY COUNT(*)")["message"]
    refused(few, "unknown_column", f"SELECT nope FROM {PATH}", at="nope")


# --------------------------------------------------------------------------------------------------------- many rows


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The columns of a table of several batches."""
    random = np.random.default_rng(3)
    n = 3 * BATCH + 1234
    return {
        "i": np.arange(n),
        "k": random.integers(0, 1000, n),
        "x": random.standard_normal(n),
        "s": np.array(["", "one", "two", "three"])[random.integers(0, 4, n)],
    }


FILES = {
    "t.parquet": {"row_group_size": BATCH // 2 + 7},
    "one.parquet": {"row_group_size": 1 << 30},
    "t.arrow": {"max_chunksize": 50_000},
    "t.arrows": {},
    "t.csv": {},
}


@pytest.mark.parametrize("file", FILES)
def test_rows_are_in_the_order_of_the_file(upsweep, arrow, many, file):
    upsweep.table(file, many, **FILES[file])
    for condition, kept in {
        "i >= 0": many["i"] >= 0,
        "k < 900": many["k"] < 900,
        "k = 7 AND x > 0": (many["k"] == 7) & (many["x"] > 0),
        "s = 'two' OR i < 100": (many["s"] == "two") | (many["i"] < 100),
        "i / k > 1000 OR k = 5": (many["k"] == 5) | (many["i"] // np.maximum(many["k"], 1) > 1000),
        "i = 150000": many["i"] == 150_000,
    }.items():
        if "/" in condition:  # a condition that can fail, without a row that does
            condition, kept = f"k > 0 AND ({condition})", kept & (many["k"] > 0)
        expected = [[int(i), int(i) * 2, s] for i, s in zip(many["i"][kept], many["s"][kept], strict=True)]
        for threads in (1, 2, 3, 8):
            sql = f"SELECT i, i * 2, s FROM '{file}' WHERE {condition}"
            assert rows(upsweep, sql, "--threads", threads) == expected
            assert rows(upsweep, f"{sql} LIMIT 777 OFFSET 70000", "--threads", threads) == expected[70_000:70_777]


@pytest.mark.parametrize("threads", [1, 2, 5, 8])
def test_the_first_rows_by_order(upsweep, arrow, many, threads):
    upsweep.table("t.parquet", many, row_group_size=40_000)
    order = np.lexsort((many["i"], many["s"], -many["k"]))
    for tail, part in {
        "": slice(None),
        "LIMIT 10": slice(10),
        "LIMIT 3000 OFFSET 5": slice(5, 3005),
        "LIMIT 150000": slice(150_000),
        "OFFSET 190000": slice(190_000, None),
    }.items():
        sql = f"SELECT i, x FROM {PATH} ORDER BY k DESC, s {tail}"
        found = rows(upsweep, sql, "--threads", threads)
        assert [row[0] for row in found] == many["i"][order][part].tolist()
        assert [row[1] for row in found] == many["x"][order][part].tolist()
    assert rows(upsweep, f"SELECT i FROM {PATH} WHERE k = 3 ORDER BY x LIMIT 4", "--threads", threads) == [
        [int(i)] for i in sorted(many["i"][many["k"] == 3], key=lambda i: many["x"][i])[:4]
    ]


def test_rows_past_the_limit_are_no_errors(upsweep, arrow):
    n = 4 * BATCH
    divisor = np.ones(n, np.int64)
    divisor[[5000, 5001, 3 * BATCH]] = 0
    upsweep.table("t.parquet", {"i": np.arange(n), "z": divisor}, row_group_size=BATCH // 2)
    for threads in (1, 2, 8):
        for limit in (1, 10, 4999, 5000):
            found = rows(upsweep, f"SELECT i / z FROM {PATH} LIMIT {limit}", "--threads", threads)
            assert found == [[i] for i in range(limit)]
        for sql in ("SELECT i / z FROM {} LIMIT 5001", "SELECT i / z FROM {}", "SELECT i / z FROM {} ORDER BY 1 LIMIT 3"):
            error = refused(upsweep, "division_by_zero", sql.format(PATH), "--threads", threads)
            assert error["index"] == 5000
        assert rows(upsweep, f"SELECT i FROM {PATH} WHERE 1 / z = 1 LIMIT 5000", "--threads", threads)[-1] == [4999]
        refused(upsweep, "division_by_zero", f"SELECT i FROM {PATH} WHERE 1 / z = 1", "--threads", threads)
        # A condition keeps the failing rows out.
        last = rows(upsweep, f"SELECT i / z FROM {PATH} WHERE z = 1 AND i > 4998 LIMIT 3", "--threads", threads)
        assert last == [[4999], [5002], [5003]]


def test_memory(upsweep, arrow):
    n = 1_000_000
    upsweep.table("t.parquet", {"i": np.arange(n), "x": np.arange(n)[::-1] / 4}, row_group_size=100_000)
    for sql in (f"SELECT * FROM {PATH}", f"SELECT * FROM {PATH} ORDER BY x"):
        message = refused(upsweep, "out_of_memory", sql, "--memory", "5MB")["message"]
        assert "LIMIT" in message and "--memory" in message
    found = rows(upsweep, f"SELECT i FROM {PATH} ORDER BY x LIMIT 3", "--memory", "5MB", "--threads", 2)
    assert found == [[n - 1], [n - 2], [n - 3]]
    assert len(rows(upsweep, f"SELECT * FROM {PATH}", "--memory", "200MB")) == n


def test_a_terminal_shows_the_first_and_the_last_rows(upsweep, arrow):
    upsweep.table("t.parquet", {"i": np.arange(1000), "s": [f"word {i}" for i in range(1000)]})
    text = shown(upsweep, "query", f"SELECT * FROM {PATH}", "--quiet").split("\n")
    assert [line.split()[0] for line in text[1:21]] == [str(i) for i in range(20)]
    assert text[21] == "… 960 rows …"
    assert [line.split()[0] for line in text[22:42]] == [str(i) for i in range(980, 1000)]
    assert text[42:] == [""]
    blocks = shown(upsweep, "query", f"SELECT i, s, s, s FROM {PATH}", "--quiet", columns=15)
    assert "\n… 960 rows …\n" in blocks and "row 20\n" in blocks and "row 21\n" not in blocks and "row 981\n" in blocks
    assert "…" not in shown(upsweep, "query", f"SELECT * FROM {PATH} LIMIT 40", "--quiet")
    assert upsweep.text("query", f"SELECT * FROM {PATH}").count("\n") == 1001
    assert "1,000 rows in" in shown(upsweep, "query", f"SELECT * FROM {PATH}")
