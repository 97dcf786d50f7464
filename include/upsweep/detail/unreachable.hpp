// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/unreachable.hpp: the end of a switch over an enumeration that has a case for each of its values.
#pragma once

namespace upsweep::detail {

/// Ends the program if a value is not in its enumeration, instead of computing something in its place. A value that was
/// added without its case does not get here: the compiler reports the switch (-Wswitch, which is in -Wall).
[[noreturn]] inline void no_such_value() { __builtin_trap(); }

}  // namespace upsweep::detail
