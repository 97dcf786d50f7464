# SPDX-License-Identifier: Apache-2.0
# upsweep_report/groups.py: models of the rungs of group-by on a few rows: how they find equal keys and fold values.
#
# A hash is the key itself here, so that it is easy to follow: a partition or a slot is the key modulo their number.
# Groups are put in the order of their first rows, which tables store in addition to what is drawn.
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import groupby
from typing import Any, NamedTuple

from .machine import Cell, Machine, Operator, Trace, equal_shares


class Keyed(NamedTuple):
    """A cell with a key and the fold of its values so far, or with a row."""

    key: int
    value: Any

    def __str__(self) -> str:
        return f"{self.key}: {self.value}"


class _Entry(NamedTuple):
    """An input of a table: a row, or another table's fold of a key."""

    group: Keyed
    row: int  # its first row
    sources: tuple[Cell, ...]


class _Found(NamedTuple):
    """A group that is complete, and the thread that writes it."""

    thread: int
    cell: Cell
    group: Keyed
    row: int  # its first row


def _row(keys: list[int], x: list[Any], i: int) -> _Entry:
    return _Entry(Keyed(keys[i], x[i]), i, (("keys", i), ("x", i)))


def _put_in_order(machine: Machine, found: list[_Found]) -> Trace:
    """Runs the last steps of most rungs, and returns the trace."""
    ordered = sorted(each.row for each in found)
    with machine.step("every group sets the bit of its first row"):
        for each in found:
            machine.write(each.thread, ("begins", each.row), 1, each.cell)
    with machine.step("the number of bits that are set before that row is the group's place: no sort"):
        for each in found:
            machine.write(each.thread, ("groups", ordered.index(each.row)), each.group, each.cell, ("begins", each.row))
    return machine.trace("groups")


def _put_in_order_at_once(machine: Machine, found: list[_Found]) -> Trace:
    """Does the same as _put_in_order without an array of the bits, for models with many other arrays."""
    ordered = sorted(each.row for each in found)
    with machine.step("groups are put in the order of their first rows, by a bit for each row"):
        for each in found:
            machine.write(each.thread, ("groups", ordered.index(each.row)), each.group, each.cell)
    return machine.trace("groups")


def _machine(threads: int, keys: list[int], x: list[Any], **arrays: list[Any]) -> Machine:
    """A machine with the arrays that all models have: rows as input, and at the end bits of first rows and groups."""
    return Machine(threads, keys=keys, x=x, **arrays, begins=[0] * len(keys), groups=[None] * len(set(keys)))


# -------------------------------------------------------------------------------------------- tables of one thread each


class _Table:
    """A table that one thread at a time folds into: cells of an array starting at `first`, in the order of the keys' first rows."""

    def __init__(self, machine: Machine, op: Operator, array: str, first: int = 0):
        self._machine, self._op, self._array, self._first = machine, op, array, first
        self._rows: dict[int, int] = {}  # the first row of each key

    def __contains__(self, key: int) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def fold(self, thread: int, entry: _Entry) -> None:
        is_new = entry.group.key not in self._rows
        self._rows.setdefault(entry.group.key, entry.row)
        at = (self._array, self._first + list(self._rows).index(entry.group.key))
        if is_new:
            self._machine.write(thread, at, entry.group, *entry.sources)
        else:
            total = self._op(self._machine[at].value, entry.group.value)
            self._machine.write(thread, at, Keyed(entry.group.key, total), at, *entry.sources)

    def entries(self) -> list[_Entry]:
        cells = [(self._array, self._first + number) for number in range(len(self))]
        return [_Entry(self._machine[cell], row, (cell,)) for cell, row in zip(cells, self._rows.values(), strict=True)]


