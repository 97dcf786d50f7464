// SPDX-License-Identifier: Apache-2.0
// tests/consume/query.cpp: a query of columns in memory.
#include "upsweep/query.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int64_t> quantity{17, 36, 8, 28};
  const std::vector<std::int64_t> cents{100, 250, 300, 5};
  upsweep::MemoryTable items;
  items.add("quantity", quantity).add_decimal("price", cents, 2);
  const upsweep::Query query("SELECT SUM(quantity * price) FROM items WHERE quantity < 20", items);
  const upsweep::Answer answer = query.run(upsweep::par, items);
  return upsweep::text(answer.columns[0], answer.rows[0][0]) == "41.00" && answer.rung == "cpu.blocks" ? 0 : 1;
}
