// SPDX-License-Identifier: Apache-2.0
// io/arrow_files.cpp: how files are opened through Arrow C++, and what its errors become.
#include "io/arrow_files.hpp"

#include <arrow/array/array_base.h>
#include <arrow/csv/options.h>
#include <arrow/io/interfaces.h>
#include <arrow/type.h>
#include <arrow/util/io_util.h>
#include <arrow/util/thread_pool.h>
#include <fmt/format.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "core/threads.hpp"
#include "io/csv_decimals.hpp"
#include "io/csv_input.hpp"
#include "io/posix.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kStreamBuffer = 1 << 18;  // read from a Parquet column chunk at once, whatever the chunk's size
constexpr std::int32_t kCsvBlock = 1 << 20;      // of CSV; one line must fit

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

// Arrow takes CSV apart on a thread of its own, reads ahead on another, and ends the program or waits forever where they
// cannot be made. Its allocator may make a third.
constexpr int kCsvThreads = 3;

void require_csv_threads(const std::string& path) {
  const SpareThreads& spare = spare_threads();
  if (spare.enough) return;
  if (spare.count < kCsvThreads) {
    throw Error(Code::unreadable,
                fmt::format("{}: reading CSV takes {} more threads, and the system makes {}: raise the "
                            "limit on processes (ulimit -u) or on memory (ulimit -v)",
                            path, kCsvThreads, spare.count));
  }
  static const bool one_of_each = arrow::io::SetIOThreadPoolCapacity(1).ok() && arrow::SetCpuThreadPoolCapacity(1).ok();
  static_cast<void>(one_of_each);
}

}  // namespace

void throw_status(const std::string& name, const arrow::Status& status) {
  if (const int error = arrow::internal::ErrnoFromStatus(status); error != 0) throw_read_error(name, error);
  std::string text = printable(status.message(), 300);
  text.erase(text.find_last_not_of(" .") + 1);  // some of Arrow's messages are sentences
  if (status.IsOutOfMemory()) throw Error(Code::out_of_memory, fmt::format("{}: no memory to read it: {}", name, text));
  if (status.IsNotImplemented()) {
    throw Error(Code::unsupported_type,
                fmt::format("{}: holds what cannot be read here: {}; write it without", name, text));
  }
  // Some writers take 64-bit differences of 32-bit integers, which Arrow's decoder does not.
  if (text.find("InitBlock EOF") != std::string::npos || text.find("delta bit width") != std::string::npos) {
    throw Error(
        Code::unsupported_type,
        fmt::format("{}: cannot be decoded: it has delta-encoded integers whose differences seem to be longer than "
                    "the integers ({}); write it without this encoding",
                    name, text));
  }
  throw Error(Code::malformed, fmt::format("{}: is damaged or cut short: {}; write it again", name, text));
}

parquet::ReaderProperties page_properties() {
  parquet::ReaderProperties pages;
  // Without it a whole column chunk is read at once, and a file may have a single one.
  pages.enable_buffered_stream();
  pages.set_buffer_size(kStreamBuffer);
  pages.set_page_checksum_verification(true);
  return pages;
}

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

std::shared_ptr<arrow::io::MemoryMappedFile> map_file(const std::string& path) {
  return checked(path, [&] { return arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ); });
}

arrow::ipc::IpcReadOptions ipc_options(const std::vector<int>& fields) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.included_fields = fields;
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

arrow::Result<bool> lies_in(const arrow::Array& array, arrow::io::MemoryMappedFile& file) {
  const auto& buffers = array.data()->buffers;
  if (array.length() == 0 || buffers.size() < 2 || !buffers[1]) return false;
  ARROW_ASSIGN_OR_RAISE(const std::int64_t size, file.GetSize());
  ARROW_ASSIGN_OR_RAISE(const auto mapped, file.ReadAt(0, size));
  const std::uint8_t* const at = buffers[1]->data();
  return std::less_equal<>()(mapped->data(), at) && std::less<>()(at, mapped->data() + mapped->size());
}

arrow::Status check_stream_end(arrow::io::MemoryMappedFile& file) {
  constexpr std::string_view kEnd("\xff\xff\xff\xff\0\0\0\0", 8);
  constexpr auto kBytes = static_cast<std::int64_t>(kEnd.size());
  ARROW_ASSIGN_OR_RAISE(const std::int64_t at, file.Tell());
  ARROW_ASSIGN_OR_RAISE(const std::int64_t size, file.GetSize());
  if (at < size) return arrow::Status::Invalid(size - at, " bytes follow the end of the stream");
  ARROW_ASSIGN_OR_RAISE(const auto tail, file.ReadAt(std::max<std::int64_t>(size - kBytes, 0), kBytes));
  if (std::string_view(*tail) != kEnd) return arrow::Status::Invalid("the stream has no end mark");
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<CsvReader>> start_csv(const std::string& path, const arrow::FieldVector& fields,
                                                    bool one_column, CsvCells cells) {
  require_csv_threads(path);
  auto read = arrow::csv::ReadOptions::Defaults();
  read.use_threads = false;
  read.block_size = kCsvBlock;
  auto parse = arrow::csv::ParseOptions::Defaults();
  parse.newlines_in_values = true;
  parse.ignore_empty_lines = !one_column;
  auto convert = arrow::csv::ConvertOptions::Defaults();
  convert.check_utf8 = false;
  convert.null_values = {""};
  if (cells == CsvCells::typed) convert.null_values = std::vector<std::string>(kNullCells.begin(), kNullCells.end());
  convert.true_values = {"true", "True", "TRUE"};  // Arrow's lists have 1 and 0
  convert.false_values = {"false", "False", "FALSE"};
  convert.strings_can_be_null = true;
  convert.quoted_strings_can_be_null = false;  // "" is a word without letters
  for (const auto& field : fields) {
    convert.include_columns.push_back(field->name());
    convert.column_types[field->name()] = field->type();
  }
  return open_checked_csv(path, read, parse, convert);
}

bool is_conversion(const arrow::Status& status) {
  return status.message().find("conversion error") != std::string::npos;
}

// Arrow names it in its message only.
std::optional<CsvRow> row_of(const arrow::Status& status) {
  constexpr std::string_view kRow = "Row #";
  const std::string_view text = status.ok() ? std::string_view() : status.message();
  const std::size_t at = text.find(kRow);
  if (at == std::string_view::npos) return std::nullopt;
  CsvRow row{};
  const auto [end, error] = std::from_chars(text.data() + at + kRow.size(), text.data() + text.size(), row.number);
  row.rest = {end, text.data() + text.size()};
  return error == std::errc() ? std::optional(row) : std::nullopt;
}

void throw_csv(const std::string& name, const arrow::Status& status, Code code, std::string_view advice) {
  const auto found = row_of(status);
  if (!found) throw_status(name, status);
  const std::string rest = printable(found->rest);
  if (found->number == 1) throw Error(code, fmt::format("{}: the line of names{}; {}", name, rest, advice));
  const std::int64_t row = found->number - 2;
  throw Error(code, fmt::format("{}: row {}{}; {}", name, row, rest, advice), row);
}

}  // namespace upsweep::io
