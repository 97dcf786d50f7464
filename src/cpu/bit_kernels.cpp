// SPDX-License-Identifier: Apache-2.0
// cpu/bit_kernels.cpp: shifts of whole bitmaps, compiled once per instruction set.
#include "cpu/bit_kernels.hpp"

#include <cstdint>

#include "cpu/simd.hpp"

#define UPSWEEP_BIT_TABLE(isa) UPSWEEP_BIT_TABLE_OF(isa)
#define UPSWEEP_BIT_TABLE_OF(isa) bit_kernels_##isa

namespace upsweep::cpu {
namespace {

using Word = std::uint64_t;

UPSWEEP_INLINE Register<Word> load_register(const Word* from) {
  return *reinterpret_cast<const RegisterOf<Word>::Unaligned*>(from);
}

/// Processes one register at a time, from the top down. All words are loaded before they are overwritten, so words may
/// overlap.
template <bool kWhole>
void shift_or_by(Word* to, const Word* from, std::int64_t words, int shift) {
  constexpr int kStep = kRegisterLanes<Word>;
  std::int64_t i = words;
  for (; i >= kStep; i -= kStep) {
    const Word* const source = from + i - kStep;
    Word* const target = to + i - kStep;
    Register<Word> value = load_register(source);
    if constexpr (!kWhole) value = (value << shift) | (load_register(source - 1) >> (64 - shift));
    *reinterpret_cast<RegisterOf<Word>::Unaligned*>(target) = load_register(target) | value;
  }
  for (; i > 0; --i) {
    to[i - 1] |= kWhole ? from[i - 1] : from[i - 1] << shift | from[i - 2] >> (64 - shift);
  }
}

void shift_or(Word* to, const Word* from, std::int64_t words, int shift) {
  if (shift == 0) {
    shift_or_by<true>(to, from, words, 0);
  } else {
    shift_or_by<false>(to, from, words, shift);
  }
}

constexpr BitKernels kTable{&shift_or};

}  // namespace

const BitKernels& UPSWEEP_BIT_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
