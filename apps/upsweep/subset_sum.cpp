// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/subset_sum.cpp: `upsweep subset-sum`: finds which of a file's numbers add up to a target.
#include "upsweep/subset_sum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "core/printable.hpp"
#include "io/answer_writer.hpp"
#include "io/column.hpp"
#include "io/table.hpp"
#include "output.hpp"
#include "subset_problem.hpp"
#include "text_table.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/query.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

using Solution = std::vector<std::int64_t>;  // positions, ascending

struct Found {
  bool reachable = false;
  std::int64_t sum = 0;
  std::vector<Solution> solutions = {};  // one, or more with --all
  std::string rung = {};
  double seconds = 0;
};

// ------------------------------------------------------------------------------------------------------------- options

void check_options(const Common& common, const SubsetSumOptions& options) {
  if (options.closest && options.tolerance) refuse("--closest and --tolerance ask for different sums: choose one");
  if (options.all > 0 && (options.closest || options.tolerance)) {
    refuse("--all lists only solutions with the exact target: omit --closest and --tolerance");
  }
  if (options.all > 0 && options.no_early_stop) refuse("--all has no early stop: omit --no-early-stop");
  if (options.all > 0 && options.decide) refuse("--all lists solutions, --decide asks for none: choose one");
  if (options.all > 0 && common.on_gpu()) {
    throw Error(Code::unsupported, "--all runs only on the CPU: omit --device cuda and --rung cuda.*");
  }
  if (options.output && options.decide) refuse("--decide finds no items to write: omit it, or -o and --format");
  if (options.output == "-" && options.explain) {
    refuse("--explain and the items would both be written to standard output: write the items to a file, -o FILE");
  }
  // A missing file is reported when it is read.
  const bool is_there = options.input == "-" || std::filesystem::exists(options.input);
  if (options.id && is_there && io::table_of(options.input).empty()) {
    refuse("--id '{}' needs a table: name the items as FILE:COLUMN", printable(*options.id));
  }
}

upsweep::SubsetSumOptions library_options(const SubsetSumOptions& options, const SubsetProblem& problem) {
  upsweep::SubsetSumOptions result;
  result.witness = !options.decide;
  result.early_stop = !options.no_early_stop;
  if (options.closest) result.below = problem.target;
  if (options.tolerance) {
    result.below = std::min(problem.tolerance, problem.target);
    result.above = std::min(problem.tolerance, kMost - problem.target);
  }
  return result;
}

// --------------------------------------------------------------------------------------------------------- searching

std::atomic<int> interrupts = 0;  // set by a handler, read by the thread that reports the progress
static_assert(std::atomic<int>::is_always_lock_free);

/// While it exists, the first Ctrl-C only asks the search to stop. A second one ends the process at once.
class Interruptible {
 public:
  Interruptible() {
    interrupts = 0;
    struct sigaction action{};
    action.sa_handler = [](int) {
      if (interrupts.exchange(1) != 0) end_interrupted();
    };
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, nullptr, &before_);
    // A shell that starts a command in the background may have set Ctrl-C to be ignored.
    if (before_.sa_handler != SIG_IGN) ::sigaction(SIGINT, &action, nullptr);
  }
  ~Interruptible() { ::sigaction(SIGINT, &before_, nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction before_{};
};

/// "12.3 ms", "12 min", "3.2e+05 years": for estimates, which may have any length.
std::string estimate_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  constexpr double kYear = 365.25 * kDay;
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 2 * kMinute) return duration(seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{:.0f} h", seconds / kHour);
  if (seconds < 2 * kYear) return fmt::format("{:.0f} days", seconds / kDay);
  return seconds < 1e6 * kYear ? fmt::format("{:.3g} years", seconds / kYear) : "> 1e6 years";
}

