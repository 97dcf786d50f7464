// SPDX-License-Identifier: Apache-2.0
// io/arrow_column.cpp: reads a column of a Parquet, Arrow IPC or CSV file through Arrow C++, batch by batch.
#include "io/arrow_column.hpp"

#include <arrow/array/array_base.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/io_util.h>
#include <fmt/format.h>
#include <parquet/arrow/schema.h>
#include <parquet/metadata.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "io/arrow_elements.hpp"
#include "io/arrow_files.hpp"
#include "io/csv_decimals.hpp"
#include "io/csv_input.hpp"
#include "io/posix.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr int kMaxDigits = 18;  // as many as any 64-bit integer can hold

// The next piece of the column, null at the end. It may throw what Arrow throws.
using Source = std::function<arrow::Result<std::shared_ptr<arrow::Array>>()>;

void set_decimal(const arrow::DataType& type, ColumnInfo& info) {
  const auto& decimal = static_cast<const arrow::DecimalType&>(type);
  const auto refuse = [&](std::string_view why) {
    throw Error(Code::unsupported_type, fmt::format("{}: is of type {}, {}; convert it to decimal({}, …) or to float64",
                                                    info.name, type.ToString(), why, kMaxDigits));
  };
  if (decimal.precision() > kMaxDigits)
    refuse("whose digits do not fit the 64-bit integers that decimals are computed in");
  if (decimal.scale() < 0 || decimal.scale() > kMaxDigits) refuse("whose scale is outside 0 to 18");
  info.type = Type::int64;
  info.meaning = Meaning::decimal;
  info.scale = decimal.scale();
}

void set_date(ColumnInfo& info) {
  info.type = Type::int32;
  info.meaning = Meaning::date;
}

// What the column's elements are given out as; refuses every type that is not listed.
void set_type(const arrow::DataType& type, ColumnInfo& info) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
      info.type = *parse_type(type.name());
      return;
    case arrow::Type::FLOAT:
      info.type = Type::float32;
      return;
    case arrow::Type::DOUBLE:
      info.type = Type::float64;
      return;
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return set_decimal(type, info);
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
      return set_date(info);
    case arrow::Type::NA:  // all NULL, which is told when the first row is read
      info.type = Type::int64;
      return;
    default:
      throw Error(
          Code::unsupported_type,
          fmt::format("{}: is of type {}, which is not computed with; convert it to one of int8 … float64, a decimal "
                      "of at most {} digits or a date",
                      info.name, printable(type.ToString()), kMaxDigits));
  }
}

class ArrowColumn final : public ColumnReader {
 public:
  ArrowColumn(ColumnInfo info, std::shared_ptr<arrow::DataType> type, Source source)
      : type_(std::move(type)), source_(std::move(source)), width_(size_of(info.type)) {
    info_ = std::move(info);
    const auto values = value_type(type_);
    value_id_ = values->id();
    raw_width_ = value_id_ == arrow::Type::NA ? width_ : values->byte_width();
    as_stored_ = values == type_ && raw_width_ == width_;
  }

  Chunk next(std::int64_t count) override {
    if (count <= 0 || !load()) return {};
    if (as_stored_ && left() >= count) return {take(count), count};
    std::int64_t filled = 0;
    while (filled < count && load()) {
      const std::int64_t n = std::min(left(), count - filled);
      reserve(filled, n, count);
      convert(take(n), n, buffer_.data() + filled * width_);
      filled += n;
    }
    return {buffer_.data(), filled};
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    while (skipped < count && load()) {
      const std::int64_t n = std::min(left(), count - skipped);
      position_ += n;
      skipped += n;
    }
    return skipped;
  }

 private:
  [[nodiscard]] std::int64_t left() const { return piece_ ? piece_->length() - position_ : 0; }

  // Makes sure that there are rows left in the piece at hand; false at the end of the column.
  bool load() {
    while (left() == 0) {
      if (ended_) return false;
      rows_before_ += piece_ ? piece_->length() : 0;
      position_ = 0;
      piece_.reset();
      piece_ = checked(info_.name, source_);
      if (!piece_) return end();
      accept();
    }
    return true;
  }

