// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/cpu_serial.cpp: a loop over the keys; a run ends where the next key differs.
//
// Idea   for each key i: unless keys[i] == keys[i - 1], a run ends before it. When a few hundred runs have ended, their
//        values are folded or scanned, one run after the other.
// Cost   One pass: keys and values read, results written. Work and depth n.
// Needs  Any CPU, any associative operator.
// Limit  The branch at the end of each short run, which is mispredicted twice, here and by the fold, and one thread.
//        cpu.runs has neither.
// From   C++'s std::chunk_by, and a loop over each chunk.
#include <cstdint>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/tuning/keys.hpp"
#include "problems/keys/by_key/as_lists.hpp"
#include "problems/keys/by_key/key_runs.hpp"
#include "problems/keys/by_key/rung.hpp"

namespace upsweep::impl::by_key {

namespace {

/// Number of runs whose bounds are found before their values are read.
constexpr std::int64_t kRuns = cpu::tuning::kGroups.runs;

/// Folds or scans runs that have ended; the first of them has the number call.runs.
template <class T>
Status finish(Call& call, const Policy& policy, const std::int64_t* offsets, std::int64_t count) {
  if (call.reduction != nullptr) {
    if (count > capacity_of(call) - call.runs) return {Code::unequal_lengths};
    T* const keys = static_cast<T*>(call.out_keys) + call.runs;
    for (std::int64_t r = 0; r < count; ++r) keys[r] = static_cast<const T*>(call.keys.data)[offsets[r]];
  }
  const Status status = run_lists(call, policy, Lists::by_offsets(offsets, count), call.runs);
  call.runs += count;
  return status;
}

template <class T>
Status run_keys(Call& call, const Policy& policy) {
  const T* const keys = static_cast<const T*>(call.keys.data);
  const std::int64_t n = call.keys.length;
  std::int64_t offsets[kRuns + 1] = {};
  std::int64_t count = 0;
  // [guide: runs]
  for (std::int64_t i = 1; i <= n; ++i) {
    if (i < n && !differ(keys[i - 1], keys[i])) continue;
    offsets[++count] = i;
    if (count < kRuns && i < n) continue;
    if (const Status status = finish<T>(call, policy, offsets, count); !status.ok()) return status;
    offsets[0] = i;
    count = 0;
  }
  // [guide: end]
  return {};
}

Status run(Call& call, const Policy& policy) noexcept {
  Policy one = policy.with_rung("cpu.serial");
  one.threads = 1;
  return visit_type(call.keys.type, [&]<class T>(std::type_identity<T>) { return run_keys<T>(call, one); });
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop over the keys, run after run",
                                      .needs = "any CPU",
                                      .traffic = kOnePass,
                                      .cost = "n, n",
                                      .limit = "a mispredicted branch at the end of each short run, one thread",
                                      .threads = Threads::one},
                             .run = run};

}  // namespace upsweep::impl::by_key
