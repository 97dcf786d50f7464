// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ladder_report.cpp: prints a table for every group of rungs, or for the groups of several counts of
// threads, and every figure as JSON.
#include "ladder_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "output.hpp"
#include "text_table.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::command {
namespace {

bool is_timed(const Row& row) { return row.status == RowStatus::verified; }

double bytes_per_second(const Row& row) { return row.median_s > 0 ? row.bytes / row.median_s : 0; }

double fraction(const Row& row, double limit) { return limit > 0 ? bytes_per_second(row) / limit : 0; }

/// An instance with every count of threads, in ascending order.
using Counts = std::span<const Group>;

/// Collects the groups of the same instance, which follow each other with ascending counts of threads.
std::vector<Counts> by_instance(const std::vector<Group>& groups) {
  std::vector<Counts> all;
  for (auto first = groups.begin(); first != groups.end();) {
    const auto last =
        std::adjacent_find(first, groups.end(), [](const Group& a, const Group& b) { return a.threads >= b.threads; });
    const auto end = last == groups.end() ? last : last + 1;
    all.emplace_back(first, end);
    first = end;
  }
  return all;
}

/// Whether the row was timed together with a copy on the same number of threads. A single group is compared as it is.
bool is_beside_its_copy(Counts counts, const Group& group, const Row& row) {
  return counts.size() == 1 || row.threads == group.threads;
}

/// "step", "library" or "guest".
std::string_view kind_of(const RungInfo& rung) {
  if (rung.id.starts_with("guest.")) return "guest";
  return rung.kind == Kind::library ? "library" : "step";
}

/// The status of a row that was timed.
std::string_view mark_of(const RungInfo& rung) { return kind_of(rung) == "step" ? "verified" : kind_of(rung); }

// ------------------------------------------------------------------------------------------------------------- text

/// Whether any row has this figure.
template <class T>
bool any_has(const Group& group, std::optional<T> Row::* figure) {
  return std::any_of(group.rows.begin(), group.rows.end(), [&](const Row& row) { return (row.*figure).has_value(); });
}

/// The bytes that a rung moves in a second, or the work that it does.
std::string rate_text(const Group& group, const Row& row) {
  if (group.work_unit.empty()) return rate(bytes_per_second(row));
  return row.bytes > 0 ? fmt::format("{:.1e}", group.work / row.median_s) : "decides";
}

std::string times_text(double factor) {
  if (factor < 100) return fmt::format("{:.2f}x", factor);
  return fmt::format("{:.0f}x", factor);
}

/// "  cpu.serial", as it is printed.
std::string name_of(const RungInfo& rung) { return "  " + std::string(rung.id); }

/// The figures of a rung that was timed, or of its parts if it copies host memory to a GPU.
FigureTable figures_of(const Group& group, bool is_staged) {
  std::size_t longest = 0;
  for (const Row& row : group.rows) longest = std::max(longest, width_of(name_of(row.rung)));
  std::vector<FigureTable::Column> columns;
  if (is_staged) {
    columns = {{"total", 10}, {"transfer", 12, 1}, {"kernel+sum", 12, 2}};
  } else {
    columns = {{"time", 8}};
    if (group.limit_bytes > 0) {
      columns.push_back({group.work_unit.empty() ? "moved" : std::string(group.work_unit) + "/s", 11, 4});
      columns.push_back({group.reads_only ? "of read" : "of copy", 9, 2});
    }
    columns.push_back({"speedup", 9, 1});
    if (any_has(group, &Row::checked_s)) columns.push_back({"checked", 8, 5});
  }
  columns.push_back({"", 10, 3, true});
  return {std::move(columns), group.device.empty() ? 25U : 28U, longest};
}

std::string row_text(const Group& group, const Row& row) {
  const FigureTable table = figures_of(group, row.staged.has_value());
  if (!is_timed(row)) {
    return entry(name_of(row.rung), table.name_width(), fmt::format("{}: {}", word(row.status), row.reason));
  }
  std::vector<std::string> cells;
  if (row.staged) {
    cells = {duration(row.staged->total_s), duration(row.staged->transfer_s), duration(row.staged->kernel_s)};
  } else {
    cells = {duration(row.median_s)};
    if (group.limit_bytes > 0) {
      const double limit = group.reads_only ? group.read_bytes_per_s : group.copy_bytes_per_s;
      cells.push_back(rate_text(group, row));
      cells.push_back(row.bytes > 0 ? fmt::format("{:.2f}", fraction(row, limit)) : "");
    }
    cells.push_back(times_text(group.first_s / row.median_s));
    if (any_has(group, &Row::checked_s))
      cells.push_back(row.checked_s ? times_text(*row.checked_s / row.median_s) : "");
  }
  cells.emplace_back(mark_of(row.rung));
  return table.line(name_of(row.rung), cells);
}

std::string header(const Group& group) { return figures_of(group, any_has(group, &Row::staged)).header("  rung"); }

std::string or_dash(const std::optional<double>& seconds) { return seconds ? duration(*seconds) : "-"; }

/// Times of calls in a CUDA graph, and on arrays in the cache, for the rungs that were timed in this way.
std::string graph_text(const Group& group) {
  const FigureTable table({{"in a graph", 10}, {"in cache", 13, 1}, {"in cache and graph", 19, 2}}, 28, 27);
  std::string text;
  for (const Row& row : group.rows) {
    if (!row.graph_s) continue;
    text += table.line(name_of(row.rung), {or_dash(row.graph_s), or_dash(row.warm_s), or_dash(row.warm_graph_s)});
  }
  return text.empty() ? text : "\n" + table.header("") + text;
}

/// The variants of a kernel launch.
std::string variants_text(const Group& group) {
  const FigureTable table({{"time", 9}, {"registers", 11, 3}, {"shared", 9, 4}, {"blocks", 9, 2}, {"occupancy", 11, 1}},
                          28, 27);
  std::string text;
  for (const Row& row : group.rows) {
    if (row.variants.empty()) continue;
    text += "\n" + table.header(name_of(row.rung));
    for (const Variant& way : row.variants) {
      text += table.line("    " + way.name,
                         {duration(way.median_s), fmt::format("{}", way.registers), size(way.shared_bytes),
                          fmt::format("{}", way.blocks), fmt::format("{:.2f}", way.occupancy)});
    }
  }
  return text;
}

std::string title_text(const Group& group) {
  std::string text = wrapped(group.title, 2) + "\n";
  if (!group.device.empty()) text += wrapped(fmt::format("  on {}", group.device), 4) + "\n";
  if (!group.input.empty()) text += wrapped(fmt::format("  input: {}", printable(group.input)), 4) + "\n";
  for (const std::string& line : group.lines) text += wrapped("  " + line, 4) + "\n";
  return text;
}

std::string limit_text(const Group& group) {
  std::string text;
  if (group.copy_bytes_per_s > 0) text += fmt::format("copy {}", rate(group.copy_bytes_per_s));
  if (group.read_bytes_per_s > 0) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", group.is_pinned ? "sending the first column" : "read",
                        rate(group.read_bytes_per_s));
  }
  return text.empty() ? "\n" : wrapped("  limit: " + text, 4) + "\n\n";
}

