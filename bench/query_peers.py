# SPDX-License-Identifier: Apache-2.0
# bench/query_peers.py: times upsweep, DuckDB and Polars on one lineitem table, in memory and from Parquet, verified.
"""Runs the engines in turn. Prints a table of median milliseconds and ratios, and writes every figure as JSON with --output. In memory,
query_bench times upsweep. From Parquet, its Python package is timed in this process, like the others.

Needs upsweep, duckdb and polars (pip install polars); the table is the tour's: build/tour/lineitem.parquet.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

COLUMNS = "l_suppkey, l_quantity, l_extendedprice, l_discount, l_tax, l_shipdate, l_returnflag, l_linestatus"
FILTERED = "SELECT SUM(l_quantity * l_extendedprice) FROM {t} WHERE l_suppkey < %d"
Q6 = """SELECT SUM(l_extendedprice * l_discount) FROM {t} WHERE l_shipdate >= date '1994-01-01' AND
 l_shipdate < date '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""
Q1 = """SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS a, SUM(l_extendedprice) AS b,
 SUM(l_extendedprice * (1 - l_discount)) AS c, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS d,
 AVG(l_quantity) AS e, AVG(l_extendedprice) AS f, AVG(l_discount) AS g, COUNT(*) AS n
 FROM {t} WHERE l_shipdate <= date '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"""
QUERIES = {f"filtered sum, Z = {z}": FILTERED % z for z in (30, 5_000, 10_001)} | {"TPC-H Q6": Q6, "TPC-H Q1": Q1}


def timed(run):
    begin = time.perf_counter()
    result = run()
    return time.perf_counter() - begin, result


def polars_queries(pl, frame):
    """Returns the queries as lazy expressions, as Polars users write them; they are the same for frames and scanned files."""
    import datetime as dt

    day = pl.col("l_shipdate")
    price, discount = pl.col("l_extendedprice"), pl.col("l_discount")
    all_queries = {
        f"filtered sum, Z = {z}": frame.filter(pl.col("l_suppkey") < z).select((pl.col("l_quantity") * price).sum())
        for z in (30, 5_000, 10_001)
    }
    all_queries["TPC-H Q6"] = frame.filter(
        (day >= dt.date(1994, 1, 1))
        & (day < dt.date(1995, 1, 1))
        & (pl.col("l_quantity") < 24)
        & (discount >= pl.lit("0.05").str.to_decimal(scale=2))
        & (discount <= pl.lit("0.07").str.to_decimal(scale=2))
    ).select((price * discount).sum())
    all_queries["TPC-H Q1"] = (
        frame.filter(day <= dt.date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            pl.col("l_quantity").sum(),
            price.sum().alias("a"),
            (price * (1 - discount)).sum().alias("b"),
            (price * (1 - discount) * (1 + pl.col("l_tax"))).sum().alias("c"),
            pl.col("l_quantity").mean().alias("d"),
            price.mean().alias("e"),
            discount.mean().alias("f"),
            pl.len().alias("n"),
        )
        .sort("l_returnflag", "l_linestatus")
    )
    return all_queries


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--input", default="build/tour/lineitem.parquet")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--output", type=pathlib.Path)
    options = arguments.parse_args()
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)
    import duckdb
    import polars as pl
    import upsweep

    duck = duckdb.connect()
    duck.execute(f"SET threads = {options.threads}")
    duck.execute(f"CREATE TABLE lineitem AS SELECT {COLUMNS} FROM '{options.input}'")
    names = COLUMNS.split(", ")
    polars = {
        "memory": polars_queries(pl, pl.read_parquet(options.input, columns=names).lazy()),
        "Parquet": polars_queries(pl, pl.scan_parquet(options.input)),
    }
    tables = {"memory": "lineitem", "Parquet": f"'{options.input}'"}
    samples = {}

    def note(query, where, engine, seconds):
        samples.setdefault((query, where), {}).setdefault(engine, []).append(seconds)

    for turn in range(options.rounds + 1):
        bench = subprocess.run(
            [
                f"{options.build}/bin/query_bench",
                "--input",
                options.input,
                "--threads",
                str(options.threads),
                "--seconds",
                "0.1",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        for line in bench.stdout.splitlines():
            row = json.loads(line)
            if turn > 0 and row["query"] in QUERIES:
                note(row["query"], "memory", "upsweep", row["seconds"])
                note(row["query"], "memory", "read", row["read_s"])
        for query, sql in QUERIES.items():
            for where, table in tables.items():
                took, expected = timed(lambda: duck.execute(sql.format(t=table)).fetchall())
                took_polars, _ = timed(lambda: polars[where][query].collect())
                if turn > 0:
                    note(query, where, "duckdb", took)
                    note(query, where, "polars", took_polars)
            with upsweep.options(threads=options.threads):
                took_ours, answer = timed(lambda: upsweep.query(sql.format(t=tables["Parquet"])))
            found = [[str(cell) for cell in row] for row in zip(*answer.to_dict().values(), strict=True)]
            wanted = [[str(cell) for cell in row] for row in expected]
            assert all(
                a == b or abs(float(a) / float(b) - 1) < 1e-12
                for x, y in zip(found, wanted, strict=True)
                for a, b in zip(x, y, strict=True)
            ), (query, found, wanted)
            if turn > 0:
                note(query, "Parquet", "upsweep", took_ours)

    print(f"{options.threads} threads, median of {options.rounds}, ms; DuckDB {duckdb.__version__}, Polars {pl.__version__}")
    print(f"{'':22}{'from':8}{'upsweep':>9}{'DuckDB':>9}{'Polars':>9}   DuckDB/  Polars/")
    rows = []
    for (query, where), engines in samples.items():
        ms = {engine: statistics.median(times) * 1e3 for engine, times in engines.items()}
        rows.append({"query": query, "from": where, **ms})
        print(
            f"{query:22}{where:8}{ms['upsweep']:9.2f}{ms['duckdb']:9.2f}{ms['polars']:9.2f}{ms['duckdb'] / ms['upsweep']:10.2f}{ms['polars'] / ms['upsweep']:9.2f}"
        )
    if options.output:
        options.output.write_text(
            json.dumps(
                {"threads": options.threads, "duckdb": duckdb.__version__, "polars": pl.__version__, "milliseconds": rows},
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
