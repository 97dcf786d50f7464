// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/main.cpp: the command line: parses it, runs one command, and turns failures into messages and statuses.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "description.hpp"
#include "examples.hpp"
#include "io/npy_writer.hpp"
#include "io/source.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "upsweep/detail/no_cuda.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/ladder.hpp"
#include "values.hpp"

namespace upsweep::command {

Policy Common::policy() const {
  if (device == "cuda" && !gpu::is_built()) {
    throw Error(Code::not_built, std::string("--device cuda: ") + detail::kNoCuda);
  }
  if (device == "cuda" && gpu::devices().empty()) {
    throw Error(Code::no_device, "--device cuda: no CUDA device on this machine");
  }
  if (device != "auto" && device != "cuda" && device != "cpu") {
    refuse("--device '{}' is not one of auto, cpu, cuda", device);
  }
  if (threads < 0) refuse("--threads {} is negative", threads);
  return par.with_threads(threads).with_rung(rung);
}

namespace {

constexpr std::string_view kVersion = "upsweep " UPSWEEP_VERSION "\n";
constexpr int kClosedPipe = 141;  // the status that a shell reports for a command that a broken pipe ended

void add_common(CLI::App& app, Common& common) {
  app.add_option("--device", common.device,
                 "run on cpu or cuda (default: auto: both for ladder and bench, the faster one for large reduce and "
                 "query, otherwise cpu)");
  app.add_option("--rung", common.rung, "run this rung of the ladder, or fail");
  if (app.get_option_no_throw("--threads") == nullptr) {
    app.add_option("--threads", common.threads, "use this number of threads (default: every core)");
  }
  app.add_flag("--json", common.json, "write one JSON object to standard output, also for errors");
  app.add_flag("--quiet", common.quiet, "show no progress, and no summary if -o is given");
}

/// Adds the options about the form of CSV files.
void add_file_options(CLI::App& command, io::CsvOptions& csv) {
  const std::map<std::string_view, std::string_view> help = {
      {"delimiter", "characters between cells, such as ';' or tab"},
      {"quote", "character around cells, or none"},
      {"escape", "character before a quote within quotes, such as '\\'"},
      {"decimal", "character before decimals: . or ,"},
      {"thousands", "character between groups of three digits, or none"},
      {"null", "words for NULL, such as NA,-"},
      {"header", "yes, no, or the rows with names, such as 1,2"},
      {"skip", "skip the first N lines"},
      {"skip-end", "skip the last N lines"},
      {"comment", "skip lines that begin with this text"},
      {"encoding", "utf-8, utf-16le, utf-16be, windows-1252 or iso-8859-1"},
      {"date-format", "form of dates and times, such as %d/%m/%Y"},
      {"types",
       "NAME=TYPE: read a column as string, int64, uint64, decimal(18,2), float64, date, time, timestamp or "
       "bool; TYPE without NAME: all columns (repeatable)"},
      {"ragged", "refuse, fill or skip rows of another length (default: refuse)"}};
  for (const std::string_view name : io::CsvOptions::names()) {
    const auto set = [&csv, name](const std::vector<std::string>& values) {
      for (const std::string& value : values) csv.set(name, value);
    };
    command.add_option_function<std::vector<std::string>>("--" + std::string(name), set, std::string(help.at(name)))
        ->allow_extra_args(false)
        ->group("CSV files (default: determined from the file)");
  }
}

constexpr const char* kRanksHelp = "FILES: under mpirun, divide these files among the processes, in order";

constexpr const char* kInputHelp =
    "read FILE, FILE:COLUMN, a pattern such as '*.csv:x', or -:COLUMN (standard input); formats: .npy, Parquet, Arrow "
    "IPC, CSV";

constexpr const char* kOutputHelp =
    "write OUT.csv, OUT.parquet, OUT.arrow, OUT.json or OUT.npy; - writes to standard output";

constexpr const char* kFormatHelp = "write to standard output in this format: text, csv, json, npy (default: text)";

/// Rejects a number that is too large before CLI11 reads it: CLI11 would clamp it.
std::string require_length(const std::string& text) {
  const auto value = parse_number<std::int64_t>(text);
  return value && *value >= 0 ? "" : "'" + text + "' is not a number from 0 to 9223372036854775807";
}

std::string require_count(const std::string& text) {
  return !text.starts_with('0') && require_length(text).empty()
             ? ""
             : "'" + text + "' is not a number from 1 to 9223372036854775807";
}

std::string require_seconds(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && *value >= 0 ? "" : "'" + text + "' is not a number of seconds";
}

/// Declares IN and its alternative, the files of --mpi. Returns the option --mpi.
CLI::Option* declare_input(CLI::App& command, std::string& input, std::vector<std::string>& files) {
  CLI::Option* const in = command.add_option("IN", input, kInputHelp);
  CLI::Option* const mpi = command.add_option("--mpi", files, kRanksHelp)->excludes(in);
  command.parse_complete_callback([in, mpi] {
    if (in->count() == 0 && mpi->count() == 0) throw CLI::RequiredError(in->get_name());
  });
  return mpi;
}

void declare_nulls(CLI::App& command, std::string& nulls, const char* skip) {
  command.add_option("--nulls", nulls, fmt::format("skip: {}; refuse: report the first NULL (default: refuse)", skip));
}

void declare_device_memory(CLI::App& command, std::string& text) {
  command.add_option("--device-memory", text,
                     "use at most this much GPU memory, such as 4GB or 500MB (default: enough for some chunks)");
}

void declare_scan(CLI::App& command, ScanOptions& o) {
  CLI::Option* const mpi = declare_input(command, o.input, o.files);
  command.add_option("--op", o.op, operator_names() + " (default: add)");
  command.add_flag("--exclusive", o.exclusive, "combine only the elements before element i into output i");
  command.add_option("--init", o.init, "start from this value (default: the operator's identity)");
  command.add_option(
      "--dtype", o.dtype,
      "set the output type (default: int64, uint64, or the input's float type; for decimals, int64 scaled by a power "
      "of ten, or float64)");
  command.add_option(
      "--overflow", o.overflow,
      "checked: report integer overflow; wrap: compute modulo 2^bits (default: checked for integer add)");
  declare_nulls(command, o.nulls, "repeat the running value in rows that are NULL");
  declare_device_memory(command, o.device_memory);
  CLI::Option* const output = command.add_option("-o,--output", o.output, kOutputHelp);
  command.add_option("--format", o.format, kFormatHelp);
  command
      .add_flag("--one-file", o.one_file,
                "with --mpi, write one OUT.npy on a shared file system, not one file per process")
      ->needs(mpi)
      ->needs(output);
  command.add_option("--axis", o.axis, "scan a .npy array along this axis, from 0; -1 is the last")->excludes(mpi);
}

void declare_reduce(CLI::App& command, ReduceOptions& o) {
  CLI::Option* const mpi = declare_input(command, o.input, o.files);
  command.add_option("--op", o.op, operator_names() + " (default: add)");
  command.add_option("--dtype", o.dtype,
                     "set the output type (default: int64, uint64, or the input's float type; for decimals, a decimal, "
                     "or float64)");
  declare_nulls(command, o.nulls, "leave out elements that are NULL");
  declare_device_memory(command, o.device_memory);
  command.add_option("-o,--output", o.output, std::string("the value as a table of one row: ") + kOutputHelp);
  command.add_option("--format", o.format, kFormatHelp);
  command.add_option("--axis", o.axis, "reduce a .npy array along this axis, from 0; -1 is the last")->excludes(mpi);
}

void declare_offsets(CLI::App& command, OffsetsOptions& o) {
  const CLI::Validator length(require_length, "N");
  command.add_option("STARTS", o.starts, kInputHelp)->required();
  command.add_option("STOPS", o.stops, "read like STARTS; the type must be that of STARTS")->required();
  command.add_option("--starts-offset", o.starts_offset, "skip the first N starts (default: 0)")->check(length);
  command.add_option("--stops-offset", o.stops_offset, "skip the first N stops (default: 0)")->check(length);
  command.add_option("--length", o.length, "use N lists (default: all that remain, equal for starts and stops)")
      ->check(length);
  command.add_flag("--strict", o.strict, "also report negative starts as errors");
  command.add_option("-o,--output", o.output, kOutputHelp);
  command.add_option("--format", o.format, kFormatHelp);
}

constexpr const char* kResultHelp =
    "write OUT.csv, OUT.parquet, OUT.arrow, OUT.json or OUT.npy; several arrays as .npy are OUT.offsets.npy, OUT.0.npy "
    "…; - writes to standard output";

void declare_segment(CLI::App& command, SegmentOptions& o) {
  command
      .add_option("CONTENT", o.content, "read a column of lists, FILE:COLUMN, or with --offsets a column of elements")
      ->required();
  command.add_option("--offsets", o.offsets, "read each list's start and the last list's end: FILE, FILE:COLUMN or -");
  command.add_option("--op", o.op, segment_names() + " (default: add)");
  command.add_option("--by", o.by, "with --op scan, use this operator: " + operator_names() + " (default: add)");
  command.add_flag("--exclusive", o.exclusive, "with --op scan, combine only the list's elements before element i");
  command.add_option("--init", o.init, "start each list from this value (default: the operator's identity)");
  command.add_flag("--descending", o.descending, "with sort and argsort, put the largest element first");
  command.add_flag("--nan-first", o.nan_first, "with sort and argsort, put NaN before numbers (default: after them)");
  command.add_option("--dtype", o.dtype, "with folds and scans, set the output type (default: as for upsweep scan)");
  command.add_option(
      "--overflow", o.overflow,
      "checked: report integer overflow; wrap: compute modulo 2^bits (default: checked for integer add)");
  command.add_option("-o,--output", o.output, kResultHelp);
  command.add_option("--format", o.format, kFormatHelp);
}

void declare_select(CLI::App& command, SelectOptions& o) {
  command.add_option("CONTENT", o.contents, "read columns of elements, or of lists: FILE, FILE:COLUMN or -")
      ->required();
  command
      .add_option("--mask", o.mask,
                  "keep the elements where this column is true: one boolean per element, or lists of the same lengths")
      ->required();
  command.add_option("--offsets", o.offsets,
                     "with columns of elements, read each list's start and the last list's end from this column");
  command.add_option("-o,--output", o.output, kResultHelp);
  command.add_option("--format", o.format, kFormatHelp);
}

void declare_pack(CLI::App& command, PackOptions& o) {
  command
      .add_option("IN", o.inputs,
                  "read STARTS STOPS CONTENT…, where STARTS and STOPS bound each list; or columns of lists")
      ->required();
  command.add_option("-o,--output", o.output, kResultHelp);
  command.add_option("--format", o.format, kFormatHelp);
}

void declare_query(CLI::App& command, QueryOptions& o) {
  command.add_option("SQL", o.sql, "SELECT … FROM 'FILE' [WHERE …] [GROUP BY …] [ORDER BY …] [LIMIT …] [OFFSET …]")
      ->required();
  CLI::Option* const tables =
      command.add_option("--table", o.tables, "NAME=FILE: read FILE for FROM NAME (repeatable)");
  command.add_option("--mpi", o.files, std::string(kRanksHelp) + "; any name after FROM means all of them")
      ->excludes(tables);
  command.add_option(
      "--memory", o.memory,
      "use at most this much memory for groups and the answer, such as 4GB or 500MB (default: three quarters of free "
      "memory); other groups are written to a temporary file, and the answer is the same");
  command.add_option("--spill-dir", o.spill_folder, "folder of that file (default: $TMPDIR, or the system's)");
  declare_device_memory(command, o.device_memory);
  command.add_option("-o,--output", o.output, kOutputHelp);
  command.add_option("--format", o.format,
                     "write to standard output in this format: table, csv, json, npy (default: table)");
}

void declare_schema(CLI::App& command, SchemaOptions& o) {
  command
      .add_option("FILE", o.files,
                  "describe these files as one table: names, patterns such as '*.csv', or - (standard input)")
      ->required();
  command.add_option("-o,--output", o.output,
                     "the columns, a row for each: write OUT.csv, OUT.parquet, OUT.arrow or OUT.json; - writes to "
                     "standard output");
  command.add_option("--format", o.format, kFormatHelp);
}

void declare_subset_sum(CLI::App& command, SubsetSumOptions& o) {
  command
      .add_option(
          "IN", o.input,
          "read positive numbers (integers or decimals) from FILE, FILE:COLUMN, or - (standard input); formats: text "
          "with one number per line, .npy; for files also Parquet, Arrow IPC, CSV")
      ->required();
  command.add_option("--target", o.target, "look for this sum")->required();
  command.add_flag("--decide", o.decide, "decide only whether the target can be reached, without finding the items");
  command.add_flag("--closest", o.closest, "find the largest sum up to the target");
  command.add_option("--tolerance", o.tolerance, "accept a sum this near to the target, and find the nearest one");
  command.add_option("--all", o.all, "list the first K solutions, in the lexicographic order of their positions")
      ->check(CLI::Validator(require_count, "K"));
  command.add_option("--id", o.id, "name the items in the answer by the values of this other column of the table");
  command.add_flag("--no-early-stop", o.no_early_stop, "continue to the end of the work after the target is reached");
  command.add_flag("--explain", o.explain, "show how the search is reduced, and what each strategy would cost");
  command.add_option("-o,--output", o.output, std::string("the items found, a row for each: ") + kOutputHelp);
  command.add_option("--format", o.format, kFormatHelp);
}

void declare_ladder(CLI::App& command, LadderOptions& o) {
  std::vector<std::string> names;
  std::vector<std::string> inputs;
  std::size_t most_inputs = 0;
  for (const ProblemInfo& problem : problems()) {
    names.emplace_back(problem.name);
    std::string columns(problem.name);
    for (const InputInfo& input : problem.inputs) columns.append(" ").append(input.name);
    inputs.push_back(columns);
    most_inputs = std::max(most_inputs, problem.inputs.size());
  }
  command.add_option("PROBLEM", o.problem, fmt::format("{} (default: list the ladders)", fmt::join(names, ", ")));
  command.add_option("--sizes", o.sizes, "measure lengths such as 2^10,1e6 (default: the problem's usual lengths)");
  command.add_option("--types", o.types,
                     "measure element types such as int32,float64 (default: the problem's usual types)");
  command
      .add_option("--input", o.input,
                  fmt::format("climb on columns instead of generated data ({})", fmt::join(inputs, "; ")))
      ->expected(1, static_cast<int>(most_inputs));
  command.add_option(
      "--threads", o.threads,
      "use this number of threads, 0 for every core, or several counts such as 1,2,4 for a table of how rungs scale "
      "(default: every core)");
  command.add_option("--max-seconds", o.max_seconds, "skip a rung that is estimated to take longer (default: 5)")
      ->check(CLI::Validator(require_seconds, "S"));
  command.add_option(
      "--with", o.guest,
      "add a custom rung: a shared library with a function of upsweep/rung.h (scan, reduce, offsets, "
      "segmented-reduce, filtered-sum, subset-sum); with --device cuda a rung on a GPU (the first four)");
  std::map<std::string_view, std::vector<std::string_view>> having;  // several problems may share a setting
  for (const ProblemInfo& problem : problems()) {
    for (const SettingInfo& setting : problem.settings) having[setting.name].push_back(problem.name);
  }
  for (const ProblemInfo& problem : problems()) {
    for (const SettingInfo& setting : problem.settings) {
      const std::string name(setting.name);
      if (o.settings.contains(name)) continue;
      command.add_option("--" + name, o.settings[name],
                         fmt::format("{}: {}", fmt::join(having[setting.name], ", "), setting.help));
    }
  }
}

void declare_bench(CLI::App& command, BenchOptions& o) {
  std::vector<std::string_view> names;
  for (const ProblemInfo& problem : problems()) names.push_back(problem.name);
  command.add_option("PROBLEM", o.problems, fmt::format("{} (default: all)", fmt::join(names, ", ")));
  CLI::Option* const output =
      command.add_option("-o,--output", o.output, "write RESULTS.json; an interrupted run resumes from it");
  command
      .add_option("--compare", o.compare,
                  "BEFORE.json AFTER.json: report what became faster or slower beyond the noise")
      ->expected(2)
      ->excludes(output);
  command.add_flag("--quick", o.quick, "measure for a minute: one study of each problem, up to 2^20 elements");
  command.add_option("--sizes", o.sizes, "measure lengths such as 2^10,1e6 (default: those of each study)");
  command.add_option("--threads", o.threads, "use thread counts such as 1,2,4 (default: 1, 2, 4 … and every core)");
  command.add_option("--max-seconds", o.max_seconds, "skip a rung that is estimated to take longer (default: 5)")
      ->check(CLI::Validator(require_seconds, "S"));
}

std::string commands_of(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& name) {
  refuse("unknown {} '{}'; the commands are {}", name.starts_with('-') ? "option" : "command", name, commands_of(app));
}

/// Describes what is wrong with an option. CLI11's own text would be "--op: 1 required TEXT missing".
std::string complaint(const CLI::ParseError& error) {
  std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch") {
    const std::string option = text.substr(0, text.find(':'));
    if (option == "--compare") return option + " needs two files: BEFORE.json AFTER.json";
    return option + (text.ends_with(" missing") ? " needs a value" : " has too many values");
  }
  const std::size_t equals = text.find(" = ");
  constexpr std::string_view kNotConverted = "Could not convert: ";
  if (!text.starts_with(kNotConverted) || equals == std::string::npos) return text;
  return fmt::format("{} cannot be '{}'", text.substr(kNotConverted.size(), equals - kNotConverted.size()),
                     text.substr(equals + 3));
}

/// The hint after arguments that a command does not accept: the arguments that it accepts.
std::string too_many_words(const CLI::App& command) {
  std::string names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) names += (names.empty() ? "" : " ") + option->get_name(true);
  }
  const std::string hint = command.get_name() == "segment" ? "; offsets follow --offsets" : "";
  return fmt::format(": without an option it accepts {}{}", names.empty() ? "nothing" : names, hint);
}

