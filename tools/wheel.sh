#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/wheel.sh: builds the wheels of upsweep and of upsweep-report as pip does from a clone. It packs the needed
# libraries into them, installs them in clean environments and runs their tests there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=build-wheel
say() { printf 'wheel: %s\n' "$*"; }
pins() { grep -E "^($1)==" requirements.txt; }
install() { "$1" -m pip --disable-pip-version-check install -q --only-binary=:all: "${@:2}"; }

# abi3_python: prints the newest Python, on the PATH or of pyenv, that makes a wheel for 3.12 and all later ones. Only
# Pythons for which requirements.txt has wheels are considered.
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

# clean_copy: copies the files that git has, or would have, to $work/source, without .venv and build folders, as in a
# clone. The copy is kept, and unchanged files keep their times, so that only changed files are compiled again.
clean_copy() {
  local new=$work/source.new
  rm -rf "$new" && mkdir "$new"
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [ ! -f "$file" ] || printf '%s\0' "$file"
  done | tar -c --null -T - | tar -x -C "$new"
  [ ! -d $work/source/build-wheel ] || mv $work/source/build-wheel "$new/"
  rm -rf $work/source && mv "$new" $work/source
}

# make_report: makes the wheel of upsweep-report, which is pure Python and the same for all Pythons.
make_report() {
  rm -rf $work/report $work/builder
  say "pip builds upsweep-report in a clean environment"
  /usr/bin/python3 -m venv $work/builder
  PIP_CONSTRAINT=$PWD/requirements.txt $work/builder/bin/python -m pip --disable-pip-version-check wheel ./$work/source/python/report \
    -q --no-deps -w $work/report
  cp $work/report/upsweep_report-*.whl dist/
  say "$(echo dist/upsweep_report-*.whl), $(($(stat -c %s $work/report/upsweep_report-*.whl) / 1000)) kB"
}

# make_wheel PYTHON: pip builds a wheel from a clean copy in a clean environment, as it does for users. Then the
# libraries that it needs are added, and it is tested in another clean environment.
make_wheel() {
  local python=$1 wheel so_version bin=$PWD/$work/clean/bin
  local clean=$bin/python
  rm -rf $work/raw $work/repaired $work/clean $work/builder
  say "pip builds it in a clean environment, with $($python -V)"
  $python -m venv $work/builder
  PIP_CONSTRAINT=$PWD/requirements.txt $work/builder/bin/python -m pip --disable-pip-version-check wheel ./$work/source \
    -q --no-deps -w $work/raw
  if [ "$(python3 -m zipfile -l $work/raw/upsweep-*.whl | grep -c licenses/third_party)" -ne 7 ]; then
    say "licences of what it contains are missing: see the warnings of the build" >&2
    exit 1
  fi

  if python3 -m zipfile -l $work/raw/upsweep-*.whl | grep -E 'report|peers'; then
    say "these files belong to upsweep-report" >&2
    exit 1
  fi

  say "testing what pip install makes of it, on this machine"
  $python -m venv $work/clean
  install "$clean" $work/raw/upsweep-*.whl
  mkdir -p $work/elsewhere
  printf 'price\n2\n40\n' >$work/elsewhere/prices.csv
  (cd $work/elsewhere && ! $bin/upsweep --version 2>message && grep -q "pip install 'upsweep\[files\]'" message)
  install "$clean" $(pins pyarrow)
  (cd $work/elsewhere && [ "$($bin/upsweep reduce prices.csv:price --quiet)" = 42 ])
  (cd $work/elsewhere && $clean -c "import upsweep
assert upsweep.query(\"SELECT SUM(price) AS s FROM 'prices.csv'\").to_dict() == {'s': [42]}")
  bash tools/run_paths.sh "$($clean -c 'import os, upsweep; print(os.path.dirname(upsweep.__file__))')" / # only run paths relative to itself

  # Arrow is not packed: pyarrow's is used.
  so_version=$(.venv/bin/python -c 'import pyarrow; print(pyarrow.cpp_build_info.so_version)')
  say "packing oneTBB and the other libraries into it"
  PATH="$PWD/.venv/bin:$PATH" .venv/bin/auditwheel repair $work/raw/upsweep-*.whl -w $work/repaired \
    --exclude "libarrow.so.$so_version" --exclude "libparquet.so.$so_version" 2>$work/auditwheel.log || { cat $work/auditwheel.log >&2; exit 1; }
  wheel=$(echo $work/repaired/upsweep-*.whl)

  say "testing it in a clean environment, without Arrow and CUDA first"
  $python -m venv --clear $work/clean
  install "$clean" "$wheel" $(pins 'numpy|hypothesis|sortedcontainers|pytest|iniconfig|packaging|pluggy|pygments')
  (cd $work/elsewhere && $clean -c 'import upsweep; assert upsweep.cumulative_sum([1, 2, 3])[-1] == 6')
  (cd $work/elsewhere && ! $clean -m upsweep report results.json 2>message && grep -q "pip install upsweep-report" message)
  $clean tests/run_pytest.py tests/python
  say "the same with Arrow, upsweep-report, and the command"
  install "$clean" $(pins 'pyarrow|plotly|jinja2|markupsafe|narwhals') $work/report/upsweep_report-*.whl
  $clean tests/run_pytest.py tests/python
  (cd $work/elsewhere && PATH="$PWD/../clean/bin:$PATH" && upsweep --version && upsweep ladder scan --sizes 1000 --types int32 >/dev/null)

  cp "$wheel" dist/
  say "dist/${wheel##*/}, $(($(stat -c %s "$wheel") / 1000)) kB"
}

mkdir -p $work dist
clean_copy
make_report
make_wheel /usr/bin/python3

# If that Python is 3.12 or later, its wheel also serves all later ones.
if /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then
  python=$(abi3_python)
  if [ -z "$python" ]; then
    say "no wheel for Python 3.12 and later: there is no such Python with its headers"
    exit
  fi
  make_wheel "$python"
fi
