// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/without_staging.cpp: reduces lists in place, of any length: counts, and folds between
// nulls.
#include <cstring>

#include "cpu/elements.hpp"
#include "problems/lists/segmented_reduce/list_workers.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

/// See Worker.
class Counts {
 public:
  static constexpr bool kSetsLongAside = false;

  explicit Counts(const Job& job) : call_(job.call) {}

  std::int64_t reduce(const SomeLists& lists) const {
    auto* const out = static_cast<std::int64_t*>(call_.out) + lists.first;
    for (std::int64_t i = 0; i < lists.count; ++i) {
      const std::int64_t from = lists.from()[i];
      const std::int64_t to = lists.to()[i];
      out[i] = to - from;
      if (!call_.valid.is_given()) continue;
      for (std::int64_t j = from; j < to; ++j) out[i] -= call_.valid[j] ? 0 : 1;
    }
    return kNoIndex;
  }
  void finish() const {}

 private:
  const detail::SegmentedReduceCall& call_;
};

/// See Worker. Folds the elements between two nulls at a time.
class FoldsBetweenNulls {
 public:
  static constexpr bool kSetsLongAside = false;

  explicit FoldsBetweenNulls(const Job& job) : call_(job.call) {}

  std::int64_t reduce(const SomeLists& lists) const {
    const void* const op = cpu::operator_object(call_);
    const auto size = static_cast<std::size_t>(call_.out_size);
    for (std::int64_t i = 0; i < lists.count; ++i) {
      std::byte* const total = static_cast<std::byte*>(call_.out) + (lists.first + i) * call_.out_size;
      std::memcpy(total, call_.init, size);
      bool is_empty = true;
      const std::int64_t stop = lists.to()[i];
      for (std::int64_t j = lists.from()[i]; j < stop;) {
        std::int64_t end = j;
        while (end < stop && call_.valid[end]) ++end;
        if (j < end) call_.custom_fold->fold(op, call_.in, call_.n, &j, &end, 1, total, total);
        is_empty = is_empty && j == end;
        j = end + 1;
      }
      if (is_empty && call_.empty_is_zero) std::memset(total, 0, size);
    }
    return kNoIndex;
  }
  void finish() const {}

 private:
  const detail::SegmentedReduceCall& call_;
};

}  // namespace

std::int64_t count_elements(const Job& job) { return reduce_by<Counts>(job); }
std::int64_t fold_between_nulls(const Job& job) { return reduce_by<FoldsBetweenNulls>(job); }

}  // namespace upsweep::impl::segmented_reduce
