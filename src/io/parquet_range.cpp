// SPDX-License-Identifier: Apache-2.0
// io/parquet_range.cpp: what Parquet's statistics say about a column's values.
#include "io/parquet_range.hpp"

#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

namespace upsweep::io {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxBytes = sizeof(Int128);  // of a decimal as bytes

Int128 power_of_ten(int exponent) {
  Int128 power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

// The sign of `guess` - value / 10^scale, where it is known exactly: of integers.
std::optional<int> compare(double guess, Int128 value, int scale) {
  Int128 scaled = 0;
  if (std::trunc(guess) != guess || std::fabs(guess) >= 0x1p126) return std::nullopt;
  if (__builtin_mul_overflow(static_cast<Int128>(guess), power_of_ten(scale), &scaled)) return std::nullopt;
  return (scaled > value) - (scaled < value);
}

// A double at most one away from value / 10^scale: long double has 11 more bits, and neither the quotient nor what it is
// made of is off by more than their last.
double nearest(Int128 value, int scale) {
  return static_cast<double>(static_cast<long double>(value) / static_cast<long double>(power_of_ten(scale)));
}

// Bytes, the most significant first, in two's complement; as Parquet stores decimals that it does not store as integers.
std::optional<Int128> big_endian(const std::uint8_t* bytes, std::int64_t n) {
  if (n < 1 || n > kMaxBytes) return std::nullopt;
  Uint128 value = (bytes[0] & 0x80) != 0 ? ~static_cast<Uint128>(0) : 0;
  for (std::int64_t i = 0; i < n; ++i) value = value << 8 | bytes[i];
  return static_cast<Int128>(value);
}

void set_integers(ColumnRange& range, Int128 least, Int128 greatest, int scale) {
  range.least = round_down(least, scale);
  range.greatest = round_up(greatest, scale);
}

// Parquet stores unsigned integers in signed ones of the same width.
template <class DType>
void set_integers(ColumnRange& range, const parquet::Statistics& statistics, const Field& field) {
  using T = typename DType::c_type;
  const auto& typed = static_cast<const parquet::TypedStatistics<DType>&>(statistics);
  const bool is_unsigned = field.storage >= Storage::uint8 && field.storage <= Storage::uint64;
  const auto widen = [&](T value) {
    return is_unsigned ? Int128{static_cast<std::make_unsigned_t<T>>(value)} : Int128{value};
  };
  set_integers(range, widen(typed.min()), widen(typed.max()), field.scale);
}

// -0 and +0 are equal, but not to everyone who writes statistics.
template <class DType>
void set_reals(ColumnRange& range, const parquet::Statistics& statistics) {
  const auto& typed = static_cast<const parquet::TypedStatistics<DType>&>(statistics);
  if (std::isnan(typed.min()) || std::isnan(typed.max())) return;
  range.least = typed.min() == 0 ? -0.0 : double{typed.min()};
  range.greatest = typed.max() == 0 ? 0.0 : double{typed.max()};
}

void set_bytes(ColumnRange& range, const parquet::Statistics& statistics, const Field& field) {
  const std::string min = statistics.EncodeMin();
  const std::string max = statistics.EncodeMax();
  // Bounds cut to their first bytes are no decimals any more.
  const std::int64_t whole = statistics.descr()->type_length();
  if (std::ssize(min) != whole || std::ssize(max) != whole) return;
  const auto least = big_endian(reinterpret_cast<const std::uint8_t*>(min.data()), whole);
  const auto greatest = big_endian(reinterpret_cast<const std::uint8_t*>(max.data()), whole);
  if (least && greatest) set_integers(range, *least, *greatest, field.scale);
}

void set_bounds(ColumnRange& range, const parquet::Statistics& statistics, const Field& field) {
  const parquet::Type::type stored = statistics.physical_type();
  if (field.kind == ValueKind::real) {
    if (stored == parquet::Type::FLOAT) set_reals<parquet::FloatType>(range, statistics);
    if (stored == parquet::Type::DOUBLE) set_reals<parquet::DoubleType>(range, statistics);
    return;
  }
  const bool decimal = field.kind == ValueKind::decimal;
  if (!decimal && field.kind != ValueKind::integer && field.kind != ValueKind::date) return;
  if (stored == parquet::Type::INT32) return set_integers<parquet::Int32Type>(range, statistics, field);
  if (field.kind == ValueKind::date) return;  // of days
  if (stored == parquet::Type::INT64) return set_integers<parquet::Int64Type>(range, statistics, field);
  // Of BYTE_ARRAY nothing says whether it was cut.
  if (decimal && stored == parquet::Type::FIXED_LEN_BYTE_ARRAY) set_bytes(range, statistics, field);
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
  ColumnRange range;
  const auto statistics = chunk.is_stats_set() ? chunk.statistics() : nullptr;
  if (!statistics) return range;
  range.has_values = !statistics->HasNullCount() || statistics->null_count() < chunk.num_values();
  range.has_nulls = !statistics->HasNullCount() || statistics->null_count() > 0;
  if (range.has_values && statistics->HasMinMax()) set_bounds(range, *statistics, field);
  return range;
}

}  // namespace upsweep::io
