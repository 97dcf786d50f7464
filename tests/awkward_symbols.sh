#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/awkward_symbols.sh: LIBRARY — fails if the shared library exports symbols other than awkward_* functions, or
# exports none.
set -euo pipefail

exported=$(nm --dynamic --defined-only "$1" | awk '{print $2, $3}')
[ -n "$exported" ] || {
  echo "$1 exports nothing" >&2
  exit 1
}
if others=$(grep -v '^T awkward_' <<<"$exported"); then
  printf '%s exports more than awkward_* functions:\n%s\n' "$1" "$others" >&2
  exit 1
fi
