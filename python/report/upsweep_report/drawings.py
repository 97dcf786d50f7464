# SPDX-License-Identifier: Apache-2.0
# upsweep_report/drawings.py: runs the model of an algorithm on a few elements, for the drawing next to a rung.
from __future__ import annotations

from typing import Any

from . import scans
from .machine import bank_conflicts, idle
from .problems import NUMBERS, PROBLEMS, add

BANKS = 8  # of the shared memory in drawings; a GPU has 32

DOCUMENTS = "documents"  # used instead of a problem if a document's algorithm is not a rung
_OF_DOCUMENTS = {"hillis_steele_in_place": lambda: scans.hillis_steele_in_place(NUMBERS[:8], add)}


def drawing(problem: str, rung: str) -> dict[str, Any] | None:
    """The data of a drawing: the initial arrays, and for each step its moves, the idle threads, and the arrays after it."""
    model = _OF_DOCUMENTS.get(rung) if problem == DOCUMENTS else PROBLEMS[problem].model(rung) if problem in PROBLEMS else None
    if model is None:
        return None
    trace = model()
    return {
        "threads": trace.threads,
        "arrays": _shown(trace.arrays),
        "result": trace.result,
        "steps": [
            {
                "text": step.text,
                "moves": [[move.thread, move.sources, move.target] for move in step.moves],
                "idle": idle(step, trace.threads),
                "waiting": step.waiting,
                "turns": bank_conflicts(step, "shared", BANKS) if "shared" in trace.arrays else None,
                "arrays": _shown(step.arrays),
            }
            for step in trace.steps
        ],
    }


def _shown(arrays: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Cells in the form that is drawn: a cell with several values becomes text."""
    return {name: [str(value) if isinstance(value, tuple) else value for value in values] for name, values in arrays.items()}


def drawn() -> list[tuple[str, str]]:
    """The rungs that have a drawing."""
    return [(problem, rung) for problem, known in PROBLEMS.items() for rungs in known.models for rung in rungs.split()]
