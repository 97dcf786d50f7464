// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ladder.cpp: `upsweep ladder`: every rung verified, timed and shown beside the limit of the machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "commands.hpp"
#include "core/visit.hpp"
#include "io/column.hpp"
#include "ladder_bench.hpp"
#include "output.hpp"
#include "stream.hpp"
#include "subset_sum_ladder.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

constexpr std::string_view kDefaultSizes = "1e3,1e6,1e7";
constexpr std::string_view kLineitemSize = "6001215";  // of TPC-H at scale factor 1, as the lecture's

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const auto comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return parts;
}

std::vector<Type> parse_types(const std::string& text, Problem problem) {
  std::vector<Type> types;
  for (const auto& word : split(text)) {
    const auto type = parse_type(word);
    const bool fixed = problem == Problem::aggregate || problem == Problem::subset_sum;
    const bool runs = !fixed && (problem != Problem::ragged || (type && is_list_bound(*type)));
    if (!type || !runs) {
      throw Error(Code::invalid_argument,
                  "--types: the " + std::string(name(problem)) + " ladder does not run on '" + word + "'");
    }
    types.push_back(*type);
  }
  if (!types.empty()) return types;
  if (problem != Problem::scan && problem != Problem::reduce) return {Type::int64};
  return {Type::int32, Type::float32, Type::int64, Type::float64};
}

bench::Transfer parse_transfer(const std::string& text) {
  if (text.empty()) return bench::Transfer::none;
  if (text == "pageable") return bench::Transfer::pageable;
  if (text == "pinned") return bench::Transfer::pinned;
  if (text == "streams") return bench::Transfer::streams;
  throw Error(Code::invalid_argument, "--transfer '" + text + "' is not one of pageable, pinned, streams");
}

