// SPDX-License-Identifier: Apache-2.0
// tests/consume/operators.cpp: a product by the compiled operator.
#include "upsweep/operators.hpp"

#include <cstdint>
#include <vector>

#include "upsweep/reduce.hpp"

int main() {
  const std::vector<std::int64_t> ones(1000, -1);
  const auto product = upsweep::reduce(upsweep::par, ones, std::int64_t{1}, upsweep::Mul{});
  return product == 1 && upsweep::name(upsweep::Operator::mul) == "mul" ? 0 : 1;
}
