// SPDX-License-Identifier: Apache-2.0
// io/utf8_kernels.cpp: whether long text is UTF-8, compiled once per instruction set; UPSWEEP_ISA names this one.
//
// All faults except one are visible in two consecutive bytes: in both halves of the first and the upper half of the
// second. Three tables of 16 entries have a bit for each such fault. A fault is present if all three tables have its
// bit. The other fault is two or three places after a lead byte: a continuation byte that no lead byte requires, or a
// missing one. From: Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte", 2021.
//
// Everything except the table is internal to this file (checked by tests/isa_symbols.sh).
#include "io/utf8_kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define UPSWEEP_KERNELS_NAME_2(isa) utf8_kernels_##isa
#define UPSWEEP_KERNELS_NAME(isa) UPSWEEP_KERNELS_NAME_2(isa)

namespace upsweep::io {
namespace {

#if defined(__AVX2__)

constexpr std::int64_t kVector = 32;  // bytes

constexpr std::uint8_t kTooShort = 1 << 0;   // a lead byte, and then no continuation
constexpr std::uint8_t kTooLong = 1 << 1;    // ASCII, and then a continuation
constexpr std::uint8_t kOverlong3 = 1 << 2;  // E0, and then less than A0
constexpr std::uint8_t kTooLarge = 1 << 3;   // F4 or more, and then 90 or more
constexpr std::uint8_t kSurrogate = 1 << 4;  // ED, and then A0 or more
constexpr std::uint8_t kOverlong2 = 1 << 5;  // C0 or C1
constexpr std::uint8_t kTooLarge8 = 1 << 6;  // F5 or more, and then less than 90
constexpr std::uint8_t kOverlong4 = 1 << 6;  // F0, and then less than 90; shares a bit, because F0 and F5 differ
constexpr std::uint8_t kContinues = 1 << 7;  // two continuations, which only lead bytes of three and four bytes require
constexpr std::uint8_t kAny = kTooShort | kTooLong | kContinues;  // for any lower half of the first byte

struct Table {
  std::uint8_t entries[16];
};

constexpr Table kFirstUpper{{kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong,  //
                             kContinues, kContinues, kContinues, kContinues,                                  //
                             kTooShort | kOverlong2, kTooShort, kTooShort | kOverlong3 | kSurrogate,
                             kTooShort | kTooLarge | kTooLarge8 | kOverlong4}};
constexpr std::uint8_t kPastF4 = kAny | kTooLarge | kTooLarge8;
constexpr Table kFirstLower{{kAny | kOverlong3 | kOverlong2 | kOverlong4, kAny | kOverlong2, kAny, kAny,
                             kAny | kTooLarge, kPastF4, kPastF4, kPastF4,  //
                             kPastF4, kPastF4, kPastF4, kPastF4,           //
                             kPastF4, kPastF4 | kSurrogate, kPastF4, kPastF4}};
constexpr std::uint8_t kContinuation = kTooLong | kOverlong2 | kContinues;
constexpr Table kSecondUpper{{kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort,
                              kContinuation | kOverlong3 | kTooLarge8 | kOverlong4,  //
                              kContinuation | kOverlong3 | kTooLarge,                //
                              kContinuation | kSurrogate | kTooLarge, kContinuation | kSurrogate | kTooLarge, kTooShort,
                              kTooShort, kTooShort, kTooShort}};

__m256i of(const Table& table) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table.entries)));
}

