// SPDX-License-Identifier: Apache-2.0
// scale/chunked/bound.cpp: how long calls on host arrays took, and what they waited for.
#include <algorithm>
#include <array>

#include "upsweep/chunked.hpp"

namespace upsweep::gpu {

ChunkedUse& ChunkedUse::operator+=(const ChunkedUse& more) {
  seconds += more.seconds;
  times.to_device += more.times.to_device;
  times.kernel += more.times.kernel;
  times.to_host += more.times.to_host;
  host_copies += more.host_copies;
  to_device += more.to_device;
  to_host += more.to_host;
  device_bytes = std::max(device_bytes, more.device_bytes);
  return *this;
}

BoundShare bound_of(const ChunkedUse& use) {
  const std::array<BoundShare, 4> all{{{Bound::to_device, use.times.to_device},
                                       {Bound::to_host, use.times.to_host},
                                       {Bound::host_memory, use.host_copies},
                                       {Bound::kernels, use.times.kernel}}};
  BoundShare most = *std::max_element(all.begin(), all.end(),
                                      [](const BoundShare& a, const BoundShare& b) { return a.share < b.share; });
  most.share = use.seconds > 0 ? std::min(most.share / use.seconds, 1.0) : 0;
  return most;
}

}  // namespace upsweep::gpu
