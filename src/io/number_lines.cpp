// SPDX-License-Identifier: Apache-2.0
// io/number_lines.cpp: reads positive numbers, from text and from columns, and converts them to one decimal scale.
#include "io/number_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/visit.hpp"
#include "io/column.hpp"
#include "io/file_table.hpp"
#include "io/format.hpp"
#include "io/npy_table.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"
#include "io/spool.hpp"
#include "io/table.hpp"
#include "io/tuning.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::size_t kLongestLine = 4096;  // a number and any reasonable number of blanks for alignment
constexpr std::size_t kShown = 60;          // of a line that is not a number
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_plain(std::string_view text) {
  WrittenNumber number;
  return without_sign(text).size() == text.size() && split_number(text, number);
}

bool has_exponent(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  return e != std::string_view::npos && is_plain(text.substr(0, e)) && is_plain(without_sign(text.substr(e + 1)));
}

// Whether the text is like "1,000", "1_000", "1'000" and "12,5".
bool has_separator(std::string_view text) {
  std::string digits(text);
  std::erase_if(digits, [](char c) { return c == ',' || c == '_' || c == '\''; });
  return digits.size() < text.size() && is_digit(text.front()) && is_digit(text.back()) && is_plain(digits);
}

// Returns why a text that is not a plain number is refused.
NumberFault classify(std::string_view text) {
  const std::string_view number = without_sign(text);
  if (is_infinite_or_nan(number)) return NumberFault::not_finite;
  if (has_exponent(number)) return NumberFault::exponent;
  return !number.empty() && has_separator(number) ? NumberFault::separator : NumberFault::no_number;
}

// Converts a float to digits and a power of ten, the shortest that read back as the same float.
template <class T>
NumberFault decimal_of_float(T value, Decimal& number) {
  if (!std::isfinite(value)) return NumberFault::not_finite;
  std::array<char, 32> text{};  // "-d.dddddddddddddddde+308"
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  const char* const e = std::find(text.data(), end, 'e');
  const std::string_view mantissa(text.data(), static_cast<std::size_t>(e - text.data()));
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  if (const NumberFault fault = parse_decimal(mantissa, number); fault != NumberFault::none) return fault;
  if (number.digits == 0) return NumberFault::none;
  number.scale -= exponent;
  if (number.scale > kMaxScale) return NumberFault::decimals;
  if (number.scale >= 0) return NumberFault::none;
  const bool fits = scale_up(number.digits, -number.scale);
  number.scale = 0;
  return fits ? NumberFault::none : NumberFault::too_large;
}

template <class T>
NumberFault decimal_of(T value, Decimal& number) {
  if constexpr (std::is_floating_point_v<T>) {
    return decimal_of_float(value, number);
  } else {
    number = {static_cast<std::int64_t>(value), 0};
    return std::in_range<std::int64_t>(value) ? NumberFault::none : NumberFault::too_large;
  }
}

Code code_of(NumberFault fault) {
  return fault == NumberFault::decimals || fault == NumberFault::too_large ? Code::overflow : Code::malformed;
}

[[noreturn]] void throw_misfit(const Numbers& numbers, std::int64_t index, Decimal value, int scale) {
  throw Error(
      Code::overflow,
      fmt::format("{}: {} is too large: with {}, the maximum in it, a number may be at most {}", numbers.place(index),
                  format_decimal(value.digits, value.scale), decimals_text(scale), format_decimal(kMost, scale)),
      index);
}

// Refuses `text`, which should have been the next number.
[[noreturn]] void refuse_number(const Numbers& numbers, std::string_view text, NumberFault fault, Code code) {
  const std::int64_t index = std::ssize(numbers.values);
  const bool advise = fault == NumberFault::no_number || fault == NumberFault::not_finite;
  throw Error(code,
              fmt::format("{}: '{}' {}{}", numbers.place(index), printable(text, kShown), describe(fault),
                          advise ? fmt::format(": one positive number per {}, such as 12 or 12.50",
                                               numbers.lines ? "line" : "row")
                                 : ""),
              index);
}

// Appends the next number, and converts all numbers to one scale.
void append(Numbers& numbers, Decimal number) {
  const std::int64_t index = std::ssize(numbers.values);
  if (number.digits <= 0) {
    throw Error(Code::not_positive,
                fmt::format("{}: {} is {}; every number must be greater than 0", numbers.place(index),
                            format_decimal(number.digits, number.scale), number.digits == 0 ? "zero" : "negative"),
                index);
  }
  if (number.scale > numbers.scale) raise_scale(numbers, number.scale);
  std::int64_t value = number.digits;
  if (number.scale < numbers.scale && !scale_up(value, numbers.scale - number.scale)) {
    throw_misfit(numbers, index, number, numbers.scale);
  }
  numbers.values.push_back(value);
}

// ---------------------------------------------------------------------------------------------------------------- text

