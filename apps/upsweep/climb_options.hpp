// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/climb_options.hpp: parses the sizes, types, counts of threads and settings of `ladder` and `bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "upsweep/climb.hpp"
#include "upsweep/ladder.hpp"

namespace upsweep::command {

// Each function throws Error invalid_argument, which names the option.
std::vector<std::int64_t> parse_sizes(const std::string& text);
std::vector<Type> parse_types(const std::string& text, const ProblemInfo& problem);
/// "" means every core.
std::vector<int> parse_threads(const std::string& text);
Setting parse_setting(const SettingInfo& info, const std::string& text);

/// The maximum of the counts. 0 means every core and exceeds every other count.
int most_threads(const std::vector<int>& counts);

/// Whether a rung of any group failed.
bool has_failed(const std::vector<Group>& groups);

}  // namespace upsweep::command
