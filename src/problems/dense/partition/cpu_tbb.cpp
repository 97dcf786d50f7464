// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/cpu_tbb.cpp: oneTBB's parallel_reduce and parallel_scan, as a C++ user would write it.
//
// Idea   A reduction counts the kept elements, so that it is known where the other elements begin. Then a scan over the
//        elements runs. Its first pass counts the kept elements of a range. Its final pass receives the count before
//        the range, and moves every element of the range.
// Cost   The mask three times, the content once, by a loop. Work 3n, depth 3n/p.
// Needs  oneTBB. It runs on every core.
// Limit  Two places to write to per element, and a branch that is mispredicted if the mask is random.
// From   oneAPI Threading Building Blocks. std::partition_copy promises no order.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_scan.h>

#include <functional>
#include <new>

#include "cpu/moved_elements.hpp"
#include "cpu/std_par.hpp"
#include "problems/dense/partition/rung.hpp"

namespace upsweep::impl::partition {
namespace {

// Large enough that counting a range takes longer than scheduling it.
constexpr std::size_t kGrain = 16384;

using Elements = oneapi::tbb::blocked_range<std::int64_t>;

std::int64_t count_range(const Mask& mask, const Elements& range) {
  std::int64_t count = 0;
  for (std::int64_t j = range.begin(); j < range.end(); ++j) count += mask[j] ? 1 : 0;
  return count;
}

/// Moves a range that `kept` kept elements precede. Returns the number of kept elements up to its end.
std::int64_t move_range(const Call& call, const Elements& range, std::int64_t kept) {
  std::int64_t others = call.kept + range.begin() - kept;
  for (std::int64_t j = range.begin(); j < range.end(); ++j) {
    const std::int64_t to = call.mask[j] ? kept++ : others++;
    for (const SelectColumn& column : call.columns) cpu::move_element(column, j, to);
  }
  return kept;
}

Status run(Call& call, const Policy&) noexcept try {
  cpu::keep_to_spare_threads();
  const Elements all(0, call.mask.length, kGrain);
  call.kept = oneapi::tbb::parallel_reduce(
      all, std::int64_t{0},
      [&](const Elements& range, std::int64_t before) { return before + count_range(call.mask, range); },
      std::plus<>{});
  if (call.columns.empty()) return {};
  oneapi::tbb::parallel_scan(
      all, std::int64_t{0},
      [&](const Elements& range, std::int64_t before, bool is_final) {
        return is_final ? move_range(call, range, before) : before + count_range(call.mask, range);
      },
      std::plus<>{});
  return {};
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_tbb{.info = {.id = "cpu.tbb",
                                   .idea = "oneTBB's parallel_reduce, parallel_scan: count, move",
                                   .needs = "any CPU",
                                   .traffic = "the mask three times, n read, n written",
                                   .cost = "3n, 3n/p",
                                   .limit = "the branches; two places to write to per element",
                                   .kind = Kind::library,
                                   .threads = Threads::every},
                          .run = run};

}  // namespace upsweep::impl::partition
