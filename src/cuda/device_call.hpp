// SPDX-License-Identifier: Apache-2.0
// cuda/device_call.hpp: one call on a GPU: makes its device current, allocates its memory, and restores both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "core/checked.hpp"
#include "core/ladder.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::gpu {

/// Makes a device current; returns the previous one. Throws Error not_built, no_device.
int make_current(int device);
void restore_current(int device) noexcept;

/// A device that is current during this object's lifetime.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) : before_(make_current(device)) {}
  ~CurrentDevice() { restore_current(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_;
};

/// Throws invalid_argument unless `data` is memory that kernels on the device can reach and is not host memory.
void require_device_memory(const void* data, int device, const char* what);

/// Throws invalid_argument unless a length, if it has an address, is in the device's memory and outside the result.
void require_length(const std::int64_t* at, const void* result, std::int64_t result_bytes, int device);

/// Returns the address at which kernels on the device access that memory, which may also be pinned host memory. Throws
/// invalid_argument for pageable memory and for memory of another device.
const void* mapped_memory(const void* data, int device, const char* what);

/// Throws invalid_argument if the stream is being captured into a graph: a call that waits cannot be captured.
/// `instead` names the call that does not wait.
void require_no_capture(Stream stream, const char* instead);

/// Copies `bytes` to memory of the host or of the device after the stream's work, and waits for them.
void fetch(void* to, const void* from, std::int64_t bytes, Stream stream);

/// Copies `bytes` from host memory after the stream's work. Host memory may change when the call returns.
void send(void* to, const void* from, std::int64_t bytes, Stream stream);

/// Zeroes `bytes` of device memory after the stream's work, without waiting.
void clear(void* to, std::int64_t bytes, Stream stream);

/// Returns null if the library's kernels of cuda.lookahead run on the current device, which is `device`; otherwise the
/// reason.
const char* lookahead_refusal(int device) noexcept;

/// Returns the policy's device and stream, without memory. The device must exist.
[[nodiscard]] Launch launch_on(const Policy& policy);

/// A call's memory: the policy's workspace, or a separate one, which is freed after the call's work.
class DeviceCall {
 public:
  DeviceCall(const Policy& policy, WorkspaceSize needed);
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  [[nodiscard]] const Launch& launch() const { return launch_; }

 private:
  Launch launch_;
  std::unique_ptr<Workspace> own_;
  Workspace* workspace_ = nullptr;  ///< the policy's, or own_, or null if the call needs no memory
};

/// Whether a call fetches the result that a rung stores after its own scratch: the value of a reduction, or its
/// outcome.
enum class Fetches : bool { nothing, result };
inline constexpr std::int64_t kResultBytes = 256;

/// Returns the scratch size with `bytes` more bytes after it.
constexpr WorkspaceSize followed_by(WorkspaceSize size, std::int64_t bytes) {
  if (bytes > 0) size.scratch = (size.scratch + kResultBytes - 1) / kResultBytes * kResultBytes + bytes;
  return size;
}

template <class RungCall>
WorkspaceSize workspace_of(const Rung<RungCall>& rung, std::type_identity_t<const RungCall>& call, Fetches fetches) {
  const WorkspaceSize size = rung.workspace != nullptr ? rung.workspace(call) : WorkspaceSize{};
  return followed_by(size, fetches == Fetches::result ? kResultBytes : 0);
}

/// The beginning of every call on a GPU: its device is current during this object's lifetime, its rung is chosen, and
/// then the memory that the rung needs is allocated.
template <class RungCall>
class CallOnDevice {
 public:
  using Call = std::remove_const_t<RungCall>;
  using Choose = const Rung<RungCall>& (*)(const Call& call, const upsweep::Policy& policy);

  /// Changes `call` to a call on the policy's device.
  CallOnDevice(const Policy& policy, Call& call, Choose choose, Fetches fetches = Fetches::nothing)
      : current_(policy.device), policy_(policy), call_(call), fetches_(fetches), launch_(launch_on(policy)) {
    call.launch = &launch_;
    if (policy.overflow == Overflow::checked) check_sums();
    rung_ = &choose(call, {.rung = policy.rung});
  }

  [[nodiscard]] const RungInfo& rung() const { return rung_->info; }
  [[nodiscard]] WorkspaceSize workspace() const { return workspace_of(*rung_, call_, fetches_); }

  /// Allocates the call's memory, and `more` bytes after it. Returns these bytes, or the place of the result, or null.
  void* allocate(std::int64_t more = 0) {
    const WorkspaceSize size = followed_by(workspace(), more);
    memory_.emplace(policy_, size);
    call_.launch = &memory_->launch();
    const std::int64_t last = more > 0 || fetches_ == Fetches::nothing ? more : kResultBytes;
    return last > 0 ? static_cast<std::byte*>(memory_->launch().scratch) + size.scratch - last : nullptr;
  }
  void run() {
    if (const Status status = rung_->run(call_, {}); !status.ok()) throw_status(status, rung_->info.id);
  }

 private:
  /// Makes the call check its sums if it computes sums of integers. Throws unsupported if it cannot.
  void check_sums() {
    if constexpr (requires { call_.op == Operator::add && is_integer(call_.out_type); }) {
      require_checks(call_, Overflow::checked);
      if (call_.op != Operator::add || !is_integer(call_.out_type)) return;
      if constexpr (requires { call_.checked; }) {
        call_.checked = true;
      } else {
        throw Error(Code::unsupported, "on a GPU only sums of lists are checked for overflow; let these sums wrap");
      }
    }
  }

  CurrentDevice current_;
  Policy policy_;
  Call& call_;
  Fetches fetches_;
  Launch launch_;
  const Rung<RungCall>* rung_ = nullptr;
  std::optional<DeviceCall> memory_;
};

/// Runs a call that writes its outcome to call.status in device memory, and returns the rung. If the caller passes no
/// status, it waits.
///   instead    the call that does not wait, for the error of a stream that is being captured
///   require()  throws unless the call's arrays are in memory of the device
///   report()   waits for the outcome and throws its error
template <class RungCall, class Require, class Report>
std::string_view run_on_device(const Policy& policy, std::remove_const_t<RungCall>& call,
                               const Rung<RungCall>& (*choose)(const std::remove_const_t<RungCall>&,
                                                               const upsweep::Policy&),
                               const char* instead, Require require, Report report) {
  static_assert(sizeof *call.status <= kResultBytes);
  const bool waits = call.status == nullptr;
  if (waits) require_no_capture(policy.stream, instead);
  CallOnDevice<RungCall> on_device(policy, call, choose, Fetches::result);
  require();
  if (!waits) require_device_memory(call.status, policy.device, "status");
  void* const result = on_device.allocate();
  if (waits) call.status = static_cast<decltype(call.status)>(result);
  on_device.run();
  if (waits) report();
  return on_device.rung().id;
}

/// Returns the workspace of such a call, and of any call that fetches a result.
template <class RungCall>
WorkspaceSize workspace_on_device(const Policy& policy, std::remove_const_t<RungCall> call,
                                  const Rung<RungCall>& (*choose)(const std::remove_const_t<RungCall>&,
                                                                  const upsweep::Policy&)) {
  return CallOnDevice<RungCall>(policy, call, choose, Fetches::result).workspace();
}

}  // namespace upsweep::gpu
