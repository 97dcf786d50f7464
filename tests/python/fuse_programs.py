# SPDX-License-Identifier: Apache-2.0
# tests/python/fuse_programs.py: random analyses for the tests of upsweep.awkward.fuse, and events for them.
"""A program is a list of integers, which hypothesis can shrink. Each one adds an array to those that there are."""

import random as of_python

import awkward as ak
import numpy as np

contents = ak.contents


def lists(counts, content):
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return contents.ListOffsetArray(ak.index.Index64(offsets.astype(np.int64)), content)


def particles(random, counts):
    n = int(counts.sum())
    weight = random.normal(0, 2, n)
    weight[random.random(n) < 0.1] = np.nan
    columns = {
        "pt": 10 + random.exponential(30, n),
        "eta": random.normal(0, 1.5, n).astype(np.float32),
        "w": weight,
        "n": random.integers(-3, 4, n).astype(np.int32),
        "k": random.integers(0, 200, n).astype(np.uint8),
        "flag": random.random(n) < 0.5,
    }
    return lists(counts, contents.RecordArray([contents.NumpyArray(x) for x in columns.values()], list(columns)))


def with_missing(random, content, share=0.3, first=0):
    """The content with missing values, in a layout that is drawn from kind `first` on."""
    n = content.length
    missing = random.random(n) < share
    kind = random.integers(first, 6)
    if kind == 0:
        return contents.UnmaskedArray(content)
    if kind == 1:
        packed = np.packbits(~missing, bitorder="little")
        return contents.BitMaskedArray(ak.index.IndexU8(packed), content, True, n, True)
    if kind == 2:
        return contents.ByteMaskedArray(ak.index.Index8(missing.view(np.int8)), content, False)
    if kind == 3:
        return contents.ByteMaskedArray(ak.index.Index8((~missing).view(np.int8)), content, True)
    order = random.permutation(n) if kind == 4 else np.cumsum(~missing) - 1
    index = np.where(missing, random.integers(-3, 0, n), order)
    return contents.IndexedOptionArray(ak.index.Index64(index.astype(np.int64)), content)


TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool"]


def numbers(random, n):
    dtype = np.dtype(random.choice(TYPES))
    if dtype.kind == "f":
        return contents.NumpyArray(random.normal(0, 9, n).astype(dtype))
    return contents.NumpyArray(random.integers(0 if dtype.kind in "bu" else -9, 2 if dtype.kind == "b" else 9, n).astype(dtype))


def special(random, n):
    """Numbers of any type: the smallest and largest ones, zeros, infinities and NaN among others."""
    dtype = np.dtype(random.choice(TYPES))
    if dtype.kind == "f":
        those = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny, 2.5]
    elif dtype.kind == "b":
        those = [False, True]
    else:
        those = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, 2, 7]
    return contents.NumpyArray(np.array(those, dtype)[random.integers(0, len(those), n)])


def one_long(random, count, longest):
    """Counts of lists of which one has `longest` elements."""
    counts = random.poisson(2, count)
    if count:
        counts[random.integers(0, count)] = longest
    return counts


def nested_with_missing(random, count):
    """Lists of lists of numbers. Lists, lists in lists and numbers are missing."""
    of_lists = random.poisson(2, count)
    inner = random.poisson(1.5, int(of_lists.sum()))
    innermost = lists(inner, with_missing(random, numbers(random, int(inner.sum()))))
    return ak.Array(with_missing(random, lists(of_lists, with_missing(random, innermost)), 0.1))


def jets_with_missing(random, count):
    """Lists of records. Records are missing. test_fuse_differences.py has what an UnmaskedArray would differ in."""
    made = particles(random, random.poisson(2, count))
    return ak.Array(contents.ListOffsetArray(made.offsets, with_missing(random, made.content, first=1)))


def missing_lists(random, count):
    """Lists of numbers. Lists are missing, and numbers may be missing."""
    counts = random.poisson(2, count)
    content = numbers(random, int(counts.sum()))
    if random.random() < 0.5:
        content = with_missing(random, content)
    return ak.Array(with_missing(random, lists(counts, content)))


