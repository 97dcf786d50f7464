#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/docs.sh: builds the guide, build/docs/html, from docs/, the headers and the package in build/; warnings are
# errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=.venv/bin/python
out=build/docs
export PYTHONPATH=$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}

fail() {
  printf 'docs: %s\n' "$*" >&2
  exit 1
}
command -v doxygen >/dev/null || fail "doxygen is missing; make setup installs it"
$python -c 'import sphinx' 2>/dev/null || fail ".venv has no Sphinx; make setup installs it"
$python -c 'import upsweep' 2>/dev/null || fail "the Python package is not in build/python; make build makes it"

$python tools/rung_tables.py --check

rm -rf $out # links must not find pages that are no longer made
mkdir -p $out/doxygen
doxygen docs/Doxyfile
$python -m sphinx -W --keep-going -q -j auto -c docs -d $out/doctrees -b html . $out/html
$python tools/docs_check.py $out/html
echo "docs: $PWD/$out/html/index.html"
