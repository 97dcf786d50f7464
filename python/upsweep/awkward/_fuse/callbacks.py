# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/callbacks.py: functions that ak.transform calls with layouts: what they compute of the numbers.
"""ak.transform broadcasts arrays and calls a function with the layouts. While a fused function is recorded, the layouts are type
tracers. Callback gives that function numbers that note which ufuncs it applies to them. vector (scikit-hep) computes this way.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import awkward as ak
import numpy as np
from awkward._nplikes.numpy import Numpy
from awkward._nplikes.typetracer import TypeTracer, TypeTracerArray

contents = ak.contents

VECTOR = "vector.backends.awkward"  # a module


class Traced(TypeTracerArray):
    """Numbers of a type tracer, and the expression that makes them: (ufunc or name, operands), or the number of an operand.

    Methods of the type tracer, such as `astype`, return numbers without an expression.
    """

    expression: Any = None

    @classmethod
    def of(cls, array: TypeTracerArray, expression: Any) -> Traced:
        made = cls._new(array._dtype, array._shape, array._form_key, array._report)
        made.expression = expression
        return made

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        made = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        if kwargs or isinstance(made, tuple):
            return made
        return _noted(made, ufunc, inputs)


def _noted(made: Any, function: Any, inputs: tuple) -> Any:
    if all(_is_noted(x) if isinstance(x, TypeTracerArray) else isinstance(x, _NUMBERS) for x in inputs):
        return Traced.of(made, (function, tuple(x.expression if isinstance(x, Traced) else _Number(x) for x in inputs)))
    return made


_NUMBERS = (bool, int, float, np.number, type(None))


def _is_noted(x: Any) -> bool:
    return isinstance(x, Traced) and x.expression is not None


def _plain(x: Any) -> Any:
    """A layout whose numbers note nothing, since other callbacks may get it."""
    if not isinstance(x, contents.Content):
        return x

    def action(layout: Any, **_kwargs: Any) -> Any:
        if not (layout.is_numpy and isinstance(layout._data, Traced)):
            return None
        data = layout._data
        plain = TypeTracerArray._new(data._dtype, data._shape, data._form_key, data._report)
        return contents.NumpyArray(plain, parameters=layout._parameters)

    return ak._do.recursively_apply(x, action)


class _Number:
    """A literal of an expression."""

    __slots__ = ("number",)

    def __init__(self, number: Any):
        self.number = number


class Callback:
    """The function, as ak.transform calls it."""

    def __init__(self, function: Any):
        self.function = function
        self.calls = 0
        self.expressions: list[Any] | None = None  # of its results

    def __call__(self, layouts: Any, **kwargs: Any) -> Any:
        many = layouts if isinstance(layouts, tuple) else (layouts,)
        if any(x.backend.nplike.known_data for x in many) or not all(type(x) is contents.NumpyArray for x in many):
            return self.function(layouts, **kwargs)
        self.calls += 1
        traced = tuple(contents.NumpyArray(Traced.of(x._data, i), parameters=x._parameters) for i, x in enumerate(many))
        made = self.function(traced if isinstance(layouts, tuple) else traced[0], **kwargs)
        results = made if isinstance(made, tuple) else (made,)
        if self.calls == 1 and all(type(x) is contents.NumpyArray and _is_noted(x._data) for x in results):
            self.expressions = [x._data.expression for x in results]
        else:
            self.expressions = None
        return tuple(map(_plain, made)) if isinstance(made, tuple) else _plain(made)


def _function_of_numpy(name: str) -> Any:
    """NumPy's function for numbers of type tracers and for arrays."""
    ours = getattr(np, name)
    if isinstance(ours, np.ufunc) or not callable(ours):
        return ours

    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, TypeTracerArray):
            return ours(x, *args, **kwargs)
        made = getattr(TypeTracer.instance(), name)(x, *args, **kwargs)
        if name == "nan_to_num" and not args and set(kwargs) <= {"nan", "posinf", "neginf"}:
            return _noted(made, name, (x, kwargs.get("nan", 0.0), kwargs.get("posinf"), kwargs.get("neginf")))
        return made

    return function


_libraries: dict[type, Any] = {}  # by vector's class of libraries


def _library(theirs: type) -> Any:
    """The `lib` of vector: the functions that it calls. It compares those of two arrays, of which one may have data."""
    if theirs in _libraries:
        return _libraries[theirs]

    class Library(theirs):
        def __getattr__(self, name: str) -> Any:
            return _function_of_numpy(name)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, theirs) and other.module is np

        def __ne__(self, other: object) -> bool:
            return not self == other

        __hash__ = theirs.__hash__

    return _libraries.setdefault(theirs, Library(np, Numpy.instance()))


def library_of(theirs: type) -> dict[str, Any]:
    """The attributes that arrays without data replace in a class of a behavior: vector's `lib`, which looks at data."""
    get = getattr(getattr(theirs, "lib", None), "fget", None)
    if getattr(get, "__module__", None) != VECTOR:
        return {}
    return {"lib": _library(get.__globals__["_lib"])}


def is_called_by_vector() -> bool:
    """Whether vector calls the function of Awkward that calls the caller. It looks at types only."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "awkward":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == VECTOR


def key_of_vectors(function: Any) -> tuple | None:
    """The key of a function of vector that ak.transform calls. Functions with equal keys compute the same numbers."""
    if type(function) is not types.FunctionType or function.__module__ != VECTOR:
        return None
    found: list[Any] = [function.__code__]
    for cell in function.__closure__ or ():
        x = cell.cell_contents
        for y in x if isinstance(x, list) else [getattr(x, "func", x)]:
            is_number = isinstance(y, bool | int | float | str | np.number)
            if not (is_number or type(y) is object or any(y is z for z in _libraries.values()) or _is_of_vector(y)):
                return None
            found += [type(y), repr(y) if is_number else id(y)]
    return tuple(found)


def _is_of_vector(x: Any) -> bool:
    return type(x) is types.FunctionType and x.__module__.partition(".")[0] == "vector"
