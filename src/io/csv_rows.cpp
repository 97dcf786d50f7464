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

#include "core/utf8.hpp"
#include "cpu/parallel.hpp"
#include "io/csv_quotes.hpp"
#include "io/csv_sample.hpp"
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
  bool is_utf8 = true;
};

// Whether chunks that follow each other are UTF-8. A character may be in two chunks.
class Utf8Chunks {
 public:
  bool accept(std::string_view chunk) {
    if (kept_.empty() && detail::ascii_run(chunk, 0) == chunk.size()) return true;
    kept_ += chunk;
    const std::size_t fault = first_invalid_utf8(kept_);
    const bool may_continue = fault != std::string_view::npos && kept_.size() - fault < 4;
    kept_.erase(0, std::min(fault, kept_.size()));
    return fault == std::string_view::npos || may_continue;
  }
  [[nodiscard]] bool ended() const { return kept_.empty(); }

 private:
  std::string kept_;  // the start of a character
};

// Scans the rows that start in [begin, until).
class Scan {
 public:
  Scan(const CsvFile& file, std::int64_t begin, std::int64_t until, bool one_column, const CsvMemory* memory = nullptr)
      : file_(file), memory_(memory), quotes_(file.delimiter, begin), until_(until) {
    result_.row_group.begin = begin;
    while (!result_.fault && at() < until) accept_block(std::min(tuning::kText.block, until - at()));
    while (!result_.fault && !ended_ && at() < file_.size)
      accept_row(std::min(tuning::kText.end_of_row, file_.size - at()));
    if (!result_.fault && at() == file_.size) end_file();
    if (result_.fault) return;
    result_.row_group.end = std::min(at(), file_.size);
    result_.row_group.rows = quotes_.rows(one_column);
    result_.is_utf8 = result_.is_utf8 && utf8_.ended();
  }

  [[nodiscard]] const Scanned& result() const { return result_; }

 private:
  [[nodiscard]] std::int64_t at() const { return quotes_.bytes(); }

  std::string_view read(std::int64_t bytes) {
    if (memory_ != nullptr && memory_->holds(at(), at() + bytes)) return memory_->text(at(), at() + bytes);
    buffer_.resize(static_cast<std::size_t>(std::max(bytes, std::ssize(buffer_))));
    file_.read(buffer_.data(), bytes, at());
    return {buffer_.data(), static_cast<std::size_t>(bytes)};
  }

  void accept_block(std::int64_t bytes) {
    const std::string_view text = read(bytes);
    result_.is_utf8 = result_.is_utf8 && utf8_.accept(text);
    check(quotes_.accept(text));
  }

  void accept_row(std::int64_t bytes) {
    const std::string_view text = read(bytes);
    const std::size_t accepted = quotes_.accept_row(text);
    ended_ = accepted < text.size();
    result_.is_utf8 = result_.is_utf8 && utf8_.accept(text.substr(0, accepted));
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
  const CsvMemory* memory_;
  CsvQuotes quotes_;
  std::int64_t until_;
  Utf8Chunks utf8_;
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
  if (file.rows) return file.rows->line_at(file.descriptor, place) - 1;
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
  CsvQuotes quotes(file.delimiter, file.names);
  std::vector<char> buffer(tuning::kText.block);
  while (quotes.bytes() < fault.place) {
    const std::int64_t bytes = std::min(tuning::kText.block, fault.place - quotes.bytes());
    file.read(buffer.data(), bytes, quotes.bytes());
    quotes.accept({buffer.data(), static_cast<std::size_t>(bytes)});
  }
  const std::int64_t row = quotes.rows(one_column) + 1;
  if (!fault.is_quote) return {row, fault.what};
  const std::int64_t line = lines_before(file, fault.place) + 1;
  const bool elsewhere =
      line != line_of(file, row - 1 - file.header_rows(), 0, one_column);  // in a row of several lines
  return {row, fmt::format("a quote opens{}, and {}", elsewhere ? fmt::format(" in line {}", line) : "", fault.what)};
}

std::string read_text(const CsvFile& file, std::int64_t begin, std::int64_t end) {
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0)), '\0');
  file.read(text.data(), std::ssize(text), begin);
  return text;
}

