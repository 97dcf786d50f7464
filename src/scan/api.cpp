// SPDX-License-Identifier: Apache-2.0
// scan/api.cpp: validates a scan, runs its rung and turns a failure into an Error.
#include <string>

#include "cuda/device_call.hpp"
#include "scan/ladder.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {

namespace {

void require_same_or_apart(const ScanCall& call) {
  if (same_or_apart(call.in, call.n * call.in_size, call.out, call.n * call.out_size)) return;
  throw Error(Code::invalid_argument, "input and output overlap: they must be the same array or lie apart");
}

/// The rung, and what it needs. `call` is made one on the policy's device, whose launch is `where`.
const Rung<const ScanCall>& rung_on_device(const gpu::Policy& policy, ScanCall& call, gpu::Launch& where) {
  where = gpu::launch_on(policy);
  call.launch = &where;
  return scan_rung(call, Policy{.rung = policy.rung});
}

}  // namespace

std::string_view run_scan(const Policy& policy, const ScanCall& call) {
  require_same_or_apart(call);
  require_policy(policy);
  const auto& rung = scan_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  if (status.code == Code::overflow) {
    throw Error(Code::overflow,
                "output " + std::to_string(status.index) + " does not fit " + std::string(name(call.out_type)) +
                    ": scan into a wider type, or let it wrap around",
                status.index);
  }
  throw_status(status, rung.info.id);
}

std::string_view run_scan(const gpu::Policy& policy, const ScanCall& asked) {
  require_same_or_apart(asked);
  const gpu::CurrentDevice current(policy.device);
  ScanCall call = asked;
  gpu::Launch where;
  const auto& rung = rung_on_device(policy, call, where);
  if (call.n == 0) return rung.info.id;
  gpu::require_device_memory(call.in, policy.device, "input");
  gpu::require_device_memory(call.out, policy.device, "output");
  const gpu::DeviceCall memory(policy, rung.workspace != nullptr ? rung.workspace(call) : gpu::WorkspaceSize{});
  call.launch = &memory.launch();
  const Status status = rung.run(call, {});
  if (status.ok()) return rung.info.id;
  throw_status(status, rung.info.id);
}

gpu::WorkspaceSize scan_workspace(const gpu::Policy& policy, const ScanCall& asked) {
  const gpu::CurrentDevice current(policy.device);
  ScanCall call = asked;
  gpu::Launch where;
  const auto& rung = rung_on_device(policy, call, where);
  return rung.workspace != nullptr && call.n > 0 ? rung.workspace(call) : gpu::WorkspaceSize{};
}

}  // namespace upsweep::detail
