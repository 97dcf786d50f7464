# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_segment.py: `upsweep segment`: lists reduced, scanned and sorted, compared with NumPy, and what is
# refused.
import datetime
import decimal

import numpy as np
import pytest
from conftest import OPERATORS, identity

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES = [*INTEGERS, "float32", "float64"]
BOUNDS = ["int32", "uint32", "int64"]
INT64_MAX = 2**63 - 1


def cut(offsets, content):
    return [content[a:b] for a, b in zip(offsets[:-1], offsets[1:])]


def example(dtype, lists=2000, seed=3):
    """Offsets of lists, some of them empty, and content whose sums and short products are exact."""
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(random.poisson(3, lists))]).astype("int64")
    return offsets, random.integers(0, 4, offsets[-1]).astype(dtype)


def save(upsweep, offsets, content):
    upsweep.save("offsets.npy", offsets)
    upsweep.save("content.npy", content)
    return ["--offsets", "offsets.npy", "content.npy"]


def accumulator(dtype):
    kind = np.dtype(dtype).kind
    return np.dtype(dtype) if kind == "f" else np.dtype("int64" if kind == "i" else "uint64")


REDUCERS = {
    "any": lambda x: bool(x.any()),
    "all": lambda x: bool(x.all()),
    "count": len,
    "count_nonzero": np.count_nonzero,
    "argmin": lambda x: int(x.argmin()) if len(x) else -1,
    "argmax": lambda x: int(x.argmax()) if len(x) else -1,
}


# ---------------------------------------------------------------------------------------------------------- reductions


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("dtype", TYPES)
def test_folds(upsweep, dtype, op):
    if OPERATORS[op].of_floats is None and dtype.startswith("float"):
        args = save(upsweep, *example(dtype))
        upsweep.fails("invalid_argument", "segment", "--op", op, *args, "-o", "out.npy")
        return
    offsets, content = example(dtype)
    function, out = OPERATORS[op].ufunc, accumulator(dtype)
    expected = np.array(
        [function.reduce(x.astype(out), initial=out.type(identity(op, out))) for x in cut(offsets, content)], dtype=out
    )
    args = save(upsweep, offsets, content)
    result = upsweep.json("segment", "--op", op, *args, "-o", "out.npy")
    got = upsweep.load("out.npy")
    assert got.dtype == out
    np.testing.assert_array_equal(got, expected)
    assert (result["count"], result["lists"], result["dtype"]) == (2000, 2000, out.name)
    assert (result["output"], result["files"]) == ("out.npy", ["out.npy"])
    assert result["rung"].startswith("cpu.") and result["seconds"] >= 0
    np.testing.assert_array_equal(upsweep.npy("segment", "--op", op, *args), expected)


@pytest.mark.parametrize("op", REDUCERS)
@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
def test_reducers(upsweep, dtype, op):
    offsets, content = example(dtype)
    args = save(upsweep, offsets, content)
    got = upsweep.npy("segment", "--op", op, *args)
    assert got.dtype == (np.bool_ if op in ("any", "all") else np.int64)
    assert got.tolist() == [REDUCERS[op](x) for x in cut(offsets, content)]
    word = "bool" if op in ("any", "all") else "int64"
    assert upsweep.json("segment", "--op", op, *args)["dtype"] == word


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_type_of_offsets(upsweep, bound):
    offsets, content = example("int32")
    args = save(upsweep, offsets.astype(bound), content)
    assert upsweep.npy("segment", *args).tolist() == [int(x.sum()) for x in cut(offsets, content)]


@pytest.mark.parametrize("op, expected", [("min", "false\ntrue\ntrue\n"), ("max", "true\nfalse\ntrue\n")])
def test_the_minimum_and_maximum_of_booleans_are_booleans(upsweep, op, expected):
    upsweep.save("o.npy", [0, 2, 2, 3], "int64")
    upsweep.save("c.npy", [True, False, True], "bool")
    args = ("segment", "c.npy", "--offsets", "o.npy", "--op", op)
    assert upsweep.text(*args, "--format", "csv").split("\n", 1)[1] == expected
    upsweep.ok(*args, "-o", "out.npy")
    stored = (upsweep.folder / "out.npy").read_bytes()[-3:]
    assert stored == bytes(int(line == "true") for line in expected.split())
    assert upsweep.text(*args, "--init", str(op == "max").lower(), "--format", "csv").split("\n", 1)[1] == (
        "true\n" * 3 if op == "max" else "false\n" * 3
    )
    upsweep.fails("invalid_argument", *args, "--init", "2")


