#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/bundle.sh: packs the command, the tests and their libraries into dist/, for machines that only have the driver.
#
# PARTS=segmented,scan builds and includes only the tests whose names contain one of these words. Without `cli` it
# includes none of the command's tests. The result is little larger than the libraries' 40 MB. BUNDLE_IO=1 adds Arrow,
# and with it Parquet, Arrow IPC and CSV: 52 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build-bundle
jobs=${JOBS:-$(nproc)}
parts=${PARTS:-}
limit_mb=120 # without Arrow
with_arrow=OFF
[ "${BUNDLE_IO:-0}" != 1 ] || with_arrow=ON

say() { printf 'bundle: %s\n' "$*"; }
fail() {
  printf 'bundle: %s\n' "$*" >&2
  exit 1
}

# ---- build
[ ! -d $build.away ] || { rm -rf $build && mv $build.away $build; } # if the test at the end was interrupted
cmake --preset bundle -DUPSWEEP_ARROW=$with_arrow
is_wanted() { [ -z "$parts" ] || [[ $1 =~ ${parts//,/|} ]]; }
wanted_tests() {
  ninja -C $build -t targets all | sed -n 's|^tests/test_\([a-z0-9_]*\): .*|\1|p' | while IFS= read -r test; do
    if is_wanted "$test"; then echo "test_$test"; fi
  done
}
mapfile -t targets < <(wanted_tests)
cmake --build $build --parallel "$jobs" --target upsweep_command "${targets[@]}"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' $build/CMakeCache.txt)
bundle=dist/upsweep-$version-linux-$(uname -m)
new=$bundle.new

# ---- gather
rm -rf "$new"
mkdir -p "$new/bin" "$new/lib" "$new/tests/cli"
cp $build/bin/upsweep "$new/bin/"
find $build/tests -maxdepth 1 -name 'test_*' -type f -executable | while IFS= read -r program; do
  if is_wanted "${program##*/test_}"; then cp -t "$new/tests" "$program"; fi
done
if is_wanted cli; then cp tests/run_pytest.py "$new/tests/" && cp -r tests/cli/*.py tests/cli/recorded "$new/tests/cli/"; fi
[ -n "$(find "$new/tests" -type f)" ] || fail "no test has one of these words in its name: $parts"
cp tools/bundle_test.sh "$new/test"
cp LICENSE "$new/"
if [ -d ../shared/cases ]; then # other people's cases, if available
  mkdir "$new/shared"
  cp -r ../shared/cases "$new/shared/"
fi
find $build/lib -maxdepth 1 -name '*.so.*.*.*' -type f -print0 | while IFS= read -r -d '' library; do
  cp "$library" "$new/lib/$(objdump -p "$library" | sed -n 's/^ *SONAME *//p')"
done

# Copies the libraries that the programs load from this machine, except the C library, which is the other machine's.
arrow=""
[ $with_arrow = OFF ] || arrow=$(.venv/bin/python -c 'import pyarrow; print(pyarrow.get_library_dirs()[0])' || true)
needed() {
  LD_LIBRARY_PATH=$new/lib:$arrow ldd "$@" | sed -n 's|^\t\([^ ]*\) => \(/[^ ]*\) (.*|\1 \2|p' | sort -u
}
elf_files() { find "$new/bin" "$new/lib" "$new/tests" -maxdepth 1 -type f ! -name '*.py'; }
mapfile -t programs < <(elf_files)
needed "${programs[@]}" | while read -r name path; do
  case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux*) ;;
    *) [ -e "$new/lib/$name" ] || cp -L "$path" "$new/lib/$name" ;;
  esac
done

# ---- remove symbols, and check the result
mapfile -t programs < <(elf_files)
strip --strip-unneeded "${programs[@]}"
bash tools/run_paths.sh "$new" / # only run paths relative to the programs
glibc=$(objdump -T "${programs[@]}" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
bytes=$(du -sb "$new" | cut -f1)
mb=$(((bytes + 999999) / 1000000))
cat >"$new/README" <<END
upsweep $version for $(uname -m) Linux with glibc ${glibc#GLIBC_} or newer. On a GPU: an NVIDIA driver for CUDA 13; nothing else.

  bin/upsweep devices     what is here
  bin/upsweep ladder scan --device cuda     every rung, verified and timed
  ./test                  every test; those of the GPU are skipped where there is none

The folder can be put anywhere. ./test NAME… runs some; tests of the command need Python with pytest and NumPy.
END
[ $with_arrow = ON ] || [ $mb -le $limit_mb ] || fail "$new has $mb MB, more than $limit_mb"
say "$new: $mb MB; needs glibc ${glibc#GLIBC_} or newer"

# ---- test it: without a GPU, from another folder, with the build folder moved away
elsewhere=$(mktemp -d)
back() {
  [ ! -d $build.away ] || mv $build.away $build
  rm -rf "$elsewhere"
}
trap back EXIT
cp -r "$new" "$elsewhere/moved"
mv $build $build.away
say "trying it without a GPU, in another folder, with $build moved away"
outside=$(ldd "$elsewhere"/moved/bin/* "$elsewhere"/moved/tests/test_* |
  grep -E "not found|=> /" | grep -vE "=> $elsewhere|lib(c|m|dl|rt|pthread)\.so|ld-linux" || true)
[ -z "$outside" ] || fail "these come from outside the bundle: $outside"
(cd / && CUDA_VISIBLE_DEVICES='' PYTHON=$OLDPWD/.venv/bin/python "$elsewhere/moved/test")
rm -rf "$bundle"
mv "$new" "$bundle"
say "ready: $bundle"
