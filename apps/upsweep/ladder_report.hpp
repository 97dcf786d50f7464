// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ladder_report.hpp: climbed ladders, and those there are to climb, as text of 80 columns and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "upsweep/climb.hpp"
#include "values.hpp"

namespace upsweep::command {

std::string ladders_text();
Json ladders_json();

std::string climb_text(const std::vector<Group>& groups);
Json climb_json(std::string_view problem, const std::vector<Group>& groups);

}  // namespace upsweep::command
