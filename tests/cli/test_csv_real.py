# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_csv_real.py: CSV files as banks, spreadsheets, programs and people write them.
import csv

import pytest

pytestmark = pytest.mark.usefixtures("arrow")


def rows_of(upsweep, content, *options):
    upsweep.write("t.csv", content)
    lines = upsweep.text("query", "SELECT * FROM 't.csv'", "--format", "csv", *options).splitlines()
    return [list(row) for row in csv.reader(lines)]


@pytest.mark.parametrize(
    "content, rows",
    [
        # titles that are quoted as the table is, which has no names of rows
        ('"Report","2024"\n\n"Name","City","Street"\n"foo","bar","x"\n"baz","qux","y"\n',
         [["Name", "City", "Street"], ["foo", "bar", "x"], ["baz", "qux", "y"]]),
        ('"a","b"\n"r1",1,2\n"r2",3,4\n', [["column0", "a", "b"], ["r1", "1", "2"], ["r2", "3", "4"]]),
        # R's write.table()
        ('"a" "b"\n"1" 1.5 "x"\n"2" 2.5 "y z"\n', [["column0", "a", "b"], ["1", "1.5", "x"], ["2", "2.5", "y z"]]),
        # rows with several filled cells above an empty row
        ("Report 2024,,,\nGenerated,2024-01-01,,\n,,,\nname,qty,price,x\nfoo,1,2.5,a\nbar,2,3.5,b\n",
         [["name", "qty", "price", "x"], ["foo", "1", "2.5", "a"], ["bar", "2", "3.5", "b"]]),
        ("n,m,x\nfoo,,\n,,\na,b,1\nc,d,2\n",
         [["n", "m", "x"], ["foo", "", ""], ["", "", ""], ["a", "b", "1"], ["c", "d", "2"]]),
        # names and values above an empty line
        ("Konto;DE12\nSaldo;100\n\nTag;Zweck;Betrag\n01.01.2024;Miete;-1.234,56\n02.01.2024;Kauf;-5,00\n",
         [["Tag", "Zweck", "Betrag"], ["2024-01-01", "Miete", "-1234.56"], ["2024-01-02", "Kauf", "-5.00"]]),
        # a comment with the number of cells of the table
        ("# Source: ECB, 2024\ndate,rate\n2024-01-01,1.5\n2024-01-02,1.6\n",
         [["date", "rate"], ["2024-01-01", "1.5"], ["2024-01-02", "1.6"]]),
        ("#id,rate\n2024,1.5\n2025,1.6\n", [["#id", "rate"], ["2024", "1.5"], ["2025", "1.6"]]),
        # a date above dates is a value
        ("2024-01-01,n.a.,5\n2024-01-02,3,6\n2024-01-03,4,6\n",
         [["column0", "column1", "column2"], ["2024-01-01", "n.a.", "5"], ["2024-01-02", "3", "6"], ["2024-01-03", "4", "6"]]),
        # codes with the look of grouped numbers
        ("ip,seconds\n192.168.100.101,1.234\n192.168.100.102,2.500\n",
         [["ip", "seconds"], ["192.168.100.101", "1.234"], ["192.168.100.102", "2.500"]]),
        ("n,p\na,+48 555 123 456\nb,+48 601 222 333\n", [["n", "p"], ["a", "+48 555 123 456"], ["b", "+48 601 222 333"]]),
        ("n;p\na;+12,50 EUR\nb;+ 1.200,00 EUR\n", [["n", "p"], ["a", "12.50"], ["b", "1200.00"]]),
        # numbers past float64
        ("x\n1e400\n1e-400\n1\n", [["x"], ["1e400"], ["1e-400"], ["1"]]),
        ("x\n1e300\n-1e-300\n", [["x"], ["1e+300"], ["-1e-300"]]),
        # an escape is removed only before what it escapes
        ('id,path,note\n1,"C:\\temp\\new","5\\" pipe"\n2,"E:\\x",ok\n',
         [["id", "path", "note"], ["1", "C:\\temp\\new", '5" pipe'], ["2", "E:\\x", "ok"]]),
    ],
)  # fmt: skip
def test_real_files(upsweep, content, rows):
    assert rows_of(upsweep, content) == rows


@pytest.mark.parametrize(
    "content, rows",
    [
        ('a,b\n1,2\n"x,""y"",z"\n3,4\n', [["a", "b"], ["1", "2"], ['x,"y",z', ""], ["3", "4"]]),
        ('i;t;n\n1;"Size 5""; red"\n2;ok;3\n4;ok;5\n',
         [["i", "t", "n"], ["1", 'Size 5"; red', ""], ["2", "ok", "3"], ["4", "ok", "5"]]),
    ],
)  # fmt: skip
def test_short_rows_with_quotes_are_filled(upsweep, content, rows):
    assert rows_of(upsweep, content, "--ragged", "fill") == rows


