# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/_query.py: SQL aggregates over files and Dask DataFrames: tasks fold partitions, a tree merges carries.

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping
from typing import Any

import dask
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

import upsweep
from upsweep import _options, _query
from upsweep.dask._tasks import how, moved, new_name, tree


class Plan:
    """The query in the form that tasks use: its text, and the columns of all partitions. It is sent to every worker once."""

    def __init__(
        self, sql: str, fields: tuple, options: dict[str, Any], csv: dict[str, Any] | None = None, first: tuple | None = None
    ):
        self.sql = sql
        self.fields = fields
        self.options = options
        self.csv = csv or {}  # how CSV files are written
        self.first = first  # the columns of the first file

    def __reduce__(self) -> tuple:
        return Plan, (self.sql, self.fields, self.options, self.csv, self.first)

    @functools.cached_property
    def query(self) -> Any:
        module = _query.native()
        return module.Query(module.Statement(self.sql), module.Table.of_fields(self.fields))


def query(
    sql: str, tables: Mapping[str, Any] | None = None, /, *, client: Any = None, **named_tables: Any
) -> upsweep._query.Answer:
    """Computes SQL aggregates over many files, or over the partitions of a Dask DataFrame. A task folds one file or partition.

    Parameters
    ----------
    sql : str
        As for `upsweep.query`, with aggregates or GROUP BY. FROM names a table, or a path in quotes.
    client : distributed.Client, optional
        The cluster that runs the query. The default is Dask's default: the latest client, or threads of this process.
    tables : mapping, optional
        Tables by their names, as for `upsweep.query`.
    **named_tables
        The table for the name after FROM. It is given by paths of Parquet, Arrow IPC, CSV and .npy files: one path, a list of
        paths, or a path with `*`, `?`, `[ ]` and `**`. Workers must find the files by the same paths. Columns of several files are
        joined by name, as in `upsweep.query`. The table may also be a Dask DataFrame; only its columns that the query names are
        computed. With paths, other keyword arguments say how CSV files are written, as for `upsweep.query`.

    Each task uses one thread, or the number of threads that `options` specifies. For each of its threads, a worker holds data of
    one task at a time: some batches of a file, or one partition, and the groups found in it. The groups of the answer must fit the
    memory of one worker.

    Returns
    -------
    Answer
        The same as for `upsweep.query`, except that `seconds` is the total time of the tasks and `rung` is empty. Sums of integers
        and decimals are exact. Sums of floats have the same bits on every run, on any workers. These sums are rounded at partition
        boundaries, so their last bits may differ from those of `upsweep.query`.

    Raises
    ------
    ValueError, NotImplementedError, TypeError
        Before any task begins: as for `upsweep.query`; the list of files is empty; a file shares no column with the files
        before it; the types of a column of the query are incompatible, and not all of its files are CSV: the message names both. While tasks run: the
        values of a partition do not have the DataFrame's types.
    OverflowError, ZeroDivisionError
        In an expression. `index` is the first row with the error. For files, the index counts within the file, which the message
        names. For a DataFrame, the index counts over all partitions.
    FileNotFoundError, OSError, ImportError
        A file cannot be read; pyarrow, which reads files, is not installed.

    Examples
    --------
    >>> import dask.dataframe, pandas, upsweep.dask
    >>> frame = pandas.DataFrame({"shop": ["Lyon", "Oslo", "Lyon"], "price": [5.0, 2.5, 8.0]})
    >>> sales = dask.dataframe.from_pandas(frame, npartitions=2)
    >>> upsweep.dask.query("SELECT shop, SUM(price) AS total FROM sales GROUP BY shop ORDER BY shop", sales=sales)
    shop  total
    Lyon     13
    Oslo    2.5
    """
    begin = time.perf_counter()
    statement = _query.parsed(sql)
    csv = _query.csv_options(statement, named_tables)
    named = {name: table for name, table in named_tables.items() if name not in csv}
    source = statement.path or _query.given(statement, _query.merged(tables, named), ("client",))
    _query.refuse_others(statement, named, ("client",))
    name = statement.path or statement.table
    paths = _query.paths_of(source)
    if paths is not None:
        plan, carry = _of_files(sql, statement, paths, name, csv, client)
    elif csv:
        raise TypeError(f"'{next(iter(csv))}' says how CSV files are written, and {name} is not a path")
    elif type(source).__module__.startswith("dask.dataframe") and source.ndim == 2:
        plan, carry = _of_frame(sql, statement, source, name, client)
    else:
        raise TypeError(
            f"{name}: paths or a Dask DataFrame are needed, not {type(source).__name__}: use upsweep.query for data of this process"
        )
    if isinstance(carry, Exception):
        raise carry
    answer = _query.Answer(plan.query.answer([carry]))
    answer.seconds = time.perf_counter() - begin
    return answer


def _require_carry(statement: Any, table: Any, whole: Any) -> None:
    """Raises the errors of the query for these columns. Also refuses queries of rows."""
    _query.typed(statement, table, whole)
    if statement.selects_rows:
        raise NotImplementedError(
            "a query without aggregates and GROUP BY returns rows, which have no carry to merge: use upsweep.query, or select rows "
            "with Dask"
        )


