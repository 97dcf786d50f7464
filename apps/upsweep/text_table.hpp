// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/text_table.hpp: tables of text that fit the terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace upsweep::command {

/// The width of the terminal that is this descriptor; 80 if it is not a terminal, or does not say.
std::size_t terminal_width_of(int descriptor);

/// The width of the terminal that is standard output; 80 if it is not a terminal, or does not say.
std::size_t terminal_width();

/// The width up to which tables of data are printed: terminal_width() on a terminal, otherwise unlimited, because
/// programs read them.
std::size_t table_width();

/// The number of characters of UTF-8 text.
std::size_t width_of(std::string_view text);

/// The text, or its beginning and "…" if it is longer than `width` characters.
std::string shortened(std::string_view text, std::size_t width);

/// The text and at least one blank, in `width` columns. It is shortened on a terminal only.
std::string in_column(std::string_view text, std::size_t width);

/// A line for a name and what is said about it. On a terminal with little room next to the name, the text starts below.
/// `width`: the column of the names, which begin with two blanks.
std::string entry(std::string_view name, std::size_t width, std::string_view text);

/// Lines of a name and figures of fixed widths. A narrow terminal gets fewer figures, so that names stay readable.
class FigureTable {
 public:
  struct Column {
    std::string head;
    std::size_t width;     ///< with the blanks before it
    int drop = 0;          ///< the column with the highest number is dropped first; never one with 0
    bool is_text = false;  ///< left-aligned, two blanks after the column before
  };

  /// `usual`: the width of the names if there is room, more if `longest`, the width of the longest one, needs it.
  FigureTable(std::vector<Column> columns, std::size_t usual, std::size_t longest);

  [[nodiscard]] std::string header(std::string_view name) const;
  /// `cells`: one for each column, also for those that are not shown.
  [[nodiscard]] std::string line(std::string_view name, const std::vector<std::string>& cells) const;
  [[nodiscard]] std::size_t name_width() const { return name_width_; }
  [[nodiscard]] bool is_whole() const {
    return std::ranges::all_of(is_shown_, [](bool is_shown) { return is_shown; });
  }

 private:
  std::vector<Column> columns_;
  std::vector<bool> is_shown_;
  std::size_t name_width_;
};

/// Columns next to each other.
class TextTable {
 public:
  struct Column {
    std::string name;
    bool is_text = false;  ///< left-aligned, and may be shortened. Numbers are never shortened.
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Leaves out rows between the last one and the next one. `text` is a line in their place. Call this function at most
  /// once.
  void omit(std::size_t rows, std::string text) { omitted_ = {rows_.size(), rows, std::move(text)}; }

  /// A line for each row. If lines would be longer than `width`, names and texts are shortened, down to a few
  /// characters. If that is not enough, each row is a block with a line for each column, and nothing is shortened.
  [[nodiscard]] std::string text(std::size_t width = std::numeric_limits<std::size_t>::max()) const;

  /// Whether text() shortens anything.
  [[nodiscard]] bool shortens(std::size_t width) const;

 private:
  [[nodiscard]] std::vector<std::size_t> natural_widths() const;
  [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t width) const;
  [[nodiscard]] std::string blocks(std::size_t width) const;

  /// Rows that are left out before row `at`.
  struct Omitted {
    std::size_t at = 0;
    std::size_t rows = 0;
    std::string text = {};
  };

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  Omitted omitted_;
};

}  // namespace upsweep::command
