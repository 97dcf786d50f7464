// SPDX-License-Identifier: Apache-2.0
// io/csv_rows.cpp: finds the rows of a CSV file on several threads, and reads its text a block at a time.
//
// The file is split at every 4 MiB. Only the text before such a place shows whether it is within quotes. But the first
// end of a line after it nearly always ends a row. So all row groups are scanned from there at the same time. Then, in
// the file's order, row groups that do not start where the previous one ended are scanned again.
#include "io/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "cpu/parallel.hpp"
#include "io/csv_quotes.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "io/tuning.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

struct Fault {
  std::int64_t place;  // within the row; for a fault of a quote, the place of the quote
  std::string what;
  bool is_quote = true;
};

struct Scanned {
  CsvRowGroup row_group{-1, -1, 0};
  std::optional<Fault> fault;
};

// Scans the rows that start in [begin, until).
class Scan {
 public:
  Scan(const CsvFile& file, std::int64_t begin, std::int64_t until, bool one_column)
      : file_(file), quotes_(begin), until_(until) {
    result_.row_group.begin = begin;
    while (!result_.fault && at() < until) accept_block(std::min(tuning::kText.block, until - at()));
    while (!result_.fault && !ended_ && at() < file_.size)
      accept_row(std::min(tuning::kText.end_of_row, file_.size - at()));
    if (!result_.fault && at() == file_.size) end_file();
    if (result_.fault) return;
    result_.row_group.end = std::min(at(), file_.size);
    result_.row_group.rows = quotes_.rows(one_column);
  }

  [[nodiscard]] const Scanned& result() const { return result_; }

 private:
  [[nodiscard]] std::int64_t at() const { return quotes_.bytes(); }

  std::string_view read(std::int64_t bytes) {
    buffer_.resize(static_cast<std::size_t>(std::max(bytes, std::ssize(buffer_))));
    file_.read(buffer_.data(), bytes, at());
    return {buffer_.data(), static_cast<std::size_t>(bytes)};
  }

  void accept_block(std::int64_t bytes) { check(quotes_.accept(read(bytes))); }

  void accept_row(std::int64_t bytes) {
    const std::string_view text = read(bytes);
    const std::size_t accepted = quotes_.accept_row(text);
    ended_ = accepted < text.size();
    check(accepted != std::string_view::npos);
  }

  void check(bool in_order) {
    if (!in_order) {
      result_.fault = {
          quotes_.opened(),
          "text follows the quote that closes it; within quotes, a quote is written twice, not after a backslash"};
    } else if (quotes_.open() && at() - quotes_.opened() > kLongestRow) {
      result_.fault = {quotes_.opened(), fmt::format("no quote closes it in {} bytes", kLongestRow)};
    } else if (!ended_ && at() - std::max(result_.row_group.begin, until_) > kLongestRow) {
      result_.fault = {until_, fmt::format("is longer than {} bytes", kLongestRow), false};
    }
  }

  void end_file() {
    if (quotes_.open()) {
      result_.fault = {quotes_.opened(), "no quote closes it before the end of the file"};
    } else if (!ends_line(quotes_.last())) {
      quotes_.accept("\n");
    }
  }

  const CsvFile& file_;
  CsvQuotes quotes_;
  std::int64_t until_;
  std::vector<char> buffer_;
  bool ended_ = false;
  Scanned result_;
};

// Returns where the line after the one at `from` starts, or -1. A row starts there if that end of a line is not within
// quotes.
std::int64_t next_line(const CsvFile& file, std::int64_t from) {
  std::vector<char> buffer(static_cast<std::size_t>(std::min(tuning::kText.block, file.size - from + 1)));
  file.read(buffer.data(), std::ssize(buffer), from - 1);
  const std::string_view text(buffer.data(), buffer.size());
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return -1;
  return from + static_cast<std::int64_t>(end) + (text.substr(end).starts_with("\r\n") ? 1 : 0);
}

// Returns the number of lines that end before `place`.
std::int64_t lines_before(const CsvFile& file, std::int64_t place) {
  std::vector<char> buffer(tuning::kText.block);
  std::int64_t lines = 0;
  char last = '\n';
  for (std::int64_t at = 0; at < place; at += tuning::kText.block) {
    const std::int64_t bytes = std::min(tuning::kText.block, place - at);
    file.read(buffer.data(), bytes, at);
    for (std::int64_t i = 0; i < bytes; ++i) {
      const char c = buffer[static_cast<std::size_t>(i)];
      lines += c == '\r' || (c == '\n' && last != '\r') ? 1 : 0;
      last = c;
    }
  }
  return lines;
}

