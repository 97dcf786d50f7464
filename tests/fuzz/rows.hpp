// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/rows.hpp: generated rows of every kind of column, with NULLs and extremes, as tables split at any place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/input.hpp"
#include "upsweep/query.hpp"

namespace upsweep::fuzz {

struct Column {
  Field field;
  bool nullable = false;
  std::vector<Int128> exact = {};  ///< all values except reals; for text, the index of the string
  std::vector<double> real = {};
  std::vector<bool> there = {};
  std::vector<std::byte> values = {};  ///< as in ColumnData
  std::vector<std::uint8_t> validity = {};
};

/// The same columns in every table: for each storage one without NULLs, which has separate code, and some with NULLs.
inline std::vector<Column> schema() {
  const auto column = [](const char* name, ValueKind kind, Storage storage, bool nullable, int scale = 0) {
    return Column{.field = {.name = name, .kind = kind, .storage = storage, .scale = scale}, .nullable = nullable};
  };
  return {column("a", ValueKind::integer, Storage::int8, false),
          column("c", ValueKind::integer, Storage::int16, false),
          column("d", ValueKind::integer, Storage::int32, false),
          column("e", ValueKind::integer, Storage::int64, false),
          column("f", ValueKind::integer, Storage::uint8, false),
          column("g", ValueKind::integer, Storage::uint16, false),
          column("h", ValueKind::integer, Storage::uint32, false),
          column("i", ValueKind::integer, Storage::uint64, false),
          column("j", ValueKind::integer, Storage::int32, true),
          column("k", ValueKind::integer, Storage::int64, true),
          column("l", ValueKind::integer, Storage::uint64, true),
          column("m", ValueKind::decimal, Storage::int32, false, 1),
          column("n", ValueKind::decimal, Storage::int64, true, 2),
          column("o", ValueKind::decimal, Storage::int128, true, 10),
          column("p", ValueKind::real, Storage::float64, true),
          column("q", ValueKind::real, Storage::float32, false),
          column("r", ValueKind::date, Storage::int32, false),
          column("s", ValueKind::date, Storage::int32, true),
          column("t", ValueKind::boolean, Storage::bit, false),
          column("u", ValueKind::boolean, Storage::bit, true),
          column("w", ValueKind::text, Storage::int32, true)};
}

inline const Dictionary& words() {
  static const Dictionary kWords{"", "a", "b", "it's", "äpfel"};
  return kWords;
}

inline float narrow(double value) { return static_cast<float>(std::clamp(value, -3e38, 3e38)); }

/// How a column's values are drawn.
enum class Shape : std::uint8_t { few, small, full, extreme };

/// Columns from which rows are selected. They are generated once, so that the time of an input is the time of its
/// query.
class Pool {
 public:
  static constexpr std::int64_t kRows = 3000;

  /// `gaps`: one of `gaps` rows is NULL, if the column is nullable; 0: none, 1: all.
  Pool(Shape shape, unsigned gaps, unsigned seed) : columns_(schema()) {
    std::mt19937_64 random(seed);
    for (Column& column : columns_) fill(column, shape, column.nullable ? gaps : 0, random);
  }
  [[nodiscard]] const Column& column(int which) const { return columns_[static_cast<std::size_t>(which)]; }

  static std::int64_t width_of(const Column& column) { return upsweep::width_of(column.field.storage) / 8; }

 private:
  using Random = std::mt19937_64;

