// SPDX-License-Identifier: Apache-2.0
// io/csv_quotes.cpp: follows the quotes of CSV, and finds the ends of its cells and rows, in text passed in chunks.
#include "io/csv_quotes.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace upsweep::io {
namespace {

// Masks of the quotes, delimiters and ends of lines in a group, also within quotes.
struct Places {
  std::uint64_t quotes = 0;
  std::uint64_t delimiters = 0;
  std::uint64_t feeds = 0;
  std::uint64_t returns = 0;
};

Places places_in(const char* bytes, char delimiter) {
  return {places_of(bytes, '"'), places_of(bytes, delimiter), places_of(bytes, '\n'), places_of(bytes, '\r')};
}

// Returns bits of which bit i is the exclusive or of the bits 0 to i.
std::uint64_t parities(std::uint64_t bits) {
  for (unsigned shift = 1; shift < kCsvGroup; shift *= 2) bits ^= bits << shift;
  return bits;
}

// A loop, because few lines end within a group. Without the processor's instruction, std::popcount would be a call.
std::int64_t count(std::uint64_t bits) {
  std::int64_t n = 0;
  for (; bits != 0; bits &= bits - 1) ++n;
  return n;
}

}  // namespace

#if defined(__SSE2__)
std::uint64_t places_of(const char* group, char c) {
  std::uint64_t places = 0;
  for (unsigned i = 0; i < kCsvGroup; i += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(group + i));
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(some, _mm_set1_epi8(c)));
    places |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(found)) << i;
  }
  return places;
}
#else
std::uint64_t places_of(const char* group, char c) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kEach = 0x0101010101010101;
  std::uint64_t places = 0;
  for (unsigned i = 0; i < kCsvGroup; i += 8) {
    std::uint64_t some = 0;
    std::memcpy(&some, group + i, sizeof some);
    const std::uint64_t others = some ^ (kEach * static_cast<unsigned char>(c));  // zero where it is `c`
    const std::uint64_t found = ~(((others & kEach * 0x7F) + kEach * 0x7F) | others) >> 7 & kEach;
    places |= found * 0x0102040810204080 >> 56 << i;  // gathers the bits of 8 bytes
  }
  return places;
}
#endif

std::string content_of(const CsvCell& cell) {
  if (!cell.quoted) return std::string(cell.text);
  std::string text;
  for (std::size_t i = 0; i < cell.text.size(); ++i) {
    text += cell.text[i];
    if (cell.text[i] == '"') ++i;
  }
  return text;
}

bool CsvGroups::accept(std::string_view group, CsvEnds& ends) {
  const bool known = group.size() == kCsvGroup && accept_whole(&group.front(), ends);
  if (!known && !accept_each(group, ends)) return false;
  bytes_ += std::ssize(group);
  last_ = group.back();
  return true;
}

// Processes all 64 bytes at once, as if every quote began or ended quoted text. If two quotes follow each other, the
// first ends it and the second begins it again. Returns false and does nothing if a quote is at a place where it can do
// neither: it is an ordinary character, or a fault.
bool CsvGroups::accept_whole(const char* bytes, CsvEnds& ends) {
  const Places places = places_in(bytes, delimiter_);
  const std::uint64_t around = places.delimiters | places.feeds | places.returns;
  std::uint64_t inside = 0;
  if (places.quotes != 0 || !is_plain()) {
    const std::uint64_t quotes = places.quotes;
    inside = parities(quotes) ^ (open() ? ~std::uint64_t{0} : 0);
    const bool closed = state_ == QuoteState::closed;
    const std::uint64_t beside = quotes | around;
    const std::uint64_t may_begin = beside << 1 | (closed || ends_field(last_) ? 1 : 0);
    constexpr std::uint64_t kLast = std::uint64_t{1} << (kCsvGroup - 1);
    const std::uint64_t may_end = beside >> 1 | kLast;
    const std::uint64_t begins = quotes & inside;
    const std::uint64_t ended = quotes & ~inside;
    if ((begins & ~may_begin) != 0 || (ended & ~may_end) != 0 || (closed && (beside & 1) == 0)) return false;
    const std::uint64_t opening = begins & ~(quotes << 1 | (closed ? 1 : 0));
    if (opening != 0) opened_ = bytes_ + static_cast<std::int64_t>(kCsvGroup) - 1 - std::countl_zero(opening);
    state_ = (inside & kLast) != 0 ? QuoteState::quoted : (ended & kLast) != 0 ? QuoteState::closed : QuoteState::plain;
  }
  ends = {around & ~inside, places.feeds & ~inside, places.returns & ~inside};
  return true;
}

bool CsvGroups::accept_each(std::string_view bytes, CsvEnds& ends) {
  ends = {};
  std::int64_t place = bytes_;
  char last = last_;
  std::uint64_t bit = 1;
  for (const char c : bytes) {
    const QuoteState before = std::exchange(state_, after(state_, delimiter_, last, c));
    if (state_ == QuoteState::fault) return false;
    if (before == QuoteState::plain && open()) opened_ = place;
    if (is_plain() && ends_field(c)) ends.cells |= bit;
    if (is_plain() && c == '\n') ends.feeds |= bit;
    if (is_plain() && c == '\r') ends.returns |= bit;
    last = c;
    bit <<= 1;
    ++place;
  }
  return true;
}

bool CsvQuotes::accept(std::string_view chunk) {
  for (; !chunk.empty(); chunk.remove_prefix(std::min(kCsvGroup, chunk.size()))) {
    CsvEnds ends;
    const char last = groups_.last();
    if (!groups_.accept(chunk.substr(0, kCsvGroup), ends)) return false;
    const std::uint64_t lines = ends.feeds | ends.returns;
    const std::uint64_t after_line = lines << 1 | (ends_line(last) ? 1 : 0);
    const std::uint64_t after_return = ends.returns << 1 | (last == '\r' ? 1 : 0);
    rows_ += count(lines & ~after_line);
    empty_lines_ += count(lines & after_line & ~(ends.feeds & after_return));
  }
  return true;
}

std::size_t CsvQuotes::accept_row(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool within_end = last() == '\r' && text[i] == '\n';
    if (groups_.is_plain() && ends_line(last()) && !within_end) return i;
    if (!accept(text.substr(i, 1))) return std::string_view::npos;
  }
  return text.size();
}

}  // namespace upsweep::io