/// Refuses the command line. CLI11 has no message for an unknown command, and lists unexpected arguments last first.
[[noreturn]] void refuse_arguments(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> before = app.remaining(false);
  const std::vector<std::string> unexpected = app.remaining(true);
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto word =
        std::find_if(unexpected.begin(), unexpected.end(), [](const auto& one) { return !one.starts_with('-'); });
    if (word != unexpected.end()) refuse_command(app, *word);
    const std::string where = unexpected.empty() ? "" : " before " + unexpected[0];
    refuse("a command is needed{}: {} (see upsweep --help)", where, commands_of(app));
  }
  const std::string name = chosen[0]->get_name();
  std::string what = complaint(error);
  if (!before.empty()) {
    what = fmt::format("{} precedes the command; write options after the command", fmt::join(before, " "));
  } else if (!unexpected.empty()) {
    what = fmt::format("upsweep {} does not accept {}", name, fmt::join(unexpected, " "));
    const bool are_words =
        std::none_of(unexpected.begin(), unexpected.end(), [](const auto& one) { return one.starts_with('-'); });
    if (are_words) what += too_many_words(*chosen[0]);
  }
  refuse("{} (see upsweep {} --help)", what, name);
}

void print_help(const CLI::App& app, const std::string& command) {
  // App::help() would return the help of the chosen command, which is `help`.
  if (command.empty()) return print(app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const CLI::App* one) { return one->get_name() == command; });
  if (found == all.end()) refuse_command(app, command);
  print((*found)->help(app.get_name()));
}