  /// The minimum and maximum of a storage; the sum of all rows of the widest type fits in 128 bits.
  static std::pair<Int128, Int128> ends(const Field& field) {
    switch (field.storage) {
      case Storage::int128:
        return {-(Int128{1} << 110), Int128{1} << 110};
      case Storage::bit:
        return {0, 1};
      default:
        break;
    }
    if (field.kind == ValueKind::text) return {0, static_cast<Int128>(words().size()) - 1};
    const int bits = 8 << (static_cast<int>(field.storage) % 4);
    if (field.storage >= Storage::uint8 && field.storage <= Storage::uint64) return {0, (Int128{1} << bits) - 1};
    return {-(Int128{1} << (bits - 1)), (Int128{1} << (bits - 1)) - 1};
  }
  static Int128 draw_exact(const Field& field, Shape shape, Random& random) {
    const Int128 least = ends(field).first;
    const Int128 greatest = ends(field).second;
    const auto within = [&](std::int64_t value) { return std::clamp<Int128>(value, least, greatest); };
    const auto any = static_cast<std::int64_t>(random() >> 1);
    if (shape == Shape::few) return within(any % 4 - 1);
    if (shape == Shape::small) return within(any % 201 - 100);
    if (shape == Shape::full)
      return least + (Int128{any} * static_cast<std::int64_t>(random() >> 1)) % (greatest - least + 1);
    const Int128 extremes[] = {least, least + 1, within(-1), 0, 1, greatest - 1, greatest};
    return std::clamp(extremes[any % 7], least, greatest);
  }
  static double draw_real(Shape shape, Random& random) {
    const auto any = static_cast<std::int64_t>(random() >> 1);
    if (shape == Shape::few) return static_cast<double>(any % 4 - 1);
    if (shape == Shape::small) return static_cast<double>(any % 2001 - 1000) / 8;
    if (shape == Shape::full)
      return std::ldexp(static_cast<double>(any % 100003), static_cast<int>(random() % 200) - 100);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kEnds[] = {-kInfinity, std::numeric_limits<double>::lowest(),   -0.0, 0.0, 1e-310, 0.1,
                                kInfinity,  std::numeric_limits<double>::quiet_NaN()};
    return kEnds[any % 8];
  }
  static void fill(Column& column, Shape shape, unsigned gaps, Random& random) {
    const bool real = column.field.kind == ValueKind::real;
    column.values.resize(static_cast<std::size_t>(kRows * std::max<std::int64_t>(width_of(column), 1)));
    column.validity.resize(kRows / 8 + 1);
    for (std::size_t row = 0; row < kRows; ++row) {
      column.exact.push_back(real ? 0 : draw_exact(column.field, shape, random));
      column.real.push_back(real ? draw_real(shape, random) : 0);
      column.there.push_back(gaps == 0 || random() % gaps != 0);
      if (column.there[row]) column.validity[row / 8] |= static_cast<std::uint8_t>(1 << (row % 8));
      store(column, row);
    }
  }
  static void store(Column& column, std::size_t row) {
    std::byte* const to = column.values.data() + row * static_cast<std::size_t>(width_of(column));
    if (column.field.storage == Storage::bit) {
      column.values[row / 8] |= static_cast<std::byte>(column.exact[row] != 0 ? 1 << (row % 8) : 0);
    } else if (column.field.storage == Storage::float64) {
      std::memcpy(to, &column.real[row], sizeof(double));
    } else if (column.field.storage == Storage::float32) {
      const float value = narrow(column.real[row]);
      std::memcpy(to, &value, sizeof value);
    } else {
      std::memcpy(to, &column.exact[row], static_cast<std::size_t>(width_of(column)));  // little-endian
    }
  }

