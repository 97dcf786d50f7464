# SPDX-License-Identifier: Apache-2.0
# upsweep/_query.py: SQL over the tables of other libraries, dicts of arrays, and files: aggregates and rows.

from __future__ import annotations

import datetime
import decimal
import difflib
import html
import importlib.util
import os
import re
import weakref
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from . import _core, _options
from ._arrays import NUMPY, is_number, text, whole, whole_number, word
from ._objects import Unsupported, are_numbers, of_objects

_SHOWN_ROWS = 20
_NAT = -(2**63)  # the integer of NumPy's NaT

# Arrow's formats for NumPy's types that are used in place.
_FORMATS = {
    "int8": "c",
    "int16": "s",
    "int32": "i",
    "int64": "l",
    "uint8": "C",
    "uint16": "S",
    "uint32": "I",
    "uint64": "L",
    "float16": "e",
    "float32": "f",
    "float64": "g",
}


class Answer:
    """The result of a query: a small table.

    `pyarrow.table(answer)`, `polars.DataFrame(answer)`, `pandas.DataFrame.from_arrow(answer)` and DuckDB read it through its
    `__arrow_c_stream__`. In this stream integers are int64. A column with an integer that does not fit is uint64, or decimals
    of 38 digits. Decimals have 38 digits and the scale of the expression. Dates are date32, and text is utf8. Timestamps,
    times of day and durations keep their unit, and timestamps their time zone.
    `pandas.DataFrame(answer)` reads the rows, and takes the column names from the first row. An answer without rows has no
    columns there.

    Attributes
    ----------
    columns : list of str
        The names of the columns.
    rung : str
        The rung that ran the query. It is "cpu.blocks" or "cuda.generated".
    seconds : float
        The run time of the query in seconds. It excludes the preparation in Python.
    bytes_spilled : int
        Number of bytes written to temporary files because memory could not hold all groups; 0 if no groups were spilled.
    remarks : list of str
        The recognized form of the CSV files that the query read: "sales.csv: semicolons, decimal comma".
    """

    def __init__(self, answer: Any, remarks: Sequence[str] = ()):
        self._answer = answer
        self._fields: list[tuple[str, str, int, str]] = answer.columns  # name, kind, scale, time zone
        self.columns = [field[0] for field in self._fields]
        self.rung: str = answer.rung
        self.seconds: float = answer.seconds
        self.bytes_spilled: int = answer.bytes_spilled
        self.remarks = list(remarks)

    def __len__(self) -> int:
        return self._answer.rows

    def _values(self, index: int) -> list[Any]:
        _, kind, scale, zone = self._fields[index]
        zone_info = _zone_info(zone) if zone else None
        return [python_value(kind, scale, zone_info, value) for value in self._integers(index)]

    def _integers(self, index: int) -> list[Any]:
        """The values of a column as the core returns them, those of dates and times as integers."""
        name, kind, *_ = self._fields[index]
        values: list[Any] = self._answer.values(index)
        if kind in ("timestamp", "duration") and _NAT in values:
            raise OverflowError(
                f"column {name!r}: the {kind} in row {values.index(_NAT)} is -2^63, which NumPy reads as NaT: use pyarrow.table(answer)"
            )
        return values

    def __getitem__(self, column: str | int) -> np.ndarray:
        """Returns a column by its name or number, as a NumPy array.

        Floats are float64, and NULL is NaN. Dates are datetime64[D], and NULL is NaT. Timestamps are datetime64 and durations
        timedelta64 in the unit of their column; timestamps with a time zone are in UTC. Integers are int64 and booleans are
        bool if all of them fit and none is NULL. All other columns, also decimals and text, contain Python objects, and NULL
        is None.
        """
        index = self._index(column)
        _, kind, scale, _ = self._fields[index]
        values = self._integers(index)
        if kind == "real":
            return np.array([np.nan if value is None else value for value in values], np.float64)
        dtype = {"date": "M8[D]", "timestamp": f"M8[{_unit(scale)}]", "duration": f"m8[{_unit(scale)}]"}.get(kind)
        if dtype:
            return np.array([_NAT if value is None else value for value in values], np.int64).view(dtype)
        if kind == "boolean" and None not in values:
            return np.array(values, np.bool_)
        if kind == "integer" and None not in values and all(-(2**63) <= value < 2**63 for value in values):
            return np.array(values, np.int64)
        return np.fromiter(self._values(index), object, len(values))

    def _index(self, column: str | int) -> int:
        if isinstance(column, str):
            if self.columns.count(column) > 1:
                raise KeyError(f"{self.columns.count(column)} columns are called {column!r}: name them with AS, or use numbers")
            if column not in self.columns:
                raise KeyError(f"no column is called {column!r}; available: {', '.join(self.columns)}")
            return self.columns.index(column)
        column = whole(column, "column")
        if not -len(self.columns) <= column < len(self.columns):
            raise IndexError(f"column number out of range: there are {len(self.columns)} columns, requested was {column}")
        return column % len(self.columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns a dict of column name to list of Python values: int, Decimal, float, date, datetime, time, timedelta, bool,
        str, for intervals of months a tuple (months, days, nanoseconds), and None for NULL.

        A value that Python's type lacks is a NumPy value: years before 1 and after 9999, and fractions of a microsecond."""
        return {name: self._values(self._index(name)) for name in self.columns}

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns the rows as tuples of Python values."""
        return list(zip(*(self._values(index) for index in range(len(self.columns))), strict=True))

    def __iter__(self) -> Any:
        """Iterates over the rows as named tuples: `pandas.DataFrame(answer)` takes its column names from the first row."""
        row = type("Row", (tuple,), {"_fields": tuple(self.columns), "__slots__": ()})
        return map(row, self.rows())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._answer.stream()

    def __repr__(self) -> str:
        table = [self.columns, *self._answer.texts(_SHOWN_ROWS)]
        widths = [max(len(row[i]) for row in table) for i in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.ljust(width) if kind == "text" else cell.rjust(width)
                for cell, width, (_, kind, *_) in zip(row, widths, self._fields, strict=True)
            ).rstrip()
            for row in table
        ]
        return "\n".join(lines + self._left_out())

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._answer.texts(_SHOWN_ROWS)
        )
        below = "".join(f"<caption>{line}</caption>" for line in self._left_out())
        return f"<table>{below}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _left_out(self) -> list[str]:
        return [f"… {len(self):,} rows in all"] if len(self) > _SHOWN_ROWS else []


def _unit(scale: int) -> str:
    """NumPy's unit for a number of digits after the second."""
    return ("s", "ms", "us", "ns")[scale // 3]


def _zone_info(zone: str) -> datetime.tzinfo:
    """Python's time zone of that name, such as "Europe/Paris" or "+02:00"; UTC if Python does not have it."""
    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", zone)
    if offset:
        size = datetime.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return datetime.timezone(-size if offset[1] == "-" else size)
    try:
        return zoneinfo.ZoneInfo(zone)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return datetime.UTC


def python_value(kind: str, scale: int, zone: datetime.tzinfo | None, value: Any) -> Any:
    if value is None:
        return None
    if kind == "decimal":
        return decimal.Decimal(value)
    if kind == "date":
        day = np.datetime64(value, "D")
        return day.item() if isinstance(day.item(), datetime.date) else day  # Python's dates cover the years 1 to 9999
    if kind not in ("timestamp", "time", "duration"):
        return value
    given = np.datetime64(value, _unit(scale)) if kind == "timestamp" else np.timedelta64(value, _unit(scale))
    whole = value % 1000 == 0 if scale > 6 else -(2**63) <= value * 10 ** (6 - scale) < 2**63
    python = given.astype(f"{given.dtype.kind}8[us]").item() if whole else None
    if kind == "timestamp" and isinstance(python, datetime.datetime):
        return python.replace(tzinfo=datetime.UTC).astimezone(zone) if zone else python
    if kind == "duration" and isinstance(python, datetime.timedelta):
        return python
    if kind == "time" and isinstance(python, datetime.timedelta) and 0 <= python.days < 1:
        return (datetime.datetime.min + python).time()
    return given


def query(
    sql: str,
    tables: Mapping[str, Any] | None = None,
    /,
    *,
    device: str = "cpu",
    memory: int | str | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    **named_tables: Any,
) -> Answer:
    """Computes SQL aggregates or rows of a table, in one pass over the columns that the query names, without copying them.

    Parameters
    ----------
    sql : str
        A SELECT statement. The select list may contain SUM, COUNT, COUNT(*), MIN, MAX, AVG and the grouping expressions.
        Operators + - * / and CASE may appear inside aggregates and around them. FROM names one table: a name, or a path in
        quotes. WHERE, GROUP BY, ORDER BY, LIMIT and OFFSET are supported. PostgreSQL defines the semantics. List functions,
        such as ``list_sum(list_filter(x, e -> e > 30))``, compute numbers from columns of lists. Without aggregates and GROUP
        BY, the answer has a row for each row of the table that WHERE keeps: ``SELECT *, x * 2 AS twice FROM t``. These rows
        are in the order of the table unless there is an ORDER BY. With LIMIT and without ORDER BY, reading stops early, and the
        columns of CSV files have the types of the rows that were read.
    device : {"cpu", "cuda", "auto"}
        The device that runs the query; "cuda" copies the columns to a GPU, "auto" does this if there is a GPU. Queries of rows
        run on the CPU: they refuse "cuda".
    memory : int or str, optional
        The maximum memory for groups and answer: a number of bytes, or a string such as "4GB" or "500MB". The default is three
        quarters of the free memory. Groups that do not fit are written to a temporary file, and the answer is the same. The
        file has no name, and nothing of it remains.
    spill_dir : path, optional
        The folder for the temporary file. The default is $TMPDIR, or the system's temporary folder.
    tables : mapping, optional
        Tables by the names that the query uses after FROM. Any name is possible, also "memory" or "other table".
    **named_tables
        Tables by name, for names that differ from the parameters above. A table is one of:

        - a pyarrow table (also RecordBatch, RecordBatchReader, Dataset), a Polars or pandas frame, or a DuckDB relation,
        - any other object with `__arrow_c_stream__`, or an Awkward array of records,
        - a dict of columns (NumPy arrays, lists, Arrow arrays, Awkward arrays; also lists of numbers for each row),
        - a path of a Parquet, Arrow IPC, CSV or .npy file.

        If the table is a path or a list of paths, other keyword arguments say how CSV files are written: `delimiter=";"`. They are
        those of `upsweep.read`. A keyword argument that the query names after FROM is always its table.

        Several files are a list of paths, or a path with `*`, `?`, `[ ]` and `**`. Their columns are matched by name, and numbers take a
        type that holds all of them. Sources that can be read only once (readers, DuckDB relations) are read in chunks.
        Columns that the query does not name are not read.

    The query uses at most the number of threads that `options` specifies.

    Returns
    -------
    Answer
        A small table: columns by their names, `rows()`, `to_dict()`. It is displayed as a table, and pyarrow, Polars, pandas and
        DuckDB can read it. Sums of integers and decimals are exact, in 128 bits. AVG is the float64 nearest to the exact
        quotient. Sums of floats have the same bits on any number of threads.

    Raises
    ------
    ValueError
        Invalid SQL, with a caret under its position (`code` "bad_sql"); an unknown table or column.
    NotImplementedError
        SQL that upsweep does not support: joins, subqueries, COUNT(DISTINCT), most functions.
    TypeError
        A column that the query names has an unsupported type; an argument is not a table.
    OverflowError, ZeroDivisionError
        In an expression. `index` is the row, for files the row within the file; the message names the file and its line or row.
    MemoryError
        The answer has more rows than memory holds; use LIMIT to request fewer rows.
    FileNotFoundError, OSError, ImportError
        A file cannot be read, or a temporary file cannot be written; pyarrow, which reads files, is not installed.

    Examples
    --------
    >>> import numpy, upsweep
    >>> items = {"price": numpy.array([5.0, 2.5, 8.0]), "amount": numpy.array([1, 4, 2])}
    >>> upsweep.query("SELECT SUM(price * amount) AS total, COUNT(*) FROM items WHERE price > 2.5", items=items)
    total  count
       21      2
    """
    statement = parsed(sql)
    most_bytes = _bytes(memory)
    spill_folder = b"" if spill_dir is None else bytes_of_path(spill_dir, "spill_dir")
    keywords = ("device", "memory", "spill_dir")
    csv = csv_options(statement, named_tables)
    named = {name: table for name, table in named_tables.items() if name not in csv}
    source = statement.path or given(statement, merged(tables, named), keywords)
    refuse_others(statement, named, keywords)
    place = _place(device, statement.selects_rows)

    def run(table: Any, whole: Any = None) -> Answer:
        return Answer(typed(statement, table, whole).run(table, place, most_bytes, spill_folder), table.remarks)

    paths = paths_of(source)
    if paths and (answer := _answer_of_first_rows(statement, paths, csv, run)) is not None:
        return answer
    return run(*_table(source, statement.path or statement.table, statement, csv))


def _answer_of_first_rows(
    statement: Any, paths: list[str], csv: Mapping[str, Any], run: Callable[[Any], Answer]
) -> Answer | None:
    """Runs a query with LIMIT on the first rows of files, which may have all rows that it needs. Otherwise returns None."""
    if statement.row_limit is None:
        return None
    files = files_module()
    size = files.first_bytes([bytes_of_path(path, "a file's name") for path in paths], statement.row_limit)
    while size > 0:
        table = open_files(paths, _options.current().threads, csv, size)
        if not files.is_partial(table):
            return run(table)
        try:
            answer = run(table)
        except (ArithmeticError, MemoryError, NotImplementedError, TypeError, ValueError) as error:
            if getattr(error, "code", None) == "unknown_column" and csv.get("ragged") != "fill":
                raise
            return None  # the types of all rows, or their columns, may fit the query
        if len(answer) == statement.row_limit:
            return answer
        size = files.more_bytes(size)
    return None


def parsed(sql: str) -> Any:
    """Parses `sql` into a statement. Errors are those of SQL."""
    return native().Statement(text(sql, "sql"))


def typed(statement: Any, table: Any, whole: Any) -> Any:
    """The query over a table's columns. `whole`: returns the table with all columns if some were omitted; otherwise None."""
    try:
        return native().Query(statement, table)
    except ValueError as error:
        if whole is None or getattr(error, "code", None) != "unknown_column":
            raise
    return native().Query(statement, whole())  # its error lists all columns


def native() -> Any:
    """upsweep._queries."""
    from . import _queries

    return _queries


def _bytes(memory: Any) -> int:
    if memory is None:
        return 0
    if isinstance(memory, str):
        number = native().parse_bytes(text(memory, "memory"))
        if number is None:
            raise ValueError(f"memory: a size such as '4GB' or '500MB' is needed, not {memory!r}")
        return int(number)
    if not is_number(memory):
        raise TypeError(f"memory: a number of bytes or a size such as '4GB' is needed, not {type(memory).__name__}")
    if not 0 < memory < 2**63:
        raise ValueError(f"memory: a positive number of bytes is needed, not {memory}")
    return whole_number(memory, "memory")


def _place(device: str, selects_rows: bool) -> Any:
    word(device, "device", ("cpu", "cuda", "auto"))
    may_use_gpu = device == "auto" and not selects_rows
    on_gpu = device == "cuda" or (may_use_gpu and any(not each["error"] for each in _core.devices()))
    return _options.place(0 if on_gpu else -1)


def merged(tables: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Merges the tables of a dict with those given as keyword arguments."""
    if tables is None:
        return named
    if not isinstance(tables, Mapping):
        raise TypeError(f"tables: a dict of table names and tables is needed, not {type(tables).__name__}")
    for name in tables:
        if not isinstance(name, str):
            raise TypeError(f"tables: the names of tables must be str, not {type(name).__name__}")
        text(name, "tables")
        if name in named:
            raise TypeError(f"tables: {name} is also given as a keyword argument")
    return {**tables, **named}


def given(statement: Any, tables: dict[str, Any], options: Sequence[str]) -> Any:
    """Returns the table after FROM."""
    place = statement.table_among(list(tables))
    if place is not None:
        return list(tables.values())[place]
    wanted = statement.table
    if wanted in options:
        statement.refuse_table(f"'{wanted}' is an option of query: pass the table as query(sql, {{'{wanted}': ...}})")
    if tables:
        statement.refuse_table(f"no table '{wanted}'; available: {', '.join(tables)}")
    statement.refuse_table(f"no table '{wanted}': pass it by its name, as query(sql, {wanted}=...), or write FROM 'FILE'")


def refuse_others(statement: Any, named: dict[str, Any], keywords: Sequence[str]) -> None:
    """Refuses keyword arguments that are neither options nor the table after FROM."""
    place = None if statement.path else statement.table_among(list(named))
    for number, name in enumerate(named):
        if number == place:
            continue
        hint = ""
        if name in _options.NAMES:
            hint = f": write it as `with upsweep.options({name}=...):`"
        elif close := difflib.get_close_matches(name, keywords, 1):
            hint = f": did you mean '{close[0]}'?"
        raise TypeError(f"'{name}' is neither an option nor the table after FROM{hint}")


def csv_options(statement: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Those keyword arguments that say how CSV files are written. The table after FROM is not one of them."""
    place = None if statement.path else statement.table_among(list(named))
    others = {name: value for number, (name, value) in enumerate(named.items()) if number != place}
    if not others or importlib.util.find_spec("pyarrow") is None or importlib.util.find_spec("upsweep._files") is None:
        return {}
    names = _option_names()
    return {name: value for name, value in others.items() if name in names}


def _table(source: Any, name: str, statement: Any, csv: Mapping[str, Any]) -> tuple[Any, Any]:
    """Returns the table, and a function that returns the table with all columns if only those that the query may name were read."""
    paths = paths_of(source)
    if paths:
        return open_files(paths, _options.current().threads, csv), None
    if csv:
        raise TypeError(
            f"'{next(iter(csv))}' says how CSV files are written, and {name} is not a path: it is a {type(source).__name__}"
        )
    if isinstance(source, Mapping):
        return _columns(source, name, statement), None
    library = type(source).__module__.partition(".")[0]
    if library == "polars" and type(source).__name__ == "LazyFrame":
        raise TypeError(f"{name}: a LazyFrame has no rows yet: call .collect() first")
    if library == "dask":
        raise TypeError(f"{name}: a Dask collection: use upsweep.dask.query")
    if library == "pyarrow" and hasattr(source, "scanner"):
        columns = wanted_columns(source.schema.names, statement, name) or source.schema.names[:1]
        reader = source.scanner(columns=columns).to_reader()
        return stream(reader, name, True), lambda: stream(source.scanner().to_reader(), name, True)
    if library == "pyarrow" and hasattr(source, "to_reader"):
        if not hasattr(source, "select"):
            return stream(source.to_reader(), name, True), None
        wanted = wanted_columns(source.schema.names, statement, name) or [0][: len(source.schema)]
        return stream(source.select(wanted), name), lambda: stream(source, name)
    if library == "polars" and hasattr(source, "get_columns"):
        wanted = wanted_columns(source.columns, statement, name) or source.columns[:1]
        columns = [_polars(source[column], f"{name}.{column}") for column in wanted]
        table = stream(source.select(columns), name, types=[(_type_name(column), False) for column in columns])
        return table, lambda: _names_only(source.columns)
    if library == "pandas" and hasattr(source, "columns"):
        return _frame(_pandas(source, statement, name), name), lambda: _names_only(source.columns)
    if library == "pyarrow" and hasattr(source, "read_next_batch"):
        return stream(_batches(source, name), name, True), None
    if library == "awkward" and getattr(source, "fields", None):
        return _columns({field: source[field] for field in source.fields}, name, statement), None
    if library in ("duckdb", "_duckdb") and hasattr(source, "types"):
        _refuse_zones_of_times(source, statement, name)
        types = [(str(kind), kind.id == "enum") for kind in source.types]  # Arrow's stream lacks the order of enums
        return stream(source, name, True, types), None
    if hasattr(source, "__arrow_c_stream__"):
        return stream(source, name, hasattr(source, "read_next_batch")), None
    if hasattr(source, "__arrow_c_array__"):
        return stream(_record_batch(source, name), name), None
    given = f"a {type(source).__name__}"
    if isinstance(source, (list, tuple)):
        other = next((each for each in source if not isinstance(each, (str, os.PathLike))), None)
        given = f"an empty {type(source).__name__}" if not source else f"{given} of {type(other).__name__}"
    raise TypeError(
        f"{name}: a table of pyarrow, Polars, pandas or DuckDB, a dict of columns, a path or a list of paths is needed, not {given}"
    )


def wanted_columns(columns: Sequence[str], statement: Any, name: str) -> list[str]:
    """Those columns of a table that the query may name."""
    wanted = [column for column in columns if statement.may_name(text(column, f"{name}: a column's name"))]
    for column in wanted:
        if wanted.count(column) > 1:
            raise ValueError(f"{wanted.count(column)} columns are called {column!r}: rename them")
    return wanted


def stream(source: Any, name: str, one_pass: bool = False, types: Sequence[tuple[str, bool]] = ()) -> Any:
    """The table that an Arrow stream contains. `types`: for each column the type name in its library, and whether it is an
    ordered category, which Arrow may not tell. An empty name stands for Arrow's name."""
    return native().Table.of_stream(source.__arrow_c_stream__(), one_pass, name, list(types))


def _refuse_zones_of_times(relation: Any, statement: Any, name: str) -> None:
    """Raises TypeError for times of day with a time zone, which DuckDB's Arrow stream lacks."""
    for column, kind in zip(relation.columns, relation.types, strict=True):
        if kind.id == "time with time zone" and statement.may_name(column):
            raise TypeError(f"{name}: column {column!r} has unsupported type {kind}; cast it to TIME, or leave it out")


_READ: weakref.WeakSet[Any] = weakref.WeakSet()  # readers that a query has begun to read


def _batches(reader: Any, name: str) -> Any:
    """Reads the batches of a pyarrow reader once, as a reader that refuses batches of a different schema.

    A reader that was already read looks like a reader without rows. Also, pyarrow accepts any batches from Python, and Arrow's C
    interface does not tell the type of an array.
    """
    if reader in _READ:
        raise ValueError(
            f"{name}: a query has read this reader, which can be read only once: pass its table, reader.read_all(), or a new reader"
        )
    pyarrow = _pyarrow(name)
    schema = reader.schema
    names, types = schema.names, schema.types

    def batches() -> Any:
        _READ.add(reader)
        for number, batch in enumerate(reader):
            if batch.schema.names != names or batch.schema.types != types:
                found = ", ".join(f"{field.name}: {field.type}" for field in batch.schema)
                raise ValueError(
                    f"batch {number} of the reader does not match its schema: it has [{found}], "
                    f"not [{', '.join(f'{field.name}: {field.type}' for field in schema)}]"
                )
            yield batch

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _record_batch(source: Any, name: str) -> Any:
    pyarrow = _pyarrow(f"{name}: a record batch")
    try:
        return pyarrow.record_batch(source)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: its __arrow_c_array__() does not return a record batch: {error}") from error


def _frame(frame: Any, name: str) -> Any:
    pyarrow = _pyarrow(f"{name}: a pandas {type(frame).__name__}")
    types = [(_type_name(frame[column]), False) for column in frame]
    own = [column for column in frame if _is_converted(frame[column].dtype)]
    try:
        given = arrow_columns(frame[own], name)
        if len(own) < len(types):
            rest = pyarrow.table(frame.drop(columns=own))
            given |= dict(zip(rest.column_names, rest.columns, strict=True))
        source = pyarrow.table({column: given[column] for column in frame})
    except (pyarrow.ArrowException, OverflowError, TypeError, UnicodeEncodeError):  # to name the invalid column
        source = pyarrow.table(arrow_columns(frame, name))
    return stream(source, name, types=types)


def arrow_columns(frame: Any, name: str) -> dict[str, Any]:
    """The columns of a pandas frame as pyarrow arrays. Errors for a column that Arrow cannot represent name this column."""
    return {column: arrow_of(frame[column], f"{name}.{column}") for column in frame}


def _is_converted(kind: Any) -> bool:
    """Whether upsweep converts columns of this type of pandas. pyarrow would lose the time zones of categories, and parts of Python
    objects. For times with a zone, pyarrow uses a function that pandas warns of."""
    import pandas

    if isinstance(kind, pandas.CategoricalDtype):
        return kind.categories.dtype == bool or _is_converted(kind.categories.dtype)
    return kind == object or isinstance(kind, pandas.DatetimeTZDtype)


def _of_pandas(values: Any, pyarrow: Any) -> Any:
    """Converts a Series, an Index or an array of pandas to a pyarrow array."""
    import pandas

    kind = values.dtype
    if not _is_converted(kind):
        return pyarrow.array(values)
    if isinstance(kind, pandas.DatetimeTZDtype):
        return pyarrow.array(values.to_numpy(f"M8[{kind.unit}]"), pyarrow.timestamp(kind.unit, kind.tz))
    if isinstance(kind, pandas.CategoricalDtype):
        codes = pandas.Categorical(values).codes
        categories = _of_pandas(kind.categories, pyarrow)
        made = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, mask=codes < 0), categories, ordered=kind.ordered)
        return made if kind.ordered or not pyarrow.types.is_boolean(categories.type) else made.dictionary_decode()
    return of_objects(values.to_numpy(), nan_is_null=True)


def _polars(column: Any, what: str) -> Any:
    """Converts a Polars Series to Arrow: 128-bit integers, which only Polars has, become decimals of 38 digits."""
    import polars

    if str(column.dtype) not in ("Int128", "UInt128"):
        return column
    try:
        return column.cast(polars.Decimal(38, 0))
    except polars.exceptions.InvalidOperationError:
        raise OverflowError(
            f"{what}: {column.dtype} with integers of more than 38 digits: convert the column to floats"
        ) from None


def _type_name(column: Any) -> str:
    """The type name of a column in its own library; empty where Arrow's name is more precise."""
    dtype = str(getattr(column, "dtype", ""))
    return "" if dtype == "object" else dtype


def arrow_of(values: Any, what: str) -> Any:
    """Converts values to a pyarrow array; integers beyond int64 become decimals of 38 digits."""
    import pyarrow

    if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        return values
    try:
        library = type(values).__module__.partition(".")[0]
        if library == "polars":
            return _polars(values, what).to_arrow()
        if library == "awkward":
            import awkward

            return awkward.to_arrow(values, extensionarray=False)
        if library == "pandas":
            return _of_pandas(values, pyarrow)
        is_objects = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.dtype == object)
        return of_objects(values) if is_objects else pyarrow.array(values)
    except UnicodeEncodeError:
        row = next(row for row, value in enumerate(values) if isinstance(value, str) and not _is_utf8(value))
        raise ValueError(f"{what}: row {row} is text that is not UTF-8; convert the column to UTF-8 or leave it out") from None
    except OverflowError:
        try:
            return pyarrow.array(values, pyarrow.decimal128(38, 0))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            raise OverflowError(f"{what}: integers of more than 38 digits, or integers mixed with other values") from None
    except Unsupported as error:
        raise TypeError(f"{what}: has {error}; make all of them numbers, dates or text, or leave the column out") from error
    except (pyarrow.ArrowException, TypeError) as error:
        kind = _type_name(values) or type(values).__name__
        raise TypeError(f"{what}: has unsupported type {kind}; convert it to numbers, dates or text, or omit it") from error


