// SPDX-License-Identifier: Apache-2.0
// cpu/bit_kernels.hpp: kernels on bitmaps of 64-bit words, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

struct BitKernels {
  /// Computes to[i] |= from[i] << shift | from[i - 1] >> (64 - shift) for i = words - 1 … 0, in that order. `to` may
  /// therefore be anywhere from `from` on upward. 0 <= shift < 64; from[-1] is read.
  void (*shift_or)(std::uint64_t* to, const std::uint64_t* from, std::int64_t words, int shift);
};

const BitKernels& bit_kernels_baseline() noexcept;
const BitKernels& bit_kernels_avx2() noexcept;
const BitKernels& bit_kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const BitKernels& bit_kernels(Isa isa) noexcept {
  return table_for(isa, &bit_kernels_baseline, &bit_kernels_avx2, &bit_kernels_avx512);
}

}  // namespace upsweep::cpu
