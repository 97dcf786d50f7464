# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_query.py: `upsweep query`: the meaning of SQL, types, exactness, NULL, and each reason to refuse a
# query.
import collections
import datetime
import decimal
import fractions
import itertools
import json
import math
import operator
import os
import re
import shutil
import subprocess
import sys
import time
import unicodedata

import numpy as np
import pytest

D = decimal.Decimal
INT64 = (-(2**63), 2**63 - 1)
UINT64_MAX = 2**64 - 1
PATH = "'t.parquet'"
DAY = datetime.date


@pytest.fixture(autouse=True)
def needs_arrow(request):
    if request.function.__name__ != "test_npy":
        request.getfixturevalue("arrow")


@pytest.fixture
def one(upsweep, arrow):
    """A table of one row, for expressions."""
    upsweep.table(
        "t.parquet",
        {
            "i": arrow.array([7], arrow.int32()),
            "n": arrow.array([None], arrow.int64()),
            "p": arrow.array([D("1.50")], arrow.decimal128(12, 2)),
            "f": arrow.array([2.5]),
            "d": arrow.array([DAY(2000, 2, 29)]),
            "b": arrow.array([True]),
            "s": arrow.array(["abc"]),
            "x": arrow.array([None], arrow.bool_()),
            "big": arrow.array([INT64[1]]),
            "least": arrow.array([INT64[0]]),
            "u": arrow.array([UINT64_MAX], arrow.uint64()),
            "minus": arrow.array([-2], arrow.int32()),
        },
    )
    return upsweep


def test_patterns_stand_for_files(upsweep):
    for name, text in {"a": "x,y\n1,2\n", "b": "y,x\n4,3.5\n", "c": "x\n\n", "no": "x,y\nword,1\n"}.items():
        (upsweep.folder / f"{name}.csv").write_text(text)
    (upsweep.folder / "empty").mkdir()
    for pattern in ("[abc].csv", "?.csv", "**/?.csv"):
        for tables in ((), ("--table", f"t={pattern}")):
            sql = "SELECT SUM(x) AS x, SUM(y) AS y, COUNT(*) AS n FROM " + ("t" if tables else f"'{pattern}'")
            assert upsweep.json("query", sql, *tables)["rows"] == [["4.5", 6, 3]]
    assert upsweep.json("query", "SELECT SUM(y) FROM '*.csv'")["rows"] == [[7]]
    error = upsweep.fails("unsupported_type", "query", "SELECT SUM(x) FROM '*.csv'")
    assert "sum() is not defined for text, as column 'x' is" in error["message"]
    for pattern in ("empty/*.csv", "none/*.csv"):
        assert pattern in upsweep.fails("not_found", "query", f"SELECT COUNT(*) FROM '{pattern}'")["message"]


@pytest.fixture
def few(upsweep, arrow):
    """Some rows with NULLs in each column except k."""
    upsweep.table(
        "t.parquet",
        {
            "k": arrow.array([1, 2, 1, 3, 2, 1], arrow.int8()),
            "i": arrow.array([10, None, -3, None, 5, 0], arrow.int32()),
            "p": arrow.array([D("0.50"), D("-1.25"), None, None, D("3.00"), D("0.01")], arrow.decimal128(9, 2)),
            "f": arrow.array([0.5, math.nan, None, None, -math.inf, 4.0]),
            "d": arrow.array([DAY(2000, 1, 1), None, DAY(1999, 12, 31), None, DAY(1970, 1, 1), DAY(1960, 1, 1)]),
            "b": arrow.array([True, None, False, None, True, False]),
            "s": arrow.array(["a", "b", None, None, "b", ""]).dictionary_encode(),
        },
    )
    return upsweep


def rows(upsweep, sql, *options):
    return upsweep.json("query", sql, *options)["rows"]


def value(upsweep, expression, rest=""):
    """Returns the only value of an answer with one column and one row."""
    ((found,),) = rows(upsweep, f"SELECT {expression} FROM {PATH} {rest}")
    return found


def refused(upsweep, word, sql, *options, at=None):
    """The query fails with this error code; `at`: the text that the error points to."""
    error = upsweep.fails(word, "query", sql, *options)
    if at is not None:
        assert isinstance(error["index"], int), error
        found = sql.encode()[error["index"] :].decode()
        assert found.startswith(at), f"{error['message']}\n points at {found[:20]!r}"
    return error


def caret(message):
    """Returns the text from the caret on, as a terminal would align it."""
    excerpt, pointer = message.split("\n")[1:3]
    column, width = len(pointer) - 1, 0
    for i, character in enumerate(excerpt):
        if width >= column:
            return excerpt[i:]
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return ""


# ------------------------------------------------------------------------------------------------------ the answer


def test_the_answer_as_json(few):
    answer = few.json("query", f"SELECT k, SUM(i) AS total, MIN(p), MAX(d), AVG(i) FROM {PATH} GROUP BY k ORDER BY k LIMIT 2")
    assert list(answer) == ["columns", "types", "rows", "rung", "seconds", "bytes_spilled"]
    assert answer["columns"] == ["k", "total", "min", "max", "avg"]
    assert answer["types"] == ["integer", "integer", "decimal", "date", "real"]
    assert answer["rows"] == [[1, 7, "0.01", "2000-01-01", 7 / 3], [2, 5, "-1.25", "1970-01-01", 5.0]]
    assert answer["rung"] == "cpu.blocks"
    assert isinstance(answer["seconds"], float) and answer["seconds"] >= 0


def test_the_answer_as_text(few):
    lines = few.text("query", f"SELECT k, SUM(p) AS total, MAX(s) FROM {PATH} GROUP BY k ORDER BY k").splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["k", "total", "max"],
        ["1", "0.51", "a"],
        ["2", "1.75", "b"],
        ["3", "NULL", "NULL"],
    ]


def test_quiet_still_prints_the_answer(one):
    assert "7" in one.text("query", f"SELECT SUM(i) FROM {PATH}", "--quiet")


def test_what_json_cannot_say_is_a_string(upsweep, arrow):
    upsweep.table("t.parquet", {"f": [math.nan, math.inf, -math.inf, -0.0], "k": [1, 2, 3, 4]})
    found = rows(upsweep, f"SELECT k, MIN(f), SUM(f), AVG(f) FROM {PATH} GROUP BY k ORDER BY k")
    words = ["NaN", "Infinity", "-Infinity"]
    assert found[:3] == [[i + 1, word, word, word] for i, word in enumerate(words)]
    assert found[3][1:] == [0, 0, 0]


def test_names_of_columns(one):
    answer = one.json("query", f'SELECT SUM(i) AS "Sum of i", COUNT(*) n, MAX(i) "ü""q" FROM {PATH}')
    assert answer["columns"] == ["Sum of i", "n", 'ü"q']


# ------------------------------------------------------------------------------------------------------ expressions

EXPRESSIONS = [
    ("i + 1", 8),
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("10 - 4 - 3", 3),
    ("7 / 2", 3),
    ("i / 2", 3),
    ("(0 - i) / 2", -3),
    ("i / minus", -3),
    ("(0 - i) / minus", 3),
    ("-7", -7),
    ("-i", -7),
    ("- - i", 7),
    ("+i", 7),
    ("-7 / 2", -3),
    ("7 / -2", -3),
    ("i / -1", -7),
    ("i * -1", -7),
    ("i - -1", 8),
    ("-1.5", "-1.5"),
    ("p * -1", "-1.50"),
    ("p + -0.001", "1.499"),
    ("f * -2", -5.0),
    ("-(-(3))", 3),
    ("p + 1", "2.50"),
    ("p + 0.001", "1.501"),
    ("p * p", "2.2500"),
    ("p * 2", "3.00"),
    ("p * 0.10", "0.1500"),
    ("1 - p", "-0.50"),
    ("p / 2", 0.75),
    ("1 / p", 1 / 1.5),
    ("p / p", 1.0),
    ("i / 2.0", 3.5),
    ("f * 2", 5.0),
    ("f + p", 4.0),
    ("f / 2", 1.25),
    ("i / f", 2.8),
    (".5 + 5.", "5.5"),
    ("1e3", None),  # a number in any notation
    ("0.1 + 0.2", "0.3"),
    ("n + 1", None),
    ("n * 0", None),
    ("n / n", None),
    ("d", "2000-02-29"),
    ("d + 1", "2000-03-01"),
    ("1 + d", "2000-03-01"),
    ("d - 60", "1999-12-31"),
    ("d - date '2000-01-01'", 59),
    ("date '2000-01-01' - d", -59),
    ("CASE WHEN b THEN 1 ELSE 2 END", 1),
    ("CASE WHEN NOT b THEN 1 END", None),
    ("CASE WHEN x THEN 1 ELSE 2 END", 2),
    ("CASE i WHEN 7 THEN 'seven' END", Ellipsis),
    ("CASE s WHEN 'abc' THEN 5 WHEN 'x' THEN 6 END", 5),
    ("CASE n WHEN NULL THEN 1 ELSE 2 END", 2),
    ("CASE WHEN b THEN 1 ELSE 2.50 END", "1.00"),
    ("CASE WHEN b THEN 1 ELSE f END", 1.0),
    ("CASE WHEN i > 3 THEN CASE WHEN i > 5 THEN 10 ELSE 20 END ELSE 30 END", 10),
    ("CASE WHEN i <> 7 THEN 1 / (i - 7) ELSE 0 END", 0),
]


@pytest.mark.parametrize("expression, expected", EXPRESSIONS)
@pytest.mark.parametrize("function", ["MAX", "MIN", "SUM"])
def test_expressions_in_a_row(one, function, expression, expected):
    if expected is Ellipsis or (function == "SUM" and " - " not in expression and expected == "2000-02-29"):
        pytest.skip("not in the subset")
    if function == "SUM" and str(expected)[4:5] == "-":
        pytest.skip("dates are not summed")
    found = value(one, f"{function}({expression})")
    if expression == "1e3":
        assert float(found) == 1000
    else:
        assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("expression, expected", [e for e in EXPRESSIONS if not re.search(r"\b[xnspidfbu]\b|minus", e[0])])
def test_expressions_of_constants_beside_an_aggregate(one, expression, expected):
    found = rows(one, f"SELECT {expression}, COUNT(*) FROM {PATH}")[0][0]
    assert float(found) == 1000 if expression == "1e3" else found == expected


@pytest.mark.parametrize("expression, expected", EXPRESSIONS)
def test_expressions_around_aggregates(one, expression, expected):
    """The meaning is the same if MIN(column) replaces the column."""
    if expected is Ellipsis or re.search(r"\b[bxs]\b", expression):
        pytest.skip("MIN is not defined for these, or strings are not compared there")
    around = re.sub(r"\b([inpfd]|minus)\b(?!')", r"MIN(\1)", expression)
    found = rows(one, f"SELECT {around}, COUNT(*) FROM {PATH}")[0][0]
    assert float(found) == 1000 if expression == "1e3" else found == expected


NEGATIVE = ["i > -1", "-1 < i", "i <> -7", "i BETWEEN -7 AND 7", "i IN (-7, 7)", "p > -0.01", "f > -1", "i >= -(-7)"]
NEGATIVE += [
    "minus = -2",
    "minus < -1",
    "minus BETWEEN -2 AND -2",
    "minus IN (-2)",
    "-i = -7",
    "p - 1 > -0.5",
    "i * -1 = -7",
]


@pytest.mark.parametrize("condition", NEGATIVE)
def test_negative_constants_in_conditions(one, condition):
    assert value(one, "COUNT(*)", f"WHERE {condition}") == 1
    assert value(one, "COUNT(*)", f"WHERE NOT ({condition})") == 0
    assert value(one, f"MAX(CASE WHEN {condition} THEN 1 ELSE 0 END)") == 1


@pytest.mark.parametrize("constant", [0, 1, 5, 10**6, 2**31, 2**53 + 1, 2**63 - 1, 2**63 + 1, 2**64, 10**37, 10**38 - 1])
@pytest.mark.parametrize("sign", ["", "-"])
def test_constants_of_every_size(one, constant, sign):
    expected = int(f"{sign}{constant}")
    # A result larger than a bigint is a decimal without decimal places, and so a string.
    shown = expected if constant < 2**63 else str(expected)
    assert value(one, f"SUM({sign}{constant})") == shown
    assert value(one, f"MIN({sign}{constant})") == shown
    assert rows(one, f"SELECT {sign}{constant}, COUNT(*) FROM {PATH}")[0][0] == shown
    compared = f"big {'>' if 2**63 - 1 > expected else '<=' if 2**63 - 1 < expected else '='} {sign}{constant}"
    assert value(one, "COUNT(*)", f"WHERE {compared}") == 1


@pytest.mark.parametrize(
    "number",
    [
        "1.00000000000000000000000000000000000000001",
        "-1.00000000000000000000000000000000000000001",
        "9" * 39,
        "-" + "9" * 39,
        "1" + "0" * 38,  # fits in 128 bits
        "-" + str(2**127),
        "1." + "1" * 38,
        "0." + "0" * 38 + "1",
        "1." + "0" * 40 + "1e5",
        "9" * 60 + "e10",
        "1" * 5000,
    ],
)
@pytest.mark.parametrize(
    "place",
    ["i = {}", "i IN (1, {})", "i IN (1, 2, 3, 4, 5, {})", "i > {} + 1", "i BETWEEN 1 AND {}", "CASE WHEN b THEN {} END = 1"],
)
def test_numbers_with_too_many_digits_are_refused(one, number, place):
    """As floats they would be equal to other numbers."""
    sql = f"SELECT COUNT(*) FROM {PATH} WHERE {place.format(number)}"
    error = refused(one, "unsupported_sql", sql, at=number if len(number) < 100 else None)
    assert "digits; a number has at most 38" in error["message"]


def test_zeros_are_no_digits_too_many_and_numbers_with_exponents_are_floats(one):
    zeros = "0" * 50
    for number, same in ((f"7.{zeros}", "7"), (f"{zeros}7", "7"), (f"7.5{zeros}", "7.5"), (f"0.{zeros}", "0")):
        assert D(value(one, f"MAX(i) - {number}")) == D(value(one, f"MAX(i) - {same}")), number
    assert value(one, "COUNT(*)", "WHERE i < 1e300 AND f < 1e39 AND f > 1e-39") == 1
    refused(one, "overflow", f"SELECT COUNT(*) FROM {PATH} WHERE f < 1e400", at="1e400")
    assert value(one, "COUNT(*)", "WHERE 0.5e-400 < 1e-300 AND -5e-99999999999 > -1e-300") == 1


@pytest.mark.parametrize("limit", [2**31, 2**63 - 1, 2**63, 10**38 - 1, 10**37, "1e3", "NULL", "ALL"])
def test_large_limits(few, limit):
    assert rows(few, f"SELECT COUNT(*) FROM {PATH} LIMIT {limit}") == rows(few, f"SELECT COUNT(*) FROM {PATH}")


