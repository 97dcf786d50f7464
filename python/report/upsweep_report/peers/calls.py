# SPDX-License-Identifier: Apache-2.0
# upsweep_report/peers/calls.py: how users of upsweep and of other libraries write each problem.
"""Each call is made from a case's arrays, already in the library's own form. Making the call is not timed, the call is."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import upsweep

from .cases import LIMIT

CPU, CUDA = "cpu", "cuda"
_PLACES = {"numpy": (CPU,), "cupy": (CUDA,), "torch": (CPU, CUDA)}


class Call(NamedTuple):
    problem: str
    library: str  # its import name
    rung: str  # "numpy.cumsum"
    idea: str  # the expression that is called
    devices: tuple[str, ...]
    threads: bool  # whether it runs on several threads
    make: Callable[[Any, Any], Callable[[], Any]]  # from arrays and their library
    values: Callable[[Any], tuple[np.ndarray, ...]]  # of the returned object


CALLS: list[Call] = []
OURS: dict[str, Callable[[Any, Any], Callable[[], Any]]] = {}
OUR_CALLS: dict[str, str] = {}


def plain(result: Any) -> tuple[np.ndarray, ...]:
    """The result as NumPy arrays; lists become their offsets and their content."""
    if isinstance(result, tuple):
        return tuple(array for each in result for array in plain(each))
    library = type(result).__module__.partition(".")[0]
    if library == "cupy":
        return (result.get(),)
    if library == "torch":
        return (result.cpu().numpy(),)
    if library == "polars":
        return plain(result.to_arrow())
    if library == "pandas":
        return (result.to_numpy(),)
    if library == "pyarrow":
        return _of_arrow(result)
    if library == "awkward":
        return _of_awkward(result)
    return (np.asarray(result),)


def _of_arrow(array: Any) -> tuple[np.ndarray, ...]:
    if hasattr(array, "combine_chunks"):
        array = array.combine_chunks()
    if hasattr(array, "as_py"):
        return (np.asarray(array.as_py()),)
    if hasattr(array, "offsets"):
        return (array.offsets.to_numpy(), array.flatten().to_numpy(zero_copy_only=False))
    return (array.to_numpy(zero_copy_only=False),)


def _of_awkward(array: Any) -> tuple[np.ndarray, ...]:
    import awkward

    layout = awkward.to_packed(array).layout
    if not layout.is_list:
        return (np.asarray(layout.data),)
    content = layout.content
    fields = content.contents if content.is_record else [content]
    return (np.asarray(layout.offsets.data), *(np.asarray(field.data) for field in fields))


def _content(result: Any) -> tuple[np.ndarray, ...]:
    """The content of lists, without their offsets."""
    return plain(result)[1:]


def ours(problem: str, idea: str) -> Callable[[Any], Any]:
    """Registers how users of upsweep write the problem, with any library whose arrays it accepts."""

    def register(make: Any) -> Any:
        OURS[problem] = make
        OUR_CALLS[problem] = idea
        return make

    return register


def peer(
    problem: str, name: str, idea: str, *libraries: str, threads: bool = False, values: Any = plain
) -> Callable[[Any], Any]:
    """Registers how users of these libraries write the problem; `name` is the name of the function or method."""

    def register(make: Any) -> Any:
        for library in libraries:
            rung = f"{library.partition('_')[0]}.{name}"
            several = threads or library == "torch"
            CALLS.append(Call(problem, library, rung, idea, _PLACES.get(library, (CPU,)), several, make, values))
        return make

    return register


def _awkward_lists(content: np.ndarray, offsets: np.ndarray) -> Any:
    import awkward as ak

    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(content)))


def _arrow_lists(content: np.ndarray, offsets: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(content))


def _polars_lists(content: np.ndarray, offsets: np.ndarray) -> Any:
    import polars as pl

    return pl.Series(_arrow_lists(content, offsets))


def _duckdb_table(columns: dict[str, Any]) -> Any:
    """A connection to an in-memory database with the table t of these columns."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    given = pa.table(columns)
    connection.register("given", given)
    connection.execute("CREATE TABLE t AS SELECT * FROM given")
    connection.unregister("given")
    return connection


