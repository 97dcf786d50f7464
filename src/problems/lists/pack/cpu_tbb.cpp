// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cpu_tbb.cpp: oneTBB's parallel loop over lists, as a C++ user would write it without upsweep.
//
// Idea   Offsets by the library's own scan, then oneapi::tbb::parallel_for over lists, and one copy per list.
// Cost   As cpu.threads. Ranges of lists are halved when threads become idle.
// Needs  Any CPU. It runs on every core: it has no thread count.
// Limit  One thread copies a list, however long it is. Short lists are copied as in cpu.threads.
// From   oneTBB's parallel_for and auto_partitioner.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

#include "cpu/std_par.hpp"
#include "problems/lists/pack/moves.hpp"

namespace upsweep::impl::pack {

namespace {

void copy_list(const PackColumn& column, std::int64_t from, std::int64_t to, std::int64_t count) {
  std::copy_n(content_at(column, from), count * column.element_size, output_at(column, to));
}

Status run(detail::PackCall& call, const Policy& policy) noexcept {
  return lay_out_and_move(call, policy, [](const detail::PackCall& laid) {
    cpu::keep_to_spare_threads();
    using Range = oneapi::tbb::blocked_range<std::int64_t>;
    oneapi::tbb::parallel_for(Range(0, laid.lists.count), [&](const Range& range) {
      for (std::int64_t i = range.begin(); i < range.end(); ++i) {
        copy_columns(laid, i, 0, laid.offsets[i + 1] - laid.offsets[i], copy_list);
      }
    });
  });
}

}  // namespace

extern const Rung cpu_tbb{.info = {.id = "cpu.tbb",
                                   .idea = "oneTBB's parallel_for over lists, std::copy_n",
                                   .needs = "any CPU",
                                   .traffic = "bounds twice, content; offsets and outputs",
                                   .cost = "lists + elements, that / p",
                                   .limit = "within a range, equal numbers of lists differ in content",
                                   .kind = Kind::library,
                                   .threads = Threads::every},
                          .run = run};

}  // namespace upsweep::impl::pack
