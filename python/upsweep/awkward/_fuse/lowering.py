# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/lowering.py: the nodes of a recording become values of a plan, where plans support them.
"""Lowering holds the plan's builder and its facts about the values: which ones are element-wise, which positions choose.
The calls of Awkward's functions are in calls.py, those of ufuncs in numbers.py. Both use what this file has: positions, masks,
broadcasting.

Elements by position (`take`): if positions choose elements (filters, argmin), f(x)[i] becomes f(x[i]) for an element-wise f, so
that only the chosen elements are computed. If positions repeat elements (combinations, broadcasting), f(x) is computed first.

Local indices: Awkward counts elements from the start of their list, the plan from the start of the block. A value that is a
local index remembers the position that it was computed from, so that a subscript by it needs neither sum nor check.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from upsweep.awkward._fuse import layouts
from upsweep.awkward._fuse.arrays import Column, Fixed, Foreign, Lists, Option, Origin, Record, Scalar, Single, Unsupported, Val

# Functions of floats whose last bits depend on the library: with exact=True, NumPy's own loops compute them.
ROUNDED = {"power", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
            "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "arctan2", "hypot"}  # fmt: skip


class Lowering:
    def __init__(self, builder: Any, aliases: dict[int, int], exact: bool, layouts: list[Any], first_table: int):
        self.builder = builder
        self.layouts = layouts  # of the arguments
        self.exact = exact
        self.events = builder.events()
        self.aliases = aliases  # buffers of offsets: the first one that is the same array
        self.list_parents: dict[int, int] = {}
        self.vals: dict[int, Val] = {}
        self.taken: dict[tuple, Val] = {}  # results of take(): a value that others share is followed once
        self.offsets: set[int] = set()  # the buffers that are offsets
        # Awkward refuses some subscripts of lists of lists if offsets do not begin at 0.
        self.needs_offsets_from_0 = False
        self.sizes: dict[int, int] = {}  # of regular lists, which are broadcast as NumPy broadcasts
        self.lists_of_counts: dict[int, int] = {}
        self.parameters: list[tuple[Any, str]] = []  # (node, type)
        self.parameter_of: dict[tuple, int] = {}
        self.messages: list[str] = []  # of checks
        self.outputs: dict[tuple, int] = {}
        self.histograms = 0  # that the plan fills
        self.shares = False  # whether results share memory with arguments
        self.columns: dict[int, Any] = {}  # columns of the arguments by their handles: as Origin.layout
        self.input_offsets: dict[int, tuple[int, int]] = {}  # lists of the arguments: the buffer of offsets, the parent
        self.tables: list[np.ndarray] = []  # constant columns, whose numbers follow those of the arguments' buffers
        self.first_table = first_table
        self.read: dict[Any, Any] = {}  # what calls have read so far, while a plan is made

    # ---- values

    def val(self, handle: int, op: str, args: tuple = ()) -> Val:
        made = self.vals.get(handle)
        if made is None:
            made = self.vals[handle] = Val(handle, op, args, self.builder.domain(handle), self.builder.type(handle))
        return made

    def column(self, number: int, dtype: str, domain: int) -> Val:
        return self.val(self.builder.column(number, dtype, domain), "column")

    def constant(self, number: Any, dtype: str) -> Val:
        return self.val(self.builder.constant(number, dtype), "constant", (number,))

    def scalar(self, x: Scalar, dtype: str) -> Val:
        """A number as `dtype`: a constant if it is a literal, otherwise a parameter."""
        if x.node is None:
            if not fits(x.number, dtype):
                raise Unsupported(f"the number {x.number}, which {dtype} does not hold")
            return self.constant(x.number, dtype)
        key = (x.node, dtype)
        if key not in self.parameter_of:
            self.parameter_of[key] = len(self.parameters)
            self.parameters.append(key)
        return self.val(self.builder.parameter(self.parameter_of[key], dtype), "parameter")

    def map(self, op: str, *args: Val) -> Val:
        if op != "where" and not self.builder.is_defined(op, args[-1].dtype):
            raise Unsupported(f"{op} of {args[-1].dtype}")
        if op == "invert" and args[0].op == op:
            return args[0].args[0]
        handles = [x.handle for x in args]
        if self.exact and op in ROUNDED and args[0].dtype.startswith("f"):
            return self.val(self.builder.call(getattr(np, op), handles, args[0].dtype), op, args)
        return self.val(self.builder.map(op, handles), op, args)

    def convert(self, x: Val, dtype: str) -> Val:
        if x.dtype == dtype:
            return x
        return self.val(self.builder.convert(x.handle, dtype), "convert", (x,))

    def both(self, *valid: Val) -> Val:
        """The conjunction of booleans."""
        return functools.reduce(lambda x, y: x if x is y else self.map("bit_and", x, y), valid)

    def all_of(self, *valid: Val | None) -> Val | None:
        """The conjunction of booleans that are not None."""
        found = [x for x in valid if x is not None]
        return self.both(*found) if found else None

    def invert(self, x: Val) -> Val:
        return self.map("invert", x)

    def everywhere(self, x: Val, domain: int) -> Val:
        """A value with an element for each one of the domain: a scalar is repeated."""
        if x.domain is not None:
            return x
        return self.val(self.builder.fill(x.handle, domain), "fill", (x,))

    # ---- tables

    def _table(self, numbers: np.ndarray) -> int:
        """The column of a table."""
        for i, known in enumerate(self.tables):
            if known.dtype == numbers.dtype and known.tobytes() == numbers.tobytes():
                return self.first_table + i
        self.tables.append(numbers)
        return self.first_table + len(self.tables) - 1

    def lookup(self, numbers: np.ndarray, index: Val) -> Val:
        """The numbers of a table at an index."""
        column = self._table(numbers)
        return self.val(self.builder.lookup(column, numbers.dtype.name, index.handle), "lookup", (index,))

    def search(self, edges: np.ndarray, x: Val) -> Val:
        """How many of the ascending edges are not greater than x. NaN is greater than all."""
        return self.val(self.builder.search(self._table(edges), x.handle, True), "search", (x,))

    # ---- positions

    def positions(self, domain: int) -> Val:
        made = self.val(self.builder.positions(domain), "positions")
        made.chooses = True
        return made

    def source(self, domain: int, which: int = 0, chooses: bool = False) -> Val:
        made = self.val(self.builder.source(domain, which), "source")
        made.chooses = made.chooses or chooses
        return made

    def parents(self, lists: int) -> Val:
        return self.val(self.builder.parents(lists), "parents")

    def starts(self, lists: int) -> Val:
        made = self.val(self.builder.starts(lists), "starts")
        made.chooses = True
        return made

    def counts(self, lists: int) -> Val:
        made = self.val(self.builder.counts(lists), "counts")
        self.lists_of_counts[made.handle] = lists
        return made

    def is_elementwise(self, x: Val) -> bool:
        return x.op == "convert" or self.builder.is_op(x.op)

    def take(self, x: Val, index: Val) -> Val:
        """The elements of x at positions, over the domain of the positions."""
        if x.domain is None or (index.op == "positions" and index.domain == x.domain):
            return x
        if x.op == "fill":
            return self.everywhere(x.args[0], index.domain)
        key = (x.handle, index.handle, index.chooses)
        made = self.taken.get(key)
        if made is None:
            made = self.taken[key] = self._taken(x, index)
        if x.chooses and index.chooses:
            made.chooses = True
        if x.local is not None and made.local is None:
            lists, places = x.local
            made.local = (lists, self.take(places, index))
        return made

    def _taken(self, x: Val, index: Val) -> Val:
        if index.chooses and x.op == "take":
            return self.take(x.args[0], self.take(x.args[1], index))
        if index.chooses and x.op == "convert":
            return self.convert(self.take(x.args[0], index), x.dtype)
        if index.chooses and self.builder.is_op(x.op):
            return self.map(x.op, *[self.take(y, index) for y in x.args])
        return self.val(self.builder.take(x.handle, index.handle), "take", (x, index))

    def local_index(self, lists: int, places: Val, over: int | None) -> Val:
        """The index in its list of each position, as Awkward counts.

        `lists` are what the positions are in. `places` are over the elements of the lists `over`, which have the same parent; if that
        is None, over the parent.
        """
        starts = self.starts(lists)
        if over is not None:
            starts = self.take(starts, self.parents(over))
        made = self.convert(self.map("subtract", places, starts), "int64")
        made.local = (lists, places)
        return made

    def parent(self, lists: int) -> int | None:
        return self.builder.parent(lists)

    def same(self, a: int | None, b: int | None) -> bool:
        return a == b or (a is not None and b is not None and self.builder.same_elements(a, b))

    def check(self, mask: Val, message: str) -> None:
        """If an element of the mask is false, the function runs in Awkward, which raises its own error."""
        self.builder.check(mask.handle, len(self.messages))
        self.messages.append(message)

    # ---- arrays

    def input_lists(self, domain: int, number: int, offsets: str) -> int:
        self.offsets.add(number)
        first = self.aliases.get(number, number)
        if self.list_parents.setdefault(first, domain) != domain:
            first = number
            self.list_parents[first] = domain
        made = self.builder.list(domain, first, offsets)
        self.input_offsets[made] = (first, domain)
        return made

    def lists(self, lists: int, content: Any) -> Lists:
        return Lists(lists, content, self.parent(lists))

    def option(self, valid: Val, x: Any, hides: str | None = None) -> Option:
        return Option(self.both(valid, x.valid), x.content) if isinstance(x, Option) else Option(valid, x, hides)

    def moved(self, x: Any, index: Val) -> Any:
        """The elements of an array at positions, over the domain of the positions."""
        if isinstance(x, Column):
            return Column(self.take(x.value, index), index.domain)
        if isinstance(x, Record):
            fields = {name: self.moved(y, index) for name, y in x.fields.items()}
            return type(x)(fields, index.domain, self._origin(x, index))
        if isinstance(x, Option):
            hides = "content" if x.hides == "content" else None
            return Option(self.take(x.valid, index), self.moved(x.content, index), hides)
        if isinstance(x, Single):
            return Single(self.moved(x.content, index), x.regular)
        if isinstance(x, Lists):
            if index.op == "positions" and index.domain == x.domain:
                return x
            gathered = self.builder.gather(x.lists, index.handle)
            content = self.moved(x.content, self.source(gathered, 0, index.chooses))
            return Lists(gathered, content, index.domain, self._origin(x, index))
        if isinstance(x, Fixed):
            return Fixed([self.moved(y, index) for y in x.contents])
        if isinstance(x, Foreign):
            return Foreign(x.reason, index.domain)
        raise Unsupported(f"elements of {type(x).__name__} by position")

    def _origin(self, x: Record | Lists, index: Val) -> Origin | None:
        of = x.origin
        return of and Origin(of.layout, of.domain, index if of.index is None else self.take(of.index, index))

    def filtered(self, x: Any, domain: int) -> Any:
        """Returns the elements of x that stay in `domain`, a filter of the domain of x."""
        return self.moved(x, self.source(domain, 0, True))

    def element(self, x: Lists, i: int) -> Option:
        """Element i of each list, missing if the list has no more than i elements."""
        there = self.map("greater", self.counts(x.lists), self.constant(i, "int32"))
        place = self.starts(x.lists)
        if i > 0:
            place = self.map("add", place, self.constant(i, "int32"))
            place.chooses = True
        return self.option(there, self.moved(x.content, place))

    def as_lists(self, x: Single) -> Lists:
        lists = self.builder.regular(x.domain, 1)
        return Lists(lists, self.moved(x.content, self.chosen_parents(lists)), x.domain)

    def chosen_parents(self, lists: int) -> Val:
        made = self.parents(lists)
        made.chooses = True
        return made

    # ---- broadcasting

    def aligned(self, lists: int, others: int, valid: Val | None, message: str) -> Val:
        """The positions in `lists` of the elements of other lists, whose numbers of elements must be equal.

        Lists that are not valid may have other numbers of elements. Their positions have no meaning.
        """
        alike = self.map("equal", self.counts(lists), self.counts(others))
        positions = self.positions(others)
        if valid is None:
            self.check(alike, message)
            return positions
        self.check(self.map("bit_or", alike, self.invert(valid)), message)
        shift = self.map("subtract", self.starts(lists), self.starts(others))
        return self.map("add", positions, self.take(shift, self.parents(others)))

    def into(self, x: Any, lists: int, valid: Val | None = None) -> Any:
        """The elements of x that belong to the elements of lists with this domain. `valid` as in aligned()."""
        if isinstance(x, Scalar):
            return x
        if isinstance(x, Lists):
            if x.lists == lists:
                return x.content
            if not self.same(self.parent(x.lists), self.parent(lists)):
                raise Unsupported("lists of different arrays")
            return self.moved(x.content, self.aligned(x.lists, lists, valid, "lists of different lengths are broadcast"))
        if isinstance(x, Single):
            x = x.content
        if not self.same(x.domain, self.parent(lists)):
            raise Unsupported("arrays of different lengths")
        return self.moved(x, self.parents(lists))

    def broadcast(self, args: list[Any], leaf: Any, stop: Any = None, valid: Val | None = None, is_inside: bool = False) -> Any:
        """leaf(args), where no list and no missing value is in the way; the result in the lists of the arguments.

        `stop(args)` tells whether leaf() takes the arguments as they are. `valid` says which elements are not missing, and
        `is_inside` whether they are elements of lists of different lengths.
        """
        for x in args:
            if isinstance(x, Foreign):
                raise Unsupported(x.reason)
        if stop is not None and stop(args):
            return leaf(args)
        options = [x for x in args if isinstance(x, Option)]
        if options:
            there = self.both(*[x.valid for x in options])
            contents = [x.content if isinstance(x, Option) else x for x in args]
            inner = self.broadcast(contents, leaf, stop, self.all_of(valid, there), is_inside)
            return self.option(there, inner, "nothing")
        lists = [x for x in args if isinstance(x, Lists)]
        singles = [x for x in args if isinstance(x, Single)]
        if any(isinstance(x, Fixed) for x in args):
            return self._broadcast_fixed(args, leaf, stop)
        if lists or (singles and not all(x.regular for x in singles)):
            if not all(x.regular for x in singles):
                args = [self.as_lists(x) if isinstance(x, Single) and not x.regular else x for x in args]
                lists = [x for x in args if isinstance(x, Lists)]
            variable = [x for x in lists if x.lists not in self.sizes]
            if not variable and any(isinstance(x, Column | Record) for x in args):
                # As NumPy broadcasts: from the right.
                raise Unsupported("regular lists with an array that has no lists")
            if not variable and len({self.sizes[x.lists] for x in lists}) > 1:
                raise Unsupported("regular lists of different lengths")
            chosen = (variable or lists)[0].lists
            contents = [self.into(x, chosen, valid) for x in args]
            below = None if valid is None else self.take(valid, self.parents(chosen))
            return self.lists(chosen, self.broadcast(contents, leaf, stop, below, is_inside or bool(variable)))
        if singles and any(isinstance(x, Record) or (isinstance(x, Column) and not is_inside) for x in args):
            # As NumPy broadcasts: from the right.
            raise Unsupported("lists of one element with an array that has no lists")
        if singles:
            contents = [x.content if isinstance(x, Single) else x for x in args]
            return Single(self.broadcast(contents, leaf, stop, valid, is_inside))
        return leaf(args)

    def _broadcast_fixed(self, args: list[Any], leaf: Any, stop: Any) -> Fixed:
        size = max(len(x.contents) for x in args if isinstance(x, Fixed))
        if any(
            isinstance(x, Lists | Single | Column | Record) or (isinstance(x, Fixed) and len(x.contents) != size) for x in args
        ):
            raise Unsupported("lists of a fixed length with other lists")
        each = [[x.contents[i] if isinstance(x, Fixed) else x for x in args] for i in range(size)]
        return Fixed([self.broadcast(leaves, leaf, stop) for leaves in each])

    def one_domain(self, args: list[Any]) -> int:
        """The domain of all arrays among the arguments."""
        domains = [x.domain for x in args if not isinstance(x, Scalar)]
        if not domains or not all(self.same(x, domains[0]) for x in domains):
            raise Unsupported("arrays of different lengths")
        return domains[0]

    # ---- fields and subscripts

    def field(self, x: Any, name: str | list[str]) -> Any:
        if isinstance(x, Record):
            try:
                if isinstance(name, list):
                    return type(x)({n: x.fields[n] for n in name}, x.domain, _field_of(x.origin, name))
                return x.fields[name]
            except KeyError as error:
                raise Unsupported(f"no field {name}") from error
        if isinstance(x, Lists):
            return Lists(x.lists, self.field(x.content, name), x.domain, _field_of(x.origin, name))
        if isinstance(x, Option):
            return self.option(x.valid, self.field(x.content, name), x.hides)
        if isinstance(x, Single):
            return Single(self.field(x.content, name), x.regular)
        if isinstance(x, Fixed):
            return Fixed([self.field(y, name) for y in x.contents])
        raise Unsupported(x.reason if isinstance(x, Foreign) else f"a field of {type(x).__name__}")

    def item(self, x: Any, where: Any, valid: Val | None = None) -> Any:
        """x[where]. `valid` says which elements are not missing."""
        if isinstance(x, Foreign):
            raise Unsupported(x.reason)
        if isinstance(where, Column) and where.value.dtype == "bool":
            if not self.same(x.domain, where.domain):
                raise Unsupported("a mask of another length")
            kept = self.builder.filter(where.domain, self.everywhere(where.value, where.domain).handle)
            return self.filtered(x, kept)
        if isinstance(where, tuple):
            if where and all(isinstance(y, str) for y in where):
                return functools.reduce(self.field, where, x)
            return self.slices(x, where)
        if isinstance(where, Option) and isinstance(where.content, Column):
            return self._masked(x, where)
        if isinstance(x, Option) or isinstance(where, Option):
            there = self.both(*[y.valid for y in (x, where) if isinstance(y, Option)])
            contents = [y.content if isinstance(y, Option) else y for y in (x, where)]
            inner = self.item(*contents, self.all_of(valid, there))
            return self.option(there, inner, None if isinstance(where, Option) else "nothing")
        if isinstance(x, Single):
            x = self.as_lists(x)
        if isinstance(x, Lists) and isinstance(where, Lists):
            return self.jagged(x, where, valid)
        if isinstance(x, Lists) and isinstance(where, Single):
            if not self.same(x.domain, where.domain):
                raise Unsupported("a subscript of other lists")
            made = self.picked(x, where.content, x.domain, None, valid)
            return Single(made, False)
        raise Unsupported(f"a subscript of type {type(where).__name__} of {type(x).__name__}")

    def _masked(self, x: Any, where: Option) -> Any:
        """Events by a mask with missing values, which become missing events."""
        if where.content.value.dtype != "bool" or not self.same(x.domain, where.domain):
            raise Unsupported("an index with missing values")
        mask = self.everywhere(self.map("bit_or", where.content.value, self.invert(where.valid)), where.domain)
        kept = self.builder.filter(where.domain, mask.handle)
        return self.option(self.take(where.valid, self.source(kept, 0, True)), self.filtered(x, kept))

    def jagged(self, x: Lists, where: Lists, valid: Val | None) -> Any:
        """Lists by lists: a mask or an index for the elements of each list."""
        if not self.same(x.domain, where.domain):
            raise Unsupported("a subscript of other lists")
        index = where.content
        is_alike = where.lists == x.lists
        if isinstance(index, Lists | Single):
            self.needs_offsets_from_0 = True
            if not is_alike:
                index = self.moved(index, self.aligned(where.lists, x.lists, valid, "a subscript of other lists"))
            below = None if valid is None else self.take(valid, self.parents(x.lists))
            return Lists(x.lists, self.item(x.content, index, below), x.domain)
        number = index.content if isinstance(index, Option) else index
        if not isinstance(number, Column):
            raise Unsupported(f"a subscript of {type(number).__name__}")
        if number.value.dtype != "bool":
            return Lists(where.lists, self.picked(x, index, where.lists, where.lists, valid), where.domain)
        if not is_alike:
            index = self.moved(index, self.aligned(where.lists, x.lists, valid, "a mask of other lists"))
            number = index.content if isinstance(index, Option) else index
        mask = self.everywhere(number.value, x.lists)
        if isinstance(index, Option):  # what the mask does not say becomes a missing value
            mask = self.map("bit_or", mask, self.invert(index.valid))
        kept = self.builder.filter(x.lists, mask.handle)
        made = self.filtered(x.content, kept)
        if isinstance(index, Option):
            made = self.option(self.take(index.valid, self.source(kept, 0, True)), made)
        return self.lists(kept, made)

    def picked(self, x: Lists, index: Any, domain: int, lists: int | None, there: Val | None) -> Any:
        """Elements of the lists of x by local index, which is over `domain`: elements of `lists`, or that of x. `there` says which
        lists are not missing."""
        valid = index.valid if isinstance(index, Option) else None
        number = index.content if isinstance(index, Option) else index
        if not isinstance(number, Column) or number.value.dtype[0] not in "iu":
            raise Unsupported("a subscript that is not an index")
        value = self.everywhere(number.value, domain)
        if value.local is not None and value.local[0] == x.lists:
            place = value.local[1]
        else:
            starts, counts = self.starts(x.lists), self.counts(x.lists)
            if lists is not None:
                parents = self.parents(lists)
                starts, counts = self.take(starts, parents), self.take(counts, parents)
                there = there and self.take(there, parents)
            place = self.at(value, starts, counts, self.all_of(valid, there))
        made = self.moved(x.content, place)
        return made if valid is None else self.option(valid, made)

    def at(self, index: Val, starts: Val, counts: Val, valid: Val | None) -> Val:
        """The position of an index, which counts from the end of the list if it is negative. Checks it."""
        index, counts = self.convert(index, "int64"), self.convert(counts, "int64")
        zero = self.constant(0, "int64")
        index = self.map("where", self.map("less", index, zero), self.map("add", index, counts), index)
        inside = self.both(self.map("greater_equal", index, zero), self.map("less", index, counts))
        if valid is not None:
            inside = self.map("bit_or", inside, self.invert(valid))
        self.check(inside, "an index is out of range")
        return self.map("add", self.convert(index, "int32"), starts)

    def slices(self, x: Any, where: tuple, valid: Val | None = None) -> Any:
        """x[:, …]: the first subscript takes all events. Lists that are not valid may lack elements."""
        if not where or where[0] != slice(None):
            raise Unsupported("a subscript of events by number")
        where = where[1:]
        if not where:
            return x
        if isinstance(x, Option):
            return self.option(x.valid, self.slices(x.content, (slice(None), *where), x.valid), "nothing")
        one, rest = where[0], where[1:]
        if one is None:
            return Single(self.slices(x, (slice(None), *rest)))
        if isinstance(x, Single):
            if isinstance(one, int) and one in (0, -1) and x.regular:
                return self.slices(x.content, (slice(None), *rest))
            x = self.as_lists(x)
        if isinstance(x, Fixed):
            if isinstance(one, bool) or not isinstance(one, int) or not -len(x.contents) <= one < len(x.contents):
                raise Unsupported("a subscript of lists of a fixed length")
            return self.slices(x.contents[one], (slice(None), *rest))
        if not isinstance(x, Lists):
            raise Unsupported(f"a subscript of {type(x).__name__}")
        starts, counts = self.starts(x.lists), self.counts(x.lists)
        if isinstance(one, bool) or not isinstance(one, int | slice):
            raise Unsupported(f"a subscript of type {type(one).__name__}")
        if isinstance(one, int):
            if rest:
                raise Unsupported("a subscript after an index")
            index = self.everywhere(self.constant(one, "int64"), x.domain)
            place = self.at(index, starts, counts, valid)
            place.chooses = True
            return self.moved(x.content, place)
        if one.step not in (None, 1):
            raise Unsupported("a slice with a step")
        inner = x
        if one.start is not None or one.stop is not None:
            counts = self.convert(counts, "int64")
            index = self.local_index(x.lists, self.positions(x.lists), x.lists)
            mask = None
            for bound, op in ((one.start, "greater_equal"), (one.stop, "less")):
                if bound is None:
                    continue
                if not isinstance(bound, int):
                    raise Unsupported("a slice by other than numbers")
                limit = self.constant(bound, "int64")
                if bound < 0:
                    limit = self.take(self.map("add", counts, limit), self.parents(x.lists))
                inside = self.map(op, index, limit)
                mask = inside if mask is None else self.both(mask, inside)
            kept = self.builder.filter(x.lists, mask.handle)
            inner = self.lists(kept, self.filtered(x.content, kept))
        return Lists(inner.lists, self.slices(inner.content, (slice(None), *rest)), inner.domain) if rest else inner

    # ---- outputs

    def output(self, value: Val, domain: int) -> int:
        value = self.everywhere(value, domain)
        key = ("value", value.handle)
        if key not in self.outputs:
            self.outputs[key] = self.builder.output(value.handle)
        return self.outputs[key]

    def output_numbers(self, index: Val, domain: int) -> int:
        """The numbers of elements of an argument, by their positions in `domain`."""
        key = ("numbers", index.handle, domain)
        if key not in self.outputs:
            self.outputs[key] = self.builder.output(self.builder.numbers(index.handle, domain))
        return self.outputs[key]

    def output_offsets(self, lists: int) -> int:
        key = ("offsets", lists)
        if key not in self.outputs:
            self.outputs[key] = self.builder.output_offsets(lists)
        return self.outputs[key]

    def input(self, number: int, start: int) -> tuple[Any, int]:
        """The lowered argument whose first buffer has number `start`, and the number after its last one."""
        return layouts.lowered_input(self, self.layouts[number], start, self.events, lambda inputs: inputs[number])


def _field_of(of: Origin | None, name: str | list[str]) -> Origin | None:
    """The origin of a field, or of several ones."""
    if of is None:
        return None
    of_layout = of.layout
    if isinstance(name, list):
        return Origin(lambda inputs: of_layout(inputs)._getitem_fields(name), of.domain, of.index)
    return Origin(lambda inputs: of_layout(inputs)._getitem_field(name), of.domain, of.index)


def fits(number: Any, dtype: str) -> bool:
    """Whether NumPy uses a number with arrays of this type without an error and without another type."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return isinstance(number, bool | np.bool_)
    if kind in "iu":
        info = np.iinfo(dtype)
        return isinstance(number, bool | int | np.integer | np.bool_) and info.min <= number <= info.max
    return isinstance(number, bool | int | float | np.floating | np.integer | np.bool_)
