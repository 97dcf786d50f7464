# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/histograms.py: histograms of boost-histogram and hist that a fused function creates and fills.
"""A recorded function creates real histograms. `fill` converts its arguments with `numpy.asarray`, which calls `__array__`
of the arrays of the recording. This file then

- finds the call of `fill` among the callers, and adds a node with its arguments to the graph,
- returns an array of the right type without elements, so that `fill` itself checks the arguments and adds nothing,
- gives the histogram a class that refuses whatever depends on its bins, until the recording ends.

The histogram of the recording is a template: it has the axes, the storage and what was filled before. Each call of the
fused function copies it and adds, in the order of the calls of `fill`,

- the bins that a plan has counted, if plans support the axes, the storage and the arrays,
- otherwise the values themselves: `fill` of boost-histogram is called with the arrays that the plans have made.

Numbers and strings among the arguments of `fill` choose one bin of their axis, and a number as the weight multiplies
bins. Therefore plans only count the arrays.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import awkward as ak
import numpy as np
from awkward._nplikes.typetracer import TypeTracerArray

from upsweep import _histogram
from upsweep.awkward._fuse.arrays import ARRAYS, Column, Lists, Option, Unsupported
from upsweep.awkward._fuse.instructions import words

# The versions of boost-histogram whose rules the bins were compared with.
TESTED = "1.8."
# The packages whose classes, functions and modules have no side effect except on objects that the function creates.
PACKAGES = ("boost_histogram", "hist")
# Methods that draw or print.
METHODS_WITH_EFFECTS = words("plot plot1d plot2d plot2d_full plot_pie plot_pull plot_ratio show _repr_html_ _repr_mimebundle_")
# Attributes that do not depend on bins. Those of axes that grow depend on values.
_WITHOUT_BINS = words("__class__ fill fill_flattened storage_type kind name label metadata")
_OF_AXES = words("axes ndim shape size")
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_GRAPH = "_upsweep_graph"


def _package(module: Any) -> str:
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_hist() -> bool:
    """Whether the module `hist` is the package of histograms."""
    return hasattr(sys.modules.get("hist"), "BaseHist")


def of_package(x: Any) -> bool:
    """Whether x is a module, a class or a function of boost-histogram or hist."""
    module = getattr(x, "__name__", None) if type(x) is type(sys) else getattr(x, "__module__", None)
    return _package(module) in PACKAGES


def state(x: Any) -> tuple | None:
    """Returns the parts of an axis, a storage or a quick constructor, to be compared.

    Returns None of other objects, and of those that change when a histogram is filled.
    """
    kind = type(x)
    if _package(kind.__module__) not in PACKAGES:
        return None
    import boost_histogram as bh

    if isinstance(x, bh.axis.Axis):
        if x.traits.growth or getattr(x, "transform", None) is not None or not _is_plain(x.__dict__):
            return None
        parts = x._ax.__getstate__()
        return (kind, *[y.tobytes() if isinstance(y, np.ndarray) else repr(y) for y in parts])
    if any(x is y for y in (bh.axis.transform.log, bh.axis.transform.sqrt)):
        return (kind, id(x))
    if isinstance(x, bh.storage.Storage):
        return (kind, repr(x))
    if kind.__module__ == "hist.quick_construct" and not x.axes:  # hist.new
        return (kind, x.hist_class)
    return None


def _is_plain(space: dict) -> bool:
    return all(isinstance(y, _PLAIN) for y in space.values())


def is_histogram(x: Any) -> bool:
    bh = sys.modules.get("boost_histogram")
    return bh is not None and isinstance(x, bh.Histogram)


# ------------------------------------------------------------------------------------------------------------ recording


def _fills() -> set[Any]:
    """The code of the functions that fill a histogram."""
    import boost_histogram as bh

    found = [bh.Histogram.fill]
    if is_hist():
        hist = sys.modules["hist"]
        found += [vars(kind)[name] for kind in (hist.BaseHist, hist.NamedHist) for name in ("fill", "fill_flattened")]
    return {function.__code__ for function in found}


def _is_reading(histogram: Any) -> bool:
    """Whether `fill` of this histogram, or a property without its bins, reads one of its attributes now."""
    frame = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module != __name__ and _package(module) not in PACKAGES:
            return False
        local = frame.f_locals
        if local.get("self") is histogram and (frame.f_code in _fills() or local.get("is_allowed") is True):
            return True
        frame = frame.f_back
    return False


def _fill_of_boost() -> Any:
    """The frame of boost-histogram's `fill` that converts an argument now."""
    bh = sys.modules.get("boost_histogram")
    frame = sys._getframe(3)
    while bh is not None and frame is not None and _package(frame.f_globals.get("__name__")) == "boost_histogram":
        if frame.f_code is bh.Histogram.fill.__code__:
            return frame
        frame = frame.f_back
    return None


