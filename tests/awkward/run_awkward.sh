#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/awkward/run_awkward.sh: SDIST [PYTEST-OPTION…] — runs the tests of awkward's source distribution, unpacked in SDIST, with
# upsweep's kernels in its table; with UPSWEEP_AWKWARD=0 without them, for the counts that are to be the same.
# Needs a Python ($PYTHON, else python3) with awkward of the same version, pytest, and upsweep ($PYTHONPATH, or installed):
#   pip install awkward==2.14.0 pytest pytest-xdist && pip download --no-deps --no-binary :all: awkward==2.14.0
set -euo pipefail

sdist=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
shift
plugin=(-p upsweep_registered)
[ "${UPSWEEP_AWKWARD:-1}" = 1 ] || plugin=()
cd "$sdist"
PYTHONPATH="$here:${PYTHONPATH:-}" PYTHONDONTWRITEBYTECODE=1 \
  "${PYTHON:-python3}" -m pytest -q "${plugin[@]}" -p no:cacheprovider "$@" tests
