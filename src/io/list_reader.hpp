// SPDX-License-Identifier: Apache-2.0
// io/list_reader.hpp: a column of lists, read some lists at a time, where they lie.
#pragma once

#include <cstdint>
#include <memory>

#include "io/column_info.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::io {

/// How many levels of lists a column may have at most.
enum class Levels : std::uint8_t { one, two };

/// Some lists of a column. Nothing is copied but elements that are stored in another way than they are computed with, and
/// those of list views, which become lists one after the other.
struct ListBatch {
  Lists lists;                         ///< of the content; with a validity where some are null
  const void* content = nullptr;       ///< elements, as ColumnInfo says
  std::int64_t length = 0;             ///< of the content
  Mask valid;                          ///< false where an element is null; not given: none is
  Lists outer = {};                    ///< of a column of lists of lists: those that `lists` are in
  std::int64_t first_list = 0;         ///< its number in the column, for messages; of two levels an outer one's
  std::shared_ptr<const void> memory;  ///< keeps what the pointers point to
};

/// Reads a column of lists front to back.
class ListReader {
 public:
  virtual ~ListReader() = default;
  /// Of the elements; `count` is that of the lists, of two levels of the outer ones.
  [[nodiscard]] virtual const ColumnInfo& info() const = 0;
  /// Whether there are two levels.
  [[nodiscard]] virtual bool is_nested() const { return false; }
  /// The next lists; false at the end. Throws upsweep::Error: malformed, unreadable, out_of_memory.
  virtual bool next(ListBatch& batch) = 0;
};

}  // namespace upsweep::io
