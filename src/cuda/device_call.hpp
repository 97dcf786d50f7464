// SPDX-License-Identifier: Apache-2.0
// cuda/device_call.hpp: one call on a GPU: makes its device current, finds its memory, and puts both back.
#pragma once

#include <cstdint>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"

namespace upsweep::gpu {

/// Makes a device current; returns the one that was. Throws Error not_built, no_device.
int make_current(int device);
void restore_current(int device) noexcept;

/// A device that is current for as long as this lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) : before_(make_current(device)) {}
  ~CurrentDevice() { restore_current(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_;
};

/// Throws invalid_argument unless `data` is memory that kernels on the device can reach and that lies in no host's.
void require_device_memory(const void* data, int device, const char* what);

/// Where kernels on the device find that memory, which may be pinned memory of the host too. Throws invalid_argument for
/// pageable memory and that of another device.
const void* mapped_memory(const void* data, int device, const char* what);

/// Throws invalid_argument where the stream is being captured into a graph: a call that waits cannot be. `instead`: the
/// call that does not.
void require_no_capture(Stream stream, const char* instead);

/// Copies `bytes` to host memory behind the stream's work, and waits for them.
void fetch(void* to, const void* from, std::int64_t bytes, Stream stream);

/// Whether the library's kernels of cuda.lookahead run on the current device, which is `device`.
bool has_lookahead(int device) noexcept;
inline constexpr const char* kNeedsLookahead =
    "needs compute capability 9.0 with 227 KB of shared memory, and code for it";

/// The policy's device and stream, without memory. The device must be there.
[[nodiscard]] Launch launch_on(const Policy& policy);

/// A call's memory: the policy's workspace, or one of its own, whose memory goes back behind the call's work.
class DeviceCall {
 public:
  DeviceCall(const Policy& policy, WorkspaceSize needed);
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  [[nodiscard]] const Launch& launch() const { return launch_; }

 private:
  Launch launch_;
  Workspace* own_ = nullptr;
};

}  // namespace upsweep::gpu
