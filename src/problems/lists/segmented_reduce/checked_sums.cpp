// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/checked_sums.cpp: sums of integers that must not overflow; if one of a batch may
// overflow, the batch is added exactly.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/lists.hpp"
#include "core/visit.hpp"
#include "problems/lists/segmented_reduce/folds.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

using cpu::Int128;

/// Returns the exact sum of elements first … last - 1 that are not null.
Int128 exact_sum(const detail::SegmentedReduceCall& call, std::int64_t first, std::int64_t last) {
  return visit_type(call.in_type, [&]<class T>(std::type_identity<T>) -> Int128 {
    const T* const x = static_cast<const T*>(call.in);
    Int128 sum = 0;
    if constexpr (std::is_integral_v<T>) {
      for (std::int64_t j = first; j < last; ++j) {
        if (!call.valid.is_given() || call.valid[j]) sum += x[j];
      }
    }
    return sum;
  });
}

/// Stores init + sum as an output. Returns false if it does not fit.
bool put_sum(const detail::SegmentedReduceCall& call, Int128 sum, std::int64_t list) {
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const Int128 total = sum + *static_cast<const T*>(call.init);
      static_cast<T*>(call.out)[list] = static_cast<T>(total);
      return total >= std::numeric_limits<T>::min() && total <= std::numeric_limits<T>::max();
    }
    return true;
  });
}

/// See Worker. Totals of blocks are exact sums.
class CheckedSums {
 public:
  static constexpr bool kSetsLongAside = true;

  explicit CheckedSums(const Job& job) : call_(job.call), folds_(job, Layout::adjacent) {}

  std::int64_t reduce(const SomeLists& lists) {
    return folds_.content().for_each_stage(lists, [&](const SomeLists& some, const Content& content) {
      const std::int64_t overflow = find_overflow(some);
      if (overflow == kNoIndex) folds_.fold(some, content);
      return overflow;
    });
  }
  void finish() { folds_.finish(); }
  [[nodiscard]] std::int64_t total_size() const { return sizeof(Int128); }
  void fold_blocks(const cpu::LongList& /*list*/, cpu::Range blocks, const SomeLists& bounds, std::byte* totals) const {
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      reinterpret_cast<Int128*>(totals)[b] = exact_sum(call_, bounds.from()[b], bounds.to()[b]);
    }
  }
  [[nodiscard]] bool finish_long(const cpu::LongList& list, const std::byte* totals) const {
    Int128 sum = 0;
    for (std::int64_t b = 0; b < list.blocks(); ++b) sum += reinterpret_cast<const Int128*>(totals)[b];
    return put_sum(call_, sum, list.list);
  }

 private:
  [[nodiscard]] std::int64_t find_overflow(const SomeLists& lists) const;
  [[nodiscard]] bool sums_fit(const SomeLists& lists) const;
  [[nodiscard]] Content elements_of(const SomeLists& lists) const;

  const detail::SegmentedReduceCall& call_;
  Folds folds_;
};

/// Returns the first list whose sum overflows, or kNoIndex.
std::int64_t CheckedSums::find_overflow(const SomeLists& lists) const {
  if (sums_fit(lists)) return kNoIndex;
  for (std::int64_t list = lists.first; list < lists.first + lists.count; ++list) {
    if (call_.lists.valid.is_given() && !call_.lists.valid[list]) continue;
    const auto [start, stop] =
        visit_bounds(call_.lists, [&](auto bounds) { return std::pair(bounds.start(list), bounds.stop(list)); });
    if (stop - start > cpu::kListBlock) continue;  // handled later, with the long lists
    if (!put_sum(call_, exact_sum(call_, start, stop), list)) return list;
  }
  return kNoIndex;
}

/// Returns whether no list's sum can overflow the type of the computation or of the output, given the largest element.
bool CheckedSums::sums_fit(const SomeLists& lists) const {
  if (folds_.results().narrows()) return false;
  const bool from_signed = is_signed(call_.in_type);
  if (from_signed && !is_signed(call_.out_type)) return false;
  const int bits = 8 * size_of(call_.out_type) - (is_signed(call_.out_type) ? 1 : 0);
  const Int128 most = (Int128{1} << bits) - 1;
  const Int128 begin = visit_type(call_.out_type, [&]<class T>(std::type_identity<T>) -> Int128 {
    if constexpr (std::is_integral_v<T>) {
      const Int128 init = *static_cast<const T*>(call_.init);
      return init < 0 ? -init : init;
    }
    return 0;
  });
  const int element_bits = 8 * size_of(call_.in_type) - (from_signed ? 1 : 0);
  if (((Int128{1} << element_bits) * lists.batch.longest) + begin <= most) return true;
  const Content elements = folds_.content().stages() ? folds_.content().given() : elements_of(lists);
  if (elements.end == 0) return begin <= most;
  const auto largest = cpu::kernels(Isa::best).magnitude[cpu::at(call_.in_type)](elements.data, elements.end);
  return (static_cast<Int128>(largest) + 1) * lists.batch.longest + begin <= most;
}

/// Returns the elements of adjacent lists.
Content CheckedSums::elements_of(const SomeLists& lists) const {
  std::int64_t first = call_.n;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < lists.count; ++i) {
    if (lists.from()[i] == lists.to()[i]) continue;
    first = std::min(first, lists.from()[i]);
    last = std::max(last, lists.to()[i]);
  }
  return {static_cast<const std::byte*>(call_.in) + first * call_.in_size, std::max<std::int64_t>(last - first, 0)};
}

}  // namespace

std::int64_t sum_checked(const Job& job) { return reduce_by<CheckedSums>(job); }

}  // namespace upsweep::impl::segmented_reduce
