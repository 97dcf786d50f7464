# SPDX-License-Identifier: Apache-2.0
# tests/python/plan_in_numpy.py: upsweep._plans written anew with NumPy, element by element, as an oracle of plans.
"""Builder has the methods of upsweep._plans.Builder. Its plan computes every node for all events at once, in the plainest way."""

import itertools

import numpy as np

NAMES = [
    "add",
    "subtract",
    "multiply",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "negative",
    "sign",
    "invert",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "copysign",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "sqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "arctan2",
    "hypot",
]
OPS = {
    "divide": np.true_divide,
    "absolute": np.absolute,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "unequal": np.not_equal,
    "is_nan": np.isnan,
    "is_infinite": np.isinf,
    "is_finite": np.isfinite,
    "sign_bit": np.signbit,
    "where": np.where,
    **{name: getattr(np, name) for name in NAMES},
}
TO_BOOLEANS = {
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "unequal",
    "is_nan",
    "is_infinite",
    "is_finite",
    "sign_bit",
}
ANY_TYPE = {"less", "less_equal", "greater", "greater_equal", "equal", "unequal", "where"}
OF_BOOLEANS = {"bit_and", "bit_or", "bit_xor", "invert"}
OF_NUMBERS = {"add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "power", "maximum", "minimum", "negative",
              "absolute", "sign"}  # fmt: skip
OF_INTEGERS = {"shift_left", "shift_right"}


class Domain:
    def __init__(self, n, parent=None, offsets=None, sources=()):
        self.n, self.parent, self.offsets, self.sources = n, parent, offsets, sources

    @property
    def parents(self):
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def ranges(self):
        return [range(a, b) for a, b in itertools.pairwise(self.offsets.tolist())]


def of_lists(parent, lists, *sources):
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    return Domain(int(offsets[-1]), parent, offsets, sources)


