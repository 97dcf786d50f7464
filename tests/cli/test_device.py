# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_device.py: `--device cuda` gives the same answers, errors and files as the CPU. Skipped without a GPU.
import json
import random

import conftest
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import feather

CHUNK = 1 << 21


@pytest.fixture(autouse=True)
def gpu(upsweep, monkeypatch):
    monkeypatch.setenv("UPSWEEP_CACHE", "")  # compile anew, and leave nothing in the user's folder
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
        options = [*options, "--dtype", dtype]  # on a GPU only sums are widened
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


@pytest.mark.parametrize("limit", [[], ["--device-memory", "64MB"]])
def test_files_of_several_chunks(upsweep, limit):
    """Several calls, each of many chunks: the carry continues across chunks, whatever the limit. The output states the
    speed."""
    values = np.random.default_rng(8).integers(-50, 60, 2 * (1 << 25) + 3, dtype="int32")
    upsweep.save("in.npy", values)
    assert (upsweep.npy("scan", "in.npy", "--device", "cuda", *limit) == np.cumsum(values, dtype="int64")).all()
    for command in ("scan", "reduce"):
        result = upsweep.json(command, "in.npy", "--device", "cuda", *limit)
        assert result["value" if command == "reduce" else "last"] == values.sum(dtype="int64")
        said = result["limit"]
        assert said["name"] in ("to_device", "to_host", "host_memory", "kernels", "files") and 0 < said["share"] <= 1
        assert said["link_to_device_gbps"] > 1 and 0 < said["to_device_gbps"] and 0 < said["device_bytes"]
        assert not limit or said["device_bytes"] <= 64 << 20
    summary = upsweep.text("scan", "in.npy", "--device", "cuda", *limit)
    assert "\nlimit  " in summary and all(len(line) <= 80 for line in summary.splitlines())


def test_limits_that_are_refused(upsweep):
    upsweep.save("t.npy", np.ones(1 << 24), "float64")
    for command in (["scan", "t.npy"], ["reduce", "t.npy"], ["query", "SELECT SUM(t) FROM 't.npy'"]):
        for memory in ("much", "1KB"):
            message = upsweep.fails("invalid_argument", *command, "--device", "cuda", "--device-memory", memory)["message"]
            assert "memory" in message


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
    assert error["message"] == f"starts.npy, stops.npy: list {bad} is invalid: stop (-4) < start (0)"


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


# ---------------------------------------------------------------------------------------------------------------- lists


def ragged(dtype, lists=20_000, seed=5):
    """Offsets of lists, some empty and one long, and content whose sums are exact in any order."""
    random = np.random.default_rng(seed)
    lengths = random.poisson(3, lists)
    lengths[lists // 2] = 50_000
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return offsets, random.integers(0, 5, offsets[-1]).astype(dtype)


def on_both(upsweep, *args):
    """Returns the CPU's result and the GPU's result of the same input."""
    return upsweep.npy(*args), upsweep.npy(*args, "--device", "cuda")


SEGMENTED = [
    ["add"],
    ["add", "--init", "3"],
    ["max"],
    *([name] for name in ("any", "all", "count", "count_nonzero", "argmin", "argmax")),
    ["scan"],
    ["scan", "--exclusive", "--init", "2"],
    ["sort"],
    ["sort", "--descending"],
    ["argsort"],
]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "float32", "float64"])
@pytest.mark.parametrize("op", SEGMENTED, ids=" ".join)
def test_segments(upsweep, dtype, op):
    offsets, content = ragged(dtype)
    upsweep.save("offsets.npy", offsets.astype("int32" if dtype == "float32" else "int64"))
    upsweep.save("content.npy", content)
    same = ["--dtype", dtype] if op[0] in ("max", "scan") else []  # on a GPU only sums of lists are widened
    args = ["segment", "--op", *op, *same, "--offsets", "offsets.npy", "content.npy"]
    expected, got = on_both(upsweep, *args)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    result = upsweep.json(*args, "--device", "cuda")
    assert result["rung"].startswith("cuda.") and result["lists"] == len(offsets) - 1
    assert min(result["seconds"], result["to_device_s"], result["to_host_s"]) >= 0
    assert " in kernels, " in upsweep.text(*args, "--device", "cuda")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_selections(upsweep, dtype):
    offsets, content = ragged(dtype)
    mask = np.random.default_rng(6).random(len(content)) < 0.4
    for name, array in (("offsets", offsets), ("content", content), ("more", content.astype("float64")), ("mask", mask)):
        upsweep.save(f"{name}.npy", array)
    np.testing.assert_array_equal(upsweep.npy("select", "--mask", "mask.npy", "content.npy", "--device", "cuda"), content[mask])
    args = ["select", "--mask", "mask.npy", "--offsets", "offsets.npy", "content.npy", "more.npy", "--device", "cuda"]
    result = upsweep.json(*args, "-o", "out.npy")
    assert (result["count"], result["rung"]) == (mask.sum(), "cuda.ranks")
    assert min(result["to_device_s"], result["to_host_s"]) >= 0
    before = np.concatenate([[0], np.cumsum(mask)])
    np.testing.assert_array_equal(upsweep.load("out.offsets.npy"), before[offsets])
    np.testing.assert_array_equal(upsweep.load("out.0.npy"), content[mask])
    np.testing.assert_array_equal(upsweep.load("out.1.npy"), content[mask])


