#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/tour.sh: the tour: real tables, a running total over six million rows, and the line items of 1995's orders.
set -euo pipefail
cd "$(dirname "$0")/.."

upsweep=build/bin/upsweep
python=.venv/bin/python
data=build/tour
mkdir -p "$data"

say() { printf '\n== %s\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "This machine"
run $upsweep devices

say "Data: TPC-H lineitem and orders at scale factor 1"
$python tools/tour_data.py tables "$data"

say "A running total of l_quantity"
run $upsweep scan "$data/lineitem.parquet:l_quantity" -o "$data/running_quantity.npy"
say "Every rung of the scan ladder on that column, verified, then timed"
run $upsweep ladder scan --input "$data/lineitem.parquet:l_quantity"

say "The line items of each order are a list; keep the orders of 1995"
$python tools/tour_data.py lists "$data"
run $upsweep offsets "$data/starts_1995.npy" "$data/stops_1995.npy" -o "$data/offsets_1995.npy"
say "Every rung of the ragged ladder on those lists, verified, then timed"
run $upsweep ladder ragged --input "$data/starts_1995.npy" "$data/stops_1995.npy"

say "What to try next"
cat <<'END'
  build/bin/upsweep ladder scan --sizes 1e8 --types int32,float32
  build/bin/upsweep reduce build/tour/lineitem.parquet:l_extendedprice
  build/bin/upsweep offsets build/tour/stops_1995.npy build/tour/starts_1995.npy
      (stops and starts swapped: the first bad list is named)
  make test, and the C++ example in README.md
END