  bool end() {
    ended_ = true;
    if (info_.count >= 0 && rows_before_ != info_.count) {
      throw Error(Code::malformed, fmt::format("{}: is damaged: it tells of {} rows and has {}; write it again",
                                               info_.name, info_.count, rows_before_));
    }
    return false;
  }

  // Arrow trusts what files say about their own lengths until asked.
  void accept() {
    if (const arrow::Status valid = piece_->Validate(); !valid.ok()) throw_status(info_.name, valid);
    if (!piece_->type()->Equals(*type_)) {
      throw_status(info_.name, arrow::Status::Invalid("a batch of another type than the schema"));
    }
    if (info_.count >= 0 && piece_->length() > info_.count - rows_before_) {
      throw_status(info_.name, arrow::Status::Invalid("more rows than it tells of"));
    }
  }

  // Grows with the rows that come: neither `count` nor the file's own count says how many there really are.
  void reserve(std::int64_t filled, std::int64_t n, std::int64_t count) {
    buffer_.reserve(std::max(filled + n, std::min(count, 2 * filled)) * width_, info_.name);
  }

  // The next `n` rows of the piece as they are stored there, or as a dictionary has them.
  const std::uint8_t* take(std::int64_t n) {
    const std::int64_t row = rows_before_ + position_;
    std::int64_t at = position_;
    const arrow::Array* from = piece_.get();
    if (type_->id() == arrow::Type::DICTIONARY) {
      const auto slice = piece_->Slice(position_, n);
      decoded_ = decode_dictionary(static_cast<const arrow::DictionaryArray&>(*slice), info_.name, row);
      from = decoded_.get();
      at = 0;
    }
    if (from->null_count() != 0) refuse_nulls(*from, at, n, row);
    position_ += n;
    return from->data()->buffers[1]->data() + (from->offset() + at) * raw_width_;
  }

  void refuse_nulls(const arrow::Array& array, std::int64_t at, std::int64_t n, std::int64_t row) const {
    for (std::int64_t i = 0; i < n; ++i) {
      if (array.IsValid(at + i)) continue;
      throw Error(
          Code::null_value,
          fmt::format("{}: row {} is NULL; fill missing values in or leave their rows out first", info_.name, row + i),
          row + i);
    }
  }

  // Of the rows that take() went past last.
  void convert(const std::uint8_t* from, std::int64_t n, void* to) const {
    const std::int64_t fit = convert_elements(value_id_, width_, from, n, to);
    if (fit < n) throw_misfit(value_id_, info_.name, rows_before_ + position_ - n + fit);
  }

  std::shared_ptr<arrow::DataType> type_;
  arrow::Type::type value_id_ = arrow::Type::NA;  // of the values themselves
  Source source_;
  std::int64_t width_;          // bytes of an element given out
  std::int64_t raw_width_ = 0;  // bytes of an element as Arrow stores it
  bool as_stored_ = false;      // no conversion: elements can be given out where they lie
  bool ended_ = false;
  std::shared_ptr<arrow::Array> piece_;
  std::shared_ptr<arrow::Array> decoded_;  // rows of it, where it is a dictionary's
  std::int64_t position_ = 0;              // rows of the piece that were given out
  std::int64_t rows_before_ = 0;           // rows of the pieces before it
  AlignedBuffer buffer_;
};

std::unique_ptr<ColumnReader> make_column(const std::string& path, const arrow::Field& field, std::int64_t count,
                                          Source source) {
  ColumnInfo info;
  info.name = full_name(path, field.name());
  info.count = count;
  set_type(*value_type(field.type()), info);
  return std::make_unique<ArrowColumn>(std::move(info), field.type(), std::move(source));
}

// The one column of the next batch of a reader that was asked for one.
arrow::Result<std::shared_ptr<arrow::Array>> next_column(arrow::RecordBatchReader& reader) {
  ARROW_ASSIGN_OR_RAISE(const auto batch, reader.Next());
  return batch ? batch->column(0) : nullptr;
}

