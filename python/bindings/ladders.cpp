// SPDX-License-Identifier: Apache-2.0
// bindings/ladders.cpp: the ladders of all problems, and climbs, as lists of dictionaries; this machine and its limits.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "upsweep/climb.hpp"
#include "upsweep/error.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/machine.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

nb::str text(std::string_view view) { return nb::str(view.data(), view.size()); }

nb::list names_of(std::span<const SettingInfo> settings) {
  nb::list all;
  for (const SettingInfo& setting : settings) all.append(text(setting.name));
  return all;
}

/// Lists every problem: its name, its settings and its rungs.
nb::list problems() {
  nb::list all;
  for (const ProblemInfo& problem : upsweep::problems()) {
    nb::list rungs;
    for (const RungInfo& rung : problem.rungs) {
      nb::dict entry;
      entry["rung"] = text(rung.id);
      entry["idea"] = text(rung.idea);
      entry["needs"] = text(rung.needs);
      entry["traffic"] = text(rung.traffic);
      entry["cost"] = text(rung.cost);
      entry["limit"] = text(rung.limit);
      entry["library"] = rung.kind == Kind::library;
      rungs.append(entry);
    }
    nb::dict entry;
    entry["name"] = text(problem.name);
    entry["settings"] = names_of(problem.settings);
    entry["rungs"] = rungs;
    all.append(entry);
  }
  return all;
}

/// Converts a number, or the name of a choice, to the value of a problem's setting.
Setting setting_of(const SettingInfo& info, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) {
    const auto word = nb::cast<std::string>(value);
    for (std::size_t i = 0; i < info.choices.size(); ++i) {
      if (info.choices[i] == word) return {.value = static_cast<std::int64_t>(i)};
    }
    throw Error(Code::invalid_argument, std::string(info.name) + ": unknown choice '" + word + "'");
  }
  if (!info.choices.empty())
    throw Error(Code::invalid_argument, std::string(info.name) + ": the name of a choice is needed, not a number");
  const auto number = nb::cast<std::int64_t>(value);
  if (number < info.least || number > info.most) {
    throw Error(Code::invalid_argument, std::string(info.name) + ": " + std::to_string(info.least) + " to " +
                                            std::to_string(info.most) + " is needed, not " + std::to_string(number));
  }
  return {.value = number};
}

std::map<std::string_view, Setting> settings_of(const ProblemInfo& problem, const nb::dict& given) {
  std::map<std::string_view, Setting> settings;
  for (const auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const SettingInfo* found = nullptr;
    for (const SettingInfo& info : problem.settings) {
      if (info.name == name) found = &info;
    }
    if (found == nullptr) {
      throw Error(Code::invalid_argument, std::string(problem.name) + " has no setting '" + name + "'");
    }
    settings[found->name] = setting_of(*found, value);
  }
  return settings;
}

nb::object seconds(const std::optional<double>& value) { return value ? nb::object(nb::float_(*value)) : nb::none(); }

nb::dict record_of(std::string_view problem, const Group& group, const Row& row) {
  const double limit = group.reads_only ? group.read_bytes_per_s : group.copy_bytes_per_s;
  const bool is_timed = row.status == RowStatus::verified && row.median_s > 0;
  const double rate = is_timed ? row.bytes / row.median_s : 0;
  nb::dict record;
  record["problem"] = text(problem);
  record["rung"] = text(row.rung.id);
  record["idea"] = text(row.rung.idea);
  record["library"] = row.rung.kind == Kind::library;
  record["device"] = group.device.empty() ? text("cpu") : text(group.device);
  record["type"] = text(name(group.type));
  record["n"] = group.n;
  record["threads"] = row.threads;
  record["status"] = text(word(row.status));
  record["reason"] = text(row.reason);
  record["seconds"] = seconds(is_timed ? std::optional(row.median_s) : std::nullopt);
  record["bytes"] = row.bytes;
  record["bytes_per_second"] = seconds(rate > 0 ? std::optional(rate) : std::nullopt);
  record["of_limit"] = seconds(rate > 0 && limit > 0 ? std::optional(rate / limit) : std::nullopt);
  record["limit"] = text(group.reads_only ? "read" : "copy");
  record["limit_bytes_per_second"] = limit;
  record["speedup"] =
      seconds(is_timed && group.first_s > 0 ? std::optional(group.first_s / row.median_s) : std::nullopt);
  return record;
}

nb::list climb(const std::string& problem, const std::vector<std::int64_t>& sizes,
               const std::vector<std::string>& types, const nb::dict& settings, const std::string& rung,
               double max_seconds, bool on_cpu, bool on_gpu, const std::vector<int>& threads) {
  const ProblemInfo& info = upsweep::problem(problem);
  ClimbRequest request{.problem = info.name, .sizes = sizes};
  for (const std::string& type : types) {
    const auto parsed = parse_type(type);
    if (!parsed) throw Error(Code::invalid_argument, "types: unknown type '" + type + "'");
    request.types.push_back(*parsed);
  }
  request.settings = settings_of(info, settings);
  request.rung = rung;
  request.max_seconds = max_seconds;
  request.on_cpu = on_cpu;
  request.on_gpu = on_gpu;
  request.threads = threads;
  std::vector<Group> groups;
  {
    const nb::gil_scoped_release released;
    groups = upsweep::climb(request, [](const std::string&) { look_at_signals(); });
  }
  nb::list records;
  for (const Group& group : groups) {
    for (const Row& row : group.rows) records.append(record_of(info.name, group, row));
  }
  return records;
}

/// Describes the machine as `upsweep bench` does, without the GPUs.
nb::dict machine() {
  const Machine& here = upsweep::machine();
  nb::dict entry;
  entry["cpu"] = here.cpu;
  entry["threads"] = here.threads;
  entry["simd"] = text(name(here.isa));
  entry["l2_bytes"] = here.l2_bytes;
  entry["l3_bytes"] = here.l3_bytes;
  entry["memory_bytes"] = here.memory_bytes;
  return entry;
}

/// Copies all bytes of one array to another of the same size: the limit of any scan.
void copy_bytes(nb::handle to, nb::handle source) {
  const Elements out = elements_of(to, "to");
  const Elements in = elements_of(source, "source");
  if (!out.is_writable || out.length * out.size != in.length * in.size)
    throw nb::value_error("to: a writable array with the same number of bytes as the source is needed");
  const nb::gil_scoped_release released;
  upsweep::copy_bytes(out.data, in.data, in.length * in.size);
}

std::uint64_t read_bytes(nb::handle source) {
  const Elements in = elements_of(source, "source");
  const nb::gil_scoped_release released;
  return upsweep::read_bytes(in.data, in.length * in.size);
}

}  // namespace

void define_ladders(nb::module_& module) {
  module.def("problems", &problems);
  module.def("climb", &climb, nb::arg("problem"), nb::arg("sizes"), nb::arg("types"), nb::arg("settings"),
             nb::arg("rung"), nb::arg("max_seconds"), nb::arg("on_cpu"), nb::arg("on_gpu"), nb::arg("threads"));
  module.def("machine", &machine);
  module.def("copy_bytes", &copy_bytes, nb::arg("to"), nb::arg("source"));
  module.def("read_bytes", &read_bytes, nb::arg("source"));
}

}  // namespace upsweep::python
