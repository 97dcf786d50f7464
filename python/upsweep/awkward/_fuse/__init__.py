# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/__init__.py: runs a function of Awkward Arrays in one pass.
"""From a call of a fused function to its result:

purity.py      proves that the function has no side effect, and finds what it reads besides its arguments
instructions.py  what the code of a function reads, calls and changes
guards.py      notices that something has changed since that the function reads
matching.py    compares the arguments of a call with those of a recording
recorder.py    runs the function once on arrays without data, and records its calls as a graph
steps.py       runs a function that needs data, or that is not pure, with plans between its steps
program.py     executes the graph: plans, and Awkward's own functions where plans lack a call
lowering.py    nodes of the graph → values and domains of a plan: positions, masks, broadcasting, subscripts
calls.py       Awkward's functions
numbers.py     NumPy's ufuncs
corrections.py  corrections of correctionlib that the function evaluates
decisions.py   trees of a correction → tables of a plan
histograms.py  histograms of boost-histogram and hist that the function fills
layouts.py     Awkward's layouts → columns of a plan, and outputs of a plan → layouts
arrays.py      what an array is while it is lowered
attributes.py  the attributes of arrays (`attrs`), which results get from arguments
overloads.py   functions of behaviors that overload ufuncs and ak.sum for records
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
from typing import Any

import awkward as ak
import numpy as np

from upsweep.awkward._signatures import AWKWARD

# The recorder uses functions of Awkward that are not public, and the lowering repeats what Awkward's functions do. With
# another version than the tested one, functions run as they are.
TESTED = ak.__version__ == AWKWARD
_CPU = ak.Array([0]).layout.backend
if TESTED:
    from upsweep.awkward._fuse import attributes, corrections, layouts, recorder, steps
    from upsweep.awkward._fuse.guards import Guards
    from upsweep.awkward._fuse.matching import Found, matcher
    from upsweep.awkward._fuse.program import Program, Rerun
    from upsweep.awkward._fuse.purity import Impure, Reach, is_constant

__all__ = ["Fused", "fuse"]

# Recordings of one function: by types of arguments, and by the values of numbers that the function asked for.
_MOST_RECORDINGS = 64
# Recordings for the same types, because something changes that the function reads.
_MOST_CHANGES = 16


# NumPy's state of errors of floats: an object that np.errstate replaces.
_errors = np._core.umath._extobj_contextvar.get if TESTED else np.geterr


def _builder() -> Any:
    from upsweep import _plans

    return _plans.Builder()


class _Refused(Exception):
    """The arguments cannot be recorded."""


class _TypeTracer(Exception):
    """An argument has no data: the function itself computes the types."""


class Arguments:
    """The arguments of one call: the key of their types, and their arrays and numbers in order."""

    __slots__ = ("backend", "buffers", "key", "numbers", "objects", "places", "static", "values")

    def __init__(self, args: tuple, kwargs: dict, static: set[int]):
        self.buffers = layouts.Buffers()
        self.key: list[Any] = []
        self.values: list[Any] = []
        self.objects: list[Any] = []  # that are constants of the recording
        self.places: dict[int, int] = {}  # of arrays by their id: an array may be two arguments
        self.static = static
        self.backend: str | None = None  # Awkward's, of all arrays
        self.numbers = False  # whether there are arguments whose identity the recording does not keep
        self.key.append(len(args))
        for x in args:
            self._visit(x)
        self.key += kwargs
        for x in kwargs.values():
            self._visit(x)

    def _visit(self, x: Any) -> None:
        key = self.key
        kind = type(x)
        if isinstance(x, ak.Array):
            if isinstance(x, steps.Pending):
                raise _TypeTracer
            place = self.places.setdefault(id(x), len(self.values))
            if place != len(self.values):
                key.append(place)
                return
            backend = x._layout._backend
            if backend is not _CPU:
                if not backend.nplike.known_data:
                    raise _TypeTracer
                if backend.name != "cuda":
                    raise _Refused(f"an array of the backend {backend.name}")
            if self.backend not in (None, backend.name):
                raise _Refused("arrays of two backends")
            self.backend = backend.name
            key.append(backend.name)
            if not attributes.supported(x):
                raise _Refused("an array with named axes")
            key.append(kind)
            key.append(id(x._behavior) if x._behavior is not None else None)
            if x._attrs:
                key.append(attributes.key(x))
            self.values.append(x)
            self.buffers.add(x)
        elif kind in (int, float) or (isinstance(x, np.number) and not isinstance(x, np.complexfloating | np.timedelta64)):
            key.append(kind)
            if len(self.values) in self.static:
                key.append(repr(x))
            elif kind is int and not -(1 << 63) <= x < 1 << 63:
                raise _Refused("an integer beyond int64")
            self.values.append(x)
            self.numbers = True
        elif kind is dict:
            self.numbers = True
            if not all(type(name) is str for name in x):
                raise _Refused("a dict whose keys are not strings")
            key.append(tuple(x))
            for y in x.values():
                self._visit(y)
        elif kind is tuple or kind is list:
            self.numbers = True
            key.append(kind)
            key.append(len(x))
            for y in x:
                self._visit(y)
        elif x is None or kind in (bool, str, bytes, np.bool_) or isinstance(x, type | np.dtype):
            key.append(kind)
            key.append(x)
            self.numbers |= kind in (str, bytes, np.bool_)
            if isinstance(x, type):
                self.objects.append(x)
        elif isinstance(x, ak.Record):
            raise _Refused("an argument of type Record")
        elif is_constant(x):
            known = corrections.key(x)  # of an object that subscripts of its CorrectionSet make
            key.append(id(x) if known is None else known)
            self.numbers |= known is not None
            self.objects.append(x)
        else:
            raise _Refused(f"an argument of type {kind.__name__}")

    def recorded(self, graph: recorder.Graph, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments of the recording: arrays without data and numbers."""
        made: dict[int, recorder.Lazy] = {}
        numbers = iter([i for i, x in enumerate(self.values) if not isinstance(x, ak.Array)])

        def over(x: Any) -> Any:
            kind = type(x)
            if isinstance(x, ak.Array):
                place = self.places[id(x)]
                if place not in made:
                    made[place] = recorder.array_input(graph, place, x)
                return made[place]
            if kind in (int, float) or (isinstance(x, np.number) and not isinstance(x, np.complexfloating | np.timedelta64)):
                i = next(numbers)
                return x if i in self.static else recorder.number_input(graph, i, x)
            if kind is dict:
                return {name: over(y) for name, y in x.items()}
            return kind([over(y) for y in x]) if kind in (tuple, list) else x

        return over(args), over(kwargs)


