// SPDX-License-Identifier: Apache-2.0
// cuda/staging.hpp: arrays of the host on a device, a chunk at a time, and how long moving and computing take.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "upsweep/gpu.hpp"

namespace upsweep::gpu {

/// Seconds by the device's own events.
struct StagingTimes {
  double to_device = 0;
  double kernel = 0;
  double to_host = 0;
};

/// Device arrays that are reused from chunk to chunk. Everything is over when a call returns.
class Staging {
 public:
  /// Throws Error not_built, no_device, device_failed.
  Staging();
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Array `which`, of at least so many bytes. Throws Error device_memory.
  void* array(int which, std::int64_t bytes);
  /// The same, with what lies at `from`.
  void* upload(int which, const void* from, std::int64_t bytes);
  void download(void* to, int which, std::int64_t bytes);
  /// run(policy) puts work into the policy's stream.
  void compute(const std::function<void(const Policy&)>& run);

  [[nodiscard]] const StagingTimes& times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::gpu