/// "37 %", "0.04 %", "0 %": rounded down.
std::string share_text(double done) {
  constexpr double kDigits = 1e4;
  return done < 0.01 ? fmt::format("{:.2g} %", std::floor(100 * done * kDigits) / kDigits)
                     : fmt::format("{:.0f} %", std::floor(100 * done));
}

/// "searching 37 %, about 12 s left".
std::string progress_text(double done, double seconds) {
  std::string text = fmt::format("searching {}", share_text(done));
  // The remaining time can be estimated after a hundredth of the work, or after seconds of it, but not earlier.
  constexpr double kTelling = 0.01;
  constexpr double kLong = 3;
  if (done >= kTelling || (done > 0 && seconds > kLong)) {
    text += fmt::format(", about {} left", estimate_text(seconds * (1 - done) / done));
  }
  return text;
}

/// Calls find(progress), which Ctrl-C ends.
template <class Find>
auto search(bool quiet, Find find) {
  Progress line(quiet);
  const Interruptible interruptible;
  const Stopwatch watch;
  double share = 0;
  const detail::SearchProgress report_progress = [&](double done) {
    share = std::clamp(done, share, 1.0);
    line.say(progress_text(share, watch.seconds()));
    return interrupts == 0;
  };
  try {
    return find(report_progress);
  } catch (const Error& error) {
    if (error.code() != Code::interrupted) throw;
    throw Error(Code::interrupted, fmt::format("interrupted after {} of the search", share_text(share)));
  }
}

Found find_one(const Common& common, const SubsetSumOptions& asked, const SubsetProblem& problem,
               const Policy& policy) {
  upsweep::SubsetSumOptions options = library_options(asked, problem);
  SubsetSum one = search(common.quiet, [&](const detail::SearchProgress& report_progress) {
    options.progress = report_progress;
    if (!common.on_gpu()) return find_subset(policy, problem.items.values, problem.target, options);
    return find_subset(gpu::Policy{}.with_rung(common.rung), problem.items.values, problem.target, options);
  });
  Found found{.reachable = one.reachable, .sum = one.sum, .rung = std::string(one.rung)};
  if (one.reachable) found.solutions.push_back(std::move(one.indices));
  return found;
}

Found find_all(const Common& common, const SubsetSumOptions& asked, const SubsetProblem& problem,
               const Policy& policy) {
  SubsetSums sums = search(common.quiet, [&](const detail::SearchProgress& report_progress) {
    return find_subsets(policy, problem.items.values, problem.target, asked.all, report_progress);
  });
  return {.reachable = !sums.found.empty(),
          .sum = problem.target,
          .solutions = std::move(sums.found),
          .rung = std::string(sums.rung)};
}

/// Calls do_it(). Reports an error about the items' sum in the file's terms.
template <class DoIt>
auto telling_overflow(const SubsetSumOptions& asked, const SubsetProblem& problem, DoIt do_it) {
  try {
    return do_it();
  } catch (const Error& error) {
    if (error.code() != Code::overflow || error.index() < 0) throw;
    const std::int64_t item = problem.items.values[static_cast<std::size_t>(error.index())];
    throw Error(Code::overflow, fmt::format("{}: the items up to the target add up to more than {}, the supported "
                                            "maximum: {} at position {} exceeds it",
                                            asked.input, problem.text(kMost), problem.text(item), error.index()));
  }
}

// ------------------------------------------------------------------------------------------------------------ labels

template <class T>
T element(const ColumnData& data, std::int64_t row) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data.values) + row * static_cast<std::int64_t>(sizeof value),
              sizeof value);
  return value;
}

