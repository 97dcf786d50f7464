// SPDX-License-Identifier: Apache-2.0
// query/execute.hpp: runs a plan over a table on every core, and merges what its pieces come to in their order.
#pragma once

#include "query/groups.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// What the table's rows come to. Throws as Query::run() does.
Groups execute(const Plan& plan, const Table& table, const Policy& policy, const QueryProgress& progress);

}  // namespace upsweep::query
