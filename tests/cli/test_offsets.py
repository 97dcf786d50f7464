# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_offsets.py: `upsweep offsets`: results compared with NumPy, every option, and each invalid list.
import numpy as np
import pytest

TYPES = ["int32", "uint32", "int64"]
RUNGS = ["cpu.serial", "cpu.threads", "cpu.lookahead"]
CHUNK = 1 << 21
INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


def lists(dtype, n, seed=1):
    """Starts and stops of lists in any order, and their offsets."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, 1000, n).astype(dtype)
    counts = random.integers(0, 20, n)
    stops = (starts + counts).astype(dtype)
    return starts, stops, offsets_of(counts)


def offsets_of(counts):
    return np.concatenate([[0], np.cumsum(counts)]).astype("int64")


def save(upsweep, starts, stops, dtype=None):
    upsweep.save("starts.npy", starts, dtype)
    upsweep.save("stops.npy", stops, dtype)


@pytest.mark.parametrize("rung", [None, *RUNGS])
@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_and_rung(upsweep, dtype, rung):
    starts, stops, expected = lists(dtype, 5000)
    save(upsweep, starts, stops)
    options = [] if rung is None else ["--rung", rung]
    result = upsweep.json("offsets", "starts.npy", "stops.npy", "-o", "out.npy", *options)
    out = upsweep.load("out.npy")
    assert out.dtype == np.int64
    np.testing.assert_array_equal(out, expected)
    assert {"count", "dtype", "last", "rung", "seconds", "output"} <= set(result)
    assert (result["count"], result["dtype"], result["last"]) == (5001, "int64", expected[-1])
    assert result["output"] == "out.npy"
    assert result["rung"] == rung or (rung is None and result["rung"] in RUNGS)
    assert set(upsweep.files()) == {"starts.npy", "stops.npy", "out.npy"}


@pytest.mark.parametrize("n", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3])
def test_lengths_around_the_pieces(upsweep, n):
    starts, stops, expected = lists("int32", n)
    save(upsweep, starts, stops)
    np.testing.assert_array_equal(upsweep.npy("offsets", "starts.npy", "stops.npy"), expected)


def test_no_lists(upsweep):
    save(upsweep, [], [], "int64")
    assert upsweep.npy("offsets", "starts.npy", "stops.npy").tolist() == [0]
    result = upsweep.json("offsets", "starts.npy", "stops.npy", "-o", "out.npy")
    assert (result["count"], result["last"]) == (1, 0)
    assert upsweep.load("out.npy").tolist() == [0]


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_threads(upsweep, threads):
    starts, stops, expected = lists("int64", 400_000)
    save(upsweep, starts, stops)
    for rung in RUNGS:
        got = upsweep.npy("offsets", "starts.npy", "stops.npy", "--threads", threads, "--rung", rung)
        np.testing.assert_array_equal(got, expected)


def test_unsigned_bounds_are_unsigned(upsweep):
    save(upsweep, [2**31, 0], [2**32 - 1, 2**32 - 1], "uint32")
    assert upsweep.npy("offsets", "starts.npy", "stops.npy").tolist() == [0, 2**31 - 1, 2**32 + 2**31 - 2]


def test_wide_differences_of_narrow_bounds(upsweep):
    save(upsweep, [-(2**31)], [2**31 - 1], "int32")
    assert upsweep.npy("offsets", "starts.npy", "stops.npy").tolist() == [0, 2**32 - 1]


def test_negative_starts_only_matter_when_strict(upsweep):
    save(upsweep, [0, -5, -5], [1, -2, 3], "int64")
    assert upsweep.npy("offsets", "starts.npy", "stops.npy").tolist() == [0, 1, 4, 12]
    for rung in RUNGS:
        options = ["--strict", "--rung", rung, "-o", "out.npy"]
        upsweep.fails("negative_start", "offsets", "starts.npy", "stops.npy", *options, index=1)
    save(upsweep, [0, 5], [1, 9], "int64")
    assert upsweep.npy("offsets", "starts.npy", "stops.npy", "--strict").tolist() == [0, 1, 5]


def test_offsets_and_length(upsweep):
    starts = [9, 9, 0, 10, 20]
    stops = [9, 4, 13, 25]
    save(upsweep, starts, stops, "int32")
    skip = ["--starts-offset", "2", "--stops-offset", "1"]
    assert upsweep.npy("offsets", "starts.npy", "stops.npy", *skip).tolist() == [0, 4, 7, 12]
    assert upsweep.npy("offsets", "starts.npy", "stops.npy", *skip, "--length", "2").tolist() == [0, 4, 7]
    assert upsweep.npy("offsets", "starts.npy", "stops.npy", *skip, "--length", "0").tolist() == [0]
    all_skipped = ["--starts-offset", "5", "--stops-offset", "4"]
    assert upsweep.npy("offsets", "starts.npy", "stops.npy", *all_skipped).tolist() == [0]


@pytest.mark.parametrize(
    "options",
    [
        [],  # 5 starts, 4 stops
        ["--starts-offset", "2"],
        ["--stops-offset", "1"],
        ["--length", "5"],
        ["--length", "4", "--starts-offset", "2"],
        ["--length", "4", "--stops-offset", "1"],
        ["--length", "1", "--starts-offset", "5"],
        ["--length", "1", "--starts-offset", "6"],
        ["--length", "1", "--stops-offset", "4"],
        ["--length", str(INT64_MAX)],
        ["--length", str(INT64_MAX), "--starts-offset", str(INT64_MAX), "--stops-offset", str(INT64_MAX)],
        ["--length", "1", "--starts-offset", str(INT64_MAX)],
        ["--starts-offset", str(INT64_MAX), "--stops-offset", "1"],
    ],
)
@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_unequal_lengths(upsweep, options, kind, request):
    if kind == "npy":
        save(upsweep, [0, 0, 0, 0, 0], [1, 1, 1, 1], "int32")
        names = ["starts.npy", "stops.npy"]
    else:
        request.getfixturevalue("arrow")
        names = [upsweep.table(f"a.{kind}", {"x": [0] * 5}), upsweep.table(f"b.{kind}", {"x": [1] * 4})]
    error = upsweep.fails("unequal_lengths", "offsets", *names, *options, "-o", "out.npy")
    assert any(name in error["message"] for name in names), error
    assert upsweep.npy("offsets", *names, "--length", "4").tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["npy", "csv"])
@pytest.mark.parametrize("length", [[], ["--length", "0"], ["--length", "1"]])
def test_more_skipped_than_there_is(upsweep, kind, length, request):
    if kind == "csv":
        request.getfixturevalue("arrow")
        names = [upsweep.table(f"{name}.csv", {"x": [1]}) for name in ("starts", "stops")]
    else:
        save(upsweep, [0], [1], "int32")
        names = ["starts.npy", "stops.npy"]
    for offsets in (("3", "2"), ("100", "100"), ("2", "3")):
        options = ["--starts-offset", offsets[0], "--stops-offset", offsets[1], *length, "-o", "out.npy"]
        upsweep.fails("unequal_lengths", "offsets", *names, *options)


# ------------------------------------------------------------------------------------------------------ adjacent bounds


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 1000, 2 * CHUNK + 3])
def test_one_file_read_once(upsweep, dtype, n):
    bounds = (7 + offsets_of(np.random.default_rng(2).integers(0, 5, n))).astype(dtype)
    upsweep.save("bounds.npy", bounds)
    options = ["--stops-offset", "1", "--length", n]
    result = upsweep.json("offsets", "bounds.npy", "bounds.npy", *options, "-o", "out.npy")
    assert (result["rung"], result["count"]) == ("cpu.adjacent", n + 1)
    np.testing.assert_array_equal(upsweep.load("out.npy"), bounds.astype("int64") - 7)
    if n > 10:
        options = ["--starts-offset", "4", "--stops-offset", "5", "--length", n - 8]
        result = upsweep.json("offsets", "bounds.npy", "bounds.npy", *options, "-o", "out.npy")
        assert result["rung"] == "cpu.adjacent"
        expected = bounds[4 : n - 3].astype("int64") - int(bounds[4])
        np.testing.assert_array_equal(upsweep.load("out.npy"), expected)


def test_adjacent_bounds_are_validated(upsweep):
    for position in (5, CHUNK + 5):
        bounds = np.arange(CHUNK + 100, dtype="int64")
        bounds[position] = 0
        upsweep.save("b.npy", bounds)
        options = ["--stops-offset", "1", "--length", CHUNK + 99, "-o", "out.npy"]
        upsweep.fails("stop_before_start", "offsets", "b.npy", "b.npy", *options, index=position - 1)
        options = ["--starts-offset", "2", "--stops-offset", "3", "--length", CHUNK + 97, "-o", "out.npy"]
        upsweep.fails("stop_before_start", "offsets", "b.npy", "b.npy", *options, index=position - 3)
    upsweep.save("b.npy", [-1, 0, 1], "int64")
    options = ["--stops-offset", "1", "--length", "2"]
    assert upsweep.npy("offsets", "b.npy", "b.npy", *options).tolist() == [0, 1, 2]
    upsweep.fails("negative_start", "offsets", "b.npy", "b.npy", *options, "--strict", "-o", "out.npy", index=0)
    upsweep.save("b.npy", [INT64_MIN, INT64_MAX], "int64")
    options = ["--stops-offset", "1", "--length", "1", "-o", "out.npy"]
    upsweep.fails("overflow", "offsets", "b.npy", "b.npy", *options, index=0)


def test_adjacent_bounds_need_a_length(upsweep):
    upsweep.save("b.npy", [0, 2, 5], "int64")
    upsweep.fails("unequal_lengths", "offsets", "b.npy", "b.npy", "--stops-offset", "1", "-o", "out.npy")
    options = ["--stops-offset", "1", "--length", "3", "-o", "out.npy"]
    upsweep.fails("unequal_lengths", "offsets", "b.npy", "b.npy", *options)
    assert upsweep.npy("offsets", "b.npy", "b.npy", "--stops-offset", "1", "--length", "0").tolist() == [0]
    upsweep.save("none.npy", [], "int64")
    upsweep.fails("unequal_lengths", "offsets", "none.npy", "none.npy", *options)


def test_one_file_under_two_names(upsweep):
    upsweep.save("b.npy", [0, 2, 5], "int64")
    assert upsweep.npy("offsets", "b.npy", "./b.npy", "--stops-offset", "1", "--length", "2").tolist() == [0, 2, 5]


@pytest.mark.parametrize("name", ["b.parquet", "b.arrow", "b.arrows", "b.csv"])
def test_adjacent_columns(upsweep, arrow, name):
    bounds = offsets_of(np.random.default_rng(2).integers(0, 5, 150_000))
    upsweep.table(name, {"x": bounds})
    options = ["--stops-offset", "1", "--length", "150000"]
    result = upsweep.json("offsets", f"{name}:x", f"{name}:x", *options, "-o", "out.npy")
    assert result["rung"] == "cpu.adjacent"
    np.testing.assert_array_equal(upsweep.load("out.npy"), bounds)
    upsweep.fails("unequal_lengths", "offsets", name, name, "--stops-offset", "1", "--length", "150001", "-o", "o.npy")


def test_the_adjacent_rung_needs_adjacent_bounds(upsweep):
    save(upsweep, [0, 1], [1, 2], "int64")
    options = ["--rung", "cpu.adjacent", "-o", "out.npy"]
    upsweep.fails("unsupported", "offsets", "starts.npy", "stops.npy", *options)
    upsweep.fails("unsupported", "offsets", "starts.npy", "starts.npy", *options)


# ------------------------------------------------------------------------------------------------------- refused lists


@pytest.mark.parametrize("rung", [None, *RUNGS])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bad", [0, 4, 9_999, 19_999])
def test_a_stop_before_its_start(upsweep, dtype, bad, rung):
    starts, stops, _ = lists(dtype, 20_000)
    starts[bad], stops[bad] = 5, 4
    starts[-1], stops[-1] = 5, 0  # a later error changes nothing
    save(upsweep, starts, stops)
    options = ["-o", "out.npy"] if rung is None else ["-o", "out.npy", "--rung", rung]
    message = upsweep.fails("stop_before_start", "offsets", "starts.npy", "stops.npy", *options, index=bad)["message"]
    assert message == f"starts.npy, stops.npy: list {bad} is invalid: stop ({stops[bad]}) < start (5)"


def test_lists_are_counted_after_the_offsets(upsweep):
    save(upsweep, [9, 9, 9, 0, 0, 7, 0], [9, 1, 1, 6, 1], "int64")
    skip = ["--starts-offset", "3", "--stops-offset", "1", "-o", "out.npy"]
    upsweep.fails("stop_before_start", "offsets", "starts.npy", "stops.npy", *skip, index=2)


@pytest.mark.parametrize("rung", RUNGS)
def test_a_bad_list_after_the_first_piece(upsweep, rung):
    starts, stops, _ = lists("int32", 2 * CHUNK + 100)
    stops[CHUNK + 33] = starts[CHUNK + 33] - 1
    save(upsweep, starts, stops)
    options = ["-o", "out.npy", "--rung", rung]
    upsweep.fails("stop_before_start", "offsets", "starts.npy", "stops.npy", *options, index=CHUNK + 33)


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(
    "starts, stops, word, index",
    [
        ([0, INT64_MIN], [1, INT64_MAX], "overflow", 1),
        ([-1], [INT64_MAX], "overflow", 0),
        ([INT64_MIN], [0], "overflow", 0),
        ([0, 0], [INT64_MAX, 1], "overflow", 1),  # the sum overflows
        ([INT64_MAX], [INT64_MIN], "stop_before_start", 0),
        ([1], [INT64_MIN], "stop_before_start", 0),
        ([0, INT64_MIN, 5], [1, INT64_MAX, 4], "overflow", 1),
        ([0, 5, INT64_MIN], [1, 4, INT64_MAX], "stop_before_start", 1),
    ],
)
def test_differences_and_sums_that_do_not_fit(upsweep, rung, starts, stops, word, index):
    save(upsweep, starts, stops, "int64")
    upsweep.fails(word, "offsets", "starts.npy", "stops.npy", "--rung", rung, "-o", "out.npy", index=index)


def test_the_largest_sum_that_fits(upsweep):
    save(upsweep, [0, 0, 5], [INT64_MAX - 1, 1, 5], "int64")
    assert upsweep.json("offsets", "starts.npy", "stops.npy")["last"] == INT64_MAX


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "uint64", "float32", "float64"])
def test_other_types_are_refused(upsweep, dtype):
    save(upsweep, [0, 1], [1, 2], dtype)
    upsweep.fails("unsupported_type", "offsets", "starts.npy", "stops.npy", "-o", "out.npy")


def test_two_types_are_refused(upsweep):
    upsweep.save("starts.npy", [0, 1], "int32")
    upsweep.save("stops.npy", [0, 1], "int64")
    upsweep.fails("unsupported_type", "offsets", "starts.npy", "stops.npy", "-o", "out.npy")


def test_null_names_its_row(upsweep, arrow):
    upsweep.table("t.parquet", {"a": [0, 1, 2], "b": [1, None, 3]})
    upsweep.fails("null_value", "offsets", "t.parquet:a", "t.parquet:b", "-o", "out.npy", index=1)


# ------------------------------------------------------------------------------------------------------------- the rest


def test_columns_of_one_table(upsweep, arrow):
    starts, stops, expected = lists("int64", 100_000)
    for name in ("t.parquet", "t.arrow", "t.arrows", "t.csv"):
        upsweep.table(name, {"a": starts, "b": stops})
        np.testing.assert_array_equal(upsweep.npy("offsets", f"{name}:a", f"{name}:b"), expected)
        got = upsweep.npy("offsets", f"{name}:a", f"{name}:b", "--starts-offset", "7", "--stops-offset", "7")
        np.testing.assert_array_equal(got, expected[7:] - expected[7])
        upsweep.fails("unknown_column", "offsets", f"{name}:a", f"{name}:c", "-o", "out.npy")


def test_standard_input(upsweep):
    starts, stops, expected = lists("int32", CHUNK + 9)
    save(upsweep, starts, stops)
    with (upsweep.folder / "starts.npy").open("rb") as file:
        np.testing.assert_array_equal(upsweep.npy("offsets", "-", "stops.npy", stdin=file), expected)
    done = upsweep.shell('cat stops.npy | "$U" offsets starts.npy - -o out.npy --starts-offset 3 --stops-offset 3')
    assert done.returncode == 0, done
    np.testing.assert_array_equal(upsweep.load("out.npy"), expected[3:] - expected[3])
    upsweep.fails("invalid_argument", "offsets", "-", "-", "-o", "new.npy")


def test_output_over_an_input(upsweep):
    starts, stops, expected = lists("int64", CHUNK + 9)
    save(upsweep, starts, stops)
    upsweep.ok("offsets", "starts.npy", "stops.npy", "-o", "stops.npy")
    np.testing.assert_array_equal(upsweep.load("stops.npy"), expected)
    assert set(upsweep.files()) == {"starts.npy", "stops.npy"}


def test_the_summary(upsweep):
    save(upsweep, [0] * 3000, [10**15] * 3000, "int64")
    for options in ([], ["-o", "out.npy"]):
        text = upsweep.text("offsets", "starts.npy", "stops.npy", *options)
        assert max(map(len, text.splitlines())) <= 80, text
        assert "\x1b" not in text and "\r" not in text
        bare = text.replace(",", "")
        assert "int64" in text and "cpu." in text and "3001" in bare and str(3000 * 10**15) in bare
    assert upsweep.ok("offsets", "starts.npy", "stops.npy", "-o", "out.npy", "--quiet") == b""


@pytest.mark.parametrize(
    "word, options",
    [
        ("unsupported", ["--rung", "cpu.simd"]),
        ("invalid_argument", ["--length", "-1"]),
        ("invalid_argument", ["--starts-offset", "-1"]),
        ("invalid_argument", ["--stops-offset", "-1"]),
        ("invalid_argument", ["--length", "many"]),
        ("invalid_argument", ["--length", "1.5"]),
        ("invalid_argument", ["--starts-offset", "99999999999999999999"]),
        ("invalid_argument", ["--op", "add"]),
        ("invalid_argument", ["--nope"]),
        ("invalid_argument", ["third.npy"]),
        (("not_built", "no_device"), ["--device", "cuda"]),
        ("invalid_argument", ["--device", "gpu"]),
    ],
)
@pytest.mark.parametrize("n", [3, 0])
def test_bad_options(upsweep, word, options, n):
    save(upsweep, [0] * n, [1] * n, "int32")
    upsweep.fails(word, "offsets", "starts.npy", "stops.npy", "-o", "out.npy", *options)


def test_json_and_data_cannot_share_standard_output(upsweep):
    save(upsweep, [0], [1], "int32")
    done = upsweep.run("offsets", "starts.npy", "stops.npy", "-o", "-", "--json")
    assert done.returncode == 2 and b"invalid_argument" in done.stdout


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow"])
def test_output_as_a_table(upsweep, arrow, name):
    starts, stops, expected = lists("int32", 5000)
    save(upsweep, starts, stops)
    upsweep.ok("offsets", "starts.npy", "stops.npy", "-o", name, "--quiet")
    np.testing.assert_array_equal(upsweep.npy("scan", f"{name}:offsets", "--op", "max"), expected)
    stops[7] = starts[7] - 1
    upsweep.save("stops.npy", stops)
    upsweep.fails("stop_before_start", "offsets", "starts.npy", "stops.npy", "-o", f"new_{name}", index=7)
