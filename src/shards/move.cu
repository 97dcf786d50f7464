// SPDX-License-Identifier: Apache-2.0
// shards/move.cu: a value from one member's memory to another's: by a kernel, which is sooner there than a copy between devices.
#include <cuda_runtime_api.h>

#include "cuda/device_call.hpp"
#include "shards/group.hpp"
#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::gpu {
namespace {

__global__ void move_bytes(const char* from, char* to) { to[threadIdx.x] = from[threadIdx.x]; }

}  // namespace

void Group::State::move(const void* from, void* to, std::int64_t bytes, std::size_t member, std::size_t other) const {
  if (!has_access(member, other)) return copy(from, to, bytes, member);
  const CurrentDevice current(members[member].device);
  const detail::Grid grid{.blocks = 1, .threads = static_cast<unsigned>(bytes), .stream = members[member].stream};
  require(detail::launch(grid, move_bytes, static_cast<const char*>(from), static_cast<char*>(to)),
          "moving a value from device to device");
}

}  // namespace upsweep::gpu
