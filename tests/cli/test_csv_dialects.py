# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_csv_dialects.py: options about the form of a CSV file, what the command says that it understood, and
# types that all cells of a file determine.
import json

import pytest
from test_terminal import shown

pytestmark = pytest.mark.usefixtures("arrow")

FILL_ROWS = ["--header", "no", "--ragged", "fill"]
MANY = 400_000  # rows of a few bytes: more than 1 MiB, and more than the sniffer reads


def read(upsweep, names, content, *options):
    """Returns the types of columns, and all rows in an order that depends only on their values."""
    upsweep.write("t.csv", content)
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    answer = upsweep.json("query", f"SELECT {columns}, COUNT(*) FROM 't.csv' GROUP BY {columns}", *options)
    rows = [row[:-1] for row in answer["rows"] for _ in range(row[-1])]
    return answer["types"][:-1], ordered(rows)


def ordered(rows):
    return sorted(rows, key=repr)


# -------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "content, options, names, rows",
    [
        # --delimiter
        ("a;b,c\n1;2,3\n", ["--delimiter", ";"], ["a", "b,c"], [[1, "2.3"]]),
        ("a;b,c\n1;2,3\n", ["--delimiter", ","], ["a;b", "c"], [["1;2", 3]]),
        ("a\tb\nx\ty\n", ["--delimiter", "tab"], ["a", "b"], [["x", "y"]]),
        ("a\tb\nx\ty\n", ["--delimiter", "\\t"], ["a", "b"], [["x", "y"]]),
        ("a\tb\nx\ty\n", ["--delimiter", "\t"], ["a", "b"], [["x", "y"]]),
        ("a\tb\nx\ty\n", ["--delimiter", ","], ["a\tb"], [["x\ty"]]),
        ("a b\nx y\n", ["--delimiter", "space"], ["a", "b"], [["x", "y"]]),
        ("a b\nx y\n", ["--delimiter", " "], ["a", "b"], [["x", "y"]]),
        ("a:b\nx:y\n", ["--delimiter", ":"], ["a", "b"], [["x", "y"]]),
        ("a::b\nx::y:z\n", ["--delimiter", "::"], ["a", "b"], [["x", "y:z"]]),
        ("a, b\nx, y\n", ["--delimiter", ", "], ["a", "b"], [["x", "y"]]),
        ("a§b\nx§y\n", ["--delimiter", "§"], ["a", "b"], [["x", "y"]]),
        ("a^b\n1^2\n3\n", ["--delimiter", "^", "--ragged", "fill"], ["a", "b"], [[1, 2], [3, None]]),
        ("x\n\n14,50\n", ["--delimiter", ";"], ["x"], [[None], ["14.50"]]),
        ("x\n\n14,50\n", ["--delimiter", ","], ["column0", "column1"], [[14, 50]]),
        # --quote
        ("a,b\n'x,y',1\nit's,2\n", ["--quote", "'"], ["a", "b"], [["x,y", 1], ["it's", 2]]),
        ('a,b\n"x",1\n"y",2\n', ["--quote", "none"], ["a", "b"], [['"x"', 1], ['"y"', 2]]),
        ('a,b,c\nx"y, z",1\np,q,2\n', ["--quote", "none"], ["a", "b", "c"], [['x"y', ' z"', 1], ["p", "q", 2]]),
        ("a,b\n'x',1\n'y',2\n", ["--quote", '"'], ["a", "b"], [["'x'", 1], ["'y'", 2]]),
        ("a,b\n$x,y$,1\n", ["--quote", "$"], ["a", "b"], [["x,y", 1]]),
        ("a,b\nO\\'Neil,1\n", ["--quote", "none"], ["a", "b"], [["O\\'Neil", 1]]),
        # --escape
        ('a,b\n"x\\",y",1\n"z",2\n', ["--escape", "\\"], ["a", "b"], [['x",y', 1], ["z", 2]]),
        ("a,b\nx\\, y,1\n", ["--escape", "\\"], ["a", "b"], [["x, y", 1]]),
        ('a,b\n"x^"y",1\n"z",2\n', ["--escape", "^"], ["a", "b"], [['x"y', 1], ["z", 2]]),
        ('a,b\n"x""y",1\n"z",2\n', ["--escape", '"'], ["a", "b"], [['x"y', 1], ["z", 2]]),
        # --decimal and --thousands
        ("a;b\n1,234;x\n5,678;y\n", ["--decimal", ","], ["a", "b"], [["1.234", "x"], ["5.678", "y"]]),
        ("a;b\n1,234;x\n5,678;y\n", ["--decimal", "."], ["a", "b"], [[1234, "x"], [5678, "y"]]),
        ("a;b\n1,234;x\n5,678;y\n", ["--thousands", ","], ["a", "b"], [[1234, "x"], [5678, "y"]]),
        ("a;b\n1.234;x\n5.678;y\n", ["--thousands", "."], ["a", "b"], [[1234, "x"], [5678, "y"]]),
        ("a;b\n1.234;x\n5.678;y\n", ["--decimal", ","], ["a", "b"], [[1234, "x"], [5678, "y"]]),
        ("a;b\n1 234;x\n56;y\n", ["--thousands", " "], ["a", "b"], [[1234, "x"], [56, "y"]]),
        ("a;b\n1'234.5;x\n56;y\n", ["--thousands", "'"], ["a", "b"], [["1234.5", "x"], ["56.0", "y"]]),
        ('a,b\n"1,234.5",x\n2,y\n', ["--thousands", "none"], ["a", "b"], [["1,234.5", "x"], ["2", "y"]]),
        ("a;b\n1,5;x\n2,5;y\n", ["--decimal", "."], ["a", "b"], [["1,5", "x"], ["2,5", "y"]]),
        # --null
        ("a,b\n1,x\n-,y\n", ["--null", "-"], ["a", "b"], [[1, "x"], [None, "y"]]),
        ("a,b\n1,x\nn/a,y\n?,-9\n", ["--null", "n/a,?,-9"], ["a", "b"], [[1, "x"], [None, "y"], [None, None]]),
        ("a,b\nNA,x\nDE,NA\n", ["--null", "NA"], ["a", "b"], [[None, "x"], ["DE", None]]),
        ("a,b\n-999,x\n5,y\n", ["--null", "-999"], ["a", "b"], [[None, "x"], [5, "y"]]),
        ("a,b\nNA,x\n5,y\n", ["--null", "-"], ["a", "b"], [["NA", "x"], ["5", "y"]]),
        # --header
        ("a,b\n1,2\n", ["--header", "no"], ["column0", "column1"], [["a", "b"], ["1", "2"]]),
        ("1,2\n3,4\n", ["--header", "yes"], ["1", "2"], [[3, 4]]),
        ("1,2\n3,4\n", ["--header", "1"], ["1", "2"], [[3, 4]]),
        ("x,y\n1,2\n3,4\n", ["--header", "1,2"], ["x_1", "y_2"], [[3, 4]]),
        ("x,y\na,b\n1,2\n3,4\n", ["--header", "yes"], ["x", "y"], [["a", "b"], ["1", "2"], ["3", "4"]]),
        ("x,y\nu,v\n1,2\n", ["--header", "2"], ["u", "v"], [[1, 2]]),
        # --skip and --skip-end
        ("a,b\nc,d\n1,2\n", ["--skip", "1"], ["c", "d"], [[1, 2]]),
        ("one,two\nnote\n\na,b\n1,2\n", ["--skip", "3"], ["a", "b"], [[1, 2]]),
        ("a,b\n1,2\n", ["--skip", "0"], ["a", "b"], [[1, 2]]),
        ("a,b\n1,2\n3,4\nsum,6\n", ["--skip-end", "1"], ["a", "b"], [[1, 2], [3, 4]]),
        ("a,b\n1,2\n3,4\nsum,6", ["--skip-end", "1"], ["a", "b"], [[1, 2], [3, 4]]),
        ("a,b\r\n1,2\r\n3,4\r\nsum,6\r\nmean,3\r\n", ["--skip-end", "2"], ["a", "b"], [[1, 2], [3, 4]]),
        ("t\na,b\n1,2\nx,6\n", ["--skip", "1", "--skip-end", "1"], ["a", "b"], [[1, 2]]),
        # --comment
        ("% by x\na,b\n1,2\n% end\n3,4\n", ["--comment", "%"], ["a", "b"], [[1, 2], [3, 4]]),
        ("a,b\n1,2\n//x,y\n3,4\n", ["--comment", "//"], ["a", "b"], [[1, 2], [3, 4]]),
        ("a,b\n1,2\n#3,4\n", ["--comment", "#"], ["a", "b"], [[1, 2]]),
        ("a,b\n1,2\n#3,4\n", ["--comment", "none"], ["a", "b"], [["1", 2], ["#3", 4]]),
        # --encoding
        (b"a,b\nCaf\xe9,1\n", ["--encoding", "iso-8859-1"], ["a", "b"], [["Café", 1]]),
        (b"a,b\n\x80,1\n", ["--encoding", "Windows-1252"], ["a", "b"], [["€", 1]]),
        ("a,b\nCafé,1\n".encode(), ["--encoding", "latin-1"], ["a", "b"], [["CafÃ©", 1]]),
        ("a,b\nCafé,1\n".encode("utf-16-be"), ["--encoding", "utf-16be"], ["a", "b"], [["Café", 1]]),
        ("a,b\nCafé,1\n".encode("utf-16-le"), ["--encoding", "UTF-16LE"], ["a", "b"], [["Café", 1]]),
        ("東,京\n1,2\n".encode("utf-16-le"), ["--encoding", "utf-16le"], ["東", "京"], [[1, 2]]),
        ("a,b\nCafé,1\n".encode(), ["--encoding", "utf-8"], ["a", "b"], [["Café", 1]]),
        # --date-format
        ("d,n\n01/02/2017,1\n", ["--date-format", "%d/%m/%Y"], ["d", "n"], [["2017-02-01", 1]]),
        ("d,n\n01/02/2017,1\n", ["--date-format", "%m/%d/%Y"], ["d", "n"], [["2017-01-02", 1]]),
        ("d,n\n170201,1\n", ["--date-format", "%y%m%d"], ["d", "n"], [["2017-02-01", 1]]),
        ("d,n\n20170201,1\n", ["--date-format", "%Y%m%d"], ["d", "n"], [["2017-02-01", 1]]),
        ("d,n\n1.2.17,1\n", ["--date-format", "%d.%m.%y"], ["d", "n"], [["2017-02-01", 1]]),
        ("d,n\n1-Feb-17 5 PM,1\n", ["--date-format", "%d-%b-%y %I %p"], ["d", "n"], [["2017-02-01T17:00:00", 1]]),
        ("d,n\n2017-032,1\n", ["--date-format", "%Y-%j"], ["d", "n"], [["2017-02-01", 1]]),
        # --types
        ("a,b\n1,2\n", ["--types", "string"], ["a", "b"], [["1", "2"]]),
        ("a,b\n+1.50,02\n", ["--types", "string"], ["a", "b"], [["+1.50", "02"]]),
        ("a,b\n 1 ,1/2/2017\n", ["--types", "string"], ["a", "b"], [[" 1 ", "1/2/2017"]]),
        ("a,b\n1,2\n", ["--types", "a=string"], ["a", "b"], [["1", 2]]),
        ("a,b\n007,2\n", ["--types", "a=int64"], ["a", "b"], [[7, 2]]),
        ("a,b\n$5,2\n", ["--types", "a=int64"], ["a", "b"], [[5, 2]]),
        ("a;b\n1,5;2\n", ["--types", "a=decimal(9,2)"], ["a", "b"], [["1.50", 2]]),
        ("a,b\nNA,2\n,3\n", ["--types", "a=int64"], ["a", "b"], [[None, 2], [None, 3]]),
        ("a,b\n13/02/2017,2\n", ["--types", "a=date"], ["a", "b"], [["2017-02-13", 2]]),
        ("a,b\n1,2\n", ["--types", "a=decimal(18,2)"], ["a", "b"], [["1.00", 2]]),
        ("a,b\n1,2\n", ["--types", "a=float64", "--types", "b=string"], ["a", "b"], [[1, "2"]]),
        ("a,b\n2017-01-02,2\n", ["--types", "a=timestamp"], ["a", "b"], [["2017-01-02T00:00:00", 2]]),
        ("a,b\n2017-01-02,2\n", ["--types", "a=string"], ["a", "b"], [["2017-01-02", 2]]),
        ("a,b\ntrue,2\n", ["--types", "a=string"], ["a", "b"], [["true", 2]]),
        ("a=b,c\n1,2\n", ["--types", "a=b=string"], ["a=b", "c"], [["1", 2]]),
        # --ragged
        ("a,b\n1,2\n3\n4,5\n", ["--ragged", "fill"], ["a", "b"], [[1, 2], [3, None], [4, 5]]),
        ("a,b\n1,2\n3\n4,5\n", ["--ragged", "skip"], ["a", "b"], [[1, 2], [4, 5]]),
        ("a,b\n1,2\n3,4,5\n", ["--ragged", "skip"], ["a", "b"], [[1, 2]]),
        ("a,b\n1,2\n3,4,5\n6,7\n", ["--ragged", "fill"], ["a", "b", "column2"], [[1, 2, None], [3, 4, 5], [6, 7, None]]),
        ("a;b\n1;2\n3\n4;5\n", ["--ragged", "fill"], ["a", "b"], [[1, 2], [3, None], [4, 5]]),
        ("a,b\n" + "1,2\n" * 3000 + "3\n", ["--ragged", "fill"], ["a", "b"], [[1, 2]] * 3000 + [[3, None]]),
        ("a,b\n" + "1,2\n" * 3000 + "3\n", ["--ragged", "skip"], ["a", "b"], [[1, 2]] * 3000),
        ('a,b\n1,2\n3,"x\n4,5\n', ["--ragged", "fill"], ["a", "b"], [[1, "2"], [3, '"x'], [4, "5"]]),
        ('a,b\n1,2\n3,"x\n4,5\n', ["--ragged", "skip"], ["a", "b"], [[1, 2], [4, 5]]),
        ('a,b\n1,2\n3,"x"y\n4,5\n', ["--ragged", "fill"], ["a", "b"], [[1, "2"], [3, '"x"y'], [4, "5"]]),
        ('a,b\n1,2\n3,"x"y\n4,5\n', ["--ragged", "skip"], ["a", "b"], [[1, 2], [4, 5]]),
        # A delimiter is missing before a quoted cell.
        (
            'a,b,c\n1,"x, y",2\n3"p, q, r",4\n',
            ["--ragged", "fill"],
            ["a", "b", "c"],
            [[1, "x, y", 2], [3, "p, q, r", 4]],
        ),
        (
            'a,b,c\n1,"x, y",2\n3"p, q, r" s,4\n',
            ["--ragged", "fill"],
            ["a", "b", "c", "column3"],
            [["1", "x, y", "2", None], ['3"p', " q", ' r" s', 4]],
        ),
        # Without a header row, the first row may be short.
        ("1,2\n3,4,\n5,6,\n", FILL_ROWS, ["column0", "column1", "column2"], [[1, 2, None], [3, 4, None], [5, 6, None]]),
        (
            '"p","q"\n"x",1,2\n"y",3,4\n',
            FILL_ROWS,
            ["column0", "column1", "column2"],
            [["p", "q", None], ["x", "1", 2], ["y", "3", 4]],
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and str(value[0]).startswith("--") else None,
)
def test_options_decide(upsweep, content, options, names, rows):
    assert read(upsweep, names, content, *options)[1] == ordered(rows)


@pytest.mark.parametrize(
    "option, value",
    [
        ("--delimiter", ""),
        ("--delimiter", '"'),
        ("--delimiter", "\n"),
        ("--quote", "ab"),
        ("--quote", "é"),
        ("--quote", "\n"),
        ("--escape", "ab"),
        ("--escape", "\n"),
        ("--decimal", ";"),
        ("--decimal", ""),
        ("--decimal", "comma"),
        ("--thousands", "abcd"),
        ("--thousands", "5"),
        ("--header", "maybe"),
        ("--header", "0"),
        ("--header", "2,1"),
        ("--header", "1,1"),
        ("--header", "1,"),
        ("--header", "-1"),
        ("--header", "99999999999999999999"),
        ("--skip", "-1"),
        ("--skip", "x"),
        ("--skip", "1.5"),
        ("--skip", ""),
        ("--skip-end", "-1"),
        ("--skip-end", "many"),
        ("--encoding", "utf-9"),
        ("--encoding", ""),
        ("--date-format", ""),
        ("--date-format", "%"),
        ("--date-format", "%Q"),
        ("--date-format", "dd.mm.yyyy"),
        ("--types", "int"),
        ("--types", "a=int"),
        ("--types", "a="),
        ("--types", "a=decimal(2,3)"),
        ("--types", "a=decimal(39,2)"),
        ("--types", "a=decimal(x)"),
        ("--ragged", "ignore"),
        ("--ragged", ""),
    ],
)
def test_bad_values_name_their_option(upsweep, option, value):
    upsweep.write("t.csv", "a,b\n1,2\n")
    message = upsweep.fails("invalid_argument", "query", "SELECT COUNT(*) FROM 't.csv'", option, value)["message"]
    assert option in message, message


def test_types_of_columns_that_do_not_exist(upsweep):
    upsweep.write("t.csv", "a,b\n1,2\n")
    message = upsweep.fails("unknown_column", "query", "SELECT COUNT(*) FROM 't.csv'", "--types", "c=string")["message"]
    assert "'c'" in message and "--types" in message and "'a', 'b'" in message, message


@pytest.mark.parametrize(
    "type_, good, bad",
    [
        ("int64", "1", "x"),
        ("int64", "1", "1.5"),
        ("int64", "1", "9223372036854775808"),
        ("uint64", "1", "-1"),
        ("decimal(18,2)", "1.25", "1.255"),
        ("decimal(18,2)", "1.25", "x"),
        ("float64", "1.5", "x"),
        ("date", "2017-01-02", "2017-02-30"),
        ("time", "9:30", "25:00"),
        ("timestamp", "2017-01-02 10:00:00", "10:00:00"),
        ("bool", "true", "maybe"),
    ],
)
@pytest.mark.parametrize("before", [1, MANY])
def test_a_cell_that_does_not_have_the_required_type(upsweep, type_, good, bad, before):
    upsweep.write("t.csv", "a,b\n" + f"{good},2\n" * before + f"{bad},2\n{good},2\n")
    sql = "SELECT COUNT(a) FROM 't.csv'"
    error = upsweep.fails("malformed", "query", sql, "--types", f"a={type_}", index=before)
    message = error["message"]
    assert message.startswith(f"t.csv:a: line {before + 2}: '{bad}' ") and type_.partition("(")[0] in message, message
    assert "--types" in message and "[" not in message and "while it is read" not in message, message
    upsweep.write("t.csv", "a,b\n" + f"{good},2\n" * before)
    assert upsweep.json("query", sql, "--types", f"a={type_}")["rows"] == [[before]]


@pytest.mark.parametrize(
    "options",
    [["--header", "3"], ["--header", "1,4"], ["--skip", "2"], ["--skip", "9"], ["--skip-end", "2"], ["--skip-end", "9"]],
)
def test_options_that_leave_no_table(upsweep, options):
    upsweep.write("t.csv", "a,b\n1,2\n")
    message = upsweep.fails(("malformed", "invalid_argument"), "query", "SELECT COUNT(*) FROM 't.csv'", *options)["message"]
    assert message.startswith("t.csv: ") and options[0] in message, message


def test_a_date_that_does_not_have_the_format_leaves_text(upsweep):
    for text, kind in (("01/02/2017\n03/04/2018\n", "date"), ("01/02/2017\n31/31/2018\n", "text")):
        assert read(upsweep, ["d"], "d\n" + text, "--date-format", "%d/%m/%Y")[0] == [kind]


@pytest.mark.parametrize(
    "option, value", [("--delimiter", ";"), ("--header", "no"), ("--types", "b=int64"), ("--ragged", "fill")]
)
def test_every_command_has_the_options(upsweep, option, value):
    upsweep.write(
        "t.csv", "a;b\n1;2\n3;4\n" if option == "--delimiter" else "a,b\n1,2\n3,4\n" if option != "--header" else "1,2\n3,4\n"
    )
    column = "column1" if option == "--header" else "b"
    assert upsweep.json("reduce", f"t.csv:{column}", option, value)["value"] == 6
    assert upsweep.npy("scan", f"t.csv:{column}", option, value).tolist() == [2, 6]
    assert upsweep.json("query", f"SELECT SUM({column}) FROM 't.csv'", option, value)["rows"] == [[6]]
    assert upsweep.json("subset-sum", f"t.csv:{column}", "--target", "4", option, value)["reachable"] is True


def test_options_apply_to_each_file(upsweep):
    upsweep.write("g0.csv", "t\na^b\n1^2\n")
    upsweep.write("g1.csv", "u\nb^a\n3^4\n")
    options = ["--delimiter", "^", "--skip", "1"]
    assert upsweep.json("query", "SELECT SUM(a), SUM(b) FROM 'g*.csv'", *options)["rows"] == [[5, 5]]


def test_options_of_csv_do_not_change_other_files(upsweep):
    upsweep.table("t.parquet", {"a": [1, 2]})
    assert upsweep.json("query", "SELECT SUM(a) FROM 't.parquet'", "--delimiter", ";")["rows"] == [[3]]


@pytest.mark.parametrize("ragged", ["fill", "skip"])
@pytest.mark.parametrize(
    "other, rows",
    [
        ("x,y,z\n5,6,7\n8,9,10\n", [[1, 2], [3, 4]]),
        ("x,y,z\n5,6,\n", [[1, 2], [3, 4]]),
        ("x,y,z\np,q,r\n", None),  # these may be values
        ("x,y,z\n5,6,7\n8,9\n", None),  # not all of its rows have three cells
        ("5,6,7\n8,9,10\n", None),  # no names
    ],
)
def test_the_table_ends_above_another_table(upsweep, ragged, other, rows):
    upsweep.write("t.csv", "a,b\n1,2\n3,4\n" + other)
    answer = upsweep.json("query", "SELECT a, b FROM 't.csv'", "--ragged", ragged)
    if rows:
        assert answer["rows"] == rows
        lines = other.count("\n")
        assert f"{lines} lines after the table left out" in str(answer["remarks"])
    else:
        assert "left out" not in str(answer["remarks"]) or ragged == "skip"
        assert len(answer["rows"]) > 2 or ragged == "skip"
    upsweep.fails("malformed", "query", "SELECT a, b FROM 't.csv'")


@pytest.mark.parametrize("rows", [10, 997, 998, 999, 1000, 1500, 20_000, MANY])
def test_lines_after_a_table_of_any_length(upsweep, rows):
    """The sniffer reads 1,000 rows. Lines that are not the last ones end no table."""
    table = "a,b\n" + "1,2\n" * rows
    upsweep.write("t.csv", table + "\nSource: x\n")
    answer = upsweep.json("query", "SELECT COUNT(*), SUM(b) FROM 't.csv'")
    assert answer["rows"] == [[rows, 2 * rows]]
    assert "1 line after the table left out" in str(answer["remarks"])
    upsweep.write("t.csv", table + "\nSource: x\n" + "1,2\n" * 1000)
    message = upsweep.fails("malformed", "query", "SELECT COUNT(*) FROM 't.csv'")["message"]
    assert f"line {rows + 3} has 1 cell" in message, message


# -------------------------------------------------------------------------------------------------------------- remarks


@pytest.mark.parametrize(
    "content, words",
    [
        ("a;b\n1;2\n", ["semicolons"]),
        ("a\tb\n1\t2\n", ["tabs"]),
        ("a|b\n1|2\n", ["vertical bars"]),
        ("a;b\n1,5;2\n", ["semicolons", "decimal comma"]),
        ("Report\n\na,b\n1,2\n", ["header in line 3"]),
        ("1,2\n3,4\n", ["no header"]),
        ("x,y\na,b\n1,2\n3,4\n", ["header in 2 rows"]),
        ("a,b\n'x, y',1\n'z',2\n", ["apostrophes as quotes"]),
        ('a,b\n"x \\"y",1\n"z",2\n', ["backslash before quotes"]),
        (b"a,b\nCaf\xe9,1\n", ["Windows-1252"]),
        ("\ufeffa,b\nx,1\n".encode("utf-16-le"), ["UTF-16"]),
        ("a,b\n1,2\n# x\n3,4\n", ["comments after '#'"]),
        ("a,b\n1,2\n3,4\n\nSource: x\n", ["1 line after the table left out"]),
        ("a;b\n1.234,5;2\n", ["semicolons", "decimal comma", "'.' between thousands"]),
        (
            "Umsätze\r\n\r\nName;Preis\r\nMüller;1,50\r\n".encode("cp1252"),
            ["semicolons", "decimal comma", "header in line 3", "Windows-1252"],
        ),
    ],
)
def test_what_was_understood_is_said_in_one_line(upsweep, content, words):
    upsweep.write("t.csv", content)
    output = shown(upsweep, "query", "SELECT COUNT(*) FROM 't.csv'")
    (line,) = (line for line in output.split("\n") if line.startswith("t.csv: "))
    assert line.removeprefix("t.csv: ").split(", ") == words or all(word in line for word in words), output
    # Pipes and --quiet get the result only.
    upsweep.ok("query", "SELECT COUNT(*) FROM 't.csv'")
    assert "t.csv: " not in shown(upsweep, "query", "SELECT COUNT(*) FROM 't.csv'", "--quiet")


@pytest.mark.parametrize("content", ["a,b\n1,2\n", 'a,b\r\n"x, y",2.5\r\n', "\ufeffa\n1\n"])
def test_nothing_is_said_about_usual_files(upsweep, content):
    upsweep.write("t.csv", content)
    assert "t.csv: " not in shown(upsweep, "query", "SELECT COUNT(*) FROM 't.csv'")


@pytest.mark.parametrize(
    "command",
    [
        ["query", "SELECT SUM(b) FROM 't.csv'"],
        ["query", "SELECT a, b FROM 't.csv'"],
        ["reduce", "t.csv:b"],
        ["scan", "t.csv:b"],
        ["offsets", "t.csv:a", "t.csv:b"],
        ["segment", "t.csv:b", "--offsets", "t.csv:a"],
        ["select", "t.csv:b", "--mask", "t.csv:c"],
        ["select", "t.csv:a", "t.csv:b", "--mask", "t.csv:c"],
        ["subset-sum", "t.csv:b", "--target", "2"],
        ["subset-sum", "t.csv:b", "--target", "2", "--all", "5"],
    ],
    ids=lambda command: " ".join(command),
)
def test_every_command_says_it(upsweep, command):
    upsweep.write("t.csv", "a;b;c\n0;2;true\n2;3;false\n")
    # Several columns of a file have one line.
    assert shown(upsweep, *command).count("t.csv: semicolons") == 1
    assert upsweep.json(*command)["remarks"] == ["t.csv: semicolons"]
    upsweep.write("t.csv", "a,b,c\n0,2,true\n2,3,false\n")
    assert "remarks" not in upsweep.json(*command)


def test_errors_in_json_say_it(upsweep):
    upsweep.write("t.csv", "a;b\n1;x\n")
    done = upsweep.run("reduce", "t.csv:a", "--op", "add", "--dtype", "int3", "--json")
    assert done.returncode == 2
    result = json.loads(done.stdout)
    assert result["error"]["code"] == "invalid_argument"
    assert result["remarks"] == ["t.csv: semicolons"]


def test_json_says_it(upsweep):
    upsweep.write("t.csv", "a;b\n1,5;2\n")
    answer = json.dumps(upsweep.json("query", "SELECT SUM(a) FROM 't.csv'"))
    assert "semicolons, decimal comma" in answer, answer


@pytest.mark.parametrize(
    "ragged, count, words",
    [("skip", 2, ["5 rows", "left out", "lines 3, 4, 6"]), ("fill", 7, ["5 rows", "filled", "lines 3, 4, 6"])],
)
def test_irregular_rows_are_counted(upsweep, ragged, count, words):
    upsweep.write("t.csv", "a,b\n1,2\n3\n4\n5,6\n7\n8\n9\n")
    assert upsweep.json("query", "SELECT COUNT(*) FROM 't.csv'", "--ragged", ragged)["rows"] == [[count]]
    output = shown(upsweep, "query", "SELECT COUNT(*) FROM 't.csv'", "--ragged", ragged)
    assert all(word in output for word in words), output


# --------------------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    "first, last, kind, most, least",
    [
        ("5", "7", "integer", 7, 5),
        ("5", "2.25", "decimal", "5.00", "2.25"),
        ("2.25", "5", "decimal", "5.00", "2.25"),
        ("2.5", "5.125", "decimal", "5.125", "2.500"),
        ("5", "1e3", "real", 1000, 5),
        ("5", "x", "text", "x", "5"),
        ("2.25", "x", "text", "x", "2.25"),
        ("1e3", "x", "text", "x", "1e3"),
        ("5", "9223372036854775808", "integer", 9223372036854775808, 5),
        ("-5", "9223372036854775808", None, "9223372036854775808", "-5"),
        ("5", "08701", "text", "5", "08701"),
        ("5", "2017-01-02", "text", "5", "2017-01-02"),
        ("2017-01-02", "2017-01-03", "date", "2017-01-03", "2017-01-02"),
        ("2017-01-02", "2017-01-02 10:00:00", "timestamp", "2017-01-02T10:00:00", "2017-01-02T00:00:00"),
        ("2017-01-02", "x", "text", "x", "2017-01-02"),
        ("9:30", "10:00:00.5", "time", "10:00:00.5", "09:30:00"),
        ("9:30", "x", "text", "x", "9:30"),
        ("true", "x", "text", "x", "true"),
        ("", "5", "integer", 5, 5),
        ("NA", "5", "integer", 5, 5),
        ("$5", "$7", "integer", 7, 5),
        ("$5", "€7", "text", "€7", "$5"),
        ("5%", "7.5%", "decimal", "0.075", "0.050"),
        ("5%", "7", "text", "7", "5%"),
        ("13/01/2017", "01/13/2017", "text", "13/01/2017", "01/13/2017"),
    ],
)
@pytest.mark.parametrize("before", [1, MANY])
def test_the_last_cell_may_widen_the_type(upsweep, first, last, kind, most, least, before):
    upsweep.write("t.csv", "x,n\n" + f"{first},1\n" * before + f"{last},2\n")
    answer = upsweep.json("query", "SELECT MAX(x), MIN(x), COUNT(*), SUM(n) FROM 't.csv'")
    high, low, *counts = answer["rows"][0]
    assert counts == [before + 1, before + 2]
    assert kind in (None, answer["types"][0]), answer
    assert [str(high).rstrip("0") if kind == "time" else high, low] == [most, least] or [str(high), str(low)] == [
        most,
        least,
    ], answer


