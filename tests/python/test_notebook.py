# SPDX-License-Identifier: Apache-2.0
# tests/python/test_notebook.py: docs/upsweep.ipynb must run unchanged, and its stored outputs must be correct.
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
import nbformat

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "upsweep.ipynb"


@pytest.fixture
def notebook():
    if not NOTEBOOK.exists():
        pytest.skip("the docs are not next to the tests")
    return nbformat.read(NOTEBOOK, as_version=4)


def cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell):
    """Returns the cell's outputs: tables and plots by their types, text by its stream."""
    return [output.get("name") or sorted(output.data) for output in cell.outputs]


def test_ten_cells_with_what_they_show(notebook):
    assert [cell.execution_count for cell in cells(notebook)] == list(range(1, 11))
    shown = [output for cell in cells(notebook) for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in shown) == 4
    assert sum("text/html" in output.get("data", {}) for output in shown) == 2
    for cell in cells(notebook):
        plots = any("image/png" in output.get("data", {}) for output in cell.outputs)
        assert bool(cell.metadata.get("mystnb", {}).get("image", {}).get("alt")) == plots  # the text for a plot
    for output in shown:
        assert output.output_type in ("stream", "display_data") and output.get("name") != "stderr"
        assert not any(path in str(output.get("text")) for path in ("/home", "/root", "/tmp", "/work"))


@pytest.mark.long
def test_its_cells_run(notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    stored = [kinds(cell) for cell in cells(notebook)]
    resources = {"metadata": {"path": tmp_path}}
    nbclient.NotebookClient(notebook, timeout=3600, resources=resources, coalesce_streams=True).execute()
    assert [kinds(cell) for cell in cells(notebook)] == stored
