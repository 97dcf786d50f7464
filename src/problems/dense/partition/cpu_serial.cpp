// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/cpu_serial.cpp: the naive loop, twice: for the kept elements, and then for the others.
//
// Idea   for each element: if (mask[j]) out[k++] = content[j]; and again for each: if (!mask[j]) out[k++] = content[j].
// Cost   Mask and content read twice, because the place of the others is known only after the first pass. Work 2n,
//        depth 2n.
// Needs  Any CPU.
// Limit  Two mispredicted branches per element if the mask is random, on one thread. cpu.compress has neither.
// From   The definition.
#include "cpu/moved_elements.hpp"
#include "problems/dense/partition/rung.hpp"

namespace upsweep::impl::partition {
namespace {

Status run(Call& call, const Policy&) noexcept {
  std::int64_t k = 0;
  for (const bool wanted : {true, false}) {
    for (std::int64_t j = 0; j < call.mask.length; ++j) {
      if (call.mask[j] != wanted) continue;
      for (const SelectColumn& column : call.columns) cpu::move_element(column, j, k);
      ++k;
    }
    if (wanted) call.kept = k;
  }
  return {};
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "if (mask[j]) out[k++] = content[j], then the others",
                                      .needs = "any CPU",
                                      .traffic = "2n read, n written",
                                      .cost = "2n, 2n",
                                      .limit = "two mispredicted branches per element, on one thread",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::partition
