// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_groups.cuh: memory, order of groups, and output, for all rungs on a GPU.
#pragma once

#include <cub/device/device_scan.cuh>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <type_traits>

#include "cuda/check.hpp"
#include "cuda/device_call.hpp"
#include "cuda/scratch_parts.hpp"
#include "problems/keys/group_by/rung.hpp"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep::impl::group_by {

inline constexpr int kThreads = gpu::tuning::kGroups.threads;

/// Returns a grid with one thread for each of n rows or groups; for n = 0 the grid is empty.
inline gpu::detail::Grid grid_of(std::int64_t n, gpu::Stream stream) {
  return {.blocks = static_cast<unsigned>(gpu::divided_up(n, kThreads)), .threads = kThreads, .stream = stream};
}
__device__ __forceinline__ std::int64_t own_index() { return std::int64_t{blockIdx.x} * kThreads + threadIdx.x; }

/// Device memory of the policy's resource, in several arrays. take(parts) is called twice; the first call has no memory
/// and determines the size.
class DeviceParts {
 public:
  template <class Take>
  DeviceParts(const gpu::Policy& policy, Take take)
      : memory_({.scratch = bytes(take)}, policy.device, policy.stream,
                policy.memory != nullptr ? *policy.memory : gpu::pool()) {
    gpu::ScratchParts parts(memory_.scratch());
    take(parts);
  }

 private:
  template <class Take>
  static std::int64_t bytes(Take take) {
    gpu::ScratchParts parts(nullptr);
    take(parts);
    return parts.bytes() + 256;  // never zero
  }

  gpu::Workspace memory_;
};

/// Calls CUB twice: once to get the number of bytes that it needs, and once with this memory.
template <class CallCub>
void run_cub(const gpu::Policy& policy, CallCub call_cub, const char* what) {
  std::size_t bytes = 0;
  gpu::forget_last_error();
  gpu::require(call_cub(nullptr, bytes), what);
  void* memory = nullptr;
  const auto size = static_cast<std::int64_t>(bytes);
  const DeviceParts parts(policy, [&](gpu::ScratchParts& all) { memory = all.take<std::byte>(size); });
  gpu::require(call_cub(memory, bytes), what);
}

// ---- order by first rows: a bit for each row, and the number of set bits before each word of them

struct RowBits {
  std::uint32_t* words;
  std::int64_t* before;  ///< number of bits before each word, and of all

  __device__ void set(std::int64_t row) const { atomicOr(&words[row / 32], 1U << row % 32); }
  /// Valid once `before` is computed.
  __device__ std::int64_t place_of(std::int64_t row) const {
    return before[row / 32] + __popc(words[row / 32] & ((1U << row % 32) - 1));
  }
};

inline __global__ void count_bits(RowBits bits, std::int64_t words) {
  const std::int64_t w = own_index();
  if (w < words) bits.before[w] = __popc(bits.words[w]);
  if (w == words) bits.before[w] = 0;
}

class DeviceOrder {
 public:
  DeviceOrder(const gpu::Policy& policy, std::int64_t n)
      : policy_(policy), words_(gpu::divided_up(n, 32)), memory_(policy, [&](gpu::ScratchParts& parts) {
          bits_ = {parts.take<std::uint32_t>(words_), parts.take<std::int64_t>(words_ + 1)};
        }) {
    gpu::require(cudaMemsetAsync(bits_.words, 0, static_cast<std::size_t>(words_) * 4, policy.stream), kWhat);
  }

  [[nodiscard]] RowBits bits() const { return bits_; }
  /// Returns the number of groups, after all first rows are set. Waits.
  std::int64_t count() {
    gpu::require(gpu::detail::launch(grid_of(words_ + 1, policy_.stream), count_bits, bits_, words_), kWhat);
    run_cub(
        policy_,
        [&](void* memory, std::size_t& bytes) {
          return cub::DeviceScan::ExclusiveSum(memory, bytes, bits_.before, bits_.before, words_ + 1, policy_.stream);
        },
        kWhat);
    std::int64_t groups = 0;
    gpu::fetch(&groups, bits_.before + words_, sizeof groups, policy_.stream);
    return groups;
  }

 private:
  static constexpr const char* kWhat = "ordering groups by their first rows";

  gpu::Policy policy_;
  std::int64_t words_;
  RowBits bits_{};  // before memory_, whose initializer fills it
  DeviceParts memory_;
};

/// Calls f(std::type_identity<Key>{}) with the unsigned type of the size of a call's keys, 4 or 8 bytes.
template <class F>
auto visit_device_key(Type type, F f) {
  if (size_of(type) == 4) return f(std::type_identity<std::uint32_t>{});
  return f(std::type_identity<std::uint64_t>{});
}

/// Runs a rung's body. An Error becomes the call's failure.
template <class Body>
Status guarded(Call& call, Body body) noexcept try {
  return body();
} catch (const Error& error) {
  call.failure = std::current_exception();
  return {error.code(), error.index()};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::group_by
