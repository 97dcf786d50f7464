# SPDX-License-Identifier: Apache-2.0
# tests/python/test_readme.py: the Python examples of the README and of docs/python.md do what their comments say.
import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shown(value):
    """A value as comments have it, in one line."""
    return re.sub(r"\n\s*", " ", repr(value))


def outcome(expression, names):
    """What an expression comes to: a value, or an error."""
    try:
        return shown(eval(expression, names))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
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


@pytest.mark.parametrize(("page", "results"), [("README.md", 4), ("docs/python.md", 18)])
def test_examples(page, results):
    if not (ROOT / page).exists():
        pytest.skip(f"no {page} beside the tests")
    names, found, missing = {}, 0, []
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        try:
            found += run(block, names)
        except ImportError as error:
            missing.append(str(error))
    if missing:
        pytest.skip(f"the rest was run; of some examples: {'; '.join(missing)}")
    assert found == results
