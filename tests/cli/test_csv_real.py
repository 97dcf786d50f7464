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
        ("Account,12345\nBalance,100.50\n\nDate,Amount\n2024-01-02,5\n2024-01-03,6\n",
         [["Date", "Amount"], ["2024-01-02", "5"], ["2024-01-03", "6"]]),
        ("Account,12345\nBalance,100.50\n\nName,Amount\nfoo,5\n", [["Name", "Amount"], ["foo", "5"]]),
        ("Station,Berlin\nLat,52.5\n\ntime,temp\n00:00,5.5\n01:00,6.5\n",
         [["time", "temp"], ["00:00:00", "5.5"], ["01:00:00", "6.5"]]),
        ("Station,Berlin\nSerial,A12\n\ntime,temp\n2024-01-01 00:00:00,5.5\n2024-01-01 01:00:00,6.5\n",
         [["time", "temp"], ["2024-01-01 00:00:00", "5.5"], ["2024-01-01 01:00:00", "6.5"]]),
        # the World Bank's: a delimiter ends each row, and years are names
        ('"Source","WDI",\n\n"Name","Code","1960",\n"Aruba","ABW","54608",\n"Africa","AFE","5",\n',
         [["Name", "Code", "1960", "column3"], ["Aruba", "ABW", "54608", ""], ["Africa", "AFE", "5", ""]]),
        # banks: names and values of a summary, and lines of many lengths
        (('Description,,Summary Amt.\nTotal credits,,"500.00"\n\nDate,Description,Amount,Running Bal.\n'
         '01/15/2024,PAY,"500.00","1,500.00"\n01/16/2024,BUY,"-5.00","1,495.00"\n'),
         [["Date", "Description", "Amount", "Running Bal."], ["2024-01-15", "PAY", "500.00", "1500.00"], ["2024-01-16", "BUY", "-5.00", "1495.00"]]),
        (("Umsätze;;;;Nummer: 100\n01.01.2024 - 31.01.2024\nKontostand;;;;1.234,56;EUR\nTag;Wert;Art;Zweck;Soll;Haben;Währung\n"
         "02.01.2024;02.01.2024;Karte;Laden;-45,67;;EUR\n03.01.2024;03.01.2024;Karte;Laden;;45,67;EUR\n"),
         [["Tag", "Wert", "Art", "Zweck", "Soll", "Haben", "Währung"],
          ["2024-01-02", "2024-01-02", "Karte", "Laden", "-45.67", "", "EUR"],
          ["2024-01-03", "2024-01-03", "Karte", "Laden", "", "45.67", "EUR"]]),
        ("2024-01-02 03:04:05 5\n2024-01-02 03:04:06 6\n",
         [["column0", "column1", "column2"], ["2024-01-02", "03:04:05", "5"], ["2024-01-02", "03:04:06", "6"]]),
        ("t:v\n2024-01-02 03:5\n2024-01-02 04:6\n", [["t", "v"], ["2024-01-02 03", "5"], ["2024-01-02 04", "6"]]),
        # DOS ends a text with the byte 0x1A
        ("a,b\r\n1,2\r\n\x1a", [["a", "b"], ["1", "2"]]),
        ("a\n1\n2\n\x1a\x1a", [["a"], ["1"], ["2"]]),
        # notes: with more cells than the table, and in quotes
        ("id,name,x\n1,a,2.5\n2,b,3.5\n\nSource: ONS, L, Note, more\n", [["id", "name", "x"], ["1", "a", "2.5"], ["2", "b", "3.5"]]),
        ('year,pop\n2001,1.5\n2002,2.5\n\n"Source: ONS, London",2024,x\n', [["year", "pop"], ["2001", "1.5"], ["2002", "2.5"]]),
        ('id,name,x\n1,a,2.5\n2,b,3.5\n\n"Source: ONS, London"\n', [["id", "name", "x"], ["1", "a", "2.5"], ["2", "b", "3.5"]]),
        ('id,name,x\n1,a,2.5\n2,b,3.5\n"Source: ONS, London"\n', [["id", "name", "x"], ["1", "a", "2.5"], ["2", "b", "3.5"]]),
        # an empty line within a table
        ("name,score\nfoo,12\n\nbar,absent\nbaz,13\n", [["name", "score"], ["foo", "12"], ["bar", "absent"], ["baz", "13"]]),
        ("name,score\n\nfoo,absent\nbar,2\n", [["name", "score"], ["foo", "absent"], ["bar", "2"]]),
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
        ("1\ta\t\\N\n2\tb\t5\n3\tc\t6\n", [["1", "a", ""], ["2", "b", "5"], ["3", "c", "6"]]),  # psql's COPY
        ("A1,NULL\nA2,3.5\nA3,4.5\n", [["A1", ""], ["A2", "3.5"], ["A3", "4.5"]]),
        ("A1,nan\nA2,3.5\nA3,4.5\n", [["A1", "NaN"], ["A2", "3.5"], ["A3", "4.5"]]),
        ("A1,\nA2,3.5\nA3,4.5\n", [["A1", ""], ["A2", "3.5"], ["A3", "4.5"]]),
        ("5.1,?,setosa\n4.9,1.4,setosa\n4.7,1.3,setosa\n", [["5.1", "?", "setosa"], ["4.9", "1.4", "setosa"], ["4.7", "1.3", "setosa"]]),
        ("2024-01-02,-,5\n2024-01-03,3,6\n", [["2024-01-02", "-", "5"], ["2024-01-03", "3", "6"]]),
        ("a,.\nb,3\nc,4\n", [["a", "."], ["b", "3"], ["c", "4"]]),
        ("s1,<0.5\ns2,0.7\ns3,0.9\n", [["s1", "<0.5"], ["s2", "0.7"], ["s3", "0.9"]]),
        ("12a,5\n13,6\n14,7\n", [["12a", "5"], ["13", "6"], ["14", "7"]]),
        ("bob,0000-00-00\nann,2024-01-01\n", [["bob", "0000-00-00"], ["ann", "2024-01-01"]]),
        ("ERR,3.5\n5,4.5\n6,7.5\n", [["ERR", "3.5"], ["5", "4.5"], ["6", "7.5"]]),
    ],
)  # fmt: skip
def test_marks_for_missing_values_are_not_names(upsweep, content, rows):
    assert rows_of(upsweep, content)[1:] == rows


