// SPDX-License-Identifier: Apache-2.0
// sql/query/device_table.cpp: fills chunks from a table's batches, and copies batches back for the CPU.
#include "upsweep/device_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "sql/expression/kernels.hpp"
#include "sql/query/device_chunk.hpp"
#include "upsweep/detail/tuning/query.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace {

// For a table whose length is not known before it is read.
constexpr std::int64_t kUnknownRows = gpu::tuning::kQuery.unknown_rows;

}  // namespace

struct DeviceTable::State {
  int device;
  gpu::Staging staging;  ///< holds the columns
  std::mutex mutex;      ///< guards `staging`
  std::vector<Field> fields;
  std::vector<query::DeviceChunk> chunks;
  std::int64_t rows = 0;

  explicit State(const gpu::Policy& policy) : device(policy.device), staging(policy) {}

  void fill(const Table& source, const std::vector<int>& columns) {
    const std::int64_t known = source.rows();
    const std::int64_t capacity = known >= 0 ? std::min(known, query::kMostChunkRows) : kUnknownRows;
    query::ChunkBuilder builder(staging, fields, std::max<std::int64_t>(capacity, 1));
    for (int row_group = 0; row_group < source.row_groups(); ++row_group) {
      const auto reader = source.open(row_group, columns);
      for (Batch batch; reader->next(batch); rows += batch.rows) {
        for (std::int64_t done = 0; done < batch.rows;) {
          done += builder.append(batch, done);
          if (done < batch.rows) chunks.push_back(builder.finish(true));
        }
      }
    }
    if (builder.rows() > 0) chunks.push_back(builder.finish(true));
  }
};

DeviceTable::DeviceTable(const gpu::Policy& policy, const Table& source, const std::vector<std::string>& names)
    : state_(std::make_unique<State>(policy)) {
  std::vector<int> columns;
  const std::vector<Field>& fields = source.fields();
  for (std::size_t c = 0; c < fields.size(); ++c) {
    const bool named = std::find(names.begin(), names.end(), fields[c].name) != names.end();
    if (named || (names.empty() && fields[c].unsupported.empty())) columns.push_back(static_cast<int>(c));
  }
  for (const std::string& name : names) {
    const auto known =
        std::any_of(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
    if (!known) throw Error(Code::unknown_column, fmt::format("no column is called '{}'", name));
  }
  for (const int column : columns) {
    const Field& field = state_->fields.emplace_back(fields[static_cast<std::size_t>(column)]);
    if (field.element == nullptr) continue;
    throw Error(Code::unsupported_type,
                fmt::format("column '{}' has unsupported type {}; omit it", field.name, field.unsupported));
  }

  try {
    state_->fill(source, columns);
  } catch (const Error& error) {
    if (error.code() != Code::device_memory) throw;
    throw Error(error.code(),
                fmt::format("{}; a query on the table itself copies it to the device chunk by chunk", error.what()));
  }
}

DeviceTable::~DeviceTable() = default;

int DeviceTable::device() const { return state_->device; }
const std::vector<Field>& DeviceTable::fields() const { return state_->fields; }
int DeviceTable::row_groups() const { return static_cast<int>(state_->chunks.size()); }
std::int64_t DeviceTable::rows() const { return state_->rows; }
std::int64_t DeviceTable::rows(int row_group) const { return state_->chunks[static_cast<std::size_t>(row_group)].rows; }
ColumnRange DeviceTable::range(int, int) const { return {}; }
const query::DeviceChunk* DeviceTable::chunk(int row_group, int device) const {
  return device == state_->device ? &state_->chunks[static_cast<std::size_t>(row_group)] : nullptr;
}

namespace {

class ReadBack final : public BatchReader {
 public:
  ReadBack(gpu::Staging& staging, std::mutex& mutex, const std::vector<Field>& fields, const query::DeviceChunk& chunk,
           std::vector<int> columns)
      : staging_(staging), mutex_(mutex), fields_(fields), chunk_(chunk), columns_(std::move(columns)) {}

  bool next(Batch& batch) override {
    if (at_ >= chunk_.rows) return false;
    batch.rows = std::min(kBatchRows, chunk_.rows - at_);
    batch.first_row = chunk_.first_row + at_;
    batch.columns.clear();
    const auto memory = std::make_shared<std::vector<std::vector<Int128>>>();
    for (const int which : columns_) {
      const query::DeviceColumn& from = chunk_.columns[static_cast<std::size_t>(which)];
      const int width = width_of(fields_[static_cast<std::size_t>(which)].storage);
      ColumnData& to = batch.columns.emplace_back();
      to.dictionary = from.dictionary;
      to.values = fetched(*memory, from.values, width, batch.rows);
      if (from.validity != nullptr) {
        to.validity = static_cast<const std::uint8_t*>(fetched(*memory, from.validity, 1, batch.rows));
      }
    }
    batch.memory = memory;
    at_ += batch.rows;
    return true;
  }

 private:
  /// Batches start at whole bytes, also for columns of bits.
  const void* fetched(std::vector<std::vector<Int128>>& memory, const void* from, int width, std::int64_t rows) {
    const std::int64_t bytes = (rows * width + 7) / 8;
    auto& buffer = memory.emplace_back(static_cast<std::size_t>(bytes / 16 + 1));
    const std::lock_guard lock(mutex_);
    staging_.copy_out(buffer.data(), static_cast<const std::byte*>(from) + at_ * width / 8, bytes);
    return buffer.data();
  }

  gpu::Staging& staging_;
  std::mutex& mutex_;
  const std::vector<Field>& fields_;
  const query::DeviceChunk& chunk_;
  std::vector<int> columns_;
  std::int64_t at_ = 0;
};

}  // namespace

std::unique_ptr<BatchReader> DeviceTable::open(int row_group, const std::vector<int>& columns) const {
  return std::make_unique<ReadBack>(state_->staging, state_->mutex, state_->fields,
                                    state_->chunks[static_cast<std::size_t>(row_group)], columns);
}

}  // namespace upsweep
