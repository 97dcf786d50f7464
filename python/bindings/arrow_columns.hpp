// SPDX-License-Identifier: Apache-2.0
// bindings/arrow_columns.hpp: columns of Arrow's C data interface, read in batches of rows as tables return them.
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

/// The type that a table declares for a column, and how Arrow stores its elements.
struct ColumnType {
  Field field = {};
  std::string place;  ///< "table.column", for messages
  io::Stored stored = io::Stored::as_computed;
  std::int64_t width = 0;  ///< bytes of a stored element; 0: bits, or text
  TextLayout text = TextLayout::none;
  bool all_null = false;
  std::optional<Type> indices = {};  ///< of a dictionary of such elements; without it the array contains the elements
  std::shared_ptr<const ColumnType> element = {};  ///< of lists: the elements; otherwise null
  std::int64_t list_size = 0;                      ///< of lists of one size
  int offset_bytes = 0;                            ///< of other lists: 4 or 8
};

/// Returns the column's type. If the type is not supported, the field's `unsupported` is set.
ColumnType column_type(const ArrowSchema& schema);
ColumnType column_type(std::string name, const char* format);

/// Describes how an array differs from the type that its stream's schema declares: other buffers or children, or
/// impossible lengths. Returns an empty string if no difference is visible. An array contains neither its type nor the
/// sizes of most of its buffers.
std::string misfit_of(const ColumnType& type, const ArrowArray& array);

/// Rows of the columns, as an array of structs.
using Chunk = Held<ArrowArray>;

/// A range of a chunk's rows in one column.
struct ChunkRange {
  std::shared_ptr<const Chunk> chunk;
  const ArrowArray* array;
  std::int64_t first;  ///< position in the array's buffers
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

/// A dictionary of distinct texts, and the index in it of each of an array's entries.
struct Translation {
  const ArrowArray* array = nullptr;
  std::shared_ptr<io::Vocabulary> vocabulary;
  std::vector<std::int32_t> indices;  ///< by entry; -1: NULL, -2: not UTF-8
  bool same = false;                  ///< the index of each entry is the entry's number
};

/// A column's most recent dictionary, shared by all concurrent readers.
class LastDictionary {
 public:
  /// Returns the translation of the range's dictionary, from the cache or new. `name` is for messages.
  std::shared_ptr<const Translation> translation(const ChunkRange& range, TextLayout layout, const std::string& name);

 private:
  std::mutex mutex_;
  std::shared_ptr<const Translation> last_;
};

/// Keeps the texts of a column's batches, which are read one after the other, while there are few texts. A batch
/// without new texts has the same dictionary as the batch before it.
class KeptTexts {
 public:
  /// Writes the texts' indices, 0 for NULL. Returns their dictionary, or null if there are too many texts to keep.
  /// Throws malformed for a text that is not UTF-8.
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

/// Reuses the KeptTexts of readers that have finished.
class KeptTextsPool {
 public:
  std::unique_ptr<KeptTexts> take();
  void give(std::unique_ptr<KeptTexts> texts) noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<KeptTexts>> free_;
  int taken_ = 0;
};

/// Returns the elements of consecutive ranges, `rows` in all, starting at row `first_row` of the table. They are in
/// place if there is one range and it is stored in the computed form, otherwise in `memory`. `may_repeat_texts`: the
/// dictionary may contain equal texts, if `kept` does not keep them. Throws Error malformed, unsupported_type.
ColumnData elements_of(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                       std::int64_t first_row, bool may_repeat_texts, LastDictionary& dictionary, KeptTexts& kept,
                       io::Memory& memory);

}  // namespace upsweep::python
