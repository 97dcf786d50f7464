// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/batches.hpp: groups by batches of the rows that any thread does: what cpu.partitioned and
// cpu.adaptive run.
#pragma once

#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

/// Whether a batch looks for keys that come again before its rows are partitioned.
enum class Adapts : bool { no, yes };

Status run_batches(Call& call, const Policy& policy, Adapts adapts) noexcept;

}  // namespace upsweep::impl::group_by
