// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/valid_elements.hpp: a column without its NULL elements, and the rows of its elements.
#pragma once

#include <cstdint>
#include <span>

#include "io/column.hpp"
#include "io/posix.hpp"

namespace upsweep::command {

/// Elements that stay valid until the next call.
struct ValidChunk {
  const void* data = nullptr;  ///< has the alignment of the column's type
  std::int64_t count = 0;      ///< 0 only at the end
  std::int64_t nulls = 0;      ///< NULL rows that were read for this chunk
  /// For each element, its row, counted from the first row after the element before this chunk. Empty if no row is
  /// NULL.
  std::span<const std::int64_t> rows = {};

  /// The row of an element.
  [[nodiscard]] std::int64_t row(std::int64_t index) const {
    return rows.empty() ? index : rows[static_cast<std::size_t>(index)];
  }
};

/// Reads a column front to back in bounded memory, and leaves out elements that are NULL. All chunks have the requested
/// length, except the last one. A float fold therefore has the same bits as that of a column without the NULL rows.
class ValidElements {
 public:
  /// NULL elements are left out if the reader returns them with a mask. Otherwise it refuses them.
  explicit ValidElements(io::ColumnReader& reader) : reader_(reader) {}

  ValidChunk next(std::int64_t count);

  /// At the end of the column: the NULL rows after the last element.
  [[nodiscard]] std::int64_t nulls_at_end() const { return gap_; }
  /// The time that the search for NULL elements and the copies took, without that of the reads.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void append(const io::Chunk& chunk);

  io::ColumnReader& reader_;
  std::int64_t gap_ = 0;   // NULL rows since the last element
  std::int64_t kept_ = 0;  // elements of the chunk
  std::int64_t read_ = 0;  // rows of the chunk, with those since the last element before it
  double seconds_ = 0;
  io::AlignedBuffer elements_;
  io::AlignedBuffer rows_;
};

}  // namespace upsweep::command
