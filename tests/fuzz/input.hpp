// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/input.hpp: code of all fuzz targets: the bytes of an input as choices, and the report of a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace upsweep::fuzz {

/// Reports a finding: libFuzzer saves the input and ends.
[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "fuzz: %s\n", why.c_str());
  std::abort();
}
inline void require(bool holds, const std::string& why) {
  if (!holds) fail(why);
}

/// The bytes of an input, returned from the front; zeros after its end, so that every input is valid.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  [[nodiscard]] bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : data_[at_++]; }
  /// Returns a number in 0 … count - 1.
  int below(int count) { return byte() % count; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// Whether all of the text is UTF-8.
inline bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) {
      return static_cast<unsigned char>(at + i < text.size() ? text[at + i] : 0);
    };
    const unsigned lead = byte(0);
    const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const bool lead_is_right = lead < 0x80 || (lead >= 0xC2 && lead <= 0xF4);
    for (std::size_t i = 1; i < bytes; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return false;
    }
    if (!lead_is_right) return false;
    at += bytes;
  }
  return true;
}

}  // namespace upsweep::fuzz
