# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/guards.py: what a function reads besides its arguments, so that a recording is not used after a change.
"""A recorded function runs once, and the numbers that it reads from globals, closures and default arguments become constants of
the recording. Guards compares them in each call. If one has changed, the function is recorded again. If the function itself
changes one, it has a side effect and is not fused.

Guards follows the functions that a function names, except those of installed libraries, and the attributes of objects and modules
that it names. It does not see what is read in another way, such as random numbers and the clock.
"""

from __future__ import annotations

import types
from typing import Any

_MISSING = object()
_CONTAINERS = (list, dict, set)
# Modules whose functions and objects are taken as constants.
_LIBRARIES = {
    "awkward",
    "builtins",
    "correctionlib",
    "dask",
    "hist",
    "math",
    "numba",
    "numpy",
    "operator",
    "scipy",
    "upsweep",
    "vector",
}


def _library(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


class Guard:
    """A name in a namespace, or a closure's cell, and what it was."""

    __slots__ = ("copy", "name", "space", "was")

    def __init__(self, space: Any, name: str):
        self.space = space  # a dict, or a cell
        self.name = name
        self.was = self.now()
        self.copy = copied(self.was) if isinstance(self.was, _CONTAINERS) else None

    def now(self) -> Any:
        if isinstance(self.space, types.CellType):
            try:
                return self.space.cell_contents
            except ValueError:
                return _MISSING
        return self.space.get(self.name, _MISSING)

    def holds(self) -> bool:
        now = self.now()
        if now is not self.was:
            return isinstance(now, bool | int | float | str) and type(now) is type(self.was) and repr(now) == repr(self.was)
        return self.copy is None or alike(self.copy, now)

    def restore(self) -> None:
        """Undoes what a recording has changed."""
        if self.copy is not None and type(self.was) is not tuple:
            self.was.clear()
            self.was.extend(self.copy) if isinstance(self.was, list) else self.was.update(self.copy)
        if self.now() is self.was:
            return
        if isinstance(self.space, types.CellType):
            self.space.cell_contents = self.was
        elif isinstance(self.space, dict) and self.was is not _MISSING:
            self.space[self.name] = self.was


def copied(x: Any) -> Any:
    """A copy of Python's containers, not of what they contain."""
    if type(x) is dict:
        return {name: copied(y) for name, y in x.items()}
    if type(x) is list:
        return [copied(y) for y in x]
    return x.copy() if isinstance(x, _CONTAINERS) else x


def alike(x: Any, y: Any) -> bool:
    if type(x) is not type(y):
        return False
    if type(x) is dict:
        return list(x) == list(y) and all(alike(x[name], y[name]) for name in x)
    if type(x) is list:
        return len(x) == len(y) and all(map(alike, x, y))
    if isinstance(x, _CONTAINERS):
        return x == y
    return x is y or (isinstance(x, bool | int | float | str) and repr(x) == repr(y))


def _codes(code: types.CodeType) -> Any:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


class Guards:
    def __init__(self, function: Any):
        self.guards: list[Guard] = []
        self._seen: set[Any] = set()
        self._follow(function)

    def changed(self) -> str | None:
        """The name of something that has changed."""
        for guard in self.guards:
            if not guard.holds():
                return guard.name
        return None

    def restore(self) -> None:
        for guard in self.guards:
            guard.restore()

    def _add(self, space: Any, name: str, names: set[str]) -> None:
        key = (id(space), name)
        if key in self._seen:
            return
        self._seen.add(key)
        guard = Guard(space, name)
        self.guards.append(guard)
        self._look(guard.was, names)

    def _look(self, x: Any, names: set[str]) -> None:
        """Follows what a name stands for."""
        if x is _MISSING or isinstance(x, bool | int | float | str | bytes):
            return
        if isinstance(x, list | tuple | dict | set | frozenset):
            for y in list(x.values() if isinstance(x, dict) else x)[:100]:
                if callable(y):
                    self._look(y, names)
            return
        if isinstance(x, types.ModuleType):
            if _library(x.__name__):
                return
        elif _library(getattr(x, "__module__", None)) or _library(type(x).__module__) and not callable(x):
            return
        if isinstance(x, types.MethodType):
            self._look(x.__self__, names)
            x = x.__func__
        if isinstance(x, types.FunctionType):
            self._follow(x)
            return
        if hasattr(x, "__wrapped__") and isinstance(x.__wrapped__, types.FunctionType):
            self._follow(x.__wrapped__)
        for space in (getattr(x, "__dict__", None), getattr(type(x), "__dict__", None)):
            if isinstance(space, dict | types.MappingProxyType) and not (isinstance(x, type) and space is type.__dict__):
                for name in names & set(space):
                    self._add(space if isinstance(space, dict) else _View(space), name, names)

    def _follow(self, function: Any) -> None:
        if isinstance(function, types.MethodType):
            self._follow(function.__func__)
            return
        if not isinstance(function, types.FunctionType) or function in self._seen or _library(function.__module__):
            return
        self._seen.add(function)
        codes = list(_codes(function.__code__))
        names = {name for code in codes for name in code.co_names}
        for name in sorted(names & set(function.__globals__)):
            self._add(function.__globals__, name, names)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._add(cell, name, names)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            if isinstance(default, _CONTAINERS):
                self._add({"default": default}, "default", names)


class _View:
    """The namespace of a class, read only."""

    __slots__ = ("space",)

    def __init__(self, space: Any):
        self.space = space

    def get(self, name: str, default: Any) -> Any:
        return self.space.get(name, default)
