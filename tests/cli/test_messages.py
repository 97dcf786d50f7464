# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_messages.py: what the command prints about itself and its arguments, and data that must not control a
# terminal.
import os
import pty

import pytest

COMMANDS = [
    "scan",
    "reduce",
    "offsets",
    "segment",
    "select",
    "pack",
    "query",
    "schema",
    "subset-sum",
    "ladder",
    "bench",
    "devices",
    "version",
    "help",
    "completion",
    "man",
]


def message(upsweep, *args, word="invalid_argument"):
    return upsweep.fails(word, *args)["message"]


# ----------------------------------------------------------------------------------------------- commands and arguments


def complaint(upsweep, *args):
    """The arguments of a command line where --json at the end would have another meaning."""
    done = upsweep.run(*args)
    assert (done.returncode, done.stdout) == (2, b""), done
    return done.stderr.decode()


@pytest.mark.parametrize("args", [["nosuch"], ["nosuch", "in.npy"], ["--quiet", "nosuch"], ["Scan", "in.npy"]])
def test_a_word_that_is_no_command_is_named(upsweep, args):
    text = message(upsweep, *args)
    assert f"unknown command '{args[1] if args[0] == '--quiet' else args[0]}'" in text, text
    assert ", ".join(COMMANDS) in text, text


def test_no_command_at_all(upsweep):
    text = message(upsweep, "--quiet")
    assert "a command is needed before --quiet: " in text and ", ".join(COMMANDS) in text, text
    assert "a command is needed before --nosuch: " in message(upsweep, "--nosuch")


def test_the_version(upsweep):
    expected = upsweep.text("--version")
    assert expected.startswith("upsweep ")
    assert upsweep.text("-V") == upsweep.text("version") == expected


def test_help(upsweep):
    assert upsweep.text("help") == upsweep.text("--help") == upsweep.text("-h")
    for command in COMMANDS:
        assert f"\n  {command} " in upsweep.text("help")
        assert upsweep.text("help", command) == upsweep.text(command, "--help")
        assert f"Usage: upsweep {command} " in upsweep.text("help", command)
        assert max(map(len, upsweep.text("help", command).splitlines())) <= 80
    assert "unknown command 'nosuch'" in complaint(upsweep, "help", "nosuch")


@pytest.mark.parametrize(
    "args",
    [
        ["scan", "x.npy", "--overflow"],
        ["scan", "x.npy", "-o"],
        ["scan", "x.npy", "--nulls"],
        ["reduce", "x.npy", "--dtype"],
        ["reduce", "x.npy", "--nulls"],
        ["query", "SELECT COUNT(*) FROM 'x.npy'", "--memory"],
        ["segment", "x.npy", "--offsets", "x.npy", "--by"],
        ["select", "x.npy", "--mask"],
        ["ladder", "scan", "--sizes"],
        ["bench", "scan", "--compare", "x.npy"],
        ["devices", "--threads"],
    ],
)
def test_an_empty_value_is_refused(upsweep, args):
    """It would otherwise be as if the option were not given."""
    upsweep.save("x.npy", [1, 2, 3])
    option = {"-o": "--output", "x.npy": "--compare"}.get(args[-1], args[-1])
    assert message(upsweep, *args, "") == f"{option}: its value is empty (see upsweep {args[0]} --help)"


