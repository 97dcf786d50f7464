# SPDX-License-Identifier: Apache-2.0
# tests/python/test_times.py: dates, times and durations in queries, folds and keys; keys of floats, text and several
# arrays. NumPy, pandas and DuckDB are the references.
import datetime
import decimal
import math
import zoneinfo

import numpy as np
import pytest
import upsweep

UNITS = ("s", "ms", "us", "ns")
NAT = np.datetime64("NaT")


@pytest.fixture
def stamps():
    generator = np.random.default_rng(5)
    return (generator.integers(-(10**9), 10**9, 5_000) * 10**6 + 250_000).astype("M8[us]")


@pytest.mark.parametrize("unit", UNITS)
def test_queries_of_numpy_arrays(stamps, unit):
    t = stamps.astype(f"M8[{unit}]")
    span = (t - t[0]) // 10_000  # so that the sum of nanoseconds fits
    t[7] = NAT
    keys = np.arange(len(t)) % 3
    answer = upsweep.query("SELECT MIN(t) AS a, MAX(t) AS b, SUM(s) AS s, COUNT(t) AS n FROM x", x={"t": t, "s": span})
    kept = np.delete(t, 7)
    assert answer["a"].dtype == t.dtype and answer["s"].dtype == span.dtype
    assert (answer["a"][0], answer["b"][0], answer["s"][0], answer["n"][0]) == (kept.min(), kept.max(), span.sum(), len(kept))
    assert answer.rows() == [(kept.min().astype("M8[us]").item(), kept.max().astype("M8[us]").item(),
                              span.sum().astype("m8[us]").item(), len(kept))]  # fmt: skip
    answer = upsweep.query("SELECT k, MAX(t) AS t FROM x WHERE t > '1990-01-01' GROUP BY k ORDER BY k", x={"k": keys, "t": t})
    expected = [t[(keys == k) & (t > np.datetime64("1990-01-01"))].max() for k in range(3)]
    assert answer["t"].tolist() == np.array(expected).tolist()
    answer = upsweep.query("SELECT t FROM x GROUP BY t ORDER BY t", x={"t": t})
    assert np.array_equal(answer["t"], np.append(np.unique(kept), NAT), equal_nan=True)


@pytest.mark.parametrize("unit, kind", [("Y", "D"), ("M", "D"), ("W", "D"), ("D", "D"), ("h", "s"), ("m", "s")])
def test_other_units(unit, kind):
    t = np.array([-3, 5, 1_000], f"M8[{unit}]")
    assert upsweep.query("SELECT MAX(t) AS t, MIN(t) FROM x", x={"t": t})["t"][0] == t[2].astype(f"M8[{kind}]")
    with pytest.raises(ValueError, match="out of range" if kind == "D" else "does not fit"):
        upsweep.query("SELECT MAX(t) FROM x", x={"t": np.array([2**61], f"M8[{unit}]")})


def test_units_that_no_table_has():
    for dtype in ("M8[ps]", "m8[Y]", "M8[10ms]", "m8"):
        with pytest.raises(TypeError, match="'t' has unsupported type"):
            upsweep.query("SELECT MAX(t) FROM x", x={"t": np.zeros(3, dtype)})


def test_values_that_python_lacks():
    t = np.array(["2024-01-01T00:00:00.000000001"], "M8[ns]")
    x = {"t": t, "d": t - t.astype("M8[s]"), "far": np.array(["12000-01-01"], "M8[s]")}
    ((t_found, d_found, far),) = upsweep.query("SELECT MAX(t), SUM(d), MIN(far) FROM x", x=x).rows()
    assert (t_found, d_found, far) == (t[0], np.timedelta64(1, "ns"), np.datetime64("12000-01-01T00:00:00"))


def test_tables_of_other_libraries(stamps):
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    times = [datetime.time(1, 2, 3, 500_000), None, datetime.time(23, 59)] * 10
    t = stamps[:30]
    arrow = pa.table(
        {"t": pa.array(t, pa.timestamp("us", "Europe/Paris")), "s": t - t[0], "w": pa.array(times), "u": t.astype("M8[ms]")}
    )
    paris = zoneinfo.ZoneInfo("Europe/Paris")
    expected = (t.min().item().replace(tzinfo=datetime.UTC).astimezone(paris), (t - t[0]).sum().item(),
                datetime.time(23, 59), t.max().item())  # fmt: skip
    sql = "SELECT MIN(t) AS t, SUM(s) AS s, MAX(w) AS w, MAX(u) AS u FROM x"
    for x in (arrow, pl.from_arrow(arrow), arrow.to_pandas(), arrow.to_pandas(types_mapper=pandas.ArrowDtype)):
        answer = upsweep.query(sql, x=x)
        assert answer.rows() == [expected], type(x)
    given = pa.table(upsweep.query(sql, x=arrow)).schema
    assert [given.field(i).type for i in range(4)] == [arrow.schema.field(i).type for i in range(4)]
    assert pl.DataFrame(upsweep.query(sql, x=pl.from_arrow(arrow)))["t"].dtype == pl.Datetime("us", "Europe/Paris")
    encoded = pa.table({"t": pa.array(t).dictionary_encode()})
    assert upsweep.query("SELECT MIN(t), COUNT(*) FROM x", x=encoded).rows() == [(t.min().item(), 30)]
    fixed = pa.table({"t": pa.array(t, pa.timestamp("us", "+05:30"))})
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    assert upsweep.query("SELECT MIN(t) FROM x", x=fixed).rows()[0][0].utcoffset() == zone.utcoffset(None)


