// SPDX-License-Identifier: Apache-2.0
// scale/staging.hpp: arrays of the host on a device, a chunk at a time, and how long moving and computing take.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "upsweep/detail/tuning/transfers.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::gpu {

/// Device arrays that are reused from chunk to chunk. Everything is over when a call returns or throws, but for copies that start_copies()
/// has started and what fill() fills. One thread at a time.
class Staging {
 public:
  /// Bytes of the host for the device.
  struct Copy {
    void* to;
    const void* from;
    std::int64_t bytes;
  };
  static constexpr int kSlots = tuning::kStaging.slots;

  /// On a policy's device, with memory of its resource. Throws Error not_built, no_device, device_failed.
  explicit Staging(const Policy& policy = {});
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Array `which`, of at least so many bytes; what it held is lost where it has to grow. Throws Error device_memory.
  void* array(int which, std::int64_t bytes);
  /// The same on the host, pinned: it is copied faster. Pinned memory is kept for later calls of the process. Throws Error
  /// out_of_memory.
  void* host_array(int which, std::int64_t bytes);
  /// array(which, bytes) with what lies at `from`.
  void* upload(int which, const void* from, std::int64_t bytes);
  void download(void* to, int which, std::int64_t bytes);
  /// The same with any place in an array of the device.
  void copy_in(void* to, const void* from, std::int64_t bytes);
  void copy_out(void* to, const void* from, std::int64_t bytes);
  /// Starts copies from pinned memory, which what compute() does later finds done. They are over, and `from` may be written to,
  /// once wait(slot) or compute() has returned; a slot has those of one call.
  void start_copies(int slot, std::span<const Copy> copies);
  void wait(int slot);
  /// run(policy) puts work into the policy's stream.
  void compute(const std::function<void(const Policy&)>& run);
  /// The same, then copies from an array of the device to the host. Waits once for both.
  void compute_and_fetch(const std::function<void(const Policy&)>& run, void* to, const void* from, std::int64_t bytes);
  /// Bytes of the device, in the order of compute() and start_copies(), inside and between them.
  void fill(void* to, int byte, std::int64_t bytes);
  void copy(void* to, const void* from, std::int64_t bytes);

  [[nodiscard]] int device() const;
  [[nodiscard]] const StagingTimes& times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::gpu