std::unique_ptr<ColumnReader> open_parquet(const std::string& path, const std::optional<std::string>& column) {
  const std::shared_ptr<parquet::arrow::FileReader> reader = checked(path, [&] { return start_parquet(path); }).reader;
  const auto schema = checked(path, [&]() -> arrow::Result<std::shared_ptr<arrow::Schema>> {
    std::shared_ptr<arrow::Schema> result;
    ARROW_RETURN_NOT_OK(reader->GetSchema(&result));
    return result;
  });
  const int index = find_column(schema->field_names(), path, column);
  const arrow::Field& field = *schema->field(index);
  const std::int64_t count = reader->parquet_reader()->metadata()->num_rows();
  // Batches are asked for when the first is needed: a type that is refused has no leaf to ask for.
  std::shared_ptr<arrow::RecordBatchReader> batches;
  return make_column(path, field, count, [=]() mutable -> arrow::Result<std::shared_ptr<arrow::Array>> {
    if (!batches) {
      std::vector<int> groups(static_cast<std::size_t>(reader->num_row_groups()));
      std::iota(groups.begin(), groups.end(), 0);
      const int leaf = reader->manifest().schema_fields[static_cast<std::size_t>(index)].column_index;
      ARROW_ASSIGN_OR_RAISE(batches, reader->GetRecordBatchReader(groups, {leaf}));
    }
    return next_column(*batches);
  });
}

// Touching a mapped page past the end of a file kills the process, so a file that shrank is told before it is touched.
arrow::Status check_size(arrow::io::MemoryMappedFile& file) {
  struct stat status{};
  if (::fstat(file.file_descriptor(), &status) != 0) return arrow::internal::IOErrorFromErrno(errno, "fstat");
  ARROW_ASSIGN_OR_RAISE(const std::int64_t mapped, file.GetSize());
  return status.st_size < mapped ? arrow::Status::Invalid("it became shorter while it was read") : arrow::Status::OK();
}

std::unique_ptr<ColumnReader> open_ipc_file(const std::string& path, const std::optional<std::string>& column) {
  const auto file = map_file(path);
  auto reader = checked(path, [&] { return IpcFile::Open(file, ipc_options({})); });
  const auto schema = reader->schema();
  const int index = find_column(schema->field_names(), path, column);
  const std::int64_t count = checked(path, [&] { return reader->CountRows(); });
  int at = index;
  if (count > 0) {
    const auto first = checked(path, [&] { return reader->ReadRecordBatch(0); });
    if (!checked(path, [&] { return lies_in(*first->column(index), *file); })) {
      reader = checked(path, [&] { return IpcFile::Open(file, ipc_options({index})); });
      at = 0;
    }
  }
  return make_column(path, *schema->field(index), count,
                     [file, reader, at, batch = 0]() mutable -> arrow::Result<std::shared_ptr<arrow::Array>> {
                       ARROW_RETURN_NOT_OK(check_size(*file));  // the number of batches is in the file too
                       if (batch == reader->num_record_batches()) return nullptr;
                       ARROW_ASSIGN_OR_RAISE(const auto rows, reader->ReadRecordBatch(batch++));
                       return rows->column(at);
                     });
}

std::unique_ptr<ColumnReader> open_ipc_stream(const std::string& path, const std::optional<std::string>& column) {
  const auto file = map_file(path);
  const auto schema = checked(path, [&] { return IpcStream::Open(file, ipc_options({})); })->schema();
  const int index = find_column(schema->field_names(), path, column);
  const auto reader = checked(path, [&]() -> arrow::Result<std::shared_ptr<IpcStream>> {
    ARROW_RETURN_NOT_OK(file->Seek(0));
    return IpcStream::Open(file, ipc_options({index}));
  });
  return make_column(path, *schema->field(index), -1, [file, reader]() -> arrow::Result<std::shared_ptr<arrow::Array>> {
    ARROW_RETURN_NOT_OK(check_size(*file));
    ARROW_ASSIGN_OR_RAISE(auto rows, next_column(*reader));
    if (!rows) ARROW_RETURN_NOT_OK(check_stream_end(*file));
    return rows;
  });
}

