# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_query_random.py: random queries over random Parquet files; each answer is compared with DuckDB's.
#
# UPSWEEP_TEST_ROUNDS=500 runs more tables (default 30). UPSWEEP_TEST_SEED=7 starts with another table. A failure prints
# the seed of the table and the query in both dialects. UPSWEEP_TEST_SEED=<seed> UPSWEEP_TEST_ROUNDS=1 runs it again.
import collections
import datetime
import decimal
import fractions
import json
import math
import os
import random
import re
import struct

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyarrow.parquet", reason="this pyarrow reads no Parquet")
duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")

ROUNDS = int(os.environ.get("UPSWEEP_TEST_ROUNDS", "30"))
SEED = int(os.environ.get("UPSWEEP_TEST_SEED", "1"))
QUERIES = 14  # per table

INTEGERS = {
    "i8": (pa.int8(), -(2**7), 2**7 - 1),
    "i16": (pa.int16(), -(2**15), 2**15 - 1),
    "i32": (pa.int32(), -(2**31), 2**31 - 1),
    "i64": (pa.int64(), -(2**63), 2**63 - 1),
    "u8": (pa.uint8(), 0, 2**8 - 1),
    "u16": (pa.uint16(), 0, 2**16 - 1),
    "u32": (pa.uint32(), 0, 2**32 - 1),
    "u64": (pa.uint64(), 0, 2**64 - 1),
}
DECIMALS = {"p4": (4, 2), "p9": (9, 0), "p12": (12, 2), "p18": (18, 5), "p30": (30, 10), "p38": (38, 3)}
WORDS = ["", "a", "b", "A", "it's", "é", "zz", "a b", "日本"]
DAY_ZERO = datetime.date(1970, 1, 1)


# ----------------------------------------------------------------------------------------------------------- tables


def some_null(rng, values):
    share = rng.choice([0, 0, 0.05, 0.3, 0.9, 1])
    return [None if rng.random() < share else value for value in values]


def integers(rng, n, least, greatest):
    shape = rng.choice(["small", "small", "small", "few", "extreme", "full"])
    if shape == "small":
        return [rng.randint(max(least, -100), min(greatest, 100)) for _ in range(n)]
    if shape == "few":
        few = [rng.randint(max(least, -3), 3) for _ in range(3)]
        return [rng.choice(few) for _ in range(n)]
    if shape == "extreme":
        return [rng.choice([least, greatest, 0, 1, least + 1, greatest - 1]) for _ in range(n)]
    return [rng.randint(least, greatest) for _ in range(n)]


def reals(rng, n, single):
    shape = rng.choice(["plain", "plain", "halves", "special", "wide"])
    if shape == "halves":
        values = [rng.randint(-8, 8) / 2 for _ in range(n)]
    elif shape == "wide":
        values = [rng.uniform(-1, 1) * 10.0 ** rng.randint(-30, 30) for _ in range(n)]
    else:
        values = [rng.uniform(-1000, 1000) for _ in range(n)]
    if shape == "special":
        odd = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324]
        values = [rng.choice(odd) if rng.random() < 0.1 else value for value in values]
    return [float(pa.scalar(value, pa.float32()).as_py()) for value in values] if single else values


def decimals(rng, n, width, scale):
    digits = rng.choice([min(3, width), min(5, width), min(5, width), width])
    top = 10**digits - 1
    with decimal.localcontext(prec=60):
        return [decimal.Decimal(rng.randint(-top, top)).scaleb(-scale) for _ in range(n)]


def dates(rng, n):
    if rng.random() < 0.2:
        ends = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), DAY_ZERO, datetime.date(2000, 2, 29)]
        return [rng.choice(ends) for _ in range(n)]
    spread = rng.choice([3, 400, 4000])
    return [DAY_ZERO + datetime.timedelta(days=9000 + rng.randint(0, spread)) for _ in range(n)]


def text(rng, n):
    words = rng.sample(WORDS, rng.randint(1, len(WORDS)))
    return [rng.choice(words) for _ in range(n)]


