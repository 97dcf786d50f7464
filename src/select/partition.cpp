// SPDX-License-Identifier: Apache-2.0
// select/partition.cpp: what is kept first and then the rest: both by the marks of cpu.compress, in one pass over each column;
// on a GPU by partition_kernels.cu.
#include <new>
#include <string>

#include "core/no_ladder.hpp"
#include "cpu/blocks.hpp"
#include "cuda/device_call.hpp"
#include "select/arrays.hpp"
#include "select/marks.hpp"
#include "select/rung.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {
namespace selection {

extern const Rung partition_on_device;

void require_partition(detail::SelectCall& call) {
  require_views(call);
  if (call.room >= call.mask.length || call.columns.empty()) return;
  throw Error(Code::unequal_lengths, "an output has room for " + std::to_string(call.room) +
                                         " elements, but a partition has all " + std::to_string(call.mask.length));
}

}  // namespace selection

namespace {

/// The one way there is on a GPU.
const selection::Rung& on_device(const detail::SelectCall& call, const Policy& policy) {
  require_no_rung(policy.rung);
  return usable(&selection::partition_on_device, call, policy);
}

void run(const Policy& policy, detail::SelectCall& call) {
  const cpu::SelectKernels& kernels = cpu::select_kernels(policy.isa);
  const int workers = selection::workers_of(call, policy.threads);
  const selection::Marks marks(call.mask, {0, call.mask.length}, kernels, workers);
  call.kept = marks.total();
  const std::int64_t blocks = marks.blocks();
  cpu::for_each_block_on(workers, blocks * std::ssize(call.columns), 1, [&](cpu::Range ticket) {
    const SelectColumn& column = call.columns[static_cast<std::size_t>(ticket.first / blocks)];
    selection::compact_block(column, marks, ticket.first % blocks, kernels);
    selection::compact_others(column, marks, ticket.first % blocks, call.kept, kernels);
    return kNoIndex;
  });
}

}  // namespace

void detail::run_partition(const Policy& policy, SelectCall& call) try {
  require_policy(policy);
  require_no_rung(policy.rung);
  selection::require_partition(call);
  run(policy, call);
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "partition: no memory left for its marks");
}

void detail::run_partition(const gpu::Policy& policy, SelectCall& call) {
  selection::require_partition(call);
  const bool waits = call.status == nullptr;
  if (waits) gpu::require_no_capture(policy.stream, "partition_async");
  gpu::CallOnDevice device_call(policy, call, &on_device, gpu::Fetches::result);
  selection::require_on_device(call, policy.device);
  if (!waits) gpu::require_device_memory(call.status, policy.device, "status");
  void* const result = device_call.allocate();
  if (waits) call.status = static_cast<gpu::SelectStatus*>(result);
  device_call.run();
  if (!waits) return;
  gpu::SelectStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, call.launch->stream);
  call.kept = status.kept;
}

gpu::WorkspaceSize detail::partition_workspace(const gpu::Policy& policy, const SelectCall& asked) {
  SelectCall call = asked;
  selection::require_views(call, ArraysAre::to_come);
  return gpu::CallOnDevice(policy, call, &on_device, gpu::Fetches::result).workspace();
}

}  // namespace upsweep
