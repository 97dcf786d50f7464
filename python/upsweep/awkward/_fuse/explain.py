# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/explain.py: what Fused.explain() says.
from __future__ import annotations

from typing import Any

import awkward as ak

from upsweep.awkward._fuse.matching import Found
from upsweep.awkward._fuse.program import Program, Rerun, Stage


def explanation(program: Program, found: Found, threads: int | None) -> str:
    stages: list[Stage] = []
    try:
        stages = program.computed(found, threads)[1]
    except Rerun as why:
        end = [f"these arguments: not fused: {why}"]
    except Exception as error:  # noqa: BLE001 - the function raises it when it is called
        end = [f"these arguments: not fused: {type(error).__name__}: {error}"]
    else:
        end = []
    nodes = len(program.missing({}))
    lines = [f"{nodes} calls recorded, in {len(stages)} stage{'' if len(stages) == 1 else 's'}"]
    for number, stage in enumerate(stages, 1):
        lines += _of_stage(number, stage)
    return "\n".join(lines + end)


def explanation_of_steps(reason: str, session: Any) -> str:
    """Returns the plans of a function that cannot be recorded as a whole."""
    lines = [
        f"in steps, because it cannot be recorded as a whole: {reason}",
        f"{len(session.path)} calls traced, {session.by_awkward} executed by Awkward one by one",
        f"{len(session.steps)} steps with plans",
    ]
    for i, step in enumerate(session.steps, 1):
        for k, stage in enumerate(step.stages_run, 1):
            lines += _of_stage(f"{i}.{k}", stage)
    return "\n".join(lines)


def _of_stage(number: Any, stage: Stage) -> list[str]:
    lines = []
    if stage.plan is not None:
        lines.append(f"stage {number}: a plan of {stage.plan.instructions} instructions, which computes")
        lines += [f"    {_name(node)}: {_type(node)}" for node in stage.shapes]
        lines += ["  " + line for line in stage.plan.to_text().splitlines()]
    else:
        lines.append(f"stage {number}: no plan")
    if stage.calls:
        lines.append("  executed by Awkward:")
        for node in stage.calls:
            lines.append(f"    {_name(node)}: {stage.reasons.get(node, 'a view, or needed by such a call')}")
    return lines


def _name(node: Any) -> str:
    return f"#{node.position} {node.name}"


def _type(node: Any) -> str:
    if node.kind == "fill":
        return "bins of a histogram"
    return str(node.meta.layout.form.type) if isinstance(node.meta, ak.Array) else "a number"
