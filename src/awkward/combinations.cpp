// SPDX-License-Identifier: Apache-2.0
// awkward/combinations.cpp: Awkward Array's kernels that count and write the combinations of n elements of each list.
#include "upsweep/combinations.hpp"
#include "awkward/ranges.hpp"

namespace upsweep::awkward {
namespace {

Answer overflow(const Error& error) {
  if (error.code() != Code::overflow) return {};
  return failure("combinations overflow int64", error.index());
}

/// Counts the pairs of short lists, whose number cannot overflow. Returns whether all lists are short.
template <class T>
bool count_pairs(std::int64_t* tooffsets, bool replacement, const T* starts, const T* stops, std::int64_t n) {
  constexpr std::uint64_t kLengths = 0xFFFF;
  constexpr std::uint64_t kNegative = std::uint64_t{1} << 63;
  const auto length = [=](std::int64_t i) {
    return static_cast<std::uint64_t>(stops[i]) - static_cast<std::uint64_t>(starts[i]);
  };
  const auto pairs = [=](std::int64_t i) {  // of 32-bit lengths, as SIMD multiplies those
    const auto elements = static_cast<std::uint32_t>(length(i));
    return std::uint64_t{elements} * (replacement ? elements + 1 : elements - 1) / 2;
  };
  std::atomic<bool> are_short{true};  // it is read when the threads are done
  const auto count = [&](std::int64_t first, std::int64_t last) {
    std::uint64_t bits = 0;
    std::uint64_t all = 0;
    for (std::int64_t i = first; i < last; ++i) {
      bits |= (length(i) & ~kLengths) | (static_cast<std::uint64_t>(starts[i]) & kNegative);
      all += pairs(i);
    }
    if (bits == 0) return static_cast<std::int64_t>(all);
    are_short.store(false, std::memory_order_relaxed);
    return std::int64_t{0};
  };
  if (n <= kUncounted) (void)count(0, n);
  if (!are_short) return false;
  tooffsets[0] = 0;
  write_in_order(n, count, [&](std::int64_t first, std::int64_t last, Destination place) {
    if (!are_short.load(std::memory_order_relaxed)) return place.at;
    for (std::int64_t i = first; i < last; ++i) tooffsets[i + 1] = place.at += static_cast<std::int64_t>(pairs(i));
    return place.at;
  });
  return are_short;
}

template <class T>
KernelError count(std::int64_t* total, std::int64_t* tooffsets, std::int64_t n, bool replacement, const T* starts,
                  const T* stops, std::int64_t length) {
  return run(
      [&] {
        const Lists lists = Lists::by_bounds(starts, stops, count_of(length));
        *total = tooffsets[0] = 0;
        if (lists.count == 0) return;  // n may be 0 then
        const bool are_given = starts != nullptr && stops != nullptr;
        if (n == 2 && are_given && count_pairs(tooffsets, replacement, starts, stops, lists.count)) {
          *total = tooffsets[lists.count];
          return;
        }
        *total = combinations_offsets(par, lists, kNothing, n, replacement, tooffsets).total;
      },
      overflow);
}

/// These kernels are given neither the length of the content nor the capacity of outputs. The capacity is the counted
/// number.
KernelError choose(std::int64_t** tocarry, std::int64_t* toindex, std::int64_t n, bool replacement,
                   const Lists& lists) {
  return run(
      [&] {
        if (lists.count == 0) {  // n may be 0 then
          std::fill_n(toindex, n, 0);
          return;
        }
        const std::int64_t total = combinations(par, lists, kNothing, n, replacement, nullptr, tocarry, kNothing).total;
        std::fill_n(toindex, n, total);
      },
      overflow);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

#define UPSWEEP_KERNELS(NAME, T)                                                                                      \
  KernelError awkward_ListArray##NAME##_combinations_length_64(int64_t* totallen, int64_t* tooffsets, int64_t n,      \
                                                               bool replacement, const T* starts, const T* stops,     \
                                                               int64_t length) {                                      \
    return upsweep::awkward::count(totallen, tooffsets, n, replacement, starts, stops, length);                       \
  }                                                                                                                   \
  KernelError awkward_ListArray##NAME##_combinations_64(int64_t** tocarry, int64_t* toindex, int64_t* /*fromindex*/,  \
                                                        int64_t n, bool replacement, const T* starts, const T* stops, \
                                                        int64_t length) {                                             \
    const auto lists = upsweep::Lists::by_bounds(starts, stops, upsweep::awkward::count_of(length));                  \
    return upsweep::awkward::choose(tocarry, toindex, n, replacement, lists);                                         \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

KernelError awkward_RegularArray_combinations_64(int64_t** tocarry, int64_t* toindex, int64_t* /*fromindex*/, int64_t n,
                                                 bool replacement, int64_t size, int64_t length) {
  using upsweep::awkward::count_of;
  return upsweep::awkward::choose(tocarry, toindex, n, replacement,
                                  upsweep::Lists::of_size(count_of(length), count_of(size)));
}
