# SPDX-License-Identifier: Apache-2.0
# upsweep/_query.py: SQL aggregates over the tables of other libraries, dicts of arrays, and files.

from __future__ import annotations

import datetime
import decimal
import difflib
import html
import importlib.util
import operator
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, _options
from ._arrays import NUMPY, text, whole, word

_SHOWN_ROWS = 20

# Arrow's formats of NumPy's types that are taken where they lie.
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
    """What a query comes to: a small table.

    `pyarrow.table(answer)`, `polars.DataFrame(answer)`, `pandas.DataFrame.from_arrow(answer)` and DuckDB take it by its
    `__arrow_c_stream__`. There integers are int64 (uint64, or decimals of 38 digits, where one does not fit), decimals have 38
    digits and the scale of the expression, dates are date32, text is utf8. `pandas.DataFrame(answer)` takes its rows, and the names
    of the columns from the first one; an answer without rows has no columns there.

    Attributes
    ----------
    columns : list of str
        The names of the columns.
    rung : str
        What ran: "cpu.blocks" or "cuda.generated".
    seconds : float
        How long the query took, without what came before it in Python.
    bytes_spilled : int
        Written to temporary files, as memory could not hold all groups; 0 where none was.
    """

    def __init__(self, answer: Any):
        self._answer = answer
        self._fields: list[tuple[str, str]] = answer.columns
        self.columns = [name for name, _ in self._fields]
        self.rung: str = answer.rung
        self.seconds: float = answer.seconds
        self.bytes_spilled: int = answer.bytes_spilled

    def __len__(self) -> int:
        return self._answer.rows

    def _values(self, index: int) -> list[Any]:
        return [_python_value(self._fields[index][1], value) for value in self._answer.values(index)]

    def __getitem__(self, column: str | int) -> np.ndarray:
        """A column by its name or number, as a NumPy array.

        Floats are float64, where NULL is NaN, and dates datetime64[D], where it is NaT; integers are int64 and booleans bool as
        long as all of them fit and none is NULL. What else there is, decimals and text too, are Python's own objects, and NULL
        is None.
        """
        index = self._index(column)
        kind = self._fields[index][1]
        values = self._answer.values(index)
        if kind == "real":
            return np.array([np.nan if value is None else value for value in values], np.float64)
        if kind == "date":
            return np.array([np.iinfo(np.int64).min if value is None else value for value in values], np.int64).view("M8[D]")
        if kind == "boolean" and None not in values:
            return np.array(values, np.bool_)
        if kind == "integer" and None not in values and all(-(2**63) <= value < 2**63 for value in values):
            return np.array(values, np.int64)
        array = np.empty(len(values), object)
        array[:] = self._values(index)
        return array

    def _index(self, column: str | int) -> int:
        if isinstance(column, str):
            if self.columns.count(column) > 1:
                raise KeyError(f"{self.columns.count(column)} columns are called {column!r}: name them with AS, or by number")
            if column not in self.columns:
                raise KeyError(f"no column is called {column!r}; there are: {', '.join(self.columns)}")
            return self.columns.index(column)
        column = whole(column, "column")
        if not -len(self.columns) <= column < len(self.columns):
            raise IndexError(f"there are {len(self.columns)} columns, no number {column}")
        return column % len(self.columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists of Python's own values by their names: int, Decimal, float, date, bool, str, and None for NULL."""
        return {name: self._values(self._index(name)) for name in self.columns}

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python's own values."""
        return list(zip(*(self._values(index) for index in range(len(self.columns))), strict=True))

    def __iter__(self) -> Any:
        """The rows, which name their fields: `pandas.DataFrame(answer)` takes its columns from the first one."""
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
                for cell, width, (_, kind) in zip(row, widths, self._fields, strict=True)
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


def _python_value(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "decimal":
        return decimal.Decimal(value)
    if kind == "date":
        day = np.datetime64(value, "D")
        return day.item() if isinstance(day.item(), datetime.date) else day  # Python's dates are of the years 1 to 9999
    return value


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
    """SQL aggregates over a table, in one pass over the columns that are named, where they lie.

    Parameters
    ----------
    sql : str
        SELECT of SUM, COUNT, COUNT(*), MIN, MAX, AVG and of what is grouped by, with + - * / and CASE around and inside; FROM one
        table, a name or a path in quotes; WHERE, GROUP BY, ORDER BY, LIMIT. Meanings are PostgreSQL's.
    device : {"cpu", "cuda", "auto"}
        Where it runs; "cuda" brings the columns to a GPU, "auto" does where there is one.
    memory : int or str, optional
        Bytes that the groups and the answer may take, or such as "4GB" or "500MB"; without it three quarters of what is free. Groups
        that do not fit go to a temporary file, and the answer is the same. The file has no name: nothing is left of it.
    spill_dir : path, optional
        The folder for that file; without it $TMPDIR, or the system's.
    tables : mapping, optional
        What names after FROM mean, by these names: any, such as "memory" or "other table" too.
    **named_tables
        The same, by names that are none of the above: tables of pyarrow (also RecordBatch, RecordBatchReader, Dataset), Polars, pandas and DuckDB,
        what else has `__arrow_c_stream__`, dicts of columns (NumPy's, lists, Arrow's), and paths of Parquet, Arrow IPC, CSV and
        .npy files, a list of them or with * ? [ ] and ** in them for several: their columns are matched by name, and numbers take
        a type that holds all of them. What can be read but once (readers, DuckDB's relations) is read a chunk at a time. Columns
        that the query does not name are not looked at.

    At most so many threads as `options` says are used.

    Returns
    -------
    Answer
        A small table: columns by their names, `rows()`, `to_dict()`, shown as a table, and taken by pyarrow, Polars, pandas and
        DuckDB. Sums of integers and decimals are exact, in 128 bits; AVG is the float64 nearest to the exact quotient; sums of
        floats have the same bits on any number of threads.

    Raises
    ------
    ValueError
        SQL that is none, with a caret under its place (`code` "bad_sql"); a table or column that there is not.
    NotImplementedError
        SQL that upsweep does not have: joins, subqueries, HAVING, most functions.
    TypeError
        A column that the query names is of a type that is not computed with; something is given that is no table.
    OverflowError, ZeroDivisionError
        In an expression; `index` is the row, of a file within it; the message names the file and its line or row.
    MemoryError
        The answer has more rows than memory holds: LIMIT asks for fewer.
    FileNotFoundError, OSError, ImportError
        A file cannot be read, or a temporary one written; pyarrow, which reads files, is not installed.

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
    spill_folder = b"" if spill_dir is None else _bytes_of_path(spill_dir, "spill_dir")
    keywords = ("device", "memory", "spill_dir")
    source = statement.path or given(statement, merged(tables, named_tables), keywords)
    refuse_others(statement, named_tables, keywords)
    place = _place(device)
    table, whole = _table(source, statement.path or statement.table, statement)
    return Answer(typed(statement, table, whole).run(table, place, most_bytes, spill_folder))


def parsed(sql: str) -> Any:
    """The statement; its errors are those of SQL."""
    return native().Statement(text(sql, "sql"))


def typed(statement: Any, table: Any, whole: Any) -> Any:
    """The query of a table's columns. `whole`: returns the table with all of them, where some were left out, or is None."""
    try:
        return native().Query(statement, table)
    except ValueError as error:
        if whole is None or getattr(error, "code", None) != "unknown_column":
            raise
    return native().Query(statement, whole())  # whose error lists all columns


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
    try:
        number = operator.index(memory)
    except TypeError:
        raise TypeError(f"memory: a number of bytes or a size such as '4GB' is needed, not {type(memory).__name__}") from None
    if not 0 < number < 2**63:
        raise ValueError(f"memory: a positive number of bytes is needed, not {number}")
    return number


def _place(device: str) -> Any:
    word(device, "device", ("cpu", "cuda", "auto"))
    on_gpu = device == "cuda" or (device == "auto" and any(not each["error"] for each in _core.devices()))
    return _options.place(0 if on_gpu else -1)


def merged(tables: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Tables in a dict and those that are given by their names."""
    if tables is None:
        return named
    if not isinstance(tables, Mapping):
        raise TypeError(f"tables: a dict of tables by their names is needed, not {type(tables).__name__}")
    for name in tables:
        if not isinstance(name, str):
            raise TypeError(f"tables: the names of tables are str, not {type(name).__name__}")
        text(name, "tables")
        if name in named:
            raise TypeError(f"tables: {name} is given by its name too")
    return {**tables, **named}


def given(statement: Any, tables: dict[str, Any], options: Sequence[str]) -> Any:
    """The table after FROM."""
    place = statement.table_among(list(tables))
    if place is not None:
        return list(tables.values())[place]
    wanted = statement.table
    if wanted in options:
        statement.refuse_table(f"'{wanted}' is an option of query: give the table as query(sql, {{'{wanted}': ...}})")
    if tables:
        statement.refuse_table(f"no table '{wanted}'; given are: {', '.join(tables)}")
    statement.refuse_table(f"no table '{wanted}': give it by its name, as query(sql, {wanted}=...), or write FROM 'FILE'")


def refuse_others(statement: Any, named: dict[str, Any], keywords: Sequence[str]) -> None:
    """Refuses keywords that are neither options nor the table after FROM."""
    place = None if statement.path else statement.table_among(list(named))
    for number, name in enumerate(named):
        if number == place:
            continue
        hint = ""
        if name in _options.NAMES:
            hint = f": write it as `with upsweep.options({name}=...):`"
        elif close := difflib.get_close_matches(name, keywords, 1):
            hint = f": is '{close[0]}' meant?"
        raise TypeError(f"'{name}' is neither an option nor the table that the query reads{hint}")


def _table(source: Any, name: str, statement: Any) -> tuple[Any, Any]:
    """The table, and where only the columns that the query may name were taken, a function that returns it with all."""
    paths = paths_of(source)
    if paths:
        return open_files(paths, _options.current().threads), None
    if isinstance(source, Mapping):
        return _columns(source, name, statement), None
    library = type(source).__module__.partition(".")[0]
    if library == "polars" and type(source).__name__ == "LazyFrame":
        raise TypeError(f"{name}: a LazyFrame has no rows yet: call .collect() first")
    if library == "dask":
        raise TypeError(f"{name}: a collection of Dask's, which upsweep.dask.query takes")
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
    if library in ("duckdb", "_duckdb") and hasattr(source, "types"):
        types = [(str(kind), kind.id == "enum") for kind in source.types]  # whose order Arrow's stream does not tell
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
    """Of a table's columns those that the query may name."""
    wanted = [column for column in columns if statement.may_name(text(column, f"{name}: a column's name"))]
    for column in wanted:
        if wanted.count(column) > 1:
            raise ValueError(f"{wanted.count(column)} columns are called {column!r}: rename them")
    return wanted


def stream(source: Any, name: str, one_pass: bool = False, types: Sequence[tuple[str, bool]] = ()) -> Any:
    """The table that a stream of Arrow's gives. `types`: what the columns' library calls their types, empty where Arrow's name is
    used, and whether they are categories with an order of their own, which Arrow may not tell."""
    return native().Table.of_stream(source.__arrow_c_stream__(), one_pass, name, list(types))


_READ: weakref.WeakSet[Any] = weakref.WeakSet()  # readers that a query has begun to read


def _batches(reader: Any, name: str) -> Any:
    """The batches of a reader of pyarrow's, once, as a reader that refuses those that are not of its schema.

    A reader that has been read looks like one without rows. And pyarrow takes any batches from Python, while Arrow's C interface
    does not tell what type an array has.
    """
    if reader in _READ:
        raise ValueError(
            f"{name}: a query has read this reader, which can be read only once: give its table, reader.read_all(), or a new reader"
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
                    f"batch {number} of the reader has other columns than its schema: [{found}], "
                    f"not [{', '.join(f'{field.name}: {field.type}' for field in schema)}]"
                )
            yield batch

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _record_batch(source: Any, name: str) -> Any:
    pyarrow = _pyarrow(f"{name}: a record batch")
    try:
        return pyarrow.record_batch(source)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: its __arrow_c_array__() gives no record batch: {error}") from error


def _frame(frame: Any, name: str) -> Any:
    pyarrow = _pyarrow(f"{name}: a pandas {type(frame).__name__}")
    types = [(_type_name(frame[column]), False) for column in frame]
    try:
        source = pyarrow.table(frame)
    except (pyarrow.ArrowException, OverflowError, TypeError, UnicodeEncodeError):  # column by column, to name the one
        source = pyarrow.table(arrow_columns(frame, name))
    return stream(source, name, types=types)


def arrow_columns(frame: Any, name: str) -> dict[str, Any]:
    """The columns of a frame of pandas as arrays of pyarrow. The error of one that Arrow does not have names it."""
    return {column: _arrow(frame[column], f"{name}.{column}") for column in frame}


def _polars(column: Any, what: str) -> Any:
    """A Series of Polars as Arrow has it: integers of 128 bits, which only Polars has, as decimals of 38 digits."""
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
    """What the column's library calls its type; empty where Arrow's name says more."""
    dtype = str(getattr(column, "dtype", ""))
    return "" if dtype == "object" else dtype


def _arrow(values: Any, what: str) -> Any:
    """An array of pyarrow's; of integers beyond int64 as decimals of 38 digits."""
    import pyarrow

    if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        return values
    try:
        if type(values).__module__.partition(".")[0] == "polars":
            return _polars(values, what).to_arrow()
        return pyarrow.array(values)
    except UnicodeEncodeError:
        row = next(row for row, value in enumerate(values) if isinstance(value, str) and not _is_utf8(value))
        raise ValueError(f"{what}: row {row} is text that is not UTF-8; convert the column to UTF-8 or leave it out") from None
    except OverflowError:
        try:
            return pyarrow.array(values, pyarrow.decimal128(38, 0))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            raise OverflowError(f"{what}: integers of more than 38 digits, or beside other values") from None
    except (pyarrow.ArrowException, TypeError) as error:
        raise _no_column(values, what) from error


def _is_utf8(value: str) -> bool:
    """Whether it has no surrogate alone."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_column(values: Any, what: str) -> TypeError:
    """The error of values of which Arrow has no column."""
    kind = _type_name(values)
    if kind:
        return TypeError(
            f"{what}: is of type {kind}, which is not computed with; convert it to numbers, dates or text, or leave it out"
        )
    names = list(dict.fromkeys(type(value).__name__ for value in values if value is not None))
    return TypeError(
        f"{what}: has Python objects of type {' and '.join(names[:3])}; make all of them numbers, dates or text, or leave the column out"
    )


def _pandas(frame: Any, statement: Any, name: str) -> Any:
    """The frame's wanted columns, by the names that pyarrow gives them, without its index, which is no column."""
    names = [str(column) for column in frame.columns]
    wanted = wanted_columns(names, statement, name)
    chosen = frame.iloc[:, [place for place, column in enumerate(names) if column in wanted]].reset_index(drop=True)
    chosen.columns = [column for column in names if column in wanted]
    if not wanted and names:  # without any a table has no rows
        return chosen.assign(**{names[0]: np.int8(0)})
    return chosen


def _names_only(names: Any) -> Any:
    """A table of these columns, for messages that list them."""
    return native().Table.of_arrays([(str(name), "", "column that is not read", None, None) for name in names], 0)


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{what} is read with pyarrow, which is not installed: pip install 'upsweep[files]'") from None
    return pyarrow


def _columns(columns: Mapping[str, Any], name: str, statement: Any) -> Any:
    """A dict of columns: NumPy's arrays of numbers and dates as they are, the rest by way of pyarrow."""
    for column in columns:
        if not isinstance(column, str):
            raise TypeError(f"{name}: the names of columns are str, not {type(column).__name__}")
        values = columns[column]
        if not hasattr(values, "__len__") or isinstance(values, (str, bytes, Mapping)):
            raise TypeError(f"{name}.{column}: an array or list is needed, not {type(values).__name__}")
        if hasattr(values, "columns"):
            raise TypeError(f"{name}.{column}: a column is needed, not a table ({type(values).__name__})")
    wanted = {column: _array(columns[column], f"{name}.{column}") for column in wanted_columns(list(columns), statement, name)}
    if not wanted and columns:  # without any a table has no rows
        first = next(iter(columns))
        wanted = {first: np.zeros(len(columns[first]), np.int8)}
    lengths = {column: len(values) for column, values in columns.items()}
    for column, length in lengths.items():
        if length != next(iter(lengths.values())):
            raise ValueError(
                f"{name}: column {column!r} has {length} rows, {next(iter(lengths))!r} {next(iter(lengths.values()))}"
            )
    unread = [(column, "", "column that is not read", None, None) for column in columns if column not in wanted]
    if all(isinstance(values, np.ndarray) for values in wanted.values()):
        arrays = [_array_column(column, values) for column, values in wanted.items()]
        return native().Table.of_arrays(arrays + unread, next(iter(lengths.values()), 0))
    pyarrow = _pyarrow(f"{name}: a column that is no array of NumPy's of numbers or dates")
    arrays = {column: _arrow(values, f"{name}.{column}") for column, values in wanted.items()}
    return stream(pyarrow.table(arrays), name, types=[(_type_name(values), False) for values in wanted.values()])


def _array(values: Any, what: str) -> Any:
    """Numbers and dates as an array of NumPy's whose elements lie side by side; anything else as it is."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array: fill it first (x.filled(0)), or give a pyarrow array with nulls")
    if isinstance(values, (list, tuple)):
        if not values:
            return np.empty(0, object)
        made = np.asarray(values)
        if made.dtype.kind in "fO" and all(type(value) is int for value in values):
            return _large_integers(values, what)
        if made.dtype.kind not in "iufb":
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
    """Integers of which NumPy would make floats or objects."""
    try:
        return np.array(values, np.uint64)
    except OverflowError:
        _pyarrow(f"{what}: integers that fit neither int64 nor uint64, all of them,")
        return _arrow(values, what)


def _array_column(name: str, values: np.ndarray) -> tuple[str, str, str, Any, Any]:
    """The column as upsweep._queries takes it."""
    dtype = values.dtype.name
    if dtype == "object":  # a list without elements, which are of no type
        return name, "n", "", None, None
    if dtype in _FORMATS:
        return name, _FORMATS[dtype], "", values.view("u2") if dtype == "float16" else values, None
    if dtype == "bool":
        return name, "b", "", np.packbits(values, bitorder="little"), None
    if dtype == "datetime64[D]":
        days = values.view(np.int64)
        valid = ~np.isnat(values)
        if np.any(days[valid] != days[valid].astype(np.int32)):
            raise ValueError(f"{name}: dates are of 32 bits: one is too far away")
        return name, "tdD", "", days.astype(np.int32), None if valid.all() else np.packbits(valid, bitorder="little")
    return name, "", dtype, None, None


def paths_of(source: Any) -> list[str] | None:
    """The paths that a table is given by, or None where it is given otherwise."""
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(paths, (list, tuple)) or not all(isinstance(each, (str, os.PathLike)) for each in paths):
        return None
    return [os.fsdecode(path) for path in paths]


def matching(paths: Sequence[str]) -> list[str]:
    """The files that the paths stand for, in order."""
    module = files_module()
    return [os.fsdecode(file) for path in paths for file in module.matching(_bytes_of_path(path, "a file's name"))]


def open_files(paths: Sequence[str], threads: int) -> Any:
    """The table of the files that the paths stand for."""
    return files_module().open([_bytes_of_path(path, "a file's name") for path in paths], threads)


def joined_columns(paths: Sequence[str], fields: Sequence[tuple]) -> tuple[Any, list[list[int]]]:
    """The columns of files as those of one table, without rows, and which of these each column of each file is."""
    tables = [native().Table.of_fields(each) for each in fields]
    return files_module().join([_bytes_of_path(path, "a file's name") for path in paths], tables)


def joined_file(path: str, table: Any, fields: tuple, places: list[int]) -> Any:
    """The rows of one of several files in the columns of all, which are `fields`."""
    return files_module().open_joined(_bytes_of_path(path, "a file's name"), table, native().Table.of_fields(fields), places)


def _bytes_of_path(path: str | os.PathLike[str], what: str) -> bytes:
    """As the file system has it, which need not be UTF-8."""
    try:
        found = os.fsencode(path)
    except UnicodeEncodeError:
        found = b"\0"
    if b"\0" in found:
        raise ValueError(f"{what}: no file can be called {os.fspath(path)!r}")
    return found


def files_module() -> Any:
    """upsweep._files, whose Arrow C++ is the one that pyarrow has loaded."""
    if importlib.util.find_spec("upsweep._files") is None:
        raise ImportError(
            "upsweep was built without Arrow, and reads no files: build it again with pyarrow, as pip does, or read the file with "
            "another library and pass its columns"
        )
    pyarrow = _pyarrow("a file")
    native()  # which says what a table is
    try:
        import pyarrow.parquet  # with libparquet

        from . import _files
    except ImportError as error:
        raise ImportError(
            f"files are read with the Arrow C++ of the pyarrow that upsweep was built with, and pyarrow {pyarrow.__version__} "
            f"does not go with it: pip install 'upsweep[files]' ({error})"
        ) from None
    return _files
