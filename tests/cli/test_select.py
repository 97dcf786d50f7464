# SPDX-License-Identifier: Apache-2.0
# tests/cli/test_select.py: `upsweep select`: the elements and lists that a mask keeps, compared with NumPy, and what is
# refused.
import numpy as np
import pytest

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool"]


def example(dtype="int64", lists=3000, seed=5):
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(random.poisson(3, lists))]).astype("int64")
    content = random.integers(0, 100, offsets[-1]).astype(dtype)
    return offsets, content, random.random(offsets[-1]) < 0.4


def kept_offsets(offsets, mask):
    before = np.concatenate([[0], np.cumsum(mask)])
    return np.concatenate([[0], np.cumsum(before[offsets[1:]] - before[offsets[:-1]])])


@pytest.mark.parametrize("dtype", TYPES)
def test_elements(upsweep, dtype):
    _, content, mask = example(dtype)
    upsweep.save("content.npy", content)
    upsweep.save("mask.npy", mask)
    got = upsweep.npy("select", "--mask", "mask.npy", "content.npy")
    assert got.dtype == content.dtype
    np.testing.assert_array_equal(got, content[mask])
    result = upsweep.json("select", "--mask", "mask.npy", "content.npy", "-o", "out.npy")
    assert (result["count"], result["lists"], result["dtypes"]) == (mask.sum(), None, [dtype])
    assert result["files"] == ["out.npy"] and result["rung"].startswith("cpu.")
    np.testing.assert_array_equal(upsweep.load("out.npy"), content[mask])


@pytest.mark.parametrize("bound", ["int32", "uint32", "int64"])
def test_lists(upsweep, bound):
    offsets, content, mask = example()
    upsweep.save("offsets.npy", offsets.astype(bound))
    upsweep.save("content.npy", content)
    upsweep.save("more.npy", content.astype("float32"))
    upsweep.save("mask.npy", mask.astype("uint8"))
    args = ["--mask", "mask.npy", "--offsets", "offsets.npy", "content.npy", "more.npy"]
    result = upsweep.json("select", *args, "-o", "out.npy")
    assert result["files"] == ["out.offsets.npy", "out.0.npy", "out.1.npy"]
    assert (result["count"], result["lists"], result["dtypes"]) == (mask.sum(), 3000, ["int64", "float32"])
    np.testing.assert_array_equal(upsweep.load("out.offsets.npy"), kept_offsets(offsets, mask))
    np.testing.assert_array_equal(upsweep.load("out.0.npy"), content[mask])
    np.testing.assert_array_equal(upsweep.load("out.1.npy"), content[mask].astype("float32"))
    assert "out.npy" not in upsweep.files()
    assert "output out.1.npy" in upsweep.text("select", *args, "-o", "out.npy")


def test_list_columns(upsweep, arrow):
    import pyarrow.parquet

    upsweep.table(
        "t.parquet",
        {
            "pt": arrow.array([[1.5, 2.5], None, [], [3.5, 4.5, 5.5]]),
            "id": arrow.array([[1, 2], None, [], [3, 4, 5]], arrow.list_(arrow.int16())),
            "keep": arrow.array([[True, False], None, [], [False, True, True]]),
        },
    )
    args = ["--mask", "t.parquet:keep", "t.parquet:pt", "t.parquet:id"]
    upsweep.ok("select", *args, "-o", "out.parquet", "--quiet")
    table = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")
    assert table.to_pydict() == {"pt": [[1.5], None, [], [4.5, 5.5]], "id": [[1], None, [], [4, 5]]}
    assert table["id"].type == arrow.list_(arrow.int16())
    upsweep.ok("select", *args, "-o", "out.npy", "--quiet")
    assert upsweep.load("out.offsets.npy").tolist() == [0, 1, 1, 1, 3]
    assert upsweep.load("out.1.npy").tolist() == [1, 4, 5]
    upsweep.ok("select", "--mask", "t.parquet:keep", "t.parquet:pt", "t.parquet:pt", "-o", "twice.parquet", "--quiet")
    assert pyarrow.parquet.read_table(upsweep.folder / "twice.parquet").column_names == ["pt", "pt_2"]


def test_columns_of_a_table(upsweep, arrow):
    import datetime

    days = [datetime.date(2001, 1, day) for day in (1, 2, 3)]
    upsweep.table("t.parquet", {"day": days, "keep": [True, False, True]})
    upsweep.ok("select", "--mask", "t.parquet:keep", "t.parquet:day", "-o", "out.arrow", "--quiet")
    with arrow.memory_map(str(upsweep.folder / "out.arrow")) as file:
        assert arrow.ipc.open_file(file).read_all().to_pydict() == {"day": days[::2]}


