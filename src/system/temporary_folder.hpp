// SPDX-License-Identifier: Apache-2.0
// system/temporary_folder.hpp: the default folder of temporary files, and files there that have no name.
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

/// Creates a temporary file without a name, for reading and writing. Returns its descriptor, or -1 and errno.
int open_without_name(const std::string& folder);

}  // namespace upsweep
