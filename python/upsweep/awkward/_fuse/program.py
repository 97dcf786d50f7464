# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/program.py: a recorded function as stages: plans, and calls that Awkward executes between them.
"""A stage lowers all nodes that it can from the arrays that there are. Its plan computes those that others need: the results of
the function, and the arguments of the next calls that plans do not support. Awkward executes these calls on real arrays, and the
next stage begins with their results. It is built when these are there, since it depends on their layouts.
"""

from __future__ import annotations

import threading
from typing import Any

import awkward as ak
import numpy as np

from upsweep import _device_plans
from upsweep.awkward._fuse import calls, histograms, layouts
from upsweep.awkward._fuse.arrays import ARRAYS, Foreign, Rerun, Scalar, Unsupported
from upsweep.awkward._fuse.instructions import words
from upsweep.awkward._fuse.lowering import Lowering, fits
from upsweep.awkward._fuse.matching import Found
from upsweep.awkward._fuse.recorder import REMOVED, Argument, Existing, Node, Recording


def nodes_in(x: Any) -> Any:
    """The nodes in the arguments of a node."""
    if isinstance(x, Node):
        yield x
    elif isinstance(x, dict):
        for y in x.values():
            yield from nodes_in(y)
    elif isinstance(x, list | tuple):
        for y in x:
            yield from nodes_in(y)
    elif isinstance(x, slice):
        yield from nodes_in((x.start, x.stop, x.step))


def replaced(x: Any, value: Any) -> Any:
    """x with value(node) instead of each node."""
    if isinstance(x, Node):
        return value(x)
    if isinstance(x, dict):
        made = {name: replaced(y, value) for name, y in x.items()}
        return made if any(made[name] is not y for name, y in x.items()) else x  # behaviors are compared by identity
    if isinstance(x, list | tuple):
        return type(x)([replaced(y, value) for y in x])
    if isinstance(x, slice):
        return slice(replaced(x.start, value), replaced(x.stop, value), replaced(x.step, value))
    return x


# Calls of one array that raise no error that depends on data.
_SAFE = words(
    """
    all any argcombinations argmax argmin argsort combinations count count_nonzero drop_none fields firsts flatten is_none
    local_index max mean min nan_to_num num ones_like pad_none prod ravel singletons sort std sum to_packed values_astype var
    with_name with_parameter without_field without_parameters zeros_like
    """
)


def _may_raise(node: Node) -> bool:
    """Whether the error of a call may depend on data, so that the call is checked even if nobody uses its result."""
    if node.kind in ("input", "number", "field", "part"):
        return False
    arrays = sum(isinstance(x.meta, ak.Array) for x in nodes_in((node.args, node.kwargs)))
    is_safe = node.kind == "ufunc" or (node.name in _SAFE and node.function is getattr(ak, node.name, None))
    return arrays > 1 or not is_safe


