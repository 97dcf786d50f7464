// SPDX-License-Identifier: Apache-2.0
// tests/consume/segmented_reduce.cpp: the sums and the maxima of three lists.
#include "upsweep/segmented_reduce.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int32_t> offsets{0, 2, 2, 3};
  const std::vector<float> content{1, 2, 4};
  std::vector<double> sums(3);
  std::vector<std::int64_t> greatest(3);
  upsweep::segmented_reduce(upsweep::par, offsets, content, sums);
  upsweep::segmented_reduce(upsweep::par, offsets, content, greatest, upsweep::argmax);
  const std::vector<std::chrono::nanoseconds> times{std::chrono::nanoseconds{1}, std::chrono::nanoseconds{2},
                                                    std::chrono::nanoseconds{4}};
  std::vector<std::chrono::nanoseconds> spent(3);
  upsweep::segmented_reduce(upsweep::par, offsets, times, spent);
  if (spent[0].count() != 3 || spent[1].count() != 0 || spent[2].count() != 4) return 1;
  return sums == std::vector<double>{3, 0, 4} && greatest == std::vector<std::int64_t>{1, -1, 0} ? 0 : 1;
}
