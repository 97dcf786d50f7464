// SPDX-License-Identifier: Apache-2.0
// io/ipc_table.cpp: Arrow IPC files as tables, whose parts are their record batches, and streams, which are one part.
#include <arrow/array/array_base.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "io/arrow_batches.hpp"
#include "io/arrow_files.hpp"
#include "io/arrow_table.hpp"

namespace upsweep::io {
namespace {

using NextBatch = arrow::Result<std::shared_ptr<arrow::RecordBatch>>;

// A field that is quick to read where none is asked for, but its rows.
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
  explicit IpcFileTable(const std::string& path) : ArrowTable(path) {
    const auto file = map_file(path_);
    const auto reader = checked(path_, [&] { return IpcFile::Open(file, ipc_options({})); });
    schema_ = reader->schema();
    fields_ = fields_of(*schema_);
    mapped_ = reader->num_record_batches() == 0 || checked(path_, [&] { return is_mapped(*reader, *file); });
    const auto counter = checked(path_, [&] { return IpcFile::Open(file, options({})); });
    std::vector<std::int64_t> rows;
    rows.reserve(static_cast<std::size_t>(counter->num_record_batches()));
    for (int part = 0; part < counter->num_record_batches(); ++part) {
      rows.push_back(checked(path_, [&] { return counter->ReadRecordBatch(part); })->num_rows());
    }
    starts_ = starts_of(path_, rows);
  }

  [[nodiscard]] std::unique_ptr<BatchReader> open(int part, const std::vector<int>& columns) const override {
    const Selection selection(columns);
    ArrowPart opened = make_part(part, columns);
    opened.source = [path = path_, options = options(selection.columns), mapped = mapped_, selection, part,
                     file = std::shared_ptr<arrow::io::MemoryMappedFile>()]() mutable -> NextBatch {
      if (file) return nullptr;
      file = map_file(path);
      ARROW_ASSIGN_OR_RAISE(const auto reader, IpcFile::Open(file, options));
      ARROW_ASSIGN_OR_RAISE(auto batch, reader->ReadRecordBatch(part));
      return mapped ? batch->SelectColumns(selection.columns) : NextBatch(std::move(batch));
    };
    return read_batches(std::move(opened));
  }

 private:
  // Whether all columns of the first batch are used where they lie.
  static arrow::Result<bool> is_mapped(IpcFile& reader, arrow::io::MemoryMappedFile& file) {
    ARROW_ASSIGN_OR_RAISE(const auto first, reader.ReadRecordBatch(0));
    for (const auto& column : first->columns()) {
      ARROW_ASSIGN_OR_RAISE(const bool lies, lies_in(*column, file));
      const auto& buffers = column->data()->buffers;
      const bool has_elements = column->length() > 0 && buffers.size() > 1 && buffers[1] && buffers[1]->size() > 0;
      if (has_elements && !lies) return false;
    }
    return true;
  }

  [[nodiscard]] arrow::ipc::IpcReadOptions options(const std::vector<int>& columns) const {
    if (mapped_) return ipc_options({});
    return ipc_options(columns.empty() ? std::vector<int>{narrowest(*schema_)} : columns);
  }

  std::shared_ptr<arrow::Schema> schema_;
  bool mapped_ = true;  // elements lie in the file as they are used
};

class IpcStreamTable final : public ArrowTable {
 public:
  explicit IpcStreamTable(const std::string& path) : ArrowTable(path) {
    const auto file = map_file(path_);
    schema_ = checked(path_, [&] { return IpcStream::Open(file, ipc_options({})); })->schema();
    fields_ = fields_of(*schema_);
  }

  [[nodiscard]] std::unique_ptr<BatchReader> open(int part, const std::vector<int>& columns) const override {
    const Selection selection(columns);
    const bool any = columns.empty() && schema_->num_fields() > 0;
    ArrowPart opened = make_part(part, columns);
    opened.source = [path = path_, wanted = any ? std::vector<int>{narrowest(*schema_)} : selection.columns,
                     file = std::shared_ptr<arrow::io::MemoryMappedFile>(),
                     reader = std::shared_ptr<IpcStream>()]() mutable -> NextBatch {
      if (!reader) {
        file = map_file(path);
        ARROW_ASSIGN_OR_RAISE(reader, IpcStream::Open(file, ipc_options(wanted)));
      }
      ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
      if (!batch) ARROW_RETURN_NOT_OK(check_stream_end(*file));
      return batch;
    };
    return read_batches(std::move(opened));
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

std::unique_ptr<Table> open_ipc_file_table(const std::string& path) { return std::make_unique<IpcFileTable>(path); }

std::unique_ptr<Table> open_ipc_stream_table(const std::string& path) { return std::make_unique<IpcStreamTable>(path); }

}  // namespace upsweep::io