/// The whole column in memory.
bench::Column load(const std::string& source, io::ColumnInfo& info) {
  const auto reader = io::open_column(source);
  info = reader->info();
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

/// What the aggregate ladder takes a column as.
enum class Part : std::uint8_t {
  key,       ///< uint32
  quantity,  ///< int64; decimals lose their scale, as they are whole units
  price,     ///< int64; decimals in units of their last digit
};

std::int64_t scale_of(Part part, const io::ColumnInfo& info) {
  std::int64_t scale = 1;
  if (part == Part::price || info.meaning != io::Meaning::decimal) return scale;
  for (int digit = 0; digit < info.scale; ++digit) scale *= 10;
  return scale;
}

/// The column as T. Throws unsupported_type, and overflow for a value that T does not hold.
template <class T>
bench::Column load_as(const std::string& source, Part part) {
  io::ColumnInfo info;
  const bench::Column column = load(source, info);
  if (is_float(info.type)) {
    throw Error(Code::unsupported_type, info.name + " has " + std::string(name(info.type)) +
                                            " elements: aggregate takes integers and decimals");
  }
  const std::int64_t scale = scale_of(part, info);
  auto buffer = std::make_shared<bench::Buffer<T>>(column.count);
  visit_type(info.type, [&]<class In>(std::type_identity<In>) {
    if constexpr (std::is_integral_v<In>) {
      const auto* values = static_cast<const In*>(column.data.get());
      for (std::int64_t i = 0; i < column.count; ++i) {
        if (!std::in_range<T>(values[i])) {
          throw Error(Code::overflow, fmt::format("{}: {} does not fit {}", info.name, values[i], name(type_of<T>())),
                      i);
        }
        if (static_cast<std::int64_t>(values[i]) % scale != 0) {
          throw Error(Code::unsupported_type,
                      fmt::format("{}: {} is no whole number, as keys and quantities must be", info.name,
                                  io::format_decimal(static_cast<std::int64_t>(values[i]), info.scale)),
                      i);
        }
        (*buffer)[i] = static_cast<T>(scale == 1 ? values[i] : static_cast<In>(values[i] / static_cast<In>(scale)));
      }
    }
  });
  return {info.name, type_of<T>(), column.count, std::shared_ptr<const void>(buffer, buffer->data())};
}

std::vector<bench::Column> load_all(const std::vector<std::string>& sources, Problem problem) {
  std::vector<bench::Column> columns;
  if (problem == Problem::aggregate && !sources.empty()) {
    columns.push_back(load_as<std::uint32_t>(sources[0], Part::key));
    columns.push_back(load_as<std::int64_t>(sources[1], Part::quantity));
    columns.push_back(load_as<std::int64_t>(sources[2], Part::price));
    return columns;
  }
  io::ColumnInfo info;
  for (const auto& source : sources) columns.push_back(load(source, info));
  return columns;
}

double gbps(const bench::Row& row) { return row.median_s > 0 ? row.bytes / row.median_s / 1e9 : 0; }

double fraction_of_copy(const bench::Group& group, const bench::Row& row) {
  return gbps(row) * 1e9 / group.copy_bytes_per_s;
}

double fraction_of_read(const bench::Group& group, const bench::Row& row) {
  return gbps(row) * 1e9 / group.read_bytes_per_s;
}

double serial_seconds(const bench::Group& group) {
  for (const auto& row : group.rows) {
    const bool naive = row.rung.id == "cpu.serial" || row.rung.id == "cuda.one_thread" || row.rung.id == "cuda.select";
    if (naive && row.status == bench::RowStatus::verified) return row.median_s;
  }
  return 0;
}

// ------------------------------------------------------------------------------------------------------------- text

/// Columns of a rung's id. Where ids are long, on GPUs, no overflow is checked: that column's place is theirs.
int id_width(Backend backend) { return backend == Backend::cpu ? 17 : 26; }
int id_width(const bench::Group& group) {
  return id_width(group.device.empty() && !group.filter ? Backend::cpu : Backend::cuda);
}

/// Columns of the overflow checks' cost.
int checked_width(const bench::Group& group) { return group.device.empty() && !group.filter ? 9 : 0; }

std::string row_text(const bench::Group& group, const bench::Row& row) {
  const int width = id_width(group);
  if (row.status != bench::RowStatus::verified) {
    return fmt::format("  {:<{}}{}: {}\n", row.rung.id, width, word(row.status), row.reason);
  }
  if (row.staged) {
    return fmt::format("  {:<{}}{:>10}{:>12}{:>12}  {}\n", row.rung.id, width, duration(row.staged->total_s),
                       duration(row.staged->transfer_s), duration(row.staged->kernel_s),
                       row.rung.kind == Kind::library ? "library" : "verified");
  }
  const double serial = serial_seconds(group);
  return fmt::format("  {:<{}}{:>9}{:>11}{:>9.2f}{:>10}{:>{}}  {}\n", row.rung.id, width, duration(row.median_s),
                     rate(gbps(row) * 1e9), group.filter ? fraction_of_read(group, row) : fraction_of_copy(group, row),
                     serial > 0 ? fmt::format("{:.2f}x", serial / row.median_s) : "",
                     row.checked_s ? fmt::format("{:.2f}x", *row.checked_s / row.median_s) : "", checked_width(group),
                     row.rung.kind == Kind::library ? "library" : "verified");
}

std::string or_dash(const std::optional<double>& seconds) { return seconds ? duration(*seconds) : "-"; }

/// Columns in the cache, and calls in a CUDA graph, for the rungs that were timed so.
std::string warm_text(const bench::Group& group) {
  std::string text;
  for (const auto& row : group.rows) {
    if (!row.warm_s) continue;
    text += fmt::format("  {:<26}{:>9}{:>13}{:>19}\n", row.rung.id, duration(*row.warm_s), or_dash(row.graph_s),
                        or_dash(row.warm_graph_s));
  }
  if (text.empty()) return text;
  return fmt::format("\n  {:<26}{:>9}{:>13}{:>19}\n", "", "in cache", "in a graph", "in cache and graph") + text;
}

/// The ways to launch a kernel.
std::string variants_text(const bench::Group& group) {
  std::string text;
  for (const auto& row : group.rows) {
    if (row.variants.empty()) continue;
    text += fmt::format("\n  {:<26}{:>9}{:>11}{:>9}{:>9}{:>11}\n", row.rung.id, "time", "registers", "shared", "blocks",
                        "occupancy");
    for (const auto& way : row.variants) {
      text += fmt::format("  {:<26}{:>9}{:>11}{:>9}{:>9}{:>11.2f}\n", "  " + way.name, duration(way.median_s),
                          way.registers, size(way.shared_bytes), way.blocks, way.occupancy);
    }
  }
  return text;
}

/// "in a CUDA graph: cuda.cub 2.6 us, …" for the rungs that were timed so.
std::string graph_text(const bench::Group& group) {
  std::string text;
  int column = 0;
  for (const auto& row : group.rows) {
    if (!row.graph_s || row.warm_s) continue;
    const std::string entry = fmt::format("{} {}", row.rung.id, duration(*row.graph_s));
    const bool breaks = column + static_cast<int>(entry.size()) > 76;
    text += column == 0 ? "\n  a call in a CUDA graph:\n    " : breaks ? ",\n    " : ", ";
    column = (column == 0 || breaks ? 4 : column + 2) + static_cast<int>(entry.size());
    text += entry;
  }
  return text.empty() ? text : text + "\n";
}

std::string title(const bench::Group& group) {
  if (!group.filter) {
    return fmt::format("{} of {} {}{}\n", name(group.problem), grouped(group.n),
                       group.problem == Problem::ragged ? "lists, bounds " : "", name(group.type));
  }
  const double bytes = group.rows.empty() ? 0 : group.rows[0].bytes;
  return fmt::format("{} of {} rows, key < {}: {} kept, {} to {}\n", name(group.problem), grouped(group.n),
                     group.filter->limit, grouped(group.filter->kept), size(static_cast<std::int64_t>(bytes)),
                     group.transfer.empty() ? "read" : "send");
}

std::string header(const bench::Group& group) {
  const bool staged = std::any_of(group.rows.begin(), group.rows.end(), [](const auto& row) { return row.staged; });
  if (staged) {
    return fmt::format("  {:<{}}{:>10}{:>12}{:>12}\n", "rung", id_width(group), "total", "transfer", "kernel+sum");
  }
  const int checked = checked_width(group);
  return fmt::format("  {:<{}}{:>9}{:>11}{:>9}{:>10}{:>{}}\n", "rung", id_width(group), "time", "moved",
                     group.filter ? "of read" : "of copy", "speedup", checked > 0 ? "checked" : "", checked);
}

std::string limit_text(const bench::Group& group) {
  std::string text;
  if (group.copy_bytes_per_s > 0) text += fmt::format("copy {}", rate(group.copy_bytes_per_s));
  if (group.read_bytes_per_s > 0) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", group.host_resident ? "sending the keys" : "read",
                        rate(group.read_bytes_per_s));
  }
  return text.empty() ? "\n" : "  limit: " + text + "\n\n";
}

