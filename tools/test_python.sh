#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/test_python.sh: Awkward Array's own tests with and without upsweep's kernels, lists of dask-awkward, and the
# long tests of the Python package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
python=$root/.venv/bin/python
work=$root/build/test-python
jobs=${JOBS:-$(nproc)}
export PYTHONPATH=$root/build/python:$root/tests/awkward PYTHONDONTWRITEBYTECODE=1
export CI=true # hypothesis uses the same examples in every run
say() { printf '== test-python: %s\n' "$*"; }
fail() {
  printf 'test-python: %s\n' "$*" >&2
  exit 1
}

for module in awkward hypothesis_awkward xdist; do
  $python -c "import $module" 2>/dev/null || fail "$python has no $module; make setup installs it"
done

# source_of NAME: prints the folder with the source of a package that requirements.txt pins. Wheels do not contain the
# tests.
source_of() {
  local pin folder
  pin=$(grep "^$1==" requirements.txt)
  folder=$(tr - _ <<<"$1")-${pin#*==}
  if ! [ -d "$work/$folder" ]; then
    mkdir -p "$work/new"
    $python -m pip --disable-pip-version-check download -q --no-deps --no-binary "$1" -d "$work/new" "$pin" >&2 ||
      fail "the source of $pin cannot be had from PyPI"
    tar -xf "$work/new/$folder.tar.gz" -C "$work/new"
    mv "$work/new/$folder" "$work/"
  fi
  echo "$work/$folder"
}

# suite FOLDER ARGUMENT…: runs pytest there.
suite() {
  local folder=$1
  shift
  (cd "$folder" && $python -m pytest -q --no-header -r fE -p no:cacheprovider -p awkward_plugin -n "$jobs" "$@")
}

kernels=$(source_of awkward-cpp)
awkward=$(source_of awkward)

say "the kernel tests of ${kernels##*/}, with upsweep's kernels"
suite "$kernels" --upsweep=library tests-cpu-kernels tests-cpu-kernels-explicit
say "the tests of ${awkward##*/}, without upsweep"
suite "$awkward" --outcomes="$work/without.json" tests || [ $? -eq 1 ] # some may fail: the next run is compared with this one
say "the tests of ${awkward##*/}, with upsweep.awkward.register()"
suite "$awkward" --upsweep=register --same-as="$work/without.json" tests
say "lists of dask-awkward, in an environment of their own"
lists=$work/dask-awkward
if ! [ -f "$lists/ready" ] || ! cmp -s tests/python/dask_awkward.txt "$lists/ready"; then
  rm -rf "$lists"
  $python -m venv "$lists"
  "$lists/bin/python" -m pip --disable-pip-version-check install -q -r tests/python/dask_awkward.txt
  cp tests/python/dask_awkward.txt "$lists/ready"
fi
"$lists/bin/python" -m pytest -q --no-header -p no:cacheprovider tests/python/test_dask_awkward.py
say "the long tests of the package"
$python tests/run_pytest.py -m "long or hypothesis" --hypothesis-profile=long tests/python
say "all passed in $SECONDS s"