/// Wraps the help of each option so that it fits 80 columns, and adds the examples of the command.
void finish_help(CLI::App& command) {
  command.footer(examples_text(command.get_name()));
  const std::size_t width = 80 - command.get_formatter()->get_column_width();
  for (CLI::Option* option : command.get_options()) option->description(wrapped(option->get_description(), 0, width));
}

/// Refuses an empty value of an option, which would pass for an option that is not given.
void refuse_empty_values(CLI::App& command) {
  const auto require_value = [](const std::string& value) -> std::string {
    return value.empty() ? "its value is empty" : "";
  };
  for (CLI::Option* option : command.get_options()) {
    if (option->nonpositional() && option->get_items_expected_max() > 0)
      option->check(CLI::Validator(require_value, ""));
  }
}

/// Prints the commands, and how to read more.
void print_short_help(const CLI::App& app) {
  std::string text = app.get_description() + "\n\nUsage: upsweep COMMAND [OPTIONS]\n\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    text += fmt::format("  {:<12}{}\n", command->get_name(), command->get_description());
  }
  print(text + "\nupsweep COMMAND --help shows the options of a command, and two examples.\n");
}

/// Adds a command with its own options and the common ones.
template <class Own>
void add_command(CLI::App& app, Common& common, int& status, const char* name, const char* help,
                 void (*declare)(CLI::App&, Own&), int (*run)(const Common&, const Own&)) {
  CLI::App* const command = app.add_subcommand(name, help);
  const auto own = std::make_shared<Own>();
  declare(*command, *own);
  add_common(*command, common);
  if (command->get_name() != "ladder" && command->get_name() != "bench") add_file_options(*command, common.csv);
  refuse_empty_values(*command);
  finish_help(*command);
  command->callback([&common, &status, own, run] { status = run(common, *own); });
}