std::string group_text(const bench::Group& group) {
  if (group.subset) return subset_text(group);
  std::string text = title(group);
  if (!group.device.empty()) text += fmt::format("  on {}\n", group.device);
  if (!group.input.empty()) text += fmt::format("  input: {}\n", printable(group.input));
  if (group.filter) text += fmt::format("  the sum: {}\n", grouped(group.filter->sum));
  if (!group.transfer.empty()) text += fmt::format("  columns are sent: {}\n", group.transfer);
  if (group.host_resident) text += "  columns stay in pinned memory of the host\n";
  text += limit_text(group) + header(group);
  for (const auto& row : group.rows) text += row_text(group, row);
  text += graph_text(group) + warm_text(group) + variants_text(group);
  if (group.api_s > 0) {
    text += fmt::format("\n  the API runs {}: {}", group.api_rung, duration(group.api_s));
    if (group.inlined_s > 0) text += fmt::format("; the loop inlined: {}", duration(group.inlined_s));
    text += "\n";
  }
  return text + "\n";
}

// ------------------------------------------------------------------------------------------------------------- JSON

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// What only the aggregate ladder has.
void add_aggregate(Json& json, const bench::Group& group, const bench::Row& row, bool timed) {
  json["limit"] = group.filter->limit;
  json["kept"] = group.filter->kept;
  json["sum"] = group.filter->sum;
  json["bytes"] = row.bytes;
  json["host_resident"] = group.host_resident;
  json["transfer"] = group.transfer.empty() ? Json() : Json(group.transfer);
  json["fraction_of_read"] = timed && group.read_bytes_per_s > 0 ? Json(fraction_of_read(group, row)) : Json();
  json["warm_s"] = or_null(row.warm_s);
  json["warm_graph_s"] = or_null(row.warm_graph_s);
  json["total_s"] = row.staged ? Json(row.staged->total_s) : Json();
  json["transfer_s"] = row.staged ? Json(row.staged->transfer_s) : Json();
  json["kernel_s"] = row.staged ? Json(row.staged->kernel_s) : Json();
  for (const auto& way : row.variants) {
    json["variants"].push_back({{"name", way.name},
                                {"registers", way.registers},
                                {"shared_bytes", way.shared_bytes},
                                {"blocks_per_multiprocessor", way.blocks},
                                {"occupancy", way.occupancy},
                                {"median_s", way.median_s}});
  }
}

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
            {"fraction_of_copy", timed && group.copy_bytes_per_s > 0 ? Json(fraction_of_copy(group, row)) : Json()},
            {"speedup", timed && serial > 0 ? Json(serial / row.median_s) : Json()},
            {"checked_s", or_null(row.checked_s)},
            {"graph_s", or_null(row.graph_s)}};
  if (group.filter) add_aggregate(json, group, row, timed);
  if (group.subset) add_subset(json, group, row);
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
                              {"host_resident", group.host_resident},
                              {"transfer", group.transfer.empty() ? Json() : Json(group.transfer)},
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
      text += fmt::format("  {:<{}}{}\n", rung.id, id_width(rung.backend()), rung.idea);
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
  const std::string_view usual = problem == Problem::aggregate    ? kLineitemSize
                                 : problem == Problem::subset_sum ? ""  // instances of its own
                                                                  : kDefaultSizes;
  for (const auto& size : split(options.sizes.empty() ? usual : options.sizes)) {
    request.sizes.push_back(parse_count(size, "--sizes", 1, std::int64_t{1} << 40));
  }
  request.types = parse_types(options.types, problem);
  if (problem == Problem::subset_sum) {
    request.subset = subset_request(options);
  } else {
    request.input = load_all(options.input, problem);
  }
  if (!options.z.empty()) {
    request.limit =
        static_cast<std::uint32_t>(parse_count(options.z, "--z", 0, std::numeric_limits<std::uint32_t>::max()));
  }
  request.transfer = parse_transfer(options.transfer);
  request.rung = policy.rung;
  request.max_seconds = options.max_seconds;
  request.policy = policy.with_rung({});
  const bool takes_input = problem == Problem::aggregate || problem == Problem::subset_sum;
  const bool has_gpu = !gpu::devices().empty() && (options.input.empty() || takes_input);
  const bool sends = request.transfer != bench::Transfer::none;
  request.on_cpu = device != "cuda" && !sends;
  request.on_gpu = device == "cuda" || (device == "auto" && has_gpu) || request.rung.starts_with("cuda.") || sends;
  return request;
}

