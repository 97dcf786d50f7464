# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_schema.py: `upsweep schema`, and folders such as year=2024 as columns.
import datetime
import gzip
import json
import os

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def needs_arrow(arrow):
    pass


def described(result):
    return [(column["name"], column["type"], column["nulls"]) for column in result["columns"]]


def test_parquet(upsweep, arrow):
    import pyarrow.parquet

    upsweep.table(
        "t.parquet",
        {
            "x": arrow.array([1, None, 3], arrow.int32()),
            "name": ["a", "b", "c"],
            "day": arrow.array([datetime.date(2024, 1, 1)] * 3),
            "pair": arrow.array([{"a": 1, "b": 2}] * 3),
        },
        row_group_size=2,
    )
    result = upsweep.json("schema", "t.parquet")
    assert result["files"] == ["t.parquet"] and result["formats"] == ["Parquet"]
    assert (result["rows"], result["row_groups"]) == (3, 2)
    assert result["bytes"] == (upsweep.folder / "t.parquet").stat().st_size
    assert described(result)[:3] == [("x", "int32", 1), ("name", "text", 0), ("day", "date", 0)]
    assert result["columns"][3]["type"].startswith("struct<")
    metadata = pyarrow.parquet.read_metadata(upsweep.folder / "t.parquet")
    leaves = [[metadata.row_group(g).column(c).total_compressed_size for c in range(5)] for g in range(2)]
    sizes = [sum(group[c] for group in leaves) for c in range(5)]
    assert [column["bytes"] for column in result["columns"]] == [*sizes[:3], sizes[3] + sizes[4]]


def test_text(upsweep, arrow):
    upsweep.table("t.parquet", {"price": arrow.array([None, 2.5]), "a name that is rather long": ["x", "y"]})
    text = upsweep.text("schema", "t.parquet")
    lines = text.splitlines()
    assert lines[0] == "file    t.parquet" and lines[1] == "format  Parquet"
    assert "rows    2" in lines and "groups  1" in lines
    assert [line.split()[:3] for line in lines if line.startswith("price")] == [["price", "float64", "1"]]
    assert all(len(line) <= 80 for line in lines)


def test_csv_and_npy(upsweep):
    upsweep.write("t.csv", "x,y\n1,a\n,b\n")
    result = upsweep.json("schema", "t.csv")
    assert described(result) == [("x", "int64", None), ("y", "text", None)]
    assert result["rows"] == 2 and [column["bytes"] for column in result["columns"]] == [None, None]
    assert "unknown" in upsweep.text("schema", "t.csv")
    assert isinstance(result["remarks"], list)
    upsweep.save("x.npy", np.zeros(5, np.float32))
    result = upsweep.json("schema", "x.npy")
    assert described(result) == [("x", "float32", 0)] and result["columns"][0]["bytes"] == 20


def test_compressed_files_and_standard_input(upsweep):
    content = gzip.compress(b"x,y\n1,a\n2,b\n")
    upsweep.write("t.csv.gz", content)
    result = upsweep.json("schema", "t.csv.gz")
    assert result["formats"] == ["CSV, gzip"] and result["bytes"] == len(content)
    assert result["files"] == ["t.csv.gz"] and result["rows"] == 2
    result = upsweep.json("schema", "-", input=b"x,y\n1,a\n2,b\n")
    assert result["files"] == ["standard input"] and described(result) == [("x", "int64", None), ("y", "text", None)]


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.parquet", "out.arrow"])
def test_output(upsweep, arrow, name):
    upsweep.table("t.parquet", {"a": [1, None], "b, c": ["x", "y"]})
    shown = upsweep.json("schema", "t.parquet", "-o", name)["columns"]
    expected = [[column[key] for key in ("name", "type", "nulls", "bytes")] for column in shown]
    if name == "out.json":
        assert [list(row.values()) for row in json.loads((upsweep.folder / name).read_text())] == expected
    else:
        assert upsweep.json("query", f"SELECT * FROM '{name}'")["rows"] == expected
    assert "b, c" in upsweep.text("schema", "t.parquet", "-o", name)
    assert upsweep.text("schema", "t.parquet", "-o", name, "--quiet") == ""


def test_output_of_unknown_numbers(upsweep):
    upsweep.write("t.csv", "a,b\n1,2\n")
    assert upsweep.text("schema", "t.csv", "--format", "csv") == "name,type,nulls,bytes\na,int64,,\nb,int64,,\n"
    assert "a" in upsweep.text("schema", "t.csv", "--format", "text")
    assert "has no text" in upsweep.fails("invalid_argument", "schema", "t.csv", "-o", "out.npy")["message"]


