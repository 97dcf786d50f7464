#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/run_paths.sh: FOLDER [FORBIDDEN…]: checks where programs and shared libraries in FOLDER may load libraries from.
# It fails for the current directory: an empty or relative entry in a run path, or a needed library by a relative path.
# It also fails for a FORBIDDEN folder; / forbids all folders that are not relative to the file.
set -euo pipefail

folder=$1
shift
dynamic_sections() { # readelf names files only if there are several, and fails for files other than ELF
  find "$folder" -name site-packages -prune -o -type f \( -perm -u+x -o -name '*.so*' \) -exec readelf -dW /dev/null {} + 2>/dev/null || true
}
dynamic_sections | awk -v forbidden="$(printf '%s\n' "$@")" '
  function complain(what) {
    bad = 1
    if (!told[file what]++) print file ": " what
  }
  BEGIN { folders = split(forbidden, forbid, "\n") }
  /^File: / { file = substr($0, 7) }
  /\((RPATH|RUNPATH)\)/ {
    path = $0
    sub(/^[^[]*\[/, "", path)
    sub(/\][^]]*$/, "", path)
    entries = split(path ":", entry, ":") - 1 # the colon: split() of an empty string has no entry, but an empty run path has an empty one
    for (i = 1; i <= entries; ++i) {
      if (entry[i] == "") complain("an empty entry in the run path " path)
      else if (entry[i] !~ /^(\/|\$ORIGIN(\/|$))/) complain("the relative entry " entry[i] " in the run path " path)
      for (j = 1; j <= folders; ++j) {
        if (forbid[j] != "" && index(entry[i] "/", forbid[j] (forbid[j] == "/" ? "" : "/")) == 1) complain("the entry " entry[i] " in the run path " path)
      }
    }
    ++paths
  }
  /\(NEEDED\)/ {
    ++needed
    if ($0 ~ /\[[^\/].*\/.*\]/) complain("needs a library by a relative path: " $0)
  }
  END {
    if (!needed) complain("no program and no shared library was found")
    print paths + 0 " run paths were read"
    exit bad + 0
  }' || {
  echo "run paths in $folder: see above" >&2
  exit 1
}