def make_table(rng):
    n = rng.choice([0, 1, 1, 2, rng.randint(3, 40), rng.randint(40, 600), rng.randint(600, 5000)])
    columns = {}
    for name, (kind, least, greatest) in INTEGERS.items():
        columns[name] = pa.array(some_null(rng, integers(rng, n, least, greatest)), kind)
    for name, (width, scale) in DECIMALS.items():
        columns[name] = pa.array(some_null(rng, decimals(rng, n, width, scale)), pa.decimal128(width, scale))
    columns["f32"] = pa.array(some_null(rng, reals(rng, n, True)), pa.float32())
    columns["f64"] = pa.array(some_null(rng, reals(rng, n, False)), pa.float64())
    columns["d"] = pa.array(some_null(rng, dates(rng, n)), pa.date32())
    columns["b"] = pa.array(some_null(rng, [rng.random() < 0.5 for _ in range(n)]), pa.bool_())
    for name in ("s", "t"):
        column = pa.array(some_null(rng, text(rng, n)), pa.string())
        columns[name] = column.dictionary_encode() if rng.random() < 0.5 else column
    columns["k"] = pa.array(some_null(rng, [rng.randint(-1, 3) for _ in range(n)]), rng.choice([pa.int8(), pa.int64()]))
    columns["day"] = pa.array(
        some_null(rng, [DAY_ZERO + datetime.timedelta(days=rng.randint(-2, 2)) for _ in range(n)]), pa.date32()
    )
    return pa.table(columns)


