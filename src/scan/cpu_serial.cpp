// SPDX-License-Identifier: Apache-2.0
// scan/cpu_serial.cpp: the loop: each output is the one before it, combined with the next element.
//
// Idea   out[i] = out[i-1] ⊕ in[i]. The first program anyone writes, and the reference for all others.
// Cost   One pass: n elements read, n written. Work n - 1 operations, depth n - 1: each waits for the one before it.
// Needs  Any CPU, any associative operator (the only rung that would not need associativity).
// Limit  The loop-carried dependency: one operation at a time, at its latency. A float addition takes 4 cycles, so the
//        loop runs at 4 cycles per element however wide the core is; integers (1 cycle) run into one thread's share of
//        the memory bandwidth. cpu.simd shortens the chain, cpu.threads splits it.
// From   The reference kernel awkward_ListArray_compact_offsets and "Naive CPU implementation" in "Parallel Prefix Scan".
#include "scan/rung.hpp"

#include <algorithm>

#include "cpu/chained.hpp"
#include "scan/pieces.hpp"

namespace upsweep::scan {

namespace {

Status run(const detail::ScanCall& call, const Policy& policy) noexcept {
  return run_pieces(call, policy, cpu::kernels_plain(), [&](const Pieces& pieces, Pieces::Carry& carry) {
    return cpu::scan_in_order(pieces, call.n, pieces.block(), carry);
  });
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop: each output is the last one plus the next element",
                                      .needs = "any CPU",
                                      .traffic = "n read, n written"},
                             .run = run};

}  // namespace upsweep::scan