def test_folds_of_times_as_numpy(stamps):
    t, spans = stamps, stamps - stamps[0]
    assert upsweep.reduce(t, op="min") == t.min() and upsweep.reduce(t, op="max").dtype == t.dtype
    assert upsweep.reduce(spans) == spans.sum()
    assert np.array_equal(upsweep.scan(spans), np.cumsum(spans)) and upsweep.scan(spans).dtype == spans.dtype
    assert np.array_equal(upsweep.cumulative_sum(spans), np.cumsum(spans))
    assert np.array_equal(upsweep.scan(t, op="max"), np.maximum.accumulate(t))
    square = spans[:4_900].reshape(70, 70)
    for axis in (0, 1):
        assert np.array_equal(upsweep.reduce(square, axis=axis), square.sum(axis=axis))
        assert np.array_equal(upsweep.scan(square, axis=axis), np.cumsum(square, axis=axis))
    assert upsweep.reduce(t, op="max", initial=np.datetime64("2100-01-01")) == np.datetime64("2100-01-01")
    out = np.empty_like(spans)
    assert upsweep.scan(spans, out=out) is out and np.array_equal(out, np.cumsum(spans))
    assert upsweep.reduce(t[::-2], op="max") == t[::-2].max()
    offsets = np.array([0, 10, 10, 5_000])
    assert upsweep.segmented_reduce(t, offsets, op="min").tolist() == [t[:10].min().item(), None, t[10:].min().item()]
    assert upsweep.segmented_reduce(t, offsets, op="max").tolist() == [t[:10].max().item(), None, t[10:].max().item()]
    assert np.array_equal(
        upsweep.segmented_reduce(spans, offsets), [spans[:10].sum(), np.timedelta64(0, "us"), spans[10:].sum()]
    )
    assert upsweep.segmented_reduce(t, offsets, op="argmax").tolist() == [t[:10].argmax(), -1, t[10:].argmax()]
    assert upsweep.segmented_reduce(t, offsets, op="count").tolist() == [10, 0, 4_990]


def test_folds_of_other_libraries(stamps):
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    t = stamps[:20]
    running = np.maximum.accumulate(t)
    assert upsweep.scan(pa.array(t), op="max").equals(pa.array(running))
    assert upsweep.scan(pl.Series(t), op="max").equals(pl.Series(running))
    series = pandas.Series(t, index=range(5, 25)).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    given = upsweep.scan(series, op="max")
    assert given.dtype == series.dtype and given.index.equals(series.index)
    assert np.array_equal(given.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), running)


def test_folds_that_are_refused(stamps):
    spans = stamps - stamps[0]
    for op in ("add", "mul", "xor"):
        with pytest.raises(TypeError, match=f"x: {op} is not defined for datetime64"):
            upsweep.reduce(stamps, op=op)
    with pytest.raises(TypeError, match="x: mul is not defined for timedelta64"):
        upsweep.scan(spans, op="mul")
    with pytest.raises(ValueError, match="x: has 1 NaT"):
        upsweep.reduce(np.append(stamps, NAT), op="max")
    with pytest.raises(TypeError, match="dtype"):
        upsweep.reduce(spans, dtype="int64")
    with pytest.raises(TypeError, match="initial: one value of timedelta64"):
        upsweep.reduce(spans, initial=5)
    with pytest.raises(ValueError, match="finer unit"):
        upsweep.reduce(spans, initial=np.timedelta64(1, "ns"))
    with pytest.raises(TypeError, match="out: a NumPy array of timedelta64"):
        upsweep.scan(spans, out=np.empty(len(spans), np.int64))
    with pytest.raises(OverflowError):
        upsweep.reduce(np.array([2**62, 2**62], "m8[ns]"))


# ------------------------------------------------------------------------------------------------------------- keys


def shown(key):
    return "NaN" if isinstance(key, float) and math.isnan(key) else key


def groups(keys, values):
    """Sums by key in the order of first rows; NaN and NaT are one key each."""
    found = {}
    for key, value in zip(keys, values):
        key = tuple(shown(one) for one in (key if isinstance(key, tuple) else (key,)))
        found[key] = found.get(key, 0) + value
    return found


def as_groups(keys, sums):
    keys = keys if isinstance(keys, tuple) else (keys,)
    rows = zip(*(np.asarray(key).tolist() for key in keys))
    return {tuple(shown(one) for one in row): total for row, total in zip(rows, sums.tolist())}


