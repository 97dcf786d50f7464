// SPDX-License-Identifier: Apache-2.0
// io/list_reader.hpp: a column of lists, read some lists at a time, in place.
#pragma once

#include <cstdint>
#include <memory>

#include "io/column_info.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::io {

/// The maximum number of list levels that a column may have.
enum class Levels : std::uint8_t { one, two };

/// Some lists of a column. Only two kinds of elements are copied: those that are stored in another form than the type
/// that upsweep computes with, and those of list views, which become consecutive lists.
struct ListBatch {
  Lists lists;                         ///< of the content; with a validity if some are null
  const void* content = nullptr;       ///< the elements, as ColumnInfo declares them
  std::int64_t length = 0;             ///< elements of the content
  Mask valid;                          ///< false where an element is null; without a mask none is
  Lists outer = {};                    ///< for lists of lists: the lists that contain `lists`
  std::int64_t first_list = 0;         ///< its number in the column, for messages; with two levels an outer one's
  std::shared_ptr<const void> memory;  ///< owns what the pointers point to
};

/// Reads a column of lists front to back.
class ListReader {
 public:
  virtual ~ListReader() = default;
  /// Returns the info of the elements. Its `count` is the number of lists; with two levels, of outer lists.
  [[nodiscard]] virtual const ColumnInfo& info() const = 0;
  /// Whether there are two levels.
  [[nodiscard]] virtual bool is_nested() const { return false; }
  /// Reads the next lists; returns false at the end. Throws upsweep::Error: malformed, unreadable, out_of_memory.
  virtual bool next(ListBatch& batch) = 0;
};

}  // namespace upsweep::io
