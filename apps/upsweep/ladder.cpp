// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ladder.cpp: `upsweep ladder`: every rung verified, timed and shown beside the limit of the machine.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "ladder_bench.hpp"
#include "output.hpp"
#include "stream.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

constexpr std::string_view kDefaultSizes = "1e3,1e6,1e7";

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const auto comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return parts;
}

/// The whole text as a number that is not negative, or NaN.
double parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole && value >= 0 ? value : std::nan("");
}

/// "1000", "1e6", "2^20". Throws invalid_argument.
std::int64_t parse_size(const std::string& text) {
  const std::string_view view = text;
  const auto caret = view.find('^');
  const double base = parse_number(view.substr(0, caret));
  const double exponent = caret == std::string_view::npos ? 1 : parse_number(view.substr(caret + 1));
  const double size = std::isnan(base) ? base : std::pow(base, exponent);
  if (!(size >= 1 && size <= 0x1p40) || size != std::floor(size)) {
    throw Error(Code::invalid_argument, "--sizes: '" + text + "' is no length such as 1000, 1e6 or 2^20");
  }
  return static_cast<std::int64_t>(size);
}

std::vector<Type> parse_types(const std::string& text, Problem problem) {
  std::vector<Type> types;
  for (const auto& word : split(text)) {
    const auto type = parse_type(word);
    if (!type || (problem == Problem::ragged && !is_list_bound(*type))) {
      throw Error(Code::invalid_argument,
                  "--types: the " + std::string(name(problem)) + " ladder does not run on '" + word + "'");
    }
    types.push_back(*type);
  }
  if (!types.empty()) return types;
  if (problem == Problem::ragged) return {Type::int64};
  return {Type::int32, Type::float32, Type::int64, Type::float64};
}

/// The whole column in memory.
bench::Column load(const std::string& source) {
  const auto reader = io::open_column(source);
  const io::ColumnInfo info = reader->info();
  const auto size = static_cast<std::size_t>(size_of(info.type));
  std::vector<std::byte> bytes;
  std::int64_t count = 0;
  for (io::Chunk chunk = reader->next(chunk_length(info)); chunk.count > 0; chunk = reader->next(chunk_length(info))) {
    const auto* data = static_cast<const std::byte*>(chunk.data);
    bytes.insert(bytes.end(), data, data + static_cast<std::size_t>(chunk.count) * size);
    count += chunk.count;
  }
  // On huge pages and aligned, like the made numbers.
  auto buffer = std::make_shared<bench::Buffer<std::byte>>(std::ssize(bytes));
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return {info.name, info.type, count, std::shared_ptr<const void>(buffer, buffer->data())};
}

double gbps(const bench::Row& row) { return row.median_s > 0 ? row.bytes / row.median_s / 1e9 : 0; }

double fraction_of_copy(const bench::Group& group, const bench::Row& row) {
  return gbps(row) * 1e9 / group.copy_bytes_per_s;
}

double serial_seconds(const bench::Group& group) {
  for (const auto& row : group.rows) {
    const bool naive = row.rung.id == "cpu.serial" || row.rung.id == "cuda.one_thread";
    if (naive && row.status == bench::RowStatus::verified) return row.median_s;
  }
  return 0;
}

// ------------------------------------------------------------------------------------------------------------- text

/// Columns of a rung's id. Where ids are long, on GPUs, no overflow is checked: that column's place is theirs.
int id_width(Backend backend) { return backend == Backend::cpu ? 17 : 26; }

std::string row_text(const bench::Group& group, const bench::Row& row) {
  const int width = id_width(row.rung.backend);
  if (row.status != bench::RowStatus::verified) {
    return fmt::format("  {:<{}}{}: {}\n", row.rung.id, width, word(row.status), row.reason);
  }
  const double serial = serial_seconds(group);
  const bool checks = group.device.empty();
  return fmt::format("  {:<{}}{:>9}{:>11}{:>9.2f}{:>10}{:>{}}  {}\n", row.rung.id, width, duration(row.median_s),
                     rate(gbps(row) * 1e9), fraction_of_copy(group, row),
                     serial > 0 ? fmt::format("{:.2f}x", serial / row.median_s) : "",
                     row.checked_s ? fmt::format("{:.2f}x", *row.checked_s / row.median_s) : "", checks ? 9 : 0,
                     row.rung.kind == Kind::library ? "library" : "verified");
}

