# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_output.py: -o and --format: the formats of results, as other libraries read them.
import csv
import datetime
import decimal
import io
import json
import math
import os
import resource
import subprocess

import conftest
import numpy as np
import pytest

D = decimal.Decimal
DAY = datetime.date
NAMES = ["out.csv", "out.parquet", "out.arrow", "out.json"]
TEXTS = [
    "plain",
    "a,b",
    'say "x"',
    "two\nlines",
    "",
    " blank",
    "12",
    "007",
    "true",
    "NA",
    "2024-01-31",
    "ü€",
    "12 EUR",
    "E5",
    "ABC-12",
    "5 Jan 2024",
]


@pytest.fixture(autouse=True)
def needs_arrow(arrow):
    pass


def read(upsweep, name):
    """Returns the rows of a file of any format, as tuples, and the names of its columns."""
    import pyarrow as pa
    import pyarrow.parquet

    path = upsweep.folder / name
    if name.endswith(".json"):
        lines = path.read_text().splitlines()
        assert lines[0].startswith("[") and lines[-1].endswith("]"), lines
        for line in lines:  # one row on each line
            json.loads(line.strip("[],") or "{}")
        rows = json.loads(path.read_text())
        return [tuple(row.values()) for row in rows], list(rows[0]) if rows else []
    if name.endswith(".csv"):
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        return [tuple(row) for row in rows[1:]], rows[0]
    if name.endswith(".parquet"):
        table = pyarrow.parquet.read_table(path)
    else:
        with pa.ipc.open_file(path) as reader:
            table = reader.read_all()
    return [tuple(row.values()) for row in table.to_pylist()], table.column_names


@pytest.fixture
def table(upsweep, arrow):
    upsweep.table(
        "t.parquet",
        {
            "key": arrow.array([1, 2, 3]),
            "price": arrow.array([D("1.50"), None, D("-0.05")], arrow.decimal128(12, 2)),
            "real": arrow.array([0.1, math.nan, 3.0]),
            "day": arrow.array([DAY(2024, 2, 29), DAY(1, 1, 1), None]),
            "name": arrow.array(["x,y", "", None]),
            "flag": arrow.array([True, False, None]),
        },
    )
    return upsweep


SQL = (
    "SELECT key, MIN(price) AS price, MIN(real) AS real, MIN(day) AS day, name, COUNT(*) AS n "
    "FROM 't.parquet' GROUP BY key, name ORDER BY key"
)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_in_every_format(table, name):
    text = table.text("query", SQL, "-o", name)
    assert text.startswith("rows   3\n") and text.endswith(f"output {name}\n"), text
    rows, names = read(table, name)
    assert names == ["key", "price", "real", "day", "name", "n"]
    if name == "out.csv":
        assert (table.folder / name).read_text() == (
            'key,price,real,day,name,n\n1,1.50,0.1,2024-02-29,"x,y",1\n2,,NaN,0001-01-01,"",1\n3,-0.05,3.0,,,1\n'
        )
    elif name == "out.json":
        assert rows == [
            (1, "1.50", 0.1, "2024-02-29", "x,y", 1),
            (2, None, "NaN", "0001-01-01", "", 1),
            (3, "-0.05", 3.0, None, None, 1),
        ]
    else:
        assert rows[0] == (1, D("1.50"), 0.1, DAY(2024, 2, 29), "x,y", 1)
        assert rows[1][:2] == (2, None) and math.isnan(rows[1][2]) and rows[1][3:] == (DAY(1, 1, 1), "", 1)
        assert rows[2] == (3, D("-0.05"), 3.0, None, None, 1)


