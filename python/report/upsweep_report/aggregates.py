# SPDX-License-Identifier: Apache-2.0
# upsweep_report/aggregates.py: models of the rungs of filtered-sum, which read columns, on a few rows.
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .folds import sum_blocks
from .machine import Cell, Machine, Operator, Trace, Worker


class Rows(NamedTuple):
    """The columns. A row is kept if its key is less than the limit; it then contributes quantity times price."""

    key: list[int]
    quantity: list[int]
    price: list[int]
    limit: int

    def machine(self, threads: int, **arrays: list[Any]) -> Machine:
        return Machine(threads, key=self.key, quantity=self.quantity, price=self.price, **arrays)

    def is_kept(self, i: int) -> bool:
        return self.key[i] < self.limit

    def product(self, i: int) -> int:
        return self.quantity[i] * self.price[i]


def _payload(i: int) -> tuple[Cell, Cell]:
    return ("quantity", i), ("price", i)


# ------------------------------------------------------------------------------------------------------------- on a CPU


def rows_one(rows: Rows) -> Trace:
    """`cpu.serial`: row after row; the payload of kept rows is read immediately."""
    machine = rows.machine(1, kept=[None], sum=[0])
    for i in range(len(rows.key)):
        with machine.step(
            f"row {i} " + ("is kept: its product is added" if rows.is_kept(i) else "is not kept: only its key is read")
        ):
            _test_and_add(machine, rows, 0, i, ("sum", 0))
    return machine.trace("sum")


def _test_and_add(machine: Machine, rows: Rows, thread: int, i: int, total: Cell) -> None:
    machine.write(thread, ("kept", thread), int(rows.is_kept(i)), ("key", i))
    if rows.is_kept(i):
        machine.write(thread, total, machine[total] + rows.product(i), total, ("key", i), *_payload(i))


def rows_threads(rows: Rows, threads: int = 2, block: int = 3) -> Trace:
    """`cpu.threads`: threads take one block after the other, add its rows one by one, and add the block's sum to the total."""
    machine = rows.machine(threads, kept=[None] * threads, partial=[0] * threads, sum=[0])

    def work(thread: int) -> Iterator[str | None]:
        for own in _blocks(len(rows.key), block)[thread::threads]:
            machine.write(thread, ("partial", thread), 0)
            yield "a thread takes the next block"
            for i in own:
                _test_and_add(machine, rows, thread, i, ("partial", thread))
                yield "it continues with its block's next row, whose product it adds if the row is kept"
            yield from _add_partial(machine, thread)

    machine.run(Worker((thread,), work(thread)) for thread in range(threads))
    return machine.trace("sum")


def _blocks(n: int, block: int) -> list[range]:
    return [range(first, min(first + block, n)) for first in range(0, n, block)]


def _add_partial(machine: Machine, thread: int) -> Iterator[str | None]:
    while machine.is_written(("sum", 0)):
        yield None
    machine.fold(thread, ("sum", 0), int.__add__, ("sum", 0), ("partial", thread))
    yield "at the end of its block it adds its sum to the total, by an atomic addition"


def rows_noted(rows: Rows, threads: int = 2, block: int = 8, chunk: int = 4, many: int = 2) -> Trace:
    """`cpu.predicate_first`: keys first, by vectors; kept rows are noted, and added a chunk later, when their payload has arrived.

    If more than `many` rows of a chunk are kept, all of the chunk is read in order, and also the next chunk.
    """
    noted = [None] * (threads * 2 * chunk)
    machine = rows.machine(threads, kept=[None] * threads, noted=noted, partial=[0] * threads, sum=[0])

    def work(thread: int) -> Iterator[str | None]:
        for own in _blocks(len(rows.key), block)[thread::threads]:
            machine.write(thread, ("partial", thread), 0)
            yield "a thread takes the next block"
            yield from _sum_block(
                machine, rows, thread, [own[first : first + chunk] for first in range(0, len(own), chunk)], many
            )
            yield from _add_partial(machine, thread)

    machine.run(Worker((thread,), work(thread)) for thread in range(threads))
    return machine.trace("sum")


