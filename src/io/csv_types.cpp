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
#include <limits>
#include <mutex>
#include <utility>

#include "io/csv_block.hpp"
#include "io/table.hpp"
#include "io/tuning.hpp"
#include "upsweep/detail/unreachable.hpp"
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
bool add_plain(std::string_view text, char point, ColumnShape& shape) {
  if (text.size() > kMostPlain) return false;
  const char* const first = text.data();
  const auto length = static_cast<unsigned>(text.size());
  if (length == 10 && first[4] == '-') {  // as in 2001-12-31; a number never has it there
    const auto year = year_of_date(text);
    if (year) shape.add_moment(CellKind::date, {.has_date = true, .orders = year_month_day, .year = *year});
    return year.has_value();
  }
  const bool is_date = length == 10 && (first[2] == '.' || first[2] == '/') && first[5] == first[2];
  if (is_date || (length == 19 && first[4] == '-' && first[13] == ':')) {
    Moment moment;
    if (!parse_moment(text, moment)) return false;
    shape.add_moment(moment.has_time ? CellKind::timestamp : CellKind::date, moment);
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
  const bool is_one = (others & (others - 1)) == 0;
  if (!is_one || first[sign + whole] != point || decimals == 0) return false;
  shape.add_decimal(counted, text.substr(length - decimals));
  return true;
}

void add_cells(const CsvColumn& cells, const CsvValues& values, ColumnShape& shape) {
  ColumnShape found;
  found.set_values(values);
  CellReader reader(values);
  const bool is_plain = !values.nulls && values.date_format.empty();
  for (std::int64_t row = 0; row < cells.rows(); ++row) {
    const std::string_view text = cells[row].text;
    if (!text.empty() && !(is_plain && add_plain(text, values.decimal, found))) found.add(reader(text));
  }
  shape.add(found);
}

// Columns that some thread has found to be text. Other threads then skip their cells.
using FoundText = std::vector<std::atomic<bool>>;

FoundShapes shapes_of(const std::shared_ptr<const CsvFile>& file, const CsvRowGroup& row_group,
                      const std::vector<int>& columns, int all_columns, FoundText& found_text,
                      const CsvMemory* memory) {
  FoundShapes found{std::vector<ColumnShape>(columns.size())};
  CsvBlocks blocks(file, all_columns, row_group.begin, row_group.end, 0, tuning::kText.block);
  if (memory != nullptr && memory->holds(row_group.begin, row_group.end)) blocks.use(*memory);
  for (;;) {
    std::vector<int> undecided;
    std::vector<ColumnShape*> shapes;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (found.shapes[i].is_certain_text()) found_text[i].store(true, std::memory_order_relaxed);
      if (found_text[i].load(std::memory_order_relaxed)) continue;
      undecided.push_back(columns[i]);
      shapes.push_back(&found.shapes[i]);
    }
    if (undecided.empty()) return found;
    blocks.keep(undecided);
    const auto has_block = blocks.next();
    found.has_fault = !has_block.ok();
    if (!has_block.ok() || !*has_block) return found;
    for (std::size_t i = 0; i < shapes.size(); ++i) add_cells(blocks.column(i), file->dialect.values, *shapes[i]);
  }
}

}  // namespace

void ColumnShape::add(const Cell& cell) {
  const std::string_view digits = cell.number.whole;
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  const std::size_t whole = digits.size() - zeros;
  add_marks(cell);
  if (cell.kind == CellKind::percent) return add_number(cell.kind, whole, cell.number.decimals.size());
  if (cell.kind == CellKind::decimal) return add_decimal(whole, cell.number.decimals);
  if (cell.kind != CellKind::integer) return add_kind(cell.kind);
  add_integer(whole, cell.number.negative);
  if (whole <= kInt64Digits) return;
  Int128 value = 0;
  const bool held = scaled_by(cell.number, 0, value);
  past_int64_ = past_int64_ || !held || value != static_cast<std::int64_t>(value);
  past_uint64_ = past_uint64_ || !held || value != static_cast<Int128>(static_cast<std::uint64_t>(value));
}

void ColumnShape::add_marks(const Cell& cell) {
  switch (cell.kind) {
    case CellKind::integer:
    case CellKind::decimal:
    case CellKind::percent:
      marked_ = marked_ || !cell.is_plain;
      doubtful_ = doubtful_ || cell.marks.doubtful;
      grouped_ = grouped_ || cell.marks.grouped;
      pointed_ = pointed_ || cell.marks.pointed;
      return add_currency(cell.marks.currency);
    case CellKind::date:
    case CellKind::timestamp:
    case CellKind::time:
      return add_moment(cell.kind, cell.moment);
    default:
      return;
  }
}