@pytest.mark.parametrize("number", ["0", "3", "-1", "1.5", "99999999999", "9" * 30])
@pytest.mark.parametrize("clause", ["GROUP BY {}", "GROUP BY i ORDER BY {}"])
def test_numbers_of_columns(few, number, clause):
    error = refused(few, "bad_sql", f"SELECT i, COUNT(*) FROM {PATH} {clause.format(number)}", at=number)
    assert "columns 1 to 2" in error["message"]


def test_case_computes_only_the_arm_it_takes(few):
    assert value(few, "SUM(CASE WHEN i <> 0 THEN 100 / i END)") == 10 - 33 + 20
    assert value(few, "SUM(CASE WHEN i = 0 THEN 0 ELSE 100 / i END)") == 10 - 33 + 20
    assert value(few, "SUM(CASE i WHEN 0 THEN 0 ELSE 100 / i END)") == 10 - 33 + 20
    assert value(few, "SUM(100 / i)", "WHERE i <> 0") == 10 - 33 + 20
    assert value(few, "COUNT(*)", "WHERE CASE WHEN i <> 0 THEN 100 / i > 0 ELSE false END") == 2


# ------------------------------------------------------------------------------------------------------------ NULL

LOGIC = {True: "true", False: "false", None: "x"}


def negation(a):
    return None if a is None else not a


def conjunction(a, b):
    return False if a is False or b is False else None if a is None or b is None else True


@pytest.mark.parametrize("left", LOGIC)
@pytest.mark.parametrize("right", LOGIC)
def test_three_valued_logic(one, left, right):
    cases = {
        "{} AND {}": conjunction(left, right),
        "{} OR {}": negation(conjunction(negation(left), negation(right))),
        "NOT ({} AND {})": negation(conjunction(left, right)),
        "NOT {} OR NOT {}": negation(conjunction(left, right)),
        "{} = {}": None if left is None or right is None else left == right,
        "{} <> {}": None if left is None or right is None else left != right,
        "({}) IS NULL OR {}": True if left is None else right if right is not True else True,
    }
    for null in ("x", "NULL", "(n > 3)"):
        conditions = [form.format(*(null if v is None else LOGIC[v] for v in (left, right))) for form in cases]
        for outer, wanted in (("{}", True), ("NOT ({})", False), ("({}) IS NULL", None)):
            tests = ", ".join(f"SUM(CASE WHEN {outer.format(c)} THEN 1 ELSE 0 END)" for c in conditions)
            found = rows(one, f"SELECT {tests} FROM {PATH}")[0]
            assert found == [int(expected is wanted) for expected in cases.values()], (conditions, outer)
    for condition, expected in zip(conditions, cases.values(), strict=True):
        assert value(one, "COUNT(*)", f"WHERE {condition}") == (expected is True), condition


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("n = n", None),
        ("n <> n", None),
        ("NULL = NULL", None),
        ("n IS NULL", True),
        ("n IS NOT NULL", False),
        ("n + 1 IS NULL", True),
        ("i IS NULL", False),
        ("i IN (7, NULL)", True),
        ("i IN (8, NULL)", None),
        ("i IN (8, 9)", False),
        ("i NOT IN (7, NULL)", False),
        ("i NOT IN (8, NULL)", None),
        ("i NOT IN (8, n)", None),
        ("i NOT IN (8, 9)", True),
        ("n IN (1, 2)", None),
        ("n NOT IN (1)", None),
        ("s IN ('abc', NULL)", True),
        ("s IN ('x', NULL)", None),
        ("s NOT IN ('x', NULL)", None),
        ("s NOT IN ('x')", True),
        ("i BETWEEN n AND 6", False),  # i <= 6 is false
        ("i BETWEEN n AND 8", None),
        ("i NOT BETWEEN n AND 6", True),
        ("i BETWEEN 8 AND n", False),
        ("n BETWEEN 1 AND 2", None),
        ("i BETWEEN 7 AND 7", True),
        ("i BETWEEN 8 AND 6", False),
        ("x", None),
        ("x IS NULL", True),
        ("(x AND b) IS NULL", True),
        ("(x OR b)", True),
        ("NULL", None),
        ("NOT NULL", None),
        ("d > NULL", None),
        ("i = 7.0", True),
        ("i < 7.01", True),
        ("p = 1.5", True),
        ("p = 1.500000", True),
        ("p <> 1.501", True),
        ("f = 2.5", True),
        ("f > i", False),
        ("i = f + 4.5", True),
        ("d = date '2000-02-29'", True),
        ("d BETWEEN date '2000-02-29' AND date '2000-02-29'", True),
        ("d IN (date '2000-02-28' + interval '1' day)", True),
        ("s = 'abc'", True),
        ("s = 'abc '", False),
        ("s < 'abd'", True),
        ("s > 'ab'", True),
        ("s >= 'ABC'", True),
        ("'abc' = s", True),
        ("'abd' < s", False),
        ("s BETWEEN 'abb' AND 'abd'", True),
        ("s <> ''", True),
        ("s = 'nowhere'", False),
        ("NOT s = 'nowhere'", True),
        ("b = true", True),
        ("b <> false AND b", True),
        ("NOT b", False),
        ("b = (i > 3)", True),
        ("u > big", True),
        ("u > least", True),
        ("u = 18446744073709551615", True),
        ("least < 0", True),
        ("big < 9223372036854775807.5", True),
        ("big = 9223372036854775807.0", True),
    ],
)
def test_conditions(one, condition, expected):
    assert value(one, "COUNT(*)", f"WHERE {condition}") == (expected is True)
    assert value(one, "COUNT(*)", f"WHERE NOT ({condition})") == (expected is False)
    assert value(one, "COUNT(*)", f"WHERE ({condition}) IS NULL") == (expected is None)


def test_aggregates_leave_null_out(few):
    aggregates = "COUNT(*), COUNT(i), SUM(i), AVG(i), MIN(i), MAX(i), COUNT(s), COUNT(b), COUNT(NULL), COUNT(1)"
    assert rows(few, f"SELECT {aggregates} FROM {PATH}") == [[6, 4, 12, 3.0, -3, 10, 4, 4, 0, 6]]
    assert rows(few, f"SELECT SUM(i), AVG(i), MIN(d), MAX(s), COUNT(i), COUNT(*) FROM {PATH} WHERE k = 3") == [
        [None, None, None, None, 0, 1]
    ]


NOTHING = "SELECT SUM(i), COUNT(*), COUNT(i), MIN(i), MAX(d), AVG(p), SUM(f), MIN(s), SUM(p), SUM(i) + 1 FROM 't.parquet'"


def test_all_rows_filtered(few):
    expected = [[None, 0, 0, None, None, None, None, None, None, None]]
    for where in ("i > 100", "false", "NULL", "k < 0", "i > 3 AND i < 3", "s = 'nowhere'"):
        assert rows(few, f"{NOTHING} WHERE {where}") == expected
        assert rows(few, f"SELECT k, SUM(i) FROM {PATH} WHERE {where} GROUP BY k") == []


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_no_rows(upsweep, arrow, name):
    kinds = {
        "i": arrow.int32(),
        "d": arrow.date32(),
        "p": arrow.decimal128(9, 2),
        "f": arrow.float64(),
        "s": arrow.string(),
    }
    upsweep.table(name, {c: arrow.array([], kind) for c, kind in kinds.items()})
    sql = NOTHING.replace("t.parquet", name)
    if name != "t.csv":  # the columns of a CSV file without rows have no type
        assert rows(upsweep, sql) == [[None, 0, 0, None, None, None, None, None, None, None]]
        assert rows(upsweep, f"SELECT s, SUM(i) FROM '{name}' GROUP BY s ORDER BY s") == []
    assert rows(upsweep, f"SELECT COUNT(*) FROM '{name}'") == [[0]]


def test_no_columns_but_rows_of_only_null(upsweep, arrow):
    upsweep.table("t.parquet", {"n": arrow.nulls(5, arrow.int32()), "z": arrow.nulls(5)})
    assert rows(upsweep, f"SELECT COUNT(*), COUNT(n), SUM(n), MIN(n), COUNT(z) FROM {PATH}") == [[5, 0, None, None, 0]]
    assert rows(upsweep, f"SELECT n, COUNT(*) FROM {PATH} GROUP BY n") == [[None, 5]]


# --------------------------------------------------------------------------------------------- groups and their order


def test_null_is_one_group(few):
    assert rows(few, f"SELECT s, COUNT(*), SUM(k) FROM {PATH} GROUP BY s ORDER BY s") == [
        ["", 1, 1],
        ["a", 1, 1],
        ["b", 2, 4],
        [None, 2, 4],
    ]


@pytest.mark.parametrize(
    "order, expected",
    [
        ("s", ["", "a", "b", None]),  # as in PostgreSQL: NULL sorts after all other values
        ("s ASC", ["", "a", "b", None]),
        ("s DESC", [None, "b", "a", ""]),
        ("s NULLS FIRST", [None, "", "a", "b"]),
        ("s DESC NULLS LAST", ["b", "a", "", None]),
        ("1 DESC", [None, "b", "a", ""]),
        ("n DESC, s", ["b", None, "", "a"]),
        ("2, 1 DESC", ["a", "", None, "b"]),
        ("COUNT(*), s", ["", "a", "b", None]),
    ],
)
def test_order(few, order, expected):
    found = rows(few, f"SELECT s, COUNT(*) AS n FROM {PATH} GROUP BY s ORDER BY {order}")
    assert [row[0] for row in found] == expected


def test_nan_is_greater_than_numbers_and_less_than_null(few):
    order = f"SELECT k, MAX(f) AS m FROM {PATH} GROUP BY k ORDER BY m"
    assert rows(few, order) == [[1, 4.0], [2, "NaN"], [3, None]]
    assert rows(few, order + " DESC") == [[3, None], [2, "NaN"], [1, 4.0]]


@pytest.mark.parametrize(
    "limit, count", [("0", 0), ("1", 1), ("3", 3), ("4", 3), ("9223372036854775807", 3), ("ALL", 3), ("NULL", 3)]
)
def test_limit(few, limit, count):
    found = rows(few, f"SELECT k FROM {PATH} GROUP BY k ORDER BY k LIMIT {limit}")
    assert found == [[1], [2], [3]][:count]
    assert rows(few, f"SELECT COUNT(*) FROM {PATH} LIMIT {limit}") == [[6]][:count]


def test_a_negative_limit_is_refused(few):
    refused(few, ("unsupported_sql", "bad_sql", "invalid_argument"), f"SELECT k FROM {PATH} GROUP BY k LIMIT -1")


def test_limit_zero_computes_nothing_that_fails(few):
    """As in PostgreSQL."""
    assert few.json("query", f"SELECT COUNT(*) FROM {PATH} LIMIT 0")["rows"] == []


@pytest.mark.parametrize(
    "keys",
    [
        "k",
        "s",
        "d",
        "b",
        "p",
        "i",
        "k, s",
        "s, b, d",
        "k, i, p, d, b, s",
        "k + 1",
        "k * 2 + 1",
        "i IS NULL",
        "d - date '1970-01-01'",
    ],
)
def test_group_keys(few, keys):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    sql = f"SELECT {keys}, COUNT(*), SUM(k) FROM '{{}}' GROUP BY {keys}"
    theirs = duckdb.sql(sql.format(few.folder / "t.parquet")).fetchall()
    text = lambda v: v.isoformat() if isinstance(v, DAY) else str(v) if isinstance(v, D) else v  # noqa: E731
    theirs = sorted(json.dumps([text(v) for v in row]) for row in theirs)
    assert sorted(json.dumps(row) for row in rows(few, sql.format("t.parquet"))) == theirs


def test_groups_by_alias_number_and_not_selected(few):
    expected = [[1, 3], [2, 2], [3, 1]]
    for tail in ("k AS g, COUNT(*) FROM {} GROUP BY g ORDER BY g", "k AS g, COUNT(*) FROM {} GROUP BY 1 ORDER BY 1"):
        assert rows(few, "SELECT " + tail.format(PATH)) == expected
    assert sorted(rows(few, f"SELECT COUNT(*) FROM {PATH} GROUP BY k")) == [[1], [2], [3]]


def test_a_column_goes_before_an_alias_in_group_by_and_after_it_in_order_by(few):
    """As in PostgreSQL: SELECT i AS k GROUP BY k groups by the column k."""
    refused(few, ("bad_sql", "unsupported_sql"), f"SELECT i AS k, COUNT(*) FROM {PATH} GROUP BY k", at="i AS k")
    assert rows(few, f"SELECT MAX(k) AS i, k FROM {PATH} GROUP BY k ORDER BY i") == [[1, 1], [2, 2], [3, 3]]


