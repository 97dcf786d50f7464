# SPDX-License-Identifier: Apache-2.0
# tests/python/examples.py: runs the Python of a Markdown page, and compares its results with the comments on the page.
import ast
import re


def blocks(page):
    """Returns the blocks of Python in a page's text."""
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def shown(value):
    """Formats a value as in comments, in one line."""
    return re.sub(r"\n\s*", " ", repr(value))


def outcome(expression, names):
    """Returns the value of an expression, or its error."""
    try:
        return shown(eval(expression, names))
    except (ArithmeticError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")


def run(block, names):
    """Runs the statements of a block; returns how many of them have a comment with their result."""
    lines, results = block.splitlines(), 0
    for statement in ast.parse(block).body:
        code = ast.get_source_segment(block, statement)
        for decorator in reversed(getattr(statement, "decorator_list", ())):
            code = f"@{ast.get_source_segment(block, decorator)}\n{code}"
        said = lines[statement.end_lineno - 1].partition("  # ")[2]
        if isinstance(statement, ast.Expr) and said:
            found = outcome(code, names)
            assert found.startswith(said.removesuffix("…")) if said.endswith("…") else found == said, (found, said)
            results += 1
        else:
            exec(code, names)  # noqa: S102
    return results
