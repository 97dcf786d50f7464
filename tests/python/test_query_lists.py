# SPDX-License-Identifier: Apache-2.0
# tests/python/test_query_lists.py: list functions of queries over columns of lists from other libraries.
import numpy as np
import pytest
import upsweep

pa = pytest.importorskip("pyarrow")

LISTS = [[1.5, None, 40.0], [], None, [2.0], [31.0, 30.0, 29.0]]
SQL = (
    "SELECT SUM(list_sum(list_filter(x, e -> e > 30))) AS s, COUNT(len(x)) AS n, SUM(list_count(x)) AS c, COUNT(*) AS a FROM t"
)
EXPECTED = [(71.0, 4, 6, 5)]


def kinds():
    """The same lists in every layout of Arrow that queries read."""
    padded = [[*values, *[None] * (3 - len(values))] if values is not None else None for values in LISTS]
    yield "list", pa.array(LISTS, pa.list_(pa.float64()))
    yield "large_list", pa.array(LISTS, pa.large_list(pa.float64()))
    yield "float32", pa.array(LISTS, pa.list_(pa.float32()))
    yield "float16", pa.array([v and [None if e is None else np.float16(e) for e in v] for v in LISTS], pa.list_(pa.float16()))
    yield "fixed_size_list", pa.array(padded, pa.list_(pa.float64(), 3))
    around = pa.array([[1e9], [7.0, 8.0], *LISTS, [1e8]], pa.list_(pa.float64()))
    yield "slice", around[2:7]
    yield "slice of fixed size", pa.array([[9.0] * 3, *padded, None], pa.list_(pa.float64(), 3))[1:6]
    yield "chunks", pa.chunked_array([around[2:3], around[3:3], around[3:7]])
    yield "chunks of fixed size", pa.chunked_array([pa.array(padded, pa.list_(pa.float64(), 3))[i : i + 1] for i in range(5)])


@pytest.mark.parametrize("name, column", kinds())
def test_layouts(name, column):
    table = pa.table({"x": column})
    for source in (table, {"x": column}, table.to_reader(max_chunksize=2), pa.table({"x": column, "y": column}).slice(0)):
        assert upsweep.query(SQL, t=source).rows() == EXPECTED, name


@pytest.mark.parametrize("type", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_types_of_elements(type):
    lists = [[1, 0, None], [], None, [1, 1]]
    table = pa.table({"x": pa.array([v if v is None else [None if e is None else e == 1 if type == "bool" else e for e in v] for v in lists],
                                    pa.list_(pa.bool_() if type == "bool" else getattr(pa, type)()))})  # fmt: skip
    counted = "SUM(len(list_filter(x, e -> e)))" if type == "bool" else "SUM(list_sum(x))"
    assert upsweep.query(f"SELECT {counted} AS s, SUM(len(x)) AS n, COUNT(x[1]) AS f FROM t", t=table).rows() == [(3, 5, 2)]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[None, None], [], None, [None]]),
        pa.array([[None], [None, None], [], None, [None]], pa.large_list(pa.null()))[1:],
        pa.chunked_array([pa.array([[None, None], [], None]), pa.array([[None]])]),
    ],
)
def test_lists_without_values(column):
    """Libraries that infer types give them elements of type null."""
    sql = (
        "SELECT COUNT(*), SUM(len(x)), SUM(list_sum(x)), COUNT(x[1]), SUM(len(list_filter(x, e -> e > 1 OR e IS NULL))) FROM t"
    )
    assert upsweep.query(sql, t={"x": column}).rows() == [(4, 3, None, 0, 3)]


def test_awkward_arrays():
    ak = pytest.importorskip("awkward")
    assert upsweep.query(SQL, t={"x": ak.Array(LISTS)}).rows() == EXPECTED
    events = ak.Array([[31.0, 40.0], [], [50.0], [1.0, 2.0]])
    picked = {"pt": events[[0, 2, 3]], "charge": ak.Array([1, -1, 1])}
    sql = "SELECT charge, SUM(list_sum(list_filter(pt, p -> p > 30))) AS s FROM t WHERE len(pt) >= 1 GROUP BY charge"
    assert upsweep.query(sql, t=picked).rows() == [(1, 71.0), (-1, 50.0)]
    assert upsweep.query(sql, t=ak.Array(picked)).rows() == [(1, 71.0), (-1, 50.0)]
    assert upsweep.query("SELECT COUNT(*) FROM t", t=ak.Array(picked)).rows() == [(3,)]
    with pytest.raises(TypeError, match="t.jets: |column 'jets' is struct|but column 'jets'"):
        upsweep.query("SELECT SUM(len(jets)) FROM t", t=ak.Array([{"jets": [{"pt": 1.0}]}]))


