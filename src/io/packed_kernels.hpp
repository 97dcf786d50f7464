// SPDX-License-Identifier: Apache-2.0
// io/packed_kernels.hpp: looks up entries of a dictionary by packed codes, as Parquet stores them, per instruction set.
#pragma once

#include <cstdint>

namespace upsweep::io {

/// Codes of `width` bits (1 to 32) each, one after the other, the lowest bit first, in the bytes up to `end`.
struct PackedCodes {
  const std::uint8_t* begin;
  const std::uint8_t* end;
  int width;
};

/// The entries of a dictionary, at any alignment.
struct Entries {
  const std::uint8_t* begin;
  std::uint32_t count;  ///< at least 1
};

/// Sets to[i] to the entry of code i, for the first n codes. Returns false if a code has no entry; `to` is then
/// undefined. The caller ensures that the codes exist, and that `to` is aligned.
using LookUp = bool (*)(PackedCodes codes, std::int64_t n, Entries entries, void* to);

struct PackedKernels {
  LookUp look_up_32;  ///< entries of 4 bytes
  LookUp look_up_64;  ///< of 8
  LookUp look_up_128;
};

const PackedKernels& packed_kernels_baseline() noexcept;
const PackedKernels& packed_kernels_avx2() noexcept;
const PackedKernels& packed_kernels_avx512() noexcept;

}  // namespace upsweep::io
