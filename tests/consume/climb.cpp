// SPDX-License-Identifier: Apache-2.0
// tests/consume/climb.cpp: a ladder on generated data.
#include "upsweep/climb.hpp"

int main() {
  upsweep::ClimbRequest request;
  request.problem = "scan";
  request.sizes = {100};
  request.types = {upsweep::Type::int32};
  const auto groups = upsweep::climb(request, [](const std::string&) {});
  if (groups.size() != 1) return 1;
  for (const auto& row : groups[0].rows) {
    if (row.status == upsweep::RowStatus::failed) return 1;
  }
  return groups[0].rows.empty() ? 1 : 0;
}
