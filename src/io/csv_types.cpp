// SPDX-License-Identifier: Apache-2.0
// io/csv_types.cpp: a pass over the bytes of a CSV file that finds the types of its columns.
//
// The pass looks at every cell of every column that may still be something other than text. It loads 64 bytes at a time, and
// makes bits of them that say where digits, quotes and ends of cells are. Most cells are numbers or dates, of which these bits
// tell all that counts; cell_of() tells what the others are.
#include "io/csv_types.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <atomic>
#include <bit>
#include <cstring>
#include <limits>

#include "io/csv_quotes.hpp"
#include "io/table.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

constexpr int kWindow = 64;  // bytes, for each of which an integer has a bit
static_assert(kWindow <= kReadPast);

// What the bytes from a place on are, a bit for each.
struct Window {
  std::uint64_t digits = 0;
  std::uint64_t ends = 0;  // of cells that are not in quotes
  std::uint64_t quotes = 0;
};

#if defined(__SSE2__)
Window window_at(const char* bytes) {
  Window window;
  for (int i = 0; i < kWindow; i += 16) {
    const __m128i group = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
    const auto bits = [i](__m128i equal) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal))) << i;
    };
    const auto places_of = [&](char c) { return _mm_cmpeq_epi8(group, _mm_set1_epi8(c)); };
    const __m128i values = _mm_sub_epi8(group, _mm_set1_epi8('0'));
    const __m128i lines = _mm_or_si128(places_of('\n'), places_of('\r'));
    window.digits |= bits(_mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values));
    window.ends |= bits(_mm_or_si128(places_of(','), lines));
    window.quotes |= bits(places_of('"'));
  }
  return window;
}
#else
Window window_at(const char* bytes) {
  Window window;
  for (int i = 0; i < kWindow; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (is_digit(bytes[i])) window.digits |= bit;
    if (ends_field(bytes[i])) window.ends |= bit;
    if (bytes[i] == '"') window.quotes |= bit;
  }
  return window;
}
#endif

// Where a cell that begins here ends: at a separator or at the end of the text. A quote opens at the start of a cell only, and
// "" within quotes is one. Where quoting is wrong the reader says so later.
const char* cell_end(const char* at, const char* end) {
  if (at < end && *at == '"') {
    do {
      const auto* const quote =
          static_cast<const char*>(std::memchr(at + 1, '"', static_cast<std::size_t>(end - at - 1)));
      if (quote == nullptr) return end;
      at = quote + 1;
    } while (at < end && *at == '"');
  }
  for (; at < end; at += kWindow) {
    if (const std::uint64_t ends = window_at(at).ends; ends != 0) return std::min(at + std::countr_zero(ends), end);
  }
  return end;
}

// Columns that some thread has found to be text: the others need not look at their cells.
using FoundText = std::vector<std::atomic<bool>>;

// Goes through the cells of whole rows, by the rules of Arrow's own reader, for the shapes of some columns.
class CellScan {
 public:
  CellScan(const std::vector<int>& columns, int all_columns, FoundText& found_text)
      : found_text_(found_text),
        last_column_(static_cast<std::size_t>(all_columns) - 1),
        shapes_(columns.size()),
        places_(static_cast<std::size_t>(columns.back()) + 1) {
    for (std::size_t i = 0; i < columns.size(); ++i) places_[static_cast<std::size_t>(columns[i])] = &shapes_[i];
  }

