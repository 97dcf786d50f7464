// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
#include <cstdint>
#include <string>

#include "core/checked.hpp"
#include "core/ladder.hpp"
#include "cpu/tuning/dense.hpp"
#include "cuda/device_call.hpp"
#include "problems/dense/reduce/rung.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/shard_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::reduce {

// The ladder, from the naive loop up. Every rung is declared in the file of its name, or next to the rung from which
// it differs by one argument.
extern const Rung cpu_serial, cpu_threads, cpu_simd, cpu_std_par, cpu_simd_threads, cuda_shuffle, cuda_cub,
    cuda_one_kernel;

constexpr const Rung* kRungs[] = {&cpu_serial,       &cpu_threads,  &cpu_simd, &cpu_std_par,
                                  &cpu_simd_threads, &cuda_shuffle, &cuda_cub, &cuda_one_kernel};
constexpr Ladder<const detail::ReduceCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

constexpr std::int64_t kThreadsBytes = cpu::tuning::kDense.reduce_threads_bytes;

/// Returns the rung that the policy names, or the top rung that fits the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::ReduceCall& call, const Policy& policy) {
  if (!policy.rung.empty()) {
    const Rung& rung = named_rung(kLadder, call, policy);
    if (&rung != &cuda_one_kernel) detail::require_values_of_host(call, rung.info.id);
    return rung;
  }
  if (call.launch != nullptr) return usable(&cuda_one_kernel, call, policy);
  const bool large = call.n * call.in_size >= kThreadsBytes;
  if (call.op == Operator::custom) return large ? cpu_threads : cpu_serial;
  return large ? cpu_simd_threads : cpu_simd;
}

enum class Result : std::uint8_t { in_carry, in_own_memory, in_reach };  ///< in_reach: the caller has checked it

std::string_view run_on_device(const gpu::Policy& policy, const detail::ReduceCall& asked, Result result) {
  const bool waits = result == Result::in_carry;
  if (waits) gpu::require_no_capture(policy.stream, "reduce_async");
  detail::ReduceCall call = asked;
  gpu::CallOnDevice on_device(policy, call, &choose, gpu::Fetches::result);
  if (call.n > 0) gpu::require_device_memory(call.in, policy.device, "input");
  if (result == Result::in_own_memory) gpu::require_device_memory(call.out, policy.device, "result");
  if (call.init_at != nullptr) gpu::require_device_memory(call.init_at, policy.device, "initial value");
  gpu::require_length(call.n_at, call.out, call.out_size, policy.device);
  void* const buffer = on_device.allocate();
  if (waits) call.out = buffer;
  on_device.run();
  // A carry begins with its total.
  if (waits) gpu::fetch(call.carry, call.out, call.out_size, policy.stream);
  return on_device.rung().id;
}

}  // namespace
}  // namespace impl::reduce

std::string_view detail::run_reduce(const Policy& policy, const ReduceCall& call) {
  require_policy(policy);
  require_checks(call, policy.overflow);
  const auto& rung = impl::reduce::choose(call, policy);
  if (const Status status = rung.run(call, policy); !status.ok()) throw_status(status, rung.info.id);
  return rung.info.id;
}

std::string_view detail::run_reduce(const gpu::Policy& policy, const ReduceCall& call) {
  return impl::reduce::run_on_device(policy, call, impl::reduce::Result::in_own_memory);
}

std::string_view detail::run_reduce_in_reach(const gpu::Policy& policy, const ReduceCall& call) {
  return impl::reduce::run_on_device(policy, call, impl::reduce::Result::in_reach);
}

std::string_view detail::run_reduce_and_wait(const gpu::Policy& policy, const ReduceCall& call) {
  return impl::reduce::run_on_device(policy, call, impl::reduce::Result::in_carry);
}

gpu::WorkspaceSize detail::reduce_workspace(const gpu::Policy& policy, const ReduceCall& asked) {
  return gpu::workspace_on_device(policy, asked, &impl::reduce::choose);
}

void detail::throw_sum_overflow(Type type) {
  throw Error(Code::overflow,
              "the sum does not fit " + std::string(name(type)) + ": reduce into a wider type, or let it wrap");
}

}  // namespace upsweep
