# SPDX-License-Identifier: Apache-2.0
# tools/tour_check.py: runs a query by the command and by DuckDB on the same file, and says whether the answers are equal.
"""tour_check.py COMMAND SQL: exit status 1 where the answers differ; without DuckDB nothing is compared."""

import json
import math
import subprocess
import sys


def equal(found, expected):
    """Exactly, as text, but for floats: DuckDB divides rounded numbers for AVG."""
    if isinstance(expected, float):
        return math.isclose(float(found), expected, rel_tol=1e-12)
    return str(found) == str(expected)


def main():
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
    print(f"verified: as DuckDB {duckdb.__version__} has it" if same else f"WRONG: DuckDB has {expected}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
