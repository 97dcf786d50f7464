# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_times.py: timestamps, times of day and durations in queries, reductions and scans; floats as keys;
# booleans, half floats and big-endian numbers of .npy. DuckDB and NumPy are the references.
import datetime
import itertools
import json
import math
import re

import numpy as np
import pytest

PATH = "'t.parquet'"
ROWS = 20_000
DAY = 86_400 * 10**6  # microseconds
UNITS = ("s", "ms", "us", "ns")


@pytest.fixture(autouse=True)
def needs_arrow(arrow):
    """pyarrow writes the files."""


def rows(upsweep, sql, *options):
    return upsweep.json("query", sql, *options)["rows"]


def value(upsweep, expression, rest=""):
    ((found,),) = rows(upsweep, f"SELECT {expression} FROM {PATH} {rest}")
    return found


def iso(value, unit="us"):
    """A datetime64 as the command writes it in JSON: no zeros at the end of the fraction, and none at all."""
    text = str(np.datetime64(value, unit))
    return text.rstrip("0").rstrip(".") if "." in text else text


@pytest.fixture
def table(upsweep, arrow):
    """Rows of 30 years, in every unit."""
    generator = np.random.default_rng(7)
    stamps = (generator.integers(0, 10**9, ROWS) * 10**6 + generator.integers(0, 3, ROWS)).astype("M8[us]")
    stamps[::17] = np.datetime64("NaT")
    floats = generator.integers(0, 4, ROWS) / 2
    floats[generator.random(ROWS) < 0.2] = np.nan
    floats[generator.random(ROWS) < 0.2] = -0.0
    upsweep.table(
        "t.parquet",
        {
            "t": arrow.array(stamps),
            "s": arrow.array(stamps.astype("M8[s]")),
            "ms": arrow.array(stamps.astype("M8[ms]")),
            "ns": arrow.array(stamps.astype("M8[ns]")),
            "z": arrow.array(stamps, arrow.timestamp("us", "Europe/Paris")),
            "d": arrow.array(stamps.astype("M8[D]")),
            "tod": arrow.array([None if i % 11 == 0 else int(x) for i, x in enumerate(generator.integers(0, DAY, ROWS))],
                               arrow.time64("us")),
            "short": arrow.array(generator.integers(0, DAY // 1000, ROWS).astype("i4"), arrow.time32("ms")),
            "k": arrow.array(generator.integers(0, 5, ROWS)),
            "f": arrow.array(floats),
            "b": arrow.array([None if i % 5 == 0 else bool(i % 3) for i in range(ROWS)]),
            "span": arrow.array(generator.integers(-(10**10), 10**10, ROWS).astype("m8[us]")),
        },
    )  # fmt: skip
    return upsweep


QUERIES = [
    "SELECT COUNT(t), MIN(t), MAX(t), MIN(s), MAX(s), MIN(ms), MAX(ms) FROM {}",
    "SELECT MIN(tod), MAX(tod), COUNT(tod), MIN(short), MAX(short) FROM {}",
    "SELECT COUNT(*) FROM {} WHERE t >= TIMESTAMP '2000-01-02 03:04:05.678'",
    "SELECT COUNT(*) FROM {} WHERE t >= '1990-01-02' AND t < DATE '1995-06-07'",
    "SELECT COUNT(*) FROM {} WHERE ns > s",
    "SELECT COUNT(*) FROM {} WHERE ns = t",
    "SELECT COUNT(*) FROM {} WHERE s = t",
    "SELECT COUNT(*) FROM {} WHERE d < t",
    "SELECT COUNT(*) FROM {} WHERE d < TIMESTAMP '1990-01-01 00:00:00.000001'",
    "SELECT COUNT(*) FROM {} WHERE tod < TIME '12:34:56.789'",
    "SELECT COUNT(*) FROM {} WHERE tod BETWEEN '12:34' AND '23:00:00.5'",
    "SELECT t, COUNT(*) FROM {} WHERE t IS NOT NULL GROUP BY t ORDER BY t DESC LIMIT 5",
    "SELECT s, d, COUNT(*) FROM {} GROUP BY s, d ORDER BY s, d LIMIT 5",
    "SELECT tod, k, COUNT(*) FROM {} WHERE tod > '23:30' GROUP BY tod, k ORDER BY tod, k",
    "SELECT f, COUNT(*) FROM {} GROUP BY f ORDER BY f",
    "SELECT f, b, k, COUNT(*) FROM {} GROUP BY f, b, k ORDER BY f, b, k",
    "SELECT f + k, MAX(t) FROM {} GROUP BY f + k ORDER BY f + k",
    "SELECT MIN(b), MAX(b), COUNT(b) FROM {}",
    "SELECT k, MIN(b), MAX(b) FROM {} WHERE k < 3 AND b IS NOT NULL GROUP BY k ORDER BY k",
    "SELECT k, MIN(k > 2), MAX(NOT b) FROM {} GROUP BY k ORDER BY k",
    "SELECT COUNT(*) FROM {} WHERE t + INTERVAL '1 day' > TIMESTAMP '1999-01-01'",
    "SELECT COUNT(*) FROM {} WHERE t > TIMESTAMP '2000-03-31 12:00:00' - INTERVAL '1 month'",
    "SELECT COUNT(*) FROM {} WHERE t > TIMESTAMP '2000-03-31 12:00:00' + INTERVAL 3 HOURS",
    "SELECT COUNT(*) FROM {} WHERE t > s + INTERVAL 1 MICROSECOND",
    "SELECT MAX(t - s), MIN(t - d), COUNT(t - d) FROM {}",
    "SELECT MAX((t - s) * 3 - INTERVAL '2 days'), MIN(t - INTERVAL '36:30:00') FROM {}",
    "SELECT MAX(CASE WHEN k = 1 THEN t ELSE s END), MAX(CASE WHEN k = 1 THEN t ELSE d END) FROM {}",
    "SELECT COUNT(*) FROM {} WHERE s IN ('1990-01-01', TIMESTAMP '1980-05-06 07:08:09', DATE '1999-01-01')",
    "SELECT COUNT(*) FROM {} WHERE d > DATE '1990-01-01' + INTERVAL '36 hours'",
    "SELECT COUNT(*) FROM {} WHERE NOT t > '1990-01-01' OR t IS NULL",
]


def plain(value):
    """A value of DuckDB, or of the command's JSON, in a form that both have."""
    if isinstance(value, datetime.timedelta):
        return ("span", (value.days * 86_400 + value.seconds) * 10**6 + value.microseconds)
    if isinstance(value, (datetime.date, datetime.time)):
        value = value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if not isinstance(value, str):
        return value
    span = re.fullmatch(r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?", value)
    if span:
        days, hours, minutes, seconds = (int(part or 0) for part in span.group(2, 3, 4, 5))
        size = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 10**6 + int((span[6] or "").ljust(6, "0"))
        return ("span", -size if span[1] else size)
    clock = re.fullmatch(r"(.*\d\d:\d\d:\d\d)(\.\d+)?", value)
    return clock[1] + (clock[2] or "").rstrip("0").rstrip(".") if clock else value


@pytest.mark.parametrize("sql", QUERIES)
def test_as_duckdb(table, sql):
    duckdb = pytest.importorskip("duckdb")
    path = str(table.folder / "t.parquet")
    expected = duckdb.sql(sql.format(f"'{path}'")).fetchall()
    found = rows(table, sql.format(PATH))
    assert [[plain(cell) for cell in row] for row in found] == [[plain(cell) for cell in row] for row in expected]


def test_durations_as_numpy(table, arrow):
    spans = arrow.parquet.read_table(table.folder / "t.parquet")["span"].to_numpy()
    total, least, greatest = rows(table, f"SELECT SUM(span), MIN(span), MAX(span) FROM {PATH}")[0]
    assert plain(total) == ("span", int(spans.sum().astype(int)))
    assert plain(least) == ("span", int(spans.min().astype(int))) and plain(greatest) == ("span", int(spans.max().astype(int)))
    assert value(table, "COUNT(*)", "WHERE span > INTERVAL '5 minutes'") == int((spans > np.timedelta64(5, "m")).sum())
    assert value(table, "COUNT(*)", "WHERE -span = span * -1 AND span / 2 <= '3 hours'") == int(
        (spans <= np.timedelta64(6, "h")).sum()
    )
    assert value(table, "SUM(span) / SUM(span)") == 1
    read = arrow.parquet.read_table(table.folder / "t.parquet")
    t, d, k = (read[name].to_numpy() for name in ("t", "d", "k"))
    found = rows(table, f"SELECT k, SUM(t - d), SUM(t - d) / COUNT(t) FROM {PATH} GROUP BY k ORDER BY k")
    for key, total, mean in found:
        parts = (t - d.astype("M8[us]"))[(k == key) & ~np.isnat(t)].astype(int)
        assert plain(total) == ("span", parts.sum()) and plain(mean) == ("span", parts.sum() // len(parts))
    assert value(table, "MAX(span / INTERVAL '1 second')") == pytest.approx(float(spans.max() / np.timedelta64(1, "s")))


def test_times_with_a_zone_are_in_utc(table, arrow):
    stamps = arrow.parquet.read_table(table.folder / "t.parquet")["t"].to_numpy()
    least = np.nanmin(stamps)
    assert value(table, "MIN(z)") == iso(least) + "Z"
    assert value(table, "COUNT(*)", f"WHERE z = '{iso(least)}Z'") >= 1
    paris = iso(least + np.timedelta64(1, "h")) + "+01:00"
    assert value(table, "COUNT(*)", f"WHERE z = '{paris}'") == value(table, "COUNT(*)", f"WHERE t = '{iso(least)}'")
    error = table.fails("unsupported_sql", "query", f"SELECT COUNT(*) FROM {PATH} WHERE z = t")
    assert "in UTC" in error["message"]
    assert table.text("query", f"SELECT MIN(z) FROM {PATH}").splitlines()[1].strip() == iso(least).replace("T", " ") + "Z"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "npy"])
def test_every_unit_and_container(upsweep, arrow, unit, kind):
    stamps = np.array(["1969-12-31T23:59:59.999999999", "2024-02-29T12:30:45.123456789", "NaT"], "M8[ns]").astype(f"M8[{unit}]")
    spans = (stamps - stamps[1]).astype(f"m8[{unit}]")
    upsweep.table("t." + kind, {"t": stamps}) if kind != "npy" else np.save(upsweep.folder / "t.npy", stamps)
    found = rows(upsweep, f"SELECT MIN(t), MAX(t), COUNT(t), COUNT(*) FROM 't.{kind}'")
    assert found == [[iso(stamps[0], unit), iso(stamps[1], unit), 2, 3]]
    assert upsweep.json("reduce", f"t.{kind}", "--op", "max", "--nulls", "skip")["value"] == iso(stamps[1], unit)
    upsweep.fails("null_value", "reduce", f"t.{kind}", "--op", "max")
    if kind == "npy":
        np.save(upsweep.folder / "s.npy", spans)
    else:
        upsweep.table(f"s.{kind}", {"s": spans})
    ((least, total, count),) = rows(upsweep, f"SELECT MIN(s), SUM(s), COUNT(s) FROM 's.{kind}'")
    assert least == total and count == 2 and least.startswith("-P19782DT12H30M4")
    assert upsweep.json("reduce", f"s.{kind}", "--nulls", "skip")["value"] == total


def test_int96(upsweep, arrow):
    stamps = np.array(["1677-09-22", "1970-01-01T00:00:00.000000001", "2262-04-11T23:00", "NaT"], "M8[ns]")
    table = arrow.table({"t": stamps})
    arrow.parquet.write_table(table, upsweep.folder / "t.parquet", use_deprecated_int96_timestamps=True)
    found = rows(upsweep, f"SELECT t, COUNT(*) FROM {PATH} GROUP BY t ORDER BY t")
    assert found == [[iso(stamp, "ns"), 1] for stamp in stamps[:3]] + [[None, 1]]
    far = arrow.table({"t": arrow.array([0, 10**10], arrow.timestamp("s"))})  # the year 2286
    arrow.parquet.write_table(far, upsweep.folder / "t.parquet", use_deprecated_int96_timestamps=True)
    assert "1678 to 2262" in upsweep.fails("malformed", "query", f"SELECT MAX(t) FROM {PATH}")["message"]


def test_groups_of_row_groups_are_skipped_by_statistics(upsweep, arrow):
    stamps = np.arange(100_000).astype("M8[m]").astype("M8[us]")
    arrow.parquet.write_table(arrow.table({"t": stamps}), upsweep.folder / "t.parquet", row_group_size=10_000)
    for limit in ("1970-01-20", "1970-01-07 22:40", "1970-01-07 22:39:59.999999", "1970-01-07 22:40:00.000001"):
        for sign in ("<", "<=", "=", ">=", ">"):
            expected = int(eval(f"(stamps {sign.replace('=', '==') if sign == '=' else sign} np.datetime64('{limit}')).sum()"))
            assert value(upsweep, "COUNT(*)", f"WHERE t {sign} '{limit}'") == expected


@pytest.mark.parametrize(
    "sql, part",
    [
        ("SELECT SUM(t) FROM {}", "SUM of differences"),
        ("SELECT AVG(t) FROM {}", "avg() is not defined"),
        ("SELECT SUM(tod) FROM {}", "sum() is not defined for time"),
        ("SELECT AVG(span) FROM {}", "SUM(x) / COUNT(x)"),
        ("SELECT MAX(t + t) FROM {}", "+ is not defined"),
        ("SELECT MAX(t * 2) FROM {}", "* is not defined"),
        ("SELECT MAX(span * 1.5) FROM {}", "* is not defined"),
        ("SELECT MAX(tod + span) FROM {}", "+ is not defined"),
        ("SELECT COUNT(*) FROM {} WHERE t = tod", "= is not defined between timestamp and time"),
        ("SELECT COUNT(*) FROM {} WHERE t > 5", "is not defined"),
        ("SELECT COUNT(*) FROM {} WHERE t > 'yesterday'", "'yesterday' is not a valid timestamp"),
        ("SELECT COUNT(*) FROM {} WHERE t > '2024-02-30 12:00'", "is not a valid timestamp"),
        ("SELECT COUNT(*) FROM {} WHERE t > '2024-02-28 24:00'", "is not a valid timestamp"),
        ("SELECT COUNT(*) FROM {} WHERE t > '2024-02-28 12:00:00.0000000001'", "is not a valid timestamp"),
        ("SELECT COUNT(*) FROM {} WHERE tod > '12'", "'12' is not a valid time"),
        ("SELECT COUNT(*) FROM {} WHERE span > '3 moons'", "'3 moons' is not a valid duration"),
        ("SELECT COUNT(*) FROM {} WHERE span > '3 months'", "without months"),
        ("SELECT COUNT(*) FROM {} WHERE t > t - interval '3 months'", "only be added to literals"),
        ("SELECT COUNT(*) FROM {} WHERE t > TIMESTAMP '3000-01-01 00:00:00.000000001'", "does not fit 64 bits"),
        ("SELECT COUNT(*) FROM {} WHERE t = '2024-01-01 00:00+01:00'", "in UTC"),
        ("SELECT MAX(t + INTERVAL '300000 years') FROM {}", "interval"),
    ],
)
def test_refused(table, sql, part):
    error = table.fails(("unsupported_sql", "unsupported_type", "bad_sql", "overflow"), "query", sql.format(PATH))
    assert part in error["message"], error["message"]


def test_sums_and_differences_that_do_not_fit(upsweep, arrow):
    upsweep.table("t.parquet", {"a": np.array([2**62, 2**62], "m8[ns]"), "s": np.array([10**12, 0], "M8[s]"),
                                "n": np.array([0, 1], "M8[ns]")})  # fmt: skip
    upsweep.fails("overflow", "query", f"SELECT SUM(a) FROM {PATH}")
    upsweep.fails("overflow", "reduce", "t.parquet:a")
    upsweep.fails("overflow", "query", f"SELECT MAX(s - n) FROM {PATH}")
    upsweep.fails("overflow", "query", f"SELECT MAX(a * 2) FROM {PATH}")
    assert value(upsweep, "COUNT(*)", "WHERE s > n") == 1  # compared exactly


def test_the_text_of_values(upsweep, arrow):
    spans = np.array([0, 1, -1, 86_400_000, 90_061_500, -90_061_500, 172_800_000, -3_600_000], "m8[ms]")
    upsweep.table("t.parquet", {"i": np.arange(len(spans)), "s": spans})
    lines = upsweep.text("query", f"SELECT i, s FROM {PATH} GROUP BY i, s ORDER BY i").splitlines()
    assert [" ".join(line.split()[1:]) for line in lines[1:]] == [
        "00:00:00", "00:00:00.001", "-00:00:00.001", "1 day", "1 day 01:01:01.5", "-1 day -01:01:01.5", "2 days", "-01:00:00",
    ]  # fmt: skip
    found = [cell for _, cell in rows(upsweep, f"SELECT i, s FROM {PATH} GROUP BY i, s ORDER BY i")]
    assert found == ["PT0S", "PT0.001S", "-PT0.001S", "P1D", "P1DT1H1M1.5S", "-P1DT1H1M1.5S", "P2D", "-PT1H"]


def test_reduce_and_scan(table, arrow):
    read = arrow.parquet.read_table(table.folder / "t.parquet")
    stamps, spans = read["t"].to_numpy(), read["span"].to_numpy()
    assert table.json("reduce", "t.parquet:t", "--op", "min", "--nulls", "skip")["value"] == iso(np.nanmin(stamps))
    assert table.json("reduce", "t.parquet:short", "--op", "max")["value"] == str(max(read["short"].to_pylist()))[:12].rstrip(
        "0"
    )
    assert plain(table.json("reduce", "t.parquet:span")["value"]) == ("span", int(spans.sum().astype(int)))
    error = table.fails("invalid_argument", "reduce", "t.parquet:t")
    assert "not offered for timestamps" in error["message"]
    for name in ("o.parquet", "o.arrow"):
        table.json("scan", "t.parquet:span", "-o", name)
        found = (
            arrow.parquet.read_table(table.folder / name)
            if name.endswith("t")
            else arrow.ipc.open_file(table.folder / name).read_all()
        )
        assert found["span"].type == arrow.duration("us")
        assert np.array_equal(found["span"].to_numpy(), np.cumsum(spans))
        table.json("scan", "t.parquet:short", "--op", "max", "-o", name)
        found = (
            arrow.parquet.read_table(table.folder / name)
            if name.endswith("t")
            else arrow.ipc.open_file(table.folder / name).read_all()
        )
        assert found["short"].type == arrow.time32("ms")
    table.json("scan", "t.parquet:span", "-o", "o.npy")
    found = np.load(table.folder / "o.npy")
    assert found.dtype == "m8[us]" and np.array_equal(found, np.cumsum(spans))
    table.json(
        "scan", "t.parquet:s", "--op", "max", "--nulls", "skip", "--exclusive", "--init", "1975-01-01 00:00:00", "-o", "o.npy"
    )
    found = np.load(table.folder / "o.npy")
    assert found.dtype == "M8[ms]" and found[0] == np.datetime64("1975-01-01")
    assert found[-1] == max(np.nanmax(stamps[:-1]).astype("M8[s]"), np.datetime64("1975-01-01"))


@pytest.mark.parametrize("dtype", ["f2", ">f2", ">f4", ">f8", ">i2", ">i4", ">u4", ">i8", ">u8", "?"])
def test_numbers_of_npy(upsweep, dtype):
    values = np.array([3, 0, 7, 1, 0, 2, 9, 1, 1] * 20_000).astype(dtype)
    np.save(upsweep.folder / "t.npy", values)
    assert upsweep.json("reduce", "t.npy")["value"] == int(values.astype(float).sum())
    assert upsweep.json("reduce", "t.npy", "--op", "max")["value"] == (True if dtype == "?" else 9)
    if dtype != "?":
        assert rows(upsweep, "SELECT SUM(t), MAX(t), COUNT(*) FROM 't.npy' WHERE t > 1") == [
            [int(values[values > 1].astype(float).sum()), 9, 80_000]
        ]
    else:
        assert rows(upsweep, "SELECT COUNT(*), MIN(t), MAX(t) FROM 't.npy' WHERE t") == [[140_000, True, True]]
    upsweep.json("scan", "t.npy", "-o", "o.npy")
    assert np.array_equal(np.load(upsweep.folder / "o.npy"), np.cumsum(values.astype(float)))


@pytest.mark.parametrize("unit", ["W", "D", "h", "m"])
def test_units_that_arrow_lacks(upsweep, unit):
    stamps = np.array([-5, 10, 10_000, np.iinfo("i8").min]).astype(f"M8[{unit}]")
    np.save(upsweep.folder / "t.npy", stamps)
    expected = [str(stamp.astype("M8[D]" if unit in "WD" else "M8[s]")) for stamp in stamps[[0, 2]]]
    assert rows(upsweep, "SELECT MIN(t), MAX(t), COUNT(t) FROM 't.npy'") == [[*expected, 3]]
    np.save(upsweep.folder / "t.npy", np.array([2**62]).astype(f"M8[{unit}]"))
    upsweep.fails("overflow", "query", "SELECT MIN(t) FROM 't.npy'")


def test_files_of_several_units_are_one_table(upsweep, arrow):
    upsweep.table("a.parquet", {"t": np.array(["2024-01-01T00:00:01"], "M8[ms]"), "w": arrow.array([5], arrow.time32("ms"))})
    upsweep.table("b.parquet", {"t": np.array(["2024-01-01T00:00:00.5"], "M8[ns]"), "w": arrow.array([7], arrow.time64("us"))})
    found = rows(upsweep, "SELECT MIN(t), MAX(t), MIN(w), MAX(w) FROM '?.parquet'")
    assert found == [["2024-01-01T00:00:00.5", "2024-01-01T00:00:01", "00:00:00.000007", "00:00:00.005"]]
    upsweep.table("b.parquet", {"t": arrow.array([0], arrow.timestamp("ms", "UTC")), "w": arrow.array([7], arrow.time64("us"))})
    error = upsweep.fails("unsupported_type", "query", "SELECT MIN(t) FROM '?.parquet'")
    assert "timestamp[ms] in a.parquet and timestamp[ms, UTC] in b.parquet" in error["message"]


def test_keys_of_floats_in_many_groups(upsweep, arrow):
    generator = np.random.default_rng(3)
    keys = np.round(generator.normal(size=300_000), 4)
    keys[::7] = np.nan
    upsweep.table("t.parquet", {"f": keys, "g": keys.astype("f4"), "n": np.arange(len(keys))})
    for column in ("f", "g"):
        found = rows(upsweep, f"SELECT {column}, COUNT(*), SUM(n) FROM {PATH} GROUP BY {column}")
        kept = keys.astype("f4") if column == "g" else keys
        expected = {}
        for key, n in zip(kept.tolist(), itertools.count()):
            key = "NaN" if math.isnan(key) else key + 0.0
            count, total = expected.get(key, (0, 0))
            expected[key] = (count + 1, total + n)
        assert [[key, *counts] for key, counts in expected.items()] == found
        assert "-0.0" not in [repr(key) for key, *_ in found]


def test_lists_and_rows(upsweep, arrow):
    stamps = np.array(["2024-01-01", "2023-01-01T00:00:00.5", "2022-01-01"], "M8[ms]")
    lists = arrow.array([stamps[:2].tolist(), [], stamps[2:].tolist()], arrow.list_(arrow.timestamp("ms", "UTC")))
    upsweep.table(
        "t.parquet", {"l": lists, "x": stamps, "w": arrow.array([1, 2, 3], arrow.time64("ns")), "b": [True, False, True]}
    )

    def result(*args):
        upsweep.text(*args, "-o", "o.parquet")
        return arrow.parquet.read_table(upsweep.folder / "o.parquet")

    least = result("segment", "t.parquet:l", "--op", "min")["l"]
    assert least.type == arrow.timestamp("ms", "UTC") and least.cast(arrow.timestamp("ms")).to_pylist() == [
        stamps[1].item(), None, stamps[2].item()
    ]  # fmt: skip
    assert result("pack", "t.parquet:l")["l"].combine_chunks().equals(lists)
    kept = result("select", "--mask", "t.parquet:b", "t.parquet:x", "t.parquet:w")
    assert kept["x"].to_pylist() == stamps[[0, 2]].tolist() and kept["w"].type == arrow.time64("ns")
    upsweep.fails("invalid_argument", "segment", "t.parquet:l", "--op", "add")


# ------------------------------------------------------------------------------------------------------------- axes


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["i4", "f8", ">i8", "?", "m8[us]"])
def test_axes(upsweep, order, dtype):
    generator = np.random.default_rng(4)
    array = np.array(generator.integers(0, 9, (3, 4, 5)).astype(dtype), order=order)
    np.save(upsweep.folder / "t.npy", array)
    for axis in (0, 1, 2, -1):
        assert upsweep.text("reduce", "t.npy", "--axis", axis, "-o", "o.npy").startswith("shape")
        found, expected = upsweep.load("o.npy"), array.sum(axis=axis)
        assert found.shape == expected.shape and np.array_equal(found.astype("i8"), expected.astype("i8"))
        assert found.dtype.kind == (dtype.lstrip(">")[0] if dtype != "?" else "u")
        upsweep.text("scan", "t.npy", "--axis", axis, "-o", "o.npy")
        assert np.array_equal(upsweep.load("o.npy").astype("i8"), np.cumsum(array, axis=axis).astype("i8"))
        upsweep.text("reduce", "t.npy", "--axis", axis, "--op", "max", "-o", "o.npy")
        assert (
            np.array_equal(upsweep.load("o.npy"), array.max(axis=axis)) and upsweep.load("o.npy").dtype.kind == array.dtype.kind
        )


@pytest.mark.parametrize("order", ["C", "F"])
def test_axes_as_text_and_json(upsweep, order):
    array = np.array(np.arange(24).reshape(2, 3, 4) ** 2, order=order)
    np.save(upsweep.folder / "t.npy", array)
    result = upsweep.json("reduce", "t.npy", "--axis", 1)
    assert result["shape"] == [2, 4] and result["dtype"] == "int64" and result["values"] == array.sum(axis=1).ravel().tolist()
    lines = upsweep.text("reduce", "t.npy", "--axis", 1).splitlines()
    assert [[int(cell) for cell in line.split()] for line in lines] == array.sum(axis=1).tolist()
    assert upsweep.npy("scan", "t.npy", "--axis", 0, "--exclusive", "--init", 5).tolist() == [
        np.full((3, 4), 5).tolist(), (array[0] + 5).tolist()
    ]  # fmt: skip
    np.save(upsweep.folder / "t.npy", np.asarray(array[0], order=order))
    assert upsweep.text("reduce", "t.npy", "--axis", -1).split() == [str(total) for total in array[0].sum(axis=1)]
    np.save(upsweep.folder / "t.npy", np.array(["2024-01-01", "2020-01-01"], "M8[D]").reshape(1, 2))
    assert upsweep.text("reduce", "t.npy", "--axis", 1, "--op", "min") == "2020-01-01\n"


def test_axes_that_are_refused(upsweep, arrow):
    np.save(upsweep.folder / "t.npy", np.ones((2, 3)))
    upsweep.fails("unsupported_type", "reduce", "t.npy")
    for axis in (2, -3):
        assert "has 2 dimensions" in upsweep.fails("invalid_argument", "reduce", "t.npy", "--axis", axis)["message"]
    upsweep.fails("invalid_argument", "reduce", "t.npy", "--axis", 0, "--nulls", "skip")
    upsweep.fails("invalid_argument", "reduce", "t.npy", "--axis", 0, "--rung", "cpu.serial")
    upsweep.fails("invalid_argument", "scan", "t.npy", "--axis", 0, "-o", "o.parquet")
    upsweep.table("t.parquet", {"x": [1.5]})
    upsweep.fails("unsupported_type", "reduce", "t.parquet", "--axis", 0)
    np.save(upsweep.folder / "t.npy", np.array([["NaT", "2020"]], "M8[us]"))
    upsweep.fails("null_value", "reduce", "t.npy", "--axis", 0, "--op", "max", index=0)
    np.save(upsweep.folder / "t.npy", np.full((2, 2), 2**62))
    upsweep.fails("overflow", "reduce", "t.npy", "--axis", 0)
    np.save(upsweep.folder / "t.npy", np.ones((0, 2)))
    assert upsweep.text("reduce", "t.npy", "--axis", 0) == "0\n0\n"
    upsweep.fails("empty", "reduce", "t.npy", "--axis", 0, "--op", "max")
    whole = (upsweep.folder / "t.npy").read_bytes()
    upsweep.write("t.npy", whole.replace(b"(0, 2)", b"(9, 2)"))
    upsweep.fails("malformed", "reduce", "t.npy", "--axis", 0)
    upsweep.write("t.npy", whole + b"x")
    upsweep.fails("malformed", "scan", "t.npy", "--axis", 0)


@pytest.mark.parametrize(
    "array, csv, iso",
    [
        (np.array([1_500, 2_000], "m8[ms]"), "00:00:01.5", "PT1.5S"),
        (np.array(["2024-01-01T10:00:00.5", "2025-01-01"], "M8[ms]"), "2024-01-01 10:00:00.5", "2024-01-01T10:00:00.5"),
        (np.array(["2024-01-01", "2025-01-01"], "M8[D]"), "2024-01-01", "2024-01-01"),
        (np.array([datetime.time(1, 2, 3), datetime.time(4)]), "01:02:03", "01:02:03"),
    ],
)
def test_results_as_text(upsweep, arrow, array, csv, iso):
    upsweep.table("t.parquet", {"t": array})
    lists = arrow.ListArray.from_arrays(arrow.array([0, 1, 1, 2], arrow.int32()), arrow.array(array))
    upsweep.table("l.parquet", {"t": lists})
    for args, has_none in (
        (("scan", "t.parquet", "--op", "min"), False),
        (("reduce", "t.parquet", "--op", "min"), False),
        (("query", "SELECT t FROM 't.parquet' ORDER BY t"), False),
        (("segment", "l.parquet:t", "--op", "min"), True),
    ):
        for name in ("out.csv", "out.json"):
            upsweep.ok(*args, "-o", name)
        assert (upsweep.folder / "out.csv").read_text().splitlines()[1] == csv
        found = [value for row in json.loads((upsweep.folder / "out.json").read_text()) for value in row.values()]
        assert found[0] == iso and (None in found) == has_none


def test_nat_is_not_counted_by_schema(upsweep):
    for dtype in ("M8[s]", "m8[ms]", "M8[D]"):
        np.save(upsweep.folder / "t.npy", np.array([1, "NaT"], dtype))
        assert upsweep.json("schema", "t.npy")["columns"][0]["nulls"] is None


INTERVALS = [(1, 0, 0), (0, 30, 0), (0, 30, 1_000), (-14, 3, 0), None, (0, 0, -5 * 10**9), (2, -70, 3_600 * 10**9)]


@pytest.fixture
def intervals(upsweep, arrow):
    """The same intervals in Arrow IPC and, in milliseconds and without signs, in Parquet."""
    duckdb = pytest.importorskip("duckdb")
    table = arrow.table({"n": range(len(INTERVALS)), "i": arrow.array(INTERVALS, arrow.month_day_nano_interval())})
    with arrow.ipc.new_file(upsweep.folder / "i.arrow", table.schema) as writer:
        writer.write_table(table)
    duckdb.sql(
        "COPY (SELECT r AS n, to_months((r % 5)::INT) + to_days((r % 40)::INT) + to_milliseconds(r * 1000.5) AS i "
        f"FROM range(1000) t(r)) TO '{upsweep.folder / 'i.parquet'}'"
    )
    return upsweep


def test_intervals_of_months(intervals, arrow):
    assert rows(intervals, "SELECT n, i FROM 'i.arrow' ORDER BY i, n") == [
        [3, "P-1Y-2M3D"], [6, "P2M-70DT1H"], [5, "PT-5S"], [1, "P30D"], [0, "P1M"], [2, "P30DT0.000001S"], [4, None],
    ]  # fmt: skip
    least, greatest = intervals.text("query", "SELECT MIN(i), MAX(i) FROM 'i.arrow'").splitlines()[1].split("  ")
    assert (least, greatest) == ("-1 year -2 months 3 days", "30 days 00:00:00.000001")
    types = {column["name"]: column["type"] for column in intervals.json("schema", "i.arrow")["columns"]}
    assert types["i"] == "interval"
    intervals.ok("query", "SELECT i FROM 'i.arrow'", "-o", "out.arrow")
    with arrow.ipc.open_file(intervals.folder / "out.arrow") as reader:
        assert reader.read_all()["i"].to_pylist() == INTERVALS
    intervals.ok("query", "SELECT i FROM 'i.arrow' WHERE n > 2 AND n < 6", "-o", "out.csv")
    assert (intervals.folder / "out.csv").read_text() == "i\n-1 year -2 months 3 days\n\n-00:00:05\n"
    intervals.ok("query", "SELECT i FROM 'i.arrow' WHERE n = 3", "-o", "out.json")
    assert (intervals.folder / "out.json").read_text() == '[{"i":"P-1Y-2M3D"}]\n'
    for name, words in {"out.parquet": "Arrow writes no intervals to Parquet", "out.npy": "has no intervals"}.items():
        error = intervals.fails("invalid_argument", "query", "SELECT i FROM 'i.arrow'", "-o", name)
        assert words in error["message"] and not (intervals.folder / name).exists()
    assert "upsweep query computes" in intervals.fails("unsupported_type", "reduce", "i.arrow:i", "--op", "max")["message"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(i), COUNT(*) FROM {}",
        *(f"SELECT COUNT(*) FROM {{}} WHERE i {op} INTERVAL '{literal}'"
          for op in ("=", "<>", "<", "<=", ">", ">=") for literal in ("1 month", "30 days", "720 hours", "2 months 9 days")),
        "SELECT COUNT(*) FROM {} WHERE i IN ('3 months 13 days 00:01:00', INTERVAL '0 days')",
        "SELECT n FROM {} WHERE i BETWEEN INTERVAL '50 days' AND '2 months' ORDER BY n",
        "SELECT COUNT(*) FROM {} WHERE NOT i < '1 month'",
    ],
)  # fmt: skip
def test_intervals_as_duckdb(intervals, sql):
    duckdb = pytest.importorskip("duckdb")
    expected = duckdb.sql(sql.format(f"'{intervals.folder / 'i.parquet'}'")).fetchall()
    assert rows(intervals, sql.format("'i.parquet'")) == [list(row) for row in expected]


