# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_first_rows.py: queries with LIMIT and without ORDER BY, which read only the beginning of CSV files.
import gzip
import json
import random

import pytest

pytestmark = pytest.mark.usefixtures("arrow")

FIRST = 1 << 20  # bytes that are read first
ROWS = 400_000  # of a few bytes: more than FIRST


def answer(upsweep, sql, *options, **how):
    found = upsweep.json("query", sql, *options, **how)
    return found["types"], found["rows"]


def long_file(upsweep, name, last, head="a,b"):
    """Writes a file whose last line differs from the types of all other lines."""
    lines = [f"{i},{i % 7}" for i in range(ROWS)]
    upsweep.write(name, "\n".join([head, *lines, last, ""]))


def test_types_are_those_of_the_rows_that_are_read(upsweep):
    long_file(upsweep, "t.csv", "x,1.5")
    assert answer(upsweep, "SELECT * FROM 't.csv' LIMIT 2") == (["integer", "integer"], [[0, 0], [1, 1]])
    assert answer(upsweep, "SELECT b FROM 't.csv' LIMIT 1 OFFSET 10") == (["integer"], [[3]])
    assert answer(upsweep, "SELECT a FROM 't.csv' LIMIT 0") == (["integer"], [])
    whole = (["text", "decimal"], [["0", "0.0"], ["1", "1.0"]])
    assert answer(upsweep, "SELECT * FROM 't.csv' ORDER BY b, a LIMIT 2")[0] == whole[0]
    assert answer(upsweep, "SELECT * FROM 't.csv' OFFSET 399999")[1] == [["399999", f"{399999 % 7}.0"], ["x", "1.5"]]
    # The last row is needed: all rows have its types.
    types, rows = answer(upsweep, f"SELECT * FROM 't.csv' LIMIT {ROWS + 1}")
    assert types == whole[0] and rows[:2] == whole[1] and rows[-1] == ["x", "1.5"] and len(rows) == ROWS + 1
    assert answer(upsweep, f"SELECT * FROM 't.csv' LIMIT 1 OFFSET {ROWS}") == (whole[0], [["x", "1.5"]])
    assert answer(upsweep, "SELECT * FROM 't.csv' WHERE b = 1.5 LIMIT 1") == (whole[0], [["x", "1.5"]])
    # A condition that only the types of the whole file allow.
    assert answer(upsweep, "SELECT * FROM 't.csv' WHERE a = 'x' LIMIT 1") == (whole[0], [["x", "1.5"]])


@pytest.mark.parametrize("threads", [1, 4])
def test_later_rows_cause_no_error(upsweep, threads):
    options = ("--threads", threads)
    for last in ("1,2,3", '"open', "1"):
        long_file(upsweep, "t.csv", last)
        assert answer(upsweep, "SELECT a FROM 't.csv' LIMIT 2", *options)[1] == [[0], [1]]
        assert answer(upsweep, "SELECT a FROM 't.csv' WHERE b = 6 LIMIT 2", *options)[1] == [[6], [13]]
        assert len(answer(upsweep, "SELECT a FROM 't.csv' LIMIT 100000", *options)[1]) == 100_000
        error = upsweep.fails("malformed", "query", f"SELECT a FROM 't.csv' LIMIT {ROWS + 1}", *options)
        assert error["line"] == ROWS + 2, error
    upsweep.write("t.csv", "a,b\n1,2\n3\n")
    assert upsweep.fails("malformed", "query", "SELECT a FROM 't.csv' LIMIT 1")["line"] == 3


def test_errors_of_rows(upsweep):
    lines = [f"{i},{1 if i != 90_000 else 0}" for i in range(ROWS)]
    upsweep.write("t.csv", "\n".join(["a,z", *lines, ""]))
    assert answer(upsweep, "SELECT a / z AS q FROM 't.csv' LIMIT 3")[1] == [[0], [1], [2]]
    assert upsweep.fails("division_by_zero", "query", "SELECT a / z AS q FROM 't.csv' LIMIT 90001")["index"] == 90_000
    assert upsweep.fails("unknown_column", "query", "SELECT c FROM 't.csv' LIMIT 3")
    assert upsweep.fails("bad_sql", "query", "SELECT a FROM 't.csv' LIMIT -3")