/// The arguments, in which -:COLUMN is a source and not an option: the other name of standard input replaces the -.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> all(argv, argv + argc);
  for (std::string& one : all) {
    if (one.starts_with("-:")) one.replace(0, 1, io::kStandardInputPath);
  }
  return all;
}

int run(int argc, char** argv, Common& common) {
  CLI::App app{"Scans, reductions, ragged arrays, SQL and subset sums at the speed of memory.", "upsweep"};
  app.set_version_flag("-V,--version", UPSWEEP_VERSION);
  app.require_subcommand(1);
  int status = 0;
  const auto add = [&](auto... command) { add_command(app, common, status, command...); };
  add("scan", "compute the prefix scan of a column", declare_scan, run_scan);
  add("reduce", "reduce a column to one value", declare_reduce, run_reduce);
  add("offsets", "compute offsets of lists from starts and stops", declare_offsets, run_offsets);
  add("segment", "reduce, scan or sort every list separately", declare_segment, run_segment);
  add("select", "select elements, also of lists, by a mask", declare_select, run_select);
  add("pack", "copy lists from anywhere, one after the other", declare_pack, run_pack);
  add("query", "run SQL over a file: aggregates, or rows", declare_query, run_query);
  add("schema", "show the columns of a file, their types and sizes", declare_schema, run_schema);
  add("subset-sum", "find which of a file's numbers add up to a target", declare_subset_sum, run_subset_sum);
  add("ladder", "verify and time every rung of a problem", declare_ladder, run_ladder);
  add("bench", "measure the ladders, and record every figure", declare_bench, run_bench);
  CLI::App* devices = app.add_subcommand("devices", "show the CPU, the GPUs, and their memory rates");
  add_common(*devices, common);
  refuse_empty_values(*devices);
  finish_help(*devices);
  devices->callback([&] { status = run_devices(common); });
  CLI::App* version = app.add_subcommand("version", "print the version, as --version does");
  finish_help(*version);
  version->callback([] { print(kVersion); });
  CLI::App* help = app.add_subcommand("help", "print the help, as --help does");
  std::string helped;
  help->add_option("COMMAND", helped, "describe this command (default: list the commands)");
  finish_help(*help);
  help->callback([&] { print_help(app, helped); });
  CLI::App* completion = app.add_subcommand("completion", "print a script that completes command lines in a shell");
  std::string shell;
  completion->add_option("SHELL", shell, "bash, zsh or fish")->required();
  finish_help(*completion);
  completion->callback([&] { print(completion_script(app, shell)); });
  CLI::App* manual = app.add_subcommand("man", "print the manual page");
  finish_help(*manual);
  manual->callback([&] { print(manual_page(app)); });
  if (argc == 1) {
    print_short_help(app);
    return 0;
  }
  try {
    const std::vector<std::string> arguments = arguments_of(argc, argv);
    std::vector<const char*> pointers;
    pointers.reserve(arguments.size());
    for (const std::string& one : arguments) pointers.push_back(one.c_str());
    app.parse(argc, pointers.data());  // also runs the command
  } catch (const CLI::CallForHelp&) {
    print(app.help());  // the subcommand's help, if there is a subcommand
  } catch (const CLI::CallForVersion&) {
    print(kVersion);
  } catch (const CLI::ParseError& error) {
    refuse_arguments(app, error);
  }
  return status;
}

