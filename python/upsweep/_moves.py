# SPDX-License-Identifier: Apache-2.0
# upsweep/_moves.py: selections, takes and packs, where elements of lists lie, and combinations of them.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core, _options
from ._arrays import BOOLEANS, MOVED, MOVED_SIZES, Array, flag, output_in, shown, take_in, tuple_of, whole, written_to
from ._lists import UNKNOWN_LENGTH, Lists, in_place_of, mask, take_in_bounds, take_in_lists
from ._plain import plain
from ._segmented import _give, _result

# NumPy has no words for more bytes than an int64 counts.
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
            raise ValueError(f"{name}: it must be where the first is, on the same device")
        column.data = column.xp.contiguous(column.data)
    return columns


def _outputs(columns: list[Array], length: int, out: Any) -> list[Any]:
    """Arrays of that length, of each column's type: new ones, also where those given do not lie side by side, or the first
    elements of those."""
    if out is None:
        return [column.xp.like(column.data, (length,)) for column in columns]
    given = tuple_of(out, len(columns), "one for each content")
    inputs = [column.data for column in columns]
    return [
        output_in(array, column.dtype, length, inputs, lambda column=column: column.xp.like(column.data, (length,)))
        for array, column in zip(given, columns)
    ]


class _Outputs:
    """Makes the outputs of a call once it knows their length, and returns them to the user."""

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
    """The elements whose mask is true, of an array or of every list.

    Parameters
    ----------
    mask_ : array of bool, of shape (m,)
    *contents : arrays of shape (m,)
        Of any elements of 1, 2, 4, 8 or 16 bytes.
    lists : optional
        Where lists lie in the content, as `segmented_reduce` has it.
    out : array or tuple of arrays, optional
        Where what is kept goes, of each content. Longer ones are filled from the front, and their first elements are returned.

    Returns
    -------
    array, or tuple of arrays
        Without `lists` what is kept of the content, or of each of several; with `lists` the new offsets (int64, of shape (n + 1,))
        come first.

    Raises
    ------
    ValueError
        A mask of another length than the content; a list that stops before it starts or ends past the content, with the first
        such list's `index`; an `out` that is too short.
    TypeError
        A mask that is not of booleans; elements of another size.

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
    """The elements whose mask is true, then the others, both in order.

    Parameters and errors are those of `select`, without lists.

    Returns
    -------
    tuple
        How many elements come first, an int, and each content in its new order, of shape (m,).

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
    """Elements by their positions, of an array or of every list. Negative positions count from the end.

    Parameters
    ----------
    indices : array of integers, of shape (k,)
    *contents : arrays of shape (m,)
        Of any elements of 1, 2, 4, 8 or 16 bytes.
    lists, index_lists : optional
        Where lists lie in the content, and as many in the indices: those of list i are positions in the content's list i.
    out : array or tuple of arrays, optional
        As `select` has it.

    Returns
    -------
    array, or tuple of arrays
        What is taken of the content, of shape (k,), or of each of several; of lists the new offsets (int64) come first.

    Raises
    ------
    IndexError
        A position outside of the array, or its list, with the `index` of the first.

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
        raise TypeError("take: lists and index_lists come together")
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
    """Lists that lie anywhere in their content, gathered one after the other.

    Parameters
    ----------
    lists : as `segmented_reduce` has it
        Most often a tuple (starts, stops).
    *contents : arrays of shape (m,)
        Of any elements of 1, 2, 4, 8 or 16 bytes.
    out : array or tuple of arrays, optional
        As `select` has it.

    Returns
    -------
    tuple of arrays
        The new offsets (int64, of shape (n + 1,)), and each content packed.

    Raises
    ------
    ValueError
        A list that stops before it starts or ends past the content, with the first such list's `index`.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.pack((numpy.array([3, 0]), numpy.array([5, 2])), numpy.array([1, 2, 3, 4, 5]))
    (array([0, 2, 4]), array([4, 5, 1, 2]))
    """
    columns = _columns(contents)
    if not columns:
        raise TypeError("pack: at least one content is needed; for the offsets alone call offsets(starts, stops)")
    like = columns[0]
    of = in_place_of(like, lists)
    offsets = like.xp.empty(of.count + 1, "int64")
    at = like.xp.elements(offsets)
    total = _core.pack_offsets(_place_of(like), of.bounds, of.valid, like.data.shape[0], at)
    outputs = _outputs(columns, total, out)
    _core.pack_content(_place_of(like), of.bounds, of.valid, at, _pairs(columns, outputs))
    return (like.give(offsets), *_given(columns, outputs, out))


# -------------------------------------------------------------------------------------------- lengths, offsets, positions


@plain
def lengths_to_offsets(lengths: Any, /, *, out: Any = None) -> Any:
    """The offsets of lists of such lengths, packed one after the other.

    Parameters
    ----------
    lengths : array of integers, of shape (n,)
    out : array of int64, of shape (n + 1,), optional
        Where the offsets go. It is returned.

    Returns
    -------
    array of int64, of shape (n + 1,)

    Raises
    ------
    ValueError
        A negative length, with the first one's `index`.
    OverflowError
        Offsets that leave int64, with the list's `index`.

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
    """The offsets of lists, from the list that each element is of.

    Parameters
    ----------
    parents : array of integers, of shape (m,)
        The list of each element, from 0; ascending.
    lists : int
        How many lists there are, n: the last ones may be empty.
    out : array of int64, of shape (n + 1,), optional
        Where the offsets go. It is returned.

    Returns
    -------
    array of int64, of shape (n + 1,)

    Raises
    ------
    ValueError, IndexError
        Parents that descend; one that is not from 0 to n - 1. Both with the first such element's `index`.

    Examples
    --------
    >>> import numpy, upsweep
    >>> upsweep.parents_to_offsets(numpy.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    each = take_in_bounds(parents, "parents")
    count = whole(lists, "lists", 0)
    result, given = _result(each, (count + 1,), "int64", out, [each.data])
    _core.parents_to_offsets(_place_of(each), each.xp.elements(each.data), count, each.xp.elements(result))
    return _give(each, result, given, out)


def _of_offsets(lists: Any) -> tuple[Lists, Array, int]:
    """Lists by offsets, their Array, and how many elements they have."""
    offsets = take_in_bounds(lists, "offsets")
    of = take_in_lists(offsets.data)
    total = int(offsets.data[-1]) - int(offsets.data[0])
    if total > MOST_ELEMENTS:
        raise MemoryError(f"offsets: {total} elements are more than there is memory for")
    return of, offsets, max(total, 0)


@plain
def offsets_to_parents(offsets: Any, /, *, out: Any = None) -> Any:
    """The list of each element of the lists between these offsets.

    Parameters
    ----------
    offsets : array of integers, of shape (n + 1,)
    out : array of int64, optional
        Where the result goes, of its shape. It is returned.

    Returns
    -------
    array of int64, of shape (offsets[n] - offsets[0],)

    Raises
    ------
    ValueError
        Offsets that descend, with the first such list's `index`.

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
    """The position of each element in its list, of the lists between these offsets.

    Parameters, the result's shape and errors are those of `offsets_to_parents`.

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
    """A value for each list, given to each of its elements.

    Parameters
    ----------
    values : array of shape (n,)
        Of any elements of 1, 2, 4, 8 or 16 bytes.
    offsets : array of integers, of shape (n + 1,)
    out : array of the values' type, optional
        Where the result goes, of its shape. It is returned.

    Returns
    -------
    array of the values' type, of shape (offsets[n] - offsets[0],)

    Raises
    ------
    ValueError
        Not one value for each list; offsets that descend, with the first such list's `index`.

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
    """The offsets of lists of lists without their middle level: inner[outer[i]].

    Parameters
    ----------
    outer : array of integers, of shape (n + 1,)
        Where the outer lists lie among the inner ones.
    inner : array of integers, of shape (k + 1,)
        Where the inner lists lie in the content.
    out : array of int64, of shape (n + 1,), optional
        Where the offsets go. It is returned.

    Returns
    -------
    array of int64, of shape (n + 1,)
        Where the outer lists lie in the content.

    Raises
    ------
    IndexError
        An outer list that is not within the inner ones, with its `index`.

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


# ----------------------------------------------------------------------------------------------------------- combinations


@plain
def combinations(lists: Any, n: int = 2, /, *, replacement: bool = False, out: Any = None) -> tuple[Any, ...]:
    """Every choice of n elements of each list, as their positions in the content.

    Parameters
    ----------
    lists : array or tuple of arrays
        Offsets, or (starts, stops), of integers.
    n : int
        How many elements each choice has: 1 or more.
    replacement : bool
        Whether an element may be chosen more than once.
    out : tuple of n + 1 arrays of int64, optional
        Where the results go, into their first elements; those that they fill are returned themselves.

    Returns
    -------
    tuple of n + 1 arrays of int64
        The offsets of each list's choices, and for each of the n places in a choice the positions of the elements there. Choices
        are in the order of their positions.

    Raises
    ------
    ValueError
        A list that stops before it starts, with the first such list's `index`; an n less than 1.
    OverflowError, MemoryError
        More choices than an int64 counts, or than there is memory for.

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
    """One array of int64 after the other: new ones, or the first elements of those that are given."""

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
    """Every choice of one element of each of several ragged arrays, list by list, as their positions in the contents.

    Parameters
    ----------
    *lists : arrays or tuples of arrays
        Of each ragged array offsets, or (starts, stops), of integers; as many lists in each.
    out : tuple of arrays of int64, optional
        Where the results go, into their first elements; those that they fill are returned themselves.

    Returns
    -------
    tuple of arrays of int64
        The offsets of each list's choices, and for each of the arrays the positions of its elements. Those of the last one
        change fastest.

    Raises
    ------
    ValueError
        Another number of lists; a list that stops before it starts, with the first such list's `index`.
    OverflowError, MemoryError
        More choices than an int64 counts, or than there is memory for.

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
        raise ValueError(f"lists: as many of each are needed, not {', '.join(str(each.count) for each in of)}")
    xp, give = of[0].xp, of[0].give
    where = _options.place(xp.device, xp.stream)
    outputs = _IndexOutputs(xp, give, [array for each in of for array in each.arrays], out, len(of) + 1)
    at = xp.elements(outputs.take(of[0].count + 1))
    inputs = [(each.bounds, UNKNOWN_LENGTH) for each in of]
    total = _core.cartesian(where, inputs, at, [])
    places = [xp.elements(outputs.take(total)) for _ in of]
    _core.cartesian(where, inputs, None, places)
    return outputs.results()
