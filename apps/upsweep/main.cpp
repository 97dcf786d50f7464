// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/main.cpp: the command line: parses it, runs one command, and turns failures into messages and statuses.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "io/npy_writer.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/ladder.hpp"
#include "values.hpp"

namespace upsweep::command {

Policy Common::policy() const {
  if (device == "cuda" && !gpu::is_built()) {
    throw Error(Code::not_built, "--device cuda: this build of upsweep has no CUDA");
  }
  if (device == "cuda" && gpu::devices().empty()) {
    throw Error(Code::no_device, "--device cuda: no CUDA device on this machine");
  }
  if (device != "auto" && device != "cuda" && device != "cpu") {
    throw Error(Code::invalid_argument, "--device '" + device + "' is not one of auto, cpu, cuda");
  }
  if (threads < 0) throw Error(Code::invalid_argument, fmt::format("--threads {} is negative", threads));
  return par.with_threads(threads).with_rung(rung);
}

namespace {

constexpr std::string_view kVersion = "upsweep " UPSWEEP_VERSION "\n";
constexpr int kClosedPipe = 141;  // what a shell reports of a command that a broken pipe ended

struct Options {
  Common common;
  ScanOptions scan;
  ReduceOptions reduce;
  OffsetsOptions offsets;
  QueryOptions query;
  SubsetSumOptions subset_sum;
  LadderOptions ladder;
};

void add_common(CLI::App& app, Common& common) {
  app.add_option("--device", common.device, "auto, cpu or cuda; auto runs where the data lives");
  app.add_option("--rung", common.rung, "run this rung of the ladder, or fail");
  app.add_option("--threads", common.threads, "threads (default: every core)");
  app.add_flag("--json", common.json, "one JSON object on standard output, for errors too");
  app.add_flag("--quiet", common.quiet, "no progress, no summary beside -o");
}

constexpr const char* kInputHelp =
    "FILE, FILE:COLUMN or - (.npy on standard input); .npy, Parquet, Arrow IPC and CSV files";

/// CLI11 clamps numbers that are too large: they are refused before it reads them.
std::string require_length(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 ? "" : "'" + text + "' is no number from 0 to 9223372036854775807";
}

std::string require_count(const std::string& text) {
  return !text.starts_with('0') && require_length(text).empty()
             ? ""
             : "'" + text + "' is no number from 1 to 9223372036854775807";
}

std::string require_seconds(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 ? "" : "'" + text + "' is no number of seconds";
}

CLI::App* add_scan(CLI::App& app, Options& options) {
  CLI::App* scan = app.add_subcommand("scan", "prefix scan of a column");
  ScanOptions& o = options.scan;
  scan->add_option("IN", o.input, kInputHelp)->required();
  scan->add_option("--op", o.op, operator_names() + " (default: add)");
  scan->add_flag("--exclusive", o.exclusive, "output i holds what precedes element i");
  scan->add_option("--init", o.init, "the value before the first element (default: the operator's identity)");
  scan->add_option("--dtype", o.dtype,
                   "output type (default: int64, uint64, or the float type of the input; of decimals, int64 scaled by "
                   "a power of ten, or float64)");
  scan->add_option("--overflow", o.overflow, "checked (default for integer add) or wrap");
  scan->add_option("-o,--output", o.output, "write OUT.npy; - writes .npy bytes to standard output");
  add_common(*scan, options.common);
  return scan;
}

CLI::App* add_reduce(CLI::App& app, Options& options) {
  CLI::App* reduce = app.add_subcommand("reduce", "one value from a column");
  ReduceOptions& o = options.reduce;
  reduce->add_option("IN", o.input, kInputHelp)->required();
  reduce->add_option("--op", o.op, operator_names() + " (default: add)");
  reduce->add_option("--dtype", o.dtype,
                     "output type (default: int64, uint64, or the float type of the input; of decimals, a decimal, or "
                     "float64)");
  add_common(*reduce, options.common);
  return reduce;
}

CLI::App* add_offsets(CLI::App& app, Options& options) {
  CLI::App* offsets = app.add_subcommand("offsets", "offsets of lists from their starts and stops");
  OffsetsOptions& o = options.offsets;
  const CLI::Validator length(require_length, "N");
  offsets->add_option("STARTS", o.starts, kInputHelp)->required();
  offsets->add_option("STOPS", o.stops, "as STARTS, of the same type")->required();
  offsets->add_option("--starts-offset", o.starts_offset, "skip so many starts")->check(length);
  offsets->add_option("--stops-offset", o.stops_offset, "skip so many stops")->check(length);
  offsets->add_option("--length", o.length, "lists (default: what is left, which must be equal)")->check(length);
  offsets->add_flag("--strict", o.strict, "negative starts are errors too");
  offsets->add_option("-o,--output", o.output, "write OUT.npy; - writes .npy bytes to standard output");
  add_common(*offsets, options.common);
  return offsets;
}

CLI::App* add_query(CLI::App& app, Options& options) {
  CLI::App* query = app.add_subcommand("query", "SQL aggregates over a file");
  QueryOptions& o = options.query;
  query->add_option("SQL", o.sql, "SELECT … FROM 'FILE' [WHERE …] [GROUP BY …] [ORDER BY …] [LIMIT …]")->required();
  query->add_option("--table", o.tables, "NAME=FILE: what FROM NAME reads (repeatable)");
  add_common(*query, options.common);
  return query;
}

CLI::App* add_subset_sum(CLI::App& app, Options& options) {
  CLI::App* subset_sum = app.add_subcommand("subset-sum", "which of a file's numbers add up to a target");
  SubsetSumOptions& o = options.subset_sum;
  subset_sum
      ->add_option("IN", o.input,
                   "FILE, FILE:COLUMN or -: positive numbers, decimals too, one on each line of text, or .npy; from a "
                   "FILE also Parquet, Arrow IPC and CSV")
      ->required();
  subset_sum->add_option("--target", o.target, "the sum that is looked for")->required();
  subset_sum->add_flag("--decide", o.decide, "only whether it can be had, not by which items");
  subset_sum->add_flag("--closest", o.closest, "the largest sum up to the target");
  subset_sum->add_option("--tolerance", o.tolerance, "a sum this near to the target will do; the nearest is found");
  subset_sum
      ->add_option("--all", o.all,
                   "the first K solutions, ordered as words are in a dictionary, with positions for letters")
      ->check(CLI::Validator(require_count, "K"));
  subset_sum->add_option("--id", o.id, "another column of the table, whose values name the items in the answer");
  subset_sum->add_flag("--no-early-stop", o.no_early_stop, "go on once the target is reached, to the end of the work");
  subset_sum->add_flag("--explain", o.explain, "how the search is made smaller, and what each way to do it would take");
  add_common(*subset_sum, options.common);
  return subset_sum;
}

CLI::App* add_ladder(CLI::App& app, Options& options) {
  CLI::App* ladder = app.add_subcommand("ladder", "verify and time every rung of a problem");
  LadderOptions& o = options.ladder;
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
  ladder->add_option("PROBLEM", o.problem, fmt::format("{} (default: list the ladders)", fmt::join(names, ", ")));
  ladder->add_option("--sizes", o.sizes, "lengths such as 2^10,1e6 (default: the problem's usual ones)");
  ladder->add_option("--types", o.types, "element types such as int32,float64 (default: the problem's usual ones)");
  ladder
      ->add_option("--input", o.input,
                   fmt::format("climb on columns instead of generated data ({})", fmt::join(inputs, "; ")))
      ->expected(1, static_cast<int>(most_inputs));
  ladder->add_option("--max-seconds", o.max_seconds, "skip a rung that is estimated to take longer (default: 5)")
      ->check(CLI::Validator(require_seconds, "S"));
  for (const ProblemInfo& problem : problems()) {
    for (const SettingInfo& setting : problem.settings) {
      const std::string name(setting.name);
      ladder->add_option("--" + name, o.settings[name], fmt::format("{}: {}", problem.name, setting.help));
    }
  }
  add_common(*ladder, options.common);
  return ladder;
}

std::string commands_of(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& name) {
  throw Error(Code::invalid_argument,
              fmt::format("there is no {} '{}'; the commands are {}", name.starts_with('-') ? "option" : "command",
                          name, commands_of(app)));
}

/// What is wrong with an option, in other words than CLI11's: "--op: 1 required TEXT missing".
std::string complaint(const CLI::ParseError& error) {
  std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch") {
    const std::string option = text.substr(0, text.find(':'));
    return option + (text.ends_with(" missing") ? " needs a value" : " has more values than it takes");
  }
  const std::size_t equals = text.find(" = ");
  constexpr std::string_view kNotConverted = "Could not convert: ";
  if (!text.starts_with(kNotConverted) || equals == std::string::npos) return text;
  return fmt::format("{} cannot be '{}'", text.substr(kNotConverted.size(), equals - kNotConverted.size()),
                     text.substr(equals + 3));
}

/// CLI11 says nothing of a word that is no command, and lists what it did not expect last first.
[[noreturn]] void refuse_arguments(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> before = app.remaining(false);
  const std::vector<std::string> unexpected = app.remaining(true);
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto word =
        std::find_if(unexpected.begin(), unexpected.end(), [](const auto& one) { return !one.starts_with('-'); });
    if (word != unexpected.end()) refuse_command(app, *word);
    const std::string where = unexpected.empty() ? "" : " before " + unexpected[0];
    throw Error(Code::invalid_argument,
                fmt::format("a command is needed{}: {} (see upsweep --help)", where, commands_of(app)));
  }
  const std::string name = chosen[0]->get_name();
  std::string what = complaint(error);
  if (!before.empty()) {
    what = fmt::format("{} stands before the command; options go after it", fmt::join(before, " "));
  } else if (!unexpected.empty()) {
    what = fmt::format("upsweep {} does not take {}", name, fmt::join(unexpected, " "));
  }
  throw Error(Code::invalid_argument, fmt::format("{} (see upsweep {} --help)", what, name));
}

