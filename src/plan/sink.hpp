// SPDX-License-Identifier: Apache-2.0
// plan/sink.hpp: computes element-wise values for chosen elements only, instead of choosing from values of all.
#pragma once

#include "plan/program.hpp"

namespace upsweep::plan::detail {

/// Rewrites takes: sqrt(x)[kept] becomes sqrt(x[kept]), so that only the chosen elements are computed. A
/// value that is needed as an array anyway is taken from. Values do not change.
void sink_takes(Program& program);

}  // namespace upsweep::plan::detail
