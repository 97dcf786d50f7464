# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/steps.py: runs a function that needs data between its calls, with plans between these steps.
"""A function that needs data (a length, a condition, an ndarray, a random number) or that changes something cannot be replayed. Here
it is therefore executed in each call, by Python, on arrays that are computed late:

- A call on a Pending array is not executed. It returns another Pending array, which has a type and no data yet.
- A step that needs data gets it: `len(x)`, `if ak.any(x)`, `np.asarray(x)`, a call that cannot be traced, code of other libraries.
  The graph is cut there. The values are computed, the step runs on them, and the function continues with its real result.
- Results of such steps that later calls use are inputs of the next plan.

No value is ever assumed, because each decision of the function is made by the function itself, on real data. Therefore no proof is
needed that the function is pure: globals, objects, random numbers and attributes are used as in any call of Python. An alternative
was to replay recorded outcomes of decisions. It would need a proof of purity, and one recording for each outcome.

**Traces.** The calls of a function form a path in a tree, which all calls with the same types share. An edge is a call with its
constants; a node has the type of the result. A call that was seen before at the same place is thus found in a dict, without a type
tracer. The first call on a path executes each call at once, in Awkward. Later calls find in the tree what the path needs. One
plan computes all of it that does not depend on a later step. If the function takes another path, such values are not used. A plan that fails on values that nobody asked for has no effect: Awkward executes what was asked for.

**Errors** of calls appear when a later step needs data, or at the end: it runs only if the calls before it do not fail. The error
that the caller gets is the first one in the order of calls. Arrays from before that call are computed nevertheless.
Code that handles exceptions would notice the delay; it runs in Awkward.

**Memory.** ndarrays and other arrays that enter a trace are copied, and so are ndarrays that leave it. Writing to such an ndarray
does not change the array that it came from.
The first call on a path does not copy what enters. If the function changes an ndarray that has become part of an array, this
call is thus right, and later calls run in Awkward. A change in a later call only is an error.
Values that nobody can ask for any more are forgotten each time that 32 MiB have been added.
"""

from __future__ import annotations

import copy
import dis
import functools
import operator
import sys
import threading
import types
import weakref
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
from awkward._attrs import Attrs
from awkward._behavior import get_array_class
from awkward._connect.numpy import implemented as _of_numpy
from awkward._errors import ErrorContext
from awkward._nplikes.typetracer import MaybeNone, OneOf, TypeTracerArray

from upsweep.awkward._fuse import attributes, corrections, layouts, overloads
from upsweep.awkward._fuse.callbacks import VECTOR, Callback, is_called_by_vector, key_of_vectors, library_of
from upsweep.awkward._fuse.instructions import words
from upsweep.awkward._fuse.program import Program, _may_raise, nodes_in, replaced
from upsweep.awkward._fuse.purity import _mentions, _trusted, record_names
from upsweep.awkward._fuse.recorder import Graph, Node, calm

_MOST_NODES = 1 << 14  # of a tree
_MOST_EDGES = 16  # of a node: constants that differ in each call
_MOST_TREES = 64
_MOST_ITEMS = 64  # of a list in a call
_MOST_STAGES = 200  # of one step
_MOST_FAILURES = 3  # of one plan
_COLLECTED = 1 << 25  # bytes of new values, after which those that nobody needs are forgotten

MISSING = object()
EAGER = object()  # an edge: a call that needs data


class Overload:
    """An edge: a ufunc or ak.sum, which a library overloads for its records. The library's function gets the pending arrays."""

    __slots__ = ("function",)

    def __init__(self, function: Any):
        self.function = function


_ON_CPU = ak.Array([0]).layout
_CPU = _ON_CPU.backend


class Call(Node):
    """A node of a tree: a call after the calls on the path to it."""

    __slots__ = ("behaves", "below", "cls", "complete", "edges", "last", "own", "parts", "raises", "virtual", "wanted")

    def __init__(self, graph: Graph, kind: str, function: Any, args: tuple, kwargs: dict, meta: Any):
        super().__init__(graph, kind, function, args, kwargs, meta, frozenset())
        self.below = tuple(nodes_in((args, kwargs)))
        self.edges: dict[tuple, Any] = {}
        self.last: Call | None = None  # the call that followed most recently
        self.parts: tuple | list | None = None  # of a result that is a tuple or a list
        self.wanted = False  # whether a step has needed the data
        self.complete = False  # whether a call of the function that came here has ended
        self.virtual = False  # whether plans compute the fields, but not the array itself
        self.raises = kind != "root" and _may_raise(self)
        self.behaves: bool | None = None  # whether the user's behaviors may replace functions of Awkward
        self.cls, self.own = None, None
        if isinstance(meta, ak.Array):
            self.cls = pending_class(get_array_class(meta._layout, meta._behavior))
            self.own = {"_behavior": meta._behavior}


class State:
    """The plans of one tree by the place at which a call of the function needs data, after the same earlier plans."""

    __slots__ = ("steps",)

    def __init__(self):
        self.steps: dict[tuple, Step | None] = {}


class _Errors:
    """The states of NumPy's errors in which nodes were recorded."""

    @staticmethod
    def get(node: Node, _default: Any) -> dict:
        return node.errors


class Step(Program):
    """The stages that compute what a path needs from the arrays that there are."""

    def __init__(self, tree: Tree, outputs: list[Node], unused: set[Node]):
        self.new_builder = tree.new_builder
        self.exact = tree.exact
        self.outputs = outputs
        self.unused = unused
        self.errors = _Errors
        self.lock = tree.lock
        self.is_plain = False
        self.next: dict[tuple, Any] = {}
        self.checked: set[Node] = set()
        self.covered: set[Node] = set()  # what this computes on the way
        self.after = State()
        self.after_failure = State()
        self.failures = 0
        self.stages_run: list[Any] = []
        self.needs: dict[Any, tuple] = {}

    def _needed(self, stage: Any, there: dict[Node, Any]) -> tuple[list[Node], list[Node]]:
        """As of the first call: after the same steps the same nodes are there."""
        if stage not in self.needs:
            self.needs[stage] = super()._needed(stage, {node: x for node, x in there.items() if not node.virtual})
        return self.needs[stage]

    def compute(self, there: dict[Node, Any], threads: int | None) -> int:
        """Adds the outputs to `there`. Returns the bytes that plans have written."""
        stage: Any = self
        written = 0
        stages: list[Any] = []
        while True:
            stage, buffers = self._following(stage, there)
            if len(stages) >= _MOST_STAGES:
                raise AssertionError("a step without an end")
            for node in stage.reasons:
                node.virtual = node in stage.lowered and layouts.is_union(node.meta._layout)
            stages.append(stage)
            written += sum(x.nbytes for x in stage.run(there, buffers, threads) if isinstance(x, np.ndarray))
            if stage.is_last:
                self.stages_run = stages
                return written