@pytest.mark.parametrize(
    "args, words",
    [
        (["scan", "in.npy", "b", "c"], "upsweep scan does not accept b c: without an option it accepts IN "),
        (["segment", "in.npy", "b"], "does not accept b: without an option it accepts CONTENT; offsets follow --offsets "),
        (["version", "b"], "upsweep version does not accept b: without an option it accepts nothing "),
        (["scan", "in.npy", "--overflow", "checked", "--op", "mul"], "only add is checked, not mul; leave it out, or choose --overflow wrap"),
        (["scan", "in.npy", "--dtype", "int"], "is not one of int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64: write int64"),
        (["scan", "in.npy", "--dtype", "float"], ": write float64"),
        (["scan", "in.npy", "--dtype", "text"], ", float32, float64\n"),
        (["ladder", "scan", "--types", "int"], "the scan ladder does not run on 'int'; it runs on int8, "),
        (["scan", "in.npy", "--nope", "5", "6"], "upsweep scan does not accept --nope 5 6 "),
        (["scan", "-x", "-y"], "upsweep scan does not accept -x -y "),
        (["--threads", "2", "scan", "in.npy"], "write options after the command"),
        (["--quiet", "scan", "in.npy"], "--quiet precedes the command; write options after the command"),
        (["scan", "in.npy", "--op"], "--op needs a value"),
        (["scan", "in.npy", "-o"], "--output needs a value"),
        (["ladder", "scan", "--input"], "--input needs a value"),
        (["scan", "in.npy", "--op", "add", "--op", "mul"], "--op has too many values"),
        (["ladder", "offsets", "--input", "a", "b", "c", "d"], "--input has too many values"),
        (["scan", "in.npy", "--threads", "x"], "--threads cannot be 'x'"),
        (["scan", "in.npy", "--threads", "1.5"], "--threads cannot be '1.5'"),
        (["scan", "in.npy", "--json=foo"], "--json cannot be 'foo'"),
        (["offsets", "in.npy"], "STOPS is required"),
    ],
)
def test_arguments_are_named_in_their_order(upsweep, args, words):
    upsweep.save("in.npy", [1], "int32")
    assert words in complaint(upsweep, *args)


# -------------------------------------------------------------------------------------------------------------- queries


@pytest.mark.parametrize(
    "sql, words",
    [
        ("SELECT sum(x) FROM 'a.csv' JOIN 'b.csv' ON x = y", "JOIN is not supported"),
        ("SELECT sum(x) FROM 'a.csv' a LEFT OUTER JOIN 'b.csv' b USING (x)", "JOIN is not supported"),
        ("SELECT sum(x) FROM t JOIN 'b.csv' ON x = y", "JOIN is not supported"),
        ("SELECT sum(x) FROM 'a.csv' CROSS JOIN t", "JOIN is not supported"),
        ("SELECT sum(x) FROM ('a.csv' JOIN 'b.csv' ON x = y)", "JOIN is not supported"),
        ("SELECT sum(x) FROM 'a.csv', 'b.csv'", "several tables are not supported"),
        ("SELECT sum(x) FROM 'a.csv' a, 'b.csv' b WHERE a.x = b.x", "several tables are not supported"),
        ("SELECT sum(x) FROM (SELECT x FROM 'a.csv') t", "subqueries are not supported"),
        ("SELECT sum(x) FROM (SELECT x FROM 'a.csv')", "subqueries are not supported"),
        ("SELECT sum(x) FROM (SELECT x FROM 'a.csv' WHERE y IN ('p', 'q')) AS t", "subqueries are not supported"),
        ("SELECT sum(x) FROM 'a.csv' WHERE x > (SELECT avg(x) FROM 'a.csv')", "subqueries are not supported"),
        ("SELECT sum(x) FROM 'a.csv' WHERE x IN (SELECT x FROM 'b.csv')", "subqueries are not supported"),
        ("SELECT sum(x) FROM 'a.csv' WHERE EXISTS (SELECT 1 FROM 'b.csv', 'a.csv')", "subqueries are not supported"),
        ("WITH t AS (SELECT x FROM 'a.csv') SELECT sum(x) FROM t", "WITH is not supported"),
        ("SELECT sum(x) FROM 'a.csv' UNION ALL SELECT sum(x) FROM 'b.csv'", "UNION, EXCEPT or INTERSECT is not supported"),
        ("(SELECT sum(x) FROM 'a.csv') UNION (SELECT sum(x) FROM 'b.csv')", "UNION, EXCEPT or INTERSECT is not supported"),
    ],
)
def test_more_than_one_table(upsweep, arrow, sql, words):
    upsweep.write("a.csv", "x,y\n1,2\n")
    upsweep.write("b.csv", "x,y\n1,2\n")
    text = message(upsweep, "query", sql, word="unsupported_sql")
    assert words in text and "syntax" not in text, text