def map_one(keys: list[int], x: list[Any], op: Operator) -> Trace:
    """`cpu.serial`: one map, which numbers keys in the order of their first rows."""
    machine = Machine(1, keys=keys, x=x, groups=[None] * len(set(keys)))
    table = _Table(machine, op, "groups")
    for i, key in enumerate(keys):
        text = "is in the map: its value is added" if key in table else f"is new, and gets the next number, {len(table)}"
        with machine.step(f"key {key} {text}"):
            table.fold(0, _row(keys, x, i))
    return machine.trace("groups")


def map_stretches(keys: list[int], x: list[Any], op: Operator, threads: int = 3) -> Trace:
    """`cpu.thread_maps`: a table for each work unit of the rows; one thread merges them in the order of the rows."""
    work_units = equal_shares(len(keys), threads)
    capacity = max(len({keys[i] for i in work_unit}) for work_unit in work_units)
    machine = Machine(threads, keys=keys, x=x, tables=[None] * (threads * capacity), groups=[None] * len(set(keys)))
    tables = [_Table(machine, op, "tables", thread * capacity) for thread in range(threads)]
    for k in range(max(len(work_unit) for work_unit in work_units)):
        with machine.step("every thread folds its work unit into a separate table"):
            for thread, work_unit in enumerate(work_units):
                if k < len(work_unit):
                    tables[thread].fold(thread, _row(keys, x, work_unit[k]))
    merged = _Table(machine, op, "groups")
    for entry in (entry for table in tables for entry in table.entries()):
        with machine.step("one thread merges the tables, in the order of the rows"):
            merged.fold(0, entry)
    return machine.trace("groups")


def partition_rows(keys: list[int], x: list[Any], op: Operator) -> Trace:
    """`cpu.partitioned`: batches move their rows into partitions, and each partition has a table."""
    return _by_batches(keys, x, op, capacity=0)


def fold_then_partition(keys: list[int], x: list[Any], op: Operator) -> Trace:
    """`cpu.adaptive`: batches fold rows while their small tables have capacity for the keys; totals and other rows go into partitions.

    The rung's batches also have places for keys that are close to each other. They stop looking up keys if hardly any row's key is
    known.
    """
    return _by_batches(keys, x, op, capacity=2)


def _by_batches(keys: list[int], x: list[Any], op: Operator, capacity: int, threads: int = 2) -> Trace:
    """A batch of the rows for each thread, then a partition for each. `capacity` is the size of a batch's table; 0 means no table."""
    n = len(keys)
    batches = equal_shares(n, threads)
    own = {"of batches": [None] * (threads * capacity)} if capacity else {}
    machine = _machine(threads, keys, x, **own, entries=[None] * n, tables=[None] * len(set(keys)))
    tables = [_Table(machine, op, "of batches", thread * capacity) for thread in range(threads)]
    left = _fold_known(machine, tables, [[_row(keys, x, i) for i in batch] for batch in batches], capacity)
    entries = [[*table.entries(), *rest] for table, rest in zip(tables, left, strict=True)]
    shares = _to_partitions(machine, entries, [batch.start for batch in batches])
    found = _merge_partitions(machine, op, shares)
    return _put_in_order(machine, [each._replace(thread=_thread_of(each.row, batches)) for each in found])


def _thread_of(row: int, batches: list[range]) -> int:
    return next(thread for thread, batch in enumerate(batches) if row in batch)


def _fold_known(machine: Machine, tables: list[_Table], rows: list[list[_Entry]], capacity: int) -> list[list[_Entry]]:
    """Folds rows into the tables of their batches, if these contain the key or have capacity for it. Returns the other rows per batch."""
    left: list[list[_Entry]] = [[] for _ in rows]
    if capacity == 0:
        return rows
    for k in range(max(len(own) for own in rows)):
        with machine.step(
            f"every thread folds its batch: a row is left if its key is not in the table of {capacity} and the table is full"
        ):
            for thread, (table, own) in enumerate(zip(tables, rows, strict=True)):
                if k >= len(own):
                    continue
                if own[k].group.key in table or len(table) < capacity:
                    table.fold(thread, own[k])
                else:
                    left[thread].append(own[k])
    return left