def test_several_files(upsweep, arrow):
    upsweep.table("a.parquet", {"x": arrow.array([1, None], arrow.int32()), "y": [1.5, 2.5]})
    upsweep.table("b.parquet", {"x": arrow.array([2**40], arrow.int64())})
    result = upsweep.json("schema", "*.parquet")
    assert described(result) == [("x", "int64", 1), ("y", "float64", 1)]
    assert result["rows"] == 3 and result["row_groups"] == 2 and result["files"] == ["a.parquet", "b.parquet"]
    upsweep.write("c.csv", "x\n7\n")
    result = upsweep.json("schema", "a.parquet", "b.parquet", "c.csv")
    assert result["formats"] == ["Parquet", "CSV"] and described(result)[0] == ("x", "int64", None)


def test_errors(upsweep):
    upsweep.fails("not_found", "schema", "missing.parquet")
    upsweep.fails("malformed", "schema", upsweep.write("bad.parquet", "PAR1 no"))
    upsweep.fails("invalid_argument", "schema")


# ------------------------------------------------------------------------------------------------------- folders


@pytest.fixture
def folders(upsweep, arrow):
    for year in (2023, 2024):
        for month in (1, 2):
            folder = f"sales/year={year}/month={month}"
            os.makedirs(upsweep.folder / folder)
            upsweep.table(f"{folder}/part.parquet", {"x": [100 * (year - 2000) + month]})
    return upsweep


def test_folders_are_columns(folders):
    path = "sales/*/*/*.parquet"
    sql = f"SELECT year, month, SUM(x) FROM '{path}' GROUP BY year, month ORDER BY year, month"
    assert folders.json("query", sql)["rows"] == [
        [2023, 1, 2301],
        [2023, 2, 2302],
        [2024, 1, 2401],
        [2024, 2, 2402],
    ]
    assert folders.json("query", f"SELECT SUM(x), COUNT(*) FROM '{path}' WHERE year = 2024 AND month < 2")["rows"] == [
        [2401, 1]
    ]
    assert folders.text("reduce", f"{path}:year", "--op", "max") == "2024\n"
    assert folders.text("reduce", f"{path}:x") == f"{2301 + 2302 + 2401 + 2402}\n"
    assert described(folders.json("schema", path)) == [("x", "int64", 0), ("year", "int64", 0), ("month", "int64", 0)]
    one = "sales/year=2024/month=2/*.parquet"
    assert folders.json("query", f"SELECT MIN(year), MAX(x) FROM '{one}'")["rows"] == [[2024, 2402]]
    # A path without a pattern is only a file.
    folders.fails("unknown_column", "query", "SELECT MIN(year) FROM 'sales/year=2024/month=2/part.parquet'")


def test_conditions_on_folders_skip_files(folders):
    """A damaged file that the condition excludes is not read."""
    path = folders.folder / "sales/year=2023/month=1/part.parquet"
    content = bytearray(path.read_bytes())
    content[4:24] = b"\xff" * 20  # the first page, not the metadata
    path.write_bytes(bytes(content))
    files = "sales/**/*.parquet"
    folders.fails("malformed", "query", f"SELECT SUM(x) FROM '{files}'")
    assert folders.json("query", f"SELECT SUM(x) FROM '{files}' WHERE year = 2024")["rows"] == [[2401 + 2402]]


def test_values_of_folders(upsweep):
    values = {"01": "a", "x%20y": "b", "__HIVE_DEFAULT_PARTITION__": "c", "%zz": "d"}
    for value, word in values.items():
        os.makedirs(upsweep.folder / f"t/key={value}")
        upsweep.write(f"t/key={value}/f.csv", f"word\n{word}\n")
    rows = upsweep.json("query", "SELECT word, key FROM 't/*/*.csv' GROUP BY word, key ORDER BY word")["rows"]
    assert rows == [["a", "01"], ["b", "x y"], ["c", None], ["d", "%zz"]]
    assert upsweep.json("query", "SELECT COUNT(*) FROM 't/*/*.csv' WHERE key IS NULL")["rows"] == [[1]]
    assert upsweep.json("query", "SELECT MAX(word) FROM 't/*/*.csv' WHERE key = 'x y'")["rows"] == [["b"]]


def test_folders_that_are_not_utf8(upsweep):
    os.makedirs(upsweep.folder / "t/key=%ff")
    upsweep.write("t/key=%ff/f.csv", "word\na\n")
    error = upsweep.fails("malformed", "query", "SELECT key FROM 't/*/*.csv'", index=None)
    assert error["message"] == "t/key=%ff/f.csv: the name of the folder 'key=%ff' is not UTF-8; rename it"


def test_a_column_of_the_files_has_priority(upsweep):
    for year in (1, 2):
        os.makedirs(upsweep.folder / f"t/Year={year}/n={year}")
        upsweep.write(f"t/Year={year}/n={year}/f.csv", f"year,x\n{year + 10},5\n")
    assert upsweep.json("query", "SELECT MIN(year), MAX(year), SUM(n) FROM 't/**/*.csv'")["rows"] == [[11, 12, 3]]
    assert described(upsweep.json("schema", "t/**/*.csv")) == [("year", "int64", None), ("x", "int64", None), ("n", "int64", 0)]


