#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup.sh: [--tour] [PACKAGE…] installs what is missing to build, test and tour upsweep; otherwise does nothing.
# --tour: from PyPI, only the packages that the build and the tour use.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stamp=.venv/upsweep-stamp # for all pins; once these are installed, the stamp for the tour's also exists
pins='^[a-z]'
if [ "${1:-}" = --tour ]; then
  shift
  pins='^(duckdb|jinja2|markupsafe|nanobind|narwhals|numpy|packaging|plotly|pyarrow|tpchgen-cli)=='
  stamp=.venv/upsweep-tour-stamp
fi

packages=(
  g++ make cmake ninja-build git pkg-config ca-certificates
  python3 python3-venv python3-dev
  libtbb-dev libcli11-dev libfmt-dev nlohmann-json3-dev libpg-query-dev libsnappy-dev
  libgtest-dev librapidcheck-dev libmpfr-dev
  clang libclang-rt-dev # libFuzzer is in the latter
  doxygen
  "$@" # other requested packages, such as the browser in which tests open the report
)
python=/usr/bin/python3 # not the first on PATH: .venv must outlive version managers and other environments

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "no Debian packages on this system; going on with what is installed (needed: ${packages[*]})"
    return
  fi
  local missing=() package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "system packages: all ${#packages[@]} are there"
    return
  fi
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "as root, run: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  # NEEDRESTART_SUSPEND: Ubuntu's needrestart would ask which services to restart.
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  say "system packages: installing ${missing[*]}"
  "${apt[@]}" update >/dev/null || say "apt-get update failed; trying with the package lists of before"
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >/dev/null || fail "could not install ${missing[*]}"
}

# Prints the consequence of a missing pin, in the order of requirements.txt.
without() {
  case "$1" in
    clang-format* | clang-tidy*) echo "make lint and make format do not work" ;;
    duckdb*) echo "queries are not compared with DuckDB" ;;
    nvidia-cuda-cccl*) echo "the CUDA build has no newer CUB to compare with" ;;
    nanobind*) echo "the Python package is not built" ;;
    pyarrow*) echo "Parquet, Arrow IPC and CSV are left out unless a system Arrow is found" ;;
    breathe* | furo* | myst-* | sphinx*) echo "make docs does not work" ;;
    tpchgen-cli*) echo "the tour makes its data with a small generator of its own" ;;
    *) echo "tests written in Python are skipped" ;;
  esac
}

install_python() {
  local venv=.venv unfinished=.venv/upsweep-unfinished
  if ! [ -x $python ]; then
    say "no $python: without .venv, $(without pyarrow); $(without clang-tidy)"
    return
  fi
  local wanted
  wanted="$($python -VV | tr -s '[:space:]' ' ') $(sha256sum requirements.txt | cut -d' ' -f1) $PWD"
  if [ -f $stamp ] && [ "$(cat $stamp)" = "$wanted" ] && $venv/bin/python -c '' 2>/dev/null; then
    say ".venv: up to date"
    return
  fi
  # A .venv that was interrupted, moved, or created by another Python is created again; any other .venv is updated.
  local same="import sys; exit(sys.version != '''$($python -c 'import sys; print(sys.version)')''' or sys.prefix != '''$PWD/.venv''')"
  if [ -e $unfinished ] || ! $venv/bin/python -c "$same" 2>/dev/null || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
    say ".venv: making it with $($python -V)"
    rm -rf $venv
    if ! { mkdir $venv && touch $unfinished && $python -m venv $venv; }; then
      say ".venv could not be made: $(without pyarrow); $(without clang-tidy)"
      return
    fi
  fi
  touch $unfinished
  rm -f .venv/upsweep-*stamp
  # Wheels only: building Arrow or clang from source would take hours.
  local pip=("$venv/bin/python" -m pip --disable-pip-version-check install -q --only-binary=:all:)
  say ".venv: installing the pins of requirements.txt"
  local log
  log=$(mktemp)
  if "${pip[@]}" -r <(grep -E "$pins" requirements.txt) >"$log" 2>&1; then
    echo "$wanted" | tee .venv/upsweep-tour-stamp >$stamp
    say ".venv: ready"
  else
    grep -m1 '^ERROR' "$log" || tail -n1 "$log"
    say ".venv: PyPI cannot be reached or lacks a wheel for $($python -V); taking the pins one by one"
    local pin
    grep -E "$pins" requirements.txt | while read -r pin; do
      "${pip[@]}" --retries 0 --timeout 20 --no-deps "$pin" >/dev/null 2>&1 </dev/null || say "without $pin: $(without "$pin")"
    done
    say ".venv: incomplete; the C++ core builds without it, and the next make setup tries again"
  fi
  rm -f "$log" $unfinished
}

install_packages
install_python
