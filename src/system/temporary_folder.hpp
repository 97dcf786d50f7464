// SPDX-License-Identifier: Apache-2.0
// system/temporary_folder.hpp: the default folder of temporary files.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace upsweep {

/// Returns $TMPDIR, or the system's folder.
[[nodiscard]] inline std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : P_tmpdir;
}

}  // namespace upsweep
