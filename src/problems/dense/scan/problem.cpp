// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
#include <cstddef>
#include <cstring>
#include <string>

#include "core/begin_scan.hpp"
#include "core/checked.hpp"
#include "core/ladder.hpp"
#include "cpu/tuning/dense.hpp"
#include "cuda/device_call.hpp"
#include "problems/dense/scan/rung.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::scan {

// The ladder, from the naive loop up. Every rung is declared in the file of its name, or next to the rung from which
// it differs by one argument.
extern const Rung cpu_serial, cpu_threads, cpu_simd, cpu_simd_threads, cpu_std_par, cpu_chained, cpu_lookahead,
    cuda_one_thread, cuda_turn_taking, cuda_hillis_steele, cuda_hillis_steele_global, cuda_hillis_steele_blocks,
    cuda_blelloch, cuda_shuffle, cuda_thrust, cuda_cub, cuda_cub_newer, cuda_lookback, cuda_lookahead;

constexpr const Rung* kRungs[] = {&cpu_serial,
                                  &cpu_threads,
                                  &cpu_simd,
                                  &cpu_simd_threads,
                                  &cpu_std_par,
                                  &cpu_chained,
                                  &cpu_lookahead,
                                  &cuda_one_thread,
                                  &cuda_turn_taking,
                                  &cuda_hillis_steele,
                                  &cuda_hillis_steele_global,
                                  &cuda_hillis_steele_blocks,
                                  &cuda_blelloch,
                                  &cuda_shuffle,
                                  &cuda_thrust,
                                  &cuda_cub,
                                  &cuda_cub_newer,
                                  &cuda_lookback,
                                  &cuda_lookahead};
constexpr Ladder<const detail::ScanCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

constexpr std::int64_t kLookaheadBytes = cpu::tuning::kDense.scan_threads_bytes;

/// Returns the rung that the policy names, or the top rung that fits the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::ScanCall& call, const Policy& policy) {
  if (!policy.rung.empty()) {
    const Rung& rung = named_rung(kLadder, call, policy);
    const bool reads_values = &rung == &cuda_lookahead || &rung == &cuda_lookback;
    if (!reads_values) detail::require_values_of_host(call, rung.info.id);
    return rung;
  }
  if (call.launch != nullptr) {
    const bool ahead = refusal_of(cuda_lookahead, call, policy) == nullptr;
    return usable(ahead ? &cuda_lookahead : &cuda_lookback, call, policy);
  }
  // By length and type only: the choice must not depend on the machine, because the bits of a float scan depend on it.
  if (call.n * call.out_size >= kLookaheadBytes) return cpu_lookahead;
  return call.op == Operator::custom ? cpu_serial : cpu_simd;
}

void require_same_or_apart(const detail::ScanCall& call) {
  if (detail::same_or_apart(call.in, call.n * call.in_size, call.out, call.n * call.out_size)) return;
  throw Error(Code::invalid_argument, "input and output overlap: they must be the same array or disjoint");
}

/// Checks a value in device memory, unless it is null.
void require_value(const void* value, std::int64_t bytes, const char* what, const detail::ScanCall& call, int device) {
  if (value == nullptr) return;
  gpu::require_device_memory(value, device, what);
  detail::require_outside_output(value, bytes, what, call);
}

}  // namespace
}  // namespace impl::scan

std::string_view detail::run_scan(const Policy& policy, const ScanCall& call) {
  impl::scan::require_same_or_apart(call);
  require_policy(policy);
  require_checks(call, policy.overflow);
  const auto& rung = impl::scan::choose(call, policy);
  BegunScan begun(call);
  const Status status = rung.run(call, policy);
  if (begun.zero_is_first()) std::memset(call.out, 0, static_cast<std::size_t>(call.out_size));
  if (status.ok()) {
    begun.advance();
    return rung.info.id;
  }
  if (status.code == Code::overflow) {
    throw Error(Code::overflow,
                "output " + std::to_string(status.index) + " does not fit " + std::string(name(call.out_type)) +
                    ": scan into a wider type, or let it wrap",
                status.index);
  }
  throw_status(status, rung.info.id);
}

std::string_view detail::run_scan(const gpu::Policy& policy, const ScanCall& asked) {
  impl::scan::require_same_or_apart(asked);
  ScanCall call = asked;
  gpu::CallOnDevice on_device(policy, call, &impl::scan::choose);
  if (call.n == 0) return on_device.rung().id;
  gpu::require_device_memory(call.in, policy.device, "input");
  gpu::require_device_memory(call.out, policy.device, "output");
  impl::scan::require_value(call.init_at, call.out_size, "initial value", call, policy.device);
  impl::scan::require_value(call.n_at, sizeof *call.n_at, "length", call, policy.device);
  const BegunScan begun(call);
  on_device.allocate();
  on_device.run();
  if (begun.zero_is_first()) gpu::clear(call.out, call.out_size, policy.stream);
  return on_device.rung().id;
}

void detail::require_outside_output(const void* value, std::int64_t bytes, const char* what, const ElementsCall& call) {
  if (value == nullptr || call.n == 0) return;
  if (value != call.out && same_or_apart(value, bytes, call.out, call.n * call.out_size)) return;
  throw Error(Code::invalid_argument, "the " + std::string(what) + " overlaps the output: it needs separate memory");
}

void detail::require_values_of_host(const ElementsCall& call, std::string_view rung) {
  if (call.init_at != nullptr) {
    throw Error(Code::unsupported, std::string(rung) + " needs the initial value in host memory, not in device memory");
  }
  require_length_of_host(call.n_at, rung);
}

void detail::require_length_of_host(const std::int64_t* n_at, std::string_view rung) {
  if (n_at == nullptr) return;
  throw Error(Code::unsupported, std::string(rung) + " needs the length in host memory, not in device memory");
}

gpu::WorkspaceSize detail::scan_workspace(const gpu::Policy& policy, const ScanCall& asked) {
  ScanCall call = asked;
  const gpu::CallOnDevice on_device(policy, call, &impl::scan::choose);
  return call.n > 0 ? on_device.workspace() : gpu::WorkspaceSize{};
}

}  // namespace upsweep
