// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cpu_tbb.cpp: oneTBB's parallel_scan, a C++ user's first choice.
//
// Idea   A scan over lists (or over elements if there are no lists). The first pass counts the kept elements of a
//        range. The final pass receives the count before the range, moves elements and writes offsets.
// Cost   The mask twice, the content once, by the loop of cpu.serial. Work 2n, depth 2n/p.
// Needs  oneTBB. It runs on every core.
// Limit  The loop's mispredicted branches. A range is split by lists, however long they are.
// From   oneAPI Threading Building Blocks, tbb::parallel_scan.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_scan.h>

#include <functional>
#include <new>

#include "cpu/moved_elements.hpp"
#include "cpu/std_par.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/select/rung.hpp"

namespace upsweep::impl::select {
namespace {

// Large enough that counting a range takes longer than scheduling it.
constexpr std::size_t kListGrain = 1024;
constexpr std::size_t kElementGrain = 16384;

using BlockedRange = oneapi::tbb::blocked_range<std::int64_t>;

/// Counts the kept elements of a range. The final pass also moves them; `before` kept elements precede them.
std::int64_t keep(const detail::SelectCall& call, const BlockedRange& range, std::int64_t before, bool moves,
                  cpu::LowestIndex& first_bad) {
  std::int64_t k = before;
  const auto visit = [&](std::int64_t start, std::int64_t stop) {
    for (std::int64_t j = start; j < stop; ++j) {
      if (!call.mask[j]) continue;
      if (moves && k < call.capacity) {
        for (const SelectColumn& column : call.columns) cpu::move_element(column, j, k);
      }
      ++k;
    }
  };
  const auto end_list = [&](std::int64_t list) {
    if (moves && call.out_offsets != nullptr) call.out_offsets[list + 1] = k;
  };
  first_bad.add(for_each_range(call, range.begin(), range.end(), visit, end_list).index);
  return k;
}

Status run(detail::SelectCall& call, const Policy&) noexcept try {
  cpu::keep_to_spare_threads();
  if (call.out_offsets != nullptr) call.out_offsets[0] = 0;
  cpu::LowestIndex first_bad;
  const BlockedRange all(0, list_or_element_count(call), call.has_lists ? kListGrain : kElementGrain);
  call.kept = oneapi::tbb::parallel_scan(
      all, std::int64_t{0},
      [&](const BlockedRange& range, std::int64_t before, bool is_final) {
        return keep(call, range, before, is_final, first_bad);
      },
      std::plus<>{});
  if (const std::int64_t bad = first_bad.get(); bad != kNoIndex) {
    return {.code = check_list(call.lists, bad, call.mask.length), .index = bad};
  }
  return call.kept > call.capacity ? kNoCapacity : Status{};
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_tbb{.info = {.id = "cpu.tbb",
                                   .idea = "oneTBB's parallel_scan: count, then move",
                                   .needs = "any CPU",
                                   .traffic = "the mask twice, content once",
                                   .cost = "2n, 2n/p",
                                   .limit = "the branches; ranges of lists",
                                   .kind = Kind::library,
                                   .threads = Threads::every},
                          .run = run};

}  // namespace upsweep::impl::select
