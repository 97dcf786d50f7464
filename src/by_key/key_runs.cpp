// SPDX-License-Identifier: Apache-2.0
// by_key/key_runs.cpp: where runs of equal keys begin: counted block by block, then written, on all threads.
#include "by_key/key_runs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "core/ladder.hpp"
#include "core/no_ladder.hpp"
#include "core/visit.hpp"
#include "cpu/blocks.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
namespace by_key {
namespace {

using cpu::Range;

/// Keys whose beginnings of runs are collected before they go to their place.
constexpr std::int64_t kAtOnce = 512;

template <class T>
bool begins_run(const T* keys, std::int64_t i) {
  return i == 0 || differ(keys[i - 1], keys[i]);
}

template <class T>
std::int64_t count_runs(const T* keys, Range range) {
  std::int64_t runs = range.first == 0 ? 1 : 0;
  for (std::int64_t i = std::max<std::int64_t>(range.first, 1); i < range.first + range.count; ++i) {
    runs += differ(keys[i - 1], keys[i]) ? 1 : 0;
  }
  return runs;
}

/// Writes where the runs of the range begin. A place past the last would be the next range's, so they are collected first.
template <class T>
void write_runs(const T* keys, Range range, std::int64_t* offsets) {
  const std::int64_t end = range.first + range.count;
  for (std::int64_t first = range.first; first < end; first += kAtOnce) {
    std::int64_t begins[kAtOnce];
    std::size_t count = 0;
    for (std::int64_t i = first; i < std::min(end, first + kAtOnce); ++i) {
      begins[count] = i;
      count += begins_run(keys, i) ? 1U : 0U;
    }
    offsets = std::copy_n(begins, count, offsets);
  }
}

/// The runs of keys of one type, and how many of them begin before each block.
template <class T>
class Runs {
 public:
  Runs(const detail::Keys& keys, int threads)
      : keys_(static_cast<const T*>(keys.data)),
        n_(keys.length),
        threads_(threads),
        before_(static_cast<std::size_t>(cpu::parts(n_, kBlock))) {
    for_each_block([&](std::size_t block, Range range) { before_[block] = count_runs(keys_, range); });
    for (std::int64_t& runs : before_) {
      const std::int64_t here = runs;
      runs = count_;
      count_ += here;
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// count() + 1 of them.
  void write(std::int64_t* offsets) const {
    for_each_block([&](std::size_t block, Range range) { write_runs(keys_, range, offsets + before_[block]); });
    offsets[count_] = n_;
  }

 private:
  static constexpr std::int64_t kBlock = cpu::kBlockBytes / std::int64_t{sizeof(T)};

  template <class Work>
  void for_each_block(Work work) const {
    cpu::for_each_block(n_, kBlock, threads_, [&](Range range) {
      work(static_cast<std::size_t>(range.first / kBlock), range);
      return kNoIndex;
    });
  }

  const T* keys_;
  std::int64_t n_;
  int threads_;
  std::vector<std::int64_t> before_;
  std::int64_t count_ = 0;
};

/// use(runs), whose std::bad_alloc becomes an Error.
template <class Use>
auto with_runs(const Policy& policy, const detail::Keys& keys, Use use) try {
  require_policy(policy);
  detail::require_array(keys.data, keys.length, "keys");
  return visit_type(keys.type, [&]<class T>(std::type_identity<T>) { return use(Runs<T>(keys, policy.threads)); });
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "no memory left for the runs of equal keys");
}

}  // namespace

void require_room(std::int64_t runs, std::int64_t room, const char* what) {
  if (runs <= room) return;
  throw Error(Code::unequal_lengths, "there are " + std::to_string(runs) + " runs of equal keys: " + what + " for " +
                                         std::to_string(room) + " have too little room");
}

KeyRuns::KeyRuns(const Policy& policy, const detail::Keys& keys)
    : count_(with_runs(policy, keys, [&](const auto& runs) {
        offsets_ = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(runs.count() + 1));
        runs.write(offsets_.get());
        return runs.count();
      })) {}

void KeyRuns::write_keys(const Policy& policy, const detail::Keys& keys, void* out) const {
  visit_type(keys.type, [&]<class T>(std::type_identity<T>) {
    constexpr std::int64_t kBlock = cpu::kBlockBytes / std::int64_t{sizeof(std::int64_t)};
    cpu::for_each_block(count_, kBlock, policy.threads, [&](cpu::Range runs) {
      for (std::int64_t r = runs.first; r < runs.first + runs.count; ++r) {
        static_cast<T*>(out)[r] = static_cast<const T*>(keys.data)[offsets_[static_cast<std::size_t>(r)]];
      }
      return kNoIndex;
    });
  });
}

}  // namespace by_key

std::int64_t detail::count_key_runs(const Policy& policy, const Keys& keys) {
  require_no_rung(policy.rung);
  return by_key::with_runs(policy, keys, [](const auto& runs) { return runs.count(); });
}

std::int64_t detail::write_key_offsets(const Policy& policy, const Keys& keys, std::int64_t* offsets,
                                       std::int64_t room) {
  require_no_rung(policy.rung);
  return by_key::with_runs(policy, keys, [&](const auto& runs) {
    require_array(offsets, room, "offsets");
    by_key::require_room(runs.count(), room - 1, "offsets");
    runs.write(offsets);
    return runs.count();
  });
}

}  // namespace upsweep