def _is_utf8(value: str) -> bool:
    """Whether the string has no unpaired surrogate."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pandas(frame: Any, statement: Any, name: str) -> Any:
    """The frame's wanted columns, by the names that pyarrow gives them, without its index, which is not a column."""
    names = [str(column) for column in frame.columns]
    wanted = wanted_columns(names, statement, name)
    chosen = frame.iloc[:, [place for place, column in enumerate(names) if column in wanted]].reset_index(drop=True)
    chosen.columns = [column for column in names if column in wanted]
    if not wanted and names:  # a table without columns would have no rows
        return chosen.assign(**{names[0]: np.int8(0)})
    return chosen


def _names_only(names: Any) -> Any:
    """A table with only the names of these columns, for messages that list them."""
    return native().Table.of_arrays([(str(name), "", "column that is not read", None, None) for name in names], 0)


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{what} is read with pyarrow, which is not installed: pip install 'upsweep[files]'") from None
    return pyarrow


def _columns(columns: Mapping[str, Any], name: str, statement: Any) -> Any:
    """Converts a dict of columns: NumPy arrays of numbers and dates in place, other columns with pyarrow."""
    for column in columns:
        if not isinstance(column, str):
            raise TypeError(f"{name}: the names of columns must be str, not {type(column).__name__}")
        values = columns[column]
        if not hasattr(values, "__len__") or isinstance(values, (str, bytes, Mapping)):
            raise TypeError(f"{name}.{column}: an array or list is needed, not {type(values).__name__}")
        if hasattr(values, "columns"):
            raise TypeError(f"{name}.{column}: a column is needed, not a table ({type(values).__name__})")
    wanted = {column: _array(columns[column], f"{name}.{column}") for column in wanted_columns(list(columns), statement, name)}
    if not wanted and columns:  # a table without columns would have no rows
        first = next(iter(columns))
        wanted = {first: np.zeros(len(columns[first]), np.int8)}
    lengths = {column: len(values) for column, values in columns.items()}
    for column, length in lengths.items():
        if length != next(iter(lengths.values())):
            raise ValueError(
                f"{name}: column {column!r} has {length} rows, but {next(iter(lengths))!r} has {next(iter(lengths.values()))}"
            )
    unread = [(column, "", "column that is not read", None, None) for column in columns if column not in wanted]
    if all(isinstance(values, np.ndarray) for values in wanted.values()):
        arrays = [_array_column(column, values) for column, values in wanted.items()]
        return native().Table.of_arrays(arrays + unread, next(iter(lengths.values()), 0))
    pyarrow = _pyarrow(f"{name}: a column that is not a NumPy array of numbers or dates")
    arrays = {column: arrow_of(values, f"{name}.{column}") for column, values in wanted.items()}
    return stream(pyarrow.table(arrays), name, types=[(_type_name(values), False) for values in wanted.values()])


