#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/wheel.sh: builds the wheel, packs what it needs into it, installs it in a clean environment and runs its tests there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=.venv/bin/python
work=build-wheel
say() { printf 'wheel: %s\n' "$*"; }

rm -rf $work/raw $work/repaired $work/clean
mkdir -p $work dist
say "building"
$python -m pip --disable-pip-version-check wheel . -q --no-deps --no-build-isolation -w $work/raw

# Arrow stays pyarrow's.
so_version=$($python -c 'import pyarrow; print(pyarrow.cpp_build_info.so_version)')
say "packing oneTBB and the other libraries into it"
PATH="$PWD/.venv/bin:$PATH" .venv/bin/auditwheel repair $work/raw/upsweep-*.whl -w $work/repaired \
  --exclude "libarrow.so.$so_version" --exclude "libparquet.so.$so_version" 2>$work/auditwheel.log || { cat $work/auditwheel.log >&2; exit 1; }
wheel=$(echo $work/repaired/upsweep-*.whl)

say "testing it in a clean environment, without Arrow and CUDA first"
/usr/bin/python3 -m venv $work/clean
clean=$PWD/$work/clean/bin/python
pins() { grep -E "^($1)==" requirements.txt; }
$clean -m pip --disable-pip-version-check install -q "$wheel" $(pins 'numpy|hypothesis|sortedcontainers|pytest|iniconfig|packaging|pluggy|pygments')
mkdir -p $work/elsewhere
(cd $work/elsewhere && $clean -c 'import upsweep; assert upsweep.cumulative_sum([1, 2, 3])[-1] == 6')
$clean tests/run_pytest.py tests/python
say "the same with Arrow, and the command"
$clean -m pip --disable-pip-version-check install -q $(pins pyarrow)
$clean tests/run_pytest.py tests/python
(cd $work/elsewhere && ../clean/bin/upsweep --version && ../clean/bin/upsweep ladder scan --sizes 1000 --types int32 >/dev/null)

cp "$wheel" dist/
say "dist/${wheel##*/}, $(($(stat -c %s "$wheel") / 1000)) kB"
