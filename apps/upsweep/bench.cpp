// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/bench.cpp: `upsweep bench`: climbs every study cell by cell and writes one file of results.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench_compare.hpp"
#include "climb_options.hpp"
#include "commands.hpp"
#include "io/output_file.hpp"
#include "io/posix.hpp"
#include "ladder_report.hpp"
#include "output.hpp"
#include "upsweep/climb.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

// ---------------------------------------------------------------------------------------------------------- the cells

constexpr std::int64_t kQuickLengths[] = {1 << 12, 1 << 16, 1 << 20};  // enough lengths for --compare to judge a rung
constexpr double kQuickRounds = 0.01;
constexpr double kQuickMost = 0.5;

/// One climb: the work that is lost when the command is stopped.
struct Cell {
  const ProblemInfo* problem;
  const Study* study;
  ClimbRequest request;
  std::string name;  ///< "scan/sizes/int32/1024"

  /// The expected time in arbitrary units: filling, verifying and timing are proportional to the length.
  [[nodiscard]] double weight() const {
    const double n = request.sizes.empty() ? 1e8 : static_cast<double>(request.sizes[0]);
    return static_cast<double>(request.threads.size()) * (1 + n / 1e7);
  }
};

/// One, two, four … and the number of cores.
std::vector<int> doubling_threads() {
  std::vector<int> counts;
  for (int count = 1; count < machine().threads; count *= 2) counts.push_back(count);
  counts.push_back(machine().threads);
  return counts;
}

class BenchPlan {
 public:
  BenchPlan(const Common& common, const BenchOptions& options)
      : common_(common),
        options_(options),
        sizes_(parse_sizes(options.sizes)),
        counts_(options.threads.empty() ? doubling_threads() : parse_threads(options.threads)) {
    if (!common.rung.empty()) refuse("bench measures whole ladders; for one rung: `upsweep ladder PROBLEM --rung ID`");
    for (const ProblemInfo& info : problems()) {
      if (options.problems.empty() || std::ranges::find(options.problems, info.name) != options.problems.end()) {
        add(info);
      }
    }
  }

  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] const std::vector<int>& counts() const { return counts_; }
  [[nodiscard]] bool uses_gpu() const {
    return common_.device == "cuda" || (common_.device == "auto" && !gpu::devices().empty());
  }

 private:
  void add(const ProblemInfo& info) {
    for (const Study& study : studies(info.name)) {
      if (options_.quick && &study != studies(info.name).data()) return;
      if (is_of_gpus(info, study) && !uses_gpu()) continue;
      for (const Type type : types_of(info, study)) {
        for (const std::int64_t size : sizes_of(study)) add(info, study, type, size);
      }
    }
  }

  /// Whether the study sets an option that concerns only GPUs.
  [[nodiscard]] static bool is_of_gpus(const ProblemInfo& info, const Study& study) {
    return std::ranges::any_of(study.settings, [&](const Study::Value& value) {
      return std::ranges::find(info.settings, value.setting, &SettingInfo::name)->backend == Backend::cuda;
    });
  }

  /// The types, one for each cell. A problem without types gets one arbitrary type.
  [[nodiscard]] std::vector<Type> types_of(const ProblemInfo& info, const Study& study) const {
    std::vector<Type> types(study.types.begin(), study.types.end());
    if (types.empty()) types.assign(info.usual_types.begin(), info.usual_types.end());
    if (types.empty()) types.push_back(Type::int64);
    if (options_.quick) types.resize(1);
    return types;
  }

  /// The lengths, one for each cell. 0 means the problem's usual instances.
  [[nodiscard]] std::vector<std::int64_t> sizes_of(const Study& study) const {
    if (study.sizes.empty()) return {0};
    if (!sizes_.empty()) return sizes_;
    if (!options_.quick) return {study.sizes.begin(), study.sizes.end()};
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : study.sizes) {
      if (std::ranges::find(kQuickLengths, size) != std::end(kQuickLengths)) sizes.push_back(size);
    }
    return sizes;
  }

  void add(const ProblemInfo& info, const Study& study, Type type, std::int64_t size) {
    ClimbRequest request{.problem = info.name, .max_seconds = options_.max_seconds};
    std::string name = fmt::format("{}/{}", info.name, study.name);
    for (const auto& [setting, value] : study.settings) {
      const auto known = std::ranges::find(info.settings, setting, &SettingInfo::name);
      request.settings[setting] = parse_setting(*known, std::string(value));
      name += fmt::format("/{}={}", setting, value);
    }
    if (!info.types.empty()) {
      request.types = {type};
      name += fmt::format("/{}", upsweep::name(type));
    }
    if (size > 0) {
      request.sizes = {size};
      name += fmt::format("/{}", size);
    }
    if (std::ranges::find(cells_, name, &Cell::name) != cells_.end()) return;  // a length was given twice
    request.threads = study.scales ? counts_ : std::vector<int>{most_threads(counts_)};
    if (options_.quick) {
      request.round_seconds = kQuickRounds;
      request.max_seconds = std::min(request.max_seconds, kQuickMost);
    }
    request.on_cpu = common_.device != "cuda" && !is_of_gpus(info, study);
    request.on_gpu = uses_gpu() && !study.scales;
    cells_.push_back({&info, &study, std::move(request), std::move(name)});
  }

  const Common& common_;
  const BenchOptions& options_;
  std::vector<std::int64_t> sizes_;
  std::vector<int> counts_;
  std::vector<Cell> cells_;
};

