// SPDX-License-Identifier: Apache-2.0
// sql/query/list_table.cpp: runs the plan of a query's list functions on the batches of a table.
#include "sql/query/list_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "upsweep/policy.hpp"

namespace upsweep::query {
namespace {

/// Owns the arrays that a batch needs besides those of its table.
class Arrays {
 public:
  template <class T>
  T* make(std::int64_t n) {
    const auto made = std::make_shared_for_overwrite<T[]>(static_cast<std::size_t>(std::max<std::int64_t>(n, 1)));
    all_.push_back(made);
    return made.get();
  }
  void own(std::shared_ptr<const void> memory) { all_.push_back(std::move(memory)); }

 private:
  std::vector<std::shared_ptr<const void>> all_;
};

/// Writes n bits as bytes. Returns whether all are 1.
bool unpack(const std::uint8_t* bits, std::int64_t offset, std::int64_t n, std::uint8_t* bytes) {
  std::uint8_t all = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    bytes[i] = static_cast<std::uint8_t>(bits[(offset + i) / 8] >> ((offset + i) % 8) & 1);
    all &= bytes[i];
  }
  return all != 0;
}

/// Returns n bytes of 0 and 1 as bits.
const std::uint8_t* packed(const std::uint8_t* bytes, std::int64_t n, Arrays& arrays) {
  auto* const bits = arrays.make<std::uint8_t>((n + 7) / 8);
  std::fill_n(bits, (n + 7) / 8, std::uint8_t{0});
  for (std::int64_t i = 0; i < n; ++i) bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | bytes[i] << (i % 8));
  return bits;
}

/// The columns of a plan, which are converted from those of a batch.
class Inputs {
 public:
  Inputs(std::int64_t rows, const std::vector<ColumnData>& columns, const std::vector<Field>& fields, Arrays& arrays)
      : arrays_(arrays), columns_(columns.size() * ListColumns::kEach) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const ColumnData& data = columns[i];
      const int input = static_cast<int>(i);
      at(ListColumns::valid(input)) = valid(data, rows);
      if (fields[i].element == nullptr) {
        at(ListColumns::values(input)) = values(data, fields[i], rows);
        continue;
      }
      const std::int64_t elements = data.lists->offsets[rows];
      at(ListColumns::values(input)) = {data.lists->offsets, rows + 1};
      at(ListColumns::elements(input)) = values(data.lists->elements, *fields[i].element, elements);
      at(ListColumns::valid_elements(input)) = valid(data.lists->elements, elements);
    }
  }

  [[nodiscard]] bool has_nulls() const { return has_nulls_; }
  /// Returns all columns, with a validity also for those without NULLs.
  [[nodiscard]] std::vector<plan::Column> all() {
    std::vector<plan::Column> all = columns_;
    for (plan::Column& column : all) {
      if (column.data != nullptr) continue;
      auto* const ones = arrays_.make<std::uint8_t>(column.length);
      std::fill_n(ones, column.length, std::uint8_t{1});
      column.data = ones;
    }
    return all;
  }
  [[nodiscard]] const std::vector<plan::Column>& without_validity() const { return columns_; }

 private:
  plan::Column& at(int column) { return columns_[static_cast<std::size_t>(column)]; }

  plan::Column values(const ColumnData& data, const Field& field, std::int64_t n) {
    if (n == 0) return {arrays_.make<double>(1), 0};
    if (field.storage != Storage::bit) return {data.values, n};
    auto* const bytes = arrays_.make<std::uint8_t>(n);
    unpack(static_cast<const std::uint8_t*>(data.values), data.offset, n, bytes);
    return {bytes, n};
  }

  /// Returns a column without data if no value is NULL.
  plan::Column valid(const ColumnData& data, std::int64_t n) {
    if (data.validity == nullptr || n == 0) return {nullptr, n};
    auto* const bytes = arrays_.make<std::uint8_t>(n);
    if (unpack(data.validity, data.offset, n, bytes)) return {nullptr, n};
    has_nulls_ = true;
    return {bytes, n};
  }

  Arrays& arrays_;
  std::vector<plan::Column> columns_;
  bool has_nulls_ = false;
};

std::byte* memory_for(plan::ElementType type, std::int64_t rows, Arrays& arrays) {
  return reinterpret_cast<std::byte*>(arrays.make<std::uint64_t>((rows * plan::size_of(type) + 7) / 8));
}

