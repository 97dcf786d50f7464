# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/attributes.py: the attributes of arrays (`attrs`) in recordings and traces.
"""Awkward passes the attributes of its arguments on to its results, and does not look at their values, except for named axes. The
types of a recording therefore have Attributes instead of values. In each call they become the values of the arrays that the
function got.
"""

from __future__ import annotations

from typing import Any

import awkward as ak
from awkward._namedaxis import NAMED_AXIS_KEY


class Attribute:
    """Stands for the value of an attribute of an input. It refuses whatever would depend on the value."""

    __slots__ = ("_fuse_name", "_fuse_node")

    def __init__(self, name: str):
        self._fuse_name = name
        self._fuse_node: Any = None

    def _fuse_refuse(self, *_args: Any) -> Any:
        raise TypeError(f"the value of the attribute {self._fuse_name!r} of an array")

    __getattr__ = __getitem__ = __call__ = __iter__ = __len__ = __contains__ = __bool__ = __float__ = __int__ = _fuse_refuse
    __index__ = __str__ = __repr__ = __format__ = __hash__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _fuse_refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __and__ = __or__ = _fuse_refuse
    __copy__ = __deepcopy__ = __reduce_ex__ = _fuse_refuse


def supported(array: ak.Array) -> bool:
    return not array._attrs or NAMED_AXIS_KEY not in array._attrs


def key(array: ak.Array) -> tuple:
    """The names, on which the types of results depend. No other part of a key is such a tuple."""
    return (Attribute, *array._attrs) if array._attrs else ()


def type_of(array: ak.Array) -> ak.Array:
    """The array without data, and with Attributes. of_node() says later which node they belong to."""
    attrs = {name: Attribute(name) for name in array._attrs} if array._attrs else None
    return ak.Array(array._layout.to_typetracer(forget_length=True), behavior=array._behavior, attrs=attrs)


def of_node(node: Any) -> Any:
    """The node of an input, to which the Attributes of its type belong from now on."""
    for x in (node.meta._attrs or {}).values():
        x._fuse_node = node
    return node


def are_of_inputs(meta: ak.Array) -> bool:
    """Whether all attributes of a result are those of inputs."""
    return all(type(x) is Attribute for x in (meta._attrs or {}).values())


def alike(one: ak.Array, other: ak.Array) -> bool:
    """Whether two types have the same attributes in the same order."""
    a, b = one._attrs or {}, other._attrs or {}
    return list(a) == list(b) and all(a[name] is b[name] for name in a)


def values(meta: ak.Array, there: Any) -> dict[str, Any] | None:
    """The attributes of a result. `there` has the arrays of the inputs by their nodes."""
    if not meta._attrs:
        return None
    return {name: there[x._fuse_node]._attrs[x._fuse_name] if type(x) is Attribute else x for name, x in meta._attrs.items()}
