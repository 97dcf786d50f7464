// SPDX-License-Identifier: Apache-2.0
// io/parquet_rows.cpp: how a Parquet file is opened, and the rows of a row group as Arrow's record batches.
#include "io/parquet_rows.hpp"

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/io/file.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/arrow/schema.h>
#include <parquet/level_conversion.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <utility>

#include "io/parquet_pages.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kStreamBuffer = 1 << 18;  // read from a column chunk at once, whatever the chunk's size

// Decimals as wide as their digits need. Arrow before 23 has no such setting, and widens all of them to 128 bits.
template <class Properties>
void keep_decimals_narrow(Properties& properties) {
  if constexpr (requires { properties.set_smallest_decimal_enabled(true); }) {
    properties.set_smallest_decimal_enabled(true);
  }
}

// Arrow ends the program over a decimal type with more digits than it has.
arrow::Status check_decimals(const parquet::SchemaDescriptor& schema) {
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    const auto& type = schema.Column(leaf)->logical_type();
    if (!type || !type->is_decimal()) continue;
    const int digits = static_cast<const parquet::DecimalLogicalType&>(*type).precision();
    if (digits > arrow::Decimal256Type::kMaxPrecision) {
      return arrow::Status::NotImplemented("column ", schema.Column(leaf)->path()->ToDotString(), " has decimals of ",
                                           digits, " digits");
    }
  }
  return arrow::Status::OK();
}

// A buffer's worth of each column chunk is held at a time, and checksums are verified.
parquet::ReaderProperties page_properties() {
  parquet::ReaderProperties pages;
  // Without it a whole column chunk is read at once, and a file may have a single one.
  pages.enable_buffered_stream();
  pages.set_buffer_size(kStreamBuffer);
  pages.set_page_checksum_verification(true);
  return pages;
}

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

// The leaf that a column of elements, or of lists of them, has.
int leaf_of(const parquet::arrow::SchemaField& field) {
  return field.children.size() == 1 ? leaf_of(field.children[0]) : field.column_index;
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

arrow::Result<ParquetFile> start_parquet(const std::string& path, const std::vector<int>& text_leaves,
                                         std::shared_ptr<parquet::FileMetaData> metadata) {
  parquet::ArrowReaderProperties rows(/*use_threads=*/false);
  rows.set_batch_size(kBatchRows);
  rows.set_pre_buffer(false);
  keep_decimals_narrow(rows);
  for (const int leaf : text_leaves) rows.set_read_dictionary(leaf, true);
  parquet::arrow::FileReaderBuilder builder;
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  ARROW_RETURN_NOT_OK(builder.Open(file, page_properties(), std::move(metadata)));
  ARROW_RETURN_NOT_OK(check_decimals(*builder.raw_reader()->metadata()->schema()));
  ARROW_ASSIGN_OR_RAISE(auto reader, builder.properties(rows)->Build());
  return ParquetFile{std::move(file), std::move(reader)};
}

arrow::Result<ParquetRows> ParquetRows::open(const ParquetFile& file, int row_group, const std::vector<int>& columns) {
  ParquetRows rows;
  rows.reader_ = file.reader;
  rows.group_ = rows.reader_->parquet_reader()->RowGroup(row_group);
  rows.left_ = rows.group_->metadata()->num_rows();
  arrow::FieldVector fields;
  std::vector<int> others;
  for (const int column : columns) {
    const auto& field = rows.reader_->manifest().schema_fields[static_cast<std::size_t>(column)];
    const int at = leaf_of(field);
    const auto& leaf = *rows.group_->metadata()->schema()->Column(at);
    const auto type = type_to_read(leaf, field.field->type());
    const bool direct = is_as_stored(leaf, *type);
    fields.push_back(field.field->WithType(direct ? type : field.field->type()));
    rows.columns_.push_back({type, direct ? records_of(file, *rows.group_, at) : nullptr});
    if (!direct) others.push_back(at);
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