def _to_partitions(machine: Machine, entries: list[list[_Entry]], begins: list[int]) -> list[list[_Entry]]:
    """Moves the entries of each batch into its range of the area, by partition. Returns the entries per partition, batch after batch."""
    partitions = len(entries)
    shares: list[list[_Entry]] = [[] for _ in range(partitions)]
    places: list[dict[int, int]] = []  # of a batch's entries
    for own, begin in zip(entries, begins, strict=True):
        order = sorted(range(len(own)), key=lambda e: own[e].group.key % partitions)
        places.append({e: begin + at for at, e in enumerate(order)})
        for e in order:
            shares[own[e].group.key % partitions].append(own[e]._replace(sources=(("entries", places[-1][e]),)))
    for k in range(max(len(own) for own in entries)):
        with machine.step(
            "every thread moves its batch's entries to its partitions, which are within the batch: even keys, then odd ones"
        ):
            for thread, own in enumerate(entries):
                if k < len(own):
                    machine.write(thread, ("entries", places[thread][k]), own[k].group, *own[k].sources)
    return shares


def _merge_partitions(machine: Machine, op: Operator, shares: list[list[_Entry]]) -> list[_Found]:
    """Merges each partition into a table; the tables are stored one after the other in the array `tables`."""
    sizes = [len({entry.group.key for entry in share}) for share in shares]
    tables = [_Table(machine, op, "tables", sum(sizes[:p])) for p in range(len(shares))]
    for k in range(max(len(share) for share in shares)):
        with machine.step("every thread takes a partition, and reads its share of each batch, in order, into one table"):
            for thread, share in enumerate(shares):
                if k < len(share):
                    tables[thread].fold(thread, share[k])
    return [
        _Found(thread, entry.sources[0], entry.group, entry.row)
        for thread, table in enumerate(tables)
        for entry in table.entries()
    ]


# ------------------------------------------------------------------------------------------------ keys that are places


def by_places(keys: list[int], x: list[Any], op: Operator, threads: int = 2) -> Trace:
    """`cpu.direct`: a total for each possible key between the minimum and the maximum."""
    work_units = [work_unit for work_unit in equal_shares(len(keys), threads) if work_unit]
    least, places = min(keys), max(keys) - min(keys) + 1
    machine = _machine(
        len(work_units), keys, x, range=[None] * (2 * len(work_units)), tables=[None] * (len(work_units) * places)
    )
    with machine.step("every thread finds the minimum and the maximum key of its work unit"):
        for thread, work_unit in enumerate(work_units):
            sources = [("keys", i) for i in work_unit]
            machine.write(thread, ("range", 2 * thread), min(keys[i] for i in work_unit), *sources)
            machine.write(thread, ("range", 2 * thread + 1), max(keys[i] for i in work_unit), *sources)
    for k in range(max(len(work_unit) for work_unit in work_units)):
        with machine.step(f"a key minus the minimum, {least}, is the place of its total in the work unit's table: no hash"):
            for thread, work_unit in enumerate(work_units):
                if k < len(work_unit):
                    i = work_unit[k]
                    _add_at(machine, op, thread, ("tables", thread * places + keys[i] - least), ("x", i), ("keys", i))
    _merge_ranges(machine, op, len(work_units), places)
    seen = [(place, thread) for thread, own in enumerate(equal_shares(places, len(work_units))) for place in own]
    return _put_in_order(
        machine,
        [
            _Found(thread, ("tables", place), Keyed(least + place, machine["tables", place]), keys.index(least + place))
            for place, thread in seen
            if machine["tables", place] is not None
        ],
    )


def _merge_ranges(machine: Machine, op: Operator, tables: int, places: int) -> None:
    """Merges all tables into the first, a range of the places per thread."""
    ranges = equal_shares(places, tables)
    for table in range(1, tables):
        for k in range(max(len(own) for own in ranges)):
            with machine.step("every thread merges a range of all tables into the first, in the order of the work units"):
                for thread, own in enumerate(ranges):
                    if k < len(own) and machine["tables", table * places + own[k]] is not None:
                        _add_at(machine, op, thread, ("tables", own[k]), ("tables", table * places + own[k]))


