// SPDX-License-Identifier: Apache-2.0
// io/parquet_range.cpp: converts Parquet's statistics about a column's values to bounds.
#include "io/parquet_range.hpp"

#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "core/decimal.hpp"
#include "upsweep/detail/temporal.hpp"

namespace upsweep::io {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the sign of `guess` - value / 10^scale if it can be computed exactly: for integers.
std::optional<int> compare(double guess, Int128 value, int scale) {
  Int128 scaled = 0;
  if (std::trunc(guess) != guess || std::fabs(guess) >= 0x1p126) return std::nullopt;
  if (__builtin_mul_overflow(static_cast<Int128>(guess), power_of_ten<Int128>(scale), &scaled)) return std::nullopt;
  return (scaled > value) - (scaled < value);
}

// Returns a double at most one away from value / 10^scale. long double has 11 more bits, and the errors of the quotient
// and of both operands are at most their last bit.
double nearest(Int128 value, int scale) {
  return static_cast<double>(static_cast<long double>(value) / static_cast<long double>(power_of_ten<Int128>(scale)));
}

// Converts bytes, the most significant first, in two's complement: Parquet stores decimals in this way if not as
// integers. If there are more bytes than a value has, the bytes in front must repeat its sign.
std::optional<Int128> big_endian(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::size_t excess = bytes.size() > sizeof(Int128) ? bytes.size() - sizeof(Int128) : 0;
  Uint128 value = (byte(excess) & 0x80) != 0 ? ~static_cast<Uint128>(0) : 0;
  for (std::size_t i = 0; i < excess; ++i) {
    if (byte(i) != static_cast<std::uint8_t>(value)) return std::nullopt;
  }
  for (std::size_t i = excess; i < bytes.size(); ++i) value = value << 8 | byte(i);
  return static_cast<Int128>(value);
}

// Whether Parquet orders the values of the column as numbers. The statistics of older files do not name the order.
// Their writers compared unsigned integers as signed ones and decimals as bytes.
bool orders_numbers(const parquet::ColumnDescriptor& column) {
  return column.column_order().get_order() == parquet::ColumnOrder::TYPE_DEFINED_ORDER;
}

// The functions below return whether the bounds can be true: a minimum above the maximum cannot.

bool set_integers(ColumnRange& range, Int128 least, Int128 greatest, int scale) {
  range.least = round_down(least, scale);
  range.greatest = round_up(greatest, scale);
  return least <= greatest;
}

// Parquet stores unsigned integers in signed ones of the same width.
template <class DType>
bool set_integers(ColumnRange& range, const parquet::Statistics& statistics, const Field& field) {
  using T = typename DType::c_type;
  const auto& typed = static_cast<const parquet::TypedStatistics<DType>&>(statistics);
  const bool is_unsigned = field.storage >= Storage::uint8 && field.storage <= Storage::uint64;
  if (is_unsigned && !orders_numbers(*statistics.descr())) return true;
  const auto widen = [&](T value) {
    return is_unsigned ? Int128{static_cast<std::make_unsigned_t<T>>(value)} : Int128{value};
  };
  return set_integers(range, widen(typed.min()), widen(typed.max()), field.scale);
}

// -0 and +0 are equal, but not to all writers of statistics.
template <class DType>
bool set_reals(ColumnRange& range, const parquet::Statistics& statistics) {
  const auto& typed = static_cast<const parquet::TypedStatistics<DType>&>(statistics);
  if (std::isnan(typed.min()) || std::isnan(typed.max())) return true;
  range.least = typed.min() == 0 ? -0.0 : double{typed.min()};
  range.greatest = typed.max() == 0 ? 0.0 : double{typed.max()};
  return range.least <= range.greatest;
}

bool set_bytes(ColumnRange& range, const parquet::Statistics& statistics, const Field& field) {
  if (!orders_numbers(*statistics.descr())) return true;
  const auto least = big_endian(statistics.EncodeMin());
  const auto greatest = big_endian(statistics.EncodeMax());
  return !least || !greatest || set_integers(range, *least, *greatest, field.scale);
}

bool set_bounds(ColumnRange& range, const parquet::Statistics& statistics, const Field& field) {
  const parquet::Type::type stored = statistics.physical_type();
  if (field.kind == ValueKind::real) {
    if (stored == parquet::Type::FLOAT) return set_reals<parquet::FloatType>(range, statistics);
    return stored != parquet::Type::DOUBLE || set_reals<parquet::DoubleType>(range, statistics);
  }
  const bool decimal = field.kind == ValueKind::decimal;
  const bool is_integer = field.kind == ValueKind::integer || field.kind == ValueKind::date;
  if (!decimal && !is_integer && !detail::is_temporal(field.kind)) return true;
  if (stored == parquet::Type::INT32) return set_integers<parquet::Int32Type>(range, statistics, field);
  if (field.kind == ValueKind::date) return true;  // of days
  if (stored == parquet::Type::INT64) return set_integers<parquet::Int64Type>(range, statistics, field);
  // BYTE_ARRAY bounds are not used: nothing shows whether they were truncated.
  return !decimal || stored != parquet::Type::FIXED_LEN_BYTE_ARRAY || set_bytes(range, statistics, field);
}

// The statistics of a file about some rows, and the bounds as it stores them.
struct Claim {
  std::int64_t rows;
  const parquet::Statistics& statistics;
  std::string min = {};
  std::string max = {};
};

// Whether a bound is stored in the full width of a value: then Arrow's encoding of it is identical. A decimal that was
// truncated to its first bytes is another number.
bool are_whole(const Claim& claim) {
  return claim.statistics.EncodeMin() == claim.min && claim.statistics.EncodeMax() == claim.max;
}

// Returns the range of a claim. A claim that contradicts itself is ignored completely, because either half may be
// wrong.
ColumnRange claimed_range(const Claim& claim, const Field& field) {
  ColumnRange range;
  const parquet::Statistics& statistics = claim.statistics;
  const bool has_bounds = statistics.HasMinMax() && are_whole(claim);
  std::int64_t values = claim.rows;
  if (statistics.HasNullCount()) {
    const std::int64_t nulls = statistics.null_count();
    values -= nulls;
    if (nulls < 0 || values < 0 || (values == 0 && statistics.HasMinMax())) return {};
    range.has_values = values > 0;
    range.has_nulls = nulls > 0;
  }
  if (!has_bounds) return range;
  const std::int64_t distinct = statistics.HasDistinctCount() ? statistics.distinct_count() : 0;
  const bool is_possible = distinct >= 0 && distinct <= values && (distinct != 1 || claim.min == claim.max);
  return is_possible && set_bounds(range, statistics, field) ? range : ColumnRange();
}

// Returns the range that an index gives for a page of `rows` rows.
ColumnRange range_of_page(const parquet::ColumnDescriptor& column, const parquet::ColumnIndex& index, std::size_t page,
                          std::int64_t rows, const Field& field) {
  const std::int64_t nulls = index.has_null_counts() ? index.null_counts()[page] : -1;
  if (index.null_pages()[page]) {
    ColumnRange range;
    range.has_values = index.has_null_counts() && nulls != rows;  // a contradiction
    return range;
  }
  const std::string& min = index.encoded_min_values()[page];
  const std::string& max = index.encoded_max_values()[page];
  const auto statistics = parquet::Statistics::Make(&column, min, max, rows - std::max<std::int64_t>(nulls, 0), nulls,
                                                    /*distinct_count=*/0, /*has_min_max=*/true,
                                                    /*has_null_count=*/index.has_null_counts(),
                                                    /*has_distinct_count=*/false);
  return claimed_range({rows, *statistics, min, max}, field);
}

// Returns the bounds of a column chunk as they are stored. Arrow before 21 does not provide them; then Arrow's values
// are used.
template <class Chunk>
Claim claim_of(const Chunk& chunk, const parquet::Statistics& statistics) {
  Claim claim{chunk.num_values(), statistics};
  if (!statistics.HasMinMax()) return claim;
  if constexpr (requires { chunk.encoded_statistics(); }) {
    const auto stored = chunk.encoded_statistics();
    claim.min = stored->min();
    claim.max = stored->max();
  } else {
    claim.min = statistics.EncodeMin();
    claim.max = statistics.EncodeMax();
  }
  return claim;
}

// Returns the range of values of which some are in one range and some in the other.
ColumnRange both(const ColumnRange& a, const ColumnRange& b) {
  ColumnRange range = a.has_values ? a : b;
  range.has_nulls = a.has_nulls || b.has_nulls;
  if (!a.has_values || !b.has_values) return range;
  range.least = std::min(a.least, b.least);
  range.greatest = std::max(a.greatest, b.greatest);
  return range;
}

// A longer page does not have a sensible length, and a malicious file may claim any length. A range is created for each
// batch.
constexpr std::int64_t kMostBatchesOfPage = 1024;

// Returns where pages begin, and the end; empty if the places are impossible.
std::vector<std::int64_t> starts_of_pages(const parquet::OffsetIndex& places, std::int64_t rows) {
  std::vector<std::int64_t> starts;
  for (const parquet::PageLocation& page : places.page_locations()) starts.push_back(page.first_row_index);
  const bool is_short = rows / kBatchRows <= kMostBatchesOfPage * std::ssize(starts);
  starts.push_back(rows);
  const bool is_right =
      starts.front() == 0 && std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) == starts.end();
  return is_short && is_right ? starts : std::vector<std::int64_t>();
}

}  // namespace

