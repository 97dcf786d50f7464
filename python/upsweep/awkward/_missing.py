# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_missing.py: operations on several arrays with missing elements: finds what is valid in one pass.
import copy
import ctypes

import awkward as ak
import numpy as np
from awkward import _broadcasting

from upsweep.awkward._memory import memory
from upsweep.awkward._native import MANY, is_index

CONTENT = ak.contents.Content
OPTION = ak.contents.IndexedOptionArray
NUMPY = ak.contents.NumpyArray
MOST = 4  # arrays with different indices that the function takes


def hooks(native):
    def make(theirs):
        def apply_step(backend, inputs, action, depth, depth_context, lateral_context, options):
            if not has_options(inputs) or options["function_name"] == "ak.where":
                return theirs(backend, inputs, action, depth, depth_context, lateral_context, options)

            def continuation():
                return apply_to_valid(native, backend, inputs, action, depth, depth_context, lateral_context, options)

            # Awkward's steps before the action concern only lists, and lengths that differ.
            made = action(
                inputs,
                depth=depth,
                depth_context=depth_context,
                lateral_context=lateral_context,
                continuation=continuation,
                backend=backend,
                options=options,
            )
            if made is None:
                return continuation()
            if isinstance(made, tuple) and all(isinstance(x, CONTENT) and x.backend is backend for x in made):
                return made
            return theirs(backend, inputs, lambda *_args, **_kwargs: made, depth, depth_context, lateral_context, options)

        return apply_step

    return [(_broadcasting, "apply_step", make, "backend inputs action depth depth_context lateral_context options")]


def has_options(inputs):
    """Whether the inputs are long arrays of one length, some of them with missing elements by an index, and numbers."""
    length, options = -1, set()
    for x in inputs:
        kind = type(x)
        if kind is OPTION:
            if not is_index(x._index._data):
                return False
            options.add(x._index._data.ctypes.data)
        elif kind is not NUMPY:
            if isinstance(x, CONTENT):
                return False
            continue
        elif type(x._data) is not np.ndarray or x._data.ndim != 1:
            return False
        if length not in (-1, x.length):
            return False
        length = x.length
    return 0 < len(options) <= MOST and length >= MANY


def apply_to_valid(native, backend, inputs, action, depth, depth_context, lateral_context, options):
    """The action on the elements that are missing in no input, as arrays whose other elements are missing."""
    # Fields of one array have the same index in the same memory.
    keys = [x._index._data.ctypes.data if type(x) is OPTION else None for x in inputs if isinstance(x, CONTENT)]
    distinct = list(dict.fromkeys(key for key in keys if key is not None))
    length = next(x.length for x in inputs if type(x) is OPTION)
    index = memory.empty(length, np.int64)
    carries = {key: memory.empty(length, np.int64) for key in dict.fromkeys(keys)}
    to = [carries[key].ctypes.data if key in carries else None for key in (None, *distinct)]
    pointers = ctypes.c_void_p * len(to)
    count = ctypes.c_int64()
    arguments = ctypes.addressof(count), index, pointers(*to), pointers(None, *distinct), len(distinct), length
    if not native.call("awkward_upsweep_valid_together_64", *arguments):
        raise MemoryError
    carried = {key: ak.index.Index64(carry[: count.value]) for key, carry in carries.items()}

    next_inputs, parameters = [], []
    of_contents = iter(keys)
    for x in inputs:
        if not isinstance(x, CONTENT):
            next_inputs.append(x)
            parameters.append(_broadcasting.NO_PARAMETERS)
            continue
        content = x._content if type(x) is OPTION else x
        next_inputs.append(content._carry(carried[next(of_contents)], True))
        parameters.append(x._parameters)
    made = _broadcasting.apply_step(backend, next_inputs, action, depth, copy.copy(depth_context), lateral_context, options)
    rule = _broadcasting.BROADCAST_RULE_TO_FACTORY_IMPL[options["broadcast_parameters_rule"]]
    return tuple(
        OPTION.simplified(ak.index.Index64(index), x, parameters=p)
        for x, p in zip(made, rule(parameters, len(made)), strict=True)
    )
