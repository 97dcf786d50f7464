# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_memory.py: memory of large arrays that are gone, kept for the next: new pages cost as much as many operations.
import contextlib
import functools
import os
import resource
import threading
import weakref
from pathlib import Path

import numpy as np

# What is smaller malloc keeps itself: glibc's gives back to the system what has more than 32 MiB.
LEAST = 32 * 1024 * 1024
LARGEST_ELEMENT = 16  # bytes, of those that Awkward has
# What is kept at most, and of the memory that there is. Awkward's temporaries are gone soon: a few of them are enough.
KEPT, SHARE = 1024 * 1024 * 1024, 1 / 16
LIMITS_OF_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_there_is():
    """Bytes: the machine's, or as many as its container or this process may have."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min([memory_of_container(LIMITS_OF_CONTAINERS), *(each for each in limits if each != resource.RLIM_INFINITY)])


@functools.cache
def memory_of_container(files):
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in files:
        with contextlib.suppress(OSError, ValueError):  # there is none, or "max"
            sizes.append(int(Path(file).read_text(encoding="ascii")))
    return min(sizes)


def most_to_keep():
    return min(KEPT, int(memory_there_is() * SHARE))


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
        is_kept = self.keeps and size >= max(LEAST, 1) and not dtype.hasobject
        block = self._found(size) if is_kept else None
        if block is None:
            try:
                array = np.empty(length, dtype)
            except MemoryError:
                if not self.free():
                    raise
                array = np.empty(length, dtype)
            if not is_kept:
                return array
            block = array.view(np.uint8)
        # NumPy's views refer to the first array that has memory of another object: that is this one.
        owner = np.frombuffer(memoryview(block), np.uint8)
        reference = weakref.ref(owner, self._give_back)
        self._used[id(reference)] = reference, block
        return owner[:size].view(dtype)

    def keep(self, keeps):
        """Whether memory is kept; what is kept is freed where not."""
        with self._lock:
            self.keeps = keeps
        if keeps:
            most_to_keep()  # the first time this reads files: not where an array is freed
        else:
            self.free()

    def free(self):
        """Frees what is kept, and says whether it was anything."""
        with self._lock:
            idle, self._idle = self._idle, []
        return bool(idle)

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
        most = most_to_keep() if self.keeps else 0
        with self._lock:
            self._idle.append(block)
            # The oldest are of no use to what is computed now.
            while self._idle and (not self.keeps or sum(map(len, self._idle)) > most):
                self._idle.pop(0)


memory = Memory()


def hooks(native):
    import awkward as ak

    def make(theirs):
        def empty(self, shape, *, dtype=None):
            if type(shape) is int and shape * LARGEST_ELEMENT >= LEAST and dtype is not None and memory.keeps:
                return memory.empty(shape, dtype)
            try:
                return theirs(self, shape, dtype=dtype)
            except MemoryError:
                if not memory.free():
                    raise
                return theirs(self, shape, dtype=dtype)

        return empty

    return [(type(ak._backends.numpy.NumpyBackend.instance().nplike), "empty", make, "self shape dtype")]