// -------------------------------------------------------------------------------------------------------- the results

/// The measurements, in a temporary file next to the results until they are complete.
class Results {
 public:
  /// Resumes from the partial results of an earlier call. Throws if these are from another machine or method.
  Results(std::string path, Json about) : path_(std::move(path)), all_(std::move(about)) {
    all_["cells"] = Json::array();
    all_["rows"] = Json::array();
    all_["groups"] = Json::array();
    all_["failures"] = Json::array();
    const io::OutputFile writable(path_, io::Writing::in_order);  // an unwritable path is reported before measuring
    if (std::filesystem::exists(partial())) {
      lock();
      resume();
    } else {
      write(partial());
    }
  }

  [[nodiscard]] bool has(const Cell& cell) const {
    const Json& cells = all_["cells"];
    return std::find(cells.begin(), cells.end(), cell.name) != cells.end();
  }
  [[nodiscard]] const Json& all() const { return all_; }
  [[nodiscard]] std::size_t resumed() const { return resumed_; }

  void add(const Cell& cell, const std::vector<Group>& groups) {
    Json climbed = climb_json(cell.problem->name, groups);
    for (const char* field : {"rows", "groups"}) {
      for (Json& one : climbed[field]) {
        Json placed{{"problem", cell.problem->name}, {"study", cell.study->name}};
        placed.update(one);
        all_[field].push_back(std::move(placed));
      }
    }
    finish(cell);
  }
  void add_failure(const Cell& cell, const Error& error) {
    all_["failures"].push_back({{"cell", cell.name},
                                {"problem", cell.problem->name},
                                {"study", cell.study->name},
                                {"code", word(error.code())},
                                {"message", error.what()}});
    finish(cell);
  }

  /// Writes the results under their final name.
  void close() {
    write(path_);
    std::filesystem::remove(partial());
  }

 private:
  [[nodiscard]] std::string partial() const { return path_ + ".partial"; }

  void finish(const Cell& cell) {
    all_["cells"].push_back(cell.name);
    write(partial());
  }

  void write(const std::string& path) {
    io::OutputFile file(path, io::Writing::in_order);
    const std::string text = json_text(all_) + "\n";
    file.write(text.data(), std::ssize(text));
    file.close();
    if (path == partial()) lock();
  }

  /// Locks the partial results until the process ends, in whatever way. Throws if another call has locked them.
  void lock() {
    io::Descriptor file(::open(partial().c_str(), O_RDONLY | O_CLOEXEC));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw Error(Code::invalid_argument,
                  fmt::format("{}: another upsweep bench is writing it; choose another -o", partial()));
    }
    lock_ = std::move(file);
  }

  void resume() {
    std::ifstream file(partial());
    Json before = Json::parse(file, nullptr, false);
    const auto has = [&](const char* field) {
      return before.is_object() && before.contains(field) && before[field].is_array();
    };
    if (!has("cells") || !has("rows") || !has("groups") || !has("failures") || !is_complete(before)) {
      throw Error(Code::malformed,
                  fmt::format("{}: not a result of upsweep bench; remove it, or choose another -o", partial()));
    }
    use_current_names(before);
    for (const char* field : {"schema", "upsweep", "machine", "method"}) {
      if (before[field] == all_[field]) continue;
      throw Error(Code::invalid_argument,
                  fmt::format("{} was started with another {}{}; resume with the same, or remove it", partial(), field,
                              differing(before[field], all_[field])));
    }
    resumed_ = before["cells"].size();
    all_ = std::move(before);
  }

  std::string path_;
  Json all_;
  std::size_t resumed_ = 0;
  io::Descriptor lock_;
};

Json about(const Common& common, const BenchOptions& options, const BenchPlan& plan) {
  Json links = Json::array();
  for (const gpu::LinkTimes& link : plan.uses_gpu() ? measure_links() : std::vector<gpu::LinkTimes>()) {
    links.push_back(link_json(link));
  }
  return {{"schema", 1},
          {"upsweep", UPSWEEP_VERSION},
          {"machine", machine_json()},
          {"links", links},
          {"method",
           {{"device", common.device},
            {"problems", options.problems},
            {"quick", options.quick},
            {"sizes", options.sizes},
            {"threads", plan.counts()},
            {"max_seconds", std::isfinite(options.max_seconds) ? Json(options.max_seconds) : Json()},
            {"clock", "steady_clock; events on a GPU"},
            {"rounds", "all rungs and a copy in turn, after one that is not counted; the median of up to 31"}}}};
}

