# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/layouts.py: from Awkward's layouts to a plan's columns, and from a plan's outputs to layouts.
from __future__ import annotations

import weakref
from typing import Any

import awkward as ak
import numpy as np

from upsweep.awkward._fuse import attributes
from upsweep.awkward._fuse.arrays import (
    Column,
    Fixed,
    Foreign,
    Lists,
    Option,
    Origin,
    Record,
    Rerun,
    Single,
    Union,
    Unsupported,
    has_lists,
)

contents = ak.contents

_NUMBERS = contents.NumpyArray
TYPES = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool"))


class Once:
    """A layout or an array that is made when it is first needed."""

    __slots__ = ("made", "make")

    def __init__(self, make: Any):
        self.make = make
        self.made = None

    def __call__(self) -> Any:
        if self.made is None:
            self.made = self.make()
        return self.made


# --------------------------------------------------------------------------------------------------------------- inputs


def is_there(data: Any) -> bool:
    """Whether a buffer is an array of NumPy or CuPy, and not one that is read when it is needed."""
    return type(data) is np.ndarray or type(data).__module__.partition(".")[0] == "cupy"


class Buffers:
    """The buffers of the arguments of one call in order, and the key: what distinguishes types of layouts.

    A buffer is an array, or a Once that makes one: only those that a plan reads are made. The walk depends on nothing but the
    key, so that the plan's columns and a later call's buffers agree.
    """

    __slots__ = ("aliases", "columns", "is_plain", "key", "lengths", "seen")

    def __init__(self):
        self.is_plain = False
        self.columns: list[Any] = []
        self.key: list[Any] = []
        self.lengths: list[int] = []  # of the outermost arrays
        self.seen: dict[Any, int] = {}  # offsets by their id, or by size and length
        # For each buffer of offsets the first one that is the same array: the same lists.
        self.aliases: dict[int, int] = {}

    def add(self, array: ak.Array) -> None:
        layout = array._layout
        self.lengths.append(layout.length)
        self.walk(layout, None)

    def walk(self, node: Any, made: Once | None) -> None:
        """Visits a layout. If `made` is not None, it makes the layout, of which `node` has the type only."""
        kind = type(node)
        key, columns = self.key, self.columns
        if kind is contents.NumpyArray:
            data = node._data
            dtype = data.dtype
            key.append(dtype)
            if node._parameters:
                key.append(repr(node._parameters))
            if data.ndim != 1:
                key.append(data.shape[1:])
                if is_there(data):
                    self.walk(node.to_RegularArray(), made and Once(lambda: made().to_RegularArray()))
            elif made is not None:
                columns.append(Once(lambda: made()._data))
            else:
                columns.append(data)
        elif kind is contents.ListOffsetArray and made is None:
            self.in_place(node, node._offsets._data)
        elif kind is contents.RegularArray and node._size > 0 and node.parameter("__array__") is None:
            key.append("regular")
            key.append(node._size)
            if node._parameters:
                key.append(repr(node._parameters))
            whole = made or Once(lambda: node)
            if node._size > 1:
                where = len(columns)
                same = None if made is not None else (node._size, node._length)
                first = self.aliases[where] = self.seen.setdefault(same, where) if same else where
                key.append(first)
                columns.append(Once(lambda: module_of(whole()).arange(whole()._length + 1, dtype=np.int64) * node._size))
            self.walk(node._content, made and Once(lambda: made()._content))
        elif kind is contents.RecordArray:
            key.append(None if node._fields is None else tuple(node._fields))
            key.append(len(node._contents))
            if node._parameters:
                key.append(repr(node._parameters))
            for i, content in enumerate(node._contents):
                if made is not None:
                    self.walk(content, Once(lambda i=i: _projected_field(made(), i)))
                elif type(content) is _NUMBERS and not content._parameters and content._data.ndim == 1:
                    key.append(content._data.dtype)  # as walk() does, in half the time
                    columns.append(content._data)
                else:
                    self.walk(content, None)
        elif kind is contents.ListArray and made is None and _offsets_of(node) is not None:
            self.in_place(node, _offsets_of(node))
        elif kind in (contents.ListOffsetArray, contents.ListArray):
            key.append(kind)
            key.append(node.starts.dtype)
            if node._parameters:
                key.append(repr(node._parameters))
            packed = Once(lambda: (node if made is None else made()).to_ListOffsetArray64(True))
            key.append(len(columns))
            self.aliases[len(columns)] = len(columns)
            columns.append(Once(lambda: packed()._offsets._data))
            self.walk(node._content, Once(lambda: _trimmed(packed())))
        elif kind is contents.IndexedArray and made is None and _is_identity(node):
            key.append("identity")
            if node._parameters:
                key.append(repr(node._parameters))
            self.walk(node._content, None)
        elif kind is contents.IndexedArray and node.parameter("__array__") is None:
            key.append("indexed")
            key.append(node._index.dtype)
            if node._parameters:
                key.append(repr(node._parameters))
            inner = node._content
            if type(inner) is contents.RecordArray:  # field by field, so that a field that is not read is not made
                key.append(None if inner._fields is None else tuple(inner._fields))
                key.append(len(inner._contents))
                if inner._parameters:
                    key.append(repr(inner._parameters))
                whole = Once(lambda: node if made is None else made())
                for i, content in enumerate(inner._contents):
                    self.walk(content, Once(lambda i=i: _projected_field(whole(), i)))
            else:
                self.walk(inner, Once(lambda: (node if made is None else made()).project()))
        elif node.is_option:
            key.append(kind)
            key.append(node._index.dtype if kind is contents.IndexedOptionArray else getattr(node, "_valid_when", None))
            if node._parameters:
                key.append(repr(node._parameters))
            there = Once(lambda: _valid_and_content(node if made is None else made()))
            columns.append(Once(lambda: there()[0]))
            self.walk(node._content, Once(lambda: there()[1]))
        else:
            key.append("foreign")
            key.append(kind)
            key.append(repr(node.form) if kind is not contents.EmptyArray else None)

    def in_place(self, node: Any, offsets: np.ndarray) -> None:
        """Visits lists whose elements are in order."""
        key, columns = self.key, self.columns
        key.append("lists" if type(node) is contents.ListOffsetArray else "lists in order")
        key.append(offsets.dtype)
        if node._parameters:
            key.append(repr(node._parameters))
        first = self.aliases[len(columns)] = self.seen.setdefault(id(offsets), len(columns))
        key.append(first)
        columns.append(offsets)
        self.walk(node._content, None)