def write_options(rng, rows):
    return {
        "row_group_size": rng.choice([max(1, rows), max(1, rows // 3), rng.randint(1, max(1, rows)) + rows // 40]),
        "compression": rng.choice(["snappy", "zstd", "none"]),
        "use_dictionary": rng.random() < 0.5,
        "write_statistics": rng.random() < 0.7,
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "store_decimal_as_integer": rng.random() < 0.5,
        "data_page_size": rng.choice([1 << 20, 100]),
        "write_page_index": rng.random() < 0.5,
    }


# ------------------------------------------------------------------------------------------------------ expressions

# An expression in three dialects: ours, DuckDB's with integers of 128 bits, and DuckDB's with integers of 64 bits. The
# last one shows whether an overflow of ours is also an overflow in PostgreSQL.
E = collections.namedtuple("E", "kind ours wide narrow scale", defaults=[0])
EXACT = ("integer", "decimal")
NUMBERS = (*EXACT, "real")


def same(kind, sql, scale=0):
    return E(kind, sql, sql, sql, scale)


def join(kind, form, *parts, scale=None):
    """Inserts the parts into `form`, in each dialect."""
    if scale is None:
        scale = max((part.scale for part in parts), default=0) if kind == "decimal" else 0
    return E(kind, *(form.format(*(part[dialect] for part in parts)) for dialect in (1, 2, 3)), scale)


def integer(sql):
    return E("integer", sql, f"CAST({sql} AS HUGEINT)", f"CAST({sql} AS BIGINT)")


def aligned(parts):
    """Casts decimals to one scale for DuckDB, which rounds silently if types of 38 digits have different scales."""
    kinds = {part.kind for part in parts}
    if "decimal" not in kinds or not kinds <= set(EXACT):
        return parts
    scale = min(38, max(part.scale for part in parts))
    cast = f"CAST({{}} AS DECIMAL(38, {scale}))"
    return [part._replace(wide=cast.format(part.wide), narrow=cast.format(part.narrow)) for part in parts]


def widest(*kinds):
    return max(kinds, key=NUMBERS.index)


class Maker:
    """Makes random expressions over the columns of make_table."""

    def __init__(self, rng):
        self.rng = rng

    def leaf(self, kind):
        rng = self.rng
        if kind == "integer":
            if rng.random() < 0.3:
                return self.integer_literal()
            name = rng.choice(["i8", "i16", "i32", "u8", "u16", "k", "u32", "i64", "u64"])
            return integer(name)
        if kind == "decimal":
            if rng.random() < 0.25:
                literal = rng.choice(["0.5", "1.00", "12.345", ".25", "0.1", "(-3.70)", "1000.01"])
                return same("decimal", literal, len(literal.strip(")").split(".")[1]))
            name = rng.choice(["p4", "p9", "p12", "p12", "p18", "p30", "p38"])
            return same("decimal", name, DECIMALS[name][1])
        if kind == "real":
            name = rng.choice(["f32", "f64"])
            return E("real", name, f"CAST({name} AS DOUBLE)", f"CAST({name} AS DOUBLE)")
        if kind == "date":
            return same("date", rng.choice(["d", "day"])) if rng.random() < 0.7 else self.date_literal()
        if kind == "text":
            return same("text", rng.choice(["s", "t"]))
        return same("boolean", rng.choice(["b", "b", "b", "true", "false"]))

    def integer_literal(self):
        value = self.rng.choice([0, 1, 2, 3, 7, 10, 100, 12345, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1])
        if self.rng.random() < 0.8:
            value = self.rng.randint(0, 20)
        return integer(str(value) if self.rng.random() < 0.7 else f"(-{value})")

    def date_literal(self):
        rng = self.rng
        day = rng.choice(["1970-01-01", "1996-02-29", "1994-08-31", "2000-01-31", "1969-12-31", "2005-07-04"])
        if rng.random() < 0.6:
            return same("date", f"date '{day}'")
        amount, unit, sign = rng.randint(0, 40), rng.choice(["day", "month", "year"]), rng.choice("+-")
        ours = f"date '{day}' {sign} interval '{amount}' {unit}{' (3)' if unit == 'day' and rng.random() < 0.3 else ''}"
        theirs = f"CAST(date '{day}' {sign} interval {amount} {unit} AS DATE)"
        return E("date", f"({ours})", theirs, theirs)

    def number(self, depth, kind=None):
        kind = kind or self.rng.choice(["integer", "integer", "decimal", "decimal", "real"])
        if depth <= 0 or self.rng.random() < 0.25:
            return self.leaf(kind)
        ways = ["arithmetic"] * 6 + ["quotient", "case", "negative", "call", "choice"]
        return getattr(self, self.rng.choice(ways))(depth, kind)

    def part_of(self, depth, kind):
        """Makes an operand such that the result has this kind."""
        return self.number(depth - 1, self.rng.choice(NUMBERS[: NUMBERS.index(kind) + 1]))

    def arithmetic(self, depth, kind):
        left, right = self.number(depth - 1, kind), self.part_of(depth, kind)
        if self.rng.random() < 0.5:
            left, right = right, left
        form = self.rng.choice(["({} + {})", "({} - {})", "({} * {})", "{} + {}", "{} - {}", "({}) * ({})"])
        # Without the parentheses the tree is different, but it is the same in every dialect, and so is the scale.
        scale = left.scale + right.scale if "*" in form else max(left.scale, right.scale)
        return join(kind, form, left, right, scale=scale)

    def quotient(self, depth, kind):
        if kind == "decimal":
            return self.arithmetic(depth, kind)  # the quotient of decimals is a real
        if kind == "integer":
            top, bottom = self.number(depth - 1, "integer"), self.number(depth - 1, "integer")
            sign = ("/", "//", "//")
        else:
            top, bottom = self.number(depth - 1), self.number(depth - 1, self.rng.choice(["decimal", "real"]))
            sign = ("/",) * 3
        form = "(CASE WHEN ({1}) <> 0 THEN ({0}) {sign} ({1}) END)"
        return E(kind, *(form.format(top[i], bottom[i], sign=sign[i - 1]) for i in (1, 2, 3)))

    def negative(self, depth, kind):
        return join(kind, "(- ({}))", self.number(depth - 1, kind))

    def call(self, depth, kind):
        """Makes a scalar function."""
        function = self.rng.choice(["ABS", "ROUND", "ROUND n", "SQRT"])
        if function == "SQRT" and kind == "real":
            inner = self.number(depth - 1, "real")
            return join("real", "SQRT(ABS({}))", inner)
        inner = self.number(depth - 1, kind)
        if function in ("ABS", "SQRT"):
            return join(kind, "ABS({})", inner)
        places = self.rng.randint(-6, 6) if function == "ROUND n" else 0
        form = "ROUND({})" if function == "ROUND" else f"ROUND({{}}, {places})"
        return join(kind, form, inner, scale=max(0, min(places, inner.scale)))

    def case(self, depth, kind):
        rng = self.rng
        # At least one value has the kind, so the whole expression has it.
        values = [*(self.part_of(depth, kind) for _ in range(rng.randint(1, 3))), self.number(depth - 1, kind)]
        scale = max(value.scale for value in values)
        values = aligned(values)
        tests = [self.condition(depth - 1) for _ in values]
        arms = [f"WHEN {{{i}}} THEN {{{i + len(tests)}}}" for i in range(len(tests))]
        if rng.random() < 0.7:
            arms[-1] = f"ELSE {{{2 * len(tests) - 1}}}"
        return join(kind, f"(CASE {' '.join(arms)} END)", *tests, *values, scale=scale)

    def choice(self, depth, kind):
        """Makes a choice between numbers of one kind."""
        form, least, most = self.rng.choice(
            [("COALESCE", 1, 3), ("GREATEST", 2, 3), ("LEAST", 2, 3), ("NULLIF", 2, 2), ("IFNULL", 2, 2)]
        )
        values = [self.number(depth - 1, kind) for _ in range(self.rng.randint(least, most))]
        if form == "NULLIF" and kind == "decimal":  # its scale is that of the first, which aligned() would change
            return values[0]
        scale = max(value.scale for value in values)
        return join(kind, f"{form}({', '.join(['{}'] * len(values))})", *aligned(values), scale=scale)

    def condition(self, depth):
        rng = self.rng
        if depth > 0 and rng.random() < 0.5:
            form = rng.choice(["({} AND {})", "({} OR {})", "(NOT {})", "{} AND {}", "{} OR {}", "NOT ({})"])
            count = form.count("{}")
            made = join("boolean", form, *(self.condition(depth - 1) for _ in range(count)))
            return made if form[0] == "(" else join("boolean", "({})", made)
        return join(
            "boolean",
            "({})",
            getattr(self, rng.choice(["compare"] * 4 + ["between", "among", "null_test", "flag", "distinct", "truth"]))(depth),
        )

    def pair_kinds(self):
        kind = self.rng.choice(["number", "number", "number", "date", "text"])
        if kind != "number":
            return (kind,) * 3
        first = self.rng.choice(NUMBERS)
        return (first, *(self.rng.choice([first, *NUMBERS]) for _ in range(2)))

    def value(self, kind, depth):
        return self.number(depth - 1, kind) if kind in NUMBERS else self.leaf(kind)

    def word(self):
        quoted = self.rng.choice([*WORDS, "nowhere"]).replace("'", "''")
        return same("text", f"'{quoted}'")

    def compare(self, depth):
        first, second, _ = self.pair_kinds()
        left = self.value(first, depth)
        right = self.word() if second == "text" else self.value(second, depth)
        if self.rng.random() < 0.3:
            left, right = right, left
        sign = self.rng.choice(["=", "<>", "!=", "<", "<=", ">", ">="])
        return join("boolean", f"{{}} {sign} {{}}", *aligned([left, right]))

    def between(self, depth):
        kinds = self.pair_kinds()
        parts = [self.value(kinds[0], depth)]
        parts += [self.word() if kind == "text" else self.value(kind, depth - 1) for kind in kinds[1:]]
        ours = join("boolean", self.rng.choice(["{} BETWEEN {} AND {}", "{} NOT BETWEEN {} AND {}"]), *parts)
        # Two comparisons, each with the types of its two sides. DuckDB's BETWEEN converts all three to floats if one is
        # a float.
        least, greatest = aligned([parts[0], parts[1]]), aligned([parts[0], parts[2]])
        form = "NOT ({} >= {} AND {} <= {})" if "NOT BETWEEN" in ours.ours else "({} >= {} AND {} <= {})"
        return join("boolean", form, *least, *greatest)._replace(ours=ours.ours)

    def constant(self, kind):
        rng = self.rng
        if kind == "integer":
            return self.integer_literal()
        if kind == "date":
            day = f"'{DAY_ZERO + datetime.timedelta(rng.randint(-20, 20))}'"
            return same("date", day if rng.random() < 0.5 else f"date {day}")
        if kind == "text":
            return self.word()
        places = rng.randint(1, 4)
        literal = f"{rng.randint(-30, 30)}.{rng.choice(['0', '5', '25', '75', rng.randint(0, 9999)])!s:0<{places}}"
        if kind == "decimal":
            return same("decimal", literal, len(literal.split(".")[1]))
        return E("real", literal, f"CAST({literal} AS DOUBLE)", f"CAST({literal} AS DOUBLE)")

    def among(self, depth):
        """Makes a short list of columns and constants, or a long list of constants, which is searched by lookup."""
        rng = self.rng
        kind = rng.choice(["integer", "decimal", "date", "text", "real"])
        if rng.random() < 0.5:
            items = [self.word() if kind == "text" else self.value(kind, 0) for _ in range(rng.randint(1, 5))]
        else:
            kinds = {"decimal": EXACT, "real": ["decimal", "real"]}.get(kind, [kind])
            items = [self.constant(rng.choice(kinds)) for _ in range(rng.randint(3, 60))]
            if kind in NUMBERS and rng.random() < 0.3:
                items.insert(rng.randint(0, len(items)), self.value(kind, 0))
        if rng.random() < 0.2:
            items.append(same(kind, "NULL"))
        words = rng.choice(["IN", "NOT IN"])
        parts = aligned([self.value(kind, depth), *items])
        if kind == "real":  # as floats, whatever DuckDB does with a list of decimals and floats
            parts = [
                part._replace(wide=f"CAST({part.wide} AS DOUBLE)", narrow=f"CAST({part.narrow} AS DOUBLE)") for part in parts
            ]
        return join("boolean", f"{{}} {words} ({', '.join(['{}'] * len(items))})", *parts)

    def null_test(self, depth):
        kind = self.rng.choice(["integer", "decimal", "real", "date", "text", "boolean"])
        what = self.condition(depth - 1) if kind == "boolean" else self.value(kind, depth)
        return join("boolean", self.rng.choice(["({}) IS NULL", "({}) IS NOT NULL"]), what)

    def distinct(self, depth):
        first, second, _ = self.pair_kinds()
        left = self.value(first, depth)
        right = self.word() if second == "text" else self.value(second, depth)
        return join(
            "boolean", self.rng.choice(["{} IS DISTINCT FROM {}", "{} IS NOT DISTINCT FROM {}"]), *aligned([left, right])
        )

    def truth(self, depth):
        form = f"({{}}) IS {self.rng.choice(['', 'NOT '])}{self.rng.choice(['TRUE', 'FALSE'])}"
        return join("boolean", form, self.condition(depth - 1))

    def flag(self, _depth):
        return self.leaf("boolean")

    # ------------------------------------------------------------------------------------------------- aggregates

    def aggregate(self):
        """Makes what is selected, and how to compare it: plain, exact_avg, real_sum, real."""
        rng = self.rng
        function = rng.choice(["SUM", "SUM", "SUM", "COUNT", "COUNT(*)", "MIN", "MAX", "AVG", "AVG", "BOTH", "BOOL"])
        filtered = [self.condition(1)] if rng.random() < 0.25 else []
        kept = " FILTER (WHERE {})" if filtered else ""
        if function == "COUNT(*)":
            return join("integer", "COUNT(*)" + kept, *filtered), "plain"
        if function == "COUNT":
            kind = rng.choice([*NUMBERS, "date", "text", "boolean"])
            what = self.condition(1) if kind == "boolean" else self.value(kind, 2)
            return join("integer", "COUNT({})" + kept, what, *filtered), "plain"
        if function == "BOOL":
            name = rng.choice(["BOOL_AND", "BOOL_OR", "COUNT_IF"])
            kind = "integer" if name == "COUNT_IF" else "boolean"
            made = join(kind, f"{name}({{}}){kept}", self.condition(1), *filtered)
            if kind == "integer":  # DuckDB has NULL without rows
                made = made._replace(wide=f"COALESCE({made.wide}, 0)", narrow=f"COALESCE({made.narrow}, 0)")
            return made, "plain"
        if function in ("MIN", "MAX"):
            kind = rng.choice([*NUMBERS, "date", *([] if filtered else ["text"])])
            return join(kind, f"{function}({{}}){kept}", self.value(kind, 2), *filtered), "plain"
        if function == "BOTH":
            return self.outer()
        inner = self.number(rng.randint(0, 3))
        if inner.kind == "real":
            theirs = "{{'v': %s({0}), 'size': SUM(ABS({0})), 'n': COUNT({0})}}" % function
            how = "real_sum"
        elif function == "AVG":
            theirs, how = "{{'s': SUM({0}), 'n': COUNT({0})}}", "exact_avg"
        else:
            theirs, how = "SUM({0})", "plain"
        kind = "real" if function == "AVG" else inner.kind
        return E(kind, f"{function}({inner.ours})", theirs.format(inner.wide), theirs.format(inner.narrow)), how

    def exact_aggregate(self):
        function = self.rng.choice(["SUM", "MIN", "MAX", "COUNT"])
        inner = self.number(1, self.rng.choice(EXACT))
        made = join("integer" if function == "COUNT" else inner.kind, function + "({})", inner)
        if made.kind == "integer":  # here BIGINT counts and 64-bit sums have 128 bits
            return E("integer", made.ours, f"CAST({made.wide} AS HUGEINT)", f"CAST({made.narrow} AS HUGEINT)")
        return made

    def outer(self):
        """Makes arithmetic around aggregates."""
        left, right = self.exact_aggregate(), self.exact_aggregate()
        form = self.rng.choice(["({} + {})", "{} - {}", "({} * {})", "{} < {}", "{} IS NULL OR {} > 3", "case"])
        if form == "case":
            form = "CASE WHEN {0} > 0 THEN {0} ELSE {1} END"
            left, right = aligned([left, right])
        elif form == "{} < {}":
            return join("boolean", form, *aligned([left, right])), "plain"
        elif form.endswith("3"):
            return join("boolean", form, left, right), "plain"
        return join(widest(left.kind, right.kind), form, left, right), "plain"

    def having(self):
        """Makes a condition on groups."""
        left = self.exact_aggregate()
        right = self.exact_aggregate() if self.rng.random() < 0.5 else self.integer_literal()
        sign = self.rng.choice(["<", ">=", "<>", "IS DISTINCT FROM"])
        return join("boolean", f"{{}} {sign} {{}}", *aligned([left, right]))

    def key(self):
        rng = self.rng
        choice = rng.choice(["k", "day", "s", "t", "b", "k", "s", "p", "e", "c", "dd"])
        if choice == "k":
            return integer("k")
        if choice in ("day", "s", "t", "b"):
            return same({"day": "date", "b": "boolean"}.get(choice, "text"), choice)
        if choice == "p":
            return join("decimal", "({} * 0.5)", integer("k"), scale=1)
        if choice == "e":
            return join("integer", "({} * {} + 1)", integer("k"), integer(str(rng.randint(0, 3))))
        if choice == "dd":
            return join("integer", "(day - date '1970-01-01')")
        return self.condition(1)


Column = collections.namedtuple("Column", "sql how name")


def make_rows_query(rng):
    """Makes a query of rows; returns the same as make_query. Rows without ORDER BY are in the order of the file."""
    make = Maker(rng)
    columns = []
    for i in range(rng.randint(1, 4)):
        kind = rng.choice([*NUMBERS, *EXACT, "date", "text", "boolean"])
        sql = make.condition(1) if kind == "boolean" else make.number(2, kind) if kind in EXACT else make.leaf(kind)
        columns.append(Column(sql, "plain", f"a{i}"))
    where = make.condition(rng.randint(0, 3)) if rng.random() < 0.7 else None
    order = []
    distinct = rng.random() < 0.25
    if distinct or rng.random() < 0.6:  # by all columns: rows that are equal in all of them are interchangeable
        names = [column.name for column in columns]
        order = [same("", name) for name in rng.sample(names, len(names))]
        if not distinct and rng.random() < 0.4:
            order.insert(0, join("integer", "({} + 0)", make.number(1, "integer")))
    ways = [rng.choice(["", " DESC"]) + rng.choice(["", " NULLS FIRST", " NULLS LAST"]) for _ in order]
    tail = f" LIMIT {rng.choice([0, 1, 2, 5, 100, 4000])}" if rng.random() < 0.4 else ""
    tail += f" OFFSET {rng.choice([0, 1, 3, 50])}" if rng.random() < 0.3 else ""
    texts = []
    for dialect in (1, 2, 3):
        selected = ", ".join(f"{column.sql[dialect]} AS {column.name}" for column in columns)
        sql = f"SELECT {'DISTINCT ' if distinct else ''}{selected} FROM 't.parquet'"
        sql += f" WHERE {where[dialect]}" if where else ""
        if order:
            sql += " ORDER BY " + ", ".join(f"{term[dialect]}{way}" for term, way in zip(order, ways, strict=True))
        texts.append(sql + tail)
    return columns, *texts, True


def make_query(rng):
    """Returns (columns, ours, wide, narrow, ordered)."""
    if rng.random() < 0.3:
        return make_rows_query(rng)
    make = Maker(rng)
    keys = [make.key() for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 3]))]
    columns = [Column(key, "plain", f"k{i}") for i, key in enumerate(keys)]
    for i in range(rng.randint(1 if keys else 1, 4)):
        sql, how = make.aggregate()
        columns.append(Column(sql, how, f"a{i}"))
    where = make.condition(rng.randint(0, 3)) if rng.random() < 0.7 else None
    positions = list(range(len(columns)))
    rng.shuffle(positions)
    shown = [columns[i] for i in positions]

    tail, ordered = "", False
    if keys and rng.random() < 0.7:
        order = [c.name for c in columns if c.how == "plain" and c.sql.kind not in ("real",) and c.name[0] == "a"]
        order = rng.sample(order, rng.randint(0, len(order)))
        rest = [c.name for c in columns if c.name[0] == "k"]
        rng.shuffle(rest)
        tail = " ORDER BY " + ", ".join(
            name + rng.choice(["", "", " ASC", " DESC", " DESC"]) + rng.choice(["", "", " NULLS FIRST", " NULLS LAST"])
            for name in order + rest
        )
        ordered = True
    if (ordered or not keys) and rng.random() < 0.3:
        tail += f" LIMIT {rng.choice([0, 1, 2, 5, 100])}"
    having = make.having() if rng.random() < 0.3 else None
    if rng.random() < 0.2:
        grouped = [str(shown.index(column) + 1) for column in columns if column.name[0] == "k"]
    else:
        grouped = None
    texts = []
    for dialect in (1, 2, 3):
        select = ", ".join(f"{c.sql[dialect]} {rng.choice(['AS ', ''])}{c.name}" for c in shown)
        sql = f"SELECT {select} FROM 't.parquet'"
        if where:
            sql += f" WHERE {where[dialect]}"
        if keys:
            sql += " GROUP BY " + ", ".join(grouped or [key[dialect] for key in keys])
        if having:
            sql += f" HAVING {having[dialect]}"
        texts.append(sql + tail)
    return shown, *texts, ordered


