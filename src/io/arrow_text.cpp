// SPDX-License-Identifier: Apache-2.0
// io/arrow_text.cpp: converts text as Arrow stores it, plain or in dictionaries, to one dictionary's indices per batch.
#include "io/arrow_text.hpp"

#include <arrow/array/array_binary.h>
#include <arrow/array/util.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "core/visit.hpp"
#include "io/arrow_errors.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int32_t kNull = -1;  // the index of a row or a dictionary's entry that is NULL

// Whether the strings are known to be inside their buffers and to be UTF-8.
bool is_checked(const arrow::Array& array) {
  const auto& buffers = array.data()->buffers;
  return buffers.size() > 1 && dynamic_cast<const CheckedViews*>(buffers[1].get()) != nullptr;
}

// Checks where strings begin and end: Arrow does not check this unless it is asked to. They are checked as bytes,
// because UTF-8 is checked once for each distinct string.
void check_text(const arrow::Array& array, const std::string& name) {
  if (is_checked(array)) return;
  const auto as_bytes = array.data()->Copy();
  as_bytes->type = array.type_id() == arrow::Type::STRING         ? arrow::binary()
                   : array.type_id() == arrow::Type::LARGE_STRING ? arrow::large_binary()
                                                                  : arrow::binary_view();
  if (const arrow::Status valid = arrow::MakeArray(as_bytes)->ValidateFull(); !valid.ok()) throw_status(name, valid);
}

std::string_view text_at(const arrow::Array& array, std::int64_t i) {
  if (array.type_id() == arrow::Type::STRING) return static_cast<const arrow::StringArray&>(array).GetView(i);
  if (array.type_id() == arrow::Type::LARGE_STRING)
    return static_cast<const arrow::LargeStringArray&>(array).GetView(i);
  return static_cast<const arrow::StringViewArray&>(array).GetView(i);
}

const arrow::DictionaryArray& as_dictionary(const arrow::Array& chunk) {
  return static_cast<const arrow::DictionaryArray&>(chunk);
}

// Returns the dictionary that all chunks share, or null.
std::shared_ptr<arrow::Array> common_dictionary(const Arrays& chunks) {
  if (chunks[0]->type_id() != arrow::Type::DICTIONARY) return nullptr;
  const auto& first = as_dictionary(*chunks[0]).dictionary();
  const bool common = std::all_of(chunks.begin(), chunks.end(),
                                  [&](const auto& chunk) { return as_dictionary(*chunk).dictionary() == first; });
  return common ? first : nullptr;
}

// Calls f with a pointer to the indices of a dictionary-encoded array, for any index type.
template <class F>
void visit_indices(const arrow::Array& indices, F f) {
  visit_type(*parse_type(indices.type()->name()),
             [&]<class T>(std::type_identity<T>) { f(indices.data()->GetValues<T>(1)); });
}

// Whether the indices can be used in place: all are within the dictionary, also in rows that are NULL.
bool are_within(const std::int32_t* indices, std::int64_t n, std::size_t entries) {
  std::uint32_t greatest = 0;
  for (std::int64_t i = 0; i < n; ++i) greatest = std::max(greatest, static_cast<std::uint32_t>(indices[i]));
  return greatest < entries;
}

// Gives rows that are NULL an arbitrary index and marks them in a bitmap.
std::shared_ptr<arrow::Buffer> mark_nulls(std::int32_t* indices, std::int64_t rows, const std::string& name) {
  if (std::find(indices, indices + rows, kNull) == indices + rows) return nullptr;
  std::shared_ptr<arrow::Buffer> validity = checked(name, [&] { return arrow::AllocateEmptyBitmap(rows); });
  for (std::int64_t i = 0; i < rows; ++i) {
    if (indices[i] == kNull) {
      indices[i] = 0;
    } else {
      arrow::bit_util::SetBit(validity->mutable_data(), i);
    }
  }
  return validity;
}

}  // namespace

