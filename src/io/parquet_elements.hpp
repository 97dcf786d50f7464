// SPDX-License-Identifier: Apache-2.0
// io/parquet_elements.hpp: how the elements of a Parquet column chunk are stored in its pages, and converted.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "io/packed_kernels.hpp"

namespace upsweep::io {

using Bytes = std::span<const std::uint8_t>;

inline bool is_dictionary(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::RLE_DICTIONARY || encoding == parquet::Encoding::PLAIN_DICTIONARY;
}

/// Elements of a column chunk, all of `width` bytes (4, 8 or 16) once they are read. All errors are those that Parquet
/// throws.
class PageElements {
 public:
  PageElements(std::shared_ptr<arrow::DataType> type, int width) : type_(std::move(type)), width_(width) {}
  virtual ~PageElements() = default;
  /// Returns the type of the resulting arrays.
  [[nodiscard]] const std::shared_ptr<arrow::DataType>& type() const { return type_; }
  [[nodiscard]] int width() const { return width_; }

  /// Called before the first element of a read.
  virtual void start_read() {}
  /// Returns a page's contents. Elements may point into them. `stays`: the memory is not reused for the next page.
  virtual Bytes start_page(const std::shared_ptr<arrow::Buffer>& page, bool /*stays*/) {
    return {page->data(), size_of(*page)};
  }
  /// Reads the `count` plain elements of a dictionary in such a page.
  virtual Entries read_dictionary(Bytes page, std::int64_t count) = 0;
  /// Returns the number of bytes of the first n elements; throws if there are fewer.
  [[nodiscard]] virtual std::size_t measure(Bytes plain, std::int64_t n) const = 0;
  /// Reads the first n elements; returns their number of bytes.
  virtual std::size_t read(Bytes plain, std::int64_t n, std::uint8_t* to) = 0;
  /// Returns the elements read since start_read(). `values`: 0 for a NULL. `validity`: a bit each, or null if no
  /// element is NULL.
  virtual std::shared_ptr<arrow::Array> finish(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                               std::shared_ptr<arrow::Buffer> validity, std::int64_t nulls) = 0;

 protected:
  static std::size_t size_of(const arrow::Buffer& buffer) { return static_cast<std::size_t>(buffer.size()); }

 private:
  std::shared_ptr<arrow::DataType> type_;
  int width_;
};

/// Returns the elements of a column for which a table declares `type`, or null if Arrow must read them. The
/// column must not be inside a list or struct. Its elements are numbers of 4 or 8 bytes, decimals of at most 16,
/// timestamps of 12, or text, plain or by a dictionary.
std::unique_ptr<PageElements> elements_of(const parquet::ColumnDescriptor& column,
                                          const parquet::ColumnChunkMetaData& chunk,
                                          const std::shared_ptr<arrow::DataType>& type);

}  // namespace upsweep::io
