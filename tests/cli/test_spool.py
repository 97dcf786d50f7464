# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_spool.py: tables on standard input and pipes, and compressed files.
import bz2
import datetime
import gzip
import io
import os
import subprocess

import conftest
import numpy as np
import pytest

CSV = "price,name\n1.5,a\n,b\n-3.25,c\n"
SQL = "SELECT SUM(price), COUNT(*), MAX(name) FROM '-'"
ANSWER = [["-1.75", 3, "c"]]
COMPRESSED = {"gz": gzip.compress, "bz2": bz2.compress}


@pytest.fixture(autouse=True)
def needs_arrow(arrow):
    pass


def zstd(content):
    import pyarrow as pa

    return pa.compress(content, codec="zstd", asbytes=True)


COMPRESSED["zst"] = zstd


@pytest.fixture
def contents(upsweep, arrow):
    """One table as the bytes of each format."""
    columns = {"price": arrow.array([1.5, None, -3.25]).cast(arrow.decimal128(9, 2)), "name": ["a", "b", "c"]}
    found = {"csv": CSV.encode()}
    for suffix in ("parquet", "arrow", "arrows"):
        upsweep.table(f"made.{suffix}", columns)
        path = upsweep.folder / f"made.{suffix}"
        found[suffix] = path.read_bytes()
        path.unlink()
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "arrows"])
def test_tables_on_standard_input(upsweep, contents, kind):
    content = contents[kind]
    assert upsweep.json("query", SQL, input=content)["rows"] == ANSWER
    assert upsweep.text("reduce", "-:price", "--nulls", "skip", input=content) == "-1.75\n"
    assert upsweep.text("scan", "-:price", "--nulls", "skip", "-o", "-", input=content) == "1.50\n1.50\n-1.75\n"
    assert upsweep.json("query", "SELECT COUNT(*) FROM t", "--table", "t=-", input=content)["rows"] == [[3]]
    upsweep.write("t", content)
    with (upsweep.folder / "t").open("rb") as file:  # a file as standard input
        assert upsweep.json("query", SQL, stdin=file)["rows"] == ANSWER
    assert upsweep.fails("unknown_column", "reduce", "-:nope", input=content)["message"].startswith("standard input: ")
    assert upsweep.files().keys() == {"t"}


def test_a_position_in_a_file_is_where_standard_input_begins(upsweep):
    upsweep.write("t", "title\n" + CSV)
    with (upsweep.folder / "t").open("rb", buffering=0) as file:
        file.seek(6)
        assert upsweep.json("query", SQL, stdin=file)["rows"] == ANSWER


def test_one_table_on_standard_input_gives_several_columns(upsweep, arrow):
    upsweep.table("t.parquet", {"starts": [0, 2], "stops": [2, 5]})
    content = (upsweep.folder / "t.parquet").read_bytes()
    assert upsweep.text("offsets", "-:starts", "-:stops", "-o", "-", input=content) == "0\n2\n5\n"
    upsweep.write("t.csv", "x,good\n1,true\n2,false\n3,true\n")
    content = (upsweep.folder / "t.csv").read_bytes()
    assert upsweep.text("select", "-:x", "--mask", "-:good", "-o", "-", input=content) == "1\n3\n"


def test_npy_on_standard_input(upsweep):
    upsweep.save("x.npy", np.array([1, 2, 4]))
    content = (upsweep.folder / "x.npy").read_bytes()
    assert upsweep.text("reduce", "-", input=content) == "7\n"
    assert upsweep.json("query", "SELECT SUM(value) FROM '-'", input=content)["rows"] == [[7]]
    assert upsweep.text("reduce", "-", input=gzip.compress(content)) == "7\n"
    upsweep.fails("unknown_column", "reduce", "-:x", input=content)


def test_named_pipes(upsweep, contents):
    os.mkfifo(upsweep.folder / "fifo")
    for kind, content in contents.items():
        upsweep.write("t", content)
        done = upsweep.shell("""cat t > fifo & "$U" query --json "SELECT COUNT(*) FROM 'fifo'" """)
        assert done.returncode == 0 and b'"rows":[[3]]' in done.stdout, (kind, done)
        done = upsweep.shell("""cat t > fifo & "$U" reduce fifo:price --nulls skip""")
        assert (done.returncode, done.stdout) == (0, b"-1.75\n"), (kind, done)


def test_empty_and_endless_input(upsweep):
    assert "empty" in upsweep.fails("malformed", "query", SQL, input=b"")["message"]
    upsweep.fails("malformed", "reduce", "-:x", input=b"")
    for device in ("/dev/zero", "/dev/urandom"):
        upsweep.fails("unreadable", "query", f"SELECT COUNT(*) FROM '{device}'")
        upsweep.fails("malformed", "reduce", device)
    upsweep.fails("malformed", "query", SQL, input=b"a,b\n1\0,2\n")


# --------------------------------------------------------------------------------------------------------- compression


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "arrows"])
def test_compressed_files(upsweep, contents, kind, ending):
    content = COMPRESSED[ending](contents[kind])
    for name in (f"t.{kind}.{ending}", "any_name"):
        upsweep.write(name, content)
        assert upsweep.json("query", SQL.replace("-", name))["rows"] == ANSWER
        assert upsweep.text("reduce", f"{name}:price", "--nulls", "skip") == "-1.75\n"
    assert upsweep.json("query", SQL, input=content)["rows"] == ANSWER
    error = upsweep.fails("unknown_column", "reduce", f"t.{kind}.{ending}:x")
    assert error["message"].startswith(f"t.{kind}.{ending}: ")


