// SPDX-License-Identifier: Apache-2.0
// io/csv_cells.cpp: determines the kind of a cell of a CSV file, and converts cells to elements.
#include "io/csv_cells.hpp"

#include <arrow/array/array_dict.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_dict.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "core/ascii.hpp"
#include "core/utf8.hpp"
#include "io/number_lines.hpp"
#include "io/posix.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

// Arrow's list also contains NaN, which is a number here.
constexpr std::array<std::string_view, 7> kMissing = {"NA", "N/A", "#N/A", "NULL", "null", "None", "\\N"};
constexpr std::array<std::string_view, 3> kTrue = {"true", "True", "TRUE"};
constexpr std::array<std::string_view, 3> kFalse = {"false", "False", "FALSE"};

constexpr std::size_t kLongestDecimal = 128;  // bytes: 38 digits, with zeros before and after them

template <class Int>
constexpr bool kIsSigned = static_cast<Int>(-1) < Int{0};

constexpr std::size_t kShortNumber = 18;  // digits that a 64-bit integer can always hold

template <std::size_t kWords>
bool is_one_of(std::string_view text, const std::array<std::string_view, kWords>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Whether a cell is NULL in a column that is not text.
bool is_null(std::string_view text, const CsvValues& values) {
  if (text.empty()) return true;
  if (values.nulls) return std::find(values.nulls->begin(), values.nulls->end(), text) != values.nulls->end();
  return is_one_of(text, kMissing);
}

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Removes the digits at the front of the text, and returns how many it removed.
std::size_t take_digits(std::string_view& text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(digits);
  return digits;
}

// Whether the text is digits, with an optional point among, before or after them, and an optional exponent.
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

// Whether float64 has only Infinity or 0 in place of a number with an exponent of three digits or more.
bool is_past_float64(std::string_view number) {
  const std::size_t mark = number.find_first_of("eE");
  if (mark == std::string_view::npos || number.size() - mark < 4) return false;
  const std::optional<double> value = parse_float64(number);
  const bool has_value = number.substr(0, mark).find_first_of("123456789") != std::string_view::npos;
  return !value || std::isinf(*value) || (*value == 0 && has_value);
}

bool is_code(std::string_view text) { return text.size() > 1 && text[0] == '0' && is_digit(text[1]); }

template <class Word>
Word load(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Converts 4 pairs of digits to numbers, each in the first of its two bytes. Returns false if a byte is not a digit.
bool parse_pairs(std::uint64_t bytes, std::uint64_t& pairs) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const std::uint64_t digits = bytes - kEach * '0';
  const std::uint64_t others = (bytes + kEach * (0x7F - '9')) | digits | bytes;  // in the first bit of each byte
  pairs = digits * 10 + (digits >> 8);
  return (others >> 7 & kEach) == 0;
}

// Splits a date such as 2001-12-31, of 10 bytes. Returns false if there is no such day, or the text has another form.
// All digits are examined together, as in numbers. Bytes 4 and 7 are the dashes.
bool split_date(std::string_view text, std::chrono::year_month_day& date) {
  if (text.size() != 10) return false;
  const char* const first = text.data();
  const auto front = load<std::uint64_t>(first);
  const std::uint64_t digits =
      (front & 0xFFFFFFFF) | (front >> 8 & 0x0000FFFF00000000) | std::uint64_t{load<std::uint16_t>(first + 8)} << 48;
  std::uint64_t pairs = 0;
  if ((front & 0xFF0000FF00000000) != 0x2D00002D00000000 || !parse_pairs(digits, pairs)) return false;
  const auto pair = [&](unsigned i) { return static_cast<unsigned>(pairs >> 16 * i & 0xFF); };
  const unsigned month = pair(2);
  const unsigned day = pair(3);
  date = {std::chrono::year(static_cast<int>(100 * pair(0) + pair(1))), std::chrono::month(month),
          std::chrono::day(day)};
  const bool in_every_month = month - 1 < 12 && day - 1 < 28;
  return in_every_month || date.ok();
}

bool parse_date(std::string_view text, std::int32_t& days) {
  std::chrono::year_month_day date{};
  if (!split_date(text, date)) return false;
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
  if (is_ascii_letter(number.front()) && !is_infinite_or_nan(number)) return false;
  const std::optional<double> parsed = parse_float64(number);
  if (!parsed) return false;
  value = *parsed;
  if (text.starts_with('-')) value = -value;
  return true;
}

// Converts 8 digits to a number. The first digit is in the low byte. Returns false if a byte is not a digit.
bool parse_eight(std::uint64_t bytes, std::uint64_t& value) {
  std::uint64_t digits = 0;
  const bool are_digits = parse_pairs(bytes, digits);
  constexpr std::uint64_t kPairs = 0x000000FF000000FF;  // fours, then all, in the first half
  value = ((digits & kPairs) * (100 + (std::uint64_t{1'000'000} << 32)) +
           (digits >> 16 & kPairs) * (1 + (std::uint64_t{10'000} << 32))) >>
          32;
  return are_digits;
}

// Converts up to 16 digits, as groups of 8 with zeros in front. Reads up to 8 bytes past their start. The length of
// numbers varies from cell to cell, so the branch at the end of a loop over digits would be mispredicted. That costs
// more than the digits do.
bool parse_digits(std::string_view text, std::uint64_t& value) {
  constexpr std::uint64_t kZeros = 0x3030303030303030;
  const char* const first = text.data();
  const std::size_t n = text.size();
  if (n == 0) return false;
  // Returns the first `count` bytes, 1 to 8.
  const auto group = [&](std::size_t count) {
    const unsigned bits = 8 * (8 - static_cast<unsigned>(count));
    return load<std::uint64_t>(first) << bits | (kZeros & ((std::uint64_t{1} << bits) - 1));
  };
  if (n <= 8) return parse_eight(group(n), value);
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  const bool are_digits = parse_eight(group(n - 8), high) && parse_eight(load<std::uint64_t>(first + n - 8), low);
  value = high * 100'000'000 + low;
  return are_digits;
}

constexpr std::array<std::int64_t, kShortNumber> kPowers = [] {
  std::array<std::int64_t, kShortNumber> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

// Parses numbers that have exactly the decimals of the type and too few digits to overflow. Nearly all numbers do.
// Returns false if parse_scaled() must use the slow path.
template <class Int>
bool parse_short(std::string_view text, char point, int scale, Int& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto places = static_cast<std::size_t>(scale);
  if (text.size() > 16) return false;
  std::uint64_t found = 0;
  if (scale == 0) {
    if (!parse_digits(text, found)) return false;
  } else {
    std::uint64_t whole = 0;
    if (text.size() < places + 2 || text[text.size() - places - 1] != point) return false;
    if (!parse_digits(text.substr(0, text.size() - places - 1), whole)) return false;
    if (!parse_digits(text.substr(text.size() - places), found)) return false;
    found += whole * static_cast<std::uint64_t>(kPowers[places]);
  }
  const auto number = static_cast<std::int64_t>(found);
  value = static_cast<Int>(negative ? -number : number);
  return kIsSigned<Int> || !negative;
}

template <class Int>
bool scaled(const WrittenNumber& number, int scale, Int& value) {
  return (kIsSigned<Int> || !number.negative) && scaled_by(number, scale, value);
}

template <class Int>
bool parse_scaled(std::string_view text, int scale, Int& value) {
  if (parse_short(text, '.', scale, value)) return true;
  WrittenNumber number;
  return split_number(without_blanks(text), number) && scaled(number, scale, value);
}

// Parses a number as the file writes it, with the short path for numbers without marks.
template <class Int>
bool parse_written(std::string_view text, CellReader& reader, const CellForm& form, int scale, Int& value) {
  const bool may_be_plain = form.is_plain || !form.required.empty();
  if (may_be_plain && parse_short(text, form.values->decimal, scale, value)) return true;
  WrittenNumber number;
  if (may_be_plain && split_number(without_blanks(text), number, form.values->decimal)) {
    return scaled(number, scale, value);
  }
  const Cell cell = reader(text);
  const bool is_number =
      cell.kind == CellKind::integer || cell.kind == CellKind::decimal || cell.kind == CellKind::percent;
  return is_number && !cell.marks.doubtful && scaled(cell.number, scale, value);
}

// Returns the value of a moment in units of 10^-digits seconds: from midnight, or, with a date, from 1970 on.
bool scaled_moment(const Moment& moment, DateOrder order, int digits, bool with_date, std::int64_t& value) {
  const std::int64_t unit = kPowers[static_cast<std::size_t>(9 - digits)];
  const std::int64_t within = moment.nanoseconds / unit;
  if (moment.nanoseconds % unit != 0) return false;
  value = within;
  if (!with_date) return true;
  if ((moment.orders & order) == 0) return false;
  const std::int64_t minutes = days_of(moment, order) * 1440 - moment.offset.value_or(0);
  return !__builtin_mul_overflow(minutes, 60 * kPowers[static_cast<std::size_t>(digits)], &value) &&
         !__builtin_add_overflow(value, within, &value);
}

std::shared_ptr<arrow::Array> array_of(const std::shared_ptr<arrow::DataType>& type, std::int64_t rows,
                                       std::shared_ptr<arrow::Buffer> values, std::shared_ptr<arrow::Buffer> validity) {
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {std::move(validity), std::move(values)}));
}

// Which rows are NULL. It uses no memory if no row is.
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

// Calls parse(cell, row) for each cell. It returns false if the cell is not of the type.
template <class Parse>
arrow::Status each_cell(const CsvColumn& cells, const arrow::DataType& type, const CellForm& form, Validity& validity,
                        Parse parse) {
  const bool has_words = form.values->nulls.has_value();
  for (std::int64_t row = 0; row < cells.rows(); ++row) {
    const CsvCell cell = cells[row];
    if (!(has_words && is_null(cell.text, *form.values)) && parse(cell.text, row)) continue;
    if (!is_null(cell.text, *form.values)) {
      return cells.in_row(
          row, form.required.empty()
                   ? fmt::format("'{}' is not of type {}, as all cells of the column were when the file was opened",
                                 printable(content_of(cell), 60), type.ToString())
                   : fmt::format("'{}' is not of the type that {} requires", printable(content_of(cell), 60),
                                 form.required));
    }
    ARROW_RETURN_NOT_OK(validity.set_null(row));
  }
  return arrow::Status::OK();
}

template <class T, class Parse>
arrow::Result<std::shared_ptr<arrow::Array>> elements(const CsvColumn& cells,
                                                      const std::shared_ptr<arrow::DataType>& type,
                                                      const CellForm& form, Parse parse) {
  const std::int64_t rows = cells.rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(T))));
  auto* const to = reinterpret_cast<T*>(values->mutable_data());
  Validity validity(rows);
  ARROW_RETURN_NOT_OK(each_cell(cells, *type, form, validity, [&](std::string_view cell, std::int64_t row) {
    T value{};
    const bool parsed = parse(cell, value);
    to[row] = value;
    return parsed;
  }));
  return array_of(type, rows, std::move(values), validity.take());
}

arrow::Result<std::shared_ptr<arrow::Array>> booleans(const CsvColumn& cells,
                                                      const std::shared_ptr<arrow::DataType>& type,
                                                      const CellForm& form) {
  const std::int64_t rows = cells.rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values, arrow::AllocateEmptyBitmap(rows));
  Validity validity(rows);
  ARROW_RETURN_NOT_OK(each_cell(cells, *type, form, validity, [&](std::string_view cell, std::int64_t row) {
    bool value = false;
    const bool parsed = parse_boolean(cell, value);
    if (value) arrow::bit_util::SetBit(values->mutable_data(), row);
    return parsed;
  }));
  return array_of(type, rows, std::move(values), validity.take());
}

