# SPDX-License-Identifier: Apache-2.0
# upsweep/_moves.py: selections, takes and packs of elements, positions of lists, and combinations of their elements.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core, _options
from ._arrays import (
    BOOLEANS,
    MOVED,
    MOVED_SIZES,
    Array,
    flag,
    output_in,
    shown,
    take_in,
    tuple_of,
    whole,
    whole_number,
    written_to,
)
from ._lists import UNKNOWN_LENGTH, Lists, in_place_of, mask, take_in_bounds, take_in_lists
from ._plain import plain
from ._segmented import _give, _result

# NumPy has no clear error for arrays of more bytes than an int64 can count.
MOST_ELEMENTS = 1 << 58


def _columns(contents: tuple[Any, ...]) -> list[Array]:
    names = ["content"] if len(contents) == 1 else [f"content {i}" for i in range(len(contents))]
    columns = [take_in(content, name, MOVED) for content, name in zip(contents, names)]
    for column, name in zip(columns, names):
        if column.data.ndim != 1:
            raise ValueError(f"{name}: one dimension is needed, not {column.data.ndim}")
        size = column.xp.itemsize(column.data)
        if size not in MOVED_SIZES:
            raise TypeError(f"{name}: {MOVED.format(f'{shown(column.dtype)} of {size} bytes')}")
        if column.xp.device != columns[0].xp.device:
            raise ValueError(f"{name}: it must be on the same device as the first one")
        column.data = column.xp.contiguous(column.data)
    return columns


def _outputs(columns: list[Array], length: int, out: Any) -> list[Any]:
    """Output arrays of that length, of each column's type: new arrays, or the first elements of the arrays in `out`. An array of
    `out` that is not contiguous is also replaced by a new one."""
    if out is None:
        return [column.xp.like(column.data, (length,)) for column in columns]
    given = tuple_of(out, len(columns), "one for each content")
    inputs = [column.data for column in columns]
    return [
        output_in(array, column.dtype, length, inputs, lambda column=column: column.xp.like(column.data, (length,)))
        for array, column in zip(given, columns)
    ]


class _Outputs:
    """Creates the outputs of a call once it has determined their length, and returns them to the user."""

    def __init__(self, columns: list[Array], out: Any):
        self._columns, self._out, self._arrays = columns, out, []

    def __call__(self, length: int) -> list[Any]:
        self._arrays = _outputs(self._columns, length, self._out)
        return [column.xp.elements(array) for column, array in zip(self._columns, self._arrays)]

    def given(self) -> tuple[Any, ...]:
        return _given(self._columns, self._arrays, self._out)


def _contents(columns: list[Array]) -> list[tuple[Any, None]]:
    return [(column.xp.elements(column.data), None) for column in columns]


def _pairs(columns: list[Array], outputs: list[Any]) -> list[tuple[Any, Any]]:
    return [(c.xp.elements(c.data), c.xp.elements(o)) for c, o in zip(columns, outputs)]


def _given(columns: list[Array], outputs: list[Any], out: Any) -> tuple[Any, ...]:
    if out is not None:
        given = out if isinstance(out, (tuple, list)) else (out,)
        return tuple(written_to(g, o) for g, o in zip(given, outputs))
    return tuple(c.give(o) for c, o in zip(columns, outputs))


def _place_of(array: Array) -> _core.Place:
    return _options.place(array.xp.device, array.xp.stream)


