# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_hooks.py: functions of Awkward Array that spend their time between its kernels: ours in their places.
import inspect
from typing import Any, NamedTuple

from upsweep.awkward import _carries, _cuda, _joins, _masks, _memory, _ufuncs
from upsweep.awkward._native import Native

# Those for GPUs first: of two hooks of one function the last one comes first.
PARTS = (_cuda, _masks, _carries, _ufuncs, _joins, _memory)


class Hook(NamedTuple):
    """A function that Awkward looks up in a class or module at each call, and make(theirs): what takes its place."""

    owner: Any
    name: str
    make: Any
    arguments: str  # theirs, as this package knows them

    @property
    def path(self):
        return f"{self.owner.__name__}.{self.name}"

    def is_known(self):
        theirs = getattr(self.owner, self.name, None)
        return theirs is not None and list(inspect.signature(theirs).parameters) == self.arguments.split()


class Hooks:
    """All hooks: where a newer Awkward has changed one of its functions, none is put."""

    def __init__(self, library):
        native = Native(library)
        self.functions = native.functions
        self._hooks = [Hook(*each) for part in PARTS for each in part.hooks(native)]
        self.changed = list(dict.fromkeys(hook.path for hook in self._hooks if not hook.is_known()))  # some have two hooks
        self._undo = []

    def put(self):
        if self._undo or self.changed:
            return
        for hook in self._hooks:
            self._undo.append((hook, vars(hook.owner).get(hook.name)))
            setattr(hook.owner, hook.name, hook.make(getattr(hook.owner, hook.name)))
        _memory.memory.keep(True)

    def take_back(self):
        _memory.memory.keep(False)
        for hook, theirs in reversed(self._undo):
            if theirs is None:
                delattr(hook.owner, hook.name)  # it was inherited
            else:
                setattr(hook.owner, hook.name, theirs)
        self._undo = []
