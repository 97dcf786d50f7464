# SPDX-License-Identifier: Apache-2.0
# tests/python/test_read.py: files as pyarrow tables, and their schemas.
import datetime
import decimal
import gzip
import shlex
import subprocess
import sys

import numpy as np
import pytest
import upsweep

pa = pytest.importorskip("pyarrow")
D = decimal.Decimal


@pytest.fixture
def columns():
    return {
        "i8": pa.array([1, None, -3], pa.int8()),
        "u64": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "f32": pa.array([0.5, None, 3], pa.float32()),
        "f64": pa.array([0.1, float("inf"), None]),
        "flag": pa.array([True, None, False]),
        "day": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)]),
        "small": pa.array([D("1.50"), None, D("-0.05")], pa.decimal128(5, 2)),
        "wide": pa.array([D("12345678901234567890.5"), None, D("0.5")], pa.decimal128(30, 1)),
        "text": pa.array(["a", None, "ü"]),
        "lists": pa.array([[1, None], None, []], pa.list_(pa.int32())),
    }


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_types_and_values(tmp_path, columns, suffix):
    import pyarrow.parquet

    path = tmp_path / f"t.{suffix}"
    table = pa.table(columns)
    if suffix == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=2)
    else:
        new = pa.ipc.new_stream if suffix == "arrows" else pa.ipc.new_file
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    result = upsweep.read(path)
    assert result.to_pydict() == table.to_pydict()
    types = {field.name: str(field.type) for field in result.schema}
    assert types.pop("small") in ("decimal128(9, 2)", "decimal128(18, 2)")  # as it is stored in 32 or 64 bits
    assert types == {
        "i8": "int8",
        "u64": "uint64",
        "f32": "float",
        "f64": "double",
        "flag": "bool",
        "day": "date32[day]",
        "wide": "decimal128(38, 1)",
        "text": "string",
        "lists": "large_list<item: int32>",
    }
    assert result.validate(full=True) is None


