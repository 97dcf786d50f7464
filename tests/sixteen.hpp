// SPDX-License-Identifier: Apache-2.0
// tests/sixteen.hpp: elements of 16 bytes, the largest size that can be moved.
#pragma once

#include <cstdint>

namespace upsweep::tests {

struct Sixteen {
  std::uint64_t halves[2];
  bool operator==(const Sixteen&) const = default;
};

}  // namespace upsweep::tests
