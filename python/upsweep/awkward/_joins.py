# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_joins.py: several arrays joined to one, and means, in one pass each: concatenate, where, mean.
import itertools

import awkward as ak
import numpy as np

from upsweep.awkward._layouts import is_inner
from upsweep.awkward._memory import memory
from upsweep.awkward._native import MANY, addresses, is_index, is_moved


def hooks(native):
    contents = ak.contents

    def concatenate(theirs):
        def _impl(arrays, axis, mergebool, highlevel, behavior, attrs):
            if axis == 1 and type(arrays) in (list, tuple) and len(arrays) > 1 and behavior is None and attrs is None:
                layouts = list(itertools.takewhile(lambda each: each is not None, map(lists_of, arrays)))
                if len(layouts) == len(arrays):
                    joined = joined_lists(native, layouts, mergebool)
                    if joined is not None:
                        return ak.Array(joined) if highlevel else joined
            return theirs(arrays, axis, mergebool, highlevel, behavior, attrs)

        return _impl

    def simplified(theirs):
        def simplified(
            cls, tags, index, contents, *, parameters=None, mergebool=False, mergecastable="same_kind", dropunused=False
        ):
            is_plain = cls is ak.contents.UnionArray and parameters is None and not dropunused
            if is_plain and type(contents) in (list, tuple) and len(contents) > 0:
                chosen = chosen_numbers(native, tags, index, contents)
                if chosen is not None:
                    return chosen
            return theirs.__func__(
                cls,
                tags,
                index,
                contents,
                parameters=parameters,
                mergebool=mergebool,
                mergecastable=mergecastable,
                dropunused=dropunused,
            )

        return classmethod(simplified)

    def mean(theirs):
        def _impl(x, weight, axis, keepdims, mask_identity, highlevel, behavior, attrs):
            if weight is None and is_inner(axis) and not (keepdims or mask_identity) and behavior is None and attrs is None:
                # Our function does not report underflow.
                lists = lists_of(x) if np.geterr()["under"] == "ignore" else None
                if lists is not None and has_numbers(lists):
                    means = mean_of_lists(native, lists)
                    if means is not None:
                        return ak.Array(means) if highlevel else means
            return theirs(x, weight, axis, keepdims, mask_identity, highlevel, behavior, attrs)

        return _impl

    def trim(theirs):
        def _trim(array):
            ours = trimmed(native, array)
            return theirs(array) if ours is None else ours

        return _trim

    return [
        (contents.IndexedOptionArray, "_trim", trim, "self"),
        (contents.IndexedArray, "_trim", trim, "self"),
        (
            module_of("ak_concatenate"),
            "_impl",
            concatenate,
            "arrays axis mergebool highlevel behavior attrs",
        ),
        (
            module_of("ak_mean"),
            "_impl",
            mean,
            "x weight axis keepdims mask_identity highlevel behavior attrs",
        ),
        (
            contents.UnionArray,
            "simplified",
            simplified,
            "tags index contents parameters mergebool mergecastable dropunused",
        ),
    ]


def trimmed(native, array):
    """The array with the range of its content that its index uses, for concatenate(); None if Awkward must do it. A missing element's
    index is copied as it is or as -1, as concatenate() takes both for -1."""
    index = array._index._data
    if not is_index(index) or len(index) < max(MANY, 1):
        return None
    # As uint64, the indices of missing elements are the largest.
    least, most = int((index.view(np.uint64) if array.is_option else index).min()), int(index.max())
    if most < 0 or least < 0:
        return None
    if least > 0:
        moved = memory.empty(len(index), np.int64)
        if not native.call("awkward_IndexedArray_fill_to64_from64", moved, 0, index, len(index), -least):
            return None
        index = moved
    content = array._content._getitem_range(least, most + 1)
    kind = ak.contents.IndexedOptionArray if array.is_option else ak.contents.IndexedArray
    return kind(ak.index.Index64(index), content, parameters=array._parameters)


def module_of(name):
    """The module of an operation, in which Awkward looks up the operation's functions by name."""
    return getattr(ak.operations, name, ak.operations)  # if the module was removed, its function is missing there


