// SPDX-License-Identifier: Apache-2.0
// cpu/kernels.hpp: the tables of compiled kernels: one of plain loops, and one of SIMD kernels per instruction set.
#pragma once

#include <cstdint>

#include "system/isa.hpp"
#include "upsweep/detail/scan_kernel.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep::cpu {

__extension__ using Int128 = __int128;

/// A vector of the SIMD kernels, for every instruction set (simd.hpp).
inline constexpr int kVectorBytes = 64;

/// Converts elements to another type, one by one: to integers modulo 2^bits, to floats rounded to nearest.
using Convert = void (*)(const void* in, void* out, std::int64_t n);

/// The lists of one column: list i is starts[i] … stops[i].
struct ListBounds {
  const void* starts;
  const void* stops;
  bool strict;  ///< negative starts are also errors
};

/// The sum of the lengths of some lists.
struct ListTotal {
  std::int64_t total;  ///< the sum of lengths, modulo 2^64
  bool bad;            ///< some list is invalid, or an offset exceeded 2^63-1
};

/// Offsets of n lists. Types: int32, uint32, int64.
struct OffsetsKernel {
  /// Returns the sum of lengths, modulo 2^64, without checks.
  std::int64_t (*reduce)(const ListBounds& lists, std::int64_t n);
  /// out[i] ← before + the lengths of lists 0 … i. `total` includes `before`, and `mode.exclusive` is not used. Lists
  /// that `mode` points to are given by their starts. Their stops are at the same distance as those of `lists`. Totals
  /// are int64.
  ListTotal (*scan)(const ListBounds& lists, std::int64_t n, std::int64_t* out, std::int64_t before,
                    const detail::ScanMode& mode);
  /// For stops == starts + 1: out[i] ← stops[i] - base. `total` is the last one.
  ListTotal (*difference)(const ListBounds& lists, std::int64_t n, std::int64_t* out, std::int64_t base,
                          bool non_temporal);
};

/// Σ quantity[i]·price[i] over the rows with key[i] < limit, modulo 2^64.
using FilteredSum = std::uint64_t (*)(const std::uint32_t* key, const std::int64_t* quantity, const std::int64_t* price,
                                      std::int64_t n, std::uint32_t limit);

struct KernelTable {
  detail::ScanKernel scan[kTypeCount]
                         [kOperatorCount];  ///< same type in and out; empty for operators of integers only on floats
  Convert convert[kTypeCount][kTypeCount];  ///< empty from floats to integers
  OffsetsKernel offsets[kTypeCount];        ///< empty except for is_list_bound
  /// OR of x ^ (x >> bits-1) over the elements: no |x| exceeds it by more than one. Empty for floats. Sums also compute
  /// it (ScanMode::note).
  std::uint64_t (*magnitude[kTypeCount])(const void* in, std::int64_t n);
  /// Returns the sum of the elements. Empty for floats.
  Int128 (*exact_sum[kTypeCount])(const void* in, std::int64_t n);
  /// Copies with stores past the caches.
  void (*copy)(void* to, const void* from, std::int64_t bytes);
  /// Reads all words and returns their exclusive or, so that the reads are not optimized away.
  std::uint64_t (*read)(const void* from, std::int64_t bytes);
  FilteredSum filtered_sum;
};

const KernelTable& kernels_plain() noexcept;  ///< the loops: scan, offsets' scan, and filtered_sum; the rest is empty
const KernelTable& kernels_baseline() noexcept;  ///< SIMD with the instructions of every CPU of the architecture
const KernelTable& kernels_avx2() noexcept;
const KernelTable& kernels_avx512() noexcept;

/// out[i] ← value + out[i]. Returns whether any result is below zero.
bool shift_offsets(std::int64_t* out, std::int64_t n, std::int64_t value) noexcept;

/// Returns the table, of three, for an instruction set that the CPU supports.
template <class Table>
const Table& table_for(Isa isa, const Table& (*baseline)() noexcept, const Table& (*avx2)() noexcept,
                       const Table& (*avx512)() noexcept) noexcept {
  const Isa chosen = isa == Isa::best ? best_isa() : isa;
  return chosen == Isa::avx512 ? avx512() : chosen == Isa::avx2 ? avx2() : baseline();
}

/// Returns the SIMD kernels of an instruction set that the CPU supports.
inline const KernelTable& kernels(Isa isa) noexcept {
  return table_for(isa, &kernels_baseline, &kernels_avx2, &kernels_avx512);
}

constexpr int at(Type type) { return static_cast<int>(type); }
constexpr int at(Operator op) { return static_cast<int>(op); }

}  // namespace upsweep::cpu