def _add_at(machine: Machine, op: Operator, thread: int, at: Cell, value: Cell, *sources: Cell) -> None:
    """Computes at ← at ⊕ value, or at ← value if `at` is empty; the other sources determine `at`."""
    if machine[at] is None:
        machine.write(thread, at, machine[value], *sources, value)
    else:
        machine.write(thread, at, op(machine[at], machine[value]), *sources, at, value)


# -------------------------------------------------------------------------------------------- equal keys side by side


def sort_positions(keys: list[int], x: list[Any], op: Operator, threads: int = 2) -> Trace:
    """`cpu.sorted`: positions sorted by their keys; a thread folds the runs that begin in its batch of positions."""
    n = len(keys)
    rows = sorted(range(n), key=lambda i: keys[i])
    batches = equal_shares(n, threads)
    machine = _machine(threads, keys, x, rows=[None] * n, runs=[None] * len(set(keys)))
    with machine.step("a stable sort of positions by their keys: the rows of a group are adjacent, in their order"):
        for thread, batch in enumerate(batches):
            for at in batch:
                machine.write(thread, ("rows", at), rows[at], ("keys", rows[at]))
    runs = _runs(rows, keys)
    owners = [_thread_of(run.start, batches) for run in runs]
    text = "every thread folds the runs that begin in its batch, the last one to its end; values are read at random positions"
    _fold_runs(machine, op, text, runs, owners, lambda at: (("rows", at), ("x", rows[at])))
    return _put_in_order(machine, [_found_run(machine, number, *each, rows) for number, each in enumerate(zip(owners, runs))])