def test_types_of_an_answer(table, arrow):
    import pyarrow.parquet

    sql = "SELECT SUM(key) AS i, SUM(price) AS p, SUM(real) AS r, MAX(day) AS d, MAX(name) AS s FROM 't.parquet' WHERE key < 2"
    table.ok("query", sql, "-o", "out.parquet", "--quiet")
    schema = pyarrow.parquet.read_schema(table.folder / "out.parquet")
    assert [str(field.type) for field in schema] == ["int64", "decimal128(38, 2)", "double", "date32[day]", "string"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [([2**63 - 1], "int64"), ([2**63], "uint64"), ([2**64 - 1, 1], "decimal128(38, 0)"), ([-(2**63), -1], "decimal128(38, 0)")],
)
def test_integers_of_more_than_64_bits(upsweep, arrow, values, kind):
    import pyarrow.parquet

    upsweep.write("t.csv", "x\n" + "".join(f"{value}\n" for value in values))
    upsweep.ok("query", "SELECT SUM(x) AS x FROM 't.csv'", "-o", "out.parquet", "--quiet")
    table = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")
    assert str(table.schema.field("x").type) == kind
    assert table["x"].to_pylist() == [sum(values)]
    upsweep.ok("query", "SELECT SUM(x) AS x FROM 't.csv'", "-o", "out.json", "--quiet")
    assert (upsweep.folder / "out.json").read_text() == f'[{{"x":{sum(values)}}}]\n'
    if kind == "uint64":
        upsweep.ok("query", "SELECT SUM(x) AS x FROM 't.csv'", "-o", "out.npy", "--quiet")
        assert upsweep.load("out.npy").dtype == np.uint64
    if kind.startswith("decimal"):
        upsweep.fails("overflow", "query", "SELECT SUM(x) AS x FROM 't.csv'", "-o", "out.npy")


def test_an_answer_without_rows(table):
    sql = "SELECT key, COUNT(*) FROM 't.parquet' WHERE key > 9 GROUP BY key"
    for name in NAMES:
        table.ok("query", sql, "-o", name, "--quiet")
        assert read(table, name)[0] == []
    assert (table.folder / "out.json").read_text() == "[]\n"
    assert (table.folder / "out.csv").read_text() == "key,count\n"
    table.ok("query", "SELECT key FROM 't.parquet' WHERE key > 9 GROUP BY key", "-o", "out.npy", "--quiet")
    assert table.load("out.npy").shape == (0,)


def test_npy_has_one_column(table):
    table.ok("query", "SELECT key FROM 't.parquet' GROUP BY key ORDER BY key", "-o", "out.npy", "--quiet")
    assert table.load("out.npy").tolist() == [1, 2, 3] and table.load("out.npy").dtype == np.int64
    table.ok("query", "SELECT MAX(day) FROM 't.parquet'", "-o", "day.npy", "--quiet")
    assert table.load("day.npy").tolist() == [DAY(2024, 2, 29)]
    table.ok("query", "SELECT MIN(real) FROM 't.parquet' WHERE key = 1", "-o", "real.npy", "--quiet")
    assert table.load("real.npy").tolist() == [0.1]
    for columns in ("key, day", "name", "price"):
        error = table.fails("invalid_argument", "query", f"SELECT {columns} FROM 't.parquet' GROUP BY {columns}", "-o", "o.npy")
        assert ".parquet" in error["message"]
    table.fails("null_value", "query", "SELECT MIN(key) FROM 't.parquet' WHERE key > 9", "-o", "o.npy", index=0)


def test_equal_names_get_numbers(table):
    table.ok("query", "SELECT key, key, key FROM 't.parquet' WHERE key = 1 GROUP BY key", "-o", "out.json", "--quiet")
    assert (table.folder / "out.json").read_text() == '[{"key":1,"key_2":1,"key_3":1}]\n'


def test_texts_are_read_back(upsweep, arrow):
    """upsweep, Python and DuckDB read what was written."""
    upsweep.table("t.parquet", {"i": list(range(len(TEXTS))), "text": TEXTS})
    upsweep.ok("query", "SELECT text, i FROM 't.parquet' GROUP BY i, text ORDER BY i", "-o", "out.csv", "--quiet")
    written = (upsweep.folder / "out.csv").read_text()
    assert [row[0] for row in read(upsweep, "out.csv")[0]] == TEXTS
    quoted = {text for text in TEXTS if f'"{text}"' in written or '"' in text}
    assert quoted == set(TEXTS) - {"plain", "007", "ü€", "E5", "ABC-12"}
    again = upsweep.json("query", "SELECT text, i FROM 'out.csv' GROUP BY i, text ORDER BY i")
    assert [row[0] for row in again["rows"]] == TEXTS
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql(f"SELECT text FROM read_csv('{upsweep.folder / 'out.csv'}', null_padding=false) ORDER BY i").fetchall()
    assert [row[0] or "" for row in rows] == TEXTS


