# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/guards.py: what a function reads besides its arguments, so that a recording is not used after a
# change.
"""A recorded function runs once. The numbers that it reads from globals, closures and objects become constants of the recording.
purity.py finds what the function can read, and adds a guard for each of these places. Guards compares them in each call. If one
has changed, the function is recorded again. If the function itself changes one, it has a side effect and is not fused.

Most places hold the object that they held before. Therefore one compiled expression compares identities, and equal numbers are
compared only if it is false.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

import numpy as np

MISSING = object()
# Their items are compared one by one.
SEQUENCES = (list, deque)
MAPPINGS = (dict,)
_NUMBERS = (bool, int, float, complex, str, bytes, np.generic)


def same(x: Any, y: Any) -> bool:
    """Whether a recording that has read x is valid for y. Only numbers and strings are compared by value: 0.0 and -0.0 differ."""
    return x is y or (type(x) is type(y) and issubclass(type(x), _NUMBERS) and repr(x) == repr(y))


class Item:
    """A name in a namespace: in the globals of a module, in an object, or in a class."""

    def __init__(self, space: Any, key: Any):
        self.space, self.key = space, key
        self.was = self.now()

    def now(self) -> Any:
        return self.space.get(self.key, MISSING)

    def term(self, name: Any) -> str:
        key = repr(self.key) if isinstance(self.key, str) else name(self.key)
        if self.was is MISSING:
            return f"{key} not in {name(self.space)}"
        return f"{name(self.space)}[{key}] is {name(self.was)}"

    def holds(self) -> bool:
        return same(self.was, self.now())

    def restore(self) -> None:
        if isinstance(self.space, dict) and self.now() is not self.was:
            if self.was is MISSING:
                del self.space[self.key]
            else:
                self.space[self.key] = self.was


class Attribute:
    """The content of a closure's cell, a part of a function, or a slot of an object."""

    def __init__(self, of: Any, attribute: str):
        self.of, self.attribute = of, attribute
        self.was = self.now()

    def now(self) -> Any:
        try:
            return getattr(self.of, self.attribute)
        except (ValueError, AttributeError):  # an empty cell, an empty slot
            return MISSING

    def term(self, name: Any) -> str:
        return "False" if self.was is MISSING else f"{name(self.of)}.{self.attribute} is {name(self.was)}"

    def holds(self) -> bool:
        return same(self.was, self.now())

    def restore(self) -> None:
        if self.now() is not self.was and self.was is not MISSING:
            setattr(self.of, self.attribute, self.was)


class Container:
    """The items of a list, a dict or a set, in order. Containers among them have separate guards."""

    def __init__(self, container: Any):
        self.container = container
        self.was = self.now()

    def now(self) -> tuple:
        x = self.container
        return (*x.keys(), *x.values()) if isinstance(x, MAPPINGS) else tuple(x)

    def term(self, name: Any) -> str:
        x, was = name(self.container), name(self.was)
        if isinstance(self.container, MAPPINGS):
            return f"2 * len({x}) == len({was}) and all(map(same, (*{x}.keys(), *{x}.values()), {was}))"
        return f"len({x}) == len({was}) and all(map(same, {x}, {was}))"

    def holds(self) -> bool:
        now = self.now()
        return len(now) == len(self.was) and all(map(same, self.was, now))

    def restore(self) -> None:
        x, was = self.container, self.was
        if self.holds():
            return
        x.clear()
        if isinstance(x, MAPPINGS):
            count = len(was) // 2
            x.update(zip(was[:count], was[count:]))
        elif isinstance(x, SEQUENCES):
            x.extend(was)
        else:
            x.update(was)


class Numbers:
    """The elements of an ndarray."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.was = (array.tobytes(), array.dtype, array.shape)

    def term(self, name: Any) -> str:
        bytes_, dtype, shape = map(name, self.was)
        x = name(self.array)
        return f"{x}.dtype == {dtype} and {x}.shape == {shape} and {x}.tobytes() == {bytes_}"

    def holds(self) -> bool:
        x = self.array
        return (x.tobytes(), x.dtype, x.shape) == self.was

    def restore(self) -> None:
        if not self.holds() and self.array.flags.writeable:
            self.array[...] = np.frombuffer(self.was[0], self.was[1]).reshape(self.was[2])


class Result:
    """The result of a call: the number of a class's attributes, or a counter of changes that Python keeps."""

    def __init__(self, function: Any, *args: Any):
        self.function, self.args = function, args
        self.was = function(*args)

    def term(self, name: Any) -> str:
        return f"{name(self.function)}({', '.join(map(name, self.args))}) == {name(self.was)}"

    def holds(self) -> bool:
        return self.function(*self.args) == self.was

    def restore(self) -> None:
        pass


class Guards:
    def __init__(self):
        self.guards: dict[tuple, tuple[str, Any]] = {}  # the label and the guard, by the ids of the place
        self.containers: dict[int, Any] = {}  # lists, dicts and sets by their ids
        self.kept: list[Any] = []  # objects whose ids are in the key of a recording
        self._holds: Any = None

    def add(self, kind: type, label: str, *place: Any) -> Any:
        """Adds a guard unless there is one. Returns what is there."""
        by_value = (str, tuple) if kind is Item else (str,)
        key = (kind, *[x if type(x) in by_value else id(x) for x in place])
        found = self.guards.get(key)
        if found is None:
            found = self.guards[key] = (label, kind(*place))
            if kind is Container:
                self.containers[id(place[0])] = place[0]
            self._holds = None
        return found[1].was

    def watch(self, x: Any, label: str) -> None:
        """Adds guards for the containers in x, a tree of Python's containers."""
        if isinstance(x, dict | list | set):
            self.add(Container, label, x)
        if isinstance(x, dict | list | tuple):
            for y in x.values() if isinstance(x, dict) else x:
                self.watch(y, label)

    def changed(self) -> str | None:
        """The name of something that has changed."""
        holds = self._holds or self._compiled()
        try:
            if holds():
                return None
        except (LookupError, ValueError, AttributeError):  # a name, a cell or a slot is empty
            pass
        for label, guard in list(self.guards.values()):
            if not guard.holds():
                return label
        return None

    def restore(self) -> None:
        """Undoes what a recording has changed."""
        for _, guard in self.guards.values():
            guard.restore()

    def _compiled(self) -> Any:
        """All guards as one function, which compares identities."""
        space: dict[str, Any] = {"same": operator.is_}
        names: dict[int, str] = {}

        def name(x: Any) -> str:
            made = names.setdefault(id(x), f"x{len(names)}")
            space[made] = x
            return made

        terms = [guard.term(name) for _, guard in self.guards.values()]
        source = "lambda: " + (" and ".join(terms) or "True")
        self._holds = eval(source, space)
        return self._holds
