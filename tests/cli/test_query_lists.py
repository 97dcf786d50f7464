# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_query_lists.py: list functions of queries over Parquet and Arrow files, compared with DuckDB.
#
# UPSWEEP_TEST_ROUNDS=500 runs more random tables (default 12). UPSWEEP_TEST_SEED=7 starts with another table.
import math
import os
import random
import re

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyarrow.parquet", reason="this pyarrow reads no Parquet")
duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")

ROUNDS = int(os.environ.get("UPSWEEP_TEST_ROUNDS", "12"))
SEED = int(os.environ.get("UPSWEEP_TEST_SEED", "1"))
MOST, LEAST = 2**63 - 1, -(2**63)
NAN = math.nan

COLUMNS = {
    "i": pa.array([0, 1, 2, 3, 4, 5, None, 7]),
    "k": pa.array([1, 1, 2, 2, 1, 3, 3, 1], pa.int16()),
    "f": pa.array([0.5, 1.5, None, NAN, -2.0, 4.0, 3.0, 2.0]),
    "x": pa.array([[1.0, 2, None, 3], [], None, [None], [NAN, 5, -1], [NAN], [25.0, 40, 31, 30], [2.0, 2.0]]),
    "y": pa.array([[1, 2, None], [], None, [None], [7, -7, 0], [0], [3, 4, 5], [2]], pa.list_(pa.int32())),
    "b": pa.array([[MOST, 1], [LEAST, -1], [MOST], [], None, [None, 5], [LEAST], [3, 4]], pa.list_(pa.int64())),
    "u": pa.array([[255, 3], [1], [], None, [0], [7], [9], [200, 200]], pa.large_list(pa.uint8())),
    "h": pa.array([[0.5], [1.5, 2.5], [], None, [0.25], [3.0], [9.0], [-1.0]], pa.list_(pa.float32())),
    "w": pa.array([[1, 2], [3, 4], [7, 7], [5, None], [6, 7], [8, 9], [1, 1], [2, 2]], pa.list_(pa.int64(), 2)),
    "t": pa.array([[True, False], [True], [], None, [None, False], [None], [True, True], [False]]),
    "s": pa.array(["a", "b", None, "a", "b", "c", "c", "a"]),
    "words": pa.array([["a"], [], None, ["b"], ["c"], [], [], []]),
    "nested": pa.array([[[1]], [], None, [[2]], [], [], [], []]),
}

