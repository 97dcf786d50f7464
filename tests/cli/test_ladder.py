# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_ladder.py: `upsweep ladder` and `devices`: what they list, verify, skip and refuse; never how fast they
# are.
import json

import numpy as np
import pytest

RUNGS = {
    "scan": ["cpu.serial", "cpu.threads", "cpu.simd", "cpu.simd_threads", "cpu.chained", "cpu.lookahead"],
    "reduce": ["cpu.serial", "cpu.threads", "cpu.simd", "cpu.simd_threads"],
    "offsets": ["cpu.serial", "cpu.threads", "cpu.lookahead", "cpu.adjacent"],
    "filtered-sum": ["cpu.serial", "cpu.threads", "cpu.predicate_first"],
    "subset-sum": ["cpu.table", "cpu.columns", "cpu.threads", "cpu.bits", "cpu.bits_simd", "cpu.enumerate",
                   "cpu.meet_in_the_middle", "cpu.schroeppel_shamir"],
}
FIELDS = {"rung", "type", "n", "status", "reason", "median_s", "gbps", "fraction_of_copy", "speedup"}


def check_text(text):
    assert text.endswith("\n")
    assert "\x1b" not in text and "\r" not in text
    for line in text.splitlines():
        assert len(line) <= 80, line


def check_rows(result, problem):
    assert result["schema"] == 1
    assert result["problem"] == problem
    assert isinstance(result["machine"], dict) and result["machine"]
    assert result["rows"]
    for row in result["rows"]:
        assert set(row) >= FIELDS, row
        assert row["status"] in ("verified", "failed", "skipped")
        assert row["status"] != "failed", row
        if row["status"] == "verified":
            assert row["median_s"] > 0 and row["gbps"] > 0 and row["fraction_of_copy"] > 0, row
        else:
            assert row["reason"], row
    return result["rows"]


# ------------------------------------------------------------------------------------------------------------ listing


def test_the_list(upsweep):
    text = upsweep.text("ladder")
    check_text(text)
    result = upsweep.json("ladder")
    assert result["schema"] == 1
    for problem, rungs in RUNGS.items():
        assert problem in text
        listed = [rung["rung"] for rung in result["ladders"][problem]]
        assert set(rungs) <= set(listed)
        assert len(set(listed)) == len(listed)  # unique within a problem
        for rung in rungs:
            assert rung in text


# ----------------------------------------------------------------------------------------------------------- climbing


def test_scan(upsweep):
    result = upsweep.json("ladder", "scan", "--sizes", "1e3,2^12", "--types", "int32")
    rows = check_rows(result, "scan")
    for n in (1000, 4096):
        there = {row["rung"]: row for row in rows if row["n"] == n}
        assert set(RUNGS["scan"]) <= set(there)
        for row in there.values():
            assert (row["status"], row["type"]) == ("verified", "int32"), row
        assert there["cpu.serial"]["speedup"] == 1
    assert {row["n"] for row in rows} == {1000, 4096}


@pytest.mark.parametrize("problem", [problem for problem in RUNGS if problem not in ("filtered-sum", "subset-sum")])
def test_every_problem_verifies(upsweep, problem):
    types = "int64" if problem == "offsets" else "int32,float64"
    rows = check_rows(upsweep.json("ladder", problem, "--sizes", "1,777", "--types", types), problem)
    for rung in RUNGS[problem]:
        there = [row for row in rows if row["rung"] == rung]
        assert {(row["type"], row["n"]) for row in there} == {(t, n) for t in types.split(",") for n in (1, 777)}
        for row in there:
            assert row["status"] == "verified" or "adjacent" in row["rung"], row
        # Generated lists are in any order in one group, and adjacent in the next, where this rung can run.
        verified = {(row["type"], row["n"]) for row in there if row["status"] == "verified"}
        assert verified == {(t, n) for t in types.split(",") for n in (1, 777)}


