# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_csv.py: quotes, ends of lines and separators of CSV files, in every command that reads them.
import collections
import csv
import io
import random

import pytest

BLOCK = 1 << 20  # what the CSV reader takes at once

pytestmark = pytest.mark.usefixtures("arrow")


def refused_everywhere(upsweep, text, row, line, column="price"):
    """By every command that reads CSV, and with the row and the line where the quote opened."""
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
        where = "the line of names" if row is None else f"row {row}"
        assert "t.csv" in message and where in message and f"line {line}," in message, message


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
        ('item,price,note\n\n\nmouse,1,\n\r\nmonitor,2,"19 inch\n', 1, 6),  # empty lines are no rows here
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
    """The quote that closes a field, and what comes after it, in different blocks."""
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
    """What Python's strict reader takes is read as the same cells, and what it refuses is refused."""
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


@pytest.mark.parametrize("separator, called", [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
@pytest.mark.parametrize("rows", [["a.b.c", "1.2.3", "4.5.6"], ['"a".b', '"x.y".2', "3.4"], ["a.b", "1,5.2", "1,7.3"]])
def test_other_separators_are_named(upsweep, separator, called, rows):
    name = upsweep.write("t.csv", "".join(row.replace(".", separator) + "\n" for row in rows))
    for args in (
        ["scan", f"{name}:b", "-o", "out.npy"],
        ["reduce", name],
        ["query", f"SELECT sum(b) FROM '{name}'"],
        ["subset-sum", f"{name}:b", "--target", "1"],
    ):
        message = upsweep.fails("malformed", *args)["message"]
        assert f"separated by {called}" in message, message


def test_names_that_only_look_like_several(upsweep):
    upsweep.write("t.csv", "a;b\n1\n2\n")
    assert upsweep.json("reduce", "t.csv:a;b")["value"] == 3
    upsweep.write("t.csv", '"a;b"\nx;y\n')
    assert upsweep.json("query", "SELECT count(*) FROM 't.csv'")["rows"] == [[1]]
    upsweep.write("t.csv", "a;b,c\n1;2,3\n")
    assert upsweep.json("reduce", "t.csv:c")["value"] == 3