class Tree:
    """The paths of calls for arguments of the same types."""

    def __init__(self, new_builder: Any, exact: bool, lock: Any):
        self.new_builder = new_builder
        self.exact = exact
        self.lock = lock
        self.graph = Graph()
        self.root = Call(self.graph, "root", None, (), {}, None)
        self.start = State()
        self.kept: list[Any] = []  # objects whose ids are in the key
        self.noticed: str | None = None  # why the arrays' behaviors could notice that arrays are pending

    def add(self, at: Call, key: tuple, made: Any) -> Any:
        """Adds an edge, unless another thread has."""
        if key in at.edges:
            return at.edges[key]
        if isinstance(made, Call) and any(isinstance(x, Call) for x in at.edges.values()):
            self.start = State()  # plans compute only what all paths have in common
        at.edges[key] = made
        return made


def _following_calls(at: Call) -> list[Call]:
    """The calls after a node, as far as all earlier calls of the function have agreed."""
    found = []
    while True:
        ways = [x for x in at.edges.values() if isinstance(x, Call)]
        if len(ways) != 1:
            return found
        at = ways[0]
        found.append(at)
        found += at.parts or ()


# -------------------------------------------------------------------------------------------------------------- a call


class Session:
    """One call of a function."""

    def __init__(self, tree: Tree, threads: int | None):
        self.tree = tree
        self.threads = threads
        self.at = tree.root
        self.path: list[Call] = []
        self.there: dict[Node, Any] = {}
        self.checked: set[Node] = set()
        self.arguments: list[Any] = []  # pending arrays
        self.new_bytes = 0  # of values since the last collection
        self.dropped: set[Node] = set()  # whose values nobody can ask for any more
        self.done = 0  # length of the part of the path whose calls are known to raise no error
        self.alive: list[Any] = []  # weak references to the pending arrays
        self.state = tree.start
        self.error: BaseException | None = None
        self.failed: Node | None = None  # the call that raised the error, unless it was not traced
        self.lock = threading.RLock()
        # Arguments, names of fields, their values, and the length of the path when they were set.
        # Without a name, the value is the new array.
        self.assignments: list[tuple[ak.Array, Any, Any, int]] = []
        self.references: dict[Node, int] = {}  # pending arrays that hold the values of a node
        self.copies: set[Node] = set()  # inputs that were ndarrays
        # ndarrays that were inputs, by their ids: a weak reference to the ndarray, its copy, and the node.
        self.ndarrays: dict[int, tuple[weakref.ref, np.ndarray, Call]] = {}
        # ndarrays and layouts that entered by calls whose results may share their memory, copies, and the nodes.
        self.entered: list[tuple[Any, Any, Call]] = []
        self.held: list[Any] = []  # arrays with fields that were set in the first call on a path
        self.changed = False  # whether the function has changed one of these in place
        self.is_lost = False  # whether the calls are no longer traced
        self.steps: list[Step] = []
        self.by_awkward = 0  # calls that Awkward has executed one by one

    # ---- recording

    def edge(self, key: tuple, make: Any) -> Any:
        """Follows an edge to a Call, an Overload or EAGER. `make` makes what is at its end."""
        found = self.at.edges.get(key)
        if found is None:
            with self.tree.lock:
                if len(self.at.edges) >= _MOST_EDGES or len(self.tree.graph.nodes) >= _MOST_NODES:
                    self.is_lost = True
                    return EAGER
                found = self.tree.add(self.at, key, make())
        if isinstance(found, Call):
            self.at.last = found
            self.at = found
            self.path.append(found)
            if found.parts:
                self.path += found.parts
        return found

    def pending(self, node: Call, place: ak.Array | None = None) -> Any:
        """The array of a node, as the function gets it."""
        cls = node.cls
        if cls is None:
            return self.demand(node)
        made = object.__new__(cls)
        space = made.__dict__
        space.update(node.own)
        space["_fuse_node"], space["_fuse_session"], space["_fuse_argument"] = node, self, place
        if place is None:
            if self.at.complete:
                self.alive.append(weakref.ref(made))
            else:
                self._now(node, made)
        return made

    def _now(self, node: Call, made: Any) -> None:
        """Executes the call of a node in Awkward, since nothing is known of the path. The data are there as long as the array."""
        self.references[node] = self.references.get(node, 0) + 1

        session = weakref.ref(self)

        def forget(_reference: Any) -> None:
            self = session()
            if self is not None:
                self.references[node] -= 1
                if self.references[node] == 0 and node.kind != "input":
                    self.there.pop(node, None)

        self.alive.append(weakref.ref(made, forget))
        self._by_awkward([node])

    def argument(self, key: tuple, array: ak.Array) -> Any:
        node = self.edge(key, lambda: self._input(array))
        if node is EAGER:
            return array
        self.there[node] = _as_it_is(array)
        if node.cls is None:
            return array
        self.arguments.append(self.pending(node, array))
        return self.arguments[-1]

    def _input(self, array: ak.Array) -> Call:
        return attributes.of_node(Call(self.tree.graph, "input", None, (), {}, attributes.type_of(array)))

    def _kept_input(self, array: ak.Array) -> Call:
        self.tree.kept += (array._behavior or {}).values()
        return self._input(array)

    def captured(self, x: Any, copied: bool = True, shared: bool = False) -> Call | None:
        """The input for an array that is not pending. `shared`: whether the call's result may share its memory."""
        if isinstance(x, np.ndarray):
            if type(x) is not np.ndarray or x.ndim == 0 or x.dtype.kind not in "biuf" or not x.dtype.isnative:
                return None
            known = self.ndarrays.get(id(x))
            if known is not None and known[0]() is x and known[1].dtype == x.dtype and _equal_bytes(known[1], x):
                if shared and all(x is not there for there, _, _ in self.entered):
                    self.entered.append((x, *known[1:]))
                return known[2]
            key: tuple = ("ndarray", x.dtype, x.shape[1:])
            self.new_bytes += x.nbytes
            original, x = x, ak.Array(x.copy())
            node = self.edge(key, lambda: self._input(x))
            if node is EAGER:
                return None
            self.there[node] = x if node.complete else ak.Array(original)
            self.ndarrays[id(original)] = (weakref.ref(original), x._layout._data, node)
            self.copies.add(node)
            if shared:
                self.entered.append((original, x._layout._data, node))
            return node
        if not attributes.supported(x) or x._layout.backend is not _CPU:
            return None
        key = key_of(x, is_merged=True)
        original = x
        if copied:
            x = ak.Array(copy.deepcopy(x._layout), behavior=x._behavior, attrs=x._attrs)
        node = self.edge(key, lambda: self._kept_input(x))
        if node is EAGER:
            return None
        self.there[node] = x if node.complete else original
        if copied and shared:
            self.entered.append((original._layout, x._layout, node))
        return node

    def traced(self, kind: str, function: Any, args: tuple, kwargs: dict) -> Any:
        """The result of a call: pending, or real if the call cannot be traced."""
        with self.lock:
            made = EAGER if self.is_lost or not calm(np.geterr()) else self._traced(kind, function, args, kwargs)
            if isinstance(made, Overload):
                return made.function(*args) if kind == "ufunc" else made.function(args[0], False)
            if made is not EAGER:
                if made.parts is not None:
                    return type(made.parts)(self.pending(x) for x in made.parts)
                return self.pending(made)
        return function(*real(args), **real(kwargs))

    def _traced(self, kind: str, function: Any, args: tuple, kwargs: dict) -> Any:
        key: list[Any] = [function, *np.geterr().values()]
        try:
            shared = kind != "ufunc"
            nodes = tuple([self._argument(x, key, shared) for x in args])
            of_kwargs = {}
            for name, x in kwargs.items():
                key.append(name)
                if name == "behavior" and type(x) is dict:
                    key += (id(x), tuple(x), _ids(x))
                    of_kwargs[name] = x
                else:
                    of_kwargs[name] = self._argument(x, key, shared)
        except _NotTraced:
            return EAGER
        return EAGER if self.is_lost else self.edge(tuple(key), lambda: self._made(kind, function, nodes, of_kwargs))

    def _argument(self, x: Any, key: list[Any], shared: bool) -> Any:
        """The argument with nodes instead of arrays. Appends to the key what distinguishes it."""
        kind = type(x)
        if isinstance(x, Pending):
            node = x._fuse_node if x._fuse_session is self else self.captured(x._fuse_real())
        elif isinstance(x, ak.Array | np.ndarray):
            node = self.captured(x, shared=shared)
        else:
            key.append(kind)
            if kind is float or kind is complex:
                key.append(repr(x))
            elif kind in _PLAIN:
                key.append(x)
            elif kind is tuple or kind is list:
                if len(x) > _MOST_ITEMS:
                    raise _NotTraced
                key.append(len(x))
                return kind([self._argument(y, key, shared) for y in x])
            elif kind is dict:
                key.append(tuple(x))
                return {name: self._argument(y, key, shared) for name, y in x.items()}
            elif kind is slice:
                return slice(*(self._argument(y, key, shared) for y in (x.start, x.stop, x.step)))
            elif isinstance(x, np.number | np.bool_):
                key += (x.dtype, x.tobytes())
            elif isinstance(x, np.dtype) or (isinstance(x, type) and type(x) is type and issubclass(x, _NUMBERS)):
                key.append(x)
            else:
                known = key_of_vectors(x)
                if known is None:
                    raise _NotTraced
                key.append(known)
                return Callback(x)
            return x
        if node is None:
            raise _NotTraced
        key.append(node)
        return node

    def _made(self, kind: str, function: Any, args: tuple, kwargs: dict) -> Any:
        """The node of a call that was not seen at this place before."""
        behavior = kwargs.get("behavior")
        if behavior is not None:
            self.tree.kept += (behavior, *behavior.values())  # their ids are in the key
            if notices(*behavior.values()) is not None:
                return EAGER
        callback = args[0] if function is ak.transform and args and isinstance(args[0], Callback) else None
        if function in _EAGER and callback is None:
            return EAGER
        metas = replaced(list(args), _meta)
        of_kwargs = replaced(kwargs, _meta)
        custom = overloads.of_ufunc(function, metas) if kind == "ufunc" else None
        if function is ak.sum:
            custom = overloads.of_sum(*metas, **of_kwargs)
        if not _is_library(custom):
            custom = None
        is_moved = kind in ("field", "item") or function in _MOVES
        if custom is None and not is_moved and any(map(_behaves, nodes_in((args, kwargs)))):
            return EAGER
        try:
            with _OwnErrors():
                meta = function(*metas, **of_kwargs)
                if custom is not None and kind == "ufunc":
                    found = overloads.used(custom, metas, meta)
                    return EAGER if found is None else Overload(found[0])
                if custom is not None:
                    return Overload(custom) if overloads.passed_on(custom(metas[0], False), meta) else EAGER
        except Exception:  # noqa: BLE001 - Awkward raises it again, on real arrays
            return EAGER
        if callback is not None and callback.expressions is None:
            return EAGER
        graph = self.tree.graph
        if isinstance(meta, tuple | list) and meta and all(isinstance(x, ak.Array) for x in meta):
            whole = Call(graph, kind, function, args, kwargs, None)
            whole.parts = type(meta)([Call(graph, "part", operator.getitem, (whole, i), {}, x) for i, x in enumerate(meta)])
            return whole if all(x.cls is not None and attributes.are_of_inputs(x.meta) for x in whole.parts) else EAGER
        if isinstance(meta, ak.Array):
            made = Call(graph, kind, function, args, kwargs, meta)
            return made if made.cls is not None and attributes.are_of_inputs(meta) else EAGER
        if isinstance(meta, TypeTracerArray | MaybeNone | OneOf) and getattr(meta, "ndim", 0) == 0:
            return Call(graph, kind, function, args, kwargs, meta)
        return EAGER

    # ---- computing

    def demand(self, node: Call) -> Any:
        """The value of a node."""
        node.wanted = True
        found = self.there.get(node, MISSING)
        if found is not MISSING:
            return found
        with self.lock:
            if self.error is not None:
                raise self.error
            if not self._compute(node, [node]):
                self._by_awkward([node, *self._unchecked()])
            return self.there[node]

    def _unchecked(self) -> list[Call]:
        """The calls so far whose errors are not known. Code that gets data may have side effects, which a call that fails prevents."""
        path, at = self.path, self.done
        there, checked = self.there, self.checked
        while at < len(path) and (not path[at].raises or path[at] in checked or path[at] in there):
            at += 1
        self.done = at
        return [x for x in path[at:] if x.raises and x not in there and x not in checked]

    def _compute(self, place: Any, nodes: list[Call]) -> bool:
        """Computes nodes, and all that the path needs later, with plans. Returns False if that is not possible.
        `place`: what distinguishes this step at this node."""
        if self.at.complete:
            key = (self.at, place)
            step = self.state.steps.get(key, MISSING)
            if step is MISSING:
                with self.tree.lock:
                    step = self.state.steps[key] = self._step(nodes, place)
            if step is None:
                return True
            if step.failures < _MOST_FAILURES:
                try:
                    with _OwnErrors():
                        self.new_bytes += step.compute(self.there, self.threads)
                    self.checked |= step.covered
                    self.state = step.after
                    self.steps.append(step)
                    if self.new_bytes > _COLLECTED:
                        self._collect(nodes)
                    return True
                except Exception:  # noqa: BLE001 - of this plan, which may compute more than the function asks for
                    step.failures += 1
            self.state = step.after_failure
        return False

    def _step(self, nodes: list[Call], place: Any) -> Step | None:
        there = self.there
        is_end = isinstance(place, tuple)
        path = self.path if is_end else [*self.path, *_following_calls(self.at)]
        is_computable: dict[Node, bool] = {}
        for node in path:
            is_computable[node] = node in there or (node.kind != "input" and all(is_computable[x] for x in node.below))
        wanted = {*nodes, *(x for x in path if x.wanted and x not in self.dropped)}
        needed = _ancestors(wanted, there)
        outputs = {x: None for x in nodes if x not in there}
        for node in path:
            if node in needed and node not in there:
                if is_computable[node]:
                    if node in wanted:
                        outputs[node] = None
                else:
                    for x in node.below:
                        if is_computable[x] and x not in there and not _is_records(x):
                            outputs[x] = None
        covered = _ancestors(outputs, there)
        unused = {
            x
            for x in path
            if x.raises
            and is_computable[x]
            and x not in there
            and x not in self.checked
            and x not in needed
            and x not in covered
        }
        unused |= {x for x in self._unchecked() if x not in covered}
        if not outputs and not unused:
            return None
        made = Step(self.tree, sorted(outputs, key=lambda x: x.position), unused)
        made.covered = _ancestors([*outputs, *unused], there)
        return made

    def _collect(self, nodes: list[Call]) -> None:
        """Forgets the values that neither `nodes`, arrays and ndarrays of the function, nor its next calls need."""
        self.ndarrays = {key: known for key, known in self.ndarrays.items() if known[0]() is not None}
        todo = [*nodes, *self._unchecked(), *_following_calls(self.at)]
        todo += [x._fuse_node for x in (*self._alive(), *filter(self._is_pending, self.arguments))]
        todo += [node for _, _, node in self.ndarrays.values()]
        todo += [x for _, _, what, _ in self.assignments for x in nodes_in(what)]
        seen: set[Node] = set()
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                if node not in self.there:
                    todo += node.below
        for node in [x for x in self.there if x not in seen and (x.kind != "input" or x in self.copies)]:
            del self.there[node]
            self.dropped.add(node)
        self.new_bytes = 0

    def _by_awkward(self, nodes: Any) -> None:
        """Executes the calls that nodes need, one by one. Raises the first error of the path."""
        try:
            self._execute(_ancestors(nodes, self.there))
        except Exception as error:  # noqa: BLE001 - raised again
            self.fail(error)
            # The error has its note. The call of Awkward that needs the values adds none.
            ErrorContext._slate.__dict__.clear()
            raise self.error from None

    def _execute(self, nodes: Any) -> None:
        there = self.there
        for node in sorted(nodes, key=lambda x: x.position):
            if node in there:
                continue
            args, kwargs = replaced(list(node.args), there.__getitem__), replaced(node.kwargs, there.__getitem__)
            self.by_awkward += 1
            try:
                with _OwnErrors(), np.errstate(**node.errors):
                    there[node] = node.function(*args, **kwargs)
            except Exception:
                if self.error is None or self.failed is None:
                    self.failed = node
                raise
            self.checked.add(node)

    def fail(self, error: BaseException) -> None:
        """Notes the first error of the calls so far, which is `error` or an error of an earlier call."""
        if self.error is not None:
            return
        of_error, self.failed = self.failed, None
        self.error = error
        for node in self._unchecked():
            try:
                self._execute(_ancestors([node], self.there))
            except Exception as first:  # noqa: BLE001
                self.error = first
                return
        self.failed = of_error

    # ---- the end

    def _alive(self) -> list[Any]:
        return [x for x in (ref() for ref in self.alive) if x is not None and self._is_pending(x)]

    def _is_pending(self, x: Any) -> bool:
        return x.__dict__.get("_fuse_session") is self

    def finish(self) -> None:
        """Computes the arrays that are still there after the call, and makes them real."""
        held = set(map(id, self.held))  # which the function has not got
        alive = [x for x in self._alive() if id(x) not in held]
        nodes = {x._fuse_node: None for x in alive}
        nodes.update((x, None) for _, _, what, _ in self.assignments for x in nodes_in(what))
        for node in nodes:
            node.wanted = True
        missing = [x for x in nodes if x not in self.there]
        place = ("end", *sorted(x.position for x in missing))
        if not self._compute(place, missing):
            self._by_awkward([*missing, *self._unchecked()])
        for x in alive:
            _become(x, self.there[x._fuse_node])
        for node in self.path:
            node.complete = True
        self.tree.root.complete = True

    def check_entered(self) -> None:
        """Notices that the function has changed an ndarray in place after it became part of an array. The first call on a path
        shares its memory, as Awkward does."""
        different = [node for x, known, node in self.entered if not _is_same(known, x)]
        self.changed = bool(different)
        if any(node.complete for node in different):
            raise RuntimeError(
                "upsweep.awkward.fuse: the function has changed an ndarray in place after it became part of an Awkward Array, "
                "which earlier calls with arguments of these types did not; copy the ndarray before, or do not fuse the function"
            )

    def assign(self, only: Any = None) -> None:
        """Sets the fields of arguments, or of one argument, that the function has set."""
        left = []
        for array, where, what, place in self.assignments:
            if only is not None and array is not only:
                left.append((array, where, what, place))
            elif where is None:
                array.layout = self.demand(what)._layout
            elif what is MISSING:
                del array[where]
            else:
                array[where] = replaced(what, self.demand)
        self.assignments = left

    def salvage(self) -> None:
        """After an error: computes what the function has made before it, one by one, and forgets what it would not have set."""
        for x in self._alive():
            if self._is_computed([x._fuse_node]):
                _become(x, self.there[x._fuse_node])
        end = self.path.index(self.failed) if self.failed in self.path else len(self.path)
        self.assignments = [x for x in self.assignments if x[3] <= end and self._is_computed(nodes_in(x[2]))]

    def _is_computed(self, nodes: Any) -> bool:
        try:
            self._execute(_ancestors(nodes, self.there))
        except Exception:  # noqa: BLE001 - the call that failed, or one after it
            return False
        return True