/// Runs the plan on the rows of a batch. Returns the computed columns.
std::vector<ColumnData> computed(const ListColumnsOfQuery& query, const std::vector<ColumnData>& columns,
                                 const std::vector<Field>& fields, std::int64_t rows, Arrays& arrays) {
  Inputs inputs(rows, columns, fields, arrays);
  const LoweredPlan& lowered = inputs.has_nulls() ? query.with_nulls : query.without_nulls;
  std::vector<void*> outputs;
  outputs.reserve(static_cast<std::size_t>(lowered.plan.outputs()));
  for (int i = 0; i < lowered.plan.outputs(); ++i) outputs.push_back(memory_for(lowered.plan.type(i), rows, arrays));
  // Each thread of a query computes batches.
  const plan::Result result =
      lowered.plan.run(seq, inputs.has_nulls() ? inputs.all() : inputs.without_validity(), {}, rows, {}, {}, outputs);
  const auto output = [&](int number) {
    void* const to = outputs[static_cast<std::size_t>(number)];
    result.copy(number, to);
    return to;
  };
  std::vector<ColumnData> all;
  for (std::size_t i = 0; i < lowered.columns.size(); ++i) {
    const LoweredPlan::Column& column = lowered.columns[i];
    ColumnData data{.values = output(column.value)};
    if (column.low >= 0) {
      const auto* const high = static_cast<const std::int64_t*>(data.values);
      const auto* const low = static_cast<const std::int64_t*>(output(column.low));
      auto* const wide = arrays.make<Int128>(rows);
      for (std::int64_t row = 0; row < rows; ++row) wide[row] = (Int128{high[row]} << 32) + low[row];
      data.values = wide;
    } else if (query.fields[i].storage == Storage::bit) {
      data.values = packed(static_cast<const std::uint8_t*>(data.values), rows, arrays);
    }
    if (column.valid >= 0) {
      data.validity = packed(static_cast<const std::uint8_t*>(output(column.valid)), rows, arrays);
    }
    all.push_back(std::move(data));
  }
  return all;
}

class ListReader final : public BatchReader {
 public:
  ListReader(const Table& table, const ListColumnsOfQuery& query, int row_group, const std::vector<int>& wanted)
      : query_(query) {
    const auto stored = static_cast<int>(table.fields().size());
    std::vector<int> read;
    const auto place_of = [&](int column) {
      const auto found = std::find(read.begin(), read.end(), column);
      const auto place = static_cast<std::size_t>(found - read.begin());
      if (found == read.end()) read.push_back(column);
      return place;
    };
    for (const int column : wanted) {
      const bool is_stored = column < stored;
      places_.push_back({is_stored, is_stored ? place_of(column) : static_cast<std::size_t>(column - stored)});
    }
    for (const int column : query.inputs) {
      inputs_.push_back(place_of(column));
      fields_.push_back(table.fields()[static_cast<std::size_t>(column)]);
    }
    reader_ = table.open(row_group, read);
  }

  bool next(Batch& batch) override {
    Batch own;
    if (!reader_->next(own)) {
      batch = {};
      return false;
    }
    batch = {.rows = own.rows, .first_row = own.first_row};
    for (const Place& place : places_) {
      batch.columns.push_back(place.is_stored ? own.columns[place.index] : ColumnData());
    }
    std::vector<ColumnData> inputs;
    inputs.reserve(inputs_.size());
    for (const std::size_t input : inputs_) inputs.push_back(own.columns[input]);
    batch.memory = own.memory;
    batch.complete = [&query = query_, places = places_, fields = fields_, inputs = std::move(inputs),
                      memory = std::move(own.memory)](Batch& completed) {
      const auto arrays = std::make_shared<Arrays>();
      arrays->own(memory);
      std::vector<ColumnData> columns = computed(query, inputs, fields, completed.rows, *arrays);
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i].is_stored) completed.columns[i] = columns[places[i].index];
      }
      completed.memory = arrays;
    };
    return true;
  }
  void skip() override { reader_->skip(); }
  void may_repeat_texts() override { reader_->may_repeat_texts(); }

 private:
  /// Where a column is: among those that are read, or among the computed ones.
  struct Place {
    bool is_stored;
    std::size_t index;
  };

  const ListColumnsOfQuery& query_;
  std::vector<Place> places_;
  std::vector<std::size_t> inputs_;
  std::vector<Field> fields_;  ///< of inputs
  std::unique_ptr<BatchReader> reader_;
};

}  // namespace

ListTable::ListTable(const Table& table, const ListColumnsOfQuery& computed)
    : table_(table), computed_(computed), fields_(table.fields()) {
  fields_.insert(fields_.end(), computed.fields.begin(), computed.fields.end());
}

std::unique_ptr<BatchReader> ListTable::open(int row_group, const std::vector<int>& columns) const {
  const bool computes = std::any_of(columns.begin(), columns.end(), [&](int column) { return is_computed(column); });
  if (!computes) return table_.open(row_group, columns);
  return std::make_unique<ListReader>(table_, computed_, row_group, columns);
}

}  // namespace upsweep::query
