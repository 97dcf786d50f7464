# SPDX-License-Identifier: Apache-2.0
# upsweep/dask/_tasks.py: names of tasks, their merge tree and options, and their errors, of which the first one counts.

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

from upsweep import _options

# Number of carries that a task merges: few enough to start while others are folded, and few levels for thousands of
# blocks.
MERGED_AT_ONCE = 8


def new_name(what: str) -> str:
    """A unique name for tasks; Dask's dashboard shows `what`. The name is unique because files may change between two calls."""
    return f"upsweep-{what}-{uuid.uuid4().hex}"


def how() -> dict[str, Any]:
    """The options that tasks run with: the caller's, but one thread by default."""
    settings = _options.current()
    return {"threads": settings.threads or 1, "rung": settings.rung}


def tree(graph: dict, keys: list, name: str, merge: Callable[..., Any], *arguments: Any) -> Any:
    """Adds tasks merge(*arguments, blocks in their order) to a graph, level by level; returns the key of the last task."""
    level = 0
    while len(keys) > 1 or level == 0:
        groups = [keys[i : i + MERGED_AT_ONCE] for i in range(0, len(keys), MERGED_AT_ONCE)]
        keys = [(name, level, i) for i in range(len(groups))]
        graph.update({key: (merge, *arguments, group) for key, group in zip(keys, groups)})
        level += 1
    return keys[0]


def moved(error: Any, by: int) -> Any:
    """Converts the error of a block to an error of the whole. The block's error counts from the block's start, so the index increases
    by `by`, the number of preceding rows or elements. The traceback is dropped, because its frames hold data. An error in a row of
    a file is unchanged, because it names the file."""
    if hasattr(error, "file"):
        return error.with_traceback(None)
    index = None if error.index is None else error.index + by
    raised = type(error)(re.sub(rf"\b(element|list|row) {error.index}\b", rf"\1 {index}", str(error), count=1))
    raised.code, raised.index = error.code, index
    return raised


def in_order(graph: dict, name: str, keys: list) -> list:
    """Adds tasks that return the results of `keys`. If a result or an earlier one is an error, the first error is raised. Returns
    the new keys, under `name`."""
    states = new_name("state")
    given = [(name, *key[1:]) for key in keys]
    before = None
    for key, result in zip(keys, given):
        graph[result] = (_given, before, key)
        graph[(states, *key[1:])] = (_first_error, before, key)
        before = (states, *key[1:])
    return given


def _first_error(before: Any, result: Any) -> Any:
    if before is not None:
        return before
    return result if isinstance(result, Exception) else None


def _given(before: Any, result: Any) -> Any:
    error = _first_error(before, result)
    if error is not None:
        raise error
    return result
