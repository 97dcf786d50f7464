# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_nulls.py: --nulls of scan and reduce, against NumPy on the elements that are not NULL.
import datetime
import decimal
import itertools
import json
import os
import pty
import re
import subprocess
import time

import conftest
import numpy as np
import pytest
import test_mpi

CHUNK = 1 << 21
OPERATORS = ["add", "mul", "min", "max", "and", "or", "xor"]


def with_nulls(arrow, values, missing):
    return arrow.array(values, mask=np.asarray(missing, bool))


def scanned(values, missing, op, exclusive, start):
    """One output for each row: a row that is NULL has the running value that precedes it."""
    out = []
    running = start
    for value, is_null in zip(values, missing):
        before = running
        if not is_null:
            running = conftest.OPERATORS[op].ufunc(running, value)
        out.append(before if exclusive else running)
    return np.array(out, values.dtype)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("exclusive", [False, True])
def test_every_pattern_of_seven_rows(upsweep, arrow, op, exclusive):
    values = np.array([5, -3, 7, 2, 11, -1, 4], "int64")
    identity = np.int64(conftest.identity(op, "int64"))
    with np.errstate(over="ignore"):
        for number, missing in enumerate(itertools.product([False, True], repeat=len(values))):
            if number % 5 != 0 and sum(missing) not in (0, len(values)):
                continue
            upsweep.table("t.arrow", {"x": with_nulls(arrow, values, missing)})
            options = ["--op", op, "--nulls", "skip"] + (["--exclusive"] if exclusive else [])
            expected = scanned(values, missing, op, exclusive, identity)
            np.testing.assert_array_equal(upsweep.npy("scan", "t.arrow:x", *options), expected)