def test_nothing_is_kept(upsweep):
    upsweep.save("content.npy", [1, 2])
    upsweep.save("mask.npy", [False, False])
    assert upsweep.npy("select", "--mask", "mask.npy", "content.npy").tolist() == []
    upsweep.save("none.npy", np.array([], dtype="int64"))
    upsweep.save("nomask.npy", np.array([], dtype=bool))
    assert upsweep.npy("select", "--mask", "nomask.npy", "none.npy").tolist() == []


@pytest.mark.parametrize(
    "offsets, word, index",
    [([0, 2, 1], "stop_before_start", 1), ([0, 4], "stop_past_end", 0), ([-1, 2], "negative_start", 0)],
)
def test_bad_offsets(upsweep, offsets, word, index):
    upsweep.save("offsets.npy", np.array(offsets, dtype="int64"))
    upsweep.save("content.npy", [1, 2, 3])
    upsweep.save("mask.npy", [True] * 3)
    args = ["--mask", "mask.npy", "--offsets", "offsets.npy", "content.npy"]
    error = upsweep.fails(word, "select", *args, "-o", "out.npy", index=index)
    assert "offsets.npy" in error["message"]


def test_what_does_not_belong_together(upsweep, arrow):
    upsweep.save("content.npy", [1, 2, 3])
    upsweep.save("mask.npy", [True, False, True])
    upsweep.save("short.npy", [True, False])
    upsweep.save("offsets.npy", np.array([0, 3]))
    upsweep.table(
        "t.parquet", {"x": [[1], [2, 3]], "keep": [[True], [True, False]], "other": [[True, True], [False]]}
    )
    upsweep.table("longer.parquet", {"keep": [[True], [True, False], []]})
    upsweep.table("nulls.parquet", {"x": [[1], [None, 3]]})
    to = ["-o", "out.npy"]
    upsweep.fails("unequal_lengths", "select", "--mask", "short.npy", "content.npy", *to)
    upsweep.fails("unsupported_type", "select", "--mask", "content.npy", "content.npy", *to)
    upsweep.fails("unsupported_type", "select", "--mask", "mask.npy", "--offsets", "mask.npy", "content.npy", *to)
    upsweep.fails("unequal_lengths", "select", "--mask", "t.parquet:other", "t.parquet:x", *to, index=0)
    upsweep.fails("unequal_lengths", "select", "--mask", "longer.parquet:keep", "t.parquet:x", *to)
    upsweep.fails("null_value", "select", "--mask", "t.parquet:keep", "nulls.parquet:x", *to, index=1)
    upsweep.fails("invalid_argument", "select", "--mask", "mask.npy", "t.parquet:x", *to)
    upsweep.fails("invalid_argument", "select", "--mask", "t.parquet:keep", "content.npy", *to)
    upsweep.fails("invalid_argument", "select", "--mask", "t.parquet:keep", "t.parquet:x", "content.npy", *to)
    upsweep.fails("invalid_argument", "select", "--mask", "t.parquet:keep", "--offsets", "offsets.npy", "t.parquet:x", *to)
    upsweep.fails("invalid_argument", "select", "--mask", "mask.npy", "content.npy", "content.npy", "--format", "npy")
    upsweep.table("lists.parquet", {"i": [[0, 1], [2]]})
    upsweep.fails("invalid_argument", "select", "--mask", "mask.npy", "--offsets", "lists.parquet:i", "content.npy", *to)
    upsweep.fails("invalid_argument", "select", "--mask", "-", "-", *to)
    upsweep.fails("invalid_argument", "select", "content.npy", *to)
    upsweep.fails("not_found", "select", "--mask", "nope.npy", "content.npy", *to)
    upsweep.fails(("not_built", "no_device"), "select", "--device", "cuda", "--mask", "mask.npy", "content.npy", *to)
    for columns in (["mask.npy", "content.npy"], ["t.parquet:keep", "t.parquet:x"]):
        error = upsweep.fails("unknown_rung", "select", "--rung", "cpu.nope", "--mask", *columns, *to, index=None)
        assert error["message"].startswith("unknown rung 'cpu.nope'")  # the message names no column


def test_several_files_or_none(upsweep):
    upsweep.save("content.npy", [1, 2, 3])
    upsweep.save("mask.npy", [True, False, True])
    args = ["select", "--mask", "mask.npy", "content.npy", "content.npy"]
    upsweep.fails("unwritable", *args, "-o", "/dev/null")
    (upsweep.folder / "out.1.npy").mkdir()
    upsweep.fails("is_directory", *args, "-o", "out.npy")
    upsweep.fails("not_found", *args, "-o", "nowhere/out.npy")


