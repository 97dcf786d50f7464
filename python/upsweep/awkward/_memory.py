# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_memory.py: memory of large arrays that are gone, kept for the next: new pages cost as much as many operations.
import threading
import weakref

import numpy as np

# What is smaller malloc keeps itself: glibc's gives back to the system what has more than 32 MiB.
LEAST = 32 * 1024 * 1024
# What is kept at most. Awkward's temporaries are gone soon: a few of them are enough.
KEPT = 1024 * 1024 * 1024


class Memory:
    def __init__(self):
        self._lock = threading.RLock()  # arrays may be freed while one is made
        self._idle = []
        self._used = {}  # by the id of a weak reference to an array: that, and the array's memory
        self.keeps = False

    def empty(self, length, dtype):
        """np.empty of one dimension: what it is a view of gives the memory back when the last view of it is gone."""
        dtype = np.dtype(dtype)
        size = int(length) * dtype.itemsize
        if not self.keeps or not size or size < LEAST or dtype.hasobject:
            return np.empty(length, dtype)
        block = self._found(size)
        if block is None:
            block = np.empty(size, np.uint8)
        # NumPy's views refer to the first array that has memory of another object: that is this one.
        owner = np.frombuffer(memoryview(block), np.uint8)
        reference = weakref.ref(owner, self._give_back)
        self._used[id(reference)] = reference, block
        return owner[:size].view(dtype)

    def keep(self, keeps):
        """Whether memory is kept; what is kept is freed where not."""
        with self._lock:
            self.keeps = keeps
            if not keeps:
                self._idle.clear()

    def _found(self, size):
        """The smallest block of at least so many bytes, the latest of these; one of twice as many is not for this array."""
        with self._lock:
            fitting = [block for block in reversed(self._idle) if size <= len(block) <= 2 * size]
            if not fitting:
                return None
            found = min(fitting, key=len)
            self._idle = [block for block in self._idle if block is not found]
            return found

    def _give_back(self, reference):
        _, block = self._used.pop(id(reference))
        with self._lock:
            self._idle.append(block)
            # The oldest are of no use to what is computed now.
            while self._idle and (not self.keeps or sum(map(len, self._idle)) > KEPT):
                self._idle.pop(0)


memory = Memory()


def hooks(native):
    import awkward as ak

    def make(theirs):
        def empty(self, shape, *, dtype=None):
            if type(shape) is int and dtype is not None and memory.keeps:
                return memory.empty(shape, dtype)
            return theirs(self, shape, dtype=dtype)

        return empty

    return [(type(ak._backends.numpy.NumpyBackend.instance().nplike), "empty", make, "self shape dtype")]
