// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_serial.cpp: a loop over the rows, and a map from keys to groups.
//
// Idea   for each row i: totals[map[keys[i]]] ← totals[…] ⊕ values[i]; a key that is not in the map gets the next
//        number.
// Cost   One pass: keys and values read, groups written. Work and depth n.
// Needs  Any CPU.
// Limit  One thread, and a map of nodes. If the nodes do not fit a cache, each row waits for memory twice.
//        cpu.thread_maps uses more threads and no nodes.
// From   The dictionary of any programming language.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <unordered_map>

#include "problems/keys/group_by/answer.hpp"
#include "problems/keys/group_by/folds.hpp"
#include "problems/keys/group_by/rung.hpp"
#include "problems/keys/group_by/table.hpp"
#include "system/interruption.hpp"

namespace upsweep::impl::group_by {

namespace {

struct HashOfKey {
  Secret by = secret();
  std::size_t operator()(std::uint64_t key) const { return hash_of_key(by, key); }
};

template <class Key>
Status run_keys(Call& call) {
  const Key* const keys = static_cast<const Key*>(call.keys);
  const Folds folds = folds_of(call);
  GroupTotals<Key> groups(folds, call.out_counts != nullptr);
  std::uint32_t numbers[kBlock];
  Interruption interruption(call.go_on);
  // [guide: map]
  std::unordered_map<Key, std::uint32_t, HashOfKey> map;
  for (std::int64_t first = 0; first < call.n; first += kBlock) {
    if (!interruption.goes_on()) return kInterrupted;
    const std::int64_t count = std::min(kBlock, call.n - first);
    groups.table.reserve_keys(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const Key key = keys[first + i];
      const auto [at, is_new] = map.try_emplace(key, static_cast<std::uint32_t>(groups.size()));
      if (is_new) groups.table.add(key, first + i);
      numbers[i] = at->second;
    }
    groups.fold(static_cast<const std::byte*>(call.in) + first * size_of(call.in_type), numbers, count);
  }
  // [guide: end]
  return write_in_order(call, folds, groups);
}

Status run(Call& call, const Policy&) noexcept try {
  return visit_key(call.key_type, [&]<class Key>(std::type_identity<Key>) { return run_keys<Key>(call); });
} catch (const std::exception&) {  // std::bad_alloc, and the map's length_error
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_serial{.info = {.id = "cpu.serial",
                                      .idea = "one loop over the rows, one map",
                                      .needs = "any CPU",
                                      .traffic = kOnePass,
                                      .cost = "n, n",
                                      .limit = "one thread; a map of nodes, two misses a row if it fits no cache",
                                      .threads = Threads::one},
                             .refusal = one_table_refusal,
                             .run = run};

}  // namespace upsweep::impl::group_by
