# SPDX-License-Identifier: Apache-2.0
# tests/python/test_header_comments.py: the comments of headers as the API's pages show them.
import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

ROOT = Path(__file__).parents[2]
if not (ROOT / "docs/header_comments.py").is_file():
    pytest.skip("the docs are not here", allow_module_level=True)

HEADER = """\
// SPDX-License-Identifier: Apache-2.0
// upsweep/made.hpp: sums of `x`,
// in order.
//
//   keys      7    2
//   made_sum  7 2  9
//
//   made_sum   the sum
//   made_sums  the sums of all
//              lists
//
//   const auto there = made();     // device 0
//
//   - one
//     item
//   - another
//
// Shapes    x has n
//           elements, as in
//             out[i] = x[i]
//           here.
// In place  out may be x.
// Only a paragraph is after the list.
#pragma once
"""


@pytest.fixture
def comments(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    return importlib.import_module("header_comments")


def shown(node):
    """Returns a node as its name and its text, or those of its children."""
    name = node.tagname
    if name in ("paragraph", "literal_block", "term"):
        return name, node.astext()
    return name, *(shown(child) for child in node.children)


def test_each_kind_of_block(comments):
    found = [shown(node) for node in comments.content(comments.comment_of(HEADER))]
    assert found == [
        ("paragraph", "Sums of x, in order."),
        ("literal_block", "keys      7    2\nmade_sum  7 2  9"),
        ("definition_list",
         ("definition_list_item", ("term", "made_sum"), ("definition", ("paragraph", "the sum"))),
         ("definition_list_item", ("term", "made_sums"), ("definition", ("paragraph", "the sums of all lists")))),
        ("literal_block", "const auto there = made();     // device 0"),
        ("bullet_list", ("list_item", ("paragraph", "one item")), ("list_item", ("paragraph", "another"))),
        ("definition_list",
         ("definition_list_item", ("term", "Shapes"),
          ("definition", ("paragraph", "x has n elements, as in"), ("literal_block", "out[i] = x[i]"), ("paragraph", "here."))),
         ("definition_list_item", ("term", "In place"), ("definition", ("paragraph", "out may be x.")))),
        ("paragraph", "Only a paragraph is after the list."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("// license\n#pragma once\n", "needs a license and a comment"),
        ("// license\n// upsweep/x.hpp: x\n\n#pragma once\n", "needs a license and a comment"),
        ("// license\n// what it does\n#pragma once\n", "must begin with `path: sentence`, not with '// what it does'"),
    ],
)
def test_other_comments_are_refused(comments, header, message):
    with pytest.raises(ValueError, match=message):
        comments.comment_of(header)


def test_all_text_of_a_header_is_shown(comments):
    for path in sorted((ROOT / "include/upsweep").glob("*.*pp")):
        comment = comments.comment_of(path.read_text())
        text = "".join(node.astext() for node in comments.content(comment))
        said = "".join(comment).replace("`", "").replace("- ", "")
        assert "".join(text.split()).replace("-", "") == "".join(said.split()).replace("-", ""), path
