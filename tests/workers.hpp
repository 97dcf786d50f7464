// SPDX-License-Identifier: Apache-2.0
// tests/workers.hpp: how long an input must be for several workers, which long ones get.
#pragma once

#include <cstdint>

#include "cpu/work_partition.hpp"

namespace upsweep::tests {

/// The fewest elements of so many bytes (of the input or the output, whichever are more) for which cpu::block_workers() is
/// `workers`, where it is asked for as many or more.
constexpr std::int64_t elements_for(int workers, std::int64_t bytes) {
  constexpr std::int64_t kBlocksOfAWorker = 4;
  return workers * kBlocksOfAWorker * cpu::kBlockBytes / bytes;
}

}  // namespace upsweep::tests