class _Entry:
    """A recording: a program, or why there is none; what the function has read; and a function that finds the same arguments."""

    __slots__ = ("guards", "match", "program")

    def __init__(self, program: Program | str, guards: Guards, match: Any):
        self.program = program
        self.guards = guards
        self.match = match


class Fused:
    """The result of fuse(): a function that runs in one pass over its arrays."""

    def __init__(self, function: Any, threads: int | None, exact: bool = False, new_builder: Any = _builder):
        functools.update_wrapper(self, function)
        self._function = function
        self._threads = threads
        self._exact = exact
        self._new_builder = new_builder
        self._entries: dict[tuple, _Entry] = {}
        self._last: _Entry | None = None  # the one of the last call, if it can find its arguments
        self._calm: Any = None  # a state of errors for which plans run
        self._changes: dict[tuple, int] = {}
        self._static: set[int] = set()  # the places of numbers whose values belong to the key
        # Of self._entries and self._static; not held while a function is recorded or runs.
        self._lock = threading.Lock()
        self._steps = steps.Steps(new_builder, exact) if TESTED else None
        self.reason: str | None = None  # why the last call of any thread was not one recording

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        return self.__qualname__ if found is self else (Fused, (self._function, self._threads, self._exact))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last, errors = self._last, _errors()
        if last is not None and errors is self._calm:
            found = last.match(args, kwargs)
            if found is not None and last.guards.changed() is None:
                return self._executed(last.program, found, args, kwargs)
        if TESTED and not recorder.calm(np.geterr()):
            return self._alone("NumPy raises or reports errors of floats", args, kwargs)
        self._calm = errors
        try:
            found, program = self._found(args, kwargs)
        except _TypeTracer:
            return self._function(*args, **kwargs)
        except _Refused as why:
            return self._in_steps(str(why), args, kwargs)
        if isinstance(program, str):
            return self._in_steps(program, args, kwargs)
        return self._executed(program, found, args, kwargs)

    def _executed(self, program: Program, found: Found, args: tuple, kwargs: dict) -> Any:
        if program.refused is not None:
            return self._alone(program.refused, args, kwargs)
        try:
            made = program.run(found, self._threads)
        except Rerun as why:
            return self._alone(str(why), args, kwargs)
        except Exception as error:  # noqa: BLE001 - the function raises the error again, at the line that is wrong
            made = self._alone(f"{type(error).__name__}: {error}", args, kwargs)
            program.refused = self.reason  # the function has raised no error: its calls cannot be executed one by one
            return made
        self.reason = None
        return made

    def _alone(self, reason: str, args: tuple, kwargs: dict) -> Any:
        self.reason = reason
        return self._function(*args, **kwargs)

    def _in_steps(self, reason: str, args: tuple, kwargs: dict) -> Any:
        return self._run(reason, args, kwargs)[0]

    def _run(self, reason: str, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        """Runs a function that cannot be recorded as a whole, with plans between its steps. Returns the result and the session,
        which is None if Awkward has executed the whole function."""
        if self._steps is None:
            return self._alone(reason, args, kwargs), None
        self.reason = reason
        made, session = self._steps.run(self._function, args, kwargs, self._threads)
        if isinstance(session, str):
            self.reason = f"{reason}; {session}"
            session = None
        return made, session

    def _found(self, args: tuple, kwargs: dict) -> tuple[Found, Program | str]:
        if not TESTED:
            raise _Refused(f"upsweep.awkward.fuse was tested with awkward {AWKWARD}, not with {ak.__version__}")
        while True:
            arguments = Arguments(args, kwargs, self._static)
            if arguments.backend == "cuda" and self._exact:
                raise _Refused("exact=True: NumPy's own functions do not run on a GPU")
            key = (*arguments.key, *arguments.buffers.key)
            entry = self._entries.get(key)
            found = Found(arguments.values, arguments.buffers.columns, arguments.buffers.lengths, False)
            changed = None if entry is None else entry.guards.changed()
            if entry is not None and changed is None:
                if entry.match is not None:
                    self._last = entry
                return found, entry.program
            if entry is None and len(self._entries) >= _MOST_RECORDINGS:
                return found, f"there are {_MOST_RECORDINGS} recordings of the function"
            if self._changes.get(key, 0) >= _MOST_CHANGES:
                return found, f"{changed} changes between calls"
            guards = Guards()
            guards.kept = arguments.objects
            made = self._record(arguments, args, kwargs, guards)
            with self._lock:
                if isinstance(made, set):
                    self._static = self._static | made
                    continue
                if entry is not None:
                    self._changes[key] = self._changes.get(key, 0) + 1
                match = matcher(args, kwargs, self._static) if isinstance(made, Program) else None
                self._entries[key] = _Entry(made, guards, match)
            return found, made

    def _record(self, arguments: Arguments, args: tuple, kwargs: dict, guards: Guards) -> Program | str | set:
        """A program; why there is none; or the places of numbers whose values the function needs."""
        reach = Reach(guards)
        try:
            reach.arrays([x for x in arguments.values if isinstance(x, ak.Array)])
            reach.follow(self._function, arguments.objects)
            if reach.identities and arguments.numbers:
                raise Impure("compares identities, which numbers and strings do not keep")
        except Impure as why:
            return f"the function {why}"
        except Exception as error:  # noqa: BLE001 - of an attribute or a method that the user has written
            return f"the function uses an object that cannot be followed: {type(error).__name__}: {error}"
        graph = recorder.Graph()
        graph.backend = arguments.backend or "cpu"
        try:
            recorded_args, recorded_kwargs = arguments.recorded(graph, args, kwargs)
            recording = recorder.record(graph, self._function, recorded_args, recorded_kwargs, guards)
            reach.recorded(graph)
        except Impure as why:
            reason = f"the function {why}"
        except Exception as error:  # noqa: BLE001 - the function itself raises its error, on its real arguments
            of_error = f"{type(error).__name__}: {error}".partition("\n")[0]
            reason = graph.failure or of_error if isinstance(error, recorder.NotRecorded) else of_error
        else:
            reason = None
        changed = guards.changed()
        if changed is not None:
            guards.restore()
            return f"the function changes {changed}"
        if graph.needed and not graph.failure:
            return graph.needed
        return Program(recording, self._new_builder, self._exact) if reason is None else reason

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Runs the function and returns what was fused: the plans, and each call that Awkward executed, with the reason."""
        from upsweep.awkward._fuse.explain import explanation, explanation_of_steps

        try:
            found, program = self._found(args, kwargs)
        except _TypeTracer:
            return "not fused: an argument is a type tracer"
        except _Refused as why:
            program = str(why)
        if isinstance(program, str):
            return self._explain_steps(program, args, kwargs, explanation_of_steps)
        return explanation(program, found, self._threads)

    def stream(self, paths: Any, *args: Any, columns: Any = None, progress: bool | None = None, **kwargs: Any) -> Any:
        """Runs the function on the events of files that may be larger than memory, and returns the sum of its results.

        The function's first argument is an array with the events of a batch: one or more row groups of a Parquet file, or about 256
        MiB of a ROOT file, which uproot reads. While it runs, the next batch is read. Memory holds at most these two batches, and
        the results.

        Results may be histograms and numbers, which are added, and Awkward Arrays, which are concatenated, alone or in dicts,
        lists and tuples. They are combined in the order of the files and of their rows. A number that is a maximum or a
        mean is also added.

        Args:
            paths: a file, a pattern such as "data/*.parquet", or a list of these. `file.root:events` names a tree; it may be left
                out if the file has one tree only.
            *args: more arguments of the function
            columns: the names of the columns that are read, such as "Jet_pt" or "jets.pt"; by default all
            progress: whether the terminal shows how many events were processed; by default if standard error is a terminal
            **kwargs: more arguments of the function

        Raises:
            FileNotFoundError: no file matches a path
            ValueError: a file is of another kind, or lacks a column or a tree; results of batches cannot be combined
            TypeError: a result is neither a histogram, a number nor an Awkward Array

        An error of the function or of reading has a note that says in which file and rows it was raised.
        """
        from upsweep.awkward._fuse.stream import stream

        return stream(self, paths, args, kwargs, columns, progress)

    def _explain_steps(self, reason: str, args: tuple, kwargs: dict, explanation: Any) -> str:
        try:
            session = self._run(reason, args, kwargs)[1]
        except Exception as error:  # noqa: BLE001 - the function raises it when it is called
            return f"not fused: {reason}; these arguments: {type(error).__name__}: {error}"
        return f"not fused: {self.reason}" if session is None else explanation(reason, session)


def fuse(function: Any = None, *, threads: int | None = None, exact: bool = False) -> Any:
    """Returns the function, which then runs in one pass over its arrays.

    The function's arguments are arrays, numbers, strings, and tuples, lists and dicts of these. It is executed once on arrays
    without data, to record its calls of Awkward and NumPy. Each later call with the same types runs the recorded calls by blocks
    of events, on all cores. Numbers may differ from call to call.

    Globals, closures and objects that the function reads are compared in each call. If one has changed, the function is recorded
    again. A function that changes something, or that reads files, clocks or random numbers, runs in steps.

    Results, their types and errors are Awkward's. Calls that cannot be fused are executed by Awkward. If the function depends on
    data in another way (a length, a condition, NumPy, random numbers), it runs in steps: Python executes it in each call, and
    plans compute what a step needs. `explain()` says what was fused.

    ndarrays that a function in steps gets from its arrays are copies: writing to them does not change the arrays. A function that
    handles exceptions runs as it is.

    A function may create histograms of boost-histogram or hist, fill them, and return them. Plans count values in the cache and do
    not store them. This applies to the storages Double, Int64, AtomicInt64 and Weight, and to the axes Regular, Variable, Integer,
    IntCategory and Boolean that neither grow nor are circular nor have a transform. Any axis may have one number or string as its
    value. boost-histogram fills other histograms. A function that reads bins after `fill` runs in steps.

    Corrections of correctionlib are evaluated in the same pass: bins, categories, formulas, transformations and CompoundCorrections.
    correctionlib evaluates the others.

    Counts are those of the function itself. So are sums of weights, if they are exact in float64. Other sums may be rounded
    differently: of n weights by at most n * 2**-53 times the sum of their absolute values. They do not depend on the number of threads.

    Results may share memory with the arguments and with each other.

    Args:
        function: a function of Awkward Arrays
        threads: the maximum number of threads; by default one per core
        exact: elementary functions (sin, exp, power, hypot and their kin) have the bits of NumPy on this machine. Otherwise they are
            upsweep's own: within 1 ulp, faster, and with the same bits on every machine.

    >>> @upsweep.awkward.fuse
    ... def masses(muons, least):
    ...     pairs = ak.combinations(muons[muons.pt > least], 2, fields=["a", "b"])
    ...     ...
    """
    if function is None:
        return functools.partial(fuse, threads=threads, exact=exact)
    if not callable(function) or inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(f"fuse: a function is needed, not {type(function).__name__}")
    if not TESTED:
        warnings.warn(
            f"upsweep.awkward.fuse was tested with awkward {AWKWARD}, not with {ak.__version__}: the function runs as it is",
            RuntimeWarning,
            stacklevel=2,
        )
    if isinstance(function, Fused) and (function._threads, function._exact) == (threads, exact):
        return function
    return Fused(function, threads, exact)
