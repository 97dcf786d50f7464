# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/corrections.py: corrections of correctionlib that a fused function evaluates.
"""`Correction.evaluate` broadcasts its arrays, and calls ak.transform with a function that evaluates flat ndarrays. A recording or a
trace has the call of an Evaluation instead. decisions.py lowers it to tables of a plan. If that is not possible, Awkward executes the
Evaluation: it is the original call.

An Evaluation is known by the JSON text of its CorrectionSet, which never changes, and by the name of the correction. The object
is another one each time that the function subscripts the CorrectionSet.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

import awkward as ak
import numpy as np

from upsweep.awkward._fuse.arrays import Column, Fixed, Lists, Option, Record, Single, Unsupported, Val
from upsweep.awkward._fuse.decisions import Content, Decisions, Number

# The versions of correctionlib whose rules the results were compared with.
TESTED = ("2.8.", "2.9.")
_MODULE = "correctionlib.highlevel"


class Evaluation:
    """The function of a node: evaluates a correction of broadcast arrays. `constants` are its numbers and strings."""

    __name__ = "evaluate"

    def __init__(self, correction: Any, callback: Any):
        self.base = correction._base
        self.name = correction._name
        self.data = correction._context._data
        self.flat = callback.func
        self.places = tuple(callback.keywords["arg_indices"])  # of the arrays, then of the constants
        self.key = (type(self.base), self.name, self.data, self.places)

    def __call__(self, constants: list, *arrays: Any) -> Any:
        flat = functools.partial(self.flat, func=self.base.evalv, non_array_args=constants, arg_indices=self.places)
        return ak.transform(flat, *arrays)

    def __eq__(self, other: object) -> bool:
        return type(other) is Evaluation and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def version() -> str:
    return str(getattr(sys.modules.get("correctionlib"), "__version__", ""))


def of_package(x: Any) -> bool:
    """Whether x is a correction or a set of corrections."""
    return type(x).__module__ == _MODULE


def state(x: Any) -> tuple | None:
    """The parts of a correction or of a set that its results depend on. Returns None if they are not known."""
    if not of_package(x) or not version().startswith(TESTED):
        return None
    space = getattr(x, "__dict__", {})
    data = space.get("_data", getattr(space.get("_context"), "_data", None))
    if "_base" not in space or type(data) is not str:
        return None
    return (type(x), space.get("_name"), data, id(space["_base"]))


def key(x: Any) -> tuple | None:
    """The key of a correction, which is equal for equal corrections. Returns None for other objects."""
    found = state(x)
    return found[:3] if found is not None and _is_of_its_set(x) else None


def _is_of_its_set(x: Any) -> bool:
    corrections = getattr(getattr(x, "_context", None), "_base", None)
    if corrections is None:
        return False
    if type(x).__name__ == "CompoundCorrection":
        corrections = corrections.compound
    return x._name in corrections and corrections[x._name] is x._base


def of_call(function: Any, args: tuple) -> tuple[Any, tuple]:
    """A call of ak.transform by Correction.evaluate as a call of an Evaluation. Other calls are returned as they are."""
    callback = args[0] if function is ak.transform and args else None
    if type(callback) is not functools.partial or getattr(callback.func, "__module__", None) != _MODULE:
        return function, args
    correction = _evaluated(getattr(callback.keywords.get("func"), "__self__", None))
    if correction is None:
        return function, args
    return Evaluation(correction, callback), (list(callback.keywords["non_array_args"]), *args[1:])


def _evaluated(base: Any) -> Any:
    """The correction that a caller evaluates."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") == _MODULE:
            for x in frame.f_locals.values():
                if of_package(x) and x._base is base:
                    return None if key(x) is None else x
        frame = frame.f_back
    return None


# ------------------------------------------------------------------------------------------------------------- the JSON


def _read(data: str) -> dict:
    """The JSON of a CorrectionSet, with numbers as they are written. The first one of equal keys counts."""
    return json.loads(
        data,
        parse_int=lambda x: int(x) if len(x) < 16 else Number(x),
        parse_float=Number,
        parse_constant=Number,
        object_pairs_hook=lambda pairs: dict(reversed(pairs)),
    )


def _numbers(core: Any, content: Any) -> dict[str, float]:
    """The numbers of a correction by their text. correctionlib reads them, since its parser rounds in its own way."""
    found: dict[str, None] = {}
    todo = [content]
    while todo:
        x = todo.pop()
        if type(x) is Number:
            found[x] = None
        elif isinstance(x, dict | list):
            todo += x.values() if isinstance(x, dict) else x
    entries = ",".join(f'{{"key":{i},"value":{text}}}' for i, text in enumerate(found))
    category = f'{{"nodetype":"category","input":"i","content":[{entries}]}}'
    variables = '"inputs":[{"name":"i","type":"int"}],"output":{"name":"o","type":"real"}'
    whole = f'{{"schema_version":2,"corrections":[{{"name":"n","version":1,{variables},"data":{category}}}]}}'
    read = core.CorrectionSet.from_string(whole)["n"].evalv(np.arange(len(found)))
    return dict(zip(found, read.tolist()))


