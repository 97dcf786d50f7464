// SPDX-License-Identifier: Apache-2.0
// cpu/pack_kernels.hpp: kernels that write the elements of lists one after the other, compiled once per instruction set.
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

/// Of a short list as many vectors are written as it begins, and those that follow it correct what was too much: there
/// is no branch on its length. Longer ones than this are written to the byte.
inline constexpr std::int64_t kShortListBytes = tuning::kListKernels.short_bytes;

/// So many lists ahead of the one that is copied, content is fetched.
inline constexpr std::int64_t kListsAhead = tuning::kListKernels.lists_ahead;

/// An output on its way: what was written last. Vectors that are too long for their list stay in it, and whole cache lines
/// leave it, past the caches where that is asked for: a few at a time, so that memory takes them while the next ones are
/// made.
struct Stage {
  static constexpr std::int64_t kFull = tuning::kListKernels.stage_bytes;
  static constexpr std::int64_t kSlack = kShortListBytes + kVectorBytes;

  alignas(kVectorBytes) std::byte bytes[kFull + kSlack];  // uninitialised
  std::byte* at;                                          ///< where in `bytes` the next element goes
  std::byte* out;                                         ///< where bytes[0] goes: the beginning of a cache line
  std::int64_t own;                                       ///< bytes before this one are not this output's
  std::int64_t capacity;  ///< bytes from bytes[0] to the output's end: none is written past it
  bool non_temporal;
};

/// Lists one after the other in an output, i with offsets[i + 1] - offsets[i] elements.
struct ListRun {
  const std::int64_t* offsets;
  const std::int64_t* starts;  ///< or null, where the kernel does not look at it
  std::int64_t count;
  std::int64_t known;  ///< lists whose offsets and starts may be read: `count` or more
};

/// All return whether all lists in the run are good: none of a negative length or past its content, nor all together past
/// the output's end.
struct PackKernels {
  /// starts[i], … of `length` elements of content.
  bool (*copy[kElementSizes])(Stage& stage, const ListRun& run, const void* content, std::int64_t length);
  /// values[i], as often as list i has elements.
  bool (*repeat[kElementSizes])(Stage& stage, const ListRun& run, const void* values);
  /// first + i, the same.
  bool (*number)(Stage& stage, const ListRun& run, std::int64_t first);
  /// starts[i], starts[i] + 1, …
  bool (*count_up)(Stage& stage, const ListRun& run);
  /// 0, 1, …
  bool (*local_index)(Stage& stage, const ListRun& run);
  /// Writes what is left in the stage. Returns whether it fits, too.
  bool (*finish)(Stage& stage);
};

/// Begins an output of so many bytes.
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

/// Those of an instruction set that the CPU has.
inline const PackKernels& pack_kernels(Isa isa) noexcept {
  return table_for(isa, &pack_kernels_baseline, &pack_kernels_avx2, &pack_kernels_avx512);
}

}  // namespace upsweep::cpu