class _NotTraced(Exception):
    """A call with an argument that is not part of a trace."""


class _OwnErrors:
    """Within it, errors of Awkward name the call that fails, not the one that needs the values."""

    def __enter__(self):
        space = ErrorContext._slate.__dict__
        self.saved = dict(space)
        space.clear()

    def __exit__(self, *_error):
        space = ErrorContext._slate.__dict__
        space.clear()
        space.update(self.saved)


_PLAIN = (type(None), bool, int, str, bytes, types.EllipsisType)
_NUMBERS = (bool, int, float, complex, np.generic)
# Functions that return data, or whose types depend on data.
_EAGER = {
    x for name, x in vars(ak.operations).items() if callable(x) and name.startswith(("to_", "from_")) and name not in
    ("to_packed", "to_regular", "from_regular")
} | {ak.transform, ak.is_valid, ak.validity_error, ak.type, ak.almost_equal, ak.array_equal}  # fmt: skip


# Functions of Awkward that do not ask for behaviors: they choose and move records, and do not compute with them.
_MOVES = {
    getattr(ak, name)
    for name in words(
        """
        argcartesian argcombinations broadcast_arrays cartesian combinations concatenate drop_none fill_none firsts flatten
        is_none local_index mask num pad_none singletons unflatten unzip where with_field with_name without_field zip
        """
    )
}


