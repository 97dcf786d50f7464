# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_csv.py: quotes, line ends, delimiters, header rows and encodings of CSV files, in every command that
# reads them.
import collections
import csv
import io
import json
import lzma
import random
import re

import pytest

BLOCK = 1 << 20  # the block size of the CSV reader

pytestmark = pytest.mark.usefixtures("arrow")


def refused_everywhere(upsweep, text, row, line, column="price"):
    """Every command that reads CSV reports the error, with the row and the line where the quote opened."""
    name = upsweep.write("t.csv", text)
    for args in (
        ["scan", f"{name}:{column}", "-o", "out.npy"],
        ["reduce", f"{name}:{column}"],
        ["offsets", f"{name}:{column}", f"{name}:{column}", "-o", "out.npy"],
        ["query", f"SELECT count(*) FROM '{name}'"],
        ["query", f"SELECT sum({column}) FROM '{name}'"],
        ["subset-sum", f"{name}:{column}", "--target", "1"],
    ):
        message = upsweep.fails("malformed", *args, index=row)["message"]
        assert message.startswith("t.csv: ") and re.search(rf"\bline {line}\b", message), message
        assert "quote" in message and "--ragged" in message, message


@pytest.mark.parametrize(
    "text, row, line",
    [
        ('item,price,note\nmouse,1,\nmonitor,200,"19 inch\ncable,8,x\ndesk,2,y\n', 1, 3),
        ('item,price,note\nmouse,1,\nmonitor,200,"19 inch\ncable,8,x\ndesk,2,"y"\n', 1, 3),
        ('item,price,note\nmouse,1,\nmonitor,200,"19 inch\n', 1, 3),
        ('item,price,note\nmouse,1,\nmonitor,200,"19 inch', 1, 3),
        ('item,price,note\nmouse,1,\nmonitor,200,"', 1, 3),
        ('item,price,note\nmouse,1,\nmonitor,200,"""', 1, 3),
        ('item,price,note\nmonitor,200,"19" inch\n', 0, 2),
        ('item,price,note\nmonitor,200,"19" \n', 0, 2),
        ('item,price,note\n"a"b,1,c\n', 0, 2),
        ('item,price,note\n"a,1,c\n', 0, 2),
        ('item,price,note\r\nmouse,1,\r\nmonitor,2,"19 inch\r\ncable,8,x\r\n', 1, 3),
        ('item,price,note\rmouse,1,\rmonitor,2,"19 inch\rcable,8,x\r', 1, 3),
        ('\ufeff"item",price,note\nmonitor,2,"19 inch\n', 0, 2),
        ('item,price,note\n\n\nmouse,1,\n\r\nmonitor,2,"19 inch\n', 1, 6),  # here empty lines are not rows
        ('item,price,note\n"mo\nu""se",1,""\nmonitor,2,"19 inch\n', 1, 4),
        ('item,price,note\nmo"use,1,a"b"c""\nmonitor,2,"19 inch\n', 1, 3),
        ('item,price,"note\nmonitor,2,19 inch\n', None, 1),
        ('item,price,"no"te\nmonitor,2,19 inch\n', None, 1),
        ('"', None, 1),
    ],
)
def test_quotes_out_of_order(upsweep, text, row, line):
    refused_everywhere(upsweep, text, row, line)


def test_empty_lines_are_rows_of_the_only_column(upsweep):
    refused_everywhere(upsweep, 'price\n1\n\n"2\n3\n', 2, 4)


@pytest.mark.parametrize("before", [0, 1000, 200_000])
@pytest.mark.parametrize("after", [2, 200_000])
def test_quotes_out_of_order_in_long_files(upsweep, before, after):
    text = "item,price,note\n" + "mouse,1,ab\n" * before + 'monitor,2,"19 inch\n' + "cable,8,x\n" * after
    refused_everywhere(upsweep, text, before, before + 2)
    refused_everywhere(upsweep, text + 'desk,1,"x"\n', before, before + 2)


def test_quotes_at_the_ends_of_blocks(upsweep):
    """The quote that closes a field, and the text after it, are in different blocks."""
    head = "x,y\n1,"
    for shift in range(-3, 4):
        field = "a" * (BLOCK - len(head) - 2 + shift)
        good = f'{head}"{field}"\n2,"b""c"\n'
        upsweep.write("t.csv", good)
        assert upsweep.json("reduce", "t.csv:x")["value"] == 3, shift
        assert upsweep.json("query", "SELECT count(y) FROM 't.csv'")["rows"] == [[2]], shift
        upsweep.write("t.csv", f'{head}"{field}""\n2,b\n')
        upsweep.fails("malformed", "reduce", "t.csv:x", index=0)
        upsweep.write("t.csv", f'{head}"{field}"a\n2,b\n')
        upsweep.fails("malformed", "reduce", "t.csv:x", index=0)


def test_a_label_with_a_quote_out_of_order(upsweep):
    upsweep.write("t.csv", 'price,item\n3,mouse\n4,"monitor\n')
    upsweep.fails("malformed", "subset-sum", "t.csv:price", "--target", "3", "--id", "item", index=1)


@pytest.mark.parametrize("row, nulls, words", [('"b,c",', 1, 0), ('"b,c",""', 0, 1), ("b,", 1, 0), ('b,""', 0, 1)])
@pytest.mark.parametrize("before", [1, 300_000])
def test_the_end_of_the_last_line_may_be_missing(upsweep, row, nulls, words, before):
    answers = []
    for end in ("", "\n", "\r\n", "\r"):
        upsweep.write("t.csv", "c0,c1\n" + 'a,"d"\n' * before + row + end)
        answers.append(upsweep.json("query", "SELECT count(*), count(c1) FROM 't.csv' WHERE c1 = '' OR c1 IS NULL")["rows"])
    assert answers == [[[nulls + words, words]]] * 4


def test_a_quote_within_a_field_that_does_not_begin_with_one(upsweep):
    upsweep.write("t.csv", 'x,y\n1,5" disk\n2,"5"" disk"\n3,a""b\n')
    rows = upsweep.json("query", "SELECT y, sum(x) FROM 't.csv' GROUP BY y ORDER BY 2")["rows"]
    assert rows == [['5" disk', 3], ['a""b', 3]]


@pytest.mark.parametrize("seed", range(60))
def test_random_files_as_python_reads_them(upsweep, seed):
    """Cells that Python's strict reader accepts have the same values, and those that it refuses are refused."""
    rng = random.Random(seed)
    end = rng.choice(["\n", "\r\n"])
    pieces = ['"', '""', ",", end, "a", "é", " ", "0", "'"]
    text = rng.choice(["", "\ufeff"]) + f"n,w{end}-1,a word{end}"
    for row in range(rng.randrange(1, 40)):
        word = "".join(rng.choices(pieces, k=rng.randrange(6)))
        quoted = rng.random() < 0.3 or set(word) & set('",\r\n')
        if quoted and (seed % 3 > 0 or rng.random() < 0.97):
            word = '"' + word.replace('"', '""') + '"'
        text += f"{row},{word}{end}"
    if rng.random() < 0.5:
        text = text.removesuffix(end)
    name = upsweep.write("t.csv", text)
    try:
        rows = [row for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True) if row][1:]
    except csv.Error:
        rows = [[]]
    if any(len(row) != 2 for row in rows):
        upsweep.fails("malformed", "query", f"SELECT count(*) FROM '{name}'")
        return
    words = collections.Counter()
    for word, count in upsweep.json("query", f"SELECT w, count(*) FROM '{name}' GROUP BY w")["rows"]:
        words[word or ""] += count
    assert words == collections.Counter(word for _, word in rows)


# ---------------------------------------------------------------------------------------------------------- separators