def made_events(count, seed=0, longest=20):
    """Arrays of events. `longest` is the length of one list of "long"."""
    random = np.random.default_rng(seed)
    missing = random.random(count) < 0.3
    of_lists = random.poisson(2, count)
    inner = random.poisson(1.5, int(of_lists.sum()))
    elements = int(of_lists.sum())
    return {
        "jets": ak.Array(particles(random, random.poisson(2.5, count))),
        "muons": ak.Array(particles(random, random.poisson(1.2, count) * (random.random(count) < 0.8))),
        "met": ak.Array({"pt": random.exponential(30, count), "phi": random.uniform(-3, 3, count).astype(np.float32)}),
        "id": ak.Array(random.integers(-5, 6, count)),
        "opt": ak.Array(
            contents.ByteMaskedArray(
                ak.index.Index8(missing.view(np.int8)), contents.NumpyArray(random.normal(0, 9, count)), False
            )
        ),
        "nested": ak.Array(lists(of_lists, lists(inner, contents.NumpyArray(random.normal(0, 5, int(inner.sum())))))),
        "optlist": ak.Array(
            lists(
                of_lists,
                contents.IndexedOptionArray(
                    ak.index.Index64(np.where(random.random(elements) < 0.3, -1, np.arange(elements))),
                    contents.NumpyArray(random.integers(-9, 9, elements)),
                ),
            )
        ),
        "missing": missing_lists(random, count),
        "missing2": missing_lists(random, count),
        "optmet": ak.Array(
            with_missing(random, contents.RecordArray([numbers(random, count), numbers(random, count)], ["pt", "n"]))
        ),
        "number": ak.Array(numbers(random, count)),
        "regular": ak.Array(contents.RegularArray(numbers(random, 3 * count), 3, count)),
        "regular1": ak.Array(contents.RegularArray(numbers(random, count), 1, count)),
        "numpy": ak.Array(random.normal(0, 5, (count, 3))),
        "special": ak.Array(lists(few := random.poisson(2, count), special(random, int(few.sum())))),
        "special2": ak.Array(special(random, count)),
        "long": ak.Array(lists(many := one_long(random, count, longest), numbers(random, int(many.sum())))),
        "optjets": jets_with_missing(random, count),
        "optnested": nested_with_missing(random, count),
        "none": ak.Array(lists(np.zeros(count, np.int64), numbers(random, 0))),
    }


# Other layouts of the same arrays.
def as_list_array(x):
    layout = x.layout
    if not layout.is_list:
        return x
    return ak.Array(contents.ListArray(layout.starts, layout.stops, layout.content))


def indexed(x):
    order = ak.index.Index64(np.arange(len(x) - 1, -1, -1))
    back = ak.Array(contents.IndexedArray.simplified(order, x.layout))
    return ak.Array(contents.IndexedArray.simplified(order, ak.to_packed(back).layout))


def sliced(x):
    return ak.concatenate([x[:1], x, x[:1]])[1:-1] if len(x) else x


def small_offsets(x):
    layout = x.layout
    if not isinstance(layout, contents.ListOffsetArray):
        return x
    return ak.Array(contents.ListOffsetArray(ak.index.Index32(layout.offsets.data.astype(np.int32)), layout.content))


def filtered(x):
    twice = ak.concatenate([x, x])
    return twice[np.arange(len(twice)) >= len(x)]


def in_other_order(x):
    """Lists whose elements are in another order than the lists, with gaps between them."""
    layout = ak.to_packed(ak.concatenate([x, x]))[::-2].layout if len(x) else x.layout
    layout = layout.project() if layout.is_indexed and not layout.is_option else layout
    if not layout.is_list or layout.is_regular:
        return x
    back = np.arange(layout.length - 1, -1, -1)
    starts, stops = (np.asarray(each.data)[back] for each in (layout.starts, layout.stops))
    return ak.Array(contents.ListArray(ak.index.Index64(starts), ak.index.Index64(stops), layout.content))


def strided(x):
    """Every second element of columns."""

    def every_second(layout, **_):
        return contents.NumpyArray(np.repeat(layout.data, 2, axis=0)[::2]) if layout.is_numpy else None

    return ak.transform(every_second, x)


LAYOUTS = [lambda x: x, as_list_array, indexed, sliced, small_offsets, filtered, in_other_order, strided]

BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.true_divide, np.floor_divide, np.remainder, np.hypot,
          np.arctan2, np.copysign, np.fmod, np.fmax]  # fmt: skip
