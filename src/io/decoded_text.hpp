// SPDX-License-Identifier: Apache-2.0
// io/decoded_text.hpp: a file of UTF-16 or Windows-1252 text, read as the same text in UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/posix.hpp"
#include "io/text_view.hpp"

namespace upsweep::io {

enum class Encoding : std::uint8_t {
  utf8,
  utf16_little,
  utf16_big,
  utf32,         ///< is not read
  windows_1252,  ///< contains the characters of ISO-8859-1
};

/// Returns what messages call an encoding: "UTF-16LE".
constexpr std::string_view name_of(Encoding encoding) {
  constexpr std::string_view kNames[] = {"UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32", "Windows-1252"};
  return kNames[static_cast<int>(encoding)];
}

/// The number of bytes of a file that encoding_of() needs.
inline constexpr std::size_t kEncodingBytes = 4;

/// Returns the encoding of a file from its first bytes, which are a byte order mark, or contain the zeros of UTF-16. It
/// returns utf8 for an encoding that the first bytes do not show.
constexpr Encoding encoding_of(std::string_view head) {
  if (head.starts_with(std::string_view("\xff\xfe\0\0", 4)) || head.starts_with(std::string_view("\0\0\xfe\xff", 4))) {
    return Encoding::utf32;
  }
  if (head.starts_with("\xff\xfe")) return Encoding::utf16_little;
  if (head.starts_with("\xfe\xff")) return Encoding::utf16_big;
  if (head.size() < kEncodingBytes) return Encoding::utf8;
  const bool first = head[0] == '\0';  // one zero byte in each pair: ASCII characters in UTF-16
  const bool pairs = (head[1] == '\0') != first && (head[2] == '\0') == first && (head[3] == '\0') != first;
  if (!pairs) return Encoding::utf8;
  return first ? Encoding::utf16_big : Encoding::utf16_little;
}

/// Any number of threads may read it. Memory: 16 bytes for each 64 KiB of the file, and 160 KiB while it is read.
class DecodedText final : public TextView {
 public:
  /// Scans the file, which may begin with a byte order mark of that encoding. Throws upsweep::Error: unreadable;
  /// malformed, with the line, if it is not text of that encoding.
  DecodedText(const Descriptor& file, const std::string& path, std::int64_t bytes, Encoding encoding);

  [[nodiscard]] std::int64_t size() const override { return marks_.back().utf8; }
  std::int64_t read(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t offset) const override;

 private:
  // A place between two characters, in bytes from the start.
  struct Mark {
    std::int64_t encoded;
    std::int64_t utf8;
  };

  [[noreturn]] void refuse_end(const Descriptor& file) const;

  // Decodes whole characters. Returns the number of bytes that were decoded, and moves `to` to the end of the output.
  std::size_t decode_bytes(const unsigned char* from, std::size_t bytes, char*& to) const;

  // Decodes the text between two marks.
  std::string_view decode(const Descriptor& file, std::int64_t begin, std::int64_t end,
                          std::vector<char>& buffer) const;

  std::string path_;
  Encoding encoding_;
  std::vector<Mark> marks_;  // the last one is the end
};

}  // namespace upsweep::io
