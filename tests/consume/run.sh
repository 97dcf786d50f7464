#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/consume/run.sh: BUILD_DIR CXX — installs the build, moves what was installed, and builds a program against it
# with find_package and with pkg-config.
set -euo pipefail

build=$1
cxx=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "install, then move"
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
prefix=$work/moved

# Text files only: debug information may name sources.
if grep -rIlF -e "$work/first" -e "$build" -e "$source/" "$prefix"; then
  echo "these installed files name a folder of this machine" >&2
  exit 1
fi

echo "find_package(upsweep)"
cmake -S "$here" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
  >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/consume"

echo "pkg-config upsweep"
pc=$(find "$prefix" -name upsweep.pc)
export PKG_CONFIG_PATH=${pc%/*}
read -ra flags < <(pkg-config --cflags --libs upsweep)
"$cxx" -std=c++20 "$here/main.cpp" "${flags[@]}" -o "$work/by_pkg_config"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir upsweep) "$work/by_pkg_config"

if [ -x "$prefix/bin/upsweep" ]; then
  echo "the installed command"
  "$prefix/bin/upsweep" --help >/dev/null
fi
