// SPDX-License-Identifier: Apache-2.0
// io/decoded_text.cpp: a file of UTF-16 or Windows-1252 text, read as the same text in UTF-8.
//
// A first pass stores the UTF-8 offset of every 64 KiB of the file, so that threads can read any place. Reading decodes
// again, which is short compared with parsing.
#include "io/decoded_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/utf8.hpp"
#include "io/tuning.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr bool is_high_surrogate(std::uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
constexpr bool is_low_surrogate(std::uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

char* append(std::uint32_t value, char* to) {
  const auto put = [&](std::uint32_t byte) { *to++ = static_cast<char>(byte); };
  if (value < 0x80) {
    put(value);
    return to;
  }
  if (value < 0x800) {
    put(0xC0 | value >> 6);
  } else {
    if (value < 0x10000) {
      put(0xE0 | value >> 12);
    } else {
      put(0xF0 | value >> 18);
      put(0x80 | (value >> 12 & 0x3F));
    }
    put(0x80 | (value >> 6 & 0x3F));
  }
  put(0x80 | (value & 0x3F));
  return to;
}

constexpr std::uint32_t unit_at(const unsigned char* from, bool big) {
  const std::uint32_t first = from[0];
  const std::uint32_t second = from[1];
  return big ? first << 8U | second : second << 8U | first;
}

constexpr std::size_t kGroup = 16;  // units, which the compiler processes in two vectors

// Copies kGroup units if all are ASCII. Otherwise returns false, and `to` is undefined.
template <bool kBig>
bool copy_ascii(const unsigned char* from, char* to) {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const std::uint32_t unit = unit_at(from + 2 * i, kBig);
    all |= unit;
    to[i] = static_cast<char>(unit);
  }
  return all < 0x80;
}

// Decodes whole characters; a high surrogate at the end is left. Stops at a surrogate that is not part of a pair.
// Returns the number of bytes that were decoded, and moves `to` to the end of the output.
template <bool kBig>
std::size_t decode_units(const unsigned char* from, std::size_t bytes, char*& to) {
  const auto unit = [&](std::size_t at) { return unit_at(from + at, kBig); };
  std::size_t at = 0;
  while (at + 2 <= bytes) {
    const std::size_t group = std::min(at + 2 * kGroup, bytes);
    if (group - at == 2 * kGroup && copy_ascii<kBig>(from + at, to)) {
      at = group;
      to += kGroup;
      continue;
    }
    while (at + 2 <= group) {
      const std::uint32_t first = unit(at);
      const bool paired = is_high_surrogate(first) && at + 4 <= bytes && is_low_surrogate(unit(at + 2));
      if (!paired && (is_high_surrogate(first) || is_low_surrogate(first))) return at;
      to = append(paired ? 0x10000 + ((first - 0xD800) << 10 | (unit(at + 2) - 0xDC00)) : first, to);
      at += paired ? 4 : 2;
    }
  }
  return at;
}

// The characters of the bytes 0x80 to 0x9F. The five bytes that Windows-1252 does not define are control characters, as
// in ISO-8859-1.
constexpr std::array<std::uint16_t, 32> kWindows1252 = {0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                                        0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
                                                        0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                        0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

std::size_t decode_windows_1252(const unsigned char* from, std::size_t bytes, char*& to) {
  const std::string_view text(reinterpret_cast<const char*>(from), bytes);
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t plain = detail::ascii_run(text, at);
    std::memcpy(to, text.data() + at, plain);
    to += plain;
    at += plain;
    for (; at < bytes && from[at] >= 0x80; ++at)
      to = append(from[at] < 0xA0 ? kWindows1252[from[at] - 0x80U] : from[at], to);
  }
  return bytes;
}

constexpr std::int64_t kMostBytes = 3;  // in UTF-8: of a byte of Windows-1252, or of two bytes of UTF-16

}  // namespace

