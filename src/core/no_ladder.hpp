// SPDX-License-Identifier: Apache-2.0
// core/no_ladder.hpp: operations that are done in one way only refuse a rung by name, whatever it is called.
#pragma once

#include <string>
#include <string_view>

#include "upsweep/error.hpp"

namespace upsweep {

/// Throws unknown_rung where one is asked for.
inline void require_no_rung(std::string_view rung) {
  if (rung.empty()) return;
  throw Error(Code::unknown_rung, "no rung is called '" + std::string(rung) + "': this operation has no ladder");
}

}  // namespace upsweep
