# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_fuse/instructions.py: what the instructions of a Python function read, call and change.
"""scan() lists the names that a function's code reads, and refuses instructions that have a side effect or that it does not know.
It reads the code because the source of a function is not always there."""

from __future__ import annotations

import dis
import functools
import string
import types
from typing import Any


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Instructions of CPython 3.11 to 3.14 that read and change only the stack and local variables.
_PURE = words(
    """
    BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE BUILD_STRING
    BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_KW CLEANUP_THROW COMPARE_OP CONTAINS_OP COPY
    COPY_FREE_VARS DELETE_FAST DELETE_SUBSCR DICT_MERGE DICT_UPDATE END_FOR END_SEND EXIT_INIT_CHECK EXTENDED_ARG FOR_ITER
    GET_ITER GET_LEN GET_YIELD_FROM_ITER IS_OP JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_IF_FALSE_OR_POP
    JUMP_IF_TRUE_OR_POP KW_NAMES LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR LOAD_CLOSURE
    LOAD_COMMON_CONSTANT LOAD_CONST LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW
    LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_SMALL_INT MAKE_CELL MAKE_FUNCTION MAP_ADD MATCH_CLASS MATCH_KEYS
    MATCH_MAPPING MATCH_SEQUENCE NOP NOT_TAKEN POP_EXCEPT POP_ITER POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_NONE
    POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE
    POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
    POP_JUMP_IF_TRUE POP_TOP PRECALL PUSH_NULL RAISE_VARARGS RERAISE RESUME RETURN_CONST RETURN_GENERATOR RETURN_VALUE
    SEND SET_ADD SET_FUNCTION_ATTRIBUTE SET_UPDATE STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST STORE_SLICE
    STORE_SUBSCR SWAP TO_BOOL UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE UNPACK_EX UNPACK_SEQUENCE
    WITH_EXCEPT_START YIELD_VALUE
    """
)
_FORMAT = frozenset(("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"))
_WITH = frozenset(("BEFORE_WITH", "LOAD_SPECIAL"))
_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"))
_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_CELLS = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF"))
_LOCALS = frozenset(("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"))
_SKIPPED = frozenset(("CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "KW_NAMES", "PUSH_NULL", "NOT_TAKEN"))
# Attributes of each object with which a function could leave what purity.py follows are refused, except for these.
_SPECIAL = frozenset(("__init__", "__post_init__", "__getitem__", "__len__", "__iter__", "__call__", "__name__", "__version__"))
_INTERNAL = words(
    """
    gi_frame gi_code gi_yieldfrom cr_frame ag_frame f_back f_globals f_locals f_builtins f_code tb_frame tb_next
    format_map mro
    """
)
_FIELDS = string.Formatter().parse
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, types.EllipsisType)


class Impure(Exception):
    """The function has a side effect, or it may return something else in the next call."""


class Scan:
    """The names that the code of a function reads, with the code of the functions in it."""

    def __init__(self):
        # The attributes that follow a name: `np.linalg.norm` adds ("linalg", "norm") to the set of np.
        # An empty tuple says that the object itself is used.
        self.globals: dict[str, set[tuple]] = {}
        self.cells: dict[str, set[tuple]] = {}
        self.imports: set[tuple] = set()  # (module, level, names)
        self.attributes: set[str] = set()  # of objects that are not known here
        self.strings: set[str] = set()  # among the constants
        self.stored: set[str] = set()  # attributes of the first argument
        self.stored_cells: set[str] = set()
        self.identities = False  # whether it compares identities, other than with None
        self.asks_by_value = False  # whether it calls getattr or hasattr with a name that is not a constant
        self.matches = False  # whether it asks for classes, in a match statement


@functools.lru_cache(maxsize=4096)
def scan(code: types.CodeType) -> Scan:
    """Raises Impure if an instruction has a side effect."""
    made = Scan()
    _scan(code, made, is_outer=True)
    return made


def _scan(code: types.CodeType, made: Scan, is_outer: bool) -> None:
    if code.co_flags & (0x80 | 0x200):  # coroutines
        raise Impure("is a coroutine")
    steps = [x for x in dis.get_instructions(code) if x.opname not in _SKIPPED]
    inside = 0  # of a chain of attributes
    for i, step in enumerate(steps):
        name = step.opname
        if name in _GLOBALS or name in _CELLS:
            chain = _chain(steps, i)
            if step.argval in ("getattr", "hasattr") and name in _GLOBALS:
                found = _constant_name(steps, i)
                made.asks_by_value |= found is None
                made.attributes.update(() if found is None else (found,))
            (made.globals if name in _GLOBALS else made.cells).setdefault(step.argval, set()).add(chain)
            inside = i + len(chain)
        elif name in _ATTRIBUTES:
            _check_attribute(step.argval)
            if step.argval == "format":
                _check_format(steps[i - 1])
            if i > inside:
                made.attributes.add(step.argval)
        elif name == "STORE_ATTR":
            _store(code if is_outer else None, steps, i, made)
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            made.stored_cells.add(step.argval)
        elif name == "IMPORT_NAME":
            names = [x.argval for x in steps[i + 1 :]]
            kinds = [x.opname for x in steps[i + 1 :]]
            count = next((k for k in range(0, len(kinds), 2) if kinds[k] != "IMPORT_FROM"), len(kinds))
            made.imports.add((step.argval, steps[i - 2].argval, tuple(names[:count:2])))
        elif name == "PUSH_EXC_INFO":
            if i + 1 == len(steps) or steps[i + 1].opname != "WITH_EXCEPT_START":
                raise Impure("handles exceptions")
        elif name == "IS_OP":
            made.identities |= not (steps[i - 1].opname == "LOAD_CONST" and steps[i - 1].argval is None)
        elif name == "LOAD_CONST" or name == "RETURN_CONST":
            _check_constant(step.argval, made)
        elif name in _FORMAT:
            made.attributes.update(("__str__", "__repr__", "__format__"))
        elif name in _WITH:
            made.attributes.update(("__enter__", "__exit__"))
        elif name not in _PURE and name != "IMPORT_FROM":
            raise Impure(_WHY.get(name, f"contains {name}").format(step.argval))
        if name == "BINARY_OP" and step.argrepr.startswith("%"):  # of a string, perhaps
            made.attributes.update(("__str__", "__repr__"))
        made.matches |= name == "MATCH_CLASS"


_WHY = {
    "STORE_GLOBAL": "sets the global {}",
    "DELETE_GLOBAL": "deletes the global {}",
    "DELETE_ATTR": "deletes the attribute {}",
    "LOAD_BUILD_CLASS": "defines a class",
    "CHECK_EXC_MATCH": "handles exceptions",
    "CHECK_EG_MATCH": "handles exceptions",
}


def _chain(steps: list, i: int) -> tuple:
    """The attributes that are read from what step i loads."""
    end = i + 1
    while end < len(steps) and steps[end].opname in ("LOAD_ATTR", "LOAD_METHOD") and not steps[end].is_jump_target:
        end += 1
    return tuple(x.argval for x in steps[i + 1 : end])


def _check_attribute(name: str) -> None:
    if name in _INTERNAL or (name.startswith("__") and name.endswith("__") and name not in _SPECIAL):
        raise Impure(f"uses {name}")


def _check_format(before: dis.Instruction) -> None:
    """str.format() reads attributes: `"{0.cut}".format(settings)`."""
    text = before.argval
    if (
        before.opname != "LOAD_CONST"
        or not isinstance(text, str)
        or any(set(".[") & set(x or "") for _, x, _, _ in _FIELDS(text))
    ):
        raise Impure("uses str.format with a text that is not constant")


def _check_constant(x: Any, made: Scan) -> None:
    if isinstance(x, types.CodeType):
        _scan(x, made, is_outer=False)
    elif type(x) in (tuple, frozenset):
        for y in x:
            _check_constant(y, made)
    elif type(x) is slice:
        _check_constant((x.start, x.stop, x.step), made)
    elif type(x) is str:
        made.strings.add(x)
    elif type(x) not in _CONSTANTS:
        raise Impure(f"contains a constant of type {type(x).__name__}")


def _store(code: types.CodeType | None, steps: list, i: int, made: Scan) -> None:
    """Setting an attribute has an effect, except for an object that the call has created."""
    name, before = steps[i].argval, steps[i - 1]
    own = code.co_varnames[0] if code is not None and code.co_argcount else None
    if before.opname == "SWAP":  # `self.count += 1`: the object is loaded, copied, and its attribute is read
        copies = [k for k in range(1, i) if steps[k].opname == "COPY" and _reads(steps[k + 1], name)]
        before = steps[copies[-1] - 1] if copies else before
    is_own = before.opname.startswith("LOAD_FAST") and _as_tuple(before.argval)[-1] == own and not steps[i].is_jump_target
    again = any(x.opname.startswith(("STORE_FAST", "DELETE_FAST")) and own in _as_tuple(x.argval) for x in steps)
    if own is None or not is_own or again or own in code.co_cellvars:
        raise Impure(f"sets the attribute {name}")
    made.stored.add(name)


def _reads(step: dis.Instruction, name: str) -> bool:
    return step.opname == "LOAD_ATTR" and step.argval == name


def _as_tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else (x,)


def _constant_name(steps: list, i: int) -> str | None:
    """The constant name of the attribute in `getattr(object.attribute, "name")`, or with a default."""
    at = i + 1
    known = at < len(steps) and steps[at].opname in _LOCALS | _GLOBALS | _CELLS
    at += 1
    while at < len(steps) and steps[at].opname == "LOAD_ATTR":
        at += 1
    known &= at + 1 < len(steps) and steps[at].opname == "LOAD_CONST" and isinstance(steps[at].argval, str)
    after = at + 1
    if known and steps[after].opname != "CALL":
        known = steps[after].opname in _LOCALS | {"LOAD_CONST", "LOAD_SMALL_INT"} and after + 1 < len(steps)
        after += 1
    if not known or steps[after].opname != "CALL" or any(x.is_jump_target for x in steps[i + 1 : after + 1]):
        return None
    _check_attribute(steps[at].argval)
    return steps[at].argval
