# SPDX-License-Identifier: Apache-2.0
# tests/consume/programs.py: SOURCE_DIR PROGRAMS.cpp EXPECTED EXCERPTS.cpp — the programs of docs/ as one program, and
# the output that the pages promise. Other C++ code of these pages is written to EXCERPTS.cpp, which must compile.
import pathlib
import re
import sys

source, programs, expected, excerpts = map(pathlib.Path, sys.argv[1:])
docs = source / "docs"
# These headers need CUDA, MPI or NCCL.
NOT_HERE = re.compile(r"#include <(cuda_runtime\.h|upsweep/mpi\.hpp|upsweep/nccl\.hpp)>")


def blocks(page: pathlib.Path) -> list[tuple[str, str]]:
    """Returns the C++ of a page, each with the session after it, or an empty string."""
    found = re.findall(r"^```cpp\n(.*?)^```\n+(?:```(?:console)?\n(\$ .*?)^```)?", page.read_text(), re.DOTALL | re.MULTILINE)
    return [(code, session) for code, session in found if not NOT_HERE.search(code)]


def promise(page: pathlib.Path, code: str, session: str) -> str:
    """Returns what a program prints: the session's output, or the comment of the one line that prints."""
    if "$ ./" in session:
        return " ".join(session.partition("$ ./")[2].partition("\n")[2].split())
    # `std::cout << …;  // 3 4 8`; also `// 1 + 2 = 3` and `// 3 4, with …`
    shown = [line.split("//", 1)[1] for line in code.splitlines() if re.search(r"std::(cout|printf).*//", line)]
    if len(shown) > 1 or (not shown and "return" not in code):
        sys.exit(f"{page}: a program needs one line that prints, with the output as a comment, or a session after it")
    return shown[0].partition(",")[0].rpartition("= ")[2].strip() if shown else ""


class Unit:
    """A file of C++ that is made of blocks, each in a namespace."""

    def __init__(self) -> None:
        self.includes: set[str] = set()
        self.bodies: list[str] = []

    def add(self, name: str, code: str) -> None:
        lines = code.splitlines()
        self.includes.update(line for line in lines if line.startswith("#include"))
        rest = "\n".join(line for line in lines if not line.startswith("#include"))
        self.bodies.append(f"namespace {name} {{\n{rest}\n}}\n")

    def text(self, end: str = "") -> str:
        return "\n".join(sorted(self.includes)) + "\n" + "".join(self.bodies) + end


run, compiled = Unit(), Unit()
calls: list[str] = []
promised: list[str] = []
chapters = sorted((docs / "guide" / "problems").glob("*.md"))
for page in [*chapters, docs / "start" / "cpp.md", *sorted((docs / "how-to").glob("*.md"))]:
    own = 0
    for code, session in blocks(page):
        if "int main()" not in code:
            compiled.add(f"{page.stem}_{len(compiled.bodies)}", code)
            continue
        own += 1
        name = f"{page.stem}_{len(run.bodies)}"
        end = "\n} catch" if "\n} catch" in code else "\n}"
        before, _, after = code.replace("int main()", "int run()").rpartition(end)
        run.add(name, f"{before}\n  return 0;{end}{after}")
        # A program that catches an error may return the error's status.
        call = f"{name}::run()" if "catch" in code else f'if ({name}::run() != 0) std::cout << "failed"'
        calls.append(f'  std::cout << "\\n@{name}: ";\n  {call};\n')
        promised.append(f"@{name}: {promise(page, code, session)}".strip())
    if page in chapters and not own:
        sys.exit(f"{page}: no program")

unbuffered = "  std::setvbuf(stdout, nullptr, _IONBF, 0);  // in order with standard error\n"
run.includes |= {"#include <cstdio>", "#include <iostream>"}
programs.write_text(run.text(f"int main() {{\n{unbuffered}{''.join(calls)}}}\n"))
expected.write_text("\n".join(promised) + "\n")
excerpts.write_text(compiled.text())
