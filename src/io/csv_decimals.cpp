// SPDX-License-Identifier: Apache-2.0
// io/csv_decimals.cpp: a pass over the bytes of a CSV file for the scales of its columns, and text made into decimals.
#include "io/csv_decimals.hpp"

#include <arrow/array/array_binary.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/decimal.hpp"
#include "io/arrow_elements.hpp"
#include "io/number_lines.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kBlock = 1 << 20;   // of the file, read at once
constexpr std::size_t kLongestCell = 128;  // that may be a number: 38 digits, zeros before and after them, blanks
constexpr int kInt64Digits = 18;           // as many as any 64-bit integer can hold

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

// Finds the cells of some columns in a CSV file that comes piece by piece, by the rules of Arrow's own reader: quotes open
// at the start of a cell only, and "" within them is one. Where quoting is wrong that reader says so later.
class Cells {
 public:
  explicit Cells(const std::vector<int>& columns) : places_(static_cast<std::size_t>(columns.back()) + 1, -1) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      places_[static_cast<std::size_t>(columns[i])] = static_cast<int>(i);
    shapes_.resize(columns.size());
  }

  void take(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) at = state_ == State::plain ? take_plain(at, end) : take_quoted(at, end);
  }

  // A last line need not end.
  const std::vector<Shape>& finish() {
    end_cell({cell_.data(), length_});
    return shapes_;
  }

  // Whether more of the file can make a difference.
  [[nodiscard]] bool undecided() const {
    return std::any_of(shapes_.begin(), shapes_.end(), [](const Shape& shape) { return shape.plain(); });
  }

 private:
  enum class State : std::uint8_t { plain, quoted, after_quote };

  const char* take_plain(const char* at, const char* end) {
    static constexpr auto kEnds = [] {
      std::array<bool, 256> ends{};
      for (const char c : {',', '\n', '\r', '"'}) ends[static_cast<unsigned char>(c)] = true;
      return ends;
    }();
    const char* stop = skip_number(at, end);
    if (stop == at) {
      while (stop < end && !kEnds[static_cast<unsigned char>(*stop)]) ++stop;
      const bool ends = stop < end && *stop != '"';
      if (ends && length_ == 0) {  // all of it lies here
        end_cell({at, static_cast<std::size_t>(stop - at)});
      } else {
        append({at, static_cast<std::size_t>(stop - at)});
        if (ends) end_cell({cell_.data(), length_});
      }
      if (stop == end) return end;
    }
    if (*stop == '"') open_quote();
    if (*stop == ',') begin_cell();
    if (*stop == '\n' || *stop == '\r') begin_line();
    return stop + 1;
  }

  // The end of the cell that begins here, where it is a number that has no more digits than those before it, as most have;
  // else `at`.
  [[nodiscard]] const char* skip_number(const char* at, const char* end) const {
    if (shape_ == nullptr || length_ > 0 || was_quoted_) return at;
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
    const bool ends = stop < end && (*stop == ',' || *stop == '\n' || *stop == '\r');
    return ends && shape_->holds(digits, static_cast<std::size_t>(stop - decimals)) ? stop : at;
  }

  const char* take_quoted(const char* at, const char* end) {
    if (state_ == State::after_quote) {
      state_ = *at == '"' ? State::quoted : State::plain;
      if (state_ == State::plain) return at;
      append({at, 1});
      return at + 1;
    }
    const auto* const quote = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    append({at, static_cast<std::size_t>((quote == nullptr ? end : quote) - at)});
    if (quote == nullptr) return end;
    state_ = State::after_quote;
    return quote + 1;
  }

  void open_quote() {
    if (length_ == 0 && !was_quoted_) {
      state_ = State::quoted;
      was_quoted_ = true;
    } else {
      append("\"");
    }
    begun_ = true;
  }

  void append(std::string_view text) {
    begun_ = begun_ || !text.empty();
    // Of a longer one, what is kept is too long to be a number.
    const std::size_t kept = std::min(text.size(), cell_.size() - length_);
    std::copy_n(text.begin(), kept, cell_.begin() + static_cast<std::ptrdiff_t>(length_));
    length_ += kept;
  }

  void end_cell(std::string_view cell) {
    begun_ = begun_ || !cell.empty();
    if (shape_ != nullptr) shape_->add(cell, was_quoted_);
    length_ = 0;
    was_quoted_ = false;
  }

  void begin_cell() {
    begun_ = true;
    begin_column(column_ + 1);
  }

  // The first line that holds anything is the one of names.
  void begin_line() {
    is_header_ = is_header_ && !begun_;
    begun_ = false;
    begin_column(0);
  }

  // Of the header, and of columns that were not asked for, nothing is kept in mind.
  void begin_column(std::size_t column) {
    column_ = column;
    const int place = column < places_.size() && !is_header_ ? places_[column] : -1;
    shape_ = place < 0 ? nullptr : &shapes_[static_cast<std::size_t>(place)];
  }

  std::vector<int> places_;  // which shape a column has; -1: none
  std::vector<Shape> shapes_;
  std::array<char, kLongestCell + 1> cell_{};
  std::size_t length_ = 0;  // of the cell at hand, as far as it is kept
  std::size_t column_ = 0;  // its number
  Shape* shape_ = nullptr;  // of its column
  State state_ = State::plain;
  bool was_quoted_ = false;  // it began with a quote
  bool begun_ = false;       // its line holds something
  bool is_header_ = true;
};

// f of each block of the file, until that is false.
template <class F>
void each_block(const std::string& path, F f) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_read_error(path, errno);
  std::vector<char> block(kBlock);
  std::int64_t got = kBlock;
  bool wanted = true;
  while (got == kBlock && wanted) {
    got = read_fully(file.get(), block.data(), kBlock, path);
    wanted = f(std::string_view(block.data(), static_cast<std::size_t>(got)));
  }
}

// Where there is none, which takes a tenth of the time to find, there is no need to look at cells.
bool has_point(const std::string& path) {
  bool found = false;
  each_block(path, [&](std::string_view text) {
    found = text.find('.') != std::string_view::npos;
    return !found;
  });
  return found;
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

std::vector<std::shared_ptr<arrow::DataType>> find_decimals(const std::string& path, const std::vector<int>& columns,
                                                            int most_digits) {
  std::vector<std::shared_ptr<arrow::DataType>> types(columns.size());
  if (columns.empty() || !has_point(path)) return types;
  Cells cells(columns);
  each_block(path, [&](std::string_view text) {
    cells.take(text);
    return cells.undecided();
  });
  const auto& shapes = cells.finish();
  std::transform(shapes.begin(), shapes.end(), types.begin(),
                 [&](const Shape& shape) { return shape.type(most_digits); });
  return types;
}

std::shared_ptr<arrow::DataType> type_in_csv(const std::shared_ptr<arrow::DataType>& type) {
  return arrow::is_decimal(type->id()) ? arrow::utf8() : type;
}

arrow::Result<std::shared_ptr<arrow::Array>> decimals_of(const arrow::Array& cells,
                                                         const std::shared_ptr<arrow::DataType>& type,
                                                         const std::string& name, std::int64_t first_row) {
  const auto& text = static_cast<const arrow::StringArray&>(cells);
  return type->id() == arrow::Type::DECIMAL64 ? convert<std::int64_t>(text, type, name, first_row)
                                              : convert<Int128>(text, type, name, first_row);
}

}  // namespace upsweep::io
