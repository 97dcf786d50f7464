# SPDX-License-Identifier: Apache-2.0
# tests/python/test_awkward_register.py: upsweep's kernels in Awkward Array's table: they are registered, removed, and
# equal to Awkward's own.
import contextlib
import ctypes
import doctest
import gc
import itertools
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

ak = pytest.importorskip("awkward")
cpu_kernels = pytest.importorskip("awkward_cpp.cpu_kernels")

import upsweep.awkward
from hypothesis import given, settings
from hypothesis import strategies as st
from upsweep import _libraries
from upsweep.awkward import _carries, _joins, _memory, _missing, _signatures, _table, _ufuncs

SUM = ("awkward_reduce_sum", np.float64, np.float64, np.int64)
AWKWARDS = dict(cpu_kernels.kernel)  # the table before any test


@pytest.fixture(autouse=True)
def unregistered():
    upsweep.awkward.unregister()
    yield
    upsweep.awkward.unregister()


def is_ours(key=SUM):
    return cpu_kernels.kernel[key] is not AWKWARDS[key]


# ---------------------------------------------------------------------------------------------------------------- state


def test_registers_and_undoes():
    methods = ak.contents.ListOffsetArray._getitem, ak.contents.NumpyArray._carry
    assert not upsweep.awkward.registered() and not is_ours()
    upsweep.awkward.register()
    assert upsweep.awkward.registered() and is_ours()
    assert ak.contents.ListOffsetArray._getitem is not methods[0]
    assert ak.contents.NumpyArray._carry is not methods[1]
    once = dict(cpu_kernels.kernel)
    upsweep.awkward.register()
    assert cpu_kernels.kernel == once
    upsweep.awkward.unregister()
    assert not upsweep.awkward.registered()
    assert cpu_kernels.kernel == AWKWARDS
    assert (ak.contents.ListOffsetArray._getitem, ak.contents.NumpyArray._carry) == methods
    assert "_getitem" not in vars(ak.contents.ListOffsetArray)
    upsweep.awkward.unregister()
    assert cpu_kernels.kernel == AWKWARDS


def test_puts_every_hook_and_takes_it_back():
    hooks = all_hooks()
    before = [vars(hook.owner).get(hook.name) for hook in hooks]
    assert len(hooks) > 10
    with upsweep.awkward.kernels():
        for hook, theirs in zip(hooks, before):
            assert vars(hook.owner)[hook.name] is not theirs, hook.path
    assert [vars(hook.owner).get(hook.name) for hook in hooks] == before


def all_hooks():
    with upsweep.awkward.kernels():
        return _table._registration._hooks._hooks


def test_stands_in_for_every_kernel_that_it_names():
    upsweep.awkward.register()
    ours = {kernel.__name__ for key, kernel in cpu_kernels.kernel.items() if is_ours(key)}
    assert ours == set(_signatures.SIGNATURES)
    assert len(ours) > 200
    for key, kernel in cpu_kernels.kernel.items():
        assert kernel.__name__ == AWKWARDS[key].__name__
        assert kernel.argtypes == AWKWARDS[key].argtypes
        assert kernel.restype is AWKWARDS[key].restype
        assert kernel.dir == AWKWARDS[key].dir


def test_context_restores():
    with upsweep.awkward.kernels():
        assert upsweep.awkward.registered() and is_ours()
        with upsweep.awkward.kernels():
            assert is_ours()
        assert is_ours()
    assert not upsweep.awkward.registered() and cpu_kernels.kernel == AWKWARDS


def test_context_restores_after_an_error():
    with pytest.raises(KeyError), upsweep.awkward.kernels():
        raise KeyError
    assert cpu_kernels.kernel == AWKWARDS


def test_context_leaves_what_was_registered():
    upsweep.awkward.register()
    with upsweep.awkward.kernels():
        pass
    assert upsweep.awkward.registered() and is_ours()


def test_unregister_within_a_context_acts_at_its_end():
    with upsweep.awkward.kernels():
        upsweep.awkward.register()
        upsweep.awkward.unregister()
        assert upsweep.awkward.registered() and is_ours()
    assert cpu_kernels.kernel == AWKWARDS


def test_contexts_of_threads_overlap():
    array = ak.Array([[1.0, 2.0], [], [3.0]])
    failures = []

    def work():
        for _ in range(100):
            with upsweep.awkward.kernels():
                if not is_ours() or ak.sum(array, axis=1).tolist() != [3.0, 0.0, 3.0]:
                    failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert cpu_kernels.kernel == AWKWARDS


# ------------------------------------------------------------------------------------------------------ what is missing


def test_says_which_library_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(_libraries, "_FOLDER", tmp_path)
    registration = _table.Registration()
    with pytest.raises(ImportError, match=r"libupsweep-awkward\.so is not in .*: .*install upsweep again"):
        registration.register()
    assert not registration.registered()
    assert cpu_kernels.kernel == AWKWARDS


def fake_kernel(name, argtypes, restype=AWKWARDS[SUM].restype):
    kernel = ctypes.CDLL(None)["abs"]
    kernel.__name__, kernel.argtypes, kernel.restype, kernel.dir = name, argtypes, restype, []
    return kernel


@pytest.fixture
def register_in(monkeypatch):
    """register_in(table, version) registers in a table of Awkward, and returns the warnings."""
    registrations = []

    def register(table, version):
        monkeypatch.setattr(_table, "awkward_table", lambda: table)
        monkeypatch.setattr(_table.importlib.metadata, "version", lambda name: version)
        registrations.append(_table.Registration())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            registrations[-1].register()
        return [str(warning.message) for warning in caught]

    yield register
    for registration in registrations:
        registration.unregister()


def test_is_silent_about_the_version_that_it_was_tested_with(register_in):
    assert register_in(dict(AWKWARDS), "57") == []


def test_warns_of_another_version(register_in):
    table = dict(AWKWARDS)
    (message,) = register_in(table, "58")
    assert message == "upsweep has kernels for awkward-cpp 57, not for 58: no kernel is replaced"
    assert table == AWKWARDS


def test_leaves_kernels_whose_arguments_have_changed(register_in):
    name = AWKWARDS[SUM].__name__
    fake = fake_kernel(name, AWKWARDS[SUM].argtypes + [ctypes.c_int64])
    table = dict(AWKWARDS) | {SUM: fake}
    (message,) = register_in(table, "57")
    assert f"1 kernels differ from that version and are not replaced ({name})" in message
    assert table[SUM] is fake
    ours = ("awkward_reduce_prod", np.float64, np.float64, np.int64)
    assert table[ours] is not AWKWARDS[ours]


def test_leaves_kernels_whose_errors_have_changed(register_in):
    class Other(ctypes.Structure):
        _fields_ = [("str", ctypes.c_char_p)]

    fake = fake_kernel(AWKWARDS[SUM].__name__, AWKWARDS[SUM].argtypes, Other)
    table = dict(AWKWARDS) | {SUM: fake}
    (message,) = register_in(table, "57")
    assert "1 kernels differ" in message
    assert table[SUM] is fake


