# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/purity.py: proves that a function has no side effect, and guards all that it can read.
"""A recording is valid as long as the function would do the same again. Reach follows everything that a function's code loads:
functions and methods, default arguments, closures, attributes of objects, items of containers. Each of these is

- immutable, or a function of a library that is known to be pure,
- a function or a class of the user, whose code is followed in turn, or
- state that can be compared in each call, for which a guard is added.

Everything else raises Impure: files, clocks, random numbers, iterators, objects of other libraries. An attribute's name is all
that the code says about it. Therefore each object that is reached is followed into all attributes whose names appear anywhere in
the code.
"""

from __future__ import annotations

import abc
import builtins
import collections
import enum
import functools
import re
import sys
import types
from typing import Any

import awkward as ak
import numpy as np
from awkward._nplikes.typetracer import MaybeNone, OneOf, TypeTracerArray

from upsweep.awkward._fuse import corrections, histograms
from upsweep.awkward._fuse import guards as g
from upsweep.awkward._fuse.instructions import Impure, Scan, scan, words

# Containers with more items, and ndarrays with more bytes, are not compared in each call.
_MOST_ITEMS = 4096
_MOST_BYTES = 1 << 16
_MOST_FUNCTIONS = 500

# Modules without state. Their functions are not followed.
_PURE_MODULES = {
    "awkward": """
        behavior from_avro_file from_arrow from_buffers from_cupy from_dlpack from_feather from_jax from_json from_parquet
        from_raggedtensor from_rdataframe from_safetensors from_tensorflow from_torch jax metadata_from_parquet mixin_class
        mixin_class_method numba numexpr cppyy to_feather to_json to_parquet to_parquet_dataset to_parquet_row_groups
        to_safetensors typetracer to_buffers validity_error
        """,
    "numpy": """
        DataSource array_repr array_str array2string core ctypeslib empty empty_like f2py fromfile frompyfunc genfromtxt
        get_printoptions getbufsize geterr geterrcall info lib load loadtxt lookfor may_share_memory memmap open_memmap
        printoptions random save savetxt savez savez_compressed set_printoptions setbufsize seterr seterrcall shares_memory
        show_config show_runtime source test testing
        """,
    "vector": "register_awkward register_numba",
    "math": "",
    "cmath": "",
    "operator": "attrgetter methodcaller setitem delitem iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv ixor",
    "numbers": "",
    "itertools": "",
    "collections": "ChainMap UserDict UserList UserString",
    "enum": "",
    "abc": "",
    "typing": "",
    "re": "",
    "functools": "cache cached_property cmp_to_key lru_cache partialmethod singledispatch singledispatchmethod total_ordering",
    "dataclasses": "asdict astuple dataclass fields make_dataclass replace",
    "types": "CodeType FunctionType coroutine new_class prepare_class",
    "scipy.special": "",
    "boost_histogram": "",
    "hist": "Stack dask stack",
}
_PURE_MODULES = {module: words(names) for module, names in _PURE_MODULES.items()}

_BUILTINS = words(
    """
    abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset
    hex int isinstance issubclass iter len list map max min next object oct ord pow range repr reversed round set slice
    sorted str sum super tuple zip
    """
)
_PURE_BUILTINS = {id(getattr(builtins, name)) for name in _BUILTINS}
_PURE_BUILTINS |= {id(x) for x in vars(builtins).values() if isinstance(x, type) and issubclass(x, BaseException)}
_FORMATTING = {id(x) for x in (str, repr, format, ascii)}
_CLASS_TESTS = {id(x) for x in (isinstance, issubclass)}

_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, range, types.EllipsisType, types.NotImplementedType, re.Pattern,
              np.dtype, np.generic, types.GenericAlias, types.UnionType)  # fmt: skip