# ------------------------------------------------------------------------------------------------------- comparison


def shown_exactly(value):
    """Converts a value of DuckDB to the value in our JSON."""
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def as_float(ours):
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(ours, ours)


def equal(ours, theirs, column):
    if column.how == "plain":
        theirs = shown_exactly(theirs)
        if column.sql.kind == "real" and isinstance(ours, int | float) and isinstance(theirs, int | float):
            # Ours is the float nearest to the quotient of decimals; DuckDB rounds both decimals first.
            if column.sql.ours == "f32":  # the shortest text that reads back as the same float32
                ours, theirs = (struct.unpack("f", struct.pack("f", value))[0] for value in (ours, theirs))
            return ours == theirs or ("/" in column.sql.ours and math.isclose(ours, theirs, rel_tol=1e-14))
        return ours == theirs and type(ours) is type(theirs)
    if column.how == "exact_avg":
        if theirs["n"] == 0:
            return ours is None
        return ours == float(fractions.Fraction(theirs["s"]) / theirs["n"])
    value, size = theirs["v"], theirs["size"]
    if value is None or ours is None:
        return ours is None and value is None
    ours = as_float(ours)
    if not isinstance(ours, int | float):
        return False
    if not math.isfinite(value) or not math.isfinite(ours):
        return math.isnan(value) == math.isnan(ours) and (math.isnan(value) or value == ours)
    if not math.isfinite(size):
        return True
    return abs(ours - value) <= 1e-12 * (size / (theirs["n"] if "AVG" in column.sql.wide[:20] else 1)) + 1e-300


