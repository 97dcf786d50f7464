// SPDX-License-Identifier: Apache-2.0
// io/parquet_values.hpp: decodes the elements of a Parquet column chunk from its pages to their final place.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/buffer.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/schema.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "io/packed_kernels.hpp"
#include "io/parquet_elements.hpp"

namespace upsweep::io {

/// Numbers as Parquet packs them, as runs of equal numbers or of few bits each: definition levels, and codes of
/// entries.
class HybridRuns {
 public:
  HybridRuns() = default;
  /// `width`: bits of a number, 0 to 32.
  HybridRuns(Bytes bytes, int width);

  /// Consecutive numbers that are equal or packed.
  struct Run {
    std::int64_t count = 0;
    std::uint32_t value = 0;  ///< of all of them, if they are not packed
    bool is_packed = false;
    std::int64_t first = 0;  ///< if packed: the number of the first in `codes`
    PackedCodes codes = {};
  };
  /// Takes the next `most` numbers or fewer, all of one run. Throws what Parquet throws if there is no run, or a
  /// damaged one.
  Run take(std::int64_t most);

 private:
  void begin_run();

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  int width_ = 0;
  Run run_;  ///< the rest of the current run
};

/// Reads the elements of a column chunk that is not inside a list or struct, front to back.
class ValueReader {
 public:
  /// `elements` and `pages` must be those of such a chunk. `pages_stay`: the memory of a page is not reused for the
  /// next one.
  ValueReader(const parquet::ColumnDescriptor& column, std::unique_ptr<PageElements> elements,
              std::unique_ptr<parquet::PageReader> pages, bool pages_stay);
  ValueReader(const ValueReader&) = delete;  // `pages` ask this object which of them they may skip
  ValueReader& operator=(const ValueReader&) = delete;

  /// Reads the next n elements. Throws what Parquet throws if there are fewer, or if the pages are damaged.
  std::shared_ptr<arrow::Array> read(std::int64_t n);

  /// Skips the next n elements. Pages that are skipped completely are not decompressed.
  void skip(std::int64_t n) { skipped_ += n; }

 private:
  /// The rows that a read has decoded.
  struct Values {
    std::int64_t rows = 0;
    std::shared_ptr<arrow::Buffer> values;
    std::shared_ptr<arrow::Buffer> validity;
    std::int64_t nulls = 0;
  };

  void pass_over();
  void pass_over_in_page(std::int64_t n);
  void pass_over_defined(std::int64_t n);
  void read_from_page(std::int64_t n, std::int64_t first, Values& all);
  void next_page();
  void begin(const parquet::DictionaryPage& page, Bytes bytes);
  void begin(const parquet::DataPageV1& page, Bytes bytes);
  void begin(const parquet::DataPageV2& page, Bytes bytes);
  void begin_values(Bytes bytes, parquet::Encoding::type encoding);
  void decode(std::int64_t n, std::uint8_t* to);
  void look_up(std::int64_t n, std::uint8_t* to);
  void read_defined(std::int64_t n, std::int64_t first, Values& all);
  void add_nulls(std::int64_t n, std::int64_t first, Values& all) const;
  void add_marked(const HybridRuns::Run& marks, std::int64_t first, Values& all);

  std::unique_ptr<PageElements> elements_;
  int width_;  ///< of an element, in bytes
  LookUp look_up_;
  bool may_be_null_;
  std::unique_ptr<parquet::PageReader> pages_;
  bool pages_stay_;
  Entries entries_{nullptr, 0};
  bool has_begun_ = false;  ///< a page that is not skipped has been seen
  std::shared_ptr<parquet::Page> page_;
  std::int64_t left_ = 0;     ///< rows of the page
  std::int64_t skipped_ = 0;  ///< rows to skip before the next ones are read
  bool has_levels_ = false;
  HybridRuns levels_;
  bool is_coded_ = false;
  HybridRuns codes_;
  Bytes plain_;
  std::vector<std::uint64_t> spaced_;  ///< elements before they are moved to their rows
};

}  // namespace upsweep::io
