# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_device.py: `--device cuda`: the same answers, errors and files as on the CPU; skipped without a GPU.
import json

import conftest
import numpy as np
import pytest

CHUNK = 1 << 21


@pytest.fixture(autouse=True)
def gpu(upsweep, monkeypatch):
    monkeypatch.setenv("UPSWEEP_CACHE", "")  # compiled anew: nothing is left in the user's folder
    done = upsweep.run("reduce", upsweep.save("one.npy", [1], "int64"), "--device", "cuda", "--json")
    if json.loads(done.stdout).get("error", {}).get("code") in ("no_device", "not_built"):
        pytest.skip("skipped: no device")
    assert done.returncode == 0, done
    (upsweep.folder / "one.npy").unlink()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 1000, 2 * CHUNK + 3])
@pytest.mark.parametrize("options", [[], ["--exclusive"], ["--exclusive", "--init", "7"], ["--op", "max"]])
def test_scan_and_reduce(upsweep, dtype, n, options):
    upsweep.save("in.npy", np.random.default_rng(3).integers(0, 4, n), dtype)
    if "max" in options:
        options = [*options, "--dtype", dtype]  # only sums are widened on a GPU
    expected = upsweep.npy("scan", "in.npy", *options)
    assert (upsweep.npy("scan", "in.npy", *options, "--device", "cuda") == expected).all()
    result = upsweep.json("scan", "in.npy", *options, "--device", "cuda")
    assert result["rung"] == "cuda.lookahead" and result["count"] == n
    assert min(result["seconds"], result["to_device_s"], result["to_host_s"]) >= 0
    if "--exclusive" in options or (n == 0 and options):
        return
    on_cpu = upsweep.json("reduce", "in.npy", *options)
    on_gpu = upsweep.json("reduce", "in.npy", *options, "--device", "cuda")
    assert (on_gpu["value"], on_gpu["count"], on_gpu["rung"]) == (on_cpu["value"], n, "cuda.one_kernel")


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 1000, CHUNK + 5])
def test_offsets(upsweep, dtype, n):
    starts = np.random.default_rng(4).integers(0, 1000, n).astype(dtype)
    upsweep.save("starts.npy", starts)
    upsweep.save("stops.npy", starts + np.arange(n).astype(dtype) % 5)
    expected = upsweep.npy("offsets", "starts.npy", "stops.npy")
    assert (upsweep.npy("offsets", "starts.npy", "stops.npy", "--device", "cuda") == expected).all()
    upsweep.save("bounds.npy", np.arange(n + 1).astype(dtype) * 3)
    options = ["--stops-offset", "1", "--length", n, "--device", "cuda"]
    assert (upsweep.npy("offsets", "bounds.npy", "bounds.npy", *options) == np.arange(n + 1) * 3).all()
    rung = upsweep.json("offsets", "bounds.npy", "bounds.npy", *options)["rung"]
    assert rung == ("cuda.adjacent" if n > 0 else "cuda.lookahead")


@pytest.mark.parametrize("bad", [0, 77, CHUNK, CHUNK + 100])
def test_the_first_bad_list(upsweep, bad):
    n = CHUNK + 200
    starts = np.zeros(n, dtype="int64")
    stops = np.ones(n, dtype="int64")
    stops[bad] = -4
    stops[n - 1] = -5
    upsweep.save("starts.npy", starts)
    upsweep.save("stops.npy", stops)
    error = upsweep.fails(
        "stop_before_start", "offsets", "starts.npy", "stops.npy", "-o", "out.npy", "--device", "cuda", index=bad
    )
    assert error["message"] == f"list {bad} stops at -4, before its start 0"


def test_sums_that_may_not_fit(upsweep):
    upsweep.save("in.npy", [2**62, 2**62, -5], "int64")
    upsweep.fails("unsupported", "scan", "in.npy", "--device", "cuda", "-o", "out.npy")
    upsweep.fails("unsupported", "reduce", "in.npy", "--device", "cuda")
    wrapped = upsweep.npy("scan", "in.npy", "--device", "cuda", "--overflow", "wrap")
    assert wrapped.tolist() == [2**62, -(2**63), 2**63 - 5]
    upsweep.save("in.npy", [100, 100], "int8")
    upsweep.fails("unsupported", "scan", "in.npy", "--dtype", "int8", "--device", "cuda")


def test_rungs_of_the_gpu(upsweep):
    upsweep.save("in.npy", np.ones(5000), "int64")
    assert upsweep.npy("scan", "in.npy", "--rung", "cuda.blelloch")[-1] == 5000
    upsweep.fails("unsupported", "scan", "in.npy", "--device", "cuda", "--rung", "cpu.serial")
    upsweep.fails("unknown_rung", "scan", "in.npy", "--device", "cuda", "--rung", "cuda.nothing")
    conftest.check_message(upsweep.run("scan", "in.npy", "--rung", "cuda.hillis_steele").stderr)


