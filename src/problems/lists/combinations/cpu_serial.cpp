// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/cpu_serial.cpp: nested loops over the elements of each list, one for each position of a
// tuple.
//
// Idea   One loop per position of a tuple. It begins after the element of the previous position (with replacement: at
//        that element; for a cartesian product: at its list's first element). The innermost loop writes the tuple.
// Cost   One step per position and tuple. Every loop except the innermost also ends once per prefix. Depth equals work.
// Needs  Any CPU.
// Limit  A loop over one to three elements ends with a mispredicted branch, several times per list. One thread stores
//        one value at a time. cpu.shares takes the tuples of short lists from a table.
// From   Awkward Array's awkward_ListArray_combinations.
#include <new>

#include "problems/lists/combinations/rung.hpp"

namespace upsweep::impl::combinations {

namespace {

struct Loops {
  const Call& call;
  const TupleWorkUnit& work_unit;
  std::vector<std::int64_t> tuple;
  std::int64_t written;

  // [guide: loops]
  /// Runs the loops from position d on, in list i.
  void from_position(std::int64_t d, std::int64_t i) {
    if (d == call.n) return write();
    const cpu::ListBlock& lists = work_unit.at(d);
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t stop = lists.starts[i] + lists.lengths[i];
    const bool follows = d > 0 && !call.is_cartesian;
    for (std::int64_t j = follows ? tuple[at - 1] + (call.replacement ? 0 : 1) : lists.starts[i]; j < stop; ++j) {
      tuple[at] = j;
      from_position(d + 1, i);
    }
  }
  // [guide: end]
  void write() {
    for (std::int64_t d = 0; d < call.n; ++d) call.out[d][written] = tuple[static_cast<std::size_t>(d)];
    ++written;
  }
};

Status run(Call& call, const Policy& policy) noexcept try {
  TupleWorkUnit work_unit(call, policy.isa);
  Loops loops{call, work_unit, std::vector<std::int64_t>(static_cast<std::size_t>(call.out == nullptr ? 0 : call.n)),
              0};
  std::int64_t list = 0;
  std::int64_t total = 0;
  if (call.offsets != nullptr) call.offsets[0] = 0;
  for (std::int64_t which = 0; which < work_unit_count(call); ++which) {
    (void)work_unit.read(which);
    for (std::int64_t i = 0; i < work_unit.count(); ++i) {
      total += work_unit.tuples(i);
      if (call.offsets != nullptr) call.offsets[++list] = total;
      if (call.out != nullptr && work_unit.tuples(i) > 0) loops.from_position(0, i);
    }
  }
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "nested loops, list after list",
                                      .needs = "any CPU",
                                      .traffic = "lists read, tuples written",
                                      .cost = "t·n, t·n",
                                      .limit = "a mispredicted branch at the end of each loop over a few elements",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::combinations