# Expressions of one value for each row, in what both dialects have in common.
EXPRESSIONS = """
    len(x) | length(y) | array_length(b) | list_count(x) | list_count(y) | len(u) | len(w) | len(t)
    list_sum(x) | list_sum(y) | list_sum(b) | list_sum(u) | list_sum(h) | list_sum(w)
    list_avg(x) | list_avg(y) | list_avg(b) | list_min(x) | list_max(x) | list_min(b) | list_max(b) | list_min(u)
    list_product(y) | list_product(u) | list_product(h) | list_any_value(x) | list_any_value(b) | list_any_value(w)
    list_first(x) | list_last(x) | list_first(y) | x[1] | x[2] | x[0] | x[-1] | x[-4] | x[9] | y[i] | b[-i] | w[k] | u[1]
    list_extract(y, 2) | list_element(x, -1) | array_extract(h, 1) | x[NULL] | x[i + 1]
    list_sum(list_filter(x, lambda e: e > 2)) | len(list_filter(x, lambda e: e <= 2)) | list_max(list_filter(y, lambda e: e < 0))
    list_sum(list_transform(x, lambda e: e * 2 + 1)) | list_sum(list_transform(y, lambda e: e * e - 3))
    list_sum(list_transform(y, lambda e: -e)) | list_min(list_transform(h, lambda e: abs(e)))
    list_count(list_filter(x, lambda e: e IS NULL)) | len(list_filter(x, lambda e: e IS NULL))
    len(list_filter(x, lambda e: e = 'nan'::double)) | len(list_filter(y, lambda e: e <> 7)) | len(list_filter(y, lambda e: NOT e > 1))
    len(list_filter(y, lambda e: e > 1 OR e IS NULL)) | len(list_filter(y, lambda e: e < 1 AND e > -9))
    len(list_filter(x, lambda e: e BETWEEN 2 AND 30)) | len(list_filter(y, lambda e: e IN (1, 7, i)))
    len(list_filter(y, lambda e: e NOT IN (1, 7))) | len(list_filter(y, lambda e: e > 0.5)) | len(list_filter(y, lambda e: e <= 2.5))
    len(list_filter(y, lambda e: 1.5 < e)) | len(list_filter(y, lambda e: 2.0 >= e)) | len(list_filter(y, lambda e: e = 2.0))
    len(list_filter(y, lambda e: e <> 2.5)) | len(list_filter(b, lambda e: e < 9223372036854775807))
    len(list_filter(b, lambda e: e > -9223372036854775809)) | len(list_filter(b, lambda e: e < 9223372036854775808.5))
    len(list_filter(x, lambda e, n: n > 1)) | list_sum(list_transform(y, lambda e, n: e * n)) | list_sum(list_transform(x, lambda e, n: n))
    list_sum(list_filter(x, lambda e: e > f)) | list_sum(list_transform(y, lambda e: e + i)) | list_sum(list_transform(y, lambda e: e * k))
    list_sum(list_transform(y, lambda e: i)) | list_sum(list_transform(y, lambda e: 2)) | list_count(list_transform(y, lambda e: 2))
    len(list_filter(x, lambda e: e > list_avg(x))) | list_sum(list_transform(y, lambda e: e - list_min(y)))
    list_sum(list_filter(list_filter(x, lambda e: e > 1), lambda g: g < 31))
    list_sum(list_transform(list_filter(y, lambda e: e > 0), lambda g: g * 10)) | list_first(list_filter(x, lambda e: e > 2))
    len(list_filter(list_transform(y, lambda e: e * 2), lambda g: g > 3)) | list_last(list_filter(b, lambda e: e < 0))
    (list_filter(x, lambda e: e > 2))[1] | list_sum(list_transform(y, lambda e: CASE WHEN e > 1 THEN e WHEN e < 0 THEN 100 END))
    list_sum(list_transform(y, lambda e: CASE e WHEN 1 THEN 10 ELSE 0 END)) | list_avg(list_transform(u, lambda e: e / 2.0))
    list_contains(x, 2) | list_has(y, 7) | array_contains(b, 5) | list_contains(x, 'nan'::double) | list_contains(y, i)
    list_contains(y, NULL) | list_contains(list_filter(x, lambda e: e > 2), 31) | array_has(u, 3) | list_contains(y, 2.0)
    list_sum(list_transform(y, lambda e: e * 0.5)) | list_avg(list_transform(y, lambda e: e * 0.5 - i))
    list_max(list_transform(y, lambda e: e - 0.25)) | (list_transform(y, lambda e: e * 1.5))[2]
    len(list_filter(list_transform(y, lambda e: e * 0.5), lambda g: g < 1)) | list_product(list_transform(y, lambda e: e * 0.5))
    list_sum(list_transform(b, lambda e: CASE WHEN e > 5 THEN 0.5 ELSE 1 END)) | list_contains(list_transform(y, lambda e: e * 0.5), 1)
    list_bool_and(t) | list_bool_or(t) | list_min(t) | list_max(t) | list_any_value(t) | t[1] | len(list_filter(t, lambda e: e))
    list_bool_or(list_transform(y, lambda e: e > 2)) | list_bool_and(list_transform(x, lambda e: e > 0))
    len(list_filter(y, lambda e: list_contains(y, 2))) | len(list_filter(x, lambda e: x[1] = e)) | len(list_filter(w, lambda "E": "E" > 1))
"""
EXPRESSIONS = [e.strip() for line in EXPRESSIONS.splitlines() for e in line.split(" | ") if e.strip()]


def to_upsweep(sql):
    """upsweep has no casts. NaN is in a column, or made from an infinity, 1e300 * 1e300, and its opposite."""
    return sql.replace("'nan'::double", "(1e300 * 1e300 - 1e300 * 1e300)")


def with_arrows(sql):
    """The other spelling of lambdas."""
    sql = re.sub(r"lambda (\S+), (\S+):", r"(\1, \2) ->", sql)
    return re.sub(r"lambda (\S+):", r"\1 ->", sql)