class Numbers:
    """The result of ak.to_numpy in a recording: it can only be filled into a histogram."""

    def __init__(self, lazy: Any):
        self._fuse_node = lazy._fuse_node
        self._fuse_lazy = lazy

    def _fuse_refuse(self, *_args: Any, **_kwargs: Any) -> Any:
        raise self._fuse_node.graph.fail("an array is converted to another library's")

    @property
    def __class__(self) -> type:  # for isinstance(x, numpy.ndarray)
        return np.ndarray

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        found = recorded_fill(self._fuse_lazy)
        return self._fuse_refuse() if found is None else found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # NumPy looks for other ways to convert an object
            raise AttributeError(name)
        return self._fuse_refuse()

    __getitem__ = __len__ = __iter__ = __bool__ = __array_ufunc__ = __array_function__ = _fuse_refuse
    __float__ = __int__ = __index__ = __str__ = __repr__ = __eq__ = __hash__ = _fuse_refuse


def to_numpy(lazy: Any) -> Numbers:
    if _type_of(lazy) is None or _has_missing(lazy):
        raise lazy._fuse_node.graph.fail("an array is converted to another library's")
    return Numbers(lazy)


def _is_recorded(x: Any) -> bool:
    """Whether x is an array or a number of a recording."""
    return "_fuse_node" in getattr(x, "__dict__", ())


def _type_of(lazy: Any) -> np.dtype | None:
    """The type of the numbers or strings of an array of one dimension."""
    layout = lazy._fuse_node.meta._layout
    while layout.is_indexed or layout.is_option:
        layout = layout._content
    if layout.is_numpy and layout._data.ndim == 1:
        return layout.dtype
    return np.dtype("U1") if layout.parameter("__array__") == "string" else None


def _has_missing(lazy: Any) -> bool:
    layout = lazy._fuse_node.meta._layout
    while layout.is_indexed and not layout.is_option:
        layout = layout._content
    return layout.is_option


class Flattened:
    """Broadcasts and flattens arrays of a recording for fill_flattened of hist. Awkward's own class converts them."""

    @staticmethod
    def unpack(array: Any) -> dict | None:
        fields = ak.fields(array)
        return dict(zip(fields, ak.unzip(array))) if fields else None

    @staticmethod
    def broadcast_and_flatten(arrays: Any) -> Any:
        if not all(map(_is_recorded, arrays)) or any(map(ak.fields, arrays)):
            return NotImplemented  # hist raises an error, and the function runs as it is
        return tuple(to_numpy(ak.flatten(x, axis=None)) for x in ak.broadcast_arrays(*arrays))


def is_converted() -> bool:
    """Whether `fill` converts an array: NumPy asks for its buffer first."""
    return _fill_of_boost() is not None


def recorded_fill(x: Any) -> np.ndarray | None:
    """Records the call of `fill` that converts x. Returns the result of `__array__`; None if there is no such call."""
    frame = _fill_of_boost()
    if frame is None:
        return None
    graph = x._fuse_node.graph
    filled = graph.histograms
    if filled.frame is not frame:
        filled.frame = frame
        filled.record(graph, frame.f_locals)
    if not isinstance(x, ak.Array):
        meta = x._fuse_node.meta
        return np.zeros((), meta.dtype) if isinstance(meta, TypeTracerArray) else np.asarray(meta)
    dtype = _type_of(x)
    if dtype is None:
        raise graph.fail("a histogram is filled with an array that has not one dimension of numbers")
    return np.empty(0, dtype)


class Fill:
    """The function of a node that fills a histogram. Awkward executes it by keeping the arrays."""

    __name__ = "fill"

    def __init__(self, template: Template):
        self.template = template

    def __call__(self, *arguments: Any) -> tuple:
        return arguments

    def add(self, histogram: Any, there: Any, values: list, weight: Any) -> None:
        """Adds to a histogram what one call of `fill` adds.

        `there`: the bins of a plan, or the arguments. `values`, `weight`: the arguments that are numbers and strings.
        """
        if isinstance(there, Bins):
            there.add(histogram, values, weight)
        else:
            values, weight, sample = there
            sys.modules["boost_histogram"].Histogram.fill(histogram, *values, weight=weight, sample=sample)


