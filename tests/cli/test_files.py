# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_files.py: bad input: damaged, hostile, absent and unreadable files of every format; each is refused
# with a message.
import decimal
import json
import os
import pathlib
import resource
import shutil
import struct
import tempfile

import conftest
import numpy as np
import pytest

BLOCK = 1 << 20  # approximate block size of the CSV reader


def npy(shape="(3,)", descr="'<i4'", fortran="False", data=b"\0" * 12, header=None, version=(1, 0), length=None):
    """Returns a .npy file made of exactly these parts."""
    if header is None:
        header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text = header.encode("latin-1")
    size = 2 if version[0] <= 1 else 4
    text += b" " * (-(len(text) + 9 + size) % 64) + b"\n"
    count = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + count.to_bytes(size, "little") + text + data


def refuses(upsweep, content, word=("malformed", "unsupported_type"), name="bad.npy", column="", **options):
    upsweep.write(name, content)
    return upsweep.fails(word, "scan", name + column, "-o", "out.npy", **options)


# ------------------------------------------------------------------------------------------------------ .npy headers


def test_the_maker_of_bad_files_can_make_a_good_one(upsweep):
    upsweep.write("good.npy", npy(data=struct.pack("<3i", 1, 2, 3)))
    assert upsweep.json("scan", "good.npy")["last"] == 6


@pytest.mark.parametrize("version, step", [((1, 0), 1), ((2, 0), 5)])
def test_cut_at_every_byte(upsweep, version, step):
    whole = npy(version=version, data=b"\1\0\0\0" * 3)
    for size in range(0, len(whole), step):
        upsweep.write("bad.npy", whole[:size])
        done = upsweep.run("reduce", "bad.npy", "--json")
        assert done.returncode == 1, f"cut at {size}: {done}"
        assert conftest.only_object(done.stdout)["error"]["code"] == "malformed", f"cut at {size}: {done}"
    for size in (0, 3, 6, 8, 9, 40, len(whole) - 13, len(whole) - 1):
        refuses(upsweep, whole[:size], "malformed")


def test_cut_on_standard_input(upsweep):
    whole = npy(data=b"\1\0\0\0" * 3)
    for size in (0, 1, 5, 6, 8, 9, 10, 60, len(whole) - 12, len(whole) - 5, len(whole) - 1):
        upsweep.fails("malformed", "scan", "-", "-o", "out.npy", input=whole[:size])


@pytest.mark.parametrize(
    "shape",
    [
        "(-1,)",
        "(-9223372036854775808,)",
        "(4,)",
        "(1000000000000,)",
        "(2305843009213693952,)",  # times 4 or 8 is 0 in 64 bits
        "(4611686018427387904,)",
        "(4611686018427387907,)",  # times 4 is 12 in 64 bits
        "(9223372036854775807,)",
        "(9223372036854775808,)",
        "(18446744073709551615,)",
        "(18446744073709551619,)",  # 3 in 64 bits
        "(340282366920938463463374607431768211459,)",
        "(" + "9" * 400 + ",)",
        "(3.0,)",
        "(3.5,)",
        "(3e0,)",
        "('3',)",
        "(None,)",
        "(True,)",
        "(0x3,)",
        "(3,,)",
        "(,)",
        "(3",
        "3,)",
        "3",
        "(3)",
        "[3]",
        "None",
        "{}",
        "(3;)",
        "(1+2,)",
        "(- 3,)",
        "",
        "()",
        "(3, 1)",
        "(1, 3)",
        "(3, -1)",
        "(0, 9223372036854775807)",
        "(4294967296, 4294967296)",
        "(" + "1, " * 64 + ")",
    ],
)
def test_hostile_shapes(upsweep, shape):
    content = npy(shape=shape)
    refuses(upsweep, content)
    upsweep.fails(("malformed", "unsupported_type"), "reduce", "-", input=content)


@pytest.mark.parametrize("count", [10**12, 2**61 - 1, 2**59])
def test_a_huge_count_on_standard_input_takes_no_memory(upsweep, count):
    content = npy(shape=f"({count},)", descr="'<i4'", data=b"\1\0\0\0" * 100)
    upsweep.fails("malformed", "scan", "-", "-o", "out.npy", input=content)
    upsweep.write("bad", content)
    done = upsweep.shell('ulimit -v 2000000; cat bad | "$U" scan - --threads 2 --json')
    assert done.returncode == 1 and b"malformed" in done.stdout, done


