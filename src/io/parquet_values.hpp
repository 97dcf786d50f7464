// SPDX-License-Identifier: Apache-2.0
// io/parquet_values.hpp: numbers of a Parquet column chunk, decoded from its pages to where they stay.
#pragma once

#include <arrow/buffer.h>
#include <arrow/result.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/packed_kernels.hpp"

namespace upsweep::io {

/// Numbers as Parquet packs them, where many in a row are alike or few bits each: definition levels, and codes of entries.
class HybridRuns {
 public:
  HybridRuns() = default;
  /// `width`: bits of a number, 0 to 32.
  HybridRuns(std::span<const std::uint8_t> bytes, int width);

  /// Numbers that follow each other: alike, or packed.
  struct Run {
    std::int64_t count = 0;
    std::uint32_t value = 0;  ///< of all of them, where they are not packed
    bool is_packed = false;
    std::int64_t first = 0;  ///< of packed ones: the number of the first in `codes`
    PackedCodes codes = {};
  };
  /// The next `most` numbers or fewer, all of one run. Throws what Parquet throws where there is none, or a damaged one.
  Run take(std::int64_t most);

 private:
  void begin_run();

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  int width_ = 0;
  Run run_;  ///< what is left of it
};

/// Reads the numbers of a column chunk that is no part of a list or struct, front to back.
class ValueReader {
 public:
  /// Whether it can read that as elements of `width` bytes: numbers of 4 or 8 bytes, which are as wide, and decimals of as many
  /// bytes or fewer, plain or by a dictionary. Arrow must do the others.
  static bool can_read(const parquet::ColumnDescriptor& column, const parquet::ColumnChunkMetaData& chunk, int width);

  /// `pages`: of such a chunk.
  ValueReader(const parquet::ColumnDescriptor& column, int width, std::unique_ptr<parquet::PageReader> pages);
  ValueReader(const ValueReader&) = delete;  // `pages` ask it which of them they may pass over
  ValueReader& operator=(const ValueReader&) = delete;

  struct Values {
    std::shared_ptr<arrow::Buffer> values;    ///< 0 where one is NULL
    std::shared_ptr<arrow::Buffer> validity;  ///< a bit each; null: none is NULL
    std::int64_t nulls = 0;
  };
  /// The next n. Throws what Parquet throws where there are fewer, or the pages are damaged.
  Values read(std::int64_t n);

  /// Passes over the next n. Pages that they fill are not decompressed.
  void skip(std::int64_t n) { skipped_ += n; }

 private:
  void pass_over();
  void pass_over_in_page(std::int64_t n);
  void pass_over_defined(std::int64_t n);
  void read_from_page(std::int64_t n, std::int64_t first, Values& all);
  void next_page();
  void begin(const parquet::DictionaryPage& page);
  void begin(const parquet::DataPageV1& page);
  void begin(const parquet::DataPageV2& page);
  void begin_values(std::span<const std::uint8_t> bytes, parquet::Encoding::type encoding);
  void decode(std::int64_t n, std::uint8_t* to);
  [[nodiscard]] std::size_t bytes_of_plain(std::int64_t n) const;
  void look_up(std::int64_t n, std::uint8_t* to);
  void read_defined(std::int64_t n, std::int64_t first, Values& all);
  void add_nulls(std::int64_t n, std::int64_t first, Values& all) const;
  void add_marked(const HybridRuns::Run& marks, std::int64_t first, Values& all);

  void put(std::span<const std::uint8_t> stored, std::uint8_t* to) const;

  int width_;      ///< of an element, in bytes
  int stored_;     ///< the same in the file
  bool is_bytes_;  ///< there the most significant is the first
  bool may_be_null_;
  LookUp look_up_;
  std::unique_ptr<parquet::PageReader> pages_;
  std::vector<std::uint8_t> dictionary_;
  Entries entries_{nullptr, 0};
  std::shared_ptr<parquet::Page> page_;
  std::int64_t left_ = 0;     ///< rows of the page
  std::int64_t skipped_ = 0;  ///< rows to pass over before the next ones are read
  bool has_levels_ = false;
  HybridRuns levels_;
  bool is_coded_ = false;
  HybridRuns codes_;
  std::span<const std::uint8_t> plain_;
  std::vector<std::uint64_t> spaced_;  ///< room for elements before they are put where they belong
  std::int64_t rows_ = 0;              ///< of the read at hand
};

}  // namespace upsweep::io