@pytest.mark.parametrize("problem, types", [("scan", "int32,float64"), ("reduce", "int64,float32"), ("ragged", "int32")])
def test_every_rung_of_a_ladder_is_right_or_says_why_not(upsweep, problem, types):
    args = ["ladder", problem, "--device", "cuda", "--sizes", "1000,2e6", "--types", types, "--max-seconds", "0.1"]
    rows = upsweep.json(*args)["rows"]
    assert {row["rung"] for row in rows} == {
        rung["rung"] for rung in upsweep.json("ladder")["ladders"][problem] if rung["rung"].startswith("cuda.")
    }
    for row in rows:
        verified = row["status"] == "verified" and row["median_s"] > 0 and row["fraction_of_copy"] > 0
        assert verified or (row["status"] == "skipped" and row["reason"]), row
    top = {"scan": "cuda.lookahead", "reduce": "cuda.one_kernel", "ragged": "cuda.lookahead"}[problem]
    assert all(row["status"] == "verified" for row in rows if row["rung"] == top and row["input"] is None)
    for line in upsweep.text(*args).splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("z", [30, 5000])
def test_the_aggregate_ladder(upsweep, z):
    args = ["ladder", "aggregate", "--device", "cuda", "--sizes", "100001", "--z", z]
    rows = {row["rung"]: row for row in upsweep.json(*args)["rows"]}
    assert set(rows) == {
        rung["rung"] for rung in upsweep.json("ladder")["ladders"]["aggregate"] if rung["rung"].startswith("cuda.")
    }
    for row in rows.values():
        assert row["status"] == "verified" and row["median_s"] > 0 and row["fraction_of_read"] > 0, row
    for rung in ("cuda.shuffle", "cuda.cub", "cuda.fused"):
        assert min(rows[rung]["warm_s"], rows[rung]["graph_s"], rows[rung]["warm_graph_s"]) > 0
    assert rows["cuda.zero_copy"]["host_resident"] and not rows["cuda.fused"]["host_resident"]
    variants = rows["cuda.occupancy"]["variants"]
    assert sorted(int(way["name"].split()[0]) for way in variants) == [128, 128, 256, 256, 384, 384]
    for way in variants:
        assert way["registers"] > 0 and way["shared_bytes"] > 0 and 0 < way["occupancy"] <= 1 and way["median_s"] > 0
    for line in upsweep.text(*args).splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("transfer", ["pageable", "pinned", "streams"])
def test_columns_that_are_sent(upsweep, transfer):
    args = ["ladder", "aggregate", "--sizes", "100001", "--transfer", transfer]
    rows = upsweep.json(*args)["rows"]
    for row in rows:
        assert row["transfer"] == transfer, row
        if row["rung"] == "cuda.zero_copy" and transfer != "pinned":
            assert row["status"] == "skipped" and row["reason"], row
            continue
        assert row["status"] == "verified" and row["total_s"] > 0 and row["kernel_s"] > 0, row
        assert 0 <= row["transfer_s"] <= row["total_s"], row
    for line in upsweep.text(*args).splitlines():
        assert len(line) <= 80, line


QUERIES = [
    "SELECT SUM(t), COUNT(*), MIN(t), MAX(t), AVG(t) FROM 't.npy' WHERE t > 2 AND t < 900",
    "SELECT SUM(t * t - 3), COUNT(t) FROM 't.npy' WHERE t BETWEEN 5 AND 7 OR t = 500",
    "SELECT t, COUNT(*), SUM(t * 2) FROM 't.npy' WHERE t < 20 GROUP BY t ORDER BY t DESC LIMIT 12",
    "SELECT SUM(t) FROM 't.npy' WHERE t < 0",
]


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64", "float64"])
@pytest.mark.parametrize("n", [0, 1, 4 * CHUNK + 7])
def test_queries(upsweep, dtype, n):
    upsweep.save("t.npy", np.random.default_rng(6).integers(0, 1000, n), dtype)
    for sql in QUERIES:
        if dtype == "float64" and "GROUP BY" in sql:
            continue
        on_gpu = upsweep.json("query", sql, "--device", "cuda")
        assert on_gpu["rows"] == upsweep.json("query", sql, "--device", "cpu")["rows"], sql
        assert on_gpu["rung"] == "cuda.fused" and on_gpu["rows_by_cpu"] == 0, on_gpu
        assert min(on_gpu[f"{what}_s"] for what in ("kernel", "to_device", "to_host", "compile")) >= 0


@pytest.mark.parametrize("bad", [0, 4 * CHUNK])
def test_queries_name_the_first_bad_row(upsweep, bad):
    values = np.ones(4 * CHUNK + 7, "int64")
    values[[bad, -1]] = 5
    upsweep.save("t.npy", values)
    sql = "SELECT SUM(1 / (t - 5)) FROM 't.npy'"
    on_cpu = upsweep.fails("division_by_zero", "query", sql, index=bad)
    assert upsweep.fails("division_by_zero", "query", sql, "--device", "cuda", index=bad) == on_cpu


def test_devices_names_the_gpu(upsweep):
    gpus = upsweep.json("devices", "--device", "cuda")["gpus"]
    assert gpus and gpus[0]["name"] and gpus[0]["multiprocessors"] > 0
    link = gpus[0]["link"]
    assert link["bytes"] == 48_009_720 and link["allocation_s"] > 0
    for way in ("to_device_pageable", "to_device_pinned", "to_host_pageable", "to_host_pinned"):
        assert link[f"{way}_gbps"] > 0 and link[f"{way}_s"] > 0
    assert gpus[0]["name"] in upsweep.text("devices")