def _array(values: Any, what: str) -> Any:
    """Converts numbers and dates to a contiguous NumPy array; returns any other values unchanged."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array: fill it first (x.filled(0)), or pass a pyarrow array with nulls")
    if isinstance(values, (list, tuple)):
        if not values:
            return np.empty(0, object)
        if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):  # a column of lists
            return values
        made = np.asarray(values)
        if made.dtype.kind in "fO" and all(isinstance(value, (int, np.integer)) for value in values):
            return _large_integers([int(value) for value in values], what)
        if made.dtype.kind not in "iufb" or not are_numbers(values):
            return values
        values = made
    if not isinstance(values, np.ndarray):
        return values
    if values.ndim != 1:
        raise ValueError(f"{what}: an array of one dimension is needed, not of {values.ndim}")
    if values.dtype.kind in "OUT":  # text
        return values.tolist()
    return NUMPY.contiguous(values.view(np.ndarray).astype(values.dtype.newbyteorder("="), copy=False))


def _large_integers(values: Sequence[int], what: str) -> Any:
    """Converts integers that NumPy would convert to floats or objects."""
    try:
        return np.array(values, np.uint64)
    except OverflowError:
        _pyarrow(f"{what}: integers that fit neither int64 nor uint64, all of them,")
        return arrow_of(values, what)


def _array_column(name: str, values: np.ndarray) -> tuple[str, str, str, Any, Any]:
    """The column in the form that upsweep._queries accepts."""
    if values.dtype.kind in "Mm":
        return _time_column(name, values)
    dtype = values.dtype.name
    if dtype == "object":  # an empty list, whose elements have no type
        return name, "n", "", None, None
    if dtype in _FORMATS:
        return name, _FORMATS[dtype], "", values.view("u2") if dtype == "float16" else values, None
    if dtype == "bool":
        return name, "b", "", np.packbits(values, bitorder="little"), None
    return name, "", dtype, None, None


def _time_column(name: str, values: np.ndarray) -> tuple[str, str, str, Any, Any]:
    """A column of datetime64 or timedelta64. Units that Arrow lacks become days or seconds."""
    unit, count = np.datetime_data(values.dtype)
    is_date = values.dtype.kind == "M" and unit in ("Y", "M", "W", "D")
    wanted = "D" if is_date else "s" if unit in ("W", "D", "h", "m") else unit
    if count != 1 or wanted not in ("D", "s", "ms", "us", "ns"):
        return name, "", values.dtype.name, None, None
    converted = values.astype(f"{values.dtype.kind}8[{wanted}]", copy=False)
    elements = converted.view(np.int64)
    valid = ~np.isnat(values)
    fits = converted.astype(values.dtype)[valid] == values[valid]
    if is_date:
        fits &= elements[valid] == elements[valid].astype(np.int32)
    if not np.all(fits):
        raise ValueError(f"{name}: a {'date is out of range: dates have 32 bits' if is_date else 'time does not fit 64 bits'}")
    letter = (
        "tdD"
        if is_date
        else f"{'ts' if values.dtype.kind == 'M' else 'tD'}{wanted[0]}{':' if values.dtype.kind == 'M' else ''}"
    )
    bits = None if valid.all() else np.packbits(valid, bitorder="little")
    return name, letter, "", elements.astype(np.int32) if is_date else elements, bits


def paths_of(source: Any) -> list[str] | None:
    """The paths of a table that is given by paths; None for any other table."""
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(paths, (list, tuple)) or not all(isinstance(each, (str, os.PathLike)) for each in paths):
        return None
    return [os.fsdecode(path) for path in paths]


def matching(paths: Sequence[str]) -> list[str]:
    """The files that match the paths, in order."""
    module = files_module()
    return [os.fsdecode(file) for path in paths for file in module.matching(bytes_of_path(path, "a file's name"))]


def open_files(paths: Sequence[str], threads: int, csv: Mapping[str, Any] = MappingProxyType({}), first_bytes: int = 0) -> Any:
    """The table of the files that match the paths. `csv`: how CSV files are written, as for `read`. `first_bytes`: 0, or the number of
    first bytes of CSV files whose rows are read."""
    return files_module().open(
        [bytes_of_path(path, "a file's name") for path in paths], threads, file_options(csv), first_bytes
    )


def columns_of_file(table: Any) -> tuple[tuple, bytes]:
    """The columns of a file, and how their numbers are written in CSV, for another process."""
    return table.fields, files_module().written_numbers(table)


def joined_columns(paths: Sequence[str], columns: Sequence[tuple[tuple, bytes]]) -> tuple[Any, list[list[int]]]:
    """The columns of several files as those of one table, without rows; and for each file, which of these each of its columns is.
    `columns`: `columns_of_file` of each file."""
    tables = [native().Table.of_fields(fields) for fields, _ in columns]
    written = [written for _, written in columns]
    return files_module().join([bytes_of_path(path, "a file's name") for path in paths], tables, written)


def joined_file(path: str, table: Any, fields: tuple, places: list[int]) -> Any:
    """The rows of one of several files, in the joined columns of all files, which are `fields`."""
    return files_module().open_joined(bytes_of_path(path, "a file's name"), table, native().Table.of_fields(fields), places)


def file_options(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The options that say how CSV files are written, as the command has them: names and texts."""
    names = _option_names()
    words = []
    for name, value in options.items():
        if name not in names:
            raise TypeError(f"'{name}' is not an option of reading files; available: {', '.join(names)}")
        if name == "types" and isinstance(value, Mapping):
            words += [(name, f"{column}={kind}") for column, kind in value.items()]
        elif name == "types" and isinstance(value, (list, tuple)):
            words += [(name, str(each)) for each in value]
        else:
            words.append((name, _option_text(value)))
    return words


