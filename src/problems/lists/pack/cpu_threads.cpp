// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cpu_threads.cpp: offsets first; then each thread copies an equal number of lists, element by
// element.
//
// Idea   Once the offsets are known, lists can be copied in any order.
// Cost   Two passes: bounds read and offsets written; then starts and offsets read again, and content copied. Work
//        n + elements, depth that of the share with the most elements.
// Needs  Any CPU.
// Limit  Shares with equal numbers of lists may contain all of the content or none. A single long list is copied by one
//        thread. cpu.shares splits the content.
// From   Awkward Array's split into awkward_ListArray_compact_offsets and a copy of the content; here on threads.
#include "cpu/work_partition.hpp"
#include "problems/lists/pack/moves.hpp"

namespace upsweep::impl::pack {

namespace {

struct Sixteen {
  std::uint64_t halves[2];
};

template <class E>
void copy_list(const PackColumn& column, std::int64_t from, std::int64_t to, std::int64_t count) {
  const std::byte* const source = content_at(column, from);
  std::byte* const target = output_at(column, to);
  for (std::int64_t j = 0; j < count; ++j) {
    // The element's size is enough: its address need not be aligned.
    std::memcpy(target + j * std::int64_t{sizeof(E)}, source + j * std::int64_t{sizeof(E)}, sizeof(E));
  }
}

void copy_list_of(const PackColumn& column, std::int64_t from, std::int64_t to, std::int64_t count) {
  switch (column.element_size) {
    case 1:
      return copy_list<std::uint8_t>(column, from, to, count);
    case 2:
      return copy_list<std::uint16_t>(column, from, to, count);
    case 4:
      return copy_list<std::uint32_t>(column, from, to, count);
    case 8:
      return copy_list<std::uint64_t>(column, from, to, count);
    default:
      return copy_list<Sixteen>(column, from, to, count);
  }
}

Status run(detail::PackCall& call, const Policy& policy) noexcept {
  const std::int64_t least = cpu::kBlockBytes / std::int64_t{sizeof(std::int64_t)};
  return lay_out_and_move(call, policy, [&](const detail::PackCall& laid) {
    cpu::for_each_work_unit(laid.lists.count, least, policy.threads, [&](cpu::WorkUnit unit) {
      for (std::int64_t i = unit.first; i < unit.last; ++i) {
        copy_columns(laid, i, 0, laid.offsets[i + 1] - laid.offsets[i], copy_list_of);
      }
    });
  });
}

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "an equal number of lists per thread, element by element",
                                       .needs = "any CPU",
                                       .traffic = "bounds twice, content; offsets and outputs",
                                       .cost = "lists + elements, that / p if lists are alike",
                                       .limit = "equal numbers of lists differ in content"},
                              .run = run};

}  // namespace upsweep::impl::pack
