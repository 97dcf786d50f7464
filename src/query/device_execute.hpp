// SPDX-License-Identifier: Apache-2.0
// query/device_execute.hpp: runs a plan on a GPU, over what lies there or over what is brought there piece by piece.
#pragma once

#include "query/groups.hpp"
#include "query/plan.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// `told` gets times and rows_by_cpu. Throws as Query::run() does.
Groups execute(const Plan& plan, const Table& table, const gpu::Policy& policy, const QueryProgress& progress,
               Answer& told);

}  // namespace upsweep::query
