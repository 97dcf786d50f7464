// SPDX-License-Identifier: Apache-2.0
// system/quota.hpp: the number of cores that the quotas of control groups allow this process.
#pragma once

#include <filesystem>

namespace upsweep {

/// Returns the CPU quota of this process's control groups in cores, or INT_MAX without a quota. It is the minimum of
/// the process's group and the groups above it. It is rounded up, as the runtimes of Java, .NET and Go do. With a quota
/// of 1.5 cores a second thread can use the half. Supports control groups v1 and v2. Files that cannot be read or
/// understood limit nothing. `root` is the folder of proc/ and sys/.
[[nodiscard]] int quota_cores(const std::filesystem::path& root) noexcept;

}  // namespace upsweep
