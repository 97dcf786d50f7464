# SPDX-License-Identifier: Apache-2.0
# tests/python/examples.py: the Python of a page of Markdown, run, and compared with what the page says of it.
import ast
import re


def blocks(page):
    """The blocks of Python of a page's text."""
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def shown(value):
    """A value as comments have it, in one line."""
    return re.sub(r"\n\s*", " ", repr(value))


def outcome(expression, names):
    """What an expression comes to: a value, or an error."""
    try:
        return shown(eval(expression, names))
    except (ArithmeticError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")


def run(block, names):
    """Runs the statements of a block; how many of them have a comment that says what they come to."""
    lines, results = block.splitlines(), 0
    for statement in ast.parse(block).body:
        code = ast.get_source_segment(block, statement)
        said = lines[statement.end_lineno - 1].partition("  # ")[2]
        if isinstance(statement, ast.Expr) and said:
            found = outcome(code, names)
            assert found.startswith(said.removesuffix("…")) if said.endswith("…") else found == said, (found, said)
            results += 1
        else:
            exec(code, names)  # noqa: S102
    return results