def test_a_float_column_never_changes_an_integer(upsweep):
    """2^53 + 1 is not a float64. The column is decimal or text, and the value stays."""
    upsweep.write("t.csv", "x\n9007199254740993\n1e3\n")
    answer = upsweep.json("query", "SELECT MAX(x), MIN(x) FROM 't.csv'")
    assert "9007199254740993" in (str(value) for value in answer["rows"][0]), answer


@pytest.mark.parametrize(
    "cells, values",
    [
        (["2017-01-31"], ["2017-01-31"]),
        (["2017/1/31"], ["2017-01-31"]),
        (["2017.01.31"], ["2017-01-31"]),
        (["31/01/2017", "01/02/2018"], ["2017-01-31", "2018-02-01"]),
        (["01/31/2017", "02/01/2018"], ["2017-01-31", "2018-02-01"]),
        (["1/31/2017", "2/1/2018"], ["2017-01-31", "2018-02-01"]),
        (["31-01-2017", "01-02-2018"], ["2017-01-31", "2018-02-01"]),
        (["31.1.2017"], ["2017-01-31"]),
        (["01.02.2017"], ["2017-02-01"]),  # points: day, month, year
        (["31 Jan 2017", "1 Feb 2018"], ["2017-01-31", "2018-02-01"]),
        (["31-Jan-2017"], ["2017-01-31"]),
        (["31. January 2017"], ["2017-01-31"]),
        (["31 january 2017"], ["2017-01-31"]),
        (["Jan 31 2017"], ["2017-01-31"]),
        (["January 31, 2017"], ["2017-01-31"]),
    ],
)
def test_dates(upsweep, cells, values):
    types, rows = read(upsweep, ["d"], "d;n\n" + "".join(f"{cell};1\n" for cell in cells))
    assert (types, rows) == (["date"], ordered([value] for value in values))