def _meta(node: Call) -> Any:
    return node.meta


def _is_records(node: Call) -> bool:
    return bool(node.meta is not None and getattr(node.meta, "fields", None))


def _ancestors(nodes: Any, there: Any) -> set[Node]:
    """The nodes with all that they need, except for what is there."""
    found: set[Node] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node not in there and node not in found:
            found.add(node)
            todo += node.below
    return found


def _behaves(node: Call) -> bool:
    """Whether the user's behaviors may replace functions of Awkward for the records of an array."""
    if node.behaves is None:
        node.behaves = False
        meta = node.meta
        for name in record_names(meta._layout) if isinstance(meta, ak.Array) else ():
            for behavior in (ak.behavior, meta._behavior or {}):
                for key, x in behavior.items():
                    is_function = isinstance(key, tuple) and not all(isinstance(y, str) for y in key)
                    node.behaves |= is_function and _mentions(key, name) and not _trusted(x)
    return node.behaves


_WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def _equal_bytes(x: np.ndarray, y: np.ndarray) -> bool:
    if x.shape != y.shape:
        return False
    dtype = _WORDS.get(x.itemsize, np.uint8)
    return bool((x.view(dtype) == np.ascontiguousarray(y).view(dtype)).all())


def _is_same(known: Any, x: Any) -> bool:
    """Whether an ndarray or a layout has the bytes of its copy."""
    if isinstance(x, np.ndarray):
        return _equal_bytes(known, x)
    theirs = ak.to_buffers(x)[2]
    return all(_equal_bytes(np.ascontiguousarray(y), theirs[name]) for name, y in ak.to_buffers(known)[2].items())