@pytest.mark.parametrize("bound", ["int32", "uint32", "int64"])
def test_packs(upsweep, bound):
    random = np.random.default_rng(7)
    content = random.integers(0, 100, 100_000).astype("int16")
    starts = random.integers(0, len(content) - 20, 30_000)
    stops = starts + random.integers(0, 8, len(starts))
    for name, array in (("a", starts.astype(bound)), ("b", stops.astype(bound)), ("c", content)):
        upsweep.save(f"{name}.npy", array)
    result = upsweep.json("pack", "a.npy", "b.npy", "c.npy", "--device", "cuda", "-o", "out.npy")
    assert (result["count"], result["rung"]) == ((stops - starts).sum(), "cuda.tiles")
    np.testing.assert_array_equal(upsweep.load("out.offsets.npy"), np.concatenate([[0], np.cumsum(stops - starts)]))
    expected = np.concatenate([content[a:b] for a, b in zip(starts, stops)])
    np.testing.assert_array_equal(upsweep.load("out.0.npy"), expected)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_list_columns(upsweep, arrow, name):
    """Lists and elements that are NULL, in several batches."""
    random = np.random.default_rng(8)
    offsets, content = ragged("int64", 5000)
    elements = arrow.array(content, mask=random.random(len(content)) < 0.2)
    null = arrow.array(random.random(len(offsets) - 1) < 0.1)
    lists = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), elements, mask=null)
    keep = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), arrow.array(content > 2), mask=null)
    if name == "t.parquet":  # PyArrow does not write null lists that have elements to Parquet
        lists, keep = (arrow.array(column.to_pylist(), column.type) for column in (lists, keep))
    rows = {"row_group_size": 1500} if name == "t.parquet" else {"max_chunksize": 1500}
    upsweep.table(name, {"x": lists, "keep": keep}, **rows)
    commands = [["segment", "--op", *op, f"{name}:x"] for op in (["add"], ["argmax"], ["scan"], ["sort"], ["argsort"])]
    commands += [["pack", f"{name}:x"], ["select", "--mask", f"{name}:keep", f"{name}:x"]]
    for command in commands:
        for output, device in (("cpu.arrow", "cpu"), ("cuda.arrow", "cuda")):
            upsweep.ok(*command, "--device", device, "-o", output, "--quiet")
        columns = []
        for output in ("cpu.arrow", "cuda.arrow"):
            with arrow.memory_map(str(upsweep.folder / output)) as file:
                columns.append(arrow.ipc.open_file(file).read_all()["x"].to_pylist())
        assert columns[0] == columns[1], command


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(
    "offsets, word, index",
    [([0, 3, 2, 5], "stop_before_start", 1), ([0, 3, 6, 9], "stop_past_end", 1), ([-1, 3, 4], "negative_start", 0)],
)
def test_bad_lists(upsweep, device, offsets, word, index):
    upsweep.save("offsets.npy", np.array(offsets))
    upsweep.save("content.npy", np.arange(5))
    upsweep.save("mask.npy", np.ones(5, bool))
    upsweep.save("starts.npy", np.array(offsets)[:-1])
    upsweep.save("stops.npy", np.array(offsets)[1:])
    to = ["--device", device, "-o", "out.npy"]
    for op in ("add", "any", "scan", "sort", "argsort"):
        upsweep.fails(word, "segment", "--op", op, "--offsets", "offsets.npy", "content.npy", *to, index=index)
    error = upsweep.fails(
        word, "select", "--mask", "mask.npy", "--offsets", "offsets.npy", "content.npy", *to, index=index
    )
    assert "offsets.npy" in error["message"]
    upsweep.fails(word, "pack", "starts.npy", "stops.npy", "content.npy", *to, index=index)