@pytest.mark.parametrize(
    "content, names",
    [
        ("id,400.5,401.0,401.5\n1,0.5,0.6,0.5\n2,0.4,0.3,0.1\n", ["id", "400.5", "401.0", "401.5"]),
        ("sex,<18,>=18\nm,5,6\nf,7,8\n", ["sex", "<18", ">=18"]),
        (",name\n0,foo\n1,bar\n", ["column0", "name"]),  # pandas
        ("name,,\nfoo,1,2\nbar,3,4\n", ["name", "column1", "column2"]),
        ("#,name\n1,foo\n2,bar\n", ["#", "name"]),
        ("region,NA,EU\nfoo,5,6\nbar,7,8\n", ["region", "NA", "EU"]),
        ("player,3P\nfoo,5\nbar,6\n", ["player", "3P"]),
        ("id,x\n--,-\n1,5\n2,6\n", ["id_--", "x_-"]),  # sqlcmd
        ("country,2019,2020\nDE,5,6\nFR,7,8\n", ["country", "2019", "2020"]),
    ],
)
def test_unusual_names(upsweep, content, names):
    assert rows_of(upsweep, content)[0] == names


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


@pytest.mark.parametrize(
    "content, line",
    [
        ("year,pop\n2001,1.5\n2002,2.5\n2003,3.5\n\nRegion,Sales,Cost\nN,1,2\nS,3,4\n", 6),
        ("name,n\nfoo,2\nbaz,3\n\nbar,4,5\n", 5),
        ("name,n\nfoo,2\nbaz,3\n\nNote: x,4,5\nNote: y,5,6\n", 5),
        ('id,name,x\n1,a,2.5\n2,b,3.5\n\n"3,c,4.5"\n', 5),
        ('id,name,x\n1,a,2.5\n2,b,3.5\n"3,c,4.5"\n', 4),
    ],
)
def test_rows_of_another_length_are_no_notes(upsweep, content, line):
    upsweep.write("t.csv", content)
    message = upsweep.fails("malformed", "query", "SELECT * FROM 't.csv'")["message"]
    assert f"line {line} has" in message, message