def sort_key(row, columns):
    """Sorts rows of a query without ORDER BY by their exact columns."""
    return [json.dumps(shown_exactly(v)) for v, column in zip(row, columns, strict=True) if column.name[0] == "k"]


def difference(answer, rows, columns, ordered):
    """Returns why the answer differs from DuckDB's, or an empty string."""
    if answer["columns"] != [column.name for column in columns]:
        return f"columns {answer['columns']}"
    ours = answer["rows"]
    if not ordered:
        ours, rows = (sorted(some, key=lambda row: sort_key(row, columns)) for some in (ours, rows))
    if len(ours) != len(rows):
        return f"{len(ours)} rows, DuckDB has {len(rows)}"
    for number, (mine, theirs) in enumerate(zip(ours, rows, strict=True)):
        for mine_value, their_value, column in zip(mine, theirs, columns, strict=True):
            if not equal(mine_value, their_value, column):
                return f"row {number}, {column.name}: {mine_value!r}, DuckDB has {their_value!r}"
    return ""


class Duck:
    def __init__(self, path):
        self.connection = duckdb.connect()
        self.connection.execute("SET default_null_order='postgres'")
        self.connection.execute("SET threads=1")
        self.path = str(path).replace("'", "''")

    def ask(self, sql):
        """Returns rows, or the error."""
        try:
            return self.connection.execute(sql.replace("'t.parquet'", f"'{self.path}'", 1)).fetchall()
        except duckdb.Error as error:
            return error

    def ask_plainly(self, sql):
        """Runs without shortcuts by statistics: they skip errors, and those of DuckDB 2.0.0 are wrong for IS NULL."""
        self.connection.execute("PRAGMA disable_optimizer")
        answer = self.ask(sql)
        self.connection.execute("PRAGMA enable_optimizer")
        return answer