arrow::Result<std::shared_ptr<arrow::Array>> nulls(const CsvColumn& cells, const std::shared_ptr<arrow::DataType>& type,
                                                   const CellForm& form) {
  Validity validity(cells.rows());
  ARROW_RETURN_NOT_OK(each_cell(cells, *type, form, validity, [](std::string_view, std::int64_t) { return false; }));
  return arrow::MakeArrayOfNull(type, cells.rows());
}

template <class Int>
arrow::Result<std::shared_ptr<arrow::Array>> integers(const CsvColumn& cells,
                                                      const std::shared_ptr<arrow::DataType>& type,
                                                      const CellForm& form, int scale = 0) {
  if (form.is_plain && form.required.empty() && form.values->decimal == '.') {
    return elements<Int>(cells, type, form,
                         [scale](std::string_view cell, Int& value) { return parse_scaled(cell, scale, value); });
  }
  return elements<Int>(cells, type, form,
                       [scale, &form, reader = CellReader(*form.values)](std::string_view cell, Int& value) mutable {
                         return parse_written(cell, reader, form, scale, value);
                       });
}

arrow::Result<std::shared_ptr<arrow::Array>> reals(const CsvColumn& cells, const std::shared_ptr<arrow::DataType>& type,
                                                   const CellForm& form) {
  if (form.is_plain && form.values->decimal == '.') return elements<double>(cells, type, form, parse_real);
  const char point = form.values->decimal;
  return elements<double>(
      cells, type, form,
      [&form, point, reader = CellReader(*form.values)](std::string_view cell, double& value) mutable {
        std::array<char, kLongestDecimal> swapped;
        if (form.is_plain && cell.size() < swapped.size() && cell.find('.') == std::string_view::npos) {
          std::replace_copy(cell.begin(), cell.end(), swapped.begin(), point, '.');
          return parse_real({swapped.data(), cell.size()}, value);
        }
        const std::string_view plain = reader.plain(cell);
        return !plain.empty() && parse_real(plain, value);
      });
}