class Stage:
    """One plan, and the calls that Awkward executes after it."""

    def __init__(self, program: Program, order: list[Node], there: dict[Node, Any], checked: set[Node]):
        """`order`: the nodes that are not there yet. `there`: the real arrays and numbers that these nodes need.
        `checked`: unused calls that earlier stages have checked."""
        self.program = program
        self.next: dict[tuple, Stage] = {}
        self.plan = None
        self.columns: list[int] = []
        self.lowered: dict[Node, Any] = {}
        self.reasons: dict[Node, str] = {}  # of the calls that plans do not support
        self.shapes: dict[Node, layouts.Shape | histograms.Recipe] = {}  # what the plan computes
        self.calls: list[Node] = []  # what Awkward executes
        self.has_checks = False  # of unused calls
        # The types of the recording hold only if Awkward's results have the recorded classes. Some depend on data.
        self.refused = next((node.name for node, x in there.items() if _differs(node, x)), None)
        self._lower(order, there)
        self._choose(order, there)
        done = {*self.shapes, *self.calls}
        self.checked = checked | {node for node in program.unused if node in self.lowered or node in done}
        assert done or self.checked > checked or not order, "a stage without progress"
        self.is_last = all(node in done for node in program.outputs if node in order) and self.checked.issuperset(
            program.unused
        )
        # Whether a call needs nothing but this stage, if it is the first one.
        self.is_whole = bool(self.is_last and self.shapes and not self.calls and program.is_plain)

    def _lower(self, order: list[Node], there: dict[Node, Any]) -> None:
        arrays = {node: x for node, x in there.items() if isinstance(x, ak.Array)}
        self.on_gpu = any(x._layout._backend.name == "cuda" for x in arrays.values())
        buffers = layouts.Buffers()
        for x in arrays.values():
            buffers.add(x)
        self.inputs = list(arrays)
        self.events, later = _events(dict(zip(arrays, _pattern(buffers.lengths))), order)
        given = [x._layout for x in arrays.values()]
        low = self.low = Lowering(self.program.new_builder(), buffers.aliases, self.program.exact, given, len(buffers.columns))
        start = 0
        for i, node in enumerate(arrays):
            made, start = low.input(i, start)
            alike = buffers.lengths[i] == buffers.lengths[self.events]
            self.lowered[node] = made if alike else Foreign("an array of another length", low.events)
        for node in order:
            if node in later:
                continue
            below = list(nodes_in((node.args, node.kwargs)))
            if any(x not in self.lowered and not _is_number(x, there) for x in below):
                continue  # after a call that is not lowered
            checks = len(low.messages)
            try:
                self.lowered[node] = self._lowered(low, node, there)
            except Unsupported as why:
                self.reasons[node] = str(why)
            else:
                self.has_checks |= len(low.messages) > checks and node in self.program.unused

    def _lowered(self, low: Lowering, node: Node, there: dict[Node, Any]) -> Any:
        def value(x: Node) -> Any:
            if x in self.lowered:
                return self.lowered[x]
            number = there[x]
            if not isinstance(number, bool | int | float | np.number | np.bool_):
                raise Unsupported(f"an argument of type {type(number).__name__}")
            return Scalar(number, x)

        if node.kind == "scalar":
            raise Unsupported("an operation of numbers that depend on arrays")
        args = replaced(list(node.args), value)
        if node.kind == "fill":
            return histograms.lowered(low, node, args)
        made = calls.lowered(low, node, args, replaced(node.kwargs, value))
        if isinstance(node.meta, ak.Array) and (
            not isinstance(made, ARRAYS) or not layouts.conforms(low, made, node.meta._layout)
        ):
            raise Unsupported("a result of a type that plans do not have")
        return made

    def _choose(self, order: list[Node], there: dict[Node, Any]) -> None:
        """Chooses what the plan computes and what Awkward executes."""
        wanted = {node: None for node in self.program.outputs if node in self.lowered and node in order}
        for node in order:
            if node not in self.lowered:
                wanted.update((x, None) for x in nodes_in((node.args, node.kwargs)) if x in self.lowered and x not in there)
        by_awkward = list(self.reasons)
        by_awkward += [node for node in order if node.kind == "part" and node.args[0] in self.reasons]
        todo = list(wanted)
        while todo:
            node = todo.pop()
            if node.meta is None and node.kind != "fill":
                by_awkward.append(node)
                continue
            try:
                if node.kind == "fill":
                    self.shapes[node] = histograms.Recipe(self.low, self.lowered[node])
                else:
                    self.shapes[node] = layouts.Shape(self.low, self.lowered[node], node.meta)
            except Unsupported as why:  # the plan computes what the call needs
                self.reasons[node] = str(why)
                by_awkward.append(node)
                for x in nodes_in((node.args, node.kwargs)):
                    if x in self.lowered and x not in there and x not in wanted:
                        wanted[x] = None
                        todo.append(x)
        low = self.low
        low.layouts, low.read = [], {}  # of this call
        if low.outputs or low.histograms or self.has_checks or (self.shapes and low.messages):
            self.plan = self.low.builder.compile()
            self.columns = [i for i in self.plan.columns() if i < low.first_table]
        needed: set[Node] = set()
        todo = list(by_awkward)
        while todo:  # each call with all that it needs and that the plan does not compute
            node = todo.pop()
            if node not in there and node not in self.shapes and node not in needed:
                needed.add(node)
                todo += nodes_in((node.args, node.kwargs))
        self.calls = sorted(needed, key=lambda node: node.position)

    def run(self, there: dict[Node, Any], buffers: layouts.Buffers | Found, threads: int | None) -> list:
        """Adds what this stage computes to `there`. `buffers` are those of the arrays in `there`. Returns what the plan has
        written."""
        if self.refused is not None:
            raise Rerun(f"{self.refused}: the class of the layout depends on data")
        made: Any = []
        events = buffers.lengths[self.events] if buffers.lengths else 0
        if self.plan is not None:
            columns = buffers.columns
            if not buffers.is_plain:
                for i in self.columns:
                    columns[i] = layouts.array_of(columns[i])
            if self.low.needs_offsets_from_0 and any(_begins_late(columns[i]) for i in self.columns if i in self.low.offsets):
                raise Rerun("a subscript of lists of lists whose offsets do not begin at 0")
            parameters = [(_parameter(there[node], dtype), dtype) for node, dtype in self.low.parameters]
            if self.on_gpu:
                made = _device_plans.run(self.plan, self.columns, columns, parameters, events)
            else:
                made = self.plan.run(columns + self.low.tables, parameters, events, threads)
            if isinstance(made, tuple):
                raise Rerun(self.low.messages[made[0]])
        if self.shapes:
            inputs = [there[node]._layout for node in self.inputs] if self.low.shares else []
            results = layouts.Made(self.low, inputs, buffers.columns, events, made, there)
            for node, shape in self.shapes.items():
                there[node] = shape.array(results)
        for node in self.calls:
            if node in there:
                continue
            args, kwargs = replaced(list(node.args), there.__getitem__), replaced(node.kwargs, there.__getitem__)
            with np.errstate(**self.program.errors.get(node, {})):
                there[node] = node.function(*args, **kwargs)
        return made