def value(cell, kind):
    if cell is None or kind in ("integer", "boolean", "text"):
        return cell
    return float(cell)


def expected(path, sql):
    return duckdb.connect().execute(sql.replace("FROM t", f"FROM '{path}'")).fetchall()


def same(got, want):
    if got is None or want is None:
        return got is want
    if isinstance(want, float) and math.isnan(want):
        return isinstance(got, float) and math.isnan(got)
    return got == want or (isinstance(want, float) and math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-300))


def rows(upsweep, sql, *options):
    answer = upsweep.json("query", sql, *options)
    return [tuple(value(cell, kind) for cell, kind in zip(row, answer["types"])) for row in answer["rows"]]


def check(upsweep, path, sql, *options):
    got = rows(upsweep, to_upsweep(sql).replace("FROM t", f"FROM '{path}'"), *options)
    want = [
        tuple(float(c) if type(c).__name__ == "Decimal" else c for c in row) for row in expected(upsweep.folder / path, sql)
    ]
    assert len(got) == len(want) and all(same(a, b) for x, y in zip(got, want) for a, b in zip(x, y)), (
        f"{sql}: {got}, not {want}"
    )


def aggregates(expression):
    """Aggregates that show each row: groups of one row have the sum, and the number of values."""
    boolean = re.match(
        r"list_contains|list_has|array_contains|array_has|list_bool|list_m..\(t|list_any_value\(t|t\[", expression
    )
    shown = f"CASE WHEN {expression} THEN 1 WHEN NOT ({expression}) THEN 0 END" if boolean else expression
    return f"SELECT i, SUM({shown}) AS v, COUNT({expression}) AS n FROM t GROUP BY i ORDER BY i NULLS LAST"


@pytest.fixture
def table(upsweep):
    return upsweep.table("t.parquet", COLUMNS)


def test_every_expression_has_duckdbs_answer(upsweep, table):
    for expression in EXPRESSIONS:
        check(upsweep, table, aggregates(expression))


def test_both_spellings_of_lambdas_are_the_same(upsweep, table):
    lambdas = [e for e in EXPRESSIONS if "lambda" in e]
    assert len(lambdas) > 40
    for expression in lambdas[::3]:
        sql = to_upsweep(aggregates(expression)).replace("FROM t", f"FROM '{table}'")
        assert repr(rows(upsweep, with_arrows(sql))) == repr(rows(upsweep, sql)), sql


def test_spaces_and_comments_in_a_lambda(upsweep, table):
    for text in (
        "e->e>2",
        "e -> e>2",
        "(e)->e > 2",
        "( e , n )->e>2 /* - */",
        "lambda e:e>2",
        "lambda\n e : e > 2",
        "LAMBDA E: e > 2",
    ):
        assert rows(upsweep, f"SELECT SUM(len(list_filter(x, {text}))) FROM '{table}'") == [(8,)], text
    assert rows(upsweep, f"SELECT SUM(list_sum(list_filter(y, e->-e > 0))) FROM '{table}'") == [(-7,)]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_every_format(upsweep, name):
    upsweep.table(name, COLUMNS)
    sql = (
        f"SELECT k, SUM(list_sum(list_filter(x, e -> e > 2))), COUNT(*), SUM(w[2]), SUM(len(t)) FROM '{name}' "
        "WHERE len(x) >= 1 GROUP BY k ORDER BY k"
    )
    got = rows(upsweep, sql)
    assert repr(got) == repr([(1, NAN, 3, 2 + 7 + 2, 2 + 2 + 1), (2, None, 1, None, None), (3, NAN, 2, 9 + 1, 1 + 2)])