@pytest.mark.parametrize("dtype", ["f4", "f8", "?", "M8[us]", "M8[D]", "m8[s]", "U3", "O"])
def test_one_key(dtype):
    generator = np.random.default_rng(1)
    whole = generator.integers(0, 20, 10_000)
    keys = (
        np.array(list("abcdefghijklmnopqrst"), object)[whole]
        if dtype == "O"
        else (whole / 2).astype(dtype)
        if dtype[0] == "f"
        else whole.astype(dtype)
    )
    if dtype[0] == "f":
        keys[whole == 0] *= np.where(generator.random((whole == 0).sum()) < 0.5, -1, 1)
        keys[whole == 3] = np.nan
    if dtype[0] == "M":
        keys[whole == 3] = NAT
    values = np.arange(len(keys))
    found, sums, counts = upsweep.group_by(keys, values, counts=True)
    assert found.dtype == keys.dtype
    plain = [key if key is not None else float("nan") for key in keys.tolist()]
    expected = groups(plain, values.tolist())
    assert list(as_groups(found.astype(object) if dtype[0] == "M" else found, sums).values()) == list(expected.values())
    assert counts.sum() == len(keys) and len(found) == len(expected)
    if dtype[0] == "f":
        assert not np.signbit(found[found == 0]).any() and np.isnan(found).sum() == 1


def test_several_keys():
    generator = np.random.default_rng(2)
    n = 20_000
    first = generator.integers(-3, 3, n).astype(np.int16)
    second = np.where(generator.random(n) < 0.1, np.nan, generator.integers(0, 3, n) - 0.0)
    third = np.array(["x", "y", "longer than the others"])[generator.integers(0, 3, n)]
    values = generator.integers(0, 100, n)
    keys, sums = upsweep.group_by((first, second, third), values)
    assert isinstance(keys, tuple) and [key.dtype for key in keys] == [first.dtype, second.dtype, third.dtype]
    expected = groups(list(zip(first.tolist(), second.tolist(), third.tolist())), values.tolist())
    assert as_groups(keys, sums) == expected and list(as_groups(keys, sums)) == list(expected)
    wide = (generator.integers(-(2**63), 2**63 - 1, n), generator.integers(0, 2**64, n, dtype=np.uint64))
    repeated = tuple(np.concatenate([key, key]) for key in wide)
    keys, counts = upsweep.group_by(repeated, np.ones(2 * n, np.int64))
    assert len(counts) == n and set(counts.tolist()) == {2} and np.array_equal(keys[0], wide[0])
    assert upsweep.group_by((np.array([1, 1]), ["a", "a"]), np.array([1.5, 2.0]), op="max")[1].tolist() == [2.0]
    with pytest.raises(ValueError, match="key 1 has 2 rows, but key 0 has 3"):
        upsweep.group_by((np.arange(3), np.arange(2)), np.arange(3))
    with pytest.raises(ValueError, match="at least one"):
        upsweep.group_by((), np.arange(3))
    with pytest.raises(TypeError, match="out: it is for one key of integers"):
        upsweep.group_by(np.array([0.5]), np.array([1]), out=(np.empty(1), np.empty(1, np.int64)))
    with pytest.raises(TypeError, match="not complex128"):
        upsweep.group_by(np.array([1j]), np.array([1]))


def test_keys_of_other_libraries():
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    words = ["x", None, "y", "x", None]
    values = np.arange(5)
    for keys in (
        pa.array(words),
        pa.chunked_array([words[:2], words[2:]]),
        pa.array(words).dictionary_encode(),
        pl.Series(words),
        pl.Series(words, dtype=pl.Categorical),
    ):
        found, sums = upsweep.group_by(keys, values)
        assert (found.to_list() if isinstance(found, pl.Series) else found.to_pylist()) == ["x", None, "y"]
        assert sums.tolist() == [3, 5, 2]
    found, sums = upsweep.group_by(pandas.Series(["x", "y", "x"], index=[7, 8, 9]), values[:3])
    assert found.tolist() == ["x", "y"] and sums.tolist() == [2, 1]
    decimals = pa.array([1, 2, 1], pa.decimal128(10, 2))
    found, _ = upsweep.group_by(decimals, values[:3])
    assert found.equals(pa.array([1, 2], pa.decimal128(10, 2)))
    frame = pandas.DataFrame(
        {
            "k": [1.5, np.nan, 1.5, -0.0, 0.0],
            "d": pandas.to_datetime(["2024-01-01", None, "2024-01-01", "2024-01-02", "2024-01-02"]),
        }
    )
    keys, sums = upsweep.group_by((frame["k"], frame["d"]), values)
    expected = frame.assign(v=values).groupby(["k", "d"], dropna=False, sort=False)["v"].sum()
    assert sums.tolist() == expected.tolist()


def test_values_that_are_times(stamps):
    keys = np.arange(len(stamps)) % 4
    _, greatest = upsweep.group_by(keys, stamps, op="max")
    assert greatest.dtype == stamps.dtype and np.array_equal(greatest, [stamps[k::4].max() for k in range(4)])
    spans = stamps - stamps[0]
    assert np.array_equal(upsweep.group_by(keys, spans)[1], [spans[k::4].sum() for k in range(4)])
    with pytest.raises(TypeError, match="values: add is not defined for datetime64"):
        upsweep.group_by(keys, stamps)


