// SPDX-License-Identifier: Apache-2.0
// io/arrow_text.hpp: converts text as Arrow stores it, plain or in dictionaries, to one dictionary's indices per batch.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/array/array_dict.h>
#include <arrow/buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/arrow_elements.hpp"
#include "io/vocabulary.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

/// The views of an array of strings that their creator has checked: all are inside their buffers and are UTF-8.
class CheckedViews final : public arrow::Buffer {
 public:
  explicit CheckedViews(const std::shared_ptr<arrow::Buffer>& views) : Buffer(views, 0, views->size()) {}
};

/// Converts text to indices, a batch at a time. Batches with the same dictionary share it.
class TextEncoder {
 public:
  /// `name`: what messages call the column.
  explicit TextEncoder(std::string name) : name_(std::move(name)) {}

  /// Allows a string to be in a dictionary several times.
  void may_repeat() { may_repeat_ = true; }

  /// Encodes consecutive chunks with `rows` rows in all, from row `first_row` of the table on. The indices and the NULL
  /// bitmap of a single chunk are used in place if possible. Throws malformed.
  ColumnData encode(const Arrays& chunks, std::int64_t rows, std::int64_t first_row, Memory& memory);

 private:
  // A dictionary's entries as indices of the vocabulary. -1: NULL. Vocabulary::kNotUtf8: not UTF-8.
  struct Translation {
    std::shared_ptr<arrow::Array> dictionary;
    std::vector<std::int32_t> indices;
    bool same = false;  // each entry has its own number
  };

  bool is_last(const std::shared_ptr<arrow::Array>& dictionary);
  void translate(const std::shared_ptr<arrow::Array>& dictionary);
  [[nodiscard]] const std::int32_t* in_place(const arrow::DictionaryArray& chunk) const;
  void add(const std::shared_ptr<arrow::Array>& chunk, std::int64_t row, std::int32_t* to);
  void add_indices(const arrow::DictionaryArray& chunk, std::int64_t row, std::int32_t* to) const;

  std::string name_;
  std::shared_ptr<Vocabulary> vocabulary_;
  Translation last_;
  bool may_repeat_ = false;
};

}  // namespace upsweep::io