def test_booleans_are_added(upsweep):
    offsets, content = example("bool")
    assert upsweep.npy("segment", *save(upsweep, offsets, content)).tolist() == [x.sum() for x in cut(offsets, content)]


def test_offsets_need_not_begin_at_zero_nor_end_at_the_end(upsweep):
    args = save(upsweep, np.array([1, 3, 3, 4]), np.array([100, 1, 2, 3, 100]))
    assert upsweep.npy("segment", *args).tolist() == [3, 0, 3]
    assert upsweep.npy("segment", "--op", "scan", *args).tolist() == [0, 1, 3, 3, 0]


def test_an_init_and_a_type(upsweep):
    args = save(upsweep, np.array([0, 2, 2]), np.array([1, 2], dtype="int32"))
    assert upsweep.npy("segment", "--init", "10", *args).tolist() == [13, 10]
    got = upsweep.npy("segment", "--dtype", "float64", "--init", "0.5", *args)
    assert (got.dtype, got.tolist()) == (np.float64, [3.5, 0.5])


def test_sums_that_do_not_fit(upsweep):
    args = save(upsweep, np.array([0, 1, 3, 5]), np.array([1, INT64_MAX, 1, INT64_MAX, 2]))
    upsweep.fails("overflow", "segment", *args, "-o", "out.npy", index=1)
    upsweep.fails("overflow", "segment", "--op", "scan", *args, "-o", "out.npy", index=1)
    expected = [1, -(2**63), -(2**63) + 1]
    assert upsweep.npy("segment", "--overflow", "wrap", *args).tolist() == expected
    narrow = save(upsweep, np.array([0, 1, 3]), np.array([1, 100, 100], dtype="int8"))
    error = upsweep.fails("overflow", "segment", "--dtype", "int8", *narrow, "-o", "out.npy", index=1)
    assert "wider --dtype" in error["message"]
    assert upsweep.npy("segment", *narrow).tolist() == [1, 200]


@pytest.mark.parametrize("rung", ["cpu.serial", "cpu.threads", "cpu.shares", "cpu.columns"])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_rungs_and_threads(upsweep, rung, threads):
    offsets, content = example("float64", 50_000)
    args = save(upsweep, offsets, content)
    result = upsweep.json("segment", *args, "--rung", rung, "--threads", threads, "-o", "out.npy")
    assert result["rung"] == rung
    np.testing.assert_array_equal(upsweep.load("out.npy"), [x.sum() for x in cut(offsets, content)])


# --------------------------------------------------------------------------------------------------------- scans, sorts


@pytest.mark.parametrize("by", ["add", "max", "min", "mul"])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float64"])
def test_scans(upsweep, dtype, by):
    offsets, content = example(dtype)
    function, out = OPERATORS[by].ufunc, accumulator(dtype)
    lists = [x.astype(out) for x in cut(offsets, content)]
    args = save(upsweep, offsets, content)
    inclusive = np.concatenate([function.accumulate(x) for x in lists])
    np.testing.assert_array_equal(upsweep.npy("segment", "--op", "scan", "--by", by, *args), inclusive)
    first = np.array([identity(by, out)], dtype=out)
    exclusive = np.concatenate([function.accumulate(np.concatenate([first, x]))[:-1] for x in lists])
    got = upsweep.npy("segment", "--op", "scan", "--by", by, "--exclusive", *args)
    assert got.dtype == out
    np.testing.assert_array_equal(got, exclusive)


