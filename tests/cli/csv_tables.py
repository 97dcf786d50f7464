# SPDX-License-Identifier: Apache-2.0
# tests/cli/csv_tables.py: random tables, and the CSV files that various programs write for them.
import csv
import dataclasses
import datetime
import decimal
import io
import random

Decimal = decimal.Decimal


@dataclasses.dataclass
class Column:
    name: str
    kind: str
    values: list  # None: NULL


@dataclasses.dataclass
class Written:
    """A file, the cells that it contains as text, and the names that its columns then have."""

    content: bytes
    cells: list[list[str]]  # a list for each column
    names: list[str]


# --------------------------------------------------------------------------------------------------------------- tables

PLAIN = ["Berlin", "red", "alpha", "Oslo", "x", "beta", "mouse", "cable", "Lima", "disk", "north", "pending", "Ann", "Bob"]
PHRASES = ["new order", "John Smith", "very good", "in stock", "to be sent", "see below", "North East"]
FOREIGN = ["Müller", "café", "Köln", "naïve", "São", "piñata"]
ODD = [
    "a,b",
    "Smith, John",
    "x;y",
    "a|b",
    "a:b",
    'say "hi"',
    '"quoted"',
    'the 19" disk',
    "O'Brien",
    "it's",
    "'so'",
    "two\nlines",
    "tab\there",
    "C:\\dir",
    "# note",
    "50 % off",
    "(none)",
    "1/2",
    "3-4",
    "-",
    "?",
    "NA",
    "N/A",
    "null",
    "a=b",
    "me@example.org",
    "1,234",
    "1.5",
    "7",
    "2024-01-02",
    " x",
    "x ",
    "*",
    "~",
    "a\\",
    ",",
    ";",
    '"',
    "''",
]
CODES = ["007", "0042", "01234", "00501", "010", "08701"]
NAMES = ["a", "b", "c", "d", "e", "f", "g", "h", "name", "city", "price", "amount", "date", "count", "total", "ID", "Unit"]
ODD_NAMES = ["2019", "full name", "unit price", "Größe", "65+", "a.b", "x_1", "tax (%)", "a, b", "it's", "#", 'the "x"']


def random_text(rng, oddness):
    chance = rng.random()
    if chance < oddness:
        return rng.choice(ODD)
    if chance < 0.15 + oddness:
        return rng.choice(PHRASES)
    return rng.choice(FOREIGN) if chance > 0.95 else rng.choice(PLAIN)


def random_day(rng):
    return datetime.date(rng.randrange(1990, 2030), 1, 1) + datetime.timedelta(days=rng.randrange(365))


def random_moment(rng, digits):
    second = datetime.datetime.combine(random_day(rng), datetime.time()) + datetime.timedelta(seconds=rng.randrange(86400))
    return second + datetime.timedelta(microseconds=rng.randrange(10**digits) * 10 ** (6 - digits))


