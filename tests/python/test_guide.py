# SPDX-License-Identifier: Apache-2.0
# tests/python/test_guide.py: the guide's pages for users of other libraries: both sides of each pair must give the same
# result.
#
# A pair is a block of Python in two halves, `# NumPy` and `# upsweep`. The last expressions of both are compared
# exactly, with their types. With `# upsweep, within 1e-12`, floats may differ by this relative error. Other blocks are
# run before, to define names and to check their comments.
import ast
import datetime
import math
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import upsweep
from examples import blocks, run

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
PAIR = re.compile(
    r"# (?P<library>[^\n]+)\n(?P<theirs>.*?)^# upsweep(?:, within (?P<within>\S+))?\n(?P<ours>.*)", re.DOTALL | re.MULTILINE
)
PLAIN = (bool, int, float, str, Decimal, datetime.date, type(None))


def plain(value):
    """Converts a value of any of the libraries to Python's own types, with the type's name."""
    if isinstance(value, PLAIN) and not isinstance(value, np.generic):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, upsweep._query.Answer):
        return plain(value.rows())
    if hasattr(value, "fetchall"):  # of DuckDB
        return plain(value.fetchall())
    if hasattr(value, "layout"):  # of Awkward Array
        return [str(value.type), value.to_list()]
    array = np.asarray(value)
    return [array.dtype.name, array.shape, array.tolist()]


def alike(a, b, within=0.0):
    """Whether two plain values are equal; floats may differ by the relative error `within`."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(each, other, within) for each, other in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=within)
    return type(a) is type(b) and a == b


def value_of(code, names):
    """Returns the value of the last expression of some code."""
    *before, last = ast.parse(code).body
    assert isinstance(last, ast.Expr), f"must end with an expression:\n{code}"
    names = dict(names)
    exec(compile(ast.Module(before, []), "<guide>", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "<guide>", "eval"), names)


@pytest.mark.parametrize(
    ("page", "library", "modules", "pairs", "results"),
    [
        ("for_numpy.md", "NumPy", [], 29, 15),
        ("for_awkward.md", "Awkward Array", ["awkward"], 22, 4),
        ("for_duckdb.md", "DuckDB", ["duckdb", "pyarrow"], 20, 6),
    ],
)
def test_both_sides_come_to_the_same(page, library, modules, pairs, results, tmp_path, monkeypatch):
    if not (GUIDE / page).exists():
        pytest.skip("the docs are not next to the tests")
    for module in modules:
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)  # pages write their files here
    names, compared, commented = {}, 0, 0
    for block in blocks((GUIDE / page).read_text()):
        pair = PAIR.fullmatch(block)
        if not pair:
            commented += run(block, names)
            continue
        assert pair["library"] == library, block
        theirs, ours = (plain(value_of(pair[half], names)) for half in ("theirs", "ours"))
        assert alike(theirs, ours, float(pair["within"] or 0)), f"{block}\n{theirs}\n{ours}"
        compared += 1
    assert (compared, commented) == (pairs, results)


@pytest.mark.parametrize(
    ("a", "b", "within"),
    [
        (np.array([1, 2]), np.array([1, 3]), 0.5),
        (np.array([1, 2]), np.array([1, 2, 2]), 0),
        (np.array([1, 2]), np.array([1, 2], "int32"), 0),
        (np.array([1.0, 2.0]), np.array([[1.0, 2.0]]), 0),
        (np.array([1.0]), np.array([1.0 + 1e-9]), 1e-10),
        (np.array([math.nan]), np.array([1.0]), 1e-10),
        ([(1, None)], [(1, 0)], 0),
        ([(1,)], [(Decimal(1),)], 0),
        (True, 1, 0),
    ],
)
def test_what_is_not_the_same_is_noticed(a, b, within):
    assert alike(plain(a), plain(a), within) and alike(plain(b), plain(b), within)
    assert not alike(plain(a), plain(b), within)