def test_leaves_methods_whose_arguments_have_changed(monkeypatch, register_in):
    def _carry(self, carry):
        pass

    monkeypatch.setattr(ak.contents.NumpyArray, "_carry", _carry)
    (message,) = register_in(dict(AWKWARDS), "57")
    assert message.startswith(
        "functions of awkward differ from those that upsweep was tested with (NumpyArray._carry): upsweep replaces"
    )
    assert ak.contents.NumpyArray._carry is _carry
    assert "_getitem" not in vars(ak.contents.ListOffsetArray)


def test_leaves_functions_that_are_gone(monkeypatch, register_in):
    monkeypatch.delattr(ak.operations, "ak_mean")
    (message,) = register_in(dict(AWKWARDS), "57")
    assert "tested with (awkward.operations._impl)" in message


def test_puts_no_hooks_in_another_awkward(monkeypatch, register_in):
    carry = ak.contents.NumpyArray._carry
    monkeypatch.setattr(ak, "__version__", "2.99.0")
    table = dict(AWKWARDS)
    (message,) = register_in(table, "57")
    assert message.startswith(
        "upsweep was tested with awkward 2.14.0, not with 2.99.0: upsweep replaces only kernels on the CPU"
    )
    assert ak.contents.NumpyArray._carry is carry and not _memory.memory.keeps
    assert table[SUM] is not AWKWARDS[SUM]


def test_warns_of_the_callers_line_and_again_where_that_is_an_error(monkeypatch):
    monkeypatch.setattr(ak, "__version__", "2.99.0")

    def register():
        upsweep.awkward.register()

    def context():
        with upsweep.awkward.kernels():
            pass

    for call in (register, context):
        monkeypatch.setattr(_table, "_registration", _table.Registration())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                with pytest.raises(RuntimeWarning, match=r"2\.99\.0"):
                    call()
        assert not upsweep.awkward.registered() and cpu_kernels.kernel == AWKWARDS
        with pytest.warns(RuntimeWarning) as caught:
            call()
        line = call.__code__.co_firstlineno + 1
        assert [(each.filename, each.lineno) for each in caught] == [(__file__, line)]
        upsweep.awkward.unregister()


def test_leaves_what_another_has_put_in_the_place_of_ours(monkeypatch):
    owner, awkwards = ak.contents.NumpyArray, ak.contents.NumpyArray._carry
    monkeypatch.setattr(owner, "_carry", awkwards)  # restored after the test, and so is this:
    monkeypatch.setitem(cpu_kernels.kernel, SUM, AWKWARDS[SUM])
    upsweep.awkward.register()
    ours, calls = owner._carry, []

    def patch(*arguments):
        calls.append(arguments)
        return ours(*arguments)

    def kernel(*arguments):
        return AWKWARDS[SUM](*arguments)

    owner._carry = patch
    cpu_kernels.kernel[SUM] = kernel
    for _ in range(2):
        upsweep.awkward.unregister()
        assert owner._carry is patch and cpu_kernels.kernel[SUM] is kernel
        assert ak.Array([1.0, 2.0])[np.array([1])].tolist() == [2.0] and len(calls) > 0
        upsweep.awkward.register()
        assert owner._carry is not patch and cpu_kernels.kernel[SUM] is not kernel
    upsweep.awkward.unregister()


@pytest.mark.parametrize("table", [{}, {SUM: object()}])
def test_leaves_a_table_that_it_does_not_know(register_in, table):
    before = dict(table)
    (message,) = register_in(table, "57")
    assert "are not replaced" in message and "0 are replaced" in message
    assert table == before


# --------------------------------------------------------------------------------------------------------- same results

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
REDUCERS = ["sum", "prod", "min", "max", "any", "all", "count", "count_nonzero", "argmin", "argmax"]


def jagged(rng, dtype, lists=3000, mean=3.0):
    counts = rng.poisson(mean, lists)
    counts[rng.integers(0, lists, 3)] = 200
    elements = int(counts.sum())
    if dtype == "bool":
        content = rng.random(elements) < 0.5
    elif dtype.startswith("float"):
        content = rng.normal(size=elements).astype(dtype)
        content[rng.integers(0, elements, 20)] = np.nan
        content[rng.integers(0, elements, 20)] = -0.0
    else:
        content = rng.integers(0, 100, elements).astype(dtype)
    return ak.unflatten(content, counts)


def same(operation):
    """Checks that results with our kernels have the bits, lengths, types and layout of those without them."""
    theirs = operation()
    with upsweep.awkward.kernels():
        ours = operation()
    assert ours.layout.form == theirs.layout.form
    form, length, buffers = ak.to_buffers(ak.to_packed(ours))
    their_form, their_length, their_buffers = ak.to_buffers(ak.to_packed(theirs))
    assert form == their_form and length == their_length
    for name, buffer in buffers.items():
        assert buffer.dtype == their_buffers[name].dtype
        assert buffer.tobytes() == their_buffers[name].tobytes(), name


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("reducer", REDUCERS)
def test_reducers(reducer, dtype):
    array = jagged(np.random.default_rng(1), dtype)
    missing = ak.mask(array, jagged(np.random.default_rng(1), "int64") > 30)
    reduce = getattr(ak, reducer)
    same(lambda: reduce(array, axis=1))
    same(lambda: reduce(array, axis=1, keepdims=True))
    same(lambda: reduce(missing, axis=1))
    same(lambda: reduce(array[::-1], axis=1))


def arrays():
    rng = np.random.default_rng(2)
    first = jagged(rng, "float64", 40_000)
    counts = ak.num(first)
    return first, ak.unflatten(rng.normal(size=int(ak.sum(counts))), counts), jagged(rng, "float64", 40_000)


