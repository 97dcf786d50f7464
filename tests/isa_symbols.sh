#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/isa_symbols.sh: ALLOWED OBJECT… — fails if an object that is compiled for one instruction set defines a symbol
# that other objects can link to. Names that match the extended regular expression ALLOWED are permitted.
#
# Reason: an inline function or template that is compiled for AVX-512 becomes a weak symbol. The linker may keep that
# copy for the whole program, which then crashes on a CPU without AVX-512, in unrelated code.
set -euo pipefail

allowed=$1
shift
[ $# -gt 0 ]
# Data, not code: the pointer through which position-independent code finds the unwinder's entry.
allowed="($allowed)|DW\.ref\.__gxx_personality_v0"

for object in "$@"; do
  symbols=$(nm --demangle --defined-only --extern-only --format=posix "$object")
  if ! grep -qE "^($allowed) " <<<"$symbols"; then
    echo "$object: defines nothing that matches $allowed" >&2
    exit 1
  fi
  if leaks=$(grep -vE "^($allowed) " <<<"$symbols"); then
    printf '%s: these symbols leave their instruction set:\n%s\n' "$object" "$leaks" >&2
    exit 1
  fi
done
