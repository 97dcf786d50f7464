// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/along.hpp: `upsweep reduce --axis` and `upsweep scan --axis`: arrays of several dimensions.
#pragma once

#include "commands.hpp"

namespace upsweep::command {

int reduce_along_axis(const Common& common, const ReduceOptions& options);
int scan_along_axis(const Common& common, const ScanOptions& options);

}  // namespace upsweep::command
