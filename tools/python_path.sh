#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/python_path.sh: lets .venv import the Python package from build/, if it has been built there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -x .venv/bin/python ] && compgen -G 'build/python/upsweep/_core*' >/dev/null; then
  folder=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$PWD/build/python" >"$folder/upsweep.pth"
fi
