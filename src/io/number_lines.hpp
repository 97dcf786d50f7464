// SPDX-License-Identifier: Apache-2.0
// io/number_lines.hpp: positive numbers from lines of text, or from a column, as integers of one decimal scale.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/io.hpp"

namespace upsweep::io {

/// value = digits / 10^scale. "12.50" is {125, 1}, because zeros at the end of the decimals do not count.
struct Decimal {
  std::int64_t digits = 0;
  int scale = 0;
};

inline constexpr int kMaxScale = 18;  ///< digits that a 64-bit integer can always hold

enum class NumberFault : std::uint8_t { none, no_number, not_finite, exponent, separator, decimals, too_large };

/// Parses an optional sign, digits, and after a point at least one decimal. Nothing else is accepted, not even blanks.
NumberFault parse_decimal(std::string_view text, Decimal& number);

/// Returns the text without the blanks around it, and without the CR of a line's end.
std::string_view trimmed(std::string_view text) noexcept;

/// Returns the text without a + or - before it.
std::string_view without_sign(std::string_view text) noexcept;

/// Whether the text, which has no sign, is nan, inf or infinity, in letters of any case.
[[nodiscard]] bool is_infinite_or_nan(std::string_view text) noexcept;

/// Returns the fault as the end of a message that begins with the text: "has an exponent: write its digits out".
std::string_view describe(NumberFault fault) noexcept;

/// Returns "1 decimal", "2 decimals".
std::string decimals_text(int scale);

/// Computes digits · 10^places; returns false if that does not fit.
[[nodiscard]] bool scale_up(std::int64_t& digits, int places) noexcept;

struct Numbers {
  std::vector<std::int64_t> values;       ///< each at least 1, times 10^scale
  int scale = 0;                          ///< the maximum number of decimals; for a decimal column its scale
  std::string name;                       ///< in messages: "FILE", "FILE:COLUMN", "standard input"
  bool lines = false;                     ///< text: value i is in line i + 1
  std::vector<std::string> remarks = {};  ///< about the form of a CSV file: Table::remarks()
  std::function<std::string(std::int64_t)> placed = {};  ///< "line 3" of value i, if that is neither i + 1 nor row i

  /// Returns "FILE: line 3" for text, "FILE:COLUMN: line 3" for CSV, "FILE:COLUMN: row 2", counted from 0, for other
  /// columns.
  [[nodiscard]] std::string place(std::int64_t index) const;
};

/// Converts the values to a scale that is at least theirs. Throws overflow (index: the first that does not fit).
void raise_scale(Numbers& numbers, int scale);

/// Reads all of `source`: everything that open_column() reads, and text. A file is text if it has no format's first
/// bytes and is not named .csv, .tsv or .npy. From "-", pipes and devices it reads .npy or text. The cells of a CSV
/// column are read like lines of text. A float is read as the shortest decimal that reads back as the same float.
///
/// Throws upsweep::Error: malformed (not a number, NaN), not_positive, null_value, overflow (does not fit 64 bits at
/// the scale of all), unsupported_type. An error about a number has its index. Also throws as open_column() and
/// open_csv_column() do.
Numbers read_numbers(std::string_view source, const CsvOptions& csv = {});

/// Returns the file in FILE:COLUMN; empty if `source` is "-" or a file itself, or there is no file.
std::string table_of(std::string_view source);

}  // namespace upsweep::io