// Reads a date or a time as the file writes it.
bool read_moment(std::string_view cell, CellReader& reader, const CellForm& form, Moment& moment) {
  if (form.values->date_format.empty()) return parse_moment(without_blanks(cell), moment);
  const Cell found = reader(cell);
  moment = found.moment;
  return found.kind == CellKind::date || found.kind == CellKind::time || found.kind == CellKind::timestamp;
}

arrow::Result<std::shared_ptr<arrow::Array>> dates(const CsvColumn& cells, const std::shared_ptr<arrow::DataType>& type,
                                                   const CellForm& form) {
  return elements<std::int32_t>(
      cells, type, form, [&form, reader = CellReader(*form.values)](std::string_view cell, std::int32_t& days) mutable {
        const std::string_view text = without_blanks(cell);
        const bool is_usual = form.values->date_format.empty();
        if (is_usual && form.order == year_month_day && parse_date(text, days)) return true;
        Moment moment;
        if (!read_moment(cell, reader, form, moment) || moment.has_time || (moment.orders & form.order) == 0)
          return false;
        days = static_cast<std::int32_t>(days_of(moment, form.order));
        return true;
      });
}

// Times of day, or timestamps: dates are their midnights.
arrow::Result<std::shared_ptr<arrow::Array>> moments(const CsvColumn& cells,
                                                     const std::shared_ptr<arrow::DataType>& type, bool with_date,
                                                     arrow::TimeUnit::type unit, const CellForm& form) {
  const int digits = 3 * static_cast<int>(unit);
  return elements<std::int64_t>(cells, type, form,
                                [&form, digits, with_date, reader = CellReader(*form.values)](
                                    std::string_view cell, std::int64_t& value) mutable {
                                  Moment moment;
                                  return read_moment(cell, reader, form, moment) && moment.has_date == with_date &&
                                         scaled_moment(moment, form.order, digits, with_date, value);
                                });
}

