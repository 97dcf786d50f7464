// SPDX-License-Identifier: Apache-2.0
// tests/example.cpp: the README's example, compiled and run; tests/readme_example.sh checks that both are the same.
// README-begin
#include <cstdint>
#include <iostream>
#include <upsweep/offsets.hpp>
#include <vector>

int main() {
  const std::vector<int> quantities{17, 36, 8, 28, 24, 32};
  std::vector<std::int64_t> running(quantities.size());
  upsweep::inclusive_scan(upsweep::par, quantities, running);  // 17 53 61 89 113 145

  const std::vector<std::int64_t> starts{0, 40, 7}, stops{3, 40, 12};
  std::vector<std::int64_t> offsets(starts.size() + 1);
  const auto result = upsweep::offsets(upsweep::par, starts, stops, offsets);  // 0 3 3 8
  std::cout << running.back() << " in all, " << result.total << " in lists, by " << result.rung << "\n";
}
// README-end
