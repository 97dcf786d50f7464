# SPDX-License-Identifier: Apache-2.0
# docs/header_comments.py: shows the comment at the start of a header as text that fits the width of the page.
"""A Sphinx extension with one directive:

    ```{header} ../../include/upsweep/scan.hpp    the comment between the license and `#pragma once`

Empty lines separate blocks. A block is one of:

- A list of terms: `// Shapes    in and out have n elements each`. All texts, also on later lines of a term, begin in one column.
- Paragraphs, and between them indented lines: a list of terms, a list with dashes, or formulas and code.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

TERM = re.compile(r"(\S+ ){0,2}\S+ {2,}(?=[^ /])")
END = "#pragma once"


def comment_of(header: str) -> list[str]:
    """Returns the lines of the comment, without the license and the header's path."""
    lines = header.partition(END)[0].splitlines()[1:]
    if not lines or not all(line.startswith("//") for line in lines):
        raise ValueError(f"needs a license and a comment of `//` lines before {END}")
    path, colon, first = lines[0].removeprefix("// ").partition(": ")
    if not colon or " " in path:
        raise ValueError(f"its comment must begin with `path: sentence`, not with {lines[0]!r}")
    return [first[0].upper() + first[1:], *(line.removeprefix("//").removeprefix(" ") for line in lines[1:])]


def inline(text: str) -> list[nodes.Node]:
    """Returns text with the names in backquotes as code."""
    parts = re.split(r"`([^`]+)`", re.sub(r"\s+", " ", text))
    return [nodes.literal(text=part) if i % 2 else nodes.Text(part) for i, part in enumerate(parts) if part]


def paragraph(lines: list[str]) -> nodes.paragraph:
    return nodes.paragraph("", "", *inline(" ".join(lines)))


def terms(lines: list[str]) -> tuple[nodes.definition_list, list[str]]:
    """Returns a list of terms, and the lines after it. The first line has a term."""
    column = TERM.match(lines[0]).end()

    def has_text(line: str) -> bool:
        term = line[:column].strip()
        return not term or (line[column - 1 : column] == " " and term.count(" ") <= 2)

    end = next((i for i, line in enumerate(lines) if not has_text(line)), len(lines))
    items: list[tuple[str, list[str]]] = []
    for line in lines[:end]:
        if term := line[:column].strip():
            items.append((term, []))
        items[-1][1].append(line[column:])
    made = [
        nodes.definition_list_item("", nodes.term("", "", *inline(term)), nodes.definition("", *text(of))) for term, of in items
    ]
    return nodes.definition_list("", *made, classes=["terms"]), lines[end:]


def dashes(lines: list[str]) -> nodes.bullet_list:
    items = re.split(r"(?:^|\n)- ", "\n".join(lines))[1:]
    return nodes.bullet_list("", *(nodes.list_item("", paragraph(item.split("\n"))) for item in items))


def has_terms(lines: list[str]) -> bool:
    """Whether indented lines are a list of terms: all texts begin in one column, and none is a row of values or a comment."""
    column = found.end() if (found := TERM.match(lines[0])) else 0
    with_term = [TERM.match(line) for line in lines if line[:column].strip()]
    return (
        bool(column)
        and all(each and each.end() == column for each in with_term)
        and not any("  " in line[column:] for line in lines)
    )


def indented(lines: list[str]) -> nodes.Node:
    """Returns indented lines as the list, or as the formulas and code, that they are."""
    least = min(len(line) - len(line.lstrip()) for line in lines)
    lines = [line[least:] for line in lines]
    if lines[0].startswith("- "):
        return dashes(lines)
    if has_terms(lines):
        return terms(lines)[0]
    return nodes.literal_block(text="\n".join(lines), language="cpp" if any(";" in line for line in lines) else "none")


def text(lines: list[str]) -> Iterator[nodes.Node]:
    """Yields the paragraphs of lines, and the indented lines between them."""
    while lines:
        is_indented = lines[0].startswith(" ")
        end = next((i for i, line in enumerate(lines) if line.startswith(" ") != is_indented), len(lines))
        yield indented(lines[:end]) if is_indented else paragraph(lines[:end])
        lines = lines[end:]


def content(comment: list[str]) -> Iterator[nodes.Node]:
    """Yields the nodes of all blocks."""
    for block in re.split(r"\n(?: *\n)+", "\n".join(comment)):
        lines = block.splitlines()
        if TERM.match(lines[0]):
            found, lines = terms(lines)
            yield found
        yield from text(lines)


class HeaderDirective(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.relfn2path(self.arguments[0])[1])
        self.env.note_dependency(str(path))
        try:
            return list(content(comment_of(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError) as error:
            raise self.error(f"{path}: {error}") from error


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("header", HeaderDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