// Calls add(text) or add_null() for each cell. Two quotes become one, only in cells that are in quotes.
template <class Add, class AddNull>
arrow::Status each_text(const CsvColumn& cells, const CsvValues& values, Add add, AddNull add_null) {
  std::string content;
  for (std::int64_t row = 0; row < cells.rows(); ++row) {
    const CsvCell cell = cells[row];
    std::string_view text = cell.text;
    if (text.empty() && !cell.quoted) {
      ARROW_RETURN_NOT_OK(add_null());
      continue;
    }
    if (cell.quoted && text.find('"') != std::string_view::npos) text = content = content_of(cell);
    ARROW_RETURN_NOT_OK(values.nulls && is_null(text, values) ? add_null() : add(text));
  }
  return arrow::Status::OK();
}

arrow::Status require_utf8(const CsvColumn& cells) {
  for (std::int64_t row = 0; row < cells.rows(); ++row) {
    if (!is_utf8(cells[row].text)) return cells.in_row(row, std::string(kCellNotUtf8));
  }
  return arrow::Status::OK();
}

bool has_utf8_only(const arrow::StringArray& texts) {
  for (std::int64_t i = 0; i < texts.length(); ++i) {
    if (!is_utf8(texts.GetView(i))) return false;  // a NULL has an empty view
  }
  return true;
}

