// SPDX-License-Identifier: Apache-2.0
// tests/consume/plan.cpp: the sums of the pairs of each list, and their histogram.
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
  const plan::Value sum = builder.map(plan::Op::add, {a, b});
  builder.output(sum);
  builder.histogram(std::vector{sum}, std::vector{plan::Axis::regular(2, 0, 10)});
  const std::vector<std::int64_t> offsets{0, 3, 4, 6};
  const std::vector<double> content{1, 2, 4, 8, 16, 32};
  const std::vector<plan::Column> columns{{offsets.data(), 4}, {content.data(), 6}};
  const plan::Result result = builder.compile().run(columns, {}, 3);
  std::int64_t counts[4];  // below 0, below 5, below 10, others
  result.copy_counts(0, counts);
  if (counts[0] != 0 || counts[1] != 1 || counts[2] != 2 || counts[3] != 1) return 1;
  return result.values<double>(0) == std::vector<double>{3, 5, 6, 48} ? 0 : 1;
}