@plain
def select(mask_: Any, /, *contents: Any, lists: Any = None, out: Any = None) -> Any:
    """Selects the elements whose mask is true, of an array or of every list.

    Parameters
    ----------
    mask_ : array of bool, of shape (m,)
    *contents : arrays of shape (m,)
        Arrays with elements of 1, 2, 4, 8 or 16 bytes.
    lists : optional
        The positions of lists in the content, as for `segmented_reduce`.
    out : array or tuple of arrays, optional
        One array per content to write the selected elements to. An array may be longer than the result. Its first elements are
        then written and returned.

    Returns
    -------
    array, or tuple of arrays
        Without `lists`: the selected elements, as one array per content. With `lists`: first the new offsets (int64, of shape
        (n + 1,)), then the selected elements.

    Raises
    ------
    ValueError
        The mask and the content have different lengths. A list stops before it starts or ends past the content; `index` is the
        first such list. An `out` is too short.
    TypeError
        The mask is not of booleans. The size of an element is not 1, 2, 4, 8 or 16 bytes.

    Examples
    --------
    >>> import numpy, upsweep
    >>> pt = numpy.array([31.0, 20.0, 52.0])
    >>> upsweep.select(pt > 30, pt)
    array([31., 52.])
    >>> upsweep.select(pt > 30, pt, lists=numpy.array([0, 2, 2, 3]))
    (array([0, 1, 1, 2]), array([31., 52.]))
    """
    columns = _columns(contents)
    like = columns[0] if columns else take_in(mask_, "mask", BOOLEANS)
    kept = mask(mask_, like, "mask")
    where = _place_of(like)
    outputs = _Outputs(columns, out)
    if lists is None:
        if not columns:
            raise TypeError("select: at least one content is needed, or lists")
        _core.select(where, None, None, kept, None, _contents(columns), outputs)
        results = outputs.given()
        return results[0] if len(results) == 1 else results
    of = in_place_of(like, lists)
    offsets = like.xp.empty(of.count + 1, "int64")
    _core.select(where, of.bounds, of.valid, kept, like.xp.elements(offsets), _contents(columns), outputs)
    return (like.give(offsets), *outputs.given())


@plain
def partition(mask_: Any, /, *contents: Any, out: Any = None) -> tuple[Any, ...]:
    """Moves the elements whose mask is true before the elements whose mask is false. Both groups keep their order.

    Parameters and errors are the same as for `select`, without lists.

    Returns
    -------
    tuple
        The number of elements whose mask is true, an int, and each content in its new order, of shape (m,).

    Examples
    --------
    >>> import numpy, upsweep
    >>> x = numpy.array([5, 2, 7, 4])
    >>> upsweep.partition(x % 2 == 0, x)
    (2, array([2, 4, 5, 7]))
    """
    columns = _columns(contents)
    if not columns:
        raise TypeError("partition: at least one content is needed")
    outputs = _outputs(columns, columns[0].data.shape[0], out)
    count = _core.partition(_place_of(columns[0]), mask(mask_, columns[0], "mask"), _pairs(columns, outputs))
    return (count, *_given(columns, outputs, out))


@plain
def take(indices: Any, /, *contents: Any, lists: Any = None, index_lists: Any = None, out: Any = None) -> Any:
    """Gathers elements by their positions, from an array or from every list. Negative positions count from the end.

    Parameters
    ----------
    indices : array of integers, of shape (k,)
    *contents : arrays of shape (m,)
        Arrays with elements of 1, 2, 4, 8 or 16 bytes.
    lists, index_lists : optional
        The positions of the lists in the content, and of the lists in the indices. Both have the same number of lists. The
        indices in list i of `index_lists` are positions in list i of `lists`.
    out : array or tuple of arrays, optional
        As for `select`.

    Returns
    -------
    array, or tuple of arrays
        The gathered elements, of shape (k,), as one array per content. For lists, the new offsets (int64) come first.

    Raises
    ------
    IndexError
        A position is outside of the array or of its list; `index` is the first such position.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.take(numpy.array([2, -1]), numpy.array([10, 20, 30, 40]))
    array([30, 40])
    >>> lists, last_of_each = numpy.array([0, 3, 4]), numpy.array([-1, -1])
    >>> upsweep.take(last_of_each, numpy.array([10, 20, 30, 40]), lists=lists, index_lists=numpy.array([0, 1, 2]))
    (array([0, 1, 2]), array([30, 40]))
    """
    columns = _columns(contents)
    if not columns:
        raise TypeError("take: at least one content is needed")
    if (lists is None) != (index_lists is None):
        raise TypeError("take: lists and index_lists must be passed together")
    like = columns[0]
    at = take_in_bounds(indices, "indices")
    positions = at.xp.elements(at.data)
    if lists is None:
        outputs = _outputs(columns, at.data.shape[0], out)
        _core.take(_place_of(like), positions, _pairs(columns, outputs))
        results = _given(columns, outputs, out)
        return results[0] if len(results) == 1 else results
    return _take_of_lists(columns, in_place_of(like, lists), in_place_of(at, index_lists), positions, out)