arrow::Result<std::shared_ptr<arrow::Array>> texts(const CsvColumn& cells, const CsvValues& values) {
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(cells.rows()));
  ARROW_RETURN_NOT_OK(each_text(
      cells, values, [&](std::string_view text) { return builder.Append(text); },
      [&] { return builder.AppendNull(); }));
  std::shared_ptr<arrow::StringArray> array;
  ARROW_RETURN_NOT_OK(builder.Finish(&array));
  if (!has_utf8_only(*array)) ARROW_RETURN_NOT_OK(require_utf8(cells));
  return array;
}

arrow::Result<std::shared_ptr<arrow::Array>> text_indices(const CsvColumn& cells, const CsvValues& values) {
  arrow::StringDictionary32Builder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(cells.rows()));
  ARROW_RETURN_NOT_OK(each_text(
      cells, values, [&](std::string_view text) { return builder.Append(text); },
      [&] { return builder.AppendNull(); }));
  std::shared_ptr<arrow::DictionaryArray> array;
  ARROW_RETURN_NOT_OK(builder.Finish(&array));
  if (!has_utf8_only(static_cast<const arrow::StringArray&>(*array->dictionary())))
    ARROW_RETURN_NOT_OK(require_utf8(cells));
  return array;
}

}  // namespace

std::optional<int> year_of_date(std::string_view text) {
  std::chrono::year_month_day date{};
  return split_date(text, date) ? std::optional(static_cast<int>(date.year())) : std::nullopt;
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
  if (year_of_date(trimmed)) {
    cell.kind = CellKind::date;
    cell.moment.orders = year_month_day;
    return cell;
  }
  if (parse_boolean(text, boolean)) return {CellKind::boolean};
  const std::string_view number = without_sign(trimmed);
  if (is_infinite_or_nan(number)) return {CellKind::real};
  const bool is_number =
      is_real(number) && (!is_code(trimmed) || trimmed.find('.') != std::string_view::npos) && !is_past_float64(number);
  return {is_number ? CellKind::real : CellKind::text};
}

std::string_view CellReader::plain(std::string_view text) {
  const std::string_view trimmed = without_blanks(text);
  if (number_.read(trimmed, values_) && !number_.marks().doubtful) return number_.text();
  if (values_.decimal == '.') return trimmed;
  if (trimmed.find('.') != std::string_view::npos) return {};
  swapped_ = trimmed;
  std::replace(swapped_.begin(), swapped_.end(), values_.decimal, '.');
  return swapped_;
}

