# SPDX-License-Identifier: Apache-2.0
# upsweep_report/drawings.py: runs the model of an algorithm on a few elements, for the drawing next to a rung.
from __future__ import annotations

from typing import Any

from . import scans
from .machine import Trace, bank_conflicts, idle
from .problems import NUMBERS, PROBLEMS, add

BANKS = 8  # of the shared memory in drawings; a GPU has 32

DOCUMENTS = "documents"  # used instead of a problem if a document's algorithm is not a rung
_OF_DOCUMENTS = {"hillis_steele_in_place": lambda: scans.hillis_steele_in_place(NUMBERS[:8], add)}


def drawing(problem: str, rung: str) -> dict[str, Any] | None:
    """The data of a drawing: initial arrays, the step at which it opens, and for each step its moves, idle threads and arrays after it."""
    model = _OF_DOCUMENTS.get(rung) if problem == DOCUMENTS else PROBLEMS[problem].model(rung) if problem in PROBLEMS else None
    if model is None:
        return None
    trace = model()
    return {
        "threads": trace.threads,
        "arrays": _shown(trace.arrays),
        "result": trace.result,
        "shown": telling_step(trace),
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


def telling_step(trace: Trace) -> int:
    """The number of the step at which a drawing opens, from 1: near the middle of the run, with many cells that are combined.

    A step counts if it combines at least half the number of cells that the busiest step does. If no step combines cells, moves count.
    The first and the last step of more than three do not count: they load cells and store results.
    """
    inner = trace.steps[1:-1] if len(trace.steps) > 3 else trace.steps
    combined = [sum(len(move.sources) > 1 for move in step.moves) for step in inner]
    counts = combined if any(combined) else [len(step.moves) for step in inner]
    middle = (len(counts) - 1) / 2
    busy = [number for number, count in enumerate(counts) if 2 * count >= max(counts)]
    before = 2 if len(trace.steps) > 3 else 1
    return before + min(busy, key=lambda number: (abs(number - middle), number)) if busy else 0


def _shown(arrays: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Cells in the form that is drawn: a cell with several values becomes text."""
    return {name: [str(value) if isinstance(value, tuple) else value for value in values] for name, values in arrays.items()}


def drawn() -> list[tuple[str, str]]:
    """The rungs that have a drawing."""
    return [(problem, rung) for problem, known in PROBLEMS.items() for rungs in known.models for rung in rungs.split()]
