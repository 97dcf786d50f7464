// SPDX-License-Identifier: Apache-2.0
// io/arrow_file.cpp: Arrow's writers of Parquet and Arrow IPC on top of an output file.
#include "io/arrow_file.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <exception>

namespace upsweep::io {

// Keeps the Error that stops it, because Arrow cannot pass upsweep's errors.
class ArrowFile::Stream final : public arrow::io::OutputStream {
 public:
  explicit Stream(OutputFile& file) : file_(file) { set_mode(arrow::io::FileMode::WRITE); }

  arrow::Status Write(const void* data, std::int64_t bytes) override {
    try {
      file_.write(data, bytes);
      written_ += bytes;
      return arrow::Status::OK();
    } catch (...) {
      failure_ = std::current_exception();
      return arrow::Status::IOError("cannot be written");
    }
  }
  arrow::Result<std::int64_t> Tell() const override { return written_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  OutputFile& file_;
  std::int64_t written_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

arrow::Result<ArrowFile::BatchWriter> ArrowFile::open_parquet(const std::shared_ptr<arrow::Schema>& schema,
                                                              const std::shared_ptr<Stream>& stream) {
  parquet::WriterProperties::Builder properties;
  if (arrow::util::Codec::IsAvailable(arrow::Compression::SNAPPY)) properties.compression(arrow::Compression::SNAPPY);
  // Parquet has no type for durations: Arrow's schema in the file tells readers that use Arrow.
  const auto with_schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ARROW_ASSIGN_OR_RAISE(
      auto opened, parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), stream, properties.build(),
                                                    with_schema));
  const std::shared_ptr<parquet::arrow::FileWriter> writer = std::move(opened);
  return BatchWriter{[writer](const arrow::RecordBatch& batch) { return writer->WriteRecordBatch(batch); },
                     [writer] { return writer->Close(); }};
}

arrow::Result<ArrowFile::BatchWriter> ArrowFile::open_ipc(const std::shared_ptr<arrow::Schema>& schema,
                                                          const std::shared_ptr<Stream>& stream) {
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(stream, schema));
  return BatchWriter{[writer](const arrow::RecordBatch& batch) { return writer->WriteRecordBatch(batch); },
                     [writer] { return writer->Close(); }};
}

template <class Do>
void ArrowFile::run(Do run_it) {
  (void)put([&]() -> arrow::Result<bool> {
    ARROW_RETURN_NOT_OK(run_it());
    return true;
  });
}

ArrowFile::ArrowFile(const std::string& path)
    : file_(path, Writing::in_order), stream_(std::make_shared<Stream>(file_)) {}

void ArrowFile::open(ResultFormat format, std::shared_ptr<arrow::Schema> schema) {
  schema_ = std::move(schema);
  writer_ = put(
      [&] { return format == ResultFormat::parquet ? open_parquet(schema_, stream_) : open_ipc(schema_, stream_); });
}

void ArrowFile::write(std::int64_t rows, arrow::ArrayVector columns) {
  const auto batch = arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  run([&] { return writer_.write(*batch); });
}

void ArrowFile::complete() {
  if (std::exchange(completed_, true)) return;
  run([&] { return writer_.close(); });
  file_.complete();
}

void ArrowFile::close() {
  complete();
  file_.close();
}

void ArrowFile::rethrow() const { stream_->rethrow(); }

}  // namespace upsweep::io
