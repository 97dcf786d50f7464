// SPDX-License-Identifier: Apache-2.0
// system/temporary_folder.hpp: where temporary files go, unless the caller says.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace upsweep {

/// $TMPDIR, or the system's.
[[nodiscard]] inline std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : P_tmpdir;
}

}  // namespace upsweep
