// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cpu_tbb.cpp: what a user would write with oneTBB: parallel_for over work units of
// lists, and std::stable_sort for each list.
//
// Idea   oneTBB chooses the number of lists per task; idle threads steal tasks.
// Cost   As cpu.serial, divided by the threads.
// Needs  Any CPU.
// Limit  cpu.serial's branches, and one thread for the longest list. cpu.networks has neither.
// From   oneapi::tbb::parallel_for.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <new>

#include "cpu/std_par.hpp"
#include "problems/lists/segmented_sort/rung.hpp"

namespace upsweep::impl::segmented_sort {

namespace {

Status run(Call& call, const Policy&) noexcept try {
  cpu::keep_to_spare_threads();
  using WorkUnits = oneapi::tbb::blocked_range<std::int64_t>;
  oneapi::tbb::parallel_for(WorkUnits(0, cpu::list_blocks(call.lists)), [&](const WorkUnits& work_units) {
    for (std::int64_t work_unit = work_units.begin(); work_unit < work_units.end(); ++work_unit)
      sort_work_unit(call, work_unit);
  });
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_tbb{.info = {.id = "cpu.tbb",
                                   .idea = "oneTBB's parallel_for with std::stable_sort",
                                   .needs = "any CPU",
                                   .traffic = "n read, n written",
                                   .cost = "m·log m comparisons, lists stolen by idle threads",
                                   .limit = "one thread sorts a single long list",
                                   .kind = Kind::library,
                                   .threads = Threads::every},
                          .run = run};

}  // namespace upsweep::impl::segmented_sort
