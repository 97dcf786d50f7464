// SPDX-License-Identifier: Apache-2.0
// upsweep/gpu.hpp: how a call runs on an NVIDIA GPU: device, stream, memory. Needs no CUDA header.
//
// Functions that run on both the CPU and a GPU are declared once. They are those of scan, reduce, offsets,
// segmented_…, by_key, group_by, select, pack, broadcast, combinations, filtered_sum and subset_sum.hpp. With a
// gpu::Policy, their arrays are device memory: pointers with lengths, or ranges such as std::span(pointer, n). A
// std::vector, std::array or C array as content, keys or output of such a call does not compile. Lists, masks, indices
// and columns are checked when the call runs. Items of subset_sum.hpp are in host memory. Braces without a type are a
// Policy: write gpu::Policy{.device = 1}, not {.device = 1}.
//
//   auto policy = upsweep::gpu::Policy{}.with_stream(stream);
//   upsweep::gpu::Workspace workspace(upsweep::gpu::scan_workspace<float, float>(policy, n), 0, stream);
//   upsweep::inclusive_scan(policy.with_workspace(workspace), x, n, y);  // returns once the work is in the stream
//
// Order     work is put into the stream. All calls wait for this work, with two exceptions. Scans of arrays do not
//           wait, as they have no error that depends on the data. Calls named …_async do not wait, and write their
//           outcome to device memory.
// Memory    managed or device memory of the policy's device. Host memory is an invalid_argument error; a call does not
//           copy it. Exception: filtered_sum by cuda.zero_copy reads pinned host memory over the link. The stream must
//           belong to the same device.
// Graphs    every call that does not wait can be captured into a CUDA graph. With a workspace, replays allocate
//           no memory. They clear memory only in operations on lists.
// Floats    the same bits on every run, for any alignment of the arrays. Exceptions: rungs of other libraries,
//           cuda.lookback, and the tables of group_by.hpp.
// Overflow  sums of integers wrap (modulo 2^bits). With Overflow::checked, the sums of segmented_reduce(),
//           reduce_by_key() and group_by() are exact or an error. Other sums and scans of integers are refused
//           (unsupported).
// Errors    Error: no_device, device_failed, device_memory, not_built (a build without CUDA), and those of scan.hpp.
//           If the work of an earlier call caused a device failure, a later call may report it.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/policy.hpp"

struct CUevent_st;
struct CUstream_st;

namespace upsweep::gpu {

using Stream = CUstream_st*;  ///< cudaStream_t; null: the default stream

/// A source of a call's temporary device memory. Allocations are ordered by stream, like the work that uses them.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// Returns memory aligned to 256 bytes on the current device. Throws Error device_memory.
  virtual void* allocate(std::int64_t bytes, Stream stream) = 0;
  virtual void deallocate(void* memory, std::int64_t bytes, Stream stream) noexcept = 0;
};

/// Returns the default resource: one stream-ordered pool per device (cudaMallocFromPoolAsync). A pool keeps memory that
/// calls have freed, up to a sixteenth of the device's memory. If no other memory is free, cudaMalloc() of the same
/// process can allocate the memory that the pool keeps.
MemoryResource& pool() noexcept;

/// The content of a workspace's kept bytes, for the next call of a rung.
enum class Kept : std::uint8_t {
  tagged_words,  ///< values tagged with the number of the launch: scans, reductions, offsets, filtered sums
  list_counts,   ///< the numbers of missing partial folds of lists: segmented_reduce by cuda.pipeline
};

/// Bytes of device memory that a rung needs besides the arrays.
struct WorkspaceSize {
  std::int64_t kept = 0;     ///< zero before the first call, kept from one call to the next
  std::int64_t scratch = 0;  ///< with any content
  Kept kept_as = Kept::tagged_words;
};

