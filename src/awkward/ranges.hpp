// SPDX-License-Identifier: Apache-2.0
// awkward/ranges.hpp: the building blocks of kernels that are not calls of the API. They process ranges on several
// threads, in any order, or each range writes where the previous one ends. Ranges contain lists or elements. Runs of
// elements are written without a branch per list.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "awkward/kernel.hpp"
#include "awkward/tuning.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::awkward {

/// Calls work(first, last) for ranges of n lists or elements, on several threads if there is enough work.
template <class Work>
void for_ranges(std::int64_t n, Work work) {
  if (n <= kRange) return work(std::int64_t{0}, n);
  cpu::for_each_block(n, kRange, par.threads, [&](cpu::Range range) {
    // A copy whose address nobody has: its members stay in registers, whatever the loop writes.
    Work own = work;
    own(range.first, range.first + range.count);
    return kNoIndex;
  });
}

/// Calls work(first, last) for ranges, which returns the first bad index or kNoIndex. Returns the first bad index of
/// all.
template <class Work>
std::int64_t first_bad_of_ranges(std::int64_t n, Work work) {
  if (n <= kRange) return work(std::int64_t{0}, n);
  return cpu::for_each_block(n, kRange, par.threads, [&](cpu::Range range) {
    Work own = work;  // as in for_ranges()
    return own(range.first, range.first + range.count);
  });
}

/// Returns the sum of count(first, last) over all ranges.
template <class Count>
std::int64_t sum_of_ranges(std::int64_t n, Count count) {
  if (n <= kRange) return count(std::int64_t{0}, n);
  std::atomic<std::int64_t> total{0};
  for_ranges(n, [&](std::int64_t first, std::int64_t last) {
    total.fetch_add(count(first, last), std::memory_order_relaxed);  // it is read when the threads are done
  });
  return total;
}

/// Prepares new pages of n elements for writes. If a page is read first, the system maps a page of zeros. At the first
/// write it maps another page, which takes twice as long.
template <class T>
void write_to_pages(T* x, std::int64_t n) {
  constexpr std::int64_t kPage = 4096;
  constexpr std::int64_t kSize{sizeof(T)};
  // Writes the value that is there, in one step: the system sees a write.
  for (std::int64_t i = 0; i < n; i += kPage / kSize) std::atomic_ref<T>(x[i]).fetch_or(0, std::memory_order_relaxed);
}

/// The place of a range's output, from `at` on. The range may write more than its elements, up to `end`, as that is
/// written later.
struct Destination {
  std::int64_t at;
  std::int64_t end;
};

/// Calls write(first, last, place) for ranges of n lists. write() returns the end of its output, after the
/// count(first, last) elements of the range. Returns the end of the last range.
template <class Count, class Write>
std::int64_t write_in_order(std::int64_t n, Count count, Write write) {
  if (n <= kUncounted) return write(std::int64_t{0}, n, Destination{0, 0});
  std::vector<std::int64_t> ends(static_cast<std::size_t>(cpu::ceil_div(n, kRange)) + 1);
  const auto end_before = [&](std::int64_t first) -> std::int64_t& {
    return ends[static_cast<std::size_t>(first / kRange)];
  };
  for_ranges(n, [&](std::int64_t first, std::int64_t last) { end_before(first + kRange) = count(first, last); });
  for (std::size_t range = 1; range < ends.size(); ++range) ends[range] += ends[range - 1];
  for_ranges(n, [&](std::int64_t first, std::int64_t last) {
    write(first, last, Destination{end_before(first), end_before(first + kRange)});
  });
  return ends.back();
}

/// Runs of up to this number of elements are written whole, so that there is no branch at their end to mispredict.
inline constexpr std::int64_t kWhole = 8;

/// kBeyond[kWhole - n + lane] is all ones if lane is n or more.
template <class T>
inline constexpr std::array<T, 2 * kWhole> kBeyond = [] {
  std::array<T, 2 * kWhole> ones{};
  for (std::size_t i = kWhole; i < ones.size(); ++i) ones[i] = static_cast<T>(-1);
  return ones;
}();
template <class T>
const T* beyond(std::int64_t n) {
  return kBeyond<T>.data() + kWhole - n;
}

template <class... T>
bool any_null(std::int64_t n, const T*... arrays) {
  return n > 0 && ((arrays == nullptr) || ...);
}
inline KernelError null_array() { return failure(text_of(Code::invalid_argument)); }

/// Calls call(), which has no errors except null arrays. The arrays must be given if there are `n` > 0 lists or
/// elements.
template <class Call, class... T>
KernelError run_on(std::int64_t n, Call call, const T*... arrays) {
  if (any_null(n, arrays...)) return null_array();
  return run(call, as_refused);
}

}  // namespace upsweep::awkward