@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
def test_sorts(upsweep, dtype):
    offsets, content = example(dtype)
    args = save(upsweep, offsets, content)
    lists = cut(offsets, content)
    got = upsweep.npy("segment", "--op", "sort", *args)
    assert got.dtype == content.dtype
    np.testing.assert_array_equal(got, np.concatenate([np.sort(x) for x in lists]))
    got = upsweep.npy("segment", "--op", "sort", "--descending", *args)
    np.testing.assert_array_equal(got, np.concatenate([np.sort(x)[::-1] for x in lists]))
    got = upsweep.npy("segment", "--op", "argsort", *args)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, np.concatenate([np.argsort(x, kind="stable") for x in lists]))


def test_nan_in_an_order(upsweep):
    args = save(upsweep, np.array([0, 3]), np.array([np.nan, 2.0, 1.0]))
    np.testing.assert_array_equal(upsweep.npy("segment", "--op", "sort", *args), [1, 2, np.nan])
    np.testing.assert_array_equal(upsweep.npy("segment", "--op", "sort", "--nan-first", *args), [np.nan, 1, 2])


# --------------------------------------------------------------------------------------------------------- list columns

NESTED = [[1, 2], None, [], [3, None, 4], [5], [None]]


def written(arrow, upsweep, name, column):
    upsweep.table(name, arrow.table({"k": arrow.array(range(len(column))), "items": column}))
    return f"{name}:items"


@pytest.mark.parametrize("kind", ["list_", "large_list"])
@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_nulls_of_list_columns(upsweep, arrow, name, kind):
    column = arrow.array(NESTED, getattr(arrow, kind)(arrow.int32()))
    source = written(arrow, upsweep, name, column)
    assert upsweep.npy("segment", source).tolist() == [3, 0, 0, 7, 5, 0]
    assert upsweep.npy("segment", "--op", "count", source).tolist() == [2, 0, 0, 2, 1, 0]
    assert upsweep.npy("segment", "--op", "argmax", source).tolist() == [1, -1, -1, 2, 0, -1]
    upsweep.fails("null_value", "segment", "--op", "sort", source, "-o", "out.npy", index=3)
    for order, expected in (
        ([], [[1, 2], None, [], [3, 4, None], [5], [None]]),
        (["--descending"], [[2, 1], None, [], [4, 3, None], [5], [None]]),
    ):
        upsweep.ok("segment", "--op", "sort", *order, source, "-o", "sorted.parquet", "--quiet")
        assert read(arrow, upsweep, "sorted.parquet")["items"].to_pylist() == expected
    upsweep.ok("segment", "--op", "argsort", "--descending", source, "-o", "order.npy", "--quiet")
    assert upsweep.load("order.0.npy").tolist() == [1, 0, 2, 0, 1, 0, 0]
    upsweep.ok("segment", "--op", "argsort", source, "-o", "order.parquet", "--quiet")
    assert read(arrow, upsweep, "order.parquet")["items"].to_pylist() == [[0, 1], None, [], [0, 2, 1], [0], [0]]
    result = upsweep.json("segment", "--op", "sort", source)
    assert (result["first"], result["last"], result["count"]) == (1, None, 7)
    assert "last   NULL\n" in upsweep.text("segment", "--op", "sort", source)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "bool"])