// Calls take(c) for the bytes from `begin` on, until it returns false.
template <class Take>
void each_byte(const CsvFile& file, std::int64_t begin, Take take) {
  std::vector<char> buffer(tuning::kText.block);
  for (std::int64_t at = begin; at < file.size;) {
    const std::int64_t bytes = std::min(tuning::kText.block, file.size - at);
    file.read(buffer.data(), bytes, at);
    at += bytes;
    if (!std::all_of(buffer.begin(), buffer.begin() + bytes, take)) return;
  }
}

// Moves `quotes` past blocks while fewer than `rows` rows have ended.
void pass_blocks(const CsvFile& file, CsvQuotes& quotes, std::int64_t rows, bool one_column) {
  std::vector<char> buffer(tuning::kText.block);
  while (quotes.bytes() < file.size) {
    const std::int64_t bytes = std::min(tuning::kText.block, file.size - quotes.bytes());
    file.read(buffer.data(), bytes, quotes.bytes());
    CsvQuotes next = quotes;
    if (!next.accept({buffer.data(), static_cast<std::size_t>(bytes)}) || next.rows(one_column) >= rows) return;
    quotes = next;
  }
}

CsvFault located(const CsvFile& file, const Fault& fault, bool one_column) {
  CsvQuotes quotes(file.names);
  std::vector<char> buffer(tuning::kText.block);
  while (quotes.bytes() < fault.place) {
    const std::int64_t bytes = std::min(tuning::kText.block, fault.place - quotes.bytes());
    file.read(buffer.data(), bytes, quotes.bytes());
    quotes.accept({buffer.data(), static_cast<std::size_t>(bytes)});
  }
  const std::int64_t row = quotes.rows(one_column) + 1;
  if (!fault.is_quote) return {row, fault.what};
  const std::int64_t line = lines_before(file, fault.place) + 1;
  const bool elsewhere = line != line_of(file, row - 2, 0, one_column);  // in a row of several lines
  return {row, fmt::format("a quote opens{}, and {}", elsewhere ? fmt::format(" in line {}", line) : "", fault.what)};
}

// Returns the start of the first line, from `begin` on, that is not empty.
std::int64_t first_line(const CsvFile& file, std::int64_t begin) {
  std::vector<char> buffer(tuning::kText.block);
  for (std::int64_t at = begin; at < file.size; at += tuning::kText.block) {
    const std::int64_t bytes = std::min(tuning::kText.block, file.size - at);
    file.read(buffer.data(), bytes, at);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(bytes));
    const std::size_t found = text.find_first_not_of("\r\n", at == 0 ? size_of_mark(text) : 0);
    if (found != std::string_view::npos) return at + static_cast<std::int64_t>(found);
  }
  throw Error(Code::malformed, fmt::format("{}: has no header row; a CSV file begins with a header row", file.path));
}

// Excel writes "sep=," above the header row as an instruction for itself.
std::int64_t start_of_names(const CsvFile& file) {
  constexpr std::string_view kLines[] = {"sep=,", "\"sep=,\""};
  const std::int64_t begin = first_line(file, 0);
  std::array<char, 8> head{};
  const std::int64_t bytes = std::min<std::int64_t>(std::ssize(head), file.size - begin);
  file.read(head.data(), bytes, begin);
  for (const std::string_view line : kLines) {
    const std::string_view text(head.data(), static_cast<std::size_t>(bytes));
    if (text.size() <= line.size() || !ends_line(text[line.size()]) || !ends_in(text.substr(0, line.size()), line))
      continue;
    return first_line(file, begin + std::ssize(line));
  }
  return begin;
}

// Throws if the file has an unsupported encoding. UTF-16 is decoded from here on.
void set_encoding(CsvFile& file) {
  std::array<char, kEncodingBytes> head{};
  const std::int64_t bytes = read_fully_at(file.descriptor.get(), head.data(), std::ssize(head), 0, file.path);
  const Encoding encoding = encoding_of({head.data(), static_cast<std::size_t>(bytes)});
  if (encoding == Encoding::utf16_unmarked || encoding == Encoding::utf32) {
    const std::string_view called = encoding == Encoding::utf32 ? "UTF-32" : head[0] == '\0' ? "UTF-16BE" : "UTF-16LE";
    throw Error(Code::malformed,
                fmt::format("{}: seems to be text in {}{}; convert it, such as by iconv -f {} -t UTF-8", file.path,
                            called, encoding == Encoding::utf32 ? "" : " without a byte order mark", called));
  }
  if (encoding == Encoding::utf8) return;
  file.utf16 = std::make_shared<const Utf16Text>(file.descriptor, file.path, file.size, encoding);
  file.size = file.utf16->size();
}

}  // namespace