def _take_of_lists(columns: list[Array], of: Lists, at: Lists, positions: Any, out: Any) -> tuple[Any, ...]:
    like = columns[0]
    offsets = like.xp.empty(at.count + 1, "int64")
    length = like.data.shape[0]
    outputs = _Outputs(columns, out)
    _core.take_lists(
        _place_of(like), of.bounds, length, at.bounds, positions, like.xp.elements(offsets), _contents(columns), outputs
    )
    return (like.give(offsets), *outputs.given())


@plain
def pack(lists: Any, /, *contents: Any, out: Any = None) -> tuple[Any, ...]:
    """Copies lists from any positions in their content, one after the other.

    Parameters
    ----------
    lists : as for `segmented_reduce`
        Most often a tuple (starts, stops).
    *contents : arrays of shape (m,)
        Arrays with elements of 1, 2, 4, 8 or 16 bytes.
    out : array or tuple of arrays, optional
        As for `select`.

    Returns
    -------
    tuple of arrays
        The new offsets (int64, of shape (n + 1,)), and one array per content with the packed elements.

    Raises
    ------
    ValueError
        A list stops before it starts or ends past the content; `index` is the first such list.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.pack((numpy.array([3, 0]), numpy.array([5, 2])), numpy.array([1, 2, 3, 4, 5]))
    (array([0, 2, 4]), array([4, 5, 1, 2]))
    """
    columns = _columns(contents)
    if not columns:
        raise TypeError("pack: at least one content is needed; to get only the offsets, call offsets(starts, stops)")
    like = columns[0]
    of = in_place_of(like, lists)
    offsets = like.xp.empty(of.count + 1, "int64")
    at = like.xp.elements(offsets)
    total = _core.pack_offsets(_place_of(like), of.bounds, of.valid, like.data.shape[0], at)
    outputs = _outputs(columns, total, out)
    _core.pack_content(_place_of(like), of.bounds, of.valid, at, _pairs(columns, outputs))
    return (like.give(offsets), *_given(columns, outputs, out))


# ------------------------------------------------------------------------------------------ lengths, offsets, positions