def lists_of(array):
    """The layout of an array of many lists without names, custom behavior or parameters; otherwise None."""
    if type(array) is not ak.Array or array._attrs or array._behavior is not None:
        return None
    lists = array._layout
    if type(lists) not in (ak.contents.ListOffsetArray, ak.contents.ListArray) or lists._parameters:
        return None
    is_ours = type(lists._backend) is ak._backends.numpy.NumpyBackend
    return lists if is_ours and lists.length >= MANY else None


def are_numbers(content):
    return type(content) is ak.contents.NumpyArray and not content._parameters and is_moved(content._data)


def has_numbers(lists):
    return are_numbers(lists._content) and lists._content._data.dtype.kind in "biuf"


def are_of_one_type(contents):
    """Whether all contents are numbers of one type."""
    return all(are_numbers(each) and each._data.dtype == contents[0]._data.dtype for each in contents)


def joined_lists(native, layouts, mergebool):
    """Joins the lists of several arrays: numbers of one type, or records that can be merged."""
    inner = [lists._content for lists in layouts]
    if len({lists.length for lists in layouts}) != 1:
        return None
    have_numbers = are_of_one_type(inner)
    if not have_numbers and not all(type(each) is ak.contents.RecordArray for each in inner):
        return None
    flat = [lists._offsets_and_flattened(axis=1, depth=1) for lists in layouts]
    offsets = [each._data for each, _ in flat]
    elements = [content for _, content in flat]
    if not all(is_index(each) for each in offsets):
        return None
    if have_numbers:
        if not all(are_numbers(each) for each in elements):
            return None
        records, data, size, dtype = None, [each._data for each in elements], inner[0]._data.itemsize, inner[0]._data.dtype
    else:
        records, data, size, dtype = merged_records(elements, mergebool), [], 0, np.dtype(np.int64)
        if records is None:
            return None
    lengths = np.array([each.length for each in elements], np.int64)
    joined = memory.empty(len(offsets[0]), np.int64)
    out = memory.empty(sum(int(each[-1]) for each in offsets), dtype)
    sources = (addresses(offsets), addresses(data), lengths, len(offsets), len(joined) - 1)
    if not native.call("awkward_upsweep_concatenate_64", joined, out, *sources, size):
        return None
    # Records are not moved: `out` contains their positions.
    content = ak.contents.NumpyArray(out) if size else ak.contents.IndexedArray(ak.index.Index64(out), records)
    return ak.contents.ListOffsetArray(ak.index.Index64(joined), content)


def merged_records(arrays, mergebool):
    """The records of several arrays, one array after the other; None if they would become a union or an option.

    Each array is merged with the result of the arrays before it, as in Awkward. Types that can be merged with a third type may not
    be mergeable with each other. Also, NumPy may find another common type for three types at once than one after the other."""
    merged, *others = arrays
    for each in others:
        are_records = type(merged) is ak.contents.RecordArray and type(each) is ak.contents.RecordArray
        if not are_records or not merged._mergeable_next(each, mergebool, "same_kind"):
            return None
        merged = merged._mergemany([each])
    return merged if type(merged) is ak.contents.RecordArray else None


def chosen_numbers(native, tags, index, arrays):
    """The elements of a union of numbers of one type."""
    if not (isinstance(tags, ak.index.Index) and isinstance(index, ak.index.Index)):
        return None
    tags, index = tags._data, index._data
    if not (type(tags) is np.ndarray and tags.dtype == np.int8 and is_index(index)) or not MANY <= len(tags) <= len(index):
        return None
    if not are_of_one_type(arrays):
        return None
    data = [each._data for each in arrays]
    lengths = np.array([len(each) for each in data], np.int64)
    out = memory.empty(len(tags), data[0].dtype)
    sources = (addresses(data), lengths, len(data))
    if not native.call("awkward_upsweep_choose_64", out, tags, index, len(tags), *sources, out.itemsize):
        return None
    return ak.contents.NumpyArray(out)


def mean_of_lists(native, lists):
    lists = lists.to_ListOffsetArray64(True)
    sums = ak.operations.ak_sum._impl(lists, 1, False, False, False, None, None, dtype=np.float64)
    if type(sums) is not ak.contents.NumpyArray or sums._data.dtype != np.float64:
        return None
    out, offsets = sums._data, lists._offsets._data
    return sums if native.call("awkward_upsweep_mean_64", out, offsets, len(out)) else None