def key_of(array: ak.Array, is_merged: bool = False) -> tuple:
    """The key of all that types of results depend on. `is_merged`: whether its behavior may be a new dict in each call."""
    buffers = layouts.Buffers()
    buffers.add(array)
    behavior = array._behavior
    which = None if behavior is None else tuple(behavior) if is_merged else id(behavior)
    kind = (type(array), which, _ids(behavior or {}), attributes.key(array))
    return (*kind, *map(_hashable, buffers.key))


def _ids(behavior: Any) -> tuple:
    """The key of the state of behaviors, which choose classes and overload functions."""
    return tuple(map(id, behavior.values()))


def _hashable(x: Any) -> Any:
    return x if x.__hash__ is not None else repr(x)


def real(x: Any) -> Any:
    """x, a tree of Python's containers, with arrays that have data."""
    if isinstance(x, Pending):
        return x._fuse_real()
    kind = type(x)
    if kind is tuple or kind is list:
        return kind([real(y) for y in x])
    if kind is dict:
        return {name: real(y) for name, y in x.items()}
    if kind is slice:
        return slice(real(x.start), real(x.stop), real(x.step))
    return x


# ----------------------------------------------------------------------------------------------------------- the arrays


class Pending(ak.Array):
    """An array whose data are computed when somebody reads `_layout`. All of Awkward does, so that a function of Awkward that is
    not overridden here gets the real array."""

    _numbaview = _cpp_type = _generator = _lookup = None

    def _fuse_real(self) -> ak.Array:
        return self._fuse_session.demand(self._fuse_node)

    @property
    def _layout(self) -> Any:
        return self._fuse_real()._layout

    @_layout.setter
    def _layout(self, layout: Any) -> None:
        self._fuse_replace(ak.Array(layout, behavior=self._behavior, attrs=self._attrs))

    @property
    def layout(self) -> Any:
        caller = sys._getframe(1)
        if caller.f_code.co_name == "finder":  # Awkward asks each argument of a call for its backend
            return _ON_CPU
        return self._fuse_node.meta._layout if caller.f_globals.get("__name__") == VECTOR else self._layout

    @layout.setter
    def layout(self, layout: Any) -> None:
        self._layout = layout

    def _fuse_replace(self, made: Any) -> None:
        """Becomes another array, in place."""
        if isinstance(made, Pending):
            self.__dict__["_fuse_node"] = made._fuse_node
            self.__class__ = type(made)
            return
        node = self._fuse_session.captured(made, copied=False)
        if node is None or node.cls is None:
            _become(self, made)
        else:
            self.__dict__["_fuse_node"] = node
            self.__class__ = node.cls

    def _update_class(self, restore: Any = None) -> None:
        pass

    def __awkward_function__(self, function: Any, array_likes: Any, args: tuple, kwargs: dict) -> Any:
        if function is ak.backend:
            return "cpu"
        if function is ak.fields:
            return self.fields
        if function is ak.to_layout and is_called_by_vector():
            return self._fuse_node.meta._layout
        function, args = corrections.of_call(function, args)
        made = self._fuse_session.traced("call", function, args, kwargs)
        return made.copy() if isinstance(made, np.ndarray) else made

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return getattr(ufunc, method)(*real(inputs), **real(kwargs))
        return self._fuse_session.traced("ufunc", ufunc, inputs, {})

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        theirs = _of_numpy.get(func)
        if theirs is None:
            return func(*real(args), **real(kwargs))
        return theirs(*args, **kwargs)  # calls Awkward's function of that name

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self._fuse_real().__array__(dtype=dtype).copy()

    def __getitem__(self, where: Any) -> Any:
        is_field = type(where) is str or (type(where) is list and all(isinstance(x, str) for x in where))
        return self._fuse_session.traced("field" if is_field else "item", operator.getitem, (self, where), {})

    def __getattr__(self, where: str) -> Any:
        if hasattr(type(self), where):
            return super().__getattribute__(where)
        if where not in self._fuse_node.meta._layout.fields:
            raise AttributeError(f"no field named {where!r}")
        return self[where]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("_layout", "layout", "__class__"):
            self._fuse_end()
        ak.Array.__setattr__(self, name, value)

    @property
    def attrs(self) -> Any:
        self._fuse_end()
        return self.attrs

    @property
    def _attrs(self) -> Any:
        found = attributes.values(self._fuse_node.meta, self._fuse_session.there)
        return None if found is None else Attrs(found)

    def _fuse_end(self) -> None:
        """Becomes an ordinary array, whose attributes the function sets. An argument shares them with the caller's array."""
        session, argument = self._fuse_session, self._fuse_argument
        if argument is None:
            _become(self, self._fuse_real())
            return
        session.assign(argument)
        self.__class__ = type(argument)
        object.__setattr__(self, "__dict__", argument.__dict__)

    def __setitem__(self, where: Any, what: Any) -> None:
        if not isinstance(where, str) and not (isinstance(where, tuple) and all(isinstance(x, str) for x in where)):
            raise TypeError("only fields may be assigned in-place (by field name)")
        self._fuse_set(ak.with_field(self, what, where), where, what)

    def __delitem__(self, where: Any) -> None:
        if not isinstance(where, str) and not (isinstance(where, tuple) and all(isinstance(x, str) for x in where)):
            raise TypeError("only fields may be removed in-place (by field name)")
        self._fuse_set(ak.without_field(self, where), where, MISSING)

    def _fuse_set(self, made: Any, where: Any, what: Any) -> None:
        argument, session = self._fuse_argument, self._fuse_session
        if isinstance(made, Pending) and not attributes.alike(self._fuse_node.meta, made._fuse_node.meta):
            self._fuse_end()  # the array keeps its attributes
            if what is MISSING:
                del self[where]
            else:
                self[where] = what
            return
        # Computed already, from ndarrays that may change.
        is_known = isinstance(made, Pending) and not session.at.complete
        if is_known:
            session.held.append(made)
        if argument is not None:
            if is_known:
                where, what = None, made._fuse_node
            elif isinstance(what, Pending):
                what = what._fuse_node
            elif what is not MISSING:
                what = copy.deepcopy(what)
            session.assignments.append((argument, where, what, len(session.path)))
        self._fuse_replace(made)

    @property
    def fields(self) -> list[str]:
        return self._fuse_node.meta._layout.fields.copy()

    @property
    def is_tuple(self) -> bool:
        return self._fuse_node.meta._layout.is_tuple

    @property
    def ndim(self) -> int:
        return self._fuse_node.meta._layout.purelist_depth

    def __len__(self) -> int:
        return _length(self._fuse_session, self._fuse_node)

    def __copy__(self) -> Any:
        return self._fuse_session.pending(self._fuse_node)

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.deepcopy(self._fuse_real(), memo)


