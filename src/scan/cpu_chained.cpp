// SPDX-License-Identifier: Apache-2.0
// scan/cpu_chained.cpp: one pass over memory: blocks in cache are reduced, linked by their carries, and scanned.
//
// Idea   Threads take cache-sized blocks in order. A block is reduced (which brings it into cache), waits for the carry
//        of the block before it, publishes its own, and only then is scanned: from cache, with stores that go past it.
//        While it scans, a thread fetches the block it does next (cpu/chained.hpp).
// Cost   One pass: n read, n written: the traffic of a copy. Work n + n·log2 w, depth n/(p·w) + blocks.
// Needs  Any CPU, any associative operator; compiled operators run on SIMD, others on the plain loop.
// Limit  The memory bandwidth of the machine: nothing that reads its input and writes its output is faster.
// From   S. Yan, G. Long, Y. Zhang, "StreamScan", PPoPP 2013, and D. Merrill, M. Garland, NVR-2016-002, for GPUs; I. de
//        Wolff et al., PMAM 2024, for CPUs. The carry of float sums keeps what rounding lost, so blocks do not add up
//        errors.
#include "cpu/chained.hpp"
#include "cpu/kernels.hpp"
#include "scan/pieces.hpp"
#include "scan/rung.hpp"

namespace upsweep::scan {

namespace {

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_pieces(call, policy, cpu::kernels(policy.isa), [&](const Pieces& pieces, Pieces::Carry& carry) {
    return cpu::scan_chained(pieces, call.n, pieces.block(), policy.threads, carry);
  });
}

}  // namespace

// The bound: 2048 vectors of a block one after the other, 4 levels within a vector, and a block total that is itself off by
// up to 516 (512 additions per accumulator, 2 to join them, 4 within a vector); totals add up compensated.
extern const Rung cpu_chained{.info = {.id = "cpu.chained",
                                       .idea = "one pass: blocks in cache, linked by their carries",
                                       .needs = "any CPU",
                                       .traffic = "n read, n written",
                                       .float_bound = {.serial = false, .constant = 1300}},
                              .refusal = needs_isa,
                              .run = run};

}  // namespace upsweep::scan
