# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/guards.py: what a function reads besides its arguments, so that a recording is not used after a
# change.
"""A recorded function runs once, and the numbers that it reads from globals, closures and default arguments become constants of
the recording. Guards compares them in each call. If one has changed, the function is recorded again. If the function itself
changes one, it has a side effect and is not fused.

Guards follows the functions that a function names, except those of installed libraries, and the attributes of objects and modules
that it names. A function that draws random numbers has a side effect as well: the state of the generator changes. Guards does not
see what is read in another way, such as the clock or a file.
"""

from __future__ import annotations

import random
import types
from typing import Any

import numpy as np

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


def is_constant(x: Any) -> bool:
    """Whether an argument may be a constant of a recording: a function, or an object of a class of the user, such as a method's
    `self`. Guards compares those of its attributes that the function names."""
    if isinstance(x, types.FunctionType | types.BuiltinFunctionType | np.ufunc):
        return True
    return not _library(type(x).__module__) and hasattr(x, "__dict__") and not isinstance(x, BaseException)


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


class Random:
    """The state of a generator of random numbers."""

    def __init__(self, get: Any, set_: Any):
        self.get, self.set = get, set_
        self.was = get()

    def holds(self) -> bool:
        return repr(self.get()) == repr(self.was)

    def restore(self) -> None:
        self.set(self.was)


class Guards:
    def __init__(self, function: Any, objects: list[Any]):
        """`objects`: arguments of the function that are neither arrays nor numbers."""
        self.guards: list[Guard] = []
        self.objects = objects  # kept, so that the key may contain their ids
        self.generators = [Random(random.getstate, random.setstate), Random(np.random.get_state, np.random.set_state)]
        self._seen: set[Any] = set()
        self._function = function.__func__ if isinstance(function, types.MethodType) else function
        self._names: set[str] = set()  # that the function itself uses
        self._follow(function)
        for x in objects:
            self._look(x, self._names)

    def changed(self) -> str | None:
        """The name of something that has changed."""
        for guard in self.guards:
            if not guard.holds():
                return guard.name
        return None

    def changed_while_recording(self) -> str | None:
        if not all(each.holds() for each in self.generators):
            return "the state of random numbers"
        return self.changed()

    def restore(self) -> None:
        """Undoes what a recording has changed."""
        for each in (*self.guards, *self.generators):
            each.restore()

    def _add(self, space: Any, name: str, names: set[str]) -> None:
        key = (id(space.of) if isinstance(space, _Space | _Slots) else id(space), name)
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
        if isinstance(x, np.random.Generator):
            bits = x.bit_generator
            self.generators.append(Random(lambda: bits.state, lambda state: setattr(bits, "state", state)))
            return
        if isinstance(x, random.Random):
            self.generators.append(Random(x.getstate, x.setstate))
            return
        if isinstance(x, property):
            x = x.fget
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
        own = getattr(x, "__dict__", None)
        classes = x.__mro__ if isinstance(x, type) else type(x).__mro__
        for name in names:
            of_class = next((c for c in classes if name in vars(c)), None)
            if isinstance(own, dict) and (name in own or of_class is not None):
                self._add(own, name, names)
            if of_class is not None and not _library(of_class.__module__):
                attribute = vars(of_class)[name]
                is_slot = isinstance(attribute, types.MemberDescriptorType) and not isinstance(x, type)
                self._add(_Slots(x) if is_slot else _Space(of_class), name, names)

    def _follow(self, function: Any) -> None:
        if isinstance(function, types.MethodType):
            self._follow(function.__func__)
            return
        if not isinstance(function, types.FunctionType) or function in self._seen or _library(function.__module__):
            return
        self._seen.add(function)
        codes = list(_codes(function.__code__))
        names = {name for code in codes for name in code.co_names}
        self._names = names if function is self._function else self._names
        for name in sorted(names & set(function.__globals__)):
            self._add(function.__globals__, name, names)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._add(cell, name, names)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            if isinstance(default, _CONTAINERS):
                self._add({"default": default}, "default", names)


class _Space:
    """The namespace of a class, read only."""

    __slots__ = ("of",)

    def __init__(self, of: type):
        self.of = of

    def get(self, name: str, default: Any) -> Any:
        return vars(self.of).get(name, default)


class _Slots:
    """The attributes of an object without a namespace."""

    __slots__ = ("of",)

    def __init__(self, of: Any):
        self.of = of

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.of, name, default)
