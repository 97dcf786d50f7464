// SPDX-License-Identifier: Apache-2.0
// tests/device_selections.hpp: lists and columns of selections.hpp on a GPU, with guards, and the error of a call.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "device_booleans.hpp"
#include "failure.hpp"
#include "selections.hpp"
#include "upsweep/error.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/select.hpp"

namespace upsweep::tests {

inline constexpr ListPattern kSelectionPatterns[] = {
    ListPattern::poisson, ListPattern::fixed3, ListPattern::fixed32, ListPattern::fixed1000, ListPattern::zero_to_4,
    ListPattern::empty,   ListPattern::one,    ListPattern::giants,  ListPattern::pareto};
inline constexpr unsigned kSelectionShares[] = {0, 1, 10, 50, 99, 100};  ///< percent
/// Sizes around a word of marks (32), a tile of results (1024) and a tile of content (2048). Also around a tile of
/// lists (4096), and a block of marks (32768).
inline constexpr std::int64_t kSelectionSizes[] = {0,    1,    2,    31,   32,    33,    255,   1023,  1024,  1025,
                                                   2047, 2048, 2049, 4097, 32767, 32768, 32769, 70001, 300007};

/// Lists on the device.
template <class T>
class DeviceLists {
 public:
  DeviceLists(const Selection& given, bool by_offsets, std::int64_t misaligned)
      : n_(given.lists()),
        by_offsets_(by_offsets),
        starts_(converted(given.starts, given.stops), misaligned),
        stops_(converted(given.stops, {}), misaligned / 2),
        valid_(given.valid, misaligned == 0 ? -1 : misaligned),
        has_nulls_(!given.valid.empty()) {}

  [[nodiscard]] Lists view() {
    const Lists lists =
        by_offsets_ ? Lists::by_offsets(starts_.data(), n_) : Lists::by_bounds(starts_.data(), stops_.data(), n_);
    return has_nulls_ ? lists.with_validity(valid_.view()) : lists;
  }
  [[nodiscard]] T* starts() { return starts_.data(); }
  [[nodiscard]] T* stops() { return stops_.data(); }

 private:
  /// Converts starts, and appends the last list's stop: so the starts of adjacent lists are also their offsets.
  static std::vector<T> converted(const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& ends) {
    std::vector<T> all;
    for (const std::int64_t value : values) all.push_back(static_cast<T>(value));
    all.push_back(ends.empty() ? T{0} : static_cast<T>(ends.back()));
    return all;
  }

  std::int64_t n_;
  bool by_offsets_;
  DeviceArray<T> starts_;
  DeviceArray<T> stops_;
  DeviceBooleans valid_;
  bool has_nulls_;
};

/// A column of `n` elements of a given size at any address, on the host and on the device.
class DeviceColumn {
 public:
  DeviceColumn(std::int64_t n, int size, std::int64_t misaligned_bytes)
      : n_(n),
        size_(size),
        misaligned_(misaligned_bytes),
        host_(bytes_of(n, size)),
        content_(host_, misaligned_bytes) {}

  /// Makes a new output of this capacity.
  void clear(std::int64_t capacity) {
    capacity_ = capacity;
    out_.emplace(capacity * size_, misaligned_);
  }
  void poison() { out_->poison(); }
  [[nodiscard]] SelectColumn view() { return {content_.data(), n_, out_->data(), capacity_, size_}; }
  [[nodiscard]] std::string complaint(const std::vector<std::int64_t>& positions) {
    if (!intact()) return "something was written around the output or the content";
    const auto found = out_->values();
    const auto size = static_cast<std::size_t>(size_);
    for (std::size_t k = 0; k < positions.size(); ++k) {
      if (std::memcmp(found.data() + k * size, host_.data() + static_cast<std::size_t>(positions[k]) * size, size) !=
          0) {
        return "element " + std::to_string(k) + " of " + std::to_string(positions.size()) + ", of " +
               std::to_string(size_) + " bytes, is wrong";
      }
    }
    return "";
  }
  [[nodiscard]] bool intact() const { return out_->intact() && content_.intact(); }

 private:
  static std::vector<std::uint8_t> bytes_of(std::int64_t n, int size) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n * size));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>((static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U + 77) >> 47);
    }
    return bytes;
  }

  std::int64_t n_;
  int size_;
  std::int64_t misaligned_;
  std::int64_t capacity_ = 0;
  std::vector<std::uint8_t> host_;
  DeviceArray<std::uint8_t> content_;
  std::optional<DeviceArray<std::uint8_t>> out_;
};

}  // namespace upsweep::tests
