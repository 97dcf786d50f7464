#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/lint.sh: format and headers of every file of ours, and clang-tidy in the given folders; stops at the first
# failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build # clang-tidy reads its compile_commands.json
jobs=${JOBS:-$(nproc)}
clang_tidy=.venv/bin/clang-tidy

files() { # tracked and untracked files, without deleted ones
  git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
  done
}

echo "lint: format"
bash tools/format.sh --check

# Line 1 (2 after a #! line): the license. Next line: `path: what the file is`, the path with or without src/ or
# include/.
echo "lint: file headers"
bad=0
while IFS= read -r file; do
  { IFS= read -r first && IFS= read -r second && IFS= read -r third; } <"$file" || true
  case "$first" in '#!'*) first=$second second=$third ;; esac
  path=${file#src/}
  path=${path#include/}
  path=${path#python/}
  path=${path#report/}
  if [[ $first != *"SPDX-License-Identifier: Apache-2.0"* ]]; then
    echo "$file:1: no 'SPDX-License-Identifier: Apache-2.0'" >&2
    bad=1
  elif [[ $second != *" $path: "?* && $second != *" $file: "?* ]]; then
    echo "$file:2: not '$path: one sentence'" >&2
    bad=1
  fi
done < <(files '*.c' '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh' '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' Makefile .ci/run)
[ $bad -eq 0 ]

echo "lint: layers"
python3 tools/layers.py

echo "lint: prose"
python3 tools/prose.py

echo "lint: ruff"
if [ -x .venv/bin/ruff ]; then
  .venv/bin/ruff check --quiet
fi

echo "lint: clang-tidy, $jobs at a time"
if ! [ -x $clang_tidy ]; then
  echo "lint: $clang_tidy is missing; make setup installs it" >&2
  exit 1
fi
if ! [ -f "$build/compile_commands.json" ]; then
  echo "lint: $build/compile_commands.json is missing; make configure writes it" >&2
  exit 1
fi
# For each file of this build, takes its last compilation. It uses the widest instruction set, which has the most code.
mkdir -p "$build/lint"
python3 - "$build" <<'EOF' >"$build/lint/files"
import json, os, re, sys
build = sys.argv[1]
last = {}
for entry in json.load(open(f"{build}/compile_commands.json")):
    path = os.path.join(entry["directory"], entry["file"])
    files = [path]
    if "/Unity/" in path:  # a source that includes others, which are checked one by one
        files = re.findall(r'#include "(.*)"', open(path).read())
    for file in files:
        command = entry["command"].replace(path, file)
        last[os.path.relpath(file)] = {**entry, "file": file, "command": command}
# clang cannot read GCC's precompiled headers: the files include what they use.
for entry in last.values():
    entry["command"] = re.sub(r" -Winvalid-pch| -include \S*/cmake_pch\.hxx", "", entry["command"])
json.dump(list(last.values()), open(f"{build}/lint/compile_commands.json", "w"))
print("\n".join(last))
EOF
tidy() {
  local start=$SECONDS output
  # The flags are GCC's. Some mean nothing to clang. With -Wpedantic clang reports the __COUNTER__ of Arrow's macros.
  # std::stable_sort of libstdc++ calls functions that C++17 has deprecated.
  # Clang's other warnings are errors, as in CI, whatever the build was configured with.
  # Findings in other people's headers are shown only together with findings in ours.
  if ! output=$("$clang_tidy" --quiet -p "$build/lint" --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wno-c2y-extensions --extra-arg=-Wno-deprecated-declarations --extra-arg=-Werror "$1" 2>&1); then
    printf '%s\n' "$output" >&2
    return 1
  fi
  printf '  %3d s  %s\n' $((SECONDS - start)) "$1"
}
export -f tidy
export build clang_tidy
comm -12 <(files "${@/%//*.cpp}" | sort) <(sort "$build/lint/files") | xargs -r -P "$jobs" -I{} bash -c 'tidy "$1"' tidy {}