# Buffers that list_array() and identity() have made: offsets by the id of the starts, and indices by their id.
_offsets: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_identities: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def list_array(offsets: np.ndarray, content: Any, parameters: Any) -> contents.ListArray:
    """Lists in order, of the class that Awkward's result has: its pad_none differs by class."""
    starts, stops = ak.index.Index64(offsets[:-1]), ak.index.Index64(offsets[1:])
    if type(offsets) is np.ndarray:
        _offsets[id(starts._data)] = offsets
    return contents.ListArray(starts, stops, content, parameters=parameters)


def _offsets_of(node: Any) -> np.ndarray | None:
    """The offsets of what list_array() has made, as far as the lists are still those."""
    starts, stops = node._starts._data, node._stops._data
    found = _offsets.get(id(starts))
    if found is None or len(found) != len(starts) + 1 or len(found) != len(stops) + 1:
        return None
    first = found.ctypes.data
    same = (starts.ctypes.data, stops.ctypes.data) == (first, first + found.itemsize) and starts.strides == stops.strides
    return found if same and starts.strides == found.strides else None


def identity(content: Any, parameters: Any) -> contents.IndexedArray:
    """The content, as an array of the class of Awkward's result: its is_none differs by class."""
    index = ak.index.Index64(module_of(content).arange(content.length, dtype=np.int64))
    if type(index._data) is np.ndarray:
        _identities[id(index._data)] = index._data
    return contents.IndexedArray(index, content, parameters=parameters)


def _is_identity(node: Any) -> bool:
    index = node._index._data
    return _identities.get(id(index)) is index and len(index) == node._content.length


def _trimmed(lists: Any) -> Any:
    return lists._content[: lists._offsets[-1]]


def _projected_field(node: Any, i: int) -> Any:
    """A field of records, which Awkward may have carried lazily."""
    if type(node) is not contents.IndexedArray:
        return node.content(i)
    made = contents.IndexedArray.simplified(node._index, node._content.content(i))
    return made.project() if type(made) is contents.IndexedArray else made


