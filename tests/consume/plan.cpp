// SPDX-License-Identifier: Apache-2.0
// tests/consume/plan.cpp: the sums of the pairs of each list.
#include "upsweep/plan.hpp"

#include <cstdint>
#include <vector>

int main() {
  namespace plan = upsweep::plan;
  plan::Builder builder;
  const plan::Domain lists = builder.list(builder.events(), 0);
  const plan::Value x = builder.column(1, plan::ElementType::float64, lists);
  const plan::Domain pairs = builder.combinations(lists, 2);
  const plan::Value a = builder.take(x, builder.source(pairs, 0)), b = builder.take(x, builder.source(pairs, 1));
  builder.output(builder.map(plan::Op::add, {a, b}));
  const std::vector<std::int64_t> offsets{0, 3, 4, 6};
  const std::vector<double> content{1, 2, 4, 8, 16, 32};
  const std::vector<plan::Column> columns{{offsets.data(), 4}, {content.data(), 6}};
  const plan::Result result = builder.compile().run(columns, {}, 3);
  return result.values<double>(0) == std::vector<double>{3, 5, 6, 48} ? 0 : 1;
}
