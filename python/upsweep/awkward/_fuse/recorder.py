# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/recorder.py: records the calls that a function makes on Awkward Arrays, as a graph.
"""A recorded function runs once, on arrays without data. Each of them is an `ak.Array` whose layout is Awkward's type tracer,
and each call that Awkward dispatches through `__awkward_function__`, each ufunc, and each subscript adds a node to a graph.
Awkward's type tracer computes the types. No function of Awkward is replaced, and a graph belongs to the arrays of one
recording, so that threads record at the same time.

Whatever depends on data raises NotRecorded: a length, a truth value, an element, a conversion to NumPy. The recording is then
invalid, even if the function catches the exception.
"""

from __future__ import annotations

import operator
import sys
import types
from typing import Any

import awkward as ak
import numpy as np
from awkward._behavior import get_array_class
from awkward._connect.numpy import implemented as _of_numpy
from awkward._nplikes.typetracer import MaybeNone, OneOf, TypeTracerArray

from upsweep.awkward._fuse import attributes, corrections, histograms, overloads
from upsweep.awkward._fuse.callbacks import VECTOR, Callback, is_called_by_vector, library_of
from upsweep.awkward._fuse.guards import Guards


class NotRecorded(TypeError):
    """Raised inside of a recorded function, at a step that needs data."""


def calm(errors: dict) -> bool:
    """Whether NumPy at most warns of errors of floats. Plans do not report them."""
    return {"ignore", "warn"}.issuperset(errors.values())


class Node:
    """A call: `function(*args, **kwargs)`, whose arguments contain other nodes. `meta` is Awkward's type of the result."""

    __slots__ = ("args", "errors", "function", "graph", "kind", "kwargs", "meta", "numbers", "position")

    def __init__(self, graph: Graph, kind: str, function: Any, args: tuple, kwargs: dict, meta: Any, numbers: frozenset):
        self.graph = graph
        self.kind = kind  # input, number, ufunc, field, item, part, scalar, call, fill
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.meta = meta
        self.numbers = numbers  # the arguments of the recorded function that a number without arrays was computed from
        self.position = len(graph.nodes)
        self.errors = np.geterr()  # what NumPy does about errors of floats
        if graph.failure is None and not calm(self.errors):
            raise graph.fail("NumPy raises or reports errors of floats")
        graph.nodes.append(self)

    @property
    def name(self) -> str:
        return self.kind if self.function is None else getattr(self.function, "__name__", type(self.function).__name__)


class Graph:
    """The nodes of one recording in order, and what makes it invalid."""

    def __init__(self):
        self.nodes: list[Node] = []
        self.errors = np.geterr()  # when the recording began
        self.backend = "cpu"  # Awkward's, of the arrays
        self.closed = False
        self.failure: str | None = None  # why the function cannot be recorded
        self.needed: set = set()  # the arguments whose values the function asked for: they become part of the key
        # (argument, field, value) that the function sets in arguments.
        self.assignments: list[tuple[int, Any, Any]] = []
        self.histograms = histograms.Histograms()  # that the function creates and fills

    def fail(self, reason: str) -> NotRecorded:
        """Notes that the recording is invalid. The caller raises the result."""
        if self.failure is None:
            self.failure = reason
        return NotRecorded(reason)

    def need(self, numbers: frozenset, what: str) -> NotRecorded:
        """Notes that the function needs the values of numbers among its arguments."""
        self.needed |= numbers
        return NotRecorded(what)


# --------------------------------------------------------------------------------------------------- arguments of calls

# Functions whose results depend on types only.
_OF_TYPES = {ak.fields, ak.is_tuple, ak.parameters}
_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, types.EllipsisType, types.NotImplementedType)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, type, types.EllipsisType)


def _each(x: Any, leaf: Any, graph: Graph) -> Any:
    """Returns x, a tree of Python's containers, with leaf(y) instead of each y that belongs to a recording."""
    if isinstance(x, Lazy | Value):
        if x._fuse_node.graph is not graph or graph.closed:
            raise graph.fail("an array of another recording")
        return leaf(x)
    kind = type(x)
    if kind is tuple:
        return tuple(_each(y, leaf, graph) for y in x)
    if kind is list:
        return [_each(y, leaf, graph) for y in x]
    if kind is dict:
        return {key: _each(y, leaf, graph) for key, y in x.items()}
    if kind is slice:
        return slice(*(_each(y, leaf, graph) for y in (x.start, x.stop, x.step)))
    if isinstance(x, _PLAIN) or callable(x):
        return x
    if kind is histograms.Numbers:
        raise graph.fail("an ndarray in a call")
    if isinstance(x, ak.Array | ak.Record | np.ndarray):
        raise graph.fail(f"an {kind.__name__} that is not an argument of the function")
    raise graph.fail(f"an object of type {kind.__name__} in a call")