@pytest.mark.parametrize(
    "descr",
    ["'|O'", "'O'", "'<c8'", "'<c16'", "'<U4'", "'|S4'", "'<M8'", "'<M8[Y]'", "'<M8[10ms]'", "'<m8[ps]'", "'|V4'", "'<f16'", "'<i3'", "'<i16'", "'<i'", "'i'", "''", "'<'", "'<i4 '", "'<i4<i4'",
     "[('a', '<i4')]", "('<i4', (2,))", "4", "None", "'<i04'", "'\\x3ci4'"],
)  # fmt: skip
def test_other_types(upsweep, descr):
    refuses(upsweep, npy(descr=descr))


@pytest.mark.parametrize("dtype", [object, "complex64", "complex128", "<U4", "S3", "M8[Y]"])
def test_other_types_as_numpy_writes_them(upsweep, dtype):
    np.save(upsweep.folder / "bad.npy", np.array([1, 2]).astype(dtype), allow_pickle=True)
    upsweep.fails("unsupported_type", "scan", "bad.npy", "-o", "out.npy")
    with (upsweep.folder / "bad.npy").open("rb") as file:
        assert upsweep.run("reduce", "-", stdin=file).returncode == 1


@pytest.mark.parametrize("array", [np.ones((2, 3)), np.asfortranarray(np.ones((2, 3))), np.array(5), np.ones((0, 2)),
                                   np.ones((4, 1)), np.ones((1, 1, 1))], ids=lambda a: str(a.shape))  # fmt: skip
def test_other_than_one_dimension(upsweep, array):
    np.save(upsweep.folder / "bad.npy", array)
    upsweep.fails(("unsupported_type", "malformed"), "scan", "bad.npy", "-o", "out.npy")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{}",
        "{",
        "}",
        "[]",
        "{'descr': '<i4', 'fortran_order': False}",
        "{'descr': '<i4', 'shape': (3,)}",
        "{'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i4', 'fortran_order': 1, 'shape': (3,)}",
        "{'descr': '<i4', 'fortran_order': Falsehood, 'shape': (3,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)} x",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<i4, 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i4' 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3\0,)}",
        "__import__('os').system('true')",
        "\x1b[31m\x07\n\n\r",
        "\xff" * 50,
        "{" * 5000,
        "(" * 5000,
        "{'descr': '" + "A" * 5000,
    ],
    ids=range(23),
)
def test_hostile_headers(upsweep, header):
    refuses(upsweep, npy(header=header))


@pytest.mark.parametrize(
    "content",
    [
        npy(version=(0, 0)),
        npy(version=(4, 0)),
        npy(version=(1, 1)),
        npy(version=(255, 255)),
        npy(length=0),
        npy(length=0xFFFF),
        npy(length=20),
        npy(version=(2, 0), length=0xFFFFFFFF),
        npy(version=(2, 0), length=0x7FFFFFFF),
        npy(version=(3, 0), length=0x80000000),
        b"\x93NUMPZ" + npy()[6:],
        b"\x00" * 200,
        b"NUMPY" * 40,
        b"hello, world\n",
        b"\x1b]0;title\x07" * 9,
    ],
    ids=range(15),
)
def test_wrong_magic_version_or_length(upsweep, content):
    refuses(upsweep, content, "malformed")
    if content[0] in (0, 0x93):  # on standard input, text is CSV
        upsweep.fails("malformed", "reduce", "-", input=content)


def test_short_data(upsweep):
    for missing in (1, 4, 11, 12):
        refuses(upsweep, npy()[:-missing], "malformed")
    upsweep.save("a.npy", np.zeros(3 << 20, dtype="int64"))
    with (upsweep.folder / "a.npy").open("r+b") as file:
        file.truncate((20 << 20) + 3)  # within a later chunk
    upsweep.fails("malformed", "scan", "a.npy", "-o", "out.npy")
    upsweep.fails("malformed", "offsets", "a.npy", "a.npy", "-o", "out.npy")
    with (upsweep.folder / "a.npy").open("rb") as file:
        done = upsweep.run("scan", "-", "-o", "out.npy", stdin=file)
    assert done.returncode == 1 and set(upsweep.files()) == {"a.npy", "bad.npy"}


