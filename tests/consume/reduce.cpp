// SPDX-License-Identifier: Apache-2.0
// tests/consume/reduce.cpp: a total, long enough for threads.
#include "upsweep/reduce.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int32_t> ones(1 << 21, 1);
  return upsweep::reduce(upsweep::par, ones, std::int64_t{0}) == 1 << 21 ? 0 : 1;
}