@plain
def lengths_to_offsets(lengths: Any, /, *, out: Any = None) -> Any:
    """Computes the offsets of lists of these lengths, packed one after the other.

    Parameters
    ----------
    lengths : array of integers, of shape (n,)
    out : array of int64, of shape (n + 1,), optional
        The array to write the offsets to. The function returns this array.

    Returns
    -------
    array of int64, of shape (n + 1,)

    Raises
    ------
    ValueError
        A length is negative; `index` is the first such list.
    OverflowError
        An offset does not fit int64; `index` is the list whose end does not fit.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.lengths_to_offsets(numpy.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    each = take_in_bounds(lengths, "lengths")
    result, given = _result(each, (each.data.shape[0] + 1,), "int64", out, [each.data])
    _core.lengths_to_offsets(_place_of(each), each.xp.elements(each.data), None, each.xp.elements(result))
    return _give(each, result, given, out)


@plain
def parents_to_offsets(parents: Any, lists: int, /, *, out: Any = None) -> Any:
    """Computes the offsets of lists from the list number of each element.

    Parameters
    ----------
    parents : array of integers, of shape (m,)
        The list number of each element, starting at 0, in ascending order.
    lists : int
        The number of lists, n. The last lists may be empty.
    out : array of int64, of shape (n + 1,), optional
        The array to write the offsets to. The function returns this array.

    Returns
    -------
    array of int64, of shape (n + 1,)

    Raises
    ------
    ValueError, IndexError
        The parents are not in ascending order (ValueError). A parent is not from 0 to n - 1 (IndexError). `index` is the first
        such element.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.parents_to_offsets(numpy.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    each = take_in_bounds(parents, "parents")
    count = whole_number(lists, "lists", 0)
    result, given = _result(each, (count + 1,), "int64", out, [each.data])
    _core.parents_to_offsets(_place_of(each), each.xp.elements(each.data), count, each.xp.elements(result))
    return _give(each, result, given, out)


def _of_offsets(lists: Any) -> tuple[Lists, Array, int]:
    """Lists by offsets, their Array, and the number of their elements."""
    offsets = take_in_bounds(lists, "offsets")
    of = take_in_lists(offsets.data)
    total = int(offsets.data[-1]) - int(offsets.data[0])
    if total > MOST_ELEMENTS:
        raise MemoryError(f"offsets: {total} elements need more memory than is available")
    return of, offsets, max(total, 0)


@plain
def offsets_to_parents(offsets: Any, /, *, out: Any = None) -> Any:
    """Computes the list number of each element, for the lists between these offsets.

    Parameters
    ----------
    offsets : array of integers, of shape (n + 1,)
    out : array of int64, optional
        The array to write the result to, of the result's shape. The function returns this array.

    Returns
    -------
    array of int64, of shape (offsets[n] - offsets[0],)

    Raises
    ------
    ValueError
        The offsets descend; `index` is the first such list.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.offsets_to_parents(numpy.array([0, 2, 2, 3]))
    array([0, 0, 2])
    """
    of, like, total = _of_offsets(offsets)
    result, given = _result(like, (total,), "int64", out, [like.data])
    _core.offsets_to_parents(_place_of(like), of.bounds, like.xp.elements(result))
    return _give(like, result, given, out)


@plain
def local_index(offsets: Any, /, *, out: Any = None) -> Any:
    """Computes the position of each element in its list, for the lists between these offsets.

    Parameters, the shape of the result and errors are the same as for `offsets_to_parents`.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.local_index(numpy.array([0, 2, 2, 3]))
    array([0, 1, 0])
    """
    of, like, total = _of_offsets(offsets)
    result, given = _result(like, (total,), "int64", out, [like.data])
    _core.local_index(_place_of(like), of.bounds, like.xp.elements(result))
    return _give(like, result, given, out)


@plain
def broadcast(values: Any, offsets: Any, /, *, out: Any = None) -> Any:
    """Copies a value for each list to all elements of the list.

    Parameters
    ----------
    values : array of shape (n,)
        Elements must be 1, 2, 4, 8 or 16 bytes.
    offsets : array of integers, of shape (n + 1,)
    out : array of the values' type, optional
        The array to write the result to, of the result's shape. The function returns this array.

    Returns
    -------
    array of the values' type, of shape (offsets[n] - offsets[0],)

    Raises
    ------
    ValueError
        The number of values differs from the number of lists. The offsets descend; `index` is the first such list.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.broadcast(numpy.array([7.5, 8.5, 9.5]), numpy.array([0, 2, 2, 3]))
    array([7.5, 7.5, 9.5])
    """
    (each,) = _columns((values,))
    of, bounds, total = _of_offsets(offsets)
    if out is None:
        result, given = each.xp.like(each.data, (total,)), None
    else:
        result, given = _result(each, (total,), each.dtype, out, [each.data, bounds.data])
    _core.broadcast(_place_of(each), of.bounds, each.xp.elements(each.data), each.xp.elements(result))
    return _give(each, result, given, out)


@plain
def flatten(outer: Any, inner: Any, /, *, out: Any = None) -> Any:
    """Computes the offsets of lists of lists without their middle level: inner[outer[i]].

    Parameters
    ----------
    outer : array of integers, of shape (n + 1,)
        The offsets of the outer lists among the inner lists.
    inner : array of integers, of shape (k + 1,)
        The offsets of the inner lists in the content.
    out : array of int64, of shape (n + 1,), optional
        The array to write the offsets to. The function returns this array.

    Returns
    -------
    array of int64, of shape (n + 1,)
        The offsets of the outer lists in the content.

    Raises
    ------
    IndexError
        An outer list is not within the inner lists; `index` is the outer list.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.flatten(numpy.array([0, 2, 3]), numpy.array([0, 4, 5, 9]))
    array([0, 5, 9])
    """
    of, like, _ = _of_offsets(outer)
    within, bounds, _ = _of_offsets(inner)
    result, given = _result(like, (of.count + 1,), "int64", out, [like.data, bounds.data])
    _core.flatten(_place_of(like), of.bounds, within.bounds, like.xp.elements(result))
    return _give(like, result, given, out)


# --------------------------------------------------------------------------------------------------------- combinations


@plain
def combinations(lists: Any, n: int = 2, /, *, replacement: bool = False, out: Any = None) -> tuple[Any, ...]:
    """Computes every choice of n elements of each list, as their positions in the content.

    Parameters
    ----------
    lists : array or tuple of arrays
        Offsets, or (starts, stops), of integers.
    n : int
        The number of elements in each choice, at least 1.
    replacement : bool
        Whether an element may be chosen more than once.
    out : tuple of n + 1 arrays of int64, optional
        The arrays to write the results to. An array may be longer than its result. Its first elements are then written and
        returned.

    Returns
    -------
    tuple of n + 1 arrays of int64
        The first array contains the offsets of each list's choices. Array 1 + k contains the position of element k of every
        choice. Choices are in lexicographic order of these positions.

    Raises
    ------
    ValueError
        A list stops before it starts; `index` is the first such list. `n` is less than 1.
    OverflowError, MemoryError
        The number of choices exceeds int64, or the result needs more memory than is available.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.combinations(numpy.array([0, 3, 3, 5]))
    (array([0, 3, 3, 4]), array([0, 0, 1, 3]), array([1, 2, 2, 4]))
    """
    of = take_in_lists(lists)
    n, replacement = whole(n, "n", 1), flag(replacement, "replacement")
    where = _options.place(of.xp.device, of.xp.stream)
    outputs = _IndexOutputs(of.xp, of.give, of.arrays, out, n + 1)
    at = of.xp.elements(outputs.take(of.count + 1))
    total = _core.combinations(where, of.bounds, UNKNOWN_LENGTH, n, replacement, at, [])
    places = [of.xp.elements(outputs.take(total)) for _ in range(n)]
    _core.combinations(where, of.bounds, UNKNOWN_LENGTH, n, replacement, None, places)
    return outputs.results()


class _IndexOutputs:
    """Creates arrays of int64 one after the other: new arrays, or the first elements of the arrays in `out`."""

    def __init__(self, xp: Any, give: Callable[[Any], Any], inputs: Sequence[Any], out: Any, count: int):
        self._xp, self._give, self._inputs = xp, give, inputs
        self._given = None if out is None else tuple_of(out, count, "the offsets and one for each place")
        self._taken: list[Any] = []

    def take(self, length: int) -> Any:
        def new() -> Any:
            return self._xp.empty(length, "int64")

        given = None if self._given is None else self._given[len(self._taken)]
        self._taken.append(new() if given is None else output_in(given, "int64", length, self._inputs, new))
        return self._taken[-1]

    def results(self) -> tuple[Any, ...]:
        if self._given is None:
            return tuple(map(self._give, self._taken))
        return tuple(written_to(given, taken) for given, taken in zip(self._given, self._taken))


@plain
def cartesian(*lists: Any, out: Any = None) -> tuple[Any, ...]:
    """Computes the cartesian product of lists: every choice of one element from list i of each of several ragged arrays.

    Parameters
    ----------
    *lists : arrays or tuples of arrays
        For each ragged array its offsets, or (starts, stops), of integers. All arrays must have the same number of lists.
    out : tuple of arrays of int64, optional
        The arrays to write the results to. An array may be longer than its result. Its first elements are then written and
        returned.

    Returns
    -------
    tuple of arrays of int64
        A *choice* takes one element of each list. The first array contains the offsets of each list's choices. Array 1 + k contains,
        for each choice, the position of its element of ragged array k in that array's content. The positions of the last array change
        fastest.

    Raises
    ------
    ValueError
        The numbers of lists differ. A list stops before it starts; `index` is the first such list.
    OverflowError, MemoryError
        The number of choices exceeds int64, or the result needs more memory than is available.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.cartesian(numpy.array([0, 2, 3]), numpy.array([0, 1, 3]))
    (array([0, 2, 4]), array([0, 1, 2, 2]), array([0, 0, 1, 2]))
    """
    if not lists:
        raise TypeError("cartesian: at least one ragged array's lists are needed")
    of = [take_in_lists(each) for each in lists]
    if len({each.count for each in of}) > 1:
        raise ValueError(f"lists: the numbers of lists differ: {', '.join(str(each.count) for each in of)}")
    xp, give = of[0].xp, of[0].give
    where = _options.place(xp.device, xp.stream)
    outputs = _IndexOutputs(xp, give, [array for each in of for array in each.arrays], out, len(of) + 1)
    at = xp.elements(outputs.take(of[0].count + 1))
    inputs = [(each.bounds, UNKNOWN_LENGTH) for each in of]
    total = _core.cartesian(where, inputs, at, [])
    places = [xp.elements(outputs.take(total)) for _ in of]
    _core.cartesian(where, inputs, None, places)
    return outputs.results()