/// "in a CUDA graph: cuda.cub 2.6 us, …" for the rungs that were timed so.
std::string graph_text(const bench::Group& group) {
  std::string text;
  int column = 0;
  for (const auto& row : group.rows) {
    if (!row.graph_s) continue;
    const std::string entry = fmt::format("{} {}", row.rung.id, duration(*row.graph_s));
    const bool breaks = column + static_cast<int>(entry.size()) > 76;
    text += column == 0 ? "\n  a call in a CUDA graph:\n    " : breaks ? ",\n    " : ", ";
    column = (column == 0 || breaks ? 4 : column + 2) + static_cast<int>(entry.size());
    text += entry;
  }
  return text.empty() ? text : text + "\n";
}

std::string group_text(const bench::Group& group) {
  std::string text = fmt::format("{} of {} {}{}\n", name(group.problem), grouped(group.n),
                                 group.problem == Problem::ragged ? "lists, bounds " : "", name(group.type));
  if (!group.device.empty()) text += fmt::format("  on {}\n", group.device);
  if (!group.input.empty()) text += fmt::format("  input: {}\n", group.input);
  text += fmt::format("  limit: copy {}", rate(group.copy_bytes_per_s));
  text += group.read_bytes_per_s > 0 ? fmt::format(", read {}\n\n", rate(group.read_bytes_per_s)) : "\n\n";
  const bool on_cpu = group.device.empty();
  text += fmt::format("  {:<{}}{:>9}{:>11}{:>9}{:>10}{:>{}}\n", "rung", id_width(on_cpu ? Backend::cpu : Backend::cuda),
                      "time", "moved", "of copy", "speedup", on_cpu ? "checked" : "", on_cpu ? 9 : 0);
  for (const auto& row : group.rows) text += row_text(group, row);
  text += graph_text(group);
  if (group.api_s > 0) {
    text += fmt::format("\n  the API runs {}: {}", group.api_rung, duration(group.api_s));
    if (group.inlined_s > 0) text += fmt::format("; the loop inlined in the caller: {}", duration(group.inlined_s));
    text += "\n";
  }
  return text + "\n";
}

// ------------------------------------------------------------------------------------------------------------- JSON

Json row_json(const bench::Group& group, const bench::Row& row) {
  const bool timed = row.status == bench::RowStatus::verified;
  const double serial = serial_seconds(group);
  Json json{{"rung", row.rung.id},
            {"idea", row.rung.idea},
            {"kind", row.rung.kind == Kind::library ? "library" : "step"},
            {"type", name(group.type)},
            {"n", group.n},
            {"device", group.device.empty() ? Json("cpu") : Json(group.device)},
            {"input", group.input.empty() ? Json() : Json(group.input)},
            {"status", word(row.status)},
            {"reason", row.reason.empty() ? Json() : Json(row.reason)},
            {"median_s", timed ? Json(row.median_s) : Json()},
            {"gbps", timed ? Json(gbps(row)) : Json()},
            {"fraction_of_copy", timed ? Json(fraction_of_copy(group, row)) : Json()},
            {"speedup", timed && serial > 0 ? Json(serial / row.median_s) : Json()},
            {"checked_s", row.checked_s ? Json(*row.checked_s) : Json()},
            {"graph_s", row.graph_s ? Json(*row.graph_s) : Json()}};
  return json;
}

