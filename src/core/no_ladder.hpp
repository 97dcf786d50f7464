// SPDX-License-Identifier: Apache-2.0
// core/no_ladder.hpp: operations that are done in one way only refuse a rung by name, whatever it is called.
#pragma once

#include <string>
#include <string_view>

namespace upsweep {

/// Returns what is wrong with the id of a rung that an operation does not have: "no rung is called 'cpu.x'", or that it is one of
/// other problems.
std::string unknown_rung(std::string_view id);

/// Throws unknown_rung where one is asked for.
void require_no_rung(std::string_view rung);

}  // namespace upsweep
