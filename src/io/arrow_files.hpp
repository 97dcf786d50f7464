// SPDX-License-Identifier: Apache-2.0
// io/arrow_files.hpp: how files are opened through Arrow C++, and what its errors become.
#pragma once

#include <arrow/csv/reader.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/result.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/table.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {

/// Throws the Error that a failure of Arrow is to the user; its message starts with `name`.
[[noreturn]] void throw_status(const std::string& name, const arrow::Status& status);

/// Runs `read` and turns whatever Arrow throws or returns into an Error that starts with `name`.
template <class Read>
auto checked(const std::string& name, Read&& read) {
  try {
    auto result = read();
    if (!result.ok()) throw_status(name, result.status());
    return std::move(result).ValueUnsafe();
  } catch (const parquet::ParquetStatusException& thrown) {
    throw_status(name, thrown.status());
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw_status(name, arrow::Status::OutOfMemory("an allocation failed"));
  } catch (const std::exception& thrown) {
    throw_status(name, arrow::Status::Invalid(thrown.what()));
  }
}

struct ParquetFile {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  std::shared_ptr<parquet::arrow::FileReader> reader;
};

/// How pages are read: a buffer's worth of each column chunk is held at a time, and checksums are verified.
parquet::ReaderProperties page_properties();

/// Columns of text become dictionaries where `text_leaves` has their leaf. `metadata`: what another reader of the file
/// has read already.
arrow::Result<ParquetFile> start_parquet(const std::string& path, const std::vector<int>& text_leaves = {},
                                         std::shared_ptr<parquet::FileMetaData> metadata = nullptr);

using IpcFile = arrow::ipc::RecordBatchFileReader;
using IpcStream = arrow::ipc::RecordBatchStreamReader;

std::shared_ptr<arrow::io::MemoryMappedFile> map_file(const std::string& path);

/// Reads only those fields; all of them where the list is empty.
arrow::ipc::IpcReadOptions ipc_options(const std::vector<int>& fields);

/// Whether the elements of `array` are used where they lie in the mapped file, which they are unless compressed.
/// Asked for some columns, Arrow copies them out of the file, a whole batch at a time, and a batch may be the whole
/// file. Asked for all, it points into the mapped file and copies none, but decompresses all where they are compressed.
/// So the first batch decides what to ask for.
arrow::Result<bool> lies_in(const arrow::Array& array, arrow::io::MemoryMappedFile& file);

/// Whether a stream that was read to its end has its end mark. A stream may end without, and one that was cut between
/// two batches looks just so. Every writer that was closed leaves the mark; what follows it, such as a second stream,
/// would be passed over in silence.
arrow::Status check_stream_end(arrow::io::MemoryMappedFile& file);

using CsvReader = arrow::RecordBatchReader;

/// The fields of a CSV file that are wanted, as what they are to be read; all of them where there are none, as what
/// they look like in the first block. `one_column`: the file has no other, so that an empty line is a row of it.
/// `cells`: whether words such as NA are NULL too.
arrow::Result<std::shared_ptr<CsvReader>> start_csv(const std::string& path, const arrow::FieldVector& fields,
                                                    bool one_column = false, CsvCells cells = CsvCells::typed);

/// Whether Arrow could not read a CSV field as the type asked for.
bool is_conversion(const arrow::Status& status);

/// The row of a CSV file that a failure of Arrow is about, as Arrow counts them: from 1, with the line of names.
struct CsvRow {
  std::int64_t number;
  std::string_view rest;  ///< of the message
};
std::optional<CsvRow> row_of(const arrow::Status& status);

/// Throws the Error for a failure of Arrow that is about a row of a CSV file.
[[noreturn]] void throw_csv(const std::string& name, const arrow::Status& status, Code code, std::string_view advice);

}  // namespace upsweep::io
