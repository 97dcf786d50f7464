// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/query.cpp: `upsweep query`: SQL over a file of any size: aggregates and rows.
#include "upsweep/query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "device_way.hpp"
#include "io/answer_writer.hpp"
#include "io/joined_fields.hpp"
#include "io/table.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "text_table.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// The file that --table assigns to the name after FROM.
std::string path_of(const Statement& statement, const std::vector<std::string>& tables) {
  if (!statement.path().empty()) return statement.path();
  std::vector<std::string> names;
  std::vector<std::string> paths;
  for (const std::string& table : tables) {
    const std::size_t equals = table.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == table.size()) {
      refuse("--table '{}' is not of the form NAME=PATH", table);
    }
    names.push_back(table.substr(0, equals));
    paths.push_back(table.substr(equals + 1));
  }
  if (const auto which = statement.table_among(names)) return paths[*which];
  const std::string wanted = statement.table();
  statement.refuse_table(names.empty()
                             ? fmt::format("no table '{}': write FROM 'FILE', or add --table {}=FILE", wanted, wanted)
                             : fmt::format("no table '{}'; --table defines: {}", wanted, fmt::join(names, ", ")));
}

/// A cell as JSON: exact integers of any length; decimals, dates, times, NaN and infinities are strings.
std::string json_of(const Field& column, const Cell& cell) {
  if (cell.null) return "null";
  switch (column.kind) {
    case ValueKind::integer:
    case ValueKind::boolean:
      return text(column, cell);
    case ValueKind::real:
      if (!std::isfinite(cell.real)) return json_text(text(column, cell));
      return column.storage == Storage::float32 ? fmt::format("{}", static_cast<float>(cell.real))
                                                : json_text(cell.real);
    case ValueKind::decimal:
    case ValueKind::date:
    case ValueKind::timestamp:
    case ValueKind::time:
    case ValueKind::duration:
    case ValueKind::interval:
    case ValueKind::text:
      return json_text(iso_text(column, cell));
  }
  detail::no_such_value();
}

/// The answer as JSON. Its rows are only counted if they were written to a file: `output`.
void print_as_json(const Answer& answer, const std::optional<std::string>& output, std::int64_t count) {
  const auto listed = [](const auto& items, const auto& one) {
    std::string all;
    for (const auto& item : items) all += (all.empty() ? "" : ",") + one(item);
    return "[" + all + "]";
  };
  const std::string names = listed(answer.columns, [](const Field& column) { return json_text(column.name); });
  const std::string types = listed(answer.columns, [](const Field& column) { return json_text(name(column.kind)); });
  const auto values = [&](const AnswerRows::Row& row) {
    std::string cells;
    for (std::size_t c = 0; c < row.size(); ++c) cells += (c > 0 ? "," : "") + json_of(answer.columns[c], row[c]);
    return "[" + cells + "]";
  };
  const std::string rows = output ? fmt::format("\"count\":{},\"output\":{}", count, json_text(*output))
                                  : "\"rows\":" + listed(answer.rows, values);
  std::string times;
  if (answer.rung.starts_with("cuda.")) {
    times = fmt::format(
        ",\"kernel_s\":{},\"to_device_s\":{},\"to_host_s\":{},\"compile_s\":{},\"rows_by_cpu\":{},\"bytes_to_device\":{"
        "}",
        json_text(answer.times.kernel), json_text(answer.times.to_device), json_text(answer.times.to_host),
        json_text(answer.times.compile), answer.rows_by_cpu, answer.bytes_to_device);
  }
  const std::string said = taken_remarks().empty() ? "" : ",\"remarks\":" + json_text(Json(taken_remarks()));
  print(fmt::format("{{\"columns\":{},\"types\":{},{},\"rung\":{},\"seconds\":{},\"bytes_spilled\":{}{}{}}}\n", names,
                    types, rows, json_text(answer.rung), json_text(answer.seconds), answer.bytes_spilled, times, said));
}

/// The number of rows that a terminal shows of longer answers: the first half of this number, and the last half.
constexpr std::size_t kMostShown = 40;