def _valid_and_content(node: Any) -> tuple[np.ndarray, Any]:
    """Which elements exist, and elements for all places: those at places of missing values have no meaning."""
    if type(node) is contents.IndexedOptionArray:
        index = node._index._data
        valid = index >= 0
        content = node._content
        if content.length == 0:
            content = content.form.length_one_array(backend=node._backend, highlevel=False)
        if type(content) in (contents.ListOffsetArray, contents.ListArray):
            return valid, _lists_or_empty(content, index, valid)
        # Fields of records are carried when they are read.
        lazily = type(content) is contents.RecordArray
        return valid, content._carry(ak.index.Index64(module_of(node).where(valid, index, 0)), allow_lazy=lazily)
    if not node.is_option:
        return module_of(node).ones(node.length, np.bool_), node
    if type(node) is contents.ByteMaskedArray and node._mask.data.size and node._mask.data.view(np.uint8).max() > 1:
        raise Rerun("a mask with bytes other than 0 and 1, which Awkward's functions do not agree on")
    return module_of(node).asarray(node.mask_as_bool(valid_when=True)), node._content[: node.length]


def _lists_or_empty(lists: Any, index: np.ndarray, valid: np.ndarray) -> Any:
    """The lists with these numbers, and empty lists where they are not valid. Elements that are in order are not copied."""
    there = index[valid]
    starts, stops = lists.starts.data[there], lists.stops.data[there]
    offsets = np.zeros_like(index, np.int64, shape=len(index) + 1)
    if len(there) == 0:
        return contents.ListOffsetArray(ak.index.Index64(offsets), lists._content[:0])
    offsets[1:][valid] = stops - starts
    if np.array_equal(starts[1:], stops[:-1]):
        offsets[0] = starts[0]
        return contents.ListOffsetArray(ak.index.Index64(np.cumsum(offsets)), lists._content)
    first = np.zeros_like(index, np.int64)
    first[valid] = starts
    return contents.ListArray(ak.index.Index64(first), ak.index.Index64(first + offsets[1:]), lists._content)


def _content_of(find: Any) -> Any:
    return find and (lambda inputs: find(inputs)._content)


def _field_of(find: Any, i: int) -> Any:
    return find and (lambda inputs: find(inputs)._contents[i])


def lowered_input(low: Any, node: Any, start: int, domain: int, find: Any, made: bool = False) -> tuple[Any, int]:
    """The lowered array of a layout whose first buffer has number `start`, and the number after its last one.

    `find(inputs)` returns the layout among those of the arguments, in a later call; it is None if the elements of the domain are
    not those of the layout. `made` as in Buffers.walk(): the layout is not used in place.
    """
    array, after = _lowered_input(low, node, start, domain, find, made)
    if find is not None:
        if type(array) is Column:
            low.columns[array.value.handle] = find
        elif isinstance(array, Record | Lists) and array.origin is None:
            array.origin = Origin(find, domain)
    return array, after


def _lowered_input(low: Any, node: Any, start: int, domain: int, find: Any, made: bool) -> tuple[Any, int]:
    kind = type(node)
    if kind is contents.NumpyArray:
        dtype = node._data.dtype
        if node._data.ndim != 1:
            if is_there(node._data):
                return lowered_input(low, node.to_RegularArray(), start, domain, None, made)
            return Foreign(f"an array of {node._data.ndim} dimensions", domain), start
        if dtype.name not in TYPES or not dtype.isnative or node.parameter("__array__") is not None:
            return Foreign(f"numbers of type {dtype}", domain), start + 1
        return Column(low.column(start, dtype.name, domain), domain), start + 1
    if kind in (contents.ListOffsetArray, contents.ListArray):
        if node.parameter("__array__") is not None:
            below = _count(node._content)
            return Foreign(f"lists that are a {node.parameter('__array__')}", domain), start + 1 + below
        made = made or (kind is contents.ListArray and _offsets_of(node) is None)
        offsets = node._offsets.dtype.name if kind is contents.ListOffsetArray and not made else "int64"
        lists = low.input_lists(domain, start, offsets)
        content, after = lowered_input(low, node._content, start + 1, lists, None if made else _content_of(find), made)
        return Lists(lists, content, domain), after
    if kind is contents.RegularArray and node._size > 0 and node.parameter("__array__") is None:
        if node._size == 1:
            content, after = lowered_input(low, node._content, start, domain, _content_of(find), made)
            return Single(content), after
        lists = low.input_lists(domain, start, "int64")
        low.sizes[lists] = node._size
        content, after = lowered_input(low, node._content, start + 1, lists, _content_of(find), made)
        return Lists(lists, content, domain), after
    if kind is contents.IndexedArray and not made and _is_identity(node):
        return lowered_input(low, node._content, start, domain, _content_of(find))
    if kind is contents.IndexedArray and node.parameter("__array__") is None:
        return lowered_input(low, node._content, start, domain, None, True)
    if kind is contents.RecordArray:
        fields, after = {}, start
        for i, (name, content) in enumerate(zip(node.fields, node._contents)):
            fields[name], after = lowered_input(low, content, after, domain, _field_of(find, i), made)
        return Record(fields, domain), after
    if node.is_option:
        valid = low.column(start, "bool", domain)
        content, after = lowered_input(low, node._content, start + 1, domain, None, True)
        return Option(valid, content, None if kind is contents.IndexedOptionArray else "content"), after
    return Foreign(f"a layout of class {kind.__name__}", domain), start


