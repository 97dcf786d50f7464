// SPDX-License-Identifier: Apache-2.0
// io/number_lines.hpp: positive numbers from text, one on each line, or from a column, as integers of one decimal scale.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace upsweep::io {

/// value = digits / 10^scale; "12.50" is {125, 1}, as zeros after the last decimal that is none do not count.
struct Decimal {
  std::int64_t digits = 0;
  int scale = 0;
};

inline constexpr int kMaxScale = 18;  ///< as many digits as any 64-bit integer can hold

enum class NumberFault : std::uint8_t { none, no_number, not_finite, exponent, separator, decimals, too_large };

/// An optional sign, digits, and where there is a point at least one decimal; nothing else, no blanks either.
NumberFault parse_decimal(std::string_view text, Decimal& number);

/// Without the blanks around it, and without the CR of a line's end.
std::string_view trimmed(std::string_view text) noexcept;

/// Without a + or - before it.
std::string_view without_sign(std::string_view text) noexcept;

/// Whether the text, which has no sign, is nan, inf or infinity, in letters of any case.
[[nodiscard]] bool is_infinite_or_nan(std::string_view text) noexcept;

/// What is wrong, to follow the text: "has an exponent: write its digits out".
std::string_view describe(NumberFault fault) noexcept;

/// "1 decimal", "2 decimals".
std::string decimals_text(int scale);

/// digits · 10^places; false where that does not fit.
[[nodiscard]] bool scale_up(std::int64_t& digits, int places) noexcept;

struct Numbers {
  std::vector<std::int64_t> values;  ///< each at least 1, times 10^scale
  int scale = 0;                     ///< the most decimals that occur; of a decimal column its own
  std::string name;                  ///< what messages call it: "FILE", "FILE:COLUMN", "standard input"
  bool lines = false;                ///< text: value i stands in line i + 1
  std::function<std::string(std::int64_t)> placed = {};  ///< "line 3" of value i, where that is neither i + 1 nor row i

  /// "FILE: line 3" of text, "FILE:COLUMN: line 3" of CSV, "FILE:COLUMN: row 2", counted from 0, of other columns.
  [[nodiscard]] std::string place(std::int64_t index) const;
};

/// Brings the values to a scale that is no less than theirs. Throws overflow (index: the first that does not fit).
void raise_scale(Numbers& numbers, int scale);

/// Reads all of `source`: what open_column() takes, and text, which is every file that has no format's first bytes and is
/// not named .csv or .npy; from "-", pipes and devices .npy or text. The cells of a CSV column are read as lines of text
/// are. Floats stand for the shortest decimal that reads back as the same float. Throws upsweep::Error, where it is about
/// a number with its index: malformed (no number, NaN), not_positive, null_value, overflow (more than fits 64 bits at the
/// scale of all), unsupported_type; and as open_column() and open_csv_column() do.
Numbers read_numbers(std::string_view source);

/// The file in FILE:COLUMN; empty where `source` is "-" or a file itself, or there is none.
std::string table_of(std::string_view source);

}  // namespace upsweep::io
