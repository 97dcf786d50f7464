# SPDX-License-Identifier: Apache-2.0
# tests/python/test_fuse_without_gpu.py: the tests of fused functions on a GPU, with a module that stands for CuPy.
"""In a separate process: Awkward's CUDA backend and the module of emulated_cupy.py remain in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("awkward")


def test_fused_functions_of_an_emulated_gpu():
    test = Path(__file__).with_name("test_fuse_gpu.py")
    arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    made = subprocess.run(
        arguments, env={**os.environ, "UPSWEEP_EMULATED_CUPY": "1"}, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert " passed" in made.stdout
