# SPDX-License-Identifier: Apache-2.0
# bench/group_memory_peers.py: GROUP BY of columns in memory, 2 to 10^7 groups and the db-benchmark's questions, beside DuckDB and Polars.
"""Prints a table of median milliseconds; each engine has a table of its own kind, and all answers are compared.

The db-benchmark's table G1 is made by its recipe (https://github.com/duckdblabs/db-benchmark, _data/groupby-datagen.R): N rows, ids of K
values each or of N / K. Of its ten questions five can be asked here; the others are medians, ranks, regressions, or an expression
of aggregates. Needs upsweep, duckdb, polars, pyarrow and NumPy.
"""

import argparse
import json
import os
import pathlib
import statistics
import time

import numpy as np

GROUPS = (2, 100, 10_000, 100_000, 1_000_000, 10_000_000)
QUESTIONS = {
    "q1": ("id1", {"v1": "sum"}),
    "q2": ("id1, id2", {"v1": "sum"}),
    "q3": ("id3", {"v1": "sum", "v3": "avg"}),
    "q4": ("id4", {"v1": "avg", "v2": "avg", "v3": "avg"}),
    "q5": ("id6", {"v1": "sum", "v2": "sum", "v3": "sum"}),
    "q10": ("id1, id2, id3, id4, id5, id6", {"v3": "sum", "*": "count"}),
}
KINDS = ("integer", "pair", "decimal", "date", "text")


def text_of(numbers, digits):
    """"id" and so many digits of each number, by a dictionary and then as plain text."""
    import pyarrow as pa

    found, places = np.unique(numbers, return_inverse=True)
    words = pa.array([f"id{number:0{digits}}" for number in found])
    return pa.DictionaryArray.from_arrays(places.astype(np.int32), words).cast(pa.string())


def g1(rows, k, random):
    import pyarrow as pa

    def ids(most):
        return random.integers(1, most + 1, rows)

    many = rows // k
    return pa.table(
        {
            "id1": text_of(ids(k), 3), "id2": text_of(ids(k), 3), "id3": text_of(ids(many), 10),
            "id4": ids(k), "id5": ids(k), "id6": ids(many),
            "v1": random.integers(1, 6, rows), "v2": random.integers(1, 16, rows), "v3": np.round(random.uniform(0, 100, rows), 6),
        }
    )  # fmt: skip