@pytest.mark.parametrize("order", [[], ["--descending"], ["--nan-first"]])
def test_sorts_of_many_lists_with_nulls(upsweep, arrow, dtype, order):
    """NULL sorts after NaN, first or last. With NULLs, lists are long enough for every kernel."""
    random = np.random.default_rng(11)
    lengths = np.concatenate([random.poisson(5, 3000), [0, 1000, 70, 0]])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = random.integers(0, 2 if dtype == "bool" else 30, offsets[-1]).astype(dtype)
    null = random.random(offsets[-1]) < 0.3
    if dtype.startswith("float"):
        content[random.random(offsets[-1]) < 0.1] = np.nan
    elements = arrow.array(content, mask=null)
    null_lists = arrow.array(random.random(len(lengths)) < 0.1)  # these null lists have elements, which must be ignored
    column = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), elements, mask=null_lists)
    source = written(arrow, upsweep, "t.arrow", column)
    upsweep.ok("segment", "--op", "sort", *order, source, "-o", "sorted.arrow", "--quiet")
    upsweep.ok("segment", "--op", "argsort", *order, source, "-o", "order.arrow", "--quiet")
    got = [read(arrow, upsweep, name)["items"].to_pylist() for name in ("sorted.arrow", "order.arrow")]
    for values, sorted_values, positions in zip(column.to_pylist(), *got):
        if values is None:
            assert sorted_values is None and positions is None
            continue

        def key(i):
            x = values[i]
            if x is None:
                return (2, 0)
            if x != x:
                return (-1 if order == ["--nan-first"] else 1, 0)
            return (0, -x if order == ["--descending"] else x)

        expected = sorted(range(len(values)), key=key)
        assert positions == expected
        assert repr(sorted_values) == repr([values[i] for i in expected])


def test_nulls_beside_a_file_of_offsets(upsweep, arrow):
    upsweep.table("t.parquet", {"x": [3, None, 1, None, 2, None]})
    upsweep.save("offsets.npy", np.array([0, 3, 3, 5]))
    args = ["--offsets", "offsets.npy", "t.parquet:x"]
    assert upsweep.npy("segment", *args).tolist() == [4, 0, 2]
    assert upsweep.npy("segment", "--op", "count", *args).tolist() == [2, 0, 1]
    assert upsweep.npy("segment", "--op", "argsort", *args).tolist() == [2, 0, 1, 1, 0, 0]
    upsweep.fails("null_value", "segment", "--op", "sort", *args, "-o", "out.npy", index=1 + 1)
    upsweep.ok("segment", "--op", "sort", *args, "-o", "out.parquet", "--quiet")
    assert read(arrow, upsweep, "out.parquet").to_pydict() == {"x": [[1, 3, None], [], [2, None]]}
    upsweep.fails("null_value", "segment", "--offsets", "t.parquet:x", "t.parquet:x", "-o", "out.npy", index=1)


def test_lists_of_one_size(upsweep, arrow):
    pairs = arrow.list_(arrow.float64(), 2)
    source = written(arrow, upsweep, "t.arrow", arrow.array([[1, 2], None, [3, None], [5, 6]], pairs))
    assert upsweep.npy("segment", source).tolist() == [3, 0, 3, 11]
    # PyArrow cannot write null structs in lists as Parquet.
    source = written(arrow, upsweep, "t.parquet", arrow.array([[1, 2], [3, None], [5, 6]], pairs))
    assert upsweep.npy("segment", source).tolist() == [3, 3, 11]
    whole = written(arrow, upsweep, "w.arrow", arrow.array([[2, 1], None, [6, 5]], pairs))
    for name in ("out.arrow", "out.parquet"):
        upsweep.ok("segment", "--op", "sort", whole, "-o", name, "--quiet")
        assert read(arrow, upsweep, name)["items"].to_pylist() == [[1, 2], None, [5, 6]]


def read(arrow, upsweep, name):
    import pyarrow.parquet

    path = str(upsweep.folder / name)
    if name.endswith(".parquet"):
        return pyarrow.parquet.read_table(path)
    with arrow.memory_map(path) as file:
        return arrow.ipc.open_file(file).read_all()


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_several_batches(upsweep, arrow, name):
    offsets, content = example("int64", 150_000)
    column = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), arrow.array(content))
    table = arrow.table({"x": column})
    options = {"row_group_size": 40_000} if name == "t.parquet" else {"max_chunksize": 40_000}
    upsweep.table(name, table, **options)
    sums = [int(x.sum()) for x in cut(offsets, content)]
    result = upsweep.json("segment", f"{name}:x", "-o", "out.npy")
    assert (result["lists"], result["first"], result["last"]) == (150_000, sums[0], sums[-1])
    assert upsweep.load("out.npy").tolist() == sums
    result = upsweep.json("segment", "--op", "scan", name, "-o", "run.npy")
    assert result["files"] == ["run.offsets.npy", "run.0.npy"]
    np.testing.assert_array_equal(upsweep.load("run.offsets.npy"), offsets)
    running = np.concatenate([np.cumsum(x) for x in cut(offsets, content)])
    np.testing.assert_array_equal(upsweep.load("run.0.npy"), running)
    upsweep.ok("segment", "--op", "sort", name, "-o", "sorted.parquet", "--quiet")
    column = read(arrow, upsweep, "sorted.parquet")["x"].combine_chunks()
    np.testing.assert_array_equal(column.offsets, offsets)
    np.testing.assert_array_equal(column.values, np.concatenate([np.sort(x) for x in cut(offsets, content)]))