  std::vector<Column> columns_;
};

/// Some rows; each column uses a separate pool.
class Rows {
 public:
  Rows(Bytes& bytes, std::int64_t count) : count_(count), start_(bytes.byte()), fields_(fields_of_schema()) {
    pools_.reserve(fields_.size());
    for (std::size_t c = 0; c < fields_.size(); ++c)
      pools_.push_back(&pools()[static_cast<std::size_t>(bytes.below(kPools))]);
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  [[nodiscard]] bool is_there(int which, std::int64_t row) const { return column(which).there[at(row)]; }
  [[nodiscard]] Int128 exact(int which, std::int64_t row) const { return column(which).exact[at(row)]; }
  /// The statistics that a file would have for these rows: bounds, rounded outwards, that ignore NaN.
  [[nodiscard]] ColumnRange range(int which, std::int64_t first, std::int64_t end) const {
    const Column& all = column(which);
    if (all.field.kind == ValueKind::text || all.field.kind == ValueKind::boolean) return {};
    ColumnRange range{.least = HUGE_VAL, .greatest = -HUGE_VAL, .has_values = false};
    for (std::int64_t row = first; row < end; ++row) {
      const double value = number(all, at(row));
      if (!is_there(which, row)) continue;
      range.has_values = true;
      if (std::isnan(value)) continue;
      range.least = std::min(range.least, std::nextafter(value, -HUGE_VAL));
      range.greatest = std::max(range.greatest, std::nextafter(value, HUGE_VAL));
    }
    return range;
  }

  /// Rows from `first` on.
  [[nodiscard]] ColumnData data(int which, std::int64_t first) const {
    const Column& all = column(which);
    ColumnData data{.values = all.values.data() + (start_ + first) * Pool::width_of(all), .offset = start_ + first};
    if (all.nullable) data.validity = all.validity.data();
    if (all.field.kind == ValueKind::text) data.dictionary = {std::shared_ptr<const Dictionary>(), &words()};
    return data;
  }

 private:
  static constexpr int kPools = 9;

  static std::vector<Field> fields_of_schema() {
    std::vector<Field> all;
    for (const Column& column : schema()) all.push_back(column.field);
    return all;
  }
  /// Every shape with some NULLs and without NULLs, and one with only NULLs.
  static const std::vector<Pool>& pools() {
    static const std::vector<Pool> kAll = [] {
      std::vector<Pool> all;
      for (unsigned i = 0; i < kPools; ++i) all.emplace_back(static_cast<Shape>(i % 4), i < 4 ? 3 : i < 8 ? 0 : 1, i);
      return all;
    }();
    return kAll;
  }
  static double number(const Column& column, std::size_t row) {
    if (column.field.storage == Storage::float64) return column.real[row];
    if (column.field.storage == Storage::float32) return narrow(column.real[row]);
    return static_cast<double>(static_cast<long double>(column.exact[row]) / std::pow(10.0L, column.field.scale));
  }
  [[nodiscard]] const Column& column(int which) const { return pools_[static_cast<std::size_t>(which)]->column(which); }
  [[nodiscard]] std::size_t at(std::int64_t row) const { return static_cast<std::size_t>(start_ + row); }

  std::int64_t count_;
  std::int64_t start_;
  std::vector<Field> fields_;
  std::vector<const Pool*> pools_;
};

/// Rows in row groups that end at `ends`. Like a CSV file, the table does not state its number of rows.
class CutTable final : public Table {
 public:
  CutTable(const Rows& rows, std::vector<std::int64_t> ends, bool ranged = false)
      : rows_(rows), ends_(std::move(ends)), ranged_(ranged) {}

  [[nodiscard]] const std::vector<Field>& fields() const override { return rows_.fields(); }
  [[nodiscard]] int row_groups() const override { return static_cast<int>(ends_.size()); }
  [[nodiscard]] std::int64_t rows() const override { return -1; }
  [[nodiscard]] std::int64_t rows(int row_group) const override { return end(row_group) - first(row_group); }
  [[nodiscard]] ColumnRange range(int row_group, int column) const override {
    return ranged_ ? rows_.range(column, first(row_group), end(row_group)) : ColumnRange{};
  }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override {
    return std::make_unique<Reader>(rows_, columns, first(row_group), end(row_group));
  }

 private:
  class Reader final : public BatchReader {
   public:
    Reader(const Rows& rows, std::vector<int> columns, std::int64_t first, std::int64_t end)
        : rows_(rows), columns_(std::move(columns)), first_(first), end_(end) {}
    bool next(Batch& batch) override {
      batch.columns.clear();
      batch.first_row = first_;
      batch.rows = end_ - first_;
      for (const int column : columns_) batch.columns.push_back(rows_.data(column, first_));
      first_ = end_;
      return batch.rows > 0;
    }

   private:
    const Rows& rows_;
    std::vector<int> columns_;
    std::int64_t first_;
    std::int64_t end_;
  };

  [[nodiscard]] std::int64_t first(int row_group) const { return row_group == 0 ? 0 : end(row_group - 1); }
  [[nodiscard]] std::int64_t end(int row_group) const { return ends_[static_cast<std::size_t>(row_group)]; }

  const Rows& rows_;
  std::vector<std::int64_t> ends_;
  bool ranged_;
};

}  // namespace upsweep::fuzz
