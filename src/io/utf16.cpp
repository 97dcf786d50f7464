// SPDX-License-Identifier: Apache-2.0
// io/utf16.cpp: a file of UTF-16 text, read as the same text in UTF-8.
//
// A first pass notes which place of the UTF-8 every 64 KiB of the file become, so that threads can read any place. Reading decodes
// again, which takes a tenth of the time that parsing takes.
#include "io/utf16.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kMarkBytes = 2;  // the byte order mark
constexpr std::int64_t kStep = std::int64_t{1} << 16;

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

// Decodes whole characters; a high surrogate at the end is left. Returns the bytes that were taken, and puts `to` at the end of
// what was written; stops at a surrogate that is not part of a pair.
std::size_t decode_units(const unsigned char* from, std::size_t bytes, bool big, char*& to) {
  const auto unit = [&](std::size_t at) -> std::uint32_t {
    return big ? from[at] << 8U | from[at + 1] : from[at + 1] << 8U | from[at];
  };
  std::size_t at = 0;
  while (at + 2 <= bytes) {
    const std::uint32_t first = unit(at);
    if (!is_high_surrogate(first)) {
      if (is_low_surrogate(first)) break;
      to = append(first, to);
      at += 2;
      continue;
    }
    if (at + 4 > bytes || !is_low_surrogate(unit(at + 2))) break;
    to = append(0x10000 + ((first - 0xD800) << 10 | (unit(at + 2) - 0xDC00)), to);
    at += 4;
  }
  return at;
}

}  // namespace

Utf16Text::Utf16Text(const Descriptor& file, const std::string& path, std::int64_t bytes, Encoding encoding)
    : path_(path), big_(encoding == Encoding::utf16_big), marks_{{kMarkBytes, 0}} {
  std::vector<char> buffer;
  std::int64_t line = 1;
  char last = '\0';
  while (marks_.back().utf16 < bytes) {
    const auto [utf16, utf8] = marks_.back();
    const std::int64_t end = std::min(utf16 + kStep, bytes);
    std::vector<unsigned char> units(static_cast<std::size_t>(end - utf16));
    if (read_fully_at(file.get(), units.data(), end - utf16, utf16, path_) != end - utf16) throw_changed(path_);
    buffer.resize(units.size() / 2 * 3);
    char* to = buffer.data();
    const auto taken = static_cast<std::int64_t>(decode_units(units.data(), units.size(), big_, to));
    for (const char* at = buffer.data(); at < to; last = *at++)
      line += *at == '\r' || (*at == '\n' && last != '\r') ? 1 : 0;
    // Half of a pair may be left, which the next step has; at the end, and where more is left, it is not UTF-16.
    if (end - utf16 - taken > (end == bytes ? 0 : 2)) {
      throw Error(
          Code::malformed,
          fmt::format("{}: line {}: is not UTF-16, which its first bytes say it is: byte {} begins no character; write "
                      "the file as UTF-8",
                      path_, line, utf16 + taken));
    }
    marks_.push_back({utf16 + taken, utf8 + (to - buffer.data())});
  }
}

std::int64_t Utf16Text::read(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t offset) const {
  const auto after = [](std::int64_t place, const Mark& mark) { return place < mark.utf8; };
  auto mark = std::upper_bound(marks_.begin(), marks_.end(), offset, after) - 1;
  std::vector<char> buffer;
  std::int64_t done = 0;
  for (; done < bytes && mark + 1 < marks_.end(); ++mark) {
    const std::string_view text = decode(file, mark->utf16, (mark + 1)->utf16, buffer);
    if (std::ssize(text) != (mark + 1)->utf8 - mark->utf8) return done;  // the file has changed
    const std::int64_t skipped = offset + done - mark->utf8;
    const std::int64_t copied = std::min(std::ssize(text) - skipped, bytes - done);
    std::memcpy(to + done, text.data() + skipped, static_cast<std::size_t>(copied));
    done += copied;
  }
  return done;
}

std::string_view Utf16Text::decode(const Descriptor& file, std::int64_t begin, std::int64_t end,
                                   std::vector<char>& buffer) const {
  std::vector<unsigned char> units(static_cast<std::size_t>(end - begin));
  const std::int64_t got = read_fully_at(file.get(), units.data(), end - begin, begin, path_);
  buffer.resize(units.size() / 2 * 3);
  char* to = buffer.data();
  decode_units(units.data(), static_cast<std::size_t>(got), big_, to);
  return {buffer.data(), static_cast<std::size_t>(to - buffer.data())};
}

}  // namespace upsweep::io
