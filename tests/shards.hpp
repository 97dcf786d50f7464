// SPDX-License-Identifier: Apache-2.0
// tests/shards.hpp: groups of all GPUs, or of one GPU that is several members, and splits of arrays into shards.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "upsweep/shards.hpp"

namespace upsweep::tests {

/// The devices of a group's members, and whether they can access each other's memory.
struct Members {
  std::vector<int> devices;
  gpu::PeerAccess access;

  [[nodiscard]] std::string text() const {
    return std::to_string(devices.size()) + " members, the last on device " + std::to_string(devices.back()) +
           (access == gpu::PeerAccess::never ? ", which copy" : "");
  }
};

/// All devices, and the first one as three members; each with access to the others' memory and without.
inline std::vector<Members> all_members() {
  std::vector<int> devices(gpu::devices().size());
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<Members> all;
  for (const auto access : {gpu::PeerAccess::never, gpu::PeerAccess::if_possible}) {
    all.push_back({devices, access});
    all.push_back({{0, 0, 0}, access});
  }
  return all;
}

/// A group with separate streams. Device 0 is current afterwards.
class OwnGroup {
 public:
  explicit OwnGroup(const Members& members) : group_(make(members)) {}
  operator const gpu::Group&() const { return group_; }  // NOLINT(google-explicit-constructor): stands for its group

 private:
  gpu::Group make(const Members& members) {
    std::vector<gpu::Policy> policies;
    for (const int device : members.devices) {
      require(cudaSetDevice(device));
      streams_.push_back(std::make_unique<OwnStream>());
      policies.push_back(gpu::Policy{}.with_device(device).with_stream(*streams_.back()));
    }
    require(cudaSetDevice(0));
    return gpu::Group::of_policies(policies, members.access);
  }

  std::vector<std::unique_ptr<OwnStream>> streams_;
  gpu::Group group_;
};

/// Returns several splits of n elements for this number of members. Splits are equal, all to the first, all to the
/// last, random, and with empty shards in between.
inline std::vector<std::vector<std::int64_t>> cuts(std::int64_t n, int members) {
  const auto size = static_cast<std::size_t>(members) + 1;
  std::vector<std::vector<std::int64_t>> all(4, std::vector<std::int64_t>(size));
  std::mt19937_64 random(7);
  for (std::size_t m = 0; m < size; ++m) {
    all[0][m] = n * static_cast<std::int64_t>(m) / members;
    all[1][m] = m == 0 ? 0 : n;
    all[2][m] = m + 1 < size ? 0 : n;
    all[3][m] = m == 0 ? 0 : m + 1 < size ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n + 1)) : n;
  }
  std::sort(all[3].begin(), all[3].end());
  return all;
}

}  // namespace upsweep::tests