def test_an_index_counts_from_the_first_list(upsweep, arrow):
    lists = [[1]] * 100_000
    lists[90_000] = [INT64_MAX, 1]
    upsweep.table("t.parquet", {"x": lists}, row_group_size=30_000)
    error = upsweep.fails("overflow", "segment", "t.parquet:x", "-o", "out.npy", index=90_000)
    assert "list 90000 " in error["message"]


def test_sums_of_decimals_are_exact_or_an_error(upsweep, arrow):
    nearly = decimal.Decimal("999999999999999.999")
    upsweep.table("t.parquet", {"x": arrow.array([[nearly] * 20_000], arrow.list_(arrow.decimal128(18, 3)))})
    error = upsweep.fails("overflow", "segment", "--dtype", "float64", "t.parquet:x", "-o", "out.npy", index=0)
    assert "wrap" not in error["message"]
    upsweep.fails("invalid_argument", "segment", "--dtype", "float64", "--overflow", "wrap", "t.parquet:x", "-o", "out.npy")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_decimals_and_dates_stay_what_they_are(upsweep, arrow, suffix):
    price = arrow.array([["1.50", "2.25"], [], ["0.10"]], arrow.list_(arrow.string())).cast(
        arrow.list_(arrow.decimal128(12, 2))
    )
    days = [datetime.date(2001, 1, 2), datetime.date(1999, 12, 31)]
    day = arrow.array([days, [], days[:1]], arrow.list_(arrow.date32()))
    upsweep.table("t.parquet", {"price": price, "day": day})
    out = f"out.{suffix}"
    result = upsweep.json("segment", "t.parquet:price", "-o", out)
    assert (result["first"], result["last"], result["scale"]) == ("3.75", "0.10", 2)
    column = read(arrow, upsweep, out)["price"]
    assert column.type == arrow.decimal128(18, 2)
    assert column.to_pylist() == [decimal.Decimal("3.75"), decimal.Decimal("0.00"), decimal.Decimal("0.10")]
    assert upsweep.text("reduce", f"{out}:price") == "3.85\n"
    # An empty list has no minimum.
    upsweep.ok("segment", "--op", "min", "t.parquet:price", "-o", out, "--quiet")
    assert read(arrow, upsweep, out)["price"].to_pylist() == [decimal.Decimal("1.50"), None, decimal.Decimal("0.10")]
    upsweep.ok("segment", "--op", "max", "t.parquet:day", "-o", out, "--quiet")
    assert read(arrow, upsweep, out)["day"].to_pylist() == [days[0], None, days[0]]
    upsweep.ok("segment", "--op", "sort", "t.parquet:day", "-o", out, "--quiet")
    assert read(arrow, upsweep, out)["day"].to_pylist() == [days[::-1], [], days[:1]]
    upsweep.ok("segment", "--op", "scan", "t.parquet:price", "-o", out, "--quiet")
    sums = read(arrow, upsweep, out)["price"]
    assert sums.type == arrow.list_(arrow.decimal128(18, 2)) and sums[0].as_py()[1] == decimal.Decimal("3.75")
    assert upsweep.npy("segment", "--dtype", "float64", "t.parquet:price").tolist() == [3.75, 0.0, 0.1]
    least = upsweep.npy("segment", "--op", "min", "--dtype", "float64", "t.parquet:price")
    assert least.tolist() == [1.5, np.inf, 0.1]
    assert upsweep.npy("segment", "t.parquet:price").tolist() == [375, 0, 10]
    text = upsweep.text("segment", "t.parquet:price", "-o", "out.npy")
    assert "the values in out.npy are scaled by 100: 10 means 0.10" in text
    text = upsweep.text("segment", "--op", "sort", "t.parquet:day", "-o", "out.npy")
    assert "days since 1970-01-01: 11324 means 2001-01-02" in text


