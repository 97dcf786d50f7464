# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/arrays.py: what an Awkward Array is while it is lowered: columns, records, lists, options.
"""A lowered array is a tree whose leaves are values of a plan:

    Column(value, domain)         one number for each element of a domain; the value may be a scalar
    Record(fields, domain)        names of arrays over one domain
    Union(fields, domain)         what records of different kinds have in common
    Lists(lists, content)         `lists` is the domain of the elements, whose parent is the domain of the lists
    Option(valid, content)        missing values: a value of booleans; elements that are missing exist, without meaning
    Single(content)               lists of exactly one element, such as keepdims=True makes: the content is over the lists' domain
    Fixed(contents)               lists of len(contents) elements, such as clip=True makes
    Foreign(reason)               an array that plans do not support; only calls that use it are not lowered

Each array has a `domain`, the plan's handle of the index space of its outermost elements.

Records and lists that are elements of an argument have an Origin. A result of such elements is then the argument's layout, carried
by an index as Awkward carries it, and the plan computes the index only.
"""

from __future__ import annotations

from typing import Any


class Unsupported(Exception):
    """A call cannot be lowered. Awkward executes it instead."""


class Rerun(Exception):
    """This call must be executed by Awkward: a check has failed, or an argument has values that plans do not support."""


class Val:
    """A value of the plan: its handle, and what the lowering found out about it."""

    __slots__ = ("args", "chooses", "domain", "dtype", "handle", "local", "op")

    def __init__(self, handle: int, op: str, args: tuple, domain: int | None, dtype: str):
        self.handle = handle
        self.op = op
        self.args = args
        self.domain = domain  # None: a scalar
        self.dtype = dtype
        self.chooses = False  # positions that name each element at most once, roughly: filters, minima
        self.local = None  # (lists, positions): this value is the local index of these positions in these lists


class Origin:
    """The elements of an argument that an array consists of."""

    __slots__ = ("domain", "index", "layout")

    def __init__(self, layout: Any, domain: int, index: Val | None = None):
        self.layout = layout  # from the layouts of the arguments to one of their contents
        self.domain = domain  # of the elements of that content
        self.index = index  # positions in that domain; None: all elements in order


class Column:
    __slots__ = ("domain", "value")

    def __init__(self, value: Val, domain: int):
        self.value = value
        self.domain = domain


class Record:
    __slots__ = ("domain", "fields", "origin")

    def __init__(self, fields: dict[str, Any], domain: int, origin: Origin | None = None):
        self.fields = fields
        self.domain = domain
        self.origin = origin


class Union(Record):
    """Records of different kinds, joined: the fields that all kinds have. Plans do not make such an array itself."""

    __slots__ = ()


class Lists:
    __slots__ = ("content", "domain", "lists", "origin")

    def __init__(self, lists: int, content: Any, domain: int, origin: Origin | None = None):
        self.lists = lists
        self.content = content
        self.domain = domain
        self.origin = origin


class Option:
    """Missing values.

    Awkward's ak.where returns lists where a list is missing, with the length of the list that the layout hides there. `hides`
    says what Awkward's own layout hides:
        "content": the elements of the content at these places, which a plan computes as well
        "nothing": the content has only the elements that are not missing, in order
        None: it is not known
    """

    __slots__ = ("content", "hides", "valid")

    def __init__(self, valid: Val, content: Any, hides: str | None = None):
        self.valid = valid
        self.content = content
        self.hides = hides

    @property
    def domain(self) -> int:
        return self.content.domain


class Single:
    __slots__ = ("content", "regular")

    def __init__(self, content: Any, regular: bool = True):
        self.content = content
        self.regular = regular  # whether the type is `1 * x`, which broadcasts, or `var * x`

    @property
    def domain(self) -> int:
        return self.content.domain


class Fixed:
    """Lists of the same number of elements. Each content has one element of every list, and is over the lists' domain."""

    __slots__ = ("contents",)

    def __init__(self, contents: list[Any]):
        self.contents = contents

    @property
    def domain(self) -> int:
        return self.contents[0].domain


class Foreign:
    __slots__ = ("domain", "reason")

    def __init__(self, reason: str, domain: int):
        self.reason = reason
        self.domain = domain


class Scalar:
    """A number among the arguments of a call: a literal of the function, or a node that is computed in each call."""

    __slots__ = ("node", "number")

    def __init__(self, number: Any, node: Any = None):
        self.number = number  # of a node: a number of the same type
        self.node = node


def has_lists(x: Any) -> bool:
    """Whether an array has lists of different lengths."""
    if isinstance(x, Record):
        return any(map(has_lists, x.fields.values()))
    if isinstance(x, Fixed):
        return any(map(has_lists, x.contents))
    is_variable = isinstance(x, Lists) or (isinstance(x, Single) and not x.regular)
    return is_variable or (isinstance(x, Option | Single) and has_lists(x.content))


ARRAYS = (Column, Record, Union, Lists, Option, Single, Fixed, Foreign)
