// SPDX-License-Identifier: Apache-2.0
// io/csv_input.cpp: a CSV file's bytes on their way to Arrow, which takes quotes as they come: they are checked here.
#include "io/csv_input.hpp"

#include <arrow/buffer.h>
#include <arrow/csv/reader.h>
#include <arrow/io/file.h>
#include <arrow/util/thread_pool.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/threads.hpp"
#include "io/arrow_errors.hpp"
#include "io/csv_decimals.hpp"
#include "io/csv_quotes.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int32_t kBlock = 1 << 20;  // taken apart at once; one line must fit
constexpr std::int64_t kCountedAtOnce = 1 << 18;
constexpr std::int64_t kFirstLines = 1 << 16;  // of a file, looked at for its separator

// The row of a CSV file that a failure of Arrow is about, as Arrow counts them: from 1, with the line of names. Its message
// alone names it.
struct CsvRow {
  std::int64_t number;
  std::string_view rest;  // of the message
};

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

// Counts rows as Arrow does, in text whose quotes are in order: empty lines count in files of one column only.
class RowCount {
 public:
  void accept(std::string_view piece) {
    const std::size_t mark = bytes_ == 0 ? size_of_mark(piece) : 0;
    bytes_ += std::ssize(piece);
    for (const char c : piece.substr(mark)) {
      state_ = after(state_, last_, c);
      if (state_ == QuoteState::plain) separate(c);
      lines_ += c == '\n' || (last_ == '\r' && c != '\n') ? 1 : 0;
      last_ = c;
    }
  }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t row() const { return (one_column_ ? rows_ + empty_ : rows_) + 1; }
  [[nodiscard]] std::int64_t line() const { return lines_ + (last_ == '\r' ? 1 : 0) + 1; }

 private:
  void separate(char c) {
    if (!ends_field(c)) return;
    if (c == ',') {
      one_column_ = one_column_ && rows_ > 0;
    } else if (!ends_line(last_)) {
      ++rows_;
    } else if (c != '\n' || last_ != '\r') {
      ++empty_;
    }
  }

  QuoteState state_ = QuoteState::plain;
  bool one_column_ = true;
  std::int64_t bytes_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t empty_ = 0;
  std::int64_t lines_ = 0;
  char last_ = '\n';
};

// Hands the file's bytes on as they are, but for the end of the last line, and remembers the first fault. It is no status
// of the input: Arrow would drop rows that it has read before, and wait for itself for ever now and then.
class CsvInput final : public arrow::io::InputStream {
 public:
  explicit CsvInput(std::shared_ptr<arrow::io::ReadableFile> file) : file_(std::move(file)) {}

  arrow::Status Close() override { return file_->Close(); }
  [[nodiscard]] bool closed() const override { return file_->closed(); }
  [[nodiscard]] arrow::Result<std::int64_t> Tell() const override { return file_->Tell(); }

  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* to) override {
    ARROW_ASSIGN_OR_RAISE(const auto piece, Read(bytes));
    std::memcpy(to, piece->data(), static_cast<std::size_t>(piece->size()));
    return piece->size();
  }

  // A piece that is shorter than asked for is the last.
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto piece, file_->Read(bytes));
    const std::lock_guard lock(mutex_);
    const bool last = piece->size() < bytes;
    if (!fault_) check(*piece, last);
    return last && !ends_line(quotes_.last()) ? with_line_end(*piece) : piece;
  }

  // What comes first: the quote that is out of order, or what Arrow says after it has gone through so many bytes.
  arrow::Status first_of(const arrow::Status& status, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!fault_ || (status.ok() && bytes <= fault_->opened - mark_)) return status;
    RowCount count;
    while (count.bytes() < fault_->opened) {
      const std::int64_t next = std::min(kCountedAtOnce, fault_->opened - count.bytes());
      ARROW_ASSIGN_OR_RAISE(const auto piece, file_->ReadAt(count.bytes(), next));
      if (piece->size() == 0) return arrow::Status::Invalid("it became shorter while it was read");
      count.accept(std::string_view(*piece));
    }
    if (const auto row = row_of(status); row && row->number < count.row()) return status;
    return arrow::Status::Invalid("Row #", count.row(), ": a quote opens in line ", count.line(), ", and ",
                                  fault_->what);
  }

 private:
  struct Fault {
    std::int64_t opened;  // the place of the quote
    std::string what;
  };

  void check(const arrow::Buffer& piece, bool last) {
    const std::int64_t before = quotes_.bytes();
    if (before == 0) mark_ = static_cast<std::int64_t>(size_of_mark(std::string_view(piece)));
    if (!quotes_.accept(std::string_view(piece))) {
      fault_ = {quotes_.opened(), "text follows the quote that closes it; within quotes, a quote is written twice"};
    } else if (quotes_.open() && last) {
      fault_ = {quotes_.opened(), "no quote closes it before the end of the file"};
    } else if (quotes_.open() && quotes_.opened() < before) {  // Arrow takes no row that is longer
      fault_ = {quotes_.opened(), fmt::format("no quote closes it in {} bytes", piece.size())};
    }
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> with_line_end(const arrow::Buffer& piece) {
    constexpr std::string_view kLineEnd = "\n";
    quotes_.accept(kLineEnd);
    return arrow::Buffer::FromString(std::string(std::string_view(piece)) += kLineEnd);
  }

  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::mutex mutex_;  // Arrow reads in a thread of its own
  CsvQuotes quotes_;
  std::int64_t mark_ = 0;  // bytes of a byte order mark, which Arrow leaves out of account
  std::optional<Fault> fault_;
};