// The kinds of characters in a text.
struct Characters {
  bool has_others = false;   // bytes that are not UTF-8
  bool has_several = false;  // characters of UTF-8 that have several bytes
};

// Adds a text. The last bytes may be the start of a character, unless the file ends with them.
void add_characters(std::string_view text, bool whole, Characters& found) {
  constexpr std::size_t kLongestCharacter = 4;
  const std::size_t end = whole ? text.size() : text.size() - std::min(text.size(), kLongestCharacter);
  for (std::size_t at = 0; at < end;) {
    at += detail::ascii_run(text, at);
    if (at >= end) break;
    const std::size_t bytes = code_point(text, at).bytes;
    (bytes > 1 ? found.has_several : found.has_others) = true;
    at += std::max<std::size_t>(bytes, 1);
  }
}

// Refuses bytes that Windows-1252 does not define, which are now control characters. They occur in encodings of several
// bytes, such as Shift-JIS.
void require_windows_1252(std::string_view decoded, const std::string& path) {
  for (const std::string_view odd : {"\u0081", "\u008d", "\u008f", "\u0090", "\u009d"}) {
    const std::size_t place = decoded.find(odd);
    if (place == std::string_view::npos) continue;
    throw Error(Code::malformed,
                fmt::format("{}: line {} has the byte 0x{:02X}, which is neither UTF-8 nor Windows-1252; convert the "
                            "file to UTF-8, such as by iconv -f SHIFT-JIS, or read it with --encoding windows-1252",
                            path, 1 + count_lines(decoded.substr(0, place)), static_cast<unsigned char>(odd[1])));
  }
}

// Returns the first bytes of the text. Decodes the text from here on if it is not UTF-8.
std::string set_encoding(CsvFile& file, const CsvOptions& options) {
  Encoding& encoding = file.dialect.encoding;
  std::string head = read_text(file, 0, std::min(kHeadBytes, file.size));
  encoding = options.encoding.empty() ? encoding_of(head) : encoding_named(options.encoding);
  if (encoding == Encoding::utf32) {
    throw Error(
        Code::malformed,
        fmt::format("{}: seems to be text in UTF-32; convert it, such as by iconv -f UTF-32 -t UTF-8", file.path));
  }
  Characters found;
  add_characters(head, std::ssize(head) == file.size, found);
  const bool is_single_byte = found.has_others && !found.has_several;
  if (options.encoding.empty() && encoding == Encoding::utf8 && is_single_byte) encoding = Encoding::windows_1252;
  if (encoding == Encoding::utf8) return head;
  file.view = std::make_shared<const DecodedText>(file.descriptor, file.path, file.size, encoding);
  file.size = file.view->size();
  return read_text(file, 0, std::min(kHeadBytes, file.size));
}

// Returns the last bytes of the text from the start of a line on.
std::string tail_of(const CsvFile& file) {
  if (file.size <= kHeadBytes) return {};
  std::string tail = read_text(file, file.size - tuning::kText.decoded, file.size);
  const std::size_t end = tail.find('\n');
  tail.erase(0, end == std::string::npos ? tail.size() : end + 1);
  return tail;
}

// Returns where the last `lines` lines begin, or `begin` if there are fewer.
std::int64_t start_of_last_lines(const CsvFile& file, std::int64_t begin, std::int64_t lines) {
  std::int64_t found = -1;  // ends of lines before the last line; -1: its own end has not been passed
  for (std::int64_t at = file.size; at > begin && lines > 0;) {
    const std::int64_t from = std::max(begin, at - tuning::kText.block);
    const std::string text = read_text(file, from, std::min(at + 1, file.size));
    for (auto i = static_cast<std::size_t>(at - from); i > 0; --i) {
      const bool within_end = text[i - 1] == '\r' && i < text.size() && text[i] == '\n';
      const bool is_end = ends_line(text[i - 1]) && !within_end;
      if (found < 0 || is_end) ++found;
      if (is_end && found == lines) return from + static_cast<std::int64_t>(i);
    }
    at = from;
  }
  return lines == 0 ? file.size : begin;
}

}  // namespace