def test_rows_of_intervals_in_parquet(intervals):
    duckdb = pytest.importorskip("duckdb")
    sql = "SELECT n, i FROM {} ORDER BY i DESC, n LIMIT 20"
    expected = [n for n, _ in duckdb.sql(sql.format(f"'{intervals.folder / 'i.parquet'}'")).fetchall()]
    found = rows(intervals, sql.format("'i.parquet'"))
    assert [n for n, _ in found] == expected
    for n, interval in found:
        seconds = n * 1000.5 // 1 / 1000  # DuckDB stores whole milliseconds
        months, days = n % 5, n % 40
        expected = "P" + f"{months}M" * (months > 0) + f"{days}D" * (days > 0) + "T"
        expected += f"{int(seconds // 60)}M" * (seconds >= 60) + f"{seconds % 60:.3f}".rstrip("0").rstrip(".") + "S"
        assert interval == expected


def test_extreme_moments_are_values(upsweep, arrow):
    """The last timestamp in nanoseconds, which many databases use for "no end", equals the minimum of no values."""
    last = 2**63 - 1
    text = "2262-04-11 23:47:16.854775807"
    arrow.parquet.write_table(arrow.table({"t": arrow.array([last, 0], arrow.timestamp("ns"))}), upsweep.folder / "t.parquet")
    assert upsweep.text("reduce", "t.parquet:t", "--op", "max") == text + "\n"
    assert upsweep.json("reduce", "t.parquet:t", "--op", "max")["value"] == text.replace(" ", "T")

    def scanned(*options):
        return upsweep.text("scan", "t.parquet:t", "--format", "csv", *options).splitlines()[1:]

    assert scanned("--op", "max") == [text, text]
    assert scanned("--op", "min") == [text, "1970-01-01 00:00:00"]
    assert scanned("--op", "max", "--exclusive") == ["", text]
    assert scanned("--op", "min", "--exclusive", "--init", text) == [text, text]
    upsweep.text("scan", "t.parquet:t", "--op", "min", "-o", "out.parquet")
    assert arrow.parquet.read_table(upsweep.folder / "out.parquet")["t"].cast(arrow.int64()).to_pylist() == [last, 0]
