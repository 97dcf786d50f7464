# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_hooks.py: replaces functions of Awkward Array that spend their time between its kernels.
import inspect
from typing import Any, NamedTuple

from upsweep.awkward import _carries, _cuda, _joins, _masks, _memory, _missing, _numbers, _ufuncs
from upsweep.awkward._native import Native
from upsweep.awkward._signatures import AWKWARD

# The hooks for GPUs come first: if a function has two hooks, the last one is called first.
MODULES = (_cuda, _masks, _carries, _ufuncs, _numbers, _joins, _missing, _memory)


class Hook(NamedTuple):
    """A function that Awkward looks up in a class or module at each call, and make(theirs), which returns its replacement."""

    owner: Any
    name: str
    make: Any
    arguments: str  # theirs, as this package expects them

    @property
    def path(self):
        return f"{self.owner.__name__}.{self.name}"

    def is_known(self):
        theirs = getattr(self.owner, self.name, None)
        return theirs is not None and list(inspect.signature(theirs).parameters) == self.arguments.split()


class Hooks:
    """All hooks. No hook is installed in an untested version of Awkward, or if one of its functions has changed."""

    def __init__(self, library, version):
        native = Native(library)
        self.functions = native.functions
        self.tested = version == AWKWARD
        self._hooks = [Hook(*each) for module in MODULES for each in module.hooks(native)] if self.tested else []
        self.changed = list(dict.fromkeys(hook.path for hook in self._hooks if not hook.is_known()))  # some have two
        self._undo = []

    def put(self):
        if self._undo or self.changed or not self.tested:
            return
        for hook in self._hooks:
            theirs = vars(hook.owner).get(hook.name)
            setattr(hook.owner, hook.name, hook.make(getattr(hook.owner, hook.name)))
            self._undo.append((hook, theirs, vars(hook.owner)[hook.name]))
        _memory.memory.keep(True)

    def take_back(self):
        """Removes the hooks. A function that other code has installed since is not removed; if it calls ours, ours still works."""
        _memory.memory.keep(False)
        for hook, theirs, ours in reversed(self._undo):
            if vars(hook.owner).get(hook.name) is not ours:
                continue
            if theirs is None:
                delattr(hook.owner, hook.name)  # it was inherited
            else:
                setattr(hook.owner, hook.name, theirs)
        self._undo = []
