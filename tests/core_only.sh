#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/core_only.sh: SOURCE_DIR CXX — configures a build of only the core: it must need oneTBB and nothing else.
set -euo pipefail

source=$1
cxx=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -G Ninja -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DUPSWEEP_CUDA=OFF -DUPSWEEP_BUILD_COMMAND=OFF \
  -DUPSWEEP_BUILD_TESTS=OFF -DUPSWEEP_PYTHON=OFF --trace-expand --trace-redirect="$work/trace" >"$work/log" || {
  cat "$work/log"
  exit 1
}
needed=$(sed -n -e "s|^$source/.*find_package(\([A-Za-z0-9_]*\) .*REQUIRED.*|\1|p" -e "s|^$source/.*upsweep_require(\([A-Za-z0-9_]*\) .*|\1|p" \
  "$work/trace" | sort -u | tr '\n' ' ')
if [ "$needed" != "TBB " ]; then
  echo "a build of the core alone needs: $needed; expected: TBB" >&2
  exit 1
fi