class Template:
    """A histogram of a recording."""

    def __init__(self, histogram: Any):
        self.kind = type(histogram)
        self.original = histogram
        # As it is before the first recorded fill: boost-histogram adds numbers without arrays to the original.
        self.before = copy.deepcopy(histogram)
        self.fills: list[Any] = []  # the nodes


class Histograms:
    """The histograms of one recording."""

    def __init__(self) -> None:
        self.templates: dict[int, Template] = {}
        self.frame: Any = None  # of the last call of `fill`

    def record(self, graph: Any, call: dict) -> None:
        """Adds a node for a call of `fill` with these local variables."""
        from upsweep.awkward._fuse.recorder import Node

        if call["threads"] is not None:
            raise graph.fail("a histogram is filled by threads of boost-histogram")
        template = self.template(call["self"], graph)

        def argument(x: Any) -> Any:
            if _is_recorded(x):
                node = x._fuse_node
                if node.graph is not graph:
                    raise graph.fail("an array of another recording")
                if not node.numbers and not isinstance(node.meta, ak.Array | TypeTracerArray):
                    raise graph.fail("a histogram is filled with a number of an array that may be missing")
                return node
            if isinstance(x, (*_PLAIN, np.number, np.bool_)):
                return x
            raise graph.fail(f"a histogram is filled with an object of type {type(x).__name__}")

        values = tuple(argument(x) for x in call["args"])
        arguments = (values, argument(call["weight"]), argument(call["sample"]))
        template.fills.append(Node(graph, "fill", Fill(template), arguments, {}, None, frozenset()))

    def template(self, histogram: Any, graph: Any) -> Template:
        found = self.templates.get(id(histogram))
        if found is None:
            bh = sys.modules["boost_histogram"]
            if not bh.__version__.startswith(TESTED):
                raise graph.fail(f"histograms were tested with boost-histogram {TESTED}x, not with {bh.__version__}")
            classes = [bh.Histogram]
            if is_hist():
                classes += [sys.modules["hist"].Hist, sys.modules["hist"].NamedHist]
            if type(histogram) not in classes:
                raise graph.fail(f"a histogram of the class {type(histogram).__name__}")
            if not _is_plain(vars(histogram)) or not all(_is_plain(vars(axis)) for axis in histogram.axes):
                raise graph.fail("a histogram whose metadata is an object")
            # Views of the bins hold a reference, as each axis does. They would see no entries.
            fresh = bh.Histogram(*[bh.axis.Integer(0, 1)] * len(histogram.axes))
            if sys.getrefcount(histogram._hist) != sys.getrefcount(fresh._hist):
                raise graph.fail("a histogram whose bins are used before it is filled")
            found = self.templates[id(histogram)] = Template(histogram)
            vars(histogram)[_GRAPH] = graph
            histogram.__class__ = _recorded_class(type(histogram))
        return found

    def close(self) -> None:
        self.frame = None
        for template in self.templates.values():
            object.__setattr__(template.original, "__class__", template.kind)
            vars(template.original).pop(_GRAPH)

    @property
    def nodes(self) -> list[Any]:
        return [node for template in self.templates.values() for node in template.fills]

    def made(self, there: dict[Any, Any]) -> dict[Template, Any]:
        """The histograms of one call. `there` has the values of nodes."""
        from upsweep.awkward._fuse.recorder import Node

        def number(x: Any) -> Any:
            return there.get(x) if isinstance(x, Node) else x

        made = {}
        for template in self.templates.values():
            histogram = made[template] = copy.deepcopy(template.before)
            known = vars(template.original).get("_variance_known")  # `fill` with weights sets it
            if known is not None:
                vars(histogram)["_variance_known"] = known
            for node in template.fills:
                values, weight, _ = node.args
                node.function.add(histogram, there.pop(node), [number(x) for x in values], number(weight))
        return made


_classes: dict[type, type] = {}


