# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_csv_rows.py: rows of other lengths in tables of any size, where tables end, and rows in several parts.
import csv
import io
import random

import pytest

pytestmark = pytest.mark.usefixtures("arrow")


def rows_of(upsweep, text, *options):
    """Returns all cells as text, without the header row."""
    upsweep.write("t.csv", text)
    options = ["--types", "string", "--format", "csv", *options]
    answer = upsweep.run("query", "SELECT * FROM 't.csv'", *options).stdout.decode()
    return list(csv.reader(io.StringIO(answer, newline="")))[1:]


class Writer:
    """Writes random rows, some of them too short, in a random dialect."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.delimiter = rng.choice(",;\t|^")
        self.end = rng.choice(["\n", "\r\n"])
        self.short = rng.choice([0, 0.001, 0.05, 0.5])
        self.quoted = rng.choice([0, 0.001, 0.3])
        self.comment = rng.choice([0, 0.01])
        self.columns = rng.randrange(2, 7)

    def cell(self):
        cell = self.rng.choice([str(self.rng.randrange(10**9)), "abc", "x y", ""])
        if self.rng.random() < self.quoted:
            cell = self.rng.choice(['a "b" c', "one\ntwo", f"a{self.delimiter}b", cell])
        return cell

    def write(self, cell):
        if set(cell) & {self.delimiter, '"', "\n"} or self.rng.random() < self.quoted:
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def table(self):
        """Returns the text, and its rows."""
        rows, lines = [], [self.delimiter.join(f"c{i}" for i in range(self.columns))]
        for number in range(self.rng.randrange(1, 6000)):
            row = [f"r{number}", *(self.cell() for _ in range(self.columns - 1))]
            if self.rng.random() < self.short:
                row = row[: self.rng.randrange(1, self.columns)]
            rows.append(row)
            lines.append(self.delimiter.join(map(self.write, row)))
            if self.rng.random() < self.comment:
                lines.append("# not a row")
        # A word alone in the last line would be a note below the table.
        rows.append(["end"] * self.columns)
        lines.append(self.delimiter.join(rows[-1]))
        return self.end.join(lines) + self.end, rows


@pytest.mark.parametrize("ragged", ["fill", "skip"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_that_are_too_short(upsweep, seed, ragged):
    writer = Writer(seed)
    text, rows = writer.table()
    options = ["--delimiter", writer.delimiter, "--quote", '"', "--header", "yes", "--ragged", ragged]
    if writer.comment:
        options += ["--comment", "#"]
    width = writer.columns
    expected = [row + [""] * (width - len(row)) for row in rows if ragged == "fill" or len(row) == width]
    assert rows_of(upsweep, text, *options) == expected


@pytest.mark.parametrize("place", [3, 5000, 59999])
def test_a_row_that_is_longer_than_all_others_adds_columns(upsweep, place):
    rows = [["a", "b"]] * 60000
    rows[place] = ["a", "b", "c", "d"]
    text = "x,y\n" + "".join(",".join(row) + "\n" for row in rows)
    found = rows_of(upsweep, text, "--ragged", "fill")
    assert found == [row + [""] * (4 - len(row)) for row in rows]


@pytest.mark.parametrize("rows", [500, 998, 999, 1000, 1001, 5000, 300_000])
@pytest.mark.parametrize("note", ["", "\nSource: a register\n", "\nSource: a register\nsecond note\n"])
def test_notes_after_an_empty_line_end_a_table_of_any_length(upsweep, rows, note):
    upsweep.write("t.csv", "a,b\n" + "".join(f"{i},{i}\n" for i in range(rows)) + note)
    assert upsweep.json("query", "SELECT COUNT(*), SUM(b) FROM 't.csv'")["rows"] == [[rows, rows * (rows - 1) // 2]]


@pytest.mark.parametrize("place", [997, 998, 999, 1000, 4000])
def test_a_short_row_within_a_long_table_does_not_end_it(upsweep, place):
    lines = [f"{i},{i}" for i in range(5000)]
    lines[place] = "word"
    text = "a,b\n" + "\n".join(lines) + "\n"
    assert len(rows_of(upsweep, text, "--ragged", "fill")) == 5000
    upsweep.write("t.csv", text)
    message = upsweep.fails("malformed", "query", "SELECT COUNT(*) FROM 't.csv'")["message"]
    assert f"line {place + 2} has 1 cell" in message


def test_a_message_does_not_name_a_delimiter_that_an_option_gives(upsweep):
    upsweep.write("t.csv", "a|b\n1|2\n3\n4|5\n6|7\n")
    message = upsweep.fails("malformed", "query", "SELECT COUNT(*) FROM 't.csv'", "--delimiter", "|")["message"]
    assert "line 3 has 1 cell, and line 1 has 2; " in message


@pytest.mark.parametrize("threads", ["1", "2", "7"])
@pytest.mark.parametrize("lines", [1, 200_000])
def test_rows_within_quotes_do_not_decide_types(upsweep, lines, threads):
    """Row groups of 4 MiB begin within quotes, where text looks like rows of other types."""
    within = "x,y,z\n" * lines
    text = "a,b\n" + "".join(f'{i},"{within}"\n' for i in range(3 if lines > 1 else 500_000))
    upsweep.write("t.csv", text)
    answer = upsweep.json("query", "SELECT COUNT(*), SUM(a), MAX(b) FROM 't.csv'", "--threads", threads)
    count = 3 if lines > 1 else 500_000
    assert answer["types"] == ["integer", "integer", "text"]
    assert answer["rows"] == [[count, count * (count - 1) // 2, within]]
