// SPDX-License-Identifier: Apache-2.0
// io/packed_kernels.cpp: looks up entries of packed codes, compiled per instruction set; UPSWEEP_ISA names this one.
//
// Everything except the table is internal to this file (checked by tests/isa_symbols.sh).
#include "io/packed_kernels.hpp"

#include <immintrin.h>

#include <cstdint>

#define UPSWEEP_KERNELS_NAME_2(isa) packed_kernels_##isa
#define UPSWEEP_KERNELS_NAME(isa) UPSWEEP_KERNELS_NAME_2(isa)

namespace upsweep::io {
namespace {

// Returns code i, whose bits are in at most five bytes. No byte from `end` on is read.
inline std::uint32_t code_at(const PackedCodes& codes, std::int64_t i) {
  const std::int64_t bit = i * codes.width;
  const std::uint8_t* const from = codes.begin + bit / 8;
  std::uint64_t word = 0;
  if (codes.end - from >= std::int64_t{sizeof word}) {
    __builtin_memcpy(&word, from, sizeof word);
  } else {
    for (std::int64_t b = 0; b < codes.end - from; ++b) word |= std::uint64_t{from[b]} << (8 * b);
  }
  return static_cast<std::uint32_t>((word >> (bit % 8)) & ((std::uint64_t{1} << codes.width) - 1));
}

#if defined(__AVX2__)
constexpr int kWidest = 25;  // a code and up to seven bits before it fit 32 bits

// Looks up codes from `first` on, eight at a time; returns where it ends.
template <class T>
std::int64_t look_up_vectors(const PackedCodes& codes, std::int64_t n, const Entries& entries, T* to, bool& all) {
  const int width = codes.width;
  if (width > kWidest) return 0;
  // Each half of a vector holds four codes, which begin at a byte or in the middle of one.
  alignas(32) std::uint8_t from_byte[32];
  alignas(32) std::uint32_t shift[8];
  for (int i = 0; i < 8; ++i) {
    const int bit = (i < 4 ? 0 : 4 * width % 8) + i % 4 * width;
    for (int b = 0; b < 4; ++b) from_byte[4 * i + b] = static_cast<std::uint8_t>(bit / 8 + b);
    shift[i] = static_cast<std::uint32_t>(bit % 8);
  }
  const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(from_byte));
  const __m256i shifts = _mm256_load_si256(reinterpret_cast<const __m256i*>(shift));
  const __m256i mask = _mm256_set1_epi32((1 << width) - 1);
  const __m256i last = _mm256_set1_epi32(static_cast<int>(entries.count - 1));
  const int upper = 4 * width / 8;
  __m256i greatest = _mm256_setzero_si256();
  std::int64_t i = 0;
  for (const std::uint8_t* at = codes.begin; i + 8 <= n && codes.end - at >= upper + 16; i += 8, at += width) {
    const __m256i both =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))),
                                _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + upper)), 1);
    const __m256i code = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(both, bytes), shifts), mask);
    greatest = _mm256_max_epu32(greatest, code);
    const __m256i within = _mm256_min_epu32(code, last);  // so that no other memory is read
#if defined(__AVX512F__)
    constexpr bool kGathers = sizeof(T) <= 8;
#else
    constexpr bool kGathers = false;  // eight loads take 0.5 to 0.7 ns a code, a gather 0.7 to 1.1 (Zen 3)
#endif
    if constexpr (!kGathers) {
      alignas(32) std::uint32_t places[8];
      _mm256_store_si256(reinterpret_cast<__m256i*>(places), within);
      for (int k = 0; k < 8; ++k) __builtin_memcpy(to + i + k, entries.begin + sizeof(T) * places[k], sizeof(T));
#if defined(__AVX512F__)
    } else if constexpr (sizeof(T) == 4) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm256_i32gather_epi32(reinterpret_cast<const int*>(entries.begin), within, 4));
    } else {
      _mm512_storeu_si512(to + i, _mm512_i32gather_epi64(within, entries.begin, 8));
#endif
    }
  }
  const __m256i past = _mm256_cmpeq_epi32(_mm256_max_epu32(greatest, last), last);
  all = _mm256_movemask_epi8(past) == -1;
  return i;
}
#else
template <class T>
std::int64_t look_up_vectors(const PackedCodes&, std::int64_t, const Entries&, T*, bool&) {
  return 0;
}
#endif

template <class T>
bool look_up(PackedCodes codes, std::int64_t n, Entries entries, void* to) {
  auto* const out = static_cast<T*>(to);
  bool all = true;
  for (std::int64_t i = look_up_vectors(codes, n, entries, out, all); i < n; ++i) {
    const std::uint32_t code = code_at(codes, i);
    const bool is_within = code < entries.count;
    all = all && is_within;
    __builtin_memcpy(out + i, entries.begin + sizeof(T) * (is_within ? code : 0), sizeof(T));
  }
  return all;
}

__extension__ using Word128 = unsigned __int128;

constexpr PackedKernels kTable{
    .look_up_32 = look_up<std::uint32_t>, .look_up_64 = look_up<std::uint64_t>, .look_up_128 = look_up<Word128>};

}  // namespace

const PackedKernels& UPSWEEP_KERNELS_NAME(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::io