def test_other_libraries():
    polars = pytest.importorskip("polars")
    assert upsweep.query(SQL, t=polars.DataFrame({"x": LISTS})).rows() == EXPECTED
    assert upsweep.query(SQL, t={"x": polars.Series(LISTS)}).rows() == EXPECTED
    pandas = pytest.importorskip("pandas")
    assert (
        upsweep.query(
            SQL, t=pandas.DataFrame({"x": pandas.Series(LISTS, dtype=pandas.ArrowDtype(pa.list_(pa.float64())))})
        ).rows()
        == EXPECTED
    )
    assert upsweep.query(SQL, t={"x": LISTS}).rows() == EXPECTED
    duckdb = pytest.importorskip("duckdb")
    assert upsweep.query(SQL, t=duckdb.from_arrow(pa.table({"x": LISTS}))).rows() == EXPECTED


def test_files(tmp_path):
    import pyarrow.parquet

    path = str(tmp_path / "t.parquet")
    pyarrow.parquet.write_table(pa.table({"x": LISTS}), path)
    assert upsweep.query(SQL, t=path).rows() == EXPECTED
    assert upsweep.query(SQL, t=[path, path]).rows() == [(142.0, 8, 12, 10)]
    dask = pytest.importorskip("upsweep.dask")
    assert dask.query(SQL, t=[path, path]).rows() == [(142.0, 8, 12, 10)]


def test_many_rows_on_any_number_of_threads():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 8, 500_000)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    values = rng.exponential(30, offsets[-1])
    lists = pa.LargeListArray.from_arrays(offsets, pa.array(values))
    table = pa.table({"x": lists, "k": pa.array(np.arange(len(counts)) % 7)})
    sql = "SELECT k, SUM(list_sum(list_filter(x, e -> e > 30))) AS s, SUM(len(x)) AS n FROM t WHERE len(x) >= 2 GROUP BY k"
    answers = []
    for threads in (1, 2, 5):
        with upsweep.options(threads=threads):
            answers.append(upsweep.query(sql, t=table).rows())
    assert answers[0] == answers[1] == answers[2]
    row = np.repeat(np.arange(len(counts)), counts)
    kept = (values > 30) & (counts[row] >= 2)
    for key, total, count in answers[0]:
        of_key = row % 7 == key
        np.testing.assert_allclose(total, values[kept & of_key].sum(), rtol=1e-12)
        assert count == counts[(np.arange(len(counts)) % 7 == key) & (counts >= 2)].sum()


def test_refusals():
    for type, values in [
        (pa.list_(pa.string()), [["a"]]),
        (pa.list_(pa.list_(pa.int64())), [[[1]]]),
        (pa.list_view(pa.int64()), [[1]]),
        (pa.list_(pa.decimal128(9, 2)), [[1]]),
    ]:
        with pytest.raises(TypeError, match=r"len\(\) takes a list of numbers or booleans, but column 'x' is"):
            upsweep.query("SELECT SUM(len(x)) FROM t", t=pa.table({"x": pa.array(values, type)}))
    with pytest.raises(TypeError, match="column 'x' contains lists"):
        upsweep.query("SELECT SUM(x) FROM t", t={"x": LISTS})
    with pytest.raises(NotImplementedError, match="returns a list"):
        upsweep.query("SELECT list_filter(x, e -> e > 1) FROM t GROUP BY k", t={"x": LISTS, "k": [1] * 5})
    damaged = pa.ListArray.from_buffers(
        pa.list_(pa.int64()), 2, [None, pa.py_buffer(np.array([0, 9, 2], "i4"))], children=[pa.array([1, 2])]
    )
    with pytest.raises(ValueError, match="the list in row 0 is outside its content"):
        upsweep.query("SELECT SUM(len(x)) FROM t", t=pa.table({"x": damaged}))
    with pytest.raises(OverflowError) as caught:
        upsweep.query("SELECT SUM(list_sum(list_transform(x, e -> e + 1))) FROM t", t={"x": pa.array([[1], [2**63 - 1]])})
    assert caught.value.index == 1
