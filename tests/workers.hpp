// SPDX-License-Identifier: Apache-2.0
// tests/workers.hpp: the minimum length of an input for several workers.
#pragma once

#include <cstdint>

#include "cpu/work_partition.hpp"

namespace upsweep::tests {

/// Returns the minimum number of elements for which cpu::block_workers() is `workers`, if at least this number is
/// requested. `bytes`: the size of an element of the input or of the output, whichever is larger.
constexpr std::int64_t elements_for(int workers, std::int64_t bytes) {
  constexpr std::int64_t kBlocksOfAWorker = 4;
  return workers * kBlocksOfAWorker * cpu::kBlockBytes / bytes;
}

}  // namespace upsweep::tests
