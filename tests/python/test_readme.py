# SPDX-License-Identifier: Apache-2.0
# tests/python/test_readme.py: the README's Python example does what its comments say.
import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_example():
    if not README.exists():
        pytest.skip("no README beside the tests")
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL).group(1)
    names: dict[str, object] = {}
    results = 0
    for line in example.splitlines():
        code, _, said = line.partition("  # ")
        if code.startswith("upsweep."):
            assert repr(eval(code, names)) == said
            results += 1
        else:
            exec(code, names)  # noqa: S102
    assert results == 4
