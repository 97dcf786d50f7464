// SPDX-License-Identifier: Apache-2.0
// io/column.hpp: a column of numbers read from a file chunk by chunk, whatever the file's format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/types.hpp"

namespace upsweep::io {

/// What the numbers of a column stand for beside their value.
enum class Meaning : std::uint8_t {
  number,
  decimal,  ///< scaled integers: value = element / 10^scale
  date,     ///< days since 1970-01-01
};

struct ColumnInfo {
  Type type = Type::int64;
  Meaning meaning = Meaning::number;
  int scale = 0;            ///< decimal digits behind the point, for Meaning::decimal
  std::int64_t count = -1;  ///< elements, or -1 where only the end of the file tells (CSV, IPC streams)
  std::string name;         ///< what messages call it: "FILE" or "FILE:COLUMN"
};

/// Elements that stay valid until the next call on the reader.
struct Chunk {
  const void* data = nullptr;  ///< aligned for the column's type
  std::int64_t count = 0;      ///< 0 only at the end
};

/// A column, read front to back in bounded memory.
class ColumnReader {
 public:
  virtual ~ColumnReader() = default;
  ColumnReader(const ColumnReader&) = delete;
  ColumnReader& operator=(const ColumnReader&) = delete;

  [[nodiscard]] const ColumnInfo& info() const { return info_; }

  /// The next elements: exactly `count` of them, fewer only at the end of the column, none after that.
  /// Chunks therefore always start at multiples of `count` when it stays the same.
  /// Throws upsweep::Error: malformed, unreadable, null_value (index: the row).
  virtual Chunk next(std::int64_t count) = 0;

  /// Moves forward without giving the elements out, to the end where there are fewer. Returns how many were skipped.
  virtual std::int64_t skip(std::int64_t count) = 0;

 protected:
  ColumnReader() = default;
  ColumnInfo info_;
};

/// Opens `source`: "-" (.npy on standard input), "FILE" (.npy, or a table of one column) or "FILE:COLUMN".
/// The format is told by the file's first bytes (.npy, Parquet, Arrow IPC file or stream); anything else is CSV when
/// the name ends in .csv and malformed otherwise. A file whose own name holds ':' wins over FILE:COLUMN; else the
/// column begins behind the first ':' that has a file before it. The one column of a CSV file, not asked for by name, is
/// malformed where its name is a number: the file has no line of names. Throws
/// upsweep::Error: not_found, unreadable, is_directory, malformed, unsupported_type, unknown_column, not_built.
std::unique_ptr<ColumnReader> open_column(std::string_view source);

/// Which of a table's columns is meant; without a `column`, the only one. Throws unknown_column.
int find_column(const std::vector<std::string>& names, const std::string& path,
                const std::optional<std::string>& column);

/// Throws malformed where a column of the CSV file `path` is named by a number: what should be the line of names is the
/// first row. `advice`: what else to do than to write one, or nothing.
void require_name(const std::string& path, const std::string& column, std::string_view advice);

/// Whether Parquet, Arrow IPC and CSV can be read by this build.
[[nodiscard]] bool arrow_built() noexcept;

/// A scaled integer as decimal text: format_decimal(-1234, 2) is "-12.34".
[[nodiscard]] std::string format_decimal(std::int64_t value, int scale);

}  // namespace upsweep::io
