// SPDX-License-Identifier: Apache-2.0
// io/csv_rows.hpp: finds the rows of a CSV file on several threads, and reads its text a block at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_dialect.hpp"
#include "io/posix.hpp"

namespace upsweep::io {

/// The maximum length of a row, including quotes and the end of its line. A longer row may be refused.
inline constexpr std::int64_t kLongestRow = std::int64_t{2} << 20;

/// A CSV file. Any number of threads may read it while it is open. Its bytes are those of the file, or of a view. They
/// are UTF-8, quotes are double quotes, and one character separates cells.
struct CsvFile {
  std::string path;
  Descriptor descriptor = {};
  std::int64_t size = 0;   ///< up to the end of the table
  std::int64_t names = 0;  ///< start of the table
  char delimiter = ',';
  CsvDialect dialect = {};                       ///< of the file
  std::shared_ptr<const TextView> view = {};     ///< null: the bytes are those of the file
  std::shared_ptr<const RegularRows> rows = {};  ///< the view, if it rewrites rows
  bool has_more = false;                         ///< the table has more rows, which are not in the file or the view

  /// Returns the number of rows before the first row of values.
  [[nodiscard]] std::int64_t header_rows() const { return dialect.header.empty() ? 0 : dialect.header.back(); }

  /// Reads bytes. Throws upsweep::Error: unreadable; malformed if the file does not have these bytes any more.
  void read(char* to, std::int64_t bytes, std::int64_t offset) const;
};

/// Opens a file, and determines how it is written as far as `options` leave it open. `is_cut`: the file has only the
/// first bytes of the text, with all rows that options.first_bytes determines. `threads` as in run_each(). Throws
/// upsweep::Error: unreadable, and malformed as sniff() and the views do.
std::shared_ptr<const CsvFile> open_csv(const std::string& path, Descriptor descriptor, const CsvOptions& options = {},
                                        bool is_cut = false, int threads = 1);

/// Returns whether a text that is not UTF-8 has one byte per character: no character of UTF-8 has several bytes. Reads
/// all of the file.
bool is_single_byte(const CsvFile& file);

/// Returns the file with another descriptor. A file with an empty descriptor is closed.
std::shared_ptr<const CsvFile> with_descriptor(const CsvFile& file, Descriptor descriptor);

/// Consecutive complete rows.
struct CsvRowGroup {
  std::int64_t begin = 0;  ///< in bytes from the start of the file
  std::int64_t end = 0;
  std::int64_t rows = 0;
};

/// A quoted field that is not closed, by the end of the file or within kLongestRow; a quoted field with text after the
/// closing quote; or a row that is too long. A quote within a field that does not begin with one is an ordinary
/// character.
struct CsvFault {
  std::int64_t row = 0;  ///< number of the row from 1, including the header row
  std::string what;
};

struct CsvRows {
  std::vector<CsvRowGroup> row_groups;  ///< at least one; if there is a fault, only those before it
  std::optional<CsvFault> fault;
  bool is_utf8 = true;
  bool are_examined = true;  ///< false: some rows were not, or text was that does not begin where a row begins
};

/// Bytes after a text that code for groups of bytes may read.
inline constexpr std::int64_t kReadPast = 64;

/// A part of a CSV file in memory, which several passes examine.
class CsvMemory {
 public:
  /// Reads the bytes [begin, end).
  void load(const CsvFile& file, std::int64_t begin, std::int64_t end);

  [[nodiscard]] bool holds(std::int64_t begin, std::int64_t end) const { return begin_ <= begin && end <= end_; }
  /// Returns bytes that it holds, with kReadPast bytes after them. A newline follows a last line without one.
  [[nodiscard]] std::string_view text(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  AlignedBuffer bytes_;
};

/// Examines consecutive rows of a row group, which are in memory.
using ExamineRows = std::function<void(const CsvRowGroup&, const CsvMemory&)>;

/// Finds the rows that start in [begin, until), where `begin` is the start of a row. Returns them in row groups of some
/// megabytes. Where row groups begin depends only on the file. `threads` as in run_each(). Throws as CsvFile::read()
/// does. It calls `examine` for all rows, a part of a row group at a time, on these threads.
CsvRows find_rows(const CsvFile& file, std::int64_t begin, std::int64_t until, bool one_column, int threads,
                  const ExamineRows& examine = {});

/// Returns the line of the file in which a cell starts, counted from 1 as an editor does. The cell is in column
/// `column` of row `row`, both counted from 0; row -1 is the header row. Reads the file up to there. Throws as
/// CsvFile::read() does.
std::int64_t line_of(const CsvFile& file, std::int64_t row, int column, bool one_column);

/// Returns the message about a row whose number of cells differs from the header row: "line 3 has 2 cells, …".
std::string other_length(const CsvFile& file, std::int64_t line, std::int64_t cells, std::int64_t columns);

/// Calls work(0) … work(count - 1) on at most `threads` threads, including the caller's; 0: one thread per core. If
/// calls throw, it throws the exception of the call with the lowest number. Later calls may then be omitted.
void run_each(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

/// Bytes [begin, end) of a CSV file, front to back.
class CsvText {
 public:
  CsvText(std::shared_ptr<const CsvFile> file, std::int64_t begin, std::int64_t end, std::int64_t block)
      : file_(std::move(file)), at_(begin), end_(end), block_(block) {}

  /// Takes the bytes from memory, which holds them.
  void use(const CsvMemory& memory) { memory_ = &memory; }

  /// Returns the bytes that take() left and the next block; empty at the end. The last line gets a newline if it has
  /// none. kReadPast bytes after the text may be read; their values are arbitrary. Throws as CsvFile::read() does.
  std::string_view next();
  /// Marks the first `bytes` bytes that next() returned as used. All bytes stay in place until next() is called again.
  void take(std::size_t bytes) { taken_ = bytes; }
  /// Whether next() has returned the end.
  [[nodiscard]] bool last() const { return at_ == end_; }

 private:
  std::shared_ptr<const CsvFile> file_;
  std::int64_t at_;
  std::int64_t end_;
  std::int64_t block_;
  const CsvMemory* memory_ = nullptr;
  AlignedBuffer buffer_;
  std::size_t bytes_ = 0;  // in the buffer
  std::size_t taken_ = 0;  // of those
};

}  // namespace upsweep::io