def _assembler(x: Any) -> Any:
    """A function of (results by nodes, arguments) that makes the tree of the function's result."""
    if isinstance(x, Node | histograms.Template):
        return lambda there, values: there[x]
    if isinstance(x, Argument):
        return lambda there, values: values[x.place]
    if isinstance(x, Existing):
        return lambda there, values: x.container
    if isinstance(x, dict):
        parts = {name: _assembler(y) for name, y in x.items()}
        return lambda there, values: {name: part(there, values) for name, part in parts.items()}
    if isinstance(x, list | tuple):
        kind, each = type(x), [_assembler(y) for y in x]
        return lambda there, values: kind([part(there, values) for part in each])
    return lambda there, values: x


def _pattern(lengths: list[int]) -> tuple[int, ...]:
    """Which arrays are of the same length."""
    return tuple(map(lengths.index, lengths))


def _begins_late(offsets: np.ndarray) -> bool:
    return len(offsets) > 0 and offsets[0] != 0


def _differs(node: Node, x: Any) -> bool:
    return isinstance(x, ak.Array) and layouts.classes(x._layout) != layouts.classes(node.meta._layout)


def _events(lengths: dict[Node, int], order: list[Node]) -> tuple[int, set[Node]]:
    """Returns the place of an array of the length that most calls need, and the calls that are left to a later stage.

    `lengths`: for each array the place of the first one that is as long. `order`: the missing calls.

    Calls that need arrays of another length only are left to a later stage, and so are calls that need arrays of several
    lengths, if one of them is not there yet: it may be as long as the others."""
    needs: dict[Node, set[int]] = {node: {place} for node, place in lengths.items()}
    for node in order:
        needs[node] = set().union(*(needs.get(x, ()) for x in nodes_in((node.args, node.kwargs))))
    of_arrays = list(lengths.values())
    alone = [next(iter(needs[node])) for node in order if len(needs[node]) == 1]
    events = max(of_arrays, key=lambda place: (alone.count(place), of_arrays.count(place)), default=0)
    later: set[Node] = set()
    for node in order:
        if not needs[node] <= {events}:
            below = nodes_in((node.args, node.kwargs))
            if len(needs[node]) == 1 or any(x in needs and x not in lengths for x in below):
                later.add(node)
    return events, later


def _is_number(node: Node, there: dict[Node, Any]) -> bool:
    return node in there and not isinstance(there[node], ak.Array | tuple | list)


def _parameter(number: Any, dtype: str) -> Any:
    if not fits(number, dtype):
        raise Rerun(f"the number {number}, which {dtype} does not hold")
    return number


