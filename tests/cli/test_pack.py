# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_pack.py: `upsweep pack`: lists in any order are copied one after the other; compared with NumPy; and
# what is refused.
import datetime

import numpy as np
import pytest


def example(dtype, bound, lists=3000, n=10_000):
    random = np.random.default_rng(7)
    starts = random.integers(0, n - 20, lists)
    stops = starts + random.integers(0, 8, lists)
    content = random.integers(0, 100, n).astype(dtype)
    packed = np.concatenate([content[a:b] for a, b in zip(starts, stops)])
    offsets = np.concatenate([[0], np.cumsum(stops - starts)])
    return starts.astype(bound), stops.astype(bound), content, offsets, packed


@pytest.mark.parametrize("bound", ["int32", "uint32", "int64"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "bool"])
def test_lists_from_anywhere(upsweep, dtype, bound):
    starts, stops, content, offsets, packed = example(dtype, bound)
    upsweep.save("starts.npy", starts)
    upsweep.save("stops.npy", stops)
    upsweep.save("content.npy", content)
    upsweep.save("more.npy", content.astype("int64"))
    args = ["pack", "starts.npy", "stops.npy", "content.npy", "more.npy"]
    result = upsweep.json(*args, "-o", "out.npy")
    assert result["files"] == ["out.offsets.npy", "out.0.npy", "out.1.npy"]
    assert (result["count"], result["lists"], result["dtypes"]) == (len(packed), 3000, [dtype, "int64"])
    np.testing.assert_array_equal(upsweep.load("out.offsets.npy"), offsets)
    got = upsweep.load("out.0.npy")
    assert got.dtype == content.dtype
    np.testing.assert_array_equal(got, packed)
    np.testing.assert_array_equal(upsweep.load("out.1.npy"), packed.astype("int64"))


@pytest.mark.parametrize("rung", ["cpu.serial", "cpu.threads", "cpu.shares", "cpu.staged"])
def test_rungs(upsweep, rung):
    starts, stops, content, offsets, packed = example("int32", "int64")
    for name, array in (("a", starts), ("b", stops), ("c", content)):
        upsweep.save(f"{name}.npy", array)
    assert upsweep.json("pack", "a.npy", "b.npy", "c.npy", "-o", "out.npy", "--rung", rung)["rung"] == rung
    np.testing.assert_array_equal(upsweep.load("out.0.npy"), packed)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_list_columns(upsweep, arrow, name):
    """Lists become offsets and content."""
    lists = [[1, 2], None, [], [3, 4, 5]] * 30_000
    options = {"row_group_size": 50_000} if name == "t.parquet" else {"max_chunksize": 50_000}
    upsweep.table(name, {"x": arrow.array(lists, arrow.list_(arrow.uint8()))}, **options)
    result = upsweep.json("pack", f"{name}:x", "-o", "out.npy")
    assert (result["lists"], result["count"], result["dtypes"]) == (120_000, 150_000, ["uint8"])
    lengths = [0 if one is None else len(one) for one in lists]
    np.testing.assert_array_equal(upsweep.load("out.offsets.npy"), np.concatenate([[0], np.cumsum(lengths)]))
    assert upsweep.load("out.0.npy").tolist() == [1, 2, 3, 4, 5] * 30_000
    upsweep.ok("pack", f"{name}:x", "-o", "again.parquet", "--quiet")
    import pyarrow.parquet

    column = pyarrow.parquet.read_table(upsweep.folder / "again.parquet")["x"]
    assert column.type == arrow.list_(arrow.uint8()) and column.to_pylist() == lists


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_each_column_keeps_its_nulls(upsweep, arrow, order):
    """Lists of equal lengths: an element that is null in one column need not be null in another."""
    table = {"a": [[1, 2], [], [3]], "b": [[1.5, 2.5], None, [3.5]], "keep": [[True, False], [], [True]]}
    upsweep.table("t.parquet", table)
    upsweep.ok("pack", *[f"t.parquet:{name}" for name in order], "-o", "out.parquet", "--quiet")
    import pyarrow.parquet

    packed = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")
    assert {name: packed[name].to_pylist() for name in order} == {name: table[name] for name in order}
    chosen = [f"t.parquet:{name}" for name in order]
    upsweep.ok("select", "--mask", "t.parquet:keep", *chosen, "-o", "kept.parquet", "--quiet")
    kept = pyarrow.parquet.read_table(upsweep.folder / "kept.parquet")
    assert kept["a"].to_pylist() == [[1], [], [3]] and kept["b"].to_pylist() == [[1.5], None, [3.5]]


