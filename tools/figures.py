# SPDX-License-Identifier: Apache-2.0
# tools/figures.py: makes tables in README.md and docs/, docs/h200.svg and docs/scaling.svg from bench/results/.
"""Writes every figure between `<!-- figures:begin NAME -->` and `<!-- figures:end -->`, and draws the charts.

With --check nothing is written: exit status 1 if a file differs from what this script makes of bench/results/.
"""
import json
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
sys.path.insert(0, str(ROOT / "bench"))
import late_ranks  # noqa: E402
import scaling_model  # noqa: E402

PAGES = [
    "README.md", "docs/performance.md", "docs/scaling.md", "docs/dask.md", "docs/start/cuda.md",
    *(f"docs/how-to/{page}.md" for page in ("larger_than_memory", "mpi", "several_gpus", "streams_graphs_workspaces")),
]  # fmt: skip
CHART, SCALING_CHART = "docs/h200.svg", "docs/scaling.svg"
RECORDED = json.loads((RESULTS / "recorded.json").read_text())
TYPES = ["int32", "float32", "int64", "float64"]
# The names of queries in the benchmarks, and in the tables.
QUERIES = {
    "filtered sum, Z = 30": "filtered sum, Z = 30",
    "filtered sum, Z = 5000": "filtered sum, Z = 5000",
    "filtered sum, Z = 10001": "filtered sum, all rows",
    "TPC-H Q6": "TPC-H Q6",
    "TPC-H Q1": "TPC-H Q1",
}
MS, US = 1e3, 1e6


# ---- the measurements