def test_other_encodings_are_refused(upsweep):
    upsweep.write("t.csv", "日付,金額\n2024/01/31,￥5\n".encode("shift-jis"))
    assert "which is neither UTF-8 nor Windows-1252" in upsweep.fails("malformed", "query", "SELECT * FROM 't.csv'")["message"]
    upsweep.ok("query", "SELECT * FROM 't.csv'", "--encoding", "windows-1252")


def test_a_date_format_reads_times_after_the_date(upsweep):
    content = "t,d\n01/02/2024 10:00,01/02/2024\n03/04/2024 11:00:30.5,03/04/2024\n"
    assert rows_of(upsweep, content, "--date-format", "%d/%m/%Y")[1:] == [
        ["2024-02-01 10:00:00", "2024-02-01"],
        ["2024-04-03 11:00:30.5", "2024-04-03"],
    ]


def test_doubtful_numbers_name_the_option(upsweep):
    upsweep.write("t.csv", "id;v\n1;1,234\n2;5,678\n")
    assert "--thousands or --decimal decides" in upsweep.fails("unsupported_type", "reduce", "t.csv:v")["message"]


@pytest.mark.parametrize(
    "content, cells, why, options",
    [
        ("id,n\n1,12345678901234567\n2,0.1234567890123456789012\n", ["12345678901234567", "0.1234567890123456789012"],
         "its numbers have more digits than a decimal of 38 digits or a float64 holds", []),
        ("id,n\n1,99999999999999999999999999999999999999\n2,0.12345\n", ["9" * 38, "0.12345"], "more digits", []),
        ("n;x\n1.234 €;1\n12 €;2\n", ["1.234 €", "12 €"], "--thousands . or --decimal . decides", []),
        ("a;n\nA;1.500\nB;12.750\nC;800\n", ["1.500", "12.750", "800"], "--thousands . or --decimal . decides", []),
        ("a;n\nA;1.500\nB;12.750\nC;800\n", ["1500", "12750", "800"], "", ["--thousands", "."]),
        ("a;n\nA;1.500\nB;0.750\nC;800\n", ["1.500", "0.750", "800.000"], "", []),  # 0.750 has no thousands
        ("a;n\nA;1.500\nB;5000\n", ["1.500", "5000.000"], "", []),  # thousands have no mark
        ("n,x\n31/12/2024,x\n", ["31/12/2024"], "its dates do not all have the form of --date-format",
         ["--date-format", "%m/%d/%Y"]),
        ("n,x\n31/12/2024,x\n2024-12-30,y\n", ["2024-12-31", "2024-12-30"], "", ["--date-format", "%d/%m/%Y"]),
        ("n,x\n31/12/2024,x\n01/13/2024,y\n", ["31/12/2024", "01/13/2024"], "neither all day/month nor", []),
        ("a,n\n1,12%\n2,12\n", ["12%", "12"], "its numbers are with and without a percent sign", []),
        ("a;n\n1;5,5%\n2;6%\n", ["0.055", "0.060"], "", []),
        ("a;n\n1;12,5 %\n2;100 %\n", ["0.125", "1.000"], "", []),
        ("a;n\n1;5,50 €\n2;$6,50\n", ["5,50 €", "$6,50"], "its numbers have several currencies", []),
        ("n\n2024-01-01 10:00Z\n2024-01-01 11:00\n", ["2024-01-01 10:00Z", "2024-01-01 11:00"], "an offset from UTC", []),
    ],
)  # fmt: skip
def test_columns_that_are_text_for_a_reason(upsweep, content, cells, why, options):
    upsweep.write("t.csv", content)
    answer = upsweep.json("query", "SELECT n FROM 't.csv'", *options)
    shown = [row[0] if isinstance(row[0], str) else str(row[0]) for row in answer["rows"]]
    assert shown == cells
    reasons = [remark for remark in answer.get("remarks", []) if "is read as text" in remark]
    assert len(reasons) == (1 if why else 0) and all(why in reason for reason in reasons)


def test_decimals_and_thousands_have_different_marks(upsweep):
    upsweep.write("t.csv", "n;x\n1,5;2\n")
    for options in (["--decimal", ",", "--thousands", ","], ["--thousands", ".", "--decimal", "."]):
        said = upsweep.fails("invalid_argument", "query", "SELECT n FROM 't.csv'", *options, index=None)
        assert "it is also the character" in said["message"]


@pytest.mark.parametrize("cell", ["a;b;c", "a|b", "x\ty", "1~2"])
def test_written_cells_come_back(upsweep, arrow, cell):
    upsweep.table("t.parquet", {"b0": [cell, cell + "."]})
    upsweep.ok("query", "SELECT * FROM 't.parquet'", "-o", "t.csv")
    assert upsweep.json("query", "SELECT * FROM 't.csv'")["rows"] == [[cell], [cell + "."]]