def test_keys_of_floats_in_queries_as_duckdb():
    duckdb, pa = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    generator = np.random.default_rng(9)
    floats = np.where(generator.random(5_000) < 0.2, np.nan, generator.integers(-3, 4, 5_000) / 2)
    floats[floats == 0] *= -1
    x = {"f": floats, "n": np.arange(5_000), "b": generator.random(5_000) < 0.5}
    given = pa.table(x)
    assert given.num_rows == 5_000  # DuckDB finds it by its name
    for sql in (
        "SELECT f, SUM(n) AS s, COUNT(*) AS c FROM given GROUP BY f ORDER BY f",
        "SELECT f, b, MAX(n) AS m FROM given GROUP BY f, b ORDER BY f, b",
        "SELECT b, MIN(b) AS a, MAX(f > 0) AS z FROM given GROUP BY b ORDER BY b",
    ):
        expected = duckdb.sql(sql).fetchall()
        found = upsweep.query(sql, given=x).rows()
        assert repr(found) == repr(expected).replace("-0.0", "0.0")


def test_intervals_of_months():
    pyarrow = pytest.importorskip("pyarrow")
    values = [(1, 0, 0), None, (-14, 3, 5), (0, 30, 0)]
    table = pyarrow.table({"k": ["a", "b", "a", "b"], "i": pyarrow.array(values, pyarrow.month_day_nano_interval())})
    answer = upsweep.query("SELECT k, MAX(i) AS most, COUNT(i) AS n FROM t GROUP BY k ORDER BY k", t=table)
    assert answer.rows() == [("a", (1, 0, 0), 2), ("b", (0, 30, 0), 1)]
    assert answer["most"].tolist() == [(1, 0, 0), (0, 30, 0)]
    assert pyarrow.table(answer)["most"].type == pyarrow.month_day_nano_interval()
    found = upsweep.query("SELECT i FROM t", t=table)
    assert pyarrow.table(found)["i"].to_pylist() == values
    assert "1 month" in repr(found) and [row[0] for row in found.rows()] == values
    assert upsweep.query("SELECT COUNT(*) FROM t WHERE i = '1 month'", t=table).rows() == [(2,)]


def test_values_past_the_range_of_microseconds():
    x = {
        "d": np.array([9223372036855], "m8[s]"),
        "t": np.array([2**62], "M8[s]"),
        "ms": np.array([-(2**62)], "M8[ms]"),
        "near": np.array([2**40], "M8[ms]"),
    }
    (row,) = upsweep.query("SELECT MAX(d), MAX(t), MAX(ms), MAX(near) FROM x", x=x).rows()
    assert row == (x["d"][0], x["t"][0], x["ms"][0], x["near"][0].astype("M8[us]").item())
    assert [type(value) for value in row[:3]] == [np.timedelta64, np.datetime64, np.datetime64]


def test_keys_that_arrow_cannot_number():
    pyarrow = pytest.importorskip("pyarrow")
    for keys in (
        pyarrow.array(["a", "b", "a"], pyarrow.string_view()),
        pyarrow.array([1.5, None, 1.5], pyarrow.float16()),
        pyarrow.array([1, 2, 1], pyarrow.decimal64(5, 2)),
    ):
        found, sums = upsweep.group_by(keys, np.array([1, 2, 4]))
        assert found.type == keys.type and found.to_pylist() == keys[:2].to_pylist() and sums.tolist() == [5, 2]


def test_times_of_day():
    pyarrow, polars, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    times = [datetime.time(10), datetime.time(9, 30), datetime.time(23, 59, 59)]
    for unit in ("s", "ms", "us", "ns"):
        of = pyarrow.time32 if unit in ("s", "ms") else pyarrow.time64
        array = pyarrow.array(times, of(unit))
        series = pandas.Series(array, dtype=pandas.ArrowDtype(of(unit)))
        for x in (array, series, polars.Series(times)):
            assert upsweep.reduce(x, op="max") == times[2] and upsweep.reduce(x, op="min") == times[1]
            assert upsweep.reduce(x, op="min", initial=datetime.time(8)) == datetime.time(8)
            assert [str(each) for each in upsweep.scan(x, op="max")] == [str(x[0]), str(x[0]), str(x[2])]
            folded = upsweep.segmented_reduce(x, np.array([0, 2, 3]), op="min")
            assert [str(each) for each in folded] == [str(each) for each in x[1:]]
            assert [int(str(each)) for each in upsweep.segmented_reduce(x, np.array([0, 2, 3]), op="argmin")] == [1, 0]
            latest = upsweep.group_by(np.array([1, 2, 1]), x, op="max")[1]
            assert [str(each) for each in latest] == [str(x[2]), str(x[1])]
        assert upsweep.scan(array, op="max").equals(pyarrow.array([times[0], times[0], times[2]], of(unit)))
    with pytest.raises(TypeError, match="add is not defined for time64"):
        upsweep.reduce(array)
    with pytest.raises(ValueError, match="finer unit"):
        upsweep.reduce(pyarrow.array(times, pyarrow.time32("s")), op="max", initial=datetime.time(1, 2, 3, 4))


