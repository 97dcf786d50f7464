// SPDX-License-Identifier: Apache-2.0
// upsweep/gpu.hpp: how a call runs on an NVIDIA GPU: device, stream, memory. Needs no CUDA header.
//
// Functions of scan, reduce, offsets, segmented_…, by_key, group_by, select, pack, broadcast, combinations, filtered_sum and
// subset_sum.hpp that run on both the CPU and a GPU are declared once. With a gpu::Policy they take device memory: pointers with
// lengths, or ranges such as std::span(pointer, n). A std::vector, std::array or C array of content, keys or output does not
// compile there. Lists, masks, indices and columns are checked when the call runs. Items of subset_sum.hpp are host memory.
// Braces without a type are a Policy: write gpu::Policy{.device = 1}, not {.device = 1}.
//
//   auto policy = upsweep::gpu::Policy{}.with_stream(stream);
//   upsweep::gpu::Workspace workspace(upsweep::gpu::scan_workspace<float, float>(policy, n), 0, stream);
//   upsweep::inclusive_scan(policy.with_workspace(workspace), x, n, y);  // returns once the work is in the stream
//
// Order     work is put into the stream. All calls wait for it but scans of arrays, which have no error that depends on the
//           data, and those in …_async, which leave their outcome in device memory.
// Memory    managed or device memory of the policy's device; host memory is an invalid_argument error, nothing is copied
//           (but filtered_sum by cuda.zero_copy reads pinned memory of the host where it is). The stream is of that device too.
// Graphs    every call that does not wait can be captured into a CUDA graph; with a workspace, replays allocate
//           nothing, and but for operations on lists clear nothing.
// Floats    the same bits on every run, for any alignment of the arrays; but not with libraries' rungs, cuda.lookback,
//           and the tables of group_by.hpp.
// Overflow  sums of integers wrap around. With Overflow::checked those of segmented_reduce(), reduce_by_key() and group_by() are
//           exact or an error, and other sums and scans of integers are refused (unsupported).
// Errors    Error: no_device, device_failed, device_memory, not_built (a build without CUDA), and those of scan.hpp.
//           A failure of the device that work of an earlier call caused may show in a later one.
#pragma once

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

/// Where a call's temporary device memory comes from, ordered by stream like the work that uses it.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// Memory aligned to 256 bytes on the current device. Throws Error device_memory.
  virtual void* allocate(std::int64_t bytes, Stream stream) = 0;
  virtual void deallocate(void* memory, std::int64_t bytes, Stream stream) noexcept = 0;
};

/// A stream-ordered pool of each device (cudaMallocFromPoolAsync), which keeps what calls have freed, up to a sixteenth of the
/// device's memory; cudaMalloc() of the same process gets it where nothing else is free.
MemoryResource& pool() noexcept;

/// What rungs leave in the kept bytes of a workspace for their next call.
enum class Kept : std::uint8_t {
  tagged_words,  ///< values that carry the number of the launch: scans, reductions, offsets, filtered sums
  list_counts,   ///< how many partial folds of lists are missing: segmented_reduce by cuda.pipeline
};

/// Bytes of device memory that a rung needs besides the arrays.
struct WorkspaceSize {
  std::int64_t kept = 0;     ///< zero before the first call, kept from one to the next
  std::int64_t scratch = 0;  ///< anything
  Kept kept_as = Kept::tagged_words;
};

/// Device memory for calls to use, one after the other: of one stream, or of streams that wait for each other. All of them keep
/// the same in it (`Kept`): a call that keeps something else is an invalid_argument error, and needs a workspace of its own.
///
/// Memory is allocated, cleared and freed in the order of the workspace's own stream. The first call in another stream waits for the
/// clearing, and freeing waits for the calls in other streams, except for replays of a CUDA graph: keep the workspace until they end.
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
  bool is_used_ = false;         ///< by a call that keeps what size_.kept_as says
  bool is_ordered_ = false;      ///< a call in another stream has waited for the clearing
  bool is_used_elsewhere_ = false;
};

/// How to run a call on a GPU. Copy one and change it.
struct Policy {
  int device = 0;
  Stream stream = nullptr;
  Workspace* workspace = nullptr;    ///< null: allocated from `memory` for each call, and cleared
  MemoryResource* memory = nullptr;  ///< null: pool()
  std::string_view rung = {};        ///< empty: the top rung that fits; one asked for by name never falls back
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
  std::string error = {};  ///< why the driver does not describe it, and it cannot be used; empty where it does
};

/// The GPUs of this machine by their ordinals; none where there is no driver or this build has no CUDA.
UPSWEEP_CONTAINERS [[nodiscard]] const std::vector<Device>& devices();

/// Whether this build has CUDA.
[[nodiscard]] bool is_built() noexcept;

/// Of calls on the host's arrays by way of a GPU, in seconds by the device's own events.
struct StagingTimes {
  double to_device = 0;
  double kernel = 0;
  double to_host = 0;
};

/// Seconds of an allocation of `bytes` on a device, and of copies of as many there and back: medians.
struct LinkTimes {
  std::int64_t bytes = 0;
  double allocation_s = 0;
  double to_device_pageable_s = 0;
  double to_device_pinned_s = 0;
  double to_host_pageable_s = 0;
  double to_host_pinned_s = 0;
};

/// With 48 MB, a column of TPC-H's lineitem at scale factor 1 in 8 bytes. Throws Error not_built, no_device, device_failed.
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

/// A policy of a call on a GPU, or what converts to one.
template <class P>
inline constexpr bool kIsGpuPolicy = std::is_convertible_v<const P&, gpu::Policy>;
/// Where a call runs: functions over both policies are declared once.
template <class P>
concept AnyPolicy = std::is_convertible_v<const P&, Policy> || kIsGpuPolicy<P>;

}  // namespace upsweep::detail
/// @endcond