bool bit(const void* bits, std::int64_t at) {
  return (static_cast<const std::uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

using Label = std::optional<std::string>;  // empty: NULL

Label label_of(const Field& field, const ColumnData& data, std::int64_t row) {
  if (data.validity != nullptr && !bit(data.validity, data.offset + row)) return std::nullopt;
  const auto text_of = [&](Int128 exact) {
    Cell cell{.exact = exact};
    if (field.kind == ValueKind::text) cell.word = (*data.dictionary)[static_cast<std::size_t>(exact)];
    return upsweep::text(field, cell);
  };
  if (field.storage == Storage::bit) return text_of(bit(data.values, data.offset + row) ? 1 : 0);
  if (field.storage == Storage::int128) return text_of(element<Int128>(data, row));
  return visit_type(element_type(field.storage), [&]<class T>(std::type_identity<T>) {
    const T value = element<T>(data, row);
    if constexpr (std::is_floating_point_v<T>) {
      return to_text(&value, type_of<T>(), {});
    } else {
      return text_of(value);
    }
  });
}

/// The labels that --id assigns to rows, by their positions.
class Labels {
 public:
  /// In CSV a label is the text of the file, as 007 is not 7. Throws as open_table() does; unknown_column,
  /// unsupported_type.
  Labels(std::string path, const std::string& column, const io::CsvOptions& csv)
      : path_(std::move(path)), table_(io::open_table(path_, io::as_written(csv), 1)) {
    const std::vector<Field>& fields = table_->fields();
    const auto is_it = [&](const Field& field) { return field.name == column; };
    const auto found = std::find_if(fields.begin(), fields.end(), is_it);
    const auto refuse = [&](Code code, std::string_view why) {
      throw Error(code, fmt::format("--id '{}': {} {}", printable(column), path_, why));
    };
    if (found == fields.end()) {
      refuse(Code::unknown_column, fmt::format("has no such column; its columns are: {}", names_of_columns(fields)));
    }
    if (std::any_of(found + 1, fields.end(), is_it)) refuse(Code::unknown_column, "has more than one such column");
    if (!found->unsupported.empty()) {
      refuse(Code::unsupported_type,
             fmt::format("has it as {}, which is not supported", printable(found->unsupported)));
    }
    column_ = static_cast<int>(found - fields.begin());
  }

  [[nodiscard]] const Field& field() const { return table_->fields()[static_cast<std::size_t>(column_)]; }

  /// Reads the labels that the solutions need. Throws unequal_lengths if the table does not have `rows` rows.
  void read(const std::vector<Solution>& solutions, std::int64_t rows) {
    for (const Solution& one : solutions) positions_.insert(positions_.end(), one.begin(), one.end());
    std::sort(positions_.begin(), positions_.end());
    positions_.erase(std::unique(positions_.begin(), positions_.end()), positions_.end());
    labels_.reserve(positions_.size());
    std::int64_t seen = 0;
    for (int row_group = 0; row_group < table_->row_groups() && !is_done(); ++row_group)
      seen = read_row_group(row_group, seen);
    if (is_done() && (table_->rows() < 0 || table_->rows() == rows)) return;
    throw Error(Code::unequal_lengths,
                fmt::format("{}: has {} items and {} labels; it changed while it was read, so try again", path_, rows,
                            std::max(seen, table_->rows())));
  }

  [[nodiscard]] const Label& at(std::int64_t position) const {
    const auto found = std::lower_bound(positions_.begin(), positions_.end(), position);
    return labels_[static_cast<std::size_t>(found - positions_.begin())];
  }

 private:
  [[nodiscard]] bool is_done() const { return labels_.size() == positions_.size(); }
  [[nodiscard]] std::int64_t next() const { return positions_[labels_.size()]; }

  // Returns the number of the row after the row group, or after the last row that was read.
  std::int64_t read_row_group(int row_group, std::int64_t begin) {
    const std::int64_t rows = table_->rows(row_group);
    if (rows >= 0 && next() >= begin + rows) return begin + rows;
    const auto reader = table_->open(row_group, {column_});
    Batch batch;
    while (!is_done() && reader->next(batch)) {
      for (; !is_done() && next() < begin + batch.rows;) {
        labels_.push_back(label_of(field(), batch.columns[0], next() - begin));
      }
      begin += batch.rows;
    }
    return begin;
  }

  std::string path_;
  std::unique_ptr<Table> table_;
  int column_ = 0;
  std::vector<std::int64_t> positions_;  // ascending
  std::vector<Label> labels_;            // of the first positions, as far as they are read
};

// ---------------------------------------------------------------------------------------------------------- the plan

/// Lines of 80 columns, all indented.
std::string paragraph(const std::string& text, std::size_t indent) {
  return wrapped(std::string(indent, ' ') + text, indent) + "\n";
}

/// "1,000 items", "1 item".
std::string items_text(std::int64_t count) { return grouped(count) + (count == 1 ? " item" : " items"); }

SubsetSumPlan plan_for(const Common& common, const SubsetSumOptions& asked, const SubsetProblem& problem,
                       const Policy& policy) {
  if (asked.all > 0) return plan_subsets(policy, problem.items.values, problem.target);
  const upsweep::SubsetSumOptions options = library_options(asked, problem);
  if (!common.on_gpu()) return plan_subset(policy, problem.items.values, problem.target, options);
  return plan_subset(gpu::Policy{}.with_rung(common.rung), problem.items.values, problem.target, options);
}

std::string choice_text(const Common& common, const SubsetSumPlan& plan) {
  if (plan.rung.empty()) return "no strategy can be used";
  if (common.rung == plan.rung) return fmt::format("chosen: {}, as --rung requests it", plan.rung);
  return fmt::format("chosen: {}, the fastest strategy that can be used", plan.rung);
}

std::string plan_text(const Common& common, const SubsetProblem& problem, const SubsetSumPlan& plan) {
  std::string text =
      fmt::format("items   {}\ntarget  {}\n", grouped(std::ssize(problem.items.values)), problem.text(problem.target));
  if (problem.items.scale > 0) text += fmt::format("unit    {}: the numbers below count this unit\n", problem.text(1));
  text += "reduced\n";
  for (const std::string& step : plan.steps) text += paragraph(step, 2);
  if (plan.rung == "none") return text + "  nothing is left to search for\n\n";
  text += paragraph(fmt::format("left: {} up to {}, target {}{}{}", items_text(plan.items), grouped(plan.largest),
                                grouped(plan.target),
                                plan.divisor > 1 ? fmt::format(", all divided by {}", grouped(plan.divisor)) : "",
                                plan.complement ? ", to find the items to omit" : ""),
                    2);
  std::size_t width = 0;
  for (const SubsetSumWay& way : plan.ways) width = std::max(width, way.rung.size() + 2);
  const FigureTable table({{"est. time", 12}, {"est. memory", 13, 1}}, 0, width);
  text += table.header("ways");
  for (const SubsetSumWay& way : plan.ways) {
    text += table.line(fmt::format("{} {}", way.rung == plan.rung ? '*' : ' ', way.rung),
                       {estimate_text(way.seconds), bytes_text(way.bytes)});
    if (!way.reason.empty()) text += paragraph(way.reason, 4);
  }
  if (plan.tries_likely) {
    text += paragraph("first: likely solutions, with most items chosen greedily and some dozens searched", 0);
  }
  return text + paragraph(choice_text(common, plan), 0) + "\n";
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(value > 0 ? "Infinity" : "NaN"); }

Json plan_json(const SubsetProblem& problem, const SubsetSumPlan& plan) {
  Json ways = Json::array();
  for (const SubsetSumWay& way : plan.ways) {
    ways.push_back({{"rung", way.rung},
                    {"seconds", number_json(way.seconds)},
                    {"bytes", number_json(way.bytes)},
                    {"reason", way.reason.empty() ? Json() : Json(way.reason)}});
  }
  return {{"items", plan.items},
          {"divisor", plan.divisor},
          {"target", plan.target},
          {"largest", plan.largest},
          {"scale", problem.items.scale},
          {"complement", plan.complement},
          {"tries_likely", plan.tries_likely},
          {"steps", plan.steps},
          {"ways", std::move(ways)},
          {"rung", plan.rung}};
}

// -------------------------------------------------------------------------------------------------------- the answer

Json items_json(const SubsetProblem& problem, const Solution& solution) {
  Json items = Json::array();
  for (const std::int64_t i : solution) {
    items.push_back(problem.json(problem.items.values[static_cast<std::size_t>(i)]));
  }
  return items;
}

Json ids_json(const Labels& labels, const Solution& solution) {
  Json ids = Json::array();
  for (const std::int64_t i : solution) ids.push_back(labels.at(i) ? Json(*labels.at(i)) : Json());
  return ids;
}

Json solution_json(const SubsetProblem& problem, const Solution& solution, const Labels* labels) {
  Json json{{"items", items_json(problem, solution)}, {"indices", solution}};
  if (labels != nullptr) json["ids"] = ids_json(*labels, solution);
  return json;
}

/// Text that may be longer than memory, printed while it grows.
class LongText {
 public:
  void add(std::string_view text) {
    constexpr std::size_t kChunk = 1 << 20;
    text_ += text;
    if (text_.size() >= kChunk) flush();
  }
  void flush() { print(std::exchange(text_, {})); }

 private:
  std::string text_;
};

/// The answer as a table, with a row for each item of each solution: the number of the solution (with --all), the
/// position, the item, and its label (with --id). A .npy file has the positions of one solution.
class ItemTable {
 public:
  /// Opens the file before the search, so that a name that cannot be written is reported first.
  ItemTable(const SubsetSumOptions& options, io::ResultFormat format, const SubsetProblem& problem,
            const Labels* labels)
      : problem_(problem), labels_(labels), has_numbers_(options.all > 0), has_items_(io::is_table(format)) {
    if (!has_items_ && (has_numbers_ || labels != nullptr)) {
      refuse(
          "{}: a .npy file has only the positions of one solution: omit {}, or write .csv, .parquet, .arrow or .json",
          *options.output, has_numbers_ ? "--all" : "--id");
    }
    std::vector<Field> columns;
    if (has_numbers_) columns.push_back({.name = "solution"});
    columns.push_back({.name = "position"});
    const int scale = problem.items.scale;
    if (has_items_) {
      columns.push_back({.name = "item", .kind = scale > 0 ? ValueKind::decimal : ValueKind::integer, .scale = scale});
    }
    if (labels != nullptr) {
      columns.push_back({.name = labels->field().name, .kind = ValueKind::text, .storage = Storage::int32});
    }
    for (const Field& column : columns) kinds_.push_back(column.kind);
    writer_ = io::open_answer(*options.output, format, std::move(columns), cell_text(format));
  }

  void write(const std::vector<Solution>& solutions) {
    begin();
    std::int64_t number = 0;
    for (const Solution& one : solutions) {
      ++number;
      for (const std::int64_t position : one) add(number, position);
    }
    flush();
  }

  [[nodiscard]] io::AnswerWriter& writer() { return *writer_; }
  [[nodiscard]] std::int64_t rows() const { return written_; }

 private:
  void begin() {
    rows_ = {};
    for (const ValueKind kind : kinds_) rows_.columns.push_back({.kind = kind});
    count_ = 0;
  }

  void add(std::int64_t number, std::int64_t position) {
    auto column = rows_.columns.begin();
    if (has_numbers_) (column++)->exact.push_back(number);
    (column++)->exact.push_back(position);
    if (has_items_) (column++)->exact.push_back(problem_.items.values[static_cast<std::size_t>(position)]);
    if (labels_ != nullptr) {
      const Label& label = labels_->at(position);
      if (label) column->letters.insert(column->letters.end(), label->begin(), label->end());
      column->ends.push_back(std::ssize(column->letters));
      column->nulls.push_back(label ? 0 : 1);
    }
    if (++count_ == kBatchRows) flush();
  }

  void flush() {
    if (count_ == 0) return;
    writer_->write(rows_);
    written_ += count_;
    begin();
  }

  const SubsetProblem& problem_;
  const Labels* labels_;
  bool has_numbers_;
  bool has_items_;
  std::vector<ValueKind> kinds_;
  std::unique_ptr<io::AnswerWriter> writer_;
  AnswerRows rows_;
  std::int64_t count_ = 0;
  std::int64_t written_ = 0;
};

/// Prints the answer as JSON. With `table` the items are in the table, and only its rows are counted.
void print_as_json(const SubsetSumOptions& options, const SubsetProblem& problem, const Found& found,
                   const Labels* labels, const std::optional<SubsetSumPlan>& plan, const ItemTable* table) {
  Json result{{"reachable", found.reachable}};
  if (table == nullptr)
    result.update(solution_json(problem, found.solutions.empty() ? Solution() : found.solutions[0], labels));
  result["sum"] = found.reachable ? problem.json(found.sum) : Json();
  if (plan) result["plan"] = plan_json(problem, *plan);
  result["rung"] = found.rung;
  result["seconds"] = found.seconds;
  if (table != nullptr) {
    result["count"] = table->rows();
    result["output"] = *options.output;
  }
  if (table != nullptr || options.all == 0) return print_json(result);
  add_remarks(result);
  LongText text;
  std::string_view between = ",\"solutions\":[";
  std::string head = json_text(result);
  head.pop_back();  // the closing brace, for one more entry
  text.add(head);
  for (const Solution& one : found.solutions) {
    text.add(between);
    text.add(json_text(solution_json(problem, one, labels)));
    between = ",";
  }
  text.add(found.solutions.empty() ? ",\"solutions\":[]}\n" : "]}\n");
  text.flush();
}

/// ", 0.06 less than the target 1234.56"; empty if only the target itself was requested.
std::string distance_text(const SubsetSumOptions& options, const SubsetProblem& problem, std::int64_t sum) {
  if (!options.closest && !options.tolerance) return "";
  if (sum == problem.target) return ", the target itself";
  const bool less = sum < problem.target;
  return fmt::format(", {} {} than the target {}", problem.text(less ? problem.target - sum : sum - problem.target),
                     less ? "less" : "more", problem.text(problem.target));
}

std::string sought_text(const SubsetSumOptions& options, const SubsetProblem& problem) {
  const std::string target = problem.text(problem.target);
  return options.tolerance ? fmt::format("a sum within {} of {}", problem.text(problem.tolerance), target) : target;
}

std::string headline_of_all(const SubsetSumOptions& options, const SubsetProblem& problem, const Found& found) {
  const std::int64_t count = std::ssize(found.solutions);
  const std::string items = items_text(std::ssize(problem.items.values));
  const std::string sum = problem.text(found.sum);
  // If the requested number of solutions was found, there may be more.
  const std::string_view order = count == options.all ? "first" : "only";
  if (count == 1) return fmt::format("yes: the {} subset of the {} that adds up to {}", order, items, sum);
  return fmt::format("yes: the {} {} subsets of the {} that add up to {}", order, grouped(count), items, sum);
}

/// The first line of the answer.
std::string headline(const SubsetSumOptions& options, const SubsetProblem& problem, const Found& found) {
  const std::int64_t n = std::ssize(problem.items.values);
  if (!found.reachable) {
    return fmt::format("no: no subset of the {} adds up to {}", items_text(n), sought_text(options, problem));
  }
  if (options.all > 0) return headline_of_all(options, problem, found);
  const std::string sum = problem.text(found.sum) + distance_text(options, problem, found.sum);
  if (options.decide) return fmt::format("yes: some of the {} add up to {}", items_text(n), sum);
  const std::int64_t chosen = std::ssize(found.solutions[0]);
  if (chosen == 0) return fmt::format("yes: taking none of the {} adds up to {}", items_text(n), sum);
  return fmt::format("yes: {} of {} {} up to {}", grouped(chosen), items_text(n), chosen == 1 ? "adds" : "add", sum);
}

/// Positions, items and labels side by side, numbers right-aligned.
std::string table_text(const SubsetProblem& problem, const Solution& solution, const Labels* labels) {
  if (solution.empty()) return "";
  std::vector<std::string> items;
  std::size_t width = std::string_view("item").size();
  for (const std::int64_t i : solution) {
    items.push_back(problem.text(problem.items.values[static_cast<std::size_t>(i)]));
    width = std::max(width, items.back().size());
  }
  const std::size_t before = 17 + width;  // columns in front of the label
  const std::size_t label_width = std::max<std::size_t>(table_width(), before + 12) - before;
  std::string text = fmt::format("     position  {:>{}}{}\n", "item", width,
                                 labels != nullptr ? "  " + printable(labels->field().name) : "");
  for (std::size_t i = 0; i < solution.size(); ++i) {
    text += fmt::format("{:>13}  {:>{}}", solution[i], items[i], width);
    if (labels != nullptr && labels->at(solution[i])) {
      text += "  " + shortened(printable(*labels->at(solution[i])), label_width);
    }
    text += '\n';
  }
  return text;
}

void print_as_text(const SubsetSumOptions& options, const SubsetProblem& problem, const Found& found,
                   const Labels* labels) {
  LongText text;
  text.add(headline(options, problem, found) + "\n");
  for (std::size_t i = 0; i < found.solutions.size() && !options.decide; ++i) {
    const Solution& one = found.solutions[i];
    if (options.all > 0) text.add(fmt::format("solution {}: {}\n", i + 1, items_text(std::ssize(one))));
    text.add(table_text(problem, one, labels));
  }
  text.flush();
}

}  // namespace

int run_subset_sum(const Common& common, const SubsetSumOptions& asked) {
  SubsetSumOptions options = asked;
  const io::ResultFormat format = settle_output(common, options, false, "text", io::ResultFormat::csv);
  const Policy policy = common.policy();  // refuses a device that is not there
  check_options(common, options);
  const SubsetProblem problem = read_problem(options.input, options.target, options.tolerance, common.csv);
  take_remarks(problem.items.remarks, common.shows_remarks());
  std::optional<Labels> labels;
  if (options.id) labels.emplace(io::table_of(options.input), *options.id, common.csv);
  const Labels* const names = labels ? &*labels : nullptr;
  std::optional<ItemTable> table;
  if (options.output) table.emplace(options, format, problem, names);
  std::optional<SubsetSumPlan> plan;
  if (options.explain) {
    plan = telling_overflow(options, problem, [&] { return plan_for(common, options, problem, policy); });
    if (!common.json) print(plan_text(common, problem, *plan));
  }
  const Stopwatch watch;
  Found found = telling_overflow(options, problem, [&] {
    return options.all > 0 ? find_all(common, options, problem, policy) : find_one(common, options, problem, policy);
  });
  found.seconds = watch.seconds();
  if (labels) labels->read(found.solutions, std::ssize(problem.items.values));
  if (table) table->write(found.solutions);
  name_and_report(table ? &table->writer() : nullptr, [&] {
    if (common.json) return print_as_json(options, problem, found, names, plan, table ? &*table : nullptr);
    if (!table) print_as_text(options, problem, found, names);
    if (common.quiet) return;
    if (table && options.output != "-") {
      print(fmt::format("{}\noutput {}\n", headline(options, problem, found), printable(*options.output)));
    }
    remark(fmt::format("searched {} in {} by {}", items_text(std::ssize(problem.items.values)), duration(found.seconds),
                       found.rung));
  });
  return 0;
}

}  // namespace upsweep::command