// What Arrow reads CSV ahead with. A reader that is given up while one of them reads for it may be taken down by that thread,
// which then waits for itself for ever: so they are waited for first.
arrow::internal::ThreadPool& reading_threads() {
  static const auto threads = arrow::internal::ThreadPool::MakeEternal(2).ValueOrDie();
  return *threads;
}

class CheckedCsv final : public arrow::RecordBatchReader {
 public:
  CheckedCsv(std::shared_ptr<CsvInput> input, std::shared_ptr<arrow::csv::StreamingReader> reader)
      : input_(std::move(input)), reader_(std::move(reader)) {}
  ~CheckedCsv() override { reading_threads().WaitForIdle(); }
  CheckedCsv(const CheckedCsv&) = delete;
  CheckedCsv& operator=(const CheckedCsv&) = delete;

  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }

  // A row whose end Arrow has found has been checked by then.
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    const arrow::Status status = reader_->ReadNext(batch);
    return input_->first_of(status, status.ok() && !*batch ? kAll : reader_->bytes_read());
  }

 private:
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  std::shared_ptr<CsvInput> input_;
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
};

// Arrow takes CSV apart on a thread of its own, reads ahead on another, and ends the program or waits forever where they
// cannot be made. Its allocator may make a third.
constexpr int kCsvThreads = 3;

void require_csv_threads(const std::string& path) {
  const SpareThreads spare = spare_threads();
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

// Takes the next line that is not empty off the text, without its end. Ends of lines within quotes are none. Every quote
// opens or closes here: which separator stands beside one is not known yet.
std::string_view take_line(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  bool quoted = false;
  const auto end = std::find_if(text.begin(), text.end(), [&](char c) {
    quoted = quoted != (c == '"');
    return !quoted && ends_line(c);
  });
  const std::string_view line(text.begin(), end);
  text.remove_prefix(line.size());
  return line;
}

std::int64_t count_outside_quotes(std::string_view line, char wanted) {
  bool quoted = false;
  return std::count_if(line.begin(), line.end(), [&](char c) {
    quoted = quoted != (c == '"');
    return !quoted && c == wanted;
  });
}

}  // namespace

arrow::Result<std::shared_ptr<CsvReader>> start_csv(const std::string& path, const arrow::FieldVector& fields,
                                                    bool one_column, CsvCells cells) {
  require_csv_threads(path);
  auto read = arrow::csv::ReadOptions::Defaults();
  read.use_threads = false;
  read.block_size = kBlock;
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
  convert.quoted_strings_can_be_null = false;  // "" is empty text
  for (const auto& field : fields) {
    convert.include_columns.push_back(field->name());
    convert.column_types[field->name()] = field->type();
  }
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  const auto input = std::make_shared<CsvInput>(std::move(file));
  const arrow::io::IOContext context(arrow::default_memory_pool(), &reading_threads());
  const auto reader = arrow::csv::StreamingReader::Make(context, input, read, parse, convert);
  reading_threads().WaitForIdle();  // where the reader is given up here
  // The line of names is part of what it has gone through.
  ARROW_RETURN_NOT_OK(input->first_of(reader.status(), reader.ok() ? (*reader)->bytes_read() : 0));
  return std::make_shared<CheckedCsv>(input, *reader);
}

bool is_conversion(const arrow::Status& status) {
  return status.message().find("conversion error") != std::string::npos;
}

void throw_csv(const std::string& name, const arrow::Status& status, Code code, std::string_view advice) {
  const auto found = row_of(status);
  if (!found) throw_status(name, status);
  const std::string rest = printable(found->rest);
  if (found->number == 1) throw Error(code, fmt::format("{}: the line of names{}; {}", name, rest, advice));
  const std::int64_t row = found->number - 2;
  throw Error(code, fmt::format("{}: row {}{}; {}", name, row, rest, advice), row);
}

void require_commas(const std::string& path) {
  const auto head = checked(path, [&]() -> arrow::Result<std::shared_ptr<arrow::Buffer>> {
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
    return file->Read(kFirstLines);
  });
  std::string_view text(*head);
  const std::string_view names = take_line(text);
  const std::string_view first_row = take_line(text);
  if (count_outside_quotes(names, ',') > 0) return;
  for (const auto& [separator, called] : {std::pair{';', "semicolons"}, {'\t', "tabs"}, {'|', "vertical bars"}}) {
    const std::int64_t found = count_outside_quotes(names, separator);
    if (found == 0 || count_outside_quotes(first_row, separator) != found) continue;
    throw Error(
        Code::malformed,
        fmt::format("{}: its columns seem to be separated by {}; write it with commas, or, if it has one column "
                    "of that name, the name in quotes",
                    path, called));
  }
}

}  // namespace upsweep::io
