// SPDX-License-Identifier: Apache-2.0
// expression/kernels.hpp: the loops over a block of values, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "upsweep/policy.hpp"
#include "upsweep/table.hpp"

namespace upsweep::expression {

constexpr int at(Storage storage) { return static_cast<int>(storage); }

/// A binary operation: either operand may be one value for all (`one_…`).
template <class T, class Out>
using Binary = void (*)(const T* a, bool one_a, const T* b, bool one_b, int n, Out* out);

/// The operations on one type of value, int64 or double.
template <class T>
struct TypedKernels {
  /// Integers modulo 2^64.
  Binary<T, T> add, subtract, multiply;
  /// 0 or 1: equal, unequal, less, less_equal. Of doubles as PostgreSQL has it: NaN is equal to itself and greater than all else.
  Binary<T, std::uint8_t> compare[4];
  /// Integers modulo 2^64; doubles in a fixed order that depends on n alone.
  T (*sum)(const T* in, int n);
  /// n is not 0. Of doubles NaN counts as the greatest.
  T (*least)(const T* in, int n);
  T (*greatest)(const T* in, int n);
};

/// What the rows in a range come to.
struct RangeSum {
  int rows;
  std::int64_t sum;     ///< modulo 2^64
  std::uint64_t left;   ///< magnitude() of these
  std::uint64_t right;  ///< 0 without
};

struct Kernels {
  /// The elements at `rows`, or the first n where that is null, as int64 or, of floats, double. Empty for int128 and bit.
  void (*take[kStorageCount])(const void* in, const std::int32_t* rows, int n, void* out);
  /// Those of the n `rows`, or of the first n where that is null, whose element is from `least` to `greatest`, in order;
  /// returns how many. `kept` may be `rows`. Empty but for integers of up to 64 bits, which hold both bounds.
  int (*select[kStorageCount])(const void* in, const std::int32_t* rows, int n, std::int64_t least,
                               std::int64_t greatest, std::int32_t* kept);
  /// Σ left[i]·right[i], or Σ left[i] where `right` is null, over those of the n rows whose key is in that range. Empty as
  /// `select` is.
  RangeSum (*sum_in_range[kStorageCount])(const void* key, std::int64_t least, std::int64_t greatest,
                                          const std::int64_t* left, const std::int64_t* right, int n);
  TypedKernels<std::int64_t> integers;
  TypedKernels<double> reals;
  /// The places of bytes that are not 0, in order; returns how many.
  int (*places)(const std::uint8_t* keep, int n, std::int32_t* rows);
  /// OR of x ^ (x >> 63): no |x| exceeds it by more than one.
  std::uint64_t (*magnitude)(const std::int64_t* in, int n);
  /// sums[g] += the elements of group g, modulo 2^64. `groups`: at most kFewGroups.
  void (*sum_few)(const std::int64_t* in, const std::int32_t* group, int n, int groups, std::int64_t* sums);
};

inline constexpr int kFewGroups = 8;

const Kernels& kernels_baseline() noexcept;
const Kernels& kernels_avx2() noexcept;
const Kernels& kernels_avx512() noexcept;

/// The kernels of the widest instruction set of this CPU, or of the one asked for.
const Kernels& kernels(Isa isa) noexcept;

}  // namespace upsweep::expression
