// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/text_table.cpp: chooses the widths of columns, and shortens or stacks what does not fit.
#include "text_table.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "output.hpp"

namespace upsweep::command {
namespace {

constexpr std::size_t kUnknown = 80;
constexpr std::size_t kGap = 2;        // between columns
constexpr std::size_t kFewest = 12;    // characters of a shortened text
constexpr std::size_t kWhole = 28;     // of a name next to all figures: cuda.hillis_steele_global, and its blanks
constexpr std::size_t kReadable = 19;  // of a name next to the main figures, which is shortened if it is longer
constexpr int kMain = 2;               // the highest Column::drop of a main figure
constexpr std::size_t kSentence = 30;  // of a text next to a name

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// The number of bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (begins_character(text[i]) && count-- == 0) break;
  }
  return i;
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return left ? text + blanks : blanks + text;
}

std::size_t line_width(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kGap * (widths.size() - 1);
}

}  // namespace

std::size_t terminal_width_of(int descriptor) {
  winsize size{};
  const bool is_known = ::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUnknown;
}

std::size_t terminal_width() { return terminal_width_of(STDOUT_FILENO); }

std::size_t table_width() { return is_terminal("-") ? terminal_width() : std::numeric_limits<std::size_t>::max(); }

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string shortened(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  return std::string(text.substr(0, bytes_of(text, std::max<std::size_t>(width, 1) - 1))) + "…";
}

std::string in_column(std::string_view text, std::size_t width) {
  std::string whole = is_terminal("-") ? shortened(text, width - 1) : std::string(text);
  whole.append(std::max(width, width_of(whole) + 1) - width_of(whole), ' ');
  return whole;
}

std::string entry(std::string_view name, std::size_t width, std::string_view text) {
  if (table_width() < width + kSentence) {
    return fmt::format("{}\n{}\n", name, wrapped(fmt::format("      {}", text), 6));
  }
  return wrapped(in_column(name, width) + std::string(text), width) + "\n";
}

FigureTable::FigureTable(std::vector<Column> columns, std::size_t usual, std::size_t longest)
    : columns_(std::move(columns)), is_shown_(columns_.size(), true), name_width_(std::max(usual, longest + 1)) {
  if (!is_terminal("-")) return;
  const std::size_t room = terminal_width();
  for (;;) {
    std::size_t figures = 0;
    std::size_t first = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!is_shown_[c]) continue;
      figures += columns_[c].width;
      if (columns_[c].drop > 0 && (first == columns_.size() || columns_[c].drop > columns_[first].drop)) first = c;
    }
    const std::size_t left = room - std::min(room, figures);
    const bool is_main = first == columns_.size() || columns_[first].drop <= kMain;
    const std::size_t least = std::min(longest + 1, is_main ? kReadable : kWhole);
    if (left >= least || first == columns_.size()) {
      name_width_ = std::min(name_width_, std::max(left, kFewest));
      return;
    }
    is_shown_[first] = false;
  }
}

std::string FigureTable::header(std::string_view name) const {
  std::vector<std::string> heads;
  heads.reserve(columns_.size());
  for (const Column& column : columns_) heads.push_back(column.head);
  return line(name, heads);
}

std::string FigureTable::line(std::string_view name, const std::vector<std::string>& cells) const {
  std::string text = in_column(name, name_width_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!is_shown_[c]) continue;
    text += columns_[c].is_text ? "  " + padded(cells[c], columns_[c].width - 2, true)
                                : padded(cells[c], columns_[c].width, false);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::vector<std::size_t> TextTable::natural_widths() const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (const Column& column : columns_) widths.push_back(width_of(column.name));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  return widths;
}

// Empty if the columns do not fit.
std::vector<std::size_t> TextTable::widths_within(std::size_t width) const {
  std::vector<std::size_t> widths = natural_widths();
  if (widths.empty() || line_width(widths) <= width) return widths;
  std::vector<std::size_t> least;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t numbers = 0;
    for (const auto& row : rows_) {
      if (!columns_[c].is_text) numbers = std::max(numbers, width_of(row[c]));
    }
    least.push_back(std::max(numbers, std::min(widths[c], kFewest)));
  }
  if (line_width(least) > width) return {};
  while (line_width(widths) > width) {  // takes from the widest column that may be shortened
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] > least[c] && (widest == columns_.size() || widths[c] > widths[widest])) widest = c;
    }
    --widths[widest];
  }
  return widths;
}

bool TextTable::shortens(std::size_t width) const {
  const std::vector<std::size_t> widths = widths_within(width);
  return !widths.empty() && widths != natural_widths();
}

std::string TextTable::text(std::size_t width) const {
  const std::vector<std::size_t> widths = widths_within(width);
  if (widths.empty() && !columns_.empty()) return blocks(width);
  std::string all;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      line +=
          std::string(c > 0 ? kGap : 0, ' ') + padded(shortened(cell_of(c), widths[c]), widths[c], columns_[c].is_text);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].name; });
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (omitted_.rows > 0 && omitted_.at == r) all += omitted_.text + "\n";
    add_line([&](std::size_t c) -> const std::string& { return rows_[r][c]; });
  }
  return all;
}

std::string TextTable::blocks(std::size_t width) const {
  std::size_t names = 0;
  for (const Column& column : columns_) names = std::max(names, width_of(column.name));
  names = std::min(names, width / 2);
  const std::size_t values = std::max<std::size_t>(width - std::min(width, names + kGap), 1);
  std::string all;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const bool is_after = omitted_.rows > 0 && omitted_.at <= r;
    if (is_after && omitted_.at == r) all += "\n" + omitted_.text + "\n";
    if (rows_.size() > 1) all += fmt::format("{}row {}\n", r > 0 ? "\n" : "", r + 1 + (is_after ? omitted_.rows : 0));
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      // A name or a value that is longer than its place continues on the next line.
      std::string_view name = columns_[c].name;
      std::string_view value = rows_[r][c];
      do {
        const std::size_t name_bytes = bytes_of(name, names);
        const std::size_t value_bytes = bytes_of(value, values);
        std::string line = padded(std::string(name.substr(0, name_bytes)), names + kGap, true);
        line += value.substr(0, value_bytes);
        line.erase(line.find_last_not_of(' ') + 1);
        all += line + "\n";
        name.remove_prefix(name_bytes);
        value.remove_prefix(value_bytes);
      } while (!name.empty() || !value.empty());
    }
  }
  return all;
}

}  // namespace upsweep::command
