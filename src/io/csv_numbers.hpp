// SPDX-License-Identifier: Apache-2.0
// io/csv_numbers.hpp: numbers as people write them: decimal comma, groups of thousands, currencies, percent, (50.25).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/csv_dialect.hpp"

namespace upsweep::io {

/// The marks around the digits of a number.
struct NumberMarks {
  std::uint8_t currency = 0;  ///< its number in a table of currencies; 0: none
  bool percent = false;
  bool grouped = false;   ///< in thousands
  bool pointed = false;   ///< has decimals
  bool doubtful = false;  ///< 1,234 may be 1234 or 1.234, as nothing in the file decides
};

/// A number as C++ writes it, such as "-1234.50". Its text is in the object.
class PlainNumber {
 public:
  /// Converts a cell without blanks around it. Returns false if it is not a number in one of these forms. A percentage
  /// becomes its value: 12% is 0.12. Codes such as 007 are not numbers.
  bool read(std::string_view cell, const CsvValues& values);

  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
  [[nodiscard]] const NumberMarks& marks() const { return marks_; }

 private:
  bool take_affixes(std::string_view& cell);
  bool take_digits(std::string_view digits, const CsvValues& values);
  void shift_percent();
  void put(char c) { text_[size_++] = c; }

  static constexpr std::size_t kLongest = 128;  // bytes of a cell
  std::array<char, kLongest + 8> text_{};
  std::size_t size_ = 0;
  bool negative_ = false;
  NumberMarks marks_;
};

/// Evidence about the characters within the numbers of a file.
class NumberEvidence {
 public:
  /// Adds a cell without blanks around it. Returns whether it may be a number, or is empty.
  bool add(std::string_view cell);
  void add(const NumberEvidence& other);
  /// Sets `decimal` and `thousands` if they are certain.
  void decide(CsvValues& values) const;
  /// Whether no cell decides between points and commas.
  [[nodiscard]] bool is_empty() const { return !comma_ && !point_ && groups_ == 0; }

 private:
  void add_digits(std::string_view digits, bool& is_number);

  bool comma_ = false;  // is before decimals in some cell
  bool point_ = false;
  // Which of kGroupMarks in csv_numbers.cpp is between thousands in some cell.
  std::uint8_t groups_ = 0;
};

/// Returns the shortest symbol or code of a currency, by its number in the table: "$".
std::string_view currency_name(std::uint8_t number);

/// Returns a number without its exponent, such as e+16.
std::string_view without_exponent(std::string_view text);

}  // namespace upsweep::io