@pytest.mark.parametrize("rows", [10, 900, 1100, 3000])
def test_a_note_below_a_table_of_any_length(upsweep, rows):
    table = "id,name\n" + "".join(f"{i},a\n" for i in range(rows))
    upsweep.write("t.csv", table + f"{rows} rows exported\n")
    assert upsweep.json("query", "SELECT COUNT(*), MAX(id) FROM 't.csv'")["rows"] == [[rows, rows - 1]]
    upsweep.write("t.csv", table + f"{rows}\n")
    upsweep.fails("malformed", "query", "SELECT COUNT(*) FROM 't.csv'")


@pytest.mark.parametrize(
    "content, delimiter, columns",
    [
        ("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n", ":", 7),
        (('127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 5\n'
         '127.0.0.2 - - [10/Oct/2000:13:55:37 -0700] "GET / HTTP/1.0" 404 -\n'), " ", 8),
        (("#Software: Microsoft IIS\n#Fields: date time c-ip cs-uri-stem sc-status\n2024-01-02 03:04:05 10.0.0.1 /index.html 200\n"
         "2024-01-02 03:04:06 10.0.0.2 /x.html 404\n"), " ", 5),
    ],
)  # fmt: skip
def test_logs_name_the_option(upsweep, content, delimiter, columns):
    upsweep.write("t.csv", content)
    message = upsweep.fails("malformed", "query", "SELECT * FROM 't.csv'")["message"]
    assert f"--delimiter '{delimiter}'" in message, message
    rows = rows_of(upsweep, content, "--delimiter", delimiter, "--header", "no", "--comment", "#")
    assert [len(row) for row in rows] == [columns] * 3


@pytest.mark.parametrize("content", ["full name\nJohn Smith\nJane Doe\n", "a\nx 1 2 y\nz 3 4 u\n", "x 1 2 y\nz 3 4 5 6\n"])
def test_words_are_one_column(upsweep, content):
    assert rows_of(upsweep, content) == [[line] for line in content.splitlines()]


def test_html_is_refused(upsweep):
    upsweep.write("t.csv", "<table border=1>\n<tr><td>id</td></tr>\n</table>\n")
    assert "is an HTML page" in upsweep.fails("malformed", "query", "SELECT * FROM 't.csv'")["message"]


def test_two_tables_with_equal_rows_are_refused(upsweep):
    content = "kind,total\nfood,12.5\nrent,500\n\nday,amount\n2024-01-02,5\n2024-01-03,6\n"
    upsweep.write("t.csv", content)
    message = upsweep.fails("malformed", "query", "SELECT * FROM 't.csv'")["message"]
    assert "line 5" in message and "another table" in message and "--skip 4" in message, message
    assert rows_of(upsweep, content, "--skip", "4")[0] == ["day", "amount"]
    assert rows_of(upsweep, content, "--skip-end", "3")[0] == ["kind", "total"]
    assert len(rows_of(upsweep, content, "--header", "yes")) == 6


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
        ("n\n1600-01-01 10:00\n2024-01-01 11:00:00.123456789\n",
         ["1600-01-01 10:00", "2024-01-01 11:00:00.123456789"], "outside the years 1678 to 2261", []),
        ("n\n1600-01-01 10:00\n2024-01-01 11:00:00.123456789\nx\n",
         ["1600-01-01 10:00", "2024-01-01 11:00:00.123456789", "x"], "", []),  # text for another reason
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
