# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/stream.py: runs a function on the events of files, batch by batch, and adds the results.
"""While the function runs on one batch, a thread reads the next one. Memory therefore holds at most two batches, and the results.
Results are added in the order of the files and of their rows. The sum therefore does not depend on the speed of the disk.
"""

from __future__ import annotations

import concurrent.futures
import glob
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import awkward as ak
import numpy as np

# Small row groups are read together, so that all cores have work. A larger row group is not joined with others.
_ROWS = 1 << 18
# The size of a batch of a ROOT file. Its number of rows follows from it.
_BYTES = 1 << 28


class Batch(NamedTuple):
    """Rows of one file."""

    place: str  # for messages
    rows: int
    read: Callable[[], ak.Array]


# --------------------------------------------------------------------------------------------------------------- files


def _files(paths: Any) -> list[str]:
    """The files that a path, a pattern, or several of them name, in the order given. Matches of a pattern are sorted."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    elif not isinstance(paths, Iterable):
        raise TypeError(f"stream: paths must be a path or a list of paths, not {type(paths).__name__}")
    files: list[str] = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"stream: a path must be a str or a path object, not {type(path).__name__}")
        name = os.fspath(path)
        if os.path.exists(_without_tree(name)[0]):
            files.append(name)
            continue
        found = sorted(glob.glob(name))
        if not found:
            raise FileNotFoundError(f"stream: there is no file {name!r}, and no file matches it")
        files += found
    if not files:
        raise ValueError("stream: paths is empty")
    return files


def _without_tree(name: str) -> tuple[str, str | None]:
    """The file and the tree that `file.root:tree` names."""
    file, colon, tree = name.rpartition(":")
    return (file, tree) if colon and file and not os.path.exists(name) else (name, None)


def _first_bytes(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read(4)


def _batches(name: str, columns: list[str] | None) -> list[Batch]:
    """The batches of one file. A file without rows is one batch, so that its types are known."""
    file, tree = _without_tree(name)
    kind = _first_bytes(file)
    if kind == b"root":
        return _of_root(file, tree, columns)
    if kind == b"PAR1":
        if tree is not None:
            raise ValueError(f"stream: {file} is a Parquet file, which has no tree {tree!r}")
        return _of_parquet(file, columns)
    raise ValueError(f"stream: {file} is neither a Parquet file nor a ROOT file")


def _check_columns(file: str, columns: list[str] | None, known: list[str]) -> None:
    for column in columns or ():
        if not any(fnmatchcase(name, column) or name.startswith(column + ".") for name in known):
            shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
            raise ValueError(f"stream: {file} has no column {column!r}. Its columns are {shown}")


def _of_parquet(file: str, columns: list[str] | None) -> list[Batch]:
    from pyarrow.parquet import read_metadata

    metadata = read_metadata(file)
    form = ak.metadata_from_parquet(file)["form"]
    _check_columns(file, columns, form.columns())
    counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    if not counts:
        selected = form if columns is None else form.select_columns(columns)
        return [Batch(file, 0, lambda: ak.Array(selected.length_zero_array()))]
    batches: list[Batch] = []
    first = rows = 0
    for i, count in enumerate(counts):
        rows += count
        if rows >= _ROWS or i + 1 == len(counts):
            groups = list(range(first, i + 1))
            place = f"{file}, row group {first}" + (f" to {i}" if i > first else "")
            batches.append(Batch(place, rows, lambda groups=groups: ak.from_parquet(file, columns=columns, row_groups=groups)))
            first, rows = i + 1, 0
    return batches


def _of_root(file: str, tree: str | None, columns: list[str] | None) -> list[Batch]:
    try:
        import uproot
    except ModuleNotFoundError:
        raise ModuleNotFoundError("stream: reading ROOT files needs uproot: pip install uproot", name="uproot") from None
    with uproot.open(file) as opened:
        trees = opened.keys(filter_classname=["TTree", "ROOT::RNTuple"], cycle=False)
        if tree is None:
            if len(set(trees)) != 1:
                shown = ", ".join(dict.fromkeys(trees)) or "none"
                raise ValueError(f"stream: say which tree of {file} to read, as in '{file}:events'. Its trees are {shown}")
            tree = trees[0]
        elif tree not in opened:
            raise ValueError(f"stream: {file} has no tree {tree!r}. Its trees are {', '.join(dict.fromkeys(trees))}")
        _check_columns(file, columns, opened[tree].keys())
        total = opened[tree].num_entries
        rows = min(max(int(opened[tree].num_entries_for(_BYTES, filter_name=columns)), 1), max(total, 1))

    def reader(start: int, stop: int) -> Callable[[], ak.Array]:
        def read() -> ak.Array:
            with uproot.open(file) as opened:
                return opened[tree].arrays(filter_name=columns, entry_start=start, entry_stop=stop, library="ak")

        return read

    starts = range(0, total, rows) or [0]
    ends = [min(start + rows, total) for start in starts]
    return [Batch(f"{file}, rows {i} to {j}", j - i, reader(i, j)) for i, j in zip(starts, ends, strict=True)]


# ---------------------------------------------------------------------------------------------------------- the results


def _items(x: Any) -> Iterable[tuple[Any, Any]] | None:
    """The elements of a container with their keys, or None if x is not a container."""
    if isinstance(x, dict):
        return x.items()
    return enumerate(x) if isinstance(x, list | tuple) else None


def _leaves(x: Any, where: str) -> Iterator[tuple[str, Any]]:
    items = _items(x)
    if items is None:
        yield where, x
    else:
        for key, y in items:
            yield from _leaves(y, f"{where}[{key!r}]")


class Total:
    """The sum of the results of all batches: histograms and numbers are added, Awkward Arrays concatenated.

    NumPy arrays are refused: np.histogram() returns counts, which would have to be added, and edges, which must not be.
    """

    def __init__(self):
        self._first: Any = None
        self._sums: dict[str, Any] = {}
        self._last: dict[str, Any] | None = None

    def add(self, part: Any) -> None:
        leaves = dict(_leaves(part, "the result"))
        if self._last is None:
            self._first = part
            for where, x in leaves.items():
                self._sums[where] = _begun(x, where)
        else:
            for where in leaves.keys() ^ self._last.keys():
                raise ValueError(f"stream: only some batches have {where}")
            for where, x in leaves.items():
                self._sums[where] = _added(self._sums[where], x, self._last[where], where)
        self._last = leaves

    def result(self) -> Any:
        return self._ended(self._first, "the result")

    def _ended(self, x: Any, where: str) -> Any:
        items = _items(x)
        if items is None:
            total = self._sums[where]
            return ak.concatenate(total) if isinstance(x, ak.Array) else total
        ended = {key: self._ended(y, f"{where}[{key!r}]") for key, y in items}
        if isinstance(x, dict):
            return ended
        return type(x)(*ended.values()) if hasattr(x, "_fields") else type(x)(ended.values())


def _begun(x: Any, where: str) -> Any:
    if isinstance(x, ak.Array):
        return [x]
    if isinstance(x, np.integer):
        return np.uint64(x) if isinstance(x, np.unsignedinteger) else np.int64(x)
    if isinstance(x, bool | np.bool_ | bytes | np.ndarray | ak.Record) or not (x is None or hasattr(type(x), "__add__")):
        raise TypeError(
            f"stream: {where} is of type {type(x).__name__}, which is neither added nor concatenated. A function of a stream "
            f"returns histograms, numbers and Awkward Arrays, alone or in dicts, lists and tuples. upsweep.histogram() makes a "
            f"histogram, ak.Array() an Awkward Array of a NumPy array"
        )
    return x


def _added(total: Any, x: Any, last: Any, where: str) -> Any:
    """The total with x, where `last` was added before."""
    if type(x) is not type(last):
        raise TypeError(f"stream: {where} is of type {type(x).__name__} in one batch, and {type(last).__name__} in another")
    if isinstance(x, ak.Array):
        total.append(x)
        return total
    if x is None:
        return None
    if isinstance(x, str):
        if x != last:
            raise ValueError(f"stream: {where} is {x!r} in one batch, and {last!r} in another")
        return x
    if isinstance(x, int | float | complex | np.number):
        return total + (x.item() if isinstance(x, np.integer) else x)
    if x is last:
        raise ValueError(f"stream: {where} is the same {type(x).__name__} in two batches. The function must make a new one")
    return total + x


# ----------------------------------------------------------------------------------------------------------- the stream


class _Progress:
    """One line on a terminal, written at most five times a second."""

    def __init__(self, is_shown: bool, batches: int, rows: int):
        self._is_shown = is_shown
        self._batches = batches
        self._rows = rows
        self._next = 0.0

    def show(self, batches: int, rows: int) -> None:
        if self._is_shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            line = f"{batches} of {self._batches} batches, {rows:,} of {self._rows:,} events"
            print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def stream(function: Any, paths: Any, args: tuple, kwargs: dict, columns: Any, progress: bool | None) -> Any:
    """The sum of function(events, *args, **kwargs) over the batches of all files."""
    if columns is not None:
        columns = [columns] if isinstance(columns, str) else list(columns)
    batches = [batch for file in _files(paths) for batch in _batches(file, columns)]
    if len(batches) > 1:
        batches = [batch for batch in batches if batch.rows > 0] or batches[:1]
    total = Total()
    shown = _Progress(sys.stderr.isatty() if progress is None else progress, len(batches), sum(x.rows for x in batches))
    rows = 0
    with concurrent.futures.ThreadPoolExecutor(1, "upsweep-stream") as reader:
        following = reader.submit(batches[0].read)
        try:
            for i, batch in enumerate(batches):
                shown.show(i, rows)
                try:
                    events = following.result()
                    if i + 1 < len(batches):
                        following = reader.submit(batches[i + 1].read)
                    total.add(function(events, *args, **kwargs))
                except BaseException as error:
                    error.add_note(f"stream: in {batch.place}, after {rows:,} events")
                    raise
                rows += batch.rows
        finally:
            following.cancel()
            shown.end()
    return total.result()
