# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_subset_sum.py: `upsweep subset-sum`: answers compared with all subsets, every kind of input, every
# refusal.
import datetime
import decimal
import itertools
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import time

import conftest
import numpy as np
import pytest

INT64_MAX = 2**63 - 1

KEYS = ["reachable", "items", "indices", "sum", "rung", "seconds"]
PRICES = "12.34\n0.5\n\t100 \r\n2.50\n7\n\n"  # two decimals


def subsets(values):
    """Returns all subsets as positions, in the order of --all, by their sum."""
    n = len(values)
    found = {}
    for chosen in sorted(itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1))):
        found.setdefault(sum(values[i] for i in chosen), []).append(list(chosen))
    return found


def lines(values):
    return "".join(f"{value}\n" for value in values)


def value_of(number):
    """Converts a JSON number or a decimal's string exactly."""
    return decimal.Decimal(number) if isinstance(number, str) else number


def check(result, values, total=None):
    """Checks that the answer's items are at its positions, and add up to its sum."""
    assert set(result) >= set(KEYS), result
    assert result["reachable"] is True, result
    assert result["indices"] == sorted(set(result["indices"])), result
    assert [value_of(item) for item in result["items"]] == [values[i] for i in result["indices"]], result
    assert sum(map(value_of, result["items"])) == value_of(result["sum"]), result
    if total is not None:
        assert value_of(result["sum"]) == total, result
    assert isinstance(result["rung"], str) and result["rung"], result
    assert isinstance(result["seconds"], float) and result["seconds"] >= 0, result


def check_no(result):
    assert (result["reachable"], result["items"], result["indices"], result["sum"]) == (False, [], [], None), result


def refusal(upsweep, word, content, *args, index="any", name="in.txt"):
    """Returns the message of the failure to read this text."""
    upsweep.write(name, content)
    return upsweep.fails(word, "subset-sum", name, "--target", "3", *args, index=index)["message"]


# ------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("seed", range(6))
def test_every_target_of_small_instances(upsweep, seed):
    values = random.Random(seed).choices(range(1, 9), k=seed)
    upsweep.write("in.txt", lines(values))
    found = subsets(values)
    for target in range(sum(values) + 3):
        result = upsweep.json("subset-sum", "in.txt", "--target", target)
        if target in found:
            check(result, values, target)
        else:
            check_no(result)
        assert [result["reachable"]] == [target in found]