  // Whether more rows can make a difference.
  bool leave_text_out() {
    bool undecided = false;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (shapes_[i].is_text()) found_text_[i].store(true, std::memory_order_relaxed);
      const bool text = found_text_[i].load(std::memory_order_relaxed);
      if (text) std::replace(places_.begin(), places_.end(), &shapes_[i], static_cast<ColumnShape*>(nullptr));
      undecided = undecided || !text;
    }
    find_shape();
    return undecided;
  }

  // Takes the cells that the text holds to their ends, and returns how many bytes they are. The last one need not end.
  std::size_t take(std::string_view text, bool last) {
    const char* const end = text.data() + text.size();
    const char* at = text.data();
    load(at);
    while (at < end) {
      const char* stop = take_short(at, end);
      if (stop == nullptr) {
        stop = cell_end(at, end);
        if (stop == end && !last) break;
        if (shape_ != nullptr) add({at, static_cast<std::size_t>(stop - at)});
      }
      if (stop == end) return text.size();
      if (*stop == ',') {
        ++column_;
      } else {
        const bool is_empty_line = column_ == 0 && stop == at;
        has_other_lengths_ = has_other_lengths_ || (column_ != last_column_ && !is_empty_line);
        column_ = 0;
      }
      find_shape();
      at = stop + 1;
    }
    return static_cast<std::size_t>(at - text.data());
  }

  [[nodiscard]] const std::vector<ColumnShape>& shapes() const { return shapes_; }
  [[nodiscard]] bool has_other_lengths() const { return has_other_lengths_; }

 private:
  void load(const char* at) {
    begin_ = at;
    window_ = window_at(at);
  }

  // The end of the cell that begins here, where it is within the window and nothing is left to be done about the cell; otherwise
  // null. A window that ends before the cell does is moved.
  const char* take_short(const char* at, const char* end) {
    const bool quoted = *at == '"';
    const char* const first = quoted ? at + 1 : at;
    const auto bits = [&] { return quoted ? window_.quotes : window_.ends; };
    auto from = static_cast<std::size_t>(first - begin_);
    if (from >= kWindow || bits() >> from == 0) {
      load(first);
      from = 0;
      if (bits() == 0) return nullptr;
    }
    const auto length = static_cast<unsigned>(std::countr_zero(bits() >> from));
    const char* const stop = first + length + (quoted ? 1 : 0);
    if (stop >= end || (quoted && !ends_field(*stop))) return nullptr;
    if (shape_ == nullptr || length == 0) return stop;
    const std::uint64_t others = ~(window_.digits >> from) & ((std::uint64_t{1} << length) - 1);
    return add_plain(first, length, others) ? stop : nullptr;
  }

  // Of a cell with these bytes that are not digits. False where it is none of a number of up to 18 digits and a date.
  bool add_plain(const char* first, unsigned length, std::uint64_t others) {
    const unsigned sign = *first == '-' ? 1 : 0;
    others &= ~std::uint64_t{sign};
    const unsigned whole = (others == 0 ? length : static_cast<unsigned>(std::countr_zero(others))) - sign;
    const bool zero = first[sign] == '0';
    if (zero && whole > 1) return false;  // a code, or more digits than count
    const unsigned counted = whole - (zero && whole == 1 ? 1 : 0);
    if (others == 0) {
      if (whole == 0 || whole > kInt64Digits) return false;
      shape_->add_integer(counted, sign != 0);
      return true;
    }
    const unsigned decimals = length - sign - whole - 1;
    if (std::has_single_bit(others) && first[sign + whole] == '.' && decimals > 0) {
      shape_->add_decimal(counted, decimals);
      return true;
    }
    constexpr std::uint64_t kDashes = 1U << 4 | 1U << 7;  // of 2001-12-31
    if (length != 10 || others != kDashes || !is_date({first, length})) return false;
    shape_->add_date();
    return true;
  }

  void add(std::string_view cell) {
    const bool quoted = cell.starts_with('"');
    if (quoted) cell.remove_prefix(1);
    if (quoted && cell.ends_with('"')) cell.remove_suffix(1);
    shape_->add(cell_of(cell));
  }

  void find_shape() { shape_ = column_ < places_.size() ? places_[column_] : nullptr; }

  FoundText& found_text_;
  std::size_t last_column_;
  bool has_other_lengths_ = false;  // some row has more cells than the header row, or fewer
  std::vector<ColumnShape> shapes_;
  std::vector<ColumnShape*> places_;  // of each column; null: its cells are not looked at
  Window window_;
  const char* begin_ = nullptr;   // of the window
  std::size_t column_ = 0;        // of the cell at hand
  ColumnShape* shape_ = nullptr;  // of its column
};

