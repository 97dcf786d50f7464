// SPDX-License-Identifier: Apache-2.0
// plan/compile.hpp: turns a program into instructions.
#pragma once

#include <memory>

#include "plan/code.hpp"
#include "plan/program.hpp"

namespace upsweep::plan::detail {

/// Returns the instructions of a program that verify() accepts.
[[nodiscard]] std::shared_ptr<const Compiled> compiled(const Program& program);

}  // namespace upsweep::plan::detail
