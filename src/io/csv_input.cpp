// SPDX-License-Identifier: Apache-2.0
// io/csv_input.cpp: rows of a CSV file through Arrow's parser and decoders, a block at a time, in the thread that asks.
//
// Arrow's own readers of whole files take a file apart on one thread after the other, and decode on theirs, which nobody can
// limit or do without. These are their parts.
#include "io/csv_input.hpp"

#include <arrow/util/future.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "core/utf8.hpp"
#include "io/arrow_errors.hpp"
#include "io/csv_cells.hpp"
#include "io/csv_quotes.hpp"
#include "io/number_lines.hpp"

namespace upsweep::io {
namespace {

// The row of a CSV file that a failure of Arrow is about, as Arrow counts them: from 1, with the line of names. Its message
// alone names it.
struct CsvRow {
  std::int64_t number;
  std::string_view rest;  // of the message
};

std::optional<CsvRow> row_of(const arrow::Status& status) {
  constexpr std::string_view kRow = "Row #";
  const std::string_view text = status.ok() ? std::string_view() : status.message();
  const std::size_t at = text.find(kRow);
  if (at == std::string_view::npos) return std::nullopt;
  CsvRow row{};
  const auto [end, error] = std::from_chars(text.data() + at + kRow.size(), text.data() + text.size(), row.number);
  row.rest = {end, text.data() + text.size()};
  return error == std::errc() ? std::optional(row) : std::nullopt;
}

// What Arrow says of a row that has another number of cells than there are columns.
struct Length {
  std::int64_t columns = 0;
  std::int64_t cells = 0;
};

std::optional<Length> length_of(std::string_view text) {
  constexpr std::string_view kWords[] = {": Expected ", " columns, got "};
  Length length;
  for (const std::string_view words : kWords) {
    if (!text.starts_with(words)) return std::nullopt;
    text.remove_prefix(words.size());
    std::int64_t& number = words == kWords[0] ? length.columns : length.cells;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return length;
}

// The name of a column, by the bytes of its cell.
std::string name_of(const CsvFile& file, std::string_view cell, std::size_t column) {
  if (!is_utf8(cell)) {
    throw Error(Code::malformed, fmt::format("{}: line {}: the name '{}' is not UTF-8; {}", file.path,
                                             line_of(file, -1, 0, false), printable(cell, 60), kEncodingAdvice));
  }
  const std::string_view name = trimmed(cell);
  return name.empty() ? fmt::format("column{}", column) : std::string(name);
}

// As Arrow's decoders name the column that they fail in.
arrow::Status in_column(int column, const arrow::Status& status) {
  return status.WithMessage("In CSV column #", column, ": ", status.message());
}

// Of two failures the one in the earlier row; the first may be none.
arrow::Status earlier(const arrow::Status& first, const arrow::Status& second) {
  const auto first_row = row_of(first);
  const auto second_row = row_of(second);
  const bool is_first = !first.ok() && (!second_row || (first_row && first_row->number <= second_row->number));
  return is_first ? first : second;
}

}  // namespace

CsvFormat::CsvFormat(std::shared_ptr<const CsvFile> opened, int column_count)
    : file(std::move(opened)),
      columns(column_count),
      parse(arrow::csv::ParseOptions::Defaults()),
      convert(arrow::csv::ConvertOptions::Defaults()) {
  parse.ignore_empty_lines = columns != 1;
  convert.check_utf8 = true;
  convert.null_values = {""};
  convert.strings_can_be_null = true;
  convert.quoted_strings_can_be_null = false;  // "" is empty text
}

CsvNames read_names(const CsvFile& file) {
  const CsvRows found = find_rows(file, file.names, file.names + 1, false, 1);
  if (found.fault) throw_csv({file, file.path}, first_of({}, found), Code::malformed, "correct the row");
  CsvNames names{{}, found.pieces[0].end};
  std::string line(static_cast<std::size_t>(names.end - file.names), '\0');
  file.read(line.data(), std::ssize(line), file.names);
  if (!ends_line(line.back())) line += '\n';
  arrow::csv::BlockParser parser(arrow::csv::ParseOptions::Defaults(), -1, 1, 1);
  std::uint32_t used = 0;
  arrow::Status status = parser.Parse(line, &used);
  if (status.ok()) {
    if (parser.num_rows() != 1) throw_changed(file.path);
    status = parser.VisitLastRow([&](const std::uint8_t* data, std::uint32_t size, bool /*quoted*/) {
      names.names.push_back(name_of(file, {reinterpret_cast<const char*>(data), size}, names.names.size()));
      return arrow::Status::OK();
    });
  }
  if (!status.ok()) throw_csv({file, file.path}, status, Code::malformed, "correct the row");
  return names;
}

CsvBlocks::CsvBlocks(std::shared_ptr<const CsvFormat> format, std::int64_t begin, std::int64_t end, std::int64_t row,
                     std::int64_t bytes)
    : format_(std::move(format)), text_(format_->file, begin, end, bytes), row_(row + 2) {}

arrow::Result<CsvBlock> CsvBlocks::next() {
  for (;;) {
    std::string_view text = text_.next();
    if (text.empty()) return nullptr;
    const bool is_long = std::ssize(text) > kLongestRow;
    if (!text_.last() && text.back() == '\r') text.remove_suffix(1);  // the end of the line may go on
    auto block = std::make_shared<arrow::csv::BlockParser>(format_->parse, format_->columns, row_,
                                                           std::numeric_limits<std::int32_t>::max());
    std::uint32_t parsed = 0;
    ARROW_RETURN_NOT_OK(block->Parse(text, &parsed));
    if (parsed == 0 && (is_long || text_.last())) {
      return arrow::Status::Invalid("Row #", row_, ": is longer than ", kLongestRow, " bytes, or does not end");
    }
    text_.take(parsed);
    row_ += block->num_rows();
    if (block->num_rows() > 0) return block;
  }
}

CsvReader::CsvReader(const std::shared_ptr<const CsvFormat>& format, const CsvPiece& piece, std::int64_t first_row)
    : format_(format), blocks_(format, piece.begin, piece.end, first_row, kCsvBlock) {}

arrow::Status CsvReader::add(int column, const std::shared_ptr<arrow::Field>& field) {
  fields_.push_back(field);
  columns_.push_back(column);
  decoders_.emplace_back();
  const auto& type = field->type();
  if (type->id() != arrow::Type::STRING && type->id() != arrow::Type::DICTIONARY) return arrow::Status::OK();
  arrow::MemoryPool* const pool = arrow::default_memory_pool();
  return arrow::csv::ColumnDecoder::Make(pool, type, column, format_->convert).Value(&decoders_.back());
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> CsvReader::next() {
  ARROW_ASSIGN_OR_RAISE(const CsvBlock block, blocks_.next());
  if (!block) return nullptr;
  arrow::ArrayVector columns;
  arrow::Status failure;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    // A result of its own, not a reference into the future, which ends here.
    auto column =
        decoders_[i] ? decoders_[i]->Decode(block).MoveResult() : elements_of(*block, columns_[i], fields_[i]->type());
    if (column.ok()) {
      columns.push_back(*column);
    } else {
      failure = earlier(failure, decoders_[i] ? column.status() : in_column(columns_[i], column.status()));
    }
  }
  ARROW_RETURN_NOT_OK(failure);
  return arrow::RecordBatch::Make(arrow::schema(fields_), block->num_rows(), std::move(columns));
}

arrow::Status first_of(const arrow::Status& status, const CsvRows& rows) {
  if (!rows.fault) return status;
  if (const auto row = row_of(status); row && row->number < rows.fault->row) return status;
  return arrow::Status::Invalid("Row #", rows.fault->row, ": ", rows.fault->what);
}

void throw_csv(const CsvPlace& place, const arrow::Status& status, Code code, std::string_view advice) {
  const auto found = row_of(status);
  if (!found) throw_status(place.name, status);
  const std::int64_t row = found->number - 2;
  const std::int64_t line = line_of(place.file, row, place.column, place.only);
  if (const auto length = length_of(found->rest)) {
    throw Error(code,
                fmt::format("{}: {}; correct the row; a cell with commas is written in quotes", place.name,
                            other_length(line, length->cells, line_of(place.file, -1, 0, place.only), length->columns)),
                row);
  }
  const bool is_encoding = found->rest.find("invalid UTF8") != std::string_view::npos;
  if (is_encoding) advice = kEncodingAdvice;
  const std::string rest = is_encoding ? ": the cell is not UTF-8" : printable(found->rest);
  throw Error(code,
              fmt::format("{}: line {}{}{}; {}", place.name, line, row < 0 ? ", the header row" : "", rest, advice),
              row < 0 ? kNoIndex : row);
}

}  // namespace upsweep::io
