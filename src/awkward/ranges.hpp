// SPDX-License-Identifier: Apache-2.0
// awkward/ranges.hpp: what kernels that are no call of the API are made of: ranges of lists or elements on several threads, in
// any order or each writing where the one before it ends, and runs of elements written without a branch per list.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "awkward/kernel.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::awkward {

/// Lists or elements of a range. A thread is woken for four of them: some 30 to 200 us of work.
inline constexpr std::int64_t kRange = 8 * 1024;

/// work(first, last) for ranges of n lists or elements, by several threads where they are worth it.
template <class Work>
void for_ranges(std::int64_t n, Work work) {
  if (n <= kRange) return work(std::int64_t{0}, n);
  cpu::for_each_block(n, kRange, par.threads, [&](cpu::Range range) {
    work(range.first, range.first + range.count);
    return kNoIndex;
  });
}

/// The same of work that returns the first bad index or kNoIndex; so does this.
template <class Work>
std::int64_t first_bad_of_ranges(std::int64_t n, Work work) {
  if (n <= kRange) return work(std::int64_t{0}, n);
  return cpu::for_each_block(n, kRange, par.threads,
                             [&](cpu::Range range) { return work(range.first, range.first + range.count); });
}

/// The sum of count(first, last) over all ranges.
template <class Count>
std::int64_t sum_of_ranges(std::int64_t n, Count count) {
  if (n <= kRange) return count(std::int64_t{0}, n);
  std::atomic<std::int64_t> total{0};
  for_ranges(n, [&](std::int64_t first, std::int64_t last) {
    total.fetch_add(count(first, last), std::memory_order_relaxed);  // it is read when the threads are done
  });
  return total;
}

/// Makes pages of n elements that nothing was written to yet ready to be written to. Where they are read first, the system maps
/// a page of zeros for that, and another one when they are written to, which takes twice as long.
template <class T>
void write_to_pages(T* x, std::int64_t n) {
  constexpr std::int64_t kPage = 4096;
  constexpr std::int64_t kSize{sizeof(T)};
  // Written to with what it holds, in one step: the system sees a write.
  for (std::int64_t i = 0; i < n; i += kPage / kSize) std::atomic_ref<T>(x[i]).fetch_or(0, std::memory_order_relaxed);
}

/// Where a range writes: from `at` on. Up to `end` it may write more than it has to, as that comes after it.
struct Destination {
  std::int64_t at;
  std::int64_t end;
};

/// So few lists are one range that is not counted first: it writes what it has to and no more.
inline constexpr std::int64_t kUncounted = 256;

/// write(first, last, place) for ranges of n lists: it returns where it has ended, before which count(first, last) elements are
/// of the range. Returns where the last one has ended.
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

/// Runs of up to so many elements are written whole: their end is then no branch to mispredict.
inline constexpr std::int64_t kWhole = 8;

/// kBeyond[kWhole - n + lane] is all ones where lane is n or more.
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

/// call(), which has no errors of its own; `n` lists or elements need the arrays.
template <class Call, class... T>
KernelError run_on(std::int64_t n, Call call, const T*... arrays) {
  if (any_null(n, arrays...)) return null_array();
  return run(call, as_refused);
}

}  // namespace upsweep::awkward
