// SPDX-License-Identifier: Apache-2.0
// ragged/cpu_adjacent.cpp: lists that lie one behind the other need no scan: offsets are bounds less the first one.
//
// Idea   Where stops[i] is starts[i+1], the lengths before list i add up to starts[i] - starts[0].
// Cost   One pass: n bounds read, n offsets written; 16 bytes per list of int64. Work 2n, depth 1. Checked all the
//        same.
// Needs  stops.data() == starts.data() + 1: both are views of one array.
// Limit  The memory bandwidth of the machine, at two thirds of what cpu.chained moves.
#include "cpu/chained.hpp"
#include "cpu/kernels.hpp"
#include "ragged/pieces.hpp"
#include "ragged/rungs.hpp"

namespace upsweep::ragged {

Status cpu_adjacent(detail::RaggedCall& call, const Policy& policy) noexcept {
  return run(call, cpu::kernels(policy.isa), [&](const Pieces& pieces, Pieces::Carry& carry) {
    const std::int64_t before = carry;
    const std::int64_t bad = cpu::for_each_block(call.n, Pieces::block(), policy.threads,
                                                 [&](cpu::Range range) { return pieces.difference(range, before); });
    carry = call.offsets[call.n];
    return bad;
  });
}

}  // namespace upsweep::ragged