def ladder(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def rows(name, **wanted):
    """The verified rows of a ladder whose fields have the wanted values, in the ladder's order."""
    found = [row for row in ladder(name)["rows"] if row["status"] == "verified"]
    return [row for row in found if all(row[field] == value for field, value in wanted.items())]


def row(name, rung, **wanted):
    (found,) = rows(name, rung=rung, **wanted)
    return found


def api_rung(name, **wanted):
    groups = ladder(name)["groups"]
    (group,) = [g for g in groups if g["api_rung"] and all(g[field] == value for field, value in wanted.items())]
    return group["api_rung"]


def query_peers(query, where, name="epyc2-query-peers"):
    (found,) = [r for r in ladder(name)["milliseconds"] if (r["query"], r["from"]) == (query, where)]
    return found


def query_seconds(name, query):
    """The seconds by number of threads, in ascending order."""
    lines = [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]
    return [line["seconds"] for line in lines if line["query"] == query]


def gpu_query(query, copies=10, by="upsweep"):
    lines = [json.loads(line) for line in (RESULTS / "h200-query.jsonl").read_text().splitlines()]
    lines = [line for line in lines if (line["query"], line["copies"]) == (query, copies)]
    (found,) = [line for line in lines if (line["rung"] if line["rung"].startswith("cupy") else "upsweep") == by]
    return found


def filled(engine, instance="small"):
    """The median seconds of an engine that finds all subset sums."""
    return statistics.median(ladder("xeon-subset-sum-peers")["fills_s"][instance][engine])


# ---- formats


def number(value):
    """Three significant digits, never in powers of ten."""
    places = 2 - math.floor(math.log10(value))
    return f"{round(value, places):,.{max(places, 0)}f}"


def time(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{number(seconds * scale)} {unit}"
    return f"{number(seconds * 1e9)} ns"


def span(values, form=number):
    first, last = form(min(values)), form(max(values))
    return first if first == last else f"{first} to {last}"


def table(head, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["--"] * len(head), *lines])


def fraction(value):
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def ms_of_copy(found):
    return f"{number(found['median_s'] * MS)} ({fraction(found['fraction_of_copy'])})"


def strong(text, yes):
    return f"**{text}**" if yes else text


# ---- figures that were only noted


def noted(name):
    """The table of the figures under `name` in recorded.json."""
    record = RECORDED[name]
    lines = []
    for item in record["rows"]:
        value = item["value"]
        if "columns" in record:
            lines.append([item["what"], *value])
            continue
        text = " to ".join(map(str, value)) if isinstance(value, list) else str(value)
        text += f" {item['unit']}" if "unit" in item else ""
        lines.append([item["what"], text + (f" ({item['note']})" if "note" in item else "")])
    head = ["", *record["columns"]] if "columns" in record else ["", "measured"]
    return table(head, lines) + "\n\n" + origin(name)


def origin(name):
    record = RECORDED[name]
    made_by = f"; {record['made_by']}" if "made_by" in record else ""
    return f"On {RECORDED['machines'][record['machine']]}{made_by}; noted on {record['date']} in commit {record['commit']}."


# ---- measurements on the CPU


def on_two_cores(name, **wanted):
    """The rows for two threads, and for rungs that run on one thread."""
    found = rows(name, **wanted)
    most = {(r["rung"], r["type"]): r["threads"] for r in found}  # counts ascend
    return [r for r in found if r["threads"] == most[r["rung"], r["type"]]]


def cpu_ladder(name, types, api, **wanted):
    """A table of rungs and types on two cores: milliseconds, and fractions of the rate of a copy on the same number of threads."""
    found = on_two_cores(name, **wanted)
    lines = []
    for rung in dict.fromkeys(r["rung"] for r in rows(name, **wanted)):
        at = {r["type"]: r for r in found if r["rung"] == rung}
        lines.append([strong(f"`{rung}`", rung == api), *(strong(ms_of_copy(at[t]), rung == api) for t in types)])
    return table(["rung", *types], lines)


# The names of generated lists and of the work on them: in the ladders of lists, and in the tables.
LISTS = {
    "lists: poisson": "Poisson(3)",
    "lists: 0to4": "0 to 4",
    "lists: fixed3": "3 each",
    "lists: fixed32": "32 each",
    "lists: fixed1000": "1,000 each",
    "lists: one": "one list of all",
    "lists: pareto": "Pareto",
}
LIST_WORK = {
    "segmented-reduce": "sums",
    "segmented-scan": "running sums",
    "segmented-sort": "sorts",
    "select": "selections",
    "pack": "packs",
}


def list_ladders(name, field):
    """The verified rows, or the groups, of ladders in a file with one ladder per line; each with its problem."""
    lines = [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]
    return [one | {"problem": line["problem"]} for line in lines for one in line[field] if one.get("median_s", 1)]


def what_of_lists(found):
    """The cells that describe a row: sums, Poisson(3) …"""
    lists, *more = found["input"].split(", ")
    kind = "" if found["type"] == "float64" else f" of {found['type']}"
    return [", ".join([LIST_WORK[found["problem"]] + kind, *more]), LISTS[lists]]


def cpu_lists():
    """Milliseconds of the API's rung on two threads and all cores; in brackets multiples of a copy's time; and the loop."""
    top = {"cpu.columns", "cpu.networks", "cpu.compress", "cpu.staged"}
    found = [r for r in list_ladders("xeon16-lists", "rows") if r["rung"] in top]
    loops = {(g["problem"], g["input"]): g["inlined_s"] for g in list_ladders("xeon16-lists", "groups") if g["inlined_s"]}
    lines = []
    for two in [r for r in found if r["threads"] == 2]:
        key = (two["problem"], two["input"])
        (all_cores,) = [r for r in found if (r["problem"], r["input"]) == key and r["threads"] > 2]
        cells = [f"{number(r['median_s'] * MS)} ({number(1 / r['fraction_of_copy'])})" for r in (two, all_cores)]
        lines.append([*what_of_lists(two), *cells, number(loops[key] * MS) if key in loops else "–"])
    return table(["", "lists", "two threads, ms", "16 cores, ms", "the loop, ms"], lines)


def gpu_lists():
    """Microseconds of the API's rung, in brackets the fraction of a copy's rate, and microseconds of other rungs."""
    top = {"cuda.pipeline", "cuda.tiles", "cuda.ranks"}
    found = list_ladders("h200-lists", "rows")
    lines = []
    for ours in [r for r in found if r["rung"] in top]:
        beside = {r["rung"]: r for r in found if all(r[k] == ours[k] for k in ("problem", "input", "type"))}
        cells = [number(beside[r]["median_s"] * US) if r in beside else "–" for r in ("cuda.thread_per_list", "cuda.cub")]
        mine = f"{number(ours['median_s'] * US)} ({fraction(ours['fraction_of_copy'])})"
        lines.append([*what_of_lists(ours), mine, *cells])
    return table(["", "lists", "the API, us", "a thread per list, us", "CUB, us"], lines)


def what_of_groups(found):
    """The cells that describe a row: its number of rows, its keys, its number of groups."""
    keys = found["input"].removeprefix("keys: ").split(",")[0]
    return [f"{power_or_number(found['n'])} rows, {keys} key{'' if keys == 'one' else 's'}", f"{found['groups']:,}"]


def power_or_number(n):
    exponent = n.bit_length() - 1
    return f"2^{exponent}" if n == 1 << exponent else f"10^{round(math.log10(n))}"


def gpu_groups():
    """Milliseconds of every rung; for the API's rung in brackets the fraction of a copy's rate."""
    found = list_ladders("h200-group", "rows")
    rungs = list(dict.fromkeys(r["rung"] for r in found))
    lines = []
    for top in [r for r in found if r["rung"] == "cuda.adaptive"]:
        beside = {r["rung"]: r for r in found if all(r[k] == top[k] for k in ("n", "input", "groups"))}
        cells = [number(beside[rung]["median_s"] * MS) for rung in rungs if rung != "cuda.adaptive"]
        lines.append([*what_of_groups(top), f"{number(top['median_s'] * MS)} ({fraction(top['fraction_of_copy'])})", *cells])
    return table(["", "groups", "`cuda.adaptive`", *(f"`{rung}`" for rung in rungs if rung != "cuda.adaptive")], lines)


def gpu_shards():
    """By GPUs: milliseconds of a call including the wait; in brackets the speedup over one GPU."""
    found = [json.loads(line) for line in (RESULTS / "h200x4-shards.jsonl").read_text().splitlines()]
    lines = []
    for problem, kind, size in dict.fromkeys((r["problem"], r["type"], r["elements_each"]) for r in found):
        by_gpus = {r["gpus"]: r for r in found if (r["problem"], r["type"], r["elements_each"]) == (problem, kind, size)}
        cells = [f"{number(r['seconds'] * MS)} ({r['times_one_gpu']:.2f})" for gpus, r in sorted(by_gpus.items()) if gpus > 1]
        lines.append([problem, kind, f"2^{int(math.log2(size))}", number(by_gpus[1]["one_gpu_s"] * MS), *cells])
    return table(["", "", "elements or rows of each", "one GPU, ms", "2 GPUs", "4 GPUs"], lines)


def cpu_group_cores():
    """Milliseconds by threads, in brackets the fraction of a copy's rate."""
    found = list_ladders("xeon16-group", "rows")
    lines = []
    for rung, groups in dict.fromkeys((r["rung"], r["groups"]) for r in found if r["status"] == "verified"):
        by_threads = {r["threads"]: r for r in found if (r["rung"], r["groups"]) == (rung, groups)}
        cells = [ms_of_copy(by_threads[t]) if t in by_threads else "–" for t in (1, 4, 16)]
        lines.append([f"`{rung}`", f"{groups:,}", *cells])
    return table(["", "groups", "1 thread", "4", "16"], lines)


def cpu_seconds(rung, type_name):
    (found,) = [r for r in on_two_cores("epyc-scan", type=type_name) if r["rung"] == rung]
    return found["median_s"]


def cpu_scan_gain():
    return span([cpu_seconds("cpu.std_par", t) / cpu_seconds("cpu.lookahead", t) for t in TYPES], lambda x: f"{x:.1f}")


def cpu_scaling(machine, more=None):
    """A line per number of threads: milliseconds, and fractions of the rate of a copy on the same number of threads."""
    wanted = {f"scan, {t}": (f"{machine}-scan", "cpu.lookahead", t) for t in TYPES}
    wanted |= {f"offsets, {t}": (f"{machine}-ragged", "cpu.lookahead", t) for t in ("int32", "int64")} | (more or {})
    columns = [rows(name, rung=rung, type=t, input=None) for name, rung, t in wanted.values()]
    checked = [number(r["checked_s"] * MS) for r in columns[0]]
    lines = [
        [str(found[0]["threads"]), ms_of_copy(found[0]), with_checks, *map(ms_of_copy, found[1:])]
        for with_checks, *found in zip(checked, *columns, strict=True)
    ]
    first, *others = wanted
    return table(["threads", first, "the same, checked", *others], lines)


def cpu_many():
    """Milliseconds by threads: the measurements of the ladders and query_bench, and below them the noted figures."""

    def ms(seconds):
        return [number(s * MS) for s in seconds]

    def timed(name, field="median_s", **wanted):
        return ms([r[field] for r in rows(name, **wanted)])

    read = [g["read_gbps"] for g in ladder("xeon32-reduce")["groups"] if g["type"] == "int32"]
    lines = [
        ["Reading 2 GB", *ms([2 / gbps for gbps in read])],
        ["Sum of 5·10^8 int32", *timed("xeon32-reduce", type="int32")],
        ["The same, checked for overflow", *timed("xeon32-reduce", "checked_s", type="int32")],
        ["Sum of 5·10^8 float64, 4 GB", *timed("xeon32-reduce", type="float64")],
        ["Filtered sum of 6·10^7 rows by `filtered_sum`, Z = 30", *timed("xeon32-aggregate-z30")],
        ["The same, Z = 5000", *timed("xeon32-aggregate-z5000")],
        ["The same, all rows", *timed("xeon32-aggregate-z10001")],
        *[[f"Query of 6·10^6 rows in memory: {QUERIES[query]}", *ms(query_seconds("xeon32-query", query))]
          for query in ("filtered sum, Z = 30", "filtered sum, Z = 10001", "TPC-H Q6", "TPC-H Q1")],
        ["All subset sums up to 10^9 of a thousand items", *timed("xeon32-subset-sum")],
        ["The same of even items, where nothing fills up", *timed("xeon32-subset-sum-even")],
        *[[item["what"], *item["value"]] for item in RECORDED["cpu_many"]["rows"]],
    ]
    return table(["", *RECORDED["cpu_many"]["columns"]], lines) + "\n\n" + origin("cpu_many")


def gpu_chunked():
    """Calls on arrays in host memory by the limit of the GPU's memory: GB/s of the input, and the possible GB/s."""
    found = [json.loads(line) for line in (RESULTS / "h200-chunked.jsonl").read_text().splitlines()]
    lines = []
    for r in (r for r in found if "problem" in r):
        limit = f"{r['device_bytes'] >> 20} MB" if r["device_bytes"] else "none"
        host = number(r["host_gbps"]) if r["host_gbps"] else ""
        rates = [number(r["gbps"]), number(r["link_gbps"]), host]
        lines.append([r["problem"], r["memory"], limit, *rates, fraction(r["of_limit"]), number(r["cpu_gbps"])])
    return table(["", "memory", "limit", "GB/s", "the link", "host's memory", "of the lesser", "the CPU"], lines)


def mpi_calls():
    """Calls by ranks: on empty shares in microseconds, on long shares in milliseconds."""
    found = [r for r in scaling_model.lines("xeon64-mpi") if not r["call"].startswith("merging") and r["n"] in (0, 2**26)]
    ranks = sorted({r["ranks"] for r in found})
    lines = []
    for call, n in dict.fromkeys((r["call"], r["n"]) for r in found):
        seconds = {r["ranks"]: r["least_s"] for r in found if (r["call"], r["n"]) == (call, n)}
        what = f"{call}, 2^{n.bit_length() - 1}, ms" if n else f"{call}, us" if call.startswith("MPI") else f"{call}, empty, us"
        lines.append([what, *(number(seconds[r] * (MS if n else US)) for r in ranks)])
    return table(["", *(f"{r} rank" + "s" * (r > 1) for r in ranks)], lines)


def off_by(fit, scale=MS):
    """The model's prediction of a measurement that it was not fitted to, the measurement, and the error."""
    said, found = fit.predict(fit.held.terms), fit.held.seconds
    return [number(said * scale), number(found * scale), f"{abs(fit.error) * 100:.0f} %{' ' + ('less' if fit.error < 0 else 'more') if round(fit.error, 2) else ''}"]


def scaling_gpus():
    lines = []
    for fit in scaling_model.gpu_fits():
        byte, hand_off, start = fit.seconds_of
        lines.append([fit.what, number(1e-12 / byte), number(hand_off * US), number(start * US), *off_by(fit)])
    return table(["", "each GPU, TB/s", "a hand-off, us", "a call, us", "4 GPUs, model: ms", "measured", "the model says"], lines)


def scaling_cores():
    farther = scaling_model.core_fits(held=64)
    lines = []
    for fit, far in zip(scaling_model.core_fits(), farther, strict=True):
        own, shared, _ = fit.seconds_of
        lines.append([fit.what, number(1e-9 / own), *off_by(fit), off_by(far)[2]])
    return table(["", "a core, GB/s", "16 threads, model: ms", "measured", "the model says", "of 64, from 1 to 32"], lines)


def scaling_rounds():
    lines = [[fit.what, number(fit.seconds_of[0] * US), *off_by(fit, US)] for fit in scaling_model.round_fits()]
    return table(["", "a collective, us", "a scan, model: us", "measured", "the model says"], lines)


def scaling_ranks():
    lines = [[fit.what, *off_by(fit)] for fit in scaling_model.rank_fits()]
    return table(["2^26 elements", "8 ranks, model: ms", "measured", "the model says"], lines)


def scaling_calls():
    lines = []
    for name, call in scaling_model.CALLS.items():
        parts = [scaling_model.call_seconds(call, scaling_model.ELEMENTS, ranks) for ranks in (1, 10**3, 10**5)]
        *few, last = parts
        lines.append([f"`{name}`", *(time(p.all) for p in few), *map(time, (last.all, *last)), f"{scaling_model.half_efficient(call, scaling_model.ELEMENTS):,}"])
    return table(["", "1 host", "10^3", "10^5", "of which work", "rounds", "carries", "half of it work up to"], lines)


def cpu_query(name="epyc2-query-peers", names=QUERIES):
    lines = []
    for query, words in names.items():
        memory, file = query_peers(query, "memory", name), query_peers(query, "Parquet", name)
        engines = ("upsweep", "duckdb", "polars")
        cells = [
            strong(number(found[engine]), found[engine] == min(found[e] for e in engines))
            for found in (memory, file)
            for engine in engines
        ]
        lines.append([words, *cells[:3], f"{memory['read'] / memory['upsweep']:.2f}", *cells[3:]])
    return table(["", "memory: upsweep", "DuckDB", "Polars", "of the read rate", "Parquet: upsweep", "DuckDB", "Polars"], lines)


def cpu_query_versions():
    peers = ladder("epyc2-query-peers")
    return f"DuckDB {peers['duckdb']} and Polars {peers['polars']}"


def cpu_subset_sum_peers():
    names = {"std::bitset": "`std::bitset`", "int": "Python's integers as bitmaps", "numpy": "NumPy, a byte per sum"}
    fills = ladder("xeon-subset-sum-peers")["fills_s"]
    lines = [
        [names.get(engine, f"`{engine}`"), time(filled(engine)), time(filled(engine, "dense")) if engine in fills["dense"] else ""]
        for engine in fills["small"]
    ]
    return table(["", "ten items, S = 25,000,000", "a thousand items, S = 10^9"], lines)


def cpu_subset_sum_solved():
    engines = {"upsweep": "upsweep", "lists": "lists of sums in NumPy", "cp_sat": "OR-tools' CP-SAT", "highs": "HiGHS"}
    limit = ladder("xeon-subset-sum-peers")["limit_s"]
    lines = []
    for n in (20, 30, 40, 50):
        cases = [case for case in ladder("xeon-subset-sum-peers")["solved"] if case["n"] == n]
        cells = []
        for engine in engines:
            tried = [case for case in cases if engine in case["samples"]]
            done = [statistics.median(c["samples"][engine]) for c in tried if "limit" not in c["answers"][engine]]
            missed = len(tried) - len(done)
            parts = [span(done, time)] if done else []
            if missed:
                parts.append(f"{missed} of {len(tried)} not in {limit:.0f} s")
            cells.append("; ".join(parts) or "–")
        lines.append([str(n), *cells])
    return table(["items", *engines.values()], lines)


# ---- measurements on a GPU


def by_type(name, n, **wanted):
    """A table of a ladder's rungs and types at a length: milliseconds, and fractions of the rate of a copy."""
    found = rows(name, n=n, **wanted)
    types = [type_name for type_name in TYPES if any(r["type"] == type_name for r in found)]
    api = api_rung(name, n=n, type=types[0], **wanted)
    lines = []
    for rung in dict.fromkeys(r["rung"] for r in found):
        at = {r["type"]: r for r in found if r["rung"] == rung}
        cells = [strong(ms_of_copy(at[t]), rung == api) if t in at else "" for t in types]
        lines.append([strong(f"`{rung}`", rung == api), *cells])
    return table(["rung", *types], lines)


def gpu_scan_sizes():
    lengths = sorted({r["n"] for r in ladder("h200-scan")["rows"]})
    lines = []
    for rung in ("cuda.cub", "cuda.lookahead"):
        found = [row("h200-scan", rung, type="int32", n=n) for n in lengths]
        lines.append([f"`{rung}`", *(f"{number(r['median_s'] * US)} ({number(r['graph_s'] * US)})" if r["graph_s"]
                                     else number(r["median_s"] * US) for r in found)])
    return table(["", *(f"2^{n.bit_length() - 1}" for n in lengths)], lines)


def lookahead_of_copy():
    found = [row("h200-scan", "cuda.lookahead", type=t, n=2**28)["fraction_of_copy"] for t in TYPES]
    return span(found, lambda x: f"{x * 100:.0f}") + " %"


def lookahead_over_cub():
    def seconds(rung, type_name):
        return row("h200-scan", rung, type=type_name, n=2**28)["median_s"]

    return span([seconds("cuda.cub", t) / seconds("cuda.lookahead", t) for t in TYPES], lambda x: f"{x:.1f}")


def gpu_filtered_sum():
    limits = {"30": "Z = 30", "5000": "Z = 5000", "10001": "all rows"}
    lines = []
    for first in rows("h200-aggregate-z30"):
        found = [row(f"h200-aggregate-z{limit}", first["rung"]) for limit in limits]
        api = first["rung"] == api_rung("h200-aggregate-z30", host_resident=False)
        lines.append([strong(f"`{first['rung']}`", api),
                      *(strong(f"{number(r['median_s'] * US)} ({fraction(r['fraction_of_read'])})", api) for r in found)])
    return table(["rung", *limits.values()], lines)


def gpu_transfer():
    ways = ("pageable", "pinned", "streams")
    lines = []
    for rung in ("cuda.select", "cuda.cub", "cuda.fused", "cuda.zero_copy"):
        found = [rows(f"h200-aggregate-{way}", rung=rung) for way in ways]
        lines.append([f"`{rung}`", *(number(r[0]["total_s"] * MS) if r else "" for r in found)])
    return table(["rung", *ways], lines)


def gpu_query_table():
    lines = []
    for query, name in QUERIES.items():
        ours, cupy = gpu_query(query), gpu_query(query, by="cupy")
        lines.append([name, number(ours["kernel_s"] * US), f"{ours['of_read']:.2f}", number(cupy["seconds"] * US)])
    return table(["", "upsweep", "of the read rate", "CuPy"], lines)


def gpu_query_call():
    found = [gpu_query(query) for query in QUERIES]
    return span([(line["seconds"] - line["kernel_s"]) * US for line in found], lambda x: f"{x:.0f}") + " us"


def gpu_subset_sum():
    ten, thousand = rows("h200-subset-sum", n=10), rows("h200-subset-sum", n=1000)
    even, sixty = rows("h200-subset-sum-even"), rows("h200-subset-sum", n=60)
    lines = []
    for rung in dict.fromkeys(r["rung"] for r in ten + thousand + even + sixty):
        cells = []
        for part in (ten, thousand, even, sixty):
            at = [r for r in part if r["rung"] == rung]
            cell = time(at[0]["median_s"]) if at else ""
            cells.append(cell + (f" ({time(at[0]['graph_s'])})" if at and part is ten and at[0]["graph_s"] else ""))
        lines.append([f"`{rung}`", *cells])
    return table(["rung", "ten items", "a thousand items", "a thousand even items", "60 items of 57 bits"], lines)


# ---- comparison with what the sources report


def published_filtered_sum():
    record = RECORDED["published_filtered_sum"]
    lines = []
    for line in record["rows"]:
        here = time(row("h200-aggregate-z30", line["rung"])["median_s"]) if line["rung"].startswith("cuda.") else ""
        lines.append([f"`{line['rung']}`", line["name"], f"{line['ms']:.1f} ms", here])
    return table(["rung", "there", f"its time: {record['machine']}", "one H200"], lines)


def published_subset_sum():
    record = RECORDED["published_subset_sum"]
    lines = []
    for line in record["rows"]:
        on_gpu = line["rung"].startswith("cuda.")
        here = time(row("h200-subset-sum", line["rung"], n=10)["median_s"] if on_gpu else filled(line["rung"]))
        lines.append([f"`{line['rung']}`", line["name"], f"{line['ms']:.1f} ms", here])
    return table(["rung", "there", f"its time: {record['machine']}", "one H200; `cpu.table` on two cores"], lines)


# ---- excerpts of these tables on the pages for tasks


def start_cuda():
    names = {"cuda.cub": ": `cub::DeviceScan`", "cuda.lookahead": ": `inclusive_scan` runs this one"}
    lines = []
    for rung in ("cuda.lookback", *names):
        found = row("h200-scan", rung, type="int32", n=2**28)
        lines.append([f"`{rung}`{names.get(rung, '')}", time(found["median_s"]), fraction(found["fraction_of_copy"])])
    return table(["rung", "time", "fraction of the copy rate"], lines)


def start_cuda_gpu():
    return RECORDED["machines"]["h200"].removeprefix("one ")


def graph_scans():
    """The time of a call by length, and its time in a graph."""
    found = {power: row("h200-scan", "cuda.lookahead", type="int32", n=2**power) for power in (10, 20)}
    calls = {power: (number(r["median_s"] * US), number(r["graph_s"] * US)) for power, r in found.items()}
    return f"{calls[10][0]} us per call, and {calls[10][1]} us per call in a graph. For 2^20 it is {calls[20][0]} and {calls[20][1]} us"


def how_to_shards():
    """The speedup over one GPU of calls on shards of these lengths."""
    calls = {
        ("reduce", "int32", 2**30): ["`reduce_async`", "2^30 int32"],
        ("segmented-reduce", "int32", 2**30): ["`segmented_reduce`, lists of 16", "2^30 int32"],
        ("grouped query", "int64", 2**27): ["grouped query", "2^27 rows"],
        ("scan", "int32", 2**30): ["`inclusive_scan`", "2^30 int32"],
        ("offsets", "int64", 2**26): ["`offsets`", "2^26 lists, int64"],
        ("scan", "int32", 2**22): ["`inclusive_scan`", "2^22 int32"],
    }
    found = [json.loads(line) for line in (RESULTS / "h200x4-shards.jsonl").read_text().splitlines()]
    at = {(r["problem"], r["type"], r["elements_each"], r["gpus"]): f"{r['times_one_gpu']:.2f}" for r in found}
    lines = [[*what, at[*call, 2], at[*call, 4]] for call, what in calls.items()]
    return table(["call", "elements on each GPU", "two GPUs", "four"], lines)


def how_to_mpi():
    ranks = (1, 2, 8, 32)
    calls = {("inclusive_scan", 0): "`inclusive_scan` of nothing, us"}
    calls |= {(name, 2**26): f"`{name}` of 2^26 int32, ms" for name in ("inclusive_scan", "reduce")}
    found = {(r["call"], r["n"], r["ranks"]): r["least_s"] for r in scaling_model.lines("xeon64-mpi")}
    lines = [
        [what, *(number(found[f"{name} of int32", n, r] * (MS if n else US)) for r in ranks)] for (name, n), what in calls.items()
    ]
    return table(["call", *(f"{r} rank{'s' * (r > 1)}" for r in ranks)], lines)


def how_to_larger():
    """Rates of files and of host arrays, on the CPU and through a GPU."""
    many = {item["what"]: item["value"][-1] for item in RECORDED["cpu_many"]["rows"]}
    spill = RECORDED["cpu_groups_larger"]
    chunked = [json.loads(line) for line in (RESULTS / "h200-chunked.jsonl").read_text().splitlines()]
    rates = {(r["problem"], r["memory"]): r for r in chunked if "problem" in r and not r["device_bytes"]}

    def gpu(problem, memory="pageable"):
        return f"{rates[problem, memory]['gbps']:.0f}"

    def cpu(problem):
        return f"its CPU {rates[problem, 'pageable']['cpu_gbps']:.0f}"

    two = RECORDED["machines"][spill["machine"]].partition(" (")[0]
    q6 = query_peers("TPC-H Q6", "Parquet", "epyc2-query-peers-sf10")["upsweep"]
    return table(["what", "machine", "rate"], [
        ["filtered sum of 2.4·10^7 rows of Arrow IPC, Z = 30", "32 cores of a Xeon", f"{many['The same, filtered sum']} ms"],
        ["the same rows as Parquet with Snappy", "the same", f"{many['The same file, filtered sum, Z = 30']} ms"],
        ["TPC-H Q6, 6·10^7 rows of Parquet", two, f"{number(q6)} ms"],
        ["GROUP BY of 10^9 rows into 10^8 groups, `--memory 4GB`", "the same, next to a compiler", spilled()],
        ["`reduce` of a host array on a GPU", "an H200, PCIe 5, 16 cores", f"{gpu('reduce')} GB/s; {cpu('reduce')} GB/s"],
        ["`scan` of a host array on that GPU", "the same", f"{gpu('scan')} GB/s, pinned {gpu('scan', 'pinned')}; {cpu('scan')}"],
        ["query of a host table on that GPU", "the same", f"{gpu('query')} GB/s; {cpu('query')}"],
    ])  # fmt: skip


def spilled():
    record = RECORDED["cpu_groups_larger"]
    return f"{record['seconds']} s; {record['spilled_gb']} GB in temporary files, {record['memory_gb']} GB of memory"


# ---- the README's


def headline():
    grouped = RECORDED["gpu_group_peers"]["rows"]

    def h200(name, what, rung, others, **wanted):
        ours = row(name, rung, **wanted)
        beside = [f"{label} {time(row(name, other, **wanted)['median_s'])}" for other, label in others.items()]
        return [what, f"{time(ours['median_s'])}, {ours['fraction_of_copy'] * 100:.0f} % of the rate of a copy", ", ".join(beside)]

    def query(query, where):
        found = query_peers(query, where)
        times = [time(found[engine] / MS) for engine in ("upsweep", "duckdb", "polars")]
        place = "columns in memory" if where == "memory" else f"from {where}"
        return [f"{query}, {place}; two cores", times[0], f"DuckDB {times[1]}, Polars {times[2]}"]

    def sums_of_lists():
        at = {r["rung"]: time(r["median_s"]) for r in list_ladders("xeon16-lists", "rows")
              if r["problem"] == "segmented-reduce" and r["input"] == "lists: poisson" and r["threads"] == 16}
        what = "Sums of 10^7 lists of Poisson(3) float64; 16 cores"
        return [what, at["cpu.columns"], f"a loop over lists on oneTBB {at['cpu.tbb']}"]  # fmt: skip

    def recorded(table, what):
        (value,) = [r["value"] for r in RECORDED[table]["rows"] if r["what"].startswith(what)]
        return value

    analysis = recorded("python_fused", "6: ")
    gpu = [("cuda.cub", "CUB"), ("cuda.thrust", "Thrust")]
    return table(["", "upsweep", "instead"], [
        h200("h200-scan", "Running sum of 2^28 int32; H200", "cuda.lookahead", dict(gpu), type="int32", n=2**28),
        h200("h200-ragged", "Offsets of 10^8 lists, validated; H200", "cuda.lookahead", dict(gpu), type="int64", n=10**8, input=None),
        ["Running sum of 10^8 int32; two cores", time(cpu_seconds("cpu.lookahead", "int32")),
         f"`std::inclusive_scan` on oneTBB {time(cpu_seconds('cpu.std_par', 'int32'))}"],
        sums_of_lists(),
        query("TPC-H Q1", "memory"),
        query("TPC-H Q6", "Parquet"),
        ["All subset sums up to 25,000,000 of ten items, by `cpu.bits_simd`; two cores", time(filled("cpu.bits_simd")),
         f"`std::bitset` {time(filled('std::bitset'))}, NumPy {time(filled('numpy'))}"],
        ["10^8 rows into 100 groups, into 10^5; H100", f"{grouped[0]['value'][0]} ms, {grouped[1]['value'][0]} ms", f"cuDF {grouped[0]['value'][1]} ms, {grouped[1]['value'][1]} ms; PyTorch {grouped[0]['value'][3]} ms, {grouped[1]['value'][3]} ms"],
        ["A whole analysis by Awkward Array (ADL query 6, 10^6 events), fused; two cores", f"{analysis[2]} ms", f"without upsweep {analysis[0]} ms"],
    ])  # fmt: skip


# Tables of noted figures, and the functions that make other tables.
TABLES = {name: (lambda name=name: noted(name)) for name, record in RECORDED.items()
          if isinstance(record, dict) and any("what" in line for line in record.get("rows", []))} | {
    "headline": headline,
    "cpu_scan": lambda: cpu_ladder("epyc-scan", TYPES, "cpu.lookahead"),
    "cpu_scan_gain": cpu_scan_gain,
    "cpu_offsets": lambda: cpu_ladder("epyc-ragged", ("int32", "int64"), "cpu.lookahead", input=None),
    "cpu_offsets_adjacent": lambda: cpu_ladder("epyc-ragged", ("int32", "int64"), "cpu.adjacent", input="adjacent lists"),
    "cpu_scaling": lambda: cpu_scaling("xeon32", {"`cpu.chained`, int32": ("xeon32-chained", "cpu.chained", "int32")}),
    "cpu_scaling_epyc": lambda: cpu_scaling("epyc"),
    "cpu_many": cpu_many,
    "cpu_lists": cpu_lists,
    "gpu_lists": gpu_lists,
    "gpu_groups": gpu_groups,
    "gpu_shards": gpu_shards,
    "gpu_chunked": gpu_chunked,
    "cpu_group_cores": cpu_group_cores,
    "mpi_calls": mpi_calls,
    "scaling_gpus": scaling_gpus,
    "scaling_cores": scaling_cores,
    "scaling_rounds": scaling_rounds,
    "scaling_ranks": scaling_ranks,
    "scaling_calls": scaling_calls,
    "cpu_query": cpu_query,
    "cpu_query_sf10": lambda: cpu_query("epyc2-query-peers-sf10", {query: query for query in QUERIES}),
    "cpu_query_versions": cpu_query_versions,
    "cpu_subset_sum_peers": cpu_subset_sum_peers,
    "cpu_subset_sum_solved": cpu_subset_sum_solved,
    "gpu_scan": lambda: by_type("h200-scan", 2**28),
    "gpu_scan_sizes": gpu_scan_sizes,
    "lookahead_of_copy": lookahead_of_copy,
    "lookahead_over_cub": lookahead_over_cub,
    "gpu_offsets": lambda: by_type("h200-ragged", 10**8, input=None),
    "gpu_offsets_adjacent": lambda: by_type("h200-ragged", 10**8, input="adjacent lists"),
    "gpu_reduce": lambda: by_type("h200-reduce", 2**28),
    "gpu_filtered_sum": gpu_filtered_sum,
    "gpu_transfer": gpu_transfer,
    "gpu_query": gpu_query_table,
    "gpu_query_call": gpu_query_call,
    "gpu_subset_sum": gpu_subset_sum,
    "start_cuda": start_cuda,
    "start_cuda_gpu": start_cuda_gpu,
    "graph_scans": graph_scans,
    "how_to_shards": how_to_shards,
    "how_to_mpi": how_to_mpi,
    "how_to_larger": how_to_larger,
    "cpu_groups_larger": spilled,
    "published_filtered_sum": published_filtered_sum,
    "published_subset_sum": published_subset_sum,
}  # fmt: skip

# ---- the chart of rungs: title, file, type, length, input of each panel

PANELS = [
    ("Running sums of 2^28 int32", "h200-scan", "int32", 2**28, None),
    ("Running sums of 2^28 float64", "h200-scan", "float64", 2**28, None),
    ("Offsets of 10^8 lists with int64 bounds, validated", "h200-ragged", "int64", 10**8, None),
    ("Sum of 2^28 float32", "h200-reduce", "float32", 2**28, None),
]
# Columns of the chart in pixels: the ends of labels, the beginnings of bars, the end of a copy's bar, the ends of times
# and fractions.
WIDTH, LABEL, BAR, COPY, TIME, FRACTION = 820, 208, 218, 598, 730, 796
ROW = 19
# Text has a contrast of at least 4.5:1 with the background, which is part of the chart.
STYLE = """
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #424a53 }
  .end { text-anchor: end }
  .title, .chosen { font-weight: 600; fill: #1f2328 }
  .page { fill: #ffffff }
  .step { fill: #8c959f } .library { fill: #bf8700 } .api { fill: #1a7f37 }
  .copy { stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #b1bac4 }
    .title, .chosen { fill: #f0f6fc }
    .page { fill: #0d1117 }
    .step { fill: #6e7681 } .library { fill: #d29922 } .api { fill: #3fb950 }
    .copy { stroke: #f0f6fc }
  }
"""


def text(x, y, words, kind="label"):
    return f'<text class="{kind}" x="{x}" y="{y}">{words}</text>'


def legend(y):
    parts, x = [], 24
    kinds = (("api", "upsweep: what the API runs", 226), ("library", "Thrust and CUB", 140), ("step", "other rungs", 118))
    for kind, words, width in kinds:
        parts += [f'<rect class="{kind}" x="{x}" y="{y - 10}" width="12" height="12" rx="2"/>', text(x + 18, y, words)]
        x += width
    parts.append(f'<line class="copy" x1="{x + 5}" x2="{x + 5}" y1="{y - 12}" y2="{y + 4}"/>')
    return [*parts, text(x + 14, y, "the rate of a copy: cudaMemcpyAsync")]


def panel(title, name, type_name, n, source, y):
    """The panel's SVG, and the y coordinate of its end."""
    found = rows(name, type=type_name, n=n, input=source)
    api = api_rung(name, type=type_name, n=n, input=source)
    parts = [text(24, y, title, "title"), text(TIME, y, "ms", "end"), text(FRACTION, y, "of copy", "end")]
    top = y = y + 8
    for one in found:
        kind = "api" if one["rung"] == api else one["kind"]
        of_copy = one["fraction_of_copy"]
        mark = "end chosen" if kind == "api" else "end"
        parts += [
            text(LABEL, y + 14, one["rung"], mark),
            f'<rect class="{kind}" x="{BAR}" y="{y + 3}" width="{of_copy * (COPY - BAR):.1f}" height="{ROW - 6}" rx="2"/>',
            text(TIME, y + 14, f"{one['median_s'] * MS:.3f}", mark),
            text(FRACTION, y + 14, f"{of_copy:.2f}", mark),
        ]
        y += ROW
    return [*parts, f'<line class="copy" x1="{COPY}" x2="{COPY}" y1="{top}" y2="{y + 2}"/>'], y


def picture(width, height, label, parts, style=""):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{label}">'
    )
    page = f'<rect class="page" width="{width}" height="{height}" rx="6"/>'
    return "\n".join([head, f"<style>{STYLE}{style}</style>", page, *parts, "</svg>"]) + "\n"