def test_names_that_look_like_other_delimiters_are_in_quotes(upsweep):
    upsweep.write("t.csv", '"a;b","c|d","12"\n1;1,2|2,3\n')
    upsweep.ok("query", 'SELECT "a;b", "c|d", "12" FROM \'t.csv\' GROUP BY 1, 2, 3', "-o", "out.csv", "--quiet")
    assert (upsweep.folder / "out.csv").read_text().startswith('"a;b","c|d","12"\n')
    assert upsweep.json("query", "SELECT COUNT(*) FROM 'out.csv'")["rows"] == [[1]]


def test_query_to_standard_output(table):
    sql = "SELECT key, name FROM 't.parquet' WHERE key = 1 GROUP BY key, name"
    assert table.text("query", sql, "--format", "csv") == 'key,name\n1,"x,y"\n'
    assert table.text("query", sql, "-o", "-", "--format", "csv") == 'key,name\n1,"x,y"\n'
    assert table.text("query", sql, "--format", "json") == '[{"key":1,"name":"x,y"}]\n'
    assert table.text("query", sql, "--format", "table") == table.text("query", sql)
    assert table.text("query", sql, "-o", "-") == table.text("query", sql)
    raw = table.ok("query", "SELECT key FROM 't.parquet' WHERE key = 2 GROUP BY key", "--format", "npy")
    assert np.load(io.BytesIO(raw)).tolist() == [2]
    table.fails("invalid_argument", "query", sql, "--format", "xml")
    table.fails("invalid_argument", "query", sql, "-o", "out.csv", "--format", "json")
    error = table.run("query", sql, "--format", "csv", "--json")
    assert error.returncode == 2 and b"choose one" in error.stdout


def test_query_with_output_as_json(table):
    result = table.json("query", SQL, "-o", "out.csv")
    assert result["count"] == 3 and result["output"] == "out.csv" and "rows" not in result
    assert result["columns"] == ["key", "price", "real", "day", "name", "n"]
    assert table.ok("query", SQL, "-o", "out.csv", "--quiet") == b""


def test_other_names_are_refused(table):
    for name in ("out.txt", "out", "out.csv.gz", "out.xlsx"):
        for args in (["query", SQL], ["scan", "t.parquet:key"], ["reduce", "t.parquet:key"]):
            error = table.fails("invalid_argument", *args, "-o", name)
            for ending in (".csv", ".parquet", ".arrow", ".json", ".npy"):
                assert ending in error["message"], error


def test_a_failed_query_leaves_the_old_file(table):
    for name in NAMES:
        table.write(name, "before")
        table.fails("division_by_zero", "query", "SELECT key / (key - 3) AS x FROM 't.parquet' GROUP BY key", "-o", name)
        assert (table.folder / name).read_bytes() == b"before"
    table.ok("query", SQL, "-o", "out.csv", "--quiet")
    assert (table.folder / "out.csv").read_text().startswith("key,")