Json climb_json(Problem problem, const std::vector<bench::Group>& groups) {
  const Machine& here = machine();
  Json json{{"schema", 1},
            {"machine",
             {{"cpu", here.cpu},
              {"threads", here.threads},
              {"simd", name(here.isa)},
              {"l2_bytes", here.l2_bytes},
              {"l3_bytes", here.l3_bytes},
              {"memory_bytes", here.memory_bytes}}},
            {"problem", name(problem)},
            {"rows", Json::array()},
            {"groups", Json::array()}};
  for (const auto& gpu : gpu::devices()) {
    json["machine"]["gpus"].push_back({{"name", gpu.name},
                                       {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                                       {"multiprocessors", gpu.multiprocessors},
                                       {"memory_bytes", gpu.memory_bytes},
                                       {"l2_bytes", gpu.l2_bytes}});
  }
  for (const auto& group : groups) {
    for (const auto& row : group.rows) json["rows"].push_back(row_json(group, row));
    json["groups"].push_back({{"type", name(group.type)},
                              {"n", group.n},
                              {"device", group.device.empty() ? Json("cpu") : Json(group.device)},
                              {"input", group.input.empty() ? Json() : Json(group.input)},
                              {"copy_gbps", group.copy_bytes_per_s / 1e9},
                              {"read_gbps", group.read_bytes_per_s / 1e9},
                              {"inlined_s", group.inlined_s},
                              {"api_s", group.api_s},
                              {"api_rung", group.api_rung}});
  }
  return json;
}

/// The ladders and their rungs, without climbing.
void list_ladders(const Common& common) {
  Json json{{"schema", 1}, {"ladders", Json::object()}};
  std::string text;
  for (int p = 0; p < kProblemCount; ++p) {
    const auto problem = static_cast<Problem>(p);
    text += fmt::format("{}\n", name(problem));
    for (const auto& rung : ladder(problem)) {
      text += fmt::format("  {:<{}}{}\n", rung.id, id_width(rung.backend), rung.idea);
      json["ladders"][std::string(name(problem))].push_back(
          {{"rung", rung.id}, {"idea", rung.idea}, {"needs", rung.needs}, {"traffic", rung.traffic}});
    }
  }
  if (common.json) {
    print_json(json);
  } else {
    print(text + "\nclimb one: upsweep ladder scan\n");
  }
}

bench::LadderRequest request_of(const Policy& policy, const std::string& device, const LadderOptions& options,
                                Problem problem) {
  bench::LadderRequest request;
  request.problem = problem;
  for (const auto& size : split(options.sizes.empty() ? kDefaultSizes : options.sizes)) {
    request.sizes.push_back(parse_size(size));
  }
  request.types = parse_types(options.types, problem);
  for (const auto& source : options.input) request.input.push_back(load(source));
  request.rung = policy.rung;
  request.max_seconds = options.max_seconds;
  request.policy = policy.with_rung({});
  const bool has_gpu = !gpu::devices().empty() && options.input.empty();
  request.on_cpu = device != "cuda";
  request.on_gpu = device == "cuda" || (device == "auto" && has_gpu) || request.rung.starts_with("cuda.");
  return request;
}

}  // namespace

int run_ladder(const Common& common, const LadderOptions& options) {
  const Policy policy = common.policy();
  if (options.problem.empty()) {
    if (!common.rung.empty()) throw Error(Code::invalid_argument, "--rung needs the problem whose rung it is");
    list_ladders(common);
    return 0;
  }
  const auto problem = parse_problem(options.problem);
  if (!problem) {
    throw Error(Code::invalid_argument,
                "no ladder is called '" + options.problem + "'; there are scan, reduce, ragged");
  }
  if (!options.input.empty() && !(options.sizes.empty() && options.types.empty())) {
    throw Error(Code::invalid_argument, "--input has a length and a type: leave --sizes and --types out");
  }
  const std::size_t inputs = *problem == Problem::ragged ? 2 : 1;
  if (!options.input.empty() && options.input.size() != inputs) {
    throw Error(Code::invalid_argument,
                *problem == Problem::ragged ? "--input takes STARTS and STOPS for ragged" : "--input takes one column");
  }
  std::vector<bench::Group> groups;
  {
    Progress progress(common.quiet);
    groups = bench::climb(request_of(policy, common.device, options, *problem),
                          [&](const std::string& what) { progress.say(what); });
  }
  bool failed = false;
  std::string text;
  for (const auto& group : groups) {
    text += group_text(group);
    for (const auto& row : group.rows) failed = failed || row.status == bench::RowStatus::failed;
  }
  if (common.json) {
    print_json(climb_json(*problem, groups));
  } else {
    print(text);
  }
  return failed ? 1 : 0;
}

}  // namespace upsweep::command
