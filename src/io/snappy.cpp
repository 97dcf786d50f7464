// SPDX-License-Identifier: Apache-2.0
// io/snappy.cpp: decompresses blocks of Snappy that contain numbers.
//
// A block is a length and then elements: bytes as they are (literals), or copies of earlier bytes. In numbers these are
// short and alternate: two low bytes of a number, and six high ones that are equal to those of another number. The
// limit is that a tag determines where the next one is, so a program that waits for it does nothing else. This decoder
// compares tags with the usual ones and advances by their known lengths. It waits only if the processor has predicted
// another tag.
#include "io/snappy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace upsweep::io {
namespace {

static_assert(std::endian::native == std::endian::little);

// Elements this far from the end, in the block and in the output, are processed by whole words; others byte by byte.
constexpr std::size_t kInputMargin = 80;    // a literal of 60 bytes, read by 16, and a copy's tag and offset
constexpr std::size_t kOutputMargin = 144;  // a literal and a copy of 64 bytes, written by 16
constexpr std::uint32_t kMostInTag = 60;    // maximum length of a literal in the tag itself

// The lowest two bits of a tag: bytes as they are, or a copy whose offset has 1, 2 or 4 more bytes.
enum Kind : std::uint8_t { literal, copy_1, copy_2, copy_4 };
constexpr std::size_t kOffsetBytes[] = {0, 1, 2, 4};

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Copies bytes that are at least 16 bytes apart, or in another array. Writes up to 15 bytes more, or 16 if there are
// none.
inline void copy_apart(const std::uint8_t* from, std::uint8_t* to, std::uint32_t length) {
  std::memcpy(to, from, 16);
  if (length <= 16) [[likely]]
    return;
  for (std::uint32_t i = 16; i < length; i += 16) std::memcpy(to + i, from + i, 16);
}

class Decoder {
 public:
  Decoder(std::span<const std::uint8_t> block, std::span<std::uint8_t> to)
      : in_(block.data()), in_end_(in_ + block.size()), begin_(to.data()), out_(begin_), out_end_(out_ + to.size()) {}

  bool run() {
    if (!skip_length()) return false;
    while (in_ != in_end_) {
      if (!take_words() || (in_ != in_end_ && !take_one())) return false;
    }
    return out_ == out_end_;
  }

 private:
  bool skip_length() {
    for (int i = 0; i < 5 && in_ != in_end_; ++i) {
      if ((*in_++ & 0x80) == 0) return true;
    }
    return false;
  }

  // Takes a number of 8 bytes: its kLow low ones are a literal, the others a copy from another number. Returns false
  // for any other element.
  template <int kLow>
  [[gnu::always_inline]] bool take_number(std::uint64_t next, const std::uint8_t*& in, std::uint8_t*& out) const {
    constexpr std::uint64_t kLowBits = (std::uint64_t{1} << 8 * kLow) - 1;
    const std::uint64_t copy = next >> 8 * (1 + kLow);
    std::uint64_t offset = 0;
    int offset_bytes = 0;
    if ((copy & 0x1F) == ((8 - kLow - 4) << 2 | copy_1)) {
      offset = (copy & 0xE0) << 3 | (copy >> 8 & 0xFF);
      offset_bytes = 1;
    } else if ((copy & 0xFF) == ((8 - kLow - 1) << 2 | copy_2)) {
      offset = copy >> 8 & 0xFFFF;
      offset_bytes = 2;
    } else {
      return false;
    }
    if (offset < 8 || offset > static_cast<std::size_t>(out - begin_)) return false;
    // Loads the whole number: for only the bytes that were written last, the processor would wait until they are in the
    // cache.
    const std::uint64_t number = (next >> 8 & kLowBits) | (load<std::uint64_t>(out - offset) & ~kLowBits);
    std::memcpy(out, &number, sizeof number);
    in += 2 + kLow + offset_bytes;
    out += sizeof number;
    return true;
  }

  static constexpr std::uint8_t literal_tag(int length) {
    return static_cast<std::uint8_t>((length - 1) << 2 | literal);
  }