def test_clauses(upsweep, table):
    check(upsweep, table, "SELECT SUM(list_sum(list_filter(b, lambda e: e > 0))), COUNT(*) FROM t WHERE len(x) >= 2 OR f > 3")
    check(upsweep, table, "SELECT len(x) AS n, COUNT(*), SUM(len(x) + 1) FROM t GROUP BY len(x) ORDER BY n NULLS LAST")
    check(upsweep, table, "SELECT len(y) * 2 AS n, MAX(list_max(y)) FROM t GROUP BY len(y) * 2 ORDER BY 1 NULLS LAST")
    check(
        upsweep,
        table,
        "SELECT s, AVG(list_avg(x)), MIN(x[1]) FROM t WHERE list_contains(y, 7) OR k > 1 GROUP BY s ORDER BY s NULLS LAST",
    )
    check(upsweep, table, "SELECT COUNT(*) FROM t WHERE len(x) IS NULL OR len(y) = 3")
    check(upsweep, table, "SELECT y[1] AS first, COUNT(*) FROM t GROUP BY y[1] ORDER BY first NULLS LAST")
    check(
        upsweep,
        table,
        "SELECT SUM(CASE WHEN list_bool_or(t) THEN len(t) ELSE -1 END), MAX(list_sum(b)), MIN(list_sum(b)) FROM t",
    )


def test_sums_of_lists_have_128_bits(upsweep, table):
    assert rows(upsweep, f"SELECT MAX(list_sum(b)), MIN(list_sum(b)) FROM '{table}'") == [(MOST + 1, LEAST - 1)]


def test_results_that_do_not_fit(upsweep, table):
    def fails(code, expression, row, where=""):
        error = upsweep.fails(code, "query", f"SELECT SUM({expression}) FROM '{table}' {where}", index=row)
        assert f"row {row}" in error["message"] and "^" in error["message"]

    fails("overflow", "list_sum(list_transform(b, e -> e + 1))", 0)
    fails("overflow", "list_sum(list_transform(b, e -> e - 1))", 1)
    fails("overflow", "list_sum(list_transform(b, e -> e * 2))", 0)
    fails("overflow", "list_sum(list_transform(b, e -> -e))", 1)
    fails("overflow", "list_sum(list_transform(b, e -> abs(e)))", 1)
    fails("overflow", "list_max(list_transform(b, e -> e / -1))", 1)
    fails("overflow", "len(list_filter(b, e -> e > list_sum(b)))", 0)
    fails("division_by_zero", "list_sum(list_transform(y, e -> 10 / e))", 4)
    fails("division_by_zero", "list_sum(list_transform(h, e -> e / 0))", 0)
    fails("not_positive", "list_sum(list_transform(h, e -> sqrt(e)))", 7)
    # Rows and elements that are not needed do not fail.
    assert rows(upsweep, f"SELECT SUM(list_sum(list_transform(b, e -> e + 1))) FROM '{table}' WHERE i = 7") == [(9,)]
    assert rows(upsweep, f"SELECT SUM(list_sum(list_transform(y, e -> CASE WHEN e <> 0 THEN 14 / e END))) FROM '{table}'") == [
        (37,)
    ]
    assert rows(upsweep, f"SELECT SUM(len(list_filter(y, e -> e <> 0 AND 14 / e = 2))) FROM '{table}'") == [(2,)]
    assert rows(upsweep, f"SELECT SUM(list_sum(list_transform(list_filter(y, e -> e > 0), e -> 14 / e))) FROM '{table}'") == [
        (39,)
    ]
    # Products and sums at the limits are exact.
    exact = (
        "list_sum(list_transform(b, e -> e * 1)) = list_sum(b) AND list_max(list_transform(b, e -> (e - 1) + 1)) = list_max(b)"
    )
    assert rows(upsweep, f"SELECT COUNT(*) FROM '{table}' WHERE i <> 1 AND {exact}") == [(4,)]


def test_integers_divide_with_truncation(upsweep):
    upsweep.table("t.parquet", {"y": pa.array([[7, -7, 6, -6, 1]])})
    assert rows(upsweep, "SELECT SUM(list_sum(list_transform(y, (e, i) -> e / 2 * i))) FROM 't.parquet'") == [(3 - 6 + 9 - 12,)]
    assert rows(upsweep, "SELECT SUM(list_sum(list_transform(y, (e, i) -> e / -2 * i))) FROM 't.parquet'") == [
        (-3 + 6 - 9 + 12,)
    ]
    assert rows(upsweep, "SELECT SUM(list_sum(list_transform(y, (e, i) -> 9 / e * i))) FROM 't.parquet'") == [
        (1 - 2 + 3 - 4 + 45,)
    ]
    assert rows(upsweep, "SELECT SUM(list_sum(list_transform(y, e -> e / 2.5))) FROM 't.parquet'") == [(1 / 2.5,)]


