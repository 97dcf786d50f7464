// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_sketch.cuh: estimates the number of groups within a few percent, in one pass over the
// keys, by a HyperLogLog sketch.
//
// Source: Flajolet et al., "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm" (AofA 2007).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "problems/keys/group_by/device_groups.cuh"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep::impl::group_by {

inline constexpr int kRegisters = gpu::tuning::kGroups.registers;

/// registers[r] ← 1 + the maximum number of leading zeros of the hashes that begin with r. The hashes use no secret, so
/// the same keys give the same result on every run. An attacker can only force the table to be built twice.
template <class Key>
__global__ void __launch_bounds__(kThreads) sketch_keys(const Key* keys, std::int64_t n, std::uint32_t* registers) {
  __shared__ std::uint32_t own[kRegisters];
  for (int r = static_cast<int>(threadIdx.x); r < kRegisters; r += kThreads) own[r] = 0;
  __syncthreads();  // all registers are zero before one is raised
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = own_index(); i < n; i += stride) {
    std::uint64_t hash = keys[i];
    hash = (hash ^ hash >> 32) * 0xD6E8'FEB8'6659'FD93U;
    hash = (hash ^ hash >> 29) * 0x9E37'79B9'7F4A'7C15U;
    hash ^= hash >> 32;
    const auto zeros = static_cast<std::uint32_t>(__clzll(static_cast<long long>(hash << 12 | 1U << 11))) + 1;
    std::uint32_t& most = own[hash >> 52];
    if (*const_cast<volatile std::uint32_t*>(&most) < zeros) atomicMax(&most, zeros);
  }
  __syncthreads();  // all rows are seen before a register is read
  for (int r = static_cast<int>(threadIdx.x); r < kRegisters; r += kThreads) {
    if (own[r] > 0) atomicMax(&registers[r], own[r]);
  }
}

/// Returns the estimate from the registers.
inline double cardinality(const std::vector<std::uint32_t>& registers) {
  const auto m = static_cast<double>(registers.size());
  double sum = 0;
  for (const std::uint32_t zeros : registers) sum += std::ldexp(1.0, -static_cast<int>(zeros));
  const double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
  const auto empty = static_cast<double>(std::ranges::count(registers, 0U));
  return raw < 2.5 * m && empty > 0 ? m * std::log(m / empty) : raw;
}

/// Returns the estimated number of keys, or for few rows their maximum. Equal keys give equal results. Waits.
template <class Key>
std::int64_t expected_groups(const gpu::Policy& policy, const Key* keys, std::int64_t n) {
  constexpr std::int64_t kFewRows = gpu::tuning::kGroups.sketch_rows;
  if (n <= kFewRows) return n;
  constexpr const char* kWhat = "estimating the number of groups";
  std::vector<std::uint32_t> registers(kRegisters);
  const auto bytes = static_cast<std::int64_t>(registers.size() * sizeof registers[0]);
  std::uint32_t* on_device = nullptr;
  const DeviceParts memory(policy,
                           [&](gpu::ScratchParts& parts) { on_device = parts.take<std::uint32_t>(kRegisters); });
  gpu::require(cudaMemsetAsync(on_device, 0, static_cast<std::size_t>(bytes), policy.stream), kWhat);
  auto grid = grid_of(n, policy.stream);
  grid.blocks = std::min(grid.blocks.x, 2048U);  // more than are resident, and many rows per register in each
  gpu::require(gpu::detail::launch(grid, sketch_keys<Key>, keys, n, on_device), kWhat);
  gpu::fetch(registers.data(), on_device, bytes, policy.stream);
  return std::min(n, static_cast<std::int64_t>(cardinality(registers)));
}

}  // namespace upsweep::impl::group_by