class Builder:
    def __init__(self):
        self.nodes, self.made, self.effects = [], {}, []
        self.types, self.of, self.parents_of, self.elements = {}, {}, {}, {}

    def _node(self, kind, *args):
        key = (kind, *[(type(x), repr(x)) for x in args])
        if key not in self.made:
            self.made[key] = len(self.nodes)
            self.nodes.append((kind, args))
        return self.made[key]

    def _domain(self, parent, kind, *args, elements=None):
        made = self._node(kind, *args)
        self.parents_of[made] = parent
        self.elements[made] = made if elements is None else self.elements[elements]
        return made

    def _value(self, dtype, domain, kind, *args):
        made = self._node(kind, *args)
        self.types[made], self.of[made] = dtype, domain
        return made

    def events(self):
        return self._domain(None, "events")

    def list(self, parent, column, offsets="int64"):
        return self._domain(parent, "list", parent, column)

    def regular(self, parent, size):
        return self._domain(parent, "regular", parent, size)

    def filter(self, domain, mask):
        assert self.types[mask] == "bool" and self.same_elements(self.of[mask], domain)
        return self._domain(self.parents_of[domain], "filter", domain, mask)

    def gather(self, lists, index):
        assert self.types[index] == "int32"
        return self._domain(self.of[index], "gather", lists, index)

    def combinations(self, lists, k, replacement=False):
        return self._domain(self.parents_of[lists], "combinations", lists, k, replacement)

    def product(self, a, b, nested):
        assert self.parents_of[a] == self.parents_of[b]
        return self._domain(a if nested else self.parents_of[a], "product", a, b, nested)

    def concatenation(self, lists):
        assert len({self.parents_of[x] for x in lists}) == 1
        return self._domain(self.parents_of[lists[0]], "concatenation", tuple(lists))

    def pad(self, lists, length):
        return self._domain(self.parents_of[lists], "pad", lists, length)

    def flatten(self, lists):
        return self._domain(self.parents_of[self.parents_of[lists]], "flatten", lists, elements=lists)

    def parent(self, domain):
        return self.parents_of[domain]

    def same_elements(self, a, b):
        return self.elements[a] == self.elements[b]

    def column(self, number, dtype, domain):
        return self._value(dtype, domain, "column", number, dtype, domain)

    def constant(self, number, dtype):
        return self._value(dtype, None, "constant", number, dtype)

    def parameter(self, number, dtype):
        return self._value(dtype, None, "parameter", number, dtype)

    def is_op(self, name):
        return name in OPS

    def is_defined(self, name, dtype):
        kind = np.dtype(dtype).kind
        if name in ANY_TYPE:
            return True
        if kind == "b":
            return name in OF_BOOLEANS
        if kind in "iu":
            return name in OF_BOOLEANS | OF_NUMBERS | OF_INTEGERS
        return name not in OF_BOOLEANS | OF_INTEGERS

    def map(self, op, args):
        types = [self.types[x] for x in args]
        assert len(set(types[1:] if op == "where" else types)) == 1, (op, types)
        assert op != "where" or types[0] == "bool"
        domains = {self.elements[self.of[x]] for x in args if self.of[x] is not None}
        assert len(domains) <= 1, op
        domain = next((self.of[x] for x in args if self.of[x] is not None), None)
        return self._value("bool" if op in TO_BOOLEANS else types[-1], domain, "map", op, tuple(args))

    def convert(self, x, dtype):
        return self._value(dtype, self.of[x], "convert", x, dtype)

    def fill(self, x, domain):
        assert self.of[x] is None
        return self._value(self.types[x], domain, "fill", x, domain)

    def take(self, x, index):
        assert self.types[index] == "int32" and self.of[x] is not None
        return self._value(self.types[x], self.of[index], "take", x, index)

    def lookup(self, column, dtype, index):
        assert np.dtype(self.types[index]).kind in "iu" and self.of[index] is not None
        return self._value(dtype, self.of[index], "lookup", column, dtype, index)

    def search(self, column, x, right):
        assert self.types[x] != "bool" and self.of[x] is not None
        return self._value("int64", self.of[x], "search", column, x, right)

    def positions(self, domain):
        return self._value("int32", domain, "positions", domain)

    def numbers(self, index, domain):
        return self._value("int64", self.of[index], "numbers", index, domain)

    def parents(self, lists):
        return self._value("int32", lists, "parents", lists)

    def starts(self, lists):
        return self._value("int32", self.parents_of[lists], "starts", lists)

    def counts(self, lists):
        return self._value("int32", self.parents_of[lists], "counts", lists)

    def source(self, domain, which=0):
        return self._value("int32", domain, "source", domain, which)

    def concatenate(self, domain, parts):
        assert len({self.types[x] for x in parts}) == 1
        return self._value(self.types[parts[0]], domain, "concatenate", domain, tuple(parts))

    def reduce(self, name, x, lists):
        assert self.of[x] is None or self.same_elements(self.of[x], lists)
        dtype = {"any": "bool", "all": "bool", "argmin": "int32", "argmax": "int32"}.get(name, self.types[x])
        if name in ("sum", "product"):
            dtype = {"b": "int64", "i": "int64", "u": "uint64"}.get(np.dtype(dtype).kind, dtype)
        return self._value(dtype, self.parents_of[lists], "reduce", name, x, lists)

    def argsort(self, x, lists, ascending):
        return self._value("int32", lists, "argsort", x, lists, ascending)

    def type(self, value):
        return self.types[value]

    def domain(self, value):
        return self.of[value]

    def output(self, value):
        assert self.of[value] is not None
        self.effects.append(("output", value, None))
        return sum(kind != "check" for kind, *_ in self.effects) - 1

    def output_offsets(self, lists):
        self.effects.append(("offsets", lists, None))
        return sum(kind != "check" for kind, *_ in self.effects) - 1

    def check(self, mask, message):
        assert self.types[mask] == "bool" and self.of[mask] is not None
        self.effects.append(("check", mask, message))

    def to_text(self):
        return "\n".join(f"{i}: {kind} {args}" for i, (kind, args) in enumerate(self.nodes))

    def compile(self):
        return Plan(self)


class Plan:
    def __init__(self, builder):
        self.nodes, self.effects, self.types = list(builder.nodes), list(builder.effects), dict(builder.types)
        self.text = builder.to_text()
        self.instructions = len(self.nodes)

    def to_text(self):
        return self.text

    def columns(self):
        found = set()
        for kind, args in self.nodes:
            if kind in ("column", "lookup", "search"):
                found.add(args[0])
            elif kind == "list":
                found.add(args[1])
        return sorted(found)

    def run(self, columns, parameters, events, threads=None):
        with np.errstate(all="ignore"):
            run = Run(self, columns, parameters, events)
            for kind, what, message in self.effects:
                if kind == "check" and not run.of(what).all():
                    return (message, 0)
            made = []
            for kind, what, _ in self.effects:
                if kind == "output":
                    made.append(np.ascontiguousarray(run.of(what)).astype(self.types[what]))
                elif kind == "offsets":
                    made.append(run.of(what).offsets.astype(np.int64))
            return made


