// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/picks.cpp: positions of minima and maxima in their lists; the first of equal
// elements.
#include <cstring>

#include "core/lists.hpp"
#include "core/visit.hpp"
#include "cpu/list_values.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/lists_by_length.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

class PickKernel {
 public:
  explicit PickKernel(const Job& job) : type_(cpu::computed_in(job.call.in_type)) {
    const auto& kernels = job.call.reducer == Reducer::argmin ? job.kernels.argmin : job.kernels.argmax;
    pick_ = kernels[cpu::at(type_)];
  }
  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] std::int64_t result_size() const { return sizeof(std::int64_t); }
  void run(const Content& content, const std::int64_t* from, const std::int64_t* to, std::int64_t lists,
           void* out) const {
    pick_(content.data, content.end, from, to, lists, static_cast<std::int64_t*>(out));
  }

 private:
  Type type_;
  cpu::PickLists pick_;
};

/// See Worker. The total of a block is a position in the content, or negative.
class Picks {
 public:
  static constexpr bool kSetsLongAside = true;

  explicit Picks(const Job& job)
      : call_(job.call),
        kernel_(job),
        content_(job, kernel_.type(), Layout::anywhere),
        results_(job, kernel_.type()),
        by_length_(job, kernel_, results_) {}

  std::int64_t reduce(const SomeLists& lists) {
    (void)content_.for_each_stage(lists, [&](const SomeLists& some, const Content& content) {
      by_length_.reduce(some, content, !content_.stages());
      return kNoIndex;
    });
    if (call_.valid.is_given()) count_nulls_too(lists);
    return kNoIndex;
  }
  void finish() { by_length_.finish({static_cast<const std::byte*>(call_.in), call_.n}); }
  [[nodiscard]] std::int64_t total_size() const { return kernel_.result_size(); }
  void fold_blocks(const cpu::LongList& list, cpu::Range blocks, const SomeLists& bounds, std::byte* totals) {
    kernel_.run(content_.stage(bounds), bounds.from(), bounds.to(), blocks.count, totals);
    for (std::int64_t b = 0; b < blocks.count; ++b) {  // converts positions in blocks to positions in the content
      auto& position = reinterpret_cast<std::int64_t*>(totals)[b];
      if (position >= 0) position = place_of(list.block(blocks.first + b).first, position);
    }
  }
  [[nodiscard]] bool finish_long(const cpu::LongList& list, const std::byte* totals) const {
    const std::int64_t place = pick(list, reinterpret_cast<const std::int64_t*>(totals));
    static_cast<std::int64_t*>(call_.out)[list.list] = place < 0 ? -1 : place - list.start;
    return true;
  }

 private:
  /// Converts positions among the elements that are not null to positions in the list.
  void count_nulls_too(const SomeLists& lists) const {
    auto* const out = static_cast<std::int64_t*>(call_.out);
    visit_bounds(call_.lists, [&](auto bounds) {
      for (std::int64_t list = lists.first; list < lists.first + lists.count; ++list) {
        if (out[list] < 0) continue;
        const std::int64_t start = bounds.start(list);
        out[list] = place_of(start, out[list]) - start;
      }
    });
  }

  /// Returns the position in the content of the k-th element that is not null, from `start` on.
  [[nodiscard]] std::int64_t place_of(std::int64_t start, std::int64_t k) const {
    if (!call_.valid.is_given()) return start + k;
    for (std::int64_t j = start;; ++j) {
      if (call_.valid[j] && k-- == 0) return j;
    }
  }

  /// Returns the first minimum or maximum of the elements at `places`, one per block; a negative place means none.
  [[nodiscard]] std::int64_t pick(const cpu::LongList& list, const std::int64_t* places) const {
    return visit_type(call_.in_type, [&]<class T>(std::type_identity<T>) {
      const T* const x = static_cast<const T*>(call_.in);
      std::int64_t best = -1;
      for (std::int64_t b = 0; b < list.blocks(); ++b) {
        if (places[b] < 0) continue;
        if (best < 0 || precedes(x[best], x[places[b]])) best = places[b];
      }
      return best;
    });
  }
  /// Returns whether b is picked rather than a, which is before it.
  template <class T>
  [[nodiscard]] bool precedes(T a, T b) const {
    if (a != a) return false;
    return b != b || (call_.reducer == Reducer::argmin ? b < a : a < b);
  }

  const detail::SegmentedReduceCall& call_;
  PickKernel kernel_;
  StagedContent content_;
  Results results_;
  ListsByLength<PickKernel> by_length_;
};

}  // namespace

std::int64_t pick_positions(const Job& job) { return reduce_by<Picks>(job); }

}  // namespace upsweep::impl::segmented_reduce