def test_strings_that_are_no_tables(upsweep, arrow):
    upsweep.write("a.csv", "x,y\n1,p\n2,q\n3,r\n")
    for sql in (
        "SELECT sum(x) FROM 'a.csv' WHERE y IN ('p', 'q')",
        "(SELECT sum(x) FROM 'a.csv' WHERE (y = 'p' OR (y IN ('q'))))",
        "SELECT sum(x) FROM 'a.csv' WHERE y <> 'r'",
    ):
        assert upsweep.json("query", sql)["rows"] == [[3]], sql


# ----------------------------------------------------------------------------------------------- what cannot be decoded


def test_integers_whose_differences_are_longer_than_themselves(upsweep, arrow):
    """DuckDB accepts 64-bit differences of 32-bit integers; Arrow's decoder accepts no differences wider than the
    integers."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    path = upsweep.folder / "t.parquet"
    duckdb.sql(
        "COPY (SELECT CASE WHEN i % 2 = 0 THEN -2147483648 ELSE 2147483647 END::INTEGER AS x, i AS y FROM range(5000) t(i))"
        f" TO '{path}' (FORMAT parquet, PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1)"
    )
    for args in (["reduce", "t.parquet:x"], ["query", "SELECT sum(x) FROM 't.parquet'"]):
        text = message(upsweep, *args, word="unsupported_type")
        assert "cannot be decoded" in text and "damaged" not in text, text
    assert upsweep.json("reduce", "t.parquet:y")["value"] == 4999 * 2500


# -------------------------------------------------------------------------------------------------------- control bytes

HOSTILE = "a\x1b[31mb\x07\r\n\t\x7f\u009b2J\u202e"
ESCAPED = "a\\x1b[31mb\\x07\\r\\n\\t\\x7f\\xc2\\x9b2J\\xe2\\x80\\xae"


def is_harmless(output):
    text = output.decode()
    return not any(c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e") for c in text)


def test_texts_and_names_of_columns_in_tables(upsweep, arrow):
    upsweep.table("t.parquet", {HOSTILE: [HOSTILE, "z"], "x": [1, 2]})
    shown = upsweep.ok("query", f"""SELECT "{HOSTILE}", sum(x) FROM 't.parquet' GROUP BY 1 ORDER BY 2""")
    assert shown.decode().count(ESCAPED) == 2 and is_harmless(shown), shown
    result = upsweep.json("query", f"""SELECT "{HOSTILE}", sum(x) FROM 't.parquet' GROUP BY 1 ORDER BY 2""")
    assert result["columns"][0] == HOSTILE and result["rows"][0][0] == HOSTILE
    labels = upsweep.ok("subset-sum", "t.parquet:x", "--target", "1", "--id", HOSTILE)
    assert labels.decode().count(ESCAPED) == 2 and is_harmless(labels), labels


def test_names_of_columns_and_files_in_messages(upsweep, arrow):
    upsweep.table("t.parquet", {HOSTILE: ["z"], "x": [1]})
    upsweep.save(HOSTILE + ".npy", [1], "int64")
    for args in (
        ["reduce", "t.parquet"],
        ["reduce", f"t.parquet:{HOSTILE}"],
        ["reduce", "t.parquet:" + HOSTILE + "2"],
        ["reduce", HOSTILE],
        ["reduce", HOSTILE + ".npy:x"],
        ["query", f"""SELECT sum("{HOSTILE}") FROM 't.parquet'"""],
        ["query", f"""SELECT sum(x + y) FROM 't.parquet' WHERE "{HOSTILE}" = 'z'"""],
        ["query", f"SELECT sum(x) FROM '{HOSTILE}'"],
        ["scan", "t.parquet:x", "--op", HOSTILE],
        [HOSTILE],
    ):
        stderr = upsweep.run(*args).stderr
        assert stderr.startswith(b"upsweep: ") and is_harmless(stderr), (args, stderr)


def test_the_name_of_the_output_in_the_summary(upsweep):
    upsweep.save("in.npy", [1], "int64")
    name = HOSTILE + ".npy"
    for args in (["scan", "in.npy"], ["offsets", "in.npy", "in.npy"]):
        shown = upsweep.ok(*args, "-o", name)
        assert f"output {ESCAPED}.npy\n" in shown.decode() and is_harmless(shown), shown
        assert (upsweep.folder / name).exists()
        assert upsweep.json(*args, "-o", name)["output"] == name


def test_bytes_that_are_no_utf8(upsweep, arrow):
    upsweep.write("t.csv", b"w\x9b31m\xff,x\n1,2\n")
    done = upsweep.run("query", "SELECT sum(x) FROM 't.csv'", "--encoding", "utf-8")
    assert b"w\\x9b31m\\xff" in done.stderr and is_harmless(done.stderr), done
    done = upsweep.run("reduce", b"\x9b31m.npy")
    assert b"\\x9b31m.npy" in done.stderr and is_harmless(done.stderr), done


def test_the_place_in_a_query_stays_under_its_caret(upsweep, arrow):
    upsweep.write("t.csv", "x\n1\n")
    stderr = upsweep.run("query", "SELECT sum(x) /* \x1b[31m\u009b */, sum(y) FROM 't.csv'").stderr
    lines = stderr.decode().split("\n")
    assert lines[1][lines[2].index("^") :].startswith("y)"), stderr
    assert is_harmless(stderr), stderr


def test_remarks_on_a_terminal(upsweep, arrow):
    """Only there, standard error contains more lines."""
    name = upsweep.table(HOSTILE.replace("\n", "") + ".parquet", {"x": [1, 2]})
    for args in (["query", f"SELECT sum(x) FROM '{name}'"], ["ladder", "scan", "--input", f"{name}:x"]):
        ours, theirs = pty.openpty()
        done = upsweep.run(*args, stderr=theirs)
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            said += piece
        os.close(ours)
        assert done.returncode == 0 and is_harmless(done.stdout), done
        assert b"\x1b[31m" not in said and b"\x07" not in said, said


@pytest.mark.parametrize("command", [("reduce", "x.npy"), ("scan", "x.npy"), ("segment", "x.npy", "--offsets", "o.npy")])
def test_words_of_others_for_an_operator(upsweep, command):
    upsweep.save("x.npy", [1, 2, 3, 4])
    upsweep.save("o.npy", [0, 4])
    for word, hint in (
        ("sum", ": write --op add"),
        ("numpy.maximum", ": write --op max"),
        ("Product", ": write --op mul"),
        ("mean", ": a mean is the sum (add) divided by the number of elements"),
        ("cumsum", ": this is a scan with the operator add"),
        ("np.add", ": write --op add"),
        ("numpy.maximum", ": write --op max"),
        ("sum()", ": write --op add"),
        ("nosuch", "xor"),
        (".", "xor"),
    ):
        text = message(upsweep, *command, "--op", word, word="invalid_argument")
        assert text.startswith(f"--op '{word}' is not one of add, mul"), text
        assert text.endswith(hint) or command[0] == "segment", text
        assert hint in text, text


def test_reducers_of_lists_alone(upsweep):
    upsweep.save("x.npy", [1, 2])
    for command in ("reduce", "scan"):
        for word in ("count", "argmax", "any"):
            text = message(upsweep, command, "x.npy", "--op", word)
            assert text.endswith(", xor: this is only for lists: use segmented_reduce or upsweep segment"), text


@pytest.mark.parametrize(
    "sql, words",
    [
        ("'t.csv'", "a query begins with SELECT, not with 't.csv': SELECT COUNT(*) FROM 't.csv'"),
        ("t.csv", "a query begins with SELECT, not with t: SELECT COUNT(*) FROM 'FILE'"),
        ("SELEC SUM(a) FROM 't.csv'", "a query begins with SELECT, not with SELEC"),
        ("SELECT SUM(a) AS 'total' FROM 't.csv'", 'write a name in double quotes: AS "total"'),
        ("SELECT COUNT(*) FROM `t.csv`", "write a file name in single quotes, not in backticks: FROM 't.csv'"),
        ("SELECT SUM(`a`) FROM 't.csv'", 'write a name in double quotes, not in backticks: "a"'),
        ("SELECT `a`, COUNT(*) FROM 't.csv' GROUP BY `a`", 'write a name in double quotes, not in backticks: "a"'),
        ("SELECT SUM(t.a) FROM 't.csv'", "the query has no table 't': omit the table name, or name the table with AS t"),
        ("SELECT COUNT(*) FROM 't.csv' WHERE s = \"x\"", "if it is text, write it in single quotes: 'x'"),
        ("SELECT COUNT(a, b) FROM 't.csv'", "count() takes one expression, or *"),
        ("SELECT SUM() FROM 't.csv'", "sum() takes one expression\n"),
        ("SELECT COUNT(*) FROM 't.csv' WHERE a = '1'", "= is not defined between integer and text: write the number without quotes"),
        ("SELECT SUM(s) FROM 't.csv'", "sum() is not defined for text, as column 's' is"),
        ("SELECT AVG(b) FROM 't.csv'", "avg() is not defined for boolean, as column 'b' is"),
    ],
)
def test_what_to_write_in_a_query(upsweep, arrow, sql, words):
    upsweep.write("t.csv", "a,b,s\n1,true,x\n2,false,y\n")
    text = message(upsweep, "query", sql, word=("bad_sql", "unsupported_sql", "unknown_column", "unsupported_type"))
    assert words in text + "\n" and "syntax" not in text, text


def test_rows_of_files_are_named_by_their_lines(upsweep, arrow):
    upsweep.write("a.csv", 'x,s\n1,"one\ntwo"\n0,y\n2,z\n')
    upsweep.write("b.csv", "x,s\n3,a\n1,b\n")
    text = message(upsweep, "query", "SELECT SUM(6 / x) FROM 'a.csv'", word="division_by_zero")
    assert text.startswith("a.csv: line 4: division by zero\n"), text
    text = message(upsweep, "query", "SELECT SUM(6 / (x - 1)) FROM 'b.csv'", word="division_by_zero")
    assert text.startswith("b.csv: line 3: division by zero\n"), text
    upsweep.table("t.parquet", {"x": [1, 0]})
    text = message(upsweep, "query", "SELECT SUM(6 / x) FROM 't.parquet'", word="division_by_zero")
    assert text.startswith("t.parquet: row 1: division by zero\n"), text
    upsweep.table("u.parquet", {"x": [3, 4, 0]})
    text = message(upsweep, "query", "SELECT SUM(6 / x) FROM '[tu].parquet' WHERE x <> 0 OR x + 0 = 0", word="division_by_zero")
    assert text.startswith("t.parquet: row 1: division by zero\n"), text
    text = message(upsweep, "query", "SELECT SUM(6 / (x - 4)) FROM '[tu].parquet'", word="division_by_zero")
    assert text.startswith("u.parquet: row 1: division by zero\n"), text
    text = message(upsweep, "query", "SELECT SUM(6 / (x - 3)) FROM '[ab].csv'", word="division_by_zero")
    assert text.startswith("b.csv: line 2: division by zero\n"), text


def test_types_that_queries_do_not_compute_with(upsweep, arrow):
    upsweep.table("t.parquet", {"s": [{"x": 1}], "a": [1]})
    text = message(upsweep, "query", "SELECT SUM(s) FROM 't.parquet'", word="unsupported_type")
    assert "; convert it to numbers, dates or text, or omit it" in text


def test_lengths_in_place_of_offsets(upsweep):
    upsweep.save("x.npy", [1.0, 2.0, 3.0, 4.0])
    upsweep.save("lengths.npy", [3, 0, 1])
    text = message(upsweep, "segment", "x.npy", "--offsets", "lengths.npy", word="stop_before_start")
    assert "lengths_to_offsets makes offsets of lengths" in text
