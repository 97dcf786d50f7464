// SPDX-License-Identifier: Apache-2.0
// cpu/combination_kernels.hpp: computes tuples of short lists from tables, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/tuning/lists.hpp"

namespace upsweep::cpu {

/// Lists with fewer elements may be in a table.
inline constexpr std::int64_t kTableLists = tuning::kListKernels.table_lists;
/// The maximum number of tuples of a list in a table.
inline constexpr std::int64_t kTableTuples = tuning::kListKernels.table_tuples;

/// The tuples of short lists that start at 0.
struct TupleTable {
  std::int64_t n;                    ///< positions of a tuple
  std::int64_t counts[kTableLists];  ///< tuples of a list of that length; kNoIndex: they are not in the table
  /// Position d of tuple k of a list of length l: positions[(l·n + d)·kTableTuples + k]. Elements past the last may be
  /// read.
  const std::int64_t* positions;
};

struct CombinationKernels {
  /// tuples[i] ← the number of pairs of a list of lengths[i] elements, less than 2^31.
  void (*pairs)(const std::int64_t* lengths, std::int64_t count, bool replacement, std::int64_t* tuples);
  /// Writes the tuples of lists[0 … count - 1] until a list is not in the table or its tuples do not fit. Position d
  /// of the first goes to out[d][at]. Up to kTableTuples elements from the last one on may be written. Advances `at`.
  /// Returns the number of lists written.
  std::int64_t (*tuples)(const TupleTable& table, const std::int64_t* starts, const std::int64_t* lengths,
                         std::int64_t count, std::int64_t* const* out, std::int64_t& at, std::int64_t capacity);
};

const CombinationKernels& combination_kernels_baseline() noexcept;
const CombinationKernels& combination_kernels_avx2() noexcept;
const CombinationKernels& combination_kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const CombinationKernels& combination_kernels(Isa isa) noexcept {
  return table_for(isa, &combination_kernels_baseline, &combination_kernels_avx2, &combination_kernels_avx512);
}

}  // namespace upsweep::cpu
