# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_ufuncs.py: NumPy's ufuncs on large arrays, a block at a time, by several threads.
import collections
import concurrent.futures
import os
import threading

import awkward as ak
import numpy as np

from upsweep._options import current
from upsweep.awkward._memory import memory

# From so many elements on it is worth it to wake a thread (some 50 us).
LARGE = 128 * 1024
# Bytes of a block's output, a page of the larger kind: two threads that write to one both wait for it. Where there are
# few pages, blocks have as many elements as give each thread four, and LEAST at least: some 20 us of the fastest
# ufuncs.
PAGE, LEAST = 2 * 1024 * 1024, 32 * 1024
# Blocks are whole numbers of NumPy's buffers, and so of its vectors: what NumPy does to the rest of an array may have
# other bits (fmin of 0.0 and -0.0), and must come at the same place as in a call on all elements.
MULTIPLE = 8 * 1024
# What NumPy calls these where it tells of them, and in its settings.
ERRORS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


class Pool:
    """Threads besides the caller's, started when they are first needed, and again in a process that was forked."""

    def __init__(self):
        self._lock = threading.Lock()
        self._executor = None
        self._threads = 0
        os.register_at_fork(after_in_child=self.__init__)

    def run(self, work, threads):
        """work() on up to so many threads, the caller's one of them: it returns when none is at it."""
        helpers = [concurrent.futures.Future() for _ in range(threads - 1)]
        if helpers:
            self._start(helpers, work)
        work()
        for helper in helpers:
            if not helper.cancel():  # one that has not begun has nothing left to do
                helper.result()

    def _start(self, helpers, work):
        """Each helper does the work on a thread of its own; where the system has no more threads, or Python is about to end, those
        that there are do it."""
        executor = None
        try:
            executor = self._started(len(helpers))
            for helper in helpers:
                executor.submit(_help, helper, work)
        except RuntimeError:
            with self._lock:
                if self._executor is executor:
                    self._executor = None  # it would keep what it could not start, and the arrays with that

    def _started(self, threads):
        with self._lock:
            if self._executor is None or self._threads < threads:
                self._executor = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="upsweep")
                self._threads = threads
            return self._executor


def _help(helper, work):
    if helper.set_running_or_notify_cancel():
        try:
            helper.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            helper.set_exception(error)


_pool = Pool()


def hooks(native):
    numpy_like = type(ak._backends.numpy.NumpyBackend.instance().nplike)

    def make(theirs):
        def apply_ufunc(self, ufunc, method, args, kwargs=None):
            if method == "__call__" and not kwargs:
                for x in args:
                    if type(x) is np.ndarray and x.size >= LARGE:
                        result = in_blocks(ufunc, args, x.shape, lambda elements: theirs(self, ufunc, method, elements, kwargs))
                        if result is not None:
                            return result
                        break
            return theirs(self, ufunc, method, args, kwargs)

        return apply_ufunc

    return [(numpy_like, "apply_ufunc", make, "self ufunc method args kwargs")]


def in_blocks(ufunc, args, shape, theirs):
    """ufunc(*args) as Awkward calls it: arguments have the types that the ufunc is for. None where that is not for us. Errors are
    reported by theirs(elements), Awkward's own call on some elements of the arguments."""
    threads = current().threads or len(os.sched_getaffinity(0))
    if threads < 2 or len(shape) != 1 or type(ufunc) is not np.ufunc or ufunc.nout != 1 or ufunc.signature is not None:
        return None
    known = [_type_of(x, shape) for x in args]
    if any(kind is None for kind in known):  # not `in`: NumPy's float64 is equal to None
        return None
    types = ufunc.resolve_dtypes((*known, None))
    if any(kind.hasobject or kind.kind not in "biufc" for kind in types):
        return None
    try:
        with np.errstate(all="raise"):
            wholes = [x if np.ndim(x) else np.asarray(x, dtype=kind) for x, kind in zip(args, types)]
    except FloatingPointError:  # a number that its type cannot hold, which Awkward reports
        return None
    out = memory.empty(shape[0], types[-1])
    noted = _apply(ufunc, wholes, types, out, threads)
    # NumPy gives the caller's function all errors, those that are ignored, too.
    if any(np.geterr()[kind] != "ignore" for kind in noted):
        theirs([_elements_of(x, noted.values()) for x in args])
    return out


def _elements_of(x, blocks):
    """The elements of an argument that are in these blocks."""
    return np.concatenate([x[begin:end] for begin, end in sorted(set(blocks))]) if np.ndim(x) else x


def _type_of(x, shape):
    """An argument's type as ufuncs resolve it: Python's numbers take that of the others. None: not for us."""
    if type(x) is np.ndarray:
        return x.dtype if x.shape in (shape, ()) else None
    if type(x) is bool:
        return np.dtype(np.bool_)
    if type(x) in (int, float, complex):
        return type(x)
    return x.dtype if isinstance(x, np.generic) else None


def _apply(ufunc, wholes, types, out, threads):
    """Returns the kinds of errors, and for each a block that has it."""
    blocks = collections.deque(_blocks(out, threads))
    noted = {}

    def work():
        while True:
            try:
                block = begin, end = blocks.popleft()
            except IndexError:
                return
            with np.errstate(all="call", call=lambda error, _, block=block: noted.setdefault(ERRORS[error], block)):
                elements = (np.asarray(x[begin:end], dtype=kind) if x.ndim else x for x, kind in zip(wholes, types))
                ufunc(*elements, out=out[begin:end])

    _pool.run(work, threads)
    return noted


def _blocks(out, threads):
    """Where blocks begin and end: near pages, where each thread has four and more."""
    size = len(out)
    if out.nbytes >= 4 * threads * PAGE:
        step = PAGE // out.itemsize
        ends = list(range(-out.ctypes.data % PAGE // out.itemsize // MULTIPLE * MULTIPLE or step, size, step))
    else:
        step = max(LEAST, -(-size // (4 * threads * MULTIPLE)) * MULTIPLE)
        ends = list(range(step, size, step))
    return zip([0, *ends], [*ends, size])