class Program:
    """A recording, and its stages by the layouts of the arrays that they begin with."""

    def __init__(self, recording: Recording, new_builder: Any, exact: bool):
        self.recording = recording
        self.new_builder = new_builder
        self.exact = exact
        self.outputs = recording.outputs
        self.result = _assembler(recording.result)
        self.fills = bool(recording.histograms.templates)
        self.stages: dict[tuple, Stage] = {}
        self.refused: str | None = None  # why the function runs in Awkward from now on
        self.arguments = [(node, node.args[0]) for node in recording.graph.nodes if node.kind in ("input", "number")]
        self.numbers = [node for node in recording.graph.nodes if node.kind == "scalar" and node.numbers]
        self.is_plain = not self.numbers and not recording.assignments  # it consists of calls on arrays only
        self.unused: set[Node] = set()  # calls that no result needs, and that may raise an error
        used = set(self.missing({}))
        self.unused = {node for node in recording.graph.nodes if node not in used and _may_raise(node)} - set(self.numbers)
        # Error states that the function has set, by nodes.
        nodes = recording.graph.nodes
        self.errors = {node: node.errors for node in nodes if node.errors != recording.graph.errors}
        self.lock = threading.Lock()  # two threads need not build the same stage

    def missing(self, there: Any, checked: frozenset | set = frozenset()) -> list[Node]:
        """The nodes in order that the results and the unchecked calls need and that are not in `there`."""
        found: set[Node] = set()
        todo = [*self.outputs, *(self.unused - checked)]
        while todo:
            node = todo.pop()
            if node not in there and node not in found:
                found.add(node)
                todo += nodes_in((node.args, node.kwargs))
        return sorted(found, key=lambda node: node.position)

    def run(self, found: Found, threads: int | None) -> Any:
        """The function's result for the arguments that were found."""
        values = found.values
        stage = self.stages.get(_pattern(found.lengths))
        if stage is not None and stage.is_whole:
            there = {node: values[place] for node, place in self.arguments}
            stage.run(there, found, threads)
            if self.fills:
                there.update(self.recording.histograms.made(there))
            return self.result(there, values)
        there, _ = self.computed(found, threads)
        there.update(self.recording.histograms.made(there))  # before arguments change: `fill` may raise an error
        for place, where, what in self.recording.assignments:
            if what is REMOVED:
                del values[place][where]
            else:
                values[place][where] = replaced(what, there.__getitem__)
        return self.result(there, values)

    def computed(self, found: Found, threads: int | None) -> tuple[dict[Node, Any], list[Stage]]:
        """Returns the arrays that the result consists of, by nodes, and the stages that have computed them."""
        there = {node: found.values[place] for node, place in self.arguments}
        for node in self.numbers:
            there[node] = made = node.function(*replaced(list(node.args), there.__getitem__))
            if type(made) is not type(node.meta):
                raise Rerun("an operation of numbers has a result of another type")
            if type(made) is int and not fits(made, "int64"):
                raise Rerun("an integer beyond int64")
        key = _pattern(found.lengths)
        stage = self.stages.get(key)
        if stage is None:
            stage = self._stage(self.stages, key, self.missing(there), there, set())
        if not stage.shapes and stage.is_last:
            raise Rerun("no call for which a plan is faster than Awkward")
        stages = [stage]
        stage.run(there, found, threads)
        buffers: Any = None
        while not stage.is_last:
            stage, buffers = self._following(stage, there)
            stages.append(stage)
            stage.run(there, buffers, threads)
        return there, stages

    def _needed(self, stage: Stage, there: dict[Node, Any]) -> tuple[list[Node], list[Node]]:
        """The nodes that are missing after a stage, and those that they need and that are there."""
        missing = self.missing(there, stage.checked)
        needed = {x for node in missing for x in nodes_in((node.args, node.kwargs)) if x in there}
        return missing, sorted(needed, key=lambda node: node.position)

    def _following(self, stage: Stage, there: dict[Node, Any]) -> tuple[Stage, layouts.Buffers]:
        """The stage after this one for the arrays that it has made, and their buffers."""
        missing, needed = self._needed(stage, there)
        begin = {node: there[node] for node in needed}
        buffers = layouts.Buffers()
        kinds = []
        for node, x in begin.items():
            kinds.append((node.position, type(x)))
            if isinstance(x, ak.Array):
                buffers.add(x)
        key = (tuple(kinds), tuple(buffers.key), _pattern(buffers.lengths))
        found = stage.next.get(key)
        return found or self._stage(stage.next, key, missing, begin, stage.checked), buffers

    def _stage(self, stages: dict, key: tuple, missing: list[Node], there: dict[Node, Any], checked: set[Node]) -> Stage:
        with self.lock:
            if key not in stages:
                stages[key] = Stage(self, missing, there, checked)
            return stages[key]
