// SPDX-License-Identifier: Apache-2.0
// tests/consume/segmented.cpp: the sums and the greatest elements of three lists.
#include "upsweep/segmented.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int32_t> offsets{0, 2, 2, 3};
  const std::vector<float> content{1, 2, 4};
  std::vector<double> sums(3);
  std::vector<std::int64_t> greatest(3);
  upsweep::segmented_reduce(upsweep::par, offsets, content, sums);
  upsweep::segmented_reduce(upsweep::par, offsets, content, greatest, upsweep::argmax);
  return sums == std::vector<double>{3, 0, 4} && greatest == std::vector<std::int64_t>{1, -1, 0} ? 0 : 1;
}
