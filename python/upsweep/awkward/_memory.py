# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_memory.py: reuses the memory of freed large arrays: new pages take the time of many operations.
import contextlib
import functools
import os
import resource
import threading
import weakref
from pathlib import Path

import numpy as np

# Smaller blocks are kept by malloc itself: glibc's malloc returns blocks of more than 32 MiB to the system.
LEAST = 32 * 1024 * 1024
LARGEST_ELEMENT = 16  # bytes, of those that Awkward has
# The maximum memory to keep, in bytes and as a share of the available memory. Awkward's temporaries are freed soon: a
# few of them are enough.
KEPT, SHARE = 1024 * 1024 * 1024, 1 / 16
LIMITS_OF_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_there_is():
    """The available memory in bytes: the machine's, or the limit of its container or of this process."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min([memory_of_container(LIMITS_OF_CONTAINERS), *(each for each in limits if each != resource.RLIM_INFINITY)])


@functools.cache
def memory_of_container(files):
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in files:
        with contextlib.suppress(OSError, ValueError):  # the file does not exist, or contains "max"
            sizes.append(int(Path(file).read_text(encoding="ascii")))
    return min(sizes)


def most_to_keep():
    return min(KEPT, int(memory_there_is() * SHARE))


class Memory:
    def __init__(self):
        self._lock = threading.RLock()  # arrays may be freed while one is made
        self._idle = []
        self._used = {}  # id of a weak reference to an array: (the reference, the array's memory)
        self.keeps = False

    def empty(self, length, dtype):
        """np.empty of one dimension. The result is a view of an array that returns the memory when its last view is freed."""
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
        # NumPy's views refer to the first array that uses another object's memory, which is this one.
        owner = np.frombuffer(memoryview(block), np.uint8)
        reference = weakref.ref(owner, self._give_back)
        self._used[id(reference)] = reference, block
        return owner[:size].view(dtype)

    def keep(self, keeps):
        """Sets whether memory is kept; if not, frees the memory that was kept."""
        with self._lock:
            self.keeps = keeps
        if keeps:
            most_to_keep()  # the first call reads files, which must not happen while an array is freed
        else:
            self.free()

    def free(self):
        """Frees the memory that was kept; returns whether there was any."""
        with self._lock:
            idle, self._idle = self._idle, []
        return bool(idle)

    def _found(self, size):
        """The smallest kept block of at least `size` bytes, the latest of equals. Blocks of more than twice the size are not used."""
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
            # The oldest blocks are unlikely to be useful for current computations.
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
