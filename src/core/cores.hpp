// SPDX-License-Identifier: Apache-2.0
// core/cores.hpp: how many cores this process may use: the one place that knows.
#pragma once

#include <filesystem>

namespace upsweep {

/// The cores of the process's affinity mask, but no more than quota_cores() of them; at least 1. Found out at the first
/// call.
[[nodiscard]] int hardware_threads() noexcept;

/// Lets the calling thread run on each of them, whatever core the thread that made it was bound to.
void use_every_core() noexcept;

/// The CPU quota of this process's control groups in cores, the least of its own group and of those above it; INT_MAX where
/// there is none. Rounded up, as the runtimes of Java, .NET and Go do: with a quota of 1.5 cores a second thread can use the
/// half. Control groups v1 and v2; what cannot be read or understood limits nothing. `root` is where proc/ and sys/ are.
[[nodiscard]] int quota_cores(const std::filesystem::path& root) noexcept;

}  // namespace upsweep