/// Device memory that calls use one after the other. The calls are in one stream, or in streams that wait for each
/// other. All calls must keep the same kind of data in the workspace (`Kept`). A call that keeps another kind fails
/// with invalid_argument: use a separate workspace for it.
///
/// Memory is allocated, cleared and freed in the order of the workspace's stream. The first call in another stream
/// waits until the memory is cleared. The memory is freed after the calls in other streams have ended, but freeing does
/// not wait for replays of a CUDA graph: keep the workspace until the replays end.
class Workspace {
 public:
  /// Throws Error no_device, device_memory.
  explicit Workspace(WorkspaceSize size, int device = 0, Stream stream = nullptr, MemoryResource& memory = pool());
  /// @cond
  template <std::floating_point T>
  explicit Workspace(WorkspaceSize size, T /*device*/, Stream /*stream*/ = nullptr, MemoryResource& /*memory*/ = pool())
      : Workspace(size) {
    static_assert(!std::floating_point<T>, "numbers of devices must be integers: convert a float first");
  }
  /// @endcond
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  [[nodiscard]] WorkspaceSize size() const noexcept { return size_; }
  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] void* kept() const noexcept { return kept_; }
  [[nodiscard]] void* scratch() const noexcept { return scratch_; }

 private:
  friend class DeviceCall;
  enum class Serves : std::uint8_t { one_stream, any_stream };
  Workspace(WorkspaceSize size, int device, Stream stream, MemoryResource& memory, Serves serves);
  void begin_call(WorkspaceSize needed, Stream stream);
  void end_call(Stream stream) noexcept;
  void free() noexcept;

  WorkspaceSize size_;
  int device_;
  Stream stream_;
  MemoryResource& memory_;
  void* kept_ = nullptr;
  void* scratch_ = nullptr;
  CUevent_st* event_ = nullptr;  ///< the clearing, and later the last call in another stream
  bool is_used_ = false;         ///< by a call that keeps the kind of data in size_.kept_as
  bool is_ordered_ = false;      ///< a call in another stream has waited for the clearing
  bool is_used_elsewhere_ = false;
};

/// Describes how a call runs on a GPU. Copy a policy and change it.
struct Policy {
  int device = 0;
  Stream stream = nullptr;
  Workspace* workspace = nullptr;    ///< null: each call allocates its workspace from `memory` and clears it
  MemoryResource* memory = nullptr;  ///< null: pool()
  std::string_view rung = {};        ///< empty: the top rung that fits; a rung requested by name never falls back
  Overflow overflow = Overflow::wrap;

  [[nodiscard]] constexpr Policy with_device(int number) const {
    Policy policy = *this;
    policy.device = number;
    return policy;
  }
  /// @cond
  template <std::floating_point T>
  [[nodiscard]] constexpr Policy with_device(T /*number*/) const {
    static_assert(!std::floating_point<T>, "numbers of devices must be integers: convert a float first");
    return *this;
  }
  /// @endcond
  [[nodiscard]] constexpr Policy with_stream(Stream handle) const {
    Policy policy = *this;
    policy.stream = handle;
    return policy;
  }
  [[nodiscard]] constexpr Policy with_workspace(Workspace& reused) const {
    Policy policy = *this;
    policy.workspace = &reused;
    return policy;
  }
  [[nodiscard]] constexpr Policy with_memory(MemoryResource& resource) const {
    Policy policy = *this;
    policy.memory = &resource;
    return policy;
  }
  [[nodiscard]] constexpr Policy with_rung(std::string_view id) const {
    Policy policy = *this;
    policy.rung = id;
    return policy;
  }
  [[nodiscard]] constexpr Policy with_overflow(Overflow mode) const {
    Policy policy = *this;
    policy.overflow = mode;
    return policy;
  }
};

/// A GPU as its driver describes it.
struct Device {
  std::string name;
  int major = 0;  ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::string error = {};  ///< why the driver cannot describe the GPU, which then cannot be used; empty otherwise
};

/// Returns the GPUs of this machine by their ordinals; none without a driver, or if this build has no CUDA.
UPSWEEP_CONTAINERS [[nodiscard]] const std::vector<Device>& devices();

/// Returns whether this build has CUDA.
[[nodiscard]] bool is_built() noexcept;

/// Times of calls that process host arrays on a GPU, in seconds, measured by events of the device.
struct StagingTimes {
  double to_device = 0;
  double kernel = 0;
  double to_host = 0;
};

/// Median times, in seconds, of an allocation of `bytes` on a device and of copies of `bytes` in both directions.
struct LinkTimes {
  std::int64_t bytes = 0;
  double allocation_s = 0;
  double to_device_pageable_s = 0;
  double to_device_pinned_s = 0;
  double to_host_pageable_s = 0;
  double to_host_pinned_s = 0;
};

/// Measures the link with 48 MB: a column of TPC-H's lineitem at scale factor 1, with 8 bytes per element. Throws Error
/// not_built, no_device, device_failed.
[[nodiscard]] LinkTimes measure_link(int device);
/// @cond
template <std::floating_point T>
LinkTimes measure_link(T /*device*/) {
  static_assert(!std::floating_point<T>, "numbers of devices must be integers: convert a float first");
  return {};
}
/// @endcond

}  // namespace upsweep::gpu

/// @cond
namespace upsweep::detail {

/// Whether P is a policy of a call on a GPU, or converts to one.
template <class P>
inline constexpr bool kIsGpuPolicy = std::is_convertible_v<const P&, gpu::Policy>;
/// A policy of a call on the CPU or on a GPU. Functions for both are declared once.
template <class P>
concept AnyPolicy = std::is_convertible_v<const P&, Policy> || kIsGpuPolicy<P>;

}  // namespace upsweep::detail
/// @endcond