def _recorded_class(theirs: type) -> type:
    """A class for histograms that were filled with arrays without data: only `fill` and the axes can be used."""
    made = _classes.get(theirs)
    if made is not None:
        return made

    def refuse(self: Any, what: str) -> Any:
        raise object.__getattribute__(self, "__dict__")[_GRAPH].fail(f"{what} of a histogram that was filled")

    def grows(self: Any) -> bool:
        return any(axis.traits.growth for axis in object.__getattribute__(self, "axes"))

    def read(self: Any, name: str) -> Any:
        is_allowed = name in _WITHOUT_BINS or (name in _OF_AXES and not grows(self)) or _is_reading(self)
        if not is_allowed:
            refuse(self, name)
        return theirs.__getattribute__(self, name)

    def write(self: Any, name: str, value: Any) -> None:
        if not _is_reading(self):
            refuse(self, f"the attribute {name}")
        theirs.__setattr__(self, name, value)

    def fill(name: str) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not any(map(_is_recorded, (*args, *kwargs.values()))):
                refuse(self, "fill with numbers after fill with arrays")
            return getattr(theirs, name)(self, *args, **kwargs)

        return method

    def special(name: str) -> Any:
        return lambda self, *_args, **_kwargs: refuse(self, name)

    space: dict[str, Any] = {
        name: special(name)
        for name in dir(theirs)
        if name.startswith("__") and callable(getattr(theirs, name)) and name not in _OF_CLASSES
    }
    space |= {"__slots__": (), "__getattribute__": read, "__setattr__": write, "__module__": theirs.__module__}
    space |= {name: fill(name) for name in ("fill", "fill_flattened") if hasattr(theirs, name)}
    made = type(theirs)(theirs.__name__, (theirs,), space, family=theirs._family)
    return _classes.setdefault(theirs, made)


# Special methods that a recorded histogram keeps, or replaces otherwise. __init__ would replace its bins.
_OF_CLASSES = words(
    "__class__ __new__ __init_subclass__ __subclasshook__ __class_getitem__ __getattribute__ __getattr__ __setattr__"
)


# ------------------------------------------------------------------------------------------------------------- lowering


class Lowered:
    """A call of `fill` as values of a plan."""

    __slots__ = ("axes", "entries", "kept", "values", "weight")

    def __init__(self, kept: list[int], values: list[Any], axes: list[Any], weight: Any, entries: Any):
        self.kept = kept  # the axes whose values are arrays
        self.values = values
        self.axes = axes  # of these
        self.weight = weight
        self.entries = entries  # zeros for all entries, if an axis grows


def lowered(low: Any, node: Any, args: list) -> Lowered:
    """Raises Unsupported if boost-histogram fills the histogram itself."""
    values, weight, sample = args
    template = node.function.template
    bh = sys.modules["boost_histogram"]
    histogram = template.original
    storages = bh.storage
    counts = (storages.Int64, storages.AtomicInt64)
    if sample is not None or not issubclass(histogram.storage_type, (*counts, storages.Double, storages.Weight)):
        raise Unsupported(f"a histogram with the storage {histogram.storage_type.__name__}")
    if weight is not None and issubclass(histogram.storage_type, counts):
        raise Unsupported(f"weights of a histogram with the storage {histogram.storage_type.__name__}")
    kept = [i for i, x in enumerate(values) if isinstance(x, ARRAYS)]
    if not kept:
        raise Unsupported("a histogram is filled with numbers only")
    grows = any(axis.traits.growth for axis in histogram.axes)
    try:
        axes = {i: _histogram._of_boost(histogram.axes[i], f"axis {i}") for i in kept}
    except NotImplementedError as why:
        raise Unsupported(str(why)) from None
    if len(kept) < len(values) and not all(_takes_all(axes[i]) for i in kept):
        # boost-histogram 1.8.1 ignores entries that belong to a bin if the first entry belongs to none.
        raise Unsupported("numbers among the values, and an axis that ignores values")
    columns = [_column(low, values[i]) for i in kept]
    weights = [_column(low, weight)] if isinstance(weight, ARRAYS) else []
    made = _over_one_domain(low, [*columns, *weights])
    domain = made[0].domain
    numbers = [_binned(low, x.value, axes[i], x.domain) for i, x in zip(kept, made)]
    specs = [axes[i].spec for i in kept]
    entries = low.everywhere(low.constant(0, "int64"), domain) if grows else None
    return Lowered(kept, numbers, specs, made[-1].value if weights else None, entries)


def _takes_all(axis: Any) -> bool:
    """Whether each value belongs to a bin."""
    return axis.is_boolean or axis.flows == (axis.spec[0] != "category", True)


def _column(low: Any, x: Any) -> Column:
    if isinstance(x, Option):
        low.check(low.everywhere(x.valid, x.domain), "a histogram is filled with missing values")
        x = x.content
    if not isinstance(x, Column):
        raise Unsupported("a histogram is filled with an array that has not one dimension of numbers")
    return x


