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

#include "io/arrow_errors.hpp"
#include "io/csv_decimals.hpp"
#include "io/csv_quotes.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kFirstLines = 1 << 16;  // of a file, looked at for its separator

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

// Takes the next line that is not empty off the text, without its end. Ends of lines within quotes are none. Every quote
// opens or closes here: which separator stands beside one is not known yet.
std::string_view take_line(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  bool quoted = false;
  const auto end = std::find_if(text.begin(), text.end(), [&](char c) {
    quoted = quoted != (c == '"');
    return !quoted && ends_line(c);
  });
  const std::string_view line(text.begin(), end);
  text.remove_prefix(line.size());
  return line;
}

std::int64_t count_outside_quotes(std::string_view line, char wanted) {
  bool quoted = false;
  return std::count_if(line.begin(), line.end(), [&](char c) {
    quoted = quoted != (c == '"');
    return !quoted && c == wanted;
  });
}

// Not a reference into the future, which ends here.
arrow::Result<std::shared_ptr<arrow::Array>> decoded(arrow::csv::ColumnDecoder& decoder, const CsvBlock& block) {
  return decoder.Decode(block).MoveResult();
}

}  // namespace

CsvFormat::CsvFormat(std::shared_ptr<const CsvFile> opened, int column_count, CsvCells cells)
    : file(std::move(opened)),
      columns(column_count),
      parse(arrow::csv::ParseOptions::Defaults()),
      convert(arrow::csv::ConvertOptions::Defaults()) {
  parse.ignore_empty_lines = columns != 1;
  convert.check_utf8 = false;
  convert.null_values = {""};
  if (cells == CsvCells::typed) convert.null_values = std::vector<std::string>(kNullCells.begin(), kNullCells.end());
  convert.true_values = {"true", "True", "TRUE"};  // Arrow's lists have 1 and 0
  convert.false_values = {"false", "False", "FALSE"};
  convert.strings_can_be_null = true;
  convert.quoted_strings_can_be_null = false;  // "" is empty text
}

CsvNames read_names(const CsvFile& file) {
  const CsvRows found = find_rows(file, file.names, file.names + 1, false, 1);
  if (found.fault) throw_csv(file.path, first_of({}, found), Code::malformed, "correct the row");
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
      names.names.emplace_back(reinterpret_cast<const char*>(data), size);
      return arrow::Status::OK();
    });
  }
  if (!status.ok()) throw_csv(file.path, status, Code::malformed, "correct the row");
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

arrow::Result<std::shared_ptr<arrow::Array>> decode(const CsvFormat& format, const CsvBlock& block, int column,
                                                    const std::shared_ptr<arrow::DataType>& type) {
  using arrow::csv::ColumnDecoder;
  arrow::MemoryPool* const pool = arrow::default_memory_pool();
  ARROW_ASSIGN_OR_RAISE(const auto decoder, type ? ColumnDecoder::Make(pool, type, column, format.convert)
                                                 : ColumnDecoder::Make(pool, column, format.convert));
  return decoded(*decoder, block);
}

CsvReader::CsvReader(const std::shared_ptr<const CsvFormat>& format, const CsvPiece& piece, std::int64_t first_row)
    : format_(format), blocks_(format, piece.begin, piece.end, first_row, kCsvBlock) {}

arrow::Status CsvReader::add(int column, const std::shared_ptr<arrow::Field>& field) {
  fields_.push_back(field);
  arrow::MemoryPool* const pool = arrow::default_memory_pool();
  return arrow::csv::ColumnDecoder::Make(pool, field->type(), column, format_->convert)
      .Value(&decoders_.emplace_back());
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> CsvReader::next() {
  ARROW_ASSIGN_OR_RAISE(const CsvBlock block, blocks_.next());
  if (!block) return nullptr;
  arrow::ArrayVector columns;
  for (const auto& decoder : decoders_) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), decoded(*decoder, block));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields_), block->num_rows(), std::move(columns));
}

bool is_conversion(const arrow::Status& status) {
  return status.message().find("conversion error") != std::string::npos;
}

arrow::Status first_of(const arrow::Status& status, const CsvRows& rows) {
  if (!rows.fault) return status;
  if (const auto row = row_of(status); row && row->number < rows.fault->row) return status;
  return arrow::Status::Invalid("Row #", rows.fault->row, ": ", rows.fault->what);
}

void throw_csv(const std::string& name, const arrow::Status& status, Code code, std::string_view advice) {
  const auto found = row_of(status);
  if (!found) throw_status(name, status);
  const std::string rest = printable(found->rest);
  if (found->number == 1) throw Error(code, fmt::format("{}: the line of names{}; {}", name, rest, advice));
  const std::int64_t row = found->number - 2;
  throw Error(code, fmt::format("{}: row {}{}; {}", name, row, rest, advice), row);
}

void require_commas(const CsvFile& file) {
  std::string head(static_cast<std::size_t>(std::min(kFirstLines, file.size - file.names)), '\0');
  file.read(head.data(), std::ssize(head), file.names);
  std::string_view text(head);
  const std::string_view names = take_line(text);
  const std::string_view first_row = take_line(text);
  if (count_outside_quotes(names, ',') > 0) return;
  for (const auto& [separator, called] : {std::pair{';', "semicolons"}, {'\t', "tabs"}, {'|', "vertical bars"}}) {
    const std::int64_t found = count_outside_quotes(names, separator);
    if (found == 0 || count_outside_quotes(first_row, separator) != found) continue;
    throw Error(
        Code::malformed,
        fmt::format("{}: its columns seem to be separated by {}; write it with commas, or, if it has one column "
                    "of that name, the name in quotes",
                    file.path, called));
  }
}

}  // namespace upsweep::io
