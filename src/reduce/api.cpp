// SPDX-License-Identifier: Apache-2.0
// reduce/api.cpp: validates a reduction, runs its rung and turns a failure into an Error.
#include <cstddef>
#include <string>

#include "cuda/device_call.hpp"
#include "reduce/ladder.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {

std::string_view run_reduce(const Policy& policy, const ReduceCall& call) {
  require_policy(policy);
  const auto& rung = reduce_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  throw_status(status, rung.info.id);
}

namespace {

/// The rung, which is given a launch without memory to say what it needs.
const Rung<const ReduceCall>& rung_on_device(const gpu::Policy& policy, ReduceCall& call, gpu::Launch& where) {
  where = gpu::launch_on(policy);
  call.launch = &where;
  return reduce_rung(call, Policy{.rung = policy.rung});
}

// Where the value goes that a waiting call returns: behind what the rung has for itself.
constexpr std::int64_t kValueRoom = 256;

gpu::WorkspaceSize needed_by(const Rung<const ReduceCall>& rung, const ReduceCall& call) {
  gpu::WorkspaceSize size = rung.workspace != nullptr ? rung.workspace(call) : gpu::WorkspaceSize{};
  size.scratch = (size.scratch + kValueRoom - 1) / kValueRoom * kValueRoom + kValueRoom;
  return size;
}

std::string_view run_on_device(const gpu::Policy& policy, const ReduceCall& asked, bool waits) {
  const gpu::CurrentDevice current(policy.device);
  if (waits) gpu::require_no_capture(policy.stream, "reduce_async");
  ReduceCall call = asked;
  gpu::Launch where;
  const auto& rung = rung_on_device(policy, call, where);
  if (call.n > 0) gpu::require_device_memory(call.in, policy.device, "input");
  if (!waits) gpu::require_device_memory(call.out, policy.device, "result");
  const gpu::WorkspaceSize size = needed_by(rung, call);
  const gpu::DeviceCall memory(policy, size);
  call.launch = &memory.launch();
  if (waits) call.out = static_cast<std::byte*>(memory.launch().scratch) + size.scratch - kValueRoom;
  if (const Status status = rung.run(call, {}); !status.ok()) throw_status(status, rung.info.id);
  // A carry begins with its total.
  if (waits) gpu::fetch(call.carry, call.out, call.out_size, policy.stream);
  return rung.info.id;
}

}  // namespace

std::string_view run_reduce(const gpu::Policy& policy, const ReduceCall& call) {
  return run_on_device(policy, call, false);
}

std::string_view run_reduce_and_wait(const gpu::Policy& policy, const ReduceCall& call) {
  return run_on_device(policy, call, true);
}

gpu::WorkspaceSize reduce_workspace(const gpu::Policy& policy, const ReduceCall& asked) {
  const gpu::CurrentDevice current(policy.device);
  ReduceCall call = asked;
  gpu::Launch where;
  return needed_by(rung_on_device(policy, call, where), call);
}

void throw_sum_overflow(Type type) {
  throw Error(Code::overflow,
              "the sum does not fit " + std::string(name(type)) + ": reduce into a wider type, or let it wrap around");
}

}  // namespace upsweep::detail
