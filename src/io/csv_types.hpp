// SPDX-License-Identifier: Apache-2.0
// io/csv_types.hpp: the types of the columns of a CSV file, by all of their cells.
#pragma once

#include <arrow/type.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "io/csv_cells.hpp"
#include "io/csv_rows.hpp"

namespace upsweep::io {

/// What the cells of a column have in common. It does not depend on their order.
class ColumnShape {
 public:
  void add(const Cell& cell);
  /// An integer, or a decimal, of at most 18 digits: so many of them before the point, zeros in front not counted.
  void add_integer(std::size_t digits, bool negative) {
    if (negative && !negative_) negative_ = true;
    add_number(CellKind::integer, digits, 0);
  }
  void add_decimal(std::size_t whole, std::size_t decimals) { add_number(CellKind::decimal, whole, decimals); }
  void add_date() { add_kind(CellKind::date); }
  /// The cells of another shape.
  void add(const ColumnShape& other);

  /// Nothing that is added changes that.
  [[nodiscard]] bool is_text() const;
  /// "numbers", "dates" or "booleans": what a column that is not text has; otherwise empty.
  [[nodiscard]] std::string_view content() const;

  /// Whether these are empty cells and words such as NA only.
  [[nodiscard]] bool has_no_value() const { return content().empty() && !is_text(); }

  /// Whether these are integers, not all of which are int64 or all uint64.
  [[nodiscard]] bool is_past_64_bits() const {
    return content() == "numbers" && !has(CellKind::decimal) && !has(CellKind::real) && past_int64_ &&
           (past_uint64_ || negative_);
  }

  /// A decimal type is of at most `most_digits` digits. Without a value the column is of NULL; with words such as NA only, of text.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type(int most_digits) const;

 private:
  void add_kind(CellKind kind) {
    if (!has(kind)) kinds_ |= 1U << static_cast<unsigned>(kind);
  }
  void add_number(CellKind kind, std::size_t whole, std::size_t decimals) {
    // Nearly always the case: a store here would hold up the next cell of the column.
    if (has(kind) && whole <= whole_ && decimals <= decimals_) return;
    add_kind(kind);
    whole_ = std::max(whole_, whole);
    decimals_ = std::max(decimals_, decimals);
  }
  [[nodiscard]] bool has(CellKind kind) const { return (kinds_ >> static_cast<unsigned>(kind) & 1U) != 0; }

  std::uint32_t kinds_ = 0;   // a bit each
  std::size_t whole_ = 0;     // the most digits before a point
  std::size_t decimals_ = 0;  // the most after it
  bool negative_ = false;     // some integer is, and these are about integers too:
  bool past_int64_ = false;
  bool past_uint64_ = false;
};

struct FoundShapes {
  std::vector<ColumnShape> shapes;
  bool has_fault =
      false;  ///< in a row, such as another number of cells than there are columns; not looked for in text alone
};

/// The shapes of `columns` (by their numbers, ascending) of `all_columns`, by all rows of the file: the last cell may be the one that makes the
/// difference. Reads the file on threads as run_each() has them, unless all of these columns are found to be text before its
/// end. Throws as CsvFile::read() does.
FoundShapes find_shapes(const std::shared_ptr<const CsvFile>& file, const std::vector<CsvRowGroup>& row_groups,
                        const std::vector<int>& columns, int all_columns, int threads);

}  // namespace upsweep::io
