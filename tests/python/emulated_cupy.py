# SPDX-License-Identifier: Apache-2.0
# tests/python/emulated_cupy.py: a module `cupy` in host memory, for tests of fused functions of Awkward's CUDA backend.
"""install() puts it into sys.modules. Awkward's kernels and upsweep's plans then run on the CPU. The emulation does not show the
results of a GPU's code, streams, or calls that CuPy lacks. The process must not use another CuPy afterwards.
"""

import sys
import types

import numpy as np


class ndarray(np.ndarray):
    """An array that NumPy does not accept as its own."""

    __module__ = "cupy"
    device = types.SimpleNamespace(id=0)

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)

    def get(self):
        return np.array(self.view(np.ndarray), copy=True)

    def item(self, *args):
        return self.view(np.ndarray).item(*args)

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


def _theirs(x):
    if isinstance(x, np.ndarray) and not isinstance(x, ndarray):
        return x.view(ndarray)
    if isinstance(x, tuple | list):
        return type(x)(map(_theirs, x))
    return np.asarray(x).view(ndarray) if isinstance(x, np.generic | bool) else x


class _Module(types.ModuleType):
    ndarray = ndarray

    def __getattr__(self, name):
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found
        return lambda *args, **kwargs: _theirs(found(*args, **kwargs))

    @staticmethod
    def asnumpy(x):
        return x.get()


class _Device:
    def __init__(self, number=None):
        self.id = number or 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        pass


class _Stream(_Device):
    ptr = 7

    def __init__(self, non_blocking=False):
        pass


def _ours(x):
    return x.view(np.ndarray) if isinstance(x, ndarray) else x


def _kernel(kernel):
    return lambda *args: kernel(*map(_ours, args))


run_on_gpu = None  # upsweep's own function


def _run(plan, read, columns, parameters, events):
    """As upsweep._device_plans.run()."""
    assert all(isinstance(columns[i], ndarray) for i in read), "a column that is not in the memory of the GPU"
    made = plan.run(list(map(_ours, columns)), parameters, events, 1)
    if isinstance(made, tuple):
        return made
    bins = len(made) - plan.histograms
    return [_theirs(x) for x in made[:bins]] + made[bins:]


def install():
    module = _Module("cupy")
    module.cuda = types.SimpleNamespace(Device=_Device, Stream=_Stream, get_current_stream=_Stream)
    sys.modules["cupy"] = module
    import awkward as ak
    from upsweep import _device_plans

    global run_on_gpu
    run_on_gpu = _device_plans.run
    numpy_like, backend = ak._nplikes.numpy.Numpy, ak._backends.cupy.CupyBackend
    numpy_like.is_own_array_type = classmethod(lambda cls, of: issubclass(of, np.ndarray) and not issubclass(of, ndarray))
    backend.__getitem__ = lambda self, index: _kernel(ak._backends.numpy.NumpyBackend.instance()[index])
    backend.prepare_reducer = lambda self, reducer: reducer
    _device_plans.run = _run
