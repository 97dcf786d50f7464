// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/cpu_compress.cpp: converts the mask to bits with counts; these compress vectors of content.
//
// Idea   One pass over the mask converts 64 booleans to a word of bits and counts the set bits of each block. The sum
//        of the counts before a block says where its kept elements go, and where its other elements go. So any thread
//        can process any block of a column, in any order. Vectors compress the kept elements to their place. While the
//        block is in a cache, a second compression with the inverted bits moves the others to theirs.
// Cost   Mask and content read once, all of the content written. Another 5/32 bytes per element are written and read,
//        mostly in caches. Work n/8 + 2n/w by vectors of w, depth that / p.
// Needs  AVX-512, AVX2 or baseline.
// Limit  The memory bandwidth of the machine, and the extra cost of storing to outputs that are not in a cache.
// From   cpu.compress of the select ladder, which names its sources.
#include <new>

#include "cpu/marks.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/partition/rung.hpp"

namespace upsweep::impl::partition {
namespace {

/// Returns the number of threads that a call is worth, by the bytes that it moves.
int workers_of(const Call& call, int threads) {
  std::int64_t bytes = call.mask.length;
  for (const SelectColumn& column : call.columns) bytes += call.mask.length * column.element_size;
  return cpu::block_workers(cpu::ceil_div(bytes, cpu::kBlockBytes), threads);
}

Status run(Call& call, const Policy& policy) noexcept try {
  const cpu::SelectKernels& kernels = cpu::select_kernels(policy.isa);
  const int workers = workers_of(call, policy.threads);
  const cpu::Range all{0, call.mask.length};
  if (call.columns.empty()) {
    call.kept = cpu::count_marks(call.mask, all, kernels, workers);
    return {};
  }
  const cpu::Marks marks(call.mask, all, kernels, workers);
  call.kept = marks.total();
  const std::int64_t blocks = marks.blocks();
  cpu::for_each_block_on(workers, blocks * std::ssize(call.columns), 1, [&](cpu::Range ticket) {
    const SelectColumn& column = call.columns[static_cast<std::size_t>(ticket.first / blocks)];
    cpu::compact_block(column, marks, ticket.first % blocks, kernels);
    cpu::compact_others(column, marks, ticket.first % blocks, call.kept, kernels);
    return kNoIndex;
  });
  return {};
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory, .reason = "no memory left for its marks"};
}

}  // namespace

extern const Rung cpu_compress{.info = {.id = "cpu.compress",
                                        .idea = "mask to bits; vectors compressed by them, twice",
                                        .needs = "AVX2, AVX-512 or baseline",
                                        .traffic = "n read, n written",
                                        .cost = "n/8 + 2n/w, that / p",
                                        .limit = "the memory"},
                               .refusal = needs_isa,
                               .run = run};

}  // namespace upsweep::impl::partition
