# SPDX-License-Identifier: Apache-2.0
# tests/python/test_awkward_large.py: Awkward's operations on large arrays of many layouts: upsweep's kernels and
# functions must give the results of Awkward itself. Only make test-python runs it.
import warnings

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

import upsweep.awkward
from test_awkward_functions import REDUCERS, assert_same

pytestmark = pytest.mark.long

AXES = [None, 0, 1, -1, 2]


def named(name, *arguments, **options):
    """An operation of Awkward that upsweep.awkward also has."""
    return name, arguments, options


# Within lists, and not across them.
NAMED = [
    *[named(name, axis=axis) for name in REDUCERS for axis in (None, -1)],
    *[named(name, axis=-1, keepdims=True) for name in REDUCERS],
    *[named(name, axis=-1, mask_identity=True) for name in REDUCERS],
    *[named(name, ascending=up) for name in ("sort", "argsort") for up in (True, False)],
    *[named("flatten", axis=axis) for axis in AXES],
    *[named("local_index", axis=axis) for axis in (0, 1, -1)],
    *[named("combinations", n, axis=axis) for n in (2, 3) for axis in (0, 1)],
    named("combinations", 2, replacement=True),
]
OTHERS = [
    ak.to_packed,
    ak.ravel,
    ak.drop_none,
    ak.run_lengths,
    ak.to_regular,
    ak.firsts,
    ak.singletons,
    lambda a: ak.num(a, axis=1),
    lambda a: ak.num(a, axis=-1),
    lambda a: ak.is_none(a, axis=-1),
    lambda a: ak.fill_none(a, 0),
    lambda a: ak.pad_none(a, 2, axis=1),
    lambda a: ak.pad_none(a, 3, axis=-1, clip=True),
    lambda a: ak.cartesian([a, a]),
    lambda a: ak.argcartesian([a, a]),
    lambda a: ak.concatenate([a, a]),
    lambda a: ak.concatenate([a, a], axis=1),
    lambda a: ak.where(a > 0, a, 1),
    lambda a: a[::-1],
    lambda a: a[:, :1],
    lambda a: a[:, 1:],
    lambda a: a[:, ::-1],
    lambda a: a[:, -2:],
    lambda a: a[:, 0],
    lambda a: a[..., :1],
    lambda a: a[a > 0],
    lambda a: a[::-1][a[::-1] > 0],
    lambda a: a[ak.mask(a > 0, a < 2)],
    lambda a: a[ak.argsort(a)],
    lambda a: a[ak.argmax(a, axis=-1, keepdims=True)],
    lambda a: a[ak.local_index(a, axis=1)],
    lambda a: a + a[::-1],
    lambda a: a + np.arange(len(a)),
]


def bound(module, operation, array):
    if callable(operation):
        return lambda: operation(array)
    name, arguments, options = operation
    return lambda: getattr(module, name)(array, *arguments, **options)


def outcome(operation):
    """Returns the parts of a result, or the type and message of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # about numbers that do not fit: both have the same warnings
        try:
            result = operation()
            parts = ak.to_buffers(ak.to_packed(result)) if isinstance(result, ak.Array) else str(result)
        except Exception as error:  # noqa: BLE001 - whatever Awkward raises
            # The rest of the message names the file and line of the kernel.
            return type(error), str(error).split("(in compiled code")[0].split("This error occurred")[0].strip()
    if isinstance(parts, str):
        return type(result), parts
    form, length, buffers = parts
    return (result.type, form, length, *buffers.keys()), *buffers.values()


def are_same(one, other):
    return one[0] == other[0] and len(one) == len(other) and all(map(have_same_bits, one[1:], other[1:]))


def have_same_bits(one, other):
    if not isinstance(one, np.ndarray):
        return one == other
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def arrays_of(count, longest):
    """Lists of many lengths, permuted, nested, and with missing elements."""
    random = np.random.default_rng(5)
    lengths = random.poisson(3, count)
    lengths[random.integers(0, len(lengths), 50)] = longest
    lengths[count // 5 : count // 4] = 0
    content = random.normal(size=int(lengths.sum()))
    content[random.integers(0, len(content), count // 300)] = np.nan
    lists = ak.unflatten(content, lengths)
    groups = random.multinomial(count, np.full(count // 6, 6 / count))
    return {
        "lists": lists,
        "permuted": lists[random.permutation(count)],
        "of integers": ak.values_astype(ak.nan_to_num(lists) * 100, np.int32),
        "missing elements": ak.mask(lists, lists > 0),
        "missing lists": ak.mask(lists, random.random(count) < 0.8),
        "lists of lists": ak.unflatten(lists, groups),
        "records": ak.zip({"pt": lists, "charge": lists > 0}),
    }


def expect_same_with_kernels(run):

    expected = outcome(run)
    with upsweep.awkward.kernels():
        assert are_same(outcome(run), expected)


@pytest.mark.parametrize(
    "kind", ["lists", "permuted", "of integers", "missing elements", "missing lists", "lists of lists", "records"]
)
def test_large_awkward_arrays(kind):

    large, small = arrays_of(300_000, 1_000)[kind], arrays_of(12_000, 20)[kind]
    for operation in NAMED:
        name, arguments, options = operation
        if name == "combinations" and options.get("axis") == 0:
            continue  # too many results for this number of lists
        array = small if name == "combinations" else large
        expect_same_with_kernels(bound(ak, operation, array))
        assert_same(name, array, *arguments, **options)
    for operation in OTHERS:
        expect_same_with_kernels(bound(ak, operation, small))
