// SPDX-License-Identifier: Apache-2.0
// io/parquet_table.cpp: a Parquet file as a table; its row groups are those of the file.
#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "io/arrow_batches.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_table.hpp"
#include "io/parquet_range.hpp"
#include "io/parquet_rows.hpp"

namespace upsweep::io {
namespace {

class ParquetTable final : public ArrowTable {
 public:
  explicit ParquetTable(const FilePath& file) : ArrowTable(file) {
    schema_ = std::make_shared<const ParquetSchema>(checked(path_, [&] { return read_parquet_schema(file_.path); }));
    arrow::FieldVector fields;
    for (const auto& column : schema_->fields) fields.push_back(column.field);
    declare(fields);
    for (int column = 0; column < static_cast<int>(fields_.size()); ++column) {
      // Arrow reads intervals as binary elements.
      if (leaf(column) < 0 || !metadata().schema()->Column(leaf(column))->logical_type()->is_interval()) continue;
      Field& field = fields_[static_cast<std::size_t>(column)];
      field.kind = ValueKind::interval;
      field.storage = Storage::int128;
      field.unsupported.clear();
    }
    starts_ = {0};
    for (int row_group = 0; row_group < metadata().num_row_groups(); ++row_group)
      add_row_group(metadata().RowGroup(row_group)->num_rows());
    for (int column = 0; column < static_cast<int>(fields_.size()); ++column) {
      fields_[static_cast<std::size_t>(column)].is_all_null = is_null(column);
    }
  }

  [[nodiscard]] ColumnRange range(int row_group, int column) const override {
    const Field& field = fields_[static_cast<std::size_t>(column)];
    if (!field.unsupported.empty()) return {};
    try {
      return range_of(*metadata().RowGroup(row_group)->ColumnChunk(leaf(column)), field);
    } catch (const std::exception&) {  // statistics that cannot be read are ignored
      return {};
    }
  }

  [[nodiscard]] std::vector<ColumnRange> batch_ranges(int row_group, int column) const override {
    const Field& field = fields_[static_cast<std::size_t>(column)];
    const bool has_bounds =
        field.kind != ValueKind::text && field.kind != ValueKind::boolean && field.kind != ValueKind::interval;
    if (!field.unsupported.empty() || !has_bounds || rows(row_group) <= kBatchRows) return {};
    std::vector<ColumnRange> ranges;
    require_unchanged(state_, file_state(file_), path_);  // opening a pipe that replaced the file would block
    try {
      ranges = read_batch_ranges(row_group, leaf(column), field);
    } catch (const std::exception&) {  // an index that cannot be read is ignored
      return {};
    }
    // The page index was not read when the table was opened.
    if (!ranges.empty()) require_unchanged(state_, file_state(file_), path_);
    return ranges;
  }

  [[nodiscard]] bool skips_cheaply() const override { return true; }

  [[nodiscard]] Format format() const override { return Format::parquet; }

  [[nodiscard]] std::int64_t nulls(int column) const override {
    if (leaf(column) < 0) return -1;
    std::int64_t sum = 0;
    for (int row_group = 0; row_group < row_groups(); ++row_group) {
      const auto chunk = metadata().RowGroup(row_group)->ColumnChunk(leaf(column));
      const auto statistics = chunk->statistics();
      if (!statistics || !statistics->HasNullCount()) return -1;
      sum += statistics->null_count();
    }
    return sum;
  }

  [[nodiscard]] std::int64_t bytes(int column) const override {
    std::int64_t sum = 0;
    for (int row_group = 0; row_group < row_groups(); ++row_group) {
      add_bytes(*metadata().RowGroup(row_group), schema_->fields[static_cast<std::size_t>(column)], sum);
    }
    return sum;
  }

  [[nodiscard]] RecordBatches batches(int row_group, const std::vector<int>& columns) const override {
    const Selection selection(columns);
    const auto rows = std::make_shared<OpenedLater>(OpenedLater{file_, schema_, row_group, selection.columns});
    return {.next = [rows] { return rows->next(); },
            .skip = [rows](std::int64_t n) -> arrow::Result<std::int64_t> { return rows->skip(n); }};
  }

