// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/unreachable.hpp: where a switch over an enumeration ends that has a case for each of its values.
#pragma once

namespace upsweep::detail {

/// A value that is none of its enumeration ends the program: nothing else is computed in its place. A value that was added
/// without its case does not get here: the compiler names the switch (-Wswitch, which is in -Wall).
[[noreturn]] inline void no_such_value() { __builtin_trap(); }

}  // namespace upsweep::detail