/// Prints columns next to each other, numbers right-aligned. Returns whether something was shortened.
bool print_as_text(const Answer& answer) {
  std::vector<TextTable::Column> columns;
  columns.reserve(answer.columns.size());
  for (const Field& column : answer.columns) {
    columns.push_back({printable(column.name), column.kind == ValueKind::text});
  }
  TextTable table(columns);
  const std::size_t count = answer.rows.size();
  const bool omits = count > kMostShown && is_terminal("-");
  for (std::size_t number = 0; number < count; ++number) {
    if (omits && number == kMostShown / 2) {
      const std::size_t omitted = count - kMostShown;
      table.omit(omitted, fmt::format("… {} …", rows_text(static_cast<std::int64_t>(omitted))));
      number += omitted;
    }
    const auto row = answer.rows[number];
    std::vector<std::string> line;
    line.reserve(row.size());
    for (std::size_t c = 0; c < row.size(); ++c) line.push_back(printable(text(answer.columns[c], row[c])));
    table.add(std::move(line));
  }
  const std::size_t width = table_width();
  print(table.text(width));
  return table.shortens(width);
}

/// The rate of the link as text; empty if the device has no memory left to measure it in.
std::string link_text(std::int64_t device_bytes) {
  try {
    return fmt::format(", of the link's {}", rate(gpu::Chunked({}, device_bytes).measure_link().to_device));
  } catch (const Error&) {
    return "";
  }
}

/// Prints the times of a query on a GPU.
void remark_times(const Answer& answer, const QueryMemory& memory) {
  if (!answer.rung.starts_with("cuda.")) return;
  const DeviceTimes& times = answer.times;
  remark(times_text({.to_device = times.to_device, .kernel = times.kernel, .to_host = times.to_host}) +
         (times.compile > 0 ? fmt::format(", {} to prepare the code", duration(times.compile)) : ""));
  if (answer.bytes_to_device > 0) {
    const double sent = static_cast<double>(answer.bytes_to_device) / answer.seconds;
    remark(fmt::format("{} to the device{}", rate(sent), link_text(memory.device_bytes)));
  }
  if (answer.rows_by_cpu > 0) {
    remark(fmt::format("{} rows were computed on the CPU, as the GPU cannot compute them exactly",
                       grouped(answer.rows_by_cpu)));
  }
}

QueryMemory memory_of(const QueryOptions& options) {
  QueryMemory memory{.spill_folder = options.spill_folder,
                     .device_bytes = parse_device_memory(options.device_memory),
                     .bytes_word = "--memory",
                     .spill_folder_word = "--spill-dir"};
  if (options.memory.empty()) return memory;
  const auto bytes = parse_bytes(options.memory);
  if (!bytes) refuse("--memory '{}' is not a size such as 4GB or 500MB", options.memory);
  memory.bytes = *bytes;
  return memory;
}

/// Prints what a query wrote to a temporary file because memory did not suffice.
void remark_spilled(const Answer& answer, const QueryMemory& memory) {
  if (answer.bytes_spilled == 0) return;
  remark(fmt::format("{} of groups did not fit in {} and were written to a temporary file{}; --memory sets the limit",
                     size(answer.bytes_spilled),
                     memory.bytes > 0 ? size(memory.bytes) + " of memory" : "three quarters of the free memory",
                     memory.spill_folder.empty() ? "" : " in " + memory.spill_folder));
}

void report_file(const Answer& answer, std::int64_t rows, const std::string& path) {
  std::string text = fmt::format("rows   {}\n", grouped(rows));
  if (!answer.rung.empty()) text += fmt::format("rung   {}\n", answer.rung);
  print(text + fmt::format("time   {}\noutput {}\n", duration(answer.seconds), printable(path)));
}

void report_table(const Common& common, const Answer& answer) {
  const bool is_shortened = print_as_text(answer);
  if (common.quiet) return;
  if (is_shortened) remark("names and texts are shortened to fit the terminal; --json prints them whole");
  const std::string by = answer.rung.empty() ? "" : fmt::format(" by {}", answer.rung);
  remark(fmt::format("{} in {}{}", rows_text(std::ssize(answer.rows)), duration(answer.seconds), by));
}

/// The output of an answer: the file that -o names, standard output in the format of --format, or a table.
class AnswerOutput {
 public:
  /// Opens the file before the query runs, so that a name that cannot be written is reported first.
  AnswerOutput(const QueryOptions& options, io::ResultFormat format, const std::vector<Field>& columns)
      : path_(options.output) {
    if (path_ && format != io::ResultFormat::text)
      writer_ = io::open_answer(*path_, format, columns, cell_text(format));
  }

