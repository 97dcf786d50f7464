# SPDX-License-Identifier: Apache-2.0
# tests/python/test_readme.py: runs the Python examples of the README and of pages of docs/, and compares their results.
import re
from pathlib import Path

import pytest
from examples import blocks, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("page", "results"),
    [
        ("README.md", 4),
        ("docs/python.md", 25),
        ("docs/dask.md", 6),
        ("docs/start/python.md", 10),
        ("docs/how-to/fuse.md", 5),
        ("docs/how-to/larger_than_memory.md", 2),
    ],
)
def test_examples(page, results, tmp_path, monkeypatch):
    if not (ROOT / page).exists():
        pytest.skip(f"{page} is not next to the tests")
    monkeypatch.chdir(tmp_path)  # pages write their files here
    names, found, missing = {"__name__": "__main__"}, 0, []
    for block in blocks((ROOT / page).read_text()):
        try:
            found += run(block, names)
        except ImportError as error:
            missing.append(str(error))
        except NameError:  # of a block that was not run
            if not missing:
                raise
    if missing:
        pytest.skip(f"some examples were not run: {'; '.join(missing)}")
    assert found == results


def raised():
    """Returns the exception that errors.cpp raises for each code, by its name."""
    source = (ROOT / "python/bindings/errors.cpp").read_text()
    body = source[source.index("PyObject* exception_of") : source.index("std::string text_of")]
    codes: dict[str, str] = {}
    for cases, name in re.findall(r"((?:case Code::\w+:\s+)+)(?:return PyExc_(\w+)|break);", body):
        codes |= dict.fromkeys(re.findall(r"Code::(\w+)", cases), name or "ValueError")
    return codes


def test_errors_are_those_of_the_bindings():
    pages = [ROOT / "docs/reference/errors.md", ROOT / "docs/python.md"]
    if not all(page.exists() for page in [*pages, ROOT / "python/bindings/errors.cpp"]):
        pytest.skip("the docs or the bindings are not next to the tests")
    codes = raised()
    del codes["ok"]
    reference = dict(re.findall(r"^\| `(\w+)` \|.* \| `(\w+(?:Error|Interrupt))`[^|]*\|$", pages[0].read_text(), re.MULTILINE))
    assert reference == codes
    table = pages[1].read_text().partition("| exception |")[2].partition("\n\n")[0]
    for code, name in codes.items():
        assert name in table, (code, name)
    for code in re.findall(r"`(\w+)`", table.partition("\n")[2]):
        assert code in codes, code