def test_elements_of_uint64(upsweep):
    upsweep.table("t.parquet", {"u": pa.array([[1, MOST], [2**63], [5]], pa.list_(pa.uint64()))})
    assert rows(upsweep, "SELECT SUM(len(u)) FROM 't.parquet'") == [(4,)]
    assert rows(upsweep, "SELECT SUM(list_sum(u)) FROM 't.parquet' WHERE len(u) = 2") == [(2**63,)]
    upsweep.fails("overflow", "query", "SELECT SUM(list_sum(u)) FROM 't.parquet'", index=1)


def test_what_lies_under_null_is_never_looked_at(upsweep):
    """The lists of NULL rows, and NULL elements, have content: here it would overflow or divide by zero."""
    content = pa.Array.from_buffers(
        pa.int64(), 6, [pa.py_buffer(bytes([0b110101])), pa.py_buffer(np.array([4, 0, 2, 0, MOST, 0], "i8").tobytes())]
    )
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], "i4").tobytes())
    lists = pa.ListArray.from_buffers(pa.list_(pa.int64()), 3, [pa.py_buffer(bytes([0b011])), offsets], children=[content])
    for name in ("t.arrow", "t.parquet"):
        upsweep.table(name, {"y": lists})
        assert rows(upsweep, f"SELECT SUM(list_sum(list_transform(y, e -> 8 / e))), SUM(len(y)) FROM '{name}'") == [(6, 4)]
        assert rows(upsweep, f"SELECT SUM(list_sum(list_transform(y, e -> e * 5))), MAX(list_max(y)) FROM '{name}'") == [
            (30, 4)
        ]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_no_rows(upsweep, name):
    upsweep.table(name, pa.table(COLUMNS).slice(0, 0))
    assert rows(upsweep, f"SELECT SUM(list_sum(x)), COUNT(*), MAX(len(b)) FROM '{name}' WHERE len(x) > 1") == [(None, 0, None)]
    assert rows(upsweep, f"SELECT len(x), COUNT(*) FROM '{name}' GROUP BY len(x)") == []


def test_several_files(upsweep):
    upsweep.table("a.parquet", {"x": pa.array([[1.0, 2], None]), "i": [1, 2]})
    upsweep.table("b.parquet", {"x": pa.array([[40.0], []]), "i": [3, 4]})
    upsweep.table("c.parquet", {"i": [5]})
    assert rows(upsweep, "SELECT COUNT(*), COUNT(len(x)), SUM(list_sum(x)) FROM '*.parquet'") == [(5, 3, 43.0)]
    upsweep.table("d.parquet", {"x": pa.array([[1]]), "i": [6]})
    error = upsweep.fails("unsupported_type", "query", "SELECT SUM(list_sum(x)) FROM '*.parquet'")
    assert "a.parquet" in error["message"] and "d.parquet" in error["message"]


def test_files_whose_lists_have_no_values(upsweep):
    """A writer that infers types gives lists without values elements of type null."""
    upsweep.table("a.parquet", {"x": pa.array([[1.5, 2], [], None]), "t": pa.array([[True], None, []])})
    nothing = {"x": pa.array([[], [None, None], None]), "t": pa.array([[None], [], []])}
    assert nothing["x"].type == pa.list_(pa.null())
    sql = "SELECT COUNT(*), SUM(len(x)), SUM(list_sum(x)), MAX(x[1]), SUM(len(list_filter(x, e -> e IS NULL))) FROM "
    for name in ("b.parquet", "b.arrow"):
        upsweep.table(name, nothing)
        assert rows(upsweep, sql + f"'{name}'") == [(3, 2, None, None, 2)]
    for files in ("[ab].parquet", "*.parquet", "b.*"):
        both = files != "b.*"
        assert rows(upsweep, sql + f"'{files}'") == [(6, 4, 3.5, 1.5, 2) if both else (6, 4, None, None, 4)]
    upsweep.table("0.parquet", nothing)  # the first file has no values
    assert rows(upsweep, sql + "'[0a].parquet'") == [(6, 4, 3.5, 1.5, 2)]
    assert rows(upsweep, "SELECT COUNT(*) FROM '[0a].parquet' WHERE list_bool_or(t)") == [(1,)]


