# SPDX-License-Identifier: Apache-2.0
# bench/dask_peers.py: times queries of many files by upsweep.dask, Dask DataFrame (same workers) and upsweep.query.
"""Prints a table of median milliseconds, and the maximum memory of a worker process.

Needs upsweep, dask[dataframe], distributed and pyarrow, and lineitem.parquet: `tpchgen-cli parquet -s 1 --tables=lineitem`.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

COLUMNS = ["l_partkey", "l_suppkey", "l_quantity", "l_shipdate", "l_shipmode"]
QUERIES = {
    "sum where l_suppkey < 30": ("", "WHERE l_suppkey < 30"),
    "l_shipmode": ("l_shipmode", ""),
    "l_shipdate": ("l_shipdate", ""),
    "l_partkey": ("l_partkey", ""),
}


def write_files(table_path, folder, files):
    """Writes the table to `files` files. Quantities are float64, which Dask DataFrame can also sum."""
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.parquet.read_table(table_path, columns=COLUMNS)
    quantity = table.column_names.index("l_quantity")
    table = table.set_column(quantity, "l_quantity", table["l_quantity"].cast(pa.float64()))
    rows = -(-len(table) // files)
    for number in range(files):
        pa.parquet.write_table(table.slice(number * rows, rows), folder / f"{number:03}.parquet")


def sql_of(folder, name):
    keys, where = QUERIES[name]
    if not keys:
        return f"SELECT SUM(l_quantity) AS s FROM '{folder}/*.parquet' {where}"
    return f"SELECT {keys}, SUM(l_quantity) AS s FROM '{folder}/*.parquet' {where} GROUP BY {keys}"


def ask_dataframe(folder, name):
    import dask.dataframe

    keys, where = QUERIES[name]
    columns = [keys or "l_suppkey", "l_quantity"]
    frame = dask.dataframe.read_parquet(str(folder), columns=columns)
    if where:
        return {"": frame[frame.l_suppkey < 30].l_quantity.sum().compute()}
    return frame.groupby(keys).l_quantity.sum().compute().to_dict()


def as_sums(name, answer):
    """Converts an answer of upsweep to what ask_dataframe() returns."""
    columns = answer.to_dict()
    return dict(zip(columns[QUERIES[name][0]] if QUERIES[name][0] else [""], columns["s"], strict=True))


def most_memory():
    """Returns the maximum memory of this process in MB."""
    status = pathlib.Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) >> 10


def measured(ask, workers, rounds):
    """Returns the median ms of ask(client), its answer, and the maximum memory of a worker. Starts new workers."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        times = []
        for turn in range(rounds + 1):  # the first turn imports modules
            begin = time.perf_counter()
            answer = ask(client)
            if turn > 0:
                times.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(times), answer, max(client.run(most_memory).values())


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("lineitem", type=pathlib.Path)
    arguments.add_argument("--files", type=int, default=24)
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    import dask
    import upsweep.dask

    print(f"{options.files} files, {options.workers} workers of a thread, medians of {options.rounds}; Dask {dask.__version__}")
    print(f"{'':26}{'upsweep.query':>15}{'upsweep.dask':>15}{'MB':>7}{'Dask DataFrame':>17}{'MB':>7}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        write_files(options.lineitem, folder, options.files)
        for name in QUERIES:
            sql = sql_of(folder, name)
            with upsweep.options(threads=options.workers):
                alone, wanted, _ = measured(lambda _, sql=sql: upsweep.query(sql), 1, options.rounds)
            ours, found, our_mb = measured(
                lambda client, sql=sql: upsweep.dask.query(sql, client=client), options.workers, options.rounds
            )
            theirs, other, their_mb = measured(
                lambda _, name=name: ask_dataframe(folder, name), options.workers, options.rounds
            )
            assert as_sums(name, found) == as_sums(name, wanted) == other, name
            print(f"{name:26}{alone:15.1f}{ours:15.1f}{our_mb:7}{theirs:17.1f}{their_mb:7}", flush=True)


if __name__ == "__main__":
    main()
