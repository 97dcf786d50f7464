// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cpu_staged.cpp: short lists by a vector each into a stage in the core's first cache, which leaves by cache lines.
//
// Idea   A list of up to 512 bytes is copied by as many vectors as it begins, most by one: no branch depends on its length,
//        and the next list overwrites what was too much. All goes into a stage of 512 bytes, so that nothing is written outside
//        the share, and whole lines leave it past the caches. The content of the 32nd list from here is fetched meanwhile.
//        Lists that are adjacent in the content are one.
// Cost   As cpu.shares. Outputs are written without being read. Work n + elements/vector.
// Needs  AVX-512, AVX2 or baseline.
// Limit  The memory: of permuted lists every cache line that a list touches is read, of 24 bytes in it 64 or 128.
// From   Overlapping copies of short strings, as in memcpy; software prefetching of known addresses. Own: the stage.
#include "cpu/list_runs.hpp"
#include "problems/lists/pack/moves.hpp"

namespace upsweep::impl::pack {

namespace {

/// How a call's shares are copied.
struct Way {
  const cpu::PackKernels& kernels;
  int threads;
  bool non_temporal;
};

/// Every column of every share; check(first list, count) before any of them. Returns whether all lists are good.
template <class Lists, class Check>
bool copy_lists(const detail::PackCall& call, const Lists& lists, const Way& way, Check check) {
  const auto copy_column = [&](const PackColumn& column, const cpu::PathWorkUnit& unit) {
    const auto copy = way.kernels.copy[cpu::at_size(column.element_size)];
    return lists.write(unit, column.out, column.element_size, way.non_temporal, way.kernels,
                       [&](cpu::Stage& stage, const cpu::ListRun& run, std::int64_t first) {
                         return check(first, run.count) && copy(stage, run, column.data, column.length);
                       });
  };
  return cpu::for_each_path_work_unit(
      lists.offsets, lists.n, element_bytes(call), way.threads, [&](const cpu::PathWorkUnit& unit) {
        return std::ranges::all_of(call.columns, [&](const PackColumn& column) { return copy_column(column, unit); });
      });
}

bool copy_all(const detail::PackCall& call, const Way& way) {
  const bool one_after_the_other =
      call.sizes == nullptr && call.lists.are_adjacent() && !call.lists.valid.is_given() && call.lists.count > 0;
  const auto any = [](std::int64_t, std::int64_t) { return true; };
  using Offsets = GivenOffsets<std::int64_t>;
  if (one_after_the_other && !call.offsets_given) {
    const std::int64_t offsets[] = {0, call.total};
    const std::int64_t start = call.total == 0 ? 0 : start_of(call, 0);
    return copy_lists(call, cpu::PathLists<Offsets, GivenBounds<std::int64_t>>{{offsets}, 1, {&start, nullptr}}, way,
                      any);
  }
  return visit_bounds(call.lists, [&]<class Bounds>(Bounds bounds) {
    const cpu::PathLists<Offsets, Bounds> lists{{call.offsets}, call.lists.count, bounds};
    if (!call.offsets_given) return copy_lists(call, lists, way, any);
    return visit_lengths(call, [&]<class Lengths>(const Lengths& lengths) {
      return copy_lists(call, lists, way, cpu::Fit<Lengths>{lengths, call.offsets});
    });
  });
}

Status run(detail::PackCall& call, const Policy& policy) noexcept try {
  if (const Status status = lay_out(call, policy.threads); !status.ok()) return status;
  if (call.columns.empty()) return call.offsets_given ? first_bad(call) : Status{};
  const Way way{cpu::pack_kernels(policy.isa), policy.threads,
                call.total * element_bytes(call) >= cpu::kNonTemporalBytes};
  return copy_all(call, way) ? Status{} : first_bad(call);
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_staged{.info = {.id = "cpu.staged",
                                      .idea = "short lists by a vector each, staged, stored by cache lines",
                                      .needs = "AVX2, AVX-512 or baseline",
                                      .traffic = "bounds twice, content; offsets and outputs",
                                      .cost = "lists + elements/w, that / p",
                                      .limit = "the memory; of permuted lists, partly used cache lines"},
                             .refusal = needs_isa,
                             .run = run};

}  // namespace upsweep::impl::pack
