// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/schema.cpp: `upsweep schema`: the columns, types and sizes of files.
#include "io/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/answer_writer.hpp"
#include "output.hpp"
#include "text_table.hpp"
#include "upsweep/query.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// A number that may be unknown, which is -1.
Json json_of(std::int64_t number) { return number < 0 ? Json() : Json(number); }

void print_as_json(const io::Schema& schema) {
  Json columns = Json::array();
  for (const io::ColumnSchema& column : schema.columns) {
    columns.push_back(Json{{"name", column.name},
                           {"type", column.type},
                           {"nulls", json_of(column.nulls)},
                           {"bytes", json_of(column.bytes)}});
  }
  print_json(Json{{"files", schema.files},
                  {"formats", schema.formats},
                  {"bytes", schema.bytes},
                  {"rows", json_of(schema.rows)},
                  {"row_groups", schema.row_groups},
                  {"columns", columns},
                  {"remarks", schema.remarks}});
}

/// The lines above the columns.
std::string head(const io::Schema& schema) {
  const std::string files = schema.files.size() == 1 ? schema.files[0] : fmt::format("{} files", schema.files.size());
  std::string text =
      fmt::format("file    {}\nformat  {}\nsize    {}\nrows    {}\n", printable(files), fmt::join(schema.formats, "; "),
                  size(schema.bytes), schema.rows < 0 ? "unknown" : grouped(schema.rows));
  text += fmt::format("groups  {}\n", grouped(schema.row_groups));
  for (const std::string& remark : schema.remarks)
    text += wrapped(fmt::format("form    {}", printable(remark)), 8) + "\n";
  return text;
}

bool any_known(const io::Schema& schema, std::int64_t io::ColumnSchema::* number) {
  return std::ranges::any_of(schema.columns, [&](const io::ColumnSchema& column) { return column.*number >= 0; });
}

void print_as_text(const io::Schema& schema) {
  const bool has_bytes = any_known(schema, &io::ColumnSchema::bytes);
  std::vector<TextTable::Column> heads{{"column", true}, {"type", true}, {"NULLs"}};
  if (has_bytes) heads.push_back({"size"});
  TextTable table(heads);
  for (const io::ColumnSchema& column : schema.columns) {
    std::vector<std::string> line{printable(column.name), printable(column.type),
                                  column.nulls < 0 ? "unknown" : grouped(column.nulls)};
    if (has_bytes) line.push_back(column.bytes < 0 ? "unknown" : size(column.bytes));
    table.add(std::move(line));
  }
  print(head(schema) + "\n" + table.text(table_width()));
}

/// Opens a file for the columns, and writes them. Unknown numbers are NULL.
std::unique_ptr<io::AnswerWriter> write_columns(const io::Schema& schema, const std::string& path,
                                                io::ResultFormat format) {
  if (!io::is_table(format)) refuse("{}: a .npy file has no text: write .csv, .parquet, .arrow or .json", path);
  AnswerRows rows{{{.kind = ValueKind::text}, {.kind = ValueKind::text}, {}, {}}};
  const auto add_text = [&](std::size_t which, const std::string& text) {
    AnswerColumn& column = rows.columns[which];
    column.letters.insert(column.letters.end(), text.begin(), text.end());
    column.ends.push_back(std::ssize(column.letters));
  };
  const auto add_number = [&](std::size_t which, std::int64_t number) {
    rows.columns[which].exact.push_back(number);
    rows.columns[which].nulls.push_back(number < 0 ? 1 : 0);
  };
  for (const io::ColumnSchema& column : schema.columns) {
    add_text(0, column.name);
    add_text(1, column.type);
    add_number(2, column.nulls);
    add_number(3, column.bytes);
  }
  auto writer = io::open_answer(path, format,
                                {{.name = "name", .kind = ValueKind::text, .storage = Storage::int32},
                                 {.name = "type", .kind = ValueKind::text, .storage = Storage::int32},
                                 {.name = "nulls"},
                                 {.name = "bytes"}},
                                cell_text(format));
  writer->write(rows);
  return writer;
}

}  // namespace

int run_schema(const Common& common, const SchemaOptions& asked) {
  SchemaOptions options = asked;
  const io::ResultFormat format = settle_output(common, options, false, "text", io::ResultFormat::csv);
  const io::Schema schema = io::schema_of(options.files, common.csv, common.threads);
  std::unique_ptr<io::AnswerWriter> writer;
  if (options.output && format != io::ResultFormat::text) writer = write_columns(schema, *options.output, format);
  name_and_report(writer.get(), [&] {
    if (common.json) {
      print_as_json(schema);
    } else if (!writer || (*options.output != "-" && !common.quiet)) {
      print_as_text(schema);
    }
  });
  return 0;
}

}  // namespace upsweep::command
