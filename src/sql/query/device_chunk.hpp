// SPDX-License-Identifier: Apache-2.0
// sql/query/device_chunk.hpp: rows of a table in device memory, and their construction from host batches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scale/staging.hpp"
#include "sql/expression/dictionary.hpp"
#include "upsweep/detail/tuning/query.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

struct DeviceColumn {
  const void* values = nullptr;                  ///< in the field's storage; bits start at bit 0
  const std::uint8_t* validity = nullptr;        ///< null: no row is NULL
  int bits = 63;                                 ///< for int64: no |value| exceeds 2^bits
  std::shared_ptr<const Dictionary> dictionary;  ///< for text
};

/// At most kMostChunkRows rows of a table.
struct DeviceChunk {
  std::int64_t rows = 0;
  std::int64_t first_row = 0;
  std::vector<DeviceColumn> columns;
};

inline constexpr std::int64_t kMostChunkRows = gpu::tuning::kQuery.most_chunk_rows;

/// Concatenates batches to chunks.
class ChunkBuilder {
 public:
  /// Builds chunks of up to `capacity` rows in arrays first_array, first_array + 1, … of `staging`, two per field.
  ChunkBuilder(gpu::Staging& staging, std::vector<Field> fields, std::int64_t capacity, int first_array = 0);

  [[nodiscard]] int arrays() const { return 2 * static_cast<int>(fields_.size()); }
  /// Appends the rows from `first` on that fit, and returns their number.
  std::int64_t append(const Batch& batch, std::int64_t first = 0);
  [[nodiscard]] std::int64_t rows() const { return rows_ + staged_; }
  /// Returns the bytes of all chunks so far.
  [[nodiscard]] std::int64_t bytes_copied() const { return bytes_copied_; }
  /// Returns the appended rows as a chunk. The next rows form another chunk, in other arrays if this one is `kept`.
  DeviceChunk finish(bool kept);

 private:
  /// Rows in host memory.
  struct Staged {
    std::byte* values = nullptr;
    std::uint8_t* validity = nullptr;  ///< all ones, unless a batch has NULLs
  };
  struct Column {
    Staged staged[gpu::Staging::kSlots];           ///< for use in turn
    bool has_nulls = false;                        ///< so far in the chunk
    bool has_validity = false;                     ///< the validity is on the device
    std::uint64_t magnitude = 0;                   ///< OR of x ^ (x >> 63)
    expression::DictionaryBuilder strings;         ///< strings of the chunk
    std::shared_ptr<const Dictionary> translated;  ///< the dictionary that `to` translates
    std::vector<std::int32_t> to;
  };

  void stage(const ColumnData& from, std::size_t which, std::int64_t first, std::int64_t count);
  void stage_strings(const ColumnData& from, Column& column, std::int64_t first, std::int64_t count, std::int32_t* out);
  void translate(Column& column, const std::shared_ptr<const Dictionary>& dictionary);
  void flush();
  [[nodiscard]] std::int64_t bytes_of(std::size_t which, std::int64_t rows) const;
  [[nodiscard]] int array_of(std::size_t which) const { return first_array_ + 2 * static_cast<int>(which); }

  gpu::Staging& staging_;
  std::vector<Field> fields_;
  std::int64_t capacity_;
  int first_array_;
  std::int64_t first_row_ = 0;
  std::int64_t rows_ = 0;    ///< on the device
  std::int64_t staged_ = 0;  ///< on the host
  int slot_ = 0;             ///< slot in which they are staged
  std::int64_t bytes_copied_ = 0;
  std::vector<Column> columns_;
};

}  // namespace upsweep::query