  /// Takes rows while the query runs; null if the answer is printed as a table.
  [[nodiscard]] AnswerSink sink() {
    if (!writer_) return {};
    return [this](AnswerRows&& chunk) { write(chunk); };
  }
  void write(const AnswerRows& rows) {
    if (!writer_) return;
    rows_ += std::ssize(rows);
    writer_->write(rows);
  }
  /// Gives the file its name, and reports.
  void report(const Common& common, const Answer& answer, const QueryMemory& memory) {
    name_and_report(writer_.get(), [&] {
      const bool is_file = writer_ && path_ != "-";
      if (common.json) return print_as_json(answer, path_, rows_);
      if (is_file && !common.quiet) report_file(answer, rows_, *path_);
      if (!writer_) report_table(common, answer);
      if (common.quiet) return;
      remark_times(answer, memory);
      remark_spilled(answer, memory);
    });
  }

 private:
  std::optional<std::string> path_;
  std::unique_ptr<io::AnswerWriter> writer_;
  std::int64_t rows_ = 0;  // that were written
};

QueryCarry fold_file(const Common& common, const Query& query, const Table& table, const QueryMemory& memory) {
  if (common.on_gpu()) return query.fold(gpu::Policy{}.with_rung(common.rung), table, {}, memory.device_bytes);
  return query.fold(common.policy(), table);
}

/// Folds this rank's files in order, each mapped to the columns of all files. Returns nothing without files.
std::optional<QueryCarry> fold_files(const Common& common, const Query& query, const std::vector<io::JoinedFile>& files,
                                     const std::vector<Field>& fields, const QueryMemory& memory) {
  std::optional<QueryCarry> all;
  for (const io::JoinedFile& file : files) {
    QueryCarry carry = fold_file(common, query, *io::join({file}, fields), memory);
    if (all) {
      all->merge(carry);
    } else {
      all = std::move(carry);
    }
  }
  return all;
}

/// The bytes of all ranks, one after the other, on every rank.
std::string gather_bytes(const Ranks& ranks, std::string bytes) {
  if (!ranks.reports()) ranks.send(0, bytes);
  for (int rank = 1; ranks.reports() && rank < ranks.size(); ++rank) bytes += ranks.receive(rank);
  return ranks.from_first(bytes);
}

/// Merges the ranks' carries in pairs, neighbors first. Rank 0 has the result in the end, and rows keep their order.
/// Carries are sent as bytes; a rank without files sends none.
void merge_ranks(Ranks& ranks, const Query& query, std::optional<QueryCarry>& carry) {
  for (int step = 1; step < ranks.size(); step *= 2) {
    if (ranks.rank() % (2 * step) == step) {
      std::string bytes;
      ranks.run([&] { bytes = carry ? carry->bytes() : ""; });
      return ranks.send(ranks.rank() - step, bytes);
    }
    if (ranks.rank() + step >= ranks.size()) continue;
    const std::string bytes = ranks.receive(ranks.rank() + step);
    ranks.run([&] {
      if (bytes.empty()) return;
      if (carry) return carry->merge(query.carry(bytes));
      carry = query.carry(bytes);
    });
  }
}

/// The columns of all files. Also maps the columns of each file in this rank's share to them.
io::JoinedFields joined_fields(const std::vector<std::string>& files, std::string_view columns_of_all,
                               std::vector<io::JoinedFile>& share) {
  io::JoinedFields joined;
  std::map<std::string, std::vector<int>> places;
  for (const std::string& file : files) {
    const std::vector<Field> fields = io::take_fields(columns_of_all);
    places[file] = joined.add(file, fields, io::take_written_numbers(columns_of_all));
  }
  for (io::JoinedFile& file : share) file.places = places.at(file.path);
  return joined;
}

