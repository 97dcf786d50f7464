// SPDX-License-Identifier: Apache-2.0
// sql/query/device_chunk.cpp: gathers batches in pinned memory, two at a time, and copies them while the next two are
// read.
#include "sql/query/device_chunk.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "sql/expression/kernels.hpp"
#include "upsweep/detail/tuning/query.hpp"

namespace upsweep::query {
namespace {

constexpr std::int64_t kStagedRows = gpu::tuning::kQuery.staged_batches * kBatchRows;

/// Copies n bits from bit `from` to bit `to`. Returns whether all of them are 1.
bool copy_bits(const std::uint8_t* in, std::int64_t from, std::uint8_t* out, std::int64_t to, std::int64_t n) {
  bool all = true;
  for (std::int64_t i = 0; i < n;) {
    if (((from + i) | (to + i)) % 8 == 0 && n - i >= 8) {
      const std::uint8_t eight = in[(from + i) / 8];
      out[(to + i) / 8] = eight;
      all = all && eight == 0xFF;
      i += 8;
      continue;
    }
    const bool bit = (in[(from + i) / 8] >> ((from + i) % 8) & 1) != 0;
    const auto mask = static_cast<std::uint8_t>(1 << ((to + i) % 8));
    std::uint8_t& byte = out[(to + i) / 8];
    byte = static_cast<std::uint8_t>(bit ? byte | mask : byte & ~mask);
    all = all && bit;
    ++i;
  }
  return all;
}

}  // namespace

ChunkBuilder::ChunkBuilder(gpu::Staging& staging, std::vector<Field> fields, std::int64_t capacity, int first_array)
    : staging_(staging),
      fields_(std::move(fields)),
      capacity_(std::min(capacity, kMostChunkRows)),
      first_array_(first_array),
      columns_(fields_.size()) {
  const std::int64_t rows = std::min(kStagedRows, capacity_);
  int array = 0;
  for (std::size_t c = 0; c < fields_.size(); ++c) {
    for (auto& [values, validity] : columns_[c].staged) {
      values = static_cast<std::byte*>(staging_.host_array(array++, bytes_of(c, rows)));
      validity = static_cast<std::uint8_t*>(staging_.host_array(array++, (rows + 7) / 8));
      std::memset(validity, 0xFF, static_cast<std::size_t>(rows + 7) / 8);
    }
  }
}

std::int64_t ChunkBuilder::bytes_of(std::size_t which, std::int64_t rows) const {
  return (rows * width_of(fields_[which].storage) + 7) / 8;
}

std::int64_t ChunkBuilder::append(const Batch& batch, std::int64_t first) {
  if (rows() == 0) first_row_ = batch.first_row + first;
  const std::int64_t fits = std::min(batch.rows - first, capacity_ - rows());
  for (std::int64_t done = 0; done < fits;) {
    const std::int64_t count = std::min(fits - done, kStagedRows - staged_);
    for (std::size_t c = 0; c < fields_.size(); ++c) stage(batch.columns[c], c, first + done, count);
    staged_ += count;
    done += count;
    if (staged_ == kStagedRows) flush();
  }
  return fits;
}

void ChunkBuilder::stage(const ColumnData& from, std::size_t which, std::int64_t first, std::int64_t count) {
  Column& column = columns_[which];
  const Staged staged = column.staged[slot_];
  const Field& field = fields_[which];
  if (from.validity != nullptr) {
    const bool all = copy_bits(from.validity, from.offset + first, staged.validity, staged_, count);
    column.has_nulls = column.has_nulls || !all;
  }
  if (field.storage == Storage::bit) {
    (void)copy_bits(static_cast<const std::uint8_t*>(from.values), from.offset + first,
                    reinterpret_cast<std::uint8_t*>(staged.values), staged_, count);
    return;
  }
  const std::int64_t size = width_of(field.storage) / 8;
  std::byte* const to = staged.values + staged_ * size;
  if (field.kind != ValueKind::text) {
    std::memcpy(to, static_cast<const std::byte*>(from.values) + first * size, static_cast<std::size_t>(count * size));
  } else {
    stage_strings(from, column, first, count, reinterpret_cast<std::int32_t*>(to));
  }
  if (field.storage == Storage::int64) {
    column.magnitude |=
        expression::kernels(Isa::best).magnitude(reinterpret_cast<const std::int64_t*>(to), static_cast<int>(count));
  }
}

/// Converts to entries of the chunk's dictionary. NULL rows may contain any index. They get 0, which no kernel reads as
/// a string.
void ChunkBuilder::stage_strings(const ColumnData& from, Column& column, std::int64_t first, std::int64_t count,
                                 std::int32_t* out) {
  translate(column, from.dictionary);
  const auto* const in = static_cast<const std::int32_t*>(from.values) + first;
  const std::int32_t* const entries = column.to.data();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t bit = from.offset + first + i;
    const bool is_null = from.validity != nullptr && (from.validity[bit / 8] >> (bit % 8) & 1) == 0;
    out[i] = is_null ? 0 : entries[in[i]];
  }
}