class LineReader {
 public:
  LineReader(int fd, Numbers& numbers) : fd_(fd), numbers_(numbers) { numbers_.lines = true; }

  void read() {
    bool first = true;
    read_blocks(fd_, tuning::kText.numbers, kLongestLine + 1, numbers_.name, [&](std::string_view text, bool last) {
      const char* const front = text.data();
      if (std::exchange(first, false)) text.remove_prefix(begin(text));
      for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        take(text.substr(0, end));
        text.remove_prefix(end + 1);
      }
      if (text.size() > kLongestLine || (last && !text.empty())) take(text);  // refuses a line that is too long
      return static_cast<std::size_t>(text.data() - front);
    });
  }

 private:
  // Returns the number of bytes in front of the first line.
  [[nodiscard]] std::size_t begin(std::string_view text) const {
    const Format format = sniff(text.substr(0, kSniffBytes));
    if (format != Format::unknown) {
      throw Error(Code::malformed,
                  fmt::format("{}: contains {}, but only .npy and text are read from standard input and pipes; save it "
                              "to a file and name that file",
                              numbers_.name, describe(format)));
    }
    return size_of_mark(text);
  }

  void take(std::string_view line) {
    const bool is_long = line.size() > kLongestLine;
    line = trimmed(line);
    if (line.empty() && !is_long) {
      ++empty_;
      return;
    }
    if (empty_ > 0) refuse({}, "is empty, but more lines follow");
    if (is_long) refuse(line, fmt::format("is longer than {} bytes", kLongestLine));
    Decimal number;
    const NumberFault fault = parse_decimal(line, number);
    if (fault != NumberFault::none) refuse(line, fault);
    append(numbers_, number);
  }

  // Text has no control characters. A line that has some is not shown.
  void refuse_binary(std::string_view line) const {
    const auto odd = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; };
    if (!std::any_of(line.begin(), line.end(), odd)) return;
    throw Error(Code::malformed,
                fmt::format("{} contains bytes that are not text; name a text file with one positive number per line, "
                            "or .npy, Parquet, Arrow IPC or .csv",
                            here()),
                index());
  }

  [[noreturn]] void refuse(std::string_view line, std::string_view what) const {
    refuse_binary(line);
    throw Error(Code::malformed, fmt::format("{} {}: one positive number per line, such as 12 or 12.50", here(), what),
                index());
  }

  [[noreturn]] void refuse(std::string_view line, NumberFault fault) const {
    refuse_binary(line);
    refuse_number(numbers_, line, fault, code_of(fault));
  }

  [[nodiscard]] std::int64_t index() const { return std::ssize(numbers_.values); }
  [[nodiscard]] std::string here() const { return numbers_.place(index()); }

  int fd_;
  Numbers& numbers_;
  std::int64_t empty_ = 0;  // empty lines; no other line may follow them
};

// ------------------------------------------------------------------------------------------------------------- columns

template <class T>
void append_all(Numbers& numbers, const T* elements, std::int64_t n, int scale) {
  for (std::int64_t i = 0; i < n; ++i) {
    Decimal number;
    const NumberFault fault = decimal_of(elements[i], number);
    if (fault != NumberFault::none) {
      const std::int64_t row = std::ssize(numbers.values);
      throw Error(code_of(fault), fmt::format("{}: {} {}", numbers.place(row), elements[i], describe(fault)), row);
    }
    number.scale += scale;
    append(numbers, number);
  }
}

void read_column(ColumnReader& reader, Numbers& numbers) {
  const ColumnInfo& info = reader.info();
  numbers.name = info.name;
  numbers.remarks = reader.remarks();
  if (info.meaning != Meaning::number && info.meaning != Meaning::decimal) {
    const std::string_view what = info.meaning == Meaning::date      ? "dates"
                                  : info.meaning == Meaning::boolean ? "booleans"
                                                                     : "times";
    throw Error(Code::unsupported_type, fmt::format("{}: contains {}; name a column of numbers", info.name, what));
  }
  const int scale = info.meaning == Meaning::decimal ? info.scale : 0;
  numbers.scale = scale;
  for (;;) {
    const Chunk chunk = reader.next(tuning::kText.chunk);
    if (chunk.count == 0) return;
    visit_type(info.type, [&]<class T>(std::type_identity<T>) {
      append_all(numbers, static_cast<const T*>(chunk.data), chunk.count, scale);
    });
  }
}

// ----------------------------------------------------------------------------------------------------------- CSV cells

// NULL is also empty.
void append_cell(Numbers& numbers, std::string_view cell) {
  cell = trimmed(cell);
  if (cell.empty()) {
    const std::int64_t row = std::ssize(numbers.values);
    throw Error(Code::null_value,
                fmt::format("{} is empty; fill missing values or drop their rows first", numbers.place(row)), row);
  }
  Decimal number;
  const NumberFault fault = parse_decimal(cell, number);
  if (fault != NumberFault::none) {
    // A column whose first cell is not a number is a column of text.
    const bool is_text = fault == NumberFault::no_number && numbers.values.empty();
    refuse_number(numbers, cell, fault, is_text ? Code::unsupported_type : code_of(fault));
  }
  append(numbers, number);
}