# Bases of the user's classes that have no state except what Reach compares.
_BASES = (object, abc.ABC, enum.Enum, tuple, list, dict, set, frozenset, int, float, str, ak.Array, ak.Record)
_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)
# Parts of classes that no operation of an object uses.
_PASSIVE = words(
    """
    __module__ __doc__ __dict__ __weakref__ __qualname__ __annotations__ __annotate__ __annotate_func__
    __annotations_cache__ __match_args__ __dataclass_fields__ __dataclass_params__ __slots__ __firstlineno__
    __static_attributes__ __abstractmethods__ __orig_bases__ __parameters__ __type_params__ __setattr__ __delattr__
    __set_name__ __init_subclass__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __getnewargs__
    __getnewargs_ex__ __copy__ __deepcopy__ __replace__ __sizeof__ __dir__
    """
)
_CREATION = frozenset(("__init__", "__new__", "__post_init__"))
_ON_DEMAND = frozenset(("__str__", "__repr__", "__format__", "__enter__", "__exit__"))
_OF_DATACLASSES = frozenset(("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__init__"))


def is_constant(x: Any) -> bool:
    """Whether an argument may be a constant of a recording: a function, or an object such as a method's `self`."""
    if isinstance(x, types.FunctionType | types.BuiltinFunctionType | np.ufunc):
        return True
    return hasattr(x, "__dict__") and not isinstance(x, BaseException)


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _pure_module(module: Any) -> str | None:
    """The entry of _PURE_MODULES for a module's name."""
    if not isinstance(module, str):
        return None
    module = "operator" if module == "_operator" else "functools" if module == "_functools" else module
    module = "collections" if module == "_collections" else "re" if module == "_sre" else module
    root = module.partition(".")[0]
    if root == "hist" and not histograms.is_hist():
        return None  # another module of that name
    if module.startswith(("numpy.random", "numpy.testing", "numpy.f2py", "numpy.ctypeslib", "awkward._connect")):
        return None
    if root in _PURE_MODULES:
        return root
    return "scipy.special" if module.startswith("scipy.special") else None


def _module_of(x: Any) -> Any:
    """The name of the module whose code x executes."""
    if isinstance(x, types.FunctionType):
        return x.__globals__.get("__name__")  # functools.wraps changes __module__
    module = getattr(x, "__module__", None)
    return module if isinstance(module, str) else None