void print_help(const CLI::App& app, const std::string& command) {
  // App::help() gives the help of the command that was chosen, which is `help`.
  if (command.empty()) return print(app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const CLI::App* one) { return one->get_name() == command; });
  if (found == all.end()) refuse_command(app, command);
  print((*found)->help(app.get_name()));
}

int run(int argc, char** argv, Options& options) {
  CLI::App app{"Scans, reductions, ragged offsets, SQL aggregates and subset sums at the speed of memory.", "upsweep"};
  app.set_version_flag("-V,--version", UPSWEEP_VERSION);
  app.require_subcommand(1);
  const CLI::App* scan = add_scan(app, options);
  const CLI::App* reduce = add_reduce(app, options);
  const CLI::App* offsets = add_offsets(app, options);
  const CLI::App* query = add_query(app, options);
  const CLI::App* subset_sum = add_subset_sum(app, options);
  const CLI::App* ladder = add_ladder(app, options);
  CLI::App* devices = app.add_subcommand("devices", "what there is to run on, and its measured memory rates");
  add_common(*devices, options.common);
  const CLI::App* version = app.add_subcommand("version", "as --version");
  CLI::App* help = app.add_subcommand("help", "as --help");
  std::string helped;
  help->add_option("COMMAND", helped, "one of the commands (default: what there is)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());  // the subcommand's, where there is one
    return 0;
  } catch (const CLI::CallForVersion&) {
    print(kVersion);
    return 0;
  } catch (const CLI::ParseError& error) {
    refuse_arguments(app, error);
  }
  if (*version) print(kVersion);
  if (*help) print_help(app, helped);
  if (*version || *help) return 0;
  if (*scan) return run_scan(options.common, options.scan);
  if (*reduce) return run_reduce(options.common, options.reduce);
  if (*offsets) return run_offsets(options.common, options.offsets);
  if (*query) return run_query(options.common, options.query);
  if (*subset_sum) return run_subset_sum(options.common, options.subset_sum);
  if (*ladder) return run_ladder(options.common, options.ladder);
  return run_devices(options.common);
}

