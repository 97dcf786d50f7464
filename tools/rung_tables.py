#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tools/rung_tables.py: makes the tables of rungs in README.md and in the READMEs of src/problems/, from the rungs' own rows.
"""Fills the space between `<!-- rungs:begin cpu|cuda (LEGEND) -->` and `<!-- rungs:end -->`, in README.md the table of all ladders.

Needs the Python package that was built, as `make docs` does. With --check nothing is written: exit status 1 if a file differs.
"""

import itertools
import pathlib
import re
import sys

import upsweep

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "src" / "problems"
MARKED = re.compile(r"(<!-- rungs:begin(?: (\w+) \((.*?)\))? -->\n)(.*?)(<!-- rungs:end -->)", re.DOTALL)


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


def of_all(found: dict[str, list[dict]]) -> str:
    """Every ladder: its problem, what that computes, and the names of its rungs by backend."""
    rows = []
    for problem, rungs in found.items():
        folder = folder_of(problem)
        title = (folder / "README.md").read_text().partition("\n")[0].partition(": ")[2]
        names = [
            ", ".join(rung["rung"].partition(".")[2] for rung in rungs if rung["rung"].startswith(backend))
            for backend in ("cpu.", "cuda.")
        ]
        rows.append([f"[{problem}]({folder.relative_to(ROOT)}/README.md)", title, *names])
    return table(["problem", "what it computes", "rungs `cpu.`…", "rungs `cuda.`…"], rows)


def filled_in(path: pathlib.Path, found: dict[str, list[dict]]) -> str:
    def fill(mark: re.Match) -> str:
        begin, backend, legend, _, end = mark.groups()
        rows = of_backend(found[path.parent.name], backend, legend) if backend else of_all(found)
        return f"{begin}\n{rows}\n{end}"

    text = path.read_text()
    rungs = [] if path.parent == ROOT else found[path.parent.name]
    backends = {rung["rung"].partition(".")[0] for rung in rungs} or {None}
    missing = backends - {mark[2] for mark in MARKED.finditer(text)}
    if missing:
        which = "" if missing == {None} else f" `{', '.join(sorted(missing))}`"
        sys.exit(f"rung_tables: {path.relative_to(ROOT)} has no place for its rungs{which}")
    return MARKED.sub(fill, text)


def main() -> None:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: rung_tables.py [--check]")
    found = ladders()
    pages = [folder_of(problem) / "README.md" for problem in found]
    made = {page: filled_in(page, found) for page in [*pages, ROOT / "README.md"]}
    stale = [page for page, text in made.items() if page.read_text() != text]
    if sys.argv[1:] == ["--check"] and stale:
        names = ", ".join(str(page.relative_to(ROOT)) for page in stale)
        sys.exit(f"rung_tables: not what the rungs say: {names}; run tools/rung_tables.py")
    for page in stale:
        page.write_text(made[page])


if __name__ == "__main__":
    main()