# In texts, in the notes of errors, and for libraries that look for "awkward" in str(type(x)).
_NAMES = ("__module__", "__name__", "__qualname__")
for _name in _NAMES:
    setattr(Pending, _name, getattr(ak.Array, _name))

_ALIKE = {ak.with_field, ak.without_field, ak.with_name, ak.values_astype}  # as long as their first argument


def _length(session: Session, node: Any) -> int:
    """The length of an array, without its data if possible."""
    there = session.there
    if node in there:
        if not session.at.complete:  # later calls ask for the length in the same way
            _of_length(node, ())[0].wanted = True
        return there[node]._layout.length
    counted, is_mask = _of_length(node, there)
    values = session.demand(counted)
    if is_mask:
        return int(np.count_nonzero(np.asarray(values)))
    length = values._layout.length
    return session.demand(node)._layout.length if length == 1 else length  # one element may have been broadcast


def _of_length(node: Any, there: Any) -> tuple[Any, bool]:
    """An array with the length of `node`, or a mask that selects its elements; and whether it is a mask."""
    while node not in there:
        first = node.args[0] if node.args else None
        where = node.args[1] if node.kind == "item" else None
        is_inner = type(where) is tuple and where and type(where[0]) is slice and where[0] == slice(None)
        if node.kind == "field" or is_inner or (node.function in _ALIKE and isinstance(first, Node)):
            node = first
        elif isinstance(where, Node) and _is_mask(where):
            return where, True
        else:
            break
    return node, False


def _is_mask(node: Call) -> bool:
    layout = node.meta._layout if isinstance(node.meta, ak.Array) else None
    return layout is not None and layout.is_numpy and layout.purelist_depth == 1 and layout.dtype == np.bool_


def _as_it_is(x: ak.Array) -> ak.Array:
    """The array as it is now: its fields and attributes may be set later."""
    made = object.__new__(type(x))
    made.__dict__.update(x.__dict__)
    if x._attrs:
        made.__dict__["_attrs"] = Attrs(x._attrs)
    return made


def _become(x: ak.Array, value: ak.Array) -> None:
    """Makes a pending array an ordinary one."""
    space = x.__dict__
    space.clear()
    space.update(value.__dict__)
    x.__class__ = type(value)


