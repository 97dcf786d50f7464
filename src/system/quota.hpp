// SPDX-License-Identifier: Apache-2.0
// system/quota.hpp: how many cores the quotas of control groups leave this process.
#pragma once

#include <filesystem>

namespace upsweep {

/// The CPU quota of this process's control groups in cores, the least of its own group and of those above it; INT_MAX where
/// there is none. Rounded up, as the runtimes of Java, .NET and Go do: with a quota of 1.5 cores a second thread can use the
/// half. Control groups v1 and v2; what cannot be read or understood limits nothing. `root` is where proc/ and sys/ are.
[[nodiscard]] int quota_cores(const std::filesystem::path& root) noexcept;

}  // namespace upsweep
