// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/cpu_staged.cpp: writes short lists with one vector each into a stage in L1, which is stored
// by whole cache lines.
//
// Idea   A list is written with whole vectors, most lists with one. No branch depends on a list's length, and the next
//        list overwrites the lanes past its end. All values go into a stage of 512 bytes. The stage is stored to memory
//        by whole cache lines, past the caches. Threads process equal shares of elements and lists, found by search.
// Cost   Offsets read; each element written without being read. Work n + elements/vector, depth that divided by p.
// Needs  AVX-512, AVX2 or baseline.
// Limit  Memory bandwidth.
// From   cpu.staged of the pack ladder, which uses the same stage.
#include <new>

#include "cpu/list_runs.hpp"
#include "problems/lists/broadcast/rung.hpp"

namespace upsweep::impl::broadcast {

namespace {

/// Writes the elements of all lists by append(stage, run, first list of the run). Throws std::bad_alloc.
template <class Offsets, class Append>
bool write_shares(const Call& call, const Offsets& offsets, const Policy& policy, const cpu::PackKernels& kernels,
                  Append append) {
  const cpu::PathLists<Offsets> laid{offsets, call.lists.count};
  const bool non_temporal = call.capacity * call.element_size >= cpu::kNonTemporalBytes;
  return cpu::for_each_path_work_unit(
      laid.offsets, laid.n, call.element_size, policy.threads, [&](const cpu::PathWorkUnit& unit) {
        return laid.write(unit, call.out, call.element_size, non_temporal, kernels, append);
      });
}

template <class Offsets>
bool write_kind(const Call& call, const Offsets& offsets, const Policy& policy) {
  const cpu::PackKernels& kernels = cpu::pack_kernels(policy.isa);
  const auto write = [&](auto append) { return write_shares(call, offsets, policy, kernels, append); };
  switch (call.kind) {
    case Kind::local_index:
      return write([&](cpu::Stage& stage, const cpu::ListRun& run, std::int64_t) {
        // The rest of a list from an earlier work unit has `starts`: the position in the list at which counting
        // resumes.
        return run.starts == nullptr ? kernels.local_index(stage, run) : kernels.count_up(stage, run);
      });
    case Kind::parents:
      return write([&](cpu::Stage& stage, const cpu::ListRun& run, std::int64_t first) {
        return kernels.number(stage, run, first);
      });
    case Kind::broadcast:
      return write([&, repeat = kernels.repeat[cpu::at_size(call.element_size)]](
                       cpu::Stage& stage, const cpu::ListRun& run, std::int64_t first) {
        return repeat(stage, run, static_cast<const std::byte*>(call.values) + first * call.element_size);
      });
  }
  detail::no_such_value();
}

Status run(const Call& call, const Policy& policy) noexcept try {
  const bool good = visit_offsets(call.lists, [&](const auto& offsets) { return write_kind(call, offsets, policy); });
  return {good ? Code::ok : Code::stop_before_start};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_staged{.info = {.id = "cpu.staged",
                                      .idea = "one vector per short list, staged, stored by cache lines",
                                      .needs = "AVX2, AVX-512 or baseline",
                                      .traffic = kOnePass,
                                      .cost = "n + e/8, (n + e/8)/p",
                                      .limit = "memory bandwidth"},
                             .refusal = needs_isa,
                             .run = run};

}  // namespace upsweep::impl::broadcast