def test_lists_that_a_gpu_refuses(upsweep):
    upsweep.save("offsets.npy", np.array([0, 2, 3]))
    upsweep.save("content.npy", np.array([2**62, 2**62, 1]))
    upsweep.save("mask.npy", np.ones(3, bool))
    args = ["--offsets", "offsets.npy", "content.npy", "--device", "cuda"]
    upsweep.fails("unsupported", "segment", "--op", "scan", *args, "-o", "out.npy")
    upsweep.fails("overflow", "segment", *args, "-o", "out.npy")
    upsweep.save("fit.npy", np.array([0, 1, 2, 3]))
    assert upsweep.npy("segment", "--offsets", "fit.npy", *args[2:]).tolist() == [2**62, 2**62, 1]
    assert upsweep.npy("segment", "--overflow", "wrap", *args).tolist() == [-(2**63), 1]
    upsweep.fails("unsupported", "segment", "--rung", "cpu.columns", *args, "-o", "out.npy")
    upsweep.fails("unknown_rung", "select", "--mask", "mask.npy", *args, "--rung", "cuda.nothing", "-o", "out.npy")
    assert upsweep.json("segment", "--op", "max", *args, "--rung", "cuda.lanes")["rung"] == "cuda.lanes"
    assert upsweep.json("segment", "--op", "max", *args[:-2], "--rung", "cuda.lanes")["rung"] == "cuda.lanes"


def test_no_lists(upsweep):
    upsweep.save("offsets.npy", np.array([0]))
    upsweep.save("none.npy", np.array([], dtype="int64"))
    upsweep.save("mask.npy", np.array([], dtype=bool))
    for op in ("add", "count", "scan", "sort", "argsort"):
        args = ["segment", "--op", op, "--offsets", "offsets.npy", "none.npy", "--device", "cuda"]
        assert upsweep.npy(*args).tolist() == []
    assert upsweep.npy("select", "--mask", "mask.npy", "none.npy", "--device", "cuda").tolist() == []
    upsweep.ok("pack", "none.npy", "none.npy", "none.npy", "--device", "cuda", "-o", "out.npy", "--quiet")
    assert upsweep.load("out.offsets.npy").tolist() == [0]


# -------------------------------------------------------------------------------------------------------------- ladders


@pytest.mark.parametrize("problem, types", [("scan", "int32,float64"), ("reduce", "int64,float32"), ("offsets", "int32")])
def test_every_rung_of_a_ladder_is_right_or_says_why_not(upsweep, problem, types):
    args = ["ladder", problem, "--device", "cuda", "--sizes", "1000,2e6", "--types", types, "--max-seconds", "0.1"]
    rows = upsweep.json(*args)["rows"]
    assert {row["rung"] for row in rows} == {
        rung["rung"] for rung in upsweep.json("ladder")["ladders"][problem] if rung["rung"].startswith("cuda.")
    }
    for row in rows:
        verified = row["status"] == "verified" and row["median_s"] > 0 and row["fraction_of_copy"] > 0
        assert verified or (row["status"] == "skipped" and row["reason"]), row
    top = {"scan": "cuda.lookahead", "reduce": "cuda.one_kernel", "offsets": "cuda.lookahead"}[problem]
    assert all(row["status"] == "verified" for row in rows if row["rung"] == top and row["input"] is None)
    for line in upsweep.text(*args).splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("z", [30, 5000])
