// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ladder.cpp: `upsweep ladder`: builds the request from options and columns, and climbs the ladder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "climb_options.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "io/first_fault.hpp"
#include "io/number_lines.hpp"
#include "ladder_report.hpp"
#include "output.hpp"
#include "upsweep/climb.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

// ---------------------------------------------------------------------------------------------------------- options

/// The given value of a setting, or an empty string.
std::string given(const LadderOptions& options, const SettingInfo& info) {
  const auto found = options.settings.find(std::string(info.name));
  return found == options.settings.end() ? "" : found->second;
}

bool has_setting(const ProblemInfo& problem, std::string_view name) {
  return std::ranges::find(problem.settings, name, &SettingInfo::name) != problem.settings.end();
}

/// Throws if an option does not belong to the problem or the device.
void require_settings(const ProblemInfo& problem, const Common& common, const LadderOptions& options) {
  for (const ProblemInfo& other : problems()) {
    for (const SettingInfo& info : other.settings) {
      if (given(options, info).empty()) continue;
      if (!has_setting(problem, info.name)) refuse("--{} is an option of the {} ladder", info.name, other.name);
      if (info.backend == Backend::cuda && (common.device == "cpu" || common.rung.starts_with("cpu."))) {
        refuse("--{} applies only to GPUs: it does not affect the CPU's rungs", info.name);
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ columns

/// Allocates elements on huge pages and aligned, like generated ones.
template <class T>
std::pair<T*, std::shared_ptr<const void>> allocate(std::int64_t count) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  void* const memory = std::aligned_alloc(kPage, (bytes / kPage + 1) * kPage);
  if (memory == nullptr) throw std::bad_alloc();
  return {static_cast<T*>(memory), std::shared_ptr<const void>(memory, [](void* freed) { std::free(freed); })};
}

/// Loads the whole column unchanged.
Column load(const std::string& source, int threads, io::ColumnInfo& info) {
  const auto reader = io::open_column(source, threads);
  info = reader->info();
  const io::Chunk all = reader->next(std::numeric_limits<std::int64_t>::max());
  const std::int64_t bytes = all.count * size_of(info.type);
  auto [memory, owner] = allocate<std::byte>(bytes);
  if (bytes > 0) std::memcpy(memory, all.data, static_cast<std::size_t>(bytes));
  return {.name = info.name, .type = info.type, .count = all.count, .data = std::move(owner)};
}

/// Divides an element by the unit. Throws overflow, and unsupported_type if there is a remainder.
template <class T, class In>
T converted(In element, std::int64_t unit, const io::ColumnInfo& info, const InputInfo& input, std::int64_t index) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(element) / static_cast<T>(unit);
  } else {
    if (!std::in_range<T>(element)) {
      throw Error(Code::overflow, fmt::format("{}: {} does not fit {}", info.name, element, name(type_of<T>())), index);
    }
    const auto value = static_cast<std::int64_t>(element);
    if (value % unit == 0) return static_cast<T>(value / unit);
    throw Error(Code::unsupported_type,
                fmt::format("{}: {} is not a whole number, as {} must be", info.name,
                            io::format_decimal(value, info.scale), input.name),
                index);
  }
}

/// Loads the column as T. Throws unsupported_type, and overflow for a value that T does not hold.
template <class T>
Column load_as(const std::string& source, int threads, const InputInfo& input, std::string_view problem) {
  io::ColumnInfo info;
  const Column column = load(source, threads, info);
  if (is_float(info.type) && std::is_integral_v<T>) {
    throw Error(Code::unsupported_type,
                fmt::format("{} has {} elements: {} needs integers or decimals", info.name, name(info.type), problem));
  }
  const bool divides = input.whole && info.meaning == io::Meaning::decimal;
  std::int64_t unit = 1;
  if (divides) (void)io::scale_up(unit, info.scale);  // at most 18 digits
  auto [values, owner] = allocate<T>(column.count);
  visit_type(info.type, [&, to = values]<class In>(std::type_identity<In>) {
    if constexpr (std::is_integral_v<In> || std::is_floating_point_v<T>) {
      const auto* const from = static_cast<const In*>(column.data.get());
      for (std::int64_t i = 0; i < column.count; ++i) to[i] = converted<T>(from[i], unit, info, input, i);
    }
  });
  return {.name = info.name, .type = type_of<T>(), .count = column.count, .data = std::move(owner)};
}

Column load_numbers(const std::string& source) {
  const io::Numbers numbers = io::read_numbers(source);
  const auto count = std::ssize(numbers.values);
  auto [values, owner] = allocate<std::int64_t>(count);
  std::copy(numbers.values.begin(), numbers.values.end(), values);
  return {.name = source, .type = Type::int64, .count = count, .data = std::move(owner), .scale = numbers.scale};
}

std::vector<Column> load_all(const std::vector<std::string>& sources, const ProblemInfo& problem, int threads) {
  if (sources.empty()) return {};
  if (sources.size() != problem.inputs.size()) {
    std::vector<std::string_view> names;
    for (const InputInfo& input : problem.inputs) names.push_back(input.name);
    refuse("--input of the {} ladder needs {}: {}", problem.name,
           names.size() == 1 ? "one column" : fmt::format("{} columns", names.size()), fmt::join(names, " "));
  }
  std::vector<Column> columns;
  io::ColumnInfo info;
  io::FirstFault faults;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const InputInfo& input = problem.inputs[i];
    faults.attempt(sources[i], [&] {
      if (input.positive) {
        columns.push_back(load_numbers(sources[i]));
      } else if (input.type) {
        visit_type(*input.type, [&]<class T>(std::type_identity<T>) {
          columns.push_back(load_as<T>(sources[i], threads, input, problem.name));
        });
      } else {
        columns.push_back(load(sources[i], threads, info));
      }
    });
  }
  faults.rethrow();
  return columns;
}