def _of_files(sql: str, statement: Any, paths: list[str], name: str, csv: dict[str, Any], client: Any) -> tuple[Plan, Any]:
    files = [os.path.abspath(file) for file in _query.matching(paths)]
    if not files:
        raise ValueError(f"{name}: the list of files is empty: at least one is needed")
    options = how()
    table = _query.open_files(files[:1], options["threads"], csv)
    try:
        _require_carry(statement, table, None)
    except (ValueError, TypeError, NotImplementedError):
        if len(files) == 1:
            raise
        # Other files may have the column.
        columns = [_query.columns_of_file(_query.open_files([file], options["threads"], csv)) for file in files]
    else:
        first = _query.columns_of_file(table)
        plan = Plan(sql, table.fields, options, csv, first)
        carry = _computed(plan, [(functools.partial(_fold_file, file, None, None),) for file in files], [], client)
        if not isinstance(carry, _OtherColumns):
            return plan, carry
        columns = [carry.columns.get(file, first) for file in files]
    table, places = _query.joined_columns(files, columns)
    _require_carry(statement, table, None)
    plan = Plan(sql, table.fields, options, csv)
    folds = [(functools.partial(_fold_file, file, *each),) for file, *each in zip(files, columns, places, strict=True)]
    return plan, _computed(plan, folds, [], client)


class _OtherColumns(Exception):
    """Replaces a carry if files have columns that differ from those of the plan: their columns, by path."""

    def __init__(self, columns: dict[str, tuple]):
        super().__init__(columns)
        self.columns = columns


def _of_frame(sql: str, statement: Any, frame: Any, name: str, client: Any) -> tuple[Plan, Any]:
    if not all(isinstance(column, str) for column in frame.columns):
        raise TypeError(f"{name}: the names of columns must be text, unlike those in {list(frame.columns)}")
    wanted = _query.wanted_columns(list(frame.columns), statement, name) or list(frame.columns[:1])
    schema = _schema(frame[wanted])
    table = _query.stream(schema.empty_table(), name)
    _require_carry(statement, table, lambda: _query.stream(_schema(frame).empty_table(), name))
    partitions = frame[wanted].to_delayed()
    tasks = [(_fold_partition, partition.key, i, schema) for i, partition in enumerate(partitions)]
    plan = Plan(sql, table.fields, how())
    return plan, _computed(plan, tasks, partitions, client)


def _schema(frame: Any) -> Any:
    """The Arrow types of the partitions' columns; objects are assumed to be text, as in Dask."""
    import pyarrow
    from dask.dataframe.utils import meta_nonempty

    schema = pyarrow.Schema.from_pandas(meta_nonempty(frame._meta), preserve_index=False).remove_metadata()
    for i, field in enumerate(schema):
        if pyarrow.types.is_dictionary(field.type):  # partitions may have different numbers of categories
            schema = schema.set(i, field.with_type(pyarrow.dictionary(pyarrow.int32(), field.type.value_type)))
    return schema


def _computed(plan: Plan, tasks: list[tuple], partitions: list, client: Any) -> Any:
    """The carry of all partitions, or the first error. Tasks are (function, arguments…); the plan is the function's first argument."""
    folds, given = new_name("fold"), new_name("plan")
    graph: dict = {given: plan}
    graph.update({(folds, i): (function, given, *arguments) for i, (function, *arguments) in enumerate(tasks)})
    last = tree(graph, [(folds, i) for i in range(len(tasks))], new_name("merge"), _merge, given)
    layers = HighLevelGraph.from_collections(folds, graph, dependencies=partitions)
    return dask.compute(Delayed(last, layers, layer=folds), scheduler=client)[0][1]


def _fold_file(path: str, columns: tuple | None, places: list[int] | None, plan: Plan) -> tuple[int, Any]:
    """Folds a file. `columns` is `columns_of_file` of the file, `places` the plan's columns that they are; None: those of the first file."""
    with upsweep.options(**plan.options):
        opened = _query.open_files([path], plan.options["threads"], plan.csv)
        own = _query.columns_of_file(opened)
        if places is None:
            return _folded(plan, opened) if own == plan.first else (0, _OtherColumns({path: own}))
        if own != columns:
            raise ValueError(f"{path}: was changed while the query ran; do not change the file until the query ends")
        return _folded(plan, _query.joined_file(path, opened, plan.fields, places))


def _fold_partition(plan: Plan, frame: Any, number: int, schema: Any) -> tuple[int, Any]:
    import pyarrow

    partition = f"partition {number}"
    with upsweep.options(**plan.options):
        try:
            rows = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        except (KeyError, pyarrow.ArrowException, UnicodeEncodeError) as error:
            _query.arrow_columns(frame, partition)  # its error names the column and the row
            raise ValueError(f"{partition}: its columns do not match those of the DataFrame: {error}") from None
        return _folded(plan, _query.stream(rows, partition))


def _folded(plan: Plan, table: Any) -> tuple[int, Any]:
    """The number of rows of a partition (-1 if not counted), and its carry. If a row has an error, the error is the carry, because an
    earlier partition may also have an error, which has priority."""
    try:
        return table.rows, plan.query.fold(table, _options.place())
    except (OverflowError, ZeroDivisionError) as error:
        return 0, moved(error, 0)


def _merge(plan: Plan, partitions: list[tuple[int, Any]]) -> tuple[int, Any]:
    """Merges the row counts and carries of partitions in order, or returns the first error, with its row moved by the counted rows."""
    others = [carry.columns for _, carry in partitions if isinstance(carry, _OtherColumns)]
    if others:
        return 0, _OtherColumns({path: columns for each in others for path, columns in each.items()})
    rows, carries = 0, []
    for more, carry in partitions:
        is_counted = rows >= 0 and more >= 0
        if isinstance(carry, Exception):
            return (0, moved(carry, rows)) if is_counted else (-1, carry)
        carries.append(carry)
        rows = rows + more if is_counted else -1
    return rows, plan.query.merge(carries)
