// SPDX-License-Identifier: Apache-2.0
// io/column.cpp: joins the batches of a table's column into chunks, and converts a scaled integer to decimal text.
#include "io/column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string_view type) {
  if (type.starts_with("list<") || type.starts_with("large_list<") || type.starts_with("fixed_size_list<")) {
    throw Error(Code::unsupported_type,
                fmt::format("{}: is a column of lists, {}; use upsweep segment, select or pack", name, type));
  }
  throw Error(Code::unsupported_type,
              fmt::format("{}: has unsupported type {}; convert it to one of int8 … float64, a decimal of at most {} "
                          "digits, a date or a time",
                          name, type, kInt64Digits));
}

}  // namespace

Field field_of(Type type, Meaning meaning, int scale, std::string zone) {
  constexpr ValueKind kKinds[] = {ValueKind::integer,   ValueKind::decimal, ValueKind::date,    ValueKind::boolean,
                                  ValueKind::timestamp, ValueKind::time,    ValueKind::duration};
  const bool is_number = meaning == Meaning::number || (meaning == Meaning::decimal && type != Type::int64) ||
                         (meaning == Meaning::boolean && type != Type::uint8);
  Field field{.storage = storage_of(type)};
  if (is_number) {
    field.kind = is_float(type) ? ValueKind::real : ValueKind::integer;
    return field;
  }
  field.kind = kKinds[static_cast<int>(meaning)];
  field.scale = scale;
  field.zone = std::move(zone);
  return field;
}

void set_elements(ColumnInfo& info, const Field& field, Booleans booleans) {
  info.field = field.name;
  if (!field.unsupported.empty()) refuse(info.name, field.unsupported);
  if (field.kind == ValueKind::boolean && booleans == Booleans::bytes) {
    info.type = Type::uint8;
    info.meaning = Meaning::boolean;
    return;
  }
  if (field.kind == ValueKind::text || field.kind == ValueKind::boolean || field.kind == ValueKind::interval) {
    refuse(info.name, name(field.kind));
  }
  if (field.kind == ValueKind::decimal) {
    if (field.scale > kInt64Digits) refuse(info.name, fmt::format("decimal of scale {}", field.scale));
    info.meaning = Meaning::decimal;
    info.scale = field.scale;
    return;
  }
  info.type = element_type(field.storage);
  if (field.kind == ValueKind::date) info.meaning = Meaning::date;
  if (field.kind == ValueKind::timestamp) info.meaning = Meaning::timestamp;
  if (field.kind == ValueKind::time) info.meaning = Meaning::time;
  if (field.kind == ValueKind::duration) info.meaning = Meaning::duration;
  if (is_temporal(info.meaning)) {
    info.scale = field.scale;
    info.zone = field.zone;
  }
}

void unpack_bits(const std::uint8_t* bits, std::int64_t first, std::int64_t n, std::uint8_t* bytes) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t bit = first + i;
    bytes[i] = static_cast<std::uint8_t>(bits[bit / 8] >> (bit % 8) & 1);
  }
}

ColumnReader::ColumnReader(TableColumn column, Booleans booleans, Nulls nulls)
    : table_(std::move(column.table)), column_(column.column), elements_(std::move(column.elements)), nulls_(nulls) {
  const Field& field = table_->fields()[static_cast<std::size_t>(column_)];
  storage_ = field.storage;
  info_.name = std::move(column.name);
  info_.count = table_->rows();
  if (field.unsupported.empty() && (field.kind == ValueKind::text || field.kind == ValueKind::interval)) {
    throw Error(Code::unsupported_type,
                fmt::format("{}: is of type {}; upsweep query computes its minimum, maximum and count", info_.name,
                            name(field.kind)));
  }
  set_elements(info_, field, booleans);
}

Chunk ColumnReader::next(std::int64_t count) {
  if (elements_) {
    const std::int64_t n = rows_ahead(count);
    return {elements_(std::exchange(row_, row_ + n)), n};
  }
  kept_.clear();
  valid_.clear();
  Chunk chunk;
  while (chunk.count < count && load()) {
    const std::int64_t n = std::min(batch_.rows - position_, count - chunk.count);
    if (nulls_ == Nulls::given) {
      append_validity(chunk.count, n);
    } else {
      refuse_nulls(n);
    }
    append(chunk, n, count);
    position_ += n;
  }
  if (!valid_.empty()) chunk.valid = Mask(valid_);
  return chunk;
}

// Returns `count`, or the number of rows left if it is smaller.
std::int64_t ColumnReader::rows_ahead(std::int64_t count) const {
  return std::clamp<std::int64_t>(count, 0, info_.count - row_);
}

std::int64_t ColumnReader::skip(std::int64_t count) {
  if (elements_) {
    const std::int64_t n = rows_ahead(count);
    row_ += n;
    return n;
  }
  std::int64_t skipped = 0;
  while (skipped < count && load()) {
    const std::int64_t n = std::min(batch_.rows - position_, count - skipped);
    position_ += n;
    skipped += n;
  }
  return skipped;
}

