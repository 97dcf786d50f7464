// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
#include <string>

#include "core/columns.hpp"
#include "core/lists.hpp"
#include "cuda/list_call.hpp"
#include "problems/dense/partition/rung.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::partition {

// The ladder, from the naive loop up. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_tbb, cpu_compress, cuda_cub, cuda_ranks;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_tbb, &cpu_compress, &cuda_cub, &cuda_ranks};
constexpr Ladder<Call> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

using detail::ArraysAre;

const Rung& choose(const Call& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_ranks : &cpu_compress, call, policy);
}

/// Checks all requirements of a partition on its arrays. Throws Error.
void require_call(const Call& call, ArraysAre arrays = ArraysAre::there) {
  const std::int64_t n = call.mask.length;
  if (!call.mask.is_given()) throw Error(Code::invalid_argument, "there is no mask to partition by");
  detail::require_mask(call.mask, n, "the mask", arrays);
  const std::int64_t capacity = require_columns(call.columns, n, "the mask", arrays);
  if (arrays == ArraysAre::to_come) return;
  CallArrays given;
  add_columns(call.columns, given);
  given.read(call.mask);
  given.require_apart();
  require_capacity("an output", capacity, n);
}

}  // namespace
}  // namespace impl::partition

std::string_view detail::run_partition(const Policy& policy, PartitionCall& call) {
  require_policy(policy);
  impl::partition::require_call(call);
  const auto& rung = impl::partition::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (!status.ok()) throw_status(status, rung.info.id);
  return rung.info.id;
}

std::string_view detail::run_partition(const gpu::Policy& policy, PartitionCall& call) {
  impl::partition::require_call(call);
  const auto require = [&] {
    gpu::require_device_mask(call.mask, policy.device, "the mask");
    gpu::require_device_columns(call.columns, policy.device);
  };
  const auto report = [&] {
    gpu::SelectStatus status = {};
    gpu::fetch(&status, call.status, sizeof status, call.launch->stream);
    call.kept = status.kept;
  };
  return gpu::run_on_device(policy, call, &impl::partition::choose, "partition_async", require, report);
}

gpu::WorkspaceSize detail::partition_workspace(const gpu::Policy& policy, const PartitionCall& asked) {
  impl::partition::require_call(asked, ArraysAre::to_come);
  return gpu::workspace_on_device(policy, asked, &impl::partition::choose);
}

}  // namespace upsweep