def test_lists_of_times_with_nulls():
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    offsets = np.array([0, 2, 3])
    for kind in (pyarrow.date32(), pyarrow.timestamp("us"), pyarrow.duration("ms"), pyarrow.time32("s"), pyarrow.time64("us")):
        stored = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
        array = pyarrow.array([7, None, 3], stored).cast(kind)
        expected = pyarrow.array([7, 3], stored).cast(kind)
        for op in ("min", "max"):
            assert upsweep.segmented_reduce(array, offsets, op=op).equals(expected)
        lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 2, 3], pyarrow.int32()), array)
        assert upsweep.segmented_reduce(lists, op="max").equals(expected)
        assert upsweep.segmented_reduce(array, offsets, op="count").to_pylist() == [1, 1]
    series = polars.Series([datetime.date(2024, 1, 2), None, datetime.date(2023, 1, 1)])
    assert [str(each) for each in upsweep.segmented_reduce(series, offsets, op="max")] == ["2024-01-02", "2023-01-01"]


def test_files_with_times_of_day_of_several_units_are_one_table(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    for name, kind in (("a", pyarrow.time32("s")), ("b", pyarrow.time32("ms"))):
        table = pyarrow.table({"t": pyarrow.array([datetime.time(1, 2, 3), None], kind)})
        with pyarrow.ipc.new_file(tmp_path / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table)
    read = upsweep.read([str(tmp_path / "a.arrow"), str(tmp_path / "b.arrow")])
    assert read["t"].type == pyarrow.time32("ms")
    assert read["t"].to_pylist() == [datetime.time(1, 2, 3), None] * 2


# ------------------------------------------------------------------------------- keys of floats with NULL, and of text


def listed(array):
    """The elements of an array of any library, NaN as text, and the sign of zeros."""
    values = array.to_pylist() if hasattr(array, "to_pylist") else array.to_list() if hasattr(array, "to_list") else list(array)
    return [None if value is None or str(value) == "<NA>" else str(float(value)) for value in values]


@pytest.mark.parametrize("size", ["16", "32", "64"])
def test_keys_of_floats_with_nulls(size):
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    values = np.array([1, 2, 4, 8, 16, 32])
    quiet = {"16": (0x7E00, 0xFE01), "32": (0x7FC00000, 0xFFC00001), "64": (0x7FF8 << 48, 0xFFF8000000000001)}[size]
    floats = np.array([-0.0, 0.0, 0.0, 0.0, 1.5, 0.0], f"f{int(size) // 8}")
    floats[2:4] = np.array(quiet, f"u{int(size) // 8}").view(floats.dtype)
    array = pa.array(floats, mask=np.arange(6) == 5)
    kind = pandas.ArrowDtype(array.type)
    cases = [
        array,
        pa.chunked_array([array[:1], array[1:]]),
        pa.concat_arrays([array, array])[6:],
        pl.Series("k", array),
        pandas.Series(array, dtype=kind, name="k", index=range(3, 9)),
        pandas.array(array, dtype=kind),
        np.array([None if i == 5 else value for i, value in enumerate(floats)], object),
        [None if i == 5 else value for i, value in enumerate(floats)],
    ]
    if size != "16":
        cases += [array.dictionary_encode(), pandas.Series(floats, dtype=f"Float{size}").mask(np.arange(6) == 5)]
        cases[-1].array._mask[2:4] = False  # NaN is not NULL there
        cases[-1].array._data[2:4] = np.nan
    for keys in cases:
        found, sums = upsweep.group_by(keys, values)
        assert (listed(found), sums.tolist()) == (["0.0", "nan", "1.5", None], [3, 12, 16, 32]), repr(keys)
        if not isinstance(keys, list):
            assert type(found) is type(keys) or isinstance(found, pa.Array)
            assert getattr(found, "dtype", None) == getattr(keys, "dtype", None)
        (found, _), sums = upsweep.group_by((keys, np.ones(6, np.int64)), values)
        assert (listed(found), sums.tolist()) == (["0.0", "nan", "1.5", None], [3, 12, 16, 32]), repr(keys)
    found, sums = upsweep.group_by(np.array([-0.0, 0.0, 1.0], object), values[:3])
    assert found.dtype == object and (listed(found), sums.tolist()) == (["0.0", "1.0"], [3, 4])
    found, sums = upsweep.group_by(pandas.Series([-0.0, 0.0, None], dtype=object, name="k"), values[:3])
    assert found.dtype == object and found.name == "k" and (listed(found), sums.tolist()) == (["0.0", None], [3, 4])


def test_keys_of_text_with_nul():
    for keys in (
        np.array(["a", "a\0b", "c", "a"]),
        np.array([b"a", b"a\0b", b"c", b"a"]),
        np.array(["a", "a\0b", "c", "a"], ">U5"),
        np.array(["a", "-", "a\0b", "-", "c", "-", "a"])[::2],
        np.array(["a", "a\0b", "c", "a"], object),
        np.array(["a", "a\0b", "c", "a"], np.dtypes.StringDType()),
        ["a", "a\0b", "c", "a"],
        np.array(["\ud800", "b", "c", "\ud800"]),  # not UTF-8
    ):
        found, sums = upsweep.group_by(keys, np.array([1, 2, 4, 8]))
        assert sums.tolist() == [9, 2, 4] and found.tolist() == list(keys[:3])
        assert isinstance(keys, list) or found.dtype == keys.dtype
        assert upsweep.group_by((keys, np.ones(4, np.int8)), np.array([1, 2, 4, 8]))[1].tolist() == [9, 2, 4]
    assert len(upsweep.group_by(np.array([], "U3"), np.array([], np.int64))[0]) == 0
    with pytest.raises(ValueError, match="keys: row 1 is text that is not UTF-8"):
        upsweep.group_by(["a", "\ud800"], np.array([1, 2]))


# ----------------------------------------------------------------------------------------------------- Python objects


def mixed_times():
    zone = datetime.timezone(datetime.timedelta(hours=5))
    day, noon = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)
    several, zones = "Python objects of type \\w+ and \\w+", "times with and without a time zone"
    return [
        ([day, noon], several),
        ([day, 5], several),
        ([noon, 2.5], several),
        ([datetime.timedelta(1), 3], several),
        ([datetime.time(1), np.timedelta64(1, "ns")], several),
        ([day, np.datetime64("2024-01-01")], several),
        ([np.bool_(True), day], several),
        (["a", b"a"], several),
        ([noon, noon.replace(tzinfo=zone)], zones),
        ([datetime.time(1), datetime.time(1, tzinfo=zone)], "times of day with a time zone"),
        ([np.datetime64("2024-01-01"), None, np.datetime64("2024-01-01T00:00:00")], "times of several units"),
        ([2**53 + 1, 0.5], several),
    ]


