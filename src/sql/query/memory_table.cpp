// SPDX-License-Identifier: Apache-2.0
// sql/query/memory_table.cpp: columns in memory as a table, whose row groups are ranges of rows.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/expression/dictionary.hpp"
#include "sql/expression/kernels.hpp"
#include "sql/tuning.hpp"
#include "upsweep/detail/temporal.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep {

struct MemoryTable::State {
  std::vector<Field> fields;
  std::vector<ColumnData> columns;
  std::vector<std::unique_ptr<const std::vector<std::int32_t>>> indices;  ///< replacements for indices of text columns
  std::int64_t rows = 0;
};

namespace {

constexpr std::int64_t kRowGroupBatches = query::tuning::kMemoryTable.batches;
constexpr std::int64_t kRowGroupRows = kRowGroupBatches * kBatchRows;

bool suits(ValueKind kind, Storage storage) {
  switch (kind) {
    case ValueKind::integer:
      return storage <= Storage::uint64;
    case ValueKind::decimal:
      return storage == Storage::int32 || storage == Storage::int64 || storage == Storage::int128;
    case ValueKind::real:
      return storage == Storage::float32 || storage == Storage::float64;
    case ValueKind::boolean:
      return storage == Storage::bit;
    case ValueKind::date:
    case ValueKind::text:
      return storage == Storage::int32;
    case ValueKind::time:
      return storage == Storage::int32 || storage == Storage::int64;
    case ValueKind::timestamp:
    case ValueKind::duration:
      return storage == Storage::int64;
    case ValueKind::interval:
      return storage == Storage::int128;
  }
  detail::no_such_value();
}

/// Returns indices that are all entries of the dictionary, also in NULL rows, because queries look up entries before
/// they test for NULL. Returns null if the given indices satisfy this. Throws invalid_argument for an invalid index in
/// a row that is not NULL.
std::unique_ptr<const std::vector<std::int32_t>> indices_within(const std::string& name, const std::int32_t* given,
                                                                std::int64_t rows, const std::uint8_t* validity,
                                                                std::int64_t entries) {
  const auto is_outside = [&](std::int32_t index) { return index < 0 || index >= entries; };
  if (std::none_of(given, given + rows, is_outside)) return nullptr;
  auto within = std::make_unique<std::vector<std::int32_t>>(given, given + rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int32_t& index = (*within)[static_cast<std::size_t>(row)];
    if (!is_outside(index)) continue;
    if (validity == nullptr || (validity[row / 8] >> (row % 8) & 1) != 0) {
      throw Error(Code::invalid_argument,
                  name + ": row " + std::to_string(row) + " has index " + std::to_string(index) +
                      " past its dictionary, which has " + std::to_string(entries) + " entries",
                  row);
    }
    index = 0;
  }
  return within;
}

class Reader final : public BatchReader {
 public:
  Reader(const std::vector<Field>& fields, const std::vector<ColumnData>& columns, std::vector<int> wanted,
         std::int64_t first, std::int64_t last)
      : fields_(fields), columns_(columns), wanted_(std::move(wanted)), at_(first), last_(last) {}

  bool next(Batch& batch) override {
    if (at_ >= last_) return false;
    batch.rows = std::min(kBatchRows, last_ - at_);
    batch.first_row = at_;
    batch.columns.clear();
    for (const int which : wanted_) {
      const Field& field = fields_[static_cast<std::size_t>(which)];
      ColumnData column = from(columns_[static_cast<std::size_t>(which)], field, at_);
      if (column.lists) column.lists = lists_from(*column.lists, *field.element, batch.rows);
      batch.columns.push_back(std::move(column));
    }
    at_ += batch.rows;
    return true;
  }

 private:
  /// Returns a column without its first elements.
  static ColumnData from(ColumnData column, const Field& field, std::int64_t first) {
    const int width = width_of(field.storage);
    column.offset += first;
    if (width >= 8 && column.values != nullptr) {
      column.values = static_cast<const std::byte*>(column.values) + first * (width / 8);
    }
    return column;
  }

  /// Returns the lists of the next rows.
  [[nodiscard]] std::shared_ptr<const ColumnLists> lists_from(const ColumnLists& all, const Field& element,
                                                              std::int64_t rows) const {
    struct Made {
      std::vector<std::int64_t> offsets;
      ColumnLists lists;
    };
    const auto made = std::make_shared<Made>();
    const std::int64_t first = all.offsets[at_];
    made->offsets.assign(all.offsets + at_, all.offsets + at_ + rows + 1);
    for (std::int64_t& offset : made->offsets) offset -= first;
    made->lists = {.offsets = made->offsets.data(), .elements = from(all.elements, element, first)};
    return {made, &made->lists};
  }

  const std::vector<Field>& fields_;
  const std::vector<ColumnData>& columns_;
  std::vector<int> wanted_;
  std::int64_t at_;
  std::int64_t last_;
};

}  // namespace

MemoryTable::MemoryTable() : state_(std::make_unique<State>()) {}
MemoryTable::~MemoryTable() = default;