def _sum_block(machine: Machine, rows: Rows, thread: int, chunks: list[range], many: int) -> Iterator[str | None]:
    partial = ("partial", thread)
    capacity = len(machine.cells("noted")) // (2 * machine.threads)
    noted: tuple[list[int], list[int]] = ([], [])  # of two chunks in turn
    now, reads_all = 0, False

    def cells(which: int) -> range:
        return range((2 * thread + which) * capacity, (2 * thread + which + 1) * capacity)

    def add_noted(which: int) -> Iterator[str | None]:
        if noted[which]:
            read = [cell for at, i in zip(cells(which), noted[which]) for cell in (("noted", at), *_payload(i))]
            machine.write(thread, partial, machine[partial] + sum(map(rows.product, noted[which])), partial, *read)
            yield "the payload of rows that were noted before has arrived meanwhile: it is added"
        noted[which].clear()

    for chunk in chunks:
        kept = [i for i in chunk if rows.is_kept(i)]
        if not reads_all:
            bits = "".join(str(int(rows.is_kept(i))) for i in reversed(chunk))
            machine.write(thread, ("kept", thread), bits, *(("key", i) for i in chunk))
            reads_all = len(kept) > many
            if not reads_all:
                for at, i in zip(cells(now), kept):
                    machine.write(thread, ("noted", at), i, ("key", i))
                noted[now].extend(kept)
                yield "a vector of keys is compared; kept rows are noted, and their payload is requested"
                now = 1 - now
                yield from add_noted(now)
                continue
            yield "a vector of keys is compared: many are kept"
        read = [cell for i in chunk for cell in (("key", i), *_payload(i))]
        machine.write(thread, partial, machine[partial] + sum(map(rows.product, kept)), partial, *read)
        yield "if many are kept, all columns are read in order, and products of other rows are masked out"
        reads_all = len(kept) > many
    yield from add_noted(0)
    yield from add_noted(1)


# ------------------------------------------------------------------------------------------------------------- on a GPU


def products(keys: list[int], values: list[int], limit: int, of: Callable[[int], int]) -> Trace:
    """`cuda.select` of filtered-sum: a thread per row writes the product of each kept row; the host adds up all of them."""
    n = len(keys)
    machine = Machine(n, key=keys, value=values, product=[None] * n, sum=[0])
    with machine.step(f"every thread writes its row's product, or 0 if its key is not less than {limit}"):
        for i in range(n):
            machine.write(i, ("product", i), of(values[i]) if keys[i] < limit else 0, ("key", i), ("value", i))
    for i in range(n):
        with machine.step("the host adds up the products, one after the other"):
            machine.fold(0, ("sum", 0), int.__add__, ("sum", 0), ("product", i))
    return machine.trace("sum")


