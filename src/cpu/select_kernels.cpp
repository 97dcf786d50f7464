// SPDX-License-Identifier: Apache-2.0
// cpu/select_kernels.cpp: masks as bits, ranks and compaction, compiled once per instruction set.
//
// Compaction loads a register of elements (AVX-512: at most 16) and moves the kept ones to its front, by a compress or
// by a permutation from a table. It stores the whole register and advances by the number of kept elements: no branch
// depends on the mask. The next store overwrites the excess. The last 64 elements of a run are stored one by one.
// AVX-512's compress writes to a register, because compressing into memory takes some hundred cycles on Zen 4. Two
// changes gained nothing on two such cores: collecting whole cache lines to store them past the caches, and prefetching
// content 2 to 16 KB ahead.
//
// Ranks of offsets are computed eight at a time if the offsets are close, as for short lists. The eight ranks are
// computed in registers from one word of bits. This takes 0.9 ns per rank, and a look-up of each rank takes 1.8 ns.
#include "cpu/select_kernels.hpp"

#include <cstdint>
#include <cstring>

#include "cpu/simd.hpp"

#define UPSWEEP_SELECT_TABLE(isa) UPSWEEP_SELECT_TABLE_OF(isa)
#define UPSWEEP_SELECT_TABLE_OF(isa) select_kernels_##isa

namespace upsweep::cpu {
namespace {

using Word = std::uint64_t;

UPSWEEP_INLINE std::int64_t popcount(Word word) {
#if UPSWEEP_REGISTER_BYTES >= 32
  return __builtin_popcountll(word);
#else
  // Not every CPU of the architecture has an instruction for it, and the compiler's function looks bytes up in a table.
  word -= (word >> 1) & 0x5555555555555555U;
  word = (word & 0x3333333333333333U) + ((word >> 2) & 0x3333333333333333U);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FU;
  return static_cast<std::int64_t>((word * 0x0101010101010101U) >> 56);
#endif
}

/// Returns a word with the lowest `count` bits set, 0 to 63.
UPSWEEP_INLINE Word low_bits(std::int64_t count) { return (Word{1} << count) - 1; }

// --------------------------------------------------------------------------------------------------------------- marks

/// Returns which of 64 bytes are not zero.
UPSWEEP_INLINE Word marks_of(const std::uint8_t* bytes) {
#if UPSWEEP_REGISTER_BYTES == 64
  const __m512i v = _mm512_loadu_si512(bytes);
  return _mm512_test_epi8_mask(v, v);
#else
  constexpr int kLoads = kVectorBytes / kRegisterBytes;
  Word zeros = 0;
  for (int load = 0; load < kLoads; ++load) {
#if UPSWEEP_REGISTER_BYTES == 32
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes) + load);
    const auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256())));
#else
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + load);
    const auto mask = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())));
#endif
    zeros |= Word{mask} << (load * kRegisterBytes);
  }
  return ~zeros;
#endif
}

/// Returns up to 63 bits from bit `shift` on, of bytes that end with the last of them.
UPSWEEP_INLINE Word last_bits(const std::uint8_t* bytes, std::int64_t shift, std::int64_t count) {
  Word word = 0;
  const std::int64_t end = shift + count;
  for (std::int64_t bit = 0; bit < end; bit += 8) {
    const Word byte = bytes[bit / 8];
    word |= bit >= shift ? byte << (bit - shift) : byte >> (shift - bit);
  }
  return word & low_bits(count);
}

/// Word w is marks(w), except the last word, which is last().
template <class Marks, class Last>
UPSWEEP_INLINE std::int64_t mark(std::int64_t n, std::uint64_t* words, std::uint16_t* before, Marks marks, Last last) {
  std::int64_t set = 0;
  const std::int64_t whole = n / kMarkWord;
  for (std::int64_t w = 0; w < whole; ++w) {
    before[w] = static_cast<std::uint16_t>(set);
    words[w] = marks(w);
    set += popcount(words[w]);
  }
  if (whole * kMarkWord == n) return set;
  before[whole] = static_cast<std::uint16_t>(set);
  words[whole] = last(whole);
  return set + popcount(words[whole]);
}

