# SPDX-License-Identifier: Apache-2.0
# upsweep_report/peers/cases.py: the problems' instances, with the ladders' shapes, sizes and bytes (src/problems/).
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

SWEEP = tuple(1 << power for power in range(10, 29, 2))
MANY = 1 << 24
PATTERNS = ("fixed3", "fixed32", "fixed1000", "pareto", "giants")


class Case(NamedTuple):
    """An instance: its data on the host, and the number of bytes that must be moved for its answer."""

    type: str
    n: int
    bytes: float
    arrays: dict[str, Any]  # NumPy arrays, and values that are not arrays
    input: str | None = None
    facts: Mapping[str, Any] = MappingProxyType({})  # other fields of the rows
    reads_only: bool = False


class Study(NamedTuple):
    name: str
    sizes: tuple[int, ...]
    types: tuple[str, ...]
    pattern: str = ""  # of lists


class Problem(NamedTuple):
    name: str
    studies: tuple[Study, ...]
    cases: Callable[[str, int, str], Iterator[Case]]  # for a type, a size, and a pattern


def _whole(n: int, dtype: str) -> np.ndarray:
    """Small integers as that type, whose sums are exact in any order."""
    return np.random.default_rng(42).integers(-8, 9, n, np.int8).astype(dtype)


def lists_of(pattern: str, elements: int) -> np.ndarray:
    """Offsets of lists with `elements` elements in total; the last list is truncated at the end."""
    random = np.random.default_rng(45)
    lengths_so_far, total = [], 0
    while total < elements:
        count = min(elements, 1 << 20)
        if pattern == "poisson":
            lengths = random.poisson(3, count)
        elif pattern == "pareto":
            lengths = np.minimum(random.uniform(size=count) ** (-1 / 1.2), 1e12).astype(np.int64)
        elif pattern == "giants":
            lengths = np.ones(elements, np.int64)
            between = max(elements // 128, 1)
            lengths[between // 2 :: between] = max(elements // 128, 1)
        else:
            lengths = np.full(elements // int(pattern.removeprefix("fixed")) + 1, int(pattern.removeprefix("fixed")))
        lengths_so_far.append(lengths)
        total += int(lengths.sum())
    ends = np.cumsum(np.concatenate(lengths_so_far), dtype=np.int64)
    used = int(np.searchsorted(ends, elements)) + 1
    return np.concatenate([np.zeros(1, np.int64), np.minimum(ends[:used], elements)])


def _parents(offsets: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _mask(n: int) -> np.ndarray:
    return np.random.default_rng(46).integers(0, 2, n, np.int8).astype(bool)


def _scan(dtype: str, n: int, _: str) -> Iterator[Case]:
    x = _whole(n, dtype)
    yield Case(dtype, n, 2.0 * x.nbytes, {"x": x})


def _reduce(dtype: str, n: int, _: str) -> Iterator[Case]:
    x = _whole(n, dtype)
    yield Case(dtype, n, float(x.nbytes), {"x": x})


def _offsets(dtype: str, n: int, _: str) -> Iterator[Case]:
    random = np.random.default_rng(44)
    starts = random.integers(0, 1_000_000, n).astype(dtype)
    stops = starts + random.integers(0, 9, n).astype(dtype) * random.integers(0, 3, n).astype(bool)
    size = starts.itemsize
    yield Case(dtype, n, n * (2.0 * size + 8), {"starts": starts, "stops": stops})
    bounds = 4 * np.arange(n + 1, dtype=dtype)
    yield Case(dtype, n, n * (size + 8.0), {"starts": bounds[:-1], "stops": bounds[1:]}, "adjacent lists")


def _lists(outputs: Callable[[int, int], int]) -> Callable[[str, int, str], Iterator[Case]]:
    """Sums or prefixes of lists; `outputs` is their number, for numbers of elements and lists."""

    def cases(dtype: str, n: int, pattern: str) -> Iterator[Case]:
        offsets, content = lists_of(pattern, n), _whole(n, dtype)
        lists = len(offsets) - 1
        moved = (n + outputs(n, lists)) * content.itemsize + offsets.nbytes
        arrays = {"content": content, "offsets": offsets, "parents": _parents(offsets)}
        yield Case(dtype, n, float(moved), arrays, f"lists: {pattern}")

    return cases


def _by_key(dtype: str, n: int, pattern: str) -> Iterator[Case]:
    offsets, values = lists_of(pattern, n), _whole(n, dtype)
    keys = _parents(offsets)
    runs = int(np.count_nonzero(np.diff(offsets)))
    moved = (n + runs) * (8.0 + values.itemsize)
    yield Case(dtype, n, moved, {"keys": keys, "values": values}, f"lists: {pattern}", {"runs": runs})


_KEYS = 1000


def _group(dtype: str, n: int, _: str) -> Iterator[Case]:
    random = np.random.default_rng(48)
    values = _whole(n, dtype)
    scattered = random.integers(-(2**63), 2**63 - 1, _KEYS)
    for keys, what in (
        (scattered[random.integers(0, _KEYS, n)], f"uniform, {_KEYS:,} groups"),
        (random.permutation(n) * 7919, "all"),
    ):
        groups = len(np.unique(keys))
        moved = (n + groups) * (8.0 + values.itemsize)
        yield Case(dtype, n, moved, {"keys": keys, "values": values}, f"keys: {what}", {"groups": groups})


def _segmented_sort(dtype: str, n: int, pattern: str) -> Iterator[Case]:
    offsets = lists_of(pattern, n)
    content = np.random.default_rng(46).random(n).astype(dtype)
    lists = len(offsets) - 1
    moved = 2.0 * content.nbytes + lists * 8
    arrays = {"content": content, "offsets": offsets, "parents": _parents(offsets)}
    yield Case(dtype, n, moved, arrays, f"lists: {pattern}", {"lists": lists})


def _select(dtype: str, n: int, pattern: str) -> Iterator[Case]:
    offsets, content, mask = lists_of(pattern, n), _whole(n, dtype), _mask(n)
    kept = int(np.count_nonzero(mask))
    moved = n + (n + kept) * content.itemsize
    name = f"lists: {pattern}, kept 50%"
    lists = len(offsets) - 1
    arrays = {"mask": mask, "content": content}
    yield Case(
        dtype, n, float(moved + 2 * offsets.nbytes), {**arrays, "offsets": offsets}, name, {"lists": lists, "kept": kept}
    )
    yield Case(dtype, n, float(moved), {**arrays, "offsets": None}, f"{name}, without lists", {"lists": 1, "kept": kept})


def _partition(dtype: str, n: int, _: str) -> Iterator[Case]:
    content, mask = _whole(n, dtype), _mask(n)
    kept = int(np.count_nonzero(mask))
    yield Case(dtype, n, n + 2.0 * content.nbytes, {"mask": mask, "content": content}, "kept 50%", {"kept": kept})


def _take(dtype: str, n: int, pattern: str) -> Iterator[Case]:
    offsets, content = lists_of(pattern, n), _whole(n, dtype)
    lists = len(offsets) - 1
    random = np.random.default_rng(47)
    moved = n * (8.0 + 2 * content.itemsize)
    for bounds, what in ((offsets, f"lists: {pattern}"), (None, "without lists")):
        lengths = np.repeat(np.diff(offsets), np.diff(offsets)) if bounds is not None else n
        indices = random.integers(0, lengths, n) - lengths * random.integers(0, 2, n)
        arrays = {"indices": indices, "content": content, "offsets": bounds}
        more = 2.0 * offsets.nbytes if bounds is not None else 0
        yield Case(dtype, n, moved + more, arrays, f"{what}, random indices", {"lists": lists if bounds is not None else 0})


def _pack(dtype: str, n: int, pattern: str) -> Iterator[Case]:
    offsets = lists_of(pattern, n)
    content = np.random.default_rng(47).integers(0, 1 << 24, n).astype(dtype)
    lists = len(offsets) - 1
    moved = lists * 24 + 2.0 * content.nbytes
    for order, what in ((slice(None), "in order"), (np.random.default_rng(46).permutation(lists), "permuted")):
        arrays = {"starts": offsets[:-1][order], "stops": offsets[1:][order], "content": content}
        yield Case(dtype, n, moved, arrays, f"lists: {pattern}, {what}")


def _broadcast(dtype: str, n: int, pattern: str) -> Iterator[Case]:
    offsets = lists_of(pattern, n)
    yield Case(dtype, n, 8.0 * (len(offsets) + n), {"offsets": offsets}, f"lists: {pattern}", {"lists": len(offsets) - 1})


_MOST_PAIRS = 1 << 29


def _combinations(dtype: str, n: int, pattern: str) -> Iterator[Case]:
    offsets = lists_of(pattern, n)
    lengths, lists = np.diff(offsets), len(offsets) - 1
    pairs = int((lengths.astype(np.float64) * (lengths - 1) / 2).sum())
    if pairs > _MOST_PAIRS:
        raise MemoryError(f"{pairs:,} pairs are more than the maximum for ladders")
    facts = {"lists": lists, "pairs": pairs}
    yield Case(dtype, n, 8.0 * (2 * lists + 2 * pairs + 1), {"offsets": offsets}, f"lists: {pattern}", facts)


LIMIT = 30  # of the key: rows with a smaller key are summed
_LINE = 64


def _filtered_sum(dtype: str, n: int, _: str) -> Iterator[Case]:
    random = np.random.default_rng(45)
    part = random.integers(1, 200_001, n)
    key = random.integers(1, 10_001, n).astype(np.uint32)
    quantity = random.integers(1, 51, n)
    price = quantity * (90_000 + part // 10 % 20_001 + 100 * (part % 1000))
    kept = np.flatnonzero(key < LIMIT)
    # Only the cache lines with such rows are read of the summed columns.
    lines = sum(len(np.unique((column.ctypes.data + 8 * kept) // _LINE)) for column in (quantity, price))
    arrays = {"key": key, "quantity": quantity, "price": price}
    facts = {"limit": LIMIT, "kept": len(kept), "sum": int((quantity[kept] * price[kept]).sum())}
    yield Case(dtype, n, float(key.nbytes + lines * _LINE), arrays, None, facts, reads_only=True)


TARGET = 25_000_000


def _subset_sum(dtype: str, n: int, _: str) -> Iterator[Case]:
    random = np.random.default_rng(12)
    items = random.integers(1, 10_000_001, n)
    sums = [int(items[random.integers(0, 2, n).astype(bool)].sum()) for _ in range(20)]
    asked = [value for value in sums if value <= TARGET] + random.integers(1, TARGET, 10).tolist()
    words = (TARGET + 64) // 64
    facts = {"target": TARGET, "largest": int(items.max()), "fills": True}
    arrays = {"items": items, "target": TARGET, "asked": np.array(asked)}
    yield Case(dtype, n, 2.0 * 8 * words * n, arrays, None, facts)


def _of_columns(types: tuple[str, ...] = ("float64",)) -> tuple[Study, ...]:
    return (Study("sizes", SWEEP, types),)


def _of_lists(types: tuple[str, ...] = ("float64",), patterns: tuple[str, ...] = PATTERNS) -> tuple[Study, ...]:
    return (Study("sizes", SWEEP, types, "poisson"), *(Study("lists", (MANY,), types, pattern) for pattern in patterns))


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("scan", _of_columns(("int32", "float64")), _scan),
        Problem("reduce", _of_columns(("int32", "float64")), _reduce),
        Problem("offsets", _of_columns(("int64",)), _offsets),
        Problem("segmented-reduce", _of_lists(), _lists(lambda elements, lists: lists)),
        Problem("segmented-scan", _of_lists(), _lists(lambda elements, lists: elements)),
        Problem("by-key", _of_lists(), _by_key),
        Problem("group-by", _of_columns(), _group),
        Problem("segmented-sort", _of_lists(), _segmented_sort),
        Problem("select", _of_lists(), _select),
        Problem("partition", _of_columns(), _partition),
        Problem("take", _of_lists(), _take),
        Problem("pack", _of_lists(), _pack),
        Problem("broadcast", _of_lists(("int64",)), _broadcast),
        Problem("combinations", _of_lists(("int64",), ("fixed3",)), _combinations),  # longer lists have too many
        Problem(
            "filtered-sum", (Study("balkesen2012", (6_001_215,), ("int64",)), Study("sizes", SWEEP, ("int64",))), _filtered_sum
        ),
        Problem("subset-sum", (Study("aubanel2021", (10,), ("int64",)),), _subset_sum),
    )
}