// Whether the cells of a column are written like lines of text. Other forms, such as 1.234,50, are read as numbers.
bool has_plain_numbers(const Table& table) {
  const auto* const file = dynamic_cast<const FileTable*>(&table);
  return file == nullptr || file->has_plain_numbers();
}

void read_cells(TableColumn csv, Numbers& numbers) {
  numbers.name = csv.name;
  const std::shared_ptr<const Table> table = std::move(csv.table);
  numbers.remarks = table->remarks();
  numbers.placed = [table, column = csv.column](std::int64_t row) { return table->place(row, column); };
  for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
    const auto reader = table->open(row_group, {csv.column});
    for (Batch batch; reader->next(batch);) {
      const ColumnData& data = batch.columns[0];
      const auto* const indices = static_cast<const std::int32_t*>(data.values);
      for (std::int64_t i = 0; i < batch.rows; ++i) {
        append_cell(numbers, is_null(data, i) ? "" : (*data.dictionary)[static_cast<std::size_t>(indices[i])]);
      }
    }
  }
}

}  // namespace

NumberFault parse_decimal(std::string_view text, Decimal& number) {
  WrittenNumber written;
  if (!split_number(text, written)) return classify(text);
  while (written.decimals.ends_with('0')) written.decimals.remove_suffix(1);
  if (written.decimals.size() > kMaxScale) return NumberFault::decimals;
  number.scale = static_cast<int>(written.decimals.size());
  return scaled_by(written, number.scale, number.digits) ? NumberFault::none : NumberFault::too_large;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view without_sign(std::string_view text) noexcept {
  return text.substr(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
}

bool is_infinite_or_nan(std::string_view text) noexcept {
  return is_in_any_case(text, "nan") || is_in_any_case(text, "inf") || is_in_any_case(text, "infinity");
}

std::string_view describe(NumberFault fault) noexcept {
  switch (fault) {
    case NumberFault::no_number:
      return "is not a number";
    case NumberFault::not_finite:
      return "is not a finite number";
    case NumberFault::exponent:
      return "has an exponent: write its digits out, such as 1200 or 0.012";
    case NumberFault::separator:
      return "has a separator: write a point before decimals, as in 1234.56, and nothing between other digits";
    case NumberFault::decimals:
      return "has more than 18 decimals";
    case NumberFault::too_large:
      return "is too large: without its point, a number may be at most 9223372036854775807";
    case NumberFault::none:
      return "is a number";
  }
  detail::no_such_value();
}

std::string decimals_text(int scale) { return fmt::format("{} decimal{}", scale, scale == 1 ? "" : "s"); }

bool scale_up(std::int64_t& digits, int places) noexcept {
  for (int i = 0; i < places && digits != 0; ++i) {
    if (__builtin_mul_overflow(digits, 10, &digits)) return false;
  }
  return true;
}

std::string Numbers::place(std::int64_t index) const {
  if (placed) return fmt::format("{}: {}", name, placed(index));
  return lines ? fmt::format("{}: line {}", name, index + 1) : fmt::format("{}: row {}", name, index);
}

void raise_scale(Numbers& numbers, int scale) {
  const int places = scale - numbers.scale;
  std::int64_t factor = 1;
  const bool any_fits = scale_up(factor, places);
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    std::int64_t raised = 0;
    if (!any_fits || __builtin_mul_overflow(numbers.values[i], factor, &raised)) {
      throw_misfit(numbers, static_cast<std::int64_t>(i), {numbers.values[i], numbers.scale}, scale);
    }
    numbers.values[i] = raised;
  }
  numbers.scale = scale;
}

Numbers read_numbers(std::string_view source, const CsvOptions& csv) {
  Numbers numbers;
  const Source found = split_source(std::string(source));
  Opened opened = found.path == "-" ? open_standard_input() : open_file(found.path);
  if (is_decompressed(opened.format)) opened = at_any_place(std::move(opened), {});
  numbers.name = opened.path.name;
  const bool once = !opened.regular && !found.column;
  if (once && begins_as_npy(opened.file)) {
    ColumnReader reader(open_npy(std::move(opened)));
    read_column(reader, numbers);
  } else if (once || (opened.regular && opened.format == Format::unknown && !found.column)) {
    LineReader(opened.file.get(), numbers).read();
  } else if (auto cells = open_csv_column(source, csv); cells && has_plain_numbers(*cells->table)) {
    read_cells(std::move(*cells), numbers);
  } else {
    read_column(*open_column(source, 0, Nulls::refused, csv), numbers);
  }
  return numbers;
}

std::string table_of(std::string_view source) {
  if (source == "-") return {};
  try {
    const Source found = split_source(std::string(source));
    return found.column ? found.path : std::string();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace upsweep::io
