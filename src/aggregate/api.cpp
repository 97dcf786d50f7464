// SPDX-License-Identifier: Apache-2.0
// aggregate/api.cpp: validates a filtered sum, runs its rung and turns a failure into an Error.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/ladder.hpp"
#include "cuda/device_call.hpp"
#include "upsweep/detail/aggregate_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {

void require_columns(std::int64_t keys, std::int64_t quantities, std::int64_t prices) {
  if (keys == quantities && keys == prices) return;
  throw Error(Code::unequal_lengths, "key has " + std::to_string(keys) + " rows, quantity " +
                                         std::to_string(quantities) + ", price " + std::to_string(prices) +
                                         ": they must be equal");
}

std::string_view run_select_sum(const Policy& policy, AggregateCall& call) {
  require_policy(policy);
  if (policy.overflow == Overflow::checked) {
    throw Error(Code::unsupported, "select_sum wraps around modulo 2^64: it does not check for overflow");
  }
  const auto& rung = aggregate_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  throw_status(status, rung.info.id);
}

namespace {

/// The rung, which is given a launch without memory to say what it needs.
const Rung<AggregateCall>& rung_on_device(const gpu::Policy& policy, AggregateCall& call, gpu::Launch& where) {
  where = gpu::launch_on(policy);
  call.launch = &where;
  return aggregate_rung(call, Policy{.rung = policy.rung});
}

// Where the value goes that a waiting call returns: behind what the rung has for itself.
constexpr std::int64_t kValueRoom = 256;

gpu::WorkspaceSize needed_by(const Rung<AggregateCall>& rung, const AggregateCall& call) {
  gpu::WorkspaceSize size = rung.workspace != nullptr ? rung.workspace(call) : gpu::WorkspaceSize{};
  size.scratch = (size.scratch + kValueRoom - 1) / kValueRoom * kValueRoom + kValueRoom;
  return size;
}

void require_columns_on_device(const gpu::Policy& policy, const RungInfo& rung, AggregateCall& call) {
  if (call.n == 0) return;
  if (rung.host_memory) {
    call.key = static_cast<const std::uint32_t*>(gpu::mapped_memory(call.key, policy.device, "key"));
    call.quantity = static_cast<const std::int64_t*>(gpu::mapped_memory(call.quantity, policy.device, "quantity"));
    call.price = static_cast<const std::int64_t*>(gpu::mapped_memory(call.price, policy.device, "price"));
    return;
  }
  gpu::require_device_memory(call.key, policy.device, "key");
  gpu::require_device_memory(call.quantity, policy.device, "quantity");
  gpu::require_device_memory(call.price, policy.device, "price");
}

/// The sum of what the rung left, a megabyte at a time.
std::int64_t add_partials(const AggregateCall& call, gpu::Stream stream) {
  constexpr std::int64_t kAtATime = std::int64_t{1} << 17;
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> part(static_cast<std::size_t>(std::min(kAtATime, call.partial_count)));
  for (std::int64_t first = 0; first < call.partial_count; first += kAtATime) {
    const std::int64_t count = std::min(kAtATime, call.partial_count - first);
    gpu::fetch(part.data(), call.partials + first, count * std::int64_t{sizeof(std::uint64_t)}, stream);
    for (std::int64_t i = 0; i < count; ++i) sum += part[static_cast<std::size_t>(i)];
  }
  return static_cast<std::int64_t>(sum);
}

/// `sum`: of a call that waits, else null.
std::string_view run_on_device(const gpu::Policy& policy, AggregateCall& call, std::int64_t* sum) {
  const gpu::CurrentDevice current(policy.device);
  call.waits = sum != nullptr;
  if (call.waits) gpu::require_no_capture(policy.stream, "select_sum_async");
  gpu::Launch where;
  const auto& rung = rung_on_device(policy, call, where);
  require_columns_on_device(policy, rung.info, call);
  if (!call.waits) gpu::require_device_memory(call.out, policy.device, "result");
  const gpu::WorkspaceSize size = needed_by(rung, call);
  const gpu::DeviceCall memory(policy, size);
  call.launch = &memory.launch();
  if (call.waits) {
    call.out =
        reinterpret_cast<std::int64_t*>(static_cast<std::byte*>(memory.launch().scratch) + size.scratch - kValueRoom);
  }
  if (const Status status = rung.run(call, {}); !status.ok()) throw_status(status, rung.info.id);
  if (call.waits) *sum = add_partials(call, policy.stream);
  return rung.info.id;
}

}  // namespace

std::string_view run_select_sum(const gpu::Policy& policy, AggregateCall& call) {
  return run_on_device(policy, call, nullptr);
}

std::string_view run_select_sum_and_wait(const gpu::Policy& policy, AggregateCall& call, std::int64_t& sum) {
  return run_on_device(policy, call, &sum);
}

gpu::WorkspaceSize select_sum_workspace(const gpu::Policy& policy, const AggregateCall& asked) {
  const gpu::CurrentDevice current(policy.device);
  AggregateCall call = asked;
  call.waits = true;
  gpu::Launch where;
  const auto& rung = rung_on_device(policy, call, where);
  return needed_by(rung, call);
}

}  // namespace upsweep::detail
