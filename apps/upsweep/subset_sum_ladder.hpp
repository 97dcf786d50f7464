// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/subset_sum_ladder.hpp: how `upsweep ladder subset-sum` is asked for, and what it shows.
#pragma once

#include <string>

#include "commands.hpp"
#include "ladder_bench.hpp"
#include "values.hpp"

namespace upsweep::command {

/// --target, --largest, --per-thread and --input. Throws invalid_argument.
bench::SubsetRequest subset_request(const LadderOptions& options);

std::string subset_text(const bench::Group& group);

/// What only this ladder has.
void add_subset(Json& json, const bench::Group& group, const bench::Row& row);

}  // namespace upsweep::command
