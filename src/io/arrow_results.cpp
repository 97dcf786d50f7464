// SPDX-License-Identifier: Apache-2.0
// io/arrow_results.cpp: results written as Parquet and Arrow IPC files, through Arrow.
#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/compression.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <utility>

#include "io/arrow_errors.hpp"
#include "io/output_file.hpp"
#include "io/result_writer.hpp"
#include "io/source.hpp"
#include "io/table.hpp"
#include "io/tuning.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();  // limit of a batch's 32-bit offsets
constexpr std::int64_t kLeastDecimal = -999'999'999'999'999'999;                  // of kInt64Digits
constexpr std::int64_t kGreatestDecimal = -kLeastDecimal;
constexpr int kMilliDigits = 3;  // digits after the second

// Writes Arrow's output to an output file. It keeps the Error that stops it, because Arrow cannot pass upsweep's
// errors.
class OutputStream final : public arrow::io::OutputStream {
 public:
  explicit OutputStream(OutputFile& file) : file_(file) { set_mode(arrow::io::FileMode::WRITE); }

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

// The writer of either kind of file.
struct BatchWriter {
  std::function<arrow::Status(const arrow::RecordBatch&)> write;
  std::function<arrow::Status()> close;
};

arrow::Result<BatchWriter> open_parquet(const std::shared_ptr<arrow::Schema>& schema,
                                        const std::shared_ptr<OutputStream>& stream) {
  parquet::WriterProperties::Builder properties;
  if (arrow::util::Codec::IsAvailable(arrow::Compression::SNAPPY)) properties.compression(arrow::Compression::SNAPPY);
  // Parquet has no type for durations: Arrow's schema in the file tells readers that use Arrow.
  const auto with_schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ARROW_ASSIGN_OR_RAISE(auto opened, parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), stream,
                                                                      properties.build(), with_schema));
  const std::shared_ptr<parquet::arrow::FileWriter> writer = std::move(opened);
  return BatchWriter{[writer](const arrow::RecordBatch& batch) { return writer->WriteRecordBatch(batch); },
                     [writer] { return writer->Close(); }};
}

arrow::Result<BatchWriter> open_ipc(const std::shared_ptr<arrow::Schema>& schema,
                                    const std::shared_ptr<OutputStream>& stream) {
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(stream, schema));
  return BatchWriter{[writer](const arrow::RecordBatch& batch) { return writer->WriteRecordBatch(batch); },
                     [writer] { return writer->Close(); }};
}

arrow::TimeUnit::type unit_of(const ResultColumn& column) {
  constexpr arrow::TimeUnit::type kUnits[] = {arrow::TimeUnit::SECOND, arrow::TimeUnit::MILLI, arrow::TimeUnit::MICRO,
                                              arrow::TimeUnit::NANO};
  return kUnits[column.scale / kMilliDigits];
}

std::shared_ptr<arrow::DataType> arrow_type(const ResultColumn& column) {
  switch (column.meaning) {
    case Meaning::decimal:
      return arrow::decimal128(kInt64Digits, column.scale);
    case Meaning::date:
      return arrow::date32();
    case Meaning::boolean:
      return arrow::boolean();
    case Meaning::timestamp:
      return arrow::timestamp(unit_of(column), column.zone);
    case Meaning::time:
      if (column.scale <= kMilliDigits) return arrow::time32(unit_of(column));
      return arrow::time64(unit_of(column));
    case Meaning::duration:
      return arrow::duration(unit_of(column));
    case Meaning::number:
      break;
  }
  const std::shared_ptr<arrow::DataType> types[] = {arrow::int8(),    arrow::int16(),  arrow::int32(),  arrow::int64(),
                                                    arrow::uint8(),   arrow::uint16(), arrow::uint32(), arrow::uint64(),
                                                    arrow::float32(), arrow::float64()};
  static_assert(std::size(types) == kTypeCount, "a new type needs Arrow's name for it here");
  return types[static_cast<int>(column.type)];
}

std::shared_ptr<arrow::Buffer> view(const void* data, std::int64_t bytes) {
  return std::make_shared<arrow::Buffer>(static_cast<const std::uint8_t*>(data), bytes);
}

// Returns a bitmap of n booleans, is(i), and sets `zeros` to how many are false.
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

// Converts the results of a column to Arrow's elements.
class Elements {
 public:
  Elements(ResultColumn column, std::string file)
      : column_(std::move(column)), file_(std::move(file)), type_(arrow_type(column_)) {}

  [[nodiscard]] const std::shared_ptr<arrow::DataType>& type() const { return type_; }
  [[nodiscard]] const std::string& name() const { return column_.name; }