void CsvFile::read(char* to, std::int64_t bytes, std::int64_t offset) const {
  const std::int64_t got =
      view ? view->read(descriptor, to, bytes, offset) : read_fully_at(descriptor.get(), to, bytes, offset, path);
  if (got == bytes) return;
  throw_changed(path);
}

std::shared_ptr<const CsvFile> open_csv(const std::string& path, Descriptor descriptor, const CsvOptions& options,
                                        bool is_cut, int threads) {
  CsvFile file{.path = path, .descriptor = std::move(descriptor), .has_more = is_cut};
  file.size = file_state(file.descriptor, path).size;
  std::string head = set_encoding(file, options);
  if (options.skip_end) {
    file.size = start_of_last_lines(file, 0, *options.skip_end);
    head.resize(static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(head), file.size)));
  }
  const std::string tail = is_cut ? std::string() : tail_of(file);
  const Encoding encoding = file.dialect.encoding;
  file.dialect = sniff({path, head, tail, file.size}, options);
  if (encoding == Encoding::windows_1252 && options.encoding.empty()) require_windows_1252(head, path);
  file.dialect.encoding = encoding;
  file.names = file.dialect.begin;
  file.size = file.dialect.end;
  if (!file.dialect.needs_regular_rows()) {
    file.delimiter = file.dialect.rows.marks.delimiter.front();
    return std::make_shared<const CsvFile>(std::move(file));
  }
  const TablePart part{file.names, file.size, file.dialect.line, options.first_bytes};
  file.rows = std::make_shared<const RegularRows>(file.descriptor, path, file.view, file.dialect.rows, part, threads);
  file.view = file.rows;
  file.delimiter = file.rows->delimiter();
  file.has_more = is_cut || file.rows->has_more();
  file.names = 0;
  file.size = file.rows->size();
  return std::make_shared<const CsvFile>(std::move(file));
}

bool is_single_byte(const CsvFile& file) {
  Characters found;
  for (std::int64_t at = 0; at < file.size && !found.has_several; at += tuning::kText.block) {
    add_characters(read_text(file, at, std::min(at + tuning::kText.block, file.size)), false, found);
  }
  return !found.has_several;
}

std::shared_ptr<const CsvFile> with_descriptor(const CsvFile& file, Descriptor descriptor) {
  return std::make_shared<const CsvFile>(CsvFile{file.path, std::move(descriptor), file.size, file.names,
                                                 file.delimiter, file.dialect, file.view, file.rows, file.has_more});
}

void CsvMemory::load(const CsvFile& file, std::int64_t begin, std::int64_t end) {
  begin_ = begin;
  end_ = end;
  const std::int64_t size = end - begin;
  if (size + 1 + kReadPast > bytes_.capacity()) bytes_.reserve(size + 1 + kReadPast, file.path);
  auto* const text = reinterpret_cast<char*>(bytes_.data());
  file.read(text, size, begin);
  text[size] = '\n';
}

std::string_view CsvMemory::text(std::int64_t begin, std::int64_t end) const {
  const char* const text = reinterpret_cast<const char*>(bytes_.data());
  return {text + (begin - begin_), static_cast<std::size_t>(end - begin)};
}

namespace {

// Buffers that threads use in turn, because memory that is new takes long to write.
class Memories {
 public:
  std::unique_ptr<CsvMemory> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<CsvMemory>();
    auto memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }
  void give(std::unique_ptr<CsvMemory> memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CsvMemory>> free_;
};

// Scans the rows that start in [begin, until), and examines them, while a part of them is in the cache of a core.
Scanned examine_parts(const CsvFile& file, std::int64_t begin, std::int64_t until, bool one_column, CsvMemory& memory,
                      const ExamineRows& examine) {
  Scanned all{{begin, begin, 0}, {}};
  do {
    const std::int64_t at = all.row_group.end;
    const std::int64_t border = std::min(std::max(at, until), at + tuning::kText.examined);
    memory.load(file, at, std::min(border + tuning::kText.end_of_row, file.size));
    const Scanned part = Scan(file, at, border, one_column, &memory).result();
    all.fault = part.fault;
    if (part.fault) return all;
    if (part.row_group.rows > 0) examine(part.row_group, memory);
    all.row_group.end = part.row_group.end;
    all.row_group.rows += part.row_group.rows;
    all.is_utf8 = all.is_utf8 && part.is_utf8;
  } while (all.row_group.end < until);
  return all;
}

}  // namespace