class Reach:
    """Finds what a function can reach. Raises Impure; the guards that exist by then say when to look again."""

    def __init__(self, guards: g.Guards):
        self.guards = guards
        self.identities = False
        self._asks_by_value = False
        self._has_state: str | None = None  # something whose attributes are followed by names
        self.tests_classes = False
        self._records: set[str] = set()  # names of records whose behaviors are followed
        self._behaviors: list[dict] = [ak.behavior]
        self._functions = 0
        # A method may set attributes of its object if all objects of the class are made in the call.
        self._setters: list[tuple[type, str]] = []
        self._classes_of_objects: set[type] = {ak.Array, ak.Record}
        self._todo: list[tuple] = []
        self._seen: set[tuple] = set()
        self._kept: list[Any] = []  # objects whose ids are in self._seen
        self._names: list[str] = []  # of attributes
        self._known: set[str] = set()
        self._open: list[list] = []  # [function, number of the names that it has followed]
        self._spaces: dict[type, Any] = {}
        self._asks = False  # whether the code asks for attributes that may be missing

    def follow(self, function: Any, arguments: list[Any]) -> None:
        self._later(function, getattr(function, "__name__", "the function"))
        for x in arguments:
            self._later(x, "an argument")
        while True:
            while self._todo:
                self._visit(*self._todo.pop())
            behind = [x for x in self._open if x[1] < len(self._names)]
            if not behind:
                break
            for each in behind:
                names, each[1] = self._names[each[1] :], len(self._names)
                each[0](names)
        if self._asks_by_value and self._has_state is not None:
            raise Impure(f"uses getattr with a name that is not a constant, and {self._has_state}")
        effects = self._known & histograms.METHODS_WITH_EFFECTS
        if effects and any(map(histograms.of_package, self._kept)):
            raise Impure(f"uses {min(effects)} of a histogram")
        for cls, what in self._setters:
            if cls in self._classes_of_objects or issubclass(cls, ak.Array | ak.Record):
                raise Impure(what)

    # ---- the parts of a graph search

    def _later(self, x: Any, label: str, owner: type | None = None) -> None:
        if x is not g.MISSING:
            self._todo.append((x, label, owner))

    def _first(self, x: Any, role: str = "") -> bool:
        key = (id(x), role)
        if key in self._seen:
            return False
        self._seen.add(key)
        self._kept.append(x)
        return True

    def _by_names(self, function: Any) -> None:
        self._open.append([function, 0])

    def _name(self, *names: str) -> None:
        for name in names:
            if name not in self._known:
                self._known.add(name)
                self._names.append(name)

    def _ask(self) -> None:
        if not self._asks:
            self._asks = True
            for each in self._open:
                each[1] = 0

    def _item(self, space: Any, name: str, label: str) -> Any:
        return self.guards.add(g.Item, label, space, name)

    def _space(self, cls: type) -> Any:
        return self._spaces.setdefault(cls, vars(cls))

    # ---- kinds of objects

    def _visit(self, x: Any, label: str, owner: type | None = None) -> None:
        kind = type(x)
        if (isinstance(x, _IMMUTABLE) and not isinstance(x, np.void)) and _pure_type(kind):
            return
        if not self._first(x, "" if owner is None else f"of {id(owner)}"):
            return
        if isinstance(x, types.ModuleType):
            self._module(x, label)
        elif isinstance(x, type):
            self._class(x, label)
        elif isinstance(x, types.FunctionType):
            self._function(x, label, owner)
        elif isinstance(x, types.MethodType):
            self._later(x.__self__, label)
            self._later(x.__func__, label)
        elif isinstance(x, types.BuiltinFunctionType | types.MethodWrapperType):
            self._builtin(x, label)
        elif kind is _DISPATCHER:
            self._pure_name(x, label)
        elif isinstance(x, np.ufunc):
            if getattr(np, x.__name__, None) is not x and getattr(sys.modules.get("scipy.special"), x.__name__, None) is not x:
                raise Impure(f"uses {label}, a ufunc of another library")
        elif kind is functools.partial:
            self._later(x.func, label)
            self._container(x.args, label)
            self._container(x.keywords, label)
        elif isinstance(x, property):
            self._later(x.fget, label, owner)
        elif isinstance(x, staticmethod | classmethod):
            self._later(x.__func__, label)
        elif isinstance(x, functools.cached_property):
            self._later(x.func, label)
        elif kind is object or kind is types.MemberDescriptorType or kind is collections._tuplegetter:
            pass
        elif kind in (list, tuple, dict, set, frozenset, collections.deque, collections.OrderedDict, types.MappingProxyType):
            self._container(x, label)
        elif kind is slice:
            self._container((x.start, x.stop, x.step), label)
        elif kind is np.ndarray:
            self._ndarray(x, label)
        elif isinstance(x, ak.Array | ak.Record):
            raise Impure(f"uses {label}, an array that is not an argument")
        elif histograms.state(x) is not None:
            self.guards.add(g.Result, label, histograms.state, x)
        elif corrections.of_package(x):
            if corrections.state(x) is None:
                tested = "x, ".join(corrections.TESTED)
                raise Impure(f"uses {label}; fuse was tested with correctionlib {tested}x, not with {corrections.version()}")
            self.guards.add(g.Result, label, corrections.state, x)
        elif kind.__module__ == __package__:  # Fused, in a function that is fused
            self._later(x._function, label)
        elif kind is types.SimpleNamespace or not _library(kind):
            self._object(x, label)
        else:
            raise Impure(f"uses {label}, an object of {kind.__module__}.{kind.__qualname__}")

    def _module(self, module: types.ModuleType, label: str, chain: tuple = ()) -> None:
        """With the attributes that are read from the module, or with all names that the code contains."""
        if _pure_module(module.__name__) is None and (_stdlib(module.__name__) or type(module) is not types.ModuleType):
            raise Impure(f"uses {label}, a module whose functions may have side effects")
        if not chain:
            self._has_state = label
            self._by_names(lambda names: [self._of_module(module, name, label) for name in names if _is_own(module, name)])
            return
        found = self._of_module(module, chain[0], label)
        if found is not g.MISSING:
            self._attributes(found, chain[1:], f"{label}.{chain[0]}")

    def _of_module(self, module: types.ModuleType, name: str, label: str) -> Any:
        pure = _pure_module(module.__name__)
        if pure is not None and name in _PURE_MODULES[pure]:
            raise Impure(f"uses {label}.{name}")
        found = self._item(vars(module), name, f"{label}.{name}")
        if found is g.MISSING and hasattr(module, name):  # made by the module's __getattr__
            raise Impure(f"uses {label}.{name}")
        self._later(found, f"{label}.{name}")
        return found

    def _attributes(self, x: Any, chain: tuple, label: str) -> None:
        """Follows the attributes that the code reads from x."""
        if isinstance(x, types.ModuleType):
            if self._first(x, "/".join(chain)):
                self._module(x, label, chain)
            return
        self._name(*chain)

    def _function(self, function: types.FunctionType, label: str, owner: type | None = None) -> None:
        module = _module_of(function)
        pure = _pure_module(module)
        if pure is not None or str(module).startswith("namedtuple_"):
            if pure is not None and function.__name__ in _PURE_MODULES[pure]:
                raise Impure(f"uses {label}")
            if function.__closure__ and pure in ("functools", "dataclasses", "enum", "collections"):
                raise Impure(f"uses {label}, a function of {module}")
            for cell in function.__closure__ or ():  # a decorator of a library
                content = cell.cell_contents
                if isinstance(content, types.FunctionType) and not _pure_module(_module_of(content)):
                    self._later(self.guards.add(g.Attribute, label, cell, "cell_contents"), label)
            return
        if _stdlib(module):
            raise Impure(f"uses {label}, a function of {module}")
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            self.guards.add(g.Attribute, label, function, part)
        try:
            found = scan(function.__code__)
        except Impure as why:
            raise Impure(f"{label} {why}" if label else str(why)) from None
        code = function.__code__
        if found.stored:
            if owner is None:
                raise Impure(f"{label} sets the attribute {min(found.stored)}")
            self._setters.append((owner, f"{label} sets the attribute {min(found.stored)}"))
            self._no_setters(owner, label)
            self._by_names(lambda names: self._no_setters(owner, label))
            self._ask()
        changed = found.stored_cells.intersection(code.co_freevars)
        if changed:
            raise Impure(f"{label} changes {min(changed)} of the function around it")
        self.identities |= found.identities
        self.tests_classes |= found.matches
        self._asks_by_value |= found.asks_by_value
        if vars(function):
            self._has_state = label
        self._functions += 1
        if self._functions > _MOST_FUNCTIONS:
            raise Impure(f"reaches more than {_MOST_FUNCTIONS} functions")
        self._defaults(function, label)
        self._loads(function, found)
        self._follow_records(found.strings)
        self._by_names(lambda names: self._of_function(function, names, label))
        self._name(*sorted(found.attributes), *sorted(found.stored))

    def _of_function(self, function: types.FunctionType, names: Any, label: str) -> None:
        for name in names:
            if name in vars(function) or (self._asks and not _special(name)):
                self._later(self._item(vars(function), name, f"{label}.{name}"), f"{label}.{name}")

    def _defaults(self, function: types.FunctionType, label: str) -> None:
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._later(default, f"a default argument of {label}")
        if function.__kwdefaults__:
            self.guards.add(g.Container, f"a default argument of {label}", function.__kwdefaults__)

    def _loads(self, function: types.FunctionType, found: Scan) -> None:
        for name, chains in found.globals.items():
            self._chains(self._global(function, name), chains, name)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            content = self.guards.add(g.Attribute, name, cell, "cell_contents")
            self._chains(content, found.cells.get(name, {()}), name)
        for module, level, names in found.imports:
            pure = _pure_module(module)
            if level or pure is None or module not in sys.modules:
                raise Impure(f"imports {module} when it is called")
            self._item(sys.modules, module, module)
            if names:
                for name in names:
                    self._attributes(self._of_module(sys.modules[module], name, module), (), name)
            else:
                self._later(sys.modules[module.partition(".")[0]], module)

    def _global(self, function: types.FunctionType, name: str) -> Any:
        found = self._item(function.__globals__, name, name)
        if found is g.MISSING:
            found = self._item(function.__builtins__, name, name)
            if found is getattr or found is hasattr:  # with a constant name: scan() sees to it
                self._ask()
                return g.MISSING
        return found

    def _chains(self, x: Any, chains: Any, name: str) -> None:
        for chain in chains:
            if isinstance(x, types.ModuleType) and chain:
                self._name(chain[-1])  # np.sqrt(y) calls y.sqrt() of an object
                self._attributes(x, chain, name)
            else:
                self._later(x, name)
                self._attributes(x, chain, name) if chain else None

    def _builtin(self, x: Any, label: str) -> None:
        if id(x) in _CLASS_TESTS:
            self.tests_classes = True
        if id(x) in _FORMATTING:
            self._name("__str__", "__repr__", "__format__")
        if id(x) in _PURE_BUILTINS:
            return
        owner = x.__self__
        if owner is not None and not isinstance(owner, types.ModuleType):
            if x.__name__ in ("__setattr__", "__delattr__", "__reduce_ex__"):
                raise Impure(f"uses {label}")
            self._later(owner, label)
            return
        self._pure_name(x, label)

    def _pure_name(self, x: Any, label: str) -> None:
        pure = _pure_module(_module_of(x))
        if pure is None or x.__name__ in _PURE_MODULES[pure]:
            raise Impure(f"uses {label}, which may have side effects or return something else in each call")

    def _class(self, cls: type, label: str) -> None:
        """A class that the code can call."""
        if id(cls) in _FORMATTING:
            self._name("__str__", "__repr__", "__format__")
        if id(cls) in _PURE_BUILTINS:
            return
        if cls in (ak.Array, ak.Record, np.ndarray, types.SimpleNamespace):
            return
        pure = _pure_module(cls.__module__)
        if pure is not None:
            if cls.__name__ in _PURE_MODULES[pure]:
                raise Impure(f"uses {label}")
            return
        if _library(cls):
            raise Impure(f"uses {label}, a class of {cls.__module__}")
        self._parts(cls, label)
        self._by_names(lambda names: self._of_class(cls, names, label))
        for base in self._own(cls):
            space = self._space(base)
            fields = space.get("__dataclass_fields__", {})
            for field in fields.values():
                for x in (field.default, field.default_factory):
                    self._later(x, f"{label}.{field.name}")
            for name in _CREATION & set(space):
                if name == "__new__" and hasattr(base, "_fields") or _of_dataclass(base, name, space[name]):
                    continue
                if name == "__new__" and issubclass(base, enum.Enum):
                    continue
                made = self._item(space, name, f"{label}.{name}")
                self._later(made, f"{label}.{name}", None if name == "__new__" else base)
        if isinstance(cls, enum.EnumMeta):
            for member in cls.__members__.values():
                self._later(member, f"{label}.{member.name}")

    def _no_setters(self, cls: type, label: str) -> None:
        for base in cls.__mro__:
            for name, x in vars(base).items():
                if name in self._known and hasattr(type(x), "__set__") and type(x) is not types.MemberDescriptorType:
                    is_read_only = isinstance(x, property) and x.fset is None
                    if not is_read_only and not issubclass(base, enum.Enum):
                        raise Impure(f"creates an object of {label}, whose {name} is a descriptor")
            if "__setattr__" in vars(base) and base is not object and not _frozen(base) and base in self._own(cls):
                raise Impure(f"creates an object of {label}, which has a __setattr__")

    def _own(self, cls: type) -> list[type]:
        """The classes of the user among its bases."""
        return [x for x in cls.__mro__ if not _library(x)]

    def _parts(self, cls: type, label: str) -> None:
        """Operators and other special methods of a class, for its objects."""
        if not self._first(cls, "parts"):
            return
        self._has_state = label
        if type(cls) not in _METACLASSES:
            raise Impure(f"uses {label}, whose class {cls.__qualname__} has a metaclass")
        self.guards.add(g.Attribute, label, cls, "__mro__")
        if type(cls) is abc.ABCMeta:
            self.guards.add(g.Result, label, abc.get_cache_token)
        for base in cls.__mro__:
            known = base in _BASES or base in _TYPING or base.__module__.partition(".")[0] in ("vector", "enum", "awkward")
            known = (
                known or (issubclass(base, BaseException) and base.__module__ == "builtins") or base is types.SimpleNamespace
            )
            known = known or base.__module__ == "collections.abc" or issubclass(ak.Array, base)
            known = known or base in (collections.OrderedDict, collections.deque)
            if not known and _library(base):
                raise Impure(f"uses {label}, a class that derives from {base.__module__}.{base.__qualname__}")
        for base in self._own(cls):
            space = self._space(base)
            self.guards.add(g.Result, label, len, space)
            if "__del__" in space:
                raise Impure(f"uses {label}, a class with __del__")
            for name, x in list(space.items()):
                is_operator = _special(name) and name not in _PASSIVE | _CREATION | _ON_DEMAND
                if is_operator and not _of_dataclass(base, name, x):
                    self._later(self._item(space, name, f"{label}.{name}"), f"{label}.{name}", base)
            if "__getattr__" in space or "__getattribute__" in space:
                self._ask()

    def _of_class(self, cls: type, names: Any, label: str) -> None:
        for base in self._own(cls):
            space = self._space(base)
            for name in names:
                if name not in space or name in _CREATION or name in _PASSIVE:
                    continue
                x = self._item(space, name, f"{label}.{name}")
                if _of_dataclass(base, name, x):
                    self._name(*base.__dataclass_fields__)
                elif name == "__exit__":
                    raise Impure(f"uses {label} in a with statement")
                else:
                    self._later(x, f"{label}.{name}", base)

    def _object(self, x: Any, label: str) -> None:
        """An object of a class of the user."""
        cls = type(x)
        self._classes_of_objects.update(cls.__mro__)
        self.guards.add(g.Attribute, label, x, "__class__")
        self._parts(cls, label)
        if isinstance(x, list | dict | set | tuple | frozenset | collections.deque):
            self._container(x, label)
        elif isinstance(x, ak.Array | ak.Record):
            raise Impure(f"uses {label}, an array that is not an argument")
        self._by_names(lambda names: self._of_object(x, names, label))

    def _of_object(self, x: Any, names: Any, label: str) -> None:
        cls = type(x)
        own = getattr(x, "__dict__", None)
        self._of_class(cls, names, label)
        if isinstance(x, enum.Enum):
            names = ["_value_", "_name_", *names]
        for name in names:
            if _special(name):
                continue
            of_class = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), g.MISSING)
            if isinstance(of_class, types.MemberDescriptorType):
                self._later(self.guards.add(g.Attribute, f"{label}.{name}", x, name), f"{label}.{name}")
            elif isinstance(own, dict) and (name in own or of_class is not g.MISSING or self._asks):
                self._later(self._item(own, name, f"{label}.{name}"), f"{label}.{name}")

    def _container(self, x: Any, label: str) -> None:
        if len(x) > _MOST_ITEMS:
            raise Impure(f"uses {label}, which has {len(x)} items")
        if isinstance(x, types.MappingProxyType):
            raise Impure(f"uses {label}, an object of types.MappingProxyType")
        if not isinstance(x, tuple | frozenset):
            self.guards.add(g.Container, label, x)
        items = (*x.keys(), *x.values()) if isinstance(x, dict) else x
        for y in items:
            self._later(y, label)

    def _ndarray(self, x: np.ndarray, label: str) -> None:
        if x.nbytes > _MOST_BYTES or x.dtype.hasobject:
            raise Impure(f"uses {label}, an ndarray of {x.nbytes} bytes")
        self.guards.add(g.Numbers, label, x)

    # ---- behaviors of records

    def arrays(self, arrays: list[ak.Array]) -> None:
        """Notes the behaviors of arrays, and of records that the code names."""
        for x in arrays:
            if type(x) is not ak.Array:
                self._later(type(x), type(x).__name__)
            if x._behavior is not None and not any(x._behavior is y for y in self._behaviors):
                self._behaviors.append(x._behavior)
        self._follow_records(set().union(*(record_names(x._layout) for x in arrays)))

    def recorded(self, graph: Any) -> None:
        """Raises Impure if the arrays of a recording have behaviors that were not followed."""
        metas = [node.meta for node in graph.nodes]
        if self.tests_classes and any(type(x) in _UNKNOWN_NUMBERS for x in metas):
            raise Impure("asks for the class of an object, and computes a number from an array")
        for name in sorted(set().union(*(record_names(x._layout) for x in metas if isinstance(x, ak.Array)))):
            for behavior in self._behaviors if name not in self._records else ():
                if any(_mentions(key, name) and not _trusted(x) for key, x in behavior.items()):
                    raise Impure(f"makes records named {name}, whose behavior was not followed")
            self._guard_records(name)

    def _follow_records(self, names: set[str]) -> None:
        for name in sorted(names - self._records):
            self._records.add(name)
            for behavior in self._behaviors:
                for key, x in behavior.items():
                    if _mentions(key, name) and not _trusted(x):
                        self._later(self._item(behavior, key, f"the behavior of {name}"), f"the behavior of {name}")

    def _guard_records(self, name: str) -> None:
        for behavior in self._behaviors:
            self.guards.add(g.Result, "a behavior", len, behavior)
            for key in (name, ("*", name)):
                self._item(behavior, key, f"the behavior of {name}")