def test_bounds_and_content_of_a_table(upsweep, arrow):
    import pyarrow.parquet

    upsweep.table("t.parquet", {"a": [4, 0, 2], "b": [5, 2, 2]})
    upsweep.table("c.parquet", {"x": arrow.array(["1.10", "2.20", "3.30", "4.40", "5.50"]).cast(arrow.decimal128(9, 2))})
    result = upsweep.json("pack", "t.parquet:a", "t.parquet:b", "c.parquet:x", "-o", "out.parquet")
    assert (result["dtypes"], result["scale"]) == (["int64"], [2])
    column = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")["x"]
    assert [[str(x) for x in one] for one in column.to_pylist()] == [["5.50"], ["1.10", "2.20"], []]


def test_no_lists(upsweep):
    for name in ("a", "b"):
        upsweep.save(f"{name}.npy", np.array([], dtype="int64"))
    upsweep.save("c.npy", [1, 2])
    upsweep.ok("pack", "a.npy", "b.npy", "c.npy", "-o", "out.npy", "--quiet")
    assert upsweep.load("out.offsets.npy").tolist() == [0] and upsweep.load("out.0.npy").tolist() == []


@pytest.mark.parametrize(
    "starts, stops, word, index",
    [
        ([0, 2], [1, 1], "stop_before_start", 1),
        ([0, -1], [1, 1], "negative_start", 1),
        ([0, 2], [1, 4], "stop_past_end", 1),
        ([0, 2], [1], "unequal_lengths", None),
    ],
)
def test_bad_lists(upsweep, starts, stops, word, index):
    upsweep.save("starts.npy", np.array(starts, dtype="int64"))
    upsweep.save("stops.npy", np.array(stops, dtype="int64"))
    upsweep.save("content.npy", [1, 2, 3])
    error = upsweep.fails(word, "pack", "starts.npy", "stops.npy", "content.npy", "-o", "out.npy", index=index)
    assert "starts.npy" in error["message"]


def test_what_does_not_belong_together(upsweep, arrow):
    upsweep.save("a.npy", np.array([0, 1], dtype="int64"))
    upsweep.save("b.npy", np.array([1, 2], dtype="int64"))
    upsweep.save("narrow.npy", np.array([1, 2], dtype="int32"))
    upsweep.save("tiny.npy", np.array([1, 2], dtype="int8"))
    upsweep.save("c.npy", [1, 2, 3])
    upsweep.save("d.npy", [1, 2])
    upsweep.table("t.parquet", {"x": [[1], [2, 3]], "y": [[1, 2], [3]], "z": [[1], [None, 2]]})
    to = ["-o", "out.npy"]
    upsweep.fails("invalid_argument", "pack", "a.npy", "b.npy", *to)
    upsweep.fails("unsupported_type", "pack", "a.npy", "narrow.npy", "c.npy", *to)
    upsweep.fails("unsupported_type", "pack", "tiny.npy", "tiny.npy", "c.npy", *to)
    upsweep.fails("unequal_lengths", "pack", "a.npy", "b.npy", "c.npy", "d.npy", *to)
    upsweep.fails("unequal_lengths", "pack", "t.parquet:x", "t.parquet:y", *to, index=0)
    upsweep.fails("null_value", "pack", "t.parquet:z", *to, index=1)
    upsweep.fails("invalid_argument", "pack", "t.parquet:x", "b.npy", "c.npy", *to)
    upsweep.fails("invalid_argument", "pack", "a.npy", "b.npy", "c.npy", "--format", "npy")
    upsweep.fails("invalid_argument", "pack", "-", "-", "c.npy", *to)
    upsweep.fails("invalid_argument", "pack", *to)
    upsweep.fails("not_found", "pack", "a.npy", "b.npy", "nope.npy", *to)
    upsweep.fails(("not_built", "no_device"), "pack", "--device", "cuda", "a.npy", "b.npy", "c.npy", *to)
    for columns in (["a.npy", "b.npy", "c.npy"], ["t.parquet:x"]):
        error = upsweep.fails("unknown_rung", "pack", "--rung", "cpu.nope", *columns, *to, index=None)
        assert error["message"].startswith("unknown rung 'cpu.nope'")  # the message names no column