@pytest.mark.parametrize("values, reason", mixed_times())
def test_objects_of_several_kinds_are_refused(values, reason):
    pandas = pytest.importorskip("pandas")
    for given in (values, values[::-1], [None, *values]):
        column = pandas.Series(given, dtype=object)
        for table in ({"o": given}, {"o": np.array(given, object)}, {"o": column}, pandas.DataFrame({"o": column})):
            with pytest.raises(TypeError, match=f"t.o: has {reason}; make"):
                upsweep.query("SELECT o FROM t", t=table)
        for keys in (given, np.array(given, object), column, (column, np.ones(len(given)))):
            with pytest.raises(TypeError, match=f"^key.*: numbers, booleans, dates, times or text are needed, not {reason}"):
                upsweep.group_by(keys, np.arange(len(given)))


def test_objects_keep_all_parts():
    pandas = pytest.importorskip("pandas")
    zone = datetime.timezone(datetime.timedelta(hours=5))
    noon = datetime.datetime(2024, 1, 1, 12)
    for values, expected in (
        ([pandas.Timestamp("2024-01-01 00:00:00.000000001"), noon], [np.datetime64("2024-01-01T00:00:00.000000001"), noon]),
        ([pandas.Timedelta(1, "ns"), datetime.timedelta(1)], [np.timedelta64(1, "ns"), datetime.timedelta(1)]),
        ([pandas.Timestamp("3000-01-01")], [datetime.datetime(3000, 1, 1)]),
        ([pandas.NaT, noon], [None, noon]),
        ([pandas.NA, "a"], [None, "a"]),
        ([noon.replace(tzinfo=zone), noon.replace(tzinfo=datetime.UTC)],) * 2,
        ([np.datetime64("2024-01-01"), None, np.datetime64("NaT")], [datetime.date(2024, 1, 1), None, None]),
    ):
        column = pandas.Series(values, dtype=object)
        for table in ({"o": values}, {"o": np.array(values, object)}, {"o": column}, pandas.DataFrame({"o": column})):
            assert upsweep.query("SELECT o FROM t", t=table).rows() == [(value,) for value in expected]
    spans = pandas.Series([pandas.Timedelta(1, "ns"), pandas.Timedelta(2, "ns"), None, pandas.Timedelta(1, "ns")], dtype=object)
    found, sums = upsweep.group_by(spans, np.array([1, 2, 4, 8]))
    assert found.dtype == object and found.tolist() == spans[:3].tolist() and sums.tolist() == [9, 2, 4]
    with pytest.raises(TypeError, match="outside of the range"):
        upsweep.query("SELECT o FROM t", t={"o": [pandas.Timestamp(1), pandas.Timestamp("3000-01-01")]})


def test_times_of_day_with_a_zone_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    given = duckdb.sql("SELECT '12:00:00+05'::TIMETZ AS t, 1 AS x UNION ALL SELECT '12:00:00+00'::TIMETZ, 2")
    with pytest.raises(TypeError, match="given: column 't' has unsupported type TIME WITH TIME ZONE"):
        upsweep.query("SELECT t FROM given", given=given)
    assert upsweep.query("SELECT SUM(x) FROM given", given=given).rows() == [(3,)]