std::int64_t mark_bytes(const std::uint8_t* mask, std::int64_t n, std::uint64_t* words, std::uint16_t* before) {
  return mark(
      n, words, before, [&](std::int64_t w) { return marks_of(mask + w * kMarkWord); },
      [&](std::int64_t w) {
        std::uint8_t padded[kMarkWord] = {};
        std::memcpy(padded, mask + w * kMarkWord, static_cast<std::size_t>(n - w * kMarkWord));
        return marks_of(padded);
      });
}

std::int64_t mark_bits(const std::uint8_t* mask, std::int64_t first_bit, std::int64_t n, std::uint64_t* words,
                       std::uint16_t* before) {
  const std::uint8_t* const bytes = mask + first_bit / 8;
  const std::int64_t shift = first_bit % 8;
  const auto last = [&](std::int64_t w) { return last_bits(bytes + w * 8, shift, n - w * kMarkWord); };
  const auto load = [&](std::int64_t w) {
    Word word = 0;
    std::memcpy(&word, bytes + w * 8, sizeof word);
    return word;
  };
  if (shift == 0) return mark(n, words, before, load, last);
  return mark(
      n, words, before, [&](std::int64_t w) { return load(w) >> shift | Word{bytes[w * 8 + 8]} << (64 - shift); },
      last);
}

// --------------------------------------------------------------------------------------------------------------- ranks

/// Returns the 64 bits from a position on.
UPSWEEP_INLINE Word bits_at(const std::uint64_t* words, std::int64_t position) {
  const std::int64_t w = position / kMarkWord;
  const std::int64_t shift = position % kMarkWord;
  return words[w] >> shift | words[w + 1] << 1 << (63 - shift);
}

/// Loads eight bounds or indices as int64.
template <class T>
UPSWEEP_INLINE Vector<std::int64_t> load_eight(const T* from) {
  if constexpr (sizeof(T) == 8) return load(from);
  Vector<std::int64_t> v;
  for (int r = 0; r < kRegisters; ++r) {
    if constexpr (sizeof(T) == 4) v.reg[r] = widen(from + r * kRegisterLanes<std::int64_t>);
  }
  return v;
}

UPSWEEP_INLINE std::int64_t rank(const MarkView& view, std::uint64_t position) {
  const std::uint64_t w = position / kMarkWord;
  return view.in_front[position / kMarkBlock] + view.before[w] +
         popcount(view.words[w] & low_bits(static_cast<std::int64_t>(position % kMarkWord)));
}

#if UPSWEEP_REGISTER_BYTES >= 32
/// Returns how many bits of each lane are set.
UPSWEEP_INLINE Register<Word> popcounts(Register<Word> v) {
  v -= (v >> 1) & 0x5555555555555555U;
  v = (v & 0x3333333333333333U) + ((v >> 2) & 0x3333333333333333U);
  v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0FU;
#if UPSWEEP_REGISTER_BYTES == 64
  return (Register<Word>)_mm512_sad_epu8((__m512i)v, _mm512_setzero_si512());
#else
  return (Register<Word>)_mm256_sad_epu8((__m256i)v, _mm256_setzero_si256());
#endif
}

/// Computes the ranks of eight offsets that are at most 63 after `from`, whose position is known, from the bits there.
/// A lane of `bad` becomes negative if an offset decreases.
template <class T>
UPSWEEP_INLINE void rank_eight(const T* offsets, std::int64_t from, std::int64_t position, const MarkView& view,
                               std::int64_t* out, Register<std::int64_t>& bad) {
  const Vector<std::int64_t> before = load_eight(offsets);
  const Vector<std::int64_t> after = load_eight(offsets + 1);
  const auto base = static_cast<Word>(rank(view, static_cast<std::uint64_t>(position)));
  const Word bits = bits_at(view.words, position);
  for (int r = 0; r < kRegisters; ++r) {
    bad |= after.reg[r] < before.reg[r];
    const Register<Word> lower = ((Register<Word>{} + 1) << (Register<Word>)(after.reg[r] - from)) - 1;
    const Register<Word> ranks = popcounts(lower & bits) + base;
    reinterpret_cast<RegisterOf<Word>::Unaligned*>(out)[r] = ranks;
  }
}
#endif

