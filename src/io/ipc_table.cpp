// SPDX-License-Identifier: Apache-2.0
// io/ipc_table.cpp: Arrow IPC files as tables of one row group per record batch, and streams as one row group.
#include <arrow/array/array_base.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "io/arrow_batches.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_table.hpp"

namespace upsweep::io {
namespace {

using IpcFile = arrow::ipc::RecordBatchFileReader;
using IpcStream = arrow::ipc::RecordBatchStreamReader;

std::shared_ptr<arrow::io::MemoryMappedFile> map_file(const FilePath& file) {
  return checked(file.name, [&] { return arrow::io::MemoryMappedFile::Open(file.path, arrow::io::FileMode::READ); });
}

// Returns options that read only those fields; all fields if the list is empty.
arrow::ipc::IpcReadOptions ipc_options(const std::vector<int>& fields) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.included_fields = fields;
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

// Checks that a stream that was read to its end has its end mark. A stream may end without one, but a stream that was
// truncated between two batches looks exactly the same. Every writer that was closed writes the mark. Data after it,
// such as a second stream, would be ignored silently.
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

// Returns a field that is fast to read, for reading only the number of rows.
int narrowest(const arrow::Schema& schema) {
  int best = 0;
  int least = std::numeric_limits<int>::max();
  for (int i = 0; i < schema.num_fields(); ++i) {
    const int width = schema.field(i)->type()->bit_width();
    if (width <= 0 || width >= least) continue;
    least = width;
    best = i;
  }
  return best;
}

class IpcFileTable final : public ArrowTable {
 public:
  explicit IpcFileTable(const FilePath& opened) : ArrowTable(opened) {
    const auto file = map_file(file_);
    const auto reader = checked(path_, [&] { return IpcFile::Open(file, ipc_options({})); });
    schema_ = reader->schema();
    declare(schema_->fields());
    mapped_ = reader->num_record_batches() == 0 || checked(path_, [&] { return is_mapped(*reader, *file); });
    const auto counter = checked(path_, [&] { return IpcFile::Open(file, options({})); });
    starts_ = {0};
    for (int row_group = 0; row_group < counter->num_record_batches(); ++row_group) {
      add_row_group(checked(path_, [&] { return counter->ReadRecordBatch(row_group); })->num_rows());
    }
  }

  [[nodiscard]] Format format() const override { return Format::ipc_file; }

  [[nodiscard]] RecordBatches batches(int row_group, const std::vector<int>& columns) const override {
    const Selection selection(columns);
    return {[opened = file_, options = options(selection.columns), mapped = mapped_, selection, row_group,
             file = std::shared_ptr<arrow::io::MemoryMappedFile>()]() mutable -> NextBatch {
      if (file) return nullptr;
      file = map_file(opened);
      ARROW_ASSIGN_OR_RAISE(const auto reader, IpcFile::Open(file, options));
      ARROW_ASSIGN_OR_RAISE(auto batch, reader->ReadRecordBatch(row_group));
      return mapped ? batch->SelectColumns(selection.columns) : NextBatch(std::move(batch));
    }};
  }

 private:
  // Whether the elements of the first batch are used in place in the mapped file. They are, unless they are compressed.
  // If some columns are requested, Arrow copies them out of the file, a whole batch at a time, and a batch may be the
  // whole file. If all columns are requested, it points into the mapped file and copies none, but decompresses all
  // compressed columns. So the first batch decides which columns to request.
  static arrow::Result<bool> is_mapped(IpcFile& reader, arrow::io::MemoryMappedFile& file) {
    ARROW_ASSIGN_OR_RAISE(const auto first, reader.ReadRecordBatch(0));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t size, file.GetSize());
    ARROW_ASSIGN_OR_RAISE(const auto mapped, file.ReadAt(0, size));
    return std::all_of(first->columns().begin(), first->columns().end(), [&](const auto& column) {
      const auto& buffers = column->data()->buffers;
      if (column->length() == 0 || buffers.size() < 2 || !buffers[1] || buffers[1]->size() == 0) return true;
      const std::uint8_t* const at = buffers[1]->data();
      return std::less_equal<>()(mapped->data(), at) && std::less<>()(at, mapped->data() + size);
    });
  }

  [[nodiscard]] arrow::ipc::IpcReadOptions options(const std::vector<int>& columns) const {
    if (mapped_) return ipc_options({});
    return ipc_options(columns.empty() ? std::vector<int>{narrowest(*schema_)} : columns);
  }

  std::shared_ptr<arrow::Schema> schema_;
  bool mapped_ = true;  // elements are used in place in the file
};

class IpcStreamTable final : public ArrowTable {
 public:
  explicit IpcStreamTable(const FilePath& opened) : ArrowTable(opened) {
    const auto file = map_file(file_);
    schema_ = checked(path_, [&] { return IpcStream::Open(file, ipc_options({})); })->schema();
    declare(schema_->fields());
  }

  [[nodiscard]] Format format() const override { return Format::ipc_stream; }

  [[nodiscard]] RecordBatches batches(int /*row_group*/, const std::vector<int>& columns) const override {
    const Selection selection(columns);
    const bool any = columns.empty() && schema_->num_fields() > 0;
    return {[opened = file_, wanted = any ? std::vector<int>{narrowest(*schema_)} : selection.columns,
             file = std::shared_ptr<arrow::io::MemoryMappedFile>(),
             reader = std::shared_ptr<IpcStream>()]() mutable -> NextBatch {
      if (!reader) {
        file = map_file(opened);
        ARROW_ASSIGN_OR_RAISE(reader, IpcStream::Open(file, ipc_options(wanted)));
      }
      ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
      if (!batch) ARROW_RETURN_NOT_OK(check_stream_end(*file));
      return batch;
    }};
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

std::unique_ptr<Table> open_ipc_file_table(const FilePath& file) { return std::make_unique<IpcFileTable>(file); }

std::unique_ptr<Table> open_ipc_stream_table(const FilePath& file) { return std::make_unique<IpcStreamTable>(file); }

}  // namespace upsweep::io
