// SPDX-License-Identifier: Apache-2.0
// sql/expression/kernels.hpp: the loops over a block of values, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "sql/expression/functions.hpp"
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
  /// n is not 0. Of doubles NaN counts as the maximum.
  T (*minimum)(const T* in, int n);
  T (*maximum)(const T* in, int n);
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
  /// Those of the n `rows`, or of the first n where that is null, whose element is from `minimum` to `maximum`, in order;
  /// returns how many. `kept` may be `rows`. Empty but for integers of up to 64 bits, which hold both bounds.
  int (*select[kStorageCount])(const void* in, const std::int32_t* rows, int n, std::int64_t minimum,
                               std::int64_t maximum, std::int32_t* kept);
  /// Clears those of the n marks whose element is not in that range; returns how many are left. Empty as `select` is.
  int (*mark[kStorageCount])(const void* in, int n, std::int64_t minimum, std::int64_t maximum, std::uint64_t* marks);
  /// Σ left[i]·right[i], or Σ left[i] where `right` is null, over those of the n rows whose key is in that range. Empty as
  /// `select` is.
  RangeSum (*sum_in_range[kStorageCount])(const void* key, std::int64_t minimum, std::int64_t maximum,
                                          const std::int64_t* left, const std::int64_t* right, int n);
  TypedKernels<std::int64_t> integers;
  TypedKernels<double> reals;
  /// The places of bytes that are not 0, in order; returns how many.
  int (*places)(const std::uint8_t* keep, int n, std::int32_t* rows);
  /// Clears those of the n marks whose byte is 0; returns how many are left.
  int (*mark_true)(const std::uint8_t* keep, int n, std::uint64_t* marks);
  /// The places of the n rows that are marked, in order; returns how many. It may write up to 64 places past the last.
  int (*marked)(const std::uint64_t* marks, int n, std::int32_t* rows);
  /// OR of x ^ (x >> 63): no |x| exceeds it by more than one.
  std::uint64_t (*magnitude)(const std::int64_t* in, int n);
  // Of groups: every row has the number of one, or kNoGroup.
  /// number[i] ← before[i]·size + digit[i], in 32 bits; `number` may be `before`.
  void (*append_digit)(const std::int32_t* before, const std::int32_t* digit, std::int32_t size, int n,
                       std::int32_t* number);
  /// number[i] ← in[i] - from, which fits.
  void (*distances)(const std::int64_t* in, std::int64_t from, int n, std::int32_t* number);
  /// group[i] ← groups[number[i]]; whether one of them is `unknown`. `size`: of `groups`.
  bool (*look_up)(const std::int32_t* groups, int size, const std::int32_t* number, int n, std::int32_t unknown,
                  std::int32_t* group);
  /// Rows that are not marked have no group.
  void (*drop)(const std::uint64_t* marks, int n, std::int32_t* group);
  /// sums[g] += the elements of group g, modulo 2^64; what sums[kNoGroup] holds afterwards means nothing.
  void (*sum_groups)(const std::int64_t* in, const std::int32_t* group, int n, int groups, std::int64_t* sums);
  /// counts[g] = the rows of group g. `groups`: at most kFewGroups.
  void (*count_few)(const std::int32_t* group, int n, int groups, std::int64_t* counts);
  const FunctionTable* functions;
};

inline constexpr std::int32_t kNoGroup = -1;
inline constexpr int kMarksPerWord = 64;  ///< marks of rows are bits, in words of 64

inline constexpr int kFewGroups = 8;

const Kernels& kernels_baseline() noexcept;
const Kernels& kernels_avx2() noexcept;
const Kernels& kernels_avx512() noexcept;

/// The kernels of the widest instruction set of this CPU, or of the one asked for.
const Kernels& kernels(Isa isa) noexcept;

}  // namespace upsweep::expression