@pytest.mark.parametrize(
    "cells, values",
    [
        (["9:30", "10:00"], ["09:30:00", "10:00:00"]),
        (["09:30:15"], ["09:30:15"]),
        (["9:30 PM", "12:00 am"], ["21:30:00", "00:00:00"]),
        (["9:30pm"], ["21:30:00"]),
    ],
)
def test_times(upsweep, cells, values):
    types, rows = read(upsweep, ["t"], "t;n\n" + "".join(f"{cell};1\n" for cell in cells))
    assert (types, rows) == (["time"], ordered([value] for value in values))


@pytest.mark.parametrize(
    "cell, value",
    [
        ("2017-01-31 10:20:30", "2017-01-31T10:20:30"),
        ("2017-01-31T10:20:30", "2017-01-31T10:20:30"),
        ("2017-01-31 10:20", "2017-01-31T10:20:00"),
        ("2017-01-31 10:20:30.5", "2017-01-31T10:20:30.5"),
        ("2017-01-31 10:20:30.123456", "2017-01-31T10:20:30.123456"),
        ("2017-01-31 10:20:30.123456789", "2017-01-31T10:20:30.123456789"),
        ("2017-01-31T10:20:30Z", "2017-01-31T10:20:30Z"),
        ("2017-01-31T10:20:30+02:00", "2017-01-31T08:20:30Z"),
        ("2017-01-31 10:20:30 +0200", "2017-01-31T08:20:30Z"),
        ("2017-01-31 10:20:30 UTC", "2017-01-31T10:20:30Z"),
        ("31/01/2017 10:20:30", "2017-01-31T10:20:30"),
        ("1/31/2017 10:20 PM", "2017-01-31T22:20:00"),
        ("31.01.2017 10:20:30", "2017-01-31T10:20:30"),
        ("31.01.2017, 10:20", "2017-01-31T10:20:00"),
        ("31-Jan-2017 10:20:30", "2017-01-31T10:20:30"),
        ("Jan 31, 2017 10:20:30", "2017-01-31T10:20:30"),
    ],
)
def test_timestamps(upsweep, cell, value):
    types, rows = read(upsweep, ["t"], f"t;n\n{cell};1\n")
    assert types == ["timestamp"]
    found = rows[0][0].replace("+00:00", "Z")
    whole, point, digits = found.partition(".")
    assert (whole + point + digits.rstrip("0") if point and not found.endswith("Z") else found) == value


