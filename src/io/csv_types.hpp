// SPDX-License-Identifier: Apache-2.0
// io/csv_types.hpp: the types of the columns of a CSV file, determined by all of their cells.
#pragma once

#include <arrow/type.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "io/csv_cells.hpp"
#include "io/csv_rows.hpp"
#include "io/written_numbers.hpp"

namespace upsweep::io {

/// The common properties of the cells of a column. They do not depend on the order of the cells.
class ColumnShape {
 public:
  void add(const Cell& cell);
  /// Adds an integer of at most 18 digits, not counting zeros in front. A decimal may have at most 18 digits before the
  /// point.
  void add_integer(std::size_t digits, bool negative) {
    if (negative && !negative_) negative_ = true;
    add_number(CellKind::integer, digits, 0);
  }
  void add_decimal(std::size_t whole, std::string_view decimals) {
    if (!not_groups_ && (decimals.size() != 3 || whole == 0)) not_groups_ = true;
    if (!long_ && whole + decimals.size() > kMostFloatDigits) {
      const std::size_t zeros = whole > 0 ? 0 : std::min(decimals.find_first_not_of('0'), decimals.size());
      long_ = whole + decimals.size() - zeros > kMostFloatDigits;
    }
    add_number(CellKind::decimal, whole, decimals.size());
  }
  /// Adds a date, a time or a timestamp.
  void add_moment(CellKind kind, const Moment& moment) {
    add_kind(kind);
    if (moment.has_date) {
      add_order(moment.orders);
      if (moment.year < 1678 || moment.year > 2261) far_ = true;
    }
    if (!moment.has_time) return;
    (moment.offset ? zoned_ : unzoned_) = true;
    digits_ = std::max(digits_, moment.digits);
  }
  /// Sets what the file and its options say about the meaning of the cells.
  void set_values(const CsvValues& values) {
    point_is_doubtful_ = values.point_is_doubtful;
    has_date_format_ = !values.date_format.empty();
  }
  /// Adds the cells of another shape.
  void add(const ColumnShape& other);

  /// Whether the column is text. Further cells do not change that.
  [[nodiscard]] bool is_text() const;
  /// Returns why the column is text although its cells are numbers or dates, and the option that decides; otherwise an
  /// empty text.
  [[nodiscard]] std::string_view doubt() const;
  /// Returns why the column is text although its cells are numbers or dates, if no option could decide otherwise.
  [[nodiscard]] std::string_view conflict() const;
  /// Whether further cells cannot change that the column is text, without a remark.
  [[nodiscard]] bool is_certain_text() const { return is_text() && doubt().empty() && conflict().empty(); }
  /// Returns how the cells are converted.
  [[nodiscard]] CellForm form(const CsvValues& values) const {
    return {&values, !marked_, std::has_single_bit(orders_) ? static_cast<DateOrder>(orders_) : year_month_day, {}};
  }
  /// Returns how the column's numbers are written in a file with these marks.
  [[nodiscard]] WrittenNumbers written(const CsvValues& values) const;
  /// Returns "numbers", "dates", "times", "timestamps" or "booleans" for a column that is not text; otherwise an empty
  /// string.
  [[nodiscard]] std::string_view content() const;

  /// Whether there are only empty cells and words such as NA.
  [[nodiscard]] bool has_no_value() const { return content().empty() && !is_text(); }

  /// Whether all cells are integers that fit neither int64 nor uint64 as a whole.
  [[nodiscard]] bool is_past_64_bits() const {
    return content() == "numbers" && !has(CellKind::decimal) && !has(CellKind::percent) && !has(CellKind::real) &&
           past_int64_ && (past_uint64_ || negative_);
  }

  /// Returns the type. A decimal type has at most `most_digits` digits. A column without a value is NULL; with words
  /// such as NA only, it is text.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type(int most_digits) const;

 private:
  void add_kind(CellKind kind) {
    if (!has(kind)) kinds_ |= 1U << static_cast<unsigned>(kind);
  }
  void add_number(CellKind kind, std::size_t whole, std::size_t decimals) {
    // Nearly always true. A store here would delay the next cell of the column.
    if (has(kind) && whole <= whole_ && decimals <= decimals_) return;
    add_kind(kind);
    whole_ = std::max(whole_, whole);
    decimals_ = std::max(decimals_, decimals);
  }
  void add_order(std::uint8_t orders) {
    if ((orders_ & ~orders) != 0) orders_ &= orders;
  }
  void add_marks(const Cell& cell);
  void add_currency(std::uint8_t currency);
  [[nodiscard]] bool has(CellKind kind) const { return (kinds_ >> static_cast<unsigned>(kind) & 1U) != 0; }
  /// Whether the points of all decimals may be between thousands.
  [[nodiscard]] bool has_doubtful_point() const {
    return point_is_doubtful_ && has(CellKind::decimal) && !not_groups_ && whole_ <= 3;
  }
  [[nodiscard]] bool has_doubt() const {
    return doubtful_ || has_doubtful_point() || (orders_ != any_order && !std::has_single_bit(orders_));
  }

  static constexpr std::uint8_t kSeveral = 255;
  static constexpr std::size_t kMostFloatDigits = std::numeric_limits<double>::max_digits10;

  std::uint32_t kinds_ = 0;   // a bit each
  std::size_t whole_ = 0;     // the maximum number of digits before a point
  std::size_t decimals_ = 0;  // the maximum number after it
  bool negative_ = false;     // some integer is; the next two are also about integers:
  bool past_int64_ = false;
  bool past_uint64_ = false;
  bool long_ = false;               // some decimal has more digits than any float64 needs
  bool not_groups_ = false;         // some decimal is not like 1.234
  bool point_is_doubtful_ = false;  // as in CsvValues
  bool has_date_format_ = false;
  bool marked_ = false;              // some number is not written as in C++
  bool doubtful_ = false;            // some number may have thousands or decimals
  bool grouped_ = false;             // some number has thousands
  bool pointed_ = false;             // some percentage has decimals
  std::uint8_t currency_ = 0;        // kSeveral: there are several
  std::uint8_t orders_ = any_order;  // in which all dates exist
  bool zoned_ = false;               // some timestamp has an offset from UTC; or not:
  bool unzoned_ = false;
  bool far_ = false;  // some date is outside the years of timestamps in nanoseconds
  int digits_ = 0;    // after the second
};

/// Returns Arrow's type for a type that an option requires.
std::shared_ptr<arrow::DataType> arrow_type_of(CsvRequiredType type);

struct FoundShapes {
  std::vector<ColumnShape> shapes;
  bool has_fault = false;  ///< in a row, such as a wrong number of cells; not searched for once all columns are text
};

/// The rows of a file, and the shapes of some of its columns.
struct CsvContent {
  CsvRows rows;
  FoundShapes found;  ///< only if the rows have no fault
};

/// Finds the rows of a file that start in [begin, until) as find_rows() does, and the shapes of `columns` (numbers,
/// ascending) of `all_columns`. It uses all of these rows, because the last cell may decide the type. Each row group is
/// read once, unless one of them begins within quotes. No more cells are examined once all of these columns are text.
/// Throws as CsvFile::read() does.
CsvContent find_content(const std::shared_ptr<const CsvFile>& file, std::int64_t begin, std::int64_t until,
                        const std::vector<int>& columns, int all_columns, int threads);

}  // namespace upsweep::io
