// SPDX-License-Identifier: Apache-2.0
// io/csv_decimals.cpp: a pass over the bytes of a CSV file for the scales of its columns, and text made into decimals.
#include "io/csv_decimals.hpp"

#include <arrow/array/array_binary.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/decimal.hpp"
#include "io/csv_quotes.hpp"
#include "io/number_lines.hpp"
#include "io/posix.hpp"
#include "io/table.hpp"
#include "upsweep/error.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

constexpr std::size_t kLongestCell = 128;  // that may be a number: 38 digits, zeros before and after them, blanks

bool is_null(std::string_view cell) {
  return std::find(kNullCells.begin(), kNullCells.end(), cell) != kNullCells.end();
}

// The number that a cell is. Arrow takes no plus sign, and what it does not take for a number is none in any column.
bool split_cell(std::string_view cell, WrittenNumber& number) {
  if (!split_number(cell, number)) {
    cell = trimmed(cell);
    if (!split_number(cell, number)) return false;
  }
  return !cell.starts_with('+');
}

// What the cells of a column have in common.
class Shape {
 public:
  void add(std::string_view cell, bool in_quotes) {
    WrittenNumber number;
    if (cell.size() > kLongestCell || !split_cell(cell, number)) {
      plain_ = plain_ && !in_quotes && is_null(cell);
      return;
    }
    const std::size_t zeros = std::min(number.whole.find_first_not_of('0'), number.whole.size());
    whole_ = std::max(whole_, number.whole.size() - zeros);
    decimals_ = std::max(decimals_, number.decimals.size());
  }

  // Those of another piece of the file.
  void add(const Shape& other) {
    plain_ = plain_ && other.plain_;
    whole_ = std::max(whole_, other.whole_);
    decimals_ = std::max(decimals_, other.decimals_);
  }

  [[nodiscard]] bool plain() const { return plain_; }
  [[nodiscard]] bool holds(std::size_t whole, std::size_t decimals) const {
    return whole <= whole_ && decimals <= decimals_;
  }

  [[nodiscard]] std::shared_ptr<arrow::DataType> type(int most_digits) const {
    const std::size_t digits = whole_ + decimals_;
    if (!plain_ || decimals_ == 0 || digits > static_cast<std::size_t>(most_digits)) return nullptr;
    const int scale = static_cast<int>(decimals_);
    return digits <= kInt64Digits ? arrow::decimal64(kInt64Digits, scale)
                                  : arrow::decimal128(arrow::Decimal128Type::kMaxPrecision, scale);
  }

 private:
  bool plain_ = true;
  std::size_t whole_ = 0;
  std::size_t decimals_ = 0;
};

// Where a cell that begins here ends: at a separator or at the end of the text. A quote opens at the start of a cell only, and
// "" within quotes is one. Where quoting is wrong the reader says so later.
const char* cell_end(const char* at, const char* end) {
  if (at < end && *at == '"') {
    do at = std::find(at + 1, end, '"') + 1;
    while (at < end && *at == '"');
    if (at > end) return end;
  }
  static constexpr auto kEnds = [] {
    std::array<bool, 256> ends{};
    for (const char c : {',', '\n', '\r'}) ends[static_cast<unsigned char>(c)] = true;
    return ends;
  }();
  while (at < end && !kEnds[static_cast<unsigned char>(*at)]) ++at;
  return at;
}

