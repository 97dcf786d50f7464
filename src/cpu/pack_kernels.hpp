// SPDX-License-Identifier: Apache-2.0
// cpu/pack_kernels.hpp: kernels that write the elements of lists one after the other; per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::cpu {

/// Sizes of elements that are moved: 1, 2, 4, 8 and 16 bytes.
inline constexpr int kElementSizes = 5;
constexpr int at_size(std::int64_t bytes) { return __builtin_ctzll(static_cast<unsigned long long>(bytes)); }

/// A short list is written as whole vectors, rounded up. Later lists overwrite the excess, so no branch depends on its
/// exact length. Longer lists are written to the exact byte.
inline constexpr std::int64_t kShortListBytes = tuning::kListKernels.short_bytes;

/// Content is prefetched this number of lists before it is copied.
inline constexpr std::int64_t kListsAhead = tuning::kListKernels.lists_ahead;

/// A buffer for the last part of an output. Vectors that are too long for their list stay in it. Whole cache lines are
/// written to the output, past the caches if requested. A few are written at a time, so that memory stores them while
/// the next ones are computed.
struct Stage {
  static constexpr std::int64_t kFull = tuning::kListKernels.stage_bytes;
  static constexpr std::int64_t kSlack = kShortListBytes + kVectorBytes;

  alignas(kVectorBytes) std::byte bytes[kFull + kSlack];  // uninitialized
  std::byte* at;                                          ///< where in `bytes` the next element goes
  std::byte* out;                                         ///< where bytes[0] goes: the beginning of a cache line
  std::int64_t own;                                       ///< earlier bytes do not belong to this output
  std::int64_t capacity;  ///< bytes from bytes[0] to the output's end, past which nothing is written
  bool non_temporal;
};

/// Consecutive lists in an output; list i has offsets[i + 1] - offsets[i] elements.
struct ListRun {
  const std::int64_t* offsets;
  const std::int64_t* starts;  ///< or null, if the kernel does not use it
  std::int64_t count;
  std::int64_t known;  ///< lists whose offsets and starts may be read: at least `count`
};

/// All functions return whether all lists in the run are good. A list is bad if its length is negative or it exceeds
/// its content, and so is a run that exceeds the output.
struct PackKernels {
  /// Writes elements starts[i], … of content, which has `length` elements.
  bool (*copy[kElementSizes])(Stage& stage, const ListRun& run, const void* content, std::int64_t length);
  /// Writes values[i] once for each element of list i.
  bool (*repeat[kElementSizes])(Stage& stage, const ListRun& run, const void* values);
  /// Writes first + i once for each element of list i.
  bool (*number)(Stage& stage, const ListRun& run, std::int64_t first);
  /// Writes starts[i], starts[i] + 1, …
  bool (*count_up)(Stage& stage, const ListRun& run);
  /// Writes 0, 1, …
  bool (*local_index)(Stage& stage, const ListRun& run);
  /// Writes the rest of the stage. Also returns whether it fits.
  bool (*finish)(Stage& stage);
};

/// Begins an output of `count` bytes.
inline void begin(Stage& stage, void* out, std::int64_t count, bool non_temporal) {
  const auto address = reinterpret_cast<std::uintptr_t>(out);
  stage.own = static_cast<std::int64_t>(address % kVectorBytes);
  stage.out = static_cast<std::byte*>(out) - stage.own;
  stage.at = stage.bytes + stage.own;
  stage.capacity = stage.own + count;
  stage.non_temporal = non_temporal;
}

const PackKernels& pack_kernels_baseline() noexcept;
const PackKernels& pack_kernels_avx2() noexcept;
const PackKernels& pack_kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const PackKernels& pack_kernels(Isa isa) noexcept {
  return table_for(isa, &pack_kernels_baseline, &pack_kernels_avx2, &pack_kernels_avx512);
}

}  // namespace upsweep::cpu
