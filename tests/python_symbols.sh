#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/python_symbols.sh: MODULE… — fails if a native module of the Python package exports more than its
# initialization. C++ merges exported templates by name: another copy of a library in the process would then be mixed
# with the copy inside the module.
set -euo pipefail

for module in "$@"; do
  exported=$(nm --dynamic --defined-only "$module" | awk '$2 !~ /^[VWu]$/ {print $2, $3}')
  if [[ ! $exported =~ ^T\ PyInit_[a-z_]+$ ]]; then
    printf '%s exports more than PyInit, or not even that:\n%s\n' "$module" "$exported" >&2
    exit 1
  fi
done