def test_files_with_other_layouts_of_lists(upsweep):
    """Libraries name elements differently, and store lists with offsets of 32 or 64 bits."""
    lists = [[1, 2], None, [3]]
    upsweep.table("a.parquet", {"x": pa.array(lists)})
    upsweep.table("b.arrow", {"x": pa.array(lists, pa.list_(pa.field("values", pa.int64())))})
    upsweep.table("c.parquet", {"x": pa.array(lists, pa.large_list(pa.int64()))})
    upsweep.table("d.parquet", {"x": pa.array([[4, None]], pa.list_(pa.int64(), 2))})
    assert rows(upsweep, "SELECT COUNT(*), SUM(list_sum(x)), SUM(len(x)) FROM '*.*'") == [(10, 22, 11)]
    upsweep.table("e.parquet", {"x": pa.array([[4]], pa.list_(pa.int32()))})
    upsweep.fails("unsupported_type", "query", "SELECT SUM(list_sum(x)) FROM '*.*'")


def test_slices_of_record_batches(upsweep):
    """Batches whose offsets do not start at 0, of more and fewer rows than a batch of a table."""
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 6, 200_000)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype("i4")
    values = rng.integers(-99, 99, offsets[-1])
    lists = pa.ListArray.from_arrays(offsets, pa.array(values))
    table = pa.table({"y": lists}).slice(7)
    want = [(len(table), int(values[offsets[7] :].sum()), int((counts[7:] > 0).sum()))]
    for name, options in (
        ("a.arrow", {}),
        ("b.arrow", {"max_chunksize": 1000}),
        ("c.arrows", {"max_chunksize": 70_001}),
        ("d.parquet", {"row_group_size": 100_000}),
        ("e.parquet", {}),
    ):
        upsweep.table(name, table, **options)
        for threads in (1, 2, 5):
            sql = f"SELECT COUNT(*), SUM(list_sum(y)), COUNT(list_sum(y)) FROM '{name}'"
            assert rows(upsweep, sql, "--threads", threads) == want, name


def test_damaged_offsets(upsweep):
    offsets = pa.py_buffer(np.array([0, 2, 1, 3], "i4").tobytes())
    lists = pa.ListArray.from_buffers(pa.list_(pa.int64()), 3, [None, offsets], children=[pa.array([1, 2, 3])])
    upsweep.table("t.arrow", {"y": lists})
    error = upsweep.fails("malformed", "query", "SELECT SUM(len(y)) FROM 't.arrow'", index=1)
    assert "the list in row 1 is outside its content" in error["message"]