ColumnData TextEncoder::encode(const Arrays& chunks, std::int64_t rows, std::int64_t first_row, Memory& memory) {
  const auto dictionary = common_dictionary(chunks);
  if (!dictionary || !is_last(dictionary)) {
    vocabulary_ = std::make_shared<Vocabulary>(may_repeat_ && !dictionary);
    last_ = {};
  }
  ColumnData data;
  if (dictionary) translate(dictionary);
  if (chunks.size() == 1 && dictionary) data.values = in_place(as_dictionary(*chunks[0]));
  if (data.values != nullptr) {
    pass_validity(*chunks[0], data);
  } else {
    const std::shared_ptr<arrow::Buffer> made =
        checked(name_, [&] { return arrow::AllocateBuffer(rows * std::int64_t{sizeof(std::int32_t)}); });
    auto* const indices = reinterpret_cast<std::int32_t*>(made->mutable_data());
    std::int64_t done = 0;
    for (const auto& chunk : chunks) {
      add(chunk, first_row + done, indices + done);
      done += chunk->length();
    }
    const std::shared_ptr<arrow::Buffer> validity = mark_nulls(indices, rows, name_);
    data.values = indices;
    if (validity) data.validity = validity->data();
    memory.insert(memory.end(), {made, validity});
  }
  if (vocabulary_->words.empty()) vocabulary_->words.emplace_back();  // all indices must be valid, also of NULL rows
  data.dictionary = std::shared_ptr<const Dictionary>(vocabulary_, &vocabulary_->words);
  if (!dictionary) last_ = {};  // its entries are only some of the vocabulary's
  return data;
}

// Parquet's dictionaries are created for each batch, whether they change or not.
bool TextEncoder::is_last(const std::shared_ptr<arrow::Array>& dictionary) {
  if (!last_.dictionary || dictionary == last_.dictionary) return last_.dictionary != nullptr;
  check_text(*dictionary, name_);
  if (!dictionary->Equals(last_.dictionary)) return false;
  last_.dictionary = dictionary;  // found sooner next time
  return true;
}

void TextEncoder::translate(const std::shared_ptr<arrow::Array>& dictionary) {
  if (is_last(dictionary)) return;
  check_text(*dictionary, name_);
  last_ = {dictionary, {}, true};
  vocabulary_->memory.push_back(dictionary);
  vocabulary_->are_checked = is_checked(*dictionary);
  last_.indices.reserve(static_cast<std::size_t>(dictionary->length()));
  for (std::int64_t i = 0; i < dictionary->length(); ++i) {
    last_.indices.push_back(dictionary->IsNull(i) ? kNull
                                                  : vocabulary_->find_or_add_entry(text_at(*dictionary, i), name_));
    last_.same = last_.same && last_.indices.back() == i;
  }
}

const std::int32_t* TextEncoder::in_place(const arrow::DictionaryArray& chunk) const {
  if (!last_.same || chunk.indices()->type_id() != arrow::Type::INT32) return nullptr;
  const auto* const indices = chunk.indices()->data()->GetValues<std::int32_t>(1);
  // With an empty dictionary all rows are NULL. It gets one entry for them.
  const std::size_t entries = std::max<std::size_t>(last_.indices.size(), 1);
  return are_within(indices, chunk.length(), entries) ? indices : nullptr;
}

void TextEncoder::add(const std::shared_ptr<arrow::Array>& chunk, std::int64_t row, std::int32_t* to) {
  if (chunk->type_id() == arrow::Type::DICTIONARY) {
    translate(as_dictionary(*chunk).dictionary());
    return add_indices(as_dictionary(*chunk), row, to);
  }
  check_text(*chunk, name_);
  vocabulary_->memory.push_back(chunk);
  vocabulary_->are_checked = is_checked(*chunk);
  for (std::int64_t i = 0; i < chunk->length(); ++i) {
    to[i] = chunk->IsNull(i) ? kNull : vocabulary_->find_or_add(text_at(*chunk, i), name_, row + i);
  }
}

void TextEncoder::add_indices(const arrow::DictionaryArray& chunk, std::int64_t row, std::int32_t* to) const {
  visit_indices(*chunk.indices(), [&](const auto* indices) {
    for (std::int64_t i = 0; i < chunk.length(); ++i) {
      const auto index = static_cast<std::uint64_t>(indices[i]);
      if (chunk.IsNull(i)) {
        to[i] = kNull;
      } else if (index < last_.indices.size()) {
        to[i] = last_.indices[index];
        if (to[i] == Vocabulary::kNotUtf8) throw_not_utf8(name_, row + i);
      } else {
        throw Error(Code::malformed,
                    fmt::format("{}: is damaged: row {} points past its dictionary; write it again", name_, row + i),
                    row + i);
      }
    }
  });
}

}  // namespace upsweep::io
