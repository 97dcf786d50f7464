// SPDX-License-Identifier: Apache-2.0
// scan/cpu_threads.cpp: threads scan segments on their own, the totals are scanned, and broadcast back.
//
// Idea   (x0 ⊕ x1) ⊕ (x2 ⊕ x3): associativity lets every segment start at once, as if nothing preceded it. What did is
//        combined in afterwards. Segments have a fixed length and threads take runs of them (cpu/segments.hpp).
// Cost   Two passes: n read + n written, then n read + n written again: 4n bytes·size instead of 2n. Work 2n
//        operations, depth n/p + n/segment + 1 on p threads.
// Needs  Any CPU, any associative operator. Checked overflow: not in place, as the broadcast must see the input.
// Limit  Memory traffic. The source found this version no faster than the loop and could not say why ("Not sure
//        what's wrong"). This is why: the second pass doubles the bytes, so p threads gain only where they have more
//        than twice the bandwidth of one, and two threads of a desktop CPU do not; its prediction of 3/4 of the time on
//        two threads counts additions, which cost nothing here. Where the operation itself is slow (floats, 4 cycles
//        each) threads still pay. cpu.chained needs one pass only.
// From   "CPU parallelization" in "Parallel Prefix Scan".
#include "cpu/segments.hpp"
#include "scan/pieces.hpp"
#include "scan/rung.hpp"

namespace upsweep::scan {

namespace {

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_pieces(call, policy, cpu::kernels_plain(), [&](const Pieces& pieces, Pieces::Carry& carry) {
    return cpu::scan_segments(pieces, call.n, policy.threads, carry);
  });
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "segments alone, a scan of their totals, broadcast back",
                                       .needs = "any CPU",
                                       .traffic = "2n read, 2n written"},
                              .refusal = broadcast_refusal,
                              .run = run};

}  // namespace upsweep::scan
