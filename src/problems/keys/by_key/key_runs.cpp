// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/key_runs.cpp: finds runs of equal keys on all threads: one pass over the keys writes a bit per
// key, and these bits give the offsets.
#include "problems/keys/by_key/key_runs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "core/apart.hpp"
#include "core/ladder.hpp"
#include "core/lists.hpp"
#include "core/no_ladder.hpp"
#include "core/visit.hpp"
#include "cpu/list_kernels.hpp"
#include "cpu/tuning/keys.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
namespace impl::by_key {
namespace {

using cpu::Range;

/// Number of keys that are compared at a time: whole words of bits.
constexpr std::int64_t kAtOnce = cpu::tuning::kGroups.keys;
/// Number of keys of a word of bits.
constexpr std::int64_t kWord = 64;

template <int kSize>
using Unsigned = std::conditional_t<
    kSize == 1, std::uint8_t,
    std::conditional_t<kSize == 2, std::uint16_t, std::conditional_t<kSize == 4, std::uint32_t, std::uint64_t>>>;

/// Returns a nonzero value if a key differs from the previous key.
template <class T>
Unsigned<sizeof(T)> difference(T before, T key) {
  if constexpr (std::is_floating_point_v<T>) {
    return differ(before, key) ? 1 : 0;
  } else {
    return static_cast<Unsigned<sizeof(T)>>(before ^ key);
  }
}

/// The runs of keys of one type: a bit for each key that begins a run, and the number of these before each block.
template <class T>
class Runs {
 public:
  Runs(const detail::Keys& keys, const Policy& policy)
      : keys_(static_cast<const T*>(keys.data)),
        n_(keys.length),
        threads_(policy.threads),
        words_(std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(cpu::ceil_div(n_, kWord)))),
        before_(static_cast<std::size_t>(cpu::ceil_div(n_, kBlock))) {
    const auto nonzero = cpu::list_kernels(policy.isa).nonzero[cpu::at(type_of<Bits>())];
    for_each_block([&](std::size_t block, Range range) { before_[block] = mark(range, nonzero); });
    for (std::int64_t& runs : before_) {
      const std::int64_t here = runs;
      runs = count_;
      count_ += here;
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Writes count() + 1 offsets.
  void write(std::int64_t* offsets) const {
    for_each_block([&](std::size_t block, Range range) { write_block(range, offsets + before_[block]); });
    offsets[count_] = n_;
  }

 private:
  using Bits = Unsigned<sizeof(T)>;
  static constexpr std::int64_t kBlock = cpu::kBlockBytes / std::int64_t{sizeof(T)};
  static_assert(kBlock % kAtOnce == 0 && kAtOnce % kWord == 0);

  template <class Work>
  void for_each_block(Work work) const {
    cpu::for_each_block(n_, kBlock, threads_, [&](Range range) {
      work(static_cast<std::size_t>(range.first / kBlock), range);
      return kNoIndex;
    });
  }

  /// Marks the runs that begin in the range and returns their number.
  template <class Nonzero>
  std::int64_t mark(Range range, Nonzero nonzero) {
    const std::int64_t end = range.first + range.count;
    std::int64_t runs = 0;
    for (std::int64_t first = range.first; first < end; first += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, end - first);
      Bits differences[kAtOnce];
      differences[0] = first == 0 ? Bits{1} : difference(keys_[first - 1], keys_[first]);
      for (std::int64_t k = 1; k < count; ++k) differences[k] = difference(keys_[first + k - 1], keys_[first + k]);
      std::uint64_t* const words = words_.get() + first / kWord;
      const std::int64_t in_words = cpu::ceil_div(count, kWord);
      words[in_words - 1] = 0;  // the last word may have fewer bits
      nonzero(differences, count, reinterpret_cast<std::uint8_t*>(words));
      for (std::int64_t w = 0; w < in_words; ++w) runs += std::popcount(words[w]);
    }
    return runs;
  }

  void write_block(Range range, std::int64_t* offsets) const {
    for (std::int64_t first = range.first; first < range.first + range.count; first += kWord) {
      for (std::uint64_t left = words_[static_cast<std::size_t>(first / kWord)]; left != 0; left &= left - 1) {
        *offsets++ = first + std::countr_zero(left);
      }
    }
  }

  const T* keys_;
  std::int64_t n_;
  int threads_;
  std::unique_ptr<std::uint64_t[]> words_;
  std::vector<std::int64_t> before_;
  std::int64_t count_ = 0;
};

/// Calls use(runs). A std::bad_alloc becomes an Error.
template <class Use>
auto with_runs(const Policy& policy, const detail::Keys& keys, Use use) try {
  require_policy(policy);
  detail::require_array(keys.data, keys.length, "keys");
  return visit_type(keys.type, [&]<class T>(std::type_identity<T>) { return use(Runs<T>(keys, policy)); });
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "no memory left for the runs of equal keys");
}

}  // namespace

void require_apart(const detail::Keys& keys, const std::int64_t* offsets, std::int64_t capacity) {
  CallArrays arrays;
  arrays.read(keys.data, keys.length, size_of(keys.type));
  arrays.write(offsets, capacity, sizeof(std::int64_t));
  arrays.require_apart();
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

}  // namespace impl::by_key

std::int64_t detail::count_key_runs(const Policy& policy, const Keys& keys) {
  require_no_rung(policy.rung);
  return impl::by_key::with_runs(policy, keys, [](const auto& runs) { return runs.count(); });
}

std::int64_t detail::write_key_offsets(const Policy& policy, const Keys& keys, std::int64_t* offsets,
                                       std::int64_t capacity) {
  require_no_rung(policy.rung);
  return impl::by_key::with_runs(policy, keys, [&](const auto& runs) {
    require_array(offsets, capacity, "offsets");
    impl::by_key::require_apart(keys, offsets, capacity);
    require_capacity("the output of offsets", capacity - 1, runs.count());
    runs.write(offsets);
    return runs.count();
  });
}

}  // namespace upsweep