/// Reports the error and returns the exit status.
int report(const Error& error, bool json) {
  if (json) {
    Json object{{"code", word(error.code())},
                {"message", error.what()},
                {"index", error.index() == kNoIndex ? Json() : Json(error.index())}};
    if (const auto* const in_file = dynamic_cast<const RowError*>(&error)) {
      object["file"] = in_file->place().file;
      if (in_file->place().line >= 0) object["line"] = in_file->place().line;
    }
    print_json(Json{{"error", object}});
  } else {
    complain(error.what());
  }
  return exit_code(error.code());
}

int run_reporting(int argc, char** argv) {
  Common common;
  for (int i = 1; i < argc; ++i) common.command_line.append(argv[i]).push_back('\0');
  // A command line that cannot be parsed still determines the format of the error message.
  const bool asks_json =
      std::any_of(argv, argv + argc, [](const char* arg) { return std::string_view(arg) == "--json"; });
  end_on_signals(asks_json);
  try {
    return run(argc, argv, common);
  } catch (const ReportedElsewhere&) {
    return 0;
  } catch (const Error& error) {
    return report(error, asks_json || common.json);
  } catch (const std::bad_alloc&) {
    return report(Error(Code::out_of_memory, "not enough memory"), asks_json || common.json);
  } catch (const std::length_error&) {  // a vector throws it
    return report(Error(Code::out_of_memory, "not enough memory"), asks_json || common.json);
  }
}

