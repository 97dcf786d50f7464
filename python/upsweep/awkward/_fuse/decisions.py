# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/decisions.py: trees of a correction as tables of a plan.
"""A correction is a tree. Its inner nodes choose a child by the bin of an input, or by a category. Its leaves are numbers and
formulas. A plan does not branch. It computes for all elements

- the position of an input among the edges of all nodes that choose by it: a search in a table,
- the cell, an index that combines such positions,
- the number of the cell: a lookup in a table. A formula is computed with its parameters from such tables.

The union of edges makes one search out of the nodes of one level. Cells that have become many are merged: those with the same
subtree are one.

All choices are searches. A category of integers has edges at each key and after it. The bins of a uniform binning are computed
with rounding; a bisection over all floats finds the edges that give the same bins.

Elements for which correctionlib raises an error, or reads memory that is not its own, fail a check.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import numpy as np

from upsweep.awkward._fuse.arrays import Unsupported, Val
from upsweep.awkward._fuse.lowering import ROUNDED

_MOST_PRODUCTS = 1 << 12  # cells before equal ones are merged
_MOST_CELLS = 1 << 20
_MOST_FORMULAS = 16  # that differ by more than their numbers

_UNARY = {"NEGATIVE": "negative", "ABS": "absolute", "SQRT": "sqrt", "ACOS": "arccos", "ASIN": "arcsin", "ATAN": "arctan",
          "ACOSH": "arccosh", "ASINH": "arcsinh", "ATANH": "arctanh"}  # fmt: skip
_SAME_NAMES = frozenset(("LOG", "LOG10", "EXP", "COS", "SIN", "TAN", "COSH", "SINH", "TANH"))
_BINARY = {"PLUS": "add", "MINUS": "subtract", "TIMES": "multiply", "DIV": "divide", "POW": "power", "ATAN2": "arctan2"}
_COMPARISONS = {"EQUAL": "equal", "NOTEQUAL": "unequal", "GREATER": "greater", "LESS": "less", "GREATEREQ": "greater_equal",
                "LESSEQ": "less_equal"}  # fmt: skip


class Number(str):
    """A number of the JSON, as it is written."""

    __slots__ = ()


class Content:
    """The tree of one correction."""

    def __init__(self, core: Any, correction: dict, numbers: dict[str, float]):
        self.core = core  # the module of correctionlib that parses formulas
        self.numbers = numbers
        self.root = correction["data"]
        self.inputs = {x["name"]: x["type"] for x in reversed(correction["inputs"])}
        self.names = [x["name"] for x in correction["inputs"]]
        self.variables = [core.Variable.from_string(json.dumps({"name": x, "type": self.inputs[x]})) for x in self.names]
        self.generic = correction.get("generic_formulas") or []

    def number(self, x: Any) -> float:
        return self.numbers[x] if type(x) is Number else float(x)

    def formula(self, node: dict) -> Formula:
        whole = self.generic[node["index"]] if node["nodetype"] == "formularef" else node
        text = json.dumps({"expression": whole["expression"], "parser": whole["parser"], "variables": whole["variables"]})
        parameters = ",".join(map(str, node.get("parameters") or []))
        return Formula(self.core.Formula.from_string(f'{text[:-1]},"parameters":[{parameters}]}}', self.variables).ast)


class Formula:
    """A formula, as what it has in common with formulas that have other numbers, and its numbers."""

    __slots__ = ("numbers", "shape")

    def __init__(self, ast: Any):
        self.numbers: list[float] = []
        self.shape = self._shape(ast)

    def _shape(self, node: Any) -> tuple:
        kind = node.nodetype.name
        if kind == "LITERAL":
            self.numbers.append(node.data)
            return (kind, len(self.numbers) - 1)
        if kind == "VARIABLE":
            return (kind, node.data)
        return (node.data.name, *map(self._shape, node.children))


class Transform:
    """A node that gives an input another value in its subtree."""

    __slots__ = ("node", "shape")

    def __init__(self, node: dict):
        self.node = node
        self.shape = id(node)


class Split:
    """A node that chooses: cells[i] for the values that i edges do not exceed. NaN exceeds all edges."""

    __slots__ = ("axis", "cells", "edges", "refuses_nan")

    def __init__(self, axis: tuple, edges: Any, cells: list, refuses_nan: bool = False):
        self.axis = axis  # the name of an input, and what is computed of it
        self.edges = np.asarray(edges, np.int64 if axis[1] == "int" else np.float64)
        self.cells = cells
        self.refuses_nan = refuses_nan


class Block:
    """The part of a multibinning that is left after bins of its first inputs."""

    __slots__ = ("axis", "node", "start")

    def __init__(self, node: dict, axis: int, start: int):
        self.node, self.axis, self.start = node, axis, start


class ERROR:
    """The cell of values for which correctionlib raises an error."""


def _count(edges: Any) -> int:
    return edges["n"] if isinstance(edges, dict) else len(edges) - 1


def _from_ordered(x: np.ndarray) -> np.ndarray:
    """The floats of integers that have the order of the floats."""
    return (x ^ ((x >> 63) & 0x7FFFFFFFFFFFFFFF)).view(np.float64)


@functools.lru_cache(maxsize=64)
def _uniform_edges(n: int, low: float, high: float) -> np.ndarray:
    """The minimum x from low to high for which n * ((x - low) / (high - low)) is at least 1, 2, …, n."""
    bits = np.array([[low], [high]]).view(np.int64)
    below, reached = np.repeat(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF), n, axis=1)
    for _ in range(64):
        middle = (below & reached) + ((below ^ reached) >> 1)
        there = n * ((_from_ordered(middle) - low) / (high - low)) >= np.arange(1, n + 1)
        below, reached = np.where(there, below, middle), np.where(there, middle, reached)
    return _from_ordered(reached)


class Decisions:
    """Lowers trees for the elements of one domain. `fine` is false where correctionlib raises an error."""

    def __init__(self, low: Any, domain: int):
        self.low = low
        self.domain = domain
        self.fine: Val | None = None

    def as_value(self, x: Any, dtype: str) -> Val:
        return x if isinstance(x, Val) else self.low.constant(x, dtype)

    def require(self, condition: Val, where: Val | None) -> None:
        if where is not None:
            condition = self.low.map("bit_or", condition, self.low.invert(where))
        self.fine = self.low.all_of(self.fine, condition)

    def value(self, content: Content, inputs: dict[str, Any]) -> Val:
        """The correction of inputs: values of the plan, numbers and strings."""
        return _Tree(self, content, inputs, None).of(content.root)


class _Tree:
    """The nodes of a tree for given inputs. `where`: the elements whose result is used."""

    def __init__(self, decisions: Decisions, content: Content, inputs: dict[str, Any], where: Val | None):
        self.decisions, self.content, self.inputs, self.where = decisions, content, inputs, where
        self.low = decisions.low
        self.known: dict[int, tuple[Any, Any]] = {}  # nodes by their ids, and what they are

    def of(self, root: Any) -> Val:
        cells, index = [self.resolved(root)], None
        while True:
            axis = next((x.axis for x in cells if type(x) is Split), None)
            if axis is None:
                return self.leaves(cells, index)
            splits = {id(x): x for x in cells if type(x) is Split and x.axis == axis}
            edges = np.unique(np.concatenate([x.edges for x in splits.values()]))
            width = len(edges) + 1
            if len(cells) * width > _MOST_PRODUCTS:
                cells, index = self.merged(cells, index)
            if len(cells) * width > _MOST_CELLS:
                raise Unsupported(f"more than {_MOST_CELLS} cells")
            position = self.position(axis, edges, any(x.refuses_nan for x in splits.values()))
            if index is not None:
                position = self.low.map("add", self.low.map("multiply", index, self.low.constant(width, "int64")), position)
            index = position
            below = {
                at: [self.resolved(x.cells[i]) for i in (0, *np.searchsorted(x.edges, edges, "right").tolist())]
                for at, x in splits.items()
            }
            cells = [y for x in cells for y in below.get(id(x), [x] * width)]

    def merged(self, cells: list, index: Val | None) -> tuple[list, Val | None]:
        """The different cells, and the index of each element among these."""
        places: dict[Any, int] = {}
        numbers = [places.setdefault(_identity(x), len(places)) for x in cells]
        if index is None or len(places) == len(cells):
            return cells, index
        return [cells[i] for i in np.unique(numbers, return_index=True)[1]], self.low.lookup(np.array(numbers), index)

    # ---- nodes

    def resolved(self, node: Any) -> Any:
        """A number, ERROR, a Formula, a Transform, or a Split by an input that is not a constant."""
        if isinstance(node, Number | int | float):
            return self.content.number(node)
        if node is ERROR:
            return ERROR
        if id(node) not in self.known:
            self.known[id(node)] = (node, self._resolved(node))
        return self.known[id(node)][1]

    def _resolved(self, node: Any) -> Any:
        kind = "multibinning" if type(node) is Block else node["nodetype"]
        if kind == "category":
            return self.category(node)
        if kind == "binning":
            flow = node["flow"]
            # A value that is rounded up to a bin after the last one gets what is stored there.
            rounded = 0.0 if isinstance(flow, str) and type(flow) is not Number else flow
            return self.constant(self.binning(node["input"], node["edges"], flow, node["content"], rounded))
        if kind == "multibinning":
            return self.constant(self.multibinning(node if type(node) is Block else Block(node, 0, 0)))
        if kind in ("formula", "formularef"):
            return self.content.formula(node)
        if kind == "transform":
            return Transform(node)
        raise Unsupported(f"a node of type {kind}")

    def constant(self, split: Split) -> Any:
        """The cell of a constant, or the Split."""
        x = self.inputs[split.axis[0]]
        if isinstance(x, Val) or len(split.axis) > 2 or (split.refuses_nan and math.isnan(x)):
            return split
        return self.resolved(split.cells[int(np.searchsorted(split.edges, split.edges.dtype.type(x), "right"))])

    def category(self, node: dict) -> Any:
        cells: dict[Any, Any] = {}
        for x in node["content"]:
            cells.setdefault(x["key"], x["value"])
        default = ERROR if node.get("default") is None else node["default"]
        x = self.inputs[node["input"]]
        if not isinstance(x, Val):
            return self.resolved(cells.get(x, default))
        edges = sorted({*cells, *(key + 1 for key in cells)})
        return Split((node["input"], "int"), edges, [default, *(cells.get(x, default) for x in edges)])

    def binning(self, name: str, edges: Any, flow: Any, contents: list, rounded: Any) -> Split:
        below = above = flow
        if flow == "clamp":
            below, above = contents[0], contents[-1]
        elif flow in ("error", "wrap"):
            below = above = ERROR
        if not isinstance(edges, dict):
            numbers = [float(x) if x in ("inf", "+inf", "-inf") else self.content.number(x) for x in edges]
            axis = (name, "wrapped", numbers[0], numbers[-1]) if flow == "wrap" else (name, "real")
            return Split(axis, numbers, [below, *contents, above])
        n, low, high = edges["n"], self.content.number(edges["low"]), self.content.number(edges["high"])
        if not (low < high and np.isfinite(high - low)):
            raise Unsupported(f"a uniform binning from {low} to {high}")
        if flow == "wrap":
            return Split((name, "phase", low, high), _uniform_edges(n, 0.0, 1.0), [*contents, rounded], True)
        inner = _uniform_edges(n, low, high)
        return Split((name, "real"), [low, *inner, high], [below, *contents, rounded, above], True)

    def multibinning(self, block: Block) -> Split:
        node, axis = block.node, block.axis
        flow, contents = node["flow"], node["content"]
        stride = int(np.prod([_count(x) for x in node["edges"][axis + 1 :]], dtype=np.int64))
        starts = [block.start + i * stride for i in range(_count(node["edges"][axis]))]
        is_last = axis + 1 == len(node["edges"])
        inner = [contents[i] if is_last else Block(node, axis + 1, i) for i in starts]
        rounded = contents[-1] if isinstance(flow, str) and type(flow) is not Number else flow
        return self.binning(node["inputs"][axis], node["edges"][axis], flow, inner, rounded)

    # ---- values

    def position(self, axis: tuple, edges: np.ndarray, refuses_nan: bool) -> Val:
        """How many edges the value of an axis reaches."""
        low = self.low
        name, kind, *limits = axis
        x = self.inputs[name]
        if kind != "int":
            x = low.convert(x, "float64") if isinstance(x, Val) else low.constant(float(x), "float64")
        if limits:
            first, last = limits
            begin, width = low.constant(first, "float64"), low.constant(last - first, "float64")
            x = low.map("divide", low.map("subtract", x, begin), width)
            x = low.map("subtract", x, low.map("floor", x))
            if kind == "wrapped":
                x = low.map("add", begin, low.map("multiply", x, width))
        x = low.everywhere(x, self.decisions.domain)
        if refuses_nan:
            self.decisions.require(low.map("equal", x, x), self.where)
        return low.search(edges, x)

    def chosen(self, numbers: Any, index: Val | None) -> Val:
        """The number of each element's cell."""
        numbers = np.asarray(numbers)
        if index is None or numbers.tobytes() == numbers[:1].tobytes() * len(numbers):
            return self.low.constant(numbers[0].item(), numbers.dtype.name)
        return self.low.lookup(numbers, index)

    def leaves(self, cells: list, index: Val | None) -> Val:
        if ERROR in cells:
            self.decisions.require(self.chosen([x is not ERROR for x in cells], index), self.where)
        groups: dict[Any, list[int]] = {}
        for i, x in enumerate(cells):
            if isinstance(x, Formula | Transform):
                groups.setdefault(x.shape, []).append(i)
        if len(groups) > _MOST_FORMULAS:
            raise Unsupported(f"more than {_MOST_FORMULAS} formulas and transformations")
        made = None
        if any(type(x) is float for x in cells) or not groups:
            made = self.chosen([x if type(x) is float else 0.0 for x in cells], index)
        for places in groups.values():
            members = np.zeros(len(cells), bool)
            members[places] = True
            there = self.chosen(members, index)
            value = self.leaf([cells[i] for i in places], members, there, index)
            made = value if made is None else self.low.map("where", there, value, made)
        return made

    def leaf(self, group: list, members: np.ndarray, there: Val, index: Val | None) -> Val:
        first = group[0]
        if type(first) is Transform:
            where = self.low.all_of(self.where, self.low.everywhere(there, self.decisions.domain))
            return self.transformed(first.node, where)
        tables = np.zeros((len(first.numbers), len(members)))
        tables[:, members] = np.array([x.numbers for x in group]).T.reshape(len(first.numbers), len(group))
        if all(x.numbers == first.numbers for x in group):
            return self.formula(first.shape, [self.low.constant(x, "float64") for x in first.numbers])
        return self.formula(first.shape, [self.chosen(x, index) for x in tables])

    def formula(self, shape: tuple, numbers: list[Val]) -> Val:
        low = self.low
        kind, *args = shape
        if kind == "LITERAL":
            return numbers[args[0]]
        if kind == "VARIABLE":
            return self.decisions.as_value(self.inputs[self.content.names[args[0]]], "float64")
        args = [self.formula(x, numbers) for x in args]
        if kind in ("MAX", "MIN"):  # as std::max and std::min, also of NaN
            return low.map("where", low.map("less", *(args if kind == "MAX" else reversed(args))), args[1], args[0])
        if kind in ("LOGICALOR", "LOGICALAND"):
            zero = low.constant(0.0, "float64")
            both = [low.map("unequal", x, zero) for x in args]
            return low.convert(low.map("bit_or" if kind == "LOGICALOR" else "bit_and", *both), "float64")
        if kind in _COMPARISONS:
            return low.convert(low.map(_COMPARISONS[kind], *args), "float64")
        op = _UNARY.get(kind) or _BINARY.get(kind) or (kind.lower() if kind in _SAME_NAMES else None)
        if op is None:
            raise Unsupported(f"a formula with {kind.lower()}")
        if low.exact and op in ROUNDED:
            raise Unsupported(f"a formula with {kind.lower()}, whose bits are not NumPy's, with exact=True")
        return low.map(op, *args)

    def transformed(self, node: dict, where: Val) -> Val:
        low, name = self.low, node["input"]
        made = _Tree(self.decisions, self.content, self.inputs, where).of(node["rule"])
        if self.content.inputs[name] == "int":  # std::round: halves away from zero
            whole = low.map("trunc", made)
            one = low.map("copysign", low.constant(1.0, "float64"), made)
            is_half = low.map(
                "greater_equal", low.map("absolute", low.map("subtract", made, whole)), low.constant(0.5, "float64")
            )
            made = low.convert(low.map("where", is_half, low.map("add", whole, one), whole), "int64")
        return _Tree(self.decisions, self.content, {**self.inputs, name: made}, where).of(node["content"])


def _identity(x: Any) -> Any:
    """Equal for cells that can be merged."""
    if type(x) is float:
        return "nan" if math.isnan(x) else x.hex()
    if type(x) is Formula:
        return (x.shape, *map(_identity, x.numbers))
    return id(x)
