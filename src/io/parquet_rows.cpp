// SPDX-License-Identifier: Apache-2.0
// io/parquet_rows.cpp: how a Parquet file is opened, and the rows of a row group as Arrow's record batches.
#include "io/parquet_rows.hpp"

#include <arrow/array/array_base.h>
#include <arrow/io/file.h>
#include <arrow/io/interfaces.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <utility>

#include "io/parquet_pages.hpp"
#include "io/tuning.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

// Returns the maximum number of bytes in which a decimal is stored.
int stored_bytes(const parquet::ColumnDescriptor& column) {
  if (column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY) return column.type_length();
  if (column.physical_type() == parquet::Type::BYTE_ARRAY) return sizeof(Int128);
  return parquet::GetTypeByteSize(column.physical_type());
}

// Whether no decimals are stored in more bytes than their digits need. Writers may store few digits in many bytes, as
// writers in Java do. Arrow cannot convert these to narrow decimals.
bool are_decimals_narrow(const parquet::SchemaDescriptor& schema) {
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    const parquet::ColumnDescriptor& column = *schema.Column(leaf);
    if (!column.logical_type() || !column.logical_type()->is_decimal()) continue;
    const int digits = static_cast<const parquet::DecimalLogicalType&>(*column.logical_type()).precision();
    const int needed = digits <= 9 ? 4 : digits <= 18 ? 8 : stored_bytes(column);
    if (stored_bytes(column) > needed) return false;
  }
  return true;
}

// Makes decimals as wide as their digits need. Arrow before 23 has no such setting, and widens all of them to 128 bits.
template <class Properties>
void keep_decimals_narrow(Properties& properties) {
  if constexpr (requires { properties.set_smallest_decimal_enabled(true); }) {
    properties.set_smallest_decimal_enabled(true);
  }
}

// Arrow ends the program if a decimal type has more digits than Arrow supports.
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

// Holds one buffer of each column chunk at a time, and verifies checksums.
parquet::ReaderProperties page_properties() {
  parquet::ReaderProperties pages;
  // Without this setting a whole column chunk is read at once, and a file may have a single chunk.
  pages.enable_buffered_stream();
  pages.set_buffer_size(tuning::kBinary.stream_buffer);
  pages.set_page_checksum_verification(true);
  return pages;
}

// Returns the leaf of a column of elements, or of lists of them.
int leaf_of(const parquet::arrow::SchemaField& field) {
  return field.children.size() == 1 ? leaf_of(field.children[0]) : field.column_index;
}

using File = std::shared_ptr<arrow::io::RandomAccessFile>;

std::shared_ptr<ValueReader> reader_of(const File& file, const parquet::FileMetaData& metadata,
                                       parquet::RowGroupReader& group, int leaf,
                                       std::unique_ptr<PageElements> elements) {
  auto pages = open_snappy_pages(file, metadata, *group.metadata()->ColumnChunk(leaf), page_properties());
  const bool stay = pages != nullptr;
  if (!stay) pages = group.GetColumnPageReader(leaf);
  return std::make_shared<ValueReader>(*metadata.schema()->Column(leaf), std::move(elements), std::move(pages), stay);
}

// Opens Arrow's reader, which takes 0.1 ms: it decodes the schema. `metadata`: null if it must be read.
arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> arrow_reader(
    File file, std::shared_ptr<parquet::FileMetaData> metadata) {
  parquet::ArrowReaderProperties rows(/*use_threads=*/false);
  rows.set_batch_size(kBatchRows);
  rows.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Open(std::move(file), page_properties(), std::move(metadata)));
  const parquet::SchemaDescriptor& schema = *builder.raw_reader()->metadata()->schema();
  ARROW_RETURN_NOT_OK(check_decimals(schema));
  if (are_decimals_narrow(schema)) keep_decimals_narrow(rows);
  return builder.properties(rows)->Build();
}

