// SPDX-License-Identifier: Apache-2.0
// io/parquet_table.cpp: a Parquet file as a table; its parts are its row groups.
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
  explicit ParquetTable(const std::string& path) : ArrowTable(path) {
    schema_ = std::make_shared<const ParquetSchema>(checked(path_, [&] { return read_parquet_schema(path_); }));
    arrow::FieldVector fields;
    for (const auto& column : schema_->fields) fields.push_back(column.field);
    declare(fields);
    starts_ = {0};
    for (int part = 0; part < metadata().num_row_groups(); ++part) add_part(metadata().RowGroup(part)->num_rows());
  }

  [[nodiscard]] ColumnRange range(int part, int column) const override {
    const Field& field = fields_[static_cast<std::size_t>(column)];
    if (!field.unsupported.empty()) return {};
    try {
      return range_of(*metadata().RowGroup(part)->ColumnChunk(leaf(column)), field);
    } catch (const std::exception&) {  // statistics that cannot be read are none
      return {};
    }
  }

  [[nodiscard]] std::vector<ColumnRange> batch_ranges(int part, int column) const override {
    const Field& field = fields_[static_cast<std::size_t>(column)];
    if (!field.unsupported.empty()) return {};
    std::vector<ColumnRange> ranges;
    try {
      ranges = read_batch_ranges(part, leaf(column), field);
    } catch (const std::exception&) {  // an index that cannot be read is none
      return {};
    }
    // It is no part of what was read when the table was opened.
    if (!ranges.empty()) require_unchanged(state_, file_state(path_), path_);
    return ranges;
  }

  [[nodiscard]] bool skips_cheaply() const override { return true; }

  [[nodiscard]] RecordBatches batches(int part, const std::vector<int>& columns) const override {
    const Selection selection(columns);
    const auto rows = std::make_shared<OpenedLater>(OpenedLater{path_, schema_, part, selection.columns});
    return {.next = [rows] { return rows->next(); },
            .skip = [rows](std::int64_t n) -> arrow::Result<std::int64_t> { return rows->skip(n); }};
  }

 private:
  // Rows of a row group, opened when the first that is not passed over is asked for.
  struct OpenedLater {
    NextBatch next() {
      if (!rows) {
        ARROW_ASSIGN_OR_RAISE(rows, ParquetRows::open(path, *schema, part, columns));
        ARROW_RETURN_NOT_OK(rows->skip(skipped).status());
      }
      return rows->next();
    }

    arrow::Result<std::int64_t> skip(std::int64_t n) {
      if (rows) return rows->skip(n);
      n = std::min(n, schema->metadata->RowGroup(part)->num_rows() - skipped);
      skipped += n;
      return n;
    }

    std::string path;
    std::shared_ptr<const ParquetSchema> schema;
    int part;
    std::vector<int> columns;
    std::int64_t skipped = 0;  // before they were opened
    std::optional<ParquetRows> rows = std::nullopt;
  };

  [[nodiscard]] std::vector<ColumnRange> read_batch_ranges(int part, int leaf, const Field& field) const {
    if (!metadata().RowGroup(part)->ColumnChunk(leaf)->GetColumnIndexLocation()) return {};
    const auto file = checked(path_, [&] { return arrow::io::ReadableFile::Open(path_); });
    const auto index =
        parquet::PageIndexReader::Make(file.get(), schema_->metadata, parquet::default_reader_properties())
            ->RowGroup(part);
    if (!index) return {};
    const auto values = index->GetColumnIndex(leaf);
    const auto places = index->GetOffsetIndex(leaf);
    if (!values || !places) return {};
    return ranges_of_batches(*metadata().schema()->Column(leaf), *values, *places, rows(part), field);
  }

  [[nodiscard]] parquet::FileMetaData& metadata() const { return *schema_->metadata; }
  // -1: it has several.
  [[nodiscard]] int leaf(int column) const { return schema_->fields[static_cast<std::size_t>(column)].column_index; }

  std::shared_ptr<const ParquetSchema> schema_;
};

}  // namespace

std::unique_ptr<Table> open_parquet_table(const std::string& path) { return std::make_unique<ParquetTable>(path); }

}  // namespace upsweep::io