/// Translates a batch's dictionary to entries of the chunk's dictionary.
void ChunkBuilder::translate(Column& column, const std::shared_ptr<const Dictionary>& dictionary) {
  if (column.translated == dictionary) return;
  column.translated = dictionary;
  column.to.clear();
  for (const std::string_view string : *dictionary) column.to.push_back(column.strings.entry(string));
}

/// Starts to copy the staged rows. The next rows are staged in another slot.
void ChunkBuilder::flush() {
  std::vector<gpu::Staging::Copy> copies;
  for (std::size_t c = 0; c < fields_.size(); ++c) {
    Column& column = columns_[c];
    const Staged staged = column.staged[slot_];
    auto* const values = static_cast<std::byte*>(staging_.array(array_of(c), bytes_of(c, capacity_)));
    copies.push_back({values + bytes_of(c, rows_), staged.values, bytes_of(c, staged_)});
    if (!column.has_nulls) continue;
    auto* const validity = static_cast<std::byte*>(staging_.array(array_of(c) + 1, (capacity_ + 7) / 8));
    if (!std::exchange(column.has_validity, true) && rows_ > 0) staging_.fill(validity, 0xFF, rows_ / 8);
    copies.push_back({validity + rows_ / 8, staged.validity, (staged_ + 7) / 8});
  }
  staging_.start_copies(slot_, copies);
  for (const gpu::Staging::Copy& copy : copies) bytes_copied_ += copy.bytes;
  rows_ += std::exchange(staged_, 0);
  slot_ = (slot_ + 1) % gpu::Staging::kSlots;
  staging_.wait(slot_);
  for (Column& column : columns_) {
    std::memset(column.staged[slot_].validity, 0xFF,
                static_cast<std::size_t>(std::min(kStagedRows, capacity_) + 7) / 8);
  }
}

DeviceChunk ChunkBuilder::finish(bool kept) {
  if (staged_ > 0) flush();
  // Kept chunks are also read through other streams.
  for (int slot = 0; kept && slot < gpu::Staging::kSlots; ++slot) staging_.wait(slot);
  DeviceChunk chunk{.rows = rows_, .first_row = first_row_};
  for (std::size_t c = 0; c < fields_.size(); ++c) {
    Column& column = columns_[c];
    DeviceColumn& there = chunk.columns.emplace_back();
    there.values = staging_.array(array_of(c), bytes_of(c, capacity_));
    if (column.has_nulls) {
      there.validity = static_cast<const std::uint8_t*>(staging_.array(array_of(c) + 1, (capacity_ + 7) / 8));
    }
    there.bits = static_cast<int>(std::bit_width(column.magnitude));
    if (fields_[c].kind == ValueKind::text) there.dictionary = std::move(column.strings).dictionary();
    column = {.staged = {column.staged[0], column.staged[1]}};
  }
  rows_ = 0;
  if (kept) first_array_ += arrays();
  return chunk;
}

}  // namespace upsweep::query