double round_down(Int128 value, int scale) {
  const double guess = nearest(value, scale);
  const auto order = compare(guess, value, scale);
  return order && *order <= 0 ? guess : std::nextafter(guess, -kInfinity);
}

double round_up(Int128 value, int scale) {
  const double guess = nearest(value, scale);
  const auto order = compare(guess, value, scale);
  return order && *order >= 0 ? guess : std::nextafter(guess, kInfinity);
}

ColumnRange range_of(const parquet::ColumnChunkMetaData& chunk, const Field& field) {
  const auto statistics = chunk.is_stats_set() ? chunk.statistics() : nullptr;
  return statistics ? claimed_range(claim_of(chunk, *statistics), field) : ColumnRange();
}

std::vector<ColumnRange> ranges_of_batches(const parquet::ColumnDescriptor& column, const parquet::ColumnIndex& values,
                                           const parquet::OffsetIndex& places, std::int64_t rows, const Field& field) {
  const std::vector<std::int64_t> starts = starts_of_pages(places, rows);
  const std::size_t pages = values.null_pages().size();
  const bool fits = starts.size() == pages + 1 && values.encoded_min_values().size() == pages &&
                    values.encoded_max_values().size() == pages &&
                    (!values.has_null_counts() || values.null_counts().size() == pages);
  if (!fits) return {};
  std::vector<ColumnRange> ranges;
  std::size_t page = 0;
  for (std::int64_t first = 0; first < rows; first += kBatchRows) {
    const std::int64_t end = std::min(first + kBatchRows, rows);
    while (starts[page + 1] <= first) ++page;
    ColumnRange range = range_of_page(column, values, page, starts[page + 1] - starts[page], field);
    for (std::size_t next = page + 1; starts[next] < end; ++next) {
      range = both(range, range_of_page(column, values, next, starts[next + 1] - starts[next], field));
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace upsweep::io
