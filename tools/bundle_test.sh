#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/bundle_test.sh: runs a bundle's tests in its folder: all tests, or the named ones, such as cuda_scan or
# cli/test_scan.py.
set -uo pipefail
shopt -s nullglob  # a partial bundle may have no tests of the command
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export UPSWEEP_COMMAND=$here/bin/upsweep UPSWEEP_SOURCE_DIR=$here/tests
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0

# A test is skipped if it prints that it lacks a device, or exits with 77.
try() {
  local name=$1 status
  shift
  "$@" >"$log" 2>&1 </dev/null
  status=$?
  if [ $status -eq 77 ] || { [ $status -eq 0 ] && grep -q 'skipped: no device' "$log"; }; then
    skipped=$((skipped + 1))
    printf 'skipped  %s: %s\n' "$name" "$(grep -m1 -o 'skipped: .*' "$log")"
  elif [ $status -eq 0 ]; then
    passed=$((passed + 1))
    printf 'passed   %s\n' "$name"
    awk '/: Skipped$/ { getline; print "         skipped in part: " $0 }' "$log" | sort -u
  else
    failed=$((failed + 1))
    printf 'FAILED   %s (%s)\n' "$name" "$status"
    tail -n 40 "$log"
  fi
}

[ $# -gt 0 ] || for test in "$here"/tests/test_* "$here"/tests/cli/test_*.py; do
  name=${test#"$here"/tests/}
  name=${name#test_}
  [[ $name == *large ]] || set -- "$@" "$name" # past 2^32 elements: only if requested
done
for name; do
  case $name in
    cli/*) try "$name" "${PYTHON:-python3}" "$here/tests/run_pytest.py" "$here/tests/$name" ;;
    *) try "$name" "$here/tests/test_$name" ;;
  esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