std::string group_text(const Group& group) {
  std::string text = title_text(group) + limit_text(group) + header(group);
  for (const Row& row : group.rows) text += row_text(group, row);
  text += graph_text(group) + variants_text(group);
  if (group.api_s > 0) {
    std::string line = fmt::format("  the API runs {}: {}", group.api_rung, duration(group.api_s));
    if (group.inlined_s > 0) line += fmt::format("; the loop inlined: {}", duration(group.inlined_s));
    text += "\n" + wrapped(line, 4) + "\n";
  }
  if (!group.times.empty()) text += "\n";
  for (const auto& [what, seconds] : group.times) {
    text += wrapped(fmt::format("  {}: {}", what, duration(seconds)), 4) + "\n";
  }
  return text + "\n";
}

// ------------------------------------------------------------------------------------------- several counts of threads

/// The figures of all rungs with each count of threads.
FigureTable scaling_figures(Counts counts) {
  std::size_t longest = 0;
  for (const Group& group : counts) {
    for (const Row& row : group.rows) longest = std::max(longest, width_of(name_of(row.rung)));
  }
  return {{{"threads", 7},
           {"time", 8},
           {counts[0].reads_only ? "of read" : "of copy", 11, 2},
           {"speedup", 8, 1},
           {"efficiency", 11, 4},
           {"", 10, 3, true}},
          25,
          longest};
}

/// The times of one rung or limit, for one count of threads after the other.
class Scaling {
 public:
  /// `lowest` is the count that all others are compared with, if it was timed.
  Scaling(const FigureTable& table, std::string_view name, bool scales, int lowest)
      : table_(table), name_(name), scales_(scales), lowest_(lowest) {}

