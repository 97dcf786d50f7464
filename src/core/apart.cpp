// SPDX-License-Identifier: Apache-2.0
// core/apart.cpp: arrays as ranges of addresses, and whether two of them overlap.
#include "core/apart.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "upsweep/error.hpp"

namespace upsweep {

CallArrays::Bytes CallArrays::bytes_of(const void* data, std::int64_t count, std::int64_t element_size) {
  constexpr auto kMost = std::numeric_limits<std::uintptr_t>::max();
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (data == nullptr || count <= 0) return {begin, begin};
  std::uintptr_t bytes = 0;
  // An output may be longer than the data that is written.
  const bool is_past_memory =
      __builtin_mul_overflow(static_cast<std::uintptr_t>(count), static_cast<std::uintptr_t>(element_size), &bytes) ||
      bytes > kMost - begin;
  return {begin, is_past_memory ? kMost : begin + bytes};
}

void CallArrays::read(const Mask& mask) {
  if (mask.is_given()) read(mask.data, mask.bytes());
}

void CallArrays::read(const Lists& lists) {
  read(lists.valid);
  if (lists.has_size) return;
  read(lists.starts, lists.count, size_of(lists.type));
  read(lists.stops, lists.count, size_of(lists.type));
}

void CallArrays::require_apart() const {
  const auto written = std::span(written_);
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto overlaps = [&](const Bytes& other) { return overlap(other, written[i]); };
    if (std::ranges::none_of(read_, overlaps) && std::ranges::none_of(written.subspan(i + 1), overlaps)) continue;
    throw Error(Code::invalid_argument, "an output overlaps another array: each output needs separate memory");
  }
}

}  // namespace upsweep