@pytest.mark.parametrize("types", ["int8,int16,uint8,uint16", "uint32,uint64,float32"])
def test_every_type_verifies(upsweep, types):
    rows = check_rows(upsweep.json("ladder", "scan", "--sizes", "100", "--types", types, "--rung", "cpu.simd"), "scan")
    for type_ in types.split(","):
        assert ("cpu.simd", type_, "verified") in {(row["rung"], row["type"], row["status"]) for row in rows}


def test_text_has_no_long_lines(upsweep):
    for args in (["scan", "--sizes", "10,3e5", "--types", "float32"], ["offsets", "--sizes", "1e4"],
                 ["reduce", "--sizes", "1e3", "--types", "uint8"]):  # fmt: skip
        text = upsweep.text("ladder", *args)
        check_text(text)
        assert "cpu.serial" in text and "verified" in text


def test_one_rung(upsweep):
    result = upsweep.json("ladder", "scan", "--sizes", "1e3", "--types", "int32", "--rung", "cpu.lookahead")
    rows = check_rows(result, "scan")
    assert ("cpu.lookahead", "verified") in {(row["rung"], row["status"]) for row in rows}
    assert {row["rung"] for row in rows} <= {"cpu.lookahead", "cpu.serial"}  # it is compared with serial


def test_no_time_at_all(upsweep):
    args = ["ladder", "scan", "--sizes", "1e3,1e5", "--types", "int32", "--max-seconds", "0"]
    rows = check_rows(upsweep.json(*args), "scan")
    skipped = [row for row in rows if row["n"] == 100_000]
    assert {row["rung"] for row in skipped} >= set(RUNGS["scan"])
    for row in skipped:
        assert row["status"] == "skipped", row
        assert row["reason"].startswith("estimated ") and row["reason"].endswith(" s"), row
        assert row["median_s"] is None and row["gbps"] is None and row["speedup"] is None, row
    text = upsweep.text(*args)
    check_text(text)
    assert "skipped: estimated " in text


def test_threads(upsweep):
    rows = check_rows(upsweep.json("ladder", "scan", "--sizes", "1e4", "--types", "int64", "--threads", "1"), "scan")
    assert all(row["status"] == "verified" for row in rows)
    for threads in ("0", "3"):
        result = upsweep.json("ladder", "scan", "--sizes", "1e4", "--types", "int64", "--threads", threads)
        cores = result["machine"]["threads"]
        rows = check_rows(result, "scan")
        there = {row["rung"]: row["threads"] for row in rows}
        assert len(rows) == len(there) and set(there) >= set(RUNGS["scan"])
        assert there["cpu.serial"] == there["cpu.simd"] == 1
        assert there["cpu.chained"] == (int(threads) or cores) == result["groups"][0]["threads"]
        assert there.get("cpu.std_par", cores) == cores


# ------------------------------------------------------------------------------------------ several counts of threads

ALONE = {"cpu.serial", "cpu.simd", "cpu.std_par", "cpu.table", "cpu.columns", "cpu.bits", "cpu.enumerate"}