class Run:
    def __init__(self, plan, columns, parameters, events):
        self.nodes, self.types, self.columns, self.parameters, self.count = plan.nodes, plan.types, columns, parameters, events
        self.done = {}

    def of(self, node):
        if node not in self.done:
            kind, args = self.nodes[node]
            self.done[node] = getattr(self, "do_" + kind)(*args)
        return self.done[node]

    def do_events(self):
        domain = Domain(self.count)
        domain.base = 0
        return domain

    def do_list(self, parent, column):
        above = self.of(parent)
        offsets = self.columns[column].astype(np.int64)[above.base : above.base + above.n + 1]
        made = Domain(int(offsets[-1] - offsets[0]), above, offsets - offsets[0])
        made.base = int(offsets[0])
        return made

    def do_regular(self, parent, size):
        above = self.of(parent)
        made = Domain(above.n * size, above, np.arange(above.n + 1) * size)
        made.base = getattr(above, "base", 0) * size
        return made

    def do_filter(self, domain, mask):
        d, keep = self.of(domain), self.of(mask)
        source = np.flatnonzero(keep)
        offsets = None if d.offsets is None else np.concatenate([[0], np.cumsum(keep)])[d.offsets].astype(np.int64)
        return Domain(len(source), d.parent, offsets, (source,))

    def do_gather(self, lists, index):
        d, index = self.of(lists), self.of(index)
        ranges = d.ranges()
        chosen = [ranges[i] if 0 <= i < len(ranges) else range(0) for i in index.tolist()]
        return of_lists(None, chosen, np.array([i for each in chosen for i in each], np.int64))

    def do_combinations(self, lists, k, replacement):
        choose = itertools.combinations_with_replacement if replacement else itertools.combinations
        chosen = [list(choose(each, k)) for each in self.of(lists).ranges()]
        tuples = np.array([t for each in chosen for t in each], np.int64).reshape(-1, k)
        return of_lists(None, chosen, *tuples.T)

    def do_product(self, a, b, nested):
        pairs = [[(i, j) for i in x for j in y] for x, y in zip(self.of(a).ranges(), self.of(b).ranges())]
        if nested:
            made = [[(i, j) for j in y] for x, y in zip(self.of(a).ranges(), self.of(b).ranges()) for i in x]
        else:
            made = pairs
        flat = np.array([t for each in pairs for t in each], np.int64).reshape(-1, 2)
        return of_lists(None, made, *flat.T)

    def do_concatenation(self, lists):
        each = [self.of(x).ranges() for x in lists]
        return of_lists(None, [[(k, i) for k, r in enumerate(row) for i in r] for row in zip(*each)],
                        [(k, i) for row in zip(*each) for k, r in enumerate(row) for i in r])  # fmt: skip

    def do_pad(self, lists, length):
        made = [[*each, *[-1] * (length - len(each))] for each in self.of(lists).ranges()]
        return of_lists(None, made, np.array([i for each in made for i in each], np.int64))

    def do_flatten(self, lists):
        d = self.of(lists)
        return Domain(d.n, None, d.offsets[self.of(self.parent_of(lists)).offsets])

    def parent_of(self, domain):
        kind, args = self.nodes[domain]
        if kind in ("list", "regular"):
            return args[0]
        if kind in ("filter", "combinations", "pad"):
            return self.parent_of(args[0])
        if kind == "concatenation":
            return self.parent_of(args[0][0])
        if kind == "product":
            return args[0] if args[2] else self.parent_of(args[0])
        if kind == "gather":
            return self.domain_of(args[1])
        if kind == "flatten":
            return self.parent_of(self.parent_of(args[0]))
        raise AssertionError(kind)

    def domain_of(self, value):
        kind, args = self.nodes[value]
        if kind == "column":
            return args[2]
        if kind in ("fill", "take", "numbers"):
            return args[1] if kind == "fill" else self.domain_of(args[kind == "take"])
        if kind in ("lookup", "search"):
            return self.domain_of(args[2 if kind == "lookup" else 1])
        if kind in ("positions", "parents", "source", "concatenate"):
            return args[0]
        if kind in ("starts", "counts"):
            return self.parent_of(args[0])
        if kind == "reduce":
            return self.parent_of(args[2])
        if kind == "argsort":
            return args[1]
        if kind == "convert":
            return self.domain_of(args[0])
        if kind == "map":
            return next(d for d in map(self.domain_of, args[1]) if d is not None)
        return None

    def do_column(self, number, dtype, domain):
        d = self.of(domain)
        return self.columns[number][d.base : d.base + d.n]

    def do_lookup(self, column, dtype, index):
        table = self.columns[column]
        assert table.dtype == dtype
        return table[np.clip(self.of(index), 0, len(table) - 1)]

    def do_search(self, column, x, right):
        return np.searchsorted(self.columns[column], self.of(x), "right" if right else "left").astype(np.int64)

    def do_constant(self, number, dtype):
        return np.dtype(dtype).type(number)

    def do_parameter(self, number, dtype):
        return np.dtype(dtype).type(self.parameters[number][0])

    def do_map(self, op, args):
        return OPS[op](*[self.of(x) for x in args])

    def do_convert(self, x, dtype):
        return self.of(x).astype(dtype)

    def do_fill(self, x, domain):
        return np.full(self.of(domain).n, self.of(x))

    def do_take(self, x, index):
        x, index = self.of(x), self.of(index)
        if len(x) == 0:
            return np.zeros(len(index), x.dtype)
        return x[np.clip(index, 0, len(x) - 1)]

    def do_positions(self, domain):
        return np.arange(self.of(domain).n, dtype=np.int32)

    def do_numbers(self, index, domain):
        index = self.of(index).astype(np.int64)
        return np.where(index < 0, -1, index + self.of(domain).base)

    def do_parents(self, lists):
        return self.of(lists).parents.astype(np.int32)

    def do_starts(self, lists):
        return self.of(lists).offsets[:-1].astype(np.int32)

    def do_counts(self, lists):
        return np.diff(self.of(lists).offsets).astype(np.int32)

    def do_source(self, domain, which):
        return self.of(domain).sources[which].astype(np.int32)

    def do_concatenate(self, domain, parts):
        values = [self.of(x) for x in parts]
        return np.array(
            [values[k][i] if np.ndim(values[k]) else values[k] for k, i in self.of(domain).sources[0]], values[0].dtype
        )

    def do_reduce(self, name, x, lists):
        x, d = self.of(x), self.of(lists)
        return np.array([reduced(name, x[each.start : each.stop], each.start) for each in d.ranges()]) if d.offsets.size > 1 else np.zeros(
            0, np.int64)  # fmt: skip

    def do_argsort(self, x, lists, ascending):
        x, made = self.of(x), []
        for each in self.of(lists).ranges():
            items = x[each.start : each.stop]
            missing = [i for i in range(len(items)) if np.isnan(items[i])]
            there = [i for i in range(len(items)) if not np.isnan(items[i])]
            made += [each.start + i for i in missing + sorted(there, key=lambda i: items[i] if ascending else -items[i])]
        return np.array(made, np.int32)


def reduced(name, x, start):
    kind = x.dtype.kind
    if name in ("any", "all"):
        return getattr(np, name)(x != 0)
    if name in ("sum", "product"):
        total = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(kind, x.dtype.type)(name == "product")
        for each in x:
            total = total + total.dtype.type(each) if name == "sum" else total * total.dtype.type(each)
        return total
    there = x[~np.isnan(x)] if kind == "f" else x
    least = name in ("minimum", "argmin")
    if name in ("minimum", "maximum"):
        if len(there):
            return there.min() if least else there.max()
        if kind == "f":
            return x.dtype.type(np.inf if least else -np.inf)
        return getattr(np.iinfo(x.dtype), "max" if least else "min")
    if len(x) == 0:
        return -1
    if np.isnan(x[0]) or len(there) == 0:
        return start
    best = there.min() if least else there.max()
    return start + int(np.flatnonzero(x == best)[0])
