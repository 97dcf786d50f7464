# SPDX-License-Identifier: Apache-2.0
# bench/csv_peers.py: times upsweep, DuckDB and Polars on one table, written as CSV in several dialects, verified.
"""Runs the engines in turn. Prints a table of median milliseconds and ratios, and writes every figure as JSON with --output.

Needs upsweep, duckdb and polars (pip install polars). upsweep determines how each file is written. Options tell the other
engines delimiters, decimal commas, forms of dates and encodings.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import tempfile

import interleaved

SUMS = "SUM(id) AS a, SUM(price) AS b, SUM(share) AS c"
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days) for days in range(1000)]


class Dialect:
    """How a table is written, and the options that tell it to other engines."""

    def __init__(self, query=SUMS, delimiter=",", decimal=".", day="%Y-%m-%d", word="item {}", encoding="utf-8", **others):
        self.query, self.delimiter, self.decimal, self.day = query, delimiter, decimal, day
        self.word, self.encoding, self.others = word, encoding, others

    def write(self, path, rows):
        rng = random.Random(1)
        days = [day.strftime(self.day) for day in DAYS]
        with open(path, "w", encoding=self.encoding, newline="") as file:
            file.write(self.delimiter.join(["id", "price", "share", "day", "time", "name"]) + "\n")
            for row in range(rows):
                price = f"{rng.randrange(10**6) / 100:.2f}".replace(".", self.decimal)
                share = f"{rng.random():.6f}".replace(".", self.decimal)
                day = rng.randrange(len(days))
                clock = f"{DAYS[day]} {rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
                cells = [str(row), price, share, days[day], clock, self.word.format(row % 1000)]
                file.write(self.delimiter.join(cells) + "\n")


DIALECTS = {
    "commas": Dialect(),
    "tabs": Dialect(delimiter="\t"),
    "semicolons, decimal comma": Dialect(delimiter=";", decimal=",", duckdb={"decimal_separator": ","}),
    "a day, written 2021-12-31": Dialect("MAX(day) AS a"),
    "a day, written 31.12.2021": Dialect("MAX(day) AS a", day="%d.%m.%Y", duckdb={"dateformat": "%d.%m.%Y"}),
    "a timestamp": Dialect("MAX(time) AS a"),
    "text in quotes": Dialect("MAX(name) AS a, SUM(id) AS b", word='"an ""item"", or none {}"'),
    "Windows-1252": Dialect("MAX(name) AS a, SUM(id) AS b", word="café {}", encoding="latin-1", duckdb={"encoding": "latin-1"}),
    "rows of other lengths allowed": Dialect(upsweep={"ragged": "fill"}, duckdb={"null_padding": True}),
}


def duckdb_run(connection, path, dialect):
    options = {"delim": dialect.delimiter} | dialect.others.get("duckdb", {})
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    sql = f"SELECT {dialect.query} FROM read_csv('{path}'{given})"
    return lambda: list(connection.execute(sql).fetchone())


def upsweep_run(upsweep, path, dialect):
    options = dialect.others.get("upsweep", {})
    sql = f"SELECT {dialect.query} FROM '{path}'"
    return lambda: list(upsweep.query(sql, **options).rows()[0])


def polars_run(pl, path, dialect):
    """Returns None for dialects that Polars does not read."""
    if dialect.day != "%Y-%m-%d":
        return None
    options = {"separator": dialect.delimiter, "decimal_comma": dialect.decimal == ",", "try_parse_dates": True}
    if dialect.encoding != "utf-8":
        options["encoding"] = "utf8-lossy"
    if "upsweep" in dialect.others:
        options["truncate_ragged_lines"] = True
    frame = pl.scan_csv(path, **options)
    query = pl.SQLContext(t=frame)
    return lambda: list(query.execute(f"SELECT {dialect.query} FROM t", eager=True).row(0))


def equal(one, other, encoding):
    """Whether answers are equal; sums of decimals are exact in one engine and floats in others."""
    for a, b in zip(one, other):
        if isinstance(a, str) and encoding != "utf-8":
            continue  # Polars replaces characters of other encodings
        if a != b and abs(float(a) - float(b)) > 1e-9 * abs(float(a)):
            return False
    return True


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=3_500_000)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", help="part of the name of a dialect")
    arguments.add_argument("--output", type=pathlib.Path)
    options = arguments.parse_args()
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)
    import duckdb
    import polars as pl
    import upsweep

    connection = duckdb.connect()
    connection.execute(f"SET threads={options.threads}")
    found = []
    print(f"{'':30} {'MB':>5} {'upsweep':>8} {'DuckDB':>8} {'Polars':>8}  DuckDB/upsweep")
    for name, dialect in DIALECTS.items():
        if options.only and options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table.csv")
            dialect.write(path, options.rows)
            megabytes = os.path.getsize(path) / 1e6
            runs = {
                "upsweep": upsweep_run(upsweep, path, dialect),
                "DuckDB": duckdb_run(connection, path, dialect),
                "Polars": polars_run(pl, path, dialect),
            }
            runs = {engine: run for engine, run in runs.items() if run}
            contexts = [(lambda: upsweep.options(threads=options.threads), run) for run in runs.values()]
            timed = interleaved.medians(contexts, options.rounds)
        results = [result for _, result in timed]
        for engine, result in zip(runs, results):
            if not equal(results[0], result, dialect.encoding):
                raise SystemExit(f"{name}: upsweep answers {results[0]}, and {engine} {result}")
        wall = {engine: times.wall for engine, (times, _) in zip(runs, timed)}
        found.append({"dialect": name, "megabytes": megabytes, "threads": options.threads, "wall_ms": wall})
        shown = " ".join(f"{wall.get(engine, float('nan')):8.0f}" for engine in ("upsweep", "DuckDB", "Polars"))
        print(f"{name:30} {megabytes:5.0f} {shown}  {wall['DuckDB'] / wall['upsweep']:.2f}", flush=True)
    if options.output:
        options.output.write_text(json.dumps({"rows": options.rows, "figures": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