def test_elements_that_are_null_move_along(upsweep, arrow):
    import pyarrow.parquet

    upsweep.table(
        "t.parquet",
        {
            "x": [1, None, 3, None],
            "keep": [True, True, False, True],
            "some": [True, None, True, True],
            "known": [True, False, True, False],
            "list": [[1.5, None], None, [None], [4.5, None, 6.5]],
            "mask": [[True, True], None, [False], [False, True, True]],
            "hole": [[True, True], None, [None], [False, True, True]],
        },
    )
    upsweep.ok("select", "--mask", "t.parquet:keep", "t.parquet:x", "-o", "out.parquet", "--quiet")
    assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet").to_pydict() == {"x": [1, None, None]}
    upsweep.ok("select", "--mask", "t.parquet:mask", "t.parquet:list", "-o", "out.parquet", "--quiet")
    kept = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")
    assert kept.to_pydict() == {"list": [[1.5, None], None, [], [None, 6.5]]}
    upsweep.save("offsets.npy", np.array([0, 2, 2, 4]))
    args = ["--offsets", "offsets.npy", "--mask", "t.parquet:keep", "t.parquet:x"]
    upsweep.ok("select", *args, "-o", "out.parquet", "--quiet")
    assert pyarrow.parquet.read_table(upsweep.folder / "out.parquet").to_pydict() == {"x": [[1, None], [], [None]]}
    # The mask keeps no NULL, so .npy can store the result.
    assert upsweep.npy("select", "--mask", "t.parquet:known", "t.parquet:x").tolist() == [1, 3]
    error = upsweep.fails("null_value", "select", "--mask", "t.parquet:keep", "t.parquet:x", "-o", "out.npy", index=1)
    assert "out.npy: element 1 is NULL" in error["message"]
    upsweep.fails("null_value", "select", *args, "-o", "out.npy", index=0)
    # NULL in a mask is neither true nor false.
    upsweep.fails("null_value", "select", "--mask", "t.parquet:some", "t.parquet:x", "-o", "no.parquet", index=1)
    upsweep.fails("null_value", "select", "--mask", "t.parquet:hole", "t.parquet:list", "-o", "no.parquet", index=2)


def test_lists_that_lie_differently(upsweep, arrow):
    """Equal lists with other offsets, in batches of other lengths; null lists may have elements."""
    import pyarrow.parquet

    random = np.random.default_rng(9)
    offsets = np.concatenate([[0], np.cumsum(random.poisson(3, 5000))])
    content = np.arange(offsets[-1])
    mask = random.random(offsets[-1]) < 0.5
    lists = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), arrow.array(content))
    keep = arrow.LargeListArray.from_arrays(arrow.array(offsets), arrow.array(mask))
    before = arrow.array([[7] * 10], lists.type)
    upsweep.table("a.parquet", {"x": lists}, row_group_size=700)
    upsweep.table("b.arrow", {"x": arrow.concat_arrays([before, lists]).slice(1)})
    upsweep.table("c.arrow", {"keep": keep}, max_chunksize=999)
    expected = np.split(content[mask], kept_offsets(offsets, mask)[1:-1])
    for source in ("a.parquet:x", "b.arrow:x"):
        result = upsweep.json("select", "--mask", "c.arrow:keep", source, "-o", "out.parquet")
        assert (result["count"], result["lists"]) == (mask.sum(), 5000)
        column = pyarrow.parquet.read_table(upsweep.folder / "out.parquet")["x"]
        assert column.to_pylist() == [one.tolist() for one in expected]
    null = [i % 7 == 3 for i in range(5000)]
    hidden = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), arrow.array(content), mask=arrow.array(null))
    hidden_keep = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), arrow.array(mask), mask=arrow.array(null))
    upsweep.table("d.arrow", {"x": hidden, "keep": hidden_keep})
    result = upsweep.json("select", "--mask", "d.arrow:keep", "d.arrow:x", "-o", "out.arrow")
    assert result["count"] == sum(len(one) for one, none in zip(expected, null) if not none)
    with arrow.memory_map(str(upsweep.folder / "out.arrow")) as file:
        column = arrow.ipc.open_file(file).read_all()["x"].to_pylist()
    assert column == [None if none else one.tolist() for one, none in zip(expected, null)]
    upsweep.fails("unequal_lengths", "select", "--mask", "d.arrow:keep", "a.parquet:x", "-o", "no.arrow")


def test_scales_stand_beside_the_types(upsweep, arrow):
    price = arrow.array(["1.10", "2.20"]).cast(arrow.decimal128(9, 2))
    upsweep.table("t.parquet", {"price": price, "n": [1, 2], "keep": [True, False]})
    args = ["select", "--mask", "t.parquet:keep", "t.parquet:price", "t.parquet:n", "-o", "out.parquet"]
    result = upsweep.json(*args)
    assert (result["dtypes"], result["scale"]) == (["int64", "int64"], [2, None])
    assert "type   decimal, scale 2; int64\n" in upsweep.text(*args)
