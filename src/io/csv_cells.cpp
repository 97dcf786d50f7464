// SPDX-License-Identifier: Apache-2.0
// io/csv_cells.cpp: tells what a cell of a CSV file is, and makes cells into elements.
#include "io/csv_cells.hpp"

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "io/posix.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

// Arrow's own list has NaN, which is a number here.
constexpr std::array<std::string_view, 6> kMissing = {"NA", "N/A", "#N/A", "NULL", "null", "None"};
constexpr std::array<std::string_view, 3> kTrue = {"true", "True", "TRUE"};
constexpr std::array<std::string_view, 3> kFalse = {"false", "False", "FALSE"};

constexpr std::size_t kLongestDecimal = 128;  // bytes: 38 digits, with zeros before and after them

template <class Int>
constexpr bool kIsSigned = static_cast<Int>(-1) < Int{0};

constexpr std::size_t kShortNumber = 18;  // digits: as many as any 64-bit integer can hold

template <std::size_t kWords>
bool is_one_of(std::string_view text, const std::array<std::string_view, kWords>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_null(std::string_view text) { return text.empty() || is_one_of(text, kMissing); }

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

bool is_sign(char c) { return c == '-' || c == '+'; }

std::string_view without_sign(std::string_view text) {
  return text.substr(!text.empty() && is_sign(text.front()) ? 1 : 0);
}

// Takes the digits at the front off the text, and returns how many they are.
std::size_t take_digits(std::string_view& text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(digits);
  return digits;
}

bool is_infinite_or_nan(std::string_view number) {
  const auto is = [&](std::string_view lower) {
    return std::equal(number.begin(), number.end(), lower.begin(), lower.end(),
                      [](char any, char small) { return (any | 0x20) == small; });
  };
  return is("nan") || is("inf") || is("infinity");
}

// Digits, perhaps with a point among or beside them, and perhaps an exponent.
bool is_real(std::string_view number) {
  std::size_t digits = take_digits(number);
  if (number.starts_with('.')) {
    number.remove_prefix(1);
    digits += take_digits(number);
  }
  if (digits == 0) return false;
  if (number.empty()) return true;
  if (number.front() != 'e' && number.front() != 'E') return false;
  number = without_sign(number.substr(1));
  return take_digits(number) > 0 && number.empty();
}

bool is_code(std::string_view text) { return text.size() > 1 && text[0] == '0' && is_digit(text[1]); }

// 2001-12-31; false where the text has another form. There need be no such day.
bool split_date(std::string_view text, std::chrono::year_month_day& date) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  unsigned most = 0;
  const auto digit = [&](std::size_t i) {
    const auto value = static_cast<unsigned char>(text[i] - '0');
    most = std::max<unsigned>(most, value);
    return static_cast<unsigned>(value);
  };
  const unsigned year = 1000 * digit(0) + 100 * digit(1) + 10 * digit(2) + digit(3);
  const unsigned month = 10 * digit(5) + digit(6);
  const unsigned day = 10 * digit(8) + digit(9);
  date = {std::chrono::year(static_cast<int>(year)), std::chrono::month(month), std::chrono::day(day)};
  return most <= 9;
}

bool parse_date(std::string_view text, std::int32_t& days) {
  std::chrono::year_month_day date{};
  if (!split_date(text, date) || !date.ok()) return false;
  days = static_cast<std::int32_t>(std::chrono::sys_days(date).time_since_epoch().count());
  return true;
}

bool parse_boolean(std::string_view text, bool& value) {
  value = is_one_of(text, kTrue);
  return value || is_one_of(text, kFalse);
}

bool parse_real(std::string_view text, double& value) {
  text = without_blanks(text);
  const std::string_view number = without_sign(text);
  if (number.empty()) return false;
  if (is_letter(number.front()) && !is_infinite_or_nan(number)) return false;
  const std::optional<double> parsed = parse_float64(number);
  if (!parsed) return false;
  value = *parsed;
  if (text.starts_with('-')) value = -value;
  return true;
}

