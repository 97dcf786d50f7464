#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/wheel.sh: builds wheels, packs what they need into them, installs each in a clean environment and runs its tests there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=build-wheel
say() { printf 'wheel: %s\n' "$*"; }
pins() { grep -E "^($1)==" requirements.txt; }
install() { "$1" -m pip --disable-pip-version-check install -q --only-binary=:all: "${@:2}"; }

# abi3_python: prints the newest Python that makes a wheel for 3.12 and all later ones, on the PATH or of pyenv; those for
# which requirements.txt has wheels.
abi3_python() {
  local minor python
  for minor in 14 13 12; do
    for python in "python3.$minor" "$(pyenv root 2>/dev/null)"/versions/3."$minor".*/bin/python; do
      if "$python" -c 'import ensurepip, os, sysconfig
os.stat(sysconfig.get_path("include") + "/Python.h"); assert not sysconfig.get_config_var("Py_GIL_DISABLED")' 2>/dev/null; then
        echo "$python"
        return
      fi
    done
  done
}

# make_wheel BUILDER BASE: a wheel by the Python of an environment that has what builds it, tested in a new one of BASE's.
make_wheel() {
  local builder=$1 base=$2 wheel so_version clean=$PWD/$work/clean/bin/python
  rm -rf $work/raw $work/repaired $work/clean
  say "building, with $($builder -V)"
  $builder -m pip --disable-pip-version-check wheel . -q --no-deps --no-build-isolation -w $work/raw

  # Arrow stays pyarrow's.
  so_version=$(.venv/bin/python -c 'import pyarrow; print(pyarrow.cpp_build_info.so_version)')
  say "packing oneTBB and the other libraries into it"
  PATH="$PWD/.venv/bin:$PATH" .venv/bin/auditwheel repair $work/raw/upsweep-*.whl -w $work/repaired \
    --exclude "libarrow.so.$so_version" --exclude "libparquet.so.$so_version" 2>$work/auditwheel.log || { cat $work/auditwheel.log >&2; exit 1; }
  wheel=$(echo $work/repaired/upsweep-*.whl)

  say "testing it in a clean environment, without Arrow and CUDA first"
  $base -m venv $work/clean
  install "$clean" "$wheel" $(pins 'numpy|hypothesis|sortedcontainers|pytest|iniconfig|packaging|pluggy|pygments')
  mkdir -p $work/elsewhere
  (cd $work/elsewhere && $clean -c 'import upsweep; assert upsweep.cumulative_sum([1, 2, 3])[-1] == 6')
  $clean tests/run_pytest.py tests/python
  say "the same with Arrow, and the command"
  install "$clean" $(pins pyarrow)
  $clean tests/run_pytest.py tests/python
  (cd $work/elsewhere && PATH="$PWD/../clean/bin:$PATH" && upsweep --version && upsweep ladder scan --sizes 1000 --types int32 >/dev/null)

  cp "$wheel" dist/
  say "dist/${wheel##*/}, $(($(stat -c %s "$wheel") / 1000)) kB"
}

mkdir -p $work dist
make_wheel .venv/bin/python /usr/bin/python3

# From 3.12 on .venv's Python has made the wheel of all later ones too.
if .venv/bin/python -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then
  python=$(abi3_python)
  if [ -z "$python" ]; then
    say "no wheel for Python 3.12 and later: there is no such Python with its headers"
    exit
  fi
  "$python" -m venv --clear $work/abi3
  install $work/abi3/bin/python $(pins 'nanobind|numpy|packaging|pathspec|scikit-build-core')
  make_wheel $work/abi3/bin/python "$python"
fi
