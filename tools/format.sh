#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/format.sh: formats C++ by .clang-format and the Python package by ruff; --check only lists files to be
# formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

clang_format=.venv/bin/clang-format
if ! [ -x $clang_format ]; then
  echo "format: $clang_format is missing; make setup installs it" >&2
  exit 1
fi
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run --Werror)

# Uncommitted files are also formatted.
git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh' |
  while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done |
  xargs -0 -r -n 16 $clang_format "${mode[@]}"

if [ -x .venv/bin/ruff ]; then
  if [ "${1:-}" = --check ]; then .venv/bin/ruff format --check --quiet; else .venv/bin/ruff format --quiet; fi
fi