def test_other_formats_are_told(upsweep):
    np.savez(upsweep.folder / "a.npz", x=np.arange(3))
    upsweep.fails("malformed", "scan", "a.npz", "-o", "out.npy")
    for ending in ("parquet", "arrow", "feather", "parquet.gz"):
        error = upsweep.fails("malformed", "scan", upsweep.write(f"a.{ending}", "1\n2\n"), "-o", "out.npy")
        assert "does not begin as Parquet or Arrow IPC" in error["message"]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.dat", "a"])
def test_other_names_are_csv(upsweep, arrow, name):
    upsweep.write(name, "x\ty\n1\t2.5\n3\t4\n")
    assert upsweep.json("query", f"SELECT SUM(x), SUM(y) FROM '{name}'")["rows"] == [[4, "6.5"]]
    assert upsweep.text("reduce", f"{name}:x") == "4\n"
    assert upsweep.json("subset-sum", f"{name}:x", "--target", 3)["reachable"]
    upsweep.write(name, b"\x00root\x01")
    assert "NUL byte" in upsweep.fails("malformed", "reduce", name)["message"]


@pytest.mark.parametrize("name", ["e", "e.npy", "e.parquet", "e.arrow", "e.csv"])
@pytest.mark.parametrize("column", ["", ":x"])
def test_empty_files(upsweep, name, column):
    refuses(upsweep, b"", "malformed", name=name, column=column if not name.endswith("npy") else "")


# ------------------------------------------------------------------------------------- files the system does not give


@pytest.mark.parametrize("command", ["scan", "reduce", "offsets", "ladder"])
def test_missing_files_and_folders(upsweep, command):
    upsweep.save("good.npy", [0], "int64")
    (upsweep.folder / "folder.npy").mkdir()

    def fails(word, name):
        args = {
            "scan": ["scan", name, "-o", "out.npy"],
            "reduce": ["reduce", name],
            "offsets": ["offsets", "good.npy", name, "-o", "out.npy"],
            "ladder": ["ladder", "scan", "--input", name],
        }[command]
        upsweep.fails(word, *args)

    fails("not_found", "missing.npy")
    fails("not_found", "missing/in.npy")
    fails("not_found", "missing.parquet:x")
    fails("not_found" if command != "ladder" else "invalid_argument", "")  # an option without a value
    fails(("not_found", "unreadable"), "good.npy/in.npy")
    fails(("not_found", "unreadable"), "n" * 300)
    fails("is_directory", "folder.npy")
    fails("is_directory", "folder.npy/")
    fails("is_directory", ".")
    fails("is_directory", "folder.npy:x")
    fails("unknown_column", "good.npy:x")


@pytest.mark.parametrize(
    "name", ["new\nline.npy", "\x1b[31mred.npy", "tab\t.npy", "quote'\".npy", "na\u00efve.npy", "cr\r.npy"]
)
def test_names_do_not_break_the_message(upsweep, name):
    upsweep.fails("not_found", "scan", name)
    refuses(upsweep, b"nonsense" * 20, "malformed", name=name)


def test_names_that_are_no_text(upsweep):
    done = upsweep.run("scan", b"\xff\xfe.npy", "--json")
    assert done.returncode == 3
    assert conftest.only_object(done.stdout)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    "args",
    [["--no\npe"], ["--op", "a\x1b[1mdd"], ["--dtype", "int\n8"], ["--rung", "cpu.\x1b"], ["--init", "\n1"],
     ["--device", "\x1b"], ["--overflow", "\r\n"], ["--threads", "1\n"]],
)  # fmt: skip
def test_odd_arguments_do_not_break_the_message(upsweep, args):
    upsweep.save("in.npy", [1], "int32")
    upsweep.fails(("invalid_argument", "unknown_rung"), "scan", "in.npy", *args)


def test_a_folder_or_nothing_as_standard_input(upsweep):
    folder = os.open(upsweep.folder, os.O_RDONLY)
    try:
        upsweep.fails("is_directory", "scan", "-", "-o", "out.npy", stdin=folder)
    finally:
        os.close(folder)
    done = upsweep.shell('"$U" scan - <&-')
    assert done.returncode == 3 and done.stderr.startswith(b"upsweep: ")