def _option_names() -> list[str]:
    return [name.replace("-", "_") for name in files_module().option_names()]


def _option_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return ",".join(str(each) for each in value)
    return str(value)


def bytes_of_path(path: str | os.PathLike[str], what: str) -> bytes:
    """The path as bytes, as the file system stores it; these need not be UTF-8."""
    try:
        found = os.fsencode(path)
    except UnicodeEncodeError:
        found = b"\0"
    if b"\0" in found:
        raise ValueError(f"{what}: not a valid file name: {os.fspath(path)!r}")
    return found


def files_module() -> Any:
    """Imports upsweep._files, which uses the Arrow C++ library that pyarrow has loaded."""
    if importlib.util.find_spec("upsweep._files") is None:
        raise ImportError(
            "upsweep was built without Arrow and cannot read files: build it again with pyarrow, as pip does, or read the file with "
            "another library and pass its columns"
        )
    pyarrow = _pyarrow("a file")
    native()  # defines the table class
    try:
        import pyarrow.parquet  # loads libparquet

        from . import _files
    except ImportError as error:
        raise ImportError(
            f"files are read with the Arrow C++ of the pyarrow that upsweep was built with, and pyarrow {pyarrow.__version__} "
            f"is not compatible with it: pip install 'upsweep[files]' ({error})"
        ) from None
    return _files
