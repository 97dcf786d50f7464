// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/long_list.hpp: sorts one long list with any number of threads: blocks by a network,
// then merges.
#pragma once

#include <cstdint>

#include "cpu/sort_kernels.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::segmented_sort {

/// A thread's memory for keys.
class LongListScratch {
 public:
  /// Returns memory of at least `bytes` bytes. Throws std::bad_alloc.
  std::byte* reserve(std::int64_t bytes) {
    if (bytes > pages_.size()) pages_ = cpu::Pages<std::byte>(bytes);
    return pages_.data();
  }

 private:
  cpu::Pages<std::byte> pages_;
};

/// The elements of one list, and the destination of the elements or of their positions.
struct LongList {
  const cpu::SortKernel* kernel = nullptr;
  int element_size = 0;
  const void* from = nullptr;
  std::int64_t count = 0;
  cpu::SortOrder order = {};
  void* out = nullptr;                ///< may be `from`; null if positions are requested
  std::int64_t* positions = nullptr;  ///< otherwise null
};

/// Sorts a long list. Throws std::bad_alloc before it writes any output.
void sort_long_list(const LongList& list, int workers, LongListScratch& scratch);

}  // namespace upsweep::impl::segmented_sort