def check_counts(result, problem, counts):
    """Every rung is verified with each count, or once if it ignores the count."""
    rows = check_rows(result, problem)
    cores = result["machine"]["threads"]
    assert [group["threads"] for group in result["groups"]] == counts * (len(result["groups"]) // len(counts))
    assert all(group["copy_gbps"] > 0 for group in result["groups"])
    for rung in RUNGS[problem]:
        there = [row for row in rows if row["rung"] == rung]
        places = {(row["type"], row["n"]) for row in there}
        for place in places:
            threads = [row["threads"] for row in there if (row["type"], row["n"]) == place]
            assert sorted(set(threads)) == ([1] if rung in ALONE else counts), (rung, threads)
    assert {row["threads"] for row in rows} <= {*counts, cores}
    return rows


def cores_of(upsweep):
    args = ["ladder", "scan", "--sizes", "1", "--types", "int8", "--rung", "cpu.serial"]
    return upsweep.json(*args)["machine"]["threads"]


@pytest.mark.parametrize("problem", ["scan", "reduce", "offsets"])
def test_several_counts_of_threads(upsweep, problem):
    types = "int64" if problem == "offsets" else "int32,float64"
    args = ["ladder", problem, "--sizes", "777,1e5", "--types", types, "--threads", "1,2,2^2,0"]
    rows = check_counts(upsweep.json(*args), problem, sorted({1, 2, 4, cores_of(upsweep)}))
    for place in {(row["type"], row["n"]) for row in rows}:
        there = [row for row in rows if (row["type"], row["n"]) == place and row["rung"] == "cpu.serial"]
        assert {row["speedup"] for row in there if row["median_s"]} == {1}
    text = upsweep.text(*args)
    check_text(text)
    for word in ("rung", "threads", "time", "of copy", "speedup", "efficiency"):
        assert word in text
    assert text.count("cpu.serial") == len(types.split(",")) * 2 * (2 if problem == "offsets" else 1)


def test_several_counts_of_threads_of_other_problems(upsweep):
    args = ["ladder", "filtered-sum", "--sizes", "1e5", "--threads", "1,2"]
    check_filtered_sum(check_counts(upsweep.json(*args), "filtered-sum", [1, 2]), 30, *kept_of(upsweep.json(*args)))
    text = upsweep.text(*args)
    check_text(text)
    assert "of read" in text
    args = ["ladder", "subset-sum", "--sizes", "10", "--largest", "1000", "--threads", "1,2"]
    result = upsweep.json(*args)
    assert set(check_subset(result, 10, 2500)) == set(RUNGS["subset-sum"])
    assert {row["threads"] for row in result["rows"]} == {1, 2}
    text = upsweep.text(*args)
    check_text(text)
    assert "  1 thread: the API decides by " in text and "  2 threads: the API decides by " in text


def test_counts_of_threads_in_any_order(upsweep):
    args = ["ladder", "scan", "--sizes", "1e5", "--types", "float32", "--rung", "cpu.chained", "--threads"]
    rows = check_rows(upsweep.json(*args, "4,1,2,1"), "scan")
    assert [(row["rung"], row["threads"]) for row in rows] == [("cpu.chained", threads) for threads in (1, 2, 4)]
    assert rows[0]["speedup"] == 1
    cores = cores_of(upsweep)
    rows = upsweep.json(*args, f"0,{cores}")["rows"]
    assert [row["threads"] for row in rows] == [cores]
    text = upsweep.text(*args, f"2,{4 * cores}")
    check_text(text)
    assert f"{4 * cores}*" in text and f"  * more threads than cores: this process may use {cores}\n" in text
    assert "  speedup and efficiency: over 2 threads\n" in text
    assert "*" not in upsweep.text(*args, f"1,{cores}")


def test_rows_beside_a_copy_on_other_threads(upsweep):
    args = ["ladder", "scan", "--sizes", "1e5", "--types", "int32", "--threads", "2,4"]
    rows = upsweep.json(*args)["rows"]
    fractions = {(row["rung"], row["threads"]): row["fraction_of_copy"] for row in rows}
    assert fractions["cpu.serial", 1] is None and fractions["cpu.simd", 1] is None
    assert fractions["cpu.chained", 2] > 0 and fractions["cpu.chained", 4] > 0
    assert all(row["speedup"] > 0 for row in rows)


def test_counts_of_threads_for_a_rung_of_one(upsweep):
    args = ["ladder", "scan", "--sizes", "1e5", "--types", "int32", "--rung", "cpu.simd", "--threads", "2,4"]
    (row,) = check_rows(upsweep.json(*args), "scan")
    assert (row["rung"], row["threads"]) == ("cpu.simd", 1)
    check_text(upsweep.text(*args))


def test_counts_of_threads_that_take_too_long(upsweep):
    args = ["ladder", "scan", "--sizes", "1e5", "--types", "int32", "--threads", "1,2", "--max-seconds", "0"]
    rows = check_rows(upsweep.json(*args), "scan")
    assert {row["status"] for row in rows} == {"skipped"}
    assert [row["threads"] for row in rows if row["rung"] == "cpu.threads"] == [1, 2]
    text = upsweep.text(*args)
    check_text(text)
    assert text.count("cpu.threads") == 1 and "skipped: estimated " in text


@pytest.mark.parametrize("threads", ["-1", "1,-1", "two", "1,two", ",", "1,,2", "1.5", "2^", "1;2", "1e30", "nan", "1 "])
def test_bad_counts_of_threads(upsweep, threads):
    error = upsweep.fails("invalid_argument", "ladder", "scan", f"--threads={threads}", "--sizes", "10")
    assert "--threads" in error["message"]
    upsweep.fails("invalid_argument", "ladder", f"--threads={threads}")


def test_no_count_of_threads(upsweep):
    upsweep.fails("invalid_argument", "ladder", "scan", "--threads", "", "--sizes", "10")


def test_a_column_as_input(upsweep):
    upsweep.save("in.npy", np.random.default_rng(1).standard_normal(5000), "float32")
    rows = check_rows(upsweep.json("ladder", "scan", "--input", "in.npy"), "scan")
    assert {(row["type"], row["n"]) for row in rows} == {("float32", 5000)}
    assert {row["status"] for row in rows} == {"verified"}
    check_text(upsweep.text("ladder", "reduce", "--input", "in.npy"))


def test_lists_as_input(upsweep):
    upsweep.save("starts.npy", [0, 5, 5], "int64")
    upsweep.save("stops.npy", [5, 5, 9], "int64")
    rows = check_rows(upsweep.json("ladder", "offsets", "--input", "starts.npy", "stops.npy"), "offsets")
    assert {(row["type"], row["n"]) for row in rows} == {("int64", 3)}
    for rung in ("cpu.serial", "cpu.threads", "cpu.lookahead"):
        assert (rung, "verified") in {(row["rung"], row["status"]) for row in rows}


def test_a_table_as_input(upsweep, arrow):
    upsweep.table("t.parquet", {"x": np.arange(3000)})
    rows = check_rows(upsweep.json("ladder", "scan", "--input", "t.parquet:x"), "scan")
    assert {(row["type"], row["n"]) for row in rows} == {("int64", 3000)}


def test_bad_input(upsweep):
    upsweep.save("starts.npy", [0, 5], "int64")
    upsweep.save("stops.npy", [5, 4], "int64")
    upsweep.save("one.npy", [5], "int64")
    upsweep.save("float.npy", [5, 6], "float64")
    upsweep.write("bad.npy", b"\x93NUMPY\x01\x00")
    upsweep.fails("malformed", "ladder", "scan", "--input", "bad.npy")
    upsweep.fails("not_found", "ladder", "scan", "--input", "missing.npy")
    upsweep.fails("stop_before_start", "ladder", "offsets", "--input", "starts.npy", "stops.npy", index=1)
    upsweep.fails("unequal_lengths", "ladder", "offsets", "--input", "starts.npy", "one.npy")
    upsweep.fails("unsupported_type", "ladder", "offsets", "--input", "float.npy", "float.npy")
    upsweep.fails("invalid_argument", "ladder", "offsets", "--input", "starts.npy")
    upsweep.fails("invalid_argument", "ladder", "scan", "--input", "starts.npy", "stops.npy")


def test_no_elements_as_input(upsweep):
    upsweep.save("in.npy", [], "int32")
    for problem in ("scan", "reduce"):
        done = upsweep.run("ladder", problem, "--input", "in.npy", "--json")
        assert done.returncode in (0, 1), done
        json.loads(done.stdout)


# --------------------------------------------------------------------------------------------------------- filtered sum


def check_filtered_sum(rows, limit, kept, n):
    for row in rows:
        assert (row["status"], row["limit"], row["kept"], row["n"]) == ("verified", limit, kept, n), row
        assert row["fraction_of_read"] > 0
        # The keys, and whole cache lines of both payload columns.
        assert 4 * n <= row["bytes"] <= 4 * n + 2 * 64 * min(kept, n / 8 + 1), row
    assert {row["rung"] for row in rows} == set(RUNGS["filtered-sum"])


def kept_of(result):
    return result["rows"][0]["kept"], result["rows"][0]["n"]


def test_filtered_sum_on_made_lineitems(upsweep):
    args = ["ladder", "filtered-sum", "--sizes", "100000"]
    rows = check_rows(upsweep.json(*args), "filtered-sum")
    assert 150 < rows[0]["kept"] < 450  # 29 of 10000 suppliers
    check_filtered_sum(rows, 30, rows[0]["kept"], 100000)
    check_filtered_sum(check_rows(upsweep.json(*args, "--z", "0"), "filtered-sum"), 0, 0, 100000)
    check_filtered_sum(check_rows(upsweep.json(*args, "--z", "10001"), "filtered-sum"), 10001, 100000, 100000)
    text = upsweep.text(*args)
    check_text(text)
    assert "100,000 rows, key < 30" in text and "of read" in text
    rows = check_rows(upsweep.json("ladder", "filtered-sum", "--sizes", "1,777", "--rung", "cpu.serial"), "filtered-sum")
    assert [row["n"] for row in rows] == [1, 777]


def test_filtered_sum_is_climbed_at_scale_factor_1(upsweep):
    rows = check_rows(upsweep.json("ladder", "filtered-sum", "--rung", "cpu.predicate_first"), "filtered-sum")
    assert [(row["n"], row["limit"]) for row in rows] == [(6001215, 30)]


def save_lineitems(upsweep, n):
    random = np.random.default_rng(8)
    supplier = random.integers(1, 101, n)
    upsweep.save("supplier.npy", supplier, "int32")
    upsweep.save("quantity.npy", random.integers(1, 51, n), "int64")
    upsweep.save("price.npy", random.integers(90000, 10000000, n), "int64")
    return int((supplier < 7).sum())


def test_filtered_sum_on_columns(upsweep):
    kept = save_lineitems(upsweep, 5000)
    args = ["ladder", "filtered-sum", "--z", "7", "--input", "supplier.npy", "quantity.npy", "price.npy"]
    check_filtered_sum(check_rows(upsweep.json(*args), "filtered-sum"), 7, kept, 5000)
    check_text(upsweep.text(*args))


def test_filtered_sum_on_decimals(upsweep, arrow):
    import decimal

    cents = arrow.decimal128(15, 2)
    columns = {
        "k": arrow.array([1, 50, 7], arrow.int64()),
        "q": arrow.array([decimal.Decimal(x) for x in ("17.00", "1.00", "-3.00")], cents),
        "p": arrow.array([decimal.Decimal(x) for x in ("10.01", "3.00", "99.99")], cents),
    }
    upsweep.table("t.parquet", columns)
    rows = upsweep.json("ladder", "filtered-sum", "--input", "t.parquet:k", "t.parquet:q", "t.parquet:p")
    rows = check_rows(rows, "filtered-sum")
    check_filtered_sum(rows, 30, 2, 3)
    # The ladder's prices are in cents: its sum must equal the query's.
    answer = upsweep.json("query", "SELECT SUM(q * p) FROM 't.parquet' WHERE k < 30")["rows"]
    assert {row["sum"] for row in rows} == {-12980}
    assert answer == [["-129.8000"]]
    # Quantities are whole units.
    error = upsweep.fails(
        "unsupported_type", "ladder", "filtered-sum", "--input", "t.parquet:k", "t.parquet:p", "t.parquet:p", index=0
    )
    assert "10.01" in error["message"]


def test_filtered_sum_refuses_columns(upsweep):
    save_lineitems(upsweep, 50)
    upsweep.save("short.npy", np.ones(49), "int64")
    upsweep.save("float.npy", np.ones(50), "float64")
    upsweep.save("negative.npy", np.arange(50) - 1, "int64")
    upsweep.save("large.npy", np.full(50, 2**63), "uint64")
    upsweep.save("none.npy", [], "int64")
    climb = ["ladder", "filtered-sum", "--input"]
    upsweep.fails("invalid_argument", *climb, "supplier.npy")
    upsweep.fails("invalid_argument", *climb, "supplier.npy", "quantity.npy")
    upsweep.fails("invalid_argument", "ladder", "scan", "--input", "price.npy", "price.npy", "price.npy")
    upsweep.fails("unequal_lengths", *climb, "supplier.npy", "quantity.npy", "short.npy")
    upsweep.fails("unequal_lengths", *climb, "supplier.npy", "short.npy", "price.npy")
    upsweep.fails("unsupported_type", *climb, "supplier.npy", "float.npy", "price.npy")
    upsweep.fails("unsupported_type", *climb, "float.npy", "quantity.npy", "price.npy")
    upsweep.fails("overflow", *climb, "negative.npy", "quantity.npy", "price.npy", index=0)
    upsweep.fails("overflow", *climb, "supplier.npy", "quantity.npy", "large.npy", index=0)
    upsweep.fails("not_found", *climb, "supplier.npy", "quantity.npy", "missing.npy")
    upsweep.fails("empty", *climb, "none.npy", "none.npy", "none.npy")


# ------------------------------------------------------------------------------------------------------- bad requests


@pytest.mark.parametrize(
    "sizes",
    ["0", "-1", "1.5", "abc", "1e3,abc", "1e3,,2^4", ",", "2^", "^2", "2^x", "x^2", "abc^0", "-2^2", "-1e3", "2^-1",
     "1e30", "2^99", "2^4000", "nan", "inf", "1e3 ", "0x10", "1e3;1e4", "2^2^2", "1e-3", "99999999999999999999"],
)  # fmt: skip
def test_bad_sizes(upsweep, sizes):
    upsweep.fails("invalid_argument", "ladder", "scan", f"--sizes={sizes}", "--types", "int32")


@pytest.mark.parametrize(
    "word, args",
    [
        ("invalid_argument", ["sort"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--types", "int64"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--z", "-1"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--z", "4294967296"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--z", "3.5"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--z", "many"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--transfer", "by hand"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--transfer", "pinned", "--device", "cpu"]),
        ("invalid_argument", ["filtered-sum", "--sizes", "10", "--transfer", "pinned", "--rung", "cpu.serial"]),
        (("not_built", "no_device"), ["filtered-sum", "--sizes", "10", "--transfer", "pinned"]),
        (("not_built", "no_device"), ["filtered-sum", "--sizes", "10", "--rung", "cuda.fused"]),
        ("unsupported", ["filtered-sum", "--sizes", "10", "--rung", "cpu.simd"]),
        ("invalid_argument", ["scan", "--sizes", "10", "--z", "30"]),
        ("invalid_argument", ["reduce", "--sizes", "10", "--transfer", "pinned"]),
        ("invalid_argument", ["scan", "reduce"]),
        ("invalid_argument", ["scan", "--types", "float16"]),
        ("invalid_argument", ["scan", "--types", "int32,nope"]),
        ("invalid_argument", ["offsets", "--types", "float32"]),
        ("invalid_argument", ["scan", "--max-seconds", "soon"]),
        ("invalid_argument", ["scan", "--nope"]),
        ("invalid_argument", ["scan", "--threads", "-1"]),
        ("unknown_rung", ["scan", "--rung", "cpu.nope", "--sizes", "10", "--types", "int32"]),
        ("unsupported", ["reduce", "--rung", "cpu.chained", "--sizes", "10", "--types", "int32"]),
        (("not_built", "no_device"), ["scan", "--device", "cuda", "--sizes", "10"]),
        ("invalid_argument", ["scan", "--device", "foo", "--sizes", "10"]),
        ("invalid_argument", ["--device", "foo"]),
        (("not_built", "no_device"), ["--device", "cuda"]),
    ],
)
def test_bad_options(upsweep, word, args):
    upsweep.fails(word, "ladder", *args)


@pytest.mark.parametrize("rung", ["cuda.lookback", "cuda.nope"])
def test_rungs_on_a_gpu_of_a_build_without_cuda(upsweep, rung):
    if upsweep.json("devices", "--quiet")["cuda"] != "not built":
        pytest.skip("this build has CUDA")
    upsweep.save("x.npy", [1, 2, 3])
    for args in (["ladder", "scan", "--sizes", "10"], ["scan", "x.npy"]):
        error = upsweep.fails("not_built", *args, "--rung", rung)
        assert "this build of upsweep has no CUDA; build it with nvcc: make cuda, or " in error["message"]
        assert args[0] == "scan" or error["message"].startswith(f"rung '{rung}': ")


# ------------------------------------------------------------------------------------------------------------ devices


def test_devices_as_json(upsweep):
    result = upsweep.json("devices")
    cpu = result["cpu"]
    assert cpu["threads"] >= 1
    assert cpu["simd"] and isinstance(cpu["simd"], str)
    assert cpu["copy_gbps"] > 0 and cpu["read_gbps"] > 0
    for level in ("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes"):
        assert isinstance(cpu[level], int) and cpu[level] >= 0, cpu
    assert isinstance(result["gpus"], list)


def test_devices_as_text(upsweep):
    text = upsweep.text("devices", "--threads", "1")
    check_text(text)
    for word in ("cpu", "caches", "simd", "copy", "read"):
        assert word in text


def test_devices_refuses_bad_options(upsweep):
    upsweep.fails("invalid_argument", "devices", "--device", "foo")
    upsweep.fails(("not_built", "no_device"), "devices", "--device", "cuda")
    upsweep.fails("invalid_argument", "devices", "--threads", "-1")
    upsweep.fails("invalid_argument", "devices", "--nope")
    upsweep.fails("invalid_argument", "devices", "extra")


# --------------------------------------------------------------------------------------------- columns as they come


def test_a_column_whose_sums_leave_their_type(upsweep):
    upsweep.save("in.npy", np.full(1000, 10**7), "int32")
    for problem in ("scan", "reduce"):
        rows = check_rows(upsweep.json("ladder", problem, "--input", "in.npy"), problem)
        assert all(row["checked_s"] is None for row in rows)


@pytest.mark.parametrize("odd", [[np.nan], [np.inf], [-np.inf, np.inf], [3e38, 3e38]])
def test_a_column_with_numbers_that_are_none(upsweep, odd):
    upsweep.save("in.npy", np.concatenate([np.ones(3000), odd, np.ones(3000)]), "float32")
    for problem in ("scan", "reduce"):
        for row in check_rows(upsweep.json("ladder", problem, "--input", "in.npy"), problem):
            assert row["status"] == "verified", row


def test_a_column_without_elements(upsweep):
    upsweep.save("in.npy", [], "int32")
    upsweep.fails("empty", "ladder", "scan", "--input", "in.npy")


def test_options_that_would_mean_nothing_are_refused(upsweep):
    upsweep.save("in.npy", np.ones(10), "int32")
    upsweep.fails("invalid_argument", "ladder", "scan", "--input", "in.npy", "--sizes", "100")
    upsweep.fails("invalid_argument", "ladder", "scan", "--input", "in.npy", "--types", "int8")
    upsweep.fails("invalid_argument", "ladder", "--rung", "cpu.serial")
    upsweep.fails("invalid_argument", "devices", "--rung", "cpu.serial")
    upsweep.fails("invalid_argument", "ladder", "scan", "--max-seconds", "nan")
    upsweep.fails("invalid_argument", "ladder", "scan", "--max-seconds", "-1")


# --------------------------------------------------------------------------------------------------------- subset-sum


def check_subset(result, n, target):
    rows = result["rows"]
    assert result["problem"] == "subset-sum"
    for row in rows:
        assert set(row) >= FIELDS, row
        assert (row["n"], row["target"], row["status"]) == (n, target, "verified"), row
        assert row["median_s"] > 0
        # Rungs that only decide about the target do not fill a bitmap, so a copy is not measured for comparison.
        fills = row["rung"] not in ("cpu.meet_in_the_middle", "cpu.schroeppel_shamir")
        assert (row["sums_per_s"] is not None) == fills, row
    return [row["rung"] for row in rows]


def test_subset_sum_on_made_items(upsweep):
    args = ["ladder", "subset-sum", "--sizes", "10", "--largest", "1000"]
    assert check_subset(upsweep.json(*args), 10, 2500) == RUNGS["subset-sum"]
    assert check_subset(upsweep.json(*args, "--target", "63"), 10, 63) == RUNGS["subset-sum"]
    assert check_subset(upsweep.json(*args, "--rung", "cpu.bits"), 10, 2500) == ["cpu.bits"]
    text = upsweep.text(*args)
    check_text(text)
    assert "10 items" in text and "seed 12" in text and "decides" in text


def test_subset_sum_counts_in_short(upsweep):
    args = ["ladder", "subset-sum", "--sizes", "1e1", "--largest", "2^10", "--target", "1e3", "--rung", "cpu.bits"]
    assert check_subset(upsweep.json(*args), 10, 1000) == ["cpu.bits"]
    exact = upsweep.json("ladder", "subset-sum", "--sizes", "4", "--target", str(2**62 + 1), "--rung", "cpu.enumerate")
    assert exact["rows"][0]["target"] == 2**62 + 1


def test_subset_sum_times_the_solver(upsweep):
    for row in upsweep.json("ladder", "subset-sum", "--sizes", "10", "--largest", "1000")["rows"]:
        assert row["decide_s"] > 0 and row["find_s"] > 0 and row["decide_rung"], row
        assert row["found_target"] == row["target"] or not row["reachable"], row


def test_subset_sum_skips_what_takes_too_long(upsweep):
    args = ["ladder", "subset-sum", "--sizes", "40", "--largest", "1e6", "--max-seconds", "0.001"]
    rows = {row["rung"]: row for row in upsweep.json(*args)["rows"]}
    assert rows["cpu.table"]["status"] == "skipped", rows["cpu.table"]
    args = ["ladder", "subset-sum", "--sizes", "42", "--largest", "2^57", "--max-seconds", "0.001"]
    rows = {row["rung"]: row for row in upsweep.json(*args)["rows"]}
    assert "estimated" in rows["cpu.schroeppel_shamir"]["reason"], rows["cpu.schroeppel_shamir"]


def test_subset_sum_without_a_bitmap(upsweep):
    args = ["ladder", "subset-sum", "--sizes", "24", "--largest", str(2**57)]
    rows = {row["rung"]: row for row in upsweep.json(*args)["rows"]}
    for rung in ("cpu.enumerate", "cpu.meet_in_the_middle", "cpu.schroeppel_shamir"):
        assert rows[rung]["status"] == "verified", rows[rung]
    for rung in ("cpu.table", "cpu.bits", "cpu.bits_simd"):
        assert rows[rung]["status"] == "skipped" and " of memory" in rows[rung]["reason"], rows[rung]
    check_text(upsweep.text(*args))


def test_subset_sum_on_a_file(upsweep):
    upsweep.write("prices.txt", b"12.50\n7\n0.99\n3.01\n")
    result = upsweep.json("ladder", "subset-sum", "--input", "prices.txt", "--target", "19.5")
    assert check_subset(result, 4, 1950) == RUNGS["subset-sum"]
    upsweep.write("none.txt", b"")
    upsweep.fails("empty", "ladder", "subset-sum", "--input", "none.txt", "--target", "1")
    upsweep.fails("not_found", "ladder", "subset-sum", "--input", "missing.txt", "--target", "1")


@pytest.mark.parametrize(
    "args",
    [
        ["subset-sum", "--input", "prices.txt"],
        ["subset-sum", "--sizes", "10", "--target", "-1"],
        ["subset-sum", "--sizes", "10", "--target", "12.5"],
        ["subset-sum", "--sizes", "10", "--largest", "0"],
        ["subset-sum", "--sizes", "10", "--per-thread", "0"],
        ["subset-sum", "--sizes", "10", "--per-thread", "1025"],
        ["subset-sum", "--input", "prices.txt", "--target", "12.5", "--largest", "1000"],
        ["subset-sum", "--sizes", "10", "--types", "int64"],
        ["subset-sum", "--sizes", "10", "--z", "3"],
        ["scan", "--sizes", "10", "--target", "5"],
        ["scan", "--sizes", "10", "--per-thread", "2"],
    ],
)
def test_subset_sum_refuses(upsweep, args):
    upsweep.write("prices.txt", b"12.50\n")
    upsweep.fails("invalid_argument", "ladder", *args)