CsvRows find_rows(const CsvFile& file, std::int64_t begin, std::int64_t until, bool one_column, int threads,
                  const ExamineRows& examine) {
  const std::int64_t first = begin / tuning::kText.row_group;
  const auto border = [&](std::size_t row_group) {
    return std::clamp((first + static_cast<std::int64_t>(row_group)) * tuning::kText.row_group, begin, until);
  };
  std::vector<Scanned> found(
      static_cast<std::size_t>(std::max<std::int64_t>((until - 1) / tuning::kText.row_group - first + 1, 1)));
  Memories memories;
  run_each(found.size(), threads, [&](std::size_t i) {
    const std::int64_t start = i == 0 ? begin : next_line(file, border(i));
    if (start < 0) return;
    if (!examine) {
      found[i] = Scan(file, start, border(i + 1), one_column).result();
      return;
    }
    auto memory = memories.take();
    found[i] = examine_parts(file, start, border(i + 1), one_column, *memory, examine);
    memories.give(std::move(memory));
  });
  CsvRows rows;
  std::int64_t at = begin;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].row_group.begin != at) {
      rows.are_examined = false;
      found[i] = Scan(file, at, border(i + 1), one_column).result();
    }
    if (found[i].fault) {
      rows.fault = located(file, *found[i].fault, one_column);
      break;
    }
    at = found[i].row_group.end;
    rows.is_utf8 = rows.is_utf8 && found[i].is_utf8;
    if (found[i].row_group.rows > 0 || i == 0) rows.row_groups.push_back(found[i].row_group);
  }
  return rows;
}

std::int64_t line_of(const CsvFile& file, std::int64_t row, int column, bool one_column) {
  const std::int64_t rows_before = std::max<std::int64_t>(row + file.header_rows(), 0);
  CsvQuotes quotes(file.delimiter, file.names);
  pass_blocks(file, quotes, rows_before, one_column);
  std::int64_t place = -1;  // of the cell
  each_byte(file, quotes.bytes(), [&](char c) {
    const bool begun = quotes.rows(one_column) >= rows_before;
    const bool is_empty_line = ends_line(c) && (!one_column || (c == '\n' && quotes.last() == '\r'));
    if (place < 0 && begun && !is_empty_line) place = quotes.bytes();
    if (place >= 0 && (column == 0 || quotes.rows(one_column) > rows_before)) return false;
    if (place >= 0 && c == file.delimiter && !quotes.open() && --column == 0) place = quotes.bytes() + 1;
    return quotes.accept({&c, 1});
  });
  return lines_before(file, place < 0 ? quotes.bytes() : place) + 1;
}

std::string other_length(const CsvFile& file, std::int64_t line, std::int64_t cells, std::int64_t columns) {
  const std::string with = fmt::format("line {} has {} cell{}", line, cells, cells == 1 ? "" : "s");
  if (file.dialect.header.empty())
    return fmt::format("{}, and the first row in line {} has {}", with, file.dialect.line, columns);
  return fmt::format("{}, and the header row in line {} has {}", with, line_of(file, -1, 0, columns == 1), columns);
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
  if (memory_ != nullptr) {
    const std::int64_t begin = at_ - static_cast<std::int64_t>(bytes_ - taken_);
    at_ += std::min(block_, end_ - at_);
    const std::string_view text = memory_->text(begin, at_);
    const bool needs_end = last() && !text.empty() && !ends_line(text.back());
    bytes_ = text.size() + (needs_end ? 1U : 0U);
    taken_ = 0;
    return needs_end ? memory_->text(begin, at_ + 1) : text;
  }
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