def chart():
    parts, y = legend(30), 30
    for title, *which in PANELS:
        body, y = panel(title, *which, y + 38)
        parts += body
    return picture(WIDTH, y + 22, "Rungs on one NVIDIA H200: times, and fractions of the rate of a copy", parts)


# ---- the chart of ranks: seconds by ranks, both in powers of ten

PLOT_WIDTH, PLOT_HEIGHT, PLOT_TOP = 270, 250, 52
RANKS = [10**k for k in range(6)]
SUPERSCRIPTS = "\N{SUPERSCRIPT ZERO}\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}\N{SUPERSCRIPT THREE}\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT FIVE}"
LINES = """
  .middle { text-anchor: middle }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .line { fill: none; stroke-width: 2 } .dashed { stroke-dasharray: 5 4 }
  .line.api { stroke: #1a7f37; fill: none } .line.library { stroke: #bf8700; fill: none } .line.step { stroke: #6e7781; fill: none }
  @media (prefers-color-scheme: dark) {
    .grid { stroke: #30363d }
    .line.api { stroke: #3fb950 } .line.library { stroke: #d29922 } .line.step { stroke: #8b949e }
  }
"""


def power_of_ten(exponent):
    """The label for 10^exponent seconds."""
    unit, name = next((unit, name) for unit, name in ((0, "s"), (-3, "ms"), (-6, "us")) if exponent >= unit)
    return f"{10 ** (exponent - unit)} {name}"