DecodedText::DecodedText(const Descriptor& file, const std::string& path, std::int64_t bytes, Encoding encoding)
    : path_(path), encoding_(encoding) {
  std::vector<unsigned char> units(tuning::kText.decoded);
  std::vector<char> buffer(static_cast<std::size_t>(tuning::kText.decoded * kMostBytes));
  const auto read_at = [&](std::int64_t place, std::int64_t count) {
    if (read_fully_at(file.get(), units.data(), count, place, path_) != count) throw_changed(path_);
  };
  const std::int64_t mark = std::min<std::int64_t>(bytes, 2);
  read_at(0, mark);
  const bool is_marked = encoding != Encoding::windows_1252 && mark == 2 &&
                         unit_at(units.data(), encoding == Encoding::utf16_big) == 0xFEFF;
  marks_.push_back({is_marked ? mark : 0, 0});
  while (marks_.back().encoded < bytes) {
    const auto [encoded, utf8] = marks_.back();
    const std::int64_t end = std::min(encoded + tuning::kText.decoded, bytes);
    read_at(encoded, end - encoded);
    char* to = buffer.data();
    const auto taken =
        static_cast<std::int64_t>(decode_bytes(units.data(), static_cast<std::size_t>(end - encoded), to));
    marks_.push_back({encoded + taken, utf8 + (to - buffer.data())});
    // Half of a pair may be left for the next step. At the end, or if more is left, the file is not UTF-16.
    if (end - encoded - taken > (end == bytes ? 0 : 2)) refuse_end(file);
  }
}

std::size_t DecodedText::decode_bytes(const unsigned char* from, std::size_t bytes, char*& to) const {
  if (encoding_ == Encoding::windows_1252) return decode_windows_1252(from, bytes, to);
  return encoding_ == Encoding::utf16_big ? decode_units<true>(from, bytes, to) : decode_units<false>(from, bytes, to);
}

// Throws: the bytes after the last mark are not UTF-16.
void DecodedText::refuse_end(const Descriptor& file) const {
  std::int64_t line = 1;
  char last = '\0';
  std::vector<char> buffer(tuning::kText.decoded);
  for (std::int64_t at = 0, got = 1; got > 0; at += got) {
    got = read(file, buffer.data(), tuning::kText.decoded, at);
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
      line += c == '\r' || (c == '\n' && last != '\r') ? 1 : 0;
      last = c;
    }
  }
  throw Error(Code::malformed,
              fmt::format("{}: line {}: is not {}, although its first bytes say so: no character begins at byte {}; "
                          "write the file as UTF-8",
                          path_, line, name_of(encoding_), marks_.back().encoded));
}

std::int64_t DecodedText::read(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t offset) const {
  const auto after = [](std::int64_t place, const Mark& mark) { return place < mark.utf8; };
  auto mark = std::upper_bound(marks_.begin(), marks_.end(), offset, after) - 1;
  std::vector<char> buffer;
  std::int64_t done = 0;
  for (; done < bytes && mark + 1 < marks_.end(); ++mark) {
    const std::string_view text = decode(file, mark->encoded, (mark + 1)->encoded, buffer);
    if (std::ssize(text) != (mark + 1)->utf8 - mark->utf8) return done;  // the file has changed
    const std::int64_t skipped = offset + done - mark->utf8;
    const std::int64_t copied = std::min(std::ssize(text) - skipped, bytes - done);
    std::memcpy(to + done, text.data() + skipped, static_cast<std::size_t>(copied));
    done += copied;
  }
  return done;
}

std::string_view DecodedText::decode(const Descriptor& file, std::int64_t begin, std::int64_t end,
                                     std::vector<char>& buffer) const {
  std::vector<unsigned char> units(static_cast<std::size_t>(end - begin));
  const std::int64_t got = read_fully_at(file.get(), units.data(), end - begin, begin, path_);
  buffer.resize(units.size() * static_cast<std::size_t>(kMostBytes));
  char* to = buffer.data();
  decode_bytes(units.data(), static_cast<std::size_t>(got), to);
  return {buffer.data(), static_cast<std::size_t>(to - buffer.data())};
}

}  // namespace upsweep::io
