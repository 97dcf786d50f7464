# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_ufuncs.py: runs NumPy's ufuncs on large arrays in blocks, with several threads.
import collections
import concurrent.futures
import os
import threading
import time

import awkward as ak
import numpy as np

from upsweep._options import current
from upsweep.awkward._memory import memory

# The minimum number of elements, and the time in seconds on one thread, for which other threads are worth their cost.
# Waking them, and Python's code between blocks, take some 100 us. A sum of 10^6 floats takes 170 us on one thread and
# 180 us on two. Their roots take 360 and 300 us.
LARGE, WORTH = 128 * 1024, 400e-6
# The time per element that is assumed for a ufunc's first call.
UNKNOWN = 0.4e-9
# Size of a block's output in bytes: a page of the larger kind. Two threads that write to one page would both wait for
# it. For arrays of few pages, blocks are smaller: four blocks per thread, but at least LEAST elements. LEAST elements
# take some 20 us with the fastest ufuncs.
PAGE, LEAST = 2 * 1024 * 1024, 32 * 1024
# Blocks are whole numbers of NumPy's buffers, and therefore of its vectors. NumPy's code for the remainder of an array
# may produce other bits (fmin of 0.0 and -0.0). It must run at the same position as in a call on all elements.
MULTIPLE = 8 * 1024
# NumPy's names of floating-point errors in its messages, and in its settings.
ERRORS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


class Pool:
    """Threads in addition to the caller's. They start when they are first needed, and again in a forked process."""

    def __init__(self):
        self._lock = threading.Lock()
        self._executor = None
        self._threads = 0
        os.register_at_fork(after_in_child=self.__init__)

    def run(self, work, threads):
        """Runs work() on up to `threads` threads, including the caller's; returns when no thread runs it any more."""
        helpers = [concurrent.futures.Future() for _ in range(threads - 1)]
        if helpers:
            self._start(helpers, work)
        work()
        for helper in helpers:
            if not helper.cancel():  # a helper that has not begun has nothing left to do
                helper.result()

    def _start(self, helpers, work):
        """Starts each helper on a separate thread. If the system has no more threads, or Python is about to exit, the existing
        threads do the work."""
        executor = None
        try:
            executor = self._started(len(helpers))
            for helper in helpers:
                executor.submit(_help, helper, work)
        except RuntimeError:
            with self._lock:
                if self._executor is executor:
                    self._executor = None  # it would hold the work that it could not start, and thereby the arrays

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

    rates = {}  # the time per element in seconds on one thread, of the latest call of a ufunc with these types

    def make(theirs):
        def apply_ufunc(self, ufunc, method, args, kwargs=None):
            if method == "__call__" and not kwargs:
                for x in args:
                    if type(x) is np.ndarray and x.size >= LARGE:
                        return of_large(x, self, ufunc, args)
            return theirs(self, ufunc, method, args, kwargs)

        def of_large(x, self, ufunc, args):
            def call(elements):
                return theirs(self, ufunc, "__call__", elements, None)

            kind = (ufunc, *(x.dtype if type(x) is np.ndarray else type(x) for x in args))
            if rates.get(kind, UNKNOWN) * x.size >= WORTH:
                result = in_blocks(ufunc, args, x.shape, call)
                if result is not None:
                    out, rates[kind] = result
                    return out
            begin = time.perf_counter()
            out = call(args)
            rates[kind] = (time.perf_counter() - begin) / max(x.size, 1)
            return out

        return apply_ufunc

    return [(numpy_like, "apply_ufunc", make, "self ufunc method args kwargs")]


def in_blocks(ufunc, args, shape, theirs):
    """Computes ufunc(*args) as Awkward calls it: the arguments have types that the ufunc supports. Returns the result, and the time
    per element of a typical block. Returns None if this call must be left to Awkward. Errors are reported by theirs(elements), Awkward's own call on some elements of the arguments."""
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
    except FloatingPointError:  # a number that its type cannot represent, which Awkward reports
        return None
    out = memory.empty(shape[0], types[-1])
    noted, rate = _apply(ufunc, wholes, types, out, threads)
    # NumPy passes all errors, also ignored ones, to the caller's error function.
    if any(np.geterr()[kind] != "ignore" for kind in noted):
        theirs([_elements_of(x, noted.values()) for x in args])
    return out, rate


def _elements_of(x, blocks):
    """The elements of an argument that are in these blocks."""
    return np.concatenate([x[begin:end] for begin, end in sorted(set(blocks))]) if np.ndim(x) else x


def _type_of(x, shape):
    """An argument's type for ufunc resolution: Python numbers adopt the type of the others. None: not supported here."""
    if type(x) is np.ndarray:
        return x.dtype if x.shape in (shape, ()) else None
    if type(x) is bool:
        return np.dtype(np.bool_)
    if type(x) in (int, float, complex):
        return type(x)
    return x.dtype if isinstance(x, np.generic) else None


def _apply(ufunc, wholes, types, out, threads):
    """Applies the ufunc to all blocks. Returns the kinds of errors, each with a block that has it, and the median time per element."""
    blocks = collections.deque(_blocks(out, threads))
    noted, rates = {}, []

    def work():
        while True:
            try:
                block = begin, end = blocks.popleft()
            except IndexError:
                return
            start = time.perf_counter()
            with np.errstate(all="call", call=lambda error, _, block=block: noted.setdefault(ERRORS[error], block)):
                elements = (np.asarray(x[begin:end], dtype=kind) if x.ndim else x for x, kind in zip(wholes, types))
                ufunc(*elements, out=out[begin:end])
            rates.append((time.perf_counter() - start) / max(end - begin, 1))

    _pool.run(work, threads)
    return noted, sorted(rates)[len(rates) // 2]


def _blocks(out, threads):
    """The ranges of the blocks: about one page each, if each thread then has four or more blocks."""
    size = len(out)
    if out.nbytes >= 4 * threads * PAGE:
        step = PAGE // out.itemsize
        ends = list(range(-out.ctypes.data % PAGE // out.itemsize // MULTIPLE * MULTIPLE or step, size, step))
    else:
        step = max(LEAST, -(-size // (4 * threads * MULTIPLE)) * MULTIPLE)
        ends = list(range(step, size, step))
    return zip([0, *ends], [*ends, size])