// Processes text by vectors; ASCII by four at a time.
class Check {
 public:
  void accept(__m256i bytes) {
    // The bytes one, two and three places before each byte.
    const __m256i across = _mm256_permute2x128_si256(last_, bytes, 0x21);
    const __m256i first = _mm256_alignr_epi8(bytes, across, 15);
    const __m256i second = _mm256_alignr_epi8(bytes, across, 14);
    const __m256i third = _mm256_alignr_epi8(bytes, across, 13);
    const __m256i low = _mm256_set1_epi8(0x0F);
    const auto upper = [&](__m256i some) { return _mm256_and_si256(_mm256_srli_epi16(some, 4), low); };
    const __m256i faults =
        _mm256_and_si256(_mm256_and_si256(_mm256_shuffle_epi8(of(kFirstUpper), upper(first)),
                                          _mm256_shuffle_epi8(of(kFirstLower), _mm256_and_si256(first, low))),
                         _mm256_shuffle_epi8(of(kSecondUpper), upper(bytes)));
    // Sets the first bit of each byte that must be a second continuation: three bytes from E0 on, four from F0 on.
    const __m256i asked = _mm256_or_si256(_mm256_subs_epu8(second, _mm256_set1_epi8(0xE0 - 0x80)),
                                          _mm256_subs_epu8(third, _mm256_set1_epi8(static_cast<char>(0xF0 - 0x80))));
    const __m256i continues = _mm256_and_si256(asked, _mm256_set1_epi8(static_cast<char>(0x80)));
    faults_ = _mm256_or_si256(faults_, _mm256_xor_si256(continues, faults));
    last_ = bytes;
  }

  // Whether the last vector is ASCII, so that ASCII can follow it.
  [[nodiscard]] bool follows_ascii() const { return _mm256_movemask_epi8(last_) == 0; }

  [[nodiscard]] bool is_valid() const { return _mm256_testz_si256(faults_, faults_) != 0; }

 private:
  __m256i last_ = _mm256_setzero_si256();
  __m256i faults_ = _mm256_setzero_si256();
};

__m256i load(const std::uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

bool is_utf8(const std::uint8_t* text, std::int64_t n) {
  Check check;
  std::int64_t i = 0;
  while (i + kVector <= n) {
    if (i + 4 * kVector <= n && check.follows_ascii()) {
      const __m256i all = _mm256_or_si256(_mm256_or_si256(load(text + i), load(text + i + kVector)),
                                          _mm256_or_si256(load(text + i + 2 * kVector), load(text + i + 3 * kVector)));
      if (_mm256_movemask_epi8(all) == 0) {
        i += 4 * kVector;
        continue;
      }
    }
    check.accept(load(text + i));
    i += kVector;
  }
  std::uint8_t rest[kVector] = {};  // zeros after the text make truncated characters visible
  __builtin_memcpy(rest, text + i, static_cast<std::size_t>(n - i));
  check.accept(load(rest));
  return check.is_valid();
}

constexpr Utf8Kernels kTable{.is_utf8 = is_utf8};

#else

constexpr std::uint32_t kLead[5] = {0, 0, 0x80, 0x800, 0x10000};

// Returns the number of bytes of the code point that begins here; 0 if it is incomplete or invalid.
std::int64_t code_point(const std::uint8_t* at, std::int64_t left) {
  const std::int64_t bytes = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
  if (at[0] < 0xC2 || at[0] > 0xF4 || bytes > left) return 0;
  std::uint32_t value = at[0] & (0x7FU >> bytes);
  for (std::int64_t i = 1; i < bytes; ++i) {
    if ((at[i] & 0xC0) != 0x80) return 0;
    value = value << 6 | (at[i] & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return value < kLead[bytes] || value > 0x10FFFF || surrogate ? 0 : bytes;
}

bool is_utf8(const std::uint8_t* text, std::int64_t n) {
  for (std::int64_t i = 0; i < n;) {
    std::uint64_t word = 0;
    if (i + 8 <= n) __builtin_memcpy(&word, text + i, sizeof word);
    if (i + 8 <= n && (word & 0x8080808080808080) == 0) {
      i += 8;
      continue;
    }
    const std::int64_t bytes = text[i] < 0x80 ? 1 : code_point(text + i, n - i);
    if (bytes == 0) return false;
    i += bytes;
  }
  return true;
}

constexpr Utf8Kernels kTable{.is_utf8 = is_utf8};

#endif

}  // namespace

const Utf8Kernels& UPSWEEP_KERNELS_NAME(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::io
