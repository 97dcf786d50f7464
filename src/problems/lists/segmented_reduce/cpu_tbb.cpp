// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cpu_tbb.cpp: oneTBB's parallel loop over lists with std::accumulate, as a C++ user
// would write it without upsweep.
//
// Idea   A parallel loop over the lists; std::accumulate folds each list.
// Cost   One pass: content and bounds read, results written.
// Needs  A fold by a compiled operator with the same 4- or 8-byte type in and out; wrap-around overflow; no nulls. It
//        runs on every core: it has no thread count. A list is never split.
// Limit  The mispredicted exit of the loop over each list. One thread processes a single long list.
// From   oneTBB's parallel_reduce, whose result is the first bad list.
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <numeric>

#include "core/lists.hpp"
#include "core/visit.hpp"
#include "cpu/refusals.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/rung.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

const char* refusal(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept {
  if (call.reducer != Reducer::fold || call.op == Operator::custom) return "supports only folds by compiled operators";
  if (call.in_type != call.out_type || call.out_size < 4) return "needs elements of 4 or 8 bytes, same type in and out";
  if (call.valid.is_given() || call.lists.valid.is_given()) return "does not support nulls";
  return cpu::is_checked(call, policy) ? "does not check for overflow" : nullptr;
}

template <class T, class Bounds, class Op>
std::int64_t fold_lists(const detail::SegmentedReduceCall& call, Bounds bounds, Op op) {
  const T* const x = static_cast<const T*>(call.in);
  T* const out = static_cast<T*>(call.out);
  const T init = *static_cast<const T*>(call.init);
  const T of_none = call.empty_is_zero ? T{0} : init;
  // The first bad list is found by a reduction: only oneTBB's own joins order its threads.
  return tbb::parallel_reduce(
      tbb::blocked_range<std::int64_t>(0, call.lists.count), kNoIndex,
      [&](const auto& range, std::int64_t bad) {
        for (std::int64_t i = range.begin(); i < range.end(); ++i) {
          const std::int64_t start = bounds.start(i);
          const std::int64_t stop = bounds.stop(i);
          if (check_list(start, stop, call.n) != Code::ok) return cpu::first_index(bad, i);
          out[i] = start == stop ? of_none : std::accumulate(x + start, x + stop, init, op);
        }
        return bad;
      },
      cpu::first_index);
}

Status run(const detail::SegmentedReduceCall& call, const Policy&) noexcept try {
  std::int64_t bad = kNoIndex;
  visit_combined(call.out_type, call.op, [&]<class T>(std::type_identity<T>, auto op) {
    if constexpr (sizeof(T) >= 4) visit_bounds(call.lists, [&](auto bounds) { bad = fold_lists<T>(call, bounds, op); });
  });
  if (bad == kNoIndex) return {};
  return {check_list(call.lists, bad, call.n), bad};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_tbb{.info = {.id = "cpu.tbb",
                                   .idea = "oneTBB's parallel loop over lists, std::accumulate",
                                   .needs = "a fold; same type in and out",
                                   .traffic = kOnePass,
                                   .cost = "n, the longest list",
                                   .limit = "a mispredicted branch per list, an operation's latency per element; "
                                            "a single long list",
                                   .kind = Kind::library,
                                   .threads = Threads::every},
                          .refusal = refusal,
                          .run = run};

}  // namespace upsweep::impl::segmented_reduce
