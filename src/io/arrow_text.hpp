// SPDX-License-Identifier: Apache-2.0
// io/arrow_text.hpp: text as Arrow stores it, plain or in dictionaries, made into indices into one dictionary for each batch.
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

/// The views of an array of texts that have been checked by who made them: all lie within their buffers and are UTF-8.
class CheckedViews final : public arrow::Buffer {
 public:
  explicit CheckedViews(const std::shared_ptr<arrow::Buffer>& views) : Buffer(views, 0, views->size()) {}
};

/// Turns text into indices, a batch at a time; batches share theirs where it is the same.
class TextEncoder {
 public:
  /// `name`: what messages call the column.
  explicit TextEncoder(std::string name) : name_(std::move(name)) {}

  /// A text may be in a dictionary several times.
  void may_repeat() { may_repeat_ = true; }

  /// Of chunks that follow each other, `rows` in all, from row `first_row` of the table on. Indices, and which rows are
  /// NULL, stay where they lie in a single chunk, if they can. Throws malformed.
  ColumnData encode(const Arrays& chunks, std::int64_t rows, std::int64_t first_row, Memory& memory);

 private:
  // A dictionary's entries as indices of the vocabulary; -1: NULL; Vocabulary::kNotUtf8.
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