def reduce_again(x: list[Any], op: Operator, threads: int = 2) -> Trace:
    """`cuda.reduce_again`: a tree in each block, and a second launch of the same tree over the blocks' sums. `x`: the rows' products."""
    blocks = -(-len(x) // (2 * threads))
    again = -(-blocks // (2 * threads))
    machine = Machine(
        blocks * threads,
        product=x,
        shared=[None] * (blocks * threads),
        sums=[None] * blocks,
        **{"sums again": [None] * again},
        sum=[None],
    )
    sum_blocks(machine, op, ("product", "sums"), list(range(blocks)), threads, "first launch: ")
    sum_blocks(machine, op, ("sums", "sums again"), list(range(again)), threads, "second launch, over the first one's sums: ")
    _add_on_host(machine, op, "sums again")
    return machine.trace("sum")


def _add_on_host(machine: Machine, op: Operator, sums: str) -> None:
    for block in range(len(machine.cells(sums))):
        with machine.step("the host adds up the remaining sums, one after the other"):
            if block == 0:
                machine.copy(0, ("sum", 0), (sums, 0))
            else:
                machine.fold(0, ("sum", 0), op, ("sum", 0), (sums, block))


_WAYS = ((4, False), (4, True), (2, False), (2, True), (6, False), (6, True))  # threads per block; bound on registers


def occupancy(x: list[Any], op: Operator, places: int = 8, registers: int = 48, each: int = 8) -> Trace:
    """`cuda.occupancy`: the kernel of `cuda.two_loads`, with the block size for which a multiprocessor holds most threads.

    The multiprocessor has `places` for threads, and `registers`, of which a thread uses `each`. With a bound on registers a thread
    uses a number that allows all places to be filled. There is one multiprocessor here. `x`: the rows' products.
    """
    fits = [_threads_that_fit(threads, is_bound, places, registers, each) for threads, is_bound in _WAYS]
    best = fits.index(max(fits))
    threads = _WAYS[best][0]
    blocks, resident = -(-len(x) // (2 * threads)), fits[best] // threads
    sizes = [f"{threads}{'b' if is_bound else ''}" for threads, is_bound in _WAYS]
    machine = Machine(
        min(blocks, resident) * threads,
        block=sizes,
        fit=[None] * len(_WAYS),
        product=x,
        shared=[None] * (min(blocks, resident) * threads),
        sums=[None] * blocks,
        sum=[None],
    )
    with machine.step(
        f"the host asks how many threads of each block size fit, of {places} (b: with a bound on registers); of those with the most threads {sizes[best]} is the first"
    ):
        for way, fit in enumerate(fits):
            machine.write(0, ("fit", way), fit, ("block", way))
    for first in range(0, blocks, resident):
        text = "blocks that had no place before: " if first > 0 else f"blocks of {threads} threads, {resident} at a time: "
        sum_blocks(machine, op, ("product", "sums"), list(range(first, min(first + resident, blocks))), threads, text)
    _add_on_host(machine, op, "sums")
    return machine.trace("sum")


def _threads_that_fit(threads: int, is_bound: bool, places: int, registers: int, each: int) -> int:
    if is_bound:
        each = min(each, registers // (places // threads * threads))
    return min(places // threads, registers // (each * threads)) * threads


class _Payload(NamedTuple):
    quantity: int
    price: int

    def __str__(self) -> str:
        return f"{self.quantity}·{self.price}"


def fused(rows: Rows, blocks: int = 2, lanes: int = 2, each: int = 2, many: int = 3, over_link: bool = False) -> Trace:
    """`cuda.fused`: loads several keys at a time, those of the next tile ahead; kept rows queue until there is one for each lane.

    With `over_link` it is `cuda.zero_copy`: the same kernel with columns in host memory, so that every load crosses the link. A block
    is a warp here, and a tile is a tile.
    """
    tile_count = len(rows.key) // (lanes * each)
    model = _Fused(rows, max(1, min(blocks, tile_count)), lanes, each, many, over_link)
    own = [tuple(range(block * lanes, (block + 1) * lanes)) for block in range(model.blocks)]
    model.machine.run(Worker(threads, model.work(block)) for block, threads in enumerate(own))
    return model.machine.trace("out")


class _Fused:
    def __init__(self, rows: Rows, blocks: int, lanes: int, each: int, many: int, over_link: bool):
        self.rows, self.blocks, self.lanes, self.each, self.many = rows, blocks, lanes, each, many
        self.capacity = lanes + many - 1  # of a queue: less than `lanes` waiting and less than `many` new rows
        self.source = " over the link" if over_link else ""
        threads = blocks * lanes
        self.machine = rows.machine(
            threads,
            keys=[None] * (threads * 2 * each),  # of the current tile, and of the next one
            kept=[None] * blocks,
            queue=[None] * (blocks * self.capacity),
            payload=[None] * threads,
            sum=[0] * threads,
            sums=[None] * blocks,
            done=[0],
            out=[None],
        )

    def thread(self, block: int, lane: int) -> int:
        return block * self.lanes + lane

    def work(self, block: int) -> Iterator[str | None]:
        tile_rows = self.lanes * self.each
        tile_count = len(self.rows.key) // tile_rows
        tiles = range(block, tile_count, self.blocks)
        if tiles:
            self.load(block, tiles[0] * tile_rows, 0)
            yield f"every lane loads {self.each} keys at once{self.source}"
        if block == self.blocks - 1 and tile_count * tile_rows < len(self.rows.key):
            yield from self.add_rest(block, range(tile_count * tile_rows, len(self.rows.key)))
        waiting: list[int] = []  # rows in the warp's queue
        for turn, tile in enumerate(tiles):
            if tile + self.blocks < tile_count:
                self.load(block, (tile + self.blocks) * tile_rows, turn + 1)
                yield f"the keys of the next tile are requested{self.source}, before those of this one are tested"
            yield from self.test(block, range(tile * tile_rows, (tile + 1) * tile_rows), turn, waiting)
        if waiting:
            yield from self.take(block, waiting)
        yield from self.add_payload(block)
        yield from self.fold(block)
        yield from self.publish(block)

    def key_cells(self, block: int, turn: int) -> list[int]:
        """The cells of the keys of a tile. Keys of the current and the next tile alternate between two places."""
        threads = [self.thread(block, lane) for lane in range(self.lanes)]
        return [(2 * thread + turn % 2) * self.each + k for thread in threads for k in range(self.each)]

    def load(self, block: int, first: int, turn: int) -> None:
        for k, cell in enumerate(self.key_cells(block, turn)):
            self.machine.copy(self.thread(block, k // self.each), ("keys", cell), ("key", first + k))

    def add_rest(self, block: int, rest: range) -> Iterator[str | None]:
        for first in range(0, len(rest), self.lanes):
            for lane, i in enumerate(rest[first : first + self.lanes]):
                thread = self.thread(block, lane)
                total = self.machine["sum", thread] + (self.rows.product(i) if self.rows.is_kept(i) else 0)
                self.machine.write(thread, ("sum", thread), total, ("sum", thread), ("key", i), *_payload(i))
            yield "rows that do not fill a tile are added one by one"

    def test(self, block: int, tile_rows: range, turn: int, waiting: list[int]) -> Iterator[str | None]:
        bits = "".join(str(int(self.rows.is_kept(i))) for i in reversed(tile_rows))
        keys = [("keys", cell) for cell in self.key_cells(block, turn)]
        self.machine.write(self.thread(block, 0), ("kept", block), bits, *keys)
        yield "a vote of the warp: which rows of the tile are kept, the first one at the right"
        kept = [i for k in range(self.each) for i in tile_rows[k :: self.each] if self.rows.is_kept(i)]
        if len(kept) >= self.many:
            yield from self.stream(block, tile_rows)
        elif kept:
            for at, i in enumerate(kept, block * self.capacity + len(waiting)):
                thread = self.thread(block, (i - tile_rows.start) // self.each)
                self.machine.write(thread, ("queue", at), i, ("kept", block))
            waiting.extend(kept)
            yield "few are kept: their numbers are appended to the warp's queue"
            if len(waiting) >= self.lanes:
                yield from self.take(block, waiting)

    def stream(self, block: int, tile_rows: range) -> Iterator[str | None]:
        for lane in range(self.lanes):
            thread = self.thread(block, lane)
            own = [i for i in tile_rows[lane :: self.lanes] if self.rows.is_kept(i)]
            if own:
                total = self.machine["sum", thread] + sum(map(self.rows.product, own))
                read = [cell for i in own for cell in _payload(i)]
                self.machine.write(thread, ("sum", thread), total, ("sum", thread), ("kept", block), *read)
        yield f"many are kept: their payload is read in order{self.source}, by adjacent lanes"

    def take(self, block: int, waiting: list[int]) -> Iterator[str | None]:
        """Each lane takes one row, as long as there are any; the remaining rows move to the front."""
        taken = waiting[: self.lanes]
        for lane, i in enumerate(taken):
            thread = self.thread(block, lane)
            self.add_loaded(thread)
            payload = _Payload(self.rows.quantity[i], self.rows.price[i])
            self.machine.write(thread, ("payload", thread), payload, ("queue", block * self.capacity + lane), *_payload(i))
        yield f"a row for each lane: it adds the payload that it requested before, and requests this row's{self.source}"
        del waiting[: self.lanes]
        for at in range(block * self.capacity, block * self.capacity + len(waiting)):
            self.machine.copy(self.thread(block, at - block * self.capacity), ("queue", at), ("queue", at + self.lanes))
        if waiting:
            yield "the remaining rows of the queue move to its front"

    def add_loaded(self, thread: int) -> None:
        payload = self.machine["payload", thread]
        if payload is not None:
            total = self.machine["sum", thread] + payload.quantity * payload.price
            self.machine.write(thread, ("sum", thread), total, ("sum", thread), ("payload", thread))

    def add_payload(self, block: int) -> Iterator[str | None]:
        threads = [self.thread(block, lane) for lane in range(self.lanes)]
        for thread in threads:
            self.add_loaded(thread)
        if any(self.machine["payload", thread] is not None for thread in threads):
            yield "the payload that was requested last is added"

    def fold(self, block: int) -> Iterator[str | None]:
        stride = 1
        while stride < self.lanes:
            for lane in range(self.lanes - stride):
                cell = self.thread(block, lane)
                self.machine.shuffle(cell, ("sum", cell), int.__add__, ("sum", cell), ("sum", cell + stride))
            yield f"lane l adds the sum of lane l + {stride}"
            stride *= 2

    def publish(self, block: int) -> Iterator[str | None]:
        first = self.thread(block, 0)
        if self.blocks == 1:
            self.machine.copy(first, ("out", 0), ("sum", first))
            yield "the only block has the result"
            return
        while self.machine.is_written(("done", 0)):
            yield None
        count = self.machine["done", 0] + 1
        self.machine.copy(first, ("sums", block), ("sum", first))
        self.machine.write(first, ("done", 0), count, ("done", 0))
        yield "a block publishes its sum, and increments the count of finished blocks"
        if count < self.blocks:
            return
        for lane in range(self.lanes):
            others = [("sums", other) for other in range(lane, self.blocks, self.lanes)]
            self.machine.write(first + lane, ("sum", first + lane), sum(self.machine[other] for other in others), *others)
        yield "the last block to finish reads all sums"
        yield from self.fold(block)
        self.machine.copy(first, ("out", 0), ("sum", first))
        yield "no second launch was needed"
