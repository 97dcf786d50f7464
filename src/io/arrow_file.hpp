// SPDX-License-Identifier: Apache-2.0
// io/arrow_file.hpp: a Parquet or Arrow IPC file that is written through Arrow, and gets its name when it is complete.
#pragma once

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>
#include <arrow/type_fwd.h>
#include <arrow/util/bit_util.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "io/arrow_errors.hpp"
#include "io/output_file.hpp"
#include "io/result_format.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {

/// Writes Arrow's output to an output file.
class ArrowFile {
 public:
  /// Throws as OutputFile does.
  explicit ArrowFile(const std::string& path);

  /// Begins a file of these columns. `format` is parquet or arrow.
  void open(ResultFormat format, std::shared_ptr<arrow::Schema> schema);
  /// Writes the next rows. Throws upsweep::Error: disk_full, unwritable. A closed pipe raises io::ClosedPipe.
  void write(std::int64_t rows, arrow::ArrayVector columns);
  void complete();
  void close();
  void take_back() noexcept { file_.take_back(); }

  [[nodiscard]] const std::string& name() const { return file_.name(); }
  [[nodiscard]] const arrow::Schema& schema() const { return *schema_; }

  /// Returns the result of `make`, which uses Arrow, or throws the Error of its failure.
  template <class Make>
  auto put(Make make) {
    try {
      return checked(file_.name(), make);
    } catch (const Error&) {
      rethrow();
      throw;
    }
  }

 private:
  class Stream;
  /// The writer of either kind of file.
  struct BatchWriter {
    std::function<arrow::Status(const arrow::RecordBatch&)> write;
    std::function<arrow::Status()> close;
  };

  static arrow::Result<BatchWriter> open_parquet(const std::shared_ptr<arrow::Schema>& schema,
                                                 const std::shared_ptr<Stream>& stream);
  static arrow::Result<BatchWriter> open_ipc(const std::shared_ptr<arrow::Schema>& schema,
                                             const std::shared_ptr<Stream>& stream);
  template <class Do>
  void run(Do run_it);
  void rethrow() const;

  OutputFile file_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<arrow::Schema> schema_;
  BatchWriter writer_;
  bool completed_ = false;
};

/// Returns memory as a buffer, in place.
inline std::shared_ptr<arrow::Buffer> view(const void* data, std::int64_t bytes) {
  return std::make_shared<arrow::Buffer>(static_cast<const std::uint8_t*>(data), bytes);
}

/// Returns a bitmap of n booleans, is(i), and sets `zeros` to how many are false.
template <class Is>
arrow::Result<std::shared_ptr<arrow::Buffer>> bitmap_of(std::int64_t n, std::int64_t& zeros, Is is) {
  ARROW_ASSIGN_OR_RAISE(auto bitmap, arrow::AllocateEmptyBitmap(n));
  zeros = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool set = is(i);
    arrow::bit_util::SetBitTo(bitmap->mutable_data(), i, set);
    zeros += set ? 0 : 1;
  }
  return bitmap;
}

}  // namespace upsweep::io
