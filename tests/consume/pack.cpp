// SPDX-License-Identifier: Apache-2.0
// tests/consume/pack.cpp: two lists packed in another order.
#include "upsweep/pack.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<int> starts{2, 0};
  const std::vector<int> stops{5, 2};
  const std::vector<double> content{1, 2, 3, 4, 5};
  std::vector<std::int64_t> offsets(3);
  std::vector<double> packed(5);
  const auto result =
      upsweep::pack(upsweep::par, upsweep::Lists(starts, stops), offsets, upsweep::PackColumn(content, packed));
  return result.total == 5 && offsets[1] == 3 && packed == std::vector<double>{3, 4, 5, 1, 2} ? 0 : 1;
}
