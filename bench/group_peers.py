# SPDX-License-Identifier: Apache-2.0
# bench/group_peers.py: times GROUP BY with a few to millions of groups from Parquet by upsweep and DuckDB, verified.
"""Runs both in turn. Prints a table of median milliseconds. Both return the whole answer as an Arrow table, in one process.

Needs upsweep, duckdb and pyarrow, and a folder with lineitem.parquet and orders.parquet: `tpchgen-cli parquet -s 1
--tables=lineitem,orders`.
"""

import argparse
import pathlib
import statistics
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
    arguments.add_argument("folder", type=pathlib.Path, help="read the Parquet files in this folder")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    import duckdb
    import pyarrow as pa
    import upsweep

    duck = duckdb.connect(config={"threads": options.threads})

    def ours(sql):
        with upsweep.options(threads=options.threads):
            return pa.table(upsweep.query(sql))

    def theirs(sql):
        return duck.sql(sql).to_arrow_table()

    def require_same(sql, keys):
        """Compares the largest sums, with the first keys of equal sums."""
        first = f"{sql} ORDER BY s DESC, {keys} LIMIT 20"
        found, wanted = ([[str(cell) for cell in row.values()] for row in ask(first).to_pylist()] for ask in (ours, theirs))
        assert found == wanted, (sql, found, wanted)

    print(f"{options.threads} threads, medians of {options.rounds}, ms; DuckDB {duckdb.__version__}")
    print(f"{'GROUP BY':24}{'groups':>12}{'upsweep':>10}{'DuckDB':>10}")
    for name, (table, keys, aggregate) in QUERIES.items():
        sql = f"SELECT {keys}, {aggregate} AS s FROM '{options.folder / table}.parquet' GROUP BY {keys}"
        require_same(sql, keys)
        samples = {ours: [], theirs: []}
        for turn in range(options.rounds + 1):  # the first turn warms the caches
            for ask, seconds in samples.items():
                begin = time.perf_counter()
                answer = ask(sql)
                if turn > 0:
                    seconds.append(time.perf_counter() - begin)
                groups = len(answer)
                del answer
        mine, other = (statistics.median(seconds) * 1e3 for seconds in samples.values())
        print(f"{name:24}{groups:>12,}{mine:10.1f}{other:10.1f}", flush=True)


if __name__ == "__main__":
    main()