void ColumnShape::add_currency(std::uint8_t currency) {
  if (currency == 0 || currency == currency_) return;
  currency_ = currency_ == 0 ? currency : kSeveral;
}

WrittenNumbers ColumnShape::written(const CsvValues& values) const {
  WrittenNumbers numbers{.are_percentages = has(CellKind::percent)};
  const bool shows_thousands = grouped_ && (values.thousands == "," || values.thousands == ".");
  if (has(CellKind::decimal) || pointed_ || shows_thousands) numbers.decimal = values.decimal;
  if (currency_ != 0) numbers.currency = currency_name(currency_);
  return numbers;
}

std::string_view ColumnShape::conflict() const {
  constexpr std::size_t kMost = arrow::Decimal128Type::kMaxPrecision;
  const std::string_view all = content();
  const bool are_reals = has(CellKind::real);
  const bool are_integers = has(CellKind::integer);
  if (all == "dates" || all == "timestamps") {
    if (orders_ == 0) {
      return has_date_format_ ? "dates do not all have the form of --date-format"
                              : "dates are neither all day/month nor all month/day";
    }
    if (has(CellKind::timestamp) && zoned_ && (unzoned_ || has(CellKind::date)))
      return "timestamps are with and without an offset from UTC";
    if (far_ && digits_ > 6) return "timestamps with nanoseconds are outside the years 1678 to 2261";
  }
  if (all != "numbers") return {};
  if (currency_ == kSeveral) return "numbers have several currencies";
  if (has(CellKind::percent) && (are_integers || are_reals || has(CellKind::decimal)))
    return "numbers are with and without a percent sign";
  // As float64, such an integer would have another value. So would a decimal, but texts with exponents were floats.
  const bool are_past_decimals = (has(CellKind::decimal) || has(CellKind::percent)) && whole_ + decimals_ > kMost;
  const bool is_integer_changed =
      (are_reals || are_past_decimals) && are_integers && whole_ > std::numeric_limits<double>::digits10;
  if (is_integer_changed || (!are_reals && are_past_decimals && long_))
    return "numbers have more digits than a decimal of 38 digits or a float64 holds";
  return {};
}

std::string_view ColumnShape::doubt() const {
  if (!has_doubt() || !conflict().empty() || content().empty()) return {};
  if (doubtful_) return "numbers such as 1,234 may have thousands or decimals; --thousands or --decimal decides";
  return has_doubtful_point()
             ? "numbers such as 1.234 may have thousands or decimals; --thousands . or --decimal . decides"
             : "dates may be day/month or month/day; --date-format %d/%m/%Y or %m/%d/%Y decides";
}

void ColumnShape::add(const ColumnShape& other) {
  kinds_ |= other.kinds_;
  long_ = long_ || other.long_;
  not_groups_ = not_groups_ || other.not_groups_;
  point_is_doubtful_ = point_is_doubtful_ || other.point_is_doubtful_;
  has_date_format_ = has_date_format_ || other.has_date_format_;
  whole_ = std::max(whole_, other.whole_);
  decimals_ = std::max(decimals_, other.decimals_);
  negative_ = negative_ || other.negative_;
  past_int64_ = past_int64_ || other.past_int64_;
  past_uint64_ = past_uint64_ || other.past_uint64_;
  marked_ = marked_ || other.marked_;
  doubtful_ = doubtful_ || other.doubtful_;
  grouped_ = grouped_ || other.grouped_;
  pointed_ = pointed_ || other.pointed_;
  add_currency(other.currency_);
  orders_ &= other.orders_;
  zoned_ = zoned_ || other.zoned_;
  unzoned_ = unzoned_ || other.unzoned_;
  far_ = far_ || other.far_;
  digits_ = std::max(digits_, other.digits_);
}

std::string_view ColumnShape::content() const {
  const bool numbers =
      has(CellKind::integer) || has(CellKind::decimal) || has(CellKind::percent) || has(CellKind::real);
  const bool days = has(CellKind::date) || has(CellKind::timestamp);
  const auto one_if = [](bool condition) { return condition ? 1 : 0; };
  const int kinds = one_if(numbers) + one_if(days) + one_if(has(CellKind::time)) + one_if(has(CellKind::boolean));
  if (has(CellKind::text) || kinds != 1) return {};
  if (days) return has(CellKind::timestamp) ? "timestamps" : "dates";
  return numbers ? "numbers" : has(CellKind::time) ? "times" : "booleans";
}

