#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/readme_example.sh: SOURCE README BINARY — checks that the README shows the compiled example, and that the
# example runs.
set -euo pipefail
shown=$(awk '/^```cpp$/ {on = 1; next} /^```$/ {on = 0} on' "$2")
compiled=$(awk '/README-end/ {on = 0} on {print} /README-begin/ {on = 1}' "$1")
if [[ "$shown" != "$compiled" ]]; then
  echo "the example in $2 is not the one in $1:"
  diff <(echo "$shown") <(echo "$compiled") || true
  exit 1
fi
output=$("$3")
[[ "$output" == "145 in all, 8 in lists, by cpu.serial" ]] || { echo "it printed: $output"; exit 1; }
