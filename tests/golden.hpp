// SPDX-License-Identifier: Apache-2.0
// tests/golden.hpp: Awkward Array's own cases for compact_offsets, read from JSON.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lists.hpp"

namespace upsweep::tests {

struct GoldenCase {
  Bounds<std::int64_t> lists;
  ExpectedOffsets expected;
};

/// Returns the cases; empty, with the reason, if the file is not available.
inline std::vector<GoldenCase> golden_cases(std::string& reason) {
  const char* source = std::getenv("UPSWEEP_SOURCE_DIR");
  const std::string path =
      std::string(source != nullptr ? source : ".") + "/../shared/cases/awkward_compact_offsets.json";
  std::ifstream file(path);
  if (!file) {
    reason = "there is no " + path;
    return {};
  }
  const auto document = nlohmann::json::parse(file);
  std::vector<GoldenCase> cases;
  for (const auto& test : document.at("tests")) {
    const auto& inputs = test.at("inputs");
    GoldenCase one;
    one.lists.starts = inputs.at("fromstarts").get<std::vector<std::int64_t>>();
    one.lists.stops = inputs.at("fromstops").get<std::vector<std::int64_t>>();
    const auto length = inputs.at("length").get<std::size_t>();
    one.lists.starts.resize(length);
    one.lists.stops.resize(length);
    one.expected.offsets = test.at("outputs").at("tooffsets").get<std::vector<std::int64_t>>();
    if (test.at("error").get<bool>()) {
      EXPECT_EQ(test.at("message").get<std::string>(), "stops[i] < starts[i]");
      std::size_t bad = 0;
      while (one.lists.stops.at(bad) >= one.lists.starts.at(bad)) ++bad;
      one.expected.outcome = {Code::stop_before_start, static_cast<std::int64_t>(bad)};
      one.expected.offsets.resize(bad + 1);  // later offsets are unspecified
    }
    cases.push_back(one);
  }
  return cases;
}

/// Converts the lists to bounds of another type.
template <class T>
Bounds<T> as(const Bounds<std::int64_t>& lists) {
  const auto narrow = [](const std::vector<std::int64_t>& wide) {
    std::vector<T> all(wide.size());
    std::transform(wide.begin(), wide.end(), all.begin(), [](std::int64_t x) { return static_cast<T>(x); });
    return all;
  };
  return {narrow(lists.starts), narrow(lists.stops)};
}

}  // namespace upsweep::tests