  // Converts n elements from element `first` on. That element is number `row` of all results.
  [[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> make(const ResultArray& array, std::int64_t first,
                                                                  std::int64_t n, std::int64_t row) const {
    const auto* const from = static_cast<const std::byte*>(array.elements) + first * size_of(column_.type);
    const auto is_valid = [&](std::int64_t i) { return !array.valid.is_given() || array.valid[first + i]; };
    if (column_.meaning == Meaning::decimal) {
      return convert<std::int64_t, arrow::Decimal128>(from, n, row, kLeastDecimal, kGreatestDecimal, is_valid);
    }
    if (column_.type == Type::int64 && (column_.meaning == Meaning::date || type_->id() == arrow::Type::TIME32)) {
      using Limits = std::numeric_limits<std::int32_t>;
      return convert<std::int64_t, std::int32_t>(from, n, row, Limits::min(), Limits::max(), is_valid);
    }
    if (is_temporal(column_.meaning) && column_.type == Type::int64 && column_.misfit_is_null) {
      using Limits = std::numeric_limits<std::int64_t>;
      return convert<std::int64_t, std::int64_t>(from, n, row, Limits::min() + 1, Limits::max() - 1, is_valid);
    }
    std::shared_ptr<arrow::Buffer> values = view(from, n * size_of(column_.type));
    if (column_.meaning == Meaning::boolean) {
      std::int64_t zeros = 0;
      ARROW_ASSIGN_OR_RAISE(values, bitmap_of(n, zeros, [&](std::int64_t i) { return from[i] != std::byte{0}; }));
    }
    if (!array.valid.is_given()) return made(n, std::move(values), nullptr, 0);
    std::int64_t nulls = 0;
    ARROW_ASSIGN_OR_RAISE(auto valid, bitmap_of(n, nulls, is_valid));
    return made(n, std::move(values), std::move(valid), nulls);
  }

 private:
  [[nodiscard]] std::shared_ptr<arrow::Array> made(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                                   std::shared_ptr<arrow::Buffer> valid, std::int64_t nulls) const {
    return arrow::MakeArray(
        arrow::ArrayData::Make(type_, n, {nulls > 0 ? std::move(valid) : nullptr, std::move(values)}, nulls));
  }

  template <class From, class To, class IsValid>
  [[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> convert(const std::byte* from, std::int64_t n,
                                                                     std::int64_t row, From least, From greatest,
                                                                     IsValid is_valid) const {
    const auto* const elements = reinterpret_cast<const From*>(from);
    const auto fits = [&](std::int64_t i) { return elements[i] >= least && elements[i] <= greatest; };
    const auto is_given = [&](std::int64_t i) { return is_valid(i) && fits(i); };
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(To));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values, arrow::AllocateBuffer(n * kSize));
    for (std::int64_t i = 0; i < n; ++i) {
      if (is_valid(i) && !fits(i) && !column_.misfit_is_null) throw_misfit(row + i);
      const To value(static_cast<To>(is_given(i) ? elements[i] : From{0}));
      std::memcpy(values->mutable_data() + i * kSize, &value, sizeof value);
    }
    std::int64_t nulls = 0;
    ARROW_ASSIGN_OR_RAISE(auto valid, bitmap_of(n, nulls, is_given));
    return made(n, std::move(values), std::move(valid), nulls);
  }

  [[noreturn]] void throw_misfit(std::int64_t row) const {
    throw Error(Code::overflow,
                column_.meaning == Meaning::date
                    ? fmt::format("{}: value {} is not a date; write .npy, which stores it as a number", file_, row)
                    : fmt::format("{}: value {} has more than {} digits; choose --dtype float64, or write .npy, which "
                                  "stores it as an integer",
                                  file_, row, kInt64Digits),
                row);
  }

  ResultColumn column_;
  std::string file_;
  std::shared_ptr<arrow::DataType> type_;
};

class ArrowResults final : public ResultWriter {
  // Returns the result of `make`, or throws the Error of its failure.
  template <class Make>
  auto put(Make make) {
    try {
      return checked(file_.name(), make);
    } catch (const Error&) {
      stream_->rethrow();
      throw;
    }
  }
  template <class Do>
  void run(Do run_it) {
    (void)put([&]() -> arrow::Result<bool> {
      ARROW_RETURN_NOT_OK(run_it());
      return true;
    });
  }

 public:
  ArrowResults(const std::string& path, Shape shape, std::vector<ResultColumn> columns)
      : file_(path, Writing::in_order), stream_(std::make_shared<OutputStream>(file_)), files_{path} {
    arrow::FieldVector fields;
    for (ResultColumn& column : columns) {
      columns_.emplace_back(std::move(column), file_.name());
      const auto& type = columns_.back().type();
      fields.push_back(arrow::field(columns_.back().name(), shape == Shape::lists ? arrow::list(type) : type));
    }
    schema_ = arrow::schema(std::move(fields));
    writer_ =
        put([&] { return ends_in(path, ".parquet") ? open_parquet(schema_, stream_) : open_ipc(schema_, stream_); });
  }

  void write(std::span<const ResultArray> columns, std::int64_t rows) override {
    for (std::int64_t first = 0; first < rows; first += tuning::kBinary.arrow_rows) {
      const std::int64_t n = std::min(tuning::kBinary.arrow_rows, rows - first);
      arrow::ArrayVector arrays;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        arrays.push_back(put([&] { return columns_[i].make(columns[i], first, n, written_); }));
      }
      write_batch(std::move(arrays), n);
      written_ += n;
    }
  }

  void write_lists(std::span<const std::int64_t> offsets, std::span<const ResultArray> columns) override {
    const std::int64_t lists = std::ssize(offsets) - 1;
    for (std::int64_t first = 0, end = 0; first < lists; first = end) {
      end = end_of_batch(offsets, first);
      write_lists(offsets.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first + 1)), first,
                  columns);
    }
  }

  void complete() override {
    if (std::exchange(completed_, true)) return;
    run([&] { return writer_.close(); });
    file_.complete();
  }
  void close() override {
    complete();
    file_.close();
  }
  void take_back() noexcept override { file_.take_back(); }
  [[nodiscard]] const std::vector<std::string>& files() const override { return files_; }

 private:
  // Returns the end of the lists, from `first` on, whose elements 32-bit offsets can count.
  [[nodiscard]] std::int64_t end_of_batch(std::span<const std::int64_t> offsets, std::int64_t first) const {
    const auto at = [&](std::int64_t i) { return offsets.begin() + i; };
    const std::int64_t most = std::min(first + tuning::kBinary.arrow_rows, std::ssize(offsets) - 1);
    const auto past = std::upper_bound(at(first), at(most) + 1, *at(first) + kMostElements);
    const std::int64_t end = past - offsets.begin() - 1;
    if (end > first) return end;
    throw Error(Code::overflow,
                fmt::format("{}: list {} has {} elements, more than an Arrow list can have; write .npy", file_.name(),
                            written_, offsets[static_cast<std::size_t>(first) + 1] - *at(first)),
                written_);
  }

  // Writes lists from number `first` of the call on.
  void write_lists(std::span<const std::int64_t> offsets, std::int64_t first, std::span<const ResultArray> columns) {
    const std::int64_t lists = std::ssize(offsets) - 1;
    const std::int64_t elements = offsets.back() - offsets.front();
    std::vector<std::int32_t> narrow(offsets.size());
    std::transform(offsets.begin(), offsets.end(), narrow.begin(),
                   [&](std::int64_t offset) { return static_cast<std::int32_t>(offset - offsets.front()); });
    const auto bounds = view(narrow.data(), std::ssize(narrow) * std::int64_t{sizeof(std::int32_t)});
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::shared_ptr<arrow::Buffer> validity;
      std::int64_t nulls = 0;
      if (const Mask& valid = columns[i].valid_lists; valid.is_given()) {
        validity = put([&] { return bitmap_of(lists, nulls, [&](std::int64_t list) { return valid[first + list]; }); });
      }
      const auto content = put([&] { return columns_[i].make(columns[i], offsets.front(), elements, elements_); });
      const auto type = schema_->field(static_cast<int>(i))->type();
      arrays.push_back(arrow::MakeArray(arrow::ArrayData::Make(
          type, lists, arrow::BufferVector{nulls > 0 ? validity : nullptr, bounds}, {content->data()}, nulls)));
    }
    write_batch(std::move(arrays), lists);
    written_ += lists;
    elements_ += elements;
  }

  void write_batch(arrow::ArrayVector arrays, std::int64_t rows) {
    const auto batch = arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
    run([&] { return writer_.write(*batch); });
  }

  OutputFile file_;
  std::shared_ptr<OutputStream> stream_;
  std::vector<std::string> files_;
  std::vector<Elements> columns_;
  std::shared_ptr<arrow::Schema> schema_;
  BatchWriter writer_;
  bool completed_ = false;
  std::int64_t written_ = 0;   // rows
  std::int64_t elements_ = 0;  // of lists
};

}  // namespace

std::unique_ptr<ResultWriter> open_arrow_results(const std::string& path, Shape shape,
                                                 std::vector<ResultColumn> columns) {
  return std::make_unique<ArrowResults>(path, shape, std::move(columns));
}

}  // namespace upsweep::io
