// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/examples.cpp: two examples of each command, on files that `make tour` leaves in build/tour.
#include "examples.hpp"

#include <array>
#include <iterator>

namespace upsweep::command {
namespace {

struct Examples {
  std::string_view command;
  std::array<Example, 2> both;
};

// tests/cli/test_help.py runs all of them on small files with the names and columns of the tour's.
constexpr Examples kExamples[] = {
    {"scan",
     {{{"the running total of a column: its first and last values",
        "upsweep scan build/tour/lineitem.parquet:l_quantity"},
       {"the highest price so far, in every row, as a Parquet file",
        "upsweep scan build/tour/lineitem.parquet:l_extendedprice --op max \\\n  -o highest.parquet"}}}},
    {"reduce",
     {{{"the sum of a column; sums of decimals are exact",
        "upsweep reduce build/tour/lineitem.parquet:l_extendedprice"},
       {"the last day of an order", "upsweep reduce build/tour/orders.parquet:o_orderdate --op max"}}}},
    {"offsets",
     {{{"the offsets of lists: how many elements they have in all",
        "upsweep offsets build/tour/starts_1995.npy build/tour/stops_1995.npy"},
       {"the offsets of the first thousand lists, as a file",
        "upsweep offsets build/tour/starts_1995.npy build/tour/stops_1995.npy \\\n  --length 1000 -o offsets.npy"}}}},
    {"segment",
     {{{"the total of each order", "upsweep segment build/tour/prices_1995.parquet -o totals.parquet"},
       {"the prices of each order, highest first",
        "upsweep segment --op sort --descending build/tour/prices_1995.parquet \\\n  -o sorted.parquet"}}}},
    {"select",
     {{{"the prices above 50,000 of each order: the mask has lists of equal lengths",
        "upsweep select --mask build/tour/dear_1995.parquet \\\n  build/tour/prices_1995.parquet -o dear.parquet"},
       {"how many prices these are, as JSON",
        "upsweep select --mask build/tour/dear_1995.parquet \\\n  build/tour/prices_1995.parquet --json"}}}},
    {"pack",
     {{{"the prices of each order of 1995, from the rows of all orders",
        "upsweep pack build/tour/starts_1995.npy build/tour/stops_1995.npy \\\n"
        "  build/tour/lineitem.parquet:l_extendedprice -o prices.parquet"},
       {"a column of lists as two .npy files: prices.offsets.npy and prices.0.npy",
        "upsweep pack build/tour/prices_1995.parquet -o prices.npy"}}}},
    {"query",
     {{{"the number of line items, and their quantity, before 1995",
        "upsweep query \"SELECT COUNT(*), SUM(l_quantity)\n"
        "  FROM 'build/tour/lineitem.parquet' WHERE l_shipdate < date '1995-01-01'\""},
       {"the ten largest orders",
        "upsweep query --table lines=build/tour/lineitem.parquet \\\n"
        "  \"SELECT l_orderkey, SUM(l_quantity) FROM lines\n"
        "   GROUP BY l_orderkey ORDER BY 2 DESC LIMIT 10\""}}}},
    {"schema",
     {{{"the columns of a file, their types, NULLs and sizes", "upsweep schema build/tour/lineitem.parquet"},
       {"the same as JSON", "upsweep schema build/tour/orders.parquet --json"}}}},
    {"subset-sum",
     {{{"which open items make up the total of an invoice",
        "upsweep subset-sum build/tour/open_items.parquet:price --id line \\\n"
        "  --target $(cat build/tour/invoice_total.txt)"},
       {"the largest sum of open items up to 250,000",
        "upsweep subset-sum build/tour/open_items.parquet:price --target 250000 \\\n  --closest"}}}},
    {"ladder",
     {{{"every rung of the running sum, on generated data", "upsweep ladder scan --sizes 2^20 --types int32,float64"},
       {"every rung, on a column of a file", "upsweep ladder scan --input build/tour/lineitem.parquet:l_quantity"}}}},
    {"bench",
     {{{"a minute of measurements", "upsweep bench --quick -o after.json"},
       {"what became faster or slower since the tour", "upsweep bench --compare build/tour/results.json after.json"}}}},
    {"devices",
     {{{"the CPU, the GPUs, and the rates of their memory", "upsweep devices"},
       {"the rates of one thread, as JSON", "upsweep devices --threads 1 --json"}}}},
    {"version", {{{"the version", "upsweep version"}, {"the same, as an option", "upsweep --version"}}}},
    {"help", {{{"the commands", "upsweep help"}, {"the options of scan, and examples", "upsweep help scan"}}}},
    {"completion",
     {{{"completion in this bash; an installed upsweep needs no script", "source <(upsweep completion bash)"},
       {"a file for a folder of fpath, where zsh finds it", "upsweep completion zsh > _upsweep"}}}},
    {"man",
     {{{"the manual page of an upsweep that is not installed", "upsweep man | man -l -"},
       {"a text without formatting", "upsweep man | man -l - | col -b"}}}},
};

}  // namespace

std::span<const Example> examples_of(std::string_view command) {
  for (const Examples& one : kExamples) {
    if (one.command == command) return one.both;
  }
  return {};
}

std::string examples_text(std::string_view command) {
  std::string text = "Examples, on files that make tour leaves in build/tour:";
  for (const Example& example : examples_of(command)) {
    text.append("\n  # ").append(example.what).append("\n  ");
    for (const char c : example.lines) text.append(c == '\n' ? "\n  " : std::string(1, c));
  }
  return text;
}

}  // namespace upsweep::command
