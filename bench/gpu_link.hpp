// SPDX-License-Identifier: Apache-2.0
// bench/gpu_link.hpp: the lecture's bandwidth test: how fast memory is allocated on a GPU, and bytes go there and back.
#pragma once

#include <cstdint>

namespace upsweep::bench {

/// Seconds for an allocation of `bytes` on the device, and for copies of as many: medians.
struct LinkTimes {
  std::int64_t bytes = 0;
  double allocation_s = 0;
  double to_device_pageable_s = 0;
  double to_device_pinned_s = 0;
  double to_host_pageable_s = 0;
  double to_host_pinned_s = 0;
};

/// With 48 MB, a column of TPC-H's lineitem at scale factor 1 in 8 bytes, as in the lecture. Throws Error.
LinkTimes measure_link(int device);

}  // namespace upsweep::bench