def _is_own(module: types.ModuleType, name: str) -> bool:
    """Whether a module has an attribute that is not one of all modules, such as __repr__."""
    return hasattr(module, name) and (name in vars(module) or not hasattr(types.ModuleType, name))


def _mentions(key: Any, name: str) -> bool:
    return key == name if isinstance(key, str) else isinstance(key, tuple) and name in [x for x in key if isinstance(x, str)]


def _trusted(x: Any) -> bool:
    """Whether a behavior is a library's."""
    return _pure_module(x.__module__ if isinstance(x, type) else _module_of(x)) is not None


def record_names(layout: Any) -> set[str]:
    """The names of records and lists in a layout, which choose the behaviors."""
    names = {layout.parameter("__record__"), layout.parameter("__list__")} - {None}
    for content in getattr(layout, "contents", None) or [x for x in (getattr(layout, "content", None),) if x is not None]:
        names |= record_names(content)
    return names


_UNKNOWN_NUMBERS = (TypeTracerArray, MaybeNone, OneOf)
_DISPATCHER = type(np.concatenate)
_TYPING = tuple(sys.modules["typing"].__dict__[name] for name in ("Generic", "Protocol"))


def _pure_type(kind: type) -> bool:
    return kind.__module__ in ("builtins", "re", "types", "numpy", "numpy.dtypes", "typing")


def _stdlib(module: Any) -> bool:
    root = module.partition(".")[0] if isinstance(module, str) else "builtins"
    return root in sys.stdlib_module_names and root != "__main__" or root == "builtins"


def _library(cls: type) -> bool:
    """Whether a class belongs to a library that is not followed."""
    module = cls.__module__ if isinstance(cls.__module__, str) else "builtins"
    return _pure_module(module) is not None or _stdlib(module) or module.partition(".")[0] in ("numpy", "upsweep")


def _of_dataclass(cls: type, name: str, x: Any) -> bool:
    """Whether the method was made by @dataclass: it reads and sets nothing but the fields."""
    if "__dataclass_params__" not in vars(cls) or name not in _OF_DATACLASSES or not isinstance(x, types.FunctionType):
        return False
    code = getattr(x, "__wrapped__", x).__code__
    return code.co_filename == "<string>"


def _frozen(cls: type) -> bool:
    return "__dataclass_params__" in vars(cls) and cls.__dataclass_params__.frozen