def test_unreadable_files(upsweep):
    if os.geteuid() != 0:
        upsweep.save("secret.npy", [1], "int32")
        (upsweep.folder / "secret.npy").chmod(0)
        upsweep.fails("unreadable", "scan", "secret.npy", "-o", "out.npy")
        return
    # root can read everything, so the command runs as another user
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o777)
        there = conftest.Upsweep(folder)
        try:
            there.ok("--version", **nobody)
        except (OSError, AssertionError):
            pytest.skip("root can read every file, and other users cannot run the command here")
        there.save("secret.npy", [1], "int32")
        (folder / "secret.npy").chmod(0)
        there.fails("unreadable", "scan", "secret.npy", "-o", "out.npy", **nobody)
        (folder / "secret.npy").chmod(0o644)
        there.fails("unwritable", "scan", "secret.npy", "-o", "secret.npy", **nobody)
        folder.chmod(0o755)
        there.fails("unwritable", "scan", "secret.npy", "-o", "out.npy", **nobody)
    finally:
        shutil.rmtree(folder)


def test_devices_as_input(upsweep):
    upsweep.fails("malformed", "scan", "/dev/null", "-o", "out.npy")
    upsweep.fails("malformed", "scan", "/dev/zero", "-o", "out.npy")


# ------------------------------------------------------------------------------------------------------- damaged tables