 private:
  // Adds the bytes of all leaves of a column.
  static void add_bytes(const parquet::RowGroupMetaData& row_group, const parquet::arrow::SchemaField& field,
                        std::int64_t& sum) {
    if (field.column_index >= 0) sum += row_group.ColumnChunk(field.column_index)->total_compressed_size();
    for (const auto& child : field.children) add_bytes(row_group, child, sum);
  }

  // Whether statistics show that a column has no value.
  [[nodiscard]] bool is_null(int column) const {
    for (int row_group = 0; row_group < row_groups(); ++row_group) {
      if (rows(row_group) > 0 && range(row_group, column).has_values) return false;
    }
    return true;
  }

  // The rows of a row group, opened when the first row that is not skipped is requested.
  struct OpenedLater {
    NextBatch next() {
      if (!rows) {
        ARROW_ASSIGN_OR_RAISE(rows, ParquetRows::open(file.path, *schema, row_group, columns));
        ARROW_RETURN_NOT_OK(rows->skip(skipped).status());
      }
      return rows->next();
    }

    arrow::Result<std::int64_t> skip(std::int64_t n) {
      if (rows) return rows->skip(n);
      n = std::min(n, schema->metadata->RowGroup(row_group)->num_rows() - skipped);
      skipped += n;
      return n;
    }

    FilePath file;
    std::shared_ptr<const ParquetSchema> schema;
    int row_group;
    std::vector<int> columns;
    std::int64_t skipped = 0;  // before they were opened
    std::optional<ParquetRows> rows = std::nullopt;
  };

  [[nodiscard]] std::vector<ColumnRange> read_batch_ranges(int row_group, int leaf, const Field& field) const {
    const auto chunk = metadata().RowGroup(row_group)->ColumnChunk(leaf);
    const auto values_at = chunk->GetColumnIndexLocation();
    const auto places_at = chunk->GetOffsetIndexLocation();
    if (!values_at || !places_at || chunk->crypto_metadata() != nullptr) return {};
    const auto file = checked(path_, [&] { return arrow::io::ReadableFile::Open(file_.path); });
    const auto values_bytes = read_index(*file, *values_at);
    const auto places_bytes = read_index(*file, *places_at);
    if (!values_bytes || !places_bytes) return {};
    const auto& column = *metadata().schema()->Column(leaf);
    const auto& properties = parquet::default_reader_properties();
    const auto values = parquet::ColumnIndex::Make(column, values_bytes->data(),
                                                   static_cast<std::uint32_t>(values_bytes->size()), properties);
    const auto places =
        parquet::OffsetIndex::Make(places_bytes->data(), static_cast<std::uint32_t>(places_bytes->size()), properties);
    return ranges_of_batches(column, *values, *places, rows(row_group), field);
  }

  // Reads an index; returns null if it is not within the file.
  [[nodiscard]] std::shared_ptr<arrow::Buffer> read_index(arrow::io::RandomAccessFile& file,
                                                          const parquet::IndexLocation& at) const {
    const std::int64_t size = checked(path_, [&] { return file.GetSize(); });
    if (at.offset < 0 || at.length <= 0 || at.offset > size || at.length > size - at.offset) return nullptr;
    auto bytes = checked(path_, [&] { return file.ReadAt(at.offset, at.length); });
    return bytes->size() == at.length ? std::move(bytes) : nullptr;
  }

  [[nodiscard]] parquet::FileMetaData& metadata() const { return *schema_->metadata; }
  // Returns the leaf of a column; -1: it has several.
  [[nodiscard]] int leaf(int column) const { return schema_->fields[static_cast<std::size_t>(column)].column_index; }

  std::shared_ptr<const ParquetSchema> schema_;
};

}  // namespace

std::unique_ptr<Table> open_parquet_table(const FilePath& file) { return std::make_unique<ParquetTable>(file); }

}  // namespace upsweep::io