def test_elements_that_are_null_move_along(upsweep, arrow):
    import pyarrow.parquet

    upsweep.table("t.parquet", {"a": [3, 0], "b": [5, 3], "x": [1.5, None]})
    upsweep.table("c.parquet", {"x": [1, None, 3, None, 5], "day": [None, *[datetime.date(2001, 1, 2)] * 4]})
    bounds = ["t.parquet:a", "t.parquet:b", "c.parquet:x", "c.parquet:day"]
    for name in ("out.parquet", "out.arrow"):
        upsweep.ok("pack", *bounds, "-o", name, "--quiet")
    packed = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")
    day = datetime.date(2001, 1, 2)
    assert packed.to_pydict() == {"x": [[None, 5], [1, None, 3]], "day": [[day, day], [None, day, day]]}
    # .npy cannot store nulls; nulls that are not packed do not matter.
    error = upsweep.fails("null_value", "pack", *bounds, "-o", "out.npy", index=0)
    assert "out.0.npy: list 0" in error["message"] and ".parquet" in error["message"]
    upsweep.table("last.parquet", {"a": [4], "b": [5]})
    upsweep.ok("pack", "last.parquet:a", "last.parquet:b", "c.parquet:x", "-o", "one.npy", "--quiet")
    assert upsweep.load("one.0.npy").tolist() == [5]
    upsweep.fails("null_value", "pack", "c.parquet:x", "c.parquet:x", "c.parquet:x", "-o", "out.parquet", index=1)


@pytest.mark.parametrize("rows", [3, 7, 1000])
def test_columns_in_batches_of_other_lengths(upsweep, arrow, rows):
    import pyarrow.parquet

    random = np.random.default_rng(rows)
    lists = [[*range(n)] if n < 6 else None for n in random.integers(0, 7, 2000)]
    nulls = [one and [None if x % 3 == 1 else x / 2 for x in one] for one in lists]
    upsweep.table("a.parquet", {"x": arrow.array(lists, arrow.list_(arrow.int16()))}, row_group_size=rows)
    upsweep.table("b.arrow", {"y": arrow.array(nulls, arrow.large_list(arrow.float32()))}, max_chunksize=5)
    upsweep.ok("pack", "a.parquet:x", "b.arrow:y", "-o", "out.parquet", "--quiet")
    assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet").to_pydict() == {"x": lists, "y": nulls}
    longer = [*lists[:1234], (lists[1234] or []) + [7], *lists[1235:]]
    upsweep.table("c.arrows", {"z": arrow.array(longer, arrow.list_(arrow.int16()))}, max_chunksize=11)
    upsweep.fails("unequal_lengths", "pack", "a.parquet:x", "c.arrows:z", "-o", "no.parquet", index=1234)
    upsweep.table("d.arrows", {"z": arrow.array(lists[:-1], arrow.list_(arrow.int16()))}, max_chunksize=11)
    error = upsweep.fails("unequal_lengths", "pack", "a.parquet:x", "d.arrows:z", "-o", "no.parquet")
    assert "d.arrows:z has 1999 lists" in error["message"]