def sort_by_digits(keys: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.sort`: keys and rows are sorted by the bits of keys, a few bits per pass; values are gathered in that order; runs are lists.

    There is a thread per run here. The rung folds lists in equal shares, for any lengths.
    """
    n = len(keys)
    bits = 2
    passes = [f"pass {number + 1}" for number in range(max(1, -(-max(keys).bit_length() // bits)))]
    none = {name: [None] * n for name in passes}
    machine = _machine(n, keys, x, **none, values=[None] * n, runs=[None] * len(set(keys)))
    rows = list(range(n))
    for number, name in enumerate(passes):
        order = sorted(range(n), key=lambda at, by=number * bits: keys[rows[at]] >> by & ((1 << bits) - 1))
        with machine.step(f"a stable pass by {bits} bits of the keys, the lowest first: each key moves with its row"):
            for to, at in enumerate(order):
                source = ("keys", at) if number == 0 else (passes[number - 1], at)
                machine.write(at, (name, to), Keyed(keys[rows[at]], rows[at]), source)
        rows = [rows[at] for at in order]
    with machine.step("values are gathered in that order"):
        for at, row in enumerate(rows):
            machine.write(at, ("values", at), x[row], (passes[-1], at), ("x", row))
    runs = _runs(rows, keys)
    owners = [run.start for run in runs]
    text = "runs of equal keys are lists, which are folded"
    _fold_runs(machine, op, text, runs, owners, lambda at: ((passes[-1], at), ("values", at)))
    return _put_in_order(machine, [_found_run(machine, number, *each, rows) for number, each in enumerate(zip(owners, runs))])


def _runs(rows: list[int], keys: list[int]) -> list[range]:
    """The places of equal keys, for rows in the order of their keys."""
    found = [list(places) for _, places in groupby(range(len(rows)), key=lambda at: keys[rows[at]])]
    return [range(places[0], places[-1] + 1) for places in found]


def _fold_runs(
    machine: Machine,
    op: Operator,
    text: str,
    runs: list[range],
    owners: list[int],
    cells: Callable[[int], tuple[Cell, Cell]],
) -> None:
    """Computes runs[r] ← the fold of run r, by its owner. `cells`: those of a place's key or row, and of its value."""
    work: dict[int, list[tuple[int, int]]] = {}
    for number, (run, owner) in enumerate(zip(runs, owners, strict=True)):
        work.setdefault(owner, []).extend((number, at) for at in run)
    for k in range(max(len(own) for own in work.values())):
        with machine.step(text):
            for owner, own in work.items():
                if k < len(own):
                    key_cell, value = cells(own[k][1])
                    _add_at(machine, op, owner, ("runs", own[k][0]), value, key_cell)


def _found_run(machine: Machine, number: int, owner: int, run: range, rows: list[int]) -> _Found:
    row = rows[run.start]
    return _Found(owner, ("runs", number), Keyed(machine["keys", row], machine["runs", number]), row)


# ----------------------------------------------------------------------------------------------- tables of many threads


class _Slots:
    """A hash table that threads fill by atomics: a range of cells of two arrays, of keys and of totals."""

    def __init__(self, keys: str, totals: str, cells: range):
        self.keys, self.totals, self.cells = keys, totals, cells
        self.first_rows: dict[int, int] = {}  # of the key in each cell

    def entries(self, machine: Machine) -> list[_Entry]:
        """An entry for each slot that has a key."""
        found = []
        for cell, row in sorted(self.first_rows.items()):
            key, total = (self.keys, cell), (self.totals, cell)
            found.append(_Entry(Keyed(machine[key], machine[total]), row, (key, total)))
        return found


_HASH = "a thread starts at the slot of its key's hash, here the key modulo the slots"
_TAKE = "an empty slot is taken by compare-and-swap"
_NEXT = "a thread that finds another key continues with the next slot"
_ADD = "a thread that finds its own key adds to its total"


class _Thread:
    """The entries that a thread must add, one after the other, and its search: in all slots of a table, then of the next table."""

    def __init__(self, work: list[_Entry], tables: list[_Slots]):
        self._work, self._tables = work, tables
        self._probes: int | None = None  # number of slots that it has examined; None: not started

    @property
    def is_busy(self) -> bool:
        return len(self._work) > 0

    def slot(self) -> tuple[_Slots, int]:
        probes, key = self._probes or 0, self._work[0].group.key
        for table in self._tables:
            if probes < len(table.cells):
                return table, table.cells[(key + probes) % len(table.cells)]
            probes -= len(table.cells)
        raise IndexError("all tables are full")

    def kind(self, machine: Machine) -> str:
        """The next action."""
        if self._probes is None:
            return _HASH
        table, cell = self.slot()
        held = machine[table.keys, cell]
        return _TAKE if held is None else _ADD if held == self._work[0].group.key else _NEXT

    def move(self, machine: Machine, op: Operator, number: int) -> None:
        kind, entry = self.kind(machine), self._work[0]
        table, cell = self.slot()
        *key, value = entry.sources
        if kind == _TAKE:
            machine.write(number, (table.keys, cell), entry.group.key, *key, ("at", number))
        elif kind == _ADD:
            _add_at(machine, op, number, (table.totals, cell), value, (table.keys, cell))
            table.first_rows[cell] = min(table.first_rows.get(cell, entry.row), entry.row)
            self._work, self._probes = self._work[1:], None
        else:
            self._probes = 0 if self._probes is None else self._probes + 1
            machine.write(number, ("at", number), self.slot()[1], *(key if kind == _HASH else [(table.keys, cell)]))


def _add_by_atomics(machine: Machine, op: Operator, threads: list[_Thread], text: str = "") -> None:
    """Runs steps until all threads are done. If several threads change a slot, all except one wait; which one is random, here the last."""
    while any(thread.is_busy for thread in threads):
        kinds = {number: thread.kind(machine) for number, thread in enumerate(threads) if thread.is_busy}
        changing = [number for number, kind in kinds.items() if kind in (_TAKE, _ADD)]
        last = {threads[number].slot(): number for number in changing}
        waiting = tuple(number for number in changing if last[threads[number].slot()] != number)
        said = [kind for kind in (_HASH, _TAKE, _NEXT, _ADD) if kind in kinds.values()]
        with machine.step(text + "; ".join(said + (["others wait for that slot"] if waiting else [])), waiting):
            for number in (number for number in kinds if number not in waiting):
                threads[number].move(machine, op, number)


def _found_slots(machine: Machine, table: _Slots) -> list[_Found]:
    found = enumerate(table.entries(machine))
    return [_Found(number % machine.threads, entry.sources[1], entry.group, entry.row) for number, entry in found]


def _capacity(keys: list[int]) -> int:
    """The number of slots of a table of all groups: 1.5 times the number of groups."""
    return len(set(keys)) * 3 // 2


def add_by_atomics(keys: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.hash`: one table, a thread for each row."""
    n, capacity = len(keys), _capacity(keys)
    machine = _machine(n, keys, x, at=[None] * n, slots=[None] * capacity, totals=[None] * capacity)
    table = _Slots("slots", "totals", range(capacity))
    _add_by_atomics(machine, op, [_Thread([_row(keys, x, i)], [table]) for i in range(n)])
    return _put_in_order(machine, _found_slots(machine, table))


_BLOCKS, _THREADS, _OWN = 2, 3, 3  # blocks, threads per block, and slots of a block's own table


def add_in_blocks(keys: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.shared`: a table for each block, which reads rows in strides; keys without a place there go to the global table."""
    threads = _BLOCKS * _THREADS
    machine = _machine_of_blocks(keys, x)
    return _empty_blocks(machine, keys, op, [[_row(keys, x, i) for i in range(t, len(keys), threads)] for t in range(threads)])


def add_partitions_in_blocks(keys: list[int], x: list[Any], op: Operator) -> Trace:
    """`cuda.partitioned`: rows are sorted by the partitions of their keys; each block folds a batch of them, which has few keys."""
    n = len(keys)
    rows = sorted(range(n), key=lambda i: keys[i] % 2)
    machine = _machine_of_blocks(keys, x, rows=[None] * n)
    with machine.step(
        "rows are sorted by the first bits of their hashes: here first those of even keys, then those of odd ones"
    ):
        for at, i in enumerate(rows):
            machine.write(at % machine.threads, ("rows", at), i, ("keys", i))
    work: list[list[_Entry]] = []
    for batch in equal_shares(n, _BLOCKS):
        entries = [
            _row(keys, x, rows[at])._replace(sources=(("rows", at), ("keys", rows[at]), ("x", rows[at]))) for at in batch
        ]
        work += [entries[thread::_THREADS] for thread in range(_THREADS)]
    return _empty_blocks(machine, keys, op, work)


def _machine_of_blocks(keys: list[int], x: list[Any], **arrays: list[Any]) -> Machine:
    threads, own, capacity = _BLOCKS * _THREADS, [None] * (_BLOCKS * _OWN), [None] * _capacity(keys)
    tables: dict[str, list[Any]] = {"own slots": own, "own totals": own, "slots": capacity, "totals": capacity}
    return Machine(threads, keys=keys, x=x, **arrays, at=[None] * threads, **tables, groups=[None] * len(set(keys)))


def _empty_blocks(machine: Machine, keys: list[int], op: Operator, work: list[list[_Entry]]) -> Trace:
    """Adds the work of all threads to their blocks' tables, or otherwise to the global table; then the blocks' tables to the global one."""
    everyone = _Slots("slots", "totals", range(_capacity(keys)))
    own = [_Slots("own slots", "own totals", range(b * _OWN, (b + 1) * _OWN)) for b in range(_BLOCKS)]
    _add_by_atomics(machine, op, [_Thread(each, [own[t // _THREADS], everyone]) for t, each in enumerate(work)])
    emptied = [entries[thread::_THREADS] for entries in (table.entries(machine) for table in own) for thread in range(_THREADS)]
    _add_by_atomics(machine, op, [_Thread(each, [everyone]) for each in emptied], "blocks add their tables to the global one: ")
    return _put_in_order_at_once(machine, _found_slots(machine, everyone))


def vote_and_take_turns(keys: list[int], x: list[Any], op: Operator, warps: int = 2, lanes: int = 4) -> Trace:
    """`cuda.adaptive`, for few groups: each warp has separate totals, and each block a shared table of keys.

    Lanes with the same key find each other by a vote, and add one after the other, without atomics. If all lanes of a warp have one
    key, the rung adds them as a tree. For many groups it first numbers the rows and sorts them by these numbers.
    """
    threads, groups = warps * lanes, len(set(keys))
    machine = Machine(
        threads,
        keys=keys,
        x=x,
        table=[None] * groups,
        at=[None] * threads,
        votes=[None] * (warps * groups),
        totals=[None] * (warps * groups),
        groups=[None] * groups,
    )
    numbers: dict[int, int] = {}
    for first in range(0, len(keys), threads):
        rows = list(range(first, min(first + threads, len(keys))))
        _find_places(machine, keys, rows, numbers)
        shared = [(warp, number) for warp in range(warps) for number in range(groups)]
        same = {
            (warp, number): [t for t, i in enumerate(rows) if t // lanes == warp and numbers[keys[i]] == number]
            for warp, number in shared
        }
        _vote(machine, [same[each] for each in shared], lanes, groups)
        _take_turns(machine, op, [same[each] for each in shared], first)
    with machine.step("the warps' totals of each group are added in their order; groups are in the order of their first rows"):
        for key, number in numbers.items():
            cells = [("totals", warp * groups + number) for warp in range(warps)]
            known = [cell for cell in cells if machine[cell] is not None]
            total = reduce(op, [machine[cell] for cell in known])
            machine.write(number % threads, ("groups", number), Keyed(key, total), ("table", number), *known)
    return machine.trace("groups")


def _find_places(machine: Machine, keys: list[int], rows: list[int], numbers: dict[int, int]) -> None:
    """Computes numbers ← the places of keys in the block's table; new keys get the next places."""
    new = {keys[i]: t for t, i in reversed(list(enumerate(rows))) if keys[i] not in numbers}
    if new:
        with machine.step("new keys get places in the table of the block, by compare-and-swap"):
            for key, t in sorted(new.items(), key=lambda each: each[1]):
                numbers[key] = len(numbers)
                machine.copy(t, ("table", numbers[key]), ("keys", rows[t]))
    with machine.step("every lane finds its key's place in the table"):
        for t, i in enumerate(rows):
            machine.write(t, ("at", t), numbers[keys[i]], ("keys", i), ("table", numbers[keys[i]]))


def _vote(machine: Machine, same: list[list[int]], lanes: int, groups: int) -> None:
    """Makes a word of bits for each warp and group. `same`: the threads that vote for each."""
    with machine.step("every lane sets its bit in its warp's word for this place, the first lane's at the right"):
        for word, voters in enumerate(same):
            bits = sum(1 << (t % lanes) for t in voters)
            t = voters[0] if voters else word // groups * lanes
            machine.write(t, ("votes", word), f"{bits:0{lanes}b}", *(("at", t) for t in voters))


def _take_turns(machine: Machine, op: Operator, same: list[list[int]], first: int) -> None:
    """Computes totals ← the totals so far and the threads' rows, of which the first one is `first`."""
    for turn in range(max(len(voters) for voters in same)):
        waiting = sorted(t for voters in same for t in voters[turn + 1 :])
        with machine.step("a lane adds after all lanes before it in the word: lanes with one key take turns", tuple(waiting)):
            for word, voters in enumerate(same):
                if turn < len(voters):
                    t = voters[turn]
                    _add_at(machine, op, t, ("totals", word), ("x", first + t), ("votes", word))
