// SPDX-License-Identifier: Apache-2.0
// select/partition.cpp: what is kept first and then the rest: both by the marks of cpu.compress, in one pass over each column.
#include <new>
#include <string>

#include "cpu/blocks.hpp"
#include "select/arrays.hpp"
#include "select/marks.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {
namespace {

void require_no_rung(const Policy& policy) {
  if (policy.rung.empty()) return;
  throw Error(Code::unsupported, "partition is no ladder: it runs without a named rung");
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
  selection::require_call(policy, call);
  require_no_rung(policy);
  if (call.room < call.mask.length && !call.columns.empty()) {
    throw Error(Code::unequal_lengths, "an output has room for " + std::to_string(call.room) +
                                           " elements, but a partition has all " + std::to_string(call.mask.length));
  }
  run(policy, call);
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "partition: no memory left for its marks");
}

}  // namespace upsweep