def test_an_empty_line_after_a_byte_order_mark_holds_no_names(upsweep):
    upsweep.write("t.csv", "\ufeff\na,b\n75.18,8.3\n56.07,60\n")
    result = upsweep.json("reduce", "t.csv:a")
    assert (result["value"], result["scale"]) == ("131.25", 2)


def refused(upsweep, text, *words, row=None):
    """The message is the same whether or not the query names the column."""
    upsweep.write("t.csv", text)
    message = upsweep.fails("malformed", "query", "SELECT count(*) FROM 't.csv'", index=row)["message"]
    assert message.startswith("t.csv: ") and all(word in message for word in words), message
    assert upsweep.fails("malformed", "reduce", "t.csv:b", index=row)["message"] == message


def rows_of(upsweep, *names, options=()):
    """Returns all rows of t.csv, in the order of `ordered`."""
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    rows = upsweep.json("query", f"SELECT {columns}, COUNT(*) FROM 't.csv' GROUP BY {columns}", *options)["rows"]
    return ordered(row[:-1] for row in rows for _ in range(row[-1]))


def ordered(rows):
    return sorted(rows, key=repr)


def value(upsweep, what, text):
    upsweep.write("t.csv", text)
    return upsweep.json("query", f"SELECT {what} FROM 't.csv'")["rows"][0][0]


@pytest.mark.parametrize("delimiter", [";", "\t", "|", "~"])
@pytest.mark.parametrize(
    "rows, names, expected",
    [
        (["a.b.c", "1.2.3", "4.5.6"], "a b c", [[1, 2, 3], [4, 5, 6]]),
        (["a.b", "1.2"], "a b", [[1, 2]]),
        (['"a".b', '"x.y".2', "3.4"], "a b", [["x.y", 2], ["3", 4]]),
        (['"a"."b"', '"1"."2"', '"3"."4"'], "a b", [[1, 2], [3, 4]]),
        (["a.b", "1,5.2", "1,7.3"], "a b", [["1.5", 2], ["1.7", 3]]),
        (["a.b", "1.2.", "3.4."], "a b", [[1, 2], [3, 4]]),  # a delimiter ends each row
        (["a.b", "x.", ".y"], "a b", [["x", None], [None, "y"]]),
        (["a.b", "Smith, John.1", "Doe, Jane.2"], "a b", [["Smith, John", 1], ["Doe, Jane", 2]]),
        (["1.2", "3.4", "3.5"], "column0 column1", [[1, 2], [3, 4], [3, 5]]),
    ],
)
def test_other_delimiters_are_determined(upsweep, delimiter, rows, names, expected):
    upsweep.write("t.csv", "".join(row.replace(".", delimiter) + "\n" for row in rows))
    assert rows_of(upsweep, *names.split()) == ordered(
        [[cell.replace(".", delimiter) if cell == "x.y" else cell for cell in row] for row in expected]
    )


