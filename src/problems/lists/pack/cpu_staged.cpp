// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cpu_staged.cpp: copies short lists with one vector each into a stage in L1, which is stored by
// whole cache lines.
//
// Idea   A list of up to 512 bytes is copied with whole vectors, most lists with one. No branch depends on a list's
//        length, and the next list overwrites the lanes past its end. All elements go into a stage of 512 bytes, so
//        that nothing is written outside the share. The stage is stored to memory by whole cache lines, past the
//        caches. Meanwhile, the content of the list 32 lists ahead is prefetched. Lists that are adjacent in the
//        content are copied as one.
// Cost   As cpu.shares. Outputs are written without being read. Work n + elements/vector.
// Needs  AVX-512, AVX2 or baseline.
// Limit  Memory bandwidth. For permuted lists, every cache line that a list touches is read: 64 or 128
//        bytes for a list of 24.
// From   Overlapping copies of short strings, as in memcpy; software prefetching of known addresses. Own: the stage.
#include "cpu/list_runs.hpp"
#include "problems/lists/pack/moves.hpp"

namespace upsweep::impl::pack {

namespace {

/// The strategy with which a call's shares are copied.
struct Way {
  const cpu::PackKernels& kernels;
  int threads;
  bool non_temporal;
};

/// Copies every column of every share, after check(first list, count) for it. Returns whether all lists are valid.
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
                                      .idea = "one vector per short list, staged, stored by cache lines",
                                      .needs = "AVX2, AVX-512 or baseline",
                                      .traffic = "bounds twice, content; offsets and outputs",
                                      .cost = "lists + elements/w, that / p",
                                      .limit = "memory bandwidth; for permuted lists, partly used cache lines"},
                             .refusal = needs_isa,
                             .run = run};

}  // namespace upsweep::impl::pack