void CsvFile::read(char* to, std::int64_t bytes, std::int64_t offset) const {
  const std::int64_t got =
      utf16 ? utf16->read(descriptor, to, bytes, offset) : read_fully_at(descriptor.get(), to, bytes, offset, path);
  if (got == bytes) return;
  throw_changed(path);
}

std::shared_ptr<const CsvFile> open_csv(const std::string& path, Descriptor descriptor) {
  CsvFile file{.path = path, .descriptor = std::move(descriptor)};
  file.size = file_state(file.descriptor, path).size;
  set_encoding(file);
  file.names = start_of_names(file);
  return std::make_shared<const CsvFile>(std::move(file));
}

std::shared_ptr<const CsvFile> with_descriptor(const CsvFile& file, Descriptor descriptor) {
  return std::make_shared<const CsvFile>(CsvFile{file.path, std::move(descriptor), file.size, file.names, file.utf16});
}

CsvRows find_rows(const CsvFile& file, std::int64_t begin, std::int64_t until, bool one_column, int threads) {
  const std::int64_t first = begin / tuning::kText.row_group;
  const auto border = [&](std::size_t row_group) {
    return std::clamp((first + static_cast<std::int64_t>(row_group)) * tuning::kText.row_group, begin, until);
  };
  std::vector<Scanned> found(
      static_cast<std::size_t>(std::max<std::int64_t>((until - 1) / tuning::kText.row_group - first + 1, 1)));
  run_each(found.size(), threads, [&](std::size_t i) {
    const std::int64_t start = i == 0 ? begin : next_line(file, border(i));
    if (start >= 0) found[i] = Scan(file, start, border(i + 1), one_column).result();
  });
  CsvRows rows;
  std::int64_t at = begin;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].row_group.begin != at) found[i] = Scan(file, at, border(i + 1), one_column).result();
    if (found[i].fault) {
      rows.fault = located(file, *found[i].fault, one_column);
      break;
    }
    at = found[i].row_group.end;
    if (found[i].row_group.rows > 0 || i == 0) rows.row_groups.push_back(found[i].row_group);
  }
  return rows;
}

std::int64_t line_of(const CsvFile& file, std::int64_t row, int column, bool one_column) {
  const std::int64_t rows_before = row + 1;  // including the header row
  CsvQuotes quotes(file.names);
  pass_blocks(file, quotes, rows_before, one_column);
  std::int64_t place = -1;  // of the cell
  each_byte(file, quotes.bytes(), [&](char c) {
    const bool begun = quotes.rows(one_column) >= rows_before;
    const bool is_empty_line = ends_line(c) && (!one_column || (c == '\n' && quotes.last() == '\r'));
    if (place < 0 && begun && !is_empty_line) place = quotes.bytes();
    if (place >= 0 && (column == 0 || quotes.rows(one_column) > rows_before)) return false;
    if (place >= 0 && c == ',' && !quotes.open() && --column == 0) place = quotes.bytes() + 1;
    return quotes.accept({&c, 1});
  });
  return lines_before(file, place < 0 ? quotes.bytes() : place) + 1;
}

std::string other_length(std::int64_t line, std::int64_t cells, std::int64_t line_of_names, std::int64_t columns) {
  return fmt::format("line {} has {} cell{}, and the header row in line {} has {}", line, cells, cells == 1 ? "" : "s",
                     line_of_names, columns);
}

void run_each(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t failed = count;
  std::exception_ptr error;
  const auto attempt = [&](std::size_t i) noexcept {
    try {
      work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (i > failed) return;
      failed = i;
      error = std::current_exception();
    }
  };
  cpu::run_workers(cpu::workers_for(static_cast<std::int64_t>(count), 1, threads), [&](int) {
    for (std::size_t i = next++; i < count; i = next++) attempt(i);
  });
  if (error) std::rethrow_exception(error);
}

std::string_view CsvText::next() {
  bytes_ -= taken_;
  if (taken_ > 0) std::memmove(buffer_.data(), buffer_.data() + taken_, bytes_);
  taken_ = 0;
  const std::int64_t more = std::min(block_, end_ - at_);
  const auto kept = static_cast<std::int64_t>(bytes_);
  // The number of kept bytes varies from block to block. A margin avoids an allocation each time.
  const std::int64_t needed = kept + block_ + 1 + kReadPast;
  if (needed > buffer_.capacity()) buffer_.reserve(needed + block_ / 8, file_->path);
  auto* const text = reinterpret_cast<char*>(buffer_.data());
  file_->read(text + bytes_, more, at_);
  at_ += more;
  bytes_ += static_cast<std::size_t>(more);
  if (last() && bytes_ > 0 && !ends_line(text[bytes_ - 1])) text[bytes_++] = '\n';
  return {text, bytes_};
}

}  // namespace upsweep::io