@pytest.mark.filterwarnings("error")
def test_zones_of_pandas_columns():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(pandas.to_datetime(["2024-06-01", "2023-06-01", None]).tz_localize("Europe/Berlin"))
    largest = column[0].to_pydatetime()
    ordered = pandas.CategoricalDtype(column.dropna().unique()[::-1], ordered=True)
    for given in (column, column.astype("category"), column.astype(ordered), column.astype(object).astype("category")):
        for table in ({"o": given}, pandas.DataFrame({"o": given}), pandas.DataFrame({"k": [1, 2, 3], "o": given})):
            ((found, count),) = upsweep.query("SELECT MAX(o), COUNT(o) FROM t", t=table).rows()
            assert found == largest and found.utcoffset() == largest.utcoffset() and count == 2
    keys, sums = upsweep.group_by(column, np.array([1, 2, 4]))
    assert keys.dtype == column.dtype and keys.equals(column) and sums.tolist() == [1, 2, 4]


def test_arrow_types_of_pandas_keep_their_type():
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    for kind in (pa.timestamp("us", "Europe/Berlin"), pa.date32(), pa.time64("us"), pa.int16(), pa.bool_(), pa.float32()):
        array = pa.array([1, 1, 0], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
        series = pandas.Series(array, dtype=pandas.ArrowDtype(kind), index=[5, 6, 7], name="s")
        for found, places in (
            (upsweep.scan(series, op="max"), [0, 1, 1]),
            (upsweep.segmented_reduce(series, np.array([0, 2, 3]), op="max"), [0, 2]),
            (upsweep.select(np.array([True, False, True]), series), [0, 2]),
            (upsweep.take(np.array([2, 0]), series), [2, 0]),
            (upsweep.group_by(series, np.arange(3))[0], [0, 2]),
            (upsweep.group_by(np.array([1, 2, 1]), series, op="max")[1], [0, 1]),
        ):
            assert found.dtype == series.dtype and found.name == "s" and found.tolist() == series.iloc[places].tolist()
        assert upsweep.segmented_reduce(series, np.array([0, 3]), op="argmin").dtype == pandas.ArrowDtype(pa.int64())
    assert upsweep.scan(series).index.tolist() == [5, 6, 7]


# ---------------------------------------------------------------------------------------------- the limits of 64 bits


def test_the_largest_time_is_a_minimum():
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    for kind in ("M8[ns]", "m8[ns]"):
        largest = np.array([2**63 - 1], np.int64).view(kind)
        for x in (largest, pa.array(largest), pl.Series(largest), pandas.Series(largest)):
            back = x.to_numpy if hasattr(x, "to_numpy") else lambda x=x: x
            for found, expected in (
                (upsweep.scan(x, op="min"), [largest[0]]),
                (upsweep.scan(x, op="min", exclusive=True), ["NaT"]),
                (upsweep.segmented_reduce(x, np.array([0, 0, 1, 1]), op="min"), ["NaT", largest[0], "NaT"]),
                (upsweep.group_by(np.array([1]), x, op="min")[1], back()),
                ([upsweep.reduce(x, op="min")], [largest[0]]),
            ):
                found = np.asarray(found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found)
                assert np.array_equal(found.astype(kind).view(np.int64), np.array(expected, kind).view(np.int64))
    valid = upsweep.segmented_reduce(
        np.repeat(largest, 2), np.array([0, 1, 2]), op="min", valid=np.array([False, True]), out=np.empty(2, kind)
    )
    assert np.isnat(valid).tolist() == [True, False]
    square = np.array([[5, 3], [7, 1]], "m8[s]")
    assert np.isnat(upsweep.scan(square, op="min", axis=1, exclusive=True)).tolist() == [[True, False]] * 2
    assert np.isnat(upsweep.scan(square, op="min", axis=0, exclusive=True)).tolist() == [[True] * 2, [False] * 2]


def test_sums_of_durations_that_are_nat():
    half = np.full(2, -(2**62), "m8[s]")
    for call, index in (
        (lambda: upsweep.reduce(half), None),
        (lambda: upsweep.reduce(half.reshape(2, 1), axis=0), 0),
        (lambda: upsweep.scan(half), 1),
        (lambda: upsweep.segmented_reduce(half, np.array([0, 0, 2])), 1),
        (lambda: upsweep.group_by(np.array([1, 1]), half), 0),
        (lambda: upsweep.group_by(np.array(["a", "a"]), half), 0),
    ):
        with pytest.raises(OverflowError, match="does not fit timedelta64.s.: its integer, -2.63, is NaT") as caught:
            call()
        assert (caught.value.index, caught.value.code) == (index, "overflow")
    assert np.isnat(upsweep.reduce(half, overflow="wrap"))
    answer = upsweep.query("SELECT SUM(h) AS h FROM t", t={"h": half})
    for read in (answer.rows, answer.to_dict, lambda: answer["h"]):
        with pytest.raises(OverflowError, match="column 'h': the duration in row 0 is -2.63"):
            read()


def test_keys_that_are_refused():
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    v = np.array([1, 2, 4])
    for keys, what in (
        (pandas.DataFrame({"a": v}), "pandas's DataFrame is not an array"),
        (pa.table({"a": v}), "pyarrow's Table is not an array"),
        (pl.DataFrame({"a": v}), "polars's DataFrame is not an array"),
        (np.array([1, 2, 1], np.longdouble), "needed, not float128"),
        (np.ma.array(["a", "b", "a"]), "a masked array"),
        ([1, "a", 2], "needed, not Python objects of type int and str"),
        (pa.array([[1], [2], [1]]), "needed, not list<"),
        (object(), "an array is needed, not object"),
    ):
        for given in (keys, (keys, v)):
            with pytest.raises(TypeError, match=f"^keys?( 0)?: .*{what}"):
                upsweep.group_by(given, v)
    with pytest.raises(OverflowError, match="keys: integers of more than 38 digits"):
        upsweep.group_by(pandas.Series([2**170, 1, 1], dtype=object), v)


def test_keys_of_python_objects():
    pl, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    day, v = datetime.date(2024, 1, 1), np.array([1, 2, 4])
    for keys, expected in (
        ([day, None, day], [day, None]),
        ([decimal.Decimal("1.5"), 2, decimal.Decimal("1.50")], [decimal.Decimal("1.5"), 2]),
        (["a", None, "a"], ["a", None]),
        ([True, False, True], [True, False]),
        (pandas.Series([2**70, 1, 2**70], dtype=object), [2**70, 1]),
        (pl.Series([2**70, 1, 2**70], dtype=pl.Int128), [2**70, 1]),
    ):
        found, sums = upsweep.group_by(keys, v)
        assert list(found) == expected and sums.tolist() == [5, 2]


def test_initial_times_of_python_and_pandas():
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    zone = datetime.timezone(datetime.timedelta(hours=5))
    plain = (pandas.Timestamp("2025"), datetime.datetime(2025, 1, 1), datetime.date(2025, 1, 1), np.datetime64("2025"))
    zoned = (pandas.Timestamp("2025", tz=zone), datetime.datetime(2025, 1, 1, tzinfo=zone))
    t = pandas.Series(pandas.to_datetime(["2024-01-01"]))
    arrow = t.dt.tz_localize("UTC").astype(pandas.ArrowDtype(pa.timestamp("us", "UTC")))
    for x in (t, t.to_numpy(), pa.array(t), pl.Series(t.to_numpy())):
        for initial in plain:
            assert upsweep.reduce(x, op="max", initial=initial) == np.datetime64("2025-01-01")
        for initial in zoned:
            with pytest.raises(TypeError, match="initial: a time without a time zone is needed"):
                upsweep.reduce(x, op="max", initial=initial)
    for x in (t.dt.tz_localize("UTC"), arrow, pa.array(arrow), pl.Series(t.to_numpy()).dt.replace_time_zone("UTC")):
        for initial in zoned:
            assert upsweep.reduce(x, op="max", initial=initial) == np.datetime64("2024-12-31T19:00")
        for initial in plain[:3]:
            with pytest.raises(TypeError, match="initial: a time with a time zone is needed"):
                upsweep.reduce(x, op="max", initial=initial)
    for initial in (pandas.Timedelta(9, "s"), datetime.timedelta(seconds=9), np.timedelta64(9, "s")):
        assert upsweep.reduce(np.array([1], "m8[s]"), op="max", initial=initial) == np.timedelta64(9, "s")
    for initial in (pandas.NaT, datetime.timedelta(1), "2025"):
        with pytest.raises(TypeError, match="initial: one value of datetime64"):
            upsweep.reduce(t, op="max", initial=initial)
    with pytest.raises(ValueError, match="finer unit"):
        upsweep.reduce(np.array([1], "M8[ms]"), op="max", initial=pandas.Timestamp(1))


def test_times_of_day_of_no_elements():
    pa, pl, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        array = pa.array([datetime.time(1), datetime.time(2)], kind)
        for x in (array, pl.Series(array), pandas.Series(array, dtype=pandas.ArrowDtype(kind))):
            for op, place in (("min", 0), ("max", 1)):
                found = upsweep.segmented_reduce(x, np.array([0, 0, 2, 2]), op=op)
                assert type(found) is type(x) and getattr(found, "dtype", kind) == getattr(x, "dtype", kind)
                assert pa.array(found).to_pylist() == [None, array[place].as_py(), None]
            assert pa.array(upsweep.scan(x, op="max", exclusive=True)).to_pylist() == [None, datetime.time(1)]


def test_categories_of_booleans():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([True, None, False, True], dtype="category")
    for table in ({"o": column}, pandas.DataFrame({"o": column})):
        assert upsweep.query("SELECT o, COUNT(*) FROM t GROUP BY o ORDER BY o", t=table).rows() == [
            (False, 1),
            (True, 2),
            (None, 1),
        ]


def test_dictionaries_of_times():
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.timestamp("us"), pa.timestamp("us", "Europe/Berlin"), pa.date32(), pa.duration("s")):
        plain = pa.array([7, 3, 7], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
        given = plain.dictionary_encode()
        assert upsweep.scan(given, op="max").equals(plain.take([0, 0, 0]))
        found, sums = upsweep.group_by(given, np.array([1, 2, 4]))
        assert found.equals(plain[:2]) and sums.tolist() == [5, 2]