// Loads batches until the current one has rows left; returns false at the end of the column.
bool ColumnReader::load() {
  while (position_ == batch_.rows) {
    if (!reader_) {
      if (next_row_group_ == table_->row_groups()) return false;
      reader_ = table_->open(next_row_group_++, {column_});
    }
    position_ = 0;
    if (!reader_->next(batch_)) reader_.reset();
  }
  return true;
}

void ColumnReader::refuse_nulls(std::int64_t n) const {
  const ColumnData& data = batch_.columns[0];
  if (data.validity == nullptr) return;
  for (std::int64_t i = position_; i < position_ + n; ++i) {
    if (!is_null(data, i)) continue;
    throw_null(batch_.first_row + i);
  }
}

void ColumnReader::throw_null(std::int64_t row) const {
  throw Error(Code::null_value,
              fmt::format("{}: {} is NULL; {}", info_.name, table_->place(row, column_), null_advice_), row);
}

// Appends the validity of the next n elements. The chunk already has `before` elements.
void ColumnReader::append_validity(std::int64_t before, std::int64_t n) {
  const ColumnData& data = batch_.columns[0];
  if (data.validity == nullptr && valid_.empty()) return;
  valid_.resize(static_cast<std::size_t>(before + n), 1);
  if (data.validity == nullptr) return;
  for (std::int64_t i = 0; i < n; ++i) valid_[static_cast<std::size_t>(before + i)] = !is_null(data, position_ + i);
}

// Batches that follow each other in memory, as in a mapped file, become a chunk in place. Other batches are copied.
void ColumnReader::append(Chunk& chunk, std::int64_t n, std::int64_t count) {
  const std::int64_t width = size_of(info_.type);
  const std::int64_t stored = width_of(storage_) / 8;  // 0 for bits
  const auto* const from = static_cast<const std::byte*>(batch_.columns[0].values) + position_ * stored;
  const bool in_buffer = chunk.count > 0 && chunk.data == buffer_.data();
  const bool follows = chunk.count == 0 || from == static_cast<const std::byte*>(chunk.data) + chunk.count * width;
  if (stored == width && follows && !in_buffer) {
    if (chunk.count == 0) chunk.data = from;
    kept_.push_back(batch_.memory);
  } else {
    // The buffer grows with the rows that are read: neither `count` nor the file's own count is reliable.
    const std::int64_t needed = chunk.count + n;
    if (needed * width > buffer_.capacity()) {
      buffer_.reserve(std::max(needed, std::min(count, 2 * chunk.count)) * width, info_.name);
    }
    if (!in_buffer && chunk.count > 0) {
      std::memcpy(buffer_.data(), chunk.data, static_cast<std::size_t>(chunk.count * width));
      kept_.clear();
    }
    std::byte* const to = buffer_.data() + chunk.count * width;
    if (stored == width) {
      std::memcpy(to, from, static_cast<std::size_t>(n * width));
    } else if (storage_ == Storage::bit) {
      unpack_bits(reinterpret_cast<const std::uint8_t*>(from), batch_.columns[0].offset + position_, n,
                  reinterpret_cast<std::uint8_t*>(to));
    } else if (storage_ == Storage::int128) {
      narrow(reinterpret_cast<const Int128*>(from), n, reinterpret_cast<std::int64_t*>(to));
    } else {  // decimals of few digits
      std::copy_n(reinterpret_cast<const std::int32_t*>(from), n, reinterpret_cast<std::int64_t*>(to));
    }
    chunk.data = buffer_.data();
  }
  chunk.count += n;
}

// Copies decimals of up to 38 digits, whose values must fit 64 bits.
void ColumnReader::narrow(const Int128* from, std::int64_t n, std::int64_t* to) const {
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<std::int64_t>(from[i]);
    if (to[i] == from[i]) continue;
    if (is_null(batch_.columns[0], position_ + i)) continue;
    const std::int64_t row = batch_.first_row + position_ + i;
    throw Error(
        Code::overflow,
        fmt::format("{}: {} has a decimal that does not fit 64 bits; use upsweep query, which computes with up to "
                    "38 digits, or convert the column to float64",
                    info_.name, table_->place(row, column_)),
        row);
  }
}

std::string format_decimal(std::int64_t value, int scale) {
  // The negation is unsigned, so that the minimum integer also works.
  const auto bits = static_cast<std::uint64_t>(value);
  const auto places = static_cast<std::size_t>(scale);
  std::string digits = fmt::format("{:0{}}", value < 0 ? 0 - bits : bits, scale + 1);
  if (scale > 0) digits.insert(digits.size() - places, ".");
  return value < 0 ? "-" + digits : digits;
}

}  // namespace upsweep::io