def _meta(x: Lazy | Value) -> Any:
    return x._fuse_node.meta


def _node(x: Lazy | Value) -> Node:
    return x._fuse_node


def _numbers_in(x: Any) -> list[Value]:
    """The values in x that are not arrays and were computed from no array."""
    if isinstance(x, Value):
        return [x]
    if isinstance(x, slice):
        x = (x.start, x.stop, x.step)
    if isinstance(x, dict):
        x = x.values()
    return [z for y in x for z in _numbers_in(y)] if isinstance(x, list | tuple | type({}.values())) else []


def _specialise(graph: Graph, x: Any, what: str) -> None:
    """Makes the numbers in x constants of the recording, whose values are part of its key."""
    for value in _numbers_in(x):
        raise value._fuse_needed(what)


def _wrap(graph: Graph, kind: str, function: Any, args: tuple, kwargs: dict, meta: Any) -> Any:
    """Adds a node to the graph. Returns what the recorded function gets instead of the result."""
    args, kwargs = _each(args, _node, graph), _each(kwargs, _node, graph)
    if isinstance(meta, tuple | list):
        whole = Node(graph, kind, function, args, kwargs, None, frozenset())
        return type(meta)(_wrap_part(graph, whole, i, part) for i, part in enumerate(meta))
    if isinstance(meta, ak.Array):
        return Lazy(meta, Node(graph, kind, function, args, kwargs, meta, frozenset()))
    if isinstance(meta, TypeTracerArray | MaybeNone | OneOf) and getattr(meta, "ndim", 0) == 0:
        return Value(Node(graph, kind, function, args, kwargs, meta, frozenset()), float)
    raise graph.fail(f"{getattr(function, '__name__', kind)}: a result of type {type(meta).__name__}")


def _wrap_part(graph: Graph, whole: Node, i: int, meta: Any) -> Any:
    if not isinstance(meta, ak.Array):
        raise graph.fail(f"{whole.name}: a result of type {type(meta).__name__}")
    return Lazy(meta, Node(graph, "part", operator.getitem, (whole, i), {}, meta, frozenset()))


# ----------------------------------------------------------------------------------------------------------- the arrays


def _refuses(what: str) -> Any:
    def method(self, *_args, **_kwargs):
        raise self._fuse_node.graph.fail(what)

    return method


# Arguments of Awkward's functions at which a number may differ from call to call. At any other place its value becomes
# part of the plan's key.
_NUMBERS_OF = {ak.where, ak.fill_none, ak.with_field, ak.zip, ak.full_like, ak.broadcast_arrays}


