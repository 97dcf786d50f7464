# SPDX-License-Identifier: Apache-2.0
# tests/consume/programs.py: SOURCE_DIR OUT.cpp EXPECTED — the programs that open the chapters of the guide, as one
# program, and the output that their comments promise.
import pathlib
import re
import sys

source, out, expected = map(pathlib.Path, sys.argv[1:])
includes: set[str] = set()
bodies: list[str] = []
promised: list[str] = []
chapters = sorted((source / "docs" / "guide" / "problems").glob("*.md"))
for chapter in chapters:
    programs = [block for block in re.findall(r"```cpp\n(.*?)```", chapter.read_text(), re.DOTALL) if "int main() {" in block]
    if not programs:
        sys.exit(f"{chapter}: no program")
    for program in programs:
        lines = program.splitlines()
        includes.update(line for line in lines if line.startswith("#include"))
        name = f"{chapter.stem}_{len(bodies)}"
        code = "\n".join(line for line in lines if not line.startswith("#include")).replace("int main()", "void run()")
        bodies.append(f"namespace {name} {{\n{code}\n}}\n")
        # `std::cout << …;  // 3 4 8`; also `// 1 + 2 = 3` and `// 3 4, with …`
        shown = [line.split("//", 1)[1] for line in lines if "std::cout" in line and "//" in line]
        if len(shown) != 1:
            sys.exit(f"{chapter}: not one line that prints, with the output as a comment")
        promised.append(f"{name}: {shown[0].partition(',')[0].rpartition('= ')[2].strip()}")

calls = "".join(
    f'  std::cout << "{line.split(":")[0]}: ";\n  {line.split(":")[0]}::run();\n  std::cout << "\\n";\n' for line in promised
)
out.write_text("\n".join(sorted(includes)) + "\n" + "".join(bodies) + f"int main() {{\n{calls}}}\n")
expected.write_text("\n".join(promised) + "\n")