def plot(title, what, left, least, most, curves):
    """Curves by ranks, from 10^least to 10^most seconds. Each has a name, the name's offset above its end, looks, and points."""

    def at(ranks, seconds):
        x = left + math.log10(ranks) / 5 * PLOT_WIDTH
        y = PLOT_TOP + (most - math.log10(seconds)) / (most - least) * PLOT_HEIGHT
        return x, y

    parts = [text(left, 30, title, "title")]
    for k in range(least, most + 1):
        x, y = at(1, 10**k)
        parts += [f'<line class="grid" x1="{x}" x2="{x + PLOT_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>']
        parts.append(text(x - 6, f"{y + 4:.1f}", power_of_ten(k), "end"))
    for k, ranks in enumerate(RANKS):
        x, y = at(ranks, 10**least)
        parts.append(text(f"{x:.1f}", y + 18, f"1 {what}" if k == 0 else f"10{SUPERSCRIPTS[k]}", "middle"))
    for name, above, looks, points in curves:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points if 10**least <= point[1]))
        x, y = at(*points[-1])
        parts += [f'<polyline class="line {looks}" points="{path}"/>', text(f"{x + 6:.1f}", f"{y + 4 - above:.1f}", name)]
    return parts


def scaling_chart():
    call = scaling_model.CALLS["inclusive_scan"]
    many = [round(10 ** (k / 8)) for k in range(41)]
    parts = {ranks: scaling_model.call_seconds(call, scaling_model.ELEMENTS, ranks) for ranks in many}

    def of(part):
        return [(ranks, getattr(parts[ranks], part)) for ranks in many if getattr(parts[ranks], part) > 0]

    scan = [
        ("the call", 12, "api", of("all")),
        ("work", 0, "step dashed", of("work")),
        ("carries", -6, "library", of("carries")),
        ("rounds", 0, "step", of("rounds")),
    ]
    late = [
        (name, above, looks, [(ranks, late_ranks.simulated(schedule, ranks, odds)) for ranks in RANKS])
        for name, above, looks, schedule, odds in (
            ("chain", 6, "library", late_ranks.chain, late_ranks.HELD_UP_ODDS),
            ("none late", -7, "library dashed", late_ranks.chain, 0),
            ("tree", 0, "api", late_ranks.tree, late_ranks.HELD_UP_ODDS),
            ("none late", 0, "api dashed", late_ranks.tree, 0),
        )
    ]
    drawn = plot("A scan of 2\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT ZERO} int32 on hosts", "host", 70, -6, 2, scan)
    drawn += plot("Carries over ranks, some of them late", "rank", 490, -3, 0, late)
    return picture(850, PLOT_TOP + PLOT_HEIGHT + 34, "Seconds of a scan by hosts, and of carries over a chain and a tree of ranks", drawn, LINES)