def write_parts(upsweep, **texts):
    """Writes a file to the folder dt=KEY for each text."""
    for i, (key, text) in enumerate(texts.items()):
        os.makedirs(upsweep.folder / f"t/dt={key}", exist_ok=True)
        upsweep.write(f"t/dt={key}/{i}.csv", text)


@pytest.mark.parametrize(
    "texts, expected, kind",
    [
        ({"2024-01-01": "id\n1\n", "2024-01-02": "id,dt\n3,zz\n"}, [[1, "2024-01-01"], [3, "zz"]], "text"),
        ({"2024-01-01": "id,DT\n1,zz\n", "2024-01-02": "id\n3\n"}, [[1, "zz"], [3, "2024-01-02"]], "text"),
        ({"7": "id\n1\n", "8": "id,dt\n3,80\n"}, [[1, 7], [3, 80]], "int64"),
        ({"7": "id\n1\n", "8": "id,dt\n3,zz\n"}, [[1, "7"], [3, "zz"]], "text"),
        ({"7": "id\n1\n", "08": "id\n2\n", "9": "id,dt\n3,9\n"}, [[1, "7"], [2, "08"], [3, "9"]], "text"),
        ({"7": "id\n1\n", "8": "id,dt\n3,2.25\n"}, [[1, "7.00"], [3, "2.25"]], "decimal(38, 2)"),
        ({"7": "id\n1\n", "8": "id,dt\n3,5e-1\n"}, [[1, 7], [3, 0.5]], "float64"),
        ({"__HIVE_DEFAULT_PARTITION__": "id\n1\n", "8": "id,dt\n3,8\n"}, [[1, None], [3, 8]], "int64"),
        ({"7": "id,dt\n1,\n", "8": "id,dt\n3,8\n"}, [[1, None], [3, 8]], "int64"),
        ({"2024-01-01": "id\n1\n", "x": "id,dt\n3,2024-01-02\n"}, [[1, "2024-01-01"], [3, "2024-01-02"]], "text"),
    ],
)
def test_folders_have_the_values_that_files_do_not_have(upsweep, texts, expected, kind):
    write_parts(upsweep, **texts)
    path = "t/*/*.csv"
    assert upsweep.json("query", f"SELECT id, dt FROM '{path}' ORDER BY id")["rows"] == expected
    assert described(upsweep.json("schema", path))[1][:2] in {("dt", kind), ("DT", kind)}
    sure = [row for row in expected if row[1] is not None]
    for number, value in sure:  # files are skipped by the values of their folders
        literal = f"'{value}'" if kind == "text" else value
        assert upsweep.json("query", f"SELECT id FROM '{path}' WHERE dt = {literal}")["rows"] == [[number]]
    if kind == "int64" and len(sure) == 2:
        assert upsweep.text("reduce", f"{path}:dt") == f"{sure[0][1] + sure[1][1]}\n"


def test_folders_and_columns_of_other_types_are_named(upsweep, arrow):
    write_parts(upsweep, **{"2024-01-01": "id\n1\n"})
    os.makedirs(upsweep.folder / "t/dt=2024-01-02")
    upsweep.table("t/dt=2024-01-02/a.parquet", {"id": [3], "dt": arrow.array([datetime.date(2024, 1, 2)])})
    message = upsweep.fails("unsupported_type", "query", "SELECT dt FROM 't/*/*'")["message"]
    assert "date in t/dt=2024-01-02/a.parquet and text in the folders of t/dt=2024-01-01/0.csv" in message, message
    assert "--types" not in message
    assert upsweep.json("query", "SELECT SUM(id) FROM 't/*/*'")["rows"] == [[4]]
    os.makedirs(upsweep.folder / "u/y=9007199254740993")
    upsweep.write("u/y=9007199254740993/a.csv", "x\n1\n")
    upsweep.write("u/y=9007199254740993/b.csv", "x,y\n1,5e-1\n")
    message = upsweep.fails("malformed", "query", "SELECT y FROM 'u/*/*'")["message"]
    assert message.startswith("u/y=9007199254740993/a.csv: 9007199254740993 in the name of a folder changes"), message


def test_files_outside_of_folders_are_null(upsweep):
    os.makedirs(upsweep.folder / "t/n=5")
    upsweep.write("t/n=5/f.csv", "x\n1\n")
    upsweep.write("t/f.csv", "x\n2\n")
    rows = upsweep.json("query", "SELECT x, n FROM 't/**/*.csv' GROUP BY x, n ORDER BY x")["rows"]
    assert rows == [[1, 5], [2, None]]
