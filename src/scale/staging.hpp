// SPDX-License-Identifier: Apache-2.0
// scale/staging.hpp: copies host arrays to a device chunk by chunk, and measures the time of copies and kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "upsweep/detail/tuning/transfers.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::gpu {

/// Device arrays that are reused from chunk to chunk. All work has ended when a call returns or throws, except copies
/// that start_copies() has started and fills by fill(). Only one thread may use an object at a time.
class Staging {
 public:
  /// A copy from host memory to the device.
  struct Copy {
    void* to;
    const void* from;
    std::int64_t bytes;
  };
  static constexpr int kSlots = tuning::kStaging.slots;

  /// Uses a policy's device and memory resource. Throws Error not_built, no_device, device_failed.
  explicit Staging(const Policy& policy = {});
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Returns array `which` of at least `bytes` bytes. Growing discards its contents. Throws Error device_memory.
  void* array(int which, std::int64_t bytes);
  /// Returns array `which` in pinned host memory, which is copied faster. Pinned memory is kept for later calls of the
  /// process. Throws Error out_of_memory.
  void* host_array(int which, std::int64_t bytes);
  /// Returns array(which, bytes) with a copy of the bytes at `from`.
  void* upload(int which, const void* from, std::int64_t bytes);
  void download(void* to, int which, std::int64_t bytes);
  /// Copies to any place in a device array.
  void copy_in(void* to, const void* from, std::int64_t bytes);
  void copy_out(void* to, const void* from, std::int64_t bytes);
  /// Starts copies from pinned memory. Later work of compute() finds them done. They have ended, and `from` may be
  /// overwritten, once wait(slot) or compute() has returned. A slot holds the copies of one call.
  void start_copies(int slot, std::span<const Copy> copies);
  void wait(int slot);
  /// Calls run(policy), which enqueues work into the policy's stream.
  void compute(const std::function<void(const Policy&)>& run);
  /// Like compute(), followed by a copy from a device array to the host. Waits once for both.
  void compute_and_fetch(const std::function<void(const Policy&)>& run, void* to, const void* from, std::int64_t bytes);
  /// Fills bytes on the device, in stream order with compute() and start_copies(), inside and between them.
  void fill(void* to, int byte, std::int64_t bytes);
  void copy(void* to, const void* from, std::int64_t bytes);

  [[nodiscard]] int device() const;
  [[nodiscard]] const StagingTimes& times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::gpu