  void add(int threads, double seconds, std::string_view of_limit, std::string_view status) {
    if (text_.empty()) {
      fewest_ = threads;
      first_s_ = seconds;
    }
    const double speedup = first_s_ / seconds;
    text_ += table_.line(text_.empty() ? "  " + std::string(name_) : "",
                         {fmt::format("{}{}", threads, threads > machine().threads ? '*' : ' '), duration(seconds),
                          std::string(of_limit), scales_ ? times_text(speedup) : "",
                          scales_ ? fmt::format("{:.2f}", speedup * fewest_ / threads) : "", std::string(status)});
  }
  [[nodiscard]] std::string text() const {
    if (text_.empty() || !scales_ || fewest_ == lowest_) return text_;
    return text_ + wrapped(fmt::format("    speedup and efficiency: over {}", threads_text(fewest_)), 6) + "\n";
  }

 private:
  const FigureTable& table_;
  std::string_view name_;
  bool scales_;
  int lowest_;
  int fewest_ = 0;
  double first_s_ = 0;  // with the fewest threads
  std::string text_;
};

double limit_rate(const Group& group) { return group.reads_only ? group.read_bytes_per_s : group.copy_bytes_per_s; }

std::string of_limit_text(double fraction) { return fraction > 0 ? fmt::format("{:.2f}", fraction) : ""; }

std::string limit_scaling(Counts counts, const FigureTable& table) {
  Scaling scaling(table, counts[0].reads_only ? "read" : "copy", true, counts[0].threads);
  for (const Group& group : counts) {
    const double limit = limit_rate(group);
    if (limit > 0) scaling.add(group.threads, group.limit_bytes / limit, rate(limit), "");
  }
  return scaling.text();
}

std::string api_scaling(Counts counts, const FigureTable& table) {
  Scaling scaling(table, "the API", true, counts[0].threads);
  for (const Group& group : counts) {
    const double limit = limit_rate(group);
    if (group.api_s <= 0) continue;
    scaling.add(group.threads, group.api_s, of_limit_text(limit > 0 ? group.bytes / group.api_s / limit : 0), "");
  }
  return scaling.text();
}

/// A rung in the group of one count.
struct AtCount {
  const Group* group;
  const Row* row;
};

/// Lists the counts that were timed, and below them why others were not. If none was, prints one line for all,
/// preferably about a failure.
std::string rung_scaling(Counts counts, const std::vector<AtCount>& rung, const FigureTable& table) {
  const RungInfo& info = rung[0].row->rung;
  Scaling scaling(table, info.id, info.threads == Threads::asked, counts[0].threads);
  std::string others;
  for (const auto& [group, row] : rung) {
    if (!is_timed(*row)) {
      others +=
          wrapped(fmt::format("    {}: {}: {}", threads_text(row->threads), word(row->status), row->reason), 6) + "\n";
      continue;
    }
    const double of_limit = is_beside_its_copy(counts, *group, *row) ? fraction(*row, limit_rate(*group)) : 0;
    scaling.add(row->threads, row->median_s, of_limit_text(of_limit), mark_of(info));
  }
  if (!scaling.text().empty()) return scaling.text() + others;
  const auto failed =
      std::find_if(rung.begin(), rung.end(), [](const AtCount& one) { return one.row->status == RowStatus::failed; });
  const AtCount& shown = failed == rung.end() ? rung.front() : *failed;
  return row_text(*shown.group, *shown.row);
}

/// The rungs in their order, each with all of its counts.
std::vector<std::vector<AtCount>> by_rung(Counts counts) {
  std::vector<std::vector<AtCount>> rungs;
  for (const Group& group : counts) {
    for (const Row& row : group.rows) {
      const auto known = std::find_if(rungs.begin(), rungs.end(),
                                      [&](const auto& rung) { return rung[0].row->rung.id == row.rung.id; });
      if (known == rungs.end()) {
        rungs.push_back({{&group, &row}});
      } else {
        known->push_back({&group, &row});
      }
    }
  }
  return rungs;
}

/// The notes below the table.
std::string notes_text(Counts counts) {
  std::string text;
  const Group& lowest = counts.front();
  const auto add = [&](const std::string& note) { text += wrapped("  " + note, 4) + "\n"; };
  if (counts.back().threads > machine().threads) {
    add(fmt::format("* more threads than cores: this process may use {}", machine().threads));
  }
  if (lowest.threads > 1) add(fmt::format("speedup and efficiency: over {}", threads_text(lowest.threads)));
  if (lowest.api_s > 0) add(fmt::format("the API runs {}", lowest.api_rung));
  if (lowest.inlined_s > 0) add(fmt::format("the loop inlined: {}", duration(lowest.inlined_s)));
  for (const Group& group : counts) {
    for (const auto& [what, seconds] : group.times) {
      add(fmt::format("{}: {}: {}", threads_text(group.threads), what, duration(seconds)));
    }
  }
  return text.empty() ? text : "\n" + text;
}