// ------------------------------------------------------------------------------------------------------ the measuring

/// "[=====>    ] 12/240 scan/sizes/int32/1024, 3:10 left".
std::string bar_text(double share, std::size_t done, std::size_t total, double seconds, const std::string& what) {
  constexpr int kWidth = 16;
  const int filled = static_cast<int>(share * kWidth);
  std::string text = fmt::format("[{:=<{}}{:{}}] {}/{}", "", filled, "", kWidth - filled, done, total);
  if (share > 0) {
    const auto left = static_cast<std::int64_t>(std::ceil(seconds / share * (1 - share)));
    text += fmt::format(", {}:{:02} left", left / 60, left % 60);
  }
  return text + ", " + what;
}

void measure(const BenchPlan& plan, Results& results, bool quiet) {
  double total = 0;
  std::vector<const Cell*> left;
  for (const Cell& cell : plan.cells()) {
    if (results.has(cell)) continue;
    left.push_back(&cell);
    total += cell.weight();
  }
  Progress progress(quiet);
  const Stopwatch watch;
  double done = 0;
  const auto climbed = [](const Cell& cell,
                          const ClimbProgress& say) -> std::pair<std::vector<Group>, std::optional<Error>> {
    const Error no_memory(Code::out_of_memory, "not enough memory");
    try {
      return {climb(cell.request, say), std::nullopt};
    } catch (const Error& error) {
      return {{}, error};
    } catch (const std::bad_alloc&) {
      return {{}, no_memory};
    } catch (const std::length_error&) {  // of a vector
      return {{}, no_memory};
    }
  };
  for (const Cell* cell : left) {
    const auto say = [&](const std::string& what) {
      progress.say(bar_text(done / total, results.all()["cells"].size(), plan.cells().size(), watch.seconds(),
                            fmt::format("{}: {}", cell->problem->name, what)));
    };
    const auto [groups, error] = climbed(*cell, say);
    if (error) {
      results.add_failure(*cell, *error);
    } else {
      results.add(*cell, groups);
    }
    done += cell->weight();
  }
}

std::string summary(const Json& all, const std::string& path, std::size_t resumed) {
  std::map<std::string, int> counts;
  for (const Json& row : all["rows"]) ++counts[row["status"].get<std::string>()];
  std::string text = fmt::format("{}: {} measurements, {} rungs skipped, {} wrong\n", path, counts["verified"],
                                 counts["skipped"], counts["failed"]);
  if (resumed > 0) text += fmt::format("  {} of {} cells are from an earlier run\n", resumed, all["cells"].size());
  for (const Json& row : all["rows"]) {
    if (row["status"] != "failed") continue;
    text += wrapped(fmt::format("  {} {}: {}", row["problem"].get<std::string>(), row["rung"].get<std::string>(),
                                printable(row["reason"].get<std::string>())),
                    4) +
            "\n";
  }
  for (const Json& failure : all["failures"]) {
    text += wrapped(fmt::format("  {} failed: {}", failure["cell"].get<std::string>(),
                                printable(failure["message"].get<std::string>())),
                    4) +
            "\n";
  }
  return text;
}

int run_comparison(const Common& common, const BenchOptions& options) {
  if (!options.problems.empty() || options.quick || !options.sizes.empty() || !options.threads.empty()) {
    refuse("--compare measures nothing; omit the problems and the other options");
  }
  const Json before = load_results(options.compare[0]);
  const Comparison found = compare(before, load_results(options.compare[1]));
  if (common.json) {
    print_json(comparison_json(found));
  } else {
    print(comparison_text(found));
  }
  return found.broken.empty() ? 0 : 1;
}

}  // namespace

int run_bench(const Common& common, const BenchOptions& options) {
  if (!options.compare.empty()) return run_comparison(common, options);
  if (!options.output) refuse("-o RESULTS.json is needed, or --compare BEFORE.json AFTER.json");
  (void)common.policy();  // refuses a device that is not there
  for (const std::string& name : options.problems) (void)problem(name);
  if (*options.output == "-") refuse("-o needs a file, as an interrupted measurement resumes from it");
  const BenchPlan plan(common, options);
  Results results(*options.output, about(common, options, plan));
  set_interrupt_hint("; run the same command again to resume");
  measure(plan, results, common.quiet);
  set_interrupt_hint("");
  results.close();
  const Json& all = results.all();
  if (common.json) {
    print_json(all);
  } else if (!common.quiet) {
    print(summary(all, *options.output, results.resumed()));
  }
  const auto is_wrong = [](const Json& row) { return row["status"] == "failed"; };
  return !all["failures"].empty() || std::any_of(all["rows"].begin(), all["rows"].end(), is_wrong) ? 1 : 0;
}

}  // namespace upsweep::command