/// Says what went wrong and returns the exit status.
int report(const Error& error, bool json) {
  if (json) {
    const Json object{{"error",
                       {{"code", word(error.code())},
                        {"message", error.what()},
                        {"index", error.index() == kNoIndex ? Json() : Json(error.index())}}}};
    print_json(object);
  } else {
    complain(error.what());
  }
  return exit_code(error.code());
}

int run_reporting(int argc, char** argv) {
  Options options;
  // A command line that cannot be parsed still says how its error is wanted.
  const bool asks_json =
      std::any_of(argv, argv + argc, [](const char* arg) { return std::string_view(arg) == "--json"; });
  try {
    return run(argc, argv, options);
  } catch (const Error& error) {
    return report(error, asks_json || options.common.json);
  } catch (const std::bad_alloc&) {
    return report(Error(Code::out_of_memory, "not enough memory"), asks_json || options.common.json);
  }
}

}  // namespace
}  // namespace upsweep::command

int main(int argc, char** argv) {
  upsweep::command::hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is then an error of write(), and nothing half-written is left
  try {
    return upsweep::command::run_reporting(argc, argv);
  } catch (const upsweep::io::ClosedPipe&) {
    return upsweep::command::kClosedPipe;
  } catch (const upsweep::Error& error) {
    // Not even the report could be written.
    upsweep::command::complain(error.what());
    return upsweep::exit_code(error.code());
  } catch (const std::exception& error) {
    upsweep::command::complain(error.what());
    return 3;
  }
}
