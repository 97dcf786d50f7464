// SPDX-License-Identifier: Apache-2.0
// cpu/list_batch.hpp: a few hundred lists at a time: their bounds in 64 bits, and which of them is bad.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/list_kernels.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::cpu {

/// Lists [first, first + count) of a call: list k of the batch has elements from[k] … to[k] - 1. Of empty lists and null ones
/// both are 0.
struct ListBatch {  // NOLINT(cppcoreguidelines-pro-type-member-init): bounds are written before they are read
  static constexpr std::int64_t kLists = tuning::kLists.batch;

  alignas(64) std::array<std::int64_t, kLists> from;
  alignas(64) std::array<std::int64_t, kLists> to;
  std::int64_t longest = 0;
  std::int64_t shortest = 0;

  /// Returns the first list that is bad in `content` elements, whereupon the batch is unspecified, or kNoIndex.
  std::int64_t read(const Lists& lists, std::int64_t first, std::int64_t count, std::int64_t content,
                    const ListKernels& kernels);

 private:
  bool read_valid(const Lists& lists, std::int64_t first, std::int64_t count, std::int64_t content);
};

}  // namespace upsweep::cpu