def random_values(rng, kind, rows):
    if kind == "integer":
        most = 10 ** rng.choice([1, 2, 4, 6, 12])
        return [rng.randrange(-most if rng.random() < 0.3 else 0, most) for _ in range(rows)]
    if kind == "decimal":
        scale = rng.choice([1, 2, 2, 2, 3, 4])
        most = 10 ** rng.choice([2, 4, 7])
        return [Decimal(rng.randrange(-most // 4, most)).scaleb(-scale) for _ in range(rows)]
    if kind == "real":
        spread = rng.choice([1.0, 1e-9, 1e17])
        return [rng.gauss(0, 1) * spread for _ in range(rows)]
    if kind == "date":
        return [random_day(rng) for _ in range(rows)]
    if kind == "timestamp":
        digits = rng.choice([0, 0, 3, 6])
        return [random_moment(rng, digits) for _ in range(rows)]
    if kind == "boolean":
        return [rng.random() < 0.5 for _ in range(rows)]
    if kind == "code":
        return [rng.choice(CODES) for _ in range(rows)]
    if kind == "words":
        return [rng.choice(PLAIN) for _ in range(rows)]
    oddness = rng.choice([0, 0.05, 0.3])
    return [random_text(rng, oddness) for _ in range(rows)]


KINDS = ["integer", "decimal", "real", "date", "timestamp", "boolean", "code", "words", "text"]


def random_table(rng, kinds=KINDS):
    rows = rng.choice([1, 2, 3, 5, 8, 20, 60])
    width = rng.choice([1, 2, 2, 3, 3, 4, 5, 7])
    names = rng.sample(NAMES, width)
    if rng.random() < 0.15:
        names[rng.randrange(width)] = rng.choice(ODD_NAMES[1:] if width == 1 else ODD_NAMES)
    columns = []
    for name in names:
        kind = rng.choice(kinds)
        values = random_values(rng, kind, rows)
        if rng.random() < 0.3:
            values = [None if rng.random() < 0.2 else value for value in values]
        columns.append(Column(name, kind, values))
    return columns


def encoded(text, encoding):
    """Returns the text in an encoding; in UTF-8 if the encoding has no such character."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode("utf-8-sig")


# -------------------------------------------------------------------------------------------------------------- writers
# A writer is a pair of functions: the first one chooses a dialect at random, the second one writes a table in it.


def text_of(value, decimal_mark=".", date_format=None):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (float, Decimal)):
        text = format(value, "f") if isinstance(value, Decimal) else repr(value)
        return text.replace(".", decimal_mark)
    if isinstance(value, datetime.datetime):
        return str(value)
    if isinstance(value, datetime.date):
        return value.strftime(date_format) if date_format else value.isoformat()
    return str(value)


def replaced(table, old, new):
    """Returns the table with another character in its texts."""
    values = [[value.replace(old, new) if isinstance(value, str) else value for value in column.values] for column in table]
    return [dataclasses.replace(column, values=changed) for column, changed in zip(table, values, strict=True)]


def certain(table, decimal_mark):
    """Returns the table without what no reader can know if numbers have a decimal comma: that the text 1.5 is not a number,
    and that the name "a, b" above 0,5 does not name two columns."""
    if decimal_mark != ",":
        return table
    if len(table) == 1:
        table = [dataclasses.replace(table[0], name=table[0].name.replace(",", ""))]
    return replaced(table, "1.5", "1-5")


def is_number(value):
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def choose_python(rng, table):
    quoting = rng.choice([csv.QUOTE_MINIMAL] * 4 + [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    delimiters = [",", ",", ";", "\t", "|", "~"]
    if quoting != csv.QUOTE_MINIMAL or all(
        column.kind in ("integer", "decimal", "real") and None not in column.values for column in table
    ):
        delimiters += [":", " "]  # they occur in text
    doubled = rng.random() < 0.8
    return {
        "delimiter": rng.choice(delimiters),
        # Nothing says that '' is an empty cell if a file has one column.
        "quotechar": "'" if rng.random() < 0.1 and len(table) > 1 else '"',
        "quoting": quoting,
        "doublequote": doubled,
        "escapechar": None if doubled else "\\",
        "lineterminator": rng.choice(["\n", "\r\n", "\r\n", "\r"]),
        "encoding": rng.choice(["utf-8"] * 5 + ["utf-8-sig", "utf-16", "cp1252"]),
        "date_format": rng.choice([None, None, "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y"]),
        "header": rng.random() < 0.9,
    }


def may_lack_header(table):
    """Whether the first row is not names: it contains a decimal, a date or a time, as the rows below."""
    if len(table[0].values) < 2:
        return False
    return any(c.kind in ("decimal", "date", "timestamp") and all(v is not None for v in c.values) for c in table)


def write_python(table, dialect):
    options = dict(dialect)
    encoding, date_format = options.pop("encoding"), options.pop("date_format")
    has_header = options.pop("header") or not may_lack_header(table)
    names = [column.name if has_header else f"column{i}" for i, column in enumerate(table)]
    if dialect["escapechar"] == "\\":  # Python does not escape the escape character itself, so a reader cannot know it
        table = replaced(table, "\\", "/")
    if dialect["lineterminator"] == "\r":  # Python does not quote other ends of lines
        table = replaced(table, "\n", " ")
    if dialect["quotechar"] == "'":  # nothing says that a cell in double quotes is not quoted
        table = replaced(table, '"', "*")
    cells = [[text_of(value, ".", date_format) for value in column.values] for column in table]
    out = io.StringIO(newline="")
    writer = csv.writer(out, **options)
    if has_header:
        writer.writerow(names)
    for row in zip(*(column.values for column in table), strict=True):
        writer.writerow([value if is_number(value) else text_of(value, ".", date_format) for value in row])
    return Written(encoded(out.getvalue(), encoding), cells, names), table


def choose_pandas(rng, table):
    sep = rng.choice([",", ",", ";", "\t", "|"])
    return {
        "sep": sep,
        "decimal": rng.choice([".", ",", ","]) if sep != "," else rng.choice([".", ".", ".", ","]),
        "quoting": rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "date_format": rng.choice([None, None, None, "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S.%f"]),
        "na_rep": rng.choice(["", "", "NA", "NULL"]),
        "index": rng.random() < 0.3,
        "encoding": rng.choice(["utf-8"] * 4 + ["utf-8-sig", "utf-16"]),
        "lineterminator": rng.choice(["\n", "\r\n"]),
    }


def write_pandas(table, dialect):
    import pandas

    table = certain(table, dialect["decimal"])
    series = {}
    for column in table:
        kind = {"integer": "Int64", "real": "float64", "decimal": "float64", "boolean": "boolean"}.get(column.kind)
        values = [float(value) if isinstance(value, Decimal) else value for value in column.values]
        if column.kind in ("date", "timestamp"):
            series[column.name] = pandas.Series(pandas.to_datetime(values))
        else:
            series[column.name] = pandas.Series(values, dtype=kind or object)
    frame = pandas.DataFrame(series)
    text = frame.to_csv(**dialect)
    names = [column.name for column in table]
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect["sep"]))[1:]
    if dialect["index"]:
        names = ["column0", *names]
        table = [Column("column0", "integer", list(range(len(frame)))), *table]
    table = [with_moments(column, dialect["date_format"]) for column in table]
    na = dialect["na_rep"]
    if na:  # in text this is a word as any other
        table = [
            dataclasses.replace(column, values=[na if v is None else v for v in column.values])
            if column.kind in ("words", "text", "code") or all(v is None for v in column.values)
            else column
            for column in table
        ]
    return Written(encoded(text, dialect["encoding"]), [list(cells) for cells in zip(*rows, strict=True)], names), table


def with_moments(column, date_format):
    """pandas writes dates and timestamps alike: without a time if all are at midnight, or if the format has none."""
    if column.kind != "timestamp" or not date_format or "%H" in date_format:
        return column
    values = [value and value.date() for value in column.values]
    return Column(column.name, "date", values)


def choose_polars(rng, table):
    separator = rng.choice([",", ",", ";", "\t", "|"])
    return {
        "separator": separator,
        "quote_style": rng.choice(["necessary", "necessary", "always", "non_numeric"]),
        "include_bom": rng.random() < 0.2,
        "null_value": rng.choice(["", "", "NA"]),
        "date_format": rng.choice([None, None, "%d/%m/%Y", "%d.%m.%Y"]),
        "line_terminator": rng.choice(["\n", "\r\n"]),
        "decimal_comma": separator != "," and rng.random() < 0.3,
    }


def write_polars(table, dialect):
    import polars

    table = certain(table, "," if dialect["decimal_comma"] else ".")
    types = {
        "integer": polars.Int64,
        "decimal": polars.Float64,
        "real": polars.Float64,
        "date": polars.Date,
        "timestamp": polars.Datetime("us"),
        "boolean": polars.Boolean,
    }
    series = []
    for column in table:
        values = [float(value) if isinstance(value, Decimal) else value for value in column.values]
        series.append(polars.Series(column.name, values, dtype=types.get(column.kind, polars.String)))
    text = polars.DataFrame(series).write_csv(**dialect)
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=dialect["separator"]))
    names = [column.name for column in table]
    null = dialect["null_value"]
    if null:
        table = [
            dataclasses.replace(column, values=[null if v is None else v for v in column.values])
            if column.kind in ("words", "text", "code") or all(v is None for v in column.values)
            else column
            for column in table
        ]
    rows = [row or [""] for row in rows[1:]]
    return Written(text.encode(), [list(cells) for cells in zip(*rows, strict=True)], names), table


def choose_r(rng, table):
    style = rng.choice(["write.csv", "write.csv2", "write.table", "write.table tab"])
    return {
        "sep": {"write.csv": ",", "write.csv2": ";", "write.table": " ", "write.table tab": "\t"}[style],
        "decimal": "," if style == "write.csv2" else ".",
        "doubled": style.startswith("write.csv"),
        "row_names": style.startswith("write.csv") and rng.random() < 0.4,
        "encoding": rng.choice(["utf-8", "utf-8", "cp1252"]),
    }


def write_r(table, dialect):
    """Texts, dates and names are in quotes; numbers, TRUE, FALSE and NA are not."""

    def cell(value):
        if value is None:
            return "NA"
        if isinstance(value, bool):
            return str(value).upper()
        if is_number(value):
            return text_of(value, dialect["decimal"])
        text = str(value)
        return '"' + (text.replace('"', '""') if dialect["doubled"] else text.replace('"', '\\"')) + '"'

    if not dialect["doubled"]:  # R does not double backslashes here, so a reader cannot know them
        table = replaced(table, "\\", "/")
    table = certain(table, dialect["decimal"])
    table = [dataclasses.replace(column, name=column.name.replace('"', "'")) for column in table]
    table = [
        dataclasses.replace(column, values=["NA" if v is None else v for v in column.values])
        if column.kind in ("words", "text", "code") or all(v is None for v in column.values)
        else column
        for column in table
    ]
    if dialect["row_names"]:
        table = [Column("", "integer", [str(i + 1) for i in range(len(table[0].values))]), *table]
    lines = [dialect["sep"].join(cell(column.name) for column in table)]
    lines += [dialect["sep"].join(map(cell, row)) for row in zip(*(column.values for column in table), strict=True)]
    if dialect["row_names"]:
        table = [Column("column0", "integer", [int(v) for v in table[0].values]), *table[1:]]
    cells = [[text_of(value, dialect["decimal"]) for value in column.values] for column in table]
    content = encoded("".join(line + "\n" for line in lines), dialect["encoding"])
    return Written(content, cells, [column.name for column in table]), table


def choose_excel(rng, table):
    unicode = rng.random() < 0.15  # "Unicode text"
    return {
        "sep": "\t" if unicode else ";",
        "encoding": "utf-16" if unicode else rng.choice(["cp1252", "cp1252", "utf-8-sig"]),
        "instruction": not unicode and rng.random() < 0.3,
        "date_format": rng.choice(["%d.%m.%Y", "%d.%m.%Y", "%d/%m/%Y"]),
        "thousands": rng.choice(["", "", "."]),
        "suffix": rng.choice(["", "", "", " €", "%"]),
    }


def write_excel(table, dialect):
    table = certain(table, ",")
    # A point between thousands is only certain where another number has a decimal comma.
    decides = any(
        value is not None and value.as_tuple().exponent != -3 for c in table if c.kind == "decimal" for value in c.values
    )
    thousands = dialect["thousands"] if decides else ""

    def number(value, is_decimal):
        text = format(value, ",f" if isinstance(value, Decimal) else ",")
        text = text.replace(",", "_").replace(".", ",").replace("_", thousands)
        return text + (dialect["suffix"] if is_decimal else "")

    def cell(value):
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, (int, Decimal)):
            return number(value, isinstance(value, Decimal))
        if isinstance(value, datetime.datetime):
            return value.strftime(dialect["date_format"] + " %H:%M:%S")
        if isinstance(value, datetime.date):
            return value.strftime(dialect["date_format"])
        return str(value)

    def quoted(text):
        return '"' + text.replace('"', '""') + '"' if set(text) & set(dialect["sep"] + '"\n,') else text

    cells = [[cell(value) for value in column.values] for column in table]
    rows = [[column.name for column in table], *zip(*cells, strict=True)]
    text = "".join(dialect["sep"].join(map(quoted, row)) + "\r\n" for row in rows)
    if dialect["instruction"]:
        text = "sep=;\r\n" + text
    read = []
    for column in table:
        values = column.values
        if column.kind == "timestamp":
            values = [value and value.replace(microsecond=0) for value in values]
        elif column.kind == "decimal" and dialect["suffix"] == "%":
            values = [None if value is None else value / 100 for value in values]
        read.append(dataclasses.replace(column, values=values))
    return Written(encoded(text, dialect["encoding"]), cells, [column.name for column in table]), read


EXCEL_KINDS = [kind for kind in KINDS if kind != "real"]
WRITERS = {
    "python": (choose_python, write_python, KINDS),
    "pandas": (choose_pandas, write_pandas, KINDS),
    "polars": (choose_polars, write_polars, KINDS),
    "r": (choose_r, write_r, KINDS),
    "excel": (choose_excel, write_excel, EXCEL_KINDS),
}


def random_file(writer, seed):
    """Returns a table and a dialect. `WRITERS[writer][1]` writes the table."""
    rng = random.Random(f"{writer} {seed}")
    table = random_table(rng, WRITERS[writer][2])
    return table, WRITERS[writer][0](rng, table)
