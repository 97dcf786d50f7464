// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/subset_sum_ladder.cpp: the subset-sum ladder's options, its table and its JSON.
#include "subset_sum_ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/memory.hpp"
#include "output.hpp"
#include "subset_problem.hpp"
#include "upsweep/error.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// n·(S + 1) over the time.
double sums_per_second(const bench::Group& group, const bench::Row& row) {
  return static_cast<double>(group.n) * (static_cast<double>(group.subset->target) + 1) / row.median_s;
}

/// The time of copying the bitmap once for every item, over this one.
double copies(const bench::Group& group, const bench::Row& row) {
  return group.copy_bytes_per_s > 0 ? row.bytes / group.copy_bytes_per_s / row.median_s : 0;
}

double first_seconds(const bench::Group& group) {
  for (const auto& row : group.rows) {
    if (row.status == bench::RowStatus::verified) return row.median_s;
  }
  return 0;
}

/// Columns of the time in a graph: on GPUs only.
int graph_width(const bench::Group& group) { return group.device.empty() ? 0 : 9; }

std::string row_text(const bench::Group& group, const bench::Row& row) {
  if (row.status != bench::RowStatus::verified) {
    return fmt::format("  {:<23}{}: {}\n", row.rung.id, word(row.status), row.reason);
  }
  const std::string status = row.rung.kind == Kind::library ? "library" : "verified";
  const std::string time = fmt::format("  {:<23}{:>9}", row.rung.id, duration(row.median_s));
  const double ratio = first_seconds(group) / row.median_s;
  const std::string speedup = ratio < 100 ? fmt::format("{:.3g}x", ratio) : fmt::format("{:.0f}x", ratio);
  if (!group.subset->fills) return fmt::format("{}{:>9}  {}\n", time, speedup, status);
  const int graph = graph_width(group);
  if (row.bytes == 0) return fmt::format("{}{:>10}{:>{}}  {}\n", time, "decides", "", 17 + graph, status);
  return fmt::format("{}{:>10.1e}{:>8.2f}{:>9}{:>{}}  {}\n", time, sums_per_second(group, row), copies(group, row),
                     speedup, row.graph_s ? duration(*row.graph_s) : "", graph, status);
}

}  // namespace

bench::SubsetRequest subset_request(const LadderOptions& options) {
  bench::SubsetRequest request;
  if (!options.target.empty() && options.input.empty())
    request.target = parse_count(options.target, "--target", 0, kMost);
  if (!options.largest.empty()) request.largest = parse_count(options.largest, "--largest", 1, kMost);
  if (!options.per_thread.empty()) {
    request.per_thread = static_cast<int>(parse_count(options.per_thread, "--per-thread", 1, 1024));
  }
  if (options.input.empty()) return request;
  if (options.target.empty()) throw Error(Code::invalid_argument, "--input needs a --target to climb to");
  if (!options.largest.empty()) {
    throw Error(Code::invalid_argument, "--largest is of items that are made: leave it or --input out");
  }
  const SubsetProblem problem = read_problem(options.input[0], options.target, {});
  if (problem.items.values.empty()) throw Error(Code::empty, options.input[0] + ": has no items to climb on");
  request.items = problem.items.values;
  request.name = options.input[0];
  request.target = problem.target;
  return request;
}

std::string subset_text(const bench::Group& group) {
  const bench::Subset& subset = *group.subset;
  std::string text =
      fmt::format("subset-sum of {} items up to {}\n  {} {}\n", grouped(group.n), grouped(subset.largest),
                  subset.fills ? "every sum up to" : "one target:", grouped(subset.target));
  if (!group.device.empty()) text += fmt::format("  on {}\n", group.device);
  text += group.input.empty() ? fmt::format("  made with seed {}\n", subset.seed)
                              : fmt::format("  input: {}\n", group.input);
  if (subset.fills) {
    text += fmt::format("  a bitmap of {}; of all sums {:.2f} can be reached when an item comes\n",
                        bytes_text(subset.bitmap_bytes), subset.window);
    text += fmt::format("  limit: copy {}\n", rate(group.copy_bytes_per_s));
    text += fmt::format("\n  {:<23}{:>9}{:>10}{:>8}{:>9}{:>{}}\n", "rung", "time", "sums/s", "of copy", "speedup",
                        group.device.empty() ? "" : "in graph", graph_width(group));
  } else {
    text += fmt::format("\n  {:<23}{:>9}{:>9}\n", "rung", "time", "speedup");
  }
  for (const auto& row : group.rows) text += row_text(group, row);
  if (subset.decide_s > 0) {
    text += fmt::format("\n  the API: {} in {} by {}\n", subset.reachable ? "yes" : "no", duration(subset.decide_s),
                        subset.decide_rung);
    text += fmt::format("  {} in {}\n", subset.reachable ? "its items" : "the items of " + grouped(subset.found_target),
                        duration(subset.find_s));
  }
  return text + "\n";
}

void add_subset(Json& json, const bench::Group& group, const bench::Row& row) {
  const bench::Subset& subset = *group.subset;
  json["target"] = subset.target;
  json["largest"] = subset.largest;
  json["seed"] = subset.seed == 0 ? Json() : Json(subset.seed);
  json["fills"] = subset.fills;
  const bool timed = row.bytes > 0 && row.status == bench::RowStatus::verified;
  json["sums_per_s"] = timed ? Json(sums_per_second(group, row)) : Json();
  json["sums_in_window_per_s"] = timed ? Json(sums_per_second(group, row) * subset.window) : Json();
  json["decide_s"] = subset.decide_s > 0 ? Json(subset.decide_s) : Json();
  json["decide_rung"] = subset.decide_s > 0 ? Json(subset.decide_rung) : Json();
  json["reachable"] = subset.decide_s > 0 ? Json(subset.reachable) : Json();
  json["found_target"] = subset.decide_s > 0 ? Json(subset.found_target) : Json();
  json["find_s"] = subset.decide_s > 0 ? Json(subset.find_s) : Json();
}

}  // namespace upsweep::command
