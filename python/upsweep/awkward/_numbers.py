# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_numbers.py: ufuncs of numbers and of lists of numbers, and Python numbers as operands, in few steps.
import awkward as ak
import numpy as np
from awkward._attrs import attrs_of
from awkward._behavior import find_custom_cast
from awkward._namedaxis import NAMED_AXIS_KEY

from upsweep.awkward._native import are_same, is_index

ARRAY = ak.highlevel.Array
LISTS = ak.contents.ListOffsetArray
NUMBERS = ak.contents.NumpyArray
INDEXED = ak.contents.IndexedArray
INT64 = np.iinfo(np.int64)
LARGEST_NUMBER = 8  # bytes


def hooks(native):
    numpy_backend = ak._backends.numpy.NumpyBackend.instance()

    def to_layout(theirs):
        """Awkward converts a Python number by a builder of arrays, also where it returns the number itself."""

        def _impl(obj, allow_record, allow_unknown, none_policy, regulararray, use_from_iter, primitive_policy, string_policy):
            if is_python_number(obj):
                if primitive_policy == "pass-through":
                    return obj
                if primitive_policy == "promote":
                    return NUMBERS(np.array([obj]), parameters=None, backend=numpy_backend)
            return theirs(
                obj,
                allow_record,
                allow_unknown,
                none_policy,
                regulararray,
                use_from_iter,
                primitive_policy,
                string_policy,
            )

        return _impl

    def array_ufunc(theirs):
        def array_ufunc(ufunc, method, inputs, kwargs):
            if method == "__call__" and not kwargs and type(ufunc) is np.ufunc and ufunc.nout == 1 and ufunc.signature is None:
                operands = operands_of(inputs)
                if operands is not None:
                    offsets, numbers = operands
                    data = numpy_backend.nplike.apply_ufunc(ufunc, method, numbers, kwargs)
                    made = NUMBERS(data, parameters=None, backend=numpy_backend)
                    if offsets is not None:
                        made = LISTS(offsets, made, parameters=None)
                    return ARRAY(made, attrs=attrs_of(*inputs))
            return theirs(ufunc, method, inputs, kwargs)

        return array_ufunc

    return [
        (
            ak.operations.ak_to_layout,
            "_impl",
            to_layout,
            "obj allow_record allow_unknown none_policy regulararray use_from_iter primitive_policy string_policy",
        ),
        (ak._connect.numpy, "array_ufunc", array_ufunc, "ufunc method inputs kwargs"),
    ]


def is_python_number(x):
    kind = type(x)
    return kind is float or kind is bool or (kind is int and INT64.min <= x <= INT64.max)


def are_numbers(data):
    """Whether a NumPy array or scalar has numbers of a type that every ufunc processes as Awkward does."""
    return data.dtype.kind in "biuf" and data.dtype.itemsize <= LARGEST_NUMBER and data.dtype.isnative


def operands_of(inputs):
    """The offsets of the lists, or None for arrays of numbers, and the operands of a ufunc: arrays of one length and numbers. Returns
    None if Awkward must find them: for other types, names, custom behavior, and lengths that differ."""
    layouts, operands = [], []
    for x in inputs:
        if type(x) is ARRAY:
            if x._behavior is not None or (x._attrs is not None and NAMED_AXIS_KEY in x._attrs):
                return None
            layouts.append(x._layout)
            operands.append(x._layout)
        elif is_python_number(x) or (isinstance(x, np.generic) and are_numbers(x)):
            operands.append(x)
        else:
            return None
        if find_custom_cast(x, None) is not None:
            return None
    if type(layouts[0]) is not LISTS:
        return operands_of_length(None, layouts[0].length, layouts, operands)
    offsets = layouts[0]._offsets
    for lists in layouts:
        if type(lists) is not LISTS or lists._parameters or not is_index(lists._offsets._data):
            return None
        if lists is not layouts[0] and not are_same(lists._offsets._data, offsets._data):
            return None
    if offsets._data[0] != 0 or len(offsets._data) < 2:  # without lists, Awkward determines the type in another way
        return None
    contents = [x._content if type(x) is LISTS else x for x in operands]
    return operands_of_length(offsets, int(offsets._data[-1]), [lists._content for lists in layouts], contents)


def operands_of_length(offsets, length, layouts, operands):
    """Completes operands_of(): the operands' numbers. Lists may have more elements than their offsets use."""
    for x in layouts:
        if x._parameters:
            return None
        numbers = x._content if type(x) is INDEXED else x
        if type(numbers) is not NUMBERS or numbers._parameters or type(numbers._data) is not np.ndarray:
            return None
        if numbers._data.ndim != 1 or not are_numbers(numbers._data):
            return None
        if x is not numbers and type(x._index._data) is not np.ndarray:
            return None
    # Awkward broadcasts arrays of length 1.
    lengths = {x.length for x in layouts}
    if min(lengths) < length or (offsets is None and (length < 2 or len(lengths) > 1)):
        return None

    def data_of(x):
        if not isinstance(x, (INDEXED, NUMBERS)):
            return x
        if x.length > length:
            x = x._getitem_range(0, length)
        return (x.project() if type(x) is INDEXED else x)._data

    return offsets, [data_of(x) for x in operands]