@pytest.mark.parametrize(
    "code, at, sql, hint",
    [
        ("unsupported_type", "x)", "SELECT SUM(x) FROM t", "list_sum(x)"),
        ("unsupported_type", "x = 1", "SELECT COUNT(*) FROM t WHERE x = 1", "contains lists"),
        ("unsupported_type", "x", "SELECT COUNT(*) FROM t GROUP BY x", "contains lists"),
        ("unsupported_sql", "list_filter", "SELECT list_filter(x, e -> e > 1) FROM t GROUP BY i", "returns a list"),
        ("unsupported_sql", "list_filter", "SELECT COUNT(list_filter(x, e -> e > 1)) FROM t", "returns a list"),
        ("unsupported_sql", "list_transform", "SELECT COUNT(*) FROM t WHERE list_transform(x, e -> e) = 1", "returns a list"),
        ("bad_sql", "list_sum", "SELECT list_sum(x), COUNT(*) FROM t", "GROUP BY or inside an aggregate"),
        ("bad_sql", "x[1]", "SELECT x[1], COUNT(*) FROM t", "GROUP BY or inside an aggregate"),
        ("unsupported_type", "words", "SELECT SUM(len(words)) FROM t", "list<"),
        ("unsupported_type", "nested", "SELECT SUM(len(nested)) FROM t", "flatten"),
        ("unsupported_type", "i)", "SELECT SUM(len(i)) FROM t", "column 'i' is integer"),
        ("unsupported_type", "s)", "SELECT SUM(length(s)) FROM t", "column 's' is text"),
        ("unsupported_sql", "5", "SELECT SUM(len(5)) FROM t", "takes a list"),
        ("bad_sql", "len(", "SELECT SUM(len(x, 1)) FROM t", "takes a list"),
        ("bad_sql", "list_filter", "SELECT SUM(len(list_filter(x))) FROM t", "lambda e: e > 20"),
        ("bad_sql", "> 1", "SELECT SUM(len(list_filter(x, i > 1))) FROM t", "lambda e: e > 20"),
        ("bad_sql", "(a, b, c)", "SELECT SUM(len(list_filter(x, (a, b, c) -> a > 1))) FROM t", "two parameters"),
        ("unsupported_sql", "e)", "SELECT SUM(len(list_filter(x, e -> e))) FROM t", "requires a condition"),
        ("unsupported_type", "s)", "SELECT SUM(len(list_filter(x, e -> e > 1 OR NULL = s))) FROM t", "64 bits"),
        ("unsupported_sql", "e)", "SELECT SUM(list_sum(list_transform(x, e -> list_sum(e)))) FROM t", "lists of lists"),
        (
            "unsupported_sql",
            "e))",
            "SELECT SUM(list_sum(list_transform(x, e -> len(list_filter(y, g -> g > e))))) FROM t",
            "parameter of the lambda",
        ),
        ("unsupported_sql", "sum(e)", "SELECT SUM(list_sum(list_transform(x, e -> sum(e)))) FROM t", "list_sum()"),
        ("unsupported_sql", "round", "SELECT SUM(list_sum(list_transform(x, e -> round(e)))) FROM t", "apply it to the result"),
        ("unsupported_sql", "x[1:2]", "SELECT SUM(len(x[1:2])) FROM t", "takes a list"),
        ("unsupported_sql", "x[1:2]", "SELECT SUM(x[1:2]) FROM t", "BETWEEN first AND last"),
        ("bad_sql", "(e, E)", "SELECT SUM(len(list_filter(x, (e, E) -> e > 1))) FROM t", "both parameters"),
        ("bad_sql", "lambda", "SELECT SUM(len(list_filter(x, lambda e, e: e > 1))) FROM t", "both parameters"),
        ("unsupported_sql", "x[1][2]", "SELECT SUM(x[1][2]) FROM t", "only one [ ]"),
        ("unsupported_type", "'a'", "SELECT SUM(x['a']) FROM t", "but this is text"),
        ("unsupported_type", "SUM(", "SELECT SUM(list_contains(x, 1)) FROM t", "as the result of the list function is"),
        ("unsupported_sql", "list_contains", "SELECT COUNT(list_contains(x, '1')) FROM t", "without quotes"),
        ("unsupported_type", "f]", "SELECT SUM(x[f]) FROM t", "must be an integer"),
        ("unsupported_type", "list_sum", "SELECT SUM(list_sum(t)) FROM t", "list of boolean"),
        ("unsupported_type", "list_bool_and", "SELECT COUNT(list_bool_and(x)) FROM t", "list of real"),
        ("unsupported_sql", "list_sort", "SELECT SUM(len(list_sort(x))) FROM t", "functions of lists are len"),
        ("unsupported_sql", "-> i", "SELECT SUM(abs(i -> i)) FROM t", "only list_filter() and list_transform()"),
        ("bad_sql", "[1]", "SELECT SUM(list_filter(x, e -> e > 1)[1]) FROM t", "(f(x))[1]"),
        ("unknown_column", "z > 1", "SELECT SUM(len(list_filter(x, e -> z > 1))) FROM t", "no column 'z'"),
        ("unsupported_sql", "=", "SELECT COUNT(*) FROM t WHERE list_contains(x, 'a')", "text"),
        (
            "overflow",
            "9223372036854775808",
            "SELECT SUM(list_sum(list_transform(y, e -> e + 9223372036854775808))) FROM t",
            "64 bits",
        ),
    ],
)
def test_refusals(upsweep, table, code, at, sql, hint):
    sql = sql.replace("FROM t", f"FROM '{table}'")
    error = upsweep.fails(code, "query", sql)
    assert hint in error["message"], error
    line, caret = error["message"].splitlines()[-2:]
    if at != "=":
        assert line[caret.index("^") :].startswith(at), error["message"]