@pytest.mark.parametrize("other", ["2017-01-31T10:20:30", "2017-01-31 10:20:30.5", "2017-01-31", "31.1.2017"])
def test_timestamps_with_and_without_a_zone_are_text(upsweep, other):
    assert read(upsweep, ["t"], f"t\n2017-01-31T10:20:30Z\n{other}\n")[0] == ["text"]


@pytest.mark.parametrize("day", ["1677-12-31", "2262-01-01", "1500-01-01 10:00:00"])
def test_days_that_nanoseconds_cannot_reach_leave_text(upsweep, day):
    text = f"t\n2017-01-31 10:20:30.123456789\n{day}\n"
    assert read(upsweep, ["t"], text)[0] == ["text"]
    assert read(upsweep, ["t"], text.replace("456789", ""))[0] == ["timestamp"]


@pytest.mark.parametrize("mark", ["/", "-", "."])
@pytest.mark.parametrize("first, second", [(31, 12), (12, 31), (29, 2), (13, 13), (0, 5), (5, 0), (32, 1)])
def test_dates_with_all_digits_and_without_zeros_are_read_alike(upsweep, mark, first, second):
    """Dates of ten characters have a reader of their own."""
    dates = [f"{first:02}{mark}{second:02}{mark}2024", f"{first}{mark}{second}{mark}2024"]
    (full, full_rows), (short, short_rows) = (read(upsweep, ["t"], f"t;n\n{date};1\n") for date in dates)
    assert full == short
    if full == ["date"]:
        assert full_rows == short_rows


