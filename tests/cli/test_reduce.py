# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_reduce.py: `upsweep reduce`: the value compared with NumPy, how it is printed, and each case without a
# value.
import datetime
import decimal
import fractions
import json

import numpy as np
import pytest
from conftest import OPERATORS

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES = [*INTEGERS, "float32", "float64"]
RUNGS = ["cpu.serial", "cpu.threads", "cpu.simd", "cpu.simd_threads"]
CHUNK = 1 << 21
INT64_MAX = 2**63 - 1


def accumulator(dtype):
    return np.dtype({"i": "int64", "u": "uint64"}.get(np.dtype(dtype).kind, dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", OPERATORS)
def test_every_operator_and_type(upsweep, op, dtype):
    if OPERATORS[op].of_floats is None and dtype.startswith("float"):
        pytest.skip("bitwise operators are for integers")
    values = np.random.default_rng(5).integers(1, 100, 3000).astype(dtype)
    if op == "mul":
        values = np.ones(300, dtype=dtype)
        values[::10] = 2
    upsweep.save("in.npy", values)
    expected = OPERATORS[op].ufunc.reduce(values.astype(accumulator(dtype)))
    result = upsweep.json("reduce", "in.npy", "--op", op)
    assert {"value", "dtype", "rung", "seconds"} <= set(result)
    assert result["value"] == expected
    assert result["dtype"] == str(accumulator(dtype))
    text = upsweep.text("reduce", "in.npy", "--op", op)
    assert text.endswith("\n") and text.count("\n") == 1
    assert accumulator(dtype).type(text) == expected
    if accumulator(dtype).kind != "f":
        assert text == f"{expected}\n"


@pytest.mark.parametrize("dtype", ["int8", "int16", "float64"])
def test_chunks_of_long_columns_are_long_enough_for_threads(upsweep, dtype):
    upsweep.save("long.npy", np.ones(2 * CHUNK, dtype))
    assert upsweep.json("reduce", "long.npy", "--threads", "2")["rung"] == "cpu.simd_threads"
    scan = upsweep.json("scan", "long.npy", "--dtype", dtype, "--overflow", "wrap", "-o", "out.npy", "--threads", "2")
    assert scan["rung"] == "cpu.lookahead"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rung", RUNGS)
def test_products_leave_the_range_of_floats_and_come_back(upsweep, rung, dtype):
    upsweep.save("zero.npy", [0] + [8] * 5000, dtype)
    assert upsweep.text("reduce", "zero.npy", "--op", "mul", "--rung", rung) == "0\n"
    values = np.ones(2 * CHUNK + 5, dtype)
    values[:5000] = 8
    values[CHUNK : CHUNK + 5000] = 1 / 8
    values[-1] = 3
    upsweep.save("back.npy", values)
    assert upsweep.text("reduce", "back.npy", "--op", "mul", "--rung", rung) == "3\n"
    upsweep.save("over.npy", values[:CHUNK])
    assert upsweep.text("reduce", "over.npy", "--op", "mul", "--rung", rung).strip() in ("inf", "Infinity")


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("n", [1, 1000, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_rungs_and_lengths(upsweep, rung, n):
    values = np.random.default_rng(6).integers(-100, 100, n).astype("int16")
    upsweep.save("in.npy", values)
    result = upsweep.json("reduce", "in.npy", "--rung", rung)
    assert (result["value"], result["rung"]) == (values.sum(dtype="int64"), rung)
    assert upsweep.json("reduce", "in.npy", "--rung", rung, "--op", "min")["value"] == values.min()


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_float_bits_do_not_depend_on_threads(upsweep, threads):
    for dtype in ("float32", "float64"):
        upsweep.save("in.npy", np.random.default_rng(7).standard_normal(CHUNK + 12345), dtype)
        for rung in RUNGS:
            one = upsweep.json("reduce", "in.npy", "--rung", rung, "--threads", "1")
            assert upsweep.json("reduce", "in.npy", "--rung", rung, "--threads", threads)["value"] == one["value"]


@pytest.mark.parametrize("out", TYPES)
def test_dtype(upsweep, out):
    upsweep.save("in.npy", [1, 2, 4], "int32")
    result = upsweep.json("reduce", "in.npy", "--dtype", out)
    assert (result["value"], result["dtype"]) == (7, out)


def test_standard_input(upsweep):
    upsweep.save("in.npy", np.arange(10), "int8")
    with (upsweep.folder / "in.npy").open("rb") as file:
        assert upsweep.text("reduce", "-", stdin=file) == "45\n"


def test_quiet_still_prints_the_value(upsweep):
    upsweep.save("in.npy", [1, 2], "int32")
    assert upsweep.text("reduce", "in.npy", "--quiet") == "3\n"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_json_has_the_sign_of_zero(upsweep, dtype):
    upsweep.save("in.npy", [-0.0] * 5, dtype)
    upsweep.save("offsets.npy", [0, 2, 5], "int64")
    found = [upsweep.json("reduce", "in.npy")["value"]]
    for arguments in (("scan", "in.npy"), ("segment", "in.npy", "--offsets", "offsets.npy")):
        result = upsweep.json(*arguments)
        found += [result["first"], result["last"]]
    assert [str(value) for value in found] == ["-0.0"] * 5


@pytest.mark.parametrize("dtype", TYPES)
def test_no_elements(upsweep, dtype):
    upsweep.save("in.npy", np.array([], dtype=dtype))
    assert upsweep.json("reduce", "in.npy")["value"] == 0
    assert upsweep.json("reduce", "in.npy", "--op", "mul")["value"] == 1
    assert not upsweep.text("reduce", "in.npy").startswith("-")  # a sum of nothing is not -0.0
    upsweep.fails("empty", "reduce", "in.npy", "--op", "min", index=None)
    upsweep.fails("empty", "reduce", "in.npy", "--op", "max", index=None)


def test_exact_and_special_values(upsweep):
    for dtype in ("int64", "uint64"):
        for value in (np.iinfo(dtype).max, np.iinfo(dtype).min):
            upsweep.save("in.npy", [value], dtype)
            assert upsweep.json("reduce", "in.npy")["value"] == int(value)
            assert upsweep.text("reduce", "in.npy") == f"{value}\n"
    for value, word in ((np.nan, "NaN"), (np.inf, "Infinity"), (-np.inf, "-Infinity")):
        upsweep.save("in.npy", [1, value, 2], "float64")
        assert upsweep.json("reduce", "in.npy")["value"] == word
        assert upsweep.text("reduce", "in.npy") == f"{word}\n"
    upsweep.save("in.npy", [1, np.nan, 2], "float32")
    for op in ("min", "max"):
        for rung in RUNGS:
            assert upsweep.json("reduce", "in.npy", "--op", op, "--rung", rung)["value"] == "NaN"


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(
    "values, dtype, options",
    [
        ([INT64_MAX, 1], "int64", []),
        ([-INT64_MAX - 1, -1], "int64", []),
        ([2**64 - 1, 1], "uint64", []),
        ([100, 28], "int16", ["--dtype", "int8"]),
        ([2, -3], "int32", ["--dtype", "uint64"]),
        ([2**63], "uint64", ["--dtype", "int64"]),
    ],
)
def test_overflow(upsweep, rung, values, dtype, options):
    upsweep.save("in.npy", values, dtype)
    upsweep.fails("overflow", "reduce", "in.npy", "--rung", rung, *options, index=None)


def test_overflow_across_pieces(upsweep):
    values = np.zeros(CHUNK + 1, dtype="int64")
    values[0], values[-1] = INT64_MAX, 1
    upsweep.save("in.npy", values)
    upsweep.fails("overflow", "reduce", "in.npy", index=None)


def test_a_sum_that_fits_is_no_overflow(upsweep):
    upsweep.save("in.npy", [INT64_MAX, 1, -1], "int64")
    for rung in RUNGS:
        assert upsweep.json("reduce", "in.npy", "--rung", rung)["value"] == INT64_MAX


def test_products_wrap(upsweep):
    upsweep.save("in.npy", [2**62, 4], "int64")
    assert upsweep.text("reduce", "in.npy", "--op", "mul") == "0\n"


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_columns_of_tables(upsweep, arrow, name):
    values = np.random.default_rng(8).integers(-9, 9, 150_000)
    days = arrow.array([datetime.date(1970, 1, 2)] * 150_000, arrow.date32())
    upsweep.table(name, {"x": values, "d": days, "f": values / 2})
    assert upsweep.text("reduce", f"{name}:x") == f"{values.sum()}\n"
    assert upsweep.text("reduce", f"{name}:d", "--op", "max") == "1970-01-02\n"
    assert upsweep.json("reduce", f"{name}:f", "--dtype", "float64")["value"] == values.sum() / 2
    upsweep.fails("unknown_column", "reduce", f"{name}:nope")


def test_decimals(upsweep, arrow):
    column = arrow.array([decimal.Decimal("-0.07"), decimal.Decimal("0.02")], arrow.decimal128(9, 2))
    upsweep.table("t.parquet", {"x": column})
    result = upsweep.json("reduce", "t.parquet:x")
    assert (result["value"], result["dtype"], result["scale"]) == ("-0.05", "int64", 2)
    assert upsweep.text("reduce", "t.parquet:x") == "-0.05\n"
    assert upsweep.text("reduce", "t.parquet:x", "--op", "min") == "-0.07\n"
    result = upsweep.json("reduce", "t.parquet:x", "--dtype", "float64")
    assert (result["value"], result["dtype"], "scale" in result) == (-0.05, "float64", False)
    assert upsweep.text("reduce", "t.parquet:x", "--dtype", "float64") == "-0.05\n"


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_decimals_past_64_bits(upsweep, arrow, sign):
    """The sum is exact in 128 bits, whatever the storage type of its elements."""
    value = sign * decimal.Decimal("9" * 16 + ".99")
    upsweep.table("t.parquet", {"x": arrow.array([value] * 5000, arrow.decimal128(18, 2))})
    result = upsweep.json("reduce", "t.parquet:x")
    assert (result["value"], result["dtype"], result["scale"]) == (f"{5000 * value:f}", "int128", 2)
    assert upsweep.text("reduce", "t.parquet:x") == f"{5000 * value:f}\n"
    result = upsweep.json("reduce", "t.parquet:x", "--dtype", "float64")
    assert (result["value"], result["dtype"]) == (float(fractions.Fraction(5000 * value)), "float64")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_dates(upsweep, arrow, name):
    days = [datetime.date(1998, 8, 2), datetime.date(1969, 12, 31)]
    upsweep.table(name, {"d": arrow.array(days)})
    assert upsweep.text("reduce", f"{name}:d", "--op", "max") == "1998-08-02\n"
    assert upsweep.text("reduce", f"{name}:d", "--op", "min") == "1969-12-31\n"
    assert upsweep.json("reduce", f"{name}:d", "--op", "max")["value"] == "1998-08-02"
    for op in ("add", "mul", "xor"):
        upsweep.fails("invalid_argument", "reduce", f"{name}:d", "--op", op)
    assert upsweep.text("reduce", f"{name}:d", "--dtype", "int64") == "10439\n"  # as days, by request


def test_csv_decimals_are_exact(upsweep, arrow):
    """Dimes: their sum as doubles is 999999.9998389754."""
    upsweep.write("t.csv", "x\n" + "0.10\n" * 10_000_000)
    result = upsweep.json("reduce", "t.csv")
    assert (result["value"], result["dtype"], result["scale"]) == ("1000000.00", "int64", 2)
    assert upsweep.text("reduce", "t.csv") == "1000000.00\n"
    assert upsweep.json("reduce", "t.csv", "--dtype", "float64")["value"] == 1000000.0


@pytest.mark.parametrize("digits", [1, 3, 9, 15, 17, 18])
def test_csv_decimals_against_decimal(upsweep, arrow, digits):
    random = np.random.default_rng(digits)
    scale = int(random.integers(0, digits + 1)) or 1
    whole = random.integers(-(10**digits) + 1, 10**digits, 30_000)
    values = [decimal.Decimal(int(w)).scaleb(-int(random.integers(0, scale + 1))) for w in whole]
    values = [v for v in values if v.adjusted() < digits - scale]
    upsweep.write("t.csv", "x,y\n" + "".join(f"{v:f},1\n" for v in values) + f"0.{'0' * scale},1\n")
    with decimal.localcontext(decimal.Context(prec=60)):
        total = sum(values, decimal.Decimal(f"0.{'0' * scale}"))
    assert upsweep.json("reduce", "t.csv:x")["value"] == f"{total:f}"
    assert upsweep.json("reduce", "t.csv:x", "--op", "min")["value"] == f"{min(values).quantize(total):f}"


LONG = 3 * (1 << 20) // 8  # lines of eight bytes: more than one block of the reader


@pytest.mark.parametrize("row", [0, 1, LONG // 2, LONG - 1])
@pytest.mark.parametrize("before", ["1234567", "12345.5"])
def test_a_scale_that_grows(upsweep, arrow, row, before):
    """The cell with the most decimals may be anywhere; so may the first cell that has decimals."""
    lines = [before] * LONG
    lines[row] = "-0.125"
    upsweep.write("t.csv", "x\n" + "\n".join(lines))
    total = decimal.Decimal(before) * (LONG - 1) - decimal.Decimal("0.125")
    assert upsweep.json("reduce", "t.csv")["value"] == f"{total:f}"
    assert upsweep.json("reduce", "t.csv", "--op", "min")["value"] == "-0.125"


@pytest.mark.parametrize(
    "cell, dtype, value",
    [
        ("1e1", "float64", 12.25),  # an exponent
        ("NaN", "float64", "NaN"),
        ("-inf", "float64", "-Infinity"),
        ("1.", "float64", 3.25),
        ("0.0000000000000000001", "float64", 2.25),  # more than 18 digits in all
        ("1000000000000000000", "float64", 1000000000000000002.25),
        ("0.00000000000000001", "int64", "2.25000000000000001"),
        ("1000000000000000", "int64", "1000000000000002.25"),
        ('"0.50"', "int64", "2.75"),
        (" 0.5\t", "int64", "2.75"),
        ("007.50", "int64", "9.75"),
        (".5", "int64", "2.75"),
        ("-.5", "int64", "1.75"),
        ("-0.00", "int64", "2.25"),
    ],
)
def test_what_csv_decimals_are(upsweep, arrow, cell, dtype, value):
    for where in (f"1.25\n{cell}\n1.0\n", f"1.25\n1.0\n{cell}"):
        upsweep.write("t.csv", "x\n" + where)
        result = upsweep.json("reduce", "t.csv:x")
        assert (result["value"], result["dtype"]) == (value, dtype), cell
        assert ("scale" in result) == (dtype == "int64")


def test_cells_that_are_no_csv_decimals(upsweep, arrow):
    text = "x,y\n" + "12345.5,1\n" * 300_000
    for cell in ("abc", "1.5.5", '"1,000.5"', "", "NA"):
        word = "null_value" if cell in ("", "NA") else "malformed"
        upsweep.write("t.csv", f"{text}{cell},1\n")
        upsweep.fails(word, "reduce", "t.csv:x", index=300_000)
        upsweep.fails(word, "scan", "t.csv:x", "-o", "out.npy", index=300_000)


@pytest.mark.parametrize("options", [["--dtype", "float64"], ["--dtype", "int32"], ["--op", "mul"]])
def test_decimals_lose_their_point_nowhere(upsweep, arrow, options):
    column = arrow.array([decimal.Decimal("1.50"), decimal.Decimal("0.50")], arrow.decimal128(9, 2))
    upsweep.table("t.parquet", {"x": column})
    done = upsweep.run("reduce", "t.parquet:x", *options, "--json")
    assert done.returncode in (0, 1, 2), done
    if done.returncode == 0:  # an error is also correct; another number is not
        assert float(json.loads(done.stdout)["value"]) == (0.75 if "mul" in options else 2.0), done.stdout


def test_null_names_its_first_row(upsweep, arrow):
    upsweep.table("t.parquet", {"x": [1, 2, None, None]})
    upsweep.fails("null_value", "reduce", "t.parquet:x", index=2)
    upsweep.table("t.parquet", {"x": arrow.nulls(3, arrow.int32())})
    upsweep.fails("null_value", "reduce", "t.parquet:x", index=0)


@pytest.mark.parametrize(
    "word, options",
    [
        ("unknown_rung", ["--rung", "cpu.nope"]),
        ("unsupported", ["--rung", "cpu.chained"]),  # a rung of the scan ladder
        ("invalid_argument", ["--exclusive"]),
        ("invalid_argument", ["-o", "out.txt"]),
        ("invalid_argument", ["--op", "mean"]),
        ("invalid_argument", ["--dtype", "bool"]),
        ("invalid_argument", ["--threads", "-2"]),
        (("not_built", "no_device"), ["--device", "cuda"]),
        ("invalid_argument", ["--device", "tpu"]),
    ],
)
@pytest.mark.parametrize("n", [3, 0])
def test_bad_options(upsweep, word, options, n):
    upsweep.save("in.npy", np.ones(n, dtype="int32"))
    upsweep.fails(word, "reduce", "in.npy", *options)


def test_what_floats_are_refused(upsweep):
    upsweep.save("in.npy", [1, 2], "float32")
    for options in (["--op", "and"], ["--op", "or"], ["--op", "xor"], ["--dtype", "int64"], ["--dtype", "uint8"]):
        upsweep.fails("invalid_argument", "reduce", "in.npy", *options)
