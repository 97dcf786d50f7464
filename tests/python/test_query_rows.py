# SPDX-License-Identifier: Apache-2.0
# tests/python/test_query_rows.py: queries of rows from Python: every kind of column and table, compared with pyarrow.
import datetime
import decimal

import numpy as np
import pytest
import upsweep
from test_query import duck, made

pa = pytest.importorskip("pyarrow")
compute = pytest.importorskip("pyarrow.compute")

KINDS = ["key", "i8", "i64", "u8", "u64", "f16", "f32", "f64", "flag", "d32", "d128", "d128w", "d256w", "day", "day64"]
TEXTS = ["text", "large", "view", "coded", "coded8"]


@pytest.fixture(scope="module")
def table():
    return made()


def as_python(column):
    values = column.to_pylist()
    return [value.decode() if isinstance(value, bytes) else value for value in values]


@pytest.mark.parametrize("column", [*KINDS, *TEXTS, "nothing"])
def test_columns_of_every_type(table, column):
    expected = as_python(table[column])
    for threads in (1, 3):
        with upsweep.options(threads=threads):
            assert upsweep.query(f"SELECT {column} FROM t", t=table).to_dict()[column] == expected
            some = upsweep.query(f"SELECT {column} AS c FROM t WHERE key >= 70000 LIMIT 70000 OFFSET 5", t=table)
            assert some.to_dict()["c"] == expected[70005:140005]


def test_an_answer_is_a_table_for_other_libraries(table):
    answer = upsweep.query(
        "SELECT key, f32, d128, day, flag, coded, key * 2 AS twice FROM t WHERE i8 > 50 AND coded IS NOT NULL", t=table
    )
    names = ["key", "i8", "f32", "d128", "day", "flag", "coded"]  # pyarrow does not filter every type
    kept = table.select(names).filter(compute.and_(compute.greater(table["i8"], 50), compute.is_valid(table["coded"])))
    arrow = pa.table(answer)
    assert arrow.column_names == ["key", "f32", "d128", "day", "flag", "coded", "twice"]
    assert [str(field.type) for field in arrow.schema][:6] == [
        "int64",
        "double",
        "decimal128(38, 2)",
        "date32[day]",
        "bool",
        "string",
    ]
    for name in ("key", "f32", "d128", "day", "flag", "coded"):
        assert as_python(arrow[name]) == as_python(kept[name])
    assert np.array_equal(answer["twice"], kept["key"].to_numpy() * 2)
    assert duck("SELECT SUM(twice), COUNT(*) FROM t", arrow) == [(2 * compute.sum(kept["key"]).as_py(), len(kept))]
    assert len(answer) == len(kept) and answer.rows()[0] == tuple(answer.to_dict()[name][0] for name in answer.columns)
    assert f"… {len(kept):,} rows in all" in repr(answer)


def test_order(table):
    order = "ORDER BY d128 DESC NULLS LAST, coded NULLS FIRST, key"
    sql = f"SELECT key, coded FROM t WHERE i64 > 0 {order}"
    rows = duck(sql, table.select(["key", "coded", "i64", "d128"]))
    assert upsweep.query(sql, t=table).rows() == rows
    assert upsweep.query(f"{sql} LIMIT 100 OFFSET 30", t=table).rows() == rows[30:130]
    # Without the last term, equal rows keep the order of the table: here the key ascends.
    assert upsweep.query(sql.removesuffix(", key"), t=table).rows() == rows


def test_star():
    columns = {"x": np.arange(5), "s": ["a", "b", None, "d", "e"], "unused": np.arange(5) / 2}
    answer = upsweep.query("SELECT *, x * x AS square FROM t WHERE x > 2", t=columns)
    assert answer.rows() == [(3, "d", 1.5, 9), (4, "e", 2.0, 16)]
    frame = pytest.importorskip("pandas").DataFrame({"x": [1, 2], "Y": [0.5, 1.5]})
    assert upsweep.query("SELECT t.* FROM t ORDER BY y DESC", t=frame).rows() == [(2, 1.5), (1, 0.5)]
    lists = {"x": [1, 2], "lists": [[1.5], []], "odd": pa.array([{"a": 1}, None])}
    with pytest.raises(TypeError, match=r"'lists' \(.*'odd' \(struct.*omit them from the query"):
        upsweep.query("SELECT * FROM t", t=lists)
    assert upsweep.query("SELECT x, len(lists) FROM t", t=lists).rows() == [(1, 1), (2, 0)]


def test_files(tmp_path, table):
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ["key", "i64", "text", "d128", "day"]
    parquet.write_table(table.select(names), tmp_path / "a.parquet", row_group_size=30_000)
    parquet.write_table(table.select(names).slice(0, 10), tmp_path / "b.parquet")
    both = upsweep.query("SELECT * FROM t WHERE key < 20", t=str(tmp_path / "*.parquet"))
    assert both.rows() == [
        tuple(row.values())
        for row in table.select(names).slice(0, 20).to_pylist() + table.select(names).slice(0, 10).to_pylist()
    ]
    assert upsweep.query(f"SELECT key FROM '{tmp_path}/a.parquet' LIMIT 3 OFFSET 100000").rows() == [
        (100000 + i,) for i in range(3)
    ]


def test_a_reader_is_not_read_past_the_limit():
    read = []

    def batches():
        for number in range(100):
            read.append(number)
            yield pa.record_batch({"x": np.arange(70_000) + 70_000 * number})

    schema = pa.schema({"x": pa.int64()})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    assert upsweep.query("SELECT x FROM t WHERE x >= 100000 LIMIT 2", t=reader).rows() == [(100000,), (100001,)]
    assert len(read) < 20


def test_what_cannot_be_computed():
    columns = {"x": np.arange(10), "z": np.array([1] * 7 + [0, 0, 1])}
    with pytest.raises(ZeroDivisionError) as raised:
        upsweep.query("SELECT x / z FROM t", t=columns)
    assert raised.value.index == 7
    assert upsweep.query("SELECT x / z FROM t LIMIT 7", t=columns).rows()[-1] == (6,)
    with pytest.raises(MemoryError, match="LIMIT"):
        upsweep.query("SELECT * FROM t", t={"x": np.arange(1_000_000)}, memory="2MB")
    assert upsweep.query("SELECT x FROM t", t=columns, device="auto").rung == "cpu.blocks"
    with pytest.raises(NotImplementedError, match="DISTINCT ON is not supported"):
        upsweep.query("SELECT DISTINCT ON (x) x FROM t", t=columns)


def test_values_keep_their_kinds():
    columns = {
        "u": pa.array([2**64 - 1, None], pa.uint64()),
        "p": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(38, 2)),
        "d": pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
        "s": pa.array(["", "é"]),
        "b": pa.array([None, False]),
    }
    rows = [tuple(values[i].as_py() for values in columns.values()) for i in range(2)]
    answer = upsweep.query("SELECT * FROM t", t=pa.table(columns))
    assert answer.rows() == rows
    assert [str(field.type) for field in pa.table(answer).schema] == [
        "uint64",
        "decimal128(38, 2)",
        "date32[day]",
        "string",
        "bool",
    ]