def _lengths(offsets: Any) -> Any:
    return offsets[1:] - offsets[:-1]


def _repeat(xp: Any) -> Callable[[Any, Any], Any]:
    """A function that repeats each value by its count."""
    if xp.__name__ == "torch":
        return xp.repeat_interleave
    # CuPy accepts only counts on the host: its users search for each element's list.
    if xp.__name__ == "cupy":
        return lambda values, counts: values[_parents_on_gpu(xp, counts)]
    return xp.repeat


def _parents_on_gpu(xp: Any, counts: Any) -> Any:
    ends = xp.cumsum(counts)
    return xp.searchsorted(ends, xp.arange(int(ends[-1])), side="right")


def _arange(xp: Any, n: int, like: Any) -> Any:
    return xp.arange(n, device=like.device) if xp.__name__ == "torch" else xp.arange(n)


# ------------------------------------------------------------------------------------------------------ scan and reduce


@ours("scan", "upsweep.cumulative_sum(x, out=out, overflow='wrap')")
def _(a: Any, xp: Any) -> Any:
    out = xp.empty_like(a.x)
    return lambda: upsweep.cumulative_sum(a.x, out=out, overflow="wrap")


@peer("scan", "cumsum", "cumsum(x, out=out)", "numpy", "cupy")
def _(a: Any, xp: Any) -> Any:
    out = xp.empty_like(a.x)
    return lambda: xp.cumsum(a.x, dtype=a.x.dtype, out=out)


@peer("scan", "cumsum", "torch.cumsum(x, 0, out=out)", "torch")
def _(a: Any, xp: Any) -> Any:
    out = xp.empty_like(a.x)
    return lambda: xp.cumsum(a.x, 0, dtype=a.x.dtype, out=out)


@peer("scan", "cum_sum", "series.cum_sum()", "polars", threads=True)
def _(a: Any, pl: Any) -> Any:
    return pl.Series(a.x).cum_sum


@peer("scan", "cumulative_sum", "pyarrow.compute.cumulative_sum(array)", "pyarrow")
def _(a: Any, pa: Any) -> Any:
    import pyarrow.compute

    x = pa.array(a.x)
    return lambda: pyarrow.compute.cumulative_sum(x)


@peer("scan", "cumsum", "series.cumsum()", "pandas")
def _(a: Any, pd: Any) -> Any:
    return pd.Series(a.x, copy=False).cumsum


@ours("reduce", "upsweep.reduce(x)")
def _(a: Any, xp: Any) -> Any:
    return lambda: upsweep.reduce(a.x)