class Lazy(ak.Array):
    """An array of a recording: it has a type and a node of the graph, and no data.

    Arrays whose records have behaviors are of a class that also derives from that of the behavior. Therefore methods and
    properties of behaviors run on them, and their calls are recorded.
    """

    def __init__(self, meta: ak.Array, node: Node, place: int | None = None):
        self._fuse_node = node
        self._fuse_place = place  # of an argument of the function
        ak.Array.__init__(self, meta._layout, behavior=meta._behavior, attrs=meta._attrs)

    def _update_class(self, restore: Any = None) -> None:  # of ak.Array: behaviors choose the class by the type
        self._numbaview = self._cpp_type = self._generator = self._lookup = None
        self.__class__ = _lazy_class(get_array_class(self._layout, self._behavior))

    def __awkward_function__(self, function: Any, array_likes: Any, args: tuple, kwargs: dict) -> Any:
        graph = self._fuse_node.graph
        if function is ak.backend:
            return graph.backend
        if function is ak.to_layout and is_called_by_vector():
            return self._layout
        if function is ak.to_numpy and len(args) == 1:
            return histograms.to_numpy(args[0])
        function, args = corrections.of_call(function, args)
        if function is ak.transform and len(args) > 1:
            args = (Callback(args[0]), *args[1:])
        metas, of_kwargs = _each(args, _meta, graph), _each(kwargs, _meta, graph)
        if function in _OF_TYPES:
            return function(*metas, **of_kwargs)
        if function not in _NUMBERS_OF:
            _specialise(graph, (args, kwargs), f"{function.__name__}: the value of a number")
        meta = function(*metas, **of_kwargs)
        custom = overloads.of_sum(*metas, **of_kwargs) if function is ak.sum else None
        made = custom(args[0], False) if getattr(custom, "__module__", None) == VECTOR else None
        if isinstance(made, Lazy) and overloads.passed_on(made, meta):
            return made
        return _wrap(graph, "call", function, args, kwargs, meta)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        graph = self._fuse_node.graph
        if method != "__call__" or kwargs:
            raise graph.fail(f"{ufunc.__name__}.{method} with keywords {sorted(kwargs)}")
        meta = ufunc(*_each(inputs, _meta, graph))
        custom = overloads.of_ufunc(ufunc, inputs)
        found = None if custom is None else overloads.used(custom, inputs, meta)
        if found is not None and isinstance(found[1], Lazy):
            return found[1]
        return _wrap(graph, "ufunc", ufunc, inputs, {}, meta)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if func is np.ndim and histograms.is_converted():
            return self._fuse_node.meta.ndim
        theirs = _of_numpy.get(func)
        if theirs is None:
            raise self._fuse_node.graph.fail(f"numpy.{func.__name__}")
        return theirs(*args, **kwargs)  # calls Awkward's function of that name, which is recorded

    def __getitem__(self, where: Any) -> Any:
        graph = self._fuse_node.graph
        _specialise(graph, where, "a number in a subscript")
        meta = self._fuse_node.meta[_each(where, _meta, graph)]
        is_field = isinstance(where, str) or (isinstance(where, list) and all(isinstance(x, str) for x in where))
        return _wrap(graph, "field" if is_field else "item", operator.getitem, (self, where), {}, meta)

    def __setitem__(self, where: Any, what: Any) -> None:
        self._fuse_replace(ak.with_field(self, what, where), where, what)

    def __delitem__(self, where: Any) -> None:
        self._fuse_replace(ak.without_field(self, where), where, REMOVED)

    def _fuse_replace(self, made: Any, where: Any, what: Any) -> None:
        """Replaces this array by `made`. An argument of the function is also changed for the function's caller."""
        graph = self._fuse_node.graph
        if not isinstance(where, str) and not (isinstance(where, tuple) and all(isinstance(x, str) for x in where)):
            raise graph.fail("a field is set whose name is not a string")
        if not attributes.alike(self, made):  # Awkward keeps those that the array has
            raise graph.fail("a field is set to an array with other attributes")
        if self._fuse_place is not None:
            graph.assignments.append((self._fuse_place, where, _each(what, _node, graph)))
        self._layout, self._fuse_node = made._layout, made._fuse_node
        self._update_class()

    def __copy__(self) -> Lazy:
        return Lazy(self._fuse_node.meta, self._fuse_node)

    __deepcopy__ = _refuses("an array is copied with its data")
    __len__ = _refuses("the length of an array")
    __iter__ = _refuses("an array is iterated over")
    __bool__ = _refuses("the truth value of an array")
    __float__ = __int__ = __index__ = __complex__ = _refuses("an array is converted to a number")
    __contains__ = _refuses("whether an array contains a value")
    __arrow_array__ = _fuse_refuse_conversion = _refuses("an array is converted to another library's")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        found = histograms.recorded_fill(self)
        return self._fuse_refuse_conversion() if found is None else found

    def __buffer__(self, flags: int) -> memoryview:
        if histograms.is_converted():  # NumPy calls __array__ next
            raise BufferError("an array without data has no buffer")
        return self._fuse_refuse_conversion()

    def to_numpy(self, *args: Any, **kwargs: Any) -> Any:
        return ak.to_numpy(self, *args, **kwargs)

    _histogram_module_ = histograms.Flattened  # for fill_flattened of hist

    def _repr(self, limit_cols: int) -> str:  # for Awkward's notes of errors, such as NotRecorded
        return "<Array of a recording>"

    __str__ = __repr__ = show = _repr_mimebundle_ = _refuses("an array is printed")
    to_list = tolist = __bytes__ = _refuses("an array is converted to Python objects")
    __reduce_ex__ = __setstate__ = _refuses("an array is pickled")
    type = typestr = property(_refuses("the type of an array, which contains its length"))
    nbytes = property(_refuses("the size of an array"))
    numba_type = cpp_type = property(_refuses("an array is passed to compiled code"))

    @property
    def layout(self) -> Any:
        """For Awkward itself, which looks at the type. Others could read data."""
        self._fuse_for_libraries("the layout of an array")
        return self._layout

    @property
    def attrs(self) -> Any:
        self._fuse_for_libraries("the attributes of an array")
        return ak.Array.attrs.fget(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_fuse_") and name != "__class__":
            self._fuse_for_libraries("an attribute of an array is set")
        object.__setattr__(self, name, value)

    def _fuse_for_libraries(self, what: str) -> None:
        caller = sys._getframe(2).f_globals.get("__name__", "")
        if caller.partition(".")[0] not in _READERS_OF_TYPES:
            raise self._fuse_node.graph.fail(what)


class REMOVED:
    """The value of a field that is removed."""


Lazy.__module__ = ak.Array.__module__  # for correctionlib, which looks for "awkward" in str(type(x))

_READERS_OF_TYPES = {"awkward", "upsweep", "vector"}
_classes: dict[type, type] = {ak.Array: Lazy}


def _check_class(theirs: type) -> None:
    """A class of a behavior must not replace what the recorder replaces."""
    for base in theirs.__mro__[: theirs.__mro__.index(ak.Array)]:
        if base.__module__.partition(".")[0] not in _READERS_OF_TYPES:
            for name, x in vars(base).items():
                if name in vars(Lazy) and name != "__init__" and (callable(x) or isinstance(x, property)):
                    raise NotRecorded(f"the behavior {theirs.__name__} has its own {name}")


def _lazy_class(theirs: type) -> type:
    made = _classes.get(theirs)
    if made is None:
        # vector's arrays say which library their methods call.
        _check_class(theirs)
        made = _classes.setdefault(theirs, type(theirs.__name__, (Lazy, theirs), library_of(theirs)))
    return made


# ---------------------------------------------------------------------------------------------------------- the numbers


class Value:
    """A number in a recording: an argument of the function, the result of a reduction with axis=None, or computed from these."""

    def __init__(self, node: Node, kind: type):
        self._fuse_node = node
        self._fuse_kind = kind

    def _fuse_needed(self, what: str) -> NotRecorded:
        node = self._fuse_node
        return node.graph.need(node.numbers, what) if node.numbers else node.graph.fail(what)

    @property
    def __class__(self) -> type:  # isinstance(x, float) is true of a float; C code, which needs a value, sees no float
        return self._fuse_kind if self._fuse_node.numbers else Value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        graph = self._fuse_node.graph
        if method != "__call__" or kwargs:
            raise self._fuse_needed(f"{ufunc.__name__}.{method}")
        for x in inputs:
            if isinstance(x, Lazy):
                return x.__array_ufunc__(ufunc, method, *inputs)
        return _of_values(graph, ufunc, inputs)

    def __bool__(self) -> bool:
        raise self._fuse_needed("the truth value of a number")

    def _fuse_refuse(self, *_args: Any) -> Any:
        raise self._fuse_needed("the value of a number")

    __float__ = __int__ = __index__ = __complex__ = __hash__ = __str__ = __repr__ = __format__ = _fuse_refuse
    __round__ = __trunc__ = __floor__ = __ceil__ = __len__ = __iter__ = __getitem__ = _fuse_refuse

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        found = histograms.recorded_fill(self)
        return self._fuse_refuse() if found is None else found

    def __getattr__(self, name: str) -> Any:
        if histograms.is_converted():  # NumPy looks for other ways to convert an object
            raise AttributeError(name)
        raise self._fuse_needed(f"the attribute {name} of a number")


def _of_values(graph: Graph, function: Any, inputs: tuple) -> Value:
    """The node of an operation of numbers, which is computed again in each call."""
    nodes = [x._fuse_node for x in inputs if type(x) is Value]
    metas = _each(tuple(inputs), _meta, graph)
    try:
        made = function(*metas)
    except NotRecorded:
        raise
    except Exception as error:
        raise graph.fail(f"{function.__name__} of numbers: {error}") from error
    from_arrays = any(not node.numbers for node in nodes)
    numbers = frozenset() if from_arrays else frozenset().union(*(node.numbers for node in nodes))
    node = Node(graph, "scalar", function, _each(tuple(inputs), _node, graph), {}, made, numbers)
    return Value(node, float if from_arrays else type(made))


def _operator(function: Any, ufunc: Any, reflected: bool = False) -> Any:
    def method(self: Value, other: Any) -> Any:
        inputs = (other, self) if reflected else (self, other)
        if type(other) is Value or isinstance(other, bool | int | float | complex):
            return _of_values(self._fuse_node.graph, function, inputs)
        if isinstance(other, Lazy | np.generic):
            return ufunc(*inputs)
        return NotImplemented

    return method


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}.items():
    _short = _name.rstrip("_")
    setattr(Value, f"__{_short}__", _operator(getattr(operator, _name), _ufunc))
    setattr(Value, f"__r{_short}__", _operator(getattr(operator, _name), _ufunc, reflected=True))