template <class T, bool kWrites>
bool rank_offsets_as(const T* offsets, std::int64_t count, std::int64_t first, std::int64_t marks,
                     const MarkView& given, std::int64_t* out) {
  const MarkView view = given;
  std::int64_t bad = 0;  // negative if an offset is bad
  const auto rank_one = [&](std::int64_t i) {
    const auto offset = static_cast<std::int64_t>(offsets[i + 1]);
    auto position = static_cast<std::uint64_t>(offset) - static_cast<std::uint64_t>(first);
    bad |= offset - static_cast<std::int64_t>(offsets[i]);
    if (position > static_cast<std::uint64_t>(marks)) [[unlikely]] {
      bad = -1;
      position = 0;
    }
    if constexpr (kWrites) out[i] = rank(view, position);
  };
  std::int64_t i = 0;
#if UPSWEEP_REGISTER_BYTES >= 32
  constexpr std::int64_t kStep = kLanes<std::int64_t>;
  Register<std::int64_t> bad_lanes{};
  for (; kWrites && i + kStep <= count; i += kStep) {
    const auto from = static_cast<std::int64_t>(offsets[i]);
    const auto last = static_cast<std::int64_t>(offsets[i + kStep]);
    const auto position = static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(first);
    const auto span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(from);
    const auto end = static_cast<std::uint64_t>(marks);
    if (position <= end && span < kMarkWord && span <= end - position) {
      rank_eight(offsets + i, from, static_cast<std::int64_t>(position), view, out + i, bad_lanes);
    } else {
      for (std::int64_t j = i; j < i + kStep; ++j) rank_one(j);
    }
  }
  for (int j = 0; j < kRegisterLanes<std::int64_t>; ++j) bad |= bad_lanes[j];
#endif
  for (; i < count; ++i) rank_one(i);
  return bad < 0;
}

template <class T>
bool rank_offsets(const void* offsets, std::int64_t count, std::int64_t first, std::int64_t marks, const MarkView& view,
                  std::int64_t* out) {
  const auto* const from = static_cast<const T*>(offsets);
  if (out == nullptr) return rank_offsets_as<T, false>(from, count, first, marks, view, out);
  return rank_offsets_as<T, true>(from, count, first, marks, view, out);
}

void rank_sized(std::int64_t position, std::int64_t size, std::int64_t count, const MarkView& given,
                std::int64_t* out) {
  const MarkView view = given;
  for (std::int64_t i = 0; i < count; ++i) out[i] = rank(view, static_cast<std::uint64_t>(position + i * size));
}

// ---------------------------------------------------------------------------------------------------------- compaction

/// Elements by their size only.
template <int kBytes>
struct Moved;
template <>
struct Moved<1> {
  typedef std::uint8_t Type __attribute__((may_alias));
};
template <>
struct Moved<2> {
  typedef std::uint16_t Type __attribute__((may_alias, aligned(1)));
};
template <>
struct Moved<4> {
  typedef std::uint32_t Type __attribute__((may_alias, aligned(1)));
};
template <>
struct Moved<8> {
  typedef std::uint64_t Type __attribute__((may_alias, aligned(1)));
};
template <>
struct Moved<16> {
  typedef std::uint64_t Type __attribute__((vector_size(16), may_alias, aligned(1)));
};

#if UPSWEEP_REGISTER_BYTES == 64
/// Elements that are compacted at a time.
template <int kBytes>
constexpr int kGroup = kBytes <= 4 ? 16 : 64 / kBytes;
#elif UPSWEEP_REGISTER_BYTES == 32
template <int kBytes>
constexpr int kGroup = kBytes == 8 ? 4 : 8;

/// The positions of the set bits of a byte, of every byte.
struct SetBits {
  alignas(64) std::uint8_t of[256][8] = {};

  constexpr SetBits() {
    for (int byte = 0; byte < 256; ++byte) {
      int count = 0;
      for (int bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) of[byte][count++] = static_cast<std::uint8_t>(bit);
      }
    }
  }
};
constexpr SetBits kSetBits;

/// The positions of the set bits of four bits, each position as two positions of halves.
struct SetHalves {
  alignas(64) std::uint32_t of[16][8] = {};

  constexpr SetHalves() {
    for (int bits = 0; bits < 16; ++bits) {
      int count = 0;
      for (int bit = 0; bit < 4; ++bit) {
        if ((bits >> bit & 1) == 0) continue;
        of[bits][count++] = static_cast<std::uint32_t>(2 * bit);
        of[bits][count++] = static_cast<std::uint32_t>(2 * bit + 1);
      }
    }
  }
};
constexpr SetHalves kSetHalves;

