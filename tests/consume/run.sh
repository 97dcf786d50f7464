#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/consume/run.sh: BUILD_DIR CXX — installs the build and moves the installed files. Then it builds a program for
# each header with find_package, and some with pkg-config. Finally it runs the command. Nothing may use the build
# folder.
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

# Only text files, because debug information may name sources.
if grep -rIlF -e "$work/first" -e "$build" -e "$source/" "$prefix"; then
  echo "these installed files name a folder of this machine" >&2
  exit 1
fi

echo "find_package(upsweep)"
cmake -G Ninja -S "$here" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/build" --parallel "$(nproc)" >/dev/null
ctest --test-dir "$work/build" --output-on-failure --no-tests=error

by_pkg_config() { # SOURCE PACKAGE…
  local flags
  read -ra flags < <(pkg-config --cflags --libs "${@:2}")
  "$cxx" -std=c++20 "$here/$1" "${flags[@]}" -o "$work/by_pkg_config"
  (cd "$work" && LD_LIBRARY_PATH=$(pkg-config --variable=libdir upsweep) ./by_pkg_config)
}
pc=$(find "$prefix" -name upsweep.pc)
export PKG_CONFIG_PATH=${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
echo "pkg-config upsweep"
by_pkg_config main.cpp upsweep
echo "other flags: extensions, and containers of another layout"
read -ra flags < <(pkg-config --cflags --libs upsweep)
"$cxx" -std=gnu++20 -D_GLIBCXX_DEBUG "$here/scan.cpp" "${flags[@]}" -o "$work/scan_debug"
(cd "$work" && LD_LIBRARY_PATH=$(pkg-config --variable=libdir upsweep) ./scan_debug)
if "$cxx" -std=gnu++20 -D_GLIBCXX_DEBUG "$here/subset_sum.cpp" "${flags[@]}" -o "$work/subset_sum_debug" 2>"$work/message"; then
  echo "a program whose containers are not the library's must not link" >&2
  exit 1
fi
grep -q upsweep_must_be_built_with_GLIBCXX_DEBUG_too "$work/message"
echo "the programs of the guide, and of the pages for first steps and for tasks"
python3 "$here/programs.py" "$source" "$work/programs.cpp" "$work/expected_output" "$work/excerpts.cpp"
"$cxx" -std=c++20 "$work/programs.cpp" "${flags[@]}" -o "$work/programs"
(cd "$work" && LD_LIBRARY_PATH=$(pkg-config --variable=libdir upsweep) ./programs 2>&1 && echo) |
  tr -s ' \n' ' ' | sed 's/ @/\n@/g; s/ *$/\n/' | sed '/^$/d; s/ *$//' | diff "$work/expected_output" -
if [ -f "${pc%/*}/upsweep-query.pc" ]; then
  echo "pkg-config upsweep-query"
  by_pkg_config query.cpp upsweep-query
  "$cxx" -std=c++20 -fsyntax-only "$work/excerpts.cpp" "${flags[@]}"
fi
if [ -f "${pc%/*}/upsweep-io.pc" ]; then
  echo "pkg-config upsweep-io"
  by_pkg_config io.cpp upsweep-io upsweep-query
fi

echo "run paths and licence"
bash "$source/tools/run_paths.sh" "$prefix" "$work/first" "$build" "$source"
[ -n "$(find "$prefix/share" -name LICENSE)" ]

if [ -x "$prefix/bin/upsweep" ]; then
  echo "the installed command"
  outside=$(ldd "$prefix/bin/upsweep" | grep -F -e 'not found' -e "$source/" -e "$build/" || true)
  [ -z "$outside" ] || { echo "the installed command loads: $outside" >&2; exit 1; }
  printf 'price\n2\n40\n' >"$work/prices.csv"
  if "$build/bin/upsweep" reduce "$work/prices.csv:price" --quiet >"$work/expected" 2>&1; then # fails without Arrow
    "$prefix/bin/upsweep" reduce "$work/prices.csv:price" --quiet | cmp - "$work/expected"
  else
    "$prefix/bin/upsweep" --help >/dev/null
  fi
fi