# ---- into the files

MARK = re.compile(r"(<!-- figures:begin (\w+) -->)(.*?)(<!-- figures:end -->)", re.DOTALL)


def filled_in(page, shown):
    def fill(match):
        begin, name, old, end = match.groups()
        if name not in TABLES:
            sys.exit(f"figures: {page}: there is no table '{name}' in tools/figures.py")
        if not old.startswith("\n") and written[: match.start()].endswith("\n"):
            sys.exit(f"figures: {page}: '{name}' begins a line: Markdown would end the sentence there; begin it with a word")
        shown.add(name)
        new = TABLES[name]()
        return begin + (f"\n{new}\n" if old.startswith("\n") else new) + end

    written = (ROOT / page).read_text()
    return MARK.sub(fill, written)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: figures.py [--check]")
    shown = set()
    made = {page: filled_in(page, shown) for page in PAGES} | {CHART: chart(), SCALING_CHART: scaling_chart()}
    if hidden := sorted(TABLES.keys() - shown):
        sys.exit(f"figures: no page shows {', '.join(hidden)}")
    stale = [path for path, content in made.items() if (ROOT / path).read_text() != content]
    if sys.argv[1:] == ["--check"]:
        if stale:
            sys.exit(f"figures: {', '.join(stale)}: not what tools/figures.py makes of bench/results/; run it")
        return
    for path in stale:
        (ROOT / path).write_text(made[path])


if __name__ == "__main__":
    main()
