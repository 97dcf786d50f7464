# SPDX-License-Identifier: Apache-2.0
# tools/tour_check.py: compares the command's answer to a query with DuckDB's on the same file, or the tour's results
# on lists with NumPy's. It also compares the longest inputs with the last cache.
"""tour_check.py COMMAND SQL: exit status 1 if the answers differ. Without DuckDB nothing is compared.

tour_check.py lists DIR: compares totals_1995, dearest_1995 and dear_items_1995.parquet.

tour_check.py messy COMMAND DIR: compares sums and counts of bank.csv and trips.parquet with the values that were written.

tour_check.py lengths BYTES RESULTS.json ...: shows whether each problem's longest input is past a cache of BYTES."""

import json
import math
import subprocess
import sys


def equal(found, expected):
    """Compares exactly, as text, except floats: DuckDB divides rounded numbers for AVG."""
    if isinstance(expected, float):
        return math.isclose(float(found), expected, rel_tol=1e-12)
    return str(found) == str(expected)


def check_lists(folder):
    import numpy as np
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    def column(name):
        return pq.read_table(f"{folder}/{name}.parquet").column(0).combine_chunks()

    def cents(decimals):  # the lower half of 128 bits: prices are short
        return np.frombuffer(decimals.buffers()[1], dtype=np.int64)[::2][: len(decimals)]

    prices = column("prices_1995")
    starts, values = np.asarray(prices.offsets)[:-1], cents(prices.values)  # no order is empty
    kept = column("dear_items_1995")
    dear = values > 5_000_000
    same = (
        np.array_equal(cents(column("totals_1995")), np.add.reduceat(values, starts))
        and np.array_equal(cents(column("dearest_1995")), np.maximum.reduceat(values, starts))
        and np.array_equal(cents(kept.values), values[dear])
        and np.array_equal(pc.list_value_length(kept), np.add.reduceat(dear.astype(np.int32), starts))
    )
    print(f"verified: NumPy {np.__version__} has the same results" if same else "WRONG: NumPy has other results")
    return 0 if same else 1


def check_messy(command, folder):
    def ask(sql):
        done = subprocess.run([command, "query", sql, "--json", "--quiet"], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["rows"][0]

    with open(f"{folder}/messy.json", encoding="utf-8") as file:
        expected = json.load(file)
    rows, total = ask(f"SELECT COUNT(*), SUM(amount) FROM '{folder}/bank.csv'")
    (trips,) = ask(f"SELECT COUNT(*) FROM '{folder}/trips.parquet' WHERE at >= '2024-03-05 12:00'")
    found = {"rows": rows, "total": total, "trips": trips}
    print(
        "verified: the values that were written were read"
        if found == expected
        else f"WRONG: expected {expected}, found {found}"
    )
    return 0 if found == expected else 1


def check_lengths(last_cache, paths):
    """Names each problem whose longest input fits the cache. Bytes are those that it must read and write."""
    longest = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in json.load(file)["rows"]:
                # The bitmap of a subset sum may be in a cache.
                if row["status"] == "verified" and row["problem"] != "subset-sum":
                    longest[row["problem"]] = max(longest.get(row["problem"], 0), row["bytes"])
    short = [f"{problem} ({size / 1e6:.0f} MB)" for problem, size in longest.items() if size <= last_cache]
    if short:
        print(f"in the last cache, {last_cache / 1e6:.0f} MB, so perhaps above the limit: {', '.join(short)}")
    elif longest:
        problem = min(longest, key=longest.get)
        print(
            f"the longest input of each problem is at least {longest[problem] / last_cache:.1f} times the last cache: "
            f"{longest[problem] / 1e6:.0f} MB of {problem}"
        )
    return 0


def main():
    if sys.argv[1] == "lists":
        return check_lists(sys.argv[2])
    if sys.argv[1] == "messy":
        return check_messy(*sys.argv[2:])
    if sys.argv[1] == "lengths":
        return check_lengths(int(sys.argv[2]), sys.argv[3:])
    command, sql = sys.argv[1:]
    try:
        import duckdb
    except ImportError:
        print("not compared: DuckDB is not installed")
        return 0
    done = subprocess.run([command, "query", sql, "--json", "--quiet"], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)["rows"]
    expected = duckdb.sql(sql.replace("day (3)", "day")).fetchall()  # TPC-H's precision is not in DuckDB's grammar
    same = len(found) == len(expected) and all(
        len(a) == len(b) and all(map(equal, a, b)) for a, b in zip(found, expected, strict=True)
    )
    print(f"verified: DuckDB {duckdb.__version__} has the same answer" if same else f"WRONG: DuckDB has {expected}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
