# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_ufuncs.py: NumPy's ufuncs on large arrays, a piece at a time, by several threads.
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
# Bytes of a piece's output, a page of the larger kind: two threads that write to one both wait for it. Where there are few
# pages, pieces have as many elements as give each thread four, and LEAST at least: some 20 us of the fastest ufuncs.
PAGE, LEAST = 2 * 1024 * 1024, 32 * 1024
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
        """work() on so many threads, the caller's one of them: it returns when none is at it."""
        helpers = [self._started(threads - 1).submit(work) for _ in range(threads - 1)]
        work()
        for helper in helpers:
            if not helper.cancel():  # one that has not begun has nothing left to do
                helper.result()

    def _started(self, threads):
        with self._lock:
            if self._executor is None or self._threads < threads:
                self._executor = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="upsweep")
                self._threads = threads
            return self._executor


_pool = Pool()


def hooks(native):
    numpy_like = type(ak._backends.numpy.NumpyBackend.instance().nplike)

    def make(theirs):
        def apply_ufunc(self, ufunc, method, args, kwargs=None):
            if method == "__call__" and not kwargs:
                for x in args:
                    if type(x) is np.ndarray and x.size >= LARGE:
                        result = in_pieces(ufunc, args, x.shape)
                        if result is not None:
                            return result
                        break
            return theirs(self, ufunc, method, args, kwargs)

        return apply_ufunc

    return [(numpy_like, "apply_ufunc", make, "self ufunc method args kwargs")]


def in_pieces(ufunc, args, shape):
    """ufunc(*args) as Awkward calls it: arguments have the types that the ufunc is for. None where that is not for us."""
    threads = current().threads or len(os.sched_getaffinity(0))
    if threads < 2 or len(shape) != 1 or type(ufunc) is not np.ufunc or ufunc.nout != 1 or ufunc.signature is not None:
        return None
    known = [_type_of(x, shape) for x in args]
    if any(kind is None for kind in known):  # not `in`: NumPy's float64 is equal to None
        return None
    types = ufunc.resolve_dtypes((*known, None))
    if any(kind.hasobject or kind.kind not in "biufc" for kind in types):
        return None
    wholes = [x if np.ndim(x) else np.asarray(x, dtype=kind) for x, kind in zip(args, types)]
    out = memory.empty(shape[0], types[-1])
    _apply(ufunc, wholes, types, out, threads)
    return out


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
    pieces = collections.deque(_pieces(out, threads))
    told = {}  # kind of error → a piece that has it

    def apply(begin, end):
        parts = (np.asarray(x[begin:end], dtype=kind) if x.ndim else x for x, kind in zip(wholes, types))
        ufunc(*parts, out=out[begin:end])

    def work():
        while True:
            try:
                piece = pieces.popleft()
            except IndexError:
                return
            with np.errstate(all="call", call=lambda error, _, piece=piece: told.setdefault(ERRORS[error], piece)):
                apply(*piece)

    _pool.run(work, threads)
    _tell(told, lambda piece: apply(*piece))


def _pieces(out, threads):
    """Where pieces begin and end: at pages, where each thread has four and more."""
    size = len(out)
    if out.nbytes >= 4 * threads * PAGE:
        step = PAGE // out.itemsize
        ends = list(range(-out.ctypes.data % PAGE // out.itemsize or step, size, step))
    else:
        step = max(LEAST, -(-size // (4 * threads)))
        ends = list(range(step, size, step))
    return zip([0, *ends], [*ends, size])


def _tell(told, again):
    """Errors that the caller is to know of: a piece that has one is done again as the caller has it, who is told once."""
    told = {kind: piece for kind, piece in told.items() if np.geterr()[kind] != "ignore"}
    while told:
        kind = next(iter(told))
        others = {other: "ignore" for other in ERRORS.values() if other != kind}
        with np.errstate(**others):
            again(told.pop(kind))