def test_compressed_npy(upsweep):
    upsweep.save("x.npy", np.array([1, 2, 4]))
    upsweep.write("x.npy.gz", gzip.compress((upsweep.folder / "x.npy").read_bytes()))
    assert upsweep.text("reduce", "x.npy.gz") == "7\n"
    assert upsweep.json("query", "SELECT SUM(x) FROM 'x.npy.gz'")["rows"] == [[7]]


def test_several_members(upsweep):
    half = CSV.index(",b")
    for ending, compress in COMPRESSED.items():
        name = upsweep.write(f"t.csv.{ending}", compress(CSV[:half].encode()) + compress(CSV[half:].encode()))
        assert upsweep.json("query", SQL.replace("-", name))["rows"] == ANSWER


def test_large_compressed_files(upsweep):
    rows = 400_000
    text = "x,y\n" + "".join(f"{i},{i % 7}\n" for i in range(rows))
    for ending, compress in COMPRESSED.items():
        name = upsweep.write(f"t.csv.{ending}", compress(text.encode()))
        result = upsweep.json("query", f"SELECT SUM(x), COUNT(*) FROM '{name}' WHERE y = 3")
        expected = range(3, rows, 7)
        assert result["rows"] == [[sum(expected), len(expected)]]


@pytest.mark.parametrize("ending", COMPRESSED)
def test_a_truncated_or_damaged_file(upsweep, ending):
    whole = COMPRESSED[ending]("".join(f"{i},{i * i}\n" for i in range(20_000)).encode())
    for size in (len(whole) - 1, len(whole) - 8, len(whole) // 2, 12):
        name = upsweep.write(f"t.csv.{ending}", whole[:size])
        error = upsweep.fails("malformed", "query", f"SELECT COUNT(*) FROM '{name}'")
        assert error["message"].startswith(f"{name}: ") and "truncated" in error["message"], (size, error)
        upsweep.fails("malformed", "query", "SELECT COUNT(*) FROM '-'", input=whole[:size])
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    name = upsweep.write(f"t.csv.{ending}", bytes(damaged))
    if ending != "zst":  # its checksum is optional
        upsweep.fails("malformed", "query", f"SELECT COUNT(*) FROM '{name}'")


def test_messages_give_the_line_of_the_text(upsweep):
    name = upsweep.write("t.csv.gz", gzip.compress(b"a,b\n1,2\n3\n"))
    error = upsweep.fails("malformed", "query", f"SELECT SUM(a) FROM '{name}'")
    assert error["message"].startswith(f"{name}: line 3 "), error


def test_a_file_that_is_compressed_again_and_again(upsweep):
    content = CSV.encode()
    for _ in range(2):
        content = gzip.compress(content)
    upsweep.write("t.csv.gz", content)
    assert upsweep.json("query", SQL.replace("-", "t.csv.gz"))["rows"] == ANSWER
    for _ in range(5):
        content = gzip.compress(content)
    upsweep.write("t.csv.gz", content)
    assert "several times" in upsweep.fails("malformed", "query", SQL.replace("-", "t.csv.gz"))["message"]


def test_patterns_of_compressed_files(upsweep, contents):
    upsweep.write("a.csv.gz", gzip.compress(contents["csv"]))
    upsweep.write("b.csv", contents["csv"])
    upsweep.write("c.parquet", contents["parquet"])
    assert upsweep.json("query", "SELECT SUM(price), COUNT(*) FROM '[abc].*'")["rows"] == [["-5.25", 9]]
    assert upsweep.text("reduce", "[abc].*:price", "--nulls", "skip") == "-5.25\n"


def test_items_of_subset_sums(upsweep):
    upsweep.write("items.txt.gz", gzip.compress(b"5\n7\n11\n"))
    assert upsweep.json("subset-sum", "items.txt.gz", "--target", "16")["indices"] == [0, 2]
    upsweep.write("items.csv.gz", gzip.compress(b"id,x\na,5\nb,7.5\nc,11\n"))
    result = upsweep.json("subset-sum", "items.csv.gz:x", "--target", "12.5", "--id", "id")
    assert result["indices"] == [0, 1]
    assert upsweep.json("subset-sum", "-:x", "--target", "12.5", input=b"id,x\na,5\nb,7.5\nc,11\n")["indices"] == [0, 1]


# ----------------------------------------------------------------------------------------------------- temporary files


def test_the_folder_of_the_copy(upsweep):
    missing = {**os.environ, "TMPDIR": str(upsweep.folder / "missing")}
    error = upsweep.fails("not_found", "query", SQL, input=CSV.encode(), env=missing)
    assert "missing" in error["message"] and error["message"].startswith("standard input: ")
    done = upsweep.run("query", SQL, "--spill-dir", upsweep.folder, input=CSV.encode(), env=missing)
    assert done.returncode == 0, done
    upsweep.fails("not_found", "query", SQL, "--spill-dir", "nowhere", input=CSV.encode())


def test_a_full_folder(upsweep):
    (upsweep.folder / "small").mkdir()
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    script = 'mount -t tmpfs -o size=64k tmpfs small && yes 1234567,abc | head -100000 | "$U" query "$1" --spill-dir small'
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("file systems cannot be mounted")
    done = upsweep.run_other([*unshare, "bash", "-c", script, "bash", "SELECT COUNT(*) FROM '-'"])
    assert done.returncode == 3 and b"disk" in done.stderr, done
    conftest.check_message(done.stderr)