def test_a_full_disk_leaves_the_old_file(upsweep, arrow):
    """A limit on the size of files stands for a full disk."""
    count = 200_000
    upsweep.table("t.parquet", {"x": np.arange(count)})
    for name in [*NAMES, "out.npy"]:
        upsweep.write(name, "before")
        done = subprocess.run(
            [conftest.COMMAND, "query", "SELECT x FROM 't.parquet' GROUP BY x", "-o", name],
            cwd=upsweep.folder,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode != 0, name
        assert (upsweep.folder / name).read_bytes() == b"before"
        assert not [one for one in os.listdir(upsweep.folder) if one.startswith(".")]


# ------------------------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64"])
def test_a_scan_in_every_format(upsweep, arrow, dtype):
    values = np.array([1, 2, 3.5 if dtype.startswith("f") else 3], dtype)
    upsweep.table("t.parquet", {"x": arrow.array(values)})
    expected = np.cumsum(values).tolist()
    for name in NAMES:
        upsweep.ok("scan", "t.parquet:x", "-o", name, "--quiet")
        rows, names = read(upsweep, name)
        assert names == ["x"]
        assert [float(row[0]) for row in rows] == expected
    upsweep.write("out.csv", "")
    assert upsweep.text("scan", "t.parquet:x", "--format", "csv").splitlines() == ["x", *map(str, expected)]
    assert [float(line) for line in upsweep.text("scan", "t.parquet:x", "-o", "-").splitlines()] == expected


def test_decimals_dates_and_nulls_of_scans(upsweep, arrow):
    upsweep.table("t.parquet", {"p": arrow.array([None, D("1.25"), D("-3.00")], arrow.decimal128(9, 2))})
    args = ["scan", "t.parquet:p", "--op", "min", "--nulls", "skip"]
    assert upsweep.text(*args, "--format", "csv") == "p\n\n1.25\n-3.00\n"
    assert upsweep.text(*args, "--format", "json") == '[{"p":null},\n{"p":"1.25"},\n{"p":"-3.00"}]\n'
    assert upsweep.text(*args, "-o", "-") == "NULL\n1.25\n-3.00\n"
    upsweep.table("d.parquet", {"d": arrow.array([DAY(2024, 2, 29), DAY(1999, 1, 1)])})
    assert upsweep.text("scan", "d.parquet:d", "--op", "min", "-o", "-") == "2024-02-29\n1999-01-01\n"
    assert upsweep.text("scan", "d.parquet:d", "--op", "min", "--format", "json") == (
        '[{"d":"2024-02-29"},\n{"d":"1999-01-01"}]\n'
    )


def test_floats_read_back_as_the_same_float(upsweep):
    values = np.array([0.1, 1e300, -0.0, 5e-324, 1 / 3, 1e22, 123456789.125])
    upsweep.save("x.npy", values)
    for form in ("csv", "json"):
        text = upsweep.text("scan", "x.npy", "--op", "max", "--exclusive", "--init", "0.1", "--format", form)
        assert "0.1" in text
    upsweep.ok("scan", "x.npy", "--op", "add", "-o", "out.json", "--quiet")
    sums = [row[0] for row in read(upsweep, "out.json")[0]]
    assert sums == np.cumsum(values).tolist() and all(isinstance(one, float) for one in sums)
    single = np.array([0.1, 16777216, 3], np.float32)
    upsweep.save("x.npy", single)
    lines = upsweep.text("scan", "x.npy", "--op", "max", "--format", "csv").splitlines()
    assert lines == ["x", "0.1", "16777216.0", "16777216.0"]
    upsweep.save("x.npy", np.array([math.nan, math.inf]))
    assert upsweep.text("scan", "x.npy", "--op", "max", "--format", "json") == '[{"x":"NaN"},\n{"x":"NaN"}]\n'


def test_lists_in_every_format(upsweep, arrow):
    lists = [[1.5, None], [], None, [2.0]]
    upsweep.table("t.parquet", {"x": arrow.array(lists, arrow.list_(arrow.float64()))})
    for name in ("out.parquet", "out.arrow", "out.json"):
        upsweep.ok("pack", "t.parquet:x", "-o", name, "--quiet")
        assert [row[0] for row in read(upsweep, name)[0]] == lists
    assert upsweep.text("pack", "t.parquet:x", "--format", "csv") == 'x\n"[1.5,NULL]"\n[]\n\n[2.0]\n'
    assert upsweep.text("pack", "t.parquet:x", "-o", "-") == "[1.5,NULL]\n[]\nNULL\n[2]\n"
    upsweep.fails("invalid_argument", "pack", "t.parquet:x", "--format", "npy")


def test_columns_side_by_side(upsweep):
    upsweep.save("a.npy", np.array([1, 2, 3]))
    upsweep.save("b.npy", np.array([0.5, 1.5, 2.5]))
    upsweep.save("mask.npy", np.array([True, False, True]))
    args = ["select", "a.npy", "b.npy", "--mask", "mask.npy"]
    assert upsweep.text(*args, "-o", "-") == "1\t0.5\n3\t2.5\n"
    assert upsweep.text(*args, "--format", "csv") == "a,b\n1,0.5\n3,2.5\n"
    upsweep.ok(*args, "-o", "out.json", "--quiet")
    assert read(upsweep, "out.json") == ([(1, 0.5), (3, 2.5)], ["a", "b"])


def test_offsets_and_segment_as_text(upsweep):
    upsweep.save("starts.npy", np.array([0, 2]))
    upsweep.save("stops.npy", np.array([2, 5]))
    assert upsweep.text("offsets", "starts.npy", "stops.npy", "-o", "-") == "0\n2\n5\n"
    upsweep.ok("offsets", "starts.npy", "stops.npy", "-o", "offsets.npy", "--quiet")
    upsweep.save("x.npy", np.array([5, 1, 4, 3, 9]))
    assert upsweep.text("segment", "x.npy", "--offsets", "offsets.npy", "-o", "-") == "6\n16\n"
    assert upsweep.text("segment", "x.npy", "--offsets", "offsets.npy", "--op", "sort", "-o", "-") == "[1,5]\n[3,4,9]\n"


def test_reduce_writes_a_row(upsweep, arrow):
    upsweep.table("t.parquet", {"p": arrow.array([D("99999999999999.99")] * 3, arrow.decimal128(18, 2))})
    assert upsweep.text("reduce", "t.parquet:p", "-o", "out.json") == "299999999999999.97\n"
    assert read(upsweep, "out.json") == ([("299999999999999.97",)], ["p"])
    assert upsweep.ok("reduce", "t.parquet:p", "-o", "out.parquet", "--quiet") == b""
    assert read(upsweep, "out.parquet")[0] == [(D("299999999999999.97"),)]
    assert upsweep.text("reduce", "t.parquet:p", "--format", "csv") == "p\n299999999999999.97\n"
    assert upsweep.text("reduce", "t.parquet:p", "-o", "-") == "299999999999999.97\n"
    assert upsweep.json("reduce", "t.parquet:p", "-o", "out.csv")["output"] == "out.csv"
    upsweep.save("x.npy", np.array([1.5, 2], np.float32))
    upsweep.ok("reduce", "x.npy", "-o", "out.npy", "--quiet")
    assert upsweep.load("out.npy").tolist() == [3.5] and upsweep.load("out.npy").dtype == np.float32


def test_npy_to_standard_output_is_asked_for(upsweep):
    upsweep.save("x.npy", np.array([1, 2, 3]))
    assert upsweep.text("scan", "x.npy", "-o", "-") == "1\n3\n6\n"
    assert np.load(io.BytesIO(upsweep.ok("scan", "x.npy", "--format", "npy"))).tolist() == [1, 3, 6]
    assert np.load(io.BytesIO(upsweep.ok("scan", "x.npy", "--format", "npy", "-o", "-"))).tolist() == [1, 3, 6]
    assert upsweep.text("scan", "x.npy", "-o", "/dev/stdout") == "1\n3\n6\n"


def test_pipes_and_devices(upsweep, arrow):
    """Without --format they receive .npy, or CSV from a query."""
    upsweep.table("x.parquet", {"x": [1, 2, 3]})
    os.mkfifo(upsweep.folder / "fifo")
    for args, expected in (
        (["scan", "x.parquet:x", "--format", "csv"], "x\n1\n3\n6\n"),
        (["query", "SELECT SUM(x) AS s FROM 'x.parquet'"], "s\n6\n"),
        (["query", "SELECT SUM(x) AS s FROM 'x.parquet'", "--format", "json"], '[{"s":6}]\n'),
    ):
        reader = subprocess.Popen(["cat", "fifo"], cwd=upsweep.folder, stdout=subprocess.PIPE, text=True)
        upsweep.ok(*args, "-o", "fifo", "--quiet")
        assert reader.communicate()[0] == expected
    reader = subprocess.Popen(["cat", "fifo"], cwd=upsweep.folder, stdout=subprocess.PIPE)
    upsweep.ok("scan", "x.parquet:x", "-o", "fifo", "--quiet")
    assert np.load(io.BytesIO(reader.communicate()[0])).tolist() == [1, 3, 6]


# --------------------------------------------------------------------------------------------------------------- rows


def test_rows_are_written_as_they_are_read(upsweep, arrow):
    import pyarrow.parquet

    count = 300_000
    rng = np.random.default_rng(3)
    table = arrow.table(
        {
            "i": arrow.array(np.arange(count)),
            "f": arrow.array(rng.random(count, np.float32), mask=rng.random(count) < 0.1),
            "u": arrow.array(rng.integers(0, 2**64, count, np.uint64)),
            "text": arrow.array(np.char.add("w", rng.integers(0, 1000, count).astype(str))),
        }
    )
    upsweep.table("t.parquet", table, row_group_size=70_000)
    sql = "SELECT i, f, u, text FROM 't.parquet' WHERE i - i / 3 * 3 = 0"
    expected = table.filter(arrow.array(np.arange(count) % 3 == 0))
    result = upsweep.json("query", sql, "-o", "out.parquet")
    assert result["count"] == expected.num_rows
    assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet").equals(expected)
    for name in ("out.csv", "out.arrow", "out.json"):
        upsweep.ok("query", sql, "-o", name, "--quiet")
        again = f"SELECT SUM(i), COUNT(f), SUM(u), MAX(text) FROM '{'out.csv' if name == 'out.json' else name}'"
        assert upsweep.json("query", again)["rows"] == upsweep.json("query", again.replace(name, "out.parquet"))["rows"]
    rows = json.loads((upsweep.folder / "out.json").read_text())
    assert [row["i"] for row in rows] == expected["i"].to_pylist() and rows[5]["text"] == expected["text"][5].as_py()
    upsweep.ok("query", "SELECT i FROM 't.parquet' LIMIT 5 OFFSET 2", "-o", "out.npy", "--quiet")
    assert upsweep.load("out.npy").tolist() == [2, 3, 4, 5, 6]


def test_the_end_of_a_pipe_ends_a_query_of_rows(upsweep, arrow):
    upsweep.table("t.parquet", {"x": np.arange(2_000_000)})
    done = upsweep.shell(""""$U" query "SELECT x FROM 't.parquet'" --format csv | head -2; echo ${PIPESTATUS[0]}""")
    assert (done.stdout, done.stderr) == (b"x\n0\n141\n", b"")


def test_an_error_late_in_the_rows_leaves_the_old_file(upsweep, arrow):
    upsweep.table("t.parquet", {"x": np.arange(300_000)[::-1]}, row_group_size=70_000)
    for name in [*NAMES, "out.npy"]:
        upsweep.write(name, "before")
        upsweep.fails("division_by_zero", "query", "SELECT 1 / x AS y FROM 't.parquet'", "-o", name, index=299_999)
        assert (upsweep.folder / name).read_bytes() == b"before"


def test_an_output_that_cannot_be_written_is_reported_before_the_query_runs(table):
    table.fails("not_found", "query", "SELECT 1 / (key - key) AS x FROM 't.parquet'", "-o", "nowhere/out.csv")


def test_a_limit_for_the_size_of_files(upsweep):
    """SIGXFSZ does not end the command."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, 1 << 10))

    upsweep.save("t.npy", np.arange(10_000))
    upsweep.write("out.csv", "before")
    error = upsweep.fails("disk_full", "query", "SELECT t FROM 't.npy'", "-o", "out.csv", index=None, preexec_fn=limit)
    assert "ulimit -f" in error["message"] and (upsweep.folder / "out.csv").read_text() == "before"


def test_a_link_to_a_file_that_does_not_exist(upsweep):
    upsweep.save("t.npy", np.arange(2))
    os.makedirs(upsweep.folder / "there")
    (upsweep.folder / "link.csv").symlink_to("there/next.csv")
    (upsweep.folder / "there/next.csv").symlink_to("out.csv")
    upsweep.ok("query", "SELECT t FROM 't.npy'", "-o", "link.csv")
    assert (upsweep.folder / "there/out.csv").read_text() == '"t"\n0\n1\n'
    assert (upsweep.folder / "link.csv").is_symlink()