def test_offsets_and_content_to_a_table(upsweep, arrow):
    args = save(upsweep, np.array([1, 3, 3, 4]), np.array([9, 2, 1, 3, 9]))
    upsweep.ok("segment", "--op", "sort", *args, "-o", "out.parquet", "--quiet")
    assert read(arrow, upsweep, "out.parquet").to_pydict() == {"content": [[1, 2], [], [3]]}
    upsweep.ok("segment", "--op", "any", *args, "-o", "out.arrow", "--quiet")
    assert read(arrow, upsweep, "out.arrow").to_pydict() == {"content": [True, False, True]}


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_no_lists(upsweep, arrow, name):
    upsweep.table(name, {"x": arrow.array([], arrow.list_(arrow.int64()))})
    assert upsweep.npy("segment", name).tolist() == []
    error = upsweep.fails("unknown_rung", "segment", name, "--rung", "cpu.nope", "-o", "out.npy", index=None)
    assert error["message"].startswith("unknown rung 'cpu.nope'")  # the message names no column
    upsweep.ok("segment", "--op", "sort", name, "-o", "out.parquet", "--quiet")
    assert read(arrow, upsweep, "out.parquet").to_pydict() == {"x": []}
    upsweep.table(name, {"x": arrow.array([[], []], arrow.list_(arrow.int64()))})
    assert upsweep.npy("segment", name).tolist() == [0, 0]


@pytest.mark.parametrize("column", [[["a"]], [[[[1]]]], [[{"a": 1}]], [{"a": 1}]])
def test_columns_of_something_else(upsweep, arrow, column):
    upsweep.table("t.parquet", {"x": column})
    upsweep.fails("unsupported_type", "segment", "t.parquet:x", "-o", "out.npy")


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "offsets, word, index",
    [
        ([0, 3, 2, 5], "stop_before_start", 1),
        ([0, 3, 6, 9], "stop_past_end", 1),
        ([-1, 3, 4], "negative_start", 0),
        ([], "unequal_lengths", None),
    ],
)
@pytest.mark.parametrize("op", ["add", "any", "scan", "sort"])
def test_bad_offsets(upsweep, op, offsets, word, index):
    args = save(upsweep, np.array(offsets, dtype="int64"), np.arange(5))
    error = upsweep.fails(word, "segment", "--op", op, *args, "-o", "out.npy", index=index)
    assert "offsets.npy" in error["message"]


def test_no_offset_is_one_list_less(upsweep):
    args = save(upsweep, np.array([0]), np.arange(5))
    assert upsweep.npy("segment", *args).tolist() == []


@pytest.mark.parametrize(
    "word, options",
    [
        ("invalid_argument", ["--op", "median"]),
        ("invalid_argument", ["--op", "any", "--dtype", "int32"]),
        ("invalid_argument", ["--op", "count", "--overflow", "wrap"]),
        ("invalid_argument", ["--op", "sort", "--init", "1"]),
        ("invalid_argument", ["--op", "sort", "--exclusive"]),
        ("invalid_argument", ["--op", "add", "--exclusive"]),
        ("invalid_argument", ["--op", "add", "--by", "max"]),
        ("invalid_argument", ["--op", "add", "--descending"]),
        ("invalid_argument", ["--op", "scan", "--nan-first"]),
        ("invalid_argument", ["--op", "scan", "--by", "sort"]),
        ("invalid_argument", ["--op", "scan", "--by", "bogus"]),
        ("invalid_argument", ["--op", "mul", "--overflow", "checked"]),
        ("invalid_argument", ["--op", "max", "--dtype", "int8"]),
        ("invalid_argument", ["--init", "x"]),
        ("unknown_rung", ["--rung", "cpu.nope"]),
        (("not_built", "no_device"), ["--device", "cuda"]),
        ("invalid_argument", ["--threads", "-1"]),
        ("not_found", ["-o", "nowhere/out.npy"]),
    ],
)
def test_bad_options(upsweep, word, options):
    args = save(upsweep, np.array([0, 1]), np.array([1]))
    output = [] if "-o" in options else ["-o", "out.npy"]
    upsweep.fails(word, "segment", *args, *options, *output)