_classes: dict[type, type | None] = {ak.Array: Pending}
_OF_TYPES = {"awkward", "correctionlib", "upsweep", "vector"}


def pending_class(theirs: type) -> type | None:
    """The class of pending arrays with the methods of a behavior. Returns None if the behavior overrides a method of Pending."""
    if theirs not in _classes:
        made = None
        validation = getattr(theirs, "__awkward_validation__", None)
        # Libraries validate names and types of fields, which the type tracer has.
        if (validation is None or _is_library(validation)) and not any(map(_overrides, theirs.__mro__)):
            made = type(theirs.__name__, (Pending, theirs), library_of(theirs))
            for name in _NAMES:
                setattr(made, name, getattr(theirs, name))
        _classes.setdefault(theirs, made)
    return _classes[theirs]


def _overrides(base: type) -> bool:
    is_library = base in ak.Array.__mro__ or base.__module__.partition(".")[0] in _OF_TYPES
    return not is_library and any(name in vars(Pending) and name not in _OF_EVERY_CLASS for name in vars(base))


# Names that Python adds to each class that derives from ak.Array.
_OF_EVERY_CLASS = frozenset(vars(type("", (ak.Array,), {})))


# ---------------------------------------------------------------------------------------------------------- a function


def notices(*objects: Any) -> str | None:
    """Returns why functions and objects could notice that arrays are pending: they handle errors, or ask for exact types."""
    seen: dict[int, Any] = {}
    names: set[str] = set()
    opened: list[tuple[types.ModuleType | dict, int]] = []
    todo = list(objects)
    while todo:
        x = todo.pop()
        if id(x) in seen or _is_library(x):
            continue
        seen[id(x)] = x
        if isinstance(x, types.CodeType):
            steps = list(dis.get_instructions(x))
            for step, after in zip(steps, [*steps[1:], None]):
                if step.opname == "PUSH_EXC_INFO" and (after is None or after.opname != "WITH_EXCEPT_START"):
                    return "handles exceptions"
                if step.argval in ("type", "id") and step.opname in _OF_NAMES:
                    return f"uses {step.argval}"
            found = _NOTICING.intersection(x.co_names)
            if found:
                return f"uses {min(found)}"
            names.update(x.co_names)
            todo += [y for y in x.co_consts if isinstance(y, types.CodeType)]
        elif isinstance(x, types.FunctionType):
            todo.append(x.__code__)
            todo += [_content(cell) for cell in x.__closure__ or ()]
            todo += [x.__globals__[name] for name in _all_names(x.__code__) if name in x.__globals__]
            todo += [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        elif isinstance(x, types.MethodType):
            todo += [x.__func__, x.__self__]
        elif isinstance(x, functools.partial):
            todo += [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, types.ModuleType):
            opened.append((x, 0))
        elif isinstance(x, type):
            for base in x.__mro__:
                if not _is_library(base):
                    if "__exit__" in vars(base):
                        return "defines __exit__"
                    todo += [getattr(y, "fget", None) or getattr(y, "__func__", y) for y in vars(base).values()]
        elif isinstance(x, list | tuple | set | frozenset) and len(x) <= 4096:
            todo += x
        elif isinstance(x, dict) and len(x) <= 4096:
            todo += x.values()
        elif not isinstance(x, np.ndarray | np.generic | ak.Array | ak.Record | str | bytes | int | float | complex):
            todo.append(type(x))
            todo += _attributes(x)
        if not todo:
            for i, (module, done) in enumerate(opened):
                if done < len(names):
                    opened[i] = (module, len(names))
                    todo += [vars(module)[name] for name in names if name in vars(module)]
    return None


_OF_NAMES = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
# Names with which code notices that an array is pending, or suppresses its error.
_NOTICING = frozenset(("__class__", "suppress", "ExitStack", "raises", "getrefcount", "get_referrers", "gc"))


_MOST_LEVELS = 4  # of objects in arguments
_MOST_VISITED = 256  # items of a container in an object
_SILENT = {*_PLAIN, float, complex, slice, range, np.ndarray, ak.Array, ak.Record, Pending}


class _Visitor:
    """Decides for each call whether its arguments could notice that arrays are pending. Arguments with the same types and
    the same code are followed once."""

    def __init__(self):
        self.known: dict[frozenset, tuple[str | None, dict]] = {}  # the key has ids of the objects in the dict
        self.opened: dict[type, bool] = {}  # whether the attributes of an object may be other ones in each call

    def notices(self, function: Any, args: tuple, kwargs: dict) -> str | None:
        found: dict[int, Any] = {}
        for x in (function, *args, *kwargs.values()):
            if type(x) not in _SILENT:
                self._visit(x, found, 0)
        key = frozenset(found)
        known = self.known.get(key)
        if known is None:
            if len(self.known) >= _MOST_TREES:
                self.known.clear()
            known = self.known[key] = (notices(function, args, kwargs), found)
        return known[0]

    def _visit(self, x: Any, found: dict[int, Any], level: int) -> None:
        kind = type(x)
        if kind in _SILENT or level > _MOST_LEVELS:
            return
        inner: Any = ()
        if kind is types.FunctionType:
            found[id(x.__code__)] = x.__code__
            inner = [*map(_content, x.__closure__ or ()), *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        elif kind is types.MethodType:
            inner = (x.__func__, x.__self__)
        elif isinstance(x, functools.partial):
            inner = (x.func, *x.args, *x.keywords.values())
        elif isinstance(x, type):
            found[id(x)] = x
        elif kind in (tuple, list, set, frozenset, dict):
            if level == 0 or len(x) <= _MOST_VISITED:
                inner = list(x.values() if kind is dict else x)
        elif not isinstance(x, ak.Array | np.ndarray | np.generic):
            found[id(kind)] = kind
            if kind not in self.opened:
                self.opened[kind] = not _is_library(kind)
            inner = _attributes(x) if self.opened[kind] else _wrapped(x)
        for y in inner:
            if type(y) not in _SILENT:
                self._visit(y, found, level + 1)


def _wrapped(x: Any) -> list[Any]:
    """The function in a library's object, such as a fused function."""
    space = getattr(x, "__dict__", None)
    return [space["__wrapped__"]] if isinstance(space, dict) and "__wrapped__" in space else []


def _attributes(x: Any) -> list[Any]:
    """The values of an object's attributes."""
    space = getattr(x, "__dict__", None)
    found = list(space.values()) if isinstance(space, dict) else []
    if _is_library(type(x)):
        return _wrapped(x) or found
    for base in type(x).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            slot = vars(base).get(name)
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    found.append(slot.__get__(x))
                except AttributeError:  # not set
                    continue
    return found


def _all_names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for x in code.co_consts:
        if isinstance(x, types.CodeType):
            found |= _all_names(x)
    return found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # an empty cell
        return None


def _is_library(x: Any) -> bool:
    """Whether code belongs to Python or to an installed library."""
    if isinstance(x, types.CodeType):
        return False
    if isinstance(x, types.BuiltinFunctionType | np.ufunc):
        return True
    if isinstance(x, types.FunctionType):
        module = x.__globals__.get("__name__")
    elif isinstance(x, types.ModuleType):
        module = x.__name__
    elif isinstance(x, type):
        module = x.__module__
    else:
        return x is None or isinstance(x, bool)
    found = sys.modules.get(module) if isinstance(module, str) else None
    file = getattr(found, "__file__", None)
    root = str(module).partition(".")[0]
    if root == "__main__" or found is None:
        return False
    return file is None or root in sys.stdlib_module_names or root in _OF_TYPES or "site-packages" in Path(file).parts


class Steps:
    """The trees of one function."""

    def __init__(self, new_builder: Any, exact: bool):
        self.new_builder = new_builder
        self.exact = exact
        self.trees: dict[tuple, Tree] = {}
        self.visitor = _Visitor()
        self.changed = False  # whether the function changes ndarrays in place that are parts of arrays
        self.lock = threading.RLock()

    def _tree(self, arrays: _Arrays) -> Tree | None:
        key = (_ids(ak.behavior), *arrays.keys)
        with self.lock:
            if key not in self.trees:
                if len(self.trees) >= _MOST_TREES:
                    return None
                tree = Tree(self.new_builder, self.exact, self.lock)
                for behavior in (ak.behavior, *(x._behavior or {} for x in arrays.found.values())):
                    tree.kept += behavior.values()
                tree.noticed = notices(*tree.kept)
                self.trees[key] = tree
            return self.trees[key]

    def run(self, function: Any, args: tuple, kwargs: dict, threads: int | None) -> tuple[Any, Session | str]:
        """The function's result, and the session, or why Awkward has executed the whole function."""
        if self.changed:
            return function(*args, **kwargs), "the function changes ndarrays in place that are parts of arrays"
        noticed = self.visitor.notices(function, args, kwargs)
        if noticed is not None:
            return function(*args, **kwargs), f"the function or an argument {noticed}"
        arrays = _Arrays()
        arrays.find((args, kwargs))
        tree = self._tree(arrays) if arrays.found else None
        if tree is None:
            return function(*args, **kwargs), "too many types of arguments" if arrays.found else "no array is an argument"
        if tree.noticed is not None:
            return function(*args, **kwargs), f"a behavior {tree.noticed}"
        session = Session(tree, threads)
        over_args, over_kwargs = arrays.pending(session, (args, kwargs))
        try:
            result = function(*over_args, **over_kwargs)
            if session.error is not None:  # code of a library has caught it
                raise session.error
            result = arrays.originals(result)
            session.check_entered()
            session.finish()
        except BaseException as error:
            session.fail(error)
            session.salvage()
            if session.error is error:
                raise
            raise session.error from None
        finally:
            try:
                session.assign()
            finally:
                arrays.finish()
            self.changed |= session.changed
        return result, session


class _Arrays:
    """The arrays among the arguments, and the pending arrays that the function gets instead."""

    def __init__(self):
        self.found: dict[int, ak.Array] = {}
        self.keys: list[Any] = []
        self.made: dict[int, Any] = {}  # by the ids of the arrays
        self.containers: list[tuple[Any, Any, Any]] = []  # new, original, items of the new one
        self.by_new: dict[int, Any] = {}  # originals by the ids of new ones

    def find(self, x: Any) -> None:
        kind = type(x)
        if isinstance(x, ak.Array):
            if id(x) not in self.found and attributes.supported(x) and x._layout.backend is _CPU:
                self.found[id(x)] = x
                self.keys.append(key_of(x))
        elif kind in (tuple, list):
            for y in x:
                self.find(y)
        elif kind is dict:
            for y in x.values():
                self.find(y)

    def pending(self, session: Session, x: Any) -> Any:
        for (at, array), key in zip(self.found.items(), self.keys):
            made = self.made[at] = session.argument(key, array)
            self.by_new[id(made)] = array
        return self._over(x)

    def _over(self, x: Any) -> Any:
        kind = type(x)
        if isinstance(x, ak.Array):
            return self.made.get(id(x), x)
        if kind is tuple:
            made = tuple([self._over(y) for y in x])
            return x if all(a is b for a, b in zip(made, x)) else made
        if kind is list or kind is dict:
            if id(x) in self.made:
                return self.made[id(x)]
            made = [self._over(y) for y in x] if kind is list else {name: self._over(y) for name, y in x.items()}
            if all(a is b for a, b in zip(_items(made), _items(x))):
                return x
            self.made[id(x)] = made
            self.by_new[id(made)] = x
            self.containers.append((made, x, _items(made)))
            return made
        return x

    def originals(self, x: Any, seen: set[int] | None = None) -> Any:
        """The function's result, with the arguments themselves instead of what the function got."""
        if id(x) in self.by_new:
            return self.by_new[id(x)]
        kind = type(x)
        seen = set() if seen is None else seen
        if kind not in (tuple, list, dict) or id(x) in seen:
            return x
        seen.add(id(x))
        if kind is tuple:
            made = tuple([self.originals(y, seen) for y in x])
            return x if all(a is b for a, b in zip(made, x)) else made
        for name, y in enumerate(x) if kind is list else x.items():
            found = self.originals(y, seen)
            if found is not y:
                x[name] = found
        return x

    def finish(self) -> None:
        """Changes the containers among the arguments as the function has changed what it got."""
        for made, x, before in self.containers:
            now = _items(made)
            if len(now) != len(before) or not all(a is b for a, b in zip(now, before)):
                if type(x) is list:
                    x[:] = [self.originals(y) for y in made]
                else:
                    items = {name: self.originals(y) for name, y in made.items()}
                    x.clear()
                    x.update(items)
        for at, made in self.made.items():
            if isinstance(made, Pending):
                _become(made, self.found[at])


def _items(x: Any) -> list[Any]:
    return [*x.keys(), *x.values()] if isinstance(x, dict) else list(x)