def overflows(duck, table, ours, narrow, message):
    """Returns whether PostgreSQL also reports this overflow, with integers of 64 bits or decimals of 38 digits."""
    if isinstance(duck.ask_plainly(narrow.split(" LIMIT ")[0]), duckdb.Error):
        return True
    if " in row " not in message:
        # PostgreSQL also folds constants before it reads a row; DuckDB's sums reach 2^127.
        return str(2**63 - 1) in ours or "this sum has more than 38 digits" in message
    # In a select list that also has a column without values, DuckDB does not compute the other columns.
    used = set(re.findall(r"\w+", re.sub(r"'[^']*'", "", ours)))
    return any(name in used and table.column(name).null_count == table.num_rows for name in table.column_names)


def check(upsweep, duck, table, rng, counts):
    """Runs one random query; returns an empty string, or the error in its answer."""
    columns, ours, wide, narrow, ordered = make_query(rng)
    threads = rng.choice([1, 2, 3, 7])
    if rng.random() < 0.2:
        ours = ours.replace("'t.parquet'", "'t.arrow'", 1)
    done = upsweep.run("query", ours, "--json", "--threads", threads)
    report = f"\n  ours:   {ours}\n  DuckDB: {wide}\n"
    if done.returncode == 2 and b"decimal places, more than 38" in done.stdout:
        counts["scale"] += 1
        return ""
    if done.returncode not in (0, 1):
        return f"exit status {done.returncode}: {done.stdout.decode()[:600]} {done.stderr.decode()[:300]}{report}"
    answer = json.loads(done.stdout)
    rows = duck.ask(wide)
    if "error" in answer:
        if answer["error"]["code"] != "overflow":
            return f"{answer['error']}{report}"
        counts["overflow"] += 1
        if isinstance(rows, duckdb.Error) or overflows(duck, table, ours, narrow, answer["error"]["message"]):
            return ""
        return f"{answer['error']}, DuckDB has {rows[:3]}{report}"
    if isinstance(rows, duckdb.Error):
        counts["DuckDB refused"] += 1
        words = ("verflow", "out of range", "Could not cast", "Casting", "too large", "scale")
        return "" if any(word in str(rows) for word in words) else f"DuckDB says {rows}{report}"
    counts["compared"] += 1
    if rng.random() < 0.1:
        other = upsweep.json("query", ours, "--threads", rng.choice([1, 2, 5]))
        if other["rows"] != answer["rows"]:
            return f"another answer with other threads: {other['rows'][:3]}{report}"
    why = difference(answer, rows, columns, ordered)
    if why:
        rows = duck.ask_plainly(wide)
        why = why if isinstance(rows, duckdb.Error) else difference(answer, rows, columns, ordered)
    return why + report if why else ""


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_random_queries(upsweep, arrow, seed):
    rng = random.Random(seed)
    table = make_table(rng)
    if table.num_rows > 3000 and rng.random() < 0.5:
        table = pa.concat_tables([table] * rng.randint(20, 40))  # more than a batch of 2^16 rows
    upsweep.table("t.parquet", table, **write_options(rng, table.num_rows))
    upsweep.table("t.arrow", table.combine_chunks(), max_chunksize=rng.choice([None, 100 + table.num_rows // 9]))
    duck = Duck(upsweep.folder / "t.parquet")
    counts = collections.Counter()
    wrong = []
    for number in range(QUERIES):
        why = check(upsweep, duck, table, random.Random(f"{seed}.{number}"), counts)
        if why:
            wrong.append(f"table {seed} ({table.num_rows} rows), query {number}: {why}")
    print(dict(counts))
    assert not wrong, "\n".join(wrong)