def random_list(rng, kind):
    n = rng.choice([0, 0, 1, 2, 3, 5, 9])
    if kind == "real":
        pick = [NAN, math.inf, 0.0, -0.0, 1.5, -2.25, 1e300]
        return [
            None if rng.random() < 0.1 else rng.choice(pick) if rng.random() < 0.2 else rng.uniform(-50, 50) for _ in range(n)
        ]
    limit = {"int8": 2**7, "int32": 2**31, "int64": 2**63}[kind]
    extreme = rng.random() < 0.1
    few = [limit - 1, -limit, 0, 1, -1]
    return [None if rng.random() < 0.1 else rng.choice(few) if extreme else rng.randint(-9, 9) for _ in range(n)]


def condition(rng, name, real, depth=0):
    if depth < 2 and rng.random() < 0.4:
        parts = [condition(rng, name, real, depth + 1) for _ in range(2)]
        return f"({parts[0]} {rng.choice(['AND', 'OR'])} {parts[1]})"
    if rng.random() < 0.15:
        return f"{name} IS {rng.choice(['', 'NOT '])}NULL"
    if rng.random() < 0.15:
        return f"NOT ({condition(rng, name, real, 2)})"
    other = rng.choice(["0", "1", "-3", "i", "n", "2.5", "f" if real else "n"])
    return f"{name} {rng.choice(['<', '<=', '>', '>=', '=', '<>'])} {other}"


def list_of(rng, column, real, depth=0):
    if depth > 2 or rng.random() < 0.35:
        return column
    inner = list_of(rng, column, real, depth + 1)
    if rng.random() < 0.6:
        return f"list_filter({inner}, lambda e, n: {condition(rng, 'e', real)})"
    # Without overflow: DuckDB computes in the type of the elements.
    return f"list_transform({inner}, lambda e, n: {rng.choice(['e', 'CASE WHEN e > 0 THEN e END', 'e * 1', 'e / 2' if real else 'e'])})"


NUMBERS = ["len({})", "list_count({})", "list_min({})", "list_max({})", "list_first({})", "list_any_value({})", "list_last({})"]
NUMBERS += ["({})[2]", "({})[-1]", "list_contains({}, 1)", "list_sum({})"]


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_random_queries(upsweep, seed):
    rng = random.Random(seed)
    n = rng.choice([1, 7, 300, 3000])
    kinds = {"a": "real", "c": "int8", "d": "int32", "g": "int64"}
    nulls = rng.choice([0, 0.2])
    columns = {
        name: pa.array(
            [None if rng.random() < nulls else random_list(rng, kind) for _ in range(n)],
            pa.list_(pa.float64() if kind == "real" else getattr(pa, kind)()),
        )
        for name, kind in kinds.items()
    }
    columns["i"] = pa.array([rng.choice([None, 0, 1, 2, 3]) for _ in range(n)])
    columns["f"] = pa.array([rng.choice([None, 0.5, NAN, -4.0]) for _ in range(n)])
    columns["k"] = pa.array([rng.randint(0, 4) for _ in range(n)])
    path = upsweep.table("t.parquet", columns, row_group_size=rng.choice([100, 5000]))
    for _ in range(10):
        column = rng.choice(list(kinds))
        real = kinds[column] == "real"
        lists = list_of(rng, column, real)
        number = rng.choice(NUMBERS).format(lists)
        if "contains" in number:
            number = f"CASE WHEN {number} THEN 1 ELSE 0 END"
        where = f"WHERE len({list_of(rng, 'c', False)}) >= {rng.randint(0, 2)}" if rng.random() < 0.5 else ""
        folds = f"COUNT({number}), MIN({number}), MAX({number})"
        check(upsweep, path, f"SELECT k, {folds} FROM t {where} GROUP BY k ORDER BY k")
