#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/awkward/run_generated.sh: LIBRARY SDIST [PYTEST-OPTION…] — runs the kernel tests of awkward-cpp's source distribution,
# unpacked in SDIST, against libupsweep-awkward.so, and against awkward-cpp for kernels that it has not.
# Needs a Python ($PYTHON, else python3) with awkward-cpp of the same version, NumPy and pytest:
#   pip install awkward-cpp==57 numpy pytest && pip download --no-deps --no-binary :all: awkward-cpp==57
set -euo pipefail

library=$(realpath "$1")
sdist=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
shift 2
cd "$sdist"
PYTHONPATH="$here" UPSWEEP_AWKWARD_LIBRARY="$library" PYTHONDONTWRITEBYTECODE=1 \
  "${PYTHON:-python3}" -m pytest -q -p upsweep_kernels -p no:cacheprovider "$@" tests-cpu-kernels tests-cpu-kernels-explicit
