# SPDX-License-Identifier: Apache-2.0
# bench/subset_sum_peers.py: times subset sums by upsweep, int, NumPy, CP-SAT and HiGHS, in turn, verified.
"""Compares upsweep with the choices of a Python user. Prints tables of median seconds; --output writes every figure as JSON.

Needs numpy. CP-SAT and HiGHS are omitted if they are missing (pip install numpy ortools scipy). Python code is timed within
this process, without imports. The time of upsweep is the one in its JSON. --output also contains wall_s, the time of the
whole process. A contender that took --once seconds or more does not run again in later rounds.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

try:
    import ortools
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None
try:
    import scipy
    from scipy.optimize import Bounds, LinearConstraint, milp
except ImportError:
    milp = None

SEED, LARGEST = 12, 10_000_000  # of the ladder's generated items
SMALL = {"n": 10, "target": 25_000_000}
DENSE = {"n": 1_000, "target": 1_000_000_000}
STEPS = 10  # the number of dense items that are timed in Python
EXACT = {"bits": 40, "n": 40}  # a MIP solver adds doubles


def mt19937_64(seed):
    """The numbers of std::mt19937_64."""
    n, m, low, ones = 312, 156, (1 << 31) - 1, (1 << 64) - 1
    state = [seed]
    for i in range(1, n):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & ones)
    while True:
        for i in range(n):
            x = state[i] & ~low | state[(i + 1) % n] & low
            state[i] = state[(i + m) % n] ^ x >> 1 ^ (0xB5026F5AA96619E9 if x & 1 else 0)
        for x in state:
            x ^= x >> 29 & 0x5555555555555555
            x ^= x << 17 & 0x71D67FFFEDA60000
            x ^= x << 37 & 0xFFF7EEE000000000
            yield x ^ x >> 43


def made(n, largest, seed):
    numbers = mt19937_64(seed)
    return [1 + next(numbers) % largest for _ in range(n)], numbers


def timed(run):
    begin = time.perf_counter()
    result = run()
    return time.perf_counter() - begin, result


def upsweep(options, *arguments):
    """Returns its JSON, with wall_s. Tries again if another build is just replacing the program."""
    command = [f"{options.build}/bin/upsweep", *arguments, "--json", "--quiet", "--threads", str(options.threads), "--device", "cpu"]
    for attempt in range(12):
        try:
            took, done = timed(lambda: subprocess.run(command, capture_output=True, text=True))
        except OSError as error:
            why = error
        else:
            if done.returncode >= 0 and done.stdout.startswith("{"):
                answer = json.loads(done.stdout)
                assert "error" not in answer, (command, answer)
                return answer | {"wall_s": took}
            why = (done.returncode, done.stderr[-500:])
        print(f"  attempt {attempt + 1}: {why}; again in 5 s", flush=True)
        time.sleep(5)
    raise SystemExit(f"no answer from {command}")


# --------------------------------------------------------------------------------------------------- every sum up to S


def add_item(bits, item, mask):
    return (bits | bits << item) & mask


def int_bitset(items, target):
    bits, mask = 1, (1 << target + 1) - 1
    for item in items:
        bits = add_item(bits, item, mask)
    return bits


def byte_table(items, target):
    reached = np.zeros(target + 1, dtype=np.bool_)
    reached[0] = True
    for item in items:
        reached[item:] |= reached[: target + 1 - item]  # NumPy copies overlapping memory
    return reached


def enumerated(items, target):
    sums = {0}
    for item in items:
        sums |= {s + item for s in sums}
    return sorted(s for s in sums if s <= target)


def holds(data, k):
    return data[k >> 3] >> (k & 7) & 1


def check_bitset(bits, expected, target):
    data = bits.to_bytes(target // 8 + 1, "little")
    assert bits.bit_count() == len(expected) and all(holds(data, s) for s in expected)


def dense_steps(items, target, check):
    """Adds ten of the items, evenly spread, to a bitset of the length at that point. Returns the seconds for all items."""
    mask = (1 << target + 1) - 1
    noise = int.from_bytes(np.random.default_rng(SEED).bytes(target // 8 + 1), "little") & mask
    every = len(items) // STEPS
    total = 0.0
    for i in range(every // 2, len(items), every):
        length = min(sum(items[:i]), target) + 1
        bits = noise >> target + 1 - length | 1
        took, after = timed(lambda: add_item(bits, items[i], mask))
        total += took
        if check:
            old, new = (b.to_bytes(target // 8 + 1, "little") for b in (bits, after))
            sample = np.random.default_rng(i).integers(0, target + 1, 2_000).tolist()
            assert all(holds(new, k) == (holds(old, k) | (k >= items[i] and holds(old, k - items[i]))) for k in sample)
    return total * len(items) / STEPS


def climb(options, instance, items):
    """Returns the median seconds of the rungs that fill every sum. First checks the ladder's seed and largest item."""
    answer = upsweep(options, "ladder", "subset-sum", "--sizes", str(instance["n"]), "--target", str(instance["target"]))
    for row in answer["rows"]:
        assert (row["seed"], row["largest"], row["target"]) == (SEED, max(items), instance["target"]), row
        assert row["status"] != "failed", row
    return {row["rung"]: row["median_s"] for row in answer["rows"] if row["status"] == "verified" and row["sums_per_s"]}


