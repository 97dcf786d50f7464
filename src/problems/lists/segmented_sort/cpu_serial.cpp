// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cpu_serial.cpp: std::stable_sort of every list, one after the other.
//
// Idea   A comparison that orders NaN correctly, and the library's merge sort on each list.
// Cost   n elements in lists of m: n·log2 m comparisons. Depth the same.
// Needs  Any CPU.
// Limit  A comparison is a branch. Every second one is mispredicted, and so is the end of each list of 3 elements. Only
//        one thread runs. cpu.threads uses more threads; cpu.networks has no such branches.
// From   Awkward Array's awkward_sort and awkward_argsort.
#include <algorithm>
#include <new>
#include <numeric>

#include "problems/lists/segmented_sort/rung.hpp"

namespace upsweep::impl::segmented_sort {

namespace {

template <class T>
void sort_elements(const Call& call, const WorkUnitPlaces& work_unit) {
  const auto* const content = static_cast<const T*>(call.content);
  auto* const sorted = static_cast<T*>(call.out);
  for (std::int64_t i = 0; i < work_unit.count; ++i) {
    if (work_unit.lengths[i] == 0) continue;  // the bounds of an empty list may have any value
    // [guide: sort]
    const T* const from = content + work_unit.starts[i];
    T* const to = sorted + work_unit.outs[i];
    if (from != to) std::copy(from, from + work_unit.lengths[i], to);
    std::stable_sort(to, to + work_unit.lengths[i], ComesBefore<T>{call.descending, call.nan_first});
    // [guide: end]
  }
}

template <class T>
void sort_positions(const Call& call, const WorkUnitPlaces& work_unit) {
  const auto* const content = static_cast<const T*>(call.content);
  const ComesBefore<T> before{call.descending, call.nan_first};
  for (std::int64_t i = 0; i < work_unit.count; ++i) {
    if (work_unit.lengths[i] == 0) continue;
    const T* const from = content + work_unit.starts[i];
    std::int64_t* const to = call.positions + work_unit.outs[i];
    std::iota(to, to + work_unit.lengths[i], std::int64_t{0});
    std::stable_sort(to, to + work_unit.lengths[i],
                     [&](std::int64_t a, std::int64_t b) { return before(from[a], from[b]); });
  }
}

Status run(Call& call, const Policy&) noexcept try {
  for (std::int64_t work_unit = 0; work_unit < cpu::list_blocks(call.lists); ++work_unit)
    sort_work_unit(call, work_unit);
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

void sort_work_unit(const Call& call, std::int64_t which) {
  const WorkUnitPlaces work_unit(call, which);
  visit_type(call.type, [&]<class T>(std::type_identity<T>) {
    call.positions != nullptr ? sort_positions<T>(call, work_unit) : sort_elements<T>(call, work_unit);
  });
}

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "std::stable_sort, list after list",
                                      .needs = "any CPU",
                                      .traffic = "n read, n written",
                                      .cost = "m·log2 m comparisons",
                                      .limit = "a mispredicted branch per two comparisons, and per list",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::segmented_sort
