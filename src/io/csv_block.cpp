// SPDX-License-Identifier: Apache-2.0
// io/csv_block.cpp: finds the cells of a CSV file, a block of rows at a time, in place in its text.
//
// All code that examines cells uses this: the pass that decides types, the reader, and the search for faults. A group
// of 64 bytes becomes bits that mark where its cells end. A loop over these bits stores the place of each cell. No byte
// of a cell is examined.
#include "io/csv_block.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace upsweep::io {

CsvBlocks::CsvBlocks(std::shared_ptr<const CsvFile> file, int columns, std::int64_t begin, std::int64_t end,
                     std::int64_t row, std::int64_t bytes)
    : file_(std::move(file)),
      columns_(static_cast<std::size_t>(columns)),
      text_(file_, begin, end, bytes),
      keeps_(columns_ + 1),
      first_row_(row + 1 + file_->header_rows()) {}

void CsvBlocks::keep(const std::vector<int>& columns) {
  std::fill(keeps_.begin(), keeps_.end(), std::uint8_t{0});
  for (const int column : columns) keeps_[static_cast<std::size_t>(column)] = 1;
  kept_ = columns.size();
}

arrow::Result<bool> CsvBlocks::next() {
  first_row_ += std::exchange(rows_, 0);
  for (;;) {
    std::string_view text = text_.next();
    if (text.empty()) return false;
    const bool is_long = std::ssize(text) > kLongestRow;
    if (!text_.last() && text.back() == '\r') text.remove_suffix(1);  // the end of the line may continue
    ARROW_ASSIGN_OR_RAISE(const std::size_t used, split(text));
    if (used == 0 && (is_long || text_.last())) {
      return arrow::Status::Invalid("Row #", first_row_, ": is longer than ", kLongestRow, " bytes, or does not end");
    }
    text_.take(used);
    if (rows_ > 0) return true;
  }
}

// Returns the number of bytes of the complete rows of the text.
arrow::Result<std::size_t> CsvBlocks::split(std::string_view text) {
  const std::int64_t most = (std::ssize(text) + 1) * static_cast<std::int64_t>(sizeof(CellPlace));
  if (kept_ > 0 && most > places_.capacity()) places_.reserve(most + most / 8, file_->path);
  CellPlace none{};
  CellPlace* to = kept_ > 0 ? places() : &none;  // stays there if no column is kept
  CellPlace* row_begin = to;
  CsvGroups groups(file_->delimiter);
  std::size_t column = 0;
  std::size_t begin = 0;  // of the cell
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size(); at += kCsvGroup) {
    CsvEnds ends;
    const bool in_order = groups.accept(text.substr(at, kCsvGroup), ends);  // otherwise the ends before the fault
    for (std::uint64_t left = ends.cells; left != 0; left &= left - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(left));
      const std::size_t end = at + bit;
      *to = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
      to += keeps_[std::min(column, columns_)];
      const bool is_empty = begin == end;
      begin = end + 1;
      if (((ends.feeds | ends.returns) >> bit & 1) == 0) {
        ++column;
        continue;
      }
      used = begin;
      const bool is_empty_line = column == 0 && is_empty;
      const bool within_end = end > 0 && text[end] == '\n' && text[end - 1] == '\r';
      if (is_empty_line && (columns_ > 1 || within_end)) {
        to = row_begin;
        continue;
      }
      if (column + 1 != columns_) {
        return arrow::Status::Invalid("Row #", first_row_ + rows_, ": Expected ", columns_, " columns, got ",
                                      column + 1);
      }
      ++rows_;
      row_begin = to;
      column = 0;
    }
    if (!in_order) return arrow::Status::Invalid("Row #", first_row_ + rows_, ": text follows a closing quote");
  }
  text_begin_ = text.data();
  return used;
}

}  // namespace upsweep::io
