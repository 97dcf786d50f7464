# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/seeds.py: writes the Parquet files of corpus/parquet. Run it by hand, with .venv/bin/python, to change
# them.
import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent / "corpus" / "parquet"


def gaps(values):
    return [None if i % 3 == 1 else value for i, value in enumerate(values)]


def numbers():
    types = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    return pa.table({str(t): pa.array(gaps(range(7)), t) for t in types})


def reals():
    return pa.table({str(t): pa.array([1.5, None, float("nan"), float("-inf"), -0.0], t) for t in (pa.float32(), pa.float64())})


def decimals():
    values = [decimal.Decimal(v) for v in ("1.50", "-0.25", "99.99")]
    types = [pa.decimal128(4, 2), pa.decimal128(15, 2), pa.decimal128(38, 2)]
    return pa.table({str(t): pa.array([*values, None], t) for t in types})


def others():
    day = datetime.date(1998, 12, 1)
    return pa.table(
        {
            "day": pa.array([day, None, datetime.date(1, 1, 1)], pa.date32()),
            "truth": [True, None, False],
            "moment": pa.array([datetime.datetime(1998, 12, 1), None, None], pa.timestamp("us")),
            "list": [[1], None, []],
        }
    )


def words(count):
    return pa.table({"w": gaps(["", "pear", "äpfel", "pear"] * count), "x": list(range(4 * count))})


def write(name, table, **options):
    path = FOLDER / f"{name}.parquet"
    pq.write_table(table, path, **{"store_schema": False, **options})
    assert path.stat().st_size < 4096, path


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    plain = {"compression": "none", "use_dictionary": False}
    write("numbers", numbers(), **plain)
    write("reals", reals(), **plain)
    write("decimals", decimals(), **plain)
    write("others", others(), **plain)
    write("words", words(5), compression="none", row_group_size=8)  # several parts, dictionaries
    write("words_plain", words(2), **plain, write_statistics=False)
    write("pages", words(40), compression="none", data_page_size=64, data_page_version="2.0")
    indexed = pa.table({"x": gaps(range(200)), "w": gaps(["pear", "a longer word"] * 100)})
    write("indexed", indexed, compression="snappy", data_page_size=100, write_batch_size=20, write_page_index=True)
    write("snappy", numbers(), compression="snappy", store_schema=True)
    write("long_decimals", pa.table({"x": pa.array([decimal.Decimal("1.50")], pa.decimal256(40, 2))}), **plain)
    write("zstd", words(20), compression="zstd", use_dictionary=["w"], column_encoding={"x": "DELTA_BINARY_PACKED"})
    write("split", words(3), compression="none", use_dictionary=False, column_encoding={"w": "DELTA_BYTE_ARRAY", "x": "BYTE_STREAM_SPLIT"})