@pytest.mark.parametrize(
    "cells",
    [
        ["2017-02-30"],
        ["31/02/2017"],
        ["2017-13-01"],
        ["24:00:01", "25:00"],
        ["2017-01-31 25:00"],
        ["31/01/2017", "2017-01-31x"],
        ["13/01/2017", "01/13/2017"],
        ["1/2", "3/4"],
        ["2017-01", "2017-02"],
        ["31/01/2017", "31-01-2017x"],
    ],
)
def test_what_is_no_date_is_unchanged_text(upsweep, cells):
    types, rows = read(upsweep, ["d"], "d;n\n" + "".join(f"{cell};1\n" for cell in cells))
    assert (types, rows) == (["text"], ordered([cell] for cell in cells))


@pytest.mark.parametrize(
    "delimiter, cells, certain, kind, options",
    [
        (",", ["01/02/2017", "03/04/2018"], "13/04/2018", "date", ["--date-format", "%d/%m/%Y", "%m/%d/%Y"]),
        (",", ["01/02/2017", "03/04/2018"], "04/13/2018", "date", ["--date-format", "%d/%m/%Y", "%m/%d/%Y"]),
        (",", ["1-2-2017", "3-4-2018"], "13-4-2018", "date", ["--date-format"]),
        (",", ['"1,234"', '"5,678"'], '"1,5"', "decimal", ["--thousands", "--decimal"]),
        (";", ["1,234", "5,678"], "1,5", "decimal", ["--thousands", "--decimal"]),
        (";", ["1,234", "5,678"], "1,234,567", "integer", ["--thousands", "--decimal"]),
    ],
)
@pytest.mark.parametrize("before", [1, 200_000])
def test_doubt_leaves_text_and_names_the_option(upsweep, delimiter, cells, certain, kind, options, before):
    content = f"d{delimiter}n\n" + f"{cells[0]}{delimiter}1\n" * before + f"{cells[1]}{delimiter}2\n"
    upsweep.write("t.csv", content)
    answer = upsweep.json("query", "SELECT d, COUNT(*), SUM(n) FROM 't.csv' GROUP BY d")
    assert answer["types"][0] == "text"
    first, second = (cell.strip('"') for cell in cells)
    assert ordered(answer["rows"]) == ordered([[first, before, before], [second, 1, 2]])
    output = shown(upsweep, "query", "SELECT COUNT(*) FROM 't.csv'", columns=300)
    (line,) = (line for line in output.split("\n") if "column 'd'" in line)
    assert all(option in line for option in options), output
    if kind == "date" or before == 1:  # the first rows decide how numbers are written
        upsweep.write("t.csv", content + f"{certain}{delimiter}1\n")
        assert upsweep.json("query", "SELECT MAX(d) FROM 't.csv'")["types"] == [kind]