std::string scaling_text(Counts counts) {
  std::string text = title_text(counts[0]);
  const FigureTable table = scaling_figures(counts);
  text += "\n" + table.header("  rung") + limit_scaling(counts, table);
  for (const auto& rung : by_rung(counts)) text += rung_scaling(counts, rung, table);
  return text + api_scaling(counts, table) + notes_text(counts) + "\n";
}

// ------------------------------------------------------------------------------------------------------------- JSON

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json if_positive(double value) { return value > 0 ? Json(value) : Json(); }

Json fact_json(const Fact& fact) {
  return std::visit(
      []<class T>(const T& value) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return Json();
        } else {
          return Json(value);
        }
      },
      fact.second);
}

void add_place(Json& json, const Group& group) {
  json["type"] = name(group.type);
  json["n"] = group.n;
  json["threads"] = group.device.empty() ? Json(group.threads) : Json();
  json["device"] = group.device.empty() ? "cpu" : group.device;
  json["input"] = or_null(group.input);
  json["host_resident"] = group.is_pinned;
}

Json row_json(Counts counts, const Group& group, const Row& row) {
  const bool timed = is_timed(row);
  const bool is_compared = timed && is_beside_its_copy(counts, group, row);
  Json json{{"rung", row.rung.id}, {"idea", row.rung.idea}, {"kind", kind_of(row.rung)}};
  add_place(json, group);
  if (group.device.empty()) json["threads"] = row.threads;
  json["status"] = word(row.status);
  json["reason"] = or_null(row.reason);
  json["median_s"] = timed ? Json(row.median_s) : Json();
  json["samples_s"] = row.samples_s;
  json["bytes"] = row.bytes;
  json["gbps"] = timed ? Json(bytes_per_second(row) / 1e9) : Json();
  json["fraction_of_copy"] = if_positive(is_compared ? fraction(row, group.copy_bytes_per_s) : 0);
  json["fraction_of_read"] = if_positive(is_compared && group.reads_only ? fraction(row, group.read_bytes_per_s) : 0);
  json["speedup"] = timed ? Json(group.first_s / row.median_s) : Json();
  json["checked_s"] = or_null(row.checked_s);
  json["graph_s"] = or_null(row.graph_s);
  json["warm_s"] = or_null(row.warm_s);
  json["warm_graph_s"] = or_null(row.warm_graph_s);
  if (!group.work_unit.empty()) {
    const bool works = timed && row.bytes > 0;
    json[std::string(group.work_unit) + "_per_s"] = works ? Json(group.work / row.median_s) : Json();
  }
  if (row.staged) {
    json["total_s"] = row.staged->total_s;
    json["transfer_s"] = row.staged->transfer_s;
    json["kernel_s"] = row.staged->kernel_s;
    for (const Span& span : row.staged->timeline) {
      json["timeline"].push_back(
          {{"what", span.what}, {"stream", span.stream}, {"begin_s", span.begin_s}, {"end_s", span.end_s}});
    }
  }
  for (const Fact& fact : group.facts) json[std::string(fact.first)] = fact_json(fact);
  for (const Variant& way : row.variants) {
    json["variants"].push_back({{"name", way.name},
                                {"registers", way.registers},
                                {"shared_bytes", way.shared_bytes},
                                {"blocks_per_multiprocessor", way.blocks},
                                {"occupancy", way.occupancy},
                                {"median_s", way.median_s}});
  }
  for (const Kernel& kernel : row.kernels) {
    json["kernels"].push_back({{"name", kernel.name},
                               {"launches", kernel.launches},
                               {"blocks", kernel.blocks},
                               {"threads_per_block", kernel.threads},
                               {"registers", kernel.registers},
                               {"shared_bytes", kernel.shared_bytes},
                               {"blocks_per_multiprocessor", kernel.resident_blocks},
                               {"occupancy", kernel.occupancy}});
  }
  return json;
}