bool ColumnShape::is_text() const {
  constexpr unsigned kNulls =
      1U << static_cast<unsigned>(CellKind::empty) | 1U << static_cast<unsigned>(CellKind::missing);
  return (content().empty() && (kinds_ & ~kNulls) != 0) || !conflict().empty() || has_doubt();
}

std::shared_ptr<arrow::DataType> ColumnShape::type(int most_digits) const {
  auto text = arrow::dictionary(arrow::int32(), arrow::utf8());
  if (is_text()) return text;
  if (has_no_value()) return has(CellKind::missing) ? text : arrow::null();
  const auto unit = digits_ > 6 ? arrow::TimeUnit::NANO : arrow::TimeUnit::MICRO;
  if (has(CellKind::timestamp)) return zoned_ ? arrow::timestamp(unit, "UTC") : arrow::timestamp(unit);
  if (has(CellKind::time)) return arrow::time64(unit);
  if (has(CellKind::date)) return arrow::date32();
  if (has(CellKind::boolean)) return arrow::boolean();
  const std::size_t digits = whole_ + decimals_;
  const bool has_decimals = has(CellKind::decimal) || has(CellKind::percent);
  const bool is_decimal = has_decimals && digits <= static_cast<std::size_t>(most_digits);
  if (has(CellKind::real) || (has_decimals && !is_decimal)) return arrow::float64();
  const int scale = static_cast<int>(decimals_);
  constexpr int kMost = arrow::Decimal128Type::kMaxPrecision;
  if (is_decimal) {
    return digits <= kInt64Digits ? arrow::decimal64(kInt64Digits, scale) : arrow::decimal128(kMost, scale);
  }
  if (!is_past_64_bits()) return past_int64_ ? arrow::uint64() : arrow::int64();
  return whole_ <= kMost ? arrow::decimal128(kMost, 0) : text;
}

std::shared_ptr<arrow::DataType> arrow_type_of(CsvRequiredType type) {
  switch (type.type) {
    case CsvType::text:
      return arrow::dictionary(arrow::int32(), arrow::utf8());
    case CsvType::int64:
      return arrow::int64();
    case CsvType::uint64:
      return arrow::uint64();
    case CsvType::decimal:
      return arrow::decimal128(arrow::Decimal128Type::kMaxPrecision, type.scale);
    case CsvType::float64:
      return arrow::float64();
    case CsvType::date:
      return arrow::date32();
    case CsvType::time:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case CsvType::timestamp:
      return arrow::timestamp(arrow::TimeUnit::MICRO);
    case CsvType::boolean:
      return arrow::boolean();
  }
  detail::no_such_value();
}

CsvContent find_content(const std::shared_ptr<const CsvFile>& file, std::int64_t begin, std::int64_t until,
                        const std::vector<int>& columns, int all_columns, int threads) {
  FoundText found_text(columns.size());
  std::mutex mutex;
  CsvContent content{{}, {std::vector<ColumnShape>(columns.size())}};
  FoundShapes& all = content.found;
  const auto add = [&](const CsvRowGroup& row_group, const CsvMemory* memory) {
    const FoundShapes found = shapes_of(file, row_group, columns, all_columns, found_text, memory);
    const std::lock_guard lock(mutex);
    for (std::size_t column = 0; column < columns.size(); ++column) all.shapes[column].add(found.shapes[column]);
    all.has_fault = all.has_fault || found.has_fault;
  };
  ExamineRows examine;
  if (!columns.empty()) examine = [&](const CsvRowGroup& part, const CsvMemory& memory) { add(part, &memory); };
  content.rows = find_rows(*file, begin, until, all_columns == 1, threads, examine);
  if (!content.rows.are_examined && !content.rows.fault && examine) {
    // A row group began within quotes. Its cells may have been wrong, and so may a column that they made text.
    all = {std::vector<ColumnShape>(columns.size())};
    for (auto& is_text : found_text) is_text = false;
    run_each(content.rows.row_groups.size(), threads, [&](std::size_t i) { add(content.rows.row_groups[i], nullptr); });
  }
  // Once all columns are text, row groups are not read to their ends. Whether a thread has then seen a fault depends on
  // timing. The reader finds the first fault later.
  all.has_fault = all.has_fault && !std::ranges::all_of(all.shapes, &ColumnShape::is_certain_text);
  return content;
}

}  // namespace upsweep::io