def test_by_is_called_by_its_name(upsweep):
    args = save(upsweep, np.array([0, 1]), np.array([1.5]))
    error = upsweep.fails("invalid_argument", "segment", "--op", "scan", "--by", "bogus", *args, "-o", "out.npy")
    assert error["message"].startswith("--by 'bogus' is not one of add, ")
    error = upsweep.fails("invalid_argument", "segment", "--op", "scan", "--by", "xor", *args, "-o", "out.npy")
    assert error["message"] == "--by xor needs integers, not float64"


def test_lists_of_lists_say_what_to_do(upsweep, arrow):
    upsweep.table("t.parquet", {"x": [[[1, 2], []], [], None]})
    for args in (["segment", "--op", "scan"], ["segment", "--op", "sort"], ["pack"], ["select", "--mask", "t.parquet:x"]):
        error = upsweep.fails("unsupported_type", *args, "t.parquet:x", "-o", "out.parquet")
        assert "lists of lists" in error["message"] and "list_flatten" in error["message"]


@pytest.mark.parametrize("file", ["t.parquet", "t.arrow"])
def test_lists_of_lists_are_reduced_to_lists(upsweep, arrow, file):
    import pyarrow.parquet

    random = np.random.default_rng(7)
    rows = [[random.integers(-9, 9, n).tolist() for n in random.integers(0, 5, m)] for m in random.integers(0, 4, 500)]
    rows[3] = None
    rows[5] = [[1, None, 2], None, [], [None]]
    sums = [None if row is None else [sum(x or 0 for x in one or []) for one in row] for row in rows]
    counts = [None if row is None else [sum(x is not None for x in one or []) for one in row] for row in rows]
    upsweep.table(file, {"x": rows}, **({"row_group_size": 60} if file == "t.parquet" else {"max_chunksize": 60}))
    result = upsweep.json("segment", f"{file}:x", "-o", "out.parquet")
    assert (result["lists"], result["count"]) == (500, sum(len(row or []) for row in rows))
    assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet")["x"].to_pylist() == sums
    upsweep.ok("segment", f"{file}:x", "--op", "count", "-o", "n.npy", "--quiet")
    assert upsweep.load("n.0.npy").tolist() == [one for row in counts for one in row or []]
    assert upsweep.load("n.offsets.npy").tolist() == [0, *np.cumsum([len(row or []) for row in rows]).tolist()]
    upsweep.fails("invalid_argument", "segment", f"{file}:x", "--format", "npy")


def test_commands_on_numbers_name_those_on_lists(upsweep, arrow):
    for kind in (arrow.list_(arrow.int8()), arrow.large_list(arrow.int8()), arrow.list_(arrow.int8(), 2)):
        upsweep.table("t.parquet", {"x": arrow.array([[1, 2], [3, 4]], kind)})
        for command in ("reduce", "scan"):
            message = upsweep.fails("unsupported_type", command, "t.parquet:x")["message"]
            assert message.startswith("t.parquet:x: is a column of lists, ") and "use upsweep segment" in message, message


