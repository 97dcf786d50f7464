// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/bench_compare.cpp: compares the median ratio of all measurements of a rung with their scatter.
//
// On a machine that others use, single measurements of the same build differ by tens of percent. Not all measurements
// of a rung do so at once. The median of their ratios is compared with the scatter of the ratios, and with the change
// of the machine's own copies.
#include "bench_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

#include "io/posix.hpp"
#include "output.hpp"
#include "text_table.hpp"
#include "upsweep/error.hpp"

namespace upsweep::command {
namespace {

// The median of k values with standard deviation s has a standard deviation of 1.25 s / sqrt(k). s is 1.48 times the
// median deviation.
constexpr double kOfMedian = 1.2533;
constexpr double kOfDeviation = 1.4826;
// Repeats of one build, recorded on a machine in use, stay below these. A rung that is slower by a tenth does not.
constexpr double kSureOfRung = 5;
constexpr double kLeastOfRung = 0.05;
constexpr double kSureOfSize = 6;
constexpr double kLeastOfSize = 0.07;
constexpr int kFewest = 3;

using Rung = std::tuple<std::string, std::string, std::string>;  // problem, rung, device

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

double deviation(const std::vector<double>& values) {
  const double center = median(values);
  std::vector<double> away;
  away.reserve(values.size());
  for (const double value : values) away.push_back(std::abs(value - center));
  return kOfDeviation * median(away);
}

/// The key of a measurement, which is the same in both files.
std::string key_of(const Json& row) {
  std::string key;
  for (const char* field : {"problem", "study", "rung", "device", "type", "n", "threads", "input", "host_resident"}) {
    key += row.contains(field) ? row[field].dump() : "null";
  }
  return key;
}

struct Measurement {
  Rung rung;
  std::int64_t n = 0;
  double seconds = 0;
};

using Measurements = std::map<std::string, Measurement>;

Measurements measurements(const Json& results) {
  Measurements all;
  for (const Json& row : results["rows"]) {
    if (row["status"] != "verified" || row["samples_s"].empty()) continue;
    all[key_of(row)] = {{row["problem"], row["rung"], row["device"]}, row["n"], median(row["samples_s"])};
  }
  return all;
}

/// The current name of a problem. Older files may have another name.
std::string current_name(const std::string& problem) {
  static const std::map<std::string, std::string> kRenamed = {{"ragged", "offsets"},
                                                              {"segmented", "segmented-reduce"},
                                                              {"group", "group-by"},
                                                              {"positions", "broadcast"},
                                                              {"aggregate", "filtered-sum"}};
  const auto found = kRenamed.find(problem);
  return found == kRenamed.end() ? problem : found->second;
}

std::string text_in(const Json& from, const char* field) {
  return from.contains(field) && from[field].is_string() ? printable(from[field].get<std::string>()) : "";
}

/// The rungs that were correct before and fail after, and the cells that failed after.
std::vector<Broken> broken_in(const Measurements& before, const Json& after) {
  std::vector<Broken> all;
  const auto add = [&](const std::string& what, const std::string& reason) {
    auto known = std::ranges::find(all, what, &Broken::what);
    if (known == all.end()) known = all.insert(known, {.what = what, .reason = reason});
    ++known->measurements;
  };
  for (const Json& row : after["rows"]) {
    if (row["status"] != "failed" || !before.contains(key_of(row))) continue;
    add(text_in(row, "problem") + " " + text_in(row, "rung"), text_in(row, "reason"));
  }
  if (!after.contains("failures") || !after["failures"].is_array()) return all;
  for (const Json& failure : after["failures"]) {
    if (failure.is_object()) add(text_in(failure, "cell"), text_in(failure, "message"));
  }
  return all;
}

/// The times of the machine's own copies and reads, which are measured with every ladder.
std::map<std::string, double> limits(const Json& results) {
  std::map<std::string, double> all;
  for (const Json& group : results["groups"]) {
    for (const char* samples : {"copy_samples_s", "read_samples_s"}) {
      if (!group[samples].empty()) all[key_of(group) + samples] = median(group[samples]);
    }
  }
  return all;
}

double copy_ratio(const Json& before, const Json& after) {
  const auto old_limits = limits(before);
  std::vector<double> ratios;
  for (const auto& [key, seconds] : limits(after)) {
    if (const auto found = old_limits.find(key); found != old_limits.end()) {
      ratios.push_back(std::log(seconds / found->second));
    }
  }
  return std::exp(median(ratios));
}

Change change_of(const Rung& rung, std::int64_t n, const std::vector<double>& ratios, double limit) {
  return {.problem = std::get<0>(rung),
          .rung = std::get<1>(rung),
          .device = std::get<2>(rung),
          .n = n,
          .measurements = static_cast<int>(ratios.size()),
          .ratio = std::exp(median(ratios)),
          .limit = limit};
}

void require_same_machine(const Json& before, const Json& after) {
  if (before["machine"] == after["machine"]) return;
  const auto name = [](const Json& results) {
    const Json& machine = results["machine"];
    const Json cpu = machine.value("cpu", Json("unknown"));
    return fmt::format("{}, {} threads", cpu.is_string() ? cpu.get<std::string>() : cpu.dump(),
                       machine.value("threads", Json(0)).dump());
  };
  throw Error(Code::invalid_argument,
              fmt::format("the results are from two machines: {}; and {}{}; compare results of one", name(before),
                          name(after), differing(before["machine"], after["machine"])));
}

std::string percent(double ratio) {
  return ratio > 1 ? fmt::format("{:.0f} % slower", (ratio - 1) * 100)
                   : fmt::format("{:.0f} % faster", (1 / ratio - 1) * 100);
}

/// The size, the change, and the noise of each rung.
FigureTable change_figures() { return {{{"", 11, 2}, {"", 13}, {"", 16, 1, true}}, 42, 41}; }

std::string change_text(const Change& change, bool is_noisy = false) {
  const std::string size = is_noisy ? "" : change.n == 0 ? "all sizes" : grouped(change.n);
  return change_figures().line(
      fmt::format("  {} {}", change.problem, change.rung),
      {size, is_noisy ? "" : percent(change.ratio), fmt::format("(noise {:.0f} %)", std::expm1(change.limit) * 100)});
}

Json change_json(const Change& change) {
  return {{"problem", change.problem},
          {"rung", change.rung},
          {"device", change.device},
          {"n", change.n == 0 ? Json() : Json(change.n)},
          {"measurements", change.measurements},
          {"ratio", change.ratio},
          {"noise_ratio", std::exp(change.limit)},
          {"verdict", !change.is_judged() ? "unknown"
                      : change.is_noise() ? "same"
                      : change.ratio > 1  ? "slower"
                                          : "faster"}};
}

}  // namespace

bool is_complete(const Json& results) {
  const auto has = [](const Json& one, std::initializer_list<const char*> strings, const char* samples) {
    if (!one.is_object()) return false;
    for (const char* field : strings) {
      if (!one.contains(field) || !one[field].is_string()) return false;
    }
    if (!one.contains("n") || !one["n"].is_number_integer() || !one.contains(samples)) return false;
    return one[samples].is_array() && std::ranges::all_of(one[samples], [](const Json& sample) {
             return sample.is_number() && sample.get<double>() > 0;
           });
  };
  return std::ranges::all_of(
             results["rows"],
             [&](const Json& row) { return has(row, {"problem", "rung", "device", "status"}, "samples_s"); }) &&
         std::ranges::all_of(results["groups"], [&](const Json& group) {
           return has(group, {"problem", "device"}, "copy_samples_s") && has(group, {}, "read_samples_s");
         });
}

std::string differing(const Json& before, const Json& now) {
  std::string names;
  for (const auto& [name, value] : now.items()) {
    if (before.is_object() && before.value(name, Json()) != value) names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "" : fmt::format(" ({})", names);
}

bool Change::is_noise() const { return std::abs(std::log(ratio)) <= limit; }
bool Change::is_judged() const { return measurements >= kFewest; }

void use_current_names(Json& results) {
  for (const char* const field : {"rows", "groups"}) {
    for (Json& one : results[field]) one["problem"] = current_name(one["problem"].get<std::string>());
  }
  const auto method = results.find("method");
  if (method != results.end() && method->is_object() && method->contains("problems")) {
    for (Json& problem : (*method)["problems"]) {
      if (problem.is_string()) problem = current_name(problem.get<std::string>());
    }
  }
  for (Json& cell : results["cells"]) {
    if (!cell.is_string()) continue;
    const auto name = cell.get<std::string>();
    const std::size_t end = std::min(name.find('/'), name.size());
    cell = current_name(name.substr(0, end)) + name.substr(end);
  }
}

Json load_results(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw Error(Code::is_directory, fmt::format("{} is a directory", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) io::throw_read_error(path, errno);
  Json results = Json::parse(file, nullptr, false);
  if (results.is_discarded()) throw Error(Code::malformed, fmt::format("{}: not JSON, or truncated", path));
  const auto has_array = [&](const char* field) { return results.contains(field) && results[field].is_array(); };
  if (!results.is_object() || !has_array("rows") || !has_array("groups") || !has_array("cells")) {
    throw Error(Code::malformed, fmt::format("{}: not a result of upsweep bench", path));
  }
  if (results["schema"] != 1) {
    throw Error(Code::malformed, fmt::format("{}: results of schema {}; this upsweep reads schema 1", path,
                                             results.value("schema", Json()).dump()));
  }
  if (!results.contains("machine") || !results["machine"].is_object() || !is_complete(results)) {
    throw Error(Code::malformed, fmt::format("{}: the machine, rungs or samples to compare are missing", path));
  }
  use_current_names(results);
  return results;
}

Comparison compare(const Json& before, const Json& after) {
  require_same_machine(before, after);
  const Measurements old_ones = measurements(before);
  Comparison found{.broken = broken_in(old_ones, after), .copy_ratio = copy_ratio(before, after)};
  const Measurements new_ones = measurements(after);
  std::map<Rung, std::vector<double>> by_rung;
  std::map<std::pair<Rung, std::int64_t>, std::vector<double>> by_size;
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> of_size;  // of all rungs of a problem
  for (const auto& [key, now] : new_ones) {
    const auto then = old_ones.find(key);
    if (then == old_ones.end()) {
      ++found.only_after;
      continue;
    }
    const double ratio = std::log(now.seconds / then->second.seconds);
    by_rung[now.rung].push_back(ratio);
    by_size[{now.rung, now.n}].push_back(ratio);
    of_size[{std::get<0>(now.rung), now.n}].push_back(ratio);
  }
  const int both = static_cast<int>(new_ones.size()) - found.only_after;
  found.only_before = static_cast<int>(old_ones.size()) - both;
  if (both == 0 && found.broken.empty())
    throw Error(Code::invalid_argument, "the files have no measurement in common; use the same problems and sizes");
  const double machine = std::abs(std::log(found.copy_ratio));
  const auto limit = [&](double least, double sure, double scatter, std::size_t count) {
    return std::max(least, sure * kOfMedian * scatter / std::sqrt(static_cast<double>(count))) + machine;
  };
  std::map<Rung, bool> has_changed;
  for (const auto& [rung, ratios] : by_rung) {
    found.rungs.push_back(
        change_of(rung, 0, ratios, limit(kLeastOfRung, kSureOfRung, deviation(ratios), ratios.size())));
    has_changed[rung] = found.rungs.back().is_judged() && !found.rungs.back().is_noise();
  }
  for (const auto& [at, ratios] : by_size) {
    const auto& [rung, n] = at;
    if (has_changed[rung] || ratios.size() < kFewest) continue;
    const double scatter = std::max(deviation(ratios), deviation(of_size[{std::get<0>(rung), n}]));
    const Change change = change_of(rung, n, ratios, limit(kLeastOfSize, kSureOfSize, scatter, ratios.size()));
    if (!change.is_noise()) found.sizes.push_back(change);
  }
  return found;
}

std::string comparison_text(const Comparison& found) {
  std::string changed;
  std::string noisy;
  std::string unknown;
  int judged = 0;
  int same = 0;
  for (const Change& rung : found.rungs) {
    judged += rung.is_judged() ? 1 : 0;
    if (!rung.is_judged()) {
      unknown += (unknown.empty() ? "" : ", ") + rung.problem + " " + rung.rung;
    } else if (!rung.is_noise()) {
      changed += change_text(rung);
    } else if (std::expm1(rung.limit) > 0.1) {
      noisy += change_text(rung, true);
    } else {
      ++same;
    }
  }
  for (const Change& size : found.sizes) changed += change_text(size);
  std::string text;
  for (const Broken& broken : found.broken) {
    const std::string often = broken.measurements > 1 ? fmt::format(", at {} sizes", broken.measurements) : "";
    text += wrapped(fmt::format("  {} fails now{}: {}", broken.what, often, broken.reason), 4) + "\n";
  }
  const char* const none = judged > 0 ? "no rung is faster or slower beyond the noise\n" : "no rung can be judged\n";
  text += changed.empty() ? none : changed;
  if (!noisy.empty()) text += "\ntoo noisy to detect a change of a tenth:\n" + noisy;
  if (!unknown.empty()) {
    text += "\n" + wrapped(fmt::format("fewer than {} measurements, too few to judge: {}", kFewest, unknown), 2) + "\n";
  }
  text +=
      "\n" +
      wrapped(fmt::format("{} rungs unchanged; the machine's own copies: {:.2f} times as long", same, found.copy_ratio),
              2) +
      "\n";
  if (found.only_before + found.only_after > 0) {
    text +=
        wrapped(fmt::format("measurements only before: {}, only after: {}", found.only_before, found.only_after), 2) +
        "\n";
  }
  return text;
}

Json comparison_json(const Comparison& found) {
  Json json{{"copy_ratio", found.copy_ratio},
            {"only_before", found.only_before},
            {"only_after", found.only_after},
            {"changes", Json::array()},
            {"broken", Json::array()}};
  for (const Broken& broken : found.broken) {
    json["broken"].push_back({{"what", broken.what}, {"reason", broken.reason}, {"measurements", broken.measurements}});
  }
  for (const auto* changes : {&found.rungs, &found.sizes}) {
    for (const Change& change : *changes) json["changes"].push_back(change_json(change));
  }
  return json;
}

}  // namespace upsweep::command