def test_the_filtered_sum_ladder(upsweep, z):
    args = ["ladder", "filtered-sum", "--device", "cuda", "--sizes", "100001", "--z", z]
    rows = {row["rung"]: row for row in upsweep.json(*args)["rows"]}
    assert set(rows) == {
        rung["rung"] for rung in upsweep.json("ladder")["ladders"]["filtered-sum"] if rung["rung"].startswith("cuda.")
    }
    for row in rows.values():
        assert row["status"] == "verified" and row["median_s"] > 0 and row["fraction_of_read"] > 0, row
    for rung in ("cuda.shuffle", "cuda.cub", "cuda.fused"):
        # Runs of more than 0.1 ms, which are likely on a busy GPU, are not captured into a graph.
        is_long = rows[rung]["median_s"] > 1e-4
        for time in ("warm_s", "graph_s", "warm_graph_s"):
            assert rows[rung][time] is None if is_long else rows[rung][time] > 0, rows[rung]
    assert rows["cuda.zero_copy"]["host_resident"] and not rows["cuda.fused"]["host_resident"]
    variants = rows["cuda.occupancy"]["variants"]
    assert sorted(int(way["name"].split()[0]) for way in variants) == [128, 128, 256, 256, 384, 384]
    for way in variants:
        assert way["registers"] > 0 and way["shared_bytes"] > 0 and 0 < way["occupancy"] <= 1 and way["median_s"] > 0
    for line in upsweep.text(*args).splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("transfer", ["pageable", "pinned", "streams"])
def test_columns_that_are_sent(upsweep, transfer):
    args = ["ladder", "filtered-sum", "--sizes", "100001", "--transfer", transfer]
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


def save_items(upsweep, values):
    """Items in a file, and some of the sums that subsets of them have, ascending."""
    upsweep.write("in.txt", "".join(f"{value}\n" for value in values))
    reached = np.zeros(sum(values) + 1, bool)
    reached[0] = True
    for value in filter(None, values):
        reached[value:] |= reached[:-value].copy()
    return np.flatnonzero(reached).tolist()


def check_items(result, values, total, rung):
    """Checks that the answer's items are at its positions, and add up to its sum."""
    assert (result["reachable"], result["sum"], result["rung"]) == (True, total, rung), result
    assert result["indices"] == sorted(set(result["indices"])), result
    assert result["items"] == [values[i] for i in result["indices"]], result
    assert sum(result["items"]) == total, result


