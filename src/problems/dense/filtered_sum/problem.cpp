// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "cpu/tuning/dense.hpp"
#include "cuda/device_call.hpp"
#include "problems/dense/filtered_sum/rung.hpp"
#include "upsweep/detail/filtered_sum_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::filtered_sum {

// The ladder, from the naive loop up. Every rung is declared in the file of its name, or next to the rung from which
// it differs by one argument.
extern const Rung cpu_serial, cpu_threads, cpu_predicate_first, cuda_select, cuda_interleaved, cuda_sequential,
    cuda_unrolled, cuda_two_loads, cuda_reduce_again, cuda_occupancy, cuda_shuffle, cuda_cub, cuda_zero_copy,
    cuda_fused;

constexpr const Rung* kRungs[] = {&cpu_serial,        &cpu_threads,     &cpu_predicate_first, &cuda_select,
                                  &cuda_interleaved,  &cuda_sequential, &cuda_unrolled,       &cuda_two_loads,
                                  &cuda_reduce_again, &cuda_occupancy,  &cuda_shuffle,        &cuda_cub,
                                  &cuda_zero_copy,    &cuda_fused};
constexpr Ladder<detail::FilteredSumCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

constexpr std::int64_t kSerialRows = cpu::tuning::kFilteredSum.serial_rows;

const Rung& choose(const detail::FilteredSumCall& call, const Policy& policy) {
  if (!policy.rung.empty()) {
    const Rung& rung = named_rung(kLadder, call, policy);
    if (&rung != &cuda_fused && &rung != &cuda_zero_copy) detail::require_length_of_host(call.n_at, rung.info.id);
    return rung;
  }
  if (call.launch != nullptr) return usable(&cuda_fused, call, policy);
  return call.n < kSerialRows ? cpu_serial : cpu_predicate_first;
}

std::int64_t add_partials(const detail::FilteredSumCall& call, gpu::Stream stream) {
  constexpr std::int64_t kAtATime = std::int64_t{1} << 17;
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> fetched(static_cast<std::size_t>(std::min(kAtATime, call.partial_count)));
  for (std::int64_t first = 0; first < call.partial_count; first += kAtATime) {
    const std::int64_t count = std::min(kAtATime, call.partial_count - first);
    gpu::fetch(fetched.data(), call.partials + first, count * std::int64_t{sizeof(std::uint64_t)}, stream);
    sum = std::accumulate(fetched.begin(), fetched.begin() + count, sum);
  }
  return static_cast<std::int64_t>(sum);
}

namespace {

void require_columns_on_device(const gpu::Policy& policy, const RungInfo& rung, detail::FilteredSumCall& call) {
  if (call.n == 0) return;
  const auto require = [&]<class T>(const T*& column, const char* what) {
    if (!rung.host_memory) return gpu::require_device_memory(column, policy.device, what);
    column = static_cast<const T*>(gpu::mapped_memory(column, policy.device, what));
  };
  require(call.key, "key");
  require(call.quantity, "quantity");
  require(call.price, "price");
}

void require_wrap(Overflow overflow) {
  if (overflow == Overflow::wrap) return;
  throw Error(Code::unsupported,
              "filtered_sum computes modulo 2^64 and cannot check for overflow: choose wrap instead of checked");
}

/// `sum` is null unless the call waits.
std::string_view run_on_device(const gpu::Policy& policy, detail::FilteredSumCall& call, std::int64_t* sum) {
  require_wrap(policy.overflow);
  call.waits = sum != nullptr;
  if (call.waits) gpu::require_no_capture(policy.stream, "filtered_sum_async");
  gpu::CallOnDevice on_device(policy, call, &choose, gpu::Fetches::result);
  require_columns_on_device(policy, on_device.rung(), call);
  if (!call.waits && !call.out_is_reached) gpu::require_device_memory(call.out, policy.device, "result");
  gpu::require_length(call.n_at, call.out, sizeof *call.out, policy.device);
  void* const buffer = on_device.allocate();
  if (call.waits) call.out = static_cast<std::int64_t*>(buffer);
  on_device.run();
  if (call.waits) *sum = add_partials(call, policy.stream);
  return on_device.rung().id;
}

}  // namespace
}  // namespace impl::filtered_sum

void detail::require_columns(std::int64_t keys, std::int64_t quantities, std::int64_t prices) {
  if (keys == quantities && keys == prices) return;
  throw Error(Code::unequal_lengths, "key has " + std::to_string(keys) + " rows, quantity " +
                                         std::to_string(quantities) + ", price " + std::to_string(prices) +
                                         ": they must be equal");
}

std::string_view detail::run_filtered_sum(const Policy& policy, FilteredSumCall& call) {
  require_policy(policy);
  impl::filtered_sum::require_wrap(policy.overflow);
  const auto& rung = impl::filtered_sum::choose(call, policy);
  if (const Status status = rung.run(call, policy); !status.ok()) throw_status(status, rung.info.id);
  return rung.info.id;
}

std::string_view detail::run_filtered_sum(const gpu::Policy& policy, FilteredSumCall& call) {
  return impl::filtered_sum::run_on_device(policy, call, nullptr);
}

std::string_view detail::run_filtered_sum_and_wait(const gpu::Policy& policy, FilteredSumCall& call,
                                                   std::int64_t& sum) {
  return impl::filtered_sum::run_on_device(policy, call, &sum);
}

gpu::WorkspaceSize detail::filtered_sum_workspace(const gpu::Policy& policy, const FilteredSumCall& asked) {
  FilteredSumCall call = asked;
  call.waits = true;
  return gpu::workspace_on_device(policy, call, &impl::filtered_sum::choose);
}

}  // namespace upsweep