@pytest.mark.parametrize("seed", range(4))
def test_all_is_in_order(upsweep, seed):
    values = random.Random(seed).choices(range(1, 6), k=8)
    upsweep.write("in.txt", lines(values))
    found = subsets(values)
    for target in (0, 1, 5, sum(values) // 2, sum(values), sum(values) + 1):
        expected = found.get(target, [])
        for k in (1, 3, len(expected), len(expected) + 1, 10**6):
            if k == 0:
                continue
            result = upsweep.json("subset-sum", "in.txt", "--target", target, "--all", k)
            assert [one["indices"] for one in result["solutions"]] == expected[:k]
            assert result["reachable"] is bool(expected)
            for one in result["solutions"]:
                assert list(one) == ["items", "indices"]
                assert one["items"] == [values[i] for i in one["indices"]]
            assert result["indices"] == (expected[0] if expected else [])
            assert result["items"] == [values[i] for i in result["indices"]]


@pytest.mark.parametrize("seed", range(3))
def test_closest_and_tolerance(upsweep, seed):
    values = random.Random(seed).choices(range(3, 40), k=6)
    upsweep.write("in.txt", lines(values))
    sums = sorted(subsets(values))
    for target in (0, 2, 17, sum(values) // 2 + 1, sum(values) - 1, sum(values) + 50):
        result = upsweep.json("subset-sum", "in.txt", "--target", target, "--closest")
        check(result, values, max(one for one in sums if one <= target))
        for tolerance in (0, 1, 4, 1000, INT64_MAX):
            result = upsweep.json("subset-sum", "in.txt", "--target", target, "--tolerance", tolerance)
            near = [one for one in sums if abs(one - target) <= tolerance]
            if near:
                check(result, values, min(near, key=lambda one: (abs(one - target), one)))
            else:
                check_no(result)


def test_decide(upsweep):
    upsweep.write("in.txt", lines([3, 5, 9]))
    for target, reachable in ((8, True), (17, True), (0, True), (7, False), (18, False)):
        result = upsweep.json("subset-sum", "in.txt", "--target", target, "--decide")
        assert list(result) == KEYS
        assert (result["reachable"], result["items"], result["indices"]) == (reachable, [], [])
        assert result["sum"] == (target if reachable else None)
        text = upsweep.text("subset-sum", "in.txt", "--target", target, "--decide")
        assert text.startswith("yes: " if reachable else "no: ") and text.count("\n") == 1
    result = upsweep.json("subset-sum", "in.txt", "--target", "16", "--decide", "--closest")
    assert (result["reachable"], result["sum"], result["items"]) == (True, 14, [])
    assert upsweep.json("subset-sum", "in.txt", "--target", "16", "--decide", "--tolerance", "1")["sum"] == 17


def test_no_early_stop_answers_the_same(upsweep):
    values = random.Random(7).choices(range(1, 1000), k=60)
    upsweep.write("in.txt", lines(values))
    for target in (sum(values) // 3, sum(values) + 1):
        one = upsweep.json("subset-sum", "in.txt", "--target", target)
        other = upsweep.json("subset-sum", "in.txt", "--target", target, "--no-early-stop")
        assert one["reachable"] == other["reachable"]
        if one["reachable"]:
            check(other, values, target)


def test_every_rung(upsweep):
    ladders = upsweep.json("ladder")["ladders"]
    ladder = next(rungs for name, rungs in ladders.items() if name.replace("_", "-") == "subset-sum")
    values = random.Random(8).choices(range(100, 999), k=12)
    upsweep.write("in.txt", lines(values))
    target = sum(values[::2])
    ran = set()
    for rung in (row["rung"] for row in ladder if row["rung"].startswith("cpu.")):
        done = upsweep.run("subset-sum", "in.txt", "--target", target, "--rung", rung, "--json")
        result = conftest.only_object(done.stdout)
        if done.returncode == 0:
            check(result, values, target)
            assert result["rung"] == rung
            ran.add(rung)
        else:
            assert result["error"]["code"] == "unsupported", result
    assert ran == {"cpu.table", "cpu.columns", "cpu.threads", "cpu.bits", "cpu.bits_simd", "cpu.enumerate",
                   "cpu.meet_in_the_middle", "cpu.schroeppel_shamir"}  # fmt: skip


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_threads(upsweep, threads):
    values = random.Random(9).choices(range(1, 10**5), k=300)
    upsweep.write("in.txt", lines(values))
    target = sum(values) // 2
    check(upsweep.json("subset-sum", "in.txt", "--target", target, "--threads", threads), values, target)


def test_nothing_to_choose_from(upsweep):
    for content in ("", "\n", "\r\n  \n"):
        upsweep.write("in.txt", content)
        check(upsweep.json("subset-sum", "in.txt", "--target", "0"), [], 0)
        check_no(upsweep.json("subset-sum", "in.txt", "--target", "1"))
        assert upsweep.json("subset-sum", "in.txt", "--target", "9", "--closest")["sum"] == 0
    upsweep.save("in.npy", [], "int64")
    check_no(upsweep.json("subset-sum", "in.npy", "--target", "5"))
    assert upsweep.json("subset-sum", "in.npy", "--target", "0", "--all", "5")["solutions"] == [{"items": [], "indices": []}]


def test_the_largest_numbers(upsweep):
    upsweep.write("in.txt", lines([INT64_MAX, 1]))  # one of them is left out
    check(upsweep.json("subset-sum", "in.txt", "--target", 1), [INT64_MAX, 1], 1)
    upsweep.write("in.txt", lines([2**62, 2**62 - 1]))
    result = upsweep.json("subset-sum", "in.txt", "--target", INT64_MAX)
    assert (result["items"], result["sum"]) == ([2**62, 2**62 - 1], INT64_MAX)
    check_no(upsweep.json("subset-sum", "in.txt", "--target", INT64_MAX - 1))
    upsweep.write("in.txt", lines([2**62] * 3))
    message = upsweep.fails("overflow", "subset-sum", "in.txt", "--target", INT64_MAX)["message"]
    assert "2^63" in message or str(INT64_MAX) in message


def test_more_than_any_machine_can_do(upsweep):
    numbers = random.Random(10)
    values = [numbers.randrange(2**50, 2**51) * 2 for _ in range(400)]
    upsweep.write("in.txt", lines(values))
    error = upsweep.fails("out_of_memory", "subset-sum", "in.txt", "--target", sum(values) // 4 * 2 + 2)
    assert "bytes" in error["message"] or re.search(r"\d [KMGTPE]i?B", error["message"]), error


# ---------------------------------------------------------------------------------------------------------------- text


def test_text(upsweep):
    upsweep.write("in.txt", PRICES)
    assert upsweep.text("subset-sum", "in.txt", "--target", "14.84") == (
        "yes: 2 of 5 items add up to 14.84\n     position   item\n            0  12.34\n            3   2.50\n"
    )
    assert upsweep.text("subset-sum", "in.txt", "--target", "100") == (
        "yes: 1 of 5 items adds up to 100.00\n     position    item\n            2  100.00\n"
    )
    assert upsweep.text("subset-sum", "in.txt", "--target", "1") == ("no: no subset of the 5 items adds up to 1.00\n")
    assert upsweep.text("subset-sum", "in.txt", "--target", "0") == ("yes: taking none of the 5 items adds up to 0.00\n")


def test_text_of_near_sums(upsweep):
    upsweep.write("in.txt", PRICES)
    ask = ["subset-sum", "in.txt", "--target"]
    assert upsweep.text(*ask, "6", "--closest").splitlines()[0] == (
        "yes: 2 of 5 items add up to 3.00, 3.00 less than the target 6.00"
    )
    assert upsweep.text(*ask, "3", "--closest").splitlines()[0] == ("yes: 2 of 5 items add up to 3.00, the target itself")
    assert upsweep.text(*ask, "6.7", "--tolerance", "0.35").splitlines()[0] == (
        "yes: 1 of 5 items adds up to 7.00, 0.30 more than the target 6.70"
    )
    assert upsweep.text(*ask, "5", "--tolerance", "1") == (
        "no: no subset of the 5 items adds up to a sum within 1.00 of 5.00\n"
    )


def test_text_of_all(upsweep):
    upsweep.write("in.txt", lines([1, 2, 3]))
    ask = ["subset-sum", "in.txt", "--all", "2", "--target"]
    head = "     position  item\n"
    assert upsweep.text(*ask, "3") == (
        "yes: the first 2 subsets of the 3 items that add up to 3\n"
        f"solution 1: 2 items\n{head}            0     1\n            1     2\n"
        f"solution 2: 1 item\n{head}            2     3\n"
    )
    assert upsweep.text(*ask, "1").splitlines()[0] == "yes: the only subset of the 3 items that adds up to 1"
    assert upsweep.text(*ask, "7") == "no: no subset of the 3 items adds up to 7\n"


def test_every_position_is_told(upsweep):
    upsweep.write("in.txt", lines([1] * 500))
    text = upsweep.text("subset-sum", "in.txt", "--target", "500", "--quiet")
    assert text.splitlines()[0] == "yes: 500 of 500 items add up to 500"
    assert [int(line.split()[0]) for line in text.splitlines()[2:]] == list(range(500))


def test_explain(upsweep):
    upsweep.write("in.txt", lines(["1.25", "2.5", "7", "100", "33.75"]))
    text = upsweep.text("subset-sum", "in.txt", "--target", "9.5", "--explain")
    assert "yes: 2 of 5 items add up to 9.50" in text
    for line in text.splitlines():
        assert len(line) <= 80, line
    plan = upsweep.json("subset-sum", "in.txt", "--target", "9.5", "--explain")["plan"]
    assert {"items", "divisor", "target", "largest", "scale", "complement", "steps", "ways", "rung", "tries_likely"} == set(
        plan
    )
    assert plan["scale"] == 2 and isinstance(plan["complement"], bool)
    assert all(isinstance(step, str) and step for step in plan["steps"])
    for way in plan["ways"]:
        assert set(way) == {"rung", "seconds", "bytes", "reason"}
        assert way["reason"] is None or way["reason"]
        assert way["rung"] in text
    assert plan["rung"] == "none" or plan["rung"] in [way["rung"] for way in plan["ways"] if not way["reason"]]
    assert "plan" not in upsweep.json("subset-sum", "in.txt", "--target", "9.5")


@pytest.mark.parametrize("options", [["--decide"], ["--closest"], ["--tolerance", "2"], ["--all", "3"]])
def test_explain_beside_other_options(upsweep, options):
    upsweep.write("in.txt", lines([3, 5, 9, 20]))
    assert upsweep.json("subset-sum", "in.txt", "--target", "14", "--explain", *options)["plan"]["rung"]
    text = upsweep.text("subset-sum", "in.txt", "--target", "14", "--explain", *options)
    assert text.endswith(upsweep.text("subset-sum", "in.txt", "--target", "14", *options))


# --------------------------------------------------------------------------------------------------------------- scales


def test_decimals_are_exact(upsweep):
    upsweep.write("in.txt", lines(["0.1", "0.2", "0.70"]))
    result = upsweep.json("subset-sum", "in.txt", "--target", "0.3")
    assert (result["items"], result["sum"]) == (["0.1", "0.2"], "0.3")
    upsweep.write("in.txt", lines(["1.00", "2.0", "3"]))  # zeros after the last decimal do not count
    result = upsweep.json("subset-sum", "in.txt", "--target", "3.000", "--all", "9")
    assert [one["items"] for one in result["solutions"]] == [[1, 2], [3]]


@pytest.mark.parametrize(
    "target, tolerance, items, total",
    [
        ("3", None, [1, 2], 3),
        ("3.5", None, ["1.0", "2.5"], "3.5"),
        ("3.25", "0.25", ["1.00", "2.00"], "3.00"),
        ("3.25", "0.250", ["1.00", "2.00"], "3.00"),
        ("3", "0.001", ["1.000", "2.000"], "3.000"),
    ],
)
def test_the_scale_is_that_of_all_numbers(upsweep, target, tolerance, items, total):
    upsweep.write("in.txt", lines([1, 2, "2.5"] if "2.5" in items else [1, 2]))
    options = ["--tolerance", tolerance] if tolerance else []
    result = upsweep.json("subset-sum", "in.txt", "--target", target, *options)
    assert (result["items"], result["sum"]) == (items, total)


def test_eighteen_decimals(upsweep):
    small = "0.000000000000000001"
    upsweep.write("in.txt", lines([small, "9"]))
    result = upsweep.json("subset-sum", "in.txt", "--target", "9.000000000000000001")
    assert result["items"] == [small, "9.000000000000000000"]
    message = refusal(upsweep, "overflow", lines([1, "0.0000000000000000001"]), index=1)
    assert "in.txt: line 2: " in message and "18 decimals" in message
    # A hundred more zeros change nothing.
    upsweep.write("in.txt", lines(["0" * 100 + "1." + "0" * 100]))
    check(upsweep.json("subset-sum", "in.txt", "--target", "1"), [1], 1)


def test_what_does_not_fit_beside_the_others(upsweep):
    for content, index in ((f"1\n{INT64_MAX}\n0.5\n", 1), (f"0.5\n1\n2\n{INT64_MAX}\n", 3)):
        message = refusal(upsweep, "overflow", content, index=index)
        assert f"line {index + 1}: " in message and "922337203685477580.7" in message
    upsweep.write("in.txt", f"2\n{INT64_MAX}\n")
    message = upsweep.fails("overflow", "subset-sum", "in.txt", "--target", "2.25", index=1)["message"]
    assert "line 2: " in message and "92233720368547758.07" in message
    message = refusal(upsweep, "overflow", f"1\n{INT64_MAX + 1}\n", index=1)
    assert "line 2: " in message and str(INT64_MAX) in message
    upsweep.write("in.txt", "0.001\n")
    message = upsweep.fails("invalid_argument", "subset-sum", "in.txt", "--target", INT64_MAX, index=None)["message"]
    assert "--target" in message and "9223372036854775.807" in message


# ----------------------------------------------------------------------------------------------------------- text files


@pytest.mark.parametrize(
    "content",
    [
        "1\n2\n3\n",
        "1\n2\n3",
        "1\r\n2\r\n3\r\n",
        "+1\n +2\n\t3\t\n",
        "1\n2\n3\n\n\n  \n\r\n",
        "001\n02.0\n3.000\n",
        "\ufeff1\n2\n3\n",
    ],
)
@pytest.mark.parametrize("name", ["in.txt", "in", "in.dat", "-"])
def test_text_files(upsweep, content, name):
    upsweep.write("in.txt" if name == "-" else name, content)
    options = {"input": content.encode()} if name == "-" else {}
    result = upsweep.json("subset-sum", name, "--target", "5", **options)
    assert (result["items"], result["indices"]) == ([2, 3], [1, 2])


def test_a_point_first(upsweep):
    upsweep.write("in.txt", ".5\n.25\n")
    assert upsweep.json("subset-sum", "in.txt", "--target", ".75")["items"] == ["0.50", "0.25"]


@pytest.mark.parametrize(
    "line, reported",
    [
        ("abc", "'abc' is not a number"),
        ("12x", "'12x' is not a number"),
        ("5.", "'5.' is not a number"),
        (".", "'.' is not a number"),
        ("-", "'-' is not a number"),
        ("1.2.3", "'1.2.3' is not a number"),
        ("1 2", "'1 2' is not a number"),
        ("--1", "'--1' is not a number"),
        ("0x10", "'0x10' is not a number"),
        ("price", "'price' is not a number"),
        ("€5", "'€5' is not a number"),
        ("1e3", "'1e3' has an exponent"),
        ("-1.5E-3", "'-1.5E-3' has an exponent"),
        ("1e999", "'1e999' has an exponent"),
        ("1,000", "'1,000' has a separator"),
        ("1_000", "'1_000' has a separator"),
        ("1'000", "'1'000' has a separator"),
        ("12,5", "'12,5' has a separator"),
        ("nan", "'nan' is not a finite number"),
        ("-NaN", "'-NaN' is not a finite number"),
        ("inf", "'inf' is not a finite number"),
        ("-Infinity", "'-Infinity' is not a finite number"),
    ],
)
def test_lines_that_are_no_numbers(upsweep, line, reported):
    for content, index in ((f"{line}\n", 0), (f"1\n2\n{line}\n4\n", 2), (f"1\r\n {line} \r\n", 1)):
        message = refusal(upsweep, "malformed", content, index=index)
        assert message.startswith(f"in.txt: line {index + 1}: {reported}"), message
    done = upsweep.run("subset-sum", "-", "--target", "3", input=f"7\n{line}".encode())
    assert done.returncode == 1 and f"standard input: line 2: {reported}" in done.stderr.decode()


@pytest.mark.parametrize("line, reported", [("0", "0 is zero"), ("0.00", "0 is zero"), ("-0", "0 is zero"),
                                        ("-5", "-5 is negative"), ("-0.50", "-0.5 is negative")])  # fmt: skip
def test_lines_that_are_not_positive(upsweep, line, reported):
    message = refusal(upsweep, "not_positive", f"1\n2\n{line}\nabc\n", index=2)
    assert message.startswith(f"in.txt: line 3: {reported}"), message


def test_empty_lines_between_numbers(upsweep):
    for content in ("1\n\n2\n", "1\n \t\r\n\n\n2", "1\n\n" + "x" * 5000):
        assert "in.txt: line 2 is empty" in refusal(upsweep, "malformed", content, index=1)
    assert "in.txt: line 1 is empty" in refusal(upsweep, "malformed", "\n1\n", index=0)


@pytest.mark.parametrize(
    "content",
    [b"\0", b"1\n2\0\n", b"\0" * 3_000_000, b"1\n\x7fELF\x02\n", "1\n2\n".encode("utf-16")],
    ids=range(5),
)
def test_binary_files(upsweep, content):
    message = refusal(upsweep, "malformed", content)
    assert "not text" in message and all(c >= " " for c in message)


def test_formats_that_are_not_read(upsweep):
    assert "zip" in refusal(upsweep, "malformed", b"PK\x03\x04" + bytes(30))
    assert "gzip" in refusal(upsweep, "malformed", b"\x1f\x8b\x08\0abc")
    for magic, name in ((b"PAR1", "Parquet"), (b"ARROW1", "Arrow IPC"), (b"PK\x03\x04", "zip")):
        error = upsweep.fails("malformed", "subset-sum", "-", "--target", "3", input=magic + b"1\n")
        assert name in error["message"]
    upsweep.write("bad.npy", "1\n2\n")
    upsweep.fails("malformed", "subset-sum", "bad.npy", "--target", "3")


def test_long_lines(upsweep):
    upsweep.write("in.txt", " " * 2000 + "5" + " " * 2000 + "\n" + "0" * 4000 + "7\n")
    check(upsweep.json("subset-sum", "in.txt", "--target", "12"), [5, 7], 12)
    for content in ("1\n" + "7" * 5000, "1\n" + "7" * 5000 + "\n2\n", "1\n" + " " * 5000 + "\n", "1\n" + "7" * 3_000_000):
        assert "in.txt: line 2 is longer than 4096 bytes" in refusal(upsweep, "malformed", content, index=1)
    done = upsweep.shell('ulimit -v 2000000; yes 1 | tr -d "\\n" | "$U" subset-sum - --target 3 --threads 2 --json')
    assert b"longer than 4096 bytes" in done.stdout, done
    done = upsweep.shell('ulimit -v 2000000; "$U" subset-sum /dev/zero --target 3 --threads 2 --json')
    assert done.returncode == 1 and b"not text" in done.stdout, done


def test_long_files(upsweep):
    values = np.random.default_rng(11).integers(1, 10**6, 400_000)  # several blocks, and lines across their borders
    values[-1] = 5_000_000
    upsweep.write("in.txt", lines(f"{value / 100:.2f}" for value in values))
    total = values.sum()
    result = upsweep.json("subset-sum", "in.txt", "--target", f"{total // 100}.{total % 100:02}")
    assert len(result["items"]) == len(values) and result["items"][-1] == "50000.00"
    assert [round(float(item) * 100) for item in result["items"]] == values.tolist()
    assert result["indices"] == list(range(len(values)))
    with (upsweep.folder / "in.txt").open("ab") as file:
        file.write(b"oops\n")
    assert "line 400001: " in upsweep.fails("malformed", "subset-sum", "in.txt", "--target", "3", index=400_000)["message"]


# -------------------------------------------------------------------------------------------------------------- columns


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_npy_of_integers(upsweep, dtype):
    values = [7, 100, 3, 50]
    upsweep.save("in.npy", values, dtype)
    check(upsweep.json("subset-sum", "in.npy", "--target", "103"), values, 103)
    upsweep.save("in.npy", [7, 0, 3], dtype)
    assert "in.npy: row 1: " in upsweep.fails("not_positive", "subset-sum", "in.npy", "--target", "3", index=1)["message"]
    if dtype.startswith("int"):
        upsweep.save("in.npy", [7, 1, 3, -2], dtype)
        upsweep.fails("not_positive", "subset-sum", "in.npy", "--target", "3", index=3)


def test_unsigned_integers_past_the_signed_ones(upsweep):
    upsweep.save("in.npy", [1, 2**63 - 1, 2**63], "uint64")
    message = upsweep.fails("overflow", "subset-sum", "in.npy", "--target", "3", index=2)["message"]
    assert str(2**63) in message and str(INT64_MAX) in message


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_are_the_shortest_decimal(upsweep, dtype):
    upsweep.save("in.npy", [19.99, 0.01, 100, 1e6, 0.5], dtype)
    result = upsweep.json("subset-sum", "in.npy", "--target", "20", "--all", "1")
    assert (result["items"], result["indices"]) == (["19.99", "0.01"], [0, 1])
    upsweep.save("in.npy", [1e-5, 3.0], dtype)
    assert upsweep.json("subset-sum", "in.npy", "--target", "3.00001")["items"] == ["0.00001", "3.00000"]
    upsweep.save("in.npy", [1e18, 1e3], dtype)
    assert upsweep.json("subset-sum", "in.npy", "--target", 1000)["items"] == [1000]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "value, word, reported",
    [
        (np.nan, "malformed", "not a finite number"),
        (np.inf, "malformed", "not a finite number"),
        (-np.inf, "malformed", "not a finite number"),
        (0.0, "not_positive", "is zero"),
        (-0.0, "not_positive", "is zero"),
        (-2.5, "not_positive", "-2.5 is negative"),
        (1e19, "overflow", str(INT64_MAX)),
        (1e30, "overflow", str(INT64_MAX)),
        (1e-25, "overflow", "18 decimals"),
    ],
)
def test_floats_that_are_refused(upsweep, dtype, value, word, reported):
    upsweep.save("in.npy", [1, 2, value, -1], dtype)
    message = upsweep.fails(word, "subset-sum", "in.npy", "--target", "3", index=2)["message"]
    assert message.startswith("in.npy: row 2: ") and reported in message


def test_float32_has_its_own_decimals(upsweep):
    upsweep.save("in.npy", [0.1, 0.2], "float64")
    assert upsweep.json("subset-sum", "in.npy", "--target", "0.3")["reachable"] is True
    upsweep.save("in.npy", [0.1 + 0.2], "float64")  # 0.30000000000000004
    assert upsweep.json("subset-sum", "in.npy", "--target", "0.3")["reachable"] is False


def test_standard_input(upsweep):
    upsweep.save("in.npy", [3, 5, 9], "int16")
    upsweep.write("in.txt", "3\n5\n9\n")
    for name in ("in.npy", "in.txt"):
        with (upsweep.folder / name).open("rb") as file:
            assert upsweep.json("subset-sum", "-", "--target", "12", stdin=file)["indices"] == [0, 2]
        content = (upsweep.folder / name).read_bytes()
        assert upsweep.json("subset-sum", "-", "--target", "12", input=content)["indices"] == [0, 2]
        done = upsweep.shell(f'cat {name} | "$U" subset-sum /dev/stdin --target 12 --json')
        assert conftest.only_object(done.stdout)["indices"] == [0, 2], done
        done = upsweep.shell(f'"$U" subset-sum <(cat {name}) --target 12 --json')
        assert conftest.only_object(done.stdout)["indices"] == [0, 2], done
    done = upsweep.shell('(head -c 3 in.txt; sleep 0.3; tail -c +4 in.txt) | "$U" subset-sum - --target 12 --json')
    assert conftest.only_object(done.stdout)["indices"] == [0, 2], done
    done = upsweep.shell('(head -c 3 in.npy; sleep 0.3; tail -c +4 in.npy) | "$U" subset-sum - --target 12 --json')
    assert conftest.only_object(done.stdout)["indices"] == [0, 2], done
    upsweep.fails("malformed", "subset-sum", "-", "--target", "3", input=(upsweep.folder / "in.npy").read_bytes()[:-3])
    upsweep.fails("not_positive", "subset-sum", "-", "--target", "3", input=b"4\n-4\n", index=1)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_columns_of_tables(upsweep, arrow, name):
    upsweep.table(name, {"item": [3, 50, 9], "price": [19.99, 0.5, 0.01], "word": ["a", "b", "c"]})
    check(upsweep.json("subset-sum", f"{name}:item", "--target", "12"), [3, 50, 9], 12)
    assert upsweep.json("subset-sum", f"{name}:price", "--target", "20")["items"] == ["19.99", "0.01"]
    upsweep.fails("unsupported_type", "subset-sum", f"{name}:word", "--target", "20")
    upsweep.fails("unknown_column", "subset-sum", f"{name}:nope", "--target", "20")
    upsweep.fails("unknown_column", "subset-sum", name, "--target", "20")  # which of the three columns?
    upsweep.table(name, {"item": [3, 50, 9]})
    check(upsweep.json("subset-sum", name, "--target", "12"), [3, 50, 9], 12)


def test_decimal_columns(upsweep, arrow):
    values = [decimal.Decimal("12.50"), decimal.Decimal("0.75"), decimal.Decimal("3.00")]
    upsweep.table("t.parquet", {"x": arrow.array(values, arrow.decimal128(9, 2))})
    result = upsweep.json("subset-sum", "t.parquet:x", "--target", "15.5")
    assert (result["items"], result["sum"]) == (["12.50", "3.00"], "15.50")
    check_no(upsweep.json("subset-sum", "t.parquet:x", "--target", "15.501"))
    values[1] = decimal.Decimal("-0.75")
    upsweep.table("t.parquet", {"x": arrow.array(values, arrow.decimal128(9, 2))})
    error = upsweep.fails("not_positive", "subset-sum", "t.parquet:x", "--target", "15.5", index=1)
    assert "t.parquet:x: row 1: -0.75 is negative" in error["message"]


def test_columns_that_are_refused(upsweep, arrow):
    days = arrow.array([datetime.date(1970, 1, 2)] * 2, arrow.date32())
    upsweep.table("t.parquet", {"d": days, "w": ["a", "b"], "n": arrow.array([1, None])})
    upsweep.fails("unsupported_type", "subset-sum", "t.parquet:d", "--target", "3")
    upsweep.fails("unsupported_type", "subset-sum", "t.parquet:w", "--target", "3")
    upsweep.fails("null_value", "subset-sum", "t.parquet:n", "--target", "3", index=1)
    upsweep.write("t.csv", "x\n1\n0\n")
    assert "line 3" in upsweep.fails("not_positive", "subset-sum", "t.csv:x", "--target", "3", index=1)["message"]


# --------------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv"])
def test_labels(upsweep, arrow, name):
    upsweep.table(name, {"x": [3, 50, 9], "word": ["eins", "zwei", "drei"], "n": [10, 20, 30]})
    result = upsweep.json("subset-sum", f"{name}:x", "--target", "12", "--id", "word")
    assert (result["indices"], result["ids"]) == ([0, 2], ["eins", "drei"])
    assert upsweep.json("subset-sum", f"{name}:x", "--target", "12", "--id", "n")["ids"] == ["10", "30"]
    assert upsweep.json("subset-sum", f"{name}:x", "--target", "12", "--id", "x")["ids"] == ["3", "9"]
    assert upsweep.json("subset-sum", f"{name}:x", "--target", "11", "--id", "word")["ids"] == []
    assert upsweep.json("subset-sum", f"{name}:x", "--target", "12", "--id", "word", "--decide")["ids"] == []
    result = upsweep.json("subset-sum", f"{name}:x", "--target", "12", "--id", "word", "--all", "4")
    assert result["solutions"] == [{"items": [3, 9], "indices": [0, 2], "ids": ["eins", "drei"]}]
    assert upsweep.text("subset-sum", f"{name}:x", "--target", "12", "--id", "word") == (
        "yes: 2 of 3 items add up to 12\n     position  item  word\n            0     3  eins\n            2     9  drei\n"
    )


def test_labels_of_csv_with_options(upsweep, arrow):
    upsweep.write("t.csv", "007;3.5\n008;1.5\n009;2.5\n")
    options = ["--header", "no", "--skip", "1", "--delimiter", ";"]
    result = upsweep.json("subset-sum", "t.csv:column1", "--target", "4.0", "--id", "column0", *options)
    assert (result["indices"], result["ids"], result["items"]) == ([0, 1], ["008", "009"], ["1.5", "2.5"])


def test_labels_of_a_file_that_is_not_there(upsweep):
    for name in ("none.csv:x", "none.txt"):
        message = upsweep.fails("not_found", "subset-sum", name, "--target", "3", "--id", "word")["message"]
        assert "none" in message and "needs a table" not in message
    upsweep.write("in.txt", "3\n")
    assert (
        "needs a table" in upsweep.fails("invalid_argument", "subset-sum", "in.txt", "--target", "3", "--id", "word")["message"]
    )


def test_labels_of_every_type(upsweep, arrow):
    columns = {
        "x": [1, 2, 4],
        "bool": [True, None, False],
        "date": arrow.array([datetime.date(2001, 12, 31), None, datetime.date(1969, 12, 31)], arrow.date32()),
        "money": arrow.array([decimal.Decimal("1.50"), None, decimal.Decimal("-0.07")], arrow.decimal128(30, 2)),
        "float32": arrow.array([0.1, None, 2], arrow.float32()),
        "float64": [0.1, None, float("nan")],
        "uint64": arrow.array([2**64 - 1, None, 0], arrow.uint64()),
        "text": ["ä\n\x1b[31m", None, ""],
    }
    expected = {
        "bool": ["true", None, "false"],
        "date": ["2001-12-31", None, "1969-12-31"],
        "money": ["1.50", None, "-0.07"],
        "float32": ["0.1", None, "2"],
        "float64": ["0.1", None, "NaN"],
        "uint64": [str(2**64 - 1), None, "0"],
        "text": ["ä\n\x1b[31m", None, ""],
    }
    upsweep.table("t.parquet", columns)
    for column, labels in expected.items():
        assert upsweep.json("subset-sum", "t.parquet:x", "--target", "7", "--id", column)["ids"] == labels, column
    text = upsweep.text("subset-sum", "t.parquet:x", "--target", "7", "--id", "text")
    assert "\x1b" not in text and text.count("\n") == 5
    assert text.splitlines()[3] == "            1     2"  # NULL


def test_labels_of_long_tables(upsweep, arrow):
    values = np.full(200_000, 10**6)
    few = [3, 65_535, 65_536, 131_071, 199_999]
    values[few] = [1, 2, 4, 8, 16]
    columns = {"x": values, "id": [f"row {i}" for i in range(len(values))]}
    for name, options in (("t.parquet", {"row_group_size": 30_000}), ("t.arrow", {"max_chunksize": 50_000}), ("t.csv", {})):
        upsweep.table(name, columns, **options)
        for target, rows in ((31, few), (16, few[4:]), (5, [few[0], few[2]])):
            result = upsweep.json("subset-sum", f"{name}:x", "--target", target, "--id", "id")
            assert (result["indices"], result["ids"]) == (rows, [f"row {row}" for row in rows])


def test_labels_that_are_refused(upsweep, arrow):
    upsweep.table("t.parquet", {"x": [1, 2], "list": [[1], [2]]})
    upsweep.write("in.txt", "1\n2\n")
    upsweep.save("in.npy", [1, 2], "int64")
    ask = ["--target", "3", "--id"]
    error = upsweep.fails("unknown_column", "subset-sum", "t.parquet:x", *ask, "nope")
    assert "nope" in error["message"] and "'x', 'list'" in error["message"]
    upsweep.fails("unsupported_type", "subset-sum", "t.parquet:x", *ask, "list")
    for source in ("in.txt", "in.npy", "t.parquet"):
        assert "FILE:COLUMN" in upsweep.fails("invalid_argument", "subset-sum", source, *ask, "x")["message"]
    error = upsweep.fails("invalid_argument", "subset-sum", "-", *ask, "x", input=b"1\n2\n")
    assert "FILE:COLUMN" in error["message"]


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "options, reported",
    [
        ([], "--target"),
        (["--target", ""], "--target"),
        (["--target", "abc"], "--target 'abc' is not a number"),
        (["--target", "1e3"], "--target '1e3' has an exponent"),
        (["--target", "1,000"], "--target '1,000' has a separator"),
        (["--target", "nan"], "--target 'nan' is not a finite number"),
        (["--target", "-5"], "--target -5 is negative"),
        (["--target=-0.5"], "--target -0.5 is negative"),
        (["--target", "0.1234567890123456789"], "18 decimals"),
        (["--target", "9223372036854775808"], "9223372036854775807"),
        (["--target", "3", "--tolerance", "-1"], "--tolerance -1 is negative"),
        (["--target", "3", "--tolerance", "x"], "--tolerance 'x' is not a number"),
        (["--target", "3", "--tolerance", "9223372036854775808"], "--tolerance"),
        (["--target", "3", "--closest", "--tolerance", "1"], "--closest and --tolerance"),
        (["--target", "3", "--all", "2", "--closest"], "--all"),
        (["--target", "3", "--all", "2", "--tolerance", "1"], "--all"),
        (["--target", "3", "--all", "2", "--decide"], "--all"),
        (["--target", "3", "--all", "0"], "--all"),
        (["--target", "3", "--all", "-1"], "--all"),
        (["--target", "3", "--all", "x"], "--all"),
        (["--target", "3", "--all", "1.5"], "--all"),
        (["--target", "3", "--all", "010"], "--all"),
        (["--target", "3", "--all", str(2**63)], "--all"),
        (["--target", "3", "--threads", "-2"], "--threads"),
        (["--target", "3", "--device", "tpu"], "--device"),
        (["--target", "3", "more.txt"], "more.txt"),
    ],
)
def test_bad_options(upsweep, options, reported):
    upsweep.write("in.txt", "1\n2\n")
    error = upsweep.fails("invalid_argument", "subset-sum", "in.txt", *options, index=None)
    assert reported in error["message"], error


@pytest.mark.parametrize("content", ["1\n2\n", ""])
def test_unknown_rungs(upsweep, content):
    upsweep.write("in.txt", content)
    for options in ([], ["--all", "3"], ["--decide"], ["--closest"]):
        for code, rung in (("unknown_rung", "cpu.nope"), ("unsupported", "cpu.chained")):  # a rung of scan
            upsweep.fails(code, "subset-sum", "in.txt", "--target", "3", "--rung", rung, *options)


def test_without_a_device(upsweep):
    upsweep.write("in.txt", "1\n2\n")
    upsweep.fails(("not_built", "no_device"), "subset-sum", "in.txt", "--target", "3", "--device", "cuda")
    upsweep.fails("unsupported", "subset-sum", "in.txt", "--target", "3", "--rung", "cuda.bits", "--all", "2")


def test_files_that_cannot_be_read(upsweep):
    upsweep.fails("not_found", "subset-sum", "none.txt", "--target", "3")
    upsweep.fails("not_found", "subset-sum", "none.parquet:x", "--target", "3")
    upsweep.fails("is_directory", "subset-sum", ".", "--target", "3")
    upsweep.write("in.txt", "1\n")
    upsweep.fails("unknown_column", "subset-sum", "in.txt:x", "--target", "3")
    done = upsweep.shell('"$U" subset-sum - --target 3 <&-')
    assert done.returncode == 3 and b"standard input" in done.stderr, done


def test_a_file_whose_name_holds_a_colon(upsweep):
    upsweep.write("a:b", "1\n2\n")
    assert upsweep.json("subset-sum", "a:b", "--target", "3")["items"] == [1, 2]


# -------------------------------------------------------------------------------------------------------- long searches


def start_long_search(upsweep, *options, **streams):
    """A search that takes minutes: a bitmap of 125 MB, no part of which becomes full, is updated for each of 20,000
    items."""
    values = random.Random(12).sample(range(4, 800_000, 4), 20_000)
    upsweep.write("long.txt", lines([*values, 1]))
    command = [conftest.COMMAND, "subset-sum", "long.txt", "--target", "1000000003", *options]
    # If the tests run in the background, they and their children may ignore Ctrl-C.
    heeds = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    return subprocess.Popen(command, cwd=upsweep.folder, stdin=subprocess.DEVNULL, **heeds, **streams)


def read_terminal(terminal, until=None, seconds=3600):
    """Returns the terminal's output: all of it, or up to this word."""
    shown = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end and (until is None or until not in shown):
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the terminal was closed
            break
        if not piece:
            break
        shown += piece
    return shown


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_interrupted(upsweep, options):
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal is available: {error}")
    process = start_long_search(upsweep, *options, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    try:
        shown = read_terminal(ours, until=b"searching")
        if b"searching" not in shown and process.poll() == 0:
            pytest.skip("the search ended before it could be interrupted")
        assert re.search(rb"\r\x1b\[Ksearching [\d.]+ %", shown + read_terminal(ours, until=b"%")), shown
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=3600)[0]
        shown = read_terminal(ours)
        assert process.returncode == -signal.SIGINT, (output, shown)
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
        os.close(ours)
    said = r"interrupted after [\d.]+ % of the search"
    if options:
        error = conftest.only_object(output)["error"]
        assert error["code"] == "interrupted" and re.fullmatch(said, error["message"]), error
    else:
        assert output == b"" and re.search(said.encode(), shown), (output, shown)


def test_no_progress_on_pipes(upsweep):
    environment = {**os.environ, "NO_COLOR": "1"}
    process = start_long_search(upsweep, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        time.sleep(2)  # longer than the delay before progress is shown
        if process.poll() == 0:
            pytest.skip("the search ended before it showed progress")
        process.send_signal(signal.SIGINT)
        output, said = process.communicate(timeout=3600)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, output) == (-signal.SIGINT, b"")
    assert re.fullmatch(rb"upsweep: interrupted after [\d.]+ % of the search\n", said), said


def test_help(upsweep):
    text = upsweep.text("subset-sum", "--help")
    for option in ("--target", "--decide", "--closest", "--tolerance", "--all", "--id", "--no-early-stop", "--explain"):
        assert option in text
    assert "subset-sum" in upsweep.text("--help")
    assert json.loads(upsweep.run("subset-sum", "--json").stdout)["error"]["code"] == "invalid_argument"


# ------------------------------------------------------------------------------------------------- CSV as it is written


def csv_of(cells, name="x"):
    """These cells as a column between two others; one of those has text of two lines."""
    return f"before,{name},after\n" + "".join(f'"two\nlines, {i}",{cell},{i}\n' for i, cell in enumerate(cells))


@pytest.mark.parametrize(
    "cells, target",
    [
        (["90071992547409.93", "1.5"], "90071992547409.93"),
        (["9007199254740993.0", "2"], "9007199254740993"),
        (["9007199254740993", "0.5"], "9007199254740993.5"),
        (["0.123456789012345678", "1"], "1.123456789012345678"),
        (["0.000000000000000003", "9"], "9.000000000000000003"),
        (["123456789012345.678", "0.005"], "123456789012345.683"),
        ([INT64_MAX], INT64_MAX),
        (["922337203685477580.7"], "922337203685477580.7"),
        (["0.3", "0.6"], "0.9"),
    ],
)
def test_csv_decimals_are_exact(upsweep, arrow, cells, target):
    upsweep.write("t.csv", csv_of(cells))
    upsweep.write("t.txt", lines(cells))
    reported = upsweep.json("subset-sum", "t.csv:x", "--target", target)
    check(reported, [decimal.Decimal(cell) for cell in cells], decimal.Decimal(target))
    other = upsweep.json("subset-sum", "t.txt", "--target", target)
    assert {**reported, "seconds": 0} == {**other, "seconds": 0}
    digit = decimal.Decimal(1).scaleb(min(decimal.Decimal(cell).as_tuple().exponent for cell in (*cells, target)))
    check_no(upsweep.json("subset-sum", "t.csv:x", "--target", f"{decimal.Decimal(target) - digit:f}"))


@pytest.mark.parametrize(
    "content",
    [
        "x\n1\n2\n3.50\n",
        "x\r\n1\r\n2\r\n3.50\r\n",
        "x\n1\n2\n3.50",
        '"x"\n"1"\n"2"\n"3.50"\n',
        'x\n" +1 "\n 2\t\n+3.5\n',
        'x\n"1\r"\n"2\t"\n"3.5"\n',
        "\ufeffx\n001\n2.0\n03.500\n",
    ],
)
def test_csv_cells(upsweep, arrow, content):
    upsweep.write("t.csv", content)
    for source in ("t.csv", "t.csv:x"):
        result = upsweep.json("subset-sum", source, "--target", "5.5")
        assert (result["items"], result["indices"]) == (["2.0", "3.5"], [1, 2])


def test_csv_points_first(upsweep, arrow):
    upsweep.write("t.csv", "x\n.5\n.25\n")
    assert upsweep.json("subset-sum", "t.csv", "--target", ".75")["items"] == ["0.50", "0.25"]


@pytest.mark.parametrize(
    "cell, word, reported",
    [
        ("abc", "malformed", "'abc' is not a number: one positive number per row"),
        ("5.", "malformed", "'5.' is not a number"),
        ("2001-12-31", "malformed", "'2001-12-31' is not a number"),
        ("true", "malformed", "'true' is not a number"),
        ("NA", "malformed", "'NA' is not a number"),
        ("null", "malformed", "'null' is not a number"),
        ('"NULL"', "malformed", "'NULL' is not a number"),
        ('"1\n2"', "malformed", "'1\\n2' is not a number"),
        ("1e3", "malformed", "'1e3' has an exponent"),
        ('"10,00.00"', "malformed", "'10,00.00' has a separator"),
        ("nan", "malformed", "'nan' is not a finite number"),
        ("-inf", "malformed", "'-inf' is not a finite number"),
        ("9223372036854775808", "overflow", f"'9223372036854775808' is too large: without its point, a number may be at most {INT64_MAX}"),
        ("92233720368547758.08", "overflow", "'92233720368547758.08' is too large"),
        ("0.1234567890123456789", "overflow", "'0.1234567890123456789' has more than 18 decimals"),
        ("0", "not_positive", "0 is zero"),
        ("-0.50", "not_positive", "-0.5 is negative"),
    ],
)  # fmt: skip
def test_csv_cells_that_are_refused(upsweep, arrow, cell, word, reported):
    for content, row in ((csv_of([1, "2.5", cell, "zzz"]), 2), (csv_of([7] * 200_000 + [cell]), 200_000)):
        upsweep.write("t.csv", content)
        error = upsweep.fails(word, "subset-sum", "t.csv:x", "--target", "3", index=row)
        assert error["message"].startswith(f"t.csv:x: line {2 * row + 3}: {reported}"), error
    upsweep.write("t.csv", csv_of([cell, 1]))  # the first cell of the column is a word
    word = "unsupported_type" if reported.endswith("is not a number") or "is not a number:" in reported else word
    assert f"line 3: {reported}" in upsweep.fails(word, "subset-sum", "t.csv:x", "--target", "3", index=0)["message"]


@pytest.mark.parametrize("cell", ["", '""', "  ", '" \t"'])
def test_csv_cells_that_are_empty(upsweep, arrow, cell):
    upsweep.write("t.csv", csv_of([1, "2.5", cell, "zzz"]))
    error = upsweep.fails("null_value", "subset-sum", "t.csv:x", "--target", "3", index=2)
    assert error["message"].startswith("t.csv:x: line 7 is empty; "), error
    upsweep.write("t.csv", f"x\n1\n{cell}\n2\n")
    error = upsweep.fails("null_value", "subset-sum", "t.csv", "--target", "3", index=1)
    assert error["message"].startswith("t.csv:x: line 3 is empty; "), error


def test_csv_items_that_do_not_fit_beside_the_others(upsweep, arrow):
    for cells, row in (([1, INT64_MAX, "0.5"], 1), (["0.5", 1, INT64_MAX], 2)):
        upsweep.write("t.csv", csv_of(cells))
        error = upsweep.fails("overflow", "subset-sum", "t.csv:x", "--target", "3", index=row)
        assert f"t.csv:x: line {2 * row + 3}: " in error["message"] and "922337203685477580.7" in error["message"]


def test_csv_without_rows_and_damaged(upsweep, arrow):
    upsweep.write("t.csv", "x,y\n")
    check_no(upsweep.json("subset-sum", "t.csv:x", "--target", "3"))
    upsweep.write("t.csv", "x,y\n1,2\n1,2,3\n")
    error = upsweep.fails("malformed", "subset-sum", "t.csv:x", "--target", "3", index=1)
    assert "line 3 has 3 cells, and line 1 has 2; correct the row, or read it with --ragged" in error["message"]
    upsweep.write("t.csv", "x,x\n1,2\n")
    assert upsweep.json("subset-sum", "t.csv:x_1", "--target", "2")["items"] == [2]


def test_long_csv_files(upsweep, arrow):
    values = np.random.default_rng(13).integers(1, 10**6, 300_000)
    values[-1] = 5_000_000
    upsweep.write("t.csv", "id,x\n" + lines(f"{i:07},{value / 100:.2f}" for i, value in enumerate(values)))
    total = values.sum()
    ask = ["subset-sum", "t.csv:x", "--target", f"{total // 100}.{total % 100:02}", "--id", "id"]
    result = upsweep.json(*ask)
    assert [round(float(item) * 100) for item in result["items"]] == values.tolist()
    assert result["ids"] == [f"{i:07}" for i in range(len(values))]


def test_csv_labels_are_what_the_file_says(upsweep, arrow):
    labels = ["000124", "007", "9007199254740993", "18446744073709551617", "1.10", "NA", "null", "N/A", "None", "True",
              "2001-12-31", "+1", "1e3", " a ", "nan", "0x1F", "ä€", "12:30", "-0"]  # fmt: skip
    quoted = {'"say ""hi"""': 'say "hi"', '"a,b"': "a,b", '"a\nb"': "a\nb", '"007"': "007", '""': "", '"NULL"': "NULL"}
    cells = [*labels, *quoted]
    expected = [*labels, *quoted.values()]
    upsweep.write("t.csv", "id,x,y\n" + "".join(f"{cell},{2**i},{i}\n" for i, cell in enumerate(cells)))
    ask = ["subset-sum", "t.csv:x", "--target", 2 ** len(cells) - 1, "--id"]
    assert upsweep.json(*ask, "id")["ids"] == expected
    shown = upsweep.text(*ask, "id")
    for label in labels:
        assert re.search(rf"\d  {re.escape(label)}\n", shown), label
    # Each cell in a separate file, because otherwise they would share the type of the column. CRLF.
    for cell, label in zip(cells, expected):
        upsweep.write("t.csv", f"x,id\r\n1,{cell}\r\n2,{cell}")
        assert upsweep.json("subset-sum", "t.csv:x", "--target", "3", "--id", "id")["ids"] == [label, label]
    # Labels can also be numbers, even the items themselves.
    upsweep.write("t.csv", "x\n1.50\n02\n+3.5\n")
    result = upsweep.json("subset-sum", "t.csv:x", "--target", "7", "--id", "x")
    assert (result["items"], result["ids"]) == (["1.5", "2.0", "3.5"], ["1.50", "02", "+3.5"])


def test_csv_labels_that_are_missing(upsweep, arrow):
    upsweep.write("t.csv", 'x,id\n1,\n2,""\n4," "\n')
    assert upsweep.json("subset-sum", "t.csv:x", "--target", "7", "--id", "id")["ids"] == [None, "", " "]
    assert upsweep.text("subset-sum", "t.csv:x", "--target", "1", "--id", "id").splitlines()[-1] == "            0     1"


def test_labels_of_other_formats_are_typed(upsweep, arrow):
    columns = {"x": [1, 2], "n": [124, 7], "f": [1.1, 2.0], "s": ["007", "NA"]}
    for name in ("t.parquet", "t.arrow", "t.arrows"):
        upsweep.table(name, columns)
        for column, ids in (("n", ["124", "7"]), ("f", ["1.1", "2"]), ("s", ["007", "NA"])):
            assert upsweep.json("subset-sum", f"{name}:x", "--target", "3", "--id", column)["ids"] == ids


@pytest.mark.parametrize("first", ["10.00", "10", "+10", " 10 "])
def test_csv_without_a_header_row(upsweep, arrow, first):
    """The first row contains a value, which must not become a name."""
    for text, source in ((f"{first}\n20.00\n", "t.csv"), (f"A17,{first}\nB4,20.00\n", "t.csv:column1")):
        upsweep.write("t.csv", text)
        assert upsweep.json("subset-sum", source, "--target", "30")["items"] == [10, 20]


@pytest.mark.parametrize(
    "first, code, words",
    [
        ("1e1", "malformed", "an exponent"),
        (str(2**64), "overflow", "too large"),
        ("-5", "not_positive", "negative"),
    ],
)
def test_a_bad_number_in_the_first_row_of_csv_without_a_header(upsweep, arrow, first, code, words):
    upsweep.write("t.csv", f"{first}\n20.00\n")
    error = upsweep.fails(code, "subset-sum", "t.csv", "--target", "30", index=0)
    assert "line 1" in error["message"] and words in error["message"]


def test_csv_names_that_are_numbers_in_quotes(upsweep, arrow):
    upsweep.write("t.csv", '"10.00"\n20.00\n')
    assert upsweep.json("subset-sum", "t.csv", "--target", "20")["items"] == [20]
    assert upsweep.json("reduce", "t.csv:10.00")["value"] == "20.00"


def test_csv_with_names_like_numbers(upsweep, arrow):
    for name in ("x1", "1st", "2001-12-31", "€", "1.2.3"):
        upsweep.write("t.csv", f"{name}\n1\n2\n")
        assert upsweep.json("subset-sum", "t.csv", "--target", "3")["items"] == [1, 2]
    upsweep.write("t.csv", "x,2024\n1,a\n2,b\n")  # only the items' column is checked
    assert upsweep.json("subset-sum", "t.csv:x", "--target", "3", "--id", "2024")["ids"] == ["a", "b"]


# ----------------------------------------------------------------------------------------------- plans and long answers


def test_explain_of_a_list(upsweep):
    upsweep.write("in.txt", lines([5, 7, 9, 5]))
    ask = ["subset-sum", "in.txt", "--target", "14", "--all", "3", "--explain"]
    result = upsweep.json(*ask)
    assert result["plan"]["rung"] == result["rung"] and len(result["plan"]["ways"]) == 2
    assert [one["indices"] for one in result["solutions"]] == [[0, 2], [2, 3]]
    text = upsweep.text(*ask)
    assert "chosen: " + result["rung"] in text and "first: likely" not in text


def test_explain_tells_what_is_tried_first(upsweep):
    numbers = random.Random(3)
    upsweep.write("in.txt", lines([numbers.randrange(1, 10**7) for _ in range(1000)]))
    ask = ["subset-sum", "in.txt", "--target", "1000000", "--explain", "--decide"]
    assert not upsweep.json(*ask, "--no-early-stop")["plan"]["tries_likely"]
    ask[3] = "1000000000"
    assert upsweep.json(*ask)["plan"]["tries_likely"]
    assert "first: likely solutions" in upsweep.text(*ask)


def test_explain_of_a_named_rung(upsweep):
    upsweep.write("in.txt", lines([5, 7, 9, 5]))
    plan = upsweep.json("subset-sum", "in.txt", "--target", "14", "--explain", "--rung", "cpu.table")["plan"]
    assert plan["rung"] == "cpu.table" and "cpu.table" in [way["rung"] for way in plan["ways"]]


def test_explain_where_nothing_is_left(upsweep):
    upsweep.write("in.txt", lines([500, 700, 900, 5000]))
    text = upsweep.text("subset-sum", "in.txt", "--target", "1450", "--explain")
    assert "1 item is larger" in text and "nothing is left to search for" in text and "ways" not in text
    assert text.endswith("no: no subset of the 4 items adds up to 1450\n")


def test_items_beyond_64_bits_are_told_in_their_unit(upsweep):
    upsweep.write("in.txt", lines(["60000000000000000.00", "60000000000000000.01"]))
    for more in ([], ["--explain"]):
        error = upsweep.fails("overflow", "subset-sum", "in.txt", "--target", "70000000000000000", *more, index=None)
        for word in ("in.txt: ", "92233720368547758.07", "60000000000000000.01 at position 1"):
            assert word in error["message"], error


def test_many_solutions(upsweep):
    upsweep.write("in.txt", lines(range(1, 41)))
    ask = ["subset-sum", "in.txt", "--target", "300", "--all", "20000"]
    solutions = upsweep.json(*ask)["solutions"]
    assert len(solutions) == 20000
    assert all(sum(one["items"]) == 300 and one["indices"] == sorted(set(one["indices"])) for one in solutions)
    assert [one["indices"] for one in solutions] == sorted(one["indices"] for one in solutions)
    text = upsweep.text(*ask)
    assert text.count("\nsolution ") == 20000 and text.endswith("\n")
    assert upsweep.json("subset-sum", "in.txt", "--target", "900", "--all", "2")["solutions"] == []


def test_a_list_has_no_early_stop(upsweep):
    upsweep.write("in.txt", lines([1, 2]))
    upsweep.fails("invalid_argument", "subset-sum", "in.txt", "--target", "3", "--all", "1", "--no-early-stop")


# ------------------------------------------------------------------------------------------------------------ -o FILE


def rows_of(upsweep, name):
    """Returns the names of columns and the rows of a file that `query` reads."""
    answer = upsweep.json("query", f"SELECT * FROM '{name}'")
    return answer["columns"], answer["rows"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_items_as_a_table(upsweep, arrow, ending):
    upsweep.write("in.csv", "bill,price\n007,1.55\nx,2.05\n,3.45\ny,7.05\n")
    args = ["subset-sum", "in.csv:price", "--id", "bill", "-o", f"out.{ending}"]
    result = upsweep.json(*args, "--target", "5.00")
    assert (result["reachable"], result["sum"], result["count"], result["output"]) == (True, "5.00", 2, f"out.{ending}")
    assert not {"items", "indices", "ids", "solutions"} & set(result), result
    assert rows_of(upsweep, f"out.{ending}") == (["position", "item", "bill"], [[0, "1.55", "007"], [2, "3.45", None]])
    result = upsweep.json(*args, "--target", "7.05", "--all", "9")
    assert result["count"] == 4, result
    columns = ["solution", "position", "item", "bill"]
    rows = [[1, 0, "1.55", "007"], [1, 1, "2.05", "x"], [1, 2, "3.45", None], [2, 3, "7.05", "y"]]
    assert rows_of(upsweep, f"out.{ending}") == (columns, rows)
    assert upsweep.json(*args, "--target", "0.25")["reachable"] is False
    assert rows_of(upsweep, f"out.{ending}")[1] == []


def test_items_as_text_and_npy(upsweep):
    upsweep.write("in.txt", "5\n6\n7\n")
    args = ["subset-sum", "in.txt", "--target", "12"]
    assert upsweep.ok(*args, "-o", "out.csv") == b"yes: 2 of 3 items add up to 12\noutput out.csv\n"
    assert (upsweep.folder / "out.csv").read_text() == "position,item\n0,5\n2,7\n"
    assert upsweep.ok(*args, "-o", "out.csv", "--quiet") == b""
    assert upsweep.ok(*args, "-o", "-") == b"0\t5\n2\t7\n"
    assert upsweep.ok(*args, "--format", "csv") == b"position,item\n0,5\n2,7\n"
    assert json.loads(upsweep.ok(*args, "--format", "json")) == [{"position": 0, "item": 5}, {"position": 2, "item": 7}]
    upsweep.ok(*args, "-o", "out.npy")
    assert np.load(upsweep.folder / "out.npy").tolist() == [0, 2]
    upsweep.ok("subset-sum", "in.txt", "--target", "4", "-o", "out.npy")
    assert np.load(upsweep.folder / "out.npy").tolist() == []
    assert upsweep.ok("subset-sum", "in.txt", "--target", "0", "--all", "2", "-o", "-") == b""


def test_many_solutions_as_a_table(upsweep):
    upsweep.write("in.txt", "1\n" * 16)
    upsweep.ok("subset-sum", "in.txt", "--target", "8", "--all", "20000", "-o", "out.csv")
    rows = [tuple(map(int, row.split(","))) for row in (upsweep.folder / "out.csv").read_text().split()[1:]]
    wanted = [(k + 1, i, 1) for k, one in enumerate(itertools.combinations(range(16), 8)) for i in one]
    assert len(rows) > 1 << 16 and rows == wanted


@pytest.mark.parametrize(
    "options, reported",
    [
        (["-o", "out.csv", "--decide"], "--decide finds no items"),
        (["-o", "out.txt"], "out.txt"),
        (["-o", "out.npy", "--all", "3"], "omit --all"),
        (["-o", "-", "--json"], "choose one"),
        (["-o", "-", "--explain"], "-o FILE"),
        (["-o", "missing/out.csv"], "missing"),
        (["--format", "xml"], "--format"),
    ],
)
def test_tables_that_are_refused(upsweep, options, reported):
    upsweep.write("in.txt", "5\n6\n")
    done = upsweep.run("subset-sum", "in.txt", "--target", "5", *options)
    assert done.returncode in (2, 3) and reported in (done.stdout + done.stderr).decode(), done
    assert not list(upsweep.folder.glob("out*"))


@pytest.mark.parametrize(
    "content, options",
    [
        ("bill;price\n7;1.234,50\n8;0,75\n9;2,00\n", []),
        ("bill;price\n7;1234,50\n8;0,75\n9;2,00\n", []),
        ("bill,price\n7,'1''234.50'\n8,0.75\n9,2\n", ["--thousands", "'", "--quote", "'"]),
        ('bill,price\n7,"1,234.50"\n8,0.75\n9,2\n', []),
        ('7,"1,234.50"\n8,0.75\n9,2\n', ["--header", "no"]),
        ('bill,price\n7,"1234,5"\n8,"0,75"\n9,2\n', ["--decimal", ","]),
    ],
)
def test_other_forms_of_numbers(upsweep, arrow, content, options):
    upsweep.write("t.csv", content)
    item, label = ("price", "bill") if content.startswith("bill") else ("column1", "column0")
    result = upsweep.json("subset-sum", f"t.csv:{item}", "--target", "1235.25", "--id", label, *options)
    assert (result["indices"], result["ids"], result["items"]) == ([0, 1], ["7", "8"], ["1234.50", "0.75"])
