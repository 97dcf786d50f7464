# SPDX-License-Identifier: Apache-2.0
# bench/group_peers.py: GROUP BY of a handful to millions of groups from Parquet, the command beside DuckDB in turn, verified.
"""Prints a table of median milliseconds.

Needs duckdb, and a folder with lineitem.parquet and orders.parquet: `tpchgen-cli parquet -s 1 --tables=lineitem,orders`.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

QUERIES = {
    "l_shipmode": ("lineitem", "l_shipmode", "SUM(l_quantity)"),
    "l_shipdate": ("lineitem", "l_shipdate", "SUM(l_quantity)"),
    "o_custkey": ("orders", "o_custkey", "SUM(o_totalprice)"),
    "l_partkey": ("lineitem", "l_partkey", "SUM(l_quantity)"),
    "l_partkey, l_suppkey": ("lineitem", "l_partkey, l_suppkey", "SUM(l_quantity)"),
    "l_orderkey": ("lineitem", "l_orderkey", "SUM(l_quantity)"),
    "l_comment": ("lineitem", "l_comment", "COUNT(*)"),
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=pathlib.Path, help="where the Parquet files are")
    arguments.add_argument("--command", default="build/bin/upsweep")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    import duckdb

    duck = duckdb.connect(config={"threads": options.threads})

    def ask(sql):
        command = [options.command, "query", sql, "--json", "--quiet", "--threads", str(options.threads)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def require_same(sql, keys):
        """The largest sums, and of these the first keys."""
        first = f"{sql} ORDER BY s DESC, {keys} LIMIT 20"
        found = [[str(cell) for cell in row] for row in ask(first)["rows"]]
        wanted = [[str(cell) for cell in row] for row in duck.execute(first).fetchall()]
        assert found == wanted, (sql, found, wanted)

    print(f"{options.threads} threads, medians of {options.rounds}, ms; DuckDB {duckdb.__version__}")
    print(f"{'GROUP BY':24}{'groups':>12}{'upsweep':>10}{'DuckDB':>10}")
    for name, (table, keys, aggregate) in QUERIES.items():
        sql = f"SELECT {keys}, {aggregate} AS s FROM '{options.folder / table}.parquet' GROUP BY {keys}"
        require_same(sql, keys)
        ours, theirs = [], []
        for turn in range(options.rounds + 1):  # the first warms caches
            seconds = ask(f"{sql} LIMIT 1")["seconds"]
            begin = time.perf_counter()
            ((groups, _),) = duck.execute(f"SELECT COUNT(*), SUM(s) FROM ({sql})").fetchall()  # nothing but a row leaves either
            took = time.perf_counter() - begin
            if turn > 0:
                ours.append(seconds)
                theirs.append(took)
        print(f"{name:24}{groups:>12,}{statistics.median(ours) * 1e3:10.1f}{statistics.median(theirs) * 1e3:10.1f}", flush=True)


if __name__ == "__main__":
    main()
