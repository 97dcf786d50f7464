// SPDX-License-Identifier: Apache-2.0
// tests/device_booleans.hpp: masks on a GPU, by bytes and by bits.
#pragma once

#include <cstdint>
#include <vector>

#include "device_array.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::tests {

/// Booleans on the device: as bytes, where true has several values, or as bits from a given bit on, with all bits
/// outside set. The allocation has exactly the required number of bytes.
class DeviceBooleans {
 public:
  explicit DeviceBooleans(const std::vector<bool>& booleans, std::int64_t first_bit = -1, std::int64_t misaligned = 0)
      : count_(std::ssize(booleans)), first_bit_(first_bit), bytes_(bytes_of(booleans, first_bit), misaligned) {}

  [[nodiscard]] Mask view() {
    return first_bit_ < 0 ? Mask::bytes(bytes_.data(), count_) : Mask::bits(bytes_.data(), count_, first_bit_);
  }
  [[nodiscard]] std::uint8_t* data() { return bytes_.data(); }
  [[nodiscard]] bool intact() const { return bytes_.intact(); }

 private:
  static std::vector<std::uint8_t> bytes_of(const std::vector<bool>& booleans, std::int64_t first_bit) {
    const auto count = booleans.size();
    if (first_bit < 0) {
      std::vector<std::uint8_t> bytes(count);
      for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(booleans[i] ? 1U << (i % 8) : 0U);
      return bytes;
    }
    std::vector<std::uint8_t> bytes((static_cast<std::size_t>(first_bit) + count + 7) / 8, 0xFF);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bit = static_cast<std::size_t>(first_bit) + i;
      if (!booleans[i]) bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] & ~(1U << (bit % 8)));
    }
    return bytes;
  }

  std::int64_t count_;
  std::int64_t first_bit_;
  DeviceArray<std::uint8_t> bytes_;
};

}  // namespace upsweep::tests
