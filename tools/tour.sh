#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/tour.sh: the tour through real tables: a running total over six million rows, the line items of 1995's orders
# and their totals. Then SQL over the tables, an invoice reconciled, and a page of the measurements.
set -euo pipefail
cd "$(dirname "$0")/.."

upsweep=build/bin/upsweep
python=.venv/bin/python
data=build/tour
mkdir -p "$data"

say() { printf '\n== %s\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }
# ask QUERY [LONGER]: runs and shows a query, then compares it, or a longer one instead, with DuckDB.
ask() {
  run $upsweep query "$1"
  $python tools/tour_check.py $upsweep "${2:-$1}"
}

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
say "Every rung of the offsets ladder on those lists, verified, then timed"
run $upsweep ladder offsets --input "$data/starts_1995.npy" "$data/stops_1995.npy"

say "Their prices, gathered to a column of lists: the total and the dearest item of each order, and the items above 50,000"
run $upsweep pack "$data"/{starts,stops}_1995.npy "$data/lineitem.parquet:l_extendedprice" -o "$data/prices_1995.parquet"
run $upsweep segment --op add "$data/prices_1995.parquet" -o "$data/totals_1995.parquet"
run $upsweep segment --op max "$data/prices_1995.parquet" -o "$data/dearest_1995.parquet"
$python tools/tour_data.py mask "$data"
run $upsweep select --mask "$data/dear_1995.parquet" "$data/prices_1995.parquet" -o "$data/dear_items_1995.parquet"
$python tools/tour_check.py lists "$data"

say "A filtered sum, SUM(l_quantity * l_extendedprice) WHERE l_suppkey < 30: every rung of its ladder, then in SQL"
run $upsweep ladder filtered-sum --z 30 --input "$data"/lineitem.parquet:{l_suppkey,l_quantity,l_extendedprice}
ask "SELECT SUM(l_quantity * l_extendedprice) FROM '$data/lineitem.parquet' WHERE l_suppkey < 30"
say "TPC-H's queries 1 (six of its ten columns, which fit a line; all ten are compared) and 6"
rest="FROM '$data/lineitem.parquet' WHERE l_shipdate <= date '1998-12-01' - interval '90' day (3)
  GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"
ask "SELECT l_returnflag AS flag, l_linestatus AS status, SUM(l_quantity) AS quantity,
  SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge, AVG(l_discount) AS discount, COUNT(*) AS orders
  $rest" "SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice),
  SUM(l_extendedprice * (1 - l_discount)), SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), AVG(l_quantity),
  AVG(l_extendedprice), AVG(l_discount), COUNT(*) $rest"
ask "SELECT SUM(l_extendedprice * l_discount) AS revenue FROM '$data/lineitem.parquet'
  WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1' year
  AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24"

say "Which of 20 open line items make up an invoice's total, and are others possible?"
$python tools/tour_data.py invoice "$data"
total=$(cat "$data/invoice_total.txt")
run $upsweep subset-sum "$data/open_items.parquet:price" --target "$total" --id line --all 2
say "Every rung of the subset-sum ladder on those prices, verified, then timed"
run $upsweep ladder subset-sum --input "$data/open_items.parquet:price" --target "$total"

say "Every ladder once more, a minute of it, and a page of all that was measured"
run $upsweep bench --quick -o "$data/results.json"
run $python -m upsweep_report "$data/results.json" -o "$data/report.html"

say "What to try next"
cat <<'END'
  a browser, on build/tour/report.html: charts, and how each rung moves data, step by step
  build/bin/upsweep ladder scan --sizes 1e8 --types int32,float32
  build/bin/upsweep ladder subset-sum
  build/bin/upsweep reduce build/tour/lineitem.parquet:l_extendedprice
  build/bin/upsweep offsets build/tour/stops_1995.npy build/tour/starts_1995.npy
      (stops and starts swapped: the first bad list is named)
  make test, and the C++ example in README.md
END