// Asks the system for columns of a row group, and of the next one, which most likely is read next. Without this
// request, queries of a file that is not in the page cache took two to three times as long. If the whole file is in it,
// the request makes them take 1 to 3 % longer.
arrow::Status read_ahead(arrow::io::RandomAccessFile& file, const ParquetSchema& schema, int row_group,
                         const std::vector<int>& columns) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  std::vector<arrow::io::ReadRange> ranges;
  for (int group = row_group; group < std::min(row_group + 2, schema.metadata->num_row_groups()); ++group) {
    const auto chunks = schema.metadata->RowGroup(group);
    for (const int column : columns) {
      const int leaf = leaf_of(schema.fields[static_cast<std::size_t>(column)]);
      ranges.push_back(range_in_file(*chunks->ColumnChunk(leaf)));
    }
  }
  return file.WillNeed(ranges);
  END_PARQUET_CATCH_EXCEPTIONS
}

}  // namespace

arrow::Result<ParquetSchema> read_parquet_schema(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(File file, arrow::io::ReadableFile::Open(path));
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow_reader(std::move(file), nullptr));
  return ParquetSchema{reader->parquet_reader()->metadata(), reader->manifest().schema_fields};
}

arrow::Result<ParquetRows> ParquetRows::open(const std::string& path, const ParquetSchema& schema, int row_group,
                                             const std::vector<int>& columns) {
  ParquetRows rows;
  ARROW_ASSIGN_OR_RAISE(const File file, arrow::io::ReadableFile::Open(path));
  rows.file_ = parquet::ParquetFileReader::Open(file, page_properties(), schema.metadata);
  rows.group_ = rows.file_->RowGroup(row_group);
  rows.left_ = rows.group_->metadata()->num_rows();
  // A wrong range is reported later, by the code that reads it.
  [[maybe_unused]] const arrow::Status hinted = read_ahead(*file, schema, row_group, columns);
  arrow::FieldVector fields;
  std::vector<int> others;
  for (const int column : columns) {
    const auto& field = schema.fields[static_cast<std::size_t>(column)];
    const int at = leaf_of(field);
    const auto chunk = rows.group_->metadata()->ColumnChunk(at);
    auto elements = elements_of(*schema.metadata->schema()->Column(at), *chunk, field.field->type());
    fields.push_back(elements ? field.field->WithType(elements->type()) : field.field);
    if (!elements) others.push_back(at);
    rows.columns_.push_back(elements ? reader_of(file, *schema.metadata, *rows.group_, at, std::move(elements))
                                     : nullptr);
  }
  rows.schema_ = arrow::schema(std::move(fields));
  if (!others.empty()) {
    ARROW_ASSIGN_OR_RAISE(rows.others_file_, arrow_reader(file, schema.metadata));
    ARROW_ASSIGN_OR_RAISE(rows.others_, rows.others_file_->GetRecordBatchReader({row_group}, others));
  }
  return rows;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParquetRows::next() {
  std::int64_t n = std::min(left_, kBatchRows);
  std::shared_ptr<arrow::RecordBatch> others;
  if (others_) {
    // Fewer rows if one of their dictionaries ends.
    ARROW_ASSIGN_OR_RAISE(others, next_others());
    n = others ? others->num_rows() : 0;
  }
  if (n == 0) return nullptr;
  left_ -= n;
  arrow::ArrayVector arrays;
  int place = 0;
  for (const auto& column : columns_) arrays.push_back(column ? column->read(n) : others->column(place++));
  return arrow::RecordBatch::Make(schema_, n, std::move(arrays));
}

arrow::Result<std::int64_t> ParquetRows::skip(std::int64_t rows) {
  const std::int64_t n = std::min(left_, rows);
  left_ -= n;
  for (const auto& column : columns_) {
    if (column) column->skip(n);
  }
  for (std::int64_t to_pass = others_ ? n : 0; to_pass > 0;) {
    ARROW_ASSIGN_OR_RAISE(auto others, next_others());
    if (!others) break;
    const std::int64_t some = std::min(others->num_rows(), to_pass);
    if (some < others->num_rows()) others_kept_ = others->Slice(some);
    to_pass -= some;
  }
  return n;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParquetRows::next_others() {
  if (others_kept_) return std::exchange(others_kept_, nullptr);
  return others_->Next();
}

}  // namespace upsweep::io
