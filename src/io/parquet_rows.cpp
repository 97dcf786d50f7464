// SPDX-License-Identifier: Apache-2.0
// io/parquet_rows.cpp: the rows of a Parquet row group as Arrow's record batches.
#include "io/parquet_rows.hpp"

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/arrow/schema.h>
#include <parquet/level_conversion.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>

#include "io/parquet_pages.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

// Of decimals that are stored as 64-bit integers those, also where their writer had them in 128 bits.
std::shared_ptr<arrow::DataType> type_to_read(const parquet::ColumnDescriptor& leaf,
                                              const std::shared_ptr<arrow::DataType>& type) {
  if (!arrow::is_decimal(type->id()) || leaf.physical_type() != parquet::Type::INT64) return type;
  const auto& decimal = static_cast<const arrow::DecimalType&>(*type);
  const bool fits = decimal.precision() <= arrow::Decimal64Type::kMaxPrecision;
  return fits ? arrow::decimal64(decimal.precision(), decimal.scale()) : type;
}

// Whether elements are used as Parquet stores them: numbers in as many bytes, of a column that is no part of another.
bool is_as_stored(const parquet::ColumnDescriptor& leaf, const arrow::DataType& type) {
  const parquet::Type::type stored = leaf.physical_type();
  const bool number = stored == parquet::Type::INT32 || stored == parquet::Type::INT64 ||
                      stored == parquet::Type::FLOAT || stored == parquet::Type::DOUBLE;
  const bool plain = arrow::is_primitive(type.id()) || arrow::is_decimal(type.id());
  const bool flat = leaf.max_repetition_level() == 0 && leaf.max_definition_level() <= 1;
  return number && plain && flat && type.byte_width() == parquet::GetTypeByteSize(stored);
}

std::shared_ptr<parquet::internal::RecordReader> records_of(const ParquetFile& file, parquet::RowGroupReader& group,
                                                            int leaf) {
  const auto chunk = group.metadata()->ColumnChunk(leaf);
  auto pages = open_snappy_pages(file.file, *file.reader->parquet_reader()->metadata(), *chunk, page_properties());
  if (pages == nullptr) return group.RecordReader(leaf);
  const parquet::ColumnDescriptor* const column = group.metadata()->schema()->Column(leaf);
  auto records = parquet::internal::RecordReader::Make(column, parquet::internal::LevelInfo::ComputeLevelInfo(column));
  records->SetPageReader(std::move(pages));
  return records;
}

// The next n elements.
arrow::Result<std::shared_ptr<arrow::Array>> read(parquet::internal::RecordReader& records,
                                                  const std::shared_ptr<arrow::DataType>& type, std::int64_t n) {
  records.Reset();
  records.Reserve(n);
  for (std::int64_t got = 0; got < n;) {
    const std::int64_t more = records.ReadRecords(n - got);
    if (more == 0) return arrow::Status::Invalid("a column has fewer rows than its row group");
    got += more;
  }
  const std::int64_t nulls = records.nullable_values() ? records.null_count() : 0;
  std::shared_ptr<arrow::Buffer> values = records.ReleaseValues();
  std::shared_ptr<arrow::Buffer> validity = records.nullable_values() ? records.ReleaseIsValid() : nullptr;
  return arrow::MakeArray(
      arrow::ArrayData::Make(type, n, {nulls > 0 ? std::move(validity) : nullptr, std::move(values)}, nulls));
}

}  // namespace

arrow::Result<ParquetRows> ParquetRows::open(const ParquetFile& file, int row_group, const std::vector<int>& columns) {
  ParquetRows rows;
  rows.reader_ = file.reader;
  rows.group_ = rows.reader_->parquet_reader()->RowGroup(row_group);
  rows.left_ = rows.group_->metadata()->num_rows();
  arrow::FieldVector fields;
  std::vector<int> others;
  for (const int column : columns) {
    const auto& field = rows.reader_->manifest().schema_fields[static_cast<std::size_t>(column)];
    const auto& leaf = *rows.group_->metadata()->schema()->Column(field.column_index);
    const auto type = type_to_read(leaf, field.field->type());
    const bool direct = is_as_stored(leaf, *type);
    fields.push_back(field.field->WithType(direct ? type : field.field->type()));
    rows.columns_.push_back({type, direct ? records_of(file, *rows.group_, field.column_index) : nullptr});
    if (!direct) others.push_back(field.column_index);
  }
  rows.schema_ = arrow::schema(std::move(fields));
  if (!others.empty()) {
    ARROW_ASSIGN_OR_RAISE(rows.others_, rows.reader_->GetRecordBatchReader({row_group}, others));
  }
  return rows;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParquetRows::next() {
  std::int64_t n = std::min(left_, kBatchRows);
  std::shared_ptr<arrow::RecordBatch> others;
  if (others_) {
    // Fewer where one of their dictionaries ends.
    ARROW_ASSIGN_OR_RAISE(others, others_->Next());
    n = others ? others->num_rows() : 0;
  }
  if (n == 0) return nullptr;
  left_ -= n;
  arrow::ArrayVector arrays;
  int place = 0;
  for (const Column& column : columns_) {
    if (column.records) {
      ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), read(*column.records, column.type, n));
    } else {
      arrays.push_back(others->column(place++));
    }
  }
  return arrow::RecordBatch::Make(schema_, n, std::move(arrays));
}

}  // namespace upsweep::io
