# SPDX-License-Identifier: Apache-2.0
# tools/notebook.py: runs docs/upsweep.ipynb on this machine and stores what its cells show.
"""Run it with the package on the path, while no other program runs: the figures are measurements of this machine."""
import pathlib

import nbclient
import nbformat

NOTEBOOK = pathlib.Path(__file__).resolve().parent.parent / "docs" / "upsweep.ipynb"


def strip(notebook):
    """Removes what differs from run to run or from machine to machine, except the outputs themselves."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key == "mystnb"}  # texts for plots


if __name__ == "__main__":
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=3600, record_timing=False, coalesce_streams=True).execute()
    strip(notebook)
    nbformat.write(notebook, NOTEBOOK)
