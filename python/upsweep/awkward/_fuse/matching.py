# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/matching.py: compares the arguments of a call with those of a recording.
"""Arguments computes a key for any arguments, in Python. A program of a few events takes less time than that. Therefore the usual
layouts (records, lists and numbers) of one recording become a compiled function. It accepts only arguments with the same key, and
need not accept all of these: Arguments decides about the others.
"""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np

from upsweep.awkward._fuse.purity import is_constant

contents = ak.contents


class _Unusual(Exception):
    """Only Arguments supports such arguments."""


class Found:
    """The arrays and numbers among the arguments, the buffers of the arrays, and the lengths of the arrays."""

    __slots__ = ("columns", "is_plain", "lengths", "values")

    def __init__(self, values: list, columns: list, lengths: list, is_plain: bool):
        self.values = values
        self.is_plain = is_plain  # whether all buffers are arrays
        self.columns = columns
        self.lengths = lengths


def matcher(args: tuple, kwargs: dict, static: set[int]) -> Any:
    """Returns a function of (args, kwargs) that returns Found, or None. Returns None if the layouts are not the usual ones."""
    try:
        return _Source(static).compiled(args, kwargs)
    except _Unusual:
        return None


class _Source:
    """The source of the function. It visits the arguments in the order of Arguments and Buffers."""

    def __init__(self, static: set[int]):
        self.static = static
        self.lines: list[str] = []
        self.space: dict[str, Any] = {}
        self.values: list[str] = []
        self.columns: list[str] = []
        self.lengths: list[str] = []
        self.arrays: dict[int, str] = {}  # names by the ids of arrays
        self.offsets: dict[int, str] = {}  # names by the ids of offsets
        self.count = 0

    def compiled(self, args: tuple, kwargs: dict) -> Any:
        self.refuse_if(f"len(args) != {len(args)}")
        self.refuse_if(f"tuple(kwargs) != {self.constant(tuple(kwargs))}" if kwargs else "kwargs")
        for i, x in enumerate(args):
            self.visit(f"args[{i}]", x)
        for name, x in kwargs.items():
            self.visit(f"kwargs[{name!r}]", x)
        for names in (self.arrays.values(), self.offsets.values()):
            if len(names) == 2:
                self.refuse_if(" is ".join(names))
            elif len(names) > 2:
                self.refuse_if(f"len({{{', '.join(f'id({name})' for name in names)}}}) != {len(names)}")
        parts = (", ".join(x) for x in (self.values, self.columns, self.lengths))
        self.lines.append("return Found([{}], [{}], [{}], True)".format(*parts))
        source = "def match(args, kwargs):\n" + "".join(f"    {line}\n" for line in self.lines)
        self.space |= {"Found": Found, "ndarray": np.ndarray}
        exec(compile(source, "<a recording of upsweep.awkward.fuse>", "exec"), self.space)  # noqa: S102 - own source
        return self.space["match"]

    # ---- lines

    def refuse_if(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return None")

    def name(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def constant(self, x: Any) -> str:
        made = self.name()
        self.space[made] = x
        return made

    def let(self, expression: str) -> str:
        made = self.name()
        self.lines.append(f"{made} = {expression}")
        return made

    # ---- arguments

    def visit(self, expression: str, x: Any) -> None:
        if isinstance(x, ak.Array):
            self.array(self.let(expression), x)
            return
        here = self.let(expression)
        kind = type(x)
        if kind in (int, float) or isinstance(x, np.number):
            self.refuse_if(f"type({here}) is not {self.constant(kind)}")
            if len(self.values) in self.static:
                self.refuse_if(f"repr({here}) != {repr(x)!r}")
            elif kind is int:
                self.refuse_if(f"not {-(1 << 63)} <= {here} < {1 << 63}")
            self.values.append(here)
        elif kind is dict:
            self.refuse_if(f"type({here}) is not dict or tuple({here}) != {self.constant(tuple(x))}")
            for name, y in x.items():
                self.visit(f"{here}[{name!r}]", y)
        elif kind is tuple or kind is list:
            self.refuse_if(f"type({here}) is not {kind.__name__} or len({here}) != {len(x)}")
            for i, y in enumerate(x):
                self.visit(f"{here}[{i}]", y)
        elif x is None or isinstance(x, bool | type) or is_constant(x):
            self.refuse_if(f"{here} is not {self.constant(x)}")
        elif kind in (str, bytes):
            self.refuse_if(f"type({here}) is not {kind.__name__} or {here} != {x!r}")
        else:
            raise _Unusual

    def array(self, here: str, x: ak.Array) -> None:
        known = self.arrays.get(id(x))
        if known is not None:
            self.refuse_if(f"{here} is not {known}")
            return
        self.arrays[id(x)] = here
        behavior = "None" if x._behavior is None else self.constant(x._behavior)
        attrs = f"tuple({here}._attrs or ()) != {self.constant(tuple(x._attrs))}" if x._attrs else f"{here}._attrs"
        self.refuse_if(f"type({here}) is not {self.constant(type(x))} or {here}._behavior is not {behavior} or {attrs}")
        layout = self.let(f"{here}._layout")
        self.refuse_if(f"{layout}._backend is not {self.constant(x._layout._backend)}")
        self.values.append(here)
        self.lengths.append(self.layout(layout, x._layout))

    def layout(self, here: str, node: Any) -> str:
        """Adds the checks of a layout. Returns the expression of its length."""
        kind = type(node)
        differs = f"type({here}) is not {self.constant(kind)}"
        if node._parameters:
            self.refuse_if(f"{differs} or repr({here}._parameters) != {repr(node._parameters)!r}")
        else:
            self.refuse_if(f"{differs} or {here}._parameters")
        if kind is contents.NumpyArray:
            return f"len({self.buffer(f'{here}._data', node._data)})"
        if kind is contents.ListOffsetArray:
            offsets = self.buffer(f"{here}._offsets._data", node._offsets._data)
            known = self.offsets.setdefault(id(node._offsets._data), offsets)
            if known is not offsets:
                self.refuse_if(f"{offsets} is not {known}")
            self.layout(self.let(f"{here}._content"), node._content)
            return f"len({offsets}) - 1"
        if kind is contents.RecordArray:
            if node._fields is None:
                self.refuse_if(f"{here}._fields is not None")
            else:
                self.refuse_if(f"{here}._fields != {self.constant(list(node._fields))}")
            fields = self.let(f"{here}._contents")
            self.refuse_if(f"len({fields}) != {len(node._contents)}")
            for i, content in enumerate(node._contents):
                self.layout(self.let(f"{fields}[{i}]"), content)
            return f"{here}.length"
        raise _Unusual

    def buffer(self, expression: str, data: Any) -> str:
        if type(data) is not np.ndarray or data.ndim != 1:
            raise _Unusual
        made = self.let(expression)
        # Types of numbers are one object each. Another object with the same meaning is left to Arguments.
        self.refuse_if(f"type({made}) is not ndarray or {made}.dtype is not {self.constant(data.dtype)} or {made}.ndim != 1")
        self.columns.append(made)
        return made
