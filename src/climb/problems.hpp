// SPDX-License-Identifier: Apache-2.0
// climb/problems.hpp: finds a problem's declaration by its name.
#pragma once

#include <string_view>

#include "climb/problem.hpp"

namespace upsweep {

/// Throws Error invalid_argument, which lists the available problems.
const Problem& declaration(std::string_view name);

}  // namespace upsweep