def table_bytes(upsweep, arrow, name, n=20_000):
    options = {}
    if name.endswith("parquet"):
        options = {"row_group_size": 5000, "write_page_checksum": True, "compression": "none"}
    values = np.random.default_rng(4).integers(-(2**40), 2**40, n)
    upsweep.table(name, {"x": values, "y": values / 3}, **options)
    return (upsweep.folder / name).read_bytes(), int(values.sum())


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_cut_tables(upsweep, arrow, name):
    whole, _ = table_bytes(upsweep, arrow, name)
    ends = [4, 5, 6, 8, 12, 100, 500, len(whole) // 2, len(whole) - 500, len(whole) - 9, len(whole) - 8]
    ends += [len(whole) - 4, len(whole) - 1, *range(1000, len(whole), len(whole) // 12)]
    for size in ends:
        refuses(upsweep, whole[:size], ("malformed", "unsupported_type"), name=name, column=":x")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_tables_with_bytes_changed(upsweep, arrow, name):
    whole, total = table_bytes(upsweep, arrow, name)
    random = np.random.default_rng(11)
    places = [*random.integers(0, len(whole), 15), *(len(whole) - random.integers(1, 1500, 40)),
              *random.integers(0, 1200, 15)]  # fmt: skip
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= int(random.integers(1, 256))
        upsweep.write(name, bytes(damaged))
        done = upsweep.run("reduce", f"{name}:x", "--json", timeout=3600)
        assert done.returncode in (0, 1, 2, 3), f"byte {place}: {done}"
        result = conftest.only_object(done.stdout)
        if name.endswith("parquet") and done.returncode == 0:  # its pages are checked
            assert result["value"] == total, f"byte {place}: {done}"


def test_bytes_between_the_ends_of_parquet(upsweep, arrow):
    refuses(upsweep, b"PAR1", "malformed", name="t.parquet")
    refuses(upsweep, b"PAR1PAR1", "malformed", name="t.parquet")
    refuses(upsweep, b"PAR1" + b"\xff" * 100 + b"\xff\xff\xff\x7fPAR1", "malformed", name="t.parquet")
    refuses(upsweep, b"PAR1" + b"\0" * 100 + b"\x10\0\0\0PAR1", "malformed", name="t.parquet")
    refuses(upsweep, b"ARROW1" + b"\0" * 100 + b"ARROW1", "malformed", name="t.arrow")
    refuses(upsweep, b"\xff\xff\xff\xff" + b"\xff\xff\xff\x7f" * 9, "malformed", name="t.arrows")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_columns_that_are_no_numbers(upsweep, arrow, name):
    pa = arrow
    columns = {
        "text": pa.array(["1", "2"]),
        "boolean": pa.array([True, False]),
        "time": pa.array([1, 2], pa.timestamp("us")),
        "list": pa.array([[1], [2]]),
        "struct": pa.array([{"a": 1}, {"a": 2}]),
        "bytes": pa.array([b"1", b"2"]),
        "long": pa.array([1, 2], pa.decimal128(38, 2)),
        "wide": pa.array([1, 2], pa.decimal256(50, 2)),
        "half": pa.array(np.array([1, 2], dtype="float16")),
        "good": pa.array([1, 2]),
    }
    upsweep.table(name, columns)
    for column in columns:
        if column in ("half", "good", "boolean"):
            assert upsweep.json("reduce", f"{name}:{column}")["value"] == 3 - 2 * (column == "boolean")
        elif column == "long":
            assert upsweep.json("reduce", f"{name}:long")["value"] == "3.00"
        elif column == "time":
            assert "not offered for timestamps" in upsweep.fails("invalid_argument", "scan", f"{name}:time", "-o", "out.npy")["message"]
        else:
            upsweep.fails("unsupported_type", "scan", f"{name}:{column}", "-o", "out.npy")


def test_decimals_of_38_digits(upsweep, arrow):
    values = [None, decimal.Decimal("92233720368547758.07"), decimal.Decimal("92233720368547758.08")]
    upsweep.table("t.parquet", {"x": arrow.array(values, arrow.decimal128(38, 2))})
    error = upsweep.fails("overflow", "reduce", "t.parquet", "--nulls", "skip", index=2)
    assert "row 2 has a decimal that does not fit 64 bits; use upsweep query" in error["message"]
    upsweep.table("t.parquet", {"x": arrow.array(values[1:2] * 3, arrow.decimal128(38, 2))})
    assert upsweep.text("reduce", "t.parquet") == "276701161105643274.21\n"


def test_several_files_of_integers_and_other_numbers(upsweep, arrow):
    upsweep.write("a.csv", "v\n1\n-2\n")
    upsweep.write("b.csv", "v\n1.5\n2\n")
    assert upsweep.text("reduce", "[ab].csv:v") == "2.5\n"
    upsweep.table("a.parquet", {"v": arrow.array([1, -2])})
    upsweep.table("b.parquet", {"v": arrow.array([7, 1], arrow.uint64())})
    assert upsweep.text("reduce", "[ab].parquet:v") == "7\n"
    upsweep.table("b.parquet", {"v": arrow.array([2**64 - 1], arrow.uint64())})
    upsweep.fails("overflow", "reduce", "[ab].parquet:v")


@pytest.mark.parametrize(
    "cells, expected",
    [
        (("02134", "99999"), ["02134", "99999"]),
        (("99999", "02134"), ["99999", "02134"]),
        (("7", "2.50", "word", "1e3"), ["7", "2.50", "word", "1e3"]),
        (("2024-01-02", "7"), ["2024-01-02", "7"]),
        (("true", "1"), ["true", "1"]),
        (("01/02/2017", "31/01/2017"), ["01/02/2017", "31/01/2017"]),  # doubtful in the first file
        (("2024-01-02 03:04:05Z", "2024-01-02"), ["2024-01-02 03:04:05Z", "2024-01-02"]),
        (("word", "NA", "", '"say ""so"""', "+5"), ["word", "NA", None, 'say "so"', "+5"]),
        (("2024-01-02 03:04:05", "2024-01-02"), ["2024-01-02T03:04:05", "2024-01-02T00:00:00"]),
        (("2024-03-13", "2024-01-02 03:04:05.000000001"), ["2024-03-13T00:00:00", "2024-01-02T03:04:05.000000001"]),
    ],
)
def test_columns_of_csv_files_widen_to_text_as_in_one_file(upsweep, arrow, cells, expected):
    for i, cell in enumerate(cells):
        upsweep.write(f"{i}.csv", f"id,z\n{i},{cell}\n")
    answer = upsweep.json("query", "SELECT z FROM '*.csv' ORDER BY id")
    assert [row[0] for row in answer["rows"]] == expected
    assert upsweep.json("query", "SELECT z FROM '*.csv' LIMIT 1")["rows"] == [[expected[0]]]
    assert upsweep.json("schema", "*.csv")["columns"][1]["type"].startswith(answer["types"][0])
    upsweep.write("whole", "id,z\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
    one = upsweep.json("query", "SELECT z FROM 'whole' ORDER BY id")
    assert (one["rows"] == answer["rows"]) == (cells[0] != "01/02/2017")  # one file shows the order of day and month


def test_widening_to_text_is_said_in_one_line(upsweep, arrow):
    upsweep.write("a.csv", "id,z\n1,02134\n")
    upsweep.write("b.csv", "id,z\n2,99999\n")
    upsweep.write("c.csv", "id,z\n3,true\n")
    line = "column 'z' is read as text: it contains text in a.csv and int64 in b.csv"
    assert upsweep.json("query", "SELECT z FROM '?.csv'")["remarks"] == [line]
    assert upsweep.json("schema", "?.csv")["remarks"] == [line]
    # Standard input cannot be opened again.
    with open(upsweep.folder / "b.csv", "rb") as stdin:
        assert upsweep.json("query", "SELECT z FROM '-'", stdin=stdin)["rows"] == [[99999]]
    assert upsweep.json("query", "SELECT z FROM '?.csv'", "--types", "z=string")["rows"] == [["02134"], ["99999"], ["true"]]
    # Commands on numbers refuse text.
    assert "a.csv:z" in upsweep.fails("unsupported_type", "reduce", "?.csv:z")["message"]


POINT, COMMA = "numbers with a decimal point", "numbers with a decimal comma"


@pytest.mark.parametrize(
    "a, b, found, options",
    [
        ("id;z\n1;1.2345\n", "id;z\n2;1.234,5\n", (POINT, COMMA), "--decimal and --thousands decide"),
        ("id;z\n1;1,25\n", "id;z\n2;1.25\n", (COMMA, POINT), "--decimal and --thousands decide"),
        ("id;z\n1;1.234.567\n", "id,z\n2,1.234\n", (COMMA, POINT), "--decimal and --thousands decide"),
        ("id;z\n1;1,25%\n", "id;z\n2;1.25%\n", (COMMA, POINT), "--decimal and --thousands decide"),
        ("id,z\n1,$5\n", "id,z\n2,€6\n", ("amounts in $", "amounts in €"), "--types decides"),
        ("id,z\n1,EUR 5\n", "id,z\n2,6 CHF\n", ("amounts in €", "amounts in CHF"), "--types decides"),
        ("id,z\n1,12%\n", "id,z\n2,12\n", ("percentages", "other numbers"), "--types decides"),
        ("id,z\n1,1.5\n", "id,z\n2,12%\n", ("other numbers", "percentages"), "--types decides"),
    ],
)
def test_numbers_written_differently_in_several_csv_files_are_text(upsweep, arrow, a, b, found, options):
    upsweep.write("a.csv", a)
    upsweep.write("b.csv", b)
    answer = upsweep.json("query", "SELECT z FROM '?.csv'")
    separator = ";" if ";" in a else ","
    first = a.splitlines()[1].split(separator)[1]
    second = b.splitlines()[1].split(";" if ";" in b else ",")[1]
    assert (answer["types"], answer["rows"]) == (["text"], [[first], [second]])
    difference = f"{found[0]} in a.csv and {found[1]} in b.csv"
    assert f"column 'z' is read as text: it contains {difference}; {options}" in answer["remarks"]
    message = upsweep.fails("unsupported_type", "reduce", "?.csv:z")["message"]
    assert f"{difference} ({options})" in message, message


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("id,z\n1,$5\n", "id,z\n2,6\n", [5, 6]),  # as in one file
        ("id,z\n1,$5\n", "id,z\n2,USD 6\n", [5, 6]),
        ("id,z\n1,5\n", "id;z\n2;6\n", [5, 6]),
        ("id,z,w\n1,5,1.5\n", "id;z;w\n2;6;1,5\n", [5, 6]),  # the other column is text
        ("id,z\n1,12%\n", "id,z\n2,\n", ["0.12", None]),
        ("id;z\n1;1.234,5\n", "id;z\n2;7\n", ["1234.5", "7.0"]),
    ],
)
def test_numbers_that_are_not_written_differently_stay_numbers(upsweep, arrow, a, b, expected):
    upsweep.write("a.csv", a)
    upsweep.write("b.csv", b)
    assert upsweep.json("query", "SELECT z FROM '?.csv'")["rows"] == [[value] for value in expected]


def test_options_decide_how_numbers_of_several_files_are_written(upsweep, arrow):
    upsweep.write("a.csv", "id;z\n1;1.234\n")
    upsweep.write("b.csv", "id;z\n2;1.234,5\n")
    german = ["--decimal", ",", "--thousands", "."]
    assert upsweep.json("query", "SELECT z FROM '?.csv'", *german)["rows"] == [["1234.0"], ["1234.5"]]
    upsweep.write("a.csv", "id,z\n1,12%\n")
    upsweep.write("b.csv", "id,z\n2,12\n")
    assert upsweep.json("query", "SELECT z FROM '?.csv'", "--types", "z=decimal(9,2)")["rows"] == [["0.12"], ["12.00"]]


def test_text_in_one_file_of_another_format_names_the_option(upsweep, arrow):
    upsweep.table("a.parquet", {"z": arrow.array(["02134"])})
    upsweep.write("b.csv", "z\n99999\n")
    for sql in ("SELECT * FROM '?.*'", "SELECT z FROM '?.*'"):
        message = upsweep.fails("unsupported_type", "query", sql)["message"]
        assert "text in a.parquet and int64 in b.csv (--types z=string reads the CSV files alike)" in message, message
    assert upsweep.json("query", "SELECT z FROM '?.*'", "--types", "z=string")["rows"] == [["02134"], ["99999"]]
    upsweep.table("a.parquet", {"z": arrow.array([1], arrow.decimal128(9, 2))})
    upsweep.write("b.csv", "z\n02134\n")
    assert "--types z=decimal(18,2) " in upsweep.fails("unsupported_type", "query", "SELECT z FROM '?.*'")["message"]
    assert upsweep.json("query", "SELECT z FROM '?.*'", "--types", "z=decimal(9,2)")["rows"] == [["1.00"], ["2134.00"]]


def test_no_columns_and_twice_the_same(upsweep, arrow):
    upsweep.table("none.parquet", arrow.table({}))
    upsweep.fails("unknown_column", "scan", "none.parquet", "-o", "out.npy")
    upsweep.fails("unknown_column", "scan", "none.parquet:x", "-o", "out.npy")
    upsweep.table("two.arrow", arrow.table([arrow.array([1]), arrow.array([2])], names=["x", "x"]))
    upsweep.fails("unknown_column", "scan", "two.arrow:x", "-o", "out.npy")


# ----------------------------------------------------------------------------------------------------------- bad CSV


@pytest.mark.parametrize("text", ["x\n1\nabc\n3\n", "x\nabc\n", "x\n1\n2 apples\n", "x\n1\n--2\n"])
def test_text_in_a_csv_column(upsweep, arrow, text):
    refuses(upsweep, text, ("unsupported_type", "malformed"), name="t.csv", column=":x")


def test_text_far_down_a_csv_column(upsweep, arrow):
    rows = 2 * BLOCK // 8
    refuses(upsweep, "x\n" + "1234567\n" * rows + "oops\n" + "1\n" * 10, "malformed", name="t.csv", index=rows)


def test_a_csv_column_that_becomes_decimals(upsweep, arrow):
    rows = 2 * BLOCK // 8
    for lines in ("1234567\n" * rows + "2.5\n", "2.5\n" + "1234567\n" * rows):  # whatever the first block contains
        upsweep.write("t.csv", "x\n" + lines)
        assert upsweep.json("reduce", "t.csv")["value"] == f"{1234567 * rows + 2}.5"
    upsweep.write("t.csv", "x\n" + "1234567\n" * rows + "2e5\n")
    result = upsweep.json("reduce", "t.csv")
    assert (result["value"], result["dtype"]) == (1234567 * rows + 2e5, "float64")


def test_a_csv_null_far_down(upsweep, arrow):
    rows = 2 * BLOCK // 8
    refuses(upsweep, "x,y\n" + "12345,1\n" * rows + ",1\n", "null_value", name="t.csv", column=":x", index=rows)


@pytest.mark.parametrize("text", ["x,y\n1,2\n3\n", "x,y\n1,2\n3,4,5\n", 'x,y\n1,2\n"3,4\n', "x\n1\0\n"])
def test_damaged_csv(upsweep, arrow, text):
    refuses(upsweep, text, ("malformed", "unsupported_type"), name="t.csv", column=":x")


def test_csv_integers_past_64_bits_are_not_rounded(upsweep, arrow):
    for cells in (["18446744073709551616"], ["-5", "9223372036854775808"], ["9" * 39]):
        upsweep.write("t.csv", "x\n" + "".join(cell + "\n" for cell in cells))
        error = upsweep.fails("unsupported_type", "reduce", "t.csv", index=len(cells) - 1)
        assert f"t.csv:x: line {len(cells) + 1}: '{cells[-1]}' is an integer that does not fit 64 bits" in error["message"]
        assert "upsweep query computes with integers of up to 38 digits" in error["message"]


def test_patterns_of_files(upsweep, arrow):
    for name, values in [("b", "3\n4\n"), ("a", "1\n2\n"), ("c", "7\n")]:
        upsweep.write(f"{name}.csv", "y\n" + values)
    assert upsweep.json("reduce", "[ab].csv:y")["value"] == 10
    assert upsweep.json("reduce", "[ab].csv")["count"] == 4
    assert upsweep.json("reduce", "c*.csv:y")["value"] == 7
    scanned = upsweep.json("scan", "[ab].csv:y")
    assert (scanned["first"], scanned["last"], scanned["count"]) == (1, 10, 4)  # in the order of their names
    upsweep.write("[a].csv", "y\n50\n")
    assert upsweep.json("reduce", "[a].csv:y")["value"] == 50  # a file has exactly this name
    upsweep.fails("not_found", "reduce", "x*.csv:y")
    assert "no column 'z'" in upsweep.fails("unknown_column", "reduce", "[ab].csv:z")["message"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_more_files_than_a_process_may_have_open(upsweep, arrow, kind):
    for i in range(100):
        if kind == "csv":
            upsweep.write(f"{i}.csv", f"x,y\n{i},word\n")
        else:
            upsweep.table(f"{i}.{kind}", arrow.table({"x": [i], "y": ["word"]}))
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
    assert upsweep.json("query", f"SELECT COUNT(y), SUM(x) FROM '*.{kind}'", **few)["rows"] == [[100, 4950]]
    assert upsweep.json("reduce", f"*.{kind}:x", **few)["value"] == 4950


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_more_npy_files_than_a_process_may_have_open(upsweep, dtype):
    for i in range(100):
        upsweep.save(f"x{i}.npy", [1, 1], dtype)
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
    assert upsweep.json("query", "SELECT COUNT(x0) FROM 'x*.npy'", **few)["rows"] == [[200]]
    if dtype != "bool":
        assert upsweep.json("reduce", "x*.npy", **few)["value"] == 200


def test_help_where_arrow_is_missing(upsweep, arrow_reason):
    if "no Arrow" not in arrow_reason:
        pytest.skip("Arrow is built in" if not arrow_reason else arrow_reason)
    upsweep.fails("not_built", "scan", upsweep.write("t.csv", "x\n1\n"), "-o", "out.npy")


def test_the_messages_are_for_people(upsweep):
    error = upsweep.fails("not_found", "scan", "missing.npy")
    assert "missing.npy" in error["message"]
    upsweep.save("in.npy", [1.5], "complex64")
    error = upsweep.fails("unsupported_type", "scan", "in.npy")
    assert "in.npy" in error["message"] and "c8" in error["message"]
    assert upsweep.fails("not_found", "reduce", "")["message"] == "the name of a file is empty; name a file"


def test_columns_and_files_whose_names_hold_colons(upsweep, arrow):
    upsweep.table("t.parquet", {"a:b": np.arange(4, dtype="int64"), "b": np.ones(4, dtype="int64")})
    assert upsweep.json("reduce", "t.parquet:a:b")["value"] == 6
    os.rename(upsweep.folder / "t.parquet", upsweep.folder / "t:u.parquet")
    assert upsweep.json("reduce", "t:u.parquet:a:b")["value"] == 6
    assert upsweep.json("reduce", "t:u.parquet:b")["value"] == 4


def test_a_name_that_is_no_utf8_still_gives_json(upsweep):
    upsweep.save("in.npy", [1, 2], "int64")
    done = upsweep.shell("\"$U\" scan in.npy -o $'\\xff.npy' --json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["output"] == "\ufffd.npy"