def test_many_rows_on_any_number_of_threads(tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(1)
    n = 300_000
    table = pa.table(
        {
            "x": pa.array(rng.integers(0, 1000, n), mask=rng.random(n) < 0.1),
            "flag": pa.array(rng.random(n) < 0.5, mask=rng.random(n) < 0.1),
            "text": pa.array(np.char.add("w", rng.integers(0, 50, n).astype(str)), mask=rng.random(n) < 0.1),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=70_000)
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    for threads in (1, 3):
        with upsweep.options(threads=threads):
            assert upsweep.read(tmp_path / "t.parquet").equals(table)
            assert upsweep.read(tmp_path / "t.csv").equals(table)


def test_other_files(tmp_path):
    np.save(tmp_path / "x.npy", np.array([True, False]))
    assert upsweep.read(tmp_path / "x.npy").to_pydict() == {"x": [True, False]}
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,x\n,y\n"))
    assert upsweep.read(tmp_path / "t.csv.gz").to_pydict() == {"a": [1, None], "b": ["x", "y"]}
    (tmp_path / "empty.csv").write_text("a,b\n")
    assert upsweep.read(tmp_path / "empty.csv").num_rows == 0


def test_several_files(tmp_path):
    for year in (2023, 2024):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        (folder / "f.csv").write_text(f"x\n{year - 2000}\n")
    expected = {"x": [23, 24], "year": [2023, 2024]}
    assert upsweep.read(tmp_path / "*" / "*.csv").to_pydict() == expected
    paths = [tmp_path / f"year={year}" / "f.csv" for year in (2024, 2023)]
    assert upsweep.read(paths).to_pydict() == {"x": [24, 23]}
    assert upsweep.query("SELECT SUM(x), MAX(year) FROM t", t=str(tmp_path / "*" / "*.csv")).rows() == [(47, 2024)]


def test_the_table_does_not_depend_on_the_file(tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.table({"x": np.arange(10_000)})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    result = upsweep.read(path)
    path.write_bytes(b"")
    assert result.equals(table)


def test_schema(tmp_path, columns):
    import pyarrow.parquet

    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    found = upsweep.schema(path)
    assert found["files"] == [str(path)] and found["formats"] == ["Parquet"]
    assert (found["rows"], found["row_groups"], found["bytes"]) == (3, 1, path.stat().st_size)
    assert [column["name"] for column in found["columns"]] == list(columns)
    assert found["columns"][0] | {"bytes": 0} == {"name": "i8", "type": "int8", "nulls": 1, "bytes": 0}
    assert found["remarks"] == []
    (tmp_path / "t.csv").write_text("x\n1\n")
    assert upsweep.schema([tmp_path / "t.csv"])["columns"] == [{"name": "x", "type": "int64", "nulls": None, "bytes": None}]


def test_options_of_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("Kassenbuch\n\nTag;Wert;Art\n01.02.2024;1.234,50;-\n02.02.2024;2,00;Café\nSumme\n".encode("cp1252"))
    assert upsweep.schema(path)["remarks"] == [
        f"{path}: semicolons, decimal comma, '.' between thousands, header in line 3, 1 line after the table left out, Windows-1252"
    ]
    typed = upsweep.read(path, null=["-"])
    assert typed.schema.metadata == {b"upsweep.remarks": upsweep.schema(path)["remarks"][0].encode()}
    assert typed.to_pydict() == {
        "Tag": [datetime.date(2024, 2, 1), datetime.date(2024, 2, 2)],
        "Wert": [decimal.Decimal("1234.50"), decimal.Decimal("2.00")],
        "Art": [None, "Café"],
    }
    written = upsweep.read(path, types="string", skip=3, header=False, skip_end=1)
    assert written.to_pydict() == {
        "column0": ["01.02.2024", "02.02.2024"],
        "column1": ["1.234,50", "2,00"],
        "column2": ["-", "Café"],
    }
    path.write_text("a|b\nx|y\n1|2\n3\n")
    names = {"a_x": [1, 3], "b_y": [2.0, None]}
    assert upsweep.read(path, delimiter="|", header=[1, 2], ragged="fill", types={"b_y": "float64"}).to_pydict() == names
    for wrong, message in (
        ({"ragged": "perhaps"}, "refuse, fill or skip"),
        ({"types": {"a": "int7"}}, "int7"),
        ({"skip": -1}, "lines"),
    ):
        with pytest.raises(ValueError, match=message):
            upsweep.read(path, **wrong)


def test_errors(tmp_path):
    import pyarrow.parquet

    for function in (upsweep.read, upsweep.schema):
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "missing.csv")
        with pytest.raises(TypeError, match="'nonsense' is not an option"):
            function(tmp_path, nonsense=1)
        with pytest.raises(TypeError, match="a path or a list of paths"):
            function(5)
        with pytest.raises(TypeError):
            function()
    pyarrow.parquet.write_table(pa.table({"pair": [{"a": 1}]}), tmp_path / "t.parquet")
    with pytest.raises(TypeError, match="column 'pair' has unsupported type struct"):
        upsweep.read(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match="line 3"):
        upsweep.read(tmp_path / "t.csv")


def test_remarks_on_files(tmp_path):
    usual, other, late = (tmp_path / name for name in ("usual.csv", "other.csv", "late.csv"))
    usual.write_text("x,day\n1,2024-01-31\n")
    other.write_text("x;day\n2;Monday\n")
    late.write_text("x;day\n3;01/02/2024\n")
    assert upsweep.read(usual).schema.metadata is None
    assert upsweep.query(f"SELECT x FROM '{usual}'").remarks == []
    assert upsweep.query("SELECT x FROM t", t={"x": [1]}).remarks == []
    remarks = upsweep.schema([other, late])["remarks"]
    assert [line.split(": ", 1)[0] for line in remarks] == [str(other), str(late), str(late)]
    assert upsweep.read([other, late]).schema.metadata[b"upsweep.remarks"].decode().split("\n") == remarks
    assert upsweep.query("SELECT SUM(x) FROM t", t=[other, late]).remarks == remarks


def test_options_of_csv_in_queries(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("Titel\nx|1,234\ny|2,500\n".encode("utf-16-le"))
    how = {"encoding": "utf-16le", "skip": 1, "header": False, "delimiter": "|", "decimal": ",", "null": ["x", "-"]}
    text = f"SELECT column0, column1 FROM '{path}'"
    rows = [(None, decimal.Decimal("1.234")), ("y", decimal.Decimal("2.500"))]
    assert upsweep.query(text, **how).rows() == rows
    assert upsweep.query("SELECT * FROM t", t=path, **how).rows() == rows
    assert upsweep.query("SELECT * FROM t", {"t": [path]}, **how).rows() == rows
    answer = upsweep.query(text, **how, types={"column1": "string"})
    assert answer.rows() == [(None, "1,234"), ("y", "2,500")]
    assert answer.remarks == upsweep.schema(path, **how)["remarks"] != []
    # A table with the name of an option.
    assert upsweep.query("SELECT SUM(x) FROM quote", quote={"x": [1, 2]}).rows() == [(3,)]
    assert upsweep.query("SELECT * FROM types", types=path, **how).rows() == rows


def test_options_of_csv_that_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    with pytest.raises(TypeError, match="'delimiter' says how CSV files are written, and t is not a path: it is a dict"):
        upsweep.query("SELECT x FROM t", t={"x": [1]}, delimiter=";")
    with pytest.raises(ValueError, match="ragged"):
        upsweep.query(f"SELECT x FROM '{path}'", ragged="mend")
    with pytest.raises(TypeError, match="'delimeter' is neither an option nor the table"):
        upsweep.query(f"SELECT x FROM '{path}'", delimeter=";")
    with pytest.raises(ValueError, match="no table 't'"):
        upsweep.query("SELECT x FROM t", delimiter=";")


def test_queries_with_limit_read_the_beginning(tmp_path):
    path = tmp_path / "t.csv"
    count = 400_000
    path.write_text("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(count)) + "x,1.5\n1,2,3\n")
    assert upsweep.query(f"SELECT * FROM '{path}' LIMIT 2").rows() == [(0, 0), (1, 1)]
    assert upsweep.query("SELECT a FROM t WHERE b = 6 LIMIT 1 OFFSET 1", t=[path]).rows() == [(13,)]
    with pytest.raises(ValueError, match=f"line {count + 3}"):
        upsweep.query(f"SELECT * FROM '{path}' LIMIT {count + 2}")
    assert upsweep.query(f"SELECT * FROM '{path}' LIMIT 1 OFFSET {count}", ragged="skip").rows() == [
        ("x", decimal.Decimal("1.5"))
    ]
    assert upsweep.query(f"SELECT * FROM '{path}' WHERE a = 'x' LIMIT 1", ragged="skip").rows() == [
        ("x", decimal.Decimal("1.5"))
    ]
    assert upsweep.query(f"SELECT column2 FROM '{path}' LIMIT 1 OFFSET {count}", ragged="fill").rows() == [(None,)]
    with pytest.raises(ValueError, match="column2"):
        upsweep.query(f"SELECT column2 FROM '{path}' LIMIT 1")
    script = "import upsweep; print(upsweep.query(\"SELECT * FROM '-' LIMIT 2\").rows())"
    command = f"(echo a,b; yes 1,2) | {sys.executable} -c {shlex.quote(script)}"
    assert subprocess.run(command, shell=True, stdout=subprocess.PIPE, check=True, text=True).stdout == "[(1, 2), (1, 2)]\n"