void require_inputs(const LadderOptions& options, Problem problem) {
  if (options.input.empty()) return;
  const auto [count, what] = problem == Problem::aggregate ? std::pair{3U, "KEY, QUANTITY and PRICE for aggregate"}
                             : problem == Problem::ragged  ? std::pair{2U, "STARTS and STOPS for ragged"}
                                                           : std::pair{1U, "one column"};
  if (options.input.size() != count) throw Error(Code::invalid_argument, std::string("--input takes ") + what);
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
                "no ladder is called '" + options.problem + "'; there are scan, reduce, ragged, aggregate, subset-sum");
  }
  if (!options.input.empty() && !(options.sizes.empty() && options.types.empty())) {
    throw Error(Code::invalid_argument, "--input has a length and a type: leave --sizes and --types out");
  }
  require_inputs(options, *problem);
  if (*problem != Problem::aggregate && !(options.z.empty() && options.transfer.empty())) {
    throw Error(Code::invalid_argument, "--z and --transfer are options of the aggregate ladder");
  }
  const bool names_subset = !(options.target.empty() && options.largest.empty() && options.per_thread.empty());
  if (*problem != Problem::subset_sum && names_subset) {
    throw Error(Code::invalid_argument, "--target, --largest and --per-thread are options of the subset-sum ladder");
  }
  if (!options.transfer.empty() && (common.device == "cpu" || common.rung.starts_with("cpu."))) {
    throw Error(Code::invalid_argument, "--transfer is to a GPU: it says nothing about the CPU's rungs");
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
