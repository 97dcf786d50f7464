# SPDX-License-Identifier: Apache-2.0
# tools/tour_data.py: makes the tour's data: tables (`tables DIR`), lists of line items per order (`lists DIR`), a mask
# of dear line items (`mask DIR`), open line items with an invoice's total (`invoice DIR`), and a bank's export and
# timestamps (`messy DIR`).
"""Real data for the tour, made once and kept.

tables DIR  lineitem.parquet and orders.parquet of TPC-H at scale factor 1, by tpchgen-cli. If that is not installed, a small
            generator makes tables of the same size and types, and the output says so.
lists DIR   starts_1995.npy and stops_1995.npy: the rows of the line items of each order of 1995 in lineitem.
mask DIR    dear_1995.parquet: for each price of these line items in prices_1995.parquet, whether it is above 50,000.
invoice DIR open_items.parquet: order, line and price of 20 line items; invoice_total.txt: the sum of ten of these prices.
messy DIR   bank.csv: an account as a bank exports it; trips.parquet: timestamps; messy.json: sums and counts of both.
"""

import datetime
import decimal
import json
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS = 6_001_215  # of lineitem at scale factor 1
ORDERS = 1_500_000


def tpchgen(folder: pathlib.Path) -> bool:
    """Writes both tables with tpchgen-cli. Returns False if it is not installed."""
    tool = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    if not tool.exists():
        return False
    subprocess.run([tool, "parquet", "-s", "1", "--tables=lineitem,orders", f"--output-dir={folder}"], check=True)
    print("made by tpchgen-cli")
    return True


def stand_in(folder: pathlib.Path) -> None:
    """Tables of the same size and types, with the columns that the tour reads."""
    random = np.random.default_rng(1992)
    lines = random.integers(1, 8, ORDERS)
    lines[: abs(ROWS - lines.sum())] += np.sign(ROWS - lines.sum())  # exactly ROWS line items in all
    keys = np.arange(1, ORDERS + 1)
    days = random.integers(8035, 8035 + 2406, ORDERS).astype(np.int32)  # 1992-01-01 on, as TPC-H does
    cents = pa.decimal128(15, 2)

    def decimals(values: np.ndarray) -> pa.Array:
        return pa.array(values.astype(np.int64)).cast(pa.decimal128(19, 0)).cast(cents)

    def percents(values: np.ndarray) -> pa.Array:
        return pc.divide(decimals(values), pa.scalar(100)).cast(cents)

    lineitem = {
        "l_orderkey": pa.array(np.repeat(keys, lines)),
        "l_suppkey": pa.array(random.integers(1, 10_001, ROWS)),
        "l_quantity": decimals(random.integers(1, 51, ROWS)),
        "l_extendedprice": decimals(random.integers(901, 104_950, ROWS)),
        "l_discount": percents(random.integers(0, 11, ROWS)),
        "l_tax": percents(random.integers(0, 9, ROWS)),
        "l_returnflag": pa.array(np.array(list("ANR"))[random.integers(0, 3, ROWS)]),
        "l_linestatus": pa.array(np.array(list("FO"))[random.integers(0, 2, ROWS)]),
        "l_shipdate": pa.array(np.repeat(days, lines) + random.integers(1, 122, ROWS).astype(np.int32)).cast(pa.date32()),
    }
    orders = {"o_orderkey": pa.array(keys), "o_orderdate": pa.array(days).cast(pa.date32())}
    pq.write_table(pa.table(lineitem), folder / "lineitem.parquet")
    pq.write_table(pa.table(orders), folder / "orders.parquet")
    print("tpchgen-cli is not installed: made by upsweep's own small generator, not TPC-H's rows")


def tables(folder: pathlib.Path) -> None:
    done = folder / "tables.done"  # written last: a half-made table is made again
    if done.exists():
        print(f"kept from before: {folder}")
    else:
        if not tpchgen(folder):
            stand_in(folder)
        done.touch()
    for name in ("lineitem", "orders"):
        metadata = pq.read_metadata(folder / f"{name}.parquet")
        print(f"{name:8}  {metadata.num_rows:>9,} rows, {metadata.num_columns} columns")