def _count(node: Any) -> int:
    """The number of buffers that Buffers.walk counts in a layout."""
    counted = Buffers()
    counted.walk(node, None)
    return len(counted.columns)


# -------------------------------------------------------------------------------------------------------------- outputs


def conforms(low: Any, array: Any, layout: Any) -> bool:
    """Whether a lowered array has the type of Awkward's layout."""
    if layout.is_indexed and not layout.is_option:
        return layout.parameter("__array__") is None and conforms(low, array, layout._content)
    if layout.is_numpy and layout._data.ndim > 1:
        return conforms(low, array, layout.to_RegularArray())
    kind = type(array)
    if kind is Foreign:
        return True
    if layout.is_union:
        return kind is Union or (kind is Option and type(array.content) is Union)
    if layout.is_option:
        if kind is not Option:
            return type(layout) is contents.UnmaskedArray and conforms(low, array, layout._content)
        return conforms(low, array.content, layout._content)
    if kind is Column:
        return layout.is_numpy and layout.dtype.name == array.value.dtype
    if kind is Record:
        return (
            layout.is_record
            and list(array.fields) == layout.fields
            and all(conforms(low, x, content) for x, content in zip(array.fields.values(), layout._contents))
        )
    if kind is Lists:
        if layout.is_list and layout.is_regular:
            if not isinstance(layout._size, int) or layout._size < 2:
                return False
            low.sizes[array.lists] = layout._size  # Awkward's type says it
        return layout.is_list and layout.parameter("__array__") is None and conforms(low, array.content, layout._content)
    if kind is Single:
        if not layout.is_list or (layout.is_regular and layout._size != 1):
            return False
        array.regular = layout.is_regular
        return conforms(low, array.content, layout._content)
    if kind is Fixed:
        is_fixed = layout.is_list and layout.is_regular and layout._size == len(array.contents)
        return is_fixed and all(conforms(low, x, layout._content) for x in array.contents)
    return False


def is_union(layout: Any) -> bool:
    """Whether there is a union in lists, missing values and records of a layout."""
    if layout.is_record:
        return any(map(is_union, layout._contents))
    return layout.is_union or ((layout.is_option or layout.is_indexed or layout.is_list) and is_union(layout._content))


def classes(layout: Any) -> tuple:
    """The classes of a layout, as far as Awkward's functions differ by them."""
    kind = type(layout)
    if layout.is_record:
        return kind, tuple(map(classes, layout._contents))
    if layout.is_union:
        return (kind,)
    if layout.is_option:
        return kind, getattr(layout, "_valid_when", None), classes(layout._content)
    if layout.is_indexed:
        inner = classes(layout._content)
        return (kind, inner) if layout._content.is_record or layout._content.is_list else inner
    if layout.is_list:
        return kind, classes(layout._content)
    return kind, getattr(layout, "dtype", None)


# Awkward's constructors check their arguments, which takes longer than a plan of a few events.

_BACKEND = _NUMBERS(np.zeros(1)).backend
_NPLIKE = _BACKEND.nplike


def module_of(layout: Any) -> Any:
    """NumPy, or CuPy for a layout on a GPU."""
    return np if layout._backend is _BACKEND else layout._backend.nplike._module


def _backend_of(data: Any) -> Any:
    return _BACKEND if type(data) is np.ndarray else _NUMBERS(data)._backend


def _numbers(data: np.ndarray, parameters: Any) -> Any:
    made = object.__new__(_NUMBERS)
    made._data, made._parameters, made._backend = data, parameters, _backend_of(data)
    return made


