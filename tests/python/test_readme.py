# SPDX-License-Identifier: Apache-2.0
# tests/python/test_readme.py: runs the Python examples of the README and of pages of docs/, and compares their results.
# their comments.
from pathlib import Path

import pytest
from examples import blocks, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("page", "results"), [("README.md", 4), ("docs/python.md", 18), ("docs/dask.md", 6), ("docs/start/python.md", 8)]
)
def test_examples(page, results):
    if not (ROOT / page).exists():
        pytest.skip(f"{page} is not next to the tests")
    names, found, missing = {}, 0, []
    for block in blocks((ROOT / page).read_text()):
        try:
            found += run(block, names)
        except ImportError as error:
            missing.append(str(error))
    if missing:
        pytest.skip(f"some examples were not run: {'; '.join(missing)}")
    assert found == results