UPSWEEP_INLINE __m128i set_bits(unsigned byte) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kSetBits.of[byte]));
}
#else
template <int kBytes>
constexpr int kGroup = 8;
#endif

/// Stores the elements of a group whose bits are set to `out`. Elements after them, up to the group's length, are
/// unspecified.
template <int kBytes>
UPSWEEP_INLINE void compact_group(const typename Moved<kBytes>::Type* from, unsigned bits,
                                  typename Moved<kBytes>::Type* out) {
#if UPSWEEP_REGISTER_BYTES == 64
  if constexpr (kBytes == 1) {
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    const __m512i kept = _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), wide);
    return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(kept));
  }
  if constexpr (kBytes == 2) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    const __m512i kept = _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), wide);
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(kept));
  }
  if constexpr (kBytes == 4) {
    return _mm512_storeu_si512(out,
                               _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), _mm512_loadu_si512(from)));
  }
  if constexpr (kBytes == 8) {
    return _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), _mm512_loadu_si512(from)));
  }
  if constexpr (kBytes == 16) {
    const auto pairs = static_cast<__mmask8>(_pdep_u32(bits, 0x55) * 3);
    return _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(pairs, _mm512_loadu_si512(from)));
  }
#elif UPSWEEP_REGISTER_BYTES == 32
  if constexpr (kBytes == 1) {
    const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(v, set_bits(bits)));
  }
  if constexpr (kBytes == 2) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i at = _mm_slli_epi16(set_bits(bits), 1);  // positions are below 8: nothing crosses a byte
    const __m128i bytes = _mm_add_epi8(_mm_unpacklo_epi8(at, at), _mm_set1_epi16(0x0100));
    return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(v, bytes));
  }
  if constexpr (kBytes == 4) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i at = _mm256_cvtepu8_epi32(set_bits(bits));
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(v, at));
  }
  if constexpr (kBytes == 8) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i at = _mm256_load_si256(reinterpret_cast<const __m256i*>(kSetHalves.of[bits]));
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(v, at));
  }
#endif
  std::int64_t k = 0;
  for (int j = 0; j < kGroup<kBytes>; ++j) {
    out[k] = from[j];
    k += bits >> j & 1;
  }
}

/// Compacts elements one by one: only kept elements are read and written. Returns how many.
template <int kBytes>
UPSWEEP_INLINE std::int64_t compact_each(const typename Moved<kBytes>::Type* from, Word word,
                                         typename Moved<kBytes>::Type* out) {
  std::int64_t k = 0;
  for (; word != 0; word &= word - 1) out[k++] = from[__builtin_ctzll(word)];
  return k;
}

/// Compacts groups while there are bits; 64 elements may be read and written. Returns how many are kept.
template <int kBytes>
UPSWEEP_INLINE std::int64_t compact_groups(const typename Moved<kBytes>::Type* from, Word word,
                                           typename Moved<kBytes>::Type* out) {
  std::int64_t k = 0;
  for (; word != 0; word >>= kGroup<kBytes>) {
    const Word bits = word & low_bits(kGroup<kBytes>);
    compact_group<kBytes>(from, static_cast<unsigned>(bits), out + k);
    k += popcount(bits);
    from += kGroup<kBytes>;
  }
  return k;
}

/// Compacts all groups of a word: the loop has no branch.
template <int kBytes>
UPSWEEP_INLINE std::int64_t compact_word(const typename Moved<kBytes>::Type* from, Word word,
                                         typename Moved<kBytes>::Type* out) {
  std::int64_t k = 0;
  for (int g = 0; g < kMarkWord; g += kGroup<kBytes>) {
    const Word bits = word >> g & low_bits(kGroup<kBytes>);
    compact_group<kBytes>(from + g, static_cast<unsigned>(bits), out + k);
    k += popcount(bits);
  }
  return k;
}

