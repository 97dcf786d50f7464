// SPDX-License-Identifier: Apache-2.0
// ragged/cpu_chained.cpp: differences, validation and scan of a block while it lies in cache, blocks linked by carries.
//
// Idea   As scan's cpu.chained, over two input arrays. Checks cost no branch: what is wrong with a list sets a sign
//        bit that is looked at once per block; only a block that has one is searched for its first bad list.
// Cost   One pass: 24 bytes per list of int64, 16 of int32. Work 2n + n·log2 8, depth n/(8p) + blocks.
// Needs  Any CPU.
// Limit  The memory bandwidth of the machine. Where stops are the starts one place on, cpu.adjacent reads them once.
// From   Own: difference and scan in one pass; chained scan as in scan/cpu_chained.cpp.
#include "cpu/chained.hpp"
#include "cpu/kernels.hpp"
#include "ragged/pieces.hpp"
#include "ragged/rung.hpp"

namespace upsweep::ragged {

namespace {

Status run(detail::RaggedCall& call, const Policy& policy) noexcept {
  return run_pieces(call, cpu::kernels(policy.isa), [&](const Pieces& pieces, Pieces::Carry& carry) {
    return cpu::scan_chained(pieces, call.n, Pieces::block(), policy.threads, carry);
  });
}

}  // namespace

extern const Rung cpu_chained{.info = {.id = "cpu.chained",
                                       .idea = "one pass: difference, checks and scan of blocks in cache",
                                       .needs = "any CPU",
                                       .traffic = "2n read, n written"},
                              .refusal = needs_isa,
                              .run = run};

}  // namespace upsweep::ragged
