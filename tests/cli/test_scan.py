# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_scan.py: `upsweep scan`: results compared with NumPy, every option, and each error in its content.
import datetime
import decimal
import fractions
import json

import numpy as np
import pytest
from conftest import OPERATORS, identity

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES = [*INTEGERS, "float32", "float64"]
RUNGS = ["cpu.serial", "cpu.threads", "cpu.simd", "cpu.simd_threads", "cpu.chained", "cpu.lookahead"]
CHUNK = 1 << 21  # longer columns are read in several chunks
INT64_MAX = 2**63 - 1


def accumulator(dtype):
    kind = np.dtype(dtype).kind
    return np.dtype({"i": "int64", "u": "uint64"}.get(kind, dtype))


def numbers(dtype, n, seed=1):
    """Whole numbers, so that floats are also exact."""
    random = np.random.default_rng(seed)
    low, high = (0, 100) if np.dtype(dtype).kind == "u" else (-50, 50)
    return random.integers(low, high, n).astype(dtype)


def scanned(op, values, out, *, exclusive=False, init=None):
    values = values.astype(out)
    start = np.array([identity(op, out) if init is None else init], dtype=out)
    with np.errstate(over="ignore"):
        whole = OPERATORS[op].ufunc.accumulate(np.concatenate([start, values]))
    return whole[:-1] if exclusive else whole[1:]


# -------------------------------------------------------------------------------------------------------- good input


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_to_a_file(upsweep, dtype):
    values = numbers(dtype, 1000)
    upsweep.save("in.npy", values)
    result = upsweep.json("scan", "in.npy", "-o", "out.npy")
    expected = scanned("add", values, accumulator(dtype))
    out = upsweep.load("out.npy")
    assert out.dtype == accumulator(dtype) and out.shape == (1000,)
    np.testing.assert_array_equal(out, expected)
    assert {"count", "dtype", "last", "rung", "seconds", "output"} <= set(result)
    assert result["count"] == 1000
    assert result["dtype"] == str(accumulator(dtype))
    assert result["last"] == expected[-1]
    assert result["output"] == "out.npy"
    assert result["rung"] in RUNGS
    assert result["seconds"] >= 0
    assert set(upsweep.files()) == {"in.npy", "out.npy"}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", OPERATORS)
def test_every_operator(upsweep, op, dtype):
    if OPERATORS[op].of_floats is None and dtype.startswith("float"):
        pytest.skip("bitwise operators are for integers")
    values = numbers(dtype, 300)
    if op == "mul":
        values = np.ones(300, dtype=dtype)
        values[::10] = 2  # products that floats hold exactly
    upsweep.save("in.npy", values)
    out = accumulator(dtype)
    np.testing.assert_array_equal(upsweep.npy("scan", "in.npy", "--op", op), scanned(op, values, out))
    np.testing.assert_array_equal(
        upsweep.npy("scan", "in.npy", "--op", op, "--exclusive"), scanned(op, values, out, exclusive=True)
    )
    if dtype not in ("int32", "uint8", "float64"):
        return
    np.testing.assert_array_equal(
        upsweep.npy("scan", "in.npy", "--op", op, "--exclusive", "--init", "7"),
        scanned(op, values, out, exclusive=True, init=7),
    )
    np.testing.assert_array_equal(
        upsweep.npy("scan", "in.npy", "--op", op, "--init", "7"), scanned(op, values, out, init=7)
    )


