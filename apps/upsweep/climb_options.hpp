// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/climb_options.hpp: what `ladder` and `bench` both take: sizes, types, counts of threads and settings, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "upsweep/climb.hpp"
#include "upsweep/ladder.hpp"

namespace upsweep::command {

// Each throws Error invalid_argument, saying which option.
std::vector<std::int64_t> parse_sizes(const std::string& text);
std::vector<Type> parse_types(const std::string& text, const ProblemInfo& problem);
/// "" is every core.
std::vector<int> parse_threads(const std::string& text);
Setting parse_setting(const SettingInfo& info, const std::string& text);

/// The greatest of the counts; 0, which is all that there are, exceeds every other.
int most_threads(const std::vector<int>& counts);

/// Whether a rung of any group is wrong.
bool has_failed(const std::vector<Group>& groups);

}  // namespace upsweep::command
