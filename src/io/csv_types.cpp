// SPDX-License-Identifier: Apache-2.0
// io/csv_types.cpp: a pass over the bytes of a CSV file that finds the types of its columns.
//
// The pass examines every cell of every column that may still be something other than text, column by column within a
// block. Most cells are numbers or dates. For these, the places of the bytes that are not digits determine all that is
// needed. cell_of() classifies the others.
#include "io/csv_types.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>

#include "io/csv_block.hpp"
#include "io/table.hpp"
#include "io/tuning.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

constexpr std::size_t kMostPlain = 64;  // bytes; an integer has a bit for each
static_assert(kMostPlain <= kReadPast);

// Returns a bit for each byte that is not a digit, of 1 to kMostPlain bytes.
std::uint64_t others_in(std::string_view text) {
  std::uint64_t others = 0;
#if defined(__SSE2__)
  // Most cells end within the first 16 bytes.
  for (unsigned i = 0; i < text.size(); i += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + i));
    const __m128i values = _mm_sub_epi8(some, _mm_set1_epi8('0'));
    const int digits = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values));
    others |= std::uint64_t{~static_cast<std::uint32_t>(digits) & 0xFFFF} << i;
  }
  return others & (~std::uint64_t{0} >> (kMostPlain - text.size()));
#else
  for (std::size_t i = 0; i < text.size(); ++i) others |= std::uint64_t{is_digit(text[i]) ? 0U : 1U} << i;
  return others;
#endif
}

// Adds a number of up to 18 digits or a date. Returns false if the text is neither.
bool add_plain(std::string_view text, ColumnShape& shape) {
  if (text.size() > kMostPlain) return false;
  const char* const first = text.data();
  const auto length = static_cast<unsigned>(text.size());
  if (length == 10 && first[4] == '-') {  // as in 2001-12-31; a number never has it there
    if (!is_date(text)) return false;
    shape.add_date();
    return true;
  }
  const unsigned sign = *first == '-' ? 1 : 0;
  const std::uint64_t others = others_in(text) & ~std::uint64_t{sign};
  const unsigned whole = (others == 0 ? length : static_cast<unsigned>(std::countr_zero(others))) - sign;
  const bool zero = first[sign] == '0';
  if (zero && whole > 1) return false;  // a code, or a number with leading zeros, which do not count
  const unsigned counted = whole - (zero && whole == 1 ? 1 : 0);
  if (others == 0) {
    if (whole == 0 || whole > kInt64Digits) return false;
    shape.add_integer(counted, sign != 0);
    return true;
  }
  const unsigned decimals = length - sign - whole - 1;
  if (!std::has_single_bit(others) || first[sign + whole] != '.' || decimals == 0) return false;
  shape.add_decimal(counted, decimals);
  return true;
}

void add_cells(const CsvColumn& cells, ColumnShape& shape) {
  ColumnShape found;
  for (std::int64_t row = 0; row < cells.rows(); ++row) {
    const std::string_view text = cells[row].text;
    if (!text.empty() && !add_plain(text, found)) found.add(cell_of(text));
  }
  shape.add(found);
}

// Columns that some thread has found to be text. Other threads then skip their cells.
using FoundText = std::vector<std::atomic<bool>>;

FoundShapes shapes_of(const std::shared_ptr<const CsvFile>& file, const CsvRowGroup& row_group,
                      const std::vector<int>& columns, int all_columns, FoundText& found_text) {
  FoundShapes found{std::vector<ColumnShape>(columns.size())};
  CsvBlocks blocks(file, all_columns, row_group.begin, row_group.end, 0, tuning::kText.block);
  for (;;) {
    std::vector<int> undecided;
    std::vector<ColumnShape*> shapes;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (found.shapes[i].is_text()) found_text[i].store(true, std::memory_order_relaxed);
      if (found_text[i].load(std::memory_order_relaxed)) continue;
      undecided.push_back(columns[i]);
      shapes.push_back(&found.shapes[i]);
    }
    if (undecided.empty()) return found;
    blocks.keep(undecided);
    const auto has_block = blocks.next();
    found.has_fault = !has_block.ok();
    if (!has_block.ok() || !*has_block) return found;
    for (std::size_t i = 0; i < shapes.size(); ++i) add_cells(blocks.column(i), *shapes[i]);
  }
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
  if (is_text()) return text;
  if (has_no_value()) return has(CellKind::missing) ? text : arrow::null();
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

FoundShapes find_shapes(const std::shared_ptr<const CsvFile>& file, const std::vector<CsvRowGroup>& row_groups,
                        const std::vector<int>& columns, int all_columns, int threads) {
  FoundShapes all{std::vector<ColumnShape>(columns.size())};
  if (columns.empty()) return all;
  FoundText found_text(columns.size());
  std::vector<FoundShapes> found(row_groups.size());
  run_each(found.size(), threads,
           [&](std::size_t i) { found[i] = shapes_of(file, row_groups[i], columns, all_columns, found_text); });
  for (const FoundShapes& row_group : found) {
    for (std::size_t column = 0; column < columns.size(); ++column) all.shapes[column].add(row_group.shapes[column]);
    all.has_fault = all.has_fault || row_group.has_fault;
  }
  // Once all columns are text, row groups are not read to their ends. Whether a thread has then seen a fault depends on
  // timing. The reader finds the first fault later.
  all.has_fault = all.has_fault && !std::ranges::all_of(all.shapes, &ColumnShape::is_text);
  return all;
}

}  // namespace upsweep::io
