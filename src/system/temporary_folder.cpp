// SPDX-License-Identifier: Apache-2.0
// system/temporary_folder.cpp: creates a file that is unlinked while it is still empty.
#include "system/temporary_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "system/threads.hpp"

namespace upsweep {

// O_TMPFILE creates a file that never has a name. If it is not supported (NFS, older overlayfs), the name is removed
// immediately. A process that is killed in between leaves only an empty file.
int open_without_name(const std::string& folder) {
  constexpr mode_t kOwnerOnly = 0600;
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnerOnly);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  const SignalsBlocked meanwhile;
  std::string path = folder + "/.upsweep-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

}  // namespace upsweep