for _name, _ufunc in {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(Value, f"__{_name}__", _operator(getattr(operator, _name), _ufunc))
for _name in ("neg", "pos", "abs", "invert"):
    _function = getattr(operator, _name)
    setattr(Value, f"__{_name}__", lambda self, _function=_function: _of_values(self._fuse_node.graph, _function, (self,)))


# ------------------------------------------------------------------------------------------------------------ recording


class Argument:
    """In a function's result: the argument itself."""

    __slots__ = ("place",)

    def __init__(self, place: int):
        self.place = place


class Recording:
    """A function's graph, and the tree of its results: arrays, numbers, tuples, lists and dicts of these, and constants."""

    def __init__(self, graph: Graph, result: Any):
        self.graph = graph
        self.result = result  # with nodes where the function's results are arrays or numbers
        self.assignments = graph.assignments
        self.histograms = graph.histograms

    @property
    def outputs(self) -> list[Node]:
        found: list[Node] = self.histograms.nodes

        def over(x: Any) -> None:
            if isinstance(x, Node):
                found.append(x)
            elif isinstance(x, dict):
                for y in x.values():
                    over(y)
            elif isinstance(x, list | tuple):
                for y in x:
                    over(y)

        over(self.result)
        over([what for _, _, what in self.assignments])
        return found


def array_input(graph: Graph, place: int, array: ak.Array) -> Lazy:
    """An argument, or a part of one, at `place`."""
    meta = attributes.type_of(array)
    return Lazy(meta, attributes.of_node(Node(graph, "input", None, (place,), {}, meta, frozenset())), place)


def number_input(graph: Graph, place: Any, number: Any) -> Value:
    return Value(Node(graph, "number", None, (place,), {}, number, frozenset((place,))), type(number))


class Existing:
    """In a function's result: a container that was there before the call."""

    __slots__ = ("container",)

    def __init__(self, container: Any):
        self.container = container


def record(graph: Graph, function: Any, args: tuple, kwargs: dict, guards: Guards) -> Recording:
    """Runs the function on a recording's arrays and numbers. Raises NotRecorded if it asks for data."""
    before = Guards()
    before.watch((args, kwargs), "a container among its arguments")
    try:
        result = function(*args, **kwargs)
        changed = before.changed()
        if changed is not None:
            raise graph.fail(f"the function changes {changed}")
        result = _result(result, graph, guards.containers, dict(before.containers))
    finally:
        graph.closed = True
        graph.histograms.close()
    if graph.failure is not None or graph.needed:  # the function has caught the exception
        raise NotRecorded(graph.failure)
    return Recording(graph, result)


def _result(x: Any, graph: Graph, existing: dict[int, Any], others: dict[int, Any]) -> Any:
    """The tree of results. `others`: containers that may not be in it, since each call returns new ones."""
    if isinstance(x, Lazy | Value):
        return _each(x, _output, graph)
    kind = type(x)
    if kind in (list, dict, set) and id(x) in existing:
        return Existing(x)
    if kind in (list, dict):
        if id(x) in others:
            raise graph.fail("the function returns a container among its arguments, or one container twice")
        others[id(x)] = x
    if kind in (list, tuple):
        return kind([_result(y, graph, existing, others) for y in x])
    if kind is dict and all(isinstance(key, str | int) for key in x):
        return {key: _result(y, graph, existing, others) for key, y in x.items()}
    if kind in _IMMUTABLE or (isinstance(x, np.generic | np.dtype | type) and not isinstance(x, np.void)):
        return x
    if histograms.is_histogram(x):
        return graph.histograms.template(x, graph)
    if kind is histograms.Numbers:
        raise graph.fail("the function returns an ndarray")
    if isinstance(x, ak.Array | ak.Record | np.ndarray):
        raise graph.fail(f"an {kind.__name__} that is not an argument of the function")
    raise graph.fail(f"the function returns an object of type {kind.__name__}")


def _output(x: Lazy | Value) -> Any:
    place = x._fuse_place if isinstance(x, Lazy) else None
    return x._fuse_node if place is None else Argument(place)
