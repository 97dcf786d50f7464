// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/valid_elements.hpp: a column without its NULL elements, and how many of them precede each element.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/column.hpp"

namespace upsweep::command {

/// Elements that stay valid until the next call.
struct ValidChunk {
  const void* data = nullptr;  ///< has the alignment of the column's type
  std::int64_t count = 0;      ///< 0 only at the end
  /// For each element, the number of NULL rows between it and the element before it. Empty if there are none.
  std::span<const std::int64_t> nulls_before = {};

  /// The number of NULL rows before element `index` of this chunk, from the end of the chunk before it on.
  [[nodiscard]] std::int64_t nulls_up_to(std::int64_t index) const;
};

/// Reads a column front to back in bounded memory, and leaves out elements that are NULL. All chunks have the requested
/// length, except the last one. A float fold therefore has the same bits as that of a column without the NULL rows.
class ValidElements {
 public:
  /// NULL elements are left out if the reader returns them with a mask. Otherwise it refuses them.
  explicit ValidElements(io::ColumnReader& reader) : reader_(reader) {}

  ValidChunk next(std::int64_t count);

  /// The NULL rows that were left out.
  [[nodiscard]] std::int64_t nulls() const { return nulls_; }
  /// At the end of the column: the NULL rows after the last element.
  [[nodiscard]] std::int64_t nulls_at_end() const { return gap_; }

 private:
  void append(const io::Chunk& chunk);

  io::ColumnReader& reader_;
  std::int64_t nulls_ = 0;
  std::int64_t gap_ = 0;  // NULL rows since the last element
  std::vector<std::byte> elements_;
  std::vector<std::int64_t> nulls_before_;
};

}  // namespace upsweep::command
