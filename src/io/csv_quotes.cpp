// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.cpp: follows the quotes of CSV, and counts its rows, through text that comes in pieces.
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
  for (; !piece.empty(); piece.remove_prefix(std::min(kGroup, piece.size()))) {
    const std::string_view group = piece.substr(0, kGroup);
    const bool known = kHasGroups && group.size() == kGroup && accept_group(&group.front());
    if (!known && !accept_each(group)) return false;
    bytes_ += std::ssize(group);
  }
  return true;
}

std::size_t CsvQuotes::accept_row(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool within_end = last_ == '\r' && text[i] == '\n';
    if (state_ == QuoteState::plain && ends_line(last_) && !within_end) return i;
    if (!accept(text.substr(i, 1))) return std::string_view::npos;
  }
  return text.size();
}

// All 64 bytes at once, as if every quote began or ended what is in quotes: of two in a row, the first ends it and the
// second begins it again. False, and nothing done, where one is at no place for that: it is a letter, or a fault.
bool CsvQuotes::accept_group(const char* bytes) {
  const std::uint64_t quotes = places_of('"', bytes);
  const std::uint64_t feeds = places_of('\n', bytes);
  const std::uint64_t returns = places_of('\r', bytes);
  const std::uint64_t lines = feeds | returns;
  std::uint64_t inside = 0;
  if (quotes != 0 || state_ != QuoteState::plain) {
    const std::uint64_t around = quotes | places_of(',', bytes) | lines;
    inside = parities(quotes) ^ (open() ? ~std::uint64_t{0} : 0);
    const bool closed = state_ == QuoteState::closed;
    const std::uint64_t may_begin = around << 1 | (closed || ends_field(last_) ? 1 : 0);
    const std::uint64_t may_end = around >> 1 | std::uint64_t{1} << (kGroup - 1);
    const std::uint64_t begins = quotes & inside;
    const std::uint64_t ends = quotes & ~inside;
    if ((begins & ~may_begin) != 0 || (ends & ~may_end) != 0 || (closed && (around & 1) == 0)) return false;
    const std::uint64_t opening = begins & ~(quotes << 1 | (closed ? 1 : 0));
    if (opening != 0) opened_ = bytes_ + static_cast<std::int64_t>(kGroup) - 1 - std::countl_zero(opening);
    const std::uint64_t last = std::uint64_t{1} << (kGroup - 1);
    state_ = (inside & last) != 0 ? QuoteState::quoted : (ends & last) != 0 ? QuoteState::closed : QuoteState::plain;
  }
  const std::uint64_t after_line = lines << 1 | (ends_line(last_) ? 1 : 0);
  const std::uint64_t after_return = returns << 1 | (last_ == '\r' ? 1 : 0);
  rows_ += std::popcount(lines & ~inside & ~after_line);
  empty_lines_ += std::popcount(lines & ~inside & after_line & ~(feeds & after_return));
  last_ = bytes[kGroup - 1];
  return true;
}

bool CsvQuotes::accept_each(std::string_view bytes) {
  std::int64_t place = bytes_;
  for (const char c : bytes) {
    const QuoteState before = std::exchange(state_, after(state_, last_, c));
    if (state_ == QuoteState::fault) return false;
    if (before == QuoteState::plain && open()) opened_ = place;
    if (state_ == QuoteState::plain && ends_line(c)) end_line(c);
    last_ = c;
    ++place;
  }
  return true;
}

void CsvQuotes::end_line(char c) {
  if (!ends_line(last_)) {
    ++rows_;
  } else if (c != '\n' || last_ != '\r') {
    ++empty_lines_;
  }
}

}  // namespace upsweep::io