// The first of these types that the first block has throughout. Opening reads and converts that block, so trying a type
// is opening. int64 is what a column without rows is; float64 would take integers past 2^53 and round them.
std::pair<std::shared_ptr<CsvReader>, std::shared_ptr<arrow::DataType>> infer_csv(const std::string& path,
                                                                                  const std::string& column,
                                                                                  bool one_column) {
  const std::string name = full_name(path, column);
  arrow::Status failure;
  for (const auto& type : {arrow::int64(), arrow::uint64(), arrow::date32(), arrow::float64()}) {
    auto reader = start_csv(path, {arrow::field(column, type)}, one_column);
    if (reader.ok()) return {*reader, type};
    failure = reader.status();
    if (!is_conversion(failure)) throw_csv(name, failure, Code::malformed, "correct the row");
  }
  throw_csv(name, failure, Code::unsupported_type, "upsweep computes with numbers, and dates written 2001-12-31");
}

// A column of the decimals of `type`, read as text.
std::unique_ptr<ColumnReader> open_csv_decimals(const std::string& path, const std::string& column, bool one_column,
                                                const std::shared_ptr<arrow::DataType>& type) {
  const std::string name = full_name(path, column);
  const auto reader = start_csv(path, {arrow::field(column, type_in_csv(type))}, one_column);
  if (!reader.ok()) throw_csv(name, reader.status(), Code::malformed, "correct the row");
  return make_column(
      path, *arrow::field(column, type), -1,
      [reader = *reader, type, name, row = std::int64_t{0}]() mutable -> arrow::Result<std::shared_ptr<arrow::Array>> {
        const auto cells = next_column(*reader);
        if (!cells.ok()) throw_csv(name, cells.status(), Code::malformed, "correct the row");
        if (!*cells) return nullptr;
        row += (*cells)->length();
        return decimals_of(**cells, type, name, row - (*cells)->length());
      });
}

std::vector<std::string> names_in_csv(const std::string& path) {
  const auto untyped = start_csv(path, {});
  if (!untyped.ok()) throw_csv(path, untyped.status(), Code::malformed, "correct the row");
  return (*untyped)->schema()->field_names();
}

std::unique_ptr<ColumnReader> open_csv(const std::string& path, const std::optional<std::string>& column) {
  require_commas(path);
  const auto names = names_in_csv(path);
  const int index = find_column(names, path, column);
  const std::string& chosen = names[static_cast<std::size_t>(index)];
  if (!column) require_name(path, chosen, ", or name the column as FILE:COLUMN if that is its name");
  const auto [reader, type] = checked(path, [&] { return arrow::Result(infer_csv(path, chosen, names.size() == 1)); });
  if (type->id() != arrow::Type::DATE32) {
    const auto decimals = find_decimals(path, {index}, kMaxDigits)[0];
    if (decimals) return open_csv_decimals(path, chosen, names.size() == 1, decimals);
  }
  const std::string name = full_name(path, chosen);
  return make_column(path, *arrow::field(chosen, type), -1,
                     [reader = reader, type = type, name]() -> arrow::Result<std::shared_ptr<arrow::Array>> {
                       auto rows = next_column(*reader);
                       if (rows.ok()) return rows;
                       if (!is_conversion(rows.status()))
                         throw_csv(name, rows.status(), Code::malformed, "correct the row");
                       throw_csv(name, rows.status(), Code::malformed,
                                 fmt::format("the rows before it are {}; write the column in one type, or as Parquet",
                                             type->ToString()));
                     });
}

}  // namespace

bool arrow_built() noexcept { return true; }

std::unique_ptr<ColumnReader> open_arrow_column(Format format, const std::string& path,
                                                const std::optional<std::string>& column) {
  switch (format) {
    case Format::parquet:
      return open_parquet(path, column);
    case Format::ipc_file:
      return open_ipc_file(path, column);
    case Format::ipc_stream:
      return open_ipc_stream(path, column);
    case Format::csv:
      return open_csv(path, column);
    case Format::npy:
    case Format::zip:
    case Format::unknown:
      break;
  }
  detail::no_such_value();
}

}  // namespace upsweep::io
