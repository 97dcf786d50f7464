// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/cpu_serial.cpp: the naive loop: read an index, check it, and copy the element at its position.
//
// Idea   for each list, for each of its indices: out[k++] = content[start + index], from the end if it is negative.
// Cost   One pass over the indices; an element read and written for each. Work n + lists, depth the same.
// Needs  Any CPU.
// Limit  Branches per index and per list, on one thread, and cache misses that wait for these branches. cpu.gather has
//        no branch between two elements.
// From   Awkward Array's awkward_ListArray_getitem_jagged_apply.
#include "core/lists.hpp"
#include "cpu/moved_elements.hpp"
#include "problems/dense/take/rung.hpp"

namespace upsweep::impl::take {
namespace {

/// Number of elements taken so far, and whether an index was bad.
struct Taken {
  std::int64_t count = 0;
  bool is_bad = false;  ///< an index was bad; the remaining lists are still checked and counted
};

/// Takes by the indices first … stop - 1, from the content's elements start … start + count - 1.
void take_range(const Call& call, std::int64_t first, std::int64_t stop, std::int64_t start, std::int64_t count,
                Taken& taken) {
  // [guide: take]
  for (std::int64_t j = first; j < stop; ++j) {
    const std::int64_t index = index_at(call.indices, j);
    taken.is_bad |= !is_in(index, count);
    if (!taken.is_bad && taken.count < call.capacity) {
      const std::int64_t position = start + (index < 0 ? index + count : index);
      for (const SelectColumn& column : call.columns) cpu::move_element(column, position, taken.count);
      if (call.positions != nullptr) call.positions[taken.count] = position;
    }
    ++taken.count;
  }
  // [guide: end]
}

/// Returns false if a list that has indices is bad, or if its list of indices is bad.
template <class Bounds, class IndexBounds>
bool take_lists(const Call& call, const Bounds& lists, const IndexBounds& of_indices, Taken& taken) {
  call.out_offsets[0] = 0;
  for (std::int64_t i = 0; i < call.index_lists.count; ++i) {
    if (!is_null(call.index_lists, i) && of_indices.start(i) != of_indices.stop(i)) {
      if (check_list(of_indices.start(i), of_indices.stop(i), call.indices.length) != Code::ok) return false;
      const bool is_there = !is_null(call.lists, i);
      if (is_there && check_list(lists.start(i), lists.stop(i), call.content) != Code::ok) return false;
      const std::int64_t start = is_there ? lists.start(i) : 0;
      take_range(call, of_indices.start(i), of_indices.stop(i), start, is_there ? lists.stop(i) - start : 0, taken);
    }
    call.out_offsets[i + 1] = taken.count;
  }
  return true;
}

Status run(Call& call, const Policy&) noexcept {
  Taken taken;
  if (!call.has_lists) {
    take_range(call, 0, call.indices.length, 0, call.content, taken);
  } else {
    const bool good = visit_bounds(call.lists, [&](auto lists) {
      return visit_bounds(call.index_lists,
                          [&](auto of_indices) { return take_lists(call, lists, of_indices, taken); });
    });
    if (!good) return kBad;
  }
  call.taken = taken.count;
  if (taken.count > call.capacity) return kNoCapacity;
  return taken.is_bad ? kBad : Status{};
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "out[k] = content[indices[k]], one loop",
                                      .needs = "any CPU",
                                      .traffic = "indices and elements read, elements written",
                                      .cost = "n + lists, n + lists",
                                      .limit = "branches per index and list, on one thread",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::take