def test_several_files(upsweep):
    """Rows of a later file never come before all rows of an earlier one."""
    for name, first in (("1.csv", 0), ("3.csv", ROWS)):
        upsweep.write(name, "a\n" + "".join(f"{first + i}\n" for i in range(ROWS)))
    upsweep.write("2.csv", "a,late\n-1,x\n-2,y\n")
    for limit, offset in ((3, 0), (2, ROWS // 2), (5, ROWS - 2), (4, ROWS + 1), (1, 2 * ROWS + 1), (9, 2 * ROWS)):
        wanted = [*range(ROWS), -1, -2, *range(ROWS, 2 * ROWS)][offset : offset + limit]
        found = answer(upsweep, f"SELECT a FROM '?.csv' LIMIT {limit} OFFSET {offset}")[1]
        assert found == [[value] for value in wanted], (limit, offset)
    assert answer(upsweep, "SELECT * FROM '?.csv' LIMIT 1") == (["integer", "text"], [[0, None]])
    assert answer(upsweep, "SELECT a FROM '?.csv' WHERE late = 'y' LIMIT 1")[1] == [[-2]]
    assert answer(upsweep, f"SELECT a FROM '?.csv' WHERE a < 0 OR a = {ROWS - 1} LIMIT 1")[1] == [[ROWS - 1]]
    assert answer(upsweep, f"SELECT a FROM '?.csv' WHERE a < 0 OR a > {2 * ROWS - 2} LIMIT 4")[1] == [[-1], [-2], [2 * ROWS - 1]]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_output_files(upsweep, ending):
    long_file(upsweep, "t.csv", "x,9")
    result = upsweep.json("query", "SELECT * FROM 't.csv' LIMIT 3", "-o", f"out.{ending}")
    assert (result["count"], result["types"]) == (3, ["integer", "integer"])
    assert answer(upsweep, f"SELECT * FROM 'out.{ending}'") == (["integer"] * 2, [[0, 0], [1, 1], [2, 2]])
    upsweep.json("query", "SELECT * FROM 't.csv' WHERE b > 6 LIMIT 3", "-o", f"out.{ending}")
    assert answer(upsweep, f"SELECT * FROM 'out.{ending}'") == (["text", "integer"], [["x", 9]])
    upsweep.fails("not_found", "query", "SELECT * FROM 't.csv' LIMIT 3", "-o", f"none/out.{ending}")
    assert upsweep.text("query", "SELECT * FROM 't.csv' LIMIT 1", "--format", "csv") == "a,b\n0,0\n"


# ------------------------------------------------------------------------------------- standard input, compressed files


def lines_of(count):
    return "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(count))


@pytest.mark.parametrize(
    "line, sql, rows",
    [
        ("1,2", "SELECT * FROM '-' LIMIT 3", [[1, 2]] * 3),
        ("'x, y',2", "SELECT a FROM '-' WHERE b = 2 LIMIT 3", [["x, y"]] * 3),
        ("1,2", "SELECT b FROM '-' LIMIT 2 OFFSET 3000000", [[2]] * 2),
    ],
)
def test_standard_input_that_never_ends(upsweep, line, sql, rows):
    done = upsweep.shell(f"""(echo a,b; yes "{line}") | "$U" query "{sql}" --json""")
    assert json.loads(done.stdout)["rows"] == rows, done  # the status is that of `yes`, which a signal ends


def test_unknown_columns_of_standard_input_that_never_ends(upsweep):
    done = upsweep.shell("""(echo a,b; yes 1,2) | "$U" query "SELECT c FROM '-' LIMIT 3" --json""")
    assert json.loads(done.stdout)["error"]["code"] == "unknown_column", done


def test_standard_input_is_copied_as_far_as_it_is_needed(upsweep):
    content = (lines_of(3 * ROWS) + "x,8\n").encode()
    for condition, rows in (
        ("LIMIT 1", [[0, 0]]),
        (f"LIMIT 1 OFFSET {2 * ROWS}", [[2 * ROWS, 2 * ROWS % 7]]),
        (f"LIMIT 2 OFFSET {3 * ROWS - 1}", [[str(3 * ROWS - 1), (3 * ROWS - 1) % 7], ["x", 8]]),
        ("WHERE b = 8 LIMIT 1", [["x", 8]]),
        ("WHERE a = 'x' LIMIT 1", [["x", 8]]),
        ("WHERE b > 8 LIMIT 1", []),
    ):
        assert answer(upsweep, f"SELECT * FROM '-' {condition}", input=content)[1] == rows, condition
    upsweep.write("t.csv", content)
    with (upsweep.folder / "t.csv").open("rb") as file:  # a file as standard input
        assert answer(upsweep, "SELECT * FROM '-' WHERE b = 8 LIMIT 1", stdin=file)[1] == [["x", 8]]
    done = upsweep.shell("\"$U\" query \"SELECT * FROM t WHERE b = 8 LIMIT 1\" --table t=<(cat t.csv) --json")  # a pipe
    assert b'"rows":[["x",8]]' in done.stdout, done


def test_standard_input_of_other_forms(upsweep, arrow):
    text = lines_of(2 * ROWS) + "x,8\n"
    for content in (text.encode("utf-16"), gzip.compress(text.encode(), 1), (text + "café,9\n").encode("cp1252")):
        assert answer(upsweep, "SELECT * FROM '-' LIMIT 1 OFFSET 3", input=content)[1] == [[3, 3]]
        assert answer(upsweep, "SELECT * FROM '-' WHERE b = 8 LIMIT 1", input=content)[1] == [["x", 8]]
    upsweep.table("t.parquet", {"a": list(range(2_000_000)), "b": [float(i % 1000) + i / 7 for i in range(2_000_000)]})
    content = (upsweep.folder / "t.parquet").read_bytes()
    assert len(content) > 8 * FIRST
    assert answer(upsweep, "SELECT a FROM '-' LIMIT 2", input=content)[1] == [[0], [1]]


def test_compressed_files(upsweep):
    rows = [f"{i},{(i * 7919) % 1000003}" for i in range(1_500_000)]
    content = gzip.compress("\n".join(["a,b", *rows, "x,-1", ""]).encode(), 1)
    upsweep.write("t.csv.gz", content)
    assert answer(upsweep, "SELECT * FROM 't.csv.gz' LIMIT 2")[1] == [[0, 0], [1, 7919]]
    assert answer(upsweep, "SELECT * FROM 't.csv.gz' WHERE b < 0 LIMIT 2")[1] == [["x", -1]]
    assert answer(upsweep, f"SELECT a FROM 't.csv.gz' LIMIT 2 OFFSET {len(rows) - 1}")[1] == [[f"{len(rows) - 1}"], ["x"]]
    # The end of the file is not read.
    upsweep.write("t.csv.gz", content[:-100])
    assert answer(upsweep, "SELECT * FROM 't.csv.gz' LIMIT 2")[1] == [[0, 0], [1, 7919]]
    upsweep.fails("malformed", "query", "SELECT * FROM 't.csv.gz' WHERE b < 0 LIMIT 2")
    twice = gzip.compress(content, 1)
    upsweep.write("t.csv.gz", twice)
    assert answer(upsweep, "SELECT * FROM 't.csv.gz' LIMIT 1")[1] == [[0, 0]]


# -------------------------------------------------------------------------------------------------------- any dialect


def written(dialect, rows):
    """Returns the text of rows in a dialect: what separates cells, and how text is quoted."""
    delimiter, quote, comment = dialect
    lines = []
    for number, row in enumerate(rows):
        if comment and number % 1000 == 7:
            lines.append('# "not a row')
        cells = [f"{quote}{cell}{quote}" if quote and isinstance(cell, str) else str(cell) for cell in row]
        lines.append(delimiter.join(cells))
    return "\n".join([delimiter.join(("n", "word")), *lines, ""])


@pytest.mark.parametrize("seed", range(6))
def test_random_files(upsweep, seed):
    """The rows are those of the whole file, in each dialect."""
    draw = random.Random(seed)
    dialects = [(",", "", False), (";", '"', False), ("|", "'", False), (",", '"', True), ("\t", "", False)]
    rows = [(draw.randrange(10**6), draw.choice(("ab", "c d", "e\nf", "g"))) for _ in range(draw.randrange(50_000, 200_000))]
    dialect = draw.choice(dialects)
    rows = [(number, word if dialect[1] else word.replace("\n", " ")) for number, word in rows]
    name = draw.choice(("t.csv", "t.csv.gz"))
    text = written(dialect, rows).encode()
    upsweep.write(name, gzip.compress(text, 1) if name.endswith("gz") else text)
    for _ in range(5):
        limit, offset = draw.choice((1, 10, 1000, 40_000)), draw.choice((0, 0, draw.randrange(len(rows) + 10)))
        threads = ("--threads", draw.choice((1, 3)))
        found = answer(upsweep, f"SELECT * FROM '{name}' LIMIT {limit} OFFSET {offset}", *threads)[1]
        assert [tuple(row) for row in found] == rows[offset : offset + limit]
        most = draw.choice((10, 1000, 500_000))
        found = answer(upsweep, f"SELECT word, n FROM '{name}' WHERE n < {most} LIMIT {limit}", *threads)[1]
        assert found == [[word, number] for number, word in rows if number < most][:limit]