def _index(data: np.ndarray) -> ak.index.Index64:
    """The data must be a contiguous array of int64."""
    made = object.__new__(ak.index.Index64)
    made._nplike = _NPLIKE if type(data) is np.ndarray else _backend_of(data).nplike
    made._metadata, made._data = None, data
    return made


def _lists(offsets: np.ndarray, content: Any, parameters: Any) -> Any:
    made = object.__new__(contents.ListOffsetArray)
    made._offsets, made._content, made._parameters, made._backend = _index(offsets), content, parameters, content._backend
    return made


def _records(fields: list, names: Any, parameters: Any) -> Any:
    made = object.__new__(contents.RecordArray)
    made._contents, made._fields, made._length, made._length_generator = fields, names, fields[0].length, None
    made._parameters, made._backend = parameters, fields[0]._backend
    return made


def _indexed(index: np.ndarray, content: Any, parameters: Any) -> Any:
    made = object.__new__(contents.IndexedArray)
    made._index, made._content, made._parameters, made._backend = _index(index), content, parameters, content._backend
    return made


class Made:
    """Outputs of one call: those of the plan, and the arguments with which results share memory."""

    __slots__ = ("buffers", "events", "inputs", "low", "outputs", "there")

    def __init__(self, low: Any, inputs: list, buffers: list, events: int, outputs: list, there: dict):
        self.low = low
        self.inputs = inputs  # layouts of the arguments
        self.buffers = buffers
        self.events = events
        self.outputs = outputs  # of the plan
        self.there = there  # arrays by nodes, the arguments among them

    def extent(self, domain: int) -> tuple[int, int]:
        """Where the elements of the events, or of the lists of an argument, are in the argument's content."""
        if domain == self.low.events:
            return 0, self.events
        offsets = self._offsets(domain)
        return int(offsets[0]), int(offsets[-1])

    def _offsets(self, lists: int) -> np.ndarray:
        number, parent = self.low.input_offsets[lists]
        first, last = self.extent(parent)
        return array_of(self.buffers[number])[first : last + 1]

    def offsets(self, lists: int) -> np.ndarray:
        """Offsets that begin at 0."""
        made = self._offsets(lists)
        if len(made) == 0:
            return np.zeros_like(made, np.int64, shape=1)
        return made.astype(np.int64, copy=False) if made[0] == 0 else made.astype(np.int64) - made[0]


def array_of(column: Any) -> np.ndarray:
    """A buffer as an array. A plan copies an array that is not contiguous or not aligned."""
    if isinstance(column, Once):
        column = column()
    if not is_there(column):
        column = array_of(column.materialize())
    return column


def _trimmed_to(layout: Any, first: int, last: int) -> Any:
    return layout if first == 0 and last == layout.length else layout._getitem_range(first, last)


def _carried(layout: Any, index: np.ndarray, meta: Any) -> Any:
    """The elements of a layout with these numbers, as Awkward carries them. `meta` is the type of the result."""
    if type(meta) is contents.IndexedArray:
        if type(layout) is contents.RecordArray:
            return _indexed(index, layout, meta._parameters)
        return contents.IndexedArray.simplified(ak.index.Index64(index), layout, parameters=meta._parameters)
    if type(layout) is contents.ListOffsetArray and type(layout._offsets) is ak.index.Index64:
        offsets = layout._offsets._data
        made = object.__new__(contents.ListArray)
        made._starts, made._stops, made._content = _index(offsets[:-1][index]), _index(offsets[1:][index]), layout._content
        made._parameters, made._backend = layout._parameters, layout._backend
        return made
    return layout._carry(ak.index.Index64(index), allow_lazy=True)


def _chosen(layout: Any, index: np.ndarray, parameters: Any) -> Any:
    """The elements with these numbers, which are missing where the number is -1."""
    return contents.IndexedOptionArray.simplified(ak.index.Index64(index), layout, parameters=parameters)


def _in_turn(columns: list[np.ndarray]) -> np.ndarray:
    """The first elements of all columns, the second ones, …"""
    made = np.empty_like(columns[0], shape=(len(columns[0]), len(columns)))
    for i, column in enumerate(columns):
        made[:, i] = column
    return made.reshape(-1)


def _nothing(layout: Any) -> Any:
    """An empty index for elements of a layout."""
    return module_of(layout).empty(0, np.int64)


def _alike(layout: Any, meta: Any) -> bool:
    return layout.form.is_equal_to(meta.form, all_parameters=True)


