#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/tour.sh: the tour through real tables: a running total over six million rows, the line items of 1995's orders
# and their totals. Then SQL over the tables, a messy CSV file, an invoice reconciled, and a page of the measurements.
set -euo pipefail
cd "$(dirname "$0")/.."

upsweep=build/bin/upsweep
python=.venv/bin/python
data=build/tour
mkdir -p "$data"

say() { printf '\n== %s\n' "$*"; }
# run COMMAND…: shows a command as one can paste it, then runs it.
run() {
  local word line='$'
  for word; do
    case $word in
      *["\"\$\`\\!"]*) word=${word@Q} ;;
      "" | *[!A-Za-z0-9_./:=,^+-]*) word="\"$word\"" ;;
    esac
    line+=" $word"
  done
  printf '%s\n' "$line"
  "$@"
}
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

say "A bank's export: a title, semicolons, decimal comma, Windows-1252; and timestamps in Parquet"
$python tools/tour_data.py messy "$data"
run $upsweep schema "$data/bank.csv"
run $upsweep query "SELECT day, payee, amount FROM '$data/bank.csv' ORDER BY amount LIMIT 3"
run $upsweep query "SELECT MIN(at) AS first, MAX(at) AS last, COUNT(*) AS trips FROM '$data/trips.parquet' WHERE at >= '2024-03-05 12:00'"
$python tools/tour_check.py messy "$upsweep" "$data"

say "Which of 20 open line items make up an invoice's total, and are others possible?"
$python tools/tour_data.py invoice "$data"
total=$(cat "$data/invoice_total.txt")
run $upsweep subset-sum "$data/open_items.parquet:price" --target "$total" --id line --all 2
say "Every rung of the subset-sum ladder on those prices, in cents, verified, then timed"
run $upsweep ladder subset-sum --input "$data/open_items.parquet:price" --target "$total"

# Data in a cache seem to be faster than the limit. The last lengths are therefore past the last cache. The kernel
# reports its size; on some processors CPUID reports the caches of a whole socket. Without a report it is 64 MB.
last_cache=$(cat /sys/devices/system/cpu/cpu0/cache/index*/size 2>/dev/null | numfmt --from=iec | sort -n | tail -n 1) || true
last_cache=${last_cache:-64000000}
# past BYTES LEAST MOST: a length whose BYTES per element are twice the last cache, from LEAST to MOST.
past() {
  local length=$((2 * last_cache / $1))
  ((length > $2)) || length=$2
  ((length < $3)) || length=$3
  echo "$length"
}
# Lists move 13 bytes and more per element, int32 and the keys of filtered-sum 4.
lists=$(past 13 $((1 << 24)) $((1 << 25)))
numbers=$(past 4 $((1 << 26)) $((1 << 28)))
rows=$(past 4 $((1 << 25)) $((1 << 28)))

say "Every ladder once more, two minutes of it, with lengths past the last cache of $((last_cache >> 20)) MB"
run $upsweep bench --quick --sizes "2^12,2^16,2^20,$lists" -o "$data/results.json"
run $upsweep bench scan reduce --quick --sizes "$numbers" -o "$data/numbers.json"
run $upsweep bench filtered-sum --sizes "$rows" --max-seconds 0.5 -o "$data/rows.json"
$python tools/tour_check.py lengths "$last_cache" "$data"/{results,numbers,rows}.json
say "A page of all that was measured: this machine first, then what was recorded elsewhere"
run $python -m upsweep_report "$data"/{results,numbers,rows}.json -o "$data/report.html"

say "What to try next"
cat <<'END'
  a browser, on build/tour/report.html: a finding for each problem, charts, and how each rung moves data, step by step
  build/bin/upsweep ladder scan --sizes 1e8 --types int32,float32
  build/bin/upsweep ladder subset-sum
  build/bin/upsweep reduce build/tour/lineitem.parquet:l_extendedprice
  build/bin/upsweep offsets build/tour/stops_1995.npy build/tour/starts_1995.npy
      (stops and starts swapped: the first bad list is named)
  make docs, then a browser, on build/docs/html/index.html: the guide, a chapter for each problem
  make test, and the C++ example in README.md (docs/start/cpp.md says how to compile it)
END
