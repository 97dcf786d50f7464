// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.cpp: follows the quotes of CSV through text that comes in pieces.
#include "io/csv_quotes.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <utility>

namespace upsweep::io {
namespace {

constexpr std::size_t kGroup = 64;  // bytes, for each of which an integer has a bit

#if defined(__SSE2__)
constexpr bool kHasGroups = true;

// Which of the bytes are `c`.
std::uint64_t places_of(char c, const char* bytes) {
  const __m128i wanted = _mm_set1_epi8(c);
  std::uint64_t places = 0;
  for (unsigned i = 0; i < kGroup; i += 16) {
    const __m128i found = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i)), wanted);
    places |= static_cast<std::uint64_t>(_mm_movemask_epi8(found)) << i;
  }
  return places;
}
#else
constexpr bool kHasGroups = false;
std::uint64_t places_of(char /*c*/, const char* /*bytes*/) { return 0; }
#endif

// Bit i is the exclusive or of bits 0 to i.
std::uint64_t parities(std::uint64_t bits) {
  for (unsigned shift = 1; shift < kGroup; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

bool CsvQuotes::accept(std::string_view piece) {
  const std::size_t begin = bytes_ == 0 ? size_of_mark(piece) : 0;
  std::size_t at = begin;
  while (at < piece.size()) {
    if (state_ == QuoteState::plain) {
      const std::size_t quote = piece.find('"', at);
      if (quote == std::string_view::npos) break;
      if (quote > at) last_ = piece[quote - 1];
      at = quote;
    }
    const std::string_view group = piece.substr(at, kGroup);
    const std::int64_t place = bytes_ + static_cast<std::int64_t>(at);
    const bool known = kHasGroups && group.size() == kGroup && accept_group(&group.front(), place);
    if (!known && !accept_each(group, place)) return false;
    at += group.size();
    last_ = group.back();
  }
  bytes_ += std::ssize(piece);
  if (piece.size() > begin) last_ = piece.back();
  return true;
}

// All 64 bytes at once, as if every quote began or ended what is in quotes: of two in a row, the first ends it and the
// second begins it again. False, and nothing done, where one is at no place for that: it is a letter, or a fault.
bool CsvQuotes::accept_group(const char* bytes, std::int64_t place) {
  const std::uint64_t quotes = places_of('"', bytes);
  const std::uint64_t around = quotes | places_of(',', bytes) | places_of('\n', bytes) | places_of('\r', bytes);
  const std::uint64_t inside = parities(quotes) ^ (open() ? ~std::uint64_t{0} : 0);
  const bool closed = state_ == QuoteState::closed;
  const std::uint64_t may_begin = around << 1 | (closed || ends_field(last_) ? 1 : 0);
  const std::uint64_t may_end = around >> 1 | std::uint64_t{1} << (kGroup - 1);
  const std::uint64_t begins = quotes & inside;
  const std::uint64_t ends = quotes & ~inside;
  if ((begins & ~may_begin) != 0 || (ends & ~may_end) != 0 || (closed && (around & 1) == 0)) return false;
  const std::uint64_t opening = begins & ~(quotes << 1 | (closed ? 1 : 0));
  if (opening != 0) opened_ = place + static_cast<std::int64_t>(kGroup) - 1 - std::countl_zero(opening);
  const std::uint64_t last = std::uint64_t{1} << (kGroup - 1);
  state_ = (inside & last) != 0 ? QuoteState::quoted : (ends & last) != 0 ? QuoteState::closed : QuoteState::plain;
  return true;
}

bool CsvQuotes::accept_each(std::string_view bytes, std::int64_t place) {
  for (const char c : bytes) {
    const QuoteState before = std::exchange(state_, after(state_, last_, c));
    if (state_ == QuoteState::fault) return false;
    if (before == QuoteState::plain && open()) opened_ = place;
    last_ = c;
    ++place;
  }
  return true;
}

}  // namespace upsweep::io