template <int kBytes>
void compact(const CompactRun& run) {
  using Element = typename Moved<kBytes>::Type;
  const auto* const content = static_cast<const Element*>(run.content);
  auto* const out = static_cast<Element*>(run.out);
  const std::int64_t whole = run.count / kMarkWord;
  const std::int64_t last_fast = run.kept - kMarkWord;
  std::int64_t k = 0;
  std::int64_t w = 0;
  for (; w < whole && k <= last_fast; ++w) {
    k += compact_word<kBytes>(content + w * kMarkWord, run.words[w] ^ run.flip, out + k);
  }
  for (; w < whole; ++w) k += compact_each<kBytes>(content + w * kMarkWord, run.words[w] ^ run.flip, out + k);
  if (whole * kMarkWord == run.count) return;
  const Word word = (run.words[whole] ^ run.flip) & low_bits(run.count % kMarkWord);
  compact_each<kBytes>(content + whole * kMarkWord, word, out + k);
}

template <int kBytes>
void compact_ranges(const void* from, std::int64_t count, const std::uint64_t* words, const MarkRange* ranges,
                    std::int64_t range_count, void* to, std::int64_t kept) {
  using Element = typename Moved<kBytes>::Type;
  const auto* const content = static_cast<const Element*>(from);
  auto* const out = static_cast<Element*>(to);
  std::int64_t k = 0;
  for (std::int64_t r = 0; r < range_count; ++r) {
    for (std::int64_t at = ranges[r].first; at < ranges[r].stop; at += kMarkWord) {
      const std::int64_t left = ranges[r].stop - at;
      const Word word = bits_at(words, at) & (left < kMarkWord ? low_bits(left) : ~Word{0});
      const bool fits = at + kMarkWord <= count && k + kMarkWord <= kept;
      k += fits ? compact_groups<kBytes>(content + at, word, out + k)
                : compact_each<kBytes>(content + at, word, out + k);
    }
  }
}

// -----------------------------------------------------------------------------------------------------------------
// take

/// Takes eight positions at a time. Later positions overwrite those past a range's end, so there is no branch on the
/// length of lists of up to eight indices.
template <class T>
bool take(const void* indices, std::int64_t count, const TakeRange* ranges, std::int64_t range_count,
          std::int64_t* positions) {
  static_assert(kTakeSlack == kLanes<std::int64_t>);
  const auto* const from = static_cast<const T*>(indices);
  std::int64_t* out = positions;
  Register<std::int64_t> lane_of[kRegisters];
  for (int r = 0; r < kRegisters; ++r) {
    for (int j = 0; j < kRegisterLanes<std::int64_t>; ++j) lane_of[r][j] = r * kRegisterLanes<std::int64_t> + j;
  }
  Register<std::int64_t> bad{};
  bool is_bad = false;
  for (std::int64_t i = 0; i < range_count; ++i) {
    const TakeRange range = ranges[i];
    std::int64_t at = range.first;
    for (bool more = at + kTakeSlack <= count; more; more = at < range.stop && at + kTakeSlack <= count) {
      const Vector<std::int64_t> index = load_eight(from + at);
      for (int r = 0; r < kRegisters; ++r) {
        const Register<std::int64_t> local = index.reg[r] + ((index.reg[r] < 0) & range.count);
        bad |= (lane_of[r] < range.stop - at) & ((local < 0) | (local >= range.count));
        reinterpret_cast<RegisterOf<std::int64_t>::Unaligned*>(out + (at - range.first))[r] = local + range.start;
      }
      at += kTakeSlack;
    }
    for (; at < range.stop; ++at) {
      auto local = static_cast<std::int64_t>(from[at]);
      if (local < 0) local += range.count;
      is_bad |= local < 0 || local >= range.count;
      out[at - range.first] = local + range.start;
    }
    out += range.stop - range.first;
  }
  for (int j = 0; j < kRegisterLanes<std::int64_t>; ++j) is_bad |= bad[j] != 0;
  return !is_bad;
}

constexpr SelectKernels kTable{
    .mark_bytes = &mark_bytes,
    .mark_bits = &mark_bits,
    .rank_offsets = {&rank_offsets<std::int32_t>, &rank_offsets<std::uint32_t>, &rank_offsets<std::int64_t>},
    .rank_sized = &rank_sized,
    .compact = {&compact<1>, &compact<2>, &compact<4>, &compact<8>, &compact<16>},
    .compact_ranges = {&compact_ranges<1>, &compact_ranges<2>, &compact_ranges<4>, &compact_ranges<8>,
                       &compact_ranges<16>},
    .take = {&take<std::int32_t>, &take<std::uint32_t>, &take<std::int64_t>}};

}  // namespace

const SelectKernels& UPSWEEP_SELECT_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
