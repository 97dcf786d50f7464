// SPDX-License-Identifier: Apache-2.0
// sql/expression/kernels.hpp: the loops over a block of values, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "sql/expression/functions.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/table.hpp"

namespace upsweep::expression {

constexpr int at(Storage storage) { return static_cast<int>(storage); }

/// A binary operation. Either operand may be one value for all rows (`one_…`).
template <class T, class Out>
using Binary = void (*)(const T* a, bool one_a, const T* b, bool one_b, int n, Out* out);

/// The operations on one value type, int64 or double.
template <class T>
struct TypedKernels {
  /// Integers modulo 2^64.
  Binary<T, T> add, subtract, multiply;
  /// Writes 0 or 1: equal, unequal, less, less_equal. Doubles are ordered as in PostgreSQL: NaN is equal to itself and
  /// greater than all other values.
  Binary<T, std::uint8_t> compare[4];
  /// Sums integers modulo 2^64, and doubles in a fixed order that depends only on n.
  T (*sum)(const T* in, int n);
  /// n is not 0. For doubles, NaN counts as the maximum.
  T (*minimum)(const T* in, int n);
  T (*maximum)(const T* in, int n);
};

/// The sums of the rows in a range.
struct RangeSum {
  int rows;
  std::int64_t sum;     ///< modulo 2^64
  std::uint64_t left;   ///< magnitude() of the left values
  std::uint64_t right;  ///< magnitude() of the right values; 0 if there are none
};

struct Kernels {
  /// Copies the elements at `rows`, or the first n if `rows` is null, as int64 or, for floats, double. Null for int128
  /// and bit.
  void (*take[kStorageCount])(const void* in, const std::int32_t* rows, int n, void* out);
  /// Selects those of the n `rows`, or of the first n if `rows` is null, whose element is in [`minimum`, `maximum`], in
  /// order. Returns their number. `kept` may be `rows`. Null except for integers of up to 64 bits that hold both
  /// bounds.
  int (*select[kStorageCount])(const void* in, const std::int32_t* rows, int n, std::int64_t minimum,
                               std::int64_t maximum, std::int32_t* kept);
  /// Clears those of the n marks whose element is not in that range. Returns the number of marked rows. Null where
  /// `select` is.
  int (*mark[kStorageCount])(const void* in, int n, std::int64_t minimum, std::int64_t maximum, std::uint64_t* marks);
  /// Computes Σ left[i]·right[i], or Σ left[i] if `right` is null, over those of the n rows whose key is in that range.
  /// Null where `select` is.
  RangeSum (*sum_in_range[kStorageCount])(const void* key, std::int64_t minimum, std::int64_t maximum,
                                          const std::int64_t* left, const std::int64_t* right, int n);
  TypedKernels<std::int64_t> integers;
  TypedKernels<double> reals;
  /// Writes the positions of bytes that are not 0, in order. Returns their number.
  int (*places)(const std::uint8_t* keep, int n, std::int32_t* rows);
  /// Clears those of the n marks whose byte is 0. Returns the number of marked rows.
  int (*mark_true)(const std::uint8_t* keep, int n, std::uint64_t* marks);
  /// Writes the positions of the n rows that are marked, in order. Returns their number. It may write up to 64 entries
  /// past the last.
  int (*marked)(const std::uint64_t* marks, int n, std::int32_t* rows);
  /// Returns the OR of x ^ (x >> 63). No |x| exceeds it by more than one.
  std::uint64_t (*magnitude)(const std::int64_t* in, int n);
  // Kernels for groups. Every row has the number of a group, or kNoGroup.
  /// Computes number[i] ← before[i]·size + digit[i], in 32 bits; `number` may be `before`.
  void (*append_digit)(const std::int32_t* before, const std::int32_t* digit, std::int32_t size, int n,
                       std::int32_t* number);
  /// Computes number[i] ← in[i] - from, which fits.
  void (*distances)(const std::int64_t* in, std::int64_t from, int n, std::int32_t* number);
  /// Computes group[i] ← groups[number[i]]. Returns whether one of them is `unknown`. `size` is the size of `groups`.
  bool (*look_up)(const std::int32_t* groups, int size, const std::int32_t* number, int n, std::int32_t unknown,
                  std::int32_t* group);
  /// Removes the group of rows that are not marked.
  void (*drop)(const std::uint64_t* marks, int n, std::int32_t* group);
  /// Computes sums[g] += the elements of group g, modulo 2^64. sums[kNoGroup] is undefined afterwards.
  void (*sum_groups)(const std::int64_t* in, const std::int32_t* group, int n, int groups, std::int64_t* sums);
  /// Computes counts[g] = the rows of group g. `groups` is at most kFewGroups.
  void (*count_few)(const std::int32_t* group, int n, int groups, std::int64_t* counts);
  const FunctionTable* functions;
};

inline constexpr std::int32_t kNoGroup = -1;
inline constexpr int kMarksPerWord = 64;  ///< marks of rows are bits in words of 64

inline constexpr int kFewGroups = 8;

const Kernels& kernels_baseline() noexcept;
const Kernels& kernels_avx2() noexcept;
const Kernels& kernels_avx512() noexcept;

/// Returns the kernels of the widest instruction set of this CPU, or of the requested one.
const Kernels& kernels(Isa isa) noexcept;

}  // namespace upsweep::expression
