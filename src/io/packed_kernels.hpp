// SPDX-License-Identifier: Apache-2.0
// io/packed_kernels.hpp: entries of a dictionary by packed codes, as Parquet has them: a loop for each instruction set.
#pragma once

#include <cstdint>

namespace upsweep::io {

/// `codes` of `width` bits (1 to 32) each lie one after the other, the lowest bit first, in the bytes up to `end`.
struct PackedCodes {
  const std::uint8_t* begin;
  const std::uint8_t* end;
  int width;
};

/// Where the entries lie, at any alignment.
struct Entries {
  const std::uint8_t* begin;
  std::uint32_t count;  ///< at least 1
};

/// to[i] = the entry of code i, of the first n. False where a code has no entry; what `to` holds then means nothing. The
/// caller makes sure that the codes are there, and that `to` is aligned.
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
