// SPDX-License-Identifier: Apache-2.0
// io/utf16.hpp: a file of UTF-16 text, read as the same text in UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/posix.hpp"

namespace upsweep::io {

/// The encoding of a text file, from its first bytes.
enum class Encoding : std::uint8_t {
  utf8,  ///< or another encoding that the first bytes do not show
  utf16_little,
  utf16_big,
  utf16_unmarked,  ///< without a byte order mark
  utf32,
};

/// The number of bytes of a file that encoding_of() needs.
inline constexpr std::size_t kEncodingBytes = 4;

constexpr Encoding encoding_of(std::string_view head) {
  if (head.starts_with(std::string_view("\xff\xfe\0\0", 4)) || head.starts_with(std::string_view("\0\0\xfe\xff", 4))) {
    return Encoding::utf32;
  }
  if (head.starts_with("\xff\xfe")) return Encoding::utf16_little;
  if (head.starts_with("\xfe\xff")) return Encoding::utf16_big;
  if (head.size() < kEncodingBytes) return Encoding::utf8;
  const bool first = head[0] == '\0';  // one zero byte in each pair: ASCII characters in UTF-16
  const bool pairs = (head[1] == '\0') != first && (head[2] == '\0') == first && (head[3] == '\0') != first;
  return pairs ? Encoding::utf16_unmarked : Encoding::utf8;
}

/// Any number of threads may read it. Memory: 16 bytes for each 64 KiB of the file, and 160 KiB while it is read.
class Utf16Text {
 public:
  /// Scans the file, which begins with a byte order mark of that encoding. Throws upsweep::Error: unreadable;
  /// malformed, with the line, if it is not UTF-16.
  Utf16Text(const Descriptor& file, const std::string& path, std::int64_t bytes, Encoding encoding);

  /// Returns the size of the text in UTF-8, in bytes.
  [[nodiscard]] std::int64_t size() const { return marks_.back().utf8; }

  /// Copies `bytes` bytes of UTF-8 from `offset` on to `to`, or fewer at the end, and returns how many. Throws
  /// unreadable.
  std::int64_t read(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t offset) const;

 private:
  // A place between two characters, in bytes from the start.
  struct Mark {
    std::int64_t utf16;
    std::int64_t utf8;
  };

  [[noreturn]] void refuse_end(const Descriptor& file) const;

  // Decodes the text between two marks.
  std::string_view decode(const Descriptor& file, std::int64_t begin, std::int64_t end,
                          std::vector<char>& buffer) const;

  std::string path_;
  bool big_ = false;
  std::vector<Mark> marks_;  // the last one is the end
};

}  // namespace upsweep::io