@peer("reduce", "sum", "sum(x)", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    return lambda: xp.sum(a.x)


@peer("reduce", "sum", "series.sum()", "polars", threads=True)
def _(a: Any, pl: Any) -> Any:
    return pl.Series(a.x).sum


@peer("reduce", "sum", "pyarrow.compute.sum(array)", "pyarrow")
def _(a: Any, pa: Any) -> Any:
    import pyarrow.compute

    x = pa.array(a.x)
    return lambda: pyarrow.compute.sum(x)


# -------------------------------------------------------------------------------------------------- positions of lists


@ours("offsets", "upsweep.offsets(starts, stops, out=out)")
def _(a: Any, xp: Any) -> Any:
    out = xp.empty_like(a.starts, shape=len(a.starts) + 1) if xp.__name__ != "torch" else a.starts.new_empty(len(a.starts) + 1)
    return lambda: upsweep.offsets(a.starts, a.stops, out=out)


@peer("offsets", "cumsum", "cumsum(stops - starts, out=offsets[1:])", "numpy", "cupy")
def _(a: Any, xp: Any) -> Any:
    out = xp.zeros(len(a.starts) + 1, a.starts.dtype)

    def call() -> Any:
        xp.cumsum(a.stops - a.starts, out=out[1:])
        return out

    return call


@peer("offsets", "cumsum", "torch.cumsum(stops - starts, 0, out=offsets[1:])", "torch")
def _(a: Any, xp: Any) -> Any:
    out = a.starts.new_zeros(len(a.starts) + 1)

    def call() -> Any:
        xp.cumsum(a.stops - a.starts, 0, out=out[1:])
        return out

    return call


class _Failure(ctypes.Structure):
    """The return value of Awkward's kernels."""

    _fields_ = [("text", ctypes.c_char_p), ("file", ctypes.c_char_p), ("id", ctypes.c_int64), ("attempt", ctypes.c_int64)]


@peer("offsets", "compact_offsets", "awkward_ListArray64_compact_offsets_64, by itself", "awkward_cpp")
def _(a: Any, awkward_cpp: Any) -> Any:
    import awkward_cpp.cpu_kernels

    library = ctypes.CDLL(awkward_cpp.cpu_kernels.lib._name)  # a separate handle: its functions take addresses
    kernel = library.awkward_ListArray64_compact_offsets_64
    kernel.restype = _Failure
    out = np.empty(len(a.starts) + 1, np.int64)
    arguments = [ctypes.c_void_p(array.ctypes.data) for array in (out, a.starts, a.stops)]
    count = ctypes.c_int64(len(a.starts))

    def call() -> Any:
        failure = kernel(*arguments, count)
        if failure.text:
            raise RuntimeError(failure.text.decode())
        return out

    return call


@ours("broadcast", "upsweep.local_index(offsets, out=out)")
def _(a: Any, xp: Any) -> Any:
    total = int(a.offsets[-1])
    out = xp.empty_like(a.offsets, shape=total) if xp.__name__ != "torch" else a.offsets.new_empty(total)
    return lambda: upsweep.local_index(a.offsets, out=out)


@peer("broadcast", "arange", "arange(total) - repeat(offsets[:-1], lengths)", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    total, repeat = int(a.offsets[-1]), _repeat(xp)
    return lambda: _arange(xp, total, a.offsets) - repeat(a.offsets[:-1], _lengths(a.offsets))


@peer("broadcast", "local_index", "ak.local_index(lists, axis=1)", "awkward", values=_content)
def _(a: Any, ak: Any) -> Any:
    lists = _awkward_lists(np.zeros(a.offsets[-1], np.int8), a.offsets)
    return lambda: ak.local_index(lists, axis=1)


@peer("broadcast", "int_ranges", "pl.int_ranges(0, lengths)", "polars", threads=True, values=_content)
def _(a: Any, pl: Any) -> Any:
    lengths = pl.Series(_lengths(a.offsets))
    return lambda: pl.int_ranges(0, lengths, eager=True)


@ours("combinations", "upsweep.combinations(offsets)")
def _(a: Any, xp: Any) -> Any:
    return lambda: upsweep.combinations(a.offsets)


@peer("combinations", "combinations", "ak.combinations(positions, 2)", "awkward")
def _(a: Any, ak: Any) -> Any:
    lists = _awkward_lists(np.arange(a.offsets[-1]), a.offsets)
    return lambda: ak.combinations(lists, 2)


# --------------------------------------------------------------------------------------------- folds and scans of lists


@ours("segmented-reduce", "upsweep.segmented_reduce(content, offsets, out=out)")
def _(a: Any, xp: Any) -> Any:
    lists = len(a.offsets) - 1
    out = xp.empty_like(a.content, shape=lists) if xp.__name__ != "torch" else a.content.new_empty(lists)
    return lambda: upsweep.segmented_reduce(a.content, a.offsets, out=out)


@peer("segmented-reduce", "add.reduceat", "np.add.reduceat(content, starts), of lists that are not empty", "numpy")
def _(a: Any, xp: Any) -> Any:
    out = np.zeros(len(a.offsets) - 1, a.content.dtype)
    filled = np.flatnonzero(_lengths(a.offsets))
    starts = a.offsets[:-1][filled]

    def call() -> Any:
        out[filled] = np.add.reduceat(a.content, starts)
        return out

    return call


@peer("segmented-reduce", "bincount", "bincount(parents, weights=content)", "numpy", "cupy")
def _(a: Any, xp: Any) -> Any:
    lists = len(a.offsets) - 1
    return lambda: xp.bincount(a.parents, weights=a.content, minlength=lists)


@peer("segmented-reduce", "segment_reduce", "torch.segment_reduce(content, 'sum', offsets=offsets)", "torch")
def _(a: Any, torch: Any) -> Any:
    return lambda: torch.segment_reduce(a.content, "sum", offsets=a.offsets, initial=0, unsafe=True)


@peer("segmented-reduce", "sum", "ak.sum(lists, axis=1)", "awkward")
def _(a: Any, ak: Any) -> Any:
    lists = _awkward_lists(a.content, a.offsets)
    return lambda: ak.sum(lists, axis=1)


@peer("segmented-reduce", "list.sum", "series.list.sum()", "polars", threads=True)
def _(a: Any, pl: Any) -> Any:
    return _polars_lists(a.content, a.offsets).list.sum


def _first_or_zero(columns: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """The only column of an answer, with 0 for lists without elements, which have no sum."""
    return (np.ma.filled(next(iter(columns.values())), 0),)


@peer("segmented-reduce", "list_sum", "SELECT list_sum(lists) FROM t", "duckdb", threads=True, values=_first_or_zero)
def _(a: Any, duckdb: Any) -> Any:
    connection = _duckdb_table({"lists": _arrow_lists(a.content, a.offsets)})
    return lambda: connection.execute("SELECT list_sum(lists) FROM t").fetchnumpy()


@ours("segmented-scan", "upsweep.segmented_scan(content, offsets, out=out)")
def _(a: Any, xp: Any) -> Any:
    out = xp.empty_like(a.content)
    return lambda: upsweep.segmented_scan(a.content, a.offsets, out=out)


@peer("segmented-scan", "cumsum", "cumsum(content) - repeat(what comes before each list)", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    repeat = _repeat(xp)
    zero = a.content[:1] * 0
    join = xp.cat if xp.__name__ == "torch" else xp.concatenate

    def call() -> Any:
        sums = xp.cumsum(a.content, 0)
        before = join((zero, sums))[a.offsets[:-1]]
        sums -= repeat(before, _lengths(a.offsets))
        return sums

    return call


@peer("segmented-scan", "groupby.cumsum", "series.groupby(parents).cumsum()", "pandas")
def _(a: Any, pd: Any) -> Any:
    series = pd.Series(a.content, copy=False)
    return lambda: series.groupby(a.parents).cumsum()


@peer("segmented-scan", "cum_sum.over", "pl.col('x').cum_sum().over('parents')", "polars", threads=True)
def _(a: Any, pl: Any) -> Any:
    frame = pl.DataFrame({"x": a.content, "parents": a.parents})
    return lambda: frame.select(pl.col("x").cum_sum().over("parents")).to_series()


@ours("by-key", "upsweep.reduce_by_key(keys, values)")
def _(a: Any, xp: Any) -> Any:
    return lambda: upsweep.reduce_by_key(a.keys, a.values)


@peer("by-key", "add.reduceat", "np.add.reduceat(values, where keys change)", "numpy")
def _(a: Any, xp: Any) -> Any:
    def call() -> Any:
        starts = np.flatnonzero(np.concatenate(([True], a.keys[1:] != a.keys[:-1])))
        return a.keys[starts], np.add.reduceat(a.values, starts)

    return call


@peer("by-key", "segment_reduce", "torch.unique_consecutive, torch.segment_reduce", "torch")
def _(a: Any, torch: Any) -> Any:
    def call() -> Any:
        keys, counts = torch.unique_consecutive(a.keys, return_counts=True)
        return keys, torch.segment_reduce(a.values, "sum", lengths=counts, unsafe=True)

    return call


def _index_and_values(series: Any) -> tuple[np.ndarray, ...]:
    return series.index.to_numpy(), series.to_numpy()


def _two_columns(frame: Any) -> tuple[np.ndarray, ...]:
    return plain((frame["keys"], frame["sum"]))


@peer("by-key", "groupby.sum", "series.groupby(keys, sort=False).sum()", "pandas", values=_index_and_values)
@peer("group-by", "groupby.sum", "series.groupby(keys, sort=False).sum()", "pandas", values=_index_and_values)
def _(a: Any, pd: Any) -> Any:
    series = pd.Series(a.values, copy=False)
    return lambda: series.groupby(a.keys, sort=False).sum()


@peer("by-key", "group_by", "frame.group_by('keys').agg(sum), in order", "polars", threads=True, values=_two_columns)
@peer("group-by", "group_by", "frame.group_by('keys').agg(sum), in order", "polars", threads=True, values=_two_columns)
def _(a: Any, pl: Any) -> Any:
    frame = pl.DataFrame({"keys": a.keys, "values": a.values})
    return lambda: frame.group_by("keys", maintain_order=True).agg(pl.col("values").sum().alias("sum"))


@peer("by-key", "group_by", "SELECT SUM(values) GROUP BY keys ORDER BY keys", "duckdb", threads=True, values=_two_columns)
def _(a: Any, duckdb: Any) -> Any:
    connection = _duckdb_table({"keys": a.keys, "values": a.values})
    sql = 'SELECT keys, SUM("values") AS sum FROM t GROUP BY keys ORDER BY keys'
    return lambda: connection.execute(sql).fetchnumpy()


@peer(
    "group-by", "group_by", "SELECT SUM(values) GROUP BY keys ORDER BY MIN(rowid)", "duckdb", threads=True, values=_two_columns
)
def _(a: Any, duckdb: Any) -> Any:
    connection = _duckdb_table({"keys": a.keys, "values": a.values})
    sql = 'SELECT keys, SUM("values") AS sum FROM t GROUP BY keys ORDER BY MIN(rowid)'
    return lambda: connection.execute(sql).fetchnumpy()


@ours("group-by", "upsweep.group_by(keys, values)")
def _(a: Any, xp: Any) -> Any:
    return lambda: upsweep.group_by(a.keys, a.values)


@peer("group-by", "unique", "np.unique(keys, return_inverse), np.bincount, by first rows", "numpy")
def _(a: Any, xp: Any) -> Any:
    def call() -> Any:
        keys, firsts, groups = np.unique(a.keys, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        return keys[order], np.bincount(groups, a.values, len(keys))[order]

    return call


# ---------------------------------------------------------------------------------------------------------------- sorts


@ours("segmented-sort", "upsweep.segmented_sort(content, offsets, out=out)")
def _(a: Any, xp: Any) -> Any:
    out = xp.empty_like(a.content)
    return lambda: upsweep.segmented_sort(a.content, a.offsets, out=out)


@peer("segmented-sort", "lexsort", "content[np.lexsort((content, parents))]", "numpy")
def _(a: Any, xp: Any) -> Any:
    return lambda: a.content[np.lexsort((a.content, a.parents))]


@peer("segmented-sort", "lexsort", "content[cupy.lexsort(cupy.stack((content, parents)))]", "cupy")
def _(a: Any, cupy: Any) -> Any:
    return lambda: a.content[cupy.lexsort(cupy.stack((a.content, a.parents)))]


@peer("segmented-sort", "sort", "content.sort(), then parents[order].sort(stable=True)", "torch")
def _(a: Any, torch: Any) -> Any:
    def call() -> Any:
        content, order = torch.sort(a.content)
        return content[torch.sort(a.parents[order], stable=True)[1]]

    return call


@peer("segmented-sort", "sort", "ak.sort(lists, axis=1)", "awkward", values=_content)
def _(a: Any, ak: Any) -> Any:
    lists = _awkward_lists(a.content, a.offsets)
    return lambda: ak.sort(lists, axis=1)


@peer("segmented-sort", "list.sort", "series.list.sort()", "polars", threads=True, values=_content)
def _(a: Any, pl: Any) -> Any:
    return _polars_lists(a.content, a.offsets).list.sort


@peer("segmented-sort", "list_sort", "SELECT list_sort(lists) FROM t", "duckdb", threads=True, values=_content)
def _(a: Any, duckdb: Any) -> Any:
    connection = _duckdb_table({"lists": _arrow_lists(a.content, a.offsets)})
    return lambda: connection.sql("SELECT list_sort(lists) AS lists FROM t").to_arrow_table().column(0)


# ---------------------------------------------------------------------------------------------------------------- moves


@ours("select", "upsweep.select(mask, content, lists=offsets)")
def _(a: Any, xp: Any) -> Any:
    return lambda: upsweep.select(a.mask, a.content, lists=a.offsets)


@peer("select", "mask", "content[mask], offsets by cumsum(mask)", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    if a.offsets is None:
        return lambda: a.content[a.mask]
    zeros = xp.zeros_like(a.offsets[:1])
    join = xp.cat if xp.__name__ == "torch" else xp.concatenate
    return lambda: (join((zeros, xp.cumsum(a.mask, 0)))[a.offsets], a.content[a.mask])


@peer("select", "masked_select", "torch.masked_select(content, mask)", "torch")
def _(a: Any, torch: Any) -> Any:
    if a.offsets is not None:
        return None
    return lambda: torch.masked_select(a.content, a.mask)


@peer("select", "mask", "lists[mask]", "awkward")
def _(a: Any, ak: Any) -> Any:
    if a.offsets is None:
        content, mask = ak.Array(a.content), ak.Array(a.mask)
    else:
        content, mask = _awkward_lists(a.content, a.offsets), _awkward_lists(a.mask, a.offsets)
    return lambda: content[mask]


@peer("select", "filter", "series.filter(mask)", "polars", threads=True)
def _(a: Any, pl: Any) -> Any:
    if a.offsets is not None:
        return None
    content, mask = pl.Series(a.content), pl.Series(a.mask)
    return lambda: content.filter(mask)


@peer("select", "filter", "pyarrow.compute.filter(array, mask)", "pyarrow")
def _(a: Any, pa: Any) -> Any:
    import pyarrow.compute

    if a.offsets is not None:
        return None
    content, mask = pa.array(a.content), pa.array(a.mask)
    return lambda: pyarrow.compute.filter(content, mask)


@ours("partition", "upsweep.partition(mask, content)")
def _(a: Any, xp: Any) -> Any:
    return lambda: upsweep.partition(a.mask, a.content)


@peer("partition", "concatenate", "concatenate((content[mask], content[~mask]))", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    join = xp.cat if xp.__name__ == "torch" else xp.concatenate

    def call() -> Any:
        first = a.content[a.mask]
        return len(first), join((first, a.content[~a.mask]))

    return call


@ours("take", "upsweep.take(indices, content, lists=offsets, index_lists=offsets)")
def _(a: Any, xp: Any) -> Any:
    if a.offsets is None:
        return lambda: upsweep.take(a.indices, a.content)
    return lambda: upsweep.take(a.indices, a.content, lists=a.offsets, index_lists=a.offsets)


@peer("take", "take", "content[indices]", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    if a.offsets is not None:
        return None
    return lambda: a.content[a.indices]


@peer("take", "take", "lists[indices]", "awkward")
def _(a: Any, ak: Any) -> Any:
    if a.offsets is None:
        content = ak.Array(a.content)
        return lambda: content[a.indices]
    content, indices = _awkward_lists(a.content, a.offsets), _awkward_lists(a.indices, a.offsets)
    return lambda: content[indices]


@peer("take", "gather", "series.gather(indices)", "polars", threads=True)
def _(a: Any, pl: Any) -> Any:
    if a.offsets is not None:
        return None
    content, indices = pl.Series(a.content), pl.Series(a.indices)
    return lambda: content.gather(indices)


@ours("pack", "upsweep.pack((starts, stops), content)")
def _(a: Any, xp: Any) -> Any:
    return lambda: upsweep.pack((a.starts, a.stops), a.content)


@peer("pack", "take", "content[repeat(starts - offsets, lengths) + arange(total)]", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    repeat, zero = _repeat(xp), a.starts[:1] * 0
    join = xp.cat if xp.__name__ == "torch" else xp.concatenate

    def call() -> Any:
        lengths = a.stops - a.starts
        offsets = join((zero, xp.cumsum(lengths, 0)))
        within = _arange(xp, int(offsets[-1]), offsets)
        return offsets, a.content[within + repeat(a.starts - offsets[:-1], lengths)]

    return call


@peer("pack", "to_packed", "ak.to_packed(lists); in order they keep their content", "awkward")
def _(a: Any, ak: Any) -> Any:
    index, content = ak.index.Index64, ak.contents.NumpyArray(a.content)
    lists = ak.Array(ak.contents.ListArray(index(a.starts), index(a.stops), content))
    return lambda: ak.to_packed(lists)


# ------------------------------------------------------------------------------------------- aggregates and subset sums

_SQL = f"SELECT SUM(quantity * price) FROM t WHERE key < {LIMIT}"


@ours("filtered-sum", f"upsweep.query('{_SQL}', t=columns)")
def _(a: Any, xp: Any) -> Any:
    if xp is not np:
        return None  # it accepts only columns in host memory
    columns = {"key": a.key, "quantity": a.quantity, "price": a.price}
    return lambda: upsweep.query(_SQL, t=columns).rows()[0][0] or 0  # NULL if no row is kept


@peer("filtered-sum", "mask", "(quantity[mask] * price[mask]).sum()", "numpy", "cupy", "torch")
def _(a: Any, xp: Any) -> Any:
    key = a.key.view(xp.int32) if xp.__name__ == "torch" else a.key  # PyTorch cannot compare uint32

    def call() -> Any:
        kept = key < LIMIT
        return (a.quantity[kept] * a.price[kept]).sum()

    return call


@peer("filtered-sum", "sum", "frame.loc[key < z, ['quantity', 'price']].prod(axis=1).sum()", "pandas")
def _(a: Any, pd: Any) -> Any:
    frame = pd.DataFrame({"key": a.key, "quantity": a.quantity, "price": a.price})

    def call() -> Any:
        kept = frame[frame["key"] < LIMIT]
        return (kept["quantity"] * kept["price"]).sum()

    return call


@peer("filtered-sum", "filter", "frame.filter(key < z).select((quantity * price).sum())", "polars", threads=True)
def _(a: Any, pl: Any) -> Any:
    frame = pl.DataFrame({"key": a.key, "quantity": a.quantity, "price": a.price}).lazy()
    query = frame.filter(pl.col("key") < LIMIT).select((pl.col("quantity") * pl.col("price")).sum())
    return lambda: query.collect().item()


@peer("filtered-sum", "sum", _SQL, "duckdb", threads=True)
def _(a: Any, duckdb: Any) -> Any:
    connection = _duckdb_table({"key": a.key, "quantity": a.quantity, "price": a.price})
    return lambda: connection.execute(_SQL).fetchone()[0] or 0


@ours("subset-sum", "upsweep.subset_sum(items, value, witness=False).reachable, of each value")
def _(a: Any, xp: Any) -> Any:
    def call() -> Any:
        return np.array([upsweep.subset_sum(a.items, value, witness=False).reachable for value in asked])

    if xp is not np:
        return None  # it accepts only items in host memory
    asked = a.asked.tolist()
    return call


@peer("subset-sum", "logical_or", "sums[item:] |= sums[:-item], a byte for each sum", "numpy")
def _(a: Any, xp: Any) -> Any:
    def call() -> Any:
        sums = np.zeros(a.target + 1, bool)
        sums[0] = True
        for item in a.items.tolist():
            sums[item:] |= sums[:-item]
        return sums[a.asked]

    return call


@peer("subset-sum", "int", "sums |= sums << item, in one large integer", "python")
def _(a: Any, xp: Any) -> Any:
    mask = (1 << (a.target + 1)) - 1
    asked = a.asked.tolist()

    def call() -> Any:
        sums = 1
        for item in a.items.tolist():
            sums |= (sums << item) & mask
        return np.array([sums >> value & 1 for value in asked], bool)

    return call


def right_answer(problem: str, arrays: dict[str, Any], first_rung: str) -> tuple[np.ndarray, ...]:
    """upsweep's answer by the first rung of the ladder, a plain loop."""
    call = OURS[problem](SimpleNamespace(**arrays), np)
    if problem == "filtered-sum":
        return plain(call())  # queries are not rungs of a ladder
    # The plain loop would fill a table per requested value. The loop over its bits is also plain, and fast enough.
    with upsweep.options(rung="cpu.bits" if problem == "subset-sum" else first_rung):
        return plain(call())