UNARY = [np.sin, np.cos, np.abs, lambda x: np.sqrt(np.abs(x)), lambda x: np.exp(-np.abs(x)), np.floor, np.negative, np.sign,
         np.square, lambda x: x * 2, lambda x: 1 - x, lambda x: x / 3, lambda x: x**2, lambda x: np.log1p(np.abs(x)), np.tanh,
         lambda x: x + np.float32(0.5), lambda x: x // 2, lambda x: x % 3, np.arcsinh, ak.nan_to_num]  # fmt: skip
COMPARE = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
REDUCE = [ak.sum, ak.min, ak.max, ak.count, ak.mean, ak.any, ak.all, ak.argmin, ak.argmax, ak.count_nonzero, ak.prod]
STEPS = 64


class Interpreter:
    """The arrays of a program by kind. A group is arrays with the same lists."""

    def __init__(self, events):
        self.group = 0
        self.records = []  # (records in lists, group)
        self.jagged = []  # (numbers in lists, group)
        self.masks = []  # (booleans in lists, group)
        self.flat = [events["met"].pt, events["met"].phi, events["id"], events["opt"]]
        self.flags = []
        self.nested = [events["nested"]]
        # (numbers, length of the lists)
        self.regular = [(events["regular"], 3), (events["regular1"], 1), (events["numpy"], 3)]
        self.missing = [events["missing"], events["missing2"]]
        self.optional = [events["optmet"]]  # records with "pt" and "n"
        self.flat.append(events["number"])
        self.flat.append(events["special2"])
        self.nested.append(events["optnested"])
        self.long = [events["long"]]  # lists of which one may be long. No step makes pairs of their elements
        self.results = []
        for name in ("jets", "muons", "optjets"):
            self.add_records(events[name])
        for name in ("optlist", "special", "none"):
            self.jagged.append((events[name], self.new_group()))

    def new_group(self):
        self.group += 1
        return self.group

    def add_records(self, x):
        group = self.new_group()
        self.records.append((x, group))
        self.jagged += [(x.pt, group), (x.n, group)]
        self.masks.append((x.flag, group))

    def of_group(self, pool, group, which):
        alike = [x for x, of in pool if of == group]
        return alike[which % len(alike)] if alike else None

    def step(self, code):
        step, a, b = code % STEPS, code // STEPS % 16, code // (STEPS * 16)
        records, group_of_records = self.records[a % len(self.records)]
        x, group = self.jagged[(a + b) % len(self.jagged)]
        y = self.of_group(self.jagged, group, b)
        z = self.flat[a % len(self.flat)]
        m, group_of_mask = self.masks[a % len(self.masks)]
        if step == 0:
            self.jagged.append((records[["pt", "eta", "w", "n", "k"][b % 5]], group_of_records))
        elif step == 1:
            self.jagged.append((BINARY[a % len(BINARY)](x, y), group))
        elif step == 2:
            self.jagged.append((UNARY[b % len(UNARY)](x), group))
        elif step == 3:
            self.masks.append((COMPARE[a % 6](x, [0, 1.5, y, 20][b % 4]), group))
        elif step == 4:
            n = self.of_group(self.masks, group_of_mask, b)
            self.masks.append(([m & n, m | n, ~m, m ^ n, np.logical_and(m, n)][b % 5], group_of_mask))
        elif step == 5:
            mask = self.of_group(self.masks, group_of_records, b)
            if mask is not None and len(self.records) < 6:
                self.add_records(records[mask])
        elif step == 6:
            mask = self.of_group(self.masks, group, b)
            if mask is not None:
                self.jagged.append((x[mask], self.new_group()))
        elif step == 7:
            p, q = ak.unzip(ak.combinations(records, 2, replacement=b % 3 == 0))
            new = self.new_group()
            self.jagged.append((p.pt + q.eta, new))
            self.masks.append((p.flag | q.flag, new))
        elif step == 8:
            t = ak.combinations(self.records[a % 2][0], 3, fields=["a", "b", "c"])
            self.jagged.append((t.a.pt * t.b.w - t.c.n, self.new_group()))
        elif step == 9:
            p, q = ak.unzip(ak.cartesian([self.records[a % 2][0], self.records[b % 2][0]], nested=True))
            self.masks.append((ak.any(np.abs(p.eta - q.eta) < 0.5, axis=2), self.records[a % 2][1]))
        elif step == 10:
            pairs = ak.cartesian({"p": x, "q": self.records[b % 2][0]})
            self.jagged.append((pairs.p * pairs.q.pt, self.new_group()))
        elif step == 11:
            self.flat.append(REDUCE[b % len(REDUCE)](x, axis=[1, -1][a % 2]))
        elif step == 12:
            index = [ak.argmin, ak.argmax][b % 2](records.pt, axis=1, keepdims=True)
            self.flat.append(ak.firsts(records[index].eta))
        elif step == 13:
            self.jagged.append((BINARY[b % len(BINARY)](x, z), group))
        elif step == 14:
            self.flat.append(BINARY[b % len(BINARY)](z, self.flat[b % len(self.flat)]))
        elif step == 15:
            self.flat.append(UNARY[b % len(UNARY)](z))
        elif step == 16:
            self.flags.append(ak.fill_none(COMPARE[b % 6](z, [0, 1.5, 20][b % 3]), False))
        elif step == 17 and self.flags:
            self.filter_events(self.flags[a % len(self.flags)])
        elif step == 18:
            self.flat.append([ak.fill_none(z, 0), ak.fill_none(z, 1.5), ak.is_none(z)][b % 3])
        elif step == 19:
            mask = self.of_group(self.masks, group, b)
            if mask is not None:
                self.jagged.append((ak.where(mask, x, [y, 0, 2.5][a % 3]), group))
        elif step == 20:
            if b % 2:
                self.jagged.append((ak.sort(records.pt, ascending=a % 2 == 0), group_of_records))
            else:
                order = ak.argsort(records.w, ascending=a % 2 == 0)
                self.jagged.append((records[order].pt, self.new_group()))
        elif step == 21:
            self.jagged.append(
                (x[:, [slice(2), slice(1, None), slice(-2, None), slice(1, -1), slice(0)][b % 5]], self.new_group())
            )
        elif step == 22:
            self.jagged.append((ak.pad_none(ak.to_packed(x), b % 4), self.new_group()))
        elif step == 23:
            mask = self.of_group(self.masks, group, b)
            if mask is not None:
                self.jagged.append((ak.mask(x, mask, valid_when=a % 2 == 0), group))
        elif step == 24:
            self.flat.append(ak.firsts(x))
        elif step == 25:
            other, _ = self.jagged[b % len(self.jagged)]
            self.jagged.append((ak.concatenate([x, other], axis=1), self.new_group()))
        elif step == 26:
            self.flat.append([ak.num(x), ak.num(records, axis=1), ak.count(x, axis=1)][b % 3])
        elif step == 27:
            self.results.append(ak.flatten(x, axis=[1, None][b % 2]))
        elif step == 28:
            self.jagged.append(([ak.ones_like(x), ak.zeros_like(x), ak.full_like(x, 3), ak.local_index(x)][b % 4], group))
        elif step == 29:
            self.jagged.append((ak.values_astype(x, [np.float32, np.float64, np.int64][b % 3] if a % 2 else np.float64), group))
        elif step == 30:
            self.results.append(ak.zip({"x": x, "y": y, "z": z}))
        elif step == 31:
            changed = ak.with_field(records, [records.pt * 2, z, 1][b % 3], ["pt", "new"][a % 2])
            self.results.append(changed[["pt", "eta"]])
        elif step == 32:
            # Without to_packed, Awkward takes other elements of a ListArray whose first list does not begin at 0.
            self.jagged.append((ak.drop_none(ak.to_packed(x), axis=1), self.new_group()))
        elif step == 33:
            nested = self.nested[a % len(self.nested)]
            made = [nested * 2, nested + z, nested[nested > 0], ak.sort(nested, axis=2)][b % 4]
            self.nested.append(made)
        elif step == 34:
            nested = self.nested[a % len(self.nested)]
            made = [ak.sum(nested, axis=2), ak.num(nested, axis=2), ak.flatten(nested, axis=2), ak.max(nested, axis=-1)][b % 4]
            self.jagged.append((made, self.new_group()))
        elif step == 35:
            kept = x[ak.num(x) > 0]
            self.results.append(
                [kept[:, 0], kept[:, -1], ak.singletons(ak.firsts(x)), x - ak.max(x, axis=1, keepdims=True)][b % 4]
            )

        elif step < 53:
            self.step_of_missing(step, a, b, x, z)
        elif step < 58:
            self.step_of_long_lists(step, a, b, x, z)
        else:
            self.step_of_choices(step, a, b, x, y, z)

    def step_of_missing(self, step, a, b, x, z):
        """Steps of lists that may be missing, and of records that may be missing."""
        y = self.missing[a % len(self.missing)]
        records = self.optional[b % len(self.optional)]
        if step == 36:
            many = ak.num(x) > b % 3
            self.missing.append(ak.mask(x, many, valid_when=a % 2 == 0))
        elif step == 37:
            self.missing.append([y * 2, y + z, y + y, y > 1, np.maximum(y, 1.5), ak.zeros_like(y)][b % 6])
        elif step == 38:
            reduced = REDUCE[b % len(REDUCE)](y, axis=[1, -1][a % 2], **({"mask_identity": True} if a % 3 else {}))
            self.flat.append(reduced)
        elif step == 39:
            self.missing.append([y[:, :2], y[:, 1:], y[y > 1], ak.sort(y), ak.local_index(y), ak.drop_none(y, axis=1)][b % 6])
        elif step == 40:
            # Without clip=True, Awkward reads memory beyond an array if all lists are missing.
            self.results.append(ak.pad_none(y, b % 4, clip=True))
        elif step == 41:
            self.flat.append([ak.num(y), ak.firsts(y), ak.is_none(y), ak.count(y, axis=1)][b % 4])
        elif step == 42:
            axis = [0, 1, -1, None][a % 4]
            made = [lambda: ak.fill_none(y, 1, axis=axis), lambda: ak.drop_none(y, axis=axis), lambda: ak.flatten(y, axis=[1, None][a % 2]),
                    lambda: ak.is_none(y, axis=[1, -1][a % 2])][b % 4]()  # fmt: skip
            self.results.append(made)
        elif step == 43:
            other = self.missing[b % len(self.missing)]
            made = [lambda: ak.where(ak.num(y) > 1, y, 0), lambda: ak.where(y > 1, y, 2), lambda: ak.mask(y, y > 0),
                    lambda: ak.concatenate([y, other], axis=1), lambda: ak.concatenate([y, y]), lambda: ak.zip({"x": y, "y": z}),
                    lambda: ak.combinations(y, 2), lambda: ak.singletons(ak.firsts(y)), lambda: ak.to_packed(y),
                    lambda: ak.unflatten(ak.flatten(x), ak.num(x)), lambda: ak.values_astype(y,
                    np.float32)][b % 11]()  # fmt: skip
            self.results.append(made)
        elif step == 44:
            made = [lambda: ak.with_field(records, z, "n"), lambda: ak.with_field(records, 1, "new")[["pt", "n"]],
                    lambda: records[ak.fill_none(records.n > 1, False)],
                    lambda: ak.zip({"pt": records.pt, "n": z})][a % 4]()  # fmt: skip
            (self.results if a % 4 == 2 else self.optional).append(made)
        elif step == 45:
            self.flat.append([records.pt, records.n * 2, ak.fill_none(records.pt, 0)][a % 3])

        elif step == 46:
            x, size = self.regular[a % len(self.regular)]
            y, other = self.regular[b % len(self.regular)]
            made = [x * 2, x + y, x > 1, ak.values_astype(x, np.float32), np.maximum(x, y), ak.sort(x, axis=1)][b % 6]
            self.regular.append((made, max(size, other) if b % 6 in (1, 4) else size))
        elif step == 47:
            x, _ = self.regular[a % len(self.regular)]
            self.flat.append(REDUCE[b % len(REDUCE)](x, axis=1) if a % 2 else x[:, b % 2 - 1])
        elif step == 48:
            x, size = self.regular[a % len(self.regular)]
            made = [lambda: x[ak.argmax(x, axis=1, keepdims=True)], lambda: ak.combinations(x, 2), lambda: ak.flatten(x),
                    lambda: ak.zip({"x": x, "y": x}), lambda: ak.num(x), lambda: ak.where(x > 0, x, 0), lambda: x[:, :2],
                    lambda: ak.mask(x, x > 0), lambda: ak.firsts(x)]  # fmt: skip
            self.results.append(made[b % len(made)]())
        elif step == 49:
            other, _ = self.jagged[b % len(self.jagged)]
            pairs = x[:, :, np.newaxis] - other[:, np.newaxis]
            self.results.append([pairs, ak.sum(pairs, axis=2), x[:, np.newaxis] * 2, z[:, np.newaxis] * x][a % 4])
        elif step == 50:
            nan = [ak.nansum, ak.nanmin, ak.nanmax, ak.nanmean, ak.nanstd, ak.nanprod][b % 6]
            self.flat.append(nan(x, axis=1)) if a % 2 else self.jagged.append(
                (ak.isclose(x, x * 1.5, atol=b / 4), self.new_group())
            )
        elif step == 51:
            number = [ak.sum, ak.max, ak.any, ak.count, ak.mean, ak.min, ak.all][b % 7](x, axis=None)
            self.results.append((number, x * 2))
        elif step == 52:
            nested = self.nested[a % len(self.nested)]
            many = ak.mask(nested, ak.num(nested, axis=2) > 1 if b % 2 else nested > 0)
            self.results.append([many, ak.sum(many, axis=2), ak.fill_none(many, 0, axis=[0, 1, 2, -1][b % 4])][a % 3])

    def step_of_long_lists(self, step, a, b, x, z):
        """Steps of lists of which one may be long, of unions, and of missing records in lists."""
        y = self.long[a % len(self.long)]
        records, _ = self.records[b % len(self.records)]
        if step == 53:
            made = [lambda: UNARY[(a + b) % len(UNARY)](y), lambda: BINARY[(a + b) % len(BINARY)](y, z), lambda: y[y > 1],
                    lambda: ak.sort(y, ascending=a % 2 == 0), lambda: y[ak.argsort(y)], lambda: y[:, 1:],
                    lambda: ak.concatenate([y, x], axis=1), lambda: ak.values_astype(y, np.float32),
                    lambda: ak.where(y > 2, y, z), lambda: y - ak.max(y, axis=1, keepdims=True),
                    lambda: y[ak.local_index(y) % 2 == 0], lambda: ak.mask(y, y > 0)][b % 12]()  # fmt: skip
            self.long.append(made)
        elif step == 54:
            self.flat.append(REDUCE[b % len(REDUCE)](y, axis=1) if a % 2 else [ak.num(y), ak.firsts(y)][b % 2])
        elif step == 55:
            made = [lambda: ak.flatten(y), lambda: ak.pad_none(y, 3, clip=True), lambda: ak.sum(y, axis=None),
                    lambda: ak.cartesian({"y": y, "pt": self.records[1][0].pt}), lambda: ak.zip({"y": y, "z": z}),
                    lambda: ak.fill_none(ak.mask(y, y > 0), 1),
                    lambda: ak.singletons(ak.firsts(y))][b % 7]()  # fmt: skip
            self.results.append(made)
        elif step == 56:
            joined = ak.concatenate([self.records[0][0][["pt", "eta"]], records[["pt", ["w", "n"][a % 2]]]], axis=1)
            self.jagged.append((joined.pt, self.new_group()))
            self.results.append([joined, ak.concatenate([x, self.masks[0][0]], axis=1)][b % 2])
        elif step == 57:
            made = [lambda: ak.drop_none(ak.to_packed(records), axis=1).pt, lambda: records[~ak.is_none(records, axis=1)].pt,
                    lambda: ak.is_none(records, axis=1), lambda: ak.firsts(records).pt, lambda: x[z > 1], lambda: records[z > 1],
                    lambda: ak.pad_none(ak.to_packed(records), 2, clip=True).pt,
                    lambda: ak.fill_none(records.pt, -1)][b % 8]()  # fmt: skip
            self.results.append(made)

    def step_of_choices(self, step, a, b, x, y, z):
        """Steps that choose among values that may be missing, and elements by lists that may be missing."""
        first, second = (self.flat[i % len(self.flat)] for i in (a + b, b))
        if step == 58:
            sides = [(first, second), (first, 1.5), (2, second), (first, first)][b % 4]
            self.flat.append(ak.where(z > 0, *sides))
        elif step == 59:
            # Lists of numbers, of which some are missing, and the same lists.
            w = ak.mask(y, y > a % 3, valid_when=b % 2 == 0)
            made = [lambda: ak.where(w > 1, x, y), lambda: ak.where(w > 1, w, 0), lambda: ak.where(x > 1, w, y),
                    lambda: ak.where(w > 1, x, w), lambda: ak.where(x > 1, 1, w)][b % 5]()  # fmt: skip
            self.results.append(made)
        elif step == 60:
            records, others = (self.optional[i % len(self.optional)] for i in (a, b))
            conditions = [z > 1, ak.is_none(z), records.n > 1]
            made = ak.where(conditions[a % 3], *((records, others) if b % 2 else (records.pt, 0)))
            self.results.append(made)
        elif step == 61:
            # Other lists, whose numbers of elements are equal except where they are missing.
            longer = ak.concatenate([x, [x, y][b % 2][:, : a % 2]], axis=1)
            w = ak.mask(longer, ak.num(longer) == ak.num(x))
            made = [lambda: x + w, lambda: x[w > 1], lambda: w[x > 1], lambda: ak.sum(x * w, axis=1), lambda: w[w > x],
                    lambda: x[ak.argmax(w, axis=1, keepdims=True)], lambda: ak.zip({"x": x, "w": w}),
                    lambda: x[ak.local_index(w)]][b % 8]()  # fmt: skip
            self.results.append(made)
        elif step == 62:
            nested = self.nested[a % len(self.nested)]
            closest = ak.argmin(nested, axis=2, keepdims=True)
            least = ak.argmin(x, axis=1, keepdims=True)[:, np.newaxis]
            made = [lambda: nested[closest], lambda: ak.firsts(nested[closest], axis=2), lambda: ak.flatten(closest, axis=-1),
                    lambda: nested[ak.argmax(nested > 0, axis=2, keepdims=True)],
                    lambda: ak.flatten(least == ak.local_index(x), axis=-1)][b % 5]()  # fmt: skip
            self.results.append(made)
        elif step == 63:
            records = self.records[a % len(self.records)][0]
            flags = self.masks[b % len(self.masks)][0]
            made = [lambda: ak.flatten(records, axis=-1).pt, lambda: ak.num(records, axis=-1),
                    lambda: ak.firsts(records, axis=-1), lambda: ak.local_index(records, axis=-1), lambda: ak.argmax(flags, axis=1),
                    lambda: ak.argmin(flags, axis=1), lambda: x[ak.argmax(flags, axis=1, keepdims=True)]]  # fmt: skip
            self.results.append(made[b % 7]())

    def filter_events(self, mask):
        self.records = [(x[mask], group) for x, group in self.records]
        self.jagged = [(x[mask], group) for x, group in self.jagged]
        self.masks = [(x[mask], group) for x, group in self.masks]
        self.flat = [x[mask] for x in self.flat]
        self.flags = []
        self.nested = [x[mask] for x in self.nested]
        self.regular = [(x[mask], size) for x, size in self.regular]
        self.missing = [x[mask] for x in self.missing]
        self.optional = [x[mask] for x in self.optional]
        self.long = [x[mask] for x in self.long]

    def outputs(self):
        last = [pool[-1][0] for pool in (self.jagged, self.masks)]
        return {"results": self.results[-2:], "last": last, "flat": tuple(self.flat[-2:]), "records": self.records[-1][0],
                "nested": self.nested[-1], "missing": self.missing[-1], "optional": self.optional[-1],
                "long": self.long[-1]}  # fmt: skip


def interpret(program, events):
    state = Interpreter(events)
    for code in program:
        state.step(code)
    return state.outputs()


def drawn(seed):
    """Returns the program of a seed, and its events in a layout that is also drawn."""
    numbers = of_python.Random(seed)
    program = [numbers.randrange(STEPS * 16 * 32) for _ in range(numbers.randint(1, 12))]
    # ak.num of small offsets is int32.
    layout = numbers.choice([x for x in LAYOUTS if x is not small_offsets])
    many = seed % 10 == 0
    count = numbers.choice([0, 1, 2, 40, 40, 40, 40, 1500 if many else 40])
    longest = int(10 ** numbers.uniform(0, 5 if many else 2))
    return program, {name: layout(array) for name, array in made_events(count, seed, longest).items()}


def equal(x, y, rtol):
    """Whether two layouts of one type have the same elements."""
    x, y = (z.project() if z.is_indexed and not z.is_option else z for z in (x, y))
    if x.length != y.length or x.parameters != y.parameters:
        return False
    if x.is_option:
        masks = [z.mask_as_bool(valid_when=True) for z in (x, y)]
        return np.array_equal(*masks) and equal(*(z.project() for z in (x, y)), rtol)
    if x.is_record:
        return all(equal(x.content(i), y.content(i), rtol) for i in range(len(x.contents)))
    if x.is_list:
        x, y = (z.to_ListOffsetArray64(True) for z in (x, y))
        return np.array_equal(x.offsets.data, y.offsets.data) and equal(*(z.content[: z.offsets[-1]] for z in (x, y)), rtol)
    if x.is_union:
        return repr(x.to_list()) == repr(y.to_list())  # NaN is not equal to itself
    if x.dtype.kind in "biu":
        return np.array_equal(x.data, y.data)
    return np.allclose(x.data, y.data, rtol=max(rtol, 1e-5) if x.dtype == np.float32 and rtol else rtol, atol=0, equal_nan=True)


def classes(layout, in_lists=False):
    """The classes of a layout as far as Awkward's functions differ by them. In lists, Awkward's ones depend on data."""
    kind = type(layout).__name__
    if layout.is_record:
        return [kind, *(classes(x, in_lists) for x in layout.contents)]
    if layout.is_option:
        return [kind, getattr(layout, "valid_when", None), classes(layout.content, in_lists)]
    if layout.is_indexed:
        seen = layout.content.is_record or (layout.content.is_list and not in_lists)
        return [kind, classes(layout.content, in_lists)] if seen else classes(layout.content, in_lists)
    if layout.is_list:
        return ["lists" if in_lists and not layout.is_regular else kind, classes(layout.content, True)]
    return None


def hidden(layout):
    """The lengths of the lists that a layout hides where values are missing. ak.where returns such lists."""
    if layout.is_record:
        return [hidden(layout.content(i)) for i in range(len(layout.contents))]
    if layout.is_option:
        found = None
        form = str(layout.content.form.type)
        if "var" in form and "union" not in form and layout.content.length:
            masked = layout.to_ByteMaskedArray(*[] if type(layout) is contents.BitMaskedArray else [True])
            found = ak.num(ak.Array(masked.content[: layout.length]), axis=-1).to_list()
        return [found, hidden(layout.project())]
    if layout.is_indexed:
        return hidden(layout.project())
    if layout.is_list:
        lists = layout.to_ListOffsetArray64(True)
        return hidden(lists.content[: lists.offsets[-1]])
    return None


def is_valid(tree):
    """Whether all arrays of a tree are valid. Some that Awkward's pad_none returns are not."""
    if isinstance(tree, dict):
        return all(map(is_valid, tree.values()))
    if isinstance(tree, list | tuple):
        return all(map(is_valid, tree))
    return not isinstance(tree, ak.Array) or ak.is_valid(tree)


def differences(expected, got, path="", rtol=1e-9):
    """Returns the differences between two trees of arrays."""
    if isinstance(expected, dict):
        assert list(expected) == list(got)
        return [each for name in expected for each in differences(expected[name], got[name], f"{path}.{name}", rtol)]
    if isinstance(expected, list | tuple):
        assert type(expected) is type(got) and len(expected) == len(got)
        return [each for i in range(len(got)) for each in differences(expected[i], got[i], f"{path}[{i}]", rtol)]
    if not isinstance(expected, ak.Array):
        alike = type(expected) is type(got) and np.array_equal(
            expected, got, equal_nan=isinstance(expected, float | np.floating)
        )
        return [] if alike else [f"{path}: {expected}, not {got}"]
    if str(expected.type) != str(got.type):
        return [f"{path}: {expected.type}, not {got.type}"]
    if not equal(expected.layout, got.layout, rtol):
        return [f"{path}: {expected.to_list()}\nnot {got.to_list()}"]
    layouts = [(classes(x.layout), hidden(x.layout)) for x in (expected, got)]
    return [f"{path}: {layouts[0]}\nnot {layouts[1]}"] if layouts[0] != layouts[1] else []