Json group_json(const Group& group) {
  Json json;
  add_place(json, group);
  json["copy_gbps"] = group.copy_bytes_per_s / 1e9;
  json["read_gbps"] = group.read_bytes_per_s / 1e9;
  json["copy_samples_s"] = group.copy_samples_s;
  json["read_samples_s"] = group.read_samples_s;
  json["inlined_s"] = group.inlined_s;
  json["api_s"] = group.api_s;
  json["api_rung"] = group.api_rung;
  for (const Fact& fact : group.facts) json[std::string(fact.first)] = fact_json(fact);
  return json;
}

}  // namespace

Json machine_json() {
  const Machine& here = machine();
  Json json{{"cpu", here.cpu},           {"threads", here.threads},   {"simd", name(here.isa)},
            {"l2_bytes", here.l2_bytes}, {"l3_bytes", here.l3_bytes}, {"memory_bytes", here.memory_bytes}};
  for (const auto& gpu : gpu::devices()) json["gpus"].push_back(gpu_json(gpu));
  return json;
}

namespace {

std::size_t longest_id(const ProblemInfo& problem, Backend backend) {
  std::size_t longest = 0;
  for (const RungInfo& rung : problem.rungs) {
    if (rung.backend() == backend) longest = std::max(longest, rung.id.size());
  }
  return longest;
}

}  // namespace

std::vector<gpu::LinkTimes> measure_links() {
  std::vector<gpu::LinkTimes> all(gpu::devices().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (gpu::devices()[i].error.empty()) all[i] = gpu::measure_link(static_cast<int>(i));
  }
  return all;
}

Json link_json(const gpu::LinkTimes& link) {
  const auto gbps = [&](double seconds) { return static_cast<double>(link.bytes) / seconds / 1e9; };
  return {{"bytes", link.bytes},
          {"allocation_s", link.allocation_s},
          {"to_device_pageable_s", link.to_device_pageable_s},
          {"to_device_pinned_s", link.to_device_pinned_s},
          {"to_host_pageable_s", link.to_host_pageable_s},
          {"to_host_pinned_s", link.to_host_pinned_s},
          {"to_device_pageable_gbps", gbps(link.to_device_pageable_s)},
          {"to_device_pinned_gbps", gbps(link.to_device_pinned_s)},
          {"to_host_pageable_gbps", gbps(link.to_host_pageable_s)},
          {"to_host_pinned_gbps", gbps(link.to_host_pinned_s)}};
}

Json gpu_json(const gpu::Device& gpu) {
  return {{"name", gpu.name},
          {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
          {"multiprocessors", gpu.multiprocessors},
          {"l2_bytes", gpu.l2_bytes},
          {"memory_bytes", gpu.memory_bytes}};
}

std::string ladders_text() {
  std::string text;
  for (const ProblemInfo& problem : problems()) {
    text += fmt::format("{}\n", problem.name);
    for (const RungInfo& rung : problem.rungs) {
      const std::size_t width = longest_id(problem, rung.backend()) + 2;
      text += entry(name_of(rung), width + 2, rung.idea);
    }
  }
  return text + "\nclimb one: upsweep ladder scan\n";
}

Json ladders_json() {
  Json json{{"schema", 1}, {"ladders", Json::object()}};
  for (const ProblemInfo& problem : problems()) {
    for (const RungInfo& rung : problem.rungs) {
      json["ladders"][std::string(problem.name)].push_back({{"rung", rung.id},
                                                            {"idea", rung.idea},
                                                            {"needs", rung.needs},
                                                            {"traffic", rung.traffic},
                                                            {"cost", rung.cost},
                                                            {"limit", rung.limit}});
    }
  }
  return json;
}

std::string climb_text(const std::vector<Group>& groups) {
  std::string text;
  for (const Counts counts : by_instance(groups)) {
    text += counts.size() == 1 ? group_text(counts[0]) : scaling_text(counts);
  }
  return text;
}

bool omits_figures(const std::vector<Group>& groups) {
  return std::ranges::any_of(by_instance(groups), [](Counts counts) {
    const Group& first = counts[0];
    return !(counts.size() == 1 ? figures_of(first, any_has(first, &Row::staged)) : scaling_figures(counts)).is_whole();
  });
}

Json climb_json(std::string_view problem, const std::vector<Group>& groups) {
  Json json{{"schema", 1},
            {"machine", machine_json()},
            {"problem", problem},
            {"rows", Json::array()},
            {"groups", Json::array()}};
  for (const Counts counts : by_instance(groups)) {
    for (const Group& group : counts) {
      for (const Row& row : group.rows) json["rows"].push_back(row_json(counts, group, row));
      json["groups"].push_back(group_json(group));
    }
  }
  return json;
}

}  // namespace upsweep::command