def test_lists_of_one_size(upsweep, arrow):
    """Null lists may still have elements."""
    import pyarrow.parquet

    pairs = [[1, 2], None, [None, 4], [5, 6]]
    upsweep.table("t.arrow", {"x": arrow.array(pairs, arrow.list_(arrow.int32(), 2))})
    upsweep.ok("pack", "t.arrow:x", "-o", "out.parquet", "--quiet")
    assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet").to_pydict() == {"x": pairs}
    keep = [[True, False], None, [True, True], [False, False]]
    upsweep.table("m.arrow", {"keep": arrow.array(keep, arrow.list_(arrow.bool_(), 2))})
    upsweep.ok("select", "--mask", "m.arrow:keep", "t.arrow:x", "-o", "kept.parquet", "--quiet")
    assert pyarrow.parquet.read_table(upsweep.folder / "kept.parquet").to_pydict() == {"x": [[1], None, [None, 4], []]}


@pytest.mark.parametrize("kind", ["ListViewArray", "LargeListViewArray"])
def test_list_views(upsweep, arrow, kind):
    """Lists in any order, which share elements, with null lists and null elements."""
    import pyarrow.parquet

    if not hasattr(arrow, kind):
        pytest.skip("this pyarrow has no list views")
    bound = arrow.int32() if kind == "ListViewArray" else arrow.int64()
    starts, sizes = arrow.array([4, 0, 1, 3, 0, 2], bound), arrow.array([1, 2, 4, 0, 5, 1], bound)
    null = arrow.array([False, False, False, False, True, False])
    for content in ([1.5, 2.5, None, 4.5, 5.5], [True, False, True, None, False], [1, 2, 3, 4, 5]):
        views = getattr(arrow, kind).from_arrays(starts, sizes, arrow.array(content), mask=null)
        upsweep.table("t.arrow", {"x": arrow.chunked_array([views, views.slice(1, 4)])})
        expected = views.to_pylist() + views.to_pylist()[1:5]
        assert expected[2] == content[1:5] and expected[4] is None
        upsweep.ok("pack", "t.arrow:x", "-o", "out.parquet", "--quiet")
        assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet")["x"].to_pylist() == expected
        upsweep.ok("segment", "--op", "count", "t.arrow:x", "-o", "n.npy", "--quiet")
        assert upsweep.load("n.npy").tolist() == [len([x for x in one or [] if x is not None]) for one in expected]


def test_list_views_without_elements_over_content_with_nulls(upsweep, arrow):
    import pyarrow.parquet

    if not hasattr(arrow, "ListViewArray"):
        pytest.skip("this pyarrow has no list views")
    upsweep.table("t.arrow", {"x": arrow.ListViewArray.from_arrays([0, 0], [0, 0], arrow.array([1, None]))})
    upsweep.ok("pack", "t.arrow:x", "-o", "out.parquet", "--quiet")
    assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet")["x"].to_pylist() == [[], []]
    assert upsweep.npy("segment", "t.arrow:x").tolist() == [0, 0]


def test_a_list_view_outside_its_content(upsweep, arrow):
    if not hasattr(arrow, "ListViewArray"):
        pytest.skip("this pyarrow has no list views")
    views = arrow.ListViewArray.from_arrays([0, 2], [1, 7], arrow.array([1, 2, 3]))
    upsweep.table("t.arrow", {"x": views})
    upsweep.fails(("stop_past_end", "malformed"), "pack", "t.arrow:x", "-o", "out.npy")


def test_more_elements_than_there_is_memory_for(upsweep, big):
    n = 1 << 39
    big("content.npy", "int64", n)
    for lists in (1 << 10, 1 << 21):  # more bytes than addresses reach, and than int64 counts
        upsweep.save("starts.npy", np.zeros(lists, dtype="int64"))
        upsweep.save("stops.npy", np.full(lists, n))
        error = upsweep.fails("out_of_memory", "pack", "starts.npy", "stops.npy", "content.npy", "-o", "out.npy")
        assert error["message"].startswith("starts.npy, stops.npy: no memory for ")