@pytest.mark.parametrize("n, rung", [(12, "cuda.slices"), (120, "cuda.bits_fused")])
def test_subset_sums(upsweep, n, rung):
    values = random.Random(n).choices(range(1, 10_000), k=n)
    sums = save_items(upsweep, values)
    yes = next(total for total in sums if total >= sum(values) // 2)
    ask = ["subset-sum", "in.txt", "--device", "cuda", "--target"]
    check_items(upsweep.json(*ask, yes), values, yes, rung)
    check_items(upsweep.json(*ask, yes, "--no-early-stop"), values, yes, rung)
    assert upsweep.text(*ask, yes).startswith("yes: ")
    decided = upsweep.json(*ask, yes, "--decide")
    assert (decided["reachable"], decided["sum"], decided["items"], decided["rung"]) == (True, yes, [], rung)
    assert upsweep.text(*ask, yes, "--decide") == f"yes: some of the {n} items add up to {yes}\n"
    # With 120 such items only sums close to none or all are out of reach: then most of them are too large.
    no = max(set(range(yes)) - set(sums))
    for target in (no, sum(values) + 1):
        for options in ([], ["--decide"]):
            result = upsweep.json(*ask, target, *options)
            assert (result["reachable"], result["items"], result["sum"]) == (False, [], None)
            assert result["rung"] == "none" if target > sum(values) else result["rung"].startswith("cuda."), result
        assert upsweep.text(*ask, target).startswith("no: ")
    everything = upsweep.json(*ask, sum(values))
    check_items(everything, values, sum(values), "none")


def test_subset_sums_that_are_near(upsweep):
    values = [value * 10 for value in random.Random(13).choices(range(1, 1000), k=14)] + [10**7 + 1]
    sums = [total for total in save_items(upsweep, values) if total < values[-1]]
    for target in (sums[len(sums) // 2] + 4, sums[len(sums) // 3] + 9, sums[-2] + 5):
        ask = ["subset-sum", "in.txt", "--device", "cuda", "--target", target]
        check_items(upsweep.json(*ask, "--closest"), values, max(one for one in sums if one <= target), "cuda.slices")
        near = min(sums, key=lambda one: (abs(one - target), one))
        tolerance = abs(near - target)
        check_items(upsweep.json(*ask, "--tolerance", tolerance), values, near, "cuda.slices")
        check_items(upsweep.json(*ask, "--tolerance", 30, "--rung", "cuda.bits"), values, near, "cuda.bits")
        assert upsweep.json(*ask, "--tolerance", tolerance - 1)["reachable"] is False
        upsweep.fails("unsupported", *ask, "--closest", "--rung", "cuda.two_list")


def test_subset_sums_of_decimals(upsweep):
    upsweep.write("in.txt", "12.34\n0.5\n100\n2.50\n7\n")
    assert upsweep.text("subset-sum", "in.txt", "--target", "14.84", "--device", "cuda") == (
        "yes: 2 of 5 items add up to 14.84\n"
        "     position   item\n"
        "            0  12.34\n"
        "            3   2.50\n"
    )


@pytest.mark.parametrize(
    "n, options, rung",
    [
        (12, [], "cuda.slices"),
        (12, ["--closest"], "cuda.slices"),
        (90, [], "cuda.bits_fused"),
        (90, ["--tolerance", "3"], "cuda.bits_fused"),
        (12, ["--rung", "cuda.column"], "cuda.column"),
    ],
)
def test_subset_sums_explained(upsweep, n, options, rung):
    values = random.Random(n).choices(range(1, 10_000), k=n)
    save_items(upsweep, values)
    args = ["subset-sum", "in.txt", "--target", sum(values) // 3, "--device", "cuda", "--explain", *options]
    result = upsweep.json(*args)
    plan = result["plan"]
    assert (plan["rung"], result["rung"], plan["tries_likely"]) == (rung, rung, False), plan
    assert {way["rung"] for way in plan["ways"]} == {"cuda.bits_fused", "cuda.slices", "cuda.two_list"}
    reasons = {way["rung"]: way["reason"] for way in plan["ways"]}
    assert (reasons["cuda.two_list"] is None) == (n == 12 and "--closest" not in options), reasons
    assert (reasons["cuda.slices"] is None) == (n == 12), reasons
    for way in plan["ways"]:
        assert way["seconds"] > 0 and way["bytes"] > 0, way
    text = upsweep.text(*args)
    assert f"chosen: {rung}, " in text and all(way["rung"] in text for way in plan["ways"]), text
    for line in text.splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize(
    "rung", ["cuda.array_ops", "cuda.column", "cuda.agglomerated", "cuda.bits", "cuda.bits_fused", "cuda.slices"]
)
def test_subset_sums_by_a_rung(upsweep, rung):
    values = random.Random(15).choices(range(1, 3000), k=18)
    save_items(upsweep, values)
    target = sum(values[::3])
    # A rung of the GPU reports where it runs.
    for where in ([], ["--device", "cuda"]):
        result = upsweep.json("subset-sum", "in.txt", "--target", target, "--rung", rung, *where)
        check_items(result, values, target, rung)


def test_subset_sums_by_lists(upsweep):
    values = random.Random(16).sample(range(2**56, 2**57), 40)
    upsweep.write("in.txt", "".join(f"{value}\n" for value in values))
    target = sum(values[::2])
    for options in (["--rung", "cuda.two_list"], ["--device", "cuda", "--no-early-stop"]):
        result = upsweep.json("subset-sum", "in.txt", "--target", target, *options)
        check_items(result, values, target, "cuda.two_list")
        result = upsweep.json("subset-sum", "in.txt", "--target", target + 1, *options)
        assert (result["reachable"], result["rung"]) == (False, "cuda.two_list"), result


def test_subset_sums_that_are_refused(upsweep):
    save_items(upsweep, [3, 5, 8])
    ask = ["subset-sum", "in.txt", "--target", "8"]
    for where in (["--device", "cuda"], ["--rung", "cuda.bits"], ["--device", "cuda", "--rung", "cuda.two_list"]):
        assert "--all" in upsweep.fails("unsupported", *ask, "--all", "2", *where, index=None)["message"]
    upsweep.fails("unsupported", *ask, "--device", "cuda", "--rung", "cpu.bits")
    upsweep.fails("unknown_rung", *ask, "--device", "cuda", "--rung", "cuda.nothing")
    save_items(upsweep, [3, 0, 8])
    upsweep.fails("not_positive", *ask, "--device", "cuda", index=1)


def test_the_subset_sum_ladder(upsweep):
    args = ["ladder", "subset-sum", "--device", "cuda", "--sizes", "12", "--largest", "1000", "--per-thread", "2"]
    rows = upsweep.json(*args)["rows"]
    assert [row["rung"] for row in rows] == [
        rung["rung"] for rung in upsweep.json("ladder")["ladders"]["subset-sum"] if rung["rung"].startswith("cuda.")
    ]
    for row in rows:
        assert (row["n"], row["target"], row["status"]) == (12, 3000, "verified"), row
        assert row["median_s"] > 0 and row["device"] != "cpu", row
        # A rung that only decides about the target does not fill a bitmap, and is not captured into a graph. Neither is
        # a run of more than 0.1 ms, which is likely on a busy GPU.
        fills = row["rung"] != "cuda.two_list"
        assert (row["sums_per_s"] is not None) == fills, row
        assert (row["graph_s"] is not None) == (fills and row["median_s"] <= 1e-4), row
    for line in upsweep.text(*args).splitlines():
        assert len(line) <= 80, line
    one = upsweep.json(*args, "--rung", "cuda.agglomerated")["rows"]
    assert [(row["rung"], row["status"]) for row in one] == [("cuda.agglomerated", "verified")]


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
        on_gpu = upsweep.json("query", sql, "--device", "cuda")
        assert on_gpu["rows"] == upsweep.json("query", sql, "--device", "cpu")["rows"], sql
        assert on_gpu["rung"] == "cuda.generated" and on_gpu["rows_by_cpu"] == 0, on_gpu
        assert min(on_gpu[f"{what}_s"] for what in ("kernel", "to_device", "to_host", "compile")) >= 0


def test_queries_of_times(upsweep):
    random = np.random.default_rng(9)
    n = CHUNK + 7
    seconds = random.integers(-(10**9), 10**9, n)
    days = random.integers(-40, 40, n).tolist()
    columns = {
        "at": pa.array(seconds, pa.timestamp("s", "Europe/Berlin")),
        "took": pa.array(seconds, pa.duration("ms")),
        "opens": pa.array((seconds % 86_400).astype("int32"), pa.time32("s")),
        "every": pa.array([(day % 3, day, day) for day in days], pa.month_day_nano_interval()),
        "day": pa.array(days, pa.date32()),
    }
    nulls = pa.array(random.integers(0, 5, n) == 0)
    table = pa.table({name: pc.if_else(nulls, None, column) for name, column in columns.items()})
    feather.write_feather(table, upsweep.folder / "t.arrow", compression="uncompressed")
    for sql in [
        *[f"SELECT MIN({name}), MAX({name}), COUNT({name}) FROM 't.arrow'" for name in columns],
        "SELECT SUM(took), COUNT(*) FROM 't.arrow' WHERE at >= timestamp '1990-01-01' AND opens < time '12:00'",
        "SELECT COUNT(*), MIN(at) FROM 't.arrow' WHERE every > interval '1 month' OR took < interval '-1 day'",
        "SELECT day, COUNT(*), MAX(every) FROM 't.arrow' GROUP BY day ORDER BY day LIMIT 20",
    ]:
        on_gpu = upsweep.json("query", sql, "--device", "cuda")
        assert on_gpu["rows"] == upsweep.json("query", sql)["rows"], sql
        assert on_gpu["rung"] == "cuda.generated" and on_gpu["rows_by_cpu"] == 0, on_gpu


def test_queries_within_a_limit(upsweep):
    upsweep.save("t.npy", np.random.default_rng(6).integers(0, 1000, 3 * CHUNK), "int64")
    for sql in QUERIES:
        found = upsweep.json("query", sql, "--device", "cuda", "--device-memory", "16MB")
        assert found["rows"] == upsweep.json("query", sql)["rows"], sql
        assert found["bytes_to_device"] >= 8 * 3 * CHUNK


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
