# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_table.py: puts upsweep's C functions into the table in which Awkward Array looks up its kernels.
import contextlib
import ctypes
import importlib.metadata
import threading
import warnings

from upsweep._libraries import library_path
from upsweep.awkward._hooks import Hooks
from upsweep.awkward._signatures import AWKWARD_CPP, SIGNATURES

# Awkward looks kernels up on each call, so that an entry that is replaced counts from the next call on.


def signature(kernel):
    """The arguments of a ctypes function: their codes as ctypes has them, pointers with `*`."""

    def code(argument):
        return "*" + code(argument._type_) if issubclass(argument, ctypes._Pointer) else argument._type_

    return " ".join(map(code, kernel.argtypes))


def returns_error(kernel):
    """Whether the kernel returns Awkward's struct of two strings and two numbers."""
    fields = [(name, kind) for name, kind in getattr(kernel.restype, "_fields_", [])]
    text, number = ctypes.c_char_p, ctypes.c_int64
    return fields == [("str", text), ("filename", text), ("id", number), ("attempt", number)]


def awkward_table():
    """Awkward's kernels by their keys; none where it keeps them in another way."""
    import awkward_cpp  # where it is not installed, this says so

    cpu_kernels = getattr(awkward_cpp, "cpu_kernels", None)
    table = getattr(cpu_kernels, "kernel", None)
    return table if isinstance(table, dict) else {}


def stand_ins(table, library):
    """Ours by their keys in `table`, and the names of those whose entry there is not what ours was built for."""
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


def warn_of_changes(version, ours, changed):
    if version == AWKWARD_CPP and not changed:
        return
    text = f"upsweep has kernels for awkward-cpp {AWKWARD_CPP}, and has not been tested with {version}"
    if changed:
        names = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        text += f": {len(changed)} kernels have changed there, and stay Awkward's ({names}); {len(ours)} are upsweep's"
    warnings.warn(text, RuntimeWarning, stacklevel=4)


class Registration:
    """Which entries of Awkward's table are ours, and whether they and the hooks are there: by register(), or while contexts are
    open."""

    def __init__(self):
        self._lock = threading.RLock()
        self._table = None  # Awkward's
        self._ours = {}
        self._theirs = {}
        self._hooks = None
        self._for_good = False
        self._contexts = 0

    def _load(self):
        if self._table is not None:
            return
        table = awkward_table()
        library = ctypes.CDLL(str(library_path("upsweep-awkward")))
        self._ours, changed = stand_ins(table, library)
        self._theirs = {key: table[key] for key in self._ours}
        self._hooks = Hooks(library)
        self._table = table
        warn_of_changes(importlib.metadata.version("awkward-cpp"), self._ours, changed + self._hooks.changed)

    def _update(self, for_good, contexts):
        """Callers hold the lock."""
        if for_good or contexts > 0:
            self._load()
            self._table.update(self._ours)
            self._hooks.put()
        elif self._table is not None:
            self._table.update(self._theirs)
            self._hooks.take_back()
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
    """Awkward Array uses upsweep's kernels from the next operation on, in all threads; to call it again changes nothing. Where CuPy
    is installed, it does so for arrays on a GPU, too.

    Raises ImportError where awkward or upsweep's library is not installed. Warns of an awkward-cpp that it was not tested with:
    kernels that have other arguments there stay Awkward's.

    >>> import awkward as ak, upsweep.awkward
    >>> upsweep.awkward.register()
    >>> ak.sum(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [51, 0, 52] type='3 * float64'>
    >>> upsweep.awkward.unregister()
    """
    _registration.register()


def unregister():
    """Takes register() back: Awkward Array uses its own kernels, but for as long as a kernels() is open."""
    _registration.unregister()


def registered():
    """Whether Awkward Array uses upsweep's kernels, by register() or within kernels()."""
    return _registration.registered()


def kernels():
    """A context within which Awkward Array uses upsweep's kernels, in all threads; contexts may nest and overlap.

    >>> import awkward as ak, upsweep.awkward
    >>> with upsweep.awkward.kernels():
    ...     ak.sum(ak.Array([[31.0, 20.0], [], [52.0]]), axis=1)
    <Array [51, 0, 52] type='3 * float64'>
    >>> upsweep.awkward.registered()
    False
    """
    return _registration.context()