@pytest.mark.parametrize("delimiter, called", [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars"), ("~", "tildes")])
@pytest.mark.parametrize(
    "rows, line, words",
    [
        (["a.b.c", "1.2", "3.4.5", "6.7.8"], 2, "has 2 cells, and line 1 has 3"),
        (["a.b", "x.5", "y", "z.6"], 3, "has 1 cell, and line 1 has 2"),
        (['"a"."b"', '"1"."2"', '"3"x."4"'], 3, "quote"),
        (['"a"."b"', '"1"."2"', '"3"x."4"', '"5"."6"'], 3, "quote"),
    ],
)
def test_rows_that_do_not_fit_other_delimiters_are_refused(upsweep, delimiter, called, rows, line, words):
    text = "".join(row.replace(".", delimiter) + "\n" for row in rows)
    refused(upsweep, text, f"line {line}", words, "--ragged", *([called] if "cell" in words else []), row=line - 2)


@pytest.mark.parametrize("delimiter", [":", " "])
def test_delimiters_that_text_has_separate_only_numbers(upsweep, delimiter):
    for rows, names, expected in (
        (["a.b", "1.2", "3.4"], "a b", [[1, 2], [3, 4]]),
        (["a.b.c", "1.2.-3", "4.5.6"], "a b c", [[1, 2, -3], [4, 5, 6]]),
        (["1.2", "3.4", "3.5"], "column0 column1", [[1, 2], [3, 4], [3, 5]]),
        (['"a"."b"', "1.2"], "a b", [[1, 2]]),
        (['"a"."b"', '"x".2', '"y z".3'], "a b", [["x", 2], ["y z", 3]]),
    ):
        upsweep.write("t.csv", "".join(row.replace(".", delimiter) + "\n" for row in rows))
        assert rows_of(upsweep, *names.split()) == ordered(expected)
    for rows in (["a.b", "1.x", "3.y"], ["a.b", "1.2", "3"], ["a", "1.2", "3.4"]):
        name, *cells = (row.replace(".", delimiter) for row in rows)
        upsweep.write("t.csv", "".join(row + "\n" for row in (name, *cells)))
        assert rows_of(upsweep, name) == ordered([cell] for cell in cells)
    if delimiter == " ":  # several spaces count as one
        upsweep.write("t.csv", "a   b\n1   2\n 10 20 \n")
        assert rows_of(upsweep, "a", "b") == [[1, 2], [10, 20]]


@pytest.mark.parametrize(
    "text, name, kind, values",
    [
        ("hh:mm\n9:30\n10:15\n", "hh:mm", "time", ["09:30:00", "10:15:00"]),
        ("t\n9:30\n10:15\n", "t", "time", ["09:30:00", "10:15:00"]),
        ("Start time\n2001-01-01 10:00:00\n", "Start time", "timestamp", ["2001-01-01T10:00:00"]),
        ("d\n1 Jan 2017\n2 Feb 2017\n", "d", "date", ["2017-01-01", "2017-02-02"]),
        ("n\n1 234\n5 678 901\n", "n", "integer", [1234, 5678901]),
    ],
)
def test_values_that_contain_such_delimiters_are_one_column(upsweep, text, name, kind, values):
    upsweep.write("t.csv", text)
    answer = upsweep.json("query", f"""SELECT "{name}", COUNT(*) FROM 't.csv' GROUP BY "{name}" ORDER BY "{name}\"""")
    assert answer["types"][0] == kind
    assert [row[0].replace(" ", "T") if kind == "timestamp" else row[0] for row in answer["rows"]] == values


@pytest.mark.parametrize("text", ["a;b\n1;2\n3\n4;5\n", "a^b\n1^2\n", "a,b\n1,2\n3\n", 'a,b\n1,2\n3,"4\n'])
def test_every_command_refuses_alike(upsweep, text):
    upsweep.write("t.csv", text)
    commands = (
        ["scan", "t.csv:b", "-o", "out.npy"],
        ["reduce", "t.csv"],
        ["offsets", "t.csv:a", "t.csv:b", "-o", "out.npy"],
        ["select", "--mask", "t.csv:a", "t.csv:b", "-o", "out.npy"],
        ["query", "SELECT sum(b) FROM 't.csv'"],
        ["query", "SELECT count(*) FROM 't.csv'"],
        ["subset-sum", "t.csv:b", "--target", "1"],
    )
    assert len({upsweep.fails("malformed", *args)["message"] for args in commands}) == 1


@pytest.mark.parametrize("delimiter", ["^", "¦", "!", "*", "\x01", "\x1f", "§", "│", "，"])
def test_rare_delimiters_are_named(upsweep, delimiter):
    shown = f"'{delimiter}'" if delimiter.isprintable() else f"'\\x{ord(delimiter):02x}'"
    for rows, names, expected in (
        (["a.b", "x.y"], ["a", "b"], [["x", "y"]]),
        (["a.b.c", "1.x.2001-12-31", "4..2001-12-30"], ["a", "b", "c"], [[1, "x", "2001-12-31"], [4, None, "2001-12-30"]]),
        (["full name.b", "x y.5", "y.7"], ["full name", "b"], [["x y", 5], ["y", 7]]),
    ):
        text = "".join(row.replace(".", delimiter) + "\n" for row in rows)
        refused(upsweep, text, f"{shown} seems to separate its columns", f"--delimiter {shown}", "--delimiter ,")
        assert rows_of(upsweep, *names, options=["--delimiter", delimiter]) == ordered(expected)
        assert rows_of(upsweep, rows[0].replace(".", delimiter), options=["--delimiter", ","]) == ordered(
            [row.replace(".", delimiter)] for row in rows[1:]
        )
    for rows in (["a.b", "1", "2"], ["a.", "1.", "2."], [".a", ".1"], ["a.b", "1.2", "1.2.3"], ['"a.b"', "1.2", "3.4"]):
        assert value(upsweep, "count(*)", "".join(row.replace(".", delimiter) + "\n" for row in rows)) == len(rows) - 1


@pytest.mark.parametrize(
    "content, called",
    [
        (b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "an HTML page"),
        (b"\n  <HTML>\n<body>Please log in</body>\n", "an HTML page"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<a/>\n", "XML"),
        (b'[{"a":1},{"a":2}]\n', "JSON"),
        (b'[\n  {"a": 1}\n]\n', "JSON"),
        (b'{"a":1}\n{"a":2}\n', "JSON"),
        (b"[1, 2, 3]\n", "JSON"),
        (b"[[1,2],[3,4]]", "JSON"),
        (b"SQLite format 3\0\x10\0\x01\x01", "an SQLite database"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF document"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "a Git LFS pointer"),
        (b"\x7fELF\x02\x01\x01\n", "a program"),
        (b"\x89PNG\r\n\x1a\n", "an image"),
    ],
)
def test_files_that_are_not_csv_are_named(upsweep, content, called):
    upsweep.write("t.csv", content)
    message = upsweep.fails("malformed", "query", "SELECT count(*) FROM 't.csv'")["message"]
    assert message == f"t.csv: is {called}, not CSV; save its table as CSV"
    assert upsweep.fails("malformed", "reduce", "t.csv:a")["message"] == message


@pytest.mark.parametrize("content, line", [(b"\0" * 1000, 1), (b"a,b\nx,1\n\0,2\n", 3), (b"a,b\r\nx,1\r\n2,\0\r\n", 3)])
def test_files_with_nul_bytes_are_refused(upsweep, content, line):
    upsweep.write("t.csv", content)
    message = upsweep.fails("malformed", "query", "SELECT count(*) FROM 't.csv'")["message"]
    assert message == f"t.csv: line {line} has a NUL byte, which text does not have; save the table as .npy, Parquet, Arrow IPC or CSV"


@pytest.mark.parametrize("text", ["[id],[name]\n1,a\n", "[1],[2]\nx,y\n", "{a},b\n1,2\n", '"[1]"\nx\n', "<a>,b\n1,2\n"])
def test_names_that_only_look_like_other_formats(upsweep, text):
    assert value(upsweep, "count(*)", text) == 1


@pytest.mark.parametrize("name", ["comment", '"comment"', "Report of 2024", "Report, all"])
def test_a_title_above_several_columns(upsweep, name):
    upsweep.write("t.csv", f"{name}\nx;y\nhi;5\nho;6\n")
    assert rows_of(upsweep, "x", "y") == [["hi", 5], ["ho", 6]]


@pytest.mark.parametrize("name", ["x", '"x"'])
def test_rows_of_a_single_column_are_not_titles(upsweep, name):
    """Some rows end with a tab. No row may be lost: the column is text, or the file is refused."""
    upsweep.write("t.csv", f"{name}\n1\nabc\t\n3\t\n")
    done = upsweep.run("query", "SELECT count(x) FROM 't.csv'")
    assert done.returncode == 1 or done.stdout.split() == [b"count", b"3"], done


@pytest.mark.parametrize(
    "text",
    [
        '"a" "b"\n"1" 5 "x"\n"2" 6 "y"\n',
        "a,b\nr1,5,x\nr2,6,y\n",
        "a\tb\nr1\t5\tx\nr2\t6\ty\n",
        '"a";"b"\n"1";5;"x"\n"2";6;"y"\n',
    ],
)
def test_a_header_row_that_does_not_name_the_row_names(upsweep, text):
    """R's write.table writes such files. They may be refused, but not read as one column."""
    upsweep.write("t.csv", text)
    done = upsweep.run("query", "SELECT SUM(a), MAX(b) FROM 't.csv'", "--json")
    assert done.returncode == 1 or json.loads(done.stdout).get("rows") == [[11, "y"]], done


def test_names_that_only_look_like_several(upsweep):
    upsweep.write("t.csv", "a;b\n1\n2\n")
    assert upsweep.json("reduce", "t.csv:a;b")["value"] == 3
    upsweep.write("t.csv", '"a;b"\nx;y\n')
    assert upsweep.json("query", "SELECT count(*) FROM 't.csv'")["rows"] == [[1]]


def test_two_delimiters_that_split_equally_are_both_named(upsweep):
    for text in ("a;b,c\n1;2,3\n4;5,6\n", "a;b,c\nx;y,z\nu;v,w\n"):
        refused(upsweep, text, "--delimiter ';'", "--delimiter ','")
        assert rows_of(upsweep, "a;b", "c", options=["--delimiter", ","])[0][0] in ("1;2", "u;v")
        assert rows_of(upsweep, "a", "b,c", options=["--delimiter", ";"])[0][0] in (1, "u")


# ------------------------------------------------------------------------------------- files that are not what is read


@pytest.mark.parametrize(
    "text, rows",
    [
        # No header row.
        ("1,2\n3,4\n5,6\n", [[1, 2], [3, 4], [5, 6]]),
        ("7\n", [[7]]),
        ("\n\n7\n8\n", [[7], [8]]),
        ("2001-12-31,5\n2002-01-01,6\n", [["2001-12-31", 5], ["2002-01-01", 6]]),
        ("Berlin,5.5\nParis,7\nRome,\n", [["Berlin", "5.5"], ["Paris", "7.0"], ["Rome", None]]),
        ("x,31/12/2001\ny,01/01/2002\n", [["x", "2001-12-31"], ["y", "2002-01-01"]]),
        ("x,31-Dec-2001\ny,01-Jan-2002\n", [["x", "2001-12-31"], ["y", "2002-01-01"]]),
        ("x,1:00 PM\ny,11:30 AM\n", [["x", "13:00:00"], ["y", "11:30:00"]]),
        ("x,$5\ny,$6\n", [["x", 5], ["y", 6]]),
        ("x,(5.0)\ny,6.0\n", [["x", "-5.0"], ["y", "6.0"]]),
        ("x;1.234,50 €\ny;6,00 €\n", [["x", "1234.50"], ["y", "6.00"]]),
        ("x,true\ny,false\n", [["x", True], ["y", False]]),
        ("Berlin,2019,2020\nParis,2018,2021\n", [["Berlin", 2019, 2020], ["Paris", 2018, 2021]]),
        ('"1","2"\n"3","4"\n', [[1, 2], [3, 4]]),
        (",1\n,2\nx,3\n", [[None, 1], [None, 2], ["x", 3]]),
        (",0.64\nx,0.17\n", [[None, "0.64"], ["x", "0.17"]]),
        ("'x':'9:30'\n'y':'10:15'\n", [["x", "09:30:00"], ["y", "10:15:00"]]),
        (",28-Oct-2006\nx,06-Mar-2011\n", [[None, "2006-10-28"], ["x", "2011-03-06"]]),
        ("1,2,3\n2,3,4\n", [[1, 2, 3], [2, 3, 4]]),
        ("1,2\n" + "3,4\n" * 2000, [[1, 2]] + [[3, 4]] * 2000),
        ("Report\n\n1,2,3\n4,5,6\n", [[1, 2, 3], [4, 5, 6]]),
        ("Report\n\n1,-2\n3,4\n", [[1, -2], [3, 4]]),
        ("Report\nof May\n\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("# made by x\n1,2\n3,4\n", [[1, 2], [3, 4]]),
    ],
)
def test_rows_without_names(upsweep, text, rows):
    """The columns are column0, column1, …"""
    upsweep.write("t.csv", text)
    assert rows_of(upsweep, *(f"column{i}" for i in range(len(rows[0])))) == ordered(rows)


@pytest.mark.parametrize(
    "text, names, rows",
    [
        # Titles and comments above the table.
        ("Report\n\na;b\n1;2\n", "a b", [[1, 2]]),
        ("Report\na,b\n1,2\n", "a b", [[1, 2]]),
        ("Sales, 2024\nAll\na,b,c\n1,2,3\n", "a b c", [[1, 2, 3]]),
        ("REPORT,,\n,,\na,b,c\n1,2,3\n", "a b c", [[1, 2, 3]]),
        ("Meetings,,,\nWho,When,Where,\nLee,May,Oslo,\n", "Who When Where column3", [["Lee", "May", "Oslo", None]]),
        ("Office,,\nTravel,,\nWho,When,Where\nLee,nil,\n", "Who When Where", [["Lee", "nil", None]]),
        (",,\n,,\na,b,c\n1,2,3\n", "a b c", [[1, 2, 3]]),
        (",\n,\n", "column0 column1", [[None, None]]),
        ("REPORT,,\na,b,c\n1,2,3\n", "a b c", [[1, 2, 3]]),
        ("# made by x\na,b\n1,2\n", "a b", [[1, 2]]),
        ("# made by x\nb\n1\n", "b", [[1]]),
        ("\n#a\n#b\nb\n1\n", "b", [[1]]),
        ("a,b\n1,2\n# note\n3,4\n", "a b", [[1, 2], [3, 4]]),
        ("sep=;\na;b\n1;2\n", "a b", [[1, 2]]),
        ('"SEP=|"\na|b\n1|2\n', "a b", [[1, 2]]),
        ("sep=;\r\na,b;c\r\n1,5;2\r\n", "a,b c", [["1.5", 2]]),
        # Several header rows.
        ("x,y\na,b\n1,2\n3,4\n", "x_a y_b", [[1, 2], [3, 4]]),
        ("x,y\na,b\nm,s\n1,2\n3,4\n", "x_a_m y_b_s", [[1, 2], [3, 4]]),
        ("name,length\n,mm\nrod,1\nbar,2\n", "name length_mm", [["rod", 1], ["bar", 2]]),
        # Names.
        ("a,a\n1,2\n", "a a_1", [[1, 2]]),
        ("a,a,a,b\n1,2,3,4\n", "a a_1 a_2 b", [[1, 2, 3, 4]]),
        ("a,a_1,a\n1,2,3\n", "a a_1 a_2", [[1, 2, 3]]),
        # Lines that are not rows.
        ("a,b\n1,2\n  \n3,4\n", "a b", [[1, 2], [3, 4]]),
        ("a,b\n1,2,\n3,4,\n", "a b", [[1, 2], [3, 4]]),  # a delimiter ends each row
        ("a,b\n1,2\nTotal: 1\n", "a b", [[1, 2]]),
        ("a,b\n1,2\n3,4\n\nSource: x\n", "a b", [[1, 2], [3, 4]]),
        # Other quotes.
        ("a,b\n'x, y',1\n'z',2\n", "a b", [["x, y", 1], ["z", 2]]),
        ("a,b\n'x',1\n'z',2\n", "a b", [["x", 1], ["z", 2]]),
        ("'a'\n'x'\n'it''s'\n", "a", [["x"], ["it's"]]),
        ("'a'\n'7'\n'8'\n", "a", [[7], [8]]),
        ('a, "b"\n1, "x"\n', "a b", [[1, "x"]]),
        ('a, "b"\n1, "x, y"\n3, "z"\n', "a b", [[1, "x, y"], [3, "z"]]),
        ("a,b\n'x',1\n'y',2\n", "a b", [["x", 1], ["y", 2]]),
        ("'a','b'\n'x',1\n", "a b", [["x", 1]]),
        ("'a'\n1.5\n", "a", [["1.5"]]),
        ("a,b\n'x, y',1\nz,2\n", "a b", [["x, y", 1], ["z", 2]]),
        ("a,b\n'x',1\nNA,2\n'z',3\n", "a b", [["x", 1], ["NA", 2], ["z", 3]]),
        # A backslash before each quote, without quotes around the cell.
        ('a,b\n"x \\"y\\" z",1\n"p",2\n', "a b", [['x "y" z', 1], ["p", 2]]),
        ('a,b\nx \\"y\\",1\n"p, q",2\n', "a b", [['x "y"', 1], ["p, q", 2]]),
        ("a,b\nO\\'Neil,1\nz,2\n", "a b", [["O'Neil", 1], ["z", 2]]),
        ("a,b\nO\\'Neil,1\n'p, q',2\n", "a b", [["O'Neil", 1], ["p, q", 2]]),
    ],
)
def test_other_forms_are_read(upsweep, text, names, rows):
    upsweep.write("t.csv", text)
    assert rows_of(upsweep, *names.split()) == ordered(rows)


@pytest.mark.parametrize(
    "text, words, row",
    [
        # Rows of other lengths.
        ("a,b,c\n1,2,3\n4,5\n", ["line 3 has 2 cells, and line 1 has 3", "--ragged"], 1),
        ("a,b\n1,2\n3\n4,5,6\n", ["line 3 has 1 cell, and line 1 has 2", "--ragged"], 1),
        ("\na,b\n\n1,2\n\n3\n4,5,6\n", ["line 6 has 1 cell, and line 2 has 2", "--ragged"], 1),
        ("a,b\n1,2\n\n3,4,5\n", ["line 4 has 3 cells, and line 1 has 2", "--ragged"], 1),
        ('a,b\n"x\ny",2\n3\n', ["line 4 has 1 cell, and line 1 has 2", "--ragged"], 1),
        ("a,b\n1,  ,2\n3,4\n", ["line 2 has 3 cells, and line 1 has 2", "--ragged"], 0),
        ("a,b\n1,2,\n3,4\n", ["line 2 has 3 cells, and line 1 has 2", "ends with a delimiter", "--ragged"], 0),
        ("a,b\nx\\, y,1\n", ["line 2 has 3 cells", "--escape '\\'"], 0),
        ("a,b\nx\\, y,1\nz,2\n", ["line 2 has 3 cells", "--escape '\\'"], 0),
        # One number, or two.
        ("x\n\n14,50\n-7,25\n", ["line 3: '14,50'", "decimal comma", "--delimiter ';'"], 0),
        ("#\n14,50\n", ["line 2: '14,50'", "decimal comma", "--delimiter ','"], 0),
        # Quotes that do not quote whole cells.
        ('a,b,c\nx"y, z",1\np,q,2\n', ["line 2: a quote inside the unquoted cell 'x\"y'", "--quote none"], 0),
        ('a,b,c\nx,y,1\nfly"long 9\'6"" rod, his.",2\n', ["line 3: a quote inside the unquoted cell", "--quote none"], 1),
        ('a,b\nx"y, z",1\n', ["line 2 has 3 cells", "a quote inside a cell"], 0),
        ('a,b\n1, "x, y"\n', ["line 2 has 3 cells", "quote"], 0),
        ('a,b\n1, "x"\n2,y\n', ["line 2", "a blank precedes the quote"], 0),
    ],
)
def test_rows_that_do_not_fit_are_refused(upsweep, text, words, row):
    refused(upsweep, text, *words, row=row)


@pytest.mark.parametrize(
    "row, words", [("7", "has 1 cell"), ("Total: 7", "has 1 cell"), ("1,2,3", "has 3 cells"), ("x,y,z", "has 3 cells")]
)
def test_the_first_bad_row_is_named_by_its_line(upsweep, row, words):
    """The error is far down in the file. The message is the same with any number of threads, and whatever errors later
    rows have."""
    rows = 900_000
    for others in ({}, {700_000: '5,"x', 800_000: row}, {200_001: "z,5"}):
        lines = [f"{i},5" for i in range(rows)]
        for at, text in {200_000: row, **others}.items():
            lines[at] = text
        upsweep.write("t.csv", "\na,b\n" + "\n".join(lines) + "\n")
        for args in (
            ["query", "SELECT count(*) FROM 't.csv'", "--threads", "3"],
            ["query", "SELECT sum(a) FROM 't.csv'"],
            ["reduce", "t.csv:a"],
        ):
            message = upsweep.fails("malformed", *args, index=200_000)["message"]
            assert message.startswith(f"t.csv: line 200003 {words}, ") and "line 2 has 2" in message, message


@pytest.mark.parametrize(
    "text, what, expected",
    [
        ("city,2019,2020\nBerlin,5,6\nParis,7,8\n", 'sum("2020")', 14),
        (",0,1,2\n0,5,9,7\n1,8,9,1\n", 'sum("2")', 8),
        (",1,2\nA,0.5,3\nB,0.25,4\n", 'sum("1")', "0.75"),
        ("0,1,2\n5.5,6,7\n8,9,1\n", 'sum("0")', "13.5"),
        ('"1","2"\n3,4\n', 'sum("1")', 3),
        ('"7"\n8\n', 'sum("7")', 8),
        ("city,0-17,65+\nBerlin,5,6\n", 'sum("65+")', 6),
        ("x,y,10.00\n1,2,3\n", 'sum("10.00")', 3),
        ("name,note\na,b\nc,d\n", "count(*)", 2),
        ("name,note\n", "count(*)", 0),
        ("name\n", "count(*)", 0),
        ("name\nSmith; John\nDoe; Jane\n", "min(name)", "Doe; Jane"),
        ("Full Name\nJohn Smith\nMary Jones\n", 'max("Full Name")', "Mary Jones"),
        ("Start time\n2001-01-01 10:00:00\n2001-01-02 10:00:00\n", "count(*)", 2),
        ("hh:mm\n9:30\n10:15\n", "count(*)", 2),
        ("tags\na;b\nc\nd;e;f\n", "count(*)", 3),
        ("#hits\n5\n6\n", 'sum("#hits")', 11),
        ("#chrom,start\nx,5\n", "sum(start)", 5),
        ("a,,c\n1,2,3\n", "sum(column1)", 2),
        (",b\n1,2\n3,4\n", "sum(column0)", 4),
        ('"",b,  \n1,2,3\n', "sum(column2)", 3),
        ("a,,\n1,2,3\n4,5,6\n", "sum(column2)", 9),
        ("a, b\n1, 2\n3, 4\n", "sum(b)", 6),
        ('a,"b "\n1,2\n', "sum(b)", 2),
        ("sep=,\na,b\n1,2\n", "sum(b)", 2),
        ('"Sep=,"\r\n\r\na,b\r\n1,2\r\n', "sum(b)", 2),
        ("x,y\nunknown,unknown\n1,2\n3,4\n", "count(*)", 3),
        ("x,y\na,b\n1/2,c\n", "count(*)", 2),
        ("name,length\nfoo,unknown\nrod,1\nbar,2\n", "count(*)", 3),
        ('a,b\n5" disk,3" disk\n', "count(*)", 1),
        ('a,b\n5",3"\n', "max(b)", '3"'),
        ("a,b\n'x',1\nit's,2\n", "count(*)", 2),
        ("a,b\n'x',1\ny,2\n", "min(a)", "'x'"),
        ("a,b\n'x',1\n", "min(a)", "'x'"),
        ("a,b\nO\\'Neil,1\nit's,2\n", "min(a)", "O\\'Neil"),
        ("a,b\nO\\'Neil,1\nC:\\x,2\n", "max(a)", "O\\'Neil"),
        ('a,b\n"say ""x""",1\nO\\\'Neil,2\n', "max(a)", 'say "x"'),
        ("a,b\n1,2\n3,4\nTotal,6\n", "max(b)", 6),
        ("b\n1\n\n2\n", "count(*)", 3),
    ],
)
def test_files_that_only_look_odd_are_read(upsweep, text, what, expected):
    assert value(upsweep, what, text) == expected


def test_names_are_listed_in_quotes(upsweep):
    upsweep.write("t.csv", '"a, b",c\n1,2\n')
    upsweep.write("x.csv", "x\n1\n")
    for args in (
        ["reduce", "t.csv:d"],
        ["query", "SELECT sum(d) FROM 't.csv'"],
        ["subset-sum", "t.csv:c", "--target", "2", "--id", "d"],
    ):
        assert "'a, b', 'c'" in upsweep.fails("unknown_column", *args)["message"]


# ----------------------------------------------------------------------------------------------- encodings, compression


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("threads", [1, 3])
def test_utf16_is_read_as_the_same_text(upsweep, encoding, threads):
    """Characters of one to four bytes of UTF-8, or two and four of UTF-16, cross every position of a decoded block."""
    text = "name,n\r\n" + "".join(f"{'x' * (i % 7)}ü€😀{i % 11},{i}\r\n" for i in range(200_000))
    upsweep.write("a.csv", text)
    upsweep.write("b.csv", ("\ufeff" + text).encode(encoding))
    sql = "SELECT name, count(*), sum(n) FROM '{}' GROUP BY name ORDER BY name"
    answers = [upsweep.json("query", sql.format(name), "--threads", str(threads))["rows"] for name in ("a.csv", "b.csv")]
    assert answers[0] == answers[1] and len(answers[0]) == 77
    assert upsweep.json("reduce", "b.csv:n")["value"] == sum(range(200_000))


def test_utf16_that_is_none(upsweep):
    good = "\ufeffb\r\n1\r\n".encode("utf-16-le")
    for text in (good + b"\x00\xd8", good + b"\x00\xdc1\0", good + b"1"):
        refused(upsweep, text, "line 3", "not UTF-16")
    refused(upsweep, "\ufeff".encode("utf-16-le"), "no header row")
    refused(upsweep, "b\r\n1\r\n".encode("utf-32"), "iconv -f UTF-32")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(upsweep, encoding):
    for text, names, rows in (
        ("b\r\n1\r\n", "b", [[1]]),
        ("name,n\nKöln,1\n東京,2\n", "name n", [["Köln", 1], ["東京", 2]]),
        ("a\tb\r\nx, y\t1,5\r\n", "a b", [["x, y", "1.5"]]),
    ):
        upsweep.write("t.csv", text.encode(encoding))
        assert rows_of(upsweep, *names.split()) == ordered(rows)
        assert rows_of(
            upsweep, *names.split(), options=["--encoding", encoding.replace("-le", "le").replace("-be", "be")]
        ) == ordered(rows)


@pytest.mark.parametrize("before", [1, 300_000])
def test_windows_1252_is_read_where_text_is_not_utf8(upsweep, before):
    """The first such character is in the first rows, or far below."""
    upsweep.write("t.csv", b"name,n\n" + b"a,1\n" * before + "Köln,2\n€ ‘x’,3\n".encode("cp1252"))
    assert rows_of_counts(upsweep, "name") == {"a": before, "Köln": 1, "€ ‘x’": 1}
    assert upsweep.json("reduce", "t.csv:n")["value"] == before + 5
    upsweep.write("t.csv", "\nn,straße\n1,2\n".encode("latin-1"))
    assert upsweep.json("reduce", "t.csv:straße")["value"] == 2


def test_latin_1_and_windows_1252_differ(upsweep):
    upsweep.write("t.csv", b"name,n\nCaf\xe9,1\n5 \x80,2\n")
    assert rows_of(upsweep, "name", "n") == [["5 €", 2], ["Café", 1]]


def rows_of_counts(upsweep, name):
    return dict(upsweep.json("query", f"SELECT {name}, COUNT(*) FROM 't.csv' GROUP BY {name}")["rows"])


@pytest.mark.parametrize("before", [1, 300_000])
def test_text_that_is_not_the_encoding_that_is_named(upsweep, before):
    """An error in a column that is read reports file, row and column, and the remedy. Errors in columns that are not
    read do not matter."""
    upsweep.write("t.csv", b"name,n\n" + b"a,1\n" * before + "Köln,2\n".encode() + "Köln,3\n".encode("latin-1"))
    utf8 = ["--encoding", "utf-8"]
    for what in ("max(name)", "count(name)"):
        message = upsweep.fails("malformed", "query", f"SELECT {what} FROM 't.csv'", *utf8, index=before + 1)["message"]
        assert "t.csv:name" in message and "not UTF-8" in message and "--encoding windows-1252" in message, message
    assert upsweep.json("query", "SELECT sum(n), count(*) FROM 't.csv'", *utf8)["rows"] == [[before + 5, before + 2]]
    upsweep.fails("malformed", "subset-sum", "t.csv:n", "--target", "3", "--id", "name", *utf8, index=before + 1)
    upsweep.write("t.csv", "\nn,straße\n1,2\n".encode("latin-1"))
    message = upsweep.fails("malformed", "query", "SELECT count(*) FROM 't.csv'", *utf8)["message"]
    assert "line 2: the name" in message and "stra\\xdfe" in message and "not UTF-8" in message, message


@pytest.mark.parametrize(
    "head, called, command",
    [
        (lzma.compress(b"a,b\n1,2\n"), "xz", "unxz"),
        (b"\x04\x22\x4d\x18\x60\x40", "LZ4", "unlz4"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "Excel", "save it as CSV"),
        (b"PK\x03\x04 and more", "zip", "save it as CSV"),
    ],
)
def test_compressed_files_are_named(upsweep, head, called, command):
    refused(upsweep, head, called, command)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_are_answered_or_refused(upsweep, seed):
    """Whatever the bytes are: the command must not crash or take long."""
    rng = random.Random(seed)
    starts = [
        "a,b,c\n1,2.5,x\n2,3.5,y\n",
        "a;b\n1;2\n3;4\n",
        "Title\n\na,b\n1,2\n",
        'a,"b ""q"""\r\n1,"x\r\ny"\r\n',
        "# note\nd,t\n2001-12-31,9:30\n",
    ]
    text = bytearray(rng.choice(starts).encode(rng.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])) * rng.randrange(1, 4))
    for _ in range(rng.randrange(1, 8)):
        place = rng.randrange(len(text) + 1)
        piece = rng.choice(
            [b"", b'"', b",", b";", b"\n", b"\r", b"\0", b"\xff", b"'", b" ", b"\xd8\0", bytes([rng.randrange(256)])]
        )
        text[place : place + rng.randrange(3)] = piece
    upsweep.write("t.csv", bytes(text))
    for sql in ("SELECT count(*) FROM 't.csv'", "SELECT max(b) FROM 't.csv'"):
        done = upsweep.run("query", sql, "--json")
        assert done.returncode in (0, 1, 2), (bytes(text), done)


# --------------------------------------------------------------------------------------------------------------- cells

MANY = 400_000  # rows of a few bytes: more than 1 MiB


def ask(upsweep, what, rest="", options=()):
    return upsweep.json("query", f"SELECT {what} FROM 't.csv' {rest}", *options)["rows"]


@pytest.mark.parametrize("missing", ['""', '"NA"', '"NULL"', "NA", "null", "None", ""])
@pytest.mark.parametrize("where", ["first", "last", "after a MiB"])
def test_what_is_null_where_others_are_numbers_dates_or_booleans(upsweep, missing, where):
    cells = [("9.50", "5", "2024-01-02", "true"), (missing,) * 4, ("10.00", "6", "2024-01-01", "false")]
    cells = cells[1:2] + cells[0:1] + cells[2:] if where == "first" else cells[0:1] + cells[2:] + cells[1:2]
    before = f"{','.join(cells[0])}\n" * MANY if where == "after a MiB" else ""
    upsweep.write("t.csv", "p,i,d,b\n" + before + "".join(",".join(row) + "\n" for row in cells))
    count = 2 + (MANY if before else 0)
    assert ask(upsweep, "MAX(p), MIN(p), MAX(i), MAX(d), COUNT(p), COUNT(i), COUNT(d), COUNT(b)") == [
        ["10.00", "9.50", 6, "2024-01-02"] + [count] * 4
    ]
    assert ask(upsweep, "COUNT(*)", "WHERE p IS NULL AND i IS NULL AND d IS NULL AND b IS NULL") == [[1]]
    assert ask(upsweep, "COUNT(*)", "WHERE d > date '2024-01-01' AND b") == [[count - 1]]
    row = {"first": 0, "last": 2, "after a MiB": MANY + 2}[where]
    for command in ("reduce", "scan"):
        for column in "pid":
            options = ["--op", "max"] if column == "d" else []
            message = upsweep.fails("null_value", command, f"t.csv:{column}", *options, index=row)["message"]
            assert message.startswith(f"t.csv:{column}: line {row + 2} is NULL; "), message


@pytest.mark.parametrize("before", [0, MANY])
def test_words_for_missing_values_are_text_in_columns_of_text(upsweep, before):
    upsweep.write("t.csv", "country,n\n" + "DE,1\n" * before + 'NA,1\nNO,2\nNA,3\nNone,4\n"NA",5\n,6\n"",7\n')
    assert ask(upsweep, "SUM(n)", "WHERE country = 'NA'") == [[9]]
    assert ask(upsweep, "SUM(n)", "WHERE country IS NULL") == [[6]]
    assert ask(upsweep, "SUM(n)", "WHERE country = ''") == [[7]]
    assert ask(upsweep, "COUNT(country)", "WHERE country <> 'DE'") == [[6]]
    upsweep.write("t.csv", "country,n\nNA,1\nNA,2\n")  # also in a file where all cells are such words
    assert ask(upsweep, "country, SUM(n)", "GROUP BY country") == [["NA", 3]]


@pytest.mark.parametrize("cell, shown", [("x", "x"), ("2024-01-01", "2024-01-01"), ("7", 7), ("7.25", "7.25"), ("1e2", 100)])
def test_a_column_that_is_empty_in_the_first_mebibyte(upsweep, cell, shown):
    upsweep.write("t.csv", "x,y\n" + ",1\n" * MANY + f"{cell},2\n")
    assert ask(upsweep, "COUNT(x), MAX(x), SUM(y)") == [[1, shown, MANY + 2]]
    assert ask(upsweep, "COUNT(x), MAX(x)", "WHERE y = 1") == [[0, None]]


def test_codes_are_text(upsweep):
    upsweep.write("t.csv", "zip,n\n08701,1\n8701,2\n00501,3\n")
    assert ask(upsweep, "zip, SUM(n)", "GROUP BY zip ORDER BY zip") == [["00501", 3], ["08701", 1], ["8701", 2]]
    error = upsweep.fails("unsupported_type", "reduce", "t.csv:zip", index=0)
    assert "t.csv:zip: line 2: '08701' is text, as numbers do not begin with 0" in error["message"]
    upsweep.write("t.csv", "zip,n\n" + "8701,2\n" * MANY + "08701,1\n")
    assert ask(upsweep, "MIN(zip), SUM(n)") == [["08701", 2 * MANY + 1]]


def test_integers_of_any_length_are_exact(upsweep):
    upsweep.write("t.csv", f"a,b,c,p\n1,-5,{'9' * 38},+123456789012345678\n{2**64},{2**63},-1,+123456789012345679\n")
    assert ask(upsweep, "MAX(a), MAX(b), SUM(b), MAX(c), MAX(p)") == [
        [str(2**64), str(2**63), str(2**63 - 5), "9" * 38, 123456789012345679]
    ]
    assert ask(upsweep, "COUNT(*)", f"WHERE a = {2**64 + 1}") == [[0]]
    upsweep.write("t.csv", f"a,n\n{'9' * 39},1\n1,2\n")
    assert ask(upsweep, "a, SUM(n)", "GROUP BY a ORDER BY a") == [["1", 2], ["9" * 39, 1]]


@pytest.mark.parametrize("what", ["COUNT(*)", "COUNT(1)", "SUM(1)"])
def test_rows_are_counted_without_reading_a_column(upsweep, what):
    """A cell that is not UTF-8 is only an error if its column is read. Here it is not read."""
    upsweep.write("t.csv", b"order,y\n" + b"5,1\n" * MANY + b"A\xff,2\n")
    for options in ([], ["--encoding", "utf-8"]):
        assert ask(upsweep, what, options=options) == [[MANY + 1]]
        assert ask(upsweep, what, "WHERE y > 1", options=options) == [[1]]
    sql = """SELECT COUNT("order"), MAX("order") FROM 't.csv'"""
    upsweep.fails("malformed", "query", sql, "--encoding", "utf-8", index=MANY)
    assert upsweep.json("query", sql)["rows"] == [[MANY + 1, "Aÿ"]]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_of_several_bad_rows_is_named(upsweep, threads):
    """The bad row is found in any column, and in any part of the file."""
    rows = [b"word,word,1234567\n"] * 600_000  # three CSV blocks
    rows[5] = b"word,a\xff,1\n"
    rows[7] = b"a\xff,word,1\n"
    rows[550_000] = b"a\xff,word,1\n"
    upsweep.write("t.csv", b"s,t,n\n" + b"".join(rows))
    sql = "SELECT COUNT(s), COUNT(t), SUM(n) FROM 't.csv'"
    utf8 = ["--encoding", "utf-8"]  # otherwise the file is Windows-1252
    message = upsweep.fails("malformed", "query", sql, "--threads", threads, *utf8, index=5)["message"]
    assert message.startswith("t.csv:t: line 7: "), message
    # Rows of other lengths are found when the file is opened, before cells are parsed.
    rows[550_000] = rows[550_007] = b"word,word\n"
    upsweep.write("t.csv", b"s,t,n\n" + b"".join(rows))
    message = upsweep.fails("malformed", "query", sql, "--threads", threads, *utf8, index=550_000)["message"]
    assert message.startswith("t.csv: line 550002 has 2 cells"), message
    # Columns that contain only text stay text, whatever such a row contains. Then the message names the first bad row.
    rows[100_000::1000] = [b"word,word\n"] * 500
    upsweep.write("t.csv", b"s,t,n\n" + b"".join(rows).replace(b"1234567", b"word"))
    sql = "SELECT COUNT(s), COUNT(t), COUNT(n) FROM 't.csv'"
    for _ in range(5):  # threads end in another order each time
        message = upsweep.fails("malformed", "query", sql, "--threads", threads, *utf8, index=5)["message"]
        assert message.startswith("t.csv:t: line 7: "), message


SEVERAL_COLUMNS = [
    ("offsets", "t.csv:a", "t.csv:b", "-o", "out.npy"),
    ("pack", "t.csv:a", "t.csv:b", "t.csv:c", "-o", "out.parquet"),
    ("segment", "--offsets", "t.csv:b", "t.csv:a"),
    ("select", "--mask", "t.csv:m", "t.csv:a", "t.csv:b", "-o", "out.parquet"),
    ("select", "--mask", "t.csv:m", "--offsets", "t.csv:b", "t.csv:a", "-o", "out.parquet"),
    ("ladder", "filtered-sum", "--input", "t.csv:a", "t.csv:b", "t.csv:c"),
]


@pytest.mark.parametrize("command", SEVERAL_COLUMNS, ids=" ".join)
def test_the_first_bad_cell_of_several_columns_is_named(upsweep, command):
    """The result does not depend on which file is read first."""
    rows = [[i, i + 1, 5, "true"] for i in range(20)]
    rows[15][0], rows[8][1], rows[11][3] = "word", "word", "no"
    upsweep.write("t.csv", "a,b,c,m\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    message = upsweep.fails("malformed", *command, index=8)["message"]
    assert message.startswith("t.csv:b: line 10: 'word' is text, and the cells before it are numbers"), message


def test_bad_cells_of_several_files_are_named_in_the_order_of_the_command(upsweep):
    upsweep.write("t.csv", "a,b\n1,2\n1,2\nword,2\n")
    upsweep.write("u.csv", "a,b\n1,2\n1,word\n1,2\n")
    for first, second, row in (("t.csv:a", "u.csv:b", 2), ("u.csv:b", "t.csv:a", 1)):
        message = upsweep.fails("malformed", "offsets", first, second, "-o", "out.npy", index=row)["message"]
        assert message.startswith(f"{first}: line {row + 2}: 'word' is text"), message


@pytest.mark.parametrize("command", SEVERAL_COLUMNS, ids=" ".join)
def test_the_first_null_of_several_columns_is_named(upsweep, command):
    rows = [[i, i + 1, 5, "true"] for i in range(20)]
    rows[15][0], rows[8][1], rows[11][3] = "", "NA", ""
    upsweep.write("t.csv", "a,b,c,m\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    is_of_mask = command[0] == "select" and "--offsets" not in command  # NULL in the selected columns is not an error
    row, column = (11, "m") if is_of_mask else (8, "b")
    message = upsweep.fails("null_value", *command, index=row)["message"]
    assert message.startswith(f"t.csv:{column}: line {row + 2} is NULL"), message


def test_the_first_bad_row_of_columns_of_several_files_is_named(upsweep):
    """Numbers are converted to a wider type, column by column."""
    rows = [["1", "2"] for _ in range(20)]
    rows[15][0] = rows[8][1] = str(2**53 + 1)
    upsweep.write("0.csv", "x,y\n" + "".join(",".join(row) + "\n" for row in rows))
    upsweep.write("1.csv", "x,y\n1e3,1e3\n")
    message = upsweep.fails("malformed", "query", "SELECT SUM(x), SUM(y) FROM '*.csv'", index=8)["message"]
    assert message.startswith("0.csv:y: line 10 has a value of type int64 that changes when converted to float64"), message


@pytest.mark.parametrize("cells", [("NA", "NULL"), ("", "NA"), ("NA", ""), ("", ""), ("NA", "5"), ("", "5"), ("5", "NA")])
def test_a_pattern_is_read_as_a_single_file(upsweep, cells):
    """In a numeric column NA and empty cells are NULL, even if no file has a number."""
    upsweep.write("one.csv", f"x,y\n{cells[0]},1\n{cells[1]},1\n")
    upsweep.write("g0.csv", f"x,y\n{cells[0]},1\n")
    upsweep.write("g1.csv", f"y,x\n1,{cells[1]}\n")
    upsweep.save("offsets.npy", [0, 2])
    first = [cell in ("NA", "NULL", "") for cell in cells].index(True)
    for command in ("reduce", "scan"):
        upsweep.fails("null_value", command, "one.csv:x", index=first)
        message = upsweep.fails("null_value", command, "g*.csv:x", index=first)["message"]
        assert message.startswith(f"g*.csv:x: g{first}.csv: line 2 is NULL"), message
    one, all_files = (upsweep.json("segment", "--offsets", "offsets.npy", source) for source in ("one.csv:x", "g*.csv:x"))
    assert (one["first"], one["dtype"]) == (all_files["first"], all_files["dtype"])
    # In a query each column has the type that it would have by itself.
    kind = upsweep.json("query", "SELECT MAX(x) FROM 'g*.csv'")["types"]
    assert kind == upsweep.json("query", "SELECT MAX(x) FROM 'one.csv'")["types"]


def test_text_in_one_file_of_a_pattern_is_named_by_its_line(upsweep):
    upsweep.write("g0.csv", "x,y\n1,1\n2,1\n")
    upsweep.write("g1.csv", "y,X\n1,3\n1,word\n")
    error = upsweep.fails("malformed", "reduce", "g*.csv:x", index=1)
    assert error["message"].startswith("g1.csv:X: line 3: 'word' is text, and the cells before it are numbers"), error
    assert (error["file"], error["line"]) == ("g1.csv", 3)
    upsweep.write("g1.csv", "y\n1\n")  # a file without the column
    assert upsweep.json("segment", "--offsets", upsweep.save("o.npy", [0, 3]), "g*.csv:x")["first"] == 3
    upsweep.fails("unknown_column", "reduce", "g*.csv:z")


@pytest.mark.parametrize("cells", [("true", "false", "TRUE"), ('"True"', "FALSE", '"true"')])
def test_a_mask_of_booleans(upsweep, cells):
    upsweep.write("mask.csv", "m,w\n" + "".join(f"{cell},a\n" for cell in cells))
    upsweep.write("t.csv", "x,w\n1,a\n2,b\n3,c\n")
    assert upsweep.npy("select", "--mask", "mask.csv:m", "t.csv:x").tolist() == [1, 3]
    upsweep.write("mask.csv", "m,w\n1,a\n0,a\n1,a\n")
    message = upsweep.fails("unsupported_type", "select", "--mask", "mask.csv:m", "t.csv:x", "-o", "out.npy")["message"]
    assert "mask.csv:m is int64: a mask must contain booleans, in CSV true and false, or uint8" in message
    upsweep.write("mask.csv", 'm,w\ntrue,a\n"",a\nfalse,a\n')
    upsweep.fails("null_value", "select", "--mask", "mask.csv:m", "t.csv:x", "-o", "out.npy", index=1)


def test_dates_of_year_0_are_read_as_in_sql(upsweep):
    """Year 0 is 1 BC. Years before 0 and years of five digits are not dates."""
    upsweep.write("t.csv", "d\n0000-02-29\n0001-01-01\n9999-12-31\n")
    assert ask(upsweep, "MIN(d), MAX(d)") == [["0000-02-29", "9999-12-31"]]
    assert ask(upsweep, "COUNT(*)", "WHERE d = DATE '0000-02-29'") == [[1]]
    assert ask(upsweep, "COUNT(*)", "WHERE d > '0000-02-29'") == [[2]]
    assert ask(upsweep, "MIN(d - DATE '0000-01-01')") == [[59]]
    upsweep.write("t.csv", "d\n-001-02-28\n10000-01-01\n")
    assert upsweep.json("query", "SELECT MIN(d) FROM 't.csv'")["types"] == ["text"]


def test_dates_and_times_of_other_forms(upsweep):
    upsweep.write("t.csv", "d,t,n\n31/01/2017,9:30,1\n01/02/2018,10:00,2\n")
    answer = upsweep.json("query", "SELECT d, t, SUM(n) FROM 't.csv' GROUP BY d, t ORDER BY 3")
    assert answer["types"] == ["date", "time", "integer"]
    assert answer["rows"] == [["2017-01-31", "09:30:00", 1], ["2018-02-01", "10:00:00", 2]]


WORDS = {
    "integer": ["5", "-7", "0", "12345678901", "9223372036854775807"],
    "wide": ["9223372036854775808", "-99999999999999999999", "12345678901234567890123"],
    "decimal": ["1.50", "-0.25", "12345.678", ".5"],
    "real": ["1e5", "2.5e-3", "nan", "5."],
    "date": ["2024-01-02", "1969-12-31", "2000-02-29"],
    "boolean": ["true", "false", "TRUE", "False"],
    "code": ["08701", "00", "00e1"],
    "text": ["x", "a b", "2024-02-30", "1_000", "-", "12:30", "tru", "é"],
}


@pytest.mark.parametrize("seed", range(40))
def test_types_and_values_are_those_of_duckdb(upsweep, seed):
    """Cells of one to three kinds, some in quotes, some empty. DuckDB also reads empty text as NULL."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    rng = random.Random(seed)
    columns = []
    for _ in range(6):
        kinds = rng.choices(list(WORDS), k=rng.choice([1, 1, 1, 2, 3]))
        cells = [rng.choice(WORDS[rng.choice(kinds)]) for _ in range(30)]
        cells = [rng.choice(["", '""']) if rng.random() < 0.2 else cell for cell in cells]
        columns.append([f'"{cell}"' if cell != '""' and rng.random() < 0.3 else cell for cell in cells])
    names = [f"c{i}" for i in range(len(columns))]
    rows = [",".join([str(n), *row]) + "\n" for n, row in enumerate(zip(*columns, strict=True))]
    path = upsweep.folder / upsweep.write("t.csv", ",".join(["n", *names]) + "\n" + "".join(rows))
    table = duckdb.read_csv(str(path), header=True, sep=",", sample_size=-1)
    for name in names:
        expected = dict(table.select("n", name).fetchall())
        kind = str(table.select(name).types[0])
        if kind == "BOOLEAN":
            assert ask(upsweep, "COUNT(*)", f"WHERE {name}") == [[sum(value is True for value in expected.values())]]
            assert ask(upsweep, f"COUNT({name})") == [[sum(value is not None for value in expected.values())]]
            continue
        answer = upsweep.json("query", f"SELECT n, MIN({name}) FROM 't.csv' GROUP BY n")
        found = {n: comparable(value, kind) for n, value in answer["rows"]}
        assert found == {n: comparable(value, kind) for n, value in expected.items()}, (name, kind, answer["types"])
        if any(value is not None for value in expected.values()):  # otherwise the column has no type here
            # As float64, integers of many digits would have other values: such a column remains text.
            cells = [cell.strip('"') for cell in columns[names.index(name)]]
            has_long = any(cell.lstrip("+-").isdigit() and len(cell) > 15 for cell in cells)
            kinds = (*KINDS[kind], "text") if kind == "DOUBLE" and has_long else KINDS[kind]
            assert answer["types"][1] in kinds, (name, kind)


KINDS = {
    "BIGINT": ("integer",),
    "HUGEINT": ("integer", "decimal"),
    "DOUBLE": ("real", "decimal"),
    "DATE": ("date",),
    "VARCHAR": ("text",),
}


def comparable(value, kind):
    if value in (None, ""):
        return None
    if kind in ("BIGINT", "HUGEINT"):
        return int(value)
    return repr(float(value)) if kind == "DOUBLE" else str(value)
