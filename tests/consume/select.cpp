// SPDX-License-Identifier: Apache-2.0
// tests/consume/select.cpp: elements of lists by a mask, and by their positions.
#include "upsweep/select.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int64_t> offsets{0, 2, 2, 5};
  const std::vector<double> pt{31, 29, 50, 12, 40};
  const std::vector<std::int8_t> charge{1, -1, 1, 1, -1};
  const std::vector<std::uint8_t> mask{1, 0, 1, 0, 1};
  std::vector<std::int64_t> kept_offsets(offsets.size());
  std::vector<double> kept_pt(3);
  std::vector<std::int8_t> kept_charge(3);
  const auto selected = upsweep::select(upsweep::par, offsets, mask, kept_offsets, upsweep::SelectColumn(pt, kept_pt),
                                        upsweep::SelectColumn(charge, kept_charge));
  const bool keeps = selected.kept == 3 && kept_offsets == std::vector<std::int64_t>{0, 1, 1, 3} &&
                     kept_pt == std::vector<double>{31, 50, 40} && kept_charge == std::vector<std::int8_t>{1, 1, -1};

  const std::vector<std::int64_t> last{-1, -1};
  const std::vector<std::int64_t> last_offsets{0, 1, 1, 2};
  std::vector<double> taken(2);
  upsweep::take(upsweep::par, offsets, pt, last_offsets, last, kept_offsets, taken);
  return keeps && taken == std::vector<double>{29, 40} ? 0 : 1;
}
