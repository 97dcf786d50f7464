# SPDX-License-Identifier: Apache-2.0
# upsweep/_read.py: files as pyarrow tables, and what is known about them before they are read.

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _options, _query

if TYPE_CHECKING:
    import pyarrow


class _Stream:
    """An Arrow stream that pyarrow reads once."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule


def read(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], /, **options: Any) -> pyarrow.Table:
    """Reads files into memory as one pyarrow table: Parquet, Arrow IPC, CSV and .npy, also compressed.

    Parameters
    ----------
    path : path or list of paths
        A file, or several files that are one table. A path may have `*`, `?`, `[ ]` and `**`. Columns are matched by name, and
        numbers take a type that holds all of them. "-" is standard input.
    **options
        How CSV files are written, where the files do not show it: delimiter, quote, escape, decimal, thousands, null, header, skip,
        skip_end, comment, encoding, date_format, types and ragged, as for the command. `header` is a bool or a list of rows, `null`
        a list of words, and `types` a type or a dict of columns and types.

    The call uses at most the number of threads that `options` specifies.

    Returns
    -------
    pyarrow.Table
        All columns, with their types. Text is `string`, decimals are `decimal128`, and lists are `large_list`. The metadata of
        the schema contain the recognized form of CSV files, if it is unusual: `table.schema.metadata[b"upsweep.remarks"]` has one
        line for each remark.

    Raises
    ------
    FileNotFoundError, OSError, ImportError
        A file cannot be read; pyarrow is not installed.
    ValueError
        A file is damaged; the message names the file and the line or row.
    TypeError
        A column has a type that upsweep does not read, such as a struct; an unknown option.

    Examples
    --------
    >>> import pathlib, tempfile, upsweep
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> path.write_text("item,price\\npen,1.50\\nink,12.00\\n")
    30
    >>> upsweep.read(path).to_pylist()
    [{'item': 'pen', 'price': Decimal('1.50')}, {'item': 'ink', 'price': Decimal('12.00')}]
    """
    paths = _paths(path)
    capsule = _query.files_module().read(paths, _options.current().threads, _query.file_options(options))
    import pyarrow

    return pyarrow.table(_Stream(capsule))


def schema(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], /, **options: Any) -> dict[str, Any]:
    """Returns what is known about files before their rows are read.

    Parameters
    ----------
    path : path or list of paths
        The files of one table, as in `read`.
    **options
        How files are read, as in `read`.

    Returns
    -------
    dict
        - "files": the paths; "formats": their formats, each once; "bytes": their size.
        - "rows": the number of rows, or None if only reading shows it; "row_groups".
        - "columns": a list of dicts. "name" and "type" are strings. "nulls" is the number of NULLs, and "bytes" the size in the
          files; None if they are not known.
        - "remarks": strings about the form of CSV files.

    Raises
    ------
    FileNotFoundError, OSError, ImportError, ValueError, TypeError
        As in `read`.

    Examples
    --------
    >>> import pathlib, tempfile, upsweep
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> path.write_text("item,price\\npen,1.50\\nink,12.00\\n")
    30
    >>> [(column["name"], column["type"]) for column in upsweep.schema(path)["columns"]]
    [('item', 'text'), ('price', 'decimal(18, 2)')]
    """
    paths = _paths(path)
    found = _query.files_module().schema(paths, _options.current().threads, _query.file_options(options))
    return {**found, "files": [os.fsdecode(file) for file in found["files"]]}


def _paths(source: Any) -> list[bytes]:
    paths = _query.paths_of(source)
    if paths is None:
        raise TypeError(f"path: a path or a list of paths is needed, not {type(source).__name__}")
    return [_query.bytes_of_path(path, "a file's name") for path in paths]