// A mapped file (.npy or Arrow IPC) was made shorter: its pages past the new end no longer exist. The error cannot be
// repaired. It can only be reported, by functions that a signal handler may call.
extern "C" void file_shrank(int /*signal*/) {
  constexpr std::string_view kText = "upsweep: a file became shorter while it was read; try again\n";
  static std::atomic_flag is_said;
  while (is_said.test_and_set()) ::pause();  // another thread has also reached such a page, and ends the process
  (void)!::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(exit_code(Code::unreadable));
}

}  // namespace
}  // namespace upsweep::command

int main(int argc, char** argv) {
  upsweep::command::hold_standard_streams();
  std::signal(SIGBUS, upsweep::command::file_shrank);
  // write() then reports a closed pipe, or a file that is too large, and no half-written file is left.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = upsweep::command::run_reporting(argc, argv);
    if (status == upsweep::exit_code(upsweep::Code::interrupted)) upsweep::command::end_by_interrupt();
    return status;
  } catch (const upsweep::io::ClosedPipe&) {
    return upsweep::command::kClosedPipe;
  } catch (const upsweep::Error& error) {
    // The report itself could not be written.
    upsweep::command::complain(error.what());
    return upsweep::exit_code(error.code());
  } catch (const std::exception& error) {
    upsweep::command::complain(error.what());
    return 3;
  }
}
