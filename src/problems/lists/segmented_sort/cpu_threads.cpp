// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cpu_threads.cpp: the loop on every core: each thread sorts a range of lists.
//
// Idea   Lists are independent of each other: each thread sorts an equal number of them.
// Cost   As cpu.serial, divided by the number of threads if lists are alike.
// Needs  Any CPU.
// Limit  Equal numbers of lists are not equal numbers of elements: only one thread sorts a single long list. Also
//        cpu.serial's branches.
// From   Own.
#include <atomic>
#include <new>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_sort/rung.hpp"

namespace upsweep::impl::segmented_sort {

namespace {

Status run(Call& call, const Policy& policy) noexcept {
  std::atomic<bool> no_memory{false};
  cpu::for_each_work_unit(cpu::list_blocks(call.lists), 8, policy.threads, [&](cpu::WorkUnit share) noexcept {
    try {
      for (std::int64_t work_unit = share.first; work_unit < share.last; ++work_unit) sort_work_unit(call, work_unit);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  });
  return {no_memory ? Code::out_of_memory : Code::ok};
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "threads take ranges of lists",
                                       .needs = "any CPU",
                                       .traffic = "n read, n written",
                                       .cost = "m·log m comparisons, equally many lists per thread",
                                       .limit = "one thread sorts a single long list"},
                              .run = run};

}  // namespace upsweep::impl::segmented_sort