FoundShapes shapes_of(const std::shared_ptr<const CsvFile>& file, const CsvPiece& piece,
                      const std::vector<int>& columns, int all_columns, FoundText& found_text) {
  CellScan scan(columns, all_columns, found_text);
  CsvText source(file, piece.begin, piece.end, kCsvBlock);
  while (scan.leave_text_out()) {
    const std::string_view text = source.next();
    if (text.empty()) break;
    source.take(scan.take(text, source.last()));
  }
  return {scan.shapes(), scan.has_other_lengths()};
}

}  // namespace

void ColumnShape::add(const Cell& cell) {
  const std::string_view digits = cell.number.whole;
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  const std::size_t whole = digits.size() - zeros;
  if (cell.kind == CellKind::decimal) return add_decimal(whole, cell.number.decimals.size());
  if (cell.kind != CellKind::integer) return add_kind(cell.kind);
  add_integer(whole, cell.number.negative);
  if (whole <= kInt64Digits) return;
  Int128 value = 0;
  const bool held = scaled_by(cell.number, 0, value);
  past_int64_ = past_int64_ || !held || value != static_cast<std::int64_t>(value);
  past_uint64_ = past_uint64_ || !held || value != static_cast<Int128>(static_cast<std::uint64_t>(value));
}

void ColumnShape::add(const ColumnShape& other) {
  kinds_ |= other.kinds_;
  whole_ = std::max(whole_, other.whole_);
  decimals_ = std::max(decimals_, other.decimals_);
  negative_ = negative_ || other.negative_;
  past_int64_ = past_int64_ || other.past_int64_;
  past_uint64_ = past_uint64_ || other.past_uint64_;
}

std::string_view ColumnShape::content() const {
  const bool numbers = has(CellKind::integer) || has(CellKind::decimal) || has(CellKind::real);
  if (has(CellKind::text) ||
      (numbers ? 1 : 0) + (has(CellKind::date) ? 1 : 0) + (has(CellKind::boolean) ? 1 : 0) != 1) {
    return {};
  }
  return numbers ? "numbers" : has(CellKind::date) ? "dates" : "booleans";
}

bool ColumnShape::is_text() const {
  constexpr unsigned kNulls =
      1U << static_cast<unsigned>(CellKind::empty) | 1U << static_cast<unsigned>(CellKind::missing);
  return content().empty() && (kinds_ & ~kNulls) != 0;
}

std::shared_ptr<arrow::DataType> ColumnShape::type(int most_digits) const {
  auto text = arrow::dictionary(arrow::int32(), arrow::utf8());
  if (is_text() || (content().empty() && has(CellKind::missing))) return text;
  if (content().empty()) return arrow::null();
  if (has(CellKind::date)) return arrow::date32();
  if (has(CellKind::boolean)) return arrow::boolean();
  const std::size_t digits = whole_ + decimals_;
  const bool is_decimal = has(CellKind::decimal) && digits <= static_cast<std::size_t>(most_digits);
  if (has(CellKind::real) || (has(CellKind::decimal) && !is_decimal)) return arrow::float64();
  const int scale = static_cast<int>(decimals_);
  constexpr int kMost = arrow::Decimal128Type::kMaxPrecision;
  if (is_decimal) {
    return digits <= kInt64Digits ? arrow::decimal64(kInt64Digits, scale) : arrow::decimal128(kMost, scale);
  }
  if (!is_past_64_bits()) return past_int64_ ? arrow::uint64() : arrow::int64();
  return whole_ <= kMost ? arrow::decimal128(kMost, 0) : text;
}

FoundShapes find_shapes(const std::shared_ptr<const CsvFile>& file, const std::vector<CsvPiece>& pieces,
                        const std::vector<int>& columns, int all_columns, int threads) {
  FoundShapes all{std::vector<ColumnShape>(columns.size())};
  if (columns.empty()) return all;
  FoundText found_text(columns.size());
  std::vector<FoundShapes> found(pieces.size());
  run_each(found.size(), threads,
           [&](std::size_t i) { found[i] = shapes_of(file, pieces[i], columns, all_columns, found_text); });
  for (const FoundShapes& piece : found) {
    for (std::size_t column = 0; column < columns.size(); ++column) all.shapes[column].add(piece.shapes[column]);
    all.has_other_lengths = all.has_other_lengths || piece.has_other_lengths;
  }
  return all;
}

}  // namespace upsweep::io