def _over_one_domain(low: Any, columns: list[Column]) -> list[Column]:
    """The columns over the domain of the first one. Elements of lists of equal lengths correspond to each other."""
    domain = columns[0].domain
    made = []
    for x in columns:
        if not low.same(x.domain, domain):
            if low.parent(domain) is None or low.parent(x.domain) is None:
                raise Unsupported("arrays of different lengths")
            x = low.into(Lists(x.domain, x, low.parent(x.domain)), domain)
        made.append(Column(low.everywhere(x.value, domain), domain))
    return made


_INT32 = np.iinfo(np.int32)


def _binned(low: Any, value: Any, axis: Any, domain: int) -> Any:
    """The value as boost-histogram converts it for an axis."""
    if not axis.is_discrete:
        return value
    if value.dtype in ("int64", "uint32", "uint64"):
        fits = low.map("less_equal", value, low.constant(_INT32.max, value.dtype))
        if value.dtype == "int64":
            fits = low.both(fits, low.map("greater_equal", value, low.constant(_INT32.min, value.dtype)))
        low.check(low.everywhere(fits, domain), "an integer beyond int32 on an axis of integers")
    return low.convert(value, "bool") if axis.is_boolean else value


class Bins:
    """The bins of one call of `fill`, which a plan has counted."""

    __slots__ = ("counts", "is_empty", "recipe")

    def __init__(self, recipe: Recipe, counts: np.ndarray, is_empty: bool):
        self.recipe = recipe
        self.counts = counts
        self.is_empty = is_empty  # known if an axis grows

    def add(self, histogram: Any, values: list, weight: Any) -> None:
        """Adds the bins to a histogram, in the bins of the values that are numbers and strings."""
        recipe = self.recipe
        counts = self.counts
        if recipe.grows:
            if self.is_empty:
                return
            _grow(histogram, values, recipe.kept)
        place: list[Any] = [slice(None)] * len(values)
        for i, x in enumerate(values):
            if i not in recipe.kept:
                place[i] = _bin_of(histogram.axes[i], x)
                if place[i] is None:
                    return
        view = histogram.view(flow=True)
        value, square = (counts[..., 0], counts[..., 1]) if recipe.has_weights else (counts, counts)
        if not recipe.has_weights and weight is not None:
            weight = np.float64(weight)
            with np.errstate(all="ignore"):  # a bin without entries stays 0 if the weight is not finite
                value, square = (np.where(counts == 0, 0.0, counts * w) for w in (weight, weight * weight))
        where = tuple(place)
        if view.dtype.names is None:
            view[where] += value
        else:
            view["value"][where] += value
            view["variance"][where] += square


def _grow(histogram: Any, values: list, kept: list[int]) -> None:
    """Adds the bins of numbers and strings to axes that grow, by an entry whose weight is 0."""
    known = histogram._variance_known
    entry = [0 if i in kept else x for i, x in enumerate(values)]
    sys.modules["boost_histogram"].Histogram.fill(histogram, *entry, weight=0)
    histogram._variance_known = known


def _bin_of(axis: Any, x: Any) -> int | None:
    """The bin of one value, as boost-histogram chooses it; flow bins are counted."""
    bh = sys.modules["boost_histogram"]
    alone = bh.Histogram(axis, storage=bh.storage.Int64()).fill(x)
    found = np.flatnonzero(alone.view(flow=True))
    return int(found[0]) if len(found) else None


class Recipe:
    """How to make Bins of a plan's outputs."""

    def __init__(self, low: Any, made: Lowered):
        self.kept = made.kept
        self.has_weights = made.weight is not None
        self.grows = made.entries is not None
        handles = [x.handle for x in made.values]
        try:
            self.number = low.builder.histogram(handles, made.axes, made.weight.handle if self.has_weights else None)
        except (ValueError, NotImplementedError) as why:  # infinite edges, too many bins
            raise Unsupported(str(why)) from None
        self.low = low
        low.histograms += 1
        if self.grows:
            self.entries = low.builder.histogram([made.entries.handle], [("integer", 0, 1, False, False)], None)
            low.histograms += 1

    def array(self, results: Any) -> Bins:
        outputs = results.outputs
        first = len(outputs) - self.low.histograms
        is_empty = self.grows and outputs[first + self.entries][0] == 0
        return Bins(self, outputs[first + self.number], is_empty)