def lists(folder: pathlib.Path) -> None:
    keys = pq.read_table(folder / "lineitem.parquet", columns=["l_orderkey"])["l_orderkey"].to_numpy()
    orders = pq.read_table(folder / "orders.parquet", columns=["o_orderkey", "o_orderdate"])
    dates = orders["o_orderdate"].combine_chunks().cast(pa.int32()).to_numpy()
    first_day, end = ((datetime.date(y, 1, 1) - datetime.date(1970, 1, 1)).days for y in (1995, 1996))
    chosen = orders["o_orderkey"].to_numpy()[(dates >= first_day) & (dates < end)]
    # lineitem is sorted by order: an order's line items are consecutive rows.
    np.save(folder / "starts_1995.npy", np.searchsorted(keys, chosen, "left").astype(np.int64))
    np.save(folder / "stops_1995.npy", np.searchsorted(keys, chosen, "right").astype(np.int64))
    print(f"{len(chosen):,} of {len(dates):,} orders are of 1995")


def mask(folder: pathlib.Path) -> None:
    prices = pq.read_table(folder / "prices_1995.parquet").column(0).combine_chunks()
    dear = pc.greater(prices.values, pa.scalar(50_000, prices.type.value_type))
    pq.write_table(pa.table({"dear": pa.ListArray.from_arrays(prices.offsets, dear)}), folder / "dear_1995.parquet")


def invoice(folder: pathlib.Path) -> None:
    lines = pq.read_table(folder / "lineitem.parquet", columns=["l_orderkey", "l_extendedprice"]).slice(0, 20)
    keys = lines["l_orderkey"].to_pylist()
    labels = [f"order {key}, line {keys[:i].count(key) + 1}" for i, key in enumerate(keys)]
    pq.write_table(
        pa.table({"line": labels, "price": lines["l_extendedprice"].combine_chunks()}), folder / "open_items.parquet"
    )
    billed = np.random.default_rng(1995).choice(20, 10, replace=False)
    prices = lines["l_extendedprice"].to_pylist()
    total = sum(prices[i] for i in billed)
    (folder / "invoice_total.txt").write_text(f"{total}\n")
    print(f"20 open line items; ten of them make an invoice of {total}")


def messy(folder: pathlib.Path) -> None:
    random = np.random.default_rng(2024)
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(d)) for d in np.sort(random.integers(0, 366, 1000))]
    cents = random.integers(-200_000, 300_000, len(days))
    payees = random.choice(["Café Central", "Müller & Söhne; Bau", "Énergie", "Rent"], len(days))

    def amount(value: int) -> str:  # 1.234,50
        whole = f"{abs(value) // 100:,}".replace(",", ".")
        return f"{'-' if value < 0 else ''}{whole},{abs(value) % 100:02d} €"

    rows = "".join(f'{d:%d.%m.%Y};"{p}";{amount(c)}\r\n' for d, p, c in zip(days, payees, cents, strict=True))
    text = f"Account statement 2024\r\n\r\nday;payee;amount\r\n{rows}"
    (folder / "bank.csv").write_bytes(text.encode("windows-1252"))
    times = np.datetime64("2024-03-01T00:00:00.000000") + np.sort(random.integers(0, 7 * 86_400_000_000, 100_000))
    pq.write_table(pa.table({"at": times}), folder / "trips.parquet")
    afternoon = int((times >= np.datetime64("2024-03-05T12:00")).sum())
    answers = {"rows": len(days), "total": f"{decimal.Decimal(int(cents.sum())).scaleb(-2)}", "trips": afternoon}
    (folder / "messy.json").write_text(json.dumps(answers))
    print(f"{len(days):,} bookings of an account, and {len(times):,} timestamps")


if __name__ == "__main__":
    {"tables": tables, "lists": lists, "mask": mask, "invoice": invoice, "messy": messy}[sys.argv[1]](pathlib.Path(sys.argv[2]))