// -------------------------------------------------------------------------------------------------------- the request

ClimbRequest request_of(const Common& common, const LadderOptions& options, const ProblemInfo& problem,
                        std::vector<int> threads) {
  ClimbRequest request{.problem = problem.name, .rung = common.rung, .max_seconds = options.max_seconds};
  request.sizes = parse_sizes(options.sizes);
  request.types = parse_types(options.types, problem);
  bool needs_gpu = false;
  for (const SettingInfo& info : problem.settings) {
    const std::string text = given(options, info);
    if (text.empty()) continue;
    request.settings[info.name] = parse_setting(info, text);
    needs_gpu = needs_gpu || info.backend == Backend::cuda;
  }
  request.input = load_all(options.input, problem, most_threads(threads));
  request.threads = std::move(threads);
  request.guest = options.guest.value_or("");
  request.on_cpu = common.device != "cuda" && !needs_gpu;
  request.on_gpu = common.device == "cuda" || common.rung.starts_with("cuda.") || needs_gpu ||
                   (common.device == "auto" && !gpu::devices().empty());
  return request;
}

}  // namespace

int run_ladder(const Common& common, const LadderOptions& options) {
  // Refuses a device that is not there. To ask for devices starts the driver, and a process that is copied afterwards
  // cannot use a GPU. climb() tries a custom rung in such a copy, and refuses the device itself.
  if (!options.guest || common.device != "cuda") (void)common.policy();
  std::vector<int> threads = parse_threads(options.threads);
  if (options.problem.empty()) {
    if (!common.rung.empty()) refuse("--rung needs the PROBLEM whose rung it is");
    if (options.guest) refuse("--with needs the PROBLEM whose rung it is");
    if (common.json) {
      print_json(ladders_json());
    } else {
      print(ladders_text());
    }
    return 0;
  }
  const ProblemInfo& info = problem(options.problem);
  if (!options.input.empty() && !(options.sizes.empty() && options.types.empty())) {
    refuse("--input sets length and type: omit --sizes and --types");
  }
  require_settings(info, common, options);
  if (options.guest) keep_standard_output();
  std::vector<Group> groups;
  {
    Progress progress(common.quiet);
    groups = climb(request_of(common, options, info, std::move(threads)),
                   [&](const std::string& what) { progress.say(what); });
  }
  if (common.json) {
    print_json(climb_json(info.name, groups));
  } else {
    print(climb_text(groups));
    if (!common.quiet && omits_figures(groups)) {
      remark("figures are omitted to fit the terminal; --json prints them all");
    }
  }
  return has_failed(groups) ? 1 : 0;
}

}  // namespace upsweep::command
