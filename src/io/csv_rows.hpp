// SPDX-License-Identifier: Apache-2.0
// io/csv_rows.hpp: where the rows of a CSV file lie, found on several threads; and its text, a block at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/posix.hpp"
#include "io/utf16.hpp"

namespace upsweep::io {

/// A row may be that long, quotes and the end of its line included; a longer one may be refused.
inline constexpr std::int64_t kLongestRow = std::int64_t{2} << 20;

/// Bytes of a file that are read at once: they stay in the cache of a core, with the cells that they become.
inline constexpr std::int64_t kCsvBlock = std::int64_t{1} << 18;

/// A CSV file; any number of threads may read it while it is open. Its bytes are UTF-8, also where the file is UTF-16.
struct CsvFile {
  std::string path;
  Descriptor descriptor = {};
  std::int64_t size = 0;
  std::int64_t names = 0;  ///< where the header row is: the first line that is neither empty nor "sep=,"
  std::shared_ptr<const Utf16Text> utf16 = {};

  /// Throws upsweep::Error: unreadable; malformed where the file has no such bytes any more.
  void read(char* to, std::int64_t bytes, std::int64_t offset) const;
};

/// Throws upsweep::Error: unreadable; malformed where there are empty lines only, and where the first bytes show another
/// encoding than UTF-8 and UTF-16 with a byte order mark.
std::shared_ptr<const CsvFile> open_csv(const std::string& path, Descriptor descriptor);

/// The file with another descriptor. A file with an empty descriptor is closed.
std::shared_ptr<const CsvFile> with_descriptor(const CsvFile& file, Descriptor descriptor);

/// Whole rows that follow each other.
struct CsvRowGroup {
  std::int64_t begin = 0;  ///< in bytes from the start of the file
  std::int64_t end = 0;
  std::int64_t rows = 0;
};

/// A quoted field that is not closed, by the end of the file or within kLongestRow, or with text after the closing quote; or
/// a row that is longer. A quote within a field that does not begin with one is a letter.
struct CsvFault {
  std::int64_t row = 0;  ///< counted from 1, with the header row
  std::string what;
};

struct CsvRows {
  std::vector<CsvRowGroup> row_groups;  ///< one at least; where there is a fault, those before the one that it is in
  std::optional<CsvFault> fault;
};

/// The rows that start in [begin, until), where one starts at `begin`, in row groups of some megabytes. Where row
/// groups begin depends on the file alone. Threads as run_each() has them. Throws as CsvFile::read() does.
CsvRows find_rows(const CsvFile& file, std::int64_t begin, std::int64_t until, bool one_column, int threads);

/// The line of the file, counted from 1 as an editor does, in which a cell starts: that of column `column` in row `row`, both
/// counted from 0; row -1 is the header row. Goes through the file up to there. Throws as CsvFile::read() does.
std::int64_t line_of(const CsvFile& file, std::int64_t row, int column, bool one_column);

/// Returns what messages say of a row that has another number of cells than the header row: "line 3 has 2 cells, …".
std::string other_length(std::int64_t line, std::int64_t cells, std::int64_t line_of_names, std::int64_t columns);

/// Calls work(0) … work(count - 1), on so many threads at most, the caller's among them; 0: on as many as there are cores.
/// Of what they throw, throws that of the lowest number; those after it may be left out.
void run_each(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

/// Bytes after a text that code for groups of bytes may read.
inline constexpr std::int64_t kReadPast = 64;

/// Bytes [begin, end) of a CSV file, front to back.
class CsvText {
 public:
  CsvText(std::shared_ptr<const CsvFile> file, std::int64_t begin, std::int64_t end, std::int64_t block)
      : file_(std::move(file)), at_(begin), end_(end), block_(block) {}

  /// What take() left, and the next block after it; empty at the end. The last line gets an end where it has none.
  /// kReadPast bytes after the text may be read, whatever they are. Throws as CsvFile::read() does.
  std::string_view next();
  /// So many bytes of what next() returned are done with when it is called again; until then all of them stay in place.
  void take(std::size_t bytes) { taken_ = bytes; }
  /// Whether next() has returned the end.
  [[nodiscard]] bool last() const { return at_ == end_; }

 private:
  std::shared_ptr<const CsvFile> file_;
  std::int64_t at_;
  std::int64_t end_;
  std::int64_t block_;
  AlignedBuffer buffer_;
  std::size_t bytes_ = 0;  // in the buffer
  std::size_t taken_ = 0;  // of those
};

}  // namespace upsweep::io