MemoryTable& MemoryTable::add(Field field, const void* values, std::int64_t rows, const std::uint8_t* validity,
                              std::shared_ptr<const Dictionary> dictionary) {
  if (rows < 0 || (values == nullptr && rows > 0)) throw Error(Code::invalid_argument, field.name + ": no array");
  const bool is_scaled = !detail::is_temporal(field.kind) || (field.scale % 3 == 0 && field.scale <= 9);
  if (!suits(field.kind, field.storage) || field.scale < 0 || field.scale > 38 || !is_scaled) {
    throw Error(Code::unsupported_type,
                field.name + ": elements of this storage cannot be of kind " + std::string(name(field.kind)));
  }
  if (field.kind == ValueKind::text && dictionary == nullptr)
    throw Error(Code::invalid_argument, field.name + ": text without dictionary");
  if (!state_->fields.empty() && rows != state_->rows) {
    throw Error(Code::unequal_lengths, field.name + " has " + std::to_string(rows) + " rows, the columns before it " +
                                           std::to_string(state_->rows));
  }
  if (field.kind == ValueKind::text) {
    const auto* const indices = static_cast<const std::int32_t*>(values);
    if (auto within = indices_within(field.name, indices, rows, validity, std::ssize(*dictionary))) {
      values = within->data();
      state_->indices.push_back(std::move(within));
      // All rows are NULL in this case; this entry is never used.
      if (dictionary->empty()) dictionary = std::make_shared<const Dictionary>(Dictionary{std::string_view()});
    }
  }
  state_->rows = rows;
  state_->fields.push_back(std::move(field));
  state_->columns.push_back({.values = values, .validity = validity, .dictionary = std::move(dictionary)});
  return *this;
}

MemoryTable& MemoryTable::add_decimal(std::string name, std::span<const std::int64_t> values, int scale) {
  return add(Field{.name = std::move(name), .kind = ValueKind::decimal, .storage = Storage::int64, .scale = scale},
             values.data(), std::ssize(values));
}

MemoryTable& MemoryTable::add_timestamps(std::string name, std::span<const std::int64_t> values, int scale,
                                         std::string zone) {
  return add(Field{.name = std::move(name),
                   .kind = ValueKind::timestamp,
                   .storage = Storage::int64,
                   .scale = scale,
                   .zone = std::move(zone)},
             values.data(), std::ssize(values));
}

MemoryTable& MemoryTable::add_dates(std::string name, std::span<const std::int32_t> values) {
  return add(Field{.name = std::move(name), .kind = ValueKind::date, .storage = Storage::int32}, values.data(),
             std::ssize(values));
}

MemoryTable& MemoryTable::add_text(std::string name, std::span<const std::int32_t> indices,
                                   std::vector<std::string> dictionary) {
  return add(Field{.name = std::move(name), .kind = ValueKind::text, .storage = Storage::int32}, indices.data(),
             std::ssize(indices), nullptr, expression::dictionary_of(std::move(dictionary)));
}

MemoryTable& MemoryTable::add_lists(Field element, std::span<const std::int64_t> offsets, ColumnData elements,
                                    std::int64_t length, const std::uint8_t* validity) {
  const bool is_read =
      element.kind == ValueKind::integer || element.kind == ValueKind::real || element.kind == ValueKind::boolean;
  if (!is_read || !suits(element.kind, element.storage)) {
    throw Error(
        Code::unsupported_type,
        element.name + ": lists must have elements of kind integer, real or boolean, in a storage of that kind");
  }
  const std::int64_t rows = std::ssize(offsets) - 1;
  if (rows < 0 || length < 0 || (elements.values == nullptr && length > 0)) {
    throw Error(Code::invalid_argument,
                element.name + ": lists need offsets, one more than there are rows, and elements");
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = offsets[static_cast<std::size_t>(row)];
    const std::int64_t end = offsets[static_cast<std::size_t>(row) + 1];
    if (0 <= begin && begin <= end && end <= length) continue;
    throw Error(Code::invalid_argument,
                element.name + ": the list in row " + std::to_string(row) + " is elements " + std::to_string(begin) +
                    " to " + std::to_string(end) + ", outside its " + std::to_string(length) + " elements",
                row);
  }
  if (!state_->fields.empty() && rows != state_->rows) {
    throw Error(Code::unequal_lengths, element.name + " has " + std::to_string(rows) + " rows, the columns before it " +
                                           std::to_string(state_->rows));
  }
  state_->rows = rows;
  Field field{.name = element.name, .unsupported = "list of " + std::string(name(element.kind))};
  field.element = std::make_shared<const Field>(std::move(element));
  state_->fields.push_back(std::move(field));
  auto lists =
      std::make_shared<const ColumnLists>(ColumnLists{.offsets = offsets.data(), .elements = std::move(elements)});
  state_->columns.push_back({.validity = validity, .lists = std::move(lists)});
  return *this;
}

const std::vector<Field>& MemoryTable::fields() const { return state_->fields; }
int MemoryTable::row_groups() const { return static_cast<int>((state_->rows + kRowGroupRows - 1) / kRowGroupRows); }
std::int64_t MemoryTable::rows() const { return state_->rows; }
std::int64_t MemoryTable::rows(int row_group) const {
  return std::min(kRowGroupRows, state_->rows - row_group * kRowGroupRows);
}
ColumnRange MemoryTable::range(int, int) const { return {}; }

std::unique_ptr<BatchReader> MemoryTable::open(int row_group, const std::vector<int>& columns) const {
  const std::int64_t first = row_group * kRowGroupRows;
  return std::make_unique<Reader>(state_->fields, state_->columns, columns, first, first + rows(row_group));
}

}  // namespace upsweep