# ------------------------------------------------------------------------------------------------------------- lowering


def lowered(low: Any, evaluation: Evaluation, constants: list, *arrays: Any) -> Any:
    try:
        return _Lowered(low, evaluation, constants).of(arrays)
    except Unsupported as why:
        raise Unsupported(f"the correction {evaluation.name!r}: {why}") from None


class _Lowered:
    def __init__(self, low: Any, evaluation: Evaluation, constants: list):
        if any(x._backend.name != "cpu" for x in low.layouts):
            raise Unsupported("arrays on a GPU")
        self.low = low
        self.core = sys.modules[type(evaluation.base).__module__]
        self.evaluation = evaluation
        self.constants = constants
        self.compound = None
        if type(evaluation.base).__name__ == "CompoundCorrection":
            self.compound = self.entry("compound_corrections", evaluation.name)

    def entry(self, kind: str, name: str) -> dict:
        data, read = self.evaluation.data, self.low.read
        if data not in read:
            try:
                read[data] = _read(data)
            except ValueError as error:
                raise Unsupported(f"Python does not read its JSON: {error}") from error
        return next(x for x in read[data][kind] if x["name"] == name)

    def content(self, name: str) -> Content:
        key, read = (self.evaluation.data, name), self.low.read
        if key not in read:
            entry = self.entry("corrections", name)
            read[key] = Content(self.core, entry, _numbers(self.core, entry))
        return read[key]

    def of(self, arrays: tuple) -> Any:
        return self.checked(self.low.broadcast(list(arrays), self.leaf), None)

    def leaf(self, leaves: list) -> Record:
        """The result for arrays of numbers, and whether correctionlib raises no error."""
        domain = self.low.one_domain(leaves)
        variables = self.evaluation.base.inputs
        given = dict(zip(self.evaluation.places, (*leaves, *self.constants)))
        inputs = {x.name: self.input(given[i], x.name, x.type) for i, x in reversed(list(enumerate(variables)))}
        decisions = Decisions(self.low, domain)
        if self.compound is None:
            value = decisions.value(self.content(self.evaluation.name), inputs)
        else:
            types = {x.name: x.type for x in variables}
            value = self.updated(decisions, inputs, types)
        fine = decisions.fine or self.low.constant(True, "bool")
        return Record({"value": Column(value, domain), "fine": Column(fine, domain)}, domain)

    def input(self, x: Any, name: str, kind: str) -> Any:
        """The argument for an input of the correction: a value of the plan, a number or a string."""
        if isinstance(x, Column) and kind != "string":
            return self.low.convert(x.value, "float64" if kind == "real" else "int64")
        if kind == "string" and isinstance(x, str):
            return x
        if kind == "real" and isinstance(x, float):
            return float(x)
        if kind == "int" and isinstance(x, int) and -(1 << 63) <= x < 1 << 63:
            return int(x)
        raise Unsupported(f"an argument of type {type(x).__name__} for the {kind} input {name!r}")

    def updated(self, decisions: Decisions, inputs: dict, types: dict) -> Val:
        """The result of a CompoundCorrection, whose corrections change the inputs of the next ones."""
        operations = {"+": "add", "*": "multiply", "/": "divide"}
        made = None
        for name in self.compound["stack"]:
            content = self.content(name)
            if any(types[x] != kind for x, kind in content.inputs.items()):
                raise Unsupported(f"the correction {name!r} in it has inputs of other types")
            factor = decisions.value(content, inputs)
            inputs = dict(inputs)
            for x in self.compound["inputs_update"]:
                before = decisions.as_value(inputs[x], "float64")
                inputs[x] = self.low.map(operations[self.compound["input_op"]], before, factor)
            is_last = made is None or self.compound["output_op"] == "last"
            made = factor if is_last else self.low.map(operations[self.compound["output_op"]], made, factor)
        return made or self.low.constant(0.0, "float64")

    def checked(self, x: Any, valid: Val | None) -> Any:
        """The values, after checks of the elements that are not missing."""
        low = self.low
        if isinstance(x, Option):
            return Option(x.valid, self.checked(x.content, low.all_of(valid, x.valid)), x.hides)
        if isinstance(x, Lists):
            below = None if valid is None else low.take(valid, low.parents(x.lists))
            return Lists(x.lists, self.checked(x.content, below), x.domain)
        if isinstance(x, Single):
            return Single(self.checked(x.content, valid), x.regular)
        if isinstance(x, Fixed):
            return Fixed([self.checked(y, valid) for y in x.contents])
        fine = x.fields["fine"].value
        if fine.op != "constant" or not fine.args[0]:
            fine = fine if valid is None else low.map("bit_or", fine, low.invert(valid))
            low.check(low.everywhere(fine, x.domain), f"the correction {self.evaluation.name!r} has no value for an element")
        return x.fields["value"]
