// SPDX-License-Identifier: Apache-2.0
// bindings/arrow_columns.hpp: columns of Arrow's C data interface, a batch of rows at a time as tables give them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow_c_data.hpp"
#include "io/arrow_types.hpp"
#include "io/vocabulary.hpp"
#include "upsweep/table.hpp"
#include "upsweep/types.hpp"

namespace upsweep::python {

using io::TextLayout;

/// What a table declares for a column, and how Arrow has its elements.
struct ColumnType {
  Field field = {};
  std::string place;  ///< "table.column", for messages
  io::Stored stored = io::Stored::as_computed;
  std::int64_t width = 0;  ///< bytes of an element as it is stored; 0: bits, or text
  TextLayout text = TextLayout::none;
  bool all_null = false;
  std::optional<Type> indices = {};  ///< into a dictionary of such elements; else they lie there themselves
};

/// A field is `unsupported` where its type is not computed with.
ColumnType column_type(const ArrowSchema& schema);
ColumnType column_type(std::string name, const char* format);

/// What shows that an array is not of the type that its stream's schema gives the column: other buffers or children, lengths that
/// cannot be. Empty where nothing does. An array does not tell its type, nor how long most of its buffers are.
std::string misfit_of(const ColumnType& type, const ArrowArray& array);

/// Rows of the columns, as an array of structs.
using Chunk = Held<ArrowArray>;

/// Some of a chunk's rows in one column.
struct ChunkRange {
  std::shared_ptr<const Chunk> chunk;
  const ArrowArray* array;
  std::int64_t first;  ///< element of the array's buffers
  std::int64_t rows;

  [[nodiscard]] const std::uint8_t* validity() const {
    return array->null_count == 0 || array->n_buffers == 0 ? nullptr
                                                           : static_cast<const std::uint8_t*>(array->buffers[0]);
  }
  [[nodiscard]] bool is_null(std::int64_t i) const {
    const std::uint8_t* const bits = validity();
    return bits != nullptr && (bits[(first + i) / 8] >> ((first + i) % 8) & 1) == 0;
  }
};

/// A dictionary of texts, each once, and which of them an array's entries are.
struct Translation {
  const ArrowArray* array = nullptr;
  std::shared_ptr<io::Vocabulary> vocabulary;
  std::vector<std::int32_t> indices;  ///< by entry; -1: NULL, -2: not UTF-8
  bool same = false;                  ///< each entry has its own number
};

/// The dictionary that a column had last, for all that read it at the same time.
class LastDictionary {
 public:
  /// That of the range, translated before or now. `name` is for messages.
  std::shared_ptr<const Translation> translation(const ChunkRange& range, TextLayout layout, const std::string& name);

 private:
  std::mutex mutex_;
  std::shared_ptr<const Translation> last_;
};

/// The texts of a column's batches, which are read one after the other, while these are few: a batch has the dictionary of the one
/// before where it brings no new ones.
class KeptTexts {
 public:
  /// Writes the texts' indices, of NULLs 0. Returns their dictionary; null: they are too many to be kept. Throws malformed for one
  /// that is not UTF-8.
  std::shared_ptr<const Dictionary> add(const std::vector<ChunkRange>& ranges, TextLayout layout,
                                        const std::string& name, std::int64_t first_row, std::int32_t* to);

 private:
  std::int32_t entry(std::string_view text, const std::string& name, std::int64_t row);

  io::Vocabulary vocabulary_;
  std::shared_ptr<std::deque<std::string>> letters_ = std::make_shared<std::deque<std::string>>();
  std::size_t bytes_ = 0;  ///< of letters
  std::shared_ptr<const Dictionary> last_;
  bool are_many_ = false;
};

/// Those of readers that are done, for others.
class KeptTextsPool {
 public:
  std::unique_ptr<KeptTexts> take();
  void give(std::unique_ptr<KeptTexts> texts) noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<KeptTexts>> free_;
  int taken_ = 0;
};

/// The elements of ranges that follow each other, `rows` in all, from row `first_row` of the table on: where they lie
/// if they are one range and are stored as they are computed with, else in `memory`. `may_repeat_texts`: in the
/// dictionary that texts get where `kept` does not keep them. Throws Error malformed, unsupported_type.
ColumnData elements_of(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                       std::int64_t first_row, bool may_repeat_texts, LastDictionary& dictionary, KeptTexts& kept,
                       io::Memory& memory);

}  // namespace upsweep::python
