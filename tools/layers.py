#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tools/layers.py: the table of the folders of src/ that each folder may include, and a check of every #include.
"""python3 tools/layers.py checks all files of src/; with --markdown it prints the table, which CONTRIBUTING.md shows."""

import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"
GUIDE = SRC.parent / "CONTRIBUTING.md"

# Each folder, its purpose, and the folders that it may include besides itself and the headers of include/upsweep/.
# A folder follows those that it may include, so that no two folders can include each other.
LAYERS = {
    "system": ("cores, quotas, threads, memory, hashing, temporary files", ()),
    "core": ("contracts: errors, rung, ladder, argument checks", ("system",)),
    "cpu": ("thread pool, work partition, schedules, SIMD kernels", ("core", "system")),
    "cuda": ("launch, memory, code compiled at run time, work partition, block primitives", ("core", "system")),
    "climb": (
        "what a problem is, the climber and its clock, generated data, guests, the machine",
        ("cuda", "cpu", "core", "system"),
    ),
    "problems": ("one folder per problem: its ladder, rungs and reference", ("climb", "cuda", "cpu", "core", "system")),
    "api": ("`dynamic.hpp` and `upsweep.h`: the API by types known at run time, and in C", ("cpu", "core", "system")),
    "plan": ("typed list programs: `upsweep::plan`", ("cuda", "cpu", "core", "system")),
    "scale": (
        "arrays in host memory through a GPU, and arrays across the GPUs of a host",
        ("api", "cuda", "cpu", "core", "system"),
    ),
    "sql": ("expressions, and queries over tables: `upsweep::query`", ("scale", "cuda", "cpu", "core", "system")),
    "io": ("tables from files, `upsweep::io`; the only folder that includes Arrow C++", ("cpu", "core", "system")),
    "awkward": ("Awkward Array's kernels by their C names: `upsweep::awkward`", ("cpu", "system")),
}

# Inside these folders each subfolder with files includes only itself, files of the folder, and the subfolders listed
# here.
APART = {
    "problems": {},
    "sql": {"sql/query": ("sql/expression",)},
    "scale": {},
}


def room_of(path: str) -> str:
    """The subfolder of `path`, relative to src/, if its folder is in APART; otherwise the folder."""
    folders = path.split("/")[:-1]
    return "/".join(folders) if len(folders) > 1 and folders[0] in APART else folders[0]


def wrong_includes() -> list[str]:
    """Each #include of a file in src/ that LAYERS and APART do not allow, as `file:line: why`."""
    wrong = []
    for file in sorted(SRC.rglob("*")):
        if file.suffix not in {".cpp", ".hpp", ".cu", ".cuh", ".h"}:
            continue
        here = file.relative_to(SRC).as_posix()
        folder = here.split("/")[0]
        if folder not in LAYERS:
            wrong.append(f"src/{here}:1: folder src/{folder} is not in the table of tools/layers.py")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            included = re.match(r'#include "([^"]+)"', line)
            if not included or not (SRC / included[1]).is_file():
                continue
            there = included[1].split("/")[0]
            room, other = room_of(here), room_of(included[1])
            if there != folder and there not in LAYERS[folder][1]:
                wrong.append(f"src/{here}:{number}: src/{folder} must not include src/{there}: {included[1]}")
            elif there == folder and other not in (room, folder) and other not in APART[folder].get(room, ()):
                wrong.append(f"src/{here}:{number}: src/{room} must not include src/{other}: {included[1]}")
    return wrong


def wrong_order() -> list[str]:
    """Each folder that LAYERS lists before a folder that it may include."""
    order = list(LAYERS)
    return [
        f"tools/layers.py: {folder} must follow {other}, which it may include"
        for folder, (_, allowed) in LAYERS.items()
        for other in allowed
        if order.index(other) > order.index(folder)
    ]


def markdown() -> str:
    """The table as CONTRIBUTING.md shows it."""
    rows = ["| folder of `src/` | purpose | may include |", "|--|--|--|"]
    for folder, (purpose, allowed) in LAYERS.items():
        rows.append(f"| `{folder}/` | {purpose} | {', '.join(allowed) or 'the API only'} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    if sys.argv[1:] == ["--markdown"]:
        sys.stdout.write(markdown())
        return 0
    wrong = wrong_order() + wrong_includes()
    if markdown() not in GUIDE.read_text():
        wrong.append(f"{GUIDE.name}: lacks the table that `python3 tools/layers.py --markdown` prints")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