def test_many_groups(upsweep, arrow):
    n = 100_000
    upsweep.table("t.parquet", {"k": np.arange(n)[::-1].copy() // 2, "v": np.ones(n, "int8")}, row_group_size=30_000)
    found = rows(upsweep, f"SELECT k, SUM(v) FROM {PATH} GROUP BY k ORDER BY k")
    assert found == [[k, 2] for k in range(n // 2)]


def test_more_than_a_million_groups(upsweep, arrow):
    n = (1 << 20) + 100_000
    order = np.random.default_rng(1).permutation(n)
    words = [f"word {k}" for k in order]
    upsweep.table("t.parquet", {"k": order, "w": words, "v": order % 7}, row_group_size=200_000)
    largest = [[n - 1 - i, (n - 1 - i) % 7] for i in range(3)]
    assert rows(upsweep, f"SELECT k, SUM(v) FROM {PATH} GROUP BY k ORDER BY k DESC LIMIT 3") == largest
    assert rows(upsweep, f"SELECT w, COUNT(*) FROM {PATH} GROUP BY w LIMIT 3") == [[word, 1] for word in words[:3]]
    found = rows(upsweep, f"SELECT w, k, SUM(v) AS s FROM {PATH} GROUP BY w, k ORDER BY s, k LIMIT 2")
    assert found == [["word 0", 0, 0], ["word 7", 7, 0]]


def test_groups_of_several_row_groups_with_other_dictionaries(upsweep, arrow):
    import pyarrow.parquet as pq

    parts = [["b", "a", "b"], ["c", "b"], [None, "é"], ["a"]]
    with pq.ParquetWriter(upsweep.folder / "t.parquet", arrow.schema([("s", arrow.string())])) as writer:
        for part in parts:
            writer.write_table(arrow.table({"s": arrow.array(part, arrow.string())}))
    assert rows(upsweep, f"SELECT s, COUNT(*) FROM {PATH} GROUP BY s ORDER BY s") == [
        ["a", 2],
        ["b", 3],
        ["c", 1],
        ["é", 1],
        [None, 1],
    ]
    assert value(upsweep, "MIN(s)") == "a" and value(upsweep, "MAX(s)") == "é"
    assert value(upsweep, "COUNT(*)", "WHERE s > 'a' AND s <> 'c'") == 4


# ---------------------------------------------------------------------------------------------------- types, exactness


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_integers_at_their_ends(upsweep, arrow, dtype, name):
    ends = np.iinfo(dtype)
    if name == "t.csv" and dtype == "uint64":
        pytest.skip("CSV has no type for it")
    values = [ends.max] * 1000 + [ends.min, ends.min, 0]
    upsweep.table(name, {"x": arrow.array([int(v) for v in values], dtype)})
    total = 1000 * int(ends.max) + 2 * int(ends.min)
    found = rows(upsweep, f"SELECT SUM(x), MIN(x), MAX(x), AVG(x), COUNT(x) FROM '{name}'")
    assert found == [[total, ends.min, ends.max, float(fractions.Fraction(total, 1003)), 1003]]
    assert rows(upsweep, f"SELECT COUNT(*) FROM '{name}' WHERE x = {ends.max}") == [[1000]]
    assert rows(upsweep, f"SELECT COUNT(*) FROM '{name}' WHERE x > {ends.max} OR x < {ends.min}") == [[0]]
    assert rows(upsweep, f"SELECT COUNT(*) FROM '{name}' WHERE x BETWEEN {ends.min} AND {ends.max}") == [[1003]]


def test_sums_beyond_64_bits(upsweep, arrow):
    values = [INT64[1]] * 5000 + [INT64[0]] * 3
    upsweep.table("t.parquet", {"x": values, "y": [-v - 1 for v in values]}, row_group_size=700)
    assert value(upsweep, "SUM(x)") == sum(values)
    assert value(upsweep, "SUM(y)") == -sum(values) - len(values)
    assert value(upsweep, "SUM(x) + SUM(y)") == -5003
    assert value(upsweep, "AVG(x)") == float(fractions.Fraction(sum(values), 5003))


@pytest.mark.parametrize("sign", [1, -1])
def test_an_average_is_divided_once(upsweep, arrow, sign):
    """A sum that float64 cannot represent is not rounded before it is divided."""
    values = [sign * v for v in (2**62 + 1, 2**62 + 3, 1)]
    upsweep.table("t.parquet", {"x": values, "p": arrow.array([D(v).scaleb(-4) for v in values], arrow.decimal128(20, 4))})
    assert value(upsweep, "AVG(x)") == float(fractions.Fraction(sum(values), 3))
    assert value(upsweep, "AVG(p)") == float(fractions.Fraction(sum(values), 30000))


def test_an_average_fits_where_its_sum_does_not(upsweep, arrow):
    top = D("9" * 36 + ".99")
    upsweep.table("t.parquet", {"p": arrow.array([top] * 400 + [None], arrow.decimal128(38, 2)), "n": range(401)})
    assert value(upsweep, "AVG(p)") == float(fractions.Fraction(top))
    assert value(upsweep, "AVG(-p)") == -float(fractions.Fraction(top))
    # The later rows bring the sum back into range.
    assert value(upsweep, "SUM(CASE WHEN n < 200 THEN p ELSE -p END)") == "0.00"
    error = upsweep.fails("overflow", "query", f"SELECT SUM(p), AVG(p) FROM {PATH}")
    assert "38 digits" in error["message"]


@pytest.mark.parametrize("width, scale", [(1, 0), (4, 4), (9, 2), (10, 2), (18, 6), (19, 0), (38, 0), (38, 10), (38, 37)])
@pytest.mark.parametrize("as_integer", [False, True])
def test_decimals(upsweep, arrow, width, scale, as_integer):
    top = D(10**width - 1).scaleb(-scale, decimal.Context(prec=60))
    least = top.copy_negate()  # -top would round to the context's 28 digits
    upsweep.table(
        "t.parquet",
        {"p": arrow.array([top, least, None, least], arrow.decimal128(width, scale))},
        store_decimal_as_integer=as_integer,
    )
    found = rows(upsweep, f"SELECT SUM(p), MIN(p), MAX(p), COUNT(p), AVG(p) FROM {PATH}")[0]
    assert found[:4] == [f"{least:f}", f"{least:f}", f"{top:f}", 3]
    assert found[4] == float(fractions.Fraction(least) / 3)
    assert value(upsweep, "COUNT(*)", f"WHERE p = {top:f}") == 1


def test_the_average_of_a_decimal_with_38_decimal_places(upsweep, arrow):
    with decimal.localcontext(prec=60):
        top = D(10**38 - 1).scaleb(-38)
    upsweep.table("t.parquet", {"p": arrow.array([top, top.copy_negate(), top], arrow.decimal128(38, 38))})
    assert value(upsweep, "SUM(p)") == f"{top:f}"
    assert value(upsweep, "AVG(p)") == float(fractions.Fraction(top) / 3)


def test_decimals_of_unlike_scales_are_compared_without_overflow(upsweep, arrow):
    with decimal.localcontext(prec=60):
        columns = {
            "wide": arrow.array([D(10**38 - 1), None], arrow.decimal128(38, 0)),
            "fine": arrow.array([D("0.5"), D("0.25")], arrow.decimal128(20, 20)),
            "n": arrow.array([None, None], arrow.decimal128(20, 20)),
        }
    upsweep.table("t.parquet", columns)
    assert value(upsweep, "COUNT(*)", "WHERE n < wide") == 0  # NULL is not an overflow
    assert value(upsweep, "COUNT(*)", "WHERE wide > fine") == 1
    assert value(upsweep, "COUNT(*)", "WHERE wide > 0.5") == 1


@pytest.mark.parametrize("top", ["a", "b", "c", "d"])
@pytest.mark.parametrize("bottom", ["a", "b", "c", "d"])
def test_quotients_of_decimals_are_the_float_next_to_the_exact_one(upsweep, arrow, top, bottom):
    values = {
        "a": (D("12345678901234567890.1234567891"), 30, 10),
        "b": (D("12345678901234567890123456789012345.678"), 38, 3),
        "c": (D("0.00000000000000000123"), 20, 20),
        "d": (D("-7.01"), 9, 2),
    }
    columns = {name: arrow.array([v], arrow.decimal128(width, scale)) for name, (v, width, scale) in values.items()}
    upsweep.table("t.parquet", columns)
    exact = float(fractions.Fraction(values[top][0]) / fractions.Fraction(values[bottom][0]))
    assert value(upsweep, f"MAX({top} / {bottom})") == exact
    assert value(upsweep, f"MAX({top}) / MIN({bottom})") == exact


def test_decimal_scales(one):
    for expression, expected in (
        ("p * p * p", "3.375000"),
        ("p + p * 0.1", "1.650"),
        ("p * (1 - 0.05) * (1 + 0.080)", "1.5390000"),
        ("p - 1.500", "0.000"),
        ("0.10 * 0.10", "0.0100"),
    ):
        assert value(one, f"SUM({expression})") == expected, expression


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_floats(upsweep, arrow, kind):
    values = np.array([0.1, -0.0, 3.4e38, -3.4e38, 1e-45, 0.5], kind)
    upsweep.table("t.parquet", {"f": values})
    found = rows(upsweep, f"SELECT MIN(f), MAX(f), SUM(f), AVG(f), COUNT(f) FROM {PATH}")[0]
    assert found[:2] == [float(values.min()), float(values.max())]
    assert found[2] == pytest.approx(math.fsum(values.astype("float64")), abs=1e25) and found[4] == 6
    assert value(upsweep, "COUNT(*)", "WHERE f = 0.5") == 1
    assert value(upsweep, "COUNT(*)", "WHERE f = 0") == 1
    assert value(upsweep, "COUNT(*)", "WHERE f = 0.1") == (kind == "float64")


def test_nan_and_infinities(upsweep, arrow):
    values = [math.nan, math.inf, -math.inf, 1.0, None, -math.nan]
    upsweep.table("t.parquet", {"f": values, "g": arrow.array(values, arrow.float32())}, row_group_size=2)
    for name in ("f", "g"):
        assert rows(upsweep, f"SELECT MIN({name}), MAX({name}), SUM({name}), COUNT({name}) FROM {PATH}") == [
            ["-Infinity", "NaN", "NaN", 5]
        ]
        counts = {
            "{0} = {0}": 5,
            "{0} <> {0}": 0,
            "{0} > 1": 3,
            "{0} >= 1": 4,
            "{0} < 1": 1,
            "{0} <= 1": 2,
            "NOT {0} > 1": 2,
        }
        counts |= {
            "{0} = 1": 1,
            "{0} <> 1": 4,
            "{0} BETWEEN 0 AND 2": 1,
            "{0} NOT BETWEEN 0 AND 2": 4,
            "{0} IN (1, 2)": 1,
        }
        for form, count in counts.items():
            assert value(upsweep, "COUNT(*)", "WHERE " + form.format(name)) == count, form
        assert value(upsweep, f"MAX({name})", f"WHERE {name} < 5") == 1.0
        assert value(upsweep, f"MIN({name})", f"WHERE {name} > 1") == "Infinity"
        assert value(upsweep, f"SUM({name})", f"WHERE {name} = {name} AND {name} < 2") == "-Infinity"


def test_large_and_small_numbers_are_compared_with_floats(upsweep, arrow):
    upsweep.table("t.parquet", {"f": [1e300, 1e-300, 2.0]})
    assert value(upsweep, "COUNT(*)", "WHERE f > 1e200") == 1
    assert value(upsweep, "COUNT(*)", "WHERE f < 1e-200") == 1


def test_dates(upsweep, arrow):
    ends = [DAY(1, 1, 1), DAY(9999, 12, 31), DAY(1970, 1, 1), DAY(1969, 12, 31), None, DAY(2000, 2, 29)]
    upsweep.table("t.parquet", {"d": ends, "m": arrow.array(ends, arrow.date64())})
    for name in ("d", "m"):
        assert rows(upsweep, f"SELECT MIN({name}), MAX({name}), COUNT({name}) FROM {PATH}") == [["0001-01-01", "9999-12-31", 5]]
        assert value(upsweep, "COUNT(*)", f"WHERE {name} < date '1970-01-01'") == 2
        assert value(upsweep, "COUNT(*)", f"WHERE {name} = date '0001-01-01' OR {name} = date '9999-12-31'") == 2
    assert rows(upsweep, f"SELECT d, COUNT(*) FROM {PATH} GROUP BY d ORDER BY d DESC LIMIT 2") == [
        [None, 1],
        ["9999-12-31", 1],
    ]


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("date '1998-12-01' - interval '90' day", "1998-09-02"),
        ("date '1998-12-01' - interval '90' day (3)", "1998-09-02"),
        ("date '1994-01-01' + interval '1' year", "1995-01-01"),
        ("date '2000-02-29' + interval '1' year", "2001-02-28"),
        ("date '2000-02-29' + interval '4' year", "2004-02-29"),
        ("date '1900-02-28' + interval '1' day", "1900-03-01"),
        ("date '2000-02-28' + interval '1' day", "2000-02-29"),
        ("date '2000-01-31' + interval '1' month", "2000-02-29"),
        ("date '2001-01-31' + interval '1' month", "2001-02-28"),
        ("date '2000-03-31' - interval '1' month", "2000-02-29"),
        ("date '2000-01-31' + interval '13' month", "2001-02-28"),
        ("date '2000-01-31' - interval '13' month", "1998-12-31"),
        ("date '1970-01-01' - interval '1' day", "1969-12-31"),
        ("date '2000-01-01' + interval '-1' month", "1999-12-01"),
        ("date '2000-01-01' + interval '0' day", "2000-01-01"),
        ("date '2000-01-31' + interval '1' month + interval '1' day", "2000-03-01"),
        ("date '0001-01-01'", "0001-01-01"),
        ("date '9999-12-31'", "9999-12-31"),
    ],
)
def test_date_literals(one, expression, expected):
    assert value(one, f"MAX({expression})") == expected
    assert value(one, "COUNT(*)", f"WHERE date '{expected}' = {expression}") == 1


@pytest.mark.parametrize(
    "day", ["2000-02-30", "2001-02-29", "2000-13-01", "2000-00-01", "2000-01-00", "", "today", "1-2-3-4", "99999-01-01"]
)
def test_dates_that_are_none(one, day):
    refused(
        one,
        ("bad_sql", "unsupported_sql", "overflow"),
        f"SELECT COUNT(*) FROM {PATH} WHERE d > date '{day}'",
        at=f"'{day}'",
    )


@pytest.mark.parametrize(
    "expression",
    [
        "date '9999-12-31' + interval '1' day",
        "date '0000-01-01' - interval '1' month",
        "date '2000-01-01' + interval '100000' year",
    ]
    + ["date '2000-01-01' + interval '9223372036854775807' day", "date '2000-01-01' - interval '2147483648' month"],
)
def test_dates_beyond_the_ends(one, expression):
    refused(one, ("overflow", "unsupported_sql", "bad_sql"), f"SELECT COUNT(*) FROM {PATH} WHERE d > {expression}")


def test_booleans(few):
    assert value(few, "COUNT(*)", "WHERE b") == 2
    assert value(few, "COUNT(*)", "WHERE NOT b") == 2
    assert value(few, "COUNT(*)", "WHERE b IS NULL") == 2
    assert value(few, "COUNT(*)", "WHERE b = false OR b") == 4
    assert rows(few, f"SELECT b, COUNT(*) FROM {PATH} GROUP BY b ORDER BY b") == [[False, 2], [True, 2], [None, 2]]
    assert rows(few, f"SELECT MIN(i) > 0, MAX(i) > 0, SUM(i) > NULL FROM {PATH}") == [[False, True, None]]


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary", "string_view"])
def test_text(upsweep, arrow, kind):
    words = ["b", "a", "é", "", None, "Z", "z" * 300, "it's", "日本"]
    column = arrow.array(words)
    column = column.dictionary_encode() if kind == "dictionary" else column.cast(getattr(arrow, kind)())
    try:
        upsweep.table("t.parquet", {"s": column, "k": list(range(9))})
    except arrow.ArrowException:
        pytest.skip("this pyarrow does not write it")
    present = sorted(filter(lambda w: w is not None, words), key=str.encode)
    assert [row[0] for row in rows(upsweep, f"SELECT s FROM {PATH} GROUP BY s ORDER BY s")] == [*present, None]
    assert rows(upsweep, f"SELECT MIN(s), MAX(s), COUNT(s) FROM {PATH}") == [["", present[-1], 8]]
    for word in present:
        quoted = word.replace("'", "''")
        assert value(upsweep, "COUNT(*)", f"WHERE s = '{quoted}'") == 1
        assert value(upsweep, "COUNT(*)", f"WHERE s < '{quoted}'") == present.index(word)
        assert value(upsweep, "COUNT(*)", f"WHERE s NOT IN ('{quoted}', 'a')") == (6 if word != "a" else 7)


# ------------------------------------------------------------------------------------------------------------ overflow


@pytest.mark.parametrize(
    "expression",
    ["big + 1", "least - 1", "big * 2", "least * minus", "-least", "least / -1", "0 - least", "big * big", "u * u * u"]
    + [
        "9223372036854775807 + i",
        "99999999999999999999999999999999999999 * 10 * i",
        "p * 99999999999999999999999999999999999999",
    ],
)
def test_overflow_in_a_row(one, expression):
    """The answer is an error with the row, or the exact number; nothing else is allowed."""
    done = one.run("query", f"SELECT MAX({expression}) FROM {PATH}", "--json")
    result = json.loads(done.stdout)
    if done.returncode == 0:
        names = {"big": INT64[1], "least": INT64[0], "minus": -2, "i": 7, "u": UINT64_MAX, "p": D("1.50")}
        with decimal.localcontext(prec=90):
            exact = eval(expression.replace("/", "//"), {}, names)  # noqa: S307
        assert D(result["rows"][0][0]) == exact
    else:
        assert (done.returncode, result["error"]["code"]) == (1, "overflow"), result
        constant = expression.startswith("99999") and " in row " not in result["error"]["message"]  # 10^38 · 10
        assert constant or result["error"]["index"] == 0, result


def test_overflow_names_its_first_row(upsweep, arrow):
    values = [1] * 100_000
    values[77_777] = values[88_888] = INT64[1]
    upsweep.table("t.parquet", {"x": values}, row_group_size=10_000)
    for threads in (1, 2, 5):
        error = refused(upsweep, "overflow", f"SELECT SUM(x * 2) FROM {PATH}", "--threads", threads)
        assert error["index"] == 77_777
    assert value(upsweep, "SUM(x * 2)", "WHERE x < 5") == 2 * 99_998
    assert value(upsweep, "SUM(CASE WHEN x < 5 THEN x * 2 END)") == 2 * 99_998


def test_whether_a_row_overflows_does_not_depend_on_other_rows(upsweep, arrow):
    """It also does not depend on statistics of the file, or on its division into row groups."""
    outcomes = set()
    for first in (5, UINT64_MAX):
        for options in ({}, {"write_statistics": False}, {"row_group_size": 1}):
            upsweep.table(
                "t.parquet",
                {"u": arrow.array([first, 0], arrow.uint64()), "x": arrow.array([0, INT64[0]])},
                **options,
            )
            for where in ("", "WHERE u = 0 OR u > 0", "WHERE u = 0"):
                done = upsweep.run("query", f"SELECT MAX(u - x) > 0 FROM {PATH} {where}", "--json")
                outcomes.add(json.dumps(json.loads(done.stdout).get("rows", "an error")))
    assert len(outcomes) == 1, outcomes


def test_pages_of_which_no_row_is_kept_are_not_read(upsweep, arrow):
    """So errors in such a page are not noticed. Pages of a condition's column are only skipped if there is an index."""
    n = 400_000
    x = np.arange(n)
    y = np.random.default_rng(0).integers(0, 1000, n)
    options = {"row_group_size": n, "use_dictionary": False, "write_page_checksum": True, "data_page_size": 20_000}
    for compression, index, column, spark in itertools.product(("none", "snappy"), (True, False), (0, 1), (False, True)):
        upsweep.table("t.parquet", {"x": x, "y": y}, compression=compression, write_page_index=index, **options)
        chunk = arrow.parquet.ParquetFile(upsweep.folder / "t.parquet").metadata.row_group(0).column(column)
        damaged = bytearray((upsweep.folder / "t.parquet").read_bytes())
        damaged[chunk.data_page_offset + 5_000] ^= 0xFF
        if spark:  # Spark's Parquet names BIT_PACKED among the encodings; PyArrow names RLE
            assert damaged.count(b"\x19\x25\x06\x00\x19") == 2
            damaged = damaged.replace(b"\x19\x25\x06\x00\x19", b"\x19\x25\x08\x00\x19")
        (upsweep.folder / "t.parquet").write_bytes(damaged)
        refused(upsweep, "malformed", f"SELECT SUM(y) FROM {PATH} WHERE x < 10")
        for threads in (1, 3):
            query = ("query", f"SELECT SUM(y), COUNT(*) FROM {PATH} WHERE x >= 300000 OR x = -1", "--threads", threads)
            if index or column == 1:
                assert upsweep.json(*query)["rows"] == [[int(y[300_000:].sum()), 100_000]]
            else:
                upsweep.fails("malformed", *query)
        if index:
            assert rows(upsweep, f"SELECT SUM(y), COUNT(*) FROM {PATH} WHERE x = -1") == [[None, 0]]


def test_page_indexes_change_no_answer(upsweep, arrow):
    n = 250_000
    random = np.random.default_rng(1)
    steps = np.arange(n) // 1000
    nulls = (steps % 7 == 3) | (random.random(n) < 0.01)
    columns = {
        "i": arrow.array(np.where(steps % 2, steps, -steps), mask=nulls),
        "u": arrow.array((steps.astype("uint32") << 24)),
        "f": arrow.array(np.where(steps % 11 == 5, np.nan, np.round(random.normal(steps, 2), 1)), mask=nulls),
        "p": arrow.array([D(int(s)).scaleb(-2) for s in steps], arrow.decimal128(30, 2)),
        "d": arrow.array(steps.astype("int32"), arrow.date32()),
        "s": [f"word {s % 3}" for s in steps],
        "v": random.integers(0, 9, n),
    }
    conditions = [
        "i < -200",
        "i BETWEEN 101 AND 103 AND f > 90",
        "u >= 4000000000",
        "f > 1000000",
        "f = 17.5",
        "p <= 0.03 OR p = 2.41",
        "d = DATE '1970-05-01' AND s = 'word 0'",
        "i IS NULL AND d < DATE '1970-02-01'",
        "NOT (u < 4000000000 OR i > 245)",
        "i IN (7, -100, 999)",
    ]
    answers = []
    for index in (True, False):
        options = {"write_page_index": index, "data_page_size": 9_000, "row_group_size": 220_000}
        upsweep.table("t.parquet", columns, **options)
        answers.append([])
        for where in conditions:
            answers[-1] += rows(upsweep, f"SELECT COUNT(*), SUM(v), SUM(f), MIN(s), MAX(i) FROM {PATH} WHERE {where}")
            answers[-1] += rows(upsweep, f"SELECT s, COUNT(*) FROM {PATH} WHERE {where} GROUP BY s ORDER BY s")
    assert answers[0] == answers[1]
    assert sum(answer[0] != 0 for answer in answers[0]) > len(conditions)


def test_overflow_of_sums(upsweep, arrow):
    with decimal.localcontext(prec=60):
        upsweep.table("t.parquet", {"p": arrow.array([D(10**38 - 1)] * 30, arrow.decimal128(38, 0))})
    refused(upsweep, "overflow", f"SELECT SUM(p) FROM {PATH}")
    refused(upsweep, "overflow", f"SELECT SUM(-p) FROM {PATH}")
    refused(upsweep, "overflow", f"SELECT SUM(p) * 10 FROM {PATH} WHERE p = 0 OR p <> 0")
    assert value(upsweep, "MAX(p)") == "9" * 38


def test_overflow_on_the_way_is_none_where_the_sum_fits(upsweep, arrow):
    """The sum is exact in every order, because rows may be merged in any order."""
    with decimal.localcontext(prec=60):
        top = D(10**38 - 1)
        values = [top, top, -top, -top, D(5)]
        upsweep.table("t.parquet", {"p": arrow.array(values, arrow.decimal128(38, 0))}, row_group_size=1)
    done = upsweep.run("query", f"SELECT SUM(p) FROM {PATH}", "--json")
    found = json.loads(done.stdout)
    assert found.get("rows") == [["5"]] or found["error"]["code"] == "overflow"
    for threads in (2, 3):
        again = json.loads(upsweep.run("query", f"SELECT SUM(p) FROM {PATH}", "--json", "--threads", threads).stdout)
        assert again.get("rows") == found.get("rows")


# ---------------------------------------------------------------------------------------------------- division by zero


@pytest.mark.parametrize(
    "expression",
    ["1 / x", "1.5 / x", "x / (x - x)", "f / (f - f)", "1 / (p - p)", "f / x", "x / 0", "x / 0.0", "f / 0"],
)
def test_division_by_zero_names_its_first_row(upsweep, arrow, expression):
    x = np.ones(70_001, "int32")
    x[70_000] = 0
    first = 70_000 if re.fullmatch("[^-]*/ x", expression) else 0
    columns = {"x": x, "f": x + 1.5, "p": arrow.array([D("1.0")] * 70_001, arrow.decimal128(9, 1))}
    upsweep.table("t.parquet", columns, row_group_size=9_999)
    for threads in (1, 3):
        error = refused(upsweep, "division_by_zero", f"SELECT SUM({expression}) FROM {PATH}", "--threads", threads)
        assert error["index"] == first
        assert str(first) in error["message"]
    assert rows(upsweep, f"SELECT SUM({expression}), COUNT(*) FROM {PATH} WHERE x > 5") == [[None, 0]]


def test_errors_in_rows_of_files_name_the_line(upsweep):
    for name, text in {
        "z.csv": 'a,b\n1,"x\ny"\n5,z\n\n0,w\n',
        "p1.csv": "a,b\n1,x\n",
        "p2.csv": "b,a\nx,2\n\ny,0\n",
        "p3.csv": "a\n0\n",
        "n1.csv": "n\n4\n9223372036854775807\n",
        "n2.csv": "n\n0.5\n",
        "d.csv": f"d\n1.5\n\n{'9' * 36}.5\n",
    }.items():
        (upsweep.folder / name).write_text(text)
    for sql, word, file, line, row in (
        ("SELECT SUM(10 / a) FROM 'z.csv'", "division_by_zero", "z.csv", 6, 2),
        ("SELECT COUNT(*) FROM 'z.csv' WHERE 10 / a > 1", "division_by_zero", "z.csv", 6, 2),
        ("SELECT SUM(1 / a) FROM 'p?.csv'", "division_by_zero", "p2.csv", 4, 1),
        ("SELECT SUM(1 / (a - 1)) FROM 'p?.csv'", "division_by_zero", "p1.csv", 2, 0),
        ("SELECT SUM(1 / (a + 0)) FROM 'p[13].csv'", "division_by_zero", "p3.csv", 2, 0),
        ("SELECT SUM(n * 2) FROM 'n1.csv'", "overflow", "n1.csv", 3, 1),
        ("SELECT SUM(d * 1000) FROM 'd.csv'", "overflow", "d.csv", 4, 2),  # in a single column an empty line is NULL
    ):
        for threads in (1, 3):
            error = refused(upsweep, word, sql, "--threads", threads)
            assert (error["file"], error["line"], error["index"]) == (file, line, row), error
            assert error["message"].startswith(f"{file}: line {line}: "), error
            assert "^" in error["message"] and "in row" not in error["message"]


def test_errors_in_rows_of_files_without_lines_name_the_row(upsweep, arrow):
    for name in ("a.parquet", "b.parquet", "a.arrow", "b.arrow"):
        upsweep.table(name, {"x": [1, 2, 0 if name[0] == "b" else 3]})
    for file in ("b.parquet", "b.arrow"):
        for pattern in (file, "?" + file[1:]):
            error = refused(upsweep, "division_by_zero", f"SELECT SUM(1 / x) FROM '{pattern}'")
            assert (error["file"], error["index"]) == (file, 2) and "line" not in error, error
            assert error["message"].startswith(f"{file}: row 2: division by zero\n"), error


def test_values_that_another_file_would_change_name_their_line(upsweep):
    (upsweep.folder / "g1.csv").write_text("x,y\n\n1,a\n18446744073709551615,b\n")
    (upsweep.folder / "g2.csv").write_text("x,y\n1e300,a\n")
    message = upsweep.fails(("malformed", "unsupported_type"), "query", "SELECT SUM(x) FROM 'g?.csv'")["message"]
    assert message.startswith("g1.csv:x: line 4 has a value of type uint64"), message


def test_errors_of_csv_name_file_and_line_in_json(upsweep):
    (upsweep.folder / "bad.csv").write_text("a,b\n1,2\n\n1,2,3\n")
    error = upsweep.fails("malformed", "query", "SELECT SUM(a) FROM 'bad.csv'")
    assert (error["file"], error["line"]) == ("bad.csv", 4), error


def test_division_by_zero_elsewhere(few):
    refused(few, "division_by_zero", f"SELECT COUNT(*) FROM {PATH} WHERE 1 / i > 0")
    refused(few, "division_by_zero", f"SELECT 1 / (COUNT(*) - 6) FROM {PATH}")
    refused(few, "division_by_zero", f"SELECT k, SUM(k) / COUNT(i) FROM {PATH} GROUP BY k")
    assert rows(few, f"SELECT SUM(i) / COUNT(*) FROM {PATH}") == [[2]]
    assert value(few, "SUM(i / NULL)") is None


# ---------------------------------------------------------------------------------------------- what is refused, where


NO_WINDOWS = "for one row per group write GROUP BY; for running values call scan or scan_by_key, outside SQL"


@pytest.mark.parametrize(
    "word, sql, at",
    [
        ("bad_sql", "SELEC SUM(i) FROM 't.parquet'", "SELEC"),
        ("bad_sql", "SELECT SUM(i FROM 't.parquet'", "FROM"),
        ("bad_sql", "SELECT SUM(i), FROM 't.parquet'", "FROM"),
        ("bad_sql", "SELECT SUM(i) FROM 't.parquet' WHERE", ""),
        ("bad_sql", "SELECT SUM(i) FROM 't.parquet' WHERE i IN ()", ")"),
        ("bad_sql", "SELECT SUM(i) FROM 't.parquet' WHERE s = 'open", "'open"),
        ("bad_sql", "SELECT SUM(i) FROM 't.parquet", "'t.parquet"),
        ("bad_sql", "SELECT SUM(i) FROM 't.parquet' GROUP BY \"k", '"k'),
        ("bad_sql", "SELECT SUM(i) FROM 't.parquet' WHERE 1 < i < 3", "< 3"),
        ("bad_sql", "SELECT SUM(i) FROM 't.parquet' /* open", "/* open"),
        ("bad_sql", "SELECT SUM(i)) FROM 't.parquet'", ") FROM"),
        ("unknown_column", "SELECT SUM(nope) FROM 't.parquet'", "nope"),
        ("unknown_column", "SELECT COUNT(*) FROM 't.parquet' WHERE i > 3 AND nope > 3", "nope"),
        ("unknown_column", "SELECT COUNT(*) FROM 't.parquet' WHERE s = 'é日本' AND nope > 3", "nope"),
        ("unknown_column", "SELECT COUNT(*) FROM 't.parquet' GROUP BY nope", "nope"),
        ("unknown_column", "SELECT COUNT(*) FROM 't.parquet' ORDER BY nope", "nope"),
        ("unknown_column", "SELECT SUM(\"I\") FROM 't.parquet'", '"I"'),
        ("unknown_table", "SELECT SUM(i) FROM t", "t"),
        (None, "SELECT s, SUM(i) FROM 't.parquet'", "s"),
        (None, "SELECT SUM(i) + i FROM 't.parquet'", "i FROM"),
        (None, "SELECT DISTINCT ON (s) s FROM 't.parquet'", "s"),
        (None, "SELECT DISTINCT s FROM 't.parquet' ORDER BY k", "k"),
        (None, "SELECT DISTINCT COUNT(*) FROM 't.parquet' GROUP BY s", "COUNT"),
        (None, "SELECT COUNT(DISTINCT s) FROM 't.parquet'", None),
        (None, "SELECT SUM(i) FILTER (WHERE i) FROM 't.parquet'", "i)"),
        (None, "SELECT SUM(i) OVER () FROM 't.parquet'", None),
        (None, "SELECT SUM(SUM(i)) FROM 't.parquet'", "SUM(i))"),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE SUM(i) > 3", "SUM"),
        (None, "SELECT COUNT(*) FROM 't.parquet' GROUP BY SUM(i)", "SUM"),
        (None, "SELECT k, COUNT(*) FROM 't.parquet' GROUP BY k HAVING i > 1", "i >"),
        (None, "SELECT k, COUNT(*) FROM 't.parquet' GROUP BY k HAVING COUNT(*)", "COUNT"),
        (None, "SELECT k FROM 't.parquet' HAVING COUNT(*) > 1", "k"),
        (None, "SELECT COUNT(*) FROM 't.parquet' a, 't.parquet' b", None),
        (None, "SELECT COUNT(*) FROM (SELECT 1) x", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE i IN (SELECT 1)", None),
        (None, "WITH a AS (SELECT 1) SELECT COUNT(*) FROM 't.parquet'", "WITH"),
        (None, "SELECT COUNT(*) FROM 't.parquet' UNION SELECT 1", "UNION"),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE s IS DISTINCT FROM 5", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE i IS TRUE", None),
        ("unsupported_sql", "SELECT COUNT(*) FROM (SELECT COUNT(*) FROM 't.parquet')", "(SELECT"),
        (None, "SELECT COUNT(*) FROM 't.parquet' LIMIT i", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' LIMIT 1.5", "1.5"),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE s LIKE 'a%'", "LIKE"),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE i ~ 3", "~"),
        (None, "SELECT SUM(i % 2) FROM 't.parquet'", "%"),
        (None, "SELECT SUM(i ^ 2) FROM 't.parquet'", "^"),
        (None, "SELECT MAX(s || 'x') FROM 't.parquet'", "||"),
        (None, "SELECT SUM(NOSUCH(i)) FROM 't.parquet'", "NOSUCH"),
        ("bad_sql", "SELECT SUM(ABS(i, k)) FROM 't.parquet'", "ABS"),
        ("unsupported_type", "SELECT MAX(SQRT(s)) FROM 't.parquet'", "SQRT"),
        ("unsupported_sql", "SELECT SUM(ROUND(i, k)) FROM 't.parquet'", "k"),
        ("unsupported_sql", "SELECT SUM(ABS(DISTINCT i)) FROM 't.parquet'", "ABS"),
        (None, "SELECT STDDEV(i) FROM 't.parquet'", "STDDEV"),
        (None, "SELECT MAX(COALESCE(s, 'x')) FROM 't.parquet'", "COALESCE"),
        (None, "SELECT SUM(COALESCE(i, b)) FROM 't.parquet'", None),
        (None, "SELECT SUM(IFNULL(i)) FROM 't.parquet'", "IFNULL"),
        (None, "SELECT SUM(CAST(i AS bigint)) FROM 't.parquet'", None),
        (None, "SELECT SUM(i::bigint) FROM 't.parquet'", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE i = $1", "$1"),
        (None, "SELECT COUNT(*) FROM 't.parquet' GROUP BY ROLLUP (k)", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' GROUP BY 2", "2"),
        (None, "SELECT COUNT(*) FROM 't.parquet' ORDER BY 2", "2"),
        (None, "SELECT COUNT(*) FROM 't.parquet' GROUP BY 1", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' FOR UPDATE", None),
        (None, "SELECT COUNT(*) INTO x FROM 't.parquet'", None),
        (None, "SELECT COUNT(*) FROM 't.parquet'; SELECT COUNT(*) FROM 't.parquet'", None),
        (None, "INSERT INTO t VALUES (1)", None),
        (None, "DROP TABLE t", None),
        (None, "SELECT 1", None),
        (None, "", None),
        (None, ";", None),
        (None, "/* nothing */", None),
        (None, "SELECT COUNT(*) FROM ''", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE i", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE s = 3", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE d = 3", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE b > 3", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE i AND b", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE NOT i", None),
        (None, "SELECT SUM(s + 1) FROM 't.parquet'", None),
        (None, "SELECT SUM(d + d) FROM 't.parquet'", None),
        (None, "SELECT MAX(d * 2) FROM 't.parquet'", None),
        (None, "SELECT SUM(CASE WHEN b THEN 1 ELSE 'x' END) FROM 't.parquet'", None),
        (None, "SELECT SUM(CASE WHEN i THEN 1 END) FROM 't.parquet'", None),
        (None, "SELECT SUM(s) FROM 't.parquet'", None),
        (None, "SELECT SUM(d) FROM 't.parquet'", None),
        (None, "SELECT SUM(b) FROM 't.parquet'", None),
        (None, "SELECT AVG(d) FROM 't.parquet'", None),
        (None, "SELECT SUM() FROM 't.parquet'", None),
        (None, "SELECT SUM(*) FROM 't.parquet'", None),
        (None, "SELECT SUM(i, k) FROM 't.parquet'", None),
        (None, "SELECT SUM(interval '1' month) FROM 't.parquet'", None),
        (None, "SELECT COUNT(*) FROM 't.parquet' WHERE d > d + interval '1' month", None),
    ],
)
def test_refused(few, word, sql, at):
    words = ("bad_sql", "unsupported_sql", "unsupported_type", "invalid_argument") if word is None else word
    error = refused(few, words, sql, at=at)
    if sql.strip("; ") and not sql.startswith(("INSERT", "DROP", "/*")):
        assert isinstance(error["index"], int) and 0 <= error["index"] <= len(sql.encode())
        if sql.isascii():
            assert caret(error["message"]).startswith(sql[error["index"] :][:2].strip())


@pytest.mark.parametrize(
    "expression", ["EXTRACT(year FROM d)", "CURRENT_DATE"]
)
def test_what_is_not_supported_is_named(few, expression):
    message = refused(few, ("unsupported_sql", "bad_sql"), f"SELECT MAX({expression}) FROM {PATH}", at=expression[:5])[
        "message"
    ]
    assert expression.split("(")[0].lower() in message.split("\n")[0].lower(), message


@pytest.mark.parametrize(
    "tail", ["GROUP BY ROLLUP (k)", "GROUP BY CUBE (k)", "GROUP BY GROUPING SETS ((k), ())", "GROUP BY ()"]
)
def test_grouping_sets_are_named(few, tail):
    message = refused(few, ("unsupported_sql", "bad_sql"), f"SELECT COUNT(*) FROM {PATH} {tail}")["message"]
    assert not message.startswith("this is not supported"), message


@pytest.mark.parametrize(
    "sql, at, words",
    [
        ("SELECT COUNT(*) AS FROM 't.parquet'", "FROM", 'a name is needed after AS: FROM is a keyword; write the name as "FROM"'),
        ("SELECT COUNT(*) AS n, FROM 't.parquet'", "FROM", 'at or near "FROM"'),
        ("SELECT COUNT(*) FROM t 't.parquet'", "'t.parquet'", "near \"'t.parquet'\""),
        ("SELECT COUNT(*) FROM t.parquet", "t.parquet", "FROM 't.parquet'"),
        ("SELECT COUNT(*) FROM a.b.csv", "a.b", "FROM 'a.b.csv'"),
        ("SELECT COUNT(*) FROM ./t.parquet", "./t", "FROM './t.parquet'"),
        ("SELECT COUNT(*) FROM t-2024.csv WHERE i > 1", "t-2024", "FROM 't-2024.csv'"),
        ("SELECT COUNT(*) FROM data/*.csv", "data", "FROM 'data/*.csv'"),
        ('SELECT COUNT(*) FROM "t.parquet"', '"t.parquet"', "FROM 't.parquet'"),
        ("SELECT COUNT(*) FROM read_parquet('t.parquet')", "read", "write FROM 't.parquet'"),
        ("SELECT COUNT(*) FROM read_csv(['a.csv', 'b.csv'])", "read", "FROM 'FILE' reads a file"),
        ("SELECT i, SUM(k) FROM 't.parquet'", "i", "column 'i' must appear in GROUP BY or inside an aggregate function"),
        ("SELECT AVERAGE(i) FROM 't.parquet'", "AVERAGE", "write AVG(x)"),
        ("SELECT FLOOR(f), COUNT(*) FROM 't.parquet' GROUP BY FLOOR(f)", "FLOOR", "ROUND(x, n) rounds to the nearest number"),
        ("SELECT COUNT(DISTINCT i) FROM 't.parquet'", "COUNT", "count(DISTINCT …) is not supported: GROUP BY"),
        ("SELECT SUM(i) OVER () FROM 't.parquet'", "SUM", f"window functions (OVER) are not supported: {NO_WINDOWS}"),
        ("SELECT k, lag(i) OVER (ORDER BY k) FROM 't.parquet'", "lag", f"window functions (lag) are not supported: {NO_WINDOWS}"),
        ("SELECT nth_value(i, 2) FROM 't.parquet'", "nth", f"window functions (nth_value) are not supported: {NO_WINDOWS}"),
        ("SELECT SUM(i) OVER w FROM 't.parquet' WINDOW w AS (ORDER BY k)", "WINDOW", f"not supported: {NO_WINDOWS}"),
        ("SELECT DISTINCT ON (k) i FROM 't.parquet'", "k", "DISTINCT ON is not supported: GROUP BY with MIN and MAX"),
        ("SELECT DISTINCT k FROM 't.parquet' ORDER BY i", "i", "with SELECT DISTINCT, ORDER BY takes selected expressions"),
        ("SELECT COUNT(*) FROM 't.parquet' JOIN 'u.parquet' ON TRUE", "JOIN", "JOIN is not supported"),
        ("SELECT COUNT(*) FROM 't.parquet' a, 'u.parquet' b", "'u", "several tables"),
        ("SELECT COUNT(*) FROM (SELECT i FROM 't.parquet') x", None, "subqueries are not supported"),
        ("SELECT COUNT(*) FROM (SELECT i FROM 't.parquet')", "(SELECT", "subqueries are not supported"),
        ("SELECT COUNT(*) FROM 't.parquet' WHERE i IN (SELECT 1)", None, "subqueries are not supported"),
        ("SELECT COUNT(*) FROM 't.parquet' WHERE s LIKE 'a%'", "LIKE", "LIKE is not supported: s >= 'ab' AND s < 'ac'"),
        ("SELECT SUM(CAST(i AS double precision)) FROM 't.parquet'", "CAST", "x / 1.0 is a float64"),
        ("SELECT SUM(i % 2) FROM 't.parquet'", "%", "a - a / b * b"),
        ("SELECT COUNT(*) FROM 't.parquet' WHERE i == 1", "==", "write ="),
        ("SELECT SUM(*) FROM 't.parquet'", "SUM", "sum(*)"),
        ("SELECT SUM(x.i.j) FROM 't.parquet' x", "x.i", "fields of a column"),
        ("SELECT SUM((i).j) FROM 't.parquet'", None, "fields of a column"),
        ("SELECT SUM(i.j) FROM 't.parquet'", "i.j", "'i' is a column, not a table"),
        ("SELECT SUM(order) FROM 't.parquet'", "order", 'order is a keyword; write a column of that name as "order"'),
        ("SELECT k, SUM(i) FROM 't.parquet' GROUP BY k, group", "group", 'name as "group"'),
        ("SELECT SUM(i) FROM U&'t.parquet'", "U&", "write a file name in plain single quotes: FROM 'FILE'"),
        ("SELECT SUM(i) FROM E't.parquet'", "E't", "write a file name in plain single quotes: FROM 'FILE'"),
        ("SELECT COUNT(*) FROM 't.parquet' WHERE s = \"x7\"", '"x7"', "if it is text, write it in single quotes: 'x7'"),
        ("SELECT COUNT(*) FROM 't.parquet' WHERE p > '0.5'", "> '0.5'", "write the number without quotes"),
        (
            "SELECT COUNT(*) FROM 't.parquet' WHERE s > 5",
            "> 5",
            "a CSV column is text if one of its cells is not a number",
        ),
        ("SELECT SUM(s) FROM 't.parquet'", "SUM", "a CSV column is text if one of its cells is not a number"),
        ("SELECT COUNT(*) FROM 't.parquet' /* a", "/*", "this comment is not closed"),
    ],
)
def test_what_to_write_instead(few, sql, at, words):
    codes = ("bad_sql", "unsupported_sql", "unknown_table", "unknown_column", "unsupported_type")
    error = refused(few, codes, sql, at=at)
    assert words in error["message"] and "_t" not in error["message"].split("\n")[0], error["message"]


def test_fields_of_a_struct(upsweep, arrow):
    upsweep.table("t.parquet", {"s": [{"x": 1}], "i": [1]})
    message = refused(upsweep, "unknown_column", f"SELECT SUM(s.x) FROM {PATH}", at="s.x")["message"]
    assert "'s' is a column, not a table, of type struct" in message and "convert them to separate columns" in message


def test_errors_beside_long_names_show_them_as_they_are(few):
    long = "c" * 70
    message = refused(few, "bad_sql", f"SELECT SUM(i) FROM {PATH} WHERE i {long}")["message"]
    assert long[:20] in message and "_long_name" not in message


@pytest.mark.parametrize("function", ["floor", "lower", "nosuch"])
@pytest.mark.parametrize(
    "place",
    [
        "SELECT MAX({}(i)) FROM {}",
        "SELECT COUNT(*) FROM {1} WHERE {0}(i) > 3",
        "SELECT {}(i), COUNT(*) FROM {} GROUP BY 1",
    ],
)
def test_an_unknown_function_is_called_that(few, function, place):
    """The error does not claim that an aggregate is in the wrong place."""
    sql = place.format(function, PATH)
    error = refused(few, "unsupported_sql", sql, at=function)
    assert "not supported" in error["message"]


def test_the_caret_stands_under_the_place_in_lines_and_tabs(few):
    lines = f"SELECT COUNT(*)\nFROM {PATH}\nWHERE nope = 1\nLIMIT 3"
    tabs = f"SELECT\tSUM(\tnope)\r\nFROM {PATH}"
    blanks = f"SELECT  {' ' * 300}SUM(nope) FROM {PATH}"
    for sql in (lines, tabs, blanks):
        assert caret(refused(few, "unknown_column", sql, at="nope")["message"]).startswith("nope")


@pytest.mark.parametrize("pad", (0, 10, 20, 29, 30, 60))
def test_an_excerpt_fits_80_columns(few, pad):
    """check_message checks the width."""
    error = refused(few, "unknown_column", f"SELECT COUNT(*) FROM {PATH} WHERE s = '{'x' * pad}' AND nope = 1 AND k > 100")
    assert caret(error["message"]).startswith("nope")


@pytest.mark.parametrize("before", ["é" * 40, "日本" * 30, "😀" * 30, "e\u0301" * 10, "aé日😀" * 9])
def test_the_caret_stands_under_the_place_after_wide_characters(few, before):
    sql = f"SELECT COUNT(*) FROM {PATH} WHERE s = '{before}' AND nope = 1"
    error = refused(few, "unknown_column", sql, at="nope")
    if "\u0301" not in before:
        assert caret(error["message"]).startswith("nope"), error["message"]


@pytest.mark.parametrize("pad", range(8))
def test_an_excerpt_is_cut_between_characters(few, pad):
    sql = f"SELECT COUNT(*) FROM {PATH} WHERE s = '{'x' * pad}{'日é😀' * 20}' AND nope = '{'日é😀' * 20}'"
    done = few.run("query", sql)
    assert "\ufffd" not in done.stderr.decode(), done.stderr


def test_bytes_that_are_no_utf8(few):
    sql = b"SELECT COUNT(*) FROM 't.parquet' WHERE s = '\xff\xfe'"
    done = subprocess.run(
        [os.fsencode(os.environ["UPSWEEP_COMMAND"]), b"query", sql, b"--json"],
        cwd=few.folder,
        capture_output=True,
        check=False,
        timeout=3600,
    )
    assert done.returncode in (0, 2), done
    assert json.loads(done.stdout)
    assert b"exception" not in done.stdout + done.stderr


def test_control_characters_do_not_reach_the_terminal(few):
    done = few.run("query", f"SELECT COUNT(*) FROM {PATH} WHERE s = '\x1b[31m\x07' AND nope = 1")
    assert done.returncode == 2 and b"\x1b" not in done.stderr and b"\x07" not in done.stderr


# ------------------------------------------------------------------------------------------------------ long and deep


def deep(n):
    return {
        "parentheses": f"SUM({'(' * n}i{')' * n})",
        "terms": f"SUM({' + '.join(['i'] * n)})",
        "factors": f"SUM({'i * (' * n}1{')' * n})",
        "minus": f"SUM({'- ' * n}i)",
        "cases": f"SUM({'CASE WHEN b THEN ' * n}1{' END' * n})",
        "outputs": ", ".join(["SUM(i)"] * n),
        "arms": f"SUM(CASE {' '.join(f'WHEN i = {j} THEN {j}' for j in range(n))} END)",
    }


@pytest.mark.parametrize("shape", list(deep(1)))
@pytest.mark.parametrize("n", [50, 500, 5000])
def test_deep_nesting_is_answered_or_refused(few, shape, n):
    done = few.run("query", f"SELECT {deep(n)[shape]} FROM {PATH}", "--json", timeout=3600)
    result = json.loads(done.stdout)
    if done.returncode == 0:
        expected = {"terms": 12 * n, "cases": 2, "arms": 15}.get(shape, 12)
        assert result["rows"][0][0] == expected and shape != "factors"
    else:
        assert result["error"]["code"] in ("unsupported_sql", "bad_sql", "overflow"), result
        assert n > 50 or shape == "factors", result


@pytest.mark.parametrize("n", [100, 1000, 5000])
@pytest.mark.parametrize("form", ["i IN ({})", "{}"])
def test_long_conditions(few, n, form):
    inner = ", ".join(map(str, range(n))) if "IN" in form else " AND ".join(["i >= 0"] * n)
    done = few.run("query", f"SELECT COUNT(*) FROM {PATH} WHERE {form.format(inner)}", "--json", timeout=3600)
    result = json.loads(done.stdout)
    assert result.get("rows") == [[3]] or (n > 1000 and result["error"]["code"] == "unsupported_sql"), result


def test_many_columns(upsweep, arrow):
    upsweep.table("t.parquet", {f"c{i}": [i] for i in range(600)})
    sql = "SELECT " + ", ".join(f"SUM(c{i})" for i in range(600)) + f" FROM {PATH}"
    assert rows(upsweep, sql) == [list(range(600))]


# ------------------------------------------------------------------------------------------------- names, paths, files


@pytest.mark.parametrize(
    "name",
    [
        "it's.parquet",
        'a"b.parquet',
        "with blank.parquet",
        "ü日本😀.parquet",
        "-t.parquet",
        "$$.parquet",
        "a\\b.parquet",
        "a;b--c.parquet",
    ]
    + ["a\nb.parquet", "x" * 200 + ".parquet", "/".join(["é" * 50] * 4) + "/t.parquet", "t.parquet:i", "select"],
)
def test_paths(upsweep, arrow, name):
    path = upsweep.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    upsweep.table("made.parquet", {"i": [1, 2]})
    (upsweep.folder / "made.parquet").rename(path)
    quoted = name.replace("'", "''")
    assert rows(upsweep, f"SELECT SUM(i) FROM '{quoted}'") == [[3]]
    assert rows(upsweep, f"SELECT SUM(x.i) FROM '{quoted}' x WHERE x.i > 1") == [[2]]
    assert rows(upsweep, "SELECT SUM(i) FROM t", "--table", f"t={name}") == [[3]]
    sql = f"SELECT SUM(nope) FROM '{quoted}'"
    done = json.loads(upsweep.run("query", sql, "--json").stdout)
    assert (done["error"]["code"], done["error"]["index"]) == ("unknown_column", sql.index("nope"))


def test_paths_from_elsewhere(one):
    for path in ("./t.parquet", f"../{one.folder.name}/t.parquet", str(one.folder / "t.parquet")):
        assert rows(one, f"SELECT SUM(i) FROM '{path}'") == [[7]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(i) FROM 't.parquet' -- why\n",
        "/* a /* b */ c */ SELECT SUM(i) FROM 't.parquet';",
        "-- first\nSELECT SUM(i) FROM 't.parquet'",
        "select\n\tSum( i )\r\nfrom\n't.parquet' ; ;",
        "SELECT ALL SUM(ALL i) FROM 't.parquet'",
        "SELECT SUM(x.i) FROM 't.parquet' AS x",
        "SELECT sum(\"i\") FROM 't.parquet'",
        "SELECT SUM(I) FROM 't.parquet'",
    ],
)
def test_ways_to_write_it(one, sql):
    assert rows(one, sql) == [[7]]


def test_tables_by_name(one):
    for name, used in (
        ("t", "t"),
        ("t", "T"),
        ("T", "t"),
        ("T", '"T"'),
        ("a b", '"a b"'),
        ("été", "été"),
        ("n" * 60, "n" * 60),
    ):
        assert rows(one, f"SELECT SUM(i) FROM {used}", "--table", f"{name}=t.parquet") == [[7]]
    assert rows(one, "SELECT SUM(t.i) FROM t", "--table", "t=t.parquet", "--table", "u=nowhere") == [[7]]
    assert rows(one, "SELECT SUM(x.i) FROM t x", "--table", "t=t.parquet") == [[7]]
    refused(one, "unknown_table", "SELECT SUM(i) FROM u", "--table", "t=t.parquet", at="u")
    refused(
        one,
        ("unknown_table", "unknown_column", "unsupported_sql", "bad_sql"),
        "SELECT SUM(t.i) FROM t x",
        "--table",
        "t=t.parquet",
        at="t.i",
    )
    refused(one, "not_found", "SELECT SUM(i) FROM t", "--table", "t=nowhere.parquet")
    for option in ("t", "=t.parquet", "t=", ""):
        refused(one, "invalid_argument", "SELECT SUM(i) FROM t", "--table", option)
    both = ("--table", "t=t.parquet", "--table", "T=nowhere")
    assert rows(one, 'SELECT SUM(i) FROM "t"', *both) == rows(one, "SELECT SUM(i) FROM t", *both) == [[7]]
    refused(one, "not_found", "SELECT SUM(i) FROM T", *both)
    refused(one, "unknown_table", 'SELECT SUM(i) FROM "T"', "--table", "t=t.parquet", at='"T"')
    error = refused(one, "unknown_table", "SELECT SUM(i) FROM tAB", "--table", "TAB=t.parquet", "--table", "tab=t.parquet")
    assert '"TAB" or "tab"' in error["message"]


def test_long_names(upsweep, arrow):
    """PostgreSQL cuts names to 63 bytes; here that would read another column."""
    short = "c" * 63
    upsweep.table("t.parquet", {short: [1], short + "x": [2], short + "y": [3], "é" * 40: [4]})
    assert value(upsweep, f'SUM("{short}")') == 1
    assert value(upsweep, f'SUM("{short}x")') == 2
    assert value(upsweep, f"SUM({short}y)") == 3
    assert value(upsweep, f'SUM("{"é" * 40}")') == 4
    answer = upsweep.json("query", f'SELECT SUM("{short}") AS "{short}z" FROM {PATH}')
    assert answer["columns"] == [short + "z"]
    assert rows(upsweep, f"SELECT COUNT(*) FROM {short}t", "--table", f"{short}t=t.parquet") == [[1]]


def test_names_that_stand_in_for_long_ones_are_nobody_elses(upsweep, arrow):
    long = "c" * 70
    mine = [f"_long_name_{i}{rest}" for i in (0, 1) for rest in ("", "_", "_0", "_1")]
    upsweep.table("t.parquet", {long: [1], **{name: [i + 2] for i, name in enumerate(mine)}, "s": ["_long_name_0_0"]})
    for i, name in enumerate(mine):
        assert rows(upsweep, f"SELECT SUM({long}), SUM({name}) AS {name} FROM {PATH}") == [[1, i + 2]]
    assert rows(upsweep, f"SELECT SUM({long}) FROM {PATH} WHERE s = '_long_name_0_0'") == [[1]]
    assert rows(upsweep, "SELECT SUM(_t._long_name_0) FROM _t", "--table", "_t=t.parquet") == [[2]]


def test_odd_names_of_columns(upsweep, arrow):
    names = ["two words", "x.y", 'q"q', "NULL", "true", "select", "ü", "日本", "Mixed", "a'b", "date", "COUNT"]
    upsweep.table("t.parquet", {name: [i] for i, name in enumerate(names)})
    for i, name in enumerate(names):
        quoted = name.replace('"', '""')
        assert value(upsweep, f'SUM("{quoted}")') == i
        assert value(upsweep, f't."{quoted}"', f't GROUP BY "{quoted}" ORDER BY "{quoted}"') == i


def test_columns_that_differ_in_case(upsweep, arrow):
    upsweep.table("t.parquet", {"a": [1], "A": [2], "B": [3], "xy": [4], "Xy": [5]})
    assert (value(upsweep, "SUM(a)"), value(upsweep, 'SUM("A")'), value(upsweep, "SUM(B)")) == (1, 2, 3)
    assert (value(upsweep, "SUM(A)"), value(upsweep, "SUM(Xy)"), value(upsweep, "SUM(t.xy)", "t")) == (2, 5, 4)
    error = refused(upsweep, "unknown_column", f"SELECT SUM(XY) FROM {PATH}", at="XY")
    assert '"xy" or "Xy"' in error["message"]
    error = refused(upsweep, "unknown_column", f'SELECT SUM("b") FROM {PATH}', at='"b"')
    assert 'write "B"' in error["message"]


@pytest.mark.parametrize("name", ["year", "Year", "YEAR", "yEaR"])
def test_a_column_goes_before_an_alias_whatever_its_case(upsweep, arrow, name):
    upsweep.table("t.parquet", {name: [1991, 1992, 1992, 2003]})
    for written in ("year", "Year", f'"{name}"'):
        for source, key in (("'t.parquet'", written), ("'t.parquet' t", f"t.{written}")):
            sql = f"SELECT {written}/10*10 AS year, COUNT(*) FROM {source} GROUP BY {key} ORDER BY 1, 2"
            assert rows(upsweep, sql) == [[1990, 1], [1990, 2], [2000, 1]], sql
    # ORDER BY uses the alias first.
    sql = f"SELECT -year AS year, COUNT(*) FROM {PATH} GROUP BY year/1, -year ORDER BY Year"
    assert [row[0] for row in rows(upsweep, sql)] == [-2003, -1992, -1991]


def test_aliases(few):
    by = "GROUP BY k ORDER BY"
    for alias, order in (('"Total"', "Total"), ('"Total"', "total"), ('"Total"', '"Total"'), ("Total", "TOTAL")):
        assert rows(few, f"SELECT SUM(i) AS {alias}, k FROM {PATH} {by} {order}, k") == rows(
            few, f"SELECT SUM(i), k FROM {PATH} {by} 1, k"
        )
        assert rows(few, f"SELECT i + 1 AS {alias}, COUNT(*) FROM {PATH} GROUP BY {order} ORDER BY 1") == rows(
            few, f"SELECT i + 1, COUNT(*) FROM {PATH} GROUP BY 1 ORDER BY 1"
        )
    error = refused(few, "unknown_column", f'SELECT SUM(i) AS "Total", k FROM {PATH} {by} "total"', at='"total"')
    assert 'write "Total"' in error["message"]
    refused(few, "unknown_column", f'SELECT SUM(i) AS Total, k FROM {PATH} {by} "Total"', at='"Total"')
    for clause in (f"GROUP BY i, k ORDER BY x", "GROUP BY x"):
        error = refused(few, "bad_sql", f"SELECT i AS x, k AS x, COUNT(*) FROM {PATH} {clause}")
        assert "'x'" in error["message"]
    assert rows(few, f"SELECT k AS x, k AS x, COUNT(*) FROM {PATH} GROUP BY x ORDER BY x LIMIT 0") == []
    error = refused(few, "bad_sql", f"SELECT SUM(i) AS total FROM {PATH} WHERE total > 1", at="total > 1")
    assert "this selected column is an aggregate" in error["message"]
    refused(few, "unknown_column", f"SELECT a + 1 AS a FROM {PATH}", at="a + 1")
    refused(few, "unknown_column", f"SELECT y AS x, x AS y FROM {PATH}")


@pytest.mark.parametrize(
    "sql, plain",
    [
        ("SELECT i + 1 AS n FROM {} WHERE n > 2", "SELECT i + 1 FROM {} WHERE i + 1 > 2"),
        ("SELECT k + 1 AS n, n * 2 AS m FROM {} ORDER BY m + n", "SELECT k + 1, (k + 1) * 2 FROM {} ORDER BY k"),
        ("SELECT SUM(i) AS n, n + 1 FROM {} HAVING n > 0", "SELECT SUM(i), SUM(i) + 1 FROM {}"),
        ("SELECT k, SUM(i) AS n FROM {} GROUP BY k ORDER BY -n, k", "SELECT k, SUM(i) FROM {} GROUP BY k ORDER BY -SUM(i), k"),
        ("SELECT k * 2 AS j, COUNT(*) FROM {} GROUP BY j + 1, j ORDER BY j",
         "SELECT k * 2, COUNT(*) FROM {} GROUP BY k * 2 ORDER BY 1"),
        ("SELECT -i AS i, i AS j FROM {} WHERE i > 1", "SELECT -i, i FROM {} WHERE i > 1"),  # columns have priority
    ],
)  # fmt: skip
def test_names_of_selected_columns(few, sql, plain):
    assert rows(few, sql.format(PATH)) == rows(few, plain.format(PATH)) != []


def test_groups_that_are_kept(upsweep, arrow):
    """HAVING with more groups than a block, with LIMIT, with memory that does not hold the groups, and in any order."""
    n = 200_000
    keys = np.random.default_rng(5).permutation(np.arange(n) % 70_000)
    upsweep.table("t.parquet", {"k": keys, "x": np.arange(n)}, row_group_size=30_000)
    counts = np.bincount(keys)
    kept = np.flatnonzero((counts == 3) & (np.arange(70_000) % 7 == 0))
    sql = f"SELECT k, COUNT(*) AS n FROM {PATH} GROUP BY k HAVING n = 3 AND k - k / 7 * 7 = 0"
    for options in ([], ["--threads", "1"], ["--memory", "1MB"]):
        answer = rows(upsweep, sql, *options)
        assert sorted(k for k, _ in answer) == kept.tolist()
        first = [keys.tolist().index(k) for k, _ in answer[:50]]
        assert first == sorted(first)  # in the order of their first rows
        assert rows(upsweep, sql + " LIMIT 20", *options) == answer[:20]
        assert rows(upsweep, sql + " LIMIT 5 OFFSET 7", *options) == answer[7:12]
        assert rows(upsweep, sql + " ORDER BY k DESC LIMIT 3", *options) == [[int(k), 3] for k in kept[::-1][:3]]
    assert rows(upsweep, f"SELECT k FROM {PATH} GROUP BY k HAVING COUNT(*) > 5") == []
    assert rows(upsweep, f"SELECT COUNT(*) FROM {PATH} HAVING COUNT(*) > {n}") == []
    assert rows(upsweep, f"SELECT COUNT(*) FROM {PATH} HAVING COUNT(*) = {n}") == [[n]]
    # Outputs are only computed for groups that are kept; an error of the condition is one of the query.
    assert rows(upsweep, f"SELECT 1 / (COUNT(*) - 2) FROM {PATH} GROUP BY k HAVING COUNT(*) = 3 LIMIT 1") == [[1]]
    refused(upsweep, "division_by_zero", f"SELECT k FROM {PATH} GROUP BY k HAVING 1 / (COUNT(*) - 2) > 0")


def test_several_choices_in_one_query(upsweep, arrow):
    upsweep.table("t.parquet", {"x": [1, 2, None], "y": [5, None, 7]})
    selected = [
        ("NULLIF(x, 1)", [None, 2, None]), ("NULLIF(y, 7)", [5, None, None]), ("NULLIF(2, x)", [2, None, 2]),
        ("IFNULL(x, 0)", [1, 2, 0]), ("IFNULL(y, -1)", [5, -1, 7]), ("IF(x > 1, y, 3)", [3, None, 3]),
        ("IF(y > 5, x, 4)", [4, 4, None]), ("COALESCE(x, y)", [1, 2, 7]), ("COALESCE(y, x)", [5, 2, 7]),
        ("GREATEST(x, y)", [5, 2, 7]), ("LEAST(y, x, 2)", [1, 2, 2]),
    ]  # fmt: skip
    found = rows(upsweep, f"SELECT {', '.join(sql for sql, _ in selected)} FROM {PATH}")
    assert [list(column) for column in zip(*found, strict=True)] == [values for _, values in selected]


def test_distinct_rows(few):
    assert rows(few, f"SELECT DISTINCT k FROM {PATH} ORDER BY k") == rows(few, f"SELECT k FROM {PATH} GROUP BY k ORDER BY k")
    assert rows(few, f"SELECT DISTINCT 5 FROM {PATH}") == [[5]]
    assert rows(few, f"SELECT DISTINCT 5 FROM {PATH} WHERE k > 1000") == []
    every = rows(few, f"SELECT * FROM {PATH}")
    assert rows(few, f"SELECT DISTINCT * FROM {PATH}") == [row for i, row in enumerate(every) if row not in every[:i]]
    assert rows(few, f"SELECT DISTINCT k, COUNT(*) FROM {PATH} GROUP BY k ORDER BY k") == rows(
        few, f"SELECT k, COUNT(*) FROM {PATH} GROUP BY k ORDER BY k"
    )


@pytest.mark.parametrize(
    "sql, plain",
    [
        ("FROM {}", "SELECT * FROM {}"),
        ("FROM {} LIMIT 2;", "SELECT * FROM {} LIMIT 2"),
        ("/* a */ from {} -- b\n WHERE k > 1 ORDER BY ALL", "SELECT * FROM {} WHERE k > 1 ORDER BY ALL"),
        ("FROM {} SELECT SUM(i) FILTER (WHERE k > 1)", "SELECT SUM(i) FILTER (WHERE k > 1) FROM {}"),
        ("FROM {} t SELECT t.k, COUNT(*) WHERE i > 0 GROUP BY ALL ORDER BY ALL DESC",
         "SELECT k, COUNT(*) FROM {} WHERE i > 0 GROUP BY k ORDER BY 1 DESC, 2 DESC"),
        ("SELECT COUNT() FROM {}", "SELECT COUNT(*) FROM {}"),
        ("SELECT COUNT(*) FROM {} GROUP BY ALL", "SELECT COUNT(*) FROM {}"),
        ("SELECT k FROM {} WHERE k BETWEEN SYMMETRIC 3 AND 2", "SELECT k FROM {} WHERE k BETWEEN 2 AND 3"),
        ("SELECT COUNT(*) FROM {} WHERE (i > 1) IS UNKNOWN", "SELECT COUNT(*) FROM {} WHERE i IS NULL"),
    ],
)  # fmt: skip
def test_forms_of_duckdb(few, sql, plain):
    assert rows(few, sql.format(PATH)) == rows(few, plain.format(PATH)) != []


def test_names_with_escapes(upsweep, arrow):
    upsweep.table("t.parquet", {"a": [1], "U": [2]})
    assert rows(upsweep, f'SELECT SUM(U&"\\0061"), SUM(U), SUM(u) FROM {PATH}') == [[1, 2, 2]]


def test_two_columns_of_one_name(upsweep, arrow):
    upsweep.table("t.parquet", arrow.table([[1], [2], [3]], names=["a", "a", "b"]))
    refused(upsweep, ("malformed", "bad_sql", "unknown_column", "unsupported_sql"), f"SELECT SUM(a) FROM {PATH}")
    assert value(upsweep, "SUM(b)") == 3


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_formats(upsweep, arrow, name):
    upsweep.table(
        name,
        {"i": [3, None, 4], "p": [0.5, 1.5, None], "s": ["a", "b", "a"], "d": [DAY(2000, 1, 1), None, DAY(1999, 1, 1)]},
    )
    sql = f"SELECT s, COUNT(*), COUNT(i), SUM(i), COUNT(p), MIN(d) FROM '{name}' GROUP BY s ORDER BY s"
    assert rows(upsweep, sql) == [["a", 2, 2, 7, 1, "1999-01-01"], ["b", 1, 0, None, 1, None]]


@pytest.mark.parametrize("text", ["day,flag,s\n", "day,flag,s\n,,\n", "day,flag,s\n,,\n,,\n"])
@pytest.mark.parametrize("files", [1, 2])
def test_columns_without_values_are_null_of_any_type(upsweep, text, files):
    for number in range(files):
        (upsweep.folder / f"e{number}.csv").write_text(text)
    n = (text.count("\n") - 1) * files
    path = "'e?.csv'"
    for condition in (
        "day > DATE '2020-01-01'",
        "day BETWEEN DATE '2020-01-01' AND DATE '2020-12-31'",
        "day - DATE '2020-01-01' > 3",
        "DATE '2020-01-01' - day > 3",
        "day + 1 > DATE '2020-01-01'",
        "flag",
        "NOT flag",
        "s = 'a'",
        "s <> 'a'",
        "s >= 'a'",
        "s IN ('a', 'b', 'c', 'd', 'e')",
        "s IN (1, 2, 3, 4, 5)",
        "s NOT IN (1.5, 'a')",
        "s + 1 > 2.5",
        "-s < 1e300",
        "CASE WHEN flag THEN TRUE ELSE s > 1 END",
        "s = day",
    ):
        assert rows(upsweep, f"SELECT COUNT(*) FROM {path} WHERE {condition}") == [[0]], condition
    assert rows(upsweep, f"SELECT COUNT(*), COUNT(s) FROM {path} WHERE s IS NULL AND day IS NULL OR flag") == [[n, 0]]
    answer = upsweep.json("query", f"SELECT SUM(s), MIN(day), MAX(flag), AVG(s), SUM(s * 1.5), MIN(NULL) FROM {path}")
    assert answer["rows"] == [[None] * 6]
    assert answer["types"][1] == answer["types"][2] == answer["types"][5] == "integer"
    groups = rows(upsweep, f"SELECT s, day, COUNT(*) AS n FROM {path} GROUP BY s, day ORDER BY s, day, n")
    assert groups == ([[None, None, n]] if n else [])


def test_columns_without_values_take_the_type_that_another_file_gives_them(upsweep):
    (upsweep.folder / "e1.csv").write_text("day,s\n,\n")
    (upsweep.folder / "e2.csv").write_text("day,s\n2020-01-02,a\n")
    assert rows(upsweep, "SELECT COUNT(*), MAX(s) FROM 'e?.csv' WHERE day > DATE '2020-01-01' AND s = 'a'") == [[1, "a"]]


@pytest.mark.parametrize("tag", ["a1", "é9_", "", "A_1b2"])
def test_strings_in_dollars_are_no_files(upsweep, tag):
    (upsweep.folder / "t2.csv").write_text("s,k\nx from 'y',1\nz,2\nit's,3\n")
    for text in ("x from 'y'", "it's"):
        assert rows(upsweep, f"SELECT COUNT(*) FROM 't2.csv' WHERE s = ${tag}${text}${tag}$") == [[1]]


def test_statistics_of_numbers_that_no_double_is(upsweep, arrow):
    top = 2**53
    upsweep.table(
        "t.parquet",
        {
            "x": [top] * 5,
            "u": arrow.array([2**64 - 2] * 5, arrow.uint64()),
            "m": [-top] * 5,
            "d": arrow.array([D(top)] * 5, arrow.decimal128(20, 0)),
            "c": arrow.array([D("90071992547409.92")] * 5, arrow.decimal128(20, 2)),
        },
    )
    for condition, count in (
        (f"x = {top + 1}", 0),
        (f"x >= {top + 1}", 0),
        (f"x < {top + 1}", 5),
        (f"x IN ({top + 1}, {top + 3}, 1, 2)", 0),
        (f"x = {top + 1} OR x > {top}", 0),
        (f"m = {-top - 1}", 0),
        (f"m > {-top - 1}", 5),
        (f"u = {2**64 - 1}", 0),
        (f"u < {2**64 - 1}", 5),
        (f"u = {2**64 - 2}", 5),
        (f"d = {top + 1}", 0),
        (f"d < {top + 1}", 5),
        ("c = 90071992547409.93", 0),
        ("c < 90071992547409.93", 5),
        ("c = 90071992547409.92", 5),
    ):
        assert value(upsweep, "COUNT(*)", f"WHERE {condition}") == count, condition


def test_long_lists_of_floats_are_looked_up_among_integers(upsweep):
    upsweep.table("t.parquet", {"x": [1, 2, 3, 100_000]})
    numbers = ", ".join(f"{i}e0" if i % 2 else f"{i}.5e0" for i in range(10_000))
    assert value(upsweep, "COUNT(*)", f"WHERE x IN ({numbers}, 1e300)") == 2
    assert value(upsweep, "COUNT(*)", f"WHERE x IN ({numbers}, 1e5)") == 3


def test_csv(upsweep, arrow):
    upsweep.write("t.csv", 'i,p,s,d,b,e\n1,2.50,x,2000-01-01,true,\n,,,,,\n-3,-1.25,"y,z",1999-12-31,false,\n')
    sql = "SELECT COUNT(*), COUNT(i), SUM(i), SUM(p), MAX(s), COUNT(s), MIN(d), COUNT(e) FROM 't.csv'"
    found = rows(upsweep, sql)[0]
    assert found[:4] == [3, 2, -2, "1.25"]
    assert found[4:] == ["y,z", 2, "1999-12-31", 0]
    assert rows(upsweep, "SELECT COUNT(*) FROM 't.csv' WHERE b") == [[1]]
    upsweep.write("one.csv", "x\n1\n\n3\n")  # in a file with one column, an empty line is an empty field
    assert rows(upsweep, "SELECT COUNT(*), COUNT(x), SUM(x) FROM 'one.csv'") == [[3, 2, 4]]
    upsweep.fails("null_value", "reduce", "one.csv", index=1)
    upsweep.write("two.csv", "x,y\n1,2\n\n3,4\n")
    assert rows(upsweep, "SELECT COUNT(*), SUM(x) FROM 'two.csv'") == [[2, 4]]
    assert rows(upsweep, "SELECT COUNT(*) FROM 't.csv' WHERE s IS NULL AND i IS NULL") == [[1]]


def test_csv_decimals_are_exact(upsweep):
    """Prices: the sum as double differs by a cent, and 12.345 is not a double."""
    random = np.random.default_rng(12)
    prices = [D(int(p)).scaleb(-3) for p in random.integers(0, 10**14, 100_000)] + [D("12.345")] * 5
    shown = [f"{p:f}" if i % 3 else f"{p.normalize():f}" for i, p in enumerate(prices)]
    upsweep.write("t.csv", "k,price,w\n" + "".join(f'{i % 3},{p},"x,y"\n' for i, p in enumerate(shown)) + "3,,\n")
    total = sum(prices)
    found = rows(upsweep, "SELECT SUM(price), MIN(price), MAX(price), AVG(price), COUNT(price) FROM 't.csv'")
    average = float(fractions.Fraction(total) / len(prices))
    assert found == [[f"{total:f}", f"{min(prices):f}", f"{max(prices):f}", average, len(prices)]]
    for sign, compare in {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">": operator.gt}.items():
        count = sum(compare(p, D("12.345")) for p in prices)
        assert rows(upsweep, f"SELECT COUNT(*) FROM 't.csv' WHERE price {sign} 12.345") == [[count]]
    groups = rows(upsweep, "SELECT k, SUM(price * 0.07) FROM 't.csv' GROUP BY k ORDER BY k")
    assert groups == [[k, f"{sum(prices[k::3]) * D('0.07'):f}"] for k in range(3)] + [[3, None]]
    assert rows(upsweep, "SELECT MAX(price / 1) FROM 't.csv' WHERE price = 12.345") == [[12.345]]  # a float64


@pytest.mark.parametrize("cell, total", [("0.125", "2.875"), ("9" * 20 + ".25", "100000000000000000002.00")])
def test_a_csv_scale_that_grows(upsweep, cell, total):
    """Types depend on the whole column, not on the position of a cell in the file."""
    fill = "0.00,0,0\n" * 200_000
    for lines in (f"2.75,1,2\n{fill}{cell},1.5,0\n", f"{cell},1.5,0\n{fill}2.75,1,2\n"):
        upsweep.write("t.csv", "x,y,z\n" + lines)
        assert rows(upsweep, "SELECT SUM(x), SUM(y), SUM(z) FROM 't.csv'") == [[total, "2.5", 2]]
    upsweep.write("t.csv", "x\n" + "\n" * 2_000_000 + "1.5\n")
    assert rows(upsweep, "SELECT SUM(x), COUNT(*) FROM 't.csv'") == [["1.5", 2_000_001]]


@pytest.mark.parametrize(
    "cells, total",
    [
        (["1.5", "1e2"], 101.5),
        (["1.5", "2."], 3.5),
        (["1.5", "NaN"], "NaN"),
        (["0." + "1" * 38, "0.5"], f"0.6{'1' * 37}"),
        (["0." + "1" * 39, "0.5"], None),  # more digits than decimals and floats have
        (["0." + "0" * 30 + "1" * 9, "0.5"], 0.5),  # a float has these
        (["1" * 19 + ".5", "0." + "0" * 18 + "1"], "1" * 19 + "." + "5" + "0" * 17 + "1"),
        (["1" * 19 + ".5", "0." + "0" * 19 + "1"], None),
    ],
)
def test_what_csv_decimals_are(upsweep, cells, total):
    for order in (cells, cells[::-1]):
        upsweep.write("t.csv", "k,x\n" + "".join(f"1,{cell}\n" for cell in order))
        if total is None:
            assert sorted(row[0] for row in rows(upsweep, "SELECT x FROM 't.csv'")) == sorted(cells)
        else:
            assert rows(upsweep, "SELECT SUM(x) FROM 't.csv'") == [[total]]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float32", "float64"])
def test_npy(upsweep, dtype):
    upsweep.save("t.npy", np.arange(10), dtype)
    total = rows(upsweep, "SELECT SUM(t), COUNT(*), MIN(t), MAX(t), AVG(t) FROM 't.npy' WHERE t > 2")
    assert total == [[42, 7, 3, 9, 6]]


@pytest.mark.parametrize(
    "kind, values",
    [
        ("binary", [b"a"]),
        ("list", [[1]]),
        ("struct", [{"a": 1}]),
        ("decimal256", [D(1)]),
    ],
)
def test_types_that_are_not_computed_with(upsweep, arrow, kind, values):
    made = {"list": None, "struct": None, "decimal256": arrow.decimal256(50, 2)}.get(kind, kind)
    upsweep.table("t.parquet", {"x": arrow.array(values, made) if made else arrow.array(values), "i": [5]})
    refused(upsweep, "unsupported_type", f"SELECT MAX(x) FROM {PATH}", at="x")
    assert value(upsweep, "SUM(i)") == 5
    assert value(upsweep, "COUNT(*)") == 1


def garbage(arrow, kind, values, width):
    """Every second row is NULL, but its bytes still contain a value."""
    valid = arrow.py_buffer(bytes([0b0101]))
    return arrow.Array.from_buffers(
        kind, 4, [valid, arrow.py_buffer(b"".join(v.to_bytes(width, "little", signed=True) for v in values))]
    )


def test_what_lies_under_null_is_never_looked_at(upsweep, arrow):
    """Arrow leaves the value of a NULL undefined: here it would overflow, divide by zero, or be another group."""
    words = arrow.array(["a", "b"])
    text = arrow.DictionaryArray.from_arrays(garbage(arrow, arrow.int32(), [0, 99_999, 1, -5], 4), words, safe=False)
    columns = {
        "x": garbage(arrow, arrow.int64(), [1, INT64[1], 3, INT64[0]], 8),
        "z": garbage(arrow, arrow.int32(), [1, 0, 3, 0], 4),
        "k": garbage(arrow, arrow.int32(), [1, 7, 1, 9], 4),
        "d": garbage(arrow, arrow.date32(), [1, 2**31 - 1, 3, -(2**31)], 4),
        "p": garbage(arrow, arrow.decimal128(9, 2), [1, 2**126, 3, -(2**126)], 16),
        "s": text,
    }
    upsweep.table("t.arrow", arrow.table(columns))
    sums = "SUM(x), SUM(x * x), SUM(1 / z), MAX(x + 1), MAX(d + 1), SUM(p), MIN(p * p), MIN(s), MAX(s), COUNT(s)"
    expected = [4, 10, 1, 4, "1970-01-05", "0.04", "0.0001", "a", "b", 2]
    assert rows(upsweep, f"SELECT {sums} FROM 't.arrow'") == [expected]
    assert rows(upsweep, "SELECT k, COUNT(*), SUM(x * 2) FROM 't.arrow' GROUP BY k ORDER BY k") == [
        [1, 2, 8],
        [None, 2, None],
    ]
    assert rows(upsweep, "SELECT s, d, p, COUNT(*) FROM 't.arrow' GROUP BY s, d, p ORDER BY s")[2] == [
        None,
        None,
        None,
        2,
    ]
    assert rows(upsweep, "SELECT COUNT(*) FROM 't.arrow' WHERE x > 5 OR z = 0 OR s <> 'a' AND s <> 'b'") == [[0]]


@pytest.mark.parametrize("change", ["cut", "rewrite", "replace", "append"])
def test_a_file_that_changes_while_it_is_read(upsweep, arrow, change):
    """Returns the old answer if the query was faster, otherwise an error; never another number."""
    n = 8_000_000
    upsweep.table("t.parquet", {"x": np.arange(n) % 1000}, row_group_size=200_000, compression="none", use_dictionary=False)
    path = upsweep.folder / "t.parquet"
    other = path.read_bytes().replace((500).to_bytes(8, "little"), (7).to_bytes(8, "little"))
    total = 999 * n // 2
    command = [
        os.environ["UPSWEEP_COMMAND"],
        "query",
        f"SELECT SUM(x) FROM {PATH} WHERE x * x >= 0",
        "--threads",
        "1",
        "--json",
    ]
    running = subprocess.Popen(command, cwd=upsweep.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.03)
    if change == "cut":
        os.truncate(path, path.stat().st_size // 3)
    elif change == "append":
        with path.open("ab") as file:
            file.write(b"more")
    elif change == "rewrite":
        path.write_bytes(other)
    else:
        (upsweep.folder / "new").write_bytes(other[:5000])
        (upsweep.folder / "new").rename(path)
    result = json.loads(running.communicate(timeout=3600)[0])
    if running.returncode == 0:
        assert result["rows"] == [[total]]
    else:
        assert running.returncode in (1, 3) and "t.parquet" in result["error"]["message"], result


def test_bad_files(upsweep, arrow):
    upsweep.write("none.parquet", "")
    upsweep.write("text.txt", "{}")
    upsweep.write("bad.parquet", b"PAR1" + b"\0" * 50 + b"PAR1")
    upsweep.write("bad.csv", "a,b\n1,2\n3\n")
    for name in ("none.parquet", "text.txt", "bad.parquet", "bad.csv"):
        refused(upsweep, ("malformed", "unsupported_type"), f"SELECT COUNT(*) FROM '{name}'")
    refused(upsweep, "not_found", "SELECT COUNT(*) FROM 'nowhere.parquet'")
    refused(upsweep, "is_directory", "SELECT COUNT(*) FROM '.'")


def test_a_parquet_file_cut_anywhere(upsweep, arrow):
    upsweep.table("t.parquet", {"i": np.arange(3000), "s": [f"w{i % 5}" for i in range(3000)]}, row_group_size=1000)
    whole = (upsweep.folder / "t.parquet").read_bytes()
    cuts = {0, 1, 4, 7, 8, 12, 100, len(whole) // 2, *range(len(whole) - 12, len(whole))} | set(
        range(0, len(whole), len(whole) // 25)
    )
    for cut in sorted(cuts):
        upsweep.write("cut.parquet", whole[:cut])
        error = refused(upsweep, "malformed", "SELECT s, SUM(i) FROM 'cut.parquet' GROUP BY s")
        assert "cut.parquet" in error["message"]


def test_row_groups_that_cannot_match_are_not_read(upsweep, arrow):
    """Two of three row groups are damaged: a query that need not read them succeeds."""
    parquet = pytest.importorskip("pyarrow.parquet")
    file = upsweep.folder / "t.parquet"
    upsweep.table("t.parquet", {"x": np.arange(3000), "y": np.arange(3000) % 7}, row_group_size=1000)
    damaged = bytearray(file.read_bytes())
    for group in (0, 2):
        for column in (0, 1):
            chunk = parquet.ParquetFile(file).metadata.row_group(group).column(column)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            damaged[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    upsweep.write("t.parquet", bytes(damaged))
    for where, count in [
        ("x >= 1000 AND x < 2000", 1000),
        ("1000 <= x AND 1999.5 > x", 1000),
        ("x BETWEEN 1200 AND 1300 AND y >= 0", 101),
        ("x = 1500", 1),
        ("x IN (1100, 1500, 1900)", 3),
        ("x = 1500 OR (x > 1600 AND x < 1603)", 3),
        ("x < -1", 0),
    ]:
        assert value(upsweep, "COUNT(y)", f"WHERE {where}") == count, where
    for where in ("x >= 999 AND x < 2000", "x IN (1100, 2999)", "x < 1500 OR y = 0", "x + 0 = 1500", "x <> 1500"):
        refused(upsweep, "malformed", f"SELECT COUNT(y) FROM {PATH} WHERE {where}")


def test_a_parquet_file_with_a_hole(upsweep, arrow):
    """Some bytes differ: the result is an error, or an answer if the bytes cannot be distinguished from data. No crash,
    no hang."""
    upsweep.table("t.parquet", {"i": np.arange(5000), "s": [f"w{i % 50}" for i in range(5000)]}, compression="snappy")
    whole = bytearray((upsweep.folder / "t.parquet").read_bytes())
    rng = np.random.default_rng(3)
    for start in rng.integers(4, len(whole), 60):
        broken = whole.copy()
        broken[start : start + 8] = rng.bytes(len(broken[start : start + 8]))
        upsweep.write("broken.parquet", bytes(broken))
        done = upsweep.run("query", "SELECT s, SUM(i), COUNT(*) FROM 'broken.parquet' GROUP BY s", "--json", timeout=3600)
        assert done.returncode in (0, 1, 2), (start, done)
        assert json.loads(done.stdout)


# ----------------------------------------------------------------------------------------- threads, options, other ways


def test_the_same_bits_on_any_number_of_threads(upsweep, arrow):
    rng = np.random.default_rng(4)
    n = 400_000
    columns = {
        "f": rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n),
        "g": rng.standard_normal(n).astype("float32"),
        "k": rng.integers(0, 5, n).astype("int8"),
    }
    for group in (n, 7_001, 65_536):
        upsweep.table("t.parquet", columns, row_group_size=group)
        sql = f"SELECT k, SUM(f), AVG(g), SUM(f * g), MIN(f) FROM {PATH} WHERE g < 1 GROUP BY k ORDER BY k"
        expected = rows(upsweep, sql, "--threads", "1")
        for threads in (2, 3, 8, 16):
            assert rows(upsweep, sql, "--threads", threads) == expected
        whole = f"SELECT SUM(f), SUM(g), AVG(f) FROM {PATH}"
        assert rows(upsweep, whole, "--threads", 1) == rows(upsweep, whole, "--threads", 7)


def test_options(one):
    sql = f"SELECT SUM(i) FROM {PATH}"
    assert one.json("query", sql, "--rung", "cpu.blocks")["rung"] == "cpu.blocks"
    assert rows(one, sql, "--device", "cpu") == [[7]]
    for code, rung in (
        ("unknown_rung", "cpu.nope"), ("unknown_rung", "cuda.nope"), ("unsupported", "cpu.predicate_first"),
        ("unsupported", "cuda.fused"),
    ):  # fmt: skip
        message = refused(one, code, sql, "--rung", rung)["message"]
        assert f"'{rung}'" in message and "cpu.blocks, cuda.generated" in message
    refused(one, ("not_built", "no_device"), sql, "--rung", "cuda.generated")
    refused(one, ("not_built", "unsupported"), sql, "--rung", "cuda.generated", "--device", "cpu")
    refused(one, "invalid_argument", sql, "--device", "tpu")
    refused(one, ("not_built", "no_device"), sql, "--device", "cuda")
    refused(one, "invalid_argument", sql, "--threads", "-1")
    one.fails("invalid_argument", "query")
    one.fails("invalid_argument", "query", sql, sql)


def test_standard_output_that_is_closed(upsweep, arrow):
    upsweep.table("t.parquet", {"k": np.arange(200_000)})
    done = upsweep.shell('"$U" query "SELECT k FROM \'t.parquet\' GROUP BY k" | head -n 1 >/dev/null; exit "${PIPESTATUS[0]}"')
    assert (done.returncode, done.stderr) == (141, b"")


# ------------------------------------------------------------------------------------------------------- TPC-H, DuckDB

Q1 = """
select
    l_returnflag, l_linestatus,
    sum(l_quantity) as sum_qty,
    sum(l_extendedprice) as sum_base_price,
    sum(l_extendedprice*(1-l_discount)) as sum_disc_price,
    sum(l_extendedprice*(1-l_discount)*(1+l_tax)) as sum_charge,
    avg(l_quantity) as avg_qty,
    avg(l_extendedprice) as avg_price,
    avg(l_discount) as avg_disc,
    count(*) as count_order
from lineitem
where l_shipdate <= date '1998-12-01' - interval '90' day (3)
group by l_returnflag, l_linestatus
order by l_returnflag, l_linestatus;
"""
Q6 = """
select sum(l_extendedprice*l_discount) as revenue
from lineitem
where l_shipdate >= date '1994-01-01'
  and l_shipdate < date '1994-01-01' + interval '1' year
  and l_discount between .06 - 0.01 and .06 + 0.01
  and l_quantity < 24;
"""


@pytest.fixture(scope="module")
def lineitem(tmp_path_factory):
    """Writes lineitem.parquet with 60 000 rows."""
    folder = tmp_path_factory.mktemp("tpch")
    generator = shutil.which("tpchgen-cli", path=f"{sys.prefix}/bin") or pytest.skip("no tpchgen-cli")
    args = [generator, "-s", "0.01", "--tables", "lineitem", "--format", "parquet", "--output-dir", str(folder)]
    made = subprocess.run(args, capture_output=True, check=False, timeout=3600)
    (path,) = folder.rglob("*.parquet") if made.returncode == 0 else pytest.fail(made.stderr.decode())
    return path


@pytest.mark.parametrize("query", [Q1, Q6], ids=["Q1", "Q6"])
def test_tpch(upsweep, arrow, lineitem, query):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    theirs = duckdb.sql(query.replace("day (3)", "day").replace("from lineitem", f"from '{lineitem}'")).fetchall()
    answer = upsweep.json("query", query, "--table", f"lineitem={lineitem}")
    assert len(answer["rows"]) == len(theirs) > 0
    for mine, their in zip(answer["rows"], theirs, strict=True):
        for name, x, y in zip(answer["columns"], mine, their, strict=True):
            if isinstance(y, float):
                assert x == pytest.approx(y, rel=1e-15), name
            else:
                assert x == (f"{y:f}" if isinstance(y, D) else y), name
    for threads in (1, 3):
        assert rows(upsweep, query, "--table", f"lineitem={lineitem}", "--threads", threads) == answer["rows"]


def test_words_are_counted_as_python_counts(upsweep, arrow):
    rng = np.random.default_rng(9)
    words = [f"word {v}" for v in rng.integers(0, 300, 20_000)]
    upsweep.table("t.parquet", {"s": words}, row_group_size=3_333)
    found = dict(rows(upsweep, f"SELECT s, COUNT(*) FROM {PATH} GROUP BY s"))
    assert found == dict(collections.Counter(words))