@pytest.mark.parametrize("op", OPERATORS)
def test_an_initial_value_stays_in_front_of_nulls(upsweep, arrow, op):
    """Its bits are not those of the narrow type of the column."""
    values = np.array([3, 1, 2, 3], "uint8")
    upsweep.table("t.arrow", {"x": with_nulls(arrow, values, [1, 1, 0, 1])})
    for exclusive in ([], ["--exclusive"]):
        got = upsweep.npy("scan", "t.arrow:x", "--op", op, "--init", "511", "--nulls", "skip", *exclusive)
        with_value = int(conftest.OPERATORS[op].ufunc(np.uint64(511), np.uint64(2)))
        assert got.tolist() == ([511, 511, 511, with_value] if exclusive else [511, 511, with_value, with_value])


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_over_many_chunks(upsweep, arrow, name, exclusive):
    n = (1 << 19) + 12_345 if name == "t.csv" else CHUNK + 54_321
    random = np.random.default_rng(45)
    values = random.integers(-1000, 1000, n)
    missing = random.random(n) < 0.3
    missing[:70_000] = missing[n // 2 : n // 2 + 400_000] = missing[-30_000:] = True
    options = {"row_group_size": 70_001} if name == "t.parquet" else {"max_chunksize": 33_333} if "arrow" in name else {}
    upsweep.table(name, {"x": with_nulls(arrow, values, missing)}, **options)
    kept = np.where(missing, 0, values)
    running = np.cumsum(kept)
    expected = np.concatenate([[0], running[:-1]]) if exclusive else running
    shape = ["--exclusive"] if exclusive else []
    np.testing.assert_array_equal(upsweep.npy("scan", f"{name}:x", "--nulls", "skip", *shape), expected)
    result = upsweep.json("scan", f"{name}:x", "--nulls", "skip", *shape)
    assert (result["count"], result["nulls"], result["last"]) == (n, missing.sum(), expected[-1])
    result = upsweep.json("reduce", f"{name}:x", "--nulls", "skip")
    assert (result["value"], result["count"], result["nulls"]) == (kept.sum(), n - missing.sum(), missing.sum())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_have_the_bits_of_a_column_without_the_rows(upsweep, arrow, dtype):
    n = CHUNK + 300_000
    random = np.random.default_rng(46)
    values = random.standard_normal(n).astype(dtype)
    missing = random.random(n) < 0.4
    upsweep.table("t.arrow", {"x": with_nulls(arrow, values, missing)}, max_chunksize=100_003)
    upsweep.save("valid.npy", values[~missing])
    got = upsweep.npy("scan", "t.arrow:x", "--nulls", "skip", "--threads", "2")
    np.testing.assert_array_equal(got[~missing], upsweep.npy("scan", "valid.npy", "--threads", "2"))
    after = np.concatenate([[0], got[:-1]])
    np.testing.assert_array_equal(got[missing], after[missing].astype(dtype))
    plain = upsweep.text("reduce", "valid.npy", "--threads", "2")
    assert upsweep.text("reduce", "t.arrow:x", "--nulls", "skip", "--threads", "2") == plain


def test_decimals_and_dates(upsweep, arrow):
    prices = [None, decimal.Decimal("1.25"), None, decimal.Decimal("-0.50"), None]
    days = [None, datetime.date(2020, 2, 29), None, datetime.date(1999, 1, 1), None]
    table = {"price": arrow.array(prices, arrow.decimal128(9, 2)), "day": arrow.array(days)}
    upsweep.table("t.parquet", table)
    assert upsweep.npy("scan", "t.parquet:price", "--nulls", "skip").tolist() == [0, 125, 125, 75, 75]
    got = upsweep.npy("scan", "t.parquet:price", "--nulls", "skip", "--dtype", "float64")
    assert got.tolist() == [0, 1.25, 1.25, 0.75, 0.75]
    got = upsweep.npy("scan", "t.parquet:price", "--nulls", "skip", "--dtype", "float64", "--exclusive", "--init", "7")
    assert got.tolist() == [7, 7, 8.25, 8.25, 7.75]
    assert upsweep.text("reduce", "t.parquet:price", "--nulls", "skip") == "0.75\n"
    assert upsweep.text("reduce", "t.parquet:day", "--op", "min", "--nulls", "skip") == "1999-01-01\n"
    upsweep.ok("scan", "t.parquet:day", "--op", "max", "--nulls", "skip", "-o", "out.parquet")
    import pyarrow.parquet

    out = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")["day"].to_pylist()
    assert out == [None, *[datetime.date(2020, 2, 29)] * 4]  # no day precedes the first row


def test_rows_before_the_first_date_or_decimal(upsweep, arrow):
    """As row 0 of an exclusive scan: minima and maxima have no value there, sums are 0, and --init comes first."""
    columns = {
        "price": arrow.array([None, decimal.Decimal("1.25")], arrow.decimal128(9, 2)),
        "day": arrow.array([None, datetime.date(2020, 2, 29)]),
    }
    upsweep.table("t.parquet", columns)
    import pyarrow.parquet

    def rows(column, *options):
        first = []
        for shape in ([], ["--exclusive"]):
            upsweep.ok("scan", f"t.parquet:{column}", *options, *shape, "--nulls", "skip", "-o", "out.parquet")
            first.append(pyarrow.parquet.read_table(upsweep.folder / "out.parquet")[column][0].as_py())
        assert first[0] == first[1]
        return first[0]

    for op in ("min", "max"):
        assert rows("price", "--op", op) is None and rows("day", "--op", op) is None
        limits = np.iinfo("int64")
        npy = upsweep.npy("scan", "t.parquet:price", "--op", op, "--nulls", "skip")
        assert npy[0] == (limits.max if op == "min" else limits.min)
    assert rows("price") == 0
    assert rows("price", "--op", "max", "--init", "-5.5") == decimal.Decimal("-5.50")


def test_only_nulls(upsweep, arrow):
    upsweep.table("t.parquet", {"x": arrow.nulls(3, arrow.int32())})
    assert upsweep.npy("scan", "t.parquet:x", "--nulls", "skip").tolist() == [0, 0, 0]
    assert upsweep.npy("scan", "t.parquet:x", "--nulls", "skip", "--op", "mul", "--exclusive").tolist() == [1, 1, 1]
    assert upsweep.text("reduce", "t.parquet:x", "--nulls", "skip") == "0\n"
    error = upsweep.fails("empty", "reduce", "t.parquet:x", "--op", "min", "--nulls", "skip")
    assert "no elements that are not NULL, but min needs at least one" in error["message"]


@pytest.mark.parametrize("n", [9, CHUNK + 9])
@pytest.mark.parametrize("exclusive", [False, True])
def test_an_overflow_names_its_row(upsweep, arrow, n, exclusive):
    values = np.zeros(n, "int64")
    missing = np.zeros(n, bool)
    missing[[0, 2, n - 5, n - 1]] = True
    values[1] = 2**63 - 1
    values[n - 2] = 1
    upsweep.table("t.parquet", {"x": with_nulls(arrow, values, missing)})
    shape = ["--exclusive"] if exclusive else []
    row = n - 1 if exclusive else n - 2
    upsweep.fails("overflow", "scan", "t.parquet:x", "--nulls", "skip", *shape, index=row)
    got = upsweep.npy("scan", "t.parquet:x", "--nulls", "skip", "--overflow", "wrap", *shape)
    assert got[row] == -(2**63)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("between", [0, 1, 3])
@pytest.mark.parametrize("behind", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_an_overflow_is_in_the_first_row_that_does_not_fit(upsweep, arrow, exclusive, before, between, behind, last):
    """In an exclusive scan, that row may be NULL: it has the sum of all elements before it."""
    column = [None] * before + [2**63 - 1] + [None] * between + [1] + [None] * behind + [5] * last
    upsweep.table("t.arrow", {"x": arrow.array(column, arrow.int64())})
    options = ["--nulls", "skip"] + (["--exclusive"] if exclusive else [])
    row = before + 1 + between + exclusive
    if row < len(column):
        error = upsweep.fails("overflow", "scan", "t.arrow:x", *options, index=row)
        assert f"output {row} does not fit" in error["message"]
    else:
        assert upsweep.npy("scan", "t.arrow:x", *options)[-1] == 2**63 - 1


@pytest.mark.parametrize("command", ["scan", "reduce"])
@pytest.mark.parametrize("options", [[], ["--nulls", "refuse"]])
def test_the_message_about_a_null_names_the_option(upsweep, arrow, command, options):
    upsweep.table("t.parquet", {"x": [1, None, 3]})
    error = upsweep.fails("null_value", command, "t.parquet:x", *options, index=1)
    assert error["message"].endswith(" is NULL; --nulls skip leaves out NULL elements"), error
    upsweep.write("t.csv", "x\n1\nNA\n3\n")
    assert "--nulls skip" in upsweep.fails("null_value", command, "t.csv", *options, index=1)["message"]


@pytest.mark.parametrize("command", ["scan", "reduce"])
@pytest.mark.parametrize("value", ["ignore", "SKIP"])
def test_other_values_of_the_option(upsweep, command, value):
    upsweep.save("x.npy", [1, 2], "int32")
    error = upsweep.fails("invalid_argument", command, "x.npy", "--nulls", value)
    assert error["message"] == f"--nulls '{value}' is not one of skip, refuse"
    assert upsweep.json(command, "x.npy", "--nulls", "skip")["nulls"] == 0  # .npy has no NULL
    assert "nulls" not in upsweep.json(command, "x.npy")


def test_nan_is_a_value(upsweep):
    upsweep.save("x.npy", [1, np.nan, 2], "float64")
    assert upsweep.text("reduce", "x.npy", "--nulls", "skip") == "NaN\n"
    assert np.isnan(upsweep.npy("scan", "x.npy", "--nulls", "skip")[1:]).all()


@pytest.mark.skipif(not test_mpi.MPIEXEC, reason="this build has no MPI")
@pytest.mark.parametrize("ranks", [1, 3])
def test_files_of_several_ranks(upsweep, arrow, ranks):
    """NULL rows at the ends of files, a file of them only, and an index that counts them."""
    columns = [[None, 1, None], [None, None], [2, None], [3, None, 4]]
    files = [upsweep.table(f"t{i}.parquet", {"x": arrow.array(one, arrow.int64())}) for i, one in enumerate(columns)]
    options = ["--nulls", "skip", "-o", "out.npy", "--one-file", "--json"]
    result = json.loads(test_mpi.ok(upsweep, ranks, "scan", "--mpi", *files, *options))
    assert upsweep.load("out.npy").tolist() == [0, 1, 1, 1, 1, 3, 3, 6, 6, 10]
    assert (result["count"], result["nulls"], result["first"], result["last"]) == (10, 6, 0, 10)
    test_mpi.ok(upsweep, ranks, "scan", "--mpi", *files, *options, "--exclusive")
    assert upsweep.load("out.npy").tolist() == [0, 0, 1, 1, 1, 1, 3, 3, 6, 6]
    result = json.loads(test_mpi.ok(upsweep, ranks, "reduce", "--mpi", *files, "--nulls", "skip", "--json"))
    assert (result["value"], result["count"], result["nulls"]) == (10, 4, 6)


@pytest.mark.skipif(not test_mpi.MPIEXEC, reason="this build has no MPI")
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("second", [[None, 7], [None], [7], [None, None, 7, None]])
def test_an_overflow_after_another_file(upsweep, arrow, ranks, second):
    columns = [[2**63 - 1, 1], second]
    files = [upsweep.table(f"t{i}.arrow", {"x": arrow.array(one, arrow.int64())}) for i, one in enumerate(columns)]
    out = test_mpi.run(upsweep, ranks, "scan", "--mpi", *files, "--nulls", "skip", "--exclusive", "--json")[1]
    assert json.loads(out)["error"]["index"] == 2, out


@pytest.mark.parametrize("n", [5 * CHUNK // 2, 4 * CHUNK])
def test_long_runs_of_nulls(upsweep, arrow, n):
    """They are longer than what is written at once."""
    for where in ([0], [n // 2], [n - 1], [0, n - 1], [CHUNK - 1, CHUNK]):
        values = np.zeros(n, "int32")
        missing = np.ones(n, bool)
        values[where] = np.arange(7, 7 + len(where))
        missing[where] = False
        upsweep.table("t.arrow", {"x": with_nulls(arrow, values, missing)}, max_chunksize=300_007)
        running = np.cumsum(values, dtype="int64")
        np.testing.assert_array_equal(upsweep.npy("scan", "t.arrow:x", "--nulls", "skip"), running)
        exclusive = np.concatenate([[0], running[:-1]])
        np.testing.assert_array_equal(upsweep.npy("scan", "t.arrow:x", "--nulls", "skip", "--exclusive"), exclusive)


def test_progress_counts_rows(upsweep, arrow):
    """The reader of the output is slow, so that the progress of the last chunk is shown."""
    n = 1 << 21
    missing = np.random.default_rng(47).random(n) < 0.3
    upsweep.table("t.arrow", {"x": with_nulls(arrow, np.ones(n, "int64"), missing)}, max_chunksize=100_000)
    ours, theirs = pty.openpty()
    command = [conftest.COMMAND, "scan", "t.arrow:x", "--nulls", "skip", "--threads", "1", "-o", "-"]
    process = subprocess.Popen(command, cwd=upsweep.folder, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    while process.stdout.read(1 << 20):
        time.sleep(0.15)
    process.stdout.close()
    assert process.wait(600) == 0
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    percents = [int(one) for one in re.findall(rb"scanning +(\d+) %", shown)]
    assert percents and percents == sorted(percents) and percents[-1] == 100, shown


@pytest.mark.parametrize("command", ["scan", "reduce"])
def test_the_time_includes_leaving_out_nulls(upsweep, arrow, command):
    """One element, and many NULL rows: without them there is almost nothing to measure."""
    n = 1 << 23
    missing = np.ones(n, bool)
    missing[n // 2] = False
    upsweep.table("t.arrow", {"x": with_nulls(arrow, np.ones(n, "int64"), missing)})
    seconds = [upsweep.json(command, "t.arrow:x", "--nulls", "skip", "--threads", "1")["seconds"] for _ in range(3)]
    assert min(seconds) > 2e-4  # 40 rows in a nanosecond
