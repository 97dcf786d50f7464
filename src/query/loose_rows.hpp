// SPDX-License-Identifier: Apache-2.0
// query/loose_rows.hpp: rows that are not in groups yet, part after part by their hashes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/hash.hpp"
#include "upsweep/detail/unwritten_memory.hpp"

namespace upsweep::query {

/// Into so many parts groups are divided by their hashes, and each of these by the next bits.
inline constexpr int kPartBits = 6;
inline constexpr int kParts = 1 << kPartBits;
constexpr int part_of(std::uint64_t hash, int depth = 0) {
  return static_cast<int>((hash << (kPartBits * depth)) >> (64 - kPartBits));
}

/// Where nearly each row is a group by itself what has not been met before is not looked for. Of each row the hash, the keys, none
/// of which is NULL, what the sums get, of floats the bits, and its place among all. Of text a key is where its letters are.
class LooseRows {
 public:
  LooseRows(std::size_t keys, std::size_t sums) : keys_(keys), width_(keys + sums + 2) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t count(int part) const {
    return static_cast<std::int64_t>(parts_[static_cast<std::size_t>(part)].words.size() / width_);
  }
  [[nodiscard]] std::int64_t bytes() const {
    std::size_t all = 0;
    for (const Part& part : parts_) all += part.words.capacity() * sizeof(std::uint64_t) + part.letters.capacity();
    return static_cast<std::int64_t>(all);
  }
  /// The memory is kept.
  void clear() {
    for (Part& part : parts_) {
      part.words.clear();
      part.used = 0;
    }
    count_ = 0;
    letters_ = 0;
  }

  /// Adds rows of these hashes; what else they have is to be written where `rows` then says, before further ones are added.
  void add(std::span<const std::uint64_t> hashes, std::uint64_t** rows) {
    std::array<std::size_t, kParts> more = {};
    std::array<std::uint64_t*, kParts> next;
    for (const std::uint64_t hash : hashes) ++more[static_cast<std::size_t>(part_of(hash))];
    for (std::size_t p = 0; p < kParts; ++p) {
      auto& words = parts_[p].words;
      const std::size_t before = words.size();
      words.resize(before + more[p] * width_);
      next[p] = words.data() + before;
    }
    for (const std::uint64_t hash : hashes) {
      std::uint64_t*& row = next[static_cast<std::size_t>(part_of(hash))];
      row[0] = hash;
      row[width_ - 1] = static_cast<std::uint64_t>(count_++);
      *rows++ = row;
      row += width_;
    }
  }
  [[nodiscard]] const std::uint64_t* row(int part, std::int64_t i) const {
    return parts_[static_cast<std::size_t>(part)].words.data() + static_cast<std::size_t>(i) * width_;
  }
  /// All of them by their places.
  [[nodiscard]] std::vector<const std::uint64_t*> in_order() const {
    std::vector<const std::uint64_t*> rows(static_cast<std::size_t>(count_));
    for (int part = 0; part < kParts; ++part) {
      for (std::int64_t i = 0; i < count(part); ++i) rows[place(row(part, i))] = row(part, i);
    }
    return rows;
  }

  static std::uint64_t hash(const std::uint64_t* row) { return row[0]; }
  template <class Word>
  static Word* keys(Word* row) {
    return row + 1;
  }
  template <class Word>
  [[nodiscard]] Word* values(Word* row) const {
    return row + 1 + keys_;
  }
  [[nodiscard]] std::uint64_t place(const std::uint64_t* row) const { return row[width_ - 1]; }

  /// Whether there is room for so many letters more.
  [[nodiscard]] bool has_room_for(std::size_t letters) const {
    return letters <= std::numeric_limits<std::uint32_t>::max() - letters_;
  }
  /// The key that a row's text becomes.
  std::uint64_t keep(const std::uint64_t* row, std::string_view text) {
    auto& [words, letters, used] = parts_[static_cast<std::size_t>(part_of(hash(row)))];
    const std::size_t at = used;
    used += text.size();
    if (used > letters.size()) letters.resize(2 * used);
    copy_text(letters.data() + at, text);
    letters_ += text.size();
    return (std::uint64_t{at} << 32) | text.size();
  }
  /// A row's key number k.
  [[nodiscard]] std::string_view text(const std::uint64_t* row, std::size_t k) const {
    const std::uint64_t key = keys(row)[k];
    const auto& letters = parts_[static_cast<std::size_t>(part_of(hash(row)))].letters;
    return {letters.data() + (key >> 32), static_cast<std::uint32_t>(key)};
  }

 private:
  struct Part {
    detail::Unwritten<std::uint64_t> words;
    detail::Unwritten<char> letters;
    std::size_t used = 0;  ///< of these
  };

  std::size_t keys_;
  std::size_t width_;  ///< words of a row
  std::int64_t count_ = 0;
  std::size_t letters_ = 0;  ///< of all parts
  std::array<Part, kParts> parts_;
};

}  // namespace upsweep::query