def keyed(kind, rows, groups, random):
    """A table of values and of keys of so many groups, and the names of the keys."""
    import pyarrow as pa

    number = random.integers(0, groups, rows)
    values = {"v": random.integers(0, 100, rows)}
    if kind == "integer":
        return pa.table({"k": number * 1_000_003, **values}), "k"
    if kind == "pair":
        side = max(1, round(groups**0.5))
        return pa.table({"a": number // side * 977, "b": number % side * 31, **values}), "a, b"
    if kind == "decimal":
        return pa.table({"k": pa.array(number * 7).cast(pa.decimal128(19, 0)).cast(pa.decimal128(15, 2), safe=False), **values}), "k"
    if kind == "date":
        return pa.table({"k": pa.array(number.astype(np.int32)).cast(pa.date32()), **values}), "k"
    return pa.table({"k": text_of(number, 8), **values}), "k"


class Engines:
    def __init__(self, threads):
        import duckdb
        import polars
        import upsweep

        self.threads, self.upsweep, self.polars = threads, upsweep, polars
        self.duck = duckdb.connect(config={"threads": threads})

    def take(self, table):
        self.table = table
        given = table  # noqa: F841  DuckDB finds it by its name
        self.duck.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")
        self.frame = self.polars.from_arrow(table)

    def runs(self, keys, aggregates):
        """engine → a call that leaves an Arrow table."""
        sql = f"SELECT {keys}, {', '.join(f'{how}({column}) AS {how}_{number}' for number, (column, how) in enumerate(aggregates.items()))} FROM t GROUP BY {keys}"
        pl = self.polars
        how = {"sum": pl.Expr.sum, "avg": pl.Expr.mean}
        columns = [
            pl.len().alias(f"count_{i}") if column == "*" else how[name](pl.col(column)).alias(f"{name}_{i}")
            for i, (column, name) in enumerate(aggregates.items())
        ]

        def ours():
            with self.upsweep.options(threads=self.threads):
                return self.upsweep.query(sql, t=self.table)

        return {
            "upsweep": ours,
            "duckdb": lambda: self.duck.sql(sql).to_arrow_table(),
            "polars": lambda: self.frame.group_by(keys.split(", ")).agg(columns),
        }

    def as_columns(self, keys, result):
        """The answer's columns as NumPy arrays, in the order of the keys."""
        import pyarrow as pa

        if isinstance(result, self.polars.DataFrame):
            result = result.to_arrow(compat_level=self.polars.CompatLevel.oldest())  # else of types that Arrow does not sort
        table = pa.table(result)
        table = table.sort_by([(key, "ascending") for key in keys.split(", ")])
        # Days: pandas has none past the year 9999.
        columns = [column.cast(pa.int32()) if pa.types.is_date32(column.type) else column for column in table.columns]
        return [column.to_pandas().to_numpy() for column in columns]

    def require_same(self, keys, results):
        mine = self.as_columns(keys, results["upsweep"])
        for engine in ("duckdb", "polars"):
            others = self.as_columns(keys, results[engine])
            for number, (a, b) in enumerate(zip(mine, others, strict=True)):
                same = np.allclose(a.astype(float), b.astype(float), rtol=1e-9) if number >= len(keys.split(", ")) else (a == b).all()
                assert len(a) == len(b) and same, (keys, engine, number)

    def measure(self, keys, aggregates, rounds):
        """engine → median milliseconds, and how many groups there are."""
        runs = self.runs(keys, aggregates)
        results = {engine: run() for engine, run in runs.items()}
        self.require_same(keys, results)
        groups = len(results["polars"])
        del results
        samples = {engine: [] for engine in runs}
        for _ in range(rounds):
            for engine, run in runs.items():
                begin = time.perf_counter()
                result = run()
                samples[engine].append(time.perf_counter() - begin)
                del result
        return {"groups": groups, **{engine: statistics.median(times) * 1e3 for engine, times in samples.items()}}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--kinds", default=",".join(("g1", *KINDS)))
    arguments.add_argument("--groups", default=",".join(map(str, GROUPS)))
    arguments.add_argument("--output", type=pathlib.Path)
    options = arguments.parse_args()
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)
    engines = Engines(options.threads)
    rows = []

    def note(name, keys, aggregates):
        row = {"what": name, "rows": options.rows, "threads": options.threads, **engines.measure(keys, aggregates, options.rounds)}
        rows.append(row)
        print(
            f"{name:24}{row['groups']:>10}{row['upsweep']:10.1f}{row['duckdb']:10.1f}{row['polars']:10.1f}"
            f"{row['duckdb'] / row['upsweep']:9.2f}{row['polars'] / row['upsweep']:9.2f}",
            flush=True,
        )

    print(f"{options.rows} rows, {options.threads} threads, medians of {options.rounds}, ms")
    print(f"{'':24}{'groups':>10}{'upsweep':>10}{'DuckDB':>10}{'Polars':>10}  DuckDB/  Polars/")
    kinds = options.kinds.split(",")
    if "g1" in kinds:
        engines.take(g1(options.rows, 100, np.random.default_rng(108)))
        for name, (keys, aggregates) in QUESTIONS.items():
            note(f"{name} {keys[:18]}", keys, aggregates)
    for kind in (kind for kind in KINDS if kind in kinds):
        for groups in (int(groups) for groups in options.groups.split(",")):
            if groups > options.rows:
                continue
            table, keys = keyed(kind, options.rows, groups, np.random.default_rng(9))
            engines.take(table)
            note(f"{kind} {groups}", keys, {"v": "sum"})
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
