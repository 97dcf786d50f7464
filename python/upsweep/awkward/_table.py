# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_table.py: registers upsweep's C functions in the table in which Awkward Array looks up its kernels.
import contextlib
import ctypes
import importlib.metadata
import sys
import threading
import warnings

import awkward as ak

from upsweep._libraries import library_path
from upsweep.awkward._hooks import Hooks
from upsweep.awkward._signatures import AWKWARD, AWKWARD_CPP, SIGNATURES

# Awkward looks kernels up on each call: a replaced entry takes effect with the next call.


def signature(kernel):
    """The argument types of a ctypes function, as ctypes' codes, pointers with `*`."""

    def code(argument):
        return "*" + code(argument._type_) if issubclass(argument, ctypes._Pointer) else argument._type_

    return " ".join(map(code, kernel.argtypes))


def returns_error(kernel):
    """Whether the kernel returns Awkward's struct of two strings and two numbers."""
    fields = [(name, kind) for name, kind in getattr(kernel.restype, "_fields_", [])]
    text, number = ctypes.c_char_p, ctypes.c_int64
    return fields == [("str", text), ("filename", text), ("id", number), ("attempt", number)]


def awkward_table():
    """Awkward's kernels by their keys; empty if Awkward stores them in another way."""
    import awkward_cpp  # raises ImportError if it is not installed

    cpu_kernels = getattr(awkward_cpp, "cpu_kernels", None)
    table = getattr(cpu_kernels, "kernel", None)
    return table if isinstance(table, dict) else {}


def stand_ins(table, library):
    """upsweep's kernels by their keys in `table`, and the names of kernels whose entry there has another signature."""
    ours, changed = {}, []
    missing = set(SIGNATURES)
    for key, theirs in table.items():
        name = getattr(theirs, "__name__", None)
        if name not in missing:
            continue
        missing.remove(name)
        try:
            same = signature(theirs) == SIGNATURES[name] and returns_error(theirs)
        except (AttributeError, TypeError):
            same = False
        if not same:
            changed.append(name)
            continue
        function = library[name]
        function.argtypes, function.restype, function.dir = theirs.argtypes, theirs.restype, theirs.dir
        ours[key] = function
    return ours, sorted(changed) + sorted(missing)


def warn(text):
    """Issues a RuntimeWarning at the line that called this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__") in (__name__, "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)


def some_of(names):
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def warn_of_kernels(version, ours, changed):
    if version != AWKWARD_CPP:
        warn(f"upsweep has kernels for awkward-cpp {AWKWARD_CPP}, not for {version}: no kernel is replaced")
    elif changed:
        warn(
            f"upsweep has kernels for awkward-cpp {AWKWARD_CPP}: {len(changed)} kernels differ from that version and "
            f"are not replaced ({some_of(changed)}); {len(ours)} are replaced"
        )


def warn_of_hooks(version, hooks):
    rest = "upsweep replaces only kernels on the CPU, and neither awkward's code between them nor its code for GPUs"
    if not hooks.tested:
        warn(f"upsweep was tested with awkward {AWKWARD}, not with {version}: {rest}")
    elif hooks.changed:
        warn(f"functions of awkward differ from those that upsweep was tested with ({some_of(hooks.changed)}): {rest}")


class Registration:
    """The entries of Awkward's table that upsweep replaces. They and the hooks are installed by register(), or while contexts are
    open."""

    def __init__(self):
        self._lock = threading.RLock()
        self._table = None  # Awkward's
        self._ours = {}
        self._theirs = {}  # the entries that ours have replaced
        self._hooks = None
        self._for_good = False
        self._contexts = 0

    def _load(self):
        if self._table is not None:
            return
        table = awkward_table()
        library = ctypes.CDLL(str(library_path("upsweep-awkward")))
        version = importlib.metadata.version("awkward-cpp")
        # An argument's meaning may change while its type does not: kernels of an untested version are not replaced.
        ours, changed = stand_ins(table, library) if version == AWKWARD_CPP else ({}, [])
        hooks = Hooks(library, ak.__version__)
        # If warnings are errors, nothing is registered, neither now nor by later calls.
        warn_of_kernels(version, ours, changed)
        warn_of_hooks(ak.__version__, hooks)
        self._table, self._ours, self._hooks = table, ours, hooks

    def _put(self):
        if not self._theirs:
            self._theirs = {key: self._table[key] for key in self._ours}
            self._table.update(self._ours)
        self._hooks.put()

    def _take_back(self):
        """Restores Awkward's entries. Entries that other code has replaced since are not restored."""
        for key, theirs in self._theirs.items():
            if self._table.get(key) is self._ours[key]:
                self._table[key] = theirs
        self._theirs = {}
        self._hooks.take_back()

    def _update(self, for_good, contexts):
        """Installs or removes the kernels. The caller must hold the lock."""
        if for_good or contexts > 0:
            self._load()
            self._put()
        elif self._table is not None:
            self._take_back()
        self._for_good, self._contexts = for_good, contexts

    def register(self):
        with self._lock:
            self._update(True, self._contexts)

    def unregister(self):
        with self._lock:
            self._update(False, self._contexts)

    def registered(self):
        with self._lock:
            return self._for_good or self._contexts > 0

    @contextlib.contextmanager
    def context(self):
        with self._lock:
            self._update(self._for_good, self._contexts + 1)
        try:
            yield
        finally:
            with self._lock:
                self._update(self._for_good, self._contexts - 1)


_registration = Registration()


def register():
    """Replaces Awkward Array's kernels by upsweep's, from the next operation on, in all threads.

    Further calls change nothing. If CuPy is installed, kernels for arrays on a GPU are also replaced.

    Raises ImportError if awkward or upsweep's library is not installed. Warns about an untested version of awkward-cpp, of which
    no kernel is replaced. Also warns about an untested version of awkward: its code between kernels, and on GPUs, is not replaced.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.register()
    >>> ak.sum(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [51, 0, 52] type='3 * float64'>
    >>> upsweep.awkward.unregister()
    """
    _registration.register()


def unregister():
    """Reverts register(): Awkward Array uses its own kernels again, unless a kernels() context is open.

    Functions that other code has installed since, in place of upsweep's, stay installed. If they call upsweep's functions, these
    still work.
    """
    _registration.unregister()


def registered():
    """Tests whether Awkward Array uses upsweep's kernels, by register() or within kernels()."""
    return _registration.registered()


def kernels():
    """Returns a context within which Awkward Array uses upsweep's kernels, in all threads. Contexts may nest and overlap.

    >>> import awkward as ak, upsweep.awkward
    >>> with upsweep.awkward.kernels():
    ...     ak.sum(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [51, 0, 52] type='3 * float64'>
    >>> upsweep.awkward.registered()
    False
    """
    return _registration.context()
