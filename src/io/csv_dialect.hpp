// SPDX-License-Identifier: Apache-2.0
// io/csv_dialect.hpp: how a CSV file is written, as options and the sniffer determine it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/decoded_text.hpp"
#include "io/regular_rows.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {

/// How values are written in the cells of a file.
struct CsvValues {
  char decimal = '.';
  std::string thousands = {};                          ///< the character between groups of three digits; empty: none
  bool point_is_doubtful = false;                      ///< the point of 1.234 may be between thousands
  std::optional<std::vector<std::string>> nulls = {};  ///< words for NULL in every column; nothing: the usual ones
  std::string date_format = {};                        ///< empty: the forms that csv_times.hpp recognizes

  /// Whether numbers are written as in C++, and no option changes the meaning of a cell.
  [[nodiscard]] bool are_plain() const { return decimal == '.' && thousands.empty() && !nulls && date_format.empty(); }
};

/// A type that an option requires for a column.
enum class CsvType : std::uint8_t { text, int64, uint64, decimal, float64, date, time, timestamp, boolean };
struct CsvRequiredType {
  CsvType type = CsvType::text;
  int scale = 0;  ///< of decimals
};

/// Returns a type from its name: string, int64, uint64, decimal(18,2), float64, date, time, timestamp or bool. Throws
/// invalid_argument for any other name.
CsvRequiredType csv_type_named(std::string_view name);

/// Where the table is within the text of its file, and how it is written.
struct CsvDialect {
  Encoding encoding = Encoding::utf8;
  RowForm rows = {};
  CsvValues values = {};
  std::vector<std::int64_t> header = {1};  ///< the rows of the table that contain names, from 1; empty: none
  std::int64_t begin = 0;                  ///< of the table, in bytes from the start of the text
  std::int64_t end = 0;
  std::int64_t line = 1;         ///< in which the table begins, counted from 1
  std::int64_t lines_after = 0;  ///< lines after the table, which are not read

  /// Whether rows must be rewritten before they are split into blocks.
  [[nodiscard]] bool needs_regular_rows() const {
    return !rows.marks.are_plain() || !rows.comment.empty() || rows.has_blank_rows || rows.has_end_marks ||
           rows.ragged != Ragged::refuse;
  }
};

/// Returns an encoding from its name in CsvOptions. Throws invalid_argument for an unknown name.
Encoding encoding_named(std::string_view name);

/// Returns what is unusual about a dialect: "semicolons, decimal comma, header in line 3, Windows-1252". It is empty
/// for commas, a header row in the first line and UTF-8.
std::string describe(const CsvDialect& dialect);
/// Returns what messages call a delimiter: "semicolons".
std::string delimiter_name(std::string_view delimiter);

/// Returns the first bytes of a text that the sniffer needs.
inline constexpr std::int64_t kHeadBytes = std::int64_t{1} << 20;

/// A text as the sniffer sees it.
struct CsvSniffed {
  std::string path;
  std::string_view head;  ///< the first kHeadBytes, or all
  std::string_view tail;  ///< of a longer text: the last bytes, from the start of a line on
  std::int64_t size = 0;  ///< of the text
};

/// Determines how a text is written from its first 1,000 rows within kHeadBytes, where `options` leave it open. Throws
/// malformed if the text is not a table, or if several ways to split it fit equally. The message names the cause, the
/// line and the option that decides.
CsvDialect sniff(const CsvSniffed& text, const CsvOptions& options);

}  // namespace upsweep::io