template <class Word>
Word load(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The number that 8 digits are, the first of which is the least significant byte. False where a byte is not a digit.
bool parse_eight(std::uint64_t bytes, std::uint64_t& value) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kEach = 0x0101010101010101;
  std::uint64_t digits = bytes - kEach * '0';
  const std::uint64_t others = (bytes + kEach * (0x7F - '9')) | digits | bytes;  // in the first bit of each byte
  digits = digits * 10 + (digits >> 8);  // pairs, then fours, then all, each in the bytes of the first half
  constexpr std::uint64_t kPairs = 0x000000FF000000FF;
  value = ((digits & kPairs) * (100 + (std::uint64_t{1'000'000} << 32)) +
           (digits >> 16 & kPairs) * (1 + (std::uint64_t{10'000} << 32))) >>
          32;
  return (others >> 7 & kEach) == 0;
}

// Up to 16 digits, as groups of 8 with zeros in front. How long a number is differs from cell to cell: a loop over its digits
// would end where the processor does not expect it, which costs more than the digits do.
bool parse_digits(std::string_view text, std::uint64_t& value) {
  constexpr std::uint64_t kZeros = 0x3030303030303030;
  const char* const first = text.data();
  const std::size_t n = text.size();
  const auto zeros = [](std::size_t count) { return kZeros & ((std::uint64_t{1} << 8 * count) - 1); };  // 0 to 7
  if (n <= 3) {
    if (n == 0) return false;
    const auto byte = [&](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(first[i])} << 8 * (8 - n + i);
    };
    return parse_eight(zeros(8 - n) | byte(0) | byte(n / 2) | byte(n - 1), value);
  }
  if (n < 8) {
    const std::uint64_t last = std::uint64_t{load<std::uint32_t>(first + n - 4)} << 32;
    return parse_eight(zeros(8 - n) | std::uint64_t{load<std::uint32_t>(first)} << 8 * (8 - n) | last, value);
  }
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  if (!parse_eight(load<std::uint64_t>(first + n - 8), low)) return false;
  if (n > 8 &&
      !parse_eight(n == 16 ? load<std::uint64_t>(first) : zeros(16 - n) | load<std::uint64_t>(first) << 8 * (16 - n),
                   high)) {
    return false;
  }
  value = high * 100'000'000 + low;
  return true;
}

constexpr std::array<std::int64_t, kShortNumber> kPowers = [] {
  std::array<std::int64_t, kShortNumber> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

// Numbers with as many decimals as the type has, and so few digits that none can overflow, as nearly all are; false where the
// other way is needed.
template <class Int>
bool parse_short(std::string_view text, int scale, Int& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto places = static_cast<std::size_t>(scale);
  if (text.size() > 16) return false;
  std::uint64_t found = 0;
  if (scale == 0) {
    if (!parse_digits(text, found)) return false;
  } else {
    std::uint64_t whole = 0;
    if (text.size() < places + 2 || text[text.size() - places - 1] != '.') return false;
    if (!parse_digits(text.substr(0, text.size() - places - 1), whole)) return false;
    if (!parse_digits(text.substr(text.size() - places), found)) return false;
    found += whole * static_cast<std::uint64_t>(kPowers[places]);
  }
  const auto number = static_cast<std::int64_t>(found);
  value = static_cast<Int>(negative ? -number : number);
  return kIsSigned<Int> || !negative;
}

template <class Int>
bool parse_scaled(std::string_view text, int scale, Int& value) {
  if (parse_short(text, scale, value)) return true;
  WrittenNumber number;
  if (!split_number(without_blanks(text), number)) return false;
  return (kIsSigned<Int> || !number.negative) && scaled_by(number, scale, value);
}

std::shared_ptr<arrow::Array> array_of(const std::shared_ptr<arrow::DataType>& type, std::int64_t rows,
                                       std::shared_ptr<arrow::Buffer> values, std::shared_ptr<arrow::Buffer> validity) {
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {std::move(validity), std::move(values)}));
}

// Which rows are NULL; no memory where none is.
class Validity {
 public:
  explicit Validity(std::int64_t rows) : rows_(rows) {}

  arrow::Status set_null(std::int64_t row) {
    if (!bits_) {
      ARROW_ASSIGN_OR_RAISE(bits_, arrow::AllocateBitmap(rows_));
      arrow::bit_util::SetBitsTo(bits_->mutable_data(), 0, rows_, true);
    }
    arrow::bit_util::ClearBit(bits_->mutable_data(), row);
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::Buffer> take() { return std::move(bits_); }

 private:
  std::int64_t rows_;
  std::shared_ptr<arrow::Buffer> bits_;
};

// Calls parse(cell, row) for each cell, false where it is not of the type.
template <class Parse>
arrow::Status each_cell(const arrow::csv::BlockParser& block, int column, const arrow::DataType& type,
                        Validity& validity, Parse parse) {
  std::int64_t row = 0;
  return block.VisitColumn(column, [&](const std::uint8_t* data, std::uint32_t size, bool /*quoted*/) {
    const std::string_view cell(reinterpret_cast<const char*>(data), size);
    const std::int64_t at = row++;
    if (parse(cell, at)) return arrow::Status::OK();
    if (is_null(cell)) return validity.set_null(at);
    return arrow::Status::Invalid("'", printable(cell, 60), "' is not of type ", type.ToString(),
                                  ", as all cells of the column were when the file was opened");
  });
}

template <class T, class Parse>
arrow::Result<std::shared_ptr<arrow::Array>> elements(const arrow::csv::BlockParser& block, int column,
                                                      const std::shared_ptr<arrow::DataType>& type, Parse parse) {
  const std::int64_t rows = block.num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(T))));
  auto* const to = reinterpret_cast<T*>(values->mutable_data());
  Validity validity(rows);
  ARROW_RETURN_NOT_OK(each_cell(block, column, *type, validity, [&](std::string_view cell, std::int64_t row) {
    T value{};
    const bool parsed = parse(cell, value);
    to[row] = value;
    return parsed;
  }));
  return array_of(type, rows, std::move(values), validity.take());
}

