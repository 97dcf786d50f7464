// SPDX-License-Identifier: Apache-2.0
// cpu/elements.hpp: the input of a scan or reduction, converted to the type that is computed in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::cpu {

/// Returns the operator's function object for a call's kernels. Compiled operators do not have one.
template <class Call>
const void* operator_object(const Call& call) {
  static constexpr std::byte kNoState{};
  return call.op_object != nullptr ? call.op_object : &kNoState;
}

/// An array read through a conversion. If the types are equal, the elements are passed in place. Otherwise
/// they are converted a block at a time on the stack, which stays in L1 next to its input.
class Elements {
 public:
  template <class Call>
  explicit Elements(const Call& call) : Elements(call.in, call.in_size, call.out_size, call.in_type, call.out_type) {}

  [[nodiscard]] bool converts() const { return convert_ != nullptr; }
  [[nodiscard]] const void* at_index(std::int64_t i) const { return data_ + i * in_size_; }

  /// Calls use(elements, first, count) over the range, in order.
  template <class Use>
  void for_each_block(Range range, Use use) const {
    if (!converts()) {
      use(at_index(range.first), range.first, range.count);
      return;
    }
    alignas(64) std::byte block[std::size_t{kConvertedBytes}];
    const std::int64_t length = kConvertedBytes / out_size_;
    for (std::int64_t done = 0; done < range.count; done += length) {
      const std::int64_t count = std::min(length, range.count - done);
      convert_(at_index(range.first + done), block, count);
      use(static_cast<const void*>(block), range.first + done, count);
    }
  }

 private:
  static constexpr std::int64_t kConvertedBytes = tuning::kBlocksOrder.converted_bytes;

  Elements(const void* data, std::int64_t in_size, std::int64_t out_size, Type in, Type out)
      : data_(static_cast<const std::byte*>(data)), in_size_(in_size), out_size_(out_size) {
    if (in != out) convert_ = kernels(Isa::best).convert[at(in)][at(out)];
  }

  const std::byte* data_;
  std::int64_t in_size_;
  std::int64_t out_size_;
  Convert convert_ = nullptr;
};

}  // namespace upsweep::cpu
