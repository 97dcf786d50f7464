# SPDX-License-Identifier: Apache-2.0
# tests/python/test_awkward_random.py: operations on random layouts: upsweep's kernels and functions must give the
# results of Awkward itself. Only make test-python runs it. A child process runs them, so that a crash names its seed
# and operation.
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

ak = pytest.importorskip("awkward")

import upsweep.awkward

pytestmark = pytest.mark.long

SEEDS = 300  # per child
OPERATIONS = 12  # per seed
TYPES = [*upsweep._arrays.NUMBERS, "bool", "float16", "complex64", "complex128", "M8[s]", "m8[us]"]
INDICES = [(np.int32, ak.index.Index32), (np.uint32, ak.index.IndexU32), (np.int64, ak.index.Index64)]
contents = ak.contents


class Layouts:
    """Makes random valid layouts. If lists are not within their content, Awkward's own kernels write out of bounds, and
    later results cannot be compared. Tests of invalid lists are in test_awkward_functions.py."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def happens(self, probability):
        return self.random.random() < probability

    def number(self, least, most):
        return int(self.random.integers(least, most + 1))

    def one_of(self, choices):
        return choices[self.number(0, len(choices) - 1)]

    def values(self, n):
        dtype = np.dtype(self.one_of(TYPES))
        if dtype.kind in "mM":
            return self.random.integers(0, 9, n).astype(np.int64).view(dtype)
        if dtype.kind == "c":
            return (self.random.integers(-2, 3, n) + 1j * self.random.integers(-2, 3, n)).astype(dtype)
        x = self.random.integers(-3 if dtype.kind in "if" else 0, 5, n).astype(dtype)
        if dtype.kind == "f":
            x[self.random.random(n) < self.one_of([0, 0.3])] = np.nan
        elif dtype.kind in "iu":
            x[self.random.random(n) < self.one_of([0, 0.1])] = self.one_of([np.iinfo(dtype).max, np.iinfo(dtype).min])
        return x

    def numbers(self, n):
        x = self.values(n + self.one_of([0, 0, 3]))  # content may be longer than needed
        placed = self.number(0, 9)
        if placed == 0:
            x = np.repeat(x, 2)[::2]
        elif placed == 1:
            x = x[::-1]
        elif placed == 2:
            unaligned = np.empty(x.nbytes + 1, np.uint8)
            unaligned[1:] = np.frombuffer(x.tobytes(), np.uint8)
            x = unaligned[1:].view(x.dtype)
        elif placed == 3:
            x = np.repeat(x[:, np.newaxis], self.number(0, 3), axis=1)
        return contents.NumpyArray(x)

    def layout(self, n, depth):
        """Makes a layout of n elements or more."""
        if depth == 0:
            kinds = [self.numbers] * 12 + [self.strings]
            return self.one_of(kinds)(n) if self.happens(0.8) else self.one_of([self.option, self.record, self.union])(n, 0)
        kinds = (
            [self.offsets] * 8 + [self.lists] * 5 + [self.option] * 2 + [self.regular, self.record, self.union, self.indexed]
        )
        return self.one_of(kinds)(n, depth)

    def strings(self, n):
        return ak.to_layout(ak.Array(["ab" * (i % 3) for i in range(n)])) if n else contents.EmptyArray()

    def offsets(self, n, depth):
        dtype, index = self.one_of(INDICES)
        first = self.one_of([0, 0, 2])
        lengths = self.random.poisson(2, n) * (self.random.random(n) < self.one_of([0.5, 1]))
        offsets = np.concatenate([[first], first + np.cumsum(lengths)]).astype(dtype)
        content = self.layout(int(offsets[-1]) + self.one_of([0, 0, 3]), depth - 1)
        return contents.ListOffsetArray(index(np.repeat(offsets, 2)[::2] if self.happens(0.2) else offsets), content)

    def lists(self, n, depth):
        """Makes lists with gaps and overlaps, in any order. Empty lists may be outside the content, and there may be
        more stops than starts."""
        dtype, index = self.one_of(INDICES)
        elements = self.number(0, 2 * n)
        lengths = np.minimum(self.random.poisson(2, n), elements)
        starts = self.random.integers(0, elements - lengths + 1)
        stops = starts + lengths
        beyond = self.random.random(n) < self.one_of([0, 0.3])
        starts[beyond] = stops[beyond] = elements + 40
        stops = np.concatenate([stops, self.random.integers(0, 50, self.one_of([0, 0, 2]))])
        return contents.ListArray(index(starts.astype(dtype)), index(stops.astype(dtype)), self.layout(elements, depth - 1))

    def regular(self, n, _depth):
        """The content has no lists. If there were more lists than needed, Awkward's kernels would leave positions
        uninitialized when reducing across them, with and without upsweep. Then results would vary, and argmin and
        argmax would crash in Awkward's ListOffsetArray_reduce_nonlocal_nextshifts."""
        size = self.number(0, 3)
        return contents.RegularArray(self.layout(n * size, 0), size, n)

    def option(self, n, depth):
        kind = self.number(0, 3)
        content = self.layout(n + 1, depth)
        if kind == 0:
            return contents.UnmaskedArray.simplified(content)
        if kind == 1:
            mask = ak.index.Index8(self.random.integers(0, 2, n).astype(np.int8))
            return contents.ByteMaskedArray.simplified(mask, content, self.happens(0.5))
        if kind == 2:
            bits = ak.index.IndexU8(self.random.integers(0, 256, n // 8 + 1).astype(np.uint8))
            return contents.BitMaskedArray.simplified(bits, content, self.happens(0.5), n, self.happens(0.5))
        dtype, index = self.one_of([INDICES[0], INDICES[2]])
        return contents.IndexedOptionArray.simplified(index(self.random.integers(-2, n + 1, n).astype(dtype)), content)

    def indexed(self, n, depth):
        dtype, index = self.one_of(INDICES)
        positions = self.random.integers(0, n + 1, n).astype(dtype)
        return contents.IndexedArray.simplified(index(positions), self.layout(n + 1, depth))

    def record(self, n, depth):
        fields = ["x", "y", "z"][: self.number(0, 3)]
        columns = [self.layout(n + self.number(0, 1), depth) for _ in fields]
        return contents.RecordArray(columns, None if self.happens(0.3) else fields, length=n)

    def union(self, n, depth):
        tags = self.random.integers(0, 2, n).astype(np.int8)
        positions = np.empty(n, np.int64)
        for tag in (0, 1):
            positions[tags == tag] = np.arange(np.count_nonzero(tags == tag))
        each = [self.layout(n, depth), self.layout(n, self.number(0, depth))]
        return contents.UnionArray.simplified(ak.index.Index8(tags), ak.index.Index64(positions), each)

    def array(self):
        n = self.number(100, 300) if self.happens(0.05) else self.one_of([0, 1, 2, 3, 5, 8, 20])
        layout = self.layout(n, self.one_of([1, 1, 1, 2, 2, 3]))
        if self.happens(0.2) and layout.length > 2:
            layout = layout[1 : self.number(1, layout.length)]
        return ak.Array(layout)


def operations():
    """Returns names and operations on an array; each operation calls a module that has Awkward's functions."""
    made = []

    def named(name, *arguments, **options):
        made.append((f"{name} {arguments} {options}", lambda m, a: getattr(m, name)(a, *arguments, **options)))

    # For the same reason, argmin and argmax only run within lists, and not across them.
    for name in ("sum", "prod", "min", "max", "any", "all", "count", "count_nonzero", "argmin", "argmax"):
        for axis in (-1,) if name.startswith("arg") else (None, 0, 1, -1, 2):
            named(name, axis=axis)
            named(name, axis=axis, keepdims=True)
            named(name, axis=axis, mask_identity=name[0] != "m")
    for axis in (0, 1, -1):
        for name in ("sort", "argsort"):
            named(name, axis=axis)
            named(name, axis=axis, ascending=False)
        named("local_index", axis=axis)
        for n in (1, 2, 3) if axis else ():
            named("combinations", n, axis=axis)
            named("combinations", n, axis=axis, replacement=True)
    for axis in (None, 0, 1, -1, 2):
        named("flatten", axis=axis)
    made += [
        ("pack", lambda m, a: m.pack(a)),
        ("select its elements", lambda m, a: m.select(a, a < 3)),
        ("select some", lambda m, a: m.select(a, a > 1)),
        ("select by positions", lambda m, a: m.select(a, ak.argsort(a))),
        ("cartesian", lambda m, a: m.cartesian({"p": a, "q": a}, axis=1)),
        ("concatenate 0", lambda m, a: m.concatenate([a, a])),
        ("concatenate 1", lambda m, a: m.concatenate([a, a[::-1]], axis=1)),
        ("drop_none", lambda m, a: ak.drop_none(a)),
        ("fill_none", lambda m, a: ak.fill_none(a, 0)),
        ("firsts", lambda m, a: ak.firsts(a)),
        ("is_none", lambda m, a: ak.is_none(a, axis=-1)),
        ("mask", lambda m, a: ak.mask(a, a > 1)),
        ("mean", lambda m, a: ak.mean(a, axis=1)),
        ("num", lambda m, a: ak.num(a, axis=-1)),
        ("ravel", lambda m, a: ak.ravel(a)),
        ("to_regular", lambda m, a: ak.to_regular(a)),
        ("where", lambda m, a: ak.where(a > 0, a, 1)),
        ("pad_none and clip", lambda m, a: ak.pad_none(a, 3, axis=-1, clip=True)),
        ("by positions that may be missing", lambda m, a: a[ak.mask(ak.local_index(a, axis=1), a < 3)]),
        ("by argmax", lambda m, a: a[ak.argmax(a, axis=1, keepdims=True)]),
        ("first of lists", lambda m, a: a[:, 0]),
        ("twice", lambda m, a: a[np.repeat(np.arange(len(a)), 2)]),
    ]
    for where in (slice(None, 1), slice(1, None), slice(-2, None), slice(None, None, -1), slice(3, 1, -1)):
        made.append((f"[:, {where}]", lambda m, a, where=where: a[:, where]))
    return made


class Awkward:
    """Awkward's functions, and equivalents of upsweep's other functions."""

    def __getattr__(self, name):
        return {"pack": ak.to_packed, "select": lambda array, mask: array[mask]}.get(name) or getattr(ak, name)


def outcome(operation, module, array):
    """Returns the result's type and elements as text, or the error's type."""
    try:
        result = operation(module, array)
        return str(getattr(result, "type", type(result))), repr(ak.to_list(result))
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError, NotImplementedError, AssertionError) as error:
        return type(error).__name__, None


def check(seed, say):
    """Runs the operations of one seed; returns how many results were compared. Awkward has no kernels for lists of some
    types (KeyError). For example, it cannot sort lists of uint32 offsets, and upsweep's functions can."""
    layouts = Layouts(seed)
    array = layouts.array()
    compared = 0
    for _ in range(OPERATIONS):
        name, operation = layouts.one_of(OPERATIONS_BY_NAME)
        say(f"seed {seed}, {name}, of {array.type}")
        theirs = outcome(operation, Awkward(), array)
        with upsweep.awkward.kernels():
            assert outcome(operation, Awkward(), array) == theirs, f"registered: seed {seed}, {name}"
        ours = outcome(operation, upsweep.awkward, array)
        assert ours == theirs or theirs[0] == "KeyError", f"function: seed {seed}, {name}: {ours} is not {theirs}"
        compared += theirs[1] is not None
    return compared


OPERATIONS_BY_NAME = operations()


def main(first):
    """Runs in the child: its last line names the current operation."""
    warnings.simplefilter("ignore")
    compared = sum(check(seed, lambda at: os.write(1, f"{at}\n".encode())) for seed in range(first, first + SEEDS))
    os.write(1, json.dumps(compared).encode())


@pytest.mark.parametrize("first", [0, SEEDS])
def test_random_layouts(first):
    child = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, str(first)], capture_output=True, text=True, timeout=3600, check=False
    )
    at = child.stdout.splitlines()[-1] if child.stdout else "its start"
    assert child.returncode == 0, f"the child ended with {child.returncode} at {at}\n{child.stderr[-4000:]}"
    assert int(at) > SEEDS * OPERATIONS // 2


if __name__ == "__main__":
    main(int(sys.argv[1]))