int query_on_ranks(const Common& common, const QueryOptions& options, io::ResultFormat format,
                   const QueryMemory& memory) {
  const Stopwatch watch;
  Ranks ranks(common.command_line);
  std::optional<Statement> statement;
  std::vector<std::string> files;
  std::vector<io::JoinedFile> share;
  std::string own_columns;
  ranks.run([&] {
    (void)common.policy();  // refuses a device that is not there
    statement.emplace(options.sql);
    if (!statement->path().empty()) statement->refuse_table("with --mpi its files are the table: FROM needs a name");
    for (const std::string& path : options.files) {
      for (std::string& file : io::matching_files(path)) files.push_back(std::move(file));
    }
    for (const std::string& file : ranks.share_of(files)) {
      share.push_back({file, io::open_table(file, common.csv, common.threads)});
      take_remarks(share.back().table->remarks(), common.shows_remarks());
      own_columns += io::packed(share.back().table->fields());
      own_columns += io::packed(io::written_numbers(*share.back().table));
    }
  });
  ranks.settle();
  const std::string columns_of_all = gather_bytes(ranks, own_columns);
  std::optional<Query> query;
  std::optional<QueryCarry> carry;
  ranks.run([&] {
    const io::JoinedFields joined = joined_fields(files, columns_of_all, share);
    if (ranks.reports()) take_remarks(joined.remarks(), common.shows_remarks());
    query.emplace(*statement, *io::join({}, joined.fields()));
    carry = fold_files(common, *query, share, joined.fields(), memory);
  });
  ranks.settle();
  merge_ranks(ranks, *query, carry);
  ranks.settle();
  ranks.run([&] {
    if (!ranks.reports()) return;
    Answer answer = query->answer(*carry);
    answer.seconds = watch.seconds();
    AnswerOutput output(options, format, answer.columns);
    output.write(answer.rows);
    output.report(common, answer, memory);
  });
  ranks.settle();
  return 0;
}

/// The bytes of the columns that may be named; 0 if the table's length is not known.
std::int64_t bytes_of(const Statement& statement, const Table& table) {
  std::int64_t bits = 0;
  for (const Field& field : table.fields()) {
    if (statement.may_name(field.name)) bits += upsweep::width_of(field.storage);
  }
  return std::max<std::int64_t>(table.rows(), 0) * bits / 8;
}

/// Runs a query with LIMIT on the first rows of its files. Returns nothing if the answer has too few rows. Also returns
/// nothing after an error that the types of all rows, or with --ragged fill their columns, may avoid: `fits` = false.
std::optional<Answer> answer_of_first_rows(const Common& common, const Statement& statement, const Table& table,
                                           const QueryMemory& memory, bool& fits) {
  try {
    Answer answer = Query(statement, table).run(common.policy(), table, {}, memory);
    if (std::ssize(answer.rows) == statement.row_limit()) return answer;
  } catch (const Error& error) {
    const bool may_get_columns = common.csv.ragged == io::Ragged::fill;
    if (error.code() == Code::interrupted || (error.code() == Code::unknown_column && !may_get_columns)) throw;
    fits = false;
  }
  return std::nullopt;
}

}  // namespace

int run_query(const Common& given, const QueryOptions& asked) {
  QueryOptions options = asked;
  const io::ResultFormat format = settle_output(given, options, !asked.files.empty(), "table", io::ResultFormat::csv);
  const QueryMemory memory = memory_of(options);
  if (!options.files.empty()) return query_on_ranks(given, options, format, memory);
  const Policy policy = given.policy();  // refuses a device that is not there
  const Statement statement(options.sql);
  io::CsvOptions csv = given.csv;
  const std::vector<std::string> paths = {path_of(statement, options.tables)};
  csv.first_bytes = given.on_gpu() ? 0 : io::first_bytes(paths, statement.row_limit());
  const auto open = [&] { return io::open_tables(paths, csv, {}, given.threads, options.spill_folder); };
  auto table = open();
  std::optional<Answer> first;
  while (io::is_partial(*table)) {
    bool fits = true;
    first = answer_of_first_rows(given, statement, *table, memory, fits);
    if (first) break;
    csv.first_bytes = fits ? io::more_bytes(csv.first_bytes) : 0;
    table = open();
  }
  take_remarks(table->remarks(), given.shows_remarks());
  if (first) {
    AnswerOutput output(options, format, first->columns);
    output.write(first->rows);
    output.report(given, *first, memory);
    return 0;
  }
  const Query query(statement, *table);
  const Common common = with_device(given, statement.selects_rows() ? 0 : bytes_of(statement, *table));
  AnswerOutput output(options, format, query.columns());
  Answer answer;
  {
    Progress progress(common.quiet);
    const std::int64_t total = io::expected_rows(*table);
    const auto show = [&](std::int64_t rows) { progress.count("reading rows", rows, total); };
    answer = common.on_gpu() ? query.run(gpu::Policy{}.with_rung(common.rung), *table, show, memory, output.sink())
                             : query.run(policy, *table, show, memory, output.sink());
  }
  output.report(common, answer, memory);
  return 0;
}

}  // namespace upsweep::command