# -------------------------------------------------------------------------------------------------------- one target


def instances(options):
    for bits in options.bits:
        for n in options.items:
            items, numbers = made(n, 1 << bits, 100 * n + bits)
            assert sum(items) < 1 << 63
            keys = [next(numbers) for _ in items]
            half = sorted(range(n), key=keys.__getitem__)[: n // 2]
            for more in (0, 1):
                yield {"n": n, "bits": bits, "more": more, "items": items, "target": sum(items[i] for i in half) + more}


def by_lists(items, target):
    """Meets in the middle: sorts the sums of both halves and searches for each in the other half. Returns indices, or None."""

    def sums(some):
        found = np.zeros(1, dtype=np.int64)
        for item in some:
            found = np.concatenate([found, found + item])
        return found

    middle = len(items) // 2
    left, right = sums(items[:middle]), sums(items[middle:])
    wanted, there = np.sort(target - left), np.sort(right)
    at = np.searchsorted(there, wanted)
    hits = np.flatnonzero(there[np.minimum(at, len(there) - 1)] == wanted)
    if len(hits) == 0:
        return None
    value = wanted[hits[0]]
    subset = int(np.argmax(left == target - value)) | int(np.argmax(right == value)) << middle
    return [i for i in range(len(items)) if subset >> i & 1]


def by_cp_sat(items, target, limit, threads):
    model = cp_model.CpModel()
    taken = [model.new_bool_var("") for _ in items]
    model.add(cp_model.LinearExpr.weighted_sum(taken, items) == target)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit
    solver.parameters.num_workers = threads
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return [i for i, x in enumerate(taken) if solver.value(x)]
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.UNKNOWN, solver.status_name(status)
    return "limit"


@contextlib.contextmanager
def without_stdout():
    """Suppresses standard output: HiGHS prints a line or two even with its option for silence."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def by_highs(items, target, limit):
    with without_stdout():
        found = milp(
            np.zeros(len(items)), integrality=np.ones(len(items)), bounds=Bounds(0, 1),
            constraints=LinearConstraint(np.array([items], dtype=float), target, target), options={"time_limit": limit},
        )
    if found.x is not None:
        return [i for i, x in enumerate(found.x) if x > 0.5]
    return None if found.status == 2 else "limit" if found.status == 1 else "gave up"


def verdict(instance, found):
    """Returns yes (after adding again), no, wrong sum, or the reason for no answer."""
    if found is None or isinstance(found, str):
        return found or "no"
    right = len(set(found)) == len(found) and sum(instance["items"][i] for i in found) == instance["target"]
    return "yes" if right else "wrong sum"


def solve(options, engine, instance, path):
    items, target = instance["items"], instance["target"]
    if engine == "upsweep":
        answer = upsweep(options, "subset-sum", "--target", str(target), path)
        assert not answer["reachable"] or [items[i] for i in answer["indices"]] == answer["items"]
        instance["rung"] = answer["rung"]
        instance.setdefault("wall_s", []).append(answer["wall_s"])
        return answer["seconds"], answer["indices"] if answer["reachable"] else None
    if engine == "lists":
        return timed(lambda: by_lists(items, target))
    if engine == "cp_sat":
        return timed(lambda: by_cp_sat(items, target, options.limit, options.threads))
    return timed(lambda: by_highs(items, target, options.limit))


def takes(engine, instance):
    exact = instance["bits"] <= EXACT["bits"] and instance["n"] <= EXACT["n"]
    return {"cp_sat": cp_model is not None, "highs": milp is not None and exact}.get(engine, True)


# ---------------------------------------------------------------------------------------------------------- the tables


def short(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"


def cell(engine, instance):
    if engine not in instance["samples"]:
        return "-"
    wrong = set(instance["answers"][engine]) - {instance["answer"]}
    if wrong and wrong <= {"limit", "gave up"}:
        return wrong.pop()
    return short(statistics.median(instance["samples"][engine])) + (" WRONG" if wrong else "")


def print_fills(fills):
    names = {"int": "Python int, bits |= bits << item", "numpy": "NumPy, a table of bytes"}
    print(f"{'fills every sum up to S':38}{'n = 10, S = 2.5e7':>19}{'n = 1000, S = 1e9':>19}")
    engines = list(dict.fromkeys(engine for which in fills.values() for engine in which))
    for engine in engines:
        line = f"{names.get(engine, 'upsweep, ' + engine if engine.startswith('cpu.') else 'C++, ' + engine):38}"
        for which in ("small", "dense"):
            samples = fills.get(which, {}).get(engine)
            scaled = "*" if which == "dense" and engine in ("int", "std::bitset") else " "
            line += f"{short(statistics.median(samples)) + scaled if samples else '- ':>19}"
        print(line.rstrip())
    print("* by ten of the items, scaled")


def print_solved(solved, limit):
    print(f"\nis target T a sum, and of which items (at most {limit:g} s; +1: T is one more than a sum)")
    print(f"{'n':>3}{'bits':>5}{'T':>4} {'answer':7}{'upsweep':>9}{'NumPy lists':>12}{'CP-SAT':>11}{'HiGHS':>13}")
    for row in solved:
        line = f"{row['n']:3}{row['bits']:5}{'+1' if row['more'] else '':>4} {row['answer']:7}"
        print(line + "".join(f"{cell(e, row):>{w}}" for e, w in (("upsweep", 9), ("lists", 12), ("cp_sat", 11), ("highs", 13))))
    print("- left out; HiGHS only where doubles are exact: 40 bits, n up to 40")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--dense-rounds", type=int, default=1, help="run the dense ladder this number of times, two minutes each")
    arguments.add_argument("--limit", type=float, default=60, help="stop CP-SAT and HiGHS after these seconds for each instance")
    arguments.add_argument("--once", type=float, default=2)
    arguments.add_argument("--items", type=int, nargs="*", default=[20, 30, 40, 44, 50])
    arguments.add_argument("--bits", type=int, nargs="*", default=[40, 57])
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--output", type=pathlib.Path)
    options = arguments.parse_args()

    check = mt19937_64(5489)
    assert [next(check) for _ in range(10_000)][-1] == 9981545732273789042  # as the C++ standard specifies
    small, dense = (made(which["n"], LARGEST, SEED)[0] for which in (SMALL, DENSE))
    expected = enumerated(small, SMALL["target"])
    fills = {"small": {}, "dense": {}}
    solved = list(instances(options))

    def note(which, engine, seconds):
        fills[which].setdefault(engine, []).append(seconds)

    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.rounds):
            for rung, seconds in climb(options, SMALL, small).items():
                note("small", rung, seconds)
            took, bits = timed(lambda: int_bitset(small, SMALL["target"]))
            note("small", "int", took)
            check_bitset(bits, expected, SMALL["target"])
            took, table = timed(lambda: byte_table(small, SMALL["target"]))
            note("small", "numpy", took)
            assert np.flatnonzero(table).tolist() == expected
            del bits, table
            if turn < options.dense_rounds:
                for rung, seconds in climb(options, DENSE, dense).items():
                    note("dense", rung, seconds)
                note("dense", "int", dense_steps(dense, DENSE["target"], turn == 0))
            for k, instance in enumerate(solved):
                path = os.path.join(folder, f"{k}.txt")
                pathlib.Path(path).write_text("\n".join(map(str, instance["items"])) + "\n")
                samples, answers = instance.setdefault("samples", {}), instance.setdefault("answers", {})
                for engine in ("upsweep", "lists", "cp_sat", "highs"):
                    if not takes(engine, instance) or max(samples.get(engine, [0])) >= options.once:
                        continue
                    seconds, found = solve(options, engine, instance, path)
                    samples.setdefault(engine, []).append(seconds)
                    answers.setdefault(engine, []).append(verdict(instance, found))
                # A yes was added up again. For a no, the two exhaustive methods must agree.
                instance["answer"] = answers["lists"][0]
                assert {*answers["upsweep"], *answers["lists"]} == {instance["answer"]}, instance
                assert instance["answer"] == "yes" or instance["answer"] == "no" and instance["more"], instance
            print(f"  round {turn + 1} of {options.rounds} done", flush=True)

    versions = {"numpy": np.__version__}
    versions["ortools"] = ortools.__version__ if cp_model else "not installed, left out"
    versions["scipy"] = scipy.__version__ if milp else "not installed, left out"
    print(f"{options.threads} threads, median of {options.rounds} (dense: {options.dense_rounds}); " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    print_fills(fills)
    print_solved(solved, options.limit)
    if options.output:
        figures = {"threads": options.threads, "rounds": options.rounds, "limit_s": options.limit, "versions": versions}
        scaled = {"dense": {"int": f"{STEPS} of the items, scaled", "std::bitset": "10 of the items, scaled"}}
        figures |= {"fills_s": fills, "scaled": scaled, "solved": solved}
        options.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