def test_lists_of_lists_of_every_kind(upsweep, arrow):
    import pyarrow.parquet

    inner = arrow.array([[1, 2], [3], [], [4, 5, 6], [7], [8]], arrow.large_list(arrow.int32()))
    fixed = arrow.FixedSizeListArray.from_arrays(arrow.array(range(12)), 2)
    hidden = arrow.ListArray.from_arrays(
        arrow.array([0, 2, 3, 6], arrow.int32()), inner, mask=arrow.array([False, True, False])
    )  # a null list that has elements
    for lists, expected in (
        (arrow.FixedSizeListArray.from_arrays(inner, 3), [[3, 3, 0], [15, 7, 8]]),
        (arrow.LargeListArray.from_arrays(arrow.array([0, 1, 1, 6], arrow.int64()), fixed), [[1], [], [5, 9, 13, 17, 21]]),
        (arrow.ListArray.from_arrays(arrow.array([0, 3, 6], arrow.int32()), inner).slice(1), [[15, 7, 8]]),
        (hidden, [[3, 3], None, [15, 7, 8]]),
        (arrow.array([], arrow.list_(arrow.list_(arrow.int64()))), []),
    ):
        upsweep.table("t.arrow", {"x": lists})
        upsweep.ok("segment", "t.arrow:x", "-o", "out.parquet", "--quiet")
        assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet")["x"].to_pylist() == expected
    upsweep.table("t.arrow", {"x": [[[[1]]]]})
    upsweep.fails("unsupported_type", "segment", "t.arrow:x", "-o", "out.parquet")


def test_the_first_inner_list_that_overflows_is_named(upsweep, arrow):
    most = 2**63 - 1
    upsweep.table("t.arrow", {"x": [[[1], [2, 3]], [], [[4], [most, 1], [most, most]]]}, max_chunksize=1)
    error = upsweep.fails("overflow", "segment", "t.arrow:x", "-o", "out.parquet", index=3)
    assert "inner list 3" in error["message"]


def test_outer_lists_outside_their_content(upsweep, arrow):
    inner = arrow.array([[1, 2], [3], [4]])
    for offsets, list_ in (([0, 2, 1, 3], 1), ([0, 9, 9, 3], 0)):
        lists = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), inner)
        upsweep.table("t.arrow", {"x": lists})
        upsweep.fails(("stop_before_start", "stop_past_end"), "segment", "t.arrow:x", "-o", "out.npy", index=list_)


def test_offsets_where_they_belong(upsweep, arrow):
    args = save(upsweep, np.array([0, 1]), np.array([1]))
    upsweep.fails("invalid_argument", "segment", "content.npy", "-o", "out.npy")
    upsweep.table("t.parquet", {"x": [[1]]})
    upsweep.fails("invalid_argument", "segment", "--offsets", "offsets.npy", "t.parquet:x", "-o", "out.npy")
    upsweep.fails("unsupported_type", "segment", "--offsets", "t.parquet:x", "content.npy", "-o", "out.npy")
    upsweep.save("wide.npy", np.array([0, 1], dtype="int16"))
    upsweep.fails("unsupported_type", "segment", "--offsets", "wide.npy", "content.npy", "-o", "out.npy")
    upsweep.fails("invalid_argument", "segment", "--offsets", "-", "-", "-o", "out.npy")
    upsweep.fails("invalid_argument", "segment", "--op", "sort", "t.parquet:x", "--format", "npy")
    with (upsweep.folder / "content.npy").open("rb") as file:
        assert upsweep.npy("segment", "--offsets", "offsets.npy", "-", stdin=file).tolist() == [1]
    assert upsweep.npy("segment", *args).tolist() == [1]


def test_text_of_results(upsweep):
    args = save(upsweep, np.array([0, 2, 3]), np.array([1, 2, 3]))
    text = upsweep.text("segment", *args)
    assert text.splitlines()[:5] == ["lists  2", "count  2", "type   int64", "first  3", "last   3"]
    assert "output out.npy" in upsweep.text("segment", *args, "-o", "out.npy")
    assert upsweep.text("segment", *args, "-o", "out.npy", "--quiet") == ""


def test_a_damaged_file(upsweep, arrow):
    offsets, content = example("int64", 20_000)
    column = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), arrow.array(content))
    upsweep.table("t.parquet", {"x": column})
    whole = (upsweep.folder / "t.parquet").read_bytes()
    upsweep.write("cut.parquet", whole[: len(whole) // 2])
    upsweep.fails("malformed", "segment", "cut.parquet:x", "-o", "out.npy")
