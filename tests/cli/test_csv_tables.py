# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_csv_tables.py: random tables in files of Python's csv, pandas, Polars, and in the forms of R and Excel,
# read back without options. UPSWEEP_CSV_TABLES sets the number of tables, UPSWEEP_CSV_SEED the first one.
import collections
import dataclasses
import datetime
import json
import os
import re

import csv_tables
import pytest

pytestmark = pytest.mark.usefixtures("arrow")

TABLES = int(os.environ.get("UPSWEEP_CSV_TABLES", "300"))
SEED = int(os.environ.get("UPSWEEP_CSV_SEED", "0"))
NUMBERS = ("integer", "decimal", "real")


def as_number(value):
    try:
        return str(csv_tables.Decimal(str(value)).normalize() + 0)
    except ArithmeticError:
        return f"text {value}"


def as_moment(text):
    try:
        return datetime.datetime.fromisoformat(str(text)).isoformat()
    except ValueError:
        return f"text {text}"


def as_real(value):
    try:
        return repr(float(value))
    except ValueError:
        return f"text {value}"


def canonical(kind, type_, values):
    """Returns values of a column, as written or as read, as texts that are equal for equal values."""
    found = []
    for value in values:
        if value is None or value == "":
            found.append("")
        elif type_ == "text" and kind not in ("timestamp",):
            found.append(f"text {value}")
        elif type_ == "boolean" or isinstance(value, bool):
            found.append(str(value).lower())
        elif type_ in ("date", "timestamp"):
            found.append(as_moment(value))
        elif type_ in NUMBERS:
            found.append(as_real(value) if kind == "real" or type_ == "real" else as_number(value))
        else:
            found.append(f"text {value}")
    return found


# Numbers and dates that may be read in two ways. If all marks of a column are such, it stays text.
DOUBTFUL_NUMBER = re.compile(r"-?[1-9]\d{0,2}[.,]\d{3}")


def is_doubtful(cells):
    cells = [cell for cell in cells if cell not in ("", "NA", "NULL")]
    if any(DOUBTFUL_NUMBER.search(cell) for cell in cells):
        return True
    days = [re.match(r"(\d\d)[/-](\d\d)[/-]\d{4}", cell) for cell in cells]
    return all(days) and all(int(day[1]) <= 12 and int(day[2]) <= 12 for day in days)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def fault_of(upsweep, writer, table, dialect):
    """Returns None if the table is read back. Otherwise returns "wrong" or "refused", the kind of fault, a description,
    and the bytes of the file."""
    written, table = csv_tables.WRITERS[writer][1](table, dialect)
    upsweep.write("t.csv", written.content)
    names = ", ".join(map(quoted, written.names))
    sql = f"SELECT {names}, COUNT(*) FROM 't.csv' GROUP BY {names}"
    done = upsweep.run("query", sql, "--json", "--threads", "1")
    answer = json.loads(done.stdout)
    if "error" in answer:
        kind = "refused" if answer["error"]["code"] == "malformed" else "wrong"
        return kind, answer["error"]["code"], answer["error"]["message"].split("\n")[0], written.content
    types = answer["types"]
    count = sum(row[-1] for row in answer["rows"])
    if count != len(table[0].values):
        return "wrong", "count", f"{count} rows, not {len(table[0].values)}", written.content
    rows = [row[:-1] for row in answer["rows"] for _ in range(row[-1])]
    expected, found = [], []
    for i, column in enumerate(table):
        kept = column.values
        is_typed = column.kind not in ("words", "text", "code")
        has_values = any(value is not None for value in column.values)
        if types[i] == "text" and is_typed and has_values and is_doubtful(written.cells[i]):
            kept = written.cells[i]
        expected.append(canonical(column.kind, types[i], kept))
        found.append(canonical(column.kind, types[i], [row[i] for row in rows]))
        if collections.Counter(expected[-1]) != collections.Counter(found[-1]):
            what = f"column {column.name!r} ({column.kind}) as {types[i]}: {found[-1][:4]}"
            return "wrong", types[i], what, written.content
    if collections.Counter(zip(*expected, strict=True)) != collections.Counter(zip(*found, strict=True)):
        return "wrong", "rows", "cells are in other rows", written.content
    return None


def smallest(upsweep, writer, table, dialect):
    """Removes columns and rows as long as the file has a fault of this kind."""
    fault = fault_of(upsweep, writer, table, dialect)
    more = True
    while more:
        more = False
        columns = [[*table[:i], *table[i + 1 :]] for i in range(len(table)) if len(table) > 1]
        rows = len(table[0].values)
        for size in (rows // 2, 1):
            for begin in range(0, rows if 0 < size < rows else 0, max(size, 1)):
                keep = [i for i in range(rows) if not begin <= i < begin + size]
                columns.append([dataclasses.replace(c, values=[c.values[i] for i in keep]) for c in table])
        for smaller in columns:
            found = fault_of(upsweep, writer, smaller, dialect)
            if found and found[:2] == fault[:2]:
                table, fault, more = smaller, found, True
                break
    return fault


@pytest.mark.parametrize("writer", csv_tables.WRITERS)
def test_random_tables_are_read_back(upsweep, writer):
    for module in ("pandas", "polars"):
        if writer == module:
            pytest.importorskip(module, reason=f"{module} is not installed")
    faults = collections.defaultdict(list)
    count = -(-TABLES // len(csv_tables.WRITERS))
    for seed in range(SEED, SEED + count):
        table, dialect = csv_tables.random_file(writer, seed)
        fault = fault_of(upsweep, writer, table, dialect)
        if fault:
            kind, _, what, content = smallest(upsweep, writer, table, dialect)
            faults[kind].append((len(content), seed, what, content, dialect))
    for kind, all_faults in faults.items():
        print(f"{writer}: {len(all_faults)} of {count} {kind}")
        for _, seed, what, content, dialect in sorted(all_faults, key=lambda fault: fault[0]):
            print(f"  {kind} {writer} {seed}: {what}\n    {content!r}\n    {dialect}")
    assert not faults["wrong"]
    assert len(faults["refused"]) <= max(1, count // 100)