Cell CellReader::operator()(std::string_view text) {
  if (values_.nulls && is_null(text, values_)) return {text.empty() ? CellKind::empty : CellKind::missing};
  const std::string_view trimmed = without_blanks(text);
  const auto kind_of = [](const Moment& moment) {
    return !moment.has_time ? CellKind::date : moment.has_date ? CellKind::timestamp : CellKind::time;
  };
  Cell cell;
  if (!values_.date_format.empty() && parse_moment(trimmed, values_.date_format, cell.moment)) {
    cell.kind = kind_of(cell.moment);
    return cell;
  }
  cell = {};
  // A date with a point, a slash or a dash after its first number is never a number.
  const bool may_be_date = trimmed.size() > 7 && is_digit(trimmed[0]) &&
                           (!is_digit(trimmed[1]) || !is_digit(trimmed[2]) || !is_digit(trimmed[4]));
  if (may_be_date && parse_moment(trimmed, cell.moment)) {
    // Where an option says how dates are written, another order of day and month is none.
    if (!values_.date_format.empty() && cell.moment.has_date && cell.moment.orders != year_month_day)
      cell.moment.orders = 0;
    cell.kind = kind_of(cell.moment);
    return cell;
  }
  cell = {};
  const bool is_point = values_.decimal == '.';
  const bool has_comma = !is_point && trimmed.find(values_.decimal) != std::string_view::npos;
  const std::string_view number = has_comma ? plain(text) : text;
  cell = cell_of(number);
  // A percent sign, a currency, parentheses or a sign at the end. plain() has removed them.
  const bool has_marks = has_comma && number.data() == number_.text().data() &&
                         (number.size() != trimmed.size() || !is_digit(trimmed.back()));
  const bool has_point = !is_point && trimmed.find('.') != std::string_view::npos;
  const bool is_number =
      cell.kind == CellKind::integer || cell.kind == CellKind::decimal || cell.kind == CellKind::real;
  if (values_.nulls && cell.kind == CellKind::missing) return {CellKind::text};
  if (cell.kind == CellKind::date) {
    parse_moment(trimmed, cell.moment);
    return cell;
  }
  if (cell.kind != CellKind::text && !(is_number && (has_point || has_marks))) return cell;
  cell = {CellKind::text, is_number ? WrittenNumber{} : cell.number};  // of a code such as 007
  if (number_.read(trimmed, values_)) {
    cell.marks = number_.marks();
    cell.is_plain = false;
    split_number(number_.text(), cell.number);
    cell.kind = cell.marks.percent             ? CellKind::percent
                : cell.number.decimals.empty() ? CellKind::integer
                                               : CellKind::decimal;
  } else if (parse_moment(trimmed, cell.moment)) {
    cell.kind = kind_of(cell.moment);
  }
  return cell;
}

arrow::Result<std::shared_ptr<arrow::Array>> elements_of(const CsvColumn& cells,
                                                         const std::shared_ptr<arrow::DataType>& type,
                                                         const CellForm& form) {
  switch (type->id()) {
    case arrow::Type::NA:
      return nulls(cells, type, form);
    case arrow::Type::INT64:
      return integers<std::int64_t>(cells, type, form);
    case arrow::Type::UINT64:
      return integers<std::uint64_t>(cells, type, form);
    case arrow::Type::DECIMAL64:
      return integers<std::int64_t>(cells, type, form, static_cast<const arrow::DecimalType&>(*type).scale());
    case arrow::Type::DECIMAL128:
      return integers<Int128>(cells, type, form, static_cast<const arrow::DecimalType&>(*type).scale());
    case arrow::Type::DOUBLE:
      return reals(cells, type, form);
    case arrow::Type::DATE32:
      return dates(cells, type, form);
    case arrow::Type::TIME64:
      return moments(cells, type, false, static_cast<const arrow::Time64Type&>(*type).unit(), form);
    case arrow::Type::TIMESTAMP:
      return moments(cells, type, true, static_cast<const arrow::TimestampType&>(*type).unit(), form);
    case arrow::Type::BOOL:
      return booleans(cells, type, form);
    case arrow::Type::STRING:
      return texts(cells, *form.values);
    case arrow::Type::DICTIONARY:
      return text_indices(cells, *form.values);
    default:
      return arrow::Status::NotImplemented("cells as ", type->ToString());
  }
}

}  // namespace upsweep::io