@pytest.mark.parametrize("n", [1, 2, 17, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_lengths_around_the_pieces(upsweep, n):
    values = numbers("int16", n)
    upsweep.save("in.npy", values)
    np.testing.assert_array_equal(upsweep.npy("scan", "in.npy"), scanned("add", values, "int64"))
    np.testing.assert_array_equal(
        upsweep.npy("scan", "in.npy", "--exclusive", "--init", "-3"),
        scanned("add", values, "int64", exclusive=True, init=-3),
    )
    np.testing.assert_array_equal(upsweep.npy("scan", "in.npy", "--op", "max"), np.maximum.accumulate(values))


@pytest.mark.parametrize("dtype", TYPES)
def test_no_elements(upsweep, dtype):
    upsweep.save("in.npy", np.array([], dtype=dtype))
    result = upsweep.json("scan", "in.npy", "-o", "out.npy")
    assert (result["count"], result["last"], result["dtype"]) == (0, None, str(accumulator(dtype)))
    out = upsweep.load("out.npy")
    assert out.shape == (0,) and out.dtype == accumulator(dtype)
    assert upsweep.npy("scan", "in.npy", "--exclusive").shape == (0,)
    assert "0" in upsweep.text("scan", "in.npy")


@pytest.mark.parametrize("out", TYPES)
def test_every_dtype(upsweep, out):
    values = numbers("int32", 40) % 3
    upsweep.save("in.npy", values)
    got = upsweep.npy("scan", "in.npy", "--dtype", out)
    assert got.dtype == np.dtype(out)
    np.testing.assert_array_equal(got, scanned("add", values, out))
    assert upsweep.json("scan", "in.npy", "--dtype", out)["dtype"] == out


def test_float_types_stay_and_change(upsweep):
    upsweep.save("in.npy", [1.5, 2.5], "float32")
    assert upsweep.npy("scan", "in.npy").dtype == np.float32
    assert upsweep.npy("scan", "in.npy", "--dtype", "float64").dtype == np.float64


def test_init_takes_signs_and_fractions(upsweep):
    upsweep.save("i.npy", [1, 2], "int32")
    upsweep.save("f.npy", [1, 2], "float64")
    assert upsweep.npy("scan", "i.npy", "--init", "-5").tolist() == [-4, -2]
    assert upsweep.npy("scan", "i.npy", "--init=-5").tolist() == [-4, -2]
    assert upsweep.npy("scan", "f.npy", "--init", "-0.5").tolist() == [0.5, 2.5]
    assert upsweep.npy("scan", "f.npy", "--init", "1e3").tolist() == [1001, 1003]
    assert upsweep.npy("scan", "i.npy", "--init", str(INT64_MAX), "--op", "min").tolist() == [1, 1]


@pytest.mark.parametrize("rung", RUNGS)
def test_the_result_names_the_rung(upsweep, rung):
    values = numbers("int32", 5000)
    upsweep.save("in.npy", values)
    result = upsweep.json("scan", "in.npy", "--rung", rung, "-o", "out.npy")
    assert result["rung"] == rung
    np.testing.assert_array_equal(upsweep.load("out.npy"), scanned("add", values, "int64"))
    assert rung in upsweep.text("scan", "in.npy", "--rung", rung)


@pytest.mark.parametrize("threads", ["1", "2", "3", "64"])
def test_threads(upsweep, threads):
    values = numbers("int32", 300_000)
    upsweep.save("in.npy", values)
    result = upsweep.json("scan", "in.npy", "--threads", threads, "-o", "out.npy")
    np.testing.assert_array_equal(upsweep.load("out.npy"), scanned("add", values, "int64"))
    assert result["rung"] == upsweep.json("scan", "in.npy", "--threads", "1")["rung"]  # by n and type only


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_devices(upsweep, device):
    upsweep.save("in.npy", [1, 2, 3], "int32")
    assert upsweep.json("scan", "in.npy", "--device", device)["last"] == 6


def test_standard_input(upsweep):
    values = numbers("uint16", 3 * CHUNK + 1)
    upsweep.save("in.npy", values)
    expected = scanned("add", values, "uint64")
    with (upsweep.folder / "in.npy").open("rb") as file:
        np.testing.assert_array_equal(upsweep.npy("scan", "-", stdin=file), expected)
    done = upsweep.shell('cat in.npy | "$U" scan - --json')
    assert done.returncode == 0 and json.loads(done.stdout)["last"] == expected[-1]
    done = upsweep.shell('mkfifo f && { cat in.npy > f & } && "$U" scan f --json')
    assert done.returncode == 0 and json.loads(done.stdout)["last"] == expected[-1]
    done = upsweep.shell('"$U" scan in.npy --format npy | "$U" reduce - --op max')
    assert done.returncode == 0 and int(done.stdout) == expected[-1]


def test_output_over_its_own_input(upsweep):
    values = numbers("int64", 2 * CHUNK + 3)
    upsweep.save("a.npy", values)
    upsweep.ok("scan", "a.npy", "-o", "a.npy")
    np.testing.assert_array_equal(upsweep.load("a.npy"), scanned("add", values, "int64"))
    assert set(upsweep.files()) == {"a.npy"}


def test_the_output_replaces_what_was_there(upsweep):
    upsweep.save("in.npy", [1, 2, 3], "int32")
    upsweep.write("out.npy", b"x" * 10_000)
    upsweep.ok("scan", "in.npy", "-o", "out.npy")
    assert upsweep.load("out.npy").tolist() == [1, 3, 6]
    assert set(upsweep.files()) == {"in.npy", "out.npy"}


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_npy_version(upsweep, version):
    with (upsweep.folder / "in.npy").open("wb") as file:
        np.lib.format.write_array(file, np.array([1, 2, 4], dtype="int16"), version=version)
    assert upsweep.json("scan", "in.npy")["last"] == 7


@pytest.mark.parametrize("padding", range(8))
def test_elements_need_not_be_aligned_in_the_file(upsweep, padding):
    header = b"{'shape': (3,), 'fortran_order': False, 'descr': '<f8'}" + b" " * padding + b"\n"
    head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    upsweep.write("in.npy", head + np.array([1.5, 2, 4]).tobytes())
    assert upsweep.npy("scan", "in.npy").tolist() == [1.5, 3.5, 7.5]


def test_a_name_with_a_colon_is_a_name(upsweep):
    upsweep.save("a:b.npy", [1, 2], "int32")
    assert upsweep.json("scan", "a:b.npy")["last"] == 3


# ------------------------------------------------------------------------------------------------------ what is said


def test_json_integers_are_exact(upsweep):
    for dtype in ("int64", "uint64"):
        limits = np.iinfo(dtype)
        for value in (limits.max, limits.max - 1, limits.min):
            upsweep.save("in.npy", [value], dtype)
            output = upsweep.ok("scan", "in.npy", "--json")
            assert json.loads(output, parse_float=decimal.Decimal)["last"] == int(value)
            assert str(value).encode() in output


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value, word", [(np.nan, "NaN"), (np.inf, "Infinity"), (-np.inf, "-Infinity")])
def test_json_spells_what_json_cannot(upsweep, dtype, value, word):
    upsweep.save("in.npy", [1, value], dtype)
    assert upsweep.json("scan", "in.npy")["last"] == word
    np.testing.assert_array_equal(upsweep.npy("scan", "in.npy"), np.array([1, value], dtype=dtype))


def test_json_floats_read_back_the_same(upsweep):
    for dtype in ("float32", "float64"):
        for value in (0.1, 1 / 3, 1e-30, 123456.789, 1e20, -2.5):
            upsweep.save("in.npy", [value], dtype)
            assert np.dtype(dtype).type(upsweep.json("scan", "in.npy")["last"]) == np.dtype(dtype).type(value)


def test_nan_propagates_through_min_and_max(upsweep):
    upsweep.save("in.npy", [1, np.nan, 0, 5], "float64")
    for op in ("min", "max"):
        np.testing.assert_array_equal(upsweep.npy("scan", "in.npy", "--op", op), [1, np.nan, np.nan, np.nan])


def test_json_output_is_null_without_a_file(upsweep):
    upsweep.save("in.npy", [1], "int32")
    assert upsweep.json("scan", "in.npy")["output"] is None


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_the_summary(upsweep, dtype):
    values = np.full(70_000, 2**40, dtype=dtype)
    upsweep.save("in.npy", values)
    for options in ([], ["-o", "out.npy"], ["--rung", "cpu.simd_threads"]):
        text = upsweep.text("scan", "in.npy", *options)
        assert max(map(len, text.splitlines())) <= 80, text
        assert "\x1b" not in text and "\r" not in text
        assert "70,000" in text or "70000" in text
        assert dtype in text and "cpu." in text
        bare = text.replace(",", "")
        assert str(2**40) in bare and (str(70_000 * 2**40) in bare or repr(70_000.0 * 2**40) in bare), text


def test_quiet(upsweep):
    upsweep.save("in.npy", [1, 2], "int32")
    assert upsweep.ok("scan", "in.npy", "--quiet", "-o", "out.npy") == b""
    assert upsweep.load("out.npy").tolist() == [1, 3]
    assert upsweep.json("scan", "in.npy", "--quiet")["last"] == 3


def test_help_and_version(upsweep):
    commands = ["scan", "reduce", "offsets", "query", "ladder", "devices"]
    text = upsweep.text("--help")
    assert "Usage: upsweep [OPTIONS] SUBCOMMAND" in text
    for command in commands:
        assert f"  {command} " in text
        assert f"Usage: upsweep {command} " in upsweep.text(command, "--help")
    assert upsweep.text("--version").startswith("upsweep ")


# ------------------------------------------------------------------------------------------------------ table columns


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_columns_of_tables(upsweep, arrow, name):
    n = 200_000
    random = np.random.default_rng(3)
    columns = {
        "i": random.integers(-1000, 1000, n),
        "f": random.integers(-1000, 1000, n) + 0.5,
        "s": np.array(["a", "b"])[random.integers(0, 2, n)],
    }
    upsweep.table(name, columns)
    np.testing.assert_array_equal(upsweep.npy("scan", f"{name}:i"), np.cumsum(columns["i"]))
    np.testing.assert_array_equal(upsweep.npy("scan", f"{name}:f", "--dtype", "float64"), np.cumsum(columns["f"]))
    result = upsweep.json("scan", f"{name}:i", "-o", "out.npy", "--exclusive", "--init", "10")
    assert (result["count"], result["dtype"]) == (n, "int64")
    np.testing.assert_array_equal(upsweep.load("out.npy"), 10 + np.cumsum(columns["i"]) - columns["i"])
    upsweep.fails("unknown_column", "scan", f"{name}:nope", "-o", "new.npy")
    upsweep.fails("unknown_column", "scan", f"{name}:", "-o", "new.npy")
    upsweep.fails("unknown_column", "scan", name, "-o", "new.npy")  # three columns, but no column was named
    upsweep.fails("unsupported_type", "scan", f"{name}:s", "-o", "new.npy")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_a_table_of_one_column_needs_no_name(upsweep, arrow, name):
    upsweep.table(name, {"only": [1, 2, 4]})
    assert upsweep.json("scan", name)["last"] == 7
    assert upsweep.json("scan", f"{name}:only")["last"] == 7
    upsweep.fails("unknown_column", "scan", f"{name}:other")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_every_type_of_column(upsweep, arrow, name, dtype):
    values = numbers(dtype, 1000)
    upsweep.table(name, {"x": values})
    got = upsweep.npy("scan", f"{name}:x")
    assert got.dtype == accumulator(dtype)
    np.testing.assert_array_equal(got, scanned("add", values, accumulator(dtype)))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_decimals_keep_their_point(upsweep, arrow, name):
    cents = [1, -250, 100_000, 7, 99]
    column = arrow.array([decimal.Decimal(c).scaleb(-2) for c in cents], arrow.decimal128(15, 2))
    upsweep.table(name, {"price": column})
    result = upsweep.json("scan", f"{name}:price", "-o", "out.npy")
    assert (result["first"], result["last"], result["dtype"], result["scale"]) == ("0.01", "998.57", "int64", 2)
    assert upsweep.load("out.npy").tolist() == np.cumsum(cents).tolist()  # times 100
    assert "998.57" in upsweep.text("scan", f"{name}:price")
    assert upsweep.json("scan", f"{name}:price", "--op", "min")["last"] == "-2.50"
    assert upsweep.json("scan", f"{name}:price", "--init", "1.5")["last"] == "1000.07"
    upsweep.fails("invalid_argument", "scan", f"{name}:price", "--init", "1.005", "-o", "out2.npy")


def test_the_scale_of_what_is_written_is_said(upsweep, arrow):
    """The written numbers are 100 times the printed ones."""
    column = arrow.array([decimal.Decimal("17.00"), decimal.Decimal("-20.05")], arrow.decimal128(15, 2))
    upsweep.table("t.parquet", {"x": column, "i": [1, 2]})
    note = "scale  the values in out.npy are scaled by 100: -305 means -3.05\n"
    assert upsweep.text("scan", "t.parquet:x", "-o", "out.npy").endswith("output out.npy\n" + note)
    assert upsweep.load("out.npy").tolist() == [1700, -305]
    assert "scale  " not in upsweep.text("scan", "t.parquet:x")  # nothing is written
    assert "scale  " not in upsweep.text("scan", "t.parquet:i", "-o", "out.npy")
    assert "scale" not in upsweep.json("scan", "t.parquet:i", "-o", "out.npy")
    assert "scaled" in upsweep.text("scan", "--help")


@pytest.mark.parametrize("options", [[], ["--exclusive"], ["--exclusive", "--init", "0.3"], ["--init", "-5"]])
@pytest.mark.parametrize("op", ["add", "min", "max"])
@pytest.mark.parametrize("scale", [0, 2, 17])
def test_decimals_as_float64(upsweep, arrow, op, options, scale):
    """Each value is the float64 nearest to the exact value, also if 64 bits cannot hold the scaled value."""
    if op != "add" and options == ["--exclusive"]:
        pytest.skip("starts from an infinity, which is not a decimal")
    digits = np.random.default_rng(scale).integers(-(10**18) + 1, 10**18, 5000)
    digits[:100] = 10**18 - 1
    values = [decimal.Decimal(int(d)).scaleb(-scale) for d in digits]
    upsweep.table("t.parquet", {"x": arrow.array(values, arrow.decimal128(18, scale))})
    if "0.3" in options and scale == 0:
        options = ["--exclusive", "--init", "3"]
    fold = {"add": lambda a, b: a + b, "min": min, "max": max}[op]
    running = [fractions.Fraction(decimal.Decimal(options[-1]))] if "--init" in options else []
    if options == ["--exclusive"]:
        running = [fractions.Fraction(0)]
    for v in map(fractions.Fraction, values):
        running.append(fold(running[-1], v) if running else v)
    expected = running[:-1] if "--exclusive" in options else running[-len(values) :]
    args = ("scan", "t.parquet:x", "--op", op, "--dtype", "float64", *options)
    got = upsweep.npy(*args)
    assert got.dtype == np.float64
    assert got.tolist() == [float(v) for v in expected]
    result = upsweep.json(*args)
    assert (result["first"], result["last"], result["dtype"]) == (got[0], got[-1], "float64")
    assert "scale" not in result
    assert "type   float64\n" in upsweep.text(*args, "-o", "out.npy")
    assert "scale  " not in upsweep.text(*args, "-o", "out.npy")


@pytest.mark.parametrize("options", [["--dtype", "float64"], ["--dtype", "int32"], ["--op", "mul"]])
def test_decimals_lose_their_point_nowhere(upsweep, arrow, options):
    column = arrow.array([decimal.Decimal("1.50"), decimal.Decimal("0.50")], arrow.decimal128(15, 2))
    upsweep.table("t.parquet", {"x": column})
    expected = 0.75 if "mul" in options else 2.0
    done = upsweep.run("scan", "t.parquet:x", *options, "--json")
    assert done.returncode in (0, 1, 2), done
    if done.returncode == 0:  # an error is also correct; another number is not
        assert float(json.loads(done.stdout)["last"]) == expected, done.stdout


def test_decimals_of_18_digits_and_of_more(upsweep, arrow):
    for type_, value in ((arrow.decimal128(18, 6), "999999999999.999999"), (arrow.decimal128(18, 0), "9" * 18)):
        upsweep.table("t.parquet", {"x": arrow.array([decimal.Decimal(value)], type_)})
        assert upsweep.json("scan", "t.parquet:x")["last"] == value
    upsweep.table("t.parquet", {"x": arrow.array([decimal.Decimal("1")], arrow.decimal128(19, 2))})
    assert upsweep.json("scan", "t.parquet:x")["last"] == "1.00"
    upsweep.table("t.parquet", {"x": arrow.array([decimal.Decimal(10**19)], arrow.decimal128(38, 0))})
    upsweep.fails("overflow", "scan", "t.parquet:x", index=0)


def test_decimals_that_overflow(upsweep, arrow):
    column = arrow.array([decimal.Decimal("9" * 16 + ".99")] * 12, arrow.decimal128(18, 2))
    upsweep.table("t.parquet", {"x": column})
    error = upsweep.fails("overflow", "scan", "t.parquet:x", "-o", "out.npy", index=9)
    assert "--dtype float64" in error["message"]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_dates_are_dates(upsweep, arrow, name):
    days = [datetime.date(1998, 8, 2), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]
    upsweep.table(name, {"d": arrow.array(days, arrow.date32())})
    result = upsweep.json("scan", f"{name}:d", "--op", "max", "-o", "out.npy")
    assert (result["first"], result["last"], result["dtype"]) == ("1998-08-02", "2024-02-29", "int64")
    assert upsweep.load("out.npy").tolist() == [10440, 10440, 19782]
    text = upsweep.text("scan", f"{name}:d", "--op", "min", "-o", "out.npy")
    assert "type   date\nfirst  1998-08-02\nlast   1969-12-31\n" in text
    assert text.endswith("scale  the values in out.npy are days since 1970-01-01: -1 means 1969-12-31\n")
    assert upsweep.npy("scan", f"{name}:d", "--op", "min").tolist() == [10440, -1, -1]
    assert upsweep.json("scan", f"{name}:d", "--op", "max", "--init", "2000-01-01")["first"] == "2000-01-01"
    for bad in ("10440", "2000-13-01", "2000-257-01", "2000-02-30", "yesterday"):
        upsweep.fails("invalid_argument", "scan", f"{name}:d", "--op", "max", "--init", bad)


@pytest.mark.parametrize("op", ["add", "mul", "and", "or", "xor"])
def test_dates_do_not_add_up(upsweep, arrow, op):
    upsweep.table("t.parquet", {"d": arrow.array([datetime.date(1970, 1, 11), datetime.date(1969, 12, 31)])})
    error = upsweep.fails("invalid_argument", "scan", "t.parquet:d", "--op", op, "-o", "out.npy")
    assert "--dtype int64" in error["message"]
    # By request, as the numbers that store them.
    assert upsweep.json("scan", "t.parquet:d", "--dtype", "int64")["last"] == 9
    assert upsweep.npy("scan", "t.parquet:d", "--dtype", "int32", "--op", "min").tolist() == [10, -1]


@pytest.mark.parametrize("row", [0, 5, 70_000, 99_999])
@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_null_names_its_first_row(upsweep, arrow, name, row):
    values = list(range(100_000))
    values[row] = None
    values[-1] = None
    upsweep.table(name, {"x": arrow.array(values, arrow.int64()), "y": arrow.array([1] * 100_000)})
    upsweep.fails("null_value", "scan", f"{name}:x", "-o", "out.npy", index=row)
    assert upsweep.json("scan", f"{name}:y")["last"] == 100_000  # other columns do not matter


def test_csv_types(upsweep, arrow):
    upsweep.write("t.csv", "a,b,c\n1,1.5,18446744073709551615\n-2,NaN,0\n")
    assert upsweep.npy("scan", "t.csv:a").tolist() == [1, -1]
    np.testing.assert_array_equal(upsweep.npy("scan", "t.csv:b"), [1.5, np.nan])
    assert upsweep.json("scan", "t.csv:c")["last"] == 2**64 - 1
    upsweep.write("head.csv", "a\n")
    assert upsweep.json("scan", "head.csv:a")["count"] == 0


def test_csv_decimals_are_exact(upsweep, arrow):
    random = np.random.default_rng(11)
    cents = random.integers(-(10**15), 10**15, 200_000)
    texts = [f"{decimal.Decimal(int(c)).scaleb(-2):f}" for c in cents]
    texts[7::1000] = [text[:-1] for text in texts[7::1000]]  # fewer decimals
    texts[8::1000] = [text[:-3] for text in texts[8::1000]]  # no decimals
    with decimal.localcontext(decimal.Context(prec=60)):
        sums = np.cumsum([int(decimal.Decimal(text).scaleb(2)) for text in texts])
    upsweep.write("t.csv", "word,x\n" + "".join(f'"a,b",{text}\n' for text in texts))
    result = upsweep.json("scan", "t.csv:x", "-o", "out.npy")
    assert (result["dtype"], result["scale"]) == ("int64", 2)
    assert result["last"] == f"{decimal.Decimal(int(sums[-1])).scaleb(-2):f}"
    np.testing.assert_array_equal(upsweep.load("out.npy"), sums)
    doubles = upsweep.npy("scan", "t.csv:x", "--dtype", "float64")
    assert doubles.tolist() == [float(fractions.Fraction(int(s), 100)) for s in sums]


# --------------------------------------------------------------------------------------------------------- overflow


@pytest.mark.parametrize("rung", [None, *RUNGS])
@pytest.mark.parametrize(
    "values, dtype, options, index",
    [
        ([INT64_MAX, 1], "int64", [], 1),
        ([-INT64_MAX - 1, -1, 5], "int64", [], 1),
        ([2**64 - 1, 1], "uint64", [], 1),
        ([1, 2, INT64_MAX, -5, 9], "int64", [], 2),
        ([INT64_MAX, 1, -1], "int64", [], 1),  # a later sum is back in range, but that is too late
        ([100, 27, 1], "int16", ["--dtype", "int8"], 2),
        ([-1], "int32", ["--dtype", "uint64"], 0),
        ([3, -4], "int32", ["--dtype", "uint8"], 1),
        ([2**63], "uint64", ["--dtype", "int64"], 0),
        ([1], "int64", ["--init", str(INT64_MAX)], 0),
        ([INT64_MAX, 1, 0], "int64", ["--exclusive"], 2),
        ([1, 0], "int64", ["--exclusive", "--init", str(INT64_MAX)], 1),
        ([0] * 9999 + [128], "uint8", ["--dtype", "int8"], 9999),
    ],
)
def test_overflow_names_the_first_output(upsweep, rung, values, dtype, options, index):
    upsweep.save("in.npy", values, dtype)
    if rung is not None:
        options = [*options, "--rung", rung]
    upsweep.fails("overflow", "scan", "in.npy", *options, "-o", "out.npy", index=index)


@pytest.mark.parametrize("rung", RUNGS)
def test_overflow_behind_the_first_piece(upsweep, rung):
    values = np.zeros(2 * CHUNK + 100, dtype="int8")
    values[3] = 127
    values[CHUNK + 77] = 1
    upsweep.save("in.npy", values)
    upsweep.fails(
        "overflow", "scan", "in.npy", "--dtype", "int8", "--rung", rung, "-o", "out.npy", index=CHUNK + 77
    )


def test_an_exclusive_scan_overflows_only_where_it_writes(upsweep):
    upsweep.save("in.npy", [INT64_MAX, 1], "int64")
    assert upsweep.npy("scan", "in.npy", "--exclusive").tolist() == [0, INT64_MAX]
    values = np.zeros(CHUNK, dtype="int64")
    values[-2:] = [INT64_MAX, 1]
    upsweep.save("in.npy", values)
    assert upsweep.json("scan", "in.npy", "--exclusive")["last"] == INT64_MAX
    upsweep.save("in.npy", [*values, 0], "int64")
    upsweep.fails("overflow", "scan", "in.npy", "--exclusive", index=CHUNK)


def test_differences_of_unsigned_outputs_fit(upsweep):
    upsweep.save("in.npy", [5, -3, -2, 0], "int32")
    assert upsweep.npy("scan", "in.npy", "--dtype", "uint64").tolist() == [5, 2, 0, 0]


def test_wrap_by_request(upsweep):
    upsweep.save("in.npy", [INT64_MAX, 1], "int64")
    assert upsweep.npy("scan", "in.npy", "--overflow", "wrap").tolist() == [INT64_MAX, -INT64_MAX - 1]
    upsweep.fails("overflow", "scan", "in.npy", "--overflow", "checked", index=1)
    upsweep.save("in.npy", [200, 100], "uint8")
    assert upsweep.npy("scan", "in.npy", "--overflow", "wrap", "--dtype", "uint8").tolist() == [200, 44]
    upsweep.save("in.npy", [2**62, 4], "int64")
    assert upsweep.npy("scan", "in.npy", "--op", "mul").tolist() == [2**62, 0]


# ------------------------------------------------------------------------------------------------------- bad requests


@pytest.mark.parametrize(
    "word, options",
    [
        ("unknown_rung", ["--rung", "cpu.nope"]),
        ("unsupported", ["--rung", "cpu.adjacent"]),  # a rung of another ladder
        ("invalid_argument", ["--nope"]),
        ("invalid_argument", ["another.npy"]),
        ("invalid_argument", ["--op", "plus"]),
        ("invalid_argument", ["--op"]),
        ("invalid_argument", ["--op", "mul", "--overflow", "checked"]),
        ("invalid_argument", ["--overflow", "maybe"]),
        ("invalid_argument", ["--dtype", "float16"]),
        ("invalid_argument", ["--dtype", "complex128"]),
        ("invalid_argument", ["--dtype", "decimal"]),
        ("invalid_argument", ["--init", "seven"]),
        ("invalid_argument", ["--init", "1.5"]),
        ("invalid_argument", ["--init", "9223372036854775808"]),
        ("invalid_argument", ["--init", "300", "--dtype", "int8"]),
        ("invalid_argument", ["--init", "-1", "--dtype", "uint8"]),
        ("invalid_argument", ["--init", "5 "]),
        ("invalid_argument", ["--init", ""]),
        ("invalid_argument", ["--threads", "-1"]),
        ("invalid_argument", ["--threads", "two"]),
        ("invalid_argument", ["--threads", "99999999999999999999"]),
        (("not_built", "no_device"), ["--device", "cuda"]),
        ("invalid_argument", ["--device", "foo"]),
        ("invalid_argument", ["--length", "3"]),  # an option of another command
    ],
)
@pytest.mark.parametrize("n", [3, 0])
def test_bad_options(upsweep, word, options, n):
    upsweep.save("in.npy", np.ones(n, dtype="int32"))
    upsweep.fails(word, "scan", "in.npy", "-o", "out.npy", *options)


@pytest.mark.parametrize("options", [["--op", op] for op in ("and", "or", "xor")] + [["--dtype", t] for t in INTEGERS])
def test_what_floats_are_refused(upsweep, options):
    for dtype in ("float32", "float64"):
        upsweep.save("in.npy", [1, 2], dtype)
        upsweep.fails("invalid_argument", "scan", "in.npy", "-o", "out.npy", *options)


def test_bit_operators_need_integers_out(upsweep):
    upsweep.save("in.npy", [1, 2], "int32")
    upsweep.fails("invalid_argument", "scan", "in.npy", "--op", "xor", "--dtype", "float64", "-o", "out.npy")


def test_no_command_or_a_wrong_one(upsweep):
    upsweep.fails("invalid_argument", "--quiet")
    upsweep.fails("invalid_argument", "scam", "in.npy")
    upsweep.fails("invalid_argument", "scan")
    upsweep.fails("invalid_argument", "--nope")


def test_json_and_data_cannot_share_standard_output(upsweep):
    upsweep.save("in.npy", [1, 2], "int32")
    done = upsweep.run("scan", "in.npy", "-o", "-", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "invalid_argument"


def test_a_failed_stream_says_so_on_standard_error(upsweep):
    upsweep.save("in.npy", [INT64_MAX, 1], "int64")
    done = upsweep.run("scan", "in.npy", "-o", "-")
    assert done.returncode == 1
    assert done.stderr.startswith(b"upsweep: ") and done.stderr.count(b"\n") == 1


# ------------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_output_as_a_table(upsweep, arrow, suffix):
    values = np.arange(3_000_000, dtype="int32")
    upsweep.save("in.npy", values)
    out = f"out.{suffix}"
    result = upsweep.json("scan", "in.npy", "-o", out)
    assert (result["output"], result["count"], result["dtype"]) == (out, len(values), "int64")
    table = read_table(arrow, upsweep, out)
    assert table.column_names == ["in"] and table["in"].type == arrow.int64()
    np.testing.assert_array_equal(table["in"].to_numpy(), np.cumsum(values, dtype="int64"))
    assert upsweep.text("reduce", f"{out}:in", "--op", "max") == f"{values.sum(dtype='int64')}\n"


def read_table(arrow, upsweep, name):
    import pyarrow.parquet

    if name.endswith(".parquet"):
        return pyarrow.parquet.read_table(upsweep.folder / name)
    with arrow.memory_map(str(upsweep.folder / name)) as file:
        return arrow.ipc.open_file(file).read_all()


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_decimals_and_dates_in_a_table(upsweep, arrow, suffix):
    import datetime
    from decimal import Decimal

    prices = arrow.array(["1.50", "-2.25", "0.10"]).cast(arrow.decimal128(12, 2))
    days = [datetime.date(2001, 1, 2), datetime.date(1999, 12, 31), datetime.date(2005, 6, 7)]
    upsweep.table("t.parquet", {"price": prices, "day": days})
    out = f"out.{suffix}"
    text = upsweep.text("scan", "t.parquet:price", "-o", out)
    assert "scaled by" not in text
    column = read_table(arrow, upsweep, out)["price"]
    assert column.type == arrow.decimal128(18, 2)
    assert column.to_pylist() == [Decimal("1.50"), Decimal("-0.75"), Decimal("-0.65")]
    upsweep.ok("scan", "t.parquet:price", "--dtype", "float64", "-o", out, "--quiet")
    assert read_table(arrow, upsweep, out)["price"].to_pylist() == [1.5, -0.75, -0.65]
    upsweep.ok("scan", "t.parquet:day", "--op", "max", "-o", out, "--quiet")
    assert read_table(arrow, upsweep, out)["day"].to_pylist() == [days[0], days[0], days[2]]
    # The first element has no elements before it, so there is no maximum.
    upsweep.ok("scan", "t.parquet:day", "--op", "max", "--exclusive", "-o", out, "--quiet")
    assert read_table(arrow, upsweep, out)["day"].to_pylist() == [None, days[0], days[0]]


def test_sums_that_are_no_decimals_of_18_digits(upsweep, arrow):
    big = arrow.array(["999999999999999.999"] * 3).cast(arrow.decimal128(18, 3))
    upsweep.table("t.parquet", {"x": big})
    for out in ("out.parquet", "out.arrow"):
        upsweep.fails("overflow", "scan", "t.parquet:x", "-o", out, index=1)
    assert upsweep.npy("scan", "t.parquet:x").tolist() == [k * (10**18 - 1) for k in (1, 2, 3)]


@pytest.mark.parametrize("out", ["full.parquet", "full.arrow", "full.npy"])
def test_a_table_on_a_full_device(upsweep, arrow, out):
    upsweep.save("in.npy", np.arange(100_000))
    (upsweep.folder / out).symlink_to("/dev/full")
    upsweep.fails("disk_full", "scan", "in.npy", "-o", out)


def test_a_table_into_a_closed_pipe(upsweep, arrow):
    upsweep.save("in.npy", np.arange(1_000_000))
    (upsweep.folder / "out.parquet").symlink_to("/dev/stdout")
    done = upsweep.shell('"$U" scan in.npy -o out.parquet --quiet | head -c 10 > /dev/null; echo ${PIPESTATUS[0]}')
    assert done.stdout == b"141\n" and done.stderr == b"", done
