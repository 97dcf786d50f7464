// SPDX-License-Identifier: Apache-2.0
// io/csv_split.hpp: splits a row of CSV of any dialect into cells, one character at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_quotes.hpp"

namespace upsweep::io {

/// How quotes within a quoted cell are written, and what a quote means that neither opens nor closes a cell.
enum class QuoteRule : std::uint8_t {
  doubled,  ///< as in RFC 4180: written twice; text after a closing quote is a fault
  inner,    ///< doubled, and a quote that no delimiter follows is a part of the quoted cell
  bare,     ///< never doubled: a quoted cell ends where a delimiter or the end of the line follows a quote
  literal,  ///< doubled, and a quote that does not open a well-formed quoted cell is a character of the cell
  joined,   ///< doubled, and a quote within an unquoted cell opens the next cell: no delimiter is before it
};

/// The characters that separate and quote the cells of a file.
struct CsvMarks {
  std::string delimiter = ",";  ///< " " also stands for several blanks, and ignores those at the ends of a line
  char quote = '"';             ///< 0: cells are not quoted
  char escape = 0;              ///< the character before a quote or another special character; 0: quotes are doubled
  QuoteRule rule = QuoteRule::doubled;

  /// Whether the reader of blocks, which is vectorized, reads such cells.
  [[nodiscard]] bool are_plain() const {
    return delimiter.size() == 1 && delimiter != " " && quote == '"' && escape == 0 && rule == QuoteRule::doubled;
  }
};

/// Whether a text consists of blanks and tabs, or is empty.
constexpr bool is_blank(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

/// Returns the text of a cell without the marks of its quotes.
std::string content_of(const CsvCell& cell, const CsvMarks& marks);

enum class RowEnd : std::uint8_t {
  line,   ///< at the end of a line
  text,   ///< at the end of the text
  open,   ///< the text ends within quotes
  fault,  ///< text follows a closing quote
};

struct SplitRow {
  RowEnd end = RowEnd::text;
  std::size_t size = 0;  ///< in bytes, including the end of the line
};

/// Splits the row at the start of a text. `cells` are its cells, in place; after `open` or `fault` those before it. A
/// quoted cell may contain ends of lines.
SplitRow split_row(std::string_view text, const CsvMarks& marks, std::vector<CsvCell>& cells);

}  // namespace upsweep::io
