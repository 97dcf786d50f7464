// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/batches.hpp: groups rows by batches, for cpu.partitioned and cpu.adaptive.
#pragma once

#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

/// Whether a batch first folds rows of repeated keys, before its other rows are partitioned.
enum class Adapts : bool { no, yes };

Status run_batches(Call& call, const Policy& policy, Adapts adapts) noexcept;

}  // namespace upsweep::impl::group_by
