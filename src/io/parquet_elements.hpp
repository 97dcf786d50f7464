// SPDX-License-Identifier: Apache-2.0
// io/parquet_elements.hpp: what the elements of a Parquet column chunk are in its pages, and what they become.
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

/// Elements of a column chunk, all of `width` bytes (4, 8 or 16) once they are read. What throws, throws what Parquet throws.
class PageElements {
 public:
  PageElements(std::shared_ptr<arrow::DataType> type, int width) : type_(std::move(type)), width_(width) {}
  virtual ~PageElements() = default;
  /// Of the arrays that they become.
  [[nodiscard]] const std::shared_ptr<arrow::DataType>& type() const { return type_; }
  [[nodiscard]] int width() const { return width_; }

  /// Before the first element of a read.
  virtual void start_read() {}
  /// What a page holds; elements may point into what is returned. `stays`: its memory is not used for the next page.
  virtual Bytes start_page(const std::shared_ptr<arrow::Buffer>& page, bool /*stays*/) {
    return {page->data(), size_of(*page)};
  }
  /// The `count` plain elements of a dictionary, in such a page.
  virtual Entries read_dictionary(Bytes page, std::int64_t count) = 0;
  /// Bytes of the first n elements; throws where there are fewer.
  [[nodiscard]] virtual std::size_t measure(Bytes plain, std::int64_t n) const = 0;
  /// The first n elements; how many bytes they have.
  virtual std::size_t read(Bytes plain, std::int64_t n, std::uint8_t* to) = 0;
  /// What has been read, since start_read(); `values`: 0 where one is NULL; `validity`: a bit each, or null where none is.
  virtual std::shared_ptr<arrow::Array> finish(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                               std::shared_ptr<arrow::Buffer> validity, std::int64_t nulls) = 0;

 protected:
  static std::size_t size_of(const arrow::Buffer& buffer) { return static_cast<std::size_t>(buffer.size()); }

 private:
  std::shared_ptr<arrow::DataType> type_;
  int width_;
};

/// Those of a column for which a table declares `type`, where they can be read: the column is not inside a list or
/// struct, and has numbers of 4 or 8 bytes, decimals of at most 16, or text, plain or by a dictionary. Else null: Arrow
/// must do it.
std::unique_ptr<PageElements> elements_of(const parquet::ColumnDescriptor& column,
                                          const parquet::ColumnChunkMetaData& chunk,
                                          const std::shared_ptr<arrow::DataType>& type);

}  // namespace upsweep::io