arrow::Result<std::shared_ptr<arrow::Array>> booleans(const arrow::csv::BlockParser& block, int column,
                                                      const std::shared_ptr<arrow::DataType>& type) {
  const std::int64_t rows = block.num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values, arrow::AllocateEmptyBitmap(rows));
  Validity validity(rows);
  ARROW_RETURN_NOT_OK(each_cell(block, column, *type, validity, [&](std::string_view cell, std::int64_t row) {
    bool value = false;
    const bool parsed = parse_boolean(cell, value);
    if (value) arrow::bit_util::SetBit(values->mutable_data(), row);
    return parsed;
  }));
  return array_of(type, rows, std::move(values), validity.take());
}

arrow::Result<std::shared_ptr<arrow::Array>> nulls(const arrow::csv::BlockParser& block, int column,
                                                   const std::shared_ptr<arrow::DataType>& type) {
  Validity validity(block.num_rows());
  ARROW_RETURN_NOT_OK(each_cell(block, column, *type, validity, [](std::string_view, std::int64_t) { return false; }));
  return arrow::MakeArrayOfNull(type, block.num_rows());
}

template <class Int>
arrow::Result<std::shared_ptr<arrow::Array>> integers(const arrow::csv::BlockParser& block, int column,
                                                      const std::shared_ptr<arrow::DataType>& type, int scale = 0) {
  return elements<Int>(block, column, type,
                       [scale](std::string_view cell, Int& value) { return parse_scaled(cell, scale, value); });
}

}  // namespace

bool is_date(std::string_view text) {
  std::chrono::year_month_day date{};
  return split_date(text, date) && date.ok();
}

Cell cell_of(std::string_view text) {
  if (text.empty()) return {CellKind::empty};
  const std::string_view trimmed = without_blanks(text);
  Cell cell{CellKind::decimal};
  if (split_number(trimmed, cell.number)) {
    if (!cell.number.decimals.empty()) return trimmed.size() <= kLongestDecimal ? cell : Cell{CellKind::real};
    cell.kind = is_code(trimmed) ? CellKind::text : CellKind::integer;
    return cell;
  }
  bool boolean = false;
  if (is_one_of(text, kMissing)) return {CellKind::missing};
  if (is_date(trimmed)) return {CellKind::date};
  if (parse_boolean(text, boolean)) return {CellKind::boolean};
  const std::string_view number = without_sign(trimmed);
  if (is_infinite_or_nan(number)) return {CellKind::real};
  const bool is_number = is_real(number) && (!is_code(trimmed) || trimmed.find('.') != std::string_view::npos);
  return {is_number ? CellKind::real : CellKind::text};
}

arrow::Result<std::shared_ptr<arrow::Array>> elements_of(const arrow::csv::BlockParser& block, int column,
                                                         const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
    case arrow::Type::NA:
      return nulls(block, column, type);
    case arrow::Type::INT64:
      return integers<std::int64_t>(block, column, type);
    case arrow::Type::UINT64:
      return integers<std::uint64_t>(block, column, type);
    case arrow::Type::DECIMAL64:
      return integers<std::int64_t>(block, column, type, static_cast<const arrow::DecimalType&>(*type).scale());
    case arrow::Type::DECIMAL128:
      return integers<Int128>(block, column, type, static_cast<const arrow::DecimalType&>(*type).scale());
    case arrow::Type::DOUBLE:
      return elements<double>(block, column, type, parse_real);
    case arrow::Type::DATE32:
      return elements<std::int32_t>(block, column, type, [](std::string_view cell, std::int32_t& days) {
        return parse_date(without_blanks(cell), days);
      });
    case arrow::Type::BOOL:
      return booleans(block, column, type);
    default:
      return arrow::Status::NotImplemented("cells as ", type->ToString());
  }
}

}  // namespace upsweep::io
