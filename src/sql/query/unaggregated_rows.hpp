// SPDX-License-Identifier: Apache-2.0
// sql/query/unaggregated_rows.hpp: rows that are not in groups yet, partitioned by their hashes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "system/hash.hpp"
#include "upsweep/detail/unwritten_memory.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// Groups are divided into this many partitions by the first bits of their hashes. Each partition may be divided again
/// by the next bits.
inline constexpr int kPartitionBits = 6;
inline constexpr int kPartitions = 1 << kPartitionBits;
constexpr int partition_of(std::uint64_t hash, int depth = 0) {
  return static_cast<int>((hash << (kPartitionBits * depth)) >> (64 - kPartitionBits));
}

/// If nearly every row is a separate group, searching for groups does not pay off. A row contains its hash, its keys,
/// the values to be summed (for floats, their bits), and its place among the rows of a batch. No key is NULL.
class UnaggregatedRows {
 public:
  /// `are_text`: whether each key is text, which takes two words of a row.
  UnaggregatedRows(const std::vector<std::uint8_t>& are_text, std::size_t sums) {
    for (const std::uint8_t is_text : are_text) {
      key_at_.push_back(width_);
      width_ += is_text != 0 ? 2 : 1;
    }
    values_at_ = width_;
    width_ += sums;
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t count(int partition) const {
    return static_cast<std::int64_t>(partitions_[static_cast<std::size_t>(partition)].words.size() / width_);
  }
  [[nodiscard]] std::int64_t bytes() const {
    std::size_t all = 0;
    for (const Partition& partition : partitions_)
      all += partition.words.capacity() * sizeof(std::uint64_t) + partition.letters.capacity();
    return static_cast<std::int64_t>(all);
  }
  /// Removes all rows but keeps the allocated memory.
  void clear() {
    for (Partition& partition : partitions_) {
      partition.words.clear();
      partition.used = 0;
    }
    count_ = 0;
    letters_ = 0;
  }
  /// Reserves memory for a total number of rows, about equally distributed over the partitions. Vectors that grow are
  /// copied, and touch twice the pages.
  void reserve_for(std::int64_t rows) {
    const auto each = static_cast<std::size_t>(rows / kPartitions);
    for (Partition& partition : partitions_) partition.words.reserve((each + each / 8) * width_);
  }
  /// Returns whether this number of rows and bytes of longer strings still fits.
  [[nodiscard]] bool has_capacity_for(std::size_t rows, std::size_t letters) const {
    return rows <= static_cast<std::size_t>(kMostRows - count_) &&
           letters <= std::numeric_limits<std::uint32_t>::max() - letters_;
  }

  /// Adds rows with these hashes. The caller must write the other words to `rows` before it adds further rows.
  void add(std::span<const std::uint64_t> hashes, std::uint64_t** rows) {
    std::array<std::size_t, kPartitions> more = {};
    std::array<std::uint64_t*, kPartitions> next;
    for (const std::uint64_t hash : hashes) ++more[static_cast<std::size_t>(partition_of(hash))];
    for (std::size_t p = 0; p < kPartitions; ++p) {
      auto& words = partitions_[p].words;
      const std::size_t before = words.size();
      words.resize(before + more[p] * width_);
      next[p] = words.data() + before;
    }
    for (const std::uint64_t hash : hashes) {
      std::uint64_t*& row = next[static_cast<std::size_t>(partition_of(hash))];
      row[0] = (hash & ~kPlaceMask) | static_cast<std::uint64_t>(count_++);
      *rows++ = row;
      row += width_;
    }
  }
  [[nodiscard]] const std::uint64_t* row(int partition, std::int64_t i) const {
    return partitions_[static_cast<std::size_t>(partition)].words.data() + static_cast<std::size_t>(i) * width_;
  }
  /// Returns all rows, ordered by their places.
  [[nodiscard]] std::vector<const std::uint64_t*> in_order() const {
    std::vector<const std::uint64_t*> rows(static_cast<std::size_t>(count_));
    for (int partition = 0; partition < kPartitions; ++partition) {
      for (std::int64_t i = 0; i < count(partition); ++i) rows[place(row(partition, i))] = row(partition, i);
    }
    return rows;
  }

  /// Returns the bits of the hash that select partitions and slots.
  static std::uint64_t hash(const std::uint64_t* row) { return row[0] & ~kPlaceMask; }
  static std::uint64_t place(const std::uint64_t* row) { return row[0] & kPlaceMask; }
  template <class Word>
  [[nodiscard]] Word* key(Word* row, std::size_t k) const {
    return row + key_at_[k];
  }
  template <class Word>
  [[nodiscard]] Word* values(Word* row) const {
    return row + values_at_;
  }

  void set_short_string(std::uint64_t* row, std::size_t k, Int128 key) const {
    std::memcpy(this->key(row, k), &key, sizeof key);
  }
  /// Stores a longer string as a key: the position of its bytes, and a second word that no short string has.
  void set_long_string(std::uint64_t* row, std::size_t k, std::string_view text) {
    auto& [words, letters, used] = partitions_[static_cast<std::size_t>(partition_of(hash(row)))];
    const std::size_t at = used;
    used += text.size();
    if (used > letters.size()) letters.resize(2 * used);
    copy_text(letters.data() + at, text);
    letters_ += text.size();
    key(row, k)[0] = (std::uint64_t{at} << 32) | text.size();
    key(row, k)[1] = ~std::uint64_t{0};
  }
  [[nodiscard]] bool is_long(const std::uint64_t* row, std::size_t k) const {
    return this->key(row, k)[1] == ~std::uint64_t{0};
  }
  /// Returns the key of a short string.
  [[nodiscard]] Int128 string_key(const std::uint64_t* row, std::size_t k) const {
    Int128 key = 0;
    std::memcpy(&key, this->key(row, k), sizeof key);
    return key;
  }
  [[nodiscard]] std::string_view long_string(const std::uint64_t* row, std::size_t k) const {
    const std::uint64_t at = key(row, k)[0];
    const auto& letters = partitions_[static_cast<std::size_t>(partition_of(hash(row)))].letters;
    return {letters.data() + (at >> 32), static_cast<std::uint32_t>(at)};
  }

 private:
  struct Partition {
    detail::Unwritten<std::uint64_t> words;
    detail::Unwritten<char> letters;
    std::size_t used = 0;  ///< bytes of `letters` in use
  };

  // The lower bits of a hash, which select no slot, store the row's place. This saves one word per row.
  static constexpr std::int64_t kMostRows = std::int64_t{1} << kUnusedHashBits;
  static constexpr std::uint64_t kPlaceMask = kMostRows - 1;
  static_assert(kMostRows >= kBatchRows);

  std::vector<std::size_t> key_at_;
  std::size_t values_at_ = 0;
  std::size_t width_ = 1;  ///< words of a row
  std::int64_t count_ = 0;
  std::size_t letters_ = 0;  ///< bytes of strings of all partitions
  std::array<Partition, kPartitions> partitions_;
};

}  // namespace upsweep::query
