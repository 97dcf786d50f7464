// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/checkpoints.hpp: copies of a bitmap, kept while items are added to it, from which items are
// found.
#pragma once

#include <cstdint>
#include <vector>

#include "problems/subset_sum/bitmap.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::subset_sum {

/// The sums 0 … most of the first `items` items that were added. Sums from which the target is out of reach may be
/// missing.
struct Checkpoint {
  std::int64_t items = 0;
  std::int64_t most = 0;
  cpu::Pages<Word> sums;
};

/// The copies that a decision must keep and has kept, at equal distances in items.
struct Checkpoints {
  std::int64_t wanted = 0;
  std::vector<Checkpoint> kept;

  [[nodiscard]] bool is_due(std::int64_t added, std::int64_t n) const {
    const std::int64_t next = std::ssize(kept) + 1;
    return next <= wanted && added >= n * next / (wanted + 1);
  }
};

}  // namespace upsweep::impl::subset_sum