// Goes through the cells of whole rows, by the rules of Arrow's own reader, for the shapes of some columns.
class Cells {
 public:
  explicit Cells(const std::vector<int>& columns) : places_(static_cast<std::size_t>(columns.back()) + 1, -1) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      places_[static_cast<std::size_t>(columns[i])] = static_cast<int>(i);
    shapes_.resize(columns.size());
    find_shape();
  }

  // Takes the cells that the text holds to their ends, and returns how many bytes they are. The last one need not end.
  std::size_t take(std::string_view text, bool last) {
    const char* const end = text.data() + text.size();
    const char* at = text.data();
    while (at < end) {
      const char* stop = skip_number(at, end);
      if (stop == at) {
        stop = cell_end(at, end);
        if (stop == end && !last) break;
        if (shape_ != nullptr) add({at, static_cast<std::size_t>(stop - at)});
      }
      if (stop == end) return text.size();
      column_ = *stop == ',' ? column_ + 1 : 0;
      find_shape();
      at = stop + 1;
    }
    return static_cast<std::size_t>(at - text.data());
  }

  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }

  // Whether more rows can make a difference.
  [[nodiscard]] bool undecided() const {
    return std::any_of(shapes_.begin(), shapes_.end(), [](const Shape& shape) { return shape.plain(); });
  }

 private:
  // The end of the cell that begins here, where it is a number that has no more digits than those before it, as most have;
  // else `at`.
  [[nodiscard]] const char* skip_number(const char* at, const char* end) const {
    if (shape_ == nullptr) return at;
    const char* const whole = *at == '-' ? at + 1 : at;
    const char* stop = whole;
    while (stop < end && is_digit(*stop)) ++stop;
    const auto digits = static_cast<std::size_t>(stop - whole);
    const char* const decimals = stop < end && *stop == '.' ? stop + 1 : stop;
    if (digits == 0 || decimals == end) return at;
    if (decimals > stop) {
      stop = decimals;
      while (stop < end && is_digit(*stop)) ++stop;
      if (stop == decimals) return at;
    }
    const bool ends = stop < end && ends_field(*stop);
    const std::size_t counted = digits - (*whole == '0' ? 1 : 0);  // so that 0.5 has no more than .5
    return ends && shape_->holds(counted, static_cast<std::size_t>(stop - decimals)) ? stop : at;
  }

  void add(std::string_view cell) {
    const bool quoted = cell.starts_with('"');
    if (quoted) cell.remove_prefix(1);
    if (quoted && cell.ends_with('"')) cell.remove_suffix(1);
    shape_->add(cell, quoted);
  }

  void find_shape() {
    const int place = column_ < places_.size() ? places_[column_] : -1;
    shape_ = place < 0 ? nullptr : &shapes_[static_cast<std::size_t>(place)];
  }

  std::vector<int> places_;  // which shape a column has; -1: none
  std::vector<Shape> shapes_;
  std::size_t column_ = 0;  // of the cell at hand
  Shape* shape_ = nullptr;  // of its column
};

std::vector<Shape> shapes_of(const std::shared_ptr<const CsvFile>& file, const CsvPiece& piece,
                             const std::vector<int>& columns) {
  Cells cells(columns);
  CsvText source(file, piece.begin, piece.end, kCsvBlock);
  for (std::string_view text = source.next(); !text.empty() && cells.undecided(); text = source.next()) {
    source.take(cells.take(text, source.last()));
  }
  return cells.shapes();
}

template <class Int>
arrow::Result<std::shared_ptr<arrow::Array>> convert(const arrow::StringArray& cells,
                                                     const std::shared_ptr<arrow::DataType>& type,
                                                     const std::string& name, std::int64_t first_row) {
  const int scale = static_cast<const arrow::DecimalType&>(*type).scale();
  const std::int64_t n = cells.length();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values, arrow::AllocateBuffer(n * std::int64_t{sizeof(Int)}));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> validity, arrow::AllocateEmptyBitmap(n));
  std::int64_t nulls = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string_view cell = cells.GetView(i);
    WrittenNumber number;
    Int value = 0;
    if (cells.IsValid(i) && split_cell(cell, number) && scaled_by(number, scale, value)) {
      arrow::bit_util::SetBit(validity->mutable_data(), i);
    } else if (cells.IsNull(i)) {
      ++nulls;
    } else {
      throw Error(
          Code::malformed,
          fmt::format("{}: row {}: '{}' is no number with up to {}, as all were when the file was opened; leave "
                      "the file alone while it is read",
                      name, first_row + i, printable(cell, 60), decimals_text(scale)),
          first_row + i);
    }
    std::memcpy(values->mutable_data() + i * std::int64_t{sizeof value}, &value, sizeof value);
  }
  return arrow::MakeArray(arrow::ArrayData::Make(type, n, {nulls > 0 ? validity : nullptr, values}, nulls));
}

}  // namespace

std::vector<std::shared_ptr<arrow::DataType>> find_decimals(const std::shared_ptr<const CsvFile>& file,
                                                            const CsvRows& rows, const std::vector<int>& columns,
                                                            int most_digits, int threads) {
  std::vector<std::shared_ptr<arrow::DataType>> types(columns.size());
  if (columns.empty() || !rows.has_point) return types;
  std::vector<std::vector<Shape>> found(rows.pieces.size());
  run_each(found.size(), threads, [&](std::size_t i) { found[i] = shapes_of(file, rows.pieces[i], columns); });
  for (std::size_t column = 0; column < types.size(); ++column) {
    Shape shape;
    for (const auto& shapes : found) shape.add(shapes[column]);
    types[column] = shape.type(most_digits);
  }
  return types;
}

arrow::Result<std::shared_ptr<arrow::Array>> decimals_of(const arrow::Array& cells,
                                                         const std::shared_ptr<arrow::DataType>& type,
                                                         const std::string& name, std::int64_t first_row) {
  const auto& text = static_cast<const arrow::StringArray&>(cells);
  return type->id() == arrow::Type::DECIMAL64 ? convert<std::int64_t>(text, type, name, first_row)
                                              : convert<Int128>(text, type, name, first_row);
}

}  // namespace upsweep::io