class Shape:
    """How to make an Awkward array of a plan's outputs, with the type of `meta`.

    Elements of arguments are not copied where Awkward does not copy them: the layout shares their memory.
    """

    def __init__(self, low: Any, array: Any, meta: ak.Array):
        self.make = self.of(low, array, meta._layout)
        self.meta = meta
        self.attributes: dict[str, Any] | None = None  # of such an array, without its layout

    def array(self, made: Made) -> ak.Array:
        layout = self.make(made)
        if self.attributes is None:
            array = ak.Array(layout, behavior=self.meta._behavior, attrs=attributes.values(self.meta, made.there))
            if type(array) is ak.Array and not array._attrs:
                self.attributes = {name: x for name, x in vars(array).items() if name != "_layout"}
            return array
        # ak.Array() takes four times as long as the rest: its class and behavior are known.
        array = object.__new__(ak.Array)
        vars(array).update(self.attributes, _layout=layout)
        return array

    def of(self, low: Any, array: Any, layout: Any) -> Any:
        """Adds the array's outputs to the plan. Returns a function from Made to a layout."""
        parameters = layout._parameters
        kind = type(array)
        shared = self.shared(low, array, layout)
        if shared is not None:
            return shared
        if layout.is_indexed and not layout.is_option:
            content = self.of(low, array, layout._content)
            is_seen = layout._content.is_record or layout._content.is_list
            return (lambda out: identity(content(out), parameters)) if is_seen else content
        if kind is Foreign:
            raise Unsupported(array.reason)
        if layout.is_union:
            raise Unsupported("a union of records")
        if layout.is_option:
            return self.option(low, array, layout)
        if layout.is_numpy and layout._data.ndim > 1:
            made = self.of(low, array, layout.to_RegularArray())
            return lambda out: contents.NumpyArray(made(out).to_backend_array(), parameters=parameters)
        if kind is Column:
            number = low.output(array.value, array.domain)
            return lambda out: _numbers(out.outputs[number], parameters)
        if kind is Record:
            if not array.fields:
                raise Unsupported("records without fields")
            of_fields = [self.of(low, x, content) for x, content in zip(array.fields.values(), layout._contents)]
            fields = layout._fields

            def record(out: list) -> Any:
                return _records([each(out) for each in of_fields], fields, parameters)

            return record
        if kind is Lists:
            content = self.of(low, array.content, layout._content)
            if layout.is_regular:
                return lambda out: contents.RegularArray(content(out), layout._size, parameters=parameters)
            offsets = self.offsets(low, array.lists)
            if type(layout) is contents.ListArray:
                return lambda out: list_array(offsets(out), content(out), parameters)
            return lambda out: _lists(offsets(out), content(out), parameters)
        if kind is Single:
            content = self.of(low, array.content, layout._content)

            def single(out: list) -> Any:
                made = content(out)
                if array.regular:
                    return contents.RegularArray(made, 1, made.length, parameters=parameters)
                offsets = ak.index.Index64(module_of(made).arange(made.length + 1, dtype=np.int64))
                return contents.ListOffsetArray(offsets, made, parameters=parameters)

            return single
        if kind is Fixed:
            return self.fixed(low, array.contents, layout)
        raise Unsupported(f"a result of {kind.__name__}")

    def fixed(self, low: Any, each: list, layout: Any) -> Any:
        """As of(), of lists of a fixed length, of which the plan computes one element after the other."""
        size, parameters, of_content = len(each), layout._parameters, layout._content._parameters
        if all(type(x) is Column for x in each):
            columns = [low.output(x.value, x.domain) for x in each]

            def of_numbers(out: list) -> Any:
                content = _numbers(_in_turn([out.outputs[i] for i in columns]), of_content)
                return contents.RegularArray(content, size, len(out.outputs[columns[0]]), parameters=parameters)

            return of_numbers
        chosen = [self.choice(low, x, layout._content) if type(x) is Option else None for x in each]
        if None in chosen or len({id(find) for find, _ in chosen}) > 1:
            raise Unsupported("a result of lists of a fixed length")
        find, indices = chosen[0][0], [number for _, number in chosen]

        def of_choices(out: list) -> Any:
            content = _chosen(find(out.inputs), _in_turn([out.outputs[i] for i in indices]), of_content)
            return contents.RegularArray(content, size, len(out.outputs[indices[0]]), parameters=parameters)

        return of_choices

    def offsets(self, low: Any, lists: int) -> Any:
        if lists in low.input_offsets:
            low.shares = True
            return lambda out: out.offsets(lists)
        number = low.output_offsets(lists)
        return lambda out: out.outputs[number]

    def shared(self, low: Any, array: Any, layout: Any) -> Any:
        """As of(), of elements of an argument. Returns None if Awkward's layout is another one."""
        if isinstance(array, Record | Lists):
            origin = array.origin
        elif type(array) is Column and array.value.handle in low.columns and array.value.domain == array.domain:
            origin = Origin(low.columns[array.value.handle], array.domain)
        else:
            return None
        if origin is None:
            return None
        low.shares = True
        find, domain = origin.layout, origin.domain
        if origin.index is None:
            if not _alike(find(low.layouts), layout):
                return None
            return lambda out: _trimmed_to(find(out.inputs), *out.extent(domain))
        of = find(low.layouts)
        if not _alike(_carried(of, _nothing(of), layout), layout):
            return None
        number = low.output_numbers(origin.index, domain)
        return lambda out: _carried(find(out.inputs), out.outputs[number], layout)

    def chosen(self, low: Any, array: Any, layout: Any) -> Any:
        """As shared(), of elements that may be missing."""
        found = self.choice(low, array, layout)
        if found is None:
            return None
        (find, number), parameters = found, layout._parameters
        return lambda out: _chosen(find(out.inputs), out.outputs[number], parameters)

    def choice(self, low: Any, array: Any, layout: Any) -> tuple[Any, int] | None:
        """The argument's layout as in Origin, and the output of the index; None if Awkward's layout is another one."""
        if type(layout) is not contents.IndexedOptionArray:
            return None
        content = array.content
        origin = None
        if isinstance(content, Record):
            origin = content.origin
        elif type(content) is Column and content.value.op == "take" and content.value.args[0].handle in low.columns:
            of, index = content.value.args
            origin = Origin(low.columns[of.handle], of.domain, index)
        if origin is None or origin.index is None or has_lists(content):
            return None
        find, domain, parameters = origin.layout, origin.domain, layout._parameters
        of = find(low.layouts)
        if not _alike(_chosen(of, _nothing(of), parameters), layout):
            return None
        low.shares = True
        index, nothing = origin.index, low.constant(0, "int32")
        if array.valid is not low.map("greater_equal", index, nothing):  # it is negative where nothing is
            there = low.everywhere(array.valid, array.domain)
            index = low.map("where", there, index, low.constant(-1, "int32"))
        return find, low.output_numbers(index, domain)

    def option(self, low: Any, array: Any, layout: Any) -> Any:
        """As of(), of missing values. The classes of layouts are Awkward's, because its functions differ by class."""
        parameters = layout._parameters
        kind = type(layout)
        if kind is contents.UnmaskedArray:
            content = self.of(low, array.content if type(array) is Option else array, layout._content)
            return lambda out: contents.UnmaskedArray(content(out), parameters=parameters)
        if kind is contents.BitMaskedArray:  # Awkward's type tracer does not notice where it becomes a ByteMaskedArray
            raise Unsupported("a layout of class BitMaskedArray")
        is_indexed = kind is contents.IndexedOptionArray
        chosen = self.chosen(low, array, layout)
        if chosen is not None:
            return chosen
        if has_lists(array.content) and array.hides != ("nothing" if is_indexed else "content"):
            raise Unsupported("missing lists: what Awkward's layout hides is not known")
        if is_indexed:
            there = low.everywhere(array.valid, array.domain)
            content = self.of(low, low.filtered(array.content, low.builder.filter(array.domain, there.handle)), layout._content)
            valid, dtype = low.output(there, array.domain), layout._index.dtype

            def indexed(out: list) -> Any:
                is_there = out.outputs[valid]
                made = content(out)
                index = np.full_like(is_there, -1, dtype)
                index[is_there] = module_of(made).arange(made.length, dtype=dtype)
                return contents.IndexedOptionArray(ak.index.Index(index), made, parameters=parameters)

            return indexed
        content = self.of(low, array.content, layout._content)
        mask = low.output(array.valid if layout._valid_when else low.invert(array.valid), array.domain)

        def masked(out: list) -> Any:
            index = ak.index.Index8(out.outputs[mask].view(np.int8))
            return contents.ByteMaskedArray(index, content(out), valid_when=layout._valid_when, parameters=parameters)

        return masked