@pytest.mark.parametrize(
    "cells, kind, values",
    [
        (["$5", "$1,234.50"], "decimal", ["5.00", "1234.50"]),
        (["€ 5,00", "€ 1.234,50"], "decimal", ["5.00", "1234.50"]),
        (["5,00 €", "1.234,50 €"], "decimal", ["5.00", "1234.50"]),
        (["5.00 EUR", "7.50 EUR"], "decimal", ["5.00", "7.50"]),
        (["USD 5.00", "USD 7.50"], "decimal", ["5.00", "7.50"]),
        (["£5.00", "7.50"], "decimal", ["5.00", "7.50"]),
        (["-$5.00", "$-7.50"], "decimal", ["-5.00", "-7.50"]),
        (["($5.00)", "$7.50"], "decimal", ["-5.00", "7.50"]),
        (["$5.00", "€7.50"], "text", ["$5.00", "€7.50"]),
        (["5.00 USD", "7.50 EUR"], "text", ["5.00 USD", "7.50 EUR"]),
        (["$5.00", "US$7.50"], "decimal", ["5.00", "7.50"]),
        (["12%", "7%"], "decimal", ["0.12", "0.07"]),
        (["12.5%", "-7 %"], "decimal", ["0.125", "-0.070"]),
        (["100%", "0%"], "decimal", ["1.00", "0.00"]),
        (["12%", "7"], "text", ["12%", "7"]),
        (["12,5%", "-7,25 %"], "decimal", ["0.1250", "-0.0725"]),
        (["12,5%", "12,5"], "text", ["12,5%", "12,5"]),
        (["5,00 €", "7,50 $"], "text", ["5,00 €", "7,50 $"]),
        (["€ 5,00", "7,50"], "decimal", ["5.00", "7.50"]),
        (["(5,5)", "1,5e3", "2,5-", "+0,5"], "real", [-5.5, 1500.0, -2.5, 0.5]),
        (["(50.25)", "1.00"], "decimal", ["-50.25", "1.00"]),
        (["(50)", "1"], "integer", [-50, 1]),
        (["50.25-", "1.00"], "decimal", ["-50.25", "1.00"]),
        (["50-", "1"], "integer", [-50, 1]),
        (["1'234.50", "56.25"], "decimal", ["1234.50", "56.25"]),
        (["1 234,50", "56,25"], "decimal", ["1234.50", "56.25"]),
        (["1\u00a0234,50", "56,25"], "decimal", ["1234.50", "56.25"]),
        (["1\u202f234,50", "56,25"], "decimal", ["1234.50", "56.25"]),
        (["1.234.567", "1"], "integer", [1234567, 1]),
        (["1,234,567", "1"], "integer", [1234567, 1]),
        (["1,234,567.5", "1"], "decimal", ["1234567.5", "1.0"]),
        (["1,23,456", "1"], "text", ["1,23,456", "1"]),
        (["12,34", "5,6"], "decimal", ["12.34", "5.60"]),
        (["12,34", "5.6"], "text", ["12,34", "5.6"]),
        (["1.5", "+2.5"], "decimal", ["1.5", "2.5"]),
        ([".5", "-.25"], "decimal", ["0.50", "-0.25"]),
        (["--5", "1"], "text", ["--5", "1"]),
        (["(-5)", "1"], "text", ["(-5)", "1"]),
        (["5-3", "1"], "text", ["5-3", "1"]),
        (["$", "1"], "text", ["$", "1"]),
        (["%", "1"], "text", ["%", "1"]),
        (["5 %%", "1"], "text", ["5 %%", "1"]),
        (["1e5%", "1"], "text", ["1e5%", "1"]),
        (["192.168.1.1", "10.0.0.1"], "text", ["192.168.1.1", "10.0.0.1"]),
        (["1.2.3", "1.2.4"], "text", ["1.2.3", "1.2.4"]),
        (["0x1F", "1"], "text", ["0x1F", "1"]),
        (["1_000", "1"], "text", ["1_000", "1"]),
        (["007", "08"], "text", ["007", "08"]),
        (["0,5", "0,25"], "decimal", ["0.50", "0.25"]),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else value,
)
def test_numbers(upsweep, cells, kind, values):
    types, rows = read(upsweep, ["x"], "x;w\n" + "".join(f"{cell};a\n" for cell in cells))
    assert (types, rows) == ([kind], ordered([value] for value in values))
