#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tools/rung_tables.py: makes the lists of problems and rungs in READMEs and the guide, from the declarations of the
# library.
"""Fills the space between `<!-- NAME:begin -->` and `<!-- NAME:end -->`:

    rungs       in a problem's README, `rungs:begin cpu|cuda (LEGEND)`: its rungs
    problems    in src/problems/README.md: the problems of each group, and their rungs
    chapters    in docs/index.md: the chapters of the guide
    links       in docs/guide/index.md: links to them, with what each problem computes
    operations  in docs/guide/roofline.md: the operations of each problem, as the report counts them

Needs the built Python packages, as `make docs` does. With --check nothing is written: exit status 1 if a file differs.
"""

import itertools
import pathlib
import re
import sys

import upsweep
from upsweep_report.problems import PROBLEMS as REPORTED

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "src" / "problems"
MARKED = re.compile(r"(<!-- (\w+):begin(?: (\w+) \((.*?)\))? -->\n)(.*?)(<!-- \2:end -->)", re.DOTALL)
GROUPS = {"dense": "arrays", "lists": "ragged arrays", "keys": "equal keys", "subset_sum": "items that add up to a target"}


def ladders() -> dict[str, list[dict]]:
    """The rungs of each problem in order, by the name of its folder."""
    by_problem = itertools.groupby(upsweep.ladder(), lambda rung: rung["problem"])
    return {problem.replace("-", "_"): list(rungs) for problem, rungs in by_problem}


def folder_of(problem: str) -> pathlib.Path:
    found = [path for path in PROBLEMS.glob("**/") if path.name == problem]
    if len(found) != 1:
        places = ", ".join(str(path.relative_to(ROOT)) for path in found) or "there is none"
        sys.exit(f"rung_tables: the problem {problem} needs one folder of its name under src/problems/: {places}")
    return found[0]


def table(heads: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [heads, *rows]).replace("\n", f"\n|{'--|' * len(heads)}\n", 1)


def of_backend(rungs: list[dict], backend: str, legend: str) -> str:
    """A problem's rungs of one backend: idea, traffic, cost, limit."""
    shown = [rung for rung in rungs if rung["rung"].startswith(f"{backend}.")]
    return table(
        ["rung", "idea", "memory traffic", f"work, depth ({legend})", "what stops it"],
        [[f"`{rung['rung']}`", *(rung[field] for field in ("idea", "traffic", "cost", "limit"))] for rung in shown],
    )


def title_of(problem: str) -> str:
    return (folder_of(problem) / "README.md").read_text().partition("\n")[0].partition(": ")[2]


def of_groups(found: dict[str, list[dict]]) -> str:
    """Every ladder, group by group: its problem, what it computes, and the names of its rungs by backend."""
    places = {problem: folder_of(problem).relative_to(PROBLEMS) for problem in found}
    rows = []
    for group, what in GROUPS.items():
        for problem, path in places.items():
            if path.parts[0] == group:
                names = [
                    ", ".join(rung["rung"].partition(".")[2] for rung in found[problem] if rung["rung"].startswith(backend))
                    for backend in ("cpu.", "cuda.")
                ]
                rows.append([f"`{group}/`: {what}", f"[{problem}]({path}/README.md)", title_of(problem), *names])
    return table(["folder", "problem", "what it computes", "rungs `cpu.`…", "rungs `cuda.`…"], rows)


def chapters(found: dict[str, list[dict]]) -> str:
    pages = "".join(f"guide/problems/{problem}\n" for problem in found)
    return f"```{{toctree}}\n:caption: A chapter per problem\n:maxdepth: 1\n\n{pages}```\n"


def links(found: dict[str, list[dict]]) -> str:
    return "".join(f"- [{problem}](problems/{problem}.md): {title_of(problem)}\n" for problem in found)


def operations(found: dict[str, list[dict]]) -> str:
    names = [problem.replace("_", "-") for problem in found]
    missing = [name for name in names if name not in REPORTED]
    if missing:
        sys.exit(
            f"rung_tables: upsweep_report/problems.py does not say what operations these problems take: {', '.join(missing)}"
        )
    rows = [[f"`{name}`", REPORTED[name].work.what, REPORTED[name].work.for_each_byte] for name in names]
    return table(["problem", "operations", "for each byte"], rows)


LISTS = {  # by page, then by the name of its mark
    PROBLEMS / "README.md": {"problems": of_groups},
    ROOT / "docs/index.md": {"chapters": chapters},
    ROOT / "docs/guide/index.md": {"links": links},
    ROOT / "docs/guide/roofline.md": {"operations": operations},
}


def filled_in(path: pathlib.Path, found: dict[str, list[dict]]) -> str:
    lists = LISTS.get(path, {})

    def fill(mark: re.Match) -> str:
        begin, name, backend, legend, _, end = mark.groups()
        rows = of_backend(found[path.parent.name], backend, legend) if backend else lists[name](found)
        return f"{begin}\n{rows}\n{end}"

    text = path.read_text()
    needed = set(lists) or {rung["rung"].partition(".")[0] for rung in found[path.parent.name]}
    missing = needed - {mark[3] or mark[2] for mark in MARKED.finditer(text)}
    if missing:
        sys.exit(f"rung_tables: {path.relative_to(ROOT)} has no place for its {', '.join(sorted(missing))}")
    return MARKED.sub(fill, text)


def main() -> None:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: rung_tables.py [--check]")
    found = ladders()
    pages = [folder_of(problem) / "README.md" for problem in found]
    made = {page: filled_in(page, found) for page in [*pages, *LISTS]}
    stale = [page for page, text in made.items() if page.read_text() != text]
    if sys.argv[1:] == ["--check"] and stale:
        names = ", ".join(str(page.relative_to(ROOT)) for page in stale)
        sys.exit(f"rung_tables: not what is declared: {names}; run tools/rung_tables.py")
    for page in stale:
        page.write_text(made[page])


if __name__ == "__main__":
    main()
