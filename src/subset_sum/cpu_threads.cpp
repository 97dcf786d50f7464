// SPDX-License-Identifier: Apache-2.0
// subset_sum/cpu_threads.cpp: two columns, each split over the threads.
//
// Idea   The rows of a column do not depend on each other: threads take a share of them each, column after column.
// Cost   As cpu.columns. Work n·S, depth n·S/p.
// Needs  Any CPU.
// Limit  A byte for what is one bit: 24 bytes of traffic for 8 sums. cpu.bits moves 3.
// From   The data decomposition of "Notes on GPU Programming with Julia" (E. Aubanel 2021), on threads.
#include "subset_sum/rung.hpp"

#include <utility>

#include "cpu/pages.hpp"
#include "cpu/parallel.hpp"
#include "subset_sum/byte_column.hpp"

namespace upsweep::subset_sum {
namespace {

// A thread's share of a column that is worth waking it for: 10 us of work.
constexpr std::int64_t kLeastShare = 1 << 17;

Status run(detail::SubsetSumCall& call, const Policy& policy) noexcept {
  return fill_or_decide(call, [&](detail::SubsetSumCall& fill) -> Status {
    const std::int64_t length = fill.target + 1;
    const int workers =
        static_cast<int>(std::clamp<std::int64_t>(length / kLeastShare, 1, cpu::worker_count(policy.threads)));
    cpu::Pages<std::uint8_t> column(length);
    cpu::Pages<std::uint8_t> before(length);
    first_column(column.data(), fill);
    for (std::int64_t j = 1; j < fill.n; ++j) {
      if (!go_on(fill, j, fill.n)) return kInterrupted;
      std::swap(column, before);
      cpu::run_workers(workers, [&](int worker) {
        const cpu::Share share = cpu::share_of(length, worker, workers);
        next_column(column.data(), before.data(), fill.items[j], share.first, share.last);
      });
    }
    pack(column.data(), fill.target, fill.sums);
    return {};
  });
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "each column split over threads",
                                       .needs = "any CPU",
                                       .traffic = kByteTraffic},
                              .run = run};

}  // namespace upsweep::subset_sum