FIRST, LIKE, OTHER = arrays()
MASK = ak.values_astype(FIRST > 0, bool)
PERMUTED = FIRST[np.random.default_rng(3).permutation(len(FIRST))]
MISSING = ak.mask(FIRST, MASK)
RECORDS = ak.zip({"a": FIRST, "b": LIKE})
SHORT = ak.contents.ListOffsetArray(ak.index.Index32(FIRST.layout.offsets.data.astype(np.int32)), FIRST.layout.content)
NESTED = ak.unflatten(FIRST, ak.num(ak.unflatten(np.zeros(len(FIRST)), [3, 0, 7, len(FIRST) - 10])))
OPERATIONS = {
    "mask": lambda: FIRST[MASK],
    "mask of float32": lambda: ak.values_astype(FIRST, np.float32)[MASK],
    "mask of complex numbers": lambda: ak.values_astype(FIRST, complex)[MASK],
    "mask of dates": lambda: ak.values_astype(ak.values_astype(LIKE, int), "datetime64[s]")[MASK],
    "mask of words": lambda: ak.unflatten(ak.Array(["one", "two", "three"] * 4), [5, 0, 7])[
        ak.unflatten(np.arange(12) % 3 > 0, [5, 0, 7])
    ],
    "mask of a part": lambda: FIRST[5:-5][MASK[5:-5]],
    "mask of options": lambda: MISSING[MASK],
    "mask of lists of another order": lambda: PERMUTED[PERMUTED > 0],
    "mask that is shorter": lambda: FIRST[ak.Array([[True]] * 0 + [[]] * len(FIRST))],
    "mask of nothing": lambda: FIRST[FIRST > 1e300],
    "mask with named axes": lambda: ak.with_named_axis(FIRST, ("events", "hits"))[MASK],
    "mask of records, a field": lambda: ak.zip({"a": FIRST, "b": LIKE})[MASK].b,
    "carry from the end": lambda: ak.Array(ak.flatten(FIRST).layout)[np.arange(-1, -50_000, -1)],
    "carry of booleans": lambda: ak.flatten(MASK)[np.arange(50_000) * 2],
    "mask of records": lambda: ak.zip({"a": FIRST, "b": LIKE})[MASK],
    "mask with missing": lambda: FIRST[ak.mask(MASK, LIKE > 0)],
    "mask of nested lists": lambda: NESTED[NESTED > 0],
    "mask of permuted lists": lambda: PERMUTED[PERMUTED > 0],
    "indices": lambda: FIRST[ak.argsort(FIRST, axis=1)],
    "indices with missing": lambda: FIRST[ak.argmax(FIRST, axis=1, keepdims=True)],
    "range": lambda: FIRST[:, :1],
    "range from the end": lambda: FIRST[:, -2:],
    "range backwards": lambda: FIRST[:, ::-1],
    "range with a step": lambda: FIRST[:, 1:7:3],
    "range with a step backwards": lambda: FIRST[:, 5:0:-2],
    "range of permuted lists": lambda: PERMUTED[:, 1:],
    "element": lambda: FIRST[ak.num(FIRST) > 1][:, -2],
    "firsts": lambda: ak.firsts(FIRST),
    "sort": lambda: ak.sort(FIRST, axis=1),
    "argsort": lambda: ak.argsort(FIRST, axis=1, ascending=False),
    "combinations": lambda: ak.combinations(FIRST, 2),
    "argcombinations": lambda: ak.argcombinations(FIRST[:2000], 3, replacement=True),
    "cartesian": lambda: ak.cartesian([FIRST[:2000], OTHER[:2000]]),
    "cartesian, nested": lambda: ak.cartesian([FIRST[:2000], OTHER[:2000]], nested=True),
    "concatenate": lambda: ak.concatenate([FIRST, OTHER], axis=1),
    "concatenate three": lambda: ak.concatenate([FIRST, OTHER, LIKE], axis=1),
    "concatenate lists": lambda: ak.concatenate([FIRST, OTHER], axis=0),
    "concatenate other types": lambda: ak.concatenate([FIRST, ak.values_astype(OTHER, np.float32)], axis=1),
    "where": lambda: ak.where(MASK, FIRST, LIKE),
    "where with lists and numbers": lambda: ak.where(ak.num(FIRST) > 2, ak.num(FIRST), ak.num(OTHER)),
    "to_packed": lambda: ak.to_packed(PERMUTED),
    "flatten": lambda: ak.flatten(PERMUTED),
    "ravel": lambda: ak.ravel(PERMUTED),
    "local_index": lambda: ak.local_index(FIRST),
    "num": lambda: ak.num(FIRST),
    "pad_none": lambda: ak.pad_none(FIRST, 2),
    "pad_none beyond": lambda: ak.pad_none(FIRST, 12),
    "pad_none of permuted lists": lambda: ak.pad_none(PERMUTED, 3),
    "pad_none with clip": lambda: ak.pad_none(FIRST, 2, clip=True),
    "pad_none of records": lambda: ak.pad_none(ak.num(FIRST)[:10], 20, axis=0),
    "fill_none": lambda: ak.fill_none(MISSING, -1.0),
    "drop_none": lambda: ak.drop_none(MISSING),
    "is_none": lambda: ak.is_none(MISSING, axis=1),
    "mean": lambda: ak.mean(FIRST, axis=1),
    "variance": lambda: ak.var(FIRST, axis=1),
    "sum of the missing": lambda: ak.sum(MISSING, axis=1),
    "sum of nested lists": lambda: ak.sum(NESTED, axis=-1),
    "sum across lists": lambda: ak.sum(FIRST, axis=0),
    "sums of permuted lists": lambda: PERMUTED + PERMUTED,
    "broadcast": lambda: FIRST + np.arange(len(FIRST)),
    "lists of short offsets carried": lambda: ak.Array(SHORT)[np.arange(20_000) * 2],
    "lists of short offsets, broadcast": lambda: ak.Array(SHORT) + np.arange(len(FIRST)),
    "concatenate lists of short offsets": lambda: ak.concatenate([ak.Array(SHORT), FIRST, ak.Array(SHORT)[::-1]], axis=1),
    "concatenate permuted lists": lambda: ak.concatenate([PERMUTED, FIRST[::-1], OTHER], axis=1),
    "concatenate records": lambda: ak.concatenate([RECORDS, RECORDS[::-1]], axis=1),
    "concatenate records with other fields": lambda: ak.concatenate([RECORDS, ak.zip({"a": OTHER})], axis=1),
    "concatenate named records": lambda: ak.concatenate([ak.with_name(RECORDS, "P"), RECORDS], axis=1),
    "concatenate options": lambda: ak.concatenate([FIRST, MISSING], axis=1),
    "concatenate with a number": lambda: ak.concatenate([FIRST, 7.0], axis=1),
    "concatenate nested lists": lambda: ak.concatenate([NESTED, NESTED], axis=1),
    "concatenate inner lists": lambda: ak.concatenate([NESTED, NESTED], axis=2),
    "field of carried records": lambda: RECORDS[::-1].b,
    "field of chosen records": lambda: ak.flatten(RECORDS)[np.arange(-1, -50_000, -1)].b,
    "records carried": lambda: ak.to_packed(RECORDS[np.arange(20_000) * 2]),
    "cartesian of records": lambda: ak.cartesian({"x": RECORDS[:20_000], "y": FIRST[:20_000]}),
    "cartesian of records, nested": lambda: ak.cartesian([FIRST[:20_000], RECORDS[20_000:40_000]], nested=True),
    "cartesian of three": lambda: ak.cartesian([FIRST[:20_000], OTHER[:20_000], LIKE[:20_000]]),
    "broadcast options": lambda: FIRST + ak.mask(np.arange(len(FIRST)), ak.num(FIRST) > 2),
    "broadcast records": lambda: ak.broadcast_arrays(ak.zip({"a": np.arange(len(FIRST))}), FIRST)[0],
    "where with a number": lambda: ak.where(MASK, FIRST, 0.0),
    "where with other types": lambda: ak.where(MASK, FIRST, ak.values_astype(LIKE, np.int64)),
    "where with options": lambda: ak.where(MASK, MISSING, LIKE),
    "where with records": lambda: ak.where(ak.num(FIRST) > 2, ak.firsts(RECORDS), ak.firsts(RECORDS[::-1])),
    "mean of integers": lambda: ak.mean(ak.values_astype(LIKE * 100, np.int64), axis=-1),
    "mean of float32": lambda: ak.mean(ak.values_astype(FIRST, np.float32), axis=1),
    "mean of booleans": lambda: ak.mean(MASK, axis=1),
    "mean of complex numbers": lambda: ak.mean(FIRST + 1j, axis=1),
    "mean of permuted lists": lambda: ak.mean(PERMUTED, axis=1),
    "mean, of a part": lambda: ak.mean(FIRST[7:], axis=1),
    "mean with weights": lambda: ak.mean(FIRST, weight=LIKE, axis=1),
    "mean, kept": lambda: ak.mean(FIRST, axis=1, keepdims=True),
    "mean, masked": lambda: ak.mean(FIRST, axis=1, mask_identity=True),
    "mean of options": lambda: ak.mean(MISSING, axis=1),
    "mean of nested lists": lambda: ak.mean(NESTED, axis=-1),
    "option carried": lambda: MISSING[:, ::-1],
    "unions": lambda: ak.concatenate([ak.concatenate([FIRST[:99], ak.Array(["a"] * 99)]), ak.Array([True, False])]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    same(OPERATIONS[name])


def test_few_lists():
    for lists in (0, 1, 2, 10):
        array = FIRST[:lists]
        same(lambda array=array: ak.sum(array, axis=1))
        same(lambda array=array: array[array > 0])
        same(lambda array=array: ak.concatenate([array, array], axis=1))
        same(lambda array=array: ak.pad_none(array, 3))
        same(lambda array=array: array[:, :2])


# ---------------------------------------------------------------------------------------------------------- same errors

ERRORS = {
    "a mask that is longer": lambda: FIRST[ak.Array([[True] * 300] * len(FIRST))],
    "a mask of other lists": lambda: FIRST[:10][MASK],
    "a carry past the end": lambda: ak.Array(ak.flatten(FIRST).layout)[np.arange(10_000_000, 10_050_000)],
    "an index past the end": lambda: FIRST[ak.Array([[0], [99]] + [[]] * (len(FIRST) - 2))],
    "a slice of another length": lambda: ak.Array([[[1, 2], [3]]])[ak.Array([[[0]]])],
    "an element of an empty list": lambda: FIRST[:, 0],
    "lists that do not broadcast": lambda: FIRST + OTHER,
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    def message():
        with pytest.raises((ValueError, IndexError)) as caught:
            ERRORS[name]()
        # The rest of the message names the file and line of the kernel.
        return type(caught.value), str(caught.value).split("(in compiled code")[0]

    theirs = message()
    with upsweep.awkward.kernels():
        assert message() == theirs


def test_examples_of_docstrings():
    results = doctest.testmod(_table)
    assert results.attempted == 7 and results.failed == 0


# ------------------------------------------------------------------------------------- the same, of arrays of any shape


@contextlib.contextmanager
def few():
    """Makes hooks handle arrays of a few elements, in blocks of two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_carries, "MANY", 0)
        patch.setattr(_joins, "MANY", 0)
        patch.setattr(_missing, "MANY", 0)
        patch.setattr(_ufuncs, "LARGE", 0)
        patch.setattr(_ufuncs, "WORTH", 0)
        patch.setattr(_ufuncs, "PAGE", 16)
        patch.setattr(_ufuncs, "LEAST", 1)
        patch.setattr(_ufuncs, "MULTIPLE", 1)
        yield


NUMBERS = st.sampled_from(["bool", "int8", "uint32", "int64", "float32", "float64", "complex128"])


@st.composite
def some_lists(draw, count=None, options=True):
    """Lists of numbers or of records, some of them missing, sliced, permuted or with starts and stops."""
    counts = draw(st.lists(st.integers(0, 4), min_size=count or 0, max_size=count or 6))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    spare = draw(st.integers(0, 2))
    numbers = rng.integers(-9, 9, sum(counts) + spare).astype(draw(NUMBERS))
    content = ak.contents.NumpyArray(numbers)
    if draw(st.booleans()) and options:
        content = ak.contents.ByteMaskedArray(ak.index.Index8(rng.integers(0, 2, len(numbers))), content, True)
    if draw(st.booleans()):
        content = ak.contents.RecordArray([content, ak.contents.NumpyArray(np.arange(len(numbers)))], ["x", "y"])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64) + draw(st.integers(0, spare))
    offsets = offsets.astype(draw(st.sampled_from(["int64", "int32", "uint32"])))
    array = ak.Array(ak.contents.ListOffsetArray(ak.index.Index(offsets), content))
    order = rng.permutation(len(counts)) if draw(st.booleans()) else slice(None)
    return array[order]


def outcome(operation):
    """Returns the packed result of an operation, or its error."""
    try:
        array = operation()
        form, length, buffers = ak.to_buffers(ak.to_packed(array))
    except (ValueError, TypeError, IndexError, KeyError) as error:  # a KeyError: Awkward has no such kernel
        return type(error), str(error).split("(in compiled code")[0]
    # Forms are equal whatever their parameters are.
    return (
        array.layout.form.to_dict(),
        form.to_dict(),
        length,
        {name: (buffer.dtype, buffer.tobytes()) for name, buffer in buffers.items()},
    )


def same_outcome(operation):
    theirs = outcome(operation)
    with few(), upsweep.awkward.kernels():
        assert outcome(operation) == theirs


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_operations_on_any_lists(data):
    a = data.draw(some_lists())
    b = data.draw(some_lists(len(a)) if len(a) else some_lists())
    index = data.draw(st.lists(st.integers(-len(a) - 1, len(a)), max_size=5))
    same_outcome(lambda: a)
    same_outcome(lambda: ak.flatten(a))
    same_outcome(lambda: a[np.array(index, np.int64)])
    same_outcome(lambda: a[np.array(index, np.int64)][:, ::-1])
    same_outcome(lambda: ak.concatenate([a, b], axis=1))
    same_outcome(lambda: ak.concatenate([a, b, a], axis=-1))
    same_outcome(lambda: ak.cartesian([a, b]))
    same_outcome(lambda: ak.cartesian({"a": a, "b": b}, nested=True))
    same_outcome(lambda: ak.combinations(a, 2))
    same_outcome(lambda: ak.mean(a, axis=1))
    same_outcome(lambda: ak.mean(a, axis=-1, keepdims=True))
    same_outcome(lambda: ak.where(ak.num(a) > 1, a, b))
    same_outcome(lambda: ak.broadcast_arrays(np.arange(len(a)), a)[0])


@settings(deadline=None, max_examples=100)
@given(some_lists(options=False), some_lists(options=False), st.data())
def test_fields_and_sums_of_any_lists(a, b, data):
    index = np.array(data.draw(st.lists(st.integers(-3, 12), max_size=9)), np.int64)
    if a.fields:
        same_outcome(lambda: ak.flatten(a)[index].y)
        same_outcome(lambda: a[::-1].x + 1)
        a = a.x
    same_outcome(lambda: ak.flatten(a)[index])
    same_outcome(lambda: a * a)
    same_outcome(lambda: a + b)
    same_outcome(lambda: a + np.arange(len(a)))
    same_outcome(lambda: ak.where(a == 0, a, a + 1))
    same_outcome(lambda: ak.concatenate([a, a], axis=1) ** 2)


@st.composite
def by_index(draw, count=None):
    """Numbers or records by an index, some of them missing, from any range of the content."""
    count = draw(st.integers(0, 400)) if count is None else count
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    is_option = draw(st.sampled_from([True, True, False]))
    index = rng.integers(draw(st.integers(0, 3)), 8, count)
    if is_option:
        missing = rng.random(count) < draw(st.sampled_from([0, 0.3, 1]))
        index[missing] = rng.integers(-2, 0, missing.sum())
    content = ak.contents.NumpyArray(np.arange(9).astype(draw(NUMBERS)))
    if draw(st.booleans()):
        content = ak.contents.RecordArray([content, ak.contents.NumpyArray(np.arange(9))], ["x", "y"])
    made = ak.index.Index(index.astype(draw(st.sampled_from(["int64", "int64", "int32"]))))
    kind = ak.contents.IndexedOptionArray if is_option else ak.contents.IndexedArray
    return ak.Array(kind(made, content, parameters=draw(st.sampled_from([None, {"a": 1}]))))


@settings(deadline=None, max_examples=200)
@given(by_index(), by_index())
def test_joins_of_any_index(a, b):
    same_outcome(lambda: ak.concatenate([a, b]))
    same_outcome(lambda: ak.concatenate([a, b, a]))
    same_outcome(lambda: ak.concatenate([a[:, np.newaxis], a[:, np.newaxis]], axis=1))
    same_outcome(lambda: ak.where(ak.is_none(a), a, a))
    if not (a.fields or b.fields):
        same_outcome(lambda: ak.concatenate([a, b]) * 2)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from([0, 1, 7, 300]).flatmap(lambda n: st.tuples(*[by_index(count=n)] * 5)))
def test_operations_on_several_arrays_with_missing_elements(arrays):
    a, b = arrays[:2]
    same_outcome(lambda: a + a)
    same_outcome(lambda: a + b)
    same_outcome(lambda: a * np.arange(len(a)))
    same_outcome(lambda: 2 - b)
    same_outcome(lambda: ak.broadcast_arrays(a, np.arange(len(a)), b)[1])
    for count in (3, 4, 5):
        for i in range(count):
            same_outcome(lambda i=i, count=count: ak.broadcast_arrays(*arrays[:count])[i])
    same_outcome(lambda: ak.zip({"a": a, "b": b}))
    for shorter in (b[:-1], ak.to_packed(b[:-1])):
        same_outcome(lambda shorter=shorter: a + shorter)
    if a.fields:
        same_outcome(lambda: a.x + a.y)
    pairs = ak.zip({"p": a, "q": b}, depth_limit=1)
    same_outcome(lambda: ak.mask(pairs, np.arange(len(a)) % 3 > 0).p == b)


def test_positions_out_of_range():
    records = ak.contents.RecordArray([ak.contents.NumpyArray(np.arange(3.0))], ["x"])
    for index in ([0, 3], [-4, 0], [2, -3]):
        lazy = ak.contents.IndexedArray(ak.index.Index64(np.array(index)), records)
        same_outcome(lambda lazy=lazy: ak.Array(lazy).x)
        same_outcome(lambda index=index: ak.Array(records)[index].x)


def test_records_without_fields():
    index = np.array([2, 0, 1, 1])
    for records in (ak.contents.RecordArray([], [], length=3), ak.contents.RecordArray([], None, length=3)):
        same_outcome(lambda records=records: ak.Array(records)[index])
        same_outcome(lambda records=records: ak.to_packed(ak.Array(records)[index]))
        same_outcome(lambda records=records: ak.to_numpy(ak.Array(records)))
    unknown = ak.contents.RecordArray([], [], length=ak._nplikes.shape.unknown_length)
    same_outcome(lambda: unknown._carry(ak.index.Index64(index), True).form)


MANY = 20_000


def one_each(content):
    """Records of one field, one in each list."""
    records = ak.contents.RecordArray([content], ["x"], length=MANY)
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(np.arange(MANY + 1)), records))


def records_of_types():
    empty = ak.contents.RecordArray([ak.contents.EmptyArray()], ["x"], length=0)
    types = {name: ak.contents.NumpyArray(np.arange(MANY).astype(name)) for name in ("i8", "i2", "u2", "f4", "?", "M8[s]")}
    return {
        "nothing": ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(np.zeros(MANY + 1, np.int64)), empty)),
        "words": one_each(ak.Array(["q"] * MANY).layout),
        "options": one_each(ak.contents.ByteMaskedArray(ak.index.Index8(np.arange(MANY) % 2), types["i8"], True)),
        "unions": one_each(ak.concatenate([np.arange(9), ["a"] * (MANY - 9)]).layout),
        **{name: one_each(content) for name, content in types.items()},
    }


RECORDS_OF = records_of_types()


@pytest.mark.parametrize("first", RECORDS_OF)
def test_concatenates_records_of_any_three_types(first):
    for others in itertools.permutations(RECORDS_OF.keys() - {first}, 2):
        arrays = [RECORDS_OF[name] for name in (first, *others)]
        theirs = outcome(lambda arrays=arrays: ak.concatenate(arrays, axis=1))
        with upsweep.awkward.kernels():
            assert outcome(lambda arrays=arrays: ak.concatenate(arrays, axis=1)) == theirs, others


def test_unions_of_wrong_arguments():
    numbers = [ak.contents.NumpyArray(np.arange(3.0)), ak.contents.NumpyArray(np.arange(2.0))]
    tags, index = np.array([0, 1, 0], np.int8), np.array([0, 0, 1])
    indices = ak.index.Index8(tags), ak.index.Index64(index)
    for union in (ak.contents.UnionArray, OtherUnion):
        for arguments in (
            lambda: (*indices, []),
            lambda: (*indices, iter(numbers)),
            lambda: (*indices, tuple(numbers)),
            lambda: (*indices, None),
            lambda: (*indices, [1, 2]),
            lambda: (tags, index, numbers),
            lambda: (indices[0], index, numbers),
            lambda: (*indices, numbers),
            lambda: (*indices, [numbers[0], ak.contents.EmptyArray()]),
            lambda: (*indices, [numbers[0], ak.Array(["a", "b"]).layout]),
        ):

            def result(union=union, arguments=arguments):
                try:
                    return repr(union.simplified(*arguments()))
                except (AttributeError, IndexError, TypeError, ValueError) as error:
                    return type(error), str(error)

            theirs = result()
            with few(), upsweep.awkward.kernels():
                assert result() == theirs


class OtherUnion(ak.contents.UnionArray):
    pass


def test_means_tell_of_underflow():
    tiny = ak.unflatten(np.full(3 * MANY, 5e-324), 3)[: MANY - 1]
    tiny = ak.concatenate([tiny, ak.Array([[1e-308, 1e-308, 7e-309]])])
    with upsweep.awkward.kernels(), np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        ak.mean(tiny, axis=1)


def test_typetracers_have_no_data():
    def form(operation):
        first, records = (ak.Array(array.layout.to_typetracer(forget_length=True)) for array in (FIRST, RECORDS))
        return operation(first, records).layout.form

    index = np.arange(3)
    for operation in (
        lambda first, records: ak.concatenate([first, first], axis=1),
        lambda first, records: ak.mean(first, axis=1),
        lambda first, records: ak.where(first > 0, first, first),
        lambda first, records: ak.to_packed(first[index] + 1),
        lambda first, records: ak.cartesian([first, records[index]]),
        lambda first, records: ak.flatten(records)[index],
        lambda first, records: records[::-1].b,
    ):
        theirs = form(operation)
        with few(), upsweep.awkward.kernels():
            assert form(operation) == theirs


# ----------------------------------------------------------------------------------------------------- ufuncs in blocks

REAL = np.random.default_rng(5).normal(size=400_000)
UFUNCS = {
    "of two arrays": lambda x: x + x[::-1],
    "of an array and a number": lambda x: 2 * x,
    "of a NumPy number": lambda x: np.float32(2) * ak.values_astype(x, np.float32),
    "of an integer and floats": lambda x: x ** ak.values_astype(x * 3, np.int16),
    "of bytes": lambda x: ak.values_astype(x, np.int8) + np.int8(100),
    "of integers and booleans": lambda x: ak.values_astype(x * 9, np.int32) + (x > 0),
    "of one array": lambda x: np.cos(x),
    "with a comparison": lambda x: x > 1,
    "of booleans": lambda x: ~((x > 0) & (x < 1)),
    "of complex numbers": lambda x: np.exp(1j * x),
    "of every second": lambda x: np.sinh(ak.Array(REAL[::2])),
    "with two results": lambda x: np.modf(x)[0],
    "of dates": lambda x: ak.Array((REAL * 9e9).astype("datetime64[s]")) + np.timedelta64(1, "s"),
    "of lists": lambda x: np.arctan2(ak.unflatten(x, 4), ak.unflatten(x, 4) + 1),
}


WHOLE = {"with two results", "of dates"}


@pytest.fixture
def in_blocks(monkeypatch):
    """Returns the names of ufuncs that were computed in blocks, however fast they are."""
    monkeypatch.setattr(_ufuncs, "WORTH", 0)
    done, apply = [], _ufuncs._apply

    def spy(ufunc, *args):
        done.append(ufunc.__name__)
        return apply(ufunc, *args)

    monkeypatch.setattr(_ufuncs, "_apply", spy)
    return done


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_in_blocks(name, in_blocks):
    array = ak.Array(REAL)
    same(lambda: UFUNCS[name](array))
    assert (len(in_blocks) > 0) == (name not in WHOLE)


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("ufunc", [np.fmin, np.fmax, np.minimum, np.maximum])
def test_ufuncs_of_zeros_have_numpys_signs(ufunc, threads, in_blocks):
    """NumPy's vectors and its loop for the rest of an array return zeros of different signs: blocks must not have such
    a rest."""
    zeros = np.zeros(700_001)
    zeros[1::2] = -0.0
    one, other = ak.Array(zeros), ak.Array(-zeros)
    theirs = np.signbit(ufunc(one, other).layout.data)
    with upsweep.options(threads=threads), upsweep.awkward.kernels():
        ours = np.signbit(ufunc(one, other).layout.data)
    assert in_blocks == [ufunc.__name__]
    assert np.array_equal(theirs, ours)


def test_ufuncs_that_are_fast_run_on_one_thread(in_blocks, monkeypatch):
    """The time of each call determines how the next one runs."""
    monkeypatch.setattr(_ufuncs, "WORTH", 400e-6)
    now, seconds = [0.0], [0.0]

    def clock():
        now[0] += seconds[0]
        return now[0]

    array = np.ones(500_000)
    nplike = ak._backends.numpy.NumpyBackend.instance().nplike

    def add():
        del in_blocks[:]
        assert nplike.apply_ufunc(np.add, "__call__", [array, array])[-1] == 2
        return len(in_blocks)

    with upsweep.options(threads=2), upsweep.awkward.kernels():
        monkeypatch.setattr(_ufuncs.time, "perf_counter", clock)
        add()  # another test may have measured it
        assert add() == 0
        seconds[0] = 1.0
        assert [add(), add(), add()] == [0, 1, 1]
        seconds[0] = 0.0
        assert [add(), add(), add()] == [1, 0, 0]


def test_ufuncs_on_one_thread(in_blocks):
    with upsweep.options(threads=1):
        same(lambda: ak.Array(REAL) * 2)
    assert in_blocks == []


ROOTS = np.concatenate([np.ones(300_000), [-1.0, 0.0], np.ones(300_000), [-2.0]])


def test_ufuncs_warn_once(in_blocks):
    def warned():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.sqrt(ak.Array(ROOTS))
            np.log(ak.Array(ROOTS))
            ak.Array(ROOTS * 1e300) * 1e300
            with np.errstate(all="ignore"):
                np.sqrt(ak.Array(ROOTS))
        return sorted((each.category, str(each.message)) for each in caught if each.category is RuntimeWarning)

    theirs = warned()
    assert len(theirs) == 4
    with upsweep.awkward.kernels():
        assert warned() == theirs
    assert in_blocks == ["sqrt", "log", "multiply", "sqrt"]


def test_ufuncs_raise_what_the_caller_wants_raised():
    with upsweep.awkward.kernels(), np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="in sqrt"):
        np.sqrt(ak.Array(ROOTS))


DIVISORS = np.ones(3_000_000)
DIVISORS[[10, -10]] = 0.0
DIVIDENDS = np.ones(3_000_000)
DIVIDENDS[10] = 0.0


def test_ufuncs_tell_of_errors_in_numpys_order(in_blocks):
    x, y, reported = ak.Array(DIVIDENDS), ak.Array(DIVISORS), []

    def note(*error):
        reported.append(error)

    with upsweep.awkward.kernels():
        for _ in range(20):
            with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
                x / y
            reported.clear()
            with np.errstate(all="call", call=note):
                x / y
            assert reported == [("divide by zero", 9), ("invalid value", 9)]
            reported.clear()
            with np.errstate(divide="ignore", invalid="call", call=note):
                x / y
            assert reported == [("invalid value", 9)]
    assert in_blocks == ["divide"] * 60


def test_ufuncs_warn_where_awkward_does(in_blocks):
    def warned(*filters):
        with warnings.catch_warnings(record=True) as caught:
            warnings.resetwarnings()
            for action, module in filters:
                warnings.filterwarnings(action, module=module)
            with np.errstate(all="warn"):
                for _ in range(2):
                    ak.Array(DIVIDENDS) / ak.Array(DIVISORS)
                    ak.Array(DIVIDENDS.astype(np.float32)) * 1e300
        return [(each.category, str(each.message), each.filename, each.lineno) for each in caught]

    always = warned(("always", ""))
    assert len(always) == 8 and len(warned(("default", ""))) == 4
    with upsweep.awkward.kernels():
        assert warned(("always", "")) == always
        assert warned(("default", "")) == always[:4]
        assert warned(("always", ""), ("ignore", "awkward")) == []
    assert in_blocks == ["divide"] * 6  # if an error is reported, Awkward computes the whole array


NUMBER_LAYOUTS = {
    "numbers": lambda n: ak.contents.NumpyArray(np.arange(3.0) + n),
    "one number": lambda n: ak.contents.NumpyArray(np.array([n])),
    "numbers by index": lambda n: ak.contents.IndexedArray(ak.index.Index64([2, n, 0]), ak.contents.NumpyArray(np.arange(4))),
    "numbers by index with parameters": lambda n: ak.contents.IndexedArray(ak.index.Index64([2, n, 0]), ak.contents.NumpyArray(np.arange(4)), parameters={"a": n}),
    "numbers with parameters": lambda n: ak.contents.NumpyArray(np.arange(3), parameters={"a": n}),
    "numbers in two dimensions": lambda n: ak.contents.NumpyArray(np.full((3, 2), n)),
    "complex numbers": lambda n: ak.contents.NumpyArray(np.full(3, n + 1j)),
    "dates": lambda n: ak.contents.NumpyArray(np.full(3, n).astype("datetime64[s]")),
    "lists": lambda n: lists_of(np.float32([n, 1, 2, 3, 4])),
    "lists of fewer elements than there are": lambda n: lists_of(np.arange(7)),
    "other lists": lambda n: lists_of(np.arange(5), offsets=[0, 2, 3, 5]),
    "lists that begin later": lambda n: lists_of(np.arange(6), offsets=[1, 4, 4, 6]),
    "lists with offsets of 32 bits": lambda n: lists_of(np.arange(5), index=ak.index.Index32),
    "lists with parameters": lambda n: lists_of(np.arange(5), parameters={"a": n}),
    "lists of numbers with parameters": lambda n: lists_of(ak.contents.NumpyArray(np.arange(5), parameters={"a": n})),
    "lists by index": lambda n: lists_of(ak.contents.IndexedArray(ak.index.Index64([4, 1, 0, 2, 2, 3]), ak.contents.NumpyArray(np.arange(5)))),
    "lists by an index out of range": lambda n: lists_of(ak.contents.IndexedArray(ak.index.Index64([4, 1, 0, 2, 2]), ak.contents.NumpyArray(np.arange(3)))),
    "lists of lists": lambda n: lists_of(lists_of(np.arange(9), offsets=np.arange(6))),
    "lists of one size": lambda n: ak.contents.RegularArray(ak.contents.NumpyArray(np.arange(6)), 2),
    "lists of nothing": lambda n: lists_of(np.zeros(0), offsets=[0, 0, 0, 0]),
    "no lists": lambda n: lists_of(np.zeros(0), offsets=[0]),
    "nothing": lambda n: ak.contents.EmptyArray(),
}  # fmt: skip


def lists_of(content, offsets=(0, 3, 3, 5), index=ak.index.Index64, parameters=None):
    content = ak.contents.NumpyArray(content) if isinstance(content, np.ndarray) else content
    return ak.contents.ListOffsetArray(index(np.asarray(offsets)), content, parameters=parameters)


SCALARS = [2, 2.5, True, 2**63, -(2**63), np.float32(1.5), np.uint8(3), np.longdouble(2), np.timedelta64(1, "s"), 1j, None,
           "a", np.arange(3), np.arange(3.0)[:, np.newaxis]]  # fmt: skip


@pytest.mark.parametrize("name", NUMBER_LAYOUTS)
def test_ufuncs_of_numbers_and_lists(name):
    one = ak.Array(NUMBER_LAYOUTS[name](1))
    others = [*(ak.Array(make(0)) for make in NUMBER_LAYOUTS.values()), *SCALARS]
    for ufunc in (np.add, np.power, np.less, np.arctan2, np.bitwise_and, np.matmul):
        for other in others:
            same_result(lambda ufunc=ufunc, other=other: ufunc(one, other))
            same_result(lambda ufunc=ufunc, other=other: ufunc(other, one))
    for ufunc in (np.sqrt, np.negative, np.modf):
        same_result(lambda ufunc=ufunc: ufunc(one))
    same_result(lambda: np.add(one, one, dtype=np.float32))
    same_result(lambda: np.add.reduce(one))


def same_result(operation):
    """Checks the layout, its bits and the error, which mentions where a kernel was compiled."""

    def result():
        try:
            with np.errstate(all="ignore"):
                array = operation()
        except Exception as error:  # noqa: BLE001 - errors are compared
            return type(error), str(error).partition("(in compiled code")[0].partition("See if")[0]
        form, length, buffers = ak.to_buffers(array) if isinstance(array, ak.Array) else (None, repr(array), {})
        return form, length, {name: (each.dtype, each.shape, each.tolist()) for name, each in buffers.items()}

    theirs = result()
    with upsweep.awkward.kernels():
        assert repr(result()) == repr(theirs)


def test_ufuncs_keep_names_attributes_and_behavior(monkeypatch):
    lists = NUMBER_LAYOUTS["lists"](1)
    named = ak.Array(lists, named_axis=("event", "jet"))
    noted = ak.Array(lists, attrs={"a": 1})
    behaving = ak.Array(lists, behavior={"a": 1})

    def states():
        arrays = [named + 1, noted + named, ak.Array(lists) * noted, noted < 2.0, behaving - noted]
        return [
            (each.attrs.to_dict() if hasattr(each.attrs, "to_dict") else dict(each.attrs), each.behavior) for each in arrays
        ]

    theirs = states()
    with upsweep.awkward.kernels():
        assert states() == theirs

    class Celsius:
        pass

    class Seven(float):
        pass

    monkeypatch.setitem(ak.behavior, ("__cast__", Celsius), lambda _: ak.contents.NumpyArray(np.array([5.0])))
    monkeypatch.setitem(ak.behavior, ("__cast__", float), lambda _: 8.0)
    with upsweep.awkward.kernels():
        assert (ak.Array([1.0, 2.0]) + Celsius()).to_list() == [6, 7]
        assert (ak.Array([1.0, 2.0]) + 0.5).to_list() == [9, 10]
        assert (ak.Array([1.0, 2.0]) + Seven(7)).to_list() == [9, 10]


@pytest.mark.parametrize("number", [3, -(2**63), 2**63 - 1, 2**63, 2.5, float("nan"), True, np.float32(1), "a", None, 1j])
@pytest.mark.parametrize("policy", ["pass-through", "promote", "error"])
def test_numbers_as_layouts(number, policy):
    same_result(
        lambda: ak.Array(ak.to_layout([number])) if policy == "error" else ak.to_layout(number, primitive_policy=policy)
    )

    def kinds():
        try:
            made = ak.to_layout(number, primitive_policy=policy, none_policy="pass-through", string_policy="pass-through")
        except Exception as error:  # noqa: BLE001 - errors are compared
            return type(error)
        return type(made), repr(made)

    theirs = kinds()
    with upsweep.awkward.kernels():
        assert kinds() == theirs


def test_ufuncs_take_few_steps(monkeypatch):
    """Numbers, and lists with the same offsets, are not broadcast."""
    monkeypatch.setattr(ak._broadcasting, "broadcast_and_apply", None)
    lists, numbers = ak.Array(NUMBER_LAYOUTS["lists by index"](1)), ak.Array([1.0, 2.0])
    with upsweep.awkward.kernels():
        assert np.sqrt(lists * lists + 0.0).to_list() == lists.to_list()
        assert (2 * numbers < 3).to_list() == [True, False]


def in_another_process(code):
    result = subprocess.run([sys.executable, "-c", PREAMBLE + code], check=False, capture_output=True, text=True, timeout=3600)
    return result.stdout, result.stderr


PREAMBLE = """
import atexit, threading, time
import awkward as ak, numpy as np, upsweep, upsweep.awkward
upsweep.awkward.register()
upsweep.awkward._ufuncs.WORTH = 0
x = ak.Array(np.arange(500_000.0))

def add():
    with upsweep.options(threads=4):
        print(ak.sum(x + 1))
"""


def test_ufuncs_when_python_ends():
    code = """
def work():
    time.sleep(0.3)
    add()
atexit.register(work)
threading.Thread(target=work).start()
"""
    assert in_another_process(code) == ("125000250000.0\n" * 2, "")


@pytest.mark.parametrize("are_there", [0, 1, 2])
def test_ufuncs_where_there_are_no_more_threads(are_there):
    code = f"""
start, left = threading.Thread.start, [{are_there}]
def refused(thread):
    if left[0] == 0:
        raise RuntimeError("can't start new thread")
    left[0] -= 1
    start(thread)
threading.Thread.start = refused
for _ in range(30):
    add()
    left = [{are_there}]
"""
    assert in_another_process(code) == ("125000250000.0\n" * 30, "")


def test_ufuncs_raise_what_a_helper_raises():
    caller = threading.get_ident()

    helpers = threading.Event()

    def work():
        if threading.get_ident() != caller:
            helpers.set()
            raise MemoryError("a helper has none")
        helpers.wait(60)

    with pytest.raises(MemoryError, match="a helper has none"):
        _ufuncs.Pool().run(work, 2)


def test_ufuncs_of_threads(in_blocks):
    array = ak.Array(REAL)
    expected = np.cos(array).to_numpy()
    differ = []

    def work():
        for _ in range(20):
            if not np.array_equal(np.cos(array).to_numpy(), expected):
                differ.append(1)

    with upsweep.awkward.kernels():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not differ and len(in_blocks) == 80


# -------------------------------------------------------------------------------------------------- memory that is kept


@pytest.fixture
def memory(monkeypatch):
    monkeypatch.setattr(_memory, "LEAST", 1000)
    monkeypatch.setattr(_memory, "KEPT", 10_000)
    memory = _memory.Memory()
    memory.keep(True)
    return memory


def test_memory_is_used_again_when_no_view_of_it_is_left(memory):
    first = memory.empty(1000, np.float32)
    at, view = first.ctypes.data, first[10:20].view(np.int32)
    view[:] = 7
    del first
    assert memory.empty(500, np.int64).ctypes.data != at
    assert view.tolist() == [7] * 10
    del view
    again = memory.empty(450, np.int64)
    assert again.ctypes.data == at and again.dtype == np.int64 and len(again) == 450 and again.flags.writeable


def test_memory_that_is_kept_is_bounded(memory):
    arrays = [memory.empty(500, np.int64) for _ in range(9)]
    assert len({each.ctypes.data for each in arrays}) == 9
    del arrays
    assert 0 < sum(map(len, memory._idle)) <= 10_000
    assert not memory._used
    late = memory.empty(500, np.int64)
    memory.keep(False)
    assert memory._idle == []
    del late
    assert memory._idle == []
    assert memory.empty(500, np.int64).base is None


def test_memory_of_other_sizes_and_types(memory):
    large = memory.empty(5000, np.uint8).ctypes.data
    small = memory.empty(1100, np.uint8)
    assert small.ctypes.data != large, "a block of more than twice the size must not be reused"
    assert memory.empty(10, np.float64).base is None
    assert memory.empty(2000, object).base is None


def test_elements_of_no_bytes_have_no_memory(memory, monkeypatch):
    monkeypatch.setattr(_memory, "LEAST", 0)
    empty = memory.empty(2000, np.dtype([]))
    assert empty.base is None and empty.shape == (2000,)
    assert memory.empty(0, np.int64).base is None


def test_memory_of_threads(memory):
    differ = []

    def work(number):
        for i in range(300):
            array = memory.empty(150 + i % 7, np.int64)
            array[:] = number
            if not (array == number).all():
                differ.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not differ and not memory._used


@pytest.mark.parametrize("length", [10, 1200])
def test_memory_that_is_kept_is_freed_where_there_is_none(memory, monkeypatch, length):
    empty = np.empty

    def empty_where_nothing_is_kept(*arguments):
        if memory._idle:
            raise MemoryError
        return empty(*arguments)

    keep_some(memory)
    monkeypatch.setattr(_memory.np, "empty", empty_where_nothing_is_kept)
    array = memory.empty(length, np.int64)
    assert len(array) == length and memory._idle == []


def keep_some(memory):
    array = memory.empty(500, np.int64)
    del array
    assert memory._idle


def test_awkwards_own_arrays_have_the_memory_that_is_kept(memory, monkeypatch):
    monkeypatch.setattr(_memory, "memory", memory)
    numpy_like = ak._backends.numpy.NumpyBackend.instance().nplike
    with upsweep.awkward.kernels():
        keep_some(memory)
        with pytest.raises(MemoryError, match=r"\(1048576, 1073741824\) and data type float64"):
            numpy_like.empty((2**20, 2**30), dtype=np.float64)
        assert memory._idle == []
        with pytest.raises(MemoryError, match=r"\(1125899906842624,\) and data type float64"):
            numpy_like.empty(2**50, dtype=np.float64)


def test_memory_that_is_kept_is_a_small_part_of_what_there_is(monkeypatch, tmp_path):
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text(f"{160 * 1024 * 1024}\n")
    files = (tmp_path / "max", tmp_path / "limit", tmp_path / "none")
    assert _memory.memory_there_is() > 160 * 1024 * 1024
    monkeypatch.setattr(_memory, "LEAST", 1000)
    memory = _memory.Memory()
    memory.keep(True)
    monkeypatch.setattr(_memory, "LIMITS_OF_CONTAINERS", files)
    assert _memory.memory_there_is() == 160 * 1024 * 1024
    for elements, kept in ((9, 1), (11, 0)):
        array = memory.empty(elements * 2**20, np.uint8)
        del array
        assert len(memory._idle) == kept


def test_unregister_frees_what_was_kept(monkeypatch):
    monkeypatch.setattr(_memory, "LEAST", 1000)
    monkeypatch.setattr(_ufuncs, "WORTH", 0)  # a ufunc on one thread allocates its own memory
    with upsweep.awkward.kernels():
        array = ak.Array(REAL) * 2
        assert array.layout.data.base is not None
        del array
        gc.collect()
        assert len(_memory.memory._idle) == 1
    assert _memory.memory._idle == []