  // Takes elements, up to a long literal or until too little is left. The kind of the next element and the length of an
  // offset are branches. In numbers they are mostly predicted, and the next tag is then loaded before this one is
  // processed.
  bool take_words() {
    if (left_in() < kInputMargin || left_out() < kOutputMargin) return true;
    // Local, because for the compiler, bytes that are written might be those of a member.
    const std::uint8_t* in = in_;
    std::uint8_t* out = out_;
    const std::uint8_t* const in_last = in_end_ - kInputMargin;
    const std::uint8_t* const out_last = out_end_ - kOutputMargin;
    while (in <= in_last && out <= out_last) {
      const auto next = load<std::uint64_t>(in);
      std::uint32_t tag = next & 0xFF;
      if (tag == literal_tag(1) && take_number<1>(next, in, out)) continue;
      if (tag == literal_tag(2) && take_number<2>(next, in, out)) continue;
      if (tag == literal_tag(3) && take_number<3>(next, in, out)) continue;
      if ((tag & 3) == literal) {
        const std::uint32_t length = (tag >> 2) + 1;
        if (length > kMostInTag) break;
        copy_apart(in + 1, out, length);
        in += length + 1;
        out += length;
        tag = *in;
        if ((tag & 3) == literal) continue;  // mostly a copy follows
      }
      std::uint32_t length = (tag >> 2) + 1;
      std::uint32_t offset = 0;
      if ((tag & 3) == copy_1) {
        length = ((tag >> 2) & 7) + 4;
        offset = ((tag >> 5) << 8) | in[1];
        in += 2;
      } else if ((tag & 3) == copy_2) {
        offset = load<std::uint16_t>(in + 1);
        in += 3;
      } else {
        offset = load<std::uint32_t>(in + 1);
        in += 5;
      }
      if (offset == 0 || offset > static_cast<std::size_t>(out - begin_)) return false;
      const std::uint8_t* const from = out - offset;
      if (offset >= 16) {
        copy_apart(from, out, length);
      } else {
        for (std::uint32_t i = 0; i < length; ++i) out[i] = from[i];
      }
      out += length;
    }
    in_ = in;
    out_ = out;
    return true;
  }

  // Takes one element, for any number of remaining bytes.
  bool take_one() {
    const std::uint32_t tag = *in_++;
    const std::size_t more = (tag & 3) != literal          ? kOffsetBytes[tag & 3]
                             : (tag >> 2) + 1 > kMostInTag ? (tag >> 2) + 1 - kMostInTag
                                                           : 0;
    if (left_in() < more) return false;
    std::uint32_t number = 0;  // after the tag
    std::memcpy(&number, in_, more);
    in_ += more;
    if ((tag & 3) == literal) return take_literal(more > 0 ? std::size_t{number} + 1 : (tag >> 2) + 1);
    const bool is_near = (tag & 3) == copy_1;
    const std::uint32_t length = is_near ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const std::uint32_t offset = is_near ? ((tag >> 5) << 8) | number : number;
    const bool is_there = offset != 0 && offset <= static_cast<std::size_t>(out_ - begin_);
    if (!is_there || left_out() < length) return false;
    for (std::uint32_t i = 0; i < length; ++i, ++out_) *out_ = *(out_ - offset);
    return true;
  }

  bool take_literal(std::size_t length) {
    if (left_in() < length || left_out() < length) return false;
    std::memcpy(out_, in_, length);
    in_ += length;
    out_ += length;
    return true;
  }

  [[nodiscard]] std::size_t left_in() const { return static_cast<std::size_t>(in_end_ - in_); }
  [[nodiscard]] std::size_t left_out() const { return static_cast<std::size_t>(out_end_ - out_); }

  const std::uint8_t* in_;
  const std::uint8_t* in_end_;
  std::uint8_t* begin_;
  std::uint8_t* out_;
  std::uint8_t* out_end_;
};

}  // namespace

bool is_literal(std::span<const std::uint8_t> block, std::size_t size) {
  // The header is the length, a tag, and the length of a literal if it is not in the tag.
  std::size_t head = 0;
  while (head < block.size() && (block[head] & 0x80) != 0) ++head;
  ++head;
  if (head >= block.size() || (block[head] & 3) != literal) return false;
  const std::uint32_t in_tag = (block[head] >> 2) + 1U;
  const std::size_t more = in_tag > kMostInTag ? in_tag - kMostInTag : 0;
  ++head;
  if (head + more > block.size()) return false;
  std::uint32_t before_last = more > 0 ? 0 : in_tag - 1;
  std::memcpy(&before_last, block.data() + head, more);
  return head + more + size == block.size() && std::size_t{before_last} + 1 == size;
}

bool decompress_numbers(std::span<const std::uint8_t> block, std::span<std::uint8_t> to) {
  return Decoder(block, to).run();
}

}  // namespace upsweep::io
